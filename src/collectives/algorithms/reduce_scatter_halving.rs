//! Reduce-scatter by recursive halving: a partner gets the half of the blocks that its side keeps,
//! and what comes is combined with the other half.
//!
//! ```text
//!   pack ──▶ fold ──▶ halve, combine (log2 of the core times) ──▶ own block; unfold
//! ```
//!
//! Partners are at distance 1 first, so that what is combined stands next to each other in the
//! order of ranks: the operator need not commute. After the last halving a member of the core has
//! the part at its bit-reversed number; the blocks are packed in that order before.
//!
//! Source: Thakur, Rabenseifner, Gropp 2005, Section 4.3.

use super::fold::{Fold, Part, kept};
use crate::{Round, Task};
use calls::space::Region;
use mpi::operator::Side;

/// Pack; fold; one exchange a level; own block and unfold.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let packed = Packed::new(task);
    let levels = packed.fold.levels();
    match k {
        0 => packed.pack(round),
        1 => packed.fold_in(round),
        _ if k < 2 + levels => packed.halve(k - 2, round),
        _ if k == 2 + levels => packed.finish(round),
        _ => return false,
    }
    true
}

/// The blocks in the order in which they are halved, in scratch space.
struct Packed<'a> {
    task: &'a Task<'a>,
    fold: Fold,
    /// Where the part of each place begins, and where the last one ends.
    starts: Vec<u64>,
}

impl<'a> Packed<'a> {
    fn new(task: &'a Task<'a>) -> Self {
        let fold = Fold::new(task.size);
        let mut packed = Self { task, fold, starts: vec![0] };
        let mut end = 0;
        for place in 0..fold.core {
            end += packed.owners(place).map(|rank| task.sends.at(rank).len).sum::<u64>();
            packed.starts.push(end);
        }
        packed
    }

    /// The ranks whose blocks are the part of a place: a member of the core after whom it took in.
    fn owners(&self, place: u32) -> impl Iterator<Item = u32> + use<> {
        let levels = self.fold.levels();
        let number = if levels == 0 { 0 } else { place.reverse_bits() >> (32 - levels) };
        let rank = self.fold.rank(number);
        let giver = match self.fold.part(rank) {
            Part::Takes(from) => Some(from),
            Part::Gives(_) | Part::Alone => None,
        };
        giver.into_iter().chain([rank])
    }

    fn parts(&self, (low, high): (u32, u32)) -> Region {
        let (start, end) = (self.starts[low as usize], self.starts[high as usize]);
        self.task.room(start, end - start)
    }

    /// The same bytes of the second buffer, for what comes.
    fn coming(&self, part: Region) -> Region {
        part.part(self.starts[self.fold.core as usize], part.len)
    }

    fn pack(&self, round: &mut Round) {
        for place in 0..self.fold.core {
            let mut start = self.starts[place as usize];
            for rank in self.owners(place) {
                let block = self.task.sends.of(self.task.input, rank);
                round.copy(block, self.task.room(start, block.len));
                start += block.len;
            }
        }
    }

    fn fold_in(&self, round: &mut Round) {
        let whole = self.parts((0, self.fold.core));
        match self.fold.part(self.task.rank) {
            Part::Gives(to) => round.send(to, whole),
            Part::Takes(from) => {
                round.receive(from, self.coming(whole));
                round.combine(self.coming(whole), whole, Side::Before);
            }
            Part::Alone => {}
        }
    }

    fn halve(&self, level: u32, round: &mut Round) {
        let Some(number) = self.fold.number(self.task.rank) else { return };
        let partner = number ^ 1 << level;
        let of = |member| self.parts(kept(member, level + 1, self.fold.core));
        let (mine, theirs) = (of(number), of(partner));
        round.receive(self.fold.rank(partner), self.coming(mine));
        round.send(self.fold.rank(partner), theirs);
        let side = if partner < number { Side::Before } else { Side::After };
        round.combine(self.coming(mine), mine, side);
    }

    fn finish(&self, round: &mut Round) {
        let Task { rank, output, .. } = *self.task;
        let len = self.task.sends.at(rank).len;
        if let Part::Gives(to) = self.fold.part(rank) {
            return round.receive(to, output.part(0, len));
        }
        let number = self.fold.number(rank).expect("who does not give is of the core");
        let (place, _) = kept(number, self.fold.levels(), self.fold.core);
        let mut start = self.starts[place as usize];
        if let Part::Takes(from) = self.fold.part(rank) {
            let theirs = self.task.sends.at(from).len;
            round.send(from, self.task.room(start, theirs));
            start += theirs;
        }
        round.copy(self.task.room(start, len), output.part(0, len));
    }
}
