//! A collective operation as a program calls it.

use std::sync::Arc;

use super::algorithms::{alltoall_scattered, bcast_pipelined_ring};
use super::between::{self, Between};
use super::hierarchy::{self, Units};
use super::neighbourhood;
use super::selection::{Facts, Rule, Selection};
use super::task::functions;
use super::typed::{Side, TypedBlocks};
use super::{Algorithm, At, Blocks, Functions, Kind, Needs, Round, Task};
use calls::arguments::Comm;
use calls::space::{Region, Space};
use calls::typed::Elements;
use mpi::envelope::Rank;
use mpi::operator::Reduction;
use mpi::topology::Neighbours;

/// A collective operation with its arguments: what `Call::Collective` carries.
///
/// It names no rank of its own, so that ranks with the same arguments share one.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Collective {
    /// The communicator.
    pub comm: Comm,
    /// Kind of operation.
    pub kind: Kind,
    /// How.
    pub algorithm: Algorithm,
    /// Groups of ranks that combine among themselves first; `None`: all are alike.
    pub units: Option<Arc<Units>>,
    /// The root, where there is one; between two groups see [`Between::ROOT`] and [`Between::NO_ROOT`].
    pub root: Rank,
    /// The two groups of an intercommunicator: the library puts them in when it is called.
    pub between: Option<Between>,
    /// The neighbours with whom a rank exchanges blocks, where it does so: the library puts them in, in
    /// place of as many.
    pub neighbours: Option<Neighbours>,
    /// Whether what this rank gives lies where its result goes (`MPI_IN_PLACE`): see
    /// [`Self::at_its_place`].
    pub in_place: bool,
    /// Contribution of a rank; unused in a barrier and in a broadcast.
    pub input: Region,
    /// Where the result goes; what a broadcast sends, too.
    pub output: Region,
    /// The blocks of `input`, where it has some.
    pub sends: Blocks,
    /// The blocks of `output`, where it has some.
    pub receives: Blocks,
    /// The datatypes of the blocks, where each has its own.
    pub typed: Option<Box<TypedBlocks>>,
    /// Whether the program calls it by the name for blocks of several datatypes (`MPI_Alltoallw`) and has made bytes of
    /// them.
    pub of_types: bool,
    /// The operator, where elements are combined.
    pub reduction: Option<Reduction>,
    /// Bytes of a segment, where the algorithm cuts messages; at least 1.
    pub segment: u64,
    /// Pairs of messages under way at once, where the algorithm limits them; at least 1.
    pub outstanding: u32,
    /// The rules that chose its algorithm, and choose again where its arguments change.
    pub selection: Option<Arc<Selection>>,
}

calls::fields_of!(Collective { comm as Over, input as Input, output as Output });

/// Why an algorithm, or a hierarchy, does not fit an operation.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Unfit {
    /// It is for another operation.
    #[error("the algorithm is for `{}`, not for `{}`", algorithm.name(), operation.name())]
    Kind {
        /// Operation that the algorithm performs.
        algorithm: Kind,
        /// Operation that is called.
        operation: Kind,
    },
    /// It needs blocks of one size.
    #[error("the algorithm needs blocks of one size: inner ranks do not know the others' counts")]
    Blocks,
    /// It needs an operator that commutes.
    #[error("the algorithm needs an operator that commutes")]
    Order,
    /// There is no hierarchical version.
    #[error("there is no hierarchical version of `{}`; `bcast`, `reduce`, `allreduce` and `barrier` have one", .0.name())]
    NoHierarchy(Kind),
    /// Its units are not whole stretches of ranks, and the operator does not commute.
    #[error("an operator that does not commute needs units of consecutive ranks")]
    ScatteredUnits,
}

const NOTHING: Region = Region::new(Space::User(0), 0);

impl Collective {
    /// An operation with no buffers yet, by the default algorithm of its kind.
    fn new(comm: Comm, kind: Kind) -> Self {
        Self {
            comm,
            kind,
            algorithm: kind.default_algorithm(),
            units: None,
            root: Rank(0),
            between: None,
            neighbours: None,
            in_place: false,
            input: NOTHING,
            output: NOTHING,
            sends: Blocks::Equal(0),
            receives: Blocks::Equal(0),
            typed: None,
            of_types: false,
            reduction: None,
            segment: bcast_pipelined_ring::SEGMENT,
            outstanding: alltoall_scattered::OUTSTANDING,
            selection: None,
        }
    }

    /// `MPI_Barrier`.
    pub fn barrier(comm: Comm) -> Self {
        Self::new(comm, Kind::Barrier)
    }

    /// `MPI_Bcast`.
    pub fn bcast(comm: Comm, root: Rank, buffer: Region) -> Self {
        Self { root, output: buffer, ..Self::new(comm, Kind::Bcast) }
    }

    /// `MPI_Scatter` and `MPI_Scatterv`: `blocks` of the root's `input`; `output` has room for one.
    pub fn scatter(comm: Comm, root: Rank, input: Region, blocks: Blocks, output: Region) -> Self {
        Self { root, input, output, sends: blocks, ..Self::new(comm, Kind::Scatter) }
    }

    /// `MPI_Gather` and `MPI_Gatherv`: `blocks` of the root's `output`; `input` is one of them.
    pub fn gather(comm: Comm, root: Rank, input: Region, output: Region, blocks: Blocks) -> Self {
        Self { root, input, output, receives: blocks, ..Self::new(comm, Kind::Gather) }
    }

    /// `MPI_Allgather` and `MPI_Allgatherv`: `input` is one of the blocks.
    pub fn allgather(comm: Comm, input: Region, output: Region, blocks: Blocks) -> Self {
        Self { input, output, receives: blocks, ..Self::new(comm, Kind::Allgather) }
    }

    /// `MPI_Reduce`.
    pub fn reduce(
        comm: Comm,
        root: Rank,
        input: Region,
        output: Region,
        reduction: Reduction,
    ) -> Self {
        let reduction = Some(reduction);
        Self { root, input, output, reduction, ..Self::new(comm, Kind::Reduce) }
    }

    /// `MPI_Allreduce`.
    pub fn allreduce(comm: Comm, input: Region, output: Region, reduction: Reduction) -> Self {
        let reduction = Some(reduction);
        Self { input, output, reduction, ..Self::new(comm, Kind::Allreduce) }
    }

    /// `MPI_Reduce_scatter`, and `MPI_Reduce_scatter_block` where the blocks are equal: `blocks`
    /// of the `input`; `output` has room for one.
    pub fn reduce_scatter(
        comm: Comm,
        input: Region,
        output: Region,
        blocks: Blocks,
        reduction: Reduction,
    ) -> Self {
        let kind = if blocks.are_equal() { Kind::ReduceScatterBlock } else { Kind::ReduceScatter };
        let reduction = Some(reduction);
        Self { input, output, sends: blocks, reduction, ..Self::new(comm, kind) }
    }

    /// `MPI_Alltoall` and `MPI_Alltoallv`.
    pub fn alltoall(
        comm: Comm,
        (input, sends): (Region, Blocks),
        (output, receives): (Region, Blocks),
    ) -> Self {
        Self { input, output, sends, receives, ..Self::new(comm, Kind::Alltoall) }
    }

    /// `MPI_Alltoallw`: blocks of both buffers by rank, each where its elements lie.
    pub fn alltoallw(
        comm: Comm,
        [input, output]: [Space; 2],
        [given, taken]: [Arc<[Arc<Elements>]>; 2],
    ) -> Self {
        let (given, taken) = (Side::of(given), Side::of(taken));
        let (input, output) = (Region::new(input, given.bytes), Region::new(output, taken.bytes));
        let (sends, receives) = (given.blocks.clone(), taken.blocks.clone());
        let typed = Some(Box::new(TypedBlocks::new(given, taken)));
        Self { typed, ..Self::alltoall(comm, (input, sends), (output, receives)) }
    }

    /// The same among neighbours: `MPI_Neighbor_alltoallw` with as many as there are blocks.
    #[must_use]
    pub fn among_neighbours(self) -> Self {
        let count = |blocks: &Blocks| if let Blocks::List(list) = blocks { list.len() } else { 0 };
        let neighbours = Some(Neighbours::places([count(&self.receives), count(&self.sends)]));
        Self { neighbours, ..self }
    }

    /// `MPI_Neighbor_allgather` and its form with a list, with so many sources and destinations.
    pub fn neighbour_allgather(
        comm: Comm,
        input: Region,
        (output, receives): (Region, Blocks),
        degrees: [usize; 2],
    ) -> Self {
        let neighbours = Some(Neighbours::places(degrees));
        Self { neighbours, ..Self::allgather(comm, input, output, receives) }
    }

    /// `MPI_Neighbor_alltoall` and its form with lists, with so many sources and destinations.
    pub fn neighbour_alltoall(
        comm: Comm,
        given: (Region, Blocks),
        taken: (Region, Blocks),
        degrees: [usize; 2],
    ) -> Self {
        let neighbours = Some(Neighbours::places(degrees));
        Self { neighbours, ..Self::alltoall(comm, given, taken) }
    }

    /// `MPI_Scan`.
    pub fn scan(comm: Comm, input: Region, output: Region, reduction: Reduction) -> Self {
        let reduction = Some(reduction);
        Self { input, output, reduction, ..Self::new(comm, Kind::Scan) }
    }

    /// `MPI_Exscan`; the output of rank 0 stays as it is.
    pub fn exscan(comm: Comm, input: Region, output: Region, reduction: Reduction) -> Self {
        Self { kind: Kind::Exscan, ..Self::scan(comm, input, output, reduction) }
            .with_default_algorithm()
    }

    fn with_default_algorithm(self) -> Self {
        Self { algorithm: self.kind.default_algorithm(), ..self }
    }

    /// The same by another algorithm.
    ///
    /// # Errors
    ///
    /// [`Unfit`] where the algorithm cannot do this operation.
    pub fn by(self, algorithm: Algorithm) -> Result<Self, Unfit> {
        if algorithm.kind() != self.kind {
            return Err(Unfit::Kind { algorithm: algorithm.kind(), operation: self.kind });
        }
        match algorithm.needs() {
            Needs::EqualBlocks if !(self.sends.are_equal() && self.receives.are_equal()) => {
                Err(Unfit::Blocks)
            }
            Needs::Commuting if !self.commutes() => Err(Unfit::Order),
            Needs::Nothing | Needs::EqualBlocks | Needs::Commuting => {
                Ok(Self { algorithm, ..self })
            }
        }
    }

    /// The same in three steps: inside each unit, among the units' leaders, inside each unit.
    ///
    /// # Errors
    ///
    /// [`Unfit`] where there is no such version of the operation.
    pub fn over(self, units: Arc<Units>) -> Result<Self, Unfit> {
        if hierarchy::phases(self.kind).is_none() {
            return Err(Unfit::NoHierarchy(self.kind));
        }
        if !self.commutes() && !units.are_contiguous() {
            return Err(Unfit::ScatteredUnits);
        }
        Ok(Self { units: Some(units), ..self })
    }

    /// The same by the first of some rules that fits, which it keeps.
    pub fn selecting(self, selection: Arc<Selection>) -> Self {
        Self { selection: Some(selection), ..self }.chosen_again()
    }

    /// The same, where its rules have looked at its arguments again.
    pub fn chosen_again(self) -> Self {
        let chosen = self.selection.as_ref().and_then(|selection| self.chosen_by(selection));
        chosen.map_or(self, |(_, chosen)| chosen)
    }

    /// The number of the first rule that fits, and the call by it.
    pub fn chosen_by(&self, selection: &Selection) -> Option<(usize, Self)> {
        let facts = self.facts(selection.ranks, selection.ranks_per_node);
        let by = |rule: &Rule| {
            let flat = Self { units: None, ..self.clone() }.by(rule.algorithm).ok()?;
            let call = match &rule.units {
                Some(units) => flat.over(Arc::clone(units)).ok()?,
                None => flat,
            };
            let (segment, outstanding) = (rule.segment, rule.outstanding);
            Some(Self { segment, outstanding, ..call })
        };
        let mut rules = selection.rules.iter().enumerate();
        rules.find_map(
            |(number, rule)| {
                if rule.bounds.hold(&facts) { Some((number, by(rule)?)) } else { None }
            },
        )
    }

    /// Facts of the call that all of so many ranks know: rules look at them, and the ranks must choose alike.
    ///
    /// | fact | why it is the same at all ranks |
    /// |---|---|
    /// | `bytes` of a broadcast | all ranks give a buffer of one length |
    /// | of a reduction or scan | all give vectors of one length; a vector in place is known once [`Self::at_its_place`] has put it into the call |
    /// | of equal blocks | the block that a rank gives is as long as the one that the others know for it: of a scatter and a gather the root says it, and each other rank knows its own block |
    /// | of lists | `None`: of a list (v-forms, `MPI_Alltoallw`, `MPI_Reduce_scatter`) the blocks differ, and of most each rank knows its own only |
    /// | `total` of an allgather and a reduce-scatter | all ranks give the same list |
    /// | of other lists | `None`, as `bytes` |
    /// | `elements` | `total`, by the width of the one type that all ranks give |
    /// | `ranks`, `ranks_per_node` | those of the communicator, whose group all ranks have |
    /// | `commutative` | a property of the one operator that all ranks give |
    ///
    /// A rule's choice is the rule's own (`segment`, `outstanding`), or comes from the group again (`over`). An
    /// algorithm that does not fit ([`Self::by`], [`Self::over`]) fits nowhere: that depends on the operator, on
    /// whether blocks are lists, and on the group. [`Self::arguments`] tells all of it, so that the ranks are compared.
    pub fn facts(&self, ranks: u32, ranks_per_node: u32) -> Facts {
        let bytes = self.bytes_of_each();
        let total = match self.kind {
            Kind::Allgather => Some(self.receives.sum(0, ranks)),
            Kind::ReduceScatter | Kind::ReduceScatterBlock => Some(self.sends.sum(0, ranks)),
            Kind::Scatter | Kind::Gather | Kind::Alltoall => {
                bytes.map(|bytes| bytes * u64::from(ranks))
            }
            Kind::Barrier
            | Kind::Bcast
            | Kind::Reduce
            | Kind::Allreduce
            | Kind::Scan
            | Kind::Exscan => bytes,
        };
        let width = self.reduction.map(Reduction::width);
        let elements = width.and_then(|width| Some(total? / width));
        let commutative = self.commutes();
        Facts { bytes, total, elements, ranks, ranks_per_node, commutative }
    }

    /// Whether its operator, if it has one, commutes.
    pub fn commutes(&self) -> bool {
        self.reduction.is_none_or(Reduction::commutes)
    }

    /// The algorithms that can do this operation, the default among them.
    pub fn algorithms(&self) -> impl Iterator<Item = Algorithm> {
        Algorithm::of(self.kind).filter(|algorithm| self.clone().by(*algorithm).is_ok())
    }

    pub(super) fn has_lists(&self) -> bool {
        !(self.sends.are_equal() && self.receives.are_equal())
    }

    /// The names of its MPI functions.
    pub fn functions(&self) -> Functions {
        let near = self.neighbours.is_some();
        let of_types = self.of_types || self.typed.is_some();
        match (self.has_lists(), self.kind) {
            (false, Kind::Allgather) if near => {
                functions!("Neighbor_allgather", "neighbor_allgather")
            }
            (true, Kind::Allgather) if near => {
                functions!("Neighbor_allgatherv", "neighbor_allgatherv")
            }
            (false, Kind::Alltoall) if near => functions!("Neighbor_alltoall", "neighbor_alltoall"),
            (_, Kind::Alltoall) if near && of_types => {
                functions!("Neighbor_alltoallw", "neighbor_alltoallw")
            }
            (_, Kind::Alltoall) if of_types => functions!("Alltoallw", "alltoallw"),
            (true, Kind::Alltoall) if near => {
                functions!("Neighbor_alltoallv", "neighbor_alltoallv")
            }
            (true, Kind::Scatter) => functions!("Scatterv", "scatterv"),
            (true, Kind::Gather) => functions!("Gatherv", "gatherv"),
            (true, Kind::Allgather) => functions!("Allgatherv", "allgatherv"),
            (true, Kind::Alltoall) => functions!("Alltoallv", "alltoallv"),
            (_, kind) => kind.functions(),
        }
    }

    /// The name of the MPI function that waits for it.
    pub fn function(&self) -> &'static str {
        self.functions().waits
    }

    /// Bytes of each rank, or of each of its blocks; `None` where they may differ.
    pub(super) fn bytes_of_each(&self) -> Option<u64> {
        let equal = |blocks: &Blocks| {
            if let Blocks::Equal(len) = blocks { Some(*len) } else { None }
        };
        match self.kind {
            Kind::Barrier | Kind::ReduceScatter => None,
            // Each group has its own, and so have two neighbours.
            Kind::Allgather | Kind::Alltoall | Kind::ReduceScatterBlock
                if self.between.is_some() || self.neighbours.is_some() =>
            {
                None
            }
            Kind::Reduce if self.root == Between::ROOT => Some(self.output.len),
            Kind::Bcast => Some(self.output.len),
            Kind::Reduce | Kind::Allreduce | Kind::Scan | Kind::Exscan => Some(self.input.len),
            Kind::Scatter | Kind::ReduceScatterBlock | Kind::Alltoall => equal(&self.sends),
            Kind::Gather | Kind::Allgather => equal(&self.receives),
        }
    }

    /// The buffers that it uses: what is only read, then what may be written.
    pub fn buffers(&self) -> [Option<Region>; 2] {
        if self.in_place {
            return self.buffers_in_place();
        }
        if let Some(buffers) = self.typed.as_ref().and_then(|typed| typed.buffers()) {
            return buffers.map(Some);
        }
        match self.kind {
            Kind::Barrier => [None, None],
            Kind::Bcast => [None, Some(self.output)],
            Kind::Scatter
            | Kind::Gather
            | Kind::Allgather
            | Kind::Reduce
            | Kind::Allreduce
            | Kind::ReduceScatter
            | Kind::ReduceScatterBlock
            | Kind::Alltoall
            | Kind::Scan
            | Kind::Exscan => [Some(self.input), Some(self.output)],
        }
    }

    fn buffers_in_place(&self) -> [Option<Region>; 2] {
        match self.kind {
            Kind::Scatter => [Some(self.input), None],
            Kind::ReduceScatter | Kind::ReduceScatterBlock => [None, Some(self.whole())],
            Kind::Barrier
            | Kind::Bcast
            | Kind::Gather
            | Kind::Allgather
            | Kind::Reduce
            | Kind::Allreduce
            | Kind::Alltoall
            | Kind::Scan
            | Kind::Exscan => [None, Some(self.output)],
        }
    }

    /// The vector that lies where its reduced block goes.
    fn whole(&self) -> Region {
        let blocks = if let Blocks::List(list) = &self.sends { list.len() } else { 0 };
        let len = match self.sends {
            Blocks::Equal(_) => self.input.len,
            Blocks::List(_) => self.sends.extent(u32::try_from(blocks).unwrap_or(u32::MAX)),
        };
        Region { len, ..self.output }
    }

    /// How many phases it has.
    pub fn phases(&self) -> u8 {
        if self.between.is_some() {
            return between::PHASES;
        }
        if self.units.is_some() { hierarchy::phases(self.kind).unwrap_or(1) } else { 1 }
    }

    /// Appends to `round` the moves and work of `rank` of `size` at one place of the operation; false where the phase
    /// has no such round. Scratch space begins with `scratch` and has no end.
    pub fn round(
        &self,
        (rank, size): (u32, u32),
        scratch: Space,
        at: At,
        round: &mut Round,
    ) -> bool {
        let task = Task {
            rank,
            size,
            root: self.root.0,
            input: self.input,
            output: self.output,
            scratch: Region::new(scratch, 0),
            sends: &self.sends,
            receives: &self.receives,
            reduction: self.reduction,
            segment: self.segment,
            outstanding: self.outstanding,
        };
        if let Some(neighbours) = &self.neighbours {
            return neighbourhood::round(self.kind, neighbours, &task, at.round, round);
        }
        match (&self.between, &self.units) {
            (Some(between), _) => {
                between::round(self.algorithm, (self.kind, between), &task, at, round)
            }
            (None, None) => self.algorithm.round(&task, at.round, round),
            (None, Some(units)) => hierarchy::round(self, units, &task, at, round),
        }
    }
}
