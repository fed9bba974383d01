//! What a search keeps for the next state in which the same happens: what libraries made of inputs,
//! what turns left behind (`turns`), ports after packets, and monitors after facts (`observing`).
//!
//! Each is a function of what it is known by, and a search meets far fewer different ones than
//! transitions: what comes out is then shared between all states that have it, cloned and hashed
//! once.

use std::cell::{RefCell, RefMut};
use std::hash::Hash;
use std::rc::Rc;

use super::facts::{Observed, Observer};
use super::state::Port;
use super::turn::Turned;
use crate::fingerprint::{Fingerprint, Shared};
use crate::monitors::Monitors;
use crate::monitors::windows::Windows;
use crate::prints::Prints;
use protocols::contract::{ActionOf, InputOf, Machine, Program, Thread};

/// Nothing, or what is known so far; clones know the same.
#[derive(Debug)]
pub(super) struct Memo<M: Machine, P>(Option<Rc<RefCell<Known<M, P>>>>);

impl<M: Machine, P> Clone for Memo<M, P> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }

    fn clone_from(&mut self, other: &Self) {
        let same = |(one, other)| Rc::ptr_eq(one, other);
        if !self.0.as_ref().zip(other.0.as_ref()).is_some_and(same) {
            self.0.clone_from(&other.0);
        }
    }
}

/// The library after an input, and the list that it returned.
type Answer<M> = (Shared<M>, Rc<[ActionOf<M>]>);

#[derive(Debug)]
pub(super) struct Known<M: Machine, P> {
    answers: Table<Answer<M>>,
    turns: Table<Rc<Turned<M, P>>>,
    ports: Table<Shared<Port<M>>>,
    windows: Table<Observed<Windows>>,
    monitors: Table<Observed<Monitors>>,
    serial: u64,
}

/// The values that were requested last, by what they are known by.
#[derive(Debug)]
pub(super) struct Table<T> {
    young: Half<T>,
    old: Half<T>,
    /// As many values make a half.
    most: usize,
}

#[derive(Debug)]
struct Half<T> {
    values: Prints<T>,
    /// Of all that they hold.
    bytes: usize,
}

/// A value that is kept.
pub(super) trait Kept: Clone {
    /// Bytes of all that it holds, about: what others hold as well counts as if they did not.
    fn holds(&self) -> usize;
}

impl<M: Machine> Kept for Answer<M> {
    fn holds(&self) -> usize {
        self.0.bytes() + size_of_val(&*self.1)
    }
}

impl<M: Machine, P: Program<M>> Kept for Rc<Turned<M, P>> {
    fn holds(&self) -> usize {
        self.bytes()
    }
}

impl<M: Machine> Kept for Shared<Port<M>> {
    fn holds(&self) -> usize {
        self.bytes()
    }
}

impl<T: Observer> Kept for Observed<T> {
    fn holds(&self) -> usize {
        self.0.bytes()
    }
}

/// A monitor of which it is kept what it made of facts.
pub(super) trait Remembered: Observer {
    /// Table of its results.
    fn table<M: Machine, P: Program<M>>(known: &mut Known<M, P>) -> &mut Table<Observed<Self>>;
}

impl Remembered for Windows {
    fn table<M: Machine, P: Program<M>>(known: &mut Known<M, P>) -> &mut Table<Observed<Self>> {
        &mut known.windows
    }
}

impl Remembered for Monitors {
    fn table<M: Machine, P: Program<M>>(known: &mut Known<M, P>) -> &mut Table<Observed<Self>> {
        &mut known.monitors
    }
}

/// Values of half a table.
/// Method: a value that no step asks for while the younger half is filled is forgotten.
pub(super) const MOST: usize = 1 << 15;

impl<T: Kept> Table<T> {
    fn new(most: usize) -> Self {
        Self { young: Half::new(), old: Half::new(), most }
    }

    fn bytes(&self) -> usize {
        self.young.bytes() + self.old.bytes()
    }

    fn find(&mut self, question: u128) -> Option<T> {
        if let Some(value) = self.young.find(question) {
            return Some(value.clone());
        }
        let value = self.old.find(question)?.clone();
        self.keep(question, value.clone());
        Some(value)
    }

    fn keep(&mut self, question: u128, value: T) {
        if self.young.values.len() == self.most {
            self.old = std::mem::replace(&mut self.young, Half::new());
        }
        self.young.bytes += value.holds();
        self.young.values.find_or_put(question, value);
    }
}

impl<T> Half<T> {
    fn new() -> Self {
        Self { values: Prints::default(), bytes: 0 }
    }

    const fn bytes(&self) -> usize {
        self.values.bytes() + self.bytes
    }

    fn find(&self, question: u128) -> Option<&T> {
        self.values.find(question)
    }
}

impl<M: Machine, P: Program<M>> Memo<M, P> {
    pub(super) const fn none() -> Self {
        Self(None)
    }

    /// Nothing yet, and never more than twice `most` values of a kind.
    pub(super) fn empty(most: usize) -> Self {
        let (answers, turns, ports) = (Table::new(most), Table::new(most), Table::new(most));
        let (windows, monitors) = (Table::new(most), Table::new(most));
        let known = Known { answers, turns, ports, windows, monitors, serial: 0 };
        Self(Some(Rc::new(RefCell::new(known))))
    }

    /// Whether anything is kept.
    pub(super) const fn is_kept(&self) -> bool {
        self.0.is_some()
    }

    /// Bytes of all that is kept, about.
    pub(super) fn bytes(&self) -> usize {
        self.known().map_or(0, |known| {
            let Known { answers, turns, ports, windows, monitors, serial: _ } = &*known;
            let libraries = answers.bytes() + turns.bytes() + ports.bytes();
            libraries + windows.bytes() + monitors.bytes()
        })
    }

    fn known(&self) -> Option<RefMut<'_, Known<M, P>>> {
        let known = self.0.as_ref()?;
        Some(known.borrow_mut())
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
        self.known()?.answers.find(question?)
    }

    pub(super) fn keep(&self, question: Option<u128>, machine: &Shared<M>, list: &[ActionOf<M>]) {
        let (Some(mut known), Some(question)) = (self.known(), question) else { return };
        known.answers.keep(question, (machine.clone(), list.into()));
    }

    /// Kept result of a turn.
    pub(super) fn turned(&self, question: Option<u128>) -> Option<Rc<Turned<M, P>>> {
        self.known()?.turns.find(question?)
    }

    pub(super) fn keep_turned(&self, question: Option<u128>, turned: Turned<M, P>) {
        let (Some(mut known), Some(question)) = (self.known(), question) else { return };
        known.turns.keep(question, Rc::new(turned));
    }

    /// A number that was not given before.
    pub(super) fn serial(&self) -> u64 {
        self.known().map_or(0, |mut known| {
            known.serial += 1;
            known.serial
        })
    }

    /// A port after a change.
    pub(super) fn port(&self, question: u128) -> Option<Shared<Port<M>>> {
        self.known()?.ports.find(question)
    }

    pub(super) fn keep_port(&self, question: u128, port: Shared<Port<M>>) {
        if let Some(mut known) = self.known() {
            known.ports.keep(question, port);
        }
    }

    /// Kept result of a monitor for the facts of a turn.
    pub(super) fn observed<T: Remembered>(&self, question: u128) -> Option<Observed<T>> {
        T::table(&mut *self.known()?).find(question)
    }

    pub(super) fn keep_observed<T: Remembered>(&self, question: u128, observed: Observed<T>) {
        if let Some(mut known) = self.known() {
            T::table(&mut *known).keep(question, observed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Kept for u128 {
        fn holds(&self) -> usize {
            size_of::<Self>()
        }
    }

    /// The table drops answers that no look-up repeats, so that it does not grow for ever.
    #[test]
    fn a_table_forgets_what_nobody_asks_for() {
        let (mut table, often) = (Table::new(MOST), 7);
        for question in 0..5 * u128::try_from(MOST).expect("few values make a half") {
            table.keep(question, question);
            if question >= often && question.is_multiple_of(1000) {
                assert_eq!(table.find(often), Some(often), "it is asked for again and again");
            }
            let kept = [&table.young, &table.old].map(|half| half.values.len());
            assert!(kept.iter().all(|&values| values <= MOST), "{kept:?}");
        }
        assert_eq!((table.find(0), table.find(often)), (None, Some(often)));
    }
}
