//! Workloads over one-sided communication: who takes part, and what each rank does.

use super::epochs::Epochs;
use super::job::AnyProgram;
use super::linked_list::{List, appenders, disorder};
use super::mutex::{Algorithm, Cycles, contenders};
use super::window_growth::{Growth, growers};
use runtime::memory::Memories;
use runtime::monitors::Violation;

/// A workload over windows.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OneSided {
    /// Processes.
    pub processes: u32,
    /// The most processes of a node.
    pub per_node: u32,
    /// What they do.
    pub task: Task,
}

/// What the processes do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Task {
    /// All take one mutex and give it back.
    Mutex {
        /// Which one.
        algorithm: Algorithm,
        /// How often, and what for.
        asked: Cycles,
    },
    /// All append to one list.
    LinkedList(List),
    /// All but the first make epochs towards its window.
    Epochs(Epochs),
    /// The window becomes twice as large.
    WindowGrowth(Growth),
}

impl OneSided {
    /// The scenario's word for it.
    pub const fn kind(&self) -> &'static str {
        match self.task {
            Task::Mutex { .. } => "mutex",
            Task::LinkedList(_) => "linked_list",
            Task::Epochs(_) => "rma_epochs",
            Task::WindowGrowth(_) => "window_growth",
        }
    }

    /// Whether all processes map the memory of the window.
    pub const fn is_mapped(&self) -> bool {
        match self.task {
            Task::Mutex { asked, .. } => asked.shared,
            Task::Epochs(asked) => asked.shared,
            Task::LinkedList(_) | Task::WindowGrowth(_) => false,
        }
    }

    /// Nodes that hold the processes.
    pub const fn nodes(&self) -> u32 {
        self.processes.div_ceil(self.per_node)
    }

    /// What every rank does so many times between its two marks.
    pub fn repetitions(&self) -> u64 {
        match self.task {
            Task::Mutex { asked, .. } => asked.cycles.into(),
            Task::LinkedList(_) => 1,
            Task::WindowGrowth(growth) => growth.rounds.into(),
            Task::Epochs(asked) => asked.rounds.into(),
        }
    }

    /// Ranks whose time between their two marks is measured.
    pub const fn measured(&self) -> u32 {
        match self.task {
            Task::Mutex { .. } | Task::LinkedList(_) | Task::WindowGrowth(_) => self.processes,
            Task::Epochs(_) => self.processes - 1,
        }
    }

    /// Whether what the processes do depends on the bytes in their memory.
    pub const fn needs_bytes(&self) -> bool {
        match self.task {
            Task::Mutex { .. } | Task::LinkedList(_) => true,
            Task::Epochs(_) | Task::WindowGrowth(_) => false,
        }
    }

    /// The programs of all ranks.
    pub fn programs(&self) -> Vec<AnyProgram> {
        match self.task {
            Task::Mutex { algorithm, asked } => {
                let contenders = contenders(algorithm, self.processes, asked);
                contenders.into_iter().map(|one| AnyProgram::Mutex(Box::new(one))).collect()
            }
            Task::LinkedList(list) => {
                let appenders = appenders(self.processes, list);
                appenders.into_iter().map(|one| AnyProgram::List(Box::new(one))).collect()
            }
            Task::Epochs(asked) => asked.programs(self.processes),
            Task::WindowGrowth(growth) => {
                let growers = growers(self.processes, growth);
                growers.into_iter().map(|one| AnyProgram::Growth(Box::new(one))).collect()
            }
        }
    }

    /// What the memories must hold after a run that came to its end.
    pub fn broken(&self, memories: &Memories) -> Option<Violation> {
        match self.task {
            Task::Mutex { .. } | Task::WindowGrowth(_) | Task::Epochs(_) => None,
            Task::LinkedList(list) => disorder(memories, self.processes, list.elements),
        }
    }
}
