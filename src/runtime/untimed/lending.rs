//! Buffers that calls lend: what they are filled with, and copies out of pieces and into them.

use std::sync::Arc;

use super::World;
use super::turn::Outside;
use crate::monitors::buffers::{Lends, Statement, Typed};
use calls::typed::TypedCopy;
use mpi::observation::{MessageId, Observation};
use protocols::contract::{Action, ActionOf, Machine, Process, Program};
use protocols::uses::Lent;

impl<M: Machine, P: Program<M>> World<M, P>
where
    M::Call: Lends,
{
    /// A call has passed its buffers to the library, which answered with `list`.
    pub(super) fn lend(
        &mut self,
        process: Process,
        (lent, also): (Option<Lent>, Option<Lent>),
        statement: Option<Statement>,
        list: &[ActionOf<M>],
    ) {
        if lent.is_none() && also.is_none() {
            return;
        }
        let buffers = self.buffers[process.0 as usize].change();
        let is_typed = statement.is_some();
        if let Some(statement) = statement {
            buffers.stated(lent, statement);
        }
        buffers.called(&mut self.memories, process, lent, list);
        buffers.called(&mut self.memories, process, also, list);
        let contents = buffers.take_contents();
        contents.for_each(|content| self.fill(process, content, list));
        if is_typed {
            self.hand_types(process, list);
        }
    }

    /// Passes the types that a sender states for a message to the monitor of its receiver.
    fn hand_types(&mut self, from: Process, list: &[ActionOf<M>]) {
        let Some((message, to)) = list.iter().find_map(sent) else { return };
        if to == from || to.0 as usize >= self.buffers.len() {
            return;
        }
        let buffers = self.buffers[from.0 as usize].change();
        if let Some(typed) = buffers.take_typed(message) {
            self.notes.note(|| Outside::Types { to, message, typed: Arc::clone(&typed) });
            self.typed(to, message, typed);
        }
    }

    pub(super) fn typed(&mut self, to: Process, message: MessageId, typed: Arc<Typed>) {
        self.buffers[to.0 as usize].change().expect_types(message, typed);
    }

    /// Passes the seed that a message was filled with to the monitor of its receiver.
    fn fill(&mut self, from: Process, (message, seed): (MessageId, u64), list: &[ActionOf<M>]) {
        let mut sends = list.iter().filter_map(sent);
        let sent = sends.find_map(|(one, to)| (one == message).then_some(to));
        let to = sent.filter(|to| (to.0 as usize) < self.buffers.len()).unwrap_or(from);
        if to == from {
            self.notes.spoil();
        }
        self.notes.note(|| Outside::Fills { to, message, seed });
        self.filled(to, message, seed);
    }

    pub(super) fn filled(&mut self, to: Process, message: MessageId, seed: u64) {
        self.buffers[to.0 as usize].change().expect_content(message, seed);
    }

    /// The core gathers or scatters the pieces of a buffer.
    pub(super) fn pack(&mut self, process: Process, copy: &TypedCopy) {
        let (from, to) = copy.ends();
        self.reads(process, from);
        self.writes(process, to);
        self.memories.pack(process, copy);
    }
}

/// The message that is sent, and to whom.
fn sent<P, R>(action: &Action<P, R>) -> Option<(MessageId, Process)> {
    let Action::Observe(Observation::Sent { message, to, .. }) = action else { return None };
    Some((*message, Process(*to)))
}
