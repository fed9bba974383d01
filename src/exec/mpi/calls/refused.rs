//! Functions that the simulator does not carry.

use crate::mpi::fault::Fault;
use crate::mpi::rank_state::Answer;

pub(super) fn call() -> Answer {
    Err(Fault::not_carried("the simulator does not carry this function yet"))
}
