//! Messages whose buffers lie in pieces.

use std::sync::Arc;

use super::Case;
use crate::small::{Small, WORLD, all, own, recv, send};
use mpisim::calls::typed::Elements;
use mpisim::mpi::datatype::{Datatype, Primitive};
use mpisim::protocols::call::Call;
use mpisim::protocols::library::Endpoints;
use mpisim::protocols::mutant::Mutant;
use mpisim::protocols::rendezvous::{Cooperation, Protocol, Scheme};

const LATE: (Mutant, &str) = (Mutant::PacksLate, "V2");
const EARLY: (Mutant, &str) = (Mutant::UnpacksLate, "V2");
const GAPS: (Mutant, &str) = (Mutant::FillsGaps, "V2");
const FORGETS: (Mutant, &str) = (Mutant::ForgetsUnpack, "V2");
const FIRST: (Mutant, &str) = (Mutant::FirstPieces, "V2");
const IN_USE: (Mutant, &str) = (Mutant::StagesInUse, "V2");

pub(super) fn cases() -> Vec<(&'static str, Case)> {
    vec![
        ("2 ranks, 1 eager message in pieces", {
            let harmless = &[Mutant::StagesAll, Mutant::ForgetsUnpack, Mutant::FirstPieces];
            Case { found: &[LATE, GAPS], harmless, ..message(6, None) }
        }),
        ("2 ranks, 1 message in pieces by RGET", {
            let harmless = &[Mutant::FirstPieces, Mutant::PacksLate, Mutant::StagesInUse];
            Case { found: &[EARLY, GAPS, FORGETS], harmless, ..message(20, None) }
        }),
        ("2 lanes, 1 message in pieces for each by RGET", Case { found: &[IN_USE], ..lanes() }),
        ("2 neighbours, 1 message in pieces by cells", {
            let cells = Cooperation::by(Scheme::Fixed(Protocol::SharedMemory));
            let harmless = &[Mutant::StagesAll, Mutant::ForgetsUnpack];
            Case { found: &[LATE, GAPS, FIRST], harmless, ..message(20, Some(cells)) }
        }),
    ]
}

/// A call with blocks of 2 B.
fn side(call: Call, blocks: i64, stride: i64) -> Call {
    let byte = Datatype::named(Primitive::Byte);
    let columns = Datatype::vector(blocks, 2, stride, &byte).expect("a small type");
    call.typed(&Arc::new(Elements::new(columns, 1).expect("a small type")))
}

/// Both endpoints of a process receive, each with a thread and a lane of its own.
fn lanes() -> Case {
    let endpoints = Endpoints { at_start: Some(vec![1, 2]), ..own(2) };
    let to = |rank| side(send(WORLD, rank, 1, 0), 20, 5);
    let taker = |id| {
        let receive = recv(WORLD, Some(0), Some(1), u32::from(id), 0);
        all([Call::Attach { id }, side(receive, 20, 3)])
    };
    let sender = all([Call::Attach { id: 0 }, to(1), to(2)]);
    let steps = vec![vec![sender], vec![taker(0), taker(1)]];
    Case::new(Small::threads(steps).with(endpoints))
}

/// A message of blocks of 2 B, to other places.
fn message(blocks: i64, near: Option<Cooperation>) -> Case {
    let side = |call: Call, stride| side(call, blocks, stride);
    let sender = side(send(WORLD, 1, 1, 0), 5);
    let receiver = side(recv(WORLD, Some(0), Some(1), 0, 0), 3);
    Case::new(Small { near, ..Small::new(vec![vec![sender], vec![receiver]]) })
}
