//! Collectives: rounds of an algorithm, carried out with the library's own messages.
//!
//! ```text
//!   begin ──▶ start the moves of a round ──all complete──▶ its work ──▶ next round … ──▶ return
//! ```
//!
//! Messages go by the internal context of the communicator and take the paths of any other message:
//! eager up to the threshold, else by rendezvous, matched in the same queues. Each has a request of
//! its own, [`Key::Part`], named by its place in the round. What a rank knows of the collective is
//! only how far it is: the moves of its round are requested again when they are complete.
//!
//! An inner message costs less code than one of the program: its arguments are known to be right,
//! so that starting one is a [`CodePath::Control`] for a send and nothing beyond the queue walk for a
//! receive. Those that begin now and end later (`MPI_Iallreduce`) are in `background.rs`.

use std::sync::Arc;

use super::answers::{push_fact, push_return};
use super::endpoints::Member;
use super::messages::Messages;
use super::messages::sends::InternalMessage;
#[cfg(feature = "mutants")]
use super::schedule::{self, Standing};
use super::scratch;
use super::{
    Action, Key, LibraryAction, Note, Outcome, ProtocolError, Region, Reply, Selection, Space,
    Thread,
};
use crate::call::{Comm, Status};
use crate::contract::{CodePath, Emit};
#[cfg(feature = "mutants")]
use crate::mutant::Mutant;
use calls::packing::Task;
use collectives::{At, Between, Blocks, Collective, Kind, Move, Round, Turn, Work};
use mpi::envelope::Rank;
use mpi::observation::{GroupFact, GroupId};
#[cfg(feature = "mutants")]
use mpi::operator::Reduction;
use mpi::topology::Neighbours;

/// Reason for a refusal where a rank sends a block of one length and its receiver expects another one.
const DISAGREE: &str = "the arguments of the two do not agree";

/// A collective that a thread is inside.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Running {
    pub(super) call: Arc<Collective>,
    pub(super) of: GroupId,
    pub(super) rank: Rank,
    size: u32,
    at: At,
    /// Moves of this round that are not complete.
    pub(super) remaining: u32,
    /// The number of its communicator; that of the call, until the program frees it.
    pub(super) comm: Comm,
    /// Thread, or threads, that advance its rounds.
    pub(super) place: Place,
}

/// Thread, or threads, that advance the rounds of a collective.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Place {
    /// A thread that is inside it.
    Inside(Thread),
    /// Whichever thread makes progress, for the collective of this slot.
    Background {
        /// Its slot.
        slot: u16,
        /// Its place in the order of the communicator.
        turn: Turn,
    },
}

impl Running {
    /// How far it is: its round, and the messages of it that are not complete.
    pub(super) const fn so_far(&self) -> (At, u32) {
        (self.at, self.remaining)
    }
}

impl Place {
    /// The request of one message of a round.
    fn part(self, index: u16) -> Key {
        match self {
            Self::Inside(thread) => Key::Part(thread, index),
            Self::Background { slot, .. } => Key::Later(slot, index),
        }
    }

    /// The scratch space.
    fn scratch(self) -> Space {
        match self {
            Self::Inside(thread) => scratch::of_thread(thread),
            Self::Background { slot, .. } => scratch::of_begun(slot),
        }
    }

    /// Where a collective in place puts aside what it was given.
    fn aside(self) -> Space {
        match self {
            Self::Inside(thread) => scratch::aside_of_thread(thread),
            Self::Background { slot, .. } => scratch::aside_of_begun(slot),
        }
    }

    /// The function that the program called.
    pub(super) fn function(self, call: &Collective) -> &'static str {
        match self {
            Self::Inside(_) => call.function(),
            Self::Background { turn: Turn::Begun(_), .. } => call.functions().begins,
            Self::Background { turn: Turn::Prepared(_), .. } => call.functions().prepares,
        }
    }

    /// The number of its order, where its ranks start it in any order.
    const fn prepared(self) -> Option<u32> {
        match self {
            Self::Background { turn: Turn::Prepared(number), .. } => Some(number),
            Self::Background { turn: Turn::Begun(_), .. } | Self::Inside(_) => None,
        }
    }

    fn tag(self, kind: Kind, own: u16) -> i32 {
        match self {
            Self::Inside(_) => kind.tag(own),
            Self::Background { turn, .. } => kind.tag_begun(turn, own),
        }
    }
}

/// State that the collectives of one process share.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Collectives {
    /// Room for the round that is looked at, kept from one to the next.
    round: Note<Round>,
    /// The barrier that was called last, for the next one.
    barrier: Note<Option<Arc<Collective>>>,
}

impl Collectives {
    /// As [`super::Machine::touch`].
    pub(super) fn touch(&self) -> u64 {
        let sends = |one: &Move| u64::from(matches!(one, Move::Send { .. }));
        self.round.0.moves.first().map_or(0, sends)
    }

    /// The collective of an `MPI_Barrier`.
    pub(super) fn barrier(&mut self, comm: Comm) -> Arc<Collective> {
        match &self.barrier.0 {
            Some(barrier) if barrier.comm == comm => Arc::clone(barrier),
            _ => Arc::clone(self.barrier.0.insert(Arc::new(Collective::barrier(comm)))),
        }
    }

    /// Goes through the rounds of a collective that its call waits for; the call returns after the
    /// last one, else the collective is answered.
    pub(super) fn go_on(
        &mut self,
        messages: &mut Messages,
        thread: Thread,
        mut running: Running,
        out: &mut impl Emit<LibraryAction>,
    ) -> Result<Option<Running>, ProtocolError> {
        if self.begin_rounds(messages, thread, &mut running, out)? {
            end(thread, &running, out);
            return Ok(None);
        }
        Ok(Some(running))
    }

    /// All moves of the round that a rank is in are complete.
    pub(super) fn end_round(
        &mut self,
        messages: &mut Messages,
        running: &mut Running,
        out: &mut impl Emit<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let mut round = std::mem::take(&mut self.round.0);
        let found = running.ask(&mut round);
        #[cfg(feature = "mutants")]
        running.bend(messages, &mut round);
        debug_assert!(found, "a round that was begun is there");
        let finished = Self::finish_round(messages, running, &round, out);
        self.round.0 = round;
        finished?;
        running.at.round += 1;
        Ok(())
    }

    /// Begins rounds until one must wait; answers whether the last one is over.
    pub(super) fn begin_rounds(
        &mut self,
        messages: &mut Messages,
        thread: Thread,
        running: &mut Running,
        out: &mut impl Emit<LibraryAction>,
    ) -> Result<bool, ProtocolError> {
        let mut round = std::mem::take(&mut self.round.0);
        let ended = Self::rounds(messages, thread, running, &mut round, out);
        self.round.0 = round;
        ended
    }

    fn rounds(
        messages: &mut Messages,
        thread: Thread,
        running: &mut Running,
        round: &mut Round,
        out: &mut impl Emit<LibraryAction>,
    ) -> Result<bool, ProtocolError> {
        while running.ask(round) {
            #[cfg(feature = "mutants")]
            running.bend(messages, round);
            running.remaining = Self::start_round(messages, thread, running, round, out)?;
            if running.remaining > 0 {
                return Ok(false);
            }
            Self::finish_round(messages, running, round, out)?;
            running.at.round += 1;
        }
        Ok(true)
    }

    /// Starts the moves of a round; answers how many of them are not complete at once.
    fn start_round(
        messages: &mut Messages,
        thread: Thread,
        running: &Running,
        round: &Round,
        out: &mut impl Emit<LibraryAction>,
    ) -> Result<u32, ProtocolError> {
        if round.moves.len() > usize::from(u16::MAX) {
            let moves = round.moves.len();
            return Err(messages
                .site()
                .refuse("65,535 messages of one rank at once are the most", moves));
        }
        let (comm, kind, place) = (running.comm, running.call.kind, running.place);
        let tag_of = |tag| place.tag(kind, tag);
        #[cfg(feature = "mutants")]
        let equal = messages.site().job.has(Mutant::EqualTags);
        #[cfg(feature = "mutants")]
        let tag_of = |tag| if equal { i32::from(tag) } else { tag_of(tag) };
        // A rank that has one message only would call MPI_Send or MPI_Recv, one that has several
        // their non-blocking forms, and so does one that does not wait.
        let blocking = round.moves.len() == 1 && matches!(place, Place::Inside(_));
        for (key, one) in parts(place, round) {
            match *one {
                Move::Send { to, tag, region } => {
                    let tag = tag_of(tag);
                    let letter = InternalMessage { comm, to, tag, region, outer: None };
                    messages.send_part(thread, (key, blocking), letter, out)?;
                }
                Move::Receive { from, tag, region } => {
                    let Member { internal: context, rank: dest, .. } =
                        messages.member(thread, comm)?;
                    let (source, tag) = (Some(from), Some(tag_of(tag)));
                    let selection = Selection { context, dest, source, tag };
                    let posted = (key, blocking);
                    messages.receive_part(thread, posted, comm, selection, region, out)?;
                }
            }
        }
        let mut remaining = 0;
        let waiter = matches!(place, Place::Inside(_)).then_some(thread);
        for (key, _) in parts(place, round) {
            remaining += u32::from(messages.await_end(key, waiter));
        }
        Ok(remaining)
    }

    /// All moves of a round are complete: closes their requests, and does the round's work.
    fn finish_round(
        messages: &mut Messages,
        running: &Running,
        round: &Round,
        out: &mut impl Emit<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        for (key, one) in parts(running.place, round) {
            if messages.requests().get(key).is_none() {
                continue;
            }
            let outcome = messages.close(key);
            if let Move::Receive { from, region, .. } = one {
                running.check(*from, region.len, outcome)?;
            }
        }
        for work in &round.work {
            match *work {
                // In place it is there already.
                Work::Copy { from, to } if from == to => {}
                Work::Copy { from, to } => out.emit(|| Action::Copy { from, to }),
                Work::Combine { from, into, side } => {
                    let reduction = running.call.reduction;
                    let reduction = reduction.expect("only reductions combine");
                    out.emit(|| Action::Combine { from, into, reduction, side });
                }
            }
        }
        Ok(())
    }
}

impl Running {
    /// The calling rank takes part in a collective from now on; `inside` knows the collective that
    /// another thread is inside as the same rank: a rank takes part once.
    pub(super) fn enter(
        messages: &Messages,
        thread: Thread,
        (mut call, place): (Arc<Collective>, Place),
        inside: impl Fn(Comm, Rank) -> Option<&'static str>,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Self, ProtocolError> {
        let Groups { between, neighbours } = groups(messages, thread, &call)?;
        if between.is_some() || neighbours.is_some() {
            let call = Arc::make_mut(&mut call);
            (call.between, call.neighbours) = (between, neighbours);
        }
        #[cfg(feature = "mutants")]
        let call = apart(messages, thread, call)?;
        let names = (place.function(&call), place.prepared());
        let (of, rank, size) = enters(messages, thread, (&call, names), inside, out)?;
        let comm = call.comm;
        let in_place = call.in_place;
        #[cfg(feature = "mutants")]
        let in_place = in_place && !messages.site().job.has(Mutant::NeverAside);
        let call = if in_place { put_aside(call, (rank.0, size), place, out) } else { call };
        let call = if call.typed.is_some() { pack(call, place, out) } else { call };
        Ok(Self { call, of, rank, size, at: At::default(), remaining: 0, comm, place })
    }

    /// One of the moves of its round is complete; answers whether it was the last.
    pub(super) const fn part_complete(&mut self) -> bool {
        self.remaining -= 1;
        self.remaining == 0
    }

    /// The moves and the work of the round that this rank is in, or of the next one that there is;
    /// false after the last.
    fn ask(&mut self, round: &mut Round) -> bool {
        loop {
            round.clear();
            let scratch = self.place.scratch();
            if self.call.round((self.rank.0, self.size), scratch, self.at, round) {
                return true;
            }
            self.at = At { phase: self.at.phase + 1, round: 0 };
            if self.at.phase >= self.call.phases() {
                return false;
            }
        }
    }

    /// A planted bug changes what the rank does in a round.
    #[cfg(feature = "mutants")]
    fn bend(&self, messages: &Messages, round: &mut Round) {
        let Some(mutant) = messages.site().job.mutant() else { return };
        let begun = matches!(self.place, Place::Background { .. });
        let (algorithm, rank, size) = (self.call.algorithm, self.rank.0, self.size);
        let step = self.call.between.map(|_| (self.call.kind, self.at.phase));
        let in_order = !self.call.commutes();
        let round_of = self.at.round;
        let standing = Standing { algorithm, rank, size, round: round_of, begun, in_order, step };
        schedule::bend(mutant, &standing, round);
    }

    /// How far the rank is, in words.
    pub(super) fn standing(&self) -> String {
        let Collective { comm, algorithm, .. } = &*self.call;
        let At { phase, round } = self.at;
        if self.call.between.is_some() {
            let comm = comm.0;
            return format!(
                "step {phase}, round {round} between the groups of communicator {comm}"
            );
        }
        format!("round {round} of `{}` on communicator {}", algorithm.name(), comm.0)
    }

    /// The function that the program called.
    pub(super) fn function(&self) -> &'static str {
        self.place.function(&self.call)
    }

    /// The fact that its rank leaves it, which has entered `since` others after it.
    pub(super) fn left(&self, since: u32) -> GroupFact {
        let Self { call, of, rank, .. } = self;
        let (operation, barrier) = (self.function(), call.kind == Kind::Barrier);
        GroupFact::Left { of: *of, rank: *rank, since, operation, barrier }
    }

    /// Both sides of a message must agree on its length: that of the arguments of the two ranks.
    fn check(&self, from: Rank, bytes: u64, outcome: Outcome) -> Result<(), ProtocolError> {
        let found = match outcome {
            Outcome::Received(Status { count, .. }) if count == bytes => return Ok(()),
            Outcome::Received(Status { count, .. }) => format!("{count} B come"),
            Outcome::Truncated(_) => format!("more than {bytes} B come"),
            Outcome::Sent | Outcome::Cancelled => "nothing comes".to_owned(),
        };
        let state =
            format!("rank {} waits for {bytes} B of rank {} ({DISAGREE})", self.rank.0, from.0);
        Err(ProtocolError::refused(self.function(), state, found))
    }
}

/// The calling rank enters a function of a collective, and its monitors get it: the communicator, or the
/// operation that was prepared there as so-many-th, with the rank and the number of ranks.
fn enters(
    messages: &Messages,
    thread: Thread,
    (call, (function, prepared)): (&Collective, (&'static str, Option<u32>)),
    inside: impl Fn(Comm, Rank) -> Option<&'static str>,
    out: &mut Vec<LibraryAction>,
) -> Result<(GroupId, Rank, u32), ProtocolError> {
    out.emit(|| Action::Work(CodePath::Query));
    let (site, comm) = (messages.site(), call.comm);
    let member = messages.member(thread, comm)?;
    let Member { context, rank, size, .. } = member;
    if let Err((state, input)) = judged(call, size) {
        return Err(site.refuse(state, input));
    }
    if let Some((gives, takes)) = call.own_block(rank) {
        let state = format!("rank {} waits for {takes} B of itself ({DISAGREE})", rank.0);
        return Err(ProtocolError::refused(function, state, format!("{gives} B come")));
    }
    if let Some(other) = inside(comm, rank) {
        let state = format!("another thread of rank {} is inside {other}", rank.0);
        return Err(site.refuse(&state, function));
    }
    let first = messages.communicators().route(site, comm, &member, Rank(0))?.peer.0;
    let of = GroupId { context, first, prepared };
    push_fact(GroupFact::Entered { of, rank, size, function }, out);
    for argument in call.arguments(rank, size) {
        push_fact(GroupFact::Gives { of, rank, argument }, out);
    }
    Ok((of, rank, size))
}

/// Participants of a collective that is not among one group: two groups, or neighbours.
struct Groups {
    between: Option<Between>,
    neighbours: Option<Neighbours>,
}

fn groups(messages: &Messages, thread: Thread, call: &Collective) -> Result<Groups, ProtocolError> {
    let between = messages.communicators().between(call.comm);
    #[cfg(feature = "mutants")]
    let between = between.map(|between| bent(messages, call, between));
    let Some(places) = &call.neighbours else {
        return Ok(Groups { between, neighbours: None });
    };
    let rank = messages.member(thread, call.comm)?.rank;
    let Some(topology) = messages.communicators().topology(call.comm) else {
        let state = "the ranks of the communicator are no neighbours";
        return Err(messages.site().refuse(state, call.function()));
    };
    let Some(found) = topology.neighbours(rank) else {
        let state = "the graph has more edges from one rank to another than back";
        return Err(messages.site().refuse(state, call.function()));
    };
    if places.degrees() != found.degrees() {
        let [sources, destinations] = found.degrees();
        let state =
            format!("rank {} has {sources} sources and {destinations} destinations", rank.0);
        return Err(messages.site().refuse(&state, call.function()));
    }
    #[cfg(feature = "mutants")]
    let found = astray(messages, found);
    Ok(Groups { between, neighbours: Some(found) })
}

/// A bug looks the root up in the own group.
#[cfg(feature = "mutants")]
fn bent(messages: &Messages, call: &Collective, between: Between) -> Between {
    if call.kind.has_root() && messages.site().job.has(Mutant::RootInOwn) {
        Between { other: between.own, ..between }
    } else {
        between
    }
}

/// Bugs take the neighbours of a rank for others.
#[cfg(feature = "mutants")]
fn astray(messages: &Messages, found: Neighbours) -> Neighbours {
    let job = &messages.site().job;
    if job.has(Mutant::NoDirection) {
        Neighbours { of_grid: false, ..found }
    } else if job.has(Mutant::SendsToSources) {
        Neighbours { destinations: Arc::clone(&found.sources), ..found }
    } else if job.has(Mutant::ForgetsLast) {
        let mut sources = found.sources.to_vec();
        if let Some(last) = sources.last_mut() {
            *last = None;
        }
        Neighbours { sources: sources.into(), ..found }
    } else {
        found
    }
}

/// Bugs take an operator for one that commutes, or another algorithm, in one rank.
#[cfg(feature = "mutants")]
fn apart(
    messages: &Messages,
    thread: Thread,
    mut call: Arc<Collective>,
) -> Result<Arc<Collective>, ProtocolError> {
    let job = &messages.site().job;
    if messages.member(thread, call.comm)?.rank != Rank(1) {
        return Ok(call);
    }
    if job.has(Mutant::ForgetsOrder)
        && let Some(reduction) = call.reduction
    {
        Arc::make_mut(&mut call).reduction =
            Reduction::new(reduction.operator(), reduction.datatype());
    } else if job.has(Mutant::ChoosesAlone) {
        let other = call.algorithms().find(|other| *other != call.algorithm);
        if let Some(other) = other {
            Arc::make_mut(&mut call).algorithm = other;
        }
    }
    Ok(call)
}

/// Whether a communicator of so many ranks has a collective; else why not.
fn judged(call: &Collective, size: u32) -> Result<(), (&'static str, String)> {
    let Some(Between { other, .. }) = call.between else {
        let known = !call.kind.has_root() || call.root.0 < size;
        return if known {
            Ok(())
        } else if call.root == Between::ROOT || call.root == Between::NO_ROOT {
            Err(("a communicator of one group has a rank as its root", call.function().to_owned()))
        } else {
            Err(("the communicator has no such rank", format!("rank {}", call.root.0)))
        };
    };
    let named = !matches!(call.root, Between::ROOT | Between::NO_ROOT);
    if !Between::has(call.kind) {
        Err(("the operation is not defined between two groups", call.function().to_owned()))
    } else if call.in_place {
        Err(("MPI_IN_PLACE is for one group", call.function().to_owned()))
    } else if call.kind.has_root() && named && call.root.0 >= other.size {
        Err(("the other group has no such rank", format!("rank {}", call.root.0)))
    } else {
        Ok(())
    }
}

/// The calling rank prepares a collective: its place in the order of the collectives of its group is that of this call.
pub(super) fn prepares(
    messages: &Messages,
    thread: Thread,
    call: &Collective,
    inside: impl Fn(Comm, Rank) -> Option<&'static str>,
    out: &mut Vec<LibraryAction>,
) -> Result<GroupId, ProtocolError> {
    let Groups { between, neighbours } = groups(messages, thread, call)?;
    let call = &Collective { between, neighbours, ..call.clone() };
    let operation = call.functions().prepares;
    let (of, rank, _) = enters(messages, thread, (call, (operation, None)), inside, out)?;
    push_fact(GroupFact::Left { of, rank, since: 0, operation, barrier: false }, out);
    Ok(of)
}

/// A collective in place: where its algorithm writes over what it reads later, that is copied first.
fn put_aside(
    mut call: Arc<Collective>,
    member: (u32, u32),
    place: Place,
    out: &mut Vec<LibraryAction>,
) -> Arc<Collective> {
    if call.overwrites(member) {
        let from = call.input;
        let to = Region { space: place.aside(), ..from };
        out.emit(|| Action::Copy { from, to });
        Arc::make_mut(&mut call).input = to;
    }
    call
}

/// A collective with blocks of datatypes: those in pieces are packed.
fn pack(mut call: Arc<Collective>, place: Place, out: &mut Vec<LibraryAction>) -> Arc<Collective> {
    let Collective { input, output, sends, receives, typed, neighbours, .. } =
        Arc::make_mut(&mut call);
    let Some(typed) = typed else { return call };
    let bytes = |blocks: &Blocks| blocks.extent(u32::MAX);
    let packed = [bytes(sends), bytes(receives)];
    [*input, *output] = typed.pack([*input, *output], packed, place.aside());
    let goes = |place: usize| {
        neighbours
            .as_ref()
            .is_none_or(|all| all.destinations.get(place).is_some_and(Option::is_some))
    };
    for copy in typed.copies(Task::Pack, (*input, sends), goes) {
        out.emit(|| Action::Pack(copy));
    }
    call
}

/// Blocks that lie in pieces are unpacked.
pub(super) fn unpack(call: &Collective, out: &mut impl Emit<LibraryAction>) {
    let Some(typed) = &call.typed else { return };
    let comes = |place: usize| {
        let neighbours = call.neighbours.as_ref();
        neighbours.is_none_or(|all| all.sources.get(place).is_some_and(Option::is_some))
    };
    for copy in typed.copies(Task::Unpack, (call.output, &call.receives), comes) {
        out.emit(|| Action::Pack(copy));
    }
}

/// The moves of a round, each with its request.
fn parts(place: Place, round: &Round) -> impl Iterator<Item = (Key, &Move)> {
    let numbered = (0_u16..=u16::MAX).zip(&round.moves);
    numbered.map(move |(index, one)| (place.part(index), one))
}

/// The buffers belong to the program again, and the call returns.
fn end(thread: Thread, running: &Running, out: &mut impl Emit<LibraryAction>) {
    unpack(&running.call, out);
    push_fact(running.left(0), out);
    for buffer in running.call.buffers().into_iter().flatten() {
        out.emit(|| Action::Complete { code: None, buffer: Some(buffer), fact: None });
    }
    push_return(thread, Reply::Done, out);
}
