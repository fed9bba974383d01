//! One-sided communication, timed: recorded cases, and the bridge to the untimed world.

use std::sync::Arc;

use crate::common;
use crate::common::Script;
use crate::windows::{
    EXCLUSIVE, Line, NO_OP, REPLACE, SHARED, WORD, accumulate, complete, fence, fetch, flush,
    flush_local, free_window, get, lock, lock_all, post, put, set, settings, start, sum, swap_if,
    unlock, unlock_all, wait_window, window,
};
use mpisim::conform::{Cases, Simulated, Vectors, judge};
use mpisim::engine::{Stream, Streams};
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{Buffer, Call, Comm, Peer, Requests, SendMode};
use mpisim::protocols::contract::{Handle, Next, Process, Region, Space};
use mpisim::protocols::rma::call::{Operation, RmaCall};
use mpisim::protocols::rma::{Settings, Transport};
use mpisim::runtime::timed::Ending;
use mpisim::shipped::SHIPPED;
use mpisim::units::Bytes;
use mpisim::workloads::job::Job;

/// Every recorded case in the timed runtime, with each setting in turn, and over the bridge.
#[test]
fn recorded_cases_conform_timed_and_cross_the_bridge() {
    let text = include_str!("../vectors/rma.json");
    let vectors = Vectors::read(text, SHIPPED).unwrap();
    let Cases::OneSided(cases) = &vectors.cases else { panic!("another family") };
    for (case, turn) in cases.iter().zip(0_u64..) {
        // A turn of its own for each case, and the turn after the next.
        for schedule in [turn, turn + 2] {
            for (name, nodes) in [("ideal", 2), ("broadwell-edr", 1), ("broadwell-edr", 2)] {
                let settings = case.settings(schedule);
                let mut job = common::job(common::model(name, &[]), case.programs());
                job.mpi.rma = settings;
                job.nodes = nodes;
                job.mpi.eager_inter = (turn % 3 == 0).then(|| Bytes::new(8));
                let what = format!("case {} on {nodes} nodes of {name}, {settings:?}", case.id);
                let ran = common::cross(job).unwrap_or_else(|drift| panic!("{what}: {drift}"));
                assert_eq!(ran.outcome.ending, Ending::Finished, "{what}");
                assert_eq!(ran.outcome.violations, [], "{what}");
                assert_eq!(case.difference(&ran.memories), None, "{what}");
            }
        }
    }
    assert_eq!(cases.len(), 240);
}

/// The same through random orders of events, in every setting and with every way to connect.
#[test]
fn recorded_cases_conform_in_random_orders() {
    let vectors = Vectors::read(include_str!("../vectors/rma.json"), SHIPPED).unwrap();
    let verdict = judge(&vectors, &Simulated { seed: 1 }, 27);
    assert_eq!(verdict.to_string(), "240 passed, 0 failed");
}

struct Draw(Stream);

impl Draw {
    fn below(&mut self, n: u64) -> u32 {
        u32::try_from(self.0.below(n)).unwrap()
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// Words of a window; sums go to the last one only.
const WORDS: u64 = 4;

/// A job of random epochs, and what the last word of each rank must be in the end.
struct Drawn {
    job: Job<Script>,
    sums: Vec<u64>,
    words: String,
}

/// The program of one rank, and what it has added to the last word of each.
struct Writer {
    lines: Vec<Line>,
    sums: Vec<u64>,
    buffer: u32,
    requests: u32,
}

impl Writer {
    fn operation(&mut self, draw: &mut Draw, target: u32) {
        let (index, id) = (u64::from(draw.below(WORDS - 1)), self.buffer);
        let value = u64::from(1 + draw.below(100));
        self.buffer += 2;
        self.lines.push(set(id, 0, value));
        let line = match draw.below(7) {
            0 => put(target, index, id),
            1 => get(target, index, 1, id),
            2 => accumulate(target, index, 1, REPLACE, id),
            3 => fetch(target, index, NO_OP, id, id + 1),
            4 => {
                self.lines.push(set(id, 1, value));
                swap_if(target, index, id, id + 1)
            }
            _ => {
                self.sums[target as usize] += value;
                if draw.one_in(2) {
                    fetch(target, WORDS - 1, sum(), id, id + 1)
                } else {
                    accumulate(target, WORDS - 1, 1, sum(), id)
                }
            }
        };
        self.lines.push(line);
    }

    fn operations(&mut self, draw: &mut Draw, targets: &[u32], passive: bool) {
        let mut open = Vec::new();
        for _ in 0..draw.below(4) {
            let target = targets[draw.below(targets.len() as u64) as usize];
            self.operation(draw, target);
            if passive && draw.one_in(3) {
                open.push(self.with_a_request());
            }
            if draw.one_in(4) {
                self.lines.push(Next::Compute(u64::from(draw.below(3_000_000))));
            }
            if passive && draw.one_in(4) {
                self.lines.push(if draw.one_in(2) { flush(target) } else { flush_local(target) });
            }
        }
        if !open.is_empty() {
            let requests = Requests::List(open.into());
            self.lines.push(Next::Call(Call::WaitAll { requests, statuses: false }));
        }
    }

    /// The last operation in its request form.
    fn with_a_request(&mut self) -> Handle {
        let handle = self.handle();
        let Some(Next::Call(Call::Rma(call))) = self.lines.last_mut() else {
            panic!("an operation was drawn")
        };
        let RmaCall::Operate { request, .. } = Arc::make_mut(call) else {
            panic!("an operation was drawn")
        };
        *request = Some(handle);
        handle
    }

    fn handle(&mut self) -> Handle {
        self.requests += 1;
        Handle(self.requests - 1)
    }

    /// A message to the rank behind and one from the rank before, beside the epoch that follows; answers
    /// what is waited for after it.
    fn messages(&mut self, rank: u32, size: u32) -> Requests {
        let (request, comm, tag) = (self.handle(), Comm(0), 3);
        let buffer = |id| Buffer { id, bytes: 40 };
        let to = Peer::Rank(Rank((rank + 1) % size));
        let mode = SendMode::Standard;
        let sent = Call::Isend { request, to, tag, comm, buffer: buffer(self.buffer), mode };
        let (second, source) = (self.handle(), Peer::Rank(Rank((rank + size - 1) % size)));
        let came = buffer(self.buffer + 1);
        let received = Call::Irecv { request: second, source, tag: Some(tag), comm, buffer: came };
        self.buffer += 2;
        self.lines.extend([sent, received].map(Next::Call));
        Requests::List([request, second].into())
    }
}

/// One step of all ranks, and a barrier after most of them.
fn step(draw: &mut Draw, ranks: &mut [Writer]) {
    let size = u32::try_from(ranks.len()).unwrap();
    let (kind, everybody) = (draw.below(5), (0..size).collect::<Vec<u32>>());
    let messages = draw.one_in(3);
    for (rank, writer) in (0..).zip(ranks.iter_mut()) {
        let others: Vec<u32> = everybody.iter().copied().filter(|&other| other != rank).collect();
        let open = messages.then(|| writer.messages(rank, size));
        match kind {
            0 => {
                writer.lines.push(fence());
                writer.operations(draw, &everybody, false);
                writer.lines.push(fence());
            }
            1 => {
                writer.lines.extend([post(&others), start(&others)]);
                writer.operations(draw, &others, false);
                writer.lines.extend([complete(), wait_window()]);
            }
            2 => {
                writer.lines.push(lock_all());
                writer.operations(draw, &everybody, true);
                writer.lines.push(unlock_all());
            }
            _ => {
                let target = draw.below(u64::from(size));
                let kind = if draw.one_in(2) { SHARED } else { EXCLUSIVE };
                writer.lines.push(lock(target, kind));
                writer.operations(draw, &[target], true);
                writer.lines.push(unlock(target));
            }
        }
        let wait = |requests| Next::Call(Call::WaitAll { requests, statuses: true });
        writer.lines.extend(open.map(wait));
    }
    // Passive epochs of one step may meet those of the next.
    if kind < 2 || draw.one_in(2) {
        for writer in ranks {
            writer.lines.push(Next::Call(Call::Barrier { comm: Comm(0) }));
        }
    }
}

fn drawn(seed: u32) -> Drawn {
    let mut draw = Draw(Streams::new(13).stream("one-sided", seed));
    let size = 2 + draw.below(3);
    let writer = |_| {
        let lines = vec![window(WORDS), Next::Call(Call::Barrier { comm: Comm(0) })];
        Writer { lines, sums: vec![0; size as usize], buffer: 0, requests: 0 }
    };
    let mut ranks: Vec<Writer> = (0..size).map(writer).collect();
    for _ in 0..=draw.below(4) {
        step(&mut draw, &mut ranks);
        if draw.one_in(2) {
            for writer in &mut ranks {
                writer.lines.push(Next::Call(Call::Barrier { comm: Comm(0) }));
            }
        }
    }
    let of = |rank: usize| ranks.iter().map(|writer| writer.sums[rank]).sum();
    let sums = (0..size as usize).map(of).collect();
    let programs = ranks.into_iter().map(|mut writer| {
        writer.lines.push(free_window());
        Script::new(writer.lines)
    });
    let name = if draw.one_in(2) { "ideal" } else { "broadwell-edr" };
    let mut job = common::job(common::model(name, &[]), programs.collect());
    let all = settings();
    let (setting, rma) = all[draw.below(all.len() as u64) as usize];
    // Operations are drawn without regard to each other: only the sums are defined.
    let limit = Some(u64::from(draw.below(2)) * 64);
    job.mpi.rma = Settings { merge_limit: limit, watch: false, ..rma };
    job.nodes = 1 + draw.below(2);
    Drawn { job, sums, words: format!("seed {seed}, {size} ranks on {name}, {setting}") }
}

/// Hundreds of small programs: the untimed world takes every timed run, and no sum is lost.
#[test]
fn random_epochs_cross_the_bridge() {
    let mut by_rdma = 0;
    for seed in 0..600 {
        let Drawn { job, sums, words } = drawn(seed);
        by_rdma += u32::from(job.mpi.rma.transport == Transport::Rdma);
        let ran = common::cross(job).unwrap_or_else(|drift| panic!("{words}: {drift}"));
        assert_eq!(ran.outcome.ending, Ending::Finished, "{words}");
        assert_eq!(ran.outcome.violations, [], "{words}");
        for (rank, sum) in (0..).zip(sums) {
            let last = Region { space: Space::Window(0), offset: (WORDS - 1) * WORD, len: WORD };
            assert_eq!(ran.memories.load(Process(rank), last), sum, "{words}: rank {rank}");
        }
    }
    assert!(by_rdma > 50, "{by_rdma} runs over rdma");
}

/// Words of a packet of the machine below, between two nodes.
const PACKET: u64 = (32 << 10) / WORD;

/// A put and a get of `packets` packets and half of one; what the run took, and its packets.
fn large(packets: u64, segment: Option<u64>) -> (u64, u64) {
    let count = packets * PACKET + PACKET / 2;
    // Around the ends of all packets.
    let marked = |packet: u64| [packet * PACKET, (packet + 1) * PACKET - 1];
    let marked: Vec<u64> = (0..packets).flat_map(marked).chain([count - 1]).collect();
    let whole = |id| crate::windows::buffer(id, count);
    let value = |index: u64| 1 + index * 7;
    let one_sided = |does| crate::windows::operate(1, crate::windows::words(0, count), does, None);
    let mut origin: Vec<Line> = marked.iter().map(|&index| set(1, index, value(index))).collect();
    origin.extend([
        window(count),
        lock(1, EXCLUSIVE),
        Next::Mark(0),
        one_sided(Operation::Put { origin: whole(1) }),
        flush(1),
        Next::Mark(1),
        one_sided(Operation::Get { into: whole(3) }),
        unlock(1),
        free_window(),
    ]);
    let scripts = [origin, vec![window(count), free_window()]];
    let mut job = common::job(common::model("eureka-mx10g", &[]), scripts.map(Script::of).into());
    job.mpi.rma.segment = segment;
    let ran = common::cross(job).unwrap_or_else(|drift| panic!("{packets} packets: {drift}"));
    assert_eq!(ran.outcome.ending, Ending::Finished);
    assert_eq!(ran.outcome.violations, []);
    for index in marked {
        let of = |process, space| {
            let region = Region { space, offset: index * WORD, len: WORD };
            ran.memories.load(Process(process), region)
        };
        assert_eq!(of(1, Space::Window(0)), value(index), "word {index}");
        assert_eq!(of(0, Space::User(3)), value(index), "word {index}");
    }
    let [from, to] = [0, 1].map(|mark| ran.outcome.marks[mark].at);
    (to.since(from).as_ps(), ran.outcome.packets)
}

/// Each packet more is one of a put, and a request and an answer of a get. It takes its time on the
/// link; the copies at both ends run beside it, which one packet for all would wait for.
#[test]
fn a_large_operation_takes_a_packet_for_each_segment() {
    let [(short, few), (long, many)] = [8, 32].map(|packets| large(packets, None));
    assert_eq!(many - few, 24 * 3);
    let link = PACKET * WORD * 800;
    let each = (long - short) / 24;
    assert!(each >= link, "{each} ps a packet, below the {link} ps of its link");
    let (at_once, two) = large(32, Some(u64::MAX));
    assert_eq!(many - two, 32 * 3);
    assert!(long < at_once, "{long} ps in packets, {at_once} ps in one");
}
