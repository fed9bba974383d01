//! Rows are made contiguous inside the device by `cudaMemcpy2D`, then one copy moves them out.
//!
//! Source: `gpu-pack` Sec. 2.3 and 4.3: the way of MVAPICH 1.8 for vectors; the two parts do not overlap.

use super::boxes::{Joined, pieces};
use super::{DeviceCall, Layout, Memory, Refusal};

pub(super) fn calls(layout: &Layout) -> Result<Vec<DeviceCall>, Refusal> {
    let pieces = pieces(layout, Joined::Rows)?;
    let [rows] = pieces[..] else { return Err(Refusal::NoRows) };
    let bytes = layout.encoding.packed();
    Ok(vec![
        rows.copy(Memory::Staging),
        DeviceCall::contiguous(Memory::Staging, Memory::Packed, bytes),
    ])
}
