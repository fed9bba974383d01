//! Passive target, at the origin: locks, operations and flushes on their way out.
//!
//! ```text
//!   lazy      lock ─▶ note           op ─▶ queue          unlock ─▶ LOCK … GRANTED, all ops, the last
//!   eager     lock ─▶ LOCK           op ─▶ out, if granted         with UNLOCK … DONE or bytes
//!   adaptive  lazy until the queue is long, then eager for the rest of the epoch
//!   merged    one op, nothing sent yet: LOCK + op + UNLOCK in one packet
//! ```
//!
//! A flush or unlock rides on the last operation; bytes that come back say that all before is done.
//! An exclusive unlock after puts is not answered: the target ends this epoch before it grants
//! another.
//!
//! Source: `rma` Sec. 5.3, 5.4.2, 7.1 and Fig. 12. Left out: large operations by rendezvous: a payload
//! is copied and travels with its packets (`pieces.rs`). Noticeable above the eager threshold.

use super::call::{LockKind, Operation};
use super::facts::Facts;
use super::mapped::{self, Look};
use super::packet::{Body, Closes, Does, RmaPacket};
use super::port::Port;
use super::settings::{Issue, MappedLocks, Settings};
use super::window::{Asker, Lock, Queued, Slot, Target, Wants, Window};
use crate::contract::{COUNTERS, CodePath, Region, Thread};
#[cfg(feature = "mutants")]
use crate::mutant::Mutant;
use mpi::rma::ticket_lock::{Number, TicketLock};
use mpi::rma::update::Effect;

impl Window {
    /// `MPI_Win_lock`.
    pub(super) fn lock(
        &mut self,
        target: u32,
        kind: LockKind,
        no_check: bool,
        port: &mut Port<'_>,
    ) {
        let lock = if no_check { Lock::Unchecked } else { Lock::Called(kind) };
        self.targets.insert(target, Target::new(lock));
        let at_once = port.settings().issue == Issue::Eager || self.reaches(target);
        #[cfg(feature = "mutants")]
        let at_once = at_once || port.has(Mutant::LocksAtOnce);
        if at_once {
            self.push(target, port);
        }
    }

    /// An operation inside a passive epoch.
    pub(super) fn passive(&mut self, target: u32, queued: Queued, port: &mut Port<'_>) {
        let settings = port.settings();
        let own = self.reaches(target);
        let by_hca = self.by_hca(settings, &queued.does);
        let lock = self.lock_of_all();
        let state = self.targets.entry(target).or_insert_with(|| Target::new(lock));
        state.queue.push_back(queued);
        state.queued_bytes += queued.place.bytes();
        state.eager |= settings.turns_eager(state.queue.len(), state.queued_bytes);
        if own || state.eager || by_hca {
            self.push(target, port);
        }
    }

    /// The lock of a target that this process touches first, inside a lock of all.
    const fn lock_of_all(&self) -> Lock {
        if self.no_check { Lock::Unchecked } else { Lock::Called(LockKind::Shared) }
    }

    /// Something must become known at a target: `MPI_Win_flush`, `MPI_Win_unlock`, and the waits for
    /// one of its requests.
    pub(super) fn want(&mut self, target: u32, wants: Wants, port: &mut Port<'_>) {
        let Some(state) = self.targets.get_mut(&target) else { return };
        let nothing_done = state.queue.is_empty() && matches!(state.lock, Lock::Called(_));
        if nothing_done {
            // No lock was requested: no unlock is sent.
            if wants == Wants::Unlock {
                self.targets.remove(&target);
            }
            return;
        }
        let mut wants = wants;
        if wants == Wants::Unlock && state.lock == Lock::Unchecked {
            // The lock was never requested, and is not released.
            (state.lock, wants) = (Lock::Open, Wants::Flush);
        }
        state.wants = state.wants.max(wants);
        if wants == Wants::Unlock && self.merges(target, port) {
            return self.merged(target, port);
        }
        self.push(target, port);
    }

    /// Whether lock, operation and unlock travel together.
    fn merges(&self, target: u32, port: &Port<'_>) -> bool {
        let settings = port.settings();
        let state = &self.targets[&target];
        let Some(queued) = state.queue.front() else { return false };
        let kind = match queued.does {
            Operation::Put { .. } | Operation::Get { .. } => true,
            Operation::Update { result, .. } => result.is_none(),
        };
        settings.merge
            && kind
            && state.queue.len() == 1
            && matches!(state.lock, Lock::Called(_))
            && !queued.place.is_strided()
            && queued.place.bytes()
                <= settings.merge_limit.unwrap_or_else(|| port.eager_to(self, target))
    }

    fn merged(&mut self, target: u32, port: &mut Port<'_>) {
        let state = self.targets.get_mut(&target).expect("looked up before");
        let Lock::Called(kind) = state.lock else { unreachable!("it was asked for no lock yet") };
        let queued = state.queue.pop_front().expect("there is one operation");
        // Bytes that come back say that all is done.
        let answers = port.settings().done_after_merge || queued.is_answered();
        (state.lock, state.wants) = (Lock::Open, Wants::Nothing);
        state.answers += u32::from(answers);
        if !answers {
            *self.silent.entry(target).or_default() += 1;
        }
        self.send(target, queued, Some(kind), Closes::Unlock { answers }, port);
        self.forget_if_over(target);
    }

    /// Brings a target nearer to what is wanted of it.
    pub(super) fn push(&mut self, target: u32, port: &mut Port<'_>) {
        let Some(state) = self.targets.get_mut(&target) else { return };
        match state.lock {
            Lock::Called(kind) => {
                state.lock = Lock::Requested(kind);
                if self.locks_by_atomics(port.settings()) {
                    return self.take_lock(target, kind, port);
                }
                if target != self.rank {
                    return port.tell(self, target, Body::Lock(kind), None);
                }
                port.work(CodePath::Control);
                if self.manager.ask(kind, Asker::Own).is_some() {
                    self.granted(target, port);
                }
            }
            Lock::Requested(_) => {}
            Lock::Granted(_) | Lock::Unchecked | Lock::Open => self.issue(target, port),
        }
    }

    /// The target has granted its lock.
    pub(super) fn granted(&mut self, target: u32, port: &mut Port<'_>) {
        let eager_issue = port.settings().issue == Issue::Eager || target == self.rank;
        let settings = port.settings();
        let Some(state) = self.targets.get_mut(&target) else { return };
        let Lock::Requested(kind) = state.lock else { return };
        state.lock = Lock::Granted(kind);
        let by_hca = state.queue.front().is_some_and(|queued| settings.by_hca(&queued.does));
        if eager_issue || state.eager || by_hca || state.wants > Wants::Nothing {
            self.issue(target, port);
        }
    }

    /// Sends what is queued; the last operation carries what is wanted.
    pub(super) fn issue(&mut self, target: u32, port: &mut Port<'_>) {
        let (by_adapter, reaches) = (!self.is_shared(), self.reaches(target));
        while let Some(state) = self.targets.get_mut(&target) {
            let Some(&queued) = state.queue.front() else { break };
            let by_hca = by_adapter
                && port.settings().by_hca(&queued.does)
                && (target != self.rank || needs_hca(&queued.does));
            // An own element may be read by the core, but not before the HCA has updated it.
            let waits = state.updating && matches!(queued.does, Operation::Update { .. });
            #[cfg(feature = "mutants")]
            let waits = waits && (by_hca || !port.has(Mutant::CoreReadsFirst));
            if waits {
                return;
            }
            state.queue.pop_front();
            state.queued_bytes -= queued.place.bytes();
            if by_hca {
                self.post(target, queued, port);
            } else if reaches {
                Self::apply_own(target, queued, port);
                Facts(self).request(target, queued, port);
            } else {
                let closes = self.closing(target, queued.is_answered());
                self.send(target, queued, None, closes, port);
            }
        }
        self.close(target, port);
    }

    /// Flush or lock that ends with the operation going out now, if it is the last one.
    fn closing(&mut self, target: u32, answered: bool) -> Closes {
        let state = self.targets.get_mut(&target).expect("it has operations");
        if !state.queue.is_empty() || state.rdma > 0 {
            state.untold |= !answered;
            return Closes::Nothing;
        }
        match state.wants {
            Wants::Nothing | Wants::Issue => {
                state.untold |= !answered;
                Closes::Nothing
            }
            Wants::Flush => {
                state.answers += 1;
                (state.untold, state.wants) = (false, Wants::Nothing);
                Closes::Flush
            }
            Wants::Unlock => {
                let answers = answered || state.lock != Lock::Granted(LockKind::Exclusive);
                self.unlocking(target, answers)
            }
        }
    }

    /// The lock is given back with the next packet.
    fn unlocking(&mut self, target: u32, answers: bool) -> Closes {
        let state = self.targets.get_mut(&target).expect("a lock has made its target");
        state.answers += u32::from(answers);
        (state.lock, state.wants, state.untold) = (Lock::Open, Wants::Nothing, false);
        if !answers {
            *self.silent.entry(target).or_default() += 1;
        }
        Closes::Unlock { answers }
    }

    /// Nothing is queued any more: what is wanted needs a packet of its own, or nothing.
    fn close(&mut self, target: u32, port: &mut Port<'_>) {
        let by_atomics = self.locks_by_atomics(port.settings());
        let Some(state) = self.targets.get_mut(&target) else { return };
        let asks = match (state.wants, state.lock) {
            // The HCA tells the end of its own operations; a message could overtake them.
            (Wants::Flush | Wants::Unlock, _) if state.rdma > 0 => return,
            (Wants::Flush, _) => state.untold,
            (Wants::Unlock, _) => true,
            (Wants::Nothing | Wants::Issue, _) => false,
        };
        #[cfg(feature = "mutants")]
        let asks = asks
            || state.wants == Wants::Flush && target != self.rank && port.has(Mutant::ExtraFlush);
        if !asks {
            state.wants = Wants::Nothing;
        } else if by_atomics && let (Wants::Unlock, Lock::Granted(kind)) = (state.wants, state.lock)
        {
            self.give_lock_back(target, kind, port);
        } else if target == self.rank {
            (state.lock, state.wants) = (Lock::Open, Wants::Nothing);
            self.leave(port);
        } else if let (Wants::Unlock, Lock::Granted(kind)) = (state.wants, state.lock) {
            let answers = state.untold && kind == LockKind::Shared;
            let closes = self.unlocking(target, answers);
            port.tell(self, target, Body::Close(closes), None);
        } else {
            state.answers += 1;
            (state.untold, state.wants) = (false, Wants::Nothing);
            port.tell(self, target, Body::Close(Closes::Flush), None);
        }
        self.forget_if_over(target);
    }

    /// Sends one operation, in as many packets as it needs: with its lock it is one.
    pub(super) fn send(
        &mut self,
        target: u32,
        queued: Queued,
        locks: Option<LockKind>,
        closes: Closes,
        port: &mut Port<'_>,
    ) {
        #[cfg(feature = "mutants")]
        let queued = if port.has(Mutant::RequestAtOnce) {
            port.complete(queued.request);
            Queued { request: None, ..queued }
        } else {
            queued
        };
        let most = if locks.is_some() { u64::MAX } else { port.segment_to(self, target) };
        let (origin, result) = (queued.does.origin(), queued.does.result());
        let mut pieces = queued.pieces(most).peekable();
        while let Some(piece) = pieces.next() {
            let last = pieces.peek().is_none();
            let ends = if last { closes } else { Closes::Nothing };
            self.send_piece(target, (piece, result.filter(|_| last)), locks, ends, port);
        }
        if let Some(origin) = origin {
            port.give_back(origin);
        }
        if result.is_none() {
            port.complete(queued.request);
        }
    }

    /// Sends one packet of an operation; `gives_back` is the buffer that its bytes complete.
    fn send_piece(
        &mut self,
        target: u32,
        (queued, gives_back): (Queued, Option<Region>),
        locks: Option<LockKind>,
        closes: Closes,
        port: &mut Port<'_>,
    ) {
        let Queued { does, place, .. } = queued;
        let answer = queued.is_answered().then(|| {
            let state = self.targets.get_mut(&target).expect("it has operations");
            state.replies += 1;
            self.open_slot(Slot { target, queued, gives_back, parts: 0 })
        });
        let remote = match does {
            Operation::Put { .. } => Does::Put,
            Operation::Get { .. } => Does::Get,
            Operation::Update { update, .. } => Does::Update(update),
        };
        let payload = does.origin().map(|origin| port.stage(origin));
        let body = Body::Operate { does: remote, place, locks, closes, answer };
        port.tell(self, target, body, payload);
    }

    /// Hands one operation to the HCA, which needs no thread at the target.
    fn post(&mut self, target: u32, queued: Queued, port: &mut Port<'_>) {
        let parts = u32::try_from(queued.place.runs().count()).expect("blocks are counted in u32");
        let slot = self.open_slot(Slot { target, queued, gives_back: None, parts });
        let state = self.targets.get_mut(&target).expect("it has operations");
        state.rdma += 1;
        state.updating |= matches!(queued.does, Operation::Update { .. });
        port.post(self, target, slot, queued);
    }

    /// The HCA has done one part of an operation.
    pub(super) fn posted(&mut self, number: u32, port: &mut Port<'_>) -> Option<()> {
        let slot = self.slots.get_mut(number as usize)?.as_mut()?;
        slot.parts -= 1;
        if slot.parts > 0 {
            return Some(());
        }
        let Slot { target, queued, .. } = self.close_slot(number)?;
        let state = self.targets.get_mut(&target)?;
        state.rdma -= 1;
        if matches!(queued.does, Operation::Update { .. }) {
            state.updating = false;
        }
        for region in [queued.does.origin(), queued.does.result()].into_iter().flatten() {
            port.give_back(region);
        }
        port.complete(queued.request);
        Facts(self).request(target, queued, port);
        self.issue(target, port);
        self.forget_if_over(target);
        Some(())
    }

    /// The bytes of an operation have come.
    pub(super) fn replied(
        &mut self,
        number: u32,
        closes: bool,
        landing: Option<Region>,
        port: &mut Port<'_>,
    ) -> Option<()> {
        let Slot { target, queued, gives_back, .. } = self.close_slot(number)?;
        let result = queued.does.result()?;
        if let Some(landing) = landing {
            port.copy(landing, result);
        }
        if let Some(whole) = gives_back {
            port.give_back(whole);
        }
        port.complete(queued.request);
        Facts(self).request(target, queued, port);
        let state = self.targets.get_mut(&target)?;
        state.replies = state.replies.checked_sub(1)?;
        state.answers = state.answers.checked_sub(u32::from(closes))?;
        self.forget_if_over(target);
        Some(())
    }

    /// A flush or an unlock is done.
    pub(super) fn answered(&mut self, target: u32) -> Option<()> {
        let state = self.targets.get_mut(&target)?;
        state.answers = state.answers.checked_sub(1)?;
        self.forget_if_over(target);
        Some(())
    }

    /// The packet that says `body` about this window.
    pub(super) const fn about(&self, body: Body) -> RmaPacket {
        RmaPacket::About { window: self.id, body }
    }

    /// Another thread has called an operation since a flush was sent: what it queued must go out, or
    /// the flush would wait for a call that may wait for the flush.
    pub(super) fn ask_again(&mut self, target: u32, wants: Wants, port: &mut Port<'_>) {
        #[cfg(feature = "mutants")]
        if port.has(Mutant::FlushWaitsForOthers) {
            return;
        }
        let Some(state) = self.targets.get(&target) else { return };
        let idle = state.wants == Wants::Nothing
            && state.answers + state.replies + state.rdma == 0
            && matches!(state.lock, Lock::Granted(_) | Lock::Unchecked);
        if idle && wants < Wants::Unlock && !state.has_done(wants) {
            self.want(target, wants, port);
        }
    }
}

/// Locks that this process takes and gives back by atomics, see `mapped.rs`.
impl Window {
    /// Whether no process grants the locks of this window.
    pub(super) fn locks_by_atomics(&self, settings: &Settings) -> bool {
        self.is_shared() && settings.mapped_locks == MappedLocks::Atomics
    }

    fn ticket_lock(&self, target: u32) -> TicketLock {
        TicketLock { memory: self.bases[target as usize].memory, rank: target }
    }

    /// A thread takes a lock, once it has those that it called for before.
    fn take_lock(&mut self, target: u32, kind: LockKind, port: &mut Port<'_>) {
        let lock = self.ticket_lock(target);
        self.takings.take(self.id, port.thread, (lock, kind), port.out);
    }

    /// The numbers of the lock that a thread is taking are these.
    pub(super) fn read_numbers(
        &mut self,
        thread: Thread,
        values: [u32; COUNTERS],
        port: &mut Port<'_>,
    ) -> Option<()> {
        #[cfg(feature = "mutants")]
        let any_reader = port.has(Mutant::EntersWithReaders);
        #[cfg(not(feature = "mutants"))]
        let any_reader = false;
        match self.takings.look(self.id, thread, (values, any_reader), port.out)? {
            Look::Called => self.has_lock(thread, port),
            Look::NotYet => {}
        }
        Some(())
    }

    /// The ticket of a thread that waits is called.
    pub(super) fn is_called(&mut self, thread: Thread, port: &mut Port<'_>) -> Option<()> {
        self.takings.waits(thread).then(|| self.has_lock(thread, port))
    }

    /// A thread has the lock that it was taking.
    fn has_lock(&mut self, thread: Thread, port: &mut Port<'_>) {
        let target = self.takings.end(thread, port.out);
        self.granted(target, port);
        self.takings.take_next(self.id, thread, port.out);
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

    /// A lock is given back: the accesses under it are complete before another process has it.
    fn give_lock_back(&mut self, target: u32, kind: LockKind, port: &mut Port<'_>) {
        let state = self.targets.get_mut(&target).expect("a lock has made its target");
        (state.lock, state.wants) = (Lock::Open, Wants::Nothing);
        Facts(self).done(Some(target), Wants::Unlock, port);
        for &number in Number::at_end(kind) {
            #[cfg(feature = "mutants")]
            if number == Number::Readers && port.has(Mutant::ForgetsReaders) {
                continue;
            }
            mapped::grows(self.ticket_lock(target), number, port.out);
        }
        self.forget_if_over(target);
    }
}

/// Whether an operation on the own part must go through the HCA where others' do: its atomics and
/// those of a core do not exclude each other. A core may read at any time.
const fn needs_hca(does: &Operation) -> bool {
    matches!(does, Operation::Update { update, .. } if !matches!(update, Effect::NoOp(_)))
}
