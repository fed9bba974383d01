//! The functions of MPI, by family: one after the other is asked whether a call is one of its own.

mod attributes;
mod collectives;
mod comms;
mod conversions;
mod environment;
mod errors;
mod files;
mod groups;
mod infos;
mod messages;
mod operators;
mod packs;
mod partitioned;
mod requests;
mod sessions;
mod statuses;
mod tools;
mod topologies;
mod types;
mod windows;

use super::asked::Asked;
use super::fault::Fault;
use super::objects::errors::On;
use super::rank_state::{Answer, Back, RankState, Stage, Then};
use crate::choose::Choose;
use crate::exposed::Exposed;
use crate::functions as mpi5;
use crate::place::Place;
use ::mpi::operator::Side;
use protocols::call::Reply;

/// The answer to a call, where it is one of this family.
type Family = fn(&mut RankState, &mut Asked<'_>) -> Option<Answer>;

/// Families of functions that may be called at any time.
const AT_ANY_TIME: [Family; 5] =
    [environment::call, infos::call, conversions::call, tools::call, sessions::call];

/// Families of functions that may be called between `MPI_Init` and `MPI_Finalize`, or in a session.
const BETWEEN: [Family; 16] = [
    messages::call,
    partitioned::call,
    requests::call,
    statuses::call,
    collectives::call,
    windows::call,
    types::call,
    comms::call,
    groups::call,
    operators::call,
    attributes::call,
    infos::hint_call,
    topologies::call,
    packs::call,
    errors::call,
    files::call,
];

impl RankState {
    /// Rank `rank` of `size`, on a node, of a job whose processes expose memory and whose collectives choose so.
    pub fn new((rank, size): (u32, u32), node: u32, exposed: &Exposed, choose: Choose) -> Self {
        Self::served_by(Self::call, (rank, size), node, exposed, choose)
    }

    /// Begins a call and gives its first step.
    ///
    /// # Errors
    ///
    /// A fault that ends the job: an error that no handler returns, or that the process cannot be reached.
    pub fn call(&mut self, asked: &mut Asked<'_>) -> Answer {
        self.errors.on = On::Job;
        let answer = answer(self, asked);
        errors::handled(self, asked, answer)
    }

    /// Continues the call that waits for this reply and gives its next step.
    ///
    /// # Errors
    ///
    /// As [`Self::call`].
    pub fn replied(&mut self, then: Then, asked: &mut Asked<'_>, reply: Reply) -> Answer {
        let answer = then(self, asked, reply);
        errors::handled(self, asked, answer)
    }

    /// Continues the call for which a function of the program has returned this result and gives its next step.
    ///
    /// # Errors
    ///
    /// As [`Self::call`].
    pub fn called_back(&mut self, back: Back, asked: &mut Asked<'_>, result: u64) -> Answer {
        let answer = back(self, asked, result);
        errors::handled(self, asked, answer)
    }

    /// Combines elements by an operator that the library does not have.
    ///
    /// # Errors
    ///
    /// As [`Self::call`].
    pub(crate) fn combine(
        &mut self,
        place: &mut Place,
        number: u16,
        from: &[u8],
        into: &mut [u8],
        side: Side,
    ) -> Result<(), Fault> {
        operators::combine(self, place, number, (from, into), side)
    }
}

fn answer(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    if let Some(answer) = AT_ANY_TIME.iter().find_map(|family| family(state, asked)) {
        return answer;
    }
    if state.may_end() {
        let when = match state.stage {
            Stage::Before => "before MPI_Init",
            Stage::Between | Stage::After => "after MPI_Finalize",
        };
        return Err(Fault::new(mpi5::ERR_OTHER, format!("it is called {when}")));
    }
    BETWEEN.iter().find_map(|family| family(state, asked)).unwrap_or_else(|| {
        Err(Fault::not_carried("the simulator does not carry this function yet"))
    })
}
