//! Windows of messages between fixed pairs: bandwidth and message rate, as `osu_bw`, `osu_bibw` and
//! `osu_mbw_mr` measure them.
//!
//! Each round a sender posts a window of sends and waits for them all, then for an empty message of
//! its receiver, which has waited for its window of receives. Marks 0 and 1 bracket the timed
//! rounds of every rank whose clock measures: of the sender where there is one pair, of all after a
//! barrier where there are several.
//!
//! A rank may have several threads, and each of them exchanges windows with the thread of the same
//! number of the partner, under tags or on a communicator of its own. The first one meets the other
//! ranks in the barrier, warms up alone, and brackets the rounds of all with its marks; creating the
//! others and waiting for their end is timed:
//!
//! ```text
//!   thread 0   (fill queue) barrier, warm-up, START, fork ──── rounds ──── join, END (empty queue)
//!   thread i                                            └ START, rounds, END ┘
//! ```

use super::backlog::Backlog;
use mpi::envelope::Rank;
use protocols::call::{Buffer, Call, Comm, Peer, Reply, Requests, SendMode};
use protocols::contract::{Handle, Machine, Next, Program};

pub use language::marks::{END, START};
use language::marks::{HALFWAY, PARTNER_END, PARTNER_START, is_halfway};

/// Tag of the messages that are counted, after [`Share::tags`].
const DATA: i32 = 0;
/// Tag of the empty message that ends a round, after [`Share::tags`].
const ROUND_OVER: i32 = 1;

/// The share of a thread in the resources of its process.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Share {
    /// Its number in the process.
    pub thread: u16,
    /// The communicator of its messages.
    pub comm: Comm,
    /// The first of its two tags.
    pub tags: i32,
}

impl Share {
    /// Thread `thread`, known by its tags.
    pub fn tagged(thread: u16) -> Self {
        Self { thread, comm: Comm::default(), tags: 2 * i32::from(thread) }
    }

    /// Thread `thread`, known by its communicator.
    pub const fn on(thread: u16, comm: Comm) -> Self {
        Self { thread, comm, tags: 0 }
    }
}

/// The direction of messages between a rank and its partner.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Direction {
    /// Sends windows.
    Sends,
    /// Receives windows.
    Receives,
    /// Both at once.
    Both,
}

/// How the threads of a process come to ranks of their own.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Creation {
    /// The first thread makes an endpoint for each, and frees them in the end.
    Dynamic,
    /// They are there from the start, and each thread attaches to its own.
    Static,
}

/// The handle of the first endpoint; the others follow.
/// Encoding: handles of communicators of the job are lower.
const FIRST_ENDPOINT: u16 = 1 << 10;

/// The handle of endpoint `local` of this process.
pub const fn endpoint(local: u16) -> Comm {
    Comm(FIRST_ENDPOINT + local)
}

/// The program of one thread of a rank of a pair.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Windowed {
    peer: Rank,
    direction: Direction,
    bytes: u64,
    window: u32,
    warm_up: u32,
    rounds: u32,
    share: Share,
    /// Threads of the process.
    threads: u16,
    /// Where each thread has an endpoint.
    creation: Option<Creation>,
    backlog: Option<Backlog>,
    /// Whether all messages of a window have the same buffer.
    one_buffer: bool,
    start: Start,
    done: u32,
    state: State,
}

/// When the measured time of a rank begins, after its warm-up.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Start {
    /// With its first timed round.
    Own,
    /// After a barrier of all ranks.
    Common,
    /// With the first timed round of its partner, whose clock measures.
    OfPartner,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum State {
    /// The endpoints are made, or the thread is attached to its own.
    Create,
    /// A long queue is made, where one was requested; then all are there.
    Barrier,
    /// All have warmed up.
    Met,
    /// The timed rounds begin: the other threads are created.
    Fork,
    /// A round may begin.
    Round,
    /// A half of the timed rounds is over, or the middle one.
    Halfway,
    /// This many receives of the round are posted.
    Receives(u32),
    /// This many sends of the round are posted.
    Sends(u32),
    /// All of the round is posted.
    Wait,
    /// The window is complete; the round ends with an empty message.
    RoundOver,
    /// The other threads have come to their end.
    Joined,
    /// Nothing is left but the queue.
    Over,
    /// So many endpoints are freed.
    Freed(u16),
}

impl Windowed {
    /// A rank that exchanges `rounds` timed windows of `window` messages with `peer`.
    ///
    /// # Panics
    ///
    /// When the window is empty; validation refuses it.
    pub const fn new(
        peer: Rank,
        direction: Direction,
        bytes: u64,
        window: u32,
        warm_up: u32,
        rounds: u32,
    ) -> Self {
        assert!(window > 0, "a window holds at least one message");
        let share = Share { thread: 0, comm: Comm(0), tags: 0 };
        let (threads, backlog, done, state) = (1, None, 0, State::Barrier);
        let (creation, one_buffer) = (None, false);
        Self {
            peer,
            direction,
            bytes,
            window,
            warm_up,
            rounds,
            share,
            threads,
            creation,
            backlog,
            one_buffer,
            start: Start::Own,
            done,
            state,
        }
    }

    /// The same with a barrier before the timed rounds, as in `osu_mbw_mr`: no pair begins them while
    /// another one warms up.
    #[must_use]
    pub fn with_common_start(self) -> Self {
        Self { start: Start::Common, ..self }
    }

    /// The same where the clock of the partner measures the time, as that of rank 0 does in `osu_bw`.
    #[must_use]
    pub fn timed_by_partner(self) -> Self {
        Self { start: Start::OfPartner, ..self }
    }

    /// The same with one buffer for all messages that it sends, and one for all that it receives.
    #[must_use]
    pub fn with_one_buffer(self) -> Self {
        Self { one_buffer: true, ..self }
    }

    fn mark(&self, own: u32, of_partner: u32) -> u32 {
        if self.start == Start::OfPartner { of_partner } else { own }
    }

    /// One of `threads` threads: only the first meets other ranks, warms up and marks.
    #[must_use]
    pub fn of_threads(self, threads: u16, share: Share) -> Self {
        let first = share.thread == 0;
        let warm_up = if first { self.warm_up } else { 0 };
        let state = if first { State::Barrier } else { State::Round };
        let start = if first { self.start } else { Start::Own };
        Self { warm_up, share, threads, start, state, ..self }
    }

    /// The same where each of the threads has an endpoint: `peer` is that of the partner's thread.
    #[must_use]
    pub fn of_endpoints(self, creation: Creation) -> Self {
        let first = self.share.thread == 0;
        let state = if first || creation == Creation::Static { State::Create } else { self.state };
        let comm = match creation {
            Creation::Dynamic => endpoint(self.share.thread),
            Creation::Static => Comm(0),
        };
        let share = Share::on(self.share.thread, comm);
        // Every thread is a rank of a static job's world, and only the first one warms up.
        let start = match (creation, self.direction) {
            (Creation::Dynamic, _) => self.start,
            (Creation::Static, Direction::Receives) => Start::OfPartner,
            (Creation::Static, Direction::Sends | Direction::Both) => Start::Own,
        };
        Self { creation: Some(creation), share, start, state, ..self }
    }

    /// The same with a queue that is long before the rounds begin: the first thread makes it.
    #[must_use]
    pub fn with_backlog(self, backlog: Backlog) -> Self {
        let first = self.numbers() * u32::from(self.threads);
        Self { backlog: Some(backlog.numbered_from(first)), ..self }
    }

    /// Requests and buffers that one thread needs.
    const fn numbers(&self) -> u32 {
        2 * self.window + 1
    }

    /// The first request and buffer of this thread.
    fn first(&self) -> u32 {
        self.numbers() * u32::from(self.share.thread)
    }

    /// Whether it is the first of several threads, and creates the others.
    const fn leads(&self) -> bool {
        self.threads > 1 && self.share.thread == 0
    }

    const fn receives(&self) -> bool {
        matches!(self.direction, Direction::Receives | Direction::Both)
    }

    const fn sends(&self) -> bool {
        matches!(self.direction, Direction::Sends | Direction::Both)
    }

    /// The buffer of message `index` among those from `first` on.
    const fn buffer(&self, first: u32, index: u32) -> Buffer {
        let id = if self.one_buffer { first } else { first + index };
        Buffer { id, bytes: self.bytes }
    }

    /// Buffers of receives come first, then those of sends.
    fn receive(&self, index: u32) -> Call {
        let slot = self.first() + index;
        Call::Irecv {
            request: Handle(slot),
            source: Peer::Rank(self.peer),
            tag: Some(self.share.tags + DATA),
            comm: self.share.comm,
            buffer: self.buffer(self.first(), index),
        }
    }

    fn send(&self, index: u32) -> Call {
        let slot = self.first() + self.first_send() + index;
        Call::Isend {
            request: Handle(slot),
            to: Peer::Rank(self.peer),
            tag: self.share.tags + DATA,
            comm: self.share.comm,
            buffer: self.buffer(self.first() + self.first_send(), index),
            mode: SendMode::Standard,
        }
    }

    const fn first_send(&self) -> u32 {
        if self.receives() { self.window } else { 0 }
    }

    fn requests(&self) -> Requests {
        let sends = if self.sends() { self.window } else { 0 };
        Requests::Range { first: Handle(self.first()), count: self.first_send() + sends }
    }

    fn create(&self) -> Call {
        match self.creation {
            Some(Creation::Static) => Call::Attach { id: self.share.thread },
            Some(Creation::Dynamic) | None => {
                Call::CreateEndpoints { parent: Comm(0), count: self.threads, first: endpoint(0) }
            }
        }
    }

    /// The empty message: from the receiver to the sender; no thread waits where both send.
    fn round_over(&self) -> Option<Call> {
        let (peer, comm) = (Peer::Rank(self.peer), self.share.comm);
        let tag = self.share.tags + ROUND_OVER;
        let buffer = Buffer { id: self.first() + 2 * self.window, bytes: 0 };
        match self.direction {
            Direction::Sends => Some(Call::Recv { source: peer, tag: Some(tag), comm, buffer }),
            Direction::Receives => {
                Some(Call::Send { to: peer, tag, comm, buffer, mode: SendMode::Standard })
            }
            Direction::Both => None,
        }
    }
}

impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for Windowed {
    fn next(&mut self, _: Option<Reply>) -> Next<Call> {
        loop {
            match self.state {
                State::Create => {
                    let dynamic = self.creation == Some(Creation::Dynamic);
                    self.state = if dynamic { State::Barrier } else { State::Round };
                    return Next::Call(self.create());
                }
                State::Barrier => {
                    if let Some(call) = self.backlog.as_mut().and_then(Backlog::fill) {
                        return Next::Call(call);
                    }
                    self.state = State::Round;
                    return Next::Call(Call::Barrier { comm: Comm::default() });
                }
                State::Round => {
                    self.state = State::Receives(0);
                    if self.done == self.warm_up + self.rounds {
                        self.state = State::Joined;
                        if self.leads() {
                            return Next::Join;
                        }
                    } else if self.done == self.warm_up && self.start == Start::Common {
                        self.state = State::Met;
                        return Next::Call(Call::Barrier { comm: Comm::default() });
                    } else if self.done == self.warm_up {
                        self.state = State::Fork;
                        return Next::Mark(self.mark(START, PARTNER_START));
                    }
                }
                State::Halfway => {
                    self.state = State::Round;
                    return Next::Mark(HALFWAY);
                }
                State::Met => {
                    self.state = State::Fork;
                    return Next::Mark(self.mark(START, PARTNER_START));
                }
                State::Fork => {
                    self.state = State::Receives(0);
                    if self.leads() {
                        return Next::Fork;
                    }
                }
                State::Receives(posted) if self.receives() && posted < self.window => {
                    self.state = State::Receives(posted + 1);
                    return Next::Call(self.receive(posted));
                }
                State::Receives(_) => self.state = State::Sends(0),
                State::Sends(posted) if self.sends() && posted < self.window => {
                    self.state = State::Sends(posted + 1);
                    return Next::Call(self.send(posted));
                }
                State::Sends(_) => self.state = State::Wait,
                State::Wait => {
                    self.state = State::RoundOver;
                    return Next::Call(Call::WaitAll {
                        requests: self.requests(),
                        statuses: false,
                    });
                }
                State::RoundOver => {
                    self.done += 1;
                    let measured = self.done.saturating_sub(self.warm_up);
                    let halfway = is_halfway(measured, self.rounds);
                    self.state = if halfway { State::Halfway } else { State::Round };
                    if let Some(call) = self.round_over() {
                        return Next::Call(call);
                    }
                }
                State::Joined => {
                    self.state = State::Over;
                    return Next::Mark(self.mark(END, PARTNER_END));
                }
                State::Over => {
                    if let Some(call) = self.backlog.as_mut().and_then(Backlog::empty) {
                        return Next::Call(call);
                    }
                    self.state = State::Freed(0);
                }
                State::Freed(freed) => {
                    let first = self.share.thread == 0;
                    let dynamic = self.creation == Some(Creation::Dynamic);
                    if !first || !dynamic || freed == self.threads {
                        return Next::End;
                    }
                    self.state = State::Freed(freed + 1);
                    return Next::Call(Call::FreeEndpoint { comm: endpoint(freed) });
                }
            }
        }
    }

    fn forks(&self) -> bool {
        self.leads()
    }
}
