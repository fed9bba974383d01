//! A thread: its program, the list of actions that its core works through, and what it waits for.

use super::polls::Polls;
use crate::account::{Account, Part};
use crate::rules::Cut;
use crate::timed::setup::Placement;
use protocols::contract::{
    ActionOf, COUNTERS, Counter, Entry, Guard, Lane, Machine, Next, Process, Route, Thread, Token,
};
use units::{Bytes, Time, TimeDelta};

/// One thread of the job.
#[derive(Debug)]
pub(crate) struct Actor<M: Machine, P> {
    pub(crate) process: Process,
    pub(crate) inner: Thread,
    pub(super) ties: Ties,
    pub(super) placement: Placement,
    pub(crate) program: P,
    pub(crate) state: State,
    /// The load, store or copy that its program waits for: few programs make any.
    pub(crate) access: Option<Box<Next<M::Call>>>,
    /// Entry to the library that it makes once it has the lock.
    pub(crate) entering: Option<Entering<M>>,
    /// The lock that it holds, and since when.
    pub(crate) holds: Option<(Guard, Time)>,
    pub(crate) list: Vec<ActionOf<M>>,
    /// The next action of `list`.
    pub(crate) next: usize,
    /// Where the list is cut into steps that others can tell apart.
    pub(crate) cut: Cut,
    /// Whether the list ends with the return of this thread's own call.
    pub(crate) returns: bool,
    /// Continuation once its list is over.
    pub(crate) after: After,
    /// The counters that it asks for last; `None` where it asked for none.
    pub(crate) asked: Option<Box<[Counter; COUNTERS]>>,
    /// Reply of its call, once its list is over.
    pub(crate) reply: Option<M::Reply>,
    /// The packet that it took last: the way back, and its channel.
    pub(crate) taken: Option<(Route, u32)>,
    /// Channels whose receive buffers are given back when the list is over.
    pub(crate) reposts: Vec<u32>,
    pub(crate) polls: Polls,
    /// The copy that memory carries: its bytes, and when it began.
    pub(crate) copying: (Bytes, Time),
    /// Since when it has had nothing to do.
    pub(crate) since: Time,
    /// Since when it waits for a lock.
    pub(crate) queued: Time,
    /// When it began.
    pub(crate) born: Time,
    pub(crate) account: Account,
}

/// Ties of a thread to others, from many to none: each kind is those before it, too.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Ties {
    /// It shares its process or its core, or takes its steps with the clock.
    Shares,
    /// Nothing but its own polls can tell it anything: see [`super::Cores`].
    Alone,
    /// Its work takes what it takes, and no observer notes it.
    Plain,
    /// Its messages have no bytes that a list of actions would name: its core carries out what its library
    /// emits at once.
    AtOnce,
}

/// State of a thread.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum State {
    /// Not started, or between two steps of the program.
    Program,
    /// Outside the library.
    Computing,
    /// Waiting for the other threads of its process to end.
    Joining,
    /// In the queue of the lock.
    Locked,
    /// Its core works through its list.
    Working,
    /// Inside a call, with no work left.
    Polling,
    /// The program is over.
    Ended,
}

/// Continuation at the end of a list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum After {
    /// The call goes on: it returns or polls.
    Nothing,
    /// A pass of a test.
    Poll(Token),
    /// An input without a packet.
    Resume(Token),
    /// A look at counters.
    Consult(Token),
}

/// Reason for which a thread enters the library.
#[derive(Debug)]
pub(crate) enum Entering<M: Machine> {
    /// A call of its program.
    Call(M::Call),
    /// The head of a channel.
    Take(u32),
    /// The end of a test's pass.
    Polled(Token),
    /// Input that its last list requested.
    Resume(Token),
    /// The values of counters.
    Consult(Token),
    /// A slice of polling that needs the lock.
    PollSlice,
}

impl<M: Machine> Entering<M> {
    /// The kind of entry; `lane` is that of a channel.
    pub(crate) fn entry(&self, lane: impl FnOnce(u32) -> Lane) -> Entry<'_, M::Call> {
        match self {
            Self::Call(call) => Entry::Call(call),
            Self::Take(channel) => Entry::Packet(lane(*channel)),
            Self::Polled(_) => Entry::Polled,
            Self::Resume(_) | Self::Consult(_) => Entry::Resume,
            Self::PollSlice => Entry::Poll,
        }
    }
}

impl<M: Machine, P> Actor<M, P> {
    pub(crate) fn new(
        (process, inner): (Process, Thread),
        (alone, phantom): (bool, bool),
        placement: Placement,
        program: P,
    ) -> Self {
        let ties = match (alone, placement.is_undisturbed(), phantom) {
            (false, ..) => Ties::Shares,
            (true, false, _) => Ties::Alone,
            (true, true, false) => Ties::Plain,
            (true, true, true) => Ties::AtOnce,
        };
        Self {
            process,
            inner,
            ties,
            placement,
            program,
            state: State::Program,
            access: None,
            entering: None,
            holds: None,
            list: Vec::new(),
            next: 0,
            cut: Cut::new(),
            returns: false,
            after: After::Nothing,
            asked: None,
            reply: None,
            taken: None,
            reposts: Vec::new(),
            polls: Polls::default(),
            copying: (Bytes::default(), Time::ZERO),
            since: Time::ZERO,
            queued: Time::ZERO,
            born: Time::ZERO,
            account: Account::default(),
        }
    }

    /// It asks for these counters; the room stays for the next ones.
    pub(crate) fn asks_for(&mut self, counters: [Counter; COUNTERS]) {
        match &mut self.asked {
            Some(asked) => **asked = counters,
            None => self.asked = Some(Box::new(counters)),
        }
    }

    pub(crate) fn ended(&self) -> bool {
        self.state == State::Ended
    }

    /// Whether it waits to be created, or for the end of others.
    pub(crate) fn waits_for_threads(&self) -> bool {
        matches!(self.state, State::Program | State::Joining)
    }

    /// Whether its work takes what it takes, whenever it is done.
    pub(crate) fn is_undisturbed(&self) -> bool {
        self.placement.is_undisturbed()
    }

    /// Whether nothing but its own polls can tell it anything: see [`super::Cores`].
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        self.ties >= Ties::Alone
    }

    /// Whether its work takes what it takes, whenever it is done, and no observer notes it.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.ties >= Ties::Plain
    }

    /// Whether its core carries out at once what its library emits.
    #[inline]
    pub(crate) fn acts_at_once(&self) -> bool {
        self.ties == Ties::AtOnce
    }

    pub(crate) const fn placement(&self) -> &Placement {
        &self.placement
    }

    /// `work` of this core that begins at `cursor`, with what the operating system takes.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "two additions, where there is no noise")]
    pub(crate) fn work(&mut self, part: Part, cursor: Time, work: TimeDelta) -> Time {
        if self.placement.is_undisturbed() {
            self.account.add(part, work);
            return cursor + work;
        }
        self.work_with_noise(part, cursor, work)
    }

    /// The same, where the operating system or a fault takes something.
    fn work_with_noise(&mut self, part: Part, cursor: Time, work: TimeDelta) -> Time {
        let end = match (&self.placement.slow, &self.placement.noise) {
            (None, None) => cursor + work,
            (None, Some(noise)) => noise.end_of(cursor, work),
            (Some(slow), _) => slow.end_of(cursor, work),
        };
        self.account.add(part, end.since(cursor));
        end
    }

    /// Reads it where work begins: see `Timed::prefetch`.
    pub(crate) fn prefetch(&self) -> u64 {
        let account = self.account.of(Part::Library).as_ps() ^ self.account.entries;
        let list = self.placement.core ^ usize::from(self.entering.is_some());
        let ends = u64::from(self.reply.is_some()) ^ self.since.as_ps() ^ self.born.as_ps();
        account ^ list as u64 ^ ends ^ self.prefetch_polls()
    }

    /// Reads it where it polls.
    pub(crate) fn prefetch_polls(&self) -> u64 {
        self.polls.prefetch() ^ self.since.as_ps()
    }
}
