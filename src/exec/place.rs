//! The buffers of a rank's process: by number for the library, by address for the process.

use std::collections::BTreeMap;

use super::functions::Function;
use super::ranks::{Rank, RankError};
use calls::arguments::Buffer;
use calls::space::{Region, Space};
use protocols::uses::Use;

/// One rank's process and its buffers.
#[derive(Debug)]
pub struct Place {
    /// The process.
    pub process: Rank,
    /// The number of the buffer that begins at an address, and the address of each number. An address keeps its
    /// number: the HCA's registration cache knows buffers by it.
    numbers: BTreeMap<u64, u32>,
    addresses: Vec<u64>,
    /// Bytes that lie one after the other for the library, and in pieces in the process.
    held: Vec<Option<Vec<u8>>>,
    /// Memory of the process in which its functions find what MPI hands to them: address and bytes.
    room: (u64, u64),
    /// Where the process has mapped memory that it shares, by the library's name of it.
    mapped: BTreeMap<u32, u64>,
    /// The function that the process is in.
    pub(crate) now: Option<Function>,
    /// Packing, unpacking and combining that took no simulated time, by function.
    pub(crate) untimed: Untimed,
    /// Memory read and written by functions that need no other rank, with the functions' return addresses.
    pub(crate) touched: Vec<Touched>,
    /// Whether the program has read clocks of the system, by the time of `MPI_Finalize`.
    pub(crate) reads_clocks: bool,
    /// A buffer of the process, and how many of its bytes were read since it is watched.
    watched: Option<(u32, u64)>,
}

/// Memory read and written by one function that needs no other rank.
#[derive(Debug)]
pub struct Touched {
    /// The function, and where it returns to.
    pub(crate) by: (Function, u64),
    /// Memory that it reads.
    pub(crate) reads: Use,
    /// Memory that it writes.
    pub(crate) writes: Use,
}

/// Work of functions that takes no simulated time: times and bytes of each function.
pub type Untimed = BTreeMap<Function, (u64, u64)>;

/// Buffers that the simulator holds have numbers from here on.
const HELD: u32 = 1 << 31;

impl Place {
    /// A process without buffers.
    pub(crate) const fn new(process: Rank) -> Self {
        Self {
            process,
            numbers: BTreeMap::new(),
            addresses: Vec::new(),
            held: Vec::new(),
            room: (0, 0),
            mapped: BTreeMap::new(),
            now: None,
            untimed: Untimed::new(),
            touched: Vec::new(),
            reads_clocks: false,
            watched: None,
        }
    }

    /// A function has packed, unpacked or combined so many bytes, which takes no simulated time.
    pub(crate) fn takes_no_time(&mut self, function: Option<Function>, bytes: u64) {
        if let (Some(function), 1..) = (function, bytes) {
            let (times, all) = self.untimed.entry(function).or_default();
            (*times, *all) = (*times + 1, *all + bytes);
        }
    }

    /// From now on it is counted what is read of a buffer of the process.
    pub(crate) const fn watch(&mut self, buffer: Buffer) {
        self.watched = Some((buffer.id, 0));
    }

    /// How many bytes were read of the buffer that is watched, which it is no more.
    pub(crate) fn watched(&mut self) -> u64 {
        self.watched.take().map_or(0, |(_, bytes)| bytes)
    }

    fn reads(&mut self, space: Space, bytes: usize) {
        if let (Some((watched, all)), Space::User(buffer)) = (&mut self.watched, space)
            && *watched == buffer
        {
            *all += bytes as u64;
        }
    }

    /// The buffer of `bytes` bytes at an address of the process.
    ///
    /// # Panics
    ///
    /// With more than 2^31 different addresses.
    pub fn buffer(&mut self, address: u64, bytes: u64) -> Buffer {
        let next =
            Buffer::OWN + u32::try_from(self.addresses.len()).expect("fewer than 2^31 buffers");
        let id = *self.numbers.entry(address).or_insert(next);
        if id == next {
            self.addresses.push(address);
        }
        Buffer { id, bytes }
    }

    fn address(&self, buffer: u32) -> u64 {
        self.addresses[(buffer - Buffer::OWN) as usize]
    }

    /// A buffer of so many bytes that the simulator holds.
    ///
    /// # Errors
    ///
    /// When the simulator has no memory for them.
    ///
    /// # Panics
    ///
    /// With 2^31 such buffers.
    pub fn hold(&mut self, bytes: u64) -> Result<Buffer, RankError> {
        let room = usize::try_from(bytes).unwrap_or(usize::MAX);
        // The memory itself is taken when it is written.
        if Vec::<u8>::new().try_reserve_exact(room).is_err() {
            return Err(self.process.too_large(bytes));
        }
        let free = self.held.iter().position(Option::is_none).unwrap_or(self.held.len());
        if free == self.held.len() {
            self.held.push(None);
        }
        self.held[free] = Some(vec![0; room]);
        let number = u32::try_from(free).expect("fewer than 2^31 buffers");
        Ok(Buffer { id: HELD + number, bytes })
    }

    /// The bytes of a buffer that the simulator holds.
    ///
    /// # Panics
    ///
    /// When it holds none.
    pub fn held(&mut self, buffer: Buffer) -> &mut Vec<u8> {
        self.held[(buffer.id - HELD) as usize].as_mut().expect("the buffer is held")
    }

    /// A buffer is held no more.
    pub fn release(&mut self, buffer: Buffer) {
        self.held[(buffer.id - HELD) as usize] = None;
    }

    /// Memory of the process of at least so many bytes; what is there lasts until the next call of this.
    ///
    /// # Errors
    ///
    /// When the process cannot be reached.
    pub fn room(&mut self, bytes: u64) -> Result<u64, RankError> {
        if self.room.1 < bytes {
            let bytes = bytes.next_power_of_two();
            self.process.free(self.room.0);
            self.room = (self.process.allocate(bytes)?, bytes);
        }
        Ok(self.room.0)
    }

    /// The process has mapped memory that the library calls by this name.
    pub fn maps(&mut self, name: u32, address: u64) {
        self.mapped.insert(name, address);
    }

    /// Where the program has a byte of a space; `None` where the simulator holds it.
    pub(crate) fn located(&self, space: Space, offset: u64) -> Option<u64> {
        let start = match space {
            Space::User(held) if held >= HELD => return None,
            Space::User(buffer) | Space::Window(buffer) => self.address(buffer),
            // Memory that a process has not mapped is reached at no address: the system says so.
            Space::Shared(name) => self.mapped.get(&name).copied().unwrap_or_default(),
            Space::Staging(_)
            | Space::Landing(_)
            | Space::Unexpected(_)
            | Space::Scratch(_)
            | Space::Attached(_)
            | Space::Exchange(_)
            | Space::Device(_)
            | Space::DeviceStaging(_)
            | Space::Pinned(_)
            | Space::Packed(_) => unreachable!("{space:?} is memory of the library"),
        };
        Some(start.wrapping_add(offset))
    }

    /// The address of a region of a buffer; `None` where the simulator holds it, and of no bytes.
    pub(crate) fn address_of(&self, region: Region) -> Option<u64> {
        let Space::User(id) = region.space else { return None };
        let is_there = region.len > 0 && id >= Buffer::OWN;
        if is_there { self.located(region.space, region.offset) } else { None }
    }

    fn held_by(&mut self, space: Space) -> &mut Vec<u8> {
        let Space::User(id) = space else { unreachable!("the program has all other spaces") };
        self.held(Buffer { id, bytes: 0 })
    }

    /// Reads bytes of a space, from `offset` on.
    ///
    /// # Errors
    ///
    /// When the process's memory cannot be read.
    pub(crate) fn read(
        &mut self,
        space: Space,
        offset: u64,
        into: &mut [u8],
    ) -> Result<(), RankError> {
        self.reads(space, into.len());
        if let Some(address) = self.located(space, offset) {
            return self.process.read(address, into);
        }
        let start = usize::try_from(offset).expect("within the buffer");
        into.copy_from_slice(&self.held_by(space)[start..start + into.len()]);
        Ok(())
    }

    /// Writes bytes of a space, from `offset` on.
    ///
    /// # Errors
    ///
    /// When the process's memory cannot be written.
    pub(crate) fn write(
        &mut self,
        space: Space,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), RankError> {
        if let Some(address) = self.located(space, offset) {
            return self.process.write(address, bytes);
        }
        let start = usize::try_from(offset).expect("within the buffer");
        self.held_by(space)[start..start + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    /// Where the program has pieces of a space.
    fn pieces(&self, space: Space, pieces: &[(u64, u64)]) -> Option<Vec<(u64, u64)>> {
        let start = self.located(space, 0)?;
        Some(pieces.iter().map(|(at, length)| (start.wrapping_add(*at), *length)).collect())
    }

    /// Reads pieces of a space one after the other: offset and bytes of each.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub(crate) fn gather(
        &mut self,
        space: Space,
        pieces: &[(u64, u64)],
        into: &mut [u8],
    ) -> Result<(), RankError> {
        if let Some(pieces) = self.pieces(space, pieces) {
            self.reads(space, into.len());
            return self.process.gather(&pieces, into);
        }
        let mut rest = into;
        for (at, length) in pieces {
            let (piece, after) = rest.split_at_mut(usize::try_from(*length).unwrap_or(usize::MAX));
            self.read(space, *at, piece)?;
            rest = after;
        }
        Ok(())
    }

    /// Writes bytes to pieces of a space, one after the other.
    ///
    /// # Errors
    ///
    /// As [`Self::write`].
    pub(crate) fn scatter(
        &mut self,
        space: Space,
        pieces: &[(u64, u64)],
        bytes: &[u8],
    ) -> Result<(), RankError> {
        if let Some(pieces) = self.pieces(space, pieces) {
            return self.process.scatter(&pieces, bytes);
        }
        let mut rest = bytes;
        for (at, length) in pieces {
            let (piece, after) = rest.split_at(usize::try_from(*length).unwrap_or(usize::MAX));
            self.write(space, *at, piece)?;
            rest = after;
        }
        Ok(())
    }
}
