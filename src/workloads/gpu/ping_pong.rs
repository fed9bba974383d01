//! A ping-pong between the GPUs of two nodes.
//!
//! ```text
//!   rank 0   send A ─────────────────▶ rank 1   receive into B
//!            receive into B ◀──────────         send B
//! ```

use std::sync::Arc;

use super::{Needs, PACKED_BY, broken, check_machine, method, packed, pattern, unpacked};
use crate::assumption::Assumption;
use crate::fields::ROUND_COUNT;
use crate::job::AnyProgram;
use crate::kind::{Kind, Processes, Reading, Workload};
use crate::metric::{BANDWIDTH, LATENCY, Measured, TIME};
use crate::ranks::Ranks;
use crate::score::{Score, Section};
use calls::packing::Layout;
use form::codes;
use form::fields::{SIZE, bytes};
use form::json::Node;
use form::machine::Machine;
use form::shape::Shape;
use form::typed::{Object as _, default, optional, required};
use form::workload_field;
use language::datatypes::{self, DATATYPE};
use language::marks::{END, PARTNER_END, PARTNER_START, START};
use mpi::datatype::{Datatype, Primitive};
use mpi::envelope::Rank;
use protocols::call::{Call, Comm, Peer};
use protocols::contract::{Next, Process, Region};
use protocols::device::{DeviceBuffer, DeviceExchange};
use runtime::memory::Memories;
use runtime::monitors::Violation;
use units::Bytes;

/// Most primitives of a message.
/// Limit: a thread for each.
const MOST_PRIMITIVES: u64 = 1 << 32;
/// Most chunks of a message.
/// Limit: tags have 16 bits for the number of a chunk.
const MOST_CHUNKS: u64 = 1 << 15;

static BLOCK: Shape = bytes(8, 1 << 30);

form::object! {
    /// Two nodes send data in the memory of their GPUs to and fro: both pack and unpack.
    pub struct GpuPingPongForm {
        /// Packed bytes of a vector of doubles; `datatype` may say instead.
        size: Option<Bytes> = optional(&SIZE),
        /// Contiguous bytes of that vector.
        block: Bytes = default(&BLOCK, "8 B"),
        /// From one of its blocks to the next.
        stride: Bytes = default(&BLOCK, "512 B"),
        /// What is sent, where it is no such vector.
        datatype: Option<Node> = optional(&DATATYPE),
        /// Elements of the datatype.
        count: u64 = default(&Shape::Count { min: 1, max: 1 << 40 }, "1"),
        method: String = PACKED_BY,
        /// Threads of a block of the packing kernel.
        threads_per_block: u32 = default(&Shape::Count { min: 1, max: 1_024 }, "256"),
        /// Packed bytes that travel while the next are packed, by kernels that write to the host; without it a message is packed whole.
        chunk: Option<Bytes> = optional(&bytes(8, 1 << 40)),
        /// Kernels for chunks that are under way at once.
        ahead: u64 = default(&Shape::Count { min: 1, max: 32_768 }, "2"),
        /// Measured rounds.
        rounds: u32 = required(&ROUND_COUNT, "20"),
        /// Rounds before the measured ones.
        warmup: u32 = default(&Shape::Count { min: 0, max: 1_000_000 }, "2"),
    }
}

/// A ping-pong between two GPUs.
pub static KIND: Kind = Kind {
    name: "gpu_ping_pong",
    fields: GpuPingPongForm::FIELDS,
    about: GpuPingPongForm::ABOUT,
    metrics: &[LATENCY, BANDWIDTH, TIME],
    account: &[],
    processes: "workload",
    read: |reading| {
        let form = GpuPingPongForm::read(reading.node);
        form.resolved(reading).map(|one| Arc::new(one) as Arc<dyn Workload>)
    },
};

impl GpuPingPongForm {
    fn resolved(&self, reading: &mut Reading<'_>) -> Option<GpuPingPong> {
        let layout = self.layout(reading)?;
        let method = method(&self.method);
        let buffer = |id| DeviceBuffer::new(id, layout.clone(), method);
        let (sent, received) = match (buffer(0), buffer(1)) {
            (Ok(sent), Ok(received)) => (sent, received),
            (Err(refusal), _) | (_, Err(refusal)) => {
                let path = workload_field!(Self, method);
                let allowed = "another method can: `kernel` packs every type";
                reading.refuse(path, refusal.to_string(), allowed);
                return None;
            }
        };
        let chunk = self.chunk.map(Bytes::as_u64);
        let with = |buffer: DeviceBuffer| {
            let buffer = buffer.with_blocks(self.threads_per_block).with_ahead(self.ahead);
            Arc::new(if let Some(chunk) = chunk { buffer.in_chunks(chunk) } else { buffer })
        };
        let (sent, received) = (with(sent), with(received));
        let path = workload_field!(Self, chunk);
        if sent.chunks() > MOST_CHUNKS {
            let found = format!("a message of {} B has {} chunks", sent.bytes(), sent.chunks());
            let one = reading.error(&codes::PRODUCT, path, found, "at most 32768 can be counted");
            reading.diagnostics.push(one);
            return None;
        }
        if chunk.is_some() && !method.packs_parts() {
            let found = format!("`{}` packs a message whole", method.name());
            reading.refuse(path, found, "`kernel` and `hand_coded` pack chunks of it");
            return None;
        }
        Some(GpuPingPong { sent, received, warm_up: self.warmup, rounds: self.rounds })
    }

    /// The vector of doubles, or the datatype, that is sent.
    fn layout(&self, reading: &mut Reading<'_>) -> Option<Layout> {
        let [of_size, of_datatype] = [workload_field!(Self, size), workload_field!(Self, datatype)];
        let (datatype, path) = match (&self.datatype, self.size) {
            (Some(tree), None) => {
                (datatypes::decode(reading.diagnostics, tree, of_datatype)?, of_datatype)
            }
            (None, Some(size)) => (self.vector(reading, size.as_u64())?, of_size),
            (Some(_), Some(_)) | (None, None) => {
                let found = "what is sent is said twice, or not at all";
                reading.refuse(of_size, found, "either `size` or `datatype` must be given");
                return None;
            }
        };
        let mut refuse = |code, found, allowed: &str| {
            let one = reading.error(code, path, found, allowed);
            reading.diagnostics.push(one);
        };
        let layout = match Layout::new(datatype, self.count) {
            Ok(layout) => layout,
            Err(error) => {
                let allowed = "sizes of 64 bits, and an encoding that fits a GPU, are needed";
                refuse(&codes::DATATYPE, error.to_string(), allowed);
                return None;
            }
        };
        if let Err(error) = layout.datatype.receivable(self.count) {
            let allowed = "each byte may be received into once";
            refuse(&codes::DATATYPE, error.to_string(), allowed);
            return None;
        }
        let primitives = layout.encoding.primitives();
        if primitives == 0 || primitives > MOST_PRIMITIVES {
            let found = format!("{primitives} primitives are packed");
            let allowed = format!("1 to {MOST_PRIMITIVES} can be, a thread for each");
            refuse(&codes::PRODUCT, found, &allowed);
            return None;
        }
        Some(layout)
    }

    /// Blocks of doubles at equal distances.
    fn vector(&self, reading: &mut Reading<'_>, size: u64) -> Option<Datatype> {
        let (block, stride) = (self.block.as_u64(), self.stride.as_u64());
        let [of_size, of_block, of_stride] = [
            workload_field!(Self, size),
            workload_field!(Self, block),
            workload_field!(Self, stride),
        ];
        let whole = |path, bytes: u64, of: u64| {
            (!bytes.is_multiple_of(of))
                .then(|| (path, format!("{bytes} B are no multiple of {of} B")))
        };
        let wrong = whole(of_block, block, 8)
            .or_else(|| whole(of_stride, stride, 8))
            .or_else(|| whole(of_size, size, block))
            .or_else(|| {
                (stride < block).then(|| (of_stride, format!("blocks of {block} B overlap")))
            });
        if let Some((path, found)) = wrong {
            reading.refuse(
                path,
                found,
                "blocks are whole doubles, lie apart, and make up the size",
            );
            return None;
        }
        let signed = |number: u64| i64::try_from(number).expect("the shape limits it");
        let [count, blocklength, stride] = [size / block, block / 8, stride / 8].map(signed);
        let double = Datatype::named(Primitive::Double);
        match Datatype::vector(count, blocklength, stride, &double) {
            Ok(vector) => Some(vector),
            Err(error) => {
                let allowed = "sizes of 64 bits are needed";
                let one = reading.error(&codes::DATATYPE, of_size, error.to_string(), allowed);
                reading.diagnostics.push(one);
                None
            }
        }
    }
}

/// One message between the GPUs of two nodes, to and fro.
#[derive(Clone, Debug)]
pub struct GpuPingPong {
    /// The buffer that rank 0 sends.
    pub sent: Arc<DeviceBuffer>,
    /// The buffer that both receive into, and rank 1 sends back; of the same signature.
    pub received: Arc<DeviceBuffer>,
    /// Rounds before the timed ones.
    pub warm_up: u32,
    /// Timed rounds.
    pub rounds: u32,
}

impl GpuPingPong {
    /// The programs of the two ranks.
    pub fn programs(&self) -> Vec<Score> {
        let peer = |me: u32| Peer::Rank(Rank(1 - me));
        let comm = Comm::default();
        let call = |call| Next::Call(Call::Device(Arc::new(call)));
        let send = |me, buffer: &Arc<DeviceBuffer>| {
            call(DeviceExchange::send(peer(me), 0, comm, Arc::clone(buffer)))
        };
        let receive = |me| {
            let buffer = Arc::clone(&self.received);
            call(DeviceExchange::receive(peer(me), Some(0), comm, buffer))
        };
        let rounds = [
            (vec![send(0, &self.sent), receive(0)], START, END),
            (vec![receive(1), send(1, &self.received)], PARTNER_START, PARTNER_END),
        ];
        // The clock of rank 0 measures.
        let program = |(round, start, end): (Vec<Next<Call>>, u32, u32)| {
            let barrier = Next::Call(Call::Barrier { comm });
            let before = [
                Section::once([barrier]),
                Section::repeated(round.clone(), self.warm_up),
                Section::once([Next::Mark(start)]),
            ];
            let measured = Section::measured(round, self.rounds);
            Score::new(before.into_iter().chain(measured).chain([Section::once([Next::Mark(end)])]))
        };
        rounds.map(program).into()
    }

    /// The bytes of a buffer before the run.
    fn initial(process: u32, buffer: &DeviceBuffer) -> Vec<u8> {
        let length = usize::try_from(buffer.data().len).expect("data fit the memory");
        pattern(length, u64::from(process * 2 + buffer.id + 1))
    }

    fn initial_contents(&self) -> Vec<(Process, Region, Vec<u8>)> {
        let own = [(0, &self.sent), (0, &self.received), (1, &self.received)];
        let of = |(process, buffer): (u32, &Arc<DeviceBuffer>)| {
            (Process(process), buffer.data(), Self::initial(process, buffer))
        };
        own.map(of).into()
    }

    fn expected(&self) -> Vec<(Process, Region, Vec<u8>)> {
        let packed = packed(&self.sent, &Self::initial(0, &self.sent));
        let of = |process| {
            let mut data = Self::initial(process, &self.received);
            unpacked(&self.received, &packed, &mut data);
            (Process(process), self.received.data(), data)
        };
        vec![of(0), of(1)]
    }
}

impl Workload for GpuPingPong {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn processes(&self, _: &mut Reading<'_>) -> Option<Processes> {
        Some(Processes::new(2, 1))
    }

    fn has_progress_threads(&self) -> bool {
        false
    }

    fn check_machine(&self, reading: &mut Reading<'_>, machine: &Machine, real: bool) {
        let needs = Needs {
            processes: 2,
            buffer: &self.sent,
            block: None,
            blocks: workload_field!(GpuPingPongForm, threads_per_block),
            memory: (2 * self.sent.data().len, workload_field!(GpuPingPongForm, size)),
        };
        check_machine(reading, machine, real, &needs);
    }

    /// How many kernels pack chunks of a message at once.
    fn assumptions(&self) -> Vec<Assumption> {
        if !self.sent.is_packed_in_parts() {
            return Vec::new();
        }
        let why =
            "one runs while the next is launched; more where a kernel is shorter than a launch";
        let ahead = self.sent.ahead.to_string();
        let path = workload_field!(GpuPingPongForm, ahead);
        vec![Assumption::estimate(path, ahead, ("1", "8"), why)]
    }

    fn programs(&self, _: &Ranks) -> Vec<AnyProgram> {
        self.programs().into_iter().map(AnyProgram::Score).collect()
    }

    fn contents(&self) -> Vec<(Process, Region, Vec<u8>)> {
        self.initial_contents()
    }

    fn broken(&self, memories: &Memories) -> Vec<Violation> {
        broken(&self.expected(), memories)
    }

    fn messages(&self, _: &Ranks) -> u64 {
        2 * u64::from(self.rounds)
    }

    fn measure(&self, run: &mut Measured<'_>) {
        run.ping_pong(self.sent.bytes(), u64::from(self.rounds));
    }
}
