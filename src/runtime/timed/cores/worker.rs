//! A thread that works, and what it shares of its core.

use super::actor::Actor;
use super::lists::Lists;
use crate::account::Part;
use crate::causes::Spent;
use crate::timed::context::Context;
use hardware::core::IssueSlots;
use protocols::contract::Machine;
use units::{Time, TimeDelta};

/// A thread that works, and what it shares of its core.
pub(in crate::timed) struct Worker<'a, M: Machine, P> {
    pub(in crate::timed) thread: u32,
    pub(in crate::timed) actor: &'a mut Actor<M, P>,
    pub(super) slots: &'a IssueSlots,
    pub(super) lists: &'a mut Lists<M::Packet, M::Reply>,
    pub(super) entries_visited: &'a mut u64,
}

impl<M: Machine, P> Worker<'_, M, P> {
    /// Work of the core from `cursor` on: stretched by its siblings and by the operating system.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "two additions, where a thread is alone")]
    pub(in crate::timed) fn charge(
        &mut self,
        part: Part,
        cursor: Time,
        work: TimeDelta,
        cx: &mut Context,
    ) -> Time {
        if self.actor.is_plain() {
            self.actor.account.add(part, work);
            return cursor + work;
        }
        self.charge_as((part, part.into()), cursor, work, cx)
    }

    /// The same, where explanations tell it apart from other work of its part.
    #[inline(never)]
    pub(in crate::timed) fn charge_as(
        &mut self,
        (part, spent): (Part, Spent),
        cursor: Time,
        work: TimeDelta,
        cx: &mut Context,
    ) -> Time {
        let alone = self.actor.is_alone();
        let core = self.actor.placement.core;
        let work = if alone { work } else { self.slots.stretched(core, work) };
        let end = self.actor.work(part, cursor, work);
        cx.observers.trace(|path| path.spent(self.thread, spent, cursor, end));
        end
    }

    /// The core stands still until a line is there: it takes no issue slots, and threads of its core
    /// do not make it longer.
    #[inline]
    pub(in crate::timed) fn stand_still(
        &mut self,
        part: Part,
        cursor: Time,
        wait: TimeDelta,
        cx: &mut Context,
    ) -> Time {
        if wait == TimeDelta::ZERO {
            return cursor;
        }
        let end = self.actor.work(part, cursor, wait);
        cx.observers.trace(|path| path.spent(self.thread, Spent::Line, cursor, end));
        end
    }

    /// The core walks past so many entries of a queue.
    #[inline]
    pub(in crate::timed) fn count_entries(&mut self, entries: u32) {
        *self.entries_visited += u64::from(entries);
        self.actor.account.entries += u64::from(entries);
    }

    /// An empty list gets room before its thread works.
    #[inline]
    pub(in crate::timed) fn lend_list(&mut self) {
        self.lists.lend(&mut self.actor.list);
    }
}
