//! Threads that the first one of their process creates, and waits for.

use crate::account::Part;
use crate::monitors::buffers::Lends;
use crate::timed::conductor::Timed;
use crate::timed::cores::actor::State;
use crate::timed::event::Happening;
use crate::timed::event::Phase;
use protocols::contract::{Machine, Process, Program};
use units::Time;

impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// Creates the other threads of the process, one after the other.
    pub(in crate::timed) fn fork(&mut self, thread: u32, at: Time) {
        let create = self.cx.costs.profile.os.thread_create;
        let (process, _) = self.names(thread);
        let others = self.threads_of(process).skip(1);
        let born = others.len() as u64;
        for (other, number) in others.zip(1..) {
            let begins = at + create * number;
            self.note(|trail| trail.forks(thread, other));
            self.schedule(begins, other, Phase::Start, Happening::Begin(other));
        }
        self.outside(thread, create * born, at);
    }

    /// Where the first thread waits for the others, and all have ended: it goes on.
    pub(in crate::timed) fn joined(&mut self, process: Process, at: Time) {
        let threads = self.threads_of(process);
        let (first, others) = (threads.start, threads.skip(1));
        let born = others.len() as u64;
        let ended = others.clone().all(|other| self.cores.actors[other as usize].ended());
        let actor = self.actor(first);
        if actor.state == State::Joining && ended {
            let waited = at.since(actor.since);
            actor.account.add(Part::Wait, waited);
            self.note(|trail| trail.joins(first, others, at));
            let join = self.cx.costs.profile.os.thread_join;
            self.outside(first, join * born, at);
        }
    }
}
