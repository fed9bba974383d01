//! Any number of ranks on a power of two: the first pairs of neighbours are folded into one.
//!
//! With P = 2^m + e ranks, each even rank below 2e gives what it has to the odd one after it and
//! waits until the rest is over. Neighbours are folded so that the order of ranks is the order of
//! the core: an operator that does not commute stays right.
//!
//! Source: Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in
//! MPICH, 2005, Section 4.5.

/// The fold of so many ranks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Fold {
    /// Ranks of the core: a power of two.
    pub(super) core: u32,
    /// Pairs that are folded.
    pairs: u32,
}

/// Part of a rank in the fold.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Part {
    /// It gives to this rank, and is no member of the core.
    Gives(u32),
    /// It takes from this rank first.
    Takes(u32),
    /// It is a member of the core by itself.
    Alone,
}

impl Fold {
    pub(super) const fn new(size: u32) -> Self {
        let core = 1 << size.ilog2();
        Self { core, pairs: size - core }
    }

    /// Rounds of doubling in the core.
    pub(super) const fn levels(self) -> u32 {
        self.core.ilog2()
    }

    pub(super) const fn part(self, rank: u32) -> Part {
        if rank >= 2 * self.pairs {
            Part::Alone
        } else if rank.is_multiple_of(2) {
            Part::Gives(rank + 1)
        } else {
            Part::Takes(rank - 1)
        }
    }

    /// The number of a rank in the core.
    pub(super) const fn number(self, rank: u32) -> Option<u32> {
        match self.part(rank) {
            Part::Gives(_) => None,
            Part::Takes(_) => Some(rank / 2),
            Part::Alone => Some(rank - self.pairs),
        }
    }

    /// The rank with this number in the core.
    pub(super) const fn rank(self, number: u32) -> u32 {
        if number < self.pairs { 2 * number + 1 } else { number + self.pairs }
    }
}

/// The part `[low, high)` of `0..core` that member `number` keeps after `level` halvings, where
/// bit b of the number decides the b-th: 0 keeps the lower half.
pub(super) fn kept(number: u32, level: u32, core: u32) -> (u32, u32) {
    let (mut low, mut high) = (0, core);
    for bit in 0..level {
        let middle = low + (high - low) / 2;
        if number >> bit & 1 == 0 {
            high = middle;
        } else {
            low = middle;
        }
    }
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_is_numbered_in_the_order_of_ranks() {
        for size in 1..=70 {
            let fold = Fold::new(size);
            let members: Vec<u32> = (0..size).filter(|&rank| fold.number(rank).is_some()).collect();
            assert_eq!(members.len(), fold.core as usize);
            for (number, &rank) in (0..).zip(&members) {
                assert_eq!((fold.number(rank), fold.rank(number)), (Some(number), rank));
            }
            let givers = (0..size).filter(|&rank| matches!(fold.part(rank), Part::Gives(to) if fold.part(to) == Part::Takes(rank)));
            assert_eq!(givers.count(), (size - fold.core) as usize);
        }
    }

    #[test]
    fn halvings_leave_each_member_its_own_place() {
        let mut places: Vec<(u32, u32)> = (0..16).map(|number| kept(number, 4, 16)).collect();
        places.sort_unstable();
        assert!((0..).zip(places).all(|(place, kept)| kept == (place, place + 1)));
        assert_eq!(kept(1, 1, 16), (8, 16));
    }
}
