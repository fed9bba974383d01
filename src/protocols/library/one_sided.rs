//! One-sided calls: the way from the library of a process to its windows, and back.

use std::hash::Hasher;
use std::sync::Arc;

use super::messages::Messages;
use super::requests::Body;
use super::{Handle, Key, LibraryAction, ProtocolError, Region, Route, Thread, Token};
use crate::call::Comm;
use crate::contract::{Action, COUNTERS, Process, Space, Wait};
use crate::rma::call::{RmaCall, Win};
use crate::rma::packet::RmaPacket;
use crate::rma::port::Port;
use crate::rma::setup::Members;
use crate::rma::{Called, Rma, Settings};

/// The requests that the windows have completed.
pub(super) type Completed = Vec<Handle>;

/// The windows of one process.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct OneSided {
    /// None in most processes.
    rma: Option<Box<Rma>>,
}

impl OneSided {
    /// The windows, where the process has ever had one.
    #[inline]
    pub(super) fn rma(&self) -> Option<&Rma> {
        self.rma.as_deref()
    }

    /// The number that the processes of a window have agreed on.
    pub(super) fn number(&self, win: Win) -> Option<u32> {
        self.rma.as_ref()?.number(win)
    }

    /// Whether a call polls before it is taken.
    pub(super) fn polls_first(&self, call: &RmaCall) -> bool {
        self.rma.as_ref().is_some_and(|rma| rma.polls_first(call))
    }

    /// A call of the program; `Err` inside says in words why it is refused.
    pub(super) fn call(
        &mut self,
        messages: &mut Messages,
        thread: Thread,
        call: &RmaCall,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(Result<Called, String>, Completed), ProtocolError> {
        if let RmaCall::Operate { request: Some(request), .. } = call {
            messages.open(Key::User(*request), Body::OneSided, thread)?;
        }
        let members = if let RmaCall::Create { comm, .. } = call {
            Some(members(messages, thread, *comm)?)
        } else {
            None
        };
        let members = || members.ok_or_else(|| "only a new window needs its members".to_owned());
        self.act(messages, thread, out, |rma, port| rma.call(call, members, port))
    }

    /// Lets the windows act; answers the requests that are complete then.
    fn act<T>(
        &mut self,
        messages: &Messages,
        thread: Thread,
        out: &mut Vec<LibraryAction>,
        act: impl FnOnce(&mut Rma, &mut Port<'_>) -> T,
    ) -> Result<(T, Completed), ProtocolError> {
        let site = messages.site();
        let rma = self.rma.get_or_insert_default();
        let mut port = Port {
            me: site.me,
            thread,
            job: &site.job,
            out,
            completed: Vec::new(),
            refused: None,
            #[cfg(feature = "mutants")]
            mutant: site.job.mutant(),
        };
        let result = act(rma, &mut port);
        let Port { completed, refused, .. } = port;
        match refused {
            Some(words) => Err(site.refuse(&words, "a one-sided packet")),
            None => Ok((result, completed)),
        }
    }

    /// A packet about a window.
    pub(super) fn packet(
        &mut self,
        messages: &Messages,
        thread: Thread,
        (from, packet): (Route, &Arc<RmaPacket>),
        landing: Option<Region>,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Completed, ProtocolError> {
        let (known, completed) =
            self.act(messages, thread, out, |rma, port| rma.packet(from, packet, landing, port))?;
        known.map_err(|words| messages.site().refuse(&words, packet))?;
        Ok(completed)
    }

    /// An RDMA operation of a window is over.
    pub(super) fn done(
        &mut self,
        messages: &Messages,
        thread: Thread,
        token: Token,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Completed, ProtocolError> {
        let (known, completed) =
            self.act(messages, thread, out, |rma, port| rma.done(token, port))?;
        let state = "no RDMA operation of a window has this name";
        known.ok_or_else(|| messages.site().defect(state, token))?;
        Ok(completed)
    }

    /// The numbers of a window's lock were read.
    pub(super) fn numbers(
        &mut self,
        messages: &Messages,
        thread: Thread,
        (token, values): (Token, [u32; COUNTERS]),
        out: &mut Vec<LibraryAction>,
    ) -> Result<Completed, ProtocolError> {
        let (known, completed) =
            self.act(messages, thread, out, |rma, port| rma.numbers(token, values, port))?;
        known.ok_or_else(|| messages.site().defect("no lock of a window has this name", token))?;
        Ok(completed)
    }

    /// The threads whose goals are reached, and the requests that are complete then.
    pub(super) fn reached(
        &mut self,
        messages: &Messages,
        thread: Thread,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(Vec<(Thread, Called)>, Completed), ProtocolError> {
        self.act(messages, thread, out, Rma::reached)
    }

    /// The pass of `MPI_Win_test` is over: its flag.
    pub(super) fn test_again(
        &mut self,
        messages: &Messages,
        thread: Thread,
        win: Win,
        out: &mut Vec<LibraryAction>,
    ) -> Result<bool, ProtocolError> {
        self.act(messages, thread, out, |rma, port| rma.test_again(win, port)).map(|(flag, _)| flag)
    }

    /// A wait for the request of an operation is a local flush of its target.
    pub(super) fn flush_for(
        &mut self,
        messages: &Messages,
        thread: Thread,
        key: Key,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Completed, ProtocolError> {
        let Key::User(request) = key else { return Ok(Completed::new()) };
        let open = messages.requests().get(key);
        if !open.is_some_and(|open| open.body == Body::OneSided) {
            return Ok(Completed::new());
        }
        let flushed = self.act(messages, thread, out, |rma, port| rma.waited_for(request, port));
        flushed.map(|((), completed)| completed)
    }

    /// HCAs touch memory of windows where a window has it; elsewhere messages agreed on it.
    pub(super) fn check_exposed(
        &self,
        messages: &Messages,
        region: Region,
    ) -> Result<(), ProtocolError> {
        let Space::Window(memory) = region.space else { return Ok(()) };
        let windows = self.rma.as_ref().ok_or_else(|| "there is no window here".to_owned());
        let checked = windows.and_then(|rma| rma.exposes(memory, region));
        checked.map_err(|words| messages.site().refuse(&words, "an access of an HCA"))
    }

    /// The waits of a thread inside a one-sided call, whose call is the `origin`-th.
    pub(super) fn waits(&self, thread: Thread, origin: u32) -> Option<Vec<Wait>> {
        Some(self.rma.as_ref()?.waits(thread, origin).unwrap_or_default())
    }

    /// How far the one-sided call of a thread has come.
    pub(super) fn so_far<H: Hasher>(&self, thread: Thread, to: &mut H) {
        if let Some(rma) = &self.rma {
            rma.so_far(thread, to);
        }
    }

    /// Windows that the program has not freed.
    pub(super) fn open_ends<'a>(&'a self, settings: &'a Settings) -> Vec<String> {
        self.rma.iter().flat_map(|rma| rma.open_ends(settings)).collect()
    }
}

/// Facts that a window needs about the communicator that it is made over.
fn members(messages: &Messages, thread: Thread, comm: Comm) -> Result<Members, ProtocolError> {
    let (site, communicators) = (messages.site(), messages.communicators());
    if communicators.sides(site, comm).is_ok() {
        return Err(site.refuse("no window is made over an intercommunicator", comm));
    }
    let member = messages.member(thread, comm)?;
    let group = &communicators.get(site, comm)?.group;
    let processes = group.members().iter().map(|&process| Process(process)).collect();
    Ok(Members { rank: member.rank.0, context: member.internal.0, processes })
}

/// A reading of counters ends its list.
pub(super) fn reads_last(out: &mut [LibraryAction]) {
    let reads = |action: &LibraryAction| matches!(action, Action::Consult { .. });
    if let Some(place) = out.iter().position(reads) {
        out[place..].rotate_left(1);
    }
}
