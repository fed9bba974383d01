//! One `cudaMemcpy` of everything between the first and the last byte; a core of the host picks.
//!
//! ```text
//!   pack     data ──copy──▶ mirror ──core──▶ packed
//!   unpack   data ──copy──▶ mirror ◀──core── packed,  mirror ──copy──▶ data
//! ```
//!
//! What lies between the blocks is moved, too; unpacking fetches it first, so that it comes back as it
//! was. Source: `gpu-pack` Sec. 1 (the naive ways).
//! Left out: others that write between the blocks meanwhile, whose bytes unpacking would overwrite.

use super::boxes::check_rows;
use super::{DeviceCall, End, Layout, Memory, Refusal, Task};

pub(super) fn pack(layout: &Layout) -> Result<Vec<DeviceCall>, Refusal> {
    check_rows(layout)?;
    Ok(vec![fetch(layout), DeviceCall::Host { task: Task::Pack, data: Memory::Mirror }])
}

pub(super) fn unpack(layout: &Layout) -> Result<Vec<DeviceCall>, Refusal> {
    check_rows(layout)?;
    let fetch = fetch(layout);
    let pick = DeviceCall::Host { task: Task::Unpack, data: Memory::Mirror };
    Ok(vec![fetch, pick, fetch.backwards()])
}

/// The copy of the whole extent to the host.
fn fetch(layout: &Layout) -> DeviceCall {
    let (low, high) = layout.encoding.span();
    let end = |memory| End { memory, offset: low, pitch: 0, slice: 0 };
    let (from, to) = (end(Memory::Data), end(Memory::Mirror));
    DeviceCall::Copy { from, to, width: high.abs_diff(low), rows: 1, slices: 1 }
}
