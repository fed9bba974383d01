//! Ranks of a job: how many processes of how many threads there are, where they run, and how messages
//! find a thread.

use collectives::Collective;
use hardware::core::Pinning;
use protocols::library::{Progress, Queues, Threading};

use language::collectives::{Chosen, Reason};

/// The ranks of one point of a sweep.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ranks {
    /// Number of nodes that the scenario has.
    pub nodes: u32,
    /// Which process runs where.
    pub placement: Placement,
    /// Threads of each process.
    pub threads: u16,
    /// How messages find their thread.
    pub addressing: Addressing,
    /// The seed of all random streams.
    pub seed: u64,
}

impl Ranks {
    /// Ranks that each process has: one for each thread where threads are endpoints, else 1.
    pub const fn of_a_process(&self) -> u16 {
        match self.addressing {
            Addressing::Endpoints(_) | Addressing::EndpointLibrary => self.threads,
            Addressing::Process | Addressing::Duplicated | Addressing::Partitioned => 1,
        }
    }

    /// A collective call, with the units that combine first.
    ///
    /// # Panics
    ///
    /// Where the operation has no such version: validation refuses it.
    pub fn placed(&self, chosen: &Chosen) -> Collective {
        let node_of = |process| self.placement.node_of(process, self.nodes);
        let placed = chosen.placed(self.placement.processes, self.of_a_process(), node_of);
        placed.expect("the plan was checked for it")
    }

    /// Why a collective call has its algorithm, where rules choose it.
    pub fn reason(&self, chosen: &Chosen) -> Option<Reason> {
        let node_of = |process| self.placement.node_of(process, self.nodes);
        chosen.reason(self.placement.processes, self.of_a_process(), node_of)
    }
}

/// Which process runs on which node.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Placement {
    /// Number of processes.
    pub processes: u32,
    /// Processes of a node, at most.
    pub per_node: u32,
    /// How they are dealt out.
    pub order: PlacementOrder,
    /// Whether processes may share a core.
    pub oversubscribe: bool,
    /// Which hardware threads are used first.
    pub pinning: Pinning,
}

/// How processes are dealt out to nodes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PlacementOrder {
    /// One node is filled after the other.
    Block,
    /// Nodes take turns.
    RoundRobin,
}

impl Placement {
    /// The node of `process`, with `nodes` nodes in all.
    pub const fn node_of(&self, process: u32, nodes: u32) -> u32 {
        match self.order {
            PlacementOrder::Block => process / self.per_node,
            PlacementOrder::RoundRobin => process % nodes,
        }
    }

    /// The place of `process` among those of its node.
    pub const fn slot_of(&self, process: u32, nodes: u32) -> u32 {
        match self.order {
            PlacementOrder::Block => process % self.per_node,
            PlacementOrder::RoundRobin => process / nodes,
        }
    }

    /// The process at place `slot` of `node`.
    pub const fn process_at(&self, node: u32, slot: u32, nodes: u32) -> u32 {
        match self.order {
            PlacementOrder::Block => node * self.per_node + slot,
            PlacementOrder::RoundRobin => slot * nodes + node,
        }
    }
}

/// How messages find their thread.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Addressing {
    /// Threads share the rank of their process, each with tags of its own.
    #[default]
    Process,
    /// Each thread has a duplicate of the communicator for itself.
    Duplicated,
    /// Each thread makes a partition of its process's messages ready.
    Partitioned,
    /// Each thread has an endpoint.
    Endpoints(EndpointOptions),
    /// Each thread has an endpoint of a library over plain MPI.
    EndpointLibrary,
}

/// The resources that the endpoints of a process share.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct EndpointOptions {
    /// NIC contexts of a process.
    pub nic_contexts: u16,
    /// How endpoints match.
    pub queues: Queues,
    /// The progress that a call on one endpoint makes for the others.
    pub progress: Progress,
    /// The promise of the program about threads.
    pub threading: Threading,
    /// Whether they are there from the start.
    pub at_start: bool,
}
