//! The rendezvous family: one file per protocol, two roles each, entered by one line below.
//!
//! A *role* is one side of one message. It lives in the request table of the library, takes
//! [`RoleInput`]s and answers through its [`Port`]. The sender's first act is the RTS, which the
//! library matches; the receiver role begins when a receive has taken the RTS.

pub mod rget;
pub mod rput;
pub mod shared_memory;

use std::fmt::Debug;

use super::contract::{Action, Emit, ProtocolError, Region, Step};
use super::library::{Key, LibraryAction, Packet, Wire};
#[cfg(feature = "mutants")]
use super::mutant::Mutant;

/// What the two roles of one message say to each other, after the RTS.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Word {
    /// Clear to send: the receiver is ready; `into` is its buffer, as long as what it takes.
    Cts {
        /// The receiver's buffer.
        into: Region,
    },
    /// The payload has been moved.
    Fin,
    /// Part of the payload, in a shared cell.
    Chunk {
        /// First byte of the part.
        offset: u64,
    },
    /// A shared cell is free again.
    Credit,
}

/// What happens to a role.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RoleInput {
    /// The role begins: the send was called, or a receive has taken the RTS.
    Start,
    /// The other role speaks; `landing` holds the payload of a chunk.
    Word {
        /// What it says.
        word: Word,
        /// The cell that came with it.
        landing: Option<Region>,
    },
    /// The HCA has finished this role's RDMA operation.
    RdmaDone,
}

/// Whether the role's request is complete.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Progress {
    /// More inputs will come.
    Pending,
    /// The buffer belongs to the program again; no input may come any more.
    Complete,
}

/// What a role knows of its message, and its way to act.
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
    /// The other side's buffer, as the RTS told it (receiver only).
    pub remote: Option<Region>,
    /// What is wrong with the roles.
    #[cfg(feature = "mutants")]
    pub mutant: Option<Mutant>,
    pub(super) out: &'a mut Vec<LibraryAction>,
}

impl Port<'_> {
    /// Sends a control word to the other role.
    ///
    /// # Panics
    ///
    /// When the other side's request is not known yet: only the RTS may be sent before.
    pub fn say(&mut self, word: Word) {
        self.say_with(word, None);
    }

    /// Sends a word with payload.
    ///
    /// # Panics
    ///
    /// As [`Self::say`].
    pub fn say_with(&mut self, word: Word, payload: Option<Region>) {
        let to = self.other.expect("the other side is known after the RTS");
        let packet = Packet::Rendezvous { to, from: self.own, word };
        let header = if payload.is_some() { self.wire.header } else { self.wire.control };
        self.out.emit(|| Action::Work(Step::Control));
        self.out.emit(|| Action::Send {
            to: self.wire.route,
            via: self.wire.via,
            header,
            packet,
            payload,
        });
    }

    /// Whether the roles have this planted bug.
    #[cfg(feature = "mutants")]
    pub(super) fn has(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// Pins this side's buffer.
    pub fn register(&mut self) {
        #[cfg(feature = "mutants")]
        if self.has(Mutant::PinsTwice) {
            self.out.emit(|| Action::Register { region: self.buffer });
        }
        self.out.emit(|| Action::Register { region: self.buffer });
    }

    /// The HCA pulls the other side's bytes into this buffer.
    pub fn rdma_read(&mut self, remote: Region) {
        self.out.emit(|| Action::RdmaRead {
            from: self.wire.route,
            remote,
            into: self.buffer,
            token: self.own.token(),
        });
    }

    /// The HCA pushes this buffer into the other side's memory.
    pub fn rdma_write(&mut self, into: Region) {
        self.out.emit(|| Action::RdmaWrite {
            to: self.wire.route,
            from: self.buffer.part(0, into.len),
            into,
            token: self.own.token(),
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

/// Generates the enums and the static dispatch over all protocols of the family.
macro_rules! rendezvous {
    ($($(#[$doc:meta])* $name:ident => $module:ident, $label:literal, registers: $registers:literal;)*) => {
        /// A rendezvous protocol, by its published name.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        pub enum Protocol {
            $($(#[$doc])* $name,)*
        }

        impl Protocol {
            /// Every protocol, in the order of the registry.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name that scenarios use.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }

            /// Whether the sender pins its buffer before the RTS, since the RTS tells its address.
            pub(super) const fn registers_at_rts(self) -> bool {
                match self { $(Self::$name => $registers,)* }
            }

            pub(super) const fn sender(self) -> Sender {
                match self { $(Self::$name => Sender::$name($module::Sender::new()),)* }
            }

            pub(super) const fn receiver(self) -> Receiver {
                match self { $(Self::$name => Receiver::$name($module::Receiver::new()),)* }
            }
        }

        /// The sender role of any protocol.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        pub enum Sender {
            $(#[doc = concat!("Of ", $label, ".")] $name($module::Sender),)*
        }

        /// The receiver role of any protocol.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        pub enum Receiver {
            $(#[doc = concat!("Of ", $label, ".")] $name($module::Receiver),)*
        }

        impl Role for Sender {
            fn handle(&mut self, input: RoleInput, port: &mut Port<'_>) -> Result<Progress, ProtocolError> {
                match self { $(Self::$name(role) => role.handle(input, port),)* }
            }
        }

        impl Role for Receiver {
            fn handle(&mut self, input: RoleInput, port: &mut Port<'_>) -> Result<Progress, ProtocolError> {
                match self { $(Self::$name(role) => role.handle(input, port),)* }
            }
        }
    };
}

rendezvous! {
    /// Sender puts by RDMA write after the receiver's CTS.
    RPut => rput, "rput", registers: false;
    /// Receiver gets by RDMA read after the sender's RTS.
    RGet => rget, "rget", registers: true;
    /// Both copy through cells of a shared segment; used inside a node.
    SharedMemory => shared_memory, "shared_memory", registers: false;
}
