//! How fast schedules are replayed under LogGOPS: events per second of one core, counted as
//! LogGOPSim counts them (send, receive and message: three a message), and bytes a rank.
//!
//! The rates of the tool are those of `docs/internals/performance.md`: taken on another day on a machine of
//! the same kind, so that a ratio is good to some ten per cent. A rate is printed only after the
//! count of events was compared with the closed form, and everything came to its end.
//!
//! `cargo bench --bench goal`; with `-- --once dissemination|alltoall RANKS` one run, for a
//! profiler.

#![allow(clippy::print_stdout, reason = "a benchmark prints its result")]
#![allow(clippy::disallowed_types, reason = "a benchmark measures host time")]
#![allow(clippy::disallowed_methods, reason = "a benchmark measures host time")]

#[path = "../tests/common/schedules.rs"]
mod schedules;

use std::time::{Duration, Instant};

use mpisim::runtime::loggops::schedule::Schedule;
use mpisim::runtime::loggops::{Replayed, replay};
use mpisim::workloads::import::goal;
use schedules::{DEFAULTS, alltoall, dissemination, dissemination_messages};

/// Bytes of a message.
const SIZE: u64 = 1024;

/// A pattern, its ranks, and what LogGOPSim did, in events per second.
struct Point {
    pattern: &'static str,
    ranks: u32,
    tool: Option<f64>,
}

impl Point {
    fn schedule(&self) -> Schedule {
        if self.pattern == "alltoall" {
            alltoall(self.ranks, SIZE)
        } else {
            dissemination(self.ranks, SIZE)
        }
    }

    fn events(&self) -> u64 {
        let ranks = u64::from(self.ranks);
        if self.pattern == "alltoall" {
            3 * ranks * (ranks - 1)
        } else {
            3 * dissemination_messages(self.ranks)
        }
    }

    /// Replays, and checks that everything has happened, once.
    fn run(&self, schedule: &Schedule) -> (Replayed, Duration) {
        let start = Instant::now();
        let replayed = replay(schedule, DEFAULTS).expect("the clocks have room");
        let took = start.elapsed();
        assert_eq!(replayed.events, self.events());
        assert_eq!(replayed.stuck, []);
        (replayed, took)
    }
}

#[allow(clippy::cast_precision_loss, reason = "a rate of the host, printed to three digits")]
fn main() {
    let words: Vec<String> = std::env::args().skip_while(|word| word != "--once").skip(1).collect();
    if let [pattern, ranks, ..] = words.as_slice() {
        let pattern = if pattern == "alltoall" { "alltoall" } else { "dissemination" };
        let point = Point { pattern, ranks: ranks.parse().expect("a number"), tool: None };
        let (_, took) = point.run(&point.schedule());
        println!("{} events, {took:?}", point.events());
        return;
    }
    let point = |pattern, ranks, tool| Point { pattern, ranks, tool };
    let points = [
        point("dissemination", 1024, Some(5.7e6)),
        point("dissemination", 16_384, Some(3.9e6)),
        point("dissemination", 65_536, Some(2.4e6)),
        point("alltoall", 64, Some(0.60e6)),
        point("alltoall", 256, Some(0.095e6)),
        point("alltoall", 1024, None),
    ];
    println!("messages of {SIZE} B, LogGOPS defaults, one core; times include setting up");
    println!(
        "{:>14} {:>6} {:>10} {:>8} {:>8} {:>8} {:>8} {:>7} {:>9}",
        "pattern", "ranks", "events", "s", "M ev/s", "tool", "ratio", "B/rank", "read MB/s"
    );
    for point in &points {
        let schedule = point.schedule();
        let best = (0..5).map(|_| point.run(&schedule).1).min().expect("five runs");
        let rate = point.events() as f64 / best.as_secs_f64();
        let held = allocation_counter::measure(|| drop(point.run(&point.schedule()))).bytes_max;
        let tool = point.tool.map_or("-".to_owned(), |tool| format!("{:.3}", tool / 1e6));
        let ratio = point.tool.map_or("-".to_owned(), |tool| format!("{:.1}", rate / tool));
        println!(
            "{:>14} {:>6} {:>10} {:>8.4} {:>8.2} {tool:>8} {ratio:>8} {:>7} {:>9.0}",
            point.pattern,
            point.ranks,
            point.events(),
            best.as_secs_f64(),
            rate / 1e6,
            held / u64::from(point.ranks),
            reading(&schedule),
        );
    }
}

/// MB per second of reading the schedule's text.
#[allow(clippy::cast_precision_loss, reason = "a rate of the host, printed to three digits")]
fn reading(schedule: &Schedule) -> f64 {
    let mut text = Vec::new();
    goal::write(schedule, &mut text).expect("memory takes it");
    let start = Instant::now();
    let read = goal::read(text.as_slice()).expect("what was written can be read");
    let took = start.elapsed();
    assert_eq!(read, *schedule);
    text.len() as f64 / 1e6 / took.as_secs_f64()
}
