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
    /// How many sources and destinations it has, where ranks are neighbours.
    pub degrees: Option<[u32; 2]>,
}

impl Seat {
    /// The seat that a library answers.
    pub(crate) fn of(numbers: &[u32]) -> Self {
        let degrees = numbers.get(2..4).map(|of| [of[0], of[1]]);
        let other = numbers.get(2).copied().filter(|_| degrees.is_none());
        Self { rank: numbers[0], size: numbers[1], other, degrees }
    }
}
