//! Ping-pong: two ranks send one message to and fro, as `osu_latency` does.
//!
//! Marks 0 and 1 of rank 0 bracket the timed rounds; latency is half the time of a round.

use super::backlog::Backlog;
use mpi::envelope::Rank;
use protocols::call::{Buffer, Call, Comm, Peer, Reply, SendMode};
use protocols::contract::{Machine, Next, Program};

/// Mark at the start of the timed rounds.
pub const START: u32 = 0;
/// Mark at their end.
pub const END: u32 = 1;

/// The program of one of the two ranks.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct PingPong {
    peer: Rank,
    leads: bool,
    bytes: u64,
    warm_up: u32,
    rounds: u32,
    backlog: Option<Backlog>,
    state: State,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum State {
    /// A long queue is made, where one was asked for; then everybody is there.
    Barrier,
    /// Round `done`, first half or second.
    Half { done: u32, second: bool },
    /// The timed rounds have begun.
    Started,
    /// The last round is over.
    Over,
}

impl PingPong {
    /// The rank that sends first if `leads`, else the one that answers.
    pub const fn new(peer: Rank, leads: bool, bytes: u64, warm_up: u32, rounds: u32) -> Self {
        Self { peer, leads, bytes, warm_up, rounds, backlog: None, state: State::Barrier }
    }

    /// The same with a queue that is long before the rounds begin: buffers 0 and 1 are taken.
    #[must_use]
    pub fn with_backlog(self, backlog: Backlog) -> Self {
        Self { backlog: Some(backlog.numbered_from(2)), ..self }
    }

    fn exchange(&self, second: bool) -> Call {
        let (peer, comm) = (Peer::Rank(self.peer), Comm::default());
        if self.leads == second {
            let buffer = Buffer { id: 1, bytes: self.bytes };
            Call::Recv { source: peer, tag: Some(0), comm, buffer }
        } else {
            let buffer = Buffer { id: 0, bytes: self.bytes };
            Call::Send { to: peer, tag: 0, comm, buffer, mode: SendMode::Standard }
        }
    }
}

impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for PingPong {
    fn next(&mut self, _: Option<Reply>) -> Next<Call> {
        match self.state {
            State::Barrier => {
                if let Some(call) = self.backlog.as_mut().and_then(Backlog::fill) {
                    return Next::Call(call);
                }
                self.state = State::Half { done: 0, second: false };
                Next::Call(Call::Barrier { comm: Comm::default() })
            }
            State::Half { done, second: false } if done == self.warm_up + self.rounds => {
                self.state = State::Over;
                Next::Mark(END)
            }
            State::Half { done, second: false } if done == self.warm_up => {
                self.state = State::Started;
                Next::Mark(START)
            }
            State::Started => {
                self.state = State::Half { done: self.warm_up, second: true };
                Next::Call(self.exchange(false))
            }
            State::Half { done, second: false } => {
                self.state = State::Half { done, second: true };
                Next::Call(self.exchange(false))
            }
            State::Half { done, second: true } => {
                self.state = State::Half { done: done + 1, second: false };
                Next::Call(self.exchange(true))
            }
            State::Over => {
                let call = self.backlog.as_mut().and_then(Backlog::empty);
                call.map_or(Next::End, Next::Call)
            }
        }
    }
}
