//! Threads inside a call with no work left: they poll, alone or in turns under the lock.
//!
//! ```text
//!   no lock    poll, poll, poll … ─ meets something ─▶ handles it ─▶ polls on
//!   lock       wait for it ─▶ one pass ─┬ meets something: handles it ─▶ releases ─▶ waits again
//!                                       └ nothing: releases [unfair: yields its core] ─▶ waits again
//! ```
//!
//! Polls are no events. Turns under a lock keep others out, and are steps of the lock (`turns.rs`):
//! events while somebody else wants it, or something waits to be found, and arithmetic otherwise.

use crate::account::Part;
use crate::monitors::buffers::Lends;
use crate::timed::conductor::Timed;
use crate::timed::cores::actor::Entering;
use crate::timed::cores::actor::State;
use crate::timed::event::Happening;
use crate::timed::event::Phase;
use crate::timed::network::flight::Arrived;
use crate::timed::ports::Polled;
use crate::timed::ports::Position;
use crate::timed::setup::Planted;
use protocols::contract::Machine;
use protocols::contract::Program;
use protocols::contract::{Entry, Lane, Process, Token};
use units::{Time, TimeDelta};

/// Polls that come to an end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Pass {
    /// What the end of a test's pass is called by; a turn under the lock has none.
    token: Option<Token>,
    /// Polls that are left from the thread's position on.
    left: u32,
}

impl Pass {
    pub(super) const fn of_test(token: Token, polls: u32) -> Self {
        Self { token: Some(token), left: polls }
    }

    pub(super) const fn is_of_test(self) -> bool {
        self.token.is_some()
    }
}

impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// A thread inside a call, with no work left from `at` on, polls.
    pub(super) fn poll_on(&mut self, thread: u32, at: Time) {
        let (process, inner) = self.names(thread);
        let polled = self.look_at_lanes(thread);
        // Polls that cost nothing keep nobody out.
        let locked = polled.cost > TimeDelta::ZERO && self.cx.planted != Some(Planted::NoLock);
        let guard = self.libraries[process.0 as usize].guard(inner, &Entry::Poll);
        let actor = self.actor(thread);
        if locked && guard.is_some() && actor.holds.is_none() {
            return self.enter(thread, Entering::Turn, at);
        }
        self.poll_from(thread, at);
    }

    /// The channels that a thread polls in its present call.
    #[inline]
    pub(super) fn look_at_lanes(&mut self, thread: u32) -> Polled {
        let (process, inner) = self.names(thread);
        let lanes = self.libraries[process.0 as usize].polls(inner);
        let polled = self.ports.pollers[process.0 as usize].polled(lanes);
        let actor = self.actor(thread);
        actor.polled = polled;
        if !polled.contains(actor.position.channel) {
            actor.position.channel = polled.first;
        }
        polled
    }

    /// A turn of polling begins, under the lock.
    pub(super) fn turn(&mut self, thread: u32, at: Time) {
        let polls = self.look_at_lanes(thread).len;
        let actor = self.actor(thread);
        if actor.reply.is_some() {
            // While it waited for the lock, another thread has ended its call.
            self.note(|trail| trail.sees_answer(thread, at));
            return self.work_on(thread, at, false);
        }
        let (alone, core) = (actor.alone, actor.placement.core);
        actor.pass.get_or_insert(Pass { token: None, left: polls });
        if !alone {
            self.cores.slots.end(core);
        }
        self.poll_from(thread, at);
    }

    pub(in crate::timed) fn poll_from(&mut self, thread: u32, at: Time) {
        let (process, _) = self.names(thread);
        let poller = &self.ports.pollers[process.0 as usize];
        let actor = &mut self.cores.actors[thread as usize];
        actor.state = State::Polling;
        actor.position.since = at;
        actor.notice_at = None;
        let range = actor.polled;
        let ready = poller.next_ready(range, actor.position.channel);
        let polls = match (ready, actor.pass) {
            (Some(distance), pass) if pass.is_none_or(|pass| distance < pass.left) => {
                actor.target = Some(range.after(actor.position.channel, distance));
                distance + 1
            }
            (_, Some(pass)) => {
                actor.target = None;
                pass.left
            }
            // Nothing anywhere, or nothing to poll: parked until something arrives, or another
            // thread ends the call.
            (_, None) => return,
        };
        let meets = at + range.cost * u64::from(polls);
        self.notice_later(thread, meets);
    }

    pub(in crate::timed) fn notice_later(&mut self, thread: u32, at: Time) {
        let actor = self.actor(thread);
        actor.notice_at = Some(at);
        let idle = actor.target.is_none() && actor.pass.is_some_and(|pass| !pass.is_of_test());
        self.plan_turn(thread, idle.then_some(at));
        if !idle {
            let actor = self.actor(thread);
            actor.generation += 1;
            let event = Happening::Notice(thread, actor.generation);
            self.schedule(at, thread, Phase::Poll, event);
        }
    }

    /// A pass meets something, or ends.
    pub(super) fn notice(&mut self, thread: u32, generation: u32) {
        let now = self.cx.clock.simulation.now();
        let actor = &mut self.cores.actors[thread as usize];
        if actor.generation != generation || actor.state != State::Polling {
            return;
        }
        let polled = actor.polled;
        actor.notice_at = None;
        let spent = now.since(actor.position.since);
        // Polls before the last pass were for nothing.
        let last = spent.min(polled.cost * u64::from(polled.len));
        actor.account.add(Part::Wait, spent - last);
        actor.account.add(Part::Poll, last);
        let target = actor.target;
        self.note_poll(thread, target);
        let actor = self.actor(thread);
        if let Some(channel) = actor.target {
            if let Some(pass) = &mut actor.pass {
                pass.left -= polled.distance(actor.position.channel, channel) + 1;
            }
            actor.position.channel = polled.after(channel, 1);
            self.enter(thread, Entering::Take(channel), now);
        } else {
            let pass = actor.pass.take().expect("polls end only where they are a pass");
            let token = pass.token.expect("a turn that finds nothing is a step of its lock");
            self.enter(thread, Entering::Polled(token), now);
        }
    }

    /// Something arrives on a lane of `process`: the threads that poll it will meet it.
    pub(super) fn deliver(&mut self, process: Process, lane: Lane, arrived: Arrived) {
        let now = self.cx.clock.simulation.now();
        self.touch_receiver(process);
        self.settle(process);
        let (channel, entry) =
            self.ports.pollers[process.0 as usize].push(lane, arrived, &mut self.ports.entries);
        self.note(|trail| trail.entry(entry));
        self.adapter_looks(process);
        for thread in self.threads_of(process) {
            let actor = &self.cores.actors[thread as usize];
            let polled = actor.polled;
            if actor.state != State::Polling || !polled.contains(channel) {
                continue;
            }
            let Position { channel: from, since } = actor.position;
            let at = polled.meets(actor.position, channel, now);
            let ahead = |to: u32| polled.distance(from, to);
            let missed = actor.pass.is_some_and(|pass| {
                at > since + polled.cost * u64::from(pass.left) || ahead(channel) >= pass.left
            });
            if missed {
                continue;
            }
            match actor.notice_at {
                Some(planned) if planned < at => {}
                // Polls that cost nothing meet everything at once: the next channel comes first.
                Some(planned) if planned == at && actor.target.is_some() => {
                    if actor.target.is_some_and(|target| ahead(channel) < ahead(target)) {
                        self.actor(thread).target = Some(channel);
                    }
                }
                Some(_) | None => {
                    self.actor(thread).target = Some(channel);
                    self.notice_later(thread, at);
                }
            }
        }
    }
}
