//! Forgetting: a search keeps the parts of the states that wait, and not those of all that it has met.

use super::parts::Number;
use super::results::Turns;
use super::{NONE, Row, States};
use crate::monitors::buffers::Lends;
use crate::prints::Prints;
use crate::untimed::memo::Memo;
use protocols::contract::{Machine, Program};

/// Parts of a kind above which those that no state has are forgotten.
/// Method: a few hundred bytes each; what is needed again is soon known again.
pub(super) const CROWD: usize = 1 << 17;

impl<M: Machine, P: Program<M>> States<M, P>
where
    M::Call: Lends,
{
    /// Whether there are many parts.
    pub fn are_crowded(&self) -> bool {
        let Self { locals, ports, monitors, windows, rests, crowd, .. } = self;
        locals.len() > *crowd
            || ports.len() > *crowd
            || monitors.len() > *crowd
            || windows.len() > *crowd
            || rests.len() > *crowd
    }

    /// The parts of the kind that has most.
    fn most(&self) -> usize {
        let all = [
            self.locals.len(),
            self.ports.len(),
            self.monitors.len(),
            self.windows.len(),
            self.rests.len(),
        ];
        all.into_iter().max().unwrap_or(0)
    }

    /// Forgets all parts but those of some states, and all results.
    pub fn keep_only<'a>(&mut self, rows: impl Iterator<Item = &'a Row>) {
        let kinds = 2 * self.processes + 3;
        let mut used: [Vec<bool>; 5] = Default::default();
        for row in rows {
            debug_assert_eq!(row.len(), kinds, "a number for each part");
            for (place, number) in row.iter().enumerate() {
                mark(&mut used[self.kind(place)], *number);
            }
        }
        let [locals, ports, monitors, windows, rests] = used;
        self.locals.keep_only(&locals);
        self.ports.keep_only(&ports);
        self.monitors.keep_only(&monitors);
        self.windows.keep_only(&windows);
        self.rests.keep_only(&rests);
        self.turns = Turns::default();
        self.others = Prints::default();
        self.world.memo = Memo::empty();
        self.made.fill(NONE);
        self.crowd = self.least_crowd.max(2 * self.most());
    }

    /// The kind of part that stands at a place.
    const fn kind(&self, place: usize) -> usize {
        if place < self.processes {
            0
        } else if place < 2 * self.processes {
            1
        } else {
            2 + place - 2 * self.processes
        }
    }
}

fn mark(used: &mut Vec<bool>, number: Number) {
    let number = number as usize;
    if used.len() <= number {
        used.resize(number + 1, false);
    }
    used[number] = true;
}
