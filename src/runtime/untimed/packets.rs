//! Packets below the messages of an untimed run: what wires may do to them.

use super::World;
use super::state::Mail;
use super::wires::{End, GaveUp, PacketFaults, Wires};
use crate::connection::Move;
use crate::monitors::buffers::Lends;
use crate::monitors::{Sometimes, Violation};
use protocols::contract::{Machine, Process, Program, Route, Token, Via};

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

    /// The same since it was requested last.
    pub(super) fn take_met_on_wires(&mut self) -> Sometimes {
        self.wires.as_mut().map_or_else(Sometimes::default, |wires| std::mem::take(&mut wires.met))
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
