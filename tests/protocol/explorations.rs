//! The real library under every order of events: wildcards of three ranks, endpoints that make
//! progress by themselves and are freed in any order, and every collective at two to four ranks.
//!
//! `cargo test --release --test protocol explorations -- --ignored --nocapture` walks what is too large.

#![allow(clippy::wildcard_enum_match_arm, reason = "a few replies of many")]

use std::sync::Arc;

use crate::reference::Example;
use crate::small::{
    FIRST, Small, WORLD, World, all, at, barrier, create, free, gives, iprobe, irecv, isend, own,
    received, recv, send, wait_all,
};
use mpisim::collectives::hierarchy::Units;
use mpisim::collectives::{Algorithm, Kind};
use mpisim::mpi::operator::{Datatype, Operator, Reduction};
use mpisim::protocols::call::{Buffer, Call, Peer};
use mpisim::protocols::contract::{Handle, Next};
use mpisim::protocols::library::{Endpoints, Progress, Queues, Threading};
use mpisim::protocols::rendezvous::Protocol;
use mpisim::runtime::explore::{self, Budget, Survey};
use mpisim::runtime::monitors::Violation;
use mpisim::runtime::untimed::Outcome;

/// A law of a test's own, of a good end.
fn judge(
    statement: &'static str,
    holds: impl Fn(&World) -> bool,
) -> impl Fn(&World) -> Option<Violation> {
    move |world| {
        let detail = "it does not hold at this end".to_owned();
        let broken = Violation { id: "end", statement, objects: Vec::new(), detail };
        (!holds(world)).then_some(broken)
    }
}

#[track_caller]
fn check_clean(small: &Small, statement: &'static str, holds: impl Fn(&World) -> bool) -> Survey {
    let judge = judge(statement, holds);
    let budget = Budget { reduce: true, ..Budget::default() };
    let survey = explore::judged(&small.world(), budget, judge);
    assert!(survey.is_clean(), "{:?}: {survey:#?}", small.endpoints);
    survey
}

/// Sizes from each source, in the order of the receives.
fn from(world: &World, process: u32, source: u32) -> Vec<u64> {
    let received = received(world, process).into_iter();
    received.filter(|(from, _)| *from == source).map(|(_, bytes)| bytes).collect()
}

/// M1 to M3 with three ranks: wildcards of source, of tag, of both, and an exact source, posted
/// before, between and after the arrivals; each sender's first message is eager, its second not.
#[test]
fn mixed_wildcards_of_three_ranks_keep_the_order_of_each_sender() {
    let sender = || vec![isend(WORLD, 0, 2, 1, 8), isend(WORLD, 1, 2, 2, 40), wait_all(0, 2)];
    let receiver = |early: usize| {
        let receives = [
            irecv(WORLD, None, None, 0),
            irecv(WORLD, None, Some(1), 1),
            irecv(WORLD, Some(0), None, 2),
            irecv(WORLD, None, None, 3),
        ];
        let (before, after) = receives.split_at(early);
        // A look at the queues in between lets messages come unexpected, or not.
        [before, &[iprobe(WORLD)], after, &[wait_all(0, 4)]].concat()
    };
    let mut states = 0;
    for protocol in Protocol::ALL {
        for early in [0, 2, 4] {
            let small = Small::new(vec![sender(), sender(), receiver(early)]);
            let small = Small { rendezvous: *protocol, ..small };
            let survey = check_clean(&small, "two messages of each sender", |world| {
                [0, 1].map(|source| from(world, 2, source)).into_iter().all(|mut sizes| {
                    sizes.sort_unstable();
                    sizes == [8, 40]
                })
            });
            let met = survey.sometimes;
            assert!(met.wildcard_races > 0 && met.posted_skipped > 0, "{met:?}");
            assert_eq!(met.unexpected > 0, early < 4, "a look before the last receive: {met:?}");
            states += survey.states;
        }
    }
    assert!(states > 10_000, "{states} states");
}

/// M12: what a matched probe of any source took is what its receive gets, though another message
/// stands in the queue.
#[test]
fn matched_probes_of_any_source_keep_what_they_took() {
    let sender = |bytes| vec![send(WORLD, 2, 1, bytes)];
    let probe =
        |id| Call::Mprobe { message: Handle(id), source: Peer::Any, tag: None, comm: WORLD };
    let take = |id| Call::Mrecv { message: Handle(id), buffer: Buffer { id, bytes: 40 } };
    let receiver = vec![probe(0), probe(1), take(1), take(0)];
    let small = Small::new(vec![sender(8), sender(40), receiver]);
    let survey = check_clean(&small, "each message once", |world| {
        from(world, 2, 0) == [8] && from(world, 2, 1) == [40]
    });
    assert_eq!(survey.finals, 2, "either sender is first");
}

/// Every way to share.
fn kinds() -> Vec<Endpoints> {
    let mut kinds = Vec::new();
    for lanes in [1, 2] {
        for queues in [Queues::Shared, Queues::Own] {
            for progress in [Progress::Process, Progress::Independent] {
                for threading in [Threading::Any, Threading::One] {
                    kinds.push(Endpoints { queues, progress, threading, ..own(lanes) });
                }
            }
        }
    }
    kinds
}

/// The first thread makes two endpoints and the second thread, calls, and frees both.
fn first_thread(calls: Vec<Call>) -> Vec<Next<Call>> {
    let begin = [Next::Call(create(2, FIRST)), Next::Fork];
    let end = [Next::Join].into_iter().chain(all([free(at(0)), free(at(1))]));
    begin.into_iter().chain(all(calls)).chain(end).collect()
}

/// E4: an endpoint completes although the other one of its process never calls, on either side
/// and by rendezvous, where the sender too must hear of the other.
#[test]
fn an_endpoint_needs_no_call_of_another() {
    let mut states = 0;
    for kind in kinds() {
        for protocol in Protocol::ALL {
            for bytes in [8, 40] {
                let sender = vec![first_thread(vec![]), all([send(at(1), 3, 0, bytes)])];
                let receive = all([recv(at(1), Some(1), Some(0), 0, bytes)]);
                let receiver = vec![first_thread(vec![]), receive];
                let small = Small::threads(vec![sender, receiver]).with(kind.clone());
                let small = Small { rendezvous: *protocol, ..small };
                states += check_clean(&small, "", |_| true).states;
            }
        }
    }
    assert!(states > 1_000, "{states} states");
}

/// E4: both endpoints are in calls at once, and none waits for a message of the other.
#[test]
fn two_endpoints_progress_side_by_side() {
    for kind in kinds() {
        let senders = vec![first_thread(vec![send(at(0), 2, 0, 8)]), all([send(at(1), 3, 0, 40)])];
        let receivers = vec![
            first_thread(vec![recv(at(0), Some(0), Some(0), 0, 8)]),
            all([recv(at(1), Some(1), Some(0), 1, 40)]),
        ];
        let small = Small::threads(vec![senders, receivers]).with(kind);
        check_clean(&small, "the first endpoint has its message", |world| {
            received(world, 1) == [(0, 8)]
        });
    }
}

const ORDERS: [[u16; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// E5: two processes free three endpoints each, by one thread, in any of the 36 pairs of orders.
#[test]
fn three_frees_of_two_processes_end_in_any_order() {
    let frees = |order: [u16; 3]| {
        let frees = order.map(|local| free(at(local)));
        [&[create(3, FIRST)], &frees[..]].concat()
    };
    for one in ORDERS {
        for other in ORDERS {
            let small = Small::new(vec![frees(one), frees(other)]).with(own(3));
            check_clean(&small, "", |_| true);
        }
    }
}

/// E5: each endpoint is freed by a thread of its own; the order of events is the order of frees.
#[test]
fn three_threads_free_their_endpoints_whenever_they_come() {
    let process = || {
        let first = [Next::Call(create(3, FIRST)), Next::Fork, Next::Call(free(at(0))), Next::Join];
        vec![first.to_vec(), all([free(at(1))]), all([free(at(2))])]
    };
    for kind in [own(1), own(3), Endpoints { threading: Threading::Any, ..own(3) }] {
        let small = Small::threads(vec![process(), process()]).with(kind);
        let survey = check_clean(&small, "", |_| true);
        assert!(survey.states > 400, "{} states", survey.states);
    }
}

/// E5: an endpoint that is still open is used between the frees of the others.
#[test]
fn an_open_endpoint_works_between_the_frees_of_others() {
    for (first, last) in [(0, 1), (1, 0)] {
        let sender =
            vec![create(2, FIRST), free(at(first)), send(at(last), 2, 0, 8), free(at(last))];
        let source = Some(u32::from(last));
        let receiver =
            vec![create(2, FIRST), recv(at(0), source, Some(0), 0, 8), free(at(0)), free(at(1))];
        let small = Small::new(vec![sender, receiver]).with(own(2));
        check_clean(&small, "", |_| true);
    }
}

/// C3 at four ranks: what each sends after the barrier is not there before it.
#[test]
fn nobody_of_four_leaves_a_barrier_early() {
    for late in 0..4_u32 {
        let rank = |rank: u32| {
            let barrier = barrier(WORLD);
            if rank == late {
                return vec![iprobe(WORLD), barrier, recv(WORLD, None, Some(1), 0, 8)];
            }
            let sends = (rank == (late + 1) % 4).then(|| send(WORLD, late, 1, 8));
            [barrier].into_iter().chain(sends).collect()
        };
        let small = Small::new((0..4).map(rank).collect());
        let found = check_clean(&small, "", |_| true);
        assert_eq!(found.finals, 1, "the probe never finds it");
    }
}

/// Every collective by every algorithm, with a root that is not 0.
fn collectives(size: u32, unit: u64, count: u64) -> Vec<Example> {
    let affine = Reduction::new(Operator::Affine { modulus: 1_000_003 }, Datatype::Int64Pair);
    let of = |algorithm: &Algorithm| {
        let kind = algorithm.kind();
        let examples: Vec<Example> = if kind.reduces() {
            let sum = Reduction::new(Operator::Sum, Datatype::Int64);
            let both = [affine, sum].map(Option::unwrap);
            both.map(|one| Example::combining(kind, size, size / 2, count, one)).into()
        } else {
            [false, true].map(|lists| Example::moving(kind, size, size / 2, unit, lists)).into()
        };
        // The first that it can do: operators that do not commute, blocks of one size.
        let fits = |one: &Example| one.calls.iter().all(|call| call.clone().by(*algorithm).is_ok());
        let fitting = examples.into_iter().find(fits).unwrap();
        fitting.by(|call| call.by(*algorithm).unwrap())
    };
    assert_eq!(Kind::ALL.len(), 12);
    Algorithm::ALL.iter().map(of).collect()
}

/// The most states of one collective in a test that runs every time.
const FEW: usize = 30_000;

#[track_caller]
fn check_walks(example: &Example, small: &Small, walks: u64) {
    let start = small.world();
    for seed in 0..walks {
        let mut world = start.clone();
        let walk = explore::walk(&mut world, seed, 4, 1_000_000);
        let call = &example.calls[0];
        assert_eq!((walk.outcome, walk.violations), (Outcome::Finished, vec![]), "{call:?}");
        assert!(gives(example, &world), "seed {seed}: {call:?}");
    }
}

/// Every collective at `size` ranks in every order, or by random walks where there are more
/// states than `most`; answers how many of them were explored whole.
#[expect(clippy::print_stdout, reason = "sizes for a reader, with --nocapture")]
fn explore_collectives(size: u32, unit: u64, count: u64, most: usize, walks: u64) -> usize {
    let mut whole = 0;
    for example in collectives(size, unit, count) {
        let small = Small::collective(&example);
        let judge = judge("a result is the sequential one", |world| gives(&example, world));
        let budget = Budget { states: most, reduce: true };
        let survey = explore::judged(&small.world(), budget, judge);
        let name =
            format!("{} by {}", example.calls[0].function(), example.calls[0].algorithm.name());
        assert!(survey.violations.is_empty() && survey.faults.is_empty(), "{name}: {survey:#?}");
        if survey.complete {
            assert!(survey.is_clean() && survey.finals == 1, "{name}: {survey:#?}");
            println!("{size} ranks, {name}: {} states", survey.states);
            whole += 1;
        } else {
            check_walks(&example, &small, walks);
            println!("{size} ranks, {name}: more than {most} states, {walks} walks");
        }
    }
    whole
}

#[test]
fn collectives_of_two_and_three_ranks_end_with_the_sequential_result_in_every_order() {
    for (unit, count) in [(8, 1), (24, 2)] {
        for size in [2, 3] {
            assert_eq!(explore_collectives(size, unit, count, FEW * 10, 0), Algorithm::ALL.len());
        }
    }
}

#[test]
fn collectives_of_four_ranks_end_with_the_sequential_result() {
    let eager = explore_collectives(4, 8, 1, FEW, 0);
    assert_eq!(eager, Algorithm::ALL.len());
    // By rendezvous two of them have half a million states or more: `MPI_Alltoall` all at once, and
    // scattered, which is the same among so few.
    let large = explore_collectives(4, 24, 2, FEW, 100);
    assert!(large + 2 >= Algorithm::ALL.len(), "{large} were explored whole");
}

/// C2: in steps over two nodes of two ranks the result is the same, in every order.
#[test]
fn collectives_in_steps_of_four_ranks_end_with_the_sequential_result() {
    let mut whole = 0;
    for example in collectives(4, 24, 2) {
        let units = Arc::new(Units::new(4, |rank| rank / 2));
        if example.calls[0].clone().over(Arc::clone(&units)).is_err() {
            continue;
        }
        let example = example.by(|call| call.over(Arc::clone(&units)).unwrap());
        let judge = judge("a result is the sequential one", |world| gives(&example, world));
        let budget = Budget { states: FEW, reduce: true };
        let small = Small::collective(&example);
        let survey = explore::judged(&small.world(), budget, judge);
        assert!(survey.is_clean() && survey.finals == 1, "{:?}: {survey:#?}", example.calls[0]);
        whole += 1;
    }
    assert_eq!(whole, 22, "four barriers, eight broadcasts, six reduces, four allreduces");
}

/// `cargo test --release --test protocol explorations -- --ignored --nocapture`
#[test]
#[ignore = "a minute: worlds of up to half a million states, and 10,000 walks of the one that has more"]
fn collectives_of_four_ranks_at_length() {
    for (unit, count) in [(8, 1), (24, 2)] {
        explore_collectives(4, unit, count, 500_000, 10_000);
    }
}
