//! The key `mpi`: choices of the MPI library, each with its words, its default and its value.

mod cooperation;
mod one_sided;

use super::job::MpiOptions;
use form::fields::SIZE;
use form::json::Node;
use form::shape::Shape;
use form::typed::{Value, default, optional};
use language::statements;
use protocols::partitioned::Grouping;
use protocols::rendezvous::Protocol;
use runtime::memory;
use runtime::timed::{Kernel, LockOrder};
use units::Bytes;

/// The most VCIs of a process.
/// Limit: the default of `--with-ch4-max-vcis` of MPICH.
const MOST_VCIS: u64 = 64;

form::object! {
    /// Choices of the MPI library.
    pub struct MpiForm {
        /// How a message above the eager threshold moves between nodes.
        rendezvous: BetweenNodes = default(&BetweenNodes::SHAPE, "rput"),
        /// Largest message that is sent eagerly between nodes.
        eager_threshold: Option<Bytes> = default(&SIZE, "machine.mpi.eager_threshold_inter"),
        /// Largest message that is sent eagerly inside a node.
        eager_threshold_intra: Option<Bytes> = default(&SIZE, "machine.mpi.eager_threshold_intra"),
        /// Whether the bytes of messages exist.
        payload: Payload = default(&Payload::SHAPE, "phantom"),
        /// How a process is connected to its peers; a pass of the progress engine polls each channel. Left
        /// out: as the machine's library does it with so many peers on other nodes.
        connections: Option<Connections> =
            default(&Connections::SHAPE, "machine.mpi.shared_queue_from"),
        /// Whose choices hold for `rendezvous` and `rendezvous_intra` where those are left out.
        library: Library = default(&Library::SHAPE, "plain"),
        /// How a message above the intra-node eager threshold moves: one scheme, or rules of which
        /// the first that fits decides.
        rendezvous_intra: Option<Node> = default(&cooperation::INTRA, "by `library`"),
        /// How processes of a node copy from each other.
        single_copy: SingleCopy = default(&SingleCopy::SHAPE, "cma"),
        /// What the schemes inside a node need to know.
        cooperation: Option<Node> = optional(&cooperation::SETTINGS),
        /// Into how many messages a partitioned send goes (docs/adr/0029).
        partitioned: Partitioned = default(&Partitioned::SHAPE, "each_partition"),
        /// NIC contexts of a process over which its communicators and windows are spread, as VCIs of MPICH 4
        /// are: each has matching queues and a lock of its own (docs/adr/0031).
        vcis: u16 = default(&Shape::Count { min: 1, max: MOST_VCIS }, "1"),
        /// Whether a thread that waits on one of several VCIs looks at all of them in one pass of 256; false
        /// as with `MPIR_CVAR_CH4_GLOBAL_PROGRESS=0`.
        global_progress: bool = default(&Shape::Flag, "true"),
        /// How windows work.
        rma: Option<Node> = optional(&one_sided::SETTINGS),
        /// Algorithms of collective operations.
        collectives: Option<Node> = optional(&statements::CHOICES),
        /// Who gets the library lock that several threads of a process wait for.
        lock: Lock = default(&Lock::SHAPE, "fair"),
    }
}

impl MpiForm {
    /// The choices that neither the machine nor other keys have a say in; the others as by default.
    pub fn options(&self) -> MpiOptions {
        MpiOptions {
            rendezvous: self.rendezvous.0,
            eager_inter: self.eager_threshold,
            eager_intra: self.eager_threshold_intra,
            payload: match self.payload {
                Payload::Phantom => memory::Payload::Phantom,
                Payload::Real => memory::Payload::Real,
            },
            partitioned: match self.partitioned {
                Partitioned::EachPartition => Grouping::Each,
                Partitioned::OneMessage => Grouping::One,
            },
            kernel: match self.single_copy {
                SingleCopy::Cma => Kernel::Cma,
                SingleCopy::Knem => Kernel::Knem,
                SingleCopy::Xpmem => Kernel::Xpmem,
            },
            lock: match self.lock {
                Lock::Fair => LockOrder::Fair,
                Lock::Unfair => LockOrder::Unfair,
            },
            ..MpiOptions::default()
        }
    }
}

/// A protocol between nodes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct BetweenNodes(pub Protocol);

impl BetweenNodes {
    const SHAPE: Shape = Shape::Word(Protocol::BETWEEN_NODES);
}

impl Value for BetweenNodes {
    fn read(node: &Node) -> Self {
        let found = node.text().and_then(Protocol::find);
        Self(found.expect("the tree was checked against its shape"))
    }
}

form::words! {
    /// Whether the bytes of messages exist.
    pub enum Payload {
        /// only sizes move
        Phantom = "phantom",
        /// bytes move and are compared at the end
        Real = "real",
    }
}

form::words! {
    /// How a process is connected to its peers.
    pub enum Connections {
        /// a channel and receive buffers for each peer
        PerPeer = "per_peer",
        /// one channel for all peers on other nodes
        SharedReceiveQueue = "shared_receive_queue",
    }
}

form::words! {
    /// A library whose choices hold.
    pub enum Library {
        /// large messages inside a node go through cells of a shared segment
        Plain = "plain",
        /// RPUT between nodes and inside a node, there by kernel copies
        Mvapich2 = "mvapich2-2.3",
        /// RGET inside a node by kernel copies, RPUT between nodes (assumed)
        OpenMpi = "openmpi-3.1",
    }
}

form::words! {
    /// How processes of a node copy from each other.
    pub enum SingleCopy {
        /// process_vm_readv and process_vm_writev: the copying side pins the other's pages
        Cma = "cma",
        /// the owner declares its buffer, which pins it
        Knem = "knem",
        /// the other's memory is mapped, with a fault at the first touch of each page
        Xpmem = "xpmem",
    }
}

form::words! {
    /// Into how many messages a partitioned send goes.
    pub enum Partitioned {
        /// a message for each partition of the sender, as in Open MPI 5
        EachPartition = "each_partition",
        /// one message, which leaves when the last partition is ready, as in MPICH 4.0
        OneMessage = "one_message",
    }
}

form::words! {
    /// The order of threads at the library lock.
    pub enum Lock {
        /// the library lock goes to the thread that waits longest
        Fair = "fair",
        /// the library lock goes to the thread that its line reaches first
        Unfair = "unfair",
    }
}
