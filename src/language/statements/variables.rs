//! The variables of a program.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::program::Extras;
use crate::program::control::NAMES;
use form::expression::{Type, Variables};

/// Variables of a program, two of each loop among them.
/// Limit: slots have 16-bit numbers.
pub(super) const MOST_VARIABLES: usize = 65_535;

/// The variables of one rank's program; the slot of each is its place here.
#[derive(Debug)]
pub(super) struct Scope {
    variables: Vec<(String, Type)>,
    /// The slot of each name.
    slots: BTreeMap<String, usize>,
    /// Loops of the kind `until`.
    untils: usize,
    /// Whether the program has loops, conditions or variables of its own.
    pub(super) used: bool,
    /// Whether it has more variables and loops than [`MOST_VARIABLES`].
    pub(super) too_many: bool,
    /// The computed keys and returned values of the statement that is read.
    pub(super) extras: Extras,
}

impl Default for Scope {
    fn default() -> Self {
        let (variables, slots) = (Vec::new(), BTreeMap::new());
        let extras = Extras::default();
        let mut scope = Self { variables, slots, untils: 0, used: false, too_many: false, extras };
        for name in NAMES {
            scope.add(name.to_owned(), Type::Integer);
        }
        scope
    }
}

impl Scope {
    /// How many variables there are.
    pub(super) const fn len(&self) -> usize {
        self.variables.len()
    }

    /// A variable that no text can name.
    pub(super) fn hidden(&mut self) -> usize {
        self.used = true;
        self.add(String::new(), Type::Integer)
    }

    /// The place of the counter of one more `until`.
    pub(super) const fn repetitions(&mut self) -> usize {
        self.used = true;
        self.untils += 1;
        self.untils - 1
    }

    /// One more variable; where there are too many, the last one again, and the statement reports it.
    pub(super) fn add(&mut self, name: String, of: Type) -> usize {
        if self.variables.len() == MOST_VARIABLES {
            self.too_many = true;
        } else {
            if !name.is_empty() {
                self.slots.insert(name.clone(), self.variables.len());
            }
            self.variables.push((name, of));
        }
        self.variables.len() - 1
    }

    /// The computed keys and returned values of the statement that was read last.
    pub(super) fn take(&mut self) -> Option<Arc<Extras>> {
        let extras = std::mem::take(&mut self.extras);
        (extras != Extras::default()).then(|| Arc::new(extras))
    }
}

impl Variables for Scope {
    fn find(&self, name: &str) -> Option<(usize, Type)> {
        let slot = *self.slots.get(name)?;
        Some((slot, self.variables[slot].1))
    }

    fn names(&self) -> Vec<&str> {
        self.variables.iter().map(|(name, _)| name.as_str()).collect()
    }
}
