//! Operations of GPUs: what is submitted, when it goes on, and what became of it.

use super::copy::Copy;
use super::kernel::Kernel;
use crate::fabric::Schedule;
use units::{Time, TimeDelta};

/// A GPU of the job: those of a node have consecutive numbers.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct GpuId(pub u32);

/// A stream of one GPU: its operations run one after the other.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Stream(pub u32);

/// An operation of a GPU.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Operation {
    /// Blocks on SMs.
    Kernel(Kernel),
    /// Bytes by an engine.
    Copy(Copy),
}

/// A future event of a GPU, opaque to its users.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct GpuEvent {
    pub(super) gpu: u32,
    pub(super) operation: u32,
}

impl GpuEvent {
    /// The content in one number, for digests.
    pub const fn fingerprint(self) -> u64 {
        (self.gpu as u64) << 32 | self.operation as u64
    }
}

/// Where GPUs, and the fabric for them, put their future events.
pub trait Agenda: Schedule {
    /// Asks for `event` at `time`, never earlier than now.
    fn gpu(&mut self, time: Time, event: GpuEvent);
}

/// An operation ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Done {
    /// Where.
    pub gpu: GpuId,
    /// The token that it was submitted with.
    pub token: u64,
}

/// Statistics of one GPU since the run began.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct GpuStats {
    /// Kernels that ended.
    pub kernels: u64,
    /// Their blocks.
    pub blocks: u64,
    /// Waves that these ran in.
    pub waves: u64,
    /// Time during which some block was on an SM.
    pub kernel_busy: TimeDelta,
    /// Copies that ended, by [`super::Direction`].
    pub copies: [u64; 3],
    /// Their bytes.
    pub copied: [u64; 3],
    /// Time during which an engine had a copy of the direction.
    pub copy_busy: [TimeDelta; 3],
    /// Most operations that ever waited for SMs or an engine.
    pub queue_max: u32,
}

/// Bit of the tokens of transfers that belong to GPUs.
/// Encoding: the highest one.
pub(super) const GPU_TOKEN: u64 = 1 << 63;

/// Whether a delivery of the fabric is for [`super::Gpus::delivered`]; users of the fabric leave this bit to
/// GPUs.
pub const fn is_gpu_token(token: u64) -> bool {
    token & GPU_TOKEN != 0
}
