//! What libraries made of inputs, kept for the next state in which the same one gets the same.
//!
//! `handle` is a function of the library's state and its input, and a search meets far fewer
//! different pairs than transitions: the library that comes out is then shared between all states
//! that have it, cloned and hashed once.

use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use crate::protocols::contract::{ActionOf, InputOf, Machine, Thread};
use crate::runtime::explore::seen::Seen;
use crate::runtime::fingerprint::{Fingerprint, Shared};

/// Nothing, or what is known so far; clones know the same.
#[derive(Clone, Debug)]
pub(super) struct Memo<M: Machine>(Option<Arc<Mutex<Known<M>>>>);

/// The library after an input, and the list that it returned.
type Answer<M> = (Shared<M>, Arc<[ActionOf<M>]>);

#[derive(Debug)]
struct Known<M: Machine> {
    places: Seen,
    answers: Vec<Answer<M>>,
}

/// The most answers that are kept: a search that meets more gains little by more.
const MOST: usize = 1 << 17;

impl<M: Machine> Memo<M> {
    pub(super) const fn none() -> Self {
        Self(None)
    }

    pub(super) fn empty() -> Self {
        let known = Known { places: Seen::default(), answers: Vec::new() };
        Self(Some(Arc::new(Mutex::new(known))))
    }

    /// What the question is known by; `None` where nothing is kept.
    pub(super) fn question(
        &self,
        machine: &Shared<M>,
        thread: Thread,
        input: &InputOf<M>,
    ) -> Option<u128>
    where
        InputOf<M>: Hash,
    {
        self.0.is_some().then(|| Fingerprint::named(&(machine, thread, input)))
    }

    pub(super) fn answer(&self, question: Option<u128>) -> Option<Answer<M>> {
        let known = self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let place = known.places.find(question?)?;
        known.answers.get(place as usize).cloned()
    }

    pub(super) fn keep(&self, question: Option<u128>, machine: &Shared<M>, list: &[ActionOf<M>]) {
        let (Some(known), Some(question)) = (&self.0, question) else { return };
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.answers.len() < MOST {
            let fresh = u32::try_from(known.answers.len()).expect("bounded by `MOST`");
            known.places.number(question, fresh);
            known.answers.push((machine.clone(), list.into()));
        }
    }
}
