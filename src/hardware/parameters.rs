//! Every parameter of a machine profile: one table makes the structs, the paths and their rules.
//!
//! A line reads `name: Kind = rule, "plausible low" .. "plausible high";`. The rules are
//! `required`, `optional` (absent: not limiting, or none), `default("value")`, `same_as("path")` and
//! `required_with("path")` (needed where that one is named, and else there is none). A value outside its plausible band is accepted with a warning; a zero is
//! refused where the band does not begin at zero, times and costs excepted: those may be neglected.

use super::profile::{Fallback, Field, Parameter};
use super::value::{Kind, Ratio};
use units::{Bandwidth, Bytes, CostPerByte, Frequency, Rate, TimeDelta};

macro_rules! field_type {
    (optional, $kind:ident) => { Option<field_type!($kind)> };
    (required_with, $kind:ident) => { Option<field_type!($kind)> };
    (part_same_as, $kind:ident) => { Option<field_type!($kind)> };
    ($rule:ident, $kind:ident) => { field_type!($kind) };
    (Time) => { TimeDelta };
    (Count) => { u32 };
    (Flag) => { bool };
    ($kind:ident) => { $kind };
}

macro_rules! fallback {
    (required) => {
        Fallback::Required
    };
    (optional) => {
        Fallback::Absent
    };
    (default $text:literal) => {
        Fallback::Default($text)
    };
    (same_as $path:literal) => {
        Fallback::SameAs($path)
    };
    (required_with $path:literal) => {
        Fallback::RequiredWith($path)
    };
    (part_same_as $path:literal) => {
        Fallback::SameAs($path)
    };
}

macro_rules! profile {
    ($(
        #[doc = $section_doc:literal]
        $section:ident: $Section:ident {$(
            $(#[doc = $doc:literal])+
            $name:ident: $kind:ident = $rule:ident $(($with:literal))?, $low:literal .. $high:literal;
        )+}
    )+) => {
        /// A machine: what its parts cost, every number checked.
        #[derive(Clone, Debug, Eq, PartialEq)]
        pub struct Profile {$(
            #[doc = $section_doc]
            pub $section: $Section,
        )+}

        $(
            #[doc = $section_doc]
            #[derive(Clone, Debug, Eq, PartialEq)]
            pub struct $Section {$(
                $(#[doc = $doc])+
                pub $name: field_type!($rule, $kind),
            )+}
        )+

        /// Every parameter, section by section.
        pub static PARAMETERS: &[Parameter] = &[$($(
            Parameter {
                path: concat!(stringify!($section), ".", stringify!($name)),
                kind: Kind::$kind,
                fallback: fallback!($rule $($with)?),
                doc: concat!($($doc),+).trim_ascii(),
                band: ($low, $high),
            },
        )+)+];

        impl Profile {
            /// The profile of resolved values, in steps, in the order of [`PARAMETERS`].
            pub(super) fn from_steps(mut steps: impl Iterator<Item = Option<u64>>) -> Self {
                let mut next = || steps.next().expect("one entry for each parameter");
                Self {$(
                    $section: $Section {$(
                        $name: Field::from_steps(next()),
                    )+},
                )+}
            }

            /// The steps of every value, in the order of [`PARAMETERS`].
            pub(super) fn steps(&self) -> impl Iterator<Item = Option<u64>> {
                [$($(Field::to_steps(&self.$section.$name),)+)+].into_iter()
            }
        }
    };
}

profile! {
    /// Cores of a node.
    cpu: Cpu {
        /// Sockets of a node.
        sockets: Count = required, "1" .. "8";
        /// Cores of a socket.
        cores_per_socket: Count = required, "1" .. "256";
        /// Cores that share a cache closer than their socket's: a tile with one second level, a
        /// chiplet with one last level; 1: none do.
        cores_per_tile: Count = default("1"), "1" .. "16";
        /// Hardware threads of a core.
        smt: Count = required, "1" .. "8";
        /// Core clock.
        clock: Frequency = required, "400 MHz" .. "6 GHz";
        /// Whether a core issues in program order.
        in_order: Flag = default("false"), "false" .. "true";
        /// Time of a software path relative to the reference core of the sources.
        sw_scale: Ratio = required, "0.2" .. "20";
        /// Part of a core's issue slots that one hardware thread alone can use.
        smt_share: Ratio = default("1"), "0.2" .. "1";
    }

    /// Memory and copies.
    mem: Mem {
        /// Memory of a node.
        capacity: Bytes = required, "1 GB" .. "8192 GB";
        /// Traffic that one socket's memory carries.
        socket_bw: Bandwidth = required, "5 GB/s" .. "4000 GB/s";
        /// Payload rate of one core copying inside its caches.
        core_copy_bw: Bandwidth = required, "0.5 GB/s" .. "100 GB/s";
        /// Payload rate of one core copying inside its first level.
        core_copy_bw_l1: Bandwidth = same_as("mem.core_copy_bw"), "0.5 GB/s" .. "400 GB/s";
        /// Payload rate of one core copying what its last level alone holds, beyond the levels before.
        core_copy_bw_llc: Bandwidth = same_as("mem.core_copy_bw"), "0.5 GB/s" .. "100 GB/s";
        /// Payload rate of one core copying beyond its caches.
        core_copy_bw_dram: Bandwidth = same_as("mem.core_copy_bw"), "0.5 GB/s" .. "50 GB/s";
        /// Payload rate of one core copying from or to the memory of another socket.
        core_copy_bw_remote: Bandwidth = same_as("mem.core_copy_bw_dram"), "0.2 GB/s" .. "50 GB/s";
        /// Bytes of memory traffic for each payload byte copied beyond the caches: 3 with
        /// write-allocate, 2 without.
        copy_traffic: Count = required, "2" .. "3";
        /// Rate of each direction between two sockets; absent: not limiting.
        intersocket_bw: Bandwidth = optional, "5 GB/s" .. "500 GB/s";
        /// Load from the memory of the own socket.
        latency_local: Time = required, "50 ns" .. "1 us";
        /// Load from the memory of another socket.
        latency_remote: Time = same_as("mem.latency_local"), "50 ns" .. "2 us";
        /// Whether the HCA's accesses end in the last-level cache instead of memory.
        dma_to_llc: Flag = default("false"), "false" .. "true";
    }

    /// Data caches as one core sees them.
    cache: Cache {
        /// Bytes of a line.
        line: Bytes = required, "32 B" .. "256 B";
        /// First level, per core.
        l1d_size: Bytes = required, "8 KiB" .. "256 KiB";
        /// Ways of a set of the first level: entries of a queue lie in its sets at random, and what finds
        /// its set full misses. Absent: a queue that is no larger hits as a whole.
        l1d_ways: Count = optional, "2" .. "64";
        /// Load that hits the first level.
        l1d_latency: Time = required, "0.3 ns" .. "5 ns";
        /// Second level, per core.
        l2_size: Bytes = required, "64 KiB" .. "8 MiB";
        /// Ways of a set of the second level: pages lie in its sets at random, and what finds its set
        /// full misses, of copies and of queues. Absent: a footprint that is no larger hits as a whole.
        l2_ways: Count = optional, "2" .. "64";
        /// Load that hits the second level.
        l2_latency: Time = required, "1 ns" .. "50 ns";
        /// Payload rate of all cores of a tile that copy at once beyond their first level; absent:
        /// each copies as if alone.
        l2_tile_copy_bw: Bandwidth = optional, "0.5 GB/s" .. "200 GB/s";
        /// Last level, as one core reaches it: of a socket, or of one chiplet where each has its own; the cores of a
        /// socket share one of this size. 0: there is none.
        l3_size: Bytes = default("0 B"), "0 B" .. "2 GiB";
        /// Ways of a set of the last level, for queues. Absent: one that is no larger hits as a whole.
        l3_ways: Count = optional, "2" .. "64";
        /// Load that hits the last level.
        l3_latency: Time = default("0 ns"), "0 ns" .. "150 ns";
        /// Lines that one core has on their way at once, of those that do not follow the one before;
        /// absent: not limiting.
        lines_in_flight: Count = optional, "1" .. "64";
    }

    /// Lines that move between cores.
    coh: Coherence {
        /// A line that another core of the socket wrote.
        line_same_socket: Time = required, "10 ns" .. "500 ns";
        /// A line that another core of the tile wrote.
        line_same_l2: Time = same_as("coh.line_same_socket"), "5 ns" .. "500 ns";
        /// A line that a core of another socket wrote.
        line_cross_socket: Time = same_as("coh.line_same_socket"), "20 ns" .. "1 us";
        /// Atomic operation on a line that this core owns.
        atomic_uncontended: Time = required, "1 ns" .. "100 ns";
        /// Moving the lines of a message, or of a window that processes map, between cores of a node,
        /// for each byte, on either side; of a message, what the flag's line does not hold is seen a
        /// line later, too. Absent: the lines are at hand.
        cell_per_byte: CostPerByte = optional, "0.001 ns/B" .. "5 ns/B";
    }

    /// The operating system.
    os: Os {
        /// Bytes of a page.
        page_size: Bytes = required, "4 KiB" .. "2 MiB";
        /// An empty system call.
        syscall: Time = required, "20 ns" .. "5 us";
        /// Creating a thread, until the creator goes on and the thread begins.
        thread_create: Time = required, "2 us" .. "500 us";
        /// Taking note of the end of one thread that has ended.
        thread_join: Time = required, "200 ns" .. "100 us";
        /// Whether a process may read another one's memory through the kernel.
        cma_available: Flag = default("true"), "false" .. "true";
        /// Distance of two interruptions of a core, where a scenario asks for noise; absent: none.
        noise_period: Time = optional, "10 us" .. "1 s";
        /// What one interruption takes from the core; absent: none.
        noise_length: Time = optional, "100 ns" .. "1 ms";
        /// How much later than the first a process starts, at most, where a scenario asks for skew;
        /// absent: all start together.
        start_skew: Time = optional, "100 ns" .. "10 ms";
    }

    /// Copies through the kernel from the memory of another process (cross memory attach).
    cma: Cma {
        /// A call, whatever its size; absent: processes do not copy so.
        call_overhead: Time = optional, "100 ns" .. "20 us";
        /// Pinning one page of the other process, with nobody else pinning; absent: free.
        page_cost: Time = optional, "20 ns" .. "2 us";
        /// Pages that one acquisition of the other process's memory lock pins, at most.
        batch_pages: Count = default("1024"), "1" .. "65536";
        /// Growth of the page cost for each further caller that pins pages of the same process.
        contention_per_reader: Ratio = default("0"), "0" .. "4";
    }

    /// Copies through a kernel module that is told of a buffer before (`KNEM`).
    knem: Knem {
        /// Declaring a buffer, whatever its size; absent: there is no such module.
        region_base: Time = optional, "100 ns" .. "20 us";
        /// Declaring a buffer, for each byte; absent: free.
        region_per_byte: CostPerByte = optional, "0.0005 ns/B" .. "0.2 ns/B";
    }

    /// Memory of another process mapped into the own one (`XPMEM`).
    xpmem: Xpmem {
        /// Attaching a buffer that was attached before; absent: there is no such module.
        attach: Time = optional, "20 ns" .. "20 us";
        /// The first touch of a page after its buffer is attached; absent: free.
        page_fault: Time = optional, "50 ns" .. "5 us";
    }

    /// The bus between the HCA and memory, each direction on its own.
    pcie: Pcie {
        /// Rate of one direction after line encoding, before any packet overhead.
        raw_bw: Bandwidth = required, "1 GB/s" .. "1000 GB/s";
        /// Payload bytes of a packet (TLP), at most.
        mps: Bytes = required, "128 B" .. "4 KiB";
        /// Bytes that a TLP adds to its payload.
        tlp_overhead: Bytes = required, "0 B" .. "32 B";
        /// Bytes that a TLP with read data adds to its payload.
        completion_overhead: Bytes = same_as("pcie.tlp_overhead"), "0 B" .. "32 B";
        /// Bytes of flow control and acknowledgement for each TLP.
        dllp_overhead_per_tlp: Bytes = required, "0 B" .. "16 B";
        /// From a core's doorbell store until the HCA sees it.
        mmio_write: Time = required, "20 ns" .. "1 us";
        /// From a read request of the HCA until its first data.
        dma_read_round_trip: Time = required, "200 ns" .. "3 us";
        /// Bytes that one read request of the HCA asks for, at most.
        max_read_request: Bytes = required, "128 B" .. "4 KiB";
        /// Read requests that the HCA keeps outstanding.
        outstanding_reads: Count = required, "1" .. "512";
        /// Rate at which the HCA reads this memory; absent: the bus alone limits.
        p2p_read_bw: Bandwidth = optional, "0.2 GB/s" .. "64 GB/s";
        /// Rate at which the HCA writes this memory; absent: the bus alone limits.
        p2p_write_bw: Bandwidth = optional, "0.2 GB/s" .. "64 GB/s";
        /// Payload rate of both directions together, that of GPUs included; absent: each has the bus
        /// for itself.
        bidirectional_bw: Bandwidth = optional, "1 GB/s" .. "256 GB/s";
    }

    /// GPUs of a node, each on a bus of its own like the adapter's.
    gpu: Gpu {
        /// Multiprocessors (SM) of one GPU; absent: the nodes have no GPU.
        sm_count: Count = optional, "1" .. "256";
        /// GPUs of a node, where it has any, in turns on its sockets.
        per_node: Count = default("1"), "1" .. "16";
        /// Clock at which an SM issues instructions.
        clock: Frequency = required_with("gpu.sm_count"), "400 MHz" .. "4 GHz";
        /// Threads of a warp.
        warp: Count = required_with("gpu.sm_count"), "16" .. "64";
        /// Instructions of warps that an SM issues in a cycle.
        issue_per_cycle: Count = required_with("gpu.sm_count"), "1" .. "8";
        /// From one instruction of a warp to the next that needs its result.
        instruction_latency: Time = required_with("gpu.sm_count"), "1 ns" .. "50 ns";
        /// Threads that an SM holds.
        max_threads_per_sm: Count = required_with("gpu.sm_count"), "256" .. "4096";
        /// Blocks that an SM holds.
        max_blocks_per_sm: Count = required_with("gpu.sm_count"), "1" .. "64";
        /// Registers that the threads of an SM share.
        registers_per_sm: Count = required_with("gpu.sm_count"), "8192" .. "262144";
        /// Shared memory that the blocks of an SM share.
        shared_per_sm: Bytes = required_with("gpu.sm_count"), "8 KiB" .. "512 KiB";
        /// Kernels whose blocks an SM holds at the same time.
        concurrent_kernels_per_sm: Count = required_with("gpu.sm_count"), "1" .. "64";
        /// Kernels that run at the same time.
        concurrent_kernels: Count = required_with("gpu.sm_count"), "1" .. "256";
        /// Rate of the device memory's pins.
        mem_bw_peak: Bandwidth = optional, "20 GB/s" .. "10000 GB/s";
        /// Traffic that the device memory carries.
        mem_bw_effective: Bandwidth = required_with("gpu.sm_count"), "10 GB/s" .. "10000 GB/s";
        /// Bytes that one access of a warp moves at least, and the addresses it starts at.
        mem_transaction: Bytes = required_with("gpu.sm_count"), "32 B" .. "128 B";
        /// Load from device memory.
        mem_latency: Time = required_with("gpu.sm_count"), "100 ns" .. "2 us";
        /// First-level cache of an SM, through which loads of device memory go; absent: none does.
        l1_size: Bytes = optional, "8 KiB" .. "512 KiB";
        /// Load that hits the first-level cache.
        l1_latency: Time = part_same_as("gpu.l2_latency"), "10 ns" .. "300 ns";
        /// Second-level cache, shared by all SMs.
        l2_size: Bytes = required_with("gpu.sm_count"), "64 KiB" .. "512 MiB";
        /// Load that hits the second-level cache.
        l2_latency: Time = part_same_as("gpu.mem_latency"), "50 ns" .. "2 us";
        /// Engines that copy without SMs: 1 for all directions, 2 for one each, 3 with one for copies
        /// inside the device.
        copy_engines: Count = required_with("gpu.sm_count"), "1" .. "16";
        /// Core time of asking for a kernel or a copy and not waiting for it.
        call_overhead: Time = required_with("gpu.sm_count"), "0.2 us" .. "20 us";
        /// From asking for a kernel until its first block can start.
        kernel_launch_latency: Time = required_with("gpu.sm_count"), "0.5 us" .. "50 us";
        /// From asking for a copy until its first byte can move.
        memcpy_call_latency: Time = required_with("gpu.sm_count"), "0.5 us" .. "50 us";
        /// Rows of a copy are fast where their width and their distance are multiples of this.
        memcpy2d_align: Bytes = default("1 B"), "1 B" .. "256 B";
        /// Engine time of a fast row beyond that of its bytes; absent: none.
        memcpy2d_row_aligned_extra: Time = optional, "0 ns" .. "10 ns";
        /// Engine time of each packet of any other row, at least; absent: its bytes alone count.
        memcpy2d_row_unaligned: Time = optional, "1 ns" .. "200 ns";
        /// Payload bytes of a TLP to or from the GPU, at most.
        pcie_payload: Bytes = same_as("pcie.mps"), "32 B" .. "4 KiB";
        /// Bytes that one read request of the GPU asks for, at most.
        pcie_read_request: Bytes = required_with("gpu.sm_count"), "32 B" .. "4 KiB";
        /// Read requests that a copy engine keeps outstanding.
        copy_outstanding_reads: Count = required_with("gpu.sm_count"), "1" .. "4096";
        /// Read requests that the SMs together keep outstanding.
        sm_outstanding_reads: Count = required_with("gpu.sm_count"), "1" .. "4096";
        /// How much longer a read of host memory takes while the GPU writes to the host: it does not
        /// pass the writes that the host has not taken yet; absent: no longer.
        pcie_read_behind_writes: Time = optional, "20 ns" .. "3 us";
        /// Share of stores of SMs on the way to the host, where a copy engine has 1.
        arbitration_sm_to_ce: Count = required_with("gpu.sm_count"), "1" .. "16";
        /// Lines of a set of its caches.
        cache_ways: Count = required_with("gpu.sm_count"), "1" .. "64";
        /// Load from shared memory that meets no other one in its bank.
        shared_latency: Time = required_with("gpu.sm_count"), "5 ns" .. "200 ns";
        /// Bytes that a bank of shared memory gives in one pass: an access of twice as many takes two.
        shared_bank: Bytes = required_with("gpu.sm_count"), "4 B" .. "8 B";
        /// Issue slots of an operation in double precision, where one in single precision takes 1.
        double_slots: Count = required_with("gpu.sm_count"), "1" .. "64";
        /// Registers of a thread, of kernels that pack and of stencils.
        kernel_registers: Count = required_with("gpu.sm_count"), "8" .. "255";
        /// Instructions of a thread of a packing kernel besides those of its levels: its number, the
        /// bound, the load, the store.
        kernel_thread: Count = required_with("gpu.sm_count"), "4" .. "64";
        /// Instructions of one step of its searches: middle, load, compare, half.
        kernel_search_step: Count = required_with("gpu.sm_count"), "3" .. "32";
        /// Instructions around its load from a list: the address.
        kernel_list: Count = required_with("gpu.sm_count"), "1" .. "16";
        /// Instructions of a division and its remainder, of 32 bits: ids and counts are such numbers.
        kernel_division: Count = required_with("gpu.sm_count"), "4" .. "100";
        /// Instructions of a product and its sum, of 64 bits: distances in bytes, in the generic kernel.
        kernel_product_wide: Count = required_with("gpu.sm_count"), "1" .. "16";
        /// Instructions of a product and its sum, of 32 bits: in a hand-coded kernel.
        kernel_product: Count = required_with("gpu.sm_count"), "1" .. "8";
        /// Instructions that load a field of a node from shared memory, in the generic kernel.
        kernel_field: Count = required_with("gpu.sm_count"), "1" .. "8";
        /// Instructions of the loop over levels and its branch on the kind, in the generic kernel.
        kernel_level: Count = required_with("gpu.sm_count"), "2" .. "64";
        /// Instructions of a dimension of a subarray, besides its division and its loads.
        kernel_dimension: Count = required_with("gpu.sm_count"), "1" .. "32";
        /// From the first block of a packing kernel to its last, where nothing but its own way through
        /// the type takes time: what the library expects where it chooses a method.
        kernel_expected: Time = required_with("gpu.sm_count"), "0.5 us" .. "50 us";
        /// What it expects besides where threads part on their way to members of structs.
        kernel_expected_parting: Time = required_with("gpu.sm_count"), "0.5 us" .. "200 us";
    }

    /// The network adapter.
    hca: Hca {
        /// Socket that the adapter is attached to.
        socket: Count = default("0"), "0" .. "7";
        /// Units that process work queue entries, side by side.
        processing_units: Count = required, "1" .. "64";
        /// Messages of all queue pairs together, each direction on its own.
        msg_rate_total: Rate = required, "1 Mmsg/s" .. "500 Mmsg/s";
        /// Messages of one queue pair; absent: not limiting.
        msg_rate_per_qp: Rate = optional, "0.1 Mmsg/s" .. "100 Mmsg/s";
        /// Payload bytes of a packet on the wire, at most.
        mtu: Bytes = required, "256 B" .. "16 KiB";
        /// Fetching a work queue entry that the doorbell did not carry.
        wqe_fetch: Time = required, "100 ns" .. "2 us";
        /// Bytes of a work queue entry.
        wqe_bytes: Bytes = required, "16 B" .. "256 B";
        /// Core time of ringing the doorbell.
        doorbell_write: Time = required, "5 ns" .. "1 us";
        /// Core time of building a work queue entry.
        post_overhead: Time = required, "5 ns" .. "1 us";
        /// Core time of giving a receive buffer back.
        repost_overhead: Time = same_as("hca.post_overhead"), "1 ns" .. "1 us";
        /// Core time of taking one completion queue entry.
        cqe_poll: Time = required, "5 ns" .. "500 ns";
        /// Bytes of a doorbell store.
        doorbell_bytes: Bytes = default("8 B"), "4 B" .. "64 B";
        /// Bytes of a completion queue entry.
        cqe_bytes: Bytes = required, "16 B" .. "128 B";
        /// Every n-th send of a queue pair asks for a completion.
        signal_every: Count = required, "1" .. "1024";
        /// Header and payload bytes that travel with the doorbell (`BlueFlame`), at most, whatever
        /// the inline limit; 0: none.
        blueflame_inline: Bytes = required, "0 B" .. "512 B";
        /// Whether a work queue entry that is posted alone travels with its doorbell (`BlueFlame`) where
        /// it names its payload, too: then only the payload is fetched.
        blueflame_alone: Flag = default("false"), "false" .. "true";
        /// Header and payload bytes that a work queue entry holds, at most; 0: none.
        inline_limit: Bytes = required, "0 B" .. "1 KiB";
        /// Receive buffers of one connection: eager messages that may be under way.
        eager_credits: Count = required, "1" .. "4096";
        /// Pause of a sender whose receiver had no buffer.
        rnr_back_off: Time = required, "1 us" .. "10 ms";
        /// Engines that move payload.
        dma_engines: Count = required, "1" .. "64";
        /// Pinning a buffer, whatever its size.
        mem_reg_base: Time = required, "0.1 us" .. "200 us";
        /// Pinning, for each byte.
        mem_reg_per_byte: CostPerByte = required, "0.001 ns/B" .. "1 ns/B";
        /// Bytes that stay pinned for reuse, of each process; 0: none. The default is no limit: as much as
        /// a node may have.
        registration_cache: Bytes = default("64 GiB"), "0 B" .. "64 GiB";
        /// RDMA reads that one queue pair keeps outstanding.
        max_outstanding_reads_per_qp: Count = required, "1" .. "256";
        /// Rate between two processes of a node through the adapter; absent or 0: no such path.
        loopback_bw: Bandwidth = optional, "0 GB/s" .. "100 GB/s";
        /// Whether the adapter carries out the one-sided operations of programs without the peer's
        /// processor; large messages it moves by itself once they are matched, either way.
        rdma: Flag = default("true"), "false" .. "true";
        /// Whether the adapter matches messages with receives that are posted, and reads large ones
        /// (RGET): they need no processor at their target then. Packets of windows do.
        matching_on_nic: Flag = default("false"), "false" .. "true";
        /// Whether cores see at once what the adapter writes, and it sees what they write: windows
        /// have unified memory then, if nothing else is said.
        coherent: Flag = default("true"), "false" .. "true";
    }

    /// Cables and switches.
    link: Link {
        /// Rate of one direction after line encoding, before any packet overhead.
        data_bw: Bandwidth = required, "0.1 GB/s" .. "200 GB/s";
        /// Bytes that a packet adds to its payload.
        packet_overhead: Bytes = required, "0 B" .. "200 B";
        /// From adapter to adapter over one switch, for the first bit.
        base_latency: Time = required, "100 ns" .. "10 us";
        /// Bytes of a packet that a stage holds before it passes the packet on.
        cut_through: Bytes = required, "16 B" .. "16 KiB";
        /// Each further switch.
        switch_hop: Time = required, "20 ns" .. "2 us";
    }

    /// The MPI library.
    mpi: Mpi {
        /// Entering the library for a send: argument checks, request set-up, header.
        step_send: Time = required, "1 ns" .. "20 us";
        /// Entering the library for a receive.
        step_receive: Time = required, "1 ns" .. "20 us";
        /// Taking an arrived packet from a channel and dispatching it.
        step_arrival: Time = required, "1 ns" .. "20 us";
        /// Finishing a request.
        step_completion: Time = required, "1 ns" .. "20 us";
        /// Entering a wait, test or probe.
        step_query: Time = required, "1 ns" .. "20 us";
        /// Building or handling a control packet that is none of a rendezvous: the answer to a synchronous
        /// send, a packet of a one-sided operation or of a collective, a cell of shared memory.
        step_control: Time = required, "1 ns" .. "20 us";
        /// Building or handling a packet of a rendezvous: RTS, CTS, FIN, ready-to-receive.
        step_handshake: Time = same_as("mpi.step_control"), "1 ns" .. "20 us";
        /// Finding the calling thread's endpoint in its thread-local storage.
        step_lookup: Time = required, "0.5 ns" .. "200 ns";
        /// Handling a one-sided packet at its target, besides what it does to memory.
        rma_target_handler: Time = same_as("mpi.step_arrival"), "1 ns" .. "20 us";
        /// Comparing one queue entry while the queue fits the first level.
        match_per_elem_l1: Time = required, "0.3 ns" .. "50 ns";
        /// Comparing one queue entry while the queue fits the second level.
        match_per_elem_l2: Time = required, "1 ns" .. "100 ns";
        /// Comparing one queue entry while the queue fits the last level.
        match_per_elem_llc: Time = same_as("mpi.match_per_elem_dram"), "1 ns" .. "200 ns";
        /// Comparing one queue entry of a queue in memory.
        match_per_elem_dram: Time = required, "1 ns" .. "2 us";
        /// Bytes of cache that one entry of the queue of posted receives occupies: its lines that a walk
        /// reads, and the room that no entry reaches where all lie at one distance.
        match_elem_footprint: Bytes = required, "16 B" .. "1 KiB";
        /// The same of one unexpected message.
        unexpected_elem_footprint: Bytes = same_as("mpi.match_elem_footprint"), "16 B" .. "1 KiB";
        /// Lines of a queue entry that a walk reads: beyond the first level each costs what an entry of
        /// one line does.
        match_elem_lines: Count = default("1"), "1" .. "8";
        /// Software part of polling one channel; the load of its line comes on top.
        poll_per_channel: Time = required, "0.2 ns" .. "1 us";
        /// Bytes of cache that the polling of one channel occupies.
        poll_footprint: Bytes = required, "8 B" .. "1 KiB";
        /// Peers on other nodes from which on the library has one receive queue for all of them; with fewer
        /// it polls a channel for each. Absent: it always does.
        shared_queue_from: Count = optional, "1" .. "65536";
        /// Taking and leaving the library lock while its line is in the own cache.
        lock_uncontended: Time = required, "5 ns" .. "500 ns";
        /// Handing the lock to a waiting core of the socket.
        lock_handoff_same_socket: Time = required, "20 ns" .. "5 us";
        /// Handing the lock to a waiting core of the tile.
        lock_handoff_same_tile: Time = same_as("mpi.lock_handoff_same_socket"), "10 ns" .. "5 us";
        /// Handing the lock to a waiting core of another socket.
        lock_handoff_cross_socket: Time = same_as("mpi.lock_handoff_same_socket"), "20 ns" .. "5 us";
        /// Largest message sent eagerly between nodes.
        eager_threshold_inter: Bytes = required, "0 B" .. "4 MiB";
        /// Largest message sent eagerly inside a node.
        eager_threshold_intra: Bytes = required, "0 B" .. "4 MiB";
        /// Header bytes of a message.
        header_bytes: Bytes = required, "0 B" .. "256 B";
        /// Bytes of a control packet.
        control_bytes: Bytes = required, "8 B" .. "512 B";
        /// Payload bytes of a shared-memory cell.
        shm_cell_size: Bytes = required, "64 B" .. "1 MiB";
        /// Shared-memory cells of one channel.
        shm_cell_count: Count = required, "1" .. "4096";
        /// Messages begin at multiples of so many bytes of a queue of shared memory: one that is
        /// longer, or longer than a line, reaches into another line.
        shm_slot: Bytes = same_as("cache.line"), "8 B" .. "4 KiB";
        /// Header and payload of a message that lies in such a queue, at most; a longer payload lies
        /// in a segment of its own, whose first line its receiver waits for. Absent: all lie in it.
        shm_inline: Bytes = optional, "16 B" .. "64 KiB";
        /// Bytes of messages that such a queue holds; one that finds no room takes a segment. Absent:
        /// there is room.
        shm_queue: Bytes = optional, "64 B" .. "16 MiB";
        /// Whether origins take the locks of windows that are mapped by atomics in shared memory.
        rma_atomic_locks: Flag = default("false"), "false" .. "true";
        /// Whether updates of such a window take a spin lock of the rank whose part they change, not
        /// one mutex of the whole window.
        rma_mutex_each_rank: Flag = default("false"), "false" .. "true";
        /// What a rank's locks of such a window take up; those of its neighbours follow.
        rma_rank_state: Bytes = same_as("cache.line"), "8 B" .. "4 KiB";
        /// Finding one contiguous block of a datatype and calling the copy that moves it.
        pack_block: Time = default("0 ns"), "0 ns" .. "100 ns";
        /// Entering and leaving the loop over the primitives of one block, where the library moves them
        /// one by one.
        pack_loop: Time = default("0 ns"), "0 ns" .. "100 ns";
        /// Moving one primitive of a datatype, where the library moves them one by one.
        pack_element: Time = default("0 ns"), "0 ns" .. "50 ns";
        /// Mean length from which blocks are copied as a whole; primitives of shorter ones move one by
        /// one. Absent: every block is copied.
        pack_copy_from: Bytes = optional, "1 B" .. "1 MiB";
    }
}
