//! Work on large messages that a thread has begun and not ended: chunks to copy, counters to ask.
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

use super::requests::{Body, Pending, Request};
use super::{Action, Key, Library, LibraryAction, ProtocolError, Reply, Thread, Token};
use crate::contract::{ASKED, Emit};
#[cfg(feature = "mutants")]
use crate::mutant::Mutant;
use crate::rendezvous::scheme::Calls;
use crate::rendezvous::{Cooperation, RoleInput};

/// The token of the polls between chunks; those of tests are numbers of threads.
const BETWEEN_CHUNKS: Token = Token(1 << 40);

/// What a thread has begun.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Works {
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
    /// What the call returns when all this is ended.
    held: Option<Reply>,
}

impl Works {
    fn is_idle(&self) -> bool {
        self.copies.is_empty() && self.asks.is_empty() && self.held.is_none() && !self.tested
    }

    /// A role goes on after a poll.
    pub(super) fn copies_on(&mut self, key: Key) {
        self.copies.push_back(key);
    }

    /// A receive asks for the counters of its node.
    pub(super) fn asks(&mut self, key: Key, calls: Calls) {
        self.asks.push_back((key, calls));
    }
}

/// Whether a pass is one between chunks.
pub(super) fn is_between_chunks(token: Token) -> bool {
    token == BETWEEN_CHUNKS
}

impl Library {
    /// What a list must still end with, after an input was handled.
    pub(super) fn arrange(
        &mut self,
        thread: Thread,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        if self.begun(thread).is_none_or(Works::is_idle) {
            return Ok(());
        }
        self.hold_reply(thread, out);
        let in_test = self.is_testing(thread);
        let works = self.works(thread);
        if let Some(&(key, _)) = works.asks.front()
            && !works.asking
        {
            works.asking = true;
            return self.ask(key, out);
        }
        if works.asking || works.polling || (in_test && !works.tested) {
            return Ok(());
        }
        if !works.copies.is_empty() {
            works.polling = true;
            out.emit(|| Action::Poll(BETWEEN_CHUNKS));
            return Ok(());
        }
        if std::mem::take(&mut works.tested) {
            self.polled(thread, out)?;
            self.hold_reply(thread, out);
        }
        if let Some(reply) = self.works(thread).held.take() {
            super::push_return(thread, reply, out);
        }
        Ok(())
    }

    /// The work of a thread.
    pub(super) fn works(&mut self, thread: Thread) -> &mut Works {
        let (threads, worker) = (self.pending.len(), self.worker(thread));
        let all = self.works.get_or_insert_with(|| vec![Works::default(); threads].into());
        &mut all[worker]
    }

    /// The work of a thread, where any of this process ever had some.
    fn begun(&self, thread: Thread) -> Option<&Works> {
        self.works.as_ref().map(|all| &all[self.worker(thread)])
    }

    /// Whose list of work a thread adds to and takes from: its own.
    #[cfg_attr(
        not(feature = "mutants"),
        expect(clippy::unused_self, reason = "a planted bug asks")
    )]
    fn worker(&self, thread: Thread) -> usize {
        #[cfg(feature = "mutants")]
        let thread = if self.job.has(Mutant::SharesWorks) { Thread(0) } else { thread };
        usize::from(thread.0)
    }

    /// Takes the return of this thread's call out of a list: there is work left.
    fn hold_reply(&mut self, thread: Thread, out: &mut Vec<LibraryAction>) {
        let own = |action: &LibraryAction| matches!(action, Action::Return { thread: whose, .. } if *whose == thread);
        if let Some(place) = out.iter().position(own) {
            let Action::Return { reply, .. } = out.remove(place) else {
                unreachable!("the place of a return was looked for")
            };
            self.works(thread).held = Some(reply);
        }
    }

    /// Whether this thread is in the pass of a test or of a probe with a flag.
    fn is_testing(&self, thread: Thread) -> bool {
        matches!(
            self.pending[usize::from(thread.0)],
            Some(
                Pending::Test(_)
                    | Pending::TestAll(_)
                    | Pending::Probe { flag: true, .. }
                    | Pending::WindowTest(_)
                    | Pending::WindowPass
            )
        )
    }

    /// The pass of a test is over: it is answered when no copy is under way.
    pub(super) fn test_polled(
        &mut self,
        thread: Thread,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        if self.begun(thread).is_some_and(|works| !works.copies.is_empty()) {
            self.works(thread).tested = true;
            return Ok(());
        }
        self.polled(thread, out)
    }

    /// The poll between two chunks is over: the next copy has its turn.
    pub(super) fn next_chunk(
        &mut self,
        thread: Thread,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let works = self.works(thread);
        works.polling = false;
        let Some(key) = works.copies.pop_front() else {
            return Err(self.refuse("no copy is under way", "the end of a poll between chunks"));
        };
        if self.is_sending(key) {
            self.drive_sender(thread, key, None, RoleInput::Continue, out)
        } else {
            self.drive_receiver(thread, key, RoleInput::Continue, out)
        }
    }

    /// Reads the counters that a receive's choice depends on.
    fn ask(&self, key: Key, out: &mut Vec<LibraryAction>) -> Result<(), ProtocolError> {
        let Some(Request { body: Body::Receiving { from, .. }, .. }) = self.requests.get(key)
        else {
            return Err(self.refuse("only a matched receive asks for counters", key));
        };
        let counters = Cooperation::question(from.peer, self.me, self.node());
        let token = key.token();
        out.emit(|| Action::Consult { counters, token });
        Ok(())
    }

    /// The counters are read: the receive that asked for them goes on.
    pub(super) fn counters(
        &mut self,
        thread: Thread,
        token: Token,
        values: [u32; ASKED],
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let works = self.works(thread);
        works.asking = false;
        match works.asks.pop_front() {
            Some((key, calls)) if key.token() == token => {
                self.choose(thread, (key, calls), values, out)
            }
            other => Err(self.defect("these counters were not asked for", other)),
        }
    }

    pub(super) fn node(&self) -> u32 {
        self.job.node_of[self.me.0 as usize]
    }
}
