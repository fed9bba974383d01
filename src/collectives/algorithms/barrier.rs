//! Barrier by dissemination: in round k every rank sends to rank + 2^k and receives from rank - 2^k.
//!
//! ```text
//!   Round(0) ──came / send──▶ Round(1) ──came / send──▶ … ──came──▶ Done   ceil(log2 P) rounds
//! ```
//!
//! Source: Hensgen, Finkel, Manber: Two algorithms for barrier synchronization, 1988.
//! Left out: shared-memory flags inside a node. Noticeable with many ranks on one node.

use crate::{Round, Task};

/// Round k: one message each way; its number is the tag.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let distance = 1_u64 << k.min(32);
    let size = u64::from(task.size);
    if distance >= size {
        return false;
    }
    let rank = u64::from(task.rank);
    let wrap = |value: u64| u32::try_from(value % size).expect("below the size");
    let tag = u16::try_from(k).expect("at most 32 rounds");
    round.signal(wrap(rank + distance), tag, task.nothing());
    round.hear(wrap(rank + size - distance), tag, task.nothing());
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{At, Collective, Move};
    use calls::arguments::Comm;
    use calls::space::Space;

    /// Every rank must know of the entry of all when the last round is over.
    #[test]
    fn after_the_last_round_everybody_has_heard_of_everybody() {
        let barrier = Collective::barrier(Comm(0));
        for size in 1..=17_u32 {
            let mut knows: Vec<u64> = (0..size).map(|rank| 1 << rank).collect();
            for k in 0.. {
                let at = At { phase: 0, round: k };
                let before = knows.clone();
                let mut left = 0;
                for rank in 0..size {
                    let mut round = Round::default();
                    if !barrier.round((rank, size), Space::Scratch(0), at, &mut round) {
                        left += 1;
                        continue;
                    }
                    let [Move::Send { .. }, Move::Receive { from, .. }] = round.moves[..] else {
                        panic!("a round is one message each way, not {round:?}")
                    };
                    knows[rank as usize] |= before[from.0 as usize];
                }
                assert!(left == 0 || left == size, "all ranks have as many rounds");
                if left == size {
                    break;
                }
            }
            assert!(knows.iter().all(|&set| set == (1 << size) - 1), "size {size}");
        }
    }
}
