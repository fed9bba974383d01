//! The ordered digest: 128 bits that name everything that happened, in order.
//!
//! It is BLAKE3 over one record of 8 bytes per event, cut to 16 bytes: equal on every machine, in
//! debug and release. A record is one little-endian word: time, round, source and fingerprint, by
//! [`mix`]. `b3sum` over the same bytes gives the same digits.

use std::fmt;
use std::str::FromStr;

use crate::source::SourceId;
use units::Time;

/// Events between two checkpoints.
pub const EVENTS_PER_CHECKPOINT: u64 = 1 << 16;

const RECORD_BYTES: usize = 8;
/// Records hashed at once: eight chunks of BLAKE3 fill the vector units and leave room in the L1
/// cache.
const BATCH: usize = 1024;

/// 128 bits of BLAKE3, printed as 32 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Digest([u8; 16]);

impl Digest {
    /// The digest of some bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self::cut(blake3::hash(bytes))
    }

    /// The digest of several digests in their order, as of the points of a sweep.
    pub fn of_digests(digests: impl IntoIterator<Item = Self>) -> Self {
        let mut hasher = blake3::Hasher::new();
        for digest in digests {
            hasher.update(&digest.0);
        }
        Self::cut(hasher.finalize())
    }

    /// The 16 bytes, first hexadecimal digit first.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    fn cut(hash: blake3::Hash) -> Self {
        let mut digest = [0; 16];
        digest.copy_from_slice(&hash.as_bytes()[..16]);
        Self(digest)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A text that is not a digest.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{0}` is not a digest: 32 lower-case hexadecimal digits are needed")]
pub struct DigestError(String);

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let lower_hex = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
        let error = || DigestError(text.to_owned());
        if text.len() != 32 || !text.bytes().all(lower_hex) {
            return Err(error());
        }
        let word = u128::from_str_radix(text, 16).map_err(|_| error())?;
        Ok(Self(word.to_be_bytes()))
    }
}

/// Folds `value` into `state`: the building block of [`crate::Event::fingerprint`].
///
/// A 64 by 64 bit product with its halves joined; the same on every machine. Not for secrets.
#[inline]
pub const fn mix(state: u64, value: u64) -> u64 {
    let left = state ^ 0x9e37_79b9_7f4a_7c15;
    let right = value ^ 0xd1b5_4a32_d192_ed03;
    let product = (left as u128) * (right as u128);
    #[expect(clippy::cast_possible_truncation, reason = "the two halves are joined")]
    let folded = (product as u64) ^ ((product >> 64) as u64);
    // A factor of zero would forget the other one.
    folded ^ state.rotate_left(23) ^ value.rotate_left(41)
}

/// Hashes the records of all events, in batches, and remembers a digest every
/// [`EVENTS_PER_CHECKPOINT`] events.
#[derive(Clone, Debug)]
pub(crate) struct OrderedDigest {
    hasher: blake3::Hasher,
    batch: Box<[[u8; RECORD_BYTES]; BATCH]>,
    filled: usize,
    batches: u64,
    checkpoints: Vec<Digest>,
}

impl OrderedDigest {
    pub(crate) fn new() -> Self {
        Self {
            hasher: blake3::Hasher::new(),
            batch: Box::new([[0; RECORD_BYTES]; BATCH]),
            filled: 0,
            batches: 0,
            checkpoints: Vec::with_capacity(1024),
        }
    }

    /// Adds one event.
    #[inline]
    pub(crate) fn record(&mut self, time: Time, round: u32, source: SourceId, fingerprint: u64) {
        let record = &mut self.batch[self.filled];
        let place = mix(time.as_ps(), (u64::from(round) << 32) | u64::from(source.0));
        *record = mix(place, fingerprint).to_le_bytes();
        self.filled += 1;
        if self.filled == BATCH {
            self.hash_batch();
        }
    }

    /// The digest of all events so far.
    pub(crate) fn digest(&self) -> Digest {
        let mut hasher = self.hasher.clone();
        hasher.update(self.batch[..self.filled].as_flattened());
        Digest::cut(hasher.finalize())
    }

    /// The digests after each whole [`EVENTS_PER_CHECKPOINT`] events.
    pub(crate) fn checkpoints(&self) -> &[Digest] {
        &self.checkpoints
    }

    #[cold]
    #[inline(never)]
    fn hash_batch(&mut self) {
        self.hasher.update(self.batch.as_flattened());
        self.filled = 0;
        self.batches += 1;
        if (self.batches * BATCH as u64).is_multiple_of(EVENTS_PER_CHECKPOINT) {
            self.checkpoints.push(Digest::cut(self.hasher.finalize()));
        }
    }
}

/// The numbers of the events among which two runs part, from their checkpoints: the first and the
/// last of a stretch of [`EVENTS_PER_CHECKPOINT`]. `None` when all common checkpoints agree: then
/// the difference, if any, lies after the last of them.
pub fn bisect(left: &[Digest], right: &[Digest]) -> Option<(u64, u64)> {
    let agree = left.iter().zip(right).take_while(|(left, right)| left == right).count() as u64;
    let common = left.len().min(right.len()) as u64;
    let first = agree * EVENTS_PER_CHECKPOINT + 1;
    (agree < common).then_some((first, first + EVENTS_PER_CHECKPOINT - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_32_lower_case_digits_and_parses_back() {
        let digest = Digest::of_bytes(b"event");
        let text = digest.to_string();
        assert_eq!(text.len(), 32);
        assert_eq!(text.parse(), Ok(digest));
        for wrong in ["", "12", &text.to_uppercase(), &format!("+{}", &text[1..])] {
            assert_eq!(wrong.parse::<Digest>(), Err(DigestError(wrong.to_owned())));
        }
    }

    #[test]
    fn the_digest_is_blake3_over_the_written_bytes() {
        let mut ordered = OrderedDigest::new();
        let mut bytes = Vec::new();
        for number in 0..3 * 1024 + 7_u32 {
            let time = Time::from_ps(u64::from(number) * 1_000_003);
            ordered.record(time, number % 3, SourceId(number % 5), u64::from(number) << 40);
            let rank = u64::from(number % 3) << 32 | u64::from(number % 5);
            let record = mix(mix(time.as_ps(), rank), u64::from(number) << 40);
            bytes.extend(record.to_le_bytes());
        }
        assert_eq!(ordered.digest(), Digest::of_bytes(&bytes));
        assert_eq!(ordered.digest(), Digest::of_bytes(&bytes), "asking changes nothing");
    }

    #[test]
    fn every_field_and_the_order_of_events_matter() {
        let digest = |events: [(u64, u32, u32, u64); 2]| {
            let mut ordered = OrderedDigest::new();
            for (time, round, source, fingerprint) in events {
                ordered.record(Time::from_ps(time), round, SourceId(source), fingerprint);
            }
            ordered.digest()
        };
        let (first, second) = ((5, 1, 2, 9), (6, 0, 3, 8));
        let mut variants = vec![[first, second], [second, first]];
        for bit in 0..64 {
            variants.push([(5 ^ (1 << bit), 1, 2, 9), second]);
            variants.push([(5, 1, 2, 9 ^ (1 << bit)), second]);
        }
        for bit in 0..32 {
            variants.push([(5, 1 ^ (1 << bit), 2, 9), second]);
            variants.push([(5, 1, 2 ^ (1 << bit), 9), second]);
        }
        let digests: std::collections::BTreeSet<Digest> =
            variants.iter().map(|&events| digest(events)).collect();
        assert_eq!(digests.len(), variants.len());
    }

    #[test]
    fn no_event_at_all_gives_the_digest_of_no_bytes() {
        assert_eq!(OrderedDigest::new().digest().to_string(), "af1349b9f5f9a1a6a0404dea36dcc949");
    }

    #[test]
    fn mix_keeps_apart_what_differs() {
        let words: Vec<u64> = (0..64).map(|bit| 1 << bit).chain([0, u64::MAX]).collect();
        let mixed = |&left: &u64| words.iter().map(move |&right| mix(left, right));
        let all: std::collections::BTreeSet<u64> = words.iter().flat_map(mixed).collect();
        assert_eq!(all.len(), words.len() * words.len());
    }

    #[test]
    fn checkpoints_bracket_the_first_difference() {
        let run = |odd_one: u64| {
            let mut ordered = OrderedDigest::new();
            for number in 1..=4 * EVENTS_PER_CHECKPOINT {
                let fingerprint = if number == odd_one { 99 } else { 1 };
                ordered.record(Time::from_ps(number), 0, SourceId(0), fingerprint);
            }
            ordered.checkpoints().to_vec()
        };
        let (usual, odd) = (run(0), run(2 * EVENTS_PER_CHECKPOINT + 5));
        let first = 2 * EVENTS_PER_CHECKPOINT + 1;
        assert_eq!(bisect(&usual, &odd), Some((first, 3 * EVENTS_PER_CHECKPOINT)));
        assert_eq!(bisect(&usual, &usual), None);
    }
}
