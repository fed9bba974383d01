//! Receives whose receiver is ready before their message comes (RTR, ready to receive).
//!
//! ```text
//!   receiver  posts, and no other receive could take the message ──RTR (buffer, seen)──▶ kept
//!   sender    sends: the first kept RTR that selects the message ──▶ is used
//!             sends: none does ──▶ `passed` counts it; RTRs on their way are void at both sides
//! ```
//!
//! An RTR names one posted receive. The sender must know that its message is the one that this
//! receive would be matched with, so that matching stays as it is without RTRs (V8):
//!
//! - only receives of one known source have an RTR; a wildcard could be matched elsewhere (V10);
//! - none has one while an earlier posted receive without an RTR could take its message;
//! - an RTR that crossed a message without one is void. The sender sees that the receiver has not
//!   `seen` as many of those as were sent; the receiver sees from `heard`, which every message
//!   carries, how many of its RTRs were there when the message was sent.
//!
//! So both sides know the same RTRs at the same message. A small message uses up the RTR that
//! selects it without filling its buffer. A receive whose RTR is void stays posted, and its message
//! asks.
//!
//! Source: `coop` Sec. I-A (RTR, and that wildcards need extra care); the rules are ours.
//! Left out: taking an RTR back. `MPI_Cancel` of a receive with an RTR is refused; one thread a process.

use std::collections::BTreeMap;

use super::{Key, Process};
use crate::wire::ReadyToReceive;
use mpi::envelope::Envelope;

/// The RTRs that one process has sent and received.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct RtrTable {
    pairs: BTreeMap<Process, Pair>,
}

/// The RTRs between this process and another one.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct Pair {
    /// RTRs of the other that still hold, the earliest first.
    kept: Vec<ReadyToReceive>,
    /// RTRs received so far, void ones as well.
    heard: u32,
    /// Messages sent so far that found no RTR.
    passed: u32,
    /// Own RTRs that still hold, with their number, the earliest first.
    sent: Vec<(u32, Key)>,
    /// Own RTRs so far.
    count: u32,
    /// Messages of the other so far that had found no RTR.
    seen: u32,
}

impl RtrTable {
    /// A message leaves: the RTR that it uses up, and how many RTRs of its receiver have come.
    ///
    /// Every message with an envelope asks, once, when it is sent.
    pub(super) fn take(
        &mut self,
        to: Process,
        envelope: &Envelope,
    ) -> (Option<ReadyToReceive>, u32) {
        let pair = self.pairs.entry(to).or_default();
        let place = pair.kept.iter().position(|rtr| envelope.matches(&rtr.selection));
        if place.is_none() {
            pair.passed += 1;
        }
        (place.map(|place| pair.kept.remove(place)), pair.heard)
    }

    /// Another process has sent an RTR. It is void where a message crossed it, unless `keeps_void`.
    pub(super) fn receive(&mut self, from: Process, rtr: ReadyToReceive, keeps_void: bool) {
        let pair = self.pairs.entry(from).or_default();
        pair.heard += 1;
        // A message without an RTR that the receiver had not seen is on its way: it comes first.
        let crosses = pair.passed != rtr.seen;
        if !crosses || keeps_void {
            pair.kept.push(rtr);
        }
    }

    /// A posted receive gets an RTR; answers how many messages without one this process has seen.
    pub(super) fn send(&mut self, to: Process, key: Key) -> u32 {
        let pair = self.pairs.entry(to).or_default();
        pair.sent.push((pair.count, key));
        pair.count += 1;
        pair.seen
    }

    /// Whether a receive has an RTR that this process may use.
    pub(super) fn has_sent(&self, to: Process, key: Key) -> bool {
        self.pairs.get(&to).is_some_and(|pair| pair.sent.iter().any(|one| one.1 == key))
    }

    /// Whether a receive has an RTR: its sender may be filling it.
    pub(super) fn has(&self, key: Key) -> bool {
        self.pairs.values().any(|pair| pair.sent.iter().any(|one| one.1 == key))
    }

    /// A message of `from` has arrived that uses no RTR by itself, and has been matched with
    /// `matched`; its sender had received so many RTRs.
    pub(super) fn settle(&mut self, from: Process, heard: u32, matched: Option<Key>) {
        let pair = self.pairs.entry(from).or_default();
        let known = |&(number, key): &(u32, Key)| number < heard && Some(key) == matched;
        if let Some(place) = pair.sent.iter().position(known) {
            // The sender has used this RTR up.
            pair.sent.remove(place);
        } else {
            pair.seen += 1;
            pair.sent.retain(|&(number, _)| number < heard);
        }
    }

    /// A message has used the RTR of this receive.
    pub(super) fn used(&mut self, from: Process, key: Key) {
        self.pairs.entry(from).or_default().sent.retain(|one| one.1 != key);
    }
}
