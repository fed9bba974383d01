//! Planted bugs of the reliable connection: every order of a small wire finds each by its law, and a
//! harmless change breaks none.
//!
//! `cargo test --features mutants --test mutants reliable -- --nocapture` prints the table.

#![allow(clippy::print_stdout, reason = "the table is of interest")]

use mpisim::experiment::plan::{Request, load};
use mpisim::experiment::run::job;
use mpisim::explore::{MayFail, Options, Start, Subject};
use mpisim::hardware::reliable::{Flaw, Settings};
use mpisim::runtime::explore::lossy::every_order;
use mpisim::runtime::faults::Allowed;
use mpisim::runtime::untimed::Between;
use mpisim::shipped;

/// The worlds in which each is looked for: one whose wire does all it may; one that wraps around its
/// numbers, where the wire keeps its order, for what stays on it while numbers wrap around would be
/// taken for new; one with few retries.
fn worlds(flaw: Option<Flaw>) -> [(Settings, u64, Allowed); 3] {
    let small = Settings { psn_bits: 2, window: 2, flaw, ..Settings::new(4) };
    let wide = Settings { psn_bits: 3, window: 3, flaw, ..Settings::new(4) };
    let one_each = Allowed { losses: 1, repeats: 1, overtakings: 1 };
    let many = Allowed { losses: 4, repeats: 0, overtakings: 0 };
    let few = Settings { retries: 1, ..wide };
    [(wide, 4, one_each), (small, 6, many), (few, 3, Allowed { losses: 1, ..many })]
}

/// The law that a flaw breaks, and in how many steps.
fn found(flaw: Option<Flaw>) -> Option<(&'static str, usize)> {
    let found = worlds(flaw).into_iter().filter_map(|(settings, packets, allowed)| {
        let (broken, way) = every_order(settings, packets, allowed).broken?;
        Some((broken.law(), way.len()))
    });
    found.min_by_key(|(_, steps)| *steps)
}

#[test]
fn every_flaw_is_found_by_its_law_and_no_harmless_one_is() {
    assert_eq!(found(None), None);
    for flaw in Flaw::ALL {
        let found = found(Some(flaw));
        println!("{flaw:?}: {found:?}");
        assert_eq!(found.is_none(), flaw.is_harmless(), "{flaw:?}");
        let expected = match flaw {
            Flaw::TwiceTaken | Flaw::GapTaken => "once and in order",
            Flaw::AckOfSeen | Flaw::WideWindow => "acknowledged is taken",
            Flaw::RepeatIgnored | Flaw::NextAgain => "no early failure",
            Flaw::TimerStopped => "no dead end",
            Flaw::OneAgain => continue,
        };
        assert_eq!(found.map(|(law, _)| law), Some(expected), "{flaw:?}");
    }
}

/// Rank 0 sends four small messages to rank 1, which receives them by tag: below, a connection.
const FOUR: &str = r#"{ "schema": 1, "title": "t", "source": "s", "machine": "ideal", "nodes": 2,
    "workload": { "kind": "program", "ranks": [
        [ { "op": "send", "to": 1, "tag": 1, "size": "8 B" }, { "op": "send", "to": 1, "tag": 2, "size": "8 B" },
          { "op": "send", "to": 1, "tag": 3, "size": "8 B" }, { "op": "send", "to": 1, "tag": 4, "size": "8 B" } ],
        [ { "op": "recv", "src": 0, "tag": 1, "max": "8 B" }, { "op": "recv", "src": 0, "tag": 2, "max": "8 B" },
          { "op": "recv", "src": 0, "tag": 3, "max": "8 B" }, { "op": "recv", "src": 0, "tag": 4, "max": "8 B" } ]
    ] } }"#;

/// How the messages fail with a planted bug below them, and how many states that takes.
fn found_by_messages(flaw: Option<Flaw>) -> (Vec<String>, usize) {
    let (scenario, text) = ("four.json".to_owned(), Some(FOUR.to_owned()));
    let (plan, said) =
        load(&Request { scenario, text, library: shipped::library(), ..Request::default() });
    let plan = plan.unwrap_or_else(|| panic!("{}", said.human()));
    let (mut classes, mut states) = (Vec::new(), 0);
    for (settings, packets) in [
        (Settings { flaw, ..Settings::new(2) }, Allowed { losses: 1, repeats: 1, overtakings: 0 }),
        (
            Settings { psn_bits: 2, window: 2, flaw, ..Settings::new(4) },
            Allowed { losses: 2, repeats: 0, overtakings: 0 },
        ),
    ] {
        let world = job::build(&plan.points[0]).untimed().unwrap();
        let start = Start::new(world).with_wires(settings, Between::All);
        let faults = MayFail { packets, ..MayFail::default() };
        let found = start.explore(&Options { faults, states: 200_000, ..Options::default() });
        assert!(found.stopped.is_none(), "{flaw:?}: {} states", found.states);
        states += found.states;
        classes.extend(found.failures.into_iter().map(|failed| failed.class));
    }
    classes.sort();
    classes.dedup();
    (classes, states)
}

#[test]
fn messages_show_every_flaw_below_them_and_no_harmless_one() {
    for flaw in [None].into_iter().chain(Flaw::ALL.map(Some)) {
        let (classes, states) = found_by_messages(flaw);
        println!("{flaw:?}: {classes:?} in {states} states");
        let expected: &[&str] = match flaw {
            None | Some(Flaw::OneAgain) => &[],
            Some(Flaw::TwiceTaken) => &["law M4"],
            // A message is missing, and its receiver waits for ever.
            Some(Flaw::GapTaken | Flaw::WideWindow | Flaw::TimerStopped) => &["deadlock"],
            Some(Flaw::AckOfSeen) => &["deadlock", "law Q1"],
            Some(Flaw::RepeatIgnored | Flaw::NextAgain) => &["law Q1"],
        };
        assert_eq!(classes, expected, "{flaw:?}");
    }
}
