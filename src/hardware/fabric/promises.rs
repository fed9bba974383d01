//! A queue of promised services: see `datapath.rs`.

/// A service that begins at `start` if no other packet comes before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Promise {
    /// When the packet comes.
    pub(super) start: u64,
    /// When its service ends; at processing units, when the unit that it takes was free.
    pub(super) end: u64,
    /// The flight's `tail` before this hop.
    pub(super) tail: u64,
    /// At processing units, the longest queue before it.
    pub(super) queue_max: u32,
    pub(super) flight: u32,
    pub(super) hop: u32,
}

/// Packets to come at one resource.
#[derive(Clone, Debug, Default)]
pub(super) struct Coming {
    /// Packets on their way here by an event: while there are any, nothing is promised.
    pub(super) packets: u32,
    /// Promises, by rising start. Those at the front may have begun long ago: they are taken when
    /// a packet comes, or when the ring is full.
    pub(super) promises: Promises,
}

/// Places of the smallest ring.
/// Method: a link of a large job mostly has one packet to come; rings that need more grow once.
const FEWEST: usize = 1;

/// A queue in a ring of a power of two.
#[derive(Clone, Debug, Default)]
pub(super) struct Promises {
    ring: Vec<Promise>,
    /// How many were taken and added so far, wrapping around.
    first: u32,
    end: u32,
}

impl Promises {
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.first == self.end
    }

    pub(super) const fn len(&self) -> usize {
        self.end.wrapping_sub(self.first) as usize
    }

    /// Whether there is no place for another one: those that have begun may be taken.
    #[inline]
    pub(super) const fn is_full(&self) -> bool {
        self.len() == self.ring.len()
    }

    #[inline]
    pub(super) fn front(&self) -> Option<&Promise> {
        if self.is_empty() { None } else { self.ring.get(self.place(self.first)) }
    }

    #[inline]
    pub(super) fn back(&self) -> Option<&Promise> {
        if self.is_empty() { None } else { self.ring.get(self.place(self.end.wrapping_sub(1))) }
    }

    #[inline]
    pub(super) fn push(&mut self, promise: Promise) {
        if self.is_full() {
            self.grow();
        }
        let place = self.place(self.end);
        self.ring[place] = promise;
        self.end = self.end.wrapping_add(1);
    }

    #[inline]
    pub(super) fn pop_front(&mut self) -> Option<Promise> {
        let promise = *self.front()?;
        self.first = self.first.wrapping_add(1);
        Some(promise)
    }

    pub(super) fn pop_back(&mut self) -> Option<Promise> {
        let promise = *self.back()?;
        self.end = self.end.wrapping_sub(1);
        Some(promise)
    }

    /// Something made of the last promise.
    pub(super) fn touch(&self) -> u64 {
        self.back().map_or(0, |last| last.end)
    }

    /// The next promise, if it starts before `now`.
    #[inline]
    pub(super) fn take_before(&mut self, now: u64) -> Option<Promise> {
        let promise = *self.front()?;
        if promise.start >= now {
            return None;
        }
        self.first = self.first.wrapping_add(1);
        Some(promise)
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Promise> {
        (0..self.len()).map(|at| self.at(at))
    }

    /// Where the promise of this flight at this hop stands, among those that begin at `now` or later.
    pub(super) fn find(&self, flight: u32, hop: u32, now: u64) -> Option<usize> {
        let is_this = |promise: &Promise| promise.flight == flight && promise.hop == hop;
        self.iter().position(|promise| promise.start >= now && is_this(promise))
    }

    pub(super) fn remove(&mut self, at: usize) -> Promise {
        let removed = *self.at(at);
        for later in at + 1..self.len() {
            let place = self.place_of(later - 1);
            self.ring[place] = *self.at(later);
        }
        self.end = self.end.wrapping_sub(1);
        removed
    }

    fn at(&self, at: usize) -> &Promise {
        &self.ring[self.place_of(at)]
    }

    fn place_of(&self, at: usize) -> usize {
        self.place(self.first.wrapping_add(u32::try_from(at).expect("a ring has fewer than 2^32")))
    }

    #[inline]
    fn place(&self, count: u32) -> usize {
        count as usize & self.ring.len().wrapping_sub(1)
    }

    #[cold]
    fn grow(&mut self) {
        let mut wider: Vec<Promise> = self.iter().copied().collect();
        self.first = 0;
        self.end = u32::try_from(wider.len()).expect("fewer than 2^32 promises at one resource");
        wider.resize((2 * wider.len()).max(FEWEST), Promise::default());
        self.ring = wider;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_a_queue_at_both_ends() {
        let (mut ring, mut model) = (Promises::default(), std::collections::VecDeque::new());
        let starts = |ring: &Promises| ring.iter().map(|p| p.start).collect::<Vec<u64>>();
        for step in 0..2_000_u32 {
            match step.wrapping_mul(2_654_435_761) >> 28 {
                0..=8 => {
                    let flight = step;
                    ring.push(Promise { start: u64::from(step), flight, ..Promise::default() });
                    model.push_back(u64::from(step));
                }
                9..=10 => assert_eq!(ring.pop_front().map(|p| p.start), model.pop_front()),
                11 => assert_eq!(ring.pop_back().map(|p| p.start), model.pop_back()),
                12..=13 if !model.is_empty() => {
                    let place = step as usize % model.len();
                    assert_eq!(ring.find(u32::try_from(model[place]).unwrap(), 0, 0), Some(place));
                    assert_eq!(Some(ring.remove(place).start), model.remove(place));
                }
                _ => {
                    let now = u64::from(step).saturating_sub(40);
                    let wanted = model.front().copied().filter(|&start| start < now);
                    assert_eq!(ring.take_before(now).map(|p| p.start), wanted);
                    if wanted.is_some() {
                        model.pop_front();
                    }
                }
            }
            assert_eq!(starts(&ring), model.iter().copied().collect::<Vec<u64>>());
            assert_eq!((ring.len(), ring.is_empty()), (model.len(), model.is_empty()));
        }
    }
}
