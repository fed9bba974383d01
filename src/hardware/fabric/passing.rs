//! Flows that cross a resource and are limited elsewhere: their segments come one by one.
//!
//! Flows that one other resource limits take turns there, so that their segments come here evenly,
//! one after the other. Segments of different resources come independently, and sometimes
//! together: then a packet waits for several. How the turns of two resources lie to each other is
//! not known; each begins at a place of its own.

use super::arena::NONE;

/// More streams than these are told apart no longer.
const MOST: usize = 8;

/// The segments of the flows that one resource limits, and that came over one link.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// The resource before this one on the path.
    previous: u32,
    /// The resource that limits them.
    limit: u32,
    /// Raw bytes per picosecond, in 2^-40 byte.
    load: u64,
    /// From one segment to the next, and how long before the origin the last one came.
    period: u64,
    before: u64,
}

impl Stream {
    /// How long ago its last segment came, `since` after the origin.
    const fn age(&self, since: u64) -> u64 {
        (since + self.before) % self.period
    }

    /// Segments that came until `since` after the origin.
    const fn came(&self, since: u64) -> u64 {
        (since + self.before) / self.period
    }
}

/// All flows that pass by a resource; set by the solver.
#[derive(Debug, Default)]
pub(super) struct Passing {
    streams: Vec<Stream>,
    /// Raw bytes per picosecond of all, in 2^-40 byte.
    load: u64,
    /// Flows.
    flows: u32,
    origin: u64,
    /// Segments that came before this were counted.
    seen: u64,
}

impl Passing {
    /// Raw bytes per picosecond, in 2^-40 byte.
    pub(super) const fn load(&self) -> u64 {
        self.load
    }

    /// Flows that pass by: as many segments may wait at once.
    pub(super) const fn flows(&self) -> u32 {
        self.flows
    }

    pub(super) fn clear(&mut self) {
        self.streams.clear();
        (self.load, self.flows) = (0, 0);
    }

    /// Adds a flow of `load` that comes over `previous` and is limited at `limit`.
    pub(super) fn add(&mut self, previous: u32, limit: u32, load: u64) {
        self.load += load;
        self.flows += 1;
        let same = |stream: &Stream| (stream.previous, stream.limit) == (previous, limit);
        if let Some(place) = self.streams.iter().rposition(same) {
            self.streams[place].load += load;
        } else {
            self.streams.push(Stream { previous, limit, load, period: 0, before: 0 });
        }
    }

    /// Says from when on the streams come, and how.
    pub(super) fn come(&mut self, now: u64, mtu: u64) {
        self.origin = now;
        self.seen = self.seen.max(now);
        if self.streams.len() > MOST {
            self.streams.sort_unstable_by_key(|stream| (stream.previous, stream.limit));
            for place in MOST..self.streams.len() {
                let Stream { previous, load, .. } = self.streams[place];
                let joined = &mut self.streams[place % MOST];
                joined.load += load;
                if joined.previous != previous {
                    joined.previous = NONE;
                }
            }
            self.streams.truncate(MOST);
        }
        for stream in &mut self.streams {
            let period = (u128::from(mtu) << 40) / u128::from(stream.load.max(1));
            stream.period = u64::try_from(period).unwrap_or(u64::MAX >> 1).max(1);
            let place = stream.limit.wrapping_mul(0x9e37_79b9);
            stream.before = ((u128::from(stream.period) * u128::from(place)) >> 32) as u64;
        }
    }

    /// Load of the flows that came over `previous`.
    pub(super) fn load_from(&self, previous: u32) -> u64 {
        let same = self.streams.iter().filter(|s| previous != NONE && s.previous == previous);
        same.map(|stream| stream.load).sum()
    }

    /// Time that the segments which came until `now` still need, a `segment` each; those over
    /// `previous` do not count.
    pub(super) fn unfinished(&mut self, now: u64, previous: u32, segment: u64) -> u64 {
        self.seen = now;
        let since = now - self.origin;
        let counts = |stream: &Stream| previous == NONE || stream.previous != previous;
        let streams = || self.streams.iter().filter(|stream| counts(stream));
        let most = 2 * streams().count() as u64 * segment;
        let mut unfinished = 0;
        for first in streams() {
            let age = first.age(since);
            for back in [age, age + first.period] {
                if back >= most { continue; }
                let came: u64 = streams()
                    .map(|s| if back < s.age(since) { 0 } else { 1 + (back - s.age(since)) / s.period })
                    .sum();
                unfinished = unfinished.max((came * segment).saturating_sub(back));
            }
        }
        unfinished
    }

    /// Segments that came since the last call.
    pub(super) fn newly_come(&mut self, now: u64) -> u32 {
        let seen = self.seen;
        self.seen = now.max(seen);
        if seen >= now { return 0; }
        let came = |stream: &Stream| stream.came(now - self.origin) - stream.came(seen.max(self.origin) - self.origin);
        let all: u64 = self.streams.iter().map(came).sum();
        u32::try_from(all).unwrap_or(u32::MAX).min(self.flows)
    }
    pub(super) fn see(&mut self, now: u64) { self.seen = now; }
}
