//! Whole runs against arithmetic: if these do not hold, no figure means anything.
//!
//! The machine is `ideal`: round numbers, and nothing that a test does not switch on. Times are in
//! picoseconds. On its way a message of `n` bytes crosses
//!
//! ```text
//!   copy ─▶ PCIe ─▶ DMA read ─▶ unit ─▶ link ─▶ switch, base latency ─▶ link ─▶ unit ─▶ PCIe ─▶ copy
//!   100 n   n + 72     1       10 000   80 n         1 000 000          80 n   10 000  n + 64   100 n
//! ```
//!
//! where 72 and 64 are the doorbell and WQE, and the CQE, at 1 ps/B. Up to 256 B a stage passes a
//! packet on whole; above, it passes on what comes after the first 256 B while it comes.

use crate::common::{at, busy_time, finished, ideal, job, play, play_connected, run};
use mpisim::hardware::profile::Profile;
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{Buffer, Call, Comm, Peer, Requests, SendMode};
use mpisim::protocols::contract::{Handle, Next};
use mpisim::protocols::rendezvous::Protocol;
use mpisim::runtime::timed::{Connections, Outcome};
use mpisim::units::TimeDelta;
use mpisim::workloads::job::{Disturbance, Flow, ping_pong, windowed};

const NS: u64 = 1_000;
const US: u64 = 1_000_000;
const MIB: u64 = 1 << 20;
/// Entering the library for a send, taking a packet, building or handling a control packet.
const STEP: u64 = 100 * NS;
/// One entry of a matching queue.
const ENTRY: u64 = NS;
/// One WQE in a processing unit.
const UNIT: u64 = 10 * NS;
const BASE: u64 = US;

/// A core copies at 10 GB/s.
const fn copy(n: u64) -> u64 {
    100 * n
}

/// A packet of up to 256 B, from the doorbell until its receiver's core can see it.
const fn packet(n: u64) -> u64 {
    if n == 0 {
        // No payload to fetch: WQE and doorbell are one. Even nothing takes a picosecond of a link.
        return 64 + UNIT + 1 + BASE + 1 + UNIT + 64;
    }
    (n + 72) + 1 + UNIT + 80 * n + BASE + 80 * n + UNIT + (n + 64)
}

/// A packet of one MTU: only the first link is crossed whole.
const fn full_packet() -> u64 {
    // The receiving unit works while the rest of the packet is still coming.
    (256 + 72) + 1 + UNIT + 80 * 4096 + BASE + 80 * 256 + (256 + 64)
}

/// More than one MTU: a flow at the rate of the links, after both units, and 256 B in every other
/// stage, memory on both sides included.
const fn bulk(n: u64) -> u64 {
    2 * UNIT + 80 * n + BASE + 256 + (256 + 72) + 1 + 80 * 256 + (256 + 64) + 256
}

/// A send begins; a packet is taken, matches the only posted receive, and is copied out.
const fn eager(n: u64, wire: u64) -> u64 {
    STEP + copy(n) + wire + STEP + ENTRY + copy(n)
}

/// Half the time of a round.
#[track_caller]
fn latency_with(profile: Profile, n: u64, protocol: Protocol) -> u64 {
    const ROUNDS: u32 = 10;
    let mut job = job(profile, ping_pong(n, 2, ROUNDS));
    job.mpi.rendezvous = protocol;
    let outcome = finished(run(job));
    let elapsed = at(&outcome, 0, 1) - at(&outcome, 0, 0);
    let halves = 2 * u64::from(ROUNDS);
    assert_eq!(elapsed % halves, 0, "every round takes the same time");
    elapsed / halves
}

#[track_caller]
fn latency(changes: &[(&str, &str)], n: u64) -> u64 {
    latency_with(ideal(changes), n, Protocol::RPut)
}

fn send(to: u32, tag: i32, bytes: u64) -> Next<Call> {
    let (to, comm) = (Peer::Rank(Rank(to)), Comm::default());
    let buffer = Buffer { id: 0, bytes };
    Next::Call(Call::Send { to, tag, comm, buffer, mode: SendMode::Standard })
}

fn isend(request: u32, to: u32, tag: i32, bytes: u64) -> Next<Call> {
    let (request, to, comm) = (Handle(request), Peer::Rank(Rank(to)), Comm::default());
    let buffer = Buffer { id: request.0, bytes };
    Next::Call(Call::Isend { request, to, tag, comm, buffer, mode: SendMode::Standard })
}

fn recv(source: u32, tag: i32, bytes: u64) -> Next<Call> {
    let (source, comm) = (Peer::Rank(Rank(source)), Comm::default());
    Next::Call(Call::Recv { source, tag: Some(tag), comm, buffer: Buffer { id: 1, bytes } })
}

fn irecv(request: u32, source: u32, tag: i32, bytes: u64) -> Next<Call> {
    let (request, source, comm) = (Handle(request), Peer::Rank(Rank(source)), Comm::default());
    let buffer = Buffer { id: 1_000 + request.0, bytes };
    Next::Call(Call::Irecv { request, source, tag: Some(tag), comm, buffer })
}

fn wait_all(first: u32, count: u32) -> Next<Call> {
    let requests = Requests::Range { first: Handle(first), count };
    Next::Call(Call::WaitAll { requests, statuses: false })
}

fn probe(source: u32, tag: i32) -> Next<Call> {
    let (source, comm) = (Peer::Rank(Rank(source)), Comm::default());
    Next::Call(Call::Probe { source, tag: Some(tag), comm })
}

#[test]
fn an_eager_ping_pong_takes_the_sum_of_its_parts() {
    assert_eq!(latency(&[], 0), eager(0, packet(0)));
    assert_eq!(latency(&[], 1), eager(1, packet(1)));
    assert_eq!(latency(&[], 8), eager(8, packet(8)));
    assert_eq!(latency(&[], 256), eager(256, packet(256)));
    assert_eq!(latency(&[], 4096), eager(4096, full_packet()));
    // The flow's rate is kept in 2^-40 B/ps, rounded down: one picosecond late.
    assert_eq!(latency(&[], 16_384), eager(16_384, bulk(16_384)) + 1);
}

#[test]
fn an_rput_of_a_large_message_is_three_control_packets_and_a_write() {
    let control = STEP + packet(64) + STEP;
    let rts = STEP + control + ENTRY;
    // The FIN is posted while the payload moves, and is a packet that leaves behind its last byte.
    let leaves = 2 * UNIT + 80 * MIB;
    let expected = rts + control + leaves + packet(64) + STEP;
    let found = latency(&[], MIB);
    assert!(found - expected <= 1, "{found} ps, expected {expected}");
    // RTS, CTS, payload with the FIN: the receiver waits for no acknowledgement.
    let longer = latency(&[("link.base_latency", "2 us")], MIB);
    assert_eq!(longer - found, 3 * US);
}

#[test]
fn an_rput_with_immediate_data_is_two_control_packets_and_a_write() {
    let control = STEP + packet(64) + STEP;
    let rts = STEP + control + ENTRY;
    let expected = rts + control + bulk(MIB) + STEP;
    let immediate =
        |changes: &[(&str, &str)]| latency_with(ideal(changes), MIB, Protocol::RPutImmediate);
    let found = immediate(&[]);
    assert!(found - expected <= 1, "{found} ps, expected {expected}");
    // RTS, CTS, payload: neither the acknowledgement nor a FIN keeps anybody waiting.
    assert_eq!(immediate(&[("link.base_latency", "2 us")]) - found, 3 * US);
}

#[test]
fn an_rget_of_a_large_message_is_an_rts_and_a_read() {
    let control = STEP + packet(64) + STEP;
    // The owner's HCA takes the request and answers: no CQE, no doorbell, no WQE.
    let request = packet(0) - 64;
    let answer = bulk(MIB) - 72;
    // The receiver returns when it has posted the FIN.
    let expected = STEP + control + ENTRY + request + answer + STEP;
    let rget = |changes: &[(&str, &str)]| latency_with(ideal(changes), MIB, Protocol::RGet);
    let found = rget(&[]);
    assert!(found - expected <= 1, "{found} ps, expected {expected}");
    // RTS, request, answer: the FIN keeps nobody waiting.
    assert_eq!(rget(&[("link.base_latency", "2 us")]) - found, 3 * US);
    // The doorbells of RTS and request, the RTS and the answer on their way into a memory; the
    // request itself stays in the owner's HCA.
    assert_eq!(rget(&[("pcie.mmio_write", "1 us")]) - found, 4 * US);
}

/// Every packet from the HCA took a completion and a receive buffer, whatever it carried.
#[test]
fn every_packet_costs_its_receiver_a_completion_and_a_receive_buffer() {
    let prices = [("hca.cqe_poll", "50 ns"), ("hca.repost_overhead", "30 ns")];
    for n in [0, 8, 4096] {
        assert_eq!(latency(&prices, n) - latency(&[], n), 80 * NS, "{n} B");
    }
    // RTS, CTS, FIN; the completion of the write comes to the sender while the FIN is under way.
    let rput = |changes: &[(&str, &str)]| latency(changes, MIB);
    assert_eq!(rput(&prices) - rput(&[]), 3 * 80 * NS);
    let both = [("cpu.smt", "2"), ("cpu.smt_share", "1"), ("cpu.cores_per_socket", "1")];
    let busy = |changes: &[(&str, &str)]| {
        let receives = |from| (0..4).map(|_| recv(from, 0, 0)).collect::<Vec<_>>();
        let sends = |to| (0..4).map(|_| send(to, 0, 0)).collect::<Vec<_>>();
        let scripts = vec![sends(2), sends(3), receives(0), receives(1)];
        let outcome = play(ideal(changes), scripts);
        outcome.accounts[2].working() + outcome.accounts[3].working()
    };
    let dear = [both.as_slice(), &[("hca.cqe_poll", "10 us")]].concat();
    // Two siblings that poll at once take twice as long.
    assert!(busy(&dear) - busy(&both) > TimeDelta::from_us(8 * 15));
}

#[test]
fn rput_posts_four_work_requests_a_message_and_without_a_fin_or_a_cts_it_is_three() {
    let posted = |protocol, rounds| {
        let mut job = job(ideal(&[]), ping_pong(MIB, 0, rounds));
        job.mpi.rendezvous = protocol;
        finished(run(job)).packets
    };
    for (protocol, each) in [(Protocol::RPut, 4), (Protocol::RPutImmediate, 3), (Protocol::RGet, 3)]
    {
        assert_eq!(posted(protocol, 11) - posted(protocol, 1), 2 * 10 * each);
    }
}

#[test]
fn a_message_inside_a_node_is_copied_through_a_cell() {
    let mut job = job(ideal(&[]), ping_pong(4096, 2, 10));
    job.nodes = 1;
    let outcome = finished(run(job));
    let line = 100 * NS;
    // The receiver's copy of the flag's line is taken away, and fetched back.
    assert_eq!(at(&outcome, 0, 1) - at(&outcome, 0, 0), 20 * eager(4096, 2 * line));
}

#[test]
fn a_doorbell_costs_the_fetches_that_blueflame_spares() {
    let machine = |how: &str| {
        let (inline, blueflame, alone) = match how {
            "blueflame" => ("0 B", "40 B", "false"),
            "inline" => ("40 B", "0 B", "false"),
            "pushed" => ("0 B", "0 B", "true"),
            _ => ("0 B", "0 B", "false"),
        };
        latency(
            &[
                ("mpi.header_bytes", "32 B"),
                ("hca.wqe_fetch", "300 ns"),
                ("pcie.dma_read_round_trip", "500 ns"),
                ("hca.inline_limit", inline),
                ("hca.blueflame_inline", blueflame),
                ("hca.blueflame_alone", alone),
            ],
            8,
        )
    };
    let (doorbell, wqe_fetch, round_trip) = (8, 300 * NS, 500 * NS);
    // 256 reads of 4 KiB in 500 ns: 40 B take 20 ps.
    let dma_read = 20;
    assert_eq!(machine("inline") - machine("blueflame"), doorbell + wqe_fetch);
    assert_eq!(machine("fetch") - machine("inline"), round_trip + dma_read);
    // The entry comes with the doorbell, the payload does not.
    assert_eq!(machine("fetch") - machine("pushed"), doorbell + wqe_fetch);
}

#[test]
fn the_limit_of_blueflame_counts_the_header() {
    let changes = [
        ("mpi.header_bytes", "32 B"),
        ("hca.blueflame_inline", "40 B"),
        ("hca.wqe_fetch", "300 ns"),
    ];
    let (fits, does_not) = (latency(&changes, 8), latency(&changes, 9));
    assert!(does_not - fits > 300 * NS);
    assert!(fits - latency(&changes, 7) < NS);
}

#[test]
fn a_process_on_the_far_socket_pays_the_way_to_the_adapter() {
    let two_sockets = [
        ("cpu.sockets", "2"),
        ("cpu.cores_per_socket", "1"),
        ("mem.latency_local", "100 ns"),
        ("mem.latency_remote", "170 ns"),
    ];
    // Ranks 0 and 1 fill the sockets of the first node, 2 and 3 those of the second.
    let between = |from: u32, to: u32| {
        let mut scripts = vec![Vec::new(); 4];
        scripts[from as usize] = vec![send(to, 0, 8)];
        scripts[to as usize] = vec![recv(from, 0, 8), Next::Mark(0)];
        at(&play(ideal(&two_sockets), scripts), to, 0)
    };
    let far = 70 * NS;
    let near = between(0, 2);
    assert_eq!(near, eager(8, packet(8)));
    assert_eq!(between(1, 2), near + far);
    assert_eq!(between(0, 3), near + far);
    assert_eq!(between(1, 3), near + 2 * far);
}

#[test]
fn an_unexpected_message_costs_one_copy_and_one_entry_more() {
    const N: u64 = 8192;
    let busy = |first: i32, second: i32| {
        let sender = vec![send(1, 0, N), send(1, 1, 0)];
        let size = |tag| if tag == 0 { N } else { 0 };
        let receive = |tag| recv(0, tag, size(tag));
        let receiver = vec![receive(first), receive(second)];
        play(ideal(&[]), vec![sender, receiver]).accounts[1].working().as_ps()
    };
    let in_order = busy(0, 1);
    assert_eq!(in_order, STEP + ENTRY + copy(N) + STEP + ENTRY);
    // Waiting for the second message, the receiver must put the first one somewhere.
    assert_eq!(busy(1, 0), in_order + copy(N) + ENTRY);
}

#[test]
fn a_large_message_of_a_process_to_itself_is_copied_once() {
    let busy = |bytes: u64| {
        let script = vec![isend(0, 0, 0, bytes), recv(0, 0, bytes), wait_all(0, 1)];
        play(ideal(&[]), vec![script]).accounts[0].working().as_ps()
    };
    assert_eq!(busy(2 * MIB) - busy(MIB), copy(MIB));
}

#[test]
fn a_core_that_computes_takes_no_packet() {
    let compute = 50 * US;
    let receiver = |calls: Vec<Next<Call>>| {
        let scripts = vec![vec![send(1, 0, 8)], [calls, vec![Next::Mark(0)]].concat()];
        at(&play(ideal(&[]), scripts), 1, 0)
    };
    let late = receiver(vec![irecv(0, 0, 0, 8), Next::Compute(compute), wait_all(0, 1)]);
    assert_eq!(late, compute + STEP + ENTRY + copy(8));
}

#[test]
fn pinning_is_paid_once_for_each_buffer_while_the_cache_holds_it() {
    let changes = |cache| {
        [
            ("hca.mem_reg_base", "10 us"),
            ("hca.mem_reg_per_byte", "0.01 ns/B"),
            ("hca.registration_cache", cache),
        ]
    };
    let elapsed = |changes: &[(&str, &str)], rounds| {
        let outcome = finished(run(job(ideal(changes), ping_pong(MIB, 0, rounds))));
        at(&outcome, 0, 1) - at(&outcome, 0, 0)
    };
    let free = elapsed(&[], 1);
    // Each rank sends from one buffer and receives into another.
    let pinning = 4 * (10 * US + 10 * MIB);
    let cached = changes("1 GiB");
    assert_eq!(elapsed(&cached, 1) - free, pinning);
    assert_eq!(elapsed(&cached, 5) - elapsed(&cached, 1), elapsed(&[], 5) - free);
    let never_kept = changes("0 B");
    assert_eq!(elapsed(&never_kept, 5) - elapsed(&[], 5), 5 * pinning);
}

#[test]
fn a_buffer_that_is_pinned_longer_takes_no_more_room_than_its_length() {
    let busy = |cache: &[(&str, &str)]| {
        let sends = [(0, 1), (0, 2), (1, 1), (0, 2)];
        let mut scripts = vec![Vec::new(), Vec::new()];
        for (request, mib) in sends {
            scripts[0].extend([isend(request, 1, 0, mib * MIB), wait_all(request, 1)]);
            scripts[1].push(recv(0, 0, mib * MIB));
        }
        play(ideal(cache), scripts).accounts[0].working().as_ps()
    };
    let prices = [("hca.mem_reg_base", "10 us"), ("hca.mem_reg_per_byte", "0.01 ns/B")];
    let cached = [prices.as_slice(), &[("hca.registration_cache", "3 MiB")]].concat();
    // 1 MiB, 2 MiB of the same buffer, 1 MiB of another: the first is still there at the end.
    assert_eq!(busy(&cached) - busy(&[]), 3 * 10 * US + 10 * 4 * MIB);
}

#[test]
fn opposite_ways_between_the_sockets_do_not_share_a_link() {
    let two_sockets =
        [("cpu.sockets", "2"), ("cpu.cores_per_socket", "1"), ("mem.intersocket_bw", "5 GB/s")];
    // Ranks 1 and 3 are on the sockets without an adapter.
    let elapsed = |both: bool| {
        let end = |peer| vec![irecv(0, peer, 0, MIB), isend(1, peer, 0, MIB), wait_all(0, 2)];
        let mut scripts = vec![Vec::new(), end(3), Vec::new(), end(1)];
        if !both {
            scripts[1] = vec![isend(1, 3, 0, MIB), wait_all(1, 1)];
            scripts[3] = vec![irecv(0, 1, 0, MIB), wait_all(0, 1)];
        }
        play(ideal(&two_sockets), scripts).end.as_ps()
    };
    let (one, both) = (elapsed(false), elapsed(true));
    assert!(one > 200 * MIB, "the link between the sockets limits: {one}");
    assert!(both - one < one / 10, "{both} both ways, {one} one way");
}

#[test]
fn a_burst_beyond_the_receive_buffers_backs_off_until_they_are_free() {
    const BURST: u32 = 6;
    let run = |credits| {
        let changes = [("hca.eager_credits", credits), ("hca.rnr_back_off", "10 us")];
        let compute = 95 * US;
        let sender = (0..BURST).map(|i| isend(i, 1, 0, 8)).chain([wait_all(0, BURST)]).collect();
        let mut receiver: Vec<_> = (0..BURST).map(|i| irecv(i, 0, 0, 8)).collect();
        receiver.extend([Next::Compute(compute), wait_all(0, BURST), Next::Mark(0)]);
        play(ideal(&changes), vec![sender, receiver])
    };
    let taken = |messages| messages * (STEP + ENTRY + copy(8));
    let enough = run("6");
    assert_eq!((enough.rnr, at(&enough, 1, 0)), (0, 95 * US + taken(6)));
    // The fifth message finds no buffer, and the two left are let in by the first try after 95 us.
    let scarce = run("4");
    let fifth = 5 * (STEP + copy(8)) + packet(8);
    let tries = (95 * US - fifth).div_ceil(10 * US);
    assert_eq!(scarce.rnr, tries);
    assert_eq!(at(&scarce, 1, 0), fifth + tries * 10 * US + taken(2));
}

#[test]
fn every_nth_send_asks_for_a_completion_and_its_sender_takes_it() {
    const SENDS: u32 = 64;
    let busy = |every| {
        let changes = [("hca.signal_every", every), ("hca.cqe_poll", "50 ns")];
        let sends = (0..SENDS).map(|i| isend(i, 1, 0, 8));
        let sender = sends.chain([wait_all(0, SENDS), recv(1, 1, 0)]).collect();
        let mut receiver: Vec<_> = (0..SENDS).map(|i| irecv(i, 0, 0, 8)).collect();
        // The answer comes long after the last completion.
        receiver.extend([wait_all(0, SENDS), Next::Compute(10 * US), send(0, 1, 0)]);
        play(ideal(&changes), vec![sender, receiver]).accounts[0].working().as_ps()
    };
    let none = busy("1000");
    for (every, completions) in [("1", 64), ("16", 4), ("64", 1)] {
        assert_eq!(busy(every) - none, completions * 50 * NS, "signal_every {every}");
    }
}

/// Core time that a pass costs: a test of a request that does not complete makes one.
fn pass(connections: Connections, processes: u32) -> u64 {
    let machine = ideal(&[("mpi.poll_per_channel", "10 ns")]);
    let test = Next::Call(Call::Test { request: Handle(0) });
    let last = processes - 1;
    let mut scripts = vec![Vec::new(); processes as usize];
    scripts[0] = vec![irecv(0, last, 0, 0), Next::Mark(0), test, Next::Mark(1), wait_all(0, 1)];
    scripts[last as usize] = vec![Next::Compute(100 * US), send(0, 0, 0)];
    let outcome = play_connected(machine, connections, scripts);
    at(&outcome, 0, 1) - at(&outcome, 0, 0)
}

#[test]
fn a_pass_polls_every_channel_and_a_shared_receive_queue_has_fewer() {
    for processes in [2, 8, 32_u32] {
        let count = u64::from(processes);
        // The completion queue, and one for each process.
        assert_eq!(pass(Connections::PerPeer, processes), 10 * NS * (1 + count));
        // The completion queue, the shared one, and one for each process of the node.
        let shared = 10 * NS * (2 + count / 2);
        assert_eq!(pass(Connections::SharedReceiveQueue, processes), shared);
    }
}

/// claim: ep-cfg-queue-expected
#[test]
fn arrivals_walk_past_receives_that_never_match() {
    for extra in [0, 1, 64, 500_u32] {
        let mut receiver: Vec<_> = (0..extra).map(|i| irecv(1 + i, 0, 7, 8)).collect();
        receiver.extend([recv(0, 0, 8), Next::Mark(0)]);
        receiver.extend((0..extra).map(|i| Next::Call(Call::Cancel { request: Handle(1 + i) })));
        receiver.extend([Next::Mark(1), wait_all(1, extra)]);
        let start = 10 * US;
        let sender = vec![Next::Compute(start), send(1, 0, 8)];
        let outcome = play(ideal(&[]), vec![sender, receiver]);
        let extra = u64::from(extra);
        assert_eq!(at(&outcome, 1, 0), start + eager(8, packet(8)) + extra * ENTRY);
        // Cancelled in the order of posting, each is the first of its queue.
        assert_eq!(at(&outcome, 1, 1) - at(&outcome, 1, 0), extra * ENTRY);
        assert_eq!(outcome.entries_visited, 2 * extra + 1);
    }
}

/// claim: ep-cfg-queue-unexpected
#[test]
fn receives_walk_past_messages_that_nobody_wants_yet() {
    for extra in [0, 1, 64, 500_u32] {
        let other = |i| isend(i, 1, 7, 8);
        let mut sender: Vec<_> = (0..extra).map(other).collect();
        sender.extend([wait_all(0, extra), send(1, 1, 0), send(1, 0, 8)]);
        // When the message of tag 1 is here, the others are; that of tag 0 stands behind them.
        let mut receiver = vec![recv(0, 1, 0), Next::Compute(10 * US), probe(0, 0)];
        receiver.extend([Next::Mark(0), recv(0, 0, 8), Next::Mark(1)]);
        receiver.extend((0..extra).map(|_| recv(0, 7, 8)));
        let outcome = play(ideal(&[]), vec![sender, receiver]);
        let found = at(&outcome, 1, 1) - at(&outcome, 1, 0);
        assert_eq!(found, (u64::from(extra) + 1) * ENTRY + copy(8));
    }
}

#[test]
fn a_receive_may_match_before_one_that_was_posted_earlier() {
    let barrier = Next::Call(Call::Barrier { comm: Comm::default() });
    let sender = vec![barrier.clone(), send(1, 0, 8)];
    // The barrier's own receive is posted second and matches first.
    let receiver = vec![irecv(0, 0, 0, 8), barrier, wait_all(0, 1)];
    assert_eq!(play(ideal(&[]), vec![sender, receiver]).entries_visited, 1 + 2 + 1);
}

/// Start to end of the timed rounds of rank 0, of windows of `window` 8-byte messages.
fn windows(changes: &[(&str, &str)], pairs: u32, window: u32) -> (u64, Outcome) {
    let programs = windowed(pairs, Flow::OneWay, 8, window, 2, 4);
    let outcome = finished(run(job(ideal(changes), programs)));
    let latest = |mark| (0..pairs).map(|rank| at(&outcome, rank, mark)).max();
    let last = |mark| latest(mark).expect("there is a pair");
    (last(1) - last(0), outcome)
}

/// What 128 messages more in each of 4 windows cost a pair, with `pairs` of them.
fn longer_windows(changes: &[(&str, &str)], pairs: u32) -> u64 {
    windows(changes, pairs, 192).0 - windows(changes, pairs, 64).0
}

const LONGER: u64 = 4 * (192 - 64);

#[test]
fn pairs_are_limited_by_their_cores_until_the_processing_units_are_full() {
    let receiver = STEP + ENTRY + copy(8);
    for pairs in [1, 2, 4, 8] {
        assert_eq!(longer_windows(&[], pairs), LONGER * receiver, "{pairs} pairs");
    }
    for pairs in [16, 32] {
        let all = u64::from(pairs) * UNIT;
        let found = longer_windows(&[], pairs);
        // Which pair is the last of a window may change, by a turn of all of them.
        assert!(found.abs_diff(LONGER * all) <= 4 * all, "{pairs} pairs: {found}");
    }
}

#[test]
fn a_slower_adapter_limits_fewer_pairs_and_never_rests() {
    let slow = [("hca.msg_rate_total", "1 Mmsg/s")];
    for pairs in [1, 4_u32] {
        assert_eq!(longer_windows(&slow, pairs), LONGER * u64::from(pairs) * US);
    }
    let busy = |window| {
        let (_, outcome) = windows(&slow, 4, window);
        (busy_time(&outcome, "node 0 HCA units sending"), outcome.end.as_ps())
    };
    // All that a longer window takes is time in which the units are busy.
    let ((long, end), (short, before)) = (busy(192), busy(64));
    assert_eq!(long - short, end - before);
}

#[test]
fn units_side_by_side_serve_as_many_messages_and_each_takes_longer() {
    let units = |count| [("hca.msg_rate_total", "1 Mmsg/s"), ("hca.processing_units", count)];
    assert_eq!(longer_windows(&units("4"), 4), LONGER * 4 * US);
    // Sending and receiving, a message stays four periods in a unit instead of one.
    assert_eq!(latency(&units("4"), 8) - latency(&units("1"), 8), 2 * 3 * US);
}

#[test]
fn two_bulk_flows_on_one_link_get_half_each() {
    let ends = |flows: u32| {
        let receives = |from| vec![recv(from, 0, 4 * MIB), Next::Mark(0)];
        let mut scripts = vec![vec![send(2, 0, 4 * MIB)], vec![send(3, 0, 4 * MIB)]];
        scripts.extend([receives(0), receives(1)]);
        if flows == 1 {
            scripts[1].clear();
            scripts[3].clear();
        }
        let outcome = play(ideal(&[]), scripts);
        (2..2 + flows).map(|rank| at(&outcome, rank, 0)).collect::<Vec<_>>()
    };
    let (alone, both) = (ends(1)[0], ends(2));
    let payload = 80 * 4 * MIB;
    for end in both {
        // The second RTS, CTS and write each wait for the units that the first ones use.
        assert!((end - alone).abs_diff(payload) <= 4 * UNIT, "{end} - {alone}");
    }
}

#[test]
fn a_small_message_behind_a_large_one_waits_for_an_mtu_not_for_all() {
    let arrives = |large: bool, phase: u64| {
        let mut scripts = vec![vec![send(2, 0, 4 * MIB)], Vec::new(), vec![recv(0, 0, 4 * MIB)]];
        scripts.push(vec![recv(1, 0, 8), Next::Mark(0)]);
        scripts[1] = vec![Next::Compute(50 * US + phase), send(3, 0, 8)];
        if !large {
            scripts[0].clear();
            scripts[2].clear();
        }
        at(&play(ideal(&[]), scripts), 3, 0) - 50 * US - phase
    };
    let segment = 80 * 4096;
    let mut longest = 0;
    for phase in (0..10).map(|tenth| tenth * segment / 10) {
        let alone = arrives(false, phase);
        assert_eq!(alone, eager(8, packet(8)));
        let delay = arrives(true, phase) - alone;
        // And an MTU, a doorbell and a WQE on the bus of either side, at 1 ps/B.
        assert!(delay <= segment + 2 * (4096 + 72), "{delay} ps at {phase}");
        longest = longest.max(delay);
    }
    assert!(longest > segment / 2, "somebody waits: {longest} ps");
}

/// When the barrier of two ranks is over, their starts skewed by up to 10 us.
fn barrier_over(skew: u64, seed: u64) -> u64 {
    let mut job = job(ideal(&[]), ping_pong(0, 0, 1));
    job.disturbance.start_skew = TimeDelta::from_us(skew);
    job.seed = seed;
    at(&finished(run(job)), 0, 0)
}

#[test]
fn a_barrier_ends_with_the_rank_that_starts_last() {
    let together = barrier_over(0, 1);
    assert_eq!(together, barrier_over(0, 2));
    let late: Vec<u64> = (1..=8).map(|seed| barrier_over(10, seed) - together).collect();
    assert!(late.iter().all(|&late| late > 0 && late <= 10 * US), "{late:?}");
    assert!(late.windows(2).all(|pair| pair[0] != pair[1]), "{late:?}");
    assert_eq!(late[3], barrier_over(10, 4) - together, "equal seeds, equal starts");
}

#[test]
fn interruptions_stretch_work_by_the_share_that_they_take_and_leave_waiting_alone() {
    const ROUNDS: u64 = 10;
    let elapsed = |os_noise| {
        let mut job = job(ideal(&[]), ping_pong(MIB, 0, 10));
        job.mpi.eager_inter = Some(mpisim::units::Bytes::mib(1));
        job.disturbance = Disturbance { os_noise, ..Disturbance::default() };
        let outcome = finished(run(job));
        at(&outcome, 0, 1) - at(&outcome, 0, 0)
    };
    let noise = Some((TimeDelta::from_us(10), TimeDelta::from_us(1)));
    let extra = elapsed(noise) - elapsed(None);
    let work = 2 * ROUNDS * (2 * STEP + ENTRY + 2 * copy(MIB));
    // A tenth of all time is taken: a ninth of the work comes on top. Two pieces of work a message,
    // each up to one interruption off.
    assert!(extra.abs_diff(work / 9) <= 2 * 2 * ROUNDS * US, "{extra} of {work}");
}

#[test]
fn siblings_of_one_core_share_its_issue_slots() {
    const SENDS: u32 = 10;
    let ends = |share: &str, cores: &str, siblings: u32| {
        let changes = [("cpu.smt", "2"), ("cpu.smt_share", share), ("cpu.cores_per_socket", cores)];
        let sends = |to| (0..SENDS).map(move |_| send(to, 0, 0)).chain([Next::Mark(0)]);
        let receives = |from| (0..SENDS).map(move |_| recv(from, 0, 0)).collect::<Vec<_>>();
        let mut scripts = vec![sends(2).collect(), sends(3).collect(), receives(0), receives(1)];
        if siblings == 1 {
            (scripts[1], scripts[3]) = (Vec::new(), Vec::new());
        }
        let outcome = play(ideal(&changes), scripts);
        (0..siblings).map(|rank| at(&outcome, rank, 0)).collect::<Vec<_>>()
    };
    let alone = u64::from(SENDS) * STEP;
    assert_eq!(ends("1", "1", 1), [alone]);
    assert_eq!(ends("1", "2", 2), [alone, alone], "each has a core");
    // Work keeps the share that it began with, and the first began it alone.
    assert_eq!(ends("1", "1", 2), [2 * alone - STEP, 2 * alone]);
    assert_eq!(ends("0.5", "1", 2), [alone, alone], "a core that two threads fill");
}
