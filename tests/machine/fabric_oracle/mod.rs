//! Workloads as data, and two models that run them: the fabric, and segments in round robin.

mod bounds;
pub(crate) mod compare;
pub(crate) mod driver;
pub(crate) mod segments;
pub(crate) mod workloads;
