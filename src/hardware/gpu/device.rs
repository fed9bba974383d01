//! One GPU at work: streams, the SMs and their queue, the engines and theirs.

use std::collections::{BTreeMap, VecDeque};

use super::bus::{Bus, Paths};
use super::copy::{Copy, Direction};
#[cfg(feature = "mutants")]
use super::flaw::Flaw;
use super::multiprocessors::{Multiprocessors, Placement};
use super::operation::{Agenda, Done, GPU_TOKEN, GpuEvent, GpuId, GpuStats, Operation, Stream};
use super::running::{Running, evenness};
use super::shape::Shape;
use crate::fabric::{ConnId, Fabric, Share, Transfer};
use units::Time;

/// Pieces of a copy that are with the fabric at once.
/// Method: while one moves the next one waits, so that the fabric never runs dry.
const PIECES_AHEAD: u32 = 2;
/// Engines, at most.
/// Limit: one for each direction of a copy.
const ENGINES: usize = 3;

/// An operation from its submission to its end.
#[derive(Debug)]
struct Submitted {
    stream: Stream,
    operation: Operation,
    token: u64,
    /// Its launch latency is over.
    ready: bool,
}

/// The part of an operation that a transfer of the fabric moves.
#[derive(Debug)]
enum Moving {
    /// Blocks of the kernel with this slot.
    Wave { slot: u32, placement: Placement },
    /// A piece of the copy of this engine.
    Piece { engine: usize },
}

/// A copy that an engine has started.
#[derive(Debug)]
struct Copying {
    operation: u32,
    copy: Copy,
    /// Bytes that are not with the fabric yet.
    left: u64,
    /// Pieces that are.
    pieces: u32,
    begun: bool,
    since: Time,
}

/// An engine: the copy that it does, and those that wait for it.
#[derive(Debug, Default)]
struct Engine {
    current: Option<Copying>,
    waiting: VecDeque<u32>,
}

/// Values with small numbers that are used again.
#[derive(Debug)]
struct Numbered<T> {
    values: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { values: Vec::new(), free: Vec::new() }
    }
}

impl<T> Numbered<T> {
    fn insert(&mut self, value: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.values[number as usize] = Some(value);
            return number;
        }
        self.values.push(Some(value));
        u32::try_from(self.values.len() - 1).expect("fewer than 2^32 at once")
    }

    fn get(&mut self, number: u32) -> &mut T {
        self.values[number as usize].as_mut().expect("a number that is in use")
    }

    fn remove(&mut self, number: u32) -> T {
        self.free.push(number);
        self.values[number as usize].take().expect("a number that is in use")
    }
}

/// One GPU.
#[derive(Debug)]
pub(super) struct Device {
    index: u32,
    first_conn: u32,
    paths: Paths,
    sms: Multiprocessors,
    operations: Numbered<Submitted>,
    streams: BTreeMap<Stream, VecDeque<u32>>,
    /// Launched kernels in the order in which they became ready.
    kernels: Vec<Running>,
    engines: [Engine; ENGINES],
    moving: Numbered<Moving>,
    /// Shares given last: of stores of SMs, and of the engine.
    shares: BTreeMap<u32, (u32, u32)>,
    busy_since: Option<Time>,
    stats: GpuStats,
}

/// The GPU and the transfer of a token.
pub(super) fn parts(token: u64) -> (u32, u32) {
    let low = u32::MAX;
    let half = |word: u64| u32::try_from(word & u64::from(low)).expect("32 bits");
    (half((token & !GPU_TOKEN) >> 32), half(token))
}

impl Device {
    pub(super) fn new(index: u32, shape: &Shape, bus: Bus, first_conn: u32) -> Self {
        Self {
            index,
            first_conn,
            paths: Paths::new(bus),
            sms: Multiprocessors::new(shape),
            operations: Numbered::default(),
            streams: BTreeMap::new(),
            kernels: Vec::new(),
            engines: Default::default(),
            moving: Numbered::default(),
            shares: BTreeMap::new(),
            busy_since: None,
            stats: GpuStats::default(),
        }
    }

    /// Connections of one GPU: its engines', and for each kernel that runs one of its first blocks
    /// and one of all others. What a connection delivers is in order, and blocks are not: none waits
    /// for the slowest warp, which is among the first.
    pub(super) fn connections(shape: &Shape) -> u32 {
        3 + 2 * shape.concurrent_kernels
    }

    /// The connection of the first blocks of the kernel with this slot, or of its others.
    const fn conn_of_kernel(&self, slot: u32, first: bool) -> u32 {
        self.first_conn + 3 + 2 * slot + first as u32
    }

    pub(super) const fn stats(&self) -> GpuStats {
        self.stats
    }

    pub(super) fn submit(
        &mut self,
        now: Time,
        shape: &Shape,
        stream: Stream,
        operation: Operation,
        token: u64,
        agenda: &mut impl Agenda,
    ) {
        let latency = match operation {
            Operation::Kernel(kernel) => {
                assert!(kernel.blocks == 0 || shape.resident(kernel.block) > 0, "a block fits");
                shape.launch_latency
            }
            Operation::Copy(_) => shape.copy_latency,
        };
        let id = self.operations.insert(Submitted { stream, operation, token, ready: false });
        self.streams.entry(stream).or_default().push_back(id);
        agenda.gpu(now + latency, GpuEvent { gpu: self.index, operation: id });
    }

    /// The launch latency of an operation is over.
    pub(super) fn ready(
        &mut self,
        now: Time,
        shape: &Shape,
        id: u32,
        fabric: &mut Fabric,
        agenda: &mut impl Agenda,
    ) {
        let operation = self.operations.get(id);
        operation.ready = true;
        let stream = operation.stream;
        let is_next = self.streams[&stream].front() == Some(&id);
        #[cfg(feature = "mutants")]
        let is_next = is_next || shape.has(Flaw::StreamIgnored);
        if is_next {
            self.enqueue(id, shape);
            self.go_on(now, shape, fabric, agenda);
        }
    }

    /// A wave, or a piece of a copy, is where it was to go.
    pub(super) fn delivered(
        &mut self,
        now: Time,
        shape: &Shape,
        transfer: u32,
        fabric: &mut Fabric,
        agenda: &mut impl Agenda,
        done: &mut Vec<Done>,
    ) {
        match self.moving.remove(transfer) {
            Moving::Wave { slot, placement } => self.end_wave(slot, &placement, shape, done),
            Moving::Piece { engine } => self.end_piece(now, engine, shape, done),
        }
        self.go_on(now, shape, fabric, agenda);
    }

    /// First in its stream and ready: it waits for SMs or an engine.
    fn enqueue(&mut self, id: u32, shape: &Shape) {
        let waiting = match self.operations.get(id).operation {
            Operation::Kernel(kernel) => {
                self.kernels.push(Running::new(id, kernel, shape));
                self.kernels.iter().filter(|kernel| kernel.begun == 0).count()
            }
            Operation::Copy(copy) => {
                let engine = engine_of(copy.direction, shape);
                #[cfg(feature = "mutants")]
                let engine = self.engine_with(engine, shape);
                let engine = &mut self.engines[engine];
                engine.waiting.push_back(id);
                engine.waiting.len()
            }
        };
        let waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
        self.stats.queue_max = self.stats.queue_max.max(waiting);
    }

    /// An operation has ended: what follows it in its stream may wait for SMs or an engine.
    fn finish(&mut self, id: u32, shape: &Shape, done: &mut Vec<Done>) {
        let Submitted { stream, token, .. } = self.operations.remove(id);
        done.push(Done { gpu: GpuId(self.index), token });
        let queue = self.streams.get_mut(&stream).expect("a stream of what ran");
        #[cfg(feature = "mutants")]
        if shape.has(Flaw::StreamIgnored) {
            queue.retain(|&other| other != id);
            return;
        }
        queue.pop_front();
        match queue.front().copied() {
            None => {
                self.streams.remove(&stream);
            }
            Some(next) if self.operations.get(next).ready => self.enqueue(next, shape),
            Some(_) => {}
        }
    }

    /// Starts whatever can start; shares hold for what begins in this instant, too.
    fn go_on(&mut self, now: Time, shape: &Shape, fabric: &mut Fabric, agenda: &mut impl Agenda) {
        self.dispatch(now, shape, fabric, agenda);
        self.feed_engines(now, shape, fabric, agenda);
        self.share_bus(now, shape, fabric, agenda);
        self.note_busy(now);
    }

    /// Blocks take the slots that are free: those of the first kernel, then what it leaves over.
    fn dispatch(
        &mut self,
        now: Time,
        shape: &Shape,
        fabric: &mut Fabric,
        agenda: &mut impl Agenda,
    ) {
        let most = shape.concurrent_kernels as usize;
        let running = self.kernels.len().min(most);
        for at in 0..running {
            #[cfg(feature = "mutants")]
            let at = if shape.has(Flaw::NewestFirst) { running - 1 - at } else { at };
            if self.kernels[at].slot.is_none() {
                let slot = free_slot(&self.kernels);
                #[cfg(feature = "mutants")]
                let slot = if shape.has(Flaw::OtherSlots) {
                    last_free_slot(&self.kernels, shape)
                } else {
                    slot
                };
                self.kernels[at].slot = Some(slot);
            }
            while self.kernels[at].waits_for_slots() {
                if !self.begin_wave(now, at, shape, fabric, agenda) {
                    // Later kernels wait behind this one.
                    return;
                }
            }
        }
    }

    /// Gives a group of blocks to the SMs; false where none has room.
    fn begin_wave(
        &mut self,
        now: Time,
        at: usize,
        shape: &Shape,
        fabric: &mut Fabric,
        agenda: &mut impl Agenda,
    ) -> bool {
        let behind = self.writes_to_host();
        #[cfg(feature = "mutants")]
        let behind = behind && !shape.has(Flaw::ReadsPassWrites);
        let running = &mut self.kernels[at];
        let slot = running.slot.expect("kernels that run have a slot");
        let left = running.kernel.blocks - running.begun;
        let placement = self.sms.place(slot, running.kernel.block, left.min(running.group));
        if placement.is_empty() {
            return false;
        }
        #[cfg(feature = "mutants")]
        if shape.has(Flaw::SlotsAtOnce) {
            self.sms.free(slot, running.kernel.block, &placement);
        }
        let (blocks, evenness) = evenness(&placement, shape);
        let first = running.begun == 0;
        let bytes = running.begin(blocks);
        let usual = evenness.is_even() && !first;
        let known = running.paths[usize::from(behind)].filter(|_| usual);
        let path = known.unwrap_or_else(|| {
            self.paths.kernel(&running.load, evenness, (slot, first), behind, shape, fabric)
        });
        if usual {
            running.paths[usize::from(behind)] = Some(path);
        }
        self.stats.waves += 1;
        let number = self.moving.insert(Moving::Wave { slot, placement });
        let conn = ConnId(self.conn_of_kernel(slot, first));
        let token = self.token(number);
        fabric.start(now, Transfer { conn, path, bytes, token }, agenda);
        true
    }

    fn end_wave(&mut self, slot: u32, placement: &Placement, shape: &Shape, done: &mut Vec<Done>) {
        let at = self.kernels.iter().position(|kernel| kernel.slot == Some(slot));
        let at = at.expect("a wave belongs to a kernel that runs");
        let running = &mut self.kernels[at];
        #[cfg(feature = "mutants")]
        let held = !shape.has(Flaw::SlotsAtOnce);
        #[cfg(not(feature = "mutants"))]
        let held = true;
        if held {
            self.sms.free(slot, running.kernel.block, placement);
        }
        running.ended += placement.iter().map(|&(_, blocks)| u64::from(blocks)).sum::<u64>();
        if running.is_done() {
            let running = self.kernels.remove(at);
            self.stats.kernels += 1;
            self.stats.blocks += running.kernel.blocks;
            self.finish(running.operation, shape, done);
        }
    }

    /// Engines begin the copies that wait for them, and keep a piece ahead of the fabric.
    fn feed_engines(
        &mut self,
        now: Time,
        shape: &Shape,
        fabric: &mut Fabric,
        agenda: &mut impl Agenda,
    ) {
        for engine in 0..ENGINES {
            #[cfg(feature = "mutants")]
            let engine =
                if shape.has(Flaw::EnginesBackwards) { ENGINES - 1 - engine } else { engine };
            if self.engines[engine].current.is_none() {
                let Some(operation) = self.engines[engine].waiting.pop_front() else { continue };
                let Operation::Copy(copy) = self.operations.get(operation).operation else {
                    unreachable!("only copies wait for engines");
                };
                let copying = Copying {
                    operation,
                    copy,
                    left: copy.bytes(),
                    pieces: 0,
                    begun: false,
                    since: now,
                };
                self.engines[engine].current = Some(copying);
            }
            while self.begin_piece(now, engine, shape, fabric, agenda) {}
        }
    }

    /// Hands the next piece of an engine's copy to the fabric, if it has one and should.
    fn begin_piece(
        &mut self,
        now: Time,
        engine: usize,
        shape: &Shape,
        fabric: &mut Fabric,
        agenda: &mut impl Agenda,
    ) -> bool {
        let behind = self.writes_to_host();
        #[cfg(feature = "mutants")]
        let behind = behind && !shape.has(Flaw::ReadsPassWrites);
        let copying = self.engines[engine].current.as_mut().expect("the engine has a copy");
        let over = copying.left == 0 && copying.begun;
        if over || copying.pieces == PIECES_AHEAD {
            return false;
        }
        // Only reads of the host depend on what else is under way.
        let whole = copying.copy.direction != Direction::HostToDevice;
        let bytes = if whole { copying.left } else { copying.left.min(copying.copy.piece()) };
        let path = self.paths.copy(&copying.copy, behind, shape, fabric);
        #[cfg(feature = "mutants")]
        if shape.has(Flaw::PiecesLost) {
            copying.left = bytes;
        }
        copying.left -= bytes;
        copying.pieces += 1;
        copying.begun = true;
        let conn = copying.copy.direction as u32;
        #[cfg(feature = "mutants")]
        let conn = if shape.has(Flaw::TwoCopiesAtOnce) && engine == 2 { 2 } else { conn };
        let conn = ConnId(self.first_conn + conn);
        let number = self.moving.insert(Moving::Piece { engine });
        let token = self.token(number);
        fabric.start(now, Transfer { conn, path, bytes, token }, agenda);
        true
    }

    fn end_piece(&mut self, now: Time, engine: usize, shape: &Shape, done: &mut Vec<Done>) {
        let current = &mut self.engines[engine].current;
        let copying = current.as_mut().expect("a piece belongs to a copy under way");
        copying.pieces -= 1;
        if copying.pieces > 0 || copying.left > 0 {
            return;
        }
        let Copying { operation, copy, since, .. } = *copying;
        *current = None;
        let direction = copy.direction as usize;
        self.stats.copies[direction] += 1;
        self.stats.copied[direction] += copy.bytes();
        self.stats.copy_busy[direction] += now.since(since);
        self.finish(operation, shape, done);
    }

    /// The engine that takes a copy although another has one.
    #[cfg(feature = "mutants")]
    fn engine_with(&self, engine: usize, shape: &Shape) -> usize {
        let busy = self.engines[engine].current.is_some();
        if shape.has(Flaw::TwoCopiesAtOnce) && busy { 2 } else { engine }
    }

    const fn token(&self, number: u32) -> u64 {
        GPU_TOKEN | (self.index as u64) << 32 | number as u64
    }

    /// The kernels that write to the host now, by slot.
    fn writing_kernels(&self) -> impl Iterator<Item = u32> + '_ {
        let writing = self
            .kernels
            .iter()
            .filter(|running| running.load.writes_to_host() && running.on_sms() > 0);
        writing.filter_map(|running| running.slot)
    }

    fn copies_to_host(&self) -> bool {
        self.engines.iter().any(|engine| {
            let copy = engine.current.as_ref().map(|copying| copying.copy.direction);
            copy == Some(Direction::DeviceToHost)
        })
    }

    /// Whether reads of host memory wait behind writes.
    fn writes_to_host(&self) -> bool {
        self.copies_to_host() || self.writing_kernels().next().is_some()
    }

    /// All writers together have one share of what lies beyond the GPU, the SMs and the engine theirs
    /// of it, kernels equal ones.
    fn share_bus(
        &mut self,
        now: Time,
        shape: &Shape,
        fabric: &mut Fabric,
        agenda: &mut impl Agenda,
    ) {
        let writing: Vec<u32> = self.writing_kernels().collect();
        let engine = u32::from(self.copies_to_host());
        let kernels = u32::try_from(writing.len()).expect("few kernels run at once");
        let sms = if kernels > 0 { shape.sm_share } else { 0 };
        #[cfg(feature = "mutants")]
        let sms = if shape.has(Flaw::EqualShares) { sms.min(1) } else { sms };
        let all = sms + engine;
        let to_host = self.first_conn + Direction::DeviceToHost as u32;
        // While its first blocks and later ones store at the same time, a kernel has two such shares.
        let conns = |&slot: &u32| [true, false].map(|first| self.conn_of_kernel(slot, first));
        let writers = writing.iter().flat_map(conns).map(|conn| (conn, sms, all * kernels));
        let shares: Vec<(u32, u32, u32)> =
            writers.chain((engine > 0).then_some((to_host, 1, all))).collect();
        for (conn, part, whole) in shares {
            if self.shares.insert(conn, (part, whole)) != Some((part, whole)) {
                fabric.set_share(now, ConnId(conn), Share::of(part, whole), agenda);
            }
        }
    }

    /// Takes note of the time during which blocks are on SMs.
    fn note_busy(&mut self, now: Time) {
        let busy = self.kernels.iter().any(|running| running.on_sms() > 0);
        match (self.busy_since, busy) {
            (None, true) => self.busy_since = Some(now),
            (Some(since), false) => {
                self.stats.kernel_busy += now.since(since);
                self.busy_since = None;
            }
            _ => {}
        }
    }
}

/// The lowest number that no kernel has.
fn free_slot(kernels: &[Running]) -> u32 {
    let taken = |slot: u32| kernels.iter().any(|running| running.slot == Some(slot));
    let mut slot = 0;
    while taken(slot) {
        slot += 1;
    }
    slot
}

/// The highest number that no kernel has.
#[cfg(feature = "mutants")]
fn last_free_slot(kernels: &[Running], shape: &Shape) -> u32 {
    let taken = |slot: u32| kernels.iter().any(|running| running.slot == Some(slot));
    (0..shape.concurrent_kernels).rev().find(|&slot| !taken(slot)).expect("few kernels run at once")
}

/// The engine of a direction: with two, copies inside the device take that to the host.
fn engine_of(direction: Direction, shape: &Shape) -> usize {
    match (shape.copy_engines, direction) {
        (1, _) | (_, Direction::HostToDevice) => 0,
        (2, _) | (_, Direction::DeviceToHost) => 1,
        (_, Direction::InDevice) => 2,
    }
}
