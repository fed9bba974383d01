//! Whether a type selects a byte twice: allowed in a send, an error in a receive.
//!
//! Most types exclude it by their measures: elements and blocks lie farther apart than they reach.
//! Otherwise the blocks are sorted by offset and compared with their neighbours.

use super::{Datatype, DatatypeError, Kind, Segment};

/// Separate runs that are looked at, at most; they take 16 bytes each.
const RUNS_MAX: usize = 1 << 22;

/// A byte that is selected twice.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Overlap {
    /// The earlier of the two packed bytes.
    pub first: u64,
    /// The later one.
    pub second: u64,
    /// Where both lie, in bytes from the origin.
    pub offset: i64,
}

impl Datatype {
    /// A byte that `count` elements select twice; `None` where there is none. It is the one with the
    /// lowest offset of the first element, or of all where elements reach into each other.
    ///
    /// # Errors
    ///
    /// [`DatatypeError::Overflow`] where they are beyond 64 bits, [`DatatypeError::TooManyBlocks`].
    pub fn overlap(&self, count: u64) -> Result<Option<Overlap>, DatatypeError> {
        let is_repeated = count > 1 && !is_clear(self.true_extent(), self.extent());
        let count = if is_repeated { count } else { count.min(1) };
        if !is_repeated && self.is_apart() {
            return Ok(None);
        }
        let mut runs: Vec<(Segment, u64)> = Vec::new();
        let mut packed = 0;
        for segment in self.segments(count)? {
            if runs.len() == RUNS_MAX {
                return Err(DatatypeError::TooManyBlocks { limit: RUNS_MAX });
            }
            runs.push((segment, packed));
            packed += segment.length;
        }
        runs.sort_unstable_by_key(|(run, packed)| (run.offset, *packed));
        Ok(first_overlap(&runs))
    }

    /// That `count` elements can be received: no byte is written twice.
    ///
    /// # Errors
    ///
    /// [`DatatypeError::Overlaps`] with the first such byte; as [`Self::overlap`].
    pub fn receivable(&self, count: u64) -> Result<(), DatatypeError> {
        match self.overlap(count)? {
            None => Ok(()),
            Some(Overlap { first, second, offset }) => {
                Err(DatatypeError::Overlaps { first, second, offset })
            }
        }
    }

    /// Whether it shows at once that no byte of one element is selected twice.
    fn is_apart(&self) -> bool {
        if self.is_one_run() {
            return true;
        }
        let apart = |child: &Self, count: u64| {
            child.is_apart() && (count <= 1 || is_clear(child.true_extent(), child.extent()))
        };
        match self.kind() {
            Kind::Named(_) => true,
            Kind::Contiguous { count, child } => apart(child, *count),
            Kind::Resized { child, .. } => child.is_apart(),
            Kind::Subarray { child, .. } => apart(child, 2),
            Kind::Vector { count, blocklength, stride, unit, child } => {
                let block = Self::contiguous(blocklength.cast_signed(), child);
                let stride = unit.bytes(*stride, child);
                let far = |block: &Self| {
                    stride.is_some_and(|stride| is_clear(block.true_extent(), stride))
                };
                apart(child, *blocklength) && (*count <= 1 || block.is_ok_and(|block| far(&block)))
            }
            Kind::Indexed { .. } | Kind::IndexedBlock { .. } | Kind::Struct { .. } => false,
        }
    }
}

/// Whether things of this length, so far apart, do not touch.
fn is_clear(length: u64, distance: i64) -> bool {
    length <= distance.unsigned_abs()
}

/// The first byte that two of the runs share; they are sorted by offset, then by packed position.
fn first_overlap(runs: &[(Segment, u64)]) -> Option<Overlap> {
    // The run that reaches farthest of those before.
    let mut far = *runs.first()?;
    for &(run, packed) in &runs[1..] {
        let (before, at) = far;
        let end = i128::from(before.offset) + i128::from(before.length);
        if i128::from(run.offset) < end {
            let other = at + run.offset.abs_diff(before.offset);
            return Some(Overlap {
                first: packed.min(other),
                second: packed.max(other),
                offset: run.offset,
            });
        }
        far = (run, packed);
    }
    None
}
