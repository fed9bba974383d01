//! Facts of MPI semantics that a machine tells its monitors, at no cost in time.

use std::hash::{Hash, Hasher};

use super::envelope::{Context, Envelope, Rank, Selection};
use super::operator::{Datatype, Reduction};
use super::rma::access::{MemoryModel, Touch};
use super::rma::synchronisation::LockKind;

/// How often a name of one kind was given: it decides nothing but the next name.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Names(u32);

impl Names {
    /// How many there are.
    pub const fn given(self) -> u32 {
        self.0
    }

    /// The next one.
    pub const fn take(&mut self) -> u32 {
        let Self(serial) = *self;
        self.0 += 1;
        serial
    }
}

impl Hash for Names {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_i128(-1 - i128::from(self.0));
    }
}

/// A name as it is hashed: by an `i128`, which nothing else is but, negative, [`Names`]. So what tells
/// states apart can leave out how things are called (`runtime::fingerprint`); nothing may be decided
/// by it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Name {
    /// Process that gave it, and the kind of things named.
    pub of: u64,
    /// Its number among those.
    pub serial: u32,
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_i128(i128::from(self.of) << 32 | i128::from(self.serial));
    }
}

/// A message, named by its sender's process and that process's count of sends.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct MessageId {
    /// The sending process.
    pub process: u32,
    /// How many messages it had sent before.
    pub serial: u32,
}

/// A receive (or matched probe), named by its process and that process's count of them.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct ReceiveId {
    /// The receiving process.
    pub process: u32,
    /// How many receives it had posted before.
    pub serial: u32,
}

impl Hash for MessageId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { process, serial } = *self;
        (process, Name { of: u64::from(process) << 1, serial }).hash(state);
    }
}

impl Hash for ReceiveId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { process, serial } = *self;
        (process, Name { of: u64::from(process) << 1 | 1, serial }).hash(state);
    }
}

/// A lock that programs make for themselves.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct LockId(pub u32);

/// One fact.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
// Its own tag: every monitor tells the facts apart.
#[repr(u8)]
pub enum Observation {
    /// A send was called; messages to one destination are reported in the order of their calls.
    Sent {
        /// The message.
        message: MessageId,
        /// Its envelope.
        envelope: Envelope,
        /// The receiving process.
        to: u32,
        /// Payload bytes.
        bytes: u64,
        /// Whether its receive must be posted already.
        ready: bool,
    },
    /// A receive was posted, or a matched probe took effect.
    Posted {
        /// The receive.
        receive: ReceiveId,
        /// Its selection.
        selection: Selection,
        /// The most bytes it takes.
        bytes: u64,
    },
    /// A message's header reached the matching engine of its receiver.
    Arrived {
        /// The message.
        message: MessageId,
        /// The receive that waited for it and matches it: neither can be matched again.
        taken_by: Option<ReceiveId>,
    },
    /// A message that had arrived before was matched by a receive: neither can be matched again.
    Matched {
        /// The message.
        message: MessageId,
        /// The receive.
        receive: ReceiveId,
    },
    /// A receive was cancelled before it matched.
    Cancelled {
        /// The receive.
        receive: ReceiveId,
    },
    /// A receive is complete.
    Received {
        /// The receive.
        receive: ReceiveId,
        /// The message it took.
        message: MessageId,
        /// Bytes put into its buffer.
        bytes: u64,
        /// Whether the message was longer than the buffer.
        truncated: bool,
    },
    /// A core or an adapter is about to move bytes of a large message from buffer to buffer.
    Moved {
        /// The message.
        message: MessageId,
        /// Core or adapter that moves them.
        by: Mover,
        /// The first byte.
        offset: u64,
        /// How many.
        bytes: u64,
    },
    /// The process has queued for a lock, behind another process or at the head.
    LockQueued {
        /// The lock.
        lock: LockId,
        /// The process before it.
        behind: Option<u32>,
    },
    /// The process waits for a lock without a queue, visibly for the process that releases it.
    LockWaits {
        /// The lock.
        lock: LockId,
        /// How often others may be let in before it, where the lock promises that.
        most: Option<u32>,
    },
    /// The process is inside.
    LockEntered {
        /// The lock.
        lock: LockId,
    },
    /// The process is about to let others in.
    LockLeft {
        /// The lock.
        lock: LockId,
    },
    /// A send is complete: its buffer may be used again.
    SendComplete {
        /// The message.
        message: MessageId,
    },
    /// A fact of communicators.
    Group(GroupFact),
    /// A fact of a window, by its number in the process.
    Window(u32, WindowFact),
    /// A statement of a program went wrong: the program reports it, and ends.
    Failed(StatementFailure),
}

/// A statement of a program that went wrong.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct StatementFailure {
    /// The rank whose statement it is.
    pub rank: u32,
    /// The thread of it, where it has several.
    pub thread: Option<u16>,
    /// Its line in the scenario.
    pub line: u32,
    /// Its column there.
    pub column: u32,
    /// The iteration of the innermost loop around it, from 0.
    pub iteration: Option<i64>,
    /// The error.
    pub error: StatementError,
}

/// The error of a statement of a program.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum StatementError {
    /// A call returned another value than `expect` says; `None` where it returned none.
    Unexpected {
        /// Of which request, where the call is about several.
        of: Option<u32>,
        /// Which value.
        value: ReturnValue,
        /// The one that the call returned.
        found: Option<i64>,
        /// The one that the program expects.
        expected: i64,
    },
    /// The value of an expression is out of the range that its key takes.
    OutOfRange {
        /// The key of the statement.
        key: &'static str,
        /// The value.
        found: i64,
        /// The least value that the key takes.
        least: i64,
        /// The greatest one.
        most: i64,
    },
    /// A number in the program's memory is another one than `expect` says.
    WrongNumber {
        /// Its place, in numbers from the beginning of the memory.
        at: i64,
        /// Its bytes.
        found: u64,
        /// The bytes of the number that the program expects.
        expected: u64,
        /// Its type.
        datatype: Datatype,
    },
    /// A part of a shared window is read or written before `MPI_Win_shared_query` has returned its place.
    UnknownPart {
        /// Rank of the process that has the part.
        target: i64,
    },
    /// A statement touches bytes of a buffer with a name that an open operation has.
    InUse {
        /// The line that has started the operation.
        line: u32,
        /// Whether it writes them; else it reads them.
        writes: bool,
    },
    /// A call reaches beyond the end of a buffer that the program has named.
    BeyondBuffer {
        /// Bytes that the call needs.
        needed: u64,
        /// Bytes of the buffer.
        bytes: u64,
    },
    /// An expression divides by zero.
    DivisionByZero,
    /// A value needs more than 64 bits.
    Overflow,
    /// `until` repeated its statements as often as it may, and its condition never held.
    NeverHeld {
        /// The repetitions.
        times: i64,
    },
    /// A list of a collective has not one entry for each rank of the communicator.
    OneForEach {
        /// Entries of the list.
        found: usize,
        /// Ranks of the communicator.
        ranks: u32,
    },
    /// A request was started again before it ended.
    StillOpen,
    /// A matched probe into a handle whose message was not received.
    StillHeld,
    /// `cancel` of a request that is not a receive's.
    CancelsSend,
    /// `request_free` of a request that is no message's.
    FreesNoMessage,
    /// A statement needs a request, and the name stands for `MPI_REQUEST_NULL`.
    NoRequest,
    /// The name of a request that was freed is used again.
    WasFreed,
    /// A communicator is used before the request that makes it has ended.
    UnderWay,
    /// The condition of `assert` does not hold.
    Asserted,
    /// So many statements followed each other without a call.
    NoCall {
        /// The statements.
        statements: u32,
    },
}

/// The number that stands in a program for a value that a call does not return: `MPI_UNDEFINED` for an index, and
/// `MPI_ANY_SOURCE` and `MPI_ANY_TAG` in a status without source and tag.
pub const UNDEFINED: i64 = -32_766;

/// A value that a call of a program returns.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ReturnValue {
    /// `MPI_SOURCE` of the status.
    Source,
    /// `MPI_TAG` of the status.
    Tag,
    /// Bytes of the message.
    Count,
    /// The flag of a test or probe: 1 or 0.
    Flag,
    /// The index that `MPI_Waitany` returns.
    Index,
    /// The rank of the caller in a communicator.
    Rank,
    /// How many ranks a communicator has.
    Size,
    /// How many ranks the other group of an intercommunicator has.
    RemoteSize,
    /// How many requests `MPI_Waitsome` and `MPI_Testsome` have ended.
    OutCount,
    /// Result of `MPI_Test_cancelled` for the status: 1 or 0.
    Cancelled,
}

impl ReturnValue {
    /// Its key in a scenario.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Tag => "tag",
            Self::Count => "count",
            Self::Flag => "flag",
            Self::Index => "index",
            Self::OutCount => "outcount",
            Self::Rank => "rank",
            Self::Size => "size",
            Self::RemoteSize => "remote_size",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Core or adapter that moves bytes of a large message.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Mover {
    /// The sender's core.
    Sender,
    /// The receiver's core.
    Receiver,
    /// An HCA.
    Hca,
}

impl Mover {
    /// Its name in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sender => "the sender's core",
            Self::Receiver => "the receiver's core",
            Self::Hca => "an HCA",
        }
    }
}

/// A communicator: those without common processes may have one context.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct GroupId {
    /// The context of its messages.
    pub context: Context,
    /// The process of its rank 0.
    pub first: u32,
    /// The operation that was prepared there as so-many-th, whose starts have an order of their own.
    pub prepared: Option<u32>,
}

/// An argument that all ranks of a collective must have alike, or a choice of the library for it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Argument {
    /// The root.
    Root(Rank),
    /// The operator, and the type of its elements.
    Reduction(Reduction),
    /// Bytes of each rank, or of each of its blocks.
    Bytes(u64),
    /// The list of the bytes of all ranks.
    Lengths {
        /// Their sum.
        total: u64,
        /// A number that lists which differ have alike by chance only.
        print: u32,
    },
    /// Data that the rank and others send each other, block by block: each number is the sum over some blocks of one
    /// that blocks with other ends, or of another length, have by chance only.
    Traffic {
        /// Over the blocks that it gives.
        gives: Sums,
        /// Over those that it takes.
        takes: Sums,
    },
    /// The same of blocks with a datatype, by their named types: in place of bytes a number that other types have by
    /// chance only.
    Types {
        /// Over the blocks that it gives.
        gives: Sums,
        /// Over those that it takes.
        takes: Sums,
    },
    /// The algorithm that the library has chosen.
    Algorithm {
        /// Its name in scenarios.
        name: &'static str,
        /// 0 where all ranks are alike; else a number that groups of ranks which combine first, and differ, have
        /// alike by chance only.
        units: u32,
    },
    /// Bytes of a segment, of an algorithm that cuts messages.
    Segment(u64),
    /// Pairs of messages under way at once, of an algorithm that limits them.
    Outstanding(u32),
}

impl Argument {
    /// Whether the library chooses it, by what the arguments of the program say.
    pub const fn is_chosen(self) -> bool {
        match self {
            Self::Algorithm { .. } | Self::Segment(_) | Self::Outstanding(_) => true,
            Self::Root(_)
            | Self::Reduction(_)
            | Self::Bytes(_)
            | Self::Lengths { .. }
            | Self::Traffic { .. }
            | Self::Types { .. } => false,
        }
    }
}

/// Sums over blocks that ranks send each other. All are kept modulo 2^64.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Sums {
    /// Of numbers that blocks with other ends, or of another length, have by chance only: whether two sides agree.
    pub print: u64,
    /// Of their bytes: by how much one side has more.
    pub bytes: u64,
    /// Of their bytes, each times the [weight](pair_weight) of its ends: where one pair of ranks differs, which.
    pub weighted: u64,
}

impl Sums {
    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            print: self.print.wrapping_add(other.print),
            bytes: self.bytes.wrapping_add(other.bytes),
            weighted: self.weighted.wrapping_add(other.weighted),
        }
    }
}

/// An odd number that two other ends have by chance only.
pub const fn pair_weight(from: Rank, to: Rank) -> u64 {
    // The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
    let mut mixed = ((from.0 as u64) << 32 | to.0 as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ mixed >> 31) | 1
}

/// Part of the group of a communicator, given by a rank that makes it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Listed {
    /// Its rank in the parent.
    pub rank: Rank,
    /// How many ranks of the parent call.
    pub among: u32,
    /// The MPI function.
    pub function: &'static str,
    /// Consecutive ranks of the parent, the next ones of the group: the first, and how many.
    pub run: (Rank, u32),
    /// Whether others of the group follow.
    pub more: bool,
}

/// One fact of communicators and of collectives on them.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum GroupFact {
    /// The process has a communicator that it made.
    Opened {
        /// The context of its messages.
        context: Context,
    },
    /// The process has freed it.
    Closed {
        /// The context of its messages.
        context: Context,
    },
    /// A rank gives the group of the communicator that it makes, or a part of it.
    Lists {
        /// The context of its messages.
        context: Context,
        /// The part that it gives.
        part: Listed,
    },
    /// The process has endpoints of a communicator that it made.
    Named {
        /// Which communicator.
        of: GroupId,
        /// The rank of the process in the parent.
        parent: Rank,
        /// The rank of its first endpoint.
        first: Rank,
        /// How many it has, at least one.
        count: u32,
        /// Endpoints of all processes.
        size: u32,
        /// The name of its first endpoint; the others follow.
        id: u32,
    },
    /// A rank enters a collective.
    Entered {
        /// Which communicator.
        of: GroupId,
        /// Rank of the caller.
        rank: Rank,
        /// Ranks of the communicator.
        size: u32,
        /// The MPI function.
        function: &'static str,
    },
    /// A rank gives an argument to the collective that it has entered last, or the library a choice, which all
    /// ranks must have alike.
    Gives {
        /// Which communicator.
        of: GroupId,
        /// Rank of the caller.
        rank: Rank,
        /// The argument.
        argument: Argument,
    },
    /// A rank leaves a collective.
    Left {
        /// Which communicator.
        of: GroupId,
        /// Rank of the caller.
        rank: Rank,
        /// How many it has entered there since it entered this one: none, unless this one was only
        /// started.
        since: u32,
        /// The MPI function.
        operation: &'static str,
        /// Whether that is a barrier.
        barrier: bool,
    },
}

/// How an origin reaches a target's memory.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Reach {
    /// Between two fences.
    Fence,
    /// Between start and complete.
    Start,
    /// Under a lock.
    Lock(LockKind),
    /// Under a lock without a request.
    Unchecked,
}

/// One fact of a window. Processes have their numbers in the job, and the processes of one
/// window have one number for it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum WindowFact {
    /// Others can reach this memory of the process from now on.
    Exposed {
        /// Which memory.
        memory: u32,
        /// The observation.
        model: MemoryModel,
    },
    /// They cannot any more.
    Hidden {
        /// Which memory.
        memory: u32,
    },
    /// The process has called an operation on consecutive bytes.
    Accessed {
        /// Process that owns the memory.
        owner: u32,
        /// Which of its memories.
        memory: u32,
        /// The first byte.
        start: u64,
        /// How many.
        bytes: u64,
        /// The operation.
        touch: Touch,
        /// How it gets there.
        reach: Reach,
        /// The observation about the memory.
        model: MemoryModel,
    },
    /// An update of its memory has taken place.
    Applied {
        /// Process that has requested it.
        origin: u32,
        /// Which memory.
        memory: u32,
        /// The first byte.
        start: u64,
        /// How many.
        bytes: u64,
    },
    /// The operations of the process under locks are complete.
    Completed {
        /// Where; `None` is everywhere.
        owner: Option<u32>,
    },
    /// The results of the process's gets are there.
    Arrived {
        /// From where; `None` is from everywhere.
        owner: Option<u32>,
    },
    /// The process calls a synchronisation, or has the lock of its own part that it called for: its loads and stores come before what follows.
    Synchronised,
    /// It has the lock of its own part, or none.
    OwnLock(Option<LockKind>),
    /// It calls a fence.
    Fenced,
    /// The fence that it called last is over.
    FenceOver,
    /// It opens an exposure epoch for this origin.
    Posted {
        /// Which process.
        origin: u32,
    },
    /// It opens an access epoch towards this target.
    Started {
        /// Which process.
        owner: u32,
    },
    /// Its exposure epoch is over.
    ExposureOver,
    /// It has freed the window, and reported the accesses that this hides.
    Freed {
        /// The process of its rank 0.
        first: u32,
    },
}

impl Observation {
    /// Whether others may learn by it of earlier operations of the process.
    pub const fn tells_others(&self) -> bool {
        matches!(self, Self::Sent { .. } | Self::Group(GroupFact::Entered { .. }))
    }
}
