//! Where a thread's time went: every moment of its life belongs to one [`Part`].

use std::ops::{AddAssign, Sub};

use units::TimeDelta;

/// Part of a thread's time: an activity, or a kind of wait.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum Part {
    /// Fixed stretches of library code, registration of buffers included.
    Library,
    /// Walking matching queues.
    Walk,
    /// Copying payload.
    Copy,
    /// In the kernel, for a copy between processes: entering it, declaring or mapping memory, pinning
    /// pages.
    Kernel,
    /// Posting WQEs and doorbells, receive buffers, flags of shared cells; taking completions.
    Post,
    /// The last pass before something was found, and passes that a test asks for.
    Poll,
    /// Waiting for a lock of the library with something to do, and taking it; changing the numbers of a
    /// lock that lies in mapped memory, the ways of their line included.
    Lock,
    /// Outside the library: computing, creating threads and waiting for their end, or for lines of
    /// mapped memory that another core has.
    Outside,
    /// Inside a call with nothing to do: for wires, for the peer, for other threads, for lines of
    /// mapped memory that another core has.
    Wait,
}

impl Part {
    /// Every part, in the order of reports.
    pub const ALL: [Self; 9] = [
        Self::Lock,
        Self::Walk,
        Self::Poll,
        Self::Post,
        Self::Library,
        Self::Kernel,
        Self::Copy,
        Self::Wait,
        Self::Outside,
    ];

    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Library => "library code",
            Self::Walk => "queue walk",
            Self::Copy => "copy",
            Self::Kernel => "kernel",
            Self::Post => "posting",
            Self::Poll => "channel polling",
            Self::Lock => "lock wait",
            Self::Outside => "outside MPI",
            Self::Wait => "waiting",
        }
    }
}

/// Time by [`Part`], and what happened at locks meanwhile.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Account {
    spent: [TimeDelta; Part::ALL.len()],
    /// Time inside locks, hand-over included; it overlaps the parts above.
    pub held: TimeDelta,
    /// Time that is paid once for a buffer: its first registration, the first touch of its pages where
    /// they are mapped; it overlaps the parts above.
    pub once: TimeDelta,
    /// How often a lock was taken.
    pub taken: u64,
    /// Queue entries that were compared.
    pub entries: u64,
    /// Packets and RDMA operations that were handed to a wire.
    pub packets: u64,
    /// Bytes that the core copied from or into other processes.
    pub copied: u64,
}

impl Account {
    /// Adds time to a part.
    #[inline]
    pub fn add(&mut self, part: Part, time: TimeDelta) {
        self.spent[part as usize] += time;
    }

    /// Moves time from one part to another one.
    #[inline]
    pub fn shift(&mut self, from: Part, to: Part, time: TimeDelta) {
        let spent = &mut self.spent[from as usize];
        *spent = *spent - time;
        self.add(to, time);
    }

    /// The time of a part.
    pub const fn of(&self, part: Part) -> TimeDelta {
        self.spent[part as usize]
    }

    /// Time in which the core works: not waiting, and not looking for something to do.
    pub fn working(&self) -> TimeDelta {
        self.total() - self.polling() - self.of(Part::Lock)
    }

    /// Time in copies, what the kernel does for them included.
    pub fn copying(&self) -> TimeDelta {
        self.of(Part::Copy) + self.of(Part::Kernel)
    }

    /// Time inside calls without work: polling and waiting.
    pub fn polling(&self) -> TimeDelta {
        self.of(Part::Poll) + self.of(Part::Wait)
    }

    /// So many times as much of everything.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        for part in &mut self.spent {
            *part = *part * times;
        }
        self.held = self.held * times;
        self.once = self.once * times;
        self.taken *= times;
        self.entries *= times;
        self.packets *= times;
        self.copied *= times;
        self
    }

    /// The time of all parts: how long the thread has lived.
    pub fn total(&self) -> TimeDelta {
        self.spent.iter().copied().fold(TimeDelta::ZERO, |sum, part| sum + part)
    }
}

impl AddAssign for Account {
    fn add_assign(&mut self, other: Self) {
        for (sum, part) in self.spent.iter_mut().zip(other.spent) {
            *sum += part;
        }
        self.held += other.held;
        self.once += other.once;
        self.taken += other.taken;
        self.entries += other.entries;
        self.packets += other.packets;
        self.copied += other.copied;
    }
}

impl Sub for Account {
    type Output = Self;

    /// Amounts added since `earlier`.
    fn sub(self, earlier: Self) -> Self {
        let mut since = self;
        for (part, before) in since.spent.iter_mut().zip(earlier.spent) {
            *part = *part - before;
        }
        since.held = self.held - earlier.held;
        since.once = self.once - earlier.once;
        since.taken -= earlier.taken;
        since.entries -= earlier.entries;
        since.packets -= earlier.packets;
        since.copied -= earlier.copied;
        since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_and_the_difference_of_two_accounts_is_what_came_between() {
        let mut account = Account::default();
        account.add(Part::Walk, TimeDelta::from_ns(3));
        let before = account;
        account.add(Part::Walk, TimeDelta::from_ns(2));
        account.add(Part::Wait, TimeDelta::from_ns(7));
        assert_eq!(account.total(), TimeDelta::from_ns(12));
        let between = account - before;
        assert_eq!(between.of(Part::Walk), TimeDelta::from_ns(2));
        assert_eq!(between.total(), TimeDelta::from_ns(9));
        assert_eq!((between.times(3) - between).total(), TimeDelta::from_ns(18));
        let mut sum = before;
        sum += between;
        assert_eq!(sum, account);
    }

    #[test]
    fn every_part_has_its_own_place_and_name() {
        for (index, part) in Part::ALL.into_iter().enumerate() {
            let same =
                |other: &Part| *other as usize == part as usize || other.name() == part.name();
            assert_eq!(Part::ALL.iter().filter(|other| same(other)).count(), 1, "{index}");
        }
    }
}
