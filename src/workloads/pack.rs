//! The workloads `pack` and `pack_beside`: what a scenario says of a packing, and what is measured of it.

use std::sync::Arc;

use super::job::AnyProgram;
use super::kind::{Kind, Processes, Reading, Workload};
use super::metric::{BANDWIDTH, Measured, MetricSpec, TIME, to_f64};
use super::packing::{Beside, Contexts, OTHER, Order, Other, PACK, Packing};
use super::ranks::Ranks;
use calls::packing::{DeviceCall, Layout, Method, Task};
use form::codes;
use form::fields::{LONG, SIZE, bytes, time};
use form::json::Node;
use form::machine::Machine;
use form::shape::{Field, Shape as FieldShape, joined, path};
use form::typed::{Object as _, default, optional, required};
use form::workload_field;
use hardware::fabric::{Boundary, Kind as ResourceKind};
use hardware::gpu::{Block, Shape};
use language::datatypes::{self, DATATYPE};
use runtime::device::{self, marks_of};
use runtime::loggops::schedule::Schedule;
use runtime::timed::{Outcome, Used};
use units::{Bytes, Dimension, TimeDelta};

/// Most primitives of a packing.
/// Limit: a thread for each.
const MOST_PRIMITIVES: u64 = 1 << 32;
/// Bytes of data that may really be packed.
/// Limit: they are held in memory.
const MOST_REAL: u64 = 1 << 32;

static METHOD: FieldShape = FieldShape::Word(&[
    ("kernel", "a kernel for all types writes to the host"),
    ("kernel_staged", "it writes to device memory, and one copy follows"),
    ("hand_coded", "a kernel for this type writes to the host"),
    ("memcpy2d", "copies by equal rows at equal distances"),
    ("memcpy3d", "copies by boxes of such rows"),
    ("blockwise", "a copy for each contiguous block"),
    ("per_field", "a copy by rows for each member of a struct"),
    ("device_vector", "rows inside the device, then one copy"),
    ("points", "a copy for each primitive"),
    ("whole_extent", "one copy of all that the data lie in, and a core picks them out"),
    ("automatic", "the one of these that a rule expects to be the fastest"),
    ("cpu", "a core packs data that lie in host memory"),
]);

form::words! {
    /// Which way data are packed.
    pub enum Way {
        /// out of the layout
        Pack = "pack",
        /// into the layout
        Unpack = "unpack",
    }
}

form::object! {
    /// Noncontiguous data in GPU memory are packed into pinned memory of the host, or unpacked from it.
    pub struct PackingForm {
        /// What is packed.
        datatype: Node = required(&DATATYPE, EXAMPLE),
        /// Elements of the datatype.
        count: u64 = default(&FieldShape::Count { min: 1, max: 1 << 40 }, "1"),
        /// Bytes of device memory that the data lie in, from the lowest that the datatype touches on;
        /// without it as many as it needs.
        buffer: Option<Bytes> = optional(&bytes(1, 1 << 60)),
        /// How it is packed.
        method: String = required(&METHOD, "\"kernel\""),
        /// The method for a datatype that `method` cannot pack; without it such a datatype is an error.
        fallback: Option<String> = optional(&METHOD),
        /// Which way.
        task: Way = default(&Way::SHAPE, "pack"),
        /// Threads of a block of the packing kernel.
        threads_per_block: u32 = default(&FieldShape::Count { min: 1, max: 1_024 }, "256"),
    }
}

const EXAMPLE: &str = r#"{ "kind": "vector", "count": 1024, "blocklength": 1, "stride": 64, "child": { "kind": "named", "name": "double" } }"#;

form::words! {
    /// The kinds of other work of the GPU.
    pub enum OtherKind {
        /// a kernel on all SMs, as long as `time` says
        Kernel = "kernel",
        /// the same, and it stores `size` bytes into host memory
        WritingKernel = "writing_kernel",
        /// a copy of `size` bytes into device memory
        ToDevice = "to_device",
        /// a copy of `size` bytes out of device memory
        ToHost = "to_host",
        /// the same packing, by a core of another process
        Packing = "packing",
        /// both copies at once, of `size` bytes each
        Exchange = "exchange",
    }
}

form::object! {
    /// As `pack`, while the GPU does something else.
    pub struct BesideForm {
        /// What else the GPU does, in another stream.
        what: OtherKind = required(&OtherKind::SHAPE, "\"kernel\""),
        /// Who is asked for first.
        order: Order = required(&Order::SHAPE, "\"serial\""),
        /// Whether two processes that pack share a context on the GPU.
        contexts: Contexts = default(&Contexts::SHAPE, "own"),
        /// How long the other kernel computes.
        time: Option<TimeDelta> = optional(&time(1, LONG)),
        /// Bytes of the other copy, or stores; without it as many as are packed.
        size: Option<Bytes> = optional(&SIZE),
    }
}

const PACK_TIME: MetricSpec =
    MetricSpec::time("pack_time").titled("Time from asking for the packing to its end");
const OTHER_TIME: MetricSpec =
    MetricSpec::time("other_time").titled("Time from asking for the other operation to its end");
const BUS_BYTES: MetricSpec = MetricSpec::new("bus_bytes", Dimension::Bytes, "B", 1)
    .titled("Bytes over the bus, headers included");

/// A packing that has the GPU to itself.
pub static ALONE: Kind = Kind {
    name: "pack",
    fields: PackingForm::FIELDS,
    about: PackingForm::ABOUT,
    metrics: &[PACK_TIME, BANDWIDTH, BUS_BYTES, TIME],
    account: &[],
    processes: "workload",
    read: |reading| read(reading, None),
};

static BESIDE_FIELDS: [Field; PackingForm::FIELDS.len() + BesideForm::FIELDS.len()] =
    joined(PackingForm::FIELDS, BesideForm::FIELDS);

/// A packing beside something else.
pub static BESIDE: Kind = Kind {
    name: "pack_beside",
    fields: &BESIDE_FIELDS,
    about: BesideForm::ABOUT,
    metrics: &[PACK_TIME, OTHER_TIME, TIME],
    read: |reading| read(reading, Some(&BesideForm::read(reading.node))),
    ..ALONE
};

fn read(reading: &mut Reading<'_>, beside: Option<&BesideForm>) -> Option<Arc<dyn Workload>> {
    let form = PackingForm::read(reading.node);
    let layout = form.layout(reading)?;
    let packed = layout.encoding.packed();
    let beside = beside.and_then(|beside| beside.resolved(reading, packed));
    let task = form.task();
    let primitives = layout.encoding.primitives();
    if primitives > MOST_PRIMITIVES {
        let found = format!("{primitives} primitives are packed");
        let allowed = format!("at most {MOST_PRIMITIVES} can be, a thread for each");
        let path = workload_field!(PackingForm, count);
        let one = reading.error(&codes::PRODUCT, path, found, allowed);
        reading.diagnostics.push(one);
        return None;
    }
    if packed == 0 {
        let path = workload_field!(PackingForm, datatype);
        reading.refuse(path, "the datatype has no data", "some are needed");
        return None;
    }
    let mut method = form.method(reading, &layout, task)?;
    // What the automatic choice stands for depends on the machine; without a GPU there is none.
    if let Some(prices) = reading.machine.and_then(|machine| device::prices(&machine.profile)) {
        method = method.chosen(&layout, task, &prices);
    }
    let threads_per_block = form.threads_per_block;
    Some(Arc::new(Packing { layout, method, task, threads_per_block, beside }))
}

impl PackingForm {
    const fn task(&self) -> Task {
        match self.task {
            Way::Pack => Task::Pack,
            Way::Unpack => Task::Unpack,
        }
    }

    /// The layout to be packed, where its buffer holds it.
    fn layout(&self, reading: &mut Reading<'_>) -> Option<Layout> {
        let path = workload_field!(Self, datatype);
        let datatype = datatypes::decode(reading.diagnostics, &self.datatype, path)?;
        let mut refuse = |error: String, allowed| {
            let one = reading.error(&codes::DATATYPE, path, error, allowed);
            reading.diagnostics.push(one);
        };
        let layout = match Layout::new(datatype, self.count) {
            Ok(layout) => layout,
            Err(error) => {
                let allowed = "sizes of 64 bits, and an encoding that fits a GPU, are needed";
                refuse(error.to_string(), allowed);
                return None;
            }
        };
        let receivable = layout.datatype.receivable(self.count);
        if let (Task::Unpack, Err(error)) = (self.task(), receivable) {
            refuse(error.to_string(), "each byte may be unpacked into once");
            return None;
        }
        let (low, high) = layout.encoding.span();
        let needed = high.abs_diff(low);
        if let Some(buffer) = self.buffer.filter(|buffer| needed > buffer.as_u64()) {
            let found = format!("a buffer of {} B", buffer.as_u64());
            let allowed =
                format!("the elements of the datatype lie in {needed} B, from {low} to {high}");
            reading.refuse(workload_field!(Self, buffer), found, allowed);
            return None;
        }
        Some(layout)
    }

    /// The method that packs the layout: the one that is requested, or its fallback.
    fn method(&self, reading: &mut Reading<'_>, layout: &Layout, task: Task) -> Option<Method> {
        let fallback = self.fallback.as_deref().map(super::gpu::method);
        match super::gpu::method(&self.method).or(fallback, layout, task) {
            Ok(method) => Some(method),
            Err(refusal) => {
                let path = if fallback.is_some() {
                    workload_field!(Self, fallback)
                } else {
                    workload_field!(Self, method)
                };
                let allowed = "another method can: `kernel` packs every type";
                reading.refuse(path, refusal.to_string(), allowed);
                None
            }
        }
    }
}

impl BesideForm {
    /// The other work of the GPU; `packed` bytes where the scenario gives no size.
    fn resolved(&self, reading: &mut Reading<'_>, packed: u64) -> Option<Beside> {
        let bytes = self.size.map_or(packed, Bytes::as_u64);
        let what = match (self.what, self.time) {
            (OtherKind::ToDevice, _) => Other::ToDevice(bytes),
            (OtherKind::ToHost, _) => Other::ToHost(bytes),
            (OtherKind::Exchange, _) => Other::Exchange(bytes),
            (OtherKind::Packing, _) => Other::Packing(self.contexts),
            (OtherKind::Kernel, Some(time)) => Other::Kernel(time),
            (OtherKind::WritingKernel, Some(time)) => Other::Writing(time, bytes),
            (OtherKind::Kernel | OtherKind::WritingKernel, None) => {
                let allowed = "`workload.time` says how long it takes alone";
                let path = workload_field!(Self, what);
                reading.refuse(path, "a kernel without its time", allowed);
                return None;
            }
        };
        Some(Beside { what, order: self.order })
    }
}

/// Sections of a scenario that are about processes and their messages.
const OF_PROCESSES: [&str; 3] = ["ranks", "topology", "noise"];

/// Refuses a key that is there and has no effect.
fn unused(reading: &mut Reading<'_>, path: &str, allowed: &str) {
    if path::at(reading.tree, path).is_some() {
        reading.refuse(path, "a packing does not use it", allowed);
    }
}

impl Packing {
    /// Refuses whatever is written and has no effect: one core and one GPU of one node pack, no message
    /// is sent, and nothing is left to chance.
    fn check_keys(&self, reading: &mut Reading<'_>) {
        for section in OF_PROCESSES {
            unused(reading, section, "one core of one node packs, undisturbed: leave it out");
        }
        let tree = reading.tree;
        if tree.small("nodes").is_some_and(|nodes| nodes != 1) {
            unused(reading, "nodes", "1, or nothing: one core of one node packs");
        }
        if tree.flag("account") == Some(true) {
            unused(reading, "account", "false, or nothing: no message has an account");
        }
        let mpi = tree.get("mpi").and_then(Node::members).unwrap_or_default();
        for member in mpi.iter().filter(|member| !matches!(&*member.key, "payload" | "note")) {
            let path = format!("mpi.{}", member.key);
            unused(reading, &path, "only `mpi.payload`: no message is sent");
        }
        // Where a field is swept, some points need the keys that go with it and others do not.
        if !reading.is_swept(workload_field!(BesideForm, what)) {
            self.check_beside(reading);
        }
        let threads = workload_field!(PackingForm, threads_per_block);
        if !reading.is_swept(workload_field!(PackingForm, method)) && !self.launches() {
            unused(reading, threads, "it is of a kernel: the method launches none");
        }
    }

    /// Refuses numbers that the other user of the GPU has no use for.
    fn check_beside(&self, reading: &mut Reading<'_>) {
        let Some(Beside { what, .. }) = self.beside else { return };
        let (time, size, contexts) = match what {
            Other::Kernel(_) => (true, false, false),
            Other::Writing(..) => (true, true, false),
            Other::ToDevice(_) | Other::ToHost(_) | Other::Exchange(_) => (false, true, false),
            Other::Packing(_) => (false, false, true),
        };
        for (used, path, allowed) in [
            (
                time,
                workload_field!(BesideForm, time),
                "it is of a kernel: `workload.what` may be `kernel`",
            ),
            (
                size,
                workload_field!(BesideForm, size),
                "it is of a copy or of stores: `workload.what` may be one",
            ),
            (
                contexts,
                workload_field!(BesideForm, contexts),
                "it is of two processes: `workload.what` may be `packing`",
            ),
        ] {
            if !used {
                unused(reading, path, allowed);
            }
        }
    }

    /// The calls of the driver.
    fn driver_calls(&self) -> Vec<DeviceCall> {
        self.method.calls(&self.layout, self.task).unwrap_or_default()
    }

    /// Whether a kernel is launched.
    fn launches(&self) -> bool {
        self.driver_calls().iter().any(|call| matches!(call, DeviceCall::Kernel { .. }))
    }

    /// Whether a GPU has part in it: a core packs by itself what lies in host memory.
    fn asks_a_gpu(&self) -> bool {
        let by_core = |call: &DeviceCall| matches!(call, DeviceCall::Host { .. });
        let is_unchosen = self.method == Method::Automatic;
        self.beside.is_some() || is_unchosen || !self.driver_calls().iter().all(by_core)
    }

    /// Refuses a block that no SM of the machine holds.
    fn check_block(&self, reading: &mut Reading<'_>, machine: &Machine, shape: &Shape) {
        let threads = self.threads_per_block;
        let shared = self.layout.encoding.fixed_bytes();
        let registers = shape.instructions.registers;
        let block = |threads, shared| Block { threads, registers, shared };
        if shape.resident(block(threads, 0)) == 0 {
            let most = shape.threads_per_sm;
            let allowed = format!("an SM of `{}` holds at most {most} of them", machine.name);
            let path = workload_field!(PackingForm, threads_per_block);
            reading.refuse(path, format!("a block of {threads} threads"), allowed);
        } else if shape.resident(block(threads, shared)) == 0 {
            let most = shape.shared_per_sm;
            let found = format!("the encoding of the datatype has {shared} B");
            let allowed = format!("an SM of `{}` has {most} B of shared memory", machine.name);
            reading.refuse(workload_field!(PackingForm, datatype), found, allowed);
        }
    }
}

impl Workload for Packing {
    fn kind(&self) -> &'static Kind {
        if self.beside.is_some() { &BESIDE } else { &ALONE }
    }

    fn processes(&self, _: &mut Reading<'_>) -> Option<Processes> {
        Some(Processes::new(1, 1))
    }

    fn has_progress_threads(&self) -> bool {
        false
    }

    fn check_machine(&self, reading: &mut Reading<'_>, machine: &Machine, real: bool) {
        self.check_keys(reading);
        let (low, high) = self.layout.encoding.span();
        if real && high.abs_diff(low) > MOST_REAL {
            let found = format!("{} bytes really move", high.abs_diff(low));
            let allowed = "at most 4 GiB of data can be held; `mpi.payload` may be `phantom`";
            let path = workload_field!(PackingForm, datatype);
            let one = reading.error(&codes::PRODUCT, path, found, allowed);
            reading.diagnostics.push(one);
        }
        if !self.asks_a_gpu() {
            return;
        }
        let Some(shape) = Shape::of(&machine.profile) else {
            let found = format!("the machine `{}` has no GPU", machine.name);
            let allowed = "its model must have a section `gpu`, such as `arc-c2050-qdr` has; a core packs \
                           without one where `workload.method` is `cpu`";
            let one = reading.error(&codes::MODEL_INCOMPLETE, "machine", found, allowed);
            let one = one.related(reading.node.span, "the workload packs in GPU memory");
            reading.diagnostics.push(one);
            return;
        };
        self.check_block(reading, machine, &shape);
    }

    /// A packing is no job of processes.
    fn programs(&self, _: &Ranks) -> Vec<AnyProgram> {
        Vec::new()
    }

    fn packing(&self) -> Option<&Packing> {
        Some(self)
    }

    fn schedule(&self) -> Result<Option<Schedule>, String> {
        Err("it packs bytes, and has no messages".to_owned())
    }

    fn measure(&self, run: &mut Measured<'_>) {
        let took = part_time(run.outcome, PACK).unwrap_or_default();
        run.add(PACK_TIME, took.as_us_f64());
        if self.beside.is_some() {
            let other = part_time(run.outcome, OTHER).unwrap_or_default();
            run.add(OTHER_TIME, other.as_us_f64());
            return;
        }
        let bytes = to_f64(self.layout.encoding.packed());
        run.add(BANDWIDTH, bytes / took.as_s_f64() / 1e6);
        if run.profile.gpu.sm_count.is_some() {
            run.add(BUS_BYTES, to_f64(over_the_bus(run.outcome)));
        }
    }
}

/// From asking for a part of a packing to its end.
fn part_time(outcome: &Outcome, part: u32) -> Option<TimeDelta> {
    let at = |number| outcome.marks.iter().find(|mark| mark.number == number).map(|mark| mark.at);
    let [start, end] = marks_of(part).map(at);
    Some(end?.since(start?))
}

/// Bytes over both directions of the buses of GPUs, headers included.
fn over_the_bus(outcome: &Outcome) -> u64 {
    let is_bus = |used: &&Used| used.kind == ResourceKind::Boundary(Boundary::GpuBus);
    outcome.resources.iter().filter(is_bus).map(|used| used.stats.raw_bytes).sum()
}
