//! Collectives in three steps: within processes, among one endpoint of each, within processes.
//!
//! ```text
//!   1  the endpoints of a process hand their data to its caller
//!   2  the callers call MPI: as many participants as processes
//!   3  the caller hands the result to the endpoints of its process
//! ```
//!
//! The caller is the master, rank 0 in its process; but where a collective has a root, the root
//! calls for its own process. Then nothing has to be handed to or from it there: a broadcast and a
//! scatter have no first step, a gather and a reduce no last one.
//!
//! Joining data process by process keeps the order of ranks where
//! [`RankMap::is_process_ordered`]; elsewhere [`by_rank`] restores it.
//!
//! Source: `xios-ep` Sec. 5, Ex. 1 and 2.

use std::fmt;

use super::rank_map::{Place, RankMap};
use mpi::envelope::Rank;

/// A collective operation.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Collective {
    /// All wait for all.
    Barrier,
    /// From the root to all.
    Bcast {
        /// The root.
        root: Rank,
    },
    /// From all to the root.
    Gather {
        /// The root.
        root: Rank,
    },
    /// A part of the root's data to each.
    Scatter {
        /// The root.
        root: Rank,
    },
    /// Combined at the root.
    Reduce {
        /// The root.
        root: Rank,
    },
    /// From all to all.
    Allgather,
    /// Combined, to all.
    Allreduce,
    /// A part of each one's data to each.
    Alltoall,
    /// Combined over all ranks up to each.
    Scan,
    /// Combined over all ranks below each.
    Exscan,
}

/// Parts of all processes in a collective.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Plan {
    /// The operation.
    pub collective: Collective,
    /// Number of endpoints.
    pub endpoints: u32,
    /// Process of the root, which is the root of MPI's collective.
    pub mpi_root: Option<u32>,
    /// Plan of each process that has endpoints, by process.
    pub processes: Vec<ProcessPlan>,
}

/// Part of one process in a collective.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct ProcessPlan {
    /// The process.
    pub process: u32,
    /// Endpoints that hand data to the caller first.
    pub gathered: Vec<Rank>,
    /// Endpoint that takes part in MPI's collective.
    pub caller: Rank,
    /// To whom the caller hands data at last.
    pub served: Vec<Rank>,
}

/// The root is not an endpoint of the communicator.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("root {} is out of range: the communicator has {endpoints} endpoints", root.0)]
pub struct RootOutOfRange {
    /// The root.
    pub root: Rank,
    /// How many endpoints there are.
    pub endpoints: u32,
}

impl Collective {
    /// Its root.
    pub fn root(self) -> Option<Rank> {
        match self {
            Self::Bcast { root }
            | Self::Gather { root }
            | Self::Scatter { root }
            | Self::Reduce { root } => Some(root),
            Self::Barrier
            | Self::Allgather
            | Self::Allreduce
            | Self::Alltoall
            | Self::Scan
            | Self::Exscan => None,
        }
    }

    /// As MPI spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Bcast { .. } => "bcast",
            Self::Gather { .. } => "gather",
            Self::Scatter { .. } => "scatter",
            Self::Reduce { .. } => "reduce",
            Self::Allgather => "allgather",
            Self::Allreduce => "allreduce",
            Self::Alltoall => "alltoall",
            Self::Scan => "scan",
            Self::Exscan => "exscan",
        }
    }

    /// Whether data, or word of arrival, goes to the caller first.
    pub(super) fn gathers(self) -> bool {
        !matches!(self, Self::Bcast { .. } | Self::Scatter { .. })
    }

    /// Whether data, or word of completion, goes to the others at last.
    pub(super) fn serves(self) -> bool {
        !matches!(self, Self::Gather { .. } | Self::Reduce { .. })
    }
}

impl Plan {
    /// The plan of a collective over a communicator.
    ///
    /// # Errors
    ///
    /// The root is no endpoint of it.
    pub fn new(collective: Collective, map: &RankMap) -> Result<Self, RootOutOfRange> {
        let endpoints = map.size();
        let at = |root| map.place(root).ok_or(RootOutOfRange { root, endpoints });
        let place = collective.root().map(at).transpose()?;
        let process = |process| {
            let locals = map.locals(process);
            let caller = locals[caller(place, process) as usize];
            let others: Vec<Rank> = locals.iter().copied().filter(|rank| *rank != caller).collect();
            let handed = |handed: bool| if handed { others.clone() } else { Vec::new() };
            let (gathered, served) = (handed(collective.gathers()), handed(collective.serves()));
            ProcessPlan { process, gathered, caller, served }
        };
        let mpi_root = place.map(|place| place.process);
        Ok(Self {
            collective,
            endpoints,
            mpi_root,
            processes: map.processes().map(process).collect(),
        })
    }

    /// Endpoints that take part in MPI's collective, by process.
    pub fn participants(&self) -> impl ExactSizeIterator<Item = Rank> {
        self.processes.iter().map(|process| process.caller)
    }
}

/// In-process rank of who calls MPI for a process, where the root of the collective lives there.
pub(super) fn caller(root: Option<Place>, process: u32) -> u32 {
    root.filter(|root| root.process == process).map_or(0, |root| root.local)
}

/// ```text
/// bcast from endpoint 4: 12 endpoints, 4 in MPI's bcast, its root is process 1
///   process 0: endpoint 0 calls MPI; 0 -> 1, 2
/// ```
impl fmt::Display for Plan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.collective.name();
        write!(out, "{name}")?;
        if let Some(root) = self.collective.root() {
            write!(out, " with root {}", root.0)?;
        }
        let callers = self.processes.len();
        write!(out, ": {} endpoints, {callers} in MPI's {name}", self.endpoints)?;
        if let Some(process) = self.mpi_root {
            write!(out, ", its root is process {process}")?;
        }
        self.processes.iter().try_for_each(|process| write!(out, "\n  {process}"))
    }
}

impl fmt::Display for ProcessPlan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranks = |ranks: &[Rank]| super::list(ranks.iter().map(|rank| rank.0));
        write!(out, "process {}: ", self.process)?;
        if !self.gathered.is_empty() {
            write!(out, "{} -> {}; ", ranks(&self.gathered), self.caller.0)?;
        }
        write!(out, "{} calls MPI", self.caller.0)?;
        if !self.served.is_empty() {
            write!(out, "; {} -> {}", self.caller.0, ranks(&self.served))?;
        }
        Ok(())
    }
}

/// Contribution of a process to a reduction, from its endpoints' values by in-process rank; none without endpoints.
pub fn local_reduce<T: Clone>(values: &[T], op: impl FnMut(T, &T) -> T) -> Option<T> {
    let (first, rest) = values.split_first()?;
    Some(rest.iter().fold(first.clone(), op))
}

/// Value of each endpoint of a process after a scan, from the values of the process and the result that MPI's exscan
/// among the callers gave its caller: none for the first.
///
/// Ranks have to be in process order.
pub fn local_scan<T: Clone>(
    values: &[T],
    before: Option<&T>,
    mut op: impl FnMut(T, &T) -> T,
) -> Vec<T> {
    let mut sum = before.cloned();
    let mut next = |value: &T| {
        let now = match sum.take() {
            Some(sum) => op(sum, value),
            None => value.clone(),
        };
        sum = Some(now.clone());
        now
    };
    values.iter().map(&mut next).collect()
}

/// Value of each endpoint of a process after an exscan; the first of all has none.
///
/// Ranks have to be in process order.
pub fn local_exscan<T: Clone>(
    values: &[T],
    before: Option<&T>,
    op: impl FnMut(T, &T) -> T,
) -> Vec<Option<T>> {
    let upto = local_scan(values, before, op);
    let below = std::iter::once(before.cloned()).chain(upto.into_iter().map(Some));
    below.take(values.len()).collect()
}

/// Values that were joined process by process, `joined[process]` by in-process rank, in the order
/// of endpoint ranks.
///
/// # Panics
///
/// An endpoint has no value.
pub fn by_rank<T: Clone>(map: &RankMap, joined: &[Vec<T>]) -> Vec<T> {
    let value = |place: &Place| {
        let of = joined.get(place.process as usize).and_then(|of| of.get(place.local as usize));
        of.expect("each endpoint contributed a value").clone()
    };
    map.places().iter().map(value).collect()
}

/// The inverse: what the caller of each process keeps for its endpoints, by in-process rank.
///
/// # Panics
///
/// An endpoint has no value.
pub fn by_process<T: Clone>(map: &RankMap, values: &[T]) -> Vec<Vec<T>> {
    let value = |rank: &Rank| values[rank.0 as usize].clone();
    (0..map.process_count()).map(|p| map.locals(p).iter().map(value).collect()).collect()
}

#[cfg(test)]
mod tests;
