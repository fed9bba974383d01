//! Packet sequence numbers, and what both ends of a connection agree on.

#[cfg(feature = "mutants")]
use super::flaw::Flaw;

/// A packet sequence number, as it stands in a packet.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Psn(pub u32);

/// Settings on which both ends of a connection agree.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Settings {
    /// Bits of a PSN, at most 24.
    pub psn_bits: u8,
    /// Packets that may be sent before the first of them is acknowledged: at most half of all PSNs,
    /// for else an old packet looks like a new one.
    pub window: u32,
    /// Tries without progress after the first before the connection gives up.
    pub retries: u8,
    /// A planted bug, for tests.
    #[cfg(feature = "mutants")]
    pub flaw: Option<Flaw>,
}

impl Settings {
    /// Bits of a PSN of `InfiniBand`.
    /// Source: `InfiniBand` Architecture Specification, volume 1: the base transport header.
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
    pub(super) const fn distance(self, from: u64, psn: Psn) -> u64 {
        (psn.0.wrapping_sub(self.psn(from).0) & self.mask()) as u64
    }

    /// Half of all PSNs: what lies further ahead lies behind.
    pub(super) const fn half(self) -> u64 {
        1 << (self.psn_bits - 1)
    }

    #[cfg(feature = "mutants")]
    pub(super) fn has(self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }
}

/// The receiver's answer to a packet.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Answer {
    /// Everything up to this packet is here.
    Ack(Psn),
    /// Everything before this packet is here, and it is missing.
    Nak(Psn),
}
