//! A kernel as the hardware sees it: how many blocks, what one of them needs, what all of them do.

use super::work::Work;

/// What one block needs of the SM that it runs on.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Block {
    /// Threads.
    pub threads: u32,
    /// Registers of each thread; 0: no matter.
    pub registers: u32,
    /// Bytes of shared memory.
    pub shared: u64,
}

impl Block {
    /// A block of so many threads that needs nothing else.
    pub const fn of(threads: u32) -> Self {
        Self { threads, registers: 0, shared: 0 }
    }
}

/// A kernel to be launched.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Kernel {
    /// Blocks, which run in any order, each to its end.
    pub blocks: u64,
    /// What each needs.
    pub block: Block,
    /// What all of them do together.
    pub work: Work,
}

impl Kernel {
    /// The kernel of `threads` threads in blocks of this kind.
    ///
    /// # Panics
    ///
    /// When a block has no threads.
    pub const fn of_threads(threads: u64, block: Block, work: Work) -> Self {
        assert!(block.threads > 0, "a block has threads");
        Self { blocks: threads.div_ceil(block.threads as u64), block, work }
    }
}
