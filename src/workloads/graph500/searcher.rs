//! One rank of a search: the messages of its traffic, in the order of the reference code.
//!
//! ```text
//!   Scan    for each full buffer: compute its share of the edges; look for a message; wait until the
//!           last one to the same process has left; send it
//!   Flush   to each other process in turn: wait likewise; send the rest, if any; wait; send an empty
//!           message; wait
//!   Drain   wait until all have sent an empty message
//!   Reduce  allreduce; the next level
//! ```
//!
//! A wait also takes what comes, so that no rank waits for a rank that waits. Its state is a few
//! numbers; the traffic is shared by all ranks. The library holds a request and a buffer for each process
//! it sends to, as in the reference code.

use std::sync::Arc;

use super::PAIR;
use super::traffic::{Totals, Traffic};
use collectives::Collective;
use mpi::envelope::Rank;
use protocols::call::{Buffer, Call, Comm, Outcome, Peer, Reply, Requests, SendMode};
use protocols::contract::{Handle, Machine, Next, Program};

use language::marks::{END, START};

const TAG: i32 = 0;
/// The receive; the send to process d is number d + 1. Buffers have the numbers of their requests.
const RECEIVE: u32 = 0;

/// The costs of a search.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Costs {
    /// Pairs of a full buffer, at least 1.
    pub pairs: u64,
    /// Computation for each edge end that is scanned, and for each pair received, in picoseconds.
    pub edge: u64,
}

/// The program of one rank.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Searcher {
    me: u32,
    traffic: Arc<Traffic>,
    costs: Costs,
    sum: Arc<Collective>,
    level: u32,
    phase: Phase,
    /// The request of the last call, beside any message.
    asked: Awaited,
    /// Pairs that have come and are not yet looked at.
    heard: u64,
    /// Others that have said that no more comes in this level.
    done: u32,
    /// Whether a receive is posted.
    listening: bool,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Phase {
    Barrier,
    Start,
    Level,
    Scan(Scan),
    /// The process `offset` places further, and what is to be done for it.
    Flush(u32, Farewell),
    Drain,
    Reduce,
    Over,
}

/// How far the edges of a level are scanned.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Scan {
    /// Full buffers that each process has got.
    round: u64,
    /// The process so many places further is next.
    offset: u32,
    /// Full buffers of the level, and those whose share is computed.
    buffers: u64,
    computed: u64,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Stage {
    Compute,
    Look,
    Free,
    Send,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Farewell {
    Free,
    Rest,
    RestLeft,
    Empty,
    EmptyLeft,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Awaited {
    Nothing,
    /// Whether a message has come.
    Message,
    /// That the send to a process is complete.
    Left(u32),
    /// A message.
    NextMessage,
}

impl Searcher {
    /// A rank before its first call.
    pub fn new(me: u32, traffic: &Arc<Traffic>, costs: Costs, sum: &Arc<Collective>) -> Self {
        Self {
            me,
            traffic: Arc::clone(traffic),
            costs,
            sum: Arc::clone(sum),
            level: 0,
            phase: Phase::Barrier,
            asked: Awaited::Nothing,
            heard: 0,
            done: 0,
            listening: false,
        }
    }

    /// Sums over the whole search.
    pub fn totals(&self) -> Totals {
        self.traffic.totals()
    }

    fn others(&self) -> u32 {
        self.traffic.processes() - 1
    }

    /// The process `offset` places further.
    fn peer(&self, offset: u32) -> u32 {
        (self.me + offset) % self.traffic.processes()
    }

    fn pairs(&self, offset: u32) -> u64 {
        self.traffic.pairs(self.level, self.me, self.peer(offset))
    }

    /// Full buffers for the process `offset` places further.
    fn full(&self, offset: u32) -> u64 {
        self.pairs(offset) / self.costs.pairs
    }

    fn send(to: u32, pairs: u64) -> Next<Call> {
        Next::Call(Call::Isend {
            request: Handle(to + 1),
            to: Peer::Rank(Rank(to)),
            tag: TAG,
            comm: Comm::default(),
            buffer: Buffer { id: to + 1, bytes: pairs * PAIR },
            mode: SendMode::Standard,
        })
    }

    fn receive(&self) -> Next<Call> {
        Next::Call(Call::Irecv {
            request: Handle(RECEIVE),
            source: Peer::Any,
            tag: Some(TAG),
            comm: Comm::default(),
            buffer: Buffer { id: RECEIVE, bytes: self.costs.pairs * PAIR },
        })
    }

    /// Takes the reply of the last call.
    fn told(&mut self, reply: &Reply) {
        match (self.asked, reply) {
            (Awaited::Message, Reply::Tested(Some(outcome)))
            | (Awaited::Left(_), Reply::Any { index: 0, outcome }) => self.arrived(*outcome),
            (Awaited::NextMessage, Reply::Outcome(outcome)) => {
                self.asked = Awaited::Nothing;
                self.arrived(*outcome);
            }
            (Awaited::Message, Reply::Tested(None))
            | (Awaited::Left(_), Reply::Any { .. } | Reply::Outcome(_)) => {
                self.asked = Awaited::Nothing;
            }
            // An isend, an irecv, a barrier or a reduction: no message was requested.
            _ => {}
        }
    }

    fn arrived(&mut self, outcome: Outcome) {
        self.listening = false;
        let Outcome::Received(status) = outcome else { return };
        self.heard = status.count / PAIR;
        self.done += u32::from(status.count == 0);
    }

    /// The call for what is requested; `None` where it has become pointless.
    fn ask(&mut self) -> Option<Next<Call>> {
        let receive = Handle(RECEIVE);
        let call = match self.asked {
            Awaited::Nothing => return None,
            Awaited::Message if self.listening => Call::Test { request: receive },
            Awaited::Message | Awaited::NextMessage if !self.listening => {
                self.asked = Awaited::Nothing;
                return None;
            }
            Awaited::Message | Awaited::NextMessage => Call::Wait { request: receive },
            Awaited::Left(to) if self.listening => {
                Call::WaitAny { requests: Requests::List([receive, Handle(to + 1)].into()) }
            }
            Awaited::Left(to) => Call::Wait { request: Handle(to + 1) },
        };
        Some(Next::Call(call))
    }

    /// Whether messages of the level may still come.
    fn expects(&self) -> bool {
        let inside = matches!(self.phase, Phase::Scan(_) | Phase::Flush(..) | Phase::Drain);
        inside && self.done < self.others()
    }

    /// The next step of the level's own work; `None` where only the phase has changed.
    fn turn(&mut self) -> Option<Next<Call>> {
        match self.phase {
            Phase::Barrier => {
                self.phase = Phase::Start;
                Some(Next::Call(Call::Barrier { comm: Comm::default() }))
            }
            Phase::Start => {
                self.phase = Phase::Level;
                Some(Next::Mark(START))
            }
            Phase::Level if self.level == self.traffic.levels() => {
                self.phase = Phase::Over;
                Some(Next::Mark(END))
            }
            Phase::Level => {
                self.done = 0;
                let buffers = (1..=self.others()).map(|offset| self.full(offset)).sum();
                let stage = Stage::Compute;
                let scan = Scan { round: 0, offset: 1, buffers, computed: 0, stage };
                self.phase = Phase::Scan(scan);
                None
            }
            Phase::Scan(scan) => self.scan(scan),
            Phase::Flush(offset, _) if offset > self.others() => {
                self.phase = Phase::Drain;
                None
            }
            Phase::Flush(offset, part) => self.flush(offset, part),
            Phase::Drain if self.done < self.others() => {
                self.asked = Awaited::NextMessage;
                None
            }
            Phase::Drain => {
                self.phase = Phase::Reduce;
                None
            }
            Phase::Reduce => {
                (self.phase, self.level) = (Phase::Level, self.level + 1);
                Some(Next::Call(Call::Collective(Arc::clone(&self.sum))))
            }
            Phase::Over => Some(Next::End),
        }
    }

    /// One stage of one full buffer, or of what is scanned after the last.
    fn scan(&mut self, mut scan: Scan) -> Option<Next<Call>> {
        if scan.stage == Stage::Compute {
            let share = self.share(scan);
            scan.stage = Stage::Look;
            self.phase = Phase::Scan(scan);
            return (share > 0).then_some(Next::Compute(share));
        }
        if scan.computed == scan.buffers {
            self.phase = Phase::Flush(1, Farewell::Free);
            return None;
        }
        let to = self.peer(scan.offset);
        let mut step = None;
        match scan.stage {
            Stage::Compute => {}
            Stage::Look => {
                while self.full(scan.offset) <= scan.round {
                    scan.advance(self.others());
                }
                self.asked = Awaited::Message;
                scan.stage = Stage::Free;
            }
            Stage::Free => {
                self.asked = if scan.round > 0 { Awaited::Left(to) } else { Awaited::Nothing };
                scan.stage = Stage::Send;
            }
            Stage::Send => {
                step = Some(Self::send(to, self.costs.pairs));
                scan.advance(self.others());
                (scan.stage, scan.computed) = (Stage::Compute, scan.computed + 1);
            }
        }
        self.phase = Phase::Scan(scan);
        step
    }

    /// Computation up to the next full buffer: edges fill buffers evenly.
    fn share(&self, scan: Scan) -> u64 {
        let all = self.traffic.scanned(self.level, self.me);
        let all = u128::from(all) * u128::from(self.costs.edge);
        let until = |part: u64| all * u128::from(part) / u128::from(scan.buffers + 1);
        let share = until(scan.computed + 1) - until(scan.computed);
        u64::try_from(share).expect("validation limits a search to 200 days")
    }

    /// One step of what a process still gets.
    fn flush(&mut self, offset: u32, part: Farewell) -> Option<Next<Call>> {
        let (to, pairs) = (self.peer(offset), self.pairs(offset));
        let rest = pairs % self.costs.pairs;
        let (next, step, left) = match part {
            Farewell::Free => (Farewell::Rest, None, pairs >= self.costs.pairs),
            Farewell::Rest => (Farewell::RestLeft, (rest > 0).then(|| Self::send(to, rest)), false),
            Farewell::RestLeft => (Farewell::Empty, None, rest > 0),
            Farewell::Empty => (Farewell::EmptyLeft, Some(Self::send(to, 0)), false),
            Farewell::EmptyLeft => {
                self.phase = Phase::Flush(offset + 1, Farewell::Free);
                self.asked = Awaited::Left(to);
                return None;
            }
        };
        self.phase = Phase::Flush(offset, next);
        self.asked = if left { Awaited::Left(to) } else { Awaited::Nothing };
        step
    }
}

impl Scan {
    /// On to the next process.
    const fn advance(&mut self, others: u32) {
        if self.offset == others {
            (self.offset, self.round) = (1, self.round + 1);
        } else {
            self.offset += 1;
        }
    }
}

impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for Searcher {
    fn next(&mut self, reply: Option<Reply>) -> Next<Call> {
        if let Some(reply) = reply {
            self.told(&reply);
        }
        loop {
            let heard = std::mem::take(&mut self.heard);
            if heard > 0 && self.costs.edge > 0 {
                return Next::Compute(heard * self.costs.edge);
            }
            if !self.listening && self.expects() {
                self.listening = true;
                return self.receive();
            }
            if let Some(call) = self.ask() {
                return call;
            }
            if let Some(step) = self.turn() {
                return step;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_a_few_numbers() {
        let bytes = size_of::<Searcher>();
        assert!(bytes <= 160, "{bytes} B");
    }
}
