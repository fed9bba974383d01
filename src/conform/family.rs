//! What families of vectors have in common.

use serde::de::DeserializeOwned;

use super::error::VectorError;
use super::verdict::Mismatch;
use experiment::shipped::Shipped;

/// Facts about all cases of a file: those of its head, and the files that ship.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recording {
    /// Processes of the recorded job, where the family has one for all cases.
    pub(super) world: Option<u32>,
    /// The same by another name.
    pub(super) ranks: Option<u32>,
    /// The modulus of the user-defined operator.
    pub(super) affine_modulus: Option<u32>,
    /// Files that ship with the program: the machines that a family may need.
    pub(super) shipped: Shipped,
}

/// The data of a whole file that a family needs for its cases.
pub(super) trait Head: Sized {
    /// Reads it out of the head of the file.
    fn of(recording: Recording) -> Result<Self, VectorError>;
}

impl Head for () {
    fn of(_: Recording) -> Result<Self, VectorError> {
        Ok(())
    }
}

/// A case as it stands in its file.
pub(super) trait Recorded: DeserializeOwned {
    /// The case that it becomes.
    type Case;
    /// The data of the whole file that its family needs.
    type Head: Head;

    /// The case, where its parts fit together.
    fn checked(self, head: &Self::Head) -> Result<Self::Case, VectorError>;
}

/// A case that passes or fails in a world.
pub(super) trait Judged<W> {
    /// Whether it is run under several schedules.
    const IS_SCHEDULED: bool;

    /// The first mismatch of the case under one schedule.
    fn mismatch(&self, world: &W, schedule: u64) -> Option<Mismatch>;
}
