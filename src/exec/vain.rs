//! A rank that makes calls again and again which have nothing to wait for and make no progress: where it waits so for
//! another rank, it waits for ever, and where they take no time the clock stands still.
//!
//! Libraries differ in which of these calls make progress: here, as in MPICH, a test of a request that is not active, a
//! message to or from `MPI_PROC_NULL` and a collective of one process make none. Some programs make many such calls and
//! end; so there is a note, and the rank goes on.
//!
//! Left out: a rank that waits so and allocates, packs or computes in between. Noticeable as a run without end or note.

use super::compute::polls;
use super::functions::Function;
use super::mpi::NextStep;
use calls::rows::{Field, Fields as _};
use protocols::call::{Call, Peer};

/// Calls of one rank in a row, after which there is a note: some seconds of simulation.
const MANY: u32 = 100_000;

/// Calls in vain of the rank that called last.
#[derive(Debug, Default)]
pub struct Vain {
    rank: u32,
    calls: u32,
}

impl Vain {
    /// A rank calls a function, which leads to a step. Answers whether it is time for a note.
    pub fn calls(&mut self, rank: u32, function: Function, step: &NextStep) -> bool {
        if rank != self.rank {
            *self = Self { rank, calls: 0 };
        }
        let is_in_vain = match step {
            NextStep::Returns(_) if waits(function) => true,
            NextStep::Calls(call, _) if has_no_partner(call) => true,
            // It says what the library has, and looks at no message.
            NextStep::Returns(_) | NextStep::Clock => return false,
            NextStep::Calls(..) | NextStep::CallsBack { .. } | NextStep::Aborts(_) => false,
        };
        self.calls = if is_in_vain { self.calls.saturating_add(1) } else { 0 };
        self.calls == MANY
    }

    /// Bytes of a rank were moved.
    pub const fn ends(&mut self) {
        self.calls = 0;
    }
}

/// Text of the note on a row of such calls, of which `call` is the last.
pub fn in_words(rank: u32, call: &str) -> String {
    format!(
        "rank {rank} has made {MANY} calls in a row that wait for nothing and make no progress, the last {call}, and \
         meanwhile nothing of any rank has changed: if it waits so for another rank, it waits for ever"
    )
}

/// Whether a function waits for messages, or asks for them.
const fn waits(function: Function) -> bool {
    use Function as F;
    let waits = matches!(
        function.base().0,
        F::Wait | F::Waitall | F::Waitany | F::Waitsome | F::Probe | F::Mprobe
    );
    waits || polls(function) && !matches!(function, F::Wtime)
}

/// Whether a call has no other process to wait for; a collective that has one is called there, too.
fn has_no_partner(call: &Call) -> bool {
    if let Call::Barrier { .. } | Call::Collective(_) = call {
        return true;
    }
    if let Call::Exchange(_) | Call::Prepare(_) | Call::Start { .. } = call {
        return false;
    }
    let peer = call.first(|field| {
        let (Field::To(peer) | Field::From(peer)) = field else { return None };
        Some(*peer)
    });
    peer == Some(Peer::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_only_tests_what_is_not_active_is_spoken_of_once() {
        let mut vain = Vain::default();
        let mut test = |rank, function| vain.calls(rank, function, &NextStep::Returns(0));
        let said = (0..3 * MANY).filter(|_| test(1, Function::Test)).count();
        assert_eq!(said, 1);
        assert!(!test(0, Function::Test), "another rank goes on");
        let more = (1..MANY).filter(|_| test(0, Function::Test) || test(0, Function::Comm_rank));
        assert_eq!(more.count(), 1, "a question changes nothing");
    }

    #[test]
    fn bytes_that_move_are_no_calls_in_vain() {
        let mut vain = Vain::default();
        for call in 0..2 * MANY {
            assert!(!vain.calls(0, Function::Test, &NextStep::Returns(0)), "call {call}");
            if call % 1000 == 0 {
                vain.ends();
            }
        }
    }
}
