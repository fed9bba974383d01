//! The CPU reference: a core packs data in host memory, one contiguous run after the other.
//!
//! Source: `gpu-pack` Sec. 5.2, Table 4.

use super::boxes::check_rows;
use super::{DeviceCall, Layout, Memory, Refusal, Task};

pub(super) fn calls(layout: &Layout) -> Result<Vec<DeviceCall>, Refusal> {
    check_rows(layout)?;
    Ok(vec![DeviceCall::Host { task: Task::Pack, data: Memory::Data }])
}
