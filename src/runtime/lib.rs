//! Runtimes: the only place where protocols meet hardware, or an adversary.
//!
//! ```text
//!   timed.rs     actions go to hardware models, completions come back as inputs
//!   untimed.rs   an adversary chooses what happens next; explore.rs searches its choices
//!   connection.rs  a reliable connection over wires that lose packets, as choices
//!   rules.rs     what both assert of a list of actions
//!   monitors/    laws that every run must keep, identical in both
//! ```

pub mod account;
pub mod causes;
pub mod connection;
pub mod counters;
pub mod crash;
pub mod deadlock;
pub mod device;
pub mod event_text;
pub mod explore;
pub mod faults;
pub mod fingerprint;

pub mod loggops;
pub mod memory;
pub mod memory_use;
pub mod monitors;
pub mod outcome;
mod prints;
pub mod rules;
pub mod timed;

pub mod untimed;
