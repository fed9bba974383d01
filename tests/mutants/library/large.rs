//! Messages above the eager threshold, and who copies them; beside progress threads too.

use super::{Case, Sound, Tried, planted};
use crate::small::{Small, WORLD, all, iprobe, irecv, isend, recv, send, wait_all};
use mpisim::protocols::contract::Next;
use mpisim::protocols::mutant::Mutant;
use mpisim::protocols::rendezvous::{Cooperation, Protocol, Scheme};
use mpisim::runtime::explore;
use mpisim::runtime::explore::Budget;
use mpisim::units::Bytes;

pub(super) fn cases() -> Vec<(&'static str, Case)> {
    let finds = |case: Case, found| Case { found, ..case };
    let passes = |case: Case, harmless| Case { harmless, ..case };
    vec![
        ("2 ranks, 1 message by RGET", by_rendezvous(Protocol::RGet)),
        ("2 ranks, 1 message by RPUT", by_rendezvous(Protocol::RPut)),
        ("2 ranks, 1 message by RPUT, immediate", by_rendezvous(Protocol::RPutImmediate)),
        ("2 neighbours, 1 message by COOP-p2p", {
            let found = &[(Mutant::CoopOverlap, "V3"), (Mutant::CoopOnCopy, "V2")];
            let case = finds(by_cooperation(Scheme::Fixed(Protocol::CoopP2p), None), found);
            passes(case, &[Mutant::ExposesTwice, Mutant::LoadKept, Mutant::OffloadUncounted])
        }),
        ("2 neighbours, 1 message by RGET in chunks", {
            let found = &[(Mutant::ChunkLost, "V3")];
            finds(by_cooperation(Scheme::Fixed(Protocol::RGet), Some(8)), found)
        }),
        ("2 neighbours, 1 message by COOP-load", {
            finds(by_cooperation(Scheme::Load, None), &[(Mutant::LoadKept, "V5")])
        }),
        ("2 neighbours, 1 message by adaptive offload", {
            finds(by_cooperation(Scheme::Adaptive, None), &[(Mutant::OffloadUncounted, "V5")])
        }),
        ("2 neighbours, a blocking send to a non-blocking receive", a_sender_that_chooses()),
        ("2 neighbours, 2 receives on offer", {
            let exact = (Some(0), Some(1));
            let case = finds(on_offer([exact, exact]), &[(Mutant::OfferCrosses, "refusal")]);
            passes(case, &[Mutant::OffersWildcard])
        }),
        ("2 neighbours, a receive on offer behind a wildcard", {
            let case = on_offer([(None, None), (Some(0), Some(1))]);
            finds(case, &[(Mutant::OffersBehind, "refusal")])
        }),
        ("3 neighbours, a wildcard that is offered to two", {
            finds(offered_to_two(), &[(Mutant::OffersWildcard, "refusal")])
        }),
    ]
}

/// Ranks with progress threads.
pub(super) fn assisted() -> Vec<(&'static str, Tried)> {
    vec![
        ("2 assisted ranks, 1 message by RPUT, a computation", {
            Tried { found: &[(Mutant::LeavesWaiting, "deadlock")], ..beside_agents(None) }
        }),
        ("2 assisted neighbours, 1 message by COOP-load in chunks", {
            let by_load =
                Cooperation { chunk: Some(Bytes::new(16)), ..Cooperation::by(Scheme::Load) };
            Tried { found: &[(Mutant::SharesWorks, "deadlock")], ..beside_agents(Some(by_load)) }
        }),
    ]
}

/// A message above the eager threshold.
fn by_rendezvous(rendezvous: Protocol) -> Case {
    let calls = vec![vec![send(WORLD, 1, 1, 40)], vec![recv(WORLD, Some(0), Some(1), 0, 40)]];
    let case = Case::new(Small { rendezvous, ..Small::new(calls) });
    match rendezvous {
        Protocol::RGet => Case {
            found: &[(Mutant::GetSender, "V2"), (Mutant::FinFirst, "V2")],
            harmless: &[Mutant::PinsTwice, Mutant::PutReceiver],
            ..case
        },
        Protocol::RPut | Protocol::RPutImmediate | Protocol::Rtr => Case {
            found: &[(Mutant::PutReceiver, "V2"), (Mutant::FinFirst, "V2")],
            harmless: &[Mutant::PinsTwice, Mutant::GetSender],
            ..case
        },
        Protocol::SharedMemory | Protocol::CoopP2p | Protocol::CoopHca => Case {
            found: &[(Mutant::PutReceiver, "V2")],
            harmless: &[Mutant::PinsTwice, Mutant::GetSender, Mutant::FinFirst],
            ..case
        },
    }
}

/// An odd message above the eager threshold, inside a node.
fn by_cooperation(scheme: Scheme, chunk: Option<u64>) -> Case {
    let calls = vec![vec![send(WORLD, 1, 1, 39)], vec![recv(WORLD, Some(0), Some(1), 0, 39)]];
    let (chunk, page) = (chunk.map(Bytes::new), Bytes::new(1));
    let near = Some(Cooperation { chunk, page, ..Cooperation::by(scheme) });
    Case::new(Small { near, ..Small::new(calls) })
}

/// Two receives are on offer, or not yet, when their messages are sent.
fn on_offer([one, two]: [(Option<u32>, Option<i32>); 2]) -> Case {
    let sends = [0, 1].map(|id| [iprobe(WORLD), isend(WORLD, id, 1, 1, 40)]);
    let sender = sends.into_iter().flatten().chain([wait_all(0, 2)]).collect();
    let receiver =
        vec![irecv(WORLD, one.0, one.1, 0), irecv(WORLD, two.0, two.1, 1), wait_all(0, 2)];
    let near = Some(Cooperation::by(Scheme::Fixed(Protocol::Rtr)));
    Case::new(Small { near, ..Small::new(vec![sender, receiver]) })
}

/// Two senders to a receive of any source, and to another one.
fn offered_to_two() -> Case {
    let sender = |id| vec![iprobe(WORLD), isend(WORLD, id, 1, 1, 40), wait_all(id, 1)];
    let wild = [0, 1].map(|id| irecv(WORLD, None, Some(1), id));
    let receiver = wild.into_iter().chain([wait_all(0, 2)]).collect();
    let near = Some(Cooperation::by(Scheme::Fixed(Protocol::Rtr)));
    Case::new(Small { near, ..Small::new(vec![sender(0), receiver, sender(0)]) })
}

/// COOP-coll has the sender copy everything: the receiver does not block.
fn a_sender_that_chooses() -> Case {
    let calls =
        vec![vec![send(WORLD, 1, 1, 39)], vec![irecv(WORLD, Some(0), Some(1), 0), wait_all(0, 1)]];
    let near = Some(Cooperation::by(Scheme::Coll));
    let case = Case::new(Small { near, ..Small::new(calls) });
    Case { found: &[(Mutant::SenderChooses, "V3")], ..case }
}

/// A message between two ranks with progress threads, one of which computes between its two calls.
fn beside_agents(near: Option<Cooperation>) -> Tried {
    let answer = recv(WORLD, Some(1), Some(2), 3, 8);
    let sender = all([isend(WORLD, 0, 1, 1, 40), wait_all(0, 1), answer]);
    let receive = irecv(WORLD, Some(0), Some(1), 1);
    // The send returns at once, also while the agent has begun a copy.
    let calls = [send(WORLD, 0, 2, 8), wait_all(1, 1)];
    let begin = [Next::Call(receive), Next::Compute(1)];
    let receiver = begin.into_iter().chain(all(calls)).collect();
    let rendezvous = Protocol::RPut;
    let world = Small { rendezvous, near, ..Small::threads(vec![vec![sender], vec![receiver]]) };
    let survey = move |mutant: Option<Mutant>, states| {
        let start = world.assisted(|job| planted(job, mutant));
        explore::judged(&start, Budget { states, reduce: false }, |_| None)
    };
    Tried { survey: Box::new(survey), sound: Sound::Ends, found: &[], harmless: &[] }
}
