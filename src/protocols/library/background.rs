//! Collectives that begin with one call and end with their request: `MPI_Iallreduce` and its like.
//!
//! ```text
//!   begin ──▶ the moves of round 0 ──▶ return        whichever thread handles what comes:
//!   … a move is complete … the last of its round ──▶ its work ──▶ next round … ──▶ complete
//! ```
//!
//! The rounds are those of the calls that wait (`collective.rs`), gone through by whoever makes
//! progress: nothing moves on while no thread of the process is inside the library. Several may be
//! under way on one communicator. All its ranks begin them in one order, so that the number of a
//! beginning stands in the tags and keeps their messages apart.
//!
//! Source: MPI 3.1, Sec. 5.12, whose advice to implementors names such schedules.
//! Left out: handles of endpoints and intercommunicators.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::collective::{Place, Running, tell};
use super::requests::Body;
use super::{
    Action, Handle, Key, Library, LibraryAction, Outcome, Packet, ProtocolError, Reply, Thread,
    push_return,
};
use crate::call::Comm;
use crate::collectives::{BEGUN_AT_ONCE, Collective};
use crate::contract::Emit;
#[cfg(feature = "mutants")]
use crate::mutant::Mutant;
use mpi::communicator::Communicator;
use mpi::envelope::Context;
use mpi::observation::GroupId;

/// The most of one process at once.
const MOST: u16 = 1 << 10;

/// The collectives under way of one process.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Background {
    /// By slot; the last one is under way.
    under_way: Vec<Option<Begun>>,
    /// How many were begun on each communicator, by the context of its messages.
    begun: BTreeMap<Context, u32>,
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

impl Background {
    fn free_slot(&mut self) -> u16 {
        let free = self.under_way.iter().position(Option::is_none);
        let slot = free.unwrap_or_else(|| {
            self.under_way.push(None);
            self.under_way.len() - 1
        });
        u16::try_from(slot).expect("their number is limited")
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
        self.under_way.iter().flatten().count()
    }

    /// The number of the next one on a communicator.
    fn take_number(&mut self, context: Context) -> Result<u32, &'static str> {
        let count = self.begun.entry(context).or_insert(0);
        let number = *count;
        *count += 1;
        if self.len() >= usize::from(MOST) {
            return Err("1,024 collectives under way are the most");
        }
        if self.has_number(context, number) {
            return Err("512 were begun on the communicator after one that is still under way");
        }
        Ok(number)
    }

    /// Whether one of a communicator is under way that has this number, which comes again.
    fn has_number(&self, context: Context, number: u32) -> bool {
        self.under_way.iter().flatten().any(|begun| {
            let Place::Background { number: other, .. } = begun.running.place else { return false };
            begun.running.of.context == context && other % BEGUN_AT_ONCE == number % BEGUN_AT_ONCE
        })
    }
}

impl Library {
    /// Takes part in a collective, and returns when its first moves have begun.
    pub(super) fn begin_in_background(
        &mut self,
        thread: Thread,
        request: Handle,
        call: Arc<Collective>,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let (comm, function) = (call.comm, call.nonblocking_function());
        if self.is_endpoint(thread, comm) {
            let state = "collectives that are only begun have processes as their ranks";
            return Err(self.refuse(state, function));
        }
        let context = self.member(thread, comm)?.context;
        #[cfg(feature = "mutants")]
        let context = self.counted_in(context);
        let background = self.background.get_or_insert_default();
        let number = match background.take_number(context) {
            Ok(number) => number,
            Err(state) => return Err(self.refuse(state, function)),
        };
        let background = self.background.get_or_insert_default();
        let slot = background.free_slot();
        #[cfg(feature = "mutants")]
        let number = if self.job.has(Mutant::OneNumber) { 0 } else { number };
        self.open(Key::User(request), Body::Background { slot, function }, thread)?;
        let place = Place::Background { slot, number };
        let running = self.enter_collective(thread, call, place, out)?;
        self.background_goes_on(thread, Begun { running, request, since: 0 }, slot, out)?;
        push_return(thread, Reply::Done, out);
        Ok(())
    }

    /// A rank of this process enters a collective of a communicator.
    pub(super) fn entered_since(&mut self, of: GroupId) {
        let Some(background) = &mut self.background else { return };
        for begun in background.under_way.iter_mut().flatten() {
            if begun.running.of == of {
                begun.since += 1;
            }
        }
    }

    /// A move is complete that its collective waited for.
    pub(super) fn later_complete(&mut self, slot: u16) {
        let background = self.background.as_mut().expect("its collective was begun");
        // Empty while its moves are being started: those that end at once are not waited for.
        let Some(Some(begun)) = background.under_way.get_mut(usize::from(slot)) else { return };
        begun.running.remaining -= 1;
        if begun.running.remaining == 0 {
            debug_assert_eq!(background.ready, None, "the round before it was ended");
            background.ready = Some(slot);
        }
    }

    /// Goes on with the collective whose round has ended.
    pub(super) fn advance_background(
        &mut self,
        thread: Thread,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let Some(background) = &mut self.background else { return Ok(()) };
        let Some(slot) = background.ready.take() else { return Ok(()) };
        let begun = background.under_way[usize::from(slot)].take();
        let mut begun = begun.expect("a round ends of what is under way");
        self.end_round(&mut begun.running, out)?;
        self.background_goes_on(thread, begun, slot, out)
    }

    /// The program frees a communicator: what is under way there goes on, under a number that no
    /// program gives.
    pub(super) fn keep_for_background(&mut self, communicator: Communicator) {
        let Some(background) = &mut self.background else { return };
        let private = (0..=u16::MAX).rev().map(Comm);
        let number = private.into_iter().find(|comm| !self.made.communicators.contains_key(comm));
        let number = number.expect("fewer than 2^16 communicators");
        let mut kept = false;
        for Begun { running, .. } in background.under_way.iter_mut().flatten() {
            if running.of.context == communicator.context {
                running.comm = number;
                kept = true;
            }
        }
        if kept {
            self.made.communicators.insert(number, communicator);
        }
    }

    /// The last collective under way on a communicator that was freed is over.
    fn drop_freed(&mut self, running: &Running) {
        let mut others = self.background.iter().flat_map(|all| all.under_way.iter().flatten());
        let used = others.any(|other| other.running.comm == running.comm);
        if running.comm != running.call.comm && !used {
            self.made.communicators.remove(&running.comm);
        }
    }

    /// Begins rounds until one must wait, or until the collective is over.
    fn background_goes_on(
        &mut self,
        thread: Thread,
        mut begun: Begun,
        slot: u16,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let over = self.begin_rounds(thread, &mut begun.running, out)?;
        let background = self.background.as_mut().expect("this one was begun");
        if !over {
            background.under_way[usize::from(slot)] = Some(begun);
            return Ok(());
        }
        background.close(slot);
        self.background_over(&begun, out)
    }

    /// The buffers belong to the program again, and the request is complete.
    fn background_over(
        &mut self,
        Begun { running, request, since }: &Begun,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        tell(running.left(*since), out);
        self.drop_freed(running);
        let key = Key::User(*request);
        let [input, output] = running.call.buffers();
        if let Some(input) = input {
            out.emit(|| Action::Complete { code: None, buffer: Some(input), fact: None });
        }
        self.complete(key, Outcome::Sent, output, None, out)
    }

    /// Whether a packet is for a collective under way, or may be: an adapter leaves it to the host.
    pub(super) fn is_of_background(&self, packet: &Packet) -> bool {
        let Some(background) = &self.background else { return false };
        match packet {
            Packet::Eager(header) | Packet::Rts { header, .. } => {
                let context = header.envelope.context;
                let mut comms = background.under_way.iter().flatten();
                comms.any(|begun| begun.running.of.context.0 + 1 == context.0)
            }
            Packet::Matched { sender: key } | Packet::Rendezvous { to: key, .. } => {
                matches!(key, Key::Later(..))
            }
            Packet::Rtr(_) | Packet::Rma(_) => false,
        }
    }

    /// What a collective under way waits for, in words.
    pub(super) fn background_detail(&self, slot: u16) -> String {
        let begun = self.background.as_ref().and_then(|all| all.get(slot));
        let place = begun.map_or(String::new(), |begun| begun.running.standing());
        let first = self.requests.later(slot).find_map(|key| self.wait_on(key));
        first.map_or_else(|| place.clone(), |wait| format!("{place}: {}", wait.detail))
    }
}

#[cfg(feature = "mutants")]
impl Library {
    /// The communicator that a beginning is counted in; a bug counts those of the process.
    fn counted_in(&self, context: Context) -> Context {
        if self.job.has(Mutant::CountsByProcess) { Context(0) } else { context }
    }
}
