//! The rendezvous family inside a node, as sequence charts: who says what, and who copies.

use crate::chart::{Arrival, Chart, check_chart, near};
use crate::reference::Example;
use mpisim::collectives::{Algorithm, Kind};
use mpisim::mpi::envelope::Rank;
use mpisim::mpi::operator::{Datatype, Operator, Reduction};
use mpisim::protocols::call::{Buffer, Call, Comm, Peer, SendMode};
use mpisim::protocols::contract::{Counter, Handle};
use mpisim::protocols::rendezvous::{Cooperation, Protocol, Scheme};
use mpisim::units::Bytes;

const LARGE: u64 = 100_001;

fn by(scheme: Scheme) -> Cooperation {
    Cooperation::by(scheme)
}

fn send(to: u32) -> Call {
    let (to, comm, mode) = (Peer::Rank(Rank(to)), Comm::default(), SendMode::Standard);
    Call::Send { to, tag: 7, comm, buffer: Buffer { id: 0, bytes: LARGE }, mode }
}

fn recv(source: u32) -> Call {
    let (source, comm) = (Peer::Rank(Rank(source)), Comm::default());
    Call::Recv { source, tag: Some(7), comm, buffer: Buffer { id: 1, bytes: LARGE } }
}

fn irecv(source: u32) -> Call {
    let (source, comm, request) = (Peer::Rank(Rank(source)), Comm::default(), Handle(0));
    let buffer = Buffer { id: 1, bytes: LARGE };
    Call::Irecv { request, source, tag: Some(7), comm, buffer }
}

/// Both sides block.
fn blocking(scheme: Scheme) -> Chart {
    near(2, by(scheme)).call(1, recv(0)).call(0, send(1)).settle()
}

fn control_messages(chart: &Chart) -> usize {
    chart.story.iter().filter(|line| line.contains("sends")).count()
}

#[test]
fn rput_says_rts_cts_fin_and_its_sender_copies() {
    let chart = blocking(Scheme::Fixed(Protocol::RPut));
    check_chart(
        &chart,
        "
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
    // claim: coop-sem-rput
    assert_eq!(control_messages(&chart), 3);
}

#[test]
fn rget_says_rts_fin_and_its_receiver_copies() {
    let chart = blocking(Scheme::Fixed(Protocol::RGet));
    check_chart(
        &chart,
        "
        0 sends RTS 100001 B to 1
        1 copies 100001 B at 0 out of 0
        1 sends FIN to 0
        1 completes
        1 returns 100001 B from 0 tag 7
        0 completes
        0 returns sent
        ",
    );
    // claim: coop-sem-rget
    assert_eq!(control_messages(&chart), 2);
}

#[test]
fn coop_copies_half_on_each_side_and_ends_with_copy_and_fin() {
    let chart = blocking(Scheme::Fixed(Protocol::CoopP2p));
    check_chart(
        &chart,
        "
        0 sends RTS 100001 B to 1
        1 sends CTS to 0
        1 copies 50000 B at 0 out of 0
        1 sends FIN to 0
        0 copies 50001 B at 50000 into 1
        0 sends FIN to 1
        0 completes
        0 returns sent
        1 completes
        1 returns 100001 B from 0 tag 7
        ",
    );
    // claim: coop-sem-coop
    assert_eq!(control_messages(&chart), 4);
}

#[test]
fn a_message_above_the_eager_threshold_asks_first() {
    // claim: coop-sem-eager
    let first = |bytes| {
        let (to, comm, mode) = (Peer::Rank(Rank(1)), Comm::default(), SendMode::Standard);
        let send = Call::Send { to, tag: 7, comm, buffer: Buffer { id: 0, bytes }, mode };
        let told = near(2, by(Scheme::Coll)).call(0, send).story;
        told.into_iter().find(|line| line.contains("sends")).expect("something is sent")
    };
    assert!(first(16 << 10).contains("EAGER"), "{}", first(16 << 10));
    assert!(first((16 << 10) + 1).contains("RTS"), "{}", first((16 << 10) + 1));
}

#[test]
fn the_choice_by_calls_costs_no_message() {
    // claim: coop-sem-coll-bit
    // claim: coop-sem-coll-cts
    let blocks = blocking(Scheme::Coll);
    assert_eq!(blocks.story, blocking(Scheme::Fixed(Protocol::CoopP2p)).story);
    let early = near(2, by(Scheme::Coll)).call(1, irecv(0)).call(0, send(1));
    let early = early.call(1, Call::Wait { request: Handle(0) }).settle();
    check_chart(
        &early,
        "
        1 returns at once
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
fn the_choice_by_load_is_counted_by_the_receiver_and_each_copy_counts_itself_down() {
    let chart = blocking(Scheme::Load);
    check_chart(
        &chart,
        "
        0 sends RTS 100001 B to 1
        1 counts Copies(Process(0)): 1
        1 counts Copies(Process(1)): 1
        1 sends CTS to 0
        1 copies 50000 B at 0 out of 0
        1 counts Copies(Process(1)): 0
        1 sends FIN to 0
        0 copies 50001 B at 50000 into 1
        0 counts Copies(Process(0)): 0
        0 sends FIN to 1
        0 completes
        0 returns sent
        1 completes
        1 returns 100001 B from 0 tag 7
        ",
    );
}

#[test]
fn the_hca_reads_its_part_while_the_core_copies_the_rest() {
    let chart = blocking(Scheme::Fixed(Protocol::CoopHca));
    check_chart(
        &chart,
        "
        0 pins 100001 B
        0 sends RTS 100001 B to 1
        1 pins 100001 B
        1 reads 50000 B from 0
        1 copies 50001 B at 50000 out of 0
        1 sends FIN to 0
        1 completes
        1 returns 100001 B from 0 tag 7
        0 completes
        0 returns sent
        ",
    );
}

/// A FIN of the other side that comes between two chunks is kept, and does not end the own copy.
#[test]
fn chunks_are_copied_with_a_poll_between_and_a_non_blocking_call_returns_after_them() {
    let chunked =
        Cooperation { chunk: Some(Bytes::new(40_000)), ..by(Scheme::Fixed(Protocol::RGet)) };
    let chart = near(2, chunked).call(0, send(1));
    // The receive finds the RTS only after a look at the channels.
    let look = Call::Iprobe { source: Peer::Any, tag: None, comm: Comm::default() };
    let chart = chart.call(1, look).call(1, irecv(0));
    let chart = chart.call(1, Call::Wait { request: Handle(0) }).settle();
    check_chart(
        &chart,
        "
        0 sends RTS 100001 B to 1
        1 returns a message of 100001 B from 0 tag 7
        1 copies 40000 B at 0 out of 0
        1 copies 40000 B at 40000 out of 0
        1 copies 20001 B at 80000 out of 0
        1 sends FIN to 0
        1 completes
        1 returns at once
        1 returns 100001 B from 0 tag 7
        0 completes
        0 returns sent
        ",
    );
}

/// The counter is that of software: whenever somebody could read it, it is the number of reads that the
/// HCA has before it. A counter of hardware would be that of some time ago (`counter_lag`).
#[test]
fn the_counter_of_the_hca_is_exact_after_every_event() {
    // claim: coop-sem-hca-hwcounter
    let under_way = |chart: &Chart| {
        let done = |(_, arrival): &&(usize, Arrival)| matches!(arrival, Arrival::Done(_));
        u32::try_from(chart.wires.iter().filter(done).count()).expect("a chart has few messages")
    };
    for threshold in 0..4 {
        let cooperation = Cooperation { offload_threshold: threshold, ..by(Scheme::Adaptive) };
        let mut chart = near(8, cooperation);
        for pair in 0..4 {
            chart = chart.call(2 * pair + 1, recv(2 * u32::try_from(pair).expect("few")));
        }
        let mut most = 0;
        for round in 0..2 {
            for pair in 0..4 {
                let receiver = 2 * u32::try_from(pair).expect("few") + 1;
                if round == 1 {
                    chart = chart.call(2 * pair + 1, recv(receiver - 1));
                }
                chart = chart.call(2 * pair, send(receiver));
            }
            loop {
                let counted = chart.counters.get(&Counter::Offloads(0)).copied().unwrap_or(0);
                assert_eq!(counted, under_way(&chart), "{:#?}", chart.story);
                most = most.max(counted);
                if !chart.step() {
                    break;
                }
            }
        }
        assert_eq!(most, threshold + 1, "one more is given to the HCA at the threshold");
        assert!(chart.wires.is_empty() && chart.inside.iter().all(|inside| !inside));
    }
}

/// A large reduce: in its reduce-scatter a rank starts a send and a receive (both sides copy), in its
/// gather blocking sends meet receives that the root has posted together (the senders copy).
#[test]
fn a_large_reduce_mixes_protocols_in_one_call() {
    // claim: coop-sem-reduce-phases
    let sum = Reduction::new(Operator::Sum, Datatype::Int32).expect("it is defined");
    let example = Example::combining(Kind::Reduce, 4, 0, 1 << 17, sum);
    let told = |algorithm: &str, scheme: Scheme, verb: &str, what: &str| {
        let chosen =
            Algorithm::named(Kind::Reduce, algorithm).expect("an algorithm of the registry");
        let mut chart = near(4, by(scheme));
        let calls = example.by(|call| call.by(chosen).expect("it can")).calls();
        for (rank, call) in calls.into_iter().enumerate() {
            chart = chart.call(rank, Call::Collective(call));
        }
        let chart = chart.settle();
        assert!(chart.wires.is_empty() && chart.inside.iter().all(|inside| !inside));
        let is_told = |line: &&String| line.contains(verb) && line.contains(what);
        chart.story.iter().filter(is_told).count()
    };
    let linear = "reduce_scatter_linear_gather";
    // Two halvings of four ranks, and three parts for the root.
    let (halves, parts) = (8, 3);
    assert_eq!(told(linear, Scheme::Coll, "sends", "RTS"), halves + parts);
    // COOP has two FINs, RPUT one.
    assert_eq!(told(linear, Scheme::Coll, "sends", "FIN"), 2 * halves + parts);
    assert_eq!(
        told(linear, Scheme::Coll, "copies", "out of"),
        halves,
        "the receivers copy in the first phase"
    );
    assert_eq!(told(linear, Scheme::Coll, "copies", " into "), halves + parts, "all senders do");
    let fixed = Scheme::Fixed(Protocol::RPut);
    assert_eq!(told(linear, fixed, "sends", "FIN"), halves + parts);
    // Up a binomial tree each message of the gather is one send and one receive that block.
    let tree = "reduce_scatter_gather";
    assert_eq!(told(tree, Scheme::Coll, "sends", "FIN"), 2 * (halves + parts));
}
