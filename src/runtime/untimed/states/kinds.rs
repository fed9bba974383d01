//! The kinds of parts that a state consists of.

use std::hash::Hash;

use super::parts::Part;
use crate::counters::Counters;
use crate::crash::Crash;
use crate::fingerprint::{Fingerprint, Shared};
use crate::memory::{Memories, Memory};
use crate::monitors::buffers::Buffers;
use crate::untimed::World;
use crate::untimed::facts::Observer;
use crate::untimed::state::{Instance, Port};
use crate::untimed::wires::Wires;
use protocols::contract::{Machine, Process, Program};

/// A process: its library, threads and memory, and the buffers that it lends.
#[derive(Clone, Debug)]
pub(super) struct Local<M: Machine, P> {
    process: Process,
    pub(super) instance: Shared<Instance<M, P>>,
    /// `None` where payload is phantom.
    pub(super) memory: Option<Shared<Memory>>,
    pub(super) buffers: Shared<Buffers>,
}

impl<M: Machine, P: Program<M>> Local<M, P> {
    pub(super) fn of(world: &World<M, P>, process: Process) -> Self {
        let place = process.0 as usize;
        let (instance, buffers) = (world.instances[place].clone(), world.buffers[place].clone());
        Self { process, instance, memory: world.memories.of(process).cloned(), buffers }
    }

    pub(super) fn put_into(&self, world: &mut World<M, P>) {
        let Self { process, instance, memory, buffers } = self;
        let place = process.0 as usize;
        world.instances[place].clone_from(instance);
        world.buffers[place].clone_from(buffers);
        if let Some(memory) = memory {
            world.memories.put(*process, memory);
        }
    }
}

impl<M: Machine, P: Program<M>> Part for Local<M, P> {
    fn key(&self) -> u128 {
        let Self { process, instance, memory, buffers } = self;
        let mut key = Fingerprint::default();
        key.named_shared(instance);
        key.named_shared(buffers);
        if let Some(memory) = memory {
            key.named_shared(memory);
        }
        process.hash(&mut key);
        key.by_name()
    }

    fn tell(&self, print: &mut Fingerprint) {
        print.shared(&self.instance);
        if let Some(memory) = &self.memory {
            print.shared(memory);
        }
    }

    fn bytes(&self) -> usize {
        let Self { instance, memory, buffers, .. } = self;
        let strands: usize = instance.threads.iter().map(Shared::bytes).sum();
        let memory = memory.as_ref().map_or(0, Shared::bytes);
        // Libraries are counted with their answers.
        instance.bytes() + strands + memory + buffers.bytes()
    }

    fn is(&self, other: &Self) -> bool {
        let of_memory = self.memory.as_ref().zip(other.memory.as_ref());
        self.instance.is(&other.instance)
            && self.buffers.is(&other.buffers)
            && of_memory.is_none_or(|(one, other)| one.is(other))
    }
}

/// Packets, completions and operations of a process.
#[derive(Clone, Debug)]
pub(super) struct PortOf<M: Machine> {
    pub(super) process: Process,
    pub(super) port: Shared<Port<M>>,
}

impl<M: Machine> Part for PortOf<M> {
    fn key(&self) -> u128 {
        let mut key = Fingerprint::default();
        key.named_shared(&self.port);
        self.process.hash(&mut key);
        key.by_name()
    }

    fn tell(&self, print: &mut Fingerprint) {
        print.shared(&self.port);
    }

    fn bytes(&self) -> usize {
        self.port.bytes()
    }

    fn is(&self, other: &Self) -> bool {
        self.port.is(&other.port)
    }
}

/// Monitors tell no states apart.
impl<T: Observer> Part for Shared<T> {
    fn key(&self) -> u128 {
        self.named().key()
    }

    fn tell(&self, _: &mut Fingerprint) {}

    fn bytes(&self) -> usize {
        Self::bytes(self)
    }

    fn is(&self, other: &Self) -> bool {
        Self::is(self, other)
    }
}

/// Parts that are the same in all states of most searches.
#[derive(Clone, Debug, Hash)]
pub(super) struct Rest<M: Machine> {
    pub(super) counters: Counters,
    pub(super) crash: Crash,
    pub(super) wires: Option<Box<Wires<M>>>,
    /// Where payload is phantom.
    pub(super) memories: Option<Memories>,
}

impl<M: Machine> Rest<M> {
    pub(super) fn of<P: Program<M>>(world: &World<M, P>) -> Self {
        let World { counters, crash, wires, memories, .. } = world;
        let phantom = memories.of(Process(0)).is_none();
        Self {
            counters: counters.clone(),
            crash: *crash,
            wires: wires.clone(),
            memories: phantom.then(|| memories.clone()),
        }
    }

    pub(super) fn put_into<P: Program<M>>(&self, world: &mut World<M, P>) {
        let Self { counters, crash, wires, memories } = self;
        world.counters.clone_from(counters);
        world.crash = *crash;
        world.wires.clone_from(wires);
        if let Some(memories) = memories {
            world.memories.clone_from(memories);
        }
    }
}

impl<M: Machine> Part for Rest<M> {
    fn key(&self) -> u128 {
        Fingerprint::named(self)
    }

    fn tell(&self, print: &mut Fingerprint) {
        self.hash(print);
    }

    fn bytes(&self) -> usize {
        let busy = self.wires.as_ref().map_or(0, |wires| wires.busy.len());
        size_of::<Self>() + busy * size_of::<Wires<M>>()
    }

    fn is(&self, other: &Self) -> bool {
        let Self { counters, crash, wires, memories } = self;
        *counters == other.counters
            && *crash == other.crash
            && *wires == other.wires
            && *memories == other.memories
    }
}
