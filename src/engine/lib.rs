//! Engine: one clock, one total order of events, named random streams, a digest of it all.
//!
//! ```text
//!   schedule(at, source, tag, event)                      next() -> Fired
//!          │                                                  ▲
//!          ▼                 Simulation                       │
//!     EventQueue ── (time, round, source), FIFO ──▶ OrderedDigest, Journal
//! ```
//!
//! It knows no hardware and no MPI: an event is a small [`Copy`] value with a fingerprint.

pub mod causes;
pub mod digest;
pub mod journal;
pub mod paged;
pub mod queue;
pub mod simulation;
mod source;
pub mod streams;
mod tag;

pub use causes::{Causes, Keep, Moment, Run, Stretch};
pub use digest::{Digest, EVENTS_PER_CHECKPOINT, bisect, mix};
pub use journal::{Difference, Journal, JournalMode, Record, first_difference};
pub use paged::Paged;
pub use queue::{EventQueue, Popped};
pub use simulation::{Event, Fired, LimitReached, Limits, Options, Simulation};
pub use source::SourceId;
pub use streams::{Stream, Streams};
pub use tag::Tag;
