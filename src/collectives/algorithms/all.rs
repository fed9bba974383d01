//! The blocks of all ranks one after the other.

use crate::{Blocks, Round, Task};
use calls::space::Region;

/// All blocks in rank order: the receive buffer itself where they follow each other there, or scratch space.
pub(super) struct All<'a> {
    blocks: &'a Blocks,
    buffer: Region,
}

impl<'a> All<'a> {
    pub(super) fn new(task: &Task<'a>) -> Self {
        let buffer = if task.receives.are_equal() { task.output } else { task.room(0, 0) };
        Self { blocks: task.receives, buffer }
    }

    /// The blocks of ranks `first..last`.
    pub(super) fn ranks(&self, first: u32, last: u32) -> Region {
        self.buffer.part(self.blocks.sum(0, first), self.blocks.sum(first, last))
    }

    /// The own block begins as this rank's input.
    pub(super) fn begin(&self, task: &Task<'_>, round: &mut Round) {
        let own = self.ranks(task.rank, task.rank + 1);
        round.copy(task.input.part(0, own.len), own);
    }

    /// Every block goes to its place in the receive buffer.
    pub(super) fn place(&self, task: &Task<'_>, round: &mut Round) {
        for one in 0..task.size {
            round.copy(self.ranks(one, one + 1), task.receives.of(task.output, one));
        }
    }
}
