//! Messages whose buffers are in GPU memory: their bytes in both runtimes, their time against sums,
//! and what is refused by name.

use std::sync::Arc;

use crate::common::{job, model};
use mpisim::calls::packing::{Layout, Method, Task};
use mpisim::hardware::core::Pinning;
use mpisim::mpi::datatype::{Datatype, Primitive};
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{Call, Comm, Peer};
use mpisim::protocols::contract::Next;
use mpisim::protocols::device::{DeviceBuffer, DeviceExchange};
use mpisim::protocols::library::Library;
use mpisim::runtime::device;
use mpisim::runtime::explore::replay;
use mpisim::runtime::memory::Payload;
use mpisim::runtime::timed::{Ending, Outcome, Ran};
use mpisim::runtime::untimed::{self, World};
use mpisim::units::TimeDelta;
use mpisim::workloads::gpu::GpuPingPong;
use mpisim::workloads::gpu::stencil::GpuStencil;
use mpisim::workloads::job::{AnyProgram, Job};
use mpisim::workloads::kind::Workload;
use mpisim::workloads::packing::{PACK, Packing};
use mpisim::workloads::ping_pong::{END, START};
use mpisim::workloads::ranks::{Addressing, Placement, PlacementOrder, Ranks};
use mpisim::workloads::score::{Score, Section};

const MACHINE: &str = "arc-c2050-qdr";

fn double() -> Datatype {
    Datatype::named(Primitive::Double)
}

/// Blocks of so many doubles, 512 B apart.
fn vector(count: i64, blocklength: i64) -> Layout {
    Layout::new(Datatype::vector(count, blocklength, 64, &double()).unwrap(), 1).unwrap()
}

/// Types of one signature, `6 n` doubles: rows, contiguous data, a list that begins below its origin,
/// and elements of a struct.
fn alike(n: i64) -> Vec<Layout> {
    let one = |datatype: Datatype, count| Layout::new(datatype, count).unwrap();
    let list: Vec<i64> = (0..2 * n).map(|block| 40 * (2 * n - block) - 100).collect();
    let pair = Datatype::contiguous(2, &double()).unwrap();
    let members = Datatype::structure(
        &[1, 2],
        &[8, 48],
        &[pair, Datatype::contiguous(2, &double()).unwrap()],
    );
    vec![
        vector(2 * n, 3),
        one(Datatype::contiguous(6 * n, &double()).unwrap(), 1),
        one(Datatype::hindexed_block(3, &list, &double()).unwrap(), 1),
        one(members.unwrap(), n.unsigned_abs()),
    ]
}

fn buffer(id: u32, layout: &Layout, method: Method, chunk: Option<u64>) -> Option<DeviceBuffer> {
    let buffer = DeviceBuffer::new(id, layout.clone(), method).ok()?;
    Some(if let Some(chunk) = chunk { buffer.in_chunks(chunk) } else { buffer })
}

fn workload(sent: DeviceBuffer, received: DeviceBuffer, rounds: u32) -> GpuPingPong {
    let (sent, received) = (Arc::new(sent), Arc::new(received));
    GpuPingPong { sent, received, warm_up: 1, rounds }
}

/// Ranks of which each is alone on its node: the programs do not depend on how many there are.
fn one_a_node() -> Ranks {
    let (order, pinning) = (PlacementOrder::Block, Pinning::Scatter);
    let placement = Placement { processes: 2, per_node: 1, order, oversubscribe: false, pinning };
    Ranks { nodes: 2, placement, threads: 1, addressing: Addressing::Process, seed: 1 }
}

fn job_of(workload: &dyn Workload, payload: Payload) -> Job {
    let programs = workload.programs(&one_a_node());
    let nodes = u32::try_from(programs.len()).unwrap();
    let mut job = job(model(MACHINE, &[]), programs);
    (job.nodes, job.mpi.payload) = (nodes, payload);
    job
}

fn run(workload: &dyn Workload, payload: Payload) -> Ran<Library, AnyProgram> {
    let mut timed = job_of(workload, payload).timed().unwrap();
    if payload == Payload::Real {
        for (process, region, bytes) in workload.contents() {
            timed.store(process, region, &bytes);
        }
    }
    timed.run()
}

#[track_caller]
fn check_clean(outcome: &Outcome) {
    assert_eq!(outcome.ending, Ending::Finished);
    assert_eq!(outcome.violations, []);
}

/// The same workload in the untimed world, before its first step.
fn world(workload: &dyn Workload) -> World<Library, AnyProgram> {
    let mut world = job_of(workload, Payload::Real).untimed().unwrap();
    for (process, region, bytes) in workload.contents() {
        world.store(process, region, &bytes);
    }
    world
}

/// Bytes arrive in the timed run, in the same run replayed without time, and in an order of its own;
/// and times do not depend on whether they exist.
#[track_caller]
fn check_bytes(workload: &dyn Workload) {
    let ran = run(workload, Payload::Real);
    check_clean(&ran.outcome);
    assert_eq!(workload.broken(&ran.memories), []);
    let phantom = run(workload, Payload::Phantom).outcome;
    check_clean(&phantom);
    assert_eq!(phantom.marks, ran.outcome.marks, "payload decides no time");
    let mut replayed = world(workload);
    replay(&mut replayed, &ran.outcome.choices).unwrap();
    assert_eq!(replayed.memories(), &ran.memories);
    let (mut other, mut step) = (world(workload), 0_usize);
    while let Some(&choice) = other.choices().get(step * 7 % other.choices().len().max(1)) {
        other.apply(choice).unwrap();
        step += 1;
    }
    assert_eq!(other.outcome(), untimed::Outcome::Finished);
    assert_eq!(other.violations(), []);
    assert_eq!(workload.broken(other.memories()), []);
}

#[test]
fn bytes_arrive_whatever_the_method_and_the_chunk() {
    let mut checked = 0;
    for method in Method::ALL {
        for chunk in [None, Some(20), Some(48), Some(1 << 20)] {
            for layout in alike(4) {
                let both = [0, 1].map(|id| buffer(id, &layout, method, chunk));
                let [Some(sent), Some(received)] = both else { continue };
                check_bytes(&workload(sent, received, 1));
                checked += 1;
            }
        }
    }
    // Of 40 pairs of method and type, those that a method is not made for are left out.
    assert!(checked > 60, "{checked} were checked");
}

/// D8: two types of one signature, both ways, in chunks and whole.
#[test]
fn types_of_one_signature_receive_each_other() {
    let layouts = alike(40);
    for (index, sent) in layouts.iter().enumerate() {
        let received = &layouts[(index + 1) % layouts.len()];
        for chunk in [None, Some(100)] {
            let pair = [(0, sent), (1, received)]
                .map(|(id, layout)| buffer(id, layout, Method::Kernel, chunk).unwrap());
            let [sent, received] = pair;
            check_bytes(&workload(sent, received, 2));
        }
    }
}

/// A large message by rendezvous, in chunks that are themselves large or eager, by other methods at
/// both sides.
#[test]
fn large_messages_arrive_in_chunks() {
    for chunk in [None, Some(8 << 10), Some(100_000)] {
        let sent = buffer(0, &vector(20_000, 2), Method::HandCoded, chunk).unwrap();
        let received = buffer(1, &vector(40_000, 1), Method::Memcpy2d, chunk).unwrap();
        check_bytes(&workload(sent, received, 1));
    }
}

#[test]
fn a_stencil_exchanges_rows_columns_and_corners() {
    for (grid, of) in
        [((2, 2), Primitive::Double), ((1, 3), Primitive::Float), ((3, 2), Primitive::Float)]
    {
        for method in [Method::Kernel, Method::Memcpy2d] {
            let point = Datatype::named(of);
            let mut stencil = GpuStencil::new(grid, 32, &point, method).unwrap();
            stencil.steps = 2;
            check_bytes(&stencil);
        }
    }
}

/// Half of the exchanges are of rows, which are contiguous: of a corner, and of a node inside the grid.
// claim: gpu-tab3-contig-half
#[test]
fn half_of_the_halo_is_contiguous() {
    let stencil = |grid| GpuStencil::new(grid, 128, &double(), Method::Kernel).unwrap();
    assert_eq!(stencil((2, 2)).contiguous(0), (1, 2));
    assert_eq!(stencil((3, 3)).contiguous(4), (2, 4));
}

/// The path of MVAPICH 1.8 is for contiguous data and for rows; other types take another.
#[test]
fn the_vector_path_is_for_rows_only() {
    let list = Datatype::hindexed_block(1, &[0, 24, 40], &double()).unwrap();
    let list = Layout::new(list, 1).unwrap();
    let rows = [Layout::new(Datatype::contiguous(9, &double()).unwrap(), 1).unwrap(), vector(9, 2)];
    assert!(rows.iter().all(|rows| buffer(0, rows, Method::DeviceVector, None).is_some()));
    assert!(buffer(0, &list, Method::DeviceVector, None).is_none());
    assert!(buffer(0, &list, Method::Kernel, None).is_some());
}

fn between_marks(outcome: &Outcome) -> TimeDelta {
    let at = |number| outcome.marks.iter().find(|mark| mark.number == number).unwrap().at;
    at(END).since(at(START))
}

/// Half a round of a ping-pong of this vector.
fn one_way(layout: &Layout, method: Method, chunk: Option<u64>) -> TimeDelta {
    let both = [0, 1].map(|id| buffer(id, layout, method, chunk).unwrap());
    let [sent, received] = both;
    let outcome = run(&workload(sent, received, 5), Payload::Phantom).outcome;
    check_clean(&outcome);
    between_marks(&outcome).scaled(1, 10)
}

/// From asking for the packing, alone, to its end.
fn alone(layout: &Layout, method: Method, task: Task) -> TimeDelta {
    let packing =
        Packing { layout: layout.clone(), method, task, threads_per_block: 256, beside: None };
    let outcome = device::run(device::Setup {
        profile: model(MACHINE, &[]),
        layout: layout.clone(),
        threads_per_block: 256,
        programs: packing.programs().unwrap(),
        take_turns: false,
        bytes: None,
        options: mpisim::engine::Options::default(),
    });
    let at = |number| outcome.marks.iter().find(|mark| mark.number == number).unwrap().at;
    let [start, end] = device::marks_of(PACK).map(at);
    end.since(start)
}

fn within(found: TimeDelta, expected: TimeDelta, percent: u64) -> bool {
    let (found, expected) = (found.as_ps(), expected.as_ps());
    found.abs_diff(expected) * 100 <= expected * percent
}

/// Medium and large messages take packing, the bytes at 2.0 GB/s, and unpacking.
// claim: gpu-fig6-netbound
// claim: gpu-cfg-net
#[test]
fn a_large_message_takes_the_sum_of_its_parts() {
    for blocks in [4_096, 16_384, 65_536] {
        let layout = vector(blocks, 4);
        let bytes = layout.encoding.packed();
        let wire = TimeDelta::from_ps(bytes * 500);
        let gpu = alone(&layout, Method::Kernel, Task::Pack)
            + alone(&layout, Method::Kernel, Task::Unpack);
        let found = one_way(&layout, Method::Kernel, None);
        assert!(within(found, gpu + wire, 15), "{bytes} B: {found:?}, parts {gpu:?} {wire:?}");
        assert!(found > gpu + wire, "{bytes} B: nothing of a whole message overlaps");
    }
}

/// Two methods differ in a message by what they differ by alone, up to the polls that meet their ends:
/// all else is the same.
#[test]
fn methods_differ_as_they_do_alone() {
    for (blocks, blocklength) in [(64, 16), (512, 16), (4_096, 4)] {
        let layout = vector(blocks, blocklength);
        let gpu =
            |method| alone(&layout, method, Task::Pack) + alone(&layout, method, Task::Unpack);
        let [kernel, copy] = [Method::Kernel, Method::Memcpy2d]
            .map(|method| one_way(&layout, method, None).saturating_sub(gpu(method)));
        let apart = kernel.as_ps().abs_diff(copy.as_ps());
        assert!(apart < 50_000, "{blocks} blocks: {kernel:?} and {copy:?} beside the GPU");
    }
}

/// Of a small message's round trip, the four ways between GPU and host are the most. The document
/// says that the network is much less than one of them: by a kernel it is half of one, give or take
/// some (0.6 for 2 KiB), by a 2-D copy more than half, and both deviate.
// claim: gpu-fig6-small4
#[test]
fn small_messages_take_four_latencies_of_the_gpu() {
    for blocklength in [1, 4, 16] {
        let layout = vector(16, blocklength);
        for method in [Method::Kernel, Method::Memcpy2d] {
            let gpu = alone(&layout, method, Task::Pack) + alone(&layout, method, Task::Unpack);
            let half = one_way(&layout, method, None);
            assert!(gpu.as_ps() * 10 >= half.as_ps() * 6, "{method:?}: {gpu:?} of {half:?}");
            let network = half.saturating_sub(gpu);
            let percent = network.as_ps() * 200 / gpu.as_ps();
            let expected = if method == Method::Kernel { 35..65 } else { 50..150 };
            assert!(expected.contains(&percent), "{method:?}: {percent} % of a way, {network:?}");
        }
    }
}

/// A message in chunks takes more than its wire, and hides more than half of what packing and
/// unpacking of the whole take.
#[test]
fn chunks_overlap_with_the_wire() {
    let layout = vector(65_536, 4);
    let whole = one_way(&layout, Method::Kernel, None);
    let chunked = one_way(&layout, Method::Kernel, Some(256 << 10));
    let wire = TimeDelta::from_ps(layout.encoding.packed() * 500);
    let hidden = whole.saturating_sub(chunked);
    let gpu = whole.saturating_sub(wire);
    assert!(chunked > wire && hidden * 2 > gpu, "{chunked:?} {whole:?} {wire:?}");
}

/// Both sides must have as many bytes in as many chunks.
#[test]
fn sides_that_do_not_agree_are_refused() {
    let of = |id, blocks, chunk| buffer(id, &vector(blocks, 1), Method::Kernel, chunk).unwrap();
    let cases = [
        (of(0, 8, None), of(1, 9, None)),
        (of(0, 9, None), of(1, 8, None)),
        (of(0, 8, Some(16)), of(1, 8, Some(32))),
    ];
    for (sent, received) in cases {
        let ending = run(&workload(sent, received, 1), Payload::Real).outcome.ending;
        let Ending::Protocol { error, .. } = ending else { panic!("{ending:?}") };
        assert_eq!(error.machine, "library::device");
    }
}

#[test]
fn a_machine_without_a_gpu_refuses() {
    let both = [0, 1].map(|id| buffer(id, &vector(8, 1), Method::Kernel, None).unwrap());
    let [sent, received] = both;
    let work = workload(sent, received, 1);
    let job = Job { profile: model("broadwell-edr", &[]), ..job_of(&work, Payload::Real) };
    let ending = job.run().unwrap().outcome.ending;
    let Ending::Protocol { error, .. } = ending else { panic!("{ending:?}") };
    assert!(error.to_string().contains("the node has none"), "{error}");
}

/// A receive of nobody's message is told as what it is.
#[test]
fn a_receive_without_a_send_is_a_deadlock() {
    let comm = Comm::default();
    let received = Arc::new(buffer(0, &vector(8, 1), Method::Kernel, None).unwrap());
    let call = DeviceExchange::receive(Peer::Rank(Rank(1)), Some(3), comm, received);
    let score = |steps| AnyProgram::Score(Score::new([Section::once(steps)]));
    let programs = vec![score(vec![Next::Call(Call::Device(Arc::new(call)))]), score(vec![])];
    let ending = job(model(MACHINE, &[]), programs).run().unwrap().outcome.ending;
    let Ending::Deadlock(deadlock) = ending else { panic!("{ending:?}") };
    let words = deadlock.to_string();
    assert!(words.contains("MPI_Recv") && words.contains("64 B"), "{words}");
}
