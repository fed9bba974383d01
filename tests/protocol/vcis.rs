//! Communicators over VCIs: what a VCI has for itself, and what is promised across them.

use std::num::NonZero;

use crate::common::{ideal, job, model};
use crate::small::{Small, WORLD, all, isend, recv, send, wait};
use mpisim::hardware::profile::Profile;
use mpisim::mpi::communicator::Communicators;
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::Comm;
use mpisim::protocols::library::Vcis;
use mpisim::protocols::rendezvous::Protocol;
use mpisim::runtime::account::Part;
use mpisim::runtime::explore::{self, Budget};
use mpisim::runtime::timed::{Ending, Outcome};
use mpisim::units::TimeDelta;
use mpisim::workloads::job::{AnyProgram, duplicate};
use mpisim::workloads::windowed::{Direction, Share, Windowed};

/// So many VCIs; one pass of `passes` is over all of them.
fn vcis(count: u16, passes: u32) -> Vcis {
    Vcis { count, sweep: NonZero::new(passes) }
}

/// Two processes of so many threads, each with a communicator of its own, exchange windows.
fn threads(profile: Profile, threads: u16, vcis: Vcis) -> Outcome {
    let program = |process: u32, thread: u16| {
        let direction = if process == 0 { Direction::Sends } else { Direction::Receives };
        let rank = Windowed::new(Rank(1 - process), direction, 8, 16, 0, 4);
        AnyProgram::Windowed(rank.of_threads(threads, Share::on(thread, duplicate(thread))))
    };
    let programs =
        (0..2).flat_map(|process| (0..threads).map(move |thread| program(process, thread)));
    let mut job = job(profile, programs.collect());
    (job.threads, job.duplicates, job.mpi.vcis) = (threads, threads, vcis);
    let outcome = job.run().unwrap().outcome;
    assert_eq!(outcome.ending, Ending::Finished);
    assert_eq!(outcome.violations, []);
    outcome
}

/// Waits for locks of all threads, and the time in which they had theirs.
fn locked(outcome: &Outcome) -> (TimeDelta, TimeDelta) {
    let sum = |of: &dyn Fn(&mpisim::runtime::account::Account) -> TimeDelta| {
        outcome.accounts.iter().map(of).fold(TimeDelta::ZERO, |sum, one| sum + one)
    };
    (sum(&|account| account.of(Part::Lock)), sum(&|account| account.held))
}

/// On a machine whose locks are free to take, only other threads make one wait. None makes a pass over all VCIs.
#[test]
fn threads_whose_communicators_have_vcis_of_their_own_wait_for_no_lock() {
    let profile = || {
        ideal(&[
            ("mpi.step_send", "100 ns"),
            ("mpi.step_receive", "100 ns"),
            ("mpi.step_arrival", "100 ns"),
            ("mpi.poll_per_channel", "10 ns"),
            ("link.base_latency", "500 ns"),
            ("coh.line_same_socket", "0 ns"),
            ("coh.line_cross_socket", "0 ns"),
        ])
    };
    let waits = |count| locked(&threads(profile(), 4, vcis(count, 0))).0;
    assert_eq!(waits(4), TimeDelta::ZERO, "4 threads, 4 VCIs");
    assert_eq!(waits(8), TimeDelta::ZERO, "4 threads, 8 VCIs");
    assert!(waits(2) > TimeDelta::ZERO, "two communicators share a VCI and its lock");
    assert!(waits(1) > waits(2), "and four share more");
    let walked = |count| threads(model("genoa-hdr", &[]), 4, vcis(count, 256)).entries_visited;
    assert!(walked(4) < walked(1), "each VCI has queues of its own");
}

/// One VCI is what a library without VCIs has.
#[test]
fn one_vci_changes_nothing() {
    let run = |vcis| {
        let outcome = threads(model("genoa-hdr", &[]), 3, vcis);
        (outcome.end, outcome.digest, outcome.accounts)
    };
    assert_eq!(run(vcis(1, 256)), run(Vcis::default()));
}

/// Communicators take VCIs in the order of their creation: the third duplicate is number 5, behind the
/// world and the two others of the standard table.
#[test]
fn communicators_of_one_number_modulo_the_vcis_share_one() {
    let waits = |comms: [u16; 2]| {
        let program = |process: u32, thread: u16| {
            let direction = if process == 0 { Direction::Sends } else { Direction::Receives };
            let rank = Windowed::new(Rank(1 - process), direction, 8, 16, 0, 4);
            let comm = Comm(comms[usize::from(thread)]);
            AnyProgram::Windowed(rank.of_threads(2, Share::on(thread, comm)))
        };
        let programs =
            (0..2).flat_map(|process| (0..2).map(move |thread| program(process, thread)));
        let profile = ideal(&[
            ("mpi.step_send", "100 ns"),
            ("mpi.poll_per_channel", "10 ns"),
            ("coh.line_same_socket", "0 ns"),
            ("coh.line_cross_socket", "0 ns"),
        ]);
        let mut job = job(profile, programs.collect());
        (job.threads, job.duplicates, job.mpi.vcis) = (2, 5, vcis(4, 0));
        let outcome = job.run().unwrap().outcome;
        assert_eq!(outcome.ending, Ending::Finished);
        locked(&outcome).0 > TimeDelta::ZERO
    };
    let first = Communicators::REVERSED + 1;
    assert!(!waits([first, first + 1]), "neighbours have VCIs of their own");
    assert!(waits([first, first + 4]), "the fourth after it has the same");
    assert!(waits([0, 4]), "so has the fourth after the world");
}

/// A large message over the duplicate, whose receiver asks for its bytes while the sender waits in the world.
fn a_cts_on_another_vci(passes: u32) -> Small {
    let second = Comm(Communicators::DUPLICATE);
    let sender = vec![isend(second, 0, 1, 1, 40), recv(WORLD, Some(1), Some(2), 91, 8), wait(0)];
    let receiver = vec![recv(second, Some(0), Some(1), 92, 40), send(WORLD, 0, 2, 8)];
    let world = Small::new(vec![sender, receiver]);
    Small { vcis: vcis(2, passes), rendezvous: Protocol::RPut, ..world }
}

#[test]
fn passes_over_all_vcis_keep_what_mpi_promises() {
    let budget = Budget { states: 1_000_000, reduce: false };
    let survey = explore::exhaustive(&a_cts_on_another_vci(7).world(), budget);
    assert!(survey.is_clean(), "{survey:#?}");
    let without = explore::exhaustive(&a_cts_on_another_vci(0).world(), budget);
    assert!(without.complete && without.finals == 0 && without.dead > 0, "{without:#?}");
}

/// Two threads a process, each in a communicator of its own, and one that receives from anybody.
#[test]
fn threads_on_vcis_end_well_in_every_order() {
    let second = Comm(Communicators::DUPLICATE);
    for (count, passes) in [(1, 0), (2, 0), (2, 3), (4, 3)] {
        let senders = [WORLD, second].map(|comm| all([send(comm, 1, 1, 8), send(comm, 1, 2, 40)]));
        let receivers = [WORLD, second].map(|comm| {
            let id = 10 * (1 + u32::from(comm.0));
            all([recv(comm, None, None, id, 40), recv(comm, None, None, id + 1, 40)])
        });
        let world = Small::threads(vec![senders.to_vec(), receivers.to_vec()]);
        let world = Small { vcis: vcis(count, passes), ..world };
        let survey =
            explore::exhaustive(&world.world(), Budget { states: 2_000_000, reduce: true });
        assert!(survey.is_clean(), "{count} VCIs, {passes}: {survey:#?}");
    }
}
