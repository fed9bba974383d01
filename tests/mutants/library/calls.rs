//! Calls that do several things at once, and requests that no thread waits for.

use std::sync::Arc;

use super::Case;
use crate::small::{
    Small, WORLD, World, exchange, irecv, isend, recv, send, started, wait, wait_all,
};
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{
    Buffer, Call, OfPartitions, OfRequest, Outcome, Partitioned, Peer, Reply,
};
use mpisim::protocols::contract::{Handle, Next, Process, Region, Space, Thread};
use mpisim::protocols::mutant::Mutant;
use mpisim::protocols::partitioned::Side;

pub(super) fn cases() -> Vec<(&'static str, Case)> {
    vec![
        ("2 ranks, an exchange with one buffer", an_exchange_with_one_buffer()),
        ("2 ranks, an exchange that only begins", an_exchange_that_only_begins()),
        ("2 ranks, a large send that is freed", a_send_that_is_freed()),
        ("2 ranks, receives that are started", receives_that_are_started()),
        ("2 ranks, a send that is started", a_send_that_is_started()),
        ("2 ranks, partitions that are ready in turn", partitions_that_are_ready_in_turn()),
        ("2 ranks, a partition that is asked for", a_partition_that_is_asked_for()),
        ("2 ranks, two partitioned sends", two_partitioned_sends()),
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

/// A partitioned operation of request `request` with the other one of two ranks.
fn partitioned(side: Side, request: u32, (bytes, partitions): (u64, u16)) -> Call {
    let peer = Peer::Rank(Rank(u32::from(side == Side::Sends)));
    let buffer = Buffer { id: Buffer::OWN + request, bytes };
    let (request, tag, comm) = (Handle(request), 0, WORLD);
    Call::Partitioned(Arc::new(Partitioned { request, side, peer, tag, comm, buffer, partitions }))
}

fn of_partition(does: OfPartitions, partition: u16) -> Call {
    let (request, thread) = (Handle(0), None);
    Call::OfPartitions { does, request, first: partition, last: partition, thread }
}

/// It is prepared, and started.
fn begun(operation: Call) -> [Call; 2] {
    [Call::Prepare(Arc::new(operation.clone())), started(operation)]
}

/// A process says something, or hears it: the tags come in turn.
fn says(to: u32, tag: i32) -> Call {
    send(WORLD, to, tag, 8)
}

fn hears(from: u32, tag: i32) -> Call {
    recv(WORLD, Some(from), Some(tag), 91, 8)
}

/// Large partitions: the first one is written after the second one is ready, and both sides know of
/// each other.
fn partitions_that_are_ready_in_turn() -> Case {
    let ready = |partition| of_partition(OfPartitions::Ready, partition);
    let first = Region::new(Space::User(Buffer::OWN), 8);
    let [prepare, start] = begun(partitioned(Side::Sends, 0, (80, 2)));
    let before = [prepare, start, says(1, 1), hears(1, 2), ready(1)].map(Next::Call);
    let after = [Next::Store(first, 7), Next::Call(ready(0)), Next::Call(wait(0))];
    let sender = before.into_iter().chain(after).collect();
    let [prepare, start] = begun(partitioned(Side::Receives, 0, (80, 2)));
    let receiver = [hears(0, 1), prepare, start, says(0, 2), wait(0)].map(Next::Call);
    let world = Small::threads(vec![vec![sender], vec![receiver.into()]]);
    let written = move |world: &World| {
        world.memories().bytes(Process(1), first) == 7_u64.to_le_bytes().to_vec()
    };
    Case {
        found: &[(Mutant::SendsBeforeReady, "V2")],
        harmless: &[Mutant::PairsLast],
        ..Case::new(world).judged("V2", "a partition is sent as it is when it is ready", written)
    }
}

/// The first partition is ready after the receiver has asked for it, and the second one before.
fn a_partition_that_is_asked_for() -> Case {
    let ready = |partition| of_partition(OfPartitions::Ready, partition);
    let [prepare, start] = begun(partitioned(Side::Sends, 0, (16, 2)));
    let before = [prepare, start, says(1, 1), hears(1, 2), ready(1), says(1, 3), hears(1, 4)];
    let sender = before.into_iter().chain([ready(0), wait(0)]).collect();
    let [prepare, start] = begun(partitioned(Side::Receives, 0, (16, 2)));
    let before = [hears(0, 1), prepare, start, says(0, 2), hears(0, 3)];
    let asks = [of_partition(OfPartitions::Arrived, 0), says(0, 4), wait(0)];
    let receiver = before.into_iter().chain(asks).collect();
    let not_there = |world: &World| {
        let program = world.program(Process(1), Thread(0));
        program.replies.contains(&Reply::Flag(false))
    };
    Case {
        found: &[(Mutant::ArrivesWithAny, "V2")],
        harmless: &[Mutant::PairsLast],
        ..Case::new(Small::new(vec![sender, receiver])).judged(
            "V2",
            "no partition arrives before it is ready",
            not_there,
        )
    }
}

/// Of other lengths than each other.
fn two_partitioned_sends() -> Case {
    let both = |side| {
        let operations = [(0, (8, 1)), (1, (16, 1))].map(|(id, of)| partitioned(side, id, of));
        let prepare = operations.clone().map(|one| Call::Prepare(Arc::new(one)));
        prepare.into_iter().chain(operations.map(started)).collect::<Vec<_>>()
    };
    let ready = |request| {
        let (does, request) = (OfPartitions::Ready, Handle(request));
        Call::OfPartitions { does, request, first: 0, last: 0, thread: None }
    };
    let sender = both(Side::Sends).into_iter().chain([ready(1), ready(0), wait_all(0, 2)]);
    let receiver = both(Side::Receives).into_iter().chain([wait_all(0, 2)]);
    Case {
        found: &[(Mutant::PairsLast, "refusal")],
        harmless: &[Mutant::ArrivesWithAny],
        ..Case::new(Small::new(vec![sender.collect(), receiver.collect()]))
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
