//! A list over one-sided communication: in every order, and timed.
#![allow(clippy::unwrap_used, reason = "a test stops at its first surprise")]

mod common;

use mpisim::protocols::library::Library;
use mpisim::protocols::rma::{Issue, Settings};
use mpisim::runtime::explore::{Budget, Survey, judged};
use mpisim::runtime::timed::{Ending, Outcome};
use mpisim::runtime::untimed::World;
use mpisim::workloads::job::Job;
use mpisim::workloads::linked_list::{
    Appender, Idiom, List, Probes, SERVED, START, appenders, disorder, first_disorder,
};

/// As in the document's measurement: no operation travels with its lock and unlock.
fn unmerged() -> Settings {
    Settings { merge: false, ..Settings::default() }
}

fn list(idiom: Idiom, elements: u32) -> List {
    List { idiom, elements, probes: Probes::One, counts: false }
}

fn job(ranks: u32, list: List, rma: Settings) -> Job<Appender> {
    let mut job = common::job(common::ideal(&[]), appenders(ranks, list));
    job.rma = rma;
    job
}

fn explore(ranks: u32, list: List, rma: Settings) -> Survey {
    let start: World<Library, Appender> = job(ranks, list, rma).untimed().unwrap();
    let budget = Budget { states: 3_000_000, reduce: true };
    let survey = judged(&start, budget, |world| disorder(world.memories(), ranks, list.elements));
    println!(
        "{} {ranks} x {}: {} states, {} transitions, {} final",
        list.idiom.name(),
        list.elements,
        survey.states,
        survey.transitions,
        survey.finals
    );
    for (fault, way) in &survey.faults {
        println!("{fault}");
        way.iter().for_each(|choice| println!("    {choice}"));
    }
    for (violation, _) in &survey.violations {
        println!("{violation}");
    }
    survey
}

/// claim: rma-list-order
#[test]
fn every_order_of_two_ranks_makes_the_same_list() {
    for idiom in Idiom::ALL {
        for rma in [unmerged(), Settings::default()] {
            assert!(explore(2, list(idiom, 4), rma).is_clean(), "{idiom:?}");
        }
    }
}

#[test]
fn every_order_of_eager_epochs_makes_the_same_list() {
    for idiom in Idiom::ALL {
        let rma = Settings { issue: Issue::Eager, ..unmerged() };
        assert!(explore(2, list(idiom, 3), rma).is_clean(), "{idiom:?}");
    }
}

#[test]
fn every_order_of_three_ranks_makes_the_same_list() {
    for idiom in Idiom::ALL {
        assert!(explore(3, list(idiom, 6), unmerged()).is_clean(), "{idiom:?}");
    }
}
