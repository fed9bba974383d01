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

use super::cores::actor::Actor;
use super::hands::Hands;
use crate::rules::Cut;
use protocols::contract::{Action, ActionOf, Emit, Machine, Program};
use units::Time;

/// A thread whose library emits actions now.
pub(super) struct AtOnce<'a, M: Machine, P> {
    hands: Hands<'a, M, P>,
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
    pub(super) fn new(hands: Hands<'a, M, P>, cursor: Time) -> Self {
        Self { hands, cursor, cut: Cut::new(), lists: false, is_over: false, stops: false }
    }

    /// The library has emitted its last action.
    #[inline]
    pub(super) fn end(self) -> Came {
        if !self.lists {
            return Came::Through(self.cursor);
        }
        let Actor { next, cut, .. } = self.hands.worker.actor;
        (*next, *cut) = (0, self.cut);
        if self.stops { Came::ToMemory } else { Came::ToTheList(self.cursor) }
    }

    /// The list begins: a return that seemed to be the last action stands there.
    #[cold]
    #[inline(never)]
    fn begin_list(&mut self) {
        (self.lists, self.is_over) = (true, true);
        self.hands.worker.lend_list();
        let Actor { list, reply, returns, inner, .. } = self.hands.worker.actor;
        if std::mem::take(returns) {
            let reply = reply.take().expect("it was kept with the return");
            list.push(Action::Return { thread: *inner, reply });
        }
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
        let is_cut = self.cut.before(&action);
        let (hands, cursor) = (&mut self.hands, self.cursor);
        self.cursor = match action {
            Action::Return { thread, reply } if thread == hands.worker.actor.inner => {
                let actor = &mut *hands.worker.actor;
                (actor.reply, actor.returns) = (Some(reply), true);
                (self.cut, self.is_over) = (before, true);
                return;
            }
            action if is_cut => {
                self.cut = before;
                return self.append(|| action);
            }
            Action::Work(step) => hands.run_code(step, cursor),
            Action::Walk { queue, entries, length, fact } => {
                hands.walk(queue, (entries, length), fact.as_ref(), cursor)
            }
            Action::Copy { from, to } => {
                let Some(cursor) = hands.copy((from, to), cursor) else {
                    return self.wait_for_memory();
                };
                cursor
            }
            Action::Combine { from, into, reduction, side } => {
                let Some(cursor) = hands.combine((from, into), (reduction, side), cursor) else {
                    return self.wait_for_memory();
                };
                cursor
            }
            Action::Send { to, via, header, packet, payload } => {
                hands.send((to, via), header, payload, || packet, cursor)
            }
            Action::Repost { landing, from } => hands.repost(landing, from, cursor),
            Action::Complete { code, buffer, fact } => {
                hands.complete(code, buffer, fact.as_ref(), cursor)
            }
            Action::Observe(fact) => {
                hands.observe(&fact, cursor);
                cursor
            }
            action @ (Action::Pack(_)
            | Action::Update { .. }
            | Action::PeerCopy { .. }
            | Action::Expose { .. }
            | Action::Count { .. }
            | Action::Consult { .. }
            | Action::Watch { .. }
            | Action::Register { .. }
            | Action::RdmaWrite { .. }
            | Action::RdmaRead { .. }
            | Action::RdmaAtomic { .. }
            | Action::Device { .. }
            | Action::Release
            | Action::Poll(_)
            | Action::Resume(_)
            | Action::Return { .. }) => {
                self.cut = before;
                return self.append(|| action);
            }
        };
    }

    fn list(&mut self) -> &mut Vec<ActionOf<M>> {
        if !self.lists {
            self.begin_list();
        }
        &mut self.hands.worker.actor.list
    }

    #[inline]
    fn listed(&self) -> usize {
        self.hands.worker.actor.list.len()
    }
}
