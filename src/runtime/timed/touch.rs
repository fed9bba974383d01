//! Reading ahead: in a job of thousands of processes an event finds nothing of its process in the caches.
//!
//! What it needs lies in a dozen tables, and each piece is asked for when the work on the one before
//! is done: so it waits for memory a dozen times, one after the other. Here all are read at once, before
//! the work begins, and their waits overlap. Nothing is done with what was read.

use std::hint::black_box;

use super::actor::Actor;
use super::{Arrived, Content, Lends, Machine, Parcel, Part, Program, Timed};
use hardware::fabric::{ConnId, PathId};
use protocols::contract::Process;

/// From so many processes on, each with one thread: the state of fewer lies in the caches.
const MANY: usize = 512;

/// Whether a job is large enough.
pub(super) fn pays(processes: usize, threads: usize) -> bool {
    processes >= MANY && threads == processes
}

impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// The only thread of its process will work.
    #[inline]
    pub(super) fn touch(&self, thread: u32) {
        if !self.touches {
            return;
        }
        // Each process has one thread: both have one number. It is not read from the actor, for which
        // everything else would wait.
        let (process, place) = (Process(thread), thread as usize);
        let runtime = self.actors[place].touch() ^ self.pollers[place].touch();
        let tables = self.channel_of.touch(place) ^ u64::from(self.memories.landings(process));
        let monitors = self.monitors.matching.touch(process)
            ^ self.monitors.conservation.open_sends(process)
            ^ self.buffers.touch(process);
        black_box(runtime ^ tables ^ monitors ^ self.touch_arrival(place));
    }

    /// What the thread will take first, most likely, and what its sender's monitor knows of it.
    fn touch_arrival(&self, place: usize) -> u64 {
        let arrived = self.pollers[place].first(&self.entries);
        let Some(Arrived::Packet { from, channel, content, .. }) = arrived else { return 0 };
        let parcel = |content: &Content<M::Packet>| content.parcel.as_ref().map_or(0, Parcel::len);
        self.contents.touch(content, parcel)
            ^ self.channels[channel as usize].touch()
            ^ self.monitors.matching.touch_sent(from.peer)
    }

    /// Something arrives for the only thread of a process.
    #[inline]
    pub(super) fn touch_receiver(&self, process: Process) {
        if self.touches {
            let place = process.0 as usize;
            black_box(self.actors[place].touch_poll() ^ self.pollers[place].touch());
        }
    }

    /// Something will cross a path.
    #[inline]
    pub(super) fn touch_path(&self, conn: ConnId, path: PathId) {
        if self.touches {
            black_box(self.cluster.fabric.touch(conn, path));
        }
    }
}

impl<M: Machine, P> Actor<M, P> {
    /// Reads it where work begins.
    fn touch(&self) -> u64 {
        let account = self.account.of(Part::Library).as_ps() ^ self.account.entries;
        let list = self.placement.core ^ usize::from(self.entering.is_some());
        let ends = u64::from(self.reply.is_some()) ^ self.since.as_ps() ^ self.born.as_ps();
        account ^ list as u64 ^ ends ^ self.touch_poll()
    }

    /// Reads it where it polls.
    fn touch_poll(&self) -> u64 {
        u64::from(self.position.channel ^ self.polled.len ^ self.generation) ^ self.since.as_ps()
    }
}
