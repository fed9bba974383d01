//! When two worlds are the same state.
//!
//! What watches decides nothing, and tells no states apart.

use std::hash::{Hash, Hasher};

use super::World;
use crate::fingerprint::Fingerprint;
use protocols::contract::{Machine, Program};

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
}
