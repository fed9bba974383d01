//! Intercommunicators: two groups without a common process, each of which addresses the other.
//!
//! Each side brings its group, a leader in it, and the rank by which a communicator that both
//! leaders share, the peer communicator, knows the *other* leader. Every process of both sides
//! calls; so the two sides can contradict each other, and that is checked.
//!
//! A merge puts the side that says `high` behind the other one. Where both sides say the same, MPI
//! leaves the order open; here the side whose rank 0 is the lower process of the job comes first.
//!
//! Source: MPI-3.1, Sec. 6.6.
//! Left out: the tag of the leaders' exchange. Noticeable only where two creations between the same
//! leaders are under way at once.

use std::sync::Arc;

use super::communicator::{Communicators, Comparison};
use super::envelope::{Context, Rank};
use super::group::{self, Group};

/// One of the two sides.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Side {
    /// The one given first.
    A,
    /// The one given second.
    B,
}

/// The arguments of one side in the creation of an intercommunicator.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Caller {
    /// The group of their communicator.
    pub group: Arc<Group>,
    /// The rank of their leader in it.
    pub leader: Rank,
    /// The rank of the other side's leader in the peer communicator.
    pub remote_leader: Rank,
}

/// Two disjoint groups and the contexts in which they talk to each other.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Intercommunicator {
    /// Context of the program's point-to-point messages.
    pub context: Context,
    /// Context of the library's own messages (collectives).
    pub internal: Context,
    /// The groups of both sides.
    groups: [Arc<Group>; 2],
}

/// Why there can be no intercommunicator.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum IntercommunicatorError {
    /// The leader's rank is not in its group.
    #[error("side {side:?}: leader {} is out of range, the group has {size} processes", leader.0)]
    LeaderOutOfRange {
        /// Side of the leader.
        side: Side,
        /// Its rank.
        leader: Rank,
        /// Size of the group.
        size: u32,
    },
    /// The other leader's rank is not in the peer communicator.
    #[error(
        "side {side:?}: remote leader {} is out of range, the peer communicator has {size} ranks",
        remote_leader.0
    )]
    RemoteLeaderOutOfRange {
        /// Side that names it.
        side: Side,
        /// The rank named.
        remote_leader: Rank,
        /// Size of the peer communicator.
        size: u32,
    },
    /// A leader is not in the peer communicator.
    #[error("side {side:?}: its leader, process {process}, is not in the peer communicator")]
    LeaderNotInPeer {
        /// Side of the leader.
        side: Side,
        /// Its process.
        process: u32,
    },
    /// One side names a remote leader that is not the leader of the other.
    #[error(
        "side {side:?} takes process {named} for the leader of the other side, which is process \
         {leader}"
    )]
    OtherLeader {
        /// Side that is wrong.
        side: Side,
        /// The process it names.
        named: u32,
        /// The leader of the other side.
        leader: u32,
    },
    /// The groups share a process.
    #[error("process {process} is rank {} of side A and rank {} of side B", a.0, b.0)]
    Overlap {
        /// The process.
        process: u32,
        /// Its rank on side A.
        a: Rank,
        /// Its rank on side B.
        b: Rank,
    },
    /// The table has no such intercommunicator.
    #[error("intercommunicator {number} does not exist; there are {known}, numbered from 0")]
    Unknown {
        /// The number requested.
        number: u16,
        /// Length of the table.
        known: usize,
    },
    /// The table has no room.
    #[error("one more intercommunicator does not fit: a job has at most 65536")]
    Full,
}

/// Why two sides cannot be merged.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum MergeError {
    /// The flags of a side are not one for each rank.
    #[error("side {side:?}: {found} flags for {size} processes; each rank has one")]
    FlagCount {
        /// Which side.
        side: Side,
        /// How many flags there are.
        found: usize,
        /// Size of the group.
        size: u32,
    },
    /// Processes of one side say different things.
    #[error("side {side:?}: rank {} says high = {}, rank 0 says {}", rank.0, !first, first)]
    FlagsDiffer {
        /// Which side.
        side: Side,
        /// The first rank that differs from rank 0.
        rank: Rank,
        /// Flag of rank 0.
        first: bool,
    },
}

impl Side {
    /// Both, in order.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// The other side.
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

impl Intercommunicator {
    /// The intercommunicator number `index` of a job. Its contexts lie above those of all
    /// communicators.
    fn numbered(index: u16, groups: [Arc<Group>; 2]) -> Self {
        let communicators = u32::try_from(Communicators::LIMIT).expect("2^16");
        let first = 2 * (communicators + u32::from(index));
        Self { context: Context(first), internal: Context(first + 1), groups }
    }

    /// The group of a side.
    pub fn group(&self, side: Side) -> &Arc<Group> {
        &self.groups[side as usize]
    }

    /// The side of a process; `None` where it is on neither.
    pub fn side(&self, process: u32) -> Option<Side> {
        Side::BOTH.into_iter().find(|side| self.group(*side).rank(process).is_some())
    }

    /// The group in which this process has its rank; `None` where it is on neither side.
    pub fn local(&self, process: u32) -> Option<&Arc<Group>> {
        Some(self.group(self.side(process)?))
    }

    /// The group whose ranks this process addresses; `None` where it is on neither side.
    pub fn remote(&self, process: u32) -> Option<&Arc<Group>> {
        Some(self.group(self.side(process)?.other()))
    }

    /// How this intercommunicator compares to another one of the same job: side by side, whichever
    /// was given first there. The answer is the worse of both sides.
    pub fn compare(&self, other: &Self) -> Comparison {
        if self.context == other.context {
            return Comparison::Ident;
        }
        let sides = |there: [Side; 2]| {
            let [a, b] = [Side::A, Side::B]
                .map(|side| self.group(side).compare(other.group(there[side as usize])));
            worse(a, b)
        };
        match sides(Side::BOTH) {
            group::Comparison::Unequal => sides([Side::B, Side::A]).into(),
            equal @ (group::Comparison::Ident | group::Comparison::Similar) => equal.into(),
        }
    }

    /// The group of a merge; `high[side][rank]` is the argument of each process.
    ///
    /// # Errors
    ///
    /// Flags that are not one for each rank, or that differ within a side.
    pub fn merge(&self, high: [&[bool]; 2]) -> Result<Group, MergeError> {
        let [a, b] = [self.flag(Side::A, high[0])?, self.flag(Side::B, high[1])?];
        let first_process = |side| self.group(side).members().first();
        let a_first = if a == b { first_process(Side::A) < first_process(Side::B) } else { b };
        let first = if a_first { Side::A } else { Side::B };
        Ok(self.group(first).union(self.group(first.other())))
    }

    /// The argument on which all processes of a side agree.
    fn flag(&self, side: Side, flags: &[bool]) -> Result<bool, MergeError> {
        let ranks = self.group(side).size();
        match flags.first() {
            Some(first) if flags.len() == ranks as usize => {
                match (0..).zip(flags).find(|(_, flag)| *flag != first) {
                    None => Ok(*first),
                    Some((rank, _)) => {
                        Err(MergeError::FlagsDiffer { side, rank: Rank(rank), first: *first })
                    }
                }
            }
            _ => Err(MergeError::FlagCount { side, found: flags.len(), size: ranks }),
        }
    }
}

fn worse(a: group::Comparison, b: group::Comparison) -> group::Comparison {
    use group::Comparison::{Ident, Similar, Unequal};
    match (a, b) {
        (Unequal, _) | (_, Unequal) => Unequal,
        (Similar, _) | (_, Similar) => Similar,
        (Ident, Ident) => Ident,
    }
}

/// All intercommunicators of a job, by number.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Intercommunicators(Vec<Intercommunicator>);

impl Intercommunicators {
    /// Adds the intercommunicator of two sides whose leaders talk through the communicator with
    /// group `peer`; answers with its number.
    ///
    /// # Errors
    ///
    /// Why the leaders or the groups are refused, or that the table is full.
    pub fn create(
        &mut self,
        a: &Caller,
        b: &Caller,
        peer: &Group,
    ) -> Result<u16, IntercommunicatorError> {
        let leaders = [a.leader(Side::A)?, b.leader(Side::B)?];
        a.check_remote(Side::A, leaders, peer)?;
        b.check_remote(Side::B, leaders, peer)?;
        for (process, rank) in a.group.members().iter().zip(0..) {
            if let Some(other) = b.group.rank(*process) {
                let (process, a, b) = (*process, Rank(rank), other);
                return Err(IntercommunicatorError::Overlap { process, a, b });
            }
        }
        self.add([Arc::clone(&a.group), Arc::clone(&b.group)])
    }

    /// Adds a duplicate: same groups, new contexts; answers with its number.
    ///
    /// # Errors
    ///
    /// `of` is not in the table, or the table is full.
    pub fn duplicate(&mut self, of: u16) -> Result<u16, IntercommunicatorError> {
        let unknown = IntercommunicatorError::Unknown { number: of, known: self.0.len() };
        let groups = self.get(of).ok_or(unknown)?.groups.clone();
        self.add(groups)
    }

    /// The intercommunicator with this number.
    pub fn get(&self, number: u16) -> Option<&Intercommunicator> {
        self.0.get(usize::from(number))
    }

    /// All intercommunicators in the order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Intercommunicator> {
        self.0.iter()
    }

    fn add(&mut self, groups: [Arc<Group>; 2]) -> Result<u16, IntercommunicatorError> {
        let index = u16::try_from(self.0.len()).map_err(|_| IntercommunicatorError::Full)?;
        self.0.push(Intercommunicator::numbered(index, groups));
        Ok(index)
    }
}

impl Caller {
    /// The process of the leader.
    fn leader(&self, side: Side) -> Result<u32, IntercommunicatorError> {
        let (leader, ranks) = (self.leader, self.group.size());
        let outside = IntercommunicatorError::LeaderOutOfRange { side, leader, size: ranks };
        self.group.process(leader).ok_or(outside)
    }

    /// Whether this side's leader is in the peer communicator and names the other one rightly.
    fn check_remote(
        &self,
        side: Side,
        leaders: [u32; 2],
        peer: &Group,
    ) -> Result<(), IntercommunicatorError> {
        let process = leaders[side as usize];
        if peer.rank(process).is_none() {
            return Err(IntercommunicatorError::LeaderNotInPeer { side, process });
        }
        let (remote_leader, ranks) = (self.remote_leader, peer.size());
        let outside =
            IntercommunicatorError::RemoteLeaderOutOfRange { side, remote_leader, size: ranks };
        let named = peer.process(remote_leader).ok_or(outside)?;
        let leader = leaders[side.other() as usize];
        let wrong = IntercommunicatorError::OtherLeader { side, named, leader };
        if named == leader { Ok(()) } else { Err(wrong) }
    }
}

#[cfg(test)]
mod tests;
