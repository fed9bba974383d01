//! The planted bug of a job: for tests only.
//!
//! A part of the library asks [`SharedJob::has`] at the place where the bug would be written.

use super::SharedJob;
use crate::mutant::Mutant;

impl SharedJob {
    /// The same job with a planted bug in all its libraries.
    #[must_use]
    pub fn with(self, mutant: Mutant) -> Self {
        Self(self.0, Some(mutant))
    }

    /// The bug that is planted.
    pub fn mutant(&self) -> Option<Mutant> {
        self.1
    }

    pub(super) fn has(&self, mutant: Mutant) -> bool {
        self.1 == Some(mutant)
    }
}
