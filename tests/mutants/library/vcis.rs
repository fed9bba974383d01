//! Communicators over VCIs: who looks where, and which queues have what.

use std::num::NonZero;

use super::Case;
use crate::small::{Small, WORLD, all, isend, recv, send, wait};
use mpisim::protocols::call::{Call, Comm};
use mpisim::protocols::library::Vcis;
use mpisim::protocols::mutant::Mutant;
use mpisim::protocols::rendezvous::Protocol;

/// A duplicate of the world: of two VCIs it has the second one.
const SECOND: Comm = Comm(1);

/// Two VCIs; whether a thread looks at both now and then.
fn two(sweeps: bool) -> Vcis {
    Vcis { count: 2, sweep: NonZero::new(4).filter(|_| sweeps) }
}

/// The first threads talk in the world, the second ones in its duplicate.
fn a_communicator_for_each_thread() -> Case {
    let thread = |comm, to, sends| {
        let call: [Call; 1] = if sends {
            [send(comm, to, 1, 8)]
        } else {
            [recv(comm, None, Some(1), 10 + u32::from(comm.0), 8)]
        };
        all(call)
    };
    let process = |to, sends| vec![thread(WORLD, to, sends), thread(SECOND, to, sends)];
    let world = Small::threads(vec![process(1, true), process(0, false)]);
    Case {
        found: &[
            (Mutant::HashesByRank, "deadlock"),
            (Mutant::PollsFirstVci, "deadlock"),
            (Mutant::WildcardsFirst, "deadlock"),
        ],
        harmless: &[Mutant::NeverSweeps],
        ..Case::new(Small { vcis: two(false), ..world })
    }
}

/// The sender waits in the world while the receiver asks for the bytes of a large message in the duplicate.
fn a_cts_on_another_vci() -> Case {
    let sender = vec![isend(SECOND, 0, 1, 1, 40), recv(WORLD, Some(1), Some(2), 91, 8), wait(0)];
    let receiver = vec![recv(SECOND, Some(0), Some(1), 92, 40), send(WORLD, 0, 2, 8)];
    let world = Small::new(vec![sender, receiver]);
    Case {
        found: &[(Mutant::NeverSweeps, "deadlock")],
        harmless: &[Mutant::HashesByRank, Mutant::PollsFirstVci, Mutant::WildcardsFirst],
        ..Case::new(Small { vcis: two(true), rendezvous: Protocol::RPut, ..world })
    }
}

pub(super) fn cases() -> Vec<(&'static str, Case)> {
    vec![
        ("2 ranks of 2 threads, a VCI for each", a_communicator_for_each_thread()),
        ("2 ranks, a CTS on another VCI", a_cts_on_another_vci()),
    ]
}
