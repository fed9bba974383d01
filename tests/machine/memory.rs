//! What a rank costs: bytes that a job holds for each of its ranks, from 64 to 4096 of them, and for
//! each of many endpoints.

#![allow(clippy::print_stdout, reason = "the numbers are what a reader wants")]

use std::sync::Arc;

use crate::common::{Script, job, model};
use mpisim::collectives::Collective;
use mpisim::engine::Keep;
use mpisim::hardware::core::Scheme;
use mpisim::mpi::operator::{Datatype, Operator, Reduction};
use mpisim::protocols::call::{Call, Comm};
use mpisim::protocols::contract::{Next, Region, Space};
use mpisim::protocols::library::Library;
use mpisim::runtime::memory::Payload;
use mpisim::runtime::memory_use::Kind;
use mpisim::runtime::timed::Ending;
use mpisim::units::Bytes;
use mpisim::workloads::collective::Repeated;
use mpisim::workloads::job::{AnyProgram, Flow, Job, windowed};

/// Ranks on nodes of 16; pairs of neighbouring halves exchange a few windows.
fn paired(ranks: u32) -> Job<AnyProgram> {
    let mut job = job(model("broadwell-edr", &[]), windowed(ranks / 2, Flow::OneWay, 8, 16, 1, 2));
    (job.mpi.payload, job.record) = (Payload::Phantom, false);
    (job.nodes, job.scheme) = (ranks / 16, Scheme::Block);
    job
}

/// Most bytes that a job holds at once for each rank: built only, and run to its end.
fn bytes_per_rank(ranks: u32) -> (u64, u64) {
    let plan = paired(ranks);
    let idle = allocation_counter::measure(|| drop(plan.timed().expect("it fits")));
    let plan = paired(ranks);
    let run = allocation_counter::measure(|| {
        let ran = plan.run().expect("it fits");
        assert_eq!(ran.outcome.ending, Ending::Finished);
        let _: &[Library] = &ran.machines;
    });
    (idle.bytes_max / u64::from(ranks), run.bytes_max / u64::from(ranks))
}

#[test]
fn a_rank_costs_little_and_no_more_in_a_large_job() {
    for (ranks, most) in [(64, 19_800), (256, 16_500), (1024, 16_200)] {
        let (idle, run) = bytes_per_rank(ranks);
        println!("{ranks} ranks: {idle} B each before the run, {run} B each at most");
        assert!(idle <= 3_700, "{ranks} ranks, not begun: {idle} B each");
        assert!(run <= most, "{ranks} ranks, at most: {run} B each");
    }
}

/// An allreduce of 8 B by recursive doubling, on nodes of so many ranks.
fn doubling(ranks: u32, per_node: u32) -> Job<AnyProgram> {
    let sum = Reduction::new(Operator::Sum, Datatype::Double).expect("doubles are summed");
    let [input, output] = [0, 1].map(|id| Region::new(Space::User(id), 8));
    let call = Arc::new(Collective::allreduce(Comm(0), input, output, sum));
    let programs =
        vec![AnyProgram::Collective(Repeated::new(call, 0, 2).at_once()); ranks as usize];
    let mut job = job(model("broadwell-edr", &[]), programs);
    (job.mpi.payload, job.record) = (Payload::Phantom, false);
    (job.nodes, job.scheme) = (ranks / per_node, Scheme::Block);
    job
}

#[test]
fn a_rank_of_recursive_doubling_costs_little() {
    for (ranks, per_node, most) in [(64, 16, 8_500), (4096, 16, 7_300), (4096, 1, 12_800)] {
        let plan = doubling(ranks, per_node);
        let run = allocation_counter::measure(|| {
            let ran = plan.run().expect("it fits");
            assert_eq!(ran.outcome.ending, Ending::Finished);
        });
        let each = run.bytes_max / u64::from(ranks);
        println!("{ranks} ranks, {per_node} a node: {each} B each at most");
        assert!(each <= most, "{ranks} ranks, {per_node} a node: {each} B each");
    }
}

/// What a run says that it holds, and what it has allocated at most, in bytes.
fn told_and_allocated(mut job: Job<AnyProgram>) -> (u64, u64) {
    job.options.limits.memory = Bytes::new(1 << 40);
    let mut told = 0;
    let run = allocation_counter::measure(|| {
        let outcome = job.run().expect("it fits").outcome;
        assert_eq!(outcome.ending, Ending::Finished);
        told = outcome.held.total().as_u64();
    });
    (told, run.bytes_max)
}

#[test]
fn prices_of_what_is_held_are_within_half_and_twice_of_what_is_allocated() {
    let mut explained = paired(64);
    explained.programs = windowed(32, Flow::OneWay, 8, 16, 1, 400);
    explained.options.causes = Keep::Causes;
    let mut real = paired(64);
    real.programs = windowed(32, Flow::OneWay, 1 << 16, 16, 1, 2);
    real.mpi.payload = Payload::Real;
    let jobs = [
        ("64 ranks in pairs", paired(64)),
        ("1,024 ranks in pairs", paired(1024)),
        ("4,096 ranks of a collective", doubling(4096, 16)),
        ("64 ranks explained", explained),
        ("64 ranks with payload", real),
    ];
    for (name, job) in jobs {
        let (told, allocated) = told_and_allocated(job);
        println!("{name}: {told} B told, {allocated} B allocated");
        assert!(told <= 2 * allocated && allocated <= 2 * told, "{name}: {told}, {allocated}");
    }
}

#[test]
fn the_documented_prices_are_those_that_are_counted() {
    let text = include_str!("../../docs/guide/limits.md");
    let column = |line: &str| line.strip_suffix(" |")?.rsplit_once("| ")?.1.parse().ok();
    let documented: Vec<u64> = text.lines().filter_map(column).collect();
    let counted = Kind::ALL.map(Kind::bytes);
    assert_eq!(documented, counted);
}

/// The first handle of the endpoints of a process.
const FIRST: u16 = 10;

/// Every process makes so many endpoints of the world, and frees them when all have theirs.
fn with_endpoints(processes: u32, count: u16) -> Job<Script> {
    let handles = (FIRST..FIRST + count).map(Comm);
    let create = Call::CreateEndpoints { parent: Comm(0), count, first: Comm(FIRST) };
    let free = handles.map(|comm| Call::FreeEndpoint { comm });
    let calls = [create, Call::Barrier { comm: Comm(0) }].into_iter().chain(free);
    let calls: Vec<Next<Call>> = calls.map(Next::Call).collect();
    let programs = (0..processes).map(|_| Script::new(calls.clone())).collect();
    let mut job = job(model("broadwell-edr", &[]), programs);
    (job.mpi.payload, job.record) = (Payload::Phantom, false);
    (job.nodes, job.scheme) = (processes.div_ceil(16), Scheme::Block);
    job
}

#[test]
fn an_endpoint_costs_at_most_1_kib() {
    for (processes, count) in [(100, 1_000), (1_000, 100)] {
        let plan = with_endpoints(processes, count);
        let run = allocation_counter::measure(|| {
            let ran = plan.run().expect("it fits");
            assert_eq!(ran.outcome.ending, Ending::Finished);
            assert_eq!(ran.outcome.violations, []);
        });
        let each = run.bytes_max / (u64::from(processes) * u64::from(count));
        println!("{processes} processes of {count} endpoints: {each} B an endpoint at most");
        assert!(each <= 1024, "{processes} processes of {count} endpoints: {each} B each");
    }
}
