//! Planted bugs of a GPU, and changes that must not matter: what its laws are checked with.
//!
//! Only with the cargo feature `mutants`; `tests/mutants/gpu.rs` runs each.

/// One of them.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Flaw {
    /// Blocks give their slots back when they have started.
    SlotsAtOnce,
    /// A later kernel takes slots before an earlier one.
    NewestFirst,
    /// Later operations of a stream do not wait for those before them.
    StreamIgnored,
    /// Two copies to the host are done at the same time.
    TwoCopiesAtOnce,
    /// Packets of a copy take bytes of several rows.
    PacketsSpanRows,
    /// A segment that several threads of a warp touch counts for each of them.
    SegmentsAgain,
    /// Of a copy into the device only the first piece moves.
    PiecesLost,
    /// Reads of the host pass writes.
    ReadsPassWrites,
    /// Stores of SMs and an engine get equal parts of the bus.
    EqualShares,
    /// Engines look for work in another order.
    EnginesBackwards,
    /// A kernel that runs gets another number.
    OtherSlots,
}

impl Flaw {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::SlotsAtOnce,
        Self::NewestFirst,
        Self::StreamIgnored,
        Self::TwoCopiesAtOnce,
        Self::PacketsSpanRows,
        Self::SegmentsAgain,
        Self::PiecesLost,
        Self::ReadsPassWrites,
        Self::EqualShares,
        Self::EnginesBackwards,
        Self::OtherSlots,
    ];

    /// Whether nothing may notice it.
    pub const fn is_harmless(self) -> bool {
        matches!(self, Self::EnginesBackwards | Self::OtherSlots)
    }
}
