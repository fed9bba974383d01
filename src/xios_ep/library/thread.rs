//! A thread as an endpoint: its program's calls, one after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::between::Across;
use super::collective::{At, Joint};
use super::making::{Made, Making};
use super::one_sided::{Acts, Opened};
use super::{EpCall, EpLibrary, EpReply, Found, Seat, SharedOp};
use crate::message::{Message, Wanted};
use crate::rank_map::{Place, RankMap};
use crate::request::{self, Request};
use calls::typed::Elements;
use protocols::call::{Buffer, Call, Comm, Outcome, Reply, Requests};
use protocols::contract::{Handle, Next, Program, Region, Thread, WaitSet};
use protocols::library::Library;
#[cfg(feature = "mutants")]
use protocols::mutant::Mutant;
use protocols::rma::call::Win;

/// Behaviour of a wait while MPI has the request.
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
/// message, waits for one or all of its requests, tests of one, collectives but `MPI_Alltoallv`, what
/// makes and frees communicators, and one-sided operations on windows.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct EpThread<P> {
    program: P,
    /// Reply to the program's call, until the program gets it.
    answer: Option<Reply>,
    pub(super) endpoint: Endpoint,
}

/// State of the endpoint library for one thread.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Endpoint {
    /// Its number in its process.
    thread: u32,
    /// The threads of its process.
    threads: u32,
    /// Its communicators, as the program names them.
    pub(super) comms: BTreeMap<Comm, Member>,
    /// Its windows, as the program names them.
    pub(super) windows: BTreeMap<Win, Opened>,
    pub(super) waiting: Waiting,
    /// Open requests, by MPI's handle.
    pub(super) open: BTreeMap<Handle, Open>,
    /// Communicators whose last collective another thread of the process may still call MPI for.
    pub(super) behind: BTreeSet<Comm>,
    pub(super) goal: Goal,
    pub(super) stage: Stage,
    /// Planted bug, if any.
    #[cfg(feature = "mutants")]
    pub(super) mutant: Option<Mutant>,
    #[cfg(feature = "mutants")]
    pub(super) checked_twice: bool,
}

/// State of an endpoint in a communicator.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Member {
    /// Where all endpoints live.
    pub map: Arc<RankMap>,
    /// Where this one lives.
    pub place: Place,
    /// The communicator of MPI below.
    pub mpi: Comm,
    /// The thread of each endpoint of its process.
    pub threads: Box<[Thread]>,
    /// Facts of the intercommunicator, where it is one; map, place and threads are then of the assigned group.
    pub across: Option<Across>,
}

impl Member {
    pub(super) fn seat(&self) -> Seat {
        let beside = self.across.as_ref().and_then(|across| across.beside);
        Seat { mpi: self.mpi, local: self.place.local, beside }
    }
}

/// A request that is not complete, or not requested.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Open {
    pub(super) request: Request<Handle>,
    /// Where a receive wants its message.
    pub(super) buffer: Buffer,
    /// Elements of that buffer, where it names a datatype.
    pub(super) elements: Option<Arc<Elements>>,
    /// In which communicator.
    pub(super) seat: Seat,
}

/// Result that the program's call needs.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) enum Goal {
    /// The reply of MPI.
    Plain,
    /// A receive that is posted.
    Posted,
    /// One request.
    One { call: request::Call, request: Handle },
    /// All requests of a set, one after the other.
    All { requests: Requests, statuses: bool, outcomes: Vec<Outcome> },
    /// A message that is there; `waits` for it.
    Probe { seat: Seat, wanted: Wanted, waits: bool },
    /// A collective.
    Collective(Joint),
    /// A communicator is made or freed.
    Making(Making),
    /// A one-sided call.
    Windows(Acts),
}

/// A receive to be appended to the pending list before it is walked.
pub(super) type Walk = Option<(Handle, Wanted)>;

/// Event that the thread waits for.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) enum Stage {
    /// The next call of the program.
    Program,
    /// The reply of MPI, for the program.
    Plain,
    /// That it has the lock, to probe the communicator `at`.
    Lock { seat: Seat, at: Comm, walk: Walk },
    /// The result of a matched probe.
    Probe { seat: Seat, at: Comm, message: Handle, walk: Walk },
    /// That the lock is free again.
    Unlock { seat: Seat, at: Comm, more: bool, walk: Walk },
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
    /// That what is done at this place of a collective is done.
    Collective(At),
    /// How far it is with a communicator.
    Making(Made),
    /// That what is done for a one-sided call is done.
    Windows,
}

/// Next step of a thread.
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
        let (thread, threads) = (place.local, map.local_size(place.process));
        let all = (0..).map(Thread).take(threads as usize).collect();
        let (mpi, threads_of) = (Comm::default(), all);
        let world = Member { map, place, mpi, threads: threads_of, across: None };
        let endpoint = Endpoint {
            thread,
            threads,
            comms: BTreeMap::from([(Comm::default(), world)]),
            windows: BTreeMap::new(),
            waiting,
            open: BTreeMap::new(),
            behind: BTreeSet::new(),
            goal: Goal::Plain,
            stage: Stage::Program,
            #[cfg(feature = "mutants")]
            mutant: None,
            #[cfg(feature = "mutants")]
            checked_twice: false,
        };
        Self { program, answer: None, endpoint }
    }

    /// The same with a planted bug.
    #[cfg(feature = "mutants")]
    pub(super) fn with(self, mutant: Option<Mutant>) -> Self {
        Self { endpoint: Endpoint { mutant, ..self.endpoint }, ..self }
    }

    /// The intercommunicator that the program calls so, with its maps.
    pub fn across(&self, comm: Comm) -> Option<&Across> {
        self.endpoint.comms.get(&comm)?.across.as_ref()
    }

    /// The program.
    pub const fn program(&self) -> &P {
        &self.program
    }
}

impl Endpoint {
    /// A number of this thread, among those of all threads of its process.
    pub(super) fn own(&self, number: u32) -> Option<u32> {
        number.checked_mul(self.threads)?.checked_add(self.thread)
    }

    /// MPI's handle of a request of the program; number 0 is that of its blocking calls.
    pub(super) fn handle(&self, request: Handle) -> Option<Handle> {
        self.own(request.0.checked_add(1)?).map(Handle)
    }

    /// Memory that the program touches by itself.
    fn touched(&self, region: Region) -> Region {
        self.region(region).unwrap_or(region)
    }

    pub(super) fn blocking(&self) -> Handle {
        Handle(self.thread)
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
                    Next::Offload(stream, work) => return Next::Offload(stream, work),
                    Next::Fork => return Next::Fork,
                    Next::Join => return Next::Join,
                    Next::Tell(fact) => return Next::Tell(fact),
                    Next::Clock => return Next::Clock,
                    Next::Load(region) => return Next::Load(self.endpoint.touched(region)),
                    Next::Take(region) => return Next::Take(self.endpoint.touched(region)),
                    Next::Store(region, value) => {
                        return Next::Store(self.endpoint.touched(region), value);
                    }
                    Next::Copy(from, to) => {
                        return Next::Copy(self.endpoint.touched(from), self.endpoint.touched(to));
                    }
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

    fn sends_ready(&self) -> bool {
        self.program.sends_ready()
    }

    fn position(&self) -> Option<u32> {
        self.program.position()
    }

    fn asks_for(&self) -> Option<WaitSet> {
        self.endpoint.asks_for(self.program.position().unwrap_or_default())
    }

    /// The calls below are not those of the program: all belong to the one that it made last.
    fn line_of(&self, _: u32) -> Option<u32> {
        self.program.position()
    }
}
