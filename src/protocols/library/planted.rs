//! Where the library asks whether a planted bug is its own: for tests only.
//!
//! Every function here is called at one place, the one that the bug would be written at.

use super::collective::Running;
use super::contexts::Contexts;
use super::endpoints::Caller;
use super::requests::Body;
use super::schedule;
use super::{
    Action, Job, Key, Library, LibraryAction, MatchingEngine, Posted, ProtocolError, Region,
    Selection, SharedJob, Thread, Token, push_walk,
};
use crate::call::Comm;
use crate::collectives::Round;
use crate::mutant::Mutant;
use crate::rendezvous::{Receiver, Receiving};
use mpi::envelope::{Context, Rank};
use mpi::matching::Flaw;
use mpi::observation::Observation;

/// A receive between search and append: its queue, and what will be appended.
pub(super) type Late = (usize, Selection, Posted);

impl SharedJob {
    /// The same job with a planted bug in all its libraries.
    #[must_use]
    pub fn with(self, mutant: Mutant) -> Self {
        Self(self.0, Some(mutant))
    }

    /// The bug that is planted.
    pub fn mutant(&self) -> Option<Mutant> {
        self.1
    }

    pub(super) fn has(&self, mutant: Mutant) -> bool {
        self.1 == Some(mutant)
    }
}

impl Library {
    /// What the processes of its job agree on.
    pub(crate) fn job(&self) -> &Job {
        &self.job
    }

    /// Gives all its matching engines a bug.
    pub(crate) fn plant_in_engines(&mut self, flaw: Flaw) {
        self.matching.iter_mut().for_each(|engine| engine.plant(flaw));
    }

    /// Takes it from them.
    pub(crate) fn heal_engines(&mut self) {
        self.matching.iter_mut().for_each(MatchingEngine::heal);
    }

    /// The sender of a message that its receiver reads by RGET.
    pub(crate) fn sender_by_rget(&self, receive: Key) -> Option<Key> {
        let request = self.requests.get(receive)?;
        let Body::Receiving { role: Receiving::Decided(Receiver::RGet(_)), sender, .. } =
            request.body
        else {
            return None;
        };
        Some(sender)
    }

    /// Whether a thread acts as an endpoint that is not the first of its process.
    pub(crate) fn is_later_endpoint(&self, thread: Thread) -> bool {
        matches!(self.endpoints.current(thread), Caller::Endpoint(local) if local > 0)
    }

    /// Frees the handle of an endpoint whose communicator is gone; false where it is there.
    pub(crate) fn free_orphan(&mut self, handle: Comm) -> bool {
        self.endpoints.free_orphan(handle)
    }

    /// The name of the newest endpoint is free again.
    pub(crate) fn give_name_back(&mut self) {
        self.endpoints.next_id -= 1;
    }

    /// The contexts that it gives to new communicators.
    pub(crate) fn contexts(&self) -> Contexts {
        self.contexts
    }

    /// It gives these next.
    pub(crate) fn count_contexts_as(&mut self, contexts: Contexts) {
        self.contexts = contexts;
    }

    /// A context is in use now: where it is one of its own, it gives the next one.
    pub(crate) fn count_context(&mut self, Context(context): Context) {
        let Contexts { next, step } = self.contexts;
        if context >= next && (context - next).is_multiple_of(step) {
            self.contexts.next = context + step;
        }
    }

    /// The newest context is free again.
    pub(crate) fn give_context_back(&mut self) {
        self.contexts.next = self.contexts.next.saturating_sub(self.contexts.step);
    }

    /// The next context is left out.
    pub(crate) fn leave_context_gap(&mut self) {
        self.contexts.next += self.contexts.step;
    }

    /// What a rank does in a round of a collective.
    pub(super) fn bend_round(&self, running: &Running, round: &mut Round) {
        if let Some(mutant) = self.job.mutant() {
            schedule::bend(mutant, &running.standing_in(), round);
        }
    }

    /// A receive of any source is offered to the first and to the last rank.
    pub(super) fn offer_to_two(
        &mut self,
        thread: Thread,
        key: Key,
        comm: Comm,
        of: (Selection, Region),
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let last = u32::try_from(self.job.node_of.len()).expect("processes are counted in u32") - 1;
        for rank in [0, last] {
            let route = self.route_of(thread, comm, Rank(rank))?;
            if route.peer != self.me {
                self.give_offer(thread, key, route, of, out);
            }
        }
        Ok(())
    }

    /// Searches for a message without appending the receive, which follows after the lock was
    /// left; false where a message waits, or where this is another's bug.
    pub(super) fn search_only(
        &mut self,
        thread: Thread,
        queue: usize,
        selection: Selection,
        posted: Posted,
        buffer: Region,
        out: &mut Vec<LibraryAction>,
    ) -> bool {
        let engine = &self.matching[queue];
        let walk = engine.probe(&selection);
        let waits = walk.matched.is_some();
        let blocking = matches!(posted.key, Key::Inner(_));
        if waits || !blocking || !self.job.has(Mutant::Unlocks) {
            return false;
        }
        let (receive, bytes) = (posted.id, buffer.len);
        push_walk(&walk, Some(Observation::Posted { receive, selection, bytes }), out);
        self.late.push((thread, (queue, selection, posted)));
        out.extend([Action::Release, Action::Resume(Token(thread.0.into()))]);
        true
    }

    /// The lock is taken again: the receive is appended.
    pub(crate) fn appends_late(&mut self, thread: Thread) -> bool {
        let Some(place) = self.late.iter().position(|(late, _)| *late == thread) else {
            return false;
        };
        let (_, (queue, selection, posted)) = self.late.remove(place);
        self.matching[queue].append(selection, posted);
        true
    }

    /// The numbers of endpoints of all processes.
    pub(super) fn counted(
        &self,
        counts: impl ExactSizeIterator<Item = u16>,
        own: u16,
    ) -> impl ExactSizeIterator<Item = u16> {
        let wrong = self.job.has(Mutant::OwnCount);
        counts.map(move |count| if wrong { own } else { count })
    }
}
