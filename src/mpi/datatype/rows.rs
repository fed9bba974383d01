//! Types whose runs are all alike: found from the tree, without a walk over the runs.

use super::kind::Block;
use super::{Datatype, Kind};

/// Runs of equal length at equal distances, in packing order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rows {
    /// Where the first begins, in bytes from the origin.
    pub first: i64,
    /// Bytes of each.
    pub length: u64,
    /// From the begin of one to that of the next, in bytes; no matter where there is one only.
    pub stride: i64,
    /// How many.
    pub count: u64,
}

impl Rows {
    /// The runs of `count` elements, where they are all alike and this follows from the type: one
    /// run, or what is made by contiguous types, vectors and boxes of two dimensions.
    pub fn of(datatype: &Datatype, count: u64) -> Option<Self> {
        Self::of_one(datatype)?.repeated(count, datatype.extent())
    }

    fn of_one(datatype: &Datatype) -> Option<Self> {
        if datatype.size() == 0 {
            return None;
        }
        if datatype.is_one_run() {
            return Some(Self {
                first: datatype.true_lb(),
                length: datatype.size(),
                stride: 0,
                count: 1,
            });
        }
        let is_even = match datatype.kind() {
            Kind::Named(_)
            | Kind::Contiguous { .. }
            | Kind::Resized { .. }
            | Kind::Vector { .. } => true,
            Kind::Subarray { dimensions, .. } => dimensions.len() <= 2,
            Kind::Indexed { .. } | Kind::IndexedBlock { .. } | Kind::Struct { .. } => false,
        };
        let blocks = datatype.kind().blocks();
        if !is_even || blocks == 0 {
            return None;
        }
        let Block { displacement, count, child } = datatype.kind().block(0);
        let block = Self::of(child, count)?.moved(displacement)?;
        if blocks == 1 {
            return Some(block);
        }
        let distance = datatype.kind().block(1).displacement.checked_sub(displacement)?;
        block.repeated(blocks, distance)
    }

    /// The same `times` times, each `distance` bytes after the one before it, as [`Datatype::segments`]
    /// would give them; `None` where these are not all alike.
    fn repeated(self, times: u64, distance: i64) -> Option<Self> {
        if times <= 1 {
            return (times == 1).then_some(self);
        }
        let Self { length, stride, count, .. } = self;
        let follows = i64::try_from(length) == Ok(distance);
        match count {
            1 if follows => Some(Self { length: length.checked_mul(times)?, ..self }),
            1 => Some(Self { stride: distance, count: times, ..self }),
            _ => {
                let goes_on = stride.checked_mul(i64::try_from(count).ok()?) == Some(distance);
                goes_on.then_some(Self { count: count.checked_mul(times)?, ..self })
            }
        }
    }

    fn moved(self, by: i64) -> Option<Self> {
        Some(Self { first: self.first.checked_add(by)?, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Order, Primitive};
    use super::*;

    fn byte() -> Datatype {
        Datatype::named(Primitive::Byte)
    }

    /// First, length, stride and count.
    fn found(datatype: &Datatype, count: u64) -> Option<(i64, u64, i64, u64)> {
        let rows = Rows::of(datatype, count)?;
        Some((rows.first, rows.length, rows.stride, rows.count))
    }

    #[test]
    fn columns_are_rows_however_they_are_made() {
        let column = Datatype::vector(1 << 40, 2, 5, &byte()).unwrap();
        assert_eq!(found(&column, 1), Some((0, 2, 5, 1 << 40)));
        assert_eq!(found(&column, 2), None, "the second begins where the first ends");
        let whole = Datatype::resized(0, 5 << 40, &column).unwrap();
        assert_eq!(found(&whole, 3), Some((0, 2, 5, 3 << 40)));
        let cells = Datatype::resized(0, 8, &Datatype::contiguous(3, &byte()).unwrap()).unwrap();
        assert_eq!(found(&Datatype::contiguous(7, &cells).unwrap(), 2), Some((0, 3, 8, 14)));
        let part = Datatype::subarray(&[6, 9], &[4, 2], &[1, 3], Order::C, &byte()).unwrap();
        assert_eq!(found(&part, 1), Some((12, 2, 9, 4)));
        let back = Datatype::vector(4, 1, -3, &byte()).unwrap();
        assert_eq!(found(&back, 1), Some((0, 1, -3, 4)));
    }

    #[test]
    fn what_abuts_is_one_and_what_differs_is_none() {
        let dense = Datatype::vector(9, 4, 4, &byte()).unwrap();
        assert_eq!(found(&dense, 5), Some((0, 180, 0, 1)));
        let uneven = Datatype::hindexed(&[2, 3], &[0, 10], &byte()).unwrap();
        assert_eq!(found(&uneven, 1), None);
        assert_eq!(found(&byte(), 0), None);
    }
}
