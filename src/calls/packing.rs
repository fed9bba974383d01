//! Packing of data in GPU memory: what each method asks the driver of the GPU for.
//!
//! ```text
//!   data (device, noncontiguous) ──┬─ kernel, zero-copy ───────────────▶ packed (pinned host memory)
//!                                  ├─ kernel ─▶ staging (device) ─ copy ▶
//!                                  └─ copies by rows, boxes or blocks ──▶
//! ```
//!
//! A method is a pure function from a layout to a list of [`DeviceCall`]s, each of which begins when
//! the one before it has ended. Unpacking is the same list backwards, with
//! source and destination exchanged.
//! Source: `gpu-pack` Sec. 2.3, 3.2, 4 and 5.2.

mod automatic;
mod blockwise;
pub mod boxes;
mod calls;
mod cpu;
mod device_vector;
mod hand_coded;
mod kernel;
mod memcpy2d;
mod memcpy3d;
mod per_field;
mod points;
mod whole_extent;

pub use automatic::Prices;
pub use calls::{
    Arithmetic, Code, DeviceCall, End, Layout, MOST_CALLS, MOST_ROWS, Memory, Method, Refusal, Task,
};

impl Method {
    /// Every method.
    pub const ALL: [Self; 12] = [
        Self::Kernel,
        Self::KernelStaged,
        Self::HandCoded,
        Self::Memcpy2d,
        Self::Memcpy3d,
        Self::Blockwise,
        Self::PerField,
        Self::DeviceVector,
        Self::Points,
        Self::WholeExtent,
        Self::Cpu,
        Self::Automatic,
    ];

    /// Its name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::KernelStaged => "kernel_staged",
            Self::HandCoded => "hand_coded",
            Self::Memcpy2d => "memcpy2d",
            Self::Memcpy3d => "memcpy3d",
            Self::Blockwise => "blockwise",
            Self::PerField => "per_field",
            Self::DeviceVector => "device_vector",
            Self::Points => "points",
            Self::WholeExtent => "whole_extent",
            Self::Cpu => "cpu",
            Self::Automatic => "automatic",
        }
    }

    /// Itself, or what [`Method::Automatic`] chooses for a layout on a machine with these prices.
    #[must_use]
    pub fn chosen(self, layout: &Layout, task: Task, prices: &Prices) -> Self {
        if self == Self::Automatic { automatic::choose(layout, task, prices) } else { self }
    }

    /// Itself where it can pack the layout, else `fallback`: a library with a fast path for some types
    /// has another one for the rest.
    ///
    /// # Errors
    ///
    /// [`Refusal`] of the method where there is no fallback, else that of the fallback.
    pub fn or(self, fallback: Option<Self>, layout: &Layout, task: Task) -> Result<Self, Refusal> {
        if self == Self::Automatic {
            // It chooses among methods of which one packs every layout.
            return Ok(self);
        }
        match (self.calls(layout, task), fallback) {
            (Ok(_), _) => Ok(self),
            (Err(_), Some(fallback)) => fallback.calls(layout, task).map(|_| fallback),
            (Err(refusal), None) => Err(refusal),
        }
    }

    /// Whether each copy is waited for before the next one is requested: `cudaMemcpy` and its
    /// siblings return when they are done. The others queue their calls in one stream. Of
    /// [`Method::Automatic`], ask what it has chosen.
    pub const fn waits_for_each(self) -> bool {
        match self {
            Self::Kernel | Self::KernelStaged | Self::HandCoded | Self::DeviceVector => false,
            Self::Memcpy2d
            | Self::Memcpy3d
            | Self::Blockwise
            | Self::PerField
            | Self::Points
            | Self::WholeExtent
            | Self::Cpu
            | Self::Automatic => true,
        }
    }

    /// Whether some of the primitives can be packed by themselves: by one kernel, straight to the
    /// host.
    pub const fn packs_parts(self) -> bool {
        matches!(self, Self::Kernel | Self::HandCoded)
    }

    /// Requests to the driver, in order, in one stream.
    ///
    /// # Errors
    ///
    /// [`Refusal`] where the method is not made for such a layout, or was not [chosen](Self::chosen).
    pub fn calls(self, layout: &Layout, task: Task) -> Result<Vec<DeviceCall>, Refusal> {
        let mut calls = match self {
            Self::Kernel => kernel::zero_copy(),
            Self::KernelStaged => kernel::staged(layout),
            Self::HandCoded => hand_coded::calls(),
            Self::Memcpy2d => memcpy2d::calls(layout)?,
            Self::Memcpy3d => memcpy3d::calls(layout)?,
            Self::Blockwise => blockwise::calls(layout)?,
            Self::PerField => per_field::calls(layout)?,
            Self::DeviceVector => device_vector::calls(layout)?,
            Self::Points => points::calls(layout)?,
            // What lies between the data must come back as it was: no packing backwards.
            Self::WholeExtent if task == Task::Unpack => return whole_extent::unpack(layout),
            Self::WholeExtent => whole_extent::pack(layout)?,
            Self::Cpu => cpu::calls(layout)?,
            Self::Automatic => return Err(Refusal::Unchosen),
        };
        if task == Task::Unpack {
            calls.reverse();
            for call in &mut calls {
                *call = call.backwards();
            }
        }
        Ok(calls)
    }
}

#[cfg(test)]
mod tests;
