//! Sessions, by their handles.

use crate::functions as mpi5;
use crate::mpi::args::handle;
use crate::mpi::fault::Fault;
use crate::mpi::table::Table;

/// The open sessions of a rank.
#[derive(Debug)]
pub(crate) struct Sessions {
    open: Table<()>,
    count: usize,
}

impl Sessions {
    pub(crate) const fn new() -> Self {
        Self { open: Table::new(10), count: 0 }
    }

    /// Whether one is open.
    pub(crate) const fn are_open(&self) -> bool {
        self.count > 0
    }

    /// A handle for a new session.
    pub(crate) fn open(&mut self) -> u64 {
        self.count += 1;
        self.open.add(())
    }

    /// Whether a handle is that of an open session.
    pub(crate) fn check(&self, handle::Session(handle): handle::Session) -> Result<(), Fault> {
        self.open.get(handle).copied().ok_or_else(|| no_session(handle))
    }

    /// A session is over.
    pub(crate) fn close(&mut self, handle::Session(handle): handle::Session) -> Result<(), Fault> {
        self.open.remove(handle).ok_or_else(|| no_session(handle))?;
        self.count -= 1;
        Ok(())
    }
}

fn no_session(handle: u64) -> Fault {
    Fault::new(mpi5::ERR_SESSION, format!("{handle:#x} is no session"))
}
