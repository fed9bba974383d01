//! The program of one rank, as a runtime drives it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::access::Parts;
use super::control::{self, Control};
use super::member::Member;
use super::operations::{Does, Extras, Step};
use super::record::{Ending, Record, Returned, too_short};
use crate::seat::Seat;
use calls::rows::{Field, Fields as _};
use collectives::Between;
use form::expression::Expression;
use mpi::communicator::Communicators;
use mpi::envelope::Rank;
use mpi::observation::{Observation, StatementError, StatementFailure, UNDEFINED};
use protocols::call::{
    Asked, Buffer, Call, Comm, CommCall, OfRequest, Outcome, Reply, Requests, SendMode, Status,
};
use protocols::contract::{Handle, Machine, Next, Program, Region, Space};
use protocols::loans::{Clash, Loans};
use protocols::note::Note;
use protocols::rma::call::RmaCall;
use runtime::monitors::Violation;

/// Steps without a call that may follow each other.
/// Limit: a loop without a call could be without an end.
const MOST_SILENT: u32 = 10_000_000;

/// The checked program of one rank: how far it is, what is open, and what its calls returned.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProgramStream {
    steps: Arc<[Step]>,
    rank: u32,
    /// Ranks of `MPI_COMM_WORLD`.
    size: u32,
    /// Its number among the threads of the rank, where there are several.
    thread: Option<u16>,
    /// Its place among the threads of its process, where they call one library.
    member: Option<Box<Member>>,
    /// The step that was begun last, and one.
    begun: usize,
    /// Values of the variables; none in a program without expressions.
    variables: Vec<i64>,
    /// Bytes of the buffers with a name.
    buffers: Arc<[u64]>,
    /// The number that a load has read.
    loaded: Option<u64>,
    /// Named buffers in use by open operations, and the lines that started those.
    loans: Loans<u32>,
    /// Parts of shared windows that it has asked for.
    parts: Parts,
    /// Repetitions of each `until`. They are no part of the state: a poll that finds nothing leaves the program where
    /// it was.
    repetitions: Note<Vec<i64>>,
    /// Whether an `until` has a bound. It has none where events have an order and no time: see [`Self::unbounded`].
    bounded: bool,
    /// Where a statement goes wrong, the program ends.
    failed: bool,
    /// Steps since the last call; decides nothing but [`StatementError::NoCall`].
    silent: u32,
    /// Per request handle: the open operation.
    open: Vec<Option<Begun>>,
    /// How many of them make a communicator.
    duplicating: u32,
    /// Its rank in communicators that it has asked for, and their sizes.
    places: BTreeMap<Comm, Seat>,
    /// The communicator that it asks for, before its next step.
    asking: Option<Comm>,
    /// The operations that were prepared for requests.
    prepared: BTreeMap<Handle, Arc<Call>>,
    /// How many of the requests of its `startall` are started.
    started: usize,
    /// Requests that it has freed: the library closes them, at a time that the program does not see.
    freed: BTreeSet<Handle>,
    /// Whether it is in `MPI_Finalize`, which waits for them.
    finalizes: bool,
    /// Per message handle: whether it holds a message.
    probed: Vec<bool>,
    /// The step of every call made; steps that find nothing open make none. A program with loops keeps as
    /// many as it has steps, the last ones.
    calls: VecDeque<u32>,
    /// Calls that are not kept any more.
    dropped: u32,
    records: Vec<Record>,
}

/// An operation that was begun and has not ended.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Begun {
    /// Its buffer; 0 of a collective, whose outcome tells of none.
    buffer: u32,
    /// Its kind.
    of: Of,
    /// The step that has begun it.
    step: u32,
}

/// Kind of an operation with a request.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Of {
    /// A send.
    Send,
    /// A receive: no other operation can be cancelled.
    Receive,
    /// A send and a receive.
    Exchange,
    /// A partitioned send or receive.
    Partitioned,
    /// A collective, or a one-sided operation: its request cannot be freed.
    NoMessage,
    /// A duplicate of a communicator, which is there when it ends.
    Duplicate,
}

/// The steps never change, so two states of one program differ only in the rest. The calls that were made are for
/// reports; a program with loops comes back to a state whatever it called.
impl Hash for ProgramStream {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.begun, &self.open, &self.probed, &self.records).hash(state);
        (&self.prepared, self.started, &self.freed, self.finalizes).hash(state);
        (&self.places, self.asking).hash(state);
        (&self.variables, self.loaded, self.failed, &self.parts, &self.member).hash(state);
        self.loans.hash(state);
        if !self.loops() {
            self.calls.hash(state);
        }
    }
}

impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for ProgramStream {
    fn next(&mut self, reply: Option<Reply>) -> Next<Call> {
        self.advance(reply)
    }

    fn loaded(&mut self, value: u64) {
        self.loaded = Some(value);
    }

    fn position(&self) -> Option<u32> {
        self.line()
    }

    fn sends_ready(&self) -> bool {
        self.has_ready_sends()
    }

    fn forks(&self) -> bool {
        self.member.as_ref().is_some_and(|member| member.forks())
    }

    fn line_of(&self, call: u32) -> Option<u32> {
        self.line_of_call(call)
    }
}

impl ProgramStream {
    pub(super) fn new(
        steps: Arc<[Step]>,
        (rank, size): (usize, usize),
        thread: Option<u16>,
        variables: Vec<i64>,
        buffers: Arc<[u64]>,
    ) -> Self {
        let number = |rank: usize| u32::try_from(rank).expect("ranks have 32-bit numbers");
        Self {
            steps,
            rank: number(rank),
            size: number(size),
            thread,
            member: None,
            begun: 0,
            variables,
            buffers,
            loaded: None,
            loans: Loans::new(None),
            parts: Parts::new(),
            repetitions: Note(Vec::new()),
            bounded: true,
            failed: false,
            silent: 0,
            open: Vec::new(),
            duplicating: 0,
            places: BTreeMap::new(),
            asking: None,
            prepared: BTreeMap::new(),
            started: 0,
            freed: BTreeSet::new(),
            finalizes: false,
            probed: Vec::new(),
            calls: VecDeque::new(),
            dropped: 0,
            records: Vec::new(),
        }
    }

    /// The program of one thread among others.
    pub(super) fn of_member(self, member: Option<Member>) -> Self {
        let loans = Loans::new(member.as_ref().map(Member::number));
        Self { member: member.map(Box::new), loans, ..self }
    }

    /// The same program without bounds of `until`. In an exploration a rank may poll as often as it likes while every
    /// other rank stands still, so that a number of repetitions means nothing: a loop that no order leaves is a state
    /// without a way to a good end.
    pub const fn unbounded(&mut self) {
        self.bounded = false;
    }

    /// Results of the calls so far, in order.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Receives of this program which got more than they had room for.
    pub fn truncations(&self) -> impl Iterator<Item = Violation> {
        let rank = self.rank;
        self.records.iter().flat_map(move |record| {
            record.returned.endings().filter_map(move |ending| match ending {
                Ending::Over { outcome: Outcome::Truncated(status), .. } => {
                    Some(truncated(rank, record, status))
                }
                Ending::Over { .. } | Ending::Inactive => None,
            })
        })
    }

    /// Whether one of its sends is in ready mode.
    pub fn has_ready_sends(&self) -> bool {
        self.steps.iter().any(|step| matches!(&step.does, Does::Call(call) if is_ready(call)))
    }

    /// The line of the operation that was begun last.
    pub fn line(&self) -> Option<u32> {
        self.begun.checked_sub(1).map(|last| self.steps[last].line)
    }

    /// The line of the call with this number, counted from 0 over the calls made.
    pub fn line_of_call(&self, call: u32) -> Option<u32> {
        let kept = call.checked_sub(self.dropped)?;
        self.calls.get(kept as usize).map(|step| self.steps[*step as usize].line)
    }

    /// The next step; see [`Program::next`].
    ///
    /// # Panics
    ///
    /// When `reply` is none that the last call can return: a defect of the library.
    pub fn advance(&mut self, mut reply: Option<Reply>) -> Next<Call> {
        if self.failed {
            return Next::End;
        }
        if self.member.is_none() {
            return self.goes_by(reply);
        }
        let own = self.member.as_mut().and_then(|member| member.next(&mut reply));
        own.unwrap_or_else(|| {
            let next = self.goes_by(reply);
            let member = self.member.as_mut().expect("it was there before");
            if next == Next::End { member.ends() } else { member.numbered(next) }
        })
    }

    /// The next step of the program itself.
    fn goes_by(&mut self, reply: Option<Reply>) -> Next<Call> {
        let taken = match self.loaded.take() {
            Some(number) => self.take_number(number),
            None => reply.map_or(Ok(()), |reply| self.take(reply)),
        };
        let next = taken.and_then(|()| self.following());
        next.unwrap_or_else(|error| self.fails(error))
    }

    /// The next call, computation or mark, after all control flow before it.
    fn following(&mut self) -> Result<Next<Call>, StatementError> {
        let steps = Arc::clone(&self.steps);
        while let Some(step) = steps.get(self.begun) {
            self.begun += 1;
            self.silent += 1;
            if self.silent >= MOST_SILENT {
                return Err(StatementError::NoCall { statements: self.silent });
            }
            match &step.does {
                Does::Compute(time) => {
                    let computed = self.computed(step.extras.as_deref())?;
                    return Ok(Next::Compute(computed.unwrap_or(time.as_ps())));
                }
                Does::Mark(mark) => return Ok(Next::Mark(*mark)),
                Does::Access(access) => {
                    self.silent = 0;
                    let next = access.next(&self.variables, &self.parts)?;
                    if let Next::Store(region, _) | Next::Load(region) = next {
                        let writes = matches!(next, Next::Store(..));
                        in_use(self.loans.touches(region, writes))?;
                    }
                    return Ok(next);
                }
                Does::Control(control) => self.goes_on(control)?,
                Does::Call(call) => {
                    if let Some(comm) = self.unknown(step, call) {
                        self.asking = Some(comm);
                        return self.calls(Call::Place { comm });
                    }
                    let mut call = call.clone();
                    self.compute_keys(step.extras.as_deref(), &mut call)?;
                    if let Some(call) = self.reduced(call)? {
                        return self.calls(call);
                    }
                }
                Does::Start(requests) => {
                    let requests = self.computed_set(step.extras.as_deref(), requests)?;
                    if !requests.is_empty() {
                        let request = requests.at(self.started);
                        let operation = self.prepared.get(&request).map(Arc::clone);
                        let operation = operation.ok_or(StatementError::NoRequest)?;
                        return self.calls(Call::Start { request, operation });
                    }
                }
            }
        }
        if self.freed.is_empty() || self.finalizes {
            return Ok(Next::End);
        }
        self.finalizes = true;
        self.calls_from(self.last());
        self.loans.ends();
        Ok(Next::Call(Call::Finalize))
    }

    /// The communicator that a program must ask for before the step: the buffers depend on it.
    fn unknown(&self, step: &Step, call: &Call) -> Option<Comm> {
        let asked = step.extras.as_ref().is_some_and(|extras| extras.asked);
        let comm = call.comm().filter(|_| asked)?;
        (!self.places.contains_key(&comm)).then_some(comm)
    }

    /// The program calls.
    fn calls(&mut self, call: Call) -> Result<Next<Call>, StatementError> {
        self.check_names(&call)?;
        if !self.buffers.is_empty() {
            let Step { line, .. } = self.steps[self.last() as usize];
            in_use(self.loans.calls(&call, self.is_root(&call), line, with_a_name))?;
        }
        if let Call::Prepare(operation) = &call
            && let Some(request) = call.begins()
        {
            self.prepared.insert(request, Arc::clone(operation));
        }
        self.calls_from(self.last());
        self.silent = 0;
        Ok(Next::Call(call))
    }

    /// The requests of a step that starts some.
    fn computed_set(
        &self,
        extras: Option<&Extras>,
        requests: &Requests,
    ) -> Result<Requests, StatementError> {
        let mut requests = requests.clone();
        for one in extras.map_or(&[][..], |extras| &extras.computed) {
            one.part.put_among(&mut requests, one.of(&self.variables)?);
        }
        Ok(requests)
    }

    /// Changes variables, and where the program goes on.
    fn goes_on(&mut self, control: &Control) -> Result<(), StatementError> {
        let value = |expression: &Expression, of: &[i64]| {
            expression.value(of).map_err(|failure| control::error(&failure))
        };
        match control {
            Control::Set { slot, to } => self.variables[*slot] = value(to, &self.variables)?,
            Control::Enter { counter, limit, shown, times, end } => {
                let found = value(times, &self.variables)?;
                if found < 0 {
                    let (key, least, most) = ("times", 0, i64::MAX);
                    return Err(StatementError::OutOfRange { key, found, least, most });
                }
                (self.variables[*counter], self.variables[*limit]) = (0, found);
                if let Some(shown) = *shown {
                    self.variables[shown] = 0;
                }
                if found == 0 {
                    self.begun = *end;
                }
            }
            Control::Again { counter, limit, shown, body } => {
                self.variables[*counter] += 1;
                if let Some(shown) = *shown {
                    self.variables[shown] = self.variables[*counter];
                }
                if self.variables[*counter] < self.variables[*limit] {
                    self.begun = *body;
                }
            }
            Control::Unless { condition, end } => {
                if value(condition, &self.variables)? == 0 {
                    self.begun = *end;
                }
            }
            Control::Jump(to) => self.begun = *to,
            Control::Assert(condition) => {
                if value(condition, &self.variables)? == 0 {
                    return Err(StatementError::Asserted);
                }
            }
            Control::Repeat { counter } => {
                if self.repetitions.len() <= *counter {
                    self.repetitions.0.resize(counter + 1, 0);
                }
                self.repetitions.0[*counter] = 0;
            }
            Control::Until { counter, condition, times, body } => {
                self.repetitions.0[*counter] += 1;
                if value(condition, &self.variables)? == 0 {
                    if self.bounded && self.repetitions[*counter] >= *times {
                        return Err(StatementError::NeverHeld { times: *times });
                    }
                    self.begun = *body;
                }
            }
        }
        Ok(())
    }

    /// The computed value of a step that has one key.
    fn computed(&self, extras: Option<&Extras>) -> Result<Option<u64>, StatementError> {
        let Some(time) = extras.and_then(|extras| extras.computed.first()) else { return Ok(None) };
        let time = time.of(&self.variables)?;
        Ok(Some(u64::try_from(time).expect("the range has no negative time")))
    }

    /// Puts the computed keys of a step into its call.
    fn compute_keys(&self, extras: Option<&Extras>, call: &mut Call) -> Result<(), StatementError> {
        let Some(extras) = extras else { return Ok(()) };
        let Extras { computed, asked, in_place, .. } = extras;
        if computed.is_empty() && !asked && !in_place {
            return Ok(());
        }
        let seat = match call.comm().filter(|_| *asked) {
            Some(comm) => self.places[&comm],
            // Without a question the communicator has all ranks, in their order or in reverse.
            None => self.seat(call.comm() == Some(Comm(Communicators::REVERSED))),
        };
        for one in computed {
            one.part.put_at(call, one.of(&self.variables)?, seat);
        }
        if *asked || *in_place {
            control::fit(call, seat, *in_place)?;
        }
        if self.buffers.is_empty() { Ok(()) } else { self.check_buffers(call) }
    }

    /// Its seat in a communicator of all ranks, in their order or in reverse.
    const fn seat(&self, reversed: bool) -> Seat {
        let Self { rank, size, .. } = *self;
        let rank = if reversed { size - 1 - rank } else { rank };
        Seat { rank, size, other: None, degrees: None }
    }

    /// Refuses a call that reaches beyond the end of a buffer with a name.
    fn check_buffers(&self, call: &Call) -> Result<(), StatementError> {
        for region in regions(call).into_iter().flatten() {
            let Space::User(id) = region.space else { continue };
            let place = id.checked_sub(Buffer::OWN).map(|place| place as usize);
            let Some(&bytes) = place.and_then(|place| self.buffers.get(place)) else { continue };
            let needed = region.offset + region.len;
            if needed > bytes {
                return Err(StatementError::BeyondBuffer { needed, bytes });
            }
        }
        Ok(())
    }

    /// The number that the last step has loaded.
    fn take_number(&mut self, number: u64) -> Result<(), StatementError> {
        let steps = Arc::clone(&self.steps);
        let Step { does: Does::Access(access), .. } = &steps[self.last() as usize] else {
            panic!("a number for a step that loads none: {number}")
        };
        access.loaded(number, &mut self.variables, &self.parts)
    }

    /// Whether the program is the root of a collective; `None` of other calls.
    fn is_root(&self, call: &Call) -> Option<bool> {
        let (Call::Collective(of) | Call::Icollective { call: of, .. }) = call.begun() else {
            return None;
        };
        // A program asks for its place in communicators that have other ranks than the world, or another order.
        let seat = self.places.get(&of.comm).copied();
        let seat = seat.unwrap_or_else(|| self.seat(of.comm.0 == Communicators::REVERSED));
        let is_between = seat.other.is_some();
        Some(of.root == Between::ROOT || !is_between && of.root == Rank(seat.rank))
    }

    /// Refuses a call that begins what is open already, or cancels what is no receive.
    fn check_names(&self, call: &Call) -> Result<(), StatementError> {
        if let Some(request) = call.begins() {
            let starts = matches!(call, Call::Start { .. });
            if self.is_open(request) || !starts && self.prepared.contains_key(&request) {
                return Err(StatementError::StillOpen);
            }
            if self.freed.contains(&request) {
                return Err(StatementError::WasFreed);
            }
        }
        if self.duplicating > 0 && call.comm().is_some_and(|comm| self.is_under_way(comm)) {
            return Err(StatementError::UnderWay);
        }
        if let Call::Mprobe { message, .. } | Call::Improbe { message, .. } = call
            && self.has_message(*message)
        {
            return Err(StatementError::StillHeld);
        }
        let of = |request: &Handle| self.open[request.0 as usize].map(|begun| begun.of);
        if let Call::Cancel { request } = call
            && of(request) != Some(Of::Receive)
        {
            return Err(StatementError::CancelsSend);
        }
        if let Call::OfRequest { does: OfRequest::Free, request } = call
            && matches!(of(request), Some(Of::NoMessage | Of::Duplicate))
        {
            return Err(StatementError::FreesNoMessage);
        }
        Ok(())
    }

    /// Whether a communicator is made by an operation that the program has not waited for.
    fn is_under_way(&self, comm: Comm) -> bool {
        let mut begun = self.open.iter().flatten().filter(|begun| begun.of == Of::Duplicate);
        begun.any(|begun| {
            let Does::Call(call) = &self.steps[begun.step as usize].does else { return false };
            matches!(call, Call::Communicators(CommCall::Idup { new, .. }) if *new == comm)
        })
    }

    /// Notes the step of a call.
    fn calls_from(&mut self, step: u32) {
        if self.calls.len() == self.steps.len() {
            self.calls.pop_front();
            self.dropped = self.dropped.wrapping_add(1);
        }
        self.calls.push_back(step);
    }

    /// The program tells its monitors that a statement went wrong, and ends.
    fn fails(&mut self, error: StatementError) -> Next<Call> {
        self.failed = true;
        let Step { line, column, .. } = self.steps[self.last() as usize];
        let iteration = self.iteration();
        let (rank, thread) = (self.rank, self.thread);
        let failure = StatementFailure { rank, thread, line, column, iteration, error };
        Next::Tell(Observation::Failed(failure))
    }

    /// The iteration of the innermost loop around the step that was begun last.
    fn iteration(&self) -> Option<i64> {
        let last = self.last() as usize;
        self.steps[last..].iter().find_map(|step| match &step.does {
            Does::Control(Control::Again { counter, body, .. }) if *body <= last => {
                Some(self.variables[*counter])
            }
            Does::Control(Control::Until { counter, body, .. }) if *body <= last => {
                Some(self.repetitions[*counter])
            }
            Does::Control(_)
            | Does::Call(_)
            | Does::Start(_)
            | Does::Compute(_)
            | Does::Access(_)
            | Does::Mark(_) => None,
        })
    }

    /// The call without the handles that have nothing open; `None` where nothing is left of it,
    /// in which case what it returns is recorded.
    fn reduced(&mut self, call: Call) -> Result<Option<Call>, StatementError> {
        if !self.is_idle(&call) {
            return Ok(Some(self.with_open_requests(call)));
        }
        if let Call::OfRequest { does: OfRequest::Free, request } = call {
            let prepared = self.prepared.remove(&request).ok_or(StatementError::NoRequest)?;
            // Of what is not begun the library knows collectives and partitioned operations only.
            let known = matches!(*prepared, Call::Icollective { .. } | Call::Partitioned(_));
            return Ok(known.then_some(call));
        }
        match idle_return(&call) {
            Some(returned) => self.record(returned).map(|()| None),
            None => Ok(None),
        }
    }

    /// Whether all that the call names is over already.
    fn is_idle(&self, call: &Call) -> bool {
        // A matched probe opens its message. Partitions are of a request that is prepared, at least.
        if call.source().is_some() || matches!(call, Call::OfPartitions { .. }) {
            return false;
        }
        let mut is_open = None;
        call.fields(&mut |field| {
            if let Field::Of(request) = field {
                is_open = Some(self.is_open(*request));
            } else if let Field::OfAll(requests) = field {
                is_open = Some(handles(requests).any(|one| self.is_open(one)));
            } else if let Field::Message(message) = field {
                is_open = Some(self.has_message(*message));
            }
        });
        is_open == Some(false)
    }

    fn with_open_requests(&self, mut call: Call) -> Call {
        if let Call::WaitAll { requests, .. }
        | Call::WaitAny { requests }
        | Call::Ask { requests, .. }
        | Call::TestAll { requests } = &mut call
        {
            *requests = self.open_of(requests);
        }
        call
    }

    fn open_of(&self, requests: &Requests) -> Requests {
        let all = handles(requests);
        if all.clone().all(|handle| self.is_open(handle)) {
            return requests.clone();
        }
        Requests::List(all.filter(|handle| self.is_open(*handle)).collect())
    }

    fn is_open(&self, request: Handle) -> bool {
        self.open.get(request.0 as usize).is_some_and(Option::is_some)
    }

    fn has_message(&self, message: Handle) -> bool {
        self.probed.get(message.0 as usize).is_some_and(|probed| *probed)
    }

    /// The last call returned.
    fn take(&mut self, reply: Reply) -> Result<(), StatementError> {
        self.loans.returns(&reply);
        if self.finalizes {
            return Ok(());
        }
        if let (Some(comm), Reply::Numbers(place)) = (self.asking.take(), &reply) {
            self.places.insert(comm, Seat::of(place));
            self.begun -= 1;
            return Ok(());
        }
        let steps = Arc::clone(&self.steps);
        let Step { does, extras, .. } = &steps[self.last() as usize];
        if let Does::Start(requests) = does {
            let requests = self.computed_set(extras.as_deref(), requests)?;
            self.has_started(&requests);
            return Ok(());
        }
        let Does::Call(call) = does else { panic!("a reply to a computation: {reply:?}") };
        let with_requests = self.with_requests(extras.as_deref(), call)?;
        match self.returned(with_requests.as_ref().unwrap_or(call), reply) {
            Some(returned) => self.record(returned),
            None => Ok(()),
        }
    }

    /// One of the operations of a step is started; where others follow, the step comes again.
    fn has_started(&mut self, requests: &Requests) {
        let request = requests.at(self.started);
        let operation = Arc::clone(&self.prepared[&request]);
        self.begin(request, buffer_of(&operation), of(&operation));
        self.started += 1;
        if self.started < requests.len() {
            self.begun -= 1;
        } else {
            self.started = 0;
        }
    }

    /// The call with its requests of arrays; `None` where it has none. No variable has changed since the call.
    fn with_requests(
        &self,
        extras: Option<&Extras>,
        call: &Call,
    ) -> Result<Option<Call>, StatementError> {
        let computed = extras.map_or(&[][..], |extras| &extras.computed);
        let mut with = None;
        for one in computed.iter().filter(|one| one.part.is_of_replies()) {
            let value = one.of(&self.variables)?;
            one.part.put(with.get_or_insert_with(|| call.clone()), value);
        }
        Ok(with)
    }

    /// Result of a call for its program; open operations are updated.
    fn returned(&mut self, call: &Call, reply: Reply) -> Option<Returned> {
        match (call, reply) {
            (Call::Typed(typed), reply) => self.returned(&typed.call, reply),
            (Call::Exchange(call), Reply::Outcome(outcome)) => {
                Some(Returned::Ended(blocking(&call.receive, outcome)))
            }
            (Call::OfRequest { does: OfRequest::Free, request }, Reply::Done) => {
                if self.is_open(*request) {
                    self.open[request.0 as usize] = None;
                    self.prepared.remove(request);
                    self.freed.insert(*request);
                }
                None
            }
            (Call::OfRequest { request, .. }, Reply::Tested(outcome)) => {
                let begun = self.open[request.0 as usize].expect("only open requests are asked");
                let over = |outcome| Ending::Over { outcome, buffer: begun.buffer };
                Some(Returned::Tested(outcome.map(over)))
            }
            (Call::Place { .. }, Reply::Numbers(place)) => Some(Returned::Place(Seat::of(&place))),
            (
                Call::FreeEndpoint { comm } | Call::Communicators(CommCall::Free { comm }),
                Reply::Done,
            ) => {
                self.places.remove(comm);
                None
            }
            (Call::Prepare(_), Reply::Done) => None,
            (call, Reply::Done) => {
                if let Call::Imrecv { message, .. } = call {
                    self.probed[message.0 as usize] = false;
                }
                if let Some(request) = call.begins() {
                    self.begin(request, buffer_of(call), of(call));
                }
                None
            }
            (Call::Send { .. } | Call::Recv { .. }, Reply::Outcome(outcome)) => {
                Some(Returned::Ended(blocking(call, outcome)))
            }
            (Call::Mrecv { message, .. }, Reply::Outcome(outcome)) => {
                self.probed[message.0 as usize] = false;
                Some(Returned::Ended(blocking(call, outcome)))
            }
            (Call::Wait { request }, Reply::Outcome(outcome)) => {
                Some(Returned::Ended(self.end(*request, outcome)))
            }
            (Call::Test { request }, Reply::Tested(outcome)) => {
                Some(Returned::Tested(outcome.map(|outcome| self.end(*request, outcome))))
            }
            (Call::WaitAll { requests, .. }, Reply::All(outcomes)) => {
                Some(Returned::All(self.endings(requests, &outcomes)))
            }
            (Call::TestAll { requests }, Reply::AllTested(outcomes)) => {
                let endings = outcomes.map(|outcomes| self.endings(requests, &outcomes));
                Some(Returned::AllTested(endings))
            }
            (Call::WaitAny { requests }, Reply::Any { index, outcome }) => {
                let ended = self.ended_of(requests, &[(index, outcome)]);
                Some(Returned::Any(ended.first().copied()))
            }
            (Call::Ask { requests, .. }, Reply::AnyTested(ended)) => {
                let ended = ended.map(|ended| self.ended_of(requests, &[ended]).first().copied());
                Some(Returned::AnyTested(ended))
            }
            (Call::Ask { requests, .. }, Reply::Some(ended)) => {
                Some(Returned::Some(Some(self.ended_of(requests, &ended))))
            }
            (Call::Probe { .. }, Reply::Probed(Some(status))) => Some(Returned::Probed(status)),
            (Call::Iprobe { .. }, Reply::Probed(status)) => Some(Returned::MaybeProbed(status)),
            (Call::Mprobe { message, .. }, Reply::Probed(Some(status))) => {
                self.hold(*message, true);
                Some(Returned::Probed(status))
            }
            (Call::Improbe { message, .. }, Reply::Probed(status)) => {
                self.hold(*message, status.is_some());
                Some(Returned::MaybeProbed(status))
            }
            (Call::Rma(call), Reply::Part(part, _)) => {
                let RmaCall::Query { win, target } = **call else {
                    self.parts.insert((call.win(), None), part);
                    return None;
                };
                self.parts.insert((win, Some(target)), part);
                Some(Returned::Part(part))
            }
            (Call::Rma(_) | Call::OfPartitions { .. }, Reply::Flag(flag)) => {
                Some(Returned::WindowTested(flag))
            }
            (call, reply) => panic!("{call:?} cannot return {reply:?}"),
        }
    }

    /// Notes what a step returned, and compares it with what the step expects.
    fn record(&mut self, returned: Returned) -> Result<(), StatementError> {
        let op = self.last();
        let steps = Arc::clone(&self.steps);
        let Step { line, extras, .. } = &steps[op as usize];
        let found = match extras.as_deref() {
            Some(extras) => self.compared(extras, &returned),
            None => Ok(()),
        };
        let record = Record { op, line: *line, returned };
        // A step of a loop leaves the record of its last iteration, but for what was too short.
        let again = |one: &&mut Record| one.op == op && !one.is_truncated();
        let before = if self.loops() { self.records.iter_mut().find(again) } else { None };
        match before {
            Some(before) => *before = record,
            None => self.records.push(record),
        }
        found
    }

    fn loops(&self) -> bool {
        !self.variables.is_empty()
    }

    fn compared(&mut self, extras: &Extras, returned: &Returned) -> Result<(), StatementError> {
        for (value, expected) in &extras.expected {
            let expected =
                expected.value(&self.variables).map_err(|failure| control::error(&failure))?;
            let (value, found) = (*value, returned.value(*value));
            if found.unwrap_or(UNDEFINED) != expected {
                return Err(StatementError::Unexpected { of: None, value, found, expected });
            }
        }
        for (of, value, expected) in &extras.statuses {
            let expected =
                expected.value(&self.variables).map_err(|failure| control::error(&failure))?;
            let one = returned.one(*of as usize);
            let (of, value) = (Some(*of), *value);
            let found = one.and_then(|one| one.value(value));
            if found.unwrap_or(UNDEFINED) != expected {
                return Err(StatementError::Unexpected { of, value, found, expected });
            }
        }
        for (value, slot) in &extras.kept {
            self.variables[*slot] = returned.value(*value).unwrap_or(UNDEFINED);
        }
        Ok(())
    }

    /// The step that was begun last.
    fn last(&self) -> u32 {
        let last = self.begun.checked_sub(1).and_then(|last| u32::try_from(last).ok());
        last.expect("a step was begun, and there are fewer than bytes in a file")
    }

    /// A request is open, of an operation with this buffer.
    fn begin(&mut self, request: Handle, buffer: u32, of: Of) {
        let slot = request.0 as usize;
        if self.open.len() <= slot {
            self.open.resize(slot + 1, None);
        }
        self.duplicating += u32::from(of == Of::Duplicate);
        self.open[slot] = Some(Begun { buffer, of, step: self.last() });
    }

    fn hold(&mut self, message: Handle, held: bool) {
        let slot = message.0 as usize;
        if self.probed.len() <= slot {
            self.probed.resize(slot + 1, false);
        }
        self.probed[slot] = held;
    }

    fn end(&mut self, request: Handle, outcome: Outcome) -> Ending {
        let begun = self.open[request.0 as usize].take().expect("only open requests are asked");
        self.duplicating -= u32::from(begun.of == Of::Duplicate);
        Ending::Over { outcome, buffer: begun.buffer }
    }

    /// The endings of a whole set, where `outcomes` are those of its open members in order.
    fn endings(&mut self, requests: &Requests, outcomes: &[Outcome]) -> Box<[Ending]> {
        let mut outcomes = outcomes.iter();
        let endings = handles(requests)
            .map(|handle| {
                if !self.is_open(handle) {
                    return Ending::Inactive;
                }
                let outcome = outcomes.next().expect("one outcome for each open request");
                self.end(handle, *outcome)
            })
            .collect();
        assert_eq!(outcomes.len(), 0, "outcomes without a request");
        endings
    }

    /// Members of a set ended, each the `index`-th of those that were open; the program counts all members.
    fn ended_of(&mut self, requests: &Requests, ended: &[(u32, Outcome)]) -> Box<[(u32, Ending)]> {
        let open = |(_, handle): &(u32, Handle)| self.is_open(*handle);
        let open: Vec<(u32, Handle)> = (0..).zip(handles(requests)).filter(open).collect();
        let one = |(index, outcome): &(u32, Outcome)| {
            let (position, handle) = open[*index as usize];
            (position, self.end(handle, *outcome))
        };
        ended.iter().map(one).collect()
    }
}

/// Operation that a call starts.
#[expect(clippy::wildcard_enum_match_arm, reason = "the calls that begin a message, of many")]
fn of(call: &Call) -> Of {
    match call {
        Call::Typed(typed) => of(&typed.call),
        Call::Isend { .. } => Of::Send,
        Call::Irecv { .. } | Call::Imrecv { .. } => Of::Receive,
        Call::Exchange(_) => Of::Exchange,
        Call::Partitioned(_) => Of::Partitioned,
        Call::Communicators(_) => Of::Duplicate,
        _ => Of::NoMessage,
    }
}

fn is_ready(call: &Call) -> bool {
    if let Call::Prepare(operation) = call {
        return is_ready(operation);
    }
    if let Call::Typed(typed) = call {
        return is_ready(&typed.call);
    }
    let (Call::Send { mode, .. } | Call::Isend { mode, .. }) = call else { return false };
    *mode == SendMode::Ready
}

/// Result of a call that finds nothing open; `None` where it never has one.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the calls about requests and messages, of many"
)]
fn idle_return(call: &Call) -> Option<Returned> {
    let nothing = |requests: &Requests| vec![Ending::Inactive; requests.len()].into();
    match call {
        Call::Typed(typed) => idle_return(&typed.call),
        Call::Wait { .. } | Call::Mrecv { .. } => Some(Returned::Ended(Ending::Inactive)),
        Call::Test { .. } => Some(Returned::Tested(Some(Ending::Inactive))),
        Call::WaitAll { requests, .. } => Some(Returned::All(nothing(requests))),
        Call::TestAll { requests } => Some(Returned::AllTested(Some(nothing(requests)))),
        Call::WaitAny { .. } => Some(Returned::Any(None)),
        Call::Ask { asks: Asked::WaitSome | Asked::TestSome, .. } => Some(Returned::Some(None)),
        Call::Ask { asks: Asked::TestAny, .. } => Some(Returned::AnyTested(Some(None))),
        Call::OfRequest { does: OfRequest::GetStatus, .. } => {
            Some(Returned::Tested(Some(Ending::Inactive)))
        }
        _ => None,
    }
}

/// The number of the buffer of a call, of an exchange that of its receive; 0 of a collective, which gives back what no
/// outcome tells of.
fn buffer_of(call: &Call) -> u32 {
    let call = if let Call::Exchange(both) = call { &both.receive } else { call };
    call.buffer().map_or(0, |buffer| buffer.id)
}

/// How a blocking call ended.
fn blocking(call: &Call, outcome: Outcome) -> Ending {
    let buffer = call.buffer().expect("blocking sends and receives have a buffer").id;
    Ending::Over { outcome, buffer }
}

/// The bytes of a region, where they are those of a buffer with a name: no other statement has those of others.
fn with_a_name(region: Region) -> Option<Region> {
    let Space::User(id) = region.space else { return None };
    (id >= Buffer::OWN).then_some(region)
}

/// A statement touches bytes that an open operation has.
fn in_use(clash: Option<Clash<u32>>) -> Result<(), StatementError> {
    let Some(Clash { place: line, writes }) = clash else { return Ok(()) };
    Err(StatementError::InUse { line, writes })
}

/// The buffers of a call whose lengths are computed.
fn regions(call: &Call) -> [Option<Region>; 2] {
    if let Call::Collective(call) | Call::Icollective { call, .. } = call {
        return call.buffers();
    }
    if let Call::ReduceLocal(call) = call {
        return [Some(call.from), Some(call.into)];
    }
    if let Call::Rma(call) = call {
        let RmaCall::Operate { does, .. } = &**call else { return [None, None] };
        return [does.origin(), does.result()];
    }
    let of = |buffer: Buffer| Region::new(Space::User(buffer.id), buffer.bytes);
    if let Call::Exchange(call) = call {
        return [&call.send, &call.receive].map(|half| half.buffer().map(of));
    }
    [call.buffer().map(of), None]
}

fn handles(requests: &Requests) -> impl Iterator<Item = Handle> + Clone {
    (0..requests.len()).map(|index| requests.at(index))
}

fn truncated(rank: u32, record: &Record, status: &Status) -> Violation {
    let receive = format!("the receive of rank {rank} that ended in line {}", record.line);
    let message = status
        .source
        .zip(status.tag)
        .map(|(source, tag)| format!("the message of rank {} with tag {tag}", source.0));
    too_short(receive, status.count, message)
}
