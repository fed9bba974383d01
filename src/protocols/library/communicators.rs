//! Communicators of processes that a program makes while it runs.
//!
//! ```text
//!   MPI_Comm_dup    agree on a context                          ─▶ same group
//!   MPI_Comm_split  agree on a context, gather colors and keys  ─▶ one group a color
//!   MPI_Comm_free   local: the context is never used again
//! ```
//!
//! Every process names the communicators that it makes itself: a number is free until it is given,
//! and again after the free. Contexts of the parts of one split follow each other by rising color,
//! so that everybody knows all of them, members or not.
//!
//! Source: MPI-3.1, Sec. 6.4.2, 6.4.3. Left out: attributes, info, names, `MPI_Comm_create`, which a
//! split does too, and creations by two threads of a process at once, which are refused: each would
//! take the context that the other one proposes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::collective::tell;
use super::endpoints::{Agreeing, Caller, Purpose};
use super::requests::Pending;
use super::{Action, Library, LibraryAction, ProtocolError, Reply, Thread, push_return};
use crate::mpi::communicator::Communicator;
use crate::mpi::envelope::Context;
use crate::mpi::group::{Choice, Group, Part};
use crate::mpi::observation::GroupFact;
use crate::protocols::call::{Comm, CommCall};
use crate::protocols::collectives::agreement::Agreement;
use crate::protocols::contract::Step;

/// What a process made, by its own numbers.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Made(BTreeMap<Comm, Communicator>);

impl Made {
    pub(super) fn get(&self, comm: Comm) -> Option<&Communicator> {
        self.0.get(&comm)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Communicator> {
        self.0.values()
    }
}

/// Numbers as the words of an agreement carry them.
const WORDS: usize = 2;

fn words(numbers: impl IntoIterator<Item = u32>) -> Vec<u16> {
    let halves = |number: u32| [low(number), low(number >> 16)];
    numbers.into_iter().flat_map(halves).collect()
}

fn numbers(words: &[u16]) -> Vec<u32> {
    let number = |halves: &[u16]| u32::from(halves[0]) | u32::from(halves[1]) << 16;
    words.chunks_exact(WORDS).map(number).collect()
}

fn low(number: u32) -> u16 {
    u16::try_from(number & 0xFFFF).expect("masked to 16 bits")
}

/// A choice as two numbers: no color is negative, so that one bit pattern is left for undefined.
fn encoded(Choice { color, key }: Choice) -> [u32; 2] {
    [color.map_or(u32::MAX, i32::cast_unsigned), key.cast_unsigned()]
}

fn decoded(numbers: &[u32]) -> Choice {
    let color = (numbers[0] != u32::MAX).then(|| numbers[0].cast_signed());
    Choice { color, key: numbers[1].cast_signed() }
}

impl Library {
    pub(super) fn communicators(
        &mut self,
        thread: Thread,
        call: CommCall,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.push(Action::Work(Step::Query));
        match call {
            CommCall::Dup { comm, new } => {
                self.check_new(new, 1)?;
                self.agree_on(thread, comm, &[], Purpose::Dup { new }, out)
            }
            CommCall::Split { comm, color, key, new } => {
                if color.is_some_and(|color| color < 0) {
                    return Err(self.refuse("a color is undefined, or 0 or more", color));
                }
                if color.is_some() {
                    self.check_new(new, 1)?;
                }
                let choice = words(encoded(Choice { color, key }));
                self.agree_on(thread, comm, &choice, Purpose::Split { new }, out)
            }
            CommCall::Free { comm } => {
                let Some(Communicator { context, .. }) = self.made.0.remove(&comm) else {
                    return Err(self.refuse("the process made no such communicator", comm));
                };
                tell(GroupFact::Closed { context }, out);
                push_return(thread, Reply::Done, out);
                Ok(())
            }
            CommCall::Numbers { comm, own } => {
                let own = words(own.iter().copied());
                self.agree_on(thread, comm, &own, Purpose::Numbers, out)
            }
        }
    }

    /// The numbers of new communicators, or endpoints, must be free.
    pub(super) fn check_new(&self, first: Comm, count: u16) -> Result<(), ProtocolError> {
        let known = self.job.communicators.iter().len();
        let mut all = (0..count).map(|index| first.0.checked_add(index).map(Comm));
        let free = |comm: Comm| {
            let taken = self.made.0.contains_key(&comm) || self.endpoints.has(comm);
            usize::from(comm.0) >= known && !taken
        };
        if all.all(|comm| comm.is_some_and(free)) {
            return Ok(());
        }
        Err(self.refuse("the numbers of the new communicators are in use", first))
    }

    fn agree_on(
        &mut self,
        thread: Thread,
        parent: Comm,
        values: &[u16],
        purpose: Purpose,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let member = self.member(thread, parent)?;
        if member.caller != Caller::Process {
            return Err(self.refuse("it is no communicator of processes", parent));
        }
        let others = (0..).zip(&self.pending).filter(|&(other, _)| Thread(other) != thread);
        let makes = |pending: &Pending| matches!(pending, Pending::Agree(one) if one.makes());
        if purpose != Purpose::Numbers && others.flat_map(|(_, pending)| pending).any(makes) {
            let state = "another thread of the process makes a communicator: one context is agreed on at a time";
            return Err(self.refuse(state, purpose));
        }
        let context = self.endpoints.next_context;
        let agreement = Agreement::of_values(member.rank, member.size, context, values);
        self.agree(thread, Agreeing { parent, agreement, among: None, purpose }, out)
    }

    /// All have agreed.
    pub(super) fn communicator_made(
        &mut self,
        agreeing: &Agreeing,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Reply, ProtocolError> {
        let context = agreeing.agreement.context();
        let group = Arc::clone(&self.communicator(agreeing.parent)?.group);
        match agreeing.purpose {
            Purpose::Dup { new } => {
                self.enter(new, context, group, out);
                self.endpoints.next_context = context + 2;
            }
            Purpose::Split { new } => {
                let said = numbers(&agreeing.agreement.values());
                let choices: Vec<Choice> = said.chunks_exact(2).map(decoded).collect();
                let parts = group.split(&choices);
                let parts = parts.map_err(|error| self.refuse("nothing is split", error))?;
                self.split_into(new, context, parts, out);
            }
            Purpose::Numbers => {
                let all = numbers(&agreeing.agreement.values());
                return Ok(Reply::Numbers(all.into()));
            }
            Purpose::Create { .. } | Purpose::Free { .. } => {
                unreachable!("{:?} is of endpoints", agreeing.purpose)
            }
        }
        Ok(Reply::Done)
    }

    fn split_into(
        &mut self,
        new: Comm,
        first: u32,
        parts: Vec<Part>,
        out: &mut Vec<LibraryAction>,
    ) {
        let mut context = first;
        for part in parts {
            if part.group.rank(self.me.0).is_some() {
                self.enter(new, context, Arc::new(part.group), out);
            }
            context += 2;
        }
        self.endpoints.next_context = context;
    }

    fn enter(&mut self, new: Comm, context: u32, group: Arc<Group>, out: &mut Vec<LibraryAction>) {
        let (context, internal) = (Context(context), Context(context + 1));
        tell(GroupFact::Opened { context }, out);
        self.made.0.insert(new, Communicator { context, internal, group });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_travel_as_words() {
        let all = [0, 1, 65_535, 65_536, 4_000_000_000, u32::MAX];
        assert_eq!(numbers(&words(all)), all);
        for color in [None, Some(0), Some(i32::MAX)] {
            for key in [0, -1, i32::MIN, i32::MAX] {
                let choice = Choice { color, key };
                assert_eq!(decoded(&encoded(choice)), choice);
            }
        }
    }
}
