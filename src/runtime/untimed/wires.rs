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

use super::{Choice, Mail, World};
use crate::connection::{Connection, Move, Wire};
use crate::faults::Allowed;
use crate::monitors::buffers::Lends;
use crate::monitors::{Sometimes, Violation};
use hardware::reliable::Settings;
use protocols::contract::{Machine, Process, Program, Route, Token, Via};

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

/// What happens to packets below the messages.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PacketFaults {
    /// How often, all wires together.
    pub allowed: Allowed,
    /// What the connections are like.
    pub settings: Settings,
    /// Where.
    pub between: Between,
}

/// A connection that has given up.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct GaveUp {
    /// Who sends.
    pub from: Process,
    /// Who was not heard of.
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
type End = (Process, Route);

/// All connections that are not idle.
#[derive(Clone, Debug)]
pub(super) struct Wires<M: Machine> {
    faults: PacketFaults,
    left: Allowed,
    /// In the order of their ends.
    busy: Vec<(End, Connection<Mail<M>>)>,
    gave_up: Option<GaveUp>,
    /// What was met on the way: no part of the state.
    met: Sometimes,
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
    /// Gives a message to the wire, or back where the wire can do nothing to it.
    fn post(&mut self, end: End, incoming: Mail<M>) -> Option<Mail<M>> {
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
    fn apply(&mut self, end: End, next: Move) -> Option<Mail<M>> {
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
    fn gave_up_early(&self) -> bool {
        let faults = self.faults.allowed.sum() - self.left.sum();
        self.gave_up.is_some() && faults <= u32::from(self.faults.settings.retries)
    }
}

impl<M: Machine, P: Program<M>> World<M, P>
where
    M::Call: Lends,
{
    /// The same state, in which messages between HCAs cross wires that may lose, repeat and reorder
    /// packets, as often as `faults` allow.
    ///
    /// # Panics
    ///
    /// Where a process may die: its HCA would have to be silent, which is not built here.
    #[must_use]
    pub fn with_packet_faults(self, faults: PacketFaults) -> Self {
        assert_eq!(self.crash, super::Crash::Never, "a process dies, or packets are lost");
        let left = faults.allowed;
        let (busy, gave_up, met) = (Vec::new(), None, Sometimes::default());
        Self { wires: Some(Box::new(Wires { faults, left, busy, gave_up, met })), ..self }
    }

    /// The connection that gave up and so ended the job.
    pub fn gave_up(&self) -> Option<GaveUp> {
        self.wires.as_ref()?.gave_up
    }

    /// Whether a fault of the environment has ended the job, or a process: what others then wait for
    /// or leave behind is no defect of theirs.
    pub fn is_struck(&self) -> bool {
        self.crash.victim().is_some() || self.gave_up().is_some()
    }

    /// Whether wires decide nothing more.
    pub(super) fn wires_are_quiet(&self) -> bool {
        let quiet = |wires: &Wires<M>| wires.left.is_nothing() && wires.busy.is_empty();
        self.wires.as_deref().is_none_or(quiet)
    }

    pub(super) fn met_on_wires(&self) -> Sometimes {
        self.wires.as_ref().map_or_else(Sometimes::default, |wires| wires.met)
    }

    /// The same since it was asked for last.
    pub(super) fn take_met_on_wires(&mut self) -> Sometimes {
        self.wires.as_mut().map_or_else(Sometimes::default, |wires| std::mem::take(&mut wires.met))
    }

    /// What can happen on wires without a fault.
    pub(super) fn moves_into(&self, choices: &mut Vec<Choice>) {
        for ((to, from), connection) in self.wires.iter().flat_map(|wires| &wires.busy) {
            let (to, from) = (*to, *from);
            choices.extend(connection.moves().map(|does| Choice::Wire { to, from, does }));
        }
    }

    /// What wires may do to packets.
    pub(super) fn packet_faults_into(&self, choices: &mut Vec<Choice>) {
        let Some(wires) = &self.wires else { return };
        for ((to, from), connection) in &wires.busy {
            let (to, from) = (*to, *from);
            let faults = connection.faults(wires.left);
            choices.extend(faults.map(|does| Choice::Wire { to, from, does }));
        }
    }

    pub(super) fn wire_refusal(
        &self,
        to: Process,
        from: Route,
        does: Move,
    ) -> Option<&'static str> {
        let Some(wires) = &self.wires else { return Some("the wires lose nothing") };
        let place = wires.busy.binary_search_by_key(&(to, from), |(end, _)| *end);
        let Ok(place) = place else { return Some("nothing is under way on this wire") };
        let connection = &wires.busy[place].1;
        let mut open = connection.moves().chain(connection.faults(wires.left));
        (!open.any(|one| one == does)).then_some("this cannot happen on the wire now")
    }

    /// A message of `from.peer` leaves its HCA; it is given back where it arrives at once.
    pub(super) fn post_to_wire(
        &mut self,
        to: Process,
        from: Route,
        via: Via,
        incoming: Mail<M>,
    ) -> Option<Mail<M>> {
        match &mut self.wires {
            Some(wires) if via == Via::Hca => wires.post((to, from), incoming),
            _ => Some(incoming),
        }
    }

    /// Makes a move of a connection.
    pub(super) fn move_on_wire(&mut self, to: Process, from: Route, does: Move) {
        let wires = self.wires.as_mut().expect("they lose packets: the choice was enabled");
        let taken = wires.apply((to, from), does);
        if wires.gave_up_early() {
            self.found.push(early(wires.faults.settings.retries, (from.peer, to)));
        }
        if let Some(incoming) = taken {
            self.deliver(to, from, Via::Hca, incoming);
        }
    }

    /// The bytes of a write have moved: what it carries besides is whole, wherever it is.
    pub(super) fn whole_on_wires(&mut self, writer: Process, to: Process, token: Token) {
        let Some(wires) = &mut self.wires else { return };
        let ends = |end: &End| end.0 == to && end.1.peer == writer;
        for (_, connection) in wires.busy.iter_mut().filter(|(end, _)| ends(end)) {
            let parts = connection.cargo_mut();
            for incoming in parts.filter(|incoming| incoming.part_of == Some(token)) {
                incoming.change().part_of = None;
            }
        }
    }
}

fn early(retries: u8, (from, to): (Process, Process)) -> Violation {
    Violation {
        id: "Q1",
        statement: "a queue pair gives up only after more packet faults than it has retries",
        objects: vec![format!("the queue pair of process {} to process {}", from.0, to.0)],
        detail: format!(
            "it gave up, has {retries} retries, and no more than so many faults happened"
        ),
    }
}
