//! Packing in GPU memory: every method moves the bytes that the serial reference moves.

#![allow(clippy::print_stdout, reason = "what is chosen is of interest")]

use crate::gpu_machine;
use crate::gpu_machine::c2050;
use mpisim::calls::packing::{Layout, Method, Refusal, Task};
use mpisim::engine::Options;
use mpisim::hardware::profile::Profile;
use mpisim::mpi::datatype::{Datatype, Order as Index, Primitive};
use mpisim::runtime::device::{self, bytes::Bytes};
use mpisim::runtime::timed::Ending;
use mpisim::runtime::timed::Outcome;
use mpisim::units::TimeDelta;
use mpisim::workloads::packing::{Beside, Contexts, OTHER, Order, Other, PACK, Packing};

fn named(primitive: Primitive) -> Datatype {
    Datatype::named(primitive)
}

fn double() -> Datatype {
    named(Primitive::Double)
}

/// Types of every kind of node, with gaps, and how many elements of each.
fn layouts() -> Vec<(&'static str, Layout)> {
    let vector = Datatype::vector(40, 2, 5, &double()).unwrap();
    let parts = Datatype::subarray(&[6, 5, 7], &[3, 4, 2], &[1, 0, 4], Index::C, &double());
    let indexed = Datatype::indexed(&[3, 0, 1, 7], &[9, 30, 0, 20], &double()).unwrap();
    let members = [double(), named(Primitive::Int32), named(Primitive::Char)];
    let made = Datatype::structure(&[1, 2, 1], &[0, 8, 16], &members).unwrap();
    let nested = Datatype::hindexed_block(1, &[4_000, 0], &vector).unwrap();
    let all = [
        ("contiguous", Datatype::contiguous(100, &double()).unwrap(), 1),
        ("vector", vector, 3),
        ("subarray", parts.unwrap(), 2),
        ("indexed", indexed, 2),
        ("struct", Datatype::resized(0, 24, &made).unwrap(), 70),
        ("nested", nested, 1),
    ];
    let layout = |datatype, count| Layout::new(datatype, count).unwrap();
    all.map(|(name, datatype, count)| (name, layout(datatype, count))).into()
}

/// A packing on the machine of the document.
fn packing(layout: &Layout, method: Method, task: Task) -> Packing {
    packing_on(&c2050(&[]), layout, method, task)
}

fn packing_on(machine: &Profile, layout: &Layout, method: Method, task: Task) -> Packing {
    let prices = device::prices(machine).expect("a machine with a GPU");
    let method = method.chosen(layout, task, &prices);
    Packing { layout: layout.clone(), method, task, threads_per_block: 64, beside: None }
}

fn setup(packing: &Packing, profile: &Profile) -> device::Setup {
    device::Setup {
        profile: profile.clone(),
        layout: packing.layout.clone(),
        threads_per_block: packing.threads_per_block,
        programs: packing.programs().unwrap(),
        take_turns: packing.take_turns(),
        bytes: None,
        options: Options::default(),
    }
}

fn run(packing: &Packing) -> Outcome {
    let bytes = Some(Bytes::new(&packing.layout, packing.task));
    device::run(device::Setup { bytes, ..setup(packing, &c2050(&[])) })
}

/// The same with sizes only.
fn run_only(packing: &Packing) -> Outcome {
    device::run(setup(packing, &c2050(&[])))
}

fn took(outcome: &Outcome, part: u32) -> TimeDelta {
    let at = |number| outcome.marks.iter().find(|mark| mark.number == number).unwrap().at;
    let [start, end] = device::marks_of(part);
    at(end).since(at(start))
}

// claim: gpu-sem-unpack
// claim: gpu-sem-depfree
#[test]
fn every_method_packs_and_unpacks_what_the_serial_reference_does() {
    for (name, layout) in layouts() {
        let mut able = 0;
        for method in Method::ALL {
            for task in [Task::Pack, Task::Unpack] {
                let packing = packing(&layout, method, task);
                if packing.programs().is_err() {
                    continue;
                }
                let outcome = run(&packing);
                assert_eq!(outcome.ending, Ending::Finished);
                assert_eq!(outcome.violations, [], "{name} {method:?} {task:?}");
                able += 1;
            }
        }
        assert!(able >= 12, "{name}: {able} ways");
    }
}

/// A byte that did not move is seen.
#[test]
fn a_packing_that_stops_half_way_is_no_packing() {
    let (_, layout) = layouts().swap_remove(1);
    for task in [Task::Pack, Task::Unpack] {
        let packing = packing(&layout, Method::Blockwise, task);
        let mut setup = setup(&packing, &c2050(&[]));
        let middle = setup.programs[0].len() / 2;
        setup.programs[0].remove(middle);
        setup.bytes = Some(Bytes::new(&layout, task));
        let broken: Vec<_> = device::run(setup).violations.iter().map(|one| one.id).collect();
        assert_eq!(broken, [if task == Task::Pack { "D1" } else { "D3" }]);
    }
}

// claim: gpu-sem-mvapich-path
#[test]
fn the_vector_path_is_a_copy_in_the_device_and_then_one_out_of_it() {
    let layout = Layout::new(Datatype::vector(4_096, 16, 64, &double()).unwrap(), 1).unwrap();
    let both = took(&run(&packing(&layout, Method::DeviceVector, Task::Pack)), PACK);
    let plain = Layout::new(Datatype::contiguous(4_096 * 16, &double()).unwrap(), 1).unwrap();
    let out = took(&run(&packing(&plain, Method::Blockwise, Task::Pack)), PACK);
    let machine = c2050(&[]);
    let traffic = machine.gpu.mem_bw_effective.unwrap();
    let inside = traffic.transfer_time(mpisim::units::Bytes::new(2 * 4_096 * 16 * 8));
    assert!(both > out + inside, "{both}: nothing overlaps");
    let latency = machine.gpu.memcpy_call_latency.unwrap() + machine.gpu.mem_latency.unwrap();
    assert!(both < out + inside + latency * 2, "{both} = {out} + {inside} and the start of one");
}

// claim: gpu-sec32-zerocopy
#[test]
fn zero_copy_overlaps_the_bus_with_the_kernel() {
    let layout = Layout::new(Datatype::vector(262_144, 4, 8, &double()).unwrap(), 1).unwrap();
    let zero = took(&run(&packing(&layout, Method::Kernel, Task::Pack)), PACK);
    let staged = took(&run(&packing(&layout, Method::KernelStaged, Task::Pack)), PACK);
    let plain = Layout::new(Datatype::contiguous(1 << 20, &double()).unwrap(), 1).unwrap();
    let bus = took(&run(&packing(&plain, Method::Blockwise, Task::Pack)), PACK);
    assert!(zero < staged, "{zero} against {staged}");
    assert!(zero < bus.scaled(21, 20), "{zero}: hardly more than the bus, {bus}");
}

// claim: gpu-sem-fcfs
// claim: gpu-sem-dmaengine
#[test]
fn a_kernel_waits_for_another_one_and_a_copy_does_not() {
    let layout = Layout::new(Datatype::vector(65_536, 8, 16, &double()).unwrap(), 1).unwrap();
    let time = TimeDelta::from_us(500);
    let beside = |method, order| {
        let beside = Some(Beside { what: Other::Kernel(time), order });
        run(&Packing { beside, ..packing(&layout, method, Task::Pack) })
    };
    let alone = |method| took(&run(&packing(&layout, method, Task::Pack)), PACK);
    let behind = took(&beside(Method::Kernel, Order::OtherFirst), PACK);
    assert!(behind > alone(Method::Kernel) + time, "{behind}");
    let before = beside(Method::Kernel, Order::PackFirst);
    assert_eq!(took(&before, PACK), alone(Method::Kernel), "who runs is not interrupted");
    assert!(took(&before, OTHER) > alone(Method::Kernel) + time - TimeDelta::from_us(10));
    let copy = took(&beside(Method::Memcpy2d, Order::OtherFirst), PACK);
    assert!(copy < alone(Method::Memcpy2d) + TimeDelta::from_us(10), "{copy}");
}

#[test]
fn a_copy_is_waited_for_and_what_runs_beside_it_is_not() {
    let layout = Layout::new(Datatype::vector(4, 1, 64, &double()).unwrap(), 1).unwrap();
    let packing = packing(&layout, Method::Blockwise, Task::Pack);
    let alone = took(&run(&packing), PACK);
    let what = Other::Kernel(TimeDelta::from_us(2_000));
    let beside = Some(Beside { what, order: Order::OtherFirst });
    let outcome = run(&Packing { beside, ..packing });
    assert_eq!(took(&outcome, PACK), alone, "four copies, one after the other");
    assert!(took(&outcome, OTHER) > alone * 10);
}

/// The layout of the document's vector, 8 B blocks 512 B apart, with lists in two ways.
fn listed(blocks: i64) -> [Layout; 2] {
    let places: Vec<i64> = (0..blocks).map(|block| 64 * block).collect();
    let lengths = vec![1; places.len()];
    [
        Datatype::indexed_block(1, &places, &double()).unwrap(),
        Datatype::indexed(&lengths, &places, &double()).unwrap(),
    ]
    .map(|datatype| Layout::new(datatype, 1).unwrap())
}

// claim: gpu-fig4-idxblock
#[test]
fn equal_blocks_need_no_search_and_pack_no_slower() {
    for blocks in [128, 2_048, 32_768] {
        let time = |layout| took(&run(&packing(layout, Method::Kernel, Task::Pack)), PACK);
        let [equal, searched] = listed(blocks);
        let (equal, searched) = (time(&equal), time(&searched));
        assert!(equal <= searched, "{blocks} blocks: {equal} against {searched}");
    }
}

// claim: gpu-fig4-generic-us
// From two to five microseconds, give or take one, for most inputs below a mebibyte.
#[test]
fn the_encoding_costs_a_few_microseconds() {
    let vector = Datatype::vector(4_096, 1, 64, &double()).unwrap();
    let parts = Datatype::subarray(&[64; 4], &[8; 4], &[0; 4], Index::C, &double()).unwrap();
    let [equal, searched] = listed(4_096);
    let plain = Datatype::contiguous(4_096, &double()).unwrap();
    let of = |datatype| Layout::new(datatype, 1).unwrap();
    let all = [
        ("contiguous", of(plain)),
        ("vector", of(vector)),
        ("subarray", of(parts)),
        ("indexed block", equal),
        ("indexed", searched),
    ];
    let mut within = 0;
    for (name, layout) in &all {
        let time = |method| took(&run(&packing(layout, method, Task::Pack)), PACK);
        let (generic, by_hand) = (time(Method::Kernel), time(Method::HandCoded));
        assert!(generic > by_hand, "{name}: {generic} against {by_hand}");
        let more = (generic - by_hand).as_us_f64();
        within += usize::from((1.0..=6.0).contains(&more));
    }
    assert!(2 * within > all.len(), "{within} of {}", all.len());
}

/// One warp, one level: what the generic kernel does besides a hand-coded one, term by term.
#[test]
fn the_encoding_is_loaded_once_and_its_fields_are_read_from_shared_memory() {
    let machine = c2050(&[]);
    let of = |changes: &[(&str, &str)]| {
        let profile = c2050(changes);
        let plain = Datatype::contiguous(32, &double()).unwrap();
        let layout = Layout::new(plain, 1).unwrap();
        let time = |method| {
            let packing = packing_on(&profile, &layout, method, Task::Pack);
            took(&device::run(setup(&packing, &profile)), PACK)
        };
        time(Method::Kernel) - time(Method::HandCoded)
    };
    let gpu = &machine.gpu;
    let number = |count: Option<u32>| u64::from(count.expect("a machine with a GPU"));
    // The division by the primitives of a child, two products of distances in bytes instead of numbers
    // that the code knows, five fields, the loop; and the load of the node by a thread.
    let level = number(gpu.kernel_division)
        + 2 * (number(gpu.kernel_product_wide) - number(gpu.kernel_product))
        + 5 * number(gpu.kernel_field)
        + number(gpu.kernel_level);
    let instructions = gpu.instruction_latency.unwrap() * (level + number(gpu.kernel_thread));
    // The node comes from device memory, is seen in shared memory, and is read: its kind, then the rest.
    let loads = gpu.mem_latency.unwrap() + gpu.shared_latency.unwrap() * 3;
    let (found, expected) = (of(&[]), instructions + loads);
    // Beside that the instructions are issued, in less than a nanosecond each.
    let issue = TimeDelta::from_ns(level + number(gpu.kernel_thread));
    assert!(found >= expected && found <= expected + issue, "{found}, not {expected}");
    // A load that takes 10 ns longer is waited for three times.
    let slower = of(&[("gpu.shared_latency", "54 ns")]);
    assert_eq!(slower, found + TimeDelta::from_ns(30));
}

/// The path of MVAPICH 1.8 for vectors takes what is contiguous or lies in equal rows. Any other type has
/// no such path: it is refused by name, or goes the way of the fallback, call by call.
///
/// claim: gpu-sem-kernel-noderived
#[test]
fn the_path_for_vectors_leaves_other_types_to_the_fallback() {
    let fallback = Some(Method::Blockwise);
    let rows = Layout::new(Datatype::vector(40, 2, 5, &double()).unwrap(), 1).unwrap();
    for (name, layout) in layouts().into_iter().chain([("rows", rows)]) {
        for task in [Task::Pack, Task::Unpack] {
            let alone = Method::DeviceVector.or(None, &layout, task);
            let other = Method::DeviceVector.or(fallback, &layout, task).unwrap();
            // The members of this struct lie back to back: 70 rows of 17 B.
            if matches!(name, "contiguous" | "rows" | "struct") {
                assert_eq!((alone, other), (Ok(Method::DeviceVector), Method::DeviceVector));
            } else {
                assert_eq!(alone, Err(Refusal::NoRows), "{name}");
                assert_eq!(other, Method::Blockwise, "{name}");
                let took = |method| took(&run(&packing(&layout, method, task)), PACK);
                assert_eq!(took(other), took(Method::Blockwise), "{name}");
            }
        }
    }
    let (_, indexed) = layouts().swap_remove(3);
    let none = Method::DeviceVector.or(Some(Method::PerField), &indexed, Task::Pack);
    assert_eq!(none, Err(Refusal::NoStruct), "the fallback is refused by its own name");
}

fn scenario(name: &str) -> serde_json::Value {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("scenarios/gpu-pack").join(format!("{name}.json"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

// claim: gpu-cfg-stride
// claim: gpu-cfg-subarray
// claim: gpu-cfg-struct
#[test]
fn the_figures_pack_the_types_of_the_document() {
    for name in ["fig04_vector8", "fig04_vector128"] {
        let datatype = &scenario(name)["workload"]["datatype"];
        assert_eq!(datatype["child"]["name"], "double", "{name}");
        assert_eq!(datatype["stride"].as_u64().unwrap() * 8, 512, "{name}");
    }
    let parts = &scenario("fig04_subarray")["workload"]["datatype"];
    assert_eq!(parts["sizes"], serde_json::json!([64, 64, 64, 64]));
    let outer = &scenario("fig04_struct")["workload"]["datatype"];
    assert_eq!(outer["extent"], 24);
    let members = outer["child"]["children"].as_array().unwrap();
    let size = |member: &serde_json::Value| {
        Primitive::by_name(member["name"].as_str().unwrap()).unwrap().width()
    };
    assert_eq!(members.iter().map(size).collect::<Vec<_>>(), [8, 4, 4, 1]);
}

/// The layout of Table 2: 16 MiB in blocks of 64 B that lie back to back.
fn table2() -> Layout {
    Layout::new(Datatype::vector(262_144, 8, 8, &double()).unwrap(), 1).unwrap()
}

/// A packing of 16 MiB beside something: its time, that of the other, and until both are done, in us.
fn beside(method: Method, what: Other, order: Order) -> [f64; 3] {
    let beside = Some(Beside { what, order });
    let packing =
        Packing { beside, threads_per_block: 256, ..packing(&table2(), method, Task::Pack) };
    let outcome = run_only(&packing);
    let end = outcome.end.since(mpisim::units::Time::ZERO);
    [took(&outcome, PACK), took(&outcome, OTHER), end].map(TimeDelta::as_us_f64)
}

// claim: gpu-tab2-rule-sm
// The later of two kernels that fill the SMs waits for the earlier one; a copy is as long as alone.
#[test]
fn kernels_add_up_and_a_copy_beside_one_does_not_notice_it() {
    let user = Other::Kernel(TimeDelta::from_us(1_000));
    let [pack, other, serial] = beside(Method::Kernel, user, Order::Serial);
    for order in [Order::OtherFirst, Order::PackFirst] {
        let [_, _, both] = beside(Method::Kernel, user, order);
        assert!((both - serial).abs() < 0.01 * serial, "{both} of {pack} and {other}");
    }
    let [alone, other, _] = beside(Method::Memcpy2d, user, Order::Serial);
    let [copied, computed, _] = beside(Method::Memcpy2d, user, Order::OtherFirst);
    assert!((copied / alone - 1.0).abs() < 0.05, "{copied} instead of {alone}");
    assert!((computed / other - 1.0).abs() < 0.05, "{computed} instead of {other}");
}

// claim: gpu-tab2-rule-g2c
// claim: gpu-tab2-gap
// The gap is that between two askings: what is done last was asked for last.
#[test]
fn what_goes_one_way_takes_the_sum_in_either_order() {
    for method in [Method::Kernel, Method::Memcpy2d] {
        let user = Other::ToHost(16 << 20);
        let [_, _, serial] = beside(method, user, Order::Serial);
        for order in [Order::OtherFirst, Order::PackFirst] {
            let [_, _, both] = beside(method, user, order);
            assert!((both / serial - 1.0).abs() < 0.03, "{method:?}: {both} of {serial}");
        }
        let [_, later, both] = beside(method, Other::ToDevice(16 << 20), Order::PackFirst);
        assert!((0.0..=40.0).contains(&(both - later)), "{method:?}: {later} of {both}");
    }
}

// claim: gpu-fig4-latency
// claim: gpu-fig4-launch
// Types that take one call, up to 4 KiB; a kernel takes at most 10 us more than a copy to begin.
#[test]
fn small_packings_are_latency() {
    let time = |blocklength: i64, bytes: i64, method| {
        let blocks = bytes / (8 * blocklength);
        let vector = Datatype::vector(blocks, blocklength, 64, &double()).unwrap();
        let layout = Layout::new(vector, 1).unwrap();
        took(&run(&packing(&layout, method, Task::Pack)), PACK).as_us_f64()
    };
    for bytes in [128, 1_024, 4_096] {
        for blocklength in [1, 4, 16] {
            let methods = [Method::Kernel, Method::HandCoded, Method::Memcpy2d];
            let times = methods.map(|method| time(blocklength, bytes, method));
            let (least, most) = (times[1].min(times[2]), times[0].max(times[2]));
            assert!(most - least <= 20.0, "{times:?} us for {bytes} B");
        }
    }
    let more = time(1, 8, Method::HandCoded) - time(1, 8, Method::Memcpy2d);
    assert!((0.0..=10.0).contains(&more), "{more} us");
}

// claim: gpu-fig5-kernel-smooth
#[test]
fn the_kernel_knows_no_good_and_bad_widths() {
    let rate = |blocklength: i64| {
        let layout = Layout::new(Datatype::vector(4_096, blocklength, 64, &double()).unwrap(), 1);
        let layout = layout.unwrap();
        let packing =
            Packing { threads_per_block: 256, ..packing(&layout, Method::Kernel, Task::Pack) };
        let bytes = f64::from(u32::try_from(layout.encoding.packed()).unwrap());
        bytes / took(&run_only(&packing), PACK).as_us_f64()
    };
    let rates: Vec<f64> = (1..=40).map(rate).collect();
    for (length, pair) in (1..).zip(rates.windows(2)) {
        assert!(pair[0] <= 1.5 * pair[1] && pair[1] <= 2.0 * pair[0], "{length}: {pair:?}");
    }
}

#[test]
fn reads_of_the_host_bound_the_kernel_that_unpacks() {
    let machine = c2050(&[]);
    let gpu = &machine.gpu;
    let layout = Layout::new(Datatype::vector(262_144, 1, 4, &double()).unwrap(), 1).unwrap();
    let unpacked = took(&run_only(&packing(&layout, Method::Kernel, Task::Unpack)), PACK);
    // So many requests in one round trip.
    let requests = layout.encoding.packed() / gpu.pcie_read_request.unwrap().as_u64();
    let trips = requests / u64::from(gpu.sm_outstanding_reads.unwrap());
    let reads = machine.pcie.dma_read_round_trip * trips;
    assert!(unpacked > reads && unpacked < reads + TimeDelta::from_us(40), "{unpacked} {reads}");
    let packed = took(&run_only(&packing(&layout, Method::Kernel, Task::Pack)), PACK);
    assert!(unpacked > packed.scaled(5, 4), "{unpacked} against {packed}");
}

#[test]
fn processes_with_own_contexts_take_turns_and_with_one_they_overlap() {
    let layout = Layout::new(Datatype::vector(8_192, 1, 64, &double()).unwrap(), 1).unwrap();
    for method in [Method::Kernel, Method::Memcpy2d, Method::WholeExtent] {
        let one = packing(&layout, method, Task::Pack);
        let alone = took(&run(&one), PACK);
        let two = |contexts| {
            let what = Other::Packing(contexts);
            let beside = Some(Beside { what, order: Order::OtherFirst });
            let outcome = run(&Packing { beside, ..one.clone() });
            assert_eq!(outcome.violations, [], "{method:?}");
            outcome.end.since(mpisim::units::Time::ZERO)
        };
        let (turns, overlap) = (two(Contexts::Own), two(Contexts::Shared));
        assert!(overlap >= alone && overlap < alone * 2, "{method:?}: {overlap} of {alone}");
        assert!(turns >= overlap, "{method:?}: {turns} of {alone}");
        let is_one_call = method.calls(&layout, Task::Pack).unwrap().len() == 1;
        assert!(!is_one_call || turns == alone * 2, "{method:?}: {turns} of {alone}");
    }
}

#[test]
fn stores_of_another_kernel_share_the_bus_and_copies_both_ways_slow_each_other() {
    let time = TimeDelta::from_us(1_000);
    let [computed, _, _] = beside(Method::Memcpy2d, Other::Kernel(time), Order::OtherFirst);
    let writing = Other::Writing(time, 4 << 20);
    let [written, _, _] = beside(Method::Memcpy2d, writing, Order::OtherFirst);
    // 4 MiB by packets of 156 B at 8 GB/s are 639 us of the bus.
    assert!((600.0..700.0).contains(&(written - computed)), "{written} {computed}");
    let [_, alone, _] = beside(Method::Memcpy2d, Other::Exchange(4 << 20), Order::Serial);
    let [_, in_, _] = beside(Method::Memcpy2d, Other::ToDevice(4 << 20), Order::Serial);
    let [_, out, _] = beside(Method::Memcpy2d, Other::ToHost(4 << 20), Order::Serial);
    assert!(alone > in_.max(out) && alone < in_ + out, "{alone} of {in_} and {out}");
}

/// Types and sizes that a choice is to be made for.
fn varied() -> Vec<(&'static str, Layout)> {
    let vector = |count, blocklength, stride| {
        (Datatype::vector(count, blocklength, stride, &double()).unwrap(), 1)
    };
    let part = |n| {
        let sizes = [n, 16, 16, 16];
        (Datatype::subarray(&[64; 4], &sizes, &[0; 4], Index::C, &double()).unwrap(), 1)
    };
    let members =
        [double(), named(Primitive::Int32), named(Primitive::Int32), named(Primitive::Char)];
    let record = Datatype::structure(&[1; 4], &[0, 8, 12, 16], &members).unwrap();
    let record = Datatype::resized(0, 24, &record).unwrap();
    let mut all = Vec::new();
    for size in [1, 32, 1_024] {
        let of = |n: i64| n * size;
        all.push(("contiguous", vector(of(128), 1, 1)));
        all.push(("8 of 512 B", vector(of(128), 1, 64)));
        all.push(("8 of 24 B", vector(of(128), 1, 3)));
        all.push(("32 of 512 B", vector(of(32), 4, 64)));
        all.push(("128 of 512 B", vector(of(8), 16, 64)));
        all.push(("struct", (record.clone(), of(64).unsigned_abs())));
    }
    all.extend([1, 4, 32].map(|n| ("box", part(n))));
    let layout = |(name, (datatype, count))| (name, Layout::new(datatype, count).unwrap());
    all.into_iter().map(layout).collect()
}

/// How far the automatic choice is from the best: in the mean, and at most; in hundredths.
fn distance(model: &str, task: Task) -> [u64; 2] {
    let profile = gpu_machine::machine(model, &[]);
    let time = |layout: &Layout, method| {
        let packing = packing_on(&profile, layout, method, task);
        let packing = Packing { threads_per_block: 256, ..packing };
        packing.programs().ok()?;
        Some(took(&device::run(setup(&packing, &profile)), PACK).as_ps())
    };
    let (mut sum, mut most, mut count) = (0, 0, 0);
    for (name, layout) in varied() {
        let others = Method::ALL.into_iter().filter(|&method| is_general(method));
        let best = others.filter_map(|method| time(&layout, method)).min().unwrap();
        let found = time(&layout, Method::Automatic).unwrap() * 100 / best;
        let prices = device::prices(&profile).unwrap();
        let chosen = Method::Automatic.chosen(&layout, task, &prices).name();
        let bytes = layout.encoding.packed();
        println!("{task:?} {name}, {bytes} B: {chosen}, {found} % of the best");
        (sum, most, count) = (sum + found, most.max(found), count + 1);
    }
    [sum / count, most]
}

/// Whether a library could take the method for any type of data in device memory.
fn is_general(method: Method) -> bool {
    !matches!(method, Method::Cpu | Method::HandCoded | Method::Points | Method::Automatic)
}

#[test]
fn the_automatic_choice_is_near_the_best() {
    let c2050 = include_str!("../../models/arc-c2050-qdr.json");
    for task in [Task::Pack, Task::Unpack] {
        let [mean, most] = distance(c2050, task);
        println!("{task:?}: {mean} % in the mean, {most} % at most");
        assert!(mean <= 105 && most <= 140, "{task:?}: {mean} {most}");
    }
}

/// On a machine without a GPU a core packs what lies beside it; a byte that did not move is seen.
#[test]
fn a_core_packs_and_unpacks_without_a_gpu() {
    let machine = gpu_machine::machine(include_str!("../../models/broadwell-edr.json"), &[]);
    assert_eq!(machine.gpu.sm_count, None);
    for (name, layout) in layouts() {
        for task in [Task::Pack, Task::Unpack] {
            let packing = packing(&layout, Method::Cpu, task);
            let mut setup = setup(&packing, &machine);
            setup.bytes = Some(Bytes::new(&layout, task));
            let outcome = device::run(setup.clone());
            assert_eq!((&outcome.ending, &outcome.violations[..]), (&Ending::Finished, &[][..]));
            let took = took(&outcome, PACK);
            assert!(took > TimeDelta::ZERO && outcome.accounts[0].working() == took, "{name}");
            setup.programs[0].remove(0);
            let broken: Vec<_> = device::run(setup).violations.iter().map(|one| one.id).collect();
            assert_eq!(broken, [if task == Task::Pack { "D1" } else { "D3" }], "{name}");
        }
    }
}

/// What a library's source says of it shows: one machine, with the numbers of two libraries.
#[test]
fn libraries_differ_by_what_they_move_at_once() {
    let apart = |machine: &Profile, block: i64, apart: i64| {
        let (count, length) = ((1 << 20) / block, block / 4);
        let child = named(Primitive::Int32);
        let layout = Datatype::vector(count, length, apart * length, &child).unwrap();
        let packing = packing(&Layout::new(layout, 1).unwrap(), Method::Cpu, Task::Pack);
        took(&device::run(setup(&packing, machine)), PACK)
    };
    let time = |machine: &Profile, block: i64| apart(machine, block, 8);
    let model = include_str!("../../models/ref-node.json");
    let by_block = gpu_machine::machine(model, &[("mpi.pack_block", "3 ns")]);
    let element = [("mpi.pack_element", "0.52 ns"), ("mpi.pack_copy_from", "16 KiB")];
    let by_element = gpu_machine::machine(model, &element);
    let element = by_element.mpi.pack_element;
    // Short of the threshold each primitive costs; from it on blocks are copied by both alike.
    for block in [64, 1 << 10, 8 << 10] {
        assert_eq!(time(&by_element, block), element * (1 << 18));
    }
    assert!(time(&by_element, 16 << 10) < time(&by_element, 8 << 10).scaled(1, 2));
    // Each of the smallest blocks costs the library that copies them a call.
    assert_eq!(time(&by_block, 4), by_block.mpi.pack_block * (1 << 18));
    // No line follows the one before, within a page or not: all of them are waited for, whoever packs,
    // and the packed bytes move beside them.
    let one = by_block.cache.l3_latency * (1 << 16);
    let lines = one.scaled(1, u64::from(by_block.cache.lines_in_flight.unwrap()));
    // What is packed is written and read before, at the rate of a copy, which reads and writes.
    let rate = by_element.mem.core_copy_bw_llc;
    let packed = rate.transfer_time(mpisim::units::Bytes::new((2_u64 << 20).div_ceil(3)));
    for distance in [264, 8] {
        let [by_block, by_element] = [&by_block, &by_element].map(|one| apart(one, 16, distance));
        assert_eq!(by_block, by_element);
        // The second level holds a part of it: the closed form is that of `hardware::memory::packing`.
        assert!(lines < by_block && by_block < lines + packed, "{distance}: {by_block}");
    }
}
