//! Planted bugs: each is found by the law that it breaks, in the smallest world that shows it.
//!
//! `cargo test --features mutants --test mutants -- --nocapture` prints the tables.

#![allow(clippy::unwrap_used, reason = "a test stops at its first surprise")]

#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code, reason = "no random types here")]
#[path = "../common/datatypes_model.rs"]
mod datatypes_model;
#[path = "../common/gpu_machine.rs"]
mod gpu_machine;
#[path = "../common/layouts.rs"]
mod layouts;
#[path = "../common/reference.rs"]
mod reference;
#[path = "../common/small.rs"]
mod small;
#[path = "../common/windows.rs"]
mod windows;

mod datatypes;
mod explorer;
mod gpu;
mod library;
mod mutexes;
mod reliable;
