//! Control flow of a program: variables, loops and conditions, and keys whose values are expressions.

use std::sync::Arc;

use form::expression::{Expression, Failure, Reason};
use mpi::envelope::Rank;
use mpi::observation::{ReturnValue, StatementError};
use protocols::call::{Call, CommCall, Outcome, Peer};

use super::one_sided;
use super::record::{Ending, Returned};

/// The slot of the variable `rank`.
pub(crate) const RANK: usize = 0;
/// The slot of the variable `size`.
pub(crate) const SIZE: usize = 1;
/// Names that every program knows, in the order of their slots: the rank and the number of ranks in
/// `MPI_COMM_WORLD`, and the number of `MPI_PROC_NULL`.
pub(crate) const NAMES: [&str; 3] = ["rank", "size", "proc_null"];
/// The number that stands for `MPI_PROC_NULL`.
pub(crate) const PROC_NULL: i64 = -1;

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
    Size,
    Room,
    Time,
    Color,
    Order,
    Target,
    /// One of the `ranks` of a group.
    Member,
    Disp,
    /// Elements of so many bytes.
    Elements {
        width: u64,
    },
}

impl Key {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::To => "to",
            Self::Source => "src",
            Self::Tag => "tag",
            Self::Size => "size",
            Self::Room => "max",
            Self::Time => "time",
            Self::Color => "color",
            Self::Order => "key",
            Self::Target => "target",
            Self::Member => "ranks",
            Self::Disp => "disp",
            Self::Elements { .. } => "count",
        }
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
        let (least, most) = self.range;
        if (least..=most).contains(&found) {
            return Ok(found);
        }
        Err(StatementError::OutOfRange { key: self.key.name(), found, least, most })
    }

    /// Puts `value` into its place in `call`.
    pub(super) fn put(&self, call: &mut Call, value: i64) {
        let rank = || match value {
            PROC_NULL => Peer::Null,
            _ => Peer::Rank(Rank(u32::try_from(value).expect("the range is that of ranks"))),
        };
        let bytes = || u64::try_from(value).expect("the range has no negative number");
        let int = || i32::try_from(value).expect("the range is that of int");
        if let Call::Typed(typed) = call {
            return self.put(&mut Arc::make_mut(typed).call, value);
        }
        if let Call::Rma(call) = call {
            return one_sided::put(self.key, Arc::make_mut(call), value);
        }
        match (self.key, call) {
            (Key::To, Call::Isend { to: peer, .. } | Call::Send { to: peer, .. })
            | (
                Key::Source,
                Call::Irecv { source: peer, .. }
                | Call::Recv { source: peer, .. }
                | Call::Probe { source: peer, .. }
                | Call::Iprobe { source: peer, .. }
                | Call::Mprobe { source: peer, .. }
                | Call::Improbe { source: peer, .. },
            ) => *peer = rank(),
            (Key::Tag, Call::Isend { tag, .. } | Call::Send { tag, .. }) => *tag = int(),
            (
                Key::Tag,
                Call::Irecv { tag, .. }
                | Call::Recv { tag, .. }
                | Call::Probe { tag, .. }
                | Call::Iprobe { tag, .. }
                | Call::Mprobe { tag, .. }
                | Call::Improbe { tag, .. },
            ) => *tag = Some(int()),
            (
                Key::Size | Key::Room,
                Call::Isend { buffer, .. }
                | Call::Send { buffer, .. }
                | Call::Irecv { buffer, .. }
                | Call::Recv { buffer, .. }
                | Call::Mrecv { buffer, .. }
                | Call::Imrecv { buffer, .. },
            ) => buffer.bytes = bytes(),
            (Key::Color, Call::Communicators(CommCall::Split { color, .. })) => {
                *color = Some(int());
            }
            (Key::Order, Call::Communicators(CommCall::Split { key, .. })) => *key = int(),
            (key, call) => unreachable!("{call:?} has no key {key:?}"),
        }
    }
}

/// The value that a call returned; `None` where it returned none.
pub(super) fn value_of(returned: &Returned, value: ReturnValue) -> Option<i64> {
    let status = match returned {
        Returned::Probed(status) | Returned::MaybeProbed(Some(status)) => Some(status),
        Returned::Ended(ending)
        | Returned::Any(Some((_, ending)))
        | Returned::Tested(Some(ending)) => match ending {
            Ending::Over {
                outcome: Outcome::Received(status) | Outcome::Truncated(status),
                ..
            } => Some(status),
            Ending::Over { outcome: Outcome::Sent | Outcome::Cancelled, .. } | Ending::Inactive => {
                None
            }
        },
        Returned::All(_)
        | Returned::Any(None)
        | Returned::Tested(None)
        | Returned::AllTested(_)
        | Returned::WindowTested(_)
        | Returned::Part(_)
        | Returned::MaybeProbed(None) => None,
    };
    match value {
        ReturnValue::Source => Some(status?.source.map_or(PROC_NULL, |rank| i64::from(rank.0))),
        ReturnValue::Tag => status?.tag.map(i64::from),
        ReturnValue::Count => {
            let part = if let Returned::Part(part) = returned { Some(part.len) } else { None };
            let count = status.map(|status| status.count).or(part)?;
            i64::try_from(count).ok()
        }
        ReturnValue::Index => match returned {
            Returned::Any(Some((index, _))) => Some(i64::from(*index)),
            Returned::Any(None)
            | Returned::Ended(_)
            | Returned::All(_)
            | Returned::Tested(_)
            | Returned::AllTested(_)
            | Returned::WindowTested(_)
            | Returned::Part(_)
            | Returned::Probed(_)
            | Returned::MaybeProbed(_) => None,
        },
        ReturnValue::Flag => match returned {
            Returned::Tested(ended) => Some(i64::from(ended.is_some())),
            Returned::AllTested(ended) => Some(i64::from(ended.is_some())),
            Returned::MaybeProbed(status) => Some(i64::from(status.is_some())),
            Returned::WindowTested(over) => Some(i64::from(*over)),
            Returned::Ended(_)
            | Returned::All(_)
            | Returned::Any(_)
            | Returned::Part(_)
            | Returned::Probed(_) => None,
        },
    }
}
