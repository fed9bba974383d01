//! The setup of a timed run: the machine, where its threads run, and what goes wrong.

use crate::faults::FaultPlan;
use crate::memory::Payload;
use engine::Options;
use hardware::core::{Noise, Place};
use hardware::pace::Pace;
use hardware::profile::Profile;
use hardware::slow_core::SlowCore;
use hardware::topology::Topology;
use units::TimeDelta;

/// Which of several waiting threads gets a lock.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LockOrder {
    /// The thread that waits longest.
    #[default]
    Fair,
    /// The thread whose core the lock's cache line reaches first, also one that asks after others.
    Unfair,
}

/// How the kernel lets a process copy from and into another one.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Kernel {
    /// Cross memory attach (`process_vm_readv`): the copying side pins the other's pages.
    #[default]
    Cma,
    /// KNEM: the owner declares its buffer, which pins it.
    Knem,
    /// XPMEM: the other's pages are mapped, each with a fault at its first touch.
    Xpmem,
}

/// How many channels a pass of the progress engine polls.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Connections {
    /// One receive channel for each lane of the job, the own one included, connected or not.
    #[default]
    PerPeer,
    /// One shared receive queue for all processes of other nodes; one cell each for neighbours.
    SharedReceiveQueue,
}

/// One thread of the job: where it runs and what it runs.
#[derive(Clone, Debug)]
pub struct Placement {
    /// Its hardware thread.
    pub place: Place,
    /// A number of its own for each core of the job.
    pub core: usize,
    /// When it begins.
    pub start: TimeDelta,
    /// Time that the operating system takes from it.
    pub noise: Option<Noise>,
    /// Slowdown by faults; then `noise` is part of it.
    pub slow: Option<Box<SlowCore>>,
}

/// Input of a run besides machines and programs.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The machine.
    pub profile: Profile,
    /// The wires between nodes.
    pub topology: Topology,
    /// Threads in order: all of process 0, then of process 1, …
    pub placements: Vec<Placement>,
    /// Threads of each process.
    pub threads: Vec<u16>,
    /// Lanes of each process.
    pub lanes: u16,
    /// Whether each lane is connected to those of its own number only.
    pub paired: bool,
    /// Which of several waiting threads gets a lock.
    pub lock: LockOrder,
    /// Whether bytes exist.
    pub payload: Payload,
    /// Channels that a pass polls.
    pub connections: Connections,
    /// How processes of a node copy from each other's memory; `None`: they do not.
    pub kernel: Option<Kernel>,
    /// The pace of queue pairs.
    pub pace: Pace,
    /// How late readers see the counter of a node's large RDMA operations.
    pub counter_lag: TimeDelta,
    /// Faults of the run; `None`: there are none.
    pub faults: Option<FaultPlan>,
    /// The seed of the random numbers of faults.
    pub seed: u64,
    /// Limits, journal, ties.
    pub options: Options,
    /// Whether the choices are kept for a replay in the untimed world.
    pub record: bool,
    /// Whether the end of every list is an event, also of threads that could run ahead of the clock,
    /// and every slice of polling under a lock, also those that arithmetic could pass over: slower,
    /// and the same moments.
    pub step_by_step: bool,
    /// A defect of this runtime, to show that the bridge gate refuses it.
    pub planted: Option<Planted>,
}

/// A defect that can be planted into this runtime.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Planted {
    /// A poll takes the newest entry of a channel instead of the oldest.
    NewestFirst,
    /// No thread waits for the library lock.
    NoLock,
    /// An adapter takes messages while a thread of its process is inside the library, too.
    AdapterBesidePolls,
}

impl Placement {
    /// Whether its work takes what it takes, whenever it is done.
    pub(super) const fn is_undisturbed(&self) -> bool {
        self.noise.is_none() && self.slow.is_none()
    }
}
