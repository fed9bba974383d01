//! One process's part of a window: what it exposes, and what it is doing to the parts of others.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{Hash as _, Hasher};
use std::sync::Arc;

use super::call::{At, Flavor, LockKind, Operation, RmaCall, address};
use super::manager::LockManager;
use super::mapped::Takings;
use super::packet::{Body, Place};
use super::settings::Settings;
use crate::contract::{Handle, Process, Region, Route, Space};
use mpi::rma::access::MemoryModel;
use mpi::rma::layout::{AttachError, Attached};
use mpi::rma::synchronisation::Synchronisation;

/// Memory that a target exposes, as every origin knows it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Base {
    pub(super) memory: u32,
    /// Its first byte there.
    pub(super) start: u64,
    pub(super) bytes: u64,
    pub(super) unit: u64,
}

/// The exposure epoch of this process.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Exposure {
    pub(super) origins: u32,
    pub(super) completed: u32,
}

/// How far this process's lock of a target is.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Lock {
    /// The program has called for it; no message was sent.
    Called(LockKind),
    /// Requested.
    Requested(LockKind),
    /// Granted.
    Granted(LockKind),
    /// No request was sent, since no process could object.
    Unchecked,
    /// Given back, or no lock is needed.
    Open,
}

/// Synchronisation that is still due at a target.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) enum Wants {
    /// Nothing.
    #[default]
    Nothing,
    /// The queued operations must go out.
    Issue,
    /// … and their end must be known.
    Flush,
    /// … and the lock must be given back.
    Unlock,
}

/// State of this process's accesses to one target.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Target {
    pub(super) lock: Lock,
    pub(super) wants: Wants,
    /// Operations that have not gone out.
    pub(super) queue: VecDeque<Queued>,
    pub(super) queued_bytes: u64,
    /// Whether an operation has gone out whose end no answer will tell.
    pub(super) untold: bool,
    /// Answers to flushes and unlocks that will come.
    pub(super) answers: u32,
    /// Replies with bytes that will come.
    pub(super) replies: u32,
    /// RDMA operations under way.
    pub(super) rdma: u32,
    /// Whether one of them is an atomic: the next waits for its end, to keep the order.
    pub(super) updating: bool,
    /// Whether the adaptive issue has turned eager.
    pub(super) eager: bool,
}

impl Target {
    pub(super) const fn new(lock: Lock) -> Self {
        Self {
            lock,
            wants: Wants::Nothing,
            queue: VecDeque::new(),
            queued_bytes: 0,
            untold: false,
            answers: 0,
            replies: 0,
            rdma: 0,
            updating: false,
            eager: false,
        }
    }

    /// Whether its operations are complete: here (`local`), or there as well.
    pub(super) fn is_quiet(&self, local: bool) -> bool {
        let here = self.queue.is_empty() && self.replies == 0 && self.rdma == 0;
        here && (local || (self.answers == 0 && !self.untold))
    }

    /// How far it is, for reports.
    pub(super) fn in_words(&self) -> String {
        let lock = match self.lock {
            Lock::Called(_) => "no lock asked for",
            Lock::Requested(LockKind::Shared) => "a shared lock to be granted",
            Lock::Requested(LockKind::Exclusive) => "an exclusive lock to be granted",
            Lock::Granted(_) => "lock held",
            Lock::Unchecked | Lock::Open => "no lock needed",
        };
        format!(
            "{lock}; {} operations queued, {} replies, {} answers and {} RDMA operations to come",
            self.queue.len(),
            self.replies,
            self.answers,
            self.rdma
        )
    }

    /// Whether what was wanted of it is done.
    pub(super) fn has_done(&self, wants: Wants) -> bool {
        match wants {
            Wants::Nothing | Wants::Issue => self.is_quiet(true),
            Wants::Flush => self.is_quiet(false),
            // A target whose lock was given back is forgotten.
            Wants::Unlock => false,
        }
    }

    /// Whether nothing is left of what this process did to it.
    pub(super) fn is_over(&self) -> bool {
        self.lock == Lock::Open && self.wants == Wants::Nothing && self.is_quiet(false)
    }
}

/// An operation on its way out.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Queued {
    pub(super) does: Operation,
    pub(super) place: Place,
    pub(super) request: Option<Handle>,
}

impl Queued {
    /// Whether bytes come back.
    pub(super) const fn is_answered(&self) -> bool {
        self.does.result().is_some()
    }
}

/// An operation that has gone out and waits for bytes, or for the HCA.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Slot {
    pub(super) target: u32,
    pub(super) queued: Queued,
    /// The buffer that belongs to the program again when the bytes are in it.
    pub(super) gives_back: Option<Region>,
    /// RDMA operations that it still needs.
    pub(super) parts: u32,
}

/// Requester of the lock of this process's part.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Asker {
    /// This process itself.
    Own,
    /// Another one.
    Other(Route),
    /// Another one, with an operation that does not wait for the grant.
    Merged { from: Route, body: Body, landing: Option<Region> },
}

/// One process's part of a window.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Window {
    pub(super) id: u32,
    pub(super) rank: u32,
    pub(super) members: Arc<[Process]>,
    pub(super) flavor: Flavor,
    /// Memory model of all its memory.
    pub(super) model: MemoryModel,
    /// Memory that every rank exposes, by rank; empty where the window is dynamic.
    pub(super) bases: Arc<[Base]>,
    /// Memory of this process that is attached, by [`address`].
    pub(super) attached: Attached,
    pub(super) sync: Synchronisation,
    /// Whether the last fence lets an epoch follow: the same at every rank, whatever each calls
    /// in between.
    pub(super) fenced: bool,
    /// The targets of the epoch between start and complete.
    pub(super) started: Vec<u32>,
    /// Whether the lock of all that is held needs no consent.
    pub(super) no_check: bool,
    pub(super) exposure: Option<Exposure>,
    pub(super) manager: LockManager<Asker>,
    /// Locks that threads are taking by atomics.
    pub(super) takings: Takings,
    pub(super) targets: BTreeMap<u32, Target>,
    /// Active target: operations in the order of their calls, one queue for all targets.
    pub(super) active: VecDeque<(u32, Queued)>,
    /// Exposure epochs that targets have opened for this process.
    pub(super) posts: BTreeMap<u32, u32>,
    pub(super) slots: Vec<Option<Slot>>,
    /// The numbers of those that are free.
    pub(super) free_slots: BTreeSet<u32>,
    /// Operations of the fence that has not ended yet.
    pub(super) counted: u64,
    /// Unlocks without an answer: sent to each, and come.
    pub(super) silent: BTreeMap<u32, u64>,
    pub(super) silent_come: u64,
}

impl Window {
    /// How far this process is with the parts of others, and they with its epochs: what goals look at. Locks and
    /// operations of others on its own part are not among it.
    pub(super) fn so_far<H: Hasher>(&self, to: &mut H) {
        (&self.targets, self.active.len(), self.counted).hash(to);
        (&self.posts, &self.exposure, self.silent_come).hash(to);
    }

    /// Number of ranks.
    pub(super) fn size(&self) -> u32 {
        u32::try_from(self.members.len()).expect("ranks are u32")
    }

    /// The rank of a process.
    pub(super) fn rank_of(&self, process: Process) -> Option<u32> {
        let place = self.members.iter().position(|&member| member == process);
        place.and_then(|place| u32::try_from(place).ok())
    }

    /// Whether the ranks that a call names exist.
    pub(super) fn has_ranks(&self, call: &RmaCall) -> Result<(), String> {
        let named = match call {
            RmaCall::Operate { target, .. } => *target,
            RmaCall::Lock { target, .. }
            | RmaCall::Unlock { target, .. }
            | RmaCall::Query { target, .. }
            | RmaCall::Flush { target, .. } => Some(*target),
            RmaCall::Post { group, .. } | RmaCall::Start { group, .. } => {
                group.ranks().last().map(|rank| rank.0)
            }
            RmaCall::Create { .. }
            | RmaCall::Free { .. }
            | RmaCall::Attach { .. }
            | RmaCall::Detach { .. }
            | RmaCall::Fence { .. }
            | RmaCall::Complete { .. }
            | RmaCall::Wait { .. }
            | RmaCall::Test { .. }
            | RmaCall::LockAll { .. }
            | RmaCall::UnlockAll { .. }
            | RmaCall::FlushAll { .. }
            | RmaCall::Sync { .. } => None,
        };
        match named.filter(|rank| *rank >= self.size()) {
            Some(rank) => Err(format!("the window has no rank {rank}, only {}", self.size())),
            None => Ok(()),
        }
    }

    /// The operation that a call asks for; `None` where it asks for none, or of nobody.
    pub(super) fn asked(
        &self,
        call: &RmaCall,
        settings: &Settings,
    ) -> Result<Option<Queued>, String> {
        let RmaCall::Operate { target: Some(target), at, does, request, .. } = call else {
            return Ok(None);
        };
        does.fits(at.bytes())?;
        if !self.is_shared()
            && let Some(words) = settings.refuses(does, at.bytes())
        {
            return Err(words);
        }
        let place = self.place(*target, *at)?;
        if *target == self.rank {
            self.check_exposed(place)?;
        }
        Ok(Some(Queued { does: *does, place, request: *request }))
    }

    /// Whether another process has an exclusive lock of the own part.
    pub(super) fn is_held_by_others(&self) -> bool {
        let own = self.targets.get(&self.rank).map(|target| target.lock);
        self.manager.is_exclusive() && own != Some(Lock::Granted(LockKind::Exclusive))
    }

    /// Whether loads and stores of this process may follow a lock of its own part.
    pub(super) fn owns_its_lock(&self) -> bool {
        let lock = self.targets.get(&self.rank).map(|target| target.lock);
        lock.is_none_or(|lock| matches!(lock, Lock::Granted(_) | Lock::Unchecked | Lock::Open))
    }

    /// Whether all processes map the memory of all.
    pub(super) const fn is_shared(&self) -> bool {
        matches!(self.flavor, Flavor::Shared(_))
    }

    /// Whether this process's core reaches the memory of a target by itself.
    pub(super) const fn reaches(&self, target: u32) -> bool {
        target == self.rank || self.is_shared()
    }

    /// Whether the HCA carries out an operation.
    pub(super) fn by_hca(&self, settings: &Settings, does: &Operation) -> bool {
        !self.is_shared() && settings.by_hca(does)
    }

    /// The memory of a rank in a window that is shared, and the bytes of a displacement there.
    pub(super) fn segment(&self, rank: u32) -> Option<(Region, u64)> {
        let base = self.bases.get(rank as usize).filter(|_| self.is_shared())?;
        let Base { memory, start, bytes, unit } = *base;
        Some((Region { space: Space::Shared(memory), offset: start, len: bytes }, unit))
    }

    /// Whether this process has a lock.
    pub(super) fn keeps_a_lock(&self) -> bool {
        self.targets.values().any(|target| matches!(target.lock, Lock::Granted(_)))
    }

    /// Whether the lock of a target is granted, or all that were requested are.
    pub(super) fn has_lock_of(&self, target: Option<u32>) -> bool {
        let waits = |state: &Target| matches!(state.lock, Lock::Requested(_));
        match target {
            Some(target) => !self.targets.get(&target).is_some_and(waits),
            None => !self.targets.values().any(waits),
        }
    }

    /// Where an operation takes place in the target's memory, as far as its origin can tell.
    pub(super) fn place(&self, target: u32, at: At) -> Result<Place, String> {
        let At { disp, first, block, count, stride } = at;
        let (memory, offset) = if self.flavor == Flavor::Dynamic {
            let low = (disp & u64::from(u32::MAX)).checked_add_signed(first);
            let low = low.ok_or_else(|| format!("{first} B from {disp:#x} is no memory"))?;
            (u32::try_from(disp >> 32).expect("shifted to 32 bits"), low)
        } else {
            let Base { memory, start, bytes, unit } = self.bases[target as usize];
            let offset = disp.checked_mul(unit).and_then(|at| at.checked_add_signed(first));
            let is_within =
                |offset: &u64| offset.checked_add(at.span()).is_some_and(|end| end <= bytes);
            let Some(offset) = offset.filter(is_within) else {
                let from = if first == 0 { String::new() } else { format!(" and {first} B") };
                return Err(format!(
                    "{} B at displacement {disp}{from} (of {unit} B) leave the {bytes} B of rank {target}",
                    at.span()
                ));
            };
            (memory, start + offset)
        };
        let shared = self.is_shared();
        Ok(Place { memory, shared, offset, block, count, stride })
    }

    /// `MPI_Win_attach`.
    pub(super) fn attach(&mut self, memory: u32, bytes: u64) -> Result<(), String> {
        if self.flavor != Flavor::Dynamic {
            return Err("only a dynamic window has memory attached".to_owned());
        }
        let attached = self.attached.attach(address(memory, 0), bytes);
        attached.map_err(|error| format!("{error} (memory {memory})"))
    }

    /// Whether a piece of memory is attached.
    pub(super) fn is_attached(&self, memory: u32) -> Result<(), String> {
        self.attached
            .clone()
            .detach(address(memory, 0))
            .map_err(|error| detach_error(error, memory))
    }

    /// `MPI_Win_detach`.
    pub(super) fn detach(&mut self, memory: u32) -> Result<(), String> {
        self.attached.detach(address(memory, 0)).map_err(|error| detach_error(error, memory))
    }

    /// Whether memory of this process may be touched there: attached, where the window is dynamic.
    pub(super) fn check_exposed(&self, place: Place) -> Result<(), String> {
        if self.flavor != Flavor::Dynamic {
            return Ok(());
        }
        self.check_attached(place.memory, place.offset, place.span())
    }

    fn check_attached(&self, memory: u32, offset: u64, bytes: u64) -> Result<(), String> {
        let checked = self.attached.check(address(memory, offset), bytes);
        checked.map_err(|error| format!("{error} (memory {memory} of rank {})", self.rank))
    }

    /// Whether these bytes of a piece of memory belong to this process's part of the window.
    pub(super) fn exposes(&self, memory: u32, region: Region) -> Result<(), String> {
        let Region { offset, len, .. } = region;
        if self.flavor == Flavor::Dynamic {
            return self.check_attached(memory, offset, len);
        }
        let base = self.bases[self.rank as usize];
        let fits = base.memory == memory && offset + len <= base.bytes;
        fits.then_some(()).ok_or_else(|| format!("memory {memory} is no part of the window"))
    }

    /// All processes of the window but this one.
    pub(super) fn others(&self) -> Vec<Process> {
        let me = self.members[self.rank as usize];
        self.members.iter().copied().filter(|&peer| peer != me).collect()
    }

    /// Processes that could end a wait for a target: the target, or where its lock is awaited all others, which may
    /// hold it.
    pub(super) fn who_ends(&self, target: u32) -> Vec<Process> {
        let awaited = |state: &Target| matches!(state.lock, Lock::Requested(_));
        if self.targets.get(&target).is_some_and(awaited) {
            return self.others();
        }
        vec![self.members[target as usize]]
    }

    /// Names an operation that waits: the lowest free number.
    pub(super) fn open_slot(&mut self, slot: Slot) -> u32 {
        if let Some(free) = self.free_slots.pop_first() {
            self.slots[free as usize] = Some(slot);
            return free;
        }
        let number = u32::try_from(self.slots.len()).expect("fewer than 2^32 operations at once");
        self.slots.push(Some(slot));
        number
    }

    /// Ends an operation: equal situations look equal, whatever led to them.
    pub(super) fn close_slot(&mut self, number: u32) -> Option<Slot> {
        let slot = self.slots.get_mut(number as usize)?.take()?;
        self.free_slots.insert(number);
        while let Some(None) = self.slots.last() {
            self.slots.pop();
            self.free_slots.pop_last();
        }
        Some(slot)
    }

    /// Forgets a target that nothing is left of.
    pub(super) fn forget_if_over(&mut self, target: u32) {
        if self.targets.get(&target).is_some_and(Target::is_over) {
            self.targets.remove(&target);
        }
    }

    /// Bytes that this process keeps for the window, besides the memory it exposes: the table of what
    /// all ranks expose, the attached memory, and what is under way.
    pub(super) fn state_bytes(&self) -> usize {
        size_of::<Self>()
            + size_of_val::<[Base]>(&self.bases)
            + self.attached.pieces().len() * size_of::<(u64, u64)>()
            + self.targets.len() * (size_of::<Target>() + size_of::<u32>())
            + self.slots.len() * size_of::<Option<Slot>>()
    }
}

fn detach_error(error: AttachError, memory: u32) -> String {
    format!("{error} (memory {memory})")
}
