//! Which scratch space is whose: threads count from below, all others from above.
//!
//! ```text
//!   0 … threads          a thread's collective
//!   … - slot             a nonblocking collective
//!   … - slot             the copy of a send and a receive with one buffer
//!   … - slot, … - thread what collectives in place have put aside
//! ```

use super::{Space, Thread};

/// The most collectives of one process under way at once.
/// Limit: scratch memory has numbers of 16 bits.
pub(super) const MOST_BEGUN: u16 = 1 << 10;
/// The most requests of several messages of one process at once.
/// Limit: as above.
pub(super) const MOST_JOINT: u16 = 1 << 12;

/// The space of a thread's collective.
pub(super) const fn of_thread(Thread(thread): Thread) -> Space {
    Space::Scratch(thread)
}

/// The space of a collective under way.
pub(super) const fn of_begun(slot: u16) -> Space {
    Space::Scratch(u16::MAX - slot)
}

/// The space of a request of several messages.
pub(super) const fn of_joint(slot: u16) -> Space {
    Space::Scratch(u16::MAX - MOST_BEGUN - slot)
}

/// Where a collective under way puts aside what it was given.
pub(super) const fn aside_of_begun(slot: u16) -> Space {
    Space::Scratch(u16::MAX - MOST_BEGUN - MOST_JOINT - slot)
}

/// Where a thread's collective puts aside what it was given.
pub(super) const fn aside_of_thread(Thread(thread): Thread) -> Space {
    Space::Scratch(u16::MAX - 2 * MOST_BEGUN - MOST_JOINT - thread)
}
