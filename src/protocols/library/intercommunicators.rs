//! Intercommunicators of processes: two groups, each of which sends to the ranks of the other.
//!
//! ```text
//!   program's messages     context       source: rank in the own group, dest: rank in the other one
//!   library's own words    context + 1   ranks of both groups, one after the other
//! ```
//!
//! In the order of the library's words the group comes first whose rank 0 is the lower process; so it
//! does in a merge where both sides say the same, which MPI leaves open.
//!
//! Source: MPI-3.1, Sec. 6.6. Left out: collectives between the groups, duplicates and splits;
//! refused by name.

use std::sync::Arc;

use super::agreeing::{Peering, Purpose};
use super::endpoints::{Caller, Member};
use super::{Library, LibraryAction, Process, ProtocolError, Route, Thread};
use crate::call::{Call, Comm, CommCall};
use crate::collectives::agreement::Agreement;
use crate::collectives::coupling::Coupling;
use mpi::envelope::{Context, Rank};
use mpi::group::Group;

/// The groups of an intercommunicator, as one of its processes has them.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Sides {
    local: Arc<Group>,
    remote: Arc<Group>,
}

impl Sides {
    /// Both groups in the order of the library's words.
    fn in_order(&self) -> [&Arc<Group>; 2] {
        let lowest = |group: &Group| group.process(Rank(0));
        let (local, remote) = (&self.local, &self.remote);
        if lowest(local) < lowest(remote) { [local, remote] } else { [remote, local] }
    }
}

/// Whether an intercommunicator has this call.
fn is_offered(call: &Call) -> bool {
    match call {
        Call::Communicators(call) => {
            matches!(
                call,
                CommCall::Free { .. } | CommCall::Merge { .. } | CommCall::Numbers { .. }
            )
        }
        Call::Barrier { .. }
        | Call::Collective(_)
        | Call::Icollective { .. }
        | Call::Device(_)
        | Call::Compare { .. }
        | Call::CreateEndpoints { .. } => false,
        Call::Typed(_)
        | Call::Isend { .. }
        | Call::Send { .. }
        | Call::Irecv { .. }
        | Call::Recv { .. }
        | Call::Probe { .. }
        | Call::Iprobe { .. }
        | Call::Mprobe { .. }
        | Call::Improbe { .. }
        | Call::FreeEndpoint { .. }
        | Call::Wait { .. }
        | Call::WaitAll { .. }
        | Call::WaitAny { .. }
        | Call::Test { .. }
        | Call::TestAll { .. }
        | Call::Mrecv { .. }
        | Call::Imrecv { .. }
        | Call::Cancel { .. }
        | Call::AttachBuffer { .. }
        | Call::DetachBuffer
        | Call::Init
        | Call::Attach { .. }
        | Call::Rma(_) => true,
    }
}

impl Library {
    /// Refuses what an intercommunicator does not have.
    pub(super) fn check_sides(&self, call: &Call) -> Result<(), ProtocolError> {
        let between = |comm: Comm| self.made.sides.contains_key(&comm);
        if self.made.sides.is_empty() || is_offered(call) || !call.comm().is_some_and(between) {
            return Ok(());
        }
        let state = "an intercommunicator has point-to-point messages, a merge and a free only";
        Err(self.refuse(state, call))
    }

    /// The two groups of an intercommunicator.
    pub(super) fn sides(&self, comm: Comm) -> Result<&Sides, ProtocolError> {
        let found = self.made.sides.get(&comm);
        found.ok_or_else(|| self.refuse("it is no intercommunicator", comm))
    }

    /// As whom `thread` sends and receives the program's messages in a communicator; the size is that
    /// of those it may name.
    #[inline]
    pub(super) fn speaker(&self, thread: Thread, comm: Comm) -> Result<Member, ProtocolError> {
        let Some(Sides { local, remote }) = self.made.sides.get(&comm) else {
            return self.member(thread, comm);
        };
        let member = self.member(thread, comm)?;
        let rank = local.rank(self.me.0).expect("a process is in its own group");
        Ok(Member { rank, size: remote.size(), ..member })
    }

    /// The way of a program's message to a rank.
    #[inline]
    pub(super) fn way(
        &self,
        comm: Comm,
        member: &Member,
        dest: Rank,
    ) -> Result<Route, ProtocolError> {
        let Some(Sides { remote, .. }) = self.made.sides.get(&comm) else {
            return self.route(comm, member, dest);
        };
        let nobody = || self.refuse("the other group has no such rank", dest);
        let peer = remote.process(dest).ok_or_else(nobody)?;
        let own = self.job.endpoints.lane(Caller::Process);
        Ok(Route { own, ..Route::to(Process(peer)) })
    }

    /// The group that sends the program's messages of this context, where two groups have it.
    pub(super) fn other_group(&self, context: Context) -> Option<&Group> {
        let mut all = self.made.sides.iter();
        let has = |comm: &Comm| self.made.get(*comm).is_some_and(|made| made.context == context);
        all.find(|(comm, _)| has(comm)).map(|(_, sides)| &*sides.remote)
    }

    pub(super) fn create_intercomm(
        &mut self,
        thread: Thread,
        (comm, leader): (Comm, Rank),
        (peer, remote): (Peering, Rank),
        new: Comm,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        self.check_new(new, 1)?;
        let Member { rank, size, .. } = self.process_in(thread, comm)?;
        if leader.0 >= size {
            let state = format!("the leader is one of {size} ranks");
            return Err(self.refuse(&state, leader));
        }
        if rank == leader {
            if self.made.sides.contains_key(&peer.comm) {
                let state =
                    "both leaders are in one group: an intercommunicator is no peer communicator";
                return Err(self.refuse(state, peer.comm));
            }
            let Member { size, .. } = self.process_in(thread, peer.comm)?;
            if remote.0 >= size {
                let state =
                    format!("the other leader is one of {size} ranks of the peer communicator");
                return Err(self.refuse(&state, remote));
            }
            if peer.says < 0 {
                return Err(self.refuse("a tag is 0 or more", peer.says));
            }
        }
        let offers = if rank == leader { Rank(0) } else { Rank(1) };
        let context = self.offer_context(offers)?;
        let group = Arc::clone(&self.communicator(comm)?.group);
        let (over, numbers) = (Some((peer, remote)), (context, group.members()));
        self.couple(thread, (comm, leader), over, numbers, Purpose::Intercomm { new }, out)
    }

    /// Both groups know each other.
    pub(super) fn couple_made(
        &mut self,
        parent: Comm,
        new: Comm,
        coupling: &Coupling,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let local = Arc::clone(&self.communicator(parent)?.group);
        let remote = Group::new(coupling.numbers());
        let remote = remote.map_err(|error| self.refuse("the other group is none", error))?;
        if let Some(both) = local.intersection(&remote).members().first() {
            let state = "the groups of an intercommunicator share no process";
            return Err(self.refuse(state, format!("process {both} is in both")));
        }
        let sides = Sides { local, remote: Arc::new(remote) };
        let [first, second] = sides.in_order();
        let both = Arc::new(first.union(second));
        self.made.sides.insert(new, sides);
        self.enter(new, coupling.context(), both, out);
        Ok(())
    }

    /// Both groups have told what they want.
    pub(super) fn merged(
        &mut self,
        comm: Comm,
        new: Comm,
        agreement: &Agreement,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let [first, second] = self.sides(comm)?.in_order().map(Arc::clone);
        let said = agreement.values();
        let (low, high) = said.split_at(first.size() as usize);
        for side in [low, high] {
            if let Some(rank) = side.iter().position(|flag| *flag != side[0]) {
                let state = "all ranks of a side say the same value of high";
                return Err(self.refuse(state, format!("ranks 0 and {rank} of a side differ")));
            }
        }
        let group = if low[0] > high[0] { second.union(&first) } else { first.union(&second) };
        self.enter(new, agreement.context(), Arc::new(group), out);
        Ok(())
    }
}
