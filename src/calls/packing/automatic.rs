//! The method is chosen for each layout: the one that a rule expects to be over first.
//!
//! The rule counts what the calls of a method cost, in bytes that the bus could carry meanwhile: each
//! call and launch a fixed number, each packet its header, each byte that a core moves what it takes
//! longer. Its numbers are those of the machine, as a library would measure when it is installed.
//! Source: extends `gpu-pack` Sec. 4.2.
//! Left out: what else uses the GPU; noticeable where a kernel waits for another one.

use super::boxes::{Joined, pieces};
use super::{DeviceCall, Layout, Memory, Method, Task};
use mpi::datatype::{NodeKind, Observer};

/// Methods to choose from, in order of preference among equals.
const CANDIDATES: [Method; 8] = [
    Method::Blockwise,
    Method::Memcpy2d,
    Method::Memcpy3d,
    Method::PerField,
    Method::WholeExtent,
    Method::DeviceVector,
    Method::Kernel,
    Method::KernelStaged,
];

/// Costs on a machine, in bytes that the bus carries in the same time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Prices {
    /// A copy that is requested and waited for.
    pub call: u64,
    /// From one slice of a copy to the next.
    pub slice: u64,
    /// A kernel, from asking for it until its threads have found what they move.
    pub launch: u64,
    /// Addition to the launch by threads that part on their way to short members.
    pub parting: u64,
    /// Cost, on all SMs, of the instructions of parting threads for a primitive, in millionths.
    pub issue_ppm: u64,
    /// Payload of a full packet; bytes that are really moved.
    pub payload: u64,
    /// Bytes that a packet adds to its payload.
    pub header: u64,
    /// A packet of a row that an engine is slow with.
    pub slow_packet: u64,
    /// A read of the host, of which few are under way.
    pub request: u64,
    /// Fast rows have a width and a distance that are multiples of so many bytes.
    pub aligned: u64,
    /// Bytes of a transaction of the device's memory.
    pub transaction: u64,
    /// A byte of its traffic, in millionths of the time of a byte on the bus.
    pub memory_ppm: u64,
    /// Bytes of a line of the host's memory.
    pub line: u64,
    /// Bytes of memory traffic of a core for each byte that it copies.
    pub copy_traffic: u64,
    /// A byte of that traffic, in millionths of the time of a byte on the bus.
    pub core_ppm: u64,
}

/// The method for a layout.
///
/// # Panics
///
/// Never: a kernel packs every layout.
pub(super) fn choose(layout: &Layout, task: Task, prices: &Prices) -> Method {
    let runs = Runs::of(layout, prices);
    let expected = |method: Method| {
        let calls = method.calls(layout, task).ok()?;
        let cost = calls.iter().map(|call| runs.cost(call, layout, prices)).sum::<u128>();
        Some((cost, method))
    };
    let costs = CANDIDATES.into_iter().filter_map(expected);
    let (_, method) = costs.min_by_key(|&(cost, _)| cost).expect("a kernel packs every layout");
    method
}

/// How the data lie.
struct Runs {
    /// Whether threads part on their way to short members.
    parts: bool,
    /// Pieces of the packed data that threads of one path move.
    pieces: u64,
    /// Bytes of all contiguous blocks, and of the lines around them.
    in_lines: u64,
}

impl Runs {
    fn of(layout: &Layout, prices: &Prices) -> Self {
        let packed = layout.encoding.packed();
        let runs = pieces(layout, Joined::Nothing).map_or(u64::MAX, |runs| runs.len() as u64);
        let parts = below_a_struct(layout) && packed / runs.max(1) < prices.payload;
        let full = packed.div_ceil(prices.payload);
        let pieces = if parts { layout.encoding.primitives() } else { full };
        let (low, high) = layout.encoding.span();
        let lines = packed.saturating_add(runs.saturating_mul(prices.line));
        let in_lines = lines.min(high.abs_diff(low));
        Self { parts, pieces, in_lines }
    }

    fn cost(&self, call: &DeviceCall, layout: &Layout, prices: &Prices) -> u128 {
        let packed = u128::from(layout.encoding.packed());
        let each = |price: u64| u128::from(self.pieces) * u128::from(price);
        let parting = if self.parts { prices.parting } else { 0 };
        let launch = u128::from(prices.launch) + u128::from(parting);
        let issue = if self.parts { each(prices.issue_ppm) / 1_000_000 } else { 0 };
        match *call {
            DeviceCall::Kernel { packed: Memory::Staging, .. } => launch + issue,
            DeviceCall::Kernel { task: Task::Pack, .. } => {
                launch + issue.max(packed + each(prices.header))
            }
            // Requests are under way, however few bytes each asks for.
            DeviceCall::Kernel { task: Task::Unpack, .. } => {
                launch + issue.max(each(prices.request))
            }
            DeviceCall::Host { task, .. } => {
                let lines = u128::from(self.in_lines);
                let (read, written) = match task {
                    Task::Pack => (lines, packed),
                    Task::Unpack => (packed, lines),
                };
                let again = u128::from(prices.copy_traffic.saturating_sub(1));
                (read + again * written) * u128::from(prices.core_ppm) / 1_000_000
            }
            DeviceCall::Copy { from, to, width, rows, slices } => {
                let rows = rows * slices;
                let pitch = (from.pitch | to.pitch).unsigned_abs();
                let row = prices.row(width, pitch, rows == 1);
                let cut = u128::from(rows) * u128::from(row);
                let between = u128::from(slices.saturating_sub(1)) * u128::from(prices.slice);
                let call = u128::from(prices.call) + between;
                if !from.memory.is_of_host() && !to.memory.is_of_host() {
                    let ends = [from, to].map(|end| prices.in_memory(width, end.pitch));
                    return call + u128::from(rows) * u128::from(ends[0] + ends[1]) / 1_000_000;
                }
                if !from.memory.is_of_host() {
                    return call + cut;
                }
                let bytes = u128::from(rows) * u128::from(width);
                let requests = bytes / u128::from(prices.payload);
                call + cut.max(requests * u128::from(prices.request))
            }
        }
    }
}

impl Prices {
    /// A row at one end of a copy inside the device: the transactions that it lies in, in millionths.
    fn in_memory(&self, width: u64, pitch: i64) -> u64 {
        let touched = width.next_multiple_of(self.transaction);
        touched.min(pitch.unsigned_abs().max(width)) * self.memory_ppm
    }

    /// A row of a copy to or from the host.
    fn row(&self, width: u64, pitch: u64, alone: bool) -> u64 {
        let packets = width.div_ceil(self.payload);
        let raw = width + packets * self.header;
        let fast = width.is_multiple_of(self.aligned) && pitch.is_multiple_of(self.aligned);
        if alone || fast { raw } else { raw.max(packets * self.slow_packet) }
    }
}

/// Whether the primitives are those of the members of a struct.
fn below_a_struct(layout: &Layout) -> bool {
    struct Members(bool);
    impl Observer for Members {
        fn level(&mut self, kind: NodeKind, _: u32) {
            self.0 |= kind == NodeKind::Struct;
        }
        fn search_step(&mut self, _: u64) {}
        fn lookaside(&mut self, _: u64) {}
        fn branch(&mut self, _: u32) {}
    }
    let mut members = Members(false);
    // Above the first struct each node has one child: the way of any id shows it.
    if layout.encoding.primitives() > 0 {
        layout.encoding.trace(0, &mut members);
    }
    members.0
}
