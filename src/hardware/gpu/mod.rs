//! GPUs: kernels on multiprocessors (SM), copies on engines, queued in streams.
//!
//! ```text
//!   submit ─▶ stream ─▶ launch latency ─┬─ kernel ─▶ SMs: waves of blocks ─▶ fabric ─┬─▶ done
//!             (order)                   └─ copy ──▶ engine: pieces ────────▶ fabric ─┘
//! ```
//!
//! A kernel is counted work ([`Work`]), found by [`count`] from the addresses of its threads. Its
//! blocks take slots on the SMs in waves; a wave is one transfer of the [`Fabric`] over everything its
//! blocks use, and keeps its slots until it is delivered: throughput is bound by the slowest resource,
//! or, where too little is in flight, by latency. Blocks are never preempted, and kernels take slots
//! first come first served. An engine does one copy at a time.
//! Source: `gpu-pack` Sections 2.2, 4.2 and 4.4, Table 2; ADR 15, `docs/model/gpu.md`.
//! Left out: caches of SMs, conflicts of shared memory, the number of hardware queues of early GPUs
//! (an operation waits for its stream and its engine only), links between GPUs.

mod bus;
mod coalesce;
pub mod copy;
pub mod count;
mod device;
#[cfg(feature = "mutants")]
mod flaw;
mod instructions;
mod kernel;
mod l2;
mod multiprocessors;
mod running;
mod shape;
mod warp;
mod work;

pub(crate) use bus::Bus;
pub use copy::{Copy, Direction, HostMemory};
use device::Device;
#[cfg(feature = "mutants")]
pub use flaw::Flaw;
pub use instructions::{Instructions, Widths};
pub use kernel::{Block, Kernel};
pub use shape::{RowRule, Shape};
pub use warp::{Access, Kind, Lane, Lanes, Space};
pub use work::{BusTraffic, Chain, Work};

use super::cluster::Cluster;
use super::fabric::{Fabric, Schedule};
use super::profile::Profile;
use units::{Time, TimeDelta};

/// A GPU of the job: those of a node have consecutive numbers.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct GpuId(pub u32);

/// A stream of one GPU: its operations run one after the other.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Stream(pub u32);

/// What a GPU can be asked for.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Operation {
    /// Blocks on SMs.
    Kernel(Kernel),
    /// Bytes by an engine.
    Copy(Copy),
}

/// Something a GPU wants to be told later; opaque to everyone else.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct GpuEvent {
    gpu: u32,
    operation: u32,
}

impl GpuEvent {
    /// The content in one number, for digests.
    pub const fn fingerprint(self) -> u64 {
        (self.gpu as u64) << 32 | self.operation as u64
    }
}

/// Where GPUs, and the fabric for them, put their future events.
pub trait Agenda: Schedule {
    /// Asks for `event` at `time`, never earlier than now.
    fn gpu(&mut self, time: Time, event: GpuEvent);
}

/// An operation ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Done {
    /// Where.
    pub gpu: GpuId,
    /// The token that it was submitted with.
    pub token: u64,
}

/// What one GPU did since the run began.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct GpuStats {
    /// Kernels that ended.
    pub kernels: u64,
    /// Their blocks.
    pub blocks: u64,
    /// Waves that these ran in.
    pub waves: u64,
    /// Time during which some block was on an SM.
    pub kernel_busy: TimeDelta,
    /// Copies that ended, by [`Direction`].
    pub copies: [u64; 3],
    /// Their bytes.
    pub copied: [u64; 3],
    /// Time during which an engine had a copy of the direction.
    pub copy_busy: [TimeDelta; 3],
    /// Most operations that ever waited for SMs or an engine.
    pub queue_max: u32,
}

/// Tokens of transfers that belong to GPUs have this bit.
const GPU_TOKEN: u64 = 1 << 63;

/// Whether a delivery of the fabric is for [`Gpus::delivered`]; users of the fabric leave this bit to
/// GPUs.
pub const fn is_gpu_token(token: u64) -> bool {
    token & GPU_TOKEN != 0
}

/// All GPUs of a job.
#[derive(Debug)]
pub struct Gpus {
    shape: Shape,
    per_node: u32,
    devices: Vec<Device>,
}

impl Gpus {
    /// The GPUs of a cluster's nodes, whose transfers travel on the connections from `first` on;
    /// `None` where the machine has none.
    pub fn new(profile: &Profile, cluster: &Cluster, first: u32) -> Option<Self> {
        let shape = Shape::of(profile)?;
        let per_node = Shape::per_node(profile);
        let nodes = cluster.topology().hosts();
        let buses = (0..nodes).flat_map(|node| cluster.gpu_buses(node));
        let devices = (0..)
            .zip(buses)
            .map(|(index, bus)| {
                Device::new(index, &shape, bus.clone(), first + index * Device::connections(&shape))
            })
            .collect();
        Some(Self { shape, per_node, devices })
    }

    /// How many connections of the fabric they use.
    ///
    /// # Panics
    ///
    /// With more than 2^32 GPUs.
    pub fn connections(&self) -> u32 {
        let devices = u32::try_from(self.devices.len()).expect("GPUs are counted in 32 bits");
        devices * Device::connections(&self.shape)
    }

    /// The same with a planted bug.
    #[cfg(feature = "mutants")]
    #[must_use]
    pub fn with(mut self, flaw: Flaw) -> Self {
        self.shape = self.shape.with(flaw);
        self
    }

    /// What each of them is made of.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// GPU `index` of a node.
    ///
    /// # Panics
    ///
    /// When the node has no such GPU.
    pub fn of_node(&self, node: u32, index: u32) -> GpuId {
        assert!(index < self.per_node, "a node has {} GPUs", self.per_node);
        GpuId(node * self.per_node + index)
    }

    /// Asks for an operation; its [`Done`] comes out of a later call. The core that asks is free after
    /// [`Shape::call_overhead`].
    ///
    /// # Panics
    ///
    /// When there is no such GPU, or a block does not fit an SM.
    pub fn submit(
        &mut self,
        now: Time,
        gpu: GpuId,
        stream: Stream,
        operation: Operation,
        token: u64,
        agenda: &mut impl Agenda,
    ) {
        self.devices[gpu.0 as usize].submit(now, &self.shape, stream, operation, token, agenda);
    }

    /// Obeys an event that came due: the latency of an operation is over.
    pub fn handle(
        &mut self,
        now: Time,
        event: GpuEvent,
        fabric: &mut Fabric,
        agenda: &mut impl Agenda,
    ) {
        let device = &mut self.devices[event.gpu as usize];
        device.ready(now, &self.shape, event.operation, fabric, agenda);
    }

    /// Takes a delivery whose token is a GPU's (see [`is_gpu_token`]); ends are appended to `done`.
    pub fn delivered(
        &mut self,
        now: Time,
        token: u64,
        fabric: &mut Fabric,
        agenda: &mut impl Agenda,
        done: &mut Vec<Done>,
    ) {
        let (gpu, transfer) = device::parts(token);
        let device = &mut self.devices[gpu as usize];
        device.delivered(now, &self.shape, transfer, fabric, agenda, done);
    }

    /// What a GPU did so far.
    ///
    /// # Panics
    ///
    /// When there is no such GPU.
    pub fn stats(&self, gpu: GpuId) -> GpuStats {
        self.devices[gpu.0 as usize].stats()
    }
}
