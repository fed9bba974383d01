//! Reliable connections below the messages: the wires may lose, repeat and reorder their packets.
//!
//! ```text
//!   Send ─▶ connection of the channel ─▶ wire: packets, answers ─taken─▶ channel ─▶ TakePacket
//! ```
//!
//! Each message between two HCAs is one packet of a [`Connection`] of its own channel. What a wire
//! may do counts against a budget that is part of the state; where nothing of it is left and a
//! connection is idle, a message goes to its channel at once, for all that the wire could still do is
//! to be slow, which a channel is as well. An idle connection is forgotten: its next packet is the
//! first of a new one. A connection that gives up ends the job, as an error completion does.
//!
//! Left out: RDMA operations. They move and complete in any order anyway, as often as they were
//! posted; a wire that loses their packets can only delay them.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::choice::Choice;
use super::state::Mail;
use crate::connection::{Connection, Move, Wire};
use crate::faults::Allowed;
use crate::monitors::Sometimes;
use hardware::reliable::Settings;
use protocols::contract::{Machine, Process, Route};

/// Which HCAs are connected by wires that are not to be trusted.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub enum Between {
    /// Any two.
    #[default]
    All,
    /// Those of these processes: who sends, and to whom.
    These(Arc<[(Process, Process)]>),
}

impl Between {
    fn has(&self, from: Process, to: Process) -> bool {
        from != to
            && match self {
                Self::All => true,
                Self::These(pairs) => pairs.contains(&(from, to)),
            }
    }
}

/// Packet faults below the messages.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PacketFaults {
    /// How often, all wires together.
    pub allowed: Allowed,
    /// Settings of the connections.
    pub settings: Settings,
    /// Where.
    pub between: Between,
}

/// A connection that has given up.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct GaveUp {
    /// Sending process.
    pub from: Process,
    /// Process that did not answer.
    pub to: Process,
}

impl fmt::Display for GaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (self.from.0, self.to.0);
        writeln!(
            f,
            "transport retry counter exceeded: process {from} has sent a packet to process {to} as \
             often as it may, without an answer"
        )
    }
}

/// Names a connection: who receives, and the route back.
pub(super) type End = (Process, Route);

/// All connections that are not idle.
#[derive(Clone, Debug)]
pub(super) struct Wires<M: Machine> {
    pub(super) faults: PacketFaults,
    pub(super) left: Allowed,
    /// In the order of their ends.
    pub(super) busy: Vec<(End, Connection<Mail<M>>)>,
    pub(super) gave_up: Option<GaveUp>,
    /// Branches that were reached: no part of the state.
    pub(super) met: Sometimes,
}

impl<M: Machine> PartialEq for Wires<M> {
    fn eq(&self, other: &Self) -> bool {
        (&self.faults, self.left, &self.busy, self.gave_up)
            == (&other.faults, other.left, &other.busy, other.gave_up)
    }
}

impl<M: Machine> Eq for Wires<M> {}

impl<M: Machine> Hash for Wires<M> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // What is allowed never changes.
        (self.left, &self.busy, self.gave_up).hash(state);
    }
}

impl<M: Machine> Wires<M> {
    /// The choices that are no faults.
    pub(super) fn moves(&self) -> impl Iterator<Item = Choice> {
        self.busy.iter().flat_map(|((to, from), connection)| {
            let (to, from) = (*to, *from);
            connection.moves().map(move |does| Choice::Wire { to, from, does })
        })
    }

    /// The choices that are faults.
    pub(super) fn faults(&self) -> impl Iterator<Item = Choice> {
        self.busy.iter().flat_map(|((to, from), connection)| {
            let (to, from) = (*to, *from);
            connection.faults(self.left).map(move |does| Choice::Wire { to, from, does })
        })
    }

    /// Gives a message to the wire, or back where the wire can do nothing to it.
    pub(super) fn post(&mut self, end: End, incoming: Mail<M>) -> Option<Mail<M>> {
        let (to, Route { peer: from, .. }) = end;
        let place = self.busy.binary_search_by_key(&end, |(end, _)| *end);
        let harmless = place.is_err() && self.left.is_nothing();
        if harmless || !self.faults.between.has(from, to) {
            return Some(incoming);
        }
        let place = place.unwrap_or_else(|place| {
            self.busy.insert(place, (end, Connection::new(self.faults.settings)));
            place
        });
        self.busy[place].1.post(incoming);
        None
    }

    /// Makes a move of a connection; what its receiver takes.
    pub(super) fn apply(&mut self, end: End, next: Move) -> Option<Mail<M>> {
        let place = self.busy.binary_search_by_key(&end, |(end, _)| *end);
        let place = place.expect("it is busy: the choice was enabled");
        let connection = &mut self.busy[place].1;
        let taken = connection.apply(next, &mut self.left);
        match next {
            Move::Arrive(wire) => {
                let dropped = wire == Wire::There && taken.is_none();
                self.met.not_taken += u64::from(dropped);
            }
            Move::Lose(_) => self.met.lost += 1,
            Move::Repeat(_) => self.met.repeated += 1,
            Move::Overtake(_) => self.met.overtaken += 1,
            Move::TimeOut => self.met.timed_out += 1,
        }
        if connection.has_failed() {
            self.gave_up = Some(GaveUp { from: end.1.peer, to: end.0 });
        }
        if connection.is_idle() {
            self.busy.remove(place);
        }
        taken
    }

    /// Whether the connection that gave up should have lived.
    pub(super) fn gave_up_early(&self) -> bool {
        let faults = self.faults.allowed.sum() - self.left.sum();
        self.gave_up.is_some() && faults <= u32::from(self.faults.settings.retries)
    }
}
