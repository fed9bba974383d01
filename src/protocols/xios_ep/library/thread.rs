//! A thread as an endpoint: its program's calls, one after the other.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{EpCall, EpLibrary, EpReply, Found, Note, SharedOp};
use crate::mpi::envelope::Rank;
use crate::protocols::call::{Buffer, Call, Outcome, Reply, Requests};
use crate::protocols::contract::{Handle, Next, Program};
use crate::protocols::library::Library;
use crate::protocols::xios_ep::message::{Message, Wanted};
use crate::protocols::xios_ep::rank_map::{Place, RankMap};
use crate::protocols::xios_ep::request::{self, Request};

/// What a wait does while MPI has the request.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Waiting {
    /// It lets MPI wait, as the document has it. A receive that MPI does not know yet is not served
    /// meanwhile: two endpoints that wait for their rendezvous sends to each other before their
    /// receives wait for ever, although both pairs are started.
    #[default]
    AsWritten,
    /// It asks MPI again and again, and makes a check in between.
    Serving,
}

/// The program of an endpoint: what `P` calls, by the endpoint library.
///
/// The ranks that `P` names are endpoints, its requests and buffers are its own: any program of
/// processes is one of endpoints. It may call point-to-point operations, probes that take no
/// message, waits for one or all of its requests, tests of one, and barriers.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct EpThread<P> {
    program: P,
    /// What the program's call returned, until it hears of it.
    answer: Option<Reply>,
    pub(super) endpoint: Endpoint,
}

/// What the endpoint library keeps for one thread.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Endpoint {
    pub(super) map: Note<Arc<RankMap>>,
    pub(super) place: Place,
    pub(super) waiting: Waiting,
    /// Open requests, by MPI's handle.
    pub(super) open: BTreeMap<Handle, Open>,
    pub(super) goal: Goal,
    pub(super) stage: Stage,
}

/// A request that is not complete, or not asked for.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Open {
    pub(super) request: Request<Handle>,
    /// Where a receive wants its message.
    pub(super) buffer: Buffer,
}

/// What the program's call wants.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) enum Goal {
    /// What MPI returns.
    Plain,
    /// A receive that is posted.
    Posted,
    /// One request.
    One { call: request::Call, request: Handle },
    /// All requests of a set, one after the other.
    All { requests: Requests, statuses: bool, outcomes: Vec<Outcome> },
    /// A message that is there; `waits` for it.
    Probe { wanted: Wanted, waits: bool },
    /// All endpoints at the barrier.
    Barrier,
}

/// What the thread waits to hear.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) enum Stage {
    /// What the program wants next.
    Program,
    /// What MPI returns to the program.
    Plain,
    /// That it has the lock.
    Lock { walk: Option<(Handle, Wanted)> },
    /// What a matched probe found.
    Probe { message: Handle, walk: Option<(Handle, Wanted)> },
    /// That the lock is free again.
    Unlock { more: bool, walk: Option<(Handle, Wanted)> },
    /// Which receives have their message.
    Walk,
    /// That a matched receive has started, the first of these.
    Start { served: Box<[(Handle, Message<Found>)]>, at: usize },
    /// Whether MPI's request is complete.
    Test(Handle),
    /// That it is.
    Wait(Handle),
    /// Whether there is a message.
    Peek,
    /// That all of its process have arrived: before, or after, MPI's collective.
    Arrive { after: bool },
    /// That MPI's collective is over.
    Collective,
}

/// What comes next.
pub(super) enum Step {
    /// A call.
    Ask(EpCall),
    /// The program's call returns.
    Answer(Reply),
}

impl Step {
    pub(super) fn mpi(call: Call) -> Self {
        Self::Ask(EpCall::Mpi(call))
    }

    pub(super) fn shared(op: SharedOp) -> Self {
        Self::Ask(EpCall::Shared(op))
    }

    /// Ends the run: the program's call is wrong.
    pub(super) fn refuse(words: &str) -> Self {
        Self::shared(SharedOp::Refuse(words.into()))
    }
}

impl<P> EpThread<P> {
    pub(super) fn new(map: Arc<RankMap>, place: Place, waiting: Waiting, program: P) -> Self {
        let endpoint = Endpoint {
            map: Note(map),
            place,
            waiting,
            open: BTreeMap::new(),
            goal: Goal::Plain,
            stage: Stage::Program,
        };
        Self { program, answer: None, endpoint }
    }

    /// The program.
    pub const fn program(&self) -> &P {
        &self.program
    }
}

impl Endpoint {
    /// How many endpoints its process has.
    fn locals(&self) -> u32 {
        self.map.0.local_size(self.place.process)
    }

    /// A number of this thread, among those of all threads of its process.
    pub(super) fn own(&self, number: u32) -> Option<u32> {
        number.checked_mul(self.locals())?.checked_add(self.place.local)
    }

    /// MPI's handle of a request of the program; number 0 is that of its blocking calls.
    pub(super) fn handle(&self, request: Handle) -> Option<Handle> {
        self.own(request.0.checked_add(1)?).map(Handle)
    }

    pub(super) fn blocking(&self) -> Handle {
        Handle(self.place.local)
    }

    /// Who calls MPI's collectives for this process.
    pub(super) fn master(&self) -> Option<Rank> {
        self.map.0.locals(self.place.process).first().copied()
    }

    /// Whether it is alone in its process.
    pub(super) fn is_alone(&self) -> bool {
        self.locals() == 1
    }
}

impl<P: Program<Library>> Program<EpLibrary> for EpThread<P> {
    fn next(&mut self, reply: Option<EpReply>) -> Next<EpCall> {
        let mut reply = reply;
        loop {
            let step = if self.endpoint.stage == Stage::Program {
                match self.program.next(self.answer.take()) {
                    Next::Call(call) => self.endpoint.begin(call),
                    Next::Compute(time) => return Next::Compute(time),
                    Next::Mark(number) => return Next::Mark(number),
                    Next::Fork => return Next::Fork,
                    Next::Join => return Next::Join,
                    Next::Tell(fact) => return Next::Tell(fact),
                    Next::Load(region) => return Next::Load(region),
                    Next::Store(region, value) => return Next::Store(region, value),
                    Next::Copy(from, to) => return Next::Copy(from, to),
                    Next::End => return Next::End,
                }
            } else {
                let heard = reply.take().expect("a call returns before the next one is made");
                self.endpoint.heard(heard)
            };
            match step {
                Step::Ask(call) => return Next::Call(call),
                Step::Answer(answer) => {
                    self.endpoint.stage = Stage::Program;
                    self.endpoint.goal = Goal::Plain;
                    self.answer = Some(answer);
                }
            }
        }
    }

    fn loaded(&mut self, value: u64) {
        self.program.loaded(value);
    }

    fn forks(&self) -> bool {
        self.program.forks()
    }

    fn position(&self) -> Option<u32> {
        self.program.position()
    }
}
