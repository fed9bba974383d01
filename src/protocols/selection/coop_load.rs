//! COOP-load: the side with fewer copies before it copies.
//!
//! The processes of a node share a counter for each of them: copies that were given to it and have
//! not ended. The receiver decides when it has matched, in one piece with the counting, and its CTS
//! (or its copy and FIN) carries the choice; each side counts its own copy down when that has ended.
//!
//! Source: `coop` Sec. II-B2: a counter holds the copies still to do, goes up with the choice and down
//! when a copy ends. Who reads and raises the counters, and that both copy where they are equal, is ours:
//! the document says neither. [`Load`] has other readings, beside the one that is closest to it.

use super::protocol::Protocol;
use crate::contract::{Change, Counter, Process};

/// Quantity in the counter of a process.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Held {
    /// Copies that are still to do.
    #[default]
    Outstanding,
    /// All copies that it was ever given.
    Cumulative,
}

/// Side that raises the counters of a message, and when.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Raised {
    /// The receiver those of both sides, when it has matched the RTS, in one piece with its choice.
    #[default]
    WithChoice,
    /// Each side its own: the receiver with its choice, the sender when the CTS has come.
    ByEachSide,
}

/// Unit of a counter.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Unit {
    /// A copy, of a whole message or of a half.
    #[default]
    Copy,
    /// Half a message: a copy of a whole one is two.
    Half,
}

/// How copies are counted.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Load {
    /// Unit of a counter.
    pub unit: Unit,
    /// Quantity in a counter.
    pub held: Held,
    /// Side that raises it.
    pub raised: Raised,
}

impl Load {
    /// The counter of a process.
    pub const fn of(self, process: Process) -> Counter {
        match self.held {
            Held::Outstanding => Counter::Copies(process),
            Held::Cumulative => Counter::Given(process),
        }
    }

    /// Increments by the receiver with its choice: for the copies of those that will copy, or for its own.
    pub fn with_choice(
        self,
        protocol: Protocol,
        [sender, receiver]: [Process; 2],
    ) -> impl Iterator<Item = (Counter, Change)> {
        let raises_both = self.raised == Raised::WithChoice;
        let of_sender = (raises_both && sender_copies(protocol)).then_some(sender);
        let of_receiver =
            matches!(protocol, Protocol::RGet | Protocol::CoopP2p).then_some(receiver);
        let who = [of_sender, of_receiver].into_iter().flatten();
        who.flat_map(move |process| self.each(protocol, self.of(process), Change::Up))
    }

    /// Increments by a sender when the CTS brings it the choice.
    pub fn with_cts(
        self,
        protocol: Protocol,
        sender: Process,
    ) -> impl Iterator<Item = (Counter, Change)> {
        let raises = self.raised == Raised::ByEachSide && sender_copies(protocol);
        let of_sender = raises.then_some(sender).into_iter();
        of_sender.flat_map(move |process| self.each(protocol, self.of(process), Change::Up))
    }

    /// Decrements by a process when a copy of its own has ended.
    pub fn with_end(
        self,
        protocol: Protocol,
        me: Process,
    ) -> impl Iterator<Item = (Counter, Change)> {
        let lowers = self.held == Held::Outstanding;
        let of_me = lowers.then_some(me).into_iter();
        of_me.flat_map(move |process| self.each(protocol, self.of(process), Change::Down))
    }

    /// The changes for one copy of a message that moves by `protocol`.
    fn each(
        self,
        protocol: Protocol,
        counter: Counter,
        change: Change,
    ) -> impl Iterator<Item = (Counter, Change)> {
        let second_half = self.unit == Unit::Half && protocol != Protocol::CoopP2p;
        [Some(counter), second_half.then_some(counter)]
            .into_iter()
            .flatten()
            .map(move |counter| (counter, change))
    }
}

const fn sender_copies(protocol: Protocol) -> bool {
    matches!(protocol, Protocol::RPut | Protocol::CoopP2p)
}

/// The protocol for a message between processes with so many copies before them.
pub const fn choose(sender: u32, receiver: u32) -> Protocol {
    if sender < receiver {
        Protocol::RPut
    } else if sender > receiver {
        Protocol::RGet
    } else {
        Protocol::CoopP2p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chosen copier is the one with the smaller counter.
    #[test]
    fn the_lighter_side_copies() {
        // claim: coop-sem-load-counter
        for (sender, receiver) in [(0, 0), (1, 0), (0, 1), (7, 3), (3, 7), (5, 5)] {
            let protocol = choose(sender, receiver);
            let counted = |process| {
                let up = (Counter::Copies(Process(process)), Change::Up);
                let mut up_with_choice =
                    Load::default().with_choice(protocol, [Process(0), Process(1)]);
                up_with_choice.any(|count| count == up)
            };
            assert_eq!(counted(0), sender <= receiver);
            assert_eq!(counted(1), receiver <= sender);
        }
    }

    /// Each copy is counted once, by the receiver or by its own side; and once again at its end, where copies still to do
    /// are counted. Two halves weigh as much as a whole one, where halves are counted.
    #[test]
    fn every_reading_counts_each_copy_once() {
        let both = [Process(0), Process(1)];
        for (held, raised, unit) in readings() {
            let load = Load { unit, held, raised };
            for protocol in [Protocol::RPut, Protocol::RGet, Protocol::CoopP2p] {
                let halves = protocol == Protocol::CoopP2p;
                let weight = if unit == Unit::Half && !halves { 2 } else { 1 };
                let ups: Vec<_> = load
                    .with_choice(protocol, both)
                    .chain(load.with_cts(protocol, both[0]))
                    .collect();
                let copies = [protocol != Protocol::RGet, protocol != Protocol::RPut];
                for (process, copies) in both.into_iter().zip(copies) {
                    let of_process = |count: &&(Counter, Change)| count.0 == load.of(process);
                    let counted = ups.iter().filter(of_process).count();
                    assert_eq!(counted, if copies { weight } else { 0 }, "{load:?}, {protocol:?}");
                    let downs = load.with_end(protocol, process).count();
                    assert_eq!(downs, if held == Held::Outstanding { weight } else { 0 });
                }
                let by_sender = load.with_cts(protocol, both[0]).count();
                assert_eq!(by_sender > 0, raised == Raised::ByEachSide && copies[0]);
            }
        }
    }

    fn readings() -> impl Iterator<Item = (Held, Raised, Unit)> {
        [Held::Outstanding, Held::Cumulative].into_iter().flat_map(|held| {
            [Raised::WithChoice, Raised::ByEachSide].into_iter().flat_map(move |raised| {
                [Unit::Copy, Unit::Half].into_iter().map(move |unit| (held, raised, unit))
            })
        })
    }
}
