//! Messages between two ranks.

use std::sync::Arc;

use super::requests;
use crate::functions as mpi5;
use crate::mpi::args::{self, To, WithRequest, handle};
use crate::mpi::data::{Data, Held, Sent};
use crate::mpi::families::Messages as F;
use crate::mpi::fault::Fault;
use crate::mpi::frame::Frame;
use crate::mpi::objects::requests::Requests;
use crate::mpi::rank_state::{Answer, NextStep, RankState, done};
use crate::mpi::status;
use ::mpi::envelope::Rank;
use calls::arguments::{Comm, Outcome, Peer, SendMode};
use protocols::call::{Call, Reply};
use protocols::contract::Handle;
use protocols::exchange::Exchange;

/// When a message's function returns.
#[derive(Clone, Copy, Debug)]
enum When {
    /// When the operation is complete.
    Complete,
    /// At once, with a request.
    Begun(To<handle::Request>),
    /// At once, with a request that is started later.
    Prepared(To<handle::Request>),
}

/// When a function returns that sends and receives.
#[derive(Clone, Copy, Debug)]
enum Exchanged {
    /// When both are complete, with a status.
    Complete(To<args::Status>),
    /// At once, with a request.
    Begun(To<handle::Request>),
}

pub(super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: F) -> Answer {
    use SendMode::{Buffered, Ready, Standard, Synchronous};
    use When::{Begun, Complete, Prepared};
    match call {
        F::Send(of) => send(state, frame, of, Standard, Complete),
        F::Ssend(of) => send(state, frame, of, Synchronous, Complete),
        F::Rsend(of) => send(state, frame, of, Ready, Complete),
        F::Bsend(of) => send(state, frame, of, Buffered, Complete),
        F::Isend(WithRequest { of, request }) => send(state, frame, of, Standard, Begun(request)),
        F::Issend(WithRequest { of, request }) => {
            send(state, frame, of, Synchronous, Begun(request))
        }
        F::Irsend(WithRequest { of, request }) => send(state, frame, of, Ready, Begun(request)),
        F::Ibsend(WithRequest { of, request }) => send(state, frame, of, Buffered, Begun(request)),
        F::Send_init(WithRequest { of, request }) => {
            send(state, frame, of, Standard, Prepared(request))
        }
        F::Ssend_init(WithRequest { of, request }) => {
            send(state, frame, of, Synchronous, Prepared(request))
        }
        F::Rsend_init(WithRequest { of, request }) => {
            send(state, frame, of, Ready, Prepared(request))
        }
        F::Bsend_init(WithRequest { of, request }) => {
            send(state, frame, of, Buffered, Prepared(request))
        }
        F::Recv(of) => recv(state, frame, of),
        F::Irecv(of) => irecv(state, frame, of, Begun(of.request)),
        F::Recv_init(of) => irecv(state, frame, of, Prepared(of.request)),
        F::Sendrecv(of) => {
            let args::Sendrecv { sendbuf, dest, sendtag, recvbuf, source, recvtag, comm, status } =
                of;
            let when = Exchanged::Complete(status);
            let (sent, taken) = ((sendbuf, dest, sendtag), (recvbuf, source, recvtag));
            exchange(state, frame, comm, sent, taken, when)
        }
        F::Isendrecv(of) => {
            let args::Isendrecv { sendbuf, dest, sendtag, recvbuf, source, recvtag, comm, request } =
                of;
            let when = Exchanged::Begun(request);
            let (sent, taken) = ((sendbuf, dest, sendtag), (recvbuf, source, recvtag));
            exchange(state, frame, comm, sent, taken, when)
        }
        F::Sendrecv_replace(of) => {
            let args::Sendrecv_replace { buf, dest, sendtag, source, recvtag, comm, status } = of;
            let when = Exchanged::Complete(status);
            replace(state, frame, (comm, buf), (dest, sendtag), (source, recvtag), when)
        }
        F::Isendrecv_replace(of) => {
            let args::Isendrecv_replace { buf, dest, sendtag, source, recvtag, comm, request } = of;
            let when = Exchanged::Begun(request);
            replace(state, frame, (comm, buf), (dest, sendtag), (source, recvtag), when)
        }
        F::Probe(of) => probe(state, of),
        F::Iprobe(of) => iprobe(state, of),
        F::Mprobe(of) => mprobe(state, of),
        F::Improbe(of) => improbe(state, of),
        F::Mrecv(of) => mrecv(state, frame, of),
        F::Imrecv(of) => imrecv(state, frame, of),
        F::Buffer_attach(of) => attach(state, of),
        F::Buffer_detach(of) => detach(state, of),
    }
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
    comm: handle::Comm,
    rank: i32,
    tag: i32,
) -> Result<(Comm, Peer, i32), Fault> {
    let comm = state.comm(comm)?;
    let (number, to) = (comm.number, peer(rank, comm.peers(), false)?);
    Ok((number, to, some_tag(tag)?))
}

fn from(
    state: &mut RankState,
    comm: handle::Comm,
    rank: i32,
    tag: i32,
) -> Result<(Comm, Peer, Option<i32>), Fault> {
    let comm = state.comm(comm)?;
    let (number, from) = (comm.number, peer(rank, comm.peers(), true)?);
    Ok((number, from, any_tag(tag)?))
}

fn send(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    of: args::Send,
    mode: SendMode,
    when: When,
) -> Answer {
    let (comm, to, tag) = to(state, of.comm, of.dest, of.tag)?;
    let data = state.types.data(of.buf)?;
    if to != Peer::Null {
        data.is_there(frame.place)?;
        if mode == SendMode::Buffered {
            if !matches!(when, When::Prepared(_)) {
                state.check_attached()?;
            }
            check_room(state, frame, data.bytes());
        }
    }
    if matches!(when, When::Complete) {
        let call = data.carried(frame.place, |buffer| Call::Send { to, tag, comm, buffer, mode });
        return Ok(NextStep::waits(call));
    }
    let request = state.requests.open(of.comm.0);
    let isend = |buffer| Call::Isend { request, to, tag, comm, buffer, mode };
    let call = data.carried(frame.place, isend);
    // No process is there to read what goes to MPI_PROC_NULL.
    let read = if to == Peer::Null { Data::NONE } else { data };
    let mut sent = Sent::new(read, frame);
    if matches!(when, When::Begun(_)) {
        sent.begin(frame.place)?;
    }
    state.requests.of_mut(request).sent = Some(sent);
    Ok(opens(state, frame, request, when, call))
}

/// A buffer of the program has room for one buffered message, and for what a library keeps beside each.
fn check_room(state: &mut RankState, frame: &Frame<'_>, bytes: u64) {
    let Some((address, size)) = state.attached else { return };
    let room = u64::try_from(size).unwrap_or_default();
    let needed = bytes.saturating_add(mpi5::BSEND_OVERHEAD.unsigned_abs().into());
    if room >= needed || address == mpi5::BUFFER_AUTOMATIC {
        return;
    }
    state.remarks(
        frame,
        &format!(
            "{bytes} bytes and MPI_BSEND_OVERHEAD ({}) do not fit into the attached buffer of {room} bytes, which some \
             MPI libraries refuse",
            mpi5::BSEND_OVERHEAD
        ),
    );
}

fn recv(state: &mut RankState, frame: &mut Frame<'_>, of: args::Recv) -> Answer {
    let (comm, source, tag) = from(state, of.comm, of.source, of.tag)?;
    let data = state.types.data(of.buf)?;
    let call = data.carried(frame.place, |buffer| Call::Recv { source, tag, comm, buffer });
    Ok(NextStep::calls(call, |_, frame, reply| {
        let args::Recv { status, .. } = frame.arguments();
        received(frame, status, &reply)
    }))
}

fn irecv(state: &mut RankState, frame: &mut Frame<'_>, of: args::Irecv, when: When) -> Answer {
    let (comm, source, tag) = from(state, of.comm, of.source, of.tag)?;
    let data = state.types.data(of.buf)?;
    let request = state.requests.open(of.comm.0);
    let irecv = |buffer| Call::Irecv { request, source, tag, comm, buffer };
    let call = data.carried(frame.place, irecv);
    Ok(opens(state, frame, request, when, call))
}

/// A request begins with its operation, or is prepared; without one the function waits.
fn opens(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    request: Handle,
    when: When,
    call: Call,
) -> NextStep {
    let requests = &mut state.requests;
    match when {
        When::Complete => NextStep::waits(call),
        When::Begun(to) => requests::begins(requests, frame, to, request, call, Vec::new()),
        When::Prepared(to) => requests::prepares(requests, frame, to, request, call, Vec::new()),
    }
}

/// A message is sent and one is received: data, rank and tag of each.
fn exchange(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    comm_handle: handle::Comm,
    (sent, dest, sendtag): (args::Buffer, i32, i32),
    (taken, source, recvtag): (args::Buffer, i32, i32),
    when: Exchanged,
) -> Answer {
    let (comm, to, tag) = to(state, comm_handle, dest, sendtag)?;
    let (_, source, of) = from(state, comm_handle, source, recvtag)?;
    let (sent, taken) = (state.types.data(sent)?, state.types.data(taken)?);
    let mode = SendMode::Standard;
    let (buffer, from) = sent.in_one_piece(frame.place, (true, false))?;
    let sends = Call::Send { to, tag, comm, buffer, mode };
    let (buffer, into) = taken.in_one_piece(frame.place, (false, true))?;
    let receives = Call::Recv { source, tag: of, comm, buffer };
    Ok(exchanges(state, frame, comm_handle, (sends, receives), false, [from, into], when))
}

/// The same with one buffer for both: rank and tag of each message.
fn replace(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    (comm_handle, data): (handle::Comm, args::Buffer),
    (dest, sendtag): (i32, i32),
    (source, recvtag): (i32, i32),
    when: Exchanged,
) -> Answer {
    let (comm, to, tag) = to(state, comm_handle, dest, sendtag)?;
    let (_, source, of) = from(state, comm_handle, source, recvtag)?;
    let (buffer, held) = state.types.data(data)?.in_one_piece(frame.place, (true, true))?;
    let send = Call::Send { to, tag, comm, buffer, mode: SendMode::Standard };
    let receive = Call::Recv { source, tag: of, comm, buffer };
    Ok(exchanges(state, frame, comm_handle, (send, receive), true, [held, None], when))
}

fn exchanges(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    comm: handle::Comm,
    (send, receive): (Call, Call),
    replaces: bool,
    held: [Option<Held>; 2],
    when: Exchanged,
) -> NextStep {
    let held: Vec<_> = held.into_iter().flatten().map(Held::of_message).collect();
    match when {
        Exchanged::Begun(to) => {
            let request = state.requests.open(comm.0);
            let exchange = Exchange { send, receive, request: Some(request), replaces };
            let call = Call::Exchange(Arc::new(exchange));
            requests::begins(&mut state.requests, frame, to, request, call, held)
        }
        Exchanged::Complete(status) => {
            let exchange = Exchange { send, receive, request: None, replaces };
            NextStep::calls(Call::Exchange(Arc::new(exchange)), move |_, frame, reply| {
                if let Reply::Outcome(outcome) = reply {
                    for held in held {
                        held.end(frame.place, outcome)?;
                    }
                }
                received(frame, status, &reply)
            })
        }
    }
}

fn probe(state: &mut RankState, of: args::Probe) -> Answer {
    let (comm, source, tag) = from(state, of.comm, of.source, of.tag)?;
    Ok(NextStep::calls(Call::Probe { source, tag, comm }, |_, frame, reply| {
        let args::Probe { status, .. } = frame.arguments();
        found(frame, &reply, status);
        done()
    }))
}

fn iprobe(state: &mut RankState, of: args::Iprobe) -> Answer {
    let (comm, source, tag) = from(state, of.comm, of.source, of.tag)?;
    Ok(NextStep::calls(Call::Iprobe { source, tag, comm }, |_, frame, reply| {
        let args::Iprobe { flag, status, .. } = frame.arguments();
        let is_there = found(frame, &reply, status);
        frame.put_flag(flag, is_there);
        done()
    }))
}

fn mprobe(state: &mut RankState, of: args::Mprobe) -> Answer {
    let (comm, source, tag) = from(state, of.comm, of.source, of.tag)?;
    let message = state.requests.open_message(of.comm.0);
    Ok(NextStep::calls(Call::Mprobe { message, source, tag, comm }, move |state, frame, reply| {
        found(frame, &reply, of.status);
        matched(state, frame, of.message, message, &reply);
        done()
    }))
}

fn improbe(state: &mut RankState, of: args::Improbe) -> Answer {
    let (comm, source, tag) = from(state, of.comm, of.source, of.tag)?;
    let message = state.requests.open_message(of.comm.0);
    Ok(NextStep::calls(Call::Improbe { message, source, tag, comm }, move |state, frame, reply| {
        let is_there = found(frame, &reply, of.status);
        frame.put_flag(of.flag, is_there);
        if is_there {
            matched(state, frame, of.message, message, &reply);
        } else {
            state.requests.close_message(message);
        }
        done()
    }))
}

/// The message that a probe has matched; of `MPI_PROC_NULL` there is none.
fn matched(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    to: To<handle::Message>,
    message: Handle,
    reply: &Reply,
) {
    let Reply::Probed(Some(status)) = reply else { return };
    if status.source.is_some() {
        frame.put_handle(to, Requests::message_handle(message));
    } else {
        state.requests.close_message(message);
        frame.put_handle(to, mpi5::MESSAGE_NO_PROC);
    }
}

/// The message of a matched receive, which is over with it; `None` of `MPI_PROC_NULL`.
fn message(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    variable: To<handle::Message>,
) -> Result<Option<(u64, Handle)>, Fault> {
    let message = frame.handle(variable)?;
    frame.put_handle(variable, mpi5::MESSAGE_NULL);
    if message.0 == mpi5::MESSAGE_NO_PROC {
        return Ok(None);
    }
    state.requests.message(message).map(Some)
}

fn mrecv(state: &mut RankState, frame: &mut Frame<'_>, of: args::Mrecv) -> Answer {
    let data = state.types.data(of.buf)?;
    let Some((_, message)) = message(state, frame, of.message)? else {
        status::put(frame, of.status, Some(Outcome::Received(NO_PROC)));
        return done();
    };
    let call = data.carried(frame.place, |buffer| Call::Mrecv { message, buffer });
    Ok(NextStep::calls(call, move |state, frame, reply| {
        state.requests.close_message(message);
        received(frame, of.status, &reply)
    }))
}

fn imrecv(state: &mut RankState, frame: &mut Frame<'_>, of: args::Imrecv) -> Answer {
    let data = state.types.data(of.buf)?;
    let Some((comm, message)) = message(state, frame, of.message)? else {
        // A receive from MPI_PROC_NULL is the same.
        let (comm, source, tag) = (Comm(0), Peer::Null, None);
        let request = state.requests.open(mpi5::COMM_WORLD);
        let irecv = |buffer| Call::Irecv { request, source, tag, comm, buffer };
        let call = data.carried(frame.place, irecv);
        return Ok(opens(state, frame, request, When::Begun(of.request), call));
    };
    let request = state.requests.open(comm);
    let call = data.carried(frame.place, |buffer| Call::Imrecv { message, request, buffer });
    state.requests.close_message(message);
    Ok(requests::begins(&mut state.requests, frame, of.request, request, call, Vec::new()))
}

fn attach(state: &mut RankState, of: args::Buffer_attach) -> Answer {
    if state.attached.is_some() {
        return Err(Fault::new(mpi5::ERR_BUFFER, "a buffer is attached already"));
    }
    let (address, size) = (of.buffer.0, of.size.0);
    let Ok(bytes) = u64::try_from(size) else {
        return Err(Fault::new(mpi5::ERR_ARG, format!("a buffer of {size} bytes")));
    };
    state.attached = Some((address, size));
    Ok(NextStep::waits(Call::AttachBuffer { bytes }))
}

fn detach(state: &mut RankState, of: args::Buffer_detach) -> Answer {
    let Some((address, size)) = state.attached.take() else {
        return Err(Fault::new(mpi5::ERR_BUFFER, "no buffer is attached"));
    };
    Ok(NextStep::calls(Call::DetachBuffer, move |_, frame, _| {
        frame.put_word(of.buffer_addr, address);
        frame.put_count(of.size, Some(size));
        done()
    }))
}

const NO_PROC: calls::arguments::Status =
    calls::arguments::Status { source: None, tag: None, count: 0 };

/// The status of a receive that has ended.
fn received(frame: &mut Frame<'_>, to: To<args::Status>, reply: &Reply) -> Answer {
    let Reply::Outcome(outcome) = reply else { return done() };
    status::put(frame, to, Some(*outcome));
    status::truncated(*outcome)?;
    done()
}

/// Whether a probe has found a message; then its status.
fn found(frame: &mut Frame<'_>, reply: &Reply, to: To<args::Status>) -> bool {
    let Reply::Probed(Some(status)) = reply else { return false };
    status::put(frame, to, Some(Outcome::Received(*status)));
    true
}

fn some_tag(tag: i32) -> Result<i32, Fault> {
    if tag < 0 { Err(Fault::new(mpi5::ERR_TAG, format!("a tag of {tag}"))) } else { Ok(tag) }
}

fn any_tag(tag: i32) -> Result<Option<i32>, Fault> {
    if tag == mpi5::ANY_TAG { Ok(None) } else { some_tag(tag).map(Some) }
}
