//! Locks over one-sided communication: in every order, and timed.

#![allow(clippy::print_stdout, reason = "the sizes of explorations are of interest")]

use crate::common;
use crate::common::lingering as asked;
use mpisim::protocols::call::Call;
use mpisim::protocols::contract::{Next, Process, Program, Region, Space};
use mpisim::protocols::library::Library;
use mpisim::protocols::rma::call::RmaCall;
use mpisim::protocols::rma::{Settings, Transport};
use mpisim::runtime::explore::{Budget, Survey, exhaustive, judged, walk};
use mpisim::runtime::memory::Payload;
use mpisim::runtime::monitors::Violation;
use mpisim::runtime::timed::Ending;
use mpisim::runtime::untimed::{Outcome, World};
use mpisim::workloads::job::Job;
use mpisim::workloads::mutex::{Algorithm, Contender, Cycles, END, START, contenders};

fn job(algorithm: Algorithm, ranks: u32, asked: Cycles, rma: Settings) -> Job<Contender> {
    let mut job = common::job(common::ideal(&[]), contenders(algorithm, ranks, asked));
    job.mpi.payload = Payload::Real;
    job.mpi.rma = rma;
    job
}

fn explore(algorithm: Algorithm, ranks: u32, asked: Cycles, rma: Settings) -> Survey {
    let start: World<Library, Contender> = job(algorithm, ranks, asked, rma).untimed().unwrap();
    let survey = exhaustive(&start, Budget { states: 4_000_000, reduce: true });
    common::tell(&format!("{} {ranks} x {}", algorithm.name(), asked.cycles), &survey);
    survey
}

const RDMA: Settings = Settings {
    issue: mpisim::protocols::rma::Issue::Lazy,
    transport: Transport::Rdma,
    merge: false,
    merge_limit: Some(0),
    segment: None,
    done_after_merge: true,
    mapped_locks: mpisim::protocols::rma::MappedLocks::Messages,
    rules: mpisim::mpi::rma::synchronisation::Rules::Document,
    model: mpisim::mpi::rma::access::MemoryModel::Unified,
    watch: true,
};

/// claim: rma-mutex-me
/// claim: rma-mutex3-fifo
/// claim: rma-mutex2-lock
/// claim: rma-mutex2-unlock
#[test]
fn every_order_of_two_ranks_ends_well() {
    for algorithm in Algorithm::ALL {
        for cycles in 1..=2 {
            assert!(explore(algorithm, 2, asked(cycles), Settings::default()).is_clean());
        }
    }
}

/// The tail of the host, behind its own `next`.
const TAIL: Region = Region { space: Space::Window(0), offset: 4, len: 4 };

/// claim: rma-mutex3-start
#[test]
fn the_tail_is_nobody_before_anybody_came_and_when_all_have_left() {
    for algorithm in [Algorithm::Mcs, Algorithm::McsCasFirst] {
        for cycles in 0..=2 {
            let job = job(algorithm, 2, asked(cycles), Settings::default());
            let start: World<Library, Contender> = job.untimed().unwrap();
            let survey = judged(&start, Budget { states: 4_000_000, reduce: true }, |world| {
                let tail = world.memories().load(Process(0), TAIL);
                let statement = "the tail is -1 when nobody holds the mutex";
                let (objects, detail) = (Vec::new(), tail.to_string());
                let broken = Violation { id: "tail", statement, objects, detail };
                (tail != u64::from(u32::MAX)).then_some(broken)
            });
            assert!(survey.is_clean() && survey.finals > 0, "{algorithm:?}: {cycles} cycles");
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

/// claim: rma-mutex2-space
/// claim: rma-mutex3-space
#[test]
fn the_byte_vector_has_a_byte_for_each_rank_and_mcs_a_word_each_and_one_more() {
    for ranks in [2, 16, 256] {
        let bytes = |algorithm: Algorithm| -> u64 {
            (0..ranks).map(|rank| algorithm.bytes(rank, ranks)).sum()
        };
        assert_eq!(bytes(Algorithm::ByteVector), u64::from(ranks));
        assert_eq!(Algorithm::ByteVector.bytes(0, ranks), u64::from(ranks), "all at the host");
        assert_eq!(bytes(Algorithm::Mcs), 4 * (u64::from(ranks) + 1));
    }
}

/// What each rank hands to wires in its cycles, from its mark at the start to that at the end.
fn packets(algorithm: Algorithm, ranks: u32, asked: Cycles, rma: Settings) -> Vec<u64> {
    let mut job = job(algorithm, ranks, asked, rma);
    job.profile = common::model("broadwell-edr", &[]);
    job.nodes = ranks;
    job.scheme = mpisim::hardware::core::Scheme::Cyclic;
    let outcome = job.run().unwrap().outcome;
    assert_eq!(outcome.ending, Ending::Finished);
    assert_eq!(outcome.violations, []);
    let at = |number, rank| {
        let mark = |mark: &&mpisim::runtime::timed::Mark| {
            mark.number == number && mark.process == Process(rank)
        };
        outcome.marks.iter().find(mark).unwrap().account.packets
    };
    (0..ranks).map(|rank| at(END, rank) - at(START, rank)).collect()
}

/// X6: alone, over RDMA, where every atomic operation is one on a wire.
///
/// claim: rma-mutex3-lock
/// claim: rma-mutex3-unlock
#[test]
fn an_uncontended_cycle_is_a_swap_and_a_compare_and_swap() {
    for cycles in [1, 7] {
        let asked = Cycles { no_check: true, lingers: false, ..asked(cycles) };
        let alone = packets(Algorithm::Mcs, 1, asked, RDMA);
        assert_eq!(alone, [2 * u64::from(cycles)], "its own `next` it reads by itself");
    }
}

/// Contended: swap, link and message, and a compare-and-swap in vain where the next rank has swapped
/// and not linked itself yet.
#[test]
fn a_contended_cycle_adds_a_link_and_a_message_whatever_the_number_of_ranks() {
    for ranks in [4, 8] {
        let asked = Cycles { no_check: true, lingers: false, ..asked(50) };
        let all: u64 = packets(Algorithm::Mcs, ranks, asked, RDMA).iter().sum();
        let cycles = 50 * u64::from(ranks);
        // The first entry and the last exit are without a neighbour.
        let least = 3 * cycles - 2 * u64::from(ranks);
        assert!((least..=4 * cycles).contains(&all), "{all} of {cycles} cycles");
    }
}

/// X8: whoever leaves looks behind itself and round, so that those between it and a rank that waits come
/// first, each once. That no order breaks it is the law's matter: here are runs that come to the bound,
/// and a lock that promises nothing.
///
/// claim: rma-mutex2-fair
#[test]
fn a_rank_that_waits_for_the_byte_vector_is_overtaken_at_most_p_minus_2_times() {
    let overtaken = |algorithm: Algorithm, ranks: u32| {
        let asked = Cycles { lingers: false, ..asked(60) };
        let mut job = job(algorithm, ranks, asked, Settings::default());
        job.profile = common::model("eureka-mx10g", &[]);
        job.nodes = ranks.div_ceil(8);
        let outcome = job.run().unwrap().outcome;
        assert_eq!((outcome.ending, outcome.violations), (Ending::Finished, Vec::new()));
        outcome.overtaken
    };
    for ranks in [2, 3, 4, 8, 16, 32] {
        let times = overtaken(Algorithm::ByteVector, ranks);
        assert!(times <= ranks - 2, "{ranks} ranks: {times}");
        assert!(ranks < 16 || times + 2 > ranks - 2, "{ranks} ranks: {times}, near the bound");
        assert_eq!(overtaken(Algorithm::Mcs, ranks), 0, "who queues is not overtaken");
    }
    assert!(overtaken(Algorithm::TestAndSet, 8) > 6, "nobody's turn ever comes");
    for seed in 1..=60 {
        let ranks = 3 + u32::try_from(seed % 3).unwrap();
        let job = job(Algorithm::ByteVector, ranks, asked(3), Settings::default());
        let mut world: World<Library, Contender> = job.untimed().unwrap();
        let walk = walk(&mut world, seed, 1, 1_000_000);
        assert_eq!((walk.outcome, walk.violations), (Outcome::Finished, Vec::new()));
    }
}

/// X5: whatever time a holder takes inside, those who wait send nothing.
///
/// claim: rma-fig5-nopoll
#[test]
fn who_waits_uses_no_wire() {
    for algorithm in [Algorithm::ByteVector, Algorithm::Mcs, Algorithm::McsCasFirst] {
        let sent = |inside: u64| {
            let asked = Cycles { inside, lingers: false, ..asked(20) };
            packets(algorithm, 4, asked, Settings::default()).iter().sum::<u64>()
        };
        // Long enough that everybody waits, and ten times as long.
        let (long, longer) = (sent(100_000_000), sent(1_000_000_000));
        assert_eq!(long, longer, "{}", algorithm.name());
    }
    let tries = |inside: u64| {
        let asked = Cycles { inside, lingers: false, ..asked(20) };
        packets(Algorithm::TestAndSet, 4, asked, Settings::default()).iter().sum::<u64>()
    };
    assert!(tries(1_000_000_000) > 2 * tries(100_000_000), "the bad example does");
}

/// claim: rma-mutex3-shared
#[test]
fn mcs_asks_for_no_exclusive_lock() {
    for algorithm in [Algorithm::Mcs, Algorithm::McsCasFirst] {
        for other in [u64::from(u32::MAX), 0] {
            let mut contender = contenders(algorithm, 2, asked(1)).pop().unwrap();
            let mut calls = 0;
            for _ in 0..200 {
                let next = Program::<Library>::next(&mut contender, None);
                if let Next::Call(Call::Rma(call)) = &next {
                    calls += 1;
                    assert!(!matches!(**call, RmaCall::Lock { .. }), "{call:?}");
                }
                if matches!(next, Next::Load(_) | Next::Take(_)) {
                    Program::<Library>::loaded(&mut contender, other);
                }
            }
            assert!(calls > 5);
        }
    }
}

/// Without noise, doubling the cycles of 16 processes moves the mean by less than 1 %: 200 of the byte vector, and 400 of
/// the queue, whose first are shorter. Under noise the queue mutex of 16 and more needs thousands of them
/// (docs/model/rma.md).
#[test]
fn without_noise_a_few_hundred_cycles_give_the_mean() {
    for (algorithm, cycles) in [(Algorithm::ByteVector, 200), (Algorithm::Mcs, 400)] {
        let mean = |cycles: u32| {
            let asked = Cycles { lingers: false, ..asked(cycles) };
            let mut job = job(algorithm, 16, asked, Settings::default());
            job.profile = common::model("eureka-mx10g", &[]);
            let outcome = job.run().unwrap().outcome;
            let at = |number| outcome.marks.iter().filter(move |mark| mark.number == number);
            let begin = at(START).map(|mark| mark.at).min().unwrap();
            let end = at(END).map(|mark| mark.at).max().unwrap();
            end.since(begin).as_ps() / u64::from(cycles)
        };
        let (once, twice) = (mean(cycles), mean(2 * cycles));
        assert!(once.abs_diff(twice) * 100 < once, "{}: {once} and {twice} ps", algorithm.name());
    }
}

/// Three ranks, every order.
#[test]
fn every_order_of_three_ranks_ends_well() {
    assert!(explore(Algorithm::Mcs, 3, asked(1), Settings::default()).is_clean());
}
