use std::collections::VecDeque;
use std::sync::Arc;

use super::*;
use crate::rank_map::RankMap;
use crate::tag::Fields;
use engine::streams::{Stream, Streams};
use mpi::envelope::{Context, Envelope, Rank, Selection};
use mpi::matching::MatchingEngine;
use protocols::call::Comm;

/// MPI's queue of one process, which its probe empties from the head.
type Queue = VecDeque<Probed<u64>>;

fn part(counts: &[u32], process: u32) -> Part<u64> {
    Part::new(Comm(0), &Arc::new(RankMap::from_counts(counts)), process)
}

fn sent(id: u64, process: u32, (tag, sender, receiver): (i32, u32, u32)) -> Probed<u64> {
    let tag = Fields { tag, sender, receiver }.encode().unwrap();
    Probed { message: id, source: process, tag }
}

/// MPI's matched probe on a queue; a library that requested less than anything would see less.
fn probe(queue: &mut Queue) -> impl FnMut(ProcessProbe) -> Option<Probed<u64>> {
    |wanted| {
        let wants = |found: &Probed<u64>| {
            wanted.source.is_none_or(|source| source == found.source)
                && wanted.tag.is_none_or(|tag| tag == found.tag)
        };
        let at = queue.iter().position(wants)?;
        queue.remove(at)
    }
}

// claim: xep-dequeue
#[test]
fn a_check_empties_the_queue_and_keeps_the_order_of_each_source() {
    let mut part = part(&[2, 2], 1);
    let plan = [(1, 0, 0), (2, 1, 1), (3, 0, 0), (4, 0, 1), (5, 1, 0)];
    let of = |(id, sender, receiver)| sent(id, 0, (7, sender, receiver));
    let mut queue: Queue = plan.into_iter().map(of).collect();
    let checked = check(&mut part, probe(&mut queue)).unwrap();
    assert!(queue.is_empty());
    assert_eq!(checked, Checked { probes: 6, drained: 5 });
    for receiver in [0_u32, 1] {
        let list = &mut part.handles[receiver as usize].messages;
        let ids: Vec<u64> = std::iter::from_fn(|| list.take(Wanted::ANYTHING).matched)
            .map(|message| message.message)
            .collect();
        let expected = plan.iter().filter(|(_, _, to)| *to == receiver).map(|(id, _, _)| *id);
        assert_eq!(ids, expected.collect::<Vec<_>>());
    }
    let again = check(&mut part, probe(&mut queue)).unwrap();
    assert_eq!(again, Checked { probes: 1, drained: 0 });
}

// claim: xep-irecv
#[test]
fn irecv_drains_then_appends_then_serves() {
    let mut part = part(&[1, 1], 0);
    let mut pending = Pending::default();
    let mut queue: Queue = [sent(1, 1, (3, 0, 0))].into();
    // Drained before the walk, or the message would not be found; appended before the walk, or the
    // request would not be served.
    let wanted = Wanted::exactly(Rank(1), 3);
    let (checked, served) =
        irecv(&mut part, 0, &mut pending, ("r", wanted), probe(&mut queue)).unwrap();
    assert_eq!((checked.drained, served.matched.len(), pending.len()), (1, 1, 0));
    assert_eq!((served.matched[0].0, served.matched[0].1.message), ("r", 1));
    // Drained before the append: a message that cannot be filed leaves no request behind.
    let mut queue: Queue = [sent(2, 1, (3, 1, 0))].into();
    irecv(&mut part, 0, &mut pending, ("s", wanted), probe(&mut queue)).unwrap_err();
    assert!(pending.is_empty());
}

// claim: xep-pending-order
#[test]
fn the_earliest_pending_receive_that_wants_a_message_gets_it() {
    let mut part = part(&[1, 1], 0);
    let mut pending = Pending::default();
    let wanted = [Wanted::exactly(Rank(1), 9), Wanted::ANYTHING, Wanted::exactly(Rank(1), 3)];
    for (request, wanted) in (0..).zip(wanted) {
        pending.post(request, wanted);
    }
    for id in [1, 2] {
        let mut queue: Queue = [sent(id, 1, (3, 0, 0))].into();
        check(&mut part, probe(&mut queue)).unwrap();
    }
    let served = pending.serve(&mut part.handles[0].messages);
    let pairs: Vec<_> = served.matched.iter().map(|(request, m)| (*request, m.message)).collect();
    assert_eq!(pairs, [(1, 1), (2, 2)]);
    assert_eq!(served.visited, 2 + 1 + 1);
    assert_eq!(pending.len(), 1);
}

/// A check by one endpoint files messages for all of its process, but matches receives of none.
// claim: xep-progress
#[test]
fn no_endpoint_completes_the_receives_of_another() {
    let mut part = part(&[2, 1], 0);
    let mut pending = [Pending::default(), Pending::default()];
    pending[1].post("r", Wanted::ANYTHING);
    let mut queue: Queue = [sent(1, 1, (3, 0, 1))].into();
    let (_, served) =
        irecv(&mut part, 0, &mut pending[0], ("s", Wanted::ANYTHING), probe(&mut queue)).unwrap();
    assert!(served.matched.is_empty() && pending[1].len() == 1);
    assert_eq!(part.handles[1].messages.len(), 1);
    let served = pending[1].serve(&mut part.handles[1].messages);
    assert_eq!(served.matched[0].0, "r");
}

/// Random senders and receivers: each endpoint matches exactly as an endpoint with a matching
/// engine of its own would that sees the same messages in the same order.
#[test]
fn matching_is_that_of_an_endpoint_with_queues_of_its_own() {
    for seed in 0..200 {
        check_against_engines(&mut Streams::new(seed).stream("endpoint matching", 0));
    }
}

fn check_against_engines(stream: &mut Stream) {
    let mut below = |n: u64| u32::try_from(stream.below(n)).unwrap();
    let counts = [1 + below(3), 1 + below(3)];
    let map = RankMap::from_counts(&counts);
    let (mut part, mut queue) = (part(&counts, 1), Queue::new());
    let endpoints = counts[1] as usize;
    let mut engines: Vec<MatchingEngine<u64, u64>> = vec![MatchingEngine::default(); endpoints];
    let mut pending: Vec<Pending<u64>> = vec![Pending::default(); endpoints];
    let (mut expected, mut found) = (Vec::new(), Vec::new());
    for id in 0..40 {
        let receiver = below(u64::from(counts[1]));
        let tag = i32::try_from(below(2)).unwrap();
        let source = Rank(below(u64::from(map.size())));
        if below(2) == 0 {
            let place = map.place(source).unwrap();
            queue.push_back(sent(id, place.process, (tag, place.local, receiver)));
            let envelope = Envelope { context: Context(0), dest: Rank(0), source, tag };
            let posted = engines[receiver as usize].arrive(envelope, id).matched;
            expected.extend(posted.map(|request| (request, id)));
        } else {
            let source = Some(source).filter(|_| below(2) == 0);
            let tag = Some(tag).filter(|_| below(2) == 0);
            let selection = Selection { context: Context(0), dest: Rank(0), source, tag };
            let taken = engines[receiver as usize].post(selection, id).matched;
            expected.extend(taken.map(|message| (id, message.payload)));
            let request = (id, Wanted { source, tag });
            let own = &mut pending[receiver as usize];
            let (_, served) = irecv(&mut part, receiver, own, request, probe(&mut queue)).unwrap();
            found.extend(served.matched.into_iter().map(|(id, message)| (id, message.message)));
        }
    }
    check(&mut part, probe(&mut queue)).unwrap();
    for (own, handle) in pending.iter_mut().zip(&mut part.handles) {
        let served = own.serve(&mut handle.messages);
        found.extend(served.matched.into_iter().map(|(id, message)| (id, message.message)));
    }
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected);
}

/// Two threads drain one queue of two messages of one sender, in the order of `schedule`: the bits
/// say who goes on. A thread that does not probe and relocate in one step holds what it found until
/// its next turn. Answers with the list of the receiver.
fn drained_by_two(schedule: u32, in_one_step: bool) -> Vec<u64> {
    let mut part = part(&[1, 1], 0);
    let mut queue: Queue = [sent(1, 1, (3, 0, 0)), sent(2, 1, (3, 0, 0))].into();
    let mut held = [None, None];
    for turn in 0..8 {
        let held = &mut held[usize::from(schedule >> turn & 1 == 1)];
        if held.is_none() {
            *held = probe(&mut queue)(ANY);
            if !in_one_step {
                continue;
            }
        }
        if let Some(probed) = held.take() {
            message::relocate(&mut part, probed).unwrap();
        }
    }
    // A thread that still holds a message files it at last.
    for probed in held.into_iter().flatten() {
        message::relocate(&mut part, probed).unwrap();
    }
    let list = &mut part.handles[0].messages;
    std::iter::from_fn(|| list.take(Wanted::ANYTHING).matched).map(|found| found.message).collect()
}

/// All schedules: only relocation in one step with the probe keeps the order of a sender.
#[test]
fn probe_and_relocation_have_to_be_one_step() {
    let orders = |in_one_step| -> std::collections::BTreeSet<Vec<u64>> {
        (0..1 << 8).map(|schedule| drained_by_two(schedule, in_one_step)).collect()
    };
    assert_eq!(orders(true), [vec![1, 2]].into());
    assert_eq!(orders(false), [vec![1, 2], vec![2, 1]].into());
}
