//! What an endpoint waits for while it asks MPI again and again, for diagnoses.

use super::Seat;
use super::thread::{Endpoint, Goal, Member};
use crate::message::Wanted;
use crate::request::{self, State};
use mpi::envelope::Rank;
use protocols::call::Comm;
use protocols::contract::{Handle, Process, Thread, Wait, WaitSet};

impl Endpoint {
    /// Waits of the program's call, which stands at `origin`, that poll MPI; `None` where it does not wait, or MPI
    /// waits for it.
    pub(super) fn asks_for(&self, origin: u32) -> Option<WaitSet> {
        let waits = match &self.goal {
            &Goal::One { call: request::Call::Wait, request } => {
                self.of_request(request, origin).into_iter().collect()
            }
            Goal::All { requests, outcomes, .. } => {
                let left = (outcomes.len()..requests.len()).map(|at| requests.at(at));
                let left = left.filter_map(|request| self.handle(request));
                left.filter_map(|request| self.of_request(request, origin)).collect()
            }
            &Goal::Probe { seat, wanted, waits: true } => {
                vec![self.message("MPI_Probe", seat, wanted, origin)]
            }
            Goal::One { call: request::Call::Test, .. }
            | Goal::Probe { waits: false, .. }
            | Goal::Plain
            | Goal::Posted
            | Goal::Collective(_)
            | Goal::Making(_)
            | Goal::Windows(_) => Vec::new(),
        };
        (!waits.is_empty()).then_some(WaitSet::All(waits))
    }

    fn of_request(&self, handle: Handle, origin: u32) -> Option<Wait> {
        let open = self.open.get(&handle)?;
        let wanted = Wanted { source: open.request.source, tag: open.request.tag };
        let blocks = handle == self.blocking();
        match open.request.state {
            State::Pending if blocks => Some(self.message("MPI_Recv", open.seat, wanted, origin)),
            State::Pending => {
                Some(self.message("MPI_Wait of a receive", open.seat, wanted, origin))
            }
            State::Send { .. } | State::Matched { .. } => None,
        }
    }

    /// A wait for a message.
    fn message(&self, operation: &'static str, seat: Seat, wanted: Wanted, origin: u32) -> Wait {
        let known = self.comms.iter().find(|(_, member)| member.seat() == seat);
        let from = wanted.source.map_or_else(|| "any endpoint".to_owned(), endpoint);
        let tag = wanted.tag.map_or_else(|| "any tag".to_owned(), |tag| format!("tag {tag}"));
        let comm = known.map(|(comm, _)| format!(" on communicator {}", comm.0));
        let detail = format!("a message of {from}, {tag}{}", comm.unwrap_or_default());
        let place = wanted.source.zip(known).and_then(|(rank, (_, member))| {
            // Ranks of other communicators of MPI are not those of processes.
            let of_world =
                self.comms.get(&Comm::default()).is_some_and(|world| same(world, member));
            member.map.place(rank).filter(|_| of_world)
        });
        let peers = place.map(|place| Process(place.process)).into_iter().collect();
        let thread = place.and_then(|place| u16::try_from(place.local).ok()).map(Thread);
        Wait { operation, peers, thread, detail, origin }
    }
}

fn endpoint(rank: Rank) -> String {
    format!("endpoint {}", rank.0)
}

fn same(world: &Member, member: &Member) -> bool {
    member.across.is_none() && world.map == member.map
}
