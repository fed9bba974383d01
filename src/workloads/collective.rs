//! One collective again and again, as the collective benchmarks of OSU measure it.
//!
//! Marks 0 and 1 of every rank bracket the timed calls. They follow each other without a barrier in
//! between: a rank that is early in one call may already be in the next.

use std::sync::Arc;

use crate::protocols::call::{Call, Comm, Reply};
use crate::protocols::collectives::{At, Collective, Move, Round};
use crate::protocols::contract::{Machine, Next, Program, Space};

pub use super::ping_pong::{END, START};

/// The program of any rank.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Repeated {
    call: Arc<Collective>,
    warm_up: u32,
    rounds: u32,
    done: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum State {
    /// Everybody is there before anybody begins.
    Barrier,
    /// A round may begin.
    Round,
    /// The timed rounds have begun.
    Started,
    /// Nothing is left.
    Over,
}

impl Repeated {
    /// A rank that makes a call `warm_up` times, and then `rounds` times that are measured.
    pub const fn new(call: Arc<Collective>, warm_up: u32, rounds: u32) -> Self {
        Self { call, warm_up, rounds, done: 0, state: State::Barrier }
    }

    /// The same without the barrier before the first call.
    pub fn at_once(self) -> Self {
        Self { state: State::Round, ..self }
    }

    fn call(&mut self) -> Next<Call> {
        self.done += 1;
        self.state = State::Round;
        Next::Call(Call::Collective(Arc::clone(&self.call)))
    }
}

impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for Repeated {
    fn next(&mut self, _: Option<Reply>) -> Next<Call> {
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
