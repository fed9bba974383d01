//! MPI semantics: envelopes, matching queues, requests, groups and communicators. No time here.

pub mod cartesian;
pub mod communicator;
pub mod datatype;
pub mod endpoints;
pub mod envelope;
pub mod group;
pub mod intercommunicator;
pub mod matching;
pub mod observation;
pub mod operator;
pub mod rma;
pub mod topology;
