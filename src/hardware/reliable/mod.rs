//! A reliable connection over a wire that loses, repeats and reorders packets: what the HCAs of
//! InfiniBand do below the MPI library.
//!
//! ```text
//!   Sender ──packet, PSN──▶ wire ──▶ Receiver ──in order, once──▶ memory
//!      ▲                                 │
//!      └────── ACK n, NAK n ◀── wire ◀───┘
//! ```
//!
//! Every packet carries its packet sequence number (PSN), modulo 2^24. The receiver takes them in
//! order only: it acknowledges what it takes, acknowledges a packet again that it has had before,
//! and asks once for the missing one where a later one comes (NAK, PSN sequence error). The sender
//! goes back to the packet that is asked for and sends it and all after it again; so it does where
//! nothing is heard for the time of the transport timer. After so many tries without progress the
//! work request ends with an error, transport retry counter exceeded: the MPI library is told, and
//! nothing was lost in silence.
//!
//! Both ends are pure: no clock, no random number, no wire. `runtime::timed` gives them a fabric,
//! `runtime::explore::lossy` an adversary.
//!
//! What stays on the wire while half of all PSNs go by would be taken for new; of 2^24 it does not.
//!
//! Source: `InfiniBand` Architecture Specification, volume 1, 9.7 (PSN, ACK, NAK, duplicates) and
//! 9.9.2 (retry counter). Left out: the receiver coalesces no ACKs, an RDMA read is asked for again
//! by its answers' sequence instead of by a request of its own, and automatic path migration.

mod receiver;
mod sender;

#[cfg(feature = "mutants")]
mod flaw;

#[cfg(feature = "mutants")]
pub use flaw::Flaw;
pub use receiver::{Receiver, Verdict};
pub use sender::{Sender, Step};

/// A packet sequence number, as it stands in a packet.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Psn(pub u32);

/// What both ends of a connection agree on.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Settings {
    /// Bits of a PSN, at most 24.
    pub psn_bits: u8,
    /// Packets that may be sent before the first of them is acknowledged: at most half of all PSNs,
    /// for else an old packet cannot be told from a new one.
    pub window: u32,
    /// Tries without progress after the first before the connection gives up.
    pub retries: u8,
    /// A planted bug, for tests.
    #[cfg(feature = "mutants")]
    pub flaw: Option<Flaw>,
}

impl Settings {
    /// Bits of a PSN of `InfiniBand`.
    pub const PSN_BITS: u8 = 24;

    /// A connection of `InfiniBand` that gives up after `retries`.
    ///
    /// The window is none of the specification: an HCA makes packets as the wire takes them, and
    /// stops where it goes back. Here packets are given to the wire at once, so that those that it
    /// will have to send again are bounded.
    pub const fn new(retries: u8) -> Self {
        Self {
            psn_bits: Self::PSN_BITS,
            window: 64,
            retries,
            #[cfg(feature = "mutants")]
            flaw: None,
        }
    }

    /// The PSN of packet number `packet` of the connection.
    pub const fn psn(self, packet: u64) -> Psn {
        #[expect(clippy::cast_possible_truncation, reason = "the low bits are wanted")]
        Psn(packet as u32 & self.mask())
    }

    const fn mask(self) -> u32 {
        (1 << self.psn_bits) - 1
    }

    /// How far `psn` is behind packet number `from`, modulo all PSNs.
    const fn distance(self, from: u64, psn: Psn) -> u64 {
        (psn.0.wrapping_sub(self.psn(from).0) & self.mask()) as u64
    }

    /// Half of all PSNs: what lies further ahead lies behind.
    const fn half(self) -> u64 {
        1 << (self.psn_bits - 1)
    }

    #[cfg(feature = "mutants")]
    fn has(self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }
}

/// What the receiver says.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Answer {
    /// Everything up to this packet is here.
    Ack(Psn),
    /// Everything before this packet is here, and it is missing.
    Nak(Psn),
}

#[cfg(test)]
mod tests;
