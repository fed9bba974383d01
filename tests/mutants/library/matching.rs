//! Matching: order, wildcards, adapters, threads that share a queue.

use super::Case;
use crate::small::{Small, WORLD, all, irecv, isend, recv, send, wait_all};
use mpisim::protocols::call::Comm;
use mpisim::protocols::library::Endpoints;
use mpisim::protocols::mutant::Mutant;

pub(super) fn cases() -> Vec<(&'static str, Case)> {
    vec![
        ("2 ranks, 2 equal messages", two_of_a_kind()),
        ("2 ranks, a wildcard before an exact receive", a_wildcard_before_an_exact_receive()),
        ("2 ranks, the same with adapters that match", receives_before_an_adapter(true)),
        ("2 ranks, the same with adapters that do not", receives_before_an_adapter(false)),
        ("2 ranks, a large message to an adapter", a_read_by_an_adapter()),
        ("3 ranks, 2 senders to 4 wildcards", two_senders_to_wildcards()),
        ("2 ranks, 2 communicators", two_communicators()),
        ("2 processes, 2 threads receive", a_thread_between_search_and_append()),
        ("2 ranks, 1 message", a_lone_thread_searches_and_appends()),
        ("2 ranks, a receive that is too short", a_receive_that_is_too_short()),
    ]
}

fn two_of_a_kind() -> Case {
    let sender = vec![isend(WORLD, 0, 1, 1, 8), isend(WORLD, 1, 1, 1, 4), wait_all(0, 2)];
    let receiver = [0, 1].map(|id| recv(WORLD, Some(0), Some(1), id, 8)).to_vec();
    let two = Endpoints { lanes: 2, ..Endpoints::default() };
    Case {
        found: &[(Mutant::TwoRails, "M1"), (Mutant::Resends, "M4")],
        harmless: &[
            Mutant::RailPerPeer,
            Mutant::ExtraProbe,
            // Harmless here: one communicator, one rank a process, no wildcard.
            Mutant::PartOfContext,
            Mutant::NoDestination,
            Mutant::Tail,
        ],
        ..Case::new(Small::new(vec![sender, receiver]).with(two))
    }
}

fn a_wildcard_before_an_exact_receive() -> Case {
    let sender = vec![isend(WORLD, 0, 1, 1, 8), isend(WORLD, 1, 1, 1, 8), wait_all(0, 2)];
    let receiver =
        vec![irecv(WORLD, Some(0), None, 0), irecv(WORLD, Some(0), Some(1), 1), wait_all(0, 2)];
    Case {
        found: &[(Mutant::ExactFirst, "M2")],
        harmless: &[Mutant::OtherSource, Mutant::ExtraProbe, Mutant::Tail],
        ..Case::new(Small::new(vec![sender, receiver]))
    }
}

/// The same where an adapter may match, and where none does.
fn receives_before_an_adapter(adapters: bool) -> Case {
    let case = a_wildcard_before_an_exact_receive();
    let world = Small { adapters, ..case.world };
    if adapters {
        Case {
            found: &[(Mutant::NicExactFirst, "M2")],
            harmless: &[Mutant::NicFinFirst],
            ..Case::new(world)
        }
    } else {
        Case { harmless: &[Mutant::NicExactFirst], ..Case::new(world) }
    }
}

/// A large message: the buffer of its sender is free when it has FIN.
fn a_read_by_an_adapter() -> Case {
    let calls =
        vec![vec![send(WORLD, 1, 1, 40)], vec![irecv(WORLD, Some(0), Some(1), 0), wait_all(0, 1)]];
    let world = Small { adapters: true, ..Small::new(calls) };
    Case {
        found: &[(Mutant::NicFinFirst, "V2")],
        harmless: &[Mutant::NicExactFirst, Mutant::PinsTwice],
        ..Case::new(world)
    }
}

fn two_senders_to_wildcards() -> Case {
    let sender = vec![isend(WORLD, 0, 2, 1, 8), isend(WORLD, 1, 2, 1, 40), wait_all(0, 2)];
    let receiver = (0..4).map(|id| recv(WORLD, None, None, id, 40)).collect();
    Case {
        found: &[(Mutant::Tail, "M3")],
        harmless: &[Mutant::OtherSource, Mutant::ExactFirst],
        ..Case::new(Small::new(vec![sender.clone(), sender, receiver]))
    }
}

fn two_communicators() -> Case {
    let sender = vec![send(WORLD, 1, 1, 8), send(Comm(1), 1, 1, 8)];
    let receiver = vec![recv(Comm(1), Some(0), Some(1), 0, 8), recv(WORLD, Some(0), Some(1), 1, 8)];
    Case {
        found: &[(Mutant::PartOfContext, "M5")],
        harmless: &[Mutant::NoDestination],
        ..Case::new(Small::new(vec![sender, receiver]))
    }
}

fn a_thread_between_search_and_append() -> Case {
    let sender = all([send(WORLD, 1, 1, 8), send(WORLD, 1, 2, 8)]);
    let receiver = [1, 2].map(|tag| all([recv(WORLD, Some(0), Some(tag), tag.unsigned_abs(), 8)]));
    Case {
        found: &[(Mutant::Unlocks, "deadlock")],
        harmless: &[Mutant::ExtraProbe],
        ..Case::new(Small::threads(vec![vec![sender], receiver.to_vec()]))
    }
}

/// Of one thread alone nothing can come in between.
fn a_lone_thread_searches_and_appends() -> Case {
    let calls = vec![vec![send(WORLD, 1, 1, 8)], vec![recv(WORLD, Some(0), Some(1), 0, 8)]];
    Case { harmless: &[Mutant::Unlocks], ..Case::new(Small::new(calls)) }
}

fn a_receive_that_is_too_short() -> Case {
    let calls = vec![vec![send(WORLD, 1, 1, 8)], vec![recv(WORLD, Some(0), Some(1), 0, 4)]];
    Case { found: &[(Mutant::PastTheEnd, "M8")], ..Case::new(Small::new(calls)) }
}
