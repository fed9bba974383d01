//! A process as the program of a rank: its calls are those of the process.

use std::fmt::{Debug, Formatter};
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

use super::functions::{ERR_OTHER, Function};
use super::job::{Failure, Inside, Job, JobMemory, Member};
use super::mpi::{Fault, Frame, NextStep};
use super::ranks::Request;
use super::watch::note_once;
use super::{vain, wire};
use protocols::call::{Call, Reply};
use protocols::contract::{CallSite, Machine, Next, Program};
use protocols::process_memory::ProcessMemory;

/// One rank's process. Clones are the same process; two are equal that are.
#[derive(Clone)]
pub struct RealProgram {
    job: Arc<Job>,
    rank: u32,
}

/// The measured time of a rank begins with `MPI_Init` and ends with `MPI_Finalize`.
const START: u32 = 0;
const END: u32 = 1;

/// Time that a core takes to read the clock, in picoseconds: 20 to 30 ns for `clock_gettime` of Linux on x86-64, which
/// reads the time stamp counter in user space. So a loop that waits for a time ends.
const CLOCK: u64 = 25_000;

/// Picoseconds of a nanosecond.
const PS: u64 = 1000;

impl RealProgram {
    /// The programs of a job.
    pub fn of(job: &Arc<Job>) -> Vec<Self> {
        (0..job.size()).map(|rank| Self { job: Arc::clone(job), rank }).collect()
    }

    /// The job that it belongs to.
    pub const fn job(&self) -> &Arc<Job> {
        &self.job
    }

    /// The function that the process is in, or was in last.
    pub fn site(&self) -> Option<CallSite> {
        let member = self.job.member(self.rank);
        let inside = member.inside.as_ref()?;
        let line = member.place.process.line(inside.request.caller);
        Some(CallSite { function: inside.function.name(), line })
    }

    /// The process goes on, until it calls what takes the library, or time.
    fn advance(&self, member: &mut Member, reply: Option<Reply>) -> Next<Call> {
        match self.advanced(member, reply) {
            Ok(next) => next,
            Err(Fault::Lost(error)) => {
                self.job.lost(member, self.rank, &error);
                over(member)
            }
            Err(Fault::Aborts(status)) => {
                self.job.aborted(member, self.rank, status);
                over(member)
            }
            Err(Fault::Error { why, .. }) => {
                let what = format!("rank {}, {}: {why}", self.rank, within(member));
                self.job.fail(Failure { rank: self.rank, what, status: None });
                over(member)
            }
        }
    }

    fn advanced(&self, member: &mut Member, reply: Option<Reply>) -> Result<Next<Call>, Fault> {
        let mut next = if std::mem::take(&mut member.sleeps) {
            member.place.process.answer(0)?;
            None
        } else if let Some(time) = member.time.take() {
            returns(member, seconds(time).to_bits())?
        } else if let Some(reply) = reply
            && let Member { state, place, lent, inside: Some(inside), .. } = member
            && let Some(then) = inside.then.take()
        {
            lent.returns(&reply);
            let mut frame = Frame::new(inside.function, inside.request, place);
            let step = state.replied(then, &mut frame, reply)?;
            self.stepped(member, step)?
        } else if let Some(request) = member.computed.take() {
            self.called(member, request)?
        } else {
            None
        };
        loop {
            if let Some(next) = next {
                return Ok(next);
            }
            if let Some(time) = member.computes.take() {
                return Ok(Next::Compute(time));
            }
            let Some(request) = member.place.process.request()? else {
                self.job.ended(member, self.rank);
                return Ok(over(member));
            };
            if request.function == wire::HELLO {
                if member.state.has_begun() {
                    return Err(member.place.process.second().into());
                }
                member.place.process.greets(&request)?;
                member.place.process.answer(u64::from(member.computing.is_measured()))?;
                continue;
            }
            if let Some(time) = member.computing.called(request.cpu) {
                member.computed = Some(request);
                return Ok(Next::Compute(time));
            }
            next = self.called(member, request)?;
        }
    }

    /// Carries out a call of the process; the next operation of the rank, `None` where the process goes on.
    fn called(&self, member: &mut Member, request: Request) -> Result<Option<Next<Call>>, Fault> {
        if request.function == wire::RESULT {
            return self.called_back(member, request);
        }
        if request.function == wire::SLEEPS {
            member.place.process.shows()?;
            member.sleeps = true;
            return Ok(Some(Next::Compute(request.word(0).saturating_mul(PS))));
        }
        let Some(function) = Function::ALL.get(request.function as usize).copied() else {
            return Err(member.place.process.nonsense().into());
        };
        // Now the computation before the call is over, too.
        member.place.process.shows()?;
        member.progress.calls(function);
        self.job.live().calls(self.rank);
        member.digest.calls(function, &request);
        member.inside = Some(Inside { function, request, then: None });
        let step = member.state.call(&mut Frame::new(function, request, &mut member.place));
        for touched in std::mem::take(&mut member.place.touched) {
            if let Some(wrong) = member.lent.touched(&touched, &member.place) {
                note_once(&format!("rank {}: {wrong}", self.rank));
            }
        }
        let step = step?;
        let others = self.job.size() > 1;
        if self.job.vain().calls(self.rank, function, &step) && others {
            note_once(&vain::in_words(self.rank, &within(member)));
        }
        self.stepped(member, step)
    }

    /// A function of the process's own has returned to the call that it was called for.
    fn called_back(
        &self,
        member: &mut Member,
        request: Request,
    ) -> Result<Option<Next<Call>>, Fault> {
        let Some((inside, back)) = member.outer.pop() else {
            return Err(member.place.process.nonsense().into());
        };
        let mut frame = Frame::new(inside.function, inside.request, &mut member.place);
        let step = member.state.called_back(back, &mut frame, request.word(0))?;
        member.inside = Some(inside);
        self.stepped(member, step)
    }

    /// Carries out a step of the call; the next operation of the rank, `None` where the process goes on.
    fn stepped(&self, member: &mut Member, step: NextStep) -> Result<Option<Next<Call>>, Fault> {
        let inside = member.inside.as_mut().expect("the process is in a call");
        Ok(match step {
            NextStep::Returns(word) => returns(member, word)?,
            NextStep::Calls(call, then) => {
                inside.then = Some(then);
                let (state, from) = (&member.state, (inside.function, inside.request.caller));
                let is_root = state.is_root(&call);
                if let Some(wrong) = member.lent.calls(&call, is_root, from, &member.place) {
                    note_once(&format!("rank {}: {wrong}", self.rank));
                }
                member.state.calls_library();
                Some(Next::Call(call))
            }
            NextStep::CallsBack { function, words, back } => {
                let inside = member.inside.take().expect("the process is in a call");
                member.outer.push((inside, back));
                member.place.process.call_back(function, words)?;
                None
            }
            NextStep::Clock => {
                member.reads_clock = true;
                Some(Next::Compute(CLOCK))
            }
            NextStep::Aborts(status) => {
                self.job.aborted(member, self.rank, status);
                Some(over(member))
            }
        })
    }
}

/// The call returns this word, and the process computes.
fn returns(member: &mut Member, word: u64) -> Result<Option<Next<Call>>, Fault> {
    let function = member.inside.as_ref().expect("the process is in a call").function;
    let computes = member.computing.returns(function);
    member.computes = computes.map_err(|why| Fault::Error { class: ERR_OTHER, why })?;
    member.place.process.answer(word)?;
    let begins = matches!(function, Function::Init | Function::Init_thread);
    let ends = function == Function::Finalize;
    let mark = if begins { Some(START) } else { ends.then_some(END) };
    Ok(mark.map(Next::Mark))
}

/// The call that the process is in, and where it comes from.
fn within(member: &Member) -> String {
    member.inside.as_ref().map_or_else(
        || "its start".to_owned(),
        |inside| member.place.process.called(inside.function, inside.request.caller),
    )
}

fn over(member: &mut Member) -> Next<Call> {
    member.is_over = true;
    Next::End
}

/// Picoseconds as the seconds of `MPI_Wtime`.
#[allow(clippy::cast_precision_loss, reason = "53 bits of picoseconds are 2.5 hours")]
fn seconds(ps: u64) -> f64 {
    ps as f64 * 1e-12
}

impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for RealProgram {
    fn next(&mut self, reply: Option<Reply>) -> Next<Call> {
        if self.job.failure().is_some() {
            return Next::End;
        }
        let mut member = self.job.member(self.rank);
        if member.is_over {
            return Next::End;
        }
        if std::mem::take(&mut member.reads_clock) {
            return Next::Clock;
        }
        let next = self.advance(&mut member, reply);
        let is_over = member.is_over;
        drop(member);
        if is_over {
            self.job.one_is_over();
        }
        next
    }

    fn goes_on_at(&self, ps: u64) {
        self.job.live().goes_on_at(ps);
    }

    fn loaded(&mut self, value: u64) {
        self.job.member(self.rank).time = Some(value);
    }

    fn call_site(&self) -> Option<CallSite> {
        self.site()
    }

    fn begun_at(&self, call: u32) -> Option<CallSite> {
        let member = self.job.member(self.rank);
        let (function, caller) = member.state.begun_at(call)?;
        Some(CallSite { function: function.name(), line: member.place.process.line(caller) })
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
        self.rank == other.rank && Arc::ptr_eq(&self.job, &other.job)
    }
}

impl Eq for RealProgram {}

impl Hash for RealProgram {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.rank.hash(state);
        self.job.member(self.rank).progress.hash(state);
    }
}
