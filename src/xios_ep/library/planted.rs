//! Where the endpoint library asks whether a planted bug is its own: for tests only.
//!
//! Every function here is called at one place, the one that the bug would be written at.

use super::Across;
use super::thread::{Endpoint, Step};
use crate::intercomm::{Channel, Route};
use crate::tag::{Fields, LOCAL_MAX, USER_MAX};
use mpi::envelope::Rank;
use mpi::intercommunicator::Side;
use protocols::call::{Outcome, Reply, Status};
use protocols::contract::Handle;
use protocols::mutant::Mutant;

impl Endpoint {
    fn has(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// The parts of a tag before they are packed.
    pub(super) fn misread(&self, fields: Fields) -> Fields {
        let Fields { tag, sender, receiver } = fields;
        if !self.has(Mutant::MasksTag) {
            return fields;
        }
        Fields { tag: tag & USER_MAX, sender: sender & LOCAL_MAX, receiver: receiver & LOCAL_MAX }
    }

    /// The lookups between two groups as the document prints them: the sender in the map of the other
    /// group, the receiver in that of the own one.
    pub(super) fn as_printed(
        &self,
        (across, home): (&Across, Side),
        to: Rank,
        route: Route,
    ) -> Result<Route, String> {
        if !self.has(Mutant::AsPrinted) || route.channel != Channel::Inter {
            return Ok(route);
        }
        let entry = |side: Side, rank: Rank| across.inter.rank_map_of(side)[rank.0 as usize].rank;
        let map = |side: Side| &across.inter.assigned_to(side).rank_map;
        let sender = map(home.other()).place(entry(across.side, across.rank));
        let receiver = map(home).place(entry(across.side.other(), to));
        let (Some(sender), Some(receiver)) = (sender, receiver) else {
            return Err("the map has no such rank".to_owned());
        };
        let (sender, process, receiver) = (sender.local, receiver.process, receiver.local);
        Ok(Route { sender, receiver, process, ..route })
    }

    /// A test found no message: what it returns.
    pub(super) fn ends_pending(&mut self, request: Handle) -> Option<Step> {
        if !self.has(Mutant::EndsPending) {
            return None;
        }
        let open = self.open.remove(&request)?;
        let (source, tag) = (open.request.source, open.request.tag);
        let status = Status { source, tag, count: 0 };
        Some(Step::Answer(Reply::Tested(Some(Outcome::Received(status)))))
    }

    /// The memory that the server shows in one of its windows.
    pub(super) fn memory_of(&self, memory: u32, window: u32) -> u32 {
        if self.has(Mutant::SplitsMemory) { memory + window } else { memory }
    }

    /// Whether a check that found nothing is made again.
    pub(super) fn checks_again(&mut self) -> bool {
        let again = self.has(Mutant::ChecksTwice) && !self.checked_twice;
        self.checked_twice = again;
        again
    }
}
