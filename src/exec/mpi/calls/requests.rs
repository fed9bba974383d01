//! What waits for requests, starts them and frees them.

pub(super) mod active;
mod looking;

use std::sync::Arc;

use crate::functions as mpi5;
use crate::mpi::asked::Asked;
use crate::mpi::data::Held;
use crate::mpi::fault::Fault;
use crate::mpi::objects::requests::{Open, Requests};
use crate::mpi::rank_state::{Answer, RankState, Step, done};
use crate::mpi::status;
use active::{Active, active, array, place, request};
use calls::arguments::{Outcome, Peer, SendMode};
use protocols::asked::{Asked as Asks, OfRequest};
use protocols::call::{Call, Reply};
use protocols::contract::Handle;

/// An operation begins with its request; `at` is the argument that gets it.
pub(super) fn begins(
    requests: &mut Requests,
    asked: &mut Asked<'_>,
    at: usize,
    request: Handle,
    call: Call,
    held: Vec<Held>,
) -> Step {
    requests.of_mut(request).held = held;
    requests.make(request, asked);
    asked.put_word(at, Requests::handle(request));
    Step::calls(call, move |state, asked, _| {
        state.requests.has_begun(asked.place, request);
        done()
    })
}

/// A persistent operation is prepared.
pub(super) fn prepares(
    requests: &mut Requests,
    asked: &mut Asked<'_>,
    at: usize,
    request: Handle,
    call: Call,
    held: Vec<Held>,
) -> Step {
    let call = Arc::new(call);
    requests.make(request, asked);
    let open = requests.of_mut(request);
    open.held = held;
    open.prepared = Some(Arc::clone(&call));
    open.is_active = false;
    asked.put_word(at, Requests::handle(request));
    Step::waits(Call::Prepare(call))
}

#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
pub(super) fn call(state: &mut RankState, asked: &mut Asked<'_>) -> Option<Answer> {
    use mpi5::Function as F;
    Some(match asked.function {
        F::Wait => wait(state, asked),
        F::Test => test(state, asked),
        F::Waitall => wait_all(state, asked),
        F::Testall => test_all(state, asked),
        F::Waitany => wait_any(state, asked),
        F::Testany => test_any(state, asked),
        F::Waitsome => some(state, asked, Asks::WaitSome),
        F::Testsome => some(state, asked, Asks::TestSome),
        F::Request_get_status => get_status(state, asked),
        F::Request_free => free(state, asked),
        F::Start => {
            let variable = asked.word(0);
            start(state, asked, variable, 1)
        }
        F::Startall => asked.length(0).and_then(|length| {
            let first = asked.word(1);
            start(state, asked, first, length)
        }),
        F::Cancel => cancel(state, asked),
        _ => return looking::call(state, asked),
    })
}

/// One operation has ended: its status, and its error.
fn one_over(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    variable: u64,
    request: Handle,
    status: u64,
    outcome: Outcome,
) -> Answer {
    state.errors.about(state.requests.of(request).comm);
    let ended = state.requests.end(asked.place, variable, request, outcome);
    status::put(asked, status, Some(outcome));
    ended?;
    status::truncated(outcome)?;
    done()
}

fn wait(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let (variable, status) = (asked.word(0), asked.word(1));
    let handle = asked.at(0)?;
    let Some(request) = active(state, handle)? else {
        status::put(asked, status, None);
        return done();
    };
    Ok(Step::calls(Call::Wait { request }, move |state, asked, reply| {
        let Reply::Outcome(outcome) = reply else { return done() };
        one_over(state, asked, variable, request, status, outcome)
    }))
}

fn test(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let (variable, status) = (asked.word(0), asked.word(2));
    let handle = asked.at(0)?;
    let Some(request) = active(state, handle)? else {
        status::put(asked, status, None);
        asked.put_flag(1, true);
        return done();
    };
    Ok(Step::calls(Call::Test { request }, move |state, asked, reply| {
        let Reply::Tested(outcome) = reply else { return done() };
        asked.put_flag(1, outcome.is_some());
        match outcome {
            Some(outcome) => one_over(state, asked, variable, request, status, outcome),
            None => done(),
        }
    }))
}

fn get_status(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let Some(request) = active(state, asked.word(0))? else {
        let status = asked.word(2);
        status::put(asked, status, None);
        asked.put_flag(1, true);
        return done();
    };
    let does = OfRequest::GetStatus;
    Ok(Step::calls(Call::OfRequest { does, request }, move |state, asked, reply| {
        let Reply::Tested(outcome) = reply else { return done() };
        asked.put_flag(1, outcome.is_some());
        if let Some(outcome) = outcome {
            state.requests.is_complete(asked.place, request, outcome)?;
        }
        if outcome.is_some() {
            let status = asked.word(2);
            status::put(asked, status, outcome);
        }
        done()
    }))
}

fn wait_all(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let active = array(state, asked, 0)?;
    if active.entries.is_empty() {
        return all_over(state, asked, &active, &[], 2);
    }
    let call = Call::WaitAll { requests: active.set(), statuses: true };
    Ok(Step::calls(call, move |state, asked, reply| {
        let Reply::All(outcomes) = reply else { return done() };
        all_over(state, asked, &active, &outcomes, 2)
    }))
}

fn test_all(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let active = array(state, asked, 0)?;
    if active.entries.is_empty() {
        asked.put_flag(2, true);
        return all_over(state, asked, &active, &[], 3);
    }
    Ok(Step::calls(Call::TestAll { requests: active.set() }, move |state, asked, reply| {
        let Reply::AllTested(outcomes) = reply else { return done() };
        asked.put_flag(2, outcomes.is_some());
        match outcomes {
            Some(outcomes) => all_over(state, asked, &active, &outcomes, 3),
            None => done(),
        }
    }))
}

/// All operations of an array have ended; argument `statuses` is the array for their statuses.
fn all_over(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    active: &Active,
    outcomes: &[Outcome],
    statuses: usize,
) -> Answer {
    let statuses = asked.word(statuses);
    let mut of_place = vec![None; active.length];
    let (mut blamed, mut ended) = (None, Ok(()));
    for ((at, request), outcome) in active.entries.iter().zip(outcomes) {
        of_place[*at] = Some(*outcome);
        blamed = blamed.or_else(|| Blamed::of(state, asked, *request, *outcome));
        let over = state.requests.end(asked.place, active.variable(*at), *request, *outcome);
        ended = ended.and(over);
    }
    // MPI leaves the errors of statuses alone where none has one. MPICH's MPI_Waitall does not, and programs look.
    let has_errors = blamed.is_some() || asked.function == mpi5::Function::Waitall;
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

fn wait_any(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let active = array(state, asked, 0)?;
    let status = asked.word(3);
    if active.entries.is_empty() {
        status::put(asked, status, None);
        asked.put_int(2, mpi5::UNDEFINED);
        return done();
    }
    Ok(Step::calls(Call::WaitAny { requests: active.set() }, move |state, asked, reply| {
        let Reply::Any { index, outcome } = reply else { return done() };
        let (at, request) = active.entries[index as usize];
        asked.put_int(2, place(at));
        one_over(state, asked, active.variable(at), request, status, outcome)
    }))
}

fn test_any(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let active = array(state, asked, 0)?;
    let status = asked.word(4);
    if active.entries.is_empty() {
        status::put(asked, status, None);
        asked.put_int(2, mpi5::UNDEFINED);
        asked.put_flag(3, true);
        return done();
    }
    let call = Call::Ask { asks: Asks::TestAny, requests: active.set() };
    Ok(Step::calls(call, move |state, asked, reply| {
        let Reply::AnyTested(found) = reply else { return done() };
        asked.put_flag(3, found.is_some());
        let Some((index, outcome)) = found else {
            asked.put_int(2, mpi5::UNDEFINED);
            return done();
        };
        let (at, request) = active.entries[index as usize];
        asked.put_int(2, place(at));
        one_over(state, asked, active.variable(at), request, status, outcome)
    }))
}

fn some(state: &mut RankState, asked: &mut Asked<'_>, asks: Asks) -> Answer {
    let active = array(state, asked, 0)?;
    if active.entries.is_empty() {
        asked.put_int(2, mpi5::UNDEFINED);
        return done();
    }
    let call = Call::Ask { asks, requests: active.set() };
    Ok(Step::calls(call, move |state, asked, reply| {
        let Reply::Some(ended) = reply else { return done() };
        let statuses = asked.word(4);
        asked.put_int(2, place(ended.len()));
        let of = |(index, outcome): &(u32, Outcome)| {
            Blamed::of(state, asked, active.entries[*index as usize].1, *outcome)
        };
        let blamed = ended.iter().find_map(of);
        let (mut places, mut all_ended) = (Vec::new(), Ok(()));
        for (number, (index, outcome)) in ended.iter().enumerate() {
            let (at, request) = active.entries[*index as usize];
            places.push(place(at));
            let over = state.requests.end(asked.place, active.variable(at), request, *outcome);
            all_ended = all_ended.and(over);
            let to = status::of_array(statuses, number);
            status::put(asked, to, Some(*outcome));
            if blamed.is_some() {
                status::put_error(asked, to, status::error(Some(*outcome)));
            }
        }
        asked.put_ints(3, places);
        all_ended?;
        in_status(state, blamed)
    }))
}

fn free(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let handle = asked.at(0)?;
    let Some(request) = request(state, handle)? else {
        return Err(Fault::new(mpi5::ERR_REQUEST, "MPI_REQUEST_NULL cannot be freed"));
    };
    asked.put_word(0, mpi5::REQUEST_NULL);
    let open = state.requests.of(request);
    // Of what is not begun the library knows collectives and partitioned operations.
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
    Ok(Step::waits(Call::OfRequest { does: OfRequest::Free, request }))
}

fn cancel(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let handle = asked.at(0)?;
    let Some(request) = active(state, handle)? else {
        return Err(Fault::new(mpi5::ERR_REQUEST, "no operation of the request is under way"));
    };
    if state.requests.of(request).sent.is_some() {
        return Err(Fault::not_carried("the simulator does not carry the cancelling of a send"));
    }
    Ok(Step::waits(Call::Cancel { request }))
}

/// Whether it begins a send in buffered mode.
fn is_buffered(call: &Call) -> bool {
    let call = if let Call::Typed(typed) = call { &typed.call } else { call };
    let is_sent = |to: &Peer| *to != Peer::Null;
    matches!(call, Call::Isend { mode: SendMode::Buffered, to, .. } if is_sent(to))
}

/// The operations of so many variables, one behind the other, are started one after the other.
fn start(state: &mut RankState, asked: &mut Asked<'_>, variable: u64, count: usize) -> Answer {
    let Some(others) = count.checked_sub(1) else { return done() };
    let handle = asked.word_at(variable)?;
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
    Ok(Step::calls(Call::Start { request, operation }, move |state, asked, _| {
        state.requests.has_begun(asked.place, request);
        start(state, asked, variable.wrapping_add(8), others)
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
