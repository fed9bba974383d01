//! What the threads of a packing kernel do, each by its id: the addresses that hardware counts.
//!
//! ```text
//!   trace(id) ─▶ levels, searches, lists read, members ─▶ instructions, loads, path
//!            ─▶ where the primitive lies and goes       ─▶ its load and its store
//! ```
//!
//! The nodes of the encoding are in shared memory, into which the first warp of a block loads them
//! while the others wait; its lists are in device memory. Of a node a thread reads what kind it is, and
//! then, since that decides which, its other fields. Steps of a search wait for each other; entries of
//! lists that do not depend on each other are loaded together. A hand-coded kernel has its nodes in its
//! code, and reads lists too. Ids and counts are numbers of 32 bits, as counts of MPI are; distances in
//! bytes have 64.

use std::ops::Range;

use calls::packing::{Code, Memory, Task};
use hardware::gpu::{Instructions, Kind, Lane, Lanes, Space};
use mpi::datatype::{Encoding, NodeKind, Observer};

/// Where the elements begin.
/// Encoding: memories lie apart, and are aligned as an allocation is.
const DATA: u64 = 1 << 40;
/// Where the packed data begin.
/// Encoding: as above.
const PACKED: u64 = 2 << 40;
/// Where the fixed part of the description begins.
/// Encoding: as above.
const FIXED: u64 = 3 << 40;
/// Where its lookaside begins.
/// Encoding: as above.
const LOOKASIDE: u64 = 4 << 40;
/// Bytes of a field of a node.
/// Encoding: that of a description (`mpi::datatype`).
const FIELD: u32 = 8;

/// The threads of one kernel.
#[derive(Clone, Debug)]
pub(super) struct PackLanes<'a> {
    pub(super) encoding: &'a Encoding,
    pub(super) code: Code,
    pub(super) task: Task,
    pub(super) packed: Memory,
    /// The primitives that it moves.
    pub(super) primitives: Range<u64>,
    /// Instructions that its code is made of.
    pub(super) instructions: &'a Instructions,
}

/// A product of an id and a distance: a hand-coded kernel knows its distances, and that they are short.
const fn product(code: Code, of: &Instructions) -> u32 {
    match code {
        Code::Generic => of.product_wide,
        Code::HandCoded => of.product,
    }
}

/// Instructions on one level of the encoding.
const fn of_level(code: Code, kind: NodeKind, of: &Instructions) -> u32 {
    let does = code.level(kind);
    does.divisions * of.division
        + does.products * product(code, of)
        + does.fields * of.field
        + does.loops * of.level
}

/// Turns the way of a thread into its instructions and loads.
struct Way<'l> {
    code: Code,
    instructions: &'l Instructions,
    lane: &'l mut Lane,
    /// Lists of a subarray that were read on this level: there are three for each dimension.
    dimensions: Option<u32>,
    /// The last entry of a list that was read and not waited for.
    last: Option<usize>,
}

impl Way<'_> {
    /// The thread goes on when the entries that it has requested are there.
    fn wait(&mut self) {
        if let Some(last) = self.last.take() {
            self.lane.accesses[last].kind = Kind::Load;
        }
    }
}

impl Observer for Way<'_> {
    fn level(&mut self, kind: NodeKind, node: u32) {
        self.lane.instructions += of_level(self.code, kind, self.instructions);
        self.wait();
        let fields = self.code.level(kind).fields;
        if fields > 0 {
            let (kind, others) = (u64::from(node), u64::from(node + FIELD));
            self.lane.access(Space::Shared, Kind::Load, kind, FIELD);
            self.lane.access(Space::Shared, Kind::Load, others, (fields - 1) * FIELD);
        }
        self.dimensions = (kind == NodeKind::Subarray).then_some(0);
    }

    fn search_step(&mut self, lookaside_byte: u64) {
        self.wait();
        self.lane.instructions += self.instructions.search_step;
        self.lane.access(Space::Device, Kind::Load, LOOKASIDE + lookaside_byte, 8);
    }

    fn lookaside(&mut self, lookaside_byte: u64) {
        self.lane.instructions += self.instructions.list;
        if let Some(read) = &mut self.dimensions {
            *read += 1;
            if *read % 3 == 0 {
                self.lane.instructions += self.instructions.division + self.instructions.dimension;
            }
        }
        self.last = Some(self.lane.accesses.len());
        self.lane.access(Space::Device, Kind::Prefetch, LOOKASIDE + lookaside_byte, 8);
    }

    fn branch(&mut self, member: u32) {
        // Threads with different members part; so do those that parted before.
        self.lane.path = self.lane.path.wrapping_mul(0x1_0000_01b3) + u64::from(member) + 1;
    }

    fn needs_lists(&mut self) {
        self.wait();
    }
}

impl Lanes for PackLanes<'_> {
    fn threads(&self) -> u64 {
        self.primitives.end - self.primitives.start
    }

    fn lane(&self, thread: u64, lane: &mut Lane) {
        // Several elements: which one, before the type is looked at.
        let Self { code, instructions, .. } = *self;
        let which = if self.encoding.count() > 1 { instructions.division } else { 0 };
        lane.instructions = instructions.thread + which;
        let mut way = Way { code, instructions, lane, dimensions: None, last: None };
        let element = self.encoding.trace(self.primitives.start + thread, &mut way);
        way.wait();
        let bytes = u32::try_from(element.size).expect("a primitive is a few bytes");
        let data = (Space::Device, DATA.wrapping_add_signed(element.input));
        let space = if self.packed.is_of_host() { Space::Host } else { Space::Device };
        let packed = (space, PACKED + element.output);
        let (from, to) = match self.task {
            Task::Pack => (data, packed),
            Task::Unpack => (packed, data),
        };
        lane.access(from.0, Kind::Load, from.1, bytes);
        lane.access(to.0, Kind::Store, to.1, bytes);
    }

    fn prologue(&self, lane: &mut Lane) {
        if self.code == Code::HandCoded {
            return;
        }
        let bytes = u32::try_from(self.encoding.fixed_bytes()).expect("at most a MiB");
        lane.instructions = self.instructions.thread;
        lane.access(Space::Device, Kind::Load, FIXED, bytes);
        // None passes the barrier before the words are in shared memory.
        lane.access(Space::Shared, Kind::Load, 0, bytes);
    }
}
