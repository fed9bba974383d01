//! Recursive doubling of what ranks have: partners at distance 1, 2, 4, … exchange all of it.
//!
//! Where P is no power of two, each rank beyond the greatest one, 2^m + i, first gives its block to
//! rank i, whose set then has it, and at the end gets everything from there.

use crate::Round;
use calls::space::Region;

/// Rounds of a collection among so many ranks.
pub(super) const fn rounds(size: u32) -> u32 {
    size.ilog2() + 2
}

/// Fold; one exchange a level; unfold. `ranks` is where the blocks of some ranks stand, one after the other.
pub(super) fn collect(
    (rank, size): (u32, u32),
    k: u32,
    ranks: impl Fn(u32, u32) -> Region,
    round: &mut Round,
) -> bool {
    let core = 1_u32 << size.ilog2();
    let levels = core.ilog2();
    let extra = Some(rank + core).filter(|extra| *extra < size && rank < core);
    if k == 0 {
        if let Some(extra) = extra {
            round.receive(extra, ranks(extra, extra + 1));
        } else if rank >= core {
            round.send(rank - core, ranks(rank, rank + 1));
        }
    } else if k <= levels {
        if rank < core {
            exchange((rank, size), (core, k - 1), ranks, round);
        }
    } else if k == levels + 1 {
        if let Some(extra) = extra {
            round.send(extra, ranks(0, size));
        } else if rank >= core {
            round.receive(rank - core, ranks(0, size));
        }
    }
    k < rounds(size)
}

/// Exchanges blocks with a partner: those of the two ranks' groups in the core, and of the ranks folded in.
fn exchange(
    (rank, size): (u32, u32),
    (core, level): (u32, u32),
    ranks: impl Fn(u32, u32) -> Region,
    round: &mut Round,
) {
    let partner = rank ^ 1 << level;
    let groups = |member: u32| {
        let first = member >> level << level;
        let fold = |rank: u32| (rank + core).min(size);
        [(first, first + (1 << level)), (fold(first), fold(first + (1 << level)))]
    };
    for (first, last) in groups(partner) {
        round.receive(partner, ranks(first, last));
    }
    for (first, last) in groups(rank) {
        round.send(partner, ranks(first, last));
    }
}
