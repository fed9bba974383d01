//! Planted bugs of one-sided communication: its packets between origin and target.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Mutant;
use crate::call::Call;
use crate::contract::{Action, Input, Route};
use crate::job::Job;
use crate::rma::packet::{Body, Closes, Does, RmaPacket};
use crate::wire::{LibraryAction, Packet};

/// The operations of one process that wait for bytes, by window: the origin's names of them.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Answers(BTreeMap<u32, Vec<u32>>);

/// Number of the window and body of a packet about a window.
fn said(packet: &Packet) -> Option<(u32, Body)> {
    let Packet::Rma(packet) = packet else { return None };
    let RmaPacket::About { window, body } = **packet else { return None };
    Some((window, body))
}

/// Route, number of the window and body of a packet that an action sends about a window.
fn sends(action: &LibraryAction) -> Option<(Route, u32, Body)> {
    let Action::Send { to, packet, .. } = action else { return None };
    said(packet).map(|(window, body)| (*to, window, body))
}

fn about(window: u32, body: Body) -> Packet {
    Packet::Rma(Arc::new(RmaPacket::About { window, body }))
}

/// The same send with other words.
fn saying(action: &LibraryAction, window: u32, body: Body) -> LibraryAction {
    let mut other = action.clone();
    if let Action::Send { packet, .. } = &mut other {
        *packet = about(window, body);
    }
    other
}

/// Changes the input of the library; answers which thread waits from this input on for the end of its
/// epoch.
pub(super) fn bend_input(
    mutant: Mutant,
    answers: &mut Answers,
    input: &mut Input<Packet, Call>,
) -> Option<Route> {
    let Input::Packet { from, packet, .. } = input else { return None };
    let (window, body) = said(packet)?;
    match body {
        Body::Reply { answer, closes } if mutant == Mutant::WrongSlot => {
            let newest = answers.0.get_mut(&window).and_then(Vec::pop);
            let answer = newest.unwrap_or(answer);
            *packet = about(window, Body::Reply { answer, closes });
            None
        }
        Body::Operate { closes: Closes::Unlock { answers: true }, answer: None, .. } => Some(*from),
        Body::Close(Closes::Unlock { answers: true }) if mutant == Mutant::DoneLost => Some(*from),
        _ => None,
    }
}

/// Changes the answer to `asked`, which waits for the end of an epoch.
pub(super) fn bend_answers(mutant: Mutant, asked: Option<Route>, list: &mut Vec<LibraryAction>) {
    let Some(asked) = asked else { return };
    let answers = |action: &LibraryAction| {
        sends(action).is_some_and(|(to, _, body)| to == asked && body == Body::Done)
    };
    let Some(place) = list.iter().position(answers) else { return };
    match mutant {
        Mutant::DoneLost => {
            list.remove(place);
        }
        Mutant::AnswersFirst => list[..=place].rotate_right(1),
        _ => {}
    }
}

/// Changes what the library asks for.
pub(super) fn bend(
    mutant: Mutant,
    answers: &mut Answers,
    job: &Job,
    list: &mut Vec<LibraryAction>,
) {
    match mutant {
        Mutant::WrongSlot => {
            for (_, window, body) in list.iter().filter_map(sends) {
                if let Body::Operate { answer: Some(answer), .. } = body {
                    answers.0.entry(window).or_default().push(answer);
                }
            }
        }
        Mutant::IssuesTwice => issue_twice(list),
        Mutant::FirstPieceCloses => close_with_the_first(list),
        Mutant::CompletesFirst => complete_first(job, list),
        _ => {}
    }
}

/// An update without an answer leaves once more, before the one that may close something.
fn issue_twice(list: &mut Vec<LibraryAction>) {
    for action in std::mem::take(list) {
        if let Some((_, window, Body::Operate { does, place, answer: None, .. })) = sends(&action)
            && matches!(does, Does::Update(_))
        {
            let (locks, closes, answer) = (None, Closes::Nothing, None);
            let body = Body::Operate { does, place, locks, closes, answer };
            list.push(saying(&action, window, body));
            // A packet takes its bytes out of the staging buffer.
            let again = staged(&action, list).cloned();
            list.extend(again);
        }
        list.push(action);
    }
}

/// The copy that filled the staging buffer of a packet.
fn staged<'a>(packet: &LibraryAction, before: &'a [LibraryAction]) -> Option<&'a LibraryAction> {
    let Action::Send { payload: Some(payload), .. } = packet else { return None };
    before.iter().rfind(|action| matches!(action, Action::Copy { to, .. } if to == payload))
}

/// Of several packets of operations the first says what the last one would.
fn close_with_the_first(list: &mut [LibraryAction]) {
    let operations = list.iter().enumerate().filter_map(|(place, action)| {
        let (_, window, body) = sends(action)?;
        matches!(body, Body::Operate { .. }).then_some((place, window, body))
    });
    let operations: Vec<_> = operations.collect();
    let [foremost, .., hindmost] = &*operations else { return };
    let Body::Operate { closes: at_last, .. } = hindmost.2 else { return };
    for (one, with) in [(foremost, at_last), (hindmost, Closes::Nothing)] {
        let (place, window, Body::Operate { does, place: at, locks, answer, .. }) = *one else {
            continue;
        };
        let body = Body::Operate { does, place: at, locks, closes: with, answer };
        list[place] = saying(&list[place], window, body);
    }
}

/// The end of an access epoch leaves before the operations that it ends.
fn complete_first(job: &Job, list: &mut Vec<LibraryAction>) {
    let ending = list.iter().enumerate().find_map(|(place, action)| match sends(action)? {
        (to, window, Body::Operate { does, place: run, locks, closes: Closes::Epoch, answer }) => {
            Some((place, to, window, (does, run, locks, answer)))
        }
        _ => None,
    });
    let Some((at, to, window, (does, place, locks, answer))) = ending else { return };
    let body = Body::Operate { does, place, locks, closes: Closes::Nothing, answer };
    list[at] = saying(&list[at], window, body);
    let first = list.iter().position(|action| {
        sends(action)
            .is_some_and(|(other, _, body)| other == to && matches!(body, Body::Operate { .. }))
    });
    let mut end = saying(&list[at], window, Body::Close(Closes::Epoch));
    if let Action::Send { header, payload, .. } = &mut end {
        (*header, *payload) = (job.control, None);
    }
    list.insert(first.expect("the last of them was found"), end);
}
