//! The requests that a call names, where an operation is under way for them.

use crate::functions as mpi5;
use crate::mpi::args::{To, handle, length};
use crate::mpi::fault::Fault;
use crate::mpi::frame::Frame;
use crate::mpi::rank_state::RankState;
use calls::arguments::Requests as Set;
use protocols::contract::Handle;

/// The requests of a call that an operation is under way for.
pub(super) struct Active {
    /// Where the array begins.
    array: To<handle::Request>,
    /// Entries of the array.
    pub(super) length: usize,
    /// Place in the array, and request.
    pub(super) entries: Vec<(usize, Handle)>,
}

impl Active {
    /// The requests.
    pub(super) fn set(&self) -> Set {
        Set::List(self.entries.iter().map(|(_, request)| *request).collect())
    }

    /// Where the process has the handle of an entry.
    pub(super) const fn variable(&self, at: usize) -> To<handle::Request> {
        To::new(self.array.address + 8 * at as u64)
    }
}

/// A place in an array, or a number of such.
pub(super) fn place(at: usize) -> i32 {
    i32::try_from(at).expect("an int counts the entries of the array")
}

/// The request of a handle; `None` of `MPI_REQUEST_NULL`.
pub(super) fn request(
    state: &mut RankState,
    handle: handle::Request,
) -> Result<Option<Handle>, Fault> {
    if handle.0 == mpi5::REQUEST_NULL {
        return Ok(None);
    }
    let Some(request) = state.requests.number(handle) else {
        return Err(Fault::new(mpi5::ERR_REQUEST, format!("{:#x} is no request", handle.0)));
    };
    state.errors.about(state.requests.of(request).comm);
    Ok(Some(request))
}

/// The request of a handle, where its operation is under way.
pub(in super::super) fn active(
    state: &mut RankState,
    handle: handle::Request,
) -> Result<Option<Handle>, Fault> {
    let request = request(state, handle)?;
    Ok(request.filter(|request| state.requests.of(*request).is_active))
}

/// The requests of an array of so many.
pub(super) fn array(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    count: i32,
    array: To<handle::Request>,
) -> Result<Active, Fault> {
    let length = length(count)?;
    let handles = frame.handles(array, length)?;
    let mut entries = Vec::with_capacity(handles.len());
    for (at, handle) in handles.into_iter().enumerate() {
        if let Some(request) = active(state, handle)? {
            entries.push((at, request));
        }
    }
    Ok(Active { array, length, entries })
}
