//! Control flow of a program: variables, loops and conditions, and keys whose values are expressions.

use std::sync::Arc;

use ::collectives::Between;
use calls::rows::{FieldMut, Fields as _};
use form::expression::{Expression, Failure, Reason};
use mpi::envelope::Rank;
use mpi::observation::{StatementError, UNDEFINED};
use mpi::topology::Neighbours;
use protocols::call::{Arrangement, Buffer, Call, CommCall, NamedEdges, Peer, Requests};
use protocols::contract::{Handle, Region, Space};

use super::one_sided;
use crate::collectives::{self, Argument};
use crate::seat::Seat;

/// Names that every program knows, in the order of their slots: the rank and the number of ranks in
/// `MPI_COMM_WORLD`, the numbers of `MPI_PROC_NULL` and `MPI_ROOT`, and the number of a value that a call does not return.
pub(crate) const NAMES: [&str; 7] =
    ["rank", "size", "proc_null", "undefined", "thread", "threads", "mpi_root"];
/// The number that stands for `MPI_PROC_NULL`.
/// Encoding: no rank minus a few.
pub(crate) const PROC_NULL: i64 = -32_767;
/// The number that stands for `MPI_ROOT`.
/// Encoding: the number below that one.
const MPI_ROOT: i64 = -32_768;

/// A step that only changes variables, or where the program goes on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Control {
    /// A variable gets a value.
    Set { slot: usize, to: Expression },
    /// A loop of `times` iterations begins: its counter is 0, and so is the variable that shows it; without
    /// an iteration it goes on at `end`.
    Enter { counter: usize, limit: usize, shown: Option<usize>, times: Expression, end: usize },
    /// An iteration ends; where another one follows, it goes on at `body`.
    Again { counter: usize, limit: usize, shown: Option<usize>, body: usize },
    /// Where the condition is false, it goes on at `end`.
    Unless { condition: Expression, end: usize },
    /// It goes on there.
    Jump(usize),
    /// The condition must hold.
    Assert(Expression),
    /// The repetitions of `until` begin; `counter` is among the counters of repetitions.
    Repeat { counter: usize },
    /// A repetition ends: where the condition is false, another one begins at `body`, at most `times`.
    Until { counter: usize, condition: Expression, times: i64, body: usize },
}

/// A key of a statement whose value is an expression.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Computed {
    /// The key.
    pub(crate) key: Key,
    /// Its value.
    pub(crate) value: Expression,
    /// The values that it takes.
    pub(crate) range: (i64, i64),
}

/// The keys that take expressions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Key {
    To,
    Source,
    Tag,
    /// The tag of the send, and of the receive, of one call that does both.
    SendTag,
    RecvTag,
    Size,
    Room,
    Time,
    Color,
    Order,
    Leader,
    RemoteLeader,
    High,
    Target,
    /// One of the `ranks` of a group.
    Member,
    /// A rank of the group of a new communicator, by its place.
    Listing {
        place: usize,
    },
    /// A neighbour in a graph, by its place.
    Edge {
        of_sources: bool,
        place: usize,
    },
    Disp,
    /// Elements of so many bytes.
    Count {
        width: u64,
    },
    /// Where an operation begins in the buffer of its origin, in elements of so many bytes.
    OriginAt {
        width: u64,
    },
    /// The same of its result.
    ResultAt {
        width: u64,
    },
    /// The root of a collective, on the communicator in reverse order or another one.
    Root {
        reversed: bool,
    },
    /// Bytes of its message, or of the block of each rank.
    Block {
        reversed: bool,
    },
    /// Elements of its vector, or of the block of each rank, of so many bytes each.
    Elements {
        reversed: bool,
        width: u64,
    },
    /// The partition, or the first and the last of several, that a call is about.
    Partition,
    First,
    Last,
    /// The thread whose request it is.
    Thread,
    /// The place of a request in an array.
    Request(Members),
    /// The same, of the request that stands there in a list.
    Listed(usize, Members),
    /// How many requests of an array.
    Requests(Members),
    /// The place of a matched message in an array.
    Message(Members),
    /// The buffers of an operation whose request is in an array: each place there has its own.
    Buffers(Members),
}

/// The handles of an array of requests: its request `i` has the handle `first + i * stride`, so that the arrays of a
/// program grow beside each other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Members {
    pub(crate) first: u32,
    pub(crate) stride: u32,
}

impl Members {
    pub(super) fn at(self, index: i64) -> Handle {
        let index = u32::try_from(index).expect("the range limits the index");
        Handle(self.first + index * self.stride)
    }

    pub(crate) fn up_to(self, count: i64) -> Requests {
        if self.stride == 1 {
            let count = u32::try_from(count).expect("the range limits the count");
            return Requests::Range { first: Handle(self.first), count };
        }
        Requests::List((0..count).map(|index| self.at(index)).collect())
    }
}

impl Key {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::To => "to",
            Self::Source => "src",
            Self::Tag => "tag",
            Self::SendTag => "send_tag",
            Self::RecvTag => "recv_tag",
            Self::Size | Self::Block { .. } => "size",
            Self::Room => "max",
            Self::Time => "time",
            Self::Color => "color",
            Self::Order => "key",
            Self::Leader => "leader",
            Self::Partition => "partition",
            Self::First => "first",
            Self::Last => "last",
            Self::Thread => "thread",
            Self::RemoteLeader => "remote_leader",
            Self::High => "high",
            Self::Target => "target",
            Self::Member | Self::Listing { .. } => "ranks",
            Self::Edge { of_sources: true, .. } => "sources",
            Self::Edge { of_sources: false, .. } => "destinations",
            Self::Disp => "disp",
            Self::OriginAt { .. } => "origin_at",
            Self::ResultAt { .. } => "result_at",
            Self::Request(_) | Self::Listed(..) | Self::Message(_) | Self::Buffers(_) => "index",
            Self::Root { .. } => "root",
            Self::Requests(_) | Self::Elements { .. } | Self::Count { .. } => "count",
        }
    }

    /// Whether it is a tag.
    pub(crate) const fn is_tag(self) -> bool {
        matches!(self, Self::Tag | Self::SendTag | Self::RecvTag)
    }

    /// Whether it says which requests and messages a call is about, or which buffers they have.
    pub(crate) const fn is_of_requests(self) -> bool {
        matches!(
            self,
            Self::Request(_)
                | Self::Listed(..)
                | Self::Requests(_)
                | Self::Message(_)
                | Self::Buffers(_)
        )
    }

    /// Whether the reply to a call is understood by it.
    pub(crate) const fn is_of_replies(self) -> bool {
        self.is_of_requests() || matches!(self, Self::Target)
    }
}

/// Why an evaluation has no value, as an error of its statement.
pub(super) fn error(failure: &Failure) -> StatementError {
    match failure.reason {
        Reason::DivisionByZero => StatementError::DivisionByZero,
        Reason::Overflow => StatementError::Overflow,
    }
}

impl Computed {
    /// Its value, in its range.
    pub(super) fn of(&self, values: &[i64]) -> Result<i64, StatementError> {
        let found = self.value.value(values).map_err(|failure| error(&failure))?;
        // A key that takes ranks from `MPI_PROC_NULL` on takes no other number below 0.
        let (least, most) = self.range;
        let is_root = matches!(self.key, Key::Root { .. }) && found == MPI_ROOT;
        let no_rank = least == PROC_NULL && (found == PROC_NULL || is_root);
        let least = if least == PROC_NULL { 0 } else { least };
        let no_color = self.key == Key::Color && found == UNDEFINED;
        if (least..=most).contains(&found) || no_rank || no_color {
            return Ok(found);
        }
        Err(StatementError::OutOfRange { key: self.key.name(), found, least, most })
    }

    /// Puts `value` into its place in `call`; `known` are the values of [`NAMES`].
    pub(super) fn put(&self, call: &mut Call, value: i64, known: &[i64]) {
        let rank = || Rank(u32::try_from(value).expect("the range is that of ranks"));
        let bytes = || u64::try_from(value).expect("the range has no negative number");
        let number = || u16::try_from(value).expect("the range limits partitions and threads");
        match (self.key, call) {
            (_, Call::Rma(call)) => one_sided::put(self.key, Arc::make_mut(call), value),
            (Key::Color, Call::Communicators(CommCall::Split { color, .. })) => {
                *color = (value != UNDEFINED).then(|| int(value));
            }
            (Key::Leader, Call::Communicators(CommCall::Intercomm { leader, .. })) => {
                *leader = rank();
            }
            (Key::RemoteLeader, Call::Communicators(CommCall::Intercomm { remote_leader, .. })) => {
                *remote_leader = rank();
            }
            (
                Key::Listing { place },
                Call::Communicators(
                    CommCall::Create { group, .. } | CommCall::CreateGroup { group, .. },
                ),
            ) => Arc::make_mut(group)[place] = rank(),
            (
                Key::Edge { of_sources, place },
                Call::Communicators(CommCall::Arrange { by: Arrangement::Named(edges), .. }),
            ) => {
                let NamedEdges { sources, destinations, .. } = Arc::make_mut(edges);
                let ranks = if of_sources { sources } else { destinations };
                ranks[place] = rank();
            }
            (
                Key::Edge { of_sources, place },
                Call::Communicators(CommCall::Arrange {
                    by: Arrangement::Graph(neighbours), ..
                }),
            ) => {
                let Neighbours { sources, destinations, .. } = neighbours;
                let edges = if of_sources { sources } else { destinations };
                Arc::make_mut(edges)[place] = Some(rank());
            }
            (Key::High, Call::Communicators(CommCall::Merge { high, .. })) => *high = value != 0,
            (
                Key::Order,
                Call::Communicators(
                    CommCall::Split { key, .. } | CommCall::SplitShared { key, .. },
                ),
            ) => *key = int(value),
            (
                Key::Root { .. } | Key::Block { .. } | Key::Elements { .. },
                Call::Prepare(operation),
            ) => self.put(Arc::make_mut(operation), value, known),
            (
                Key::Root { reversed } | Key::Block { reversed } | Key::Elements { reversed, .. },
                Call::Collective(call) | Call::Icollective { call, .. },
            ) => {
                let argument = if let Key::Root { .. } = self.key {
                    Argument::Root(match value {
                        MPI_ROOT => Between::ROOT,
                        PROC_NULL => Between::NO_ROOT,
                        _ => rank(),
                    })
                } else if let Key::Elements { width, .. } = self.key {
                    Argument::Bytes(bytes() * width)
                } else {
                    Argument::Bytes(bytes())
                };
                collectives::put(Arc::make_mut(call), argument, place(known, reversed));
            }
            (Key::Elements { width, .. }, Call::ReduceLocal(call)) => {
                let call = Arc::make_mut(call);
                (call.from.len, call.into.len) = (bytes() * width, bytes() * width);
            }
            (Key::Partition, Call::OfPartitions { first, last, .. }) => {
                (*first, *last) = (number(), number());
            }
            (Key::First, Call::OfPartitions { first, .. }) => *first = number(),
            (Key::Last, Call::OfPartitions { last, .. }) => *last = number(),
            (Key::Thread, Call::OfPartitions { thread, .. }) => *thread = Some(number()),
            (_, call) => self.put_in_fields(call, value),
        }
    }

    /// Puts `value` into the fields of the call that the key is about.
    fn put_in_fields(&self, call: &mut Call, value: i64) {
        let replaces = matches!(call, Call::Exchange(call) if call.replaces);
        // The size of an exchange is that of its send, its receive has room of its own.
        let has_one_size = replaces || !matches!(call, Call::Exchange(_));
        let bytes = || u64::try_from(value).expect("the range has no negative number");
        let peer = || match value {
            PROC_NULL => Peer::Null,
            _ => Peer::Rank(Rank(u32::try_from(value).expect("the range is that of ranks"))),
        };
        let (mut fits, mut buffers) = (false, 0);
        call.fields_mut(&mut |field| {
            match (self.key, field) {
                (Key::To, FieldMut::To(to)) => *to = peer(),
                (Key::Source, FieldMut::From(source)) => *source = peer(),
                (Key::Tag | Key::SendTag, FieldMut::Tag(tag)) => *tag = int(value),
                (Key::Tag | Key::RecvTag, FieldMut::AnyTag(tag)) => *tag = Some(int(value)),
                (Key::Size, FieldMut::Reads(buffer)) | (Key::Room, FieldMut::Fills(buffer)) => {
                    buffer.bytes = bytes();
                }
                (Key::Size, FieldMut::Fills(buffer)) if has_one_size => buffer.bytes = bytes(),
                (Key::Request(members), FieldMut::Opens(request) | FieldMut::Of(request)) => {
                    *request = members.at(value);
                }
                (Key::Message(members), FieldMut::Message(message)) => *message = members.at(value),
                (Key::Buffers(members), FieldMut::Reads(buffer) | FieldMut::Fills(buffer)) => {
                    if buffer.id < Buffer::OWN {
                        buffer.id = members.at(value).0 + buffers;
                    }
                    buffers += u32::from(!replaces);
                }
                (Key::Buffers(members), FieldMut::Input(region)) if region.len > 0 => {
                    move_to(region, members.at(value).0);
                }
                (Key::Buffers(members), FieldMut::Output(region)) if region.len > 0 => {
                    move_to(region, members.at(value).0 + 1);
                }
                (Key::Listed(..) | Key::Requests(_), FieldMut::OfAll(requests)) => {
                    self.put_among(requests, value);
                }
                _ => return,
            }
            fits = true;
        });
        // What makes a communicator may have a request in an array, but has no buffer.
        let needs_none = matches!(self.key, Key::Buffers(_));
        assert!(fits || needs_none, "{call:?} has no key {:?}", self.key);
    }

    /// Puts `value` into a set of requests.
    pub(super) fn put_among(&self, requests: &mut Requests, value: i64) {
        match (self.key, requests) {
            (Key::Listed(at, members), Requests::List(list)) => {
                Arc::make_mut(list)[at] = members.at(value);
            }
            (Key::Request(members), requests) => {
                *requests = Requests::Range { first: members.at(value), count: 1 };
            }
            (Key::Requests(members), requests) => *requests = members.up_to(value),
            (key, requests) => unreachable!("{requests:?} have no key {key:?}"),
        }
    }
}

/// The value of a key whose range is that of `int`.
fn int(value: i64) -> i32 {
    i32::try_from(value).expect("the range is that of int")
}

/// Gives the buffers of a collective the lengths that they have at a rank of its communicator.
pub(super) fn fit(call: &mut Call, place: Seat, in_place: bool) -> Result<(), StatementError> {
    if let Call::Prepare(operation) = call {
        return fit(Arc::make_mut(operation), place, in_place);
    }
    let (Call::Collective(call) | Call::Icollective { call, .. }) = call else {
        unreachable!("{call:?} is no collective")
    };
    collectives::fit::fit(Arc::make_mut(call), place, in_place)
}

/// Moves the region of a statement to buffer `id`; one with a name stays.
pub(super) fn move_to(region: &mut Region, id: u32) {
    if matches!(region.space, Space::User(own) if own < Buffer::OWN) {
        region.space = Space::User(id);
    }
}

/// The values of [`NAMES`] for one rank of `size`, and one thread of `threads` of its process.
pub(super) const fn known(
    [rank, size]: [i64; 2],
    [thread, threads]: [i64; 2],
) -> [i64; NAMES.len()] {
    [rank, size, PROC_NULL, UNDEFINED, thread, threads, MPI_ROOT]
}
/// The rank and the number of ranks in a communicator of all ranks, in their order or in reverse.
pub(super) fn place(known: &[i64], reversed: bool) -> (u32, u32) {
    let number = |value: i64| u32::try_from(value).expect("ranks have 32-bit numbers");
    let (rank, size) = (number(known[0]), number(known[1]));
    (if reversed { size - 1 - rank } else { rank }, size)
}
