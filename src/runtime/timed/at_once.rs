//! Actions that a core carries out while its library emits them, without a list of them.
//!
//! ```text
//!   emits ─▶ carried out ─▶ … ─┬▶ the call returns                    list end
//!                              └▶ cut, copy by memory, rare action ─▶ the list begins here ─▶ actions.rs
//! ```
//!
//! Nothing that such an action does shows inside the library, so that carrying it out between two of the
//! library's own steps is the same as after the last one. A thread that is alone, and whose work takes
//! what it takes, acts so.

use std::mem::ManuallyDrop;

use super::actions::is_return_of;
use super::cores::actor::Actor;
use super::executor::Executor;
use crate::rules::Cut;
use protocols::contract::{Action, ActionOf, Emit, Machine, Program};
use units::Time;

/// A thread whose library emits actions now.
pub(super) struct AtOnce<'a, M: Machine, P> {
    executor: Executor<'a, M, P>,
    /// When the next action begins.
    cursor: Time,
    /// Where the actions so far were cut into steps.
    cut: Cut,
    /// Whether actions stand in the list from now on.
    lists: bool,
    /// Whether the next action stands in the list: those before it do, or the call has returned.
    is_over: bool,
    /// Whether the list goes on with an event of memory.
    stops: bool,
}

/// How far a thread has come when its library has emitted its last action.
#[derive(Clone, Copy, Debug)]
pub(super) enum Came {
    /// All is carried out, until then.
    Through(Time),
    /// The list goes on from here.
    ToTheList(Time),
    /// The list goes on with an event of memory.
    ToMemory,
}

impl<'a, M: Machine, P: Program<M>> AtOnce<'a, M, P> {
    #[inline]
    pub(super) fn new(executor: Executor<'a, M, P>, cursor: Time) -> Self {
        Self { executor, cursor, cut: Cut::new(), lists: false, is_over: false, stops: false }
    }

    /// The library has emitted its last action.
    #[inline]
    pub(super) fn end(self) -> Came {
        if !self.lists {
            return Came::Through(self.cursor);
        }
        let Actor { next, cut, .. } = self.executor.worker.actor;
        (*next, *cut) = (0, self.cut);
        if self.stops { Came::ToMemory } else { Came::ToTheList(self.cursor) }
    }

    /// The list begins: a return that seemed to be the last action stands there.
    #[cold]
    #[inline(never)]
    fn begin_list(&mut self) {
        (self.lists, self.is_over) = (true, true);
        self.executor.worker.lend_list();
        let Actor { list, reply, returns, inner, .. } = self.executor.worker.actor;
        if std::mem::take(returns) {
            let reply = reply.take().expect("it was kept with the return");
            list.push(Action::Return { thread: *inner, reply });
        }
    }

    /// The next action begins a step that others can tell apart: the return of the call, which is kept as
    /// long as nothing follows it, or one that stands in the list.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "where the kind of the action is known, nothing is matched"
    )]
    fn stop_at(&mut self, action: ActionOf<M>) {
        let actor = &mut *self.executor.worker.actor;
        if !is_return_of(&action, actor.inner) {
            return self.append(|| action);
        }
        let Action::Return { reply, .. } = action else { unreachable!("it was matched") };
        (actor.reply, actor.returns) = (Some(reply), true);
        self.is_over = true;
    }

    /// The list begins, and goes on with an event of memory.
    #[cold]
    #[inline(never)]
    fn wait_for_memory(&mut self) {
        self.stops = true;
        self.begin_list();
    }

    /// The list begins with an action, or goes on with it.
    #[cold]
    #[inline(never)]
    fn append(&mut self, make: impl FnOnce() -> ActionOf<M>) {
        self.list().emit(make);
    }
}

impl<M: Machine, P: Program<M>> Emit<ActionOf<M>> for AtOnce<'_, M, P> {
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "where the kind of the action is known, nothing is matched"
    )]
    fn emit(&mut self, make: impl FnOnce() -> ActionOf<M>) {
        if self.is_over {
            return self.append(make);
        }
        let action = make();
        let before = self.cut;
        if self.cut.before(&action) {
            self.cut = before;
            return self.stop_at(action);
        }
        // Only a packet is owned, and it is moved: nothing is dropped, where each action would be asked.
        let action = ManuallyDrop::new(action);
        let (executor, cursor) = (&mut self.executor, self.cursor);
        #[expect(clippy::wildcard_enum_match_arm, reason = "a list takes every action")]
        let next = match &*action {
            Action::Work(step) => Some(executor.run_code(*step, cursor)),
            Action::Walk { queue, entries, length, fact } => {
                Some(executor.walk(*queue, (*entries, *length), fact.as_ref(), cursor))
            }
            Action::Copy { from, to } => executor.copy((*from, *to), cursor),
            Action::Combine { from, into, reduction, side } => {
                executor.combine((*from, *into), (*reduction, *side), cursor)
            }
            Action::Send { .. } => {
                let action = ManuallyDrop::into_inner(action);
                let Action::Send { to, via, header, packet, payload } = action else {
                    unreachable!("it was matched")
                };
                Some(executor.send((to, via), header, payload, || packet, cursor))
            }
            Action::Repost { landing, from } => Some(executor.repost(*landing, *from, cursor)),
            Action::Complete { code, buffer, fact } => {
                Some(executor.complete(*code, *buffer, fact.as_ref(), cursor))
            }
            Action::Observe(fact) => {
                executor.observe(fact, cursor);
                Some(cursor)
            }
            // All others stand in the list.
            _ => {
                self.cut = before;
                return self.append(|| ManuallyDrop::into_inner(action));
            }
        };
        match next {
            Some(cursor) => self.cursor = cursor,
            None => self.wait_for_memory(),
        }
    }

    fn list(&mut self) -> &mut Vec<ActionOf<M>> {
        if !self.lists {
            self.begin_list();
        }
        &mut self.executor.worker.actor.list
    }

    #[inline]
    fn listed(&self) -> usize {
        self.executor.worker.actor.list.len()
    }
}
