//! Where the library asks whether a planted bug is its own: for tests only.
//!
//! Every function here is called at one place, the one that the bug would be written at.

use super::endpoints::Caller;
use super::typed::Typed;
use super::{
    Action, Call, Input, Key, Library, LibraryAction, Machine, MatchingEngine, Packet, Posted,
    ProtocolError, Region, Route, Selection, SharedJob, Space, Thread, Token, Via, Word, push_walk,
};
use crate::contract::Lane;
use crate::mutant::Mutant;
use crate::packing::Task;
use crate::typed::TypedCopy;
use mpi::matching::Flaw;
use mpi::observation::Observation;

/// A receive between search and append: its queue, and what will be appended.
pub(super) type Late = (usize, Selection, Posted);

impl SharedJob {
    /// The same job with a planted bug in all its libraries.
    #[must_use]
    pub fn with(self, mutant: Mutant) -> Self {
        Self(self.0, Some(mutant))
    }

    /// The bug that is planted.
    pub fn mutant(&self) -> Option<Mutant> {
        self.1
    }

    pub(super) fn has(&self, mutant: Mutant) -> bool {
        self.1 == Some(mutant)
    }
}

impl Library {
    /// Tells the matching engines and the algorithms what is wrong with them.
    pub(super) fn plant(&mut self) {
        self.round.0.mutant = self.job.1;
        let flaws = [
            (Mutant::ExactFirst, Flaw::ExactFirst),
            (Mutant::Tail, Flaw::Tail),
            (Mutant::PartOfContext, Flaw::PartOfContext),
            (Mutant::NoDestination, Flaw::NoDestination),
            (Mutant::OtherSource, Flaw::OtherSource),
        ];
        let Some((_, flaw)) = flaws.into_iter().find(|(mutant, _)| self.job.has(*mutant)) else {
            return;
        };
        for engine in &mut self.matching {
            engine.plant(flaw);
        }
    }

    /// Another message is sent.
    pub(super) fn alternate(&mut self) {
        if self.job.has(Mutant::TwoRails) {
            self.rail = (self.rail + 1) % u32::from(self.job.endpoints.lanes.max(1));
        }
    }

    /// The lane of the next message.
    pub(super) fn rail(&self, route: Route) -> Route {
        let alternates = self.job.has(Mutant::TwoRails);
        if !alternates && !self.job.has(Mutant::RailPerPeer) {
            return route;
        }
        let number = if alternates { self.rail } else { route.peer.0 };
        let lanes = u32::from(self.job.endpoints.lanes.max(1));
        let lane = Lane(u16::try_from(number % lanes).expect("lanes are counted in u16"));
        Route { own: lane, remote: lane, ..route }
    }

    /// Forgets the calls of other threads that this thread's work has ended.
    pub(super) fn leaves_waiting(&self, thread: Thread, out: &mut Vec<LibraryAction>) {
        if self.job.has(Mutant::LeavesWaiting) {
            let of_another = |action: &LibraryAction| matches!(action, Action::Return { thread: whose, .. } if *whose != thread);
            out.retain(|action| !of_another(action));
        }
    }

    /// Sends the packet that was sent last a second time.
    pub(super) fn resend(&self, out: &mut Vec<LibraryAction>) {
        if self.job.has(Mutant::Resends) {
            out.extend(out.last().cloned());
        }
    }

    /// Searches for a message without appending the receive, which follows after the lock was
    /// left; false where a message waits, or where this is another's bug.
    pub(super) fn search_only(
        &mut self,
        thread: Thread,
        queue: usize,
        selection: Selection,
        posted: Posted,
        buffer: Region,
        out: &mut Vec<LibraryAction>,
    ) -> bool {
        let engine = &self.matching[queue];
        let walk = engine.probe(&selection);
        let waits = walk.matched.is_some();
        if self.job.has(Mutant::ExtraProbe) {
            push_walk(&walk, None, out);
        }
        let blocking = matches!(posted.key, Key::Inner(_));
        if waits || !blocking || !self.job.has(Mutant::Unlocks) {
            return false;
        }
        let (receive, bytes) = (posted.id, buffer.len);
        push_walk(&walk, Some(Observation::Posted { receive, selection, bytes }), out);
        self.late.push((thread, (queue, selection, posted)));
        out.extend([Action::Release, Action::Resume(Token(thread.0.into()))]);
        true
    }

    /// The lock is taken again: the receive is appended.
    pub(super) fn appends_late(&mut self, thread: Thread) -> bool {
        let Some(place) = self.late.iter().position(|(late, _)| *late == thread) else {
            return false;
        };
        let (_, (queue, selection, posted)) = self.late.remove(place);
        self.matching[queue].append(selection, posted);
        true
    }

    /// An input that the adapter handles, with what is wrong with it alone.
    pub(super) fn handle_by_flawed_adapter(
        &mut self,
        input: Input<Packet, Call>,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let exact_first = self.job.has(Mutant::NicExactFirst);
        if exact_first {
            self.matching.iter_mut().for_each(|engine| engine.plant(Flaw::ExactFirst));
        }
        let sender = if let Input::Packet { packet: Packet::Rts { header, .. }, .. } = &input {
            Some(header.sender)
        } else {
            None
        };
        self.handle(Thread(0), input, out)?;
        if exact_first {
            self.matching.iter_mut().for_each(MatchingEngine::heal);
        }
        if self.job.has(Mutant::NicFinFirst) {
            self.says_fin_first(sender, out);
        }
        Ok(())
    }

    /// FIN leaves with the read that answers the RTS of `sender`, and no more at its end.
    fn says_fin_first(&self, sender: Option<Key>, out: &mut Vec<LibraryAction>) {
        let is_fin = |action: &LibraryAction| {
            matches!(
                action,
                Action::Send { packet: Packet::Rendezvous { word: Word::Fin, .. }, .. }
            )
        };
        out.retain(|action| !is_fin(action));
        let read = out.iter().find_map(|action| {
            let Action::RdmaRead { from, token, .. } = action else { return None };
            Some((*from, *token))
        });
        if let (Some(to), Some((route, token))) = (sender, read) {
            let packet = Packet::Rendezvous { to, from: Key::from_token(token), word: Word::Fin };
            let header = self.job.control;
            out.push(Action::Send { to: route, via: Via::Hca, header, packet, payload: None });
        }
    }

    /// The buffer of a receive, as long as its message.
    pub(super) fn stretched(&self, buffer: Region, bytes: u64) -> Region {
        let long = self.job.has(Mutant::PastTheEnd) && bytes > buffer.len;
        if long { buffer.part(0, bytes) } else { buffer }
    }

    pub(super) fn leaves_polling_to_the_first(&self, caller: Caller) -> bool {
        let later = matches!(caller, Caller::Endpoint(local) if local > 0);
        later && self.job.has(Mutant::FirstPolls)
    }

    /// A name is free again.
    pub(super) fn gives_name_back(&mut self) {
        if self.job.has(Mutant::IdAgain) {
            self.endpoints.next_id -= 1;
        }
    }

    /// The numbers of endpoints of all processes.
    pub(super) fn counted(
        &self,
        counts: impl ExactSizeIterator<Item = u16>,
        own: u16,
    ) -> impl ExactSizeIterator<Item = u16> {
        let wrong = self.job.has(Mutant::OwnCount);
        counts.map(move |count| if wrong { own } else { count })
    }
}

impl Typed {
    /// What was asked for from `first` on, as a flawed library asks for it.
    pub(super) fn spoil(&self, first: usize, out: &mut Vec<LibraryAction>) {
        let Some(mutant) = self.mutant else { return };
        for action in out.split_off(first) {
            match (mutant, action) {
                (Mutant::FirstPieces, Action::Pack(copy)) => {
                    out.push(Action::Pack(TypedCopy { first: 0, ..copy }));
                }
                (Mutant::StagesAll, Action::Pack(copy)) if copy.task == Task::Pack => {
                    let (to, between) = (copy.packed, Space::Packed(u32::MAX));
                    let packed = Region::new(between, to.len);
                    out.push(Action::Pack(TypedCopy { packed, ..copy }));
                    out.push(Action::Copy { from: packed, to });
                }
                (Mutant::FillsGaps, Action::Pack(copy)) if copy.task == Task::Unpack => {
                    let piece = copy.elements.runs(copy.bytes()).next();
                    let behind = piece.map(|(at, length)| copy.data().part(at + length, 1));
                    let from = copy.packed.part(0, 1);
                    out.extend(behind.map(|to| Action::Copy { from, to }));
                    out.push(Action::Pack(copy));
                }
                (
                    Mutant::ForgetsUnpack,
                    Action::Pack(TypedCopy { task: Task::Unpack, packed, .. }),
                ) if matches!(packed.space, Space::Packed(_)) => {}
                (Mutant::PacksLate, action @ Action::Send { payload: Some(_), .. })
                | (Mutant::UnpacksLate, action @ Action::Complete { .. }) => {
                    let is_work = |action: &LibraryAction| matches!(action, Action::Work(_));
                    let before = out.iter().rposition(|action| !is_work(action));
                    let late = before.filter(|&place| place >= first);
                    let late = late.filter(|&place| matches!(out[place], Action::Pack(_)));
                    let late = late.map(|place| out.remove(place));
                    out.push(action);
                    out.extend(late);
                }
                (_, action) => out.push(action),
            }
        }
    }
}
