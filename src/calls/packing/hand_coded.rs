//! A kernel that was written for one type: the same accesses, without the encoding and its loop.
//!
//! Source: `gpu-pack` Sec. 4.2 (the generic kernel is compared with hand-coded ones).

use super::{Code, DeviceCall, Memory, Task};

pub(super) fn calls() -> Vec<DeviceCall> {
    vec![DeviceCall::Kernel { code: Code::HandCoded, task: Task::Pack, packed: Memory::Packed }]
}
