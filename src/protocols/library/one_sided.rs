//! One-sided calls: the way from the library of a process to its windows, and back.

use std::sync::Arc;

use super::requests::{Body, Pending};
use super::{
    Handle, Key, Library, LibraryAction, Outcome, ProtocolError, Region, Reply, Route, Thread,
    Token, push_return,
};
use crate::call::Comm;
use crate::contract::{ASKED, Action, Process, Space};
use crate::rma::call::{RmaCall, Win};
use crate::rma::packet::RmaPacket;
use crate::rma::port::Port;
use crate::rma::setup::Members;
use crate::rma::{Called, Rma};

impl Library {
    /// The windows of this process.
    pub fn rma(&self) -> Option<&Rma> {
        self.rma.as_deref()
    }

    pub(super) fn one_sided(
        &mut self,
        thread: Thread,
        call: &RmaCall,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        if let RmaCall::Operate { request: Some(request), .. } = call {
            self.open(Key::User(*request), Body::OneSided, thread)?;
        }
        let members = if let RmaCall::Create { comm, .. } = call {
            Some(self.members(thread, *comm)?)
        } else {
            None
        };
        let members = || members.ok_or_else(|| "only a new window needs its members".to_owned());
        let called = self.with_rma(thread, out, |rma, port| rma.call(call, members, port));
        let (called, completed) = called?;
        self.requests_complete(completed, out)?;
        let called = called.map_err(|words| self.refuse(&words, call.name()))?;
        match called {
            Called::Returns => push_return(thread, Reply::Done, out),
            Called::Tested(flag) => push_return(thread, Reply::Flag(flag), out),
            Called::Polls => self.pend(thread, Pending::WindowTest(call.win())),
            Called::Passes => self.pend(thread, Pending::WindowPass),
            Called::Waits => self.pend(thread, Pending::Window),
        }
        // A lock that this call has left may be what another thread waits for.
        self.look_at_goals(thread, out)?;
        if matches!(called, Called::Polls | Called::Passes) {
            out.push(Action::Poll(Token(u64::from(thread.0))));
        }
        Ok(())
    }

    fn pend(&mut self, thread: Thread, pending: Pending) {
        self.pending[usize::from(thread.0)] = Some(pending);
    }

    /// What a window must know of the communicator that it is made over.
    fn members(&self, thread: Thread, comm: Comm) -> Result<Members, ProtocolError> {
        if self.sides(comm).is_ok() {
            return Err(self.refuse("no window is made over an intercommunicator", comm));
        }
        let member = self.member(thread, comm)?;
        let group = &self.communicator(comm)?.group;
        let processes = group.members().iter().map(|&process| Process(process)).collect();
        Ok(Members { rank: member.rank.0, context: member.internal.0, processes })
    }

    /// HCAs touch memory of windows where a window has it; elsewhere messages agreed on it.
    pub(super) fn check_exposed(&self, region: Region) -> Result<(), ProtocolError> {
        let Space::Window(memory) = region.space else { return Ok(()) };
        let windows = self.rma.as_ref().ok_or_else(|| "there is no window here".to_owned());
        let checked = windows.and_then(|rma| rma.exposes(memory, region));
        checked.map_err(|words| self.refuse(&words, "an access of an HCA"))
    }

    /// Lets the windows act; answers the requests that are complete then.
    fn with_rma<T>(
        &mut self,
        thread: Thread,
        out: &mut Vec<LibraryAction>,
        act: impl FnOnce(&mut Rma, &mut Port<'_>) -> T,
    ) -> Result<(T, Vec<Handle>), ProtocolError> {
        let Self { job, me, rma, .. } = self;
        let rma = rma.get_or_insert_default();
        let mut port = Port {
            me: *me,
            thread,
            job,
            out,
            completed: Vec::new(),
            refused: None,
            #[cfg(feature = "mutants")]
            mutant: job.1,
        };
        let result = act(rma, &mut port);
        let Port { completed, refused, .. } = port;
        match refused {
            Some(words) => Err(self.refuse(&words, "a one-sided packet")),
            None => Ok((result, completed)),
        }
    }

    fn requests_complete(
        &mut self,
        completed: Vec<Handle>,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        for request in completed {
            self.complete(Key::User(request), Outcome::Sent, None, None, out)?;
        }
        Ok(())
    }

    pub(super) fn one_sided_packet(
        &mut self,
        thread: Thread,
        from: Route,
        packet: &Arc<RmaPacket>,
        landing: Option<Region>,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let (told, completed) =
            self.with_rma(thread, out, |rma, port| rma.packet(from, packet, landing, port))?;
        told.map_err(|words| self.refuse(&words, packet))?;
        self.requests_complete(completed, out)?;
        self.look_at_goals(thread, out)
    }

    pub(super) fn one_sided_done(
        &mut self,
        thread: Thread,
        token: Token,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let (known, completed) = self.with_rma(thread, out, |rma, port| rma.done(token, port))?;
        known.ok_or_else(|| self.defect("no RDMA operation of a window has this name", token))?;
        self.requests_complete(completed, out)?;
        self.look_at_goals(thread, out)
    }

    /// The numbers of a window's lock were read.
    pub(super) fn one_sided_numbers(
        &mut self,
        thread: Thread,
        token: Token,
        values: [u32; ASKED],
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let (known, completed) =
            self.with_rma(thread, out, |rma, port| rma.numbers(token, values, port))?;
        known.ok_or_else(|| self.defect("no lock of a window has this name", token))?;
        self.requests_complete(completed, out)?;
        self.look_at_goals(thread, out)
    }

    /// Threads whose goals are reached return.
    fn look_at_goals(
        &mut self,
        thread: Thread,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let (reached, completed) = self.with_rma(thread, out, Rma::reached)?;
        self.requests_complete(completed, out)?;
        for thread in reached {
            self.pending[usize::from(thread.0)] = None;
            push_return(thread, Reply::Done, out);
        }
        reads_last(out);
        Ok(())
    }

    /// The pass of `MPI_Win_test` is over.
    pub(super) fn window_tested(
        &mut self,
        thread: Thread,
        win: Win,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let (flag, _) = self.with_rma(thread, out, |rma, port| rma.test_again(win, port))?;
        push_return(thread, Reply::Flag(flag), out);
        Ok(())
    }

    /// A wait for the request of an operation is a local flush of its target.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "one test, where there are no windows")]
    pub(super) fn flush_for(
        &mut self,
        thread: Thread,
        key: Key,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        if self.rma.is_none() { Ok(()) } else { self.flush_one_sided(thread, key, out) }
    }

    fn flush_one_sided(
        &mut self,
        thread: Thread,
        key: Key,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let Key::User(request) = key else { return Ok(()) };
        let one_sided = self.requests.get(key).is_some_and(|open| open.body == Body::OneSided);
        if !one_sided {
            return Ok(());
        }
        let ((), completed) =
            self.with_rma(thread, out, |rma, port| rma.waited_for(request, port))?;
        self.requests_complete(completed, out)
    }
}

/// A reading of counters ends its list.
fn reads_last(out: &mut [LibraryAction]) {
    let reads = |action: &LibraryAction| matches!(action, Action::Consult { .. });
    if let Some(place) = out.iter().position(reads) {
        out[place..].rotate_left(1);
    }
}
