//! `cudaMemcpy` for each primitive: what a library does that knows nothing of GPUs.
//!
//! Source: `gpu-pack` Sec. 1 (the naive ways).

use super::boxes::Piece;
use super::{DeviceCall, Layout, MOST_CALLS, Memory, Refusal};

pub(super) fn calls(layout: &Layout) -> Result<Vec<DeviceCall>, Refusal> {
    let primitives = layout.encoding.primitives();
    if primitives > MOST_CALLS as u64 {
        return Err(Refusal::Calls);
    }
    let copy = |id| {
        let element = layout.encoding.locate(id);
        let piece = Piece {
            offset: element.input,
            packed: element.output,
            width: element.size,
            rows: 1,
            pitch: 0,
            slices: 1,
            slice: 0,
        };
        piece.copy(Memory::Packed)
    };
    Ok((0..primitives).map(copy).collect())
}
