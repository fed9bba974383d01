//! Incast: many processes send windows of messages to one receiver at once, so that the last link before it
//! is the bottleneck.
//!
//! ```text
//!   senders   post a window of sends; wait for all; receive the empty message that ends the round
//!   receiver  post a window of receives for each sender; wait for all; send each an empty message
//! ```
//!
//! Senders fill all nodes but the last, and the receiver, which has the last rank, is alone on it: all data
//! goes through the output port of its switch. With `ranks.placement` `round_robin` the receiver shares a node.
//! Left out: congestion control, flow control of the link layer (the queue of the port blocks nothing
//! behind it), and the loss of packets in fabrics without credits.

use std::sync::Arc;

use super::fields::{ROUNDS, Rounds, SIZE, WARMUP, WINDOW};
use super::job::AnyProgram;
use super::kind::{Kind, Processes, Reading, Workload};
use super::metric::{BANDWIDTH, MESSAGE_RATE, Measured, MetricSpec, TIME};
use super::ranks::Ranks;
use super::score::{Score, Section};
use form::codes;
use form::shape::Shape;
use form::typed::{Object as _, default};
use form::workload_field;
use language::marks::{END, START};
use mpi::envelope::Rank;
use protocols::call::{Buffer, Call, Comm, Peer, Requests, SendMode};
use protocols::contract::{Handle, Next};
use units::Bytes;

/// Receives that a round of the receiver may post.
/// Limit: they are all posted at once.
const MOST_RECEIVES: u64 = 1 << 20;
/// Tag of the messages that are counted.
const DATA: i32 = 0;
/// Tag of the empty message that ends a round.
const ROUND_OVER: i32 = 1;

form::object! {
    /// Processes on all nodes but the last send windows of messages to the one process there, which
    /// answers each round; the bandwidth is that of the receiver.
    pub struct IncastForm {
        /// Sending processes of each node but the last.
        senders_per_node: u32 = default(&Shape::Count { min: 1, max: 1_024 }, "1"),
        size: Bytes = SIZE,
        window: u32 = WINDOW,
        rounds: Rounds = ROUNDS,
        warmup: u32 = WARMUP,
    }
}

/// From the first send of a round until the receiver has all of it and the senders know.
const ROUND_TIME: MetricSpec = MetricSpec::time("round_time");

/// Many senders, one receiver.
pub static KIND: Kind = Kind {
    name: "incast",
    fields: IncastForm::FIELDS,
    about: IncastForm::ABOUT,
    metrics: &[BANDWIDTH, ROUND_TIME, MESSAGE_RATE, TIME],
    account: &[],
    processes: workload_field!(IncastForm, senders_per_node),
    read: |reading| Some(Arc::new(IncastForm::read(reading.node))),
};

impl IncastForm {
    fn rounds(&self) -> u32 {
        self.rounds.of(self.size)
    }

    /// One round of the receiver, which has the rank after those of all senders.
    fn receive(&self, senders: u32) -> Vec<Next<Call>> {
        let (comm, bytes, window) = (Comm::default(), self.size.as_u64(), self.window);
        let receive = |index| {
            let (request, buffer) = (Handle(index), Buffer { id: index, bytes });
            let source = Peer::Rank(Rank(index / window));
            Next::Call(Call::Irecv { request, source, tag: Some(DATA), comm, buffer })
        };
        let all = senders * window;
        let over = |rank| {
            let to = Peer::Rank(Rank(rank));
            let buffer = Buffer { id: all, bytes: 0 };
            let mode = SendMode::Standard;
            Next::Call(Call::Send { to, tag: ROUND_OVER, comm, buffer, mode })
        };
        let receives = (0..all).map(receive);
        receives.chain([wait_all(all)]).chain((0..senders).map(over)).collect()
    }

    /// One round of a sender to the rank `receiver`.
    fn send(&self, receiver: u32) -> Vec<Next<Call>> {
        let (comm, to) = (Comm::default(), Peer::Rank(Rank(receiver)));
        let send = |index| {
            let buffer = Buffer { id: index, bytes: self.size.as_u64() };
            let (request, mode) = (Handle(index), SendMode::Standard);
            Next::Call(Call::Isend { request, to, tag: DATA, comm, buffer, mode })
        };
        let buffer = Buffer { id: self.window, bytes: 0 };
        let over = Call::Recv { source: to, tag: Some(ROUND_OVER), comm, buffer };
        let rest = [wait_all(self.window), Next::Call(over)];
        (0..self.window).map(send).chain(rest).collect()
    }

    /// Rounds before the measured ones, then those.
    fn program(&self, round: Vec<Next<Call>>) -> AnyProgram {
        let barrier = Next::Call(Call::Barrier { comm: Comm::default() });
        let before = [
            Section::once([barrier.clone()]),
            Section::repeated(round.clone(), self.warmup),
            Section::once([barrier, Next::Mark(START)]),
        ];
        let measured = Section::measured(round, self.rounds());
        let sections = before.into_iter().chain(measured).chain([Section::once([Next::Mark(END)])]);
        AnyProgram::Score(Score::new(sections))
    }
}

fn wait_all(count: u32) -> Next<Call> {
    let requests = Requests::Range { first: Handle(0), count };
    Next::Call(Call::WaitAll { requests, statuses: false })
}

/// Senders of a job: all ranks but the last.
const fn senders(ranks: &Ranks) -> u32 {
    ranks.placement.processes - 1
}

impl Workload for IncastForm {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn processes(&self, reading: &mut Reading<'_>) -> Option<Processes> {
        if reading.nodes < 2 {
            let allowed = "the receiver is alone on its node: at least 2 are needed";
            let one = reading.error(&codes::ONE_NODE, "nodes", "the number of nodes is 1", allowed);
            let workload = reading.place("workload.kind");
            reading.diagnostics.push(one.related(workload, "the workload is given here"));
            return None;
        }
        let per_node = self.senders_per_node;
        let senders = reading.on_each_node(per_node, KIND.processes)? - per_node;
        let receives = u64::from(senders) * u64::from(self.window);
        if receives > MOST_RECEIVES {
            let found = format!("{senders} senders of {} messages each", self.window);
            let allowed = format!("the receiver posts at most {MOST_RECEIVES} receives");
            let path = workload_field!(Self, window);
            let one = reading.error(&codes::PRODUCT, path, found, allowed);
            reading.diagnostics.push(one);
            return None;
        }
        Some(Processes::new(senders + 1, per_node))
    }

    fn traffic(&self, _: u32, _: u16) -> Option<(Bytes, u128)> {
        let rounds = u128::from(self.rounds()) + u128::from(self.warmup);
        Some((self.size, u128::from(self.window) * rounds))
    }

    fn programs(&self, ranks: &Ranks) -> Vec<AnyProgram> {
        let senders = senders(ranks);
        let sends = (0..senders).map(|_| self.program(self.send(senders)));
        sends.chain([self.program(self.receive(senders))]).collect()
    }

    fn messages(&self, ranks: &Ranks) -> u64 {
        u64::from(senders(ranks)) * u64::from(self.window) * u64::from(self.rounds())
    }

    fn measure(&self, run: &mut Measured<'_>) {
        let messages = self.messages(&run.ranks);
        run.bandwidth(messages, self.size.as_u64());
        run.add(ROUND_TIME, run.elapsed.as_us_f64() / f64::from(self.rounds()));
        run.message_rate(messages);
    }
}
