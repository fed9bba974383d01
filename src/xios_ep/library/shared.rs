//! Process memory of the endpoint library: its lock, lists, pending receives and barrier.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::between::Between;
use super::joined::differ;
use super::making::Opened;
use super::thread::Member;
use super::{EpAction, EpReply, Found, Note, Seat, SharedOp, SharedReply, Showing, Shown};
use crate::comm::{Entered, Part};
use crate::message::{self, Message, Probed, RelocateError, Wanted};
use crate::rank_map::{Place, RankMap};
use crate::request::Pending;
use collectives::Work;
use mpi::matching::Search;
use mpi::operator::Reduction;
use protocols::call::{Call, Comm};
use protocols::contract::{Action, CodePath, Handle, Process, ProtocolError, Queue, Thread};

/// How the lock of the library behaves.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Variant {
    /// One thread at a time; those that wait get it in the order of their arrival.
    #[default]
    Fair,
    /// One thread at a time; who came last gets it first. Not less correct: only who drains changes.
    LastFirst,
    /// A defect, for tests: the lock keeps no thread out, so that a probe and its append come apart.
    Planted,
}

/// Condition that a thread waits for.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum WaitsFor {
    Lock,
    /// In this communicator.
    Barrier(Comm),
    /// A place in a new intercommunicator.
    Place,
    /// That this communicator of MPI is its own to call.
    Turn(Comm),
}

/// Counters of the endpoint library of one process.
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

/// State of one process in a communicator.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Local {
    part: Part<Found>,
    /// The thread of each endpoint.
    threads: Box<[Thread]>,
    /// Receives that wait for their message, by endpoint.
    pending: Vec<Pending<Handle>>,
    /// Information that each endpoint shows to the others.
    shown: Vec<Option<Shown>>,
    /// Information that all showed at their last barrier; a thread learns of it when it looks.
    met: Box<[Shown]>,
    /// The process's part of the intercommunicator, where it is one.
    between: Option<Between>,
    /// Thread that calls MPI for a collective that the others have left, or is about to.
    calls: Option<Thread>,
}

impl Local {
    /// Moves a message that came through the communicator `at` of MPI to the list of its endpoint.
    fn relocate(&mut self, at: Comm, probed: Probed<Found>) -> Result<u32, RelocateError> {
        let Some(between) = &self.between else { return message::relocate(&mut self.part, probed) };
        let (source, tag, receiver) = between.read(at == self.part.parent, &probed)?;
        message::deliver(&mut self.part, receiver, Message { message: probed.message, source, tag })
    }

    fn new(mpi: Comm, map: &Arc<RankMap>, process: u32, threads: Box<[Thread]>) -> Self {
        let part = Part::new(mpi, map, process);
        let endpoints = part.handles.len();
        let (pending, shown) = (vec![Pending::default(); endpoints], vec![None; endpoints]);
        let (met, between, calls) = (Box::default(), None, None);
        Self { part, threads, pending, shown, met, between, calls }
    }
}

/// The memory of one process.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Shared {
    me: Process,
    variant: Variant,
    /// Its communicators, by those of MPI below.
    locals: BTreeMap<Comm, Local>,
    /// Numbers of communicators of MPI that are given, behind those that the job began with.
    numbers: BTreeSet<Comm>,
    first_number: u16,
    /// The places that wait for each thread in a new communicator.
    joins: Vec<Option<Member>>,
    owner: Option<Thread>,
    /// Threads that wait for the lock, in the order of arrival.
    queue: VecDeque<Thread>,
    waiting: Vec<Option<WaitsFor>>,
    /// The handle that the probe of each thread may use.
    reserved: Vec<Option<Handle>>,
    /// Which handles of messages are in use.
    used: Vec<bool>,
    pub(super) counts: Note<Counts>,
    /// Number of messages that the check of each thread has moved so far.
    moved: Note<Vec<u64>>,
}

impl Shared {
    /// The memory of a process in a job that begins with `known` communicators of MPI.
    pub(super) fn new(map: &Arc<RankMap>, me: Process, variant: Variant, known: usize) -> Self {
        let all = (0..).map(Thread).take(map.local_size(me.0) as usize).collect();
        let world = Local::new(Comm::default(), map, me.0, all);
        let threads = world.threads.len();
        Self {
            me,
            variant,
            locals: BTreeMap::from([(Comm::default(), world)]),
            numbers: BTreeSet::new(),
            first_number: u16::try_from(known).unwrap_or(u16::MAX),
            joins: vec![None; threads],
            owner: None,
            queue: VecDeque::new(),
            waiting: vec![None; threads],
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

    /// Condition that `thread` waits for, in words.
    pub(super) fn waits_for(&self, thread: Thread) -> Option<&'static str> {
        self.waiting[index(thread)].map(|waits| match waits {
            WaitsFor::Lock => "lock of the endpoint library",
            WaitsFor::Barrier(_) => "barrier of the process",
            WaitsFor::Place => "place in a new intercommunicator",
            WaitsFor::Turn(_) => "turn of its process in the collectives of MPI",
        })
    }

    /// A call goes to MPI.
    pub(super) fn note_call(&mut self, call: &Call) {
        let begun = if let Call::Typed(typed) = call { &typed.call } else { call };
        if let Call::Imrecv { message, .. } = begun {
            self.give_back(*message);
        }
        self.counts.0.mpi_collectives += u64::from(matches!(
            call,
            Call::Barrier { .. } | Call::Collective(_) | Call::Icollective { .. }
        ));
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
            SharedOp::Look(comm) => match self.reserved[index(thread)] {
                Some(handle) => SharedReply::Locked(handle),
                None => SharedReply::Met(self.met(comm)),
            },
            SharedOp::Unlock { seat, at, found } => {
                self.file(thread, (seat.mpi, at), found, out)?;
                self.unlock(thread, out)?;
                SharedReply::Done
            }
            SharedOp::Walk(seat, receive) => self.walk(seat, receive, out)?,
            SharedOp::Peek(seat, wanted) => self.peek(seat, wanted, out)?,
            SharedOp::Arrive(seat, showing) => {
                self.show(seat, showing)?;
                if !self.arrive(thread, seat, out)? {
                    return Ok(());
                }
                SharedReply::Met(self.met(seat.mpi))
            }
            SharedOp::Move { work, reduction } => {
                self.carry_out(&work, reduction, out)?;
                SharedReply::Done
            }
            SharedOp::Turn(comm) => {
                if self.local(comm)?.calls.is_some_and(|other| other != thread) {
                    self.waiting[index(thread)] = Some(WaitsFor::Turn(comm));
                    return Ok(());
                }
                SharedReply::Done
            }
            SharedOp::Leave(call, turn) => {
                if let Some(comm) = turn {
                    self.ends_turn(comm, out)?;
                }
                let buffers = call.buffers().into_iter().flatten();
                let given_back =
                    |buffer| Action::Complete { code: None, buffer: Some(buffer), fact: None };
                out.extend(buffers.map(given_back));
                SharedReply::Done
            }
            SharedOp::Number => SharedReply::Number(self.number()?),
            SharedOp::Open(opened) => {
                for one in opened {
                    self.open(one, out);
                }
                SharedReply::Done
            }
            SharedOp::Join => SharedReply::Joined(self.joins[index(thread)].take()),
            SharedOp::Take => {
                let Some(member) = self.joins[index(thread)].take() else {
                    self.waiting[index(thread)] = Some(WaitsFor::Place);
                    return Ok(());
                };
                SharedReply::Joined(Some(member))
            }
            SharedOp::Close(comm) => {
                self.locals.remove(&comm);
                self.numbers.remove(&comm);
                SharedReply::Done
            }
            SharedOp::Refuse(words) => return Err(self.refuse("the call is refused", words)),
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
        (comm, at): (Comm, Comm),
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
        out.push(Action::Work(CodePath::Arrival));
        let own = self.local(comm)?;
        let filed = own.relocate(at, probed);
        let part = &own.part;
        let filed = filed.map(|endpoint| part.handles[endpoint as usize].messages.len());
        let length = filed.map_err(|error| self.refuse(&error.to_string(), probed))?;
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
        Seat { mpi, local, .. }: Seat,
        receive: Option<(Handle, Wanted)>,
        out: &mut Vec<EpAction>,
    ) -> Result<SharedReply, ProtocolError> {
        let Local { part, pending, .. } = self.local(mpi)?;
        let pending = &mut pending[local as usize];
        if let Some((request, wanted)) = receive {
            pending.post(request, wanted);
        }
        let messages = &mut part.handles[local as usize].messages;
        let (receives, length) = (small(pending.len()), small(messages.len()));
        let served = pending.serve(messages);
        let counts = &mut self.counts.0;
        counts.longest_pending = counts.longest_pending.max(receives as usize);
        counts.inspected += served.visited;
        out.push(Action::Walk {
            queue: Queue::Posted,
            entries: receives,
            length: receives,
            fact: None,
        });
        let entries = u32::try_from(served.visited).unwrap_or(u32::MAX);
        out.push(Action::Walk { queue: Queue::Unexpected, entries, length, fact: None });
        Ok(SharedReply::Served(served.matched.into()))
    }

    fn peek(
        &mut self,
        Seat { mpi, local, .. }: Seat,
        wanted: Wanted,
        out: &mut Vec<EpAction>,
    ) -> Result<SharedReply, ProtocolError> {
        let search = self.local(mpi)?.part.handles[local as usize].messages.peek(wanted);
        let Search { visited, length, .. } = search;
        let found = search.matched.map(|found| Message {
            message: *found.message,
            source: found.source,
            tag: found.tag,
        });
        self.counts.0.inspected += u64::from(visited);
        out.push(Action::Walk { queue: Queue::Unexpected, entries: visited, length, fact: None });
        Ok(SharedReply::Peeked(found))
    }

    fn local(&mut self, mpi: Comm) -> Result<&mut Local, ProtocolError> {
        let me = self.me.0;
        let unknown = || {
            let state = format!("process {me}: it has no such communicator");
            ProtocolError::refused("endpoint library", state, mpi)
        };
        self.locals.get_mut(&mpi).ok_or_else(unknown)
    }

    /// Information that all showed at their last barrier in a communicator that is not freed yet.
    fn met(&self, mpi: Comm) -> Box<[Shown]> {
        self.locals.get(&mpi).map_or_else(Box::default, |local| local.met.clone())
    }

    /// The lowest number that no communicator of MPI in this process has.
    fn number(&mut self) -> Result<Comm, ProtocolError> {
        let free =
            (self.first_number..u16::MAX).map(Comm).find(|comm| !self.numbers.contains(comm));
        let free = free.ok_or_else(|| self.refuse("no number is left", "a new communicator"))?;
        self.numbers.insert(free);
        Ok(free)
    }

    fn open(&mut self, opened: Opened, out: &mut Vec<EpAction>) {
        let Opened { mpi, map, process, threads, between } = opened;
        for (thread, local) in threads.iter().zip(0..) {
            let (map, threads) = (Arc::clone(&map), threads.clone());
            let place = Place { local, process };
            let across = between.as_ref().map(|between| between.of(place));
            self.joins[index(*thread)] = Some(Member { map, place, mpi, threads, across });
            if self.waiting[index(*thread)] == Some(WaitsFor::Place) {
                self.wake(*thread, out);
            }
        }
        let local = Local { between, ..Local::new(mpi, &map, process, threads) };
        self.locals.insert(mpi, local);
    }

    /// Arrives at the barrier; the last one wakes all others, and goes on.
    fn arrive(
        &mut self,
        thread: Thread,
        Seat { mpi, local, .. }: Seat,
        out: &mut Vec<EpAction>,
    ) -> Result<bool, ProtocolError> {
        let own = self.local(mpi)?;
        let entered = own.part.barrier.enter(local);
        if matches!(entered, Ok(Entered::Opens)) {
            own.met = own.shown.iter().flatten().cloned().collect();
        }
        match entered.map_err(|error| self.refuse(&error.to_string(), thread))? {
            Entered::Waits { .. } => {
                self.waiting[index(thread)] = Some(WaitsFor::Barrier(mpi));
                Ok(false)
            }
            Entered::Opens => {
                for other in (0..).map(Thread).take(self.waiting.len()) {
                    if self.waiting[index(other)] == Some(WaitsFor::Barrier(mpi)) {
                        self.wake(other, out);
                    }
                }
                Ok(true)
            }
        }
    }

    /// The thread that has called MPI for the others is back: the next caller may call.
    fn ends_turn(&mut self, comm: Comm, out: &mut Vec<EpAction>) -> Result<(), ProtocolError> {
        self.local(comm)?.calls = None;
        for other in (0..).map(Thread).take(self.waiting.len()) {
            if self.waiting[index(other)] == Some(WaitsFor::Turn(comm)) {
                self.wake(other, out);
            }
        }
        Ok(())
    }

    /// Notes what an endpoint shows; all of a process have to be in the same call.
    fn show(&mut self, seat: Seat, showing: Showing) -> Result<(), ProtocolError> {
        let own = self.local(seat.mpi)?;
        let place = seat.local as usize;
        match showing {
            Showing::Still => return Ok(()),
            Showing::Ends => own.shown[place] = None,
            Showing::Calls => {
                own.shown[place] = None;
                own.calls = Some(own.threads[place]);
            }
            Showing::Shows(shown) => own.shown[place] = Some(shown),
        }
        let Some(call) = &own.shown[place] else { return Ok(()) };
        let others = own.part.handles.iter().zip(&own.shown);
        let wrong = others.filter_map(|(handle, other)| {
            let other = other.as_ref()?;
            let rank = handle.endpoint.rank;
            let what = differ(call, other)?;
            Some(format!("endpoint {rank} is in {}: {what}", other.function()))
        });
        let Some(state) = wrong.into_iter().next() else { return Ok(()) };
        let me = own.part.handles[place].endpoint.rank;
        let input = format!("{} of endpoint {me}", call.function());
        Err(self.refuse(&state, input))
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

    /// Messages that were not received, and receives that found no message, in words.
    pub(super) fn open_ends(&self) -> impl Iterator<Item = String> + '_ {
        let handles = self.locals.values().flat_map(|local| &local.part.handles);
        let lists = handles.filter(|handle| !handle.messages.is_empty());
        let messages = lists.map(|handle| {
            let (count, rank) = (handle.messages.len(), handle.endpoint.rank);
            format!("{count} messages in the list of endpoint {rank} were never received")
        });
        let pending =
            self.locals.values().flat_map(|own| own.pending.iter().zip(&own.part.handles));
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
