//! What programs call on windows, what goes over the wire for it, and how windows of a job work.
//!
//! The state machines of it are in [`rma`](super::rma).

pub mod call;
pub mod packet;
pub mod settings;
