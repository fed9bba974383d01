//! Packing of data in GPU memory, alone or beside something else on the same GPU.
//!
//! Source: `gpu-pack` Sec. 4.2 (Figs. 4 and 5), 4.4 (Table 2) and 5.2 (Table 4).

use crate::protocols::packing::{Layout, Method, Refusal, Task};
use crate::runtime::device::{Asked, Step};
use crate::units::TimeDelta;

/// One packing.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Packing {
    /// What is packed.
    pub layout: Layout,
    /// How.
    pub method: Method,
    /// Which way.
    pub task: Task,
    /// Threads of a block of the kernel.
    pub threads_per_block: u32,
    /// What else the GPU does.
    pub beside: Option<Beside>,
}

/// Something that runs in another stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Beside {
    /// What.
    pub what: Other,
    /// When it is asked for.
    pub order: Order,
}

/// Another user of the GPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Other {
    /// A kernel on all SMs, which takes so long alone.
    Kernel(TimeDelta),
    /// A copy of so many bytes into device memory.
    ToDevice(u64),
    /// A copy of so many bytes out of it.
    ToHost(u64),
}

/// Who is asked for first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Order {
    /// The other one; the packing is asked for when it has ended.
    Serial,
    /// The other one, and the packing at once after it.
    OtherFirst,
    /// The packing, and the other one at once after it.
    PackFirst,
}

/// The part of a run that packs.
pub const PACK: u32 = 0;
/// The part that something else does.
pub const OTHER: u32 = 1;

impl Packing {
    /// What the host asks for.
    ///
    /// # Errors
    ///
    /// [`Refusal`] where the method is not made for the layout.
    pub fn steps(&self) -> Result<Vec<Step>, Refusal> {
        let ask = |part, asked| Step::Ask { stream: part, asked, part };
        let calls = self.method.calls(&self.layout, self.task)?;
        let waits = self.method.waits_for_each();
        let pack = calls.into_iter().enumerate().flat_map(|(index, call)| {
            let before = (waits && index > 0).then_some(Step::WaitFor(PACK));
            before.into_iter().chain([ask(PACK, Asked::Pack(call))])
        });
        let Some(Beside { what, order }) = self.beside else {
            return Ok(pack.chain([Step::Wait]).collect());
        };
        let other = ask(
            OTHER,
            match what {
                Other::Kernel(time) => Asked::Compute(time),
                Other::ToDevice(bytes) => Asked::CopyIn(bytes),
                Other::ToHost(bytes) => Asked::CopyOut(bytes),
            },
        );
        Ok(match order {
            Order::Serial => [other, Step::Wait].into_iter().chain(pack).collect(),
            Order::OtherFirst => [other].into_iter().chain(pack).collect(),
            Order::PackFirst => pack.chain([other]).collect(),
        })
    }
}
