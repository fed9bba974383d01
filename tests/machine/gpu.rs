//! GPUs against closed forms: `gpu-pack` Table 2, Sections 2.2 and 4.4, and the table of sources.

use crate::gpu_machine;
use crate::gpu_machine::{Outcome, Request, c2050, run};
use mpisim::hardware::cluster::Cluster;
use mpisim::hardware::gpu::{
    Block, Copy, Direction, GpuId, HostMemory, Kernel, Kind, Lane, Lanes, Operation, Shape, Space,
    Work, count,
};
use mpisim::hardware::profile::Profile;
use mpisim::hardware::topology::{Shape as Wires, Topology};
use mpisim::units::TimeDelta;

const BUFFER: u64 = 16 << 20;
const ROWS: u64 = 262_144;

/// A pack kernel: thread k loads its primitive and stores it at k times its size.
struct Pack {
    /// Where it begins.
    from: u64,
    primitives: u64,
    /// Bytes of a primitive.
    size: u64,
    /// Primitives of a block of the datatype, and from one to the next, in bytes.
    blocklength: u64,
    stride: u64,
    into: Space,
    instructions: u32,
}

impl Lanes for Pack {
    fn threads(&self) -> u64 {
        self.primitives
    }

    fn lane(&self, thread: u64, lane: &mut Lane) {
        let (block, within) = (thread / self.blocklength, thread % self.blocklength);
        let from = self.from + block * self.stride + within * self.size;
        let size = u32::try_from(self.size).expect("a few bytes");
        lane.instructions = self.instructions;
        lane.access(Space::Device, Kind::Load, from, size);
        lane.access(self.into, Kind::Store, thread * self.size, size);
    }
}

/// 16 MiB of doubles in blocks of 64 B that lie back to back, as in Table 2.
const TABLE2: Pack = Pack {
    from: 0,
    primitives: BUFFER / 8,
    size: 8,
    blocklength: 8,
    stride: 64,
    into: Space::Host,
    instructions: 60,
};

fn shape(profile: &Profile) -> Shape {
    Shape::of(profile).expect("a machine with a GPU")
}

fn pack(profile: &Profile, lanes: &Pack) -> Operation {
    Operation::Kernel(count::kernel(&shape(profile), Block::of(256), lanes))
}

fn copy(direction: Direction, bytes: u64) -> Operation {
    Operation::Copy(Copy::contiguous(direction, bytes))
}

/// One operation alone, from asking to its end.
fn alone(profile: &Profile, operation: Operation) -> Outcome {
    run(profile, &[(TimeDelta::ZERO, 0, operation)])
}

#[track_caller]
fn check_ms(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance * expected, "{found} ms, not {expected}");
}

/// `time` is `expected`, and at most 1 us later: what stages hold before they pass it on.
#[track_caller]
fn check_soon(time: TimeDelta, expected: TimeDelta) {
    let late = time.saturating_sub(expected);
    assert!(time >= expected && late <= TimeDelta::from_us(1), "{time} instead of {expected}");
}

const C2050: fn() -> Profile = || c2050(&[]);

#[test]
fn a_copy_to_the_host_is_as_fast_as_its_packets() {
    let machine = C2050();
    let outcome = alone(&machine, copy(Direction::DeviceToHost, BUFFER));
    // 131072 TLPs of 128 + 28 B at 8 GB/s are 2.5559 ms.
    let bus = TimeDelta::from_ps(131_072 * 156 * 125);
    check_soon(outcome.ends[0], shape(&machine).copy_latency + bus);
    assert_eq!(outcome.resource("PCIe to host").raw_bytes, 131_072 * 156);
    assert_eq!(outcome.resource("PCIe from host").raw_bytes, 0);
    assert_eq!((outcome.stats.copies, outcome.stats.copied), ([0, 1, 0], [0, BUFFER, 0]));
}

#[test]
fn a_copy_to_the_device_waits_for_its_reads() {
    let machine = C2050();
    let outcome = alone(&machine, copy(Direction::HostToDevice, BUFFER));
    // 35 requests of 128 B in 900 ns.
    let reads = TimeDelta::from_ps(BUFFER * 900_000 / (35 * 128));
    check_soon(
        outcome.ends[0],
        shape(&machine).copy_latency + shape(&machine).read_latency + reads,
    );
    assert_eq!(outcome.resource("PCIe from host").raw_bytes, 131_072 * 152);
}

#[test]
fn a_kernel_that_stores_to_the_host_is_as_fast_as_its_packets() {
    let machine = C2050();
    let outcome = alone(&machine, pack(&machine, &TABLE2));
    check_ms(outcome.ms(0), 2.555, 0.005);
    assert_eq!(outcome.resource("PCIe to host").raw_bytes, 131_072 * 156);
    assert_eq!(outcome.stats.blocks, BUFFER / 8 / 256);
    assert!(outcome.events < 1_000, "{} events", outcome.events);
}

#[test]
fn short_rows_fill_no_packet() {
    let machine = C2050();
    let rows = Operation::Copy(Copy::rows(Direction::DeviceToHost, ROWS, 64, 64));
    let outcome = alone(&machine, rows);
    // Each row is a TLP of 64 + 28 B. claim: gpu-tab2-sm-sercuda-proc
    check_soon(outcome.ends[0], shape(&machine).copy_latency + TimeDelta::from_ps(ROWS * 92 * 125));
    assert_eq!(outcome.resource("PCIe to host").raw_bytes, ROWS * 92);
}

#[test]
fn rows_of_other_widths_or_distances_take_their_engine_longer() {
    let machine = C2050();
    let time = |width, pitch| {
        let rows = Copy::rows(Direction::DeviceToHost, 100_000, width, pitch);
        alone(&machine, Operation::Copy(rows)).ends[0] - shape(&machine).copy_latency
    };
    let slower = |width: u64, than: u64| time(width, 512) * than > time(than, 512) * width;
    for width in [32, 64, 96, 128, 160, 256] {
        // For each byte. claim: gpu-fig5-mult32
        assert!(slower(width - 4, width) && slower(width + 4, width), "{width}");
    }
    for width in [32, 64, 96, 128] {
        // claim: gpu-fig5-stride
        assert!(time(width, 512) < time(width, 520), "{width}");
    }
    // 25 ns for each packet, however short.
    check_soon(time(8, 512), TimeDelta::from_us(2_500));
    check_soon(time(252, 512), TimeDelta::from_us(5_000));
}

/// The engine is launched for each slice, and none begins before the one before has arrived.
#[test]
fn a_box_is_one_call_and_its_slices_are_one_after_the_other() {
    let machine = C2050();
    let of = shape(&machine);
    let boxes = |direction| {
        let copy = Copy::boxes(direction, 16, 64, 256, 256);
        alone(&machine, Operation::Copy(copy)).ends[0]
    };
    // Each row has two TLPs; a slice is read in 500 ns, and written in 150 ns.
    let bus = TimeDelta::from_ps(16 * 64 * (256 + 2 * 28) * 125);
    let slice = TimeDelta::from_ns(500 + 150);
    check_soon(boxes(Direction::DeviceToHost), of.copy_latency + bus + slice * 15);
    // Both ends in memory of 105 GB/s.
    let memory = TimeDelta::from_ps(16 * 64 * 2 * 256 * 1_000 / 105);
    check_soon(boxes(Direction::InDevice), of.copy_latency + memory + of.memory_latency * 16);
    // 35 requests of 128 B in 900 ns; the first slice has its round trip, too.
    let reads = TimeDelta::from_ps(16 * 64 * 256 * 900_000 / (35 * 128));
    check_soon(boxes(Direction::HostToDevice), of.copy_latency + reads + of.read_latency * 16);
    // Sixteen calls instead of one take the time of fifteen calls more.
    let one = Copy::rows(Direction::DeviceToHost, 64, 256, 256);
    let one = alone(&machine, Operation::Copy(one)).ends[0];
    let calls = boxes(Direction::DeviceToHost) + of.copy_latency * 15;
    assert!((one * 16).as_ps().abs_diff(calls.as_ps()) < 1_000_000, "{one} {calls}");
}

#[test]
fn copies_inside_the_device_read_and_write_its_memory() {
    let machine = C2050();
    let outcome = alone(&machine, copy(Direction::InDevice, BUFFER));
    assert_eq!(outcome.resource("GPU 0 memory").raw_bytes, 2 * BUFFER);
    let memory = TimeDelta::from_ps(2 * BUFFER * 1_000 / 105);
    check_soon(outcome.ends[0], shape(&machine).copy_latency + memory);
}

/// What the bus makes a row of 8 B wait for, 25 ns, is no cost of one that stays in the device.
#[test]
fn rows_inside_the_device_cost_the_transactions_that_they_touch() {
    const ROWS: u64 = 100_000;
    let machine = C2050();
    for (width, pitches, traffic) in [
        // A transaction of 128 B is read, 8 B of one are written.
        (8, [512, 8], 128 + 8),
        (8, [8, 512], 8 + 128),
        (8, [512, 512], 2 * 128),
        // Sixteen rows of 8 B lie in a transaction, every other one is copied.
        (8, [16, 8], 16 + 8),
        (256, [512, 256], 2 * 256),
        // Rows begin at 0, 32, 64 and 96 B of a transaction: the last one touches two.
        (64, [544, 64], 160 + 64),
        // Back to back at both ends.
        (8, [8, 8], 2 * 8),
    ] {
        let rows = Copy::rows(Direction::InDevice, ROWS, width, 0).with_pitches(pitches);
        let outcome = alone(&machine, Operation::Copy(rows));
        assert_eq!(outcome.resource("GPU 0 memory").raw_bytes, ROWS * traffic, "{pitches:?}");
        let memory = TimeDelta::from_ps(ROWS * traffic * 1_000 / 105);
        check_soon(outcome.ends[0], shape(&machine).copy_latency + memory);
        assert!(outcome.resource("PCIe to host").raw_bytes == 0, "nothing leaves the device");
    }
}

#[test]
fn pageable_memory_is_as_slow_as_the_core_that_stages_it() {
    let machine = C2050();
    let pageable =
        Copy::contiguous(Direction::DeviceToHost, BUFFER).with_host(HostMemory::Pageable);
    let outcome = alone(&machine, Operation::Copy(pageable));
    // 2.34 GB/s.
    let staged = TimeDelta::from_ps(BUFFER * 100_000 / 234);
    check_soon(outcome.ends[0], shape(&machine).copy_latency + staged);
}

/// Two operations of separate streams, the second asked for when the first call returns: the end of
/// the first, that of the second from its own asking, and that of both, in milliseconds.
fn one_after_the_other(first: Operation, second: Operation) -> [f64; 3] {
    let machine = C2050();
    let gap = shape(&machine).call_overhead;
    let outcome = run(&machine, &[(TimeDelta::ZERO, 0, first), (gap, 1, second)]);
    let [one, two] = [outcome.ms(0), outcome.ms(1)];
    [one, two - gap.as_us_f64() / 1e3, one.max(two)]
}

/// What `gpu-pack` Table 2 states for an order of user operation and packing, its tolerance beside it.
#[test]
fn contention_comes_out_as_in_table_2() {
    let machine = C2050();
    let user = user_kernel(&machine);
    let to_device = copy(Direction::HostToDevice, BUFFER);
    let to_host = copy(Direction::DeviceToHost, BUFFER);
    let pack = pack(&machine, &TABLE2);
    let rows = Operation::Copy(Copy::rows(Direction::DeviceToHost, ROWS, 64, 64));
    for (first, second, proc, total) in [
        // claim: gpu-tab2-sm-u2p-proc
        // claim: gpu-tab2-sm-u2p-total
        (user, pack, (3.52, 0.1), (3.55, 0.1)),
        // claim: gpu-tab2-sm-u2c-proc
        // claim: gpu-tab2-sm-u2c-total
        (user, rows, (3.00, 0.1), (3.03, 0.1)),
        // claim: gpu-tab2-c2g-u2p-proc
        // claim: gpu-tab2-c2g-u2p-total
        (to_device, pack, (3.65, 0.05), (4.08, 0.1)),
        // claim: gpu-tab2-c2g-u2c-proc
        // claim: gpu-tab2-c2g-u2c-total
        (to_device, rows, (3.66, 0.1), (4.06, 0.1)),
        // claim: gpu-tab2-g2c-u2p-proc
        // claim: gpu-tab2-g2c-u2p-total
        (to_host, pack, (3.18, 0.05), (5.09, 0.1)),
        // claim: gpu-tab2-g2c-u2c-proc
        // claim: gpu-tab2-g2c-u2c-total
        (to_host, rows, (5.53, 0.1), (5.54, 0.1)),
    ] {
        let [_, found, all] = one_after_the_other(first, second);
        check_ms(found, proc.0, proc.1);
        check_ms(all, total.0, total.1);
    }
    // claim: gpu-tab2-g2c-c2u-user
    // claim: gpu-tab2-g2c-c2u-total
    let [_, found, all] = one_after_the_other(rows, to_host);
    check_ms(found, 5.53, 0.1);
    check_ms(all, 5.53, 0.1);
}

#[test]
fn operations_that_wait_for_each_other_take_the_sum() {
    let machine = C2050();
    let user = user_kernel(&machine);
    let to_device = copy(Direction::HostToDevice, BUFFER);
    let to_host = copy(Direction::DeviceToHost, BUFFER);
    let pack = pack(&machine, &TABLE2);
    let rows = Operation::Copy(Copy::rows(Direction::DeviceToHost, ROWS, 64, 64));
    for (first, second, one, two, total) in [
        // claim: gpu-tab2-sm-serpack-user
        // claim: gpu-tab2-sm-serpack-proc
        // claim: gpu-tab2-sm-serpack-total
        (user, pack, (1.00, 0.05), (2.55, 0.05), 3.55),
        // claim: gpu-tab2-sm-sercuda-total
        (user, rows, (1.00, 0.05), (2.96, 0.05), 3.96),
        // claim: gpu-tab2-c2g-serpack-user
        // claim: gpu-tab2-c2g-serpack-proc
        // claim: gpu-tab2-c2g-serpack-total
        (to_device, pack, (3.34, 0.05), (2.55, 0.08), 5.89),
        // claim: gpu-tab2-c2g-sercuda-proc
        // claim: gpu-tab2-c2g-sercuda-total
        (to_device, rows, (3.34, 0.05), (2.97, 0.08), 6.31),
        // claim: gpu-tab2-g2c-serpack-user
        // claim: gpu-tab2-g2c-serpack-proc
        // claim: gpu-tab2-g2c-serpack-total
        (to_host, pack, (2.56, 0.05), (2.55, 0.08), 5.11),
        // claim: gpu-tab2-g2c-sercuda-proc
        // claim: gpu-tab2-g2c-sercuda-total
        (to_host, rows, (2.56, 0.05), (2.97, 0.08), 5.53),
    ] {
        let before = alone(&machine, first).ends[0];
        let outcome = run(&machine, &[(TimeDelta::ZERO, 0, first), (before, 0, second)]);
        check_ms(outcome.ms(0), one.0, one.1);
        check_ms(outcome.ms(1) - outcome.ms(0), two.0, two.1);
        check_ms(outcome.ms(1), total, 0.08);
    }
}

#[test]
fn copies_of_both_directions_overlap_in_part_and_of_one_hardly() {
    let machine = C2050();
    let (to_device, to_host) =
        (copy(Direction::HostToDevice, BUFFER), copy(Direction::DeviceToHost, BUFFER));
    let rows = Operation::Copy(Copy::rows(Direction::DeviceToHost, ROWS, 64, 64));
    let time = |operation| alone(&machine, operation).ms(0);
    for other in [pack(&machine, &TABLE2), rows] {
        for order in [[to_device, other], [other, to_device]] {
            let [_, second, all] = one_after_the_other(order[0], order[1]);
            let [one, two] = order.map(time);
            // claim: gpu-tab2-rule-c2g
            assert!(all > one.max(two) && all < 0.75 * (one + two), "{all}");
            if order[1] == to_device {
                // The later one ends last.
                assert!((0.0..=0.04).contains(&(all - second)), "{all} {second}");
            }
        }
        for order in [[to_host, other], [other, to_host]] {
            let [_, _, all] = one_after_the_other(order[0], order[1]);
            check_ms(all, time(to_host) + time(other), 0.03);
        }
    }
}

/// With room for both directions on the bus, what a copy to the device loses beside one to the host is
/// that each read waits behind writes: 35 requests of 128 B in 900 + 226 ns.
#[test]
fn reads_behind_writes_take_their_round_trip_and_the_wait() {
    let machine = c2050(&[("pcie.bidirectional_bw", "16 GB/s")]);
    let to_host = copy(Direction::DeviceToHost, 2 * BUFFER);
    let start = TimeDelta::from_us(100);
    let requests =
        [(TimeDelta::ZERO, 0, to_host), (start, 1, copy(Direction::HostToDevice, BUFFER))];
    let ends = run(&machine, &requests).ends;
    let of = shape(&machine);
    assert_eq!(of.behind_writes, TimeDelta::from_ns(226));
    let trip = of.read_latency + of.behind_writes;
    let reads = TimeDelta::from_ps(BUFFER * trip.as_ps() / (35 * 128));
    assert!(ends[1] < ends[0], "the writes last longer");
    check_soon(ends[1], start + of.copy_latency + of.read_latency + reads);
}

#[test]
fn a_call_for_each_block_takes_far_longer_than_a_kernel() {
    let machine = C2050();
    let lanes = Pack { primitives: 8192, blocklength: 1, stride: 512, ..TABLE2 };
    let packed = alone(&machine, pack(&machine, &lanes)).ends[0];
    let one = (TimeDelta::ZERO, 0, copy(Direction::DeviceToHost, 8));
    let each = run(&machine, &[one]).ends[0];
    // claim: gpu-sec1-naive-point
    assert!(each * 8192 > packed * 10, "{each} {packed}");
    let shape = shape(&machine);
    let more = shape.launch_latency.saturating_sub(shape.copy_latency);
    assert!(more > TimeDelta::ZERO && more <= TimeDelta::from_us(10), "{more}");
}

/// What is measured of the later of two is, but for the launch, what the rule says.
#[test]
fn kernels_that_fill_the_gpu_run_one_after_the_other_and_copies_beside_them() {
    let machine = C2050();
    let user = user_kernel(&machine);
    let pack = pack(&machine, &TABLE2);
    let rows = Operation::Copy(Copy::rows(Direction::DeviceToHost, ROWS, 64, 64));
    let [user_alone, pack_alone, rows_alone] =
        [user, pack, rows].map(|operation| alone(&machine, operation).ms(0));
    // claim: gpu-sem-fcfs
    for (first, second) in [(user, pack), (pack, user)] {
        let [_, _, all] = one_after_the_other(first, second);
        assert!(all <= user_alone + pack_alone && all >= user_alone + pack_alone - 0.02, "{all}");
    }
    // claim: gpu-sem-dmaengine
    let [kernel, copied, _] = one_after_the_other(user, rows);
    check_ms(kernel, user_alone, 0.001);
    check_ms(copied, rows_alone, 0.001);
}

#[test]
fn a_kernel_that_runs_is_not_interrupted() {
    let machine = C2050();
    // Twenty times all slots.
    let user = computing(14 * 6 * 20);
    let long = alone(&machine, user).ends[0];
    let short =
        Operation::Kernel(Kernel { blocks: 1, block: Block::of(32), work: Work::computing(1, 10) });
    let outcome = run(&machine, &[(TimeDelta::ZERO, 0, user), (TimeDelta::from_us(100), 1, short)]);
    assert_eq!(outcome.ends[0], long, "the first does not notice the second");
    assert!(outcome.ends[1] > long, "one kernel for each SM, and all were taken");
    // A GPU that holds several kernels on an SM has no slot left either.
    let several = c2050(&[("gpu.concurrent_kernels_per_sm", "8")]);
    let outcome = run(&several, &[(TimeDelta::ZERO, 0, user), (TimeDelta::from_us(100), 1, short)]);
    let last_round = (long - shape(&machine).launch_latency).scaled(1, 20);
    assert!(outcome.ends[1] > long - last_round, "{}", outcome.ends[1]);
}

/// A kernel of so many blocks of eight warps that only computes, 1000 instructions a warp.
fn computing(blocks: u64) -> Operation {
    let work = Work::computing(blocks * 8, 1_000);
    Operation::Kernel(Kernel { blocks, block: Block::of(256), work })
}

#[test]
fn a_later_kernel_takes_the_sms_that_an_earlier_one_leaves() {
    let machine = C2050();
    let seven = alone(&machine, computing(7)).ends[0];
    let both =
        run(&machine, &[(TimeDelta::ZERO, 0, computing(7)), (TimeDelta::ZERO, 1, computing(7))]);
    // Seven SMs each.
    both.ends.iter().for_each(|&end| check_soon(end, seven));
    // Six are left over, so that two of the seven blocks share an SM.
    let eight =
        run(&machine, &[(TimeDelta::ZERO, 0, computing(8)), (TimeDelta::ZERO, 1, computing(7))]);
    check_soon(eight.ends[0], seven);
    check_soon(eight.ends[1], seven + TimeDelta::from_ps(8_000_000_000 / 1_147));
    // In one stream they are in order, whatever is free.
    let order =
        run(&machine, &[(TimeDelta::ZERO, 0, computing(7)), (TimeDelta::ZERO, 0, computing(7))]);
    check_soon(order.ends[1], seven + seven - shape(&machine).launch_latency);
}

#[test]
fn an_sm_holds_as_many_blocks_as_the_scarcest_of_its_parts_allows() {
    let shape = shape(&C2050());
    for (threads, registers, shared, resident) in [
        (256, 0, 0, 6),
        (32, 0, 0, 8),
        (33, 0, 0, 8),
        (1024, 0, 0, 1),
        (256, 32, 0, 4),
        (250, 32, 0, 4),
        (256, 0, 20 << 10, 2),
        (2048, 0, 0, 0),
        (256, 0, 64 << 10, 0),
    ] {
        let block = Block { threads, registers, shared };
        assert_eq!(shape.resident(block), resident, "{block:?}");
    }
    // Fewer blocks at a time hide less latency: two of an SM instead of eight.
    let time = |shared| {
        let block = Block { shared, ..Block::of(32) };
        let kernel = count::kernel(&shape, block, &Sparse(112 * 20));
        alone(&C2050(), Operation::Kernel(kernel)).ends[0] - shape.launch_latency
    };
    let (two, eight) = (time(24 << 10), time(6 << 10));
    assert!(two > eight * 3 && two < eight * 4, "{two} {eight}");
}

#[test]
fn gpus_of_a_node_have_buses_of_their_own() {
    let two = c2050(&[("gpu.per_node", "2")]);
    let topology = Topology::new(Wires::default(), 3).expect("three nodes");
    let cluster = Cluster::new(&two, topology, &[]);
    let gpus = cluster.gpus(&two, 0).expect("a machine with GPUs");
    assert_eq!((gpus.of_node(0, 1), gpus.of_node(2, 0)), (GpuId(1), GpuId(4)));
    assert_eq!(gpus.connections(), 6 * (3 + 2 * gpus.shape().concurrent_kernels));
    let names: Vec<_> = cluster.fabric.resources().iter().map(|spec| &spec.name).collect();
    let buses = names.iter().filter(|name| name.ends_with("PCIe to host"));
    assert_eq!(buses.count(), 6);
}

#[test]
fn blocks_share_the_issue_slots_of_their_sm() {
    let machine = C2050();
    let shape = shape(&machine);
    let time = |blocks| alone(&machine, computing(blocks)).ends[0] - shape.launch_latency;
    // Eight warps of 1000 instructions at 1.147 a nanosecond, behind the 18 us of one warp alone.
    let issue = TimeDelta::from_ps(8_000_000_000 / 1_147);
    for blocks in [1, 14] {
        check_soon(time(blocks), issue + TimeDelta::from_us(18));
    }
    let many = time(14 * 6 * 20);
    let all = issue * (6 * 20);
    assert!(many > all && many < all + TimeDelta::from_us(25), "{many} {all}");
}

/// Loads of a line each that wait for the one before.
struct Chase {
    threads: u64,
    loads: u64,
}

impl Lanes for Chase {
    fn threads(&self) -> u64 {
        self.threads
    }

    fn lane(&self, thread: u64, lane: &mut Lane) {
        lane.instructions = 1;
        for load in 0..self.loads {
            lane.access(Space::Device, Kind::Load, (load * self.threads + thread) * 128, 4);
        }
    }
}

/// Blocks of one warp, of which one thread loads one line.
struct Sparse(u64);

impl Lanes for Sparse {
    fn threads(&self) -> u64 {
        self.0 * 32
    }
    fn lane(&self, thread: u64, lane: &mut Lane) {
        if thread.is_multiple_of(32) {
            lane.instructions = 1;
            lane.access(Space::Device, Kind::Load, thread * 4, 4);
        }
    }
}

#[test]
fn too_few_warps_are_bound_by_latency_and_many_by_memory() {
    let machine = C2050();
    let shape = shape(&machine);
    // One thread: eight loads of 500 ns, one after the other.
    let one = count::kernel(&shape, Block::of(32), &Chase { threads: 1, loads: 8 });
    check_soon(
        alone(&machine, Operation::Kernel(one)).ends[0],
        shape.launch_latency + TimeDelta::from_us(4),
    );
    // Warps of one thread, eight on an SM, a line each: 112 lines in 500 ns and what a group of 28
    // needs of memory, although memory could carry 4.3 times as much.
    let blocks = 112 * 100;
    let kernel = count::kernel(&shape, Block::of(32), &Sparse(blocks));
    assert_eq!((kernel.blocks, kernel.work.memory_traffic), (blocks, blocks * 128));
    let time = alone(&machine, Operation::Kernel(kernel)).ends[0] - shape.launch_latency;
    let rounds = time.as_us_f64() / 100.0;
    assert!((0.518..0.62).contains(&rounds), "{rounds} us for each round of 112 blocks");
    // Full warps: memory is the limit.
    let dense = Chase { threads: 1 << 19, loads: 1 };
    let kernel = count::kernel(&shape, Block::of(256), &dense);
    let time = alone(&machine, Operation::Kernel(kernel)).ends[0] - shape.launch_latency;
    let memory = TimeDelta::from_ps((128 << 19) * 1_000 / 105);
    assert!(time > memory && time < memory + TimeDelta::from_us(6), "{time} {memory}");
}

/// Accesses of each thread of one warp, by its number.
struct Accesses(fn(u64, &mut Lane));

impl Lanes for Accesses {
    fn threads(&self) -> u64 {
        32
    }

    fn lane(&self, thread: u64, lane: &mut Lane) {
        lane.instructions = 1;
        self.0(thread, lane);
    }
}

/// What the warp waits for, and what it issues: (shared, first level, memory), instructions.
fn waits(accesses: fn(u64, &mut Lane)) -> ([u64; 3], u64) {
    let work = count::kernel(&shape(&C2050()), Block::of(32), &Accesses(accesses)).work;
    ([work.chain.shared, work.chain.near, work.chain.misses], work.instructions)
}

#[test]
fn loads_of_shared_memory_take_their_latency_and_a_pass_for_each_word_of_a_bank() {
    use Kind::{Load, Prefetch, Store};
    // All want the same word; each its own; each its own of the same bank.
    assert_eq!(waits(|_, lane| lane.access(Space::Shared, Load, 0, 8)), ([1, 0, 0], 1));
    assert_eq!(waits(|k, lane| lane.access(Space::Shared, Load, 4 * k, 4)), ([1, 0, 0], 1));
    assert_eq!(waits(|k, lane| lane.access(Space::Shared, Load, 128 * k, 4)), ([1, 0, 0], 32));
    // What is not waited for: two words of each bank.
    assert_eq!(waits(|k, lane| lane.access(Space::Shared, Prefetch, 8 * k, 8)), ([0, 0, 0], 2));
    assert_eq!(waits(|k, lane| lane.access(Space::Shared, Store, 8 * k, 8)), ([0, 0, 0], 2));
    let machine = C2050();
    let of = shape(&machine);
    let kernel = count::kernel(
        &of,
        Block::of(32),
        &Accesses(|_, lane| {
            for _ in 0..100 {
                lane.access(Space::Shared, Load, 0, 8);
            }
        }),
    );
    let expected = of.launch_latency + of.instruction_latency + of.shared_latency * 100;
    check_soon(alone(&machine, Operation::Kernel(kernel)).ends[0], expected);
}

#[test]
fn loads_that_overlap_are_waited_for_together_by_the_farthest() {
    use Kind::{Load, Prefetch};
    const DEVICE: Space = Space::Device;
    // A line that was touched is near; one beside it that was not is waited for with it.
    let near = waits(|_, lane| {
        lane.access(DEVICE, Load, 0, 4);
        lane.access(DEVICE, Load, 0, 4);
    });
    assert_eq!(near.0, [0, 1, 1]);
    let overlapped = waits(|_, lane| {
        lane.access(DEVICE, Load, 0, 4);
        lane.access(DEVICE, Prefetch, 4096, 4);
        lane.access(DEVICE, Load, 0, 4);
    });
    assert_eq!(overlapped.0, [0, 0, 2]);
    let together = waits(|_, lane| {
        (0..7).for_each(|line| lane.access(DEVICE, Prefetch, 4096 * line, 4));
        lane.access(DEVICE, Load, 4096 * 7, 4);
    });
    assert_eq!(together.0, [0, 0, 1]);
}

/// Doubles that go to the host one after the other; the first warp issues `longest` instructions, each
/// other one ten.
struct OneSlow {
    longest: u32,
}

impl Lanes for OneSlow {
    fn threads(&self) -> u64 {
        1 << 18
    }

    fn lane(&self, thread: u64, lane: &mut Lane) {
        lane.instructions = if thread < 32 { self.longest } else { 10 };
        lane.access(Space::Host, Kind::Store, thread * 8, 8);
    }
}

/// A block keeps its own slots, and no other block's: the bus does not wait for one slow warp.
#[test]
fn blocks_end_in_any_order() {
    let machine = C2050();
    let time = |longest| {
        let kernel = count::kernel(&shape(&machine), Block::of(256), &OneSlow { longest });
        alone(&machine, Operation::Kernel(kernel)).ends[0]
    };
    // 2 MiB in packets of 128 + 28 B take 319 us; 10000 instructions of one warp, 18 ns each, 180 us.
    let (usual, one_slow) = (time(10), time(10_000));
    assert!(one_slow < usual + TimeDelta::from_us(9), "{usual}, with a slow warp {one_slow}");
    // One that lasts longer than all others is the end; its group of 28 blocks shares the bus with the
    // next one, 2 KiB a block, before.
    let last = shape(&machine).launch_latency + TimeDelta::from_ns(18 * 40_000);
    let group = TimeDelta::from_ps(2 * 28 * 16 * 156 * 125);
    let found = time(40_000);
    assert!(found > last && found < last + group + TimeDelta::from_us(1), "{found}, not {last}");
}

/// Counts of a kernel of 8192 doubles in blocks of `blocklength`.
fn counted(blocklength: u64, stride: u64, into: Space) -> Work {
    let lanes =
        Pack { from: 0, primitives: 8192, size: 8, blocklength, stride, into, instructions: 60 };
    count::kernel(&shape(&C2050()), Block::of(256), &lanes).work
}

#[test]
fn strides_touch_as_many_lines_as_they_lie_in() {
    // Eight-byte blocks, each in a line of its own; blocks of a line; contiguous.
    for (blocklength, stride, segments) in [
        (1, 512, 8192),
        (1, 128, 8192),
        (1, 64, 4096),
        (16, 512, 512),
        (16, 192, 768),
        (8192, 0, 512),
    ] {
        let work = counted(blocklength, stride, Space::Device);
        assert_eq!(work.read_segments, segments, "{blocklength} of {stride}");
        // claim: gpu-sem-coalesce
        assert_eq!(work.write_segments, 512, "{blocklength} of {stride}");
        assert_eq!((work.warps, work.instructions, work.further_paths), (256, 256 * 60, 0));
    }
    let host = counted(1, 512, Space::Host).host_writes;
    assert_eq!((host.bytes, host.packets), (65_536, 512));
}

#[test]
fn lines_that_neighbouring_warps_share_come_from_memory_once() {
    // Two warps' blocks lie in one line: 16 B of every 32 B are packed.
    let lanes = Pack {
        from: 0,
        primitives: 8192,
        size: 4,
        blocklength: 4,
        stride: 32,
        into: Space::Host,
        instructions: 60,
    };
    let work = count::kernel(&shape(&C2050()), Block::of(256), &lanes).work;
    assert_eq!((work.read_segments, work.l2_hits, work.memory_traffic), (512, 0, 65_536));
    // Shifted by half a line, each line but the outer ones is touched by two warps.
    let shifted = Pack { from: 64, ..lanes };
    let work = count::kernel(&shape(&C2050()), Block::of(256), &shifted).work;
    assert_eq!((work.read_segments, work.l2_hits, work.memory_traffic), (768, 255, 513 * 128));
}

/// Members of a structure: thread k does what member k mod 4 needs.
struct Structure;

impl Lanes for Structure {
    fn threads(&self) -> u64 {
        4096
    }

    fn lane(&self, thread: u64, lane: &mut Lane) {
        lane.path = thread % 4;
        lane.instructions = 50 + 10 * u32::try_from(lane.path).expect("four paths");
        lane.access(Space::Device, Kind::Load, thread * 8, 8);
    }
}

#[test]
fn paths_of_a_warp_run_one_after_the_other() {
    let shape = shape(&C2050());
    let work = count::kernel(&shape, Block::of(256), &Structure).work;
    assert_eq!(work.further_paths, 3 * 128);
    assert_eq!(work.instructions, (50 + 60 + 70 + 80) * 128);
    assert_eq!(work.chain.instructions, 260);
    // Each path touches both lines of its warp on its own: the later ones hit.
    assert_eq!((work.read_segments, work.l2_hits), (4 * 2 * 128, 3 * 2 * 128));
    // claim: gpu-sem-nodiverge
    assert_eq!(counted(16, 512, Space::Host).further_paths, 0);
}

#[test]
fn a_sampled_kernel_is_as_the_whole_one() {
    let machine = C2050();
    let shape = shape(&machine);
    for (blocklength, stride, size) in
        [(1, 512, 8), (16, 512, 8), (3, 40, 8), (5, 36, 4), (16, 192, 8)]
    {
        let lanes = Pack {
            from: 0,
            primitives: 3 << 20,
            size,
            blocklength,
            stride,
            into: Space::Host,
            instructions: 60,
        };
        let whole = count::kernel_counting(&shape, Block::of(256), &lanes, u64::MAX);
        let sampled = count::kernel_counting(&shape, Block::of(256), &lanes, 0);
        assert_eq!(whole.blocks, sampled.blocks);
        let numbers = |work: &Work| {
            [
                work.instructions,
                work.read_segments,
                work.memory_traffic,
                work.host_writes.bytes,
                work.host_writes.packets,
            ]
        };
        for (exact, sampled) in numbers(&whole.work).into_iter().zip(numbers(&sampled.work)) {
            assert!(
                exact.abs_diff(sampled) * 1000 <= exact,
                "{sampled}, not {exact}: {blocklength} {stride}"
            );
        }
        assert_eq!(whole.work.host_writes, sampled.work.host_writes);
    }
}

#[test]
fn all_bytes_of_a_mixture_arrive_and_nothing_more() {
    let machine = C2050();
    let to_host = Copy::contiguous(Direction::DeviceToHost, 5_000_000);
    let to_device = Copy::contiguous(Direction::HostToDevice, 3_000_000);
    let requests: Vec<Request> = (0..12)
        .map(|index| {
            let operation = match index % 3 {
                0 => pack(&machine, &Pack { primitives: 100_000, ..TABLE2 }),
                1 => Operation::Copy(to_host),
                _ => Operation::Copy(to_device),
            };
            (TimeDelta::from_us(u64::from(index) * 50), index % 5, operation)
        })
        .collect();
    let outcome = run(&machine, &requests);
    let packets = |bytes: u64| bytes.div_ceil(128);
    // Kernels: 800000 B are 6250 full TLPs; 39063 TLPs for each copy.
    let up = 4 * (800_000 + 6_250 * 28) + 4 * (5_000_000 + packets(5_000_000) * 28);
    let found = outcome.resource("PCIe to host").raw_bytes;
    assert!(found.abs_diff(up) < 4 * 2 * 28 * 40, "{found}, not {up}");
    assert_eq!(outcome.stats.copied, [12_000_000, 20_000_000, 0]);
    assert_eq!((outcome.stats.kernels, outcome.stats.blocks), (4, 4 * 391));
    assert_eq!(outcome, run(&machine, &requests), "the same again");
}

#[test]
fn a_newer_gpu_reaches_the_rates_of_the_sources() {
    let machine = gpu_machine::machine(include_str!("../../models/spr-ndr-h100.json"), &[]);
    let rate = |operation| {
        let time = alone(&machine, operation).ends[0];
        256.0 * 1.048_576 / time.as_us_f64() * 1e3
    };
    let bytes = 256 << 20;
    // 51.0 GB/s by packets of 128 B each way.
    for direction in [Direction::DeviceToHost, Direction::HostToDevice] {
        let rate = rate(copy(direction, bytes));
        assert!((50.5..51.1).contains(&rate), "{rate} GB/s {direction:?}");
    }
}

/// 1 ms of work that fills the SMs, as the vector addition of the document.
fn user_kernel(profile: &Profile) -> Operation {
    let shape = shape(profile);
    let (threads, block) = (BUFFER / 4, Block::of(256));
    let warps = threads / u64::from(shape.warp);
    let instructions = shape.issue_rate.as_hz() * u64::from(shape.sms) / 1_000 / warps;
    Operation::Kernel(Kernel::of_threads(threads, block, Work::computing(warps, instructions)))
}

/// A vector of doubles packed by a kernel and copied as rows, from asking to the end, in us.
fn packed_and_copied(blocklength: u64, bytes: u64) -> (f64, f64) {
    let machine = C2050();
    let primitives = bytes / 8;
    let lanes = Pack { primitives, blocklength, stride: 512, ..TABLE2 };
    let rows = Copy::rows(Direction::DeviceToHost, primitives / blocklength, 8 * blocklength, 512);
    let time = |operation| alone(&machine, operation).ms(0) * 1e3;
    (time(pack(&machine, &lanes)), time(Operation::Copy(rows)))
}

#[test]
fn kernels_win_with_short_blocks_and_engines_with_long_ones() {
    // claim: gpu-fig4-vec8-20x
    let most = (10..26).step_by(3).map(|power| {
        let (kernel, rows) = packed_and_copied(1, 1 << power);
        rows / kernel
    });
    let most = most.fold(0.0, f64::max);
    assert!((15.0..=25.0).contains(&most), "{most}");
    for power in 10..25 {
        // claim: gpu-fig4-vec128-dma
        let (kernel, rows) = packed_and_copied(16, 1 << power);
        assert!(rows < kernel, "{rows} {kernel} us, 2^{power} B");
        assert!(power > 12 || kernel - rows < 20.0, "{rows} {kernel} us, 2^{power} B");
    }
}

#[test]
fn a_kernel_knows_no_good_and_bad_widths() {
    let blocks = 4_096;
    let rate = |length: u64| {
        let bytes = blocks * length * 8;
        f64::from(u32::try_from(bytes).expect("a few MB")) / packed_and_copied(length, bytes).0
    };
    let rates: Vec<f64> = (1..=40).map(rate).collect();
    for (length, pair) in (1..).zip(rates.windows(2)) {
        assert!(pair[0] <= 1.5 * pair[1] && pair[1] <= 2.0 * pair[0], "{length}: {pair:?}");
    }
}

#[test]
fn packing_into_host_memory_overlaps_the_bus() {
    let machine = C2050();
    let lanes = Pack { blocklength: 1, stride: 512, ..TABLE2 };
    let staged = pack(&machine, &Pack { into: Space::Device, ..lanes });
    let to_host = copy(Direction::DeviceToHost, BUFFER);
    let [zero_copy, staged, copied] =
        [pack(&machine, &lanes), staged, to_host].map(|operation| alone(&machine, operation).ms(0));
    // claim: gpu-sec32-zerocopy
    assert!(zero_copy < staged + copied, "{zero_copy} {staged} {copied}");
    assert!(zero_copy <= 1.02 * staged.max(copied), "{zero_copy} {staged} {copied}");
}
