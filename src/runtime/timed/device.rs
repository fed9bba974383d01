//! GPUs of a timed run: operations that libraries and programs ask for, and their ends.
//!
//! ```text
//!   core ─ asks ─▶ stream ─▶ launch latency ─▶ GPU, bus ─▶ bytes move, completion ─▶ poll
//! ```
//!
//! The core is busy for the call, and the latency of the operation counts from its begin. A poll
//! meets the end of an operation like a completion of the HCA; asking the driver costs no more.

use std::sync::Arc;

use super::slab::Slab;
use super::{Arrived, FabricSchedule, Happening, Lends, Machine, Phase, Program, Timed};
use crate::device::operations::Operations;
use crate::untimed::Choice;
use engine::{SourceId, Tag};
use hardware::cluster::Cluster;
use hardware::core::Place;
use hardware::gpu::{Agenda, Done, GpuEvent, GpuId, Gpus, Stream};
use hardware::profile::Profile;
use protocols::contract::{Lane, Process, ProtocolError, Token};
use protocols::device::DeviceWork;
use units::{Time, TimeDelta};

/// The source of events of GPUs: after those of all threads.
const GPU: u32 = u32::MAX;

/// All GPUs of a job.
#[derive(Debug)]
pub(super) struct Devices {
    gpus: Gpus,
    operations: Operations,
    /// The GPU of each process.
    of: Vec<GpuId>,
    asked: Slab<Asked>,
    done: Vec<Done>,
}

/// An operation that was asked for.
#[derive(Debug)]
struct Asked {
    process: Process,
    lane: Lane,
    stream: u16,
    work: Arc<DeviceWork>,
    /// What its end is told by; `None`: it is not.
    token: Option<Token>,
}

impl Devices {
    /// The GPUs of a machine that has some; processes of a node have them in turns.
    pub(super) fn new(
        profile: &Profile,
        cluster: &Cluster,
        homes: &[Place],
        first_connection: u32,
    ) -> Option<Self> {
        let gpus = cluster.gpus(profile, first_connection)?;
        let per_node = hardware::gpu::Shape::per_node(profile);
        let mut before: Vec<u32> = Vec::new();
        let of = homes.iter().map(|home| {
            let node = home.node as usize;
            before.resize(before.len().max(node + 1), 0);
            let index = before[node] % per_node;
            before[node] += 1;
            gpus.of_node(home.node, index)
        });
        let of = of.collect();
        let (operations, asked, done) = (Operations::default(), Slab::default(), Vec::new());
        Some(Self { gpus, operations, of, asked, done })
    }

    /// Operations that have not ended.
    pub(super) fn under_way(&self) -> usize {
        self.asked.len()
    }

    /// How many connections of the fabric they use.
    pub(super) fn connections(&self) -> u32 {
        self.gpus.connections()
    }
}

impl Agenda for FabricSchedule<'_> {
    fn gpu(&mut self, time: Time, event: GpuEvent) {
        let tag = Tag { resource: GPU, phase: Phase::Device as u8 };
        self.0.schedule(time, SourceId(GPU), tag, Happening::Gpu(event));
    }
}

impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// The core of `thread` asks its process's GPU for an operation at `cursor`: what the call takes.
    pub(super) fn ask_device(
        &mut self,
        thread: u32,
        (stream, work): (u16, Arc<DeviceWork>),
        token: Option<Token>,
        cursor: Time,
    ) -> TimeDelta {
        let (process, inner) = self.names(thread);
        let lane = self.machines[process.0 as usize].polls(inner).first;
        let Some(devices) = &mut self.devices else {
            let error = ProtocolError::refused("driver of the GPU", "the node has none", work);
            self.fail(process, error);
            return TimeDelta::ZERO;
        };
        let asked = devices.asked.insert(|| Asked { process, lane, stream, work, token });
        let overhead = devices.gpus.shape().call_overhead;
        self.note(|trail| trail.asks(asked, thread));
        self.schedule(cursor, thread, Phase::Device, Happening::Ask(asked));
        overhead
    }

    /// The program of `thread` asks for an operation at `at`, and goes on after the call.
    pub(super) fn offload(&mut self, thread: u32, asks: (u16, Arc<DeviceWork>), at: Time) {
        let call = self.ask_device(thread, asks, None, at);
        self.outside(thread, call, at);
    }

    /// An operation joins its stream.
    pub(super) fn asked(&mut self, id: u32) {
        let now = self.simulation.now();
        let Devices { gpus, operations, of, asked, .. } =
            self.devices.as_mut().expect("only a GPU is asked");
        let Asked { process, stream, work, .. } = asked.get(id);
        let operation = operations.of(gpus.shape(), work);
        // The streams of a process are its own.
        let stream = Stream(process.0 << 16 | u32::from(*stream));
        let (gpu, schedule) = (of[process.0 as usize], &mut FabricSchedule(&mut self.simulation));
        gpus.submit(now, gpu, stream, operation, u64::from(id), schedule);
    }

    /// The latency of an operation is over.
    pub(super) fn gpu_event(&mut self, event: GpuEvent) {
        let now = self.simulation.now();
        let devices = self.devices.as_mut().expect("only a GPU has such events");
        let schedule = &mut FabricSchedule(&mut self.simulation);
        devices.gpus.handle(now, event, &mut self.cluster.fabric, schedule);
    }

    /// The fabric has delivered something of a GPU: operations may end with it.
    pub(super) fn gpu_delivered(&mut self, token: u64) {
        let now = self.simulation.now();
        let devices = self.devices.as_mut().expect("only a GPU has such tokens");
        let schedule = &mut FabricSchedule(&mut self.simulation);
        let (fabric, done) = (&mut self.cluster.fabric, &mut devices.done);
        devices.gpus.delivered(now, token, fabric, schedule, done);
        for Done { token, .. } in std::mem::take(done) {
            let id = u32::try_from(token).expect("the number of an operation");
            self.device_done(id);
        }
    }

    /// An operation has ended: its bytes have moved, and its process can be told.
    fn device_done(&mut self, id: u32) {
        let devices = self.devices.as_mut().expect("only a GPU ends operations");
        let Asked { process, lane, work, token, .. } = devices.asked.remove(id);
        let Some(token) = token else { return };
        let (thread, now) = (self.first_thread[process.0 as usize], self.simulation.now());
        self.note(|trail| trail.device_ends(id, thread, now));
        self.record(|| Choice::Move { process, token });
        self.memories.work(process, &work);
        self.record(|| Choice::Finish { process, token });
        self.deliver(process, lane, Arrived::Device(token));
    }
}
