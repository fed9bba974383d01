//! Requests, and what waits for them.
//!
//! A request of the program is one of the library's, of the same number. That of a persistent operation stays when
//! the operation has ended; until it is started again it counts as `MPI_REQUEST_NULL` does.

mod looking;

use std::sync::Arc;

use super::data::Held;
use super::{Answer, Asked, Client, Fault, Step, Table, done, mpi5, statuses};
use protocols::arguments::{Outcome, Requests as Set};
use protocols::asked::{Asked as Asks, OfRequest};
use protocols::call::{Call, Reply};
use protocols::contract::Handle;

/// The open requests of a rank, and its matched messages.
#[derive(Debug)]
pub(super) struct Requests {
    open: Table<Open>,
    /// The communicator of each message that `MPI_Mprobe` has matched.
    messages: Table<u64>,
}

#[derive(Debug)]
struct Open {
    comm: u64,
    is_send: bool,
    /// The call of a persistent operation.
    prepared: Option<Arc<Call>>,
    /// Whether an operation is under way.
    is_active: bool,
    held: Vec<Held>,
}

/// The requests of a call that an operation is under way for.
struct Active {
    /// Where the array begins.
    array: u64,
    /// Entries of the array.
    length: usize,
    /// Place in the array, and request.
    entries: Vec<(usize, Handle)>,
}

/// Handles of messages are above those of requests, so that the library takes none for another.
const MESSAGES: u32 = 1 << 24;

impl Requests {
    pub(super) const fn new() -> Self {
        Self { open: Table::new(2), messages: Table::new(3) }
    }

    /// A new request, of an operation over this communicator.
    pub(super) fn open(&mut self, comm: u64, is_send: bool) -> Handle {
        let open = Open { comm, is_send, prepared: None, is_active: true, held: Vec::new() };
        let handle = self.open.add(open);
        self.number(handle).expect("it was added")
    }

    fn number(&self, handle: u64) -> Option<Handle> {
        let number = self.open.number(handle)?;
        Some(Handle(u32::try_from(number).expect("fewer than 2^32 requests")))
    }

    const fn handle(request: Handle) -> u64 {
        Table::<Open>::handle_of(2, request.0 as u64)
    }

    fn of(&self, request: Handle) -> &Open {
        self.open.get(Self::handle(request)).expect("it is open")
    }

    fn of_mut(&mut self, request: Handle) -> &mut Open {
        self.open.get_mut(Self::handle(request)).expect("it is open")
    }

    /// A message is going to be matched.
    pub(super) fn open_message(&mut self, comm: u64) -> Handle {
        let handle = self.messages.add(comm);
        let number = self.messages.number(handle).expect("it was added");
        Handle(MESSAGES + u32::try_from(number).expect("fewer than 2^24 messages"))
    }

    /// The program's handle of a message.
    pub(super) const fn message_handle(message: Handle) -> u64 {
        Table::<u64>::handle_of(3, (message.0 - MESSAGES) as u64)
    }

    /// The message of a handle, and its communicator.
    pub(super) fn message(&self, handle: u64) -> Result<(u64, Handle), Fault> {
        let Some((comm, number)) = self.messages.get(handle).zip(self.messages.number(handle))
        else {
            return Err(Fault::new(mpi5::ERR_REQUEST, format!("{handle:#x} is no message")));
        };
        let number = u32::try_from(number).expect("fewer than 2^24 messages");
        Ok((*comm, Handle(MESSAGES + number)))
    }

    /// A message is received.
    pub(super) fn close_message(&mut self, message: Handle) {
        self.messages.remove(Self::message_handle(message));
    }
}

impl Client {
    /// An operation begins with its request; `at` is the argument that gets it.
    pub(super) fn begins(
        &mut self,
        asked: &mut Asked<'_>,
        at: usize,
        request: Handle,
        call: Call,
        held: Vec<Held>,
    ) -> Step {
        self.requests.of_mut(request).held = held;
        asked.put_word(at, Requests::handle(request));
        Step::waits(call)
    }

    /// A persistent operation is prepared.
    pub(super) fn prepares(
        &mut self,
        asked: &mut Asked<'_>,
        at: usize,
        request: Handle,
        call: Call,
        held: Vec<Held>,
    ) -> Step {
        let call = Arc::new(call);
        let open = self.requests.of_mut(request);
        open.held = held;
        open.prepared = Some(Arc::clone(&call));
        open.is_active = false;
        asked.put_word(at, Requests::handle(request));
        Step::waits(Call::Prepare(call))
    }

    #[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
    pub(super) fn request_call(&mut self, asked: &mut Asked<'_>) -> Option<Answer> {
        use mpi5::Function as F;
        Some(match asked.function {
            F::Wait => self.wait(asked),
            F::Test => self.test(asked),
            F::Waitall => self.wait_all(asked),
            F::Testall => self.test_all(asked),
            F::Waitany => self.wait_any(asked),
            F::Testany => self.test_any(asked),
            F::Waitsome => self.some(asked, Asks::WaitSome),
            F::Testsome => self.some(asked, Asks::TestSome),
            F::Request_get_status => self.get_status(asked),
            F::Request_free => self.free(asked),
            F::Start => {
                let address = asked.word(0);
                self.start(asked, vec![address])
            }
            F::Startall => asked.length(0).and_then(|length| {
                let array = asked.word(1);
                self.start(asked, (0..length as u64).map(|at| array + 8 * at).collect())
            }),
            F::Cancel => self.cancel(asked),
            _ => return self.looking_call(asked),
        })
    }

    /// The request of a handle; `None` of `MPI_REQUEST_NULL`.
    fn request(&mut self, handle: u64) -> Result<Option<Handle>, Fault> {
        if handle == mpi5::REQUEST_NULL {
            return Ok(None);
        }
        let Some(request) = self.requests.number(handle) else {
            return Err(Fault::new(mpi5::ERR_REQUEST, format!("{handle:#x} is no request")));
        };
        self.errors.on = super::On::Object(self.requests.of(request).comm);
        Ok(Some(request))
    }

    /// The request of a handle, where its operation is under way.
    fn active(&mut self, handle: u64) -> Result<Option<Handle>, Fault> {
        let request = self.request(handle)?;
        Ok(request.filter(|request| self.requests.of(*request).is_active))
    }

    /// The requests of an array whose length is argument `length`.
    fn array(&mut self, asked: &mut Asked<'_>, length: usize) -> Result<Active, Fault> {
        let array = asked.word(length + 1);
        let length_of_array = asked.length(length)?;
        let handles = asked.words(length + 1, length_of_array)?;
        let mut entries = Vec::with_capacity(handles.len());
        for (at, handle) in handles.into_iter().enumerate() {
            if let Some(request) = self.active(handle)? {
                entries.push((at, request));
            }
        }
        Ok(Active { array, length: length_of_array, entries })
    }

    /// The operation of a request has ended: what was held for it goes where it belongs, and the request is gone, or
    /// waits to be started again.
    fn over(&mut self, asked: &mut Asked<'_>, variable: u64, request: Handle) -> Result<(), Fault> {
        let open = self.requests.of_mut(request);
        if open.prepared.is_some() {
            open.is_active = false;
            for held in &open.held {
                held.empty(asked.place)?;
            }
            return Ok(());
        }
        let open = self.requests.open.remove(Requests::handle(request)).expect("it is open");
        asked.place.process.put(variable, &mpi5::REQUEST_NULL.to_ne_bytes());
        for held in open.held {
            held.end(asked.place)?;
        }
        Ok(())
    }

    /// One operation has ended: its status, and its error.
    fn one_over(
        &mut self,
        asked: &mut Asked<'_>,
        variable: u64,
        request: Handle,
        status: u64,
        outcome: Outcome,
    ) -> Answer {
        self.errors.on = super::On::Object(self.requests.of(request).comm);
        self.over(asked, variable, request)?;
        statuses::put(asked, status, Some(outcome));
        statuses::truncated(outcome)
    }

    fn wait(&mut self, asked: &mut Asked<'_>) -> Answer {
        let (variable, status) = (asked.word(0), asked.word(1));
        let handle = asked.at(0)?;
        let Some(request) = self.active(handle)? else {
            statuses::put(asked, status, None);
            return done();
        };
        Ok(Step::calls(Call::Wait { request }, move |client, asked, reply| {
            let Reply::Outcome(outcome) = reply else { return done() };
            client.one_over(asked, variable, request, status, outcome)
        }))
    }

    fn test(&mut self, asked: &mut Asked<'_>) -> Answer {
        let (variable, status) = (asked.word(0), asked.word(2));
        let handle = asked.at(0)?;
        let Some(request) = self.active(handle)? else {
            statuses::put(asked, status, None);
            asked.put_flag(1, true);
            return done();
        };
        Ok(Step::calls(Call::Test { request }, move |client, asked, reply| {
            let Reply::Tested(outcome) = reply else { return done() };
            asked.put_flag(1, outcome.is_some());
            match outcome {
                Some(outcome) => client.one_over(asked, variable, request, status, outcome),
                None => done(),
            }
        }))
    }

    fn get_status(&mut self, asked: &mut Asked<'_>) -> Answer {
        let Some(request) = self.active(asked.word(0))? else {
            let status = asked.word(2);
            statuses::put(asked, status, None);
            asked.put_flag(1, true);
            return done();
        };
        let does = OfRequest::GetStatus;
        Ok(Step::calls(Call::OfRequest { does, request }, |_, asked, reply| {
            let Reply::Tested(outcome) = reply else { return done() };
            asked.put_flag(1, outcome.is_some());
            if outcome.is_some() {
                let status = asked.word(2);
                statuses::put(asked, status, outcome);
            }
            done()
        }))
    }

    fn wait_all(&mut self, asked: &mut Asked<'_>) -> Answer {
        let active = self.array(asked, 0)?;
        if active.entries.is_empty() {
            return self.all_over(asked, &active, &[], 2);
        }
        let call = Call::WaitAll { requests: active.set(), statuses: true };
        Ok(Step::calls(call, move |client, asked, reply| {
            let Reply::All(outcomes) = reply else { return done() };
            client.all_over(asked, &active, &outcomes, 2)
        }))
    }

    fn test_all(&mut self, asked: &mut Asked<'_>) -> Answer {
        let active = self.array(asked, 0)?;
        if active.entries.is_empty() {
            asked.put_flag(2, true);
            return self.all_over(asked, &active, &[], 3);
        }
        Ok(Step::calls(Call::TestAll { requests: active.set() }, move |client, asked, reply| {
            let Reply::AllTested(outcomes) = reply else { return done() };
            asked.put_flag(2, outcomes.is_some());
            match outcomes {
                Some(outcomes) => client.all_over(asked, &active, &outcomes, 3),
                None => done(),
            }
        }))
    }

    /// All operations of an array have ended; argument `statuses` is the array for their statuses.
    fn all_over(
        &mut self,
        asked: &mut Asked<'_>,
        active: &Active,
        outcomes: &[Outcome],
        statuses: usize,
    ) -> Answer {
        let statuses = asked.word(statuses);
        let mut of_place = vec![None; active.length];
        let mut blamed = None;
        for ((at, request), outcome) in active.entries.iter().zip(outcomes) {
            of_place[*at] = Some(*outcome);
            if statuses::error(Some(*outcome)) != mpi5::SUCCESS {
                blamed.get_or_insert(self.requests.of(*request).comm);
            }
            self.over(asked, active.variable(*at), *request)?;
        }
        for (at, outcome) in of_place.into_iter().enumerate() {
            let to = statuses::of_array(statuses, at);
            statuses::put(asked, to, outcome);
            if blamed.is_some() {
                statuses::put_error(asked, to, statuses::error(outcome));
            }
        }
        in_status(self, blamed)
    }

    fn wait_any(&mut self, asked: &mut Asked<'_>) -> Answer {
        let active = self.array(asked, 0)?;
        let status = asked.word(3);
        if active.entries.is_empty() {
            statuses::put(asked, status, None);
            asked.put_int(2, mpi5::UNDEFINED);
            return done();
        }
        Ok(Step::calls(Call::WaitAny { requests: active.set() }, move |client, asked, reply| {
            let Reply::Any { index, outcome } = reply else { return done() };
            let (at, request) = active.entries[index as usize];
            asked.put_int(2, place(at));
            client.one_over(asked, active.variable(at), request, status, outcome)
        }))
    }

    fn test_any(&mut self, asked: &mut Asked<'_>) -> Answer {
        let active = self.array(asked, 0)?;
        let status = asked.word(4);
        if active.entries.is_empty() {
            statuses::put(asked, status, None);
            asked.put_int(2, mpi5::UNDEFINED);
            asked.put_flag(3, true);
            return done();
        }
        let call = Call::Ask { asks: Asks::TestAny, requests: active.set() };
        Ok(Step::calls(call, move |client, asked, reply| {
            let Reply::AnyTested(found) = reply else { return done() };
            asked.put_flag(3, found.is_some());
            let Some((index, outcome)) = found else {
                asked.put_int(2, mpi5::UNDEFINED);
                return done();
            };
            let (at, request) = active.entries[index as usize];
            asked.put_int(2, place(at));
            client.one_over(asked, active.variable(at), request, status, outcome)
        }))
    }

    fn some(&mut self, asked: &mut Asked<'_>, asks: Asks) -> Answer {
        let active = self.array(asked, 0)?;
        if active.entries.is_empty() {
            asked.put_int(2, mpi5::UNDEFINED);
            return done();
        }
        let call = Call::Ask { asks, requests: active.set() };
        Ok(Step::calls(call, move |client, asked, reply| {
            let Reply::Some(ended) = reply else { return done() };
            let statuses = asked.word(4);
            asked.put_int(2, place(ended.len()));
            let mut blamed = None;
            for (index, outcome) in &ended {
                if statuses::error(Some(*outcome)) != mpi5::SUCCESS {
                    let request = active.entries[*index as usize].1;
                    blamed.get_or_insert(client.requests.of(request).comm);
                }
            }
            let mut places = Vec::new();
            for (number, (index, outcome)) in ended.iter().enumerate() {
                let (at, request) = active.entries[*index as usize];
                places.push(place(at));
                client.over(asked, active.variable(at), request)?;
                let to = statuses::of_array(statuses, number);
                statuses::put(asked, to, Some(*outcome));
                if blamed.is_some() {
                    statuses::put_error(asked, to, statuses::error(Some(*outcome)));
                }
            }
            asked.put_ints(3, places);
            in_status(client, blamed)
        }))
    }

    fn free(&mut self, asked: &mut Asked<'_>) -> Answer {
        let handle = asked.at(0)?;
        let Some(request) = self.request(handle)? else {
            return Err(Fault::new(mpi5::ERR_REQUEST, "MPI_REQUEST_NULL cannot be freed"));
        };
        asked.put_word(0, mpi5::REQUEST_NULL);
        let open = self.requests.of(request);
        let is_collective =
            open.prepared.as_deref().is_some_and(|call| matches!(call, Call::Icollective { .. }));
        let (is_active, is_idle) = (open.is_active, !open.is_active && !is_collective);
        if is_active && !open.held.is_empty() {
            return Err(Fault::not_carried(
                "the simulator does not carry the freeing of a request whose buffer lies in pieces",
            ));
        }
        // The library ends an operation that is under way by itself, and has its number until then.
        let all = &mut self.requests.open;
        let open = if is_active { all.retire(handle) } else { all.remove(handle) };
        for held in open.expect("it is open").held {
            asked.place.release(held.buffer);
        }
        if is_idle {
            return done();
        }
        Ok(Step::waits(Call::OfRequest { does: OfRequest::Free, request }))
    }

    fn cancel(&mut self, asked: &mut Asked<'_>) -> Answer {
        let handle = asked.at(0)?;
        let Some(request) = self.active(handle)? else {
            return Err(Fault::new(mpi5::ERR_REQUEST, "no operation of the request is under way"));
        };
        if self.requests.of(request).is_send {
            return Err(Fault::not_carried(
                "the simulator does not carry the cancelling of a send",
            ));
        }
        Ok(Step::waits(Call::Cancel { request }))
    }

    /// The operations of these variables are started one after the other.
    fn start(&mut self, asked: &mut Asked<'_>, mut variables: Vec<u64>) -> Answer {
        if variables.is_empty() {
            return done();
        }
        let handle = asked.word_at(variables.remove(0))?;
        let prepared = self.request(handle)?.map(|request| (request, self.requests.of(request)));
        let Some((request, Open { prepared: Some(call), is_active: false, held, .. })) = prepared
        else {
            return Err(Fault::new(
                mpi5::ERR_REQUEST,
                "the request is no persistent one, or its operation is under way",
            ));
        };
        for held in held {
            held.fill(asked.place)?;
        }
        let operation = Arc::clone(call);
        self.requests.of_mut(request).is_active = true;
        Ok(Step::calls(Call::Start { request, operation }, move |client, asked, _| {
            client.start(asked, variables)
        }))
    }
}

impl Active {
    fn set(&self) -> Set {
        Set::List(self.entries.iter().map(|(_, request)| *request).collect())
    }

    const fn variable(&self, at: usize) -> u64 {
        self.array + 8 * at as u64
    }
}

fn place(at: usize) -> i32 {
    i32::try_from(at).expect("an int counts the entries of the array")
}

/// The error of a call about several operations of which some have ended with one.
fn in_status(client: &mut Client, blamed: Option<u64>) -> Answer {
    let Some(comm) = blamed else { return done() };
    client.errors.on = super::On::Object(comm);
    Err(Fault::new(mpi5::ERR_IN_STATUS, "a message is longer than its buffer"))
}
