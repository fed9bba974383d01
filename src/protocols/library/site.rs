//! The process that a library belongs to: its number, what its job agrees on, and how it refuses.

use super::words::InWords;
use super::{Process, ProtocolError, Route, SharedJob, Thread, Wire};

/// A process of a job.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Site {
    pub(super) job: SharedJob,
    pub(super) me: Process,
}

impl Site {
    /// How a thread of this process reaches the other end of a route.
    #[inline]
    pub(super) fn wire(&self, route: Route, thread: Thread) -> Wire {
        self.job.wire(self.me, route, thread)
    }

    /// The node of this process.
    pub(super) fn node(&self) -> u32 {
        self.job.node_of[self.me.0 as usize]
    }

    /// Whether a process is on another node.
    pub(super) fn is_away(&self, peer: Process) -> bool {
        self.node() != self.job.node_of[peer.0 as usize]
    }

    /// A program requested what it may not: the input is in words, since its author reads it.
    pub(super) fn refuse(&self, state: &str, input: impl InWords) -> ProtocolError {
        self.defect(state, input.in_words())
    }

    /// The state is one that only a defect of the library leads to.
    pub(super) fn defect(&self, state: &str, input: impl std::fmt::Debug) -> ProtocolError {
        ProtocolError::refused("library", format!("rank {}: {state}", self.me.0), input)
    }
}
