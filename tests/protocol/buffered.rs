//! Ready and buffered sends: when they return, what they refuse, and when room is free again.
//!
//! `coop` Table II and Sec. II-B1; MPI-3.1, Sec. 3.4 and 3.6.

use crate::chart::{check_chart, near};
use crate::small::{Small, WORLD, irecv, recv, wait_all};
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{Buffer, Call, Comm, Peer, SendMode};
use mpisim::protocols::contract::Handle;
use mpisim::protocols::rendezvous::{Cooperation, Protocol, Scheme};
use mpisim::runtime::explore::{self, Budget, Survey};

const SCHEMES: [Scheme; 6] = [
    Scheme::Fixed(Protocol::RPut),
    Scheme::Fixed(Protocol::RGet),
    Scheme::Fixed(Protocol::Rtr),
    Scheme::Fixed(Protocol::CoopP2p),
    Scheme::Coll,
    Scheme::Load,
];

fn attach(bytes: u64) -> Call {
    Call::AttachBuffer { bytes }
}

fn bsend(to: u32, id: u32, bytes: u64) -> Call {
    let (to, buffer, mode) = (Peer::Rank(Rank(to)), Buffer { id, bytes }, SendMode::Buffered);
    Call::Send { to, tag: 1, comm: WORLD, buffer, mode }
}

fn survey(calls: Vec<Vec<Call>>, scheme: Scheme) -> Survey {
    let small = Small { near: Some(Cooperation::by(scheme)), ..Small::new(calls) };
    explore::judged(&small.world(), Budget::default(), |_| None)
}

/// The messages arrive as they were, whatever the order, and all room is free when detach returns.
#[test]
fn buffered_messages_arrive_in_every_order_and_detach_waits_for_them() {
    for scheme in SCHEMES {
        for sizes in [[40, 24], [8, 40], [40, 8]] {
            let sender =
                vec![attach(64), bsend(1, 0, sizes[0]), bsend(1, 1, sizes[1]), Call::DetachBuffer];
            let receivers = [
                [0, 1].map(|id| recv(WORLD, Some(0), Some(1), id, 40)).to_vec(),
                vec![
                    irecv(WORLD, Some(0), Some(1), 0),
                    irecv(WORLD, Some(0), Some(1), 1),
                    wait_all(0, 2),
                ],
            ];
            for receiver in receivers {
                let survey = survey(vec![sender.clone(), receiver], scheme);
                assert!(survey.is_clean(), "{scheme:?} {sizes:?}: {survey:#?}");
                assert!(survey.sometimes.compared > 0);
            }
        }
    }
}

/// Head to head: with standard sends a deadlock, buffered it ends (V9).
#[test]
fn buffered_sends_head_to_head_end() {
    let rank = |me: u32| {
        let other = 1 - me;
        let receive = recv(WORLD, Some(other), Some(1), 1, 40);
        vec![attach(40), bsend(other, 0, 40), receive, Call::DetachBuffer]
    };
    for scheme in SCHEMES {
        let survey = survey(vec![rank(0), rank(1)], scheme);
        assert!(survey.is_clean(), "{scheme:?}: {survey:#?}");
    }
}

#[track_caller]
fn check_refused(sender: Vec<Call>, words: &str) {
    let receiver = vec![recv(WORLD, Some(0), Some(1), 0, 40)];
    let survey = survey(vec![sender, receiver], Scheme::Fixed(Protocol::RGet));
    assert!(survey.finals == 0 && format!("{survey:?}").contains(words), "{survey:#?}");
}

#[test]
fn a_message_without_room_is_an_error() {
    check_refused(vec![bsend(1, 0, 40)], "no buffer is attached for a buffered send");
    check_refused(vec![attach(39), bsend(1, 0, 40)], "39 B are free of an attached buffer of 39 B");
    check_refused(vec![attach(7), bsend(1, 0, 8)], "7 B are free of an attached buffer of 7 B");
    check_refused(vec![attach(8), attach(8)], "a buffer is attached already");
    check_refused(vec![Call::DetachBuffer], "no buffer is attached");
}

/// Room that is not free yet is not given again: the second message fits only where the first is gone.
#[test]
fn room_comes_back_when_the_transfer_ends() {
    let receiver = [0, 1].map(|id| recv(WORLD, Some(0), Some(1), id, 40)).to_vec();
    let twice = vec![attach(60), bsend(1, 0, 40), bsend(1, 1, 40), Call::DetachBuffer];
    let both = survey(vec![twice, receiver.clone()], Scheme::Fixed(Protocol::RGet));
    assert!(format!("{both:?}").contains("20 B are free"), "{both:#?}");
    let detached =
        vec![attach(60), bsend(1, 0, 40), Call::DetachBuffer, attach(60), bsend(1, 1, 40)];
    let detached = [detached, vec![Call::DetachBuffer]].concat();
    let survey = survey(vec![detached, receiver], Scheme::Fixed(Protocol::RGet));
    assert!(survey.is_clean(), "{survey:#?}");
}

const LARGE: u64 = 100_001;

fn large(mode: SendMode) -> Call {
    let (to, comm) = (Peer::Rank(Rank(1)), Comm::default());
    Call::Send { to, tag: 7, comm, buffer: Buffer { id: 0, bytes: LARGE }, mode }
}

fn room() -> Buffer {
    Buffer { id: 1, bytes: LARGE }
}

#[test]
fn a_buffered_send_returns_when_it_has_copied() {
    // claim: coop-sem-coll-bsend
    let chart = near(2, Cooperation::by(Scheme::Coll)).call(0, attach(LARGE));
    let chart = chart.call(0, large(SendMode::Buffered));
    let (source, comm) = (Peer::Rank(Rank(0)), Comm::default());
    let receive = Call::Recv { source, tag: Some(7), comm, buffer: room() };
    let chart = chart.call(1, receive).call(0, Call::DetachBuffer).settle();
    check_chart(
        &chart,
        "
        0 returns at once
        0 copies 100001 B from user to attached
        0 completes
        0 sends RTS 100001 B to 1
        0 returns sent
        1 copies 100001 B at 0 out of 0
        1 sends FIN to 0
        1 completes
        1 returns 100001 B from 0 tag 7
        0 completes
        0 returns at once
        ",
    );
}

/// Table II, last row: the receive is posted; RPUT by default, RTR where the scenario says so.
#[test]
fn a_ready_send_into_a_non_blocking_receive_is_rput_or_rtr() {
    let told = |ready_by_rtr| {
        let cooperation = Cooperation { ready_by_rtr, ..Cooperation::by(Scheme::Coll) };
        let (source, comm) = (Peer::Rank(Rank(0)), Comm::default());
        let request = Handle(1);
        let early = Call::Irecv { request, source, tag: Some(7), comm, buffer: room() };
        let look = Call::Iprobe { source: Peer::Any, tag: Some(1), comm };
        let chart = near(2, cooperation).call(1, early).call(0, look);
        let chart = chart.call(0, large(SendMode::Ready)).call(1, Call::Wait { request });
        let story = chart.settle().story;
        let said = |line: &String| line.split_whitespace().nth(2).map(str::to_owned);
        let sends = story.iter().filter(|line| line.contains("sends"));
        sends.filter_map(said).collect::<Vec<_>>()
    };
    assert_eq!(told(false), ["RTS", "CTS", "FIN"]);
    assert_eq!(told(true), ["RTR", "FIN"]);
}
