//! Endpoints: several ranks of one process, and what they share of it.
//!
//! ```text
//!   create   agree on a context and all counts ─▶ one table of ranks, a handle for each endpoint
//!   act      handle (or the thread's attached endpoint) ─▶ rank, lane, queue, library lock
//!   free     each handle once; the last one of a process ─▶ agree with all other processes
//! ```
//!
//! Here is the table: a process has one from its first endpoint on. `lanes.rs` says what a rank uses,
//! `agreements.rs` how processes agree.
//!
//! Source: `endpoints` Sec. 3.1 (static), 3.2 (dynamic), 3.3 (attach), 3.4 (progress), 4.1 to 4.3.
//! Left out: endpoints of endpoints (the parent is a communicator of processes). A wait for requests
//! of several endpoints polls all lanes under the process's first lock only. Noticeable in programs
//! that wait for several endpoints in one call.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::lanes::Caller;
use super::{Job, Process, Thread};
use crate::call::Comm;
use mpi::communicator::Comparison;
use mpi::endpoints::EndpointGroup;
use mpi::envelope::{Context, Rank, Selection};

/// A communicator of endpoints.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct EndpointComm {
    context: Context,
    internal: Context,
    group: Arc<EndpointGroup>,
    parent: Comm,
    /// This process's rank in the parent.
    parent_rank: Rank,
    /// Handles of this process that are not freed yet.
    open: u16,
}

/// One endpoint of this process.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Own {
    context: Context,
    local: u16,
    /// Its name for life: no other endpoint of the process ever has it.
    id: u32,
}

/// The endpoints of one process.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct EndpointTable {
    comms: BTreeMap<Context, EndpointComm>,
    handles: BTreeMap<Comm, Own>,
    /// The most endpoints that one communicator has here.
    locals: u16,
    next_id: u32,
    /// Static jobs: the endpoint of each thread.
    attached: Option<Vec<Option<u16>>>,
}

/// The rank of a thread in a communicator, and the contexts of its messages.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Member {
    pub(super) context: Context,
    pub(super) internal: Context,
    pub(super) rank: Rank,
    pub(super) size: u32,
    pub(super) caller: Caller,
}

/// An endpoint that its process has freed.
pub(super) enum Freed {
    /// Other endpoints of this process are in use in its communicator.
    One,
    /// All of this process: those with endpoints agree that the communicator is gone.
    Last {
        /// The communicator's context.
        context: Context,
        /// The communicator that the endpoints were made from.
        parent: Comm,
        /// The ranks of the parent that have endpoints, and the place of this process among them.
        owners: (Arc<[Rank]>, Rank),
    },
}

impl EndpointTable {
    /// A process before its first endpoint.
    pub(super) fn new() -> Self {
        Self {
            comms: BTreeMap::new(),
            handles: BTreeMap::new(),
            locals: 0,
            next_id: 0,
            attached: None,
        }
    }

    /// The endpoints of a process whose job has them from its start.
    pub(super) fn at_start(job: &Job, me: Process, threads: usize) -> Option<Self> {
        let counts = job.endpoints.at_start.as_ref()?;
        let processes = (0..).take(counts.len()).collect();
        let group = EndpointGroup::new(counts.iter().copied(), processes);
        let group = Arc::new(group.expect("a job has ranks"));
        let world = job.communicators.get(0).expect("every job has a world");
        let mut table = Self::new();
        table.open(world.context, Comm(0), Rank(me.0), group, counts[me.0 as usize]);
        table.attached = Some(vec![None; threads]);
        Some(table)
    }

    fn open(
        &mut self,
        context: Context,
        parent: Comm,
        parent_rank: Rank,
        group: Arc<EndpointGroup>,
        open: u16,
    ) {
        let internal = Context(context.0 + 1);
        let comm = EndpointComm { context, internal, group, parent, parent_rank, open };
        self.comms.insert(context, comm);
        self.locals = self.locals.max(open);
    }

    /// All processes have sent their counts: this one has `count` endpoints, with handles from `first`
    /// on.
    pub(super) fn create(
        &mut self,
        context: Context,
        (parent, parent_rank): (Comm, Rank),
        group: Arc<EndpointGroup>,
        (first, count): (Comm, u16),
    ) {
        self.open(context, parent, parent_rank, group, count);
        for local in 0..count {
            let own = Own { context, local, id: self.next_id };
            self.next_id += 1;
            self.handles.insert(Comm(first.0 + local), own);
        }
    }

    /// The most endpoints that one communicator has here.
    pub(super) const fn locals(&self) -> u16 {
        self.locals
    }

    /// The name of the next endpoint.
    pub(super) const fn next_id(&self) -> u32 {
        self.next_id
    }

    /// Whether the job has endpoints from its start, to which threads attach.
    pub(super) const fn is_static(&self) -> bool {
        self.attached.is_some()
    }

    /// Whether no communicator of endpoints is in use.
    pub(super) fn is_empty(&self) -> bool {
        self.comms.is_empty()
    }

    /// Which endpoint of the process `comm` means when `thread` names it.
    pub(super) fn local(&self, thread: Thread, comm: Comm) -> Option<u16> {
        self.own(thread, comm).map(|(_, local)| local)
    }

    /// The endpoint that `comm` means when `thread` names it.
    fn own(&self, thread: Thread, comm: Comm) -> Option<(&EndpointComm, u16)> {
        if comm.0 == 0
            && let Some(attached) = &self.attached
        {
            let local = attached[usize::from(thread.0)]?;
            return Some((self.comms.values().next()?, local));
        }
        let own = self.handles.get(&comm)?;
        Some((&self.comms[&own.context], own.local))
    }

    /// Whether a communicator is an endpoint's when `thread` names it.
    pub(super) fn is_endpoint(&self, thread: Thread, comm: Comm) -> bool {
        self.own(thread, comm).is_some()
    }

    /// A thread as a member of a communicator of endpoints.
    pub(super) fn member(&self, thread: Thread, comm: Comm) -> Option<Member> {
        let (own, local) = self.own(thread, comm)?;
        let rank = own.group.rank(own.parent_rank, local);
        Some(Member {
            context: own.context,
            internal: own.internal,
            rank: rank.expect("handles are made for ranks that exist"),
            size: own.group.size(),
            caller: Caller::Endpoint(local),
        })
    }

    /// The process of a rank of a communicator of endpoints, and which endpoint there it is.
    pub(super) fn locate(&self, context: Context, rank: Rank) -> Option<(Process, Caller)> {
        let (process, local) = self.comms[&context].group.locate(rank)?;
        Some((Process(process), Caller::Endpoint(local)))
    }

    /// The endpoint that a message with this context and destination is for; `None`: the process.
    pub(super) fn receiver(&self, context: Context, dest: Rank) -> Option<u16> {
        // Internal contexts stand right behind those of the program.
        let comm = self.comms.range(..=context).next_back()?.1;
        let named = comm.context == context || comm.internal == context;
        named.then(|| comm.group.parent(dest)).flatten().map(|(_, local)| local)
    }

    /// The processes that could send what is selected in a communicator of endpoints.
    pub(super) fn sources(&self, selection: &Selection) -> Option<Vec<Process>> {
        let mut comms = self.comms.values();
        let comm = comms.find(|comm| [comm.context, comm.internal].contains(&selection.context))?;
        Some(match selection.source {
            Some(rank) => {
                comm.group.locate(rank).map(|(process, _)| Process(process)).into_iter().collect()
            }
            None => comm.group.processes().iter().map(|&process| Process(process)).collect(),
        })
    }

    /// Frees the handle of an endpoint; `None` where there is none. With `at_first` the first endpoint
    /// of a process that is freed counts as its last.
    pub(super) fn free(&mut self, handle: Comm, at_first: bool) -> Option<Freed> {
        let context = self.handles.remove(&handle)?.context;
        let comm = self.comms.get_mut(&context).expect("a handle has a communicator");
        comm.open -= 1;
        if comm.open > 0 && !at_first {
            return Some(Freed::One);
        }
        // Processes without endpoints have nothing to free.
        let owners: Arc<[Rank]> = comm.group.owners().collect();
        let place = owners.binary_search(&comm.parent_rank).expect("this process has endpoints");
        let place = Rank(u32::try_from(place).expect("parents are ranks"));
        Some(Freed::Last { context, parent: comm.parent, owners: (owners, place) })
    }

    /// All processes have freed their endpoints of a communicator.
    pub(super) fn close(&mut self, context: Context) {
        self.comms.remove(&context);
    }

    /// `MPI_Endpoint_attach`: the thread acts as endpoint `id` in the world; `Err` says why not.
    pub(super) fn attach(&mut self, thread: Thread, id: u16) -> Result<(), String> {
        let locals = self.locals;
        if id >= locals {
            return Err(format!("the process has {locals} endpoints, numbered from 0"));
        }
        let attached = self.attached.as_mut().expect("a job with endpoints from its start");
        attached[usize::from(thread.0)] = Some(id);
        Ok(())
    }

    /// How two communicators compare when `thread` names them; `None` where neither is an endpoint's.
    pub(super) fn compare(&self, thread: Thread, a: Comm, b: Comm) -> Option<Comparison> {
        match (self.own(thread, a), self.own(thread, b)) {
            (None, None) => None,
            (Some((one, local)), Some((other, second))) if one.context == other.context => {
                Some(if local == second { Comparison::Ident } else { Comparison::Aliased })
            }
            // Endpoints that were made apart are different members.
            (Some(_), Some(_) | None) | (None, Some(_)) => Some(Comparison::Unequal),
        }
    }

    /// Whether a communicator is the handle of an endpoint.
    pub(super) fn has(&self, comm: Comm) -> bool {
        self.handles.contains_key(&comm)
    }

    /// Handles that the program has not freed.
    pub(super) fn open_ends(&self) -> impl Iterator<Item = String> + '_ {
        self.handles.iter().map(|(handle, own)| {
            format!("endpoint {} (communicator {}) was never freed", own.id, handle.0)
        })
    }
}

#[cfg(feature = "mutants")]
impl EndpointTable {
    /// Frees a handle whose communicator is gone; false where that is there.
    pub(super) fn free_orphan(&mut self, handle: Comm) -> bool {
        let gone = |own: &Own| !self.comms.contains_key(&own.context);
        let orphan = self.handles.get(&handle).is_some_and(gone);
        orphan && self.handles.remove(&handle).is_some()
    }

    /// The name of the newest endpoint is free again.
    pub(super) fn give_name_back(&mut self) {
        self.next_id -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Call;
    use crate::contract::{Input, Machine as _};
    use crate::job::{Endpoints, SharedJob};
    use crate::library::Library;
    use crate::partitioned::Grouping;
    use crate::rendezvous::Protocol;
    use mpi::communicator::Communicators;
    use units::Bytes;

    fn alone() -> Library {
        let job = Job {
            communicators: Communicators::standard(1),
            node_of: vec![0],
            threads: vec![1],
            endpoints: Endpoints::default(),
            rendezvous: Protocol::RPut,
            cooperation: crate::rendezvous::Cooperation::default(),
            eager_inter: Bytes::new(8),
            eager_intra: Bytes::new(8),
            header: Bytes::new(8),
            control: Bytes::new(8),
            cell: Bytes::new(8),
            cells: 1,
            adapters: false,
            partitioned: Grouping::default(),
            vcis: crate::job::Vcis::default(),
            rma: crate::rma::Settings::default(),
        };
        Library::new(SharedJob::new(job), Process(0))
    }

    /// claim: ep-sem-map-shared
    #[test]
    fn the_endpoints_of_one_call_share_one_table_of_ranks() {
        let mut library = alone();
        let create =
            |first| Call::CreateEndpoints { parent: Comm(0), count: 100, first: Comm(first) };
        for first in [100, 200] {
            library.handle(Thread(0), Input::Call(create(first)), &mut Vec::new()).unwrap();
        }
        let table = library.messages.communicators().endpoints().unwrap();
        assert_eq!(table.handles.len(), 200);
        assert_eq!(table.comms.len(), 2, "one table a call");
        for comm in table.comms.values() {
            assert_eq!(Arc::strong_count(&comm.group), 1, "and one copy of it");
            assert_eq!(comm.group.size(), 100);
        }
    }
}
