//! Locks over one-sided communication: in every order, and timed.
#![allow(clippy::unwrap_used, reason = "a test stops at its first surprise")]

mod common;

use mpisim::protocols::contract::{Process, Thread};
use mpisim::protocols::library::Library;
use mpisim::protocols::rma::{Issue, Settings, Transport};
use mpisim::runtime::explore::{Budget, judged};
use mpisim::runtime::memory::Payload;
use mpisim::runtime::monitors::Violation;
use mpisim::runtime::timed::Ending;
use mpisim::runtime::untimed::World;
use mpisim::workloads::mutex::{Algorithm, Contender, Cycles, contenders};

fn cycles(cycles: u32) -> Cycles {
    Cycles { cycles, inside: 0, outside: 0, marks: false, no_check: false }
}

fn world(algorithm: Algorithm, ranks: u32, asked: Cycles, rma: Settings) -> World<Library, Contender> {
    let mut job = common::job(common::ideal(&[]), contenders(algorithm, ranks, asked));
    job.payload = Payload::Real;
    job.rma = rma;
    job.untimed().unwrap()
}

#[test]
fn two_ranks_one_cycle_in_every_order() {
    for algorithm in [Algorithm::Mcs, Algorithm::McsCasFirst, Algorithm::ByteVector, Algorithm::TestAndSet] {
        let start = world(algorithm, 2, cycles(1), Settings::default());
        let survey = judged(&start, Budget::default(), |_| None::<Violation>);
        println!("{algorithm:?}: {} states {} transitions finals {} dead {} doomed {}", survey.states, survey.transitions, survey.finals, survey.dead, survey.doomed);
        for (fault, way) in &survey.faults { println!("fault {fault}"); for c in way { println!("   {c}"); } }
        for (v, way) in &survey.violations { println!("violation {v}"); for c in way { println!("   {c}"); } }
        assert!(survey.is_clean());
    }
    let _ = (Process(0), Thread(0), Issue::Lazy, Transport::Messages, Ending::Finished);
}
