//! A block of threads: what it needs of a multiprocessor.

/// Resources that one block needs of the SM that it runs on.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Block {
    /// Threads.
    pub threads: u32,
    /// Registers of each thread; 0: no matter.
    pub registers: u32,
    /// Bytes of shared memory.
    pub shared: u64,
}

impl Block {
    /// A block of so many threads that needs nothing else.
    pub const fn of(threads: u32) -> Self {
        Self { threads, registers: 0, shared: 0 }
    }
}
