//! Roles: one side of one message.
//!
//! A *role* lives in the request table of the library, takes [`RoleInput`]s and answers through its
//! [`Port`].

use std::fmt::Debug;

use crate::contract::{
    Action, Change, CodePath, Counter, Emit, Process, ProtocolError, Region, Via,
};
use crate::selection::protocol::Protocol;
use crate::selection::scheme::Cooperation;
use crate::wire::{ControlMessage, Key, LibraryAction, Packet, Wire};
use mpi::observation::{MessageId, Mover, Observation};

/// Cost of a packet between two roles for the core that builds or handles it: packets of the handshake have no payload,
/// a cell of a transfer through shared memory has one.
#[must_use]
pub const fn step(payload: bool) -> CodePath {
    if payload { CodePath::Control } else { CodePath::Handshake }
}

/// Event that a role handles.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RoleInput {
    /// The role begins: the send was called, or a receive has taken the RTS.
    Start,
    /// In place of [`Self::Start`]: a send was called whose receiver has offered its buffer.
    Offered {
        /// The part of the buffer that the message fills.
        into: Region,
    },
    /// In place of [`Self::Start`]: a message has taken the receive that was offered.
    Taken {
        /// Whether its payload is there already.
        filled: bool,
    },
    /// The other role has sent a control message; `landing` holds the payload of a chunk.
    Word {
        /// The control message.
        word: ControlMessage,
        /// The cell that came with it.
        landing: Option<Region>,
    },
    /// The HCA has finished this role's RDMA operation.
    RdmaDone,
    /// The poll between two chunks is over.
    Continue,
}

/// Whether the role's request is complete.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Progress {
    /// More inputs will come.
    Pending,
    /// The buffer belongs to the program again; no input may come any more.
    Complete,
}

/// A role's view of its message and its process, and the list to which it adds its actions.
#[derive(Debug)]
pub struct Port<'a> {
    /// The wire to the other side.
    pub wire: Wire,
    /// This side's request.
    pub own: Key,
    /// The other side's request, once known.
    pub other: Option<Key>,
    /// This side's buffer, cut to what the receive takes.
    pub buffer: Region,
    /// The other side's buffer, as the RTS states it (receiver only).
    pub remote: Option<Region>,
    /// Which message.
    pub message: MessageId,
    /// Its tag (sender only).
    pub tag: i32,
    /// How it moves.
    pub protocol: Protocol,
    /// Settings for large messages inside a node, the same in all processes.
    pub settings: &'a Cooperation,
    /// Whether the choice of the protocol has counted copies: see [`Counter::Copies`].
    pub counted: bool,
    /// The own process.
    pub me: Process,
    /// The own node.
    pub node: u32,
    /// Set by a role that goes on after a poll.
    pub again: bool,
    pub(crate) out: &'a mut Vec<LibraryAction>,
}

impl Port<'_> {
    /// Sends a control message to the other role.
    ///
    /// # Panics
    ///
    /// When the other side's request is not known yet: only the RTS may be sent before.
    pub fn send(&mut self, word: ControlMessage) {
        self.send_with(word, None);
    }

    /// Sends a control message with payload.
    ///
    /// # Panics
    ///
    /// As [`Self::send`].
    pub fn send_with(&mut self, word: ControlMessage, payload: Option<Region>) {
        let to = self.other.expect("the other side is known after the RTS");
        let packet = Packet::Rendezvous { to, from: self.own, word };
        let header = if payload.is_some() { self.wire.header } else { self.wire.control };
        self.out.emit(|| Action::Work(step(payload.is_some())));
        self.out.emit(|| Action::Send {
            to: self.wire.route,
            via: self.wire.via,
            header,
            packet,
            payload,
        });
    }

    /// Whether the other side lives on this node: cores copy through the kernel then.
    pub fn is_near(&self) -> bool {
        self.wire.via == Via::SharedMemory
    }

    /// Tells the sender where to, and how the payload will move.
    ///
    /// # Panics
    ///
    /// As [`Self::send`].
    pub fn clear_to_send(&mut self) {
        let (into, protocol, counted) = (self.buffer, self.protocol, self.counted);
        self.send(ControlMessage::Cts { into, protocol, counted });
    }

    /// Tells the receiver which message takes its offer.
    ///
    /// # Panics
    ///
    /// As [`Self::send`].
    pub fn taken(&mut self, filled: bool) {
        let (message, tag, bytes) = (self.message, self.tag, self.buffer.len);
        self.send(ControlMessage::Taken { message, tag, bytes, filled });
    }

    /// Whether a core copies such a message at once, without a poll in between.
    pub fn is_one_piece(&self) -> bool {
        let bytes = self.buffer.len;
        self.settings.chunk_of(bytes).is_none_or(|chunk| chunk >= bytes)
    }

    /// Tells the monitors who moves which bytes of the message.
    pub fn moves(&mut self, by: Mover, offset: u64, bytes: u64) {
        let message = self.message;
        self.out.emit(|| Action::Observe(Observation::Moved { message, by, offset, bytes }));
    }

    /// The own copy of this message has ended, where copies are counted.
    pub fn load_less(&mut self) {
        if self.counted {
            for (counter, change) in self.settings.load.with_end(self.protocol, self.me) {
                self.out.emit(|| Action::Count { counter, change });
            }
        }
    }

    /// A large RDMA operation is posted, where they are counted.
    fn offload(&mut self) {
        if self.settings.counts_offloads {
            let (counter, change) = (Counter::Offloads(self.node), Change::Up);
            self.out.emit(|| Action::Count { counter, change });
        }
    }

    /// Pins this side's buffer.
    pub fn register(&mut self) {
        self.out.emit(|| Action::Register { region: self.buffer });
    }

    /// The HCA pulls some of the other side's bytes into this buffer.
    pub fn rdma_read_part(&mut self, remote: Region, offset: u64, bytes: u64) {
        self.moves(Mover::Hca, offset, bytes);
        self.offload();
        self.out.emit(|| Action::RdmaRead {
            from: self.wire.route,
            remote: remote.part(offset, bytes),
            into: self.buffer.part(offset, bytes),
            token: self.own.token(),
        });
    }

    /// The HCA pushes this buffer into the other side's memory.
    pub fn rdma_write(&mut self, into: Region) {
        self.write(into, None);
    }

    /// The same, with a word to the other role that arrives with the last byte.
    ///
    /// # Panics
    ///
    /// As [`Self::send`].
    pub fn rdma_write_with(&mut self, into: Region, word: ControlMessage) {
        let to = self.other.expect("the other side is known after the RTS");
        let packet = Packet::Rendezvous { to, from: self.own, word };
        self.write(into, Some(Box::new(packet)));
    }

    fn write(&mut self, into: Region, immediate: Option<Box<Packet>>) {
        self.moves(Mover::Hca, 0, into.len);
        self.offload();
        self.out.emit(|| Action::RdmaWrite {
            to: self.wire.route,
            from: self.buffer.part(0, into.len),
            into,
            token: self.own.token(),
            immediate,
        });
    }

    /// Gives the cell back that a chunk came in.
    pub fn free_cell(&mut self, landing: Region) {
        self.out.emit(|| Action::Repost { landing, from: self.wire.route });
    }

    /// This core copies between two of its own regions.
    pub fn copy(&mut self, from: Region, to: Region) {
        self.out.emit(|| Action::Copy { from, to });
    }
}

/// One side of one message.
pub trait Role: Clone + Debug {
    /// Takes one input and acts through `port`.
    ///
    /// # Errors
    ///
    /// [`ProtocolError`] for an input that the state does not allow.
    fn handle(&mut self, input: RoleInput, port: &mut Port<'_>) -> Result<Progress, ProtocolError>;
}
