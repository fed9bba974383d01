//! The first half of a broadcast of a long message: a scatter of its parts down a binomial tree.
//!
//! ```text
//!   root 0 of 4:   0 ──parts 2, 3──▶ 2      0 ──1──▶ 1, 2 ──3──▶ 3
//! ```
//!
//! Ranks are turned so that the root is 0; the i-th has the i-th part then. The second half collects them.

use super::parts::share;
use super::tree::{held, span, turned, unturned};
use crate::{Round, Task};
use calls::space::Region;

/// One rank's view of the scatter.
pub(super) struct Scatter<'a> {
    task: &'a Task<'a>,
    /// The rank where the root is turned to be 0.
    pub(super) me: u32,
}

impl<'a> Scatter<'a> {
    pub(super) fn new(task: &'a Task<'a>) -> Self {
        Self { task, me: turned(task.rank, task.root, task.size) }
    }

    /// The parts of turned ranks `first..last`.
    pub(super) fn parts(&self, first: u32, last: u32) -> Region {
        let output = self.task.output;
        share(output, (output.len, 1), self.task.size, (first, last))
    }

    /// Scatters, and then goes on with `collect`, whose rounds count from 0 and whose ranks are turned.
    pub(super) fn then(
        &self,
        k: u32,
        round: &mut Round,
        collect: impl FnOnce(u32, &mut Round) -> bool,
    ) -> bool {
        let Task { size, root, .. } = *self.task;
        let (me, span) = (self.me, span(self.me, size));
        let comes = u32::from(me > 0);
        let begun = round.moves.len();
        let mut more = true;
        if k < comes {
            round.receive(me - span, self.parts(me, me + held(me, size)));
        } else if k < comes + span.ilog2() {
            let child = me + (span >> (k - comes + 1));
            if child < size {
                round.send(child, self.parts(child, child + held(child, size)));
            }
        } else {
            more = collect(k - comes - span.ilog2(), round);
        }
        round.rename(begun, |turned| unturned(turned, root, size));
        more
    }
}
