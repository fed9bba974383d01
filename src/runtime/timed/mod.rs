//! The timed runtime: turns actions into hardware work and feeds completions back.
//!
//! ```text
//!   program ─Call─▶ guard ─▶ Machine::handle ─▶ list of actions ─▶ cursor walks it
//!                                                │ core work moves the cursor
//!                                                │ effects leave at the cursor's value (an event)
//!   poll ◀─ channel ◀─ fabric ◀─ HCA ◀───────────┘ the list's end is one event
//! ```
//!
//! | part | owns | file |
//! |---|---|---|
//! | `Context` | clock, layout of threads, prices, observers: what every part uses | `context.rs` |
//! | `Cores` | threads and their lists, issue slots | `cores/` |
//! | `Locks` | locks of the library, and their slices of polling | `locks/` |
//! | `Ports` | channels of each process, and what waits there | `ports.rs` |
//! | `Network` | adapters, queue pairs, what is under way | `network/` |
//! | `Memory` | bytes, counters, lines and mutexes that cores share | `memory/` |
//! | `Gpus`, `Faults`, `Livelock`, `MemoryWatch` | as they say | one file each |
//!
//! [`Timed`] conducts: `conductor.rs`, `calls.rs`, `actions.rs`, `arrivals.rs`. Nothing here decides
//! for a machine.

mod actions;
mod arrivals;
mod at_once;
mod calls;
mod conductor;
mod context;
mod cores;
mod costs;
mod diagnosis;
mod event;
mod executor;
mod faults;
mod gpus;
mod livelock;
mod locks;
mod memory;
mod network;
mod observers;
mod ports;
mod setup;
mod slab;
mod sweeps;
mod unfired;
mod usage;
mod words;

pub use super::outcome::{Ending, Mark, Outcome, Ran, Tally, Unfired, Used};
pub use conductor::Timed;
pub use setup::{Connections, Kernel, LockOrder, Placement, Planted, Setup};
