//! The contract between protocols and runtimes: inputs come in, actions go out, nothing else.
//!
//! A [`Machine`] is the MPI library of one process. It never sees time, randomness or load. It is
//! driven by `runtime::timed`, which asks hardware how long each action takes, and by
//! `runtime::untimed`, which lets an adversary choose what happens next.
//!
//! # Rules that both runtimes rely on, and assert
//!
//! - Actions are carried out in order by the calling thread's core, each after the work before it.
//! - [`Action::Poll`], [`Action::Resume`] and [`Action::Consult`] end their list: they come back as
//!   inputs.
//! - After [`Action::Release`] only core work, [`Action::Observe`], [`Action::Complete`],
//!   [`Action::Return`] and one final [`Action::Resume`] may follow. Core work is what the calling
//!   core does by itself: steps, walks, copies, packing, combining, updates of its own memory, and
//!   pinning or exposing it.
//! - `handle` changes nothing but the machine: memory and wires are reached by actions. What it does
//!   follows from what the machine's `Hash` sees, as what a program does from its own: a search
//!   repeats what it knows. Words for readers may depend on more.
//! - A thread inside a call with no work left polls; no other part takes packets, but an adapter that
//!   matches ([`Machine::adapter_takes`]).

use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::num::NonZero;
use std::rc::Rc;
use std::sync::Arc;

use super::device::DeviceWork;
use super::process_memory::ProcessMemory;
pub use calls::identity::{Guard, Handle, Lane, Lanes, Process, Route, Thread, Token};
pub use calls::space::{Region, Space};
use calls::typed::TypedCopy;
use mpi::observation::Observation;
use mpi::operator::{Reduction, Side};
use mpi::rma::ticket_lock::{Number, TicketLock};
use mpi::rma::update::Effect;
use units::Bytes;

/// The wire that a packet takes.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Via {
    /// Posted to the HCA (also inside a node, by loopback).
    Hca,
    /// A cell or flag in memory that both processes map.
    SharedMemory,
}

impl std::fmt::Display for Via {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Hca => "HCA",
            Self::SharedMemory => "shared memory",
        })
    }
}

/// A fixed stretch of the library's code; the machine profile prices it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum CodePath {
    /// Entering the library for a send: argument checks, request set-up, header.
    Send,
    /// Entering the library for a receive.
    Receive,
    /// Taking an arrived packet from a channel and dispatching it.
    Arrival,
    /// Finishing a request: status, release of its object.
    Completion,
    /// Entering a wait, test or probe.
    Query,
    /// Building or handling a packet of a rendezvous (RTS, CTS, FIN, ready-to-receive).
    Handshake,
    /// Building or handling another control packet, or a packet of the library's own.
    Control,
    /// Finding the endpoint that the calling thread is attached to.
    Lookup,
    /// Handling a one-sided packet at its target, besides what it does to memory.
    Target,
}

/// Why the library is entered; see [`Machine::guard`].
#[derive(Debug, Eq, PartialEq)]
pub enum Entry<'a, C> {
    /// A call of the program.
    Call(&'a C),
    /// A packet taken by a poll of this lane.
    Packet(Lane),
    /// A completion taken by a poll of this lane.
    Done(Lane),
    /// The end of a [`Action::Poll`] pass.
    Polled,
    /// The end of work outside the guard, or the values of counters.
    Resume,
    /// The polls of a thread that has no work left, up to the first that meets something.
    Poll,
}

/// Event that a machine handles.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[repr(u8)]
pub enum Input<P, C> {
    /// The thread's program calls the library.
    Call(C),
    /// A poll of this thread took a packet.
    Packet {
        /// The way back to who sent it.
        from: Route,
        /// The family's content.
        packet: P,
        /// Where its payload lies, where it has one; released by [`Action::Repost`].
        landing: Option<Region>,
    },
    /// A poll of this thread took the completion of an RDMA operation.
    Done(Token),
    /// The pass requested by [`Action::Poll`] is over.
    Polled(Token),
    /// The work before [`Action::Resume`] is over.
    Resume(Token),
    /// Values that [`Action::Consult`] read.
    Counters {
        /// The token of the question.
        token: Token,
        /// The values, in the order of the question.
        values: [u32; COUNTERS],
    },
}

impl<P, C> Input<P, C> {
    /// The kind of entry, without its content; a completion was taken from this lane.
    pub const fn entry(&self, lane: Lane) -> Entry<'_, C> {
        match self {
            Self::Call(call) => Entry::Call(call),
            Self::Packet { from, .. } => Entry::Packet(from.own),
            Self::Done(_) => Entry::Done(lane),
            Self::Polled(_) => Entry::Polled,
            Self::Resume(_) | Self::Counters { .. } => Entry::Resume,
        }
    }
}

/// How many counters one [`Action::Consult`] reads.
/// Encoding: as many as a ticket lock has.
pub const COUNTERS: usize = 3;

/// A number in memory that the processes of one node share.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Counter {
    /// Copies of large messages that a process has before it.
    Copies(Process),
    /// Copies of large messages that a process was ever given; it never goes down.
    Given(Process),
    /// Large RDMA operations that the HCA of this node has before it.
    Offloads(u32),
    /// A number of the lock of a window that is mapped.
    Lock(TicketLock, Number),
}

impl std::fmt::Display for Counter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Copies(process) => write!(f, "the number of copies of process {}", process.0),
            Self::Given(process) => {
                write!(f, "the number of copies given to process {}", process.0)
            }
            Self::Offloads(node) => write!(f, "the number of RDMA operations of node {node}"),
            Self::Lock(..) => f.write_str("a number of the lock of a mapped window"),
        }
    }
}

/// How a counter changes.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Change {
    /// One more.
    Up,
    /// One less.
    Down,
}

/// A matching queue.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Queue {
    /// Receives that wait for a message.
    Posted,
    /// Messages that wait for a receive.
    Unexpected,
}

/// Which way a core copies between its own process and a neighbour.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Toward {
    /// Into the own process.
    Own,
    /// Into the neighbour.
    Peer,
}

/// Action that a machine requests, in terms of hardware, with its quantities.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
// Its own tag: variants are distinguished several times for each action, and a tag that hides in the
// niche of a field takes ten instructions to read.
#[repr(u8)]
pub enum Action<P, R> {
    /// This core runs a fixed stretch of library code.
    Work(CodePath),
    /// This core walks a matching queue.
    Walk {
        /// Which one: their entries differ in size.
        queue: Queue,
        /// Entries really compared.
        entries: u32,
        /// Entries in the queue: its footprint decides the cache level.
        length: u32,
        /// Entry that the walk has found or left, as a fact that monitors get after the walk.
        fact: Option<Observation>,
    },
    /// This core copies `from.len` bytes.
    Copy {
        /// Source, in this process.
        from: Region,
        /// Destination, in this process; as long as the source.
        to: Region,
    },
    /// This core gathers packed bytes out of a buffer that lies in pieces, or scatters them into it.
    Pack(TypedCopy),
    /// This core combines two buffers, element by element: it reads both and writes one.
    Combine {
        /// The other operand, in this process.
        from: Region,
        /// Operand and result, in this process; as long as the other.
        into: Region,
        /// Operator that combines two elements.
        reduction: Reduction,
        /// On which side of `into` the other operand stands.
        side: Side,
    },
    /// This core updates elements of a window: `old` gets what they were, before `operand` changes
    /// them. It is never seen half done.
    Update {
        /// The elements.
        target: Region,
        /// The rank whose part of the window they are.
        rank: u32,
        /// Effect on each element.
        update: Effect,
        /// The operand, as long as the update says; `None` where it has none.
        operand: Option<Region>,
        /// Where the old elements go.
        old: Option<Region>,
    },
    /// This core copies between its process and a neighbour of its node, through the kernel: the
    /// neighbour's core takes no part.
    PeerCopy {
        /// The neighbour.
        peer: Process,
        /// Which way.
        toward: Toward,
        /// The bytes in the own process.
        own: Region,
        /// The bytes in the neighbour; as many.
        remote: Region,
    },
    /// This core makes a buffer reachable for its neighbours' [`Action::PeerCopy`] (free where the
    /// kernel needs no declaration).
    Expose {
        /// The buffer.
        region: Region,
    },
    /// This core changes a counter, in one piece with all other changes.
    Count {
        /// Which.
        counter: Counter,
        /// How.
        change: Change,
    },
    /// This core reads counters: they come back as [`Input::Counters`], and the [`Action::Count`]s
    /// that the answer's list begins with are of one piece with the reading. Ends the list.
    Consult {
        /// Which.
        counters: [Counter; COUNTERS],
        /// Comes back with the values.
        token: Token,
    },
    /// This core looks at a counter between its polls until it has a value: `token` comes back as
    /// [`Input::Done`] then, once.
    Watch {
        /// Which.
        counter: Counter,
        /// Value that it waits for.
        value: u32,
        /// Comes back when it is there.
        token: Token,
    },
    /// This core pins a buffer for the HCA (free when the registration cache holds it).
    Register {
        /// The buffer.
        region: Region,
    },
    /// Hand a packet to a wire. Packets of one (sender, receiver, via) arrive in order, through the HCA also behind
    /// the [`Action::RdmaWrite`]s that were posted on their queue pair before.
    Send {
        /// The receiver, and the lanes.
        to: Route,
        /// HCA or shared memory.
        via: Via,
        /// Header bytes, as the wire carries them.
        header: Bytes,
        /// The family's content.
        packet: P,
        /// Bytes read from this process when the packet leaves.
        payload: Option<Region>,
    },
    /// The HCA writes local bytes into a peer's memory; `token` comes back as [`Input::Done`].
    RdmaWrite {
        /// The peer, and the lanes: the completion comes to the own one.
        to: Route,
        /// Source, in this process.
        from: Region,
        /// Destination, in the peer.
        into: Region,
        /// Comes back when the write is complete at the peer.
        token: Token,
        /// Immediate data of the write: the peer takes it from the channel like a packet without payload, at the
        /// earliest when the bytes are there.
        immediate: Option<Box<P>>,
    },
    /// The HCA reads a peer's bytes into local memory; `token` comes back as [`Input::Done`].
    RdmaRead {
        /// The peer, and the lanes: the completion comes to the own one.
        from: Route,
        /// Source, in the peer.
        remote: Region,
        /// Destination, in this process.
        into: Region,
        /// Comes back when the bytes are here.
        token: Token,
    },
    /// The HCA of a peer updates one element of its memory, in one piece with all other atomics of
    /// that HCA; `token` comes back as [`Input::Done`].
    RdmaAtomic {
        /// The peer, and the lanes: the completion comes to the own one.
        at: Route,
        /// The element, in the peer.
        target: Region,
        /// Effect on the element.
        update: Effect,
        /// The operand, in this process; read when the operation is posted.
        operand: Option<Region>,
        /// Where the old element goes, in this process.
        into: Region,
        /// Comes back when the old element is here.
        token: Token,
    },
    /// This core asks the GPU of its process for an operation, which begins when all before it in its
    /// stream have ended; `token` comes back as [`Input::Done`] when it has ended itself.
    Device {
        /// Which stream of the process.
        stream: u16,
        /// Operation for the GPU.
        work: Arc<DeviceWork>,
        /// Comes back at its end.
        token: Token,
    },
    /// Give a landing buffer back: post a receive WQE, or free the shared cell.
    Repost {
        /// The buffer, as it came with the packet.
        landing: Region,
        /// Route of the channel that the buffer belongs to, as it came with the packet.
        from: Route,
    },
    /// Leave the guard.
    Release,
    /// One pass over the channels; what is found is handled, then [`Input::Polled`]. Ends the list.
    Poll(Token),
    /// Come back in under the guard, as [`Input::Resume`]. Ends the list.
    Resume(Token),
    /// This core ends a request, or gives a buffer back before: monitors get it after the code.
    Complete {
        /// The library code that ends the request; `None` costs nothing.
        code: Option<CodePath>,
        /// The buffer that belongs to the program again; `None` where there is none.
        buffer: Option<Region>,
        /// Operation that has ended with it, reported before: a send or a receive; `None` where that is neither.
        fact: Option<Observation>,
    },
    /// Marker for monitors, at no cost: a fact of MPI semantics.
    Observe(Observation),
    /// The call of `thread` (this or another one) returns.
    Return {
        /// Thread whose call returns.
        thread: Thread,
        /// Return value of the call.
        reply: R,
    },
}

impl<P, R> Action<P, R> {
    /// The same action of a machine whose calls return something else.
    pub fn map_reply<S>(self, map: impl FnOnce(R) -> S) -> Action<P, S> {
        match self {
            Self::Work(step) => Action::Work(step),
            Self::Walk { queue, entries, length, fact } => {
                Action::Walk { queue, entries, length, fact }
            }
            Self::Copy { from, to } => Action::Copy { from, to },
            Self::Pack(copy) => Action::Pack(copy),
            Self::Combine { from, into, reduction, side } => {
                Action::Combine { from, into, reduction, side }
            }
            Self::Update { target, rank, update, operand, old } => {
                Action::Update { target, rank, update, operand, old }
            }
            Self::PeerCopy { peer, toward, own, remote } => {
                Action::PeerCopy { peer, toward, own, remote }
            }
            Self::Expose { region } => Action::Expose { region },
            Self::Count { counter, change } => Action::Count { counter, change },
            Self::Consult { counters, token } => Action::Consult { counters, token },
            Self::Watch { counter, value, token } => Action::Watch { counter, value, token },
            Self::Register { region } => Action::Register { region },
            Self::Send { to, via, header, packet, payload } => {
                Action::Send { to, via, header, packet, payload }
            }
            Self::RdmaWrite { to, from, into, token, immediate } => {
                Action::RdmaWrite { to, from, into, token, immediate }
            }
            Self::RdmaRead { from, remote, into, token } => {
                Action::RdmaRead { from, remote, into, token }
            }
            Self::RdmaAtomic { at, target, update, operand, into, token } => {
                Action::RdmaAtomic { at, target, update, operand, into, token }
            }
            Self::Device { stream, work, token } => Action::Device { stream, work, token },
            Self::Repost { landing, from } => Action::Repost { landing, from },
            Self::Release => Action::Release,
            Self::Poll(token) => Action::Poll(token),
            Self::Resume(token) => Action::Resume(token),
            Self::Complete { code, buffer, fact } => Action::Complete { code, buffer, fact },
            Self::Observe(fact) => Action::Observe(fact),
            Self::Return { thread, reply } => Action::Return { thread, reply: map(reply) },
        }
    }
}

/// The place that a machine's actions go to: a list, or a runtime that carries them out while they are emitted.
///
/// The two differ in nothing that a machine could see: it emits the same actions in the same order.
pub trait Emit<T> {
    /// Adds what `make` makes, in its place.
    ///
    /// An action that is given to [`Vec::push`] is made elsewhere and copied whole, however few of its
    /// bytes are used: it must be dropped if the list cannot grow. Here the list grows before.
    fn emit(&mut self, make: impl FnOnce() -> T);

    /// The list that the actions from here on stand in, all of them.
    fn list(&mut self) -> &mut Vec<T>;

    /// How many actions stand in that list.
    fn listed(&self) -> usize;
}

impl<T> Emit<T> for Vec<T> {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "what it saves is the call's argument")]
    fn emit(&mut self, make: impl FnOnce() -> T) {
        self.extend(std::iter::once_with(make));
    }

    #[inline]
    fn list(&mut self) -> &mut Self {
        self
    }

    #[inline]
    fn listed(&self) -> usize {
        self.len()
    }
}

/// An input that the protocol does not know in its state: a defect of the protocol.
/// Where the state is a sentence, it is the rule that a call broke.
#[derive(Clone, Debug, Eq, Hash, PartialEq, thiserror::Error)]
#[error("{machine}: {}", self.in_words())]
pub struct ProtocolError {
    /// Role or machine, as `rget::receiver`.
    pub machine: &'static str,
    /// The state that refused.
    pub state: String,
    /// The input that was refused.
    pub input: String,
}

impl ProtocolError {
    /// The refusal arm of every protocol: names machine, state and input.
    pub fn refused(machine: &'static str, state: impl Debug, input: impl Debug) -> Self {
        Self { machine, state: format!("{state:?}"), input: format!("{input:?}") }
    }

    fn in_words(&self) -> String {
        // A sentence is a text, which `refused` has put in quotes.
        let sentence = |text: &str| Some(text.strip_prefix('"')?.strip_suffix('"')?.to_owned());
        let input = sentence(&self.input).unwrap_or_else(|| self.input.clone());
        match sentence(&self.state) {
            Some(rule) => format!("{rule}: {input}"),
            None => format!("unexpected {input} in state {}", self.state),
        }
    }
}

/// Condition that a blocked call waits for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Wait {
    /// The operation, as MPI spells it: `MPI_Recv`, `MPI_Send`.
    pub operation: &'static str,
    /// Processes that could end the wait; empty means any process of the communicator (a wildcard).
    pub peers: Vec<Process>,
    /// Which thread of the only peer, where no other one of it could.
    pub thread: Option<Thread>,
    /// Tag, context, bytes, queue contents: what a reader needs, in words.
    pub detail: String,
    /// The source position of the call that began the operation, as the program counts its calls.
    pub origin: u32,
}

/// The waits of one thread: all of them, or any one, must end.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum WaitSet {
    /// Every wait must end before the call returns.
    All(Vec<Wait>),
    /// The first wait to end lets the call return.
    Any(Vec<Wait>),
}

/// The first wait of a thread, without words.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Awaited {
    /// The operation, as MPI spells it.
    pub operation: &'static str,
    /// Processes that could end the waits for such an operation, in any order and perhaps more than once.
    pub peers: Vec<Process>,
}

impl WaitSet {
    /// Its waits.
    pub fn waits(&self) -> &[Wait] {
        let (Self::All(waits) | Self::Any(waits)) = self;
        waits
    }

    /// The first wait, and who could end those for the same operation.
    pub fn first(self) -> Option<Awaited> {
        let (Self::All(waits) | Self::Any(waits)) = self;
        let operation = waits.first()?.operation;
        let same = waits.into_iter().filter(|wait| wait.operation == operation);
        Some(Awaited { operation, peers: same.flat_map(|wait| wait.peers).collect() })
    }

    /// The same waits, with what `line_of` makes of the call that began each operation: see
    /// [`Program::line_of`]. Where it knows none, the number of the call stays.
    #[must_use]
    pub fn located(mut self, line_of: impl Fn(u32) -> Option<u32>) -> Self {
        let (Self::All(waits) | Self::Any(waits)) = &mut self;
        for wait in waits {
            wait.origin = line_of(wait.origin).unwrap_or(wait.origin);
        }
        self
    }
}

/// An action of machine `M`.
pub type ActionOf<M> = Action<<M as Machine>::Packet, <M as Machine>::Reply>;
/// An input of machine `M`.
pub type InputOf<M> = Input<<M as Machine>::Packet, <M as Machine>::Call>;

/// Packet or completion that lies before an adapter that matches.
#[derive(Debug)]
pub enum Brought<'a, P> {
    /// The oldest packet of a channel.
    Packet {
        /// Sender of the packet, and the lanes.
        from: Route,
        /// The packet.
        packet: &'a P,
    },
    /// The completion of an RDMA operation of its process.
    Done(Token),
}

/// How much a machine keeps at a moment.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Keeps {
    /// Places of open requests.
    pub requests: usize,
    /// Entries of matching queues.
    pub entries: usize,
}

/// The MPI library of one process, without clock, randomness or wires.
pub trait Machine: Clone + Eq + Hash + Debug {
    /// Packet: all that goes over the wire besides payload bytes.
    type Packet: Clone + Eq + Hash + Debug;
    /// Call of a program to the library.
    type Call: Clone + Eq + Hash + Debug;
    /// Return value of a call.
    type Reply: Clone + Eq + Hash + Debug;

    /// The lock this entry needs; called before `handle`, changes nothing. The only thread of a process
    /// needs none.
    fn guard(&self, thread: Thread, entry: &Entry<'_, Self::Call>) -> Option<Guard>;

    /// The lanes that `thread` polls while it is inside its call, under one guard; what it finds may need
    /// another one. No input of another thread changes these lanes or this guard, though there may come to be one.
    fn polls(&self, thread: Thread) -> Lanes {
        let _ = thread;
        Lanes::one(Lane(0))
    }

    /// The lanes that `thread` polls in one of so many passes instead of [`Self::polls`]; `None` where it
    /// polls no others.
    fn sweeps(&self, thread: Thread) -> Option<(Lanes, NonZero<u32>)> {
        let _ = thread;
        None
    }

    /// All lanes whose packets and completions `thread` may come to take.
    fn reaches(&self, thread: Thread) -> Lanes {
        self.sweeps(thread).map_or_else(|| self.polls(thread), |(all, _)| all)
    }

    /// Takes one input and emits what is to be done.
    ///
    /// # Errors
    ///
    /// [`ProtocolError`] for an input that the state does not allow: never a panic.
    fn handle(
        &mut self,
        thread: Thread,
        input: InputOf<Self>,
        out: &mut impl Emit<ActionOf<Self>>,
    ) -> Result<(), ProtocolError>;

    /// Reads a word of each part of the state that its next input needs, and answers anything made of
    /// them. In a job of thousands of processes these words lie in no cache of the host; what is read at
    /// once is waited for once.
    fn touch(&self) -> u64 {
        0
    }

    /// Name of a packet in pictures: a word or two.
    fn name_of(packet: &Self::Packet) -> String {
        let debug = format!("{packet:?}");
        debug.chars().take_while(|letter| letter.is_alphanumeric()).collect()
    }

    /// Waits of the blocked call of `thread`; `None` while it is not inside a call.
    fn waits(&self, thread: Thread) -> Option<WaitSet>;

    /// The first of the waits of [`Self::waits`], without words: a run that is explained asks for it at
    /// every poll of a long wait.
    fn awaits(&self, thread: Thread) -> Option<Awaited> {
        self.waits(thread)?.first()
    }

    /// Writes how far the call of a thread has come: equal where what was handled meanwhile has brought it no
    /// nearer to its end. Answers whether that is known; a run that is explained asks for it.
    fn call_so_far<H: Hasher>(&self, thread: Thread, to: &mut H) -> bool {
        let _ = (thread, to);
        false
    }

    /// Whether an adapter that matches could do for this process what a packet or a completion asks
    /// for, while none of its threads is inside a call: with control packets and reads of its own at
    /// most, and without waiting for anything.
    fn adapter_takes(&self, brought: Brought<'_, Self::Packet>) -> bool {
        let _ = brought;
        false
    }

    /// Takes one input that [`Self::adapter_takes`], under no guard.
    ///
    /// # Errors
    ///
    /// As [`Self::handle`].
    fn handle_by_adapter(
        &mut self,
        input: InputOf<Self>,
        out: &mut Vec<ActionOf<Self>>,
    ) -> Result<(), ProtocolError> {
        self.handle(Thread(0), input, out)
    }

    /// Whether HCAs of other processes may reach memory of this one at any time, without its consent.
    fn is_exposed(&self) -> bool {
        false
    }

    /// Whether HCAs may touch a piece of this process's memory for others, now.
    ///
    /// # Errors
    ///
    /// Why not, where they may not.
    fn exposes(&self, region: Region) -> Result<(), ProtocolError> {
        let _ = region;
        Ok(())
    }

    /// Operations and objects still open inside the library, in words; empty at the end of a correct program.
    fn leftovers(&self) -> Vec<String>;

    /// Number of requests and queue entries that it keeps now, for a limit of memory.
    fn keeps(&self) -> Keeps {
        Keeps::default()
    }

    /// A call as a reader knows it, for the story of a run.
    fn call_in_words(call: &Self::Call) -> String {
        format!("{call:?}")
    }

    /// A packet as a reader knows it, for the story of a run.
    fn packet_in_words(packet: &Self::Packet) -> String {
        format!("{packet:?}")
    }
}

/// Next step of a program.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Next<C> {
    /// Call the library.
    Call(C),
    /// Compute outside the library for this long, in picoseconds of this core.
    Compute(u64),
    /// The runtime notes the time under this number; nothing else happens.
    Mark(u32),
    /// The first thread of a process creates the others, one after the other; they begin then.
    Fork,
    /// The first thread waits for the end of all others.
    Join,
    /// The thread reads at most 8 bytes of its process's memory: see [`Program::loaded`].
    Load(Region),
    /// [`Next::Load`] of memory that is not read again before it is written: its buffer holds
    /// nothing from then on.
    Take(Region),
    /// The thread writes the first bytes of a number into its process's memory, little endian.
    Store(Region, u64),
    /// The program asks what time it is: [`Program::loaded`] tells it in picoseconds.
    Clock,
    /// The thread copies inside its process's memory, outside the library: as long as both are.
    Copy(Region, Region),
    /// The thread asks the GPU of its process for an operation in a stream of the process, and goes
    /// on: its end is not reported, and its bytes do not exist.
    Offload(u16, Arc<DeviceWork>),
    /// The program tells its monitors a fact, at no cost.
    Tell(Observation),
    /// The thread ends.
    End,
}

/// A function that a program is in, and the line of its source that calls it, where that is known: `ring.c:42`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CallSite {
    /// The name of the function.
    pub function: &'static str,
    /// File and line.
    pub line: Option<String>,
}

impl CallSite {
    /// Function and line.
    pub fn in_words(&self) -> String {
        let line = self.line.as_ref().map_or_else(String::new, |line| format!(", {line}"));
        format!("{}{line}", self.function)
    }

    /// Addition to the name of an operation: the line, and the function where that has another name.
    pub fn beside(&self, operation: &str) -> String {
        let function = (self.function != operation).then(|| format!("in {}", self.function));
        let words: Vec<&str> =
            [&function, &self.line].into_iter().flatten().map(String::as_str).collect();
        if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
    }
}

/// The program of one thread: a cloneable, lazy stream of calls.
pub trait Program<M: Machine>: Clone + Eq + Hash + Debug {
    /// The next step; `reply` is what the last call returned, `None` at the start and after
    /// everything that is no call.
    fn next(&mut self, reply: Option<M::Reply>) -> Next<M::Call>;

    /// The program is about to go on at this time, in picoseconds: for those who watch it, and no state of its own.
    fn goes_on_at(&self, ps: u64) {
        let _ = ps;
    }

    /// The value that the last [`Next::Load`] or [`Next::Take`] read, little endian, or the time of
    /// [`Next::Clock`]; [`Self::next`] is called then.
    fn loaded(&mut self, value: u64) {
        let _ = value;
    }

    /// Whether the program, or a call of it, asks the GPU of its process for anything.
    fn uses_a_gpu(&self) -> bool {
        false
    }

    /// The memory of the job's processes, where they are real ones; the first program answers for all.
    fn process_memory(&self) -> Option<Rc<dyn ProcessMemory>> {
        None
    }

    /// Whether the program sends in ready mode: then it matters who comes first, a send or its receive.
    fn sends_ready(&self) -> bool {
        false
    }

    /// Whether this program, as the first thread's, creates the other threads of its process by
    /// [`Next::Fork`]; without it they begin by themselves.
    fn forks(&self) -> bool {
        false
    }

    /// Where the call that was returned last stands in the scenario, for diagnoses.
    fn position(&self) -> Option<u32> {
        None
    }

    /// The function that the program itself is in, where a call of it may be one step of another.
    fn call_site(&self) -> Option<CallSite> {
        None
    }

    /// The function of the program that has made call number `call`, counted from 0 over the calls that were returned,
    /// where its operation is still open.
    fn begun_at(&self, call: u32) -> Option<CallSite> {
        let _ = call;
        None
    }

    /// Waits of a program over a library that polls the one below; `None` where a call waits.
    fn asks_for(&self) -> Option<WaitSet> {
        None
    }

    /// Where call number `call` stands, counted from 0 over the calls that were returned: turns
    /// [`Wait::origin`] into a line of the scenario.
    fn line_of(&self, call: u32) -> Option<u32> {
        let _ = call;
        None
    }
}

/// A large program behind a pointer, so that an enum of programs stays small.
impl<M: Machine, P: Program<M>> Program<M> for Box<P> {
    fn goes_on_at(&self, ps: u64) {
        (**self).goes_on_at(ps);
    }

    fn next(&mut self, reply: Option<M::Reply>) -> Next<M::Call> {
        (**self).next(reply)
    }

    fn loaded(&mut self, value: u64) {
        (**self).loaded(value);
    }

    fn uses_a_gpu(&self) -> bool {
        (**self).uses_a_gpu()
    }

    fn process_memory(&self) -> Option<Rc<dyn ProcessMemory>> {
        (**self).process_memory()
    }

    fn sends_ready(&self) -> bool {
        (**self).sends_ready()
    }

    fn forks(&self) -> bool {
        (**self).forks()
    }

    fn position(&self) -> Option<u32> {
        (**self).position()
    }

    fn call_site(&self) -> Option<CallSite> {
        (**self).call_site()
    }

    fn begun_at(&self, call: u32) -> Option<CallSite> {
        (**self).begun_at(call)
    }

    fn asks_for(&self) -> Option<WaitSet> {
        (**self).asks_for()
    }

    fn line_of(&self, call: u32) -> Option<u32> {
        (**self).line_of(call)
    }
}
