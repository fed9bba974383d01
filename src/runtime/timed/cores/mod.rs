//! The cores of the job: their threads, and how long their work takes.
//!
//! A core stretches its work by what its siblings on the same issue slots and the operating system
//! take. A thread that is alone in its process and on its core runs ahead of the clock: it hears of
//! others only where it polls, and what they can see of it (departures, receive buffers given back,
//! copies by memory) is set for its own time. So the end of its list needs no event.

pub(super) mod actor;
mod lists;
pub(super) mod polls;
mod worker;

use super::context::Context;
use super::costs::Costs;
use super::event::{Event, Phase};
use super::setup::Placement;
use crate::account::{Account, Part};
use crate::causes::{Spender, Spent};
use crate::deadlock::{self, Standing};
use actor::{Actor, After, State, Ties};
use hardware::core::{IssueSlots, Place};
use lists::Lists;
use protocols::contract::{ActionOf, Machine, Process, Program, Thread, Wait, WaitSet};
use units::{Time, TimeDelta};
pub(super) use worker::Worker;

/// All threads, and what they share of their cores.
#[derive(Debug)]
pub(super) struct Cores<M: Machine, P> {
    threads: Vec<Actor<M, P>>,
    slots: IssueSlots,
    lists: Lists<M::Packet, M::Reply>,
    /// Threads that run ahead of the clock, and when what they did last is over.
    ahead: Vec<(u32, Time)>,
    /// Queue entries that were compared.
    entries_visited: u64,
}

impl<M: Machine, P: Program<M>> Cores<M, P> {
    /// The threads of processes in order, with their placements and programs; `runs_ahead`: whether
    /// threads may run ahead of the clock; `phantom`: whether messages have no bytes.
    pub(super) fn new(
        threads: &[u16],
        placements: Vec<Placement>,
        programs: Vec<P>,
        (runs_ahead, phantom): (bool, bool),
        costs: &Costs,
    ) -> Self {
        let cores = placements.iter().map(|placement| placement.core + 1).max().unwrap_or(0);
        let slots = IssueSlots::new(&costs.profile.cpu, cores);
        let mut sharing = vec![0_u32; cores];
        for placement in &placements {
            sharing[placement.core] += 1;
        }
        // An adapter that matches takes messages of a thread that is outside the library.
        let runs_ahead = runs_ahead && !costs.profile.hca.matching_on_nic;
        let names = (0_u32..).zip(threads).flat_map(|(process, &threads)| {
            (0..threads).map(move |thread| ((Process(process), Thread(thread)), threads == 1))
        });
        let threads = names
            .zip(placements)
            .zip(programs)
            .map(|(((name, single), placement), program)| {
                let alone = runs_ahead && single && sharing[placement.core] == 1;
                Actor::new(name, (alone, phantom), placement, program)
            })
            .collect();
        Self { threads, slots, lists: Lists::new(), ahead: Vec::new(), entries_visited: 0 }
    }

    /// Observers note all work from now on.
    pub(super) fn note_all_work(&mut self) {
        for actor in &mut self.threads {
            actor.ties = actor.ties.min(Ties::Alone);
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (u32, &Actor<M, P>)> {
        (0..).zip(&self.threads)
    }

    #[inline]
    pub(super) const fn of(&self, thread: u32) -> &Actor<M, P> {
        &self.threads.as_slice()[thread as usize]
    }

    #[inline]
    pub(super) const fn of_mut(&mut self, thread: u32) -> &mut Actor<M, P> {
        &mut self.threads.as_mut_slice()[thread as usize]
    }

    #[inline]
    pub(super) fn names(&self, thread: u32) -> (Process, Thread) {
        let actor = self.of(thread);
        (actor.process, actor.inner)
    }

    /// Where a thread runs.
    #[inline]
    pub(super) fn place(&self, thread: u32) -> Place {
        self.of(thread).placement.place
    }

    pub(super) const fn count(&self) -> usize {
        self.threads.len()
    }

    pub(super) fn all_ended(&self) -> bool {
        self.threads.iter().all(Actor::ended)
    }

    pub(super) const fn entries_visited(&self) -> u64 {
        self.entries_visited
    }

    pub(super) fn accounts(&self) -> Vec<Account> {
        self.threads.iter().map(|actor| actor.account).collect()
    }

    /// When the last thread had nothing left to do.
    pub(super) fn idle_since(&self) -> Time {
        self.threads.iter().map(|actor| actor.since).fold(Time::ZERO, Time::max)
    }

    /// Threads, as explanations name them.
    pub(super) fn spenders(&self) -> impl Iterator<Item = Spender> {
        self.threads.iter().map(|actor| Spender::Thread(actor.process, actor.inner))
    }

    pub(super) fn into_programs(self) -> Vec<P> {
        // Collected in place, they would keep the room of the actors, many times theirs.
        let mut programs = Vec::with_capacity(self.threads.len());
        programs.extend(self.threads.into_iter().map(|actor| actor.program));
        programs
    }

    /// Standing of each thread, with its waits.
    pub(super) fn standings(&self, libraries: &[M]) -> Vec<Standing> {
        self.threads.iter().map(|actor| actor_standing(actor, libraries)).collect()
    }

    /// A thread works from now on: its siblings slow down.
    #[inline]
    pub(super) fn occupy(&mut self, thread: u32) {
        let actor = &self.threads[thread as usize];
        if !actor.is_alone() {
            self.slots.begin(actor.placement.core, TimeDelta::ZERO);
        }
    }

    /// It does not any more.
    #[inline]
    pub(super) fn vacate(&mut self, thread: u32) {
        let actor = &self.threads[thread as usize];
        if !actor.is_alone() {
            self.slots.end(actor.placement.core);
        }
    }

    /// A thread dies with its process.
    pub(super) fn kill(&mut self, thread: u32) {
        let actor = self.of_mut(thread);
        let busy = matches!(actor.state, State::Working | State::Computing);
        actor.state = State::Ended;
        actor.polls.stop();
        if busy {
            self.vacate(thread);
        }
    }

    /// A thread that works, and what it shares of its core.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it only hands on")]
    pub(super) fn worker(&mut self, thread: u32) -> Worker<'_, M, P> {
        let Self { threads, slots, lists, entries_visited, .. } = self;
        let actor = &mut threads[thread as usize];
        Worker { thread, actor, slots, lists, entries_visited }
    }

    /// Work of a core from `cursor` on: stretched by its siblings and by the operating system.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "two additions, where a thread is alone")]
    pub(super) fn charge(
        &mut self,
        thread: u32,
        part: Part,
        cursor: Time,
        work: TimeDelta,
        cx: &mut Context,
    ) -> Time {
        self.worker(thread).charge(part, cursor, work, cx)
    }

    /// The same, where explanations tell it apart from other work of its part.
    pub(super) fn charge_as(
        &mut self,
        thread: u32,
        spent: (Part, Spent),
        cursor: Time,
        work: TimeDelta,
        cx: &mut Context,
    ) -> Time {
        self.worker(thread).charge_as(spent, cursor, work, cx)
    }

    /// A core stands still until a line is there: see [`Worker::stand_still`].
    pub(super) fn stand_still(
        &mut self,
        thread: u32,
        part: Part,
        cursor: Time,
        wait: TimeDelta,
        cx: &mut Context,
    ) -> Time {
        self.worker(thread).stand_still(part, cursor, wait, cx)
    }

    /// An empty list gets room before its thread works.
    #[inline]
    pub(super) fn lend_list(&mut self, thread: u32) {
        self.worker(thread).lend_list();
    }

    /// A list is worked through.
    #[inline]
    pub(super) fn give_back(&mut self, list: Vec<ActionOf<M>>) {
        self.lists.give_back(list);
    }

    /// Ends a thread's list at `at`, when it goes on: at once, where it runs ahead.
    pub(super) fn end_list(&mut self, thread: u32, at: Time, cx: &mut Context) {
        let actor = &self.threads[thread as usize];
        // A pass looks at its channels when it goes on: it must not look before its time.
        if actor.is_alone() && actor.after == After::Nothing && !actor.polls.is_pass() {
            self.ahead.push((thread, at));
        } else {
            cx.schedule(at, thread, Phase::Library, Event::ListEnd(thread));
        }
    }

    /// Whether some threads run ahead of the clock.
    #[inline]
    pub(super) const fn run_ahead(&self) -> bool {
        !self.ahead.is_empty()
    }

    /// A thread that runs ahead, and when what it did last is over.
    #[inline]
    pub(super) fn next_ahead(&mut self) -> Option<(u32, Time)> {
        self.ahead.pop()
    }

    /// Threads have run as far ahead as they may: the ends of their lists are events.
    pub(super) fn stop_ahead(&mut self, cx: &mut Context) {
        while let Some((thread, at)) = self.ahead.pop() {
            cx.schedule(at, thread, Phase::Library, Event::ListEnd(thread));
        }
    }
}

/// Standing of a thread, with its waits.
pub(super) fn actor_standing<M: Machine, P: Program<M>>(
    actor: &Actor<M, P>,
    libraries: &[M],
) -> Standing {
    let (process, thread) = (actor.process, actor.inner);
    let waits = libraries[process.0 as usize].waits(thread);
    let waits = waits.or_else(|| actor.waits_for_threads().then(|| deadlock::for_threads(process)));
    let of_waits = waits.iter().flat_map(WaitSet::waits);
    let begun = |wait: &Wait| Some((wait.origin, actor.program.begun_at(wait.origin)?));
    let begun = of_waits.filter_map(begun).collect();
    let waits = waits.map(|waits| waits.located(|call| actor.program.line_of(call)));
    Standing {
        process,
        thread,
        ended: actor.ended(),
        waits: waits.filter(|_| !actor.ended()),
        position: actor.program.position(),
        site: actor.program.call_site(),
        begun,
        since: Some(actor.since),
    }
}
