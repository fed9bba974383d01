//! Classes of equal flows: those of one path, size and share.
//!
//! They cross the same resources, weigh the same on each, and at a full one none gets more than
//! another. So rates are solved for classes, however many flows each of them has.

use super::arena::NONE;
use super::datapath::Datapath;
use super::hops::HopState;
use super::resource::Resources;

/// Classes that are looked up by what their flows have in common.
/// Method: one that is not found is made anew, which takes as long as its hops do. Flows of one kind
/// may then have two classes: that costs time, and changes no rate.
const RECENT: usize = 64;

/// Properties that flows of a class have in common.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Likeness {
    pub(super) path: u32,
    pub(super) bytes: u64,
    /// Most that each may have of a full resource, in 2^-16 of the usual share.
    pub(super) share: u32,
}

impl Likeness {
    fn place(self) -> usize {
        let word = u64::from(self.path) << 32 ^ u64::from(self.share) ^ self.bytes.rotate_left(17);
        let high = word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
        usize::try_from(high).expect("six bits") % RECENT
    }
}

/// A hop of the flows of a class; hops over the same resource are joined.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassHop {
    pub(super) resource: u32,
    /// The resource before it on the path.
    pub(super) previous: u32,
    /// Raw bytes per payload byte, in 2^-32.
    pub(super) weight: u64,
    /// The weight times the share: part of a flow in what the resource gives to all of one level.
    pull: u128,
    /// The pull of all flows that were counted last, and their load by the rate solved for them.
    pub(super) drawn: u128,
    pub(super) load: u64,
    /// Place among the resources that were solved together last.
    pub(super) level: u32,
    /// Place among the resource's classes.
    place: u32,
    pub(super) raw: u64,
    pub(super) packets: u64,
}

/// Flows that cross the same resources, and weigh the same on each.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) likeness: Likeness,
    pub(super) hops: Vec<ClassHop>,
    /// Connections and flows, by connection.
    pub(super) flows: Vec<(u32, u32)>,
    /// Whether it is found by its likeness; if not, it is used again once its last flow has left.
    is_recent: bool,
    /// Its flows at the last solve.
    counted: u64,
    /// The last component that it was part of.
    pub(super) visited: u64,
    /// Its rate is final in the present solve: that of a flow, and that for one usual share.
    pub(super) is_final: bool,
    pub(super) rate: u64,
    pub(super) level: u64,
}

impl Class {
    /// Its flows, as a factor.
    pub(super) const fn count(&self) -> u64 {
        self.flows.len() as u64
    }

    /// A solve begins.
    pub(super) fn begin(&mut self) {
        self.is_final = false;
        let count = self.count();
        if std::mem::replace(&mut self.counted, count) != count {
            for hop in &mut self.hops {
                hop.drawn = hop.pull * u128::from(count);
            }
        }
    }

    /// The shared hops of a transfer, with what it weighs on each.
    fn fill_hops(&mut self, crossed: impl Iterator<Item = HopState>, path: &Datapath) {
        let Self { hops, likeness: Likeness { bytes, share, .. }, .. } = self;
        hops.clear();
        self.counted = 0;
        let mut before = NONE;
        for hop in crossed {
            let previous = std::mem::replace(&mut before, hop.resource);
            if !path.resources.is_shared(hop.resource) {
                continue;
            }
            let raw = path.hops.raw(hop, *bytes);
            let packets = path.hops.packets(hop, *bytes);
            if let Some(same) = hops.iter_mut().find(|other| other.resource == hop.resource) {
                same.raw += raw;
                same.packets += packets;
            } else {
                hops.push(ClassHop {
                    resource: hop.resource,
                    previous,
                    weight: 0,
                    pull: 0,
                    drawn: 0,
                    load: 0,
                    level: NONE,
                    place: NONE,
                    raw,
                    packets,
                });
            }
        }
        for hop in hops {
            let weight = (u128::from(hop.raw) << 32).div_ceil(u128::from(*bytes));
            hop.weight = u64::try_from(weight).expect("a byte weighs less than 4 GiB");
            hop.pull = u128::from(hop.weight) * u128::from(*share);
        }
    }
}

/// All classes; slots and their tables of hops are used again.
#[derive(Debug)]
pub(super) struct Classes {
    slots: Vec<Class>,
    /// Slots without flows that are not found any more.
    free: Vec<u32>,
    /// By a hash of the likeness.
    recent: [u32; RECENT],
    changes: u64,
}

impl Default for Classes {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), recent: [NONE; RECENT], changes: 0 }
    }
}

impl std::ops::Index<u32> for Classes {
    type Output = Class;
    fn index(&self, id: u32) -> &Class {
        &self.slots[id as usize]
    }
}

impl std::ops::IndexMut<u32> for Classes {
    fn index_mut(&mut self, id: u32) -> &mut Class {
        &mut self.slots[id as usize]
    }
}

impl Classes {
    /// The class of such flows, which may have none yet.
    pub(super) fn of(&mut self, likeness: Likeness, path: &Datapath) -> u32 {
        let place = likeness.place();
        let known = self.recent[place];
        if known != NONE && self[known].likeness == likeness {
            return known;
        }
        let id = self.slot_instead_of(known);
        self.recent[place] = id;
        let class = &mut self[id];
        class.likeness = likeness;
        class.is_recent = true;
        let crossed = path.hops.path(likeness.path);
        class.fill_hops(path.hops.of(crossed.first, crossed.end), path);
        id
    }

    /// A slot without flows, where `old` is found no more.
    fn slot_instead_of(&mut self, old: u32) -> u32 {
        if old != NONE {
            if self[old].flows.is_empty() {
                return old;
            }
            self[old].is_recent = false;
        }
        if let Some(id) = self.free.pop() {
            return id;
        }
        let id = u32::try_from(self.slots.len()).expect("fewer classes than flows");
        self.slots.push(Class {
            likeness: Likeness { path: NONE, bytes: 0, share: 0 },
            hops: Vec::new(),
            flows: Vec::new(),
            is_recent: false,
            counted: 0,
            visited: 0,
            is_final: false,
            rate: 0,
            level: 0,
        });
        id
    }

    /// How often a class got its first flow or lost its last one: until then classes share resources
    /// as before.
    pub(super) const fn changes(&self) -> u64 {
        self.changes
    }

    /// Takes in the flow of a connection.
    pub(super) fn enter(&mut self, id: u32, flow: (u32, u32), resources: &mut Resources) {
        let class = &mut self.slots[id as usize];
        if class.flows.is_empty() {
            self.changes += 1;
            for (at, hop) in (0..).zip(&mut class.hops) {
                let classes = &mut resources.shared_mut(hop.resource).fluid.classes;
                hop.place = u32::try_from(classes.len()).expect("fewer classes than flows");
                classes.push((id, at));
            }
        }
        let place = class.flows.partition_point(|other| *other < flow);
        class.flows.insert(place, flow);
    }

    /// Lets the flow of a connection out. The class keeps its hops until another is asked for.
    pub(super) fn leave(&mut self, id: u32, flow: (u32, u32), resources: &mut Resources) {
        let class = &mut self[id];
        let place = class.flows.binary_search(&flow).expect("it is one of the flows");
        class.flows.remove(place);
        if !class.flows.is_empty() {
            return;
        }
        self.changes += 1;
        for at in 0..self[id].hops.len() {
            let ClassHop { resource, place, .. } = self[id].hops[at];
            let classes = &mut resources.shared_mut(resource).fluid.classes;
            classes.swap_remove(place as usize);
            if let Some(&(moved, hop)) = classes.get(place as usize) {
                self[moved].hops[hop as usize].place = place;
            }
        }
        if !self[id].is_recent {
            self.free.push(id);
        }
    }
}
