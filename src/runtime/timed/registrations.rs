//! Which bytes of which buffers stay registered with the HCA: the registration cache of each process.
//!
//! A registration pins what it is asked for, a part of a buffer too. What is asked for again costs nothing while
//! all of it is pinned; where a part of it is not, all of it is pinned anew, as a cache does that looks for
//! one entry. A cache that would overflow is emptied first: the oldest policy, and the cheapest to state.

use std::collections::BTreeMap;

use protocols::contract::{Process, Region, Space};
use units::Bytes;

/// The caches of all processes.
#[derive(Debug, Default)]
pub(super) struct Registrations {
    /// Pinned bytes of each buffer, from and to; parts that touch are one.
    parts: BTreeMap<(Process, Space), Vec<(u64, u64)>>,
    /// Bytes of each process.
    used: BTreeMap<Process, u64>,
}

impl Registrations {
    /// Registers a region in a cache of `room` bytes; answers how many bytes were pinned, `None` where all
    /// are pinned already.
    pub(super) fn register(
        &mut self,
        process: Process,
        region: Region,
        room: Bytes,
    ) -> Option<Bytes> {
        let asked = (region.offset, region.offset + region.len);
        let parts = self.parts.entry((process, region.space)).or_default();
        // The first part that ends where the region begins, or later.
        let first = parts.partition_point(|part| part.1 < asked.0);
        if parts.get(first).is_some_and(|part| part.0 <= asked.0 && part.1 >= asked.1) {
            return None;
        }
        let touching = parts[first..].iter().take_while(|part| part.0 <= asked.1).count();
        let touched = first..first + touching;
        let whole = parts[touched.clone()]
            .iter()
            .fold(asked, |whole, part| (whole.0.min(part.0), whole.1.max(part.1)));
        let before: u64 = parts[touched.clone()].iter().map(|part| part.1 - part.0).sum();
        let used = self.used.entry(process).or_default();
        let after = *used - before + (whole.1 - whole.0);
        if after <= room.as_u64() {
            parts.splice(touched, [whole]);
            *used = after;
            return Some(Bytes::new(region.len));
        }
        self.parts.retain(|&(owner, _), _| owner != process);
        *used = 0;
        if region.len <= room.as_u64() {
            self.parts.insert((process, region.space), vec![asked]);
            *used = region.len;
        }
        Some(Bytes::new(region.len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Bytes = Bytes::new(100);
    fn part(offset: u64, len: u64) -> Region {
        Region { offset, ..Region::new(Space::User(0), len) }
    }

    /// How many bytes of a region of process 0 or 1 were pinned.
    fn pinned(cache: &mut Registrations, process: u32, region: Region) -> u64 {
        cache.register(Process(process), region, ROOM).map_or(0, Bytes::as_u64)
    }

    #[test]
    fn a_part_of_a_buffer_pins_its_own_bytes() {
        let mut cache = Registrations::default();
        let mut register = |region| pinned(&mut cache, 0, region);
        assert_eq!(register(part(40, 10)), 10, "not the 50 bytes up to its end");
        assert_eq!(register(part(40, 10)), 0);
        assert_eq!(register(part(50, 10)), 10);
        assert_eq!(register(part(45, 15)), 0, "parts that touch are one");
        assert_eq!(register(part(39, 2)), 2, "a byte of it was not pinned");
        assert_eq!(register(part(0, 40)), 40);
        assert_eq!(register(part(0, 60)), 0);
    }

    #[test]
    fn a_cache_that_would_overflow_is_emptied_first() {
        let mut cache = Registrations::default();
        let mut register = |process, region| pinned(&mut cache, process, region);
        assert_eq!(register(0, part(0, 60)), 60);
        assert_eq!(register(1, part(0, 60)), 60);
        assert_eq!(register(0, part(20, 80)), 80, "40 bytes more fit");
        assert_eq!(register(0, part(0, 100)), 0);
        assert_eq!(register(0, part(200, 1)), 1);
        assert_eq!(register(0, part(0, 60)), 60, "it was emptied");
        assert_eq!(register(0, part(0, 101)), 101, "it never fits");
        assert_eq!(register(0, part(0, 101)), 101);
        assert_eq!(register(1, part(0, 60)), 0, "another process has a cache of its own");
    }
}
