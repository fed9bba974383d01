//! Programs written down as a schedule: what each rank does, without running it.
//!
//! The calls of a rank are taken one after the other, each answered at once. A non-blocking
//! operation begins after the one before it (`irequires`); after a blocking one, or a wait, whoever
//! follows `requires` it. Collectives are decomposed into the messages of their algorithm; what they
//! copy and combine in memory costs nothing in GOAL. Computations are rounded up to whole ns.
//!
//! That works where a program does the same whatever comes first. Probes, tests, waits for any of
//! several requests, one-sided calls, other communicators than `MPI_COMM_WORLD`, buffered and
//! synchronous sends and threads have no words in GOAL: they are refused by name.

use std::collections::{BTreeMap, BTreeSet};

use collectives::{At, Collective, Move, Round};
use protocols::call::{Call, Comm, Outcome, Peer, Reply, Requests, SendMode, Status};
use protocols::contract::{Handle, Next, Program, Space};
use protocols::library::Library;
use runtime::loggops::schedule::{ANY, Builder, Edge, Kind, MOST_OPS, Op, Schedule, Until};

/// Bit of the tags of collectives until those of the program are known.
/// Encoding: the highest one.
const OF_COLLECTIVE: u32 = 1 << 31;
/// The most steps of one rank.
/// Limit: a program without an end is no schedule.
const MOST_STEPS: u32 = 10_000_000;

/// An operation that cannot be written.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("rank {rank}{}: {what}", line.map_or_else(String::new, |line| format!(", line {line}")))]
pub struct NotInGoal {
    /// The rank of the program.
    pub rank: u32,
    /// The line of its call, where there is one.
    pub line: Option<u32>,
    /// The operation, in words.
    pub what: String,
}

/// The schedule of these programs, one a rank.
///
/// # Errors
///
/// [`NotInGoal`] for the first thing that GOAL cannot say.
///
/// # Panics
///
/// With 2^32 programs or more.
pub fn record<P>(programs: Vec<P>) -> Result<Schedule, NotInGoal>
where
    P: Program<Library>,
{
    let ranks = u32::try_from(programs.len()).expect("ranks are counted in u32");
    let mut lists = Vec::new();
    for (rank, program) in (0..).zip(programs) {
        let mut writer = Writer::new(rank, ranks);
        writer.play(program)?;
        lists.push((writer.ops, writer.edges));
    }
    let ops = || lists.iter().flat_map(|(ops, _)| ops);
    let any = ops().find(|op| op.tag == ANY);
    if let (Some(any), Some(_)) = (any, ops().find(|op| of_collective(op))) {
        // MPI keeps the messages of collectives apart; GOAL has tags only.
        let what = "a receive of any tag, beside collectives".to_owned();
        return Err(NotInGoal { rank: any.rank, line: None, what });
    }
    Ok(assemble(lists))
}

fn of_collective(op: &Op) -> bool {
    op.tag != ANY && op.tag & OF_COLLECTIVE != 0
}

/// Gives the messages of collectives tags above those of the program, and builds the schedule.
fn assemble(mut lists: Vec<(Vec<Op>, Vec<Edge>)>) -> Schedule {
    let ops = || lists.iter().flat_map(|(ops, _)| ops);
    let own = ops().filter(|op| op.tag != ANY && !of_collective(op)).map(|op| op.tag).max();
    let above = own.map_or(0, |own| own + 1);
    let kinds: BTreeSet<u32> = ops().filter(|op| of_collective(op)).map(|op| op.tag).collect();
    let tags: BTreeMap<u32, u32> = kinds.into_iter().zip(above..).collect();
    let mut builder = Builder::default();
    for (ops, edges) in &mut lists {
        let first = builder.len();
        for op in ops {
            op.tag = tags.get(&op.tag).copied().unwrap_or(op.tag);
            builder.add(*op);
        }
        for Edge { dependant, dependency, until } in edges.drain(..) {
            let (dependant, dependency) = (dependant + first, dependency + first);
            builder.depend(Edge { dependant, dependency, until });
        }
        builder.end_rank();
    }
    builder.finish()
}

/// One rank, as it is written down; operations are counted from its first.
struct Writer {
    rank: u32,
    ranks: u32,
    ops: Vec<Op>,
    edges: Vec<Edge>,
    /// Operations of open requests; none for messages to and from nobody.
    open: BTreeMap<Handle, Option<u32>>,
    /// Operations waited for since the last one began.
    waited: Vec<u32>,
}

impl Writer {
    fn new(rank: u32, ranks: u32) -> Self {
        let (ops, edges, waited) = (Vec::new(), Vec::new(), Vec::new());
        Self { rank, ranks, ops, edges, open: BTreeMap::new(), waited }
    }

    fn play<P: Program<Library>>(&mut self, mut program: P) -> Result<(), NotInGoal> {
        let (mut reply, rank) = (None, self.rank);
        for _ in 0..MOST_STEPS {
            let refuse = |what: &str, program: &P| NotInGoal {
                rank,
                line: program.position(),
                what: what.to_owned(),
            };
            match program.next(reply.take()) {
                Next::End => return Ok(()),
                Next::Mark(_) | Next::Tell(_) => {}
                Next::Compute(ps) => {
                    let work = self.add(Kind::Compute, 0, 0, ps.div_ceil(1_000));
                    self.waited.push(work);
                }
                Next::Call(call) => match self.call(&call) {
                    Ok(answer) => reply = Some(answer),
                    Err(what) => return Err(refuse(&what, &program)),
                },
                Next::Offload(..) => return Err(refuse("work of a GPU", &program)),
                Next::Clock => return Err(refuse("a clock that it reads", &program)),
                Next::Fork | Next::Join => return Err(refuse("threads", &program)),
                Next::Load(_) | Next::Take(_) | Next::Store(..) | Next::Copy(..) => {
                    return Err(refuse("memory of its own that it reads and writes", &program));
                }
            }
            if self.ops.len() > MOST_OPS as usize / 2 {
                break;
            }
        }
        let what = format!("more than {MOST_STEPS} steps");
        Err(NotInGoal { rank: self.rank, line: None, what })
    }

    /// The answer that the library would give.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "GOAL has messages and computation, of many calls"
    )]
    fn call(&mut self, call: &Call) -> Result<Reply, String> {
        match call {
            Call::Isend { request, to, tag, comm, buffer, mode } => {
                let op = self.send(*to, *tag, (*comm, *mode), buffer.bytes)?;
                self.open.insert(*request, op);
                Ok(Reply::Done)
            }
            Call::Send { to, tag, comm, buffer, mode } => {
                let op = self.send(*to, *tag, (*comm, *mode), buffer.bytes)?;
                self.waited.extend(op);
                Ok(Reply::Outcome(Outcome::Sent))
            }
            Call::Irecv { request, source, tag, comm, buffer } => {
                let op = self.receive(*source, *tag, *comm, buffer.bytes)?;
                self.open.insert(*request, op);
                Ok(Reply::Done)
            }
            Call::Recv { source, tag, comm, buffer } => {
                let op = self.receive(*source, *tag, *comm, buffer.bytes)?;
                self.waited.extend(op);
                Ok(Reply::Outcome(op.map_or(RECEIVED_NOTHING, |op| self.received(op))))
            }
            Call::Wait { request } => Ok(Reply::Outcome(self.wait(*request))),
            Call::WaitAll { requests, statuses } => {
                let outcomes = self.wait_all(requests);
                Ok(if *statuses { Reply::All(outcomes) } else { Reply::Done })
            }
            Call::Barrier { comm } => self.collective(&Collective::barrier(*comm)),
            Call::Collective(call) => self.collective(call),
            Call::WaitAny { .. }
            | Call::Test { .. }
            | Call::TestAll { .. }
            | Call::Ask { .. }
            | Call::OfRequest { .. }
            | Call::Probe { .. }
            | Call::Iprobe { .. }
            | Call::Mprobe { .. }
            | Call::Improbe { .. }
            | Call::Mrecv { .. }
            | Call::Imrecv { .. }
            | Call::Cancel { .. } => {
                Err("a call whose outcome depends on what came first (test, probe, wait for any)"
                    .into())
            }
            Call::Icollective { .. } => Err("a collective that is only begun".into()),
            Call::Device(_) => Err("a buffer in GPU memory".into()),
            Call::Typed(typed) if typed.elements.is_one_piece() => self.call(&typed.call),
            Call::Typed(_) => Err("a buffer that lies in pieces: GOAL has no packing".into()),
            Call::Exchange(call) => {
                let Call::Send { to, tag, comm, buffer, .. } = &call.send else {
                    return Err("an exchange without a send".into());
                };
                let Call::Recv { source, tag: of, buffer: into, .. } = &call.receive else {
                    return Err("an exchange without a receive".into());
                };
                if call.request.is_some() {
                    return Err("MPI_Isendrecv, whose request is that of two operations".into());
                }
                let receive = self.receive(*source, *of, *comm, into.bytes)?;
                let send = self.send(*to, *tag, (*comm, SendMode::Standard), buffer.bytes)?;
                self.waited.extend(receive);
                self.waited.extend(send);
                Ok(Reply::Outcome(receive.map_or(RECEIVED_NOTHING, |op| self.received(op))))
            }
            Call::Finalize | Call::Prepare(_) => Ok(Reply::Done),
            Call::Start { operation, .. } => self.call(operation),
            Call::Partitioned(_) => Err("MPI_Start of a partitioned operation".into()),
            _ => Err("a call that is no message, collective or computation".into()),
        }
    }

    fn send(
        &mut self,
        to: Peer,
        tag: i32,
        (comm, mode): (Comm, SendMode),
        bytes: u64,
    ) -> Result<Option<u32>, String> {
        world(comm)?;
        if !matches!(mode, SendMode::Standard | SendMode::Ready) {
            return Err("a synchronous or buffered send".to_owned());
        }
        let Peer::Rank(to) = to else { return Ok(None) };
        let tag = u32::try_from(tag).map_err(|_| "a negative tag".to_owned())?;
        Ok(Some(self.add(Kind::Send, to.0, tag, bytes)))
    }

    fn receive(
        &mut self,
        source: Peer,
        tag: Option<i32>,
        comm: Comm,
        bytes: u64,
    ) -> Result<Option<u32>, String> {
        world(comm)?;
        let from = match source {
            Peer::Null => return Ok(None),
            Peer::Any => ANY,
            Peer::Rank(from) => from.0,
        };
        let tag = match tag {
            None => ANY,
            Some(tag) => u32::try_from(tag).map_err(|_| "a negative tag".to_owned())?,
        };
        Ok(Some(self.add(Kind::Receive, from, tag, bytes)))
    }

    fn wait(&mut self, request: Handle) -> Outcome {
        let Some(Some(op)) = self.open.remove(&request) else { return RECEIVED_NOTHING };
        self.waited.push(op);
        if self.ops[op as usize].kind == Kind::Send { Outcome::Sent } else { self.received(op) }
    }

    fn wait_all(&mut self, requests: &Requests) -> Box<[Outcome]> {
        (0..requests.len()).map(|index| self.wait(requests.at(index))).collect()
    }

    fn received(&self, op: u32) -> Outcome {
        let Op { amount, peer, tag, .. } = self.ops[op as usize];
        let source = (peer != ANY).then_some(mpi::envelope::Rank(peer));
        let tag = (tag != ANY).then(|| i32::try_from(tag).expect("it was given as one"));
        Outcome::Received(Status { source, tag, count: amount })
    }

    /// The messages of a collective, round by round.
    fn collective(&mut self, call: &Collective) -> Result<Reply, String> {
        world(call.comm)?;
        let mut round = Round::default();
        for phase in 0..call.phases() {
            let mut at = At { phase, round: 0 };
            round.clear();
            let me = (self.rank, self.ranks);
            while call.round(me, Space::Scratch(0), at, &mut round) {
                let begun: Vec<u32> =
                    round.moves.iter().map(|one| self.moved(call, *one)).collect();
                self.waited.extend(begun);
                round.clear();
                at.round += 1;
            }
        }
        Ok(Reply::Done)
    }

    fn moved(&mut self, call: &Collective, one: Move) -> u32 {
        let tag_of = |own| {
            let tag = u32::try_from(call.kind.tag(own)).expect("tags of kinds are small");
            tag | OF_COLLECTIVE
        };
        match one {
            Move::Send { to, tag, region } => self.add(Kind::Send, to.0, tag_of(tag), region.len),
            Move::Receive { from, tag, region } => {
                self.add(Kind::Receive, from.0, tag_of(tag), region.len)
            }
        }
    }

    /// Adds an operation after all that was waited for, and after the start of the one before it.
    fn add(&mut self, kind: Kind, peer: u32, tag: u32, amount: u64) -> u32 {
        let op = u32::try_from(self.ops.len()).expect("the steps are limited");
        self.ops.push(Op { amount, peer, tag, rank: self.rank, kind, cpu: 0, nic: 0 });
        if let Some(before) = op.checked_sub(1)
            && !self.waited.contains(&before)
        {
            let until = Until::Started;
            self.edges.push(Edge { dependant: op, dependency: before, until });
        }
        for dependency in self.waited.drain(..) {
            self.edges.push(Edge { dependant: op, dependency, until: Until::Done });
        }
        op
    }
}

/// `MPI_PROC_NULL` and requests that are over.
const RECEIVED_NOTHING: Outcome = Outcome::Received(Status { source: None, tag: None, count: 0 });

fn world(comm: Comm) -> Result<(), String> {
    if comm == Comm::default() {
        return Ok(());
    }
    Err("a communicator other than MPI_COMM_WORLD".to_owned())
}
