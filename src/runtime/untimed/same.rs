//! When two worlds are the same state, and how one becomes another.
//!
//! What watches, and what makes a search faster, decides nothing: it is copied, and tells no states apart.

use std::hash::{Hash, Hasher};

use super::World;
use crate::crash::Crash;
use crate::fingerprint::{Fingerprint, become_others};
use protocols::contract::{Machine, Program};

impl<M: Machine, P: Program<M>> Clone for World<M, P> {
    fn clone(&self) -> Self {
        Self {
            instances: self.instances.clone(),
            ports: self.ports.clone(),
            memories: self.memories.clone(),
            counters: self.counters.clone(),
            fault: self.fault.clone(),
            crash: self.crash,
            wires: self.wires.clone(),
            adapters: self.adapters,
            sends_ready: self.sends_ready,
            monitors: self.monitors.clone(),
            windows: self.windows.clone(),
            buffers: self.buffers.clone(),
            found: self.found.clone(),
            memo: self.memo.clone(),
            notes: self.notes.clone(),
            met: self.met.clone(),
        }
    }

    /// Touches only what differs: a search makes the states after one from each other.
    fn clone_from(&mut self, other: &Self) {
        let Self { instances, ports, memories, counters, fault, crash, wires, .. } = other;
        become_others(&mut self.instances, instances);
        become_others(&mut self.ports, ports);
        self.memories.clone_from(memories);
        if self.counters != *counters {
            self.counters.clone_from(counters);
        }
        if self.fault.is_some() || fault.is_some() {
            self.fault.clone_from(fault);
        }
        self.crash = *crash;
        if self.wires.is_some() || wires.is_some() {
            self.wires.clone_from(wires);
        }
        let Self {
            adapters, sends_ready, monitors, windows, buffers, found, memo, notes, met, ..
        } = other;
        self.adapters = *adapters;
        self.sends_ready = *sends_ready;
        self.monitors.clone_from(monitors);
        self.windows.clone_from(windows);
        become_others(&mut self.buffers, buffers);
        if !(self.found.is_empty() && found.is_empty()) {
            self.found.clone_from(found);
        }
        self.memo.clone_from(memo);
        self.notes.clone_from(notes);
        self.met.clone_from(met);
    }
}

impl<M: Machine, P: Program<M>> PartialEq for World<M, P> {
    fn eq(&self, other: &Self) -> bool {
        self.instances == other.instances
            && self.ports == other.ports
            && self.memories == other.memories
            && self.counters == other.counters
            && self.fault == other.fault
            && self.crash == other.crash
            && self.wires == other.wires
    }
}

impl<M: Machine, P: Program<M>> Eq for World<M, P> {}

impl<M: Machine, P: Program<M>> Hash for World<M, P> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.instances.hash(state);
        self.ports.hash(state);
        self.memories.hash(state);
        self.counters.hash(state);
        self.fault.hash(state);
        self.crash.hash(state);
        if let Some(wires) = &self.wires {
            wires.hash(state);
        }
    }
}

impl<M: Machine, P: Program<M>> World<M, P> {
    /// The fingerprint of machines, programs, lists, wires and memories, whatever messages and
    /// receives are called.
    pub fn fingerprint(&self) -> u128 {
        Fingerprint::of(self)
    }

    /// The same, but what is called differently is different.
    pub fn named_fingerprint(&self) -> u128 {
        Fingerprint::named(self)
    }

    /// Key of this state in a search: equal where [`Self::fingerprint`] is equal, and of the same
    /// quality, in a fraction of the time. Another number, and of no use outside one search.
    pub fn print(&self) -> u128 {
        let mut print = Fingerprint::default();
        self.instances.iter().for_each(|one| print.shared(one));
        self.ports.iter().for_each(|one| print.shared(one));
        self.memories.print(&mut print);
        let Self { counters, fault, crash, wires, .. } = self;
        let plain = fault.is_none() && *crash == Crash::Never && wires.is_none();
        if !(plain && counters.are_zero()) {
            (counters, fault, crash, wires.as_deref()).hash(&mut print);
        }
        print.by_place()
    }
}
