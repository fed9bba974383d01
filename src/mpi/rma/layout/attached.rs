//! The memory that a process has attached to a dynamic window. Other processes do not learn of it.

use std::collections::BTreeMap;
use std::ops::Range;

/// The pieces of memory that are attached at one process.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Attached {
    /// End by start; they do not overlap and are not empty.
    pieces: BTreeMap<u64, u64>,
}

/// Why memory cannot be attached, detached or accessed.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, thiserror::Error)]
pub enum AttachError {
    /// The piece is empty, or has no last address.
    #[error("{bytes} B at address {address} are no piece of memory")]
    NoMemory {
        /// Where.
        address: u64,
        /// How many.
        bytes: u64,
    },
    /// Some of it is attached already.
    #[error("{bytes} B at address {address} overlap memory that is attached at {other}")]
    Overlap {
        /// Where.
        address: u64,
        /// How many.
        bytes: u64,
        /// Where the other piece begins.
        other: u64,
    },
    /// No attached piece begins there.
    #[error("memory is not attached: no piece begins at address {address}")]
    Unknown {
        /// Where.
        address: u64,
    },
    /// Some of the accessed bytes are not attached.
    #[error("memory is not attached: {bytes} B at address {address} are not all in the window")]
    NotAttached {
        /// Where.
        address: u64,
        /// How many.
        bytes: u64,
    },
}

impl Attached {
    /// Attaches a piece of memory.
    ///
    /// # Errors
    ///
    /// It is empty, ends beyond all addresses, or overlaps one that is attached.
    pub fn attach(&mut self, address: u64, bytes: u64) -> Result<(), AttachError> {
        let end = address.checked_add(bytes).filter(|end| *end > address);
        let end = end.ok_or(AttachError::NoMemory { address, bytes })?;
        match self.pieces.range(..end).next_back() {
            Some((&other, &until)) if until > address => {
                Err(AttachError::Overlap { address, bytes, other })
            }
            _ => {
                self.pieces.insert(address, end);
                Ok(())
            }
        }
    }

    /// Detaches the piece that begins there.
    ///
    /// # Errors
    ///
    /// No attached piece does.
    pub fn detach(&mut self, address: u64) -> Result<(), AttachError> {
        self.pieces.remove(&address).map(|_| ()).ok_or(AttachError::Unknown { address })
    }

    /// Checks that all these bytes are attached; they may lie in several pieces without a gap.
    ///
    /// # Errors
    ///
    /// Some are not.
    pub fn check(&self, address: u64, bytes: u64) -> Result<(), AttachError> {
        let not_attached = AttachError::NotAttached { address, bytes };
        let end = address.checked_add(bytes).ok_or(not_attached)?;
        let mut reached = address;
        while reached < end {
            let piece = self.pieces.range(..=reached).next_back();
            let (_, until) = piece.filter(|(_, until)| **until > reached).ok_or(not_attached)?;
            reached = *until;
        }
        Ok(())
    }

    /// The pieces, by address.
    pub fn pieces(&self) -> impl ExactSizeIterator<Item = Range<u64>> {
        self.pieces.iter().map(|(start, end)| *start..*end)
    }

    /// Bytes of the entries that are kept.
    pub(super) fn state_bytes(&self) -> u64 {
        (self.pieces.len() * size_of::<(u64, u64)>()) as u64
    }
}
