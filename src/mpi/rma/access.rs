//! Which accesses to a window may be concurrent: the tables of both memory models, and a checker that
//! names the two accesses of each conflict.
//!
//! The checker keeps each access from its call until it is complete at the target. It finds overlaps
//! of this run, not those of another order of events. It knows, however, which accesses
//! synchronisation separates: two accesses under locks of which one is exclusive, of two fences, or
//! of two exposures are never concurrent ([`Under`]).
//!
//! Source: `rma` Fig. 1 and Sec. 2.1.2 (tables), 2.1.3, 2.1.4 (separation), 2.2.1
//! (accumulates), 2.2.4 (models). Where the text
//! of the separate model bans every local update beside remote accesses and the table allows a store
//! beside loads and gets of other places, the table rules.

mod open;

use std::fmt;
use std::ops::Range;

pub use open::Accesses;

use crate::envelope::Rank;
use crate::operator::{Datatype, Operator};
use crate::rma::synchronisation::LockKind;

/// The memory model of a window, the value of its attribute `MPI_WIN_MODEL`.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum MemoryModel {
    /// Loads and stores work on a copy of their own.
    Separate,
    /// There is one copy.
    #[default]
    Unified,
}

impl MemoryModel {
    /// Both models.
    pub const ALL: [Self; 2] = [Self::Separate, Self::Unified];

    /// The name that scenarios use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Separate => "separate",
            Self::Unified => "unified",
        }
    }
}

/// How memory is accessed: the rows and columns of the tables.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    /// The owner reads.
    Load,
    /// The owner writes.
    Store,
    /// `MPI_Get`, `MPI_Rget`.
    Get,
    /// `MPI_Put`, `MPI_Rput`.
    Put,
    /// One of the accumulate family.
    Acc,
}

impl Kind {
    /// All of them, in the order of the tables.
    pub const ALL: [Self; 5] = [Self::Load, Self::Store, Self::Get, Self::Put, Self::Acc];
}

/// Which bytes of two concurrent accesses may be the same: an entry of the tables.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Together {
    /// `OV+NOV`: any.
    Any,
    /// `NOV`: none.
    Disjoint,
    /// `NOV+BOV`: any, and where they overlap each byte by itself is old or new.
    ByteByByte,
    /// `X`: the two may not be concurrent at all, wherever they are in the window.
    Never,
}

impl Together {
    /// Its entry for accesses that share bytes, or do not.
    pub const fn verdict(self, overlap: Overlap) -> Verdict {
        match (self, overlap) {
            (Self::Never, _) => Verdict::Forbidden,
            (Self::Disjoint, Overlap::SameBytes) => Verdict::Overlapping,
            (Self::ByteByByte, Overlap::SameBytes) => Verdict::ByteByByte,
            (Self::Any | Self::Disjoint | Self::ByteByByte, _) => Verdict::Allowed,
        }
    }
}

/// How two accesses lie to each other.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Overlap {
    /// They share bytes.
    SameBytes,
    /// They share none, but an aligned word of 8 bytes.
    SameWord,
    /// They share nothing.
    Disjoint,
}

impl Overlap {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::SameBytes, Self::SameWord, Self::Disjoint];
}

/// An entry of the table for two concurrent accesses.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Verdict {
    /// They are in order.
    Allowed,
    /// They are in order; a value of several bytes may be a mixture of old and new ones.
    ByteByByte,
    /// They are not, since they overlap.
    Overlapping,
    /// They are not, wherever they are.
    Forbidden,
}

impl Verdict {
    /// Whether the two are in order.
    pub const fn is_allowed(self) -> bool {
        matches!(self, Self::Allowed | Self::ByteByByte)
    }
}

/// The entry of the model's table for two kinds of access; the order of the two does not matter.
pub const fn together(model: MemoryModel, a: Kind, b: Kind) -> Together {
    use Together::{Any, ByteByByte, Disjoint, Never};
    // Rows and columns: load, store, get, put, accumulate.
    const SEPARATE: [[Together; 5]; 5] = [
        [Any, Any, Any, Disjoint, Disjoint],
        [Any, Any, Disjoint, Never, Never],
        [Any, Disjoint, Any, Disjoint, Disjoint],
        [Disjoint, Never, Disjoint, Disjoint, Disjoint],
        [Disjoint, Never, Disjoint, Disjoint, Any],
    ];
    const UNIFIED: [[Together; 5]; 5] = [
        [Any, Any, Any, ByteByByte, ByteByByte],
        [Any, Any, Disjoint, Disjoint, Disjoint],
        [Any, Disjoint, Any, Disjoint, Disjoint],
        [ByteByByte, Disjoint, Disjoint, Disjoint, Disjoint],
        [ByteByByte, Disjoint, Disjoint, Disjoint, Any],
    ];
    match model {
        MemoryModel::Separate => SEPARATE[a as usize][b as usize],
        MemoryModel::Unified => UNIFIED[a as usize][b as usize],
    }
}

/// The model's entry for two concurrent accesses that lie so.
pub const fn allowed(model: MemoryModel, a: Kind, b: Kind, overlap: Overlap) -> Verdict {
    together(model, a, b).verdict(overlap)
}

/// Effect of an operation of the accumulate family on an element.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Change {
    /// `MPI_REPLACE`.
    Replace,
    /// `MPI_NO_OP`: it only reads.
    NoOp,
    /// `MPI_Compare_and_swap`.
    CompareAndSwap,
    /// A predefined operator.
    Reduce(Operator),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replace => f.write_str("replace"),
            Self::NoOp => f.write_str("no_op"),
            Self::CompareAndSwap => f.write_str("compare_and_swap"),
            Self::Reduce(operator) => write!(f, "{operator}"),
        }
    }
}

/// The window's hint `accumulate_ops`: which operators may meet on one element.
///
/// A compare-and-swap names no operator and may meet any. Elements must be of one basic type.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum AccumulateOps {
    /// `same_op`.
    SameOp,
    /// `same_op_no_op`: MPI's default.
    #[default]
    SameOpNoOp,
    /// Any, as the table alone says.
    Any,
}

impl AccumulateOps {
    /// Every value of the hint.
    pub const ALL: [Self; 3] = [Self::SameOp, Self::SameOpNoOp, Self::Any];

    /// The name that scenarios use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SameOp => "same_op",
            Self::SameOpNoOp => "same_op_no_op",
            Self::Any => "any",
        }
    }

    /// Whether two changes may meet on one element.
    pub fn may_meet(self, a: Change, b: Change) -> bool {
        let either = |change| a == change || b == change;
        match self {
            Self::Any => true,
            Self::SameOp => a == b || either(Change::CompareAndSwap),
            Self::SameOpNoOp => a == b || either(Change::CompareAndSwap) || either(Change::NoOp),
        }
    }
}

/// How an access touches memory.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Touch {
    /// The owner reads.
    Load,
    /// The owner writes.
    Store,
    /// A get.
    Get,
    /// A put.
    Put,
    /// One of the accumulate family.
    Acc(Change, Datatype),
}

impl Touch {
    /// The row of the tables.
    pub const fn kind(self) -> Kind {
        match self {
            Self::Load => Kind::Load,
            Self::Store => Kind::Store,
            Self::Get => Kind::Get,
            Self::Put => Kind::Put,
            Self::Acc(..) => Kind::Acc,
        }
    }

    /// Whether the owner of the memory does it by itself.
    pub const fn is_local(self) -> bool {
        matches!(self, Self::Load | Self::Store)
    }
}

impl fmt::Display for Touch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load => f.write_str("load"),
            Self::Store => f.write_str("store"),
            Self::Get => f.write_str("get"),
            Self::Put => f.write_str("put"),
            Self::Acc(change, datatype) => write!(f, "accumulate ({change}, {})", datatype.name()),
        }
    }
}

/// By which synchronisation an access takes place.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Under {
    /// A load or store of the owner, after so many fences and under this lock of its own part.
    Local {
        /// Fences of the window that it has called.
        fences: u32,
        /// Its lock.
        lock: Option<LockKind>,
    },
    /// The epoch after so many fences.
    Fence(u32),
    /// An exposure epoch of the owner.
    Exposure {
        /// Its number.
        number: u32,
        /// Fences of the window that the owner had called when it posted.
        fences: u32,
    },
    /// A lock of the owner's part.
    Lock(LockKind),
    /// A lock without a request (`MPI_MODE_NOCHECK`): it excludes no other process.
    Unchecked,
    /// The same two, where an accumulate has been applied to unified memory: its owner sees it, and
    /// other processes may not.
    Applied {
        /// Whether the lock, a shared one, was requested.
        checked: bool,
    },
    /// None any more, where an update of separate memory is complete in the public copy: the private
    /// copy has it when the owner synchronises.
    Unseen,
}

impl Under {
    /// Whether accesses of two processes under these never run together, whatever their calls do.
    pub fn excludes(self, other: Self) -> bool {
        let locks = self.lock().zip(other.lock());
        locks.is_some_and(|(a, b)| a.max(b) == LockKind::Exclusive)
    }

    /// The lock of the owner's part under which it takes place.
    const fn lock(self) -> Option<LockKind> {
        match self {
            Self::Local { lock, .. } => lock,
            Self::Lock(kind) => Some(kind),
            Self::Applied { checked: true } => Some(LockKind::Shared),
            Self::Applied { checked: false }
            | Self::Fence(_)
            | Self::Exposure { .. }
            | Self::Unchecked
            | Self::Unseen => None,
        }
    }

    /// Whether accesses under these follow each other, for any process: `other` comes after an open
    /// access, in another epoch, or as an access of the owner.
    pub const fn follows(self, other: Self) -> bool {
        match (self, other) {
            // An operation between fences reaches its target after the target has called the first
            // and before the target returns from the second.
            (
                Self::Fence(a),
                Self::Fence(b) | Self::Local { fences: b, .. } | Self::Exposure { fences: b, .. },
            )
            | (Self::Local { fences: a, .. } | Self::Exposure { fences: a, .. }, Self::Fence(b))
            | (Self::Exposure { number: a, .. }, Self::Exposure { number: b, .. }) => a != b,
            (Self::Applied { .. }, Self::Local { .. }) => true,
            (Self::Unseen, other) => !matches!(other, Self::Local { .. }),
            _ => false,
        }
    }

    /// Whether it keeps all others with a lock out.
    const fn is_alone(self) -> bool {
        matches!(self, Self::Lock(LockKind::Exclusive))
    }
}

/// One access to the memory of a process.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Access {
    /// The rank that accesses: the owner itself, or the origin of an operation.
    pub by: Rank,
    /// How.
    pub touch: Touch,
    /// Which bytes of the window, from its start; in a dynamic window, which addresses.
    pub bytes: Range<u64>,
    /// Synchronisation that keeps others apart from it.
    pub under: Under,
    /// The line of its call, where the program has lines.
    pub place: Option<u32>,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { by, touch, bytes, place, .. } = self;
        let Range { start, end } = bytes;
        write!(f, "{touch} of bytes {start}..{end} by rank {}", by.0)?;
        place.map_or(Ok(()), |place| write!(f, " in line {place}"))
    }
}

/// Two accesses that may not run together.
#[derive(Clone, Debug, Eq, Hash, PartialEq, thiserror::Error)]
#[error("{second} conflicts with {first}: {}", self.reason())]
pub struct Conflict {
    /// The one that was open.
    pub first: Access,
    /// The one that came.
    pub second: Access,
    /// Why.
    pub why: Clash,
}

/// Why two accesses may not run together.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Clash {
    /// They share bytes.
    Overlapping,
    /// They may not be concurrent at all.
    Forbidden,
    /// They are accumulates with operators that may not meet.
    Operators,
    /// They are accumulates of elements of different types.
    Datatypes,
}

impl Conflict {
    fn reason(&self) -> &'static str {
        match self.why {
            Clash::Overlapping => "they overlap, and neither is complete before the other",
            Clash::Forbidden => "the separate memory model allows no store beside remote updates",
            Clash::Operators => "overlapping accumulates need the same operator",
            Clash::Datatypes => "overlapping accumulates need the same basic type",
        }
    }
}

#[cfg(test)]
mod tests;
