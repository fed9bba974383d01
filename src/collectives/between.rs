//! Collectives between two groups: what the ranks of one give goes to the ranks of the other.
//!
//! ```text
//!   barrier          barrier of each group ──▶ the two ranks 0 tell each other ──▶ barrier of each group
//!   bcast            root ──▶ rank 0 of the other group ──▶ broadcast of that group
//!   scatter, gather  root and each rank of the other group
//!   allgather        gather of each group ──▶ the two ranks 0 exchange ──▶ broadcast of each group
//!   alltoall         a rank of one group and one of the other, one pair of messages in a round
//!   reduce           reduction of the other group ──▶ root
//!   allreduce        reduction of each group ──▶ the two ranks 0 exchange ──▶ broadcast of each group
//!   reduce_scatter   reduction of each group ──▶ the two ranks 0 exchange ──▶ scatter of each group
//! ```
//!
//! The ranks of both groups count one after the other, as the library has them. In the group of the root it
//! calls with [`Between::ROOT`], and all others with [`Between::NO_ROOT`].
//!
//! Source: MPI 4.0, Sec. 6.2.2 and 6.2.3; the steps are those of MPICH 4 (`src/mpi/coll/`, files `*_inter_*`).
//! Left out: short scatters and gathers by way of rank 0 of the other group.

use super::{Algorithm, At, Blocks, Kind, Round, Task};
use calls::space::Region;
use mpi::envelope::Rank;

/// One of the two groups.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Side {
    /// The place of its rank 0 among the ranks of both.
    pub first: u32,
    /// How many ranks it has.
    pub size: u32,
}

/// The two groups, as a rank of one sees them.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Between {
    /// Its own group.
    pub own: Side,
    /// The other one.
    pub other: Side,
}

/// Part of a rank in an operation that has a root.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Role {
    /// The root.
    Root,
    /// Another rank of its group, which has no part in the operation.
    Idle,
    /// A rank of the other group; the place of the root.
    Across(u32),
}

impl Between {
    /// `MPI_ROOT`: the caller is the root.
    pub const ROOT: Rank = Rank(u32::MAX);
    /// `MPI_PROC_NULL` as a root: the root is another rank of the caller's group.
    pub const NO_ROOT: Rank = Rank(u32::MAX - 1);

    fn role(&self, root: Rank) -> Role {
        match root {
            Self::ROOT => Role::Root,
            Self::NO_ROOT => Role::Idle,
            Rank(root) => Role::Across(self.other.first + root),
        }
    }

    /// The place of the root that a rank names, where it names one.
    pub(super) fn root(&self, me: Rank, root: Rank) -> Option<Rank> {
        match self.role(root) {
            Role::Root => Some(me),
            Role::Idle => None,
            Role::Across(root) => Some(Rank(root)),
        }
    }

    /// Whether the operation exists between groups.
    pub const fn has(kind: Kind) -> bool {
        !matches!(kind, Kind::Scan | Kind::Exscan)
    }
}

/// The most steps of an operation.
/// Source: the operations of MPICH, as above.
pub(super) const PHASES: u8 = 4;

/// Appends the moves and work of a rank in one round of one step; `barrier` is the algorithm inside each group.
pub(super) fn round(
    barrier: Algorithm,
    (kind, between): (Kind, &Between),
    flat: &Task<'_>,
    at: At,
    round: &mut Round,
) -> bool {
    let one = Place { between, flat, k: at.round };
    match (kind, at.phase) {
        (Kind::Barrier, 0 | 2) => one.inside(barrier, &one.task(), round),
        (Kind::Barrier, 1) => one.tell(round),
        (Kind::Bcast, 0) => one.cross(flat.output, round),
        (Kind::Bcast, 1) => {
            one.is_across() && one.inside(Algorithm::BcastBinomial, &one.task(), round)
        }
        (Kind::Scatter, 0) => one.scatter(round),
        (Kind::Gather, 0) => one.gather(round),
        (Kind::Allgather, phase) => one.allgather(phase, round),
        (Kind::Alltoall, 0) => one.alltoall(round),
        (Kind::Reduce, 0) => one.is_across() && one.reduce(round),
        (Kind::Reduce, 1) => one.collect(round),
        (Kind::Allreduce | Kind::ReduceScatter | Kind::ReduceScatterBlock, 0) => one.reduce(round),
        (Kind::Allreduce, 1) => one.exchange(one.partial(), flat.output, round),
        (Kind::Allreduce, 2) => one.inside(Algorithm::BcastBinomial, &one.task(), round),
        (Kind::ReduceScatter | Kind::ReduceScatterBlock, 1) => {
            one.exchange(one.partial(), one.reduced(), round)
        }
        (Kind::ReduceScatter | Kind::ReduceScatterBlock, 2) => {
            let task = Task { input: one.reduced(), ..one.task() };
            one.inside(Algorithm::ScatterLinear, &task, round)
        }
        _ => false,
    }
}

/// One rank at one place of an operation.
struct Place<'a> {
    between: &'a Between,
    flat: &'a Task<'a>,
    k: u32,
}

impl Place<'_> {
    /// Its task in its own group, whose rank 0 is the root.
    fn task(&self) -> Task<'_> {
        let own = self.between.own;
        Task { rank: self.flat.rank - own.first, size: own.size, root: 0, ..*self.flat }
    }

    /// A round of an algorithm in its own group.
    fn inside(&self, algorithm: Algorithm, task: &Task<'_>, round: &mut Round) -> bool {
        let first = round.moves.len();
        let more = algorithm.round(task, self.k, round);
        round.rename(first, |rank| self.between.own.first + rank);
        more
    }

    fn is_first(&self) -> bool {
        self.flat.rank == self.between.own.first
    }

    fn role(&self) -> Role {
        self.between.role(Rank(self.flat.root))
    }

    fn is_across(&self) -> bool {
        matches!(self.role(), Role::Across(_))
    }

    /// The two ranks 0 tell each other that all of their group are there.
    fn tell(&self, round: &mut Round) -> bool {
        if self.k > 0 || !self.is_first() {
            return false;
        }
        let other = self.between.other.first;
        round.signal(other, 0, self.flat.nothing());
        round.hear(other, 0, self.flat.nothing());
        true
    }

    /// The two ranks 0 exchange what they have.
    fn exchange(&self, from: Region, to: Region, round: &mut Round) -> bool {
        if self.k > 0 || !self.is_first() {
            return false;
        }
        round.send(self.between.other.first, from);
        round.receive(self.between.other.first, to);
        true
    }

    /// From the root to rank 0 of the other group.
    fn cross(&self, region: Region, round: &mut Round) -> bool {
        match self.role() {
            Role::Root if self.k == 0 => round.send(self.between.other.first, region),
            Role::Across(root) if self.k == 0 && self.is_first() => round.receive(root, region),
            Role::Root | Role::Idle | Role::Across(_) => return false,
        }
        true
    }

    /// From rank 0 of the other group to the root.
    fn collect(&self, round: &mut Round) -> bool {
        match self.role() {
            Role::Root if self.k == 0 => {
                round.receive(self.between.other.first, self.flat.output);
            }
            Role::Across(root) if self.k == 0 && self.is_first() => {
                round.send(root, self.partial());
            }
            Role::Root | Role::Idle | Role::Across(_) => return false,
        }
        true
    }

    fn scatter(&self, round: &mut Round) -> bool {
        let (flat, other) = (self.flat, self.between.other);
        match self.role() {
            Role::Root if self.k == 0 => {
                for to in 0..other.size {
                    round.send(other.first + to, flat.sends.of(flat.input, to));
                }
            }
            Role::Across(root) if self.k == 0 => round.receive(root, flat.output),
            Role::Root | Role::Idle | Role::Across(_) => return false,
        }
        true
    }

    fn gather(&self, round: &mut Round) -> bool {
        let (flat, other) = (self.flat, self.between.other);
        match self.role() {
            Role::Root if self.k == 0 => {
                for from in 0..other.size {
                    round.receive(other.first + from, flat.receives.of(flat.output, from));
                }
            }
            Role::Across(root) if self.k == 0 => round.send(root, flat.input),
            Role::Root | Role::Idle | Role::Across(_) => return false,
        }
        true
    }

    /// `sends` are the blocks of the own group, `receives` those of the other one.
    fn allgather(&self, phase: u8, round: &mut Round) -> bool {
        let (flat, Between { own, other }) = (self.flat, *self.between);
        let (given, taken) = (flat.sends.sum(0, own.size), flat.receives.sum(0, other.size));
        let (sends, receives) = (packed(flat.sends, own.size), packed(flat.receives, other.size));
        let apart = receives != *flat.receives;
        let arrives = if apart { flat.room(given, taken) } else { flat.output.part(0, taken) };
        match phase {
            0 => {
                let output = flat.room(0, given);
                let task = Task { output, receives: &sends, ..self.task() };
                self.inside(Algorithm::GatherLinear, &task, round)
            }
            1 => self.exchange(flat.room(0, given), arrives, round),
            2 => {
                let task = Task { output: arrives, ..self.task() };
                self.inside(Algorithm::BcastBinomial, &task, round)
            }
            _ if apart && self.k == 0 => {
                for from in 0..other.size {
                    round.copy(receives.of(arrives, from), flat.receives.of(flat.output, from));
                }
                true
            }
            _ => false,
        }
    }

    fn alltoall(&self, round: &mut Round) -> bool {
        let (flat, Between { own, other }) = (self.flat, *self.between);
        let rounds = own.size.max(other.size);
        if self.k >= rounds {
            return false;
        }
        let me = flat.rank - own.first;
        let (to, from) = ((me + self.k) % rounds, (me + rounds - self.k) % rounds);
        if to < other.size {
            round.send(other.first + to, flat.sends.of(flat.input, to));
        }
        if from < other.size {
            round.receive(other.first + from, flat.receives.of(flat.output, from));
        }
        true
    }

    /// Where rank 0 has what its group has combined.
    fn partial(&self) -> Region {
        self.flat.room(0, self.flat.input.len)
    }

    /// Where rank 0 has what the other group has combined.
    fn reduced(&self) -> Region {
        let len = self.flat.input.len;
        self.flat.room(len, len)
    }

    /// The own group combines what it gives.
    fn reduce(&self, round: &mut Round) -> bool {
        let output = self.partial();
        let scratch = self.flat.room(output.len, 0);
        let task = Task { output, scratch, ..self.task() };
        self.inside(Algorithm::ReduceBinomial, &task, round)
    }
}

/// The same blocks one after the other.
fn packed(blocks: &Blocks, size: u32) -> Blocks {
    match blocks {
        Blocks::Equal(len) => Blocks::Equal(*len),
        Blocks::List(_) => {
            let lengths: Vec<u64> = (0..size).map(|rank| blocks.at(rank).len).collect();
            Blocks::packed(&lengths)
        }
    }
}
