//! Progress of an endpoint: the check that empties MPI's queue, and Irecv in its three steps.
//!
//! ```text
//!   check   probe ──▶ relocate ──▶ probe ──▶ … ──▶ nothing found
//!   irecv   1 check    2 append the request to the pending list    3 walk over that list
//! ```
//!
//! A check serves all endpoints of its process, since it cannot know for whom the next message is;
//! but it only files messages. Receives are matched by their own endpoint, in its own calls.
//!
//! Source: `xios-ep` Sec. 2, 4.
//! Left out: that other threads run between two probes. Noticeable in timed and explored runs, which
//! call [`message::relocate`] for each message instead.

use super::comm::Part;
use super::message::{self, ANY, Probed, ProcessProbe, RelocateError, Wanted};
use super::request::{Pending, Served};

/// Result of a check.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Checked {
    /// Matched probes made; the last one found nothing.
    pub probes: u32,
    /// Messages moved to lists of endpoints.
    pub drained: u32,
}

/// Empties the queue of the process; `probe` is MPI's matched probe.
///
/// # Errors
///
/// A message that no endpoint of this communicator sent; those before it were moved.
pub fn check<M>(
    part: &mut Part<M>,
    mut probe: impl FnMut(ProcessProbe) -> Option<Probed<M>>,
) -> Result<Checked, RelocateError> {
    let mut checked = Checked { probes: 1, drained: 0 };
    while let Some(probed) = probe(ANY) {
        message::relocate(part, probed)?;
        checked.probes += 1;
        checked.drained += 1;
    }
    Ok(checked)
}

/// A receive is posted by the endpoint with this in-process rank; `request` is of type 2 and names
/// a receive for what is wanted.
///
/// # Errors
///
/// As [`check`].
///
/// # Panics
///
/// The process has no such endpoint.
pub fn irecv<I, M>(
    part: &mut Part<M>,
    local: u32,
    pending: &mut Pending<I>,
    (request, wanted): (I, Wanted),
    probe: impl FnMut(ProcessProbe) -> Option<Probed<M>>,
) -> Result<(Checked, Served<I, M>), RelocateError> {
    let checked = check(part, probe)?;
    pending.post(request, wanted);
    Ok((checked, pending.serve(&mut part.handles[local as usize].messages)))
}

#[cfg(test)]
mod tests;
