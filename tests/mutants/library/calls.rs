//! Calls that do several things at once, and requests that no thread waits for.

use std::sync::Arc;

use super::Case;
use crate::small::{Small, WORLD, World, exchange, irecv, isend, recv, started, wait, wait_all};
use mpisim::protocols::call::{Call, OfRequest, Outcome, Reply};
use mpisim::protocols::contract::{Handle, Process, Thread};
use mpisim::protocols::mutant::Mutant;

pub(super) fn cases() -> Vec<(&'static str, Case)> {
    vec![
        ("2 ranks, an exchange with one buffer", an_exchange_with_one_buffer()),
        ("2 ranks, an exchange that only begins", an_exchange_that_only_begins()),
        ("2 ranks, a large send that is freed", a_send_that_is_freed()),
        ("2 ranks, receives that are started", receives_that_are_started()),
        ("2 ranks, a send that is started", a_send_that_is_started()),
    ]
}

/// Large messages: each side reads the other's buffer when it likes.
fn an_exchange_with_one_buffer() -> Case {
    let calls = [1, 0].map(|to| {
        let call = exchange((to, 40), (to, 40), None, true);
        vec![Call::Exchange(Arc::new(call))]
    });
    Case {
        found: &[(Mutant::ReplacesAtOnce, "V2")],
        harmless: &[Mutant::FreesAtOnce],
        ..Case::new(Small::new(calls.to_vec()))
    }
}

fn an_exchange_that_only_begins() -> Case {
    let calls = [1, 0].map(|to| {
        let call = exchange((to, 40), (to, 40), Some(Handle(0)), false);
        vec![Call::Exchange(Arc::new(call)), wait(0)]
    });
    Case {
        found: &[(Mutant::EndsWithFirst, "S4")],
        harmless: &[Mutant::ReplacesAtOnce],
        ..Case::new(Small::new(calls.to_vec()))
    }
}

fn a_send_that_is_freed() -> Case {
    let free = Call::OfRequest { does: OfRequest::Free, request: Handle(0) };
    let sender = vec![isend(WORLD, 0, 1, 1, 40), free, Call::Finalize];
    let receiver = vec![recv(WORLD, Some(0), Some(1), 0, 40)];
    Case {
        found: &[(Mutant::FreesAtOnce, "S4")],
        harmless: &[Mutant::EndsWithFirst],
        ..Case::new(Small::new(vec![sender, receiver]))
    }
}

/// The receive that is started first is for the message that is sent last.
fn receives_that_are_started() -> Case {
    let sender = vec![isend(WORLD, 0, 1, 1, 8), isend(WORLD, 1, 1, 2, 8), wait_all(0, 2)];
    let prepared = [(0, 2), (1, 1)].map(|(id, tag)| irecv(WORLD, Some(0), Some(tag), id));
    let receiver = prepared.map(started).into_iter().chain([wait_all(0, 2)]).collect();
    let first = |world: &World| received_tags(world, 1) == [2, 1];
    Case {
        found: &[(Mutant::StartsWild, "M2")],
        harmless: &[Mutant::StartsNothing],
        ..Case::new(Small::new(vec![sender, receiver])).judged(
            "M2",
            "a receive takes a message of its tag",
            first,
        )
    }
}

fn a_send_that_is_started() -> Case {
    let sender = vec![started(isend(WORLD, 0, 1, 1, 40)), wait(0)];
    let receiver = vec![recv(WORLD, Some(0), Some(1), 0, 40)];
    Case {
        found: &[(Mutant::StartsNothing, "refusal")],
        harmless: &[Mutant::StartsWild],
        ..Case::new(Small::new(vec![sender, receiver]))
    }
}

/// The tags of what a process has received at its end.
fn received_tags(world: &World, process: u32) -> Vec<i32> {
    let program = world.program(Process(process), Thread(0));
    let tag = |outcome: &Outcome| {
        if let Outcome::Received(status) = outcome { status.tag } else { None }
    };
    let all = program
        .replies
        .iter()
        .filter_map(|reply| if let Reply::All(outcomes) = reply { Some(outcomes) } else { None });
    all.flat_map(|outcomes| outcomes.iter().filter_map(tag)).collect()
}
