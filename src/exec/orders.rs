//! What the simulator and the supervisor of its ranks say to each other: lines of JSON over two pipes.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};

/// The simulator wants a process. The descriptors are its own: the supervisor opens what they stand for.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Order {
    /// The program and its arguments.
    pub(super) command: Vec<OsString>,
    /// Variables beside those of the simulator.
    pub(super) environment: Vec<(OsString, OsString)>,
    /// The end of the channel that the process reads.
    pub(super) from: i32,
    /// The end that it writes.
    pub(super) to: i32,
    /// Its standard output, where there is one.
    pub(super) output: Option<i32>,
}

/// A message of the supervisor.
#[derive(Debug, Deserialize, Serialize)]
pub(super) enum Word {
    /// The process runs, and has this number.
    Started(u32),
    /// The system does not start it: its error.
    Refused(i32),
    /// The process has ended; its status in the form of `wait`.
    Ended(u32, i32),
    /// The supervisor ends by this signal, and all processes with it.
    Signalled(i32),
}
