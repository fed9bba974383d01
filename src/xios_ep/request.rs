//! Requests of three types, what Test and Wait do with each, and the pending list.
//!
//! ```text
//!   type 1  nonblocking send                                    MPI has a request
//!   type 2  pending nonblocking receive, message not found yet  MPI has none
//!     │ a message is found: a matched receive starts
//!     ▼
//!   type 3  nonblocking receive whose message was matched       MPI has a request
//! ```
//!
//! No other change of type exists, and only MPI's word on a request of type 1 or 3 completes.
//! [`step`] answers what to do next: the caller asks MPI or makes a check, and comes back with what
//! it received. A check ends with the walk over the pending list ([`Pending::serve`]), in which the
//! request may become type 3.
//!
//! Source: `xios-ep` Sec. 3.1; Sec. 4 with Ex. 1 and 2.

use std::collections::VecDeque;
use std::fmt;

use super::message_list::{Message, MessageList, Wanted};
use mpi::envelope::Rank;
use protocols::call::Comm;

/// A request of an endpoint; `R` is the caller's record of a request of MPI.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Request<R> {
    /// Its type, with MPI's request where there is one.
    pub state: State<R>,
    /// Bytes of one element of the datatype.
    pub datatype: u64,
    /// The endpoint communicator.
    pub comm: Comm,
    /// The endpoint that sends, or that is to send; any where `None`.
    pub source: Option<Rank>,
    /// The user's tag; any where `None`.
    pub tag: Option<i32>,
}

/// The type of a request and what it alone has.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum State<R> {
    /// Type 1.
    Send {
        /// MPI's send.
        mpi: R,
    },
    /// Type 2.
    Pending,
    /// Type 3.
    Matched {
        /// MPI's matched receive.
        mpi: R,
    },
}

/// Types as the document numbers them.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Type {
    /// Nonblocking send.
    Send = 1,
    /// Pending nonblocking receive, message not found yet.
    Pending = 2,
    /// Nonblocking receive whose message was matched.
    Matched = 3,
}

impl fmt::Display for Type {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Self::Send => "nonblocking send",
            Self::Pending => "pending nonblocking receive, message not found yet",
            Self::Matched => "nonblocking receive whose message was matched",
        };
        write!(out, "type {}: {what}", *self as u8)
    }
}

/// Use that a request does not allow.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum RequestError {
    /// Only a pending receive can be matched.
    #[error("a request of {found} cannot be matched")]
    NotPending {
        /// Type of the request.
        found: Type,
    },
    /// A receive gets a message that it does not want.
    #[error("a receive is given a message of endpoint {} with tag {tag}, which it does not want", source_rank.0)]
    NotWanted {
        /// Sender of the message.
        source_rank: Rank,
        /// Its tag.
        tag: i32,
    },
    /// The event cannot come from a request of this type.
    #[error("{heard:?} was heard of a request of {found}")]
    Unheard {
        /// Event that was reported.
        heard: Event,
        /// Type of the request.
        found: Type,
    },
}

impl<R: Copy> Request<R> {
    /// Its type.
    pub fn kind(&self) -> Type {
        match self.state {
            State::Send { .. } => Type::Send,
            State::Pending => Type::Pending,
            State::Matched { .. } => Type::Matched,
        }
    }

    /// MPI's request; a pending receive has none.
    pub fn mpi(&self) -> Option<R> {
        match self.state {
            State::Send { mpi } | State::Matched { mpi } => Some(mpi),
            State::Pending => None,
        }
    }

    /// Message that it waits for, as a receive.
    pub fn wanted(&self) -> Wanted {
        Wanted { source: self.source, tag: self.tag }
    }

    /// Type 2 becomes type 3: `mpi` is the matched receive of a message from `source` with `tag`.
    ///
    /// # Errors
    ///
    /// It is of another type, or wants another message; then nothing changes.
    pub fn matched(&mut self, mpi: R, source: Rank, tag: i32) -> Result<(), RequestError> {
        if self.kind() != Type::Pending {
            return Err(RequestError::NotPending { found: self.kind() });
        }
        let is = |wanted: Option<Rank>| wanted.is_none_or(|wanted| wanted == source);
        if !is(self.source) || self.tag.is_some_and(|wanted| wanted != tag) {
            return Err(RequestError::NotWanted { source_rank: source, tag });
        }
        self.state = State::Matched { mpi };
        (self.source, self.tag) = (Some(source), Some(tag));
        Ok(())
    }
}

/// Which call is made on a request.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Call {
    /// Test: answers at once.
    Test,
    /// Wait: answers when the request is complete.
    Wait,
}

/// Event since the caller's last step.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Event {
    /// Nothing: the call begins.
    Called,
    /// A check and the walk over the pending list were made.
    Checked,
    /// MPI's test said so.
    Tested {
        /// Whether the request is complete.
        flag: bool,
    },
    /// MPI's wait returned.
    Waited,
}

/// Next step of the caller.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Advice<R> {
    /// Make a check and walk over the pending list.
    Check,
    /// Ask MPI's test about this request.
    MpiTest(R),
    /// Let MPI wait for this request.
    MpiWait(R),
    /// Return; the flag of a test is false where the request is not complete.
    Return {
        /// Whether it is.
        flag: bool,
    },
}

/// The next step of a call on `request`, which is as it is after the messages so far.
///
/// # Errors
///
/// [`RequestError::Unheard`]: MPI spoke of a request that it does not have.
pub fn step<R: Copy>(
    call: Call,
    request: &Request<R>,
    heard: Event,
) -> Result<Advice<R>, RequestError> {
    let ask = |mpi| match call {
        Call::Test => Advice::MpiTest(mpi),
        Call::Wait => Advice::MpiWait(mpi),
    };
    let unheard = Err(RequestError::Unheard { heard, found: request.kind() });
    Ok(match (heard, request.state) {
        (Event::Called, State::Pending) => Advice::Check,
        // A receive that became type 3 in the check is tested in the same call.
        (Event::Called, State::Send { mpi })
        | (Event::Called | Event::Checked, State::Matched { mpi }) => ask(mpi),
        (Event::Checked, State::Pending) => match call {
            Call::Test => Advice::Return { flag: false },
            Call::Wait => Advice::Check,
        },
        (Event::Tested { flag }, State::Send { .. } | State::Matched { .. }) => {
            Advice::Return { flag }
        }
        (Event::Waited, State::Send { .. } | State::Matched { .. }) => {
            Advice::Return { flag: true }
        }
        (Event::Checked, State::Send { .. })
        | (Event::Tested { .. } | Event::Waited, State::Pending) => return unheard,
    })
}

/// Receives of an endpoint that wait for their message, in posting order; `I` names a request.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Pending<I>(VecDeque<(I, Wanted)>);

/// Result of a walk over the pending list.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Served<I, M> {
    /// Receives that left the list, with their messages, in posting order.
    pub matched: Vec<(I, Message<M>)>,
    /// Messages inspected, over all receives.
    pub visited: u64,
}

impl<I> Default for Pending<I> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<I> Pending<I> {
    /// Appends a receive.
    pub fn post(&mut self, request: I, wanted: Wanted) {
        self.0.push_back((request, wanted));
    }

    /// Gives each receive, in posting order, the first message that it wants.
    pub fn serve<M>(&mut self, messages: &mut MessageList<M>) -> Served<I, M> {
        let mut served = Served { matched: Vec::new(), visited: 0 };
        let mut waiting = VecDeque::with_capacity(self.0.len());
        for (request, wanted) in self.0.drain(..) {
            let search = messages.take(wanted);
            served.visited += u64::from(search.visited);
            match search.matched {
                Some(message) => served.matched.push((request, message)),
                None => waiting.push_back((request, wanted)),
            }
        }
        self.0 = waiting;
        served
    }

    /// How many receives wait.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests;
