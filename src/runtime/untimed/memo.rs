//! What libraries made of inputs: kept for the next state of a search in which one gets the same.

use std::cell::RefCell;
use std::hash::Hash;
use std::rc::Rc;

use crate::fingerprint::{Fingerprint, Shared};
use crate::prints::Prints;
use protocols::contract::{ActionOf, InputOf, Machine, Thread};

/// Nothing, or what is known so far; clones know the same.
#[derive(Clone, Debug)]
pub(super) struct Memo<M: Machine>(Option<Rc<RefCell<Known<M>>>>);

/// The library after an input, and the list that it returned.
type Answer<M> = (Shared<M>, Rc<[ActionOf<M>]>);

#[derive(Debug)]
struct Known<M: Machine> {
    young: Half<Answer<M>>,
    /// Those that were requested last before half of the room was full.
    old: Half<Answer<M>>,
}

#[derive(Debug)]
struct Half<T> {
    values: Prints<T>,
    /// Of all that they hold.
    bytes: usize,
}

/// Answers of half the room.
/// Method: an answer that no step asks for while the younger half is filled is forgotten.
const MOST: usize = 1 << 15;

impl<T> Half<T> {
    fn new() -> Self {
        Self { values: Prints::default(), bytes: 0 }
    }

    const fn bytes(&self) -> usize {
        self.values.bytes() + self.bytes
    }
}

impl<M: Machine> Known<M> {
    fn find(&mut self, question: u128) -> Option<Answer<M>> {
        if let Some(answer) = self.young.values.find(question) {
            return Some(answer.clone());
        }
        let answer = self.old.values.find(question)?.clone();
        self.keep(question, answer.clone());
        Some(answer)
    }

    fn keep(&mut self, question: u128, answer: Answer<M>) {
        if self.young.values.len() == MOST {
            self.old = std::mem::replace(&mut self.young, Half::new());
        }
        self.young.bytes += answer.0.bytes() + size_of_val(&*answer.1);
        self.young.values.find_or_put(question, answer);
    }
}

impl<M: Machine> Memo<M> {
    pub(super) const fn none() -> Self {
        Self(None)
    }

    /// Nothing yet.
    pub(super) fn empty() -> Self {
        let known = Known { young: Half::new(), old: Half::new() };
        Self(Some(Rc::new(RefCell::new(known))))
    }

    /// Bytes of all that is kept, about.
    pub(super) fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |known| {
            let Known { young, old } = &*known.borrow();
            young.bytes() + old.bytes()
        })
    }

    /// Key of a machine's answer to an input; `None` where nothing is kept.
    pub(super) fn question(
        &self,
        machine: &Shared<M>,
        thread: Thread,
        input: &InputOf<M>,
    ) -> Option<u128>
    where
        InputOf<M>: Hash,
    {
        self.0.is_some().then(|| Fingerprint::named(&(machine.named(), thread, input)))
    }

    pub(super) fn answer(&self, question: Option<u128>) -> Option<Answer<M>> {
        self.0.as_ref()?.borrow_mut().find(question?)
    }

    pub(super) fn keep(&self, question: Option<u128>, machine: &Shared<M>, list: &[ActionOf<M>]) {
        let (Some(known), Some(question)) = (&self.0, question) else { return };
        known.borrow_mut().keep(question, (machine.clone(), list.into()));
    }
}
