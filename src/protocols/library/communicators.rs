//! Communicators of processes that a program makes while it runs.
//!
//! ```text
//!   MPI_Comm_dup           agree on a context                          ─▶ same group
//!   MPI_Comm_split         agree on a context, gather colors and keys  ─▶ one group a color
//!   MPI_Comm_create_group  the group alone agrees on a context         ─▶ that group
//!   MPI_Intercomm_create   leaders swap contexts and groups, and tell  ─▶ two groups
//!   MPI_Intercomm_merge    both groups agree on a context, gather high ─▶ one group after the other
//!   MPI_Comm_free          local: the context is never used again
//! ```
//!
//! Every process names the communicators that it makes itself: a number is free until it is given,
//! and again after the free. The parts of one split have one context: no process is in two of them.
//!
//! Source: MPI-3.1, Sec. 6.4.2, 6.4.3, 6.6.1, 6.6.2. Left out: attributes, info, names,
//! `MPI_Comm_create`, which a split does too.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::agreeing::{Agreeing, Peering, Purpose};
use super::collective::tell;
use super::endpoints::{Caller, Member};
use super::intercommunicators::Sides;
use super::requests::Pending;
use super::{Action, Library, LibraryAction, ProtocolError, Reply, Thread, push_return};
use crate::call::{Comm, CommCall, GROUP_TAG_MAX};
use crate::collectives::agreement::Agreement;
use crate::collectives::coupling::Coupling;
use crate::contract::Step;
use mpi::communicator::Communicator;
use mpi::envelope::{Context, Rank};
use mpi::group::{Choice, Group};
use mpi::observation::GroupFact;

/// What a process made, by its own numbers.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Made {
    pub(super) communicators: BTreeMap<Comm, Communicator>,
    /// The two groups of each intercommunicator; its entry above has both as one.
    pub(super) sides: BTreeMap<Comm, Sides>,
}

impl Made {
    pub(super) fn get(&self, comm: Comm) -> Option<&Communicator> {
        self.communicators.get(&comm)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Communicator> {
        self.communicators.values()
    }
}

/// Numbers as the words of an agreement carry them.
const WORDS: usize = 2;

fn words(numbers: impl IntoIterator<Item = u32>) -> Vec<u16> {
    let halves = |number: u32| [low(number), low(number >> 16)];
    numbers.into_iter().flat_map(halves).collect()
}

fn numbers(words: &[u16]) -> Vec<u32> {
    let number = |halves: &[u16]| u32::from(halves[0]) | u32::from(halves[1]) << 16;
    words.chunks_exact(WORDS).map(number).collect()
}

fn low(number: u32) -> u16 {
    u16::try_from(number & 0xFFFF).expect("masked to 16 bits")
}

/// A choice as two numbers: no color is negative, so that one bit pattern is left for undefined.
fn encoded(Choice { color, key }: Choice) -> [u32; 2] {
    [color.map_or(u32::MAX, i32::cast_unsigned), key.cast_unsigned()]
}

fn decoded(numbers: &[u32]) -> Choice {
    let color = (numbers[0] != u32::MAX).then(|| numbers[0].cast_signed());
    Choice { color, key: numbers[1].cast_signed() }
}

impl Library {
    pub(super) fn communicators(
        &mut self,
        thread: Thread,
        call: CommCall,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.push(Action::Work(Step::Query));
        match call {
            CommCall::Dup { comm, new } => {
                self.check_new(new, 1)?;
                self.agree_on(thread, comm, &[], Purpose::Dup { new }, out)
            }
            CommCall::Split { comm, color, key, new } => {
                if color.is_some_and(|color| color < 0) {
                    return Err(self
                        .refuse("a color is undefined, or 0 or more", color.unwrap_or_default()));
                }
                let new = color.map(|_| new);
                if let Some(new) = new {
                    self.check_new(new, 1)?;
                }
                let choice = words(encoded(Choice { color, key }));
                self.agree_on(thread, comm, &choice, Purpose::Split { new }, out)
            }
            CommCall::CreateGroup { comm, group, tag, new } => {
                self.create_group(thread, comm, (group, tag), new, out)
            }
            CommCall::Intercomm { comm, leader, peer, remote_leader, tag, new } => {
                let peer = Peering { comm: peer, says: tag, hears: tag };
                self.create_intercomm(thread, (comm, leader), (peer, remote_leader), new, out)
            }
            CommCall::Merge { comm, high, new } => {
                self.check_new(new, 1)?;
                self.sides(comm)?;
                self.agree_on(thread, comm, &[high.into()], Purpose::Merge { new }, out)
            }
            CommCall::Free { comm } => {
                self.made.sides.remove(&comm);
                let Some(communicator) = self.made.communicators.remove(&comm) else {
                    return Err(self.refuse("the process made no such communicator", comm));
                };
                tell(GroupFact::Closed { context: communicator.context }, out);
                self.keep_for_background(communicator);
                push_return(thread, Reply::Done, out);
                Ok(())
            }
            CommCall::Couple { comm, leader, over, own } => {
                let over = over.map(|over| {
                    let peer = Peering { comm: over.peer, says: over.says, hears: over.hears };
                    (peer, over.remote)
                });
                self.couple(thread, (comm, leader), over, (0, &own), Purpose::Couple, out)
            }
            CommCall::Numbers { comm, own } => {
                let own = words(own.iter().copied());
                self.agree_on(thread, comm, &own, Purpose::Numbers, out)
            }
        }
    }

    /// The numbers of new communicators, or endpoints, must be free, and nobody may be about to
    /// give them.
    pub(super) fn check_new(&self, first: Comm, count: u16) -> Result<(), ProtocolError> {
        let known = self.job.communicators.iter().len();
        let mut all = (0..count).map(|index| first.0.checked_add(index).map(Comm));
        let pending = |comm: Comm| {
            let mut all = self.pending.iter().flatten();
            all.any(|one| matches!(one, Pending::Agree(one) if one.purpose.gives(comm)))
        };
        let free = |comm: Comm| {
            let taken = self.made.get(comm).is_some() || self.endpoints.has(comm);
            usize::from(comm.0) >= known && !taken && !pending(comm)
        };
        if all.all(|comm| comm.is_some_and(free)) {
            return Ok(());
        }
        Err(self.refuse("the numbers of the new communicators are in use", first))
    }

    /// The caller as a member of a communicator of processes.
    pub(super) fn process_in(&self, thread: Thread, comm: Comm) -> Result<Member, ProtocolError> {
        let member = self.member(thread, comm)?;
        if member.caller != Caller::Process {
            return Err(self.refuse("it is no communicator of processes", comm));
        }
        Ok(member)
    }

    fn agree_on(
        &mut self,
        thread: Thread,
        parent: Comm,
        values: &[u16],
        purpose: Purpose,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let Member { rank, size, .. } = self.process_in(thread, parent)?;
        let context = if purpose == Purpose::Numbers { 0 } else { self.offer_context(rank)? };
        let agreement = Agreement::of_values(rank, size, context, values);
        self.agree(thread, Agreeing::of_all(parent, agreement, purpose), out)
    }

    fn create_group(
        &mut self,
        thread: Thread,
        parent: Comm,
        (group, tag): (Arc<[Rank]>, i32),
        new: Comm,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        self.check_new(new, 1)?;
        let Member { rank, .. } = self.process_in(thread, parent)?;
        if !(0..=GROUP_TAG_MAX).contains(&tag) {
            let state = format!("a group is made under a tag of 0 to {GROUP_TAG_MAX}");
            return Err(self.refuse(&state, format!("tag {tag}")));
        }
        self.group_of(parent, &group)?;
        let Some(place) = group.iter().position(|member| *member == rank) else {
            let state = format!("rank {} calls for a group that it is not in", rank.0);
            return Err(self.refuse(&state, "MPI_Comm_create_group"));
        };
        let number = |count: usize| u32::try_from(count).expect("groups are of ranks");
        let (place, size) = (Rank(number(place)), number(group.len()));
        let context = self.offer_context(place)?;
        let agreement = Agreement::new(place, size, context, None);
        let purpose = Purpose::Group { new };
        self.agree(thread, Agreeing::of_group(parent, agreement, (group, tag), purpose), out)
    }

    /// The processes behind these ranks of a communicator, each once.
    fn group_of(&self, parent: Comm, ranks: &[Rank]) -> Result<Group, ProtocolError> {
        let group = self.communicator(parent)?.group.incl(ranks);
        group.map_err(|error| self.refuse("no group is made", error))
    }

    /// Begins the exchange of two groups; `context` and `numbers` are what a leader tells.
    pub(super) fn couple(
        &mut self,
        thread: Thread,
        (comm, leader): (Comm, Rank),
        over: Option<(Peering, Rank)>,
        (context, numbers): (u32, &[u32]),
        purpose: Purpose,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let Member { rank, size, .. } = self.process_in(thread, comm)?;
        let (coupling, peer) = match over {
            Some((peer, remote)) if rank == leader => {
                // Away from the tags of other words, and as many.
                let away = |tag: i32| i32::MIN + tag;
                let peer = Peering { says: away(peer.says), hears: away(peer.hears), ..peer };
                (Coupling::leader(leader, size, remote, context, numbers), peer)
            }
            None if rank == leader => {
                return Err(self.refuse("a leader has a way to the other one", leader));
            }
            _ => (Coupling::member(leader), Peering { comm, says: 0, hears: 0 }),
        };
        self.agree(thread, Agreeing::of_two(comm, coupling, peer, purpose), out)
    }

    /// All have agreed.
    pub(super) fn communicator_made(
        &mut self,
        agreeing: &Agreeing,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Reply, ProtocolError> {
        let parent = agreeing.parent;
        match agreeing.purpose {
            Purpose::Dup { new } => {
                let group = Arc::clone(&self.communicator(parent)?.group);
                self.enter(new, agreeing.agreement().context(), group, out);
            }
            Purpose::Split { new } => {
                let group = Arc::clone(&self.communicator(parent)?.group);
                let said = numbers(&agreeing.agreement().values());
                let choices: Vec<Choice> = said.chunks_exact(2).map(decoded).collect();
                let parts = group.split(&choices);
                let parts = parts.map_err(|error| self.refuse("nothing is split", error))?;
                let own = parts.into_iter().find(|part| part.group.rank(self.me.0).is_some());
                if let (Some(new), Some(own)) = (new, own) {
                    self.enter(new, agreeing.agreement().context(), Arc::new(own.group), out);
                }
            }
            Purpose::Group { new } => {
                let among = agreeing.among.as_ref().expect("a group is some of its parent");
                let group = self.group_of(parent, among)?;
                self.enter(new, agreeing.agreement().context(), Arc::new(group), out);
            }
            Purpose::Intercomm { new } => {
                self.couple_made(parent, new, agreeing.coupling(), out)?;
            }
            Purpose::Merge { new } => self.merged(parent, new, agreeing.agreement(), out)?,
            Purpose::Couple => return Ok(Reply::Numbers(agreeing.coupling().numbers().into())),
            Purpose::Numbers => {
                let all = numbers(&agreeing.agreement().values());
                return Ok(Reply::Numbers(all.into()));
            }
            Purpose::Create { .. } | Purpose::Free { .. } => {
                unreachable!("{:?} is of endpoints", agreeing.purpose)
            }
        }
        Ok(Reply::Done)
    }

    pub(super) fn enter(
        &mut self,
        new: Comm,
        context: u32,
        group: Arc<Group>,
        out: &mut Vec<LibraryAction>,
    ) {
        let (context, internal) = (Context(context), Context(context + 1));
        tell(GroupFact::Opened { context }, out);
        self.made.communicators.insert(new, Communicator { context, internal, group });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_travel_as_words() {
        let all = [0, 1, 65_535, 65_536, 4_000_000_000, u32::MAX];
        assert_eq!(numbers(&words(all)), all);
        for color in [None, Some(0), Some(i32::MAX)] {
            for key in [0, -1, i32::MIN, i32::MAX] {
                let choice = Choice { color, key };
                assert_eq!(decoded(&encoded(choice)), choice);
            }
        }
    }
}
