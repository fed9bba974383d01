//! The oracle: every message in segments of one MTU, connections in round robin, cut-through.
//!
//! Slow and simple on purpose. Each resource serves one segment at a time; a connection keeps its
//! turn until one MTU is used, and returns to the tail of the ring when its segment ends. A
//! connection has at most `window` segments of bulk under way; packets go when they are submitted. A segment may begin at the next stage once
//! its first 256 B were served, and leaves a stage when its last byte was.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use mpisim::units::{Bandwidth, Bytes};

use super::driver::{Begin, Workload};

const CUT_THROUGH: u64 = 256;

#[derive(Clone, Copy, Debug)]
struct Segment {
    message: usize,
    bytes: u64,
    hop: usize,
    arrived: u64,
    tail: u64,
    last: bool,
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Kind {
    Start,
    Arrive,
    End,
    Pick,
}

/// When, what, of which connection or resource, first asked, for which message or segment.
type Event = (u64, Kind, usize, u64, usize);

#[derive(Default)]
struct Stage {
    /// Connections whose turn will come.
    ring: VecDeque<(usize, u64)>,
    /// Segments by connection.
    queues: Vec<VecDeque<Segment>>,
    in_ring: Vec<bool>,
    /// Connection in service and bytes of its turn.
    current: Option<(usize, u64)>,
    busy: u64,
}

#[derive(Default)]
struct Source {
    /// Messages in order, with what is left to issue.
    messages: VecDeque<(usize, u64)>,
    under_way: usize,
}

pub(crate) struct Oracle<'a> {
    workload: &'a Workload,
    window: usize,
    stages: Vec<Stage>,
    sources: Vec<Source>,
    segments: Vec<Segment>,
    free: Vec<usize>,
    queue: BinaryHeap<Reverse<Event>>,
    asked: u64,
    followers: Vec<Vec<usize>>,
    done: Vec<u64>,
}

/// Delivery of each message, in picoseconds, and the busy time of each resource.
pub(crate) fn run(workload: &Workload, window: usize) -> (Vec<u64>, Vec<u64>) {
    let connections =
        workload.messages.iter().map(|m| m.conn as usize + 1).max().unwrap_or_default();
    let stage = || Stage {
        queues: vec![VecDeque::new(); connections],
        in_ring: vec![false; connections],
        ..Stage::default()
    };
    let mut oracle = Oracle {
        workload,
        window,
        stages: workload.ps_per_byte.iter().map(|_| stage()).collect(),
        sources: (0..connections).map(|_| Source::default()).collect(),
        segments: Vec::new(),
        free: Vec::new(),
        queue: BinaryHeap::new(),
        asked: 0,
        followers: vec![Vec::new(); workload.messages.len()],
        done: vec![0; workload.messages.len()],
    };
    for (index, message) in workload.messages.iter().enumerate() {
        match message.begin {
            Begin::At(at) => oracle.push(at, Kind::Start, message.conn as usize, index),
            Begin::After(other) => oracle.followers[other].push(index),
        }
    }
    oracle.run_all();
    let busy = oracle.stages.iter().map(|stage| stage.busy).collect();
    (oracle.done, busy)
}

impl Oracle<'_> {
    /// Events of one instant go by kind, then by `order` (connection or resource).
    fn push(&mut self, at: u64, kind: Kind, order: usize, what: usize) {
        self.asked += 1;
        self.queue.push(Reverse((at, kind, order, self.asked, what)));
    }

    fn run_all(&mut self) {
        while let Some(Reverse((now, kind, order, _, what))) = self.queue.pop() {
            match kind {
                Kind::Start => self.start(now, what),
                Kind::Arrive => self.arrive(now, what),
                Kind::End => self.end(now, order),
                Kind::Pick => self.pick(now, order),
            }
        }
    }

    fn start(&mut self, now: u64, index: usize) {
        let message = &self.workload.messages[index];
        let conn = message.conn as usize;
        self.sources[conn].messages.push_back((index, message.bytes));
        self.issue(now, conn);
    }

    fn issue(&mut self, now: u64, conn: usize) {
        loop {
            let source = &mut self.sources[conn];
            let Some((message, left)) = source.messages.front_mut() else { return };
            let is_bulk = self.workload.messages[*message].bytes > self.workload.mtu;
            if is_bulk && source.under_way >= self.window {
                return;
            }
            let bytes = (*left).min(self.workload.mtu);
            *left -= bytes;
            let (message, last) = (*message, *left == 0);
            if last {
                source.messages.pop_front();
            }
            source.under_way += 1;
            let segment = Segment { message, bytes, hop: 0, arrived: now, tail: now, last };
            let id = if let Some(id) = self.free.pop() {
                self.segments[id] = segment;
                id
            } else {
                self.segments.push(segment);
                self.segments.len() - 1
            };
            self.push(now, Kind::Arrive, conn, id);
        }
    }

    fn arrive(&mut self, now: u64, id: usize) {
        let mut segment = self.segments[id];
        let message = &self.workload.messages[segment.message];
        let conn = message.conn as usize;
        let path = &self.workload.paths[message.path];
        self.free.push(id);
        if segment.hop == path.len() {
            self.deliver(now, conn, segment);
            return;
        }
        let resource = path[segment.hop].0 as usize;
        segment.arrived = now;
        let stage = &mut self.stages[resource];
        stage.queues[conn].push_back(segment);
        if stage.current.is_none_or(|(current, _)| current != conn) {
            stage.stand_in_ring(conn, now);
        }
        if stage.current.is_none() {
            self.push(now, Kind::Pick, resource, 0);
        }
    }

    fn deliver(&mut self, now: u64, conn: usize, segment: Segment) {
        self.sources[conn].under_way -= 1;
        if segment.last {
            self.done[segment.message] = now;
            for next in std::mem::take(&mut self.followers[segment.message]) {
                let conn = self.workload.messages[next].conn as usize;
                self.push(now, Kind::Start, conn, next);
            }
        }
        self.issue(now, conn);
    }

    fn end(&mut self, now: u64, resource: usize) {
        let stage = &mut self.stages[resource];
        let (conn, used) = stage.current.take().expect("a segment was in service");
        let next = stage.queues[conn].front();
        let keeps_turn =
            next.is_some_and(|s| s.arrived < now && used + s.bytes <= self.workload.mtu);
        if keeps_turn {
            self.serve(now, resource, conn, used);
            return;
        }
        if next.is_some() {
            stage.stand_in_ring(conn, now);
        }
        self.push(now, Kind::Pick, resource, 0);
    }

    fn pick(&mut self, now: u64, resource: usize) {
        let stage = &mut self.stages[resource];
        if stage.current.is_some() {
            return;
        }
        if let Some((conn, _)) = stage.ring.pop_front() {
            stage.in_ring[conn] = false;
            self.serve(now, resource, conn, 0);
        }
    }

    fn serve(&mut self, now: u64, resource: usize, conn: usize, used: u64) {
        let stage = &mut self.stages[resource];
        let mut segment = stage.queues[conn].pop_front().expect("a turn has a segment");
        let path = &self.workload.paths[self.workload.messages[segment.message].path];
        let weight = u64::from(path[segment.hop].1);
        let cost = |bytes: u64| time(self.workload.ps_per_byte[resource], bytes * weight);
        let (service, head) = (cost(segment.bytes), cost(segment.bytes.min(CUT_THROUGH)));
        stage.current = Some((conn, used + segment.bytes));
        stage.busy += service;
        segment.tail = (now + service).max(segment.tail + head);
        segment.hop += 1;
        let arrival = if segment.hop == path.len() { segment.tail } else { now + head };
        let id = self.free.pop().unwrap_or(self.segments.len());
        if id == self.segments.len() {
            self.segments.push(segment);
        } else {
            self.segments[id] = segment;
        }
        self.push(arrival, Kind::Arrive, conn, id);
        self.push(now + service, Kind::End, resource, 0);
    }
}

impl Stage {
    /// To the tail; connections of one instant are sorted.
    fn stand_in_ring(&mut self, conn: usize, now: u64) {
        if std::mem::replace(&mut self.in_ring[conn], true) {
            return;
        }
        let behind = self.ring.iter().rev().take_while(|e| e.1 == now && e.0 > conn).count();
        self.ring.insert(self.ring.len() - behind, (conn, now));
    }
}

/// Service time, rounded as the hardware model rounds it.
fn time(ps_per_byte: u64, bytes: u64) -> u64 {
    Bandwidth::from_bit_per_s(8_000_000_000_000 / ps_per_byte)
        .transfer_time(Bytes::new(bytes))
        .as_ps()
}
