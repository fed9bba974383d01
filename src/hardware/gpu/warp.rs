//! What the threads of one warp do, and what that is for the hardware.
//!
//! The k-th accesses of the threads that are on one path are one instruction of the warp. Threads on
//! different paths run one after the other, each path for itself.

use super::coalesce::{self, Range};
use super::l2::Cache;
use super::shape::Shape;
use super::work::{Chain, Work};

/// Where an address lies.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Space {
    /// Memory of the GPU.
    Device,
    /// Memory of the host that the GPU reaches over its bus.
    Host,
    /// Shared memory of the block.
    Shared,
}

/// Kind of an access, and whether its thread waits for it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Kind {
    /// A load whose value the next instructions need.
    Load,
    /// A load that overlaps the next one.
    Prefetch,
    /// A store: no warp waits for it.
    Store,
}

/// One access of one thread.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Access {
    /// Where it begins.
    pub address: u64,
    /// How many bytes, at least one.
    pub bytes: u32,
    /// Which memory.
    pub space: Space,
    /// Load, prefetch or store.
    pub kind: Kind,
}

/// Instructions and accesses of one thread.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Lane {
    /// Threads of a warp with the same number run together; others diverge from them.
    pub path: u64,
    /// Instructions, accesses included.
    pub instructions: u32,
    /// Accesses, in order.
    pub accesses: Vec<Access>,
}

impl Lane {
    /// Nothing yet; accesses keep their room.
    pub fn clear(&mut self) {
        (self.path, self.instructions) = (0, 0);
        self.accesses.clear();
    }

    /// An access after the others.
    pub fn access(&mut self, space: Space, kind: Kind, address: u64, bytes: u32) {
        self.accesses.push(Access { address, bytes, space, kind });
    }

    fn is_idle(&self) -> bool {
        self.instructions == 0 && self.accesses.is_empty()
    }
}

/// Work of the threads of a kernel, each by its number: made from addresses, not from formulas.
pub trait Lanes {
    /// Threads with something to do.
    fn threads(&self) -> u64;

    /// Puts the work of thread `thread` into `lane`, which is empty before.
    fn lane(&self, thread: u64, lane: &mut Lane);

    /// Work of one warp of each block before all others begin: the load of what they share.
    fn prologue(&self, lane: &mut Lane) {
        let _ = lane;
    }
}

/// Room to count warps in.
#[derive(Debug)]
pub(super) struct WarpCounter<'a> {
    shape: &'a Shape,
    cache: Cache,
    /// Of the SM; one stands for all, since they see the same kind of blocks.
    near: Option<Cache>,
    lanes: Vec<Lane>,
    ranges: Vec<Range>,
    /// The lanes that no path has taken yet.
    left: Vec<usize>,
    /// The farthest of the loads that overlap the next one.
    ahead: Held,
}

impl<'a> WarpCounter<'a> {
    pub(super) fn new(shape: &'a Shape) -> Self {
        Self {
            shape,
            cache: Cache::new(shape.l2_size, shape.transaction, shape.cache_ways),
            near: (shape.l1_size > 0)
                .then(|| Cache::new(shape.l1_size, shape.transaction, shape.cache_ways)),
            lanes: vec![Lane::default(); shape.warp as usize],
            ranges: Vec::new(),
            left: Vec::new(),
            ahead: Held::Near,
        }
    }

    /// The work of the warp of threads `first..end`.
    pub(super) fn warp(&mut self, first: u64, end: u64, lanes: &impl Lanes) -> Work {
        self.left.clear();
        for (index, thread) in (first..end).enumerate() {
            let lane = &mut self.lanes[index];
            lane.clear();
            lanes.lane(thread, lane);
            if !lane.is_idle() {
                self.left.push(index);
            }
        }
        self.paths()
    }

    /// The work of the warp that begins a block.
    pub(super) fn prologue(&mut self, lanes: &impl Lanes) -> Work {
        let lane = &mut self.lanes[0];
        lane.clear();
        lanes.prologue(lane);
        self.left.clear();
        if lane.is_idle() {
            return Work::default();
        }
        self.left.push(0);
        Work { warps: 0, ..self.paths() }
    }

    /// Path after path, in the order of the threads that take them first.
    fn paths(&mut self) -> Work {
        let mut work = Work { warps: 1, ..Work::default() };
        let mut paths = 0;
        let mut left = std::mem::take(&mut self.left);
        while let Some(&first) = left.first() {
            let path = self.lanes[first].path;
            let taken = left.iter().filter(|&&lane| self.lanes[lane].path == path);
            let taken: &[usize] = if taken.clone().count() == left.len() {
                &left
            } else {
                &taken.copied().collect::<Vec<_>>()
            };
            let chain = self.path(taken, &mut work);
            work.chain = work.chain.then(chain);
            left.retain(|&lane| self.lanes[lane].path != path);
            paths += 1;
        }
        self.left = left;
        work.further_paths = u64::from(paths > 1) * (paths.max(1) - 1);
        work
    }

    /// The threads of one path, side by side.
    fn path(&mut self, taken: &[usize], work: &mut Work) -> Chain {
        let most = |of: &dyn Fn(&Lane) -> usize| {
            taken.iter().map(|&lane| of(&self.lanes[lane])).max().unwrap_or(0)
        };
        let instructions = most(&|lane| lane.instructions as usize) as u64;
        let accesses = most(&|lane| lane.accesses.len());
        let mut chain = Chain { instructions, ..Chain::default() };
        self.ahead = Held::Near;
        for at in 0..accesses {
            let here = taken.iter().filter_map(|&lane| self.lanes[lane].accesses.get(at));
            let found = here.fold(0, |found, access| found | class(access.space, access.kind));
            for space in [Space::Device, Space::Host, Space::Shared] {
                for kind in [Kind::Load, Kind::Prefetch, Kind::Store] {
                    if found & class(space, kind) != 0 {
                        chain = chain.then(self.instruction(taken, at, space, kind, work));
                    }
                }
            }
        }
        work.instructions += instructions;
        chain.timed(self.shape)
    }

    /// The accesses of one kind that stand at one place of the threads' programs.
    fn instruction(
        &mut self,
        taken: &[usize],
        at: usize,
        space: Space,
        kind: Kind,
        work: &mut Work,
    ) -> Chain {
        self.ranges.clear();
        let accesses = taken.iter().filter_map(|&lane| self.lanes[lane].accesses.get(at));
        let alike = accesses.filter(|access| (access.space, access.kind) == (space, kind));
        self.ranges.extend(alike.map(|access| (access.address, access.bytes.max(1))));
        if self.ranges.is_empty() {
            return Chain::default();
        }
        coalesce::sort(&mut self.ranges);
        let mut chain = Chain::default();
        match (space, kind) {
            (Space::Host, Kind::Store) => {
                let traffic = coalesce::packets(&self.ranges, self.shape.payload);
                work.host_writes = work.host_writes + traffic;
            }
            (Space::Host, Kind::Load | Kind::Prefetch) => {
                let unit = self.shape.read_request.min(self.shape.payload);
                work.host_reads = work.host_reads + coalesce::packets(&self.ranges, unit);
                chain.host = u64::from(kind == Kind::Load);
            }
            (Space::Shared, _) => {
                let bank = u64::from(self.shape.instructions.bank);
                // A bank for each thread of a warp. Further passes are issued again.
                let passes = coalesce::passes(&self.ranges, bank, u64::from(self.shape.warp));
                work.instructions += passes - 1;
                chain.instructions = passes - 1;
                chain.shared = u64::from(kind == Kind::Load);
            }
            (Space::Device, _) => {
                let farthest = self.memory(kind, work);
                if kind == Kind::Prefetch {
                    self.ahead = self.ahead.max(farthest);
                } else if kind == Kind::Load {
                    match farthest.max(std::mem::replace(&mut self.ahead, Held::Near)) {
                        Held::Near => chain.near = 1,
                        Held::InL2 => chain.hits = 1,
                        Held::Nowhere => chain.misses = 1,
                    }
                }
            }
        }
        chain
    }

    /// Transactions of device memory; where the farthest of them is held.
    fn memory(&mut self, kind: Kind, work: &mut Work) -> Held {
        let Self { shape, cache, near, ranges, .. } = self;
        // Stores go past the first level.
        let mut near = near.as_mut().filter(|_| kind != Kind::Store);
        let (mut touched, mut missed, mut farthest) = (0, 0, Held::Near);
        #[cfg(feature = "mutants")]
        if shape.has(super::flaw::Flaw::SegmentsAgain) {
            let each = ranges.iter().map(std::slice::from_ref);
            each.for_each(|one| coalesce::segments(one, shape.transaction, |_| touched += 1));
            coalesce::segments(ranges, shape.transaction, |_| touched -= 1);
        }
        coalesce::segments(ranges, shape.transaction, |segment| {
            touched += 1;
            if near.as_mut().is_some_and(|near| near.touch(segment)) {
                return;
            }
            let held = if cache.touch(segment) { Held::InL2 } else { Held::Nowhere };
            missed += u64::from(held == Held::Nowhere);
            farthest = farthest.max(held);
        });
        let segments = match kind {
            Kind::Store => &mut work.write_segments,
            Kind::Load | Kind::Prefetch => &mut work.read_segments,
        };
        *segments += touched;
        work.l2_hits += touched - missed;
        work.memory_traffic += missed * shape.transaction;
        farthest
    }
}

/// A bit for each kind of access to each memory.
const fn class(space: Space, kind: Kind) -> u32 {
    1 << (3 * space as u32 + kind as u32)
}

/// Which cache holds a transaction, the nearest first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Held {
    Near,
    InL2,
    Nowhere,
}
