//! The functions of MPI, by family: the table of functions says which family answers a call.

mod attributes;
mod collectives;
mod comms;
mod conversions;
mod environment;
mod errors;
mod files;
mod groups;
mod hints;
mod infos;
mod messages;
mod operators;
mod packs;
mod partitioned;
mod refused;
mod requests;
mod sessions;
mod statuses;
mod tools;
mod topologies;
mod types;
mod windows;

use super::fault::Fault;
use super::frame::Frame;
use super::objects::errors::On;
use super::rank_state::{Answer, Back, RankState, Then};
use crate::choose::Choose;
use crate::exposed::Exposed;
use crate::functions::Family;
use crate::mpi::families;
use crate::place::Place;
use ::mpi::operator::Side;
use protocols::call::Reply;

include!(concat!(env!("OUT_DIR"), "/dispatch.rs"));

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
    pub fn call(&mut self, frame: &mut Frame<'_>) -> Answer {
        self.errors.on = On::Job;
        let answer = answer(self, frame);
        errors::handled(self, frame, answer)
    }

    /// Continues the call that waits for this reply and gives its next step.
    ///
    /// # Errors
    ///
    /// As [`Self::call`].
    pub fn replied(&mut self, then: Then, frame: &mut Frame<'_>, reply: Reply) -> Answer {
        let answer = then(self, frame, reply);
        errors::handled(self, frame, answer)
    }

    /// Continues the call for which a function of the program has returned this result and gives its next step.
    ///
    /// # Errors
    ///
    /// As [`Self::call`].
    pub fn called_back(&mut self, back: Back, frame: &mut Frame<'_>, result: u64) -> Answer {
        let answer = back(self, frame, result);
        errors::handled(self, frame, answer)
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

fn answer(state: &mut RankState, frame: &mut Frame<'_>) -> Answer {
    if !is_at_any_time(frame.function.family()) {
        state.check_begun()?;
    }
    dispatch(state, frame)
}

/// Whether the functions of a family may be called at any time. Others are called between `MPI_Init` and
/// `MPI_Finalize`, or in a session.
const fn is_at_any_time(family: Family) -> bool {
    match family {
        Family::Conversions
        | Family::Environment
        | Family::Infos
        | Family::Sessions
        | Family::Tools => true,
        Family::Asking
        | Family::Attributes
        | Family::Chosen
        | Family::Collectives
        | Family::Comms
        | Family::Constructors
        | Family::Contents
        | Family::Errors
        | Family::Files
        | Family::Groups
        | Family::Hints
        | Family::Looking
        | Family::Messages
        | Family::Operations
        | Family::Operators
        | Family::Packs
        | Family::Partitioned
        | Family::Refused
        | Family::Requests
        | Family::Statuses
        | Family::Topologies
        | Family::Types
        | Family::Windows => false,
    }
}
