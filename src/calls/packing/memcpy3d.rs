//! `cudaMemcpy3D` for each box: a subarray of more dimensions takes several calls.
//!
//! Source: `gpu-pack` Sec. 4.2 (iterated three-dimensional copies of a subarray of 64^4).

use super::boxes::{Joined, pieces};
use super::{DeviceCall, Layout, Memory, Refusal};

pub(super) fn calls(layout: &Layout) -> Result<Vec<DeviceCall>, Refusal> {
    let pieces = pieces(layout, Joined::Slices)?;
    Ok(pieces.iter().map(|piece| piece.copy(Memory::Packed)).collect())
}
