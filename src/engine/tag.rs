//! Tags of events.

/// Resource and phase to which an event's time is accounted.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Tag {
    /// The resource that was busy until the event, as the caller numbers them.
    pub resource: u32,
    /// The work of the resource, as the caller numbers it.
    pub phase: u8,
}
