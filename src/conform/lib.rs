//! Conformance: vectors recorded from a real MPI library, run against the simulator's MPI.
//!
//! Vectors come in families, one file here for each: how a case is read, run and judged. Where MPI
//! leaves a choice, any of the allowed outcomes will do.

pub mod collectives;
pub mod communicators;
pub mod datatypes;
mod error;
mod family;
pub mod loggops;
pub mod matching;
pub mod misuse;
pub mod one_sided;
mod place;
pub mod programs;
mod simulated;
#[cfg(test)]
mod tests;
mod vectors;
mod verdict;

pub use error::VectorError;
pub use matching::{Finished, Sent};
pub use simulated::Simulated;
pub use vectors::{Cases, Vectors};
pub use verdict::{Followed, Mismatch, Verdict, Wrong};

use family::Judged;
use mpi::rma::synchronisation::Rules;

/// Schedules per case that `mpisim conform` tries: each way that [`Simulated`] has to connect the
/// processes comes up once.
pub const SCHEDULES: u64 = 27;

/// A world that can run the cases of every family.
pub trait World: matching::World + collectives::World + one_sided::World + programs::World {}

impl<W: matching::World + collectives::World + one_sided::World + programs::World> World for W {}

/// Runs every case, those that are scheduled under so many schedules.
pub fn judge(vectors: &Vectors, world: &impl World, schedules: u64) -> Verdict {
    match &vectors.cases {
        Cases::Matching(cases) => judged(cases, world, schedules),
        Cases::Communicators(cases) => judged(cases, world, schedules),
        Cases::Collectives(cases) => judged(cases, world, schedules),
        Cases::OneSided(cases) => judged(cases, world, schedules),
        Cases::Misuse(cases) => cases.iter().map(|case| case.mismatch(Rules::Mpich)).collect(),
        Cases::Datatypes(cases) => judged(cases, world, schedules),
        Cases::LogGops(cases) => judged(cases, world, schedules),
        Cases::Programs(cases) => judged(cases, world, schedules),
        Cases::Disputed(cases) => {
            let followed = cases.iter().map(datatypes::Disputed::followed).collect();
            Verdict { followed, ..Verdict::default() }
        }
        Cases::DisputedPrograms(cases) => {
            let followed = cases.iter().map(|case| case.followed(world, schedules)).collect();
            Verdict { followed, ..Verdict::default() }
        }
    }
}

fn judged<W, C: Judged<W>>(cases: &[C], world: &W, schedules: u64) -> Verdict {
    let schedules = if C::IS_SCHEDULED { schedules } else { 1 };
    let first = |case: &C| (0..schedules).find_map(|schedule| case.mismatch(world, schedule));
    cases.iter().map(first).collect()
}
