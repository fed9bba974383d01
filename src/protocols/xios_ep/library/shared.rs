//! Process memory of the endpoint library: its lock, lists, pending receives and barrier.

use std::collections::VecDeque;
use std::sync::Arc;

use super::joined::differ;
use super::{EpAction, EpReply, Found, Note, SharedOp, SharedReply, Showing};
use crate::mpi::operator::Reduction;
use crate::protocols::call::{Call, Comm};
use crate::protocols::collectives::{Collective, Work};
use crate::protocols::contract::{Action, Handle, Process, ProtocolError, Step, Thread};
use crate::protocols::xios_ep::comm::{Entered, Part};
use crate::protocols::xios_ep::message::{self, Message, Probed, Wanted};
use crate::protocols::xios_ep::rank_map::RankMap;
use crate::protocols::xios_ep::request::Pending;

/// How the lock of the library behaves.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Variant {
    /// One thread at a time; those that wait get it in the order of their arrival.
    #[default]
    Fair,
    /// One thread at a time; who came last gets it first. Not less correct: only who drains changes.
    LastFirst,
    /// A defect, for tests: the lock keeps nobody out, so that a probe and its append come apart.
    Planted,
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum WaitsFor {
    Lock,
    Barrier,
}

/// What the endpoint library of one process did.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counts {
    /// Matched probes of the process's queue.
    pub probes: u64,
    /// Checks: rows of probes, the last of which found nothing.
    pub checks: u64,
    /// Messages moved to lists of endpoints.
    pub drained: u64,
    /// The most messages that one check moved.
    pub most_drained: u64,
    /// The most messages that one endpoint's list has had.
    pub longest_list: usize,
    /// The most receives that one endpoint's pending list has had.
    pub longest_pending: usize,
    /// Entries of lists that were inspected.
    pub inspected: u64,
    /// How often the lock was waited for.
    pub lock_waits: u64,
    /// Calls of collectives of MPI.
    pub mpi_collectives: u64,
}

impl Counts {
    /// The counts of two processes together; of lengths the larger one.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            probes: self.probes + other.probes,
            checks: self.checks + other.checks,
            drained: self.drained + other.drained,
            most_drained: self.most_drained.max(other.most_drained),
            longest_list: self.longest_list.max(other.longest_list),
            longest_pending: self.longest_pending.max(other.longest_pending),
            inspected: self.inspected + other.inspected,
            lock_waits: self.lock_waits + other.lock_waits,
            mpi_collectives: self.mpi_collectives + other.mpi_collectives,
        }
    }
}

/// The memory of one process.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Shared {
    me: Process,
    variant: Variant,
    part: Part<Found>,
    /// Receives that wait for their message, by endpoint.
    pending: Vec<Pending<Handle>>,
    owner: Option<Thread>,
    /// Who waits for the lock, in the order of arrival.
    queue: VecDeque<Thread>,
    waiting: Vec<Option<WaitsFor>>,
    /// What each thread shows to the others, in a collective.
    shown: Vec<Option<Arc<Collective>>>,
    /// What all showed when they met last; of that a thread learns when it looks.
    met: Box<[Arc<Collective>]>,
    /// The handle that the probe of each thread may use.
    reserved: Vec<Option<Handle>>,
    /// Which handles of messages are in use.
    used: Vec<bool>,
    pub(super) counts: Note<Counts>,
    /// What the check of each thread has moved so far.
    moved: Note<Vec<u64>>,
}

impl Shared {
    pub(super) fn new(map: &Arc<RankMap>, me: Process, variant: Variant) -> Self {
        let part = Part::new(Comm::default(), map, me.0);
        let threads = part.handles.len();
        Self {
            me,
            variant,
            part,
            pending: vec![Pending::default(); threads],
            owner: None,
            queue: VecDeque::new(),
            waiting: vec![None; threads],
            shown: vec![None; threads],
            met: Box::default(),
            reserved: vec![None; threads],
            used: Vec::new(),
            counts: Note::default(),
            moved: Note(vec![0; threads]),
        }
    }

    pub(super) fn process(&self) -> Process {
        self.me
    }

    /// Whether several threads share it.
    pub(super) fn is_shared(&self) -> bool {
        self.waiting.len() > 1
    }

    /// What `thread` waits for, in words.
    pub(super) fn waits_for(&self, thread: Thread) -> Option<&'static str> {
        self.waiting[index(thread)].map(|waits| match waits {
            WaitsFor::Lock => "lock of the endpoint library",
            WaitsFor::Barrier => "barrier of the process",
        })
    }

    /// A call goes to MPI.
    pub(super) fn note_call(&mut self, call: &Call) {
        if let Call::Imrecv { message, .. } = call {
            self.give_back(*message);
        }
        self.counts.0.mpi_collectives +=
            u64::from(matches!(call, Call::Barrier { .. } | Call::Collective(_)));
    }

    pub(super) fn access(
        &mut self,
        thread: Thread,
        op: SharedOp,
        out: &mut Vec<EpAction>,
    ) -> Result<(), ProtocolError> {
        let reply = match op {
            SharedOp::Lock => match self.lock(thread) {
                Some(handle) => SharedReply::Locked(handle),
                None => return Ok(()),
            },
            SharedOp::Look => match self.reserved[index(thread)] {
                Some(handle) => SharedReply::Locked(handle),
                None => SharedReply::Met(self.met.clone()),
            },
            SharedOp::Unlock(found) => {
                self.file(thread, found, out)?;
                self.unlock(thread, out)?;
                SharedReply::Done
            }
            SharedOp::Walk(receive) => self.walk(thread, receive, out),
            SharedOp::Peek(wanted) => self.peek(thread, wanted, out),
            SharedOp::Arrive(showing) => {
                self.show(thread, showing)?;
                if !self.arrive(thread, out)? {
                    return Ok(());
                }
                SharedReply::Met(self.met.clone())
            }
            SharedOp::Move { work, reduction } => {
                self.carry_out(&work, reduction, out)?;
                SharedReply::Done
            }
            SharedOp::Leave(call) => {
                let buffers = call.buffers().into_iter().flatten();
                let request = Handle(u32::from(thread.0));
                let given_back = |buffer| Action::Complete { request, buffer: Some(buffer) };
                out.extend(buffers.map(given_back));
                SharedReply::Done
            }
            SharedOp::Refuse(words) => return Err(self.refuse(&words, "the call")),
        };
        give(thread, reply, out);
        Ok(())
    }

    fn refuse(&self, state: &str, input: impl std::fmt::Debug) -> ProtocolError {
        ProtocolError::refused("endpoint library", format!("process {}: {state}", self.me.0), input)
    }

    /// Takes the lock, or waits for it.
    fn lock(&mut self, thread: Thread) -> Option<Handle> {
        if self.owner.is_some() && self.variant != Variant::Planted {
            self.queue.push_back(thread);
            self.waiting[index(thread)] = Some(WaitsFor::Lock);
            self.counts.0.lock_waits += 1;
            return None;
        }
        Some(self.own(thread))
    }

    /// The lock belongs to `thread` now, and a handle for what it will find.
    fn own(&mut self, thread: Thread) -> Handle {
        self.owner = Some(thread);
        let free = self.used.iter().position(|used| !used).unwrap_or(self.used.len());
        if free == self.used.len() {
            self.used.push(false);
        }
        self.used[free] = true;
        let handle = Handle(u32::try_from(free).expect("fewer than 2^32 messages"));
        self.reserved[index(thread)] = Some(handle);
        handle
    }

    /// A handle is free again: of a message that is received now, or of none.
    fn give_back(&mut self, message: Handle) {
        self.used[message.0 as usize] = false;
        while self.used.last() == Some(&false) {
            self.used.pop();
        }
    }

    /// Moves what a probe found to the list of its endpoint.
    fn file(
        &mut self,
        thread: Thread,
        found: Option<Probed<Found>>,
        out: &mut Vec<EpAction>,
    ) -> Result<(), ProtocolError> {
        let counts = &mut self.counts.0;
        counts.probes += 1;
        let Some(handle) = self.reserved[index(thread)].take() else {
            return Err(self.refuse("leaves a lock that it does not have", thread));
        };
        let Some(probed) = found else {
            counts.checks += 1;
            let moved = std::mem::take(&mut self.moved.0[index(thread)]);
            counts.most_drained = counts.most_drained.max(moved);
            self.give_back(handle);
            return Ok(());
        };
        counts.drained += 1;
        self.moved.0[index(thread)] += 1;
        out.push(Action::Work(Step::Arrival));
        let filed = message::relocate(&mut self.part, probed);
        let endpoint = filed.map_err(|error| self.refuse(&error.to_string(), probed))?;
        let length = self.part.handles[endpoint as usize].messages.len();
        let counts = &mut self.counts.0;
        counts.longest_list = counts.longest_list.max(length);
        Ok(())
    }

    fn unlock(&mut self, thread: Thread, out: &mut Vec<EpAction>) -> Result<(), ProtocolError> {
        if self.variant == Variant::Planted {
            self.owner = None;
            return Ok(());
        }
        if self.owner != Some(thread) {
            return Err(self.refuse("leaves a lock that it does not have", thread));
        }
        self.owner = None;
        let next = match self.variant {
            Variant::LastFirst => self.queue.pop_back(),
            Variant::Fair | Variant::Planted => self.queue.pop_front(),
        };
        if let Some(next) = next {
            self.own(next);
            self.wake(next, out);
        }
        Ok(())
    }

    fn wake(&mut self, thread: Thread, out: &mut Vec<EpAction>) {
        self.waiting[index(thread)] = None;
        give(thread, SharedReply::Woken, out);
    }

    /// Gives each pending receive of the thread's endpoint the first message that it wants.
    fn walk(
        &mut self,
        thread: Thread,
        receive: Option<(Handle, Wanted)>,
        out: &mut Vec<EpAction>,
    ) -> SharedReply {
        let pending = &mut self.pending[index(thread)];
        if let Some((request, wanted)) = receive {
            pending.post(request, wanted);
        }
        let messages = &mut self.part.handles[index(thread)].messages;
        let (receives, length) = (small(pending.len()), small(messages.len()));
        let served = pending.serve(messages);
        let counts = &mut self.counts.0;
        counts.longest_pending = counts.longest_pending.max(receives as usize);
        counts.inspected += served.visited;
        out.push(Action::Walk { entries: receives, length: receives });
        let entries = u32::try_from(served.visited).unwrap_or(u32::MAX);
        out.push(Action::Walk { entries, length });
        SharedReply::Served(served.matched.into())
    }

    fn peek(&mut self, thread: Thread, wanted: Wanted, out: &mut Vec<EpAction>) -> SharedReply {
        let messages = &self.part.handles[index(thread)].messages;
        let search = messages.peek(wanted);
        self.counts.0.inspected += u64::from(search.visited);
        out.push(Action::Walk { entries: search.visited, length: search.length });
        SharedReply::Peeked(search.matched.map(|found| Message {
            message: *found.message,
            source: found.source,
            tag: found.tag,
        }))
    }

    /// Arrives at the barrier; the last one wakes all others, and goes on.
    fn arrive(&mut self, thread: Thread, out: &mut Vec<EpAction>) -> Result<bool, ProtocolError> {
        let entered = self.part.barrier.enter(u32::from(thread.0));
        match entered.map_err(|error| self.refuse(&error.to_string(), thread))? {
            Entered::Waits { .. } => {
                self.waiting[index(thread)] = Some(WaitsFor::Barrier);
                Ok(false)
            }
            Entered::Opens => {
                self.met = self.shown.iter().flatten().cloned().collect();
                for other in (0..).map(Thread).take(self.waiting.len()) {
                    if self.waiting[index(other)] == Some(WaitsFor::Barrier) {
                        self.wake(other, out);
                    }
                }
                Ok(true)
            }
        }
    }

    /// Notes what a thread shows; all of a process have to be in the same call.
    fn show(&mut self, thread: Thread, showing: Showing) -> Result<(), ProtocolError> {
        let own = &mut self.shown[index(thread)];
        match showing {
            Showing::Still => return Ok(()),
            Showing::Ends => *own = None,
            Showing::Shows(call) => *own = Some(call),
        }
        let Some(call) = &self.shown[index(thread)] else { return Ok(()) };
        for (handle, other) in self.part.handles.iter().zip(&self.shown) {
            let Some(other) = other else { continue };
            if let Some(what) = differ(call, other) {
                let me = self.part.handles[index(thread)].endpoint.rank;
                let (rank, function) = (handle.endpoint.rank, other.function());
                let state = format!("endpoint {rank} is in {function}: {what} differs");
                return Err(self.refuse(&state, format!("{} of endpoint {me}", call.function())));
            }
        }
        Ok(())
    }

    fn carry_out(
        &self,
        work: &[Work],
        reduction: Option<Reduction>,
        out: &mut Vec<EpAction>,
    ) -> Result<(), ProtocolError> {
        for one in work {
            out.push(match (*one, reduction) {
                (Work::Copy { from, to }, _) => Action::Copy { from, to },
                (Work::Combine { from, into, side }, Some(reduction)) => {
                    Action::Combine { from, into, reduction, side }
                }
                (Work::Combine { .. }, None) => {
                    return Err(self.refuse("elements are combined without an operator", one));
                }
            });
        }
        Ok(())
    }

    /// What nobody received, in words.
    pub(super) fn open_ends(&self) -> impl Iterator<Item = String> + '_ {
        let lists = self.part.handles.iter().filter(|handle| !handle.messages.is_empty());
        let messages = lists.map(|handle| {
            let (count, rank) = (handle.messages.len(), handle.endpoint.rank);
            format!("{count} messages in the list of endpoint {rank} were never received")
        });
        let pending = self.pending.iter().zip(&self.part.handles);
        let receives =
            pending.filter(|(pending, _)| !pending.is_empty()).map(|(pending, handle)| {
                let (count, rank) = (pending.len(), handle.endpoint.rank);
                format!("{count} receives of endpoint {rank} never found their message")
            });
        messages.chain(receives)
    }
}

fn index(thread: Thread) -> usize {
    usize::from(thread.0)
}

fn small(length: usize) -> u32 {
    u32::try_from(length).expect("fewer than 2^32 entries")
}

fn give(thread: Thread, reply: SharedReply, out: &mut Vec<EpAction>) {
    out.push(Action::Return { thread, reply: EpReply::Shared(reply) });
}
