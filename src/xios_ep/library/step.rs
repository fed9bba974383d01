//! What the thread hears, and what it does next: checks, matched receives, requests.
//!
//! ```text
//!   check   lock ─▶ MPI_Improbe ─▶ append, unlock ─┬ found: again
//!                                                  └ nothing: walk the pending list ─▶ MPI_Imrecv …
//!   then    Irecv returns | Test, Wait: see `request::step` | a probe looks into the list
//!
//!   collectives: see `collective`
//! ```

use super::collective::At;
use super::making::Made;
use super::start::stated;
use super::thread::{Endpoint, Goal, Open, Stage, Step, Waiting, Walk};
use super::{EpReply, Found, Seat, SharedOp, SharedReply};
use crate::message::{ANY, Message, Probed};
use crate::request::{self, Event, State};
use mpi::envelope::Rank;
use protocols::call::{Call, Comm, Outcome, Peer, Reply, Status};
use protocols::contract::Handle;

/// Receives that have their message.
type Served = Box<[(Handle, Message<Found>)]>;

impl Endpoint {
    /// Handles the reply to the call that the endpoint library made.
    pub(super) fn heard(&mut self, reply: EpReply) -> Step {
        match reply {
            EpReply::Mpi(reply) => self.heard_of_mpi(reply),
            EpReply::Shared(reply) => self.heard_of_memory(reply),
        }
    }

    fn heard_of_mpi(&mut self, reply: Reply) -> Step {
        match (std::mem::replace(&mut self.stage, Stage::Program), reply) {
            (Stage::Plain, reply) => Step::Answer(reply),
            (Stage::Probe { seat, at, message, walk }, Reply::Probed(status)) => {
                self.unlock((seat, at), message, status, walk)
            }
            (Stage::Start { served, at }, Reply::Done) => self.started(served, at),
            (Stage::Test(request), Reply::Tested(outcome)) => self.tested(request, outcome),
            (Stage::Wait(request), Reply::Outcome(outcome)) => self.complete(request, outcome),
            (Stage::Collective(at), Reply::Done) => self.after(at),
            (Stage::Making(made), reply) => self.made(made, reply),
            (Stage::Windows, Reply::Done) => self.act(),
            (stage, reply) => unreachable!("MPI answered {reply:?} to {stage:?}"),
        }
    }

    fn heard_of_memory(&mut self, reply: SharedReply) -> Step {
        match (std::mem::replace(&mut self.stage, Stage::Program), reply) {
            (Stage::Lock { seat, at, walk }, SharedReply::Woken) => {
                self.look(Stage::Lock { seat, at, walk }, seat.mpi)
            }
            (Stage::Collective(At::Turn), SharedReply::Woken) => self.after(At::Turn),
            (Stage::Collective(at), SharedReply::Woken) => {
                self.look(Stage::Collective(at), self.meeting())
            }
            (Stage::Making(Made::Taken), SharedReply::Woken) => self.take(),
            (Stage::Making(made), SharedReply::Woken) => {
                self.look(Stage::Making(made), self.old().mpi)
            }
            (Stage::Windows, SharedReply::Woken) => self.look(Stage::Windows, self.meets_in()),
            (Stage::Windows, SharedReply::Met(_)) => self.act(),
            (Stage::Lock { seat, at, walk }, SharedReply::Locked(message)) => {
                self.stage = Stage::Probe { seat, at, message, walk };
                // The only probe that is made: MPI knows neither endpoints nor their tags.
                let source = ANY.source.map_or(Peer::Any, |process| Peer::Rank(Rank(process)));
                Step::mpi(Call::Improbe { message, source, tag: ANY.tag, comm: at })
            }
            (Stage::Unlock { seat, at, more: true, walk }, SharedReply::Done) => {
                self.check_at(at, seat, walk)
            }
            (Stage::Unlock { seat, at, more: false, walk }, SharedReply::Done)
                if at == seat.mpi && seat.beside.is_some() =>
            {
                self.check_at(seat.beside.unwrap_or(at), seat, walk)
            }
            #[cfg(feature = "mutants")]
            (Stage::Unlock { seat, more: false, walk, .. }, SharedReply::Done)
                if self.checks_again() =>
            {
                self.check(seat, walk)
            }
            (Stage::Unlock { seat, more: false, walk, .. }, SharedReply::Done) => {
                self.stage = Stage::Walk;
                Step::shared(SharedOp::Walk(seat, walk))
            }
            (Stage::Walk, SharedReply::Served(served)) => self.start(served, 0),
            (Stage::Peek, SharedReply::Peeked(found)) => self.peeked(found),
            (Stage::Collective(at), SharedReply::Done) => self.after(at),
            (Stage::Collective(at), SharedReply::Met(all)) => {
                self.have_met(&all);
                self.after(at)
            }
            (Stage::Making(made), SharedReply::Met(all)) => self.makers_met(made, &all),
            (Stage::Making(made), reply) => self.told(made, reply),
            (stage, reply) => unreachable!("process memory answered {reply:?} to {stage:?}"),
        }
    }

    /// Looks again after it was woken, in the same stage.
    fn look(&mut self, stage: Stage, comm: Comm) -> Step {
        self.stage = stage;
        Step::shared(SharedOp::Look(comm))
    }

    /// Begins a check.
    pub(super) fn check(&mut self, seat: Seat, walk: Walk) -> Step {
        self.check_at(seat.mpi, seat, walk)
    }

    /// Goes on with a check at a communicator of MPI: an endpoint of an intercommunicator looks into
    /// that of its assigned group first, and into the one between both groups then.
    fn check_at(&mut self, at: Comm, seat: Seat, walk: Walk) -> Step {
        self.stage = Stage::Lock { seat, at, walk };
        Step::shared(SharedOp::Lock)
    }

    fn unlock(
        &mut self,
        (seat, at): (Seat, Comm),
        handle: Handle,
        status: Option<Status>,
        walk: Walk,
    ) -> Step {
        self.stage = Stage::Unlock { seat, at, more: status.is_some(), walk };
        let found = status.map(|status| Probed {
            message: Found { handle, bytes: status.count },
            source: status.source.expect("a message that was probed has a sender").0,
            tag: status.tag.expect("a message that was probed has a tag"),
        });
        Step::shared(SharedOp::Unlock { seat, at, found })
    }

    /// Starts the matched receive of a pending one; after all of them the check is over.
    fn start(&mut self, served: Served, at: usize) -> Step {
        let Some(&(request, Message { message, .. })) = served.get(at) else {
            return self.checked();
        };
        let Open { buffer, elements, .. } = &self.open[&request];
        let call = Call::Imrecv { message: message.handle, request, buffer: *buffer };
        let call = stated(call, elements.as_ref());
        self.stage = Stage::Start { served, at };
        Step::mpi(call)
    }

    fn started(&mut self, served: Served, at: usize) -> Step {
        let (request, Message { source, tag, .. }) = served[at];
        let open = self.open.get_mut(&request).expect("a pending receive is open");
        let matched = open.request.matched(request, source, tag);
        matched.expect("the pending list gives a receive what it wants");
        self.start(served, at + 1)
    }

    /// A check and the walk over the pending list are over.
    fn checked(&mut self) -> Step {
        match self.goal {
            Goal::Posted => Step::Answer(Reply::Done),
            Goal::One { call, request } => self.resume(request, call),
            Goal::All { .. } => self.next_of_all_after_check(),
            Goal::Probe { seat, wanted, .. } => {
                self.stage = Stage::Peek;
                Step::shared(SharedOp::Peek(seat, wanted))
            }
            Goal::Plain | Goal::Collective(_) | Goal::Making(_) | Goal::Windows(_) => {
                unreachable!("{:?} makes no check", self.goal)
            }
        }
    }

    fn next_of_all_after_check(&mut self) -> Step {
        let Goal::All { requests, outcomes, .. } = &self.goal else {
            unreachable!("asked of a wait for all only")
        };
        let request = requests.at(outcomes.len());
        let request = self.handle(request).expect("it was asked for before the check");
        self.resume(request, request::Call::Wait)
    }

    /// Goes on with a request after a check.
    fn resume(&mut self, request: Handle, call: request::Call) -> Step {
        let is_send =
            self.open.get(&request).is_some_and(|o| matches!(o.request.state, State::Send { .. }));
        // Checks are no part of a wait for a send: it begins anew.
        self.request(request, call, if is_send { Event::Called } else { Event::Checked })
    }

    /// The next step of a test or wait.
    pub(super) fn request(&mut self, request: Handle, call: request::Call, heard: Event) -> Step {
        let Some(open) = self.open.get(&request) else {
            return Step::refuse("no such request is open");
        };
        let step = request::step(call, &open.request, heard);
        match step.expect("MPI speaks of requests that it has only") {
            request::Advice::Check => {
                let seat = open.seat;
                self.check(seat, None)
            }
            request::Advice::MpiWait(mpi) if self.waiting == Waiting::AsWritten => {
                self.stage = Stage::Wait(request);
                Step::mpi(Call::Wait { request: mpi })
            }
            request::Advice::MpiTest(mpi) | request::Advice::MpiWait(mpi) => {
                self.stage = Stage::Test(request);
                Step::mpi(Call::Test { request: mpi })
            }
            // Where MPI has the request, its own word comes with an outcome: see `tested`.
            request::Advice::Return { .. } => {
                #[cfg(feature = "mutants")]
                if heard == Event::Checked
                    && let Some(step) = self.ends_pending(request)
                {
                    return step;
                }
                Step::Answer(Reply::Tested(None))
            }
        }
    }

    fn tested(&mut self, request: Handle, outcome: Option<Outcome>) -> Step {
        match (outcome, &self.goal) {
            (Some(outcome), _) => self.complete(request, outcome),
            (None, Goal::One { call: call @ request::Call::Test, .. }) => {
                let (call, heard) = (*call, Event::Tested { flag: false });
                self.request(request, call, heard)
            }
            (None, _) => {
                let seat = self.open[&request].seat;
                self.check(seat, None)
            }
        }
    }

    /// MPI's request is complete.
    fn complete(&mut self, request: Handle, outcome: Outcome) -> Step {
        let open = self.open.remove(&request).expect("it was waited for");
        let outcome = open.in_terms_of_endpoints(outcome);
        match &mut self.goal {
            Goal::One { call: request::Call::Wait, .. } => Step::Answer(Reply::Outcome(outcome)),
            Goal::One { call: request::Call::Test, .. } => {
                Step::Answer(Reply::Tested(Some(outcome)))
            }
            Goal::All { outcomes, .. } => {
                outcomes.push(outcome);
                self.next_of_all()
            }
            goal @ (Goal::Plain
            | Goal::Posted
            | Goal::Probe { .. }
            | Goal::Collective(_)
            | Goal::Making(_)
            | Goal::Windows(_)) => {
                unreachable!("{goal:?} waits for no request")
            }
        }
    }

    fn peeked(&mut self, found: Option<Message<Found>>) -> Step {
        let status = found.map(|found| Status {
            source: Some(found.source),
            tag: Some(found.tag),
            count: found.message.bytes,
        });
        match (status, &self.goal) {
            (None, &Goal::Probe { waits: true, seat, .. }) => self.check(seat, None),
            (status, _) => Step::Answer(Reply::Probed(status)),
        }
    }
}

impl Open {
    /// MPI names processes and packed tags; the program wants endpoints and its tags.
    fn in_terms_of_endpoints(&self, outcome: Outcome) -> Outcome {
        let (source, tag) = (self.request.source, self.request.tag);
        let named = |status: Status| match status.source {
            Some(_) => Status { source, tag, ..status },
            // `MPI_PROC_NULL`.
            None => status,
        };
        match outcome {
            Outcome::Received(status) => Outcome::Received(named(status)),
            Outcome::Truncated(status) => Outcome::Truncated(named(status)),
            Outcome::Sent | Outcome::Cancelled => outcome,
        }
    }
}
