//! Messages in partitions, which become ready and arrive one by one.

use crate::functions as mpi5;
use crate::mpi::asked::Asked;
use crate::mpi::data::{Data, Sent};
use crate::mpi::fault::Fault;
use crate::mpi::rank_state::{Answer, RankState, Step, done};
use protocols::call::{Call, OfPartitions, Partitioned, Reply};
use protocols::contract::Handle;
use protocols::partitioned::Side;

use super::messages::to;
use super::requests::active::active;
use super::requests::prepares;

#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
pub(super) fn call(state: &mut RankState, asked: &mut Asked<'_>) -> Option<Answer> {
    use mpi5::Function as F;
    Some(match asked.function {
        F::Psend_init => prepare(state, asked, Side::Sends),
        F::Precv_init => prepare(state, asked, Side::Receives),
        F::Pready => {
            let partition = asked.int(0);
            ready(state, asked, 1, vec![(partition, partition)], OfPartitions::Ready)
        }
        F::Pready_range => {
            let range = vec![(asked.int(0), asked.int(1))];
            ready(state, asked, 2, range, OfPartitions::ReadyRange)
        }
        F::Pready_list => {
            asked.length(0).and_then(|length| asked.ints(1, length)).and_then(|all| {
                let ranges = all.into_iter().map(|partition| (partition, partition)).collect();
                ready(state, asked, 2, ranges, OfPartitions::Ready)
            })
        }
        F::Parrived => arrived(state, asked),
        _ => return None,
    })
}

fn prepare(state: &mut RankState, asked: &mut Asked<'_>, side: Side) -> Answer {
    let comm_handle = asked.word(6);
    let (comm, peer, tag) = to(state, comm_handle, asked.int(4), asked.int(5))?;
    let count = asked.count(2)?;
    let Some(partitions) = u16::try_from(asked.int(1)).ok().filter(|partitions| *partitions > 0)
    else {
        let why = format!("{} partitions; the simulator has 1 to 65,535", asked.int(1));
        return Err(Fault::new(mpi5::ERR_ARG, why));
    };
    let all = count.checked_mul(u64::from(partitions));
    let all = all.ok_or_else(|| Fault::new(mpi5::ERR_COUNT, "more elements than 2^64"))?;
    let Data::Plain { address, bytes } = state.types.data(asked.word(0), all, asked.word(3))?
    else {
        return Err(Fault::not_carried(
            "the simulator does not carry partitions that lie in pieces",
        ));
    };
    let request = state.requests.open(comm_handle);
    if side == Side::Sends {
        // The program fills its partitions while the operation is under way.
        state.requests.of_mut(request).sent = Some(Sent::new(Data::NONE, asked));
    }
    let buffer = asked.place.buffer(address, bytes);
    let operation = Partitioned { request, side, peer, tag, comm, buffer, partitions };
    let call = Call::Partitioned(std::sync::Arc::new(operation));
    Ok(prepares(&mut state.requests, asked, 8, request, call, Vec::new()))
}

/// The request that an argument names, if its operation is under way, and how many partitions it has.
fn under_way(
    state: &mut RankState,
    handle: u64,
    side: Side,
) -> Result<Option<(Handle, u16)>, Fault> {
    let Some(request) = active(state, handle)? else { return Ok(None) };
    match state.requests.of(request).prepared.as_deref() {
        Some(Call::Partitioned(operation)) if operation.side == side => {
            Ok(Some((request, operation.partitions)))
        }
        Some(_) | None => {
            Err(Fault::new(mpi5::ERR_REQUEST, "its operation has no such partitions"))
        }
    }
}

fn partition(number: i32, partitions: u16) -> Result<u16, Fault> {
    let found = u16::try_from(number).ok().filter(|number| *number < partitions);
    found.ok_or_else(|| {
        Fault::new(mpi5::ERR_ARG, format!("partition {number} of {partitions} does not exist"))
    })
}

/// Ranges of partitions may be sent, one after the other; the last one comes first.
fn ready(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    at: usize,
    mut ranges: Vec<(i32, i32)>,
    does: OfPartitions,
) -> Answer {
    let Some((first, last)) = ranges.pop() else { return done() };
    let Some((request, partitions)) = under_way(state, asked.word(at), Side::Sends)? else {
        return Err(Fault::new(mpi5::ERR_REQUEST, "its operation is not started"));
    };
    let (first, last) = (partition(first, partitions)?, partition(last, partitions)?);
    if first > last {
        return ready(state, asked, at, ranges, does);
    }
    let call = Call::OfPartitions { does, request, first, last, thread: None };
    Ok(Step::calls(call, move |state, asked, _| ready(state, asked, at, ranges, does)))
}

fn arrived(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let Some((request, partitions)) = under_way(state, asked.word(0), Side::Receives)? else {
        asked.put_flag(2, true);
        return done();
    };
    let first = partition(asked.int(1), partitions)?;
    let does = OfPartitions::Arrived;
    let call = Call::OfPartitions { does, request, first, last: first, thread: None };
    Ok(Step::calls(call, |_, asked, reply| {
        asked.put_flag(2, matches!(reply, Reply::Flag(true)));
        done()
    }))
}
