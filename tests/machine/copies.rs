//! Who copies large messages inside a node, how many bytes, and how long: timed runs on a real machine's
//! numbers, taken over the bridge as well.

use std::sync::Arc;

use crate::common::{Script, cross, job, model, run};
use mpisim::collectives::{Algorithm, Blocks, Collective};
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{Buffer, Call, Comm, Peer, Requests, SendMode};
use mpisim::protocols::contract::{Handle, Next, Program, Region, Space};
use mpisim::protocols::library::Library;
use mpisim::protocols::rendezvous::{Cooperation, Protocol, Scheme};
use mpisim::runtime::account::{Account, Part};
use mpisim::runtime::timed::{Ending, Outcome};
use mpisim::units::{Bytes, TimeDelta};
use mpisim::workloads::collective::Repeated;
use mpisim::workloads::job::{Job, ping_pong};

const RANKS: u32 = 6;
const BLOCK: u64 = 100_000;

fn near<P: Program<Library>>(programs: Vec<P>, cooperation: Cooperation) -> Job<P> {
    let mut near = job(model("broadwell-edr", &[]), programs);
    (near.nodes, near.mpi.cooperation) = (1, cooperation);
    near
}

fn fixed(protocol: Protocol) -> Scheme {
    Scheme::Fixed(protocol)
}

fn accounts(outcome: &Outcome) -> &[Account] {
    assert_eq!((&outcome.ending, &outcome.violations), (&Ending::Finished, &Vec::new()));
    &outcome.accounts
}

fn copied(outcome: &Outcome) -> Vec<u64> {
    accounts(outcome).iter().map(|account| account.copied).collect()
}

/// One call of a collective between the root and each other rank.
fn between_root_and_each(gathers: bool, scheme: Scheme) -> Vec<u64> {
    let all = Region::new(Space::User(0), BLOCK * u64::from(RANKS));
    let one = Region::new(Space::User(1), BLOCK);
    let (comm, root, blocks) = (Comm::default(), Rank(0), Blocks::Equal(BLOCK));
    let call = if gathers {
        Collective::gather(comm, root, one, all, blocks).by(Algorithm::GatherLinear)
    } else {
        Collective::scatter(comm, root, all, blocks, one).by(Algorithm::ScatterLinear)
    };
    let call = Arc::new(call.unwrap());
    let programs = vec![Repeated::new(call, 0, 1); RANKS as usize];
    copied(&run(near(programs, Cooperation::by(scheme))))
}

#[test]
fn the_root_copies_for_all_or_each_for_itself() {
    let others = u64::from(RANKS) - 1;
    let root = [vec![others * BLOCK], vec![0; RANKS as usize - 1]].concat();
    let each = [vec![0], vec![BLOCK; RANKS as usize - 1]].concat();
    // claim: coop-sec1c-o2a
    assert_eq!(between_root_and_each(false, fixed(Protocol::RPut)), root);
    assert_eq!(between_root_and_each(false, fixed(Protocol::RGet)), each);
    // claim: coop-sec1c-a2o
    assert_eq!(between_root_and_each(true, fixed(Protocol::RGet)), root);
    assert_eq!(between_root_and_each(true, fixed(Protocol::RPut)), each);
}

#[test]
fn the_calls_choose_the_better_side_of_a_collective() {
    for (gathers, better) in [
        // claim: coop-sem-scatter-prims
        (false, Protocol::RGet),
        // claim: coop-sem-gather-prims
        (true, Protocol::RPut),
    ] {
        let chosen = between_root_and_each(gathers, Scheme::Coll);
        assert_eq!(chosen, between_root_and_each(gathers, fixed(better)), "{gathers}");
    }
}

fn pair(bytes: u64, cooperation: Cooperation, rounds: u32) -> Outcome {
    run(near(ping_pong(bytes, 0, rounds), cooperation))
}

/// One message in one direction: of a message each way both ranks would have copied as much,
/// whoever copies.
#[test]
fn coop_copies_half_on_each_side() {
    // claim: coop-fig5-equal
    for bytes in [20_000, 1 << 20, (1 << 20) + 1] {
        let [sender, receiver] = one_way(fixed(Protocol::CoopP2p), bytes);
        assert_eq!((sender.copied, receiver.copied), (bytes.div_ceil(2), bytes / 2));
    }
}

/// One message from rank 0 to rank 1.
fn one_way(scheme: Scheme, bytes: u64) -> [Account; 2] {
    let (comm, mode, buffer) = (Comm::default(), SendMode::Standard, Buffer { id: 0, bytes });
    let send = Call::Send { to: Peer::Rank(Rank(1)), tag: 0, comm, buffer, mode };
    let recv = Call::Recv { source: Peer::Rank(Rank(0)), tag: Some(0), comm, buffer };
    let programs = [send, recv].map(|call| Script::of(vec![Next::Call(call)])).to_vec();
    let outcome = run(near(programs, Cooperation::by(scheme)));
    let [sender, receiver] = accounts(&outcome) else { panic!("two ranks") };
    [*sender, *receiver]
}

#[test]
fn one_side_copies_and_the_other_waits() {
    for bytes in [1 << 16, 1 << 18, 1 << 20, 1 << 22] {
        // claim: coop-fig2-rput
        let [sender, receiver] = one_way(fixed(Protocol::RPut), bytes);
        assert_eq!((sender.copied, receiver.copied), (bytes, 0));
        assert!(sender.of(Part::Copy) > TimeDelta::ZERO);
        assert_eq!(receiver.of(Part::Copy), TimeDelta::ZERO);
        // claim: coop-fig2-rget
        let [sender, receiver] = one_way(fixed(Protocol::RGet), bytes);
        assert_eq!((sender.copied, receiver.copied), (0, bytes));
        assert_eq!(sender.of(Part::Copy), TimeDelta::ZERO);
        assert!(2 * sender.polling().as_ps() > sender.total().as_ps(), "{bytes}");
    }
}

#[test]
fn two_copiers_take_half_the_time_and_the_way_of_the_cts() {
    // claim: coop-sem-coop-parallel
    let time = |protocol| pair(1 << 20, Cooperation::by(fixed(protocol)), 4).end.as_ps();
    let (one, two) = (time(Protocol::RPut), time(Protocol::CoopP2p));
    assert!(2 * two >= one && 100 * two <= 54 * one, "{two} ps against {one} ps");
}

/// Chunks cost a call of the kernel each, and move the same bytes.
#[test]
fn chunks_move_the_same_bytes_and_take_longer() {
    let whole = pair(1 << 20, Cooperation::by(fixed(Protocol::RGet)), 2);
    // No helper thread polls: each process has its one thread.
    // claim: coop-sem-chunk-nothread
    assert_eq!(accounts(&whole).len(), 2);
    let mut last = whole.end;
    for chunks in [2, 4, 8] {
        let cooperation = Cooperation { chunks, ..Cooperation::by(fixed(Protocol::RGet)) };
        let outcome = pair(1 << 20, cooperation, 2);
        assert_eq!(copied(&outcome), copied(&whole));
        assert!(outcome.end > last, "{chunks} chunks");
        last = outcome.end;
    }
}

#[test]
fn every_scheme_crosses_the_bridge() {
    let near_ones =
        [Protocol::RPut, Protocol::RGet, Protocol::Rtr, Protocol::CoopP2p, Protocol::CoopHca];
    let fixed = near_ones.map(fixed);
    for scheme in fixed.into_iter().chain(Scheme::DECIDERS) {
        for chunk in [None, Some(Bytes::kib(8))] {
            let page = Bytes::kib(4);
            let cooperation =
                Cooperation { chunk, page, free_cores: true, ..Cooperation::by(scheme) };
            let ran = cross(near(ping_pong(30_001, 0, 3), cooperation)).unwrap();
            assert_eq!(ran.outcome.violations, [], "{scheme:?} {chunk:?}");
        }
    }
}

/// Rank 1 posts both receives and says so; rank 0 sends into them, buffered or not.
fn into_posted_receives(mode: SendMode) -> Vec<Script> {
    let (comm, bytes) = (Comm::default(), 100_001);
    let peer = |rank| Peer::Rank(Rank(rank));
    let posts = [0, 1].map(|id| {
        let (request, buffer) = (Handle(id), Buffer { id, bytes });
        Call::Irecv { request, source: peer(0), tag: Some(7), comm, buffer }
    });
    let sends = [0, 1].map(|id| {
        let buffer = Buffer { id, bytes };
        Call::Isend { request: Handle(id), to: peer(1), tag: 7, comm, buffer, mode }
    });
    let empty = Buffer { id: 9, bytes: 0 };
    let standard = SendMode::Standard;
    let ready = Call::Send { to: peer(0), tag: 8, comm, buffer: empty, mode: standard };
    let hears = Call::Recv { source: peer(1), tag: Some(8), comm, buffer: empty };
    let requests = Requests::Range { first: Handle(0), count: 2 };
    let wait = Call::WaitAll { requests, statuses: false };
    let (attach, detach) = (Call::AttachBuffer { bytes: 2 * bytes }, Call::DetachBuffer);
    let call = Next::Call;
    let sends = sends.into_iter().map(call).chain([call(wait.clone())]);
    let begin = [call(attach), call(hears), Next::Mark(0)];
    let end = [Next::Mark(1), call(detach)];
    let sender = begin.into_iter().chain(sends).chain(end);
    let receiver = posts.into_iter().chain([ready, wait]).map(call);
    vec![Script::of(sender.collect()), Script::of(receiver.collect())]
}

#[test]
fn receives_on_offer_and_buffered_sends_cross_the_bridge() {
    for nodes in [1, 2] {
        for mode in [SendMode::Standard, SendMode::Ready, SendMode::Buffered] {
            for (protocol, chunk) in [
                (Protocol::Rtr, None),
                (Protocol::Rtr, Some(Bytes::kib(8))),
                (Protocol::RGet, None),
            ] {
                let cooperation = Cooperation { chunk, ..Cooperation::by(fixed(protocol)) };
                let mut one = near(into_posted_receives(mode), cooperation);
                (one.nodes, one.mpi.rendezvous) = (nodes, protocol);
                let ran = cross(one).unwrap();
                assert_eq!(ran.outcome.violations, [], "{nodes} {mode:?} {protocol:?} {chunk:?}");
            }
        }
    }
}

/// A receive on offer spares the sender the way of its RTS and of the CTS.
#[test]
fn a_sender_that_has_an_offer_does_not_wait() {
    for nodes in [1, 2] {
        let time = |protocol| {
            let programs = into_posted_receives(SendMode::Standard);
            let mut one = near(programs, Cooperation::by(fixed(protocol)));
            (one.nodes, one.mpi.rendezvous) = (nodes, protocol);
            let marks = run(one).marks;
            let at = |number| marks.iter().find(|mark| mark.number == number).unwrap().at;
            at(1).since(at(0))
        };
        assert!(time(Protocol::Rtr) < time(Protocol::RPut), "{nodes} nodes");
    }
}

/// Receives of a collective are offered as any other: the sender copies, as by RPUT, round after round.
#[test]
fn collectives_take_offers() {
    let repeated = |scheme| {
        let part = |id| Region::new(Space::User(id), BLOCK * u64::from(RANKS));
        let [sends, receives] = [0, 1].map(|id| (part(id), Blocks::Equal(BLOCK)));
        let call = Collective::alltoall(Comm::default(), sends, receives);
        let call = Arc::new(call.by(Algorithm::AlltoallPairwise).unwrap());
        let programs = vec![Repeated::new(call, 1, 3); RANKS as usize];
        let ran = cross(near(programs, Cooperation::by(scheme))).unwrap();
        copied(&ran.outcome)
    };
    assert_eq!(repeated(fixed(Protocol::Rtr)), repeated(fixed(Protocol::RPut)));
}
