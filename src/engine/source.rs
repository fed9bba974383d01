//! Sources of events.

/// The component that schedules events: the last part of the order of simultaneous events.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SourceId(pub u32);
