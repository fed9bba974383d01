//! Who moves which bytes of a large message.
//!
//! | id | law |
//! |---|---|
//! | V3 | the ranges that sender, receiver and HCA move are the message: no gap, no overlap |
//!
//! Messages that go through cells of a shared segment tell nothing, and are not watched.

use std::collections::BTreeMap;

use super::{Monitor, Violation};
use crate::mpi::observation::{MessageId, Mover, Observation};
use crate::protocols::contract::Process;

const V3: &str = "what sender, receiver and HCA move of a message is all of it, once";

/// The monitor of all large messages under way.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Movers {
    /// Where each range begins and ends, and who moves it.
    ranges: BTreeMap<MessageId, Vec<(u64, u64, Mover)>>,
    /// Messages of which more than one moved a part.
    pub shared: u64,
}

impl Movers {
    fn received(&mut self, message: MessageId, bytes: u64, found: &mut Vec<Violation>) {
        let Some(mut ranges) = self.ranges.remove(&message) else { return };
        ranges.sort_unstable_by_key(|(start, ..)| *start);
        let mut at = 0;
        for &(start, end, by) in &ranges {
            if start != at {
                let what = if start < at { "moved twice" } else { "moved by nobody" };
                let (from, to) = (start.min(at), start.max(at));
                let detail = format!("bytes {from}..{to} are {what}, before a part of {by:?}");
                found.push(broken(message, detail));
            }
            at = at.max(end);
        }
        if at != bytes {
            let detail = format!("{at} of {bytes} bytes are moved when it is received");
            found.push(broken(message, detail));
        }
        let first = ranges.first().map(|(_, _, by)| *by);
        self.shared += u64::from(ranges.iter().any(|(_, _, by)| Some(*by) != first));
    }
}

impl Monitor for Movers {
    fn observe(&mut self, _: Process, fact: &Observation, found: &mut Vec<Violation>) {
        if let Observation::Moved { message, by, offset, bytes } = *fact {
            if bytes > 0 {
                self.ranges.entry(message).or_default().push((offset, offset + bytes, by));
            }
        } else if let Observation::Received { message, bytes, .. } = *fact
            && !self.ranges.is_empty()
        {
            self.received(message, bytes, found);
        }
    }

    fn end(&mut self, _: u64, found: &mut Vec<Violation>) {
        for message in self.ranges.keys() {
            found.push(broken(*message, "it was moved, and never received".to_owned()));
        }
    }
}

fn broken(message: MessageId, detail: String) -> Violation {
    let MessageId { process, serial } = message;
    let objects = vec![format!("message {serial} of process {process}")];
    Violation { id: "V3", statement: V3, objects, detail }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::observation::ReceiveId;

    fn check(ranges: &[(u64, u64)], bytes: u64) -> usize {
        let (mut movers, mut found) = (Movers::default(), Vec::new());
        let message = MessageId::default();
        for (index, &(offset, len)) in ranges.iter().enumerate() {
            let by = if index % 2 == 0 { Mover::Sender } else { Mover::Receiver };
            let fact = Observation::Moved { message, by, offset, bytes: len };
            movers.observe(Process(0), &fact, &mut found);
        }
        let receive = ReceiveId::default();
        let fact = Observation::Received { receive, message, bytes, truncated: false };
        movers.observe(Process(1), &fact, &mut found);
        movers.end(0, &mut found);
        found.len()
    }

    #[test]
    fn parts_that_make_the_message_are_right_in_any_order() {
        assert_eq!(check(&[(4, 4), (0, 4)], 8), 0);
        assert_eq!(check(&[(0, 8)], 8), 0);
        assert_eq!(check(&[(0, 0), (0, 1)], 1), 0);
    }

    #[test]
    fn gaps_overlaps_and_ends_that_do_not_fit_are_found() {
        assert_eq!(check(&[(0, 3), (4, 4)], 8), 1);
        assert_eq!(check(&[(0, 5), (4, 4)], 8), 1);
        assert_eq!(check(&[(0, 7)], 8), 1);
        assert_eq!(check(&[(1, 7)], 8), 1);
        assert_eq!(check(&[(0, 9)], 8), 1);
    }
}
