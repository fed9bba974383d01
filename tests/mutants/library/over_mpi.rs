//! The endpoint library over plain MPI.

use super::{Sound, Tried, planted};
use crate::small::{WORLD, irecv, recv, send};
use crate::{layouts, windows};
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{Call, Comm, CommCall, Outcome, Reply};
use mpisim::protocols::contract::{Handle, Process, Thread};
use mpisim::protocols::mutant::Mutant;
use mpisim::protocols::rma::call::Flavor;
use mpisim::runtime::explore::Budget;
use mpisim::runtime::monitors::Violation;
use mpisim::runtime::{explore, untimed};
use mpisim::xios_ep::tag::USER_BITS;

pub(super) fn cases() -> Vec<(&'static str, Tried)> {
    let too_large = Tried {
        sound: Sound::Refused("tag 32768 is out of range"),
        found: &[(Mutant::MasksTag, "M10")],
        harmless: &[Mutant::ChecksTwice],
        ..a_tag_that_does_not_fit(1 << USER_BITS)
    };
    let fits = Tried {
        harmless: &[Mutant::MasksTag, Mutant::ChecksTwice, Mutant::EndsPending],
        ..a_tag_that_does_not_fit(0)
    };
    let tested = Tried {
        sound: Sound::LeavesOpen,
        found: &[(Mutant::EndsPending, "M11")],
        harmless: &[Mutant::MasksTag, Mutant::ChecksTwice],
        ..a_test_of_a_pending_receive()
    };
    let windows = Tried {
        found: &[(Mutant::SplitsMemory, "W1")],
        harmless: &[Mutant::MasksTag, Mutant::EndsPending],
        ..two_windows_of_a_server()
    };
    let between = |receiver| Tried {
        harmless: &[Mutant::EndsPending, Mutant::ChecksTwice],
        ..a_message_between_two_groups(receiver)
    };
    let printed = Tried { found: &[(Mutant::AsPrinted, "refusal")], ..between(1) };
    let equal = Tried { harmless: &[Mutant::AsPrinted], ..between(0) };
    vec![
        ("2 endpoints over plain MPI, a tag too large", too_large),
        ("2 endpoints over plain MPI, 1 message", fits),
        ("2 endpoints over plain MPI, a test", tested),
        ("3 endpoints over plain MPI, a window of each client", windows),
        ("3 endpoints over plain MPI, a message between two groups", printed),
        ("3 endpoints over plain MPI, a message between ranks 0 of two groups", equal),
    ]
}

/// A world of endpoints of the endpoint library; at a good end `holds` must be true.
fn of_endpoints(
    counts: &'static [u16],
    scripts: Vec<layouts::Script>,
    law: (&'static str, &'static str),
    holds: impl Fn(&layouts::World) -> bool + 'static,
) -> Tried {
    of_many_endpoints((counts, false), scripts, law, holds)
}

/// The same; where there are too many orders, those are left out that differ in nothing else.
fn of_many_endpoints(
    (counts, reduce): (&'static [u16], bool),
    scripts: Vec<layouts::Script>,
    (law, statement): (&'static str, &'static str),
    holds: impl Fn(&layouts::World) -> bool + 'static,
) -> Tried {
    let survey = move |mutant: Option<Mutant>, states| {
        let judge = |world: &layouts::World| {
            let detail = "it does not hold at this end".to_owned();
            let broken = Violation { id: law, statement, objects: Vec::new(), detail };
            (!holds(world)).then_some(broken)
        };
        let start = layouts::world_from(counts, scripts.clone(), |job| planted(job, mutant));
        explore::judged(&start, Budget { states, reduce }, judge)
    };
    Tried { survey: Box::new(survey), sound: Sound::Ends, found: &[], harmless: &[] }
}

const BETWEEN: (&str, &str) =
    ("M12", "a message between two groups reaches the rank that its sender named");

/// Endpoint 0 and both endpoints of process 1 are two groups; one message to a rank of the second.
fn a_message_between_two_groups(receiver: u32) -> Tried {
    let (own, inter) = (Comm(7), Comm(8));
    let endpoint = |me: u32| {
        let (color, remote) = if me == 0 { (0, 1) } else { (1, 0) };
        let split = CommCall::Split { comm: WORLD, color: Some(color), key: 0, new: own };
        let (leader, remote_leader, peer, tag, new) = (Rank(0), Rank(remote), WORLD, 3, inter);
        let create = CommCall::Intercomm { comm: own, leader, peer, remote_leader, tag, new };
        let then = match me {
            0 => Some(send(inter, receiver, 5, 8)),
            _ => (me == 1 + receiver).then(|| recv(inter, Some(0), Some(5), 0, 8)),
        };
        [split, create].map(Call::Communicators).into_iter().chain(then).collect()
    };
    let came = move |world: &layouts::World| {
        let thread = Thread(u16::try_from(receiver).unwrap());
        let replies = &world.program(Process(1), thread).program().replies;
        matches!(replies.last(), Some(Reply::Outcome(Outcome::Received(status))) if status.count == 8)
    };
    of_many_endpoints((&[1, 2], true), scripts((0..3).map(endpoint).collect()), BETWEEN, came)
}

const PACKING: (&str, &str) = ("M10", "a value that does not fit a packed tag is an error");

const TYPES: (&str, &str) = ("M11", "a test completes a request of type 1 or 3 only");

const ONE_MEMORY: (&str, &str) = ("W1", "the windows of a server of endpoints show one memory");

fn scripts(calls: Vec<Vec<Call>>) -> Vec<layouts::Script> {
    calls.into_iter().map(layouts::Script::new).collect()
}

/// Both threads of a client process put a word, each by its own window of the server.
fn two_windows_of_a_server() -> Tried {
    let opens = || windows::window_of(Flavor::Create, 2);
    let client = |rank: u32| {
        layouts::Script::of([
            windows::set(1, 0, 5 + u64::from(rank)),
            opens(),
            windows::lock(2, windows::SHARED),
            windows::put(2, rank.into(), 1),
            windows::unlock(2),
            windows::free_window(),
        ])
    };
    let server = layouts::Script::of([opens(), windows::free_window()]);
    let both_are_there = |world: &layouts::World| {
        let word = |index| world.memories().load(Process(1), windows::own_word(index));
        [word(0), word(1)] == [5, 6]
    };
    of_endpoints(&[2, 1], vec![client(0), client(1), server], ONE_MEMORY, both_are_there)
}

/// The user's tag is one above what its field holds; as 0 it would be that of the receive.
fn a_tag_that_does_not_fit(tag: i32) -> Tried {
    let calls = vec![vec![send(WORLD, 1, tag, 8)], vec![recv(WORLD, Some(0), Some(0), 0, 8)]];
    of_endpoints(&[1, 1], scripts(calls), PACKING, move |_| tag == 0)
}

/// A test before or after the arrival of its message; the second one ends the receive.
fn a_test_of_a_pending_receive() -> Tried {
    let test = Call::Test { request: Handle(0) };
    let calls = vec![vec![send(WORLD, 1, 1, 8)], vec![irecv(WORLD, Some(0), Some(1), 0), test]];
    let true_or_not_yet = |world: &layouts::World| {
        let replies = &world.program(Process(1), Thread(0)).program().replies;
        replies.iter().all(|reply| match reply {
            Reply::Tested(Some(Outcome::Received(status))) => status.count == 8,
            _ => true,
        })
    };
    of_endpoints(&[1, 1], scripts(calls), TYPES, true_or_not_yet)
}

/// Two groups in which the printed lookups find an entry, but a wrong one: the message for rank 1 of
/// the second group comes to its rank 2, and rank 1 waits for ever.
#[test]
fn a_message_routed_as_printed_reaches_another_endpoint() {
    let (own, inter) = (Comm(7), Comm(8));
    let endpoint = |me: u32| {
        let (color, remote) = if me < 2 { (0, 2) } else { (1, 0) };
        let split = CommCall::Split { comm: WORLD, color: Some(color), key: 0, new: own };
        let (leader, remote_leader, peer, tag, new) = (Rank(0), Rank(remote), WORLD, 3, inter);
        let create = CommCall::Intercomm { comm: own, leader, peer, remote_leader, tag, new };
        let then = match me {
            0 => Some(send(inter, 1, 5, 8)),
            3 => Some(recv(inter, Some(0), Some(5), 0, 8)),
            _ => None,
        };
        [split, create].map(Call::Communicators).into_iter().chain(then).collect()
    };
    let calls: Vec<Vec<Call>> = (0..5).map(endpoint).collect();
    for (mutant, ends) in [(None, true), (Some(Mutant::AsPrinted), false)] {
        for seed in 0..10 {
            let start = calls.iter().cloned().map(layouts::Script::new);
            let mut world = layouts::world_from(&[1, 1, 2, 1], start, |job| planted(job, mutant));
            let walk = explore::walk(&mut world, seed, 5, 100_000);
            assert_eq!(walk.outcome == untimed::Outcome::Finished, ends, "{mutant:?}, {seed}");
            assert!(world.fault().is_none(), "nobody refuses it");
        }
    }
}
