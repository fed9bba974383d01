//! Collectives that begin with one call and end with their request: `MPI_Iallreduce` and its like.
//!
//! ```text
//!   begin ──▶ the moves of round 0 ──▶ return        whichever thread handles what comes:
//!   … a move is complete … the last of its round ──▶ its work ──▶ next round … ──▶ complete
//! ```
//!
//! The rounds are those of the calls that wait (`collective.rs`), gone through by the thread that makes
//! progress: nothing moves on while no thread of the process is inside the library. Several may be
//! under way on one communicator. All its ranks begin them in one order, so that the number of a
//! beginning stands in the tags and keeps their messages apart.
//!
//! What is prepared (`MPI_Allreduce_init`) has its number from the preparation, which all ranks call in one
//! order; each of its starts has this number, and ranks start in any order.
//!
//! A nonblocking duplicate of a communicator (`MPI_Comm_idup`, `duplicates.rs`) has a slot here, too.
//!
//! Source: MPI 3.1, Sec. 5.12, whose advice to implementors names such schedules; MPI 4.0, Sec. 6.13.
//! Left out: handles of endpoints.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::agreeing::Agreeing;
use super::answers::{push_fact, push_return};
use super::collective::{self, Collectives, Place, Running};
use super::duplicates::Duplicates;
use super::intercommunicators::Sides;
use super::messages::Messages;
use super::requests::{Body, Wake};
use super::scratch;
use super::{Action, Handle, Key, LibraryAction, Outcome, Packet, ProtocolError, Reply, Thread};
use crate::call::Comm;
use crate::contract::Emit;
#[cfg(feature = "mutants")]
use crate::mutant::Mutant;
use collectives::{Collective, Turn};
use mpi::communicator::Communicator;
use mpi::envelope::{Context, Rank};
use mpi::observation::GroupId;

/// The collectives under way of one process.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Background {
    /// By slot; the last one is under way.
    under_way: Vec<Option<Begun>>,
    /// How many were started on each communicator, by the context of its messages.
    begun: BTreeMap<Context, u32>,
    /// The same of those that were prepared, and the numbers of those that are not freed.
    prepared: BTreeMap<Context, u32>,
    turns: BTreeMap<Handle, (Context, u32)>,
    /// Duplicates of communicators under way; none in most processes.
    duplicates: Option<Box<Duplicates>>,
    /// The one whose round has just ended: an input ends one message at most.
    ready: Option<u16>,
}

/// One collective under way.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Begun {
    running: Running,
    request: Handle,
    /// How many the rank has entered on this communicator since.
    since: u32,
}

const MOST_UNDER_WAY: &str = "1,024 collectives under way are the most";

impl Background {
    fn free_slot(&self) -> u16 {
        let duplicates = self.duplicates.as_ref();
        let is_free = |slot: &u16| {
            self.get(*slot).is_none() && !duplicates.is_some_and(|these| these.has(*slot))
        };
        (0..=u16::MAX).find(is_free).expect("their number is limited")
    }

    fn get(&self, slot: u16) -> Option<&Begun> {
        self.under_way.get(usize::from(slot))?.as_ref()
    }

    fn close(&mut self, slot: u16) {
        self.under_way[usize::from(slot)] = None;
        while let Some(None) = self.under_way.last() {
            self.under_way.pop();
        }
    }

    /// How many are under way.
    fn len(&self) -> usize {
        let duplicates = self.duplicates.as_ref().map_or(0, |these| these.len());
        self.under_way.iter().flatten().count() + duplicates
    }

    /// Whether one of a communicator is under way that has this number, which comes again.
    fn has_number(&self, context: Context, number: u32) -> bool {
        self.under_way.iter().flatten().any(|begun| {
            let Place::Background { turn, .. } = begun.running.place else { return false };
            begun.running.of.context == context && turn.number() == Turn::Begun(number).number()
        })
    }
}

/// Going through the rounds.
impl Background {
    /// Takes part in a collective, and returns when its first moves have started; `inside` is as in
    /// [`Running::enter`].
    pub(super) fn begin(
        &mut self,
        (collectives, messages): (&mut Collectives, &mut Messages),
        thread: Thread,
        (request, call): (Handle, Arc<Collective>),
        inside: impl Fn(Comm, Rank) -> Option<&'static str>,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let turn = self.turn(messages, thread, (request, &call))?;
        let slot = self.free_slot();
        if usize::from(slot) >= self.under_way.len() {
            self.under_way.resize(usize::from(slot) + 1, None);
        }
        let place = Place::Background { slot, turn };
        let function = place.function(&call);
        messages.open(Key::User(request), Body::Background { slot, function }, thread)?;
        let running = Running::enter(messages, thread, (call, place), inside, out)?;
        self.entered(running.of);
        let begun = Begun { running, request, since: 0 };
        let wake = self.go_on((collectives, messages), thread, begun, slot, out)?;
        debug_assert_eq!(wake, None, "no thread waits for a request that was opened just now");
        push_return(thread, Reply::Done, out);
        Ok(())
    }

    /// Begins a duplicate of a communicator.
    pub(super) fn duplicate(
        &mut self,
        messages: &mut Messages,
        thread: Thread,
        (request, agreeing): (Handle, Agreeing),
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        if self.len() >= usize::from(scratch::MOST_BEGUN) {
            return Err(messages.site().refuse(MOST_UNDER_WAY, agreeing.operation()));
        }
        let slot = self.free_slot();
        let duplicates = self.duplicates.get_or_insert_default();
        duplicates.begin(messages, thread, (slot, request), agreeing, out)
    }

    /// Whether a duplicate under way will give this number to a communicator.
    pub(super) fn give(&self, comm: Comm) -> bool {
        self.duplicates.as_ref().is_some_and(|these| these.give(comm))
    }

    /// The place of what is started in the order of its communicator: that of its preparation, or the next one.
    fn turn(
        &mut self,
        messages: &Messages,
        thread: Thread,
        (request, call): (Handle, &Collective),
    ) -> Result<Turn, ProtocolError> {
        let refuse = |state| messages.site().refuse(state, call.functions().begins);
        let context = context_of(messages, thread, call)?;
        if self.len() >= usize::from(scratch::MOST_BEGUN) {
            return Err(refuse(MOST_UNDER_WAY));
        }
        let prepared = self.turns.get(&request).copied();
        #[cfg(feature = "mutants")]
        let prepared = prepared.filter(|_| !messages.site().job.has(Mutant::CountsStarts));
        if let Some((_, number)) = prepared {
            return Ok(Turn::Prepared(number));
        }
        #[cfg(feature = "mutants")]
        let context = counted_in(messages, context);
        let number = take(&mut self.begun, context);
        if self.has_number(context, number) {
            return Err(refuse(
                "256 were begun on the communicator after one that is still under way",
            ));
        }
        #[cfg(feature = "mutants")]
        let number = if messages.site().job.has(Mutant::OneNumber) { 0 } else { number };
        Ok(Turn::Begun(number))
    }

    /// `MPI_Bcast_init` and its like: the operation of a request has its place in the order of its communicator.
    pub(super) fn prepare(
        &mut self,
        messages: &Messages,
        thread: Thread,
        (request, call): (Handle, &Collective),
        inside: impl Fn(Comm, Rank) -> Option<&'static str>,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let context = context_of(messages, thread, call)?;
        let of = collective::prepares(messages, thread, call, inside, out)?;
        self.entered(of);
        let number = take(&mut self.prepared, context);
        #[cfg(feature = "mutants")]
        let number = self.bent(messages, context, number);
        let taken = |&(other, turn): &(Context, u32)| {
            other == context && Turn::Prepared(turn).number() == Turn::Prepared(number).number()
        };
        #[cfg(feature = "mutants")]
        let taken =
            |turn: &(Context, u32)| taken(turn) && !messages.site().job.has(Mutant::PreparedAlike);
        if self.turns.values().any(taken) {
            let state = "256 were prepared on the communicator after one that is not freed";
            return Err(messages.site().refuse(state, call.functions().prepares));
        }
        self.turns.insert(request, (context, number));
        Ok(())
    }

    /// Frees the request of a collective that was prepared and is not under way; false where it is none.
    pub(super) fn free(&mut self, request: Handle) -> bool {
        let mut others = self.under_way.iter().flatten();
        if others.any(|begun| begun.request == request) {
            return false;
        }
        self.turns.remove(&request).is_some()
    }

    /// The number of what is prepared; bugs give all of them one number, or the lowest that is not in use.
    #[cfg(feature = "mutants")]
    fn bent(&self, messages: &Messages, context: Context, number: u32) -> u32 {
        let job = &messages.site().job;
        let is_used = |number: &u32| self.turns.values().any(|turn| *turn == (context, *number));
        if job.has(Mutant::PreparedAlike) {
            0
        } else if job.has(Mutant::TurnAgain) {
            (0..number).find(|number| !is_used(number)).unwrap_or(number)
        } else {
            number
        }
    }

    /// A rank of this process enters a collective of a communicator.
    pub(super) fn entered(&mut self, of: GroupId) {
        for begun in self.under_way.iter_mut().flatten() {
            if begun.running.of == of {
                begun.since += 1;
            }
        }
    }

    /// A move is complete that its collective waited for.
    pub(super) fn part_complete(&mut self, slot: u16) {
        // Empty while its moves are being started: those that end at once are not waited for.
        let Some(Some(begun)) = self.under_way.get_mut(usize::from(slot)) else {
            if self.duplicates.as_ref().is_some_and(|these| these.has(slot)) {
                self.ready = Some(slot);
            }
            return;
        };
        if begun.running.part_complete() {
            debug_assert_eq!(self.ready, None, "the round before it was ended");
            self.ready = Some(slot);
        }
    }

    /// Goes on with the collective whose round has ended.
    pub(super) fn advance(
        &mut self,
        (collectives, messages): (&mut Collectives, &mut Messages),
        thread: Thread,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Option<Wake>, ProtocolError> {
        let Some(slot) = self.ready.take() else { return Ok(None) };
        let begun = self.under_way.get_mut(usize::from(slot)).and_then(Option::take);
        let Some(mut begun) = begun else {
            return self.advance_duplicate(messages, thread, slot, out);
        };
        collectives.end_round(messages, &mut begun.running, out)?;
        self.go_on((collectives, messages), thread, begun, slot, out)
    }

    /// Goes on with the duplicate whose message has come.
    #[inline(never)]
    fn advance_duplicate(
        &mut self,
        messages: &mut Messages,
        thread: Thread,
        slot: u16,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Option<Wake>, ProtocolError> {
        let duplicates = self.duplicates.as_mut().expect("a message comes of one under way");
        let parent = duplicates.parent(slot);
        let wake = duplicates.advance(messages, thread, slot, out)?;
        if let Some(parent) = parent.filter(|_| !duplicates.has(slot)) {
            self.drop_freed(messages, parent);
        }
        Ok(wake)
    }

    /// The program frees a communicator: what is under way there goes on, under a number that no program gives.
    /// An intercommunicator has two sides.
    pub(super) fn keep(
        &mut self,
        messages: &mut Messages,
        communicator: Communicator,
        sides: Option<Sides>,
    ) {
        let number = messages.communicators().private_number();
        let mut kept = false;
        for Begun { running, .. } in self.under_way.iter_mut().flatten() {
            if running.of.context == communicator.context {
                running.comm = number;
                kept = true;
            }
        }
        if let Some(duplicates) = &mut self.duplicates {
            kept |= duplicates.keep(communicator.context, number);
        }
        let (communicators, _) = messages.communicators_mut();
        match sides.filter(|_| kept) {
            Some(sides) => communicators.add_sides(number, sides, communicator),
            None if kept => communicators.add(number, communicator),
            None => {}
        }
    }

    /// The last that was under way on a communicator that was freed is over: it has another number than that of
    /// its call.
    fn drop_freed(&self, messages: &mut Messages, (comm, called): (Comm, Comm)) {
        let mut others = self.under_way.iter().flatten();
        let used = others.any(|other| other.running.comm == comm)
            || self.duplicates.as_ref().is_some_and(|these| these.are_of(comm));
        if comm != called && !used {
            messages.communicators_mut().0.remove(comm);
        }
    }

    /// Begins rounds until one must wait, or until the collective is over.
    fn go_on(
        &mut self,
        (collectives, messages): (&mut Collectives, &mut Messages),
        thread: Thread,
        mut begun: Begun,
        slot: u16,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Option<Wake>, ProtocolError> {
        let over = collectives.begin_rounds(messages, thread, &mut begun.running, out)?;
        if !over {
            self.under_way[usize::from(slot)] = Some(begun);
            return Ok(None);
        }
        self.close(slot);
        Ok(self.end(messages, &begun, out))
    }

    /// The buffers belong to the program again, and the request is complete.
    fn end(
        &self,
        messages: &mut Messages,
        Begun { running, request, since }: &Begun,
        out: &mut Vec<LibraryAction>,
    ) -> Option<Wake> {
        collective::unpack(&running.call, out);
        push_fact(running.left(*since), out);
        self.drop_freed(messages, (running.comm, running.call.comm));
        let key = Key::User(*request);
        let [input, output] = running.call.buffers();
        if let Some(input) = input {
            out.emit(|| Action::Complete { code: None, buffer: Some(input), fact: None });
        }
        messages.complete(key, Outcome::Sent, output, None, out)
    }

    /// Whether a packet is for a collective under way, or may be: an adapter leaves it to the host.
    pub(super) fn may_take(&self, packet: &Packet) -> bool {
        match packet {
            Packet::Eager(header) | Packet::Rts { header, .. } => {
                let context = header.envelope.context;
                let mut comms = self.under_way.iter().flatten();
                comms.any(|begun| begun.running.of.context.0 + 1 == context.0)
                    || self.duplicates.as_ref().is_some_and(|these| these.speak_in(context))
            }
            Packet::Matched { sender: key } | Packet::Rendezvous { to: key, .. } => {
                matches!(key, Key::Later(..))
            }
            Packet::Rtr(_) | Packet::Rma(_) | Packet::Partition(_) => false,
        }
    }

    /// How far the collective of a slot is, in words.
    pub(super) fn standing(&self, slot: u16) -> String {
        match self.get(slot) {
            Some(begun) => begun.running.standing(),
            None => "all agree on a context".to_owned(),
        }
    }
}

/// The communicator that counts a collective which no call waits for.
fn context_of(
    messages: &Messages,
    thread: Thread,
    call: &Collective,
) -> Result<Context, ProtocolError> {
    let endpoints = messages.communicators().endpoints();
    if endpoints.is_some_and(|endpoints| endpoints.is_endpoint(thread, call.comm)) {
        let state = "collectives that are only begun have processes as their ranks";
        return Err(messages.site().refuse(state, call.functions().begins));
    }
    Ok(messages.member(thread, call.comm)?.context)
}

/// The number of the next one on a communicator.
fn take(counts: &mut BTreeMap<Context, u32>, context: Context) -> u32 {
    let count = counts.entry(context).or_insert(0);
    *count += 1;
    *count - 1
}

/// The communicator that a beginning is counted in; a bug counts those of the process.
#[cfg(feature = "mutants")]
fn counted_in(messages: &Messages, context: Context) -> Context {
    if messages.site().job.has(Mutant::CountsByProcess) { Context(0) } else { context }
}
