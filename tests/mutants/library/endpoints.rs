//! Endpoints: their queues, their creation and their names; communicators of several threads.

use super::{Case, Sound};
use crate::small::{
    FIRST, Small, WORLD, all, at, create, free, irecv, isend, own, recv, send, wait_all,
};
use mpisim::protocols::call::{Call, Comm, CommCall};
use mpisim::protocols::contract::Next;
use mpisim::protocols::library::{Endpoints, Queues};
use mpisim::protocols::mutant::Mutant;

pub(super) fn cases() -> Vec<(&'static str, Case)> {
    vec![
        ("2 processes, 1 and 2 endpoints, one queue", two_endpoints(Queues::Shared)),
        ("2 processes, 1 and 2 endpoints, own queues", two_endpoints(Queues::Own)),
        ("2 processes, 1 and 2 endpoints that send", one_endpoint_and_two()),
        ("2 x 2 endpoints, one is silent", an_endpoint_that_is_silent()),
        ("2 x 2 endpoints, a message between frees", a_message_between_two_frees()),
        ("2 x 2 endpoints, frees only", frees_at_the_end()),
        ("2 processes, endpoints made after a free", made_after_a_free()),
        ("2 processes x 2 threads, duplicates at once", duplicates_of_two_threads()),
        ("2 processes, duplicates one after the other", duplicates_of_one_thread()),
        ("1 process, names of endpoints", names_of_endpoints()),
    ]
}

/// Rank 0 sends to rank 2, then to rank 1; both are endpoints of the other process.
fn two_endpoints(queues: Queues) -> Case {
    let one = vec![
        create(1, FIRST),
        isend(at(0), 0, 2, 0, 8),
        isend(at(0), 1, 1, 0, 4),
        wait_all(0, 2),
        free(at(0)),
    ];
    let two = vec![
        create(2, FIRST),
        irecv(at(0), Some(0), Some(0), 0),
        irecv(at(1), Some(0), Some(0), 1),
        wait_all(0, 2),
        free(at(0)),
        free(at(1)),
    ];
    let world = Small::new(vec![one, two]).with(Endpoints { queues, ..own(1) });
    let case = Case { harmless: &[Mutant::ContextGaps], ..Case::new(world) };
    match queues {
        Queues::Shared => Case { found: &[(Mutant::NoDestination, "M6")], ..case },
        // Whoever looks at a queue of one endpoint need not look at the destination.
        Queues::Own => Case { harmless: &[Mutant::NoDestination, Mutant::ContextGaps], ..case },
    }
}

fn one_endpoint_and_two() -> Case {
    let one = vec![
        create(1, FIRST),
        recv(at(0), None, Some(0), 0, 8),
        recv(at(0), None, Some(0), 1, 8),
        free(at(0)),
    ];
    let two = vec![
        create(2, FIRST),
        send(at(0), 0, 0, 8),
        send(at(1), 0, 0, 8),
        free(at(0)),
        free(at(1)),
    ];
    Case {
        found: &[(Mutant::OwnCount, "E1")],
        harmless: &[Mutant::ContextGaps],
        ..Case::new(Small::new(vec![one, two]).with(own(2)))
    }
}

/// Endpoint 0 of the second process never calls between its creation and its end.
fn an_endpoint_that_is_silent() -> Case {
    let sender =
        vec![create(2, FIRST), isend(at(1), 0, 3, 0, 8), wait_all(0, 1), free(at(0)), free(at(1))];
    let silent = [Next::Call(create(2, FIRST)), Next::Fork, Next::Join];
    let frees = all([free(at(0)), free(at(1))]);
    let first = silent.into_iter().chain(frees).collect();
    let second = all([recv(at(1), Some(1), Some(0), 0, 8)]);
    let world = Small::threads(vec![vec![all(sender)], vec![first, second]]).with(own(2));
    Case {
        found: &[(Mutant::FirstPolls, "deadlock")],
        harmless: &[Mutant::NoDestination],
        ..Case::new(world)
    }
}

/// Between its two frees a process sends what the other needs before it frees.
fn a_message_between_two_frees() -> Case {
    let sender = vec![create(2, FIRST), free(at(0)), send(at(1), 3, 0, 8), free(at(1))];
    let receiver =
        vec![create(2, FIRST), recv(at(1), Some(1), Some(0), 0, 8), free(at(0)), free(at(1))];
    let world = Small::new(vec![sender, receiver]).with(own(2));
    Case { found: &[(Mutant::FreesFirst, "deadlock")], ..Case::new(world) }
}

fn frees_at_the_end() -> Case {
    let rank = || vec![create(2, FIRST), free(at(1)), free(at(0))];
    let world = Small::new(vec![rank(), rank()]).with(own(2));
    // Nobody waits for anything else: too early is not noticed.
    Case { harmless: &[Mutant::FreesFirst, Mutant::ContextAgain], ..Case::new(world) }
}

/// Makes A and B, frees A, makes C: messages of B and C must not meet.
fn made_after_a_free() -> Case {
    let (a, b, c) = (Comm(10), Comm(20), Comm(30));
    let begin = [create(1, a.0), create(1, b.0), free(a), create(1, c.0)];
    let sends = [isend(b, 0, 1, 0, 4), isend(c, 1, 1, 0, 8), wait_all(0, 2)];
    let takes = [recv(c, Some(0), Some(0), 0, 8), recv(b, Some(0), Some(0), 1, 8)];
    let end = [free(b), free(c)];
    let sender = begin.iter().chain(&sends).chain(&end).cloned().collect();
    let receiver = begin.iter().chain(&takes).chain(&end).cloned().collect();
    Case {
        found: &[(Mutant::ContextAgain, "E6")],
        harmless: &[Mutant::ContextGaps],
        ..Case::new(Small::new(vec![sender, receiver]).with(own(1)))
    }
}

/// Two threads of each process duplicate two communicators at once.
fn duplicates_of_two_threads() -> Case {
    let dup = |comm, new| Call::Communicators(CommCall::Dup { comm, new });
    let process = || vec![all([dup(WORLD, Comm(10))]), all([dup(Comm(1), Comm(11))])];
    Case {
        found: &[(Mutant::ReadsCounter, "E6")],
        ..Case::new(Small::threads(vec![process(), process()]))
    }
}

/// The same one after the other, by one thread: the number is counted in time.
fn duplicates_of_one_thread() -> Case {
    let dup = |comm, new| Call::Communicators(CommCall::Dup { comm, new });
    let process = || vec![dup(WORLD, Comm(10)), dup(Comm(1), Comm(11))];
    Case { harmless: &[Mutant::ReadsCounter], ..Case::new(Small::new(vec![process(), process()])) }
}

/// Frees one of two endpoints and makes another; two are open at the end.
fn names_of_endpoints() -> Case {
    let calls = vec![create(2, FIRST), free(at(0)), create(1, 20)];
    Case {
        sound: Sound::LeavesOpen,
        found: &[(Mutant::IdAgain, "E6")],
        ..Case::new(Small::new(vec![calls]).with(own(1)))
    }
}
