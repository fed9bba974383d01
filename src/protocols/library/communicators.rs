//! The communicators of one process, and its rank in each.
//!
//! ```text
//!   (thread, communicator) ──▶ Member: rank, size, contexts      of the job, made, or of endpoints
//!   (member, rank)         ──▶ Route: process, lanes             between two groups, the other one
//! ```
//!
//! Every process names the communicators that it makes itself: a number is free until it is given,
//! and again after the free. How processes agree on a new one is in `agreements.rs`. Endpoints, VCIs
//! and intercommunicators are looked at only in a process that has one.
//!
//! Source: MPI-3.1, Sec. 6.4, 6.6. Left out: attributes, info, names.

use std::collections::BTreeMap;
use std::num::NonZero;

use super::acting::Acting;
use super::contexts::Contexts;
use super::endpoints::{EndpointTable, Member};
use super::intercommunicators::{Intercommunicators, Sides};
use super::lanes::Caller;
use super::requests::RequestTable;
use super::site::Site;
use super::{Guard, Handle, Lanes, Process, ProtocolError, Route, Thread};
use crate::call::{Call, Comm};
use crate::contract::Lane;
use crate::rma::call::Win;
use crate::vcis::on_vci;
use collectives::Between;
use mpi::communicator::{Communicator, Comparison};
use mpi::envelope::{Context, Rank, Selection};
use mpi::group::Group;
use mpi::topology::Topology;

/// The communicators of one process.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Communicators {
    /// The communicators that the process made, by its own numbers.
    made: BTreeMap<Comm, Communicator>,
    /// The two groups of each intercommunicator; its entry above has both as one.
    between: Intercommunicators,
    /// The topologies of those that have one.
    topologies: Option<Box<Topologies>>,
    /// The contexts that this process may give to new communicators.
    contexts: Contexts,
    /// None in a process that never had an endpoint, in a job without VCIs.
    acting: Option<Box<Acting>>,
}

/// The topologies of the communicators of one process.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct Topologies(BTreeMap<Comm, Topology>);

impl Communicators {
    /// The communicators of a process with so many threads at its start.
    pub(super) fn new(site: &Site, threads: usize) -> Self {
        Self {
            made: BTreeMap::new(),
            between: Intercommunicators::default(),
            topologies: None,
            contexts: Contexts::of(&site.job, site.me),
            acting: acting_at_start(site, threads).map(Box::new),
        }
    }

    /// A communicator of processes.
    pub(super) fn get<'a>(
        &'a self,
        site: &'a Site,
        comm: Comm,
    ) -> Result<&'a Communicator, ProtocolError> {
        let found = self.find(site, comm);
        found.ok_or_else(|| site.refuse("there is no such communicator", comm))
    }

    #[inline]
    fn find<'a>(&'a self, site: &'a Site, comm: Comm) -> Option<&'a Communicator> {
        site.job.communicators.of(site.me.0, comm.0).or_else(|| self.made.get(&comm))
    }

    /// This process in a communicator of one group, where it has neither endpoints nor
    /// intercommunicators: what most messages need to know.
    #[inline]
    fn plain<'a>(&'a self, site: &'a Site, comm: Comm) -> Option<(Member, &'a Communicator)> {
        if self.acting.is_some() || !self.between.is_empty() {
            return None;
        }
        let found = self.find(site, comm)?;
        let rank = found.rank(site.me.0)?;
        let Communicator { context, internal, .. } = *found;
        Some((
            Member { context, internal, rank, size: found.size(), caller: Caller::Process },
            found,
        ))
    }

    /// The communicators of processes that this one can name.
    pub(super) fn known<'a>(&'a self, site: &'a Site) -> impl Iterator<Item = &'a Communicator> {
        site.job.communicators.all_of(site.me.0).chain(self.made.values())
    }

    /// A thread as a member of a communicator.
    #[inline]
    pub(super) fn member(
        &self,
        site: &Site,
        thread: Thread,
        comm: Comm,
    ) -> Result<Member, ProtocolError> {
        match self.plain(site, comm) {
            Some((member, _)) => Ok(member),
            None => self.member_of_any(site, thread, comm),
        }
    }

    fn member_of_any(
        &self,
        site: &Site,
        thread: Thread,
        comm: Comm,
    ) -> Result<Member, ProtocolError> {
        if let Some(member) = self.endpoint(site, thread, comm)? {
            return Ok(member);
        }
        process_in(site, self.get(site, comm)?, comm)
    }

    /// A thread as a member of a communicator of processes.
    pub(super) fn process(
        &self,
        site: &Site,
        thread: Thread,
        comm: Comm,
    ) -> Result<Member, ProtocolError> {
        let member = self.member(site, thread, comm)?;
        if member.caller != Caller::Process {
            return Err(site.refuse("it is no communicator of processes", comm));
        }
        Ok(member)
    }

    /// A thread as a member of a communicator of endpoints; `None` where it is one of processes.
    fn endpoint(
        &self,
        site: &Site,
        thread: Thread,
        comm: Comm,
    ) -> Result<Option<Member>, ProtocolError> {
        let Some(endpoints) = self.endpoints() else { return Ok(None) };
        let member = endpoints.member(thread, comm);
        if member.is_none() && endpoints.is_static() {
            return Err(site.refuse("the thread is attached to no endpoint", comm));
        }
        Ok(member)
    }

    /// A thread as a member that sends and receives the program's messages; the size is that of the
    /// ranks that it may name.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the answer would pass through memory")]
    pub(super) fn speaker(
        &self,
        site: &Site,
        thread: Thread,
        comm: Comm,
    ) -> Result<Member, ProtocolError> {
        match self.plain(site, comm) {
            Some((member, _)) => Ok(member),
            None => self.speaker_of_any(site, thread, comm),
        }
    }

    fn speaker_of_any(
        &self,
        site: &Site,
        thread: Thread,
        comm: Comm,
    ) -> Result<Member, ProtocolError> {
        let member = self.member(site, thread, comm)?;
        let Some(Sides { local, remote }) = self.between.get(comm) else { return Ok(member) };
        let rank = local.rank(site.me.0).expect("a process is in its own group");
        Ok(Member { rank, size: remote.size(), ..member })
    }

    /// The sender of a message of the program, and its way to a rank.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the answer would pass through memory")]
    pub(super) fn way(
        &self,
        site: &Site,
        thread: Thread,
        comm: Comm,
        dest: Rank,
    ) -> Result<(Member, Route), ProtocolError> {
        if let Some((member, found)) = self.plain(site, comm)
            && let Some(peer) = found.process(dest)
        {
            return Ok((member, Self::plain_route(site, peer)));
        }
        self.way_of_any(site, thread, comm, dest)
    }

    fn way_of_any(
        &self,
        site: &Site,
        thread: Thread,
        comm: Comm,
        dest: Rank,
    ) -> Result<(Member, Route), ProtocolError> {
        let member = self.speaker(site, thread, comm)?;
        let Some(Sides { remote, .. }) = self.between.get(comm) else {
            return Ok((member, self.route(site, comm, &member, dest)?));
        };
        let process = remote.process(dest);
        let peer = process.ok_or_else(|| site.refuse("the other group has no such rank", dest))?;
        Ok((member, Self::route_to(site, member.context, peer)))
    }

    /// The sender of a message of the library's own, and its way to a rank.
    #[inline]
    pub(super) fn inner_way(
        &self,
        site: &Site,
        thread: Thread,
        comm: Comm,
        dest: Rank,
    ) -> Result<(Member, Route), ProtocolError> {
        if let Some((member, found)) = self.plain(site, comm)
            && let Some(peer) = found.process(dest)
        {
            return Ok((member, Self::plain_route(site, peer)));
        }
        let member = self.member(site, thread, comm)?;
        Ok((member, self.route(site, comm, &member, dest)?))
    }

    /// The way of a member to a rank of its communicator.
    pub(super) fn route(
        &self,
        site: &Site,
        comm: Comm,
        member: &Member,
        dest: Rank,
    ) -> Result<Route, ProtocolError> {
        let Some(endpoints) = self.endpoints().filter(|_| member.is_endpoint()) else {
            let peer = self.get(site, comm)?.process(dest).ok_or_else(|| no_rank(site, dest))?;
            return Ok(Self::route_to(site, member.context, peer));
        };
        let located = endpoints.locate(member.context, dest);
        let (peer, caller) = located.ok_or_else(|| no_rank(site, dest))?;
        let [own, remote] = [member.caller, caller].map(|caller| site.job.endpoints.lane(caller));
        Ok(Route { peer, own, remote })
    }

    /// The route where a process has neither endpoints nor VCIs.
    #[inline]
    fn plain_route(site: &Site, peer: u32) -> Route {
        let own = site.job.endpoints.lane(Caller::Process);
        Route { own, ..Route::to(Process(peer)) }
    }

    /// The route of a message of processes in this context: both have it on VCIs of the same number.
    fn route_to(site: &Site, context: Context, peer: u32) -> Route {
        if !site.job.vcis.are_several() {
            return Self::plain_route(site, peer);
        }
        let route = on_vci(Process(peer), site.job.vci(context));
        #[cfg(feature = "mutants")]
        if site.job.has(crate::mutant::Mutant::HashesByRank) {
            return site.job.hashed_by_rank(route);
        }
        route
    }

    /// The queues in which a message of this context to this rank is matched.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "one test, where threads act as their process")]
    pub(super) fn queue(&self, site: &Site, context: Context, dest: Rank) -> usize {
        self.acting.as_ref().map_or(0, |acting| acting.queue(site, context, dest))
    }

    /// The pairs of queues that the process needs now.
    pub(super) fn queues(&self, site: &Site) -> usize {
        match &self.acting {
            Some(acting) => acting.queues(site),
            None => site.job.endpoints.queues_of(0),
        }
    }

    /// The processes that could send what is selected; a wildcard names all the others.
    pub(super) fn sources(&self, site: &Site, selection: &Selection) -> Vec<Process> {
        let endpoints = self.endpoints().and_then(|table| table.sources(selection));
        if let Some(processes) = endpoints {
            return processes;
        }
        let named = |group: &Group, rank: Rank| group.process(rank).map(Process).into_iter();
        if let Some(group) = self.other_group(selection.context) {
            return match selection.source {
                Some(rank) => named(group, rank).collect(),
                None => group.members().iter().map(|&process| Process(process)).collect(),
            };
        }
        let has = |one: &&Communicator| [one.context, one.internal].contains(&selection.context);
        // Freed while the receive is open: no process can send to it any more.
        let Some(communicator) = self.known(site).find(has) else { return Vec::new() };
        if let Some(rank) = selection.source {
            return named(&communicator.group, rank).collect();
        }
        let others = communicator.group.members().iter().filter(|&&process| process != site.me.0);
        others.map(|&process| Process(process)).collect()
    }

    /// The group that sends the program's messages of this context, where two groups have it.
    fn other_group(&self, context: Context) -> Option<&Group> {
        let has = |comm: &Comm| self.made.get(comm).is_some_and(|made| made.context == context);
        self.between.iter().find(|(comm, _)| has(comm)).map(|(_, sides)| &*sides.remote)
    }

    /// An intercommunicator has not every call.
    #[inline]
    pub(super) fn check(&self, site: &Site, call: &Call) -> Result<(), ProtocolError> {
        if self.between.is_empty() || !self.between.refuses(call) {
            return Ok(());
        }
        let state = "an intercommunicator has messages, collectives, duplicates, splits, a merge and a free only";
        Err(site.refuse(state, call))
    }

    /// The two groups of an intercommunicator.
    pub(super) fn sides(&self, site: &Site, comm: Comm) -> Result<&Sides, ProtocolError> {
        let found = self.between.get(comm);
        found.ok_or_else(|| site.refuse("it is no intercommunicator", comm))
    }

    /// The rank of `thread` in a communicator, and how many ranks that has: of an intercommunicator
    /// those of its own group, and of the other one; where ranks are neighbours, how many sources and
    /// destinations this one has.
    pub(super) fn place(
        &self,
        site: &Site,
        thread: Thread,
        comm: Comm,
    ) -> Result<Box<[u32]>, ProtocolError> {
        if let Some(Sides { local, remote }) = self.between.get(comm) {
            let rank = local.rank(site.me.0).expect("a process is in its own group");
            return Ok([rank.0, local.size(), remote.size()].into());
        }
        let member = self.member(site, thread, comm)?;
        if let Some(found) = self.topology(comm).and_then(|of| of.neighbours(member.rank)) {
            let degrees = found.degrees().map(|count| u32::try_from(count).expect("few edges"));
            return Ok([member.rank.0, member.size, degrees[0], degrees[1]].into());
        }
        Ok([member.rank.0, member.size].into())
    }

    /// The size of the caller's group, its processes, and those of the other group of an intercommunicator; nothing
    /// where the caller has no such communicator.
    pub(super) fn members(
        &self,
        site: &Site,
        thread: Thread,
        comm: Comm,
    ) -> Result<Box<[u32]>, ProtocolError> {
        let listed = |own: &Group, other: &[u32]| {
            std::iter::once(own.size()).chain(own.members().iter().chain(other).copied()).collect()
        };
        if let Some(Sides { local, remote }) = self.between.get(comm) {
            return Ok(listed(local, remote.members()));
        }
        if self.get(site, comm).is_err() {
            return Ok([].into());
        }
        self.member(site, thread, comm)?;
        Ok(listed(&self.get(site, comm)?.group, &[]))
    }

    /// How the ranks of a communicator are neighbours, where they are.
    pub(super) fn topology(&self, comm: Comm) -> Option<&Topology> {
        self.topologies.as_ref()?.0.get(&comm)
    }

    /// The ranks of a communicator that was made are neighbours.
    pub(super) fn arrange(&mut self, comm: Comm, topology: Topology) {
        self.topologies.get_or_insert_default().0.insert(comm, topology);
    }

    /// The two groups of an intercommunicator, as this process sees them.
    #[inline]
    pub(super) fn between(&self, comm: Comm) -> Option<Between> {
        if self.between.is_empty() { None } else { self.between.get(comm).map(Sides::between) }
    }

    /// How two communicators compare when `thread` names them.
    pub(super) fn compare(
        &self,
        site: &Site,
        thread: Thread,
        a: Comm,
        b: Comm,
    ) -> Result<Comparison, ProtocolError> {
        let Some(endpoints) = self.endpoints() else {
            return Ok(self.get(site, a)?.compare(self.get(site, b)?));
        };
        let Some(comparison) = endpoints.compare(thread, a, b) else {
            return Ok(self.get(site, a)?.compare(self.get(site, b)?));
        };
        for comm in [a, b] {
            if !endpoints.is_endpoint(thread, comm) {
                self.get(site, comm)?;
            }
        }
        Ok(comparison)
    }

    /// Whether a number names nothing yet.
    pub(super) fn is_free(&self, site: &Site, comm: Comm) -> bool {
        let has = |table: &EndpointTable| table.has(comm);
        let taken = self.made.contains_key(&comm) || self.endpoints().is_some_and(has);
        usize::from(comm.0) >= site.job.communicators.iter().len() && !taken
    }

    /// The context that this process proposes for a new communicator as rank `rank` of the processes
    /// that agree on it.
    pub(super) fn take_context(&mut self, site: &Site, rank: Rank) -> Result<u32, ProtocolError> {
        let taken = self.contexts.propose(rank);
        taken.ok_or_else(|| site.refuse("no context is left for a new communicator", rank))
    }

    /// The process has made a communicator.
    pub(super) fn add(&mut self, new: Comm, communicator: Communicator) {
        self.made.insert(new, communicator);
    }

    /// The process has made an intercommunicator; `communicator` has both groups as one.
    pub(super) fn add_sides(&mut self, new: Comm, sides: Sides, communicator: Communicator) {
        self.between.insert(new, sides);
        self.made.insert(new, communicator);
    }

    /// The program frees a communicator that it made.
    pub(super) fn remove(&mut self, comm: Comm) -> Option<Communicator> {
        self.between.remove(comm);
        if let Some(topologies) = &mut self.topologies {
            topologies.0.remove(&comm);
        }
        self.made.remove(&comm)
    }

    /// A number that no program gives.
    pub(super) fn private_number(&self) -> Comm {
        let mut private = (0..=u16::MAX).rev().map(Comm);
        let number = private.find(|comm| !self.made.contains_key(comm));
        number.expect("fewer than 2^16 communicators")
    }

    /// The table of endpoints, where the process may have some.
    pub(super) fn endpoints(&self) -> Option<&EndpointTable> {
        self.acting.as_ref().map(|acting| &acting.endpoints)
    }

    /// The same to be changed.
    pub(super) fn endpoints_mut(&mut self) -> Option<&mut EndpointTable> {
        self.acting.as_mut().map(|acting| &mut acting.endpoints)
    }

    /// The table of endpoints of a process with so many threads that gets its first one.
    pub(super) fn make_endpoints(&mut self, threads: usize) -> &mut EndpointTable {
        let new = || Box::new(Acting::new(threads, EndpointTable::new()));
        &mut self.acting.get_or_insert_with(new).endpoints
    }

    /// Identities that the threads act as, where those are not their process with its first lane.
    #[inline]
    pub(super) fn acting_mut(&mut self) -> Option<&mut Acting> {
        self.acting.as_deref_mut()
    }

    /// Identity that a thread acts as now.
    #[inline]
    pub(super) fn current(&self, thread: Thread) -> Caller {
        self.acting.as_ref().map_or(Caller::Process, |acting| acting.current(thread))
    }

    /// Identity that `thread` makes a call as; `window` knows the numbers of windows, and `probed` the messages of
    /// matched probes.
    pub(super) fn caller(
        &self,
        site: &Site,
        thread: Thread,
        call: &Call,
        requests: &RequestTable,
        window: impl Fn(Win) -> Option<u32>,
        probed: impl Fn(Handle) -> Option<Caller>,
    ) -> Caller {
        let context = |comm| self.find(site, comm).map(|found| found.context);
        let acting = self.acting.as_ref();
        acting.map_or(Caller::Process, |acting| {
            acting.caller(site, thread, call, requests, context, window, probed)
        })
    }

    /// The library lock of a rank or ranks; none where no other thread uses what they use.
    pub(super) fn lock_of(&self, site: &Site, caller: Caller) -> Option<Guard> {
        match &self.acting {
            Some(acting) => acting.lock_of(site, caller),
            None => site.job.endpoints.lock(caller, 0),
        }
    }

    /// The library lock under which a thread handles what it has found on a lane.
    pub(super) fn lock_at(&self, site: &Site, thread: Thread, lane: Lane) -> Option<Guard> {
        if site.job.vcis.are_several() {
            return Some(Guard(lane.0));
        }
        self.lock_of(site, self.current(thread))
    }

    /// The lanes that a thread polls.
    #[inline]
    pub(super) fn polled_by(&self, site: &Site, thread: Thread) -> Lanes {
        match &self.acting {
            Some(acting) => acting.polled_by(site, thread),
            None => site.job.endpoints.polled(Caller::Process),
        }
    }

    /// The lanes that a thread polls in one of so many passes, where those are others.
    pub(super) fn swept_by(&self, site: &Site, thread: Thread) -> Option<(Lanes, NonZero<u32>)> {
        self.acting.as_ref()?.swept_by(site, thread)
    }
}

/// Identities of the threads of a process before its first call, where those are not the process.
fn acting_at_start(site: &Site, threads: usize) -> Option<Acting> {
    let endpoints = EndpointTable::at_start(&site.job, site.me, threads);
    let several = site.job.vcis.are_several();
    let endpoints = endpoints.or_else(|| several.then(EndpointTable::new))?;
    Some(Acting::new(threads, endpoints))
}

#[cfg(feature = "mutants")]
impl Communicators {
    /// The contexts that the process gives to new communicators.
    pub(super) fn contexts_mut(&mut self) -> &mut Contexts {
        &mut self.contexts
    }
}

impl Member {
    fn is_endpoint(&self) -> bool {
        matches!(self.caller, Caller::Endpoint(_))
    }
}

/// This process as a member of a communicator.
fn process_in(site: &Site, found: &Communicator, comm: Comm) -> Result<Member, ProtocolError> {
    let rank = found.rank(site.me.0);
    let rank = rank.ok_or_else(|| site.refuse("not a member of the communicator", comm))?;
    let Communicator { context, internal, .. } = *found;
    Ok(Member { context, internal, rank, size: found.size(), caller: Caller::Process })
}

fn no_rank(site: &Site, rank: Rank) -> ProtocolError {
    site.refuse("the communicator has no such rank", rank)
}
