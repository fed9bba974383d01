//! Communicators that programs make while they run: who is in them, that contexts stay apart, in
//! every order of small worlds and in the timed runtime, and what is refused with words.

#![allow(clippy::wildcard_enum_match_arm, reason = "a few replies of many")]

use crate::binary::Scratch;
use crate::common::{Script, ideal, job};
use crate::small::{Small, WORLD, World, barrier, create, free, own, received, recv, send};
use mpisim::mpi::communicator::Communicators;
use mpisim::protocols::call::{Call, Comm, CommCall, Reply};
use mpisim::protocols::contract::{Input, Machine, Next, Process, Thread};
use mpisim::protocols::library::{Library, SharedJob};
use mpisim::runtime::explore::{self, Budget};
use mpisim::runtime::timed::{Ending, Outcome as Timed};
use mpisim::runtime::untimed::Outcome;

const NEW: Comm = Comm(10);

fn dup(comm: Comm, new: Comm) -> Call {
    Call::Communicators(CommCall::Dup { comm, new })
}

fn split(comm: Comm, color: Option<i32>, key: i32, new: Comm) -> Call {
    Call::Communicators(CommCall::Split { comm, color, key, new })
}

fn leave(comm: Comm) -> Call {
    Call::Communicators(CommCall::Free { comm })
}

fn numbers(comm: Comm, own: &[u32]) -> Call {
    Call::Communicators(CommCall::Numbers { comm, own: own.into() })
}

#[track_caller]
fn check_every_order(calls: &[Vec<Call>], judge: impl Fn(&World) -> bool) -> usize {
    let world = Small::new(calls.to_vec()).world();
    let survey = explore::exhaustive(&world, Budget::default());
    assert!(survey.is_clean(), "{survey:#?}");
    for seed in 0..50 {
        let mut world = world.clone();
        let walk = explore::walk(&mut world, seed, 5, 100_000);
        assert_eq!((walk.outcome, walk.violations), (Outcome::Finished, vec![]));
        assert!(judge(&world), "seed {seed}");
    }
    assert_eq!(timed(calls).ending, Ending::Finished);
    survey.states
}

fn timed(calls: &[Vec<Call>]) -> Timed {
    let script = |calls: &Vec<Call>| Script::new(calls.iter().cloned().map(Next::Call));
    job(ideal(&[]), calls.iter().map(script).collect()).run().unwrap().outcome
}

/// Messages of a duplicate and of the original do not meet, although everything else is equal.
#[test]
fn a_duplicate_has_a_context_of_its_own() {
    let sender = vec![dup(WORLD, NEW), send(NEW, 1, 0, 4), send(WORLD, 1, 0, 8), leave(NEW)];
    let receiver = vec![
        dup(WORLD, NEW),
        recv(WORLD, Some(0), Some(0), 0, 8),
        recv(NEW, Some(0), Some(0), 1, 8),
        leave(NEW),
    ];
    let states =
        check_every_order(&[sender, receiver], |world| received(world, 1) == [(0, 8), (0, 4)]);
    assert!(states > 10);
}

/// Two colors and one that is undefined; keys turn the order of the first color round.
#[test]
fn a_split_makes_one_communicator_a_color() {
    let in_first = |rank: i32| split(WORLD, Some(4), -rank, NEW);
    let calls = [
        vec![in_first(0), recv(NEW, Some(0), Some(7), 0, 8), barrier(NEW)],
        vec![split(WORLD, Some(1), 0, NEW), barrier(NEW)],
        vec![in_first(2), send(NEW, 1, 7, 8), barrier(NEW)],
        vec![split(WORLD, None, 0, NEW)],
    ];
    for seed in 0..300 {
        let mut world = Small::new(calls.to_vec()).world();
        let walk = explore::walk(&mut world, seed, 5, 100_000);
        assert_eq!((walk.outcome, walk.violations), (Outcome::Finished, vec![]));
        assert_eq!(received(&world, 0), [(0, 8)], "the sender is rank 0, the receiver rank 1");
    }
    assert_eq!(timed(&calls).ending, Ending::Finished);
    let two = [calls[0].clone(), calls[2].clone()];
    check_every_order(&two, |world| received(world, 0) == [(0, 8)]);
}

/// Every part of a split has the context of the others: what is the same in three of them at once, the
/// ranks, the tag and the collective, stays in each.
#[test]
fn parts_of_one_split_share_a_context_and_nothing_else() {
    let rank = |me: u32| {
        let (color, here) = (i32::try_from(me / 2).unwrap(), me % 2);
        let bytes = u64::from(4 + me);
        let pass = match here {
            0 => [send(NEW, 1, 3, bytes), recv(NEW, None, None, 0, 16)],
            _ => [recv(NEW, None, None, 0, 16), send(NEW, 0, 3, bytes)],
        };
        let twin = Comm(11);
        let after = [barrier(NEW), dup(NEW, twin), barrier(twin), leave(twin), leave(NEW)];
        [split(WORLD, Some(color), 0, NEW)].into_iter().chain(pass).chain(after).collect()
    };
    let calls: Vec<Vec<Call>> = (0..6).map(rank).collect();
    for seed in 0..200 {
        let mut world = Small::new(calls.clone()).world();
        let walk = explore::walk(&mut world, seed, 5, 100_000);
        assert_eq!((walk.outcome, walk.violations), (Outcome::Finished, vec![]), "{seed}");
        for me in 0..6 {
            let other = me ^ 1;
            assert_eq!(received(&world, me), [(other % 2, u64::from(4 + other))], "{seed}");
        }
    }
    assert_eq!(timed(&calls).ending, Ending::Finished);
}

/// Of 50,000 processes each has 2^31 / 50,000 = 42,949 numbers. As many as there are ranks would be
/// more than it has: a split takes one.
#[test]
fn a_split_of_a_large_world_takes_one_number() {
    let size = 50_000;
    let job = Small::new(vec![]).job(Communicators::standard(size), vec![1; size as usize]);
    let mut first = Library::new(SharedJob::new(job), Process(0));
    let call = Input::Call(split(WORLD, Some(0), 0, NEW));
    first.handle(Thread(0), call, &mut Vec::new()).unwrap();
}

/// Parts of parts, freed and made again under the same number, and endpoints of a part.
#[test]
fn communicators_are_made_from_those_that_were_made() {
    let later = Comm(11);
    let rank = |me: u32| {
        let half = i32::try_from(me / 2).unwrap();
        let mut calls = vec![split(WORLD, Some(half), 0, NEW), dup(NEW, later), leave(NEW)];
        calls.push(dup(later, NEW));
        calls.push(create_in(NEW, 2, 20));
        let there = Comm(20);
        if me.is_multiple_of(2) {
            calls.push(send(there, 2, 1, 8));
        } else {
            calls.push(recv(there, Some(0), Some(1), 0, 8));
        }
        calls.extend([free(there), free(Comm(21)), leave(NEW), leave(later)]);
        calls
    };
    let calls: Vec<Vec<Call>> = (0..4).map(rank).collect();
    for seed in 0..200 {
        let mut world = Small::new(calls.clone()).with(own(2)).world();
        let walk = explore::walk(&mut world, seed, 5, 100_000);
        assert_eq!((walk.outcome, walk.violations), (Outcome::Finished, vec![]), "{seed}");
        assert_eq!(world.conclude(), []);
        assert_eq!((received(&world, 1), received(&world, 3)), (vec![(0, 8)], vec![(0, 8)]));
    }
}

fn create_in(parent: Comm, count: u16, first: u16) -> Call {
    Call::CreateEndpoints { parent, count, first: Comm(first) }
}

/// Everybody hears the numbers of everybody, whatever their count.
#[test]
fn numbers_of_all_ranks_are_heard_by_rank() {
    for (size, width) in [(1, 3), (2, 1), (3, 5), (5, 2), (7, 0)] {
        let all: Vec<Vec<u32>> =
            (0..size).map(|rank| (0..width).map(|at| rank << 20 | at).collect()).collect();
        let calls: Vec<_> = all.iter().map(|own| vec![numbers(WORLD, own)]).collect();
        let mut world = Small::new(calls).world();
        let walk = explore::walk(&mut world, u64::from(size), 5, 100_000);
        assert_eq!((walk.outcome, walk.violations), (Outcome::Finished, vec![]));
        for process in (0..size).map(Process) {
            let replies = &world.program(process, Thread(0)).replies;
            assert_eq!(replies, &[Reply::Numbers(all.concat().into())]);
        }
    }
}

/// What a lone process's first calls are refused with.
fn refused(calls: Vec<Call>) -> String {
    let mut world = Small::new(vec![calls]).with(own(1)).world();
    explore::walk(&mut world, 1, 5, 1_000);
    world.fault().expect("it is refused").to_string()
}

#[test]
fn what_is_no_communicator_is_refused_with_words() {
    for (calls, words) in [
        (vec![dup(Comm(9), NEW)], "no such communicator"),
        (vec![dup(WORLD, Comm(2))], "in use"),
        (vec![dup(WORLD, NEW), dup(WORLD, NEW)], "in use"),
        (vec![split(WORLD, Some(-1), 0, NEW)], "a color is undefined, or 0 or more"),
        (vec![split(WORLD, None, 0, NEW), barrier(NEW)], "no such communicator"),
        (vec![leave(WORLD)], "made no such communicator"),
        (vec![dup(WORLD, NEW), leave(NEW), barrier(NEW)], "no such communicator"),
        (vec![create(1, 10), dup(NEW, Comm(11))], "no communicator of processes"),
        (vec![dup(WORLD, NEW), create(1, 10)], "in use"),
    ] {
        let found = refused(calls);
        assert!(found.contains(words), "{words}: {found}");
    }
}

/// Who waits in a creation is told so by its name.
#[test]
fn a_creation_that_one_leaves_out_is_named() {
    for (call, name) in
        [(dup(WORLD, NEW), "MPI_Comm_dup"), (split(WORLD, Some(0), 0, NEW), "MPI_Comm_split")]
    {
        let outcome = timed(&[vec![call], vec![]]);
        let Ending::Deadlock(found) = outcome.ending else { panic!("{:?}", outcome.ending) };
        assert!(found.to_string().contains(name), "{found}");
    }
}

/// A scenario names what its statements make: a duplicate, the parts of a split and of a part, and
/// endpoints; what is sent in one is received in it.
#[test]
fn a_program_of_a_scenario_names_what_it_makes() {
    let scratch = Scratch::new("communicators-program");
    let rank = |me: u32| {
        let (color, to) = (me % 2, (me / 2 + 1) % 2);
        format!(
            r#"[
      {{ "op": "comm_dup", "new": "twin" }},
      {{ "op": "allreduce", "count": 3, "comm": "twin" }},
      {{ "op": "comm_split", "comm": "twin", "color": {color}, "key": {me}, "new": "half" }},
      {{ "op": "isend", "to": {to}, "size": "{me} B", "comm": "half", "req": "s" }},
      {{ "op": "recv", "src": {to}, "max": "8 B", "comm": "half" }},
      {{ "op": "wait", "req": "s" }},
      {{ "op": "comm_split", "color": "undefined", "new": "none" }},
      {{ "op": "create_endpoints", "comm": "half", "new": [ "low", "high" ] }},
      {{ "op": "isend", "to": {there}, "size": "8 B", "comm": "low", "req": "s" }},
      {{ "op": "recv", "src": {here}, "max": "8 B", "comm": "high" }},
      {{ "op": "wait", "req": "s" }},
      {{ "op": "free_endpoint", "comm": "high" }},
      {{ "op": "free_endpoint", "comm": "low" }},
      {{ "op": "comm_free", "comm": "half" }},
      {{ "op": "comm_dup", "comm": "twin", "new": "half" }},
      {{ "op": "barrier", "comm": "half" }}
    ]"#,
            there = 2 * to + 1,
            here = 2 * to,
        )
    };
    let program = |ranks: &[String]| {
        format!(
            "{{ \"schema\": 1, \"title\": \"t\", \"machine\": \"ideal\", \"mpi\": {{ \"payload\": \"real\" }}, \
             \"workload\": {{ \"kind\": \"program\", \"ranks\": [ {} ] }} }}",
            ranks.join(", ")
        )
    };
    scratch.write("made.json", &program(&(0..4).map(rank).collect::<Vec<_>>()));
    scratch.run(&["run", "made.json", "--out", "r"]).check(0, &[]);

    let beyond = r#"[ { "op": "comm_split", "color": 0, "new": "a" },
        { "op": "send", "to": 2, "size": "8 B", "comm": "a" } ]"#;
    scratch.write("beyond.json", &program(&[beyond.to_owned(), beyond.to_owned()]));
    let answer = scratch.run(&["run", "beyond.json"]).check(1, &["error[E1003]"]);
    assert!(answer.out.contains("the communicator has no such rank"), "{}", answer.out);

    let left = r#"[ { "op": "comm_split", "color": 0, "new": "a" } ]"#;
    scratch.write("left.json", &program(&[left.to_owned(), "[ ]".to_owned()]));
    let answer = scratch.run(&["run", "left.json"]).check(1, &["error[E1003]"]);
    assert!(answer.out.contains("MPI_Comm_split"), "{}", answer.out);
}
