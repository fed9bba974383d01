//! What the simulator says of a type, in the fields of the vectors.

use serde_json::{Map, Value, json};

use mpi::datatype::{Datatype, DatatypeError, Encoding, Segment, pack, unpack};

/// The largest buffer that is made for a case, in bytes.
const BUFFER_MAX: u64 = 64 << 20;
/// The longest list of runs that is written out; of longer ones there is a checksum.
const GROUPS_MAX: usize = 260;
/// Where the pattern that is unpacked begins.
const UNPACKED_FROM: i64 = 1_000;

/// All fields of `count` elements of a type; in words, where there is no answer.
pub(super) fn answer(datatype: &Datatype, count: u64) -> Result<Map<String, Value>, String> {
    measured(datatype, count).map_err(|error| error.to_string())?.packed()
}

/// A type in use, with the buffer that it needs.
struct Use<'t> {
    datatype: &'t Datatype,
    count: u64,
    span: (i64, i64),
    /// The offset of the first byte of the buffer; not above 0.
    first: i64,
    length: u64,
    fields: Map<String, Value>,
}

/// The fields that need no data.
fn measured(datatype: &Datatype, count: u64) -> Result<Use<'_>, DatatypeError> {
    let (low, high) = datatype.span(count)?;
    let overlap = datatype.overlap(count)?;
    let fields = json!({
        "size": datatype.size(), "lb": datatype.lb(), "extent": datatype.extent(),
        "true_lb": datatype.true_lb(), "true_extent": datatype.true_extent(),
        "primitives": datatype.primitives(), "packed_bytes": datatype.packed(count)?,
        "span": [low, high], "overlaps": overlap.is_some(),
    });
    let Value::Object(mut fields) = fields else { unreachable!("an object") };
    runs(&groups(datatype.segments(count)?), &mut fields);
    let first = low.min(0);
    let length = high.max(0).abs_diff(first);
    Ok(Use { datatype, count, span: (low, high), first, length, fields })
}

impl Use<'_> {
    /// The fields that take data.
    fn packed(mut self) -> Result<Map<String, Value>, String> {
        let packed = self.datatype.size() * self.count;
        let needed = self.length.max(packed);
        if needed > BUFFER_MAX {
            return Err(format!("{needed} B of data; at most {BUFFER_MAX} B are tried"));
        }
        let bytes = self.pack()?;
        self.fields.insert("pack_crc32".into(), crc32(&bytes).into());
        if self.fields["overlaps"] == false {
            let target = self.unpack(bytes.len())?;
            self.fields.insert("unpack_crc32".into(), crc32(&target).into());
        }
        Ok(self.fields)
    }

    /// The packed bytes, which the walk and the traversal must agree on.
    fn pack(&self) -> Result<Vec<u8>, String> {
        let source: Vec<u8> =
            (0..self.length.cast_signed()).map(|at| pattern(self.first + at)).collect();
        let origin = self.origin();
        let bytes = pack(self.datatype, self.count, &source, origin);
        let bytes = bytes.map_err(|error| error.to_string())?;
        let encoding =
            Encoding::new(self.datatype, self.count).map_err(|error| error.to_string())?;
        let mut by_ids = vec![0; bytes.len()];
        let ids = (0..encoding.primitives()).rev();
        encoding.pack(ids, &source, origin, &mut by_ids).map_err(|error| error.to_string())?;
        if by_ids == bytes {
            Ok(bytes)
        } else {
            Err("the traversal packs other bytes than the serial walk".to_owned())
        }
    }

    /// The bytes that the elements span, after a pattern was unpacked over a constant.
    fn unpack(&self, packed: usize) -> Result<Vec<u8>, String> {
        let packed: Vec<u8> = (UNPACKED_FROM..).map(pattern).take(packed).collect();
        let mut target = vec![0xAA; usize::try_from(self.length).expect("it is limited")];
        unpack(self.datatype, self.count, &packed, &mut target, self.origin())
            .map_err(|error| error.to_string())?;
        let at = |offset: i64| usize::try_from(offset.abs_diff(self.first)).expect("it is inside");
        Ok(target[at(self.span.0)..at(self.span.1)].to_vec())
    }

    fn origin(&self) -> usize {
        usize::try_from(self.first.unsigned_abs()).expect("it is limited")
    }
}

/// The byte at an offset: `((o * 131 + 17) xor (o >> 8)) and 255`.
fn pattern(offset: i64) -> u8 {
    let [mixed, ..] = (offset.wrapping_mul(131).wrapping_add(17) ^ (offset >> 8)).to_le_bytes();
    mixed
}

/// So many runs of one length at equal distances: start, length, repetitions, stride.
type Group = [i64; 4];

/// Runs in groups, made greedily from the left.
fn groups(segments: impl Iterator<Item = Segment>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for Segment { offset, length } in segments {
        let length = length.cast_signed();
        match groups.last_mut() {
            Some([start, same, repetitions, stride])
                if *same == length
                    && (*repetitions == 1 || offset == *start + *repetitions * *stride) =>
            {
                *stride = if *repetitions == 1 { offset - *start } else { *stride };
                *repetitions += 1;
            }
            _ => groups.push([offset, length, 1, 0]),
        }
    }
    groups
}

fn runs(groups: &[Group], fields: &mut Map<String, Value>) {
    if groups.len() <= GROUPS_MAX {
        fields.insert("runs".into(), json!(groups));
    } else {
        let text = json!(groups).to_string();
        fields.insert("runs_crc32".into(), crc32(text.as_bytes()).into());
        fields.insert("runs_groups".into(), json!(groups.len()));
    }
}

/// The checksum of IEEE 802.3, in hexadecimal digits.
fn crc32(bytes: &[u8]) -> String {
    let step = |mut sum: u32, byte: &u8| {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ 0xEDB8_8320 } else { sum >> 1 };
        }
        sum
    };
    format!("{:08x}", !bytes.iter().fold(u32::MAX, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_usual_one() {
        assert_eq!(crc32(b"123456789"), "cbf43926");
        assert_eq!(crc32(b""), "00000000");
    }

    #[test]
    fn runs_are_grouped_from_the_left() {
        let run = |offset, length| Segment { offset, length };
        let found = groups([run(0, 8), run(24, 16), run(56, 8), run(160, 8)].into_iter());
        assert_eq!(found, [[0, 8, 1, 0], [24, 16, 1, 0], [56, 8, 2, 104]]);
    }
}
