//! What a function's arguments mean: handles become what the library's machines know, and replies become what
//! the program reads.

pub mod types;

use std::sync::Arc;

use ::mpi::envelope::Rank;

use super::functions::{self as mpi5, Function};
use super::job::Place;
use super::ranks::{RankError, Request};
use protocols::arguments::{Comm, Outcome, Peer, Requests, SendMode, Status};
use protocols::call::{Call, Reply};
use protocols::contract::Handle;

/// What comes of a function's call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Step {
    /// The function returns this word.
    Returns(u64),
    /// The library is called, and [`Client::replied`] turns its reply into the function's results.
    Calls(Call, After),
    /// The function returns the time in seconds.
    Clock,
    /// The program is over, with the exit status that it asks for.
    Aborts(i32),
    /// An error: its class, and what is wrong.
    Fails(i32, String),
}

/// Which results of a function the reply of its call gives, and at which addresses the program wants them.
#[allow(missing_docs, reason = "addresses and handles as the MPI function names them")]
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum After {
    /// None.
    Nothing,
    /// A status at this address.
    Status(u64),
    /// The request at this address is over, and a status goes to the other one.
    Wait { request: u64, status: u64 },
    /// As `Wait`, where the flag says so.
    Test { request: u64, flag: u64, status: u64 },
    /// The requests of an array are over, and an array of statuses wants theirs.
    WaitAll { requests: u64, open: Arc<[Option<Handle>]>, statuses: u64 },
    /// As `WaitAll`, where the flag says so.
    TestAll { requests: u64, open: Arc<[Option<Handle>]>, flag: u64, statuses: u64 },
    /// One of an array is over: its index, and its status.
    WaitAny { requests: u64, open: Arc<[Option<Handle>]>, index: u64, status: u64 },
    /// Whether a message was there, and its status.
    Probed { flag: u64, status: u64 },
    /// The program has come to its end.
    Finalized,
}

/// What MPI knows of one rank.
#[derive(Debug)]
pub struct Client {
    rank: u32,
    size: u32,
    stage: Stage,
    /// Which small numbers are open requests.
    requests: Vec<bool>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stage {
    Before,
    Between,
    After,
}

/// The requests of an array; `None` is `MPI_REQUEST_NULL`.
type Open = Arc<[Option<Handle>]>;

const SUCCESS: Step = Step::Returns(0);
/// Handles that are made have their number above 12 bits: below are the constants.
const MADE: u32 = 12;
/// Bytes of an `MPI_Status`.
const STATUS_SIZE: usize = 32;

impl Client {
    /// Rank `rank` of `size`.
    pub const fn new(rank: u32, size: u32) -> Self {
        Self { rank, size, stage: Stage::Before, requests: Vec::new() }
    }

    /// What a call means.
    ///
    /// # Errors
    ///
    /// When the process's memory cannot be read.
    #[allow(clippy::wildcard_enum_match_arm, reason = "hundreds of functions are not carried yet")]
    pub fn call(
        &mut self,
        function: Function,
        asked: &Request,
        place: &mut Place,
    ) -> Result<Step, RankError> {
        use Function as F;
        let step = match function {
            F::Init => self.initialize(),
            F::Init_thread => {
                let provided = asked.int(2).min(mpi5::THREAD_SERIALIZED);
                place.process.put(asked.word(3), &provided.to_ne_bytes());
                self.initialize()
            }
            F::Initialized => answer(place, asked.word(0), i32::from(self.stage != Stage::Before)),
            F::Finalized => answer(place, asked.word(0), i32::from(self.stage == Stage::After)),
            F::Query_thread => answer(place, asked.word(0), mpi5::THREAD_SERIALIZED),
            F::Is_thread_main => answer(place, asked.word(0), 1),
            F::Get_version => {
                place.process.put(asked.word(0), &mpi5::VERSION.to_ne_bytes());
                answer(place, asked.word(1), mpi5::SUBVERSION)
            }
            F::Wtime => Step::Clock,
            F::Wtick => Step::Returns(1e-12_f64.to_bits()),
            F::Abort => Step::Aborts(asked.int(1)),
            F::Pcontrol => SUCCESS,
            F::Get_processor_name => text(place, asked, &format!("rank-{}", self.rank)),
            F::Get_library_version => {
                text(place, asked, concat!("mpisim ", env!("CARGO_PKG_VERSION")))
            }
            F::Finalize => {
                self.stage = Stage::After;
                Step::Calls(Call::Finalize, After::Finalized)
            }
            _ if self.stage != Stage::Between => {
                let when = if self.stage == Stage::Before {
                    "before MPI_Init"
                } else {
                    "after MPI_Finalize"
                };
                Step::Fails(mpi5::ERR_OTHER, format!("it is called {when}"))
            }
            F::Comm_rank => self.of_comm(asked.word(0), |client| client.rank, place, asked.word(1)),
            F::Comm_size => self.of_comm(asked.word(0), |client| client.size, place, asked.word(1)),
            F::Comm_set_errhandler => SUCCESS,
            F::Type_size => match types::size(asked.word(0)) {
                Some(size) => {
                    answer(place, asked.word(1), i32::try_from(size).unwrap_or(mpi5::UNDEFINED))
                }
                None => bad_type(asked.word(0)),
            },
            F::Get_count => return get_count(asked, place),
            F::Barrier => Self::with_comm(asked.word(0), |comm| {
                Ok(Step::Calls(Call::Barrier { comm }, After::Nothing))
            }),
            F::Send => self.send(asked, place, SendMode::Standard),
            F::Ssend => self.send(asked, place, SendMode::Synchronous),
            F::Rsend => self.send(asked, place, SendMode::Ready),
            F::Bsend => self.send(asked, place, SendMode::Buffered),
            F::Isend => self.isend(asked, place, SendMode::Standard),
            F::Issend => self.isend(asked, place, SendMode::Synchronous),
            F::Irsend => self.isend(asked, place, SendMode::Ready),
            F::Ibsend => self.isend(asked, place, SendMode::Buffered),
            F::Recv => self.recv(asked, place),
            F::Irecv => self.irecv(asked, place),
            F::Probe => self.probe(asked),
            F::Iprobe => self.iprobe(asked),
            F::Wait => return self.wait(asked, place),
            F::Test => return self.test(asked, place),
            F::Waitall => return self.all(asked, place, 2, None),
            F::Testall => return self.all(asked, place, 3, Some(2)),
            F::Waitany => return self.wait_any(asked, place),
            _ => Step::Fails(
                mpi5::ERR_UNSUPPORTED_OPERATION,
                "the simulator does not carry this function yet".to_owned(),
            ),
        };
        Ok(step)
    }

    fn initialize(&mut self) -> Step {
        if self.stage != Stage::Before {
            return Step::Fails(mpi5::ERR_OTHER, "it is called twice".to_owned());
        }
        self.stage = Stage::Between;
        SUCCESS
    }

    fn of_comm(
        &self,
        comm: u64,
        number: impl Fn(&Self) -> u32,
        place: &mut Place,
        to: u64,
    ) -> Step {
        match comm {
            mpi5::COMM_WORLD => answer(place, to, number(self).cast_signed()),
            other => bad_comm(other),
        }
    }

    fn with_comm(comm: u64, then: impl FnOnce(Comm) -> Result<Step, Step>) -> Step {
        match comm {
            mpi5::COMM_WORLD => then(Comm(0)).unwrap_or_else(|failure| failure),
            other => bad_comm(other),
        }
    }

    fn peer(&self, rank: i32, is_source: bool) -> Result<Peer, Step> {
        match rank {
            mpi5::PROC_NULL => Ok(Peer::Null),
            mpi5::ANY_SOURCE if is_source => Ok(Peer::Any),
            rank if u32::try_from(rank).is_ok_and(|rank| rank < self.size) => {
                Ok(Peer::Rank(Rank(rank.cast_unsigned())))
            }
            other => Err(Step::Fails(
                mpi5::ERR_RANK,
                format!("rank {other} of {} does not exist", self.size),
            )),
        }
    }

    fn bytes(count: i32, datatype: u64) -> Result<u64, Step> {
        let Ok(count) = u64::try_from(count) else {
            return Err(Step::Fails(mpi5::ERR_COUNT, format!("a count of {count}")));
        };
        types::size(datatype).map(|size| size * count).ok_or_else(|| bad_type(datatype))
    }

    fn tag(tag: i32) -> Result<i32, Step> {
        if tag < 0 { Err(Step::Fails(mpi5::ERR_TAG, format!("a tag of {tag}"))) } else { Ok(tag) }
    }

    /// The lowest number that no open request has.
    fn open(&mut self) -> Handle {
        let free = self.requests.iter().position(|taken| !taken).unwrap_or(self.requests.len());
        if free == self.requests.len() {
            self.requests.push(true);
        } else {
            self.requests[free] = true;
        }
        Handle(u32::try_from(free).expect("fewer than 2^32 requests"))
    }

    fn close(&mut self, handle: Handle) {
        self.requests[handle.0 as usize] = false;
    }

    fn handle(&self, value: u64) -> Result<Option<Handle>, Step> {
        if value == mpi5::REQUEST_NULL {
            return Ok(None);
        }
        let number = (value >> MADE).wrapping_sub(1);
        let is_open = usize::try_from(number).ok().and_then(|at| self.requests.get(at)).copied();
        if is_open == Some(true) {
            return Ok(Some(Handle(u32::try_from(number).expect("as many as requests"))));
        }
        Err(Step::Fails(mpi5::ERR_REQUEST, format!("{value:#x} is no request")))
    }

    fn send(&self, asked: &Request, place: &mut Place, mode: SendMode) -> Step {
        Self::with_comm(asked.word(5), |comm| {
            let (to, tag) = (self.peer(asked.int(3), false)?, Self::tag(asked.int(4))?);
            let buffer = place.buffer(asked.word(0), Self::bytes(asked.int(1), asked.word(2))?);
            Ok(Step::Calls(Call::Send { to, tag, comm, buffer, mode }, After::Nothing))
        })
    }

    fn isend(&mut self, asked: &Request, place: &mut Place, mode: SendMode) -> Step {
        let call = self.send(asked, place, mode);
        let Step::Calls(Call::Send { to, tag, comm, buffer, mode }, _) = call else { return call };
        let request = self.begins(place, asked.word(6));
        Step::Calls(Call::Isend { request, to, tag, comm, buffer, mode }, After::Nothing)
    }

    /// A request is open from now on; the program's variable gets it.
    fn begins(&mut self, place: &mut Place, to: u64) -> Handle {
        let request = self.open();
        place.process.put(to, &(u64::from(request.0 + 1) << MADE).to_ne_bytes());
        request
    }

    fn received(&self, asked: &Request, place: &mut Place) -> Step {
        Self::with_comm(asked.word(5), |comm| {
            let (source, tag) = (self.peer(asked.int(3), true)?, any_tag(asked.int(4))?);
            let buffer = place.buffer(asked.word(0), Self::bytes(asked.int(1), asked.word(2))?);
            Ok(Step::Calls(Call::Recv { source, tag, comm, buffer }, After::Status(asked.word(6))))
        })
    }

    fn recv(&self, asked: &Request, place: &mut Place) -> Step {
        self.received(asked, place)
    }

    fn irecv(&mut self, asked: &Request, place: &mut Place) -> Step {
        let call = self.received(asked, place);
        let Step::Calls(Call::Recv { source, tag, comm, buffer }, _) = call else { return call };
        let request = self.begins(place, asked.word(6));
        Step::Calls(Call::Irecv { request, source, tag, comm, buffer }, After::Nothing)
    }

    fn probe(&self, asked: &Request) -> Step {
        Self::with_comm(asked.word(2), |comm| {
            let (source, tag) = (self.peer(asked.int(0), true)?, any_tag(asked.int(1))?);
            Ok(Step::Calls(
                Call::Probe { source, tag, comm },
                After::Probed { flag: 0, status: asked.word(3) },
            ))
        })
    }

    fn iprobe(&self, asked: &Request) -> Step {
        Self::with_comm(asked.word(2), |comm| {
            let (source, tag) = (self.peer(asked.int(0), true)?, any_tag(asked.int(1))?);
            let after = After::Probed { flag: asked.word(3), status: asked.word(4) };
            Ok(Step::Calls(Call::Iprobe { source, tag, comm }, after))
        })
    }

    fn wait(&self, asked: &Request, place: &mut Place) -> Result<Step, RankError> {
        let (request, status) = (asked.word(0), asked.word(1));
        Ok(match self.handle(read_word(place, request)?) {
            Ok(Some(handle)) => {
                Step::Calls(Call::Wait { request: handle }, After::Wait { request, status })
            }
            Ok(None) => {
                put_status(place, status, None);
                SUCCESS
            }
            Err(failure) => failure,
        })
    }

    fn test(&self, asked: &Request, place: &mut Place) -> Result<Step, RankError> {
        let (request, flag, status) = (asked.word(0), asked.word(1), asked.word(2));
        Ok(match self.handle(read_word(place, request)?) {
            Ok(Some(handle)) => {
                Step::Calls(Call::Test { request: handle }, After::Test { request, flag, status })
            }
            Ok(None) => {
                put_status(place, status, None);
                answer(place, flag, 1)
            }
            Err(failure) => failure,
        })
    }

    /// The requests of an array, and which of its places are open.
    fn array(&self, asked: &Request, place: &mut Place) -> Result<Result<Open, Step>, RankError> {
        let count = usize::try_from(asked.int(0)).unwrap_or(0);
        let mut bytes = vec![0; 8 * count];
        place.process.read(asked.word(1), &mut bytes)?;
        let words = bytes
            .chunks_exact(8)
            .map(|word| u64::from_ne_bytes(std::array::from_fn(|at| word[at])));
        Ok(words.map(|word| self.handle(word)).collect())
    }

    fn all(
        &self,
        asked: &Request,
        place: &mut Place,
        statuses: usize,
        flag: Option<usize>,
    ) -> Result<Step, RankError> {
        let open = match self.array(asked, place)? {
            Ok(open) => open,
            Err(failure) => return Ok(failure),
        };
        let handles: Arc<[Handle]> = open.iter().copied().flatten().collect();
        let (requests, statuses) = (asked.word(1), asked.word(statuses));
        if handles.is_empty() {
            (0..open.len() as u64).for_each(|at| put_status(place, at_status(statuses, at), None));
            return Ok(flag.map_or(SUCCESS, |flag| answer(place, asked.word(flag), 1)));
        }
        let list = Requests::List(handles);
        Ok(match flag {
            None => {
                let call = Call::WaitAll { requests: list, statuses: statuses != 0 };
                Step::Calls(call, After::WaitAll { requests, open, statuses })
            }
            Some(flag) => {
                let after = After::TestAll { requests, open, flag: asked.word(flag), statuses };
                Step::Calls(Call::TestAll { requests: list }, after)
            }
        })
    }

    fn wait_any(&self, asked: &Request, place: &mut Place) -> Result<Step, RankError> {
        let open = match self.array(asked, place)? {
            Ok(open) => open,
            Err(failure) => return Ok(failure),
        };
        let handles: Arc<[Handle]> = open.iter().copied().flatten().collect();
        let (requests, index, status) = (asked.word(1), asked.word(2), asked.word(3));
        if handles.is_empty() {
            put_status(place, status, None);
            return Ok(answer(place, index, mpi5::UNDEFINED));
        }
        let after = After::WaitAny { requests, open, index, status };
        Ok(Step::Calls(Call::WaitAny { requests: Requests::List(handles) }, after))
    }

    /// What the program reads when the library has replied; answers what the function returns.
    ///
    /// # Panics
    ///
    /// When the reply is of other requests than those of the call.
    pub fn replied(&mut self, after: &After, reply: &Reply, place: &mut Place) -> u64 {
        match (after, reply) {
            (After::Status(status), Reply::Outcome(outcome)) => {
                put_status(place, *status, Some(*outcome));
            }
            (After::Wait { request, status }, Reply::Outcome(outcome)) => {
                self.over(place, *request);
                put_status(place, *status, Some(*outcome));
            }
            (After::Test { request, flag, status }, Reply::Tested(outcome)) => {
                if let Some(outcome) = outcome {
                    self.over(place, *request);
                    put_status(place, *status, Some(*outcome));
                }
                answer(place, *flag, i32::from(outcome.is_some()));
            }
            (After::WaitAll { requests, open, statuses }, reply) => {
                let outcomes =
                    if let Reply::All(outcomes) = reply { Some(&outcomes[..]) } else { None };
                self.all_over(place, (*requests, open), outcomes, *statuses);
            }
            (After::TestAll { requests, open, flag, statuses }, Reply::AllTested(outcomes)) => {
                if let Some(outcomes) = outcomes {
                    self.all_over(place, (*requests, open), Some(outcomes), *statuses);
                }
                answer(place, *flag, i32::from(outcomes.is_some()));
            }
            (
                After::WaitAny { requests, open, index, status },
                Reply::Any { index: which, outcome },
            ) => {
                let places = open.iter().enumerate().filter(|(_, handle)| handle.is_some());
                let at =
                    places.map(|(at, _)| at).nth(*which as usize).expect("one of those that wait");
                self.over(place, requests + 8 * at as u64);
                put_status(place, *status, Some(*outcome));
                answer(place, *index, i32::try_from(at).expect("an int counts them"));
            }
            (After::Probed { flag, status }, Reply::Probed(found)) => {
                if let Some(found) = found {
                    put_status(place, *status, Some(Outcome::Received(*found)));
                }
                answer(place, *flag, i32::from(found.is_some()));
            }
            (_, _) => {}
        }
        0
    }

    /// The request of a variable is over: the variable has none.
    fn over(&mut self, place: &mut Place, variable: u64) {
        let value = read_word(place, variable).unwrap_or(mpi5::REQUEST_NULL);
        if let Ok(Some(handle)) = self.handle(value) {
            self.close(handle);
        }
        place.process.put(variable, &mpi5::REQUEST_NULL.to_ne_bytes());
    }

    fn all_over(
        &mut self,
        place: &mut Place,
        (requests, open): (u64, &[Option<Handle>]),
        outcomes: Option<&[Outcome]>,
        statuses: u64,
    ) {
        let mut outcomes = outcomes.map(<[Outcome]>::iter);
        let mut next = || outcomes.as_mut().and_then(Iterator::next).copied();
        for (at, handle) in (0..).zip(open) {
            let outcome = if let Some(handle) = handle {
                self.close(*handle);
                place.process.put(requests + 8 * at, &mpi5::REQUEST_NULL.to_ne_bytes());
                next()
            } else {
                None
            };
            put_status(place, at_status(statuses, at), outcome);
        }
    }
}

const fn at_status(statuses: u64, at: u64) -> u64 {
    if statuses == 0 { 0 } else { statuses + STATUS_SIZE as u64 * at }
}

fn any_tag(tag: i32) -> Result<Option<i32>, Step> {
    if tag == mpi5::ANY_TAG { Ok(None) } else { Client::tag(tag).map(Some) }
}

fn bad_comm(value: u64) -> Step {
    Step::Fails(mpi5::ERR_COMM, format!("{value:#x} is no communicator"))
}

fn bad_type(value: u64) -> Step {
    Step::Fails(mpi5::ERR_TYPE, format!("{value:#x} is no datatype that is carried yet"))
}

/// An `int` for the program, and success.
fn answer(place: &mut Place, to: u64, value: i32) -> Step {
    place.process.put(to, &value.to_ne_bytes());
    SUCCESS
}

/// A name for the program, with its length.
fn text(place: &mut Place, asked: &Request, name: &str) -> Step {
    let mut bytes = name.as_bytes().to_vec();
    bytes.push(0);
    place.process.put(asked.word(0), &bytes);
    answer(place, asked.word(1), i32::try_from(name.len()).expect("a short name"))
}

fn read_word(place: &mut Place, address: u64) -> Result<u64, RankError> {
    let mut bytes = [0; 8];
    place.process.read(address, &mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Writes an `MPI_Status`; without an outcome the empty one.
fn put_status(place: &mut Place, to: u64, outcome: Option<Outcome>) {
    let (status, error, is_cancelled) = match outcome {
        Some(Outcome::Received(status)) => (Some(status), 0, false),
        Some(Outcome::Truncated(status)) => (Some(status), mpi5::ERR_TRUNCATE, false),
        Some(Outcome::Cancelled) => (None, 0, true),
        Some(Outcome::Sent) | None => (None, 0, false),
    };
    let empty = Status { source: None, tag: None, count: 0 };
    let from_null = status.is_some_and(|status| status.source.is_none());
    let status = status.unwrap_or(empty);
    let source = match status.source {
        Some(rank) => rank.0.cast_signed(),
        None if from_null => mpi5::PROC_NULL,
        None => mpi5::ANY_SOURCE,
    };
    let tag = status.tag.unwrap_or(mpi5::ANY_TAG);
    let mut bytes = [0; STATUS_SIZE];
    for (at, word) in [source, tag, error, i32::from(is_cancelled)].into_iter().enumerate() {
        bytes[4 * at..4 * at + 4].copy_from_slice(&word.to_ne_bytes());
    }
    bytes[16..24].copy_from_slice(&status.count.to_ne_bytes());
    place.process.put(to, &bytes);
}

fn get_count(asked: &Request, place: &mut Place) -> Result<Step, RankError> {
    let bytes = read_word(place, asked.word(0) + 16)?;
    let Some(size) = types::size(asked.word(1)) else { return Ok(bad_type(asked.word(1))) };
    let count = match (bytes, size) {
        (0, _) => Some(0),
        (_, 0) => None,
        (bytes, size) => (bytes % size == 0).then_some(bytes / size),
    };
    let count = count.and_then(|count| i32::try_from(count).ok()).unwrap_or(mpi5::UNDEFINED);
    Ok(answer(place, asked.word(2), count))
}
