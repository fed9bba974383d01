//! The memory of the job's nodes: bytes, counters, and what cores of a node do to each other by them.
//!
//! | file | what it keeps |
//! |---|---|
//! | `mapped.rs` | lines and mutexes of memory that several processes map |
//! | `waiters.rs` | lines of lock counters, and the threads that wait for a value |
//! | `peer_copy.rs` | copies by the kernel between two processes |
//! | `delayed.rs` | counters of an HCA, which are read late |
//!
//! Each answers how long something takes; the conductor charges it to a core.

mod delayed;
mod mapped;
mod peer_copy;
mod waiters;

use std::rc::Rc;

use super::context::Context;
use super::observers::Observers;
use super::setup::Kernel;
use crate::counters::Counters;
use crate::memory::{Memories, Payload};
use calls::typed::TypedCopy;
use delayed::DelayedCounters;
use hardware::core::Place;
pub(super) use mapped::Mapped;
use mpi::rma::ticket_lock::TicketLock;
use mpi::rma::update::Effect;
pub(super) use peer_copy::{CopyPart, PeerCopies};
use protocols::contract::{COUNTERS, Change, Counter, Lane, Process, Region, Token};
use protocols::process_memory::ProcessMemory;
use units::{Time, TimeDelta};
use waiters::Notice;
pub(super) use waiters::Waiters;

/// Memory, and what cores do to each other by it.
#[derive(Debug)]
pub(super) struct Memory {
    /// The bytes behind regions.
    pub(super) bytes: Memories,
    pub(super) mapped: Mapped,
    pub(super) waiters: Waiters,
    pub(super) peer_copies: PeerCopies,
    counters: Counters,
    delayed: DelayedCounters,
}

impl Memory {
    pub(super) fn new(
        (processes, real): (usize, Option<Rc<dyn ProcessMemory>>),
        payload: Payload,
        kernel: Option<Kernel>,
        counter_lag: TimeDelta,
    ) -> Self {
        Self {
            bytes: Memories::new(processes, payload).with_real_processes(real),
            mapped: Mapped::default(),
            waiters: Waiters::default(),
            peer_copies: PeerCopies::new(kernel.unwrap_or_default()),
            counters: Counters::default(),
            delayed: DelayedCounters::new(counter_lag),
        }
    }

    /// A process copies between its buffers.
    #[inline]
    pub(super) fn copy(
        &mut self,
        process: Process,
        (from, to): (Region, Region),
        observers: &mut Observers,
    ) {
        observers.reads(process, from);
        observers.writes(process, to);
        self.bytes.copy(process, from, to);
    }

    /// A process gathers or scatters the pieces of a buffer.
    pub(super) fn pack(&mut self, process: Process, copy: &TypedCopy, observers: &mut Observers) {
        let (from, to) = copy.ends();
        observers.reads(process, from);
        observers.writes(process, to);
        self.bytes.pack(process, copy);
    }

    /// A process updates elements, with an operand; `old` keeps what they were. Answers whether that
    /// wrote: under the mutex of mapped memory a comparison that fails does not.
    pub(super) fn update(
        &mut self,
        process: Process,
        (target, update): (Region, Effect),
        (operand, old): (Option<Region>, Option<Region>),
        observers: &mut Observers,
    ) -> bool {
        if let Some(region) = operand {
            observers.reads(process, region);
        }
        for region in [Some(target), old].into_iter().flatten() {
            observers.writes(process, region);
        }
        let compares = mapped::is_mapped(target) && matches!(update, Effect::CompareAndSwap(_));
        let before = compares.then(|| self.bytes.load(process, target));
        self.bytes.update(process, target, update, operand, old);
        let fails = before.is_some_and(|before| before == self.bytes.load(process, target));
        !fails && !matches!(update, Effect::NoOp(_))
    }

    /// A counter is changed at `at`.
    pub(super) fn change_counter(
        &mut self,
        counter: Counter,
        change: Change,
        at: Time,
        observers: &mut Observers,
    ) {
        let value = self.counters.change(counter, change, observers.violations());
        self.delayed.changed(counter, at, value);
    }

    /// Values of counters as a core that reads them at `at` sees them.
    pub(super) fn read_counters(
        &mut self,
        counters: [Counter; COUNTERS],
        at: Time,
    ) -> [u32; COUNTERS] {
        self.delayed.seen(counters, at, self.counters.read(counters))
    }

    /// Laws of counters that hold when every program has ended.
    pub(super) fn run_ends(&self, observers: &mut Observers) {
        self.counters.end(observers.violations());
    }

    /// A number of a lock was changed by `thread` at `here` until `end`: those that wait look at it.
    pub(super) fn lock_changed(
        &mut self,
        by: (u32, Place),
        lock: TicketLock,
        end: Time,
        cx: &mut Context,
    ) {
        let value = |counter| self.counters.value(counter);
        self.waiters.changed(by, lock, end, value, cx);
    }

    /// A core waits for a value of a counter from `cursor` on; it is seen by this name.
    pub(super) fn wait_for(
        &mut self,
        (thread, here): (u32, Place),
        (counter, value): (Counter, u32),
        (process, lane, token): (Process, Lane, Token),
        cursor: Time,
        cx: &mut Context,
    ) {
        let notice = Notice { process, lane, token };
        if self.counters.value(counter) == value {
            self.waiters.will_see(thread, notice, cursor, cx);
        } else {
            self.waiters.wait((thread, here), (counter, value), notice);
        }
    }
}
