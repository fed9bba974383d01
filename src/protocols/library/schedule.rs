//! Planted bugs of collectives: what a rank does in a round, after its algorithm has said it.

use crate::mutant::Mutant;
use collectives::{Algorithm, Kind, Move, Round, Work};
use mpi::operator::Side;

/// Where a rank stands in a collective.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    pub(crate) algorithm: Algorithm,
    pub(crate) rank: u32,
    pub(crate) size: u32,
    pub(crate) round: u32,
    /// Whether the collective is nonblocking.
    pub(crate) begun: bool,
    /// Whether its operator does not commute.
    pub(crate) in_order: bool,
    /// Operation between two groups, and the step of it that the rank is in.
    pub(crate) step: Option<(Kind, u8)>,
}

impl Standing {
    fn is_barrier(self) -> bool {
        self.algorithm == Algorithm::BarrierDissemination
    }

    /// Whether the round is the last one of a ring allreduce.
    fn ends_a_ring(self) -> bool {
        self.algorithm == Algorithm::AllreduceRing && self.round == 2 * (self.size - 1)
    }

    /// Whether a rank of a barrier along a tree receives from its children in this round.
    fn hears_children(self) -> bool {
        self.algorithm == Algorithm::BarrierTree && self.round == 0
    }

    fn is_reduced_along_a_chain(self) -> bool {
        self.algorithm == Algorithm::ReducePipelinedRing
    }

    /// Whether the round is the last one of a barrier.
    fn ends_a_barrier(self) -> bool {
        self.is_barrier() && 2_u64 << self.round.min(32) >= u64::from(self.size)
    }
}

/// Changes what a rank does in a round.
#[expect(clippy::wildcard_enum_match_arm, reason = "a few bugs of many bend a round")]
pub(crate) fn bend(mutant: Mutant, standing: &Standing, round: &mut Round) {
    let receives = |one: &Move| matches!(one, Move::Receive { .. });
    let doubling = standing.algorithm == Algorithm::AllreduceRecursiveDoubling;
    match mutant {
        Mutant::SkipsRound if standing.ends_a_barrier() => round.clear(),
        Mutant::LetsOneOut if standing.ends_a_barrier() && standing.rank == 0 => {
            round.moves.retain(|one| !receives(one));
        }
        Mutant::EndsAfterARound if standing.begun && standing.round > 0 => {
            round.moves.retain(|one| !receives(one));
        }
        Mutant::HearsFirst if standing.is_barrier() => round.moves.reverse(),
        Mutant::WrongFold if doubling && standing.round == 1 => combine_on(Side::After, round),
        Mutant::RingStopsShort if standing.ends_a_ring() => round.clear(),
        Mutant::BruckKeepsLow if standing.algorithm == Algorithm::AllgatherBruck => {
            // Only the last round copies twice.
            round.work.truncate(1);
        }
        Mutant::FirstSegmentOnly if standing.is_reduced_along_a_chain() && standing.round > 0 => {
            round.work.retain(|one| matches!(one, Work::Copy { .. }));
        }
        Mutant::TellsOnly if standing.step == Some((Kind::Barrier, 1)) => {
            round.moves.retain(|one| !receives(one));
        }
        Mutant::OwnSum if standing.step == Some((Kind::Allreduce, 1)) => keep_own(round),
        Mutant::ReduceTurned if standing.in_order && standing.algorithm.kind() == Kind::Reduce => {
            turn(round);
        }
        Mutant::ScanTurned if standing.in_order && standing.algorithm.kind() == Kind::Scan => {
            turn(round);
        }
        Mutant::TreeHearsOne if standing.hears_children() => round.moves.truncate(1),
        Mutant::WrongSide if doubling && standing.round > 1 => combine_on(Side::Before, round),
        _ => {}
    }
}

/// Replaces an exchange of one send and one receive by a copy of the sent bytes into the receive's place.
fn keep_own(round: &mut Round) {
    if let [Move::Send { region: from, .. }, Move::Receive { region: to, .. }] = round.moves[..] {
        round.moves.clear();
        round.copy(from, to);
    }
}

/// Each combines on the other side.
fn turn(round: &mut Round) {
    for work in &mut round.work {
        if let Work::Combine { side, .. } = work {
            *side = match side {
                Side::Before => Side::After,
                Side::After => Side::Before,
            };
        }
    }
}

fn combine_on(wrong: Side, round: &mut Round) {
    for work in &mut round.work {
        if let Work::Combine { side, .. } = work {
            *side = wrong;
        }
    }
}
