//! The real binary: what its commands print, leave behind and refuse.

#![allow(clippy::unwrap_used, reason = "a test stops at its first surprise")]

#[path = "../common/binary.rs"]
mod binary;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/malformed.rs"]
mod malformed;
#[path = "../common/schedules.rs"]
mod schedules;

mod bad_inputs;
mod both;
mod boundaries;
mod buffers;
mod check;
mod claimed;
mod cli;
mod cli_explore;
mod collective_arguments;
mod collectives_program;
mod connections;
mod diff;
mod documented;
mod exec;
mod exec_calls;
mod exec_forbidden;
mod exec_processes;
mod explain;
mod failures;
mod faults;
mod fit;
mod goal;
mod golden;
mod in_use;
mod incast;
mod inputs;
mod invocations;
mod language;
mod long_lists;
mod manual;
mod memory_limit;
mod misuse;
mod mpich;
mod mutations;
mod new;
mod outputs;
mod programs;
mod reference;
mod resume;
mod scale_out;
mod schema;
mod sendrecv_ring;
mod sensitivity;
mod threads_program;
mod ti;
mod transient;
mod windows;
