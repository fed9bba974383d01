//! What all processes of a job agree on: communicators, thresholds, protocols, endpoints, windows.

use std::num::NonZero;
use std::sync::Arc;

use super::contract::{Process, Route, Thread, Via};
#[cfg(feature = "mutants")]
use super::mutant::Mutant;
use super::note::Note;
use super::partitioned::Grouping;
use super::selection::protocol::Protocol;
use super::selection::scheme::Cooperation;
use super::windows::settings::Settings;
use super::wire::Wire;
use mpi::communicator::Communicators;
use units::Bytes;

/// Facts and settings that are the same for all processes of a job.
#[derive(Debug)]
pub struct Job {
    /// The communicators, the same in every process.
    pub communicators: Communicators,
    /// Node of each process.
    pub node_of: Vec<u32>,
    /// Threads of each process; with more than one the library takes its locks.
    pub threads: Vec<u16>,
    /// The resources that the endpoints of a process share.
    pub endpoints: Endpoints,
    /// Protocol for large messages between nodes.
    pub rendezvous: Protocol,
    /// How large messages inside a node are moved.
    pub cooperation: Cooperation,
    /// Largest eager payload between nodes.
    pub eager_inter: Bytes,
    /// Largest eager payload inside a node.
    pub eager_intra: Bytes,
    /// Header bytes of a packet with payload.
    pub header: Bytes,
    /// Bytes of a control packet (RTS, CTS, FIN, acknowledgement).
    pub control: Bytes,
    /// Bytes of one cell of the shared segment.
    pub cell: Bytes,
    /// Cells of the shared segment that one message may fill before it waits for credits.
    pub cells: u32,
    /// Whether the adapter of a process matches its messages while none of its threads is in a call.
    pub adapters: bool,
    /// Into how many messages a partitioned send goes.
    pub partitioned: Grouping,
    /// How communicators and windows are spread over the NIC contexts of a process.
    pub vcis: Vcis,
    /// How windows work.
    pub rma: Settings,
}

impl Job {
    /// The largest eager payload by this way.
    pub(super) const fn eager_by(&self, via: Via) -> u64 {
        match via {
            Via::Hca => self.eager_inter.as_u64(),
            Via::SharedMemory => self.eager_intra.as_u64(),
        }
    }

    /// Whether some receive may be offered to its sender before the message is there.
    pub(super) fn has_offers(&self) -> bool {
        self.rendezvous == Protocol::Rtr || self.cooperation.has_offers()
    }

    /// How process `me` reaches a peer; `thread` acts.
    pub(super) fn wire(&self, me: Process, route: Route, thread: Thread) -> Wire {
        let node = |process: Process| self.node_of[process.0 as usize];
        let via = if node(route.peer) == node(me) { Via::SharedMemory } else { Via::Hca };
        Wire {
            route,
            via,
            header: self.header,
            control: self.control,
            cell: self.cell,
            cells: self.cells,
            thread,
        }
    }
}

/// The job as a machine holds it: shared, and no part of its state; libraries of different jobs are
/// not compared.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct SharedJob(
    pub(super) Note<Arc<Job>>,
    #[cfg(feature = "mutants")] pub(super) Option<Mutant>,
);

impl SharedJob {
    /// Shares `job` between the machines of its processes.
    pub fn new(job: Job) -> Self {
        Self(
            Note(Arc::new(job)),
            #[cfg(feature = "mutants")]
            None,
        )
    }
}

impl std::ops::Deref for SharedJob {
    type Target = Job;
    fn deref(&self) -> &Job {
        &self.0
    }
}

/// How endpoints match.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Queues {
    /// One pair of queues for all ranks of a process: the destination is part of the match.
    #[default]
    Shared,
    /// A pair of queues for each endpoint.
    Own,
}

/// The progress that a call on one endpoint makes for the others.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Progress {
    /// Any call makes progress for all endpoints of the process.
    #[default]
    Process,
    /// A call makes progress for its own endpoint only.
    Independent,
}

/// Promise of the program about threads (an info hint).
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Threading {
    /// Any thread may use any endpoint.
    #[default]
    Any,
    /// Each endpoint is used by one thread at a time: what it alone has needs no lock.
    One,
}

/// Virtual communication interfaces: NIC contexts of a process, each with matching queues and a lock
/// of its own, over which its communicators and windows are spread.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Vcis {
    /// How many; zero counts as one.
    pub count: u16,
    /// After how many passes over the VCI that it waits for a thread makes one over all; `None`: never.
    pub sweep: Option<NonZero<u32>>,
}

impl Vcis {
    /// Whether there is more than one.
    pub const fn are_several(self) -> bool {
        self.count > 1
    }
}

/// The resources that the endpoints of a process share.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Endpoints {
    /// NIC contexts of a process; endpoints beyond them are multiplexed. Zero counts as one.
    pub lanes: u16,
    /// How endpoints match.
    pub queues: Queues,
    /// The progress that a call on one endpoint makes for the others.
    pub progress: Progress,
    /// Promise of the program about threads.
    pub threading: Threading,
    /// Whether a process may make none.
    pub allow_none: bool,
    /// Static creation: the endpoints of each process are the ranks of `MPI_COMM_WORLD`.
    pub at_start: Option<Vec<u16>>,
}
