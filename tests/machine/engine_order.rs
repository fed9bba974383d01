//! The order of events as a simulation shows it: by (time, round, source), whatever the code did
//! first; and a digest that says so.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use mpisim::engine::{
    Digest, Event, JournalMode, Options, Record, Simulation, SourceId, Streams, Tag, mix,
};
use mpisim::units::{Time, TimeDelta};
use proptest::prelude::*;

/// A token that hops between sources until its hops are used up.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Token {
    id: u32,
    hops: u32,
}

impl Event for Token {
    fn fingerprint(&self) -> u64 {
        mix(u64::from(self.id), u64::from(self.hops))
    }
}

const TAG: Tag = Tag { resource: 0, phase: 0 };
const SOURCES: u32 = 7;

/// Where a token goes next and after how long: many ties, many zero delays, some long ways.
fn hop(token: Token) -> (u32, u64, Token) {
    let chance = mix(token.fingerprint(), 1);
    let delay = [0, 0, 10, 10, 100, 4_096, 1_000_000, 77][(chance % 8) as usize];
    let source = u32::try_from((chance >> 8) % u64::from(SOURCES)).expect("below 7");
    (source, delay, Token { hops: token.hops - 1, ..token })
}

/// Starts `tokens` in the order given; all are due at one time.
fn run(tokens: &[u32], hops: u32, options: Options) -> Simulation<Token> {
    let mut simulation = Simulation::new(options);
    for &id in tokens {
        simulation.schedule(Time::from_ps(50), SourceId(id), TAG, Token { id, hops });
    }
    while let Some(fired) = simulation.next().expect("no limit") {
        if fired.event.hops > 0 {
            let (source, delay, token) = hop(fired.event);
            simulation.schedule_in(TimeDelta::from_ps(delay), SourceId(source), TAG, token);
        }
    }
    simulation
}

fn digest_of(tokens: &[u32], hops: u32) -> Digest {
    run(tokens, hops, Options::default()).digest()
}

#[test]
fn the_order_of_insertion_of_simultaneous_events_does_not_show() {
    let tokens: Vec<u32> = (0..500).collect();
    let digest = digest_of(&tokens, 40);
    let mut order = Streams::new(1).stream("insertion order", 0);
    for _ in 0..5 {
        let mut shuffled = tokens.clone();
        for at in (1..shuffled.len()).rev() {
            shuffled.swap(at, usize::try_from(order.below(at as u64 + 1)).unwrap());
        }
        assert_ne!(shuffled, tokens);
        assert_eq!(digest_of(&shuffled, 40), digest);
    }
}

#[test]
fn another_content_gives_another_digest() {
    let tokens: Vec<u32> = (0..100).collect();
    let digest = digest_of(&tokens, 10);
    assert_ne!(digest_of(&tokens, 11), digest);
    assert_ne!(digest_of(&tokens[1..], 10), digest);
    assert_ne!(digest_of(&[], 0), digest);
}

#[test]
fn this_digest_is_the_same_on_every_machine_and_in_every_profile() {
    let tokens: Vec<u32> = (0..100).collect();
    assert_eq!(digest_of(&tokens, 50).to_string(), "50b0fb0b0c774c13221d0f19bad2aef0");
}

#[test]
fn n_tokens_of_k_hops_fire_n_times_k_plus_one_events() {
    for (n, k) in [(1, 0), (1, 1_000), (300, 7), (1_000, 20)] {
        let tokens: Vec<u32> = (0..n).collect();
        let simulation = run(&tokens, k, Options::default());
        assert_eq!(simulation.events(), u64::from(n) * u64::from(k + 1));
        assert_eq!(simulation.pending(), 0);
    }
}

#[test]
fn watching_changes_nothing() {
    let tokens: Vec<u32> = (0..50).collect();
    let digest = digest_of(&tokens, 30);
    for mode in [JournalMode::All, JournalMode::Last(50), JournalMode::Between(3, 9)] {
        let watched = run(&tokens, 30, Options { journal: Some(mode), ..Options::default() });
        assert_eq!(watched.digest(), digest);
    }
}

#[test]
fn shuffled_ties_fire_the_same_events_at_the_same_times_in_another_order() {
    let tokens: Vec<u32> = (0..200).collect();
    let fired = |tie_seed| {
        let journal = Some(JournalMode::All);
        let simulation = run(&tokens, 20, Options { tie_seed, journal, ..Options::default() });
        let key = |record: &Record| (record.time, record.round, record.source, record.fingerprint);
        let mut keys: Vec<_> = simulation.journal().unwrap().records().map(key).collect();
        keys.sort();
        (simulation.digest(), keys)
    };
    let (plain, shuffled) = (fired(None), fired(Some(3)));
    assert_ne!(plain.0, shuffled.0);
    assert_eq!(plain.1, shuffled.1);
    assert_eq!(shuffled, fired(Some(3)));
}

/// The order that a heap of whole keys gives: (time, round, source, sequence, token).
fn oracle(tokens: &[u32], hops: u32) -> Vec<(u64, u32, u32, u64)> {
    let mut heap = BinaryHeap::new();
    let mut sequence = 0_u64;
    for &id in tokens {
        sequence += 1;
        heap.push(Reverse((50, 0, id, sequence, Token { id, hops })));
    }
    let mut order = Vec::new();
    while let Some(Reverse((time, round, source, _, token))) = heap.pop() {
        order.push((time, round, source, token.fingerprint()));
        if token.hops > 0 {
            let (to, delay, token) = hop(token);
            let round = if delay == 0 { round + 1 } else { 0 };
            sequence += 1;
            heap.push(Reverse((time + delay, round, to, sequence, token)));
        }
    }
    order
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_journal_is_the_order_of_a_heap_of_whole_keys(tokens in 1_u32..300, hops in 0_u32..40) {
        let tokens: Vec<u32> = (0..tokens).rev().collect();
        let journal = Some(JournalMode::All);
        let simulation = run(&tokens, hops, Options { journal, ..Options::default() });
        let order: Vec<_> = simulation
            .journal()
            .unwrap()
            .records()
            .map(|record| {
                (record.time.as_ps(), record.round, record.source.0, record.fingerprint)
            })
            .collect();
        prop_assert_eq!(order, oracle(&tokens, hops));
    }
}
