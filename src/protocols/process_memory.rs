//! Buffers that lie in the memory of real processes.

use std::fmt::Debug;

use super::contract::Process;
use calls::space::Space;
use mpi::operator::Side;

/// The memory of the processes of a job that runs real programs.
///
/// A read or write that fails is noted by the implementation, and ends the run: the simulator goes on with zeros until
/// it learns of it.
pub trait ProcessMemory: Debug {
    /// The address of the first byte of a space; `None` where it has none in the process.
    fn address(&self, process: Process, space: Space) -> Option<u64>;

    /// Reads bytes of a process's memory, as many as there is room for, from byte `offset` of a space on.
    fn read(&self, process: Process, space: Space, offset: u64, into: &mut [u8]);

    /// Writes bytes into a process's memory, from byte `offset` of a space on.
    fn write(&self, process: Process, space: Space, offset: u64, bytes: &[u8]);

    /// Reads pieces of a space one after the other: offset and bytes of each.
    fn gather(&self, process: Process, space: Space, pieces: &[(u64, u64)], into: &mut [u8]);

    /// Writes bytes to pieces of a space, one after the other.
    fn scatter(&self, process: Process, space: Space, pieces: &[(u64, u64)], bytes: &[u8]);

    /// Combines elements by operator number `number` of a process's program.
    fn combine(&self, process: Process, number: u16, from: &[u8], into: &mut [u8], side: Side);
}
