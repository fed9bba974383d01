//! Tags of events.

/// What an event's time is accounted to.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Tag {
    /// The resource that was busy until the event, as the caller numbers them.
    pub resource: u32,
    /// What the resource was doing, as the caller numbers it.
    pub phase: u8,
}
