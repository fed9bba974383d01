//! Collective operations: blocking, begun and prepared.
//!
//! The library's collectives take bytes one after the other, or blocks of them. What a program has in pieces the
//! simulator packs before the call and unpacks after it; that takes no simulated time.

mod blocks;
mod overlap;

use std::sync::Arc;

use super::{requests, topologies};
use crate::functions as mpi5;
use crate::mpi::args::To;
use crate::mpi::asked::Asked;
use crate::mpi::data::Held;
use crate::mpi::fault::Fault;
use crate::mpi::objects::types::Types;
use crate::mpi::rank_state::{Answer, RankState, Step, done};
use ::mpi::envelope::Rank;
use calls::arguments::{Comm, Outcome};
use calls::space::{Region, Space};
use collectives::{Between, Blocks, Collective};
use protocols::call::Call;

/// An operation, in the order of its arguments.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Which {
    Barrier,
    Bcast,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    Alltoallw,
    NeighborAllgather,
    NeighborAllgatherv,
    NeighborAlltoall,
    NeighborAlltoallv,
    NeighborAlltoallw,
    Reduce,
    Allreduce,
    ReduceScatter,
    ReduceScatterBlock,
    Scan,
    Exscan,
}

/// When the function returns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum When {
    Complete,
    Begun,
    Prepared,
}

/// The three functions of each operation.
macro_rules! functions {
    ($function:expr; $($which:ident: $waits:ident $begins:ident $prepares:ident,)*) => {
        match $function {
            $(
                mpi5::Function::$waits => Some((Which::$which, When::Complete)),
                mpi5::Function::$begins => Some((Which::$which, When::Begun)),
                mpi5::Function::$prepares => Some((Which::$which, When::Prepared)),
            )*
            _ => None,
        }
    };
}

#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
const fn named(function: mpi5::Function) -> Option<(Which, When)> {
    functions! { function;
        Barrier: Barrier Ibarrier Barrier_init,
        Bcast: Bcast Ibcast Bcast_init,
        Gather: Gather Igather Gather_init,
        Gatherv: Gatherv Igatherv Gatherv_init,
        Scatter: Scatter Iscatter Scatter_init,
        Scatterv: Scatterv Iscatterv Scatterv_init,
        Allgather: Allgather Iallgather Allgather_init,
        Allgatherv: Allgatherv Iallgatherv Allgatherv_init,
        Alltoall: Alltoall Ialltoall Alltoall_init,
        Alltoallv: Alltoallv Ialltoallv Alltoallv_init,
        Alltoallw: Alltoallw Ialltoallw Alltoallw_init,
        NeighborAllgather: Neighbor_allgather Ineighbor_allgather Neighbor_allgather_init,
        NeighborAllgatherv: Neighbor_allgatherv Ineighbor_allgatherv Neighbor_allgatherv_init,
        NeighborAlltoall: Neighbor_alltoall Ineighbor_alltoall Neighbor_alltoall_init,
        NeighborAlltoallv: Neighbor_alltoallv Ineighbor_alltoallv Neighbor_alltoallv_init,
        NeighborAlltoallw: Neighbor_alltoallw Ineighbor_alltoallw Neighbor_alltoallw_init,
        Reduce: Reduce Ireduce Reduce_init,
        Allreduce: Allreduce Iallreduce Allreduce_init,
        ReduceScatter: Reduce_scatter Ireduce_scatter Reduce_scatter_init,
        ReduceScatterBlock: Reduce_scatter_block Ireduce_scatter_block Reduce_scatter_block_init,
        Scan: Scan Iscan Scan_init,
        Exscan: Exscan Iexscan Exscan_init,
    }
}

impl Which {
    /// Which argument is the communicator; a root stands before it.
    const fn comm(self) -> usize {
        match self {
            Self::Barrier => 0,
            Self::Bcast => 4,
            Self::Gather | Self::Scatter | Self::Allgatherv | Self::NeighborAllgatherv => 7,
            Self::Gatherv
            | Self::Scatterv
            | Self::Alltoallv
            | Self::Alltoallw
            | Self::NeighborAlltoallv
            | Self::NeighborAlltoallw => 8,
            Self::Allgather
            | Self::Alltoall
            | Self::NeighborAllgather
            | Self::NeighborAlltoall
            | Self::Reduce => 6,
            Self::Allreduce
            | Self::ReduceScatter
            | Self::ReduceScatterBlock
            | Self::Scan
            | Self::Exscan => 5,
        }
    }

    const fn has_root(self) -> bool {
        matches!(
            self,
            Self::Bcast
                | Self::Gather
                | Self::Gatherv
                | Self::Scatter
                | Self::Scatterv
                | Self::Reduce
        )
    }
}

/// The caller of a collective, with its communicator, groups and root.
#[derive(Clone, Copy, Debug)]
struct Caller {
    comm: Comm,
    rank: u32,
    /// Ranks of the caller's group, and of that which its blocks come from or go to.
    own: u32,
    others: u32,
    is_between: bool,
    root: Rank,
    /// Whether it is the root, whose buffers are those of all.
    is_root: bool,
    /// Whether it takes part with data.
    takes_part: bool,
}

const NOTHING: Region = Region::new(Space::User(0), 0);

pub(super) fn call(state: &mut RankState, asked: &mut Asked<'_>) -> Option<Answer> {
    let (which, when) = named(asked.function)?;
    Some(collective(state, asked, which, when))
}

fn collective(state: &mut RankState, asked: &mut Asked<'_>, which: Which, when: When) -> Answer {
    let comm = asked.word(which.comm());
    let caller = caller(state, asked, which)?;
    let mut held = Vec::new();
    let mut call = operation(state, asked, which, caller, &mut held)?;
    if asked.word(0) == mpi5::IN_PLACE
        || which.takes_in_place_second() && asked.word(in_place_of_root(which)) == mpi5::IN_PLACE
    {
        call = call.at_its_place((caller.rank, caller.own));
    } else if overlap::is_given_twice(&call, asked.place) {
        let what = "what it gives and the room for what it takes overlap, which MPI forbids and some MPI libraries refuse";
        state.remarks(asked, what);
    }
    if !caller.is_between {
        // Rules look at the call as all ranks know it: that of a rank in place has its buffers by now.
        let group = Arc::clone(&state.comm(comm)?.group);
        call = state.choose.algorithm(call, &group);
    }
    let call = Arc::new(call);
    let at = which.comm() + 1;
    if when == When::Complete {
        return Ok(Step::calls(Call::Collective(call), move |_, asked, _| {
            for held in held {
                held.end(asked.place, Outcome::Sent)?;
            }
            done()
        }));
    }
    let requests = &mut state.requests;
    let request = requests.open(comm);
    let call = Call::Icollective { request, call };
    Ok(if when == When::Begun {
        requests::begins(requests, asked, To::new(asked.word(at)), request, call, held)
    } else {
        requests::prepares(requests, asked, To::new(asked.word(at + 1)), request, call, held)
    })
}

fn caller(state: &mut RankState, asked: &Asked<'_>, which: Which) -> Result<Caller, Fault> {
    let me = state.rank;
    let comm = state.comm(asked.word(which.comm()))?;
    let rank = comm.group.rank(me).expect("a rank is in its communicators").0;
    let (own, others, is_between) = (comm.size(), comm.peers(), comm.remote.is_some());
    let number = comm.number;
    let caller = Caller {
        comm: number,
        rank,
        own,
        others,
        is_between,
        root: Rank(0),
        is_root: false,
        takes_part: true,
    };
    if !which.has_root() {
        return Ok(caller);
    }
    let root = asked.int(which.comm() - 1);
    let known = u32::try_from(root).ok().filter(|root| *root < others).map(Rank);
    match (root, is_between, known) {
        (mpi5::ROOT, true, _) => Ok(Caller { root: Between::ROOT, is_root: true, ..caller }),
        (mpi5::PROC_NULL, true, _) => {
            Ok(Caller { root: Between::NO_ROOT, takes_part: false, ..caller })
        }
        (_, true, Some(root)) => Ok(Caller { root, ..caller }),
        (_, false, Some(root)) => Ok(Caller { root, is_root: root.0 == rank, ..caller }),
        (_, _, None) => {
            Err(Fault::new(mpi5::ERR_ROOT, format!("root {root} of {others} does not exist")))
        }
    }
}

/// The operation with its buffers.
fn operation(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    which: Which,
    caller: Caller,
    held: &mut Vec<Held>,
) -> Result<Collective, Fault> {
    let (comm, root) = (caller.comm, caller.root);
    let operation = match which {
        Which::Barrier => Collective::barrier(comm),
        Which::Bcast => {
            let is_between_root = caller.is_between && caller.is_root;
            let buffer = if caller.takes_part {
                let reads = caller.is_root || is_between_root;
                whole(&state.types, asked, [0, 1, 2], (reads, !caller.is_root), held)?
            } else {
                NOTHING
            };
            Collective::bcast(comm, root, buffer)
        }
        Which::Gather | Which::Gatherv => gather(&state.types, asked, which, caller, held)?,
        Which::Scatter | Which::Scatterv => scatter(&state.types, asked, which, caller, held)?,
        Which::Allgather | Which::Allgatherv => {
            allgather(&state.types, asked, which, caller, held)?
        }
        Which::Alltoall | Which::Alltoallv | Which::Alltoallw => {
            alltoall(&state.types, asked, which, caller, held)?
        }
        Which::NeighborAllgather
        | Which::NeighborAllgatherv
        | Which::NeighborAlltoall
        | Which::NeighborAlltoallv
        | Which::NeighborAlltoallw => among_neighbours(state, asked, which, caller, held)?,
        Which::Reduce | Which::Allreduce | Which::Scan | Which::Exscan => {
            reduce(state, asked, which, caller, held)?
        }
        Which::ReduceScatter | Which::ReduceScatterBlock => {
            reduce_scatter(state, asked, which, caller, held)?
        }
    };
    let of_types = matches!(which, Which::Alltoallw | Which::NeighborAlltoallw);
    Ok(Collective { of_types, ..operation })
}

fn gather(
    types: &Types,
    asked: &mut Asked<'_>,
    which: Which,
    caller: Caller,
    held: &mut Vec<Held>,
) -> Result<Collective, Fault> {
    let Caller { comm, root, rank, .. } = caller;
    let is_list = which == Which::Gatherv;
    let in_place = asked.word(0) == mpi5::IN_PLACE;
    if !caller.takes_part {
        return Ok(Collective::gather(comm, root, NOTHING, NOTHING, no_blocks(is_list)));
    }
    let given = if in_place || caller.is_root && caller.is_between {
        NOTHING
    } else {
        whole(types, asked, [0, 1, 2], (true, false), held)?
    };
    let (taken, blocks) = if caller.is_root {
        let part = if is_list {
            blocks::listed(types, asked, [3, 4, 5, 6], caller.others, (in_place, true))?
        } else {
            blocks::equal(types, asked, [3, 4, 5], caller.others, (in_place, true))?
        };
        part.taken(held)
    } else if is_list {
        (NOTHING, only(rank, given.len, caller.own))
    } else {
        (NOTHING, Blocks::Equal(given.len))
    };
    Ok(Collective::gather(comm, root, given, taken, blocks))
}

fn scatter(
    types: &Types,
    asked: &mut Asked<'_>,
    which: Which,
    caller: Caller,
    held: &mut Vec<Held>,
) -> Result<Collective, Fault> {
    let Caller { comm, root, rank, .. } = caller;
    let is_list = which == Which::Scatterv;
    if !caller.takes_part {
        return Ok(Collective::scatter(comm, root, NOTHING, no_blocks(is_list), NOTHING));
    }
    // The receive buffer's address, count and datatype stand before the root.
    let first = which.comm() - 4;
    let in_place = asked.word(first) == mpi5::IN_PLACE;
    let taken = if in_place || caller.is_root && caller.is_between {
        NOTHING
    } else {
        whole(types, asked, [first, first + 1, first + 2], (false, true), held)?
    };
    let (given, blocks) = if caller.is_root {
        let part = if is_list {
            blocks::listed(types, asked, [0, 1, 2, 3], caller.others, (true, false))?
        } else {
            blocks::equal(types, asked, [0, 1, 2], caller.others, (true, false))?
        };
        part.taken(held)
    } else if is_list {
        (NOTHING, only(rank, taken.len, caller.own))
    } else {
        (NOTHING, Blocks::Equal(taken.len))
    };
    Ok(Collective::scatter(comm, root, given, blocks, taken))
}

fn allgather(
    types: &Types,
    asked: &mut Asked<'_>,
    which: Which,
    caller: Caller,
    held: &mut Vec<Held>,
) -> Result<Collective, Fault> {
    let in_place = asked.word(0) == mpi5::IN_PLACE;
    let given =
        if in_place { NOTHING } else { whole(types, asked, [0, 1, 2], (true, false), held)? };
    let part = if which == Which::Allgatherv {
        if caller.is_between {
            return Err(Fault::not_carried(
                "the simulator does not carry MPI_Allgatherv between two groups",
            ));
        }
        blocks::listed(types, asked, [3, 4, 5, 6], caller.others, (in_place, true))?
    } else {
        blocks::equal(types, asked, [3, 4, 5], caller.others, (in_place, true))?
    };
    let (taken, blocks) = part.taken(held);
    let mut call = Collective::allgather(caller.comm, given, taken, blocks);
    if caller.is_between {
        call.sends = Blocks::Equal(given.len);
    }
    Ok(call)
}

fn alltoall(
    types: &Types,
    asked: &mut Asked<'_>,
    which: Which,
    caller: Caller,
    held: &mut Vec<Held>,
) -> Result<Collective, Fault> {
    let in_place = asked.word(0) == mpi5::IN_PLACE;
    let others = caller.others;
    let part = |asked: &mut Asked<'_>, first: usize, rw| {
        if which == Which::Alltoall {
            return blocks::equal(types, asked, [first, first + 1, first + 2], others, rw);
        }
        let arguments = [first, first + 1, first + 2, first + 3];
        if which == Which::Alltoallw {
            blocks::of_types(types, asked, arguments, others, rw)
        } else {
            blocks::listed(types, asked, arguments, others, rw)
        }
    };
    let second = if which == Which::Alltoall { 3 } else { 4 };
    let given = if in_place {
        (NOTHING, Blocks::Equal(0))
    } else {
        part(asked, 0, (true, false))?.taken(held)
    };
    let taken = part(asked, second, (in_place, true))?.taken(held);
    Ok(Collective::alltoall(caller.comm, given, taken))
}

fn among_neighbours(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    which: Which,
    caller: Caller,
    held: &mut Vec<Held>,
) -> Result<Collective, Fault> {
    let degrees = topologies::degrees(state, asked.word(which.comm()))?;
    let types = &state.types;
    let [sources, destinations] =
        degrees.map(|degree| u32::try_from(degree).expect("a C int counted the neighbours"));
    // Where a grid ends there is no neighbour, and the block for it stays as it was.
    let (reads, writes) = ((true, false), (true, true));
    let list = |first: usize| [first, first + 1, first + 2, first + 3];
    let is_lone = matches!(which, Which::NeighborAllgather | Which::NeighborAllgatherv);
    if is_lone {
        let given = whole(types, asked, [0, 1, 2], reads, held)?;
        let taken = if which == Which::NeighborAllgather {
            blocks::equal(types, asked, [3, 4, 5], sources, writes)?
        } else {
            blocks::listed(types, asked, list(3), sources, writes)?
        };
        let taken = taken.taken(held);
        return Ok(Collective::neighbour_allgather(caller.comm, given, taken, degrees));
    }
    let (given, taken) = if which == Which::NeighborAlltoall {
        let given = blocks::equal(types, asked, [0, 1, 2], destinations, reads)?;
        (given, blocks::equal(types, asked, [3, 4, 5], sources, writes)?)
    } else if which == Which::NeighborAlltoallv {
        let given = blocks::listed(types, asked, list(0), destinations, reads)?;
        (given, blocks::listed(types, asked, list(4), sources, writes)?)
    } else {
        let given = blocks::of_types_at(types, asked, list(0), destinations, reads)?;
        (given, blocks::of_types_at(types, asked, list(4), sources, writes)?)
    };
    let (given, taken) = (given.taken(held), taken.taken(held));
    Ok(Collective::neighbour_alltoall(caller.comm, given, taken, degrees))
}

fn reduce(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    which: Which,
    caller: Caller,
    held: &mut Vec<Held>,
) -> Result<Collective, Fault> {
    let Caller { comm, root, .. } = caller;
    let in_place = asked.word(0) == mpi5::IN_PLACE;
    let is_rooted = which == Which::Reduce;
    let types = &state.types;
    let reduction = state.operators.reduction(types, asked.word(4), asked.word(3))?;
    let has_none = !caller.takes_part || is_rooted && caller.is_root && caller.is_between;
    let given = if in_place || has_none {
        NOTHING
    } else {
        whole(types, asked, [0, 2, 3], (true, false), held)?
    };
    // What an exscan leaves alone must come back as it was.
    let reads = in_place || which == Which::Exscan;
    let taken = if caller.takes_part && (!is_rooted || caller.is_root) {
        whole(types, asked, [1, 2, 3], (reads, true), held)?
    } else {
        NOTHING
    };
    Ok(if is_rooted {
        Collective::reduce(comm, root, given, taken, reduction)
    } else if which == Which::Scan {
        Collective::scan(comm, given, taken, reduction)
    } else if which == Which::Exscan {
        Collective::exscan(comm, given, taken, reduction)
    } else {
        Collective::allreduce(comm, given, taken, reduction)
    })
}

fn reduce_scatter(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    which: Which,
    caller: Caller,
    held: &mut Vec<Held>,
) -> Result<Collective, Fault> {
    let in_place = asked.word(0) == mpi5::IN_PLACE;
    let types = &state.types;
    let reduction = state.operators.reduction(types, asked.word(4), asked.word(3))?;
    let size = types.committed(asked.word(3))?.size();
    let (counts, blocks) = if which == Which::ReduceScatter {
        let counts = asked.counts(2, caller.own as usize)?;
        let counts = counts.into_iter().map(blocks::natural).collect::<Result<Vec<_>, _>>()?;
        let length = |count: &u64| blocks::countable(count.checked_mul(size));
        let lengths = counts.iter().map(length).collect::<Result<Vec<_>, _>>()?;
        (counts, Blocks::packed(&lengths))
    } else {
        let count = asked.count(2)?;
        let length = blocks::countable(count.checked_mul(size))?;
        (vec![count; caller.own as usize], Blocks::Equal(length))
    };
    let all = counts.iter().try_fold(0_u64, |all, count| all.checked_add(*count));
    let (all, own) = (blocks::countable(all)?, counts[caller.rank as usize]);
    let (datatype, from, into) = (asked.word(3), asked.word(0), asked.word(1));
    let given = if in_place {
        NOTHING
    } else {
        whole_of(types, asked, (from, all, datatype), (true, false), held)?
    };
    let room = if in_place { all } else { own };
    let taken = whole_of(types, asked, (into, room, datatype), (in_place, true), held)?;
    Ok(Collective::reduce_scatter(caller.comm, given, taken, blocks, reduction))
}

/// The data of an address, a count and a datatype as bytes one after the other.
fn whole(
    types: &Types,
    asked: &mut Asked<'_>,
    [address, count, datatype]: [usize; 3],
    rw: (bool, bool),
    held: &mut Vec<Held>,
) -> Result<Region, Fault> {
    let triple = (asked.word(address), asked.count(count)?, asked.word(datatype));
    whole_of(types, asked, triple, rw, held)
}

fn whole_of(
    types: &Types,
    asked: &mut Asked<'_>,
    (address, count, datatype): (u64, u64, u64),
    rw: (bool, bool),
    held: &mut Vec<Held>,
) -> Result<Region, Fault> {
    let data = types.elements(address, count, datatype)?;
    let (buffer, kept) = data.in_one_piece(asked.place, rw)?;
    held.extend(kept);
    Ok(Region::new(Space::User(buffer.id), buffer.bytes))
}

impl Which {
    /// Whether the root says `MPI_IN_PLACE` in place of its receive buffer.
    const fn takes_in_place_second(self) -> bool {
        matches!(self, Self::Scatter | Self::Scatterv)
    }
}

/// The argument in which the root of a scatter says `MPI_IN_PLACE`.
const fn in_place_of_root(which: Which) -> usize {
    which.comm() - 4
}

/// The blocks of a rank that takes no part with data: a list where those of the others are lists.
fn no_blocks(is_list: bool) -> Blocks {
    if is_list { Blocks::packed(&[]) } else { Blocks::Equal(0) }
}

/// Blocks of which a rank knows its own only.
fn only(rank: u32, bytes: u64, ranks: u32) -> Blocks {
    let lengths: Vec<u64> = (0..ranks).map(|at| if at == rank { bytes } else { 0 }).collect();
    Blocks::packed(&lengths)
}
