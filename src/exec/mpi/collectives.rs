//! Collective operations: blocking, begun and prepared.
//!
//! The library's collectives take bytes one after the other, or blocks of them. What a program has in pieces the
//! simulator packs before the call and unpacks after it; that takes no simulated time.

mod blocks;

use std::sync::Arc;

use super::data::Held;
use super::{Answer, Asked, Client, Fault, Step, done, mpi5};
use ::mpi::envelope::Rank;
use blocks::Part;
use protocols::arguments::Comm;
use protocols::call::Call;
use protocols::collectives::{Between, Blocks, Collective};
use protocols::space::{Region, Space};

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

/// Who calls a collective, and over what.
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

impl Client {
    pub(super) fn collective_call(&mut self, asked: &mut Asked<'_>) -> Option<Answer> {
        let (which, when) = named(asked.function)?;
        Some(self.collective(asked, which, when))
    }

    fn collective(&mut self, asked: &mut Asked<'_>, which: Which, when: When) -> Answer {
        let comm = asked.word(which.comm());
        let caller = self.caller(asked, which)?;
        let mut held = Vec::new();
        let mut call = self.operation(asked, which, caller, &mut held)?;
        if !caller.is_between {
            let group = Arc::clone(&self.comm(comm)?.group);
            call = self.choose.algorithm(call, &group);
        }
        if asked.word(0) == mpi5::IN_PLACE
            || which.takes_in_place_second()
                && asked.word(in_place_of_root(which)) == mpi5::IN_PLACE
        {
            call = call.at_its_place((caller.rank, caller.own));
        }
        let call = Arc::new(call);
        let at = which.comm() + 1;
        match when {
            When::Complete => Ok(Step::calls(Call::Collective(call), move |_, asked, _| {
                for held in held {
                    held.end(asked.place)?;
                }
                done()
            })),
            When::Begun => {
                let request = self.requests.open(comm, false);
                Ok(self.begins(asked, at, request, Call::Icollective { request, call }, held))
            }
            When::Prepared => {
                let request = self.requests.open(comm, false);
                let call = Call::Icollective { request, call };
                Ok(self.prepares(asked, at + 1, request, call, held))
            }
        }
    }

    fn caller(&mut self, asked: &Asked<'_>, which: Which) -> Result<Caller, Fault> {
        let me = self.rank;
        let comm = self.comm(asked.word(which.comm()))?;
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
        &mut self,
        asked: &mut Asked<'_>,
        which: Which,
        caller: Caller,
        held: &mut Vec<Held>,
    ) -> Result<Collective, Fault> {
        let (comm, root) = (caller.comm, caller.root);
        Ok(match which {
            Which::Barrier => Collective::barrier(comm),
            Which::Bcast => {
                let is_between_root = caller.is_between && caller.is_root;
                let buffer = if caller.takes_part {
                    let reads = caller.is_root || is_between_root;
                    self.whole(asked, [0, 1, 2], (reads, !caller.is_root), held)?
                } else {
                    NOTHING
                };
                Collective::bcast(comm, root, buffer)
            }
            Which::Gather | Which::Gatherv => self.gather(asked, which, caller, held)?,
            Which::Scatter | Which::Scatterv => self.scatter(asked, which, caller, held)?,
            Which::Allgather | Which::Allgatherv => self.allgather(asked, which, caller, held)?,
            Which::Alltoall | Which::Alltoallv | Which::Alltoallw => {
                self.alltoall(asked, which, caller, held)?
            }
            Which::NeighborAllgather
            | Which::NeighborAllgatherv
            | Which::NeighborAlltoall
            | Which::NeighborAlltoallv
            | Which::NeighborAlltoallw => self.among_neighbours(asked, which, caller, held)?,
            Which::Reduce | Which::Allreduce | Which::Scan | Which::Exscan => {
                self.reduce(asked, which, caller, held)?
            }
            Which::ReduceScatter | Which::ReduceScatterBlock => {
                self.reduce_scatter(asked, which, caller, held)?
            }
        })
    }

    fn gather(
        &mut self,
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
            self.whole(asked, [0, 1, 2], (true, false), held)?
        };
        let (taken, blocks) = if caller.is_root {
            let part = if is_list {
                self.listed(asked, [3, 4, 5, 6], caller.others, (in_place, true))?
            } else {
                self.equal(asked, [3, 4, 5], caller.others, (in_place, true))?
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
        &mut self,
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
            self.whole(asked, [first, first + 1, first + 2], (false, true), held)?
        };
        let (given, blocks) = if caller.is_root {
            let part = if is_list {
                self.listed(asked, [0, 1, 2, 3], caller.others, (true, false))?
            } else {
                self.equal(asked, [0, 1, 2], caller.others, (true, false))?
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
        &mut self,
        asked: &mut Asked<'_>,
        which: Which,
        caller: Caller,
        held: &mut Vec<Held>,
    ) -> Result<Collective, Fault> {
        let in_place = asked.word(0) == mpi5::IN_PLACE;
        let given =
            if in_place { NOTHING } else { self.whole(asked, [0, 1, 2], (true, false), held)? };
        let part = if which == Which::Allgatherv {
            if caller.is_between {
                return Err(Fault::not_carried(
                    "the simulator does not carry MPI_Allgatherv between two groups",
                ));
            }
            self.listed(asked, [3, 4, 5, 6], caller.others, (in_place, true))?
        } else {
            self.equal(asked, [3, 4, 5], caller.others, (in_place, true))?
        };
        let (taken, blocks) = part.taken(held);
        let mut call = Collective::allgather(caller.comm, given, taken, blocks);
        if caller.is_between {
            call.sends = Blocks::Equal(given.len);
        }
        Ok(call)
    }

    fn alltoall(
        &mut self,
        asked: &mut Asked<'_>,
        which: Which,
        caller: Caller,
        held: &mut Vec<Held>,
    ) -> Result<Collective, Fault> {
        let in_place = asked.word(0) == mpi5::IN_PLACE;
        let others = caller.others;
        let mut part = |asked: &mut Asked<'_>, first: usize, rw| {
            if which == Which::Alltoall {
                return self.equal(asked, [first, first + 1, first + 2], others, rw);
            }
            let arguments = [first, first + 1, first + 2, first + 3];
            if which == Which::Alltoallw {
                self.of_types(asked, arguments, others, rw)
            } else {
                self.listed(asked, arguments, others, rw)
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
        &mut self,
        asked: &mut Asked<'_>,
        which: Which,
        caller: Caller,
        held: &mut Vec<Held>,
    ) -> Result<Collective, Fault> {
        let degrees = self.degrees(asked.word(which.comm()))?;
        let [sources, destinations] =
            degrees.map(|degree| u32::try_from(degree).expect("a C int counted the neighbours"));
        // Where a grid ends there is no neighbour, and the block for it stays as it was.
        let (reads, writes) = ((true, false), (true, true));
        let list = |first: usize| [first, first + 1, first + 2, first + 3];
        let is_lone = matches!(which, Which::NeighborAllgather | Which::NeighborAllgatherv);
        if is_lone {
            let given = self.whole(asked, [0, 1, 2], reads, held)?;
            let taken = if which == Which::NeighborAllgather {
                self.equal(asked, [3, 4, 5], sources, writes)?
            } else {
                self.listed(asked, list(3), sources, writes)?
            };
            let taken = taken.taken(held);
            return Ok(Collective::neighbour_allgather(caller.comm, given, taken, degrees));
        }
        let (given, taken) = if which == Which::NeighborAlltoall {
            let given = self.equal(asked, [0, 1, 2], destinations, reads)?;
            (given, self.equal(asked, [3, 4, 5], sources, writes)?)
        } else if which == Which::NeighborAlltoallv {
            let given = self.listed(asked, list(0), destinations, reads)?;
            (given, self.listed(asked, list(4), sources, writes)?)
        } else {
            let given = self.of_types_at(asked, list(0), destinations, reads)?;
            (given, self.of_types_at(asked, list(4), sources, writes)?)
        };
        let (given, taken) = (given.taken(held), taken.taken(held));
        Ok(Collective::neighbour_alltoall(caller.comm, given, taken, degrees))
    }

    fn reduce(
        &mut self,
        asked: &mut Asked<'_>,
        which: Which,
        caller: Caller,
        held: &mut Vec<Held>,
    ) -> Result<Collective, Fault> {
        let Caller { comm, root, .. } = caller;
        let in_place = asked.word(0) == mpi5::IN_PLACE;
        let is_rooted = which == Which::Reduce;
        let reduction = self.reduction(asked.word(4), asked.word(3))?;
        let has_none = !caller.takes_part || is_rooted && caller.is_root && caller.is_between;
        let given = if in_place || has_none {
            NOTHING
        } else {
            self.whole(asked, [0, 2, 3], (true, false), held)?
        };
        // What an exscan leaves alone must come back as it was.
        let reads = in_place || which == Which::Exscan;
        let taken = if caller.takes_part && (!is_rooted || caller.is_root) {
            self.whole(asked, [1, 2, 3], (reads, true), held)?
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
        &mut self,
        asked: &mut Asked<'_>,
        which: Which,
        caller: Caller,
        held: &mut Vec<Held>,
    ) -> Result<Collective, Fault> {
        let in_place = asked.word(0) == mpi5::IN_PLACE;
        let reduction = self.reduction(asked.word(4), asked.word(3))?;
        let size = self.types.committed(asked.word(3))?.size();
        let (counts, blocks) = if which == Which::ReduceScatter {
            let counts = asked.counts(2, caller.own as usize)?;
            let counts = counts.into_iter().map(blocks::natural).collect::<Result<Vec<_>, _>>()?;
            let lengths: Vec<u64> = counts.iter().map(|count| count * size).collect();
            (counts, Blocks::packed(&lengths))
        } else {
            let count = asked.count(2)?;
            (vec![count; caller.own as usize], Blocks::Equal(count * size))
        };
        let (all, own) = (counts.iter().sum(), counts[caller.rank as usize]);
        let (datatype, from, into) = (asked.word(3), asked.word(0), asked.word(1));
        let given = if in_place {
            NOTHING
        } else {
            self.whole_of(asked, (from, all, datatype), (true, false), held)?
        };
        let room = if in_place { all } else { own };
        let taken = self.whole_of(asked, (into, room, datatype), (in_place, true), held)?;
        Ok(Collective::reduce_scatter(caller.comm, given, taken, blocks, reduction))
    }

    /// The data of an address, a count and a datatype as bytes one after the other.
    fn whole(
        &mut self,
        asked: &mut Asked<'_>,
        [address, count, datatype]: [usize; 3],
        rw: (bool, bool),
        held: &mut Vec<Held>,
    ) -> Result<Region, Fault> {
        let triple = (asked.word(address), asked.count(count)?, asked.word(datatype));
        self.whole_of(asked, triple, rw, held)
    }

    fn whole_of(
        &mut self,
        asked: &mut Asked<'_>,
        (address, count, datatype): (u64, u64, u64),
        rw: (bool, bool),
        held: &mut Vec<Held>,
    ) -> Result<Region, Fault> {
        let data = self.data(address, count, datatype)?;
        let (buffer, kept) = data.in_one_piece(asked.place, rw)?;
        held.extend(kept);
        Ok(Region::new(Space::User(buffer.id), buffer.bytes))
    }
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

impl Part {
    /// Its buffer and its blocks; what is held for it is handed on.
    fn taken(self, all: &mut Vec<Held>) -> (Region, Blocks) {
        all.extend(self.held);
        (self.region, self.blocks)
    }
}
