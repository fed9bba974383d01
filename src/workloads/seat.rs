//! Where a rank sits in a communicator, as its program asks for it.

/// Where a rank sits in a communicator.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Seat {
    /// Its rank; of an intercommunicator in the own group.
    pub rank: u32,
    /// How many ranks that has.
    pub size: u32,
    /// How many the other group of an intercommunicator has.
    pub other: Option<u32>,
}

impl Seat {
    /// The seat that a library answers.
    pub(crate) fn of(numbers: &[u32]) -> Self {
        Self { rank: numbers[0], size: numbers[1], other: numbers.get(2).copied() }
    }
}
