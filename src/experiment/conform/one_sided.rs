//! The family `rma`: windows of every flavour, their operations and epochs, and what they leave.
//!
//! A case is run as programs, one a rank, with real bytes: what its operations fetched and what its
//! windows hold at the end must be what a real library gave. The programs write their own memory, so
//! that they run in either runtime.
//!
//! Left out: shared windows, whose cases are run on allocated ones: the operations are the same, the
//! loads and stores of neighbours that would carry them out are not.

mod play;
mod read;

pub use play::Play;
pub(super) use read::RawCase;

use serde_json::Value;

use super::{Mismatch, World, Wrong};
use mpi::operator::{Datatype, Operator};
use mpi::rma::synchronisation::LockKind;
use mpi::rma::update::Effect;
use protocols::contract::{Process, Region, Space};
use protocols::rma::call::{At, Flavor};
use protocols::rma::{Issue, MappedLocks, Settings, Transport};
use runtime::memory::Memories;

/// One recorded case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its number in the file.
    pub id: u64,
    flavor: Flavor,
    datatype: Datatype,
    /// Bytes of one displacement.
    unit: u64,
    /// By rank, what its part of the window holds at first.
    init: Vec<Vec<u8>>,
    steps: Vec<Step>,
    /// By step and operation, what was fetched.
    fetched: Vec<Vec<Option<Vec<u8>>>>,
    /// By rank, what its part of the window holds at the end.
    finals: Vec<Vec<u8>>,
}

/// Epochs that end before those of the next step begin.
#[derive(Clone, Debug)]
enum Step {
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

impl Step {
    fn ops(&self) -> &[Op] {
        match self {
            Self::Epochs { ops, .. } => ops,
            Self::Increments { .. } => &[],
        }
    }
}

/// The epochs of a step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Sync {
    Fence,
    Pscw,
    /// One target after the other.
    Lock(LockKind),
    LockMany,
    LockAll,
}

/// What one rank does in a step; numbered over the whole case.
#[derive(Clone, Debug)]
struct Op {
    number: u32,
    origin: u32,
    does: Does,
}

#[derive(Clone, Debug)]
enum Does {
    Flush(u32),
    FlushAll,
    Operate {
        /// `None` for `MPI_PROC_NULL`.
        target: Option<u32>,
        at: At,
        kind: Kind,
        /// What the origin gives.
        data: Vec<u8>,
        /// Whether it has a request.
        request: bool,
    },
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Put,
    Get,
    Update { update: Effect, fetches: bool },
}

impl Op {
    /// The target of an operation or a flush that has one.
    const fn target(&self) -> Option<u32> {
        match self.does {
            Does::Operate { target, .. } => target,
            Does::Flush(target) => Some(target),
            Does::FlushAll => None,
        }
    }

    /// Whether it is done in an epoch towards this target.
    fn belongs_to(&self, target: u32) -> bool {
        self.target() == Some(target) || self.flushes_all()
    }

    const fn flushes_all(&self) -> bool {
        matches!(self.does, Does::FlushAll)
    }

    /// Where its data lies.
    fn origin(&self) -> Option<Region> {
        let Does::Operate { data, .. } = &self.does else { return None };
        (!data.is_empty()).then(|| Region::new(Space::User(2 * self.number), data.len() as u64))
    }

    /// Where its result lies.
    fn result(&self) -> Option<Region> {
        let Does::Operate { kind, at, .. } = &self.does else { return None };
        let fetches = matches!(kind, Kind::Get | Kind::Update { fetches: true, .. });
        fetches.then(|| Region::new(Space::User(2 * self.number + 1), at.bytes()))
    }
}

/// How libraries are set in turn.
pub const SETTINGS: [Settings; 10] = {
    const BASE: Settings = Settings {
        issue: Issue::Lazy,
        transport: Transport::Messages,
        merge: true,
        merge_limit: Some(16 << 10),
        segment: None,
        done_after_merge: true,
        mapped_locks: MappedLocks::Messages,
        rules: mpi::rma::synchronisation::Rules::Document,
        model: mpi::rma::access::MemoryModel::Unified,
        watch: true,
    };
    const ADAPTIVE: Issue = Issue::Adaptive { operations: 1, bytes: 32 };
    const EAGER: Settings = Settings { issue: Issue::Eager, ..BASE };
    [
        BASE,
        Settings { merge: false, ..BASE },
        EAGER,
        Settings { issue: ADAPTIVE, ..BASE },
        Settings { transport: Transport::Mixed, ..BASE },
        Settings { transport: Transport::Rdma, ..BASE },
        Settings { transport: Transport::Mixed, ..EAGER },
        Settings { transport: Transport::Rdma, ..EAGER },
        Settings { issue: ADAPTIVE, merge: false, ..BASE },
        Settings { segment: Some(8), merge: false, ..BASE },
    ]
};

impl Case {
    /// Number of ranks.
    ///
    /// # Panics
    ///
    /// Never: a case has few.
    pub fn ranks(&self) -> u32 {
        u32::try_from(self.init.len()).expect("a case has few ranks")
    }

    /// The programs, one a rank.
    pub fn programs(&self) -> Vec<Play> {
        (0..self.ranks()).map(|rank| Play::new(self, rank)).collect()
    }

    /// Whether libraries with these settings can run it: an HCA updates single integers, by few
    /// operators, and none of its updates excludes one by a core.
    pub fn suits(&self, settings: &Settings) -> bool {
        settings.transport != Transport::Rdma || self.ops().all(|op| suits_hca(&op.does))
    }

    /// The settings of a schedule: each in turn, and where the case does not suit them the first.
    ///
    /// # Panics
    ///
    /// Never: there are few.
    pub fn settings(&self, schedule: u64) -> Settings {
        let turn = usize::try_from(schedule % SETTINGS.len() as u64).expect("there are few");
        if self.suits(&SETTINGS[turn]) { SETTINGS[turn] } else { SETTINGS[0] }
    }

    fn ops(&self) -> impl Iterator<Item = &Op> {
        self.steps.iter().flat_map(Step::ops)
    }

    /// What is wrong with what a run left behind.
    pub fn difference(&self, memories: &Memories) -> Option<Wrong> {
        let bytes = |rank: u32, region| memories.bytes(Process(rank), region);
        let results = self.steps.iter().zip(&self.fetched).enumerate();
        let fetched = results.flat_map(|(at, (step, expected))| {
            let pairs = step.ops().iter().zip(expected).enumerate();
            pairs.filter_map(move |(place, (op, expected))| {
                let (expected, region) = (expected.as_ref()?, op.result()?);
                Some((format!("fetched[{at}][{place}]"), expected, bytes(op.origin, region)))
            })
        });
        let finals = (0..).zip(&self.finals).map(|(rank, expected)| {
            let region = Region::new(Space::Window(0), expected.len() as u64);
            (format!("final[{rank}]"), expected, bytes(rank, region))
        });
        let mut found = fetched.chain(finals);
        let (field, expected, found) = found.find(|(_, expected, found)| *expected != found)?;
        let (expected, found) = (self.numbers(expected), self.numbers(&found));
        Some(Wrong::Differs { field, expected: vec![Some(expected)], found: Some(found) })
    }

    /// What is wrong with the case under one schedule.
    pub(super) fn mismatch(&self, world: &impl World, schedule: u64) -> Option<Mismatch> {
        let wrong = match world.one_sided(self, schedule) {
            Ok(memories) => self.difference(&memories)?,
            Err(why) => Wrong::Stopped(why),
        };
        Some(Mismatch { case: self.id, schedule: Some(schedule), wrong })
    }

    /// Elements as bit patterns in the words of the vectors.
    fn numbers(&self, bytes: &[u8]) -> Value {
        let width = usize::try_from(self.datatype.width()).expect("at most 16");
        bytes.chunks_exact(width).map(|element| read::number(self.datatype, element)).collect()
    }
}

fn suits_hca(does: &Does) -> bool {
    let Does::Operate { kind: Kind::Update { update, .. }, at, .. } = does else { return true };
    let known = match update {
        Effect::Replace(_) | Effect::NoOp(_) | Effect::CompareAndSwap(_) => true,
        Effect::Reduce(reduction) => reduction.operator() == Operator::Sum,
    };
    known && update.datatype().is_integer() && at.bytes() == update.datatype().width()
}

#[cfg(test)]
mod tests;
