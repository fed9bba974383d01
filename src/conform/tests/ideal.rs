//! A small ideal MPI: messages are values, channels are lists, a schedule picks who goes next.
//!
//! It shares the matching engine and the programs with the simulator, but no protocol, no request
//! table and no runtime: what both get right is not right by the same mistake.

use std::collections::{BTreeMap, VecDeque};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::matching::World;
use crate::{Finished, Sent, collectives, one_sided, programs};
use language::program::{ProgramStream, Programs, Record};
use mpi::communicator::Communicators;
use mpi::envelope::{Envelope, Rank, Selection};
use mpi::matching::{MatchingEngine, Unexpected};
use protocols::call::{Buffer, Call, Comm, Outcome, Peer, Reply, Requests, SendMode, Status};
use protocols::contract::{Handle, Next};

/// A mistake of an ideal library, for tests of the judge.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fault {
    /// It is right.
    None,
    /// Channels hand out their newest message first.
    Overtaking,
    /// Communicators share one context.
    OneContext,
    /// A cancelled receive stays in the posted queue.
    DeafCancel,
    /// A message that is too long counts as received.
    NoTruncation,
    /// A receive gets the bytes of the message after the one it matched.
    WrongBytes,
    /// Barriers let all ranks through.
    OpenBarrier,
}

/// The library as a world, with what it gets wrong.
pub(super) struct Ideal(pub(super) Fault);

/// A message under way or unexpected.
#[derive(Clone, Copy)]
struct Message {
    /// The sender's process and buffer: its content.
    content: (usize, u32),
    bytes: u64,
    /// The request of a synchronous send.
    waiting: Option<Handle>,
}

/// A posted receive.
#[derive(Clone, Copy)]
struct Receive {
    request: Handle,
    buffer: Buffer,
}

/// The request under which a blocking call waits.
const BLOCKING: Handle = Handle(u32::MAX);

/// One process.
struct Process {
    stream: ProgramStream,
    engine: MatchingEngine<Receive, Message>,
    requests: BTreeMap<Handle, Option<Outcome>>,
    messages: BTreeMap<Handle, Option<Unexpected<Message>>>,
    /// The call it is in, and whether its first half is done.
    inside: Option<(Call, bool)>,
    reply: Option<Reply>,
    barriers: u32,
    ended: bool,
}

/// The whole job.
struct Job {
    fault: Fault,
    comms: Communicators,
    processes: Vec<Process>,
    channels: BTreeMap<(usize, usize), VecDeque<(Envelope, Message)>>,
    /// Process and buffer of a receive, process and buffer of the send that filled it.
    contents: BTreeMap<(usize, u32), (usize, u32)>,
}

impl collectives::World for Ideal {}

impl programs::World for Ideal {}

impl one_sided::World for Ideal {}

impl World for Ideal {
    fn run(&self, programs: &Programs, schedule: u64) -> Result<Box<dyn Finished>, String> {
        let mut job = Job::new(programs, self.0);
        let mut chance = ChaCha8Rng::seed_from_u64(schedule);
        for _ in 0..20_000 {
            if job.processes.iter().all(|process| process.ended) {
                return Ok(Box::new(job));
            }
            job.step(&mut chance);
        }
        Err("the programs do not end".to_owned())
    }
}

impl Finished for Job {
    fn records(&self, rank: usize) -> &[Record] {
        self.processes[rank].stream.records()
    }

    fn holds(&self, rank: usize, buffer: u32, _: u64, message: &Sent) -> bool {
        self.contents.get(&(rank, buffer)) == Some(&(message.rank, message.buffer))
    }
}

fn size(programs: &Programs) -> u32 {
    u32::try_from(programs.size()).expect("few ranks")
}

impl Job {
    fn new(programs: &Programs, fault: Fault) -> Self {
        let process = |rank| Process {
            stream: programs.stream(rank),
            engine: MatchingEngine::default(),
            requests: BTreeMap::new(),
            messages: BTreeMap::new(),
            inside: None,
            reply: None,
            barriers: 0,
            ended: false,
        };
        Self {
            fault,
            comms: Communicators::standard(size(programs)),
            processes: (0..programs.size()).map(process).collect(),
            channels: BTreeMap::new(),
            contents: BTreeMap::new(),
        }
    }

    /// One process runs as far as it can, or one channel delivers.
    fn step(&mut self, chance: &mut ChaCha8Rng) {
        let filled = self.channels.iter().filter(|(_, channel)| !channel.is_empty());
        let filled: Vec<_> = filled.map(|(ends, _)| *ends).collect();
        let choices = self.processes.len() + filled.len();
        let choice = chance.next_u32() as usize % choices;
        match choice.checked_sub(self.processes.len()) {
            Some(channel) => self.deliver(filled[channel]),
            None => self.run(choice),
        }
    }

    fn deliver(&mut self, ends: (usize, usize)) {
        let channel = self.channels.get_mut(&ends).expect("a filled channel");
        let newest = self.fault == Fault::Overtaking;
        let next = if newest { channel.pop_back() } else { channel.pop_front() };
        let (envelope, message) = next.expect("a filled channel");
        let found = self.processes[ends.1].engine.arrive(envelope, message);
        if let Some(receive) = found.matched {
            self.matched(ends.1, receive, envelope, message);
        }
    }

    /// One call more, or one more attempt at the call that blocks.
    fn run(&mut self, rank: usize) {
        let process = &mut self.processes[rank];
        if process.inside.is_none() && !process.ended {
            match process.stream.advance(process.reply.take()) {
                Next::Call(call) => process.inside = Some((call, false)),
                Next::Compute(_)
                | Next::Mark(_)
                | Next::Offload(..)
                | Next::Fork
                | Next::Join
                | Next::Tell(_)
                | Next::Load(_)
                | Next::Take(_)
                | Next::Clock
                | Next::Store(..)
                | Next::Copy(..) => {}
                Next::End => process.ended = true,
            }
        }
        if let Some((call, begun)) = self.processes[rank].inside.take() {
            let reply = self.attempt(rank, &call, begun);
            let process = &mut self.processes[rank];
            process.inside = reply.is_none().then_some((call, true));
            process.reply = reply;
        }
    }

    fn selection(&self, source: Peer, tag: Option<i32>, comm: Comm) -> Selection {
        let comm = if self.fault == Fault::OneContext { 0 } else { comm.0 };
        let context = self.comms.get(comm).expect("checked").context;
        let source = match source {
            Peer::Rank(rank) => Some(rank),
            Peer::Any | Peer::Null => None,
        };
        Selection { context, dest: Rank(0), source, tag }
    }

    /// Begins a send or receive under a request.
    fn begin(&mut self, rank: usize, call: &Call, request: Handle) {
        self.processes[rank].requests.insert(request, None);
        match call {
            Call::Isend { to, tag, comm, buffer, mode, .. }
            | Call::Send { to, tag, comm, buffer, mode } => {
                self.send(rank, request, *to, *tag, *comm, *buffer, *mode);
            }
            Call::Irecv { source, tag, comm, buffer, .. }
            | Call::Recv { source, tag, comm, buffer } => {
                if *source == Peer::Null {
                    let status = Status { source: None, tag: None, count: 0 };
                    return self.end(rank, request, Outcome::Received(status));
                }
                let selection = self.selection(*source, *tag, *comm);
                let receive = Receive { request, buffer: *buffer };
                let found = self.processes[rank].engine.post(selection, receive);
                if let Some(Unexpected { envelope, payload }) = found.matched {
                    self.matched(rank, receive, envelope, payload);
                }
            }
            Call::Mrecv { message, buffer } | Call::Imrecv { message, buffer, .. } => {
                let taken = self.processes[rank].messages.remove(message).expect("probed");
                let Unexpected { envelope, payload } = taken.expect("no null messages here");
                self.matched(rank, Receive { request, buffer: *buffer }, envelope, payload);
            }
            Call::Wait { .. }
            | Call::WaitAll { .. }
            | Call::WaitAny { .. }
            | Call::Test { .. }
            | Call::TestAll { .. }
            | Call::Ask { .. }
            | Call::OfRequest { .. }
            | Call::Exchange(_)
            | Call::Place { .. }
            | Call::Members { .. }
            | Call::ReduceLocal(_)
            | Call::Prepare(_)
            | Call::Start { .. }
            | Call::Partitioned(_)
            | Call::OfPartitions { .. }
            | Call::Finalize
            | Call::Probe { .. }
            | Call::Iprobe { .. }
            | Call::Mprobe { .. }
            | Call::Improbe { .. }
            | Call::Cancel { .. }
            | Call::Barrier { .. }
            | Call::Init
            | Call::AttachBuffer { .. }
            | Call::DetachBuffer
            | Call::CreateEndpoints { .. }
            | Call::FreeEndpoint { .. }
            | Call::Attach { .. }
            | Call::Communicators(_)
            | Call::Compare { .. }
            | Call::Rma(_)
            | Call::Device(_)
            | Call::Typed(_)
            | Call::Icollective { .. }
            | Call::Collective(_) => panic!("{call:?} begins nothing"),
        }
    }

    fn send(
        &mut self,
        rank: usize,
        request: Handle,
        to: Peer,
        tag: i32,
        comm: Comm,
        buffer: Buffer,
        mode: SendMode,
    ) {
        let Peer::Rank(to) = to else { return self.end(rank, request, Outcome::Sent) };
        let group = &self.comms.get(comm.0).expect("checked").group;
        let process = u32::try_from(rank).expect("few ranks");
        let (source, target) = (group.rank(process), group.process(to).expect("checked"));
        let context = self.selection(Peer::Any, None, comm).context;
        let envelope = Envelope { context, dest: Rank(0), source: source.expect("a member"), tag };
        let waiting = (mode == SendMode::Synchronous).then_some(request);
        let message = Message { content: (rank, buffer.id), bytes: buffer.bytes, waiting };
        let ends = (rank, target as usize);
        self.channels.entry(ends).or_default().push_back((envelope, message));
        if waiting.is_none() {
            self.end(rank, request, Outcome::Sent);
        }
    }

    fn end(&mut self, rank: usize, request: Handle, outcome: Outcome) {
        self.processes[rank].requests.insert(request, Some(outcome));
    }

    fn matched(&mut self, rank: usize, receive: Receive, envelope: Envelope, message: Message) {
        let (sender, buffer) = message.content;
        let shift = u32::from(self.fault == Fault::WrongBytes);
        self.contents.insert((rank, receive.buffer.id), (sender, buffer + shift));
        let count = message.bytes.min(receive.buffer.bytes);
        let status = Status { source: Some(envelope.source), tag: Some(envelope.tag), count };
        let fits = message.bytes <= receive.buffer.bytes || self.fault == Fault::NoTruncation;
        let outcome = if fits { Outcome::Received(status) } else { Outcome::Truncated(status) };
        self.end(rank, receive.request, outcome);
        if let Some(request) = message.waiting {
            self.end(sender, request, Outcome::Sent);
        }
    }

    /// The reply of a call; `None` while it blocks.
    fn attempt(&mut self, rank: usize, call: &Call, begun: bool) -> Option<Reply> {
        match call {
            Call::Isend { request, .. }
            | Call::Irecv { request, .. }
            | Call::Imrecv { request, .. } => {
                self.begin(rank, call, *request);
                Some(Reply::Done)
            }
            Call::Send { .. } | Call::Recv { .. } | Call::Mrecv { .. } => {
                if !begun {
                    self.begin(rank, call, BLOCKING);
                }
                self.over(rank, BLOCKING).map(Reply::Outcome)
            }
            Call::Collective(call) | Call::Icollective { call, .. } => {
                unreachable!("no vector of matching has {call:?}")
            }
            Call::Wait { request } => self.over(rank, *request).map(Reply::Outcome),
            Call::Test { request } => Some(Reply::Tested(self.over(rank, *request))),
            Call::WaitAll { requests, .. } => self.all_over(rank, requests).map(Reply::All),
            Call::TestAll { requests } => Some(Reply::AllTested(self.all_over(rank, requests))),
            Call::WaitAny { requests } => {
                let mut members = (0_u32..).zip(handles(requests));
                let over = |&(_, handle): &_| self.processes[rank].requests[&handle].is_some();
                let (index, handle) = members.find(over)?;
                Some(Reply::Any { index, outcome: self.over(rank, handle)? })
            }
            Call::Probe { source, tag, comm } => {
                Some(Reply::Probed(Some(self.probe(rank, *source, *tag, *comm, None)?)))
            }
            Call::Iprobe { source, tag, comm } => {
                Some(Reply::Probed(self.probe(rank, *source, *tag, *comm, None)))
            }
            Call::Mprobe { message, source, tag, comm } => {
                Some(Reply::Probed(Some(self.probe(rank, *source, *tag, *comm, Some(*message))?)))
            }
            Call::Improbe { message, source, tag, comm } => {
                Some(Reply::Probed(self.probe(rank, *source, *tag, *comm, Some(*message))))
            }
            Call::Cancel { request } => {
                let cancelled = |receive: &Receive| receive.request == *request;
                let deaf = self.fault == Fault::DeafCancel;
                let found =
                    !deaf && self.processes[rank].engine.cancel(cancelled).matched.is_some();
                if found {
                    self.end(rank, *request, Outcome::Cancelled);
                }
                Some(Reply::Done)
            }
            Call::Barrier { .. } => {
                self.processes[rank].barriers += u32::from(!begun);
                let entered = self.processes[rank].barriers;
                let all = self.processes.iter().all(|other| other.barriers >= entered);
                (all || self.fault == Fault::OpenBarrier).then_some(Reply::Done)
            }
            Call::Init
            | Call::Ask { .. }
            | Call::OfRequest { .. }
            | Call::Exchange(_)
            | Call::Place { .. }
            | Call::Members { .. }
            | Call::ReduceLocal(_)
            | Call::Prepare(_)
            | Call::Start { .. }
            | Call::Partitioned(_)
            | Call::OfPartitions { .. }
            | Call::Finalize
            | Call::AttachBuffer { .. }
            | Call::DetachBuffer
            | Call::CreateEndpoints { .. }
            | Call::FreeEndpoint { .. }
            | Call::Attach { .. }
            | Call::Rma(_)
            | Call::Communicators(_)
            | Call::Device(_)
            | Call::Typed(_)
            | Call::Compare { .. } => panic!("no matching vector makes endpoints: {call:?}"),
        }
    }

    fn probe(
        &mut self,
        rank: usize,
        source: Peer,
        tag: Option<i32>,
        comm: Comm,
        matched: Option<Handle>,
    ) -> Option<Status> {
        if source == Peer::Null {
            return Some(Status { source: None, tag: None, count: 0 });
        }
        let selection = self.selection(source, tag, comm);
        let process = &mut self.processes[rank];
        let found = process.engine.probe(&selection).matched.map(|it| (it.envelope, it.payload));
        let (envelope, message) = found?;
        if let Some(handle) = matched {
            let taken = process.engine.take(&selection).matched;
            process.messages.insert(handle, taken);
        }
        let (source, tag) = (Some(envelope.source), Some(envelope.tag));
        Some(Status { source, tag, count: message.bytes })
    }

    /// How a request ended, with the request gone; `None` while it is open.
    fn over(&mut self, rank: usize, request: Handle) -> Option<Outcome> {
        let requests = &mut self.processes[rank].requests;
        let outcome = requests[&request]?;
        requests.remove(&request);
        Some(outcome)
    }

    fn all_over(&mut self, rank: usize, requests: &Requests) -> Option<Box<[Outcome]>> {
        let open = &self.processes[rank].requests;
        if handles(requests).any(|handle| open[&handle].is_none()) {
            return None;
        }
        handles(requests).map(|handle| self.over(rank, handle)).collect()
    }
}

fn handles(requests: &Requests) -> impl Iterator<Item = Handle> {
    (0..requests.len()).map(|index| requests.at(index))
}
