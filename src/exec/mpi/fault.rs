//! Why a function of MPI does not do what it is called for.

use crate::functions as mpi5;
use crate::ranks::RankError;

/// Why a function does not do what it is called for.
#[derive(Debug)]
pub enum Fault {
    /// An error of MPI.
    Error {
        /// Its class.
        class: i32,
        /// The reason, in words.
        why: String,
    },
    /// The process is of no use any more.
    Lost(RankError),
    /// A function of the program's that MPI runs calls `MPI_Abort` with this exit status.
    Aborts(i32),
}

impl Fault {
    /// An error of this class.
    pub(super) fn new(class: i32, why: impl Into<String>) -> Self {
        Self::Error { class, why: why.into() }
    }

    /// An error for a function or feature that the simulator does not support.
    pub(super) fn not_carried(what: impl Into<String>) -> Self {
        Self::new(mpi5::ERR_UNSUPPORTED_OPERATION, what)
    }
}

impl From<RankError> for Fault {
    fn from(error: RankError) -> Self {
        Self::Lost(error)
    }
}
