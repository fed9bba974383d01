//! The values of a plan: a scenario with all defaults filled in, and each point of its sweep.
//!
//! Runs, claims and reports read them; [`super::load`] makes them.

use std::path::PathBuf;
use std::sync::Arc;

use super::super::claim::Claim;
use super::super::claim::figures::Figure;
use super::super::schema::noise::OsNoise;
use super::super::shipped::Shipped;
use super::super::sweep::Sweep;
use super::sources::Sourced;
use form::machine::Machine;
use hardware::topology::Shape;
use runtime::faults::FaultPlan;
use units::{Bytes, TimeDelta};
use workloads::job::MpiOptions;
use workloads::kind::Workload;
use workloads::ranks::{Addressing, Placement, Ranks};

/// A scenario that can be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scenario's path under `scenarios/` without `.json`, or its file's name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Document and figure that it reproduces.
    pub source: Option<String>,
    /// Its note.
    pub note: Option<String>,
    /// The bytes that were read.
    pub bytes: Vec<u8>,
    /// Hash of the text (line ends as `\n`) and of the overrides: 32 hexadecimal digits.
    pub digest: String,
    /// `path=value` of each `--set`, in order.
    pub overrides: Vec<String>,
    /// The axes.
    pub sweep: Sweep,
    /// Every point, in sweep order.
    pub points: Vec<Point>,
    /// Numbers of the scenario that have a source.
    pub sourced: Vec<Sourced>,
    /// Its figures.
    pub figures: Vec<Figure>,
    /// Its claims.
    pub claims: Vec<Claim>,
    /// The scenario's file, where it is one.
    pub file: Option<PathBuf>,
    /// The files that it was read from, that one first, and those that its runs execute, read or keep.
    pub files: Vec<PathBuf>,
    /// Files that ship with the program, those that say which claims hang on assumed numbers among them.
    pub shipped: Shipped,
}

/// One point of a sweep: everything that a run needs.
#[derive(Clone, Debug)]
pub struct Point {
    /// Index in sweep order, from 0.
    pub index: usize,
    /// Swept path and value, in axis order.
    pub params: Vec<(String, String)>,
    /// The machine of every node; points that do not differ in it share it.
    pub machine: Arc<Machine>,
    /// Number of nodes.
    pub nodes: u32,
    /// Which process runs where.
    pub placement: Placement,
    /// Threads of each process.
    pub threads: u16,
    /// Whether each process has a progress thread besides.
    pub progress_thread: bool,
    /// How messages find their thread.
    pub addressing: Addressing,
    /// The network.
    pub topology: Shape,
    /// The choices of the MPI library.
    pub mpi: MpiOptions,
    /// The origin of how its processes are connected.
    pub connected: Connected,
    /// The programs of the processes.
    pub workload: Arc<dyn Workload>,
    /// Whether the metrics include an account of the time of a message.
    pub account: bool,
    /// Random disturbances.
    pub noise: Noise,
    /// Its faults.
    pub faults: FaultPlan,
    /// Where the run stops.
    pub limits: Limits,
    /// The seed of all random streams.
    pub seed: u64,
}

impl Point {
    /// Its ranks.
    pub const fn ranks(&self) -> Ranks {
        let Self { nodes, placement, threads, addressing, seed, .. } = *self;
        Ranks { nodes, placement, threads, addressing, seed }
    }

    /// Nodes that its processes need: processes that are all on one node need no second one.
    pub fn used_nodes(&self) -> u32 {
        let all_on_one = self.placement.processes == self.placement.per_node;
        let needed = || if all_on_one { 1 } else { self.nodes };
        self.workload.nodes().unwrap_or_else(needed)
    }

    /// The word of its kind of workload.
    pub fn kind(&self) -> &'static str {
        self.workload.kind().name
    }
}

/// Whether the scenario or its machine chooses how the processes of a point are connected.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Connected {
    /// Whether the scenario chooses it; else its machine does.
    pub stated: bool,
    /// Processes of other nodes that a process has.
    pub peers: u32,
}

/// Random disturbances; none by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Noise {
    /// Each process starts after a uniform time up to this.
    pub start_skew: TimeDelta,
    /// Interruptions of each core.
    pub os_noise: Option<OsNoise>,
}

/// Where a run stops.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Events.
    pub events: u64,
    /// Simulated time.
    pub time: TimeDelta,
    /// Memory, as [`runtime::memory_use`] counts it.
    pub memory: Bytes,
    /// Whether the scenario gives it: otherwise a run may hold no more memory than this host has.
    pub memory_given: bool,
}
