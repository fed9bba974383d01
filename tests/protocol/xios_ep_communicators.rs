//! Communicators of endpoints that are made while the program runs: who is in them, messages and
//! collectives in them, in the untimed world and on the simulated machine.

use std::sync::Arc;

use crate::common::{ideal, job};
use crate::layouts::{Script, World, size, world_of};
use mpisim::collectives::{Blocks, Collective};
use mpisim::engine::Streams;
use mpisim::mpi::envelope::Rank;
use mpisim::mpi::group::Choice;
use mpisim::protocols::call::{
    Buffer, Call, Comm, CommCall, Outcome as Ended, Peer, Reply, SendMode, Status,
};
use mpisim::protocols::contract::{Handle, Process, Region, Space, Thread};
use mpisim::runtime::explore::{self, Budget, Survey};
use mpisim::runtime::timed::Ending;
use mpisim::runtime::untimed::Outcome;
use mpisim::workloads::xios_ep::Rules;
use mpisim::xios_ep::rank_map::RankMap;
use mpisim::xios_ep::split::{self, KeyRule};

const WORLD: Comm = Comm(0);
const NEW: Comm = Comm(7);

fn dup(comm: Comm, new: Comm) -> Call {
    Call::Communicators(CommCall::Dup { comm, new })
}

fn split_of(comm: Comm, Choice { color, key }: Choice, new: Comm) -> Call {
    Call::Communicators(CommCall::Split { comm, color, key, new })
}

fn free(comm: Comm) -> Call {
    Call::Communicators(CommCall::Free { comm })
}

fn chooses(color: i32, key: i32) -> Choice {
    Choice { color: Some(color), key }
}

const NONE: Choice = Choice { color: None, key: 0 };

fn isend(comm: Comm, id: u32, to: u32, bytes: u64) -> Call {
    let (to, buffer) = (Peer::Rank(Rank(to)), Buffer { id, bytes });
    let (request, mode) = (Handle(id), SendMode::Standard);
    Call::Isend { request, to, tag: 3, comm, buffer, mode }
}

fn recv(comm: Comm, from: u32, id: u32) -> Call {
    let source = Peer::Rank(Rank(from));
    Call::Recv { source, tag: Some(3), comm, buffer: Buffer { id, bytes: 64 } }
}

fn wait(id: u32) -> Call {
    Call::Wait { request: Handle(id) }
}

/// The endpoints of a layout, process by process.
fn map(counts: &[u16]) -> RankMap {
    RankMap::from_counts(&counts.iter().map(|&count| count.into()).collect::<Vec<_>>())
}

fn replies(world: &World, counts: &[u16]) -> Vec<Vec<Reply>> {
    let place = |rank| map(counts).place(Rank(rank)).unwrap();
    let of = |rank| {
        let (process, thread) = (place(rank).process, place(rank).local);
        let thread = Thread(u16::try_from(thread).unwrap());
        world.program(Process(process), thread).program().replies.clone()
    };
    (0..size(counts)).map(of).collect()
}

/// A walk in the untimed world, and what each call of each endpoint returned.
#[track_caller]
fn walked(counts: &[u16], calls: &[Vec<Call>], seed: u64) -> Vec<Vec<Reply>> {
    let mut world = world_of(counts, calls.iter().cloned());
    let walk = explore::walk(&mut world, seed, 5, 1_000_000);
    let fault = world.fault().map(ToString::to_string);
    assert_eq!((walk.outcome, walk.violations), (Outcome::Finished, vec![]), "{seed}: {fault:?}");
    assert_eq!(world.conclude(), []);
    replies(&world, counts)
}

/// The same on the simulated machine.
#[track_caller]
fn timed(threads: u16, calls: &[Vec<Call>]) -> Vec<Vec<Reply>> {
    let programs = calls.iter().cloned().map(Script::new).collect();
    let mut job = job(ideal(&[("mpi.poll_per_channel", "10 ns")]), programs);
    job.threads = threads;
    let ran = job.timed_over_xios_ep(Rules::default()).unwrap().run();
    assert_eq!(ran.outcome.ending, Ending::Finished);
    assert_eq!(ran.outcome.violations, []);
    ran.programs.iter().map(|thread| thread.program().replies.clone()).collect()
}

fn explored(counts: &[u16], calls: &[Vec<Call>]) -> Survey {
    explore::exhaustive(&world_of(counts, calls.iter().cloned()), Budget::default())
}

/// Each sends its old rank, as a length, round the ring of its new communicator.
fn ring(counts: &[u16], choices: &[Choice]) -> (Vec<Vec<Call>>, Vec<Option<Status>>) {
    let parts = split::split(&map(counts), choices, KeyRule::InProcess).unwrap();
    let mut calls: Vec<Vec<Call>> =
        choices.iter().map(|choice| vec![split_of(WORLD, *choice, NEW)]).collect();
    let mut heard = vec![None; choices.len()];
    for part in parts {
        let members = u32::try_from(part.members.len()).unwrap();
        for (old, rank) in part.members.iter().zip(0..) {
            let (next, before) = ((rank + 1) % members, (rank + members - 1) % members);
            calls[old.0 as usize].extend([
                isend(NEW, 1, next, u64::from(old.0)),
                recv(NEW, before, 2),
                wait(1),
                Call::Barrier { comm: NEW },
                free(NEW),
            ]);
            let count = u64::from(part.members[before as usize].0);
            heard[old.0 as usize] =
                Some(Status { source: Some(Rank(before)), tag: Some(3), count });
        }
    }
    (calls, heard)
}

#[track_caller]
fn check_heard(replies: &[Vec<Reply>], heard: &[Option<Status>]) {
    for (replies, status) in replies.iter().zip(heard) {
        let expected = status.map(|status| Reply::Outcome(Ended::Received(status)));
        assert_eq!(replies.get(2), expected.as_ref());
    }
}

/// claim: xep-split-color
/// claim: xep-split-key
///
/// E7: members and their order are those of the sequential definition, for any choices.
#[test]
fn a_split_has_the_members_of_the_definition() {
    let mut draw = Streams::new(9).stream("splits", 0);
    for seed in 0..150 {
        let counts: &[u16] =
            [&[2, 2][..], &[3, 1, 2], &[1, 1, 1], &[4]][usize::try_from(seed % 4).unwrap()];
        let choice = |_| {
            let color = i32::try_from(draw.below(4)).unwrap();
            let key = i32::try_from(draw.below(3)).unwrap() - 1;
            Choice { color: (color < 3).then_some(color), key }
        };
        let choices: Vec<Choice> = (0..size(counts)).map(choice).collect();
        let (calls, heard) = ring(counts, &choices);
        check_heard(&walked(counts, &calls, seed), &heard);
        if seed % 4 == 0 {
            check_heard(&timed(2, &calls), &heard);
        }
    }
}

/// Two colors across both processes, and one endpoint that is in none.
#[test]
fn a_split_ends_well_in_every_order() {
    for (counts, choices) in [
        (&[2][..], vec![chooses(0, 1), chooses(0, 0)]),
        (&[2], vec![chooses(0, 0), NONE]),
        (&[1, 1], vec![chooses(5, 0), chooses(5, 0)]),
        (&[1, 1], vec![chooses(5, 0), chooses(4, 0)]),
        (&[2, 1], vec![chooses(1, 0), chooses(0, 0), chooses(0, 0)]),
    ] {
        let made = choices.iter().map(|choice| vec![split_of(WORLD, *choice, NEW)]);
        let survey = explored(counts, &made.collect::<Vec<_>>());
        assert!(survey.is_clean(), "{counts:?}, {choices:?}: {survey:#?}");
    }
}

/// Messages of a communicator and of its duplicate do not meet.
#[test]
fn a_duplicate_keeps_its_messages_apart() {
    let send = vec![
        dup(WORLD, NEW),
        isend(NEW, 1, 3, 4),
        isend(WORLD, 2, 3, 8),
        wait(1),
        wait(2),
        free(NEW),
    ];
    let receive = vec![dup(WORLD, NEW), recv(WORLD, 0, 1), recv(NEW, 0, 2), free(NEW)];
    let others = || vec![dup(WORLD, NEW), free(NEW)];
    let calls = [send, others(), others(), receive];
    let received = |count| {
        let status = Status { source: Some(Rank(0)), tag: Some(3), count };
        Reply::Outcome(Ended::Received(status))
    };
    for seed in 0..100 {
        let replies = walked(&[2, 2], &calls, seed);
        assert_eq!(replies[3][1..3], [received(8), received(4)]);
    }
    assert_eq!(timed(2, &calls)[3][1..3], [received(8), received(4)]);
}

/// Communicators of communicators, several at once, with collectives in each; a number may be used
/// again after the free.
#[test]
fn communicators_are_made_from_those_that_were_made() {
    let (odd, half, pair) = (Comm(4), Comm(5), Comm(6));
    let region = |id, len| Region::new(Space::User(id), len);
    let gather = |comm, id| {
        let (input, output) = (region(id, 8), region(id + 1, 64));
        let call = Collective::allgather(comm, input, output, Blocks::Equal(8));
        Call::Collective(Arc::new(call))
    };
    let rank = |me: i32| {
        vec![
            split_of(WORLD, chooses(me % 2, 0), odd),
            split_of(WORLD, chooses(me / 4, -me), half),
            gather(odd, 0),
            gather(half, 2),
            split_of(half, chooses(me / 2 % 2, 0), pair),
            Call::Barrier { comm: pair },
            free(half),
            dup(pair, half),
            gather(half, 4),
            free(odd),
            free(pair),
            gather(half, 6),
            free(half),
        ]
    };
    let calls: Vec<Vec<Call>> = (0..8).map(rank).collect();
    // Where a process has several masters, they make communicators at once.
    for counts in [&[1; 8][..], &[8], &[4, 4], &[3, 1, 4]] {
        for seed in 0..30 {
            walked(counts, &calls, seed);
        }
    }
    timed(1, &calls);
}

/// What an endpoint's first calls are refused with.
fn refused(calls: &[Call]) -> String {
    let mut world = world_of(&[2], [calls.to_vec(), calls.to_vec()]);
    explore::walk(&mut world, 1, 5, 10_000);
    world.fault().expect("it is refused").to_string()
}

#[test]
fn what_is_no_communicator_is_refused_with_words() {
    for (calls, words) in [
        (vec![dup(NEW, Comm(8))], "no such communicator"),
        (vec![Call::Barrier { comm: NEW }], "no such communicator"),
        (vec![dup(WORLD, NEW), dup(WORLD, NEW)], "is in use"),
        (vec![dup(WORLD, WORLD)], "is in use"),
        (vec![free(WORLD)], "not freed"),
        (vec![split_of(WORLD, chooses(-1, 0), NEW)], "a color is undefined, or 0 or more"),
        (vec![split_of(WORLD, NONE, NEW), Call::Barrier { comm: NEW }], "no such communicator"),
        (vec![dup(WORLD, NEW), free(NEW), Call::Barrier { comm: NEW }], "no such communicator"),
        (vec![Call::Communicators(CommCall::Numbers { comm: WORLD, own: [1].into() })], "numbers"),
    ] {
        let found = refused(&calls);
        assert!(found.contains(words), "{words}: {found}");
    }
    let mut world = world_of(&[2], [vec![dup(WORLD, NEW)], vec![free(WORLD)]]);
    explore::walk(&mut world, 1, 5, 10_000);
    assert!(world.fault().is_some());
    let mut world =
        world_of(&[2], [vec![dup(WORLD, NEW)], vec![split_of(WORLD, chooses(0, 0), NEW)]]);
    explore::walk(&mut world, 1, 5, 10_000);
    assert!(world.fault().unwrap().to_string().contains("the operation differs"));
}
