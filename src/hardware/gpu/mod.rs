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
//! Left out: the number of hardware queues of early GPUs (an operation waits for its stream and its
//! engine only), links between GPUs.

mod block;
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
mod operation;
mod running;
mod shape;
mod warp;
mod work;

pub use block::Block;
pub(crate) use bus::Bus;
pub use copy::{Copy, Direction, HostMemory};
use device::Device;
#[cfg(feature = "mutants")]
pub use flaw::Flaw;
pub use instructions::Instructions;
pub use kernel::Kernel;
pub use operation::{Agenda, Done, GpuEvent, GpuId, GpuStats, Operation, Stream, is_gpu_token};
pub use shape::{RowRule, Shape};
pub use warp::{Access, Kind, Lane, Lanes, Space};
pub use work::{BusTraffic, Chain, Work};

use super::fabric::Fabric;
use super::profile::Profile;
use units::Time;

/// All GPUs of a job.
#[derive(Debug)]
pub struct Gpus {
    shape: Shape,
    per_node: u32,
    devices: Vec<Device>,
}

impl Gpus {
    /// The GPUs at these buses, in the order of their nodes, whose transfers travel on the
    /// connections from `first` on; `None` where the machine has none.
    pub(crate) fn new<'a>(
        profile: &Profile,
        buses: impl Iterator<Item = &'a Bus>,
        first: u32,
    ) -> Option<Self> {
        let shape = Shape::of(profile)?;
        let per_node = Shape::per_node(profile);
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

    /// Hardware parameters of each of them.
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

    /// Statistics of a GPU so far.
    ///
    /// # Panics
    ///
    /// When there is no such GPU.
    pub fn stats(&self, gpu: GpuId) -> GpuStats {
        self.devices[gpu.0 as usize].stats()
    }
}
