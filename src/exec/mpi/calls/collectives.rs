//! Collective operations: blocking, begun and prepared.
//!
//! The library's collectives take bytes one after the other, or blocks of them. What a program has in pieces the
//! simulator packs before the call and unpacks after it; that takes no simulated time.

mod blocks;
mod overlap;

use std::sync::Arc;

use super::{requests, topologies};
use crate::functions as mpi5;
use crate::mpi::args::calls::Collectives;
use crate::mpi::args::{self, Address, Count, To, WithInfo, WithRequest, handle};
use crate::mpi::asked::Asked;
use crate::mpi::data::{Data, Held};
use crate::mpi::fault::Fault;
use crate::mpi::objects::types::Types;
use crate::mpi::rank_state::{Answer, RankState, Step, done};
use ::mpi::envelope::Rank;
use blocks::Many;
use calls::arguments::{Comm, Outcome};
use calls::space::{Region, Space};
use collectives::{Between, Blocks, Collective};
use protocols::call::Call;

/// When the function returns.
#[derive(Clone, Copy, Debug)]
enum When {
    Complete,
    Begun(To<handle::Request>),
    Prepared(To<handle::Request>),
}

/// The three functions of each operation, and the buffers that may be `MPI_IN_PLACE`.
macro_rules! operations {
    ($($waits:ident $begins:ident $prepares:ident [$($buffer:ident),*],)*) => {
        /// An operation, with its arguments.
        #[allow(non_camel_case_types, reason = "as MPI names them")]
        #[derive(Clone, Copy, Debug)]
        enum Operation {
            $($waits(args::$waits),)*
        }

        impl Operation {
            /// The operation of a call, and when its function returns.
            const fn of(call: Collectives) -> (Self, When) {
                match call {
                    $(
                        Collectives::$waits(of) => (Self::$waits(of), When::Complete),
                        Collectives::$begins(WithRequest { of, request }) => {
                            (Self::$waits(of), When::Begun(request))
                        }
                        Collectives::$prepares(WithInfo { of, request, .. }) => {
                            (Self::$waits(of), When::Prepared(request))
                        }
                    )*
                }
            }

            const fn comm(self) -> handle::Comm {
                match self {
                    $(Self::$waits(of) => of.comm,)*
                }
            }

            fn is_in_place(self) -> bool {
                match self {
                    $(Self::$waits(args::$waits { $($buffer,)* .. }) => {
                        false $(|| $buffer.is_in_place())*
                    })*
                }
            }
        }
    };
}

operations! {
    Barrier Ibarrier Barrier_init [],
    Bcast Ibcast Bcast_init [buffer],
    Gather Igather Gather_init [sendbuf],
    Gatherv Igatherv Gatherv_init [sendbuf],
    Scatter Iscatter Scatter_init [sendbuf, recvbuf],
    Scatterv Iscatterv Scatterv_init [sendbuf, recvbuf],
    Allgather Iallgather Allgather_init [sendbuf],
    Allgatherv Iallgatherv Allgatherv_init [sendbuf],
    Alltoall Ialltoall Alltoall_init [sendbuf],
    Alltoallv Ialltoallv Alltoallv_init [sendbuf],
    Alltoallw Ialltoallw Alltoallw_init [sendbuf],
    Neighbor_allgather Ineighbor_allgather Neighbor_allgather_init [sendbuf],
    Neighbor_allgatherv Ineighbor_allgatherv Neighbor_allgatherv_init [sendbuf],
    Neighbor_alltoall Ineighbor_alltoall Neighbor_alltoall_init [sendbuf],
    Neighbor_alltoallv Ineighbor_alltoallv Neighbor_alltoallv_init [sendbuf],
    Neighbor_alltoallw Ineighbor_alltoallw Neighbor_alltoallw_init [sendbuf],
    Reduce Ireduce Reduce_init [sendbuf],
    Allreduce Iallreduce Allreduce_init [sendbuf],
    Reduce_scatter Ireduce_scatter Reduce_scatter_init [sendbuf],
    Reduce_scatter_block Ireduce_scatter_block Reduce_scatter_block_init [sendbuf],
    Scan Iscan Scan_init [sendbuf],
    Exscan Iexscan Exscan_init [sendbuf],
}

impl Operation {
    /// Its root, where it has one.
    const fn root(self) -> Option<i32> {
        match self {
            Self::Bcast(args::Bcast { root, .. })
            | Self::Gather(args::Gather { root, .. })
            | Self::Gatherv(args::Gatherv { root, .. })
            | Self::Scatter(args::Scatter { root, .. })
            | Self::Scatterv(args::Scatterv { root, .. })
            | Self::Reduce(args::Reduce { root, .. }) => Some(root),
            Self::Barrier(_)
            | Self::Allgather(_)
            | Self::Allgatherv(_)
            | Self::Alltoall(_)
            | Self::Alltoallv(_)
            | Self::Alltoallw(_)
            | Self::Neighbor_allgather(_)
            | Self::Neighbor_allgatherv(_)
            | Self::Neighbor_alltoall(_)
            | Self::Neighbor_alltoallv(_)
            | Self::Neighbor_alltoallw(_)
            | Self::Allreduce(_)
            | Self::Reduce_scatter(_)
            | Self::Reduce_scatter_block(_)
            | Self::Scan(_)
            | Self::Exscan(_) => None,
        }
    }
}

/// Where the results of a reduction go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Reduces {
    ToRoot,
    ToAll,
    Scan,
    Exscan,
}

/// Elements of a reduction that each rank gets.
#[derive(Clone, Copy, Debug)]
enum Shares {
    Equal(Count),
    Listed(To<Count>),
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

pub(super) fn call(state: &mut RankState, asked: &mut Asked<'_>, call: Collectives) -> Answer {
    let (operation, when) = Operation::of(call);
    let comm = operation.comm();
    let caller = caller(state, comm, operation.root())?;
    let mut held = Vec::new();
    let mut call = with_buffers(state, asked, operation, caller, &mut held)?;
    if operation.is_in_place() {
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
    let to = match when {
        When::Complete => {
            return Ok(Step::calls(Call::Collective(call), move |_, asked, _| {
                for held in held {
                    held.end(asked.place, Outcome::Sent)?;
                }
                done()
            }));
        }
        When::Begun(to) | When::Prepared(to) => to,
    };
    let requests = &mut state.requests;
    let request = requests.open(comm.0);
    let call = Call::Icollective { request, call };
    Ok(if matches!(when, When::Begun(_)) {
        requests::begins(requests, asked, to, request, call, held)
    } else {
        requests::prepares(requests, asked, to, request, call, held)
    })
}

fn caller(state: &mut RankState, comm: handle::Comm, root: Option<i32>) -> Result<Caller, Fault> {
    let me = state.rank;
    let comm = state.comm(comm)?;
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
    let Some(root) = root else { return Ok(caller) };
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
fn with_buffers(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    operation: Operation,
    caller: Caller,
    held: &mut Vec<Held>,
) -> Result<Collective, Fault> {
    use Operation as O;
    let types = &state.types;
    let call = match operation {
        O::Barrier(_) => Collective::barrier(caller.comm),
        O::Bcast(of) => bcast(types, asked, of.buffer, caller, held)?,
        O::Gather(of) => gather(types, asked, of.sendbuf, Many::Equal(of.recvbuf), caller, held)?,
        O::Gatherv(of) => gather(types, asked, of.sendbuf, Many::Listed(of.recvbuf), caller, held)?,
        O::Scatter(of) => scatter(types, asked, Many::Equal(of.sendbuf), of.recvbuf, caller, held)?,
        O::Scatterv(of) => {
            scatter(types, asked, Many::Listed(of.sendbuf), of.recvbuf, caller, held)?
        }
        O::Allgather(of) => {
            allgather(types, asked, of.sendbuf, Many::Equal(of.recvbuf), caller, held)?
        }
        O::Allgatherv(of) => {
            allgather(types, asked, of.sendbuf, Many::Listed(of.recvbuf), caller, held)?
        }
        O::Alltoall(of) => {
            let both = [of.sendbuf, of.recvbuf].map(Many::Equal);
            alltoall(types, asked, both, caller, held)?
        }
        O::Alltoallv(of) => {
            let both = [of.sendbuf, of.recvbuf].map(Many::Listed);
            alltoall(types, asked, both, caller, held)?
        }
        O::Alltoallw(of) => {
            let both = [of.sendbuf, of.recvbuf].map(Many::OfTypes);
            alltoall(types, asked, both, caller, held)?
        }
        O::Neighbor_allgather(of) => {
            let taken = Many::Equal(of.recvbuf);
            neighbour_allgather(state, asked, of.comm, of.sendbuf, taken, caller, held)?
        }
        O::Neighbor_allgatherv(of) => {
            let taken = Many::Listed(of.recvbuf);
            neighbour_allgather(state, asked, of.comm, of.sendbuf, taken, caller, held)?
        }
        O::Neighbor_alltoall(of) => {
            let both = [of.sendbuf, of.recvbuf].map(Many::Equal);
            neighbour_alltoall(state, asked, of.comm, both, caller, held)?
        }
        O::Neighbor_alltoallv(of) => {
            let both = [of.sendbuf, of.recvbuf].map(Many::Listed);
            neighbour_alltoall(state, asked, of.comm, both, caller, held)?
        }
        O::Neighbor_alltoallw(of) => {
            let both = [of.sendbuf, of.recvbuf].map(Many::OfTypesAt);
            neighbour_alltoall(state, asked, of.comm, both, caller, held)?
        }
        O::Reduce(of) => {
            let elements = (of.sendbuf, of.recvbuf, of.op);
            reduce(state, asked, Reduces::ToRoot, elements, caller, held)?
        }
        O::Allreduce(of) => {
            let elements = (of.sendbuf, of.recvbuf, of.op);
            reduce(state, asked, Reduces::ToAll, elements, caller, held)?
        }
        O::Scan(of) => {
            let elements = (of.sendbuf, of.recvbuf, of.op);
            reduce(state, asked, Reduces::Scan, elements, caller, held)?
        }
        O::Exscan(of) => {
            let elements = (of.sendbuf, of.recvbuf, of.op);
            reduce(state, asked, Reduces::Exscan, elements, caller, held)?
        }
        O::Reduce_scatter(of) => {
            let (shares, on) = (Shares::Listed(of.recvcounts), (of.op, of.datatype));
            reduce_scatter(state, asked, [of.sendbuf, of.recvbuf], shares, on, caller, held)?
        }
        O::Reduce_scatter_block(of) => {
            let args::Buffer { address, count, datatype } = of.recvbuf;
            let (shares, on) = (Shares::Equal(count), (of.op, datatype));
            reduce_scatter(state, asked, [of.sendbuf, address], shares, on, caller, held)?
        }
    };
    let of_types = matches!(operation, O::Alltoallw(_) | O::Neighbor_alltoallw(_));
    Ok(Collective { of_types, ..call })
}

fn bcast(
    types: &Types,
    asked: &mut Asked<'_>,
    buffer: args::Buffer,
    caller: Caller,
    held: &mut Vec<Held>,
) -> Result<Collective, Fault> {
    let is_between_root = caller.is_between && caller.is_root;
    let buffer = if caller.takes_part {
        let reads = caller.is_root || is_between_root;
        whole(types, asked, buffer, (reads, !caller.is_root), held)?
    } else {
        NOTHING
    };
    Ok(Collective::bcast(caller.comm, caller.root, buffer))
}

fn gather(
    types: &Types,
    asked: &mut Asked<'_>,
    sent: args::Buffer,
    room: Many,
    caller: Caller,
    held: &mut Vec<Held>,
) -> Result<Collective, Fault> {
    let Caller { comm, root, rank, .. } = caller;
    let (is_list, in_place) = (room.is_list(), sent.is_in_place());
    if !caller.takes_part {
        return Ok(Collective::gather(comm, root, NOTHING, NOTHING, no_blocks(is_list)));
    }
    let given = if in_place || caller.is_root && caller.is_between {
        NOTHING
    } else {
        whole(types, asked, sent, (true, false), held)?
    };
    let (taken, blocks) = if caller.is_root {
        room.part(types, asked, caller.others, (in_place, true))?.taken(held)
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
    sent: Many,
    room: args::Buffer,
    caller: Caller,
    held: &mut Vec<Held>,
) -> Result<Collective, Fault> {
    let Caller { comm, root, rank, .. } = caller;
    let is_list = sent.is_list();
    if !caller.takes_part {
        return Ok(Collective::scatter(comm, root, NOTHING, no_blocks(is_list), NOTHING));
    }
    let taken = if room.is_in_place() || caller.is_root && caller.is_between {
        NOTHING
    } else {
        whole(types, asked, room, (false, true), held)?
    };
    let (given, blocks) = if caller.is_root {
        sent.part(types, asked, caller.others, (true, false))?.taken(held)
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
    sent: args::Buffer,
    room: Many,
    caller: Caller,
    held: &mut Vec<Held>,
) -> Result<Collective, Fault> {
    let in_place = sent.is_in_place();
    let given = if in_place { NOTHING } else { whole(types, asked, sent, (true, false), held)? };
    if room.is_list() && caller.is_between {
        return Err(Fault::not_carried(
            "the simulator does not carry MPI_Allgatherv between two groups",
        ));
    }
    let part = room.part(types, asked, caller.others, (in_place, true))?;
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
    [sent, room]: [Many; 2],
    caller: Caller,
    held: &mut Vec<Held>,
) -> Result<Collective, Fault> {
    let (in_place, others) = (sent.is_in_place(), caller.others);
    let given = if in_place {
        (NOTHING, Blocks::Equal(0))
    } else {
        sent.part(types, asked, others, (true, false))?.taken(held)
    };
    let taken = room.part(types, asked, others, (in_place, true))?.taken(held);
    Ok(Collective::alltoall(caller.comm, given, taken))
}

/// Where a grid ends there is no neighbour, and the block for it stays as it was.
const FROM_NEIGHBOURS: (bool, bool) = (true, true);

/// How many neighbours messages come from and go to; and these numbers as those of ranks.
fn degrees(state: &mut RankState, comm: handle::Comm) -> Result<([usize; 2], [u32; 2]), Fault> {
    let degrees = topologies::degrees(state, comm)?;
    let count = |degree| u32::try_from(degree).expect("a C int counted the neighbours");
    Ok((degrees, degrees.map(count)))
}

fn neighbour_allgather(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    comm: handle::Comm,
    sent: args::Buffer,
    room: Many,
    caller: Caller,
    held: &mut Vec<Held>,
) -> Result<Collective, Fault> {
    let (degrees, [sources, _]) = degrees(state, comm)?;
    let given = whole(&state.types, asked, sent, (true, false), held)?;
    let taken = room.part(&state.types, asked, sources, FROM_NEIGHBOURS)?.taken(held);
    Ok(Collective::neighbour_allgather(caller.comm, given, taken, degrees))
}

fn neighbour_alltoall(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    comm: handle::Comm,
    [sent, room]: [Many; 2],
    caller: Caller,
    held: &mut Vec<Held>,
) -> Result<Collective, Fault> {
    let (degrees, [sources, destinations]) = degrees(state, comm)?;
    let given = sent.part(&state.types, asked, destinations, (true, false))?;
    let taken = room.part(&state.types, asked, sources, FROM_NEIGHBOURS)?;
    let (given, taken) = (given.taken(held), taken.taken(held));
    Ok(Collective::neighbour_alltoall(caller.comm, given, taken, degrees))
}

/// The buffer of the elements that each rank gives has the number and the datatype of that of the results.
fn reduce(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    reduces: Reduces,
    (sent, room, op): (Address, args::Buffer, handle::Op),
    caller: Caller,
    held: &mut Vec<Held>,
) -> Result<Collective, Fault> {
    let Caller { comm, root, .. } = caller;
    let in_place = sent.is_in_place();
    let is_rooted = reduces == Reduces::ToRoot;
    let types = &state.types;
    let reduction = state.operators.reduction(types, op, room.datatype)?;
    let has_none = !caller.takes_part || is_rooted && caller.is_root && caller.is_between;
    let given = if in_place || has_none {
        NOTHING
    } else {
        whole(types, asked, args::Buffer { address: sent, ..room }, (true, false), held)?
    };
    // What an exscan leaves alone must come back as it was.
    let reads = in_place || reduces == Reduces::Exscan;
    let taken = if caller.takes_part && (!is_rooted || caller.is_root) {
        whole(types, asked, room, (reads, true), held)?
    } else {
        NOTHING
    };
    Ok(match reduces {
        Reduces::ToRoot => Collective::reduce(comm, root, given, taken, reduction),
        Reduces::ToAll => Collective::allreduce(comm, given, taken, reduction),
        Reduces::Scan => Collective::scan(comm, given, taken, reduction),
        Reduces::Exscan => Collective::exscan(comm, given, taken, reduction),
    })
}

fn reduce_scatter(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    [sent, room]: [Address; 2],
    shares: Shares,
    (op, datatype): (handle::Op, handle::Datatype),
    caller: Caller,
    held: &mut Vec<Held>,
) -> Result<Collective, Fault> {
    let in_place = sent.is_in_place();
    let types = &state.types;
    let reduction = state.operators.reduction(types, op, datatype)?;
    let size = types.committed(datatype)?.size();
    let (counts, blocks) = match shares {
        Shares::Listed(counts) => {
            let counts = asked.counts(counts, caller.own as usize)?;
            let counts = counts.into_iter().map(|count| Count(count).natural());
            let counts = counts.collect::<Result<Vec<_>, _>>()?;
            let length = |count: &u64| blocks::countable(count.checked_mul(size));
            let lengths = counts.iter().map(length).collect::<Result<Vec<_>, _>>()?;
            (counts, Blocks::packed(&lengths))
        }
        Shares::Equal(count) => {
            let count = count.natural()?;
            let length = blocks::countable(count.checked_mul(size))?;
            (vec![count; caller.own as usize], Blocks::Equal(length))
        }
    };
    let all = counts.iter().try_fold(0_u64, |all, count| all.checked_add(*count));
    let (all, own) = (blocks::countable(all)?, counts[caller.rank as usize]);
    let given = if in_place {
        NOTHING
    } else {
        let data = types.elements(sent, all, datatype)?;
        in_one_piece(asked, &data, (true, false), held)?
    };
    let data = types.elements(room, if in_place { all } else { own }, datatype)?;
    let taken = in_one_piece(asked, &data, (in_place, true), held)?;
    Ok(Collective::reduce_scatter(caller.comm, given, taken, blocks, reduction))
}

/// The data of a buffer as bytes one after the other.
fn whole(
    types: &Types,
    asked: &mut Asked<'_>,
    buffer: args::Buffer,
    rw: (bool, bool),
    held: &mut Vec<Held>,
) -> Result<Region, Fault> {
    in_one_piece(asked, &types.data(buffer)?, rw, held)
}

fn in_one_piece(
    asked: &mut Asked<'_>,
    data: &Data,
    rw: (bool, bool),
    held: &mut Vec<Held>,
) -> Result<Region, Fault> {
    let (buffer, kept) = data.in_one_piece(asked.place, rw)?;
    held.extend(kept);
    Ok(Region::new(Space::User(buffer.id), buffer.bytes))
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
