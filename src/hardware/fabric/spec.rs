//! What a fabric is made of: resources, framing, paths, transfers, events.

use crate::profile::Ratio;
use units::{Bandwidth, Time, TimeDelta};

/// A dense number for one resource, in the order given to [`super::Fabric::new`].
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ResourceId(pub u32);

/// A dense number for one connection (a queue pair, a core's stream of copies).
///
/// Transfers of one connection begin and are delivered in order; connections share a resource
/// fairly. The number also breaks ties between arrivals of the same instant.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ConnId(pub u32);

/// A dense number for one path, in the order of [`super::Fabric::add_path`].
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct PathId(pub u32);

/// How much of a full resource the bulk of a connection gets, compared with that of others.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Share(pub(super) u32);

impl Share {
    /// The share of every connection that was given no other.
    pub const ONE: Self = Self(1 << SHARE_BITS);

    /// `numerator / denominator` of [`Share::ONE`], rounded down, but never nothing.
    ///
    /// # Panics
    ///
    /// When the denominator is zero, or the share is 2^16 or more.
    pub const fn of(numerator: u32, denominator: u32) -> Self {
        assert!(denominator > 0, "a share of something");
        let parts = ((numerator as u64) << SHARE_BITS) / denominator as u64;
        assert!(parts <= u32::MAX as u64, "a share is below 2^16");
        #[expect(clippy::cast_possible_truncation, reason = "checked in the line above")]
        let parts = parts as u32;
        Self(if parts == 0 { 1 } else { parts })
    }
}

/// Bits of a share after the point.
/// Encoding: a share has 32 bits in all.
pub(super) const SHARE_BITS: u32 = 16;

/// How payload becomes raw bytes on a resource: `bytes + packets * overhead`.
///
/// `packets = max(1, ceil(bytes / unit))`, counted exactly for each transfer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Framing {
    /// Largest payload of one packet, in bytes; at least 1.
    pub unit: u64,
    /// Header, trailer and acknowledgement bytes per packet.
    pub overhead: u64,
}

impl Framing {
    /// No packets and no headers: a byte is a byte.
    pub const NONE: Self = Self { unit: u64::MAX, overhead: 0 };

    /// Packets that `bytes` of payload need; an empty payload still needs one.
    pub const fn packets(self, bytes: u64) -> u64 {
        if bytes <= self.unit { 1 } else { bytes.div_ceil(self.unit) }
    }

    /// Raw bytes of a payload of `bytes`.
    pub const fn raw_bytes(self, bytes: u64) -> u64 {
        bytes + self.packets(bytes) * self.overhead
    }
}

/// How a resource serves.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Service {
    /// A pipe shared fairly by bulk flows and packets: a link, a direction of a bus, memory.
    Shared {
        /// Raw bytes per second.
        capacity: Bandwidth,
    },
    /// `count` identical first-come-first-served servers with a fixed time per transfer.
    Servers {
        /// How many serve side by side; at least 1.
        count: u32,
        /// Time of one transfer, whatever its size.
        per_item: TimeDelta,
    },
}

/// Order of service among the connections that wait at a shared resource.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Arbitration {
    /// Round robin; a turn lasts up to one MTU of bytes.
    #[default]
    ByteQuantum,
    /// Round robin; a turn is one packet, however small.
    PacketPerTurn,
    /// Packets go before bulk, first come first served; they wait only for the current MTU.
    Strict,
}

/// A place where bytes go from one device to another.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Boundary {
    /// A direction of a link of the network.
    Link,
    /// A direction of the bus of an HCA.
    HcaBus,
    /// A direction of the bus of a GPU.
    GpuBus,
}

/// Kind of a resource, for reports: nothing of the fabric depends on it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Kind {
    /// Each byte that crosses is charged here once, with the headers of its packets.
    Boundary(Boundary),
    /// Copies by a core, or by the cores of a tile.
    Copies,
    /// Bytes on their way to a boundary, or beyond it, are charged here, too: a limit of two
    /// directions together, a DMA engine, a unit, memory.
    #[default]
    Other,
}

/// One shared piece of hardware.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ResourceSpec {
    /// For people.
    pub name: String,
    /// For those who sum what resources did.
    pub kind: Kind,
    /// How it serves.
    pub service: Service,
    /// How payload is cut into packets here.
    pub framing: Framing,
    /// Order of service among connections.
    pub arbitration: Arbitration,
}

impl ResourceSpec {
    /// A pipe that its users share fairly.
    pub(crate) fn shared(name: String, capacity: Bandwidth, framing: Framing) -> Self {
        let (kind, service) = (Kind::default(), Service::Shared { capacity });
        Self { name, kind, service, framing, arbitration: Arbitration::default() }
    }

    /// The same, where bytes go from one device to another.
    pub(crate) fn boundary(
        which: Boundary,
        name: String,
        capacity: Bandwidth,
        framing: Framing,
    ) -> Self {
        Self { kind: Kind::Boundary(which), ..Self::shared(name, capacity, framing) }
    }
}

/// How a resource differs from what it was built as.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Alteration {
    /// The part of its rate that is left; pools of servers keep theirs.
    pub rate: Ratio,
    /// Time that every hop over it takes beyond its latency.
    pub delay: TimeDelta,
    /// Whether flows stand still, but for [`STILL`].
    pub paused: bool,
}

impl Alteration {
    /// As it was built.
    pub const NONE: Self = Self { rate: Ratio::ONE, delay: TimeDelta::ZERO, paused: false };

    /// The part that is left of the capacity `built`, and at least [`STILL`].
    pub(super) fn rate_of(self, built: Bandwidth) -> Bandwidth {
        let bits = u128::from(built.as_bit_per_s()) * u128::from(self.rate.as_ppm());
        let bits = u64::try_from(bits / u128::from(Ratio::ONE.as_ppm()));
        Bandwidth::from_bit_per_s(bits.unwrap_or(u64::MAX).max(STILL.as_bit_per_s()))
    }
}

/// The rate of a resource that stands still: a byte takes a microsecond.
/// Method: a flow always has a rate.
pub const STILL: Bandwidth = Bandwidth::from_bit_per_s(8_000_000);

/// One step of a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Hop {
    /// The resource that is crossed.
    pub resource: ResourceId,
    /// Raw bytes charged for each framed byte, for instance 2 for the memory traffic of a copy.
    pub weight: u32,
    /// Raw bytes charged once for each transfer, for instance a doorbell or a completion entry.
    pub extra: u64,
    /// Fixed time after this hop.
    pub latency: TimeDelta,
}

/// A request to move `bytes` along a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Transfer {
    /// Connection whose turn it is charged to, and within whose order it stays.
    pub conn: ConnId,
    /// Where it goes.
    pub path: PathId,
    /// Payload; zero is allowed (headers still travel).
    pub bytes: u64,
    /// Handed back in the [`Delivery`].
    pub token: u64,
}

/// A transfer that arrived, at the `now` of the event that reports it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Delivery {
    /// The token of the transfer.
    pub token: u64,
}

/// Whether packets cross hops without events. Times are the same.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LookAhead {
    /// Each hop is an event.
    Never,
    /// Hops that are free, and to which no other packet is on the way, need none.
    #[default]
    WhereFree,
}

/// Where the fabric puts its future events.
pub trait Schedule {
    /// Asks for `event` at `time` (never earlier than now); `resource` is the one that asks.
    fn at(&mut self, time: Time, resource: ResourceId, event: FabricEvent);
}

/// A future event of the fabric, opaque to its users.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct FabricEvent {
    pub(super) kind: EventKind,
    pub(super) id: u32,
    pub(super) generation: u32,
}

/// Kind of a [`FabricEvent`].
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[repr(u8)]
pub(super) enum EventKind {
    /// Transfer `id` reaches its next hop, or the end of its path.
    Arrive,
    /// Resource `id` chooses whom to serve next.
    Turn,
    /// The first hop of connection `id` is free again.
    Gate,
    /// Flow `id` may have moved its last byte.
    FlowEnd,
    /// The rates of the resources that changed are due.
    Solve,
    /// The packet load of resource `id` is measured.
    Window,
}

impl FabricEvent {
    pub(super) const fn new(kind: EventKind, id: u32, generation: u32) -> Self {
        Self { kind, id, generation }
    }

    /// Kind and content in one number, for digests.
    pub const fn fingerprint(self) -> u64 {
        ((self.kind as u64) << 60) ^ ((self.generation as u64) << 32) ^ self.id as u64
    }
}

/// Subject of a [`FabricEvent`], for people.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum About {
    /// The transfer of this token reaches a resource, or, without one, the end of its path.
    Reaches(u64, Option<ResourceId>),
    /// The transfer of this token may have moved its last byte; the resource limits it.
    MayEnd(u64, ResourceId),
    /// A resource chooses whom to serve next.
    Chooses(ResourceId),
    /// A connection may begin its next transfer.
    MayBegin(ConnId),
    /// Rates change, because transfers began or ended.
    Rates,
    /// The packets of a resource are counted.
    Counts(ResourceId),
    /// Nothing any more: what it was about has changed since.
    Nothing,
}

/// Statistics of one resource since the run began.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ResourceStats {
    /// Time of service, summed over all servers, rounded down to a picosecond.
    pub busy: TimeDelta,
    /// Raw bytes, headers and weights included; zero for servers.
    pub raw_bytes: u64,
    /// Packets by this resource's framing.
    pub packets: u64,
    /// Transfers that crossed it.
    pub transfers: u64,
    /// Most transfers that ever waited here at once (fluid flows do not wait).
    pub queue_max: u32,
}

impl ResourceStats {
    /// Statistics since `earlier`; the queue maximum is that of the whole run.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(earlier.busy),
            raw_bytes: self.raw_bytes - earlier.raw_bytes,
            packets: self.packets - earlier.packets,
            transfers: self.transfers - earlier.transfers,
            queue_max: self.queue_max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_payload_still_needs_a_packet() {
        let framing = Framing { unit: 128, overhead: 28 };
        assert_eq!([0, 1, 128, 129].map(|bytes| framing.packets(bytes)), [1, 1, 1, 2]);
        assert_eq!(framing.raw_bytes(129), 129 + 56);
        assert_eq!(Framing::NONE.raw_bytes(1 << 40), 1 << 40);
    }

    #[test]
    fn events_are_small_and_differ_in_their_fingerprints() {
        assert!(size_of::<FabricEvent>() <= 16);
        let kinds = [EventKind::Arrive, EventKind::Turn, EventKind::FlowEnd];
        let events = kinds.map(|kind| FabricEvent::new(kind, 7, 3).fingerprint());
        assert!(events[0] != events[1] && events[1] != events[2] && events[0] != events[2]);
        let later = FabricEvent::new(EventKind::Arrive, 7, 4).fingerprint();
        assert_ne!(events[0], later);
    }
}
