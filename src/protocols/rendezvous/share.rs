//! The part of a message that one side's core copies from or into a neighbour, chunk by chunk.
//!
//! Between two chunks the core polls once, so that a control message waits for one chunk at most
//! (COOP-chunked, valid for every protocol that copies). Each chunk is a call of the kernel.
//!
//! Source: `coop` Sec. II-C.

use super::role::Port;
use crate::contract::{Action, Emit, Region, Toward};
use mpi::observation::Mover;

/// Consecutive bytes of a message, and how many of them are copied.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Share {
    next: u64,
    end: u64,
}

/// Whether all of a share is copied.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Copied {
    /// All of it.
    All,
    /// Not yet: the role goes on after a poll, with [`RoleInput::Continue`](super::RoleInput).
    Part,
}

impl Share {
    /// The bytes `start..end` of the message.
    pub const fn new(start: u64, end: u64) -> Self {
        Self { next: start, end }
    }

    /// Copies the next chunk between the own buffer and `remote`, the neighbour's whole buffer.
    pub fn advance(&mut self, port: &mut Port<'_>, toward: Toward, remote: Region) -> Copied {
        let left = self.end - self.next;
        if left == 0 {
            return Copied::All;
        }
        let chunk =
            port.settings.chunk_of(port.buffer.len).map_or(left, |chunk| chunk.clamp(1, left));
        let own = port.buffer.part(self.next, chunk);
        let remote = remote.part(self.next, chunk);
        let mover = match toward {
            Toward::Own => Mover::Receiver,
            Toward::Peer => Mover::Sender,
        };
        port.moves(mover, self.next, chunk);
        let peer = port.wire.route.peer;
        port.out.emit(|| Action::PeerCopy { peer, toward, own, remote });
        self.next += chunk;
        if self.next == self.end {
            Copied::All
        } else {
            port.again = true;
            Copied::Part
        }
    }
}
