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

/// Kind of host memory that a copy touches.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum HostMemory {
    /// The engine reaches it.
    #[default]
    Pinned,
    /// A core copies it piece by piece from or into buffers that the engine reaches.
    Pageable,
}

/// One call: `rows` rows of `width` bytes, in as many slices.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Copy {
    /// From where to where.
    pub direction: Direction,
    /// Rows that lie apart at one end at least.
    pub rows: u64,
    /// Bytes of a row.
    pub width: u64,
    /// From the beginning of a row to that of the next one, at each of both ends; in bytes.
    pub pitches: [u64; 2],
    /// Slices of equally many rows; the engine is launched for each of them.
    pub slices: u64,
    /// The host's memory.
    pub host: HostMemory,
}

impl Copy {
    /// Contiguous bytes (`memcpy`).
    pub const fn contiguous(direction: Direction, bytes: u64) -> Self {
        let host = HostMemory::Pinned;
        Self { direction, rows: 1, width: bytes, pitches: [bytes; 2], slices: 1, host }
    }

    /// Rows whose beginnings lie `pitch` bytes apart at one end, and back to back at the other
    /// (`memcpy2D`).
    pub const fn rows(direction: Direction, rows: u64, width: u64, pitch: u64) -> Self {
        let (pitches, host) = ([pitch, width], HostMemory::Pinned);
        Self { direction, rows, width, pitches, slices: 1, host }
    }

    /// `depth` slices of `rows` rows in one call (`memcpy3D`).
    pub const fn boxes(
        direction: Direction,
        depth: u64,
        rows: u64,
        width: u64,
        pitch: u64,
    ) -> Self {
        let mut copy = Self::rows(direction, depth * rows, width, pitch);
        copy.slices = depth;
        copy
    }

    /// The same with this host memory.
    #[must_use]
    pub const fn with_host(mut self, host: HostMemory) -> Self {
        self.host = host;
        self
    }

    /// The same with these distances from row to row at both ends, in bytes.
    #[must_use]
    pub const fn with_pitches(mut self, pitches: [u64; 2]) -> Self {
        self.pitches = pitches;
        self
    }

    /// All bytes.
    pub const fn bytes(&self) -> u64 {
        self.rows * self.width
    }

    /// Time that a row needs of its engine besides that of its bytes on the bus, and its least time; zero where the
    /// copy is contiguous.
    pub(super) fn row_times(&self, rule: &RowRule) -> RowTimes {
        if self.rows <= 1 {
            return RowTimes::default();
        }
        let [from, to] = self.pitches;
        let aligned =
            self.width.is_multiple_of(rule.align) && from.max(to).is_multiple_of(rule.align);
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

    /// Average time of a row out of `launch`, the engine's time between two slices.
    pub(super) fn launches_of_row(&self, launch: TimeDelta) -> TimeDelta {
        launch.scaled(self.slices.saturating_sub(1), self.rows.max(1))
    }

    /// Traffic of the device memory for a row of a copy inside the device, in bytes: at both ends the
    /// transactions that it touches, in the mean over all rows.
    pub(super) fn traffic_of_row(&self, shape: &Shape) -> u64 {
        if self.rows <= 1 {
            return 2 * self.width;
        }
        self.pitches.iter().map(|&pitch| touched(self.width, pitch, shape.transaction)).sum()
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

/// Bytes of the transactions that a row of `width` bytes touches, where rows begin `pitch` bytes apart
/// and the first one begins a transaction: the mean over all rows. What rows lie in together is fetched
/// once.
fn touched(width: u64, pitch: u64, transaction: u64) -> u64 {
    // Rows begin at the multiples of this within a transaction, at each of them equally often.
    let step = common_divisor(pitch, transaction);
    let begins = (0..transaction).step_by(usize::try_from(step).expect("a transaction is short"));
    let transactions: u64 = begins.map(|begin| (begin + width).div_ceil(transaction)).sum();
    // As many bytes of each row as there are beginnings in a transaction make whole transactions.
    (transactions * step).min(pitch.max(width))
}

const fn common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { common_divisor(other, one % other) }
}

/// Most pieces of a copy, about.
/// Method: conditions are looked at once for each piece.
const PIECES: u64 = 512;
/// Least bytes of a piece.
/// Method: a small copy is not worth several events.
const PIECE: u64 = 32 << 10;
