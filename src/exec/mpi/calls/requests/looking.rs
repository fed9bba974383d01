//! Questions about several requests that leave them as they are.

use super::active::{array, place};
use crate::functions as mpi5;
use crate::mpi::asked::Asked;
use crate::mpi::rank_state::{Answer, RankState, Step, done};
use crate::mpi::status;
use calls::arguments::Outcome;
use protocols::asked::OfRequest;
use protocols::call::{Call, Reply};
use protocols::contract::Handle;

/// Places in the array of requests, and how those operations have ended that have.
type Looked = Vec<(usize, Option<Outcome>)>;
/// Function that stores the results for the program.
type Tell = Box<dyn FnOnce(&mut Asked<'_>, &Looked) + Send>;

#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
pub(super) fn call(state: &mut RankState, asked: &mut Asked<'_>) -> Option<Answer> {
    use mpi5::Function as F;
    Some(match asked.function {
        F::Request_get_status_all => look(state, asked, tell_all),
        F::Request_get_status_any => look(state, asked, tell_any),
        F::Request_get_status_some => look(state, asked, tell_some),
        _ => return None,
    })
}

fn look(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    tell: fn(&mut Asked<'_>, usize, &Looked),
) -> Answer {
    let active = array(state, asked, 0)?;
    let length = active.length;
    let mut waiting = active.entries;
    waiting.reverse();
    look_on(asked, waiting, Vec::new(), Box::new(move |asked, looked| tell(asked, length, looked)))
}

/// The library is asked about one request after the other.
fn look_on(
    asked: &mut Asked<'_>,
    mut waiting: Vec<(usize, Handle)>,
    mut looked: Looked,
    tell: Tell,
) -> Answer {
    let Some((at, request)) = waiting.pop() else {
        tell(asked, &looked);
        return done();
    };
    let does = OfRequest::GetStatus;
    Ok(Step::calls(Call::OfRequest { does, request }, move |state, asked, reply| {
        let Reply::Tested(outcome) = reply else { return done() };
        if let Some(outcome) = outcome {
            state.requests.is_complete(asked.place, request, outcome)?;
        }
        looked.push((at, outcome));
        look_on(asked, waiting, looked, tell)
    }))
}

/// `count, requests, flag, statuses`.
fn tell_all(asked: &mut Asked<'_>, length: usize, looked: &Looked) {
    let have_ended = looked.iter().all(|(_, outcome)| outcome.is_some());
    asked.put_flag(2, have_ended);
    if !have_ended {
        return;
    }
    let array = asked.word(3);
    for at in 0..length {
        let outcome =
            looked.iter().find(|(place, _)| *place == at).and_then(|(_, outcome)| *outcome);
        status::put(asked, status::of_array(array, at), outcome);
    }
}

/// `count, requests, index, flag, status`.
fn tell_any(asked: &mut Asked<'_>, _: usize, looked: &Looked) {
    let status = asked.word(4);
    let ended = looked.iter().find(|(_, outcome)| outcome.is_some());
    asked.put_int(2, ended.map_or(mpi5::UNDEFINED, |(at, _)| place(*at)));
    asked.put_flag(3, ended.is_some() || looked.is_empty());
    if ended.is_some() || looked.is_empty() {
        status::put(asked, status, ended.and_then(|(_, outcome)| *outcome));
    }
}

/// `count, requests, number, indices, statuses`.
fn tell_some(asked: &mut Asked<'_>, _: usize, looked: &Looked) {
    if looked.is_empty() {
        asked.put_int(2, mpi5::UNDEFINED);
        return;
    }
    let array = asked.word(4);
    let ended: Looked = looked.iter().filter(|(_, outcome)| outcome.is_some()).copied().collect();
    asked.put_int(2, place(ended.len()));
    asked.put_ints(3, ended.iter().map(|(at, _)| place(*at)));
    for (number, (_, outcome)) in ended.into_iter().enumerate() {
        status::put(asked, status::of_array(array, number), outcome);
    }
}
