//! The MCS mutex: a queue of waiting ranks, linked through a word of each.
//!
//! ```text
//!   take      next[me] = -1 · prev = swap(tail, me) · prev ≠ -1: next[prev] = me, wait for its message
//!   give back next[me] = -1?  compare-and-swap(tail, me → -1): me → nobody waits
//!                             else read next[me] until it is set
//!             message to next[me]
//! ```
//!
//! `next[me]` is reset before the swap: after it, the successor may have linked itself already.
//!
//! Source: `rma` Sec. 5.2.2; Mellor-Crummey and Scott, 1991; the order of the release: the authors'
//! public code looks at its own `next` first, the text does the compare-and-swap first.

#[cfg(feature = "mutants")]
mod flawed;

#[cfg(feature = "mutants")]
pub use flawed::Flaw;

use super::{HOST, Me, NOBODY, Steps, Turn, WORD, buffer, read, replace, swap_if};
use crate::mpi::envelope::Rank;
use crate::mpi::observation::Observation;
use crate::protocols::call::{Buffer, Call, Comm, Peer, SendMode};
use crate::protocols::contract::{Next, Region};
use crate::protocols::rma::call::{At, RmaCall};

/// The tail of the queue, behind the host's own `next`.
const TAIL: At = At::contiguous(WORD, WORD);
const NEXT: At = At::contiguous(0, WORD);
const TAG: i32 = 1;

/// Buffers of the program.
const ME: Region = buffer(0, WORD);
const PREVIOUS: Region = buffer(1, WORD);
/// What the tail must be, and what it becomes.
const OPERANDS: Region = buffer(2, 2 * WORD);
const FOUND: Region = buffer(3, WORD);
const SUCCESSOR: Region = buffer(4, WORD);
const MESSAGE: Buffer = Buffer { id: 5, bytes: 0 };

/// What the release does first.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Release {
    /// It reads its own `next`.
    ReadsFirst,
    /// It tries to take itself out of the queue.
    SwapsFirst,
}

/// How far a rank is.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Point {
    Reset,
    Sync,
    Swap,
    Swapped,
    Previous,
    Linked,
    Queued,
    Flushed,
    Wait,
    Holds,
    Reading,
    Look,
    TakeOut,
    TakenOut,
    Found,
    ReadAgain,
    ReadingAgain,
    LookAgain,
    Tell,
}

/// One rank of the mutex.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Mcs {
    me: Me,
    release: Release,
    at: Point,
    /// The rank before this one, or the one after it.
    other: u64,
    #[cfg(feature = "mutants")]
    flawed: flawed::Flawed,
}

/// What a rank writes before the first cycle: its name, its empty `next`, and the host's empty tail.
pub(super) fn preparation(step: u8, me: Me) -> Option<(Region, u64)> {
    let rank = u64::from(me.rank);
    match step {
        0 => Some((ME, rank)),
        1 => Some((OPERANDS, NOBODY << 32 | rank)),
        2 => Some((me.own(0, WORD), NOBODY)),
        3 if me.rank == HOST => Some((me.own(WORD, WORD), NOBODY)),
        _ => None,
    }
}

impl Mcs {
    pub(super) const fn new(me: Me, release: Release) -> Self {
        Self {
            me,
            release,
            at: Point::Reset,
            other: NOBODY,
            #[cfg(feature = "mutants")]
            flawed: flawed::Flawed::NONE,
        }
    }

    /// The rank that was read.
    fn other(&self) -> u32 {
        u32::try_from(self.other).expect("words are 4 bytes wide")
    }

    fn go(&mut self, at: Point, turn: Turn) -> Turn {
        self.at = at;
        turn
    }

    fn message(&self) -> (Peer, Comm) {
        (Peer::Rank(Rank(self.other())), Comm::default())
    }
}

impl Steps for Mcs {
    fn acquire(&mut self, value: u64) -> Turn {
        #[cfg(feature = "mutants")]
        if let Some(turn) = self.flawed_acquire(value) {
            return turn;
        }
        match self.at {
            Point::Reset => self.go(Point::Sync, Turn::store(self.me.own(0, WORD), NOBODY)),
            Point::Sync => self.go(Point::Swap, Turn::rma(RmaCall::Sync { win: super::WINDOW })),
            Point::Swap => {
                let swap = Turn::operate(HOST, TAIL, replace(ME, Some(PREVIOUS)));
                self.go(Point::Swapped, swap)
            }
            Point::Swapped => self.go(Point::Previous, Turn::flush(HOST)),
            Point::Previous => self.go(Point::Linked, Turn::take(PREVIOUS)),
            Point::Linked => {
                self.other = value;
                let behind = (value != NOBODY).then(|| self.other());
                let fact = Observation::LockQueued { lock: super::LOCK, behind };
                self.go(Point::Queued, Turn::Step(Next::Tell(fact)))
            }
            Point::Queued if self.other == NOBODY => self.go(Point::Holds, Turn::Done),
            Point::Queued => {
                let link = Turn::operate(self.other(), NEXT, replace(ME, None));
                self.go(Point::Flushed, link)
            }
            Point::Flushed => self.go(Point::Wait, Turn::flush(self.other())),
            Point::Wait => {
                let (source, comm) = self.message();
                let call = Call::Recv { source, tag: Some(TAG), comm, buffer: MESSAGE };
                self.other = NOBODY;
                self.go(Point::Holds, Turn::Step(Next::Call(call)))
            }
            Point::Holds
            | Point::Reading
            | Point::Look
            | Point::TakeOut
            | Point::TakenOut
            | Point::Found
            | Point::ReadAgain
            | Point::ReadingAgain
            | Point::LookAgain
            | Point::Tell => Turn::Done,
        }
    }

    fn release(&mut self, value: u64) -> Turn {
        #[cfg(feature = "mutants")]
        if let Some(turn) = self.flawed_release(value) {
            return turn;
        }
        match self.at {
            Point::Holds if self.release == Release::SwapsFirst => {
                self.at = Point::TakeOut;
                self.release(value)
            }
            Point::Holds => {
                let turn = Turn::operate(self.me.rank, NEXT, read(SUCCESSOR));
                self.go(Point::Reading, turn)
            }
            Point::Reading => self.go(Point::Look, Turn::flush(self.me.rank)),
            Point::Look => self.go(Point::TakeOut, Turn::take(SUCCESSOR)),
            Point::TakeOut if self.release == Release::ReadsFirst && value != NOBODY => {
                self.other = value;
                self.at = Point::Tell;
                self.release(value)
            }
            Point::TakeOut => {
                let turn = Turn::operate(HOST, TAIL, swap_if(OPERANDS, FOUND));
                self.go(Point::TakenOut, turn)
            }
            Point::TakenOut => self.go(Point::Found, Turn::flush(HOST)),
            Point::Found => self.go(Point::ReadAgain, Turn::take(FOUND)),
            Point::ReadAgain if value == u64::from(self.me.rank) => {
                self.go(Point::Reset, Turn::Done)
            }
            Point::ReadAgain => {
                let turn = Turn::operate(self.me.rank, NEXT, read(SUCCESSOR));
                self.go(Point::ReadingAgain, turn)
            }
            Point::ReadingAgain => self.go(Point::LookAgain, Turn::flush(self.me.rank)),
            Point::LookAgain => self.go(Point::Tell, Turn::take(SUCCESSOR)),
            Point::Tell if self.other == NOBODY && value == NOBODY => {
                let turn = Turn::operate(self.me.rank, NEXT, read(SUCCESSOR));
                self.go(Point::ReadingAgain, turn)
            }
            Point::Tell => {
                if self.other == NOBODY {
                    self.other = value;
                }
                let (to, comm) = self.message();
                let mode = SendMode::Standard;
                let call = Call::Send { to, tag: TAG, comm, buffer: MESSAGE, mode };
                self.other = NOBODY;
                self.go(Point::Reset, Turn::Step(Next::Call(call)))
            }
            Point::Reset
            | Point::Sync
            | Point::Swap
            | Point::Swapped
            | Point::Previous
            | Point::Linked
            | Point::Queued
            | Point::Flushed
            | Point::Wait => Turn::Done,
        }
    }
}
