//! `cudaMemcpy2D` for each member of a struct: its rows are as far apart as the elements.
//!
//! Source: `gpu-pack` Sec. 4.2 (struct of 24 B extent), Table 4 (one copy for each field).

use super::{DeviceCall, End, Layout, Memory, Refusal};
use mpi::datatype::{Datatype, Kind};

pub(super) fn calls(layout: &Layout) -> Result<Vec<DeviceCall>, Refusal> {
    let Kind::Struct { blocklengths, displacements, packed, children } =
        unbounded(&layout.datatype).kind()
    else {
        return Err(Refusal::NoStruct);
    };
    let (extent, size) = (layout.datatype.extent(), layout.datatype.size());
    let mut calls = Vec::new();
    for (member, child) in children.iter().enumerate() {
        let width = child.size() * blocklengths[member];
        if width == 0 {
            continue;
        }
        if !child.is_one_run() || child.size().cast_signed() != child.extent() {
            return Err(Refusal::Scattered(member));
        }
        if layout.count > 1 && extent < width.cast_signed() {
            return Err(Refusal::Pitch(extent));
        }
        let from = End {
            memory: Memory::Data,
            offset: displacements[member] + child.true_lb(),
            pitch: extent,
            slice: 0,
        };
        let to = End {
            memory: Memory::Packed,
            offset: packed[member].cast_signed(),
            pitch: size.cast_signed(),
            slice: 0,
        };
        calls.push(DeviceCall::Copy { from, to, width, rows: layout.count, slices: 1 });
    }
    Ok(calls)
}

/// Datatype that new bounds were put around.
fn unbounded(datatype: &Datatype) -> &Datatype {
    if let Kind::Resized { child, .. } = datatype.kind() { unbounded(child) } else { datatype }
}
