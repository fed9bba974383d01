//! Binomial trees: the parent of a rank is the rank without its lowest set bit.

/// `rank` where `root` is turned to be 0.
pub(super) const fn turned(rank: u32, root: u32, size: u32) -> u32 {
    if rank >= root { rank - root } else { rank + size - root }
}

/// The rank that [`turned`] has made `turned`.
pub(super) const fn unturned(turned: u32, root: u32, size: u32) -> u32 {
    let rank = turned as u64 + root as u64;
    let size = size as u64;
    let rank = if rank >= size { rank - size } else { rank };
    #[expect(clippy::cast_possible_truncation, reason = "below the size")]
    let rank = rank as u32;
    rank
}

/// How many ranks the subtree of a turned rank would hold in a full tree: its lowest set bit, and
/// for the root the power of two that holds all ranks. Its children are at this over 2, 4, …, 1.
pub(super) const fn span(turned: u32, size: u32) -> u32 {
    if turned == 0 { size.next_power_of_two() } else { turned & turned.wrapping_neg() }
}

/// How many ranks the subtree really holds.
pub(super) fn held(turned: u32, size: u32) -> u32 {
    span(turned, size).min(size - turned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_is_held_once_by_the_children_of_its_parent() {
        for size in 1..=33 {
            for root in 0..size {
                let mut parents = 0;
                for rank in 0..size {
                    let me = turned(rank, root, size);
                    assert_eq!(unturned(me, root, size), rank);
                    let masks = (0..).map(|i| span(me, size) >> (i + 1)).take_while(|&m| m > 0);
                    let children: Vec<u32> =
                        masks.map(|mask| me + mask).filter(|&child| child < size).collect();
                    let below: u32 = children.iter().map(|&child| held(child, size)).sum();
                    assert_eq!(1 + below, held(me, size));
                    parents += u32::try_from(children.len()).expect("fewer children than ranks");
                }
                assert_eq!(parents, size - 1);
            }
        }
    }
}
