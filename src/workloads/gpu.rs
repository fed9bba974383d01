//! Messages whose buffers are in GPU memory: what the workloads over them have in common.
//!
//! Source: `gpu-pack` Sec. 4.3 (Fig. 6) and 5.1 (Table 3).

pub mod ping_pong;
pub mod stencil;

use super::kind::Reading;
use calls::packing::{Layout, Method};
use form::codes;
use form::machine::Machine;
use form::shape::Shape as FieldShape;
use form::typed::{Entry, required};
use hardware::gpu::{Block, Shape};
use mpi::datatype::{pack, unpack};
use protocols::contract::{Process, Region, Space};
use protocols::device::DeviceBuffer;
use runtime::memory::{Memories, Payload};
use runtime::monitors::Violation;

pub use ping_pong::GpuPingPong;

/// Bytes of GPU memory of a process that may really exist.
/// Limit: they are held in memory.
const MOST_REAL: u64 = 1 << 30;

static METHOD: FieldShape = FieldShape::Word(&[
    ("kernel", "a kernel for all types, between device memory and the host"),
    ("kernel_staged", "a kernel inside the device, and one copy"),
    ("hand_coded", "a kernel for this type, between device memory and the host"),
    ("memcpy2d", "copies by equal rows at equal distances"),
    ("memcpy3d", "copies by boxes of such rows"),
    ("blockwise", "a copy for each contiguous block"),
    ("per_field", "a copy by rows for each member of a struct"),
    ("device_vector", "rows inside the device, and one copy, as in MVAPICH 1.8"),
    ("points", "a copy for each primitive"),
]);

/// How data are packed.
const PACKED_BY: Entry =
    required(&METHOD, "\"kernel\"").saying("How data are packed and unpacked.");

/// The method of a name.
pub(super) fn method(name: &str) -> Method {
    let found = Method::ALL.into_iter().find(|method| method.name() == name);
    found.expect("the tree was checked against its shape")
}

/// The demands of a workload on the GPU of each node.
struct Needs<'a> {
    /// Processes, one on each node.
    processes: u32,
    /// The buffer to be packed.
    buffer: &'a DeviceBuffer,
    /// A block of the kernel that computes.
    block: Option<Block>,
    /// The field that sizes blocks.
    blocks: &'static str,
    /// Bytes of memory of each GPU, and the field that gives them.
    memory: (u64, &'static str),
}

/// Refuses what the machine cannot do; `real` where bytes exist.
fn check_machine(reading: &mut Reading<'_>, machine: &Machine, real: bool, needs: &Needs<'_>) {
    if needs.processes > reading.nodes {
        reading.need_nodes(false, "at least 2");
    }
    let Some(shape) = Shape::of(&machine.profile) else {
        let found = format!("the machine `{}` has no GPU", machine.name);
        let allowed = "its model must have a section `gpu`, such as `arc-c2050-qdr` has";
        let one = reading.error(&codes::MODEL_INCOMPLETE, "machine", found, allowed);
        let one = one.related(reading.node.span, "the workload sends data in GPU memory");
        reading.diagnostics.push(one);
        return;
    };
    let shared = needs.buffer.layout.encoding.fixed_bytes();
    let registers = shape.instructions.registers;
    let packs = Block { threads: needs.buffer.threads_per_block, registers, shared };
    let blocks = [packs, needs.block.unwrap_or(packs)];
    if blocks.into_iter().any(|block| shape.resident(block) == 0) {
        let (threads, memory) = (shape.threads_per_sm, shape.shared_per_sm);
        let allowed = format!("one of `{}` holds {threads} threads and {memory} B", machine.name);
        reading.refuse(needs.blocks, "a block does not fit an SM", allowed);
    }
    let (bytes, path) = needs.memory;
    if real && bytes > MOST_REAL {
        let found = format!("{bytes} bytes of GPU memory exist");
        let allowed = "at most 1 GiB of a process can be held; `mpi.payload` may be `phantom`";
        let one = reading.error(&codes::PRODUCT, path, found, allowed);
        reading.diagnostics.push(one);
    }
}

/// The bytes that are not as the serial reference says, after the run; none where bytes do not exist.
fn broken(expected: &[(Process, Region, Vec<u8>)], memories: &Memories) -> Vec<Violation> {
    if memories.payload() != Payload::Real {
        return Vec::new();
    }
    let found = expected.iter().filter_map(|(process, region, expected)| {
        differs(*process, expected, &memories.bytes(*process, *region))
    });
    found.collect()
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
