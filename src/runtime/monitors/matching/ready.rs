//! Ready sends: the receive that takes one was posted when it started (MPI-3.1, Sec. 3.4).
//!
//! Where a clock tells when things happen, both moments are compared once it is known which receive
//! takes the message: threads that run ahead of the clock tell their facts ahead of it, too. Without
//! one the order of the facts is the order of events, and what matters is what stands in the queue of
//! the receiver when the send starts. A message without a posted receive when it is polled came too
//! early in either case.
//!
//! Left out: which of several senders' messages takes a receive is not known when one of them starts.
//! A ready send that loses its receive to another sender, and meets one that was posted in the
//! meantime, passes.

use std::collections::BTreeMap;

use super::{Matching, broken};
use crate::monitors::law::{Moment, Violation};
use mpi::envelope::{Envelope, Rank};
use mpi::observation::{MessageId, Observation, ReceiveId};

const READY: &str = "the receive of a ready send is posted before the send starts";

/// A ready send whose message was not taken yet.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Start {
    message: MessageId,
    envelope: Envelope,
    moment: Moment,
}

/// Ready sends, and the receives that they may meet.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Ready {
    /// Sends whose message was not polled yet.
    starts: Vec<Start>,
    /// When and where open receives were posted, by process and number: where there is a clock, and
    /// programs send in ready mode.
    posted: Option<BTreeMap<(u32, u32), Moment>>,
}

impl Ready {
    /// Forgets a receive that is open no more.
    fn closed(&mut self, receive: ReceiveId) -> Option<Moment> {
        self.posted.as_mut()?.remove(&(receive.process, receive.serial))
    }
}

impl Matching {
    /// Keeps from now on when receives are posted.
    pub(crate) fn expect_ready_sends(&mut self) {
        self.ready.posted.get_or_insert_default();
    }

    /// Whether a fact may concern a ready send.
    #[inline]
    pub(crate) fn watches_ready(&self, fact: &Observation) -> bool {
        let is_ready = matches!(fact, Observation::Sent { ready: true, .. });
        is_ready || self.ready.posted.is_some() || !self.ready.starts.is_empty()
    }

    /// A fact that may concern a ready send, before the other monitors get it.
    #[inline(never)]
    pub(crate) fn of_ready(
        &mut self,
        fact: &Observation,
        moment: Moment,
        found: &mut Vec<Violation>,
    ) {
        if let Observation::Sent { message, envelope, to, ready: true, .. } = *fact {
            let start = Start { message, envelope, moment };
            if start.moment.at.is_none() && !self.has_receive(message, &envelope, to) {
                found.push(early(&start, None));
            } else {
                self.ready.starts.push(start);
            }
        } else if let Observation::Posted { receive, .. } = *fact {
            if let Some(posted) = &mut self.ready.posted {
                posted.insert((receive.process, receive.serial), moment);
            }
        } else if let Observation::Matched { receive, .. } | Observation::Cancelled { receive } =
            *fact
        {
            self.ready.closed(receive);
        } else if let Observation::Arrived { message, taken_by } = *fact {
            let posted = taken_by.and_then(|receive| self.ready.closed(receive));
            if !self.ready.starts.is_empty() {
                found.extend(self.met(message, taken_by.is_some(), posted));
            }
        }
    }

    /// A message is looked at that may be that of a ready send; the receive that takes it was posted at
    /// `posted`, where that is known.
    fn met(
        &mut self,
        message: MessageId,
        is_taken: bool,
        posted: Option<Moment>,
    ) -> Option<Violation> {
        let starts = &mut self.ready.starts;
        let start = starts.remove(starts.iter().position(|start| start.message == message)?);
        if !is_taken {
            return Some(early(&start, None));
        }
        posted
            .filter(|posted| posted.at > start.moment.at)
            .map(|posted| early(&start, Some(posted)))
    }

    /// Whether a posted receive is left for a message, after those that its sender sent before it.
    fn has_receive(&self, message: MessageId, envelope: &Envelope, to: u32) -> bool {
        let own = self.own(to);
        let rank = (envelope.context, envelope.dest);
        let mut open: Vec<_> = own.posted.of(rank).map(|(_, posted)| posted.selection).collect();
        let mut finds_one = |envelope: &Envelope| {
            let first = open.iter().position(|selection| envelope.matches(selection));
            first.map(|place| open.remove(place)).is_some()
        };
        for (_, earlier) in own.lanes.of(message.process, rank) {
            finds_one(&earlier.envelope);
        }
        finds_one(envelope)
    }
}

/// A ready send that started before its receive was posted, at `posted` where that is known.
fn early(start: &Start, posted: Option<Moment>) -> Violation {
    let Envelope { source: Rank(from), dest: Rank(to), tag, .. } = start.envelope;
    let send = format!("the ready send of rank {from}{} with tag {tag}", start.moment.place());
    let Some(posted) = posted else {
        let detail = format!("rank {to} has no receive posted for it");
        return broken("MPI_Rsend", READY, &[send], detail);
    };
    let receive = format!("the receive of rank {to}{}", posted.place());
    let when = |moment: Moment| moment.at.map_or_else(String::new, |at| format!(" at {at}"));
    let detail = format!(
        "the send started{}, and the receive was posted{}",
        when(start.moment),
        when(posted)
    );
    broken("MPI_Rsend", READY, &[send, receive], detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitors::Monitor;
    use mpi::envelope::{Context, Selection};
    use protocols::contract::Process;
    use units::{Time, TimeDelta};

    fn sent(serial: u32, ready: bool) -> Observation {
        let envelope = Envelope { context: Context(0), source: Rank(0), dest: Rank(1), tag: 5 };
        Observation::Sent {
            message: MessageId { process: 0, serial },
            envelope,
            to: 1,
            bytes: 8,
            ready,
        }
    }

    fn posted(serial: u32) -> Observation {
        let (context, source) = (Context(0), Some(Rank(0)));
        let selection = Selection { context, dest: Rank(1), source, tag: Some(5) };
        Observation::Posted { receive: ReceiveId { process: 1, serial }, selection, bytes: 8 }
    }

    fn arrived(serial: u32) -> Observation {
        let taken_by = Some(ReceiveId { process: 1, serial });
        Observation::Arrived { message: MessageId { process: 0, serial }, taken_by }
    }

    /// The laws that these facts break, each at its time where there is a clock.
    fn broken_by(facts: &[(Option<u64>, Observation)]) -> Vec<&'static str> {
        let (mut matching, mut found) = (Matching::new(2), Vec::new());
        if facts.iter().any(|(at, _)| at.is_some()) {
            matching.expect_ready_sends();
        }
        for (ns, fact) in facts {
            let at = ns.map(|ns| Time::ZERO + TimeDelta::from_ns(ns));
            let moment = Moment { at, line: None };
            let process = Process(u32::from(!matches!(fact, Observation::Sent { .. })));
            matching.of_ready(fact, moment, &mut found);
            matching.observe(process, fact, &mut found);
        }
        found.iter().map(|violation| violation.id).collect()
    }

    #[test]
    fn without_a_clock_a_receive_must_be_left_when_the_send_starts() {
        let told = |facts: &[Observation]| {
            broken_by(&facts.iter().map(|fact| (None, *fact)).collect::<Vec<_>>())
        };
        assert_eq!(told(&[sent(0, true), posted(0)]), ["MPI_Rsend"]);
        assert_eq!(told(&[posted(0), sent(0, true), arrived(0)]), [""; 0]);
        assert_eq!(told(&[posted(0), sent(0, false), sent(1, true)]), ["MPI_Rsend"]);
        assert_eq!(told(&[posted(0), posted(1), sent(0, false), sent(1, true)]), [""; 0]);
        assert_eq!(told(&[sent(0, false), posted(0)]), [""; 0]);
    }

    #[test]
    fn with_a_clock_times_count_and_not_who_was_told_first() {
        let told = |send, receive| {
            let [sent, posted] = [(Some(send), sent(0, true)), (Some(receive), posted(0))];
            let arrived = (Some(20), arrived(0));
            let one = broken_by(&[sent, posted, arrived]);
            assert_eq!(one, broken_by(&[posted, sent, arrived]));
            one
        };
        assert_eq!(told(5, 9), ["MPI_Rsend"]);
        assert_eq!(told(9, 5), [""; 0]);
    }
}
