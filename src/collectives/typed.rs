//! Blocks that have a datatype and a displacement each: `MPI_Alltoallw`.
//!
//! ```text
//!   each block one run of bytes    read, or written, where it lies
//!   a block in pieces              the side is packed before the first message, or unpacked after the last
//! ```
//!
//! Source: MPI 4.0, Sec. 6.8 and 8.6.4. Left out: libraries pack a block when its message leaves, and leave
//! alone blocks of one run beside others; noticeable where the first message of many waits for all packing.

use std::sync::Arc;

use super::task::mixed;
use super::{Block, Blocks};
use calls::packing::Task;
use calls::space::{Region, Space};
use calls::typed::{Elements, TypedCopy};

/// The blocks of both sides, as the caller gives them.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct TypedBlocks {
    /// Elements of the blocks that it sends and of those that it receives, by rank or neighbour; `None` of a side whose
    /// blocks are runs of bytes.
    sides: [Option<Arc<[Arc<Elements>]>>; 2],
    /// The caller's buffers, once others stand in their places.
    buffers: Option<[Region; 2]>,
    /// Of each block of both sides a number that blocks of other named types have by chance only.
    prints: [Arc<[u64]>; 2],
}

/// The blocks of one side, and the bytes of the buffer that they lie in.
pub(super) struct Side {
    pub(super) blocks: Blocks,
    pub(super) bytes: u64,
    pieces: Option<Arc<[Arc<Elements>]>>,
    prints: Arc<[u64]>,
}

impl Side {
    pub(super) fn of(elements: Arc<[Arc<Elements>]>) -> Self {
        let bytes = elements.iter().map(|block| block.extent()).max().unwrap_or(0);
        let run = |block: &Arc<Elements>| {
            let Region { offset, len, .. } = block.piece(0)?;
            Some(Block { offset, len })
        };
        let runs: Option<Arc<[Block]>> = elements.iter().map(run).collect();
        let lengths: Vec<u64> = elements.iter().map(|block| block.packed()).collect();
        let of_types = |block: &Arc<Elements>| {
            let runs = block.signature();
            mixed(runs.flat_map(|(primitive, count)| [primitive as u64, count]))
        };
        let prints = elements.iter().map(of_types).collect();
        match runs {
            Some(runs) => Self { blocks: Blocks::List(runs), bytes, pieces: None, prints },
            None => {
                Self { blocks: Blocks::packed(&lengths), bytes, pieces: Some(elements), prints }
            }
        }
    }
}

impl TypedBlocks {
    pub(super) fn new(given: Side, taken: Side) -> Self {
        let prints = [given.prints, taken.prints];
        Self { sides: [given.pieces, taken.pieces], buffers: None, prints }
    }

    /// The number of the named types of one block.
    pub(super) fn print(&self, side: usize, at: u32) -> u64 {
        self.prints[side].get(at as usize).copied().unwrap_or_default()
    }

    /// The caller's buffers, where others stand in their places.
    pub(super) const fn buffers(&self) -> Option<[Region; 2]> {
        self.buffers
    }

    /// The blocks of both sides, where they lie in pieces.
    pub fn pieces(&self) -> [Option<Arc<[Arc<Elements>]>>; 2] {
        self.sides.clone()
    }

    /// Regions to send and to receive in place of the caller's `buffers`: packed blocks, which lie in `aside`.
    pub fn pack(&mut self, buffers: [Region; 2], packed: [u64; 2], aside: Space) -> [Region; 2] {
        self.buffers = Some(buffers);
        let at = |offset, len| Region { offset, ..Region::new(aside, len) };
        let first = if self.sides[0].is_some() { packed[0] } else { 0 };
        let places = [at(0, packed[0]), at(first, packed[1])];
        let mut out = buffers;
        for (side, region) in out.iter_mut().enumerate() {
            if self.sides[side].is_some() {
                *region = places[side];
            }
        }
        out
    }

    /// The copies between the caller's buffer and the packed blocks of one side, of those that `there` names.
    pub fn copies(
        &self,
        task: Task,
        (packed, blocks): (Region, &Blocks),
        there: impl Fn(usize) -> bool,
    ) -> Vec<TypedCopy> {
        let side = usize::from(task == Task::Unpack);
        let (Some(pieces), Some(buffers)) = (&self.sides[side], self.buffers) else {
            return Vec::new();
        };
        let Space::User(buffer) = buffers[side].space else { return Vec::new() };
        let copy = |(rank, elements): (u32, &Arc<Elements>)| {
            let packed = blocks.of(packed, rank);
            TypedCopy { task, buffer, elements: Arc::clone(elements), packed, first: 0 }
        };
        let has_data = |(rank, elements): &(u32, &Arc<Elements>)| {
            elements.packed() > 0 && there(*rank as usize)
        };
        (0..).zip(pieces.iter()).filter(has_data).map(copy).collect()
    }
}
