//! The objects of MPI that a rank has, by kind: each kind keeps and changes its own state, and knows neither the rank
//! nor the functions of MPI.

pub(super) mod attributes;
pub(super) mod comms;
pub(super) mod errors;
pub(super) mod groups;
pub(super) mod infos;
pub(super) mod operators;
pub(super) mod requests;
pub(super) mod sessions;
pub(super) mod topologies;
pub(super) mod types;
pub(super) mod windows;
