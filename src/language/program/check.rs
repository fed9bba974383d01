//! Checking one rank's operations, and turning names into handles.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::operations::{Does, Op, OpKind, Step};
use mpi::communicator::Communicators;
use mpi::envelope::TAG_UB;
use protocols::call::{Buffer, Call, Comm, Peer, Requests};
use protocols::contract::Handle;

/// One thing wrong with one operation.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("rank {rank}, operation {op}, `{field}`: {problem}")]
pub struct ProgramError {
    /// The rank.
    pub rank: u32,
    /// Number of the operation in its rank's list, from 0.
    pub op: usize,
    /// Line of the file.
    pub line: u32,
    /// The argument, as the scenario spells it.
    pub field: &'static str,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What can be wrong with an operation.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Problem {
    /// The rank is outside the communicator.
    #[error("the program has {size} ranks; a rank from 0 to {} is needed, not {found}", size - 1)]
    NoSuchRank {
        /// What was written.
        found: u32,
        /// Number of ranks.
        size: u32,
    },
    /// A send to any source.
    #[error("a send needs one receiver; `any` is for receives and probes")]
    SendToAny,
    /// The communicator does not exist.
    #[error(
        "communicator {found} does not exist; 0 is all ranks, 1 a duplicate, 2 all ranks reversed"
    )]
    NoSuchComm {
        /// What was written.
        found: u16,
    },
    /// The tag is negative.
    #[error("tag {found} is out of range; 0 to {TAG_UB} is allowed")]
    Tag {
        /// What was written.
        found: i32,
    },
    /// Nothing was begun under this name.
    #[error("`{name}` was not begun before{}", known_names(known))]
    Unknown {
        /// What was written.
        name: String,
        /// The names that exist at this point.
        known: Vec<String>,
    },
    /// The name is taken by an operation that may still be open.
    #[error("`{name}` was begun in line {line} and may still be open; wait for it first")]
    StillOpen {
        /// The name.
        name: String,
        /// Where it was begun.
        line: u32,
    },
    /// The operation was completed before.
    #[error("`{name}` was already completed in line {line}")]
    AlreadyOver {
        /// The name.
        name: String,
        /// Where it was completed.
        line: u32,
    },
    /// One set names a request twice.
    #[error("`{name}` stands in the list twice")]
    Repeated {
        /// The name.
        name: String,
    },
    /// A send was cancelled.
    #[error("`{name}` is a send; only receives can be cancelled")]
    CancelledSend {
        /// The name.
        name: String,
    },
}

fn known_names(known: &[String]) -> String {
    if known.is_empty() {
        return String::new();
    }
    let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    format!("; begun are {}", names.join(", "))
}

/// What is known of a name before the program runs.
#[derive(Clone, Copy)]
enum State {
    /// Begun and not asked about since.
    Open,
    /// Tested, or one of a `waitany`: it may be over.
    Perhaps,
    /// Waited for in this line.
    Over(u32),
}

/// A name and what it stands for.
struct Named {
    handle: Handle,
    begun: u32,
    receive: bool,
    state: State,
}

/// Progress through one rank's list.
struct Checker<'a> {
    size: u32,
    rank: u32,
    op: usize,
    line: u32,
    requests: BTreeMap<&'a str, Named>,
    messages: BTreeMap<&'a str, Named>,
    buffers: u32,
    errors: &'a mut Vec<ProgramError>,
}

/// Checks the operations of `rank` in a world of `size`; what is wrong is appended to `errors`.
pub(super) fn rank(
    size: u32,
    rank: u32,
    ops: &[Op],
    errors: &mut Vec<ProgramError>,
) -> Arc<[Step]> {
    let (requests, messages) = (BTreeMap::new(), BTreeMap::new());
    let mut checker =
        Checker { size, rank, op: 0, line: 0, requests, messages, buffers: 0, errors };
    ops.iter().enumerate().map(|(index, op)| checker.step(index, op)).collect()
}

impl<'a> Checker<'a> {
    fn step(&mut self, index: usize, op: &'a Op) -> Step {
        (self.op, self.line) = (index, op.line);
        Step::new(op.line, self.does(&op.kind))
    }

    /// The operation's call; one line or two for each kind.
    fn does(&mut self, kind: &'a OpKind) -> Does {
        Does::Call(match kind {
            OpKind::Compute { time } => return Does::Compute(*time),
            OpKind::Isend { req, to, tag, comm, bytes, mode } => {
                let (to, tag, comm) = self.destination(*to, *tag, *comm);
                let request = self.begin(req, false);
                Call::Isend { request, to, tag, comm, buffer: self.buffer(*bytes), mode: *mode }
            }
            OpKind::Send { to, tag, comm, bytes, mode } => {
                let (to, tag, comm) = self.destination(*to, *tag, *comm);
                Call::Send { to, tag, comm, buffer: self.buffer(*bytes), mode: *mode }
            }
            OpKind::Irecv { req, src, tag, comm, bytes } => {
                let (source, tag, comm) = self.origin(*src, *tag, *comm);
                let request = self.begin(req, true);
                Call::Irecv { request, source, tag, comm, buffer: self.buffer(*bytes) }
            }
            OpKind::Recv { src, tag, comm, bytes } => {
                let (source, tag, comm) = self.origin(*src, *tag, *comm);
                Call::Recv { source, tag, comm, buffer: self.buffer(*bytes) }
            }
            OpKind::Probe { src, tag, comm } => {
                let (source, tag, comm) = self.origin(*src, *tag, *comm);
                Call::Probe { source, tag, comm }
            }
            OpKind::Iprobe { src, tag, comm } => {
                let (source, tag, comm) = self.origin(*src, *tag, *comm);
                Call::Iprobe { source, tag, comm }
            }
            OpKind::Mprobe { handle, src, tag, comm } => {
                let (source, tag, comm) = self.origin(*src, *tag, *comm);
                Call::Mprobe { message: self.begin_message(handle, State::Open), source, tag, comm }
            }
            OpKind::Improbe { handle, src, tag, comm } => {
                let (source, tag, comm) = self.origin(*src, *tag, *comm);
                let message = self.begin_message(handle, State::Perhaps);
                Call::Improbe { message, source, tag, comm }
            }
            OpKind::Mrecv { handle, bytes } => {
                let message = self.finish_message(handle);
                Call::Mrecv { message, buffer: self.buffer(*bytes) }
            }
            OpKind::Imrecv { handle, req, bytes } => {
                let message = self.finish_message(handle);
                let request = self.begin(req, true);
                Call::Imrecv { message, request, buffer: self.buffer(*bytes) }
            }
            OpKind::Wait { req } => Call::Wait { request: self.ask(req, "req", Ask::Wait) },
            OpKind::Test { req } => Call::Test { request: self.ask(req, "req", Ask::Test) },
            OpKind::Cancel { req } => Call::Cancel { request: self.ask(req, "req", Ask::Cancel) },
            OpKind::WaitAll { reqs } => {
                Call::WaitAll { requests: self.set(reqs, Ask::Wait), statuses: true }
            }
            OpKind::WaitAny { reqs } => Call::WaitAny { requests: self.set(reqs, Ask::Any) },
            OpKind::TestAll { reqs } => Call::TestAll { requests: self.set(reqs, Ask::Test) },
            OpKind::Barrier { comm } => Call::Barrier { comm: self.comm(*comm) },
        })
    }
}

/// What an operation asks of a request.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Ask {
    /// It is over afterwards.
    Wait,
    /// It may be over afterwards.
    Test,
    /// As a member of `waitany`, where those that are over are left out.
    Any,
    /// It must be a receive.
    Cancel,
}

impl<'a> Checker<'a> {
    fn refuse(&mut self, field: &'static str, problem: Problem) {
        let (rank, op, line) = (self.rank, self.op, self.line);
        self.errors.push(ProgramError { rank, op, line, field, problem });
    }

    /// The next free buffer.
    fn buffer(&mut self, bytes: u64) -> Buffer {
        let id = self.buffers;
        self.buffers += 1;
        Buffer { id, bytes }
    }

    fn comm(&mut self, comm: Comm) -> Comm {
        if comm.0 > Communicators::REVERSED {
            self.refuse("comm", Problem::NoSuchComm { found: comm.0 });
        }
        comm
    }

    fn destination(&mut self, to: Peer, tag: i32, comm: Comm) -> (Peer, i32, Comm) {
        if to == Peer::Any {
            self.refuse("to", Problem::SendToAny);
        }
        self.peer("to", to);
        self.tag(tag);
        (to, tag, self.comm(comm))
    }

    fn origin(&mut self, src: Peer, tag: Option<i32>, comm: Comm) -> (Peer, Option<i32>, Comm) {
        self.peer("src", src);
        if let Some(tag) = tag {
            self.tag(tag);
        }
        (src, tag, self.comm(comm))
    }

    /// All communicators that a program can name have the size of the world.
    fn peer(&mut self, field: &'static str, peer: Peer) {
        match peer {
            Peer::Rank(rank) if rank.0 >= self.size => {
                self.refuse(field, Problem::NoSuchRank { found: rank.0, size: self.size });
            }
            Peer::Rank(_) | Peer::Any | Peer::Null => {}
        }
    }

    fn tag(&mut self, tag: i32) {
        if tag < 0 {
            self.refuse("tag", Problem::Tag { found: tag });
        }
    }

    /// Opens a request under a name that is free.
    fn begin(&mut self, name: &'a str, receive: bool) -> Handle {
        let (line, problem) = (self.line, still_open(&self.requests, name));
        if let Some(problem) = problem {
            self.refuse("req", problem);
        }
        enter(&mut self.requests, name, line, receive, State::Open)
    }

    /// Opens a message handle; one that `improbe` may have left without a message is free again.
    fn begin_message(&mut self, name: &'a str, state: State) -> Handle {
        let line = self.line;
        match self.messages.get(name) {
            Some(Named { state: State::Open, begun, .. }) => {
                let problem = Problem::StillOpen { name: name.to_owned(), line: *begun };
                self.refuse("handle", problem);
            }
            Some(Named { state: State::Perhaps | State::Over(_), .. }) | None => {}
        }
        enter(&mut self.messages, name, line, true, state)
    }

    /// A probed message is received.
    fn finish_message(&mut self, name: &str) -> Handle {
        let line = self.line;
        let problem = match self.messages.get_mut(name) {
            Some(Named { state: State::Over(line), .. }) => {
                Problem::AlreadyOver { name: name.to_owned(), line: *line }
            }
            Some(named) => {
                named.state = State::Over(line);
                return named.handle;
            }
            None => unknown(&self.messages, name),
        };
        self.refuse("handle", problem);
        Handle(0)
    }

    /// A request is asked about.
    fn ask(&mut self, name: &str, field: &'static str, ask: Ask) -> Handle {
        let line = self.line;
        let problem = match self.requests.get_mut(name) {
            None => unknown(&self.requests, name),
            Some(Named { receive: false, .. }) if ask == Ask::Cancel => {
                Problem::CancelledSend { name: name.to_owned() }
            }
            Some(Named { state: State::Over(line), .. }) if ask != Ask::Any => {
                Problem::AlreadyOver { name: name.to_owned(), line: *line }
            }
            Some(named) => {
                named.state = match (ask, named.state) {
                    (Ask::Wait, _) => State::Over(line),
                    (Ask::Test | Ask::Any, State::Open) => State::Perhaps,
                    (Ask::Test | Ask::Any | Ask::Cancel, state) => state,
                };
                return named.handle;
            }
        };
        self.refuse(field, problem);
        Handle(0)
    }

    fn set(&mut self, names: &[String], ask: Ask) -> Requests {
        for (index, name) in names.iter().enumerate() {
            if names[..index].contains(name) {
                self.refuse("reqs", Problem::Repeated { name: name.clone() });
                return Requests::List([].into());
            }
        }
        Requests::List(names.iter().map(|name| self.ask(name, "reqs", ask)).collect())
    }
}

fn still_open(names: &BTreeMap<&str, Named>, name: &str) -> Option<Problem> {
    match names.get(name) {
        Some(Named { state: State::Open | State::Perhaps, begun, .. }) => {
            Some(Problem::StillOpen { name: name.to_owned(), line: *begun })
        }
        Some(Named { state: State::Over(_), .. }) | None => None,
    }
}

fn unknown(names: &BTreeMap<&str, Named>, name: &str) -> Problem {
    let known = names.keys().map(|known| (*known).to_owned()).collect();
    Problem::Unknown { name: name.to_owned(), known }
}

/// Enters a name; a known one keeps its handle.
fn enter<'a>(
    names: &mut BTreeMap<&'a str, Named>,
    name: &'a str,
    begun: u32,
    receive: bool,
    state: State,
) -> Handle {
    let next = Handle(u32::try_from(names.len()).expect("fewer names than bytes in a file"));
    let handle = names.get(name).map_or(next, |named| named.handle);
    names.insert(name, Named { handle, begun, receive, state });
    handle
}
