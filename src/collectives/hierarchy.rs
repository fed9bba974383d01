//! Collectives in steps over units (processes, nodes): inside each unit, among the units' leaders,
//! inside each unit again. So the messages between units do not grow with the ranks of a unit.
//!
//! ```text
//!   allreduce:  reduce to the leader ──▶ allreduce of the leaders ──▶ broadcast by the leader
//!   reduce:     reduce to the leader ──▶ reduce of the leaders to the root
//!   bcast:      broadcast among the leaders, from the root ──▶ broadcast by the leader
//!   barrier:    send to the leader ──▶ barrier of the leaders ──▶ receive from the leader
//! ```
//!
//! The leader of a unit is its lowest rank, and the root where it is of the unit: nothing is sent
//! twice. The algorithm of the call is that of the leaders; inside a unit trees are binomial.
//!
//! Source: `xios-ep` (collectives in three steps). Left out: hierarchical scatter, gather and the
//! like, which move as many bytes either way.

use super::algorithms::barrier_linear;
pub use super::units::Units;
use super::{Algorithm, At, Collective, Kind, Round, Task};
use calls::space::Region;

/// Where in the steps a phase is.
#[derive(Clone, Copy)]
enum Part {
    Collect,
    Leaders,
    Distribute,
}

/// How many steps an operation has; `None` where there is no such version of it.
pub const fn phases(kind: Kind) -> Option<u8> {
    match kind {
        Kind::Barrier | Kind::Allreduce => Some(3),
        Kind::Bcast | Kind::Reduce => Some(2),
        Kind::Scatter
        | Kind::Gather
        | Kind::Allgather
        | Kind::ReduceScatter
        | Kind::ReduceScatterBlock
        | Kind::Alltoall
        | Kind::Scan
        | Kind::Exscan => None,
    }
}

/// Appends the moves and work of a rank in one round of one step; `flat` is its task if there were no units.
pub(super) fn round(
    call: &Collective,
    units: &Units,
    flat: &Task<'_>,
    at: At,
    round: &mut Round,
) -> bool {
    let step = match (call.kind, at.phase) {
        (Kind::Bcast, 0) => Part::Leaders,
        (Kind::Bcast, _) => Part::Distribute,
        (_, 0) => Part::Collect,
        (_, 1) => Part::Leaders,
        _ => Part::Distribute,
    };
    let root = call.kind.has_root().then_some(flat.root);
    let unit = units.unit_of[flat.rank as usize];
    let leader = units.leader(unit, root);
    let members = &units.members[unit as usize];
    let place = |rank: u32| {
        let place = members.binary_search(&rank).expect("a unit knows its members");
        u32::try_from(place).expect("no more members than ranks")
    };
    let first = round.moves.len();
    if let Part::Leaders = step {
        if flat.rank != leader {
            return false;
        }
        let task = Task {
            rank: unit,
            size: units.count(),
            root: units.unit_of[flat.root as usize],
            input: partial(call, flat),
            scratch: flat.room(kept(call), 0),
            ..*flat
        };
        let more = call.algorithm.round(&task, at.round, round);
        round.rename(first, |unit| units.leader(unit, root));
        return more;
    }
    let inside = Task {
        rank: place(flat.rank),
        size: u32::try_from(members.len()).expect("no more members than ranks"),
        root: place(leader),
        output: partial(call, flat),
        scratch: flat.room(kept(call), 0),
        ..*flat
    };
    let more = match (step, call.kind) {
        (Part::Collect | Part::Distribute, Kind::Barrier) if at.round > 0 => false,
        (Part::Collect | Part::Distribute, Kind::Barrier) => {
            barrier_linear::tell(&inside, matches!(step, Part::Collect), round);
            true
        }
        (Part::Collect, _) => Algorithm::ReduceBinomial.round(&inside, at.round, round),
        (Part::Leaders | Part::Distribute, _) => {
            let inside = Task { output: flat.output.part(0, partial(call, flat).len), ..inside };
            Algorithm::BcastBinomial.round(&inside, at.round, round)
        }
    };
    round.rename(first, |member| members[member as usize]);
    more
}

/// Where the leader of a unit keeps what its unit has combined: its result buffer, and in a
/// reduction scratch space where it is not the root.
fn partial(call: &Collective, flat: &Task<'_>) -> Region {
    if call.kind == Kind::Bcast {
        flat.output
    } else if call.kind == Kind::Reduce && flat.rank != flat.root {
        flat.room(0, flat.input.len)
    } else {
        flat.output.part(0, flat.input.len)
    }
}

/// Scratch space that [`partial`] takes.
const fn kept(call: &Collective) -> u64 {
    if matches!(call.kind, Kind::Reduce) { call.input.len } else { 0 }
}
