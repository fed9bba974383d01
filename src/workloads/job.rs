//! A job: machine, placement, library settings and programs, ready to run in either runtime.

pub use super::AnyProgram;
use super::draws::Draws;
use super::ping_pong::PingPong;
use super::windowed::{Direction, Windowed};
use engine::{Options, Streams};
use hardware::core::{Noise, Pinning, Placement as Places, PlacementError, Scheme, start_skew};
use hardware::pace::Pace;
use hardware::profile::Profile;
use hardware::reliable::Settings;
use hardware::topology::{Shape, Topology, TopologyError};
pub use language::program::member::duplicate;
use mpi::communicator::Communicators;
use mpi::envelope::Rank;
use protocols::contract::{Machine, Process, Program, Region};
use protocols::library::{Endpoints, Job as LibraryJob, Library, SharedJob, Vcis};
use protocols::partitioned::Grouping;
use protocols::rendezvous::{Cooperation, Protocol};
use protocols::rma;
use runtime::faults::{Allowed, FaultPlan, Wires};
use runtime::memory::Payload;
use runtime::monitors::buffers::Lends;
use runtime::timed::{Connections, Kernel, LockOrder, Placement, Planted, Ran, Setup, Timed};
use runtime::untimed::{Between, PacketFaults, World};
use units::{Bytes, TimeDelta};
use xios_ep::comm::CreateError;

/// Disturbances of the run.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Disturbance {
    /// Processes begin up to this much later than the first.
    pub start_skew: TimeDelta,
    /// The operating system takes each core for `1` in every `0`.
    pub os_noise: Option<(TimeDelta, TimeDelta)>,
    /// The plan of faults; empty without faults.
    pub faults: FaultPlan,
}

/// The choices of the MPI library.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MpiOptions {
    /// How windows work.
    pub rma: rma::Settings,
    /// Protocol for large messages between nodes.
    pub rendezvous: Protocol,
    /// How large messages inside a node are moved.
    pub cooperation: Cooperation,
    /// Into how many messages a partitioned send goes.
    pub partitioned: Grouping,
    /// How communicators and windows are spread over the NIC contexts of a process.
    pub vcis: Vcis,
    /// How processes of a node copy from each other's memory.
    pub kernel: Kernel,
    /// How late the counter of a node's large RDMA operations is read.
    pub counter_lag: TimeDelta,
    /// Largest eager payload between nodes; `None`: the machine's.
    pub eager_inter: Option<Bytes>,
    /// Largest eager payload inside a node; `None`: the machine's.
    pub eager_intra: Option<Bytes>,
    /// Whether bytes exist.
    pub payload: Payload,
    /// Channels that a pass polls.
    pub connections: Connections,
    /// Who gets a lock that several threads wait for.
    pub lock: LockOrder,
}

/// The defaults of a scenario.
impl Default for MpiOptions {
    fn default() -> Self {
        Self {
            rma: rma::Settings::default(),
            rendezvous: Protocol::RPut,
            cooperation: Cooperation::default(),
            partitioned: Grouping::default(),
            vcis: Vcis::default(),
            kernel: Kernel::default(),
            counter_lag: TimeDelta::ZERO,
            eager_inter: None,
            eager_intra: None,
            payload: Payload::Phantom,
            connections: Connections::default(),
            lock: LockOrder::default(),
        }
    }
}

/// Everything that decides a run.
#[derive(Clone, Debug)]
pub struct Job<P = AnyProgram> {
    /// The machine.
    pub profile: Profile,
    /// How nodes are wired.
    pub shape: Shape,
    /// How many nodes.
    pub nodes: u32,
    /// Threads of each process.
    pub threads: u16,
    /// The resources that the endpoints of a process share.
    pub endpoints: Endpoints,
    /// How processes fill nodes.
    pub scheme: Scheme,
    /// Which hardware threads are used first.
    pub pinning: Pinning,
    /// Duplicates of `MPI_COMM_WORLD` beyond the standard communicators.
    pub duplicates: u16,
    /// Whether each process has an `MPI_COMM_SELF`.
    pub selves: bool,
    /// The choices of the MPI library.
    pub mpi: MpiOptions,
    /// The pace of queue pairs.
    pub pace: Pace,
    /// The disturbances of the run.
    pub disturbance: Disturbance,
    /// Seed of every random stream.
    pub seed: u64,
    /// Limits, journal, ties.
    pub options: Options,
    /// Whether the choices are kept for a replay in the untimed world.
    pub record: bool,
    /// Whether no thread runs ahead of the clock, for tests: slower, and the same moments.
    pub step_by_step: bool,
    /// A defect of the timed runtime, for tests of the bridge gate.
    pub planted: Option<Planted>,
    /// One program for each thread, process by process.
    pub programs: Vec<P>,
}

/// Why a job cannot be built.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum JobError {
    /// Processes that cannot have endpoints.
    #[error(transparent)]
    Endpoints(#[from] CreateError),
    /// More threads than the machine has.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// Nodes that cannot be wired so.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

impl<P> Job<P> {
    /// Number of processes.
    ///
    /// # Panics
    ///
    /// With more than 2^32 of them.
    pub fn processes(&self) -> u32 {
        let processes = self.programs.len() / usize::from(self.threads);
        u32::try_from(processes).expect("fewer than 2^32 processes")
    }

    /// The same job with what `make` makes of its programs.
    pub(super) fn with_programs<Q>(self, make: impl FnOnce(Vec<P>) -> Vec<Q>) -> Job<Q> {
        Job {
            profile: self.profile,
            shape: self.shape,
            nodes: self.nodes,
            threads: self.threads,
            endpoints: self.endpoints,
            scheme: self.scheme,
            pinning: self.pinning,
            duplicates: self.duplicates,
            selves: self.selves,
            mpi: self.mpi,
            pace: self.pace,
            disturbance: self.disturbance,
            seed: self.seed,
            options: self.options,
            record: self.record,
            step_by_step: self.step_by_step,
            planted: self.planted,
            programs: make(self.programs),
        }
    }

    /// The settings that the libraries of the job share.
    pub(super) fn library(&self, places: &Places) -> SharedJob {
        let mpi = &self.profile.mpi;
        let processes = self.processes();
        SharedJob::new(LibraryJob {
            communicators: self.communicators(),
            node_of: (0..processes).map(|process| places.place(process, 0).node).collect(),
            threads: vec![self.threads; processes as usize],
            endpoints: self.endpoints.clone(),
            rendezvous: self.mpi.rendezvous,
            cooperation: self.mpi.cooperation.clone(),
            eager_inter: self.mpi.eager_inter.unwrap_or(mpi.eager_threshold_inter),
            eager_intra: self.mpi.eager_intra.unwrap_or(mpi.eager_threshold_intra),
            header: mpi.header_bytes,
            control: mpi.control_bytes,
            cell: mpi.shm_cell_size,
            cells: mpi.shm_cell_count,
            adapters: self.profile.hca.matching_on_nic,
            partitioned: self.mpi.partitioned,
            vcis: self.mpi.vcis,
            rma: self.mpi.rma,
        })
    }

    /// The standard communicators, then the duplicates: see [`duplicate`].
    fn communicators(&self) -> Communicators {
        let mut table = Communicators::standard(self.processes());
        for _ in 0..self.duplicates {
            table.duplicate(Communicators::WORLD).expect("a 16-bit number of them has room");
        }
        if self.selves { table.with_selves() } else { table }
    }

    pub(super) fn places(&self) -> Result<Places, PlacementError> {
        let (cpu, threads) = (&self.profile.cpu, u32::from(self.threads));
        let places = Places::new(cpu, self.nodes, self.processes(), threads, self.scheme)?;
        Ok(places.pinned(self.pinning))
    }

    /// The machines of the job, one a process.
    ///
    /// # Errors
    ///
    /// [`JobError`] where the processes do not fit the nodes.
    pub fn machines(&self) -> Result<Vec<Library>, JobError> {
        let job = self.library(&self.places()?);
        Ok((0..self.processes()).map(|me| Library::new(job.clone(), Process(me))).collect())
    }

    /// Packet faults of the untimed world where the job has them: between processes whose way, there
    /// or back, crosses a link that the fault plan makes unreliable, or any link where it names none.
    ///
    /// # Errors
    ///
    /// [`JobError`] where the job does not fit the machine.
    pub fn packet_faults(&self, allowed: Allowed) -> Result<PacketFaults, JobError> {
        let plan = &self.disturbance.faults;
        let (places, topology) = (self.places()?, Topology::new(self.shape, self.nodes)?);
        let named: Vec<&Wires> =
            plan.faults.iter().filter_map(|fault| fault.effect.unreliable()).collect();
        let unreliable = |link| {
            named.is_empty()
                || named.iter().any(|wires| match wires {
                    Wires::All => true,
                    Wires::Link(name) => topology.link_name(link) == *name,
                })
        };
        let node = |process| places.place(process, 0).node;
        let crosses = |from: u32, to: u32| {
            let way = topology.links_between(node(from), node(to));
            way.into_iter().any(unreliable)
        };
        let processes = 0..self.processes();
        let pairs = processes.clone().flat_map(|from| processes.clone().map(move |to| (from, to)));
        let pairs = pairs.filter(|&(from, to)| crosses(from, to) || crosses(to, from));
        let pairs = pairs.map(|(from, to)| (Process(from), Process(to))).collect();
        let settings = Settings::new(plan.transport.retries);
        Ok(PacketFaults { allowed, settings, between: Between::These(pairs) })
    }

    fn placements(&self, places: &Places) -> Vec<Placement> {
        let streams = Streams::new(self.seed);
        let mut placements = Vec::new();
        for process in 0..self.processes() {
            let mut skew = streams.stream("start skew", process);
            let start = start_skew(self.disturbance.start_skew, &mut || skew.next_u64());
            for thread in 0..u32::from(self.threads) {
                let place = places.place(process, thread);
                let core = places.core_index(place);
                let object = u32::try_from(core).expect("cores are counted in u32");
                let noise = self.disturbance.os_noise.map(|(period, length)| {
                    let mut phase = streams.stream("os noise", object);
                    Noise::drawn(period, length, &mut || phase.next_u64())
                });
                let slow = self.disturbance.faults.slow_core(Process(process), noise, &mut || {
                    streams.stream("fault os noise", object).next_u64()
                });
                placements.push(Placement { place, core, start, noise, slow });
            }
        }
        placements
    }

    /// The job in the timed runtime with other libraries, one a process, and with what `programs`
    /// makes of its programs.
    ///
    /// # Errors
    ///
    /// [`JobError`] where it does not fit the machine.
    pub fn timed_on<M, Q>(
        self,
        machines: Vec<M>,
        programs: impl FnOnce(Vec<P>) -> Vec<Q>,
    ) -> Result<Timed<M, Q>, JobError>
    where
        M: Machine<Call: Lends>,
        Q: Program<M>,
    {
        let places = self.places()?;
        let placements = self.placements(&places);
        let topology = Topology::new(self.shape, self.nodes)?;
        let processes = self.processes();
        let faults = Some(self.disturbance.faults).filter(|plan| !plan.faults.is_empty());
        // A process that dies must not have run ahead of its death.
        let dies = faults.as_ref().is_some_and(FaultPlan::has_crash);
        let setup = Setup {
            profile: self.profile,
            topology,
            placements,
            threads: vec![self.threads; processes as usize],
            lanes: if self.mpi.vcis.are_several() {
                self.mpi.vcis.count
            } else {
                self.endpoints.lanes
            },
            paired: self.mpi.vcis.are_several(),
            lock: self.mpi.lock,
            payload: self.mpi.payload,
            connections: self.mpi.connections,
            // Without a rule no core copies through the kernel.
            kernel: (!self.mpi.cooperation.rules.is_empty()).then_some(self.mpi.kernel),
            pace: self.pace,
            counter_lag: self.mpi.counter_lag,
            faults,
            seed: self.seed,
            options: self.options,
            record: self.record,
            step_by_step: self.step_by_step || dies,
            planted: self.planted,
        };
        Ok(Timed::new(setup, machines, programs(self.programs)))
    }
}

impl<P: Clone> Job<P> {
    /// The job in the untimed runtime with machines of any kind, before its first step.
    ///
    /// # Errors
    ///
    /// [`JobError`] where it does not fit the machine.
    pub fn untimed_on<M>(
        &self,
        machine: impl Fn(SharedJob, Process) -> M,
    ) -> Result<World<M, P>, JobError>
    where
        M: Machine<Call: Lends>,
        P: Program<M>,
    {
        let job = self.library(&self.places()?);
        let threads = usize::from(self.threads);
        let programs = self.programs.chunks(threads).map(<[P]>::to_vec);
        let processes = (0..self.processes()).map(|me| machine(job.clone(), Process(me)));
        let world = World::new(processes.zip(programs).collect(), self.mpi.payload);
        Ok(world.with_adapters(self.profile.hca.matching_on_nic))
    }
}

impl<P: Program<Library>> Job<P> {
    /// The job in the timed runtime.
    ///
    /// # Errors
    ///
    /// [`JobError`] where it does not fit the machine.
    pub fn timed(self) -> Result<Timed<Library, P>, JobError> {
        let machines = self.machines()?;
        self.timed_on(machines, |programs| programs)
    }

    /// The same job in the untimed runtime, before its first step.
    ///
    /// # Errors
    ///
    /// [`JobError`] where it does not fit the machine.
    pub fn untimed(&self) -> Result<World<Library, P>, JobError> {
        self.untimed_on(Library::new)
    }

    /// Runs the job.
    ///
    /// # Errors
    ///
    /// [`JobError`] where it does not fit the machine.
    pub fn run(self) -> Result<Ran<Library, P>, JobError> {
        Ok(self.timed()?.run())
    }
}

impl Job {
    /// Runs the job of a scenario, with the bytes that its buffers hold at the beginning. The timed
    /// runtime is compiled for these programs here, and nowhere else.
    ///
    /// # Errors
    ///
    /// [`JobError`] where it does not fit the machine.
    pub fn run_from(
        self,
        contents: &[(Process, Region, Vec<u8>)],
    ) -> Result<Ran<Library, AnyProgram>, JobError> {
        let mut timed = self.timed()?;
        for (process, region, bytes) in contents {
            timed.store(*process, *region, bytes);
        }
        Ok(timed.run())
    }
}

/// The random numbers that programs are made of, by their purpose.
pub fn draws(seed: u64) -> Box<Draws> {
    let streams = Streams::new(seed);
    Box::new(move |purpose| {
        let mut stream = streams.stream(purpose, 0);
        Box::new(move || stream.next_u64())
    })
}

/// Two ranks of a ping-pong.
pub fn ping_pong(bytes: u64, warm_up: u32, rounds: u32) -> Vec<AnyProgram> {
    let rank = |me: u32| PingPong::new(Rank(1 - me), me == 0, bytes, warm_up, rounds);
    vec![AnyProgram::PingPong(rank(0)), AnyProgram::PingPong(rank(1))]
}

/// Which way the pairs of a windowed workload send.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Flow {
    /// From the first node to the second.
    OneWay,
    /// Each node has senders and receivers, in processes of their own.
    BothWays,
    /// Each process sends and receives.
    BothInOne,
}

/// Pairs of ranks on two nodes that exchange windows; `pairs` is the number of senders per node.
///
/// With [`Flow::BothWays`] a node has `pairs` senders, then `pairs` receivers.
pub fn windowed(
    pairs: u32,
    flow: Flow,
    bytes: u64,
    window: u32,
    warm_up: u32,
    rounds: u32,
) -> Vec<AnyProgram> {
    let rank = |peer, direction| {
        let peer = Rank(peer);
        AnyProgram::Windowed(Windowed::new(peer, direction, bytes, window, warm_up, rounds))
    };
    let (first, second) = match flow {
        Flow::OneWay => (Direction::Sends, Direction::Receives),
        Flow::BothInOne => (Direction::Both, Direction::Both),
        Flow::BothWays => {
            let node = |other: u32| {
                let sends = move |i: u32| rank(other + pairs + i, Direction::Sends);
                let receives = move |i: u32| rank(other + i, Direction::Receives);
                (0..pairs).map(sends).chain((0..pairs).map(receives)).collect::<Vec<_>>()
            };
            return [node(2 * pairs), node(0)].concat();
        }
    };
    let here = (0..pairs).map(|i| rank(pairs + i, first));
    let there = (0..pairs).map(|i| rank(i, second));
    here.chain(there).collect()
}
