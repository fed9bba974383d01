//! Whole runs against arithmetic: if these do not hold, no figure means anything.

mod common;

use common::{ideal, job, run};
use mpisim::runtime::timed::Ending;
use mpisim::workloads::job::{Flow, ping_pong, windowed};

#[test]
fn probe() {
    let outcome = run(job(ideal(&[]), ping_pong(8, 1, 10)));
    assert_eq!(outcome.ending, Ending::Finished);
    assert_eq!(outcome.violations, []);
    println!("{:?} {:?} events {}", outcome.marks, outcome.end, outcome.events);
    let outcome = run(job(ideal(&[]), windowed(2, Flow::BothWays, 1 << 20, 4, 1, 3)));
    assert_eq!(outcome.ending, Ending::Finished);
    assert_eq!(outcome.violations, []);
    println!("{:?} {:?} events {}", outcome.marks, outcome.end, outcome.events);
}
