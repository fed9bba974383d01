//! Planted bugs of messages whose buffers lie in pieces: when, and how much, is packed.

use super::Mutant;
use crate::contract::{Action, Region, Space};
use crate::wire::LibraryAction;
use calls::packing::Task;
use calls::typed::TypedCopy;

/// Changes what the library asks for.
pub(super) fn bend(mutant: Mutant, out: &mut Vec<LibraryAction>) {
    let any = matches!(
        mutant,
        Mutant::FirstPieces
            | Mutant::StagesAll
            | Mutant::FillsGaps
            | Mutant::ForgetsUnpack
            | Mutant::PacksLate
            | Mutant::UnpacksLate
    );
    if !any {
        return;
    }
    for action in std::mem::take(out) {
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
            (Mutant::ForgetsUnpack, Action::Pack(TypedCopy { task: Task::Unpack, packed, .. }))
                if matches!(packed.space, Space::Packed(_)) => {}
            (Mutant::PacksLate, action @ Action::Send { payload: Some(_), .. })
            | (Mutant::UnpacksLate, action @ Action::Complete { .. }) => {
                let is_work = |action: &LibraryAction| matches!(action, Action::Work(_));
                let late = out.iter().rposition(|action| !is_work(action));
                let late = late.filter(|&place| matches!(out[place], Action::Pack(_)));
                let late = late.map(|place| out.remove(place));
                out.push(action);
                out.extend(late);
            }
            (_, action) => out.push(action),
        }
    }
}
