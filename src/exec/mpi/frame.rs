//! A call of a process: the arguments of its function, and the memory behind its pointers.

use std::ffi::c_char;

use super::args::{Address, Arguments, Count, Handle, To};
use super::fault::Fault;
use crate::functions::{self as mpi5, Function};
use crate::place::Place;
use crate::ranks::{RankError, Request};

/// A function that a process has called.
#[derive(Debug)]
pub struct Frame<'a> {
    /// The function; that for large counts is named by its twin.
    pub function: Function,
    /// Whether it is the form for large counts.
    pub is_large: bool,
    request: Request,
    /// The process and its buffers.
    pub place: &'a mut Place,
}

/// Bytes of a process's memory that are read at a time.
const STEP: usize = 1 << 20;

impl<'a> Frame<'a> {
    /// A call of this function.
    pub fn new(function: Function, request: Request, place: &'a mut Place) -> Self {
        let (function, is_large) = function.base();
        place.now = Some(function);
        Self { function, is_large, request, place }
    }

    /// Where the function returns to in the program.
    pub const fn caller(&self) -> u64 {
        self.request.caller
    }

    /// The arguments of its function.
    pub(crate) fn arguments<A: Arguments>(&self) -> A {
        A::of(&self.request)
    }

    /// Bytes of the process's memory.
    ///
    /// # Errors
    ///
    /// Where they cannot be read.
    pub fn bytes(&mut self, address: u64, length: usize) -> Result<Vec<u8>, Fault> {
        let mut bytes = Vec::new();
        // Of an array that is longer than the process's memory no more is taken than is there.
        while bytes.len() < length {
            let from = bytes.len();
            bytes.resize(length.min(from + STEP), 0);
            self.place.process.read(address.wrapping_add(from as u64), &mut bytes[from..])?;
        }
        Ok(bytes)
    }

    /// The bytes of an array of so many entries, each of so many bytes.
    fn array(&mut self, address: u64, length: usize, entry: usize) -> Result<Vec<u8>, Fault> {
        let bytes = length
            .checked_mul(entry)
            .ok_or_else(|| Fault::new(mpi5::ERR_COUNT, format!("an array of {length} entries")))?;
        let read = self.bytes(address, bytes);
        let has_failed = matches!(&read, Err(Fault::Lost(RankError::Memory { .. })));
        if has_failed && self.place.process.read(address, &mut [0]).is_ok() {
            let rank = self.place.process.number();
            return Err(RankError::Array { rank, entries: length as u64, address }.into());
        }
        read
    }

    /// An array of words of 64 bits.
    fn words_at(&mut self, address: u64, length: usize) -> Result<Vec<u64>, Fault> {
        let bytes = self.array(address, length, 8)?;
        Ok(bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect())
    }

    /// An array of ints.
    fn ints_at(&mut self, address: u64, length: usize) -> Result<Vec<i32>, Fault> {
        let bytes = self.array(address, length, 4)?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|word| i32::from_ne_bytes(*word)).collect())
    }

    /// An array of handles.
    ///
    /// # Errors
    ///
    /// Where it cannot be read.
    pub(crate) fn handles<H: Handle>(
        &mut self,
        from: To<H>,
        length: usize,
    ) -> Result<Vec<H>, Fault> {
        Ok(self.words_at(from.address, length)?.into_iter().map(H::of).collect())
    }

    /// An array of texts, each where a pointer points to.
    pub(crate) fn texts(
        &mut self,
        from: To<To<c_char>>,
        length: usize,
    ) -> Result<Vec<String>, Fault> {
        let all = self.words_at(from.address, length)?;
        all.into_iter().map(|address| self.text(To::new(address))).collect()
    }

    /// An array of `MPI_Aint`.
    pub(crate) fn longs(&mut self, from: To<i64>, length: usize) -> Result<Vec<i64>, Fault> {
        let address = from.address;
        Ok(self.words_at(address, length)?.into_iter().map(u64::cast_signed).collect())
    }

    /// An array of `int`.
    pub(crate) fn ints(&mut self, from: To<i32>, length: usize) -> Result<Vec<i32>, Fault> {
        self.ints_at(from.address, length)
    }

    /// An array of counts or displacements.
    pub(crate) fn counts(&mut self, from: To<Count>, length: usize) -> Result<Vec<i64>, Fault> {
        let address = from.address;
        if self.is_large {
            return Ok(self.words_at(address, length)?.into_iter().map(u64::cast_signed).collect());
        }
        Ok(self.ints_at(address, length)?.into_iter().map(i64::from).collect())
    }

    /// The handle in a variable.
    pub(crate) fn handle<H: Handle>(&mut self, from: To<H>) -> Result<H, Fault> {
        self.word_at(from.address).map(H::of)
    }

    /// The `int` in a variable.
    pub(crate) fn int(&mut self, from: To<i32>) -> Result<i32, Fault> {
        let mut bytes = [0; 4];
        self.place.process.read(from.address, &mut bytes)?;
        Ok(i32::from_ne_bytes(bytes))
    }

    /// The word at an address.
    pub(super) fn word_at(&mut self, address: u64) -> Result<u64, Fault> {
        let mut bytes = [0; 8];
        self.place.process.read(address, &mut bytes)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    /// A text, without what is no UTF-8.
    pub(crate) fn text(&mut self, from: To<c_char>) -> Result<String, Fault> {
        let mut address = from.address;
        let mut text = Vec::new();
        loop {
            // A page may be the last one.
            let length = 64 - usize::try_from(address % 64).unwrap_or(0);
            let bytes = self.bytes(address, length)?;
            if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
                text.extend_from_slice(&bytes[..end]);
                return Ok(String::from_utf8_lossy(&text).into_owned());
            }
            text.extend_from_slice(&bytes);
            address += length as u64;
        }
    }

    /// The process gets an `int`.
    pub(crate) fn put_int(&mut self, to: To<i32>, value: i32) {
        self.place.process.put(to.address, &value.to_ne_bytes());
    }

    /// The process gets a flag.
    pub(crate) fn put_flag(&mut self, to: To<i32>, value: bool) {
        self.put_int(to, i32::from(value));
    }

    /// The process gets a handle.
    pub(crate) fn put_handle<H: Handle>(&mut self, to: To<H>, handle: u64) {
        self.place.process.put(to.address, &handle.to_ne_bytes());
    }

    /// The process gets a word of 64 bits: an address, or the value of an attribute.
    pub(crate) fn put_word(&mut self, to: Address, value: u64) {
        self.place.process.put(to.0, &value.to_ne_bytes());
    }

    /// The process gets an `MPI_Aint`.
    pub(crate) fn put_long(&mut self, to: To<i64>, value: i64) {
        self.place.process.put(to.address, &value.to_ne_bytes());
    }

    /// The process gets a count; what is beyond an `int` is `MPI_UNDEFINED` where it is one, and so is `None`.
    pub(crate) fn put_count(&mut self, to: To<Count>, value: Option<i64>) {
        let address = to.address;
        if self.is_large {
            let value = value.unwrap_or(mpi5::UNDEFINED.into());
            self.place.process.put(address, &value.to_ne_bytes());
        } else {
            let value = value.and_then(|value| i32::try_from(value).ok());
            let value = value.unwrap_or(mpi5::UNDEFINED);
            self.place.process.put(address, &value.to_ne_bytes());
        }
    }

    /// The process gets an array of ints.
    pub(crate) fn put_ints(&mut self, to: To<i32>, values: impl IntoIterator<Item = i32>) {
        let bytes: Vec<u8> = values.into_iter().flat_map(i32::to_ne_bytes).collect();
        self.place.process.put(to.address, &bytes);
    }

    /// The process gets an array of `MPI_Aint`.
    pub(crate) fn put_longs(&mut self, to: To<i64>, values: impl IntoIterator<Item = i64>) {
        let bytes: Vec<u8> = values.into_iter().flat_map(i64::to_ne_bytes).collect();
        self.place.process.put(to.address, &bytes);
    }

    /// The process gets an array of handles.
    pub(crate) fn put_handles<H: Handle>(
        &mut self,
        to: To<H>,
        handles: impl IntoIterator<Item = u64>,
    ) {
        let bytes: Vec<u8> = handles.into_iter().flat_map(u64::to_ne_bytes).collect();
        self.place.process.put(to.address, &bytes);
    }

    /// The process gets a text of at most `room` bytes with its end, at least one; the result is its length without the
    /// end.
    pub(crate) fn put_string(&mut self, to: To<c_char>, text: &str, room: usize) -> usize {
        let length = text.floor_char_boundary(text.len().min(room - 1));
        let mut bytes = text.as_bytes()[..length].to_vec();
        bytes.push(0);
        self.place.process.put(to.address, &bytes);
        length
    }

    /// As [`Self::put_string`], and the length.
    pub(crate) fn put_text(
        &mut self,
        (to, length): (To<c_char>, To<i32>),
        text: &str,
        room: usize,
    ) {
        let bytes = self.put_string(to, text, room);
        self.put_int(length, i32::try_from(bytes).expect("a short text"));
    }
}

/// Numbers in words.
pub(super) fn listed<T: ToString>(numbers: &[T]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
