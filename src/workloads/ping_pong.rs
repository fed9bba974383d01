//! Ping-pong: two ranks send one message to and fro, as `osu_latency` does.
//!
//! Marks 0 and 1 of rank 0 bracket the timed rounds; latency is half the time of a round. Rank 1 measures no time:
//! its last warm-up message is still on its way when its send returns.

use std::sync::Arc;

use super::backlog::{Backlog, LongQueue, backlog};
use super::fields::{BETWEEN, Between, QUEUE, ROUNDS, Rounds, SIZE, WARMUP};
use super::job::AnyProgram;
use super::kind::{Kind, OsuBenchmark, OsuTest, Processes, Reading, Workload};
use super::metric::{BANDWIDTH, LATENCY, Measured, MetricSpec, TIME, between_marks};
use super::ranks::Ranks;
use form::typed::Object as _;
use form::workload_field;
pub use language::marks::{END, START};
use language::marks::{HALFWAY, PARTNER_END, PARTNER_START, is_halfway};
use mpi::envelope::Rank;
use protocols::call::{Buffer, Call, Comm, Peer, Reply, SendMode};
use protocols::contract::{Machine, Next, Program};
use runtime::account::Account;
use units::Bytes;

form::object! {
    /// Two processes send one message to and fro; a round is both ways.
    pub struct PingPongForm {
        size: Bytes = SIZE,
        rounds: Rounds = ROUNDS,
        warmup: u32 = WARMUP,
        between: Between = BETWEEN,
        queue: Option<LongQueue> = QUEUE,
    }
}

/// A message to and fro between two processes.
pub static KIND: Kind = Kind {
    name: "ping_pong",
    fields: PingPongForm::FIELDS,
    about: PingPongForm::ABOUT,
    metrics: &[LATENCY, BANDWIDTH, TIME],
    account: &[COPIERS],
    processes: "workload",
    read: |reading| Some(Arc::new(PingPongForm::read(reading.node))),
};

/// One message is under way at a time. Where one side alone copies, the part of its time.
const COPIERS: MetricSpec =
    MetricSpec::number("copiers", "").titled("Processes that copy, in the mean");

impl PingPongForm {
    fn rounds(&self) -> u32 {
        self.rounds.of(self.size)
    }
}

impl Workload for PingPongForm {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn processes(&self, reading: &mut Reading<'_>) -> Option<Processes> {
        self.between.processes(reading)
    }

    fn traffic(&self, _: u32, _: u16) -> Option<(Bytes, u128)> {
        Some((self.size, 2 * (u128::from(self.rounds()) + u128::from(self.warmup))))
    }

    fn programs(&self, _: &Ranks) -> Vec<AnyProgram> {
        let size = self.size.as_u64();
        let rank = |me: u32| {
            let peer = Rank(1 - me);
            let program = PingPong::new(peer, me == 0, size, self.warmup, self.rounds());
            match backlog(self.queue, me == 1, peer, size) {
                Some(backlog) => program.with_backlog(backlog),
                None => program,
            }
        };
        (0..2).map(|me| AnyProgram::PingPong(rank(me))).collect()
    }

    fn messages(&self, _: &Ranks) -> u64 {
        2 * u64::from(self.rounds())
    }

    fn measure(&self, run: &mut Measured<'_>) {
        run.ping_pong(self.size.as_u64(), u64::from(self.rounds()));
    }

    fn senders(&self, _: &Ranks) -> u64 {
        1
    }

    fn measure_account(&self, run: &mut Measured<'_>, account: &Account) {
        let (begun, ended) = between_marks(run.outcome);
        run.add(COPIERS, account.copying().as_us_f64() / ended.since(begun).as_us_f64());
    }

    fn osu_benchmark(&self) -> Option<OsuBenchmark> {
        let size = (workload_field!(Self, size), self.size.to_string());
        Some(OsuBenchmark { test: OsuTest::Latency, settings: vec![size] })
    }
}

/// The program of one of the two ranks.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct PingPong {
    peer: Rank,
    leads: bool,
    bytes: u64,
    warm_up: u32,
    rounds: u32,
    backlog: Option<Backlog>,
    state: State,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum State {
    /// A long queue is made, where one was requested; then both are there.
    Barrier,
    /// Round `done`, first half or second.
    Half { done: u32, second: bool },
    /// The timed rounds have started.
    Started,
    /// A half of them is over, or the middle one.
    Halfway { done: u32 },
    /// The last round is over.
    Over,
}

impl PingPong {
    /// The rank that sends first if `leads`, else the one that answers.
    pub const fn new(peer: Rank, leads: bool, bytes: u64, warm_up: u32, rounds: u32) -> Self {
        Self { peer, leads, bytes, warm_up, rounds, backlog: None, state: State::Barrier }
    }

    /// The same with a queue that is long before the rounds begin: buffers 0 and 1 are taken.
    #[must_use]
    pub fn with_backlog(self, backlog: Backlog) -> Self {
        Self { backlog: Some(backlog.numbered_from(2)), ..self }
    }

    fn exchange(&self, second: bool) -> Call {
        let (peer, comm) = (Peer::Rank(self.peer), Comm::default());
        if self.leads == second {
            let buffer = Buffer { id: 1, bytes: self.bytes };
            Call::Recv { source: peer, tag: Some(0), comm, buffer }
        } else {
            let buffer = Buffer { id: 0, bytes: self.bytes };
            Call::Send { to: peer, tag: 0, comm, buffer, mode: SendMode::Standard }
        }
    }
}

impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for PingPong {
    fn next(&mut self, _: Option<Reply>) -> Next<Call> {
        match self.state {
            State::Barrier => {
                if let Some(call) = self.backlog.as_mut().and_then(Backlog::fill) {
                    return Next::Call(call);
                }
                self.state = State::Half { done: 0, second: false };
                Next::Call(Call::Barrier { comm: Comm::default() })
            }
            State::Half { done, second: false } if done == self.warm_up + self.rounds => {
                self.state = State::Over;
                Next::Mark(if self.leads { END } else { PARTNER_END })
            }
            State::Half { done, second: false } if done == self.warm_up => {
                self.state = State::Started;
                Next::Mark(if self.leads { START } else { PARTNER_START })
            }
            State::Started => {
                self.state = State::Half { done: self.warm_up, second: true };
                Next::Call(self.exchange(false))
            }
            State::Half { done, second: false } => {
                self.state = State::Half { done, second: true };
                Next::Call(self.exchange(false))
            }
            State::Half { done, second: true } => {
                let done = done + 1;
                let measured = done.saturating_sub(self.warm_up);
                self.state = if is_halfway(measured, self.rounds) {
                    State::Halfway { done }
                } else {
                    State::Half { done, second: false }
                };
                Next::Call(self.exchange(true))
            }
            State::Halfway { done } => {
                self.state = State::Half { done, second: false };
                Next::Mark(HALFWAY)
            }
            State::Over => {
                let call = self.backlog.as_mut().and_then(Backlog::empty);
                call.map_or(Next::End, Next::Call)
            }
        }
    }
}
