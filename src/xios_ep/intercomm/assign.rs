//! Shared processes: MPI wants disjoint groups of processes, so each joins one of both groups.
//!
//! ```text
//!   leaders in different processes   1  no leader in the shared process -> the higher peer rank
//!                                    2  one leader in it                -> that leader's group
//!   leaders in one process; A has the smaller peer rank, and ranks are those of the world now
//!                                    3a A has more processes: A's leader moves, process -> B
//!                                    3b only B has more:      B's leader moves, process -> A
//!                                    3c neither has:          one intracommunicator, labelled
//! ```
//!
//! A leader moves to the master of the lowest other process of its group, shared or not. After a
//! move, cases 1 and 2 decide about all other shared processes.
//!
//! Source: `xios-ep` Sec. 6.2.

use std::fmt;

use super::Members;
use mpi::envelope::Rank;
use mpi::intercommunicator::Side;

/// Facts that the leaders exchange first.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Card {
    /// World rank of the leader's process.
    pub process: u32,
    /// How many processes the group has.
    pub processes: u32,
    /// Rank of the leader in the peer communicator.
    pub peer: Rank,
}

/// Decision about the leaders: whether and how one of them moves.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Leaders {
    /// They are in different processes and stay.
    Apart,
    /// Case 3a: the one with the smaller peer rank moves.
    LowerMoves(Side),
    /// Case 3b: the one with the higher peer rank moves.
    HigherMoves(Side),
    /// Case 3c: each group is this one process; the side has the smaller peer rank.
    Alone(Side),
}

/// How the group of a shared process was found.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Case {
    /// 1: no leader in it.
    NoLeader,
    /// 2: one leader in it.
    OneLeader,
    /// 3a: both leaders in it, the group with the smaller peer rank has more processes.
    BothLowerMoves,
    /// 3b: both leaders in it, only the other group has more processes.
    BothHigherMoves,
    /// 3c: both leaders in it, and it is the only process of both.
    BothAlone,
}

/// A leader, as it is when processes are assigned.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Leader {
    /// World rank of its process.
    pub process: u32,
    /// Rank that is compared in case 1: that in the peer communicator, which is the world after a leader moved.
    pub peer: u32,
}

/// A process with threads in both groups, and the group that it joins.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Shared {
    /// Its world rank.
    pub process: u32,
    /// Why.
    pub case: Case,
    /// The group; in case 3c, where it stays in both, the one whose endpoints come first.
    pub to: Side,
}

impl Leaders {
    /// Decision of both sides, from both cards.
    pub fn decide(cards: [Card; 2]) -> Self {
        let [a, b] = cards;
        if a.process != b.process {
            return Self::Apart;
        }
        let (lower, higher) = if a.peer < b.peer { (Side::A, Side::B) } else { (Side::B, Side::A) };
        if cards[lower as usize].processes > 1 {
            Self::LowerMoves(lower)
        } else if cards[higher as usize].processes > 1 {
            Self::HigherMoves(higher)
        } else {
            Self::Alone(lower)
        }
    }

    /// The side whose leader moves.
    pub fn mover(self) -> Option<Side> {
        match self {
            Self::LowerMoves(side) | Self::HigherMoves(side) => Some(side),
            Self::Apart | Self::Alone(_) => None,
        }
    }

    /// The case of the process that held both leaders.
    fn case(self) -> Option<Case> {
        match self {
            Self::Apart => None,
            Self::LowerMoves(_) => Some(Case::BothLowerMoves),
            Self::HigherMoves(_) => Some(Case::BothHigherMoves),
            Self::Alone(_) => Some(Case::BothAlone),
        }
    }
}

/// The new leader of a group whose leader is in process `from`: the master of the lowest other
/// process. None where the group has no other one.
pub fn moved_leader(members: &Members, from: u32) -> Option<Rank> {
    let map = &members.rank_map;
    let mut masters = map.processes().map(|process| map.locals(process)[0]);
    masters.find(|master| members.threads[master.0 as usize].process != from)
}

/// The group that a shared process joins, by cases 1 and 2.
pub fn assign(process: u32, leaders: [Leader; 2]) -> (Case, Side) {
    let [a, b] = leaders;
    match (a.process == process, b.process == process) {
        (true, _) => (Case::OneLeader, Side::A),
        (false, true) => (Case::OneLeader, Side::B),
        (false, false) => (Case::NoLeader, if a.peer > b.peer { Side::A } else { Side::B }),
    }
}

/// All shared processes by world rank, and where they go. `origin` is the process that held both
/// leaders before one moved.
pub(super) fn shared(
    groups: [&Members; 2],
    decided: Leaders,
    origin: u32,
    leaders: [Leader; 2],
) -> Vec<Shared> {
    let mut common = groups[0].processes();
    common.retain(|process| !groups[1].of_process(*process).is_empty());
    common.sort_unstable();
    let assigned = |process| {
        let (case, to) = assign(process, leaders);
        let case = decided.case().filter(|_| process == origin).unwrap_or(case);
        let to = if let Leaders::Alone(first) = decided { first } else { to };
        Shared { process, case, to }
    };
    common.into_iter().map(assigned).collect()
}

impl fmt::Display for Case {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::NoLeader => "case 1",
            Self::OneLeader => "case 2",
            Self::BothLowerMoves => "case 3a",
            Self::BothHigherMoves => "case 3b",
            Self::BothAlone => "case 3c",
        })
    }
}

impl fmt::Display for Shared {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { process, case, to } = self;
        match case {
            Case::BothAlone => write!(out, "process {process} stays in both groups ({case})"),
            Case::NoLeader | Case::OneLeader | Case::BothLowerMoves | Case::BothHigherMoves => {
                write!(out, "process {process} joins {to:?}' ({case})")
            }
        }
    }
}
