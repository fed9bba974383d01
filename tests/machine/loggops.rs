//! The LogGOPS replay: the recorded vectors, and a literal reading of the rules on random schedules.

use std::fs;
use std::path::Path;

use crate::schedules::{DEFAULTS, alltoall, costs, dissemination, dissemination_messages, random};
use mpisim::conform::{Cases, Simulated, Vectors, judge};
use mpisim::runtime::loggops::schedule::{ANY, Builder, Edge, Kind, Op, Schedule, Until};
use mpisim::runtime::loggops::{Parameters, Replayed, Stuck, Waits, replay};
use mpisim::shipped::SHIPPED;

const FOLDER: &str = "traces/goal";

#[test]
fn every_vector_is_exact() {
    let text = fs::read_to_string(format!("{FOLDER}/expected.json")).unwrap();
    let vectors = Vectors::read_beside(&text, Path::new(FOLDER), SHIPPED).unwrap();
    let verdict = judge(&vectors, &Simulated { seed: 1 }, 1);
    assert_eq!(verdict.to_string(), "26 passed, 0 failed");
    // The comparison can fail: a unit more, a unit less.
    let Cases::LogGops(cases) = vectors.cases else { panic!("a file of schedules") };
    let mut moved = cases[0].parameters;
    moved.latency += 1;
    let ends = |parameters| replay(&cases[0].schedule, parameters).unwrap().end_times;
    assert_eq!((ends(cases[0].parameters), ends(moved)), (vec![1500, 5542], vec![1500, 5543]));
}

#[test]
fn a_vector_that_differs_is_told_by_name_and_field() {
    let text = fs::read_to_string(format!("{FOLDER}/expected.json")).unwrap();
    let text = text.replacen("[1500, 5542]", "[1500, 5541]", 1);
    let vectors = Vectors::read_beside(&text, Path::new(FOLDER), SHIPPED).unwrap();
    let verdict = judge(&vectors, &Simulated { seed: 1 }, 1).to_string();
    assert_eq!(
        verdict,
        "case 1: `h01_eager_1msg.end_times`: [1500,5542] instead of [1500,5541]\n\
         25 passed, 1 failed"
    );
}

/// The rules as they are written: one queue, whoever finds its CPU or NIC busy is put back, and
/// matching searches lists from their beginning.
struct Literal<'a> {
    schedule: &'a Schedule,
    p: Parameters,
    /// (time, stamp, operation, whether it is its message).
    queue: Vec<(u64, u64, u32, bool)>,
    stamps: u64,
    cpu: Vec<Vec<u64>>,
    sending: Vec<Vec<u64>>,
    receiving: Vec<Vec<u64>>,
    posted: Vec<Vec<u32>>,
    unexpected: Vec<Vec<u32>>,
    needs: Vec<u32>,
    over: Vec<bool>,
    fresh: Vec<u32>,
    events: u64,
}

impl<'a> Literal<'a> {
    fn run(schedule: &'a Schedule, p: Parameters) -> (Vec<u64>, u64, Vec<u32>) {
        let ranks = schedule.ranks() as usize;
        let (cpus, nics) = schedule.width();
        let mut this = Self {
            schedule,
            p,
            queue: Vec::new(),
            stamps: 0,
            cpu: vec![vec![0; cpus]; ranks],
            sending: vec![vec![0; nics]; ranks],
            receiving: vec![vec![0; nics]; ranks],
            posted: vec![Vec::new(); ranks],
            unexpected: vec![Vec::new(); ranks],
            needs: schedule.needs(),
            over: vec![false; schedule.ops().len()],
            fresh: Vec::new(),
            events: 0,
        };
        for rank in 0..schedule.ranks() {
            this.fresh = schedule.of(rank).filter(|op| this.needs[*op as usize] == 0).collect();
            this.release();
        }
        while let Some(first) = (0..this.queue.len()).min_by_key(|at| this.queue[*at]) {
            let (time, stamp, op, arrives) = this.queue.remove(first);
            if let Some(later) = this.step(time, op, arrives) {
                this.queue.push((later, stamp, op, arrives));
            }
            this.release();
        }
        let ends = this.cpu.iter().map(|clocks| *clocks.iter().max().unwrap()).collect();
        let left = (0..).zip(&this.over).filter(|(_, over)| !**over).map(|(op, _)| op).collect();
        (ends, this.events, left)
    }

    /// When to try again, if something is busy.
    fn step(&mut self, t: u64, number: u32, arrives: bool) -> Option<u64> {
        let op = self.schedule.ops()[number as usize];
        let (c, n) = (usize::from(op.cpu), usize::from(op.nic));
        let Parameters { latency, overhead, gap, gap_per_byte, overhead_per_byte, eager_max } =
            self.p;
        let more = op.amount.max(1) - 1;
        let (me, peer) = (op.rank as usize, op.peer as usize);
        match (op.kind, arrives) {
            (Kind::Compute, _) => {
                if self.cpu[me][c] > t {
                    return Some(self.cpu[me][c]);
                }
                self.cpu[me][c] = t + op.amount;
                self.tell(number, Until::Started);
                self.tell(number, Until::Done);
            }
            (Kind::Send, false) => {
                let free = self.cpu[me][c].max(self.sending[me][n]);
                if free > t {
                    return Some(free);
                }
                self.cpu[me][c] = t + overhead + more * overhead_per_byte;
                self.sending[me][n] = t + gap + more * gap_per_byte;
                self.push(t + overhead + latency, number, true);
                self.tell(number, Until::Started);
                if op.amount <= eager_max {
                    self.tell(number, Until::Done);
                }
            }
            (Kind::Send, true) => {
                let free = self.cpu[peer][c].max(self.receiving[peer][n]);
                if free > t {
                    return Some(free);
                }
                let work = (more * overhead_per_byte).max(more * gap_per_byte);
                self.cpu[peer][c] = t + overhead + work;
                self.receiving[peer][n] = t + gap + more * gap_per_byte;
                let found = self.posted[peer].iter().position(|&receive| self.fit(receive, number));
                if let Some(at) = found {
                    let receive = self.posted[peer].remove(at);
                    self.answer(t, number, op);
                    self.tell(receive, Until::Done);
                } else {
                    self.unexpected[peer].push(number);
                }
            }
            (Kind::Receive, _) => {
                self.tell(number, Until::Started);
                let found = self.unexpected[me].iter().position(|&sent| self.fit(number, sent));
                if let Some(at) = found {
                    let sent = self.unexpected[me].remove(at);
                    self.answer(t, sent, op);
                    self.tell(number, Until::Done);
                } else {
                    self.posted[me].push(number);
                }
            }
        }
        self.events += 1;
        None
    }

    fn fit(&self, receive: u32, sent: u32) -> bool {
        let [receive, sent] = [receive, sent].map(|op| self.schedule.ops()[op as usize]);
        (receive.peer == ANY || receive.peer == sent.rank)
            && (receive.tag == ANY || receive.tag == sent.tag)
    }

    /// CPU and NIC are those of the element that found the other.
    fn answer(&mut self, t: u64, sent: u32, by: Op) {
        let op = self.schedule.ops()[sent as usize];
        if op.amount > self.p.eager_max {
            let sender = op.rank as usize;
            let (c, n) = (usize::from(by.cpu), usize::from(by.nic));
            self.cpu[sender][c] = self.cpu[sender][c].max(t);
            self.sending[sender][n] = self.sending[sender][n].max(t);
            self.tell(sent, Until::Done);
        }
    }

    fn tell(&mut self, op: u32, until: Until) {
        self.over[op as usize] |= until == Until::Done;
        let schedule = self.schedule;
        for edge in schedule.dependants(op).filter(|edge| edge.until == until) {
            self.needs[edge.dependant as usize] -= 1;
            if self.needs[edge.dependant as usize] == 0 {
                self.fresh.push(edge.dependant);
            }
        }
    }

    fn push(&mut self, time: u64, op: u32, arrives: bool) {
        self.queue.push((time, self.stamps, op, arrives));
        self.stamps += 1;
    }

    fn release(&mut self) {
        let ops = self.schedule.ops();
        let mut fresh = std::mem::take(&mut self.fresh);
        fresh.sort_by_key(|op| (ops[*op as usize].rank, ops[*op as usize].kind));
        for number in fresh {
            let op = ops[number as usize];
            let cpu = self.cpu[op.rank as usize][usize::from(op.cpu)];
            let nic = self.sending[op.rank as usize][usize::from(op.nic)];
            self.push(if op.kind == Kind::Send { cpu.max(nic) } else { cpu }, number, false);
        }
    }
}

#[track_caller]
fn check_against_the_rules(schedule: &Schedule, parameters: Parameters, name: &str) -> Replayed {
    let (ends, events, left) = Literal::run(schedule, parameters);
    let found = replay(schedule, parameters).unwrap();
    assert_eq!(found.end_times, ends, "{name}");
    assert_eq!(found.events, events, "{name}");
    let stuck = found.stuck.iter().filter(|one| one.waits != Waits::Nothing);
    assert_eq!(stuck.map(|one| one.op).collect::<Vec<_>>(), left, "{name}");
    found
}

/// Lines and channels change nothing: several CPUs and NICs, wildcards, zero costs, dependants
/// whose clock lies in the past.
#[test]
fn lines_and_channels_give_what_the_rules_give() {
    let (mut finished, mut stuck) = (0, 0);
    for seed in 0..4000 {
        let schedule = random(seed);
        let replayed = check_against_the_rules(&schedule, costs(seed), &format!("seed {seed}"));
        *if replayed.stuck.is_empty() { &mut finished } else { &mut stuck } += 1;
    }
    assert!(finished > 500 && stuck > 200, "{finished} ran to their end, {stuck} got stuck");
}

#[test]
fn patterns_give_what_the_rules_give() {
    for ranks in [2, 3, 8, 13, 16] {
        for bytes in [0, 1, 1024, 70_000] {
            let name = format!("{ranks} ranks, {bytes} B");
            let replayed = check_against_the_rules(&dissemination(ranks, bytes), DEFAULTS, &name);
            assert_eq!(replayed.events, 3 * dissemination_messages(ranks), "{name}");
            let replayed = check_against_the_rules(&alltoall(ranks, bytes), DEFAULTS, &name);
            assert_eq!(replayed.events, 3 * u64::from(ranks * (ranks - 1)), "{name}");
            assert_eq!(replayed.stuck, []);
        }
    }
}

fn op(rank: u32, kind: Kind, peer: u32, amount: u64) -> Op {
    Op { amount, peer, tag: 0, rank, kind, cpu: 0, nic: 0 }
}

/// An eager message takes o + L + o + (s-1)G from its start to the end of its receive.
#[test]
fn one_message_takes_the_sum_of_its_parts() {
    for (bytes, more) in [(0, 0), (1, 0), (8, 7), (1000, 999)] {
        let mut builder = Builder::default();
        builder.add(op(0, Kind::Send, 1, bytes));
        builder.end_rank();
        builder.add(op(1, Kind::Receive, 0, bytes));
        builder.end_rank();
        let replayed = replay(&builder.finish(), DEFAULTS).unwrap();
        assert_eq!(replayed.end_times, [1500, 1500 + 2500 + 1500 + 6 * more]);
    }
}

#[test]
fn what_never_ends_is_told_with_what_it_waits_for() {
    let mut builder = Builder::default();
    let large = builder.add(op(0, Kind::Send, 1, 70_000));
    let held = builder.add(op(0, Kind::Compute, 0, 5));
    builder.depend(Edge { dependant: held, dependency: large, until: Until::Done });
    builder.add(op(0, Kind::Send, 1, 8));
    builder.end_rank();
    builder.add(Op { tag: 7, ..op(1, Kind::Receive, 0, 8) });
    builder.end_rank();
    let replayed = replay(&builder.finish(), DEFAULTS).unwrap();
    let waits = [
        (0, Waits::Receive),
        (1, Waits::Dependencies(1)),
        (2, Waits::Nothing),
        (3, Waits::Message),
    ];
    assert_eq!(replayed.stuck, waits.map(|(op, waits)| Stuck { op, waits }));
}

#[test]
fn clocks_that_would_pass_their_range_are_refused_before() {
    let mut builder = Builder::default();
    for _ in 0..2 {
        builder.add(op(0, Kind::Compute, 0, u64::MAX / 2 + 1));
    }
    builder.end_rank();
    let why = replay(&builder.finish(), DEFAULTS).unwrap_err().to_string();
    assert_eq!(
        why,
        "all operations together take 18446744073709551616 units of time, which passes 2^64"
    );
}

/// Eight times the ranks take hardly an allocation more: lists grow, events allocate nothing.
#[test]
fn a_replay_allocates_nothing_for_an_event() {
    let count = |ranks| {
        let schedule = alltoall(ranks, 100);
        allocation_counter::measure(|| drop(replay(&schedule, DEFAULTS).unwrap())).count_total
    };
    let (few, many) = (count(16), count(128));
    assert!(many < few + 100, "{few} allocations, then {many} for 64 times the events");
}
