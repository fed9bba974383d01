use super::*;
use crate::cluster::Cluster;
use crate::fabric::{ConnId, FabricEvent, Schedule, Transfer};
use crate::profile::least;
use crate::topology::{Shape, Topology};
use units::{Bandwidth, Time};

/// Two sockets of 14 cores: 65 GB/s of memory each, three bytes of traffic for each byte copied.
const TWO_SOCKETS: [(&str, &str); 10] = [
    ("cpu.sockets", "2"),
    ("cpu.cores_per_socket", "14"),
    ("mem.socket_bw", "65 GB/s"),
    ("mem.intersocket_bw", "30 GB/s"),
    ("mem.core_copy_bw", "14 GB/s"),
    ("mem.core_copy_bw_dram", "6 GB/s"),
    ("mem.core_copy_bw_remote", "5 GB/s"),
    ("mem.copy_traffic", "3"),
    ("cache.l2_size", "256 KiB"),
    ("cache.l3_size", "35 MiB"),
];
/// Tiles of two cores, which copy 4 GB/s alone and 6 GB/s together; no last level.
const TILES: [(&str, &str); 8] = [
    ("cpu.cores_per_socket", "68"),
    ("cpu.cores_per_tile", "2"),
    ("mem.socket_bw", "90 GB/s"),
    ("mem.core_copy_bw", "4 GB/s"),
    ("mem.copy_traffic", "3"),
    ("cache.l1d_size", "32 KiB"),
    ("cache.l2_size", "1 MiB"),
    ("cache.l2_tile_copy_bw", "6 GB/s"),
];

fn site(socket: u32, core: u32) -> Place {
    Place { node: 0, socket, core, thread: 0 }
}

/// Events of one run, the earliest first.
#[derive(Default)]
struct Calendar(Vec<(Time, FabricEvent)>);

impl Schedule for Calendar {
    fn at(&mut self, time: Time, _: ResourceId, event: FabricEvent) {
        self.0.push((time, event));
    }
}

impl Calendar {
    fn next(&mut self) -> Option<(Time, FabricEvent)> {
        let first = (0..self.0.len()).min_by_key(|&index| self.0[index].0)?;
        Some(self.0.remove(first))
    }
}

/// One node of these values, and the cores that begin these copies of `bytes` at the same time.
fn cluster_of(values: &[(&str, &str)], copies: &[CoreCopy]) -> Cluster {
    let sites: Vec<Place> = copies.iter().map(|copy| copy.core).collect();
    let topology = Topology::new(Shape::default(), 1).unwrap();
    let far = copies.iter().any(|copy| copy.side() == Side::Remote);
    let make = if far { Cluster::with_far_copies } else { Cluster::new };
    make(&least::but(values), topology, &sites)
}

/// When each copy of `bytes` is done; all begin at zero.
fn run(values: &[(&str, &str)], copies: &[CoreCopy], bytes: u64) -> Vec<TimeDelta> {
    let mut cluster = cluster_of(values, copies);
    let (mut calendar, mut delivered) = (Calendar::default(), Vec::new());
    for (index, &copy) in (0..).zip(copies) {
        let path = cluster.copy_path(copy).expect("a copy that others can slow");
        let transfer = Transfer { conn: ConnId(index), path, bytes, token: u64::from(index) };
        cluster.fabric.start(Time::ZERO, transfer, &mut calendar);
    }
    let mut done = vec![TimeDelta::ZERO; copies.len()];
    while let Some((now, event)) = calendar.next() {
        cluster.fabric.handle(now, event, &mut calendar, &mut delivered);
        for delivery in delivered.drain(..) {
            done[usize::try_from(delivery.token).unwrap()] = now.since(Time::ZERO);
        }
    }
    done
}

/// Every copy takes the time of `bytes` at `mb_per_s` and at most the 256 B that each other stage
/// holds before it passes them on.
#[track_caller]
fn check(done: &[TimeDelta], bytes: u64, mb_per_s: u64) {
    let whole = Bandwidth::from_mb_per_s(mb_per_s).transfer_time(Bytes::new(bytes));
    let stages = Bandwidth::from_mb_per_s(2_000).transfer_time(Bytes::new(256));
    for &time in done {
        assert!(whole <= time && time <= whole + stages, "{time} instead of {whole}");
    }
}

const LARGE: u64 = 64 << 20;
const BEYOND: Bytes = Bytes::new(2 * LARGE);

fn local(socket: u32, core: u32) -> CoreCopy {
    CoreCopy::local(site(socket, core), BEYOND)
}

#[test]
fn cores_that_copy_never_exceed_the_memory_of_their_socket() {
    check(&run(&TWO_SOCKETS, &[local(0, 0)], LARGE), LARGE, 6_000);
    // 3 x 6 GB/s for each core: the fourth is one too many.
    let few: Vec<CoreCopy> = (0..3).map(|core| local(0, core)).collect();
    check(&run(&TWO_SOCKETS, &few, LARGE), LARGE, 6_000);
    let all: Vec<CoreCopy> = (0..28).map(|core| local(core / 14, core % 14)).collect();
    check(&run(&TWO_SOCKETS, &all, LARGE), 14 * 3 * LARGE, 65_000);
}

#[test]
fn copies_that_the_caches_of_one_core_hold_share_nothing() {
    let held = CoreCopy::local(site(0, 3), Bytes::mib(35));
    assert_eq!(cluster_of(&TWO_SOCKETS, &[held]).copy_path(held), None);
    let in_first_level = CoreCopy::local(site(0, 3), Bytes::kib(32));
    assert_eq!(cluster_of(&TILES, &[in_first_level]).copy_path(in_first_level), None);
}

#[test]
fn two_cores_of_a_tile_share_it() {
    let bytes = 256 << 10;
    let copy = |core| CoreCopy::local(site(0, core), Bytes::new(2 * bytes));
    check(&run(&TILES, &[copy(0)], bytes), bytes, 4_000);
    check(&run(&TILES, &[copy(0), copy(1)], bytes), bytes, 3_000);
    check(&run(&TILES, &[copy(1), copy(2)], bytes), bytes, 4_000);
}

#[test]
fn copies_beyond_the_caches_pass_the_tile_and_then_memory() {
    check(&run(&TILES, &[local(0, 0), local(0, 1)], LARGE), LARGE, 3_000);
    // 64 cores want 96 GB/s through their tiles, and memory carries a third of 90 GB/s.
    let all: Vec<CoreCopy> = (0..64).map(|core| local(0, core)).collect();
    check(&run(&TILES, &all, LARGE), 64 * 3 * LARGE, 90_000);
}

#[test]
fn a_copy_between_sockets_is_limited_by_its_core_and_then_by_the_link() {
    let pull = |core| CoreCopy { core: site(0, core), from: 1, to: 0, footprint: BEYOND };
    check(&run(&TWO_SOCKETS, &[pull(0)], LARGE), LARGE, 5_000);
    let all: Vec<CoreCopy> = (0..14).map(pull).collect();
    check(&run(&TWO_SOCKETS, &all, LARGE), 14 * LARGE, 30_000);
    // What the caches hold crosses the link as well.
    let held: Vec<CoreCopy> =
        all.iter().map(|&copy| CoreCopy { footprint: Bytes::mib(2), ..copy }).collect();
    check(&run(&TWO_SOCKETS, &held, 1 << 20), 14 << 20, 30_000);
}

#[test]
fn both_directions_of_the_link_have_their_own_rate() {
    let pull = |core| CoreCopy { core: site(0, core), from: 1, to: 0, footprint: BEYOND };
    let back = |core| CoreCopy { core: site(1, core), from: 0, to: 1, footprint: BEYOND };
    let both: Vec<CoreCopy> = (0..7).flat_map(|core| [pull(core), back(core)]).collect();
    let fast_memory = [TWO_SOCKETS.as_slice(), &[("mem.socket_bw", "200 GB/s")]].concat();
    check(&run(&fast_memory, &both, LARGE), 7 * LARGE, 30_000);
}

#[test]
fn a_copy_between_sockets_loads_each_memory_with_its_own_part() {
    // Sources on the far socket, 1 byte each; destinations here, 2: 14 x 2 x 4 GB/s > 65 GB/s.
    let wide = [TWO_SOCKETS.as_slice(), &[("mem.intersocket_bw", "500 GB/s")]].concat();
    let pull = |core| CoreCopy { core: site(0, core), from: 1, to: 0, footprint: BEYOND };
    let all: Vec<CoreCopy> = (0..14).map(pull).collect();
    check(&run(&wide, &all, LARGE), 14 * 2 * LARGE, 65_000);
    // Source and destination there: three bytes of its memory, and of the link one out and two in.
    let there = |core| CoreCopy { core: site(0, core), from: 1, to: 1, footprint: BEYOND };
    let all: Vec<CoreCopy> = (0..14).map(there).collect();
    check(&run(&wide, &all, LARGE), 14 * 3 * LARGE, 65_000);
    let narrow = [TWO_SOCKETS.as_slice(), &[("mem.intersocket_bw", "25 GB/s")]].concat();
    check(&run(&narrow, &all, LARGE), 14 * 2 * LARGE, 25_000);
    let streaming = [narrow.as_slice(), &[("mem.copy_traffic", "2")]].concat();
    check(&run(&streaming, &all, LARGE), 14 * LARGE, 25_000);
}
