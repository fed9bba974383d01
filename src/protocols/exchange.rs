//! A send and a receive that one call makes together.

use super::call::Call;
use calls::arguments::{Buffer, Peer};
use calls::identity::Handle;

/// `MPI_Sendrecv`, `MPI_Sendrecv_replace`, `MPI_Isendrecv` and `MPI_Isendrecv_replace`.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Exchange {
    /// Its send: a [`Call::Send`].
    pub send: Call,
    /// Its receive: a [`Call::Recv`].
    pub receive: Call,
    /// The request that ends with both; `None`: the call waits.
    pub request: Option<Handle>,
    /// Whether both have one buffer: the receive replaces what was sent.
    pub replaces: bool,
}

impl Exchange {
    /// The name of the MPI function.
    pub const fn function(&self) -> &'static str {
        match (self.request, self.replaces) {
            (None, false) => "MPI_Sendrecv",
            (None, true) => "MPI_Sendrecv_replace",
            (Some(_), false) => "MPI_Isendrecv",
            (Some(_), true) => "MPI_Isendrecv_replace",
        }
    }

    /// The buffer that is read and then written: that of a call with one buffer, where it has both
    /// messages. With `MPI_PROC_NULL` on one side the other one has the buffer for itself.
    pub fn replaced(&self) -> Option<Buffer> {
        let (Call::Send { to, .. }, Call::Recv { source, buffer, .. }) =
            (&self.send, &self.receive)
        else {
            return None;
        };
        let both = *to != Peer::Null && *source != Peer::Null;
        (self.replaces && both).then_some(*buffer)
    }
}

calls::fields_of!(Exchange { send as Inside, receive as Inside, request as Opens });
