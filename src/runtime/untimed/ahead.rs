//! Reading ahead: a search is about to expand a state that it put off long ago, and nothing of that
//! is in a cache.
//!
//! A state points to lists, these to values that are shared, and these to threads: read one after
//! the other, each is a wait for memory, for each process anew. Here the pieces of several states are
//! read in one go, each state one [`Depth`] further than the time before, so that no address has to be
//! waited for and all waits overlap. Nothing is done with what was read.

use super::World;
use super::state::{Depth, Stage};
use crate::memory::Payload;
use protocols::contract::{Machine, Program};

impl<M: Machine, P: Program<M>> World<M, P> {
    /// Reads a word of each piece at a depth.
    pub(crate) fn read_ahead(&self, depth: Depth) -> usize {
        match depth {
            Depth::Itself => self.read_itself(),
            Depth::Values => self.read_values(),
            Depth::Threads => self.read_threads(),
        }
    }

    /// Its fields lie in a handful of lines, in no order that the source tells.
    fn read_itself(&self) -> usize {
        let lists = self.instances.len() ^ self.ports.len() ^ self.buffers.len();
        let rest = usize::from(self.adapters) ^ usize::from(self.fault.is_some());
        lists ^ rest ^ self.found.len() ^ usize::from(self.memories.payload() == Payload::Real)
    }

    fn read_values(&self) -> usize {
        let instances = self.instances.iter().fold(0, |read, one| read ^ one.touch());
        let ports = self.ports.iter().fold(0, |read, one| read ^ one.touch());
        let buffers = self.buffers.iter().fold(0, |read, one| read ^ one.touch());
        let watching = self.monitors.touch() ^ self.windows.touch();
        instances ^ ports ^ buffers ^ watching ^ self.memories.touch()
    }

    fn read_threads(&self) -> usize {
        let threads = self.instances.iter().flat_map(|instance| &instance.threads);
        threads.fold(0, |read, strand| {
            let list = strand.list.len();
            read ^ list
                ^ usize::from(strand.pass.is_some())
                ^ usize::from(strand.stage == Stage::Inside)
        })
    }
}
