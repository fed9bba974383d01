//! Buffered sends: the message is copied into room that the program has attached, and the call ends.
//!
//! ```text
//!   MPI_Bsend ──room? copy in──▶ complete      its copy ──RTS … FIN──▶ the room is free again
//!   MPI_Buffer_detach ──▶ returns when all room is free
//! ```
//!
//! The copy is a send of the library's own, with a request that no program names: the rendezvous is
//! that of any other message, and progresses in any call. A small message leaves eagerly and needs room
//! only to be allowed.
//!
//! Source: `coop` Table II and Sec. II-B1 (the sender is free before the match); MPI-3.1, Sec. 3.6.
//! Left out: where in the room a message lies. Noticeable where free room is in pieces.
//! `MPI_BSEND_OVERHEAD` is 0.

use super::requests::{Body, Pending};
use super::{
    Action, Key, Library, LibraryAction, MessageHeader, Offer, Outcome, ProtocolError, Region,
    Reply, Route, Space, Thread, push_return,
};
use crate::contract::{Emit, Step};
use mpi::observation::Observation;

/// The room of a process for buffered sends.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Attached {
    /// Bytes that the program has given.
    room: u64,
    /// Bytes of messages whose transfer has not ended.
    used: u64,
    /// Who waits for all of them.
    detaching: Option<Thread>,
}

impl Library {
    /// `MPI_Buffer_attach`.
    pub(super) fn attach_buffer(
        &mut self,
        thread: Thread,
        bytes: u64,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        if self.attached.is_some() {
            return Err(self.refuse("a buffer is attached already", "MPI_Buffer_attach"));
        }
        self.attached = Some(Box::new(Attached { room: bytes, used: 0, detaching: None }));
        push_return(thread, Reply::Done, out);
        Ok(())
    }

    /// `MPI_Buffer_detach`: waits for every transfer out of the room.
    pub(super) fn detach_buffer(
        &mut self,
        thread: Thread,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        match &mut self.attached {
            None => return Err(self.refuse("no buffer is attached", "MPI_Buffer_detach")),
            Some(attached) if attached.used > 0 => {
                attached.detaching = Some(thread);
                self.pending[usize::from(thread.0)] = Some(Pending::Detach);
            }
            Some(_) => {
                self.attached = None;
                push_return(thread, Reply::Done, out);
            }
        }
        Ok(())
    }

    /// A message of so many bytes must fit into what is free of the room.
    pub(super) fn check_room(&self, bytes: u64) -> Result<(), ProtocolError> {
        let Some(attached) = &self.attached else {
            return Err(self.refuse("no buffer is attached for a buffered send", bytes));
        };
        let free = attached.room - attached.used;
        if bytes > free {
            let state = format!("{free} B are free of an attached buffer of {} B", attached.room);
            let input = format!("a buffered send of {bytes} B (MPI_ERR_BUFFER)");
            return Err(self.refuse(&state, input));
        }
        Ok(())
    }

    /// A large buffered send: what it sends is the copy.
    pub(super) fn send_buffered(
        &mut self,
        thread: Thread,
        (route, offer): (Route, Option<Offer>),
        header: MessageHeader,
        buffer: Region,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let Some(attached) = &mut self.attached else {
            return Err(self.refuse("no buffer is attached for a buffered send", buffer.len));
        };
        attached.used += buffer.len;
        let slot = self.requests.free_buffered();
        let kept = Region::new(Space::Attached(slot), buffer.len);
        out.emit(|| Action::Copy { from: buffer, to: kept });
        // The program's own request is over: its buffer is free.
        self.open(header.sender, Body::Complete(Outcome::Sent), thread)?;
        self.complete(header.sender, Outcome::Sent, Some(buffer), None, out)?;
        let header = MessageHeader { sender: Key::Buffered(slot), ..header };
        self.send_rendezvous(thread, (route, offer), header, kept, out)
    }

    /// The transfer of a buffered message has ended: its room is free.
    pub(super) fn buffered_over(
        &mut self,
        key: Key,
        bytes: u64,
        fact: Option<Observation>,
        out: &mut Vec<LibraryAction>,
    ) {
        out.emit(|| Action::Complete { code: Some(Step::Completion), buffer: None, fact });
        self.requests.drop_buffered(key);
        let Some(attached) = &mut self.attached else { return };
        attached.used -= bytes;
        if attached.used == 0
            && let Some(thread) = attached.detaching
        {
            self.attached = None;
            self.pending[usize::from(thread.0)] = None;
            push_return(thread, Reply::Done, out);
        }
    }
}
