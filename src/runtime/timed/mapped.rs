//! Memory that several processes map: its updates take one mutex, as if processes shared a lock.
//!
//! The mutex is a server in order of arrival. Whoever comes spins until it is free, and takes it as a
//! library lock is taken: at the cost of its line in the own cache, or of a hand-over by distance.
//! It holds it while it changes the elements. Puts and gets take no mutex: they are copies.
//!
//! Source: `rma` Sec. 4.5. Left out: an update beyond the caches does not share memory's bandwidth
//! with other copies. Noticeable in large accumulates of many processes of a socket.

use super::{Lends, Machine, Part, Program, Timed};
use crate::hardware::core::Place;
use crate::units::{Bytes, Time};

/// The mutex of one piece of memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mutex {
    free_at: Time,
    last: Option<Place>,
}

impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// A core changes so many bytes of the memory `name` under its mutex, from `cursor` on: when it
    /// has left again.
    pub(super) fn change_mapped(
        &mut self,
        thread: u32,
        name: u32,
        bytes: Bytes,
        cursor: Time,
    ) -> Time {
        let here = self.actor(thread).placement.place;
        let Mutex { free_at, last } = self.mutexes.get(&name).copied().unwrap_or_default();
        let taking = match last {
            Some(last) if last != here => self.costs.hand_over(last, here),
            _ => self.costs.profile.mpi.lock_uncontended,
        };
        let begin = cursor.max(free_at);
        self.actor(thread).account.add(Part::Lock, begin.since(cursor));
        self.note(|trail| trail.spent(thread, Part::Lock.into(), cursor, begin));
        let inside = self.charge(thread, Part::Lock, begin, taking);
        let changing = self.costs.lone_copy(bytes);
        let end = self.charge(thread, Part::Copy, inside, changing);
        self.mutexes.insert(name, Mutex { free_at: end, last: Some(here) });
        end
    }
}
