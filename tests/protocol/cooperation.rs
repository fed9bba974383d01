//! Large messages inside a node: every order of events under every scheme, at once and in chunks.
//!
//! V1 and V2 are watched by buffers that are poisoned when they are given back, V3 by the monitor of
//! movers, V4 and V5 by the library and the counters; here are the worlds in which they could break.

use crate::small::{Small, WORLD, iprobe, irecv, isend, recv, send, wait_all};
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::SendMode;
use mpisim::protocols::call::{Buffer, Call, Peer};
use mpisim::protocols::rendezvous::coop_load::{Held, Load, Raised, Unit};
use mpisim::protocols::rendezvous::scheme::Calls;
use mpisim::protocols::rendezvous::{Cooperation, Protocol, Scheme, coop_hca, coop_load};
use mpisim::runtime::explore::{self, Budget, Survey};
use mpisim::units::Bytes;

const NEAR: [Scheme; 9] = [
    Scheme::Fixed(Protocol::RPut),
    Scheme::Fixed(Protocol::RGet),
    Scheme::Fixed(Protocol::Rtr),
    Scheme::Fixed(Protocol::CoopP2p),
    Scheme::Fixed(Protocol::CoopHca),
    Scheme::Coll,
    Scheme::Load,
    Scheme::Adaptive,
    Scheme::Hybrid,
];

fn together(calls: Vec<Vec<Call>>, scheme: Scheme, chunk: Option<u64>) -> Small {
    let (chunk, page) = (chunk.map(Bytes::new), Bytes::new(1));
    let cooperation = Cooperation { chunk, page, free_cores: true, ..Cooperation::by(scheme) };
    Small { near: Some(cooperation), ..Small::new(calls) }
}

#[track_caller]
fn check_clean(small: &Small, reduce: bool) -> Survey {
    let survey = explore::judged(&small.world(), Budget { reduce, ..Budget::default() }, |_| None);
    assert!(survey.is_clean(), "{:?}: {survey:#?}", small.near);
    survey
}

/// One message, posted early or late, in each pair of calls.
fn pairs(bytes: u64) -> Vec<Vec<Vec<Call>>> {
    let sends =
        [vec![send(WORLD, 1, 1, bytes)], vec![isend(WORLD, 0, 1, 1, bytes), wait_all(0, 1)]];
    let receives = [
        vec![recv(WORLD, Some(0), Some(1), 1, bytes)],
        vec![irecv(WORLD, Some(0), Some(1), 1), wait_all(1, 1)],
    ];
    let each = |send: &Vec<Call>| receives.clone().map(|receive| vec![send.clone(), receive]);
    sends.iter().flat_map(each).collect()
}

/// V1 to V5 for each protocol, pair of calls, and length around a chunk.
#[test]
fn every_order_of_one_message_is_right() {
    // claim: coop-sem-coop-complete
    // claim: coop-sem-stripe
    // claim: coop-sem-chunk-any
    let (mut states, mut shared) = (0, 0);
    for scheme in NEAR {
        for chunk in [None, Some(16)] {
            for bytes in [17, 31, 33, 40] {
                for calls in pairs(bytes) {
                    let small = together(calls, scheme, chunk);
                    let survey = check_clean(&small, false);
                    // What is left out of a search loses no end.
                    assert_eq!(check_clean(&small, true).finals, survey.finals, "{scheme:?}");
                    assert!(survey.sometimes.compared > 0);
                    states += survey.states;
                    shared += survey.sometimes.shared_copies;
                }
            }
        }
    }
    assert!(states > 2_000 && shared > 100, "{states} states, {shared} shared copies");
}

/// V4 and V5, whatever the counters of COOP-load hold, and whichever side raises them.
#[test]
fn every_reading_of_the_counters_is_right_in_every_order() {
    let receiver =
        vec![irecv(WORLD, Some(0), Some(1), 0), irecv(WORLD, Some(1), Some(1), 1), wait_all(0, 2)];
    let two_senders = vec![
        vec![isend(WORLD, 0, 2, 1, 40), wait_all(0, 1)],
        vec![isend(WORLD, 0, 2, 1, 21), wait_all(0, 1)],
        receiver,
    ];
    for held in [Held::Outstanding, Held::Cumulative] {
        for raised in [Raised::WithChoice, Raised::ByEachSide] {
            for unit in [Unit::Copy, Unit::Half] {
                for calls in pairs(40).into_iter().chain([two_senders.clone()]) {
                    let mut small = together(calls, Scheme::Load, Some(16));
                    let near = small.near.as_mut().expect("they are together");
                    near.load = Load { unit, held, raised };
                    check_clean(&small, true);
                }
            }
        }
    }
}

/// V8 and V5: two senders to one receiver, messages of different size.
#[test]
fn two_senders_to_one_receiver_are_right_in_every_order() {
    let receiver =
        vec![irecv(WORLD, Some(0), Some(1), 0), irecv(WORLD, Some(1), Some(1), 1), wait_all(0, 2)];
    for scheme in NEAR {
        let calls = vec![
            vec![send(WORLD, 2, 1, 40)],
            vec![isend(WORLD, 0, 2, 1, 21), wait_all(0, 1)],
            receiver.clone(),
        ];
        check_clean(&together(calls, scheme, None), true);
    }
}

/// V8: what is sent first is matched first, though the second message is shorter.
#[test]
fn two_messages_of_one_sender_are_matched_in_their_order() {
    for scheme in NEAR {
        for chunk in [None, Some(8)] {
            let sender = vec![isend(WORLD, 0, 1, 1, 40), isend(WORLD, 1, 1, 1, 17), wait_all(0, 2)];
            let receiver = vec![
                irecv(WORLD, Some(0), Some(1), 0),
                irecv(WORLD, None, None, 1),
                wait_all(0, 2),
            ];
            check_clean(&together(vec![sender, receiver], scheme, chunk), true);
        }
    }
}

/// V9: two blocking sends head to head above the threshold wait for each other.
#[test]
fn two_large_blocking_sends_head_to_head_are_a_deadlock_under_every_scheme() {
    let rank = |me: u32| {
        let other = 1 - me;
        vec![send(WORLD, other, 1, 40), recv(WORLD, Some(other), Some(1), 1, 40)]
    };
    for scheme in NEAR {
        let small = together(vec![rank(0), rank(1)], scheme, None);
        let survey = explore::judged(&small.world(), Budget::default(), |_| None);
        // Two ranks that wait for each other in every order: no run ends.
        assert!(survey.dead > 0 && survey.finals == 0, "{scheme:?}: {survey:#?}");
    }
    let small = |me: u32| {
        let other = 1 - me;
        vec![send(WORLD, other, 1, 8), recv(WORLD, Some(other), Some(1), 1, 8)]
    };
    check_clean(&together(vec![small(0), small(1)], Scheme::Load, None), false);
}

/// A ready send is an error wherever its receive may be posted too late.
#[test]
fn a_ready_send_needs_a_posted_receive_in_every_order() {
    // claim: coop-sem-coll-rsend
    let ready = |bytes| Call::Send {
        to: Peer::Rank(Rank(1)),
        tag: 1,
        comm: WORLD,
        buffer: Buffer { id: 0, bytes },
        mode: SendMode::Ready,
    };
    for bytes in [8, 40] {
        let receive = recv(WORLD, Some(0), Some(1), 1, bytes);
        let early =
            together(vec![vec![ready(bytes)], vec![iprobe(WORLD), receive]], Scheme::Coll, None);
        let survey = explore::judged(&early.world(), Budget::default(), |_| None);
        let words = format!("{survey:?}");
        assert!(words.contains("rank 1 has no receive posted for it"), "{words}");
        // The receiver says when it is ready.
        let sender = vec![recv(WORLD, Some(1), Some(2), 3, 0), ready(bytes)];
        let receiver =
            vec![irecv(WORLD, Some(0), Some(1), 1), send(WORLD, 0, 2, 0), wait_all(1, 1)];
        check_clean(&together(vec![sender, receiver], Scheme::Coll, None), false);
    }
}

/// V3 as a law of numbers: the parts of the HCA, of chunks and of halves fit each other.
#[test]
fn parts_partition_every_message() {
    for bytes in (0..70).chain([4095, 4096, 4097, 1 << 20, (1 << 20) + 1]) {
        for share in [0, 1, 333_333, 500_000, 1_000_000] {
            for page in [1, 64, 4096] {
                let hca = coop_hca::of_hca(bytes, share, page);
                assert!(hca <= bytes && (hca.is_multiple_of(page) || hca == bytes));
            }
        }
        for (chunk, chunks) in [(None, 1), (Some(16), 1), (None, 3), (Some(1000), 8)] {
            let cooperation =
                Cooperation { chunk: chunk.map(Bytes::new), chunks, ..Cooperation::default() };
            if let Some(part) = cooperation.chunk_of(bytes) {
                let parts = bytes.checked_div(part).unwrap_or(0);
                assert!(chunk.is_none_or(|most| part <= most));
                assert!(chunk.is_some() || parts <= u64::from(chunks), "{bytes} {part}");
            }
        }
    }
}

/// V6: the HCA is given a message only while its counter is at most the threshold.
#[test]
fn the_threshold_of_the_adaptive_offload_holds() {
    // claim: coop-sem-hca-counter
    let calls =
        Calls { mode: SendMode::Standard, send_blocks: true, receive_blocks: true, bytes: 100 };
    for threshold in 0..4 {
        let cooperation = Cooperation {
            offload_threshold: threshold,
            free_cores: true,
            ..Cooperation::by(Scheme::Adaptive)
        };
        for load in 0..6 {
            for scheme in [Scheme::Adaptive, Scheme::Hybrid] {
                let (protocol, counted) = cooperation.decide(scheme, calls, [0, 0, load]);
                assert_eq!(protocol == Protocol::CoopHca, load <= threshold);
                assert!(!counted);
            }
        }
    }
    assert_eq!(coop_load::choose(1, 1), Protocol::CoopP2p);
}
