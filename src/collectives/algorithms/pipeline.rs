//! A message in segments along a tree: while one segment comes, the one before it goes on.

use super::tree::{turned, unturned};
use crate::{Round, Task};
use calls::space::Region;
use mpi::operator::{Reduction, Side};

/// Where a rank stands in a tree whose root is turned to be 0.
pub(super) struct Place<C> {
    /// Parent of the rank; none for the root.
    pub(super) parent: Option<u32>,
    /// Its children, in order; those beyond the last rank are left out.
    pub(super) children: C,
}

/// Down the tree: round k receives segment k and passes segment k - 1 on; the root sends segment k.
pub(super) fn down<C: Iterator<Item = u32>>(
    task: &Task<'_>,
    k: u32,
    place: impl FnOnce(u32) -> Place<C>,
    round: &mut Round,
) -> bool {
    let Task { rank, size, root, output, segment: each, .. } = *task;
    let segments = output.len.div_ceil(each);
    let Place { parent, children } = place(turned(rank, root, size));
    let k = u64::from(k);
    let sends = if parent.is_none() { Some(k) } else { k.checked_sub(1) };
    if let Some(parent) = parent.filter(|_| k < segments) {
        round.receive(unturned(parent, root, size), segment(output, each, k));
    }
    if let Some(number) = sends.filter(|&number| number < segments) {
        for child in children.filter(|child| *child < size) {
            round.send(unturned(child, root, size), segment(output, each, number));
        }
    }
    k < segments + u64::from(parent.is_some())
}

/// Up the tree, combined: round k receives segment k from all children and passes segment k - 1 on; a leaf sends
/// segment k. A segment is whole elements, one at least.
pub(super) fn up<C: Iterator<Item = u32>>(
    task: &Task<'_>,
    k: u32,
    place: impl FnOnce(u32) -> Place<C>,
    round: &mut Round,
) -> bool {
    let Task { rank, size, root, input, output, .. } = *task;
    let width = task.reduction.map_or(1, Reduction::width);
    // Each child has room for a segment, and no segment is longer than the input.
    let each = ((task.segment / width).max(1) * width).min(input.len.max(width));
    let segments = input.len.div_ceil(each);
    let Place { parent, children } = place(turned(rank, root, size));
    let mut children = children.filter(|child| *child < size).peekable();
    let is_leaf = children.peek().is_none();
    let sum = if parent.is_none() {
        output.part(0, input.len)
    } else if is_leaf {
        input
    } else {
        task.room(0, input.len)
    };
    let k = u64::from(k);
    if k < segments {
        let into = segment(sum, each, k);
        round.copy(segment(input, each, k), into);
        for (child, index) in children.zip(0..) {
            let coming = task.room(input.len + index * each, into.len);
            round.receive(unturned(child, root, size), coming);
            round.combine(coming, into, Side::After);
        }
    }
    let sends = if is_leaf { Some(k) } else { k.checked_sub(1) };
    if let Some((parent, number)) = parent.zip(sends).filter(|(_, number)| *number < segments) {
        round.send(unturned(parent, root, size), segment(sum, each, number));
    }
    k < segments + u64::from(parent.is_some() && !is_leaf)
}

fn segment(buffer: Region, each: u64, number: u64) -> Region {
    let offset = number * each;
    buffer.part(offset, each.min(buffer.len - offset))
}
