//! What one GPU is made of: the numbers of a profile, ready for use.

use super::block::Block;
#[cfg(feature = "mutants")]
use super::flaw::Flaw;
use super::instructions::Instructions;
use crate::profile::Profile;
use units::{Bandwidth, Frequency, PS_PER_S, TimeDelta};

/// When a row of a copy costs more than its bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RowRule {
    /// Fast rows have a width and a distance that are multiples of so many bytes.
    pub align: u64,
    /// Engine time of a fast row beyond that of its bytes.
    pub aligned_extra: TimeDelta,
    /// Engine time of each packet of any other row, at least.
    pub unaligned: TimeDelta,
}

/// One GPU and its bus.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Shape {
    /// Multiprocessors.
    pub sms: u32,
    /// Threads of a warp.
    pub warp: u32,
    /// Instructions of warps that one SM issues in a second.
    pub issue_rate: Frequency,
    /// From one instruction of a warp to the next that needs its result.
    pub instruction_latency: TimeDelta,
    /// Threads that an SM holds.
    pub threads_per_sm: u32,
    /// Blocks that an SM holds.
    pub blocks_per_sm: u32,
    /// Registers of an SM.
    pub registers_per_sm: u32,
    /// Shared memory of an SM, in bytes.
    pub shared_per_sm: u64,
    /// Load from shared memory.
    pub shared_latency: TimeDelta,
    /// Kernels that an SM holds at the same time.
    pub kernels_per_sm: u32,
    /// Kernels that run at the same time.
    pub concurrent_kernels: u32,
    /// Traffic of the device memory.
    pub memory_bw: Bandwidth,
    /// Bytes of a transaction of the device memory.
    pub transaction: u64,
    /// Load from device memory.
    pub memory_latency: TimeDelta,
    /// Bytes of the first-level cache of an SM; 0 where loads go past it.
    pub l1_size: u64,
    /// Load that hits it.
    pub l1_latency: TimeDelta,
    /// Bytes of the second-level cache.
    pub l2_size: u64,
    /// Lines of a set of both caches.
    pub cache_ways: u32,
    /// Load that hits the second-level cache.
    pub l2_latency: TimeDelta,
    /// Engines that copy.
    pub copy_engines: u32,
    /// Core time of asking for an operation.
    pub call_overhead: TimeDelta,
    /// From asking for a kernel until its first block can start.
    pub launch_latency: TimeDelta,
    /// From asking for a copy until its first byte can move.
    pub copy_latency: TimeDelta,
    /// Cost of rows.
    pub rows: RowRule,
    /// Payload bytes of a TLP, at most.
    pub payload: u64,
    /// Bytes that a TLP to the host adds to its payload, its part of the DLLPs included.
    pub write_overhead: u64,
    /// Bytes that a TLP with read data adds to its payload, likewise.
    pub read_overhead: u64,
    /// Raw rate of one direction of the bus.
    pub bus: Bandwidth,
    /// From a store until the host has it.
    pub write_latency: TimeDelta,
    /// From a read request until its data.
    pub read_latency: TimeDelta,
    /// How much longer a read takes behind writes.
    pub behind_writes: TimeDelta,
    /// Bytes of a read request.
    pub read_request: u64,
    /// Read requests that a copy engine has under way.
    pub copy_reads: u32,
    /// Read requests that the SMs have under way.
    pub sm_reads: u32,
    /// Share of the SMs' stores where a copy engine has 1.
    pub sm_share: u32,
    /// Rate at which a core copies into the buffers that pageable memory is staged in.
    pub staging_bw: Bandwidth,
    /// Instructions that the code of kernels issues.
    pub instructions: Instructions,
    /// A planted bug.
    #[cfg(feature = "mutants")]
    pub flaw: Option<Flaw>,
}

impl Shape {
    /// The GPU of a machine; `None` where it has none.
    pub fn of(profile: &Profile) -> Option<Self> {
        let (gpu, pcie) = (&profile.gpu, &profile.pcie);
        let dllp = pcie.dllp_overhead_per_tlp.as_u64();
        let issue = gpu.clock?.as_hz() * u64::from(gpu.issue_per_cycle?);
        Some(Self {
            sms: gpu.sm_count?,
            warp: gpu.warp?,
            issue_rate: Frequency::from_hz(issue),
            instruction_latency: gpu.instruction_latency?,
            threads_per_sm: gpu.max_threads_per_sm?,
            blocks_per_sm: gpu.max_blocks_per_sm?,
            registers_per_sm: gpu.registers_per_sm?,
            shared_per_sm: gpu.shared_per_sm?.as_u64(),
            shared_latency: gpu.shared_latency?,
            kernels_per_sm: gpu.concurrent_kernels_per_sm?,
            concurrent_kernels: gpu.concurrent_kernels?,
            memory_bw: gpu.mem_bw_effective?,
            transaction: gpu.mem_transaction?.as_u64(),
            memory_latency: gpu.mem_latency?,
            l1_size: gpu.l1_size.unwrap_or_default().as_u64(),
            l1_latency: gpu.l1_latency?,
            l2_size: gpu.l2_size?.as_u64(),
            cache_ways: gpu.cache_ways?,
            l2_latency: gpu.l2_latency?,
            copy_engines: gpu.copy_engines?,
            call_overhead: gpu.call_overhead?,
            launch_latency: gpu.kernel_launch_latency?,
            copy_latency: gpu.memcpy_call_latency?,
            rows: RowRule {
                align: gpu.memcpy2d_align.as_u64(),
                aligned_extra: gpu.memcpy2d_row_aligned_extra.unwrap_or_default(),
                unaligned: gpu.memcpy2d_row_unaligned.unwrap_or_default(),
            },
            payload: gpu.pcie_payload.as_u64(),
            write_overhead: pcie.tlp_overhead.as_u64() + dllp,
            read_overhead: pcie.completion_overhead.as_u64() + dllp,
            bus: pcie.raw_bw,
            write_latency: pcie.mmio_write,
            read_latency: pcie.dma_read_round_trip,
            behind_writes: gpu.pcie_read_behind_writes.unwrap_or_default(),
            read_request: gpu.pcie_read_request?.as_u64(),
            copy_reads: gpu.copy_outstanding_reads?,
            sm_reads: gpu.sm_outstanding_reads?,
            sm_share: gpu.arbitration_sm_to_ce?,
            staging_bw: profile.mem.core_copy_bw_dram,
            instructions: Instructions::of(gpu)?,
            #[cfg(feature = "mutants")]
            flaw: None,
        })
    }

    /// The same with a planted bug.
    #[cfg(feature = "mutants")]
    #[must_use]
    pub const fn with(mut self, flaw: Flaw) -> Self {
        self.flaw = Some(flaw);
        self
    }

    /// Whether it has this one.
    #[cfg(feature = "mutants")]
    pub(super) fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    /// GPUs of each node of a machine.
    pub fn per_node(profile: &Profile) -> u32 {
        profile.gpu.sm_count.map_or(0, |_| profile.gpu.per_node)
    }

    /// Blocks of this kind that one SM holds; 0 where a block does not fit.
    pub fn resident(&self, block: Block) -> u32 {
        let warps = block.threads.div_ceil(self.warp);
        let threads = warps * self.warp;
        let fit = |most: u64, each: u64| most.checked_div(each).unwrap_or(u64::MAX);
        let by_registers = u64::from(threads) * u64::from(block.registers);
        let limits = [
            u64::from(self.blocks_per_sm),
            fit(u64::from(self.threads_per_sm), u64::from(threads)),
            fit(u64::from(self.registers_per_sm), by_registers),
            fit(self.shared_per_sm, block.shared),
        ];
        limits.into_iter().min().and_then(|least| u32::try_from(least).ok()).unwrap_or(u32::MAX)
    }

    /// The rate of reads of which `requests` are under way, each for so long (Little's law).
    pub(super) fn read_rate(&self, requests: u32, latency: TimeDelta) -> Bandwidth {
        let bits = u128::from(self.read_request) * u128::from(requests) * 8;
        let rate = bits * u128::from(PS_PER_S) / u128::from(latency.as_ps().max(1));
        Bandwidth::from_bit_per_s(u64::try_from(rate).unwrap_or(u64::MAX).max(1))
    }
}
