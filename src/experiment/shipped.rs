//! Files that ship with the program, by name: machine models, scenarios, baselines, sensitivities.
//!
//! The program brings them along. The layers know nothing but their form, so that a file that changes compiles
//! none of them anew.

use std::fmt;

/// Files of one kind: the name and the text of each.
#[derive(Clone, Copy, Default)]
pub struct Files(pub &'static [(&'static str, &'static str)]);

impl Files {
    /// The text of the file `name`.
    pub fn find(self, name: &str) -> Option<&'static str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// Their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|(name, _)| *name)
    }

    /// Their texts.
    pub fn texts(self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|(_, text)| *text)
    }
}

/// The names alone: the texts are long.
impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// Files that ship, by kind; none where a program brings none along.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shipped {
    /// Machine models.
    pub models: Files,
    /// Scenarios.
    pub scenarios: Files,
    /// Results of the scenarios.
    pub baselines: Files,
    /// Claims of the scenarios that hang on assumed numbers.
    pub sensitivities: Files,
}
