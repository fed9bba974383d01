//! The lock of one rank's part of a window that its processes map: three numbers in their memory,
//! which only grow, and which every process changes by itself.
//!
//! ```text
//!   lock     ticket = tickets++ · wait until the number of its kind is the ticket · shared: readers++
//!   unlock   exclusive: writers++, readers++            shared: writers++
//! ```
//!
//! Tickets are served in their order. A shared lock calls the next shared one as soon as it is inside,
//! so that neighbours in the queue are inside together; an exclusive one waits until all before it
//! have left.
//!
//! Source: `OSCSM`, which names them `counter`, `read` and `write`.

use super::synchronisation::LockKind;

/// One of the three numbers.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Number {
    /// How many tickets were taken.
    Tickets,
    /// The ticket of a shared lock that may enter.
    Readers,
    /// The ticket of an exclusive lock that may enter.
    Writers,
}

/// Which lock: the name of the memory that is mapped, and the rank whose part it locks.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TicketLock {
    /// The memory.
    pub memory: u32,
    /// The rank in the window.
    pub rank: u32,
}

impl Number {
    /// All of them, in the order in which a lock reads them.
    pub const ALL: [Self; 3] = [Self::Tickets, Self::Readers, Self::Writers];

    /// The condition that a lock of this kind waits for.
    pub const fn awaited(kind: LockKind) -> Self {
        match kind {
            LockKind::Shared => Self::Readers,
            LockKind::Exclusive => Self::Writers,
        }
    }

    /// Numbers that grow when a lock of this kind is released, in order.
    pub const fn at_end(kind: LockKind) -> &'static [Self] {
        match kind {
            LockKind::Shared => &[Self::Writers],
            LockKind::Exclusive => &[Self::Writers, Self::Readers],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LockKind::{Exclusive, Shared};

    /// The numbers, and the holders with their kinds.
    #[derive(Default)]
    struct Model {
        numbers: [u32; 3],
        inside: Vec<(usize, LockKind)>,
    }

    impl Model {
        fn ticket(&mut self) -> u32 {
            self.numbers[Number::Tickets as usize] += 1;
            self.numbers[Number::Tickets as usize] - 1
        }

        fn enters(&mut self, who: usize, kind: LockKind, ticket: u32) -> bool {
            let may = self.numbers[Number::awaited(kind) as usize] == ticket;
            if may {
                self.numbers[Number::Readers as usize] += u32::from(kind == Shared);
                self.inside.push((who, kind));
            }
            may
        }

        fn leaves(&mut self, who: usize) {
            let place = self.inside.iter().position(|(other, _)| *other == who).unwrap();
            for number in Number::at_end(self.inside.remove(place).1) {
                self.numbers[*number as usize] += 1;
            }
        }
    }

    #[test]
    fn neighbours_that_share_are_inside_together_and_nobody_overtakes() {
        let mut lock = Model::default();
        let kinds = [Shared, Shared, Exclusive, Shared, Exclusive];
        let tickets = kinds.map(|_| lock.ticket());
        assert_eq!(tickets, [0, 1, 2, 3, 4]);
        let enters = |lock: &mut Model, who: usize| lock.enters(who, kinds[who], tickets[who]);
        assert!(!enters(&mut lock, 1), "the first calls it");
        assert!(enters(&mut lock, 0) && enters(&mut lock, 1) && !enters(&mut lock, 2));
        lock.leaves(1);
        assert!(!enters(&mut lock, 2), "one reader is left");
        assert!(!enters(&mut lock, 3), "a writer is before it");
        lock.leaves(0);
        assert!(enters(&mut lock, 2) && !enters(&mut lock, 3) && !enters(&mut lock, 4));
        lock.leaves(2);
        assert!(enters(&mut lock, 3) && !enters(&mut lock, 4));
        lock.leaves(3);
        assert!(enters(&mut lock, 4));
        lock.leaves(4);
        assert_eq!(lock.numbers, [5; 3], "nobody holds it, and nobody waits");
    }
}
