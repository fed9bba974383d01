//! How fast the engine fires events, against a standard heap in the same run.
//!
//! - hold: pop one event, push one; digest off; the heap's events have 24 bytes.
//! - phold: exponential delays, uniformly random targets with 128 bytes of state; digest on; the
//!   heap runs in a bare loop.
//!
//! Both sides run the same model by turns. A rate is printed only after the number of events was
//! counted inside the model and compared with the closed form, and after both sides ended in the
//! same state. Only the ratios mean something on a shared machine.
//!
//! `cargo bench --bench engine` runs all; `-- hold` or `-- phold` one of them.

#![expect(clippy::disallowed_types, reason = "a benchmark measures real time")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]
#![expect(clippy::cast_precision_loss, reason = "rates and ratios are printed as real numbers")]
#![expect(clippy::cast_possible_truncation, reason = "delays are far below 2^53 ps")]
#![expect(clippy::cast_sign_loss, reason = "minus the logarithm of at most one is not negative")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::time::Instant;

use mpisim::engine::{Event, Options, Simulation, SourceId, Tag, mix};
use mpisim::units::Time;

const MEAN_PS: u64 = 1_000_000;
const TAG: Tag = Tag { resource: 1, phase: 2 };
const REPEATS: usize = 7;

/// Splitmix64: cheap, so that the queue is what is measured.
#[derive(Clone, Copy)]
struct Chance(u64);

impl Chance {
    #[inline]
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    #[inline]
    fn delay(&mut self) -> u64 {
        let uniform = ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        (-uniform.ln() * MEAN_PS as f64) as u64
    }

    #[inline]
    fn below(&mut self, n: u32) -> u32 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u32
    }
}

/// The event of both models: something for an entity.
#[derive(Clone, Copy)]
enum Hop {
    Empty,
    To(u32),
}

impl Event for Hop {
    #[inline]
    fn fingerprint(&self) -> u64 {
        match *self {
            Self::Empty => 0,
            Self::To(target) => mix(1, u64::from(target)),
        }
    }
}

/// An event of the heap: 24 bytes, ordered by time and sequence.
#[derive(Clone, Copy, Eq, Ord, PartialEq, PartialOrd)]
struct HeapEvent {
    time: u64,
    sequence: u64,
    payload: u64,
}

/// What a run of a model gives: events counted by the model, and a word on its final state.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Outcome {
    events: u64,
    state: u64,
}

fn seconds<T>(run: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = black_box(run());
    (start.elapsed().as_secs_f64(), result)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs both sides by turns; answers the medians of their seconds and of the ratio.
fn compare(
    mut ours: impl FnMut() -> (f64, Outcome),
    mut heap: impl FnMut() -> (f64, Outcome),
    check: impl Fn(Outcome),
) -> (f64, f64, f64) {
    let pairs: Vec<(f64, f64)> = (0..REPEATS)
        .map(|_| {
            let ((our_time, our_outcome), (heap_time, heap_outcome)) = (ours(), heap());
            assert_eq!(our_outcome, heap_outcome, "both sides ran the same model");
            check(our_outcome);
            (our_time, heap_time)
        })
        .collect();
    let of = |pick: fn(&(f64, f64)) -> f64| median(pairs.iter().map(pick).collect());
    (of(|pair| pair.0), of(|pair| pair.1), of(|pair| pair.0 / pair.1))
}

// ---- hold ----

/// Delays drawn beforehand, so that no logarithm is measured.
fn delays() -> Vec<u64> {
    let mut chance = Chance(1);
    (0..1 << 12).map(|_| chance.delay()).collect()
}

fn hold_ours(pending: u64, holds: u64, delays: &[u64]) -> (f64, Outcome) {
    let mut simulation = Simulation::new(Options { without_digest: true, ..Options::default() });
    let mut chance = Chance(pending);
    let mut after = |now: Time| Time::from_ps(now.as_ps() + delays[(chance.next() >> 52) as usize]);
    for _ in 0..pending {
        simulation.schedule(after(Time::ZERO), SourceId(0), TAG, Hop::Empty);
    }
    let mut step = |count: u64| {
        let mut handled = 0;
        for _ in 0..count {
            let fired = simulation.next().expect("no limit").expect("the population is constant");
            match fired.event {
                Hop::Empty => handled += 1,
                Hop::To(target) => handled += u64::from(target),
            }
            simulation.schedule(after(fired.time), SourceId(0), TAG, Hop::Empty);
        }
        handled
    };
    step(2 * pending);
    let (time, events) = seconds(|| step(holds));
    assert_eq!(simulation.events(), 2 * pending + holds);
    (time, Outcome { events, state: simulation.now().as_ps() })
}

fn hold_heap(pending: u64, holds: u64, delays: &[u64]) -> (f64, Outcome) {
    let mut heap = BinaryHeap::new();
    let (mut chance, mut sequence, mut now) = (Chance(pending), 0, 0);
    let mut push = |heap: &mut BinaryHeap<Reverse<HeapEvent>>, now: u64| {
        let time = now + delays[(chance.next() >> 52) as usize];
        sequence += 1;
        heap.push(Reverse(HeapEvent { time, sequence, payload: 0 }));
    };
    (0..pending).for_each(|_| push(&mut heap, 0));
    let mut step = |count: u64| {
        let mut handled = 0;
        for _ in 0..count {
            let Reverse(event) = heap.pop().expect("the population is constant");
            handled += u64::from(event.payload == 0);
            now = event.time;
            push(&mut heap, now);
        }
        handled
    };
    step(2 * pending);
    let (time, events) = seconds(|| step(holds));
    (time, Outcome { events, state: now })
}

fn hold() {
    println!("hold, digest off: ns per pop + push with dispatch; ratio of times to the heap");
    println!("{:>9} {:>9} {:>9} {:>7} {:>7}", "pending", "ours", "heap", "ratio", "target");
    let delays = delays();
    for (pending, target) in [(1_000, 0.9), (10_000, 0.9), (100_000, 0.3), (1_000_000, 0.3)] {
        let holds = 1_000_000;
        let (ours, heap, ratio) = compare(
            || hold_ours(pending, holds, &delays),
            || hold_heap(pending, holds, &delays),
            |outcome| assert_eq!(outcome.events, holds, "every hold handles one event"),
        );
        let ns = |time: f64| time * 1e9 / holds as f64;
        println!("{pending:>9} {:>9.1} {:>9.1} {ratio:>7.2} {target:>7}", ns(ours), ns(heap));
    }
}

// ---- phold ----

/// An entity of 128 bytes.
#[derive(Clone, Copy)]
struct Entity {
    chance: Chance,
    handled: u64,
    rest: [u64; 14],
}

impl Entity {
    /// Handles one event: where the next one goes, and after how long.
    #[inline]
    fn handle(&mut self, entities: u32) -> (u32, u64) {
        self.handled += 1;
        self.rest[13] ^= self.handled;
        (self.chance.below(entities), self.chance.delay())
    }
}

fn entities(n: u32) -> Vec<Entity> {
    let entity = |id: u32| {
        let mut chance = Chance(u64::from(id));
        Entity { chance: Chance(chance.next()), handled: 0, rest: [0; 14] }
    };
    (0..n).map(entity).collect()
}

fn outcome(entities: &[Entity], engine_events: u64) -> Outcome {
    let events = entities.iter().map(|entity| entity.handled).sum();
    assert_eq!(events, engine_events, "the entities handled what the engine fired");
    let state = entities.iter().fold(0, |state, entity| mix(state, entity.chance.0));
    Outcome { events, state }
}

fn phold_ours(n: u32, end: u64, without_digest: bool) -> (f64, Outcome) {
    let mut entities = entities(n);
    let mut simulation = Simulation::new(Options { without_digest, ..Options::default() });
    for id in 0..n {
        let delay = entities[id as usize].chance.delay();
        simulation.schedule(Time::from_ps(delay), SourceId(id), TAG, Hop::To(id));
    }
    let (time, events) = seconds(|| {
        let mut events = 0;
        while let Some(fired) = simulation.next().expect("no limit") {
            let Hop::To(id) = fired.event else { unreachable!("phold sends no empty event") };
            events += 1;
            let (target, delay) = entities[id as usize].handle(n);
            let at = fired.time.as_ps() + delay;
            if at <= end {
                simulation.schedule(Time::from_ps(at), SourceId(id), TAG, Hop::To(target));
            }
        }
        events
    });
    if !without_digest {
        black_box(simulation.digest());
    }
    (time, outcome(&entities, events))
}

fn phold_heap(n: u32, end: u64) -> (f64, Outcome) {
    let mut entities = entities(n);
    let (mut heap, mut sequence) = (BinaryHeap::new(), 0);
    let mut push = |heap: &mut BinaryHeap<_>, time, target: u32| {
        sequence += 1;
        heap.push(Reverse(HeapEvent { time, sequence, payload: u64::from(target) }));
    };
    for id in 0..n {
        let delay = entities[id as usize].chance.delay();
        push(&mut heap, delay, id);
    }
    let (time, events) = seconds(|| {
        let mut events = 0;
        while let Some(Reverse(event)) = heap.pop() {
            events += 1;
            let (target, delay) = entities[event.payload as usize].handle(n);
            if event.time + delay <= end {
                push(&mut heap, event.time + delay, target);
            }
        }
        events
    });
    (time, outcome(&entities, events))
}

/// `n` independent Poisson streams until `end`: the mean count is `n * end / mean`, with its square
/// root as standard deviation; five of them are allowed. The event past the end does not count,
/// but the first event of each entity always does: `e^-(end / mean)` of them lie past the end.
fn check_phold_count(n: u32, end: u64, outcome: Outcome) {
    let expected = f64::from(n) * (end as f64 / MEAN_PS as f64);
    let off = (outcome.events as f64 - expected).abs();
    let late_starts = f64::from(n) * (-(end as f64) / MEAN_PS as f64).exp();
    let allowed = 5.0 * expected.sqrt() + 2.0 * late_starts;
    assert!(off < allowed, "{} events, expected {expected} +- {allowed}", outcome.events);
}

fn phold() {
    println!("phold: M events/s; ratio of rates to the bare heap loop, digest on");
    println!(
        "{:>9} {:>9} {:>9} {:>9} {:>7} {:>7} {:>12}",
        "entities", "ours", "no digest", "heap", "ratio", "target", "digest ns"
    );
    for (n, target) in [(1_000, 0.8), (10_000, 0.8), (100_000, 1.3), (1_000_000, 1.3)] {
        let end = 2_000_000.max(8 * u64::from(n)) / u64::from(n) * MEAN_PS;
        let check = |outcome| check_phold_count(n, end, outcome);
        let (on, heap, ratio) = compare(|| phold_ours(n, end, false), || phold_heap(n, end), check);
        let (off, _, _) = compare(|| phold_ours(n, end, true), || phold_ours(n, end, true), check);
        let events = phold_ours(n, end, false).1.events as f64;
        let rate = |time: f64| events / time / 1e6;
        println!(
            "{n:>9} {:>9.1} {:>9.1} {:>9.1} {:>7.2} {target:>7} {:>12.1}",
            rate(on),
            rate(off),
            rate(heap),
            1.0 / ratio,
            (on - off) * 1e9 / events
        );
    }
}

fn main() {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let runs = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    if runs("hold") {
        hold();
    }
    if runs("phold") {
        phold();
    }
}
