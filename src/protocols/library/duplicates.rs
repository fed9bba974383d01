//! Duplicates of communicators that begin with one call and end with their request: `MPI_Comm_idup`.
//!
//! ```text
//!   begin ──▶ the first word ──▶ return           whichever thread handles what comes:
//!   … a word comes ──▶ the next one … all have agreed ──▶ the communicator is there, the request complete
//! ```
//!
//! The words are those of `MPI_Comm_dup` (`agreeing.rs`). Several duplicates of one communicator may be
//! under way: all its ranks begin them in one order, so that the number of a beginning stands in the tags.
//! Each has a slot among the collectives under way (`background.rs`), and one message at a time.
//!
//! Source: MPI 4.0, Sec. 7.4.2. Left out: info, which has no effect here.

use std::collections::BTreeMap;

use super::agreeing::{Agreeing, MOST_NUMBERED};
use super::agreements;
use super::messages::Messages;
use super::requests::{Body, Wake};
use super::{Handle, Key, LibraryAction, Outcome, ProtocolError, Thread};
use crate::call::Comm;
use mpi::envelope::Context;

/// The duplicates under way of one process.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Duplicates {
    under_way: BTreeMap<u16, Duplicate>,
    /// How many duplicates were started of each communicator, by the context of its messages.
    begun: BTreeMap<Context, u32>,
}

/// One of them.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Duplicate {
    agreeing: Agreeing,
    request: Handle,
    /// The communicator as the call names it, and the context of its messages.
    of: (Comm, Context),
    number: u32,
}

/// The message of a duplicate under way.
const fn word(slot: u16) -> Key {
    Key::Later(slot, 0)
}

impl Duplicates {
    /// Takes part in an agreement whose call returns at once.
    pub(super) fn begin(
        &mut self,
        messages: &mut Messages,
        thread: Thread,
        (slot, request): (u16, Handle),
        agreeing: Agreeing,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let comm = agreeing.parent;
        let context = messages.member(thread, comm)?.context;
        let count = self.begun.entry(context).or_insert(0);
        let number = *count % MOST_NUMBERED;
        *count += 1;
        let function = "MPI_Comm_idup";
        let same = |one: &Duplicate| one.of.1 == context && one.number == number;
        if self.under_way.values().any(same) {
            let state = "524,288 duplicates were begun after one that is still under way";
            return Err(messages.site().refuse(state, function));
        }
        messages.open(Key::User(request), Body::Background { slot, function }, thread)?;
        messages.carried_mut().await_word(slot);
        let agreeing = agreeing.numbered(number);
        let one = Duplicate { agreeing, request, of: (comm, context), number };
        let wake = self.go_on(messages, thread, (slot, one), out)?;
        debug_assert_eq!(wake, None, "no thread waits for a request that was opened just now");
        Ok(())
    }

    /// The message of a duplicate has come.
    pub(super) fn advance(
        &mut self,
        messages: &mut Messages,
        thread: Thread,
        slot: u16,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Option<Wake>, ProtocolError> {
        let mut one = self.under_way.remove(&slot).expect("a message comes of one under way");
        messages.close(word(slot));
        one.agreeing.receive(messages, word(slot));
        self.go_on(messages, thread, (slot, one), out)
    }

    /// Exchanges words until one must be waited for, or until the communicator is there.
    fn go_on(
        &mut self,
        messages: &mut Messages,
        thread: Thread,
        (slot, mut one): (u16, Duplicate),
        out: &mut Vec<LibraryAction>,
    ) -> Result<Option<Wake>, ProtocolError> {
        if !one.agreeing.exchange(messages, (thread, word(slot)), out)? {
            self.under_way.insert(slot, one);
            return Ok(None);
        }
        agreements::end(messages, &one.agreeing, out)?;
        messages.carried_mut().end_words(slot);
        Ok(messages.complete(Key::User(one.request), Outcome::Sent, None, None, out))
    }

    /// How many are under way.
    pub(super) fn len(&self) -> usize {
        self.under_way.len()
    }

    /// Whether one has this slot.
    pub(super) fn has(&self, slot: u16) -> bool {
        self.under_way.contains_key(&slot)
    }

    /// Whether one under way will give this number to a communicator.
    pub(super) fn give(&self, comm: Comm) -> bool {
        self.under_way.values().any(|one| one.agreeing.purpose.gives(comm))
    }

    /// The communicator of the one in this slot: its number, and that of the call.
    pub(super) fn parent(&self, slot: u16) -> Option<(Comm, Comm)> {
        self.under_way.get(&slot).map(|one| (one.agreeing.parent, one.of.0))
    }

    /// Whether one is of a communicator with this number.
    pub(super) fn are_of(&self, comm: Comm) -> bool {
        self.under_way.values().any(|one| one.agreeing.parent == comm)
    }

    /// Whether one has words in this internal context.
    pub(super) fn speak_in(&self, Context(context): Context) -> bool {
        self.under_way.values().any(|one| one.of.1.0 + 1 == context)
    }

    /// The program frees a communicator, which has another number from now on; answers whether one is of it.
    pub(super) fn keep(&mut self, context: Context, number: Comm) -> bool {
        let mut kept = false;
        for one in self.under_way.values_mut().filter(|one| one.of.1 == context) {
            one.agreeing.parent = number;
            kept = true;
        }
        kept
    }
}
