//! The algorithms of collectives by their published names: a file and two lines for each.

mod all;
mod allgather_bruck;
mod allgather_neighbour_exchange;
mod allgather_recursive_doubling;
mod allgather_ring;
mod allreduce_recursive_doubling;
mod allreduce_reduce_bcast;
mod allreduce_reduce_scatter_allgather;
mod allreduce_ring;
mod alltoall_bruck;
mod alltoall_linear;
mod alltoall_pairwise;
pub(super) mod alltoall_scattered;
mod barrier;
pub(super) mod barrier_linear;
mod barrier_recursive_doubling;
mod barrier_tree;
mod bcast_binary_tree;
mod bcast_binomial;
mod bcast_chain;
mod bcast_knomial;
mod bcast_linear;
pub(super) mod bcast_pipelined_ring;
mod bcast_scatter;
mod bcast_scatter_recursive_doubling_allgather;
mod bcast_scatter_ring_allgather;
mod doubling;
mod fold;
mod gather_binomial;
mod gather_linear;
mod parts;
mod pipeline;
mod reduce_binary_tree;
mod reduce_binomial;
mod reduce_linear;
mod reduce_pipelined_ring;
mod reduce_reduce_scatter_gather;
mod reduce_reduce_scatter_linear_gather;
mod reduce_scatter_halving;
mod reduce_scatter_pairwise;
mod reduce_scatter_ring;
mod ring;
mod scan_linear;
mod scan_recursive_doubling;
mod scatter_binomial;
mod scatter_linear;
mod tree;

use super::{Kind, Round, Task};

/// The needs of an algorithm beyond its kind of operation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// Blocks of one size, at equal distances: inner ranks do not know the others' counts.
    EqualBlocks,
    /// An operator that commutes.
    Commuting,
}

/// Generates the names and the dispatch over all algorithms: name, function of a round, kind, word of scenarios,
/// needs, and the meaning of the word.
macro_rules! algorithms {
    ($(
        $name:ident => $module:ident::$round:ident, $kind:ident, $label:literal, needs: $needs:ident,
            $about:literal;
    )*) => {
        /// An algorithm, by the operation and its published name.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        pub enum Algorithm {
            $(#[doc = $about] $name,)*
        }

        impl Algorithm {
            /// Every algorithm, in the order of the registry: the first of a kind is its default.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name that scenarios use; algorithms of different kinds may share one.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }

            /// The word of scenarios, with its meaning.
            const fn word(self) -> (&'static str, &'static str) {
                match self { $(Self::$name => ($label, $about),)* }
            }

            /// The operation that it carries out.
            pub const fn kind(self) -> Kind {
                match self { $(Self::$name => Kind::$kind,)* }
            }

            /// Its needs beyond that.
            pub const fn needs(self) -> Needs {
                match self { $(Self::$name => Needs::$needs,)* }
            }

            /// Appends the moves and the work of a rank in round `k` to `round`; false after the last round.
            pub fn round(self, task: &Task<'_>, k: u32, round: &mut Round) -> bool {
                match self { $(Self::$name => $module::$round(task, k, round),)* }
            }
        }
    };
}

algorithms! {
    BarrierDissemination => barrier::round, Barrier, "dissemination", needs: Nothing,
        "each rank notifies the one at distance 1, 2, 4, ...";
    BarrierRecursiveDoubling => barrier_recursive_doubling::round, Barrier, "recursive_doubling", needs: Nothing,
        "partners at distance 1, 2, 4, ... tell each other";
    BarrierTree => barrier_tree::round, Barrier, "tree", needs: Nothing,
        "up and down a binomial tree";
    BarrierLinear => barrier_linear::round, Barrier, "linear", needs: Nothing,
        "all ranks tell rank 0, and it tells all";
    BcastBinomial => bcast_binomial::round, Bcast, "binomial", needs: Nothing,
        "down a binomial tree";
    BcastPipelinedRing => bcast_pipelined_ring::round, Bcast, "pipelined_ring", needs: Nothing,
        "in segments along a chain";
    BcastChain => bcast_chain::round, Bcast, "chain", needs: Nothing,
        "in segments along four chains";
    BcastBinaryTree => bcast_binary_tree::round, Bcast, "binary_tree", needs: Nothing,
        "in segments down a binary tree";
    BcastScatterRecursiveDoublingAllgather => bcast_scatter_recursive_doubling_allgather::round, Bcast, "scatter_recursive_doubling_allgather", needs: Nothing,
        "parts are scattered, then collected by recursive doubling";
    BcastScatterRingAllgather => bcast_scatter_ring_allgather::round, Bcast, "scatter_ring_allgather", needs: Nothing,
        "parts are scattered, then collected round a ring (van de Geijn)";
    BcastKnomial => bcast_knomial::round, Bcast, "knomial", needs: Nothing,
        "in segments down a tree of radix 4";
    BcastLinear => bcast_linear::round, Bcast, "linear", needs: Nothing,
        "the root sends to each, all at once";
    ScatterBinomial => scatter_binomial::round, Scatter, "binomial", needs: EqualBlocks,
        "down a binomial tree, halving what is carried";
    ScatterLinear => scatter_linear::round, Scatter, "linear", needs: Nothing,
        "the root sends to each";
    GatherBinomial => gather_binomial::round, Gather, "binomial", needs: EqualBlocks,
        "up a binomial tree";
    GatherLinear => gather_linear::round, Gather, "linear", needs: Nothing,
        "each rank sends to the root";
    AllgatherRing => allgather_ring::round, Allgather, "ring", needs: Nothing,
        "each block goes round a ring";
    AllgatherRecursiveDoubling => allgather_recursive_doubling::round, Allgather, "recursive_doubling", needs: Nothing,
        "partners at distance 1, 2, 4, ... exchange all they have";
    AllgatherBruck => allgather_bruck::round, Allgather, "bruck", needs: Nothing,
        "all blocks of a rank go to the ranks at distance 1, 2, 4, ... before it";
    AllgatherNeighbourExchange => allgather_neighbour_exchange::round, Allgather, "neighbour_exchange", needs: Nothing,
        "two blocks at a time go to both neighbours in turn; among an odd number of ranks as `ring`";
    ReduceBinomial => reduce_binomial::round, Reduce, "binomial", needs: Nothing,
        "up a binomial tree, in the order of ranks where it matters";
    ReduceReduceScatterGather => reduce_reduce_scatter_gather::round, Reduce, "reduce_scatter_gather", needs: Nothing,
        "halves are combined, then gathered (Rabenseifner)";
    ReduceReduceScatterLinearGather => reduce_reduce_scatter_linear_gather::round, Reduce, "reduce_scatter_linear_gather", needs: Nothing,
        "the same, and each rank sends its part to the root";
    ReducePipelinedRing => reduce_pipelined_ring::round, Reduce, "pipelined_ring", needs: Commuting,
        "in segments along a chain; the operator must commute";
    ReduceBinaryTree => reduce_binary_tree::round, Reduce, "binary_tree", needs: Commuting,
        "in segments up a binary tree; the operator must commute";
    ReduceLinear => reduce_linear::round, Reduce, "linear", needs: Nothing,
        "each rank sends to the root, which combines one after the other";
    AllreduceRecursiveDoubling => allreduce_recursive_doubling::round, Allreduce, "recursive_doubling", needs: Nothing,
        "partners at distance 1, 2, 4, ... exchange whole vectors";
    AllreduceReduceScatterAllgather => allreduce_reduce_scatter_allgather::round, Allreduce, "reduce_scatter_allgather", needs: Nothing,
        "halves are combined, then collected (Rabenseifner)";
    AllreduceRing => allreduce_ring::round, Allreduce, "ring", needs: Commuting,
        "parts are combined round a ring, then collected round it; the operator must commute";
    AllreduceReduceBcast => allreduce_reduce_bcast::round, Allreduce, "reduce_bcast", needs: Nothing,
        "a reduction to rank 0, then a broadcast, both on binomial trees";
    ReduceScatterHalving => reduce_scatter_halving::round, ReduceScatter, "halving", needs: Nothing,
        "halves of what is left go to partners at distance 1, 2, 4, ...";
    ReduceScatterPairwise => reduce_scatter_pairwise::round, ReduceScatter, "pairwise", needs: Commuting,
        "each pair exchanges its blocks; the operator must commute";
    ReduceScatterRing => reduce_scatter_ring::round, ReduceScatter, "ring", needs: Commuting,
        "each block is combined round a ring; the operator must commute";
    ReduceScatterBlockHalving => reduce_scatter_halving::round, ReduceScatterBlock, "halving", needs: Nothing,
        "halves of what is left go to partners at distance 1, 2, 4, ...";
    ReduceScatterBlockPairwise => reduce_scatter_pairwise::round, ReduceScatterBlock, "pairwise", needs: Commuting,
        "each pair exchanges its blocks; the operator must commute";
    ReduceScatterBlockRing => reduce_scatter_ring::round, ReduceScatterBlock, "ring", needs: Commuting,
        "each block is combined round a ring; the operator must commute";
    AlltoallPairwise => alltoall_pairwise::round, Alltoall, "pairwise", needs: Nothing,
        "each pair exchanges its blocks in a round of its own";
    AlltoallLinear => alltoall_linear::round, Alltoall, "linear", needs: Nothing,
        "all messages at once";
    AlltoallScattered => alltoall_scattered::round, Alltoall, "scattered", needs: Nothing,
        "a limited number of messages at once";
    AlltoallBruck => alltoall_bruck::round, Alltoall, "bruck", needs: EqualBlocks,
        "blocks travel in powers of two, together; blocks of one size";
    ScanRecursiveDoubling => scan_recursive_doubling::inclusive, Scan, "recursive_doubling", needs: Nothing,
        "partners at distance 1, 2, 4, ... exchange what they have combined";
    ScanLinear => scan_linear::inclusive, Scan, "linear", needs: Nothing,
        "from rank to rank";
    ExscanRecursiveDoubling => scan_recursive_doubling::exclusive, Exscan, "recursive_doubling", needs: Nothing,
        "partners at distance 1, 2, 4, ... exchange what they have combined";
    ExscanLinear => scan_linear::exclusive, Exscan, "linear", needs: Nothing,
        "from rank to rank";
}

impl Algorithm {
    /// Those that cut the message into segments.
    const IN_SEGMENTS: [Self; 6] = [
        Self::BcastPipelinedRing,
        Self::BcastChain,
        Self::BcastBinaryTree,
        Self::BcastKnomial,
        Self::ReducePipelinedRing,
        Self::ReduceBinaryTree,
    ];

    /// Whether it cuts the message into segments.
    pub fn has_segments(self) -> bool {
        Self::IN_SEGMENTS.contains(&self)
    }

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
    /// The words of its algorithms, each with its meaning; of those that take blocks of any sizes, or of all.
    pub const fn words(self, any_blocks: bool) -> &'static [(&'static str, &'static str)] {
        macro_rules! each {
            ($($kind:ident)*) => {
                match (self, any_blocks) {
                    $(
                        (Self::$kind, false) => {
                            const { &words::<{ count(Self::$kind, false) }>(Self::$kind, false) }
                        }
                        (Self::$kind, true) => {
                            const { &words::<{ count(Self::$kind, true) }>(Self::$kind, true) }
                        }
                    )*
                }
            };
        }
        each! {
            Barrier Bcast Scatter Gather Allgather Reduce Allreduce ReduceScatter ReduceScatterBlock
            Alltoall Scan Exscan
        }
    }
}

/// Whether an algorithm is one of `kind`, and takes blocks of any sizes if that is requested.
const fn is_of(algorithm: Algorithm, kind: Kind, any_blocks: bool) -> bool {
    let fits = !any_blocks || !matches!(algorithm.needs(), Needs::EqualBlocks);
    algorithm.kind() as u8 == kind as u8 && fits
}

const fn count(kind: Kind, any_blocks: bool) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < Algorithm::ALL.len() {
        count += is_of(Algorithm::ALL[at], kind, any_blocks) as usize;
        at += 1;
    }
    count
}

const fn words<const COUNT: usize>(
    kind: Kind,
    any_blocks: bool,
) -> [(&'static str, &'static str); COUNT] {
    let mut words = [("", ""); COUNT];
    let (mut at, mut count) = (0, 0);
    while count < COUNT {
        if is_of(Algorithm::ALL[at], kind, any_blocks) {
            words[count] = Algorithm::ALL[at].word();
            count += 1;
        }
        at += 1;
    }
    words
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
