//! Cores: where processes run, how hardware threads of one core share it, and what disturbs them.
//!
//! Left out: a stretch of work keeps the share it began with, so a sibling that starts or ends
//! meanwhile is felt by the next stretch. Noticeable only in stretches longer than a call. Threads
//! that poll, or wait for a lock, take no issue slots from their siblings. Noticeable where more
//! processes wait than there are cores.

use super::profile::{Cpu, Ratio};
use units::{Time, TimeDelta};

/// The hardware thread that a software thread is pinned to.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Place {
    /// Node of the machine.
    pub node: u32,
    /// Socket of the node.
    pub socket: u32,
    /// Core of the socket.
    pub core: u32,
    /// Hardware thread of the core.
    pub thread: u32,
}

/// Distance between two places; nearest first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Distance {
    /// Hardware threads of one core, or the same one.
    SameCore,
    /// Cores of one tile: they share a cache closer than their socket's.
    SameTile,
    /// Cores of one socket.
    SameSocket,
    /// Sockets of one node.
    CrossSocket,
    /// Different nodes.
    OtherNode,
}

impl Place {
    /// The core, as its first hardware thread: all of them share its caches.
    #[must_use]
    pub const fn of_core(self) -> Self {
        Self { thread: 0, ..self }
    }

    /// The tile of this core's socket, of `cores_per_tile` cores each, numbered from 0.
    pub const fn tile(self, cores_per_tile: u32) -> u32 {
        self.core / cores_per_tile
    }

    /// Distance from here to `other`, on sockets whose tiles have `cores_per_tile` cores.
    pub fn distance(self, other: Self, cores_per_tile: u32) -> Distance {
        if self.node != other.node {
            Distance::OtherNode
        } else if self.socket != other.socket {
            Distance::CrossSocket
        } else if self.tile(cores_per_tile) != other.tile(cores_per_tile) {
            Distance::SameSocket
        } else if self.core != other.core {
            Distance::SameTile
        } else {
            Distance::SameCore
        }
    }
}

/// The order in which processes fill nodes and sockets.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Scheme {
    /// Node after node in equal parts, and inside a node socket after socket.
    #[default]
    Block,
    /// As `Block`, but each node takes so many processes before the next one has any.
    Fill(u32),
    /// Round-robin over nodes, and inside a node round-robin over sockets.
    Cyclic,
}

/// Which hardware threads of a node are used first.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Pinning {
    /// A second hardware thread of a core only when all cores of the node have one.
    #[default]
    Scatter,
    /// All hardware threads of a core before the next core.
    Compact,
    /// As `Scatter`, each core on another socket than the one before.
    Sockets,
    /// As `Scatter`, each core on another tile than the one before.
    Tiles,
}

/// More threads than the machine has hardware threads.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "{per_node} processes of {threads} threads on a node need {needed} hardware threads; it has {available}"
)]
pub struct PlacementError {
    /// Processes of the fullest node.
    pub per_node: u32,
    /// Threads of each.
    pub threads: u32,
    /// Their product.
    pub needed: u64,
    /// Hardware threads of a node.
    pub available: u64,
}

/// Where every thread of a job runs: each on a hardware thread of its own.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Placement {
    nodes: u32,
    per_node: u32,
    threads: u32,
    sockets: u32,
    cores_per_socket: u32,
    cores_per_tile: u32,
    smt: u32,
    scheme: Scheme,
    pinning: Pinning,
}

impl Placement {
    /// Places `processes` of `threads` threads each on `nodes` nodes of such cores, a core for each
    /// thread as long as there are any.
    ///
    /// # Errors
    ///
    /// [`PlacementError`] where a node would need more hardware threads than it has.
    ///
    /// # Panics
    ///
    /// Without nodes, processes or threads, or with nodes that take too few; validation refuses such a job.
    pub fn new(
        cpu: &Cpu,
        nodes: u32,
        processes: u32,
        threads: u32,
        scheme: Scheme,
    ) -> Result<Self, PlacementError> {
        assert!(nodes > 0 && processes > 0 && threads > 0, "a job runs somewhere");
        let per_node = match scheme {
            Scheme::Block | Scheme::Cyclic => processes.div_ceil(nodes),
            Scheme::Fill(per_node) => per_node.min(processes),
        };
        assert!(
            processes.div_ceil(per_node) <= nodes,
            "{nodes} nodes take {per_node} processes each"
        );
        let needed = u64::from(per_node) * u64::from(threads);
        let cores = u64::from(cpu.sockets) * u64::from(cpu.cores_per_socket);
        let available = cores * u64::from(cpu.smt);
        if needed > available {
            return Err(PlacementError { per_node, threads, needed, available });
        }
        let (sockets, cores_per_socket, smt) = (cpu.sockets, cpu.cores_per_socket, cpu.smt);
        let (cores_per_tile, pinning) = (cpu.cores_per_tile, Pinning::default());
        Ok(Self {
            nodes,
            per_node,
            threads,
            sockets,
            cores_per_socket,
            cores_per_tile,
            smt,
            scheme,
            pinning,
        })
    }

    /// The same threads on hardware threads in another order.
    #[must_use]
    pub const fn pinned(self, pinning: Pinning) -> Self {
        Self { pinning, ..self }
    }

    /// Where `thread` of `process` runs.
    ///
    /// # Panics
    ///
    /// When the process has no such thread.
    pub fn place(&self, process: u32, thread: u32) -> Place {
        assert!(thread < self.threads, "thread {thread} of a process with {}", self.threads);
        let (node, local) = match self.scheme {
            Scheme::Block | Scheme::Fill(_) => (process / self.per_node, process % self.per_node),
            Scheme::Cyclic => (process % self.nodes, process / self.nodes),
        };
        assert!(node < self.nodes && local < self.per_node, "process {process} is of this job");
        let slot = local * self.threads + thread;
        let cores = self.sockets * self.cores_per_socket;
        let (core, thread) = match self.pinning {
            Pinning::Compact => (slot / self.smt, slot % self.smt),
            Pinning::Scatter => (slot % cores, slot / cores),
            Pinning::Sockets => (in_turn(slot % cores, self.cores_per_socket, cores), slot / cores),
            Pinning::Tiles => (in_turn(slot % cores, self.cores_per_tile, cores), slot / cores),
        };
        let (socket, core) = match self.scheme {
            Scheme::Block | Scheme::Fill(_) => {
                (core / self.cores_per_socket, core % self.cores_per_socket)
            }
            Scheme::Cyclic => (core % self.sockets, core / self.sockets),
        };
        Place { node, socket, core, thread }
    }

    /// A number of its own for every core of the job, from 0 without gaps.
    pub fn core_index(&self, place: Place) -> usize {
        let socket = place.node as usize * self.sockets as usize + place.socket as usize;
        socket * self.cores_per_socket as usize + place.core as usize
    }

    /// Cores of all nodes: one more than the largest [`Self::core_index`].
    pub fn cores(&self) -> usize {
        self.nodes as usize * self.sockets as usize * self.cores_per_socket as usize
    }
}

/// Core number `index` of `cores`, where one core of each group comes first, then the second ones.
const fn in_turn(index: u32, group: u32, cores: u32) -> u32 {
    let (mut left, mut within) = (index, 0);
    loop {
        // The last group may be short.
        let groups = (cores - within).div_ceil(group);
        if left < groups {
            return left * group + within;
        }
        left -= groups;
        within += 1;
    }
}

/// The hardware threads that work on each core, and what that does to the time of their work.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct IssueSlots {
    /// Part of a core that one hardware thread can use.
    share: Ratio,
    /// Working hardware threads, by core.
    working: Vec<u16>,
}

impl IssueSlots {
    /// `cores` idle cores.
    pub fn new(cpu: &Cpu, cores: usize) -> Self {
        Self { share: cpu.smt_share, working: vec![0; cores] }
    }

    /// A hardware thread of `core` begins `work`: the time it will take, with its siblings as they
    /// are now.
    pub fn begin(&mut self, core: usize, work: TimeDelta) -> TimeDelta {
        self.working[core] += 1;
        shared(work, self.share, u64::from(self.working[core]))
    }

    /// The time of `work` on `core` with the siblings that work there now.
    pub fn stretched(&self, core: usize, work: TimeDelta) -> TimeDelta {
        shared(work, self.share, u64::from(self.working[core]))
    }

    /// A hardware thread of `core` ended its work.
    ///
    /// # Panics
    ///
    /// When none was working.
    pub fn end(&mut self, core: usize) {
        let working = &mut self.working[core];
        *working = working.checked_sub(1).expect("work that ends was begun");
    }
}

/// The time of `work` on a core with `working` hardware threads, each able to use `share` of it.
pub fn shared(work: TimeDelta, share: Ratio, working: u64) -> TimeDelta {
    let demand = share.as_ppm() * working;
    let whole = Ratio::ONE.as_ppm();
    if demand <= whole { work } else { work.scaled(demand, whole) }
}

/// A uniform draw from 0 up to, and without, `bound`.
fn below(bound: u64, draw: &mut impl FnMut() -> u64) -> u64 {
    let high = (u128::from(draw()) * u128::from(bound)) >> 64;
    u64::try_from(high).expect("the upper half of a product of two 64-bit numbers")
}

/// How much later than the first a process starts: uniform between zero and `longest`.
pub fn start_skew(longest: TimeDelta, draw: &mut impl FnMut() -> u64) -> TimeDelta {
    TimeDelta::from_ps(below(longest.as_ps() + 1, draw))
}

/// The operating system takes a core for `length` in every `period`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Noise {
    period: u64,
    length: u64,
    /// From the start of the first interruption that begins at or after zero.
    phase: u64,
}

impl Noise {
    /// Interruptions of `length` that begin at `phase`, `phase + period`, ... and, as if they had
    /// always been there, before.
    ///
    /// # Panics
    ///
    /// When nothing of a period is left for work; validation refuses such a profile.
    pub fn new(period: TimeDelta, length: TimeDelta, phase: TimeDelta) -> Self {
        assert!(length < period, "an interruption is shorter than its period");
        let period = period.as_ps();
        Self { period, length: length.as_ps(), phase: phase.as_ps() % period }
    }

    /// The same with a drawn phase: each core has its own.
    pub fn drawn(period: TimeDelta, length: TimeDelta, draw: &mut impl FnMut() -> u64) -> Self {
        Self::new(period, length, TimeDelta::from_ps(below(period.as_ps(), draw)))
    }

    /// When `work` that begins at `start` is done, interruptions included.
    pub fn end_of(&self, start: Time, work: TimeDelta) -> Time {
        if work == TimeDelta::ZERO {
            return start;
        }
        let shift = self.period - self.phase;
        let free = self.period - self.length;
        let wanted = self.free_until(start) + work.as_ps();
        let periods = (wanted - 1) / free;
        Time::from_ps(periods * self.period + self.length + (wanted - periods * free) - shift)
    }

    /// Time left for work between two moments.
    pub fn free_between(&self, from: Time, until: Time) -> TimeDelta {
        TimeDelta::from_ps(self.free_until(until) - self.free_until(from))
    }

    /// Time that was left for work until `now`, on a clock where an interruption begins at every multiple of the
    /// period.
    const fn free_until(&self, now: Time) -> u64 {
        let now = now.as_ps() + self.period - self.phase;
        let free = self.period - self.length;
        now / self.period * free + (now % self.period).saturating_sub(self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(sockets: u32, cores_per_socket: u32, smt: u32, share_ppm: u64) -> Cpu {
        Cpu {
            sockets,
            cores_per_socket,
            cores_per_tile: 1,
            smt,
            clock: units::Frequency::from_hz(1_000_000_000),
            in_order: false,
            sw_scale: Ratio::ONE,
            smt_share: Ratio::from_ppm(share_ppm),
        }
    }

    #[track_caller]
    fn check_places(placement: &Placement, expected: &[(u32, u32, u32, u32)]) {
        for (process, &(node, socket, core, thread)) in (0..).zip(expected) {
            let place = placement.place(process, 0);
            assert_eq!(place, Place { node, socket, core, thread }, "process {process}");
        }
    }

    #[test]
    fn block_fills_a_node_and_cyclic_deals_round() {
        let cpu = cpu(2, 2, 2, 1_000_000);
        let block = Placement::new(&cpu, 2, 12, 1, Scheme::Block).unwrap();
        let first = [(0, 0, 0, 0), (0, 0, 1, 0), (0, 1, 0, 0), (0, 1, 1, 0), (0, 0, 0, 1)];
        check_places(&block, &first);
        assert_eq!(block.place(6, 0), Place { node: 1, socket: 0, core: 0, thread: 0 });
        let cyclic = Placement::new(&cpu, 2, 12, 1, Scheme::Cyclic).unwrap();
        let first = [(0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (1, 1, 0, 0), (0, 0, 1, 0)];
        check_places(&cyclic, &first);
    }

    #[test]
    fn compact_fills_a_core_before_the_next() {
        let cpu = cpu(2, 2, 4, 500_000);
        let placement = Placement::new(&cpu, 1, 3, 2, Scheme::Block).unwrap();
        let place = |pinning: Pinning, process, thread| {
            let place = placement.clone().pinned(pinning).place(process, thread);
            (place.socket, place.core, place.thread)
        };
        let slots = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)];
        let all = |pinning| slots.map(|(process, thread)| place(pinning, process, thread));
        let scattered = [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0), (0, 0, 1), (0, 1, 1)];
        assert_eq!(all(Pinning::Scatter), scattered);
        let compact = [(0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 0, 3), (0, 1, 0), (0, 1, 1)];
        assert_eq!(all(Pinning::Compact), compact);
    }

    #[test]
    fn sockets_and_tiles_are_taken_in_turn() {
        let cpu = Cpu { cores_per_tile: 2, ..cpu(2, 4, 1, 1_000_000) };
        let placement = Placement::new(&cpu, 1, 8, 1, Scheme::Block).unwrap();
        let places = |pinning| {
            let placement = placement.clone().pinned(pinning);
            (0..8).map(|process| placement.place(process, 0)).collect::<Vec<_>>()
        };
        let numbers = |pinning| {
            let numbered = places(pinning).into_iter().map(|place| 4 * place.socket + place.core);
            numbered.collect::<Vec<_>>()
        };
        assert_eq!(numbers(Pinning::Sockets), [0, 4, 1, 5, 2, 6, 3, 7]);
        assert_eq!(numbers(Pinning::Tiles), [0, 2, 4, 6, 1, 3, 5, 7]);
        let [first, second] = [0, 1].map(|process| places(Pinning::Tiles)[process]);
        assert_eq!(first.distance(second, 2), Distance::SameSocket);
        // The last tile of a socket with an odd number of cores has one.
        assert_eq!((0..5).map(|core| in_turn(core, 2, 5)).collect::<Vec<_>>(), [0, 2, 4, 1, 3]);
    }

    #[test]
    fn every_thread_has_a_hardware_thread_of_its_own() {
        let all = [Pinning::Scatter, Pinning::Compact, Pinning::Sockets, Pinning::Tiles];
        let orders = [Scheme::Block, Scheme::Cyclic].map(|scheme| all.map(|one| (scheme, one)));
        for (scheme, pinning) in orders.into_iter().flatten() {
            for (nodes, processes, threads) in [(1, 16, 1), (2, 8, 3), (3, 7, 2), (2, 5, 5)] {
                let cpu = cpu(2, 4, 2, 1_000_000);
                let placement = Placement::new(&cpu, nodes, processes, threads, scheme).unwrap();
                let placement = placement.pinned(pinning);
                let mut places = std::collections::BTreeSet::new();
                for process in 0..processes {
                    for thread in 0..threads {
                        let place = placement.place(process, thread);
                        assert!(place.socket < 2 && place.core < 4 && place.thread < 2);
                        assert!(placement.core_index(place) < placement.cores());
                        assert!(places.insert(place), "{place:?} twice");
                    }
                }
            }
        }
    }

    #[test]
    fn a_node_is_full_before_the_next_one_has_processes() {
        let nodes = |scheme| {
            let placement = Placement::new(&cpu(2, 4, 1, 1_000_000), 2, 5, 1, scheme).unwrap();
            [0, 1, 2, 3, 4].map(|process| placement.place(process, 0).node)
        };
        assert_eq!(nodes(Scheme::Fill(4)), [0, 0, 0, 0, 1]);
        assert_eq!(nodes(Scheme::Block), [0, 0, 0, 1, 1]);
        assert_eq!(nodes(Scheme::Cyclic), [0, 1, 0, 1, 0]);
    }

    #[test]
    fn a_job_that_does_not_fit_is_refused() {
        let refused = Placement::new(&cpu(1, 60, 4, 500_000), 2, 482, 1, Scheme::Block);
        assert_eq!(
            refused.unwrap_err().to_string(),
            "241 processes of 1 threads on a node need 241 hardware threads; it has 240"
        );
    }

    #[test]
    fn distance_grows_from_core_to_node() {
        let here = Place { node: 0, socket: 0, core: 0, thread: 0 };
        let next = Place { core: 1, ..here };
        assert_eq!(here.distance(Place { thread: 1, ..here }, 2), Distance::SameCore);
        assert_eq!(here.distance(next, 2), Distance::SameTile);
        assert_eq!(here.distance(next, 1), Distance::SameSocket);
        assert_eq!(next.distance(Place { core: 2, ..here }, 2), Distance::SameSocket);
        assert_eq!(here.distance(Place { socket: 1, ..here }, 2), Distance::CrossSocket);
        assert_eq!(here.distance(Place { node: 1, ..here }, 2), Distance::OtherNode);
    }

    #[test]
    fn two_threads_of_an_every_other_cycle_core_run_at_full_speed() {
        let mut slots = IssueSlots::new(&cpu(1, 2, 4, 500_000), 2);
        let work = TimeDelta::from_ns(100);
        let times: Vec<_> = (0..4).map(|_| slots.begin(0, work).as_ps() / 1_000).collect();
        assert_eq!(times, [100, 100, 150, 200]);
        assert_eq!(slots.begin(1, work), work, "another core is its own");
        for _ in 0..3 {
            slots.end(0);
        }
        assert_eq!(slots.begin(0, work), work);
    }

    #[test]
    fn a_core_that_one_thread_fills_is_divided_evenly() {
        let work = TimeDelta::from_ns(100);
        for working in 1..=4 {
            assert_eq!(shared(work, Ratio::ONE, working), work * working);
        }
        assert_eq!(shared(work, Ratio::from_ppm(800_000), 2), TimeDelta::from_ns(160));
    }

    const PERIOD: u64 = 1_000;
    const LENGTH: u64 = 50;

    fn noise(phase: u64) -> Noise {
        let ps = TimeDelta::from_ps;
        Noise::new(ps(PERIOD), ps(LENGTH), ps(phase))
    }

    /// Walks through the interruptions picosecond by picosecond.
    fn walked(phase: u64, start: u64, work: u64) -> u64 {
        let taken = |t: u64| (t + PERIOD - phase) % PERIOD < LENGTH;
        let (mut now, mut left) = (start, work);
        while left > 0 {
            left -= u64::from(!taken(now));
            now += 1;
        }
        now
    }

    #[test]
    fn noise_stretches_exactly_the_work_that_it_crosses() {
        for phase in [0, 1, 49, 50, 500, 970, 999] {
            for start in [0, 1, 20, 49, 50, 51, 499, 949, 950, 999, 1_000, 12_345] {
                for work in [0, 1, 2, 49, 900, 950, 951, 1_900, 5_000] {
                    let end =
                        noise(phase).end_of(Time::from_ps(start), TimeDelta::from_ps(work)).as_ps();
                    assert_eq!(end, walked(phase, start, work), "{phase} {start} {work}");
                }
            }
        }
    }

    #[test]
    fn long_work_is_stretched_by_the_share_that_noise_takes() {
        let free = PERIOD - LENGTH;
        let end = noise(0).end_of(Time::ZERO, TimeDelta::from_ps(free * 1_000_000));
        assert_eq!(end, Time::from_ps(PERIOD * 1_000_000));
    }

    #[test]
    fn work_in_pieces_ends_when_it_ends_as_a_whole() {
        let noise = noise(333);
        let mut now = Time::from_ps(17);
        for _ in 0..500 {
            now = noise.end_of(now, TimeDelta::from_ps(7));
        }
        assert_eq!(now, noise.end_of(Time::from_ps(17), TimeDelta::from_ps(3_500)));
    }

    #[test]
    fn draws_cover_their_range_evenly() {
        let longest = TimeDelta::from_ps(9);
        assert_eq!(start_skew(longest, &mut || 0), TimeDelta::ZERO);
        assert_eq!(start_skew(longest, &mut || u64::MAX), longest);
        assert_eq!(start_skew(TimeDelta::ZERO, &mut || u64::MAX), TimeDelta::ZERO);
        let mut steps = 0_u64;
        let mut counts = [0; 10];
        for _ in 0..1_000 {
            let skew = start_skew(longest, &mut || {
                steps += 1;
                steps * (u64::MAX / 1_001)
            });
            counts[usize::try_from(skew.as_ps()).unwrap()] += 1;
        }
        assert!(counts.iter().all(|count| (99..=101).contains(count)), "{counts:?}");
        let half =
            Noise::drawn(TimeDelta::from_ps(PERIOD), TimeDelta::from_ps(LENGTH), &mut || 1 << 63);
        assert_eq!(half, noise(PERIOD / 2));
    }
}
