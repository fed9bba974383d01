//! Calls that do several things at once, and requests that no thread waits for.

use std::sync::Arc;

use super::Case;
use crate::small::{Small, WORLD, exchange, isend, recv, wait};
use mpisim::protocols::call::{Call, OfRequest};
use mpisim::protocols::contract::Handle;
use mpisim::protocols::mutant::Mutant;

pub(super) fn cases() -> Vec<(&'static str, Case)> {
    vec![
        ("2 ranks, an exchange with one buffer", an_exchange_with_one_buffer()),
        ("2 ranks, an exchange that only begins", an_exchange_that_only_begins()),
        ("2 ranks, a large send that is freed", a_send_that_is_freed()),
    ]
}

/// Large messages: each side reads the other's buffer when it likes.
fn an_exchange_with_one_buffer() -> Case {
    let calls = [1, 0].map(|to| {
        let call = exchange((to, 40), (to, 40), None, true);
        vec![Call::Exchange(Arc::new(call))]
    });
    Case {
        found: &[(Mutant::ReplacesAtOnce, "V2")],
        harmless: &[Mutant::FreesAtOnce],
        ..Case::new(Small::new(calls.to_vec()))
    }
}

fn an_exchange_that_only_begins() -> Case {
    let calls = [1, 0].map(|to| {
        let call = exchange((to, 40), (to, 40), Some(Handle(0)), false);
        vec![Call::Exchange(Arc::new(call)), wait(0)]
    });
    Case {
        found: &[(Mutant::EndsWithFirst, "S4")],
        harmless: &[Mutant::ReplacesAtOnce],
        ..Case::new(Small::new(calls.to_vec()))
    }
}

fn a_send_that_is_freed() -> Case {
    let free = Call::OfRequest { does: OfRequest::Free, request: Handle(0) };
    let sender = vec![isend(WORLD, 0, 1, 1, 40), free, Call::Finalize];
    let receiver = vec![recv(WORLD, Some(0), Some(1), 0, 40)];
    Case {
        found: &[(Mutant::FreesAtOnce, "S4")],
        harmless: &[Mutant::EndsWithFirst],
        ..Case::new(Small::new(vec![sender, receiver]))
    }
}
