//! Many first-in-first-out lists in one memory: chunks of a fixed size, chained, reused last in
//! first out so that the next write goes to memory that was touched just before.

/// Values per chunk.
pub(super) const CHUNK_LEN: u32 = 32;
/// The same as an index.
pub(super) const CHUNK: usize = CHUNK_LEN as usize;

/// One list: its first and last chunk and its length. An empty list owns no chunk.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fifo {
    pub(super) head: u32,
    tail: u32,
    pub(super) len: u32,
}

/// The memory of all lists. It grows to the largest number of values ever held, and stays.
#[derive(Clone, Debug)]
pub(super) struct Chunks<T> {
    cells: Vec<[T; CHUNK]>,
    /// The chunk after each chunk, in its list or among the free ones.
    next: Vec<u32>,
    /// The first free chunk; as many as `free_len` hang on it.
    free: u32,
    free_len: u32,
}

impl<T: Copy> Chunks<T> {
    pub(super) fn new() -> Self {
        Self { cells: Vec::new(), next: Vec::new(), free: 0, free_len: 0 }
    }

    /// Appends `value` to `fifo`.
    #[inline]
    pub(super) fn push(&mut self, fifo: &mut Fifo, value: T) {
        if self.free_len == 0 {
            self.grow(value);
        }
        *self.claim(fifo) = value;
    }

    /// The value at `index` of a chunk.
    #[inline]
    pub(super) fn get(&self, chunk: u32, index: u32) -> &T {
        &self.cells[chunk as usize][within(index)]
    }

    /// The first `len` values of a chunk.
    #[inline]
    pub(super) fn values(&self, chunk: u32, len: u32) -> &[T] {
        &self.cells[chunk as usize][..len as usize]
    }

    /// Overwrites the value at `index` of a chunk.
    #[inline]
    pub(super) fn set(&mut self, chunk: u32, index: u32, value: T) {
        self.cells[chunk as usize][within(index)] = value;
    }

    /// The values of `fifo`, first in first.
    pub(super) fn iter(&self, fifo: Fifo) -> impl Iterator<Item = &T> {
        self.chain(fifo).flat_map(|(chunk, len)| &self.cells[chunk as usize][..len as usize])
    }

    /// The chunks of `fifo`, each with the number of values in it.
    pub(super) fn chain(&self, fifo: Fifo) -> impl Iterator<Item = (u32, u32)> {
        let (mut chunk, mut left) = (fifo.head, fifo.len);
        std::iter::from_fn(move || {
            let len = left.min(CHUNK_LEN);
            left -= len;
            let this = chunk;
            if left > 0 {
                chunk = self.next[this as usize];
            }
            (len > 0).then_some((this, len))
        })
    }

    /// The chunk after `chunk` in a list that goes on.
    pub(super) fn after(&self, chunk: u32) -> u32 {
        self.next[chunk as usize]
    }

    /// Gives one chunk back; its values stay readable until the next push.
    pub(super) fn release(&mut self, chunk: u32) {
        self.next[chunk as usize] = self.free;
        self.free = chunk;
        self.free_len += 1;
    }

    /// Gives all chunks of `fifo` back.
    pub(super) fn release_all(&mut self, fifo: Fifo) {
        let (mut chunk, chunks) = (fifo.head, fifo.len.div_ceil(CHUNK_LEN));
        for _ in 0..chunks {
            let next = self.next[chunk as usize];
            self.release(chunk);
            chunk = next;
        }
    }

    /// The cell at the end of `fifo`, which becomes longer by it; a chunk is free.
    #[inline]
    fn claim(&mut self, fifo: &mut Fifo) -> &mut T {
        let used = fifo.len % CHUNK_LEN;
        if used == 0 {
            let chunk = self.free;
            self.free = self.next[chunk as usize];
            self.free_len -= 1;
            if fifo.len == 0 {
                fifo.head = chunk;
            } else {
                self.next[fifo.tail as usize] = chunk;
            }
            fifo.tail = chunk;
        }
        fifo.len += 1;
        &mut self.cells[fifo.tail as usize][within(used)]
    }

    /// Adds a free chunk; `filler` only gives its cells some value.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, filler: T) {
        let chunk = u32::try_from(self.next.len()).expect("fewer than 2^37 events are pending");
        self.next.push(0);
        self.cells.push([filler; CHUNK]);
        self.release(chunk);
    }
}

/// An index of a chunk, in a form that needs no check.
#[inline]
fn within(index: u32) -> usize {
    index as usize % CHUNK
}
