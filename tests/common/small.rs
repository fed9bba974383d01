//! Small worlds of real libraries: programs as lists of steps, and the few settings that matter.
#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, reason = "a test stops at its first surprise")]

use std::sync::Arc;

use mpisim::collectives::Collective;
use mpisim::mpi::communicator::Communicators;
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{
    Buffer, Call, Comm, Exchange, Outcome, Peer, Reply, Requests, SendMode,
};
use mpisim::protocols::contract::{Handle, Next, Process, Program, Region, Space, Thread};
#[cfg(not(feature = "mutants"))]
use mpisim::protocols::library::Library;
use mpisim::protocols::library::{Endpoints, Job, Progress, Queues, SharedJob, Threading, Vcis};
#[cfg(feature = "mutants")]
use mpisim::protocols::mutant::Flawed as Library;
use mpisim::protocols::rendezvous::{Cooperation, Protocol};
use mpisim::protocols::rma::Settings;
use mpisim::runtime::memory::Payload;
use mpisim::runtime::untimed::World as AnyWorld;
use mpisim::units::Bytes;
use mpisim::workloads::agent::{self, Assisted};

use crate::reference::{Example, INPUT, OUTPUT};

pub(crate) type World = AnyWorld<Library, Script>;
pub(crate) type AssistedWorld = AnyWorld<Library, Assisted<Script>>;

/// A list of steps, and what its calls returned.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Script {
    steps: Arc<[Next<Call>]>,
    at: usize,
    pub(crate) replies: Vec<Reply>,
    /// What its loads read.
    pub(crate) loads: Vec<u64>,
}

impl Script {
    fn new(steps: &[Next<Call>]) -> Self {
        Self { steps: steps.into(), at: 0, replies: Vec::new(), loads: Vec::new() }
    }
}

impl Program<Library> for Script {
    fn next(&mut self, reply: Option<Reply>) -> Next<Call> {
        self.replies.extend(reply);
        let step = self.steps.get(self.at).cloned().unwrap_or(Next::End);
        self.at += 1;
        step
    }

    fn loaded(&mut self, value: u64) {
        self.loads.push(value);
    }

    fn forks(&self) -> bool {
        self.steps.contains(&Next::Fork)
    }

    fn position(&self) -> Option<u32> {
        u32::try_from(self.at).ok()?.checked_sub(1)
    }
}

/// A world before it is built; `steps[process][thread]`.
pub(crate) struct Small {
    pub(crate) steps: Vec<Vec<Vec<Next<Call>>>>,
    pub(crate) endpoints: Endpoints,
    pub(crate) rendezvous: Protocol,
    /// How large messages move inside the node that all are on; `None`: each has its own node.
    pub(crate) near: Option<Cooperation>,
    pub(crate) rma: Settings,
    /// Whether all processes are on one node.
    pub(crate) together: bool,
    /// Whether adapters match messages.
    pub(crate) adapters: bool,
    /// How communicators are spread over the NIC contexts of a process.
    pub(crate) vcis: Vcis,
    /// Process by process, what its buffers hold before.
    pub(crate) example: Option<Example>,
}

/// Above this a message goes by rendezvous.
pub(crate) const EAGER: u64 = 16;
/// The first handle of the endpoints that a program makes.
pub(crate) const FIRST: u16 = 10;
pub(crate) const WORLD: Comm = Comm(0);

impl Small {
    /// One thread a process.
    pub(crate) fn new(calls: Vec<Vec<Call>>) -> Self {
        Self::threads(calls.into_iter().map(|calls| vec![all(calls)]).collect())
    }

    pub(crate) fn threads(steps: Vec<Vec<Vec<Next<Call>>>>) -> Self {
        let (endpoints, rendezvous) = (Endpoints::default(), Protocol::RGet);
        Self {
            steps,
            endpoints,
            rendezvous,
            rma: Settings::default(),
            together: false,
            adapters: false,
            near: None,
            vcis: Vcis::default(),
            example: None,
        }
    }

    /// All ranks call one collective.
    pub(crate) fn collective(example: &Example) -> Self {
        let calls = example.calls().into_iter().map(|call| vec![Call::Collective(call)]);
        Self { example: Some(example.clone()), ..Self::new(calls.collect()) }
    }

    /// All ranks begin one collective, and wait for it.
    pub(crate) fn begun(example: &Example) -> Self {
        let calls = example.calls().into_iter().map(|call| vec![begin(0, call), wait(0)]);
        Self { example: Some(example.clone()), ..Self::new(calls.collect()) }
    }

    pub(crate) fn with(self, endpoints: Endpoints) -> Self {
        Self { endpoints, ..self }
    }

    pub(crate) fn world(&self) -> World {
        self.world_of(|job| job)
    }

    /// The world; `change` may plant something into its libraries.
    pub(crate) fn world_of(&self, change: impl FnOnce(SharedJob) -> SharedJob) -> World {
        let size = u32::try_from(self.steps.len()).unwrap();
        let threads = self.steps.iter().map(|all| u16::try_from(all.len()).unwrap()).collect();
        let job = change(SharedJob::new(self.job(Communicators::standard(size), threads)));
        let machines = (0..size).zip(&self.steps).map(|(process, threads)| {
            let scripts = threads.iter().map(|steps| Script::new(steps)).collect();
            (Library::new(job.clone(), Process(process)), scripts)
        });
        let mut world = World::new(machines.collect(), Payload::Real).with_adapters(self.adapters);
        if let Some(example) = &self.example {
            for (process, rank) in (0..size).zip(0..) {
                for (space, bytes) in
                    [(INPUT, &example.inputs[rank]), (OUTPUT, &example.outputs[rank])]
                {
                    let region = Region::new(space, bytes.len() as u64);
                    world.store(Process(process), region, bytes);
                }
            }
        }
        world
    }

    /// The world with a progress thread beside the first thread of each process.
    pub(crate) fn assisted(&self, change: impl FnOnce(SharedJob) -> SharedJob) -> AssistedWorld {
        let size = u32::try_from(self.steps.len()).unwrap();
        let threads = vec![agent::THREADS; self.steps.len()];
        let communicators = Communicators::standard(size).with_selves();
        let job = change(SharedJob::new(self.job(communicators, threads)));
        let machines = (0..size).zip(&self.steps).map(|(process, threads)| {
            let pair = Assisted::pair(Script::new(&threads[0]));
            (Library::new(job.clone(), Process(process)), pair.into())
        });
        AssistedWorld::new(machines.collect(), Payload::Real)
    }

    pub(crate) fn job(&self, communicators: Communicators, threads: Vec<u16>) -> Job {
        let near = self.together || self.near.is_some();
        let ranks = 0_u32..;
        Job {
            communicators,
            node_of: ranks.take(threads.len()).map(|rank| if near { 0 } else { rank }).collect(),
            threads,
            endpoints: self.endpoints.clone(),
            rendezvous: self.rendezvous,
            cooperation: self.near.clone().unwrap_or_default(),
            eager_inter: Bytes::new(EAGER),
            eager_intra: Bytes::new(EAGER),
            header: Bytes::new(8),
            control: Bytes::new(8),
            cell: Bytes::new(EAGER),
            cells: 4,
            adapters: self.adapters,
            partitioned: mpisim::protocols::partitioned::Grouping::default(),
            vcis: self.vcis,
            rma: self.rma,
        }
    }
}

/// Whether every rank has what the collective gives it.
pub(crate) fn gives(example: &Example, world: &World) -> bool {
    (0..).zip(&example.results).all(|(process, result)| {
        let expected = result.as_ref().unwrap();
        let region = Region::new(OUTPUT, expected.len() as u64);
        &world.memories().bytes(Process(process), region) == expected
    })
}

/// Own lanes, own queues, progress for oneself.
pub(crate) fn own(lanes: u16) -> Endpoints {
    Endpoints {
        lanes,
        queues: Queues::Own,
        progress: Progress::Independent,
        threading: Threading::One,
        ..Endpoints::default()
    }
}

pub(crate) fn all(calls: impl IntoIterator<Item = Call>) -> Vec<Next<Call>> {
    calls.into_iter().map(Next::Call).collect()
}

/// The communicator of an endpoint of this process.
pub(crate) fn at(local: u16) -> Comm {
    Comm(FIRST + local)
}

pub(crate) fn create(count: u16, first: u16) -> Call {
    Call::CreateEndpoints { parent: WORLD, count, first: Comm(first) }
}

pub(crate) fn free(comm: Comm) -> Call {
    Call::FreeEndpoint { comm }
}

pub(crate) fn send(comm: Comm, to: u32, tag: i32, bytes: u64) -> Call {
    let (to, buffer) = (Peer::Rank(Rank(to)), Buffer { id: 90, bytes });
    Call::Send { to, tag, comm, buffer, mode: SendMode::Standard }
}

pub(crate) fn isend(comm: Comm, id: u32, to: u32, tag: i32, bytes: u64) -> Call {
    let (to, buffer) = (Peer::Rank(Rank(to)), Buffer { id, bytes });
    Call::Isend { request: Handle(id), to, tag, comm, buffer, mode: SendMode::Standard }
}

fn peer(from: Option<u32>) -> Peer {
    from.map_or(Peer::Any, |from| Peer::Rank(Rank(from)))
}

/// Receives into a buffer of the number of its tag and size: of its own in every program here.
pub(crate) fn recv(comm: Comm, from: Option<u32>, tag: Option<i32>, id: u32, bytes: u64) -> Call {
    Call::Recv { source: peer(from), tag, comm, buffer: Buffer { id, bytes } }
}

pub(crate) fn irecv(comm: Comm, from: Option<u32>, tag: Option<i32>, id: u32) -> Call {
    let buffer = Buffer { id, bytes: 40 };
    Call::Irecv { request: Handle(id), source: peer(from), tag, comm, buffer }
}

/// A send of so many bytes to a rank with tag 1, and a receive of so many from one.
pub(crate) fn exchange(
    (to, bytes): (u32, u64),
    (from, room): (u32, u64),
    request: Option<Handle>,
    replaces: bool,
) -> Exchange {
    let (comm, tag, mode) = (WORLD, 1, SendMode::Standard);
    let into = Buffer { id: u32::from(!replaces), bytes: room };
    Exchange {
        send: Call::Send {
            to: Peer::Rank(Rank(to)),
            tag,
            comm,
            buffer: Buffer { id: 0, bytes },
            mode,
        },
        receive: Call::Recv { source: Peer::Rank(Rank(from)), tag: Some(tag), comm, buffer: into },
        request,
        replaces,
    }
}

/// The call that prepares an operation for its request.
pub(crate) fn prepared(operation: &Call) -> Call {
    Call::Prepare(Arc::new(operation.clone()))
}

/// The start of an operation that was prepared.
pub(crate) fn started(operation: Call) -> Call {
    let request = operation.begins().expect("it has a request");
    Call::Start { request, operation: Arc::new(operation) }
}

pub(crate) fn iprobe(comm: Comm) -> Call {
    Call::Iprobe { source: Peer::Any, tag: None, comm }
}

pub(crate) fn barrier(comm: Comm) -> Call {
    Call::Barrier { comm }
}

pub(crate) fn begin(request: u32, call: Arc<Collective>) -> Call {
    Call::Icollective { request: Handle(request), call }
}

pub(crate) fn wait(request: u32) -> Call {
    Call::Wait { request: Handle(request) }
}

pub(crate) fn wait_all(first: u32, count: u32) -> Call {
    let requests = Requests::Range { first: Handle(first), count };
    Call::WaitAll { requests, statuses: true }
}

/// Sources and sizes of all that the first thread of a process received, in the order of its calls.
pub(crate) fn received(world: &World, process: u32) -> Vec<(u32, u64)> {
    let program = world.program(Process(process), Thread(0));
    let outcomes = program.replies.iter().flat_map(|reply| match reply {
        Reply::Outcome(outcome) => vec![*outcome],
        Reply::All(outcomes) => outcomes.to_vec(),
        Reply::Done
        | Reply::Any { .. }
        | Reply::Tested(_)
        | Reply::AllTested(_)
        | Reply::AnyTested(_)
        | Reply::Some(_)
        | Reply::Probed(_)
        | Reply::Compared(_)
        | Reply::Flag(_)
        | Reply::Part(..)
        | Reply::Numbers(_) => vec![],
    });
    let statuses = outcomes.filter_map(|outcome| match outcome {
        Outcome::Received(status) => Some((status.source?.0, status.count)),
        Outcome::Truncated(_) | Outcome::Sent | Outcome::Cancelled => None,
    });
    statuses.collect()
}

/// An empty region of a user's buffer.
pub(crate) fn user(id: u32, len: u64) -> Region {
    Region::new(Space::User(id), len)
}
