//! What the calls of a program returned.

use super::control::PROC_NULL;
use crate::seat::Seat;
use mpi::observation::ReturnValue;
use protocols::call::{Outcome, Status};
use protocols::contract::Region;
use runtime::monitors::Violation;

/// The result of one call.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Record {
    /// Number of the operation in its rank's list, from 0.
    pub op: u32,
    /// Its line in the file.
    pub line: u32,
    /// Its result.
    pub returned: Returned,
}

impl Record {
    /// Whether a message was longer than its receive.
    pub(super) fn is_truncated(&self) -> bool {
        let truncated =
            |ending: &Ending| matches!(ending, Ending::Over { outcome: Outcome::Truncated(_), .. });
        self.returned.endings().any(truncated)
    }
}

/// A return value. Operations that only begin something, cancel or meet in a barrier leave none.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Returned {
    /// A send, receive or wait.
    Ended(Ending),
    /// `waitall`, in the order of its requests.
    All(Box<[Ending]>),
    /// `waitany`: the position in its list, and how that request ended; `None` where no request of
    /// the list was open (`MPI_UNDEFINED`).
    Any(Option<(u32, Ending)>),
    /// `waitsome`, `testsome`: the positions of the requests that ended, and how; `None` where no
    /// request of the list was open (`MPI_UNDEFINED`).
    Some(Option<Box<[(u32, Ending)]>>),
    /// `test`, `request_get_status`: `None` is a false flag.
    Tested(Option<Ending>),
    /// `testany`: `None` is a false flag, else as `waitany`.
    AnyTested(Option<Option<(u32, Ending)>>),
    /// `testall`: `None` is a false flag.
    AllTested(Option<Box<[Ending]>>),
    /// `probe`, `mprobe`.
    Probed(Status),
    /// `iprobe`, `improbe`: `None` is a false flag.
    MaybeProbed(Option<Status>),
    /// `win_test`: its flag.
    WindowTested(bool),
    /// `comm_rank`, `comm_size`, `comm_remote_size`.
    Place(Seat),
    /// `win_shared_query`: where the part lies.
    Part(Region),
}

impl Returned {
    /// How each operation ended that ended in the call.
    pub fn endings(&self) -> impl Iterator<Item = &Ending> {
        let (one, many): (Option<&Ending>, &[Ending]) = match self {
            Self::Ended(ending) => (Some(ending), &[]),
            Self::Any(ended) | Self::AnyTested(Some(ended)) => {
                (ended.as_ref().map(|(_, ending)| ending), &[])
            }
            Self::Tested(ended) => (ended.as_ref(), &[]),
            Self::All(endings) => (None, endings),
            Self::AllTested(ended) => (None, ended.as_deref().unwrap_or_default()),
            Self::Some(_)
            | Self::AnyTested(None)
            | Self::Probed(_)
            | Self::MaybeProbed(_)
            | Self::WindowTested(_)
            | Self::Place(_)
            | Self::Part(_) => (None, &[]),
        };
        let some = if let Self::Some(Some(ended)) = self { &ended[..] } else { &[] };
        one.into_iter().chain(many).chain(some.iter().map(|(_, ending)| ending))
    }

    /// A value that the call returned; `None` where it returned none.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the calls that return the value, of many")]
    pub(super) fn value(&self, value: ReturnValue) -> Option<i64> {
        let ended = match self {
            Self::Ended(ending) | Self::Tested(Some(ending)) => Some((None, ending)),
            Self::Any(Some((index, ending))) | Self::AnyTested(Some(Some((index, ending)))) => {
                Some((Some(*index), ending))
            }
            _ => None,
        };
        let status = match (self, ended) {
            (Self::Probed(status) | Self::MaybeProbed(Some(status)), _) => Some(status),
            (_, Some((_, Ending::Over { outcome, .. }))) => match outcome {
                Outcome::Received(status) | Outcome::Truncated(status) => Some(status),
                Outcome::Sent | Outcome::Cancelled => None,
            },
            _ => None,
        };
        let is_empty = matches!(self, Self::Any(None) | Self::AnyTested(Some(None)))
            || matches!(ended, Some((_, Ending::Inactive)));
        match (value, self) {
            (ReturnValue::Source, _) => {
                Some(status?.source.map_or(PROC_NULL, |rank| i64::from(rank.0)))
            }
            (ReturnValue::Tag, _) => status?.tag.map(i64::from),
            (ReturnValue::Count, Self::Part(part)) => i64::try_from(part.len).ok(),
            (ReturnValue::Count, _) if is_empty => Some(0),
            (ReturnValue::Count, _) => i64::try_from(status?.count).ok(),
            (ReturnValue::Cancelled, _) => {
                let cancelled = |ending: &Ending| {
                    matches!(ending, Ending::Over { outcome: Outcome::Cancelled, .. })
                };
                Some(self.endings().any(cancelled).into())
            }
            (ReturnValue::Index, _) => ended?.0.map(i64::from),
            (ReturnValue::Flag, Self::Tested(ended)) => Some(ended.is_some().into()),
            (ReturnValue::Flag, Self::AllTested(ended)) => Some(ended.is_some().into()),
            (ReturnValue::Flag, Self::AnyTested(ended)) => Some(ended.is_some().into()),
            (ReturnValue::Flag, Self::MaybeProbed(status)) => Some(status.is_some().into()),
            (ReturnValue::Flag, Self::WindowTested(over)) => Some((*over).into()),
            (ReturnValue::Rank, Self::Place(seat)) => Some(seat.rank.into()),
            (ReturnValue::Size, Self::Place(seat)) => Some(seat.size.into()),
            (ReturnValue::RemoteSize, Self::Place(seat)) => seat.other.map(i64::from),
            (ReturnValue::OutCount, Self::Some(ended)) => i64::try_from(ended.as_ref()?.len()).ok(),
            _ => None,
        }
    }

    /// The result of the `of`-th operation that ended in the call, alone.
    pub(super) fn one(&self, of: usize) -> Option<Self> {
        if let Self::Some(ended) = self {
            return Some(Self::Any(Some(*ended.as_ref()?.get(of)?)));
        }
        self.endings().nth(of).map(|ending| Self::Ended(*ending))
    }
}

/// How one operation ended.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Ending {
    /// It was open, and is over.
    Over {
        /// How.
        outcome: Outcome,
        /// The number of its buffer in the program's memory.
        buffer: u32,
    },
    /// Nothing was open under the name: the empty status of `MPI_REQUEST_NULL`.
    Inactive,
}

/// A receive with room for `room` bytes, and what is known of its message.
pub fn too_short(receive: String, room: u64, message: Option<String>) -> Violation {
    Violation {
        id: "MPI_ERR_TRUNCATE",
        statement: "a receive has room for its message",
        objects: std::iter::once(receive).chain(message).collect(),
        detail: format!("the message has more than the {room} B that the receive has room for"),
    }
}
