//! Messages whose buffers are in GPU memory: a ping-pong, and what both workloads have in common.
//!
//! ```text
//!   rank 0   send A ─────────────────▶ rank 1   receive into B
//!            receive into B ◀──────────         send B
//! ```
//!
//! Source: `gpu-pack` Sec. 4.3 (Fig. 6) and 5.1 (Table 3).

pub mod stencil;

use std::sync::Arc;

use self::stencil::GpuStencil;
use super::ping_pong::{END, START};
use super::score::{Score, Section};
use mpi::datatype::{pack, unpack};
use mpi::envelope::Rank;
use protocols::call::{Call, Comm, Peer};
use protocols::contract::{Next, Process, Region, Space};
use protocols::device::{DeviceBuffer, DeviceExchange};
use protocols::packing::Layout;
use runtime::memory::Memories;
use runtime::monitors::Violation;

/// A workload with buffers in GPU memory.
#[derive(Clone, Debug)]
pub enum GpuWorkload {
    /// Two ranks send one message to and fro.
    PingPong(GpuPingPong),
    /// Nine-point stencil.
    Stencil(GpuStencil),
}

impl GpuWorkload {
    /// The scenario's word for it.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::PingPong(_) => "gpu_ping_pong",
            Self::Stencil(_) => "gpu_stencil",
        }
    }

    /// Processes, one on each node.
    pub const fn processes(&self) -> u32 {
        match self {
            Self::PingPong(_) => 2,
            Self::Stencil(stencil) => stencil.processes(),
        }
    }

    /// Messages of the timed rounds.
    pub fn messages(&self) -> u64 {
        match self {
            Self::PingPong(ping_pong) => 2 * u64::from(ping_pong.rounds),
            Self::Stencil(stencil) => stencil.messages(),
        }
    }

    /// The programs of all ranks.
    pub fn programs(&self) -> Vec<Score> {
        match self {
            Self::PingPong(ping_pong) => ping_pong.programs(),
            Self::Stencil(stencil) => stencil.programs(),
        }
    }

    /// The bytes that are in GPU memory before the run.
    pub fn contents(&self) -> Vec<(Process, Region, Vec<u8>)> {
        match self {
            Self::PingPong(ping_pong) => ping_pong.contents(),
            Self::Stencil(stencil) => stencil.contents(),
        }
    }

    /// The bytes that are not as the serial reference says, after the run; none where bytes do not
    /// exist.
    pub fn broken(&self, memories: &Memories) -> Vec<Violation> {
        let expected = match self {
            Self::PingPong(ping_pong) => ping_pong.expected(),
            Self::Stencil(stencil) => stencil.expected(),
        };
        let found = expected.iter().filter_map(|(process, region, expected)| {
            differs(*process, expected, &memories.bytes(*process, *region))
        });
        found.collect()
    }
}

/// The first byte that is not as expected.
fn differs(process: Process, expected: &[u8], found: &[u8]) -> Option<Violation> {
    let at = found.iter().zip(expected).position(|(found, expected)| found != expected)?;
    Some(Violation {
        id: "D8",
        statement: "bytes delivered are bytes sent, and none beside them is touched",
        objects: vec![format!("GPU memory of process {}, byte {at}", process.0)],
        detail: format!("{} is there, {} is expected", found[at], expected[at]),
    })
}

/// Bytes that tell places apart.
fn pattern(length: usize, salt: u64) -> Vec<u8> {
    let byte =
        |at: u64| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(salt << 40) >> 56) as u8;
    (0..length as u64).map(byte).collect()
}

/// One message between the GPUs of two nodes, to and fro.
#[derive(Clone, Debug)]
pub struct GpuPingPong {
    /// What rank 0 sends.
    pub sent: Arc<DeviceBuffer>,
    /// What both receive into, and rank 1 sends back; of the same signature.
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
        let rounds =
            [vec![send(0, &self.sent), receive(0)], vec![receive(1), send(1, &self.received)]];
        let program = |round: Vec<Next<Call>>| {
            let barrier = Next::Call(Call::Barrier { comm });
            Score::new([
                Section::once([barrier]),
                Section::repeated(round.clone(), self.warm_up),
                Section::once([Next::Mark(START)]),
                Section::repeated(round, self.rounds),
                Section::once([Next::Mark(END)]),
            ])
        };
        rounds.map(program).into()
    }

    /// What is in a buffer before the run.
    fn initial(process: u32, buffer: &DeviceBuffer) -> Vec<u8> {
        let length = usize::try_from(buffer.data().len).expect("data fit the memory");
        pattern(length, u64::from(process * 2 + buffer.id + 1))
    }

    fn contents(&self) -> Vec<(Process, Region, Vec<u8>)> {
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

/// The serial reference.
fn packed(buffer: &DeviceBuffer, data: &[u8]) -> Vec<u8> {
    let Layout { datatype, count, .. } = &buffer.layout;
    let origin = usize::try_from(buffer.origin()).expect("it is in the data");
    pack(datatype, *count, data, origin).expect("a layout whose span is the data")
}

fn unpacked(buffer: &DeviceBuffer, packed: &[u8], data: &mut [u8]) {
    let Layout { datatype, count, .. } = &buffer.layout;
    let origin = usize::try_from(buffer.origin()).expect("it is in the data");
    unpack(datatype, *count, packed, data, origin).expect("a layout that can be received");
}

/// The first `len` bytes of a buffer of GPU memory.
const fn memory(id: u32, len: u64) -> Region {
    Region::new(Space::Device(id), len)
}
