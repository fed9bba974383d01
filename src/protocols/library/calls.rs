//! What happens when a program calls.

use std::sync::Arc;

use super::agreeing::Agreeing;
use super::answers::{push_fact, push_return};
use super::collective::{Place, Running};
use super::device::Exchanging;
use super::joints::Joints;
use super::messages::receives::NOTHING;
use super::threads::{Pending, TestOf};
use super::words::InWords as _;
use super::{
    Action, Handle, Key, Library, LibraryAction, ProtocolError, Region, Reply, Space, Thread,
};
use super::{agreements, one_sided};
use crate::call::{
    Asked, Buffer, Call, Comm, CommCall, Exchange, LocalReduction, OfRequest, Peer, TypedCall,
};
use crate::contract::{CodePath, Emit, Token};
#[cfg(feature = "mutants")]
use crate::mutant::Mutant;
use crate::partitioned::OfPartitions;
use crate::rma::Called;
use crate::rma::call::RmaCall;
use collectives::Collective;
use mpi::observation::GroupFact;
use mpi::operator::Side;

fn region(buffer: Buffer) -> Region {
    Region::new(Space::User(buffer.id), buffer.bytes)
}

/// A core combines elements of its own process, with the loop that a collective's reduction has.
fn reduce_local(
    thread: Thread,
    LocalReduction { from, into, reduction }: LocalReduction,
    out: &mut Vec<LibraryAction>,
) {
    out.emit(|| Action::Work(CodePath::Query));
    out.emit(|| Action::Combine { from, into, reduction, side: Side::Before });
    for buffer in [from, into] {
        out.emit(|| Action::Complete { code: None, buffer: Some(buffer), fact: None });
    }
    push_return(thread, Reply::Done, out);
}

impl Library {
    /// Takes one call of the program.
    pub(super) fn call(
        &mut self,
        thread: Thread,
        call: Call,
        out: &mut impl Emit<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let Self { messages, windows, .. } = self;
        messages.enter(thread, &call, |win| windows.number(win), out)?;
        self.begin(thread, call, out)
    }

    /// Takes a call that has been entered, or the operation that it starts.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the call would pass through memory")]
    fn begin(
        &mut self,
        thread: Thread,
        call: Call,
        out: &mut impl Emit<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let inner = Key::Inner(thread);
        #[expect(clippy::wildcard_enum_match_arm, reason = "the others are matched by name there")]
        match call {
            Call::Isend { request, to, tag, comm, buffer, mode } => {
                let (key, buffer) = (Key::User(request), region(buffer));
                self.messages.send(thread, key, to, tag, comm, buffer, mode, out)?;
                push_return(thread, Reply::Done, out);
                Ok(())
            }
            Call::Send { to, tag, comm, buffer, mode } => {
                self.messages.send(thread, inner, to, tag, comm, region(buffer), mode, out)?;
                self.wait_one(thread, inner, out)
            }
            Call::Irecv { request, source, tag, comm, buffer } => {
                let (key, buffer) = (Key::User(request), region(buffer));
                self.messages.receive(thread, key, source, tag, comm, buffer, out)?;
                push_return(thread, Reply::Done, out);
                Ok(())
            }
            Call::Recv { source, tag, comm, buffer } => {
                self.messages.receive(thread, inner, source, tag, comm, region(buffer), out)?;
                self.wait_one(thread, inner, out)
            }
            Call::Wait { request } => {
                out.emit(|| Action::Work(CodePath::Query));
                self.flush_for(thread, Key::User(request), out)?;
                self.wait_one(thread, Key::User(request), out)
            }
            Call::WaitAll { requests, statuses } => self.wait_all(thread, requests, statuses, out),
            call => self.call_seldom(thread, call, out.list()),
        }
    }

    /// Takes a call that most messages do without.
    #[inline(never)]
    fn call_seldom(
        &mut self,
        thread: Thread,
        call: Call,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let inner = Key::Inner(thread);
        match call {
            Call::WaitAny { requests } => self.wait_any(thread, (requests, false), out),
            Call::Test { request } => {
                self.begin_test(thread, Pending::Test { request, keeps: false }, out)
            }
            Call::TestAll { requests } => {
                self.begin_test(thread, Pending::TestSet(TestOf::All, requests), out)
            }
            Call::Ask { asks: Asked::WaitSome, requests } => {
                self.wait_any(thread, (requests, true), out)
            }
            Call::Ask { asks: Asked::TestAny, requests } => {
                self.begin_test(thread, Pending::TestSet(TestOf::Any, requests), out)
            }
            Call::Ask { asks: Asked::TestSome, requests } => {
                self.begin_test(thread, Pending::TestSet(TestOf::Some, requests), out)
            }
            Call::OfRequest { does: OfRequest::GetStatus, request } => {
                self.begin_test(thread, Pending::Test { request, keeps: true }, out)
            }
            Call::OfRequest { does: OfRequest::Free, request } => {
                let collective = self.background.as_mut().is_some_and(|these| these.free(request));
                if !collective && !self.partitioned.as_mut().is_some_and(|all| all.free(request)) {
                    self.messages.free(request)?;
                }
                push_return(thread, Reply::Done, out);
                Ok(())
            }
            Call::Exchange(call) => self.exchange(thread, &call, out),
            Call::Prepare(operation) => {
                if let Call::Icollective { request, call } = &*operation {
                    let Self { messages, threads, background, .. } = self;
                    let inside = |comm, rank| threads.inside(thread, comm, rank);
                    let background = background.get_or_insert_default();
                    background.prepare(messages, thread, (*request, call), inside, out)?;
                } else if let Call::Partitioned(operation) = &*operation {
                    let partitioned = self.partitioned.get_or_insert_default();
                    partitioned.prepare(&mut self.messages, thread, operation, out)?;
                }
                push_return(thread, Reply::Done, out);
                Ok(())
            }
            Call::Start { operation, .. } => {
                // A start is the operation that was prepared.
                let operation = Arc::unwrap_or_clone(operation);
                if let Call::Start { request, .. } = operation {
                    let state = "the operation of a request is none that another request starts";
                    return Err(self.messages.site().refuse(state, request));
                }
                self.begin(thread, operation, out)
            }
            Call::Partitioned(operation) => {
                let partitioned = self.partitioned.get_or_insert_default();
                partitioned.start(&mut self.messages, thread, operation.request, out)?;
                push_return(thread, Reply::Done, out);
                Ok(())
            }
            Call::OfPartitions { does, request, first, last, .. } => {
                self.of_partitions(thread, (does, request), (first, last), out)
            }
            Call::Finalize => {
                self.finalize(thread, out);
                Ok(())
            }
            Call::Probe { source, tag, comm } => {
                self.begin_probe(thread, (source, tag, comm), None, false, out)
            }
            Call::Iprobe { source, tag, comm } => {
                self.begin_probe(thread, (source, tag, comm), None, true, out)
            }
            Call::Mprobe { message, source, tag, comm } => {
                self.begin_probe(thread, (source, tag, comm), Some(message), false, out)
            }
            Call::Improbe { message, source, tag, comm } => {
                self.begin_probe(thread, (source, tag, comm), Some(message), true, out)
            }
            Call::Mrecv { message, buffer } => {
                self.messages.matched_receive(thread, inner, message, region(buffer), out)?;
                self.wait_one(thread, inner, out)
            }
            Call::Imrecv { message, request, buffer } => {
                let (key, buffer) = (Key::User(request), region(buffer));
                self.messages.matched_receive(thread, key, message, buffer, out)?;
                push_return(thread, Reply::Done, out);
                Ok(())
            }
            Call::Cancel { request } => {
                out.emit(|| Action::Work(CodePath::Query));
                let wake = self.messages.cancel(request, out)?;
                self.wake(wake, out)?;
                push_return(thread, Reply::Done, out);
                Ok(())
            }
            Call::AttachBuffer { bytes } => {
                self.messages.attach(bytes)?;
                push_return(thread, Reply::Done, out);
                Ok(())
            }
            Call::DetachBuffer => {
                if self.messages.detach(thread)? {
                    self.threads.wait(thread, Pending::Detach);
                } else {
                    push_return(thread, Reply::Done, out);
                }
                Ok(())
            }
            Call::Barrier { comm } => {
                let barrier = self.collectives.barrier(comm);
                self.begin_collective(thread, barrier, out)
            }
            Call::Init => {
                let state = "the library is initialised already";
                Err(self.messages.site().refuse(state, "MPI_Init"))
            }
            Call::CreateEndpoints { .. }
            | Call::FreeEndpoint { .. }
            | Call::Attach { .. }
            | Call::Compare { .. }
            | Call::Place { .. }
            | Call::Members { .. }
            | Call::Communicators(_) => self.communicator_call(thread, call, out),
            Call::Collective(call) => self.begin_collective(thread, call, out),
            Call::Icollective { request, call } => {
                let Self { messages, threads, collectives, background, .. } = self;
                let inside = |comm, rank| threads.inside(thread, comm, rank);
                let background = background.get_or_insert_default();
                background.begin((collectives, messages), thread, (request, call), inside, out)
            }
            Call::ReduceLocal(call) => {
                reduce_local(thread, *call, out);
                Ok(())
            }
            Call::Device(call) => {
                let exchanging = Exchanging::begin(&mut self.messages, thread, call, out)?;
                self.threads.wait(thread, Pending::Device(Box::new(exchanging)));
                self.end_device(thread, out);
                Ok(())
            }
            Call::Typed(call) => self.call_typed(thread, &call, out),
            Call::Rma(call) => self.one_sided(thread, call, out),
            Call::Isend { .. }
            | Call::Send { .. }
            | Call::Irecv { .. }
            | Call::Recv { .. }
            | Call::Wait { .. }
            | Call::WaitAll { .. } => unreachable!("taken where messages are"),
        }
    }

    /// `MPI_Sendrecv` and its forms.
    fn exchange(
        &mut self,
        thread: Thread,
        call: &Exchange,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let (Call::Send { to, tag, comm, buffer, mode }, Call::Recv { source, tag: of, .. }) =
            (&call.send, &call.receive)
        else {
            let state = "a send and a receive make an exchange";
            return Err(self.messages.site().defect(state, call.function()));
        };
        let Some(Buffer { id, bytes }) = call.receive.buffer() else { return Ok(()) };
        let into = Region::new(Space::User(id), bytes);
        let key = call.request.map_or(Key::Inner(thread), Key::User);
        let Self { messages, joints, .. } = self;
        let joints = joints.get_or_insert_default();
        let slot = joints.open(messages, thread, (key, 2), call.function())?;
        let mut from = region(*buffer);
        let copies = call.replaced().is_some();
        #[cfg(feature = "mutants")]
        let copies = copies && !messages.site().job.has(Mutant::ReplacesAtOnce);
        if copies {
            from = Joints::copy(slot, from, out);
        }
        let [receives, sends] = [0, 1].map(|part| Key::Joint(slot, part));
        messages.receive(thread, receives, *source, *of, *comm, into, out)?;
        messages.send(thread, sends, *to, *tag, *comm, from, *mode, out)?;
        let wake = joints.begun(messages, slot, out);
        debug_assert_eq!(wake, None, "no thread waits for a request that was opened just now");
        if call.request.is_none() {
            return self.wait_one(thread, key, out);
        }
        push_return(thread, Reply::Done, out);
        Ok(())
    }

    /// A call about partitions of a request.
    fn of_partitions(
        &mut self,
        thread: Thread,
        (does, request): (OfPartitions, Handle),
        (first, last): (u16, u16),
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.emit(|| Action::Work(CodePath::Query));
        if does == OfPartitions::Arrived {
            if self.arrived(request, first)? {
                push_return(thread, Reply::Flag(true), out);
                return Ok(());
            }
            self.threads.wait(thread, Pending::Arrived(request, first));
            out.emit(|| Action::Poll(Token(u64::from(thread.0))));
            return Ok(());
        }
        let partitioned = self.partitioned.get_or_insert_default();
        let partitions = (first, last);
        let wake =
            partitioned.ready(&mut self.messages, thread, (request, does), partitions, out)?;
        self.wake(wake, out)?;
        push_return(thread, Reply::Done, out);
        Ok(())
    }

    /// Whether a partition has been received.
    pub(super) fn arrived(
        &mut self,
        request: Handle,
        partition: u16,
    ) -> Result<bool, ProtocolError> {
        let partitioned = self.partitioned.get_or_insert_default();
        partitioned.arrived(&self.messages, request, partition)
    }

    /// A call about communicators or endpoints.
    #[expect(clippy::wildcard_enum_match_arm, reason = "six calls of many are handed here")]
    fn communicator_call(
        &mut self,
        thread: Thread,
        call: Call,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        if let Call::Place { comm } = call {
            let messages = &self.messages;
            let place = messages.communicators().place(messages.site(), thread, comm)?;
            push_return(thread, Reply::Numbers(place), out);
            return Ok(());
        }
        if let Call::Members { comm } = call {
            let messages = &self.messages;
            let members = messages.communicators().members(messages.site(), thread, comm)?;
            push_return(thread, Reply::Numbers(members), out);
            return Ok(());
        }
        out.emit(|| Action::Work(CodePath::Query));
        let Self { messages, threads, background, .. } = self;
        let gives =
            |comm| threads.give(comm) || background.as_ref().is_some_and(|these| these.give(comm));
        let agreeing = match call {
            Call::CreateEndpoints { parent, count, first } => {
                agreements::create_endpoints(messages, thread, parent, (first, count), gives)?
            }
            Call::FreeEndpoint { comm } => {
                let Some(agreeing) = agreements::free_endpoint(messages, comm)? else {
                    push_return(thread, Reply::Done, out);
                    return Ok(());
                };
                agreeing
            }
            Call::Communicators(CommCall::Free { comm }) => return self.free(thread, comm, out),
            Call::Communicators(CommCall::Idup { comm, new, request }) => {
                let call = CommCall::Idup { comm, new, request };
                let agreeing = agreements::begin(messages, thread, call, gives)?;
                let background = background.get_or_insert_default();
                background.duplicate(messages, thread, (request, agreeing), out)?;
                push_return(thread, Reply::Done, out);
                return Ok(());
            }
            Call::Communicators(call) => agreements::begin(messages, thread, call, gives)?,
            Call::Attach { id } => {
                messages.attach_endpoint(thread, id)?;
                push_return(thread, Reply::Done, out);
                return Ok(());
            }
            Call::Compare { a, b } => {
                let comparison = messages.communicators().compare(messages.site(), thread, a, b)?;
                push_return(thread, Reply::Compared(comparison), out);
                return Ok(());
            }
            other => unreachable!("{other:?} is about no communicator"),
        };
        self.agree(thread, agreeing, out)
    }

    /// A send or a receive of a datatype; a buffer in one piece is sent as it is.
    fn call_typed(
        &mut self,
        thread: Thread,
        typed: &TypedCall,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let Some((buffer, task)) = typed.buffer() else {
            let state = "only messages have a datatype";
            return Err(self.messages.site().refuse(state, &typed.call));
        };
        let packed = if let Some(piece) = typed.elements.piece(buffer.id) {
            piece
        } else if self.moves(&typed.call) {
            let open = self.typed.get_or_insert_default();
            open.stage(thread, (buffer.id, task), &typed.elements)
        } else {
            typed.elements.data(buffer.id)
        };
        let begun = if let Call::Isend { request, .. }
        | Call::Irecv { request, .. }
        | Call::Imrecv { request, .. } = typed.call
        {
            Some(request)
        } else {
            None
        };
        let key = begun.map_or(Key::Inner(thread), Key::User);
        if let Call::Isend { to, tag, comm, mode, .. } | Call::Send { to, tag, comm, mode, .. } =
            typed.call
        {
            self.messages.send(thread, key, to, tag, comm, packed, mode, out)?;
        } else if let Call::Irecv { source, tag, comm, .. } | Call::Recv { source, tag, comm, .. } =
            typed.call
        {
            self.messages.receive(thread, key, source, tag, comm, packed, out)?;
        } else if let Call::Mrecv { message, .. } | Call::Imrecv { message, .. } = typed.call {
            self.messages.matched_receive(thread, key, message, packed, out)?;
        }
        if begun.is_none() {
            return self.wait_one(thread, key, out);
        }
        push_return(thread, Reply::Done, out);
        Ok(())
    }

    /// Whether the call has a message: one with `MPI_PROC_NULL` has none.
    fn moves(&self, call: &Call) -> bool {
        if let Call::Mrecv { message, .. } | Call::Imrecv { message, .. } = *call {
            return self.messages.has_probed(message);
        }
        let (Call::Isend { to: peer, .. }
        | Call::Send { to: peer, .. }
        | Call::Irecv { source: peer, .. }
        | Call::Recv { source: peer, .. }) = *call
        else {
            return false;
        };
        peer != Peer::Null
    }

    /// A collective that its call waits for.
    fn begin_collective(
        &mut self,
        thread: Thread,
        call: Arc<Collective>,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let Self { messages, threads, collectives, background, .. } = self;
        let inside = |comm, rank| threads.inside(thread, comm, rank);
        let call = (call, Place::Inside(thread));
        let running = Running::enter(messages, thread, call, inside, out)?;
        if let Some(background) = background {
            background.entered(running.of);
        }
        if let Some(running) = collectives.go_on(messages, thread, running, out)? {
            threads.wait(thread, Pending::Collective(running));
        }
        Ok(())
    }

    /// `MPI_Comm_free` of a communicator of processes: local, its context is never used again.
    fn free(
        &mut self,
        thread: Thread,
        comm: Comm,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let (communicators, site) = self.messages.communicators_mut();
        let sides = communicators.sides(site, comm).ok().filter(|_| self.background.is_some());
        let sides = sides.cloned();
        let Some(communicator) = communicators.remove(comm) else {
            return Err(site.refuse("the process made no such communicator", comm));
        };
        push_fact(GroupFact::Closed { context: communicator.context }, out);
        if let Some(background) = &mut self.background {
            background.keep(&mut self.messages, communicator, sides);
        }
        push_return(thread, Reply::Done, out);
        Ok(())
    }

    /// Begins the messages of an agreement.
    fn agree(
        &mut self,
        thread: Thread,
        mut agreeing: Agreeing,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        if self.threads.clashes(thread, &agreeing) {
            let parent = agreeing.parent.in_words();
            let state = format!("another thread of the process is inside a call on {parent}");
            return Err(self.messages.site().refuse(&state, agreeing.operation()));
        }
        if agreeing.exchange(&mut self.messages, (thread, Key::Inner(thread)), out)? {
            return self.agreed(thread, &agreeing, out);
        }
        self.threads.wait(thread, Pending::Agree(Box::new(agreeing)));
        Ok(())
    }

    /// All have agreed, and the call returns.
    pub(super) fn agreed(
        &mut self,
        thread: Thread,
        agreeing: &Agreeing,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let reply = agreements::end(&mut self.messages, agreeing, out)?;
        push_return(thread, reply, out);
        Ok(())
    }

    fn begin_probe(
        &mut self,
        thread: Thread,
        (source, tag, comm): (Peer, Option<i32>, Comm),
        take: Option<Handle>,
        flag: bool,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.emit(|| Action::Work(CodePath::Query));
        let Some(selection) = self.messages.select(thread, source, tag, comm)? else {
            push_return(thread, Reply::Probed(Some(NOTHING)), out);
            return Ok(());
        };
        if !self.probe_now(thread, selection, take, out) {
            self.threads.wait(thread, Pending::Probe { selection, take, flag });
            if flag {
                out.emit(|| Action::Poll(Token(u64::from(thread.0))));
            }
        }
        Ok(())
    }

    /// A one-sided call.
    fn one_sided(
        &mut self,
        thread: Thread,
        call: Arc<RmaCall>,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        if !self.windows.polls_first(&call) {
            return self.take_one_sided(thread, &call, out);
        }
        self.threads.wait(thread, Pending::WindowCall(call));
        out.push(Action::Poll(Token(u64::from(thread.0))));
        Ok(())
    }

    /// Does what a one-sided call asks for.
    pub(super) fn take_one_sided(
        &mut self,
        thread: Thread,
        call: &RmaCall,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let (called, completed) = self.windows.call(&mut self.messages, thread, call, out)?;
        self.requests_complete(completed, out)?;
        let called = called.map_err(|words| self.messages.site().refuse(&words, call.name()))?;
        match called {
            Called::Returns => push_return(thread, Reply::Done, out),
            Called::Found(part, unit) => push_return(thread, Reply::Part(part, unit), out),
            Called::Tested(flag) => push_return(thread, Reply::Flag(flag), out),
            Called::Polls => self.threads.wait(thread, Pending::WindowTest(call.win())),
            Called::Passes => self.threads.wait(thread, Pending::WindowPass),
            Called::Waits => self.threads.wait(thread, Pending::Window),
        }
        // A lock that this call has left may be the goal of another thread.
        self.look_at_goals(thread, out)?;
        if matches!(called, Called::Polls | Called::Passes) {
            out.push(Action::Poll(Token(u64::from(thread.0))));
        }
        Ok(())
    }

    /// Threads whose goals are reached return.
    pub(super) fn look_at_goals(
        &mut self,
        thread: Thread,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let (reached, completed) = self.windows.reached(&self.messages, thread, out)?;
        self.requests_complete(completed, out)?;
        for (thread, called) in reached {
            self.threads.end(thread);
            let part =
                if let Called::Found(part, unit) = called { Some((part, unit)) } else { None };
            push_return(
                thread,
                part.map_or(Reply::Done, |(part, unit)| Reply::Part(part, unit)),
                out,
            );
        }
        one_sided::reads_last(out);
        Ok(())
    }
}
