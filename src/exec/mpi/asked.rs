//! A call of a process: the arguments of its function, and the memory behind its pointers.

use super::fault::Fault;
use crate::functions::{self as mpi5, Function};
use crate::place::Place;
use crate::ranks::{RankError, Request};

/// A function that a process has called.
#[derive(Debug)]
pub struct Asked<'a> {
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

impl<'a> Asked<'a> {
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

    /// Argument number `at`, counted from 0: a handle or an address.
    pub const fn word(&self, at: usize) -> u64 {
        self.request.word(at)
    }

    /// An argument that is a C `int`.
    pub const fn int(&self, at: usize) -> i32 {
        self.request.int(at)
    }

    /// An argument that is a count, a displacement or an `MPI_Aint`.
    pub const fn long(&self, at: usize) -> i64 {
        self.request.long(at)
    }

    /// A count: 0 or more.
    ///
    /// # Errors
    ///
    /// `MPI_ERR_COUNT` where it is negative.
    pub fn count(&self, at: usize) -> Result<u64, Fault> {
        let count = self.long(at);
        u64::try_from(count).map_err(|_| Fault::new(mpi5::ERR_COUNT, format!("a count of {count}")))
    }

    /// A number of entries of an array: 0 or more.
    ///
    /// # Errors
    ///
    /// `MPI_ERR_ARG` where it is negative.
    pub fn length(&self, at: usize) -> Result<usize, Fault> {
        let length = self.long(at);
        usize::try_from(length)
            .map_err(|_| Fault::new(mpi5::ERR_ARG, format!("an array of {length} entries")))
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

    /// The bytes of an array of so many entries, each of so many bytes, that an argument points to.
    fn array(&mut self, at: usize, length: usize, entry: usize) -> Result<Vec<u8>, Fault> {
        let bytes = length
            .checked_mul(entry)
            .ok_or_else(|| Fault::new(mpi5::ERR_COUNT, format!("an array of {length} entries")))?;
        let address = self.word(at);
        let read = self.bytes(address, bytes);
        let has_failed = matches!(&read, Err(Fault::Lost(RankError::Memory { .. })));
        if has_failed && self.place.process.read(address, &mut [0]).is_ok() {
            let rank = self.place.process.number();
            return Err(RankError::Array { rank, entries: length as u64, address }.into());
        }
        read
    }

    /// The array of words of 64 bits that an argument points to.
    ///
    /// # Errors
    ///
    /// Where it cannot be read.
    pub fn words(&mut self, at: usize, length: usize) -> Result<Vec<u64>, Fault> {
        let bytes = self.array(at, length, 8)?;
        Ok(bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect())
    }

    /// The array of `MPI_Aint` that an argument points to.
    ///
    /// # Errors
    ///
    /// As [`Self::words`].
    pub fn longs(&mut self, at: usize, length: usize) -> Result<Vec<i64>, Fault> {
        Ok(self.words(at, length)?.into_iter().map(u64::cast_signed).collect())
    }

    /// The array of `int` that an argument points to.
    ///
    /// # Errors
    ///
    /// As [`Self::words`].
    pub fn ints(&mut self, at: usize, length: usize) -> Result<Vec<i32>, Fault> {
        let bytes = self.array(at, length, 4)?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|word| i32::from_ne_bytes(*word)).collect())
    }

    /// The array of counts or displacements that an argument points to: `int`, or 64 bits in the form for large
    /// counts.
    ///
    /// # Errors
    ///
    /// As [`Self::words`].
    pub fn counts(&mut self, at: usize, length: usize) -> Result<Vec<i64>, Fault> {
        if self.is_large {
            return self.longs(at, length);
        }
        Ok(self.ints(at, length)?.into_iter().map(i64::from).collect())
    }

    /// The word that an argument points to.
    ///
    /// # Errors
    ///
    /// As [`Self::words`].
    pub fn at(&mut self, at: usize) -> Result<u64, Fault> {
        self.word_at(self.word(at))
    }

    /// The word at an address.
    ///
    /// # Errors
    ///
    /// As [`Self::words`].
    pub fn word_at(&mut self, address: u64) -> Result<u64, Fault> {
        let mut bytes = [0; 8];
        self.place.process.read(address, &mut bytes)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    /// The text that an argument points to, without what is no UTF-8.
    ///
    /// # Errors
    ///
    /// As [`Self::words`].
    pub fn text(&mut self, at: usize) -> Result<String, Fault> {
        self.text_at(self.word(at))
    }

    /// The text at an address, without what is no UTF-8.
    ///
    /// # Errors
    ///
    /// As [`Self::words`].
    pub fn text_at(&mut self, mut address: u64) -> Result<String, Fault> {
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

    /// The process gets these bytes where an argument points.
    pub fn put(&mut self, at: usize, bytes: &[u8]) {
        let address = self.word(at);
        self.place.process.put(address, bytes);
    }

    /// An `int` where an argument points.
    pub fn put_int(&mut self, at: usize, value: i32) {
        self.put(at, &value.to_ne_bytes());
    }

    /// A flag where an argument points.
    pub fn put_flag(&mut self, at: usize, value: bool) {
        self.put_int(at, i32::from(value));
    }

    /// A handle, an address or an `MPI_Aint` where an argument points.
    pub fn put_word(&mut self, at: usize, value: u64) {
        self.put(at, &value.to_ne_bytes());
    }

    /// As [`Self::put_word`], of a signed number.
    pub fn put_long(&mut self, at: usize, value: i64) {
        self.put(at, &value.to_ne_bytes());
    }

    /// A count where an argument points: an `int`, or 64 bits in the form for large counts; what is beyond an `int` is
    /// `MPI_UNDEFINED`, and so is `None`.
    pub fn put_count(&mut self, at: usize, value: Option<i64>) {
        if self.is_large {
            self.put_long(at, value.unwrap_or(mpi5::UNDEFINED.into()));
        } else {
            let value = value.and_then(|value| i32::try_from(value).ok());
            self.put_int(at, value.unwrap_or(mpi5::UNDEFINED));
        }
    }

    /// Ints where an argument points.
    pub fn put_ints(&mut self, at: usize, values: impl IntoIterator<Item = i32>) {
        let bytes: Vec<u8> = values.into_iter().flat_map(i32::to_ne_bytes).collect();
        self.put(at, &bytes);
    }

    /// Words where an argument points.
    pub fn put_words(&mut self, at: usize, values: impl IntoIterator<Item = u64>) {
        let bytes: Vec<u8> = values.into_iter().flat_map(u64::to_ne_bytes).collect();
        self.put(at, &bytes);
    }

    /// A text of at most `room` bytes with its end, where an argument points; the result is its length without the
    /// end.
    ///
    /// # Panics
    ///
    /// With room for no byte.
    pub fn put_string(&mut self, at: usize, text: &str, room: usize) -> usize {
        let length = text.floor_char_boundary(text.len().min(room - 1));
        let mut bytes = text.as_bytes()[..length].to_vec();
        bytes.push(0);
        self.put(at, &bytes);
        length
    }

    /// As [`Self::put_string`], and the length where the next argument points.
    ///
    /// # Panics
    ///
    /// With room for no byte.
    pub fn put_text(&mut self, at: usize, text: &str, room: usize) {
        let length = self.put_string(at, text, room);
        self.put_int(at + 1, i32::try_from(length).expect("a short text"));
    }
}

/// Numbers in words.
pub(super) fn listed<T: ToString>(numbers: &[T]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
