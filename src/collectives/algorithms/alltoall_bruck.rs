//! All-to-all by Bruck, for short blocks: a block travels the distance to its rank in powers of two, together with
//! all others that need the same one.
//!
//! ```text
//!   turn ──▶ pack those with bit 0 of the distance ──▶ to r+1, from r-1 ──▶ bit 1, r±2 ──▶ … ──▶ turn back
//! ```
//!
//! It takes ceil(log2 P) rounds for any number of ranks, of about half of all blocks each. Blocks are of one size.
//!
//! Source: Bruck, Ho, Kipnis, Upfal, Weathersby 1997; Thakur, Rabenseifner, Gropp 2005, Section 4.6 (short
//! messages).

use crate::{Round, Task};
use calls::space::Region;

/// Turn and pack; one exchange a level, after which it is unpacked and the next one packed; turn back.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let turned = Turned::new(task);
    let levels = task.size.next_power_of_two().ilog2();
    if k == 0 {
        turned.turn(round);
    } else if k <= levels {
        let distance = 1_u32 << (k - 1);
        let Task { rank, size, .. } = *task;
        let (going, coming) = turned.packed(distance);
        round.receive((rank + size - distance) % size, coming);
        round.send((rank + distance) % size, going);
        turned.each_run(distance, |blocks, packed| {
            round.copy(coming.part(packed, blocks.len), blocks);
        });
    } else {
        return false;
    }
    if k < levels {
        let distance = 1 << k;
        let (going, _) = turned.packed(distance);
        turned.each_run(distance, |blocks, packed| {
            round.copy(blocks, going.part(packed, blocks.len));
        });
    } else {
        turned.turn_back(round);
    }
    true
}

/// The blocks by the distance of their ranks, in scratch space, and behind them room for what goes and comes.
struct Turned<'a> {
    task: &'a Task<'a>,
    block: u64,
}

impl<'a> Turned<'a> {
    fn new(task: &'a Task<'a>) -> Self {
        Self { task, block: task.sends.at(0).len }
    }

    /// The blocks for ranks at distances `first..last`.
    fn blocks(&self, first: u32, last: u32) -> Region {
        self.task.room(u64::from(first) * self.block, u64::from(last - first) * self.block)
    }

    /// Calls with each run of blocks whose distance has this bit, and with its place among those packed.
    fn each_run(&self, bit: u32, mut call: impl FnMut(Region, u64)) {
        let mut packed = 0;
        let mut first = bit;
        while first < self.task.size {
            let run = self.blocks(first, (first + bit).min(self.task.size));
            call(run, packed);
            packed += run.len;
            first += 2 * bit;
        }
    }

    /// Region of the packed blocks of one bit that are sent, and region of those that are received.
    fn packed(&self, bit: u32) -> (Region, Region) {
        let mut len = 0;
        self.each_run(bit, |run, _| len += run.len);
        let all = u64::from(self.task.size) * self.block;
        (self.task.room(all, len), self.task.room(2 * all, len))
    }

    fn turn(&self, round: &mut Round) {
        let Task { rank, size, input, .. } = *self.task;
        let (low, high) = (u64::from(rank) * self.block, u64::from(size - rank) * self.block);
        round.copy(input.part(low, high), self.blocks(0, size - rank));
        round.copy(input.part(0, low), self.blocks(size - rank, size));
    }

    /// Copies each received block to the output: the block of a distance comes from the rank so far before.
    fn turn_back(&self, round: &mut Round) {
        let Task { rank, size, .. } = *self.task;
        for distance in 0..size {
            let from = (rank + size - distance) % size;
            let place = self.task.receives.of(self.task.output, from);
            round.copy(self.blocks(distance, distance + 1), place);
        }
    }
}
