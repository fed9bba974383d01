//! The input of an algorithm of a collective: the kind of the operation, one rank's task in it, and how
//! far the rank has come.

use std::sync::Arc;

use calls::space::Region;
use mpi::envelope::Envelope;
use mpi::operator::Reduction;

/// The names of the functions of an operation, with a capital letter and without.
macro_rules! functions {
    ($name:literal, $after_i:literal) => {
        $crate::Functions {
            waits: concat!("MPI_", $name),
            begins: concat!("MPI_I", $after_i),
            prepares: concat!("MPI_", $name, "_init"),
        }
    };
}
pub(super) use functions;

/// The kinds of collective operation; v-forms are those with a list of blocks.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[allow(missing_docs, reason = "named as MPI names them")]
pub enum Kind {
    Barrier,
    Bcast,
    Scatter,
    Gather,
    Allgather,
    Reduce,
    Allreduce,
    ReduceScatter,
    ReduceScatterBlock,
    Alltoall,
    Scan,
    Exscan,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 12] = [
        Self::Barrier,
        Self::Bcast,
        Self::Scatter,
        Self::Gather,
        Self::Allgather,
        Self::Reduce,
        Self::Allreduce,
        Self::ReduceScatter,
        Self::ReduceScatterBlock,
        Self::Alltoall,
        Self::Scan,
        Self::Exscan,
    ];

    /// The name that scenarios use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Bcast => "bcast",
            Self::Scatter => "scatter",
            Self::Gather => "gather",
            Self::Allgather => "allgather",
            Self::Reduce => "reduce",
            Self::Allreduce => "allreduce",
            Self::ReduceScatter => "reduce_scatter",
            Self::ReduceScatterBlock => "reduce_scatter_block",
            Self::Alltoall => "alltoall",
            Self::Scan => "scan",
            Self::Exscan => "exscan",
        }
    }

    /// The names of its MPI functions.
    pub const fn functions(self) -> Functions {
        match self {
            Self::Barrier => functions!("Barrier", "barrier"),
            Self::Bcast => functions!("Bcast", "bcast"),
            Self::Scatter => functions!("Scatter", "scatter"),
            Self::Gather => functions!("Gather", "gather"),
            Self::Allgather => functions!("Allgather", "allgather"),
            Self::Reduce => functions!("Reduce", "reduce"),
            Self::Allreduce => functions!("Allreduce", "allreduce"),
            Self::ReduceScatter => functions!("Reduce_scatter", "reduce_scatter"),
            Self::ReduceScatterBlock => functions!("Reduce_scatter_block", "reduce_scatter_block"),
            Self::Alltoall => functions!("Alltoall", "alltoall"),
            Self::Scan => functions!("Scan", "scan"),
            Self::Exscan => functions!("Exscan", "exscan"),
        }
    }

    /// Whether elements are combined.
    pub const fn reduces(self) -> bool {
        matches!(
            self,
            Self::Reduce
                | Self::Allreduce
                | Self::ReduceScatter
                | Self::ReduceScatterBlock
                | Self::Scan
                | Self::Exscan
        )
    }

    /// Whether one rank is the root.
    pub const fn has_root(self) -> bool {
        matches!(self, Self::Bcast | Self::Scatter | Self::Gather | Self::Reduce)
    }

    /// The tag of its messages in the internal context, where the algorithm adds its own.
    ///
    /// # Panics
    ///
    /// Never: every kind is listed.
    pub fn tag(self, own: u16) -> i32 {
        let number = Self::ALL.iter().position(|kind| *kind == self).expect("all are listed");
        let number = i32::try_from(number).expect("twelve kinds");
        number << 16 | i32::from(own)
    }

    /// The tag of its messages where no call waits for it: several may be under way at once.
    ///
    /// # Panics
    ///
    /// Never: every kind is listed.
    pub fn tag_begun(self, turn: Turn, own: u16) -> i32 {
        let number = i32::try_from(turn.number()).expect("a number of nine bits");
        BEGUN | number << 20 | self.tag(own)
    }

    /// The name of the function to which a message belongs: of the two contexts of a communicator the second one is
    /// that of the library's own messages, and odd.
    pub fn function_of(envelope: Envelope) -> Option<&'static str> {
        let is_own = envelope.context.0 % 2 == 1;
        if is_own { Self::function_of_tag(envelope.tag) } else { None }
    }

    /// The name of the function whose messages have this tag.
    pub fn function_of_tag(tag: i32) -> Option<&'static str> {
        let begun = tag & !(BEGUN - 1) == BEGUN;
        let kind = if begun { tag >> 16 & 0xf } else { tag >> 16 };
        let functions = Self::ALL.get(usize::try_from(kind).ok()?)?.functions();
        Some(match (begun, tag & PREPARED != 0) {
            (false, _) => functions.waits,
            (true, false) => functions.begins,
            (true, true) => functions.prepares,
        })
    }
}

/// The names of the MPI functions of one operation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Functions {
    /// The call that waits for it.
    pub waits: &'static str,
    /// The call that only begins it.
    pub begins: &'static str,
    /// The call that prepares it.
    pub prepares: &'static str,
}

/// Bit of the tags of collectives that no call waits for; they have none above it.
/// Encoding: tags of agreements lie below, those of chunks of GPU messages above.
const BEGUN: i32 = 1 << 29;
/// Bit of the tags of those that were prepared, beside that one.
/// Encoding: the highest of the nine bits of a number in a tag.
const PREPARED: i32 = 1 << 28;

/// Numbers of nonblocking collectives, and of persistent ones, before they come again.
/// Encoding: a tag has nine bits for both.
pub const BEGUN_AT_ONCE: u32 = 1 << 8;

/// A place in the order in which the ranks of a communicator begin, or prepare, what no call waits for.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Turn {
    /// That of a nonblocking operation.
    Begun(u32),
    /// That of one that was prepared: each of its starts has it, so that ranks start in any order.
    Prepared(u32),
}

impl Turn {
    /// Its number in the tags.
    pub const fn number(self) -> u32 {
        match self {
            Self::Begun(turn) => turn % BEGUN_AT_ONCE,
            Self::Prepared(turn) => BEGUN_AT_ONCE + turn % BEGUN_AT_ONCE,
        }
    }
}

/// Consecutive bytes of a buffer that belong to one rank.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Block {
    /// First byte, from the start of the buffer.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
}

/// The blocks of a buffer, one a rank.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Blocks {
    /// One after the other, of this many bytes each.
    Equal(u64),
    /// As listed, by rank; where they overlap in a receive buffer the outcome is not defined.
    List(Arc<[Block]>),
}

impl Blocks {
    /// Blocks of these lengths, one after the other.
    pub fn packed(lengths: &[u64]) -> Self {
        let offsets = lengths.iter().scan(0, |end, len| {
            let offset = *end;
            *end += len;
            Some(offset)
        });
        Self::List(offsets.zip(lengths).map(|(offset, &len)| Block { offset, len }).collect())
    }

    /// The block of a rank; an empty one where the list has none.
    pub fn at(&self, rank: u32) -> Block {
        match self {
            Self::Equal(len) => Block { offset: u64::from(rank) * len, len: *len },
            Self::List(list) => list.get(rank as usize).copied().unwrap_or_default(),
        }
    }

    /// The part of `buffer` that belongs to a rank.
    pub fn of(&self, buffer: Region, rank: u32) -> Region {
        let Block { offset, len } = self.at(rank);
        buffer.part(offset, len)
    }

    /// Bytes of all blocks of ranks `first..last` together.
    pub fn sum(&self, first: u32, last: u32) -> u64 {
        match self {
            Self::Equal(len) => u64::from(last - first) * len,
            Self::List(blocks) => {
                let blocks = blocks.get(first as usize..last as usize).unwrap_or(&[]);
                blocks.iter().map(|block| block.len).sum()
            }
        }
    }

    /// A number that blocks of other lengths have by chance only.
    pub(super) fn print(&self) -> u32 {
        match self {
            Self::Equal(len) => print([*len]),
            Self::List(blocks) => print(blocks.iter().map(|block| block.len)),
        }
    }

    /// Whether they are one after the other and of one size.
    pub const fn are_equal(&self) -> bool {
        matches!(self, Self::Equal(_))
    }

    /// The bytes of a buffer that holds `size` blocks.
    pub fn extent(&self, size: u32) -> u64 {
        match self {
            Self::Equal(len) => u64::from(size) * len,
            Self::List(list) => {
                list.iter().map(|block| block.offset + block.len).max().unwrap_or(0)
            }
        }
    }
}

/// A number that other numbers have by chance only: of 2^32, and 0 never.
pub(super) fn print(numbers: impl IntoIterator<Item = u64>) -> u32 {
    u32::try_from(mixed(numbers) >> 32).expect("32 of 64 bits are left").max(1)
}

/// The same of 2^64.
pub(super) fn mixed(numbers: impl IntoIterator<Item = u64>) -> u64 {
    // The multiplier of Fibonacci hashing (Knuth, The Art of Computer Programming, Vol. 3, Sec. 6.4).
    let mix = |mixed: u64, number: u64| (mixed ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = numbers.into_iter().fold(1, |mixed, number| mix(mixed, number).rotate_left(29));
    mix(mixed ^ mixed >> 32, 0)
}

/// How far one rank has come in a collective.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct At {
    /// The phase; flat algorithms have one.
    pub phase: u8,
    /// The round in it.
    pub round: u32,
}

/// One rank's task: the input of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// Rank that performs the task.
    pub rank: u32,
    /// Number of ranks, at least 1.
    pub size: u32,
    /// The root, where there is one.
    pub root: u32,
    /// Contribution of this rank.
    pub input: Region,
    /// Where its result goes.
    pub output: Region,
    /// Where scratch space begins.
    pub scratch: Region,
    /// The blocks of `input`.
    pub sends: &'a Blocks,
    /// The blocks of `output`.
    pub receives: &'a Blocks,
    /// The operator.
    pub reduction: Option<Reduction>,
    /// Bytes of a segment.
    pub segment: u64,
    /// Pairs of messages under way at once, at least 1.
    pub outstanding: u32,
}

impl Task<'_> {
    /// An empty region, for messages without content.
    pub const fn nothing(&self) -> Region {
        self.scratch
    }

    /// `len` bytes of scratch space, `offset` bytes from its start.
    pub const fn room(&self, offset: u64, len: u64) -> Region {
        self.scratch.part(offset, len)
    }

    /// Whether the operator, if there is one, commutes.
    pub fn commutes(&self) -> bool {
        self.reduction.is_none_or(Reduction::commutes)
    }
}
