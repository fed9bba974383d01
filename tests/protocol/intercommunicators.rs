//! Communicators of some processes, of two groups, and of two threads at once: made by real messages,
//! in every order of small worlds and in the timed runtime.

#![allow(clippy::wildcard_enum_match_arm, reason = "a few replies of many")]

use std::collections::BTreeSet;

use crate::binary::Scratch;
use crate::common::{Script, ideal, job};
use crate::small::{
    Small, WORLD, World, all, barrier, create, free, irecv, isend, own, recv, send, wait_all,
};
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{Call, Comm, CommCall, Outcome as Ended, Reply, Status};
use mpisim::protocols::contract::{Next, Process, Thread};
use mpisim::runtime::explore::{self, Budget, Survey};
use mpisim::runtime::timed::Ending;
use mpisim::runtime::untimed::Outcome;

const NEW: Comm = Comm(10);
const INTER: Comm = Comm(11);
const BOTH: Comm = Comm(12);

fn made(call: CommCall) -> Call {
    Call::Communicators(call)
}

fn dup(comm: Comm, new: Comm) -> Call {
    made(CommCall::Dup { comm, new })
}

fn split(color: i32, new: Comm) -> Call {
    made(CommCall::Split { comm: WORLD, color: Some(color), key: 0, new })
}

fn group(comm: Comm, ranks: &[u32], tag: i32, new: Comm) -> Call {
    let group = ranks.iter().copied().map(Rank).collect();
    made(CommCall::CreateGroup { comm, group, tag, new })
}

fn intercomm(comm: Comm, leader: u32, remote: u32, tag: i32) -> Call {
    let (leader, remote_leader) = (Rank(leader), Rank(remote));
    made(CommCall::Intercomm { comm, leader, peer: WORLD, remote_leader, tag, new: INTER })
}

fn merge(high: bool) -> Call {
    made(CommCall::Merge { comm: INTER, high, new: BOTH })
}

fn leave(comm: Comm) -> Call {
    made(CommCall::Free { comm })
}

fn timed(calls: &[Vec<Call>]) -> Ending {
    let script = |calls: &Vec<Call>| Script::new(calls.iter().cloned().map(Next::Call));
    job(ideal(&[]), calls.iter().map(script).collect()).run().unwrap().outcome.ending
}

fn replies(world: &World, process: u32, thread: u16) -> &[Reply] {
    &world.program(Process(process), Thread(thread)).replies
}

/// The messages that a thread's blocking receives brought: source, tag and bytes.
fn heard(world: &World, process: u32, thread: u16) -> Vec<(u32, i32, u64)> {
    let status = |reply: &Reply| match reply {
        Reply::Outcome(Ended::Received(Status { source, tag, count })) => {
            Some((source.unwrap().0, tag.unwrap(), *count))
        }
        _ => None,
    };
    replies(world, process, thread).iter().filter_map(status).collect()
}

#[track_caller]
fn walked(world: &World, seed: u64) -> World {
    let mut world = world.clone();
    let walk = explore::walk(&mut world, seed, 5, 100_000);
    let fault = world.fault().map(ToString::to_string);
    assert_eq!((walk.outcome, walk.violations), (Outcome::Finished, vec![]), "{seed}: {fault:?}");
    assert_eq!(world.conclude(), []);
    world
}

/// Every order, by the rule of partial order; walks give ends to judge.
#[track_caller]
fn check_every_order(world: &World, judge: impl Fn(&World) -> bool) -> Survey {
    let survey = explore::exhaustive(world, Budget { reduce: true, ..Budget::default() });
    assert!(survey.is_clean(), "{survey:#?}");
    for seed in 0..30 {
        assert!(judge(&walked(world, seed)), "seed {seed}");
    }
    survey
}

fn refused(calls: Vec<Vec<Call>>) -> String {
    let mut world = Small::new(calls).world();
    explore::walk(&mut world, 1, 5, 10_000);
    world.fault().expect("it is refused").to_string()
}

/// Ranks 2 and 0 are ranks 0 and 1 of the new one; rank 1 never calls MPI, and receives nothing.
#[test]
fn a_group_is_made_by_its_members_alone() {
    let of = || group(WORLD, &[2, 0], 5, NEW);
    let calls = [
        vec![of(), recv(NEW, Some(0), None, 0, 8), barrier(NEW), leave(NEW)],
        vec![],
        vec![of(), send(NEW, 1, 7, 8), barrier(NEW), leave(NEW)],
    ];
    let world = Small::new(calls.to_vec()).world();
    let survey = check_every_order(&world, |world| heard(world, 0, 0) == [(0, 7, 8)]);
    assert!(survey.states > 10);
    assert_eq!(timed(&calls), Ending::Finished);
    // Where a duplicate is made instead, the one that does not call is waited for.
    let all_must = calls.map(|calls| calls.into_iter().map(|_| dup(WORLD, NEW)).take(1).collect());
    assert!(matches!(timed(&all_must), Ending::Deadlock(_)));
}

/// Two groups of one parent that share a rank, made at once by its two threads under two tags.
#[test]
fn groups_of_one_parent_are_told_apart_by_their_tags() {
    let (first, second) = (group(WORLD, &[0, 1], 1, NEW), group(WORLD, &[0, 2], 2, INTER));
    let with = |make: &Call, then: Call| all([make.clone(), then]);
    let world = Small::threads(vec![
        vec![with(&first, send(NEW, 1, 0, 4)), with(&second, send(INTER, 1, 0, 8))],
        vec![with(&first, recv(NEW, None, None, 0, 8))],
        vec![with(&second, recv(INTER, None, None, 0, 8))],
    ])
    .world();
    check_every_order(&world, |world| {
        [heard(world, 1, 0), heard(world, 2, 0)] == [[(0, 0, 4)], [(0, 0, 8)]]
    });
}

#[test]
fn what_is_no_group_is_refused_with_words() {
    let one = |call| vec![vec![call], vec![]];
    for (calls, words) in [
        (one(group(WORLD, &[1], 0, NEW)), "rank 0 calls for a group that it is not in"),
        (one(group(WORLD, &[0, 2], 0, NEW)), "no group is made"),
        (one(group(WORLD, &[0, 0], 0, NEW)), "no group is made"),
        (one(group(WORLD, &[0], -1, NEW)), "a tag of 0 to 524287"),
        (one(group(WORLD, &[0], 0, Comm(1))), "in use"),
        (one(group(Comm(9), &[0], 0, NEW)), "no such communicator"),
    ] {
        let found = refused(calls);
        assert!(found.contains(words), "{words}: {found}");
    }
}

/// Two processes with two threads each make a communicator from `parents[thread]`, and send in it.
fn at_once(parents: [Comm; 2]) -> Small {
    let thread = |process: u32, thread: u16| {
        let (parent, new) = (parents[usize::from(thread)], Comm(10 + thread));
        let bytes = 4 + 4 * u64::from(thread);
        // In the reversed communicator process 1 is rank 0.
        let to = if parent == Comm(2) { process } else { 1 - process };
        let then = match process {
            0 => send(new, to, 3, bytes),
            _ => recv(new, None, None, thread.into(), 8),
        };
        all([dup(parent, new), then])
    };
    Small::threads((0..2).map(|process| (0..2).map(|at| thread(process, at)).collect()).collect())
}

/// Whichever process numbers them, the new communicators of both threads have contexts of their own.
#[test]
fn two_threads_make_communicators_at_once() {
    for parents in [[WORLD, Comm(1)], [WORLD, Comm(2)]] {
        let from = |at: usize| u32::from(parents[at] == Comm(2));
        let expected = [(from(0), 3, 4), (from(1), 3, 8)];
        let survey = check_every_order(&at_once(parents).world(), |world| {
            [heard(world, 1, 0), heard(world, 1, 1)] == expected.map(|one| vec![one])
        });
        assert!(survey.states > 100, "{}", survey.states);
    }
}

/// Makes and frees again and again, by two threads: no context comes back.
#[test]
fn no_context_is_given_a_second_time() {
    let rounds = |parent: Comm, new: Comm| {
        let round = || [dup(parent, new), barrier(new), leave(new)];
        all((0..5).flat_map(|_| round()))
    };
    let threads = || vec![rounds(WORLD, NEW), rounds(Comm(1), INTER)];
    let world = Small::threads(vec![threads(), threads()]).world();
    for seed in 0..40 {
        walked(&world, seed);
    }
}

#[test]
fn what_two_threads_may_not_make_at_once_is_refused() {
    for (second, words) in [
        (dup(WORLD, INTER), "another thread of the process is inside"),
        (dup(Comm(1), NEW), "in use"),
    ] {
        let threads = || vec![all([dup(WORLD, NEW)]), all([second.clone()])];
        let world = Small::threads(vec![threads(), threads()]).world();
        let found: BTreeSet<bool> = (0..40)
            .map(|seed| {
                let mut world = world.clone();
                explore::walk(&mut world, seed, 5, 10_000);
                world.fault().is_some_and(|fault| fault.to_string().contains(words))
            })
            .collect();
        assert!(found.contains(&true), "{words}");
    }
}

/// What the threads of two processes do beside each other, in many orders: how each order ended.
fn beside([first, second]: [&[Call]; 2]) -> impl Iterator<Item = Result<(), String>> {
    let threads = || [first, second].map(|calls| all(calls.iter().cloned())).into();
    let world = Small::threads(vec![threads(), threads()]).with(own(2)).world();
    (0..60).map(move |seed| {
        let mut world = world.clone();
        let walk = explore::walk(&mut world, seed, 5, 10_000);
        match (world.fault(), walk.outcome) {
            (Some(fault), _) => Err(fault.to_string()),
            (None, outcome) => {
                assert_eq!((outcome, walk.violations), (Outcome::Finished, vec![]), "{seed}");
                Ok(())
            }
        }
    })
}

/// Both numbers of two endpoints are taken while they are made, as after it: in no order does another
/// thread get one of them.
#[test]
fn each_number_of_endpoints_under_way_is_in_use() {
    for second in [Comm(10), Comm(11)] {
        for ended in beside([&[create(2, 10)], &[dup(Comm(1), second)]]) {
            let words = ended.expect_err("one of both finds the number taken");
            assert!(words.contains("in use"), "{words}");
        }
    }
    let makes = [create(2, 10), free(Comm(10)), free(Comm(11))];
    assert!(beside([&makes, &[dup(Comm(1), Comm(12))]]).all(|ended| ended.is_ok()));
}

/// Who says no color makes nothing: its number is free for another thread.
#[test]
fn a_split_without_a_color_takes_no_number() {
    let none = made(CommCall::Split { comm: WORLD, color: None, key: 0, new: NEW });
    for ended in beside([&[none], &[dup(Comm(1), NEW)]]) {
        assert_eq!(ended, Ok(()));
    }
    assert!(beside([&[split(0, NEW)], &[dup(Comm(1), NEW)]]).all(|ended| ended.is_err()));
}

/// One process and two on the other side; each sends to ranks of the other, and all are merged.
fn coupled(high: [bool; 2]) -> [Vec<Call>; 3] {
    let (own, other) = (intercomm(NEW, 0, 2, 9), intercomm(NEW, 1, 0, 9));
    let last = |high| [merge(high), barrier(BOTH), leave(INTER), leave(BOTH)];
    let begin = [split(0, NEW), own, isend(INTER, 0, 0, 4, 8), isend(INTER, 1, 1, 4, 40)];
    let answer = [recv(INTER, None, Some(5), 2, 8), wait_all(0, 2)];
    let one = begin.into_iter().chain(answer).chain(last(high[0]));
    let rank = |me: u64| {
        let hears = recv(INTER, Some(0), Some(4), 0, 64);
        let says = (me == 1).then(|| send(INTER, 0, 5, 4));
        let begin = [split(1, NEW), other.clone(), hears];
        begin.into_iter().chain(says).chain(last(high[1])).collect()
    };
    [one.collect(), rank(0), rank(1)]
}

/// Sources and destinations are ranks of the other side; a long message goes by rendezvous.
#[test]
fn two_groups_of_processes_send_to_each_other_s_ranks() {
    for high in [[false, true], [true, false], [true, true]] {
        let calls = coupled(high);
        let world = Small::new(calls.to_vec()).world();
        for seed in 0..100 {
            let world = walked(&world, seed);
            assert_eq!(heard(&world, 0, 0), [(1, 5, 4)]);
            assert_eq!(heard(&world, 1, 0), [(0, 4, 8)]);
            assert_eq!(heard(&world, 2, 0), [(0, 4, 40)]);
        }
        assert_eq!(timed(&calls), Ending::Finished);
    }
}

/// Who is which rank of a merge: what rank 1 hears from rank 0 there.
#[test]
fn a_merge_puts_the_low_side_first() {
    for (high, first) in [([false, true], 0), ([true, false], 1), ([false, false], 0)] {
        let rank = |me: u32| {
            let side = me as usize;
            let other = i32::from(me == 0);
            let own = i32::try_from(me).unwrap();
            let place = u32::from(first != me);
            let mut calls = vec![split(own, NEW), intercomm(NEW, 0, other.cast_unsigned(), 0)];
            calls.push(merge(high[side]));
            calls.extend([
                irecv(BOTH, Some(1 - place), Some(1), 0),
                isend(BOTH, 1, 1 - place, 1, 8),
            ]);
            calls.push(wait_all(0, 2));
            calls
        };
        let calls = [rank(0), rank(1)];
        let survey = check_every_order(&Small::new(calls.to_vec()).world(), |_| true);
        assert!(survey.states > 10);
        assert_eq!(timed(&calls), Ending::Finished);
    }
}

/// Each side couples itself with the other one once more, through this communicator.
fn through(peer: Comm) -> Call {
    let (comm, leader, remote_leader, tag, new) = (NEW, Rank(0), Rank(0), 1, BOTH);
    made(CommCall::Intercomm { comm, leader, peer, remote_leader, tag, new })
}

#[test]
fn what_is_no_intercommunicator_is_refused_with_words() {
    let pair = |a: Vec<Call>, b: Vec<Call>| vec![a, b];
    let begin = |color: i32, more: &[Call]| {
        let other = u32::from(color == 0);
        [&[split(color, NEW), intercomm(NEW, 0, other, 0)], more].concat()
    };
    let both = |more: &[Call]| pair(begin(0, more), begin(1, more));
    for (calls, words) in [
        (pair(vec![intercomm(WORLD, 2, 1, 0)], vec![]), "the leader is one of 2 ranks"),
        (pair(vec![intercomm(WORLD, 0, 2, 0)], vec![]), "the other leader is one of 2 ranks"),
        (pair(vec![intercomm(WORLD, 0, 1, -1)], vec![]), "a tag is 0 or more"),
        // Both sides are the world: each has the leader that the other names.
        (
            pair(vec![intercomm(WORLD, 0, 0, 0)], vec![intercomm(WORLD, 0, 0, 0)]),
            "share no process",
        ),
        (
            pair(vec![made(CommCall::Merge { comm: WORLD, high: true, new: BOTH })], vec![]),
            "no inter",
        ),
        (
            both(&[Call::Compare { a: INTER, b: WORLD }]),
            "messages, collectives, duplicates, splits",
        ),
        (both(&[send(INTER, 1, 0, 8)]), "the other group has no such rank"),
        (both(&[through(INTER)]), "an intercommunicator is no peer communicator"),
    ] {
        let found = refused(calls);
        assert!(found.contains(words), "{words}: {found}");
    }
    // Ranks of one side that say different things.
    let [one, first, mut second] = coupled([false, true]);
    let merges = |call: &Call| matches!(call, Call::Communicators(CommCall::Merge { .. }));
    let place = second.iter().position(merges).unwrap();
    second[place] = merge(false);
    let found = refused(vec![one, first, second]);
    assert!(found.contains("all ranks of a side say the same value of high"), "{found}");
}

/// Who waits is told so by the name of the call.
#[test]
fn a_leader_that_never_comes_is_named() {
    let calls = [vec![split(0, NEW), intercomm(NEW, 0, 1, 0)], vec![split(1, NEW)]];
    let Ending::Deadlock(found) = timed(&calls) else { panic!("somebody waits for ever") };
    assert!(found.to_string().contains("MPI_Intercomm_create"), "{found}");
}

/// A scenario of two groups: `ranks` are lists of statements, `more` says what the ranks are.
fn scenario(more: &str, ranks: &[String]) -> String {
    format!(
        "{{ \"schema\": 1, \"title\": \"t\", \"machine\": \"ideal\", {more} \
         \"mpi\": {{ \"payload\": \"real\" }}, \
         \"workload\": {{ \"kind\": \"program\", \"ranks\": [ {} ] }} }}",
        ranks.join(", ")
    )
}

/// Even ranks are one group and odd ones the other; rank i of each sends to rank i of the other.
fn statements(rank: u32) -> String {
    let (color, remote, place) = (rank % 2, 1 - rank % 2, rank / 2);
    let high = rank % 2 == 1;
    format!(
        r#"[
      {{ "op": "comm_split", "color": {color}, "new": "own" }},
      {{ "op": "intercomm_create", "comm": "own", "remote_leader": {remote}, "tag": 3, "new": "other" }},
      {{ "op": "isend", "to": {place}, "size": "8 B", "comm": "other", "req": "s" }},
      {{ "op": "recv", "src": {place}, "max": "8 B", "comm": "other" }},
      {{ "op": "wait", "req": "s" }},
      {{ "op": "intercomm_merge", "comm": "other", "high": {high}, "new": "all" }},
      {{ "op": "barrier", "comm": "all" }}
    ]"#
    )
}

/// The same lists are programs of processes, and of endpoints, two threads in a process.
#[test]
fn a_program_of_a_scenario_couples_two_groups() {
    let scratch = Scratch::new("intercommunicators-program");
    let ranks: Vec<String> = (0..4).map(statements).collect();
    scratch.write("processes.json", &scenario("", &ranks));
    scratch.run(&["run", "processes.json", "--out", "r"]).check(0, &[]);
    let endpoints = r#""ranks": { "threads_per_process": 2, "addressing": "xios_ep" }, "#;
    scratch.write("endpoints.json", &scenario(endpoints, &ranks));
    scratch.run(&["run", "endpoints.json", "--out", "e"]).check(0, &[]);

    scratch.write("odd.json", &scenario(endpoints, &ranks[..3]));
    let answer = scratch.run(&["run", "odd.json"]).check(3, &[]);
    assert!(answer.err.contains("one for each of the 2 endpoints"), "{}", answer.err);
}

#[test]
fn a_program_of_a_scenario_makes_a_group() {
    let scratch = Scratch::new("group-program");
    let of = |then: &str| {
        let group = r#"{ "op": "comm_create_group", "ranks": [ 2, 0 ], "tag": 4, "new": "g" }"#;
        format!("[ {group}, {then}, {{ \"op\": \"comm_free\", \"comm\": \"g\" }} ]")
    };
    let send = of(r#"{ "op": "send", "to": 0, "size": "8 B", "comm": "g" }"#);
    let receive = of(r#"{ "op": "recv", "src": 1, "max": "8 B", "comm": "g" }"#);
    scratch.write("group.json", &scenario("", &[send.clone(), "[ ]".to_owned(), receive.clone()]));
    scratch.run(&["run", "group.json", "--out", "r"]).check(0, &[]);

    scratch.write("outside.json", &scenario("", &[send, receive.clone(), receive]));
    let answer = scratch.run(&["run", "outside.json"]).check(1, &["error[E1003]"]);
    assert!(answer.out.contains("rank 1 calls for a group"), "{}", answer.out);
}
