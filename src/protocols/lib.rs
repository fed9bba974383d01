//! Protocols: what happens. Sans-IO machines; no engine, no hardware, no runtime here.

pub mod asked;
pub mod call;
pub mod contract;
pub mod device;
pub mod eager;
pub mod exchange;
pub mod job;
pub mod library;
pub mod loans;
#[cfg(feature = "mutants")]
pub mod mutant;
pub mod note;
pub mod partitioned;
pub mod process_memory;
pub mod rendezvous;
pub mod rma;
pub mod selection;
pub mod uses;
mod vcis;
pub mod windows;
pub mod wire;
