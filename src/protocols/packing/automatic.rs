//! The method is chosen for each layout: the one that a rule expects to be over first.
//!
//! The rule counts what the calls of a method cost, in bytes that the bus could carry meanwhile: each
//! call and launch a fixed number, each packet its header, each byte that a core moves what it takes
//! longer. Its numbers are those of one machine, rounded; elsewhere the choice is worse, not wrong.
//! Source: extends `gpu-pack` Sec. 4.2; the numbers follow from `models/arc-c2050-qdr.json`.
//! Left out: what else uses the GPU; noticeable where a kernel waits for another one.

use super::boxes::{Joined, pieces};
use super::{DeviceCall, Layout, Memory, Method, Refusal, Task};
use crate::mpi::datatype::{NodeKind, Observer};

/// What is chosen from, the one to take among equals first.
const CANDIDATES: [Method; 7] = [
    Method::Blockwise,
    Method::Memcpy2d,
    Method::Memcpy3d,
    Method::PerField,
    Method::WholeExtent,
    Method::Kernel,
    Method::KernelStaged,
];

/// A copy that is asked for and waited for: some 6 us.
const CALL: u128 = 48 << 10;
/// A kernel: some 12 us.
const LAUNCH: u128 = 96 << 10;
/// What threads add that part on their way to short members: some 20 us.
const PARTING: u128 = 160 << 10;
/// Payload of a full packet.
const PAYLOAD: u64 = 128;
/// What a packet adds to it.
const HEADER: u64 = 28;
/// A packet of a row that an engine is slow with takes as long as so many bytes.
const SLOW_PACKET: u64 = 200;
/// So does a read of the host, of which few are under way.
const REQUEST: u64 = 206;
/// Fast rows have a width and a distance that are multiples of this.
const ALIGNED: u64 = 32;
/// A core takes for a byte as long as the bus for so many halves.
const CORE_HALVES: u128 = 7;

/// The method for a layout.
///
/// # Errors
///
/// [`Refusal`] where none can pack it.
pub(super) fn choose(layout: &Layout, task: Task) -> Result<Method, Refusal> {
    let runs = Runs::of(layout);
    let expected = |method: Method| {
        let calls = method.calls(layout, task).ok()?;
        let cost = calls.iter().map(|call| runs.cost(call, layout)).sum::<u128>();
        Some((cost, method))
    };
    let costs = CANDIDATES.into_iter().filter_map(expected);
    costs.min_by_key(|&(cost, _)| cost).map(|(_, method)| method).ok_or(Refusal::Calls)
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
    fn of(layout: &Layout) -> Self {
        let packed = layout.encoding.packed();
        let runs = pieces(layout, Joined::Nothing).map_or(u64::MAX, |runs| runs.len() as u64);
        let parts = below_a_struct(layout) && packed / runs.max(1) < PAYLOAD;
        let full = packed.div_ceil(PAYLOAD);
        let pieces = if parts { layout.encoding.primitives() } else { full };
        let (low, high) = layout.encoding.span();
        let in_lines = packed.saturating_add(runs.saturating_mul(64)).min(high.abs_diff(low));
        Self { parts, pieces, in_lines }
    }

    fn cost(&self, call: &DeviceCall, layout: &Layout) -> u128 {
        let packed = u128::from(layout.encoding.packed());
        let launch = LAUNCH + if self.parts { PARTING } else { 0 };
        match *call {
            DeviceCall::Kernel { packed: Memory::Staging, .. } => launch,
            DeviceCall::Kernel { task: Task::Pack, .. } => {
                launch + packed + u128::from(self.pieces) * u128::from(HEADER)
            }
            // Requests are under way, however few bytes each asks for.
            DeviceCall::Kernel { task: Task::Unpack, .. } => {
                launch + u128::from(self.pieces) * u128::from(REQUEST)
            }
            DeviceCall::Host { task, .. } => {
                let lines = u128::from(self.in_lines);
                let bytes = match task {
                    Task::Pack => lines + 2 * packed,
                    Task::Unpack => packed + 2 * lines,
                };
                bytes * CORE_HALVES / 6
            }
            DeviceCall::Copy { from, to, width, rows, slices } => {
                let rows = rows * slices;
                let pitch = (from.pitch | to.pitch).unsigned_abs();
                let cut = u128::from(rows) * u128::from(row(width, pitch, rows == 1));
                if !from.memory.is_of_host() {
                    return CALL + cut;
                }
                let requests = u128::from(rows) * u128::from(width) / u128::from(PAYLOAD);
                CALL + cut.max(requests * u128::from(REQUEST))
            }
        }
    }
}

/// A row of a copy.
fn row(width: u64, pitch: u64, alone: bool) -> u64 {
    let packets = width.div_ceil(PAYLOAD);
    let raw = width + packets * HEADER;
    let fast = width.is_multiple_of(ALIGNED) && pitch.is_multiple_of(ALIGNED);
    if alone || fast { raw } else { raw.max(packets * SLOW_PACKET) }
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
