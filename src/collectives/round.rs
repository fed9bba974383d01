//! What one rank does in one round.

use calls::space::Region;
use mpi::envelope::Rank;
use mpi::operator::Side;

/// One message of a round, seen from one of its two sides.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Move {
    /// It leaves.
    Send {
        /// To whom.
        to: Rank,
        /// A tag of the algorithm's own.
        tag: u16,
        /// Bytes to send.
        region: Region,
    },
    /// It comes.
    Receive {
        /// From whom.
        from: Rank,
        /// A tag of the algorithm's own.
        tag: u16,
        /// Where it goes; as long as the message.
        region: Region,
    },
}

/// Work on this rank's own memory, after all moves of its round.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Work {
    /// Bytes are copied.
    Copy {
        /// From here.
        from: Region,
        /// To here.
        to: Region,
    },
    /// Elements are combined by the operator of the collective.
    Combine {
        /// The other operand.
        from: Region,
        /// Operand and result.
        into: Region,
        /// On which side of `into` the other operand stands.
        side: Side,
    },
}

/// Moves that start together, and the work that follows when they are complete. Empty messages, copies and reductions
/// are left out, on both sides alike; [`Self::signal`] and [`Self::hear`] are messages that are meant to be empty.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Round {
    /// Messages, in the order in which they are started.
    pub moves: Vec<Move>,
    /// Work, in order.
    pub work: Vec<Work>,
}

impl Round {
    /// Forgets everything, and keeps the room.
    pub fn clear(&mut self) {
        self.moves.clear();
        self.work.clear();
    }

    /// The list of moves. Most rounds have one or two, and a large job has a list for each rank: the first
    /// room is for no more.
    fn moves(&mut self) -> &mut Vec<Move> {
        if self.moves.capacity() == 0 {
            self.moves.reserve_exact(2);
        }
        &mut self.moves
    }

    /// The list of work, which most rounds have one piece of.
    fn work(&mut self) -> &mut Vec<Work> {
        if self.work.capacity() == 0 {
            self.work.reserve_exact(1);
        }
        &mut self.work
    }

    /// Sends a region.
    pub fn send(&mut self, to: u32, region: Region) {
        if region.len > 0 {
            self.moves().push(Move::Send { to: Rank(to), tag: 0, region });
        }
    }

    /// Receives into a region.
    pub fn receive(&mut self, from: u32, region: Region) {
        if region.len > 0 {
            self.moves().push(Move::Receive { from: Rank(from), tag: 0, region });
        }
    }

    /// Sends an empty message; `nothing` is any empty region.
    pub fn signal(&mut self, to: u32, tag: u16, nothing: Region) {
        self.moves().push(Move::Send { to: Rank(to), tag, region: nothing });
    }

    /// Waits for an empty message.
    pub fn hear(&mut self, from: u32, tag: u16, nothing: Region) {
        self.moves().push(Move::Receive { from: Rank(from), tag, region: nothing });
    }

    /// Copies, unless both are one place.
    pub fn copy(&mut self, from: Region, to: Region) {
        debug_assert_eq!(from.len, to.len, "the two sides of a copy are of one length");
        if from != to && from.len > 0 {
            self.work().push(Work::Copy { from, to });
        }
    }

    /// Combines `from` into `into`.
    pub fn combine(&mut self, from: Region, into: Region, side: Side) {
        debug_assert_eq!(from.len, into.len, "two operands are of one length");
        if from.len > 0 {
            self.work().push(Work::Combine { from, into, side });
        }
    }

    /// Renames the ranks of all moves from number `first` on.
    pub(super) fn rename(&mut self, first: usize, name: impl Fn(u32) -> u32) {
        for one in &mut self.moves[first..] {
            let (Move::Send { to: peer, .. } | Move::Receive { from: peer, .. }) = one;
            *peer = Rank(name(peer.0));
        }
    }
}
