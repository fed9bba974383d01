//! Windows of messages between fixed pairs: bandwidth and message rate, as `osu_bw`, `osu_bibw` and
//! `osu_mbw_mr` measure them.
//!
//! Each round a sender posts a window of sends and waits for them all, then for an empty message of
//! its receiver, which has waited for its window of receives. Marks 0 and 1 bracket the timed
//! rounds of every rank.

use crate::mpi::envelope::Rank;
use crate::protocols::call::{Buffer, Call, Comm, Peer, Reply, Requests, SendMode};
use crate::protocols::contract::{Handle, Machine, Next, Program};

pub use super::ping_pong::{END, START};

/// Tag of the messages that are counted.
const DATA: i32 = 0;
/// Tag of the empty message that ends a round.
const ROUND_OVER: i32 = 1;

/// What a rank does with its partner.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Direction {
    /// Sends windows.
    Sends,
    /// Receives windows.
    Receives,
    /// Both at once.
    Both,
}

/// The program of one rank of a pair.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Windowed {
    peer: Rank,
    direction: Direction,
    bytes: u64,
    window: u32,
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
    /// This many receives of the round are posted.
    Receives(u32),
    /// This many sends of the round are posted.
    Sends(u32),
    /// All of the round is posted.
    Wait,
    /// The window is complete; the round ends with an empty message.
    RoundOver,
    /// Nothing is left.
    Over,
}

impl Windowed {
    /// A rank that exchanges `rounds` timed windows of `window` messages with `peer`.
    ///
    /// # Panics
    ///
    /// When the window is empty; validation refuses it.
    pub const fn new(
        peer: Rank,
        direction: Direction,
        bytes: u64,
        window: u32,
        warm_up: u32,
        rounds: u32,
    ) -> Self {
        assert!(window > 0, "a window holds at least one message");
        Self { peer, direction, bytes, window, warm_up, rounds, done: 0, state: State::Barrier }
    }

    const fn receives(&self) -> bool {
        matches!(self.direction, Direction::Receives | Direction::Both)
    }

    const fn sends(&self) -> bool {
        matches!(self.direction, Direction::Sends | Direction::Both)
    }

    /// Buffers of receives come first, then those of sends: every message has its own.
    fn receive(&self, index: u32) -> Call {
        Call::Irecv {
            request: Handle(index),
            source: Peer::Rank(self.peer),
            tag: Some(DATA),
            comm: Comm::default(),
            buffer: Buffer { id: index, bytes: self.bytes },
        }
    }

    fn send(&self, index: u32) -> Call {
        let slot = self.first_send() + index;
        Call::Isend {
            request: Handle(slot),
            to: Peer::Rank(self.peer),
            tag: DATA,
            comm: Comm::default(),
            buffer: Buffer { id: slot, bytes: self.bytes },
            mode: SendMode::Standard,
        }
    }

    const fn first_send(&self) -> u32 {
        if self.receives() { self.window } else { 0 }
    }

    const fn requests(&self) -> Requests {
        let sends = if self.sends() { self.window } else { 0 };
        Requests::Range { first: Handle(0), count: self.first_send() + sends }
    }

    /// The empty message: from the receiver to the sender; nobody waits where both send.
    fn round_over(&self) -> Option<Call> {
        let (peer, comm) = (Peer::Rank(self.peer), Comm::default());
        let buffer = Buffer { id: 2 * self.window, bytes: 0 };
        match self.direction {
            Direction::Sends => {
                Some(Call::Recv { source: peer, tag: Some(ROUND_OVER), comm, buffer })
            }
            Direction::Receives => Some(Call::Send {
                to: peer,
                tag: ROUND_OVER,
                comm,
                buffer,
                mode: SendMode::Standard,
            }),
            Direction::Both => None,
        }
    }
}

impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for Windowed {
    fn next(&mut self, _: Option<Reply>) -> Next<Call> {
        loop {
            match self.state {
                State::Barrier => {
                    self.state = State::Round;
                    return Next::Call(Call::Barrier { comm: Comm::default() });
                }
                State::Round => {
                    self.state = State::Receives(0);
                    if self.done == self.warm_up + self.rounds {
                        self.state = State::Over;
                        return Next::Mark(END);
                    }
                    if self.done == self.warm_up {
                        return Next::Mark(START);
                    }
                }
                State::Receives(posted) if self.receives() && posted < self.window => {
                    self.state = State::Receives(posted + 1);
                    return Next::Call(self.receive(posted));
                }
                State::Receives(_) => self.state = State::Sends(0),
                State::Sends(posted) if self.sends() && posted < self.window => {
                    self.state = State::Sends(posted + 1);
                    return Next::Call(self.send(posted));
                }
                State::Sends(_) => self.state = State::Wait,
                State::Wait => {
                    self.state = State::RoundOver;
                    return Next::Call(Call::WaitAll {
                        requests: self.requests(),
                        statuses: false,
                    });
                }
                State::RoundOver => {
                    self.done += 1;
                    self.state = State::Round;
                    if let Some(call) = self.round_over() {
                        return Next::Call(call);
                    }
                }
                State::Over => return Next::End,
            }
        }
    }
}
