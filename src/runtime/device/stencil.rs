//! What the threads of a nine-point stencil do, each by its number.
//!
//! ```text
//!   load own point ─▶ shared memory ◀─ the edge of a tile also loads its halo
//!   wait for the block ─▶ nine points from shared memory ─▶ store
//! ```
//!
//! Threads are numbered down the columns of their tile, so that a warp of 32 touches as many rows as
//! a tile has.
//! Source: the kernel of `Stencil2D` in SHOC, as published with its sources.
//! Left out: conflicts of shared memory.

use hardware::gpu::{Block, Instructions, Kind, Lane, Lanes, Space};
use protocols::device::Stencil;

/// Where the array that is read begins.
/// Encoding: arrays lie apart, and are aligned as an allocation is.
const OLD: u64 = 1 << 40;
/// Where the array that is written begins.
/// Encoding: as above.
const NEW: u64 = 2 << 40;
/// Operations of a point.
/// Source: the kernel of SHOC.
const OPERATIONS: u32 = 11;
/// Points that are read from shared memory for it.
/// Source: the kernel of SHOC.
const POINTS: u32 = 9;

/// The threads of one stencil.
#[derive(Clone, Copy, Debug)]
pub(super) struct StencilLanes<'a>(pub(super) Stencil, pub(super) &'a Instructions);

impl StencilLanes<'_> {
    /// Resources of a block: a thread for each point of a tile, and shared memory for the tile with its halo.
    pub(super) fn block(&self) -> Block {
        let Self(stencil, instructions) = self;
        let (rows, columns) = stencil.tile;
        let shared = u64::from(rows + 2) * u64::from(columns + 2) * u64::from(stencil.width);
        Block { threads: rows * columns, registers: instructions.registers, shared }
    }

    /// Issue slots of a point beyond those in single precision: operations at a lower rate, and reads
    /// of shared memory in more passes.
    const fn beyond_single(&self) -> u32 {
        let Self(Stencil { width, .. }, instructions) = *self;
        let (slots, passes) = (instructions.slots(width), instructions.passes(width));
        OPERATIONS * (slots - 1) + POINTS * (passes - 1)
    }

    /// The address of a point, with the halo counted.
    fn point(&self, array: u64, row: u64, column: u64) -> u64 {
        array + (row * self.0.pitch + column) * u64::from(self.0.width)
    }
}

impl Lanes for StencilLanes<'_> {
    fn threads(&self) -> u64 {
        self.0.rows * self.0.columns
    }

    fn lane(&self, thread: u64, lane: &mut Lane) {
        let (rows, columns) = (u64::from(self.0.tile.0), u64::from(self.0.tile.1));
        let (block, inner) = (thread / (rows * columns), thread % (rows * columns));
        let (inner_row, inner_column) = (inner % rows, inner / rows);
        // Blocks are numbered down the columns of tiles, too.
        let tiles = self.0.rows / rows;
        let (top, left) = (block % tiles * rows + 1, block / tiles * columns + 1);
        let (row, column) = (top + inner_row, left + inner_column);
        // The loads of one branch overlap; its last one is waited for.
        let mut loads = |points: &[(u64, u64)]| {
            for (index, &(row, column)) in points.iter().enumerate() {
                let waits = index + 1 == points.len();
                let kind = if waits { Kind::Load } else { Kind::Prefetch };
                lane.access(Space::Device, kind, self.point(OLD, row, column), self.0.width);
            }
            points.len()
        };
        let (bottom, right) = (top + rows, left + columns);
        let mut count = loads(&[(row, column)]);
        if inner_row == 0 {
            count += loads(&[(top - 1, column), (bottom, column)]);
        }
        if inner_column == 0 {
            count += loads(&[(row, left - 1), (row, right)]);
        }
        if inner == 0 {
            let (above, other) = (top - 1, left - 1);
            count += loads(&[(above, other), (above, right), (bottom, other), (bottom, right)]);
        }
        let halo = u32::try_from(count - 1).expect("eight loads at most");
        let of_halo = self.0.halo_instructions * halo;
        lane.instructions = self.0.instructions + self.beyond_single() + of_halo;
        lane.access(Space::Device, Kind::Store, self.point(NEW, row, column), self.0.width);
    }
}
