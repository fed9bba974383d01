//! The timed runtime: turns actions into hardware work and feeds completions back.
//!
//! ```text
//!   program ─Call─▶ guard ─▶ Machine::handle ─▶ list of actions ─▶ cursor walks it
//!                                                │ core work moves the cursor
//!                                                │ effects leave at the cursor's value (an event)
//!   poll ◀─ channel ◀─ fabric ◀─ HCA ◀───────────┘ the list's end is one event
//! ```
//!
//! A thread that is alone in its process and on its core runs ahead of the clock: nobody can tell, and
//! the end of its list is no event. A thread handles nothing while its list runs; one without work in a
//! call polls: `ports.rs` computes which pass meets an arrival. Nothing here decides for a machine.

mod adapter;
mod conductor;
mod context;
mod cores;
mod costs;
mod event;
mod faults;
mod gpus;
mod livelock;
mod locks;
mod memory;
mod network;
mod observers;
mod passes;
mod ports;
mod setup;
mod slab;
mod touch;
mod unfired;
mod usage;
mod words;

pub use super::outcome::{Ending, Mark, Outcome, Ran, Tally, Unfired, Used};
pub use conductor::Timed;
pub use setup::{Connections, Kernel, LockOrder, Placement, Planted, Setup};
