//! A kernel as the hardware sees it: how many blocks, what one of them needs, what all of them do.

use super::block::Block;
use super::work::Work;

/// A kernel to be launched.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Kernel {
    /// Blocks, which run in any order, each to its end.
    pub blocks: u64,
    /// Resources that each block needs.
    pub block: Block,
    /// Work of all blocks together.
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
