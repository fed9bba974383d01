//! Barrier by dissemination: in round k everybody tells rank + 2^k and hears from rank - 2^k.
//!
//! ```text
//!   Round(0) ──heard / send──▶ Round(1) ──heard / send──▶ … ──heard──▶ Done   ceil(log2 P) rounds
//! ```
//!
//! Source: Hensgen, Finkel, Manber: Two algorithms for barrier synchronization, 1988.
//! Left out: shared-memory flags inside a node. Noticeable with many ranks on one node.

use crate::mpi::envelope::Rank;
use crate::protocols::call::Comm;

/// One rank's progress through the barrier.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Barrier {
    /// The communicator.
    pub comm: Comm,
    size: u32,
    rank: u32,
    round: u32,
}

/// Whom to tell and from whom to hear in one round; the round number is the tag.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Round {
    /// Receiver of this rank's empty message.
    pub to: Rank,
    /// Sender of the message that ends the round.
    pub from: Rank,
    /// Tag of both.
    pub tag: i32,
}

impl Barrier {
    /// The barrier of `rank` among `size`, before its first round.
    pub const fn new(comm: Comm, rank: Rank, size: u32) -> Self {
        Self { comm, size, rank: rank.0, round: 0 }
    }

    /// The next round, or `None` when everybody is known to have entered.
    ///
    /// # Panics
    ///
    /// Never: ranks and rounds stay below 2^32 and 32.
    pub fn next_round(&mut self) -> Option<Round> {
        let distance = 1_u64 << self.round;
        let size = u64::from(self.size);
        if distance >= size {
            return None;
        }
        let rank = u64::from(self.rank);
        let wrap = |value: u64| Rank(u32::try_from(value % size).expect("below the size"));
        let tag = i32::try_from(self.round).expect("at most 32 rounds");
        self.round += 1;
        Some(Round { to: wrap(rank + distance), from: wrap(rank + size - distance), tag })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everybody must know of everybody's entry when the last round is over.
    #[test]
    fn after_the_last_round_everybody_has_heard_of_everybody() {
        for size in 1..=17_u32 {
            let mut knows: Vec<u64> = (0..size).map(|rank| 1 << rank).collect();
            let mut barriers: Vec<Barrier> =
                (0..size).map(|rank| Barrier::new(Comm(0), Rank(rank), size)).collect();
            loop {
                let rounds: Vec<_> = barriers.iter_mut().map(Barrier::next_round).collect();
                let before = knows.clone();
                let Some(Some(_)) = rounds.first() else { break };
                for (rank, round) in rounds.iter().enumerate() {
                    let round = round.expect("all ranks have as many rounds");
                    knows[rank] |= before[round.from.0 as usize];
                    assert_eq!(rounds[round.from.0 as usize].unwrap().to.0 as usize, rank);
                }
            }
            assert!(knows.iter().all(|&set| set == (1 << size) - 1), "size {size}");
        }
    }
}
