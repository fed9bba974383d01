//! Keys of a statement whose values are expressions: each is evaluated when the statement is executed, and its
//! value goes into the call.

use std::any::Any;
use std::sync::Arc;

use super::control::{MPI_ROOT, PROC_NULL, error};
use crate::collectives::{self, Argument};
use crate::seat::Seat;
use ::collectives::Between;
use calls::rows::{FieldMut, Fields as _};
use form::expression::Expression;
use mpi::envelope::Rank;
use mpi::observation::{StatementError, UNDEFINED};
use mpi::rma::synchronisation::RankSet;
use protocols::call::{Buffer, Call, Peer, Requests};
use protocols::contract::{Handle, Region, Space};
use protocols::rma::call::{At, Operation, RmaCall};

/// A key of a statement whose value is an expression.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Computed {
    /// The key, as scenarios spell it.
    pub(crate) key: &'static str,
    /// The part of the call that it is.
    pub(crate) part: Part,
    /// Its value.
    pub(crate) value: Expression,
    /// The values that it takes.
    pub(crate) range: Range,
}

/// The values that a key takes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Range {
    pub(crate) least: i64,
    pub(crate) most: i64,
    /// Words of MPI that are numbers here, beside those values.
    pub(crate) words: &'static [i64],
}

impl Range {
    /// From 0 on.
    pub(crate) const fn up_to(most: i64) -> Self {
        Self { least: 0, most, words: &[] }
    }

    /// Ranks, or `MPI_PROC_NULL`.
    pub(crate) const fn ranks(last: i64) -> Self {
        Self { least: 0, most: last, words: &[PROC_NULL] }
    }

    /// Those of a C int.
    pub(crate) const INT: Self = Self { least: i32::MIN as i64, most: i32::MAX as i64, words: &[] };

    /// Colors, or `MPI_UNDEFINED`.
    pub(crate) const COLORS: Self = Self { least: 0, most: i32::MAX as i64, words: &[UNDEFINED] };

    /// Roots of what may be an intercommunicator.
    pub(crate) const ROOTS: Self =
        Self { least: 0, most: u32::MAX as i64, words: &[PROC_NULL, MPI_ROOT] };
}

/// Part of a call that a computed key is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Part {
    /// The field of this name; see [`calls::rows::Fields::named`].
    Field(&'static str),
    /// Two fields, which have one value.
    Both([&'static str; 2]),
    /// A rank in the list that is a field, by its place there.
    Listed(&'static str, usize),
    /// The begin of a buffer that is a field, in elements of so many bytes.
    Begin { buffer: &'static str, width: u64 },
    /// The elements that it is about, of so many bytes each.
    Elements { width: u64 },
    /// The root of a collective.
    Root,
    /// The time of a computation, which is no call.
    Time,
    /// The place of its request in an array.
    Request(Members),
    /// The same, of the request that stands there in its list.
    RequestAt(usize, Members),
    /// How many requests of an array it is about.
    Requests(Members),
    /// The place of its message in an array.
    Message(Members),
    /// The buffers of an operation whose request is in an array: each place there has its own.
    Buffers(Members),
}

impl Part {
    /// Whether the reply to a call is understood by it: it says which requests, messages or parts of a window the call
    /// is about.
    pub(super) fn is_of_replies(self) -> bool {
        matches!(
            self,
            Self::Field("target")
                | Self::Request(_)
                | Self::RequestAt(..)
                | Self::Requests(_)
                | Self::Message(_)
                | Self::Buffers(_)
        )
    }

    /// Puts `value` into its place in `call`, which a rank with this seat makes.
    pub(super) fn put_at(self, call: &mut Call, value: i64, seat: Seat) {
        match (self, call) {
            (Self::Root | Self::Elements { .. }, Call::Prepare(operation)) => {
                self.put_at(Arc::make_mut(operation), value, seat);
            }
            (
                Self::Root | Self::Elements { .. },
                Call::Collective(call) | Call::Icollective { call, .. },
            ) => {
                let argument = match (self, value) {
                    (Self::Elements { width }, _) => Argument::Bytes(number::<u64>(value) * width),
                    (_, MPI_ROOT) => Argument::Root(Between::ROOT),
                    (_, PROC_NULL) => Argument::Root(Between::NO_ROOT),
                    _ => Argument::Root(Rank(number(value))),
                };
                collectives::put(Arc::make_mut(call), argument, (seat.rank, seat.size));
            }
            (Self::Elements { width }, Call::ReduceLocal(call)) => {
                let (call, bytes) = (Arc::make_mut(call), number::<u64>(value) * width);
                (call.from.len, call.into.len) = (bytes, bytes);
            }
            (_, call) => self.put(call, value),
        }
    }

    /// The same of a part that depends on no seat.
    pub(crate) fn put(self, call: &mut Call, value: i64) {
        match self {
            Self::Field(name) => store(field(call, name), value),
            Self::Both(names) => {
                for name in names {
                    store(field(call, name), value);
                }
            }
            Self::Listed(list, place) => {
                enter(field(call, list), place, Rank(number(value)));
            }
            Self::Begin { buffer, width } => {
                let region = field(call, buffer).downcast_mut::<Region>().expect("a buffer");
                region.offset += number::<u64>(value) * width;
            }
            Self::Elements { width } => resize(call, number::<u64>(value) * width),
            Self::Root | Self::Time => unreachable!("{call:?} has no {self:?}"),
            Self::Request(_) | Self::Message(_) | Self::RequestAt(..) | Self::Requests(_) => {
                let mut is_there = false;
                call.fields_mut(&mut |field| is_there |= self.names(field, value));
                assert!(is_there, "{call:?} has no {self:?}");
            }
            Self::Buffers(members) => give_buffers(call, members.at(value)),
        }
    }

    /// Puts the handle with this index, or handles, into a field that has such.
    fn names(self, field: FieldMut<'_>, value: i64) -> bool {
        match (self, field) {
            (Self::Request(members), FieldMut::Opens(handle) | FieldMut::Of(handle))
            | (Self::Message(members), FieldMut::Message(handle)) => *handle = members.at(value),
            (Self::RequestAt(..) | Self::Requests(_), FieldMut::OfAll(requests)) => {
                self.put_among(requests, value);
            }
            _ => return false,
        }
        true
    }

    /// Puts `value` into a set of requests.
    pub(super) fn put_among(self, requests: &mut Requests, value: i64) {
        match (self, requests) {
            (Self::RequestAt(at, members), Requests::List(list)) => {
                Arc::make_mut(list)[at] = members.at(value);
            }
            (Self::Request(members), requests) => {
                *requests = Requests::Range { first: members.at(value), count: 1 };
            }
            (Self::Requests(members), requests) => *requests = members.up_to(value),
            (part, requests) => unreachable!("{requests:?} have no {part:?}"),
        }
    }
}

/// The handles of an array of requests: its request `i` has the handle `first + i * stride`, so that the arrays of a
/// program grow beside each other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Members {
    pub(crate) first: u32,
    pub(crate) stride: u32,
}

impl Members {
    fn at(self, index: i64) -> Handle {
        Handle(self.first + number::<u32>(index) * self.stride)
    }

    pub(crate) fn up_to(self, count: i64) -> Requests {
        if self.stride == 1 {
            return Requests::Range { first: Handle(self.first), count: number(count) };
        }
        Requests::List((0..count).map(|index| self.at(index)).collect())
    }
}

impl Computed {
    /// Its value, in its range.
    pub(super) fn of(&self, values: &[i64]) -> Result<i64, StatementError> {
        let found = self.value.value(values).map_err(|failure| error(&failure))?;
        let Range { least, most, words } = self.range;
        if (least..=most).contains(&found) || words.contains(&found) {
            return Ok(found);
        }
        Err(StatementError::OutOfRange { key: self.key, found, least, most })
    }
}

/// A number that is in the range of its key, and so of its type.
fn number<T: TryFrom<i64>>(value: i64) -> T {
    T::try_from(value).unwrap_or_else(|_| panic!("{value} is in the range of its key"))
}

fn field<'a>(call: &'a mut Call, name: &str) -> &'a mut dyn Any {
    call.named(name).unwrap_or_else(|| panic!("the call has no field `{name}`"))
}

/// Puts a number into a field of a call.
fn store(field: &mut dyn Any, value: i64) {
    macro_rules! put {
        ($($ty:ty = $number:expr;)*) => {
            $(if let Some(field) = field.downcast_mut::<$ty>() {
                *field = $number;
                return;
            })*
        };
    }
    put! {
        Peer = if value == PROC_NULL { Peer::Null } else { Peer::Rank(Rank(number(value))) };
        Rank = Rank(number(value));
        bool = value != 0;
        i32 = number(value);
        Option<i32> = (value != UNDEFINED).then(|| number(value));
        u16 = number(value);
        Option<u16> = Some(number(value));
        u32 = number(value);
        Option<u32> = (value != PROC_NULL).then(|| number(value));
        u64 = number(value);
    }
    if let Some(buffer) = field.downcast_mut::<Buffer>() {
        buffer.bytes = number(value);
    } else if let Some(at) = field.downcast_mut::<At>() {
        at.disp += number::<u64>(value);
    } else if let Some(group) = field.downcast_mut::<RankSet>() {
        *group = group.ranks().iter().copied().chain([Rank(number(value))]).collect();
    } else {
        unreachable!("no number goes into the field")
    }
}

/// Puts a rank into its place in a list of them.
fn enter(list: &mut dyn Any, place: usize, rank: Rank) {
    if let Some(ranks) = list.downcast_mut::<Arc<[Rank]>>() {
        Arc::make_mut(ranks)[place] = rank;
    } else if let Some(ranks) = list.downcast_mut::<Arc<[Option<Rank>]>>() {
        Arc::make_mut(ranks)[place] = Some(rank);
    } else if let Some(ranks) = list.downcast_mut::<Box<[Rank]>>() {
        ranks[place] = rank;
    } else {
        unreachable!("no list of ranks")
    }
}

/// The one-sided operation is one of so many consecutive bytes.
fn resize(call: &mut Call, bytes: u64) {
    if let Call::Rma(call) = call
        && let RmaCall::Operate { at, does, .. } = Arc::make_mut(call)
    {
        *at = At::contiguous(at.disp, bytes);
        does.resize(bytes);
    } else {
        unreachable!("{call:?} has no bytes")
    }
}

/// The call has this buffer, and where it has two the next one, too; what has a name stays. What makes a communicator
/// may have a request in an array, but has no buffer.
fn give_buffers(call: &mut Call, Handle(first): Handle) {
    if let Call::Rma(call) = call {
        if let RmaCall::Operate { does, .. } = Arc::make_mut(call) {
            match does {
                Operation::Put { origin: region } | Operation::Get { into: region } => {
                    move_to(region, first);
                }
                Operation::Update { origin, result, .. } => {
                    for (region, id) in [(origin, first), (result, first + 1)] {
                        if let Some(region) = region {
                            move_to(region, id);
                        }
                    }
                }
            }
        }
        return;
    }
    let replaces = matches!(call, Call::Exchange(call) if call.replaces);
    let mut given = 0;
    call.fields_mut(&mut |field| match (first, field) {
        (_, FieldMut::Reads(buffer) | FieldMut::Fills(buffer)) => {
            if buffer.id < Buffer::OWN {
                buffer.id = first + given;
            }
            given += u32::from(!replaces);
        }
        (id, FieldMut::Input(region)) if region.len > 0 => move_to(region, id),
        (id, FieldMut::Output(region)) if region.len > 0 => move_to(region, id + 1),
        _ => {}
    });
}

/// Moves the region of a statement to buffer `id`; one with a name stays.
fn move_to(region: &mut Region, id: u32) {
    if matches!(region.space, Space::User(own) if own < Buffer::OWN) {
        region.space = Space::User(id);
    }
}
