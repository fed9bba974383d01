//! A kernel that was launched: which of its blocks have started and ended, and what they move.

use super::bus::{Evenness, Load};
use super::kernel::Kernel;
use super::multiprocessors::Placement;
use super::shape::Shape;
use crate::fabric::PathId;

/// Groups that the blocks resident on a GPU begin in.
/// Method: some flow while others wait for memory.
const GROUPS: u32 = 4;

/// A launched kernel.
#[derive(Debug)]
pub(super) struct Running {
    /// The operation that it is.
    pub operation: u32,
    /// Its number among those that run; `None` before it may have blocks on SMs.
    pub slot: Option<u32>,
    pub kernel: Kernel,
    pub load: Load,
    /// Blocks that have started.
    pub begun: u64,
    pub ended: u64,
    /// Blocks that begin together.
    pub group: u64,
    /// Paths of waves that fill the SMs evenly, by whether the GPU writes to the host.
    pub paths: [Option<PathId>; 2],
}

impl Running {
    pub(super) fn new(operation: u32, kernel: Kernel, shape: &Shape) -> Self {
        let kernel = Kernel { blocks: kernel.blocks.max(1), ..kernel };
        let resident = shape.resident(kernel.block);
        let group = u64::from(resident.div_ceil(GROUPS)) * u64::from(shape.sms);
        let load = Load::of(&kernel.work, shape);
        Self { operation, slot: None, kernel, load, begun: 0, ended: 0, group, paths: [None; 2] }
    }

    pub(super) const fn waits_for_slots(&self) -> bool {
        self.begun < self.kernel.blocks
    }

    pub(super) const fn is_done(&self) -> bool {
        self.ended == self.kernel.blocks
    }

    /// Blocks that have started and not ended.
    pub(super) const fn on_sms(&self) -> u64 {
        self.begun - self.ended
    }

    /// Bytes that the next `blocks` blocks move: of all blocks together, exactly the kernel's.
    pub(super) fn begin(&mut self, blocks: u64) -> u64 {
        let before = self.share(self.begun);
        self.begun += blocks;
        self.share(self.begun) - before
    }

    fn share(&self, blocks: u64) -> u64 {
        let exact = u128::from(self.load.bytes) * u128::from(blocks);
        let share = exact / u128::from(self.kernel.blocks);
        u64::try_from(share).expect("a part of a 64-bit number")
    }
}

/// Blocks of a placement, and how evenly they lie.
pub(super) fn evenness(placement: &Placement, shape: &Shape) -> (u64, Evenness) {
    let blocks = placement.iter().map(|&(_, blocks)| u64::from(blocks)).sum();
    let most = placement.iter().map(|&(_, blocks)| u64::from(blocks)).max().unwrap_or(0);
    (blocks, Evenness { fullest: most * u64::from(shape.sms), even: blocks })
}
