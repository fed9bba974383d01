//! What waits for requests, starts them and frees them.

pub(super) mod active;
pub(super) mod looking;

use std::sync::Arc;

use crate::functions as mpi5;
use crate::mpi::args::{self, To, handle, length};
use crate::mpi::asked::Asked;
use crate::mpi::data::Held;
use crate::mpi::families::Requests as F;
use crate::mpi::fault::Fault;
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
    asked: &mut Asked<'_>,
    to: To<handle::Request>,
    request: Handle,
    call: Call,
    held: Vec<Held>,
) -> NextStep {
    requests.of_mut(request).held = held;
    requests.make(request, asked);
    asked.put_handle(to, Requests::handle(request));
    NextStep::calls(call, move |state, asked, _| {
        state.requests.has_begun(asked.place, request);
        done()
    })
}

/// A persistent operation is prepared.
pub(super) fn prepares(
    requests: &mut Requests,
    asked: &mut Asked<'_>,
    to: To<handle::Request>,
    request: Handle,
    call: Call,
    held: Vec<Held>,
) -> NextStep {
    let call = Arc::new(call);
    requests.make(request, asked);
    let open = requests.of_mut(request);
    open.held = held;
    open.prepared = Some(Arc::clone(&call));
    open.is_active = false;
    asked.put_handle(to, Requests::handle(request));
    NextStep::waits(Call::Prepare(call))
}

pub(super) fn call(state: &mut RankState, asked: &mut Asked<'_>, call: F) -> Answer {
    match call {
        F::Wait(of) => wait(state, asked, of),
        F::Test(of) => test(state, asked, of),
        F::Waitall(of) => wait_all(state, asked, of),
        F::Testall(of) => test_all(state, asked, of),
        F::Waitany(of) => wait_any(state, asked, of),
        F::Testany(of) => test_any(state, asked, of),
        F::Waitsome(of) => some(state, asked, of, Asks::WaitSome),
        F::Testsome(of) => some(state, asked, of, Asks::TestSome),
        F::Request_get_status(of) => get_status(state, asked, of),
        F::Request_free(of) => free(state, asked, of.request),
        F::Start(of) => start(state, asked, of.request, 1),
        F::Startall(of) => {
            let count = length(of.count)?;
            start(state, asked, of.array_of_requests, count)
        }
        F::Cancel(of) => cancel(state, asked, of.request),
    }
}

/// One operation has ended: its status, and its error.
fn one_over(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    variable: To<handle::Request>,
    request: Handle,
    status: To<args::Status>,
    outcome: Outcome,
) -> Answer {
    state.errors.about(state.requests.of(request).comm);
    let ended = state.requests.end(asked.place, variable, request, outcome);
    status::put(asked, status, Some(outcome));
    ended?;
    status::truncated(outcome)?;
    done()
}

fn wait(state: &mut RankState, asked: &mut Asked<'_>, of: args::Wait) -> Answer {
    let args::Wait { request: variable, status } = of;
    let handle = asked.handle(variable)?;
    let Some(request) = active(state, handle)? else {
        status::put(asked, status, None);
        return done();
    };
    Ok(NextStep::calls(Call::Wait { request }, move |state, asked, reply| {
        let Reply::Outcome(outcome) = reply else { return done() };
        one_over(state, asked, variable, request, status, outcome)
    }))
}

fn test(state: &mut RankState, asked: &mut Asked<'_>, of: args::Test) -> Answer {
    let args::Test { request: variable, flag, status } = of;
    let handle = asked.handle(variable)?;
    let Some(request) = active(state, handle)? else {
        status::put(asked, status, None);
        asked.put_flag(flag, true);
        return done();
    };
    Ok(NextStep::calls(Call::Test { request }, move |state, asked, reply| {
        let Reply::Tested(outcome) = reply else { return done() };
        asked.put_flag(flag, outcome.is_some());
        match outcome {
            Some(outcome) => one_over(state, asked, variable, request, status, outcome),
            None => done(),
        }
    }))
}

fn get_status(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    of: args::Request_get_status,
) -> Answer {
    let args::Request_get_status { request, flag, status } = of;
    let Some(request) = active(state, request)? else {
        status::put(asked, status, None);
        asked.put_flag(flag, true);
        return done();
    };
    let does = OfRequest::GetStatus;
    Ok(NextStep::calls(Call::OfRequest { does, request }, move |state, asked, reply| {
        let Reply::Tested(outcome) = reply else { return done() };
        asked.put_flag(flag, outcome.is_some());
        if let Some(outcome) = outcome {
            state.requests.is_complete(asked.place, request, outcome)?;
        }
        if outcome.is_some() {
            status::put(asked, status, outcome);
        }
        done()
    }))
}

fn wait_all(state: &mut RankState, asked: &mut Asked<'_>, of: args::Waitall) -> Answer {
    let active = array(state, asked, of.count, of.array_of_requests)?;
    // MPI leaves the errors of statuses alone where none has one. MPICH's MPI_Waitall does not, and programs look.
    let statuses = (of.array_of_statuses, true);
    if active.entries.is_empty() {
        return all_over(state, asked, &active, &[], statuses);
    }
    let call = Call::WaitAll { requests: active.set(), statuses: true };
    Ok(NextStep::calls(call, move |state, asked, reply| {
        let Reply::All(outcomes) = reply else { return done() };
        all_over(state, asked, &active, &outcomes, statuses)
    }))
}

fn test_all(state: &mut RankState, asked: &mut Asked<'_>, of: args::Testall) -> Answer {
    let active = array(state, asked, of.count, of.array_of_requests)?;
    let statuses = (of.array_of_statuses, false);
    if active.entries.is_empty() {
        asked.put_flag(of.flag, true);
        return all_over(state, asked, &active, &[], statuses);
    }
    Ok(NextStep::calls(Call::TestAll { requests: active.set() }, move |state, asked, reply| {
        let Reply::AllTested(outcomes) = reply else { return done() };
        asked.put_flag(of.flag, outcomes.is_some());
        match outcomes {
            Some(outcomes) => all_over(state, asked, &active, &outcomes, statuses),
            None => done(),
        }
    }))
}

/// All operations of an array have ended: `statuses` gets how each has, and the errors where one has ended with one,
/// or always.
fn all_over(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    active: &Active,
    outcomes: &[Outcome],
    (statuses, always): (To<args::Status>, bool),
) -> Answer {
    let mut of_place = vec![None; active.length];
    let (mut blamed, mut ended) = (None, Ok(()));
    for ((at, request), outcome) in active.entries.iter().zip(outcomes) {
        of_place[*at] = Some(*outcome);
        blamed = blamed.or_else(|| Blamed::of(state, asked, *request, *outcome));
        let over = state.requests.end(asked.place, active.variable(*at), *request, *outcome);
        ended = ended.and(over);
    }
    let has_errors = blamed.is_some() || always;
    for (at, outcome) in of_place.into_iter().enumerate() {
        let to = status::of_array(statuses, at);
        status::put(asked, to, outcome);
        if has_errors {
            status::put_error(asked, to, status::error(outcome));
        }
    }
    ended?;
    in_status(state, blamed)
}

fn wait_any(state: &mut RankState, asked: &mut Asked<'_>, of: args::Waitany) -> Answer {
    let args::Waitany { count, array_of_requests, indx, status } = of;
    let active = array(state, asked, count, array_of_requests)?;
    if active.entries.is_empty() {
        status::put(asked, status, None);
        asked.put_int(indx, mpi5::UNDEFINED);
        return done();
    }
    Ok(NextStep::calls(Call::WaitAny { requests: active.set() }, move |state, asked, reply| {
        let Reply::Any { index, outcome } = reply else { return done() };
        let (at, request) = active.entries[index as usize];
        asked.put_int(indx, place(at));
        one_over(state, asked, active.variable(at), request, status, outcome)
    }))
}

fn test_any(state: &mut RankState, asked: &mut Asked<'_>, of: args::Testany) -> Answer {
    let args::Testany { count, array_of_requests, indx, flag, status } = of;
    let active = array(state, asked, count, array_of_requests)?;
    if active.entries.is_empty() {
        status::put(asked, status, None);
        asked.put_int(indx, mpi5::UNDEFINED);
        asked.put_flag(flag, true);
        return done();
    }
    let call = Call::Ask { asks: Asks::TestAny, requests: active.set() };
    Ok(NextStep::calls(call, move |state, asked, reply| {
        let Reply::AnyTested(found) = reply else { return done() };
        asked.put_flag(flag, found.is_some());
        let Some((index, outcome)) = found else {
            asked.put_int(indx, mpi5::UNDEFINED);
            return done();
        };
        let (at, request) = active.entries[index as usize];
        asked.put_int(indx, place(at));
        one_over(state, asked, active.variable(at), request, status, outcome)
    }))
}

fn some(state: &mut RankState, asked: &mut Asked<'_>, of: args::Waitsome, asks: Asks) -> Answer {
    let args::Waitsome { incount, array_of_requests, outcount, array_of_indices, .. } = of;
    let active = array(state, asked, incount, array_of_requests)?;
    if active.entries.is_empty() {
        asked.put_int(outcount, mpi5::UNDEFINED);
        return done();
    }
    let call = Call::Ask { asks, requests: active.set() };
    Ok(NextStep::calls(call, move |state, asked, reply| {
        let Reply::Some(ended) = reply else { return done() };
        asked.put_int(outcount, place(ended.len()));
        let of_one = |(index, outcome): &(u32, Outcome)| {
            Blamed::of(state, asked, active.entries[*index as usize].1, *outcome)
        };
        let blamed = ended.iter().find_map(of_one);
        let (mut places, mut all_ended) = (Vec::new(), Ok(()));
        for (number, (index, outcome)) in ended.iter().enumerate() {
            let (at, request) = active.entries[*index as usize];
            places.push(place(at));
            let variable = active.variable(at);
            let over = state.requests.end(asked.place, variable, request, *outcome);
            all_ended = all_ended.and(over);
            let to = status::of_array(of.array_of_statuses, number);
            status::put(asked, to, Some(*outcome));
            if blamed.is_some() {
                status::put_error(asked, to, status::error(Some(*outcome)));
            }
        }
        asked.put_ints(array_of_indices, places);
        all_ended?;
        in_status(state, blamed)
    }))
}

fn free(state: &mut RankState, asked: &mut Asked<'_>, variable: To<handle::Request>) -> Answer {
    let handle = asked.handle(variable)?;
    let Some(request) = request(state, handle)? else {
        return Err(Fault::new(mpi5::ERR_REQUEST, "MPI_REQUEST_NULL cannot be freed"));
    };
    asked.put_handle(variable, mpi5::REQUEST_NULL);
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
        asked.place.release(held.buffer);
    }
    if is_idle {
        return done();
    }
    Ok(NextStep::waits(Call::OfRequest { does: OfRequest::Free, request }))
}

fn cancel(state: &mut RankState, asked: &mut Asked<'_>, variable: To<handle::Request>) -> Answer {
    let handle = asked.handle(variable)?;
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
    asked: &mut Asked<'_>,
    variable: To<handle::Request>,
    count: usize,
) -> Answer {
    let Some(others) = count.checked_sub(1) else { return done() };
    let handle = asked.handle(variable)?;
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
        held.fill(asked.place)?;
    }
    let operation = Arc::clone(call);
    state.requests.make(request, asked);
    let open = state.requests.of_mut(request);
    open.is_active = true;
    if let Some(sent) = &mut open.sent {
        sent.begin(asked.place)?;
    }
    Ok(NextStep::calls(Call::Start { request, operation }, move |state, asked, _| {
        state.requests.has_begun(asked.place, request);
        start(state, asked, To::new(variable.address.wrapping_add(8)), others)
    }))
}

/// The operation of several that has ended with an error.
struct Blamed {
    comm: u64,
    why: String,
}

impl Blamed {
    /// `None` where the operation has ended without an error.
    fn of(state: &RankState, asked: &Asked<'_>, request: Handle, outcome: Outcome) -> Option<Self> {
        let Err(Fault::Error { why, .. }) = status::truncated(outcome) else { return None };
        let open = state.requests.of(request);
        let made = open.made.map(|(function, caller)| asked.place.process.called(function, caller));
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
