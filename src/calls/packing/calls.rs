//! The request to pack, and the requests that it makes to the driver of a GPU.

use std::ops::Range;
use std::sync::Arc;

use mpi::datatype::{Datatype, DatatypeError, Encoding, EncodingError, NodeKind};

/// Data to be packed: elements of a type, and the form in which a GPU reads that.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Layout {
    /// The type.
    pub datatype: Datatype,
    /// How many elements of it.
    pub count: u64,
    /// The same, encoded.
    pub encoding: Arc<Encoding>,
}

impl Layout {
    /// Of `count` elements.
    ///
    /// # Errors
    ///
    /// [`EncodingError`] where they cannot be encoded.
    pub fn new(datatype: Datatype, count: u64) -> Result<Self, EncodingError> {
        let encoding = Arc::new(Encoding::new(&datatype, count)?);
        Ok(Self { datatype, count, encoding })
    }
}

/// Which way.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Task {
    /// Out of the layout.
    #[default]
    Pack,
    /// Into the layout.
    Unpack,
}

/// Where bytes are.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Memory {
    /// In device memory, as the type says.
    Data,
    /// In device memory, contiguous.
    Staging,
    /// In pinned memory of the host, contiguous.
    Packed,
    /// In pinned memory of the host, as the type says.
    Mirror,
}

impl Memory {
    /// Whether it is on the host's side of the bus.
    pub const fn is_of_host(self) -> bool {
        matches!(self, Self::Packed | Self::Mirror)
    }
}

/// The code of a kernel in which each thread moves one primitive.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Code {
    /// It finds its primitive in the encoding, whatever the type.
    Generic,
    /// It was written for this type: no encoding is read.
    HandCoded,
}

/// Arithmetic of a thread on one level of an encoding.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Arithmetic {
    /// Divisions, each with its remainder.
    pub divisions: u32,
    /// Products, each with its sum.
    pub products: u32,
    /// Fields of the node that are loaded from shared memory.
    pub fields: u32,
    /// Turns of the loop over levels, with a branch on the kind.
    pub loops: u32,
}

impl Code {
    /// Arithmetic of the code on one level of the encoding; searches and loads from lists are left out.
    ///
    /// The divisions of Algorithm 2, products and sums, and, in the generic kernel, the loop, the
    /// branch on the kind and the fields of the node.
    pub const fn level(self, kind: NodeKind) -> Arithmetic {
        let (divisions, products, fields) = match kind {
            NodeKind::Contiguous => (1, 2, 5),
            NodeKind::Vector | NodeKind::IndexedBlock => (2, 4, 7),
            NodeKind::Indexed | NodeKind::Struct => (1, 4, 6),
            NodeKind::Subarray => (1, 2, 7),
        };
        match self {
            Self::Generic => Arithmetic { divisions, products, fields, loops: 1 },
            // Each primitive is one element: the division by their number falls away.
            Self::HandCoded => {
                Arithmetic { divisions: divisions - 1, products, fields: 0, loops: 0 }
            }
        }
    }
}

/// One end of a copy: boxes of rows in a memory; distances are in bytes.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct End {
    /// Which memory.
    pub memory: Memory,
    /// Where the first row begins: from the origin of the data, or from the first packed byte.
    pub offset: i64,
    /// From row to row.
    pub pitch: i64,
    /// From slice to slice.
    pub slice: i64,
}

/// Request to the driver.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum DeviceCall {
    /// A kernel with a thread for each primitive.
    Kernel {
        /// Its code.
        code: Code,
        /// From the data, or into them.
        task: Task,
        /// Where the packed bytes are.
        packed: Memory,
    },
    /// A core of the host packs data that lie in host memory, run by run.
    Host {
        /// From the data, or into them.
        task: Task,
        /// Where they are; [`Memory::Data`] where the host has them anyway.
        data: Memory,
    },
    /// A copy: `slices` times `rows` rows of `width` bytes.
    Copy {
        /// From where.
        from: End,
        /// To where.
        to: End,
        /// Bytes of a row.
        width: u64,
        /// Rows of a slice.
        rows: u64,
        /// Slices.
        slices: u64,
    },
}

impl DeviceCall {
    /// Contiguous bytes between two memories that both hold the packed data.
    pub(super) fn contiguous(from: Memory, to: Memory, bytes: u64) -> Self {
        let end = |memory| End { memory, offset: 0, pitch: 0, slice: 0 };
        Self::Copy { from: end(from), to: end(to), width: bytes, rows: 1, slices: 1 }
    }

    /// The memory that it reads, and the one that it writes.
    pub const fn ends(&self) -> (Memory, Memory) {
        match *self {
            Self::Kernel { task: Task::Pack, packed, .. } => (Memory::Data, packed),
            Self::Kernel { task: Task::Unpack, packed, .. } => (packed, Memory::Data),
            Self::Host { task: Task::Pack, data } => (data, Memory::Packed),
            Self::Host { task: Task::Unpack, data } => (Memory::Packed, data),
            Self::Copy { from, to, .. } => (from.memory, to.memory),
        }
    }

    /// Calls `run` with the source, the destination and the bytes of each run that it moves, in
    /// order; of a kernel, those of these primitives.
    ///
    /// # Panics
    ///
    /// When the layout's sizes are beyond 64 bits: it was encoded.
    pub fn runs(
        &self,
        layout: &Layout,
        primitives: Range<u64>,
        mut run: impl FnMut((Memory, i64), (Memory, i64), u64),
    ) {
        let (source, target) = self.ends();
        let mut ordered = |task: Task, data: i64, packed: u64, bytes| {
            let packed = packed.cast_signed();
            let (from, to) = if task == Task::Pack { (data, packed) } else { (packed, data) };
            run((source, from), (target, to), bytes);
        };
        match *self {
            Self::Kernel { task, .. } => {
                for id in primitives {
                    let element = layout.encoding.locate(id);
                    ordered(task, element.input, element.output, element.size);
                }
            }
            Self::Host { task, .. } => {
                let mut packed = 0;
                let segments = layout.datatype.segments(layout.count);
                for segment in segments.expect("a layout that was encoded") {
                    ordered(task, segment.offset, packed, segment.length);
                    packed += segment.length;
                }
            }
            Self::Copy { from, to, width, rows, slices } => {
                let at = |end: &End, slice: u64, row: u64| {
                    end.offset + end.slice * slice.cast_signed() + end.pitch * row.cast_signed()
                };
                for slice in 0..slices {
                    for row in 0..rows {
                        let (from, to) = (at(&from, slice, row), at(&to, slice, row));
                        run((source, from), (target, to), width);
                    }
                }
            }
        }
    }

    /// The same the other way round.
    pub(super) const fn backwards(self) -> Self {
        match self {
            Self::Kernel { code, task: Task::Pack, packed } => {
                Self::Kernel { code, task: Task::Unpack, packed }
            }
            Self::Kernel { code, task: Task::Unpack, packed } => {
                Self::Kernel { code, task: Task::Pack, packed }
            }
            Self::Host { task: Task::Pack, data } => Self::Host { task: Task::Unpack, data },
            Self::Host { task: Task::Unpack, data } => Self::Host { task: Task::Pack, data },
            Self::Copy { from, to, width, rows, slices } => {
                Self::Copy { from: to, to: from, width, rows, slices }
            }
        }
    }
}

/// How the bytes are packed; each is a file of its name.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Method {
    /// The generic kernel writes to the host.
    Kernel,
    /// The generic kernel writes to device memory, and one copy follows.
    KernelStaged,
    /// A kernel for this type writes to the host.
    HandCoded,
    /// Copies by rows.
    Memcpy2d,
    /// Copies by boxes.
    Memcpy3d,
    /// A copy for each contiguous block.
    Blockwise,
    /// A copy by rows for each member of a struct.
    PerField,
    /// Rows inside the device, then one copy.
    DeviceVector,
    /// A copy for each primitive.
    Points,
    /// One copy of all that the data lie in, and a core picks them out.
    WholeExtent,
    /// A core, with the data in host memory.
    Cpu,
    /// The one that a rule expects to be the fastest.
    Automatic,
}

/// Why a method cannot pack a layout.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// It packs data in host memory, and these are not.
    #[error("a core packs data in host memory only")]
    Host,
    /// It is made for structs.
    #[error("the type is no struct")]
    NoStruct,
    /// A member of the struct does not lie in one piece.
    #[error("member {0} of the struct does not lie in one piece")]
    Scattered(usize),
    /// It is made for rows at equal distances.
    #[error("the layout is no set of equal rows at equal distances")]
    NoRows,
    /// There are too many rows to look at.
    #[error("the layout has more than {MOST_ROWS} contiguous blocks")]
    Rows,
    /// Elements overlap, or lie backwards.
    #[error("the elements lie {0} B apart, and a member is wider")]
    Pitch(i64),
    /// There are too many calls.
    #[error("more than {MOST_CALLS} calls would be needed")]
    Calls,
    /// [`Method::Automatic`] stands for the method that it chooses: [`Method::chosen`].
    #[error("no method was chosen yet")]
    Unchosen,
    /// The layout itself is wrong.
    #[error(transparent)]
    Datatype(#[from] DatatypeError),
}

/// Calls of one packing, at most.
/// Limit: their list is held in memory.
pub const MOST_CALLS: usize = 1 << 21;

/// Contiguous blocks that are looked at for rows at equal distances, at most.
/// Limit: each of them is visited.
pub const MOST_ROWS: u64 = 1 << 26;
