//! Collectives: rounds of an algorithm, carried out with the library's own messages.
//!
//! ```text
//!   begin ──▶ start the moves of a round ──all complete──▶ its work ──▶ next round … ──▶ return
//! ```
//!
//! Messages go by the internal context of the communicator and take the paths of any other message:
//! eager up to the threshold, else by rendezvous, matched in the same queues. Each has a request of
//! its own, [`Key::Part`], named by its place in the round. What a rank knows of the collective is
//! only how far it is: the moves of its round are asked for again when they are complete.
//!
//! An inner message costs less code than one of the program: its arguments are known to be right,
//! so that starting one is a [`Step::Control`] for a send and nothing beyond the queue walk for a
//! receive. Those that begin now and end later (`MPI_Iallreduce`) are in `background.rs`.

use std::sync::Arc;

use super::device;
use super::endpoints::Member;
use super::requests::{Body, Pending};
use super::{
    Action, Key, Library, LibraryAction, MessageHeader, MessageId, Outcome, ProtocolError, Region,
    Reply, Selection, Space, Thread, push_return,
};
use crate::call::{Comm, SendMode, Status};
use crate::collectives::{At, Collective, Kind, Move, Round, Work};
use crate::contract::{Emit, Step, Wait};
use crate::eager;
#[cfg(feature = "mutants")]
use crate::mutant::Mutant;
use mpi::envelope::Rank;
use mpi::observation::{GroupFact, GroupId, Observation};

/// A collective that a thread is inside.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Running {
    pub(super) call: Arc<Collective>,
    pub(super) of: GroupId,
    rank: Rank,
    size: u32,
    at: At,
    /// Moves of this round that are not complete.
    pub(super) remaining: u32,
    /// The number of its communicator; that of the call, until the program frees it.
    pub(super) comm: Comm,
    /// Who goes through its rounds.
    pub(super) place: Place,
}

/// Who goes through the rounds of a collective.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Place {
    /// A thread that is inside it.
    Inside(Thread),
    /// Whichever thread makes progress, for the collective of this slot.
    Background {
        /// Its slot.
        slot: u16,
        /// Its number on the communicator.
        number: u32,
    },
}

impl Place {
    /// The request of one message of a round.
    fn part(self, index: u16) -> Key {
        match self {
            Self::Inside(thread) => Key::Part(thread, index),
            Self::Background { slot, .. } => Key::Later(slot, index),
        }
    }

    /// The scratch space: those of threads are numbered from below, the others from above.
    fn scratch(self) -> Space {
        match self {
            Self::Inside(thread) => Space::Scratch(thread.0),
            Self::Background { slot, .. } => Space::Scratch(u16::MAX - slot),
        }
    }

    /// The function that the program called.
    fn function(self, call: &Collective) -> &'static str {
        match self {
            Self::Inside(_) => call.function(),
            Self::Background { .. } => call.nonblocking_function(),
        }
    }

    fn tag(self, kind: Kind, own: u16) -> i32 {
        match self {
            Self::Inside(_) => kind.tag(own),
            Self::Background { number, .. } => kind.tag_begun(number, own),
        }
    }
}

/// A message of the library's own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Letter {
    pub(super) comm: Comm,
    pub(super) to: Rank,
    pub(super) tag: i32,
    pub(super) region: Region,
    /// Where it stands for a message of the program: its number.
    pub(super) outer: Option<MessageId>,
}

impl Library {
    pub(super) fn begin_barrier(
        &mut self,
        thread: Thread,
        comm: Comm,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let barrier = match &self.barrier.0 {
            Some(barrier) if barrier.comm == comm => Arc::clone(barrier),
            _ => Arc::clone(self.barrier.0.insert(Arc::new(Collective::barrier(comm)))),
        };
        self.begin_collective(thread, barrier, out)
    }

    pub(super) fn begin_collective(
        &mut self,
        thread: Thread,
        call: Arc<Collective>,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let running = self.enter_collective(thread, call, Place::Inside(thread), out)?;
        self.go_on(thread, running, out)
    }

    /// The calling rank takes part in a collective from now on.
    pub(super) fn enter_collective(
        &mut self,
        thread: Thread,
        call: Arc<Collective>,
        place: Place,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Running, ProtocolError> {
        out.emit(|| Action::Work(Step::Query));
        let member = self.member(thread, call.comm)?;
        let Member { context, rank, size, .. } = member;
        if call.kind.has_root() && call.root.0 >= size {
            return Err(self.refuse("the communicator has no such rank", call.root));
        }
        if let Some(other) = self.inside(thread, call.comm, rank) {
            let state = format!("another thread of rank {} is inside {other}", rank.0);
            return Err(self.refuse(&state, place.function(&call)));
        }
        let first = self.route(call.comm, &member, Rank(0))?.peer.0;
        let of = GroupId { context, first };
        let function = place.function(&call);
        tell(GroupFact::Entered { of, rank, size, function }, out);
        for argument in call.arguments() {
            tell(GroupFact::Gives { of, rank, argument }, out);
        }
        self.entered_since(of);
        let comm = call.comm;
        Ok(Running { call, of, rank, size, at: At::default(), remaining: 0, comm, place })
    }

    /// The collective that another thread is inside as the same rank: a rank takes part once.
    fn inside(&self, thread: Thread, comm: Comm, rank: Rank) -> Option<&'static str> {
        let mut others = (0..).zip(&self.pending).filter(|&(other, _)| Thread(other) != thread);
        others.find_map(|(_, pending)| {
            let Some(Pending::Collective(running)) = pending else { return None };
            let same = running.call.comm == comm && running.rank == rank;
            same.then(|| running.call.function())
        })
    }

    /// One of the moves that `thread` waits for is complete.
    pub(super) fn part_complete(
        &mut self,
        thread: Thread,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let pending = &mut self.pending[usize::from(thread.0)];
        let Some(Pending::Collective(running)) = pending else {
            unreachable!("parts belong to a collective, not to {pending:?}")
        };
        running.remaining -= 1;
        if running.remaining > 0 {
            return Ok(());
        }
        let Some(Pending::Collective(mut running)) = pending.take() else {
            unreachable!("it was looked at just now")
        };
        self.end_round(&mut running, out)?;
        self.go_on(thread, running, out)
    }

    /// All moves of the round that a rank is in are complete.
    pub(super) fn end_round(
        &mut self,
        running: &mut Running,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let mut round = std::mem::take(&mut self.round.0);
        let found = running.ask(&mut round);
        #[cfg(feature = "mutants")]
        self.bend_round(running, &mut round);
        debug_assert!(found, "a round that was begun is there");
        let finished = self.finish_round(running, &round, out);
        self.round.0 = round;
        finished?;
        running.at.round += 1;
        Ok(())
    }

    /// Goes through the rounds until one must wait.
    fn go_on(
        &mut self,
        thread: Thread,
        mut running: Running,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        if self.begin_rounds(thread, &mut running, out)? {
            end(thread, &running, out);
        } else {
            self.pending[usize::from(thread.0)] = Some(Pending::Collective(running));
        }
        Ok(())
    }

    /// Begins rounds until one must wait; answers whether the last one is over.
    pub(super) fn begin_rounds(
        &mut self,
        thread: Thread,
        running: &mut Running,
        out: &mut Vec<LibraryAction>,
    ) -> Result<bool, ProtocolError> {
        let mut round = std::mem::take(&mut self.round.0);
        let ended = self.rounds(thread, running, &mut round, out);
        self.round.0 = round;
        ended
    }

    fn rounds(
        &mut self,
        thread: Thread,
        running: &mut Running,
        round: &mut Round,
        out: &mut Vec<LibraryAction>,
    ) -> Result<bool, ProtocolError> {
        while running.ask(round) {
            #[cfg(feature = "mutants")]
            self.bend_round(running, round);
            running.remaining = self.start_round(thread, running, round, out)?;
            if running.remaining > 0 {
                return Ok(false);
            }
            self.finish_round(running, round, out)?;
            running.at.round += 1;
        }
        Ok(true)
    }

    /// Starts the moves of a round; answers how many of them are not complete at once.
    fn start_round(
        &mut self,
        thread: Thread,
        running: &Running,
        round: &Round,
        out: &mut Vec<LibraryAction>,
    ) -> Result<u32, ProtocolError> {
        if round.moves.len() > usize::from(u16::MAX) {
            let moves = round.moves.len();
            return Err(self.refuse("65,535 messages of one rank at once are the most", moves));
        }
        let (comm, kind, place) = (running.comm, running.call.kind, running.place);
        let tag_of = |tag| place.tag(kind, tag);
        #[cfg(feature = "mutants")]
        let equal = self.job.has(Mutant::EqualTags);
        #[cfg(feature = "mutants")]
        let tag_of = |tag| if equal { i32::from(tag) } else { tag_of(tag) };
        // A rank that has one message only would call MPI_Send or MPI_Recv, one that has several
        // their non-blocking forms, and so does one that does not wait.
        let blocking = round.moves.len() == 1 && matches!(place, Place::Inside(_));
        for (key, one) in parts(place, round) {
            match *one {
                Move::Send { to, tag, region } => {
                    let tag = tag_of(tag);
                    let letter = Letter { comm, to, tag, region, outer: None };
                    self.send_part(thread, (key, blocking), letter, out)?;
                }
                Move::Receive { from, tag, region } => {
                    let Member { internal: context, rank: dest, .. } = self.member(thread, comm)?;
                    let (source, tag) = (Some(from), Some(tag_of(tag)));
                    let selection = Selection { context, dest, source, tag };
                    self.post(thread, (key, blocking), selection, region, out)?;
                    self.offer(thread, key, comm, out)?;
                }
            }
        }
        let mut remaining = 0;
        let waiter = matches!(place, Place::Inside(_)).then_some(thread);
        for (key, _) in parts(place, round) {
            if let Some(request) = self.requests.get_mut(key)
                && !matches!(request.body, Body::Complete(_))
            {
                request.waiter = waiter;
                remaining += 1;
            }
        }
        Ok(remaining)
    }

    /// A message of the library's own. An eager one has left when this returns, and has no request.
    pub(super) fn send_part(
        &mut self,
        thread: Thread,
        (key, blocking): (Key, bool),
        letter: Letter,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let Letter { comm, to, tag, region, outer } = letter;
        out.emit(|| Action::Work(Step::Control));
        let member = self.member(thread, comm)?;
        let context = if outer.is_some() { member.context } else { member.internal };
        let (route, envelope) = self.address(comm, &member, context, to, tag)?;
        let message = outer.unwrap_or_else(|| self.next_message());
        let (bytes, sender) = (region.len, key);
        let mode = SendMode::Standard;
        let word = if outer.is_some() { device::number(message) } else { 0 };
        let (offer, heard) = self.meet_offer(route.peer, &envelope);
        let header =
            MessageHeader { message, envelope, bytes, sender, mode, blocking, heard, word };
        Self::observe_send(&header, route.peer, out);
        let wire = self.wire(route, thread);
        if bytes > self.job.eager_by(wire.via) {
            return self.send_rendezvous(thread, (route, offer), header, region, out);
        }
        eager::send(wire, thread, header, region, out);
        out.emit(|| Action::Observe(Observation::SendComplete { message }));
        Ok(())
    }

    /// All moves of a round are complete: closes their requests, and does the round's work.
    fn finish_round(
        &mut self,
        running: &Running,
        round: &Round,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        for (key, one) in parts(running.place, round) {
            if self.requests.get(key).is_none() {
                continue;
            }
            let outcome = self.close(key);
            if let Move::Receive { from, region, .. } = one {
                running.check(*from, region.len, outcome)?;
            }
        }
        for work in &round.work {
            out.push(match *work {
                Work::Copy { from, to } => Action::Copy { from, to },
                Work::Combine { from, into, side } => {
                    let reduction = running.call.reduction;
                    let reduction = reduction.expect("only reductions combine");
                    Action::Combine { from, into, reduction, side }
                }
            });
        }
        Ok(())
    }

    /// What the collective of `thread` waits for.
    pub(super) fn collective_waits(&self, thread: Thread, running: &Running) -> Vec<Wait> {
        let operation = running.call.function();
        let place = running.standing();
        let parts = self.requests.parts(thread);
        let waits = parts.filter_map(|key| self.wait_on(key));
        waits
            .map(|wait| Wait { operation, detail: format!("{place}: {}", wait.detail), ..wait })
            .collect()
    }
}

impl Running {
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

    /// Where the rank stands: for planted bugs.
    #[cfg(feature = "mutants")]
    pub(super) fn standing_in(&self) -> super::schedule::Standing {
        let begun = matches!(self.place, Place::Background { .. });
        let (rank, size, round) = (self.rank.0, self.size, self.at.round);
        super::schedule::Standing { algorithm: self.call.algorithm, rank, size, round, begun }
    }

    /// How far the rank is, in words.
    pub(super) fn standing(&self) -> String {
        let Collective { comm, algorithm, .. } = &*self.call;
        let round = self.at.round;
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
            Outcome::Received(Status { count, .. }) => format!("{count} B"),
            Outcome::Truncated(_) => format!("more than {bytes} B"),
            Outcome::Sent | Outcome::Cancelled => "nothing".to_owned(),
        };
        Err(ProtocolError {
            machine: self.function(),
            state: format!(
                "rank {} waits for {bytes} B of rank {} (the arguments of the two do not agree)",
                self.rank.0, from.0
            ),
            input: found,
        })
    }
}

/// The moves of a round, each with its request.
fn parts(place: Place, round: &Round) -> impl Iterator<Item = (Key, &Move)> {
    let numbered = (0_u16..=u16::MAX).zip(&round.moves);
    numbered.map(move |(index, one)| (place.part(index), one))
}

/// Tells the monitors a fact of communicators.
pub(super) fn tell(fact: GroupFact, out: &mut Vec<LibraryAction>) {
    out.push(Action::Observe(Observation::Group(fact)));
}

/// The buffers belong to the program again, and the call returns.
fn end(thread: Thread, running: &Running, out: &mut Vec<LibraryAction>) {
    tell(running.left(0), out);
    for buffer in running.call.buffers().into_iter().flatten() {
        out.emit(|| Action::Complete { code: None, buffer: Some(buffer), fact: None });
    }
    push_return(thread, Reply::Done, out);
}
