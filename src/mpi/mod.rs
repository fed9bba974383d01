//! MPI semantics: envelopes, matching queues, requests, groups and communicators. No time here.

pub mod communicator;
pub mod envelope;
pub mod group;
pub mod matching;
pub mod observation;
