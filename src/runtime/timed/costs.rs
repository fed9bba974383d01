//! What core work costs: the profile's numbers, by action.

use std::collections::BTreeMap;
use std::sync::Arc;

use calls::packing::Task;
use calls::typed::TypedCopy;
use hardware::core::{Distance, Place};
use hardware::lines::Coming;
use hardware::memory::packing::{Blocks, Packer, Scattered, Way};
use hardware::memory::{Memory, Side};
use hardware::profile::Profile;
use hardware::registration::{Found, RegistrationCache};
use mpi::datatype::Rows;
use protocols::contract::{CodePath, Process, Queue, Region, Space};
use units::{Bytes, Rate, TimeDelta};

/// Prices of everything that a core does by itself.
#[derive(Debug)]
pub(super) struct Costs {
    pub(super) profile: Profile,
    memory: Memory,
    /// Between two WQEs of one queue pair.
    pub(super) wqe_period: TimeDelta,
    /// The buffers that each process keeps pinned.
    pinned: BTreeMap<Process, RegistrationCache<Space>>,
    /// The last answer of [`Self::cached_copy`]: sizes repeat.
    copied: (Bytes, Option<TimeDelta>),
    /// Comparing an entry of either queue at this length, where it was requested: lengths repeat.
    entries: [Vec<Option<TimeDelta>>; 2],
    /// The last answers of [`Self::pack`]: some are a walk over all pieces.
    packed: Vec<(TypedCopy, TimeDelta)>,
}

/// How many answers of [`Costs::pack`] are kept.
/// Method: copies repeat.
const PACKED: usize = 32;

impl Costs {
    pub(super) fn new(profile: Profile) -> Self {
        let memory = Memory::new(&profile);
        let wqe_period = profile.hca.msg_rate_per_qp.map_or(TimeDelta::ZERO, Rate::period);
        let copied = (Bytes::default(), copy_in_caches(&memory, Bytes::default()));
        let pinned = BTreeMap::new();
        let (entries, packed) = ([Vec::new(), Vec::new()], Vec::new());
        Self { profile, memory, wqe_period, pinned, copied, entries, packed }
    }

    pub(super) const fn step(&self, step: CodePath) -> TimeDelta {
        let mpi = &self.profile.mpi;
        match step {
            CodePath::Send => mpi.step_send,
            CodePath::Receive => mpi.step_receive,
            CodePath::Arrival => mpi.step_arrival,
            CodePath::Completion => mpi.step_completion,
            CodePath::Query => mpi.step_query,
            CodePath::Handshake => mpi.step_handshake,
            CodePath::Control => mpi.step_control,
            CodePath::Lookup => mpi.step_lookup,
            CodePath::Target => mpi.rma_target_handler,
        }
    }

    /// Core time of comparing `entries` entries of a queue that holds `length`.
    pub(super) fn walk(&mut self, queue: Queue, entries: u32, length: u32) -> TimeDelta {
        let known = &mut self.entries[queue as usize];
        let at = usize::try_from(length).expect("a queue lies in memory");
        if known.len() <= at {
            known.resize(at + 1, None);
        }
        let mpi = &self.profile.mpi;
        let each = || match queue {
            Queue::Posted => mpi.match_elem_footprint,
            Queue::Unexpected => mpi.unexpected_elem_footprint,
        };
        let entry = known[at].get_or_insert_with(|| self.memory.entry(length, each()));
        *entry * u64::from(entries)
    }

    /// Core time of handing one WQE to the HCA.
    pub(super) fn post(&self) -> TimeDelta {
        self.profile.hca.post_overhead + self.profile.hca.doorbell_write
    }

    /// Core time of writing a flag or cell header that a neighbour polls.
    pub(super) const fn cell_write(&self) -> TimeDelta {
        self.profile.coh.atomic_uncontended
    }

    /// Core time of moving a message of so many bytes between cores, on either side: what the line
    /// of its flag does not hold.
    pub(super) fn cell_lines(&self, bytes: u64) -> TimeDelta {
        let beyond = bytes.saturating_sub(self.profile.cache.line.as_u64());
        let per_byte = self.profile.coh.cell_per_byte;
        per_byte.map_or(TimeDelta::ZERO, |each| each.cost(Bytes::new(beyond)))
    }

    /// The same on the side that takes a payload out of a cell.
    pub(super) fn taken_lines(&self, payload: Option<u64>) -> TimeDelta {
        let header = self.profile.mpi.header_bytes.as_u64();
        payload.map_or(TimeDelta::ZERO, |payload| self.cell_lines(header + payload))
    }

    /// Until a message of so many bytes, written at `from`, is seen by a core at `to`.
    ///
    /// A core that polls has a copy of the flag's line. It is taken away before the store of the flag counts, one
    /// way, and the line then comes back to the next poll: another. Payload is stored before the flag,
    /// so that its lines are taken away meanwhile.
    ///
    /// Header and payload share the flag's line where they fit; else another line follows it, unless
    /// the receiver itself fetches it from elsewhere. The lines behind that are fetched ahead, which
    /// is [`Self::cell_lines`].
    pub(super) fn cell_transfer(
        &self,
        from: Place,
        to: Place,
        bytes: u64,
        lies_apart: bool,
    ) -> TimeDelta {
        let line = self.line_transfer(from, to);
        let one = self.profile.cache.line.min(self.profile.mpi.shm_slot).as_u64();
        let fits = bytes <= one || lies_apart;
        let spills = !fits && self.profile.coh.cell_per_byte.is_some();
        let behind = if spills { line } else { TimeDelta::ZERO };
        self.taking_away(from, to) + line + behind
    }

    /// Until the copy of a line that a core at `to` has is taken away by one at `from`; threads of a
    /// core share one.
    fn taking_away(&self, from: Place, to: Place) -> TimeDelta {
        match from.distance(to, self.profile.cpu.cores_per_tile) {
            Distance::SameCore => TimeDelta::ZERO,
            Distance::SameTile
            | Distance::SameSocket
            | Distance::CrossSocket
            | Distance::OtherNode => self.line_transfer(from, to),
        }
    }

    /// Bytes that a message takes of a queue of shared memory; `None` where it is too long for one.
    pub(super) fn slots(&self, bytes: u64) -> Option<u32> {
        let mpi = &self.profile.mpi;
        let short = mpi.shm_inline.is_none_or(|longest| bytes <= longest.as_u64());
        let bytes = bytes.next_multiple_of(mpi.shm_slot.as_u64());
        short.then_some(bytes).and_then(|bytes| u32::try_from(bytes).ok())
    }

    /// Core time of reading a line that another core of the node wrote.
    pub(super) const fn line_of_node(&self) -> TimeDelta {
        self.profile.coh.line_same_socket
    }

    /// Core time of changing a counter whose line another core wrote last.
    pub(super) fn count(&self) -> TimeDelta {
        self.line_of_node() + self.profile.coh.atomic_uncontended
    }

    /// Until a line written at `from` is seen by a core at `to`.
    pub(super) fn line_transfer(&self, from: Place, to: Place) -> TimeDelta {
        let coh = &self.profile.coh;
        match from.distance(to, self.profile.cpu.cores_per_tile) {
            Distance::SameCore => self.profile.cache.l1d_latency,
            Distance::SameTile => coh.line_same_l2,
            Distance::SameSocket => coh.line_same_socket,
            Distance::CrossSocket | Distance::OtherNode => coh.line_cross_socket,
        }
    }

    /// Core time until lines of mapped memory are there that other cores have: the way of one, and
    /// the others behind it, which are fetched ahead as those of a message are.
    pub(super) fn lines_coming(&self, Coming { way, lines }: Coming) -> TimeDelta {
        let behind = self.profile.cache.line.as_u64() * lines.saturating_sub(1);
        let per_byte = self.profile.coh.cell_per_byte;
        way + per_byte.map_or(TimeDelta::ZERO, |each| each.cost(Bytes::new(behind)))
    }

    /// Core time of a copy that the caches of one core hold; `None` where memory must carry it, or
    /// a cache that the cores of a tile share.
    ///
    /// The footprint is source and destination of this copy alone. Left out: the far socket (a copy
    /// out of a cell that a core there filled runs at the local rate), and the lines that a
    /// neighbour's cache still holds. Noticeable in messages between sockets of one node.
    #[inline]
    pub(super) fn cached_copy(&mut self, bytes: Bytes) -> Option<TimeDelta> {
        if self.copied.0 != bytes {
            self.copied = (bytes, copy_in_caches(&self.memory, bytes));
        }
        self.copied.1
    }

    /// Core time of gathering or scattering pieces: their share, by bytes, of what all of the message
    /// takes, since a part is in no nearer cache than the whole.
    pub(super) fn pack(&mut self, copy: &TypedCopy) -> TimeDelta {
        let is_like = |other: &TypedCopy| {
            Arc::ptr_eq(&other.elements, &copy.elements) && other.task == copy.task
        };
        let known = self.packed.iter().find(|(other, _)| is_like(other)).map(|(_, time)| *time);
        let whole = known.unwrap_or_else(|| self.packing_of(copy));
        whole.scaled(copy.packed.len, copy.elements.packed())
    }

    /// The same of all of a message, which is kept.
    fn packing_of(&mut self, copy: &TypedCopy) -> TimeDelta {
        let TypedCopy { task, elements, .. } = copy;
        let sizes = (self.profile.cache.line, self.profile.os.page_size);
        let primitives = elements.primitives();
        let scattered = if let Some(Rows { first, length, stride, count }) = elements.rows() {
            let blocks = Blocks { first, length, stride, count };
            Scattered::of_blocks(blocks, primitives, sizes)
        } else {
            let runs = elements.runs(0..elements.packed());
            let runs = runs.map(|(at, length)| (at.cast_signed(), length));
            Scattered::of(runs, primitives, sizes)
        };
        let way = match task {
            Task::Pack => Way::Gather,
            Task::Unpack => Way::Scatter,
        };
        let time = Packer::new(&self.profile).time(&scattered, way, false);
        if self.packed.len() == PACKED {
            self.packed.clear();
        }
        self.packed.push((copy.clone(), time));
        time
    }

    /// Core time of copying bytes of this footprint where nothing else shares their way.
    pub(super) fn copy_alone(&self, footprint: Bytes, side: Side, bytes: Bytes) -> TimeDelta {
        self.memory.copy(footprint, side).alone.transfer_time(bytes)
    }

    /// Core time of a copy that shares memory with no other.
    pub(super) fn lone_copy(&self, bytes: Bytes) -> TimeDelta {
        let rate = self.memory.copy(Bytes::new(2 * bytes.as_u64()), Side::Local);
        rate.alone.transfer_time(bytes)
    }

    /// Pinning a buffer, free while the registration cache holds it: core time, and whether it is paid
    /// once.
    pub(super) fn register(&mut self, process: Process, region: Region) -> (TimeDelta, bool) {
        if matches!(region.space, Space::Pinned(_)) {
            // Pinned for HCA and GPU when it was allocated.
            return (TimeDelta::ZERO, false);
        }
        let hca = &self.profile.hca;
        let new = || RegistrationCache::new(hca.registration_cache);
        let mut bytes = region.offset..region.offset + region.len;
        if region.space == Space::PROCESS {
            // The HCA knows pages: what lies beside on them is pinned, too.
            let page = self.profile.os.page_size.as_u64();
            bytes = bytes.start / page * page..bytes.end.next_multiple_of(page);
        }
        let found = self.pinned.entry(process).or_insert_with(new).register(region.space, &bytes);
        let time = hca.mem_reg_base + hca.mem_reg_per_byte.cost(Bytes::new(region.len));
        match found {
            Found::Pinned => (TimeDelta::ZERO, false),
            Found::New => (time, true),
            Found::Left => (time, false),
        }
    }

    /// Handing the lock from a thread at `from` to one at `to` that waits for it.
    pub(super) fn hand_over(&self, from: Place, to: Place) -> TimeDelta {
        let mpi = &self.profile.mpi;
        match from.distance(to, self.profile.cpu.cores_per_tile) {
            Distance::SameTile => mpi.lock_handoff_same_tile,
            Distance::CrossSocket | Distance::OtherNode => mpi.lock_handoff_cross_socket,
            Distance::SameCore | Distance::SameSocket => mpi.lock_handoff_same_socket,
        }
    }

    /// One poll of one channel, out of `channels`.
    pub(super) fn poll(&self, channels: u32) -> TimeDelta {
        self.memory.poll_pass(channels).scaled(1, u64::from(channels.max(1)))
    }
}

#[cold]
fn copy_in_caches(memory: &Memory, bytes: Bytes) -> Option<TimeDelta> {
    let rate = memory.copy(Bytes::new(2 * bytes.as_u64()), Side::Local);
    rate.is_private().then(|| rate.alone.transfer_time(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hardware::profile::least;

    fn costs(values: &[(&str, &str)]) -> Costs {
        Costs::new(least::but(values))
    }

    /// The reader's copy of the flag's line is taken away, 100 ns, and the line comes, 100 ns; payload
    /// that does not fit beside the flag brings one line more, unless it lies elsewhere.
    #[test]
    fn a_cell_crosses_in_two_lines_and_a_third_where_its_payload_spills() {
        let values = [
            ("cpu.cores_per_socket", "2"),
            ("coh.line_same_socket", "100 ns"),
            ("cache.line", "64 B"),
            ("mpi.shm_slot", "64 B"),
            ("coh.cell_per_byte", "0.1 ns/B"),
        ];
        let costs = costs(&values);
        let [from, to] = [0, 1].map(|core| Place { node: 0, socket: 0, core, thread: 0 });
        let ns = |bytes, apart| costs.cell_transfer(from, to, bytes, apart).as_ps() / 1_000;
        assert_eq!((ns(64, false), ns(65, false), ns(65, true)), (200, 300, 200));
        assert_eq!(costs.cell_transfer(from, from, 8, false), costs.line_transfer(from, from));
    }

    /// 256 posted receives fill the first level, and unexpected messages that take half of that do not.
    #[test]
    fn each_queue_has_the_footprint_of_its_entries() {
        let mut costs = costs(&[
            ("cache.l1d_size", "32 KiB"),
            ("cache.l2_size", "512 KiB"),
            ("mpi.match_per_elem_l1", "1 ns"),
            ("mpi.match_per_elem_l2", "4 ns"),
            ("mpi.match_elem_footprint", "128 B"),
            ("mpi.unexpected_elem_footprint", "64 B"),
        ]);
        let mut ns = |queue, entries, length| costs.walk(queue, entries, length).as_ps() / 1_000;
        assert_eq!([0, 1, 256].map(|entries| ns(Queue::Posted, entries, 256)), [0, 1, 256]);
        assert_eq!([256, 257].map(|length| ns(Queue::Posted, 10, length)), [10, 40]);
        assert_eq!([257, 512, 513].map(|length| ns(Queue::Unexpected, 10, length)), [10, 10, 40]);
    }

    /// Every price of a core that is a sum or a choice, from round numbers.
    #[test]
    fn prices_are_the_sums_of_their_parts() {
        let values = [
            ("cpu.cores_per_socket", "4"),
            ("cpu.cores_per_tile", "2"),
            ("cache.line", "64 B"),
            ("coh.line_same_socket", "100 ns"),
            ("coh.atomic_uncontended", "20 ns"),
            ("coh.cell_per_byte", "0.1 ns/B"),
            ("hca.post_overhead", "30 ns"),
            ("hca.doorbell_write", "70 ns"),
            ("mpi.header_bytes", "40 B"),
            ("mpi.shm_slot", "64 B"),
            ("mpi.shm_inline", "256 B"),
            ("mpi.lock_handoff_same_tile", "50 ns"),
            ("mpi.lock_handoff_same_socket", "110 ns"),
            ("mpi.lock_handoff_cross_socket", "300 ns"),
        ];
        let costs = costs(&values);
        let ns = |count: u64| TimeDelta::from_ps(count * 1_000);
        assert_eq!(costs.post(), ns(30 + 70));
        assert_eq!(costs.count(), ns(100 + 20));
        // 40 B of header and 124 B of payload are 100 B beyond a line.
        assert_eq!(costs.taken_lines(Some(124)), ns(10));
        // The first of 11 lines comes in its own way, 640 B behind it.
        assert_eq!(costs.lines_coming(Coming { way: ns(100), lines: 11 }), ns(100 + 64));
        assert_eq!((costs.slots(256), costs.slots(257)), (Some(256), None));
        let at = |socket, core| Place { node: 0, socket, core, thread: 0 };
        let hand_over = |to| costs.hand_over(at(0, 0), to);
        assert_eq!([at(0, 1), at(0, 2), at(1, 0)].map(hand_over), [ns(50), ns(110), ns(300)]);
    }

    /// A copy touches what it reads and what it writes: half of a cache holds it.
    #[test]
    fn the_footprint_of_a_copy_is_twice_its_bytes() {
        let values = [
            ("cache.l1d_size", "32 KiB"),
            ("cache.l2_size", "256 KiB"),
            ("mem.core_copy_bw_l1", "16 GB/s"),
            ("mem.core_copy_bw", "8 GB/s"),
        ];
        let mut costs = costs(&values);
        let half = Bytes::kib(16);
        let more = Bytes::new(half.as_u64() + 64);
        let at = |gigabytes: u64, bytes: Bytes| {
            Some(TimeDelta::from_ps((bytes.as_u64() * 1_000).div_ceil(gigabytes)))
        };
        assert_eq!([half, more].map(|bytes| costs.cached_copy(bytes)), [at(16, half), at(8, more)]);
        let lone = [half, more].map(|bytes| Some(costs.lone_copy(bytes)));
        assert_eq!(lone, [at(16, half), at(8, more)]);
    }
}
