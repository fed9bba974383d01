//! A reliable connection and the two wires between its ends, as an adversary sees them.
//!
//! ```text
//!   post ─▶ Sender ─▶ packets on the wire there ─▶ Receiver ─▶ taken
//!              ▲                                       │
//!              └─────── answers on the wire back ◀─────┘
//! ```
//!
//! The head of a wire arrives, is lost, arrives and stays, or is overtaken by the one behind it; the
//! transport timer runs out where both wires are empty, for it is longer than any way. What is lost,
//! repeated or overtaken counts against what is [`Allowed`]. `explore::lossy` tries every order of one
//! connection, `untimed` puts one below every channel of messages.

use std::collections::VecDeque;
use std::fmt;

use super::faults::Allowed;
use hardware::reliable::{Answer, Output, Psn, Receiver, Sender, Settings};

/// One of the two directions.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Wire {
    /// Packets.
    There,
    /// Answers.
    Back,
}

/// Possible next event of a connection.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Move {
    /// The head of a wire arrives.
    Arrive(Wire),
    /// It is lost.
    Lose(Wire),
    /// It arrives, and will arrive again behind what is on the wire now.
    Repeat(Wire),
    /// The one behind it overtakes it.
    Overtake(Wire),
    /// The transport timer runs out.
    TimeOut,
}

impl Move {
    /// Whether it is a fault of the wire, which no process may wait for.
    pub const fn is_fault(self) -> bool {
        matches!(self, Self::Lose(_) | Self::Repeat(_) | Self::Overtake(_))
    }
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |wire: &Wire| if *wire == Wire::There { "packet" } else { "answer" };
        match self {
            Self::Arrive(wire) => write!(f, "the first {} arrives", name(wire)),
            Self::Lose(wire) => write!(f, "the first {} is lost", name(wire)),
            Self::Repeat(wire) => write!(f, "the first {} arrives, and will again", name(wire)),
            Self::Overtake(wire) => write!(f, "the second {} overtakes the first", name(wire)),
            Self::TimeOut => write!(f, "the transport timer runs out"),
        }
    }
}

/// One direction of a queue pair; its packets carry values of type `C`.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Connection<C> {
    settings: Settings,
    sender: Sender,
    receiver: Receiver,
    armed: bool,
    /// How many packets were acknowledged, and what the others carry.
    acknowledged: u64,
    kept: VecDeque<C>,
    there: VecDeque<(Psn, C)>,
    back: VecDeque<Answer>,
}

impl<C: Clone> Connection<C> {
    /// A connection on which nothing was sent.
    pub const fn new(settings: Settings) -> Self {
        Self {
            settings,
            sender: Sender::new(settings),
            receiver: Receiver::new(settings),
            armed: false,
            acknowledged: 0,
            kept: VecDeque::new(),
            there: VecDeque::new(),
            back: VecDeque::new(),
        }
    }

    /// One more packet is to be sent.
    pub fn post(&mut self, cargo: C) {
        self.kept.push_back(cargo);
        let mut steps = Vec::new();
        self.sender.post(1, &mut steps);
        self.take(steps);
    }

    /// Whether it has given up: nothing happens any more.
    pub const fn has_failed(&self) -> bool {
        self.sender.has_failed()
    }

    /// Whether all is acknowledged and nothing is on a wire: it is then as good as a new one.
    pub fn is_idle(&self) -> bool {
        self.sender.is_idle() && self.there.is_empty() && self.back.is_empty()
    }

    /// How many packets the sender knows to have arrived.
    pub const fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Values that its packets carry, each copy of them.
    pub fn cargo_mut(&mut self) -> impl Iterator<Item = &mut C> {
        self.kept.iter_mut().chain(self.there.iter_mut().map(|(_, cargo)| cargo))
    }

    /// Moves that are possible without a fault.
    pub fn moves(&self) -> impl Iterator<Item = Move> + use<C> {
        let (there, back) = (!self.there.is_empty(), !self.back.is_empty());
        let runs_out = self.armed && !there && !back;
        let arrives = there.then_some(Move::Arrive(Wire::There));
        let answers = back.then_some(Move::Arrive(Wire::Back));
        arrives.into_iter().chain(answers).chain(runs_out.then_some(Move::TimeOut))
    }

    /// Faults of the wires that are possible now, as far as `left` allows them.
    pub fn faults(&self, left: Allowed) -> impl Iterator<Item = Move> + use<C> {
        let wires = [(Wire::There, self.there.len()), (Wire::Back, self.back.len())];
        wires.into_iter().flat_map(move |(wire, waiting)| {
            let lost = (waiting > 0 && left.losses > 0).then_some(Move::Lose(wire));
            let twice = (waiting > 0 && left.repeats > 0).then_some(Move::Repeat(wire));
            let over = (waiting > 1 && left.overtakings > 0).then_some(Move::Overtake(wire));
            [lost, twice, over].into_iter().flatten()
        })
    }

    /// Makes a move that is among [`Self::moves`] or [`Self::faults`]; what the receiver takes, if
    /// it takes anything. A fault is subtracted from what is `left`.
    ///
    /// # Panics
    ///
    /// When the move is not open.
    pub fn apply(&mut self, next: Move, left: &mut Allowed) -> Option<C> {
        match next {
            Move::Arrive(wire) => return self.arrive(wire, false),
            Move::Repeat(wire) => {
                left.repeats -= 1;
                return self.arrive(wire, true);
            }
            Move::Lose(wire) => {
                left.losses -= 1;
                match wire {
                    Wire::There => drop(self.there.pop_front()),
                    Wire::Back => drop(self.back.pop_front()),
                }
            }
            Move::Overtake(wire) => {
                left.overtakings -= 1;
                match wire {
                    Wire::There => self.there.swap(0, 1),
                    Wire::Back => self.back.swap(0, 1),
                }
            }
            Move::TimeOut => {
                let mut steps = Vec::new();
                self.sender.time_out(&mut steps);
                self.take(steps);
            }
        }
        None
    }

    fn arrive(&mut self, wire: Wire, stays: bool) -> Option<C> {
        match wire {
            Wire::There => {
                let (psn, cargo) = self.there.pop_front().expect("the wire has a head");
                if stays {
                    self.there.push_back((psn, cargo.clone()));
                }
                let verdict = self.receiver.receive(psn);
                self.back.extend(verdict.answer);
                verdict.taken.then_some(cargo)
            }
            Wire::Back => {
                let answer = self.back.pop_front().expect("the wire has a head");
                if stays {
                    self.back.push_back(answer);
                }
                let mut steps = Vec::new();
                self.sender.hear(answer, &mut steps);
                self.take(steps);
                None
            }
        }
    }

    /// Does what the sender wants.
    fn take(&mut self, steps: Vec<Output>) {
        for step in steps {
            match step {
                Output::Transmit(packet) => {
                    let place =
                        usize::try_from(packet - self.acknowledged).expect("a place in a list");
                    let cargo = self.kept[place].clone();
                    self.there.push_back((self.settings.psn(packet), cargo));
                }
                Output::Arm => self.armed = true,
                Output::Disarm => self.armed = false,
                Output::Acknowledged(packets) => {
                    while self.acknowledged < packets {
                        self.kept.pop_front();
                        self.acknowledged += 1;
                    }
                }
                Output::Failed(_) => {
                    // An error completion: packets on the wires no longer matter.
                    self.there.clear();
                    self.back.clear();
                }
            }
        }
    }
}
