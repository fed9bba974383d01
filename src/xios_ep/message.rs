//! Incoming messages: from MPI's queue of the process into the lists of its endpoints.
//!
//! ```text
//!   MPI's queue of the process ──matched probe, any source, any tag──▶ relocate
//!                                                                        │ decode the tag
//!      endpoint 0: [ message, message, … ]   endpoint 1: [ … ]   ◀───────┘ append
//! ```
//!
//! A check repeats this until the probe finds nothing. One message is relocated at a time and under
//! one guard, or else two threads that drain the same queue could swap two messages of a sender.
//! Only the probe uses MPI's wildcards; those of a receive are resolved in the endpoint's list,
//! whose entries carry endpoint ranks and user tags. A list is walked as a matching engine's
//! unexpected queue is, and says how many entries it inspected.
//!
//! Source: `xios-ep` Sec. 3.2, 3.3, 4.

use super::comm::Part;
use super::intercomm::{Channel, Intercomm};
pub use super::message_list::{Message, MessageList, Wanted};
use super::rank_map::{Place, RankMap};
use super::tag::{Fields, TagError};
use mpi::envelope::Rank;
use mpi::intercommunicator::Side;

/// Message that a matched probe took out of MPI's queue.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Probed<M> {
    /// MPI's message, which no other thread can receive now.
    pub message: M,
    /// The process that sent it.
    pub source: u32,
    /// The packed tag.
    pub tag: i32,
}

/// Arguments of a check for MPI's probe; `None` is the wildcard.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct ProcessProbe {
    /// Always any process.
    pub source: Option<u32>,
    /// Always any tag.
    pub tag: Option<i32>,
}

/// The only probe that a check makes.
pub const ANY: ProcessProbe = ProcessProbe { source: None, tag: None };

/// Status of a finished receive or a probe; source and tag are those that the sender's program gave.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Status<S> {
    /// MPI's status.
    pub mpi: S,
    /// Bytes of one element of the datatype.
    pub datatype: u64,
    /// Rank of the sending endpoint.
    pub source: Rank,
    /// The user's tag.
    pub tag: i32,
}

/// Why a message cannot be given to an endpoint.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum RelocateError {
    /// The tag was not packed by this library.
    #[error(transparent)]
    Tag(#[from] TagError),
    /// The sender's process has no such endpoint.
    #[error("a message names endpoint {sender} as its sender, where nobody lives")]
    Sender {
        /// The place, as `(rank in the process, process)`.
        sender: Place,
    },
    /// This process has no such endpoint.
    #[error("a message is for endpoint {receiver} of a process that has {endpoints}")]
    Receiver {
        /// The rank in the process.
        receiver: u32,
        /// How many it has.
        endpoints: u32,
    },
}

/// The sender, the user's tag and the receiver's rank in its process that a message on an
/// intracommunicator with this map names.
///
/// # Errors
///
/// A tag that no endpoint of this communicator packs.
pub fn read(map: &RankMap, process: u32, packed: i32) -> Result<(Rank, i32, u32), RelocateError> {
    let Fields { tag, sender, receiver } = Fields::decode(packed)?;
    let sender = Place { local: sender, process };
    let source = map.rank(sender).ok_or(RelocateError::Sender { sender })?;
    Ok((source, tag, receiver))
}

/// The same of a message that came through `channel` to an endpoint of the assigned group of `home` in
/// an intercommunicator; the sender is named by its rank on the other side. `here` is the receiving
/// process's rank in the group, `process` that of the sending one in its own.
///
/// # Errors
///
/// A tag that no endpoint of this intercommunicator packs.
pub fn read_between(
    inter: &Intercomm,
    home: Side,
    channel: Channel,
    (here, process, packed): (u32, u32, i32),
) -> Result<(Rank, i32, u32), RelocateError> {
    let Fields { tag, sender, receiver } = Fields::decode(packed)?;
    let group = inter.assigned_to(home);
    let endpoints = super::count(group.rank_map.locals(here).len());
    let own = group.rank_map.rank(Place { local: receiver, process: here });
    let own = own.ok_or(RelocateError::Receiver { receiver, endpoints })?;
    let (side, _) = group.members[own.0 as usize];
    let sender = Place { local: sender, process };
    let source = inter.sender(side, group.label, channel, sender);
    Ok((source.ok_or(RelocateError::Sender { sender })?, tag, receiver))
}

/// Moves a message from the process to the list of the endpoint that it is for, and answers with
/// the rank of that endpoint in the process.
///
/// Probe and relocation of one message have to be one step for all threads of the process.
///
/// # Errors
///
/// A tag that no endpoint of this communicator packs.
pub fn relocate<M>(part: &mut Part<M>, probed: Probed<M>) -> Result<u32, RelocateError> {
    let (source, tag, receiver) = read(&part.rank_map, probed.source, probed.tag)?;
    deliver(part, receiver, Message { message: probed.message, source, tag })
}

/// Appends a message whose sender is known to the list of an endpoint of this process.
///
/// # Errors
///
/// [`RelocateError::Receiver`].
pub fn deliver<M>(
    part: &mut Part<M>,
    receiver: u32,
    message: Message<M>,
) -> Result<u32, RelocateError> {
    let endpoints = super::count(part.handles.len());
    let outside = RelocateError::Receiver { receiver, endpoints };
    part.handles.get_mut(receiver as usize).ok_or(outside)?.messages.append(message);
    Ok(receiver)
}

#[cfg(test)]
mod tests;
