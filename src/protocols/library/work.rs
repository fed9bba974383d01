//! Work on large messages that a thread has started and not ended: chunks to copy, counters to read.
//!
//! ```text
//!   a role copies a chunk ──Poll──▶ what is found is handled ──Polled──▶ the next chunk …
//!   a receive has matched ──Consult──▶ Counters ──▶ the protocol is chosen, its role begins
//! ```
//!
//! A call whose own work is not ended does not return: its reply is held until then. So a
//! non-blocking receive that finds its message copies all of it, as libraries do, and a control
//! message that comes meanwhile waits for one chunk at most.
//!
//! Copies under way take turns, chunk by chunk. While the pass of a test runs no other may begin:
//! chunks go on when it is over, and the test answers after them.
//!
//! Each thread has work of its own. In the timed runtime it keeps the lock between chunks, as in the pass
//! of a test: another thread that calls waits for the end of all its copies, and what arrives is handled
//! by the thread that copies. In the untimed one others may come between.
//!
//! Source: `coop` Sec. II-B2 and II-C.

use std::collections::VecDeque;

use super::answers::push_return;
use super::{Action, Key, LibraryAction, Reply, Thread, Token};
use crate::contract::Emit;
use crate::rendezvous::scheme::Calls;

/// The token of the polls between chunks.
/// Encoding: tokens of tests are numbers of threads, and lie below.
const BETWEEN_CHUNKS: Token = Token(1 << 40);

/// Whether a pass is one between chunks.
pub(super) fn is_between_chunks(token: Token) -> bool {
    token == BETWEEN_CHUNKS
}

/// The work of one thread.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Work {
    /// Messages with chunks left, in the order of their turns; a receive and a send of one name
    /// cannot both be open.
    copies: VecDeque<Key>,
    /// Receives whose protocol waits for the counters.
    asks: VecDeque<(Key, Calls)>,
    /// Whether a poll between chunks is under way.
    polling: bool,
    /// Whether the counters are being read.
    asking: bool,
    /// Whether the pass of a test is over whose answer waits for the copies.
    tested: bool,
    /// The reply of the call, held until all this is ended.
    held: Option<Reply>,
}

/// The next step of a thread's work.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Next {
    /// No work is left, or an input that is awaited will bring the next step.
    Nothing,
    /// A receive reads the counters of its node.
    Ask(Key),
    /// A pass between two chunks.
    Poll,
    /// The copies are over, and the call returns; with `true`, a test is answered before.
    Return(bool),
}

impl Work {
    /// A role goes on after a poll.
    pub(super) fn copies_on(&mut self, key: Key) {
        self.copies.push_back(key);
    }

    /// A receive asks for the counters of its node.
    pub(super) fn asks(&mut self, key: Key, calls: Calls) {
        self.asks.push_back((key, calls));
    }

    fn is_idle(&self) -> bool {
        self.copies.is_empty() && self.asks.is_empty() && self.held.is_none() && !self.tested
    }

    /// The next step after an input; `in_test` says whether the thread is in the pass of a test. A
    /// return in the list is held while there is work.
    pub(super) fn next(
        &mut self,
        thread: Thread,
        in_test: bool,
        out: &mut Vec<LibraryAction>,
    ) -> Next {
        if self.is_idle() {
            return Next::Nothing;
        }
        self.hold_reply(thread, out);
        if let Some(&(key, _)) = self.asks.front()
            && !self.asking
        {
            self.asking = true;
            return Next::Ask(key);
        }
        if self.asking || self.polling || (in_test && !self.tested) {
            return Next::Nothing;
        }
        if !self.copies.is_empty() {
            self.polling = true;
            out.emit(|| Action::Poll(BETWEEN_CHUNKS));
            return Next::Poll;
        }
        Next::Return(std::mem::take(&mut self.tested))
    }

    /// The call returns, where its reply was held.
    pub(super) fn give_back(&mut self, thread: Thread, out: &mut Vec<LibraryAction>) {
        if let Some(reply) = self.held.take() {
            push_return(thread, reply, out);
        }
    }

    /// Takes the return of this thread's call out of a list: there is work left.
    pub(super) fn hold_reply(&mut self, thread: Thread, out: &mut Vec<LibraryAction>) {
        let own = |action: &LibraryAction| matches!(action, Action::Return { thread: whose, .. } if *whose == thread);
        if let Some(place) = out.iter().position(own) {
            let Action::Return { reply, .. } = out.remove(place) else {
                unreachable!("the place of a return was looked for")
            };
            self.held = Some(reply);
        }
    }

    /// The pass of a test is over; answers whether its answer waits for copies.
    pub(super) fn test_waits(&mut self) -> bool {
        self.tested |= !self.copies.is_empty();
        !self.copies.is_empty()
    }

    /// The poll between two chunks is over: the copy that has its turn.
    pub(super) fn next_copy(&mut self) -> Option<Key> {
        self.polling = false;
        self.copies.pop_front()
    }

    /// The counters are read: the receive that requested them.
    pub(super) fn answered(&mut self) -> Option<(Key, Calls)> {
        self.asking = false;
        self.asks.pop_front()
    }
}
