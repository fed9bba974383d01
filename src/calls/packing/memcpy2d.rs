//! `cudaMemcpy2D` for each set of equal rows at equal distances.
//!
//! Source: `gpu-pack` Sec. 2.3, Figs. 4 and 5.

use super::boxes::{Joined, Piece, pieces};
use super::{DeviceCall, Layout, Memory, Refusal};
use mpi::datatype::{Kind, Unit};

pub(super) fn calls(layout: &Layout) -> Result<Vec<DeviceCall>, Refusal> {
    let pieces = match vector(layout) {
        Some(rows) => vec![rows],
        None => pieces(layout, Joined::Rows)?,
    };
    Ok(pieces.iter().map(|piece| piece.copy(Memory::Packed)).collect())
}

/// A vector as it was made: its rows are not joined where they lie back to back, for a caller that
/// has count, blocklength and stride gives these to the driver.
fn vector(layout: &Layout) -> Option<Piece> {
    let Kind::Vector { count, blocklength, stride, unit, child } = layout.datatype.kind() else {
        return None;
    };
    let dense = child.is_one_run() && child.extent() == child.size().cast_signed();
    let width = blocklength.checked_mul(child.size())?;
    let pitch = match unit {
        Unit::Extents => stride.checked_mul(child.extent())?,
        Unit::Bytes => *stride,
    };
    let in_order = pitch >= width.cast_signed() && width > 0;
    let alone = layout.count == 1 && dense && in_order;
    alone.then(|| Piece {
        offset: child.true_lb(),
        packed: 0,
        width,
        rows: *count,
        pitch,
        slices: 1,
        slice: 0,
    })
}
