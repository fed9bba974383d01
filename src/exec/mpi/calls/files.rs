//! Files, of which the simulator carries none.
//!
//! A program learns so by an error. Its handler is that of `MPI_FILE_NULL`, which returns it unless the program says
//! otherwise (MPI 4.1, Sec. 14.7): programs whose output is an option go on.

use crate::functions as mpi5;
use crate::mpi::families::Files as F;
use crate::mpi::fault::Fault;
use crate::mpi::frame::Frame;
use crate::mpi::rank_state::{Answer, RankState};

#[allow(clippy::wildcard_enum_match_arm, reason = "all others name a file")]
pub(super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: F) -> Answer {
    let fault = match call {
        F::File_open(of) => {
            frame.put_handle(of.fh, mpi5::FILE_NULL);
            Fault::not_carried("the simulator does not carry files")
        }
        F::File_delete(_) | F::Register_datarep(_) | F::Register_datarep_c(_) => {
            Fault::not_carried("the simulator does not carry files")
        }
        _ => Fault::new(mpi5::ERR_FILE, "it is no file that MPI_File_open has opened"),
    };
    state.errors.about(mpi5::FILE_NULL);
    Err(fault)
}
