//! The CPU reference: a core packs data in host memory, one contiguous run after the other.
//!
//! Source: `gpu-pack` Sec. 5.2, Table 4.

use super::{DeviceCall, Task};

pub(super) fn calls() -> Vec<DeviceCall> {
    vec![DeviceCall::Host(Task::Pack)]
}
