//! Messages of one process: matching, requests and protocols between two processes.
//!
//! ```text
//!   send     ──▶ Communicators: member, way ──▶ eager.rs | rendezvous/*      ──▶ RequestTable
//!   receive  ──▶ MatchingQueues ──▶ posted, or the message that waits
//!   packet   ──▶ MatchingQueues ──▶ the receive ──▶ the same roles ──▶ Wake: which thread goes on
//! ```
//!
//! This part sends and receives for all that lies above it: calls of the program, collectives, chunks
//! of GPU memory, agreements. It knows none of them: the end of a request is answered as a [`Wake`], and
//! the library says what that thread does next. Parts that few jobs need (RTRs, buffered sends, copies in
//! chunks) are there only in a process that uses them.
//!
//! Source: `endpoints` Sec. 4.3 (matching), `coop` Sec. I-A (protocols).

pub(super) mod receives;
mod rendezvous;
pub(super) mod sends;

use std::sync::Arc;

use super::buffered::Attached;
use super::carried::Carried;
use super::communicators::Communicators;
use super::endpoints::Member;
use super::lanes::Caller;
use super::queues::{MatchingQueues, Unexpected};
use super::requests::{Body, FREED, Request, RequestTable, Wake};
use super::rtr::RtrTable;
use super::site::Site;
use super::work::Work;
use super::{
    Action, Handle, Key, LibraryAction, MessageHeader, MessageId, Note, Outcome, ProtocolError,
    ReceiveId, Region, SharedJob, Thread,
};
use crate::call::{Call, Comm};
use crate::contract::{CodePath, Emit, Process};
use crate::job::Queues;
use crate::rma::call::Win;
use mpi::endpoints::EndpointGroup;
use mpi::envelope::{Context, Rank};
use mpi::observation::{Names, Observation};

/// A message that a matched probe has taken.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Probed {
    /// The program's message handle.
    handle: Handle,
    receive: ReceiveId,
    message: Unexpected,
    caller: Caller,
}

/// The messages of one process.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Messages {
    site: Site,
    /// Messages sent so far.
    sent: Names,
    /// Receives and matched probes so far.
    posted: Names,
    /// Calls made by each thread so far.
    calls: Note<Vec<u32>>,
    queues: MatchingQueues,
    communicators: Communicators,
    requests: RequestTable,
    /// Messages taken by matched probes.
    probed: Vec<Probed>,
    carried: Carried,
    /// The room for buffered sends, while there is one.
    attached: Option<Box<Attached>>,
    /// Copies and choices that each thread has started and not ended; none where a job needs none.
    works: Option<Box<[Work]>>,
    /// RTRs; none where a job sends none.
    rtrs: Option<Box<RtrTable>>,
    /// Receives that were searched for and are not appended yet.
    #[cfg(feature = "mutants")]
    late: Vec<(Thread, (usize, super::Selection, super::queues::Posted))>,
}

impl Messages {
    /// The messages of process `me`, before the first call.
    pub(super) fn new(job: SharedJob, me: Process) -> Self {
        let threads = usize::from(job.threads[me.0 as usize]);
        let rtrs = job.has_offers().then(Box::default);
        let site = Site { job, me };
        let communicators = Communicators::new(&site, threads);
        Self {
            sent: Names::default(),
            posted: Names::default(),
            calls: Note(vec![0; threads]),
            queues: MatchingQueues::new(communicators.queues(&site)),
            communicators,
            requests: RequestTable::new(threads),
            probed: Vec::new(),
            carried: Carried::new(threads),
            attached: None,
            works: None,
            rtrs,
            #[cfg(feature = "mutants")]
            late: Vec::new(),
            site,
        }
    }

    /// As [`Machine::touch`](super::Machine::touch).
    pub(super) fn touch(&self) -> u64 {
        let calls = self.calls.0.first().map_or(0, |&calls| u64::from(calls));
        calls ^ self.queues.touch() ^ self.requests.touch()
    }

    /// The process and its job.
    #[inline]
    pub(super) const fn site(&self) -> &Site {
        &self.site
    }

    /// The matching queues.
    pub(super) const fn queues(&self) -> &MatchingQueues {
        &self.queues
    }

    /// The communicators.
    #[inline]
    pub(super) const fn communicators(&self) -> &Communicators {
        &self.communicators
    }

    /// The communicators, to be changed, and the process.
    pub(super) const fn communicators_mut(&mut self) -> (&mut Communicators, &Site) {
        (&mut self.communicators, &self.site)
    }

    /// This process has endpoints of a new communicator. Messages of it may be here before: each goes
    /// to the queue of its endpoint.
    pub(super) fn open_endpoints(
        &mut self,
        context: Context,
        parent: (Comm, Rank),
        group: Arc<EndpointGroup>,
        handles: (Comm, u16),
        out: &mut Vec<LibraryAction>,
    ) {
        let endpoints = self.communicators.make_endpoints(self.calls.0.len());
        endpoints.create(context, parent, group, handles);
        self.queues.grow(self.communicators.queues(&self.site));
        if self.site.job.endpoints.queues == Queues::Own {
            self.sort_early(context, out);
        }
    }

    /// The open requests.
    #[inline]
    pub(super) const fn requests(&self) -> &RequestTable {
        &self.requests
    }

    /// The numbers that messages have brought.
    pub(super) const fn carried(&self) -> &Carried {
        &self.carried
    }

    /// The numbers that messages have brought, to be changed.
    pub(super) const fn carried_mut(&mut self) -> &mut Carried {
        &mut self.carried
    }

    /// How many threads the process has.
    pub(super) const fn threads(&self) -> usize {
        self.calls.0.len()
    }

    /// Whether another thread may ask for a buffer of the library before this one has emptied those that
    /// it was to empty.
    pub(super) fn runs_beside_others(&self) -> bool {
        let shared = self.threads() > 1;
        #[cfg(feature = "mutants")]
        let shared = shared && !self.site.job.has(crate::mutant::Mutant::StagesInUse);
        shared
    }

    /// A thread has an input: it has emptied what it was to empty.
    #[inline]
    pub(super) fn is_through(&mut self, thread: Thread) {
        self.queues.is_through(thread);
    }

    /// The call that a thread is inside, counted per thread from 0.
    #[inline]
    pub(super) fn call_of(&self, thread: Thread) -> u32 {
        self.calls.0[usize::from(thread.0)] - 1
    }

    /// A thread makes a call: as which rank, and whether the communicator has it; `window` knows the
    /// numbers of windows.
    #[inline]
    pub(super) fn enter(
        &mut self,
        thread: Thread,
        call: &Call,
        window: impl Fn(Win) -> Option<u32>,
        out: &mut impl Emit<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        self.calls.0[usize::from(thread.0)] += 1;
        self.communicators.check(&self.site, call)?;
        if self.communicators.acting_mut().is_some() {
            self.enter_as(thread, call, window, out.list());
        }
        Ok(())
    }

    fn enter_as(
        &mut self,
        thread: Thread,
        call: &Call,
        window: impl Fn(Win) -> Option<u32>,
        out: &mut Vec<LibraryAction>,
    ) {
        let caller = self.caller(thread, call, window);
        let Self { communicators, site, .. } = self;
        let Some(acting) = communicators.acting_mut() else { return };
        if acting.enter(site, thread, call, caller) {
            out.emit(|| Action::Work(CodePath::Lookup));
        }
    }

    /// Identity that `thread` makes a call as; `window` knows the numbers of windows.
    pub(super) fn caller(
        &self,
        thread: Thread,
        call: &Call,
        window: impl Fn(Win) -> Option<u32>,
    ) -> Caller {
        let probed = |message| {
            let mut probed = self.probed.iter();
            probed.find(|probed| probed.handle == message).map(|probed| probed.caller)
        };
        self.communicators.caller(&self.site, thread, call, &self.requests, window, probed)
    }

    /// A thread as a member of a communicator.
    #[inline]
    pub(super) fn member(&self, thread: Thread, comm: Comm) -> Result<Member, ProtocolError> {
        self.communicators.member(&self.site, thread, comm)
    }

    /// The number of the next message.
    #[inline]
    pub(super) fn next_message(&mut self) -> MessageId {
        MessageId { process: self.site.me.0, serial: self.sent.take() }
    }

    #[inline]
    fn next_receive(&mut self) -> ReceiveId {
        ReceiveId { process: self.site.me.0, serial: self.posted.take() }
    }

    /// Opens a request; an open one of the same name is a defect of the program.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call would pass a large body through memory")]
    pub(super) fn open(
        &mut self,
        key: Key,
        body: Body,
        thread: Thread,
    ) -> Result<(), ProtocolError> {
        let origin = Note(self.call_of(thread));
        let caller = self.communicators.current(thread);
        if self.requests.open(key, body, origin, caller) {
            Ok(())
        } else {
            Err(self.site.refuse("the request is still open", key))
        }
    }

    /// The outcome of `key`, if it is complete.
    pub(super) fn outcome(&self, key: Key) -> Result<Option<Outcome>, ProtocolError> {
        match self.requests.get(key) {
            Some(Request { body: Body::Complete(outcome), .. }) => Ok(Some(*outcome)),
            Some(_) => Ok(None),
            None => Err(self.site.refuse("no such request is open", key)),
        }
    }

    /// Whether `key` is not complete: then `thread` waits for it.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the answer would pass through memory")]
    pub(super) fn must_wait(&mut self, key: Key, thread: Thread) -> Result<bool, ProtocolError> {
        match self.requests.get_mut(key) {
            Some(Request { body: Body::Complete(_), .. }) => Ok(false),
            Some(request) => {
                debug_assert!(request.waiter.is_none(), "one thread waits for a request");
                request.waiter = Some(thread);
                Ok(true)
            }
            None => Err(self.site.refuse("no such request is open", key)),
        }
    }

    /// A thread waits for an open request that is not complete, or no thread does; answers whether
    /// there is such a request.
    pub(super) fn await_end(&mut self, key: Key, waiter: Option<Thread>) -> bool {
        self.requests.await_end(key, waiter)
    }

    /// Closes a complete request and answers how it ended.
    #[inline]
    pub(super) fn close(&mut self, key: Key) -> Outcome {
        self.requests.close(key)
    }

    /// Ends a send: the monitors learn it, and the waiting thread goes on.
    #[inline]
    fn send_complete(
        &mut self,
        key: Key,
        message: MessageId,
        buffer: Region,
        out: &mut impl Emit<LibraryAction>,
    ) -> Option<Wake> {
        let fact = Observation::SendComplete { message };
        self.complete(key, Outcome::Sent, Some(buffer), Some(fact), out)
    }

    /// Ends a receive: the monitors learn it, and the waiting thread goes on.
    fn receive_complete(
        &mut self,
        key: Key,
        receive: ReceiveId,
        message: MessageId,
        outcome: Outcome,
        buffer: Region,
        out: &mut impl Emit<LibraryAction>,
    ) -> Option<Wake> {
        let truncated = matches!(outcome, Outcome::Truncated(_));
        let fact = Observation::Received { receive, message, bytes: buffer.len, truncated };
        self.complete(key, outcome, Some(buffer), Some(fact), out)
    }

    /// Marks `key` complete; `fact` is what the monitors learn. Answers what goes on by that.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call would pass the fact through memory")]
    pub(super) fn complete(
        &mut self,
        key: Key,
        outcome: Outcome,
        buffer: Option<Region>,
        fact: Option<Observation>,
        out: &mut impl Emit<LibraryAction>,
    ) -> Option<Wake> {
        if let Key::Buffered(_) = key {
            let bytes = buffer.map_or(0, |buffer| buffer.len);
            return self.buffered_over(key, bytes, fact, out.list());
        }
        // A collective, or a partitioned operation, gives its buffers back at its end, not with each message.
        let buffer =
            buffer.filter(|_| !matches!(key, Key::Part(..) | Key::Later(..) | Key::Partition(..)));
        out.emit(|| Action::Complete { code: Some(CodePath::Completion), buffer, fact });
        let request = self.requests.get_mut(key).expect("an open request is completed");
        request.body = Body::Complete(outcome);
        if let Some(thread) = request.waiter {
            return Some(Wake::Thread(thread, key));
        }
        match key {
            Key::Later(slot, _) => Some(Wake::Collective(slot)),
            Key::Joint(slot, _) => Some(Wake::Joint(slot)),
            Key::Partition(slot, _) => Some(Wake::Partition(slot)),
            Key::User(_) | Key::Inner(_) | Key::Part(..) | Key::Buffered(_) => None,
        }
    }

    /// `MPI_Request_free`: the request is closed when its operation is over.
    pub(super) fn free(&mut self, request: Handle) -> Result<(), ProtocolError> {
        let key = Key::User(request);
        let state = match self.requests.get_mut(key) {
            None => "no such request is open",
            Some(Request { body: Body::Complete(_), .. }) => {
                self.close(key);
                return Ok(());
            }
            Some(Request { body: Body::Background { .. }, .. }) => "it is that of a collective",
            Some(Request { body: Body::OneSided, .. }) => "it is that of a one-sided operation",
            Some(request) => {
                request.waiter = Some(FREED);
                #[cfg(feature = "mutants")]
                if self.site.job.has(crate::mutant::Mutant::FreesAtOnce) {
                    self.requests.forget(key);
                }
                return Ok(());
            }
        };
        Err(self.site.refuse(state, format!("MPI_Request_free of request {}", request.0)))
    }

    /// `MPI_Endpoint_attach`.
    pub(super) fn attach_endpoint(&mut self, thread: Thread, id: u16) -> Result<(), ProtocolError> {
        let Self { communicators, site, .. } = self;
        let table = communicators.endpoints_mut().filter(|table| table.is_static());
        let Some(table) = table else {
            let state = "only a job with endpoints from its start attaches threads";
            return Err(site.refuse(state, id));
        };
        let attached = table.attach(thread, id);
        attached.map_err(|state| site.refuse(&state, format!("MPI_Endpoint_attach of {id}")))
    }

    /// `MPI_Buffer_attach`.
    pub(super) fn attach(&mut self, bytes: u64) -> Result<(), ProtocolError> {
        if self.attached.is_some() {
            return Err(self.site.refuse("a buffer is attached already", "MPI_Buffer_attach"));
        }
        self.attached = Some(Box::new(Attached::new(bytes)));
        Ok(())
    }

    /// `MPI_Buffer_detach`; answers whether the thread must wait for transfers out of the room.
    pub(super) fn detach(&mut self, thread: Thread) -> Result<bool, ProtocolError> {
        let Some(attached) = &mut self.attached else {
            return Err(self.site.refuse("no buffer is attached", "MPI_Buffer_detach"));
        };
        let waits = attached.detach(thread);
        if !waits {
            self.attached = None;
        }
        Ok(waits)
    }

    /// The transfer of a buffered message has ended: its room is free.
    fn buffered_over(
        &mut self,
        key: Key,
        bytes: u64,
        fact: Option<Observation>,
        out: &mut Vec<LibraryAction>,
    ) -> Option<Wake> {
        out.emit(|| Action::Complete { code: Some(CodePath::Completion), buffer: None, fact });
        self.requests.drop_buffered(key);
        let thread = self.attached.as_mut()?.give_back(bytes)?;
        self.attached = None;
        Some(Wake::Detach(thread))
    }

    /// Matched probes whose message the program has not received.
    pub(super) fn probed(&self) -> impl Iterator<Item = MessageHeader> {
        self.probed.iter().map(|probed| probed.message.header)
    }
}

#[cfg(feature = "mutants")]
impl Messages {
    /// Gives all its matching engines a bug.
    pub(crate) fn plant_in_engines(&mut self, flaw: mpi::matching::Flaw) {
        self.queues.plant(flaw);
    }

    /// Takes it from them.
    pub(crate) fn heal_engines(&mut self) {
        self.queues.heal();
    }

    /// The sender of a message that its receiver reads by RGET.
    pub(crate) fn sender_by_rget(&self, receive: Key) -> Option<Key> {
        use crate::rendezvous::{Receiver, Receiving};
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
        matches!(self.communicators.current(thread), Caller::Endpoint(local) if local > 0)
    }

    /// Frees the handle of an endpoint whose communicator is gone; false where it is there.
    pub(crate) fn free_orphan(&mut self, handle: Comm) -> bool {
        let endpoints = self.communicators.endpoints_mut();
        endpoints.is_some_and(|endpoints| endpoints.free_orphan(handle))
    }

    /// The name of the newest endpoint is free again.
    pub(crate) fn give_name_back(&mut self) {
        let endpoints = self.communicators.endpoints_mut();
        endpoints.expect("an endpoint was freed").give_name_back();
    }

    /// The contexts that it gives to new communicators.
    pub(crate) fn contexts_mut(&mut self) -> &mut super::contexts::Contexts {
        self.communicators.contexts_mut()
    }
}
