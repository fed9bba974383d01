//! Messages between two ranks.

use std::sync::Arc;

use super::requests;
use crate::functions as mpi5;
use crate::mpi::asked::Asked;
use crate::mpi::data::{Data, Held, Sent};
use crate::mpi::fault::Fault;
use crate::mpi::objects::requests::Requests;
use crate::mpi::rank_state::{Answer, RankState, Step, done};
use crate::mpi::status;
use ::mpi::envelope::Rank;
use calls::arguments::{Comm, Outcome, Peer, SendMode};
use protocols::call::{Call, Reply};
use protocols::contract::Handle;
use protocols::exchange::Exchange;

/// When a message's function returns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum When {
    /// When the operation is complete.
    Complete,
    /// At once, with a request.
    Begun,
    /// At once, with a request that is started later.
    Prepared,
}

#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
pub(super) fn call(state: &mut RankState, asked: &mut Asked<'_>) -> Option<Answer> {
    use SendMode::{Buffered, Ready, Standard, Synchronous};
    use When::{Begun, Complete, Prepared};
    use mpi5::Function as F;
    Some(match asked.function {
        F::Send => send(state, asked, Standard, Complete),
        F::Ssend => send(state, asked, Synchronous, Complete),
        F::Rsend => send(state, asked, Ready, Complete),
        F::Bsend => send(state, asked, Buffered, Complete),
        F::Isend => send(state, asked, Standard, Begun),
        F::Issend => send(state, asked, Synchronous, Begun),
        F::Irsend => send(state, asked, Ready, Begun),
        F::Ibsend => send(state, asked, Buffered, Begun),
        F::Send_init => send(state, asked, Standard, Prepared),
        F::Ssend_init => send(state, asked, Synchronous, Prepared),
        F::Rsend_init => send(state, asked, Ready, Prepared),
        F::Bsend_init => send(state, asked, Buffered, Prepared),
        F::Recv => receive(state, asked, Complete),
        F::Irecv => receive(state, asked, Begun),
        F::Recv_init => receive(state, asked, Prepared),
        F::Sendrecv | F::Isendrecv => exchange(state, asked),
        F::Sendrecv_replace | F::Isendrecv_replace => replace(state, asked),
        F::Probe => probe(state, asked),
        F::Iprobe => iprobe(state, asked),
        F::Mprobe => mprobe(state, asked),
        F::Improbe => improbe(state, asked),
        F::Mrecv => mrecv(state, asked),
        F::Imrecv => imrecv(state, asked),
        F::Buffer_attach => attach(state, asked),
        F::Buffer_detach => detach(state),
        _ => return None,
    })
}

/// The other side of a message over a communicator, of which `size` ranks can be named.
fn peer(rank: i32, size: u32, is_source: bool) -> Result<Peer, Fault> {
    match rank {
        mpi5::PROC_NULL => Ok(Peer::Null),
        mpi5::ANY_SOURCE if is_source => Ok(Peer::Any),
        rank if u32::try_from(rank).is_ok_and(|rank| rank < size) => {
            Ok(Peer::Rank(Rank(rank.cast_unsigned())))
        }
        other => Err(Fault::new(mpi5::ERR_RANK, format!("rank {other} of {size} does not exist"))),
    }
}

pub(super) fn to(
    state: &mut RankState,
    comm: u64,
    rank: i32,
    tag: i32,
) -> Result<(Comm, Peer, i32), Fault> {
    let comm = state.comm(comm)?;
    let (number, to) = (comm.number, peer(rank, comm.peers(), false)?);
    Ok((number, to, some_tag(tag)?))
}

fn from(
    state: &mut RankState,
    comm: u64,
    rank: i32,
    tag: i32,
) -> Result<(Comm, Peer, Option<i32>), Fault> {
    let comm = state.comm(comm)?;
    let (number, from) = (comm.number, peer(rank, comm.peers(), true)?);
    Ok((number, from, any_tag(tag)?))
}

fn send(state: &mut RankState, asked: &mut Asked<'_>, mode: SendMode, when: When) -> Answer {
    let comm_handle = asked.word(5);
    let (comm, to, tag) = to(state, comm_handle, asked.int(3), asked.int(4))?;
    let data = state.types.data(asked.word(0), asked.count(1)?, asked.word(2))?;
    if to != Peer::Null {
        data.is_there(asked.place)?;
        if mode == SendMode::Buffered {
            if when != When::Prepared {
                state.check_attached()?;
            }
            check_room(state, asked, data.bytes());
        }
    }
    if when == When::Complete {
        let call = data.carried(asked.place, |buffer| Call::Send { to, tag, comm, buffer, mode });
        return Ok(Step::waits(call));
    }
    let request = state.requests.open(comm_handle);
    let isend = |buffer| Call::Isend { request, to, tag, comm, buffer, mode };
    let call = data.carried(asked.place, isend);
    // No process is there to read what goes to MPI_PROC_NULL.
    let read = if to == Peer::Null { Data::NONE } else { data };
    let mut sent = Sent::new(read, asked);
    if when == When::Begun {
        sent.begin(asked.place)?;
    }
    state.requests.of_mut(request).sent = Some(sent);
    Ok(opens(state, asked, 6, request, when, call))
}

/// A buffer of the program has room for one buffered message, and for what a library keeps beside each.
fn check_room(state: &mut RankState, asked: &Asked<'_>, bytes: u64) {
    let Some((address, size)) = state.attached else { return };
    let room = u64::try_from(size).unwrap_or_default();
    let needed = bytes.saturating_add(mpi5::BSEND_OVERHEAD.unsigned_abs().into());
    if room >= needed || address == mpi5::BUFFER_AUTOMATIC {
        return;
    }
    state.remarks(
        asked,
        &format!(
            "{bytes} bytes and MPI_BSEND_OVERHEAD ({}) do not fit into the attached buffer of {room} bytes, which some \
             MPI libraries refuse",
            mpi5::BSEND_OVERHEAD
        ),
    );
}

fn receive(state: &mut RankState, asked: &mut Asked<'_>, when: When) -> Answer {
    let comm_handle = asked.word(5);
    let (comm, source, tag) = from(state, comm_handle, asked.int(3), asked.int(4))?;
    let data = state.types.data(asked.word(0), asked.count(1)?, asked.word(2))?;
    if when == When::Complete {
        let call = data.carried(asked.place, |buffer| Call::Recv { source, tag, comm, buffer });
        return Ok(Step::calls(call, |_, asked, reply| received(asked, 6, &reply)));
    }
    let request = state.requests.open(comm_handle);
    let irecv = |buffer| Call::Irecv { request, source, tag, comm, buffer };
    let call = data.carried(asked.place, irecv);
    Ok(opens(state, asked, 6, request, when, call))
}

/// A request begins with its operation, or is prepared.
fn opens(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    at: usize,
    request: Handle,
    when: When,
    call: Call,
) -> Step {
    if when == When::Prepared {
        return requests::prepares(&mut state.requests, asked, at, request, call, Vec::new());
    }
    requests::begins(&mut state.requests, asked, at, request, call, Vec::new())
}

fn exchange(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let comm_handle = asked.word(10);
    let (comm, to, tag) = to(state, comm_handle, asked.int(3), asked.int(4))?;
    let (_, source, of) = from(state, comm_handle, asked.int(8), asked.int(9))?;
    let sent = state.types.data(asked.word(0), asked.count(1)?, asked.word(2))?;
    let taken = state.types.data(asked.word(5), asked.count(6)?, asked.word(7))?;
    let mode = SendMode::Standard;
    let (buffer, from) = sent.in_one_piece(asked.place, (true, false))?;
    let sends = Call::Send { to, tag, comm, buffer, mode };
    let (buffer, into) = taken.in_one_piece(asked.place, (false, true))?;
    let receives = Call::Recv { source, tag: of, comm, buffer };
    Ok(exchanges(state, asked, 11, comm_handle, (sends, receives), false, [from, into]))
}

fn replace(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let comm_handle = asked.word(7);
    let (comm, to, tag) = to(state, comm_handle, asked.int(3), asked.int(4))?;
    let (_, source, of) = from(state, comm_handle, asked.int(5), asked.int(6))?;
    let data = state.types.data(asked.word(0), asked.count(1)?, asked.word(2))?;
    let (buffer, held) = data.in_one_piece(asked.place, (true, true))?;
    let send = Call::Send { to, tag, comm, buffer, mode: SendMode::Standard };
    let receive = Call::Recv { source, tag: of, comm, buffer };
    Ok(exchanges(state, asked, 8, comm_handle, (send, receive), true, [held, None]))
}

fn exchanges(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    at: usize,
    comm: u64,
    (send, receive): (Call, Call),
    replaces: bool,
    held: [Option<Held>; 2],
) -> Step {
    use mpi5::Function::{Isendrecv, Isendrecv_replace};
    let held: Vec<_> = held.into_iter().flatten().map(Held::of_message).collect();
    if matches!(asked.function, Isendrecv | Isendrecv_replace) {
        let request = state.requests.open(comm);
        let exchange = Exchange { send, receive, request: Some(request), replaces };
        return requests::begins(
            &mut state.requests,
            asked,
            at,
            request,
            Call::Exchange(Arc::new(exchange)),
            held,
        );
    }
    let exchange = Exchange { send, receive, request: None, replaces };
    Step::calls(Call::Exchange(Arc::new(exchange)), move |_, asked, reply| {
        if let Reply::Outcome(outcome) = reply {
            for held in held {
                held.end(asked.place, outcome)?;
            }
        }
        received(asked, at, &reply)
    })
}

fn probe(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let (comm, source, tag) = from(state, asked.word(2), asked.int(0), asked.int(1))?;
    Ok(Step::calls(Call::Probe { source, tag, comm }, |_, asked, reply| {
        found(asked, &reply, 3);
        done()
    }))
}

fn iprobe(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let (comm, source, tag) = from(state, asked.word(2), asked.int(0), asked.int(1))?;
    Ok(Step::calls(Call::Iprobe { source, tag, comm }, |_, asked, reply| {
        let is_there = found(asked, &reply, 4);
        asked.put_flag(3, is_there);
        done()
    }))
}

fn mprobe(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let comm_handle = asked.word(2);
    let (comm, source, tag) = from(state, comm_handle, asked.int(0), asked.int(1))?;
    let message = state.requests.open_message(comm_handle);
    Ok(Step::calls(Call::Mprobe { message, source, tag, comm }, move |state, asked, reply| {
        found(asked, &reply, 4);
        matched(state, asked, 3, message, &reply);
        done()
    }))
}

fn improbe(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let comm_handle = asked.word(2);
    let (comm, source, tag) = from(state, comm_handle, asked.int(0), asked.int(1))?;
    let message = state.requests.open_message(comm_handle);
    Ok(Step::calls(Call::Improbe { message, source, tag, comm }, move |state, asked, reply| {
        let is_there = found(asked, &reply, 5);
        asked.put_flag(3, is_there);
        if is_there {
            matched(state, asked, 4, message, &reply);
        } else {
            state.requests.close_message(message);
        }
        done()
    }))
}

/// The message that a probe has matched; of `MPI_PROC_NULL` there is none.
fn matched(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    at: usize,
    message: Handle,
    reply: &Reply,
) {
    let Reply::Probed(Some(status)) = reply else { return };
    if status.source.is_some() {
        asked.put_word(at, Requests::message_handle(message));
    } else {
        state.requests.close_message(message);
        asked.put_word(at, mpi5::MESSAGE_NO_PROC);
    }
}

/// The message of a matched receive, which is over with it; `None` of `MPI_PROC_NULL`.
fn message(state: &mut RankState, asked: &mut Asked<'_>) -> Result<Option<(u64, Handle)>, Fault> {
    let handle = asked.at(3)?;
    asked.put_word(3, mpi5::MESSAGE_NULL);
    if handle == mpi5::MESSAGE_NO_PROC {
        return Ok(None);
    }
    state.requests.message(handle).map(Some)
}

fn mrecv(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let data = state.types.data(asked.word(0), asked.count(1)?, asked.word(2))?;
    let Some((_, message)) = message(state, asked)? else {
        status::put(asked, asked.word(4), Some(Outcome::Received(NO_PROC)));
        return done();
    };
    let call = data.carried(asked.place, |buffer| Call::Mrecv { message, buffer });
    Ok(Step::calls(call, move |state, asked, reply| {
        state.requests.close_message(message);
        received(asked, 4, &reply)
    }))
}

fn imrecv(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let data = state.types.data(asked.word(0), asked.count(1)?, asked.word(2))?;
    let Some((comm, message)) = message(state, asked)? else {
        // A receive from MPI_PROC_NULL is the same.
        let (comm, source, tag) = (Comm(0), Peer::Null, None);
        let request = state.requests.open(mpi5::COMM_WORLD);
        let irecv = |buffer| Call::Irecv { request, source, tag, comm, buffer };
        let call = data.carried(asked.place, irecv);
        return Ok(opens(state, asked, 4, request, When::Begun, call));
    };
    let request = state.requests.open(comm);
    let call = data.carried(asked.place, |buffer| Call::Imrecv { message, request, buffer });
    state.requests.close_message(message);
    Ok(requests::begins(&mut state.requests, asked, 4, request, call, Vec::new()))
}

fn attach(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    if state.attached.is_some() {
        return Err(Fault::new(mpi5::ERR_BUFFER, "a buffer is attached already"));
    }
    let (address, size) = (asked.word(0), asked.long(1));
    let Ok(bytes) = u64::try_from(size) else {
        return Err(Fault::new(mpi5::ERR_ARG, format!("a buffer of {size} bytes")));
    };
    state.attached = Some((address, size));
    Ok(Step::waits(Call::AttachBuffer { bytes }))
}

fn detach(state: &mut RankState) -> Answer {
    let Some((address, size)) = state.attached.take() else {
        return Err(Fault::new(mpi5::ERR_BUFFER, "no buffer is attached"));
    };
    Ok(Step::calls(Call::DetachBuffer, move |_, asked, _| {
        asked.put_word(0, address);
        asked.put_count(1, Some(size));
        done()
    }))
}

const NO_PROC: calls::arguments::Status =
    calls::arguments::Status { source: None, tag: None, count: 0 };

/// The status of a receive that has ended.
fn received(asked: &mut Asked<'_>, at: usize, reply: &Reply) -> Answer {
    let Reply::Outcome(outcome) = reply else { return done() };
    let to = asked.word(at);
    status::put(asked, to, Some(*outcome));
    status::truncated(*outcome)?;
    done()
}

/// Whether a probe has found a message; then its status.
fn found(asked: &mut Asked<'_>, reply: &Reply, at: usize) -> bool {
    let Reply::Probed(Some(status)) = reply else { return false };
    let to = asked.word(at);
    status::put(asked, to, Some(Outcome::Received(*status)));
    true
}

fn some_tag(tag: i32) -> Result<i32, Fault> {
    if tag < 0 { Err(Fault::new(mpi5::ERR_TAG, format!("a tag of {tag}"))) } else { Ok(tag) }
}

fn any_tag(tag: i32) -> Result<Option<i32>, Fault> {
    if tag == mpi5::ANY_TAG { Ok(None) } else { some_tag(tag).map(Some) }
}
