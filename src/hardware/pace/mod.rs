//! The pace of a queue pair: how soon its adapter begins the next message, and how many bytes it has
//! under way.
//!
//! ```text
//!   WQE ─▶ waits for the window ─▶ waits for the rate ─▶ wires ─▶ receiver's HCA
//!                  ▲                       │ sent              │
//!                  └──── acknowledged ◀────┴───────────────────┘ the wires' latency
//! ```
//!
//! A controller decides and is informed about one direction of one queue pair. Without one, messages
//! begin as fast as the adapter can, and nothing here costs anything: that is [`Pace::NONE`], the only
//! pace that ships.
//!
//! Source: the hooks are those of quinn's `congestion::Controller`, as far as this fabric has something
//! to report.
//! Left out: marks (ECN) and round-trip estimates, since no switch marks; answers to RDMA reads, which
//! leave as fast as the responder can; the loss of acknowledgements on links that lose packets. A rate
//! spaces messages: the bytes of one message cross the wires as fast as these allow. Noticeable in
//! single messages of many megabytes, and in programs that read by RDMA.

use std::fmt::Debug;

use units::{Bandwidth, Time};

/// Decides the pace of one direction of a queue pair; hooks that it leaves out do nothing.
pub trait Controller: Debug {
    /// A message of so many bytes leaves the adapter.
    fn sent(&mut self, now: Time, bytes: u64) {
        let _ = (now, bytes);
    }

    /// The acknowledgement of a message of so many bytes is at the adapter.
    fn acknowledged(&mut self, now: Time, bytes: u64) {
        let _ = (now, bytes);
    }

    /// Most bytes under way, unless a single message has more; `None`: any number.
    fn window(&self) -> Option<u64> {
        None
    }

    /// Rate of the messages one after the other; `None`: that of the adapter.
    fn rate(&self) -> Option<Bandwidth> {
        None
    }
}

/// The pace of every queue pair of a job.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace(Option<fn() -> Box<dyn Controller>>);

impl Pace {
    /// No pace: messages begin as fast as the adapter can.
    pub const NONE: Self = Self(None);

    /// The pace of controllers that `make` makes, one for each direction of a queue pair.
    pub const fn of(make: fn() -> Box<dyn Controller>) -> Self {
        Self(Some(make))
    }

    /// Makes a controller, unless there is no pace.
    pub const fn maker(self) -> Option<fn() -> Box<dyn Controller>> {
        self.0
    }
}
