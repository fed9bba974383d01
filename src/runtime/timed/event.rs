//! Events: what happens at points in time.

use engine::mix;
use hardware::fabric::FabricEvent;
use hardware::gpu::GpuEvent;

/// An event of a run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// A wire or bus has something to do.
    Fabric(FabricEvent),
    /// Flight `0` leaves its core.
    Depart(u32),
    /// The queue pair may begin flight `0`.
    QueuePairFree(u32),
    /// Flight `0` is in the receiver's shared cell.
    Neighbour(u32),
    /// The completion of flight `0` is in host memory.
    Completed(u32),
    /// Thread `0` begins.
    Begin(u32),
    /// Thread `0` has come to the end of what it was doing.
    ListEnd(u32),
    /// Thread `0` begins a copy that memory shares.
    CopyStart(u32),
    /// A step of thread `0`'s list that others can see begins.
    Step(u32),
    /// The pass of thread `0` meets an arrival, or ends; stale unless generation `1` is current.
    Notice(u32, u32),
    /// The program of thread `0` reads or writes memory that others can reach.
    Access(u32),
    /// The atomic unit of an HCA has done flight `0`.
    Atomic(u32),
    /// Thread `0` asks the kernel to pin the next pages of a neighbour.
    Pin(u32),
    /// Pages of process `0` may be pinned; stale unless generation `1` is current.
    Pinned(u32, u32),
    /// Thread `0` has moved what its cache holds of a batch.
    Moved(u32),
    /// The head of channel `0` of a process tries again after receiver-not-ready.
    Retry(u32),
    /// Lock `0` takes its next step by itself; stale unless generation `1` is current.
    Lock(u32, u32),
    /// Operation `0` of a GPU is requested.
    Ask(u32),
    /// The latency of an operation of a GPU is over.
    Gpu(GpuEvent),
    /// Fault `0` of the plan begins.
    Fault(u32),
    /// It ends.
    FaultEnd(u32),
    /// The transport timer of connection `0` may have run out.
    Timer(u32),
    /// An acknowledgement is at the adapter of channel `0`, which has a pace.
    Acknowledged(u32),
    /// Answer `0` has come to the HCA that sent what it answers.
    Answer(u32),
    /// Packet `0`, which a link has held back, comes to the HCA.
    Late(u32),
    /// The value that a thread waits for can be seen, by number `0`.
    Seen(u32),
    /// The adapter looks at what waits for thread `0`, which may compute.
    Adapter(u32),
    /// The next pass of thread `0` is one over all lanes.
    Sweep(u32),
}

impl engine::Event for Event {
    #[inline]
    fn fingerprint(&self) -> u64 {
        let (kind, content) = match *self {
            Self::Fabric(event) => (1, event.fingerprint()),
            Self::Depart(flight) => (2, u64::from(flight)),
            Self::Neighbour(flight) => (3, u64::from(flight)),
            Self::Completed(flight) => (4, u64::from(flight)),
            Self::Begin(thread) => (5, u64::from(thread)),
            Self::ListEnd(thread) => (6, u64::from(thread)),
            Self::CopyStart(thread) => (7, u64::from(thread)),
            Self::Step(thread) => (8, u64::from(thread)),
            Self::Notice(thread, _) => (10, u64::from(thread)),
            Self::Retry(channel) => (11, u64::from(channel)),
            Self::QueuePairFree(flight) => (12, u64::from(flight)),
            Self::Lock(lock, _) => (13, u64::from(lock)),
            Self::Access(thread) => (14, u64::from(thread)),
            Self::Atomic(flight) => (15, u64::from(flight)),
            Self::Pin(thread) => (16, u64::from(thread)),
            Self::Pinned(process, _) => (17, u64::from(process)),
            Self::Moved(thread) => (18, u64::from(thread)),
            Self::Ask(operation) => (19, u64::from(operation)),
            Self::Gpu(event) => (20, event.fingerprint()),
            Self::Fault(fault) => (21, u64::from(fault)),
            Self::FaultEnd(fault) => (22, u64::from(fault)),
            Self::Timer(connection) => (23, u64::from(connection)),
            Self::Answer(answer) => (24, u64::from(answer)),
            Self::Late(packet) => (25, u64::from(packet)),
            Self::Seen(id) => (27, u64::from(id)),
            Self::Adapter(thread) => (26, u64::from(thread)),
            Self::Sweep(thread) => (28, u64::from(thread)),
            Self::Acknowledged(channel) => (29, u64::from(channel)),
        };
        mix(kind, content)
    }
}

/// Phases that time is attributed to; see [`Tag`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub(super) enum Phase {
    Wire = 1,
    Post,
    Neighbour,
    Completion,
    Library,
    Copy,
    Poll,
    NotReady,
    Start,
    Lock,
    Atomic,
    Pinning,
    Device,
    Fault,
    Adapter,
    Kernel,
}
