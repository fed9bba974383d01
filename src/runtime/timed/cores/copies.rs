//! Copies inside a process, and what costs as much: the core is busy, and memory may share.

use crate::account::Part;
use crate::causes::Spent;
use crate::monitors::buffers::Lends;
use crate::timed::conductor::Timed;
use crate::timed::context::FabricSchedule;
use crate::timed::event::Happening;
use crate::timed::event::Phase;
use crate::timed::network::flight::COPY;
use crate::timed::network::flight::token;
use hardware::copies::CoreCopy;
use hardware::fabric::{ConnId, Transfer};
use hardware::lines::Use;
use mpi::rma::update::Effect;
use protocols::contract::{Machine, Process, Program, Region, Space};
use protocols::typed::TypedCopy;
use units::{Bytes, Time};

impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// The core registers a buffer: library code, that explanations tell apart.
    pub(in crate::timed) fn register(
        &mut self,
        thread: u32,
        process: Process,
        region: Region,
        cursor: Time,
    ) -> Time {
        let cost = self.cx.costs.register(process, region);
        self.charge_with_others(thread, (Part::Library, Spent::Registration), cursor, cost)
    }

    /// The core copies inside its process.
    pub(in crate::timed) fn copy(
        &mut self,
        thread: u32,
        process: Process,
        from: Region,
        to: Region,
        cursor: Time,
    ) -> Option<Time> {
        self.cx.observers.buffers.reads(process, from, &mut self.cx.observers.violations);
        self.cx.observers.buffers.writes(process, to, &mut self.cx.observers.violations);
        self.memory.bytes.copy(process, from, to);
        let cursor = self.copy_fetches(thread, (from, to), (Part::Wait, cursor));
        self.move_bytes(thread, Bytes::new(from.len), cursor)
    }

    /// The core gathers or scatters the pieces of a buffer, undisturbed by other cores: see
    /// [`packing`](hardware::memory::packing).
    pub(in crate::timed) fn pack(
        &mut self,
        thread: u32,
        process: Process,
        copy: &TypedCopy,
        cursor: Time,
    ) -> Time {
        let (from, to) = copy.ends();
        self.cx.observers.buffers.reads(process, from, &mut self.cx.observers.violations);
        self.cx.observers.buffers.writes(process, to, &mut self.cx.observers.violations);
        self.memory.bytes.pack(process, copy);
        let cost = self.cx.costs.pack(copy);
        self.charge_with_others(thread, (Part::Copy, Spent::Packing), cursor, cost)
    }

    /// The core updates elements of a window: it reads and writes them, and their operands.
    pub(in crate::timed) fn update(
        &mut self,
        thread: u32,
        (target, rank, update): (Region, u32, Effect),
        operand: Option<Region>,
        old: Option<Region>,
        cursor: Time,
    ) -> Option<Time> {
        let process = self.names(thread).0;
        if let Some(region) = operand {
            self.cx.observers.buffers.reads(process, region, &mut self.cx.observers.violations);
        }
        for region in [Some(target), old].into_iter().flatten() {
            self.cx.observers.buffers.writes(process, region, &mut self.cx.observers.violations);
        }
        let Space::Shared(name) = target.space else {
            self.memory.bytes.update(process, target, update, operand, old);
            return self.move_bytes(thread, Bytes::new(target.len), cursor);
        };
        let compares = matches!(update, Effect::CompareAndSwap(_));
        let before = compares.then(|| self.memory.bytes.load(process, target));
        self.memory.bytes.update(process, target, update, operand, old);
        // Under the mutex a comparison that fails writes nothing.
        let fails = before.is_some_and(|before| before == self.memory.bytes.load(process, target));
        let reads = fails || matches!(update, Effect::NoOp(_));
        let does = if reads { Use::Reads } else { Use::Writes };
        Some(self.change_mapped(thread, (name, rank), (target, does), cursor))
    }

    /// The core reads and writes so many bytes. A reduction costs as much as a copy: it reads two
    /// streams, one of which it also writes, and the arithmetic hides behind them.
    pub(in crate::timed) fn move_bytes(
        &mut self,
        thread: u32,
        bytes: Bytes,
        cursor: Time,
    ) -> Option<Time> {
        if let Some(cost) = self.cx.costs.cached_copy(bytes) {
            return Some(self.charge(thread, Part::Copy, cursor, cost));
        }
        self.actor(thread).copying = (bytes, cursor);
        self.schedule(cursor, thread, Phase::Copy, Happening::CopyStart(thread));
        None
    }

    /// The core begins a copy beyond its caches: memory shares it with others.
    pub(in crate::timed) fn copy_start(&mut self, thread: u32) {
        let now = self.cx.clock.simulation.now();
        let actor = &self.cores.actors[thread as usize];
        let (bytes, place) = (actor.copying.0.as_u64(), actor.placement.place);
        // As in `Costs::cached_copy`, which found that others share what carries it.
        let copy = CoreCopy::local(place, Bytes::new(2 * bytes));
        let path =
            self.network.cluster.copy_path(copy).expect("a copy that others can slow has a path");
        let transfer = Transfer { conn: ConnId(thread), path, bytes, token: token(COPY, thread) };
        self.network.cluster.fabric.start(
            now,
            transfer,
            &mut FabricSchedule(&mut self.cx.clock.simulation),
        );
    }

    /// The copy is done: the list goes on.
    pub(in crate::timed) fn copied(&mut self, thread: u32) {
        let now = self.cx.clock.simulation.now();
        let actor = self.actor(thread);
        if actor.peer_copy.is_some() {
            return self.move_part(thread);
        }
        let begun = actor.copying.1;
        actor.account.add(Part::Copy, now.since(begun));
        self.work_on(thread, now, false);
    }
}
