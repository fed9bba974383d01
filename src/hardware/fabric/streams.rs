//! Flows that cross a resource and are limited elsewhere: their segments come one by one.
//!
//! Flows that one other resource limits take turns there, so their segments come evenly, one after
//! the other: they are a stream, in step with the turns of that resource. Segments of different
//! streams sometimes come together: then a packet waits for several.

use super::arena::NONE;

/// Most streams that are told apart.
/// Method: where more meet, each of these stands for several.
const MOST: usize = 8;

/// The flows that one resource limits, and that came over the same link.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// The resource before this one on the path; `NONE` where several streams are joined.
    previous: u32,
    limit: u32,
    /// Payload per picosecond, in 2^-40 byte.
    rate: u64,
    /// From one segment to the next, in picoseconds.
    period: u64,
    /// How long before the streams' origin a segment came.
    before: u64,
    /// How long ago a segment came, for the packet that asks.
    age: u64,
}

impl Stream {
    /// Segments that came until `since` after the origin.
    const fn came(&self, since: u64) -> u64 {
        (since + self.before) / self.period
    }

    /// Those of its last two segments that came at most `ago` before now.
    fn came_within(&self, ago: u64) -> u64 {
        u64::from(self.age <= ago) + u64::from(self.age + self.period <= ago)
    }
}

/// A flow that passes by.
pub(super) struct Passer {
    /// The resource before this one on its path.
    pub(super) previous: u32,
    /// The resource that limits it.
    pub(super) limit: u32,
    /// Payload per picosecond, in 2^-40 byte, and what it weighs here.
    pub(super) rate: u64,
    pub(super) load: u64,
}

/// All flows that pass by a resource, since the last solve.
#[derive(Debug, Default)]
pub(super) struct Streams {
    all: Vec<Stream>,
    flows: u32,
    /// The last solve.
    origin: u64,
    /// The flows have other rates since the streams were gathered.
    is_stale: bool,
    /// Service of one segment, in picoseconds: the mean, where their weights differ.
    segment: u64,
    /// Segments that came until then stand in the ring, or were served.
    seen: u64,
}

impl Streams {
    /// Flows have other rates from `now` on.
    pub(super) const fn change(&mut self, now: u64) {
        self.origin = now;
        self.is_stale = true;
    }

    pub(super) const fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// Gathers the flows that pass by in segments of `mtu` bytes; `capacity` is that of the resource,
    /// in 2^-40 byte per picosecond.
    pub(super) fn gather(&mut self, flows: impl Iterator<Item = Passer>, mtu: u64, capacity: u64) {
        self.is_stale = false;
        self.all.clear();
        self.flows = 0;
        let (mut payload, mut raw) = (0_u128, 0_u128);
        for Passer { previous, limit, rate, load } in flows {
            self.flows += 1;
            payload += u128::from(rate);
            raw += u128::from(load);
            let is_same = |other: &Stream| (other.previous, other.limit) == (previous, limit);
            if let Some(place) = self.all.iter().rposition(is_same) {
                self.all[place].rate += rate;
            } else {
                self.all.push(Stream { previous, limit, rate, period: 0, before: 0, age: 0 });
            }
        }
        self.join_beyond_most();
        let segment = (u128::from(mtu) << 40) * raw / (payload * u128::from(capacity)).max(1);
        self.segment = u64::try_from(segment).expect("an MTU is served within 213 days");
        for stream in &mut self.all {
            let period = (u128::from(mtu) << 40) / u128::from(stream.rate);
            stream.period = u64::try_from(period).expect("an MTU passes within 213 days").max(1);
        }
    }

    /// Puts the streams in step with the turns of their limits: one began there at `turn_of(limit)`.
    pub(super) fn align(&mut self, turn_of: impl Fn(u32) -> u64) {
        for stream in &mut self.all {
            let turn = turn_of(stream.limit);
            let early = self.origin.saturating_sub(turn);
            let late = turn.saturating_sub(self.origin) % stream.period;
            stream.before = if late > 0 { stream.period - late } else { early % stream.period };
        }
    }

    fn join_beyond_most(&mut self) {
        if self.all.len() <= MOST {
            return;
        }
        self.all.sort_unstable_by_key(|stream| (stream.previous, stream.limit));
        for place in MOST..self.all.len() {
            let Stream { previous, rate, .. } = self.all[place];
            let joined = &mut self.all[place % MOST];
            joined.rate += rate;
            if joined.previous != previous {
                joined.previous = NONE;
            }
        }
        self.all.truncate(MOST);
    }

    /// Whether flows came over `previous`.
    pub(super) fn come_over(&self, previous: u32) -> bool {
        previous != NONE && self.all.iter().any(|stream| stream.previous == previous)
    }

    /// Time that the segments which came until `now` still need. Those that came over `previous` are
    /// in line with the packet that asks, and not ahead of it.
    pub(super) fn unfinished(&mut self, now: u64, previous: u32) -> u64 {
        let since = now - self.origin;
        for stream in &mut self.all {
            stream.age = (since + stream.before) % stream.period;
        }
        let ahead = |stream: &&Stream| previous == NONE || stream.previous != previous;
        let mut longest = 0;
        for first in self.all.iter().filter(ahead) {
            for ago in [first.age, first.age + first.period] {
                let came = self.all.iter().filter(ahead).map(|stream| stream.came_within(ago));
                let work = came.sum::<u64>() * self.segment;
                longest = longest.max(work.saturating_sub(ago));
            }
        }
        longest
    }

    /// Segments that came before `now` are accounted for.
    pub(super) const fn see(&mut self, now: u64) {
        self.seen = now;
    }

    /// Segments that came since the last account, at most one of each flow: it stands in the ring
    /// once.
    pub(super) fn newly_come(&mut self, now: u64) -> u32 {
        let seen = self.seen.max(self.origin);
        self.seen = self.seen.max(now);
        if seen >= now {
            return 0;
        }
        let come =
            |stream: &Stream| stream.came(now - self.origin) - stream.came(seen - self.origin);
        let all: u64 = self.all.iter().map(come).sum();
        u32::try_from(all).unwrap_or(u32::MAX).min(self.flows)
    }

    pub(super) const fn flows(&self) -> u32 {
        self.flows
    }

    /// Time of `count` segments.
    pub(super) fn service(&self, count: u32) -> u64 {
        self.segment * u64::from(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: u64 = 4096;

    /// Streams of these limits, each at `rate` of 1 B/ps, at a resource of 1 B/ps.
    fn streams(limits: &[u32], rate: (u64, u64)) -> Streams {
        let mut streams = Streams::default();
        streams.change(0);
        let rate = (1 << 40) * rate.0 / rate.1;
        let passer = |&limit| Passer { previous: NONE, limit, rate, load: rate };
        streams.gather(limits.iter().map(passer), MTU, 1 << 40);
        streams
    }

    fn mean_unfinished(streams: &mut Streams) -> u64 {
        let times = 1000 * MTU..1100 * MTU;
        let count = times.end - times.start;
        times.map(|now| streams.unfinished(now, NONE)).sum::<u64>() / count
    }

    /// A packet finds one stream of load u under way with probability u, and waits for half of its
    /// segment.
    #[test]
    fn one_stream_delays_by_its_load_times_half_a_segment() {
        let found = mean_unfinished(&mut streams(&[0], (1, 2)));
        assert_eq!(found, MTU / 4);
    }

    /// Flows of one limit take turns: two that are half as fast are one stream.
    #[test]
    fn flows_of_one_limit_do_not_meet() {
        let found = mean_unfinished(&mut streams(&[0, 0], (1, 4)));
        assert_eq!(found, MTU / 4);
    }

    /// Two streams of different limits and periods meet at every place: half of a segment more than
    /// for either alone where they overlap. With periods of 4 and 4.1 segments: u S/2 for each and,
    /// where the second came while the first was served (probability 1/4), half a segment more for a
    /// quarter of the time.
    #[test]
    fn independent_streams_sometimes_wait_for_each_other() {
        let mut both = streams(&[0, 0], (1, 4));
        both.all[0].rate /= 2;
        both.all.push(Stream { limit: 1, before: 0, period: 4 * MTU + MTU / 10, ..both.all[0] });
        both.all[0].period = 4 * MTU;
        let one = MTU / 8;
        let found = mean_unfinished(&mut both);
        assert!(found > 2 * one + one / 8, "{found} against {}", 2 * one);
        assert!(found < 3 * one, "{found} against {}", 3 * one);
    }

    /// Each segment joins the ring once, however often it is asked.
    #[test]
    fn segments_come_once_each_period() {
        let mut streams = streams(&[0, 1], (1, 8));
        streams.see(1000 * MTU);
        let asked = (0..100).map(|step| streams.newly_come(1000 * MTU + step * MTU / 3));
        let come: u32 = asked.sum();
        assert!((8..=9).contains(&come), "33 MTU times hold four segments of each: {come}");
        assert_eq!(streams.newly_come(1000 * MTU), 0);
    }

    #[test]
    fn many_streams_are_joined_and_lose_no_load() {
        let limits: Vec<u32> = (0..20).collect();
        let streams = streams(&limits, (1, 40));
        assert_eq!(streams.all.len(), MOST);
        let rate: u64 = streams.all.iter().map(|stream| stream.rate).sum();
        assert_eq!(rate, (1 << 40) / 40 * 20);
        assert_eq!(streams.flows(), 20);
    }
}
