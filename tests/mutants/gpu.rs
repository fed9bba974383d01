//! Planted bugs of the GPU's scheduler and of its counts: each breaks a law of small worlds, and a
//! harmless change breaks none.
//!
//! `cargo test --features mutants --test mutants gpu -- --nocapture` prints the table.

#![allow(clippy::print_stdout, reason = "the table is of interest")]

use crate::gpu_machine::{Outcome, Request, c2050, run_on};
use mpisim::hardware::gpu::{
    Block, Copy, Direction, Flaw, Kernel, Kind, Lane, Lanes, Operation, Shape, Space, Work, count,
};
use mpisim::hardware::profile::Profile;
use mpisim::units::TimeDelta;

const MIB: u64 = 1 << 20;

/// A machine, and what is planted in its GPU.
struct World {
    profile: Profile,
    flaw: Option<Flaw>,
}

impl World {
    fn run(&self, requests: &[Request]) -> Outcome {
        run_on(&self.profile, requests, |gpus| match self.flaw {
            Some(flaw) => gpus.with(flaw),
            None => gpus,
        })
    }

    fn shape(&self) -> Shape {
        let shape = Shape::of(&self.profile).expect("a machine with a GPU");
        match self.flaw {
            Some(flaw) => shape.with(flaw),
            None => shape,
        }
    }

    /// Operations asked for at once, each in its stream.
    fn together(&self, operations: &[(u32, Operation)]) -> Outcome {
        let requests: Vec<Request> =
            operations.iter().map(|&(stream, asked)| (TimeDelta::ZERO, stream, asked)).collect();
        self.run(&requests)
    }
}

fn copy(direction: Direction, bytes: u64) -> Operation {
    Operation::Copy(Copy::contiguous(direction, bytes))
}

/// So many blocks of one warp, which only computes.
fn computing(blocks: u64, instructions: u64) -> Operation {
    let work = Work::computing(blocks, instructions);
    Operation::Kernel(Kernel { blocks, block: Block::of(32), work })
}

/// Threads that store eight bytes each into host memory, one after the other.
struct Stores(u64);

impl Lanes for Stores {
    fn threads(&self) -> u64 {
        self.0
    }
    fn lane(&self, thread: u64, lane: &mut Lane) {
        lane.instructions = 1;
        lane.access(Space::Host, Kind::Store, thread * 8, 8);
    }
}

/// Threads that load eight bytes each, one after the other.
struct Loads(u64);

impl Lanes for Loads {
    fn threads(&self) -> u64 {
        self.0
    }
    fn lane(&self, thread: u64, lane: &mut Lane) {
        lane.instructions = 1;
        lane.access(Space::Device, Kind::Load, thread * 8, 8);
    }
}

/// Blocks keep their slots for as long as their warps take: 14 SMs of 8 blocks, 112 at a time.
fn slots_are_kept(world: &World) -> bool {
    let rounds = 4;
    let time = world.together(&[(0, computing(112 * rounds, 1_000))]).ends[0];
    time >= world.shape().launch_latency + TimeDelta::from_us(18) * rounds
}

/// A kernel that fills the GPU is not slowed down by one that comes later.
fn first_come_first_served(world: &World) -> bool {
    let kernel = computing(112 * 8, 1_000);
    let alone = world.together(&[(0, kernel)]).ends[0];
    world.together(&[(0, kernel), (1, kernel)]).ends[0] == alone
}

/// What follows in a stream begins when what is before it has ended.
fn a_stream_is_in_order(world: &World) -> bool {
    let (first, second) = (computing(14, 10_000), copy(Direction::DeviceToHost, MIB));
    let [kernel, copied] =
        [first, second].map(|operation| world.together(&[(0, operation)]).ends[0]);
    let ends = world.together(&[(0, first), (0, second)]).ends;
    ends[1] >= kernel + copied - world.shape().copy_latency
}

/// The first of two copies of one direction does not notice the second.
fn an_engine_does_one_copy_at_a_time(world: &World) -> bool {
    let one = copy(Direction::DeviceToHost, MIB);
    let alone = world.together(&[(0, one)]).ends[0];
    world.together(&[(0, one), (1, one)]).ends[0] == alone
}

/// Each row of 64 B is a packet of 92 B.
fn no_packet_spans_rows(world: &World) -> bool {
    let rows = Operation::Copy(Copy::rows(Direction::DeviceToHost, 4_096, 64, 512));
    world.together(&[(0, rows)]).resource("PCIe to host").raw_bytes == 4_096 * 92
}

/// All bytes of a copy cross the bus.
fn every_byte_moves(world: &World) -> bool {
    let outcome = world.together(&[(0, copy(Direction::HostToDevice, MIB))]);
    outcome.resource("PCIe from host").raw_bytes == MIB / 128 * 152
}

/// Sixteen neighbours of 8 B share a segment of 128 B.
fn a_segment_counts_once(world: &World) -> bool {
    let kernel = count::kernel(&world.shape(), Block::of(256), &Loads(4_096));
    kernel.work.read_segments == 4_096 / 16
}

/// While the GPU writes to the host its reads take longer, whatever both directions share.
fn reads_wait_behind_writes(world: &World) -> bool {
    let world = World { profile: c2050(&[("pcie.bidirectional_bw", "16 GB/s")]), ..*world };
    let (read, write) =
        (copy(Direction::HostToDevice, MIB), copy(Direction::DeviceToHost, 4 * MIB));
    let alone = world.together(&[(0, read)]).ends[0];
    // 1126 ns for each request instead of 900 ns.
    world.together(&[(1, write), (0, read)]).ends[1] * 100 >= alone * 115
}

/// Stores of SMs get four times what an engine gets.
fn stores_outrun_the_engine(world: &World) -> bool {
    let kernel = count::kernel(&world.shape(), Block::of(256), &Stores(MIB));
    let (stores, engine) = (Operation::Kernel(kernel), copy(Direction::DeviceToHost, 16 * MIB));
    let alone = world.together(&[(0, stores)]).ends[0];
    let beside = world.together(&[(1, engine), (0, stores)]).ends[1];
    // Five quarters of the time, and not twice as long.
    beside * 100 > alone * 115 && beside * 100 < alone * 140
}

type Law = (&'static str, fn(&World) -> bool);

const LAWS: [Law; 9] = [
    ("slots are kept", slots_are_kept),
    ("first come, first served", first_come_first_served),
    ("a stream is in order", a_stream_is_in_order),
    ("an engine does one copy at a time", an_engine_does_one_copy_at_a_time),
    ("no packet spans rows", no_packet_spans_rows),
    ("every byte moves", every_byte_moves),
    ("a segment counts once", a_segment_counts_once),
    ("reads wait behind writes", reads_wait_behind_writes),
    ("stores outrun the engine", stores_outrun_the_engine),
];

/// The law that must find a flaw.
fn law_of(flaw: Flaw) -> &'static str {
    match flaw {
        Flaw::SlotsAtOnce => "slots are kept",
        Flaw::NewestFirst => "first come, first served",
        Flaw::StreamIgnored => "a stream is in order",
        Flaw::TwoCopiesAtOnce => "an engine does one copy at a time",
        Flaw::PacketsSpanRows => "no packet spans rows",
        Flaw::SegmentsAgain => "a segment counts once",
        Flaw::PiecesLost => "every byte moves",
        Flaw::ReadsPassWrites => "reads wait behind writes",
        Flaw::EqualShares => "stores outrun the engine",
        Flaw::EnginesBackwards | Flaw::OtherSlots => "",
    }
}

/// The laws that do not hold.
fn broken(flaw: Option<Flaw>) -> Vec<&'static str> {
    let world = World { profile: c2050(&[]), flaw };
    LAWS.iter().filter(|(_, holds)| !holds(&world)).map(|&(name, _)| name).collect()
}

#[test]
fn every_flaw_breaks_its_law_and_no_harmless_change_breaks_any() {
    assert_eq!(broken(None), [""; 0]);
    for flaw in Flaw::ALL {
        let found = broken(Some(flaw));
        println!("{flaw:?}: {}", found.join(", "));
        if flaw.is_harmless() {
            assert_eq!(found, [""; 0], "{flaw:?}");
        } else {
            assert!(found.contains(&law_of(flaw)), "{flaw:?}: {found:?}");
        }
    }
}
