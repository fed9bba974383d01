//! What packing takes a core: it gathers the blocks of a layout, or scatters to them.
//!
//! | bound | is |
//! |---|---|
//! | instructions | each block is found and copied, or a loop over its primitives is entered and moves each by itself |
//! | lines | the scattered side moves in whole lines, and what is written is read before, at the rates of copies in the cache that holds both sides or beyond; a line that does not follow the one before waits instead: the core has so many of them on their way |
//!
//! A core that issues out of order does both at once: the slower counts. One that issues in order has
//! its instructions behind it before it waits.
//!
//! What fetches ahead into the second level follows lines that follow each other. A line at an equal
//! distance is expected as well, so that a chain of loads does not wait for all of its latency, but it comes
//! through the buffers of the first level as any other miss does: where loads do not depend on each other,
//! their number is what limits.
//!
//! Blocks at equal distances touch few of the lines of each page, so they lie in few sets of the second
//! level, where these are known: a layout may miss that is much smaller than the level.
//!
//! A line that is touched again later moves again, but takes room once. Where the whole range that the
//! blocks lie in is smaller than the lines that they touch, it is what must fit.
//!
//! Left out: that fetching ahead takes some lines to begin; translation of addresses by itself (where a
//! latency was measured in shuffled order, it has its part of that). Lines that are touched again come from
//! the level that holds all data, however soon. The first level has no sets. Data begin at the first
//! byte of a page.

use super::sets::WHOLE;
use super::{Level, Memory};
use crate::profile::Profile;
use units::{Bandwidth, Bytes, TimeDelta};

/// A layout as the lines of memory see it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Scattered {
    /// Contiguous blocks.
    pub blocks: u64,
    /// Primitives in them.
    pub primitives: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Bytes of the lines that they touch; one that two neighbours share counts once.
    pub lines: u64,
    /// Bytes of different lines among them, at most.
    pub room: u64,
    /// Runs of lines that do not follow the one before: see [the module](self).
    pub jumps: u64,
    /// Of the lines of a page, how many some page has touched.
    pub touched: u64,
    /// Lines of a page.
    pub of_page: u64,
}

impl Scattered {
    /// The blocks at `runs`, offset and bytes each, in packing order.
    ///
    /// # Panics
    ///
    /// When a line has no byte, or a page no line: a profile's have.
    pub fn of(
        runs: impl IntoIterator<Item = (i64, u64)>,
        primitives: u64,
        (line, page): (Bytes, Bytes),
    ) -> Self {
        let mut walk = Walk::new((line, page));
        for (offset, length) in runs {
            walk.go(offset, length);
        }
        walk.seen(primitives)
    }

    /// As [`Self::of`], of blocks that are all alike: two periods are walked, and those between them
    /// and the last, which is not whole, are counted as the second.
    ///
    /// A period is as many blocks as lie a whole number of pages from their equals, so that each touches
    /// the lines of its pages as its equal does. The first may differ, as nothing comes before it.
    ///
    /// # Panics
    ///
    /// As [`Self::of`]; or when the blocks are beyond 64 bits.
    pub fn of_blocks(all: Blocks, primitives: u64, (line, page): (Bytes, Bytes)) -> Self {
        let mut walk = Walk::new((line, page));
        let pages = page.as_u64();
        // The step into a period is that of its equal where a block of the period goes before it.
        let period = (pages / common(all.stride.unsigned_abs(), pages)).max(2);
        let rest = all.count.saturating_sub(2 * period) % period;
        let walked = all.count.min(2 * period + rest);
        let mut before = [walk.sums; 2];
        for block in 0..walked {
            if block == period || block == 2 * period {
                before = [before[1], walk.sums];
            }
            walk.go(all.first + all.stride * block.cast_signed(), all.length);
        }
        if walked == 2 * period {
            before = [before[1], walk.sums];
        }
        let left_out = (all.count - walked) / period;
        walk.sums = walk.sums.and_again(before, left_out);
        if let Some(last) = all.count.checked_sub(1) {
            walk.reaches(all.first + all.stride * last.cast_signed(), all.length);
        }
        walk.seen(primitives)
    }
}

/// Blocks that are all alike.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Blocks {
    /// Where the first begins.
    pub first: i64,
    /// Bytes of each.
    pub length: u64,
    /// From one to the next.
    pub stride: i64,
    /// How many.
    pub count: u64,
}

/// The greatest common divisor.
const fn common(mut one: u64, mut other: u64) -> u64 {
    while one > 0 {
        (one, other) = (other % one, one);
    }
    other
}

/// Sums that grow with each block.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    blocks: u64,
    bytes: u64,
    lines: u64,
    jumps: u64,
}

impl Sums {
    /// With what came between two others so many times more.
    const fn and_again(self, [from, to]: [Self; 2], times: u64) -> Self {
        Self {
            blocks: self.blocks + (to.blocks - from.blocks) * times,
            bytes: self.bytes + (to.bytes - from.bytes) * times,
            lines: self.lines + (to.lines - from.lines) * times,
            jumps: self.jumps + (to.jumps - from.jumps) * times,
        }
    }
}

/// The blocks so far.
struct Walk {
    line: u64,
    of_page: u64,
    sums: Sums,
    /// First and last line.
    span: Option<(i64, i64)>,
    touched: Vec<bool>,
    course: Course,
}

impl Walk {
    fn new((line, page): (Bytes, Bytes)) -> Self {
        let (line, of_page) = (line.as_u64(), page.as_u64() / line.as_u64());
        let touched = vec![false; usize::try_from(of_page).expect("a page has few lines")];
        let course = Course { last: None };
        Self { line, of_page, sums: Sums::default(), span: None, touched, course }
    }

    /// The lines of a block, which has bytes.
    const fn lines(&self, offset: i64, length: u64) -> (i64, i64) {
        let line = self.line.cast_signed();
        (offset.div_euclid(line), (offset + length.cast_signed() - 1).div_euclid(line))
    }

    fn go(&mut self, offset: i64, length: u64) {
        if length == 0 {
            return;
        }
        let (first, end) = self.lines(offset, length);
        self.sums.blocks += 1;
        self.sums.bytes += length;
        self.sums.lines += (end - first + 1 - self.course.shared(first, end)).unsigned_abs();
        self.sums.jumps += u64::from(!self.course.goes_on(first));
        self.course.last = Some((first, end));
        self.reaches(offset, length);
        for at in (first..=end).take(self.touched.len()) {
            let at = at.rem_euclid(self.of_page.cast_signed()).unsigned_abs();
            self.touched[usize::try_from(at).expect("a line of a page")] = true;
        }
    }

    /// A block is there, wherever it is counted.
    fn reaches(&mut self, offset: i64, length: u64) {
        if length > 0 {
            let (first, end) = self.lines(offset, length);
            let (low, high) = self.span.unwrap_or((first, end));
            self.span = Some((low.min(first), high.max(end)));
        }
    }

    fn seen(&self, primitives: u64) -> Scattered {
        let Sums { blocks, bytes, lines, jumps } = self.sums;
        let touched = self.touched.iter().filter(|&&one| one).count() as u64;
        let room = self.span.map_or(0, |(low, high)| high.abs_diff(low) + 1).min(lines);
        let (lines, room, of_page) = (lines * self.line, room * self.line, self.of_page);
        Scattered { blocks, primitives, bytes, lines, room, jumps, touched, of_page }
    }
}

/// The way from run of lines to run of lines, as what fetches ahead sees it.
struct Course {
    /// First and last line of the run before.
    last: Option<(i64, i64)>,
}

impl Course {
    /// Lines of a run that the one before has touched.
    fn shared(&self, first: i64, end: i64) -> i64 {
        self.last.map_or(0, |(low, high)| (end.min(high) - first.max(low) + 1).max(0))
    }

    /// Whether the next run follows the one before, or begins in it.
    fn goes_on(&self, first: i64) -> bool {
        self.last.is_some_and(|(low, high)| (low..=high + 1).contains(&first))
    }
}

/// Which side is scattered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Way {
    /// The source: packing.
    Gather,
    /// The destination: unpacking.
    Scatter,
}

/// The cores of one machine, as packers.
#[derive(Clone, Debug)]
pub struct Packer {
    memory: Memory,
    block: TimeDelta,
    lap: TimeDelta,
    primitive: TimeDelta,
    copy_from: Option<Bytes>,
    line: u64,
    in_order: bool,
    in_flight: Option<u32>,
}

impl Packer {
    /// The costs that `profile` names.
    pub fn new(profile: &Profile) -> Self {
        Self {
            memory: Memory::new(profile),
            block: profile.mpi.pack_block,
            lap: profile.mpi.pack_loop,
            primitive: profile.mpi.pack_element,
            copy_from: profile.mpi.pack_copy_from,
            line: profile.cache.line.as_u64(),
            in_order: profile.cpu.in_order,
            in_flight: profile.cache.lines_in_flight,
        }
    }

    /// The time of one core for a layout; `far`: the data lie in memory, whatever caches would hold.
    ///
    /// # Panics
    ///
    /// When it is beyond 213 days.
    pub fn time(&self, data: &Scattered, way: Way, far: bool) -> TimeDelta {
        let footprint = Bytes::new(data.room + data.bytes);
        let level = if far { Level::Dram } else { self.memory.level_of(footprint) };
        let held = self.memory.held(data, level);
        let lines = self.lines(data, way, level, held);
        let instructions = self.instructions(data);
        if self.in_order { instructions + lines } else { instructions.max(lines) }
    }

    fn instructions(&self, data: &Scattered) -> TimeDelta {
        let length = data.bytes / data.blocks.max(1);
        // What is one block is copied as a whole, however short.
        let is_long = |from: Bytes| data.blocks <= 1 || length >= from.as_u64();
        if self.copy_from.is_none_or(is_long) {
            self.block * data.blocks
        } else {
            self.lap * data.blocks + self.primitive * data.primitives
        }
    }

    /// All lines that move: some are waited for, unless their traffic takes longer, and the others stream.
    fn lines(&self, data: &Scattered, way: Way, level: Level, held: [u64; 2]) -> TimeDelta {
        let jumps = if self.in_flight.is_some() { data.jumps } else { 0 };
        let apart = u128::from(jumps * self.line).min(u128::from(data.lines));
        let [scattered, packed] = self.memory.moved(data, way);
        let traffic = |bytes| self.memory.traffic(bytes, level, held);
        let alone = traffic([apart, 0]).max(self.waiting(data, level, held[0]));
        alone + traffic([scattered - apart, packed])
    }

    /// The lines that are waited for, of which the second level holds a part.
    fn waiting(&self, data: &Scattered, level: Level, held: u64) -> TimeDelta {
        let Some(in_flight) = self.in_flight else { return TimeDelta::ZERO };
        let (near, beyond) = match level {
            Level::L1 => (Level::L1, Level::L1),
            Level::L2 | Level::L3 if self.memory.last_level() == Level::L3 => {
                (Level::L2, Level::L3)
            }
            Level::L2 | Level::L3 => (Level::L2, Level::Dram),
            Level::Dram => (Level::Dram, Level::Dram),
        };
        let each = |level, part| u128::from(self.memory.load(level).as_ps()) * part;
        let held = u128::from(held);
        let one = (each(near, held) + each(beyond, WHOLE - held)) / WHOLE;
        let all = one * u128::from(data.jumps) / u128::from(in_flight);
        TimeDelta::from_ps(u64::try_from(all).expect("a packing takes less than 213 days"))
    }
}

impl Memory {
    /// The parts, of [`WHOLE`], of the scattered and of the packed side that the second level holds.
    fn held(&self, data: &Scattered, level: Level) -> [u64; 2] {
        let second = self.levels[1];
        let held = |bytes| second.held(Bytes::new(bytes));
        match (level, second.ways) {
            (Level::L1 | Level::Dram, _) => [0, 0],
            (Level::L2 | Level::L3, None) => [held(data.room + data.bytes); 2],
            (Level::L2 | Level::L3, Some(_)) => {
                // A set that the scattered side uses gets more lines than others: as many as if all
                // sets were used like it.
                let (touched, rest) = (data.touched.max(1), data.of_page - data.touched);
                let among = held(data.bytes + data.room * data.of_page / touched);
                let alone = held(data.bytes);
                [among, (among * touched + alone * rest) / data.of_page]
            }
        }
    }

    /// The bytes that move on the scattered and on the packed side: what is written is read before.
    fn moved(&self, data: &Scattered, way: Way) -> [u128; 2] {
        let (scattered, packed) = (u128::from(data.lines), u128::from(data.bytes));
        let again = u128::from(self.copy_traffic - 1);
        match way {
            Way::Gather => [scattered, again * packed],
            Way::Scatter => [again * scattered, packed],
        }
    }

    /// The time of bytes that move on either side, at the rates of copies.
    fn traffic(&self, [scattered, packed]: [u128; 2], level: Level, held: [u64; 2]) -> TimeDelta {
        let all = scattered + packed;
        let near = (scattered * u128::from(held[0]) + packed * u128::from(held[1])) / WHOLE;
        let time = |rate: Bandwidth, bytes: u128| {
            let bytes = bytes.div_ceil(u128::from(self.copy_traffic));
            rate.transfer_time(Bytes::new(u64::try_from(bytes).expect("a few times a layout")))
        };
        match level {
            Level::L1 => time(self.copy_in_first, all),
            Level::L2 | Level::L3 => time(self.copy[0], near) + time(self.copy[1], all - near),
            Level::Dram => time(self.copy[2], all),
        }
    }
}

#[cfg(test)]
mod tests;
