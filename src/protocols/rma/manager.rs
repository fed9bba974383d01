//! The lock of one process's part of a window: who holds it, and who waits.
//!
//! Requests are served first come, first served: an exclusive one when the lock is free, a
//! shared one when no exclusive one holds it or waits before it.
//!
//! Source: `rma` Sec. 2.1.4 and 4.2.

use std::collections::VecDeque;

use super::call::LockKind;

/// Holders of the lock of this part of the window.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
enum Held {
    #[default]
    Free,
    Shared(u32),
    Exclusive,
}

/// The lock at the target. `R` says who asks, and what it brought.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct LockManager<R> {
    held: Held,
    waiting: VecDeque<(LockKind, R)>,
}

impl<R> Default for LockManager<R> {
    fn default() -> Self {
        Self { held: Held::Free, waiting: VecDeque::new() }
    }
}

impl<R> LockManager<R> {
    /// Asks for the lock: gives the request back where it is granted at once, else it waits.
    pub(super) fn ask(&mut self, kind: LockKind, request: R) -> Option<R> {
        if self.waiting.is_empty() && self.take(kind) {
            return Some(request);
        }
        self.waiting.push_back((kind, request));
        None
    }

    /// A holder leaves. Answers whether there was one.
    pub(super) fn leave(&mut self) -> bool {
        self.held = match self.held {
            Held::Free => return false,
            Held::Shared(holders) if holders > 1 => Held::Shared(holders - 1),
            Held::Shared(_) | Held::Exclusive => Held::Free,
        };
        true
    }

    /// The request that came last is the next.
    #[cfg(feature = "mutants")]
    pub(super) fn put_newest_first(&mut self) {
        if let Some(newest) = self.waiting.pop_back() {
            self.waiting.push_front(newest);
        }
    }

    /// The next request that can be granted; called until there is none.
    pub(super) fn grant(&mut self) -> Option<(LockKind, R)> {
        let (kind, _) = self.waiting.front()?;
        let kind = *kind;
        if self.take(kind) { self.waiting.pop_front() } else { None }
    }

    fn take(&mut self, kind: LockKind) -> bool {
        self.held = match (self.held, kind) {
            (Held::Free, LockKind::Shared) => Held::Shared(1),
            (Held::Shared(holders), LockKind::Shared) => Held::Shared(holders + 1),
            (Held::Free, LockKind::Exclusive) => Held::Exclusive,
            (Held::Shared(_) | Held::Exclusive, LockKind::Exclusive)
            | (Held::Exclusive, LockKind::Shared) => return false,
        };
        true
    }

    /// Whether it is free, and no request waits.
    pub(super) fn is_idle(&self) -> bool {
        self.held == Held::Free && self.waiting.is_empty()
    }

    /// Whether a process holds it alone.
    pub(super) fn is_exclusive(&self) -> bool {
        self.held == Held::Exclusive
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(manager: &mut LockManager<u32>) -> Vec<u32> {
        std::iter::from_fn(|| manager.grant().map(|(_, who)| who)).collect()
    }

    #[test]
    fn requests_are_served_in_their_order_and_readers_do_not_overtake_a_writer() {
        let mut manager = LockManager::default();
        assert_eq!(manager.ask(LockKind::Shared, 1), Some(1));
        assert_eq!(manager.ask(LockKind::Shared, 2), Some(2));
        assert_eq!(manager.ask(LockKind::Exclusive, 3), None);
        assert_eq!(manager.ask(LockKind::Shared, 4), None, "a writer waits before it");
        assert_eq!(manager.ask(LockKind::Shared, 5), None);
        assert!(manager.leave());
        assert_eq!(granted(&mut manager), [0; 0], "one reader is left");
        assert!(manager.leave());
        assert_eq!(granted(&mut manager), [3]);
        assert!(manager.leave());
        assert_eq!(granted(&mut manager), [4, 5], "readers go together");
        assert!(manager.leave() && manager.leave());
        assert!(manager.is_idle());
        assert!(!manager.leave(), "nobody is left to leave");
    }
}
