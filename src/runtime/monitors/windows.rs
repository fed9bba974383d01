//! R2: accesses to a window that run together keep the table of its memory model.
//!
//! An access is open from its call on until it is complete: under a lock until the flush or unlock
//! of its origin is over, between fences until the next fence of the owner is, between start and
//! complete until the owner's wait is. Which of them never run together, whatever their calls do,
//! [`Under`] says; so locks that are requested late, and fences without a barrier, are no conflict.
//! An operation that is called before its target has posted begins when that has.
//!
//! A load or store of the owner is over when it is done. It is open until the owner calls a
//! synchronisation of the window; in unified memory also until it sends something or enters a
//! collective, since no other process could know of it before.
//!
//! Separate memory has two copies: what another process has completed under a lock is in the public
//! one, and the owner may not load it before it has synchronised, by a lock of its own part, a fence,
//! a wait, or `MPI_Win_sync`.
//!
//! Unified memory has one copy: its owner comes after an accumulate that has been applied, whether or
//! not the origin knows of that yet. (So an owner that has read what another one accumulated may
//! store over it.)
//!
//! What is seen is what overlapped in this run, in the order in which the monitor gets the facts: one that
//! causes precede their effects in. Two conflicting accesses that a message orders in one run and
//! not in another are found in the other. Each pair of calls is reported once.
//!
//! Windows that overlap know nothing of each other: an operation meets what is open by way of another
//! window on the same bytes, whatever both are under, and two accumulates conflict there as well (MPI
//! 3.1, Sec. 11.2.1).
//!
//! C4 is watched here for fences: when its ranks have freed a window, each has called as many.
//!
//! Source: `rma` Sec. 2.1.2 to 2.1.4, 2.2.4, Fig. 1. Left out: loads and stores of one process in the
//! memory of another.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::ops::Range;

use super::law::Violation;
use crate::fingerprint::Shared;
use mpi::envelope::Rank;
use mpi::observation::{Reach, WindowFact};
use mpi::rma::access::{
    Access, Accesses, AccumulateOps, Conflict, Kind, MemoryModel, Touch, Under,
};
use mpi::rma::synchronisation::LockKind;
use protocols::contract::{Process, Region, Space};

const C4: &str = "the ranks of a window call the same fences on it";
/// The name of this law. An access that breaks it has no defined value, but is no error in MPI.
pub const UNDEFINED_VALUE: &str = "R2";
const R2: &str = "accesses to a window that run together keep the table of its memory model";

/// A process and one of its memories.
type Memory = (u32, u32);
/// A call: whose, and where it stands.
type Place = (u32, Option<u32>);

/// The monitor of all windows of a run.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Windows {
    memories: BTreeMap<Memory, Shared<Exposed>>,
    separate: Separate,
    /// By window and process.
    parts: BTreeMap<(u32, u32), Shared<Part>>,
    /// Windows and memories with open loads and stores of their owner.
    touched: BTreeMap<u32, BTreeSet<(u32, u32)>>,
    reported: BTreeSet<(Place, Place)>,
    /// Of each freed window, the process that has freed it first and how many fences that had
    /// called. Windows of groups without a common process have equal numbers; the process of rank 0
    /// tells them apart.
    freed: BTreeMap<(u32, u32), (u32, u32)>,
    /// Accesses that began while another process had one open in the same memory.
    pub side_by_side: u64,
}

/// Which of the memories are of the separate model: an owner has many of the other one, where it attaches each
/// element of a list.
#[derive(Clone, Debug, Default)]
struct Separate(BTreeSet<Memory>);

/// The memories say the same.
impl PartialEq for Separate {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Separate {}

impl Hash for Separate {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// Memory that others can reach.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Exposed {
    /// How many windows it is in; 0 before its owner has reported it.
    windows: u32,
    model: MemoryModel,
    /// Open accesses, by window.
    open: Vec<(u32, Accesses)>,
}

impl Exposed {
    /// Open accesses by way of a window.
    fn of(&mut self, window: u32) -> &mut Accesses {
        let known = self.open.iter().position(|(of, _)| *of == window);
        let place = known.unwrap_or_else(|| {
            self.open.push((window, Accesses::new(self.model, AccumulateOps::default(), true)));
            self.open.len() - 1
        });
        &mut self.open[place].1
    }

    /// Begins an access of a process by way of a window. What it meets of another window, nothing
    /// there keeps apart from it: neither locks nor fences, and not that both accumulate.
    fn begin(&mut self, window: u32, access: &Access) -> Option<(u32, Box<Conflict>)> {
        let here = self.of(window).begin(access).err().map(|conflict| (window, conflict));
        if access.touch.is_local() || self.open.len() == 1 {
            return here;
        }
        let touch = if access.touch.kind() == Kind::Acc { Touch::Put } else { access.touch };
        let crossing = Access { touch, under: Under::Unchecked, ..access.clone() };
        let others = self.open.iter().filter(|(of, _)| *of != window);
        let there = || {
            others.into_iter().find_map(|(of, open)| {
                let conflict = open.meets_operation(&crossing)?;
                Some((*of, Box::new(Conflict { second: access.clone(), ..conflict })))
            })
        };
        here.or_else(there)
    }
}

/// State of a process in a window.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct Part {
    fences: u32,
    lock: Option<LockKind>,
    /// Exposure epochs that are over.
    exposures: u32,
    /// For each origin, how often it was let in.
    posts: BTreeMap<u32, u32>,
    /// For each target, how often an access epoch to it was started.
    starts: BTreeMap<u32, u32>,
    /// Own memories that other processes access between fences, or between start and complete.
    entered: BTreeSet<u32>,
    /// Memories of others that it accesses under locks.
    reached: BTreeMap<u32, BTreeSet<u32>>,
    /// Operations of each origin that come before their post.
    early: BTreeMap<u32, Vec<Early>>,
}

impl Part {
    /// The exposure epoch that is open, or the next one.
    const fn exposure(&self) -> Under {
        Under::Exposure { number: self.exposures, fences: self.fences }
    }
}

/// An operation that was called before its target has posted.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Early {
    memory: u32,
    model: MemoryModel,
    access: Access,
}

impl Windows {
    /// Whether any memory is in a window.
    #[inline]
    pub fn watches(&self) -> bool {
        !self.memories.is_empty()
    }

    /// The library of a process tells a fact of a window; `place` is where its call stands.
    pub fn told(
        &mut self,
        process: Process,
        window: u32,
        fact: WindowFact,
        place: Option<u32>,
        found: &mut Vec<Violation>,
    ) {
        let me = process.0;
        match fact {
            WindowFact::Exposed { memory, model } => {
                self.memory((me, memory), window, model).windows += 1;
            }
            WindowFact::Hidden { memory } => self.hidden(window, (me, memory)),
            WindowFact::Accessed { owner, memory, start, bytes, touch, reach, model } => {
                let (by, bytes) = (Rank(me), start..start + bytes);
                let access = Access { by, touch, bytes, under: Under::Unchecked, place };
                self.accessed(window, (owner, memory), model, reach, access, found);
            }
            WindowFact::Applied { origin, memory, start, bytes } => {
                self.applied(origin, (me, memory), start..start + bytes);
            }
            WindowFact::Completed { owner } => {
                self.each_reached(window, me, owner, true, |open| open.complete(Rank(me)));
            }
            WindowFact::Arrived { owner } => {
                self.each_reached(window, me, owner, false, |open| open.arrived(Rank(me)));
            }
            WindowFact::Synchronised => self.synchronised(window, me),
            WindowFact::OwnLock(lock) => self.part(window, me).lock = lock,
            WindowFact::Fenced => self.part(window, me).fences += 1,
            WindowFact::FenceOver => {
                self.epoch_over(window, me);
                self.synchronised(window, me);
            }
            WindowFact::Posted { origin } => self.posted(window, me, origin, found),
            WindowFact::Started { owner } => {
                *self.part(window, me).starts.entry(owner).or_default() += 1;
            }
            WindowFact::ExposureOver => {
                self.part(window, me).exposures += 1;
                self.epoch_over(window, me);
                self.synchronised(window, me);
            }
            WindowFact::Freed { first } => self.freed((window, first), me, place, found),
        }
    }

    /// The program of a process touches memory that a window may expose.
    pub fn touched(
        &mut self,
        process: Process,
        region: Region,
        touch: Touch,
        place: Option<u32>,
        found: &mut Vec<Violation>,
    ) {
        let Space::Window(memory) = region.space else { return };
        let owner = process.0;
        let Some(exposed) = self.memories.get(&(owner, memory)) else { return };
        let windows: Vec<u32> = exposed.open.iter().map(|(window, _)| *window).collect();
        for window in windows {
            let part = self.parts.get(&(window, owner));
            let (fences, lock) = part.map_or((0, None), |part| (part.fences, part.lock));
            let bytes = region.offset..region.offset + region.len;
            let under = Under::Local { fences, lock };
            let access = Access { by: Rank(owner), touch, bytes, under, place };
            self.touched.entry(owner).or_default().insert((window, memory));
            self.begin(window, (owner, memory), &access, found);
        }
    }

    /// An accumulate has changed these bytes.
    pub fn applied(&mut self, origin: u32, memory: (u32, u32), bytes: Range<u64>) {
        if let Some(exposed) = self.memories.get_mut(&memory) {
            for (_, open) in &mut exposed.change().open {
                open.applied(Rank(origin), &bytes);
            }
        }
    }

    /// Whether it matters that the process sends something: it has open accesses of its own to
    /// unified memory.
    pub fn listens_to(&self, process: Process) -> bool {
        let unified = |memory| {
            let exposed = self.memories.get(&(process.0, memory));
            exposed.is_some_and(|exposed| exposed.model == MemoryModel::Unified)
        };
        let touched = self.touched.get(&process.0);
        touched.is_some_and(|touched| touched.iter().any(|(_, memory)| unified(*memory)))
    }

    /// The process sends something: a process that receives it may know of its operations.
    pub fn speaks(&mut self, process: Process) {
        if self.listens_to(process) {
            self.close_touched(process.0, |_| true);
        }
    }

    /// State of a process in a window, to be changed.
    fn part(&mut self, window: u32, process: u32) -> &mut Part {
        self.parts.entry((window, process)).or_default().change()
    }

    fn memory(&mut self, memory: Memory, window: u32, model: MemoryModel) -> &mut Exposed {
        let separate = &mut self.separate.0;
        let new = || {
            if model == MemoryModel::Separate {
                separate.insert(memory);
            }
            Shared::new(Exposed { windows: 0, model, open: Vec::with_capacity(1) })
        };
        let exposed = self.memories.entry(memory).or_insert_with(new).change();
        exposed.of(window);
        exposed
    }

    fn hidden(&mut self, window: u32, memory: Memory) {
        let Some(exposed) = self.memories.get_mut(&memory).map(Shared::change) else { return };
        exposed.windows = exposed.windows.saturating_sub(1);
        exposed.open.retain(|(of, _)| *of != window);
        if exposed.windows == 0 {
            self.memories.remove(&memory);
            self.separate.0.remove(&memory);
        }
    }

    fn accessed(
        &mut self,
        window: u32,
        (owner, memory): Memory,
        model: MemoryModel,
        reach: Reach,
        access: Access,
        found: &mut Vec<Violation>,
    ) {
        let origin = access.by.0;
        let part = self.part(window, origin);
        let (fences, starts) = (part.fences, part.starts.get(&owner).copied().unwrap_or(0));
        if matches!(reach, Reach::Lock(_) | Reach::Unchecked) {
            part.reached.entry(owner).or_default().insert(memory);
        }
        let target = self.part(window, owner);
        if matches!(reach, Reach::Fence | Reach::Start) {
            target.entered.insert(memory);
        }
        let under = match reach {
            Reach::Fence => Under::Fence(fences),
            Reach::Lock(kind) => Under::Lock(kind),
            Reach::Unchecked => Under::Unchecked,
            Reach::Start if target.posts.get(&origin).copied().unwrap_or(0) < starts => {
                target.early.entry(origin).or_default().push(Early { memory, model, access });
                return;
            }
            Reach::Start => target.exposure(),
        };
        self.memory((owner, memory), window, model);
        self.begin(window, (owner, memory), &Access { under, ..access }, found);
    }

    /// The owner lets an origin in: what that has called for begins.
    fn posted(&mut self, window: u32, owner: u32, origin: u32, found: &mut Vec<Violation>) {
        let part = self.part(window, owner);
        *part.posts.entry(origin).or_default() += 1;
        let (under, early) = (part.exposure(), part.early.remove(&origin));
        // An epoch before this one may have ended meanwhile, and closed what had no access then.
        part.entered.extend(early.iter().flatten().map(|early| early.memory));
        for Early { memory, model, access } in early.into_iter().flatten() {
            self.memory((owner, memory), window, model);
            self.begin(window, (owner, memory), &Access { under, ..access }, found);
        }
    }

    fn begin(&mut self, window: u32, memory: Memory, access: &Access, found: &mut Vec<Violation>) {
        let Some(exposed) = self.memories.get_mut(&memory).map(Shared::change) else { return };
        self.side_by_side += u64::from(exposed.of(window).is_shared_with(access.by));
        let Some((other, conflict)) = exposed.begin(window, access) else { return };
        let Conflict { first, second, .. } = &*conflict;
        let pair = ((first.by.0, first.place), (second.by.0, second.place));
        if self.reported.insert(pair) {
            found.push(broken([other, window], memory, exposed.model, &conflict));
        }
    }

    /// Closes what an origin has open in one or all memories of others.
    fn each_reached(
        &mut self,
        window: u32,
        origin: u32,
        owner: Option<u32>,
        all_over: bool,
        close: impl Fn(&mut Accesses),
    ) {
        let Some(part) = self.parts.get_mut(&(window, origin)).map(Shared::change) else { return };
        let reached = match owner {
            Some(owner) => part
                .reached
                .get(&owner)
                .map(|memories| (owner, memories.clone()))
                .into_iter()
                .collect(),
            None => part.reached.clone(),
        };
        if all_over {
            part.reached.retain(|other, _| owner.is_some_and(|owner| owner != *other));
        }
        for (owner, memories) in reached {
            for memory in memories {
                if let Some(exposed) = self.memories.get_mut(&(owner, memory)) {
                    close(exposed.change().of(window));
                }
            }
        }
    }

    /// Epochs of an owner that are over end in all its memories.
    fn epoch_over(&mut self, window: u32, owner: u32) {
        let Some(part) = self.parts.get_mut(&(window, owner)).map(Shared::change) else { return };
        let (fences, exposures) = (part.fences, part.exposures);
        let memories = &mut self.memories;
        part.entered.retain(|memory| {
            let Some(exposed) = memories.get_mut(&(owner, *memory)) else { return false };
            let open = exposed.change().of(window);
            open.end_epochs(fences, exposures);
            !open.is_empty()
        });
    }

    /// The owner synchronises its two copies of a window: its own accesses are ordered before what
    /// follows, and it sees what others have completed.
    fn synchronised(&mut self, window: u32, owner: u32) {
        self.close_touched(owner, |of| of == window);
        for memory in self.separate.0.range((owner, 0)..=(owner, u32::MAX)) {
            if let Some(exposed) = self.memories.get_mut(memory) {
                exposed.change().of(window).sees_all();
            }
        }
    }

    /// A process has freed a window, as all its ranks have: they have called as many fences.
    fn freed(
        &mut self,
        (window, rank_0): (u32, u32),
        process: u32,
        place: Option<u32>,
        found: &mut Vec<Violation>,
    ) {
        let fences = self.parts.remove(&(window, process)).map_or(0, |part| part.fences);
        let (other, first) = *self.freed.entry((window, rank_0)).or_insert((process, fences));
        if first != fences {
            let objects = vec![format!("window {window}")];
            let detail = format!(
                "process {other} has called MPI_Win_fence {first} times when it frees the window, \
                 and process {process} {fences} times{}",
                place.map_or_else(String::new, |line| format!(", in line {line}")),
            );
            found.push(Violation { id: "C4", statement: C4, objects, detail });
        }
    }

    fn close_touched(&mut self, owner: u32, of: impl Fn(u32) -> bool) {
        let Some(touched) = self.touched.get_mut(&owner) else { return };
        let memories = &mut self.memories;
        touched.retain(|(window, memory)| {
            let closed = of(*window);
            if closed && let Some(exposed) = memories.get_mut(&(owner, *memory)) {
                exposed.change().of(*window).synchronise(Rank(owner));
            }
            !closed
        });
        if touched.is_empty() {
            self.touched.remove(&owner);
        }
    }
}

fn broken(
    [first, second]: [u32; 2],
    (owner, memory): Memory,
    model: MemoryModel,
    conflict: &Conflict,
) -> Violation {
    let which = if first == second {
        format!("window {second}")
    } else {
        format!("windows {first} and {second}")
    };
    let objects = vec![format!("{which}, memory {memory} of process {owner}")];
    let detail = format!("{conflict} ({} model)", model.name());
    Violation { id: UNDEFINED_VALUE, statement: R2, objects, detail }
}

#[cfg(test)]
mod tests;
