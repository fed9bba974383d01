//! Planted bugs in the named protocols: found by the explorer, by the shortest way, with a token
//! that replays them; and not lost by what the explorer leaves out.
//!
//! `cargo test --features mutants --test mutants explorer -- --nocapture` prints what finds which.

use mpisim::explore::registry;
use mpisim::explore::{Explored, Failed, MayFail, Options, Size, Strategy, Token, smallest};
use mpisim::protocols::mutant::Mutant;
use mpisim::shipped::SHIPPED;

fn explored(name: &str, size: Size, options: &Options) -> Explored {
    let (entry, planted) = registry::find(name, SHIPPED).unwrap();
    entry.subject(size, planted).explore(options)
}

fn classes(found: &Explored) -> Vec<&str> {
    let mut classes: Vec<&str> = found.failures.iter().map(|one| one.class.as_str()).collect();
    classes.sort_unstable();
    classes
}

fn failure<'a>(found: &'a Explored, class: &str) -> &'a Failed {
    let of_class = found.failures.iter().find(|one| one.class == class);
    of_class.unwrap_or_else(|| panic!("no {class}: {:?}", classes(found)))
}

/// Protocol, mutant, what must find it, and in how many steps.
const FOUND: [(&str, &str, u32, u32); 4] = [
    ("matching/wildcard+tail", "law M3", 3, 2),
    ("eager+resends", "law M4", 2, 2),
    ("threads/one-queue+unlocks", "deadlock", 2, 1),
    ("threads/one-queue+unlocks", "law M1", 2, 2),
];

#[test]
fn planted_bugs_are_found_by_the_shortest_way_and_replayed() {
    for (name, class, ranks, ops) in FOUND {
        let size = Size { ranks, ops };
        let found = explored(name, size, &Options::default());
        let failed = failure(&found, class);
        // Nothing fails so in fewer steps: the states up to one step before hold no failure.
        let (entry, planted) = registry::find(name, SHIPPED).unwrap();
        let subject = entry.subject(size, planted);
        let replayed = subject.replay(&failed.choices, MayFail::default()).unwrap();
        assert_eq!((replayed.class.as_deref(), replayed.end), (Some(class), failed.end), "{name}");
        assert_eq!((&replayed.steps, &replayed.explanation), (&failed.steps, &failed.explanation));
        for shorter in 0..failed.choices.len() {
            let part = subject.replay(&failed.choices[..shorter], MayFail::default()).unwrap();
            assert_ne!(part.class.as_deref(), Some(class), "{name}: {shorter} steps suffice");
        }
        assert!(failed.forced.as_ref().unwrap().len() <= 10, "{name}: {:?}", failed.forced);
        let sound = name.split('+').next().unwrap();
        assert_eq!(classes(&explored(sound, size, &Options::default())), [""; 0], "{sound}");
    }
}

#[test]
fn a_random_walk_finds_them_no_shorter_and_shrinks_them() {
    for (name, class, ranks, ops) in FOUND {
        let size = Size { ranks, ops };
        let shortest = explored(name, size, &Options::default());
        let shortest = failure(&shortest, class).steps.len();
        for strategy in [Strategy::Walk, Strategy::Pct { depth: 3 }] {
            let drawn = (0..40).find_map(|seed| {
                let options = Options { strategy, seed, schedules: 500, ..Options::default() };
                let found = explored(name, size, &options);
                found.failures.into_iter().find(|one| one.class == class)
            });
            let drawn = drawn.unwrap_or_else(|| panic!("{name}: {strategy:?} never finds {class}"));
            assert!(drawn.steps.len() >= shortest, "{name}: {} < {shortest}", drawn.steps.len());
            assert!(drawn.forced.unwrap().len() <= 10, "{name}");
        }
    }
}

#[test]
fn a_failure_is_shown_in_the_smallest_job_that_has_it() {
    let name = "matching/wildcard+tail";
    let (entry, planted) = registry::find(name, SHIPPED).unwrap();
    let size = Size { ranks: 4, ops: 2 };
    let options = Options { states: 100_000, ..Options::default() };
    let mut found = entry.subject(size, planted).explore(&options);
    let large = failure(&found, "law M3").steps.len();
    smallest(&mut found, size, entry.least, &options, |size| Some(entry.subject(size, planted)));
    let failed = failure(&found, "law M3");
    assert_eq!(failed.size, Some(Size { ranks: 3, ops: 2 }), "two senders are enough");
    assert!(failed.steps.len() <= large);
    let token = Token {
        subject: name.to_owned(),
        size: failed.size,
        faults: MayFail::default(),
        seed: 1,
        version: String::new(),
        first: 0,
        last: failed.end,
        choices: failed.choices.clone(),
    };
    let read: Token = token.to_string().parse().unwrap();
    let (entry, planted) = registry::find(&read.subject, SHIPPED).unwrap();
    let replayed = entry
        .subject(read.size.unwrap(), planted)
        .replay(&read.choices, MayFail::default())
        .unwrap();
    assert_eq!((replayed.class.as_deref(), replayed.end), (Some("law M3"), read.last));
}

/// The rule of partial order over every mutant and every protocol of point-to-point messages, and
/// the smallest mutex: equal verdicts, equal numbers of final states.
#[test]
fn the_rule_changes_no_verdict_of_any_mutant() {
    let (failing, clean) = compare_with_the_rule(|name| {
        let large = [
            "collectives/",
            "polling/",
            "mutex/",
            "cooperation/",
            "windows/",
            // Its bugs are tried below, inside a node.
            "rendezvous/rtr",
            // Their orders take minutes; `mpisim explore` has them, `--reduce` included.
            "gpu/",
            "progress/",
        ];
        name == "mutex/byte_vector" || !large.iter().any(|family| name.starts_with(family))
    });
    assert!(failing >= 5 && clean > 100, "{failing} fail, {clean} do not");
}

/// No bug hides behind states that differ only in what messages are called.
#[test]
fn names_of_messages_hide_no_mutant() {
    let families = ["eager", "matching/", "threads/", "rendezvous/rget"];
    let (size, mut failing) = (Size { ranks: 2, ops: 2 }, 0);
    let asked = |name: &str| families.iter().any(|family| name.starts_with(family));
    for entry in registry::entries(SHIPPED).into_iter().filter(|entry| asked(&entry.name)) {
        for mutant in Mutant::ALL {
            let name = format!("{}+{}", entry.name, mutant.id());
            let options = Options { by_name: true, ..Options::default() };
            let (named, nameless) =
                (explored(&name, size, &options), explored(&name, size, &Options::default()));
            assert_eq!(classes(&named), classes(&nameless), "{name}");
            failing += u32::from(!classes(&named).is_empty());
        }
    }
    assert!(failing >= 5, "{failing} fail");
}

/// Whoever leaves a collective early is found though its call is the only thing that others do.
#[test]
fn the_rule_does_not_hide_who_leaves_a_barrier_early() {
    let name = "collectives/barrier/dissemination+lets-one-out";
    let size = Size { ranks: 3, ops: 1 };
    let full = explored(name, size, &Options::default());
    let alone = explored(name, size, &Options { reduce: true, ..Options::default() });
    for found in [&full, &alone] {
        assert!(classes(found).contains(&"law C3"), "{:?}", classes(found));
    }
}

/// Large messages inside a node, with the bugs that are planted there: a short part of the long run
/// below.
#[test]
fn the_rule_changes_no_verdict_of_a_bug_of_two_neighbours() {
    let bugs = [
        Mutant::CoopOverlap,
        Mutant::CoopOnCopy,
        Mutant::SenderChooses,
        Mutant::LoadKept,
        Mutant::OffloadUncounted,
        Mutant::ChunkLost,
        Mutant::OfferCrosses,
        Mutant::OffersBehind,
        Mutant::OffersWildcard,
    ];
    let (size, mut failing) = (Size { ranks: 2, ops: 1 }, 0);
    let near =
        registry::entries(SHIPPED).into_iter().filter(|one| one.name.starts_with("cooperation/"));
    for entry in near {
        for bug in bugs {
            let name = format!("{}+{}", entry.name, bug.id());
            let full = explored(&name, size, &Options::default());
            let less = explored(&name, size, &Options { reduce: true, ..Options::default() });
            assert_eq!(classes(&full), classes(&less), "{name}");
            failing += u32::from(!classes(&full).is_empty());
        }
    }
    assert!(failing >= 10, "{failing} fail");
}

/// The same for large messages inside a node: long.
#[test]
#[ignore = "long: see CONTRIBUTING.md"]
fn the_rule_changes_no_verdict_of_a_mutant_of_cooperation() {
    let (failing, clean) = compare_with_the_rule(|name| {
        name.starts_with("cooperation/") || name.starts_with("windows/")
    });
    assert!(failing >= 5 && clean > 100, "{failing} fail, {clean} do not");
}

/// The same for the other mutexes, over messages and over RDMA: a quarter of an hour.
#[test]
#[ignore = "long: see CONTRIBUTING.md"]
fn the_rule_changes_no_verdict_of_a_mutant_under_a_mutex() {
    let (failing, clean) = compare_with_the_rule(|name| name.starts_with("mutex/"));
    assert!(failing >= 5 && clean > 100, "{failing} fail, {clean} do not");
}

/// Compares both searches over every mutant of the protocols asked for; answers how many fail, and
/// how many do not.
#[expect(clippy::print_stdout, reason = "a table for a reader, with --nocapture")]
fn compare_with_the_rule(asked: impl Fn(&str) -> bool) -> (u32, u32) {
    let (mut failing, mut clean) = (0, 0);
    for entry in registry::entries(SHIPPED).into_iter().filter(|entry| asked(&entry.name)) {
        for mutant in Mutant::ALL {
            for size in [Size { ranks: 2, ops: 2 }, Size { ranks: 3, ops: 1 }] {
                let name = format!("{}+{}", entry.name, mutant.id());
                let full = explored(&name, size, &Options::default());
                let options = Options { reduce: true, ..Options::default() };
                let alone = explored(&name, size, &options);
                assert_eq!(classes(&full), classes(&alone), "{name} {size:?}");
                // States beyond a broken law are not visited: which ends are left may differ.
                if full.failures.is_empty() {
                    assert_eq!(full.finals, alone.finals, "{name} {size:?}");
                    clean += 1;
                } else {
                    assert!(!mutant.law().is_empty(), "{name} is harmless: {:?}", classes(&full));
                    println!("{name} {size:?}: {}", classes(&full).join(", "));
                    failing += 1;
                }
                assert!(alone.states <= full.states, "{name} {size:?}");
            }
        }
    }
    (failing, clean)
}
