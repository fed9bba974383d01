//! The GPUs of a job: operations that libraries and programs ask for, and their ends.
//!
//! ```text
//!   core ─ asks ─▶ stream ─▶ launch latency ─▶ GPU, bus ─▶ bytes move, completion ─▶ poll
//! ```
//!
//! The core is busy for the call, and the latency of the operation counts from its begin. A poll
//! meets the end of an operation like a completion of the HCA; asking the driver costs no more.

use std::sync::Arc;

use super::context::Context;
use super::event::{Event, Phase};
use super::network::flight::{Arrival, Arrived};
use super::slab::Slab;
use crate::device::operations::Operations;
use crate::memory::Memories;
use crate::untimed::Choice;
use hardware::cluster::Cluster;
use hardware::core::Place;
use hardware::fabric::Fabric;
use hardware::gpu::{Done, GpuEvent, GpuId, Gpus as Hardware, Shape, Stream};
use hardware::profile::Profile;
use protocols::contract::{Lane, Process, Token};
use protocols::device::DeviceWork;
use units::{Time, TimeDelta};

/// All GPUs of a job.
#[derive(Debug)]
pub(super) struct Gpus {
    hardware: Hardware,
    operations: Operations,
    /// The GPU of each process.
    of: Vec<GpuId>,
    requests: Slab<Request>,
    done: Vec<Done>,
}

/// An operation that a process asks its GPU for.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) process: Process,
    /// The lane that polls its end.
    pub(super) lane: Lane,
    pub(super) stream: u16,
    pub(super) work: Arc<DeviceWork>,
    /// Token that reports its end; `None`: it is not reported.
    pub(super) token: Option<Token>,
}

impl Gpus {
    /// The GPUs of a machine that has some; processes of a node have them in turns.
    pub(super) fn new(
        profile: &Profile,
        cluster: &Cluster,
        homes: &[Place],
        first_connection: u32,
    ) -> Option<Self> {
        let hardware = cluster.gpus(profile, first_connection)?;
        let per_node = Shape::per_node(profile);
        let mut before: Vec<u32> = Vec::new();
        let of = homes.iter().map(|home| {
            let node = home.node as usize;
            before.resize(before.len().max(node + 1), 0);
            let index = before[node] % per_node;
            before[node] += 1;
            hardware.of_node(home.node, index)
        });
        let of = of.collect();
        let (operations, requests, done) = (Operations::default(), Slab::default(), Vec::new());
        Some(Self { hardware, operations, of, requests, done })
    }

    /// Operations that have not ended.
    pub(super) const fn under_way(&self) -> usize {
        self.requests.len()
    }

    /// How many connections of the fabric they use.
    pub(super) fn connections(&self) -> u32 {
        self.hardware.connections()
    }

    /// The core of `thread` asks for an operation at `cursor`: what the call takes.
    pub(super) fn ask(
        &mut self,
        thread: u32,
        request: Request,
        cursor: Time,
        cx: &mut Context,
    ) -> TimeDelta {
        let id = self.requests.insert(|| request);
        cx.observers.trace(|path| path.asks(id, thread));
        cx.schedule(cursor, thread, Phase::Device, Event::Ask(id));
        self.hardware.shape().call_overhead
    }

    /// An operation joins its stream.
    pub(super) fn submit(&mut self, id: u32, cx: &mut Context) {
        let Request { process, stream, work, .. } = self.requests.get(id);
        let operation = self.operations.of(self.hardware.shape(), work);
        // The streams of a process are its own.
        let stream = Stream(process.0 << 16 | u32::from(*stream));
        let (now, gpu) = (cx.now(), self.of[process.0 as usize]);
        let calendar = &mut cx.clock.of_devices();
        self.hardware.submit(now, gpu, stream, operation, u64::from(id), calendar);
    }

    /// The latency of an operation is over.
    pub(super) fn begin(&mut self, event: GpuEvent, fabric: &mut Fabric, cx: &mut Context) {
        let now = cx.now();
        self.hardware.handle(now, event, fabric, &mut cx.clock.of_devices());
    }

    /// The fabric has delivered something of a GPU: the operations that end with it.
    pub(super) fn delivered(
        &mut self,
        token: u64,
        fabric: &mut Fabric,
        cx: &mut Context,
    ) -> Vec<u32> {
        let now = cx.now();
        let calendar = &mut cx.clock.of_devices();
        self.hardware.delivered(now, token, fabric, calendar, &mut self.done);
        let number = |done: Done| u32::try_from(done.token).expect("the number of an operation");
        self.done.drain(..).map(number).collect()
    }

    /// An operation has ended: its bytes have moved, and its process polls that.
    pub(super) fn end(
        &mut self,
        id: u32,
        memories: &mut Memories,
        cx: &mut Context,
    ) -> Option<Arrival> {
        let Request { process, lane, work, token, .. } = self.requests.remove(id);
        let token = token?;
        let (thread, now) = (cx.layout.first_of(process), cx.now());
        cx.observers.trace(|path| path.device_ends(id, thread, now));
        cx.observers.record(|| Choice::Move { process, token });
        memories.work(process, &work);
        cx.observers.record(|| Choice::Finish { process, token });
        Some(Arrival { process, lane, entry: Arrived::Device(token) })
    }
}
