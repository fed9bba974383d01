//! Workloads over one-sided communication: who takes part, and what each rank does.

use std::fmt::Debug;
use std::sync::Arc;

use super::assumption::Assumption;
use super::job::AnyProgram;
use super::kind::{Kind, Processes, Reading, Workload};
use super::metric::{Measured, between_marks, marks, to_f64};
use super::ranks::Ranks;
use form::shape::Shape;
use form::typed::{Entry, default, required};
use language::marks::{END, START};
use runtime::memory::Memories;
use runtime::monitors::Violation;
use runtime::timed::Outcome;

static COUNT: Shape = Shape::Count { min: 1, max: 65_536 };

pub(super) const PROCESSES: Entry = required(&COUNT, "16").saying("Processes in all.");
pub(super) const PER_NODE: Entry = required(&COUNT, "8").saying("Processes of a node, at most.");
/// The field that says how many processes a node has.
pub(super) const PER_NODE_PATH: &str = "workload.processes_per_node";

form::words! {
    /// How a window is made.
    pub enum WindowKind {
        /// each process has its part in its own memory
        Allocated = "allocated",
        /// all parts lie in memory that all map: one node
        Shared = "shared",
    }
}

/// How the window of a workload is made.
pub(super) const WINDOW: Entry =
    default(&WindowKind::SHAPE, "allocated").saying("How the window is made.");

/// The task of the processes of a workload over windows; one type implements it in the file of its
/// kind.
pub trait Task: Debug + Send + Sync + Sized + 'static {
    /// Its kind.
    fn kind() -> &'static Kind;

    /// Whether all processes map the memory of the window.
    fn is_mapped(&self) -> bool {
        false
    }

    /// Whether what the processes do depends on the bytes in their memory.
    fn needs_bytes(&self) -> bool {
        false
    }

    /// Whether it takes locks of single targets, which are messages, where all goes by RDMA.
    fn locks_by_rdma(&self) -> bool {
        false
    }

    /// Refuses numbers that contradict each other.
    fn check(&self, _processes: u32, _reading: &mut Reading<'_>) {}

    /// Numbers that it takes for granted.
    fn assumptions(&self) -> Vec<Assumption> {
        Vec::new()
    }

    /// The programs of all ranks.
    fn programs(&self, processes: u32) -> Vec<AnyProgram>;

    /// The law that the memories break after a run that came to its end.
    fn broken(&self, _processes: u32, _memories: &Memories) -> Option<Violation> {
        None
    }

    /// Adds its metrics.
    fn measure(&self, processes: u32, run: &mut Measured<'_>);
}

/// A workload over windows.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OneSided<T> {
    /// Processes.
    pub processes: u32,
    /// The most processes of a node.
    pub per_node: u32,
    /// The task of the processes.
    pub task: T,
}

/// So many processes, on nodes of at most `per_node`.
pub(super) fn one_sided<T: Task>((processes, per_node): (u32, u32), task: T) -> Arc<dyn Workload> {
    Arc::new(OneSided { processes, per_node: per_node.min(processes), task })
}

impl<T> OneSided<T> {
    /// Nodes that hold the processes.
    pub const fn nodes(&self) -> u32 {
        self.processes.div_ceil(self.per_node)
    }
}

impl<T: Task> Workload for OneSided<T> {
    fn kind(&self) -> &'static Kind {
        T::kind()
    }

    fn processes(&self, reading: &mut Reading<'_>) -> Option<Processes> {
        let before = reading.diagnostics.errors();
        let (nodes, per_node) = (self.nodes(), self.per_node);
        if nodes > reading.nodes {
            let found = format!("{} processes need {nodes} nodes", self.processes);
            let allowed = format!("there are {}, with {per_node} processes each", reading.nodes);
            reading.refuse("workload.processes", found, allowed);
        }
        let payload = reading.tree.get("mpi").and_then(|mpi| mpi.word("payload"));
        if self.task.needs_bytes() && payload == Some("phantom") {
            let name = T::kind().name;
            let allowed = format!("the workload {name} decides by them: `real` is needed");
            reading.refuse("mpi.payload", "the bytes of messages do not exist", allowed);
        }
        if self.task.locks_by_rdma() {
            reading.refuse(
                "mpi.rma.transport",
                "locks of single targets over RDMA alone",
                "they are messages: `messages` or `mixed` is needed",
            );
        }
        if self.task.is_mapped() && nodes > 1 {
            let found = format!("memory that is shared by processes on {nodes} nodes");
            let allowed = format!("it is shared inside a node, of {per_node} processes at most");
            reading.refuse("workload.window", found, allowed);
        }
        self.task.check(self.processes, reading);
        (reading.diagnostics.errors() == before)
            .then_some(Processes::new(self.processes, self.per_node))
    }

    fn maps_windows(&self) -> bool {
        self.task.is_mapped()
    }

    fn has_windows(&self) -> bool {
        true
    }

    fn needs_bytes(&self) -> bool {
        self.task.needs_bytes()
    }

    fn assumptions(&self) -> Vec<Assumption> {
        self.task.assumptions()
    }

    fn nodes(&self) -> Option<u32> {
        Some(self.nodes())
    }

    fn programs(&self, _: &Ranks) -> Vec<AnyProgram> {
        self.task.programs(self.processes)
    }

    fn broken(&self, memories: &Memories) -> Vec<Violation> {
        self.task.broken(self.processes, memories).into_iter().collect()
    }

    fn measure(&self, run: &mut Measured<'_>) {
        self.task.measure(self.processes, run);
    }
}

/// Of `ranks` ranks that do something `repetitions` times between their two marks: what one of it takes a
/// rank in the mean, how often one of all ranks ends, and its packets.
pub(super) fn measure_cycles(outcome: &Outcome, repetitions: u32, ranks: u32) -> [f64; 3] {
    let mut begun: Vec<_> = marks(outcome, START).map(|mark| (mark.process, mark)).collect();
    begun.sort_unstable_by_key(|(process, _)| *process);
    let (mut spent, mut packets) = (0.0, 0);
    for end in marks(outcome, END) {
        let start = begun.binary_search_by_key(&end.process, |(process, _)| *process);
        let start = begun[start.expect("a rank that ends has begun")].1;
        spent += end.at.since(start.at).as_us_f64();
        packets += end.account.packets - start.account.packets;
    }
    let (first, last) = between_marks(outcome);
    let all = f64::from(repetitions) * f64::from(ranks);
    [spent / all, last.since(first).as_us_f64() / all, to_f64(packets) / all]
}
