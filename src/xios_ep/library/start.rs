//! Calls of the program: what each begins with.

use std::sync::Arc;

use super::thread::{Endpoint, Goal, Member, Open, Stage, Step};
use super::{EpCall, Seat};
use crate::message::Wanted;
use crate::request::{self, Request, State};
use crate::tag::{Fields, TagError, USER_MAX};
use calls::typed::Elements;
use collectives::Collective;
use mpi::envelope::Rank;
use protocols::call::{Buffer, Call, Comm, Peer, Reply, SendMode, TypedCall};
use protocols::contract::{Handle, Machine};
use protocols::library::Library;

/// Refusal of a communicator that no call has made.
pub(super) const UNKNOWN: &str = "the endpoint has no such communicator";
/// Refusal of a request whose number is taken.
const OPEN: &str = "the request is still open";

/// Bytes of an element: buffers are counted in bytes.
const BYTE: u64 = 1;

/// Numbers of requests and buffers are shared between the threads of a process.
pub(super) const NUMBERS: &str =
    "a request or buffer number is too large for the threads of its process";

/// Result of a check of the arguments of an operation.
enum Read<T> {
    /// Good.
    Good(T),
    /// The operation is one with `MPI_PROC_NULL`.
    Null,
    /// Wrong.
    Wrong(String),
}

/// A call of MPI with what its buffer has, where that is known.
pub(super) fn stated(call: Call, elements: Option<&Arc<Elements>>) -> Call {
    match elements {
        Some(elements) => call.typed(elements),
        None => call,
    }
}

impl Endpoint {
    /// The program makes a call.
    #[expect(clippy::wildcard_enum_match_arm, reason = "calls that it offers, of many")]
    pub(super) fn begin(&mut self, call: Call) -> Step {
        if call.comm().is_some_and(|comm| !self.comms.contains_key(&comm)) {
            return Step::refuse(UNKNOWN);
        }
        self.goal = Goal::Plain;
        self.stage = Stage::Plain;
        match call {
            Call::Isend { request, to, tag, comm, buffer, mode } => {
                let Some(mpi) = self.handle(request) else { return Step::refuse(NUMBERS) };
                self.send(Some(mpi), comm, to, tag, buffer, mode)
            }
            Call::Send { to, tag, comm, buffer, mode } => {
                self.send(None, comm, to, tag, buffer, mode)
            }
            Call::Irecv { request, source, tag, comm, buffer } => {
                let Some(mpi) = self.handle(request) else { return Step::refuse(NUMBERS) };
                self.receive(mpi, Goal::Posted, comm, source, tag, buffer)
            }
            Call::Recv { source, tag, comm, buffer } => {
                let request = self.blocking();
                let goal = Goal::One { call: request::Call::Wait, request };
                self.receive(request, goal, comm, source, tag, buffer)
            }
            Call::Wait { request } => self.ask(request, request::Call::Wait),
            Call::Test { request } => self.ask(request, request::Call::Test),
            Call::WaitAll { requests, statuses } => {
                self.goal = Goal::All { requests, statuses, outcomes: Vec::new() };
                self.next_of_all()
            }
            Call::Probe { source, tag, comm } => self.probe(comm, source, tag, true),
            Call::Iprobe { source, tag, comm } => self.probe(comm, source, tag, false),
            Call::Place { comm } => {
                let Member { map, place, across, .. } = &self.comms[&comm];
                if across.is_some() {
                    return Step::refuse("an intercommunicator of endpoints has two groups");
                }
                let rank = map.rank(*place).map_or(u32::MAX, |rank| rank.0);
                Step::Answer(Reply::Numbers([rank, map.size()].into()))
            }
            Call::Barrier { comm } => self.collective(&Collective::barrier(comm)),
            Call::Collective(call) => self.collective(&call),
            Call::Communicators(call) => self.make(&call),
            Call::Rma(call) => self.one_sided(&call),
            // Buffers are counted in bytes, from their first one on.
            Call::Typed(typed) if typed.elements.is_from_start() => {
                let step = self.begin(typed.call.clone());
                self.states(step, &typed)
            }
            call => {
                let words = Library::call_in_words(&call);
                Step::refuse(&format!("the endpoint library does not offer {words}"))
            }
        }
    }

    /// The first step of a call with the datatype that the call names: MPI gets it with the send, or when the receive
    /// has its message.
    fn states(&mut self, step: Step, typed: &TypedCall) -> Step {
        let elements = Some(&typed.elements);
        let received = if let Call::Irecv { request, .. } = typed.call {
            self.handle(request)
        } else if let Call::Recv { .. } = typed.call {
            Some(self.blocking())
        } else {
            None
        };
        if let Some(open) = received.and_then(|request| self.open.get_mut(&request)) {
            open.elements = elements.cloned();
        }
        match step {
            Step::Ask(EpCall::Mpi(call)) => Step::mpi(stated(call, elements)),
            Step::Ask(EpCall::Shared(_)) | Step::Answer(_) => step,
        }
    }

    fn buffer(&self, buffer: Buffer) -> Option<Buffer> {
        self.own(buffer.id).map(|id| Buffer { id, ..buffer })
    }

    /// Process, tag and communicator for MPI of a message to an endpoint.
    fn address(&self, comm: Comm, to: Peer, tag: i32) -> Read<(Peer, i32, Comm)> {
        let Member { map, place: own, mpi, across, .. } = &self.comms[&comm];
        let Peer::Rank(rank) = to else { return Read::Null };
        if let Some(across) = across {
            return match self.across(across, *mpi, rank, tag) {
                Ok(address) => Read::Good(address),
                Err(words) => Read::Wrong(words),
            };
        }
        let Some(place) = map.place(rank) else {
            let endpoints = map.size();
            return Read::Wrong(format!("there is no endpoint {} of {endpoints}", rank.0));
        };
        let fields = Fields { tag, sender: own.local, receiver: place.local };
        #[cfg(feature = "mutants")]
        let fields = self.misread(fields);
        match fields.encode() {
            Ok(packed) => Read::Good((Peer::Rank(Rank(place.process)), packed, *mpi)),
            Err(error) => Read::Wrong(error.to_string()),
        }
    }

    fn send(
        &mut self,
        request: Option<Handle>,
        comm: Comm,
        to: Peer,
        tag: i32,
        buffer: Buffer,
        mode: SendMode,
    ) -> Step {
        let Some(buffer) = self.buffer(buffer) else { return Step::refuse(NUMBERS) };
        let seat = self.comms[&comm].seat();
        let (peer, packed, comm) = match self.address(comm, to, tag) {
            Read::Good(address) => address,
            Read::Null => (Peer::Null, tag, seat.mpi),
            Read::Wrong(words) => return Step::refuse(&words),
        };
        let Some(request) = request else {
            return Step::mpi(Call::Send { to: peer, tag: packed, comm, buffer, mode });
        };
        let source = if let Peer::Rank(rank) = to { Some(rank) } else { None };
        let state = State::Send { mpi: request };
        let opened = Request { state, datatype: BYTE, comm, source, tag: Some(tag) };
        if let Some(wrong) = self.note(request, opened, buffer, seat) {
            return wrong;
        }
        Step::mpi(Call::Isend { request, to: peer, tag: packed, comm, buffer, mode })
    }

    /// Message that a receive or probe wants.
    fn wanted(&self, comm: Comm, source: Peer, tag: Option<i32>) -> Read<Wanted> {
        let Member { map, across, .. } = &self.comms[&comm];
        let size = across.as_ref().map_or(map.size(), super::Across::remote_size);
        if let Some(tag) = tag.filter(|tag| !(0..=USER_MAX).contains(tag)) {
            return Read::Wrong(TagError::User { tag }.to_string());
        }
        match source {
            Peer::Null => Read::Null,
            Peer::Any => Read::Good(Wanted { source: None, tag }),
            Peer::Rank(rank) if rank.0 < size => Read::Good(Wanted { source: Some(rank), tag }),
            Peer::Rank(rank) => Read::Wrong(format!("there is no endpoint {} of {size}", rank.0)),
        }
    }

    fn receive(
        &mut self,
        mpi: Handle,
        goal: Goal,
        comm: Comm,
        source: Peer,
        tag: Option<i32>,
        buffer: Buffer,
    ) -> Step {
        let Some(buffer) = self.buffer(buffer) else { return Step::refuse(NUMBERS) };
        let seat = self.comms[&comm].seat();
        match self.wanted(comm, source, tag) {
            Read::Wrong(words) => Step::refuse(&words),
            Read::Good(wanted) => {
                let Wanted { source, tag } = wanted;
                let state = State::Pending;
                let comm = seat.mpi;
                let opened = Request { state, datatype: BYTE, comm, source, tag };
                if let Some(wrong) = self.note(mpi, opened, buffer, seat) {
                    return wrong;
                }
                self.goal = goal;
                self.check(seat, Some((mpi, wanted)))
            }
            Read::Null if matches!(goal, Goal::Posted) => {
                let state = State::Matched { mpi };
                let comm = seat.mpi;
                let opened = Request { state, datatype: BYTE, comm, source: None, tag: None };
                if let Some(wrong) = self.note(mpi, opened, buffer, seat) {
                    return wrong;
                }
                Step::mpi(Call::Irecv { request: mpi, source, tag, comm, buffer })
            }
            Read::Null => Step::mpi(Call::Recv { source, tag, comm: seat.mpi, buffer }),
        }
    }

    /// Notes the request of a one-sided operation, which MPI has.
    pub(super) fn note_operation(
        &mut self,
        mpi: Handle,
        member: &Member,
    ) -> Result<(), &'static str> {
        let (comm, seat) = (member.mpi, member.seat());
        let state = State::Send { mpi };
        let opened = Request { state, datatype: BYTE, comm, source: None, tag: None };
        let buffer = Buffer { id: 0, bytes: 0 };
        let before = self.open.insert(mpi, Open { request: opened, buffer, elements: None, seat });
        before.map_or(Ok(()), |_| Err(OPEN))
    }

    /// Notes a new request; answers what comes next where its number is not free.
    fn note(
        &mut self,
        mpi: Handle,
        request: Request<Handle>,
        buffer: Buffer,
        seat: Seat,
    ) -> Option<Step> {
        let before = self.open.insert(mpi, Open { request, buffer, elements: None, seat });
        before.map(|_| Step::refuse(OPEN))
    }

    fn ask(&mut self, request: Handle, call: request::Call) -> Step {
        let Some(request) = self.handle(request) else { return Step::refuse(NUMBERS) };
        self.goal = Goal::One { call, request };
        self.request(request, call, request::Event::Called)
    }

    /// The first request of a set that is not complete yet.
    pub(super) fn next_of_all(&mut self) -> Step {
        let Goal::All { requests, statuses, outcomes } = &mut self.goal else {
            unreachable!("only a wait for all goes on to its next request")
        };
        if outcomes.len() == requests.len() {
            let outcomes = std::mem::take(outcomes);
            let all = *statuses;
            return Step::Answer(if all { Reply::All(outcomes.into()) } else { Reply::Done });
        }
        let request = requests.at(outcomes.len());
        let Some(request) = self.handle(request) else { return Step::refuse(NUMBERS) };
        self.request(request, request::Call::Wait, request::Event::Called)
    }

    fn probe(&mut self, comm: Comm, source: Peer, tag: Option<i32>, waits: bool) -> Step {
        let seat = self.comms[&comm].seat();
        match self.wanted(comm, source, tag) {
            Read::Good(wanted) => {
                self.goal = Goal::Probe { seat, wanted, waits };
                self.check(seat, None)
            }
            Read::Null => Step::mpi(Call::Iprobe { source, tag, comm: seat.mpi }),
            Read::Wrong(words) => Step::refuse(&words),
        }
    }
}
