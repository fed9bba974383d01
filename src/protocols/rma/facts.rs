//! What the monitors learn of a window: which process accesses which bytes, and when that is over.
//!
//! The call of an access is a fact for each run of bytes, whenever it goes out; its end is one when
//! the flush, unlock, fence or wait that ends it is over. Facts are read from a window and change
//! nothing.

use super::call::{Flavor, Operation, RmaCall};
use super::packet::Place;
use super::port::Port;
use super::window::{Lock, Queued, Wants, Window};
use crate::contract::Route;
use mpi::observation::{Reach, WindowFact};
use mpi::rma::access::{Change, Touch};
use mpi::rma::synchronisation::{Epoch, LockKind};
use mpi::rma::update::Effect;

/// The facts of a window.
#[derive(Clone, Copy)]
pub(super) struct Facts<'a>(pub(super) &'a Window);

impl Facts<'_> {
    /// A call that is in order begins.
    pub(super) fn call(self, call: &RmaCall, operation: Option<Queued>, port: &mut Port<'_>) {
        if !port.settings().watch {
            return;
        }
        if let RmaCall::Operate { target, .. } = call {
            if let Some((target, queued)) = target.zip(operation) {
                self.access(target, queued, port);
            }
            return;
        }
        port.fact(self.0.id, WindowFact::Synchronised);
        let process = |rank: u32| self.0.members[rank as usize].0;
        let own = |rank: &u32| *rank == self.0.rank;
        match call {
            RmaCall::Fence { .. } => port.fact(self.0.id, WindowFact::Fenced),
            RmaCall::Post { group, .. } => {
                for rank in group.ranks() {
                    port.fact(self.0.id, WindowFact::Posted { origin: process(rank.0) });
                }
            }
            RmaCall::Start { group, .. } => {
                for rank in group.ranks() {
                    port.fact(self.0.id, WindowFact::Started { owner: process(rank.0) });
                }
            }
            RmaCall::Lock { target, kind, no_check: false, .. } if own(target) => {
                port.fact(self.0.id, WindowFact::OwnLock(Some(*kind)));
            }
            RmaCall::LockAll { no_check: false, .. } => {
                port.fact(self.0.id, WindowFact::OwnLock(Some(LockKind::Shared)));
            }
            RmaCall::UnlockAll { .. } => port.fact(self.0.id, WindowFact::OwnLock(None)),
            RmaCall::Unlock { target, .. } if own(target) => {
                port.fact(self.0.id, WindowFact::OwnLock(None));
            }
            RmaCall::Attach { memory, .. } => self.exposed(*memory, port),
            RmaCall::Create { .. }
            | RmaCall::Free { .. }
            | RmaCall::Detach { .. }
            | RmaCall::Operate { .. }
            | RmaCall::Complete { .. }
            | RmaCall::Wait { .. }
            | RmaCall::Test { .. }
            | RmaCall::Lock { .. }
            | RmaCall::LockAll { .. }
            | RmaCall::Unlock { .. }
            | RmaCall::Flush { .. }
            | RmaCall::FlushAll { .. }
            | RmaCall::Query { .. }
            | RmaCall::Sync { .. } => {}
        }
    }

    fn access(self, target: u32, queued: Queued, port: &mut Port<'_>) {
        let Queued { does, place, .. } = queued;
        let owner = self.0.members[target as usize].0;
        let (touch, reach) = (touch(&does), self.reach(target));
        let (model, memory) = (self.0.model, told_memory(place));
        // The target tells of each packet that it has applied.
        let travels = !self.0.reaches(target) && !self.0.by_hca(port.settings(), &does);
        let most = if travels { port.segment_to(self.0, target) } else { u64::MAX };
        for (run, _) in queued.pieces(most).flat_map(|piece| piece.place.runs()) {
            let (start, bytes) = (run.offset, run.len);
            let fact = WindowFact::Accessed { owner, memory, start, bytes, touch, reach, model };
            port.fact(self.0.id, fact);
        }
    }

    /// An update that another process has requested has taken place: what it reported in pieces,
    /// whether or not it came so.
    pub(super) fn applied(
        self,
        from: Route,
        (place, update): (Place, Effect),
        port: &mut Port<'_>,
    ) {
        let Some(rank) = self.0.rank_of(from.peer).filter(|_| port.settings().watch) else {
            return;
        };
        let (origin, memory, most) = (from.peer.0, place.memory, port.segment_to(self.0, rank));
        let pieces = place.pieces(update.datatype().width(), most);
        for (run, _) in pieces.flat_map(|(piece, _)| piece.runs()) {
            let (start, bytes) = (run.offset, run.len);
            port.fact(self.0.id, WindowFact::Applied { origin, memory, start, bytes });
        }
    }

    /// How this process gets to a target at present.
    fn reach(self, target: u32) -> Reach {
        match (self.0.sync.epoch(), self.0.targets.get(&target).map(|state| state.lock)) {
            (Epoch::Fence, _) => Reach::Fence,
            (Epoch::Start, _) => Reach::Start,
            (_, Some(Lock::Called(kind) | Lock::Requested(kind) | Lock::Granted(kind))) => {
                Reach::Lock(kind)
            }
            (_, None) if !self.0.no_check => Reach::Lock(LockKind::Shared),
            (_, Some(Lock::Unchecked | Lock::Open) | None) => Reach::Unchecked,
        }
    }

    /// Others can reach this memory from now on.
    fn exposed(self, memory: u32, port: &mut Port<'_>) {
        port.fact(self.0.id, WindowFact::Exposed { memory, model: self.0.model });
    }

    /// The window has been made.
    pub(super) fn made(self, port: &mut Port<'_>) {
        if self.0.flavor != Flavor::Dynamic && !self.0.is_shared() {
            self.exposed(self.0.bases[self.0.rank as usize].memory, port);
        }
    }

    /// The window is freed.
    pub(super) fn freed(self, port: &mut Port<'_>) {
        let own = self.0.bases.get(self.0.rank as usize).map(|base| base.memory);
        let own = own.map(|memory| if self.0.is_shared() { memory | SHARED } else { memory });
        let attached = self.0.attached.pieces().map(|piece| piece.start >> 32);
        let attached = attached.map(|memory| u32::try_from(memory).expect("shifted to 32 bits"));
        for memory in own.into_iter().chain(attached) {
            port.fact(self.0.id, WindowFact::Hidden { memory });
        }
        port.fact(self.0.id, WindowFact::Freed { first: self.0.members[0].0 });
    }

    /// Reports that the completion that was requested at one target, or at all, is reached.
    pub(super) fn done(self, target: Option<u32>, wants: Wants, port: &mut Port<'_>) {
        let owner = target.map(|rank| self.0.members[rank as usize].0);
        port.fact(
            self.0.id,
            match wants {
                Wants::Flush | Wants::Unlock => WindowFact::Completed { owner },
                Wants::Nothing | Wants::Issue => WindowFact::Arrived { owner },
            },
        );
    }

    /// An operation with a request that may be waited for is complete here.
    pub(super) fn request(self, target: u32, queued: Queued, port: &mut Port<'_>) {
        if queued.request.is_some() && queued.is_answered() {
            self.done(Some(target), Wants::Issue, port);
        }
    }
}

/// Bit of the names that shared memory has for monitors.
/// Encoding: the highest one.
const SHARED: u32 = 1 << 31;

const fn told_memory(place: Place) -> u32 {
    if place.shared { place.memory | SHARED } else { place.memory }
}

/// How an operation touches the target's memory.
const fn touch(does: &Operation) -> Touch {
    match does {
        Operation::Put { .. } => Touch::Put,
        Operation::Get { .. } => Touch::Get,
        Operation::Update { update, .. } => {
            let change = match update {
                Effect::Replace(_) => Change::Replace,
                Effect::NoOp(_) => Change::NoOp,
                Effect::CompareAndSwap(_) => Change::CompareAndSwap,
                Effect::Reduce(reduction) => Change::Reduce(reduction.operator()),
            };
            Touch::Acc(change, update.datatype())
        }
    }
}
