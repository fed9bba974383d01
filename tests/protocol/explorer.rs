//! The explorer over every named protocol: they are sound, what is left out changes no verdict, a
//! crash at any moment is explained, and what was found can be replayed.

use mpisim::explore::registry::{self, Entry};
use mpisim::explore::{Explored, MayFail, Options, Planted, Size, Strategy, Token};
use mpisim::shipped::SHIPPED;

/// The most states of a job in a test that runs every time.
const FEW: usize = 10_000;

fn explored(entry: &Entry, size: Size, options: &Options) -> Explored {
    entry.subject(size, Planted::default()).explore(options)
}

/// Every protocol in every size that has few states; the sizes of each, the smallest first.
fn jobs() -> Vec<(Entry, Vec<Size>)> {
    let sizes = |entry: &Entry| {
        let ranks = [entry.least.max(2), 3].map(|ranks| ranks.min(entry.most));
        let both = ranks.map(|ranks| [1, 2].map(|ops| Size { ranks, ops }));
        let mut sizes = both.concat();
        sizes.dedup();
        sizes
    };
    registry::entries(SHIPPED)
        .into_iter()
        .map(|entry| {
            let sizes = sizes(&entry);
            (entry, sizes)
        })
        .collect()
}

fn classes(found: &Explored) -> Vec<&str> {
    let mut classes: Vec<&str> = found.failures.iter().map(|one| one.class.as_str()).collect();
    classes.sort_unstable();
    classes
}

/// Sound, not vacuous, and the same with the rule of partial order: verdict and final states.
#[test]
fn every_protocol_is_sound_and_the_rule_changes_nothing_but_the_states() {
    let (mut full, mut reduced, mut complete) = (0, 0, 0);
    for (entry, sizes) in jobs() {
        for size in sizes {
            let all = explored(&entry, size, &Options { states: FEW, ..Options::default() });
            let name = format!("{} {size:?}", entry.name);
            assert_eq!(classes(&all), [""; 0], "{name}: {:#?}", all.failures);
            let some = Options { states: FEW, reduce: true, ..Options::default() };
            let some = explored(&entry, size, &some);
            assert_eq!(classes(&some), [""; 0], "{name}: {:#?}", some.failures);
            if all.stopped.is_some() {
                continue;
            }
            complete += 1;
            assert_eq!((all.finals, None), (some.finals, some.stopped), "{name}");
            assert!(all.finals > 0 && some.states <= all.states, "{name}");
            for branch in (entry.reaches)(size) {
                for found in [&all, &some] {
                    let met = found.sometimes.named();
                    let count = met.iter().find(|(known, _)| *known == branch).unwrap().1;
                    assert!(count > 0, "{name} never reaches {branch}: {met:?}");
                }
            }
            full += all.states;
            reduced += some.states;
        }
    }
    assert!(complete > 100, "{complete} jobs were explored whole");
    assert!(reduced < full, "{reduced} of {full} states");
}

/// What messages are called decides nothing: to tell it apart makes more states of the same kinds.
#[test]
fn names_of_messages_change_nothing_but_the_states() {
    let (mut nameless, mut named, mut complete) = (0, 0, 0);
    for (entry, sizes) in jobs() {
        for size in sizes.into_iter().take(2) {
            let options = Options { states: FEW, reduce: true, ..Options::default() };
            let all = explored(&entry, size, &Options { by_name: true, ..options });
            if all.stopped.is_some() {
                continue;
            }
            let some = explored(&entry, size, &options);
            let name = format!("{} {size:?}", entry.name);
            assert_eq!((classes(&all), classes(&some)), (vec![], vec![]), "{name}");
            assert!(some.finals > 0 && some.finals <= all.finals, "{name}");
            assert!(some.states <= all.states && some.depth <= all.depth, "{name}");
            complete += 1;
            nameless += some.states;
            named += all.states;
        }
    }
    assert!(complete > 50, "{complete} jobs were explored whole");
    assert!(nameless < named, "{nameless} of {named} states");
}

/// A template is a scenario in every size: its loops and expressions hold at both ends of its ranks.
#[test]
fn every_job_has_a_first_state_in_its_smallest_and_its_largest_size() {
    for entry in registry::entries(SHIPPED) {
        let sizes = [(entry.least, 1), (entry.least, 3), (entry.most, 1), (entry.most, 3)];
        let digests = sizes
            .map(|(ranks, ops)| entry.subject(Size { ranks, ops }, Planted::default()).digest());
        let differ = digests.iter().enumerate().all(|(at, one)| !digests[..at].contains(one));
        assert!(differ, "{}: {digests:?}", entry.name);
    }
}

/// Where no RDMA operation names memory, the order of arrivals is nearly all that differs.
#[test]
fn the_rule_leaves_most_orders_of_eager_messages_out() {
    for name in ["eager", "matching/exact"] {
        let (entry, _) = registry::find(name, SHIPPED).unwrap();
        let size = Size { ranks: 3, ops: 2 };
        let all = explored(&entry, size, &Options::default());
        let some = explored(&entry, size, &Options { reduce: true, ..Options::default() });
        assert!(some.states * 10 < all.states, "{name}: {} of {}", some.states, all.states);
    }
}

/// Programs that ask again and again for what a dead process can no longer write: see
/// [`survivors_of_a_dead_rank_spin_or_are_explained`].
fn spins(name: &str) -> bool {
    name.starts_with("mutex/mcs") || name.starts_with("mutex/test_and_set")
}

/// A queue lock does not outlive a rank that dies between its swap and its link: who leaves before it
/// asks for ever. Nothing else goes wrong.
// row: F16
#[test]
fn survivors_of_a_dead_rank_spin_or_are_explained() {
    for entry in
        registry::entries(SHIPPED).iter().filter(|entry| entry.name.starts_with("mutex/mcs"))
    {
        let options = Options { faults: MayFail::DEATH, states: 2 * FEW, ..Options::default() };
        let found = explored(entry, Size { ranks: 2, ops: 1 }, &options);
        assert_eq!(classes(&found), ["livelock"], "{}: {:#?}", entry.name, found.failures);
    }
}

/// Every crash point of three ranks (or of what the entry has instead) ends with all survivors
/// done, or with a report that names the victim and everybody who waits.
#[test]
fn a_crash_at_any_moment_is_explained() {
    let (mut diagnosed, mut victims) = (0, 0);
    for entry in registry::entries(SHIPPED) {
        let size = Size { ranks: 3.min(entry.most), ops: 1 };
        let options =
            Options { faults: MayFail::DEATH, states: FEW, reduce: true, ..Options::default() };
        let found = explored(&entry, size, &options);
        let name = &entry.name;
        if spins(name) {
            continue;
        }
        assert_eq!(classes(&found), [""; 0], "{name}: {:#?}", found.failures);
        for report in &found.diagnoses {
            assert!(report.starts_with("process ") && report.contains(" died\n"), "{report}");
            assert!(report.contains("  waits for it: process "), "{report}");
        }
        diagnosed += found.diagnosed;
        victims += found.diagnoses.len();
    }
    assert!(diagnosed > 300 && victims > 40, "{diagnosed} ends, {victims} victims");
}

/// Three ranks in a chain of waits: who waits for whoever waits for the victim is named as well.
#[test]
fn waiters_behind_waiters_are_named() {
    let (entry, planted) = registry::find("collectives/scan/linear", SHIPPED).unwrap();
    let subject = entry.subject(Size { ranks: 3, ops: 1 }, planted);
    let found = subject.explore(&Options { faults: MayFail::DEATH, ..Options::default() });
    let first = found.diagnoses.iter().find(|words| words.starts_with("process 0 died")).unwrap();
    assert!(first.contains("waits for it: process 1: MPI_Scan"), "{first}");
    assert!(first.contains("waits behind them: process 2: MPI_Scan"), "{first}");
}

/// Schedules one by one find nothing in sound protocols, whatever is drawn.
#[test]
fn drawn_orders_raise_no_false_alarm() {
    for entry in registry::entries(SHIPPED) {
        let size = Size { ranks: 3.min(entry.most), ops: 2 };
        for strategy in [Strategy::Walk, Strategy::Pct { depth: 3 }] {
            for crash in [false, true] {
                let faults = if crash { MayFail::DEATH } else { MayFail::default() };
                let options = Options { strategy, schedules: 30, faults, ..Options::default() };
                let found = explored(&entry, size, &options);
                // Test-and-set may be drawn against one rank for ever.
                if spins(&entry.name) && (crash || entry.name.starts_with("mutex/test_and_set")) {
                    continue;
                }
                assert_eq!(classes(&found), [""; 0], "{}: {:#?}", entry.name, found.failures);
                assert_eq!((found.unfinished, found.schedules), (0, 30), "{}", entry.name);
                assert_eq!(found.finals + found.diagnosed, 30, "{}", entry.name);
            }
        }
    }
}

#[test]
fn equal_options_find_the_same_and_seeds_draw_other_orders() {
    let (entry, _) = registry::find("matching/wildcard", SHIPPED).unwrap();
    let size = Size { ranks: 3, ops: 2 };
    let of = |seed| {
        let options =
            Options { strategy: Strategy::Walk, schedules: 50, seed, ..Options::default() };
        let found = explored(&entry, size, &options);
        (found.transitions, found.sometimes)
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn a_budget_that_does_not_suffice_is_said() {
    use mpisim::explore::Stopped;
    let (entry, _) = registry::find("rendezvous/rget", SHIPPED).unwrap();
    let size = Size { ranks: 3, ops: 2 };
    let few = explored(&entry, size, &Options { states: 1_000, ..Options::default() });
    assert_eq!(few.stopped, Some(Stopped::States));
    let small = explored(&entry, size, &Options { memory: 1 << 20, ..Options::default() });
    assert_eq!(small.stopped, Some(Stopped::Memory));
    assert!(small.memory < 2 << 20, "it stops soon after: {}", small.memory);
}

/// A replay ends in the very state, and a token of another job is another word.
#[test]
fn what_is_replayed_is_equal_to_the_last_bit() {
    for (name, strategy) in [("eager", Strategy::Exhaustive), ("polling/ring", Strategy::Walk)] {
        let (entry, planted) = registry::find(name, SHIPPED).unwrap();
        let size = Size { ranks: 2, ops: 1 };
        let subject = entry.subject(size, planted);
        // Any run will do: the first choice again and again.
        let choices: Vec<usize> = (0..)
            .map_while(|length| {
                let run = vec![0; length];
                subject.replay(&run, MayFail::default()).is_ok().then_some(length)
            })
            .last()
            .map(|length| vec![0; length])
            .unwrap();
        let once = subject.replay(&choices, MayFail::default()).unwrap();
        assert_eq!(once.class, None, "{strategy:?}");
        assert!(once.steps.len() > 5);
        let token = Token {
            subject: name.to_owned(),
            size: Some(size),
            faults: MayFail::default(),
            seed: 1,
            version: "0".to_owned(),
            first: subject.digest(),
            last: once.end,
            choices,
        };
        let read: Token = token.to_string().parse().unwrap();
        let again = entry.subject(size, planted).replay(&read.choices, read.faults).unwrap();
        assert_eq!(again, once);
        let other = entry.subject(Size { ranks: 2, ops: 2 }, planted);
        assert_ne!(other.digest(), token.first);
        let beyond = [&read.choices[..], &[0]].concat();
        assert_eq!(subject.replay(&beyond, MayFail::default()), Err((read.choices.len(), 0)));
    }
}
