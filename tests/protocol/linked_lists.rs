//! A list over one-sided communication: in every order, and timed.

#![allow(clippy::print_stdout, reason = "the sizes of explorations are of interest")]

use crate::common;
use mpisim::protocols::library::Library;
use mpisim::protocols::rma::{Issue, Settings};
use mpisim::runtime::explore::{Budget, Survey, judged};
use mpisim::runtime::timed::Ending;
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
    job.mpi.rma = rma;
    job
}

fn explore(ranks: u32, list: List, rma: Settings) -> Survey {
    let start: World<Library, Appender> = job(ranks, list, rma).untimed().unwrap();
    let budget = Budget { states: 3_000_000, reduce: true };
    let survey = judged(&start, budget, |world| disorder(world.memories(), ranks, list.elements));
    common::tell(&format!("{} {ranks} x {}", list.idiom.name(), list.elements), &survey);
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

#[test]
fn timed_runs_are_orders_of_the_untimed_world() {
    for idiom in Idiom::ALL {
        for ranks in [1, 2, 3, 5, 8] {
            for probes in [Probes::One, Probes::Doubling] {
                let list = List { probes, counts: true, ..list(idiom, 23) };
                let mut job = job(ranks, list, unmerged());
                job.profile = common::model("eureka-mx10g", &[]);
                let ran = common::cross(job).expect("the untimed world accepts the run");
                assert_eq!(ran.outcome.ending, Ending::Finished, "{idiom:?} {ranks}");
                assert_eq!(ran.outcome.violations, [], "{idiom:?} {ranks}");
                assert_eq!(first_disorder(&ran.memories, ranks, 23), None, "{idiom:?} {ranks}");
            }
        }
    }
}

/// Packets of two ranks on two nodes: nobody looks at the other's element before it appends to it, so
/// that every packet belongs to an append.
///
/// claim: rma-list-idiom-excl
/// claim: rma-list-idiom-shr
/// claim: rma-list-idiom-all
#[test]
fn an_append_takes_as_many_packets_as_its_epoch() {
    for (idiom, each, once) in [
        // Lock, grant, put with unlock.
        (Idiom::Exclusive, 3, 0),
        // Lock, grant, accumulate with unlock, done.
        (Idiom::Shared, 4, 0),
        // Accumulate with flush, done; lock and grant where a rank touches the other first.
        (Idiom::LockAll, 2, 2 * 2),
    ] {
        for elements in [2, 10, 101] {
            assert_eq!(
                packets(2, idiom, elements),
                each * (elements - 1) + once.min(2 * (elements - 1))
            );
        }
    }
}

/// Packets of the accesses of all ranks: without those of the barrier that ends the list.
fn packets(ranks: u32, idiom: Idiom, elements: u32) -> u32 {
    let mut job = job(ranks, list(idiom, elements), unmerged());
    job.nodes = ranks;
    job.profile = common::model("eureka-mx10g", &[]);
    let outcome = common::finished(common::run(job));
    let of = |number| {
        let marks = outcome.marks.iter().filter(move |mark| mark.number == number);
        marks.map(|mark| mark.account.packets).sum::<u64>()
    };
    let barrier = ranks * ranks.next_power_of_two().ilog2();
    u32::try_from(of(SERVED) - of(START)).unwrap() - barrier
}

/// The same check finds what it is there for.
#[test]
fn a_list_in_the_wrong_order_or_of_the_wrong_length_is_found() {
    let ran = job(3, list(Idiom::LockAll, 7), unmerged()).run().unwrap();
    let found = |size, elements| first_disorder(&ran.memories, size, elements);
    assert_eq!(found(3, 7), None);
    assert_eq!(found(3, 6).as_deref(), Some("the list goes on after element 5 of 6"));
    assert_eq!(found(3, 8).as_deref(), Some("the list ends after element 6 of 8"));
    let words = "element 3 lies at rank 0 and says that it is of rank 0, instead of 3";
    assert_eq!(found(4, 7).as_deref(), Some(words));
}

/// claim: rma-list-null
#[test]
fn who_finds_no_successor_looks_again() {
    let list = List { counts: true, ..list(Idiom::LockAll, 9) };
    let ran = job(3, list, unmerged()).run().unwrap();
    common::finished(ran.outcome);
    let looks: u64 = ran.programs.iter().map(Appender::looks).sum();
    // From its own element to that of its left neighbour a rank goes two steps, for each of its
    // elements but the first, and the elements before its first; each look more found nothing.
    let found = (9 - 3) * 2 + 1;
    assert!(looks > found, "{looks}");
}
