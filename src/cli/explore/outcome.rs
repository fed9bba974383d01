//! What is explored, and what came of it.

use std::path::PathBuf;

use ::explore::registry::Entry;
use ::explore::scenario::Unfit;
use ::explore::{Explored, MayFail, Options, Planted, Size, Subject, Token};

/// The job to explore.
pub(super) struct Job {
    /// As it was given.
    pub(super) name: String,
    /// Its entry and size, where it is a protocol.
    pub(super) protocol: Option<(Entry, Planted, Size)>,
    pub(super) subject: Box<dyn Subject>,
    /// The faults of its plan, or the reason why they are not explored.
    pub(super) planned: Result<MayFail, Unfit>,
    /// The files that it was read from.
    pub(super) files: Vec<PathBuf>,
}

/// The report at the end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Verdict {
    /// Every order ends well.
    Verified,
    /// Nothing was found in the orders that were drawn.
    Bounded,
    /// A failure was found.
    Failed,
    /// A branch that must be reached never was.
    Vacuous,
    /// A limit was hit.
    CutOff,
}

impl Verdict {
    pub(super) const fn exit_code(self) -> u8 {
        match self {
            Self::Verified | Self::Bounded => 0,
            Self::Failed | Self::Vacuous => 1,
            Self::CutOff => 5,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Bounded => "bounded",
            Self::Failed => "failed",
            Self::Vacuous => "vacuous",
            Self::CutOff => "cut_off",
        }
    }
}

/// Everything that is printed about an exploration.
pub(super) struct Report<'a> {
    pub(super) job: &'a Job,
    pub(super) options: &'a Options,
    pub(super) found: &'a Explored,
    /// Branches that must be reached.
    pub(super) reaches: Vec<&'static str>,
    pub(super) verdict: Verdict,
    /// One for each failure.
    pub(super) tokens: Vec<Token>,
}
