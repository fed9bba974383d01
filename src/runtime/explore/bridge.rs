//! A recorded run in the untimed world: every choice must be open, and the ends must be equal.

use crate::memory::Memories;
use crate::monitors::buffers::Lends;
use crate::untimed::{Choice, Refusal, World};
use protocols::contract::{Machine, Process, Program, Thread};

/// Why a recorded run is no run of the untimed world.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Drift {
    /// A recorded choice was not open.
    #[error("choice {index}: {refusal}")]
    NotEnabled {
        /// Its index in the record.
        index: usize,
        /// Why not.
        refusal: Refusal,
    },
    /// The record ends before the run does.
    #[error("after all {count} choices the run goes on: {next}")]
    Unfinished {
        /// Length of the record.
        count: usize,
        /// A choice that is still open.
        next: Choice,
    },
    /// The two runs end in different states.
    #[error("the final states differ: {0}")]
    Different(String),
}

/// Takes the choices of a record one by one.
///
/// # Errors
///
/// [`Drift::NotEnabled`] at the first choice that is not open; the world stands where it was.
pub fn replay<M: Machine, P: Program<M>>(
    world: &mut World<M, P>,
    record: &[Choice],
) -> Result<(), Drift>
where
    M::Call: Lends,
{
    for (index, &choice) in record.iter().enumerate() {
        world.apply(choice).map_err(|refusal| Drift::NotEnabled { index, refusal })?;
    }
    Ok(())
}

/// The final state of another executor, to be compared with a world's.
#[derive(Clone, Debug)]
pub struct Final<'a, M, P> {
    /// Per process: its library, and the programs of its threads.
    pub processes: Vec<(&'a M, Vec<&'a P>)>,
    /// The memory.
    pub memories: &'a Memories,
    /// Whether every program ended.
    pub ended: bool,
}

/// Whether a replayed world and the run that was recorded ended alike.
///
/// # Errors
///
/// [`Drift::Unfinished`] where the world could go on although the record is over, and
/// [`Drift::Different`] with the first part that differs: a machine, a program, the memory.
pub fn compare<M: Machine, P: Program<M>>(
    world: &World<M, P>,
    record: &[Choice],
    run: &Final<'_, M, P>,
) -> Result<(), Drift>
where
    M::Call: Lends,
{
    if let Some(&next) = world.choices().first() {
        return Err(Drift::Unfinished { count: record.len(), next });
    }
    let different = |words: String| Err(Drift::Different(words));
    if world.all_ended() != run.ended {
        return different(format!("every program ended: {}, {}", run.ended, world.all_ended()));
    }
    for (process, (machine, programs)) in (0u32..).zip(&run.processes) {
        let here = world.machine(Process(process));
        if here != *machine {
            return different(format!("library of process {process}: {machine:?}, {here:?}"));
        }
        for (thread, program) in (0u16..).zip(programs) {
            let here = world.program(Process(process), Thread(thread));
            if here != *program {
                return different(format!("program {process}.{thread}: {program:?}, {here:?}"));
            }
        }
    }
    if world.memories() != run.memories {
        return different("memory".into());
    }
    Ok(())
}
