//! Multiprocessors (SM): slots for blocks, which keep theirs until they have ended.

use super::block::Block;
use super::shape::Shape;

/// Blocks of one kernel on the SMs that took them: SM and number.
pub(super) type Placement = Vec<(u32, u32)>;

/// Blocks on one SM, and the resources that they use.
#[derive(Clone, Debug, Default)]
struct Sm {
    blocks: u32,
    threads: u32,
    registers: u32,
    shared: u64,
    /// Blocks by kernel, kernels in the order in which they came.
    kernels: Vec<(u32, u32)>,
}

/// All SMs of a GPU.
#[derive(Debug)]
pub(super) struct Multiprocessors {
    sms: Vec<Sm>,
    warp: u32,
    limits: Sm,
    kernels_per_sm: usize,
}

impl Multiprocessors {
    pub(super) fn new(shape: &Shape) -> Self {
        Self {
            sms: vec![Sm::default(); shape.sms as usize],
            warp: shape.warp,
            limits: Sm {
                blocks: shape.blocks_per_sm,
                threads: shape.threads_per_sm,
                registers: shape.registers_per_sm,
                shared: shape.shared_per_sm,
                kernels: Vec::new(),
            },
            kernels_per_sm: shape.kernels_per_sm as usize,
        }
    }

    /// Gives at most `most` blocks of `kernel` to the SMs, one to each in turns.
    pub(super) fn place(&mut self, kernel: u32, block: Block, most: u64) -> Placement {
        let mut given = vec![0; self.sms.len()];
        let mut left = most;
        loop {
            let before = left;
            for (sm, given) in self.sms.iter_mut().zip(&mut given) {
                if left > 0 && sm.takes(kernel, block, &self.limits, self.warp, self.kernels_per_sm)
                {
                    sm.add(kernel, block, self.warp);
                    *given += 1;
                    left -= 1;
                }
            }
            if left == before || left == 0 {
                break;
            }
        }
        (0..).zip(given).filter(|&(_, blocks)| blocks > 0).collect()
    }

    /// Blocks of a placement have ended.
    pub(super) fn free(&mut self, kernel: u32, block: Block, placement: &Placement) {
        for &(sm, blocks) in placement {
            self.sms[sm as usize].remove(kernel, block, blocks, self.warp);
        }
    }
}

/// Threads that a block occupies: whole warps.
const fn threads_of(block: Block, warp: u32) -> u32 {
    block.threads.div_ceil(warp) * warp
}

impl Sm {
    fn takes(&self, kernel: u32, block: Block, limits: &Self, warp: u32, kernels: usize) -> bool {
        let threads = threads_of(block, warp);
        let known = self.kernels.iter().any(|&(held, _)| held == kernel);
        (known || self.kernels.len() < kernels)
            && self.blocks < limits.blocks
            && self.threads + threads <= limits.threads
            && self.registers + threads * block.registers <= limits.registers
            && self.shared + block.shared <= limits.shared
    }

    fn add(&mut self, kernel: u32, block: Block, warp: u32) {
        let threads = threads_of(block, warp);
        self.blocks += 1;
        self.threads += threads;
        self.registers += threads * block.registers;
        self.shared += block.shared;
        match self.kernels.iter_mut().find(|(held, _)| *held == kernel) {
            Some((_, blocks)) => *blocks += 1,
            None => self.kernels.push((kernel, 1)),
        }
    }

    fn remove(&mut self, kernel: u32, block: Block, blocks: u32, warp: u32) {
        let threads = threads_of(block, warp) * blocks;
        self.blocks -= blocks;
        self.threads -= threads;
        self.registers -= threads * block.registers;
        self.shared -= block.shared * u64::from(blocks);
        let held = self.kernels.iter_mut().find(|(held, _)| *held == kernel);
        held.expect("an SM holds the blocks that end on it").1 -= blocks;
        self.kernels.retain(|&(_, blocks)| blocks > 0);
    }
}
