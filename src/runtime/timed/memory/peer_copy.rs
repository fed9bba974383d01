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

use std::collections::{BTreeMap, BTreeSet};

use crate::timed::context::Context;
use crate::timed::event::{Event, Phase};
use crate::timed::setup::Kernel;
use hardware::copies::CoreCopy;
use hardware::core::Place;
use hardware::last_level::LastLevel;
use hardware::parts::Parts;
use hardware::pinning::Pinning;
use hardware::profile::Profile;
use protocols::contract::{Process, Region, Space};
use units::{Bytes, Time, TimeDelta};

/// A footprint that no cache holds.
const BEYOND_CACHES: Bytes = Bytes::new(u64::MAX);

/// One copy under way.
#[derive(Clone, Copy, Debug)]
struct PeerCopying {
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

/// State that copies between processes share.
#[derive(Debug)]
pub(crate) struct PeerCopies {
    kernel: Kernel,
    /// By process whose pages are pinned.
    pinning: BTreeMap<Process, Pinning>,
    /// By the place that has the cache to itself.
    caches: BTreeMap<Place, LastLevel<(Process, Space)>>,
    /// The pages of buffers that a process has mapped, and touched so far.
    mapped: BTreeMap<(Process, Process, Space), Parts>,
    /// Buffers that were attached.
    attached: BTreeSet<(Process, Process)>,
    /// By thread whose core copies.
    under_way: BTreeMap<u32, PeerCopying>,
}

impl PeerCopies {
    pub(crate) const fn new(kernel: Kernel) -> Self {
        Self {
            kernel,
            pinning: BTreeMap::new(),
            caches: BTreeMap::new(),
            mapped: BTreeMap::new(),
            attached: BTreeSet::new(),
            under_way: BTreeMap::new(),
        }
    }

    /// Declaring a buffer for the neighbours: what it costs its owner.
    pub(crate) fn expose(&self, profile: &Profile, region: Region) -> TimeDelta {
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

    /// The call itself, before any byte is moved: what it takes each time, and what only once for a
    /// buffer.
    fn call(
        &mut self,
        profile: &Profile,
        me: Process,
        peer: Process,
        remote: Region,
    ) -> (TimeDelta, TimeDelta) {
        if me == peer {
            return (TimeDelta::ZERO, TimeDelta::ZERO);
        }
        match self.kernel {
            Kernel::Cma => (profile.cma.call_overhead.unwrap_or_default(), TimeDelta::ZERO),
            Kernel::Knem => (profile.os.syscall, TimeDelta::ZERO),
            Kernel::Xpmem => {
                let known = !self.attached.insert((me, peer));
                let attach = profile.xpmem.attach.unwrap_or_default();
                let system = if known { TimeDelta::ZERO } else { profile.os.syscall };
                (attach, system + self.faults(profile, me, peer, remote))
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
        let page = profile.os.page_size.as_u64();
        let asked = region.offset / page..(region.offset + region.len).div_ceil(page);
        let touched = self.mapped.entry((me, peer, region.space)).or_default();
        let fresh = touched.add(&asked);
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

    /// The core of `thread` begins to copy between its process `me` and a neighbour: what the call
    /// takes, and what it takes beyond that, once for the neighbour's buffer.
    pub(crate) fn begin(
        &mut self,
        thread: u32,
        (me, peer): (Process, Process),
        sides: [(Process, Region); 2],
        profile: &Profile,
    ) -> (TimeDelta, TimeDelta) {
        let since = Time::ZERO;
        let copying = PeerCopying { peer, sides, moved: 0, held: 0, missed: 0, since };
        self.under_way.insert(thread, copying);
        self.call(profile, me, peer, copying.remote())
    }

    /// The core is busy with the copy until then.
    pub(crate) fn is_busy_until(&mut self, thread: u32, until: Time) {
        self.copying(thread).since = until;
    }

    /// Whether the core of a thread copies from or into a neighbour.
    #[inline]
    pub(crate) fn is_copying(&self, thread: u32) -> bool {
        !self.under_way.is_empty() && self.under_way.contains_key(&thread)
    }

    fn copying(&mut self, thread: u32) -> &mut PeerCopying {
        self.under_way.get_mut(&thread).expect("a copy is under way")
    }

    /// The next batch of pages is to be pinned; answers whether it must wait for that.
    pub(crate) fn pin(&mut self, thread: u32, cx: &mut Context) -> bool {
        let copying = *self.copying(thread);
        let profile = &cx.costs.profile;
        let page_cost = match self.kernel {
            Kernel::Cma if !copying.is_inside() => profile.cma.page_cost.unwrap_or_default(),
            Kernel::Cma | Kernel::Knem | Kernel::Xpmem => TimeDelta::ZERO,
        };
        let batch = copying.left().min(batch_bytes(profile));
        let alone = page_cost * pages(profile, copying.remote().offset + copying.moved, batch);
        if alone == TimeDelta::ZERO {
            return false;
        }
        let growth = profile.cma.contention_per_reader;
        let pinning = self.pinning.entry(copying.peer).or_default();
        pinning.join(cx.now(), thread, alone, growth);
        self.arm(copying.peer, cx);
        true
    }

    fn arm(&self, owner: Process, cx: &mut Context) {
        let growth = cx.costs.profile.cma.contention_per_reader;
        if let Some((at, generation)) = self.pinning[&owner].next_end(growth) {
            let event = Event::Pinned(owner.0, generation);
            cx.schedule_of(at, owner, Phase::Pinning, event);
        }
    }

    /// Whether others have joined or left since the end of a pinning was computed.
    pub(crate) fn is_old_pin(&self, owner: Process, generation: u32) -> bool {
        self.pinning.get(&owner).is_none_or(|pinning| !pinning.is_of(generation))
    }

    /// Pages of `owner` may be pinned: the threads whose batch is.
    pub(crate) fn pinned(&mut self, owner: Process, generation: u32, cx: &mut Context) -> Vec<u32> {
        let growth = cx.costs.profile.cma.contention_per_reader;
        let pinning = self.pinning.get_mut(&owner).expect("armed for this process");
        let ended = pinning.ended(cx.now(), generation, growth);
        if !ended.is_empty() {
            self.arm(owner, cx);
        }
        ended
    }

    /// The bytes of the batch whose pages are pinned are to be moved by the core at `place`: first
    /// those that the last cache before memory holds, then the rest.
    pub(crate) fn begin_batch(&mut self, thread: u32, place: Place, profile: &Profile) {
        let copying = *self.copying(thread);
        let batch = copying.left().min(batch_bytes(profile));
        let parts = copying.sides.map(|(who, region)| (who, region.part(copying.moved, batch)));
        let (cache, size) = cache_of(place, profile);
        let missed = self.misses(cache, size, parts);
        let copying = self.copying(thread);
        copying.moved += batch;
        (copying.held, copying.missed) = (batch - missed, missed);
    }

    /// Next part of a batch: the bytes that the cache holds, or else those that it does not; `None` where
    /// the batch is over.
    pub(crate) fn next_part(
        &mut self,
        thread: u32,
        place: Place,
        cx: &Context,
    ) -> Option<CopyPart> {
        let copying = self.copying(thread);
        let [from, to] = copying.sides.map(|(process, _)| cx.layout.home(process).socket);
        let (bytes, footprint) = if copying.held > 0 {
            let held = std::mem::take(&mut copying.held);
            // What is found in the cache fits it, whatever its size.
            (held, Bytes::new(2 * held).min(cache_of(place, &cx.costs.profile).1))
        } else if copying.missed > 0 {
            (std::mem::take(&mut copying.missed), BEYOND_CACHES)
        } else {
            return None;
        };
        Some(CopyPart { copy: CoreCopy { core: place, from, to, footprint }, bytes })
    }

    /// A batch is over: answers whether the copy is.
    pub(crate) fn ends(&mut self, thread: u32) -> bool {
        let ends = self.copying(thread).left() == 0;
        if ends {
            self.under_way.remove(&thread);
        }
        ends
    }

    /// How long a core was busy with what memory or a lock decides; it counts anew from `now`.
    pub(crate) fn busy_until(&mut self, thread: u32, now: Time) -> TimeDelta {
        let since = std::mem::replace(&mut self.copying(thread).since, now);
        now.since(since)
    }
}

/// Part of a copy that a core moves in one go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyPart {
    pub(crate) copy: CoreCopy,
    pub(crate) bytes: u64,
}

/// The last cache before memory of a core, and its size.
fn cache_of(place: Place, profile: &Profile) -> (Place, Bytes) {
    let cache = &profile.cache;
    if cache.l3_size > Bytes::new(0) {
        (Place { core: 0, thread: 0, ..place }, cache.l3_size)
    } else {
        let tile = profile.cpu.cores_per_tile.max(1);
        (Place { core: place.core / tile * tile, thread: 0, ..place }, cache.l2_size)
    }
}

/// Pages that so many bytes from an offset on lie in.
fn pages(profile: &Profile, offset: u64, bytes: u64) -> u64 {
    let page = profile.os.page_size.as_u64();
    if bytes == 0 { 0 } else { (offset + bytes).div_ceil(page) - offset / page }
}

impl PeerCopying {
    const fn left(&self) -> u64 {
        self.sides[0].1.len - self.moved
    }

    /// Whether both sides are of one process, which needs no kernel to copy between them.
    fn is_inside(&self) -> bool {
        self.sides.iter().all(|(process, _)| *process == self.peer)
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
