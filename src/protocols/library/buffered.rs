//! Buffered sends: the message is copied into room that the program has attached, and the call ends.
//!
//! ```text
//!   MPI_Bsend ──room? copy in──▶ complete      its copy ──RTS … FIN──▶ the room is free again
//!   MPI_Buffer_detach ──▶ returns when all room is free
//! ```
//!
//! The copy is a send of the library's own, with a request that no program names: the rendezvous is
//! that of any other message, and progresses in any call. A small message leaves eagerly and needs room
//! only to be allowed.
//!
//! Source: `coop` Table II and Sec. II-B1 (the sender is free before the match); MPI-3.1, Sec. 3.6.
//! Left out: where in the room a message lies. Noticeable where free room is in pieces.
//! `MPI_BSEND_OVERHEAD` is 0.

use super::Thread;

/// The room of a process for buffered sends.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Attached {
    /// Bytes that the program has given.
    room: u64,
    /// Bytes of messages whose transfer has not ended.
    used: u64,
    /// The thread that waits for all of them.
    detaching: Option<Thread>,
}

impl Attached {
    /// So many bytes of room.
    pub(super) const fn new(room: u64) -> Self {
        Self { room, used: 0, detaching: None }
    }

    /// A message of so many bytes must fit into the free part of the room; `Err` says how much that is.
    pub(super) fn check(&self, bytes: u64) -> Result<(), String> {
        let free = self.room - self.used;
        if bytes > free {
            return Err(format!("{free} B are free of an attached buffer of {} B", self.room));
        }
        Ok(())
    }

    /// A message is copied into the room.
    pub(super) const fn take(&mut self, bytes: u64) {
        self.used += bytes;
    }

    /// The transfer of a message has ended; answers the thread that waited for the last one.
    pub(super) const fn give_back(&mut self, bytes: u64) -> Option<Thread> {
        self.used -= bytes;
        if self.used == 0 { self.detaching } else { None }
    }

    /// A thread detaches the room; answers whether it must wait for transfers.
    pub(super) const fn detach(&mut self, thread: Thread) -> bool {
        if self.used > 0 {
            self.detaching = Some(thread);
        }
        self.used > 0
    }
}
