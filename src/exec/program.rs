//! A process as the program of a rank: its calls are those of the process.

use std::fmt::{Debug, Formatter};
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::functions::Function;
use super::job::{Failure, Job, JobMemory};
use super::mpi::{After, Client, Step};
use super::ranks::{RankError, Request};
use super::wire;
use protocols::call::{Call, Reply};
use protocols::contract::{Machine, Next, Program};
use protocols::process_memory::ProcessMemory;

/// One rank's process. Clones are the same process; two are equal that are.
#[derive(Clone)]
pub struct RealProgram {
    job: Arc<Job>,
    rank: u32,
    state: Arc<Mutex<State>>,
}

struct State {
    client: Client,
    /// The function that the process is in, and what becomes of the reply.
    inside: Option<(Function, After)>,
    /// The time, where the process has asked for it.
    time: Option<u64>,
    is_over: bool,
}

/// The measured time of a rank begins with `MPI_Init` and ends with `MPI_Finalize`.
const START: u32 = 0;
const END: u32 = 1;

impl RealProgram {
    /// The programs of a job.
    pub fn of(job: &Arc<Job>) -> Vec<Self> {
        let state = |rank| State {
            client: Client::new(rank, job.size()),
            inside: None,
            time: None,
            is_over: false,
        };
        let program =
            |rank| Self { job: Arc::clone(job), rank, state: Arc::new(Mutex::new(state(rank))) };
        (0..job.size()).map(program).collect()
    }

    /// The job that it belongs to.
    pub const fn job(&self) -> &Arc<Job> {
        &self.job
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The process goes on, until it calls what takes the library, or time.
    fn advance(&self, state: &mut State, reply: Option<&Reply>) -> Next<Call> {
        match self.advanced(state, reply) {
            Ok(next) => next,
            Err(error) => {
                let last =
                    state.inside.as_ref().map_or("its start", |(function, _)| function.name());
                self.job.lost(self.rank, last, &error);
                over(state)
            }
        }
    }

    fn advanced(&self, state: &mut State, reply: Option<&Reply>) -> Result<Next<Call>, RankError> {
        if let Some(time) = state.time.take() {
            let seconds = seconds(time);
            self.job.place(self.rank).process.answer(seconds.to_bits())?;
        } else if let (Some((_, after)), Some(reply)) = (&state.inside, reply) {
            let mut place = self.job.place(self.rank);
            let value = state.client.replied(after, reply, &mut place);
            place.process.answer(value)?;
            if *after == After::Finalized {
                return Ok(Next::Mark(END));
            }
        }
        loop {
            let Some(asked) = self.asked()? else {
                return Ok(self.ended(state));
            };
            if asked.function == wire::HELLO {
                if asked.word(0) != wire::VERSION {
                    return Err(RankError::Nonsense { rank: self.rank });
                }
                self.job.place(self.rank).process.answer(0)?;
                continue;
            }
            let Some(function) = Function::ALL.get(asked.function as usize).copied() else {
                return Err(RankError::Nonsense { rank: self.rank });
            };
            if let Some(next) = self.called(state, function, &asked)? {
                return Ok(next);
            }
        }
    }

    fn asked(&self) -> Result<Option<Request>, RankError> {
        self.job.place(self.rank).process.request()
    }

    /// What a call of the process leads to; `None` where it has been answered.
    fn called(
        &self,
        state: &mut State,
        function: Function,
        asked: &Request,
    ) -> Result<Option<Next<Call>>, RankError> {
        let mut place = self.job.place(self.rank);
        Ok(match state.client.call(function, asked, &mut place)? {
            Step::Returns(value) => {
                state.inside = Some((function, After::Nothing));
                place.process.answer(value)?;
                let begins = matches!(function, Function::Init | Function::Init_thread);
                begins.then_some(Next::Mark(START))
            }
            Step::Calls(call, after) => {
                state.inside = Some((function, after));
                Some(Next::Call(call))
            }
            Step::Clock => Some(Next::Clock),
            Step::Aborts(status) => {
                let what = format!("rank {} calls MPI_Abort with {status}", self.rank);
                self.job.fail(Failure { rank: self.rank, what, status: Some(status) });
                Some(over(state))
            }
            Step::Fails(_class, why) => {
                let what = format!("rank {}, {}: {why}", self.rank, function.name());
                self.job.fail(Failure { rank: self.rank, what, status: None });
                Some(over(state))
            }
        })
    }

    /// The process has closed the channel: after `MPI_Finalize` that is its end.
    fn ended(&self, state: &mut State) -> Next<Call> {
        let last = state.inside.as_ref().map_or("its start", |(function, _)| function.name());
        self.job.ended(self.rank, last, matches!(state.inside, Some((Function::Finalize, _))));
        over(state)
    }
}

fn over(state: &mut State) -> Next<Call> {
    state.is_over = true;
    Next::End
}

/// Picoseconds as the seconds of `MPI_Wtime`.
#[allow(clippy::cast_precision_loss, reason = "53 bits of picoseconds are 2.5 hours")]
fn seconds(ps: u64) -> f64 {
    ps as f64 * 1e-12
}

impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for RealProgram {
    fn next(&mut self, reply: Option<Reply>) -> Next<Call> {
        let mut state = self.state();
        if state.is_over || self.job.failure().is_some() {
            return Next::End;
        }
        self.advance(&mut state, reply.as_ref())
    }

    fn loaded(&mut self, value: u64) {
        self.state().time = Some(value);
    }

    fn process_memory(&self) -> Option<Rc<dyn ProcessMemory>> {
        Some(Rc::new(JobMemory(Arc::clone(&self.job))))
    }
}

impl Debug for RealProgram {
    fn fmt(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
        write!(to, "the process of rank {}", self.rank)
    }
}

impl PartialEq for RealProgram {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.state, &other.state)
    }
}

impl Eq for RealProgram {}

impl Hash for RealProgram {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.rank.hash(state);
    }
}
