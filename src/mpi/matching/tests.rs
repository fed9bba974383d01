//! Laws of matching, over every small world.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use super::*;
use crate::envelope::{Context, Rank};

/// An event at an engine; the n-th event of a history is named n.
#[derive(Clone, Copy, Debug)]
enum Event {
    Post(Selection),
    Arrive(Envelope),
}

type Engine = MatchingEngine<usize, usize>;

/// A history and, for each event, the later event that matched it.
#[derive(Clone, Default)]
struct World {
    history: Vec<Event>,
    matched: Vec<Option<usize>>,
    engine: Engine,
}

fn envelope(context: u32, source: u32, tag: i32) -> Envelope {
    Envelope { context: Context(context), dest: Rank(0), source: Rank(source), tag }
}

fn selection(context: u32, source: Option<u32>, tag: Option<i32>) -> Selection {
    Selection { context: Context(context), dest: Rank(0), source: source.map(Rank), tag }
}

/// Every selection over so many contexts, two sources and two tags, wildcards included.
fn selections(contexts: u32) -> Vec<Selection> {
    let mut all = Vec::new();
    for context in 0..contexts {
        for source in [None, Some(0), Some(1)] {
            for tag in [None, Some(0), Some(1)] {
                all.push(selection(context, source, tag));
            }
        }
    }
    all
}

fn envelopes(contexts: u32) -> Vec<Envelope> {
    selections(contexts)
        .iter()
        .filter_map(|wanted| {
            Some(Envelope {
                context: wanted.context,
                dest: Rank(0),
                source: wanted.source?,
                tag: wanted.tag?,
            })
        })
        .collect()
}

/// All three agree, or the receive left the question open.
fn agrees(wanted: &Selection, message: &Envelope) -> bool {
    wanted.context.0 == message.context.0
        && [None, Some(message.source)].contains(&wanted.source)
        && [None, Some(message.tag)].contains(&wanted.tag)
}

impl World {
    /// The definition: of all earlier, still unmatched events of the other kind that agree, the
    /// first; with the number of unmatched ones up to and including it, and in all.
    fn defined(&self, event: Event) -> Search<usize> {
        let open = |index: &usize| self.matched[*index].is_none();
        let candidates: Vec<(usize, bool)> = (0..self.history.len())
            .filter(open)
            .filter_map(|index| match (event, self.history[index]) {
                (Event::Post(wanted), Event::Arrive(message))
                | (Event::Arrive(message), Event::Post(wanted)) => {
                    Some((index, agrees(&wanted, &message)))
                }
                _ => None,
            })
            .collect();
        let hit = candidates.iter().position(|(_, agrees)| *agrees);
        Search {
            visited: u32::try_from(hit.map_or(candidates.len(), |hit| hit + 1)).unwrap(),
            length: u32::try_from(candidates.len()).unwrap(),
            matched: hit.map(|hit| candidates[hit].0),
        }
    }

    /// One more event, with the engine held against the definition.
    #[track_caller]
    fn step(&mut self, event: Event) {
        let name = self.history.len();
        let expected = self.defined(event);
        let found = match event {
            Event::Post(wanted) => {
                let probed = self.engine.probe(&wanted).map(|message| message.payload);
                let taken = self.engine.post(wanted, name).map(|message| message.payload);
                assert_eq!(probed, taken, "a probe sees what a receive takes: {self:?}");
                taken
            }
            Event::Arrive(message) => self.engine.arrive(message, name),
        };
        assert_eq!(found, expected, "{event:?} after {self:?}");
        self.history.push(event);
        self.matched.push(found.matched);
        if let Some(other) = found.matched {
            self.matched[other] = Some(name);
        }
        self.check_queues();
    }

    /// Nothing is lost and nothing is there twice.
    #[track_caller]
    fn check_queues(&self) {
        let of_kind = |post: bool| {
            let kind = move |index: &usize| matches!(self.history[*index], Event::Post(_)) == post;
            (0..self.history.len()).filter(|index| self.matched[*index].is_none()).filter(kind)
        };
        assert!(of_kind(true).eq(self.engine.posted().map(|posted| posted.payload)), "{self:?}");
        assert!(of_kind(false).eq(self.engine.unexpected().map(|un| un.payload)), "{self:?}");
    }

    /// When two messages of one sender and context could both be taken by the receive that took
    /// the later one, the earlier one had been taken before.
    #[track_caller]
    fn check_order(&self) {
        for (later, event) in self.history.iter().enumerate() {
            let (Event::Arrive(second), Some(taker)) = (event, self.matched[later]) else {
                continue;
            };
            let Event::Post(wanted) = self.history[taker] else { panic!("{self:?}") };
            for earlier in 0..later {
                let Event::Arrive(first) = self.history[earlier] else { continue };
                let same_flow = first.context == second.context && first.source == second.source;
                if same_flow && agrees(&wanted, &first) {
                    let before = self.matched[earlier].map(|other| other.max(earlier));
                    assert!(before.is_some_and(|before| before < taker.max(later)), "{self:?}");
                }
            }
        }
    }

    /// Every world that `depth` more events out of `events` lead to.
    fn explore(&self, depth: usize, events: &[Event], visit: &mut impl FnMut(&Self)) {
        visit(self);
        if depth > 0 {
            for event in events {
                let mut next = self.clone();
                next.step(*event);
                next.explore(depth - 1, events, visit);
            }
        }
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} matched as {:?}", self.history, self.matched)
    }
}

fn all_events(contexts: u32) -> Vec<Event> {
    let posts = selections(contexts).into_iter().map(Event::Post);
    posts.chain(envelopes(contexts).into_iter().map(Event::Arrive)).collect()
}

// claim: ep-sem-match-triple
// claim: ep-sem-match-order
// claim: ep-sem-uq-first
#[test]
fn every_history_of_four_events_matches_as_defined() {
    let mut worlds = 0_u32;
    World::default().explore(4, &all_events(2), &mut |_| worlds += 1);
    assert_eq!(worlds, (0..=4).map(|events| 26_u32.pow(events)).sum::<u32>());
}

// claim: ep-sem-no-overtake
#[test]
fn matching_never_overtakes() {
    let mut matched = 0_u32;
    World::default().explore(5, &all_events(1), &mut |world| {
        world.check_order();
        matched += u32::from(world.matched.iter().flatten().count() >= 4);
    });
    assert!(matched > 10_000, "{matched} worlds put two messages in order");
}

/// Four receives before one message: of those that could take it, the earliest does (M2).
#[test]
fn the_earliest_posted_receive_wins_among_four() {
    let posts: Vec<_> = selections(1).into_iter().map(Event::Post).collect();
    World::default().explore(4, &posts, &mut |world| {
        for message in envelopes(1) {
            world.clone().step(Event::Arrive(message));
        }
    });
}

/// Four messages before one receive: the earliest that it selects (M1, M3).
#[test]
fn the_earliest_unexpected_message_wins_among_four() {
    let arrivals: Vec<_> = envelopes(2).into_iter().map(Event::Arrive).collect();
    World::default().explore(4, &arrivals, &mut |world| {
        for wanted in selections(2) {
            world.clone().step(Event::Post(wanted));
        }
    });
}

/// Any source may win, but each source's messages come in order (M3).
#[test]
fn any_source_keeps_the_order_of_each_source() {
    for arrivals in 0..16_u32 {
        let mut engine = Engine::default();
        let sources: Vec<u32> = (0..4).map(|bit| (arrivals >> bit) & 1).collect();
        for (serial, source) in sources.iter().enumerate() {
            engine.arrive(envelope(0, *source, 0), serial);
        }
        let mut last = [None, None];
        for _ in 0..4 {
            let taken = engine.post(selection(0, None, Some(0)), 0).matched.unwrap();
            let slot = &mut last[taken.envelope.source.0 as usize];
            assert!(*slot < Some(taken.payload), "{sources:?}");
            *slot = Some(taken.payload);
        }
        assert!(engine.is_empty());
    }
}

/// Equal source and tag, other context: no receive, no probe and no wildcard reaches it (M5).
#[test]
fn contexts_never_mix() {
    for wanted in selections(2) {
        for message in envelopes(2).into_iter().filter(|it| it.context != wanted.context) {
            let mut engine = Engine::default();
            engine.arrive(message, 0);
            assert_eq!(engine.probe(&wanted).matched, None);
            assert_eq!(engine.take(&wanted).matched, None);
            assert_eq!(engine.post(wanted, 1).matched, None);
            assert_eq!((engine.posted_len(), engine.unexpected_len()), (1, 1));
        }
    }
}

/// With q receives ahead that do not match, q + 1 entries are inspected (M13).
#[test]
fn a_walk_counts_each_entry_it_inspects() {
    for queue in [0, 1, 2, 63, 64, 1024] {
        let mut engine = Engine::default();
        for tag in 1..=queue {
            engine.post(selection(0, Some(0), Some(tag)), 0);
        }
        engine.post(selection(0, Some(0), Some(0)), 1);
        let ahead = u32::try_from(queue).unwrap();
        let hit = engine.arrive(envelope(0, 0, 0), 0);
        assert_eq!(hit, Search { visited: ahead + 1, length: ahead + 1, matched: Some(1) });
        let miss = engine.arrive(envelope(0, 0, 0), 0);
        assert_eq!(miss, Search { visited: ahead, length: ahead, matched: None });
        let first = engine.arrive(envelope(0, 0, 1), 0);
        assert_eq!(first.visited, ahead.min(1));
    }
}

#[test]
fn a_taken_message_is_seen_by_nobody_else() {
    let mut engine = Engine::default();
    engine.arrive(envelope(0, 0, 7), 10);
    engine.arrive(envelope(0, 0, 7), 11);
    let any = selection(0, None, None);
    assert_eq!(engine.probe(&any).matched.map(|it| it.payload), Some(10));
    assert_eq!(engine.take(&any).matched.map(|it| it.payload), Some(10));
    assert_eq!(engine.probe(&any).matched.map(|it| it.payload), Some(11));
    assert_eq!(engine.post(any, 0).matched.map(|it| it.payload), Some(11));
    assert_eq!(engine.take(&any), Search { visited: 0, length: 0, matched: None });
}

#[test]
fn a_cancelled_receive_never_matches() {
    let any = selection(0, None, None);
    for cancelled in 0..4 {
        let mut engine = Engine::default();
        for receive in 0..4 {
            engine.post(any, receive);
        }
        let visited = u32::try_from(cancelled + 1).unwrap();
        let answer = engine.cancel(|receive| *receive == cancelled);
        assert_eq!(answer, Search { visited, length: 4, matched: Some(cancelled) });
        assert_eq!(engine.cancel(|receive| *receive == cancelled).matched, None);
        let takers: Vec<_> =
            (0..4).filter_map(|_| engine.arrive(envelope(0, 0, 0), 0).matched).collect();
        assert_eq!(takers, (0..4).filter(|it| *it != cancelled).collect::<Vec<_>>());
    }
}

/// Equal queues are equal states, whatever passed through them before.
#[test]
fn equality_and_hash_forget_history() {
    let hash = |engine: &Engine| BuildHasherDefault::<DefaultHasher>::default().hash_one(engine);
    let mut fresh = Engine::default();
    let mut used = Engine::default();
    for round in 0..37 {
        used.post(selection(0, Some(0), None), round);
        used.post(selection(0, Some(1), None), round);
        used.arrive(envelope(0, 1, 0), round);
        used.arrive(envelope(0, 0, 0), round);
        used.arrive(envelope(1, 0, 0), round);
        used.take(&selection(1, None, None));
    }
    for engine in [&mut fresh, &mut used] {
        for receive in 0..3 {
            engine.post(selection(0, None, None), receive);
        }
        engine.arrive(envelope(1, 0, 0), 9);
    }
    assert_eq!(fresh, used);
    assert_eq!(hash(&fresh), hash(&used));
    used.cancel(|receive| *receive == 1);
    assert_ne!(fresh, used);
    assert_ne!(hash(&fresh), hash(&used));
}

#[test]
fn steady_state_allocates_nothing() {
    let mut engine = Engine::default();
    let round = |engine: &mut Engine| {
        for receive in 0..64 {
            engine.post(selection(0, Some(0), Some(1)), receive);
        }
        for tag in [0, 1] {
            for message in 0..64 {
                engine.arrive(envelope(0, 0, tag), message);
            }
        }
        while engine.take(&selection(0, None, None)).matched.is_some() {}
    };
    round(&mut engine);
    let counted = allocation_counter::measure(|| (0..10).for_each(|_| round(&mut engine)));
    assert_eq!(counted.count_total, 0);
}
