//! A job whose threads are endpoints of the endpoint library, over plain MPI.
//!
//! The programs of the job are those of its endpoints, in the order of their ranks: thread by
//! thread, process by process. They name each other by these ranks.

use super::job::{AnyProgram, Job, JobError};
use ::collectives::Collective;
use language::collectives;
use protocols::contract::Program;
use protocols::library::Library;
use runtime::timed::{Ran, Timed};
use runtime::untimed::World;
use xios_ep::library::{Counts, EpJob, EpLibrary, EpThread, Variant, Waiting, among_processes};
use xios_ep::rank_map::RankMap;

/// How the endpoint library works.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Rules {
    /// Its lock.
    pub variant: Variant,
    /// Its waits.
    pub waiting: Waiting,
}

impl<P: Program<Library>> Job<P> {
    /// The settings that the endpoint libraries of the job share.
    ///
    /// # Errors
    ///
    /// [`JobError`] where it does not fit the machine.
    pub fn endpoint_job(&self, rules: Rules) -> Result<EpJob, JobError> {
        let job = EpJob::new(self.library(&self.places()?))?;
        Ok(job.with_variant(rules.variant).with_waiting(rules.waiting))
    }

    /// The job over the endpoint library in the timed runtime.
    ///
    /// # Errors
    ///
    /// [`JobError`] where it does not fit the machine.
    pub fn timed_over_xios_ep(
        self,
        rules: Rules,
    ) -> Result<Timed<EpLibrary, EpThread<P>>, JobError> {
        let job = self.endpoint_job(rules)?;
        self.timed_on(job.libraries(), |programs| job.threads(programs))
    }

    /// The same job in the untimed runtime, before its first step.
    ///
    /// # Errors
    ///
    /// [`JobError`] where it does not fit the machine.
    pub fn untimed_over_xios_ep(
        &self,
        rules: Rules,
    ) -> Result<World<EpLibrary, EpThread<P>>, JobError> {
        let job = self.endpoint_job(rules)?;
        let programs = job.threads(self.programs.iter().cloned());
        let programs = programs.chunks(usize::from(self.threads)).map(<[_]>::to_vec);
        Ok(World::new(job.libraries().into_iter().zip(programs).collect(), self.mpi.payload))
    }
}

impl Job {
    /// Runs the job of a scenario over the endpoint library.
    ///
    /// # Errors
    ///
    /// [`JobError`] where it does not fit the machine.
    pub fn run_over_xios_ep(
        self,
        rules: Rules,
    ) -> Result<Ran<EpLibrary, EpThread<AnyProgram>>, JobError> {
        Ok(self.timed_over_xios_ep(rules)?.run())
    }
}

/// Messages of MPI that `processes` processes with `threads` endpoints each send in one collective.
pub fn messages(call: &Collective, processes: u32, threads: u16) -> u64 {
    let map = RankMap::from_counts(&vec![threads.into(); processes as usize]);
    collectives::messages(&among_processes(call, &map), processes)
}

/// The counts of all endpoint libraries of a run.
pub fn counts<P>(ran: &Ran<EpLibrary, EpThread<P>>) -> Counts {
    ran.machines.iter().map(EpLibrary::counts).fold(Counts::default(), Counts::plus)
}
