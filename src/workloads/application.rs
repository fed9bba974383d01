//! Skeletons of applications: their messages are those of the code, their computation is an input.
//!
//! Each process is one rank of `MPI_COMM_WORLD`. All begin with a barrier; marks 0 and 1 of a rank
//! bracket what is measured.
//!
//! Source: `coop` Sec. IV-C and V. The computation is calibrated on a run with the default protocol only.

use std::sync::Arc;

use super::comd::CoMd;
use super::graph500::Search;
use super::graph500::rmat::Draws;
use super::job::AnyProgram;
use super::minighost::MiniGhost;
use super::ping_pong::{END, START};
use super::score::Section;
use super::stencil::Stencil;
use mpi::operator::{Datatype, Operator, Reduction};
use protocols::call::{Call, Comm};
use protocols::collectives::Collective;
use protocols::contract::{Next, Region, Space};

/// An application on so many processes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Application {
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
    /// A stencil of 7 points.
    Stencil(Stencil),
    /// Breadth-first search of Graph500.
    Search(Search),
    /// Molecular dynamics.
    CoMd(CoMd),
    /// A stencil code with many variables.
    MiniGhost(MiniGhost),
}

impl Application {
    /// The scenario's word for it.
    pub const fn kind(&self) -> &'static str {
        match self.task {
            Task::Stencil(_) => "stencil",
            Task::Search(_) => "graph500",
            Task::CoMd(_) => "comd",
            Task::MiniGhost(_) => "minighost",
        }
    }

    /// Nodes that hold the processes.
    pub const fn nodes(&self) -> u32 {
        self.processes.div_ceil(self.per_node)
    }

    /// Measured steps; `None` for a search, which has levels.
    pub const fn steps(&self) -> Option<u32> {
        match &self.task {
            Task::Stencil(task) => Some(task.steps),
            Task::CoMd(task) => Some(task.steps),
            Task::MiniGhost(task) => Some(task.steps),
            Task::Search(_) => None,
        }
    }

    /// Computation of a process in all steps, in picoseconds.
    pub fn compute(&self) -> u128 {
        let (steps, each) = match &self.task {
            Task::Stencil(task) => (task.steps, task.compute),
            Task::CoMd(task) => (task.steps, task.compute),
            Task::MiniGhost(task) => (task.steps, task.compute),
            Task::Search(task) => return task.compute(),
        };
        u128::from(steps) * u128::from(each)
    }

    /// Messages between neighbours in all steps; 0 for a search, whose graph is made with its programs.
    pub fn messages(&self) -> u64 {
        match &self.task {
            Task::Stencil(task) => task.messages(),
            Task::CoMd(task) => task.messages(),
            Task::MiniGhost(task) => task.messages(),
            Task::Search(_) => 0,
        }
    }

    /// Bytes of these messages; of a search, those of all pairs.
    pub fn bytes(&self) -> u128 {
        match &self.task {
            Task::Stencil(task) => task.bytes(),
            Task::CoMd(task) => task.bytes(),
            Task::MiniGhost(task) => task.bytes(),
            Task::Search(task) => task.bytes(),
        }
    }

    /// Bytes of the greatest message.
    pub fn greatest(&self) -> u64 {
        match &self.task {
            Task::Stencil(task) => task.halo,
            Task::CoMd(task) => task.halo().into_iter().max().unwrap_or(0),
            Task::MiniGhost(task) => task.halo(0).into_iter().max().unwrap_or(0),
            Task::Search(task) => task.buffer,
        }
    }

    /// The reductions over all processes that it calls, each by the library's default.
    ///
    /// # Panics
    ///
    /// Never: sums of numbers are defined.
    pub fn reductions(&self) -> Vec<Collective> {
        let sum = |datatype, elements: u64, id| {
            let sum = Reduction::new(Operator::Sum, datatype).expect("numbers have a sum");
            let region = |id| Region::new(Space::User(id), elements * datatype.width());
            Collective::allreduce(Comm::default(), region(id), region(id + 1), sum)
        };
        let free = super::halo::FREE;
        match &self.task {
            Task::Stencil(_) => Vec::new(),
            Task::CoMd(_) => {
                vec![sum(Datatype::Int32, 1, free), sum(Datatype::Double, 2, free + 2)]
            }
            Task::MiniGhost(task) if task.sums == 0 => Vec::new(),
            Task::MiniGhost(_) => vec![sum(Datatype::Double, 1, free)],
            Task::Search(_) => vec![sum(Datatype::Int64, 1, self.processes + 1)],
        }
    }

    /// The programs of all ranks, with their reductions as the library makes them; `draws` decide
    /// the graph of a search.
    ///
    /// # Panics
    ///
    /// When there are not as many reductions as [`Self::reductions`] names.
    pub fn programs(&self, draws: &Draws, reductions: &[Arc<Collective>]) -> Vec<AnyProgram> {
        assert_eq!(reductions.len(), self.reductions().len(), "each reduction has its call");
        let ranks = 0..self.processes;
        match &self.task {
            Task::Stencil(task) => {
                ranks.map(|rank| AnyProgram::Score(task.program(rank))).collect()
            }
            Task::CoMd(task) => {
                let sums = [&reductions[0], &reductions[1]];
                ranks.map(|rank| AnyProgram::Score(task.program(rank, sums))).collect()
            }
            Task::MiniGhost(task) => {
                let sum = reductions.first();
                ranks.map(|rank| AnyProgram::Score(task.program(rank, sum))).collect()
            }
            Task::Search(task) => {
                let searchers = task.programs(self.processes, draws, &reductions[0]);
                searchers.into_iter().map(|one| AnyProgram::Search(Box::new(one))).collect()
            }
        }
    }
}

/// Everybody is there before anybody begins.
pub(super) fn begin() -> Section {
    Section::once([Next::Call(Call::Barrier { comm: Comm::default() }), Next::Mark(START)])
}

/// What is measured is over.
pub(super) fn end() -> Section {
    Section::once([Next::Mark(END)])
}

/// One reduction.
pub(super) fn reduce(call: &Arc<Collective>) -> Next<Call> {
    Next::Call(Call::Collective(Arc::clone(call)))
}
