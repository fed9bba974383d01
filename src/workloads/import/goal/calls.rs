//! A rank of a schedule as a program of MPI calls.
//!
//! A rank has one thread. It begins what is executable, sends and receives before computations, in
//! the order in which they became so: `MPI_Isend`, `MPI_Irecv`, work outside the library. When
//! nothing is executable it waits for one of the requests that others depend on (`MPI_Waitany`), at
//! the end for the rest (`MPI_Waitall`). A unit of time is a nanosecond.
//!
//! Left out: a second CPU or NIC of a rank; who reads a schedule for a machine refuses them. While
//! the thread computes it makes no progress, where a LogGOPS rank shares its CPU message by
//! message: that is what a machine is for.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use language::marks::{END, START};
use language::program::too_short;
use mpi::envelope::{Rank, TAG_UB};
use protocols::call::{Buffer, Call, Comm, Outcome, Peer, Reply, Requests, SendMode};
use protocols::contract::{Handle, Machine, Next, Program};
use runtime::loggops::schedule::{ANY, Kind, Op, Schedule, Until};
use runtime::monitors::Violation;

/// The longest computation, in ns: 200 days.
/// Limit: as for any field of a scenario.
pub const LONGEST_CALC: u64 = 200 * 24 * 3600 * 1_000_000_000;

/// Why an operation cannot be done by a machine.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Unfit {
    /// It needs a second CPU.
    #[error("cpu {0}: a rank on a machine is one thread, on cpu 0")]
    Cpu(u8),
    /// It needs a second NIC.
    #[error("nic {0}: a rank on a machine uses nic 0")]
    Nic(u8),
    /// Its tag is none of MPI's.
    #[error("tag {0}: tags of MPI are 0 to {TAG_UB}")]
    Tag(u32),
    /// It is longer than a message may be.
    #[error("a message of {0} bytes: counts of MPI are at most {1}")]
    Size(u64, u64),
    /// It computes longer than clocks go.
    #[error("a computation of {0} ns: at most {LONGEST_CALC} ns (200 days) are allowed")]
    Time(u64),
}

/// The first operation that no machine can do, and why.
pub fn unfit(schedule: &Schedule, longest_message: u64) -> Option<(u32, Unfit)> {
    let wrong = |op: &Op| {
        let tag = op.tag != ANY && i32::try_from(op.tag).is_err();
        let (work, amount) = (op.kind == Kind::Compute, op.amount);
        match op {
            _ if op.cpu > 0 => Some(Unfit::Cpu(op.cpu)),
            _ if op.nic > 0 => Some(Unfit::Nic(op.nic)),
            _ if tag => Some(Unfit::Tag(op.tag)),
            _ if work && amount > LONGEST_CALC => Some(Unfit::Time(amount)),
            _ if !work && amount > longest_message => Some(Unfit::Size(amount, longest_message)),
            _ => None,
        }
    };
    (0..).zip(schedule.ops()).find_map(|(number, op)| Some((number, wrong(op)?)))
}

/// Present activity of the thread.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Doing {
    /// Nothing yet.
    Nothing,
    /// It begins, or does, this operation; by its number in the rank.
    Op(u32),
    /// It waits for one of these.
    WaitAny(Arc<[Handle]>),
    /// It waits for all that are left.
    WaitAll(Arc<[Handle]>),
    /// It is at its end.
    Ended,
}

/// One rank.
#[derive(Clone, Debug)]
pub struct Player {
    schedule: Arc<Schedule>,
    /// The rank's first operation: below, operations are counted from there.
    first: u32,
    /// Dependencies that are left, per operation.
    needs: Vec<u32>,
    communications: VecDeque<u32>,
    computations: VecDeque<u32>,
    /// The operation of each request in use.
    requests: Vec<Option<u32>>,
    doing: Doing,
    /// The operation of each call.
    calls: Vec<u32>,
    /// Receives that got more than they had room for.
    truncated: Vec<u32>,
}

/// The schedule never changes, so two states of one rank differ only in the rest.
impl PartialEq for Player {
    fn eq(&self, other: &Self) -> bool {
        self.first == other.first
            && self.needs == other.needs
            && self.communications == other.communications
            && self.computations == other.computations
            && self.requests == other.requests
            && self.doing == other.doing
            && self.truncated == other.truncated
    }
}

impl Eq for Player {}

impl Hash for Player {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.first, &self.needs, &self.communications, &self.computations).hash(state);
        (&self.requests, &self.doing, &self.truncated).hash(state);
    }
}

/// All ranks of a schedule that [`unfit`] finds nothing in.
pub fn players(schedule: &Arc<Schedule>) -> Vec<Player> {
    let needs = schedule.needs();
    let player = |rank| {
        let ops = schedule.of(rank);
        let own = ops.start as usize..ops.end as usize;
        let mut player = Player {
            schedule: Arc::clone(schedule),
            first: ops.start,
            needs: needs[own].to_vec(),
            communications: VecDeque::new(),
            computations: VecDeque::new(),
            requests: Vec::new(),
            doing: Doing::Nothing,
            calls: Vec::new(),
            truncated: Vec::new(),
        };
        let mut free: Vec<u32> =
            (0..).zip(&player.needs).filter(|(_, needs)| **needs == 0).map(|(op, _)| op).collect();
        player.release(&mut free);
        player
    };
    (0..schedule.ranks()).map(player).collect()
}

impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for Player {
    fn next(&mut self, reply: Option<Reply>) -> Next<Call> {
        self.advance(reply)
    }

    fn position(&self) -> Option<u32> {
        self.line()
    }

    fn line_of(&self, call: u32) -> Option<u32> {
        self.line_of_call(call)
    }
}

impl Player {
    pub(crate) fn truncations(&self) -> impl Iterator<Item = Violation> {
        self.truncated.iter().map(|op| {
            let Op { amount, rank, .. } = self.op(*op);
            let line = self.schedule.line(self.first + op).unwrap_or_default();
            too_short(format!("the receive of rank {rank} in line {line}"), amount, None)
        })
    }

    /// The line of the operation that was begun last.
    pub fn line(&self) -> Option<u32> {
        self.schedule.line(self.first + self.calls.last()?)
    }

    /// The line of the call with this number.
    pub fn line_of_call(&self, call: u32) -> Option<u32> {
        self.schedule.line(self.first + self.calls.get(call as usize)?)
    }

    /// The next step; see [`Program::next`].
    ///
    /// # Panics
    ///
    /// When `reply` is none that the last call can return: a defect of the library.
    pub fn advance(&mut self, reply: Option<Reply>) -> Next<Call> {
        match std::mem::replace(&mut self.doing, Doing::Ended) {
            Doing::Nothing => {
                self.doing = Doing::Op(u32::MAX);
                return Next::Mark(START);
            }
            Doing::Op(u32::MAX) => {}
            Doing::Op(op) => self.begun(op),
            Doing::WaitAny(requests) => match reply {
                Some(Reply::Any { index, outcome }) => self.over(requests[index as usize], outcome),
                other => panic!("MPI_Waitany cannot return {other:?}"),
            },
            Doing::WaitAll(requests) => match reply {
                Some(Reply::All(outcomes)) => {
                    for (request, outcome) in requests.iter().zip(outcomes) {
                        self.over(*request, outcome);
                    }
                }
                other => panic!("MPI_Waitall cannot return {other:?}"),
            },
            Doing::Ended => return Next::End,
        }
        self.proceed()
    }

    fn proceed(&mut self) -> Next<Call> {
        if let Some(op) = self.communications.pop_front() {
            self.doing = Doing::Op(op);
            return Next::Call(self.call(op));
        }
        if let Some(op) = self.computations.pop_front() {
            self.doing = Doing::Op(op);
            return Next::Compute(self.op(op).amount * 1_000);
        }
        let open = || {
            let slots = (0..).zip(&self.requests);
            slots.filter_map(|(slot, op)| Some((Handle(slot), (*op)?)))
        };
        let waited: Arc<[Handle]> =
            open().filter(|(_, op)| self.holds_others(*op)).map(|(handle, _)| handle).collect();
        if !waited.is_empty() {
            self.calls.push(open().find(|(handle, _)| *handle == waited[0]).map_or(0, |one| one.1));
            self.doing = Doing::WaitAny(Arc::clone(&waited));
            return Next::Call(Call::WaitAny { requests: Requests::List(waited) });
        }
        let rest: Arc<[Handle]> = open().map(|(handle, _)| handle).collect();
        if let Some((_, first)) = open().next() {
            self.calls.push(first);
            self.doing = Doing::WaitAll(Arc::clone(&rest));
            return Next::Call(Call::WaitAll { requests: Requests::List(rest), statuses: true });
        }
        self.doing = Doing::Ended;
        Next::Mark(END)
    }

    fn op(&self, op: u32) -> Op {
        self.schedule.ops()[(self.first + op) as usize]
    }

    /// Whether something waits for the end of `op`.
    fn holds_others(&self, op: u32) -> bool {
        self.schedule.dependants(self.first + op).any(|edge| edge.until == Until::Done)
    }

    fn call(&mut self, op: u32) -> Call {
        self.calls.push(op);
        let Op { amount: bytes, peer, tag, kind, .. } = self.op(op);
        let request = self.request(op);
        let (comm, buffer) = (Comm(0), Buffer { id: op, bytes });
        let tag = (tag != ANY).then(|| i32::try_from(tag).expect("the schedule was checked"));
        if kind == Kind::Send {
            let (to, tag) = (Peer::Rank(Rank(peer)), tag.expect("a send has a tag"));
            return Call::Isend { request, to, tag, comm, buffer, mode: SendMode::Standard };
        }
        let source = if peer == ANY { Peer::Any } else { Peer::Rank(Rank(peer)) };
        Call::Irecv { request, source, tag, comm, buffer }
    }

    /// The first request that is not in use.
    fn request(&mut self, op: u32) -> Handle {
        let slot = self.requests.iter().position(Option::is_none).unwrap_or(self.requests.len());
        if slot == self.requests.len() {
            self.requests.push(None);
        }
        self.requests[slot] = Some(op);
        Handle(u32::try_from(slot).expect("at most one an operation"))
    }

    /// A call that begins `op` has returned; a computation is over.
    fn begun(&mut self, op: u32) {
        self.tell(op, Until::Started);
        if self.op(op).kind == Kind::Compute {
            self.tell(op, Until::Done);
        }
    }

    fn over(&mut self, request: Handle, outcome: Outcome) {
        let slot = &mut self.requests[request.0 as usize];
        let op = slot.take().expect("a request that was waited for is in use");
        if matches!(outcome, Outcome::Truncated(_)) {
            self.truncated.push(op);
        }
        self.tell(op, Until::Done);
    }

    fn tell(&mut self, op: u32, until: Until) {
        let mut free = Vec::new();
        for edge in self.schedule.dependants(self.first + op).filter(|edge| edge.until == until) {
            let dependant = edge.dependant - self.first;
            self.needs[dependant as usize] -= 1;
            if self.needs[dependant as usize] == 0 {
                free.push(dependant);
            }
        }
        self.release(&mut free);
    }

    /// Puts operations that became executable into their queue, sends first.
    fn release(&mut self, free: &mut [u32]) {
        free.sort_by_key(|op| self.op(*op).kind);
        for op in free {
            if self.op(*op).kind == Kind::Compute {
                self.computations.push_back(*op);
            } else {
                self.communications.push_back(*op);
            }
        }
    }
}
