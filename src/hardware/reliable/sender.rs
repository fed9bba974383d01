//! The sending end: keeps what is not acknowledged, and goes back to it.
//!
//! ```text
//!   posted ──window──▶ sent ──ACK──▶ acknowledged
//!                       │ NAK, timer: sent again from the first that is not acknowledged
//!                       └ too many tries without progress: failed
//! ```

use super::{Answer, Psn, Settings};

/// A step that the sender asks for or reports.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Output {
    /// Packet number `0` of the connection goes to the wire.
    Transmit(u64),
    /// The transport timer starts anew.
    Arm,
    /// It stops: nothing is under way.
    Disarm,
    /// Packets before number `0` have arrived.
    Acknowledged(u64),
    /// The retry counter is exceeded at packet number `0`: an error completion.
    Failed(u64),
}

/// The sending end of a connection.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Sender {
    settings: Settings,
    acknowledged: u64,
    sent: u64,
    posted: u64,
    /// Tries since the last progress.
    tries: u8,
    failed: bool,
}

impl Sender {
    /// A connection that has sent nothing.
    pub const fn new(settings: Settings) -> Self {
        Self { settings, acknowledged: 0, sent: 0, posted: 0, tries: 0, failed: false }
    }

    /// Whether the retry counter was exceeded: nothing happens any more.
    pub const fn has_failed(&self) -> bool {
        self.failed
    }

    /// Whether all that was posted has been acknowledged.
    pub const fn is_idle(&self) -> bool {
        self.acknowledged == self.posted
    }

    /// Packets that were posted so far: the number of the next one.
    pub const fn posted(&self) -> u64 {
        self.posted
    }

    /// Packets that were sent so far, each counted once.
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    /// So many more packets are to be sent.
    pub fn post(&mut self, packets: u64, out: &mut Vec<Output>) {
        self.posted += packets;
        self.fill_window(out);
    }

    /// The receiver, or an echo of it, has spoken.
    pub fn hear(&mut self, answer: Answer, out: &mut Vec<Output>) {
        if self.failed {
            return;
        }
        match answer {
            Answer::Ack(psn) => {
                // An ACK of what was acknowledged before comes late, or twice.
                if let Some(packet) = self.outstanding(psn) {
                    self.progress(packet + 1, out);
                }
            }
            Answer::Nak(psn) => {
                if let Some(packet) = self.outstanding(psn) {
                    if packet > self.acknowledged {
                        self.progress(packet, out);
                    }
                    self.go_back(out);
                }
            }
        }
    }

    /// The transport timer has run out.
    pub fn time_out(&mut self, out: &mut Vec<Output>) {
        if !self.failed && self.acknowledged < self.sent {
            self.go_back(out);
        }
    }

    /// Which packet under way `psn` names, if any.
    fn outstanding(&self, psn: Psn) -> Option<u64> {
        let packet = self.acknowledged + self.settings.distance(self.acknowledged, psn);
        (packet < self.sent).then_some(packet)
    }

    fn progress(&mut self, acknowledged: u64, out: &mut Vec<Output>) {
        self.acknowledged = acknowledged;
        self.tries = 0;
        out.push(Output::Acknowledged(acknowledged));
        self.fill_window(out);
        if self.acknowledged == self.sent {
            out.push(Output::Disarm);
            return;
        }
        #[cfg(feature = "mutants")]
        if self.settings.has(super::Flaw::TimerStopped) {
            return out.push(Output::Disarm);
        }
        out.push(Output::Arm);
    }

    fn fill_window(&mut self, out: &mut Vec<Output>) {
        if self.failed {
            return;
        }
        let idle = self.acknowledged == self.sent;
        let window = u64::from(self.settings.window);
        #[cfg(feature = "mutants")]
        let window = if self.settings.has(super::Flaw::WideWindow) { window * 2 } else { window };
        while self.sent < self.posted && self.sent - self.acknowledged < window {
            out.push(Output::Transmit(self.sent));
            self.sent += 1;
        }
        if idle && self.acknowledged < self.sent {
            out.push(Output::Arm);
        }
    }

    /// Sends everything again that is not acknowledged, or gives up.
    fn go_back(&mut self, out: &mut Vec<Output>) {
        if self.tries == self.settings.retries {
            self.failed = true;
            out.push(Output::Disarm);
            out.push(Output::Failed(self.acknowledged));
            return;
        }
        self.tries += 1;
        #[cfg(feature = "mutants")]
        if self.settings.has(super::Flaw::OneAgain) {
            out.push(Output::Transmit(self.acknowledged));
            return out.push(Output::Arm);
        }
        #[cfg(feature = "mutants")]
        if self.settings.has(super::Flaw::NextAgain) {
            out.extend((self.acknowledged + 1..self.sent).map(Output::Transmit));
            return out.push(Output::Arm);
        }
        out.extend((self.acknowledged..self.sent).map(Output::Transmit));
        out.push(Output::Arm);
    }
}
