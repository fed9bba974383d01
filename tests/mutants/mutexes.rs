//! Planted bugs of the MCS mutex, each found by a named check in the smallest configuration that shows
//! it, over every order of events; two harmless changes are found by none.
//!
//! `cargo test --features mutants --test mutants mutexes -- --nocapture` prints the table.

use crate::common;
use mpisim::protocols::library::Library;
use mpisim::runtime::explore::{Rule, Scope, Survey, search};
use mpisim::runtime::untimed::World;
use mpisim::runtime::untimed::states::Known;
use mpisim::workloads::mutex::{Algorithm, Contender, Flaw, contenders};

fn survey(flaw: Flaw, cycles: u32) -> Survey {
    survey_of(flaw, 2, cycles, Rule::Returns)
}

/// What states and laws of locks tell: accesses are not watched.
fn survey_of(flaw: Flaw, ranks: u32, cycles: u32, rule: Rule) -> Survey {
    explored((flaw, false), ranks, cycles, rule)
}

fn explored((flaw, watch): (Flaw, bool), ranks: u32, cycles: u32, rule: Rule) -> Survey {
    let programs = contenders(Algorithm::Mcs, ranks, common::lingering(cycles));
    let programs: Vec<Contender> = programs.into_iter().map(|one| one.with(flaw)).collect();
    let mut job = common::job(common::ideal(&[]), programs);
    job.mpi.rma.watch = watch;
    let start: World<Library, Contender> = job.untimed().unwrap();
    let scope = Scope { states: 1_000_000, rule, ..Scope::default() };
    search(&start, scope, Known::ByPlace, |_| None)
}

/// What was found: broken laws, a state without a choice, or one that leads to no end.
fn found(survey: &Survey) -> Vec<&'static str> {
    let laws = survey.violations.iter().map(|(broken, _)| broken.id);
    let stuck = (survey.dead > 0).then_some("deadlock");
    let doomed = (survey.doomed > 0).then_some("doomed");
    let mut found: Vec<&str> = laws.chain(stuck).chain(doomed).collect();
    found.sort_unstable();
    found
}

/// Each with the check that must find it, of two ranks with so many cycles.
const FOUND: [(Flaw, u32, &str); 7] = [
    (Flaw::LeavesSuccessor, 1, "deadlock"),
    (Flaw::SwapsInTwo, 1, "X1"),
    (Flaw::ExpectsNobody, 1, "doomed"),
    (Flaw::ForgetsLate, 1, "deadlock"),
    (Flaw::NeverResets, 2, "S4"),
    (Flaw::ResetsLate, 1, "doomed"),
    (Flaw::EntersUnasked, 1, "X2"),
];

#[test]
#[expect(clippy::print_stdout, reason = "a table for a reader, with --nocapture")]
fn every_bug_is_found_by_its_check() {
    for (flaw, cycles, check) in FOUND {
        let survey = survey(flaw, cycles);
        let found = found(&survey);
        println!("| {flaw:?} | 2 x {cycles} | {check} | {found:?} | {} states |", survey.states);
        assert!(found.contains(&check), "{flaw:?} lives: {found:?}, {survey:#?}");
        assert!(survey.complete);
    }
}

/// One cycle never reads what another one left.
#[test]
fn a_next_that_is_never_reset_needs_two_cycles() {
    assert_eq!(found(&survey(Flaw::NeverResets, 1)), [""; 0]);
}

/// A reset after the swap stops nobody: ranks poll for ever, and only the graph of states tells.
#[test]
fn a_late_reset_is_a_livelock() {
    let survey = survey(Flaw::ResetsLate, 1);
    assert_eq!(found(&survey), ["doomed"]);
}

/// It is also an access beside another one that the table forbids: R2 names both, long before.
#[test]
fn a_late_reset_meets_the_link_of_the_next_in_line() {
    let survey = explored((Flaw::ResetsLate, true), 2, 1, Rule::Returns);
    assert_eq!(found(&survey), ["R2"]);
}

#[test]
fn harmless_changes_are_found_by_nothing() {
    for flaw in Flaw::ALL {
        if FOUND.iter().any(|(bug, ..)| *bug == flaw) {
            continue;
        }
        for cycles in [1, 2] {
            let survey = survey(flaw, cycles);
            assert!(survey.is_clean(), "{flaw:?}: {survey:#?}");
        }
    }
    assert_eq!(Flaw::ALL.len(), FOUND.len() + 2);
}

/// Every bug is found, and every harmless change is not, whatever is left out.
#[test]
#[expect(clippy::print_stdout, reason = "a table for a reader, with --nocapture")]
fn the_rules_of_partial_order_change_no_verdict() {
    for flaw in Flaw::ALL {
        for (ranks, cycles) in [(2, 1), (2, 2)] {
            let all = survey_of(flaw, ranks, cycles, Rule::Nothing);
            assert!(all.complete, "{flaw:?} {ranks} x {cycles}");
            for rule in [Rule::Returns, Rule::Alone] {
                let some = survey_of(flaw, ranks, cycles, rule);
                println!(
                    "| {flaw:?} | {ranks} x {cycles} | {rule:?} | {:?} | {} of {} states |",
                    found(&some),
                    some.states,
                    all.states
                );
                assert_eq!(found(&some), found(&all), "{flaw:?} {ranks} x {cycles} {rule:?}");
                assert!(some.states < all.states, "{flaw:?} {ranks} x {cycles} {rule:?}");
                if all.is_clean() {
                    assert_eq!(some.finals, all.finals, "{flaw:?} {ranks} x {cycles} {rule:?}");
                }
            }
        }
    }
}
