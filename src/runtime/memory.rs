//! The bytes behind every [`Region`]: what a run really moves, so that it can be compared.
//!
//! Both runtimes carry out copies, sends and RDMA on the same [`Memories`]. With
//! [`Payload::Real`] every process has its buffers; with [`Payload::Phantom`] only the landing
//! slots are counted and no byte exists. Neither changes a decision of a protocol.
//!
//! Equal situations are equal values, whatever led to them: a landing buffer is the lowest free
//! slot, a freed buffer leaves nothing behind, and staging and unexpected buffers, which the
//! library reads once, are gone when their last byte was read.
//!
//! Memory that several processes map ([`Space::Shared`]) is kept with the one that has allocated it.
//!
//! A payload lands when a poll *takes* its packet ([`Memories::land`]), in both runtimes: the
//! order of takes is then all that decides the slot numbers that a machine sees.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::rc::Rc;
use std::sync::Arc;

use super::fingerprint::Shared;
use calls::packing::Task;
use calls::typed::{Elements, TypedCopy};
use mpi::operator::{Reduction, Side};
use mpi::rma::update::Effect;
use protocols::contract::{Process, Region, Space};
use protocols::device::DeviceWork;
use protocols::note::Note;
use protocols::process_memory::ProcessMemory;

/// Whether bytes exist.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Payload {
    /// Bytes move through simulated memory and are compared.
    #[default]
    Real,
    /// Sizes only: for large runs.
    Phantom,
}

/// Bytes under way: what a packet or an RDMA operation carries.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Parcel {
    len: u64,
    /// `None` where payload is phantom.
    bytes: Option<Arc<[u8]>>,
}

impl Parcel {
    /// Number of bytes.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether it carries nothing.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The first byte of a region that is not what the message carried.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, thiserror::Error)]
#[error("byte {offset} is {found:#04x} instead of {expected:#04x}")]
pub struct Difference {
    /// Offset from the region's first byte.
    pub offset: u64,
    /// Byte of a message with this seed.
    pub expected: u8,
    /// Byte in memory.
    pub found: u8,
}

/// The memory of every process.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Memories {
    payload: Payload,
    processes: Vec<Shared<Memory>>,
    /// Landing slots of each process where payload is phantom: nothing else is kept then, and
    /// sharing would cost more than the slots.
    counted: Vec<Slots>,
    /// Bytes that may be stored or taken up before they are counted; the largest number where
    /// they are not counted. No part of what memories hold.
    room: Note<u64>,
    /// Where the processes are real ones, what [`Space::User`] names lies in their memory.
    real: Note<Option<Rc<dyn ProcessMemory>>>,
}

/// The memory of one process.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Memory {
    /// Bytes of each buffer that was written; others read as zeros. Empty where phantom.
    spaces: BTreeMap<Space, Vec<u8>>,
    landing: Slots,
}

impl Memories {
    /// Empty memories of `processes` processes.
    pub fn new(processes: usize, payload: Payload) -> Self {
        let (real, counted) = match payload {
            Payload::Real => (processes, 0),
            Payload::Phantom => (0, processes),
        };
        Self {
            payload,
            processes: vec![Shared::default(); real],
            counted: vec![Slots::default(); counted],
            room: Note(u64::MAX),
            real: Note(None),
        }
    }

    /// The same, with the program's buffers in the memory of real processes.
    #[must_use]
    pub fn with_real_processes(mut self, real: Option<Rc<dyn ProcessMemory>>) -> Self {
        self.real = Note(real);
        self
    }

    /// They are counted again when so many bytes more were stored, or taken up by messages.
    pub const fn look_after(&mut self, bytes: u64) {
        self.room.0 = bytes;
    }

    /// Whether so many were: what was forgotten meanwhile is not taken off.
    #[inline]
    pub fn is_to_be_looked_at(&self) -> bool {
        self.room.0 == 0
    }

    /// Whether bytes exist.
    pub const fn payload(&self) -> Payload {
        self.payload
    }

    /// The memory of one process; `None` where no bytes exist.
    pub(super) fn of(&self, process: Process) -> Option<&Shared<Memory>> {
        self.processes.get(process.0 as usize)
    }

    /// Gives a process, which has one, the memory that it had at another time.
    pub(super) fn put(&mut self, process: Process, memory: &Shared<Memory>) {
        self.processes[process.0 as usize].clone_from(memory);
    }

    /// Copies `from` to `to` inside one process.
    ///
    /// # Panics
    ///
    /// When the two differ in length: the contract demands equal ones.
    #[inline]
    pub fn copy(&mut self, process: Process, from: Region, to: Region) {
        assert!(from.len == to.len, "a copy of {} bytes into {} bytes", from.len, to.len);
        if self.real(from) {
            self.copy_bytes(process, from, to);
        }
    }

    /// Gathers packed bytes, or scatters them; a staging buffer that is read to its end is empty then.
    pub fn pack(&mut self, process: Process, copy: &TypedCopy) {
        let TypedCopy { task, packed, .. } = copy;
        if !self.real(*packed) {
            return;
        }
        let runs = || copy.elements.runs(copy.bytes());
        if *task == Task::Pack {
            let bytes = match self.real_buffer(copy.data()) {
                Some(real) => {
                    let Region { space, offset, .. } = copy.data();
                    let pieces: Vec<_> = runs().map(|(at, length)| (offset + at, length)).collect();
                    let length = pieces.iter().map(|(_, length)| index(*length)).sum();
                    let mut bytes = vec![0; length];
                    real.gather(process, space, &pieces, &mut bytes);
                    bytes
                }
                None => self.memory(process, copy.data()).gather(copy.data(), runs()),
            };
            self.put_into(process, *packed, &bytes);
            return;
        }
        let bytes = self.take(process, *packed);
        if let Space::Packed(_) = packed.space {
            self.forget(process, packed.space);
        }
        if let Some(real) = self.real_buffer(copy.data()) {
            let Region { space, offset, .. } = copy.data();
            let pieces: Vec<_> = runs().map(|(at, length)| (offset + at, length)).collect();
            real.scatter(process, space, &pieces, &bytes);
            return;
        }
        let grown = self.memory(process, copy.data()).scatter(copy.data(), runs(), &bytes);
        self.grows(grown);
    }

    fn copy_bytes(&mut self, process: Process, from: Region, to: Region) {
        let bytes = self.take(process, from);
        self.put_into(process, to, &bytes);
    }

    /// Moves the bytes of an operation of a process's GPU.
    pub fn work(&mut self, process: Process, work: &DeviceWork) {
        if self.payload == Payload::Real {
            work.runs(|from, to| self.copy(process, from, to));
        }
    }

    /// Combines `from` into `into` inside one process.
    ///
    /// # Panics
    ///
    /// When the two differ in length: the contract demands equal ones.
    pub fn combine(
        &mut self,
        process: Process,
        (from, into): (Region, Region),
        reduction: Reduction,
        side: Side,
    ) {
        assert!(from.len == into.len, "{} bytes combined into {}", from.len, into.len);
        if self.real(from) {
            let from = self.take(process, from);
            let mut result = self.bytes_of(process, into);
            match (reduction.of_a_program(), &self.real.0) {
                (Some(number), Some(real)) => {
                    real.combine(process, number, &from, &mut result, side);
                }
                (_, _) => reduction.combine(&from, &mut result, side),
            }
            self.put_into(process, into, &result);
        }
    }

    /// Updates elements inside one process; `old` gets what they were.
    ///
    /// # Panics
    ///
    /// When the operand is not as long as the update says.
    pub fn update(
        &mut self,
        process: Process,
        target: Region,
        update: Effect,
        operand: Option<Region>,
        old: Option<Region>,
    ) {
        if !self.real(target) {
            return;
        }
        let take = |operand| self.take(process, operand);
        let operand = operand.map_or_else(Vec::new, take);
        let mut bytes = self.bytes_of(process, target);
        if let Some(old) = old {
            self.put_into(process, old, &bytes);
        }
        update.apply(&mut bytes, &operand);
        self.put_into(process, target, &bytes);
    }

    /// Updates one element by the HCA of `process`: the old one is the answer.
    pub fn update_by(
        &mut self,
        process: Process,
        target: Region,
        update: Effect,
        operand: &Parcel,
    ) -> Parcel {
        if !self.real(target) {
            return Parcel { len: target.len, bytes: None };
        }
        let old = self.bytes_of(process, target);
        let mut bytes = old.clone();
        update.apply(&mut bytes, operand.bytes.as_deref().unwrap_or_default());
        self.put_into(process, target, &bytes);
        Parcel { len: target.len, bytes: Some(old.into()) }
    }

    /// The number in a region of at most 8 bytes, little endian; 0 where payload is phantom.
    pub fn load(&self, process: Process, region: Region) -> u64 {
        let bytes = self.bytes(process, region);
        bytes.iter().take(8).rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
    }

    /// A buffer holds nothing that is read later: it reads as zeros, as before it was written.
    pub fn forget(&mut self, process: Process, space: Space) {
        if self.payload == Payload::Real {
            self.own_memory(process).spaces.remove(&space);
        }
    }

    /// Puts bytes of the program's own into a region, as far as they reach.
    pub fn store(&mut self, process: Process, region: Region, bytes: &[u8]) {
        let len = region.len.min(bytes.len() as u64);
        let region = region.part(0, len);
        if self.real(region) {
            self.put_into(process, region, &bytes[..index(len)]);
        }
    }

    /// Reads what leaves with a packet or an RDMA operation.
    #[inline]
    pub fn capture(&mut self, process: Process, region: Region) -> Parcel {
        let bytes = self.real(region).then(|| self.take_up(process, region));
        Parcel { len: region.len, bytes }
    }

    fn take_up(&mut self, process: Process, region: Region) -> Arc<[u8]> {
        self.grows(region.len);
        self.take(process, region).into()
    }

    /// Puts a taken packet's payload into the lowest free landing slot of `process`.
    #[inline]
    pub fn land(&mut self, process: Process, parcel: &Parcel) -> Region {
        let slot = match self.payload {
            Payload::Real => self.own_memory(process).landing.occupy(),
            Payload::Phantom => self.counted[process.0 as usize].occupy(),
        };
        let region = Region::new(Space::Landing(slot), parcel.len);
        self.write(process, region, parcel);
        region
    }

    /// Frees a landing slot; its bytes are gone.
    ///
    /// # Panics
    ///
    /// When the region is not an occupied landing slot.
    pub fn free_landing(&mut self, process: Process, landing: Region) {
        let Space::Landing(slot) = landing.space else {
            panic!("only landing buffers are reposted, not {:?}", landing.space);
        };
        match self.payload {
            Payload::Real => {
                let memory = self.own_memory(process);
                memory.landing.free(slot);
                memory.spaces.remove(&landing.space);
            }
            Payload::Phantom => self.counted[process.0 as usize].free(slot),
        }
    }

    /// Writes what an RDMA operation brought.
    ///
    /// # Panics
    ///
    /// When the parcel is not as long as the region.
    #[inline]
    pub fn write(&mut self, process: Process, into: Region, parcel: &Parcel) {
        assert!(parcel.len == into.len, "{} bytes written into {} bytes", parcel.len, into.len);
        if let Some(bytes) = &parcel.bytes {
            self.put_into(process, into, bytes);
        }
    }

    /// Fills a region with the bytes of the message that `seed` names.
    pub fn fill(&mut self, process: Process, region: Region, seed: u64) {
        if self.real(region) {
            let bytes: Vec<u8> = (0..region.len).map(|offset| pattern(seed, offset)).collect();
            self.put_into(process, region, &bytes);
        }
    }

    /// Whether a region holds the first bytes of the message that `seed` names.
    ///
    /// # Errors
    ///
    /// The first byte that differs.
    pub fn check(&self, process: Process, region: Region, seed: u64) -> Result<(), Difference> {
        if !self.real(region) {
            return Ok(());
        }
        let memory = &self.processes[home(process, region)];
        for offset in 0..region.len {
            let (expected, found) = (pattern(seed, offset), memory.byte(region, offset));
            if expected != found {
                return Err(Difference { offset, expected, found });
            }
        }
        Ok(())
    }

    /// Fills buffer `id`: pieces with the bytes of the message that `seed` names, where there is one,
    /// and what is between them with bytes of no message.
    pub fn fill_pieces(
        &mut self,
        process: Process,
        (id, elements): (u32, &Elements),
        seed: Option<u64>,
    ) {
        let data = elements.data(id);
        if self.real(data) {
            let bytes = if seed.is_some() { elements.packed() } else { 0 };
            let bytes = pieces(elements, bytes, seed.unwrap_or(BETWEEN));
            self.put_into(process, data, &bytes);
        }
    }

    /// Whether buffer `id` has the first `bytes` bytes of the message that `seed` names in its pieces,
    /// and everywhere else what it was filled with.
    ///
    /// # Errors
    ///
    /// The first byte of the buffer that differs.
    pub fn check_pieces(
        &self,
        process: Process,
        (id, elements): (u32, &Elements),
        bytes: u64,
        seed: u64,
    ) -> Result<(), Difference> {
        let data = elements.data(id);
        if !self.real(data) {
            return Ok(());
        }
        let expected = pieces(elements, bytes, seed);
        let found = self.processes[home(process, data)].read(data);
        let mut both = (0..).zip(expected.into_iter().zip(found));
        match both.find(|(_, (expected, found))| expected != found) {
            Some((offset, (expected, found))) => Err(Difference { offset, expected, found }),
            None => Ok(()),
        }
    }

    /// Inverts every byte of a region, so that a later read gets wrong bytes.
    pub fn poison(&mut self, process: Process, region: Region) {
        if self.real(region) {
            let mut bytes = self.bytes_of(process, region);
            for byte in &mut bytes {
                *byte = !*byte;
            }
            self.put_into(process, region, &bytes);
        }
    }

    /// The bytes of a region; empty where payload is phantom.
    pub fn bytes(&self, process: Process, region: Region) -> Vec<u8> {
        match self.payload {
            Payload::Real => self.bytes_of(process, region),
            Payload::Phantom => Vec::new(),
        }
    }

    /// Whether a region is a landing slot in use, which [`Self::free_landing`] demands.
    pub fn is_landed(&self, process: Process, region: Region) -> bool {
        let landing = self.slots(process);
        matches!(region.space, Space::Landing(slot) if landing.taken(slot))
    }

    /// The bytes of all buffers, and how many these are; none where payload is phantom.
    pub fn held(&self) -> (u64, u64) {
        let buffers = self.processes.iter().flat_map(|memory| memory.spaces.values());
        buffers.fold((0, 0), |(bytes, count), one| (bytes + one.len() as u64, count + 1))
    }

    /// How many landing slots of `process` are occupied.
    pub fn landings(&self, process: Process) -> u32 {
        self.slots(process).occupied()
    }

    fn slots(&self, process: Process) -> &Slots {
        match self.payload {
            Payload::Real => &self.processes[process.0 as usize].landing,
            Payload::Phantom => &self.counted[process.0 as usize],
        }
    }

    #[inline]
    fn real(&self, region: Region) -> bool {
        self.payload == Payload::Real && region.len > 0
    }

    fn own_memory(&mut self, process: Process) -> &mut Memory {
        self.processes[process.0 as usize].change()
    }

    /// The memory of real processes, where a region is one of the program's own.
    #[inline]
    fn real_buffer(&self, region: Region) -> Option<Rc<dyn ProcessMemory>> {
        let real = self.real.0.as_ref()?;
        let is_own = matches!(region.space, Space::User(_) | Space::Window(_) | Space::Shared(_));
        is_own.then(|| Rc::clone(real))
    }

    /// Where bytes lie in the memory of a real process, for what knows memory by its pages; other regions are as they
    /// are, and so is memory that processes share.
    pub fn located(&self, process: Process, region: Region) -> Region {
        let own = matches!(region.space, Space::User(_) | Space::Window(_));
        let real = self.real.0.as_ref().filter(|_| own);
        let address = real.and_then(|real| real.address(process, region.space));
        address.map_or(region, |address| Region {
            space: Space::PROCESS,
            offset: address.wrapping_add(region.offset),
            len: region.len,
        })
    }

    fn bytes_of(&self, process: Process, region: Region) -> Vec<u8> {
        if let Some(real) = self.real_buffer(region) {
            let mut bytes = vec![0; index(region.len)];
            real.read(process, region.space, region.offset, &mut bytes);
            return bytes;
        }
        self.processes[home(process, region)].read(region)
    }

    fn take(&mut self, process: Process, region: Region) -> Vec<u8> {
        if self.real_buffer(region).is_some() {
            return self.bytes_of(process, region);
        }
        self.memory(process, region).take(region)
    }

    fn put_into(&mut self, process: Process, region: Region, bytes: &[u8]) {
        if let Some(real) = self.real_buffer(region) {
            real.write(process, region.space, region.offset, bytes);
            return;
        }
        let grown = self.memory(process, region).write(region, bytes);
        self.grows(grown);
    }

    /// There are so many more bytes.
    fn grows(&mut self, bytes: u64) {
        self.room.0 = self.room.0.saturating_sub(bytes);
    }

    /// The memory that a region of a process lies in.
    fn memory(&mut self, process: Process, region: Region) -> &mut Memory {
        self.processes[home(process, region)].change()
    }
}

/// Index of the process in whose memory a region lies: its own, but for what a neighbour has allocated.
fn home(process: Process, region: Region) -> usize {
    region.space.root().unwrap_or(process).0 as usize
}

impl Memory {
    fn byte(&self, region: Region, offset: u64) -> u8 {
        let bytes = self.spaces.get(&region.space);
        bytes.and_then(|bytes| bytes.get(index(region.offset + offset))).copied().unwrap_or(0)
    }

    fn read(&self, region: Region) -> Vec<u8> {
        let mut bytes = vec![0; index(region.len)];
        if let Some(stored) = self.spaces.get(&region.space) {
            let start = index(region.offset).min(stored.len());
            let end = index(region.offset + region.len).min(stored.len());
            bytes[..end - start].copy_from_slice(&stored[start..end]);
        }
        bytes
    }

    /// The bytes of runs of a region, one after the other.
    fn gather(&self, region: Region, runs: impl Iterator<Item = (u64, u64)>) -> Vec<u8> {
        let stored = self.spaces.get(&region.space).map_or(&[][..], Vec::as_slice);
        let mut bytes = Vec::new();
        for (at, length) in runs {
            let start = index(region.offset + at);
            let run = stored.get(start.min(stored.len())..).unwrap_or_default();
            let known = &run[..run.len().min(index(length))];
            bytes.extend_from_slice(known);
            bytes.resize(bytes.len() + index(length) - known.len(), 0);
        }
        bytes
    }

    /// Puts bytes into runs of a region, and answers by how many its buffer is longer than before.
    fn scatter(
        &mut self,
        region: Region,
        runs: impl Iterator<Item = (u64, u64)>,
        mut bytes: &[u8],
    ) -> u64 {
        let stored = self.spaces.entry(region.space).or_default();
        let (end, before) = (index(region.offset + region.len), stored.len());
        stored.resize(before.max(end), 0);
        for (at, length) in runs {
            let start = index(region.offset + at);
            let (run, rest) = bytes.split_at(index(length));
            stored[start..start + run.len()].copy_from_slice(run);
            bytes = rest;
        }
        (stored.len() - before) as u64
    }

    /// Reads, and forgets a buffer that is read once when its last byte is read.
    fn take(&mut self, region: Region) -> Vec<u8> {
        let bytes = self.read(region);
        let stored = self.spaces.get(&region.space).map_or(0, Vec::len);
        if read_once(region.space) && index(region.offset + region.len) >= stored {
            self.spaces.remove(&region.space);
        }
        bytes
    }

    /// Writes, and answers by how many bytes the buffer is longer than what it held.
    fn write(&mut self, region: Region, bytes: &[u8]) -> u64 {
        if bytes.is_empty() {
            return 0;
        }
        let stored = self.spaces.entry(region.space).or_default();
        if region.offset == 0 && read_once(region.space) {
            // A new content: what is left of one that was not read to its end is dead.
            stored.clear();
        }
        let (start, end) = (index(region.offset), index(region.offset + region.len));
        let grown = end.saturating_sub(stored.len());
        if grown > 0 {
            stored.resize(end, 0);
        }
        stored[start..end].copy_from_slice(bytes);
        grown as u64
    }
}

/// Buffers of the library that are written, read to the end, and then hold nothing.
const fn read_once(space: Space) -> bool {
    matches!(space, Space::Staging(_) | Space::Unexpected(_))
}

/// Which small numbers are taken. The lowest free one is found in constant time, amortised.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct Slots {
    /// One bit per slot, set where taken; the last word is never zero.
    words: Vec<u64>,
    /// The first word with a free bit.
    first: usize,
}

impl Slots {
    #[inline]
    fn occupy(&mut self) -> u32 {
        if self.first == self.words.len() {
            self.words.push(0);
        }
        let bit = self.words[self.first].trailing_ones();
        self.words[self.first] |= 1 << bit;
        let slot = u32::try_from(self.first * 64).expect("fewer than 2^32 landing buffers") + bit;
        while self.words.get(self.first) == Some(&u64::MAX) {
            self.first += 1;
        }
        slot
    }

    fn free(&mut self, slot: u32) {
        let (word, bit) = (slot as usize / 64, slot % 64);
        assert!(self.taken(slot), "landing buffer {slot} is freed, but it is not in use");
        self.words[word] &= !(1 << bit);
        self.first = self.first.min(word);
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }

    fn taken(&self, slot: u32) -> bool {
        self.words.get(slot as usize / 64).is_some_and(|bits| bits >> (slot % 64) & 1 == 1)
    }

    fn occupied(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }
}

/// Seed of the bytes between pieces: that of no message.
const BETWEEN: u64 = u64::MAX;

/// A whole buffer with the first `bytes` bytes of a message in its pieces.
fn pieces(elements: &Elements, bytes: u64, seed: u64) -> Vec<u8> {
    let mut whole: Vec<u8> = (0..elements.extent()).map(|at| pattern(BETWEEN, at)).collect();
    let mut packed = 0;
    for (at, length) in elements.runs(0..bytes) {
        for byte in &mut whole[index(at)..index(at + length)] {
            *byte = pattern(seed, packed);
            packed += 1;
        }
    }
    whole
}

/// Byte `offset` of the message that `seed` names: it depends on the position, so that shifted or
/// swapped pieces differ, and on the seed, so that exchanged messages differ within eight bytes.
fn pattern(seed: u64, offset: u64) -> u8 {
    let position = (offset.wrapping_mul(131).wrapping_add(17) ^ (offset >> 8)) & 255;
    let mixed = (seed ^ (seed >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let name = (mixed ^ (mixed >> 29)) >> (8 * (offset % 8));
    u8::try_from((position ^ name) & 255).expect("masked to a byte")
}

fn index(offset: u64) -> usize {
    usize::try_from(offset).expect("a buffer with real bytes fits the address space")
}

#[cfg(test)]
mod tests {
    use super::*;

    const P0: Process = Process(0);
    const P1: Process = Process(1);

    fn user(len: u64) -> Region {
        Region::new(Space::User(3), len)
    }

    #[test]
    fn a_message_arrives_byte_for_byte_and_in_the_lowest_free_slot() {
        let mut memories = Memories::new(2, Payload::Real);
        memories.fill(P0, user(1000), 42);
        let parcel = memories.capture(P0, user(1000));
        let slots: Vec<Region> = (0..130).map(|_| memories.land(P1, &parcel)).collect();
        for (number, region) in (0u32..).zip(&slots) {
            assert_eq!(region.space, Space::Landing(number));
            assert_eq!(memories.check(P1, *region, 42), Ok(()));
        }
        for freed in [70, 5, 129] {
            memories.free_landing(P1, slots[freed]);
        }
        let again: Vec<Space> = (0..4).map(|_| memories.land(P1, &parcel).space).collect();
        assert_eq!(again, [5, 70, 129, 130].map(Space::Landing));
        assert_eq!(memories.landings(P1), 131);
    }

    #[test]
    fn every_single_difference_is_found_at_its_place() {
        for wrong in [0, 1, 255, 256, 999] {
            let mut memories = Memories::new(1, Payload::Real);
            memories.fill(P0, user(1000), 7);
            memories.poison(P0, user(1000).part(wrong, 1));
            let found = memories.check(P0, user(1000), 7).expect_err("one byte is poisoned");
            assert_eq!(found.offset, wrong);
            assert_eq!(found.found, !found.expected);
        }
    }

    #[test]
    fn messages_differ_within_eight_bytes_and_pieces_are_not_interchangeable() {
        let mut memories = Memories::new(1, Payload::Real);
        for seed in 0..2000 {
            memories.fill(P0, user(8), seed);
            assert!(memories.check(P0, user(8), seed + 1).is_err());
        }
        memories.fill(P0, user(512), 9);
        let low = memories.capture(P0, user(512).part(0, 256));
        memories.write(P0, user(512).part(256, 256), &low);
        let found = memories.check(P0, user(512), 9).expect_err("a piece lies at the wrong place");
        assert_eq!(found.offset, 256, "the same position mod 256 differs by its higher bits");
    }

    #[test]
    fn a_late_reader_of_a_poisoned_buffer_reads_nothing_right() {
        let mut memories = Memories::new(2, Payload::Real);
        memories.fill(P0, user(64), 1);
        memories.poison(P0, user(64));
        let late = memories.capture(P0, user(64));
        memories.write(P1, user(64), &late);
        assert_eq!(memories.check(P1, user(64), 1).expect_err("poisoned").offset, 0);
    }

    #[test]
    fn what_the_library_has_read_leaves_no_trace() {
        let mut memories = Memories::new(1, Payload::Real);
        memories.fill(P0, user(100), 1);
        let clean = memories.clone();
        for space in [Space::Staging(0), Space::Unexpected(4)] {
            memories.copy(P0, user(100), Region::new(space, 100));
            assert_ne!(memories, clean);
            memories.capture(P0, Region::new(space, 50));
            assert_ne!(memories, clean, "half of it is still to be read");
            memories.capture(P0, Region::new(space, 100).part(50, 50));
            assert_eq!(memories, clean);
        }
        let cell = Region::new(Space::Unexpected(4), 100);
        memories.copy(P0, user(100), cell);
        memories.copy(P0, cell.part(0, 10), user(10));
        memories.copy(P0, user(20), Region::new(Space::Unexpected(4), 20));
        memories.capture(P0, Region::new(Space::Unexpected(4), 20));
        assert_eq!(memories, clean, "what a truncated receive left is gone with the next content");
        let parcel = memories.capture(P0, user(100));
        let (a, b) = (memories.land(P0, &parcel), memories.land(P0, &parcel));
        memories.free_landing(P0, a);
        memories.free_landing(P0, b);
        assert_eq!(memories, clean, "the order of frees is no part of the state");
    }

    #[test]
    fn phantom_payload_keeps_sizes_and_slots_only() {
        let mut memories = Memories::new(1, Payload::Phantom);
        memories.fill(P0, user(1 << 40), 1);
        let parcel = memories.capture(P0, user(1 << 40));
        let region = memories.land(P0, &parcel);
        assert_eq!((region.len, memories.landings(P0)), (1 << 40, 1));
        assert_eq!(memories.check(P0, region, 99), Ok(()));
        let steady = allocation_counter::measure(|| {
            for _ in 0..1000 {
                let parcel = memories.capture(P0, user(8));
                let region = memories.land(P0, &parcel);
                memories.copy(P0, region, user(8));
                memories.free_landing(P0, region);
            }
        });
        assert_eq!(steady.count_total, 0);
    }

    #[test]
    #[should_panic(expected = "landing buffer 0 is freed, but it is not in use")]
    fn a_landing_buffer_is_freed_once() {
        let mut memories = Memories::new(1, Payload::Real);
        let region = memories.land(P0, &Parcel::default());
        memories.free_landing(P0, region);
        memories.free_landing(P0, region);
    }
}
