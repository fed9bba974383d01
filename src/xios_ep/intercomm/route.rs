//! Point-to-point between the two sides: through the common assigned group, or between both.
//!
//! ```text
//!   labels equal      local_rank_map[sender], remote_rank_map[receiver] -> ranks in A' or B'
//!                     send there, as on any endpoint communicator
//!   labels different  rank_map[local_rank_map[sender]]           -> in-process rank of the sender
//!                     intercomm_rank_map[remote_rank_map[receiver]] -> that of the receiver, process
//!                     send on MPI's intercommunicator
//! ```
//!
//! Source: `xios-ep` Sec. 7; the second pair of lookups is printed the other way round there.

use super::{Entry, Intercomm};
use crate::rank_map::Place;
use crate::tag::{Fields, TagError};
use mpi::envelope::Rank;
use mpi::intercommunicator::Side;

/// The communicator of MPI that carries a message.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Channel {
    /// The intracommunicator of the assigned group with this label.
    Intra {
        /// The label.
        label: u32,
    },
    /// The intercommunicator of both assigned groups.
    Inter,
}

/// How a message reaches its receiver.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Route {
    /// The communicator.
    pub channel: Channel,
    /// In-process rank of the sender, for the tag.
    pub sender: u32,
    /// In-process rank of the receiver, for the tag.
    pub receiver: u32,
    /// Process rank of the receiver in that communicator: among its own processes for an
    /// intracommunicator, among the remote ones for the intercommunicator.
    pub process: u32,
}

/// A rank that is not in its group.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("rank {} is out of range: side {side:?} has {endpoints} endpoints", rank.0)]
pub struct RankOutOfRange {
    /// Which side.
    pub side: Side,
    /// The rank.
    pub rank: Rank,
    /// How many endpoints it has.
    pub endpoints: u32,
}

impl Route {
    /// The tag that MPI gets.
    ///
    /// # Errors
    ///
    /// A field that does not fit.
    pub fn tag(&self, user: i32) -> Result<i32, TagError> {
        Fields { tag: user, sender: self.sender, receiver: self.receiver }.encode()
    }
}

impl Intercomm {
    /// The way of a message from rank `sender` of `side` to rank `receiver` of the other side.
    ///
    /// # Errors
    ///
    /// A rank that is not in its group.
    pub fn route(&self, side: Side, sender: Rank, receiver: Rank) -> Result<Route, RankOutOfRange> {
        let [from, to] = [self.entry(side, sender)?, self.entry(side.other(), receiver)?];
        let [from_place, to_place] = [from, to].map(|entry| self.place(entry));
        let channel = if from.label == to.label {
            Channel::Intra { label: from.label }
        } else {
            Channel::Inter
        };
        Ok(Route {
            channel,
            sender: from_place.local,
            receiver: to_place.local,
            process: to_place.process,
        })
    }

    /// Sender of a message that came through `channel` to an endpoint of `side` in the assigned group with label
    /// `here`: its rank on the other side. `sender` is its in-process rank and the process rank that MPI's status
    /// names; none where no endpoint of the other side lives there.
    pub fn sender(&self, side: Side, here: u32, channel: Channel, sender: Place) -> Option<Rank> {
        let mut assigned = self.assigned.iter();
        let from = match channel {
            Channel::Intra { label } => assigned.find(|group| group.label == label)?,
            Channel::Inter => assigned.find(|group| group.label != here)?,
        };
        let entry = Entry { rank: from.rank_map.rank(sender)?, label: from.label };
        self.rank(side.other(), entry)
    }

    /// Where an endpoint lives in its assigned group.
    fn place(&self, entry: Entry) -> Place {
        let group = self.assigned.iter().find(|group| group.label == entry.label);
        let map = &group.expect("an entry has the label of an assigned group").rank_map;
        map.place(entry.rank).expect("an entry has a rank of its assigned group")
    }

    fn entry(&self, side: Side, rank: Rank) -> Result<Entry, RankOutOfRange> {
        let entries = self.rank_map_of(side);
        let endpoints = super::super::count(entries.len());
        let outside = RankOutOfRange { side, rank, endpoints };
        entries.get(rank.0 as usize).copied().ok_or(outside)
    }
}
