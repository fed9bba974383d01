//! Data in GPU memory as the buffers of messages, and what a process asks its GPU for.
//!
//! ```text
//!   sender    data ─ pack ─▶ pinned host memory ─ message ─▶ pinned host memory ─ unpack ─▶ data
//!   in chunks: chunk k travels while chunk k + 1 is packed and chunk k - 1 is unpacked
//! ```
//!
//! The HCA reads the pinned memory that the GPU has written, as with `GPUDirect` v1: no core copies in
//! between. Every process has one GPU; what a thread asks for runs in one stream, in order.
//! Source: `gpu-pack` Sec. 2.3, 3.3, 4.3 and 5.1.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use calls::arguments::{Comm, Peer};
use calls::packing::{DeviceCall, Layout, Memory, Method, Refusal, Task};
use calls::space::{Region, Space};

/// Kernels for chunks that are under way at once: one runs, and one is launched.
/// Default: `workload.ahead` chooses another number.
const AHEAD: u64 = 2;

/// Elements of a type in a buffer of GPU memory, and how the library packs them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DeviceBuffer {
    /// The program's buffer.
    pub id: u32,
    /// The byte of it where displacement 0 is, or the lowest one, if that is negative.
    pub at: u64,
    /// Elements in the buffer, and their encoding.
    pub layout: Layout,
    /// How it is packed and unpacked.
    pub method: Method,
    /// Threads of a block of the kernel.
    pub threads_per_block: u32,
    /// Packed bytes of a chunk; `None`: all at once. Both sides of a message have the same.
    pub chunk: Option<u64>,
    /// Kernels that pack chunks and are under way at once; at least 1.
    pub ahead: u64,
    /// Requests to the driver for packing, all at once.
    pack: Arc<[DeviceCall]>,
    /// Requests to the driver for unpacking.
    unpack: Arc<[DeviceCall]>,
}

impl Hash for DeviceBuffer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // What packing and unpacking ask for follows from these.
        (self.id, self.at, self.method, self.chunk, self.ahead, self.threads_per_block).hash(state);
        (self.layout.count, &self.layout.datatype).hash(state);
    }
}

/// Consecutive primitives of a buffer, and where they stand in the packed bytes.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Part {
    /// The first.
    pub first: u64,
    /// The first after them.
    pub end: u64,
    /// The first packed byte.
    pub offset: u64,
    /// Packed bytes.
    pub bytes: u64,
}

impl DeviceBuffer {
    /// Buffer `id`, packed at once by blocks of 256 threads, by a method that was
    /// [chosen](Method::chosen).
    ///
    /// # Errors
    ///
    /// [`Refusal`] where the method is not made for the layout.
    pub fn new(id: u32, layout: Layout, method: Method) -> Result<Self, Refusal> {
        if method == Method::Cpu {
            return Err(Refusal::Host);
        }
        let pack = method.calls(&layout, Task::Pack)?;
        let unpack = method.calls(&layout, Task::Unpack)?;
        let by_core = |call: &DeviceCall| matches!(call, DeviceCall::Host { .. });
        if pack.iter().chain(&unpack).any(by_core) {
            return Err(Refusal::Host);
        }
        let (pack, unpack) = (pack.into(), unpack.into());
        Ok(Self {
            id,
            at: 0,
            layout,
            method,
            threads_per_block: 256,
            chunk: None,
            ahead: AHEAD,
            pack,
            unpack,
        })
    }

    /// The same in chunks of about so many bytes, at least 8: no primitive is longer.
    #[must_use]
    pub fn in_chunks(self, bytes: u64) -> Self {
        Self { chunk: Some(bytes.max(8)), ..self }
    }

    /// The same with so many kernels for chunks under way at once.
    #[must_use]
    pub fn with_ahead(self, kernels: u64) -> Self {
        Self { ahead: kernels, ..self }
    }

    /// The same, so many bytes after the begin of the buffer.
    #[must_use]
    pub fn at(self, at: u64) -> Self {
        Self { at, ..self }
    }

    /// The same with blocks of so many threads.
    #[must_use]
    pub fn with_blocks(self, threads_per_block: u32) -> Self {
        Self { threads_per_block, ..self }
    }

    /// Packed bytes.
    pub fn bytes(&self) -> u64 {
        self.layout.encoding.packed()
    }

    /// Requests to the driver where all is packed, or unpacked, at once.
    pub const fn calls(&self, task: Task) -> &Arc<[DeviceCall]> {
        match task {
            Task::Pack => &self.pack,
            Task::Unpack => &self.unpack,
        }
    }

    /// The bytes of device memory from displacement 0, or the lowest one below it, to the highest.
    pub fn data(&self) -> Region {
        let (low, high) = self.layout.encoding.span();
        let len = high.abs_diff(low.min(0));
        Region { space: Space::Device(self.id), offset: self.at, len }
    }

    /// Where displacement 0 is among the bytes of [`Self::data`].
    pub fn origin(&self) -> i64 {
        -self.layout.encoding.span().0.min(0)
    }

    /// Whether each chunk is packed by itself: then one travels while the next is packed.
    pub const fn is_packed_in_parts(&self) -> bool {
        self.chunk.is_some() && self.method.packs_parts()
    }

    /// The messages that it travels in: at least one.
    pub fn chunks(&self) -> u64 {
        self.chunk.map_or(1, |chunk| self.bytes().div_ceil(chunk).max(1))
    }

    /// Chunk `index`: it begins with the first primitive that begins at or after so many chunks, so
    /// that both sides of a message cut it alike, whatever their types.
    pub fn part(&self, index: u64) -> Part {
        let (first, end) = (self.cut(index), self.cut(index + 1));
        Part { first: first.0, end: end.0, offset: first.1, bytes: end.1 - first.1 }
    }

    /// The first primitive of a chunk, and its packed byte.
    fn cut(&self, index: u64) -> (u64, u64) {
        let (encoding, bytes) = (&self.layout.encoding, self.bytes());
        let all = (encoding.primitives(), bytes);
        let Some(chunk) = self.chunk else { return if index == 0 { (0, 0) } else { all } };
        let at = chunk.saturating_mul(index);
        let (mut low, mut high) = (0, all.0);
        while low < high {
            let middle = low + (high - low) / 2;
            if encoding.locate(middle).output < at {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low == all.0 { all } else { (low, encoding.locate(low).output) }
    }

    /// How many operations packing or unpacking asks for.
    pub fn operations(&self, task: Task) -> u64 {
        match (self.bytes(), self.is_packed_in_parts()) {
            (0, _) => 0,
            (_, true) => self.chunks(),
            (_, false) => self.calls(task).len() as u64,
        }
    }

    /// Operation `index` of packing or unpacking, to or from the library's pinned buffer `slot`.
    ///
    /// # Panics
    ///
    /// When there are not so many.
    pub fn operation(self: &Arc<Self>, task: Task, index: u64, slot: u16) -> DeviceWork {
        let (calls, buffer) = (self.calls(task), Arc::clone(self));
        if self.is_packed_in_parts() {
            let part = Some(self.part(index));
            return DeviceWork::Pack { buffer, call: calls[0], part, slot };
        }
        let index = usize::try_from(index).expect("calls are counted in memory");
        DeviceWork::Pack { buffer, call: calls[index], part: None, slot }
    }
}

/// Operation that a process requests from its GPU.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum DeviceWork {
    /// A step of a packing.
    Pack {
        /// Buffer to be packed.
        buffer: Arc<DeviceBuffer>,
        /// The step.
        call: DeviceCall,
        /// The primitives of a kernel; `None`: all.
        part: Option<Part>,
        /// Which of the library's pinned buffers has the packed bytes.
        slot: u16,
    },
    /// A nine-point stencil on rows of the program's data; its bytes do not exist.
    Stencil(Stencil),
    /// A kernel on all SMs that takes so long alone.
    Busy {
        /// In picoseconds.
        ps: u64,
    },
    /// Rows copied inside device memory; their bytes do not exist.
    Rows {
        /// How many.
        rows: u64,
        /// Bytes of each.
        width: u64,
        /// Bytes from one to the next.
        pitch: u64,
    },
}

/// A kernel in which each thread makes one point of two dimensions from nine, by way of a tile in
/// shared memory: `Stencil2D` of SHOC.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Stencil {
    /// Points that are made, in rows and columns, without the halo of one point around them.
    pub rows: u64,
    /// Columns.
    pub columns: u64,
    /// Bytes of a point.
    pub width: u32,
    /// Points from one row to the next.
    pub pitch: u64,
    /// Rows and columns of a tile; a block has a thread for each of its points.
    pub tile: (u32, u32),
    /// Instructions of a thread in single precision, besides those for the halo.
    pub instructions: u32,
    /// Instructions around each load of the halo.
    pub halo_instructions: u32,
}

impl DeviceWork {
    /// Where a memory of a packing is: the first byte of a run at `at` in it.
    fn place(buffer: &DeviceBuffer, slot: u16, memory: Memory) -> (Region, i64) {
        let packed = |space| (Region::new(space, buffer.bytes()), 0);
        match memory {
            Memory::Data => (buffer.data(), buffer.origin()),
            Memory::Staging => packed(Space::DeviceStaging(slot)),
            Memory::Packed => packed(Space::Pinned(slot)),
            Memory::Mirror => unreachable!("no buffer of GPU memory is packed by a core"),
        }
    }

    /// The memories that it reads and writes, where their bytes exist.
    pub fn memories(&self) -> Option<[Region; 2]> {
        let Self::Pack { buffer, call, slot, .. } = self else { return None };
        let (from, to) = call.ends();
        Some([from, to].map(|memory| Self::place(buffer, *slot, memory).0))
    }

    /// Calls `copy` with the source and the destination of each run of bytes that it moves, in order.
    ///
    /// # Panics
    ///
    /// When a call reaches below its memories: a defect of its method.
    pub fn runs(&self, mut copy: impl FnMut(Region, Region)) {
        let Self::Pack { buffer, call, part, slot } = self else { return };
        let primitives =
            part.map_or(0..buffer.layout.encoding.primitives(), |part| part.first..part.end);
        call.runs(&buffer.layout, primitives, |(from, source), (to, target), bytes| {
            let region = |memory, at: i64| {
                let (region, origin) = Self::place(buffer, *slot, memory);
                let at = u64::try_from(origin + at).expect("no byte lies before its memory");
                Region { offset: region.offset + at, len: bytes, ..region }
            };
            copy(region(from, source), region(to, target));
        });
    }
}

/// `MPI_Send`, `MPI_Recv` or `MPI_Sendrecv` of buffers in GPU memory.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct DeviceExchange {
    /// The communicator.
    pub comm: Comm,
    /// Destination, tag and buffer of the send.
    pub send: Option<(Peer, i32, Arc<DeviceBuffer>)>,
    /// Source, tag and buffer of the receive.
    pub receive: Option<(Peer, Option<i32>, Arc<DeviceBuffer>)>,
}

calls::fields_of!(DeviceExchange { comm as Over });

impl DeviceExchange {
    /// A blocking send.
    pub fn send(to: Peer, tag: i32, comm: Comm, buffer: Arc<DeviceBuffer>) -> Self {
        Self { comm, send: Some((to, tag, buffer)), receive: None }
    }

    /// A blocking receive.
    pub fn receive(source: Peer, tag: Option<i32>, comm: Comm, buffer: Arc<DeviceBuffer>) -> Self {
        Self { comm, send: None, receive: Some((source, tag, buffer)) }
    }

    /// The name of the MPI function.
    pub const fn function(&self) -> &'static str {
        match (&self.send, &self.receive) {
            (Some(_), Some(_)) => "MPI_Sendrecv",
            (Some(_), None) => "MPI_Send",
            (None, _) => "MPI_Recv",
        }
    }
}
