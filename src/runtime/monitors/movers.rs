//! Who moves which bytes of a large message.
//!
//! | id | law |
//! |---|---|
//! | V3 | the ranges that sender, receiver and HCA move are the message: no gap, no overlap |
//!
//! Messages that go through cells of a shared segment tell nothing, and are not watched.

use super::law::{Monitor, Violation};
use super::system::LEFT_MOVED;
use mpi::observation::{MessageId, Mover, Observation};
use protocols::contract::Process;

const V3: &str = "what sender, receiver and HCA move of a message is all of it, once";

/// A range of a message: where it begins and ends, and who moves it.
type Moved = (u64, u64, Mover);

/// The monitor of all large messages under way.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Movers {
    /// By sending process: its messages that are moved, few at a time, with their ranges.
    senders: Vec<Vec<(u32, Vec<Moved>)>>,
    /// How many there are.
    open: usize,
    /// Empty lists for the next messages.
    spare: Vec<Vec<Moved>>,
    /// Messages of which more than one moved a part.
    pub shared: u64,
}

impl Movers {
    fn moved(&mut self, message: MessageId, range: Moved) {
        let process = message.process as usize;
        if process >= self.senders.len() {
            self.senders.resize(process + 1, Vec::new());
        }
        let own = &mut self.senders[process];
        if let Some((_, ranges)) = own.iter_mut().find(|(serial, _)| *serial == message.serial) {
            return ranges.push(range);
        }
        let mut ranges = self.spare.pop().unwrap_or_default();
        ranges.push(range);
        own.push((message.serial, ranges));
        self.open += 1;
    }

    fn received(&mut self, message: MessageId, bytes: u64, found: &mut Vec<Violation>) {
        let Some(own) = self.senders.get_mut(message.process as usize) else { return };
        let Some(place) = own.iter().position(|(serial, _)| *serial == message.serial) else {
            return;
        };
        let (_, mut ranges) = own.swap_remove(place);
        self.open -= 1;
        self.shared += u64::from(judge(message, bytes, &mut ranges, found));
        ranges.clear();
        self.spare.push(ranges);
    }
}

/// Whether more than one moved a part of a message; gaps and overlaps are found.
fn judge(message: MessageId, bytes: u64, ranges: &mut [Moved], found: &mut Vec<Violation>) -> bool {
    ranges.sort_unstable_by_key(|(start, ..)| *start);
    let mut at = 0;
    for &(start, end, by) in &*ranges {
        if start != at {
            let what = if start < at { "moved twice" } else { "moved by nobody" };
            let (from, to) = (start.min(at), start.max(at));
            let detail = format!("bytes {from}..{to} are {what}, before a part of {}", by.name());
            found.push(broken(message, detail));
        }
        at = at.max(end);
    }
    if at != bytes {
        let detail = format!("{at} of {bytes} bytes are moved when it is received");
        found.push(broken(message, detail));
    }
    let first = ranges.first().map(|(_, _, by)| *by);
    ranges.iter().any(|(_, _, by)| Some(*by) != first)
}

impl Monitor for Movers {
    #[inline]
    fn observe(&mut self, _: Process, fact: &Observation, found: &mut Vec<Violation>) {
        if let Observation::Moved { message, by, offset, bytes } = *fact {
            if bytes > 0 {
                self.moved(message, (offset, offset + bytes, by));
            }
        } else if let Observation::Received { message, bytes, .. } = *fact
            && self.open > 0
        {
            self.received(message, bytes, found);
        }
    }

    fn end(&mut self, _: u64, found: &mut Vec<Violation>) {
        for (process, own) in (0u32..).zip(&self.senders) {
            for &(serial, _) in own {
                let message = MessageId { process, serial };
                let detail = "it was moved, and never received".to_owned();
                found.push(Violation { statement: LEFT_MOVED, ..broken(message, detail) });
            }
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
    use mpi::observation::ReceiveId;

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
