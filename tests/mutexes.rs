//! Locks over one-sided communication: in every order, and timed.
#![allow(clippy::unwrap_used, reason = "a test stops at its first surprise")]

mod common;

use mpisim::protocols::library::Library;
use mpisim::protocols::rma::{Settings, Transport};
use mpisim::runtime::explore::{Budget, Survey, exhaustive};
use mpisim::runtime::memory::Payload;
use mpisim::runtime::timed::Ending;
use mpisim::runtime::untimed::World;
use mpisim::workloads::job::Job;
use mpisim::workloads::mutex::{Algorithm, Contender, Cycles, contenders};

fn asked(cycles: u32) -> Cycles {
    Cycles { cycles, inside: 0, outside: 0, marks: false, lingers: true, no_check: false }
}

fn job(algorithm: Algorithm, ranks: u32, asked: Cycles, rma: Settings) -> Job<Contender> {
    let mut job = common::job(common::ideal(&[]), contenders(algorithm, ranks, asked));
    job.payload = Payload::Real;
    job.rma = rma;
    job
}

fn explore(algorithm: Algorithm, ranks: u32, asked: Cycles, rma: Settings) -> Survey {
    let start: World<Library, Contender> = job(algorithm, ranks, asked, rma).untimed().unwrap();
    let survey = exhaustive(&start, Budget { states: 4_000_000, reduce: true });
    println!(
        "{} {ranks} x {}: {} states, {} transitions, {} final",
        algorithm.name(),
        asked.cycles,
        survey.states,
        survey.transitions,
        survey.finals
    );
    for (fault, way) in &survey.faults {
        println!("{fault}");
        way.iter().for_each(|choice| println!("    {choice}"));
    }
    for (violation, way) in &survey.violations {
        println!("{violation}");
        way.iter().for_each(|choice| println!("    {choice}"));
    }
    if let Some(way) = survey.way_to_doomed.as_ref() {
        println!("doomed:");
        way.iter().for_each(|choice| println!("    {choice}"));
    }
    survey
}

const RDMA: Settings = Settings {
    issue: mpisim::protocols::rma::Issue::Lazy,
    transport: Transport::Rdma,
    merge: false,
    merge_limit: 0,
    done_after_merge: true,
    rules: mpisim::mpi::rma::synchronisation::Rules::Document,
};

#[test]
fn every_order_of_two_ranks_ends_well() {
    for algorithm in Algorithm::ALL {
        for cycles in 1..=2 {
            assert!(explore(algorithm, 2, asked(cycles), Settings::default()).is_clean());
        }
    }
}

#[test]
fn every_order_over_rdma_ends_well() {
    for algorithm in [Algorithm::Mcs, Algorithm::McsCasFirst, Algorithm::TestAndSet] {
        let asked = Cycles { no_check: true, ..asked(1) };
        assert!(explore(algorithm, 2, asked, RDMA).is_clean());
    }
}

#[test]
fn timed_runs_are_orders_of_the_untimed_world() {
    for algorithm in Algorithm::ALL {
        for ranks in [1, 2, 3, 5, 8] {
            for rma in [Settings::default(), RDMA] {
                let rdma = rma.transport == Transport::Rdma;
                if rdma && algorithm == Algorithm::ByteVector {
                    continue;
                }
                let asked = Cycles { no_check: rdma, ..asked(20) };
                let mut job = job(algorithm, ranks, asked, rma);
                job.profile = common::model("broadwell-edr", &[]);
                let ran = common::cross(job).expect("the untimed world accepts the run");
                assert_eq!(ran.outcome.ending, Ending::Finished, "{algorithm:?} {ranks}");
                assert_eq!(ran.outcome.violations, [], "{algorithm:?} {ranks}");
                println!(
                    "{} {ranks} rdma {rdma}: {} packets, {} us",
                    algorithm.name(),
                    ran.outcome.packets,
                    ran.outcome.end.as_ps() / 1_000_000
                );
            }
        }
    }
}

/// Three ranks, every order.
#[test]
fn every_order_of_three_ranks_ends_well() {
    for (ranks, cycles) in [(3, 1)] {
        let began = states_per_second();
        let survey = explore(Algorithm::Mcs, ranks, asked(cycles), Settings::default());
        println!("{} states/s", began(survey.states));
        assert!(survey.is_clean());
    }
}

/// For a reader of the output only.
#[expect(clippy::disallowed_types, reason = "how fast the explorer is, not what it finds")]
fn states_per_second() -> impl Fn(usize) -> u128 {
    let began = std::time::Instant::now();
    move |states| states as u128 * 1000 / began.elapsed().as_millis().max(1)
}
