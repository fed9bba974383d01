//! Endpoints: several ranks of one process, and what they share of it.
//!
//! ```text
//!   create   agree on a context and all counts ─▶ one table of ranks, a handle for each endpoint
//!   act      handle (or the thread's attached endpoint) ─▶ rank, lane, queue, guard
//!   free     each handle once; the last one of a process ─▶ agree with all other processes
//! ```
//!
//! Source: `endpoints` Sec. 3.1 (static), 3.2 (dynamic), 3.3 (attach), 3.4 (progress), 4.1 to 4.3.
//! Left out: endpoints of endpoints (the parent is a communicator of processes). A wait for requests
//! of several endpoints polls all lanes under the process's first lock only. Noticeable in programs
//! that wait for several endpoints in one call.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::agreeing::{Agreeing, Purpose};
use super::collective::tell;
use super::{
    Action, Guard, Job, Key, Lanes, Library, LibraryAction, MatchingEngine, Process, ProtocolError,
    Reply, Route, Thread, push_return, push_walk,
};
use crate::call::{Call, Comm, Requests};
use crate::collectives::agreement::Agreement;
use crate::contract::{Emit, Lane, Step};
use crate::job::{Endpoints, Progress, Queues, Threading};
#[cfg(feature = "mutants")]
use crate::mutant::Mutant;
use mpi::communicator::Comparison;
use mpi::endpoints::EndpointGroup;
use mpi::envelope::{Context, Envelope, Rank, Selection};
use mpi::observation::{GroupFact, GroupId};

/// As whom a thread acts in a call.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub(super) enum Caller {
    /// As the process, in a communicator of processes.
    #[default]
    Process,
    /// As this endpoint of the process.
    Endpoint(u16),
    /// As several of them.
    Several,
}

impl Endpoints {
    fn lane_count(&self) -> u16 {
        self.lanes.max(1)
    }

    /// The lane of an endpoint.
    pub(super) fn lane(&self, caller: Caller) -> Lane {
        match caller {
            Caller::Process | Caller::Several => Lane(0),
            Caller::Endpoint(local) => Lane(local % self.lane_count()),
        }
    }

    fn queue(&self, local: Option<u16>) -> usize {
        match (self.queues, local) {
            (Queues::Shared, _) | (Queues::Own, None) => 0,
            (Queues::Own, Some(local)) => 1 + usize::from(local),
        }
    }

    /// Matching engines of a process with these endpoints.
    pub(super) fn queues_of(&self, table: &EndpointTable) -> usize {
        1 + self.queue(table.locals.checked_sub(1))
    }

    /// What a caller polls.
    fn polled(&self, caller: Caller) -> Lanes {
        let all = Lanes { first: Lane(0), count: self.lane_count() };
        match (self.progress, caller) {
            (Progress::Process, _) | (_, Caller::Several) => all,
            (Progress::Independent, caller) => Lanes::one(self.lane(caller)),
        }
    }

    /// The lock of what a caller uses, in a process with `locals` endpoints; none where nobody
    /// else uses it.
    fn guard(&self, caller: Caller, locals: u16) -> Option<Guard> {
        let shared = self.progress == Progress::Process || self.queues == Queues::Shared;
        let Caller::Endpoint(_) = caller else { return Some(Guard(0)) };
        if shared {
            return Some(Guard(0));
        }
        let alone = locals <= self.lane_count();
        let lockless = alone && self.threading == Threading::One;
        (!lockless).then(|| Guard(self.lane(caller).0))
    }
}

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
    pub(super) next_id: u32,
    /// Static jobs: the endpoint of each thread.
    attached: Option<Vec<Option<u16>>>,
    /// As whom each thread made its last call.
    current: Vec<Caller>,
    /// The word that each thread's inner receive brought.
    heard: Vec<u64>,
}

/// As whom, and where, a thread speaks in a communicator.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Member {
    pub(super) context: Context,
    pub(super) internal: Context,
    pub(super) rank: Rank,
    pub(super) size: u32,
    pub(super) caller: Caller,
}

impl EndpointTable {
    pub(super) fn new(job: &Job, me: Process, threads: usize) -> Self {
        let mut table = Self {
            comms: BTreeMap::new(),
            handles: BTreeMap::new(),
            locals: 0,
            next_id: 0,
            attached: None,
            current: vec![Caller::Process; threads],
            heard: vec![0; threads],
        };
        if let Some(counts) = &job.endpoints.at_start {
            let processes = (0..).take(counts.len()).collect();
            let group = EndpointGroup::new(counts.iter().copied(), processes);
            let group = Arc::new(group.expect("a job has ranks"));
            let world = job.communicators.get(0).expect("every job has a world");
            table.open(world.context.0, Comm(0), Rank(me.0), group, counts[me.0 as usize]);
            table.attached = Some(vec![None; threads]);
        }
        table
    }

    fn open(
        &mut self,
        context: u32,
        parent: Comm,
        parent_rank: Rank,
        group: Arc<EndpointGroup>,
        open: u16,
    ) {
        let (context, internal) = (Context(context), Context(context + 1));
        let comm = EndpointComm { context, internal, group, parent, parent_rank, open };
        self.comms.insert(context, comm);
        self.locals = self.locals.max(open);
    }

    /// As whom `thread` acts now.
    pub(super) fn current(&self, thread: Thread) -> Caller {
        self.current[usize::from(thread.0)]
    }

    /// The word of a message of the library's own, where a thread waits for one.
    pub(super) fn hear(&mut self, key: Key, word: u64) {
        if let Key::Inner(thread) = key {
            self.heard[usize::from(thread.0)] = word;
        }
    }

    /// The endpoint that `comm` means when `thread` says it.
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

    /// The endpoint that a message with this envelope is for; `None`: the process.
    fn receiver(&self, context: Context, dest: Rank) -> Option<u16> {
        if self.comms.is_empty() {
            return None;
        }
        // Internal contexts stand right behind those of the program.
        let comm = self.comms.range(..=context).next_back()?.1;
        let named = comm.context == context || comm.internal == context;
        named.then(|| comm.group.parent(dest)).flatten().map(|(_, local)| local)
    }

    /// The word that a thread's inner receive brought.
    pub(super) fn heard(&self, thread: Thread) -> u64 {
        self.heard[usize::from(thread.0)]
    }

    /// All processes have freed their endpoints of a communicator.
    pub(super) fn close(&mut self, context: Context) {
        self.comms.remove(&context);
    }

    /// Frees a handle whose communicator is gone; false where that is there.
    #[cfg(feature = "mutants")]
    pub(super) fn free_orphan(&mut self, handle: Comm) -> bool {
        let gone = |own: &Own| !self.comms.contains_key(&own.context);
        let orphan = self.handles.get(&handle).is_some_and(gone);
        orphan && self.handles.remove(&handle).is_some()
    }

    /// Whether a communicator is the handle of an endpoint.
    pub(super) fn has(&self, comm: Comm) -> bool {
        self.handles.contains_key(&comm)
    }

    /// Handles that nobody freed.
    pub(super) fn open_ends(&self) -> impl Iterator<Item = String> + '_ {
        self.handles.iter().map(|(handle, own)| {
            format!("endpoint {} (communicator {}) was never freed", own.id, handle.0)
        })
    }
}

impl Library {
    /// Whether a communicator is an endpoint's when `thread` says it.
    pub(super) fn is_endpoint(&self, thread: Thread, comm: Comm) -> bool {
        self.endpoints.own(thread, comm).is_some()
    }

    /// Notes as whom the thread acts in this call.
    pub(super) fn enter_endpoint(
        &mut self,
        thread: Thread,
        call: &Call,
        out: &mut Vec<LibraryAction>,
    ) {
        if self.endpoints.comms.is_empty() {
            return;
        }
        let caller = self.caller(thread, call);
        self.endpoints.current[usize::from(thread.0)] = caller;
        if self.endpoints.attached.is_some() && !matches!(call, Call::Attach { .. }) {
            out.emit(|| Action::Work(Step::Lookup));
        }
    }

    /// As whom `thread` makes this call.
    pub(super) fn caller(&self, thread: Thread, call: &Call) -> Caller {
        let table = &self.endpoints;
        if table.comms.is_empty() {
            return Caller::Process;
        }
        let request = |key| self.requests.get(key).map_or(Caller::Process, |open| open.endpoint);
        match call {
            Call::Init
            | Call::AttachBuffer { .. }
            | Call::DetachBuffer
            | Call::Communicators(_)
            | Call::FreeEndpoint { .. }
            | Call::Attach { .. }
            | Call::Rma(_)
            | Call::CreateEndpoints { .. } => Caller::Process,
            Call::Wait { request: handle }
            | Call::Test { request: handle }
            | Call::Cancel { request: handle } => request(Key::User(*handle)),
            Call::WaitAll { requests, .. }
            | Call::WaitAny { requests }
            | Call::TestAll { requests } => self.caller_of(requests),
            Call::Mrecv { message, .. } | Call::Imrecv { message, .. } => {
                let mut probed = self.probed.iter();
                let found = probed.find(|(handle, ..)| handle == message);
                found.map_or(Caller::Process, |(.., caller)| *caller)
            }
            Call::Typed(typed) => self.caller(thread, &typed.call),
            Call::Isend { .. }
            | Call::Send { .. }
            | Call::Irecv { .. }
            | Call::Recv { .. }
            | Call::Probe { .. }
            | Call::Iprobe { .. }
            | Call::Mprobe { .. }
            | Call::Improbe { .. }
            | Call::Barrier { .. }
            | Call::Collective(_)
            | Call::Icollective { .. }
            | Call::Device(_)
            | Call::Compare { .. } => {
                let own = call.comm().and_then(|comm| table.own(thread, comm));
                own.map_or(Caller::Process, |(_, local)| Caller::Endpoint(local))
            }
        }
    }

    fn caller_of(&self, requests: &Requests) -> Caller {
        let keys = (0..requests.len()).map(|index| Key::User(requests.at(index)));
        let mut callers = keys.filter_map(|key| self.requests.get(key)).map(|open| open.endpoint);
        let Some(first) = callers.next() else { return Caller::Process };
        if callers.all(|caller| caller == first) { first } else { Caller::Several }
    }

    pub(super) fn guard_of(&self, caller: Caller) -> Option<Guard> {
        self.job.endpoints.guard(caller, self.endpoints.locals)
    }

    #[inline]
    pub(super) fn polled_by(&self, thread: Thread) -> Lanes {
        let caller = self.endpoints.current(thread);
        self.job.endpoints.polled(caller)
    }

    /// The queues in which a message of this context to this rank is matched.
    pub(super) fn queue(&self, context: Context, dest: Rank) -> usize {
        self.job.endpoints.queue(self.endpoints.receiver(context, dest))
    }

    /// The thread's rank in a communicator.
    pub(super) fn member(&self, thread: Thread, comm: Comm) -> Result<Member, ProtocolError> {
        if let Some((own, local)) = self.endpoints.own(thread, comm) {
            let rank = own.group.rank(own.parent_rank, local);
            return Ok(Member {
                context: own.context,
                internal: own.internal,
                rank: rank.expect("handles are made for ranks that exist"),
                size: own.group.size(),
                caller: Caller::Endpoint(local),
            });
        }
        if self.endpoints.attached.is_some() {
            return Err(self.refuse("the thread is attached to no endpoint", comm));
        }
        let communicator = self.communicator(comm)?;
        let rank = communicator.rank(self.me.0);
        let rank = rank.ok_or_else(|| self.refuse("not a member of the communicator", comm))?;
        let (context, internal) = (communicator.context, communicator.internal);
        Ok(Member { context, internal, rank, size: communicator.size(), caller: Caller::Process })
    }

    /// The way to a rank of a communicator.
    pub(super) fn route(
        &self,
        comm: Comm,
        member: &Member,
        dest: Rank,
    ) -> Result<Route, ProtocolError> {
        let own = self.job.endpoints.lane(member.caller);
        let nobody = || self.refuse("the communicator has no such rank", dest);
        if let Caller::Endpoint(_) = member.caller {
            let group = &self.endpoints.comms[&member.context].group;
            let (peer, local) = group.locate(dest).ok_or_else(nobody)?;
            let remote = self.job.endpoints.lane(Caller::Endpoint(local));
            return Ok(Route { peer: Process(peer), own, remote });
        }
        let peer = self.communicator(comm)?.process(dest).ok_or_else(nobody)?;
        Ok(Route { own, ..Route::to(Process(peer)) })
    }

    /// The processes that could send what is selected in a communicator of endpoints.
    pub(super) fn endpoint_sources(&self, selection: &Selection) -> Option<Vec<Process>> {
        let mut comms = self.endpoints.comms.values();
        let comm = comms.find(|comm| [comm.context, comm.internal].contains(&selection.context))?;
        Some(match selection.source {
            Some(rank) => {
                comm.group.locate(rank).map(|(process, _)| Process(process)).into_iter().collect()
            }
            None => comm.group.processes().iter().map(|&process| Process(process)).collect(),
        })
    }

    pub(super) fn create_endpoints(
        &mut self,
        thread: Thread,
        parent: Comm,
        count: u16,
        first: Comm,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.emit(|| Action::Work(Step::Query));
        if self.endpoints.attached.is_some() {
            return Err(self.refuse("the endpoints of a static job are made at its start", parent));
        }
        if count == 0 && !self.job.endpoints.allow_none {
            return Err(self.refuse("a process makes at least one endpoint", count));
        }
        self.check_new(first, count)?;
        let member = self.member(thread, parent)?;
        if member.caller != Caller::Process {
            return Err(self.refuse("endpoints are made from a communicator of processes", parent));
        }
        let context = self.offer_context(member.rank)?;
        let agreement = Agreement::new(member.rank, member.size, context, Some(count));
        let purpose = Purpose::Create { first, count };
        self.agree(thread, Agreeing::of_all(parent, agreement, purpose), out)
    }

    pub(super) fn free_endpoint(
        &mut self,
        thread: Thread,
        comm: Comm,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.emit(|| Action::Work(Step::Query));
        let Some(own) = self.endpoints.handles.remove(&comm) else {
            return Err(self.refuse("no endpoint has this handle: it may be freed already", comm));
        };
        let context = own.context;
        let open = self.endpoints.comms.get_mut(&context).expect("a handle has a communicator");
        open.open -= 1;
        let left = open.open;
        #[cfg(feature = "mutants")]
        let left = if self.job.has(Mutant::FreesFirst) { 0 } else { left };
        if left > 0 {
            // Others of this process are still in use: nobody outside is told.
            push_return(thread, Reply::Done, out);
            return Ok(());
        }
        let (parent, me) = (open.parent, open.parent_rank);
        // Processes without endpoints have nothing to free.
        let among: Arc<[Rank]> = open.group.owners().collect();
        let place = among.binary_search(&me).expect("this process has endpoints");
        let number = |count: usize| u32::try_from(count).expect("parents are ranks");
        let agreement = Agreement::new(Rank(number(place)), number(among.len()), 0, None);
        let purpose = Purpose::Free { context };
        self.agree(thread, Agreeing::among(parent, agreement, among, purpose), out)
    }

    /// All processes of the parent have told their counts.
    pub(super) fn created(
        &mut self,
        agreeing: &Agreeing,
        first: Comm,
        count: u16,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let parent = self.communicator(agreeing.parent)?;
        let parent_rank = parent.rank(self.me.0).expect("a member made the call");
        let members = parent.group.members().iter().copied().collect();
        let agreement = agreeing.agreement();
        let (counts, context) = (agreement.counts(), agreement.context());
        #[cfg(feature = "mutants")]
        let counts = self.counted(counts, count);
        let group = EndpointGroup::new(counts, members);
        let group = group.map_err(|error| self.refuse("no endpoints are made", error))?;
        tell(GroupFact::Opened { context: Context(context) }, out);
        self.tell_names(&group, (parent_rank, count), Context(context), out);
        self.endpoints.open(context, agreeing.parent, parent_rank, Arc::new(group), count);
        for local in 0..count {
            let own = Own { context: Context(context), local, id: self.endpoints.next_id };
            self.endpoints.next_id += 1;
            self.endpoints.handles.insert(Comm(first.0 + local), own);
        }
        let engines = self.job.endpoints.queues_of(&self.endpoints).max(self.matching.len());
        self.matching.resize_with(engines, MatchingEngine::default);
        self.sort_early(Context(context), out);
        Ok(())
    }

    fn tell_names(
        &self,
        group: &EndpointGroup,
        (parent, count): (Rank, u16),
        context: Context,
        out: &mut Vec<LibraryAction>,
    ) {
        let (all, own) = (group.locate(Rank(0)), group.rank(parent, 0));
        if let (Some((process, _)), Some(first)) = (all, own) {
            let (of, id) = (GroupId { context, first: process }, self.endpoints.next_id);
            let (count, size) = (count.into(), group.size());
            tell(GroupFact::Named { of, parent, first, count, size, id }, out);
        }
    }

    /// Others may know the new communicator before this process does, and their messages wait in the
    /// process's own queue: each goes to the queue of its endpoint.
    fn sort_early(&mut self, context: Context, out: &mut Vec<LibraryAction>) {
        if self.job.endpoints.queues == Queues::Shared {
            return;
        }
        let new = [context, Context(context.0 + 1)];
        let walk = self.matching[0].extract(|envelope| new.contains(&envelope.context));
        push_walk(&walk, None, out);
        for early in walk.matched.into_iter().flatten() {
            let queue = self.queue_of_arrival(&early.envelope);
            let posted = self.matching[queue].arrive(early.envelope, early.payload);
            debug_assert!(posted.matched.is_none(), "nobody could post a receive before");
        }
    }

    pub(super) fn attach(
        &mut self,
        thread: Thread,
        id: u16,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.emit(|| Action::Work(Step::Query));
        let locals = self.endpoints.locals;
        let Some(attached) = &mut self.endpoints.attached else {
            return Err(
                self.refuse("only a job with endpoints from its start attaches threads", id)
            );
        };
        if id >= locals {
            let state = format!("the process has {locals} endpoints, numbered from 0");
            return Err(self.refuse(&state, format!("MPI_Endpoint_attach of {id}")));
        }
        attached[usize::from(thread.0)] = Some(id);
        push_return(thread, Reply::Done, out);
        Ok(())
    }

    pub(super) fn compare(
        &mut self,
        thread: Thread,
        a: Comm,
        b: Comm,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.emit(|| Action::Work(Step::Query));
        let own = |comm| self.endpoints.own(thread, comm);
        let comparison = match (own(a), own(b)) {
            (Some((one, local)), Some((other, second))) => {
                match (one.context == other.context, local == second) {
                    (true, true) => Comparison::Ident,
                    (true, false) => Comparison::Aliased,
                    // Endpoints that were made apart are different members.
                    (false, _) => Comparison::Unequal,
                }
            }
            (None, None) => self.communicator(a)?.compare(self.communicator(b)?),
            (Some(_), None) => self.communicator(b).map(|_| Comparison::Unequal)?,
            (None, Some(_)) => self.communicator(a).map(|_| Comparison::Unequal)?,
        };
        push_return(thread, Reply::Compared(comparison), out);
        Ok(())
    }

    /// The queues of an arriving message.
    pub(super) fn queue_of_arrival(&self, envelope: &Envelope) -> usize {
        self.queue(envelope.context, envelope.dest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Input, Machine};
    use crate::library::SharedJob;
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
        assert_eq!(library.endpoints.handles.len(), 200);
        assert_eq!(library.endpoints.comms.len(), 2, "one table a call");
        for comm in library.endpoints.comms.values() {
            assert_eq!(Arc::strong_count(&comm.group), 1, "and one copy of it");
            assert_eq!(comm.group.size(), 100);
        }
    }
}
