//! The parts of a state: processes and their threads, what comes towards them, and what is under way.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::fingerprint::Shared;
use crate::memory::Parcel;
use mpi::observation::Observation;
use mpi::rma::update::Effect;
use protocols::contract::{
    ActionOf, Counter, Entry, Guard, Lane, Machine, Next, Process, Program, Region, Route, Space,
    Thread, Token, Via,
};
use protocols::device::DeviceWork;

/// The thread that acts.
#[derive(Clone, Copy)]
pub(super) struct Actor {
    pub(super) process: Process,
    pub(super) thread: Thread,
}

/// The library of one process and its threads.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Instance<M: Machine, P> {
    pub(super) machine: Shared<M>,
    pub(super) threads: Vec<Shared<Strand<M, P>>>,
    /// Threads inside guards, in the order of guards.
    pub(super) owners: Vec<(Guard, Thread)>,
}

/// One thread.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Strand<M: Machine, P> {
    pub(super) program: P,
    pub(super) stage: Stage<M::Call>,
    /// The pass that it is in.
    pub(super) pass: Option<Token>,
    /// Rest of its list, last action first.
    pub(super) list: Vec<ActionOf<M>>,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) enum Stage<C> {
    /// Its program has decided on its next call.
    Calls(C),
    /// Its program is about to read or write memory.
    Touches(Touch),
    /// Inside the library.
    Inside,
    /// It is not created yet.
    Unborn,
    /// Its program waits for the end of the other threads.
    Joining,
    /// Its program ended.
    Ended,
    /// Its process has died.
    Dead,
}

/// Access of a program to its own memory.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Touch {
    Load(Region),
    Take(Region),
    Store(Region, u64),
    Copy(Region, Region),
    /// It tells its monitors a fact.
    Tell(Observation),
}

impl Touch {
    /// The memory that it reads and writes.
    pub(super) fn regions(self) -> impl Iterator<Item = Region> {
        let (first, second) = match self {
            Self::Load(region) | Self::Take(region) | Self::Store(region, _) => {
                (Some(region), None)
            }
            Self::Copy(from, to) => (Some(from), Some(to)),
            Self::Tell(_) => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// Whether no other process can reach this memory: the moment does not matter.
    pub(super) const fn is_private(self) -> bool {
        match self {
            Self::Load(region) | Self::Take(region) | Self::Store(region, _) => {
                !region.is_in_a_window()
            }
            Self::Copy(from, to) => !from.is_in_a_window() && !to.is_in_a_window(),
            Self::Tell(_) => true,
        }
    }

    /// Whether its only use is that others may come before it.
    pub(super) const fn lingers(self) -> bool {
        matches!(self, Self::Load(region) if region.len == 0)
    }
}

/// Packets and completions for one process, and the operations that it posted.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Port<M: Machine> {
    /// Channels that hold packets, by sender and wire.
    pub(super) channels: Vec<Channel<M>>,
    pub(super) completions: VecDeque<(Lane, Token)>,
    /// Operations that this process posted, by token.
    pub(super) operations: Vec<Operation>,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Channel<M: Machine> {
    pub(super) from: Route,
    pub(super) via: Via,
    /// Oldest first; never empty.
    pub(super) packets: VecDeque<Mail<M>>,
}

/// Entry of a channel.
pub(super) type Mail<M> = Shared<Incoming<M>>;

/// A packet on its way, or the immediate data of a write.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Incoming<M: Machine> {
    pub(super) packet: M::Packet,
    pub(super) parcel: Option<Parcel>,
    /// The write that it is part of, or was posted behind, while the bytes of that have not moved: it holds up what
    /// is behind it.
    pub(super) part_of: Option<Token>,
}

impl<M: Machine> Channel<M> {
    /// Whether its oldest packet can be taken.
    pub(super) fn is_open(&self) -> bool {
        self.packets.front().is_some_and(|incoming| incoming.part_of.is_none())
    }
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Operation {
    pub(super) token: Token,
    /// The lane that gets its completion.
    pub(super) lane: Lane,
    pub(super) does: OperationKind,
    pub(super) moved: bool,
}

/// No bytes.
const NOTHING: Region = Region::new(Space::Scratch(0), 0);

impl Operation {
    /// An operation that was posted just now.
    pub(super) const fn new(token: Token, lane: Lane, does: OperationKind) -> Self {
        // An observer has nothing to move.
        let moved = matches!(does, OperationKind::Watches { .. });
        Self { token, lane, does, moved }
    }

    /// Whether it waits for the memory of a process that died.
    pub(super) fn is_cut_off(&self, victim: Option<Process>) -> bool {
        let named = self.sides().iter().any(|(owner, _)| victim == Some(*owner));
        named && !self.moved
    }

    /// Whether it still touches memory that it names: of a copy whose bytes have moved only the completion is left.
    pub(super) const fn touches_memory(&self) -> bool {
        !(self.moved && matches!(self.does, OperationKind::Copies { .. }))
    }

    /// The memory that it names at both sides.
    pub(super) fn sides(&self) -> [(Process, Region); 2] {
        match &self.does {
            OperationKind::Copies { from, to, .. } => [*from, *to],
            OperationKind::Updates { at, into, .. } => [*at, *into],
            OperationKind::Watches { process, .. } => [(*process, NOTHING); 2],
            OperationKind::Asks { process, work, .. } => {
                // Work whose bytes do not exist touches nothing.
                let nothing = NOTHING;
                work.memories().unwrap_or([nothing; 2]).map(|region| (*process, region))
            }
        }
    }

    /// Whether others of its stream or queue pair come before it, or the counter has not its value.
    pub(super) fn waits(&self) -> bool {
        match &self.does {
            OperationKind::Asks { after, .. } => !after.is_empty(),
            OperationKind::Watches { met, .. } => !met,
            OperationKind::Copies { queued, .. } => {
                queued.is_some_and(|queued| queued.behind.is_some())
            }
            OperationKind::Updates { .. } => false,
        }
    }

    /// Its place in a queue pair, while its bytes have not moved.
    fn queued(&self) -> Option<Queued> {
        let OperationKind::Copies { queued, .. } = self.does else { return None };
        queued.filter(|_| !self.moved)
    }
}

/// Place of a write in its queue pair, which does what was posted on it in order.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Queued {
    /// The peer and the lanes of the queue pair.
    pub(super) pair: Route,
    /// The write before it whose bytes have not moved.
    pub(super) behind: Option<Token>,
}

/// Work of an RDMA operation, a GPU or a core that waits.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) enum OperationKind {
    /// Bytes move from one place to another; a write has a place in its queue pair.
    Copies { from: (Process, Region), to: (Process, Region), queued: Option<Queued> },
    /// An element changes; `carried` is the operand before, and the old element afterwards.
    Updates { at: (Process, Region), update: Effect, carried: Parcel, into: (Process, Region) },
    /// A core looks at a counter; whether it has had the value.
    Watches { process: Process, counter: Counter, value: u32, met: bool },
    /// A GPU works, once the operations `after` of its stream have.
    Asks { process: Process, stream: u16, work: Arc<DeviceWork>, after: Vec<Token> },
}

impl OperationKind {
    /// A counter has a value now.
    pub(super) fn sees(&mut self, changed: Counter, now: u32) {
        if let Self::Watches { counter, value, met, .. } = self {
            *met |= *counter == changed && *value == now;
        }
    }

    /// Another operation has ended, or its bytes have moved.
    pub(super) fn ends_after(&mut self, ended: Token) {
        match self {
            Self::Asks { after, .. } => after.retain(|token| *token != ended),
            Self::Copies { queued: Some(queued), .. } if queued.behind == Some(ended) => {
                queued.behind = None;
            }
            Self::Copies { .. } | Self::Updates { .. } | Self::Watches { .. } => {}
        }
    }
}

impl<M: Machine, P: Program<M>> Strand<M, P> {
    pub(super) const fn new(program: P) -> Self {
        Self { program, stage: Stage::Unborn, pass: None, list: Vec::new() }
    }

    /// Whether it takes no further step.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Ended | Stage::Dead)
    }

    /// Whether it is in no call, and nothing is left of one.
    pub(super) fn is_outside(&self) -> bool {
        self.list.is_empty() && !matches!(self.stage, Stage::Inside | Stage::Dead)
    }

    /// Whether it looks at channels and completions: inside a call, with no work left.
    pub(super) fn polls(&self) -> bool {
        self.list.is_empty() && self.stage == Stage::Inside
    }
}

impl<M: Machine> Port<M> {
    pub(super) const fn new() -> Self {
        Self { channels: Vec::new(), completions: VecDeque::new(), operations: Vec::new() }
    }

    /// The first completion on a lane.
    pub(super) fn completion(&self, lane: Lane) -> Option<usize> {
        self.completions.iter().position(|&(other, _)| other == lane)
    }

    /// The lanes that have completions, each once, in the order of their first ones.
    pub(super) fn lanes_done(&self) -> impl Iterator<Item = Lane> {
        let lanes = self.completions.iter().map(|&(lane, _)| lane).enumerate();
        lanes.filter(|&(place, lane)| self.completion(lane) == Some(place)).map(|(_, lane)| lane)
    }

    pub(super) fn channel(&self, from: Route, via: Via) -> Result<usize, usize> {
        self.channels.binary_search_by_key(&(from, via), |channel| (channel.from, channel.via))
    }

    /// Takes the oldest packet of a channel, which holds one.
    pub(super) fn take_packet(&mut self, from: Route, via: Via) -> Mail<M> {
        let place = self.channel(from, via).expect("it holds packets: the choice was enabled");
        let packets = &mut self.channels[place].packets;
        let mail = packets.pop_front().expect("empty channels are removed");
        if packets.is_empty() {
            self.channels.remove(place);
        }
        mail
    }

    /// Takes the first completion of a lane, which has one.
    pub(super) fn take_done(&mut self, lane: Lane) -> Token {
        let place = self.completion(lane);
        let first = place.and_then(|place| self.completions.remove(place));
        let (_, token) = first.expect("a completion is there: the choice was enabled");
        token
    }

    /// A message comes to the end of its channel.
    pub(super) fn deliver(&mut self, from: Route, via: Via, incoming: Mail<M>) {
        let place = self.channel(from, via).unwrap_or_else(|place| {
            self.channels.insert(place, Channel { from, via, packets: [].into() });
            place
        });
        self.channels[place].packets.push_back(incoming);
    }

    /// Adds an operation, whose token is that of no other; a write comes behind those of its queue pair.
    pub(super) fn post(&mut self, mut operation: Operation) {
        if let OperationKind::Copies { queued: Some(queued), .. } = &mut operation.does {
            queued.behind = self.last_write(queued.pair);
        }
        let place = self.operations.partition_point(|other| other.token < operation.token);
        self.operations.insert(place, operation);
    }

    /// The write that holds up a message which is sent now.
    pub(super) fn write_before(&self, to: Route, via: Via, mail: &Mail<M>) -> Option<Token> {
        if via == Via::Hca && mail.part_of.is_none() { self.last_write(to) } else { None }
    }

    /// The last write of a queue pair whose bytes have not moved.
    fn last_write(&self, pair: Route) -> Option<Token> {
        let open = |one: &Operation| one.queued().map(|queued| (one.token, queued));
        let mut writes = self.operations.iter().filter_map(open);
        let followed = |token| {
            let mut all = self.operations.iter().filter_map(Operation::queued);
            all.any(|queued| queued.behind == Some(token))
        };
        let last = writes.find(|&(token, queued)| queued.pair == pair && !followed(token));
        last.map(|(token, _)| token)
    }

    pub(super) fn operation(&self, token: Token) -> Option<usize> {
        self.operations.binary_search_by_key(&token, |operation| operation.token).ok()
    }
}

impl<M: Machine, P: Program<M>> Instance<M, P> {
    /// The threads begin: the first one, and the others where it does not create them itself.
    pub(super) fn begin(&mut self) {
        let forks = self.threads.first().is_some_and(|first| first.program.forks());
        let born = if forks { 1 } else { self.threads.len() };
        for index in 0..born {
            self.advance(index, None);
        }
    }

    /// The program of a thread decides on its next call; computing takes no time here.
    pub(super) fn advance(&mut self, index: usize, reply: Option<M::Reply>) {
        let mut reply = reply;
        let stage = loop {
            match self.threads[index].change().program.next(reply.take()) {
                Next::Call(call) => break Stage::Calls(call),
                Next::Tell(fact) => break Stage::Touches(Touch::Tell(fact)),
                Next::Load(region) => break Stage::Touches(Touch::Load(region)),
                Next::Take(region) => break Stage::Touches(Touch::Take(region)),
                Next::Store(region, value) => break Stage::Touches(Touch::Store(region, value)),
                Next::Copy(from, to) => break Stage::Touches(Touch::Copy(from, to)),
                Next::Compute(_) | Next::Mark(_) | Next::Offload(..) => {}
                Next::Clock => self.threads[index].change().program.loaded(0),
                Next::Fork => {
                    for other in 1..self.threads.len() {
                        self.advance(other, None);
                    }
                }
                Next::Join if self.others_ended() => {}
                Next::Join => break Stage::Joining,
                Next::End => break Stage::Ended,
            }
        };
        let ended = stage == Stage::Ended;
        self.threads[index].change().stage = stage;
        if ended && self.threads[0].stage == Stage::Joining && self.others_ended() {
            self.advance(0, None);
        }
    }

    pub(super) fn others_ended(&self) -> bool {
        self.threads[1..].iter().all(|strand| strand.stage == Stage::Ended)
    }

    /// Whether the thread could be granted what this entry needs.
    pub(super) fn grants(&self, thread: Thread, entry: &Entry<'_, M::Call>) -> bool {
        // No guard is held.
        if self.owners.is_empty() {
            return true;
        }
        let Some(guard) = self.machine.guard(thread, entry) else { return true };
        self.owners.iter().all(|&(held, owner)| held != guard || owner == thread)
    }

    /// The thread goes inside what this entry needs.
    pub(super) fn grant(&mut self, thread: Thread, entry: &Entry<'_, M::Call>) {
        let Some(guard) = self.machine.guard(thread, entry) else { return };
        if let Err(place) = self.owners.binary_search_by_key(&guard, |&(held, _)| held) {
            self.owners.insert(place, (guard, thread));
        }
    }
}
