//! Counting a kernel: every thread of it, or, of very large ones, blocks all over it.
//!
//! The rule of large ones: windows of consecutive blocks, equally far apart, the first at the
//! beginning and the last at the end; each is counted after a lead of blocks that fill the cache and
//! do not count. What they do is scaled by the numbers of threads. Exact where all windows are alike.

use super::block::Block;
use super::kernel::Kernel;
use super::shape::Shape;
use super::warp::{Lanes, WarpCounter};
use super::work::Work;

/// Threads of a kernel that is counted whole, at most.
/// Method: of larger ones, windows are counted and scaled.
pub const WHOLE: u64 = 1 << 22;
/// Windows of a larger one.
/// Method: equally far apart, from the beginning to the end.
const WINDOWS: u64 = 16;
/// Threads of a window, in whole blocks.
/// Method: every thread of a window is counted.
const WINDOW: u64 = 1 << 16;
/// Threads of the lead of a window, in whole blocks.
/// Method: it fills the cache, and does not count.
const LEAD: u64 = 1 << 14;

/// The kernel in which the threads of `lanes` run in blocks of this kind, counted by the rule above.
///
/// # Panics
///
/// When a block has no threads.
pub fn kernel(shape: &Shape, block: Block, lanes: &impl Lanes) -> Kernel {
    kernel_counting(shape, block, lanes, WHOLE)
}

/// The same, counted whole up to `whole` threads.
///
/// # Panics
///
/// When a block has no threads.
pub fn kernel_counting(shape: &Shape, block: Block, lanes: &impl Lanes, whole: u64) -> Kernel {
    assert!(block.threads > 0, "a block has threads");
    let (threads, each) = (lanes.threads(), u64::from(block.threads));
    let blocks = threads.div_ceil(each);
    let window = WINDOW.div_ceil(each);
    let work = if threads <= whole || blocks <= WINDOWS * window {
        let mut counter = Counter::new(shape, block, lanes);
        counter.blocks(0, blocks)
    } else {
        sample(shape, block, lanes, blocks, window)
    };
    Kernel { blocks, block, work }
}

fn sample(shape: &Shape, block: Block, lanes: &impl Lanes, blocks: u64, window: u64) -> Work {
    let each = u64::from(block.threads);
    let lead = LEAD.div_ceil(each);
    let (mut work, mut threads) = (Work::default(), 0);
    for index in 0..WINDOWS {
        let first = (blocks - window) * index / (WINDOWS - 1);
        let mut counter = Counter::new(shape, block, lanes);
        counter.blocks(first.saturating_sub(lead), first);
        work += counter.blocks(first, first + window);
        threads += ((first + window) * each).min(lanes.threads()) - first * each;
    }
    work.scaled(lanes.threads(), threads)
}

struct Counter<'a, L> {
    warps: WarpCounter<'a>,
    warp: u64,
    block: u64,
    lanes: &'a L,
}

impl<'a, L: Lanes> Counter<'a, L> {
    fn new(shape: &'a Shape, block: Block, lanes: &'a L) -> Self {
        let (warp, block) = (u64::from(shape.warp), u64::from(block.threads));
        Self { warps: WarpCounter::new(shape), warp, block, lanes }
    }

    /// Work of blocks `first..end`, one after the other.
    fn blocks(&mut self, first: u64, end: u64) -> Work {
        let mut work = Work::default();
        for block in first..end {
            work += self.one(block);
        }
        work
    }

    fn one(&mut self, block: u64) -> Work {
        let prologue = self.warps.prologue(self.lanes);
        let mut work = Work::default();
        let threads = block * self.block..((block + 1) * self.block).min(self.lanes.threads());
        let mut first = threads.start;
        while first < threads.end {
            let end = (first + self.warp).min(threads.end);
            work += self.warps.warp(first, end, self.lanes);
            first = end;
        }
        let chain = prologue.chain.then(work.chain);
        work += prologue;
        Work { chain, holds: (1, chain.time), ..work }
    }
}
