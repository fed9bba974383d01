//! One collective again and again, as the collective benchmarks of OSU measure it.
//!
//! Marks 0 and 1 of every rank bracket the timed calls. They follow each other without a barrier in
//! between: a rank that is early in one call may already be in the next. With a computation beside it,
//! a call only begins the collective; the rank computes, tests it where it is asked to, and waits.

use std::sync::Arc;

use protocols::call::{Call, Comm, Reply};
use protocols::collectives::{At, Collective, Move, Round};
use protocols::contract::{Handle, Machine, Next, Program, Space};
use units::TimeDelta;

pub use super::ping_pong::{END, START};

/// The program of any rank.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Repeated {
    call: Arc<Collective>,
    warm_up: u32,
    rounds: u32,
    done: u32,
    beside: Option<Beside>,
    state: State,
}

/// What a rank does between the beginning of a collective and the wait for its end.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Beside {
    /// All of its computation.
    pub compute: TimeDelta,
    /// Calls of `MPI_Test`, which part the computation into equal pieces.
    pub tests: u32,
}

/// The request of a collective that is only begun.
const REQUEST: Handle = Handle(0);

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum State {
    /// Everybody is there before anybody begins.
    Barrier,
    /// A round may begin.
    Round,
    /// The timed rounds have begun.
    Started,
    /// The collective of the round was begun: a piece of the computation is next, after so many tests.
    Begun(u32),
    /// A piece of the computation is over, the one after so many tests.
    Computed(u32),
    /// The collective ended in this test: what is left is computed at once.
    Ended(u32),
    /// Nothing is left.
    Over,
}

impl Repeated {
    /// A rank that makes a call `warm_up` times, and then `rounds` times that are measured.
    pub const fn new(call: Arc<Collective>, warm_up: u32, rounds: u32) -> Self {
        Self { call, warm_up, rounds, done: 0, beside: None, state: State::Barrier }
    }

    /// The same, where each call only begins and the rank does something beside it.
    pub fn beside(self, beside: Option<Beside>) -> Self {
        Self { beside, ..self }
    }

    /// The same without the barrier before the first call.
    pub fn at_once(self) -> Self {
        Self { state: State::Round, ..self }
    }

    fn call(&mut self) -> Next<Call> {
        self.done += 1;
        let call = Arc::clone(&self.call);
        if self.beside.is_some() {
            self.state = State::Begun(0);
            return Next::Call(Call::Icollective { request: REQUEST, call });
        }
        self.state = State::Round;
        Next::Call(Call::Collective(call))
    }

    /// The piece of the computation after so many tests: the first ones are longer where they cannot
    /// all be equal.
    fn piece(&self, tested: u32) -> u64 {
        let Beside { compute, tests } = self.beside.expect("only such calls have pieces");
        let (pieces, whole) = (u64::from(tests) + 1, compute.as_ps());
        whole / pieces + u64::from(u64::from(tested) < whole % pieces)
    }

    /// How many tests a call has.
    fn tests(&self) -> u32 {
        self.beside.map_or(0, |beside| beside.tests)
    }
}

impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for Repeated {
    fn next(&mut self, reply: Option<Reply>) -> Next<Call> {
        if let (Some(Reply::Tested(Some(_))), State::Begun(tested)) = (reply, self.state) {
            self.state = State::Ended(tested);
        }
        match self.state {
            State::Barrier => {
                self.state = State::Round;
                Next::Call(Call::Barrier { comm: Comm::default() })
            }
            State::Round if self.done == self.warm_up + self.rounds => {
                self.state = State::Over;
                Next::Mark(END)
            }
            State::Round if self.done == self.warm_up => {
                self.state = State::Started;
                Next::Mark(START)
            }
            State::Round | State::Started => self.call(),
            State::Begun(tested) => {
                self.state = State::Computed(tested);
                Next::Compute(self.piece(tested))
            }
            State::Computed(tested) if tested < self.tests() => {
                self.state = State::Begun(tested + 1);
                Next::Call(Call::Test { request: REQUEST })
            }
            State::Computed(_) => {
                self.state = State::Round;
                Next::Call(Call::Wait { request: REQUEST })
            }
            State::Ended(tested) => {
                let left = (tested..=self.tests()).map(|piece| self.piece(piece)).sum();
                self.state = State::Round;
                Next::Compute(left)
            }
            State::Over => Next::End,
        }
    }
}

/// Messages that all ranks of one call send together, asked of its algorithm.
pub fn messages(call: &Collective, ranks: u32) -> u64 {
    let mut round = Round::default();
    let mut sent = 0;
    for rank in 0..ranks {
        for phase in 0..call.phases() {
            let mut at = At { phase, round: 0 };
            round.clear();
            while call.round((rank, ranks), Space::Scratch(0), at, &mut round) {
                let sends = round.moves.iter().filter(|one| matches!(one, Move::Send { .. }));
                sent += sends.count() as u64;
                round.clear();
                at.round += 1;
            }
        }
    }
    sent
}
