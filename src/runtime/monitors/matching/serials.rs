//! The numbers of the messages that a process has sent: whether one is new.

use std::hash::{Hash, Hasher};

/// The numbers told so far, nearly in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Serials {
    /// One more than the greatest.
    next: u32,
    /// Lower ones that were not told: their threads call at the same time.
    skipped: Vec<u32>,
}

/// Numbers kept in [`Serials::skipped`].
/// Limit: a node has hardly more threads; one that is not kept is looked for among all messages.
const SKIPPED: usize = 64;

impl Serials {
    /// Takes note of a number; answers whether it is the next one.
    #[inline]
    pub(super) const fn is_next(&mut self, serial: u32) -> bool {
        let is_next = serial == self.next;
        if is_next {
            self.next += 1;
        }
        is_next
    }

    /// Takes note of another number than the next one; answers whether it is known to be new.
    pub(super) fn is_new(&mut self, serial: u32) -> bool {
        if serial >= self.next {
            let room = SKIPPED.saturating_sub(self.skipped.len());
            self.skipped.extend((self.next..serial).take(room));
            self.next = serial + 1;
            return true;
        }
        let skipped = self.skipped.iter().position(|&skipped| skipped == serial);
        skipped.map(|place| self.skipped.swap_remove(place)).is_some()
    }
}

/// A number that was skipped only saves a search.
impl PartialEq for Serials {
    fn eq(&self, other: &Self) -> bool {
        self.next == other.next
    }
}

impl Eq for Serials {}

impl Hash for Serials {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.next.hash(state);
    }
}
