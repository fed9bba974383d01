//! Copies by engines, without SMs: rows of bytes.

use super::shape::{RowRule, Shape};
use units::TimeDelta;

/// From where to where.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Direction {
    /// Into device memory.
    HostToDevice,
    /// Out of device memory.
    DeviceToHost,
    /// From device memory into device memory.
    InDevice,
}

/// What kind of host memory a copy touches.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum HostMemory {
    /// The engine reaches it.
    #[default]
    Pinned,
    /// A core copies it piece by piece from or into buffers that the engine reaches.
    Pageable,
}

/// One call: `rows` rows of `width` bytes.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Copy {
    /// From where to where.
    pub direction: Direction,
    /// Rows that lie apart at one end at least.
    pub rows: u64,
    /// Bytes of a row.
    pub width: u64,
    /// Whether the beginnings of rows lie apart by a multiple of this, at both ends; in bytes.
    pub pitch: u64,
    /// The host's memory.
    pub host: HostMemory,
}

impl Copy {
    /// Contiguous bytes (`memcpy`).
    pub const fn contiguous(direction: Direction, bytes: u64) -> Self {
        let host = HostMemory::Pinned;
        Self { direction, rows: 1, width: bytes, pitch: 0, host }
    }

    /// Rows whose beginnings lie `pitch` bytes apart where they lie apart (`memcpy2D`).
    pub const fn rows(direction: Direction, rows: u64, width: u64, pitch: u64) -> Self {
        Self { direction, rows, width, pitch, host: HostMemory::Pinned }
    }

    /// `depth` times `rows` rows in one call (`memcpy3D`).
    pub const fn boxes(
        direction: Direction,
        depth: u64,
        rows: u64,
        width: u64,
        pitch: u64,
    ) -> Self {
        Self::rows(direction, depth * rows, width, pitch)
    }

    /// The same with this host memory.
    #[must_use]
    pub const fn with_host(mut self, host: HostMemory) -> Self {
        self.host = host;
        self
    }

    /// All bytes.
    pub const fn bytes(&self) -> u64 {
        self.rows * self.width
    }

    /// What a row needs of its engine besides the time of its bytes, and at least; zero where the
    /// copy is contiguous.
    pub(super) fn row_times(&self, rule: &RowRule) -> RowTimes {
        if self.rows <= 1 {
            return RowTimes::default();
        }
        let aligned =
            self.width.is_multiple_of(rule.align) && self.pitch.is_multiple_of(rule.align);
        if aligned {
            RowTimes { extra: rule.aligned_extra, least_of_packet: TimeDelta::ZERO }
        } else {
            RowTimes { extra: TimeDelta::ZERO, least_of_packet: rule.unaligned }
        }
    }

    /// Bytes of a piece, in whole rows: the engine works piece by piece where conditions may change.
    pub(super) fn piece(&self) -> u64 {
        let most = (self.bytes() / PIECES).max(PIECE);
        let whole = if self.rows <= 1 { most } else { most / self.width.max(1) * self.width };
        if whole == 0 { self.width.max(1) } else { whole }
    }

    /// TLPs of a row.
    pub(super) const fn packets_of_row(&self, shape: &Shape) -> u64 {
        if self.width == 0 { 1 } else { self.width.div_ceil(shape.payload) }
    }
}

/// Engine time of a row.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct RowTimes {
    /// Beyond the time of its bytes.
    pub extra: TimeDelta,
    /// At least, for each of its packets.
    pub least_of_packet: TimeDelta,
}

/// A copy has at most about so many pieces,
const PIECES: u64 = 512;
/// and pieces of at least so many bytes.
const PIECE: u64 = 32 << 10;
