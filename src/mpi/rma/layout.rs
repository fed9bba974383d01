//! Where a displacement points: the windows of all processes, as each of them knows them.
//!
//! | window | a process knows | address |
//! |---|---|---|
//! | created, allocated | base, size and unit of every process | base of the target + displacement x its unit |
//! | shared | the same; all bases lie in one region | the same |
//! | dynamic | memory attached by its owner | the displacement |
//!
//! Source: `rma` Sec. 2.1.1 and 4.1 (address, tables), 2.2.3 (dynamic windows), 4.5 (shared windows).

mod attached;

pub use attached::{AttachError, Attached};

use crate::envelope::Rank;

/// How a window was made, the value of its attribute `MPI_WIN_CREATE_FLAVOR`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Flavour {
    /// `MPI_Win_create`: of memory that the processes had.
    Created,
    /// `MPI_Win_allocate`: of memory that MPI chose.
    Allocated,
    /// `MPI_Win_allocate_shared`: all in one region.
    Shared,
    /// `MPI_Win_create_dynamic`: without memory at first.
    Dynamic,
}

impl Flavour {
    /// The name that scenarios use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Allocated => "allocated",
            Self::Shared => "shared",
            Self::Dynamic => "dynamic",
        }
    }
}

/// The memory of one process in a window.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Segment {
    /// Address of its first byte, in the memory of that process; in that of all for a shared window.
    pub base: u64,
    /// Its length, in bytes.
    pub size: u64,
    /// Bytes of one displacement.
    pub unit: u32,
}

/// How the segments of a shared window follow each other.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Spacing {
    /// Each begins where the one before ends.
    Contiguous,
    /// Each begins on a page of this many bytes, by the hint `alloc_shared_noncontig`.
    Pages(u64),
}

/// The memory of a window, as a process knows it.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Layout {
    flavour: Flavour,
    /// By rank; empty in a dynamic window.
    segments: Box<[Segment]>,
    /// At this process; always empty in other windows than dynamic ones.
    attached: Attached,
}

/// Why a displacement points nowhere.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, thiserror::Error)]
pub enum LayoutError {
    /// The window has no such process.
    #[error("target {} does not exist: the window has {ranks} ranks", target.0)]
    Target {
        /// The rank given as target.
        target: Rank,
        /// How many there are.
        ranks: u64,
    },
    /// Some of the bytes lie outside.
    #[error(
        "{bytes} B at displacement {displacement} (of {unit} B each) are not all in the window of \
         target {}, which has {size} B", target.0
    )]
    Bounds {
        /// Rank of the target.
        target: Rank,
        /// In units of the target.
        displacement: u64,
        /// The target's unit, in bytes.
        unit: u32,
        /// How many bytes are accessed.
        bytes: u64,
        /// How many the window has there.
        size: u64,
    },
    /// Some of the bytes have no address.
    #[error("{bytes} B at address {address} of target {} end beyond all addresses", target.0)]
    Address {
        /// Rank of the target.
        target: Rank,
        /// The first address.
        address: u64,
        /// How many bytes are accessed.
        bytes: u64,
    },
}

/// Why there can be no such window.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, thiserror::Error)]
#[error("the memory of rank {} ends beyond all addresses", rank.0)]
pub struct TooLarge {
    /// Rank of the process with that memory.
    pub rank: Rank,
}

impl Layout {
    /// A window of memory that the processes had, by rank.
    ///
    /// # Errors
    ///
    /// [`TooLarge`] where a segment has no last address.
    pub fn created(segments: Vec<Segment>) -> Result<Self, TooLarge> {
        Self::of(Flavour::Created, segments)
    }

    /// A window of memory that MPI chose, by rank.
    ///
    /// # Errors
    ///
    /// As [`Self::created`].
    pub fn allocated(segments: Vec<Segment>) -> Result<Self, TooLarge> {
        Self::of(Flavour::Allocated, segments)
    }

    /// A window of shared memory: one region at `base`, with the sizes and units by rank.
    ///
    /// # Errors
    ///
    /// As [`Self::created`].
    ///
    /// # Panics
    ///
    /// When a page has no bytes.
    pub fn shared(base: u64, sizes: &[(u64, u32)], spacing: Spacing) -> Result<Self, TooLarge> {
        let mut next = Some(base);
        let mut segments = Vec::with_capacity(sizes.len());
        for (&(size, unit), rank) in sizes.iter().zip(0..) {
            let here = next.ok_or(TooLarge { rank: Rank(rank) })?;
            segments.push(Segment { base: here, size, unit });
            next = spacing.occupied(size).and_then(|bytes| here.checked_add(bytes));
        }
        Self::of(Flavour::Shared, segments)
    }

    /// A window without memory.
    pub fn dynamic() -> Self {
        Self { flavour: Flavour::Dynamic, segments: Box::default(), attached: Attached::default() }
    }

    fn of(flavour: Flavour, segments: Vec<Segment>) -> Result<Self, TooLarge> {
        let has_end = |segment: &Segment| segment.base.checked_add(segment.size).is_some();
        if let Some((_, rank)) = segments.iter().zip(0..).find(|(segment, _)| !has_end(segment)) {
            return Err(TooLarge { rank: Rank(rank) });
        }
        Ok(Self { flavour, segments: segments.into(), attached: Attached::default() })
    }

    /// How the window was made.
    pub const fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// The memory of a process; `None` in a dynamic window, and where there is no such rank.
    pub fn segment(&self, rank: Rank) -> Option<&Segment> {
        self.segments.get(rank.0 as usize)
    }

    /// The memory attached at this process; `None` where the window is not dynamic.
    pub fn attached(&mut self) -> Option<&mut Attached> {
        (self.flavour == Flavour::Dynamic).then_some(&mut self.attached)
    }

    /// The address in the target's memory of `bytes` bytes at a displacement, as the origin computes
    /// it. Whether memory of a dynamic window is attached there only the target can tell.
    ///
    /// # Errors
    ///
    /// [`LayoutError`] where the bytes are not all in the window.
    pub fn address(&self, target: Rank, displacement: u64, bytes: u64) -> Result<u64, LayoutError> {
        if self.flavour == Flavour::Dynamic {
            let address = displacement;
            let end = address.checked_add(bytes);
            return end.map(|_| address).ok_or(LayoutError::Address { target, address, bytes });
        }
        let ranks = self.segments.len() as u64;
        let segment = self.segment(target).ok_or(LayoutError::Target { target, ranks })?;
        let Segment { base, size, unit } = *segment;
        let offset = displacement.checked_mul(u64::from(unit));
        let inside = |offset: &u64| offset.checked_add(bytes).is_some_and(|end| end <= size);
        let out = LayoutError::Bounds { target, displacement, unit, bytes, size };
        offset.filter(inside).map(|offset| base + offset).ok_or(out)
    }

    /// Bytes that one process holds for the window: a table entry for each process, or one for each
    /// attached piece of memory.
    pub fn state_bytes(&self) -> u64 {
        let table = self.segments.len() * size_of::<Segment>();
        (size_of::<Self>() + table) as u64 + self.attached.state_bytes()
    }
}

impl Spacing {
    /// Bytes from the start of a segment to that of the next one; `None` where they are too many.
    fn occupied(self, size: u64) -> Option<u64> {
        match self {
            Self::Contiguous => Some(size),
            Self::Pages(page) => size.checked_next_multiple_of(page),
        }
    }
}

#[cfg(test)]
mod tests;
