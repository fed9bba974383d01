//! One rank's operations as calls: names of requests and messages become handles.
//!
//! A name stands for an open request until a wait for it; a test, or `waitany`, may have ended it. Each operation
//! that moves bytes has a buffer of its own, numbered in their order: after a run the buffers tell what arrived where.

use std::collections::BTreeMap;

use super::read::RawOp;
use mpi::communicator::Communicators;
use mpi::envelope::TAG_UB;
use protocols::call::{Buffer, Call, Comm, Peer, Requests, SendMode};
use protocols::contract::Handle;

/// The wrong key of an operation, where one is wrong, and what is wrong with it, in words.
pub(super) type Problem = (Option<&'static str>, String);

/// The calls of one rank so far.
pub(super) struct Calls<'a> {
    /// Ranks of the case: all communicators of the vectors have them.
    size: u32,
    /// Number of the operation, from 1.
    line: u32,
    requests: Names<'a>,
    messages: Names<'a>,
    /// The number of the next buffer.
    buffers: u32,
}

impl<'a> Calls<'a> {
    /// Before the first operation, in a world of `size`.
    pub(super) fn new(size: u32) -> Self {
        let [requests, messages] =
            ["req", "handle"].map(|key| Names { key, known: BTreeMap::new() });
        Self { size, line: 0, requests, messages, buffers: 0 }
    }

    /// The call of the next operation.
    pub(super) fn next(&mut self, op: &'a RawOp) -> Result<Call, Problem> {
        self.line += 1;
        let line = self.line;
        Ok(match op.op.as_str() {
            "isend" => self.isend(op, SendMode::Standard)?,
            "issend" => self.isend(op, SendMode::Synchronous)?,
            "irecv" => {
                let (source, tag, comm) = self.origin(op)?;
                let request = self.requests.begin(op.req()?, line, Of::Receive)?;
                Call::Irecv { request, source, tag, comm, buffer: self.buffer(op.max()?) }
            }
            "recv" => {
                let (source, tag, comm) = self.origin(op)?;
                Call::Recv { source, tag, comm, buffer: self.buffer(op.max()?) }
            }
            "probe" => {
                let (source, tag, comm) = self.origin(op)?;
                Call::Probe { source, tag, comm }
            }
            "iprobe" => {
                let (source, tag, comm) = self.origin(op)?;
                Call::Iprobe { source, tag, comm }
            }
            "mprobe" => {
                let (source, tag, comm) = self.origin(op)?;
                let message = self.messages.begin(op.handle()?, line, Of::Message)?;
                Call::Mprobe { message, source, tag, comm }
            }
            "improbe" => {
                let (source, tag, comm) = self.origin(op)?;
                let message = self.messages.begin(op.handle()?, line, Of::PerhapsNone)?;
                Call::Improbe { message, source, tag, comm }
            }
            "mrecv" => {
                let message = self.messages.ask(op.handle()?, line, Ask::Wait)?;
                Call::Mrecv { message, buffer: self.buffer(op.max()?) }
            }
            "imrecv" => {
                let message = self.messages.ask(op.handle()?, line, Ask::Wait)?;
                let request = self.requests.begin(op.req()?, line, Of::Receive)?;
                Call::Imrecv { message, request, buffer: self.buffer(op.max()?) }
            }
            "wait" => Call::Wait { request: self.requests.ask(op.req()?, line, Ask::Wait)? },
            "test" => Call::Test { request: self.requests.ask(op.req()?, line, Ask::Test)? },
            "cancel" => Call::Cancel { request: self.requests.ask(op.req()?, line, Ask::Cancel)? },
            "waitall" => Call::WaitAll { requests: self.set(op, Ask::Wait)?, statuses: true },
            "waitany" => Call::WaitAny { requests: self.set(op, Ask::Any)? },
            "testall" => Call::TestAll { requests: self.set(op, Ask::Test)? },
            "barrier" => Call::Barrier { comm: Comm(Communicators::WORLD) },
            other => return Err((None, format!("operation `{other}` is not known"))),
        })
    }

    fn isend(&mut self, op: &'a RawOp, mode: SendMode) -> Result<Call, Problem> {
        let tag = op.any_tag()?.ok_or((None, "a send needs a `tag`, not `any`".to_owned()))?;
        let (to, comm) = (self.peer("dst", op.dst()?)?, checked(Some(tag), op.comm()?)?);
        if to == Peer::Any {
            let problem = "a send needs one receiver; `any` is for receives and probes";
            return Err((Some("dst"), problem.to_owned()));
        }
        let request = self.requests.begin(op.req()?, self.line, Of::Send)?;
        Ok(Call::Isend { request, to, tag, comm, buffer: self.buffer(op.sent()?), mode })
    }

    /// Sender, tag and communicator of a receive or a probe.
    fn origin(&self, op: &RawOp) -> Result<(Peer, Option<i32>, Comm), Problem> {
        let (source, tag) = (self.peer("src", op.src()?)?, op.any_tag()?);
        Ok((source, tag, checked(tag, op.comm()?)?))
    }

    fn peer(&self, key: &'static str, peer: Peer) -> Result<Peer, Problem> {
        let size = self.size;
        match peer {
            Peer::Rank(rank) if rank.0 >= size => {
                let last = size - 1;
                let needed = format!("a rank from 0 to {last} is needed, not {}", rank.0);
                Err((Some(key), format!("the program has {size} ranks; {needed}")))
            }
            Peer::Rank(_) | Peer::Any | Peer::Null => Ok(peer),
        }
    }

    /// The next buffer.
    const fn buffer(&mut self, bytes: u64) -> Buffer {
        let id = self.buffers;
        self.buffers += 1;
        Buffer { id, bytes }
    }

    fn set(&mut self, op: &'a RawOp, ask: Ask) -> Result<Requests, Problem> {
        let names = op.reqs()?;
        let twice = names.iter().enumerate().find(|(index, name)| names[..*index].contains(name));
        if let Some((_, name)) = twice {
            return Err((Some("reqs"), format!("`{name}` stands in the list twice")));
        }
        let ask = |name: &String| self.requests.ask(name, self.line, ask);
        let handles: Result<_, Problem> = names.iter().map(ask).collect();
        handles.map(Requests::List).map_err(|(_, problem)| (Some("reqs"), problem))
    }
}

/// The communicator, where it and the tag can be.
fn checked(tag: Option<i32>, comm: Comm) -> Result<Comm, Problem> {
    if let Some(tag) = tag.filter(|tag| *tag < 0) {
        let problem = format!("tag {tag} is out of range; 0 to {TAG_UB} is allowed");
        return Err((Some("tag"), problem));
    }
    if comm.0 > Communicators::REVERSED {
        let known = "0 is all ranks, 1 a duplicate, 2 all ranks reversed";
        let problem = format!("communicator {} does not exist; {known}", comm.0);
        return Err((Some("comm"), problem));
    }
    Ok(comm)
}

/// The operation that a name stands for.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Of {
    Send,
    Receive,
    /// A message that was found, or perhaps none.
    Message,
    PerhapsNone,
}

/// Use that an operation makes of a name.
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

/// A name, and the operation that has begun it.
struct Named {
    handle: Handle,
    of: Of,
    begun: u32,
    /// The operation that has waited for it.
    over: Option<u32>,
}

/// The requests of a rank, or its messages.
struct Names<'a> {
    /// The key under which operations name them.
    key: &'static str,
    known: BTreeMap<&'a str, Named>,
}

impl<'a> Names<'a> {
    /// A name that is free; a known one keeps its handle. That of a message which was perhaps not there is free.
    fn begin(&mut self, name: &'a str, begun: u32, of: Of) -> Result<Handle, Problem> {
        let known = self.known.get(name);
        let is_open = |one: &&Named| one.over.is_none() && one.of != Of::PerhapsNone;
        if let Some(one) = known.filter(is_open) {
            let line = one.begun;
            let problem = format!(
                "`{name}` was begun in line {line} and may still be open; wait for it first"
            );
            return Err((Some(self.key), problem));
        }
        let next =
            Handle(u32::try_from(self.known.len()).expect("fewer names than bytes in a file"));
        let handle = known.map_or(next, |one| one.handle);
        self.known.insert(name, Named { handle, of, begun, over: None });
        Ok(handle)
    }

    /// The handle of a name that was begun.
    fn ask(&mut self, name: &str, line: u32, ask: Ask) -> Result<Handle, Problem> {
        let Some(one) = self.known.get_mut(name) else {
            let known: Vec<_> = self.known.keys().map(|known| format!("`{known}`")).collect();
            let begun = if known.is_empty() {
                String::new()
            } else {
                format!("; begun are {}", known.join(", "))
            };
            return Err((Some(self.key), format!("`{name}` was not begun before{begun}")));
        };
        if ask == Ask::Cancel && one.of == Of::Send {
            let problem = format!("`{name}` is a send; only receives can be cancelled");
            return Err((Some(self.key), problem));
        }
        if let Some(line) = one.over.filter(|_| ask != Ask::Any) {
            return Err((Some(self.key), format!("`{name}` was already completed in line {line}")));
        }
        if ask == Ask::Wait {
            one.over = Some(line);
        }
        Ok(one.handle)
    }
}
