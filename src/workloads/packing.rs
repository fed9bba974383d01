//! Packing of data in GPU memory, alone or beside something else on the same GPU.
//!
//! Source: `gpu-pack` Sec. 4.2 (Figs. 4 and 5), 4.4 (Table 2) and 5.2 (Table 4).

use calls::packing::{Layout, Method, Refusal, Task};
use runtime::device::{DeviceOperation, HostStep};
use units::TimeDelta;

/// One packing.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Packing {
    /// The layout to be packed.
    pub layout: Layout,
    /// How.
    pub method: Method,
    /// Which way.
    pub task: Task,
    /// Threads of a block of the kernel.
    pub threads_per_block: u32,
    /// The other work of the GPU.
    pub beside: Option<Beside>,
}

/// Something that runs in another stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Beside {
    /// What.
    pub what: Other,
    /// When it is requested.
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
    /// Both copies at once, in two streams.
    Exchange(u64),
    /// The same packing, by a core of another process.
    Packing(Contexts),
    /// A kernel on all SMs that computes for so long and stores so many bytes into host memory.
    Writing(TimeDelta, u64),
}

/// The part of a run that packs.
pub const PACK: u32 = 0;
/// The part that something else does.
pub const OTHER: u32 = 1;
/// The stream of the second copy of an exchange.
/// Encoding: number of a stream.
const BACK: u32 = 2;

impl Packing {
    /// Whether the operations of different cores take turns on the GPU.
    pub fn take_turns(&self) -> bool {
        let own = Other::Packing(Contexts::Own);
        self.beside.is_some_and(|beside| beside.what == own && beside.order != Order::Serial)
    }

    /// The requests of each core of the host.
    ///
    /// # Errors
    ///
    /// [`Refusal`] where the method is not made for the layout.
    pub fn programs(&self) -> Result<Vec<Vec<HostStep>>, Refusal> {
        let pack = self.pack(PACK)?;
        let Some(beside @ Beside { what, order }) = self.beside else {
            return Ok(vec![[pack, vec![HostStep::Wait]].concat()]);
        };
        if let Other::Packing(_) = what {
            let other = self.pack(OTHER)?;
            return Ok(match order {
                Order::Serial => vec![[other, vec![HostStep::Wait], pack].concat()],
                Order::OtherFirst => vec![other, pack],
                Order::PackFirst => vec![pack, other],
            });
        }
        let other = beside.steps();
        let together = match order {
            Order::Serial => [other, vec![HostStep::Wait], pack].concat(),
            Order::OtherFirst => [other, pack].concat(),
            Order::PackFirst => [pack, other].concat(),
        };
        Ok(vec![together])
    }

    /// The packing, as this part.
    fn pack(&self, part: u32) -> Result<Vec<HostStep>, Refusal> {
        let calls = self.method.calls(&self.layout, self.task)?;
        let waits = self.method.waits_for_each();
        let steps = calls.into_iter().enumerate().flat_map(|(index, call)| {
            let before = (waits && index > 0).then_some(HostStep::WaitFor(part));
            before.into_iter().chain([ask(part, DeviceOperation::Pack(call))])
        });
        Ok(steps.collect())
    }
}

form::words! {
    /// The order of the requests.
    pub enum Order {
        /// the other one, and the packing when it has ended
        Serial = "serial",
        /// the other one, and the packing at once after it
        OtherFirst = "other_first",
        /// the packing, and the other one at once after it
        PackFirst = "pack_first",
    }
}

form::words! {
    /// Whether processes that use one GPU share a context on it.
    pub enum Contexts {
        /// each has one of its own, and they take turns
        Own = "own",
        /// one serves both: their operations overlap like those of two streams
        Shared = "shared",
    }
}

/// Asks for something in the stream of its part.
const fn ask(part: u32, asked: DeviceOperation) -> HostStep {
    HostStep::Ask { stream: part, asked, part }
}

impl Beside {
    /// The steps of a request that is no packing.
    fn steps(self) -> Vec<HostStep> {
        match self.what {
            Other::Kernel(time) => vec![ask(OTHER, DeviceOperation::Compute { time, stores: 0 })],
            Other::Writing(time, stores) => {
                vec![ask(OTHER, DeviceOperation::Compute { time, stores })]
            }
            Other::ToDevice(bytes) => vec![ask(OTHER, DeviceOperation::CopyIn(bytes))],
            Other::ToHost(bytes) => vec![ask(OTHER, DeviceOperation::CopyOut(bytes))],
            Other::Exchange(bytes) => {
                let back = HostStep::Ask {
                    stream: BACK,
                    asked: DeviceOperation::CopyOut(bytes),
                    part: OTHER,
                };
                vec![ask(OTHER, DeviceOperation::CopyIn(bytes)), back]
            }
            Other::Packing(_) => Vec::new(),
        }
    }
}
