//! What the code of a kernel issues for each piece of its work: the numbers of a profile.
//!
//! Which pieces of work a thread has is known where kernels are written: their threads count them.

use crate::profile::Gpu;

/// The code of the kernels of one GPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Instructions {
    /// Registers of a thread.
    pub registers: u32,
    /// Of a thread, besides those of its levels.
    pub thread: u32,
    /// Of one step of a search.
    pub search_step: u32,
    /// Around a load from a list.
    pub list: u32,
    /// Of a division of numbers of 32 bits and its remainder.
    pub division: u32,
    /// Of a product of 32 bits and its sum.
    pub product: u32,
    /// Of a product of 64 bits and its sum.
    pub product_wide: u32,
    /// Of the load of a field of a node.
    pub field: u32,
    /// Of the loop over levels.
    pub level: u32,
    /// Of a dimension of a subarray, besides its division and its loads.
    pub dimension: u32,
    /// Issue slots of an operation in double precision.
    pub double_slots: u32,
    /// Bytes of a bank of shared memory.
    pub bank: u32,
}

impl Instructions {
    /// Those of a machine; `None` where it has no GPU.
    pub(super) fn of(gpu: &Gpu) -> Option<Self> {
        Some(Self {
            registers: gpu.kernel_registers?,
            thread: gpu.kernel_thread?,
            search_step: gpu.kernel_search_step?,
            list: gpu.kernel_list?,
            division: gpu.kernel_division?,
            product: gpu.kernel_product?,
            product_wide: gpu.kernel_product_wide?,
            field: gpu.kernel_field?,
            level: gpu.kernel_level?,
            dimension: gpu.kernel_dimension?,
            double_slots: gpu.double_slots?,
            bank: u32::try_from(gpu.shared_bank?.as_u64()).expect("a few bytes"),
        })
    }

    /// Issue slots of an operation on numbers of so many bytes.
    pub const fn slots(&self, width: u32) -> u32 {
        if width > 4 { self.double_slots } else { 1 }
    }

    /// Passes of an access of each thread to so many bytes of shared memory.
    pub const fn passes(&self, width: u32) -> u32 {
        width.div_ceil(self.bank)
    }
}
