//! Intercommunicators of endpoints, made and merged while the program runs.
//!
//! ```text
//!   create  enter   all of the process meet, and name the leader
//!           maker   gather who the endpoints are; leaders tell each other; maps, by `intercomm`
//!                   MPI_Comm_split      ─▶ the processes of A that stay in A'
//!                   MPI_Intercomm_create, leaders as they are after a move
//!           end     all meet, and each waits for its place in A' or B'
//!   merge   enter   all of the process meet, of both sides, and show their high
//!           maker   gather high of all; MPI_Intercomm_merge; order, by `merge`
//! ```
//!
//! The maker of a process is the leader in its own process and the master elsewhere. A process of
//! both groups has two, and they call MPI beside each other: each for its own group. In case 3c one of
//! them duplicates the communicator of its group, and no intercommunicator of MPI is made.
//!
//! Source: `xios-ep` Sec. 6.2, 6.3. Left out: freeing; how leaders tell each other in MPI calls, which
//! the document does not say: here the numbers travel in headers.

use std::sync::Arc;

use super::making::{Made, Opened, Wish};
use super::thread::{Endpoint, Member, Step};
use super::{Found, SharedOp, SharedReply};
use crate::intercomm::{self, Caller, Channel, Intercomm, Members, Thread as Identity, couple};
use crate::merge::{Merged, merge};
use crate::message::{self, Probed, RelocateError};
use crate::rank_map::{Place, RankMap};
use crate::tag::{Fields, TagError};
use mpi::envelope::Rank;
use mpi::intercommunicator::Side;
use protocols::call::{Comm, CommCall, Over, Peer, Reply};
use protocols::contract::Thread;

/// Refusal of a call that an intercommunicator of endpoints does not offer.
pub(super) const OFFERED: &str =
    "an intercommunicator of endpoints has point-to-point messages and a merge only";

/// Arguments of an endpoint that makes an intercommunicator.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Meeting {
    /// The leader's rank in the communicator.
    pub leader: Rank,
    /// The communicator of both leaders, where the leader says it.
    pub peer: Comm,
    /// The other leader's rank there.
    pub remote: Rank,
    /// The tag of the leaders' exchange.
    pub tag: i32,
}

/// State of an endpoint in an intercommunicator beside its place in the assigned group.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Across {
    /// Both groups, and all maps.
    pub inter: Arc<Intercomm>,
    /// The side that it is on.
    pub side: Side,
    /// Its rank there.
    pub rank: Rank,
    /// MPI's intercommunicator of both assigned groups; none in case 3c.
    pub beside: Option<Comm>,
    /// The side whose assigned group it is in.
    home: Side,
}

/// State of a process in an intercommunicator.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Between {
    inter: Arc<Intercomm>,
    home: Side,
    /// Its rank in the assigned group.
    process: u32,
    beside: Option<Comm>,
}

/// Facts that a maker has so far.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Known {
    /// Its group.
    own: Option<Arc<Members>>,
    inter: Option<(Arc<Intercomm>, Side)>,
    /// The tag that both leaders said: others may say any.
    tag: i32,
    /// The communicator of the assigned group.
    home: Option<Comm>,
    merged: Option<Arc<Merged>>,
}

impl Across {
    /// Number of endpoints that may be named.
    pub fn remote_size(&self) -> u32 {
        self.inter.groups[self.side.other() as usize].size()
    }
}

impl Between {
    /// State of the endpoint at a place of the assigned group.
    pub(super) fn of(&self, place: Place) -> Across {
        let group = self.inter.assigned_to(self.home);
        let rank = group.rank_map.rank(place).expect("a place of the assigned group");
        let (side, rank) = group.members[rank.0 as usize];
        let (inter, beside) = (Arc::clone(&self.inter), self.beside);
        Across { inter, side, rank, beside, home: self.home }
    }

    /// Source, tag and receiver of a message that came through the communicator of the assigned
    /// group, or through the one beside it.
    pub(super) fn read(
        &self,
        at_home: bool,
        probed: &Probed<Found>,
    ) -> Result<(Rank, i32, u32), RelocateError> {
        let label = self.inter.assigned_to(self.home).label;
        let channel = if at_home { Channel::Intra { label } } else { Channel::Inter };
        let came = (self.process, probed.source, probed.tag);
        message::read_between(&self.inter, self.home, channel, came)
    }
}

/// Message of a leader to the other one, sent as numbers.
struct LeaderMessage {
    /// The rank of the telling leader in the peer communicator.
    peer: Rank,
    caller: Caller,
}

impl LeaderMessage {
    fn numbers(&self) -> Arc<[u32]> {
        let Caller { members, leader, remote_leader, tag } = &self.caller;
        let map = &members.rank_map;
        let first = [self.peer.0, remote_leader.0, tag.cast_unsigned(), leader.0];
        let endpoint = |(thread, place): (&Identity, &Place)| {
            [thread.process, thread.thread, place.local, place.process]
        };
        let all = members.threads.iter().zip(map.places()).flat_map(endpoint);
        first.into_iter().chain([map.process_count()]).chain(all).collect()
    }

    fn read(numbers: &[u32]) -> Result<Self, String> {
        let (&[peer, remote, tag, leader, processes], all) =
            numbers.split_first_chunk().ok_or("the other leader tells nothing")?;
        let threads = all.chunks_exact(4).map(|one| Identity { process: one[0], thread: one[1] });
        let places = all.chunks_exact(4).map(|one| Place { local: one[2], process: one[3] });
        let map = RankMap::new(places.collect(), processes).map_err(|error| error.to_string())?;
        let members = Members::new(map, threads.collect()).map_err(|error| error.to_string())?;
        let caller = Caller {
            members: Arc::new(members),
            leader: Rank(leader),
            remote_leader: Rank(remote),
            tag: tag.cast_signed(),
        };
        Ok(Self { peer: Rank(peer), caller })
    }
}

fn words<T, E: ToString>(result: Result<T, E>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

/// The tag of what one leader's thread says to the other one's, by which MPI tells a creation from all
/// others between the same processes: no other has these two threads at the same time.
///
/// `MPI_Intercomm_create` has one tag for both directions. Between two processes it is named by the
/// thread of the lower one first, whichever sends; within one, where only the library's own words
/// pass, each direction has its tag.
fn of_leaders(tag: i32, [from, to]: [Place; 2]) -> Result<i32, TagError> {
    let (first, second) = if from.process <= to.process { (from, to) } else { (to, from) };
    Fields { tag, sender: first.local, receiver: second.local }.encode()
}

fn or_refuse(step: Result<Step, String>) -> Step {
    step.unwrap_or_else(|words| Step::refuse(&words))
}

impl Endpoint {
    /// Process, tag and communicator of MPI of a message to a rank of the other side.
    #[cfg_attr(
        not(feature = "mutants"),
        expect(clippy::unused_self, reason = "planted bugs ask it")
    )]
    pub(super) fn across(
        &self,
        across: &Across,
        home: Comm,
        to: Rank,
        tag: i32,
    ) -> Result<(Peer, i32, Comm), String> {
        let route = words(across.inter.route(across.side, across.rank, to))?;
        #[cfg(feature = "mutants")]
        let route = self.as_printed((across, across.home), to, route)?;
        let beside = || across.beside.expect("labels differ where there are two assigned groups");
        let comm = if route.channel == Channel::Inter { beside() } else { home };
        Ok((Peer::Rank(Rank(route.process)), words(route.tag(tag))?, comm))
    }

    /// Checks the call, as far as the caller knows; the error is a sentence.
    pub(super) fn check_meeting(&self, old: &Member, meeting: Meeting) -> Result<(), String> {
        let Meeting { leader, peer, remote, .. } = meeting;
        let size = old.map.size();
        let place = old.map.place(leader);
        let place =
            place.ok_or_else(|| format!("the leader is endpoint {} of {size}", leader.0))?;
        if place != old.place {
            return Ok(());
        }
        let peer = self.comms.get(&peer).filter(|peer| peer.across.is_none());
        let peer = peer.ok_or("the leader is in no such peer communicator")?;
        let size = peer.map.size();
        if peer.map.place(remote).is_none() {
            return Err(format!("the other leader is endpoint {} of {size}", remote.0));
        }
        words(Self::over(peer, meeting)).map(|_| ())
    }

    /// The way from leader to leader.
    fn over(peer: &Member, Meeting { remote, tag, .. }: Meeting) -> Result<Over, TagError> {
        let there = peer.map.place(remote).expect("checked when the call began");
        let (own, other) = (peer.place, there);
        let tag = |from, to| of_leaders(tag, [from, to]);
        Ok(Over {
            peer: peer.mpi,
            remote: Rank(there.process),
            says: tag(own, other)?,
            hears: tag(other, own)?,
        })
    }

    /// World rank of this process.
    fn world(&self) -> u32 {
        self.comms[&Comm::default()].place.process
    }

    fn meeting_of(&mut self) -> Meeting {
        let Wish::Couple(meeting) = self.making().wish else {
            unreachable!("asked of who makes an intercommunicator")
        };
        meeting
    }

    /// A maker begins: who are the endpoints of this process?
    pub(super) fn identify(&mut self) -> Step {
        let world = self.world();
        let Member { mpi, map, threads, .. } = self.old();
        let most = map.processes().map(|process| map.local_size(process)).max().unwrap_or(0);
        let mut own = vec![world];
        own.extend(threads.iter().map(|thread| u32::from(thread.0)));
        own.resize(1 + most as usize, u32::MAX);
        let call = CommCall::Numbers { comm: *mpi, own: own.into() };
        self.call(Made::Identified, call)
    }

    fn identified(&mut self, all: &[u32]) -> Result<Step, String> {
        let meeting = self.meeting_of();
        let Member { mpi, map, place, .. } = self.old();
        let width = all.len() / map.process_count().max(1) as usize;
        let thread = |place: &Place| {
            let row = &all[place.process as usize * width..];
            Identity { process: row[0], thread: row[1 + place.local as usize] }
        };
        let threads = map.places().iter().map(thread).collect();
        let members = Arc::new(words(Members::new((**map).clone(), threads))?);
        let leader = map.place(meeting.leader).expect("checked when the call began");
        let (comm, mut own, mut over) = (*mpi, Arc::from([]), None);
        if leader == *place {
            let peer = &self.comms[&meeting.peer];
            let caller = Caller {
                members: Arc::clone(&members),
                leader: meeting.leader,
                remote_leader: meeting.remote,
                tag: meeting.tag,
            };
            let rank = peer.map.rank(peer.place).expect("an endpoint has a rank");
            own = LeaderMessage { peer: rank, caller }.numbers();
            over = Some(words(Self::over(peer, meeting))?);
        }
        self.making().known.own = Some(members);
        let leader = Rank(leader.process);
        Ok(self.call(Made::Swapped, CommCall::Couple { comm, leader, over, own }))
    }

    /// The other side is known: where does each process go?
    fn swapped(&mut self, all: &[u32]) -> Result<Step, String> {
        let meeting = self.meeting_of();
        let theirs = LeaderMessage::read(all)?;
        let members = self.making().known.own.take().expect("it was gathered before");
        let own_peer = theirs.caller.remote_leader;
        let mine = Caller {
            members,
            leader: meeting.leader,
            remote_leader: theirs.peer,
            tag: theirs.caller.tag,
        };
        self.making().known.tag = theirs.caller.tag;
        // A is the side whose leader has the lower rank in the peer communicator.
        let (side, [a, b]) = if own_peer < theirs.peer {
            (Side::A, [&mine, &theirs.caller])
        } else {
            (Side::B, [&theirs.caller, &mine])
        };
        let inter = Arc::new(words(couple(a, b))?);
        let world = self.world();
        let stays = match &inter.assigned[..] {
            [_] => inter.decided == intercomm::Leaders::Alone(side),
            _ => inter.assigned_to(side).processes.contains(&world),
        };
        let alone = inter.assigned.len() == 1;
        self.making().known.inter = Some((inter, side));
        if stays {
            return Ok(self.then(Made::HomeNumbered, Step::shared(SharedOp::Number)));
        }
        if alone {
            return Ok(self.end_making());
        }
        let call = self.part(None, Comm::default());
        Ok(self.call(Made::LeftHome, call))
    }

    /// The split of the own group into the processes that stay, and the others.
    fn part(&mut self, color: Option<i32>, new: Comm) -> CommCall {
        let Member { mpi, place, .. } = self.old();
        let key = i32::try_from(place.process).expect("fewer than 2^31 processes");
        CommCall::Split { comm: *mpi, color, key, new }
    }

    fn inter(&mut self) -> (Arc<Intercomm>, Side) {
        self.making().known.inter.clone().expect("the sides have met")
    }

    /// The intercommunicator of MPI between both assigned groups, or the next thing in case 3c.
    fn at_home(&mut self, home: Comm) -> Step {
        self.making().known.home = Some(home);
        let (inter, side) = self.inter();
        if inter.mpi_create(side).is_none() {
            return self.open_between(None);
        }
        self.then(Made::BesideNumbered, Step::shared(SharedOp::Number))
    }

    fn create_beside(&mut self, new: Comm) -> Result<Step, String> {
        let (inter, side) = self.inter();
        let create = inter.mpi_create(side).expect("there are two assigned groups");
        let leader = |side: Side| {
            let leader = inter.leaders[side as usize];
            let Identity { process, thread } =
                inter.groups[side as usize].threads[leader.0 as usize];
            // In the world of all endpoints, which is their peer here.
            Place { local: thread, process }
        };
        let tag = words(of_leaders(self.making().known.tag, Side::BOTH.map(leader)))?;
        let call = CommCall::Intercomm {
            comm: self.making().known.home.expect("it was made before"),
            leader: Rank(create.local_leader),
            peer: Comm::default(),
            remote_leader: Rank(create.remote_leader),
            tag,
            new,
        };
        Ok(self.call(Made::Joint(new), call))
    }

    fn open_between(&mut self, beside: Option<Comm>) -> Step {
        let (inter, home) = self.inter();
        let world = self.world();
        let group = inter.assigned_to(home);
        let process = group.processes.iter().position(|process| *process == world);
        let process = super::super::count(process.expect("it stays in its group"));
        let thread = |rank: &Rank| {
            let (side, rank) = group.members[rank.0 as usize];
            let thread = inter.groups[side as usize].threads[rank.0 as usize].thread;
            Thread(u16::try_from(thread).expect("threads are counted in u16"))
        };
        let opened = Opened {
            mpi: self.making().known.home.expect("it was made before"),
            map: Arc::new(group.rank_map.clone()),
            process,
            threads: group.rank_map.locals(process).iter().map(thread).collect(),
            between: Some(Between { inter: Arc::clone(&inter), home, process, beside }),
        };
        self.then(Made::Opened, Step::shared(SharedOp::Open([opened].into())))
    }

    /// Waits for the place in what is new.
    pub(super) fn take(&mut self) -> Step {
        self.then(Made::Taken, Step::shared(SharedOp::Take))
    }

    fn old_across(&self) -> &Across {
        self.old().across.as_ref().expect("only an intercommunicator is merged")
    }

    /// Flags of the endpoints of this process, behind its world rank.
    fn own_flags(&mut self) -> Vec<u32> {
        let high = |wish: &Wish| u32::from(matches!(wish, Wish::Merge { high: true }));
        let world = self.world();
        let wishes = &self.making().wishes;
        std::iter::once(world).chain(wishes.iter().map(high)).collect()
    }

    /// A maker begins to merge: what do all say?
    pub(super) fn gather_high(&mut self) -> Step {
        let mut own = self.own_flags();
        let Across { inter, beside, .. } = self.old_across();
        let Some(comm) = *beside else { return or_refuse(self.flagged(&own)) };
        let sizes = inter.assigned.iter().flat_map(|group| {
            group.rank_map.processes().map(|process| group.rank_map.local_size(process))
        });
        own.resize(1 + sizes.max().unwrap_or(0) as usize, 0);
        self.call(Made::Flagged, CommCall::Numbers { comm, own: own.into() })
    }

    fn flagged(&mut self, all: &[u32]) -> Result<Step, String> {
        let inter = Arc::clone(&self.old_across().inter);
        let processes: usize = inter.assigned.iter().map(|group| group.processes.len()).sum();
        let width = all.len() / processes;
        let mut high = [0, 1].map(|side| vec![false; inter.groups[side].size() as usize]);
        for group in &inter.assigned {
            for ((side, rank), place) in group.members.iter().zip(group.rank_map.places()) {
                let world = group.processes[place.process as usize];
                let row = all.chunks_exact(width).find(|row| row[0] == world);
                let row = row.ok_or_else(|| format!("process {world} says nothing"))?;
                high[*side as usize][rank.0 as usize] = row[1 + place.local as usize] == 1;
            }
        }
        let merged = words(merge(&inter, [&high[0], &high[1]]))?;
        self.making().known.merged = Some(Arc::new(merged));
        Ok(self.then(Made::MergeNumbered, Step::shared(SharedOp::Number)))
    }

    fn merged(&mut self) -> Arc<Merged> {
        self.making().known.merged.clone().expect("the sides have told their flags")
    }

    fn merge_into(&mut self, new: Comm) -> Step {
        let first = self.merged().order[0].0;
        let Across { beside, home, .. } = self.old_across();
        let call = match *beside {
            Some(comm) => CommCall::Merge { comm, high: *home != first, new },
            None => CommCall::Dup { comm: self.old().mpi, new },
        };
        self.call(Made::Merged(new), call)
    }

    fn open_merged(&mut self, mpi: Comm) -> Step {
        let (merged, world) = (self.merged(), self.world());
        let process = merged.processes.iter().position(|process| *process == world);
        let opened = Opened {
            mpi,
            map: Arc::new(merged.members.rank_map.clone()),
            process: super::super::count(process.expect("each process is in the merge")),
            threads: self.old().threads.clone(),
            between: None,
        };
        self.then(Made::Opened, Step::shared(SharedOp::Open([opened].into())))
    }

    /// MPI has answered the maker of an intercommunicator, or of a merge.
    pub(super) fn between_made(&mut self, made: Made, reply: Reply) -> Step {
        match (made, reply) {
            (Made::Identified, Reply::Numbers(all)) => or_refuse(self.identified(&all)),
            (Made::Swapped, Reply::Numbers(all)) => or_refuse(self.swapped(&all)),
            (Made::AtHome(home), Reply::Done) => self.at_home(home),
            (Made::LeftHome, Reply::Done) => self.end_making(),
            (Made::Joint(beside), Reply::Done) => self.open_between(Some(beside)),
            (Made::Flagged, Reply::Numbers(all)) => or_refuse(self.flagged(&all)),
            (Made::Merged(new), Reply::Done) => self.open_merged(new),
            (made, reply) => unreachable!("MPI answered {reply:?} to {made:?}"),
        }
    }

    /// Process memory has answered the maker.
    pub(super) fn between_told(&mut self, made: Made, reply: SharedReply) -> Step {
        match (made, reply) {
            (Made::HomeNumbered, SharedReply::Number(new)) => {
                let alone = self.inter().0.assigned.len() == 1;
                let call = if alone {
                    CommCall::Dup { comm: self.old().mpi, new }
                } else {
                    self.part(Some(0), new)
                };
                self.call(Made::AtHome(new), call)
            }
            (Made::BesideNumbered, SharedReply::Number(new)) => or_refuse(self.create_beside(new)),
            (Made::MergeNumbered, SharedReply::Number(new)) => self.merge_into(new),
            (made, reply) => unreachable!("process memory answered {reply:?} to {made:?}"),
        }
    }
}
