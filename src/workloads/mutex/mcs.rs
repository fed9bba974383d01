//! The MCS mutex: a queue of waiting ranks, linked through a word of each.
//!
//! ```text
//!   acquire   next[me] = -1 · prev = swap(tail, me) · prev ≠ -1: next[prev] = me, wait for its message
//!   release   next[me] = -1?  compare-and-swap(tail, me → -1): me → no rank waits
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

use super::steps::{
    HOST, LOCK, Me, NOBODY, Steps, Turn, WINDOW, WORD, buffer, compare_and_swap, read, swap,
};
use mpi::envelope::Rank;
use mpi::observation::Observation;
use protocols::call::{Buffer, Call, Comm, Peer, SendMode};
use protocols::contract::{Next, Region};
use protocols::rma::call::{At, RmaCall};

/// The tail of the queue, behind the host's own `next`.
const TAIL: At = At::contiguous(WORD, WORD);
const NEXT: At = At::contiguous(0, WORD);
const TAG: i32 = 1;

/// Buffers of the program.
const ME: Region = buffer(0, WORD);
const PREVIOUS: Region = buffer(1, WORD);
/// The expected and the new value of the tail.
/// Encoding: number of a buffer.
const OPERANDS: Region = buffer(2, 2 * WORD);
/// Encoding: number of a buffer.
const FOUND: Region = buffer(3, WORD);
/// Encoding: number of a buffer.
const SUCCESSOR: Region = buffer(4, WORD);
/// Encoding: number of a buffer.
const MESSAGE: Buffer = Buffer { id: 5, bytes: 0 };

/// The first step of the release.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Release {
    /// It reads its own `next`.
    ReadsFirst,
    /// It tries to take itself out of the queue.
    CasFirst,
}

/// The next step of a rank.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Point {
    /// Empty the own `next`.
    Reset,
    /// Make that store visible to others (`MPI_Win_sync`).
    Sync,
    /// Swap the own rank into the tail.
    Swap,
    /// Complete the swap.
    Swapped,
    /// Read the rank that it brought.
    Previous,
    /// Note the predecessor, and tell the monitor of the place in the queue.
    Linked,
    /// Enter, where there is no predecessor; else link behind it.
    Queued,
    /// Complete the link.
    Flushed,
    /// Receive the predecessor's message.
    Wait,
    /// Hold the lock; the release begins here, with a read of the own `next`.
    Holds,
    /// Complete that read.
    Reading,
    /// Look at its result.
    Look,
    /// Go to a successor that was seen; else compare-and-swap the tail from the own rank to no rank.
    TakeOut,
    /// Complete the compare-and-swap.
    TakenOut,
    /// Read the value of the tail that it found.
    Found,
    /// The end, where that was the own rank; else a successor links itself: read the own `next`.
    ReadAgain,
    /// Complete that read.
    ReadingAgain,
    /// Look at its result.
    LookAgain,
    /// Send to the successor, or read again where it is not linked yet.
    SendToSuccessor,
}

/// One rank of the mutex.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Mcs {
    me: Me,
    release: Release,
    at: Point,
    /// The rank before this one, while it must be known.
    predecessor: u64,
    /// The rank behind this one, while it must be known.
    successor: u64,
    #[cfg(feature = "mutants")]
    flawed: flawed::Flawed,
}

/// The words that a rank writes before the first cycle: its name, its empty `next`, and the host's empty tail.
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
            predecessor: NOBODY,
            successor: NOBODY,
            #[cfg(feature = "mutants")]
            flawed: flawed::Flawed::NONE,
        }
    }

    fn go(&mut self, at: Point, turn: Turn) -> Turn {
        self.at = at;
        turn
    }
}

/// The rank that was read as a word of the window.
fn rank_of(word: u64) -> u32 {
    u32::try_from(word).expect("words are 4 bytes wide")
}

/// The other end of the message that hands the lock over.
fn peer(word: u64) -> (Peer, Comm) {
    (Peer::Rank(Rank(rank_of(word))), Comm::default())
}

impl Steps for Mcs {
    fn acquire(&mut self, value: u64) -> Turn {
        #[cfg(feature = "mutants")]
        if let Some(turn) = self.flawed_acquire(value) {
            return turn;
        }
        match self.at {
            Point::Reset => self.go(Point::Sync, Turn::store(self.me.own(0, WORD), NOBODY)),
            Point::Sync => self.go(Point::Swap, Turn::rma(RmaCall::Sync { win: WINDOW })),
            Point::Swap => {
                let swap = Turn::operate(HOST, TAIL, swap(ME, Some(PREVIOUS)));
                self.go(Point::Swapped, swap)
            }
            Point::Swapped => self.go(Point::Previous, Turn::flush(HOST)),
            Point::Previous => self.go(Point::Linked, Turn::consume(PREVIOUS)),
            Point::Linked => {
                self.predecessor = value;
                let behind = (value != NOBODY).then(|| rank_of(value));
                let fact = Observation::LockQueued { lock: LOCK, behind };
                self.go(Point::Queued, Turn::Step(Next::Tell(fact)))
            }
            Point::Queued if self.predecessor == NOBODY => self.go(Point::Holds, Turn::Done),
            Point::Queued => {
                let link = Turn::operate(rank_of(self.predecessor), NEXT, swap(ME, None));
                self.go(Point::Flushed, link)
            }
            Point::Flushed => self.go(Point::Wait, Turn::flush(rank_of(self.predecessor))),
            Point::Wait => {
                let (source, comm) = peer(self.predecessor);
                let call = Call::Recv { source, tag: Some(TAG), comm, buffer: MESSAGE };
                self.predecessor = NOBODY;
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
            | Point::SendToSuccessor => Turn::Done,
        }
    }

    fn release(&mut self, value: u64) -> Turn {
        #[cfg(feature = "mutants")]
        if let Some(turn) = self.flawed_release(value) {
            return turn;
        }
        match self.at {
            Point::Holds if self.release == Release::CasFirst => {
                self.at = Point::TakeOut;
                self.release(value)
            }
            Point::Holds => {
                let turn = Turn::operate(self.me.rank, NEXT, read(SUCCESSOR));
                self.go(Point::Reading, turn)
            }
            Point::Reading => self.go(Point::Look, Turn::flush(self.me.rank)),
            Point::Look => self.go(Point::TakeOut, Turn::consume(SUCCESSOR)),
            Point::TakeOut if self.release == Release::ReadsFirst && value != NOBODY => {
                self.successor = value;
                self.at = Point::SendToSuccessor;
                self.release(value)
            }
            Point::TakeOut => {
                let turn = Turn::operate(HOST, TAIL, compare_and_swap(OPERANDS, FOUND));
                self.go(Point::TakenOut, turn)
            }
            Point::TakenOut => self.go(Point::Found, Turn::flush(HOST)),
            Point::Found => self.go(Point::ReadAgain, Turn::consume(FOUND)),
            Point::ReadAgain if value == u64::from(self.me.rank) => {
                self.go(Point::Reset, Turn::Done)
            }
            Point::ReadAgain => {
                let turn = Turn::operate(self.me.rank, NEXT, read(SUCCESSOR));
                self.go(Point::ReadingAgain, turn)
            }
            Point::ReadingAgain => self.go(Point::LookAgain, Turn::flush(self.me.rank)),
            Point::LookAgain => self.go(Point::SendToSuccessor, Turn::consume(SUCCESSOR)),
            Point::SendToSuccessor if self.successor == NOBODY && value == NOBODY => {
                let turn = Turn::operate(self.me.rank, NEXT, read(SUCCESSOR));
                self.go(Point::ReadingAgain, turn)
            }
            Point::SendToSuccessor => {
                if self.successor == NOBODY {
                    self.successor = value;
                }
                let (to, comm) = peer(self.successor);
                let mode = SendMode::Standard;
                let call = Call::Send { to, tag: TAG, comm, buffer: MESSAGE, mode };
                self.successor = NOBODY;
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
