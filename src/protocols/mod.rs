//! Protocols: what happens. Sans-IO machines; no engine, no hardware, no runtime here.

pub mod call;
pub mod contract;
