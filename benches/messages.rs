//! How fast the whole model runs: simulated messages per second of one core.
//!
//! Every run is counted against the closed form (messages, packets, marks, no violation) before a
//! rate is printed; the best of several runs counts, since other work on the machine only slows.
//!
//! `cargo bench --bench messages`; with `-- --fig03` the whole message-rate sweep instead; with
//! `-- --once PAIRS BYTES ROUNDS` one run on knc-qdr, for a profiler, explained if `--explain` is
//! given too.

#![allow(clippy::print_stdout, reason = "a benchmark prints its result")]
#![allow(clippy::disallowed_types, reason = "a benchmark measures host time")]
#![allow(clippy::disallowed_methods, reason = "a benchmark measures host time")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::{Duration, Instant};

use common::{job, model};
use mpisim::engine::Keep;
use mpisim::language::marks::is_halfway;
use mpisim::runtime::memory::Payload;
use mpisim::runtime::timed::{Ending, Outcome};
use mpisim::units::Bytes;
use mpisim::workloads::job::{Flow, windowed};

const WINDOW: u32 = 64;
const WARM_UP: u32 = 2;

/// One point: so many pairs, each with a window of messages a round.
#[derive(Clone, Copy)]
struct Point {
    machine: &'static str,
    pairs: u32,
    flow: Flow,
    bytes: u64,
    rounds: u32,
    keep: Keep,
}

/// 16 pairs both ways.
const KNC: Point = Point {
    machine: "knc-qdr",
    pairs: 16,
    flow: Flow::BothWays,
    bytes: 8,
    rounds: 10,
    keep: Keep::Nothing,
};

impl Point {
    /// Streams of messages, over both directions.
    fn streams(self) -> u64 {
        u64::from(self.pairs) * if self.flow == Flow::OneWay { 1 } else { 2 }
    }

    /// Messages of the windows, warm-up included.
    fn messages(self) -> u64 {
        self.streams() * u64::from(WINDOW) * u64::from(WARM_UP + self.rounds)
    }

    fn run(self) -> (Outcome, Duration) {
        let Self { machine, pairs, flow, bytes, rounds, keep } = self;
        let programs = windowed(pairs, flow, bytes, WINDOW, WARM_UP, rounds);
        let mut job = job(model(machine, &[]), programs);
        (job.mpi.payload, job.record, job.options.causes) = (Payload::Phantom, false, keep);
        // As the points of a scenario, it is looked at for its memory.
        job.options.limits.memory = Bytes::new(16 << 30);
        let start = Instant::now();
        let outcome = job.run().expect("the pairs fit the nodes").outcome;
        (outcome, start.elapsed())
    }

    /// Everything that was asked for has happened, once.
    fn check(self, outcome: &Outcome) {
        assert_eq!(outcome.ending, Ending::Finished);
        assert_eq!(outcome.violations, []);
        let ranks = 2 * self.streams();
        let halves = (1..self.rounds).filter(|&done| is_halfway(done, self.rounds)).count() as u64;
        let marks = outcome.marks.len() as u64;
        assert_eq!(marks, (2 + halves) * ranks, "each rank marks start, middle and end");
        // An eager message is one packet; one by rendezvous is RTS, CTS, the bytes and FIN. Each
        // round of a stream ends with an empty message, and the barrier sends one a rank and level.
        let each = if self.bytes <= self.eager() { 1 } else { 4 };
        let levels = u64::from(ranks.next_power_of_two().ilog2());
        let rounds = self.streams() * u64::from(WARM_UP + self.rounds);
        assert_eq!(outcome.packets, each * self.messages() + rounds + ranks * levels);
    }

    fn eager(self) -> u64 {
        model(self.machine, &[]).mpi.eager_threshold_inter.as_u64()
    }
}

/// Messages a second of this core, from the fastest run.
fn best(point: Point, runs: u32) -> (f64, Outcome) {
    let mut best = f64::MAX;
    let mut last = None;
    for _ in 0..runs {
        let (outcome, took) = point.run();
        point.check(&outcome);
        best = best.min(took.as_secs_f64());
        last = Some(outcome);
    }
    (best, last.expect("at least one run"))
}

#[allow(clippy::cast_precision_loss, reason = "a rate of the host, printed to three digits")]
fn rates() {
    println!("8-byte messages, window {WINDOW}, digest and monitors on, phantom payload, one core");
    println!(
        "{:14} {:>6} {:>9} {:>13} {:>12}",
        "machine", "pairs", "messages", "events each", "k/s"
    );
    for (machine, pairs, flow) in [
        ("knc-qdr", 1, Flow::BothWays),
        ("knc-qdr", 16, Flow::BothWays),
        ("broadwell-edr", 1, Flow::BothWays),
        ("broadwell-edr", 16, Flow::OneWay),
    ] {
        let rounds = 4_000 / pairs;
        let point = Point { machine, pairs, flow, bytes: 8, rounds, keep: Keep::Nothing };
        let (seconds, outcome) = best(point, 7);
        let messages = point.messages() as f64;
        let events = outcome.events as f64 / messages;
        let rate = messages / seconds / 1e3;
        println!("{machine:14} {pairs:>6} {messages:>9} {events:>13.2} {rate:>12.0}");
    }
}

/// The points of the message-rate figure: powers of two to 4 MiB, 1 to 16 senders a node.
fn figure(pairs: u32) -> impl Iterator<Item = Point> {
    (0..=22).map(move |power| {
        let bytes = 1 << power;
        let rounds = if bytes <= 8192 { 50 } else { 10 };
        Point { pairs, bytes, rounds, ..KNC }
    })
}

fn sweep() {
    println!("message-rate sweep on knc-qdr, 1 B to 4 MiB, seconds of one core");
    let mut total = Duration::ZERO;
    for pairs in [1, 2, 4, 8, 16] {
        let mut took = Duration::ZERO;
        for point in figure(pairs) {
            let (outcome, host) = point.run();
            point.check(&outcome);
            took += host;
        }
        println!("{pairs:>4} pairs: {:.3} s", took.as_secs_f64());
        total += took;
    }
    println!("   in all: {:.3} s", total.as_secs_f64());
}

fn points() {
    println!("single points on knc-qdr, 16 pairs both ways, ms of one core");
    for bytes in [1, 8192, 65_536, 1 << 20, 1 << 22] {
        let rounds = if bytes <= 8192 { 50 } else { 10 };
        let point = Point { bytes, rounds, ..KNC };
        let (seconds, _) = best(point, 2);
        println!("{bytes:>9} B: {:>8.1}", seconds * 1e3);
    }
}

/// One run of the point that the command line names.
fn once() -> Option<Point> {
    let mut numbers = std::env::args().skip_while(|argument| argument != "--once").skip(1);
    let mut number = || numbers.next()?.parse().ok();
    let (pairs, bytes, rounds) = (number()?, number()?, number()?);
    let (pairs, rounds) = (u32::try_from(pairs).ok()?, u32::try_from(rounds).ok()?);
    let explain = std::env::args().any(|argument| argument == "--explain");
    let keep = if explain { Keep::Causes } else { Keep::Nothing };
    Some(Point { pairs, bytes, rounds, keep, ..KNC })
}

fn main() {
    if let Some(point) = once() {
        let (outcome, took) = point.run();
        point.check(&outcome);
        println!("{} messages, {} events, {took:?}", point.messages(), outcome.events);
        return;
    }
    if std::env::args().any(|argument| argument == "--fig03") {
        return sweep();
    }
    rates();
    points();
}
