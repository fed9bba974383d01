//! What programs do to memory themselves: they load, store and copy.
//!
//! What others can reach is touched at its time, in the order of the clock; the rest at once, since
//! nobody can tell.

use crate::account::Part;
use crate::causes::Spent;
use crate::monitors::buffers::Lends;
use crate::timed::conductor::Timed;
use crate::timed::cores::actor::State;
use crate::timed::event::Happening;
use crate::timed::event::Phase;
use crate::untimed::Choice;
use hardware::lines::Use;
use mpi::rma::access::Touch;
use protocols::contract::{Machine, Next, Program, Region};
use units::{Bytes, Time, TimeDelta};

impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// The program reads or writes memory at `at`; answers whether it goes on at once. What others can
    /// reach is touched at its time, and not ahead of the clock, and where other cores have its lines
    /// they come first: nothing else costs.
    pub(in crate::timed) fn read_or_write(
        &mut self,
        thread: u32,
        touch: &Next<M::Call>,
        at: Time,
    ) -> bool {
        let (Next::Load(region) | Next::Take(region) | Next::Store(region, _)) = *touch else {
            unreachable!("only loads and stores touch memory")
        };
        if region.is_in_a_window() && !self.is_due(thread, touch, at) {
            return false;
        }
        let (process, _) = self.names(thread);
        let stores = matches!(touch, Next::Store(..));
        let (kind, does) =
            if stores { (Touch::Store, Use::Writes) } else { (Touch::Load, Use::Reads) };
        self.watch(thread, region, kind);
        if let Next::Store(region, value) = *touch {
            self.memory.bytes.store(process, region, &value.to_le_bytes());
        } else {
            let value = self.memory.bytes.load(process, region);
            self.actor(thread).program.loaded(value);
        }
        if let Next::Take(region) = *touch {
            self.memory.bytes.forget(process, region.space);
        }
        let wait = self.fetch_mapped(thread, region, does);
        if wait > TimeDelta::ZERO {
            self.outside_for(thread, Spent::Line, wait, at);
        }
        wait == TimeDelta::ZERO
    }

    /// The monitors see memory that others can reach being touched.
    pub(in crate::timed) fn watch(&mut self, thread: u32, region: Region, touch: Touch) {
        let (process, _) = self.names(thread);
        let program = &self.cores.actors[thread as usize].program;
        let found = &mut self.cx.observers.violations;
        self.cx.observers.monitors.touched(process, region, touch, || program.position(), found);
    }

    /// Whether the time has come to touch what others can reach; until then the thread waits.
    pub(in crate::timed) fn is_due(
        &mut self,
        thread: u32,
        touch: &Next<M::Call>,
        at: Time,
    ) -> bool {
        if at > self.cx.clock.simulation.now() {
            self.actor(thread).touches = Some(touch.clone());
            self.schedule(at, thread, Phase::Library, Happening::Touch(thread));
            return false;
        }
        let (process, inner) = self.names(thread);
        self.record(|| Choice::Touch { process, thread: inner });
        true
    }

    /// The program copies `from` to `to`: the bytes are there when it begins, and its core is busy.
    pub(in crate::timed) fn copy_outside(
        &mut self,
        thread: u32,
        (from, to): (Region, Region),
        at: Time,
    ) {
        let shared = from.is_in_a_window() || to.is_in_a_window();
        if shared && !self.is_due(thread, &Next::Copy(from, to), at) {
            return;
        }
        let actor = self.actor(thread);
        (actor.state, actor.next) = (State::Computing, 0);
        let process = actor.process;
        if !actor.alone {
            let core = actor.placement.core;
            self.cores.slots.begin(core, TimeDelta::ZERO);
        }
        self.watch(thread, from, Touch::Load);
        self.watch(thread, to, Touch::Store);
        self.memory.bytes.copy(process, from, to);
        let at = self.copy_fetches(thread, (from, to), (Part::Outside, at));
        if let Some(end) = self.move_bytes(thread, Bytes::new(from.len), at) {
            self.end_list(thread, end);
        }
    }

    /// The time of a load, a store or a copy has come.
    pub(in crate::timed) fn touched(&mut self, thread: u32) {
        let now = self.cx.clock.simulation.now();
        let touch = self.actor(thread).touches.take().expect("the event was made for one");
        if let Next::Copy(from, to) = touch {
            return self.copy_outside(thread, (from, to), now);
        }
        if self.read_or_write(thread, &touch, now) {
            self.advance_program(thread, None, now);
        }
    }
}
