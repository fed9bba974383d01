//! The MPI-2 mutex: a byte for each rank, set while it holds the lock or waits for it.
//!
//! ```text
//!   acquire   exclusive epoch: B[me] = 1, get all others · one is set: wait for a message
//!   release   exclusive epoch: B[me] = 0, get all others · message to the first that is set after me
//! ```
//!
//! The scan begins behind the own place and goes round: no rank is passed over more than P - 2 times.
//!
//! Source: `rma` Sec. 5.2.1.

use super::steps::{HOST, LOCK, Me, Steps, Turn, WINDOW, buffer, exclusive};
use mpi::envelope::Rank;
use mpi::observation::Observation;
use protocols::call::{Buffer, Call, Comm, Peer, SendMode};
use protocols::contract::{Next, Region};
use protocols::rma::call::{At, Operation, RmaCall};

const TAG: i32 = 1;
const ONE: Region = buffer(0, 1);
const ZERO: Region = buffer(1, 1);
/// The bytes before the own one.
/// Encoding: number of a buffer.
const BEFORE: u32 = 2;
/// The bytes behind it.
/// Encoding: number of a buffer.
const BEHIND: u32 = 3;
/// Encoding: number of a buffer.
const MESSAGE: Buffer = Buffer { id: 4, bytes: 0 };

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Point {
    Lock,
    Write,
    GetBefore,
    GetBehind,
    Unlock,
    /// Reads 8 of the bytes that were got, from the own place on and round.
    Scan {
        from: u32,
    },
    /// They are there.
    Scanned {
        from: u32,
        many: u32,
    },
    /// Another rank is inside or waits, and the next one that leaves sees the own byte.
    Waits,
    Done,
}

/// One rank of the mutex.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct ByteVector {
    me: Me,
    at: Point,
}

/// The words that a rank writes before the first cycle.
pub(super) const fn preparation(step: u8) -> Option<(Region, u64)> {
    match step {
        0 => Some((ONE, 1)),
        1 => Some((ZERO, 0)),
        _ => None,
    }
}

impl ByteVector {
    pub(super) const fn new(me: Me) -> Self {
        Self { me, at: Point::Lock }
    }

    /// The epoch in which a byte is written and the others are got; then they are scanned.
    fn epoch(&mut self, byte: Region, value: u64) -> Result<Turn, Option<u32>> {
        let Me { rank, size, .. } = self.me;
        let behind = size - rank - 1;
        Ok(match self.at {
            Point::Lock => self.go(Point::Write, Turn::rma(exclusive(HOST))),
            Point::Write => {
                let put = Operation::Put { origin: byte };
                let at = At::contiguous(rank.into(), 1);
                self.go(Point::GetBefore, Turn::operate(HOST, at, put))
            }
            Point::GetBefore if rank > 0 => {
                let into = buffer(BEFORE, rank.into());
                let at = At::contiguous(0, rank.into());
                self.go(Point::GetBehind, Turn::operate(HOST, at, Operation::Get { into }))
            }
            Point::GetBefore | Point::GetBehind if behind > 0 => {
                let into = buffer(BEHIND, behind.into());
                let at = At::contiguous(u64::from(rank) + 1, behind.into());
                self.go(Point::Unlock, Turn::operate(HOST, at, Operation::Get { into }))
            }
            Point::GetBefore | Point::GetBehind | Point::Unlock => {
                let unlock = RmaCall::Unlock { win: WINDOW, target: HOST };
                self.go(Point::Scan { from: 0 }, Turn::rma(unlock))
            }
            Point::Scan { from } if from + 1 < size => {
                let (region, many) = self.bytes(from);
                self.go(Point::Scanned { from, many }, Turn::load(region))
            }
            Point::Scan { .. } | Point::Waits | Point::Done => return Err(None),
            Point::Scanned { from, many } => {
                let set = (0..many).find(|index| value >> (8 * index) & 0xFF != 0);
                if let Some(index) = set {
                    return Err(Some((rank + 1 + from + index) % size));
                }
                self.at = Point::Scan { from: from + many };
                return self.epoch(byte, value);
            }
        })
    }

    /// At most 8 bytes, from the `from`-th behind the own place on: where they were got to.
    fn bytes(&self, from: u32) -> (Region, u32) {
        let Me { rank, size, .. } = self.me;
        let behind = size - rank - 1;
        let (id, offset, left) = if from < behind {
            (BEHIND, from, behind - from)
        } else {
            (BEFORE, from - behind, size - 1 - from)
        };
        let many = left.min(8);
        (buffer(id, u64::from(offset + many)).part(offset.into(), many.into()), many)
    }

    fn go(&mut self, at: Point, turn: Turn) -> Turn {
        self.at = at;
        turn
    }
}

impl Steps for ByteVector {
    fn acquire(&mut self, value: u64) -> Turn {
        if self.at == Point::Done {
            self.at = Point::Lock;
            return Turn::Done;
        }
        if self.at == Point::Waits {
            let (source, comm) = (Peer::Any, Comm::default());
            let call = Call::Recv { source, tag: Some(TAG), comm, buffer: MESSAGE };
            return self.go(Point::Done, Turn::Step(Next::Call(call)));
        }
        match self.epoch(ONE, value) {
            Ok(turn) => turn,
            Err(None) => self.go(Point::Lock, Turn::Done),
            Err(Some(_)) => {
                let most = Some(self.me.size - 2);
                let fact = Observation::LockWaits { lock: LOCK, most };
                self.go(Point::Waits, Turn::Step(Next::Tell(fact)))
            }
        }
    }

    fn release(&mut self, value: u64) -> Turn {
        if self.at == Point::Done {
            self.at = Point::Lock;
            return Turn::Done;
        }
        match self.epoch(ZERO, value) {
            Ok(turn) => turn,
            Err(None) => self.go(Point::Lock, Turn::Done),
            Err(Some(next)) => {
                let (to, comm) = (Peer::Rank(Rank(next)), Comm::default());
                let mode = SendMode::Standard;
                let call = Call::Send { to, tag: TAG, comm, buffer: MESSAGE, mode };
                self.go(Point::Done, Turn::Step(Next::Call(call)))
            }
        }
    }
}
