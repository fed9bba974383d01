//! How fast threads run that share a process, its queues and its lock: simulated messages per second of one
//! core.
//!
//! Every run is counted against the closed form before a rate is printed. Threads that wait inside
//! calls poll in turns: small messages show what turns cost that keep others out, large ones those
//! that arithmetic passes over.
//!
//! `cargo bench --bench threads`; with `-- --stepped` every turn is an event, and large messages are
//! left out.

#![allow(clippy::print_stdout, reason = "a benchmark prints its result")]
#![allow(clippy::disallowed_types, reason = "a benchmark measures host time")]
#![allow(clippy::disallowed_methods, reason = "a benchmark measures host time")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::{Duration, Instant};

use common::{job, model};
use mpisim::mpi::envelope::Rank;
use mpisim::runtime::memory::Payload;
use mpisim::runtime::timed::{Ending, LockOrder, Outcome};
use mpisim::workloads::job::AnyProgram;
use mpisim::workloads::windowed::{Direction, Share, Windowed};

/// One point: so many processes of so many threads on two nodes, each thread exchanging windows
/// with one of the other node.
#[derive(Clone, Copy)]
struct Point {
    /// On both nodes together.
    processes: u32,
    threads: u16,
    bytes: u64,
    window: u32,
    rounds: u32,
    order: LockOrder,
}

impl Point {
    fn messages(self) -> u64 {
        let agents = u64::from(self.processes) * u64::from(self.threads);
        agents * u64::from(self.window) * u64::from(self.rounds)
    }

    fn programs(self) -> Vec<AnyProgram> {
        let Self { processes, threads, bytes, window, rounds, .. } = self;
        let half = processes / 2;
        let rank = |me: u32| {
            let peer = Rank((me + half) % processes);
            (0..threads).map(move |thread| {
                let both = Windowed::new(peer, Direction::Both, bytes, window, 0, rounds);
                AnyProgram::Windowed(both.of_threads(threads, Share::tagged(thread)))
            })
        };
        (0..processes).flat_map(rank).collect()
    }

    fn run(self, step_by_step: bool) -> (Outcome, Duration) {
        let mut job = job(model("knc-qdr", &[]), self.programs());
        (job.threads, job.mpi.lock) = (self.threads, self.order);
        (job.mpi.payload, job.record) = (Payload::Phantom, false);
        job.step_by_step = step_by_step;
        let start = Instant::now();
        let outcome = job.run().expect("the threads fit the nodes").outcome;
        (outcome, start.elapsed())
    }

    /// Everything that was asked for has happened, once.
    fn check(self, outcome: &Outcome) {
        assert_eq!(outcome.ending, Ending::Finished);
        assert_eq!(outcome.violations, []);
        let agents = u64::from(self.processes) * u64::from(self.threads);
        assert_eq!(outcome.marks.len() as u64, 2 * agents, "each thread marks start and end");
        assert!(outcome.packets > self.messages(), "an eager message is a packet, others are more");
    }
}

#[allow(clippy::cast_precision_loss, reason = "a rate of the host, printed to three digits")]
fn main() {
    let stepped = std::env::args().any(|argument| argument == "--stepped");
    println!("knc-qdr, both ways, digest and monitors on, phantom payload, one core");
    println!(
        "{:>9} {:>7} {:>8} {:>8} {:>10} {:>12} {:>8} {:>8}",
        "processes", "threads", "bytes", "lock", "messages", "events each", "seconds", "k/s"
    );
    let small =
        |order| Point { processes: 16, threads: 4, bytes: 8, window: 50, rounds: 200, order };
    let large = |order| Point { bytes: 4 << 20, window: 64, rounds: 2, ..small(order) };
    let [fair, unfair] = [LockOrder::Fair, LockOrder::Unfair];
    for point in [small(fair), small(unfair), large(fair), large(unfair)] {
        if stepped && point.bytes > 8 {
            continue;
        }
        let (outcome, took) = point.run(stepped);
        point.check(&outcome);
        let (messages, seconds) = (point.messages() as f64, took.as_secs_f64());
        let Point { processes, threads, bytes, .. } = point;
        let order = format!("{:?}", point.order);
        let (each, rate) = (outcome.events as f64 / messages, messages / seconds / 1e3);
        println!(
            "{processes:>9} {threads:>7} {bytes:>8} {order:>8} {messages:>10} {each:>12.2} \
             {seconds:>8.2} {rate:>8.0}"
        );
    }
}
