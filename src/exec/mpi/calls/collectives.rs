//! Collective operations: blocking, nonblocking and persistent.
//!
//! The library's collectives take bytes one after the other, or blocks of them. What a program has in pieces the
//! simulator packs before the call and unpacks after it; that takes no simulated time.

mod blocks;
mod overlap;

use std::sync::Arc;

use super::{requests, topologies};
use crate::functions as mpi5;
use crate::mpi::args::{self, Address, Count, To, WithInfo, WithRequest, handle};
use crate::mpi::data::{Data, Held};
use crate::mpi::families::Collectives;
use crate::mpi::fault::Fault;
use crate::mpi::frame::Frame;
use crate::mpi::rank_state::{Answer, NextStep, RankState, done};
use ::mpi::envelope::Rank;
use blocks::{Many, Part};
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

pub(super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: Collectives) -> Answer {
    let (operation, when) = Operation::of(call);
    let comm = operation.comm();
    let caller = caller(state, comm, operation.root())?;
    let mut making = Making { state, frame, caller, held: Vec::new() };
    let mut call = making.call(operation)?;
    let held = making.held;
    if operation.is_in_place() {
        call = call.at_its_place((caller.rank, caller.own));
    } else if overlap::is_given_twice(&call, frame.place) {
        let what = "what it gives and the room for what it takes overlap, which MPI forbids and some MPI libraries refuse";
        state.remarks(frame, what);
    }
    if !caller.is_between {
        // Rules look at the call as all ranks know it: that of a rank in place has its buffers by now.
        let group = Arc::clone(&state.comm(comm)?.group);
        call = state.choose.algorithm(call, &group);
    }
    let call = Arc::new(call);
    let requests = &mut state.requests;
    match when {
        When::Complete => Ok(NextStep::calls(Call::Collective(call), move |_, frame, _| {
            for held in held {
                held.end(frame.place, Outcome::Sent)?;
            }
            done()
        })),
        When::Begun(to) => {
            let request = requests.open(comm.0);
            let call = Call::Icollective { request, call };
            Ok(requests::begins(requests, frame, to, request, call, held))
        }
        When::Prepared(to) => {
            let request = requests.open(comm.0);
            let call = Call::Icollective { request, call };
            Ok(requests::prepares(requests, frame, to, request, call, held))
        }
    }
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

/// A call of the library in the making, with its buffers.
struct Making<'a, 'b> {
    state: &'a mut RankState,
    frame: &'a mut Frame<'b>,
    caller: Caller,
    /// Data that is held for it.
    held: Vec<Held>,
}

impl Making<'_, '_> {
    fn call(&mut self, operation: Operation) -> Result<Collective, Fault> {
        use Many::{Equal, Listed, OfTypes, OfTypesAt};
        use Operation as O;
        match operation {
            O::Barrier(_) => Ok(Collective::barrier(self.caller.comm)),
            O::Bcast(of) => self.bcast(of.buffer),
            O::Gather(of) => self.gather(of.sendbuf, Equal(of.recvbuf)),
            O::Gatherv(of) => self.gather(of.sendbuf, Listed(of.recvbuf)),
            O::Scatter(of) => self.scatter(Equal(of.sendbuf), of.recvbuf),
            O::Scatterv(of) => self.scatter(Listed(of.sendbuf), of.recvbuf),
            O::Allgather(of) => self.allgather(of.sendbuf, Equal(of.recvbuf)),
            O::Allgatherv(of) => self.allgather(of.sendbuf, Listed(of.recvbuf)),
            O::Alltoall(of) => self.alltoall([of.sendbuf, of.recvbuf].map(Equal)),
            O::Alltoallv(of) => self.alltoall([of.sendbuf, of.recvbuf].map(Listed)),
            O::Alltoallw(of) => {
                let call = self.alltoall([of.sendbuf, of.recvbuf].map(OfTypes))?;
                Ok(Collective { of_types: true, ..call })
            }
            O::Neighbor_allgather(of) => {
                self.neighbour_allgather(of.comm, of.sendbuf, Equal(of.recvbuf))
            }
            O::Neighbor_allgatherv(of) => {
                self.neighbour_allgather(of.comm, of.sendbuf, Listed(of.recvbuf))
            }
            O::Neighbor_alltoall(of) => {
                self.neighbour_alltoall(of.comm, [of.sendbuf, of.recvbuf].map(Equal))
            }
            O::Neighbor_alltoallv(of) => {
                self.neighbour_alltoall(of.comm, [of.sendbuf, of.recvbuf].map(Listed))
            }
            O::Neighbor_alltoallw(of) => {
                let both = [of.sendbuf, of.recvbuf].map(OfTypesAt);
                Ok(Collective { of_types: true, ..self.neighbour_alltoall(of.comm, both)? })
            }
            O::Reduce(of) => self.reduce(Reduces::ToRoot, of.sendbuf, of.recvbuf, of.op),
            O::Allreduce(of) => self.reduce(Reduces::ToAll, of.sendbuf, of.recvbuf, of.op),
            O::Scan(of) => self.reduce(Reduces::Scan, of.sendbuf, of.recvbuf, of.op),
            O::Exscan(of) => self.reduce(Reduces::Exscan, of.sendbuf, of.recvbuf, of.op),
            O::Reduce_scatter(of) => {
                let shares = Shares::Listed(of.recvcounts);
                self.reduce_scatter([of.sendbuf, of.recvbuf], shares, of.datatype, of.op)
            }
            O::Reduce_scatter_block(of) => {
                let args::Buffer { address, count, datatype } = of.recvbuf;
                self.reduce_scatter([of.sendbuf, address], Shares::Equal(count), datatype, of.op)
            }
        }
    }

    fn bcast(&mut self, buffer: args::Buffer) -> Result<Collective, Fault> {
        let Caller { comm, root, is_root, takes_part, .. } = self.caller;
        let buffer = if takes_part { self.whole(buffer, (is_root, !is_root))? } else { NOTHING };
        Ok(Collective::bcast(comm, root, buffer))
    }

    fn gather(&mut self, sent: args::Buffer, room: Many) -> Result<Collective, Fault> {
        let caller = self.caller;
        let Caller { comm, root, rank, .. } = caller;
        let (is_list, in_place) = (room.is_list(), sent.is_in_place());
        if !caller.takes_part {
            return Ok(Collective::gather(comm, root, NOTHING, NOTHING, no_blocks(is_list)));
        }
        let given = if in_place || caller.is_root && caller.is_between {
            NOTHING
        } else {
            self.whole(sent, (true, false))?
        };
        let (taken, blocks) = if caller.is_root {
            self.part(room, caller.others, (in_place, true))?.taken(&mut self.held)
        } else if is_list {
            (NOTHING, only(rank, given.len, caller.own))
        } else {
            (NOTHING, Blocks::Equal(given.len))
        };
        Ok(Collective::gather(comm, root, given, taken, blocks))
    }

    fn scatter(&mut self, sent: Many, room: args::Buffer) -> Result<Collective, Fault> {
        let caller = self.caller;
        let Caller { comm, root, rank, .. } = caller;
        let is_list = sent.is_list();
        if !caller.takes_part {
            return Ok(Collective::scatter(comm, root, NOTHING, no_blocks(is_list), NOTHING));
        }
        let taken = if room.is_in_place() || caller.is_root && caller.is_between {
            NOTHING
        } else {
            self.whole(room, (false, true))?
        };
        let (given, blocks) = if caller.is_root {
            self.part(sent, caller.others, (true, false))?.taken(&mut self.held)
        } else if is_list {
            (NOTHING, only(rank, taken.len, caller.own))
        } else {
            (NOTHING, Blocks::Equal(taken.len))
        };
        Ok(Collective::scatter(comm, root, given, blocks, taken))
    }

    fn allgather(&mut self, sent: args::Buffer, room: Many) -> Result<Collective, Fault> {
        let Caller { comm, others, is_between, .. } = self.caller;
        let in_place = sent.is_in_place();
        let given = if in_place { NOTHING } else { self.whole(sent, (true, false))? };
        if room.is_list() && is_between {
            return Err(Fault::not_carried(
                "the simulator does not carry MPI_Allgatherv between two groups",
            ));
        }
        let (taken, blocks) = self.part(room, others, (in_place, true))?.taken(&mut self.held);
        let mut call = Collective::allgather(comm, given, taken, blocks);
        if is_between {
            call.sends = Blocks::Equal(given.len);
        }
        Ok(call)
    }

    fn alltoall(&mut self, [sent, room]: [Many; 2]) -> Result<Collective, Fault> {
        let Caller { comm, others, .. } = self.caller;
        let in_place = sent.is_in_place();
        let given = if in_place {
            (NOTHING, Blocks::Equal(0))
        } else {
            self.part(sent, others, (true, false))?.taken(&mut self.held)
        };
        let taken = self.part(room, others, (in_place, true))?.taken(&mut self.held);
        Ok(Collective::alltoall(comm, given, taken))
    }

    fn neighbour_allgather(
        &mut self,
        comm: handle::Comm,
        sent: args::Buffer,
        room: Many,
    ) -> Result<Collective, Fault> {
        let (degrees, [sources, _]) = degrees(self.state, comm)?;
        let given = self.whole(sent, (true, false))?;
        let taken = self.part(room, sources, FROM_NEIGHBOURS)?.taken(&mut self.held);
        Ok(Collective::neighbour_allgather(self.caller.comm, given, taken, degrees))
    }

    fn neighbour_alltoall(
        &mut self,
        comm: handle::Comm,
        [sent, room]: [Many; 2],
    ) -> Result<Collective, Fault> {
        let (degrees, [sources, destinations]) = degrees(self.state, comm)?;
        let given = self.part(sent, destinations, (true, false))?;
        let taken = self.part(room, sources, FROM_NEIGHBOURS)?;
        let (given, taken) = (given.taken(&mut self.held), taken.taken(&mut self.held));
        Ok(Collective::neighbour_alltoall(self.caller.comm, given, taken, degrees))
    }

    /// The elements that each rank gives have the number and the datatype of the results.
    fn reduce(
        &mut self,
        reduces: Reduces,
        sent: Address,
        room: args::Buffer,
        op: handle::Op,
    ) -> Result<Collective, Fault> {
        let caller = self.caller;
        let Caller { comm, root, .. } = caller;
        let in_place = sent.is_in_place();
        let is_rooted = reduces == Reduces::ToRoot;
        let reduction = self.state.operators.reduction(&self.state.types, op, room.datatype)?;
        let has_none = !caller.takes_part || is_rooted && caller.is_root && caller.is_between;
        let given = if in_place || has_none {
            NOTHING
        } else {
            self.whole(args::Buffer { address: sent, ..room }, (true, false))?
        };
        // What an exscan leaves alone must come back as it was.
        let reads = in_place || reduces == Reduces::Exscan;
        let taken = if caller.takes_part && (!is_rooted || caller.is_root) {
            self.whole(room, (reads, true))?
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
        &mut self,
        [sent, room]: [Address; 2],
        shares: Shares,
        datatype: handle::Datatype,
        op: handle::Op,
    ) -> Result<Collective, Fault> {
        let Caller { comm, rank, own: ranks, .. } = self.caller;
        let in_place = sent.is_in_place();
        let types = &self.state.types;
        let reduction = self.state.operators.reduction(types, op, datatype)?;
        let size = types.committed(datatype)?.size();
        let (counts, blocks) = match shares {
            Shares::Listed(counts) => {
                let counts = self.frame.counts(counts, ranks as usize)?;
                let counts = counts.into_iter().map(|count| Count(count).natural());
                let counts = counts.collect::<Result<Vec<_>, _>>()?;
                let length = |count: &u64| blocks::countable(count.checked_mul(size));
                let lengths = counts.iter().map(length).collect::<Result<Vec<_>, _>>()?;
                (counts, Blocks::packed(&lengths))
            }
            Shares::Equal(count) => {
                let count = count.natural()?;
                let length = blocks::countable(count.checked_mul(size))?;
                (vec![count; ranks as usize], Blocks::Equal(length))
            }
        };
        let all = counts.iter().try_fold(0_u64, |all, count| all.checked_add(*count));
        let (all, own) = (blocks::countable(all)?, counts[rank as usize]);
        let given = if in_place {
            NOTHING
        } else {
            let data = self.state.types.elements(sent, all, datatype)?;
            self.in_one_piece(&data, (true, false))?
        };
        let own = if in_place { all } else { own };
        let data = self.state.types.elements(room, own, datatype)?;
        let taken = self.in_one_piece(&data, (in_place, true))?;
        Ok(Collective::reduce_scatter(comm, given, taken, blocks, reduction))
    }

    /// A buffer with blocks of so many ranks.
    fn part(&mut self, of: Many, ranks: u32, rw: (bool, bool)) -> Result<Part, Fault> {
        of.part(&self.state.types, self.frame, ranks, rw)
    }

    /// The data of a buffer as bytes one after the other.
    fn whole(&mut self, buffer: args::Buffer, rw: (bool, bool)) -> Result<Region, Fault> {
        let data = self.state.types.data(buffer)?;
        self.in_one_piece(&data, rw)
    }

    fn in_one_piece(&mut self, data: &Data, rw: (bool, bool)) -> Result<Region, Fault> {
        let (buffer, kept) = data.in_one_piece(self.frame.place, rw)?;
        self.held.extend(kept);
        Ok(Region::new(Space::User(buffer.id), buffer.bytes))
    }
}

/// Where a grid ends there is no neighbour, and the block for it stays as it was.
const FROM_NEIGHBOURS: (bool, bool) = (true, true);

/// How many neighbours messages come from and go to; and these numbers as those of ranks.
fn degrees(state: &mut RankState, comm: handle::Comm) -> Result<([usize; 2], [u32; 2]), Fault> {
    let degrees = topologies::degrees(state, comm)?;
    let count = |degree| u32::try_from(degree).expect("a C int counted the neighbours");
    Ok((degrees, degrees.map(count)))
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
