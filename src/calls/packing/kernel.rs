//! The generic kernel: a thread for each primitive, which it finds in the encoding by its id.
//!
//! ```text
//!   zero-copy   kernel ──stores──▶ packed, over the bus, while it runs
//!   staged      kernel ──stores──▶ staging ──copy──▶ packed
//! ```
//!
//! Source: `gpu-pack` Sec. 3.2.2.

use super::{Code, DeviceCall, Layout, Memory, Task};

/// Straight into pinned memory of the host.
pub(super) fn zero_copy() -> Vec<DeviceCall> {
    vec![DeviceCall::Kernel { code: Code::Generic, task: Task::Pack, packed: Memory::Packed }]
}

/// By way of device memory.
pub(super) fn staged(layout: &Layout) -> Vec<DeviceCall> {
    let bytes = layout.encoding.packed();
    vec![
        DeviceCall::Kernel { code: Code::Generic, task: Task::Pack, packed: Memory::Staging },
        DeviceCall::contiguous(Memory::Staging, Memory::Packed, bytes),
    ]
}
