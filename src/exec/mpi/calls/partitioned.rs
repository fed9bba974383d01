//! Messages in partitions, which become ready and arrive one by one.

use crate::functions as mpi5;
use crate::mpi::args::{self, handle, length};
use crate::mpi::data::{Data, Sent};
use crate::mpi::families::Partitioned as F;
use crate::mpi::fault::Fault;
use crate::mpi::frame::Frame;
use crate::mpi::rank_state::{Answer, NextStep, RankState, done};
use protocols::call::{Call, OfPartitions, Partitioned, Reply};
use protocols::contract::Handle;
use protocols::partitioned::Side;

use super::messages::to;
use super::requests::active::active;
use super::requests::prepares;

pub(super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: F) -> Answer {
    match call {
        F::Psend_init(of) => prepare(state, frame, of, Side::Sends),
        F::Precv_init(of) => prepare(state, frame, of, Side::Receives),
        F::Pready(of) => {
            let range = vec![(of.partition, of.partition)];
            ready(state, of.request, range, OfPartitions::Ready)
        }
        F::Pready_range(of) => {
            let range = vec![(of.partition_low, of.partition_high)];
            ready(state, of.request, range, OfPartitions::ReadyRange)
        }
        F::Pready_list(of) => {
            let all = frame.ints(of.array_of_partitions, length(of.length)?)?;
            let ranges = all.into_iter().map(|partition| (partition, partition)).collect();
            ready(state, of.request, ranges, OfPartitions::Ready)
        }
        F::Parrived(of) => arrived(state, frame, of),
    }
}

fn prepare(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    of: args::Psend_init,
    side: Side,
) -> Answer {
    let (comm, peer, tag) = to(state, of.comm, of.dest, of.tag)?;
    let count = of.count.natural()?;
    let Some(partitions) = u16::try_from(of.partitions).ok().filter(|partitions| *partitions > 0)
    else {
        let why = format!("{} partitions; the simulator has 1 to 65,535", of.partitions);
        return Err(Fault::new(mpi5::ERR_ARG, why));
    };
    let all = count.checked_mul(u64::from(partitions));
    let all = all.ok_or_else(|| Fault::new(mpi5::ERR_COUNT, "more elements than 2^64"))?;
    let Data::Plain { address, bytes } = state.types.elements(of.buf, all, of.datatype)? else {
        return Err(Fault::not_carried(
            "the simulator does not carry partitions that lie in pieces",
        ));
    };
    let request = state.requests.open(of.comm.0);
    if side == Side::Sends {
        // The program fills its partitions while the operation is under way.
        state.requests.of_mut(request).sent = Some(Sent::new(Data::NONE, frame));
    }
    let buffer = frame.place.buffer(address, bytes);
    let operation = Partitioned { request, side, peer, tag, comm, buffer, partitions };
    let call = Call::Partitioned(std::sync::Arc::new(operation));
    Ok(prepares(&mut state.requests, frame, of.request, request, call, Vec::new()))
}

/// The request of a handle, if its operation is under way, and how many partitions it has.
fn under_way(
    state: &mut RankState,
    handle: handle::Request,
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
    handle: handle::Request,
    mut ranges: Vec<(i32, i32)>,
    does: OfPartitions,
) -> Answer {
    let Some((first, last)) = ranges.pop() else { return done() };
    let Some((request, partitions)) = under_way(state, handle, Side::Sends)? else {
        return Err(Fault::new(mpi5::ERR_REQUEST, "its operation is not started"));
    };
    let (first, last) = (partition(first, partitions)?, partition(last, partitions)?);
    if first > last {
        return ready(state, handle, ranges, does);
    }
    let call = Call::OfPartitions { does, request, first, last, thread: None };
    Ok(NextStep::calls(call, move |state, _, _| ready(state, handle, ranges, does)))
}

fn arrived(state: &mut RankState, frame: &mut Frame<'_>, of: args::Parrived) -> Answer {
    let Some((request, partitions)) = under_way(state, of.request, Side::Receives)? else {
        frame.put_flag(of.flag, true);
        return done();
    };
    let first = partition(of.partition, partitions)?;
    let does = OfPartitions::Arrived;
    let call = Call::OfPartitions { does, request, first, last: first, thread: None };
    Ok(NextStep::calls(call, |_, frame, reply| {
        let args::Parrived { flag, .. } = frame.arguments();
        frame.put_flag(flag, matches!(reply, Reply::Flag(true)));
        done()
    }))
}
