//! MPI semantics: envelopes, matching queues, requests, groups and communicators. No time here.

pub mod envelope;
pub mod observation;
