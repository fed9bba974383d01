//! Threads that run ahead of the clock: what nobody else can tell them anything about needs no events.

use crate::monitors::buffers::Lends;
use crate::timed::conductor::Timed;
use crate::timed::event::Happening;
use crate::timed::event::Phase;
use protocols::contract::{Machine, Program};

/// Most lists that threads run ahead in one event: a program without end must not stop the clock.
const LISTS_AHEAD: u32 = 1024;

impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// Threads that run ahead go on, for a bounded number of lists.
    pub(in crate::timed) fn run_ahead(&mut self) {
        for _ in 0..LISTS_AHEAD {
            let Some((thread, at)) = self.cores.ahead.pop() else { return };
            self.list_end(thread, at);
        }
        self.ran_far(LISTS_AHEAD);
        while let Some((thread, at)) = self.cores.ahead.pop() {
            self.schedule(at, thread, Phase::Library, Happening::ListEnd(thread));
        }
    }
}
