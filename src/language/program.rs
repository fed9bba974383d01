//! Written programs as they run: the steps of each rank.
//!
//! The workload `program` makes [`Step`]s of the statements of a scenario ([`super::statements`]), and
//! `mpisim conform` of the operations of its matching vectors. [`ProgramStream`] is the program of one
//! rank as a runtime drives it, and keeps a [`Record`] of each return value.
//!
//! Every operation that moves bytes has a buffer of its own, unless it names one.
//!
//! A handle without an open operation behaves as `MPI_REQUEST_NULL` does: a wait or test for it
//! returns at once, and a set leaves it out of consideration.

pub(crate) mod access;
pub(crate) mod computed;
pub(crate) mod control;
pub mod member;
mod operations;
mod record;
mod stream;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use member::{Member, World};
pub use operations::{Does, Extras, Step};
pub use record::{Ending, Record, Returned, too_short};
pub use stream::ProgramStream;

/// The checked programs of all ranks of `MPI_COMM_WORLD`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Programs {
    ranks: Vec<Arc<[Step]>>,
    /// Values of variables at the start, after those of rank and size; none where no expression is.
    variables: Vec<i64>,
    /// Bytes of the buffers with a name, from [`protocols::call::Buffer::OWN`] on.
    buffers: Arc<[u64]>,
    team: Team,
}

/// The threads of each process, of which every one has a program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Team {
    /// How many there are.
    pub threads: u16,
    /// The world in which they are ranks; `None` where each thread is a process to its library.
    pub world: Option<World>,
}

impl Team {
    /// One thread in each process.
    pub const ALONE: Self = Self { threads: 1, world: None };

    /// Threads that share one rank.
    pub fn of_a_rank(self) -> usize {
        match self.world {
            Some(World::Shared | World::Duplicated) => self.threads.into(),
            Some(World::Dynamic | World::Static) | None => 1,
        }
    }
}

impl Programs {
    /// Programs of these steps; the list's length is the size of `MPI_COMM_WORLD`. A reader has checked them:
    /// handles are opened before they are asked about.
    pub fn checked(ranks: Vec<Arc<[Step]>>) -> Self {
        Self { ranks, variables: Vec::new(), buffers: Arc::new([]), team: Team::ALONE }
    }

    /// The same with `count` variables, those of rank and size among them.
    #[must_use]
    pub fn with_variables(self, count: usize) -> Self {
        Self { variables: vec![0; count], ..self }
    }

    /// The same where buffers with a name have so many bytes.
    #[must_use]
    pub fn with_buffers(self, buffers: Arc<[u64]>) -> Self {
        Self { buffers, ..self }
    }

    /// The same where processes have several threads, and `ranks` has the programs of all of them.
    #[must_use]
    pub fn of_threads(self, team: Team) -> Self {
        Self { team, ..self }
    }

    /// Number of programs: one for each rank, or for each thread of it.
    pub fn size(&self) -> usize {
        self.ranks.len()
    }

    /// The program of one rank, or of one thread of a rank, at its beginning.
    ///
    /// # Panics
    ///
    /// When `index` is not below [`Self::size`].
    pub fn stream(&self, index: usize) -> ProgramStream {
        let Team { threads, world } = self.team;
        let (of_a_rank, thread) = (self.team.of_a_rank(), index % usize::from(threads));
        let (rank, size) = (index / of_a_rank, self.ranks.len() / of_a_rank);
        let mut variables = self.variables.clone();
        let number = |number: usize| i64::try_from(number).expect("there are fewer ranks");
        if !variables.is_empty() {
            let place = [rank, size].map(number);
            let known = control::known(place, [number(thread), threads.into()]);
            variables[..known.len()].copy_from_slice(&known);
        }
        let steps = Arc::clone(&self.ranks[index]);
        let thread = u16::try_from(thread).expect("it is below the number of threads");
        let member = world.map(|world| Member::new(thread, threads, world));
        let shown = (of_a_rank > 1).then_some(thread);
        ProgramStream::new(steps, (rank, size), shown, variables, Arc::clone(&self.buffers))
            .of_member(member)
    }
}
