//! Which synchronisation and communication calls are in order: the state of one process on one window.
//!
//! ```text
//!               fence                    start ──▶ Start ──complete──▶ None
//!   None ────────────────▶ None, fenced  lock ───▶ Lock(targets) ──unlock of the last──▶ None
//!   None, fenced ──operation──▶ Fence    lock_all ▶ LockAll ──unlock_all──▶ None
//!   Fence ──fence──▶ None, fenced        post ───▶ exposed ──wait, test: true──▶ not exposed
//! ```
//!
//! The access epoch and the exposure are two states side by side. A fence opens an epoch only when an
//! operation follows: without one, another kind of epoch may begin. A call that is out of order is
//! refused and changes nothing.
//!
//! Three sets of rules are known, [`Rules`]; `docs/model/rma.md` has the table of their differences.
//! Calls for `MPI_PROC_NULL` do nothing and are not recorded. Grants of locks, arrivals of posts and
//! completions of operations play no part here.
//!
//! Source: `rma` Fig. 3 and Sec. 4.4 (drawn again from its words: the figure's text is lost), Sec.
//! 2.1.3 and 2.1.4 (epochs), 2.2.5 (several locks, lock-all, flush); MPI 3.1, Section 11.5.

mod error;

use std::sync::Arc;

pub use error::{State, SyncError};

use crate::envelope::Rank;

/// Which calls are held to be out of order.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Rules {
    /// As the document words it: a fence epoch that is mixed with another kind goes unnoticed, and so
    /// does an operation on a target without a lock while another one is locked.
    #[default]
    Document,
    /// All that one process can know to be wrong by the standard.
    Strict,
    /// As MPICH 4.0.2 answers. It lets request operations into every epoch, and a window be locked
    /// and exposed at once; its one call that never returns, an unlock of a target that is not
    /// locked while another one is, is refused.
    Mpich,
}

impl Rules {
    /// Every set of rules.
    pub const ALL: [Self; 3] = [Self::Document, Self::Strict, Self::Mpich];

    /// The name that scenarios use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Strict => "strict",
            Self::Mpich => "mpich",
        }
    }
}

/// Which MPI a window speaks.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Interface {
    /// One lock at a time; no lock-all, flush, sync or request operation.
    Mpi2,
    /// All calls.
    #[default]
    Mpi3,
}

/// How a target is locked.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum LockKind {
    /// `MPI_LOCK_SHARED`.
    Shared,
    /// `MPI_LOCK_EXCLUSIVE`.
    Exclusive,
}

/// A set of ranks of the window, cheap to copy.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct RankSet(Arc<[Rank]>);

impl RankSet {
    /// Whether the rank is in it.
    pub fn contains(&self, rank: Rank) -> bool {
        self.0.binary_search(&rank).is_ok()
    }

    /// The ranks, rising.
    pub fn ranks(&self) -> &[Rank] {
        &self.0
    }
}

/// The set of these ranks, each once.
impl FromIterator<Rank> for RankSet {
    fn from_iter<T: IntoIterator<Item = Rank>>(ranks: T) -> Self {
        let mut ranks: Vec<Rank> = ranks.into_iter().collect();
        ranks.sort_unstable();
        ranks.dedup();
        Self(ranks.into())
    }
}

/// A call on the window.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Event {
    /// `MPI_Win_fence` with the assertions that matter here.
    Fence {
        /// `MPI_MODE_NOPRECEDE`: it ends no epoch.
        no_precede: bool,
        /// `MPI_MODE_NOSUCCEED`: it opens none.
        no_succeed: bool,
    },
    /// `MPI_Win_post` for these origins.
    Post {
        /// Origins that may access.
        group: RankSet,
    },
    /// `MPI_Win_start` towards these targets.
    Start {
        /// Targets that will be accessed.
        group: RankSet,
    },
    /// `MPI_Win_complete`.
    Complete,
    /// `MPI_Win_wait`.
    Wait,
    /// `MPI_Win_test`.
    Test {
        /// Its result: whether every origin is done, which ends the exposure.
        complete: bool,
    },
    /// `MPI_Win_lock`.
    Lock {
        /// Rank of the target.
        target: Rank,
        /// How.
        kind: LockKind,
    },
    /// `MPI_Win_unlock`.
    Unlock {
        /// Rank of the target.
        target: Rank,
    },
    /// `MPI_Win_lock_all`.
    LockAll,
    /// `MPI_Win_unlock_all`.
    UnlockAll,
    /// `MPI_Win_flush`.
    Flush {
        /// Rank of the target.
        target: Rank,
    },
    /// `MPI_Win_flush_all`.
    FlushAll,
    /// `MPI_Win_flush_local`.
    FlushLocal {
        /// Rank of the target.
        target: Rank,
    },
    /// `MPI_Win_flush_local_all`.
    FlushLocalAll,
    /// `MPI_Win_sync`.
    Sync,
    /// A communication call: put, get, or one of the accumulate family.
    Operation {
        /// Rank of the target.
        target: Rank,
        /// Whether it gives a request, as `MPI_Rput` does.
        request: bool,
    },
    /// `MPI_Win_free`.
    Free,
}

/// The open epochs of a process.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Epoch {
    /// Nothing.
    None,
    /// A fence epoch with an operation in it.
    Fence,
    /// Between start and complete.
    Start,
    /// At least one target is locked.
    Lock,
    /// Between lock-all and unlock-all.
    LockAll,
}

impl Epoch {
    /// Whether the targets take no part in it.
    pub const fn is_passive(self) -> bool {
        matches!(self, Self::Lock | Self::LockAll)
    }
}

/// The epoch with its state.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Access {
    None,
    Fence,
    Start(RankSet),
    Lock,
    LockAll,
}

/// The state of one process on one window.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Synchronisation {
    me: Rank,
    interface: Interface,
    access: Access,
    /// The locks of the lock epoch, by rising rank: at least one there, and none elsewhere.
    held: Vec<(Rank, LockKind)>,
    /// Whether an operation may open a fence epoch.
    fenced: bool,
    exposure: Option<RankSet>,
}

impl Synchronisation {
    /// The state of rank `me` on a new window.
    pub const fn new(me: Rank) -> Self {
        Self::with_interface(me, Interface::Mpi3)
    }

    /// The same on a window that speaks this MPI.
    pub const fn with_interface(me: Rank, interface: Interface) -> Self {
        Self {
            me,
            interface,
            access: Access::None,
            held: Vec::new(),
            fenced: false,
            exposure: None,
        }
    }

    /// The access epoch.
    pub const fn epoch(&self) -> Epoch {
        match self.access {
            Access::None => Epoch::None,
            Access::Fence => Epoch::Fence,
            Access::Start(_) => Epoch::Start,
            Access::Lock => Epoch::Lock,
            Access::LockAll => Epoch::LockAll,
        }
    }

    /// Whether a fence has been called after which an operation may follow.
    pub const fn is_fenced(&self) -> bool {
        self.fenced
    }

    /// The targets of the epoch between start and complete.
    pub const fn started(&self) -> Option<&RankSet> {
        if let Access::Start(group) = &self.access { Some(group) } else { None }
    }

    /// The origins that the window is exposed to by a post.
    pub const fn exposure(&self) -> Option<&RankSet> {
        self.exposure.as_ref()
    }

    /// How this target is locked, by a lock of its own or by lock-all.
    pub fn lock_of(&self, target: Rank) -> Option<LockKind> {
        match self.access {
            Access::Lock => self.find(target).ok().map(|place| self.held[place].1),
            Access::LockAll => Some(LockKind::Shared),
            Access::None | Access::Fence | Access::Start(_) => None,
        }
    }

    /// The targets with a lock of their own, by rising rank.
    pub fn locks(&self) -> &[(Rank, LockKind)] {
        &self.held
    }

    /// Where a target stands among those with a lock of their own, or would stand.
    fn find(&self, target: Rank) -> Result<usize, usize> {
        self.held.binary_search_by_key(&target, |(locked, _)| *locked)
    }

    /// Makes a call.
    ///
    /// # Errors
    ///
    /// [`SyncError`] where the rules hold it to be out of order; then nothing has changed.
    pub fn call(&mut self, rules: Rules, event: &Event) -> Result<(), SyncError> {
        if !self.permits(rules, event) {
            return Err(SyncError::new(self, rules, event));
        }
        self.apply(rules, event);
        Ok(())
    }

    /// Whether the rules hold a call to be in order here.
    pub fn permits(&self, rules: Rules, event: &Event) -> bool {
        let exposed = self.exposure.is_some();
        match event {
            Event::Operation { target, request } => {
                self.permits_operation(rules, *target, *request)
            }
            Event::Fence { no_precede, .. } => {
                let open = matches!(self.access, Access::Fence);
                let denied = rules == Rules::Strict && *no_precede && open;
                (open || matches!(self.access, Access::None)) && !exposed && !denied
            }
            Event::Post { .. } => {
                let open = matches!(self.access, Access::Fence) && rules != Rules::Document;
                let locked = rules != Rules::Mpich && self.lock_of(self.me).is_some();
                !exposed && !open && !locked
            }
            Event::Start { .. } => self.may_open(rules),
            Event::Lock { target, .. } => {
                let another = self.interface == Interface::Mpi3
                    && matches!(self.access, Access::Lock)
                    && self.find(*target).is_err();
                let clash = rules != Rules::Mpich && exposed && *target == self.me;
                (self.may_open(rules) || another) && !clash
            }
            Event::LockAll => {
                let clash = rules != Rules::Mpich && exposed;
                self.interface == Interface::Mpi3 && self.may_open(rules) && !clash
            }
            Event::Complete => matches!(self.access, Access::Start(_)),
            Event::Unlock { target } => self.find(*target).is_ok(),
            Event::UnlockAll => matches!(self.access, Access::LockAll),
            Event::Wait | Event::Test { .. } => exposed,
            Event::Flush { target } | Event::FlushLocal { target } => {
                self.permits_flush() && (rules == Rules::Mpich || self.lock_of(*target).is_some())
            }
            Event::FlushAll | Event::FlushLocalAll | Event::Sync => self.permits_flush(),
            Event::Free => matches!(self.access, Access::None) && !exposed,
        }
    }

    fn permits_operation(&self, rules: Rules, target: Rank, request: bool) -> bool {
        let here = match &self.access {
            Access::LockAll | Access::Fence => true,
            Access::Lock => rules != Rules::Strict || self.find(target).is_ok(),
            Access::Start(group) => group.contains(target),
            Access::None => self.fenced,
        };
        let passive = matches!(self.access, Access::Lock | Access::LockAll);
        let asked = match self.interface {
            Interface::Mpi2 => !request,
            Interface::Mpi3 => !request || passive || rules == Rules::Mpich,
        };
        here && asked
    }

    fn permits_flush(&self) -> bool {
        let passive = matches!(self.access, Access::Lock | Access::LockAll);
        passive && self.interface == Interface::Mpi3
    }

    /// Whether an access epoch of another kind than fence may begin.
    fn may_open(&self, rules: Rules) -> bool {
        match self.access {
            Access::None => true,
            Access::Fence => rules == Rules::Document,
            Access::Start(_) | Access::Lock | Access::LockAll => false,
        }
    }

    /// The state change of a legal call.
    fn apply(&mut self, rules: Rules, event: &Event) {
        match event {
            Event::Operation { .. } => {
                let unseen = rules == Rules::Mpich && self.exposure.is_some();
                if matches!(self.access, Access::None) && !unseen {
                    self.access = Access::Fence;
                }
            }
            Event::Fence { no_succeed, .. } => {
                self.access = Access::None;
                self.fenced = !no_succeed;
            }
            Event::Post { group } => {
                self.exposure = Some(group.clone());
                self.fenced &= rules != Rules::Strict;
            }
            Event::Wait | Event::Test { complete: true } => self.exposure = None,
            Event::Start { group } => self.open(rules, Access::Start(group.clone())),
            Event::LockAll => self.open(rules, Access::LockAll),
            Event::Lock { target, kind } => self.lock(rules, *target, *kind),
            Event::Unlock { target } => self.unlock(*target),
            Event::Complete | Event::UnlockAll => self.access = Access::None,
            Event::Test { complete: false }
            | Event::Flush { .. }
            | Event::FlushAll
            | Event::FlushLocal { .. }
            | Event::FlushLocalAll
            | Event::Sync
            | Event::Free => {}
        }
    }

    /// Begins an epoch of another kind than fence. The document's library cannot forget a fence
    /// then: only all processes together could.
    fn open(&mut self, rules: Rules, access: Access) {
        self.access = access;
        self.fenced &= rules == Rules::Document;
    }

    fn lock(&mut self, rules: Rules, target: Rank, kind: LockKind) {
        if let Err(place) = self.find(target) {
            self.held.insert(place, (target, kind));
        }
        self.open(rules, Access::Lock);
    }

    fn unlock(&mut self, target: Rank) {
        if let Ok(place) = self.find(target) {
            self.held.remove(place);
        }
        if self.held.is_empty() {
            self.access = Access::None;
        }
    }
}

#[cfg(test)]
mod tests;
