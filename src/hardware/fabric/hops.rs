//! The paths of a fabric, their hops, and the charges of transfers at shared hops.
//!
//! A large job has many paths and few kinds of hops: nodes are alike. All hops of a kind share one
//! record of its numbers and of the charges for recent sizes, so that the record stays in the caches.

use super::arena::NONE;
use super::spec::{Framing, Hop, PathId, ResourceSpec, Service};
use engine::Paged;
use units::{Bandwidth, Bytes, TimeDelta};

/// Payload that a stage must hold before the next stage can begin.
/// Default: a machine has it as `link.cut_through`.
pub const DEFAULT_CUT_THROUGH: u64 = 256;

/// The hops of a path, as a range of the table of hops.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    pub(super) first: u32,
    pub(super) end: u32,
    /// Whether a processing unit is among its resources.
    pub(super) has_servers: bool,
}

/// Cost of one transfer at one shared hop.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Charge {
    pub(super) raw: u64,
    pub(super) packets: u64,
    pub(super) service: TimeDelta,
    /// Time until the next stage can begin.
    pub(super) head: TimeDelta,
}

/// One hop of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct HopState {
    pub(super) resource: u32,
    kind: u32,
}

/// Common properties of hops over alike resources.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// `None` for processing units.
    capacity: Option<Bandwidth>,
    framing: Framing,
    weight: u32,
    extra: u64,
    latency: TimeDelta,
    /// Charges of the sizes that it saw last: sizes repeat.
    charged: [(u64, Charge); SIZES],
}

/// Sizes whose charges a kind keeps.
/// Method: a table that two bits of a hash look up.
const SIZES: usize = 4;

/// Where the charge of a size is kept.
#[inline]
fn place_of(bytes: u64) -> usize {
    let high = bytes.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62;
    usize::try_from(high).expect("two bits") % SIZES
}

/// All paths and their hops.
#[derive(Debug)]
pub(super) struct Hops {
    paths: Paged<Path, 256>,
    all: Vec<HopState>,
    kinds: Vec<Kind>,
    cut_through: u64,
}

impl Hops {
    pub(super) const fn new() -> Self {
        let cut_through = DEFAULT_CUT_THROUGH;
        Self { paths: Paged::new(), all: Vec::new(), kinds: Vec::new(), cut_through }
    }

    /// Sets the payload that a stage must hold before the next can begin.
    pub(super) fn set_cut_through(&mut self, bytes: u64) {
        self.cut_through = bytes;
    }

    /// Payload that a stage must hold before the next can begin.
    pub(super) const fn cut_through(&self) -> u64 {
        self.cut_through
    }

    /// Adds a path of hops over resources with these specifications.
    pub(super) fn add_path(&mut self, hops: &[(Hop, Framing)], specs: &[ResourceSpec]) -> PathId {
        let first = index(self.all.len());
        let mut has_servers = false;
        if self.all.capacity() - self.all.len() < hops.len() {
            // By a half: a large job has very many, and twice as much would be unused for long.
            self.all.reserve_exact(hops.len() + self.all.len() / 2);
        }
        for &(hop, framing) in hops {
            let resource = hop.resource.0;
            let spec = &specs[resource as usize];
            has_servers |= matches!(spec.service, Service::Servers { .. });
            let kind = self.kind(Kind::new(&hop, spec, framing));
            self.all.push(HopState { resource, kind });
        }
        PathId(self.paths.push(Path { first, end: index(self.all.len()), has_servers }))
    }

    #[inline]
    pub(super) fn path(&self, path: u32) -> Path {
        self.paths[path]
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
        for at in 0..self.all.len() {
            let HopState { resource: crossed, kind } = self.all[at];
            if crossed == resource {
                let old = self.kinds[kind as usize];
                let latency = old.latency.saturating_sub(from) + to;
                let charged = [(u64::MAX, Charge::default()); SIZES];
                self.all[at].kind = self.kind(Kind { capacity, latency, charged, ..old });
            }
        }
    }

    pub(super) fn of(
        &self,
        first: u32,
        end: u32,
    ) -> impl DoubleEndedIterator<Item = HopState> + ExactSizeIterator {
        self.all[first as usize..end as usize].iter().copied()
    }

    /// The resource before a hop in its path, which begins at `first`.
    pub(super) fn previous(&self, hop: u32, first: u32) -> u32 {
        if hop == first { NONE } else { self[hop - 1].resource }
    }

    /// Raw bytes that `bytes` are at a hop.
    pub(super) fn raw(&self, hop: HopState, bytes: u64) -> u64 {
        self.kinds[hop.kind as usize].raw(bytes)
    }

    /// Packets that `bytes` are at a hop.
    pub(super) fn packets(&self, hop: HopState, bytes: u64) -> u64 {
        self.kinds[hop.kind as usize].framing.packets(bytes)
    }

    /// The fixed time after a hop.
    #[inline]
    pub(super) fn latency(&self, hop: HopState) -> TimeDelta {
        self.kinds[hop.kind as usize].latency
    }

    /// Charge of `bytes` at a shared hop, and the time that follows it.
    #[inline]
    pub(super) fn charge(&mut self, hop: HopState, bytes: u64) -> (&Charge, TimeDelta) {
        let cut_through = self.cut_through;
        let kind = &mut self.kinds[hop.kind as usize];
        let place = place_of(bytes);
        if kind.charged[place].0 != bytes {
            kind.charged[place] = (bytes, kind.charge_of(cut_through, bytes));
        }
        (&kind.charged[place].1, kind.latency)
    }

    /// The same, where the charge is needed once.
    pub(super) fn charge_of(&self, hop: HopState, bytes: u64) -> Charge {
        self.kinds[hop.kind as usize].charge_of(self.cut_through, bytes)
    }
}

impl std::ops::Index<u32> for Hops {
    type Output = HopState;
    #[inline]
    fn index(&self, hop: u32) -> &HopState {
        &self.all[hop as usize]
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
