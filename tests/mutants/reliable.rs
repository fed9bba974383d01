//! Planted bugs of the reliable connection: every order of a small wire finds each by its law, and a
//! harmless change breaks none.
//!
//! `cargo test --features mutants --test mutants reliable -- --nocapture` prints the table.

#![allow(clippy::print_stdout, reason = "the table is of interest")]

use mpisim::hardware::reliable::{Flaw, Settings};
use mpisim::runtime::explore::lossy::{Allowed, every_order};

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
