//! The receiving end: in order, once.
//!
//! ```text
//!   packet = expected ──▶ taken, ACK           packet before it ──▶ ACK of the last one again
//!   packet after it ──▶ NAK of the expected one, once until it comes
//! ```

use super::{Answer, Psn, Settings};

/// Decision of the receiver on a packet.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Verdict {
    /// Whether its payload goes to memory.
    pub taken: bool,
    /// The answer to the sender.
    pub answer: Option<Answer>,
}

/// The receiving end of a connection.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Receiver {
    settings: Settings,
    /// The number of the next packet.
    expected: u64,
    /// Whether it was requested.
    asked: bool,
}

impl Receiver {
    /// A connection on which nothing has come.
    pub const fn new(settings: Settings) -> Self {
        Self { settings, expected: 0, asked: false }
    }

    /// Packets that were taken.
    pub const fn taken(&self) -> u64 {
        self.expected
    }

    /// A packet has come.
    pub fn receive(&mut self, psn: Psn) -> Verdict {
        let ahead = self.settings.distance(self.expected, psn);
        if ahead == 0 {
            return self.take(psn);
        }
        if ahead < self.settings.half() { self.miss(psn) } else { self.repeat(psn) }
    }

    fn take(&mut self, psn: Psn) -> Verdict {
        self.expected += 1;
        self.asked = false;
        Verdict { taken: true, answer: Some(Answer::Ack(psn)) }
    }

    /// One before it is missing.
    fn miss(&mut self, psn: Psn) -> Verdict {
        #[cfg(feature = "mutants")]
        if self.settings.has(super::Flaw::GapTaken) {
            self.expected += self.settings.distance(self.expected, psn);
            return self.take(psn);
        }
        #[cfg(feature = "mutants")]
        if self.settings.has(super::Flaw::AckOfSeen) {
            return Verdict { taken: false, answer: Some(Answer::Ack(psn)) };
        }
        let _ = psn;
        let asks = !std::mem::replace(&mut self.asked, true);
        let missing = self.settings.psn(self.expected);
        Verdict { taken: false, answer: asks.then_some(Answer::Nak(missing)) }
    }

    /// It was here before: its ACK may have been lost.
    fn repeat(&mut self, psn: Psn) -> Verdict {
        #[cfg(feature = "mutants")]
        if self.settings.has(super::Flaw::TwiceTaken) {
            return Verdict { taken: true, answer: Some(Answer::Ack(psn)) };
        }
        #[cfg(feature = "mutants")]
        if self.settings.has(super::Flaw::RepeatIgnored) {
            return Verdict { taken: false, answer: None };
        }
        let _ = psn;
        let last = self.settings.psn(self.expected.wrapping_sub(1));
        Verdict { taken: false, answer: Some(Answer::Ack(last)) }
    }
}
