//! Cases of one-sided operations.

use mpi::operator::Datatype;
use mpi::rma::synchronisation::LockKind;
use mpi::rma::update::Effect;
use protocols::contract::{Region, Space};
use protocols::rma::call::{At, Flavor};

/// One recorded case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its number in the file.
    pub id: u64,
    pub(super) flavor: Flavor,
    pub(super) datatype: Datatype,
    /// Bytes of one displacement.
    pub(super) unit: u64,
    /// By rank, what its part of the window holds at first.
    pub(super) init: Vec<Vec<u8>>,
    pub(super) steps: Vec<Round>,
    /// By step and operation, what was fetched.
    pub(super) fetched: Vec<Vec<Option<Vec<u8>>>>,
    /// By rank, what its part of the window holds at the end.
    pub(super) finals: Vec<Vec<u8>>,
}

/// Epochs that end before those of the next step begin.
#[derive(Clone, Debug)]
pub(super) enum Round {
    Epochs {
        sync: Sync,
        ops: Vec<Op>,
    },
    /// Each rank adds its number to one element.
    Increments {
        target: u32,
        disp: u64,
        add: Vec<Vec<u8>>,
    },
}

impl Round {
    pub(super) fn ops(&self) -> &[Op] {
        match self {
            Self::Epochs { ops, .. } => ops,
            Self::Increments { .. } => &[],
        }
    }
}

/// The epochs of a step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Sync {
    Fence,
    Pscw,
    /// One target after the other.
    Lock(LockKind),
    LockMany,
    LockAll,
}

/// An operation of one rank in a step; numbered over the whole case.
#[derive(Clone, Debug)]
pub(super) struct Op {
    pub(super) number: u32,
    pub(super) origin: u32,
    pub(super) does: Does,
}

#[derive(Clone, Debug)]
pub(super) enum Does {
    Flush(u32),
    FlushAll,
    Operate {
        /// `None` for `MPI_PROC_NULL`.
        target: Option<u32>,
        at: At,
        kind: Kind,
        /// The bytes that the origin gives.
        data: Vec<u8>,
        /// Whether it has a request.
        request: bool,
    },
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Put,
    Get,
    Update { update: Effect, fetches: bool },
}

impl Op {
    /// The target of an operation or a flush that has one.
    pub(super) const fn target(&self) -> Option<u32> {
        match self.does {
            Does::Operate { target, .. } => target,
            Does::Flush(target) => Some(target),
            Does::FlushAll => None,
        }
    }

    /// Whether it is done in an epoch towards this target.
    pub(super) fn belongs_to(&self, target: u32) -> bool {
        self.target() == Some(target) || self.flushes_all()
    }

    pub(super) const fn flushes_all(&self) -> bool {
        matches!(self.does, Does::FlushAll)
    }

    /// Where its data lies.
    pub(super) fn origin(&self) -> Option<Region> {
        let Does::Operate { data, .. } = &self.does else { return None };
        (!data.is_empty()).then(|| Region::new(Space::User(2 * self.number), data.len() as u64))
    }

    /// Where its result lies.
    pub(super) fn result(&self) -> Option<Region> {
        let Does::Operate { kind, at, .. } = &self.does else { return None };
        let fetches = matches!(kind, Kind::Get | Kind::Update { fetches: true, .. });
        fetches.then(|| Region::new(Space::User(2 * self.number + 1), at.bytes()))
    }
}

impl Case {
    /// Number of ranks.
    ///
    /// # Panics
    ///
    /// Never: a case has few.
    pub fn ranks(&self) -> u32 {
        u32::try_from(self.init.len()).expect("a case has few ranks")
    }

    pub(super) fn ops(&self) -> impl Iterator<Item = &Op> {
        self.steps.iter().flat_map(Round::ops)
    }
}
