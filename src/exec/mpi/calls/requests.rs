//! What waits for requests, starts them and frees them.

pub(super) mod active;
pub(super) mod looking;

use std::sync::Arc;

use crate::functions as mpi5;
use crate::mpi::args::{self, To, handle, length};
use crate::mpi::data::Held;
use crate::mpi::families::Requests as F;
use crate::mpi::fault::Fault;
use crate::mpi::frame::Frame;
use crate::mpi::objects::requests::{Open, Requests};
use crate::mpi::rank_state::{Answer, NextStep, RankState, done};
use crate::mpi::status;
use active::{Active, active, array, place, request};
use calls::arguments::{Outcome, Peer, SendMode};
use protocols::asked::{Asked as Asks, OfRequest};
use protocols::call::{Call, Reply};
use protocols::contract::Handle;

/// An operation begins with its request, which the process gets.
pub(super) fn begins(
    requests: &mut Requests,
    frame: &mut Frame<'_>,
    to: To<handle::Request>,
    request: Handle,
    call: Call,
    held: Vec<Held>,
) -> NextStep {
    requests.of_mut(request).held = held;
    requests.make(request, frame);
    frame.put_handle(to, Requests::handle(request));
    NextStep::calls(call, move |state, frame, _| {
        state.requests.has_begun(frame.place, request);
        done()
    })
}

/// A persistent operation is prepared.
pub(super) fn prepares(
    requests: &mut Requests,
    frame: &mut Frame<'_>,
    to: To<handle::Request>,
    request: Handle,
    call: Call,
    held: Vec<Held>,
) -> NextStep {
    let call = Arc::new(call);
    requests.make(request, frame);
    let open = requests.of_mut(request);
    open.held = held;
    open.prepared = Some(Arc::clone(&call));
    open.is_active = false;
    frame.put_handle(to, Requests::handle(request));
    NextStep::waits(Call::Prepare(call))
}

pub(super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: F) -> Answer {
    match call {
        F::Wait(of) => wait(state, frame, of),
        F::Test(of) => test(state, frame, of),
        F::Waitall(of) => wait_all(state, frame, of),
        F::Testall(of) => test_all(state, frame, of),
        F::Waitany(of) => wait_any(state, frame, of),
        F::Testany(of) => test_any(state, frame, of),
        F::Waitsome(of) => some(state, frame, of, Asks::WaitSome),
        F::Testsome(of) => some(state, frame, of, Asks::TestSome),
        F::Request_get_status(of) => get_status(state, frame, of),
        F::Request_free(of) => free(state, frame, of.request),
        F::Start(of) => start(state, frame, of.request, 1),
        F::Startall(of) => {
            let count = length(of.count)?;
            start(state, frame, of.array_of_requests, count)
        }
        F::Cancel(of) => cancel(state, frame, of.request),
    }
}

/// One operation has ended: its status, and its error.
fn one_over(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    variable: To<handle::Request>,
    request: Handle,
    status: To<args::Status>,
    outcome: Outcome,
) -> Answer {
    state.errors.about(state.requests.of(request).comm);
    let ended = state.requests.end(frame.place, variable, request, outcome);
    status::put(frame, status, Some(outcome));
    ended?;
    status::truncated(outcome)?;
    done()
}

fn wait(state: &mut RankState, frame: &mut Frame<'_>, of: args::Wait) -> Answer {
    let args::Wait { request: variable, status } = of;
    let handle = frame.handle(variable)?;
    let Some(request) = active(state, handle)? else {
        status::put(frame, status, None);
        return done();
    };
    Ok(NextStep::calls(Call::Wait { request }, move |state, frame, reply| {
        let Reply::Outcome(outcome) = reply else { return done() };
        one_over(state, frame, variable, request, status, outcome)
    }))
}

fn test(state: &mut RankState, frame: &mut Frame<'_>, of: args::Test) -> Answer {
    let args::Test { request: variable, flag, status } = of;
    let handle = frame.handle(variable)?;
    let Some(request) = active(state, handle)? else {
        status::put(frame, status, None);
        frame.put_flag(flag, true);
        return done();
    };
    Ok(NextStep::calls(Call::Test { request }, move |state, frame, reply| {
        let Reply::Tested(outcome) = reply else { return done() };
        frame.put_flag(flag, outcome.is_some());
        match outcome {
            Some(outcome) => one_over(state, frame, variable, request, status, outcome),
            None => done(),
        }
    }))
}

fn get_status(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    of: args::Request_get_status,
) -> Answer {
    let args::Request_get_status { request, flag, status } = of;
    let Some(request) = active(state, request)? else {
        status::put(frame, status, None);
        frame.put_flag(flag, true);
        return done();
    };
    let does = OfRequest::GetStatus;
    Ok(NextStep::calls(Call::OfRequest { does, request }, move |state, frame, reply| {
        let Reply::Tested(outcome) = reply else { return done() };
        frame.put_flag(flag, outcome.is_some());
        if let Some(outcome) = outcome {
            state.requests.is_complete(frame.place, request, outcome)?;
        }
        if outcome.is_some() {
            status::put(frame, status, outcome);
        }
        done()
    }))
}

fn wait_all(state: &mut RankState, frame: &mut Frame<'_>, of: args::Waitall) -> Answer {
    let active = array(state, frame, of.count, of.array_of_requests)?;
    // MPI leaves the errors of statuses alone where none has one. MPICH's MPI_Waitall does not, and programs look.
    let statuses = (of.array_of_statuses, true);
    if active.entries.is_empty() {
        return all_over(state, frame, &active, &[], statuses);
    }
    let call = Call::WaitAll { requests: active.set(), statuses: true };
    Ok(NextStep::calls(call, move |state, frame, reply| {
        let Reply::All(outcomes) = reply else { return done() };
        all_over(state, frame, &active, &outcomes, statuses)
    }))
}

fn test_all(state: &mut RankState, frame: &mut Frame<'_>, of: args::Testall) -> Answer {
    let active = array(state, frame, of.count, of.array_of_requests)?;
    let statuses = (of.array_of_statuses, false);
    if active.entries.is_empty() {
        frame.put_flag(of.flag, true);
        return all_over(state, frame, &active, &[], statuses);
    }
    Ok(NextStep::calls(Call::TestAll { requests: active.set() }, move |state, frame, reply| {
        let Reply::AllTested(outcomes) = reply else { return done() };
        frame.put_flag(of.flag, outcomes.is_some());
        match outcomes {
            Some(outcomes) => all_over(state, frame, &active, &outcomes, statuses),
            None => done(),
        }
    }))
}

/// All operations of an array have ended: `statuses` gets how each has, and the errors where one has ended with one,
/// or always.
fn all_over(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    active: &Active,
    outcomes: &[Outcome],
    (statuses, always): (To<args::Status>, bool),
) -> Answer {
    let mut of_place = vec![None; active.length];
    let (mut blamed, mut ended) = (None, Ok(()));
    for ((at, request), outcome) in active.entries.iter().zip(outcomes) {
        of_place[*at] = Some(*outcome);
        blamed = blamed.or_else(|| Blamed::of(state, frame, *request, *outcome));
        let over = state.requests.end(frame.place, active.variable(*at), *request, *outcome);
        ended = ended.and(over);
    }
    let has_errors = blamed.is_some() || always;
    for (at, outcome) in of_place.into_iter().enumerate() {
        let to = status::of_array(statuses, at);
        status::put(frame, to, outcome);
        if has_errors {
            status::put_error(frame, to, status::error(outcome));
        }
    }
    ended?;
    in_status(state, blamed)
}

fn wait_any(state: &mut RankState, frame: &mut Frame<'_>, of: args::Waitany) -> Answer {
    let args::Waitany { count, array_of_requests, indx, status } = of;
    let active = array(state, frame, count, array_of_requests)?;
    if active.entries.is_empty() {
        status::put(frame, status, None);
        frame.put_int(indx, mpi5::UNDEFINED);
        return done();
    }
    Ok(NextStep::calls(Call::WaitAny { requests: active.set() }, move |state, frame, reply| {
        let Reply::Any { index, outcome } = reply else { return done() };
        let (at, request) = active.entries[index as usize];
        frame.put_int(indx, place(at));
        one_over(state, frame, active.variable(at), request, status, outcome)
    }))
}

fn test_any(state: &mut RankState, frame: &mut Frame<'_>, of: args::Testany) -> Answer {
    let args::Testany { count, array_of_requests, indx, flag, status } = of;
    let active = array(state, frame, count, array_of_requests)?;
    if active.entries.is_empty() {
        status::put(frame, status, None);
        frame.put_int(indx, mpi5::UNDEFINED);
        frame.put_flag(flag, true);
        return done();
    }
    let call = Call::Ask { asks: Asks::TestAny, requests: active.set() };
    Ok(NextStep::calls(call, move |state, frame, reply| {
        let Reply::AnyTested(found) = reply else { return done() };
        frame.put_flag(flag, found.is_some());
        let Some((index, outcome)) = found else {
            frame.put_int(indx, mpi5::UNDEFINED);
            return done();
        };
        let (at, request) = active.entries[index as usize];
        frame.put_int(indx, place(at));
        one_over(state, frame, active.variable(at), request, status, outcome)
    }))
}

fn some(state: &mut RankState, frame: &mut Frame<'_>, of: args::Waitsome, asks: Asks) -> Answer {
    let args::Waitsome { incount, array_of_requests, outcount, array_of_indices, .. } = of;
    let active = array(state, frame, incount, array_of_requests)?;
    if active.entries.is_empty() {
        frame.put_int(outcount, mpi5::UNDEFINED);
        return done();
    }
    let call = Call::Ask { asks, requests: active.set() };
    Ok(NextStep::calls(call, move |state, frame, reply| {
        let Reply::Some(ended) = reply else { return done() };
        frame.put_int(outcount, place(ended.len()));
        let of_one = |(index, outcome): &(u32, Outcome)| {
            Blamed::of(state, frame, active.entries[*index as usize].1, *outcome)
        };
        let blamed = ended.iter().find_map(of_one);
        let (mut places, mut all_ended) = (Vec::new(), Ok(()));
        for (number, (index, outcome)) in ended.iter().enumerate() {
            let (at, request) = active.entries[*index as usize];
            places.push(place(at));
            let variable = active.variable(at);
            let over = state.requests.end(frame.place, variable, request, *outcome);
            all_ended = all_ended.and(over);
            let to = status::of_array(of.array_of_statuses, number);
            status::put(frame, to, Some(*outcome));
            if blamed.is_some() {
                status::put_error(frame, to, status::error(Some(*outcome)));
            }
        }
        frame.put_ints(array_of_indices, places);
        all_ended?;
        in_status(state, blamed)
    }))
}

fn free(state: &mut RankState, frame: &mut Frame<'_>, variable: To<handle::Request>) -> Answer {
    let handle = frame.handle(variable)?;
    let Some(request) = request(state, handle)? else {
        return Err(Fault::new(mpi5::ERR_REQUEST, "MPI_REQUEST_NULL cannot be freed"));
    };
    frame.put_handle(variable, mpi5::REQUEST_NULL);
    let open = state.requests.of(request);
    // Of inactive requests the library knows those of collectives and partitioned operations.
    let is_known = open
        .prepared
        .as_deref()
        .is_some_and(|call| matches!(call, Call::Icollective { .. } | Call::Partitioned(_)));
    let (is_active, is_idle) = (open.is_active, !open.is_active && !is_known);
    if is_active && !open.held.is_empty() {
        return Err(Fault::not_carried(
            "the simulator does not carry the freeing of a request whose buffer lies in pieces",
        ));
    }
    for held in state.requests.free(request).held {
        frame.place.release(held.buffer);
    }
    if is_idle {
        return done();
    }
    Ok(NextStep::waits(Call::OfRequest { does: OfRequest::Free, request }))
}

fn cancel(state: &mut RankState, frame: &mut Frame<'_>, variable: To<handle::Request>) -> Answer {
    let handle = frame.handle(variable)?;
    let Some(request) = active(state, handle)? else {
        return Err(Fault::new(mpi5::ERR_REQUEST, "no operation of the request is under way"));
    };
    if state.requests.of(request).sent.is_some() {
        return Err(Fault::not_carried("the simulator does not carry the cancelling of a send"));
    }
    Ok(NextStep::waits(Call::Cancel { request }))
}

/// Whether it begins a send in buffered mode.
fn is_buffered(call: &Call) -> bool {
    let call = if let Call::Typed(typed) = call { &typed.call } else { call };
    let is_sent = |to: &Peer| *to != Peer::Null;
    matches!(call, Call::Isend { mode: SendMode::Buffered, to, .. } if is_sent(to))
}

/// The operations of so many variables, one behind the other, are started one after the other.
fn start(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    variable: To<handle::Request>,
    count: usize,
) -> Answer {
    let Some(others) = count.checked_sub(1) else { return done() };
    let handle = frame.handle(variable)?;
    let prepared = request(state, handle)?.map(|request| (request, state.requests.of(request)));
    let Some((request, Open { prepared: Some(call), is_active: false, held, .. })) = prepared
    else {
        return Err(Fault::new(
            mpi5::ERR_REQUEST,
            "the request is no persistent one, or its operation is under way",
        ));
    };
    if is_buffered(call) {
        state.check_attached()?;
    }
    for held in held {
        held.fill(frame.place)?;
    }
    let operation = Arc::clone(call);
    state.requests.make(request, frame);
    let open = state.requests.of_mut(request);
    open.is_active = true;
    if let Some(sent) = &mut open.sent {
        sent.begin(frame.place)?;
    }
    Ok(NextStep::calls(Call::Start { request, operation }, move |state, frame, _| {
        state.requests.has_begun(frame.place, request);
        start(state, frame, To::new(variable.address.wrapping_add(8)), others)
    }))
}

/// The operation of several that has ended with an error.
struct Blamed {
    comm: u64,
    why: String,
}

impl Blamed {
    /// `None` where the operation has ended without an error.
    fn of(state: &RankState, frame: &Frame<'_>, request: Handle, outcome: Outcome) -> Option<Self> {
        let Err(Fault::Error { why, .. }) = status::truncated(outcome) else { return None };
        let open = state.requests.of(request);
        let made = open.made.map(|(function, caller)| frame.place.process.called(function, caller));
        let why = made.map_or_else(|| why.clone(), |made| format!("{made}: {why}"));
        Some(Self { comm: open.comm, why })
    }
}

/// The error of a call about several operations of which some have ended with one.
fn in_status(state: &mut RankState, blamed: Option<Blamed>) -> Answer {
    let Some(Blamed { comm, why }) = blamed else { return done() };
    state.errors.about(comm);
    Err(Fault::new(mpi5::ERR_IN_STATUS, why))
}
