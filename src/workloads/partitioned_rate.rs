//! Windows of partitioned messages between fixed pairs of processes: each thread of a sender makes one
//! partition of each message ready.
//!
//! ```text
//!   thread 0   prepare, barrier, warm-up, START, fork ── start all ─ all are here ─ ready ─ wait ── join, END
//!   thread i                                   └ START ────────────── all are here ─ ready ── … ── END
//! ```
//!
//! The first thread of a sender starts the requests, and waits for them; that of the receiver starts its
//! requests and waits for all, while the other threads there have nothing to do. A round ends with an
//! empty message, as in `windowed.rs`. The first thread warms up alone, with all partitions of a message
//! in one call.
//!
//! Threads meet where the requests are started: as endpoints over `MPI_COMM_SELF`, as in `team.rs`.
//! Left out: the barrier of an OpenMP team, which costs less. Noticeable in windows of few messages.
//!
//! Source: MPI 4.0, Sec. 4.2, whose examples have a team of threads that make partitions ready.

use std::sync::Arc;

use super::job::AnyProgram;
use super::score::{Score, Section};
use super::windowed::{Direction, endpoint};
use language::marks::{END, START};
use mpi::communicator::Communicators;
use mpi::envelope::Rank;
use protocols::call::{
    Buffer, Call, Comm, OfPartitions, OfRequest, Partitioned, Peer, Requests, SendMode,
};
use protocols::contract::{Handle, Next};
use protocols::partitioned::Side;

/// Tag of the partitioned messages.
const DATA: i32 = 0;
/// Tag of the empty message that ends a round.
const ROUND_OVER: i32 = 1;

/// A process of a pair.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// Its partner.
    pub peer: Rank,
    /// Whether it sends or receives.
    pub direction: Direction,
    /// Bytes of a partition.
    pub bytes: u64,
    /// Messages of a round.
    pub window: u32,
    /// Rounds before those that are measured.
    pub warm_up: u32,
    /// Measured rounds.
    pub rounds: u32,
    /// Threads of the process: as many partitions has a message.
    pub threads: u16,
}

impl Pair {
    /// The program of one thread.
    pub fn program(&self, thread: u16) -> AnyProgram {
        if thread > 0 {
            return self.of_team(thread);
        }
        let (many, sends) = (self.threads > 1, self.sends());
        let world = Call::Barrier { comm: Comm(Communicators::WORLD) };
        let (parent, count) = (Comm(Communicators::SELF), self.threads);
        let team = Call::CreateEndpoints { parent, count, first: endpoint(0) };
        let create = (many && sends).then_some(team);
        let prepare = (0..self.window).map(|request| Call::Prepare(self.operation(request)));
        let begin = create.into_iter().chain(prepare).chain([world.clone()]).map(Next::Call);
        let alone = self.starts().chain(self.ready((0, count - 1))).chain(self.ends());
        let before = [
            Section::once(begin),
            Section::repeated(alone.map(Next::Call), self.warm_up),
            Section::repeated([Next::Call(world)], u32::from(self.warm_up > 0)),
            Section::once([Next::Mark(START)].into_iter().chain(many.then_some(Next::Fork))),
        ];
        let round = self.starts().chain(self.meet(0)).chain(self.ready((0, 0))).chain(self.ends());
        let measured = Section::measured(round.map(Next::Call), self.rounds);
        let over = many.then_some(Next::Join).into_iter().chain([Next::Mark(END)]);
        let does = OfRequest::Free;
        let free = |request| Next::Call(Call::OfRequest { does, request: Handle(request) });
        let made = if many && sends { count } else { 0 };
        let leave = |local| Next::Call(Call::FreeEndpoint { comm: endpoint(local) });
        let over = over.chain((0..self.window).map(free)).chain((0..made).map(leave));
        score(before.into_iter().chain(measured).chain([Section::once(over)]))
    }

    /// The program of a thread that the first one creates.
    fn of_team(&self, thread: u16) -> AnyProgram {
        let round = self.meet(thread).into_iter().chain(self.ready((thread, thread)));
        score([
            Section::once([Next::Mark(START)]),
            Section::repeated(round.map(Next::Call), self.rounds),
            Section::once([Next::Mark(END)]),
        ])
    }

    fn sends(&self) -> bool {
        self.direction == Direction::Sends
    }

    fn operation(&self, request: u32) -> Arc<Call> {
        let side = if self.sends() { Side::Sends } else { Side::Receives };
        let bytes = self.bytes * u64::from(self.threads);
        let (peer, buffer) = (Peer::Rank(self.peer), Buffer { id: request, bytes });
        let (request, tag, partitions) = (Handle(request), DATA, self.threads);
        let comm = Comm(Communicators::WORLD);
        let operation = Partitioned { request, side, peer, tag, comm, buffer, partitions };
        Arc::new(Call::Partitioned(Arc::new(operation)))
    }

    fn starts(&self) -> impl Iterator<Item = Call> {
        (0..self.window).map(|request| {
            let operation = self.operation(request);
            Call::Start { request: Handle(request), operation }
        })
    }

    /// Where the threads of a sender wait until the requests are started.
    fn meet(&self, thread: u16) -> Option<Call> {
        let meets = self.threads > 1 && self.sends();
        meets.then(|| Call::Barrier { comm: endpoint(thread) })
    }

    /// The sender's partitions from the first to the last, of all messages.
    fn ready(&self, (first, last): (u16, u16)) -> impl Iterator<Item = Call> {
        let does = if first == last { OfPartitions::Ready } else { OfPartitions::ReadyRange };
        let messages = if self.sends() { self.window } else { 0 };
        (0..messages).map(move |request| {
            let request = Handle(request);
            Call::OfPartitions { does, request, first, last, thread: None }
        })
    }

    /// The wait for all requests, and the empty message from the receiver to the sender.
    fn ends(&self) -> [Call; 2] {
        let requests = Requests::Range { first: Handle(0), count: self.window };
        let (peer, comm) = (Peer::Rank(self.peer), Comm(Communicators::WORLD));
        let (tag, buffer) = (ROUND_OVER, Buffer { id: self.window, bytes: 0 });
        let over = if self.sends() {
            Call::Recv { source: peer, tag: Some(tag), comm, buffer }
        } else {
            Call::Send { to: peer, tag, comm, buffer, mode: SendMode::Standard }
        };
        [Call::WaitAll { requests, statuses: false }, over]
    }
}

fn score(sections: impl IntoIterator<Item = Section>) -> AnyProgram {
    AnyProgram::Score(Score::new(sections))
}
