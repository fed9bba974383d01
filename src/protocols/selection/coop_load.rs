//! COOP-load: the side with fewer copies before it copies.
//!
//! The processes of a node share a counter for each of them: copies that were given to it and have
//! not ended. The receiver decides when it has matched, in one piece with the counting, and its CTS
//! (or its copy and FIN) carries the choice; each side counts its own copy down when that has ended.
//!
//! Source: `coop` Sec. II-B2. Who reads the counters, and that both copy where they are equal, is
//! ours: the document says neither.

use super::protocol::Protocol;
use crate::contract::{Change, Counter, Process};

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

/// What the choice counts up: the copies of those that will copy.
pub fn counts(
    protocol: Protocol,
    sender: Process,
    receiver: Process,
) -> impl Iterator<Item = (Counter, Change)> {
    let of_sender = matches!(protocol, Protocol::RPut | Protocol::CoopP2p).then_some(sender);
    let of_receiver = matches!(protocol, Protocol::RGet | Protocol::CoopP2p).then_some(receiver);
    let who = [of_sender, of_receiver].into_iter().flatten();
    who.map(|process| (Counter::Copies(process), Change::Up))
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
                counts(protocol, Process(0), Process(1)).any(|count| count == up)
            };
            assert_eq!(counted(0), sender <= receiver);
            assert_eq!(counted(1), receiver <= sender);
        }
    }
}
