//! A vector in parts that are as nearly equal as its elements allow.

use crate::Task;
use calls::space::Region;
use mpi::operator::Reduction;

/// The elements of the parts `[low, high)` of `count`, of a buffer that is as long as this rank's vector.
pub(super) fn parts(
    task: &Task<'_>,
    count: u32,
    (low, high): (u32, u32),
    buffer: Region,
) -> Region {
    let width = task.reduction.map_or(1, Reduction::width);
    share(buffer, (task.input.len, width), count, (low, high))
}

/// The parts `[low, high)` of `count`, of the first `len` bytes of a buffer, in whole elements of `width` bytes.
pub(super) fn share(
    buffer: Region,
    (len, width): (u64, u64),
    count: u32,
    (low, high): (u32, u32),
) -> Region {
    let elements = len / width;
    let start = |part: u32| {
        let before = u128::from(elements) * u128::from(part) / u128::from(count);
        u64::try_from(before).expect("at most all elements") * width
    };
    buffer.part(start(low), start(high) - start(low))
}
