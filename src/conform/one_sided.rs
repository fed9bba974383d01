//! The family `rma`: windows of every flavour, their operations and epochs, and what they leave.
//!
//! A case is run as programs, one a rank, with real bytes: what its operations fetched and what its
//! windows hold at the end must be what a real library gave. The programs write their own memory, so
//! that they run in either runtime.
//!
//! Left out: shared windows, whose cases are run on allocated ones: the operations are the same, the
//! loads and stores of neighbours that would carry them out are not.

mod case;
mod play;
mod read;

pub use case::Case;
pub use play::Play;
pub(super) use read::RawCase;

use serde_json::Value;

use super::family::Judged;
use super::verdict::{Mismatch, Wrong};
use case::{Does, Kind};
use mpi::operator::Operator;
use mpi::rma::update::Effect;
use protocols::contract::{Process, Region, Space};
use protocols::rma::{Issue, MappedLocks, Settings, Transport};
use runtime::memory::Memories;

/// A world that can run one-sided operations.
pub trait World {
    /// Runs a case of one-sided operations under one schedule; answers with the memory after it.
    ///
    /// # Errors
    ///
    /// Why it did not come to its end, in words; a world of messages alone has no windows.
    fn one_sided(&self, case: &Case, schedule: u64) -> Result<Memories, String> {
        let _ = schedule;
        Err(format!("a world without windows, asked for one of {} ranks", case.ranks()))
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

    /// The first difference between the memories that a run left behind and the outcomes that MPI
    /// allows.
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

    /// Elements as bit patterns in the words of the vectors.
    fn numbers(&self, bytes: &[u8]) -> Value {
        let width = usize::try_from(self.datatype.width()).expect("at most 16");
        bytes.chunks_exact(width).map(|element| read::number(self.datatype, element)).collect()
    }
}

impl<W: World> Judged<W> for Case {
    const IS_SCHEDULED: bool = true;

    fn mismatch(&self, world: &W, schedule: u64) -> Option<Mismatch> {
        let wrong = match world.one_sided(self, schedule) {
            Ok(memories) => self.difference(&memories)?,
            Err(why) => Wrong::Stopped(why),
        };
        Some(Mismatch { case: self.id, schedule: Some(schedule), wrong })
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
