//! The algorithms of collectives by their published names: a file and two lines for each.

mod allgather_recursive_doubling;
mod allgather_ring;
mod allreduce_recursive_doubling;
mod allreduce_reduce_scatter_allgather;
mod alltoall_linear;
mod alltoall_pairwise;
mod barrier;
mod bcast_binomial;
pub(super) mod bcast_pipelined_ring;
mod fold;
mod gather_binomial;
mod gather_linear;
mod reduce_binomial;
mod reduce_reduce_scatter_gather;
mod reduce_reduce_scatter_linear_gather;
mod reduce_scatter_halving;
mod reduce_scatter_pairwise;
mod scan_linear;
mod scan_recursive_doubling;
mod scatter_binomial;
mod scatter_linear;
mod tree;

use super::{Kind, Round, Task};

/// What an algorithm asks for beyond its kind of operation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// Blocks of one size, at equal distances: inner ranks do not know the others' counts.
    EqualBlocks,
    /// An operator that commutes.
    Commuting,
}

/// Generates the names and the dispatch over all algorithms.
macro_rules! algorithms {
    ($($(#[$doc:meta])* $name:ident => $module:ident::$round:ident, $kind:ident, $label:literal, needs: $needs:ident;)*) => {
        /// An algorithm, by the operation and its published name.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        pub enum Algorithm {
            $($(#[$doc])* $name,)*
        }

        impl Algorithm {
            /// Every algorithm, in the order of the registry: the first of a kind is its default.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name that scenarios use; algorithms of different kinds may share one.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }

            /// The operation that it carries out.
            pub const fn kind(self) -> Kind {
                match self { $(Self::$name => Kind::$kind,)* }
            }

            /// What it asks for beyond that.
            pub const fn needs(self) -> Needs {
                match self { $(Self::$name => Needs::$needs,)* }
            }

            /// What a rank does in round `k`, appended to `round`; false after the last round.
            pub fn round(self, task: &Task<'_>, k: u32, round: &mut Round) -> bool {
                match self { $(Self::$name => $module::$round(task, k, round),)* }
            }
        }
    };
}

algorithms! {
    /// In round k everybody tells rank + 2^k and hears from rank - 2^k.
    BarrierDissemination => barrier::round, Barrier, "dissemination", needs: Nothing;
    /// Down a binomial tree.
    BcastBinomial => bcast_binomial::round, Bcast, "binomial", needs: Nothing;
    /// Segment by segment along a chain.
    BcastPipelinedRing => bcast_pipelined_ring::round, Bcast, "pipelined_ring", needs: Nothing;
    /// Down a binomial tree, halving what is carried.
    ScatterBinomial => scatter_binomial::round, Scatter, "binomial", needs: EqualBlocks;
    /// The root sends to each.
    ScatterLinear => scatter_linear::round, Scatter, "linear", needs: Nothing;
    /// Up a binomial tree.
    GatherBinomial => gather_binomial::round, Gather, "binomial", needs: EqualBlocks;
    /// Everybody sends to the root.
    GatherLinear => gather_linear::round, Gather, "linear", needs: Nothing;
    /// Each block goes round a ring.
    AllgatherRing => allgather_ring::round, Allgather, "ring", needs: Nothing;
    /// Partners at doubling distance exchange all they have.
    AllgatherRecursiveDoubling => allgather_recursive_doubling::round, Allgather, "recursive_doubling", needs: Nothing;
    /// Up a binomial tree, in rank order where the operator asks for it.
    ReduceBinomial => reduce_binomial::round, Reduce, "binomial", needs: Nothing;
    /// Rabenseifner: halves are combined, then gathered.
    ReduceReduceScatterGather => reduce_reduce_scatter_gather::round, Reduce, "reduce_scatter_gather", needs: Nothing;
    /// The same, where everybody sends its part to the root.
    ReduceReduceScatterLinearGather => reduce_reduce_scatter_linear_gather::round, Reduce, "reduce_scatter_linear_gather", needs: Nothing;
    /// Partners at doubling distance exchange and combine whole vectors.
    AllreduceRecursiveDoubling => allreduce_recursive_doubling::round, Allreduce, "recursive_doubling", needs: Nothing;
    /// Rabenseifner: halves are combined, then collected.
    AllreduceReduceScatterAllgather => allreduce_reduce_scatter_allgather::round, Allreduce, "reduce_scatter_allgather", needs: Nothing;
    /// Halves of what is left go to partners at doubling distance.
    ReduceScatterHalving => reduce_scatter_halving::round, ReduceScatter, "halving", needs: Nothing;
    /// Each pair exchanges its blocks in a round of its own.
    ReduceScatterPairwise => reduce_scatter_pairwise::round, ReduceScatter, "pairwise", needs: Commuting;
    /// The same with blocks of one size.
    ReduceScatterBlockHalving => reduce_scatter_halving::round, ReduceScatterBlock, "halving", needs: Nothing;
    /// The same with blocks of one size.
    ReduceScatterBlockPairwise => reduce_scatter_pairwise::round, ReduceScatterBlock, "pairwise", needs: Commuting;
    /// Each pair exchanges its blocks in a round of its own.
    AlltoallPairwise => alltoall_pairwise::round, Alltoall, "pairwise", needs: Nothing;
    /// All messages at once.
    AlltoallLinear => alltoall_linear::round, Alltoall, "linear", needs: Nothing;
    /// Partners at doubling distance exchange what they have combined.
    ScanRecursiveDoubling => scan_recursive_doubling::inclusive, Scan, "recursive_doubling", needs: Nothing;
    /// From rank to rank.
    ScanLinear => scan_linear::inclusive, Scan, "linear", needs: Nothing;
    /// Partners at doubling distance exchange what they have combined.
    ExscanRecursiveDoubling => scan_recursive_doubling::exclusive, Exscan, "recursive_doubling", needs: Nothing;
    /// From rank to rank.
    ExscanLinear => scan_linear::exclusive, Exscan, "linear", needs: Nothing;
}

impl Algorithm {
    /// The algorithms of one kind, the default first.
    pub fn of(kind: Kind) -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(move |algorithm| algorithm.kind() == kind)
    }

    /// The algorithm of one kind with this name.
    pub fn named(kind: Kind, name: &str) -> Option<Self> {
        Self::of(kind).find(|algorithm| algorithm.name() == name)
    }
}

impl Kind {
    /// The algorithm where none is named.
    ///
    /// # Panics
    ///
    /// Never: every kind has one that asks for nothing.
    pub fn default_algorithm(self) -> Algorithm {
        let mut fitting = Algorithm::of(self).filter(|one| one.needs() == Needs::Nothing);
        fitting.next().expect("every kind has an algorithm for everything")
    }
}
