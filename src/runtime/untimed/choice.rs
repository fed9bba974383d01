//! The choices of what happens next, and their words.

use std::fmt;

use crate::connection::Move;
use protocols::contract::{Lane, Process, Route, Thread, Token, Via};

/// One thing that may happen next.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Choice {
    /// A thread enters the library with its program's next call.
    Enter {
        /// Its process.
        process: Process,
        /// The thread.
        thread: Thread,
    },
    /// A thread takes the next step of its list.
    Act {
        /// Its process.
        process: Process,
        /// The thread.
        thread: Thread,
    },
    /// A polling thread takes the oldest packet of one channel.
    TakePacket {
        /// Its process.
        process: Process,
        /// The thread.
        thread: Thread,
        /// Sending process, and the lanes.
        from: Route,
        /// The wire.
        via: Via,
    },
    /// A polling thread takes the oldest completion of one lane.
    TakeDone {
        /// Its process.
        process: Process,
        /// The thread.
        thread: Thread,
        /// The lane.
        lane: Lane,
    },
    /// The adapter takes the oldest packet of one channel, for a process that is in no call.
    Match {
        /// The process.
        process: Process,
        /// Sending process, and the lanes.
        from: Route,
    },
    /// The adapter takes the completion of an operation, for a process that is in no call.
    Conclude {
        /// The process.
        process: Process,
        /// The operation.
        token: Token,
    },
    /// A thread ends its pass over the channels.
    EndPass {
        /// Its process.
        process: Process,
        /// The thread.
        thread: Thread,
    },
    /// A thread's program reads or writes memory that others can reach.
    Touch {
        /// Its process.
        process: Process,
        /// The thread.
        thread: Thread,
    },
    /// The bytes of an RDMA operation move; an atomic one takes effect.
    Move {
        /// Process that posted it.
        process: Process,
        /// The operation.
        token: Token,
    },
    /// An RDMA operation whose bytes have moved tells its completion.
    Finish {
        /// Process that posted it.
        process: Process,
        /// The operation.
        token: Token,
    },
    /// Something happens on the wires between two HCAs: see [`PacketFaults`](super::PacketFaults).
    Wire {
        /// Process that receives its packets.
        to: Process,
        /// Sending process, and the lanes.
        from: Route,
        /// Event on the wires.
        does: Move,
    },
    /// A process dies: see [`Crash`](super::Crash).
    Crash {
        /// The victim.
        process: Process,
    },
}

impl Choice {
    /// Process of the step: the one that acts, whose HCA works, or that dies.
    pub const fn process(self) -> Process {
        match self {
            Self::Enter { process, .. }
            | Self::Act { process, .. }
            | Self::TakePacket { process, .. }
            | Self::TakeDone { process, .. }
            | Self::EndPass { process, .. }
            | Self::Touch { process, .. }
            | Self::Match { process, .. }
            | Self::Conclude { process, .. }
            | Self::Move { process, .. }
            | Self::Finish { process, .. }
            | Self::Crash { process } => process,
            Self::Wire { to, .. } => to,
        }
    }

    /// The thread that takes the step; `None` where no thread does.
    pub const fn thread(self) -> Option<Thread> {
        match self {
            Self::Enter { thread, .. }
            | Self::Act { thread, .. }
            | Self::TakePacket { thread, .. }
            | Self::TakeDone { thread, .. }
            | Self::EndPass { thread, .. }
            | Self::Touch { thread, .. } => Some(thread),
            Self::Match { .. }
            | Self::Conclude { .. }
            | Self::Move { .. }
            | Self::Finish { .. }
            | Self::Wire { .. }
            | Self::Crash { .. } => None,
        }
    }

    /// Whether it is a fault of the environment, which no process may wait for.
    pub const fn is_fault(self) -> bool {
        match self {
            Self::Crash { .. } => true,
            Self::Wire { does, .. } => does.is_fault(),
            Self::Enter { .. }
            | Self::Act { .. }
            | Self::TakePacket { .. }
            | Self::TakeDone { .. }
            | Self::EndPass { .. }
            | Self::Touch { .. }
            | Self::Match { .. }
            | Self::Conclude { .. }
            | Self::Move { .. }
            | Self::Finish { .. } => false,
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = |process: &Process, thread: &Thread| format!("{}.{}", process.0, thread.0);
        match self {
            Self::Enter { process, thread } => write!(f, "{} calls", who(process, thread)),
            Self::Act { process, thread } => write!(f, "{} goes on", who(process, thread)),
            Self::TakePacket { process, thread, from, via } => {
                let Route { peer, own, remote } = from;
                write!(f, "{} takes a packet of {} ({via}", who(process, thread), peer.0)?;
                let plain = *own == Lane(0) && *remote == Lane(0);
                if plain { write!(f, ")") } else { write!(f, ", lane {} to {})", remote.0, own.0) }
            }
            Self::TakeDone { process, thread, lane } => {
                write!(f, "{} takes a completion", who(process, thread))?;
                if *lane == Lane(0) { Ok(()) } else { write!(f, " (lane {})", lane.0) }
            }
            Self::Match { process, from } => {
                write!(f, "the adapter takes a packet of {} for {}", from.peer.0, process.0)
            }
            Self::Conclude { process, token } => {
                write!(f, "the adapter takes the end of operation {} for {}", token.0, process.0)
            }
            Self::EndPass { process, thread } => {
                write!(f, "{} ends its pass", who(process, thread))
            }
            Self::Touch { process, thread } => {
                write!(f, "{} reads or writes its window", who(process, thread))
            }
            Self::Move { process, token } => {
                write!(f, "the bytes of operation {} of {} move", token.0, process.0)
            }
            Self::Finish { process, token } => {
                write!(f, "operation {} of {} completes", token.0, process.0)
            }
            Self::Wire { to, from, does } => {
                write!(f, "from process {} to process {}, {does}", from.peer.0, to.0)
            }
            Self::Crash { process } => write!(f, "process {} dies", process.0),
        }
    }
}

/// A choice that may not happen now.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{choice}` is not enabled: {reason}")]
pub struct Refusal {
    /// The choice that was requested.
    pub choice: Choice,
    /// Why it may not happen.
    pub reason: &'static str,
}
