//! The rendezvous family: one file per protocol, two roles each, entered by one line below.
//!
//! A *role* is one side of one message. It lives in the request table of the library, takes
//! [`RoleInput`]s and answers through its [`Port`]. The library sends the RTS, and then starts the
//! sender role; in the diagrams it stands as `(RTS)`. The receiver role begins when a receive has
//! taken the RTS.

pub mod coop_coll;
pub mod coop_hca;
pub mod coop_hybrid;
pub mod coop_load;
pub mod coop_p2p;
pub mod rget;
pub mod rput;
pub mod rput_immediate;
pub mod rtr;
pub mod scheme;
pub mod share;
pub mod shared_memory;

use std::fmt::Debug;

use super::contract::{Action, Change, Counter, Emit, Process, ProtocolError, Region, Step, Via};
use super::library::{Key, LibraryAction, Packet, Wire};
#[cfg(feature = "mutants")]
use super::mutant::Mutant;
use mpi::observation::{MessageId, Mover, Observation};
pub use scheme::{Cooperation, Rule, Scheme};

/// What the two roles of one message say to each other, after the RTS.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Word {
    /// Clear to send: the receiver is ready; `into` is its buffer, as long as what it takes.
    Cts {
        /// The receiver's buffer.
        into: Region,
        /// How the payload will move: the receiver has decided.
        protocol: Protocol,
        /// Whether the copies of both sides were counted.
        counted: bool,
    },
    /// The payload has been moved.
    Fin,
    /// This message takes the offered receive that is addressed.
    Taken {
        /// Which message.
        message: MessageId,
        /// Its tag; the offer names the rest of its envelope.
        tag: i32,
        /// Its bytes; the buffer takes what fits.
        bytes: u64,
        /// Whether its payload is there already: then this is the FIN too.
        filled: bool,
    },
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
    /// The other role speaks; `landing` holds the payload of a chunk.
    Word {
        /// What it says.
        word: Word,
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
    /// Which message.
    pub message: MessageId,
    /// Its tag (sender only).
    pub tag: i32,
    /// How it moves.
    pub protocol: Protocol,
    /// What all processes have agreed on.
    pub settings: &'a Cooperation,
    /// Whether the choice of the protocol has counted copies: see [`Counter::Copies`].
    pub counted: bool,
    /// The own process.
    pub me: Process,
    /// The own node.
    pub node: u32,
    /// Set by a role that goes on after a poll.
    pub again: bool,
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

    /// Whether the other side lives on this node: cores copy through the kernel then.
    pub fn is_near(&self) -> bool {
        self.wire.via == Via::SharedMemory
    }

    /// Tells the sender where to, and how the payload will move.
    ///
    /// # Panics
    ///
    /// As [`Self::say`].
    pub fn clear_to_send(&mut self) {
        let (into, protocol, counted) = (self.buffer, self.protocol, self.counted);
        self.say(Word::Cts { into, protocol, counted });
    }

    /// Tells the receiver which message takes its offer.
    ///
    /// # Panics
    ///
    /// As [`Self::say`].
    pub fn taken(&mut self, filled: bool) {
        let (message, tag, bytes) = (self.message, self.tag, self.buffer.len);
        self.say(Word::Taken { message, tag, bytes, filled });
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
        #[cfg(feature = "mutants")]
        if self.has(Mutant::LoadKept) {
            return;
        }
        if self.counted {
            let (counter, change) = (Counter::Copies(self.me), Change::Down);
            self.out.emit(|| Action::Count { counter, change });
        }
    }

    /// A large RDMA operation is posted, where they are counted.
    fn offload(&mut self) {
        #[cfg(feature = "mutants")]
        if self.has(Mutant::OffloadUncounted) {
            return;
        }
        if self.settings.counts_offloads {
            let (counter, change) = (Counter::Offloads(self.node), Change::Up);
            self.out.emit(|| Action::Count { counter, change });
        }
    }

    /// Pins this side's buffer.
    pub fn register(&mut self) {
        #[cfg(feature = "mutants")]
        if self.has(Mutant::PinsTwice) {
            self.out.emit(|| Action::Register { region: self.buffer });
        }
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
    /// As [`Self::say`].
    pub fn rdma_write_saying(&mut self, into: Region, word: Word) {
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

/// Where a sender pins its buffer before the RTS, since the RTS tells its address to an HCA.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Pins {
    /// Nowhere: the RTS tells no address, or none that an HCA uses.
    Nowhere,
    /// Between nodes; inside one the kernel copies, which needs no pinned buffer.
    BetweenNodes,
    /// Inside a node too, where the HCA reads it.
    Everywhere,
}

/// Generates the enums and the static dispatch over all protocols of the family.
macro_rules! rendezvous {
    ($(
        $(#[$doc:meta])* $name:ident => $module:ident, $label:literal,
            crosses_nodes: $crosses:literal, single_copy: $single:literal, loopback: $loopback:literal,
            pins: $pins:ident;
    )*) => {
        /// A rendezvous protocol, by its published name.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        pub enum Protocol {
            $($(#[$doc])* $name,)*
        }

        impl Protocol {
            /// Every protocol, in the order of the registry.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The protocol of this name.
            pub fn find(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|protocol| protocol.name() == name)
            }

            /// The name that scenarios use.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }

            /// Whether it works between two nodes.
            pub const fn crosses_nodes(self) -> bool {
                match self { $(Self::$name => $crosses,)* }
            }

            /// Whether it moves bytes by kernel or loopback between processes of one node.
            pub const fn is_single_copy(self) -> bool {
                match self { $(Self::$name => $single,)* }
            }

            /// Whether the HCA's loopback moves bytes of it inside a node.
            pub(super) const fn uses_loopback(self) -> bool {
                match self { $(Self::$name => $loopback,)* }
            }

            /// Where the sender pins its buffer before the RTS.
            pub(super) const fn pins(self) -> Pins {
                match self { $(Self::$name => Pins::$pins,)* }
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
    RPut => rput, "rput",
        crosses_nodes: true, single_copy: true, loopback: false, pins: Nowhere;
    /// Receiver gets by RDMA read after the sender's RTS.
    RGet => rget, "rget",
        crosses_nodes: true, single_copy: true, loopback: false, pins: BetweenNodes;
    /// Sender puts into a buffer that the receiver has offered before; without an offer as RPUT.
    Rtr => rtr, "rtr",
        crosses_nodes: true, single_copy: true, loopback: false, pins: Nowhere;
    /// As RPUT, and the write itself brings the FIN.
    RPutImmediate => rput_immediate, "rput_immediate",
        crosses_nodes: true, single_copy: true, loopback: false, pins: Nowhere;
    /// Both copy through cells of a shared segment; used inside a node.
    SharedMemory => shared_memory, "shared_memory",
        crosses_nodes: false, single_copy: false, loopback: false, pins: Nowhere;
    /// Both cores copy one half each; used inside a node.
    CoopP2p => coop_p2p, "coop_p2p",
        crosses_nodes: false, single_copy: true, loopback: false, pins: Nowhere;
    /// The HCA's loopback and the receiver's core copy one part each; used inside a node.
    CoopHca => coop_hca, "coop_hca",
        crosses_nodes: false, single_copy: true, loopback: true, pins: Everywhere;
}

/// The sender's side of a message, before and after it knows how the payload will move.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Sending {
    /// The receiver decides: its CTS names the protocol, its FIN says that it has moved all itself.
    Undecided,
    /// The role of that protocol.
    Decided(Sender),
}

impl Role for Sending {
    fn handle(&mut self, input: RoleInput, port: &mut Port<'_>) -> Result<Progress, ProtocolError> {
        match (&mut *self, input) {
            (Self::Decided(role), input) => role.handle(input, port),
            (Self::Undecided, RoleInput::Start) => Ok(Progress::Pending),
            (Self::Undecided, RoleInput::Word { word: Word::Fin, .. }) => Ok(Progress::Complete),
            (Self::Undecided, RoleInput::Word { word: Word::Cts { protocol, .. }, .. }) => {
                #[cfg(feature = "mutants")]
                let protocol =
                    if port.has(Mutant::SenderChooses) { Protocol::CoopP2p } else { protocol };
                let mut role = protocol.sender();
                port.protocol = protocol;
                role.handle(RoleInput::Start, port)?;
                let progress = role.handle(input, port)?;
                *self = Self::Decided(role);
                Ok(progress)
            }
            (Self::Undecided, input) => {
                Err(ProtocolError::refused("rendezvous::sender", "Undecided", input))
            }
        }
    }
}

/// The receiver's side of a message.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Receiving {
    /// It has asked for the counters of its node.
    Asking,
    /// The role of the protocol that it has chosen.
    Decided(Receiver),
}
