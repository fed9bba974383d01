//! What is under way has a small number and a place of its own.

/// Reusable slots: small ids into one vector.
#[derive(Debug)]
pub(super) struct Slab<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Slab<T> {
    pub(super) const fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    /// Keeps what `make` makes, in its place: values are large.
    #[inline]
    pub(super) fn insert(&mut self, make: impl FnOnce() -> T) -> u32 {
        if self.free.is_empty() {
            self.grow();
        }
        let id = self.free.pop().expect("it has grown");
        self.slots[id as usize].get_or_insert_with(make);
        id
    }

    #[cold]
    fn grow(&mut self) {
        let id = u32::try_from(self.slots.len()).expect("fewer than 2^32 flights at once");
        self.slots.push(None);
        self.free.push(id);
    }

    pub(super) fn get(&mut self, id: u32) -> &mut T {
        self.slots[id as usize].as_mut().expect("an event names a flight that is under way")
    }

    /// Reads a value in its place.
    pub(super) fn peek(&self, id: u32) -> &T {
        self.slots[id as usize].as_ref().expect("an event names a flight that is under way")
    }

    #[inline]
    pub(super) fn remove(&mut self, id: u32) -> T {
        self.free.push(id);
        self.slots[id as usize].take().expect("an event names a flight that is under way")
    }

    /// Drops a value where it lies.
    #[inline]
    pub(super) fn forget(&mut self, id: u32) {
        self.free.push(id);
        self.slots[id as usize] = None;
    }

    /// All that are there.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        self.slots.iter().flatten()
    }

    pub(super) const fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Reads a value: see `Timed::prefetch`.
    pub(super) fn prefetch(&self, id: u32, read: impl Fn(&T) -> u64) -> u64 {
        self.slots[id as usize].as_ref().map_or(0, read)
    }
}
