//! A planted bug of a job, and the library that may have it: for tests only.

#[cfg(not(feature = "mutants"))]
pub(super) use protocols::library::Library;
#[cfg(feature = "mutants")]
pub(super) use protocols::mutant::Flawed as Library;

use protocols::library::SharedJob;
#[cfg(feature = "mutants")]
use protocols::mutant::Mutant;

/// The planted bug of a job; none in a program that ships.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Planted {
    #[cfg(feature = "mutants")]
    mutant: Option<Mutant>,
}

impl Planted {
    /// The job with this bug.
    #[cfg(feature = "mutants")]
    pub(super) fn into_job(self, job: SharedJob) -> SharedJob {
        match self.mutant {
            Some(mutant) => job.with(mutant),
            None => job,
        }
    }

    /// The job.
    #[cfg(not(feature = "mutants"))]
    #[expect(clippy::unused_self, reason = "with the feature `mutants` there may be a bug")]
    pub(super) const fn into_job(self, job: SharedJob) -> SharedJob {
        job
    }

    /// The id of the bug; nothing without one.
    #[cfg(feature = "mutants")]
    pub(super) fn id(self) -> &'static str {
        self.mutant.map_or("", Mutant::id)
    }

    /// Nothing: there is no bug.
    #[cfg(not(feature = "mutants"))]
    #[expect(clippy::unused_self, reason = "with the feature `mutants` there may be a bug")]
    pub(super) const fn id(self) -> &'static str {
        ""
    }

    /// The bug of a name `JOB+MUTANT`, beside the name of its job; none without an ending, and `None` where there is
    /// no such bug.
    #[cfg(feature = "mutants")]
    pub(super) fn named(name: &str) -> (&str, Option<Self>) {
        let Some((plain, id)) = name.split_once('+') else { return (name, Some(Self::default())) };
        let mutant = Mutant::ALL.iter().find(|mutant| mutant.id() == id).copied();
        (plain, mutant.map(|mutant| Self { mutant: Some(mutant) }))
    }

    /// The name of a job without a bug.
    #[cfg(not(feature = "mutants"))]
    pub(super) const fn named(name: &str) -> (&str, Option<Self>) {
        (name, Some(Self {}))
    }
}
