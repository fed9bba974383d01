//! Waits, tests and probes: which requests end a call, and how it returns.

use super::answers::push_return;
use super::requests::Body;
use super::threads::Pending;
use super::{
    Action, Handle, Key, Library, LibraryAction, Outcome, ProtocolError, Reply, Selection, Thread,
    Token,
};
use crate::call::Requests;
use crate::contract::{Emit, Step};

impl Library {
    /// Returns at once if `key` is complete, else waits for it.
    pub(super) fn wait_one(
        &mut self,
        thread: Thread,
        key: Key,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        if self.messages.must_wait(key, thread)? {
            self.threads.wait(thread, Pending::One(key));
        } else {
            let outcome = self.messages.close(key);
            push_return(thread, Reply::Outcome(outcome), out);
        }
        Ok(())
    }

    pub(super) fn wait_all(
        &mut self,
        thread: Thread,
        requests: Requests,
        statuses: bool,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.emit(|| Action::Work(Step::Query));
        let mut remaining = 0;
        for i in 0..requests.len() {
            let key = Key::User(requests.at(i));
            self.flush_for(thread, key, out)?;
            remaining += u32::from(self.messages.must_wait(key, thread)?);
        }
        if remaining == 0 {
            self.return_all(thread, &requests, statuses, out);
        } else {
            self.threads.wait(thread, Pending::All { requests, statuses, remaining });
        }
        Ok(())
    }

    pub(super) fn wait_any(
        &mut self,
        thread: Thread,
        requests: Requests,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.emit(|| Action::Work(Step::Query));
        for i in 0..requests.len() {
            self.flush_for(thread, Key::User(requests.at(i)), out)?;
        }
        let mut open = false;
        for i in 0..requests.len() {
            let key = Key::User(requests.at(i));
            let Some(request) = self.messages.requests().get(key) else { continue };
            if let Body::Complete(_) = request.body {
                let outcome = self.messages.close(key);
                let index = u32::try_from(i).expect("a set of requests is indexed by u32");
                push_return(thread, Reply::Any { index, outcome }, out);
                return Ok(());
            }
            open = true;
        }
        if !open {
            let state = "MPI_Waitany of requests that are all closed";
            return Err(self.messages.site().refuse(state, requests));
        }
        for i in 0..requests.len() {
            self.messages.await_end(Key::User(requests.at(i)), Some(thread));
        }
        self.threads.wait(thread, Pending::Any(requests));
        Ok(())
    }

    /// A wait for the request of a one-sided operation is a local flush of its target.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "one test, where there are no windows")]
    pub(super) fn flush_for(
        &mut self,
        thread: Thread,
        key: Key,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        if self.windows.rma().is_none() { Ok(()) } else { self.flush_window(thread, key, out) }
    }

    fn flush_window(
        &mut self,
        thread: Thread,
        key: Key,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let completed = self.windows.flush_for(&self.messages, thread, key, out)?;
        self.requests_complete(completed, out)
    }

    /// Answers at once if complete, else makes one pass first.
    pub(super) fn begin_test(
        &mut self,
        thread: Thread,
        pending: Pending,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.emit(|| Action::Work(Step::Query));
        if let Pending::Test(request) = &pending {
            self.flush_for(thread, Key::User(*request), out)?;
        }
        if let Pending::TestAll(requests) = &pending {
            for i in 0..requests.len() {
                self.flush_for(thread, Key::User(requests.at(i)), out)?;
            }
        }
        if let Some(reply) = self.test_now(&pending)? {
            push_return(thread, reply, out);
        } else {
            self.threads.wait(thread, pending);
            out.emit(|| Action::Poll(Token(u64::from(thread.0))));
        }
        Ok(())
    }

    /// The reply of a test whose flag is true.
    fn test_now(&mut self, pending: &Pending) -> Result<Option<Reply>, ProtocolError> {
        if let Pending::Test(handle) = pending {
            let key = Key::User(*handle);
            let done = self.messages.outcome(key)?.is_some();
            return Ok(done.then(|| Reply::Tested(Some(self.messages.close(key)))));
        }
        let Pending::TestAll(requests) = pending else { unreachable!("{pending:?} is no test") };
        for i in 0..requests.len() {
            if self.messages.outcome(Key::User(requests.at(i)))?.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(Reply::AllTested(Some(self.close_all(requests)))))
    }

    /// Closes a set of requests that are all complete.
    fn close_all<T: FromIterator<Outcome>>(&mut self, requests: &Requests) -> T {
        (0..requests.len()).map(|i| self.messages.close(Key::User(requests.at(i)))).collect()
    }

    /// Looks into the unexpected queue; returns from the probe if it finds its message.
    pub(super) fn probe_now(
        &mut self,
        thread: Thread,
        selection: Selection,
        take: Option<Handle>,
        out: &mut Vec<LibraryAction>,
    ) -> bool {
        let status = self.messages.probe(thread, selection, take, out);
        if status.is_some() {
            self.threads.end(thread);
            push_return(thread, Reply::Probed(status), out);
        }
        status.is_some()
    }

    /// The pass of a test is over: it is answered when no copy is under way.
    pub(super) fn test_polled(
        &mut self,
        thread: Thread,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        if self.messages.test_waits(thread) { Ok(()) } else { self.polled(thread, out) }
    }

    /// The pass of a test or of a probe with a flag is over.
    fn polled(
        &mut self,
        thread: Thread,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let pending = self.threads.take(thread);
        match pending {
            Some(pending @ (Pending::Test(_) | Pending::TestAll(_))) => {
                let false_flag = if matches!(pending, Pending::Test(_)) {
                    Reply::Tested(None)
                } else {
                    Reply::AllTested(None)
                };
                let reply = self.test_now(&pending)?.unwrap_or(false_flag);
                push_return(thread, reply, out);
                Ok(())
            }
            Some(Pending::WindowPass) => {
                push_return(thread, Reply::Done, out);
                Ok(())
            }
            Some(Pending::WindowTest(win)) => {
                let flag = self.windows.test_again(&self.messages, thread, win, out)?;
                push_return(thread, Reply::Flag(flag), out);
                Ok(())
            }
            Some(Pending::Probe { selection, take, flag: true }) => {
                if !self.probe_now(thread, selection, take, out) {
                    push_return(thread, Reply::Probed(None), out);
                }
                Ok(())
            }
            other => Err(self.messages.site().defect("the thread asked for no pass", other)),
        }
    }

    /// What a list must still end with, after an input was handled, while the thread has work.
    pub(super) fn arrange(
        &mut self,
        thread: Thread,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let in_test = self.threads.is_testing(thread);
        if self.messages.arrange(thread, in_test, out)? {
            self.polled(thread, out)?;
            self.messages.end_work(thread, out);
        }
        Ok(())
    }

    /// Returns from the wait for all: every request of the set is complete.
    pub(super) fn return_all(
        &mut self,
        thread: Thread,
        requests: &Requests,
        statuses: bool,
        out: &mut Vec<LibraryAction>,
    ) {
        let reply = if statuses {
            Reply::All(self.close_all(requests))
        } else {
            for i in 0..requests.len() {
                self.messages.close(Key::User(requests.at(i)));
            }
            Reply::Done
        };
        push_return(thread, reply, out);
    }

    /// Returns from the wait for any: no thread waits for the other requests of the set.
    pub(super) fn return_any(
        &mut self,
        thread: Thread,
        requests: &Requests,
        key: Key,
        out: &mut Vec<LibraryAction>,
    ) {
        for i in 0..requests.len() {
            self.messages.await_end(Key::User(requests.at(i)), None);
        }
        let index = (0..requests.len()).find(|&i| Key::User(requests.at(i)) == key);
        let index = index.expect("the waiter was registered for a request of its set");
        let index = u32::try_from(index).expect("a set of requests is indexed by u32");
        let outcome = self.messages.close(key);
        push_return(thread, Reply::Any { index, outcome }, out);
    }

    /// The call of a thread with data on a GPU returns, if all of it is over.
    pub(super) fn end_device(&mut self, thread: Thread, out: &mut Vec<LibraryAction>) {
        if let Some(Pending::Device(exchanging)) = self.threads.get(thread)
            && let Some(outcome) = exchanging.end(&mut self.messages, thread)
        {
            self.threads.end(thread);
            push_return(thread, Reply::Outcome(outcome), out);
        }
    }

    /// One-sided operations are complete.
    pub(super) fn requests_complete(
        &mut self,
        completed: Vec<Handle>,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        for request in completed {
            let key = Key::User(request);
            let wake = self.messages.complete(key, Outcome::Sent, None, None, out);
            self.wake(wake, out)?;
        }
        Ok(())
    }
}
