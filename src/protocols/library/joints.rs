//! Requests of several messages: `MPI_Sendrecv`, `MPI_Isendrecv`.
//!
//! ```text
//!   begin ──▶ the receive, the send ──▶ whichever is over last ──▶ the request is complete
//! ```
//!
//! Each message has a request of its own, [`Key::Joint`]; the request that the program waits for, or
//! the inner one of its blocking call, is complete when all of them are, with the outcome of the
//! receive. The receive is posted before the send leaves, as MPICH and Open MPI do. A call with one
//! buffer copies what it sends before that.
//!
//! Source: MPI 4.0, Sec. 3.10.

use super::messages::Messages;
use super::requests::{Body, Wake};
use super::scratch;
use super::{Action, Key, LibraryAction, Outcome, ProtocolError, Region, Thread};
use crate::contract::Emit as _;
#[cfg(feature = "mutants")]
use crate::mutant::Mutant;

/// The requests of several messages of one process.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Joints {
    /// By slot; the last one is open.
    open: Vec<Option<Joint>>,
}

/// One request of several messages.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Joint {
    /// The request that they make up.
    request: Key,
    /// How many messages it has.
    parts: u16,
    /// How many of them are not complete; all, while they are being started.
    remaining: u16,
}

impl Joints {
    /// The copy of what a call with one buffer sends.
    pub(super) fn copy(slot: u16, from: Region, out: &mut Vec<LibraryAction>) -> Region {
        let to = Region { space: scratch::of_joint(slot), offset: 0, len: from.len };
        out.emit(|| Action::Copy { from, to });
        to
    }

    /// Opens a request whose messages are started next; answers its slot.
    pub(super) fn open(
        &mut self,
        messages: &mut Messages,
        thread: Thread,
        (request, parts): (Key, u16),
        function: &'static str,
    ) -> Result<u16, ProtocolError> {
        let free = self.open.iter().position(Option::is_none).unwrap_or(self.open.len());
        let Some(slot) = u16::try_from(free).ok().filter(|slot| *slot < scratch::MOST_JOINT) else {
            let state = "4,096 requests of several messages are the most at once";
            return Err(messages.site().refuse(state, function));
        };
        messages.open(request, Body::Joint { slot, function }, thread)?;
        if free == self.open.len() {
            self.open.push(None);
        }
        self.open[free] = Some(Joint { request, parts, remaining: parts });
        Ok(slot)
    }

    /// All messages have started: those that ended at once are not waited for.
    pub(super) fn begun(
        &mut self,
        messages: &mut Messages,
        slot: u16,
        out: &mut Vec<LibraryAction>,
    ) -> Option<Wake> {
        let joint = self.open[usize::from(slot)].as_mut()?;
        let open = |part: &u16| messages.await_end(Key::Joint(slot, *part), None);
        let open = (0..joint.parts).filter(open).count();
        joint.remaining = u16::try_from(open).expect("at most as many as there are");
        if joint.remaining == 0 { self.end(messages, slot, out) } else { None }
    }

    /// One of its messages is complete.
    pub(super) fn part_complete(
        &mut self,
        messages: &mut Messages,
        slot: u16,
        out: &mut Vec<LibraryAction>,
    ) -> Option<Wake> {
        let joint = self.open.get_mut(usize::from(slot))?.as_mut()?;
        joint.remaining -= 1;
        #[cfg(feature = "mutants")]
        if joint.remaining == 1 && messages.site().job.has(Mutant::EndsWithFirst) {
            let request = joint.request;
            self.open[usize::from(slot)] = None;
            return messages.complete(request, Outcome::Sent, None, None, out);
        }
        if joint.remaining == 0 { self.end(messages, slot, out) } else { None }
    }

    /// All messages are over: the request ends as its receive did.
    fn end(
        &mut self,
        messages: &mut Messages,
        slot: u16,
        out: &mut Vec<LibraryAction>,
    ) -> Option<Wake> {
        let Joint { request, parts, .. } = self.open[usize::from(slot)].take()?;
        while let Some(None) = self.open.last() {
            self.open.pop();
        }
        let mut outcome = Outcome::Sent;
        for part in 0..parts {
            match messages.close(Key::Joint(slot, part)) {
                Outcome::Sent => {}
                received @ (Outcome::Received(_) | Outcome::Truncated(_) | Outcome::Cancelled) => {
                    outcome = received;
                }
            }
        }
        messages.complete(request, outcome, None, None, out)
    }
}
