//! The cores of the job: their threads, and the lists of actions that they work through.

pub(super) mod actor;
mod ahead;
mod copies;
mod lists;
mod other;
mod team;
mod touches;

use actor::Actor;
use hardware::core::IssueSlots;
use lists::Lists;
use protocols::contract::Machine;
use units::Time;

/// All threads, and what they share of their cores.
#[derive(Debug)]
pub(super) struct Cores<M: Machine, P> {
    pub(super) actors: Vec<Actor<M, P>>,
    pub(super) slots: IssueSlots,
    pub(super) lists: Lists<M::Packet, M::Reply>,
    /// Threads that run ahead of the clock, and when what they did last is over.
    ///
    /// A thread that is alone in its process and on its core hears of others only where it polls:
    /// nothing that it does before can depend on them, and what they can see of it (departures,
    /// receive buffers given back, copies by memory) is set for its own time. So the end of its
    /// list needs no event.
    pub(super) ahead: Vec<(u32, Time)>,
    /// Queue entries that were compared.
    pub(super) entries_visited: u64,
}

impl<M: Machine, P> Cores<M, P> {
    pub(super) fn new(actors: Vec<Actor<M, P>>, slots: IssueSlots) -> Self {
        Self { actors, slots, lists: Lists::new(), ahead: Vec::new(), entries_visited: 0 }
    }
}
