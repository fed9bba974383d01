//! Files, of which the simulator carries none.
//!
//! A program learns so by an error. Its handler is that of `MPI_FILE_NULL`, which returns it unless the program says
//! otherwise (MPI 4.1, Sec. 14.7): programs whose output is an option go on.

use crate::functions as mpi5;
use crate::mpi::asked::Asked;
use crate::mpi::fault::Fault;
use crate::mpi::rank_state::{Answer, RankState};

#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
pub(super) fn call(state: &mut RankState, asked: &mut Asked<'_>) -> Option<Answer> {
    use mpi5::Function as F;
    let fault = match asked.function {
        F::File_open => {
            asked.put_word(4, mpi5::FILE_NULL);
            Fault::not_carried("the simulator does not carry files")
        }
        F::File_delete | F::Register_datarep | F::Register_datarep_c => {
            Fault::not_carried("the simulator does not carry files")
        }
        other if other.name().starts_with("MPI_File_") => {
            Fault::new(mpi5::ERR_FILE, "it is no file that MPI_File_open has opened")
        }
        _ => return None,
    };
    state.errors.about(mpi5::FILE_NULL);
    Some(Err(fault))
}
