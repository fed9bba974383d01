//! A progress thread beside each rank: what it hides, and what it costs.

use crate::common::{Script, at, finished, ideal, job, model, run};
use mpisim::hardware::core::Pinning;
use mpisim::hardware::profile::Profile;
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{Buffer, Call, Comm, Peer, Requests, SendMode};
use mpisim::protocols::contract::{Handle, Next};
use mpisim::protocols::rendezvous::Protocol;
use mpisim::runtime::account::Part;
use mpisim::runtime::timed::{Ending, LockOrder, Outcome};
use mpisim::workloads::job::{Job, ping_pong};

const US: u64 = 1_000_000;
/// A computation that is longer than anything under way.
const COMPUTE: u64 = 1_000 * US;
const LARGE: u64 = 1 << 20;
/// `ideal`: a line from another core of the socket; `l1d_latency` is 0.
const LINE: u64 = 100_000;
/// `ideal`: 12.5 GB/s.
const WIRE: u64 = LARGE * 80;

fn isend(to: u32, bytes: u64) -> Next<Call> {
    let (comm, mode, buffer) = (Comm::default(), SendMode::Standard, Buffer { id: 0, bytes });
    let (to, request) = (Peer::Rank(Rank(to)), Handle(0));
    Next::Call(Call::Isend { request, to, tag: 0, comm, buffer, mode })
}

fn irecv(source: u32, bytes: u64) -> Next<Call> {
    let (comm, buffer) = (Comm::default(), Buffer { id: 1, bytes });
    let (source, request) = (Peer::Rank(Rank(source)), Handle(0));
    Next::Call(Call::Irecv { request, source, tag: Some(0), comm, buffer })
}

fn wait() -> Next<Call> {
    let requests = Requests::Range { first: Handle(0), count: 1 };
    Next::Call(Call::WaitAll { requests, statuses: false })
}

/// Rank 0 sends, rank 1 receives; who computes has a computation between the two calls, and marks its
/// end and that of its wait.
fn one_message(profile: Profile, bytes: u64, sender_computes: bool) -> Job<Script> {
    let with = |computes: bool, begin: Next<Call>| {
        let work = if computes { COMPUTE } else { 0 };
        Script::new([begin, Next::Compute(work), Next::Mark(0), wait(), Next::Mark(1)])
    };
    let programs =
        vec![with(sender_computes, isend(1, bytes)), with(!sender_computes, irecv(0, bytes))];
    job(profile, programs)
}

/// What the wait of the rank that computed takes.
fn rest(outcome: &Outcome, rank: u32) -> u64 {
    at(outcome, rank, 1) - at(outcome, rank, 0)
}

/// The FIN is a packet beside the flow of its write. The fabric counts such packets, for longer than they are under way.
#[test]
fn a_run_ends_with_its_last_call_and_with_no_count_of_packets() {
    let outcome = run(one_message(model("broadwell-edr", &[]), 1 << 16, true));
    let last = [0, 1].map(|rank| at(&outcome, rank, 1)).into_iter().max();
    assert_eq!(Some(outcome.end.as_ps()), last);
}

#[test]
fn what_came_during_a_computation_is_handled_by_its_end() {
    // Left is a look at the request, under a lock whose line comes from the agent's core.
    for (bytes, sender_computes) in [(8, false), (LARGE, false), (LARGE, true)] {
        let rank = u32::from(!sender_computes);
        let job = || one_message(ideal(&[]), bytes, sender_computes);
        let (alone, beside) = (finished(run(job())), finished(run(job().assisted())));
        assert_eq!(rest(&beside, rank), LINE, "{bytes} B, sender computes: {sender_computes}");
        let least = if bytes == LARGE { WIRE } else { LINE + 1 };
        assert!(rest(&alone, rank) >= least, "{bytes} B: {}", rest(&alone, rank));
    }
}

#[test]
fn who_reads_needs_no_agent_at_the_other_end() {
    let job = || {
        let mut job = one_message(ideal(&[]), LARGE, true);
        job.mpi.rendezvous = Protocol::RGet;
        job
    };
    let (alone, beside) = (finished(run(job())), finished(run(job().assisted())));
    assert!(rest(&alone, 0) < WIRE / 100, "the data are gone: {}", rest(&alone, 0));
    assert_eq!(rest(&beside, 0), LINE);
    // The receiver read them at the same time in both.
    let late = at(&beside, 1, 1).abs_diff(at(&alone, 1, 1));
    assert!(late <= 20 * LINE, "{late} ps: locks of a few calls");
}

#[test]
fn an_agent_on_a_sibling_of_its_core_has_the_line_near() {
    let profile = ideal(&[("cpu.smt", "2")]);
    let near = Job { pinning: Pinning::Compact, ..one_message(profile, 8, false) };
    assert_eq!(rest(&finished(run(near.assisted())), 1), 0, "l1d_latency is 0 on `ideal`");
}

#[test]
fn every_call_pays_for_the_lock() {
    for name in ["broadwell-edr", "knc-qdr"] {
        let job = || job(model(name, &[]), ping_pong(8, 2, 50));
        let (alone, beside) = (finished(run(job())), finished(run(job().assisted())));
        let took = |outcome: &Outcome| at(outcome, 0, 1) - at(outcome, 0, 0);
        assert!(took(&beside) > took(&alone), "{name}: {} {}", took(&beside), took(&alone));
        assert_eq!(alone.accounts[0].taken, 0, "one thread takes no lock");
        // 52 rounds of a send and a receive, and the message to the agent.
        assert!(beside.accounts[0].taken > 2 * 52, "{name}: {}", beside.accounts[0].taken);
        assert!(beside.accounts[0].of(Part::Lock) > alone.accounts[0].of(Part::Lock));
    }
}

#[test]
fn turns_of_an_agent_that_finds_nothing_are_arithmetic() {
    for order in [LockOrder::Fair, LockOrder::Unfair] {
        let ends = |step_by_step| {
            let mut job = one_message(model("broadwell-edr", &[]), LARGE, true).assisted();
            (job.mpi.lock, job.step_by_step) = (order, step_by_step);
            let outcome = finished(run(job));
            (rest(&outcome, 0), outcome.end, outcome.events)
        };
        let ((rest, end, events), (rest_in_steps, end_in_steps, many)) = (ends(false), ends(true));
        assert_eq!((rest, end), (rest_in_steps, end_in_steps), "{order:?}");
        assert!(events < many / 10, "{order:?}: {events} events, {many} in steps");
    }
}

#[test]
fn an_agent_hides_no_deadlock() {
    let programs = vec![Script::new([irecv(1, 8), wait()]), Script::new([irecv(0, 8), wait()])];
    let outcome = run(job(model("broadwell-edr", &[]), programs).assisted());
    let Ending::Deadlock(found) = outcome.ending else { panic!("{:?}", outcome.ending) };
    let words = found.to_string();
    assert!(words.contains("2 threads wait in a cycle"), "the ranks: {words}");
    assert!(words.contains("behind them 2 threads"), "their agents: {words}");
}
