//! Locks of windows that are mapped, taken and given back by atomics of the origin.
//!
//! ```text
//!   lock     read numbers, take a ticket ─▶ read numbers ── my turn ─────────────▶ shared: call the next
//!                                               └─ not yet ─▶ poll … turn called ─▶ shared: call the next
//!   unlock   call the next: one number, or two
//! ```
//!
//! No packet is sent, and the target does nothing. Who waits makes progress between its looks at the
//! number. A lock of all takes the locks of all ranks, one after the other.
//!
//! Source: `OSCSM`; the numbers are those of [`TicketLock`].

use super::port::Port;
use super::settings::{MappedLocks, Settings};
use super::token::token;
use super::window::{Lock, Stage, Taking, Target, Wants, Window};
use crate::contract::{ASKED, Action, Change, Counter, Thread, Token};
#[cfg(feature = "mutants")]
use crate::mutant::Mutant;
use mpi::rma::synchronisation::LockKind;
use mpi::rma::ticket_lock::{Number, TicketLock};

/// Slots of tokens that name threads; operations have the lowest ones.
const THREADS: u32 = 0xFFFF_0000;

/// The thread that a slot names; `None` where it names an operation.
pub(super) fn thread_of(slot: u32) -> Option<Thread> {
    slot.checked_sub(THREADS).and_then(|thread| u16::try_from(thread).ok()).map(Thread)
}

impl Window {
    /// Whether nobody grants the locks of this window.
    pub(super) fn locks_by_atomics(&self, settings: &Settings) -> bool {
        self.is_shared() && settings.mapped_locks == MappedLocks::Atomics
    }

    fn number(&self, target: u32, number: Number) -> Counter {
        let lock = TicketLock { memory: self.bases[target as usize].memory, rank: target };
        Counter::Lock(lock, number)
    }

    fn lock_token(&self, thread: Thread) -> Token {
        token(self.id, THREADS + u32::from(thread.0), 0)
    }

    /// A thread takes a lock, once it has those that it called for before.
    pub(super) fn take_lock(&mut self, target: u32, kind: LockKind, port: &mut Port<'_>) {
        let (thread, stage) = (port.thread, Stage::Queued);
        self.takings.push(Taking { thread, target, kind, stage });
        self.take_next(thread, port);
    }

    /// The first lock that a thread has called for and has not got.
    fn taking(&mut self, thread: Thread) -> Option<&mut Taking> {
        self.takings.iter_mut().find(|taking| taking.thread == thread)
    }

    fn take_next(&mut self, thread: Thread, port: &mut Port<'_>) {
        let Some(taking) = self.taking(thread) else { return };
        if taking.stage == Stage::Queued {
            taking.stage = Stage::Tickets;
            let target = taking.target;
            self.read(thread, target, port);
        }
    }

    fn read(&self, thread: Thread, target: u32, port: &mut Port<'_>) {
        let counters = Number::ALL.map(|number| self.number(target, number));
        port.out.push(Action::Consult { counters, token: self.lock_token(thread) });
    }

    fn grows(&self, target: u32, number: Number, port: &mut Port<'_>) {
        let (counter, change) = (self.number(target, number), Change::Up);
        port.out.push(Action::Count { counter, change });
    }

    /// The numbers of the lock that a thread is taking are these.
    pub(super) fn read_numbers(
        &mut self,
        thread: Thread,
        values: [u32; ASKED],
        port: &mut Port<'_>,
    ) -> Option<()> {
        let Taking { target, kind, stage, .. } = *self.taking(thread)?;
        let awaited = Number::awaited(kind);
        #[cfg(feature = "mutants")]
        let awaited = if port.has(Mutant::EntersWithReaders) { Number::Readers } else { awaited };
        match stage {
            Stage::Tickets => {
                let ticket = values[Number::Tickets as usize];
                self.grows(target, Number::Tickets, port);
                self.taking(thread)?.stage = Stage::Looks(ticket);
                self.read(thread, target, port);
            }
            Stage::Looks(ticket) if values[awaited as usize] == ticket => {
                self.has_lock(thread, port);
            }
            Stage::Looks(ticket) => {
                self.taking(thread)?.stage = Stage::Waits(ticket);
                let (counter, token) = (self.number(target, awaited), self.lock_token(thread));
                port.out.push(Action::Watch { counter, value: ticket, token });
            }
            Stage::Queued | Stage::Waits(_) => return None,
        }
        Some(())
    }

    /// The ticket of a thread that waits is called.
    pub(super) fn is_called(&mut self, thread: Thread, port: &mut Port<'_>) -> Option<()> {
        let waits = matches!(self.taking(thread)?.stage, Stage::Waits(_));
        waits.then(|| self.has_lock(thread, port))
    }

    /// A thread has the lock that it was taking.
    fn has_lock(&mut self, thread: Thread, port: &mut Port<'_>) {
        let place = self.takings.iter().position(|taking| taking.thread == thread);
        let Taking { target, kind, .. } = self.takings.remove(place.expect("it was looked up"));
        if kind == LockKind::Shared {
            self.grows(target, Number::Readers, port);
        }
        self.granted(target, port);
        self.take_next(thread, port);
    }

    /// Whether unlock (of one target, or of all) uses atomics and has already been reported to the
    /// monitors.
    pub(super) fn gives_back_by_atomics(&self, target: Option<u32>, settings: &Settings) -> bool {
        let taken = |state: &Target| matches!(state.lock, Lock::Requested(_) | Lock::Granted(_));
        let taken = match target {
            Some(target) => self.targets.get(&target).is_some_and(taken),
            None => self.targets.values().all(taken),
        };
        taken && self.locks_by_atomics(settings)
    }

    /// A lock is given back: the accesses under it are complete before anybody else can have it.
    pub(super) fn give_lock_back(&mut self, target: u32, kind: LockKind, port: &mut Port<'_>) {
        let state = self.targets.get_mut(&target).expect("a lock has made its target");
        (state.lock, state.wants) = (Lock::Open, Wants::Nothing);
        self.tell_done(Some(target), Wants::Unlock, port);
        for &number in Number::at_end(kind) {
            #[cfg(feature = "mutants")]
            if number == Number::Readers && port.has(Mutant::ForgetsReaders) {
                continue;
            }
            self.grows(target, number, port);
        }
        self.forget_if_over(target);
    }
}
