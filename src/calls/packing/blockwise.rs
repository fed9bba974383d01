//! `cudaMemcpy` for each contiguous block.
//!
//! Source: `gpu-pack` Sec. 4.2 (indexed types) and 4.3.

use super::boxes::{Joined, pieces};
use super::{DeviceCall, Layout, Memory, Refusal};

pub(super) fn calls(layout: &Layout) -> Result<Vec<DeviceCall>, Refusal> {
    let pieces = pieces(layout, Joined::Nothing)?;
    Ok(pieces.iter().map(|piece| piece.copy(Memory::Packed)).collect())
}
