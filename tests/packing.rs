//! Packing in GPU memory: every method moves the bytes that the serial reference moves.

#![allow(clippy::unwrap_used, reason = "a test stops at its first surprise")]

mod gpu_machine;

use gpu_machine::c2050;
use mpisim::engine::Options;
use mpisim::mpi::datatype::{Datatype, Order as Index, Primitive};
use mpisim::protocols::packing::{Layout, Method, Task};
use mpisim::runtime::device::{self, bytes::Bytes};
use mpisim::runtime::timed::Ending;
use mpisim::runtime::timed::Outcome;
use mpisim::units::TimeDelta;
use mpisim::workloads::packing::{Beside, OTHER, Order, Other, PACK, Packing};

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

fn packing(layout: &Layout, method: Method, task: Task) -> Packing {
    Packing { layout: layout.clone(), method, task, threads_per_block: 64, beside: None }
}

fn run(packing: &Packing) -> Outcome {
    let setup = device::Setup {
        profile: c2050(&[]),
        layout: packing.layout.clone(),
        threads_per_block: packing.threads_per_block,
        steps: packing.steps().unwrap(),
        bytes: Some(Bytes::new(&packing.layout, packing.task)),
        options: Options::default(),
    };
    device::run(setup)
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
                if method.calls(&layout, task).is_err() {
                    continue;
                }
                let outcome = run(&packing(&layout, method, task));
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
        let mut steps = packing.steps().unwrap();
        steps.remove(steps.len() / 2);
        let bytes = Some(Bytes::new(&layout, task));
        let (profile, options) = (c2050(&[]), Options::default());
        let setup = device::Setup {
            profile,
            layout: layout.clone(),
            threads_per_block: 64,
            steps,
            bytes,
            options,
        };
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
