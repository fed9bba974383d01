//! Actions of a core for a small message: work, walks, copies, packets, buffers given back, facts.
//!
//! ```text
//!   list of actions ── actions.rs ──┐
//!   library that emits ─ at_once.rs ┴▶ Executor: one action, from a moment on ─▶ the moment of the next
//! ```

use super::context::Context;
use super::cores::Worker;
use super::event::{Event, Phase};
use super::memory::Memory;
use super::network::Network;
use super::network::flight::{Content, FlightKind};
use crate::account::Part;
use mpi::observation::Observation;
use mpi::operator::{Reduction, Side};
use protocols::contract::{CodePath, Machine, Process, Program, Queue, Region, Route, Via};
use units::{Bytes, Time, TimeDelta};

/// A thread that works, with what its actions reach.
pub(super) struct Executor<'a, M: Machine, P> {
    pub(super) worker: Worker<'a, M, P>,
    pub(super) memory: &'a mut Memory,
    pub(super) network: &'a mut Network<M::Packet>,
    pub(super) cx: &'a mut Context,
}

impl<M: Machine, P: Program<M>> Executor<'_, M, P> {
    #[inline]
    const fn process(&self) -> Process {
        self.worker.actor.process
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "two additions, where a thread is alone")]
    fn charge(&mut self, part: Part, cursor: Time, work: TimeDelta) -> Time {
        self.worker.charge(part, cursor, work, self.cx)
    }

    /// The core hands something to a wire, or takes a completion.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "two additions, where a thread is alone")]
    fn post(&mut self, cursor: Time, work: TimeDelta) -> Time {
        self.charge(Part::Post, cursor, work)
    }

    /// The core runs a stretch of library code.
    #[inline]
    pub(super) fn run_code(&mut self, step: CodePath, cursor: Time) -> Time {
        self.charge(Part::Library, cursor, self.cx.costs.step(step))
    }

    /// The core walks a matching queue; the observers have the fact after that.
    #[inline]
    pub(super) fn walk(
        &mut self,
        queue: Queue,
        (entries, length): (u32, u32),
        fact: Option<&Observation>,
        cursor: Time,
    ) -> Time {
        self.worker.count_entries(entries);
        let cost = self.cx.costs.walk(queue, entries, length);
        let cursor = self.charge(Part::Walk, cursor, cost);
        if let Some(fact) = fact {
            self.observe(fact, cursor);
        }
        cursor
    }

    /// The core copies inside its process; `None` where memory decides how long.
    #[inline]
    pub(super) fn copy(&mut self, ends: (Region, Region), cursor: Time) -> Option<Time> {
        self.memory.copy(self.process(), ends, &mut self.cx.observers);
        let cursor = self.fetch_for_copy(ends, (Part::Wait, cursor));
        self.move_bytes(ends.0.len, cursor)
    }

    /// The core combines two buffers; `None` where memory decides how long. That costs as much as a copy: it
    /// reads two streams, one of which it also writes, and the arithmetic hides behind them.
    #[inline]
    pub(super) fn combine(
        &mut self,
        ends: (Region, Region),
        (reduction, side): (Reduction, Side),
        cursor: Time,
    ) -> Option<Time> {
        let (process, (from, into)) = (self.process(), ends);
        self.cx.observers.reads(process, from);
        self.cx.observers.writes(process, into);
        self.memory.bytes.combine(process, ends, reduction, side);
        self.move_bytes(from.len, cursor)
    }

    /// A copy needs lines of mapped memory, from `cursor` on: when they are there. That is no work:
    /// outside the library it is of [`Part::Outside`], inside of [`Part::Wait`].
    #[inline]
    pub(super) fn fetch_for_copy(
        &mut self,
        ends: (Region, Region),
        (part, cursor): (Part, Time),
    ) -> Time {
        let here = self.worker.actor.placement().place;
        let wait = self.memory.mapped.fetch_for_copy(here, ends, &self.cx.costs);
        self.worker.stand_still(part, cursor, wait, self.cx)
    }

    /// The core moves so many bytes from `cursor` on; `None` where memory carries them.
    #[inline]
    pub(super) fn move_bytes(&mut self, bytes: u64, cursor: Time) -> Option<Time> {
        let bytes = Bytes::new(bytes);
        if let Some(cost) = self.cx.costs.cached_copy(bytes) {
            return Some(self.charge(Part::Copy, cursor, cost));
        }
        let thread = self.worker.thread;
        self.worker.actor.copying = (bytes, cursor);
        self.cx.schedule(cursor, thread, Phase::Copy, Event::CopyStart(thread));
        None
    }

    /// A packet leaves; `packet` makes it in its place.
    #[inline]
    pub(super) fn send(
        &mut self,
        (to, via): (Route, Via),
        header: Bytes,
        payload: Option<Region>,
        packet: impl FnOnce() -> M::Packet,
        cursor: Time,
    ) -> Time {
        let process = self.process();
        let parcel = payload.map(|region| {
            self.cx.observers.reads(process, region);
            self.memory.bytes.capture(process, region)
        });
        let bytes = header.as_u64() + payload.map_or(0, |region| region.len);
        let slots = self.network.enter_queue((process, to), via, bytes, self.cx);
        let content = || Content { packet: packet(), parcel, slots };
        let content = self.network.keep(content);
        let kind = || FlightKind::Packet { content, via };
        self.launch(to, kind, bytes, via, cursor)
    }

    /// Executor something to a wire: the core pays for posting it, and it leaves then. `kind` makes it in
    /// its place.
    pub(super) fn launch(
        &mut self,
        to: Route,
        kind: impl FnOnce() -> FlightKind,
        bytes: u64,
        via: Via,
        cursor: Time,
    ) -> Time {
        let cost = match via {
            Via::Hca => self.cx.costs.post(),
            Via::SharedMemory => self.cx.costs.cell_write() + self.cx.costs.cell_lines(bytes),
        };
        let cursor = self.post(cursor, cost);
        self.worker.actor.account.packets += 1;
        let (thread, ends) = (self.worker.thread, (self.process(), to));
        let id = self.network.launch(ends, kind, bytes, self.cx);
        if self.cx.observers.traces() {
            self.cx.observers.trace(|path| path.launched(id, thread));
            self.network.trace_message(id, cursor, self.cx);
        }
        self.cx.schedule(cursor, thread, Phase::Post, Event::Depart(id));
        cursor
    }

    /// A landing buffer is given back.
    #[inline]
    pub(super) fn repost(&mut self, landing: Region, from: Route, cursor: Time) -> Time {
        let process = self.process();
        self.memory.bytes.free_landing(process, landing);
        if self.cx.layout.node(from.peer) == self.cx.layout.node(process) {
            return self.post(cursor, self.cx.costs.cell_write());
        }
        // Nearly always the buffer of the packet that is handled.
        let channel = match self.worker.actor.taken {
            Some((taken, channel)) if taken == from => channel,
            _ => self.network.channel_from(process, from, self.cx),
        };
        self.worker.actor.reposts.push(channel);
        self.post(cursor, self.cx.costs.profile.hca.repost_overhead)
    }

    /// A request is complete: its code runs, then the observers have the fact, and the buffer is free.
    #[inline]
    pub(super) fn complete(
        &mut self,
        code: Option<CodePath>,
        buffer: Option<Region>,
        fact: Option<&Observation>,
        cursor: Time,
    ) -> Time {
        let cursor = code.map_or(cursor, |step| self.run_code(step, cursor));
        let (process, bytes) = (self.process(), &mut self.memory.bytes);
        self.cx.observers.completes(bytes, process, buffer, fact);
        cursor
    }

    /// The observers have a fact that the library states inside a call of the thread.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it only hands on")]
    pub(super) fn observe(&mut self, fact: &Observation, at: Time) {
        let (process, program) = (self.process(), &self.worker.actor.program);
        let known = self.cx.observers.violated();
        self.cx.observers.observes(process, fact, at, || program.position());
        if self.cx.observers.violated() > known
            && let Some(site) = program.call_site()
        {
            // A real program has no line of a scenario.
            self.cx.observers.happened_in(known, process, &site);
        }
    }
}
