//! A window that becomes twice as large: what it costs, in closed form, and in every order.

#![allow(clippy::print_stdout, reason = "the sizes of explorations are of interest")]

use crate::common;
use mpisim::protocols::contract::{Next, Process, Region, Space};
use mpisim::protocols::library::Library;
use mpisim::runtime::explore::{Budget, exhaustive};
use mpisim::runtime::timed::Ending;
use mpisim::runtime::untimed::World;
use mpisim::workloads::job::Job;
use mpisim::workloads::window_growth::{By, END, Grower, Growth, START, growers};

fn job(ranks: u32, by: By, size: u64, rounds: u32, changes: &[(&str, &str)]) -> Job<Grower> {
    let growth = Growth { by, size, rounds };
    common::job(common::ideal(changes), growers(ranks, growth))
}

/// From the start to the end of the only round, of one process.
fn grown(job: Job<Grower>) -> (u64, u64) {
    let outcome = common::finished(common::run(job));
    let of = |number| {
        outcome.marks.iter().find(|mark| mark.process == Process(0) && mark.number == number)
    };
    let (start, end): (_, _) = (of(START).unwrap(), of(END).unwrap());
    (end.at.since(start.at).as_ps(), end.account.packets - start.account.packets)
}

/// claim: rma-sem-dyn-attach
#[test]
fn attaching_tells_nobody_and_takes_one_entry_into_the_library() {
    for ranks in [2, 8, 32] {
        for size in [1_000, 16_000_000] {
            let one = [("mpi.step_query", "75 ns"), ("cpu.cores_per_socket", "16")];
            let (took, packets) = grown(job(ranks, By::Attach, size, 1, &one));
            assert_eq!((took, packets), (75_000, 0), "{ranks} ranks, {size} B");
        }
    }
}

/// Picoseconds of a byte that a core of the ideal machine copies.
const PER_BYTE: u64 = 100;

#[test]
fn a_copy_outside_the_library_takes_what_the_memory_model_says() {
    for spaces in [[Space::User(0), Space::User(1)], [Space::Window(0), Space::Window(1)]] {
        for bytes in [1, 4_096, 1_000_000, 64_000_000] {
            let [from, to] = spaces.map(|space| Region::new(space, bytes));
            let steps = || vec![Next::Mark(0), Next::Copy(from, to), Next::Mark(1)];
            let outcome = common::play(common::ideal(&[]), vec![steps(), Vec::new()]);
            let took = common::at(&outcome, 0, 1) - common::at(&outcome, 0, 0);
            assert_eq!(took, bytes * PER_BYTE, "{bytes} B");
        }
    }
}

/// The copy is all that depends on the size.
#[test]
fn recreating_copies_the_old_bytes_and_tells_the_others_as_much_whatever_the_size() {
    for ranks in [2, 3, 8] {
        let of = |size| grown(job(ranks, By::Recreate, size, 1, &[]));
        let (small, large) = (of(1_000), of(1_000_000));
        assert_eq!(large.0 - small.0, (1_000_000 - 1_000) * PER_BYTE, "{ranks} ranks");
        assert_eq!(large.1, small.1);
        // Gather and barrier of the new window, scatter and barrier of the old one.
        let rounds = u64::from(u32::next_power_of_two(ranks).ilog2());
        assert_eq!(small.1, 4 * rounds, "{ranks} ranks");
    }
}

#[test]
fn every_order_of_growing_ends_well() {
    for by in By::ALL {
        for ranks in 1..=3 {
            let start: World<Library, Grower> = job(ranks, by, 8, 1, &[]).untimed().unwrap();
            let survey = exhaustive(&start, Budget { states: 2_000_000, reduce: true });
            println!("{by:?} {ranks}: {} states, {} final", survey.states, survey.finals);
            assert!(survey.is_clean(), "{by:?} {ranks}");
        }
    }
}

#[test]
fn timed_growing_is_an_order_of_the_untimed_world() {
    for by in By::ALL {
        for ranks in [1, 2, 3, 5, 8] {
            for size in [8, 100_000] {
                let mut job = job(ranks, by, size, 2, &[]);
                job.profile = common::model("eureka-mx10g", &[]);
                let ran = common::cross(job).expect("the untimed world accepts the run");
                assert_eq!(ran.outcome.ending, Ending::Finished);
                assert_eq!(ran.outcome.violations, []);
            }
        }
    }
}
