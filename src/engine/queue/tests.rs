//! The queue against a binary heap that carries the whole key.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use proptest::prelude::*;

use super::*;
use units::TimeDelta;

/// (time, round, source, sequence, payload): the whole key, compared field by field.
type Key = (u64, u32, u32, u64, u64);

/// The reference: a heap of whole keys; it numbers what is pushed and counts the rounds itself.
#[derive(Default)]
struct Heap {
    pending: BinaryHeap<Reverse<Key>>,
    now: (u64, Option<u32>),
    pushed: u64,
}

impl Heap {
    fn push(&mut self, time: u64, source: u32, payload: u64) {
        let (now, round) = self.now;
        let round = if time == now { round.map_or(0, |round| round + 1) } else { 0 };
        self.pushed += 1;
        self.pending.push(Reverse((time, round, source, self.pushed, payload)));
    }

    fn pop(&mut self) -> Option<(u64, u32, u32, u64)> {
        let Reverse((time, round, source, _, payload)) = self.pending.pop()?;
        self.now = (time, Some(round));
        Some((time, round, source, payload))
    }
}

/// Both queues side by side: every answer is compared.
#[derive(Default)]
struct Pair {
    wheel: EventQueue<u64>,
    heap: Heap,
}

impl Pair {
    fn push(&mut self, time: u64, source: u32, payload: u64) {
        self.wheel.push(Time::from_ps(time), SourceId(source), payload);
        self.heap.push(time, source, payload);
    }

    #[track_caller]
    fn pop(&mut self) -> Option<(u64, u32, u32, u64)> {
        let peeked = self.wheel.peek_time().map(Time::as_ps);
        let popped = self
            .wheel
            .pop()
            .map(|popped| (popped.time.as_ps(), popped.round, popped.source.0, popped.event));
        assert_eq!(popped, self.heap.pop());
        assert_eq!(peeked, popped.map(|popped| popped.0), "peeking tells the next time");
        assert_eq!(self.wheel.len(), self.heap.pending.len());
        popped
    }

    #[track_caller]
    fn drain(&mut self) -> usize {
        std::iter::from_fn(|| self.pop()).count()
    }
}

/// A small generator of our own, so that the tests of the queue need no other part.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let high_half = u32::try_from(self.0 >> 32).expect("32 bits are left");
        high_half % n
    }

    fn one_of(&mut self, values: &[u64]) -> u64 {
        values[self.below(u32::try_from(values.len()).expect("a short list")) as usize]
    }
}

/// Holds `pending` events while `holds` are popped and pushed again after one of `delays`.
#[track_caller]
fn check_hold(pending: u32, holds: usize, sources: u32, delays: &[u64]) {
    let (mut pair, mut chance) = (Pair::default(), Chance(u64::from(pending ^ sources)));
    for payload in 0..pending {
        pair.push(chance.one_of(delays), chance.below(sources), u64::from(payload));
    }
    for _ in 0..holds {
        let (time, _, _, payload) = pair.pop().expect("the population is constant");
        let at = time + chance.one_of(delays);
        pair.push(at, chance.below(sources), payload + u64::from(pending));
    }
    assert_eq!(pair.drain(), pending as usize);
}

#[test]
fn constant_delays_with_zero_give_rounds_and_ties_in_heap_order() {
    for pending in [1, 2, 3, 10, 100, 1_000, 10_000] {
        check_hold(pending, 20_000, 16, &[0, 0, 1, 5, 64, 1_000, 4_096, 700_000]);
        check_hold(pending, 20_000, 100_000, &[0, 3, 1_000_000]);
    }
}

#[test]
fn all_distances_from_a_picosecond_to_days_are_kept_apart() {
    let delays: Vec<u64> = (0..48).flat_map(|bit| [1 << bit, (1 << bit) + 1]).collect();
    for pending in [1, 7, 64, 1_000, 5_000] {
        check_hold(pending, 20_000, 5, &delays);
    }
}

#[test]
fn mass_ties_come_out_by_source() {
    check_hold(20_000, 60_000, 1_000, &[1_000, 2_000]);
    check_hold(5_000, 30_000, 3, &[0, 64]);
}

#[test]
fn the_ends_of_the_clock_are_times_like_others() {
    let mut pair = Pair::default();
    for time in [u64::MAX, 0, u64::MAX - 1, 1 << 63, (1 << 63) - 1, 0, u64::MAX] {
        pair.push(time, 1, time);
    }
    assert_eq!(pair.drain(), 7);
    pair.push(u64::MAX, 0, 1);
    assert_eq!(pair.pop(), Some((u64::MAX, 1, 0, 1)), "one round after the last one");
}

#[test]
fn a_push_at_the_present_waits_for_the_next_round() {
    let mut pair = Pair::default();
    let at = 500;
    pair.push(at, 9, 0);
    pair.push(at, 9, 1);
    assert_eq!(pair.pop(), Some((at, 0, 9, 0)));
    pair.push(at, 1, 2);
    assert_eq!(pair.pop(), Some((at, 0, 9, 1)), "source 1 comes first, but a round later");
    pair.push(at, 0, 3);
    assert_eq!(pair.pop(), Some((at, 1, 0, 3)));
    pair.push(at, 0, 4);
    assert_eq!(pair.pop(), Some((at, 1, 1, 2)));
    assert_eq!(pair.pop(), Some((at, 2, 0, 4)));
    assert_eq!(pair.pop(), None);
}

#[test]
fn the_start_is_round_zero_although_the_clock_begins_there() {
    let mut pair = Pair::default();
    pair.push(0, 2, 0);
    pair.push(0, 1, 1);
    assert_eq!(pair.pop(), Some((0, 0, 1, 1)));
    assert_eq!(pair.pop(), Some((0, 0, 2, 0)));
}

#[test]
fn peeking_does_not_move_the_base() {
    let mut pair = Pair::default();
    pair.push(1_000_000, 0, 0);
    assert_eq!(pair.wheel.peek_time(), Some(Time::from_ps(1_000_000)));
    assert_eq!(pair.wheel.pop_until(Time::from_ps(999_999)), None);
    pair.push(3, 0, 1);
    assert_eq!(pair.pop(), Some((3, 0, 0, 1)));
    assert_eq!(pair.pop(), Some((1_000_000, 0, 0, 0)));
}

#[test]
fn pop_until_includes_its_end_and_nothing_after() {
    let mut queue = EventQueue::new();
    for time in [5, 5, 6] {
        queue.push(Time::from_ps(time), SourceId(0), time);
    }
    let until_5 = std::iter::from_fn(|| queue.pop_until(Time::from_ps(5))).count();
    assert_eq!((until_5, queue.len(), queue.now()), (2, 1, Time::from_ps(5)));
}

#[test]
#[should_panic(expected = "an event is scheduled at 9 ps, before 10 ps")]
fn the_past_is_refused() {
    let mut queue = EventQueue::new();
    queue.push(Time::from_ps(10), SourceId(0), ());
    queue.pop();
    queue.push(Time::from_ps(9), SourceId(0), ());
}

#[test]
fn shuffled_ties_permute_sources_and_keep_each_in_order() {
    let order = |mut queue: EventQueue<u32>| {
        for event in 0..1_000 {
            queue.push(Time::from_ps(77), SourceId(event % 10), event);
        }
        std::iter::from_fn(|| queue.pop()).map(|popped| popped.event).collect::<Vec<_>>()
    };
    let plain = order(EventQueue::new());
    let orders = [1, 2, 3].map(|seed| order(EventQueue::with_shuffled_ties(seed)));
    assert_eq!(orders[0], order(EventQueue::with_shuffled_ties(1)), "a seed gives one order");
    assert_ne!(orders[0], orders[1]);
    for shuffled in &orders {
        assert_ne!(*shuffled, plain);
        for source in 0..10 {
            let own = shuffled.iter().filter(|&event| event % 10 == source);
            assert!(own.is_sorted(), "source {source} stays first in first out");
        }
    }
}

#[test]
fn shuffled_ranks_are_a_permutation() {
    let ranks: std::collections::BTreeSet<u32> =
        (0..100_000).map(|source| shuffled_rank(0x1234_5678_9abc_def0, source)).collect();
    assert_eq!(ranks.len(), 100_000);
}

#[test]
fn nothing_allocates_once_warm() {
    let (mut queue, mut chance) = (EventQueue::new(), Chance(5));
    let mut hold = |queue: &mut EventQueue<[u64; 2]>, holds: u32| {
        for _ in 0..holds {
            let popped = queue.pop().expect("the population is constant");
            let delay = TimeDelta::from_ps(chance.one_of(&[0, 64, 4_096, 1_000]));
            queue.push(popped.time + delay, SourceId(chance.below(50)), popped.event);
        }
    };
    for event in 0..1_000 {
        queue.push(Time::ZERO, SourceId(0), [event; 2]);
    }
    hold(&mut queue, 200_000);
    let seen = allocation_counter::measure(|| hold(&mut queue, 500_000));
    assert_eq!(seen.count_total, 0);
}

/// A step of a random program on the queue.
#[derive(Clone, Debug)]
enum Step {
    Push { delay: u64, source: u32 },
    Pop,
}

fn any_step() -> impl Strategy<Value = Step> {
    let delay = prop_oneof![
        4 => Just(0_u64),
        4 => 1_u64..4,
        4 => 0_u64..200,
        2 => any::<u32>().prop_map(u64::from),
        1 => 0_u64..1 << 50,
    ];
    prop_oneof![
        3 => (delay, 0_u32..6).prop_map(|(delay, source)| Step::Push { delay, source }),
        2 => Just(Step::Pop),
    ]
}

proptest! {
    #[test]
    fn any_program_gives_the_order_of_the_heap(steps in prop::collection::vec(any_step(), 0..400)) {
        let mut pair = Pair::default();
        for (payload, step) in steps.into_iter().enumerate() {
            match step {
                Step::Push { delay, source } => {
                    let now = pair.wheel.now().as_ps();
                    pair.push(now + delay, source, payload as u64);
                }
                Step::Pop => {
                    pair.pop();
                }
            }
        }
        pair.drain();
    }
}
