//! RTR: receives that are offered to their sender, in every order of events.
//!
//! Matching must stay as it is without offers: the monitors of M1 to M8 and V1 to V3 watch all worlds
//! here. `coop` Sec. I-A; rules of `protocols/library/rtr.rs`.

use crate::chart::{check_chart, near};
use crate::small::{Small, WORLD, iprobe, irecv, isend, recv, send, wait_all};
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{Buffer, Call, Peer, SendMode};
use mpisim::protocols::contract::{Handle, Process};
use mpisim::protocols::rendezvous::{Cooperation, Protocol, Scheme};
use mpisim::runtime::explore::{self, Budget, Survey};
use mpisim::units::Bytes;

/// On one node at once, on one node in chunks, on a node for each.
fn wirings(calls: &[Vec<Call>]) -> [Small; 3] {
    let rtr = || Cooperation::by(Scheme::Fixed(Protocol::Rtr));
    let calls = || Small::new(calls.to_vec());
    let chunked = Cooperation { chunk: Some(Bytes::new(16)), ..rtr() };
    [
        Small { near: Some(rtr()), ..calls() },
        Small { near: Some(chunked), ..calls() },
        Small { rendezvous: Protocol::Rtr, ..calls() },
    ]
}

#[track_caller]
fn survey(small: &Small, reduce: bool) -> Survey {
    explore::judged(&small.world(), Budget { reduce, ..Budget::default() }, |_| None)
}

/// Every order in all wirings ends well; answers the states that were met.
#[track_caller]
fn check_clean(calls: &[Vec<Call>]) -> usize {
    let mut states = 0;
    for small in wirings(calls) {
        let survey = survey(&small, true);
        assert!(survey.is_clean(), "{:?}: {survey:#?}", small.near);
        states += survey.states;
    }
    states
}

/// A receive of any rank where `source` is `None`.
fn post(source: Option<u32>, tag: Option<i32>, id: u32) -> Call {
    irecv(WORLD, source, tag, id)
}

#[test]
fn an_offer_and_a_message_may_cross() {
    for look in [vec![], vec![iprobe(WORLD)]] {
        for bytes in [8, 17, 40] {
            let sender = [look.clone(), vec![send(WORLD, 1, 1, bytes)]].concat();
            check_clean(&[sender, vec![recv(WORLD, Some(0), Some(1), 1, 40)]]);
        }
    }
}

/// V8: what is sent first is matched first, whatever of it was offered.
#[test]
fn messages_with_and_without_offers_keep_their_order() {
    let mut states = 0;
    for sizes in [[40, 40], [8, 40], [40, 8]] {
        for tags in [[None, Some(1)], [Some(1), None], [Some(1), Some(1)]] {
            let [first, second] = sizes;
            let sender = vec![
                iprobe(WORLD),
                isend(WORLD, 0, 1, 1, first),
                iprobe(WORLD),
                isend(WORLD, 1, 1, 1, second),
                wait_all(0, 2),
            ];
            let receiver =
                vec![post(Some(0), tags[0], 0), post(Some(0), tags[1], 1), wait_all(0, 2)];
            states += check_clean(&[sender, receiver]);
        }
    }
    assert!(states > 3_000, "{states}");
}

/// A message that selects another receive than the first: the offers of both are there, or void.
#[test]
fn a_message_of_another_tag_leaves_the_offer_as_it_is() {
    let sender = vec![
        iprobe(WORLD),
        isend(WORLD, 0, 1, 2, 40),
        iprobe(WORLD),
        isend(WORLD, 1, 1, 1, 40),
        wait_all(0, 2),
    ];
    for tags in [[Some(1), Some(2)], [Some(1), None]] {
        let receiver = vec![post(Some(0), tags[0], 0), post(Some(0), tags[1], 1), wait_all(0, 2)];
        check_clean(&[sender.clone(), receiver]);
    }
}

/// A third receive is posted while the first is under way: its offer has another count.
#[test]
fn a_receive_posted_later_is_offered_behind_those_that_still_wait() {
    let sender = (0..3).flat_map(|id| [iprobe(WORLD), isend(WORLD, id, 1, 1, 40)]);
    let receiver = vec![
        post(Some(0), Some(1), 0),
        post(Some(0), Some(1), 1),
        Call::Wait { request: Handle(0) },
        post(Some(0), Some(1), 2),
        wait_all(1, 2),
    ];
    check_clean(&[sender.chain([wait_all(0, 3)]).collect(), receiver]);
}

/// V10: a receive of any source is matched with one sender, and nobody is offered it.
#[test]
fn a_wildcard_is_never_offered() {
    // claim: coop-sem-rtr
    let sender = |id| vec![iprobe(WORLD), isend(WORLD, id, 2, 1, 40), wait_all(id, 1)];
    let wild = vec![post(None, Some(1), 0), post(None, None, 1), wait_all(0, 2)];
    check_clean(&[sender(0), sender(0), wild]);
    // Behind a wildcard a receive of a known source is not offered either.
    let mixed = vec![post(None, Some(1), 0), post(Some(0), Some(1), 1), wait_all(0, 2)];
    let two = vec![
        iprobe(WORLD),
        isend(WORLD, 0, 1, 1, 40),
        iprobe(WORLD),
        isend(WORLD, 1, 1, 1, 40),
        wait_all(0, 2),
    ];
    check_clean(&[two, mixed]);
}

#[test]
fn two_senders_fill_the_receives_that_are_offered_to_them() {
    let sender = |bytes| vec![iprobe(WORLD), send(WORLD, 2, 1, bytes)];
    let receiver = vec![post(Some(0), Some(1), 0), post(Some(1), Some(1), 1), wait_all(0, 2)];
    check_clean(&[sender(40), sender(21), receiver]);
}

/// Head to head: receives are posted first, so nobody waits for ever.
#[test]
fn both_sides_offer_and_send() {
    let rank = |me: u32| {
        let other = 1 - me;
        vec![
            post(Some(other), Some(1), 1),
            iprobe(WORLD),
            send(WORLD, other, 1, 40),
            wait_all(1, 1),
        ]
    };
    check_clean(&[rank(0), rank(1)]);
}

/// Ready sends of COOP-coll find the receive posted: Table II offers RTR for them.
#[test]
fn a_ready_send_of_coop_coll_takes_the_offer_of_a_non_blocking_receive() {
    let ready = Call::Send {
        to: Peer::Rank(Rank(1)),
        tag: 1,
        comm: WORLD,
        buffer: Buffer { id: 0, bytes: 40 },
        mode: SendMode::Ready,
    };
    let sender = vec![recv(WORLD, Some(1), Some(2), 3, 0), ready];
    let receiver = vec![post(Some(0), Some(1), 1), send(WORLD, 0, 2, 0), wait_all(1, 1)];
    let cooperation = Cooperation { ready_by_rtr: true, ..Cooperation::by(Scheme::Coll) };
    let small = Small { near: Some(cooperation), ..Small::new(vec![sender, receiver]) };
    let survey = survey(&small, false);
    assert!(survey.is_clean(), "{survey:#?}");
}

const LARGE: u64 = 100_001;

fn large(to: u32) -> Call {
    let buffer = Buffer { id: 0, bytes: LARGE };
    Call::Send { to: Peer::Rank(Rank(to)), tag: 7, comm: WORLD, buffer, mode: SendMode::Standard }
}

fn early(source: Peer) -> Call {
    let (request, buffer) = (Handle(1), Buffer { id: 1, bytes: LARGE });
    Call::Irecv { request, source, tag: Some(7), comm: WORLD, buffer }
}

fn look() -> Call {
    Call::Iprobe { source: Peer::Any, tag: Some(1), comm: WORLD }
}

#[test]
fn rtr_says_rtr_and_fin_and_its_sender_copies() {
    let rtr = Cooperation::by(Scheme::Fixed(Protocol::Rtr));
    let chart = near(2, rtr).call(1, early(Peer::Rank(Rank(0)))).call(0, look());
    let chart = chart.call(0, large(1)).call(1, Call::Wait { request: Handle(1) }).settle();
    check_chart(
        &chart,
        "
        1 sends RTR 100001 B to 0
        1 returns at once
        0 returns false
        0 copies 100001 B at 0 into 1
        0 sends FIN to 1
        0 completes
        0 returns sent
        1 completes
        1 returns 100001 B from 0 tag 7
        ",
    );
    // claim: coop-sem-rtr
    assert_eq!(chart.story.iter().filter(|line| line.contains("sends")).count(), 2);
}

#[test]
fn without_a_known_source_the_receiver_waits_for_the_rts() {
    let rtr = Cooperation::by(Scheme::Fixed(Protocol::Rtr));
    let chart = near(2, rtr).call(1, early(Peer::Any)).call(0, look());
    let chart = chart.call(0, large(1)).call(1, Call::Wait { request: Handle(1) }).settle();
    check_chart(
        &chart,
        "
        1 returns at once
        0 returns false
        0 sends RTS 100001 B to 1
        1 sends CTS to 0
        0 copies 100001 B at 0 into 1
        0 sends FIN to 1
        0 completes
        0 returns sent
        1 completes
        1 returns 100001 B from 0 tag 7
        ",
    );
}

#[test]
fn a_receive_on_offer_cannot_be_cancelled_and_says_so() {
    let receiver = vec![post(Some(0), Some(1), 1), Call::Cancel { request: Handle(1) }];
    let small = &wirings(&[vec![send(WORLD, 1, 1, 40)], receiver])[0];
    let survey = survey(small, false);
    let words = format!("{survey:?}");
    assert!(words.contains("MPI_Cancel of a receive on offer"), "{words}");
    // Nothing is on offer where the message was there before.
    assert_eq!(small.world().machine(Process(1)).longest().posted, 0);
}
