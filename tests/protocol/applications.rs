//! Skeletons of applications: their messages match, arrive, and end.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::{cross, finished, ideal, job, model};
use mpisim::collectives::Collective;
use mpisim::hardware::profile::Profile;
use mpisim::protocols::call::{Call, Peer, Reply};
use mpisim::protocols::contract::{Next, Process, Program, Region};
use mpisim::protocols::library::Library;
use mpisim::protocols::rendezvous::Protocol;
use mpisim::runtime::account::Part;
use mpisim::runtime::explore::{Budget, judged};
use mpisim::runtime::timed::{Ending, Mark, Outcome, Ran};
use mpisim::units::Bytes;
use mpisim::workloads::application::{Application, Skeleton};
use mpisim::workloads::comd::{CUTOFF, CoMd};
use mpisim::workloads::graph500::bitmaps::Format;
use mpisim::workloads::graph500::{Implementation, PAIR, Search};
use mpisim::workloads::grid::{FACES, Grid, Order, opposite};
use mpisim::workloads::halo::{received, sent};
use mpisim::workloads::job::{AnyProgram, Job, draws};
use mpisim::workloads::minighost::MiniGhost;
use mpisim::workloads::ping_pong::{END, START};
use mpisim::workloads::stencil::Stencil;

const SEED: u64 = 11;

fn grid(extents: [u32; 3], order: Order, periodic: bool) -> Grid {
    Grid { extents, order, periodic }
}

fn on(per_node: u32, grid: Grid, task: impl Skeleton) -> Application {
    Application { processes: grid.processes(), per_node, task: Arc::new(task) }
}

fn stencil(extents: [u32; 3], periodic: bool, halo: u64) -> Application {
    let grid = grid(extents, Order::LastAxis, periodic);
    on(3, grid, Stencil { grid, halo, warm_up: 0, steps: 3, compute: 5_000, watched: 0 })
}

fn comd(extents: [u32; 3], embedded: bool) -> Application {
    let grid = grid(extents, Order::FirstAxis, true);
    let (unit_cells, cutoff) = ([20, 12, 11], CUTOFF);
    let (steps, print_every, compute) = (7, 3, 5_001);
    let task = CoMd { grid, unit_cells, cutoff, embedded, warm_up: 0, steps, print_every, compute };
    on(3, grid, task)
}

fn minighost(extents: [u32; 3], global: bool, sums: u32) -> Application {
    let grid = grid(extents, Order::FirstAxis, false);
    let (points, variables, steps, compute) = ([9, 7, 6], 20, 3, 5_000);
    let task = MiniGhost { grid, points, global, variables, sums, warm_up: 0, steps, compute };
    on(3, grid, task)
}

fn search(processes: u32, scale: u32, buffer: u64) -> Application {
    let (implementation, edge_factor, vertices) = (Implementation::Simple, 4, None);
    let (compute, word) = (7, 0);
    let task = Search { implementation, scale, edge_factor, vertices, buffer, compute, word };
    Application { processes, per_node: 3, task: Arc::new(task) }
}

/// The searches over replicated bitmaps, each with its format.
const REPLICATED: [(Implementation, Format); 2] =
    [(Implementation::Replicated, Format::Rows), (Implementation::ReplicatedCsc, Format::Columns)];

fn replicated(processes: u32, scale: u32, implementation: Implementation) -> Application {
    let by_pairs = search(processes, scale, PAIR);
    let task = *by_pairs.task_as::<Search>().unwrap();
    let task = Search { implementation, word: 1_001, ..task };
    Application { task: Arc::new(task), ..by_pairs }
}

/// Grids with one, two and more processes on an axis, where neighbours are oneself, the same, others.
fn exchanges() -> Vec<Application> {
    let mut all = Vec::new();
    for extents in [[1, 1, 1], [2, 1, 1], [3, 2, 1], [2, 2, 3], [1, 5, 1]] {
        for periodic in [false, true] {
            all.push(stencil(extents, periodic, 100));
        }
        all.push(comd(extents, false));
        all.push(comd(extents, true));
        all.push(minighost(extents, false, 0));
        all.push(minighost(extents, true, 2));
    }
    all
}

fn programs(application: &Application) -> Vec<AnyProgram> {
    let calls: Vec<Arc<Collective>> = application.collectives().into_iter().map(Arc::new).collect();
    application.programs(&*draws(SEED), &calls)
}

fn placed<P>(profile: Profile, application: &Application, programs: Vec<P>) -> Job<P> {
    let mut job = job(profile, programs);
    job.nodes = application.nodes();
    job
}

fn run(profile: Profile, application: &Application) -> Ran<Library, AnyProgram> {
    let ran = placed(profile, application, programs(application)).run().unwrap();
    assert_eq!(ran.outcome.ending, Ending::Finished, "{:?}", application.task);
    assert_eq!(ran.outcome.violations, []);
    ran
}

/// The calls of a rank, which do not depend on what they return.
fn calls(mut program: AnyProgram) -> Vec<Call> {
    let steps = std::iter::from_fn(|| {
        let next = Program::<Library>::next(&mut program, None);
        (next != Next::End).then_some(next)
    });
    steps.filter_map(|next| if let Next::Call(call) = next { Some(call) } else { None }).collect()
}

fn rank(peer: Peer) -> u32 {
    let Peer::Rank(rank) = peer else { panic!("nobody sends to {peer:?}") };
    rank.0
}

#[test]
fn every_send_has_its_receive_and_no_byte_is_lost() {
    for application in exchanges() {
        let mut open: BTreeMap<(u32, u32, i32, u64), i64> = BTreeMap::new();
        let (mut messages, mut bytes) = (0, 0);
        for (me, program) in (0..).zip(programs(&application)) {
            for call in calls(program) {
                if let Call::Isend { to, tag, buffer, .. } = call {
                    *open.entry((me, rank(to), tag, buffer.bytes)).or_default() += 1;
                    messages += 1;
                    bytes += u128::from(buffer.bytes);
                } else if let Call::Irecv { source, tag, buffer, .. } = call {
                    let tag = tag.expect("no wildcards here");
                    *open.entry((rank(source), me, tag, buffer.bytes)).or_default() -= 1;
                }
            }
        }
        assert!(open.values().all(|count| *count == 0), "{:?}: {open:?}", application.task);
        assert_eq!(messages, application.task.messages(), "{:?}", application.task);
        assert_eq!(bytes, application.task.bytes(application.processes), "{:?}", application.task);
    }
}

/// After the last step the buffer of each face holds what the neighbour has sent through the opposite
/// one: its bytes name the message, and are inverted where they were sent.
#[test]
fn the_bytes_of_each_face_arrive() {
    for application in exchanges() {
        let ran = run(ideal(&[]), &application);
        let (grid, bytes) = if let Some(task) = application.task_as::<Stencil>() {
            (task.grid, vec![[task.halo; 3]; 27])
        } else if let Some(task) = application.task_as::<MiniGhost>() {
            (task.grid, (0..task.grid.processes()).map(|rank| task.halo(rank)).collect())
        } else {
            // The second exchange of the embedded atom method uses the same buffers.
            let task = application.task_as::<CoMd>().expect("there are three exchanges");
            let each = if task.embedded { task.atoms().map(|n| 8 * n) } else { task.halo() };
            (task.grid, vec![each; 27])
        };
        for rank in 0..grid.processes() {
            for face in 0..FACES {
                let Some(other) = grid.neighbour(rank, face) else { continue };
                let len = bytes[rank as usize][face / 2];
                let of =
                    |process, space| ran.memories.bytes(Process(process), Region::new(space, len));
                let left = of(other, sent(opposite(face)));
                let expected: Vec<u8> = left.iter().map(|byte| !byte).collect();
                assert_eq!(of(rank, received(face)), expected, "rank {rank}, face {face}");
                assert!(len == 0 || left.iter().any(|byte| *byte != 0xff), "something is sent");
            }
        }
    }
}

/// Above the eager threshold, inside nodes and between them, by either protocol.
#[test]
fn large_halos_do_not_deadlock() {
    for protocol in [Protocol::RPut, Protocol::RGet] {
        for (extents, periodic) in [([3, 3, 3], false), ([2, 2, 3], true), ([1, 2, 2], true)] {
            let mut all = vec![stencil(extents, periodic, 100_000), minighost(extents, false, 1)];
            all.push(comd(extents, true));
            for application in all {
                let mut job =
                    placed(model("broadwell-edr", &[]), &application, programs(&application));
                job.mpi.rendezvous = protocol;
                finished(job.run().unwrap().outcome);
            }
        }
    }
}

#[test]
fn the_untimed_world_comes_to_the_same_end() {
    for application in [
        stencil([2, 2, 1], true, 100),
        comd([2, 1, 2], true),
        minighost([2, 2, 1], false, 1),
        search(4, 6, 64),
        replicated(4, 6, Implementation::Replicated),
        replicated(5, 6, Implementation::ReplicatedCsc),
    ] {
        let job = placed(ideal(&[]), &application, programs(&application));
        assert_eq!(cross(job).unwrap().outcome.ending, Ending::Finished);
    }
}

/// Two ranks, in every order of what they and the wires do.
#[test]
fn no_order_of_two_ranks_is_stuck() {
    let two = stencil([2, 1, 1], true, 8);
    let task = Stencil { steps: 1, ..*two.task_as::<Stencil>().unwrap() };
    let one_step = Application { task: Arc::new(task), ..two };
    let two = search(2, 4, 48);
    let task = Search { edge_factor: 1, ..*two.task_as::<Search>().unwrap() };
    let small = Application { task: Arc::new(task), ..two };
    let over_bitmaps = replicated(2, 4, Implementation::ReplicatedCsc);
    for application in [one_step, small, over_bitmaps] {
        for protocol in [Protocol::RPut, Protocol::RGet] {
            let mut job = placed(ideal(&[]), &application, programs(&application));
            (job.nodes, job.mpi.rendezvous) = (2, protocol);
            (job.mpi.eager_inter, job.mpi.eager_intra) =
                (Some(Bytes::new(16)), Some(Bytes::new(16)));
            let start = job.untimed().unwrap();
            let survey = judged(&start, Budget { states: 1_000_000, reduce: true }, |_| None);
            let (states, complete) = (survey.states, survey.complete);
            assert!(survey.is_clean(), "{application:?}: {states} states, complete {complete}");
        }
    }
}

fn mark(outcome: &Outcome, process: u32, number: u32) -> &Mark {
    let of = |mark: &&Mark| mark.process.0 == process && mark.number == number;
    outcome.marks.iter().find(of).expect("the rank marks it")
}

/// Where messages cost little, a step takes what is computed in it.
#[test]
fn a_step_computes_as_long_as_the_scenario_says() {
    for application in
        [stencil([2, 2, 2], false, 8), comd([2, 2, 2], true), minighost([2; 3], false, 3)]
    {
        let ran = run(ideal(&[]), &application);
        let all = application.task.compute(8);
        for process in 0..8 {
            let [start, end] = [START, END].map(|number| mark(&ran.outcome, process, number));
            let outside = (end.account - start.account).of(Part::Outside);
            assert_eq!(u128::from(outside.as_ps()), all, "{:?}", application.task);
            assert!(end.at.since(start.at) >= outside);
        }
    }
}

/// Every pair of the traffic is looked at where it belongs: computation is counted by pairs.
#[test]
fn a_search_brings_every_pair_to_its_owner() {
    for (processes, scale, buffer) in
        [(1, 5, 64), (2, 7, 16), (5, 8, 64), (7, 9, 4_096), (6, 9, 100), (28, 9, 128)]
    {
        for protocol in [Protocol::RPut, Protocol::RGet] {
            let application = search(processes, scale, buffer);
            let task = application.task_as::<Search>().unwrap();
            let traffic = task.traffic(processes, &*draws(SEED));
            let mut job = placed(ideal(&[]), &application, programs(&application));
            job.mpi.rendezvous = protocol;
            // Full buffers go by rendezvous where they are larger than the others.
            job.mpi.eager_inter = Some(Bytes::new(buffer - 1));
            job.mpi.eager_intra = Some(Bytes::new(buffer - 1));
            let outcome = finished(job.run().unwrap().outcome);
            for me in 0..processes {
                let levels = 0..traffic.levels();
                let scanned: u64 = levels.clone().map(|level| traffic.scanned(level, me)).sum();
                let others = (0..processes).filter(|other| *other != me);
                let all = others.flat_map(|other| levels.clone().map(move |level| (level, other)));
                let came: u64 = all.map(|(level, other)| traffic.pairs(level, other, me)).sum();
                let [start, end] = [START, END].map(|number| mark(&outcome, me, number));
                let outside = (end.account - start.account).of(Part::Outside).as_ps();
                assert_eq!(outside, 7 * (scanned + came), "rank {me} of {processes}");
            }
        }
    }
}

/// A level asks whether anything is new, and passes the bitmaps and their summaries on, but for the last one.
#[test]
fn a_search_over_bitmaps_calls_three_collectives_a_level() {
    for (implementation, format) in REPLICATED {
        let application = replicated(6, 9, implementation);
        let task = application.task_as::<Search>().unwrap();
        let levels = task.scanned(format, 6, &*draws(SEED)).levels() as usize;
        assert!(levels > 2, "{levels} levels");
        let each = application.collectives();
        for program in programs(&application) {
            let calls = calls(program);
            assert!(matches!(calls[0], Call::Barrier { .. }));
            let called: Vec<&Collective> = calls[1..]
                .iter()
                .map(|call| {
                    let Call::Collective(called) = call else {
                        panic!("{call:?} is no collective");
                    };
                    &**called
                })
                .collect();
            let expected = each.iter().cycle().take(3 * (levels - 1) + 1);
            assert_eq!(called, expected.collect::<Vec<_>>());
        }
    }
}

/// Each rank goes through the edges and the words of its levels, and of the bitmaps that it clears before.
#[test]
fn a_search_over_bitmaps_computes_what_its_levels_look_at() {
    for (implementation, format) in REPLICATED {
        for (processes, scale) in [(1, 5), (2, 7), (5, 9), (28, 10)] {
            let application = replicated(processes, scale, implementation);
            let task = application.task_as::<Search>().unwrap();
            let scanned = task.scanned(format, processes, &*draws(SEED));
            let outcome = run(ideal(&[]), &application).outcome;
            for me in 0..processes {
                let levels = 0..scanned.levels();
                let edges: u64 = levels.clone().map(|level| scanned.edges(level, me)).sum();
                let words: u64 = levels.map(|level| scanned.words(level)).sum();
                let [start, end] = [START, END].map(|number| mark(&outcome, me, number));
                let outside = (end.account - start.account).of(Part::Outside).as_ps();
                let expected = 7 * edges + 1_001 * (words + scanned.words_before());
                assert_eq!(outside, expected, "rank {me} of {processes}");
            }
        }
    }
}

/// A rank that notes what it sends: receiver and bytes.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Noting {
    program: AnyProgram,
    sent: Vec<(u32, u64)>,
}

impl Program<Library> for Noting {
    fn next(&mut self, reply: Option<Reply>) -> Next<Call> {
        let next = Program::<Library>::next(&mut self.program, reply);
        if let Next::Call(Call::Isend { to, buffer, .. }) = &next {
            self.sent.push((rank(*to), buffer.bytes));
        }
        next
    }
}

/// For each level and each other process: full buffers, the rest, and an empty message.
#[test]
fn a_search_sends_full_buffers_and_what_is_left() {
    let application = search(6, 9, 160);
    let task = application.task_as::<Search>().unwrap();
    let traffic = task.traffic(6, &*draws(SEED));
    let noting = programs(&application).into_iter().map(|program| Noting { program, sent: vec![] });
    let ran = placed(ideal(&[]), &application, noting.collect()).run().unwrap();
    finished(ran.outcome);
    let mut full = 0;
    for (me, program) in (0..).zip(&ran.programs) {
        for to in (0..6).filter(|to| *to != me) {
            let mut expected: Vec<u64> = Vec::new();
            for level in 0..traffic.levels() {
                let bytes = traffic.pairs(level, me, to) * PAIR;
                let count = usize::try_from(bytes / 160).unwrap();
                expected.extend(std::iter::repeat_n(160, count));
                expected.extend(Some(bytes % 160).filter(|rest| *rest > 0));
                expected.push(0);
                full += count;
            }
            let sent = program.sent.iter().filter(|(peer, _)| *peer == to);
            let sent: Vec<u64> = sent.map(|(_, bytes)| *bytes).collect();
            assert_eq!(sent, expected, "{me} to {to}");
        }
    }
    assert!(full > 100, "{full} full buffers");
}

/// What a job holds for each rank does not grow with its steps.
#[test]
fn memory_does_not_grow_with_steps() {
    let bytes = |steps| {
        let grid = grid([4, 4, 4], Order::FirstAxis, true);
        let (unit_cells, cutoff, embedded) = ([100; 3], CUTOFF, true);
        let (print_every, compute) = (10, 1);
        let task =
            CoMd { grid, unit_cells, cutoff, embedded, warm_up: 0, steps, print_every, compute };
        let application = on(16, grid, task);
        allocation_counter::measure(|| drop(programs(&application))).bytes_max / 64
    };
    assert_eq!(bytes(20), bytes(100_000));
    assert!(bytes(20) < 120_000, "{} B a rank", bytes(20));
}

/// A scaled search of many processes holds no matrix.
#[test]
fn a_scaled_search_costs_little_a_rank() {
    let task = Search {
        implementation: Implementation::Simple,
        scale: 6,
        edge_factor: 16,
        vertices: Some(1 << 30),
        buffer: 4_096,
        compute: 1,
        word: 1,
    };
    let application = Application { processes: 4_096, per_node: 28, task: Arc::new(task) };
    let plan = allocation_counter::measure(|| drop(programs(&application)));
    assert!(plan.bytes_max / 4_096 < 1_000, "{} B in all", plan.bytes_max);
    let traffic = task.traffic(4_096, &*draws(SEED));
    let totals = traffic.totals();
    assert!(totals.scanned > 1 << 34, "{totals:?}");
    for (implementation, _) in REPLICATED {
        let task = Arc::new(Search { implementation, ..task });
        let application = Application { processes: 4_096, per_node: 28, task };
        let plan = allocation_counter::measure(|| drop(programs(&application)));
        assert!(plan.bytes_max / 4_096 < 1_000, "{} B in all", plan.bytes_max);
    }
}
