//! Questions about several requests that leave them as they are.

use super::active::{Active, array, place};
use crate::functions as mpi5;
use crate::mpi::args;
use crate::mpi::families::Looking as F;
use crate::mpi::frame::Frame;
use crate::mpi::rank_state::{Answer, NextStep, RankState, done};
use crate::mpi::status;
use calls::arguments::Outcome;
use protocols::asked::OfRequest;
use protocols::call::{Call, Reply};
use protocols::contract::Handle;

/// Places in the array of requests, and how those operations have ended that have.
type Looked = Vec<(usize, Option<Outcome>)>;
/// Function that stores the results for the program.
type Tell = Box<dyn FnOnce(&mut Frame<'_>, &Looked) + Send>;

pub(in super::super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: F) -> Answer {
    match call {
        F::Request_get_status_all(of) => {
            let active = array(state, frame, of.count, of.array_of_requests)?;
            let length = active.length;
            look(frame, active, move |frame, looked| tell_all(frame, of, length, looked))
        }
        F::Request_get_status_any(of) => {
            let active = array(state, frame, of.count, of.array_of_requests)?;
            look(frame, active, move |frame, looked| tell_any(frame, of, looked))
        }
        F::Request_get_status_some(of) => {
            let active = array(state, frame, of.incount, of.array_of_requests)?;
            look(frame, active, move |frame, looked| tell_some(frame, of, looked))
        }
    }
}

fn look(
    frame: &mut Frame<'_>,
    active: Active,
    tell: impl FnOnce(&mut Frame<'_>, &Looked) + Send + 'static,
) -> Answer {
    let mut waiting = active.entries;
    waiting.reverse();
    look_on(frame, waiting, Vec::new(), Box::new(tell))
}

/// The library tests one request after the other.
fn look_on(
    frame: &mut Frame<'_>,
    mut waiting: Vec<(usize, Handle)>,
    mut looked: Looked,
    tell: Tell,
) -> Answer {
    let Some((at, request)) = waiting.pop() else {
        tell(frame, &looked);
        return done();
    };
    let does = OfRequest::GetStatus;
    Ok(NextStep::calls(Call::OfRequest { does, request }, move |state, frame, reply| {
        let Reply::Tested(outcome) = reply else { return done() };
        if let Some(outcome) = outcome {
            state.requests.is_complete(frame.place, request, outcome)?;
        }
        looked.push((at, outcome));
        look_on(frame, waiting, looked, tell)
    }))
}

fn tell_all(
    frame: &mut Frame<'_>,
    of: args::Request_get_status_all,
    length: usize,
    looked: &Looked,
) {
    let have_ended = looked.iter().all(|(_, outcome)| outcome.is_some());
    frame.put_flag(of.flag, have_ended);
    if !have_ended {
        return;
    }
    for at in 0..length {
        let outcome =
            looked.iter().find(|(place, _)| *place == at).and_then(|(_, outcome)| *outcome);
        status::put(frame, status::of_array(of.array_of_statuses, at), outcome);
    }
}

fn tell_any(frame: &mut Frame<'_>, of: args::Request_get_status_any, looked: &Looked) {
    let ended = looked.iter().find(|(_, outcome)| outcome.is_some());
    frame.put_int(of.indx, ended.map_or(mpi5::UNDEFINED, |(at, _)| place(*at)));
    frame.put_flag(of.flag, ended.is_some() || looked.is_empty());
    if ended.is_some() || looked.is_empty() {
        status::put(frame, of.status, ended.and_then(|(_, outcome)| *outcome));
    }
}

fn tell_some(frame: &mut Frame<'_>, of: args::Request_get_status_some, looked: &Looked) {
    if looked.is_empty() {
        frame.put_int(of.outcount, mpi5::UNDEFINED);
        return;
    }
    let ended: Looked = looked.iter().filter(|(_, outcome)| outcome.is_some()).copied().collect();
    frame.put_int(of.outcount, place(ended.len()));
    frame.put_ints(of.array_of_indices, ended.iter().map(|(at, _)| place(*at)));
    for (number, (_, outcome)) in ended.into_iter().enumerate() {
        status::put(frame, status::of_array(of.array_of_statuses, number), outcome);
    }
}
