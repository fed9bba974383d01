//! What programs call and what calls return: MPI's point-to-point operations.

use std::any::Any;
use std::sync::Arc;

pub use super::asked::{Asked, OfRequest};
use super::device::DeviceExchange;
pub use super::exchange::Exchange;
pub use super::partitioned::{OfPartitions, Partitioned};
use super::windows::call::RmaCall;
pub use calls::arguments::{Buffer, Comm, Outcome, Peer, Requests, SendMode, Status};
use calls::identity::Handle;
use calls::packing::Task;
use calls::rows::{Field, FieldMut, Fields};
use calls::space::Region;
use calls::typed::Elements;
use collectives::Collective;
use mpi::cartesian::Dimension;
use mpi::communicator::Comparison;
use mpi::envelope::Rank;
use mpi::operator::Reduction;
use mpi::topology::{Graph, Neighbours};

calls::rows! {
    /// One call of a program into the library; fields are the arguments of the MPI function.
    #[allow(missing_docs, reason = "argument names of MPI")]
    #[derive(Clone, Debug, Eq, Hash, PartialEq)]
    pub enum Call {
        /// `MPI_Isend`, `MPI_Issend`, `MPI_Ibsend`, `MPI_Irsend`.
        Isend {
            request: Handle as Opens,
            to: Peer as To,
            tag: i32 as Tag,
            comm: Comm as Over,
            buffer: Buffer as Reads,
            mode: SendMode,
        },
        /// `MPI_Send`, `MPI_Ssend`, `MPI_Bsend`, `MPI_Rsend`.
        Send {
            to: Peer as To,
            tag: i32 as Tag,
            comm: Comm as Over,
            buffer: Buffer as Reads,
            mode: SendMode,
        },
        /// `MPI_Irecv`; a `tag` of `None` is `MPI_ANY_TAG`.
        Irecv {
            request: Handle as Opens,
            source: Peer as From,
            tag: Option<i32> as AnyTag,
            comm: Comm as Over,
            buffer: Buffer as Fills,
        },
        /// `MPI_Recv`.
        Recv {
            source: Peer as From,
            tag: Option<i32> as AnyTag,
            comm: Comm as Over,
            buffer: Buffer as Fills,
        },
        /// `MPI_Wait`.
        Wait { request: Handle as Of },
        /// `MPI_Waitall`; `statuses: false` is `MPI_STATUSES_IGNORE`.
        WaitAll { requests: Requests as OfAll, statuses: bool },
        /// `MPI_Waitany`.
        WaitAny { requests: Requests as OfAll },
        /// `MPI_Test`.
        Test { request: Handle as Of },
        /// `MPI_Testall`.
        TestAll { requests: Requests as OfAll },
        /// `MPI_Waitsome`, `MPI_Testany`, `MPI_Testsome`.
        Ask { asks: Asked, requests: Requests as OfAll },
        /// `MPI_Request_get_status`, `MPI_Request_free`.
        OfRequest { does: OfRequest, request: Handle as Of },
        /// `MPI_Probe`.
        Probe { source: Peer as From, tag: Option<i32> as AnyTag, comm: Comm as Over },
        /// `MPI_Iprobe`.
        Iprobe { source: Peer as From, tag: Option<i32> as AnyTag, comm: Comm as Over },
        /// `MPI_Mprobe`; `message` names the handle for the matched receive.
        Mprobe {
            message: Handle as Message,
            source: Peer as From,
            tag: Option<i32> as AnyTag,
            comm: Comm as Over,
        },
        /// `MPI_Improbe`.
        Improbe {
            message: Handle as Message,
            source: Peer as From,
            tag: Option<i32> as AnyTag,
            comm: Comm as Over,
        },
        /// `MPI_Mrecv`.
        Mrecv { message: Handle as Message, buffer: Buffer as Fills },
        /// `MPI_Imrecv`.
        Imrecv { message: Handle as Message, request: Handle as Opens, buffer: Buffer as Fills },
        /// `MPI_Sendrecv` and its forms: with one buffer, and with a request.
        Exchange(Arc<Exchange> as Inside),
        /// `MPI_Cancel`.
        Cancel { request: Handle as Of },
        /// `MPI_Buffer_attach` of so many bytes, for buffered sends.
        AttachBuffer { bytes: u64 },
        /// `MPI_Buffer_detach`.
        DetachBuffer,
        /// `MPI_Barrier`.
        Barrier { comm: Comm as Over },
        /// The wait of `MPI_Finalize` for the requests that the program has freed.
        Finalize,
        /// `MPI_Init`, which a job has behind it: calling it again is an error.
        Init,
        /// `MPI_Comm_create_endpoints`: `count` handles, numbered from `first`; collective over `parent`.
        CreateEndpoints { parent: Comm as Over, count: u16, first: Comm as Makes },
        /// `MPI_Comm_free` of one endpoint's handle.
        FreeEndpoint { comm: Comm as Over },
        /// `MPI_Endpoint_attach`: the calling thread acts as this endpoint of a static job from now on.
        Attach { id: u16 },
        /// `MPI_Comm_compare`.
        Compare { a: Comm as Over, b: Comm as Other },
        /// `MPI_Comm_rank` and `MPI_Comm_size`.
        Place { comm: Comm as Over },
        /// `MPI_Comm_group` and `MPI_Comm_remote_group`: who is in the caller's group, and in the other one.
        Members { comm: Comm as Over },
        /// Communicators are made and freed.
        Communicators(CommCall as Inside),
        /// Any collective operation.
        Collective(Arc<Collective> as Inside),
        /// Any collective operation that begins now and ends with its request: `MPI_Iallreduce` and so on.
        Icollective { request: Handle as Opens, call: Arc<Collective> as Inside },
        /// `MPI_Reduce_local`.
        ReduceLocal(Arc<LocalReduction> as Inside),
        /// Any one-sided call.
        Rma(Arc<RmaCall> as Inside),
        /// `MPI_Send`, `MPI_Recv` or `MPI_Sendrecv` with buffers in GPU memory.
        Device(Arc<DeviceExchange> as Inside),
        /// A send or a receive of elements of a datatype: made by [`Self::typed`].
        Typed(Arc<TypedCall> as Inside),
        /// `MPI_Start` of the operation that was prepared for the request; `MPI_Startall` is one for each.
        Start { request: Handle as Opens, operation: Arc<Self> as Inside },
        /// `MPI_Send_init`, `MPI_Recv_init` and their like: the operation that its request will begin.
        Prepare(Arc<Self> as Inside),
        /// The operation of `MPI_Psend_init` or `MPI_Precv_init`: inside [`Self::Prepare`] and [`Self::Start`].
        Partitioned(Arc<Partitioned> as Inside),
        /// `MPI_Pready`, `MPI_Pready_range`, `MPI_Parrived`; a program names the thread whose request it is,
        /// where that is another one of its process.
        OfPartitions {
            does: OfPartitions,
            request: Handle as Of,
            first: u16,
            last: u16,
            thread: Option<u16>,
        },
    }
}

impl Call {
    /// The communicator that the call names; requests, messages and windows know theirs.
    pub fn comm(&self) -> Option<Comm> {
        if let Self::Rma(_) = self {
            return None;
        }
        self.first(|field| if let Field::Over(comm) = field { Some(*comm) } else { None })
    }

    /// The call that is started by this one: that of a request which was prepared for it, or itself.
    pub fn begun(&self) -> &Self {
        if let Self::Start { operation, .. } = self { operation } else { self }
    }

    /// The request that the call opens, or prepares.
    pub fn begins(&self) -> Option<Handle> {
        self.first(|field| if let Field::Opens(request) = field { Some(*request) } else { None })
    }

    /// The buffer of a message: that which a send reads, or a receive fills.
    pub fn buffer(&self) -> Option<Buffer> {
        self.first(|field| {
            let (Field::Reads(buffer) | Field::Fills(buffer)) = field else { return None };
            Some(*buffer)
        })
    }

    /// The sender that a receive or a probe names.
    pub fn source(&self) -> Option<Peer> {
        self.first(|field| if let Field::From(source) = field { Some(*source) } else { None })
    }
}

/// Elements of a process are combined with as many others: `into` becomes `from ∘ into`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct LocalReduction {
    /// The left operand.
    pub from: Region,
    /// The right operand, and the result.
    pub into: Region,
    /// Operator that combines two elements.
    pub reduction: Reduction,
}

calls::fields_of!(LocalReduction { from as Input, into as Output });

/// A send or a receive of elements of a datatype.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct TypedCall {
    /// The call; its buffer has as many bytes as are packed.
    pub call: Call,
    /// Elements in the buffer.
    pub elements: Arc<Elements>,
}

impl TypedCall {
    /// The program's buffer, and which way its bytes go; `None` of a call that has none.
    pub fn buffer(&self) -> Option<(Buffer, Task)> {
        self.call.first(|field| {
            if let Field::Reads(buffer) = field {
                return Some((*buffer, Task::Pack));
            }
            if let Field::Fills(buffer) = field { Some((*buffer, Task::Unpack)) } else { None }
        })
    }
}

calls::fields_of!(TypedCall { call as Inside });

impl Call {
    /// This send or receive with a buffer of these elements.
    #[must_use]
    pub fn typed(mut self, elements: &Arc<Elements>) -> Self {
        if let Self::Isend { buffer, .. }
        | Self::Send { buffer, .. }
        | Self::Irecv { buffer, .. }
        | Self::Recv { buffer, .. }
        | Self::Mrecv { buffer, .. }
        | Self::Imrecv { buffer, .. } = &mut self
        {
            buffer.bytes = elements.packed();
            let elements = Arc::clone(elements);
            return Self::Typed(Arc::new(TypedCall { call: self, elements }));
        }
        self
    }
}

/// The greatest tag of `MPI_Comm_create_group`.
/// Limit: tags of the library's own words have so many bits left.
pub const GROUP_TAG_MAX: i32 = (1 << 19) - 1;

/// How a leader reaches the leader of another group.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Over {
    /// A communicator of both.
    pub peer: Comm,
    /// The other one's rank in it.
    pub remote: Rank,
    /// The tag of what the caller says: 0 or more.
    pub says: i32,
    /// The tag of what it receives: 0 or more.
    pub hears: i32,
}

calls::fields_of!(Over { peer as Other });

/// How the ranks of a new communicator are neighbours.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Arrangement {
    /// The first ranks of the parent stand in this grid.
    Grid(Arc<[Dimension]>),
    /// They stand in the parts of the parent's grid that keep these dimensions.
    Subgrid(Arc<[bool]>),
    /// The caller has these neighbours.
    Graph(Neighbours),
    /// The first ranks of the parent are the nodes of a graph that all know.
    Whole(Graph),
    /// Each rank names some edges of the graph.
    Named(Arc<NamedEdges>),
}

/// Edges of a graph that one rank names: from each source to the next so many destinations.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct NamedEdges {
    /// Ranks from which edges lead.
    pub sources: Box<[Rank]>,
    /// How many lead from each.
    pub degrees: Box<[u32]>,
    /// Where they lead to, for one source after the other.
    pub destinations: Box<[Rank]>,
}

impl NamedEdges {
    /// Each edge, from one rank to another.
    pub fn edges(&self) -> impl Iterator<Item = (Rank, Rank)> {
        let many = self.sources.iter().zip(&self.degrees);
        let from = many.flat_map(|(from, degree)| std::iter::repeat_n(*from, *degree as usize));
        from.zip(self.destinations.iter().copied())
    }
}

/// No question is about an arrangement; its lists of ranks have names.
impl Fields for Arrangement {
    fn fields<'a>(&'a self, _: &mut impl FnMut(Field<'a>)) {}

    fn fields_mut<'a>(&'a mut self, _: &mut impl FnMut(FieldMut<'a>)) {}

    fn named(&mut self, name: &str) -> Option<&mut dyn Any> {
        match (self, name) {
            (Self::Graph(edges), "sources") => Some(&mut edges.sources),
            (Self::Graph(edges), "destinations") => Some(&mut edges.destinations),
            (Self::Named(edges), "sources") => Some(&mut Arc::make_mut(edges).sources),
            (Self::Named(edges), "destinations") => Some(&mut Arc::make_mut(edges).destinations),
            _ => None,
        }
    }
}

impl Arrangement {
    /// The name of the MPI function.
    pub const fn function(&self) -> &'static str {
        match self {
            Self::Grid(_) => "MPI_Cart_create",
            Self::Subgrid(_) => "MPI_Cart_sub",
            Self::Graph(_) => "MPI_Dist_graph_create_adjacent",
            Self::Whole(_) => "MPI_Graph_create",
            Self::Named(_) => "MPI_Dist_graph_create",
        }
    }
}

calls::rows! {
    /// A call that makes or frees a communicator of processes; `new` is the caller's number for it.
    #[allow(missing_docs, reason = "argument names of MPI")]
    #[derive(Clone, Debug, Eq, Hash, PartialEq)]
    pub enum CommCall {
        /// `MPI_Comm_dup`.
        Dup { comm: Comm as Over, new: Comm as Makes },
        /// `MPI_Comm_idup`: `new` is there when the request is complete.
        Idup { comm: Comm as Over, new: Comm as Makes, request: Handle as Opens },
        /// `MPI_Comm_split`; a `color` of `None` is `MPI_UNDEFINED`: then `new` stays free.
        Split { comm: Comm as Over, color: Option<i32>, key: i32, new: Comm as Makes },
        /// `MPI_Comm_split_type` by `MPI_COMM_TYPE_SHARED`: those whose memory a window can share. `takes_part`
        /// is false where the caller says `MPI_UNDEFINED`.
        SplitShared { comm: Comm as Over, takes_part: bool, key: i32, new: Comm as Makes },
        /// `MPI_Comm_create`: all ranks of `comm` call it, each with the group that it is in; `new` stays free at
        /// those that are not in theirs.
        Create { comm: Comm as Over, group: Arc<[Rank]>, new: Comm as Makes },
        /// `MPI_Comm_create_group`: called by the members of the group only, which are these ranks of
        /// `comm` in the order of their new ranks; `tag` keeps creations from one `comm` apart.
        CreateGroup { comm: Comm as Over, group: Arc<[Rank]>, tag: i32, new: Comm as Makes },
        /// A communicator with a topology: `MPI_Cart_create`, `MPI_Cart_sub`, `MPI_Graph_create`,
        /// `MPI_Dist_graph_create_adjacent`, `MPI_Dist_graph_create`.
        Arrange { comm: Comm as Over, by: Arrangement as Inside, new: Comm as Makes },
        /// `MPI_Intercomm_create`; `peer`, `remote_leader` and `tag` matter at the leader only.
        Intercomm {
            comm: Comm as Over,
            leader: Rank,
            peer: Comm as Other,
            remote_leader: Rank,
            tag: i32,
            new: Comm as Makes,
        },
        /// `MPI_Intercomm_merge` of the intercommunicator `comm`.
        Merge { comm: Comm as Over, high: bool, new: Comm as Makes },
        /// `MPI_Comm_free`.
        Free { comm: Comm as Over },
        /// The exchange of two groups that `MPI_Intercomm_create` begins with, of numbers that the caller
        /// itself reads; `over` is the way to the other leader, for the leader. All ranks get what the
        /// other leader says.
        Couple { comm: Comm as Over, leader: Rank, over: Option<Over> as Inside, own: Arc<[u32]> },
        /// `MPI_Allgather` of numbers that the caller itself reads, as many of each rank. They travel in
        /// headers, so that they exist where payload does not. On an intercommunicator all of both sides
        /// send and receive, the side first whose rank 0 is the lower process.
        Numbers { comm: Comm as Over, own: Arc<[u32]> },
    }
}

impl CommCall {
    /// The communicator that the call names.
    ///
    /// # Panics
    ///
    /// Never: each row names one.
    pub fn comm(&self) -> Comm {
        let comm =
            self.first(|field| if let Field::Over(comm) = field { Some(*comm) } else { None });
        comm.expect("each row has a communicator")
    }

    /// The communicator that the caller has by it, and is to free.
    pub fn makes(&self) -> Option<Comm> {
        let stays_out = matches!(
            self,
            Self::Split { color: None, .. } | Self::SplitShared { takes_part: false, .. }
        ) || matches!(self, Self::Create { group, .. } if group.is_empty());
        let made = |field| if let Field::Makes(new) = field { Some(*new) } else { None };
        if stays_out { None } else { self.first(made) }
    }

    /// The name of the MPI function.
    pub const fn function(&self) -> &'static str {
        match self {
            Self::Dup { .. } => "MPI_Comm_dup",
            Self::Idup { .. } => "MPI_Comm_idup",
            Self::Split { .. } => "MPI_Comm_split",
            Self::SplitShared { .. } => "MPI_Comm_split_type",
            Self::Create { .. } => "MPI_Comm_create",
            Self::Arrange { by, .. } => by.function(),
            Self::CreateGroup { .. } => "MPI_Comm_create_group",
            Self::Intercomm { .. } | Self::Couple { .. } => "MPI_Intercomm_create",
            Self::Merge { .. } => "MPI_Intercomm_merge",
            Self::Free { .. } => "MPI_Comm_free",
            Self::Numbers { .. } => "MPI_Allgather",
        }
    }
}

/// Return value of a call.
#[allow(missing_docs, reason = "named as MPI names them")]
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Reply {
    /// Nothing: `MPI_Isend`, `MPI_Irecv`, `MPI_Cancel`, collectives and what begins one,
    /// `MPI_Waitall` without statuses.
    Done,
    /// `MPI_Wait`, `MPI_Send`, `MPI_Recv`, `MPI_Mrecv`; of `MPI_Sendrecv` that of its receive.
    Outcome(Outcome),
    /// `MPI_Waitall`, in the order of its requests.
    All(Box<[Outcome]>),
    /// `MPI_Waitany`: which of its requests, and how it ended.
    Any { index: u32, outcome: Outcome },
    /// `MPI_Test`, `MPI_Request_get_status`: `None` is a false flag.
    Tested(Option<Outcome>),
    /// `MPI_Testall`: `None` is a false flag.
    AllTested(Option<Box<[Outcome]>>),
    /// `MPI_Testany`: which of its requests, and how it ended; `None` is a false flag.
    AnyTested(Option<(u32, Outcome)>),
    /// `MPI_Waitsome`, `MPI_Testsome`: which of its requests have ended, in their order, and how.
    Some(Box<[(u32, Outcome)]>),
    /// `MPI_Probe`, `MPI_Mprobe` (always some), `MPI_Iprobe`, `MPI_Improbe` (`None` is a false flag).
    Probed(Option<Status>),
    /// `MPI_Comm_compare`.
    Compared(Comparison),
    /// `MPI_Win_test`, `MPI_Parrived`.
    Flag(bool),
    /// `MPI_Win_shared_query`: where the part lies, and the bytes of a displacement there.
    Part(Region, u64),
    /// The numbers of all ranks, by rank; of `MPI_Comm_rank` and `MPI_Comm_size` the rank and the size; of
    /// `MPI_Comm_group` the size, the processes of the group, and those of the other one.
    Numbers(Box<[u32]>),
}
