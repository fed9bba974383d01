//! Processes with any numbers of endpoints of the endpoint library, in the untimed world.
#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, reason = "a test stops at its first surprise")]

use std::sync::Arc;

use mpisim::mpi::communicator::Communicators;
use mpisim::protocols::call::{Call, Reply};
use mpisim::protocols::contract::{Machine, Next, Program};
use mpisim::protocols::library::{Endpoints, Job, SharedJob};
use mpisim::protocols::rendezvous::{Cooperation, Protocol};
use mpisim::runtime::memory::Payload;
use mpisim::runtime::untimed::World as AnyWorld;
use mpisim::units::Bytes;
use mpisim::xios_ep::library::{EpJob, EpLibrary, EpThread};

/// A list of calls, and what they returned.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Script {
    steps: Arc<[Next<Call>]>,
    at: usize,
    pub(crate) replies: Vec<Reply>,
}

impl Script {
    pub(crate) fn new(calls: impl IntoIterator<Item = Call>) -> Self {
        Self::of(calls.into_iter().map(Next::Call))
    }

    pub(crate) fn of(steps: impl IntoIterator<Item = Next<Call>>) -> Self {
        Self { steps: steps.into_iter().collect(), at: 0, replies: Vec::new() }
    }
}

impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for Script {
    fn next(&mut self, reply: Option<Reply>) -> Next<Call> {
        self.replies.extend(reply);
        self.at += 1;
        self.steps.get(self.at - 1).cloned().unwrap_or(Next::End)
    }
}

pub(crate) type World = AnyWorld<EpLibrary, EpThread<Script>>;

/// Above this a message of MPI goes by rendezvous.
pub(crate) const EAGER: u64 = 16;

/// Processes with these numbers of endpoints, each on a node of its own.
pub(crate) fn endpoint_job(counts: &[u16], change: impl FnOnce(SharedJob) -> SharedJob) -> EpJob {
    let size = u32::try_from(counts.len()).unwrap();
    let job = SharedJob::new(Job {
        communicators: Communicators::standard(size),
        node_of: (0..size).collect(),
        threads: counts.to_vec(),
        endpoints: Endpoints::default(),
        rendezvous: Protocol::RGet,
        cooperation: Cooperation::default(),
        eager_inter: Bytes::new(EAGER),
        eager_intra: Bytes::new(EAGER),
        header: Bytes::new(8),
        control: Bytes::new(8),
        cell: Bytes::new(EAGER),
        cells: 4,
        adapters: false,
        partitioned: mpisim::protocols::partitioned::Grouping::default(),
        vcis: mpisim::protocols::library::Vcis::default(),
        rma: mpisim::protocols::rma::Settings::default(),
    });
    EpJob::new(change(job)).unwrap()
}

pub(crate) fn world_of(counts: &[u16], calls: impl IntoIterator<Item = Vec<Call>>) -> World {
    world_with(counts, calls, |job| job)
}

/// The same; `change` may plant something into the libraries.
pub(crate) fn world_with(
    counts: &[u16],
    calls: impl IntoIterator<Item = Vec<Call>>,
    change: impl FnOnce(SharedJob) -> SharedJob,
) -> World {
    world_from(counts, calls.into_iter().map(Script::new), change)
}

/// The same of any scripts.
pub(crate) fn world_from(
    counts: &[u16],
    scripts: impl IntoIterator<Item = Script>,
    change: impl FnOnce(SharedJob) -> SharedJob,
) -> World {
    let job = endpoint_job(counts, change);
    let mut threads = job.threads(scripts).into_iter();
    let programs = counts.iter().map(|&count| threads.by_ref().take(count.into()).collect());
    let programs: Vec<Vec<_>> = programs.collect();
    World::new(job.libraries().into_iter().zip(programs).collect(), Payload::Real)
}

/// Number of endpoints.
pub(crate) fn size(counts: &[u16]) -> u32 {
    counts.iter().map(|&count| u32::from(count)).sum()
}
