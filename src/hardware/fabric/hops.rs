//! The hops of all paths, and what transfers are charged there.
//!
//! A large job has many paths and few kinds of hops: nodes are alike. What a kind charges, and what it
//! charged the last size, is kept once for all hops of the kind, where it stays in the caches.

use super::Charge;
use super::arena::NONE;
use super::spec::{Framing, Hop, ResourceSpec, Service};
use units::{Bandwidth, Bytes, TimeDelta};

/// One hop of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct HopState {
    pub(super) resource: u32,
    /// The resource of the hop before in the path.
    pub(super) previous: u32,
    kind: u32,
}

/// What hops over alike resources have in common.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// `None` for processing units.
    capacity: Option<Bandwidth>,
    framing: Framing,
    weight: u32,
    extra: u64,
    latency: TimeDelta,
    /// What it charged the sizes that it saw last: sizes repeat.
    charged: [(u64, Charge); SIZES],
}

/// Sizes whose charges a kind keeps.
const SIZES: usize = 4;

/// Where the charge of a size is kept.
#[inline]
fn place_of(bytes: u64) -> usize {
    let high = bytes.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62;
    usize::try_from(high).expect("two bits") % SIZES
}

/// The hops of all paths.
#[derive(Debug, Default)]
pub(super) struct Hops {
    hops: Vec<HopState>,
    kinds: Vec<Kind>,
}

impl Hops {
    /// Adds the hops of a path: the first, and the one after the last.
    pub(super) fn add(&mut self, hops: &[(Hop, Framing)], specs: &[ResourceSpec]) -> (u32, u32) {
        let first = index(self.hops.len());
        let mut previous = NONE;
        for &(hop, framing) in hops {
            let resource = hop.resource.0;
            let kind = self.kind(Kind::new(&hop, &specs[resource as usize], framing));
            self.hops.push(HopState { resource, previous, kind });
            previous = resource;
        }
        (first, index(self.hops.len()))
    }

    fn kind(&mut self, new: Kind) -> u32 {
        let known = self.kinds.iter().position(|kind| kind.is_like(&new));
        let place = known.unwrap_or_else(|| {
            self.kinds.push(new);
            self.kinds.len() - 1
        });
        index(place)
    }

    /// Gives all hops over `resource` another capacity, and a latency that differs as `to` does from
    /// `from`.
    pub(super) fn change(
        &mut self,
        resource: u32,
        capacity: Option<Bandwidth>,
        (from, to): (TimeDelta, TimeDelta),
    ) {
        for at in 0..self.hops.len() {
            let HopState { resource: crossed, kind, .. } = self.hops[at];
            if crossed == resource {
                let old = self.kinds[kind as usize];
                let latency = old.latency.saturating_sub(from) + to;
                let charged = [(u64::MAX, Charge::default()); SIZES];
                self.hops[at].kind = self.kind(Kind { capacity, latency, charged, ..old });
            }
        }
    }

    pub(super) fn of(&self, first: u32, end: u32) -> &[HopState] {
        &self.hops[first as usize..end as usize]
    }

    /// Raw bytes that `bytes` are at a hop.
    pub(super) fn raw(&self, hop: &HopState, bytes: u64) -> u64 {
        self.kinds[hop.kind as usize].raw(bytes)
    }

    /// Packets that `bytes` are at a hop.
    pub(super) fn packets(&self, hop: &HopState, bytes: u64) -> u64 {
        self.kinds[hop.kind as usize].framing.packets(bytes)
    }

    /// The fixed time after a hop.
    #[inline]
    pub(super) fn latency(&self, hop: &HopState) -> TimeDelta {
        self.kinds[hop.kind as usize].latency
    }

    /// What `bytes` cost at a shared hop, and the time that follows it.
    #[inline]
    pub(super) fn charge(
        &mut self,
        hop: &HopState,
        cut_through: u64,
        bytes: u64,
    ) -> (&Charge, TimeDelta) {
        let kind = &mut self.kinds[hop.kind as usize];
        let place = place_of(bytes);
        if kind.charged[place].0 != bytes {
            kind.charged[place] = (bytes, kind.charge_of(cut_through, bytes));
        }
        (&kind.charged[place].1, kind.latency)
    }

    pub(super) fn charge_of(&self, hop: &HopState, cut_through: u64, bytes: u64) -> Charge {
        self.kinds[hop.kind as usize].charge_of(cut_through, bytes)
    }
}

impl std::ops::Index<u32> for Hops {
    type Output = HopState;
    fn index(&self, hop: u32) -> &HopState {
        &self.hops[hop as usize]
    }
}

fn index(len: usize) -> u32 {
    u32::try_from(len).expect("fewer than 2^32 hops")
}

impl Kind {
    fn new(hop: &Hop, spec: &ResourceSpec, framing: Framing) -> Self {
        let capacity = match spec.service {
            Service::Shared { capacity } => Some(capacity),
            Service::Servers { .. } => None,
        };
        Self {
            capacity,
            framing,
            weight: hop.weight,
            extra: hop.extra,
            latency: hop.latency,
            charged: [(u64::MAX, Charge::default()); SIZES],
        }
    }

    /// Whether both charge the same.
    fn is_like(&self, other: &Self) -> bool {
        let all =
            |kind: &Self| (kind.capacity, kind.framing, kind.weight, kind.extra, kind.latency);
        all(self) == all(other)
    }

    fn raw(&self, bytes: u64) -> u64 {
        self.framing.raw_bytes(bytes) * u64::from(self.weight) + self.extra
    }

    #[cold]
    fn charge_of(&self, cut_through: u64, bytes: u64) -> Charge {
        let capacity = self.capacity.expect("pools of servers charge no bytes");
        let raw = self.raw(bytes);
        let head = self.raw(bytes.min(cut_through)).min(raw);
        Charge {
            raw,
            packets: self.framing.packets(bytes),
            service: service_time(capacity, raw),
            head: service_time(capacity, head),
        }
    }
}

/// Even nothing takes 1 ps, so that no two packets are served in the same instant.
fn service_time(capacity: Bandwidth, raw: u64) -> TimeDelta {
    capacity.transfer_time(Bytes::new(raw)).max(TimeDelta::from_ps(1))
}
