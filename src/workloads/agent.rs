//! A progress thread: a thread beside each rank that waits inside MPI until the rank's program ends.
//!
//! ```text
//!   rank    its program … computes, calls … ends ── MPI_Send to itself ──▶ over
//!   agent   MPI_Recv from itself: polls, and handles what it meets ─────▶ over
//! ```
//!
//! The library knows nothing of it: it is a second thread that calls. So every call takes the lock of
//! the library, rank and agent poll in turns while both are inside, what the agent meets it handles
//! with its own core, and its receive stands in the posted queue, where arrivals walk past it.
//!
//! Source: `MPICH301`, what `MPICH_ASYNC_PROGRESS` starts: a thread that waits for a message on a
//! duplicate of `MPI_COMM_SELF`, which `MPI_Finalize` sends. Left out: the creation of the thread,
//! which lies before the program; what its polls take from the hardware threads of its core, as
//! `hardware::core` says, and of a computation that has started before the agent works there.
//! Noticeable where rank and agent share a core.

use super::job::{AnyProgram, Job, JobError};
use mpi::communicator::Communicators;
use mpi::envelope::Rank;
use protocols::call::{Buffer, Call, Comm, Peer, Reply, SendMode};
use protocols::contract::{Machine, Next, Program};
use protocols::library::Library;
use runtime::timed::Ran;

/// Threads of a process that has one.
/// Encoding: the rank's own is the first one, the agent the second.
pub const THREADS: u16 = 2;

/// The communicator in which the rank tells its agent that it is over: that of the process alone.
const OWN: Comm = Comm(Communicators::SELF);
const TAG: i32 = 0;
/// The message has no bytes; its buffer is one that no program names.
const EMPTY: Buffer = Buffer { id: Buffer::OWN - 1, bytes: 0 };

/// One of the two threads of a process.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Assisted<P> {
    /// The rank's own thread.
    Rank {
        /// Its program.
        program: P,
        /// Whether it has notified the agent of its end.
        told: bool,
    },
    /// The agent.
    Agent {
        /// Whether it is inside its only call, or behind it.
        waits: bool,
    },
}

impl<P> Assisted<P> {
    /// The two threads of a rank with this program.
    pub const fn pair(program: P) -> [Self; THREADS as usize] {
        [Self::Rank { program, told: false }, Self::Agent { waits: false }]
    }

    /// The rank's program; `None` of an agent.
    pub fn into_program(self) -> Option<P> {
        if let Self::Rank { program, .. } = self { Some(program) } else { None }
    }

    /// The same, where it is.
    pub const fn program(&self) -> Option<&P> {
        if let Self::Rank { program, .. } = self { Some(program) } else { None }
    }
}

fn tell() -> Call {
    let (to, mode) = (Peer::Rank(Rank(0)), SendMode::Standard);
    Call::Send { to, tag: TAG, comm: OWN, buffer: EMPTY, mode }
}

fn wait() -> Call {
    Call::Recv { source: Peer::Rank(Rank(0)), tag: Some(TAG), comm: OWN, buffer: EMPTY }
}

impl<M, P> Program<M> for Assisted<P>
where
    M: Machine<Call = Call, Reply = Reply>,
    P: Program<M>,
{
    fn next(&mut self, reply: Option<Reply>) -> Next<Call> {
        match self {
            Self::Rank { told: true, .. } | Self::Agent { waits: true } => Next::End,
            Self::Rank { program, told } => {
                let next = program.next(reply);
                *told = matches!(next, Next::End);
                if *told { Next::Call(tell()) } else { next }
            }
            Self::Agent { waits } => {
                *waits = true;
                Next::Call(wait())
            }
        }
    }

    fn loaded(&mut self, value: u64) {
        if let Self::Rank { program, .. } = self {
            program.loaded(value);
        }
    }

    fn uses_a_gpu(&self) -> bool {
        self.program().is_some_and(P::uses_a_gpu)
    }

    fn sends_ready(&self) -> bool {
        self.program().is_some_and(P::sends_ready)
    }

    fn position(&self) -> Option<u32> {
        self.program().and_then(P::position)
    }

    fn line_of(&self, call: u32) -> Option<u32> {
        self.program().and_then(|program| program.line_of(call))
    }
}

impl<P> Job<P> {
    /// The same job, with an agent beside each rank, on the next hardware thread that the pinning
    /// gives.
    ///
    /// # Panics
    ///
    /// Where a process has several threads already: they would have to be distinguished from the agent
    /// where threads are created and joined.
    #[must_use]
    pub fn assisted(self) -> Job<Assisted<P>> {
        assert_eq!(self.threads, 1, "the rank's own thread");
        let mut job =
            self.with_programs(|programs| programs.into_iter().flat_map(Assisted::pair).collect());
        (job.threads, job.selves) = (THREADS, true);
        job
    }
}

impl Job {
    /// Runs the job of a scenario, with an agent beside each rank.
    ///
    /// # Errors
    ///
    /// [`JobError`] where it does not fit the machine.
    ///
    /// # Panics
    ///
    /// As [`Job::assisted`] does.
    pub fn run_assisted(self) -> Result<Ran<Library, Assisted<AnyProgram>>, JobError> {
        Ok(self.assisted().timed()?.run())
    }
}
