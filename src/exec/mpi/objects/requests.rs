//! Requests, by their handles, and what is held for their operations.
//!
//! A request of the program is one of the library's, of the same number. That of a persistent operation stays when
//! the operation has ended; until it is started again it counts as `MPI_REQUEST_NULL` does.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::functions as mpi5;
use crate::mpi::args::{To, handle};
use crate::mpi::data::{Held, Sent};
use crate::mpi::fault::Fault;
use crate::mpi::frame::Frame;
use crate::mpi::table::Table;
use crate::place::Place;
use calls::arguments::Outcome;
use protocols::call::Call;
use protocols::contract::Handle;

/// The open requests of a rank, and its matched messages.
#[derive(Debug)]
pub(crate) struct Requests {
    open: Table<Open>,
    /// The communicator of each message that `MPI_Mprobe` has matched.
    messages: Table<u64>,
    /// Calls of the library that the rank has made.
    pub(crate) calls: u32,
}

/// A request that is open.
#[derive(Debug)]
pub(crate) struct Open {
    /// The handle of the communicator or the window of its operation.
    pub(crate) comm: u64,
    /// The call of a persistent operation.
    pub(crate) prepared: Option<Arc<Call>>,
    /// Whether an operation is under way.
    pub(crate) is_active: bool,
    /// Whether the program knows that the operation has ended, and asks further.
    is_known: bool,
    pub(crate) held: Vec<Held>,
    /// The function that made it or started it last, and where that returns to.
    pub(crate) made: Option<(mpi5::Function, u64)>,
    /// The number of the library's call by which its operation begins.
    call: u32,
    /// Data that a send reads; `None` of other operations.
    pub(crate) sent: Option<Sent>,
}

/// Handles of messages are above those of requests, so that the library takes none for another.
const MESSAGES: u32 = 1 << 24;

impl Requests {
    pub(crate) const fn new() -> Self {
        Self { open: Table::new(2), messages: Table::new(3), calls: 0 }
    }

    /// A new request, of an operation over this communicator.
    pub(crate) fn open(&mut self, comm: u64) -> Handle {
        let (held, made, sent) = (Vec::new(), None, None);
        let (is_active, is_known, call) = (true, false, self.calls);
        let open = Open { comm, prepared: None, is_active, is_known, held, made, call, sent };
        let handle = self.open.add(open);
        self.number(handle::Request(handle)).expect("it was added")
    }

    /// The request of a handle.
    pub(crate) fn number(&self, handle::Request(handle): handle::Request) -> Option<Handle> {
        let number = self.open.number(handle)?;
        Some(Handle(u32::try_from(number).expect("fewer than 2^32 requests")))
    }

    /// Whether an operation is over this communicator, under way or prepared.
    pub(crate) fn are_over(&self, comm: u64) -> bool {
        self.open.iter().any(|(_, open)| open.comm == comm)
    }

    /// A function makes a request, or begins its operation by the next call of the library.
    pub(crate) fn make(&mut self, request: Handle, frame: &Frame<'_>) {
        let call = self.calls;
        let open = self.of_mut(request);
        (open.made, open.call) = (Some((frame.function, frame.caller())), call);
    }

    /// The function that has started an open operation by this call of the library.
    pub(crate) fn begun_at(&self, call: u32) -> Option<(mpi5::Function, u64)> {
        let mut active = self.open.iter().filter(|(_, open)| open.is_active);
        active.find(|(_, open)| open.call == call).and_then(|(_, open)| open.made)
    }

    /// The functions that have made the requests whose operations the program has not completed, where they return to,
    /// and how many requests each has made.
    pub(crate) fn incomplete(&self) -> BTreeMap<(mpi5::Function, u64), u32> {
        let mut incomplete = BTreeMap::new();
        let active = self.open.iter().filter(|(_, open)| open.is_active);
        for made in active.filter_map(|(_, open)| open.made) {
            *incomplete.entry(made).or_default() += 1;
        }
        incomplete
    }

    /// The program's handle of a request.
    pub(crate) const fn handle(request: Handle) -> u64 {
        Table::<Open>::handle_of(2, request.0 as u64)
    }

    /// A request that is open.
    pub(crate) fn of(&self, request: Handle) -> &Open {
        self.open.get(Self::handle(request)).expect("it is open")
    }

    /// A request that is open, to be changed.
    pub(crate) fn of_mut(&mut self, request: Handle) -> &mut Open {
        self.open.get_mut(Self::handle(request)).expect("it is open")
    }

    /// The function that has started the operation of a request returns.
    pub(crate) fn has_begun(&mut self, place: &mut Place, request: Handle) {
        if let Some(sent) = &mut self.of_mut(request).sent {
            sent.has_begun(place);
        }
    }

    /// The operation of a request has ended: what was held for it goes where it belongs, and the request is gone, or
    /// waits to be started again, also where the data of a send was changed. The process has its handle at `variable`.
    pub(crate) fn end(
        &mut self,
        place: &mut Place,
        variable: To<handle::Request>,
        request: Handle,
        outcome: Outcome,
    ) -> Result<(), Fault> {
        let unchanged = self.is_complete(place, request, outcome);
        let open = self.of_mut(request);
        open.is_known = false;
        if open.prepared.is_some() {
            open.is_active = false;
            return unchanged;
        }
        let open = self.open.remove(Self::handle(request)).expect("it is open");
        place.process.put(variable.address, &mpi5::REQUEST_NULL.to_ne_bytes());
        for held in open.held {
            place.release(held.buffer);
        }
        unchanged
    }

    /// The program learns that the operation of a request has ended: what is held for it goes where it belongs, and the
    /// program may use its buffers.
    pub(crate) fn is_complete(
        &mut self,
        place: &mut Place,
        request: Handle,
        outcome: Outcome,
    ) -> Result<(), Fault> {
        let open = self.of_mut(request);
        if std::mem::replace(&mut open.is_known, true) {
            return Ok(());
        }
        open.held.iter().try_for_each(|held| held.empty(place, outcome))?;
        open.sent.as_mut().map_or(Ok(()), |sent| sent.end(place))
    }

    /// The program frees a request. The library ends an operation that is under way by itself, and has its number
    /// until then.
    pub(crate) fn free(&mut self, request: Handle) -> Open {
        let (handle, is_active) = (Self::handle(request), self.of(request).is_active);
        let all = &mut self.open;
        let open = if is_active { all.retire(handle) } else { all.remove(handle) };
        open.expect("it is open")
    }

    /// A message is going to be matched.
    pub(crate) fn open_message(&mut self, comm: u64) -> Handle {
        let handle = self.messages.add(comm);
        let number = self.messages.number(handle).expect("it was added");
        Handle(MESSAGES + u32::try_from(number).expect("fewer than 2^24 messages"))
    }

    /// The program's handle of a message.
    pub(crate) const fn message_handle(message: Handle) -> u64 {
        Table::<u64>::handle_of(3, (message.0 - MESSAGES) as u64)
    }

    /// The message of a handle, and its communicator.
    pub(crate) fn message(
        &self,
        handle::Message(handle): handle::Message,
    ) -> Result<(u64, Handle), Fault> {
        let Some((comm, number)) = self.messages.get(handle).zip(self.messages.number(handle))
        else {
            return Err(Fault::new(mpi5::ERR_REQUEST, format!("{handle:#x} is no message")));
        };
        let number = u32::try_from(number).expect("fewer than 2^24 messages");
        Ok((*comm, Handle(MESSAGES + number)))
    }

    /// A message is received.
    pub(crate) fn close_message(&mut self, message: Handle) {
        self.messages.remove(Self::message_handle(message));
    }
}
