//! The replay: elements in the order (time, stamp), and what each does.

use super::Parameters;
use super::channels::{Channels, DONE, Live, NONE, STARTED};
use super::line::{Joined, Line};
use super::queue::Queue;
use super::schedule::{Kind, MOST_OPS, Op, Schedule, Until};
use super::stuck::{self, Stuck};

/// An element is an operation; the bits say what of it.
const OP: u32 = MOST_OPS - 1;
/// Bit of an operation's message.
/// Encoding: operations have numbers of 30 bits.
const ARRIVES: u32 = 1 << 30;
/// Bit of what leads a line.
/// Encoding: operations have numbers of 30 bits.
const LEADS: u32 = 1 << 31;

/// Result of a replay.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Replayed {
    /// When the last CPU of each rank was free.
    pub end_times: Vec<u64>,
    /// Operations and messages that had their turn.
    pub events: u64,
    /// Operations that are not over, and messages that were never received.
    pub stuck: Vec<Stuck>,
}

/// The clocks could pass 2^64: the durations of all operations together do.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("all operations together take {0} units of time, which passes 2^64")]
pub struct TooLong(pub u128);

/// Replays `schedule`. The same input gives the same answer, always.
///
/// # Errors
///
/// [`TooLong`] before anything is replayed.
pub fn replay(schedule: &Schedule, parameters: Parameters) -> Result<Replayed, TooLong> {
    let mut replay = Replay::new(schedule, parameters)?;
    replay.begin();
    while let Some((time, stamp, what)) = replay.queue.pop() {
        replay.step(time, stamp, what);
    }
    Ok(replay.end())
}

/// The longest that all can take: no rank waits longer than for all others.
fn check(schedule: &Schedule, parameters: Parameters) -> Result<(), TooLong> {
    let Parameters { latency, overhead, gap, gap_per_byte, overhead_per_byte, .. } = parameters;
    let wide = u128::from;
    let each = wide(latency) + 2 * wide(overhead) + 2 * wide(gap);
    let byte = 2 * wide(gap_per_byte) + 2 * wide(overhead_per_byte);
    let total = schedule.ops().iter().fold(0_u128, |total, op| {
        total.saturating_add(match op.kind {
            Kind::Compute => wide(op.amount),
            Kind::Send => wide(op.amount).saturating_mul(byte).saturating_add(each),
            Kind::Receive => 0,
        })
    });
    if u64::try_from(total).is_ok() { Ok(()) } else { Err(TooLong(total)) }
}

struct Replay<'a> {
    schedule: &'a Schedule,
    parameters: Parameters,
    live: Vec<Live>,
    channels: Channels,
    /// Per rank: its CPUs, its NICs sending, its NICs receiving.
    clocks: Vec<u64>,
    /// Per rank: of sends and of messages by CPU and NIC, of computations by CPU.
    lines: Vec<Line>,
    cpus: usize,
    nics: usize,
    queue: Queue,
    /// Operations that became executable in this step.
    fresh: Vec<u32>,
    events: u64,
}

impl<'a> Replay<'a> {
    fn new(schedule: &'a Schedule, parameters: Parameters) -> Result<Self, TooLong> {
        check(schedule, parameters)?;
        let (cpus, nics) = schedule.width();
        let blank = |needs| Live { channel: NONE, next: NONE, needs, stamp: 0 };
        let mut live: Vec<Live> = schedule.needs().into_iter().map(blank).collect();
        let channels = Channels::new(schedule, &mut live);
        let ranks = schedule.ranks() as usize;
        Ok(Self {
            schedule,
            parameters,
            live,
            channels,
            clocks: vec![0; ranks * (cpus + 2 * nics)],
            lines: vec![Line::EMPTY; ranks * (2 * cpus * nics + cpus)],
            cpus,
            nics,
            queue: Queue::default(),
            fresh: Vec::new(),
            events: 0,
        })
    }

    /// Makes operations without dependencies executable: rank after rank, by kind.
    fn begin(&mut self) {
        for rank in 0..self.schedule.ranks() {
            let free = |op: &u32| self.live[*op as usize].needs == 0;
            self.fresh.extend(self.schedule.of(rank).filter(free));
            self.release();
        }
    }

    #[inline]
    fn step(&mut self, time: u64, stamp: u32, what: u32) {
        let number = what & OP;
        let op = self.schedule.ops()[number as usize];
        if what & ARRIVES != 0 {
            let (cpu, nic) = (self.cpu(op.peer, op.cpu), self.receiving(op.peer, op.nic));
            if self.take_turn(time, stamp, what, op, cpu, nic) {
                self.arrive(time, number, op, cpu, nic);
                self.pass_turn(what, op, cpu, nic);
            }
        } else {
            match op.kind {
                Kind::Send => {
                    let (cpu, nic) = (self.cpu(op.rank, op.cpu), self.sending(op.rank, op.nic));
                    if self.take_turn(time, stamp, what, op, cpu, nic) {
                        self.send(time, number, op, cpu, nic);
                        self.pass_turn(what, op, cpu, nic);
                    }
                }
                Kind::Receive => self.receive(time, number, op),
                Kind::Compute => {
                    let cpu = self.cpu(op.rank, op.cpu);
                    if self.take_turn(time, stamp, what, op, cpu, cpu) {
                        self.clocks[cpu] = time + op.amount;
                        self.started(number);
                        self.done(number);
                        self.pass_turn(what, op, cpu, cpu);
                    }
                }
            }
        }
        self.release();
    }

    /// Whether both clocks are free at `time`; if not, the element waits.
    #[inline]
    fn take_turn(
        &mut self,
        time: u64,
        stamp: u32,
        what: u32,
        op: Op,
        one: usize,
        other: usize,
    ) -> bool {
        let free = self.clocks[one].max(self.clocks[other]);
        if free <= time {
            self.events += 1;
            return true;
        }
        if what & LEADS != 0 {
            self.queue.push_back(free, stamp, what);
            return false;
        }
        let line = self.line(what, op);
        match self.lines[line].join(&mut self.live, what & OP) {
            Joined::Waits => {}
            Joined::Leads => self.queue.push_back(free, stamp, what | LEADS),
            Joined::Alone => self.queue.push_back(free, stamp, what),
        }
        false
    }

    /// The element had its turn: if it led a line, the next one leads.
    #[inline]
    fn pass_turn(&mut self, what: u32, op: Op, one: usize, other: usize) {
        if what & LEADS == 0 {
            return;
        }
        let line = self.line(what, op);
        if let Some(next) = self.lines[line].leave(&self.live) {
            let free = self.clocks[one].max(self.clocks[other]);
            let stamp = self.live[next as usize].stamp;
            self.queue.push_back(free, stamp, next | (what & !OP));
        }
    }

    #[inline]
    fn send(&mut self, time: u64, number: u32, op: Op, cpu: usize, nic: usize) {
        let Parameters { latency, overhead, gap, gap_per_byte, overhead_per_byte, eager_max } =
            self.parameters;
        let more = op.amount.saturating_sub(1);
        self.clocks[cpu] = time + overhead + more * overhead_per_byte;
        self.clocks[nic] = time + gap + more * gap_per_byte;
        let stamp = self.queue.push_new(time + overhead + latency, number | ARRIVES);
        self.live[number as usize].stamp = stamp;
        self.started(number);
        if op.amount <= eager_max {
            self.done(number);
        }
    }

    #[inline]
    fn receive(&mut self, time: u64, number: u32, op: Op) {
        self.events += 1;
        self.started(number);
        if let Some(message) = self.channels.receive(&mut self.live, number) {
            self.answer(time, message, op.cpu, op.nic);
            self.done(number);
        }
    }

    #[inline]
    fn arrive(&mut self, time: u64, number: u32, op: Op, cpu: usize, nic: usize) {
        let Parameters { overhead, gap, gap_per_byte, overhead_per_byte, .. } = self.parameters;
        let more = op.amount.saturating_sub(1);
        self.clocks[cpu] = time + overhead + more * gap_per_byte.max(overhead_per_byte);
        self.clocks[nic] = time + gap + more * gap_per_byte;
        if let Some(receive) = self.channels.arrive(&mut self.live, number) {
            self.answer(time, number, op.cpu, op.nic);
            self.done(receive);
        }
    }

    /// A message is received: if its sender waits for that, it goes on, at `time` or later.
    #[inline]
    fn answer(&mut self, time: u64, message: u32, cpu: u8, nic: u8) {
        self.live[message as usize].channel = NONE;
        let op = &self.schedule.ops()[message as usize];
        if op.amount > self.parameters.eager_max {
            let rank = op.rank;
            for clock in [self.cpu(rank, cpu), self.sending(rank, nic)] {
                self.clocks[clock] = self.clocks[clock].max(time);
            }
            self.done(message);
        }
    }

    #[inline]
    fn started(&mut self, number: u32) {
        self.live[number as usize].needs = STARTED;
        self.tell(number, Until::Started);
    }

    #[inline]
    fn done(&mut self, number: u32) {
        self.live[number as usize].needs = DONE;
        self.tell(number, Until::Done);
    }

    #[inline]
    fn tell(&mut self, number: u32, until: Until) {
        for dependant in self.schedule.told(number, until) {
            let needs = &mut self.live[dependant as usize].needs;
            *needs -= 1;
            if *needs == 0 {
                self.fresh.push(dependant);
            }
        }
    }

    /// Puts operations that became executable into the queue: rank after rank, by kind.
    #[inline]
    fn release(&mut self) {
        let mut fresh = std::mem::take(&mut self.fresh);
        if fresh.len() > 1 {
            let place = |op: &u32| {
                let op = &self.schedule.ops()[*op as usize];
                (op.rank, op.kind)
            };
            fresh.sort_by_key(place);
        }
        for &number in &fresh {
            let op = &self.schedule.ops()[number as usize];
            let cpu = self.clocks[self.cpu(op.rank, op.cpu)];
            let time = match op.kind {
                Kind::Send => cpu.max(self.clocks[self.sending(op.rank, op.nic)]),
                Kind::Receive | Kind::Compute => cpu,
            };
            self.live[number as usize].stamp = self.queue.push_new(time, number);
        }
        fresh.clear();
        self.fresh = fresh;
    }

    fn end(self) -> Replayed {
        let ranks = self.clocks.chunks(self.cpus + 2 * self.nics);
        let latest = |rank: &[u64]| rank[..self.cpus].iter().copied().max().unwrap_or(0);
        Replayed {
            end_times: ranks.map(latest).collect(),
            events: self.events,
            stuck: stuck::all(self.schedule, &self.live),
        }
    }

    #[inline]
    fn cpu(&self, rank: u32, cpu: u8) -> usize {
        rank as usize * (self.cpus + 2 * self.nics) + usize::from(cpu)
    }

    #[inline]
    fn sending(&self, rank: u32, nic: u8) -> usize {
        self.cpu(rank, 0) + self.cpus + usize::from(nic)
    }

    #[inline]
    fn receiving(&self, rank: u32, nic: u8) -> usize {
        self.sending(rank, nic) + self.nics
    }

    /// The line in which an element waits.
    #[inline]
    fn line(&self, what: u32, op: Op) -> usize {
        let pairs = self.cpus * self.nics;
        let pair = usize::from(op.cpu) * self.nics + usize::from(op.nic);
        let (rank, within) = match op.kind {
            Kind::Send if what & ARRIVES != 0 => (op.peer, pairs + pair),
            Kind::Send => (op.rank, pair),
            Kind::Receive | Kind::Compute => (op.rank, 2 * pairs + usize::from(op.cpu)),
        };
        rank as usize * (2 * pairs + self.cpus) + within
    }
}
