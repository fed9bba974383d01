//! Planted bugs of the reliable connection, and a change that must not matter.
//!
//! Only with the cargo feature `mutants`; `tests/mutants/reliable.rs` explores each.

/// One of them.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Flaw {
    /// A packet that was here before is taken again.
    TwiceTaken,
    /// A packet behind a gap is taken as if nothing were missing.
    GapTaken,
    /// A packet behind a gap is acknowledged.
    AckOfSeen,
    /// A packet that was here before is not acknowledged again.
    RepeatIgnored,
    /// More packets under way than half of all PSNs.
    WideWindow,
    /// The timer stops at the first ACK.
    TimerStopped,
    /// The sender goes back to the packet after the one that is missing.
    NextAgain,
    /// Only the packet that is missing is sent again: slower, and right.
    OneAgain,
}

impl Flaw {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::TwiceTaken,
        Self::GapTaken,
        Self::AckOfSeen,
        Self::RepeatIgnored,
        Self::WideWindow,
        Self::TimerStopped,
        Self::NextAgain,
        Self::OneAgain,
    ];

    /// Whether nothing may notice it.
    pub const fn is_harmless(self) -> bool {
        matches!(self, Self::OneAgain)
    }
}
