//! How processes agree on new communicators, and what each makes of it.
//!
//! ```text
//!   MPI_Comm_dup, _idup       agree on a context                          ─▶ same group
//!   MPI_Comm_split            agree on a context, gather colors and keys  ─▶ one group a color
//!   MPI_Comm_split_type       the same by the node                        ─▶ one group a node
//!   MPI_Comm_create           agree on a context                          ─▶ that group
//!   MPI_Cart_create           the same, of the first ranks                ─▶ that group, in a grid
//!   MPI_Cart_sub              agree on a context, gather places           ─▶ one grid a part
//!   MPI_Graph_create          the same, of the first ranks                ─▶ that group, with neighbours
//!   MPI_Dist_graph_create_…   agree on a context                          ─▶ same group, with neighbours
//!   MPI_Dist_graph_create     the same, gather edges                      ─▶ same group, with neighbours
//!   MPI_Comm_create_group     the group alone agrees on a context         ─▶ that group
//!   MPI_Comm_create_endpoints agree on a context, gather counts           ─▶ ranks of all endpoints
//!   MPI_Intercomm_create      leaders exchange contexts and groups        ─▶ two groups
//!   MPI_Intercomm_merge       both groups agree on a context, gather high ─▶ one after the other
//!   MPI_Comm_free             local; of endpoints: their processes agree
//! ```
//!
//! Here a call becomes an [`Agreeing`], whose messages `agreeing.rs` exchanges, and its end becomes a
//! communicator. The parts of one split have one context: no process is in two of them.
//!
//! A communicator between two groups is duplicated and split by both: its messages go over both groups as
//! one. What is gathered comes in the order of these ranks.
//!
//! Source: MPI-3.1, Sec. 6.4.2, 6.4.3, 6.6.1, 6.6.2; `endpoints` Sec. 3.2.

use std::sync::Arc;

use super::agreeing::{Agreeing, Peering, Purpose, numbers, words};
use super::answers::push_fact;
use super::endpoints::{EndpointTable, Freed, Member};
use super::intercommunicators::Sides;
use super::lanes::Caller;
use super::messages::Messages;
use super::{LibraryAction, ProtocolError, Reply, Thread};
use crate::call::{Arrangement, Comm, CommCall, GROUP_TAG_MAX, NamedEdges};
#[cfg(feature = "mutants")]
use crate::mutant::Mutant;
use collectives::agreement::Agreement;
use collectives::coupling::Coupling;
use mpi::cartesian::{Cartesian, CartesianError};
use mpi::communicator::Communicator;
use mpi::endpoints::EndpointGroup;
use mpi::envelope::{Context, Rank};
use mpi::group::{Choice, Group};
use mpi::observation::{GroupFact, GroupId, Listed};
use mpi::topology::{Neighbours, Topology};

/// A choice as two numbers: no color is negative, so that one bit pattern is left for undefined.
fn encoded(Choice { color, key }: Choice) -> [u32; 2] {
    [color.map_or(u32::MAX, i32::cast_unsigned), key.cast_unsigned()]
}

fn decoded(numbers: &[u32]) -> Choice {
    let color = (numbers[0] != u32::MAX).then(|| numbers[0].cast_signed());
    Choice { color, key: numbers[1].cast_signed() }
}

/// Begins the agreement of a call; `gives` says whether another call under way will give a number.
pub(super) fn begin(
    messages: &mut Messages,
    thread: Thread,
    call: CommCall,
    gives: impl Fn(Comm) -> bool,
) -> Result<Agreeing, ProtocolError> {
    let check = |messages: &Messages, new| check_new(messages, (new, 1), &gives);
    match call {
        CommCall::Dup { comm, new } | CommCall::Idup { comm, new, .. } => {
            check(messages, new)?;
            let mut agreeing = of_all(messages, thread, comm, &[], Purpose::Dup { new })?;
            agreeing.topology = messages.communicators().topology(comm).cloned();
            Ok(agreeing)
        }
        CommCall::Split { comm, color, key, new } => {
            if color.is_some_and(|color| color < 0) {
                let state = "a color is undefined, or 0 or more";
                return Err(messages.site().refuse(state, color.unwrap_or_default()));
            }
            let new = color.map(|_| new);
            if let Some(new) = new {
                check(messages, new)?;
            }
            let choice = words(encoded(Choice { color, key }));
            of_all(messages, thread, comm, &choice, Purpose::Split { new })
        }
        CommCall::SplitShared { comm, takes_part, key, new } => {
            let site = messages.site();
            let node = i32::try_from(site.job.node_of[site.me.0 as usize]);
            let node = node.expect("fewer than 2^31 nodes");
            #[cfg(feature = "mutants")]
            let node = if site.job.has(Mutant::NodesTogether) { 0 } else { node };
            let color = takes_part.then_some(node);
            begin(messages, thread, CommCall::Split { comm, color, key, new }, gives)
        }
        CommCall::Create { comm, group, new } => {
            let own = group_of(messages, comm, &group)?.rank(messages.site().me.0);
            let new = own.map(|_| new);
            if let Some(new) = new {
                check(messages, new)?;
            }
            let mut agreeing = of_all(messages, thread, comm, &[], Purpose::Some { new })?;
            agreeing.some = Some(group);
            Ok(agreeing)
        }
        CommCall::Arrange { comm, by, new } => arrange(messages, thread, (comm, by, new), gives),
        CommCall::CreateGroup { comm, group, tag, new } => {
            check(messages, new)?;
            of_group(messages, thread, comm, (group, tag), new)
        }
        CommCall::Intercomm { comm, leader, peer, remote_leader, tag, new } => {
            let peer = Peering { comm: peer, says: tag, hears: tag };
            check(messages, new)?;
            of_two_groups(messages, thread, (comm, leader), (peer, remote_leader), new)
        }
        CommCall::Merge { comm, high, new } => {
            check(messages, new)?;
            messages.communicators().sides(messages.site(), comm)?;
            of_all(messages, thread, comm, &[high.into()], Purpose::Merge { new })
        }
        CommCall::Couple { comm, leader, over, own } => {
            let over = over.map(|over| {
                let peer = Peering { comm: over.peer, says: over.says, hears: over.hears };
                (peer, over.remote)
            });
            couple(messages, thread, (comm, leader), over, (0, &own), Purpose::Couple)
        }
        CommCall::Numbers { comm, own } => {
            let own = words(own.iter().copied());
            of_all(messages, thread, comm, &own, Purpose::Numbers)
        }
        CommCall::Free { .. } => unreachable!("processes do not agree to free a communicator"),
    }
}

/// A communicator whose ranks are arranged is one of some ranks, a part of a split, or a duplicate.
fn arrange(
    messages: &mut Messages,
    thread: Thread,
    (comm, by, new): (Comm, Arrangement, Comm),
    gives: impl Fn(Comm) -> bool,
) -> Result<Agreeing, ProtocolError> {
    let Member { rank, size, .. } = process_in(messages, thread, comm)?;
    let site = messages.site();
    let refuse = |error: CartesianError| site.refuse("no grid is made", error.to_string());
    let (call, topology) = match by {
        Arrangement::Grid(dimensions) => {
            let positions = dimensions.iter().map(|dimension| u64::from(dimension.extent));
            let positions = positions.fold(1, u64::saturating_mul).min(size.into());
            let positions = u32::try_from(positions).expect("no more than ranks");
            let grid = Cartesian::new(positions, dimensions.to_vec()).map_err(refuse)?;
            let group = (0..positions).map(Rank).collect();
            (CommCall::Create { comm, group, new }, Topology::Grid(grid))
        }
        Arrangement::Subgrid(remain) => {
            let Some(Topology::Grid(grid)) = messages.communicators().topology(comm) else {
                return Err(site.refuse("the ranks of the communicator stand in no grid", comm));
            };
            let parts = grid.sub(&remain).map_err(refuse)?;
            let Choice { color, key } = parts.choices[rank.0 as usize];
            (CommCall::Split { comm, color, key, new }, Topology::Grid(parts.grid))
        }
        Arrangement::Graph(neighbours) => {
            let mut all = neighbours.sources.iter().chain(neighbours.destinations.iter()).flatten();
            if let Some(beyond) = all.find(|rank| rank.0 >= size) {
                return Err(site.refuse("the communicator has no such rank", *beyond));
            }
            (CommCall::Dup { comm, new }, Topology::Graph(neighbours))
        }
        Arrangement::Whole(graph) => {
            if let Some(fault) = graph.fault(size) {
                return Err(site.refuse("no graph is made", fault));
            }
            let nodes = u32::try_from(graph.ends.len()).expect("at most as many as ranks");
            let group = (0..nodes).map(Rank).collect();
            #[cfg(feature = "mutants")]
            let rank = Rank(rank.0.saturating_sub(site.job.has(Mutant::NodeBefore).into()));
            (CommCall::Create { comm, group, new }, graph.topology(rank))
        }
        Arrangement::Named(edges) => {
            let mut all = edges.edges().flat_map(|(from, to)| [from, to]);
            if let Some(beyond) = all.find(|rank| rank.0 >= size) {
                return Err(site.refuse("the communicator has no such rank", beyond));
            }
            drop(all);
            return of_edges(messages, thread, (comm, new), edges, gives);
        }
    };
    let mut agreeing = begin(messages, thread, call, gives)?;
    agreeing.topology = Some(topology);
    Ok(agreeing)
}

/// A duplicate whose ranks are neighbours as all of them together say.
fn of_edges(
    messages: &mut Messages,
    thread: Thread,
    (comm, new): (Comm, Comm),
    edges: Arc<NamedEdges>,
    gives: impl Fn(Comm) -> bool,
) -> Result<Agreeing, ProtocolError> {
    check_new(messages, (new, 1), &gives)?;
    let count = u32::try_from(edges.edges().count()).expect("lists have fewer entries");
    let agreeing = of_all(messages, thread, comm, &words([count]), Purpose::Dup { new })?;
    Ok(agreeing.with_edges(edges))
}

/// The numbers of new communicators, or endpoints, must be free, and no call under way may be about to
/// give them.
fn check_new(
    messages: &Messages,
    (first, count): (Comm, u16),
    gives: &impl Fn(Comm) -> bool,
) -> Result<(), ProtocolError> {
    let site = messages.site();
    let mut all = (0..count).map(|index| first.0.checked_add(index).map(Comm));
    let free = |comm: Comm| messages.communicators().is_free(site, comm) && !gives(comm);
    if all.all(|comm| comm.is_some_and(free)) {
        return Ok(());
    }
    Err(site.refuse("the numbers of the new communicators are in use", first))
}

/// The caller as a member of a communicator of processes.
fn process_in(messages: &Messages, thread: Thread, comm: Comm) -> Result<Member, ProtocolError> {
    messages.communicators().process(messages.site(), thread, comm)
}

/// The context that this process proposes as rank `rank` of the processes that agree.
fn take_context(messages: &mut Messages, rank: Rank) -> Result<u32, ProtocolError> {
    let (communicators, site) = messages.communicators_mut();
    communicators.take_context(site, rank)
}

fn of_all(
    messages: &mut Messages,
    thread: Thread,
    parent: Comm,
    values: &[u16],
    purpose: Purpose,
) -> Result<Agreeing, ProtocolError> {
    let Member { rank, size, .. } = process_in(messages, thread, parent)?;
    let context = if purpose == Purpose::Numbers { 0 } else { take_context(messages, rank)? };
    let agreement = Agreement::of_values(rank, size, context, values);
    Ok(Agreeing::of_all(parent, agreement, purpose))
}

fn of_group(
    messages: &mut Messages,
    thread: Thread,
    parent: Comm,
    (group, tag): (Arc<[Rank]>, i32),
    new: Comm,
) -> Result<Agreeing, ProtocolError> {
    let Member { rank, .. } = process_in(messages, thread, parent)?;
    let site = messages.site();
    if !(0..=GROUP_TAG_MAX).contains(&tag) {
        let state = format!("a group is made under a tag of 0 to {GROUP_TAG_MAX}");
        return Err(site.refuse(&state, format!("tag {tag}")));
    }
    group_of(messages, parent, &group)?;
    let Some(place) = group.iter().position(|member| *member == rank) else {
        let state = format!("rank {} calls for a group that it is not in", rank.0);
        return Err(site.refuse(&state, "MPI_Comm_create_group"));
    };
    let number = |count: usize| u32::try_from(count).expect("groups are of ranks");
    let (place, members) = (Rank(number(place)), number(group.len()));
    let context = take_context(messages, place)?;
    let agreement = Agreement::new(place, members, context, None);
    Ok(Agreeing::of_group(parent, agreement, (group, tag), Purpose::Group { new }))
}

/// The processes behind these ranks of a communicator, each once.
fn group_of(messages: &Messages, parent: Comm, ranks: &[Rank]) -> Result<Group, ProtocolError> {
    let site = messages.site();
    let group = messages.communicators().get(site, parent)?.group.incl(ranks);
    group.map_err(|error| site.refuse("no group is made", error))
}

fn of_two_groups(
    messages: &mut Messages,
    thread: Thread,
    (comm, leader): (Comm, Rank),
    (peer, remote): (Peering, Rank),
    new: Comm,
) -> Result<Agreeing, ProtocolError> {
    let site = messages.site();
    let Member { rank, size, .. } = process_in(messages, thread, comm)?;
    if leader.0 >= size {
        let state = format!("the leader is one of {size} ranks");
        return Err(site.refuse(&state, leader));
    }
    if rank == leader {
        if messages.communicators().sides(site, peer.comm).is_ok() {
            let state =
                "both leaders are in one group: an intercommunicator is no peer communicator";
            return Err(site.refuse(state, peer.comm));
        }
        let Member { size, .. } = process_in(messages, thread, peer.comm)?;
        if remote.0 >= size {
            let state = format!("the other leader is one of {size} ranks of the peer communicator");
            return Err(site.refuse(&state, remote));
        }
        if peer.says < 0 {
            return Err(site.refuse("a tag is 0 or more", peer.says));
        }
    }
    let proposes = if rank == leader { Rank(0) } else { Rank(1) };
    let context = take_context(messages, proposes)?;
    let group = Arc::clone(&messages.communicators().get(messages.site(), comm)?.group);
    let (over, numbers) = (Some((peer, remote)), (context, group.members()));
    couple(messages, thread, (comm, leader), over, numbers, Purpose::Intercomm { new })
}

/// The exchange of two groups; a leader passes `context` and `numbers` on.
fn couple(
    messages: &Messages,
    thread: Thread,
    (comm, leader): (Comm, Rank),
    over: Option<(Peering, Rank)>,
    (context, numbers): (u32, &[u32]),
    purpose: Purpose,
) -> Result<Agreeing, ProtocolError> {
    let Member { rank, size, .. } = process_in(messages, thread, comm)?;
    let (coupling, peer) = match over {
        Some((peer, remote)) if rank == leader => {
            // Away from the tags of other messages, and as many.
            let away = |tag: i32| i32::MIN + tag;
            let peer = Peering { says: away(peer.says), hears: away(peer.hears), ..peer };
            (Coupling::leader(leader, size, remote, context, numbers), peer)
        }
        None if rank == leader => {
            return Err(messages.site().refuse("a leader has a way to the other one", leader));
        }
        _ => (Coupling::member(leader), Peering { comm, says: 0, hears: 0 }),
    };
    Ok(Agreeing::of_two(comm, coupling, peer, purpose))
}

/// `MPI_Comm_create_endpoints`: so many endpoints of this process, with handles from `first` on;
/// `gives` is as in [`begin`].
pub(super) fn create_endpoints(
    messages: &mut Messages,
    thread: Thread,
    parent: Comm,
    (first, count): (Comm, u16),
    gives: impl Fn(Comm) -> bool,
) -> Result<Agreeing, ProtocolError> {
    let site = messages.site();
    if messages.communicators().endpoints().is_some_and(EndpointTable::is_static) {
        return Err(site.refuse("the endpoints of a static job are made at its start", parent));
    }
    if count == 0 && !site.job.endpoints.allow_none {
        return Err(site.refuse("a process makes at least one endpoint", count));
    }
    check_new(messages, (first, count), &gives)?;
    let member = messages.member(thread, parent)?;
    if member.caller != Caller::Process {
        let state = "endpoints are made from a communicator of processes";
        return Err(site.refuse(state, parent));
    }
    let context = take_context(messages, member.rank)?;
    let agreement = Agreement::new(member.rank, member.size, context, Some(count));
    Ok(Agreeing::of_all(parent, agreement, Purpose::Create { first, count }))
}

/// `MPI_Comm_free` of an endpoint; `None` where other endpoints of the process are still in use.
pub(super) fn free_endpoint(
    messages: &mut Messages,
    comm: Comm,
) -> Result<Option<Agreeing>, ProtocolError> {
    let (communicators, site) = messages.communicators_mut();
    #[cfg(feature = "mutants")]
    let at_first = site.job.has(Mutant::FreesFirst);
    #[cfg(not(feature = "mutants"))]
    let at_first = false;
    let freed = communicators.endpoints_mut().and_then(|table| table.free(comm, at_first));
    match freed {
        None => Err(site.refuse("no endpoint has this handle: it may be freed already", comm)),
        Some(Freed::One) => Ok(None),
        Some(Freed::Last { context, parent, owners: (among, place) }) => {
            let members = u32::try_from(among.len()).expect("parents are ranks");
            let agreement = Agreement::new(place, members, 0, None);
            let purpose = Purpose::Free { context };
            Ok(Some(Agreeing::among(parent, agreement, among, purpose)))
        }
    }
}

/// All have agreed: makes, or frees, what the call was for, and answers its reply.
pub(super) fn end(
    messages: &mut Messages,
    agreeing: &Agreeing,
    out: &mut Vec<LibraryAction>,
) -> Result<Reply, ProtocolError> {
    let reply = made(messages, agreeing, out)?;
    if let (Some(new), Some(edges)) = (agreeing.makes(), agreeing.edges()) {
        let parent = messages.communicators().get(messages.site(), agreeing.parent)?;
        let me = parent.rank(messages.site().me.0).expect("a member made the call");
        #[cfg(feature = "mutants")]
        let edges = bent(messages, agreeing, edges);
        let topology = Topology::Graph(Neighbours::among(&edges, me));
        messages.communicators_mut().0.arrange(new, topology);
    }
    if let (Some(new), Some(topology)) = (agreeing.makes(), &agreeing.topology) {
        messages.communicators_mut().0.arrange(new, topology.clone());
    }
    Ok(reply)
}

fn made(
    messages: &mut Messages,
    agreeing: &Agreeing,
    out: &mut Vec<LibraryAction>,
) -> Result<Reply, ProtocolError> {
    let parent = agreeing.parent;
    let group = |messages: &Messages| {
        messages.communicators().get(messages.site(), parent).map(|one| Arc::clone(&one.group))
    };
    match agreeing.purpose {
        Purpose::Create { first, count } => {
            endpoints_created(messages, agreeing, (first, count), out)?;
        }
        Purpose::Free { context } => {
            let (communicators, _) = messages.communicators_mut();
            if let Some(endpoints) = communicators.endpoints_mut() {
                endpoints.close(context);
            }
            push_fact(GroupFact::Closed { context }, out);
        }
        Purpose::Dup { new } => {
            let context = agreeing.agreement().context();
            if let Ok(sides) = messages.communicators().sides(messages.site(), parent) {
                let sides = sides.clone();
                #[cfg(feature = "mutants")]
                let sides = if messages.site().job.has(Mutant::DupsOneSide) {
                    Sides { remote: Arc::clone(&sides.local), ..sides }
                } else {
                    sides
                };
                enter_sides(messages, new, context, sides, out);
                return Ok(Reply::Done);
            }
            let group = group(messages)?;
            enter(messages, new, context, group, out);
        }
        Purpose::Some { new } => {
            let group = agreeing.some.as_ref().expect("a group is some of its parent");
            tell_group(messages, agreeing, group, out)?;
            #[cfg(feature = "mutants")]
            let group = &ordered(messages, group);
            let group = group_of(messages, parent, group)?;
            if let Some(new) = new {
                enter(messages, new, agreeing.agreement().context(), Arc::new(group), out);
            }
        }
        Purpose::Split { new } => {
            let said = numbers(&agreeing.agreement().values());
            let choices: Vec<Choice> = said.chunks_exact(2).map(decoded).collect();
            if let Ok(sides) = messages.communicators().sides(messages.site(), parent) {
                let site = messages.site();
                let parts = sides.split(&choices, site.me.0);
                let parts = parts.map_err(|error| site.refuse("nothing is split", error))?;
                #[cfg(feature = "mutants")]
                let parts = parted(messages, (sides, &choices), parts);
                if let (Some(new), Some(parts)) = (new, parts) {
                    enter_sides(messages, new, agreeing.agreement().context(), parts, out);
                }
                return Ok(Reply::Done);
            }
            let group = group(messages)?;
            let site = messages.site();
            let parts = group.split(&choices);
            let parts = parts.map_err(|error| site.refuse("nothing is split", error))?;
            let own = parts.into_iter().find(|part| part.group.rank(site.me.0).is_some());
            if let (Some(new), Some(own)) = (new, own) {
                enter(messages, new, agreeing.agreement().context(), Arc::new(own.group), out);
            }
        }
        Purpose::Group { new } => {
            let among = agreeing.among.as_ref().expect("a group is some of its parent");
            tell_group(messages, agreeing, among, out)?;
            let group = group_of(messages, parent, among)?;
            enter(messages, new, agreeing.agreement().context(), Arc::new(group), out);
        }
        Purpose::Intercomm { new } => {
            let local = group(messages)?;
            two_groups(messages, local, new, agreeing.coupling(), out)?;
        }
        Purpose::Merge { new } => {
            let agreement = agreeing.agreement();
            let site = messages.site();
            let merged = messages.communicators().sides(site, parent)?.merged(&agreement.values());
            let state = "all ranks of a side say the same value of high";
            let group = merged.map_err(|differ| site.refuse(state, differ))?;
            enter(messages, new, agreement.context(), Arc::new(group), out);
        }
        Purpose::Couple => return Ok(Reply::Numbers(agreeing.coupling().numbers().into())),
        Purpose::Numbers => {
            let all = numbers(&agreeing.agreement().values());
            return Ok(Reply::Numbers(all.into()));
        }
    }
    Ok(Reply::Done)
}

/// The monitors learn which group the caller gives.
fn tell_group(
    messages: &Messages,
    agreeing: &Agreeing,
    group: &[Rank],
    out: &mut Vec<LibraryAction>,
) -> Result<(), ProtocolError> {
    let site = messages.site();
    let parent = messages.communicators().get(site, agreeing.parent)?;
    let rank = parent.rank(site.me.0).expect("a member made the call");
    let (context, among) = (Context(agreeing.agreement().context()), agreeing.agreement().ranks());
    let function = agreeing.operation();
    let follow = |one: &Rank, next: &Rank| one.0.checked_add(1) == Some(next.0);
    let mut runs = group.chunk_by(follow).peekable();
    let mut tell = |run, more| {
        let part = Listed { rank, among, function, run, more };
        push_fact(GroupFact::Lists { context, part }, out);
    };
    if group.is_empty() {
        tell((Rank(0), 0), false);
    }
    while let Some(run) = runs.next() {
        let count = u32::try_from(run.len()).expect("groups are of ranks");
        tell((run[0], count), runs.peek().is_some());
    }
    Ok(())
}

/// The ranks of a group; a bug puts them into their order.
#[cfg(feature = "mutants")]
fn ordered(messages: &Messages, group: &Arc<[Rank]>) -> Arc<[Rank]> {
    let mut ranks = group.to_vec();
    if messages.site().job.has(Mutant::CreatesInOrder) {
        ranks.sort_unstable();
    }
    ranks.into()
}

/// Bugs take other ranks of the other side into a part of a split.
#[cfg(feature = "mutants")]
fn parted(
    messages: &Messages,
    (sides, choices): (&Sides, &[Choice]),
    parts: Option<Sides>,
) -> Option<Sides> {
    let job = &messages.site().job;
    if job.has(Mutant::AloneAcross) && parts.is_none() {
        return Some(sides.clone());
    }
    let is_first = Arc::ptr_eq(sides.in_order()[0], &sides.local);
    let before = if is_first { sides.local.size() as usize } else { 0 };
    let color = |rank: usize| choices[before + rank].color;
    let of = |has: &dyn Fn(usize, u32) -> bool| {
        let old = sides.remote.members().iter().enumerate();
        let ranks: Vec<u32> =
            old.filter(|(rank, it)| has(*rank, **it)).map(|(_, it)| *it).collect();
        Arc::new(Group::new(ranks).expect("each process once"))
    };
    let parts = parts?;
    let remote = if job.has(Mutant::OldOrderAcross) {
        of(&|_, process| parts.remote.rank(process).is_some())
    } else if job.has(Mutant::AnyColorAcross) {
        of(&|rank, _| color(rank) == color(0))
    } else {
        return Some(parts);
    };
    Some(Sides { remote, ..parts })
}

/// Bugs read other edges than were named.
#[cfg(feature = "mutants")]
fn bent(messages: &Messages, agreeing: &Agreeing, edges: Vec<(Rank, Rank)>) -> Vec<(Rank, Rank)> {
    let job = &messages.site().job;
    if job.has(Mutant::EdgesTurned) {
        edges.into_iter().map(|(from, to)| (to, from)).collect()
    } else if job.has(Mutant::OwnEdges) {
        agreeing.own_edges()
    } else {
        edges
    }
}

/// A communicator of this group in a context that all agree on.
fn communicator(context: u32, group: Arc<Group>, out: &mut Vec<LibraryAction>) -> Communicator {
    let (context, internal) = (Context(context), Context(context + 1));
    push_fact(GroupFact::Opened { context }, out);
    Communicator { context, internal, group }
}

fn enter(
    messages: &mut Messages,
    new: Comm,
    context: u32,
    group: Arc<Group>,
    out: &mut Vec<LibraryAction>,
) {
    let communicator = communicator(context, group, out);
    messages.communicators_mut().0.add(new, communicator);
}

/// Both groups of an intercommunicator know each other.
fn two_groups(
    messages: &mut Messages,
    local: Arc<Group>,
    new: Comm,
    coupling: &Coupling,
    out: &mut Vec<LibraryAction>,
) -> Result<(), ProtocolError> {
    let site = messages.site();
    let remote = Group::new(coupling.numbers());
    let remote = remote.map_err(|error| site.refuse("the other group is none", error))?;
    if let Some(both) = local.intersection(&remote).members().first() {
        let state = "the groups of an intercommunicator share no process";
        return Err(site.refuse(state, format!("process {both} is in both")));
    }
    let sides = Sides { local, remote: Arc::new(remote) };
    enter_sides(messages, new, coupling.context(), sides, out);
    Ok(())
}

fn enter_sides(
    messages: &mut Messages,
    new: Comm,
    context: u32,
    sides: Sides,
    out: &mut Vec<LibraryAction>,
) {
    let [first, second] = sides.in_order();
    let both = Arc::new(first.union(second));
    let communicator = communicator(context, both, out);
    messages.communicators_mut().0.add_sides(new, sides, communicator);
}

/// All processes of the parent have sent how many endpoints they have.
fn endpoints_created(
    messages: &mut Messages,
    agreeing: &Agreeing,
    (first, count): (Comm, u16),
    out: &mut Vec<LibraryAction>,
) -> Result<(), ProtocolError> {
    let site = messages.site();
    let parent = messages.communicators().get(site, agreeing.parent)?;
    let parent_rank = parent.rank(site.me.0).expect("a member made the call");
    let members = parent.group.members().iter().copied().collect();
    let agreement = agreeing.agreement();
    let (counts, context) = (agreement.counts(), Context(agreement.context()));
    #[cfg(feature = "mutants")]
    let counts = counted(counts, count, site.job.has(Mutant::OwnCount));
    let group = EndpointGroup::new(counts, members);
    let group = group.map_err(|error| site.refuse("no endpoints are made", error))?;
    push_fact(GroupFact::Opened { context }, out);
    let id = messages.communicators().endpoints().map_or(0, EndpointTable::next_id);
    if let Some(named) = named(&group, (parent_rank, count), context, id) {
        push_fact(named, out);
    }
    messages.open_endpoints(
        context,
        (agreeing.parent, parent_rank),
        Arc::new(group),
        (first, count),
        out,
    );
    Ok(())
}

/// The ranks that this process's endpoints have, and the name of the first.
fn named(
    group: &EndpointGroup,
    (parent, count): (Rank, u16),
    context: Context,
    id: u32,
) -> Option<GroupFact> {
    let ((process, _), first) = (group.locate(Rank(0))?, group.rank(parent, 0)?);
    let of = GroupId { context, first: process, prepared: None };
    Some(GroupFact::Named { of, parent, first, count: count.into(), size: group.size(), id })
}

/// The numbers of endpoints of all processes; a bug takes the own one for all.
#[cfg(feature = "mutants")]
fn counted(
    counts: impl ExactSizeIterator<Item = u16>,
    own: u16,
    wrong: bool,
) -> impl ExactSizeIterator<Item = u16> {
    counts.map(move |count| if wrong { own } else { count })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_travel_as_words() {
        let all = [0, 1, 65_535, 65_536, 4_000_000_000, u32::MAX];
        assert_eq!(numbers(&words(all)), all);
        for color in [None, Some(0), Some(i32::MAX)] {
            for key in [0, -1, i32::MIN, i32::MAX] {
                let choice = Choice { color, key };
                assert_eq!(decoded(&encoded(choice)), choice);
            }
        }
    }
}
