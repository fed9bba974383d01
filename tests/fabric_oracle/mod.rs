//! Workloads as data, and two models that run them: the fabric, and segments in round robin.

pub mod driver;
