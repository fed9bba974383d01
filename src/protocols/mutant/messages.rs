//! Planted bugs of messages between two processes: their packets, copies and completions.

use std::collections::{BTreeMap, BTreeSet};

use super::Mutant;
use crate::call::Call;
use crate::contract::{
    Action, Change, CodePath, Counter, Input, Lane, Region, Route, Token, Toward, Via,
};
use crate::library::Library;
use crate::rendezvous::{Protocol, Scheme};
use crate::wire::{ControlMessage, Key, LibraryAction, Packet};
use mpi::observation::{Mover, Observation};

/// State that the planted bugs keep about the messages of one process.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Messages {
    /// Messages that have left.
    sent: u32,
    /// Sends that leave the choice of the protocol to their receiver.
    undecided: BTreeSet<Key>,
    /// The buffers of open requests: of all sends by rendezvous, and of receives by COOP-p2p.
    buffers: BTreeMap<Key, Region>,
    /// Sends that move by COOP-p2p.
    cooperating: BTreeSet<Key>,
    /// Buffers that the program has back although their messages are open.
    given_back: Vec<Region>,
    /// Receives whose FIN has left before its time.
    fin_sent: BTreeSet<Key>,
}

/// Changes the input of the library.
pub(super) fn bend_input(mutant: Mutant, messages: &mut Messages, input: &mut Input<Packet, Call>) {
    let Input::Packet { packet, .. } = input else { return };
    let Packet::Rendezvous { to, word: ControlMessage::Cts { protocol, .. }, .. } = packet else {
        return;
    };
    if messages.undecided.remove(to) && mutant == Mutant::SenderChooses {
        *protocol = Protocol::CoopP2p;
    }
    if *protocol == Protocol::CoopP2p {
        messages.cooperating.insert(*to);
    }
}

/// Changes what the library asks for.
pub(super) fn bend(
    mutant: Mutant,
    messages: &mut Messages,
    library: &Library,
    list: &mut Vec<LibraryAction>,
) {
    messages.note(list);
    match mutant {
        Mutant::TwoRails | Mutant::RailPerPeer => messages.change_lanes(mutant, library, list),
        Mutant::Resends => double(list, |action| match action {
            Action::Send { packet: Packet::Eager(header), .. }
                if matches!(header.sender, Key::User(_) | Key::Inner(_)) =>
            {
                Some(action.clone())
            }
            _ => None,
        }),
        Mutant::ExtraProbe => double(list, |action| match action {
            &Action::Walk { queue, entries, length, fact: Some(Observation::Posted { .. }) } => {
                Some(Action::Walk { queue, entries, length, fact: None })
            }
            _ => None,
        }),
        Mutant::PinsTwice => {
            double(list, |action| {
                matches!(action, Action::Register { .. }).then(|| action.clone())
            });
        }
        Mutant::ExposesTwice => {
            double(list, |action| matches!(action, Action::Expose { .. }).then(|| action.clone()));
        }
        Mutant::PastTheEnd => copy_past_the_end(list),
        Mutant::GetSender | Mutant::PutReceiver | Mutant::CoopOnCopy => {
            messages.complete_early(mutant, list);
        }
        Mutant::FinFirst => {
            messages.say_fin_first(library, list);
            say_fin_before_writes(library, list);
        }
        Mutant::CoopOverlap => overlap_halves(list),
        Mutant::LoadKept => list.retain(|action| {
            !matches!(action, Action::Count { counter: Counter::Copies(_), change: Change::Down })
        }),
        Mutant::OffloadUncounted => list.retain(|action| {
            !matches!(action, Action::Count { counter: Counter::Offloads(_), change: Change::Up })
        }),
        Mutant::ChunkLost => lose_last_chunk(list),
        _ => {}
    }
}

/// Puts a second action before each that `second` answers one for.
fn double(list: &mut Vec<LibraryAction>, second: impl Fn(&LibraryAction) -> Option<LibraryAction>) {
    for action in std::mem::take(list) {
        list.extend(second(&action));
        list.push(action);
    }
}

/// A copy out of an arrived message takes all of it, whatever the buffer holds, and says so.
fn copy_past_the_end(list: &mut [LibraryAction]) {
    let landings: Vec<Region> = list
        .iter()
        .filter_map(|action| match action {
            Action::Repost { landing, .. } => Some(*landing),
            _ => None,
        })
        .collect();
    let mut taken = None;
    for action in list {
        match action {
            Action::Copy { from, to } => {
                let whole = landings.iter().find(|whole| whole.space == from.space);
                if let Some(whole) = whole {
                    (*from, to.len, taken) = (*whole, whole.len, Some(whole.len));
                }
            }
            Action::Complete {
                fact: Some(Observation::Received { bytes, truncated, .. }), ..
            } if let Some(taken) = taken => (*bytes, *truncated) = (taken, false),
            _ => {}
        }
    }
}

/// The receiver's half of an odd message is the larger one, as the sender's is.
fn overlap_halves(list: &mut [LibraryAction]) {
    let odd = list.iter().find_map(|action| match action {
        Action::Send {
            packet:
                Packet::Rendezvous {
                    word: ControlMessage::Cts { into, protocol: Protocol::CoopP2p, .. },
                    ..
                },
            ..
        } => (into.len % 2 == 1).then_some(*into),
        _ => None,
    });
    let Some(buffer) = odd else { return };
    for action in list {
        match action {
            Action::Observe(Observation::Moved { by: Mover::Receiver, offset, bytes, .. })
                if *offset + *bytes == buffer.len / 2 =>
            {
                *bytes += 1;
            }
            Action::PeerCopy { own, remote, toward: Toward::Own, .. }
                if own.space == buffer.space
                    && own.offset + own.len == buffer.offset + buffer.len / 2 =>
            {
                own.len += 1;
                remote.len += 1;
            }
            _ => {}
        }
    }
}

/// The last of several chunks is not copied.
fn lose_last_chunk(list: &mut Vec<LibraryAction>) {
    if list.iter().any(|action| matches!(action, Action::Poll(_))) {
        return;
    }
    let chunk = list
        .iter()
        .position(|action| matches!(action, Action::PeerCopy { own, .. } if own.offset > 0));
    if let Some(place) = chunk {
        // The fact that tells of it stands before it.
        list.drain(place - 1..=place);
    }
}

/// The FIN of a write leaves before it, as a packet of its own.
fn say_fin_before_writes(library: &Library, list: &mut Vec<LibraryAction>) {
    let is_fin = |action: &LibraryAction| {
        let Action::Send { packet, .. } = action else { return false };
        matches!(packet, Packet::Rendezvous { word: ControlMessage::Fin, .. })
    };
    let mut follows = list.iter().filter(|action| is_fin(action)).count();
    let mut writes = Vec::new();
    for mut action in std::mem::take(list) {
        if let Action::RdmaWrite { to, immediate, .. } = &mut action {
            let (to, brought) = (*to, immediate.take());
            list.extend(brought.into_iter().flat_map(|packet| control(library, to, *packet)));
            if follows > 0 {
                writes.push(action);
                continue;
            }
        }
        follows -= usize::from(is_fin(&action));
        list.push(action);
        if follows == 0 {
            list.append(&mut writes);
        }
    }
}

/// A control packet, with the code that makes it.
fn control(library: &Library, to: Route, packet: Packet) -> [LibraryAction; 2] {
    let header = library.job().control;
    [
        Action::Work(CodePath::Control),
        Action::Send { to, via: Via::Hca, header, packet, payload: None },
    ]
}

impl Messages {
    /// Notes the operations whose buffers will be requested.
    fn note(&mut self, list: &[LibraryAction]) {
        for action in list {
            let Action::Send { packet, .. } = action else { continue };
            match packet {
                Packet::Rts { header, scheme, remote } => {
                    self.buffers.insert(header.sender, *remote);
                    if !matches!(scheme, Scheme::Fixed(_)) {
                        self.undecided.insert(header.sender);
                    }
                }
                Packet::Rendezvous {
                    from,
                    word: ControlMessage::Cts { into, protocol: Protocol::CoopP2p, .. },
                    ..
                } => {
                    self.buffers.insert(*from, *into);
                    self.cooperating.insert(*from);
                }
                _ => {}
            }
        }
    }

    /// Messages take the lanes in turn, or that of the receiver's number.
    fn change_lanes(&mut self, mutant: Mutant, library: &Library, list: &mut [LibraryAction]) {
        let lanes = u32::from(library.job().endpoints.lanes.max(1));
        for action in list {
            let Action::Send { to, packet: Packet::Eager(_) | Packet::Rts { .. }, .. } = action
            else {
                continue;
            };
            let number = if mutant == Mutant::TwoRails { self.sent } else { to.peer.0 };
            let lane = Lane(u16::try_from(number % lanes).expect("lanes are counted in u16"));
            (to.own, to.remote) = (lane, lane);
            self.sent = (self.sent + 1) % lanes;
        }
    }

    /// The program has its buffer back when a control packet has left, and not again at the end.
    fn complete_early(&mut self, mutant: Mutant, list: &mut Vec<LibraryAction>) {
        for mut action in std::mem::take(list) {
            if let Action::Complete { buffer, .. } = &mut action
                && let Some(place) = self.given_back.iter().position(|one| Some(*one) == *buffer)
            {
                self.given_back.remove(place);
                *buffer = None;
            }
            let early = self.freed_by(mutant, &action);
            list.push(action);
            if let Some(buffer) = early {
                list.push(Action::Complete { code: None, buffer: Some(buffer), fact: None });
                self.given_back.push(buffer);
            }
        }
    }

    /// The buffer that an action gives back before its time.
    fn freed_by(&mut self, mutant: Mutant, action: &LibraryAction) -> Option<Region> {
        let Action::Send { packet, .. } = action else { return None };
        match (mutant, packet) {
            (
                Mutant::GetSender,
                Packet::Rts { scheme: Scheme::Fixed(Protocol::RGet), remote, .. },
            ) => Some(*remote),
            (
                Mutant::PutReceiver,
                Packet::Rendezvous {
                    word:
                        ControlMessage::Cts {
                            into,
                            protocol: Protocol::RPut | Protocol::RPutImmediate,
                            ..
                        },
                    ..
                },
            ) => Some(*into),
            (Mutant::CoopOnCopy, Packet::Rendezvous { from, word: ControlMessage::Fin, .. })
                if self.cooperating.remove(from) =>
            {
                self.buffers.remove(from)
            }
            _ => None,
        }
    }

    /// The FIN of RGET leaves before the read that it tells the end of.
    pub(super) fn say_fin_first(&mut self, library: &Library, list: &mut Vec<LibraryAction>) {
        for action in std::mem::take(list) {
            if let Action::RdmaRead { from: route, token, .. } = action {
                list.extend(self.fin_of(library, route, token));
            }
            if let Action::Send {
                packet: Packet::Rendezvous { from, word: ControlMessage::Fin, .. },
                ..
            } = action
                && self.fin_sent.remove(&from)
            {
                // Without the code that makes it.
                list.pop();
                continue;
            }
            list.push(action);
        }
    }

    fn fin_of(&mut self, library: &Library, route: Route, token: Token) -> Vec<LibraryAction> {
        let own = Key::from_token(token);
        let Some(to) = library.messages().sender_by_rget(own) else { return Vec::new() };
        self.fin_sent.insert(own);
        let packet = Packet::Rendezvous { to, from: own, word: ControlMessage::Fin };
        control(library, route, packet).into()
    }
}
