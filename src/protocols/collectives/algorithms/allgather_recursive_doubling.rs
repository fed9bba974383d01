//! Allgather by recursive doubling: partners at distance 1, 2, 4, … exchange all blocks they have.
//!
//! Where P is no power of two, each rank beyond the greatest one, 2^m + i, first gives its block to
//! rank i, whose set then has it, and at the end gets everything from there. Blocks that do not
//! follow each other in the receive buffer are collected in scratch space, in rank order, and
//! copied to their places at the end.
//!
//! Source: Thakur, Rabenseifner, Gropp 2005, Section 4.1; the fold of the others is our own.

use crate::collectives::{Blocks, Round, Task};
use crate::space::Region;

/// Own block; fold; one exchange a level; unfold; places.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let Task { rank, size, input, .. } = *task;
    let core = 1_u32 << size.ilog2();
    let levels = core.ilog2();
    let all = All::new(task);
    let own = all.ranks(rank, rank + 1);
    let extra = Some(rank + core).filter(|extra| *extra < size && rank < core);
    if k == 0 {
        round.copy(input.part(0, own.len), own);
    } else if k == 1 {
        if let Some(extra) = extra {
            round.receive(extra, all.ranks(extra, extra + 1));
        } else if rank >= core {
            round.send(rank - core, own);
        }
    } else if k < 2 + levels {
        if rank < core {
            exchange(&all, core, (rank, k - 2), round);
        }
    } else if k == 2 + levels {
        if let Some(extra) = extra {
            round.send(extra, all.whole());
        } else if rank >= core {
            round.receive(rank - core, all.whole());
        }
    } else if k == 3 + levels {
        for one in 0..size {
            round.copy(all.ranks(one, one + 1), task.receives.of(task.output, one));
        }
    } else {
        return false;
    }
    true
}

/// What two partners exchange: the blocks of their groups in the core, and of those folded in.
fn exchange(all: &All<'_>, core: u32, (rank, level): (u32, u32), round: &mut Round) {
    let partner = rank ^ 1 << level;
    let groups = |member: u32| {
        let first = member >> level << level;
        let fold = |rank: u32| (rank + core).min(all.size);
        [(first, first + (1 << level)), (fold(first), fold(first + (1 << level)))]
    };
    for (first, last) in groups(partner) {
        round.receive(partner, all.ranks(first, last));
    }
    for (first, last) in groups(rank) {
        round.send(partner, all.ranks(first, last));
    }
}

/// All blocks one after the other in rank order: the receive buffer itself, or scratch space.
struct All<'a> {
    blocks: &'a Blocks,
    buffer: Region,
    size: u32,
}

impl<'a> All<'a> {
    fn new(task: &Task<'a>) -> Self {
        let buffer = if task.receives.are_equal() { task.output } else { task.room(0, 0) };
        Self { blocks: task.receives, buffer, size: task.size }
    }

    fn ranks(&self, first: u32, last: u32) -> Region {
        self.buffer.part(self.blocks.sum(0, first), self.blocks.sum(first, last))
    }

    fn whole(&self) -> Region {
        self.ranks(0, self.size)
    }
}
