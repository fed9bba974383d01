//! Copies between two processes of a node: the core calls the kernel, which pins the other's pages
//! and moves the bytes, batch by batch.
//!
//! ```text
//!   call ──▶ pin up to a batch of pages ──▶ move their bytes ──▶ … ──▶ the list goes on
//!            (callers of one address space    (last-level cache, or memory, which
//!             slow each other down)            all cores of the socket share)
//! ```
//!
//! The core is busy from the call to the end: it takes no packet meanwhile.
//!
//! Source: `coop` Sec. I and its kernel-assisted copies; the four terms (call, pages, contention,
//! bytes) are those of the hardware catalogue. Left out: system calls that are interrupted.

use crate::timed::setup::Kernel;
use std::collections::{BTreeMap, BTreeSet};

use crate::account::Part;
use crate::causes::Spent;
use crate::monitors::buffers::Lends;
use crate::timed::conductor::Timed;
use crate::timed::context::FabricSchedule;
use crate::timed::event::Happening;
use crate::timed::event::Phase;
use crate::timed::network::flight::COPY;
use crate::timed::network::flight::token;
use hardware::copies::CoreCopy;
use hardware::core::Place;
use hardware::fabric::{ConnId, Transfer};
use hardware::last_level::LastLevel;
use hardware::pinning::Pinning;
use hardware::profile::Profile;
use protocols::contract::Machine;
use protocols::contract::Program;
use protocols::contract::{Process, Region, Space, Thread, Toward};
use units::{Bytes, Time, TimeDelta};

/// A footprint that no cache holds.
const BEYOND_CACHES: Bytes = Bytes::new(u64::MAX);

/// One copy under way.
#[derive(Clone, Copy, Debug)]
pub(in crate::timed) struct PeerCopying {
    peer: Process,
    /// The bytes of both sides, source first.
    sides: [(Process, Region); 2],
    /// Bytes that are moved, or being moved.
    moved: u64,
    /// Bytes of the batch that the cache holds, and that are still to be moved.
    held: u64,
    /// The same of those that it does not hold.
    missed: u64,
    /// Since when the core is busy with what memory or a lock decides.
    since: Time,
}

/// What copies between processes share.
#[derive(Debug)]
pub(in crate::timed) struct PeerCopies {
    kernel: Kernel,
    /// By process whose pages are pinned.
    pinning: BTreeMap<Process, Pinning>,
    /// By the place that has the cache to itself.
    caches: BTreeMap<Place, LastLevel<(Process, Space)>>,
    /// Buffers that a process has mapped, and touched so far.
    mapped: BTreeMap<(Process, Process, Space), u64>,
    /// Buffers that were attached.
    attached: BTreeSet<(Process, Process)>,
}

impl PeerCopies {
    pub(in crate::timed) const fn new(kernel: Kernel) -> Self {
        Self {
            kernel,
            pinning: BTreeMap::new(),
            caches: BTreeMap::new(),
            mapped: BTreeMap::new(),
            attached: BTreeSet::new(),
        }
    }

    /// Declaring a buffer for the neighbours: what it costs its owner.
    pub(in crate::timed) fn expose(&self, profile: &Profile, region: Region) -> TimeDelta {
        match self.kernel {
            Kernel::Cma | Kernel::Xpmem => TimeDelta::ZERO,
            Kernel::Knem => {
                let base = profile.knem.region_base.unwrap_or_default();
                let bytes = Bytes::new(region.len);
                let each = profile.knem.region_per_byte.map(|each| each.cost(bytes));
                base + each.unwrap_or_default()
            }
        }
    }

    /// The call itself, before any byte is moved.
    fn call(&mut self, profile: &Profile, me: Process, peer: Process, remote: Region) -> TimeDelta {
        match self.kernel {
            Kernel::Cma => profile.cma.call_overhead.unwrap_or_default(),
            Kernel::Knem => profile.os.syscall,
            Kernel::Xpmem => {
                let known = !self.attached.insert((me, peer));
                let attach = profile.xpmem.attach.unwrap_or_default();
                let system = if known { TimeDelta::ZERO } else { profile.os.syscall };
                attach + system + self.faults(profile, me, peer, remote)
            }
        }
    }

    /// First touches of mapped pages.
    fn faults(
        &mut self,
        profile: &Profile,
        me: Process,
        peer: Process,
        region: Region,
    ) -> TimeDelta {
        let end = region.offset + region.len;
        let touched = self.mapped.entry((me, peer, region.space)).or_insert(0);
        let fresh = pages(profile, *touched, end.saturating_sub(*touched));
        *touched = end.max(*touched);
        profile.xpmem.page_fault.unwrap_or_default() * fresh
    }

    /// Bytes of a copy that the last cache before memory does not hold.
    fn misses(&mut self, cache: Place, size: Bytes, sides: [(Process, Region); 2]) -> u64 {
        let cache = self.caches.entry(cache).or_insert_with(|| LastLevel::new(size));
        let missed = sides.map(|(process, region)| {
            let bytes = region.offset..region.offset + region.len;
            cache.use_bytes((process, region.space), bytes)
        });
        missed[0].max(missed[1])
    }
}

/// Pages that so many bytes from an offset on lie in.
fn pages(profile: &Profile, offset: u64, bytes: u64) -> u64 {
    let page = profile.os.page_size.as_u64();
    if bytes == 0 { 0 } else { (offset + bytes).div_ceil(page) - offset / page }
}

impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// The core begins to copy between its process and a neighbour: the bytes are those of now.
    pub(in crate::timed) fn peer_copy(
        &mut self,
        thread: u32,
        (peer, toward): (Process, Toward),
        (own, remote): (Region, Region),
        cursor: Time,
    ) {
        let (process, _) = self.names(thread);
        let sides = match toward {
            Toward::Own => [(peer, remote), (process, own)],
            Toward::Peer => [(process, own), (peer, remote)],
        };
        let [(from, source), (to, target)] = sides;
        self.cx.observers.buffers.reads(from, source, &mut self.cx.observers.violations);
        self.cx.observers.buffers.writes(to, target, &mut self.cx.observers.violations);
        let parcel = self.memory.bytes.capture(from, source);
        self.memory.bytes.write(to, target, &parcel);
        self.actor(thread).account.copied += own.len;
        let call = self.memory.peer_copies.call(&self.cx.costs.profile, process, peer, remote);
        let cursor = self.charge(thread, Part::Kernel, cursor, call);
        self.actor(thread).peer_copy =
            Some(PeerCopying { peer, sides, moved: 0, held: 0, missed: 0, since: cursor });
        self.schedule(cursor, thread, Phase::Kernel, Happening::Pin(thread));
    }

    /// The next batch of pages is to be pinned, where the kernel pins at copies.
    pub(in crate::timed) fn pin(&mut self, thread: u32) {
        let now = self.cx.clock.simulation.now();
        let copying = self.copying(thread);
        let (remote, left) = (copying.remote(), copying.left());
        let profile = &self.cx.costs.profile;
        let page_cost = match self.memory.peer_copies.kernel {
            Kernel::Cma => profile.cma.page_cost.unwrap_or_default(),
            Kernel::Knem | Kernel::Xpmem => TimeDelta::ZERO,
        };
        let batch = left.min(batch_bytes(profile));
        let alone = page_cost * pages(profile, remote.offset + copying.moved, batch);
        if alone == TimeDelta::ZERO {
            return self.move_batch(thread);
        }
        let growth = profile.cma.contention_per_reader;
        let owner = copying.peer;
        let pinning = self.memory.peer_copies.pinning.entry(owner).or_default();
        pinning.join(now, thread, alone, growth);
        self.arm_pinning(owner);
    }

    pub(in crate::timed) fn arm_pinning(&mut self, owner: Process) {
        let growth = self.cx.costs.profile.cma.contention_per_reader;
        let pinning = &self.memory.peer_copies.pinning[&owner];
        if let Some((at, generation)) = pinning.next_end(growth) {
            let source = self.thread_of(owner, Thread(0));
            self.schedule(at, source, Phase::Pinning, Happening::Pinned(owner.0, generation));
        }
    }

    /// Whether others have joined or left since the end of a pinning was computed.
    pub(in crate::timed) fn is_old_pin(&self, owner: Process, generation: u32) -> bool {
        self.memory.peer_copies.pinning.get(&owner).is_none_or(|pinning| !pinning.is_of(generation))
    }

    /// Somebody's pages of `owner` may be pinned.
    pub(in crate::timed) fn pinned(&mut self, owner: Process, generation: u32) {
        let now = self.cx.clock.simulation.now();
        let growth = self.cx.costs.profile.cma.contention_per_reader;
        let pinning =
            self.memory.peer_copies.pinning.get_mut(&owner).expect("armed for this process");
        let ended = pinning.ended(now, generation, growth);
        if ended.is_empty() {
            return;
        }
        self.arm_pinning(owner);
        for thread in ended {
            self.move_batch(thread);
        }
    }

    /// The bytes of the batch whose pages are pinned are moved: first those that the last cache
    /// before memory holds, then the rest.
    pub(in crate::timed) fn move_batch(&mut self, thread: u32) {
        let now = self.cx.clock.simulation.now();
        self.note(|trail| trail.until(thread, Spent::Pinning, now));
        self.account_until_now(thread, Part::Kernel);
        let copying = self.copying(thread);
        let batch = copying.left().min(batch_bytes(&self.cx.costs.profile));
        let parts = copying.sides.map(|(who, region)| (who, region.part(copying.moved, batch)));
        let place = self.cores.actors[thread as usize].placement.place;
        let (cache, size) = self.cache_of(place);
        let missed = self.memory.peer_copies.misses(cache, size, parts);
        let under_way = self.under_way(thread);
        under_way.moved += batch;
        (under_way.held, under_way.missed) = (batch - missed, missed);
        self.move_part(thread);
    }

    /// Moves what the cache holds of a batch, or else what it does not; or the batch is over.
    pub(in crate::timed) fn move_part(&mut self, thread: u32) {
        let now = self.cx.clock.simulation.now();
        self.account_until_now(thread, Part::Copy);
        let [from, to] = self.copying(thread).sides.map(|(process, _)| self.home(process).socket);
        let core = self.cores.actors[thread as usize].placement.place;
        let under_way = self.under_way(thread);
        let (bytes, footprint) = if under_way.held > 0 {
            let held = std::mem::take(&mut under_way.held);
            // What is found in the cache fits it, whatever its size.
            (held, Bytes::new(2 * held).min(self.cache_of(core).1))
        } else if under_way.missed > 0 {
            (std::mem::take(&mut under_way.missed), BEYOND_CACHES)
        } else {
            return self.batch_ended(thread);
        };
        let copy = CoreCopy { core, from, to, footprint };
        if let Some(path) = self.network.cluster.copy_path(copy) {
            let conn = ConnId(thread);
            let transfer = Transfer { conn, path, bytes, token: token(COPY, thread) };
            self.network.cluster.fabric.start(
                now,
                transfer,
                &mut FabricSchedule(&mut self.cx.clock.simulation),
            );
        } else {
            let alone = self.cx.costs.copy_alone(footprint, copy.side(), Bytes::new(bytes));
            let cursor = self.charge(thread, Part::Copy, now, alone);
            self.under_way(thread).since = cursor;
            self.schedule(cursor, thread, Phase::Copy, Happening::Moved(thread));
        }
    }

    /// A batch is over: the next one, or the list goes on.
    pub(in crate::timed) fn batch_ended(&mut self, thread: u32) {
        if self.copying(thread).left() == 0 {
            self.actor(thread).peer_copy = None;
            self.work_on(thread, self.cx.clock.simulation.now(), false);
        } else {
            self.pin(thread);
        }
    }

    /// What a lock or memory decided until now was time of this part.
    pub(in crate::timed) fn account_until_now(&mut self, thread: u32, part: Part) {
        let now = self.cx.clock.simulation.now();
        let actor = self.actor(thread);
        let copying = actor.peer_copy.as_mut().expect("a copy is under way");
        actor.account.add(part, now.since(copying.since));
        copying.since = now;
    }

    pub(in crate::timed) fn under_way(&mut self, thread: u32) -> &mut PeerCopying {
        self.actor(thread).peer_copy.as_mut().expect("a copy is under way")
    }

    pub(in crate::timed) fn copying(&self, thread: u32) -> PeerCopying {
        self.cores.actors[thread as usize].peer_copy.expect("a copy is under way")
    }

    /// The last cache before memory of a core, and its size.
    pub(in crate::timed) fn cache_of(&self, place: Place) -> (Place, Bytes) {
        let cache = &self.cx.costs.profile.cache;
        if cache.l3_size > Bytes::new(0) {
            (Place { core: 0, thread: 0, ..place }, cache.l3_size)
        } else {
            let tile = self.cx.costs.profile.cpu.cores_per_tile.max(1);
            (Place { core: place.core / tile * tile, thread: 0, ..place }, cache.l2_size)
        }
    }
}

impl PeerCopying {
    const fn left(&self) -> u64 {
        self.sides[0].1.len - self.moved
    }

    /// The neighbour's bytes.
    fn remote(&self) -> Region {
        let side = self.sides.iter().find(|(process, _)| *process == self.peer);
        side.expect("one side is the neighbour's").1
    }
}

/// Bytes of the pages that one acquisition of the lock pins.
fn batch_bytes(profile: &Profile) -> u64 {
    u64::from(profile.cma.batch_pages.max(1)) * profile.os.page_size.as_u64()
}
