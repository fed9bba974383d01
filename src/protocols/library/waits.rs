//! Waits, tests and probes: which requests end a call, and how it returns.

use super::answers::push_return;
use super::requests::Body;
use super::threads::{Pending, TestOf};
use super::{
    Action, Handle, Key, Library, LibraryAction, Outcome, ProtocolError, Reply, Selection, Thread,
    Token,
};
use crate::call::Requests;
use crate::contract::{CodePath, Emit};

impl Library {
    /// Returns at once if `key` is complete, else waits for it.
    pub(super) fn wait_one(
        &mut self,
        thread: Thread,
        key: Key,
        out: &mut impl Emit<LibraryAction>,
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
        out: &mut impl Emit<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.emit(|| Action::Work(CodePath::Query));
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

    /// `MPI_Waitany`, or (`some`) `MPI_Waitsome`.
    pub(super) fn wait_any(
        &mut self,
        thread: Thread,
        (requests, some): (Requests, bool),
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.emit(|| Action::Work(CodePath::Query));
        for i in 0..requests.len() {
            self.flush_for(thread, Key::User(requests.at(i)), out)?;
        }
        let mut open = false;
        for i in 0..requests.len() {
            let key = Key::User(requests.at(i));
            let Some(request) = self.messages.requests().get(key) else { continue };
            if let Body::Complete(_) = request.body {
                let reply = if some {
                    Reply::Some(self.close_complete(&requests))
                } else {
                    Reply::Any { index: number(i), outcome: self.messages.close(key) }
                };
                push_return(thread, reply, out);
                return Ok(());
            }
            open = true;
        }
        if !open {
            let state = "a wait for one of requests that are all closed";
            return Err(self.messages.site().refuse(state, requests));
        }
        for i in 0..requests.len() {
            self.messages.await_end(Key::User(requests.at(i)), Some(thread));
        }
        self.threads.wait(thread, Pending::Any { requests, some });
        Ok(())
    }

    /// A wait for the request of a one-sided operation is a local flush of its target.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "one test, where there are no windows")]
    pub(super) fn flush_for(
        &mut self,
        thread: Thread,
        key: Key,
        out: &mut impl Emit<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        if self.windows.rma().is_none() {
            return Ok(());
        }
        self.flush_window(thread, key, out.list())
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
        out.emit(|| Action::Work(CodePath::Query));
        if let Pending::Test { request, .. } = &pending {
            self.flush_for(thread, Key::User(*request), out)?;
        }
        if let Pending::TestSet(_, requests) = &pending {
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
        if let Pending::Test { request, keeps } = pending {
            let key = Key::User(*request);
            let outcome = self.messages.outcome(key)?;
            if outcome.is_some() && !keeps {
                self.messages.close(key);
            }
            return Ok(outcome.map(|outcome| Reply::Tested(Some(outcome))));
        }
        let Pending::TestSet(of, requests) = pending else {
            unreachable!("{pending:?} is no test")
        };
        let mut complete = None;
        let mut all = true;
        for i in 0..requests.len() {
            match self.messages.outcome(Key::User(requests.at(i)))? {
                None if *of == TestOf::All => return Ok(None),
                None => all = false,
                Some(_) => complete = complete.or(Some(i)),
            }
        }
        Ok(match of {
            TestOf::All => all.then(|| Reply::AllTested(Some(self.close_all(requests)))),
            TestOf::Any => complete.map(|i| {
                let outcome = self.messages.close(Key::User(requests.at(i)));
                Reply::AnyTested(Some((number(i), outcome)))
            }),
            TestOf::Some => complete.map(|_| Reply::Some(self.close_complete(requests))),
        })
    }

    /// Closes those of a set that are complete.
    fn close_complete(&mut self, requests: &Requests) -> Box<[(u32, Outcome)]> {
        let messages = &mut self.messages;
        let ended = (0..requests.len()).filter_map(|i| {
            let key = Key::User(requests.at(i));
            let Body::Complete(_) = messages.requests().get(key)?.body else { return None };
            Some((number(i), messages.close(key)))
        });
        ended.collect()
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
            Some(pending @ (Pending::Test { .. } | Pending::TestSet(..))) => {
                let false_flag = if let Pending::TestSet(of, _) = pending {
                    match of {
                        TestOf::All => Reply::AllTested(None),
                        TestOf::Any => Reply::AnyTested(None),
                        TestOf::Some => Reply::Some([].into()),
                    }
                } else {
                    Reply::Tested(None)
                };
                let reply = self.test_now(&pending)?.unwrap_or(false_flag);
                push_return(thread, reply, out);
                Ok(())
            }
            Some(Pending::Arrived(request, partition)) => {
                let flag = self.arrived(request, partition)?;
                push_return(thread, Reply::Flag(flag), out);
                Ok(())
            }
            Some(Pending::WindowPass) => {
                push_return(thread, Reply::Done, out);
                Ok(())
            }
            Some(Pending::WindowCall(call)) => self.take_one_sided(thread, &call, out),
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

    /// Appends the actions that a list must still end with, after an input was handled, while the thread has work.
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
        out: &mut impl Emit<LibraryAction>,
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

    /// Returns from the wait for any (or some): no thread waits for the other requests of the set.
    pub(super) fn return_any(
        &mut self,
        thread: Thread,
        requests: &Requests,
        (key, some): (Key, bool),
        out: &mut Vec<LibraryAction>,
    ) {
        for i in 0..requests.len() {
            self.messages.await_end(Key::User(requests.at(i)), None);
        }
        if some {
            return push_return(thread, Reply::Some(self.close_complete(requests)), out);
        }
        let index = (0..requests.len()).find(|&i| Key::User(requests.at(i)) == key);
        let index = index.expect("the waiter was registered for a request of its set");
        let outcome = self.messages.close(key);
        push_return(thread, Reply::Any { index: number(index), outcome }, out);
    }

    /// `MPI_Finalize` waits for the requests that the program has freed.
    pub(super) fn finalize(&mut self, thread: Thread, out: &mut Vec<LibraryAction>) {
        self.threads.wait(thread, Pending::Finalize);
        self.end_finalize(out);
    }

    /// Threads in `MPI_Finalize` return where no request that was freed is open any more.
    pub(super) fn end_finalize(&mut self, out: &mut Vec<LibraryAction>) {
        if self.messages.requests().has_freed() {
            return;
        }
        for thread in self.threads.finalizing() {
            self.threads.end(thread);
            push_return(thread, Reply::Done, out);
        }
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

/// A place in a set of requests.
fn number(index: usize) -> u32 {
    u32::try_from(index).expect("a set of requests is indexed by u32")
}
