//! Partitioned operations: what programs call, and what the two libraries say before the first message.

use std::any::Any;
use std::fmt;

use calls::arguments::{Buffer, Comm, Peer};
use calls::identity::Handle;
use calls::rows::{Field, FieldMut, Fields};
use mpi::envelope::{Context, Rank};

/// Into how many messages a partitioned send goes.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Grouping {
    /// One, which leaves when the last partition is ready.
    One,
    /// One for each partition of the sender, which leaves when it is ready.
    #[default]
    Each,
}

/// Direction of a partitioned operation.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Side {
    /// It sends: `MPI_Psend_init`.
    Sends,
    /// It receives: `MPI_Precv_init`.
    Receives,
}

/// The operation of `MPI_Psend_init` or `MPI_Precv_init`, which its request starts.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Partitioned {
    /// Its request.
    pub request: Handle,
    /// Direction.
    pub side: Side,
    /// The other side: a rank, or `MPI_PROC_NULL`.
    pub peer: Peer,
    /// Its tag.
    pub tag: i32,
    /// Its communicator.
    pub comm: Comm,
    /// All its partitions, one behind the other.
    pub buffer: Buffer,
    /// How many there are; each has as many bytes.
    pub partitions: u16,
}

impl Partitioned {
    /// The name of the MPI function.
    pub const fn function(&self) -> &'static str {
        match self.side {
            Side::Sends => "MPI_Psend_init",
            Side::Receives => "MPI_Precv_init",
        }
    }

    /// Whether it sends or receives anything.
    pub fn moves(&self) -> bool {
        self.peer != Peer::Null
    }
}

impl Fields for Partitioned {
    fn fields<'a>(&'a self, see: &mut impl FnMut(Field<'a>)) {
        see(Field::Opens(&self.request));
        see(Field::Tag(&self.tag));
        see(Field::Over(&self.comm));
        let [peer, buffer] = match self.side {
            Side::Sends => [Field::To(&self.peer), Field::Reads(&self.buffer)],
            Side::Receives => [Field::From(&self.peer), Field::Fills(&self.buffer)],
        };
        see(peer);
        see(buffer);
    }

    fn fields_mut<'a>(&'a mut self, see: &mut impl FnMut(FieldMut<'a>)) {
        see(FieldMut::Opens(&mut self.request));
        see(FieldMut::Tag(&mut self.tag));
        see(FieldMut::Over(&mut self.comm));
        let [peer, buffer] = match self.side {
            Side::Sends => [FieldMut::To(&mut self.peer), FieldMut::Reads(&mut self.buffer)],
            Side::Receives => [FieldMut::From(&mut self.peer), FieldMut::Fills(&mut self.buffer)],
        };
        see(peer);
        see(buffer);
    }

    fn named(&mut self, name: &str) -> Option<&mut dyn Any> {
        match name {
            "peer" => Some(&mut self.peer),
            "tag" => Some(&mut self.tag),
            "buffer" => Some(&mut self.buffer),
            _ => None,
        }
    }
}

/// Action of a call on partitions of a request.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum OfPartitions {
    /// They may be sent: `MPI_Pready`.
    Ready,
    /// Several that follow each other may be sent: `MPI_Pready_range`.
    ReadyRange,
    /// It asks whether one has been received: `MPI_Parrived`.
    Arrived,
}

impl OfPartitions {
    /// The name of the MPI function.
    pub const fn function(self) -> &'static str {
        match self {
            Self::Ready => "MPI_Pready",
            Self::ReadyRange => "MPI_Pready_range",
            Self::Arrived => "MPI_Parrived",
        }
    }
}

/// Packet about a pair of partitioned operations, apart from their messages.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum PartitionPacket {
    /// A send was prepared: what a receive must be like to match it.
    Offer {
        /// The context of the library's own messages on the communicator.
        context: Context,
        /// The sender's rank there.
        source: Rank,
        /// The receiver's.
        dest: Rank,
        /// The tag.
        tag: i32,
        /// All bytes.
        bytes: u64,
        /// How many messages they come in.
        messages: u16,
        /// The sender's number for the operation.
        slot: u16,
    },
    /// The receive that matches is prepared.
    Answer {
        /// The sender's number for the operation.
        slot: u16,
    },
}

impl fmt::Display for PartitionPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Offer { .. } => "PSEND",
            Self::Answer { .. } => "PRECV",
        })
    }
}
