//! `MPI_IN_PLACE`: what a rank gives lies where its result goes.
//!
//! Most algorithms read what a rank gives before they write anything else there: then nothing is copied,
//! not even where the algorithm copies what is given to the result. Others read parts of it later; for
//! those it is put aside first. Which of the two it is follows from the rounds of the algorithm.
//!
//! Source: MPI 4.0, Sec. 6.1 and 6.5 to 6.11. Left out: algorithms that libraries have for calls in place
//! only (MPICH's alltoall by `MPI_Sendrecv_replace`). Noticeable as a copy of the whole buffer.

use super::{At, Blocks, Collective, Kind, Move, Round, Work};
use calls::space::{Region, Space};

/// A buffer that no process has.
const GIVEN: Space = Space::Scratch(u16::MAX);
/// Scratch space of this walk.
const SCRATCH: Space = Space::Scratch(0);

impl Collective {
    /// The same in place, where rank `me` of `ranks` may call it so: of a rooted one the root alone.
    #[must_use]
    pub fn at_its_place(self, (me, ranks): (u32, u32)) -> Self {
        let is_root = self.root.0 == me;
        let Self { input, output, .. } = self;
        match self.kind {
            Kind::Gather if is_root => {
                Self { input: self.receives.of(output, me), in_place: true, ..self }
            }
            Kind::Scatter if is_root => {
                Self { output: self.sends.of(input, me), in_place: true, ..self }
            }
            Kind::Allgather => Self { input: self.receives.of(output, me), in_place: true, ..self },
            Kind::Reduce if is_root => Self { input: output, in_place: true, ..self },
            Kind::Allreduce | Kind::Scan | Kind::Exscan => {
                Self { input: output, in_place: true, ..self }
            }
            Kind::Alltoall => {
                let sends: Blocks = self.receives.clone();
                Self { input: output, sends, in_place: true, ..self }
            }
            Kind::ReduceScatter | Kind::ReduceScatterBlock => {
                let input = Region { len: self.sends.extent(ranks), ..output };
                Self { input, in_place: true, ..self }
            }
            Kind::Barrier | Kind::Bcast | Kind::Gather | Kind::Scatter | Kind::Reduce => self,
        }
    }

    /// Whether rank `me` of `ranks` reads something of what it gives after another write to the same bytes:
    /// then it must be put aside.
    pub fn overwrites(&self, (me, ranks): (u32, u32)) -> bool {
        let given = Region { space: GIVEN, ..self.input };
        let apart = Self { input: given, in_place: false, ..self.clone() };
        let mut written: Vec<Region> = Vec::new();
        let mut round = Round::default();
        for phase in 0..apart.phases() {
            let mut at = At { phase, round: 0 };
            loop {
                round.clear();
                if !apart.round((me, ranks), SCRATCH, at, &mut round) {
                    break;
                }
                // The messages of a round come and go in any order.
                for one in &round.moves {
                    if let Move::Receive { region, .. } = one {
                        written.push(*region);
                    }
                }
                for one in &round.moves {
                    if let Move::Send { region, .. } = one
                        && is_lost(self.output.space, *region, &written)
                    {
                        return true;
                    }
                }
                for work in &round.work {
                    let (from, into) = match *work {
                        Work::Copy { from, to } => (from, to),
                        Work::Combine { from, into, .. } => (from, into),
                    };
                    if is_lost(self.output.space, from, &written) {
                        return true;
                    }
                    let is_there = matches!(work, Work::Copy { .. })
                        && (Region { space: into.space, ..from }) == into;
                    if from.space != GIVEN || !is_there {
                        written.push(into);
                    }
                }
                at.round += 1;
            }
        }
        false
    }
}

/// Whether a read of what is given finds bytes that were written since; `space` is that of the result.
fn is_lost(space: Space, read: Region, written: &[Region]) -> bool {
    if read.space != GIVEN {
        return false;
    }
    let overlap = |one: &Region| {
        one.space == space
            && one.offset < read.offset + read.len
            && read.offset < one.offset + one.len
    };
    written.iter().any(overlap)
}
