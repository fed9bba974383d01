//! VCIs: which NIC context serves a communicator, or a window.
//!
//! ```text
//!   MPI_COMM_WORLD, MPI_COMM_SELF      0
//!   the job's other communicators      1, 2, 3 ...            all modulo the VCIs of a process
//!   those that process p makes         on from there, p by p
//!   windows                            on from there, as they are numbered
//! ```
//!
//! All members know these numbers from a context or from the number of a window, so that a message, and
//! its answer, leave and arrive on VCIs of one number.
//!
//! Source: MPICH v4.0.2 (`MPICHVCI`): `src/mpi/comm/commutil.c` (`init_comm_seq`: communicators are
//! numbered by their rank 0, builtin ones have 0; a window has a communicator of its own) and
//! `src/mpid/ch4/src/ch4_vci.h` (the number decides, the default of `--enable-ch4-vci-method`).
//! Left out: the broadcast of the number in each creation, which the context tells here; that a process
//! also counts communicators whose number another one gives, and windows together with communicators.
//! Noticeable in creations, and in which of them share a VCI.

use super::contract::{Lane, Lanes, Process, Route};
use super::job::{Job, Vcis};
use mpi::envelope::Context;

impl Vcis {
    /// The lanes of all VCIs.
    pub(super) fn all(self) -> Lanes {
        Lanes { first: Lane(0), count: self.count.max(1) }
    }

    fn of_number(self, number: u32) -> Lane {
        let vci = number % u32::from(self.count.max(1));
        Lane(u16::try_from(vci).expect("VCIs are counted in u16"))
    }
}

impl Job {
    /// Communicators that the job begins with.
    fn begins_with(&self) -> u32 {
        u32::try_from(self.communicators.iter().len()).expect("at most 2^16")
    }

    /// The VCI of the communicator with this context.
    pub(super) fn vci(&self, context: Context) -> Lane {
        if self.communicators.is_self(context) {
            return Lane(0);
        }
        // Processes take turns in the numbers that they give: see `library/contexts.rs`.
        let (pair, begins) = (context.0 / 2, self.begins_with());
        let processes = u32::try_from(self.threads.len()).expect("processes are numbered in u32");
        let number = pair.checked_sub(begins).map_or(pair, |made| begins + made / processes.max(1));
        self.vcis.of_number(number)
    }

    /// The VCI of a window.
    pub(super) fn vci_of_window(&self, window: u32) -> Lane {
        self.vcis.of_number(self.begins_with() + window)
    }
}

#[cfg(feature = "mutants")]
impl Job {
    /// The route to a VCI that the receiver's number has changed.
    pub(super) fn hashed_by_rank(&self, route: Route) -> Route {
        let remote = self.vcis.of_number(u32::from(route.remote.0) + route.peer.0);
        Route { remote, ..route }
    }
}

/// The way to a process on VCIs of one number.
pub(super) fn on_vci(peer: Process, vci: Lane) -> Route {
    Route { peer, own: vci, remote: vci }
}
