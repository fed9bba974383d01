//! Split: threads of one process may choose different colors, which one MPI call cannot express.
//!
//! ```text
//!   1  all colors are collected: distinct ones in the order of ranks, undefined among them
//!   2  per defined color, each process joins MPI's split if it has threads of that color,
//!      else undefined; its key is its process rank
//!   3  per new communicator, endpoints are created: as many as the process has of that color
//!   4  a thread's place in its process is its position by key among its color
//! ```
//!
//! So processes keep their order and a key acts within its process only. MPI orders by key over all
//! ranks; [`KeyRule::Mpi`] does so too, by ordering ranks after step 3.
//!
//! Source: `xios-ep` Sec. 6.1.

use std::collections::BTreeSet;
use std::fmt;

use super::collective;
use super::rank_map::{Place, RankMap};
use mpi::envelope::Rank;
use mpi::group::{Choice, SplitError};

/// Order that a key decides.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum KeyRule {
    /// The order within a process, as in the document.
    #[default]
    InProcess,
    /// The order of all ranks, as in MPI.
    Mpi,
}

/// Arguments of a process to MPI's split.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct MpiSplit {
    /// Any color for those that join; undefined for the others.
    pub color: Option<i32>,
    /// Its process rank.
    pub key: u32,
}

/// A new communicator.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Part {
    /// Its color.
    pub color: i32,
    /// Old process rank by new one: the group that MPI's split made.
    pub processes: Vec<u32>,
    /// Old endpoint rank by new one.
    pub members: Vec<Rank>,
    /// Where the new endpoints live, by new process ranks.
    pub rank_map: RankMap,
}

/// Step 1: the distinct colors of all endpoints, `choices` by rank; undefined counts as one.
pub fn colors(choices: &[Choice]) -> Vec<Option<i32>> {
    let mut met = BTreeSet::new();
    choices.iter().map(|choice| choice.color).filter(|color| met.insert(*color)).collect()
}

/// Step 2: what process `process` passes to the split of `color`; `own` are the choices of its
/// endpoints by in-process rank.
pub fn mpi_split(color: i32, process: u32, own: &[Choice]) -> MpiSplit {
    let joins = local_count(color, own) > 0;
    MpiSplit { color: joins.then_some(1), key: process }
}

/// Step 3: how many endpoints a process asks for in the communicator of `color`.
pub fn local_count(color: i32, own: &[Choice]) -> u32 {
    super::count(own.iter().filter(|choice| choice.color == Some(color)).count())
}

/// Step 4: old ranks of those with `color`, by new in-process rank; `own` are the choices of the
/// endpoints of a process, `ranks` their old ranks. Equal keys go by old rank.
pub fn local_order(color: i32, ranks: &[Rank], own: &[Choice]) -> Vec<Rank> {
    let of_color = ranks.iter().zip(own).filter(|(_, choice)| choice.color == Some(color));
    let mut keyed: Vec<(i32, Rank)> = of_color.map(|(rank, choice)| (choice.key, *rank)).collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, rank)| rank).collect()
}

/// All new communicators in the order of [`colors`], which has none for undefined; `choices` by
/// endpoint rank.
///
/// # Errors
///
/// Choices that are not one for each endpoint, or a negative color.
pub fn split(map: &RankMap, choices: &[Choice], rule: KeyRule) -> Result<Vec<Part>, SplitError> {
    if choices.len() != map.size() as usize {
        return Err(SplitError::ChoiceCount { found: choices.len(), size: map.size() });
    }
    let wrong = (0..).zip(choices).find(|(_, choice)| choice.color.is_some_and(|color| color < 0));
    if let Some((rank, Choice { color: Some(color), .. })) = wrong {
        return Err(SplitError::NegativeColor { rank: Rank(rank), color: *color });
    }
    let own = collective::by_process(map, choices);
    let new = |color| {
        let part = Part::new(map, &own, color);
        match rule {
            KeyRule::InProcess => part,
            KeyRule::Mpi => part.ordered_by(|rank| choices[rank.0 as usize].key),
        }
    };
    Ok(colors(choices).into_iter().flatten().map(new).collect())
}

impl Part {
    /// The endpoints of one color; `own[process]` are the choices of its endpoints.
    fn new(map: &RankMap, own: &[Vec<Choice>], color: i32) -> Self {
        let call = |process: u32| mpi_split(color, process, &own[process as usize]);
        let joins = |process: &u32| call(*process).color.is_some();
        let processes: Vec<u32> = (0..map.process_count()).filter(joins).collect();
        let count = |process: &u32| local_count(color, &own[*process as usize]);
        let counts: Vec<u32> = processes.iter().map(count).collect();
        let members =
            |process: &u32| local_order(color, map.locals(*process), &own[*process as usize]);
        let members = processes.iter().flat_map(members).collect();
        Self { color, processes, members, rank_map: RankMap::from_counts(&counts) }
    }

    /// The same endpoints in the same places, numbered by key and then by old rank; in each process
    /// in-process ranks follow.
    fn ordered_by(mut self, key: impl Fn(Rank) -> i32) -> Self {
        let mut numbered: Vec<(i32, Rank, u32)> = Vec::with_capacity(self.members.len());
        for (rank, place) in self.members.iter().zip(self.rank_map.places()) {
            numbered.push((key(*rank), *rank, place.process));
        }
        numbered.sort_unstable();
        let mut next = vec![0_u32; self.processes.len()];
        let place = |(_, _, process): &(i32, Rank, u32)| {
            let next = &mut next[*process as usize];
            *next += 1;
            Place { local: *next - 1, process: *process }
        };
        let places = numbered.iter().map(place).collect();
        self.rank_map = RankMap::new(places, super::count(self.processes.len()))
            .expect("each process numbers its endpoints from 0");
        self.members = numbered.into_iter().map(|(_, rank, _)| rank).collect();
        self
    }

    /// The new rank of an endpoint; `None` where it has another color.
    pub fn rank(&self, old: Rank) -> Option<Rank> {
        let found = self.members.iter().position(|member| *member == old);
        found.map(|rank| Rank(super::count(rank)))
    }
}

/// `color 0: old ranks [0, 3]`
impl fmt::Display for Part {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members = super::list(self.members.iter().map(|rank| rank.0));
        write!(out, "color {}: old ranks {members}", self.color)
    }
}

#[cfg(test)]
mod tests;
