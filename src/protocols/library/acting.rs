//! As which rank, or on which VCI, the threads of a process act, and what they share by it.
//!
//! ```text
//!   endpoints   handle ──────────────────────────▶ rank of its own ──▶ lane, queues, lock (lanes.rs)
//!   VCIs        communicator ──▶ its number, modulo the VCIs ────────▶ lane, queues, lock
//! ```
//!
//! A process has this part only where it has endpoints, or where its job has several VCIs.
//!
//! `vcis.rs` says which VCI serves a communicator, or a window. A call takes the lock of its VCI, and waits
//! there: receives with wildcards look at one VCI. A wait for requests of several VCIs polls all of them, and
//! so does each thread once in a while ([`Machine::sweeps`](super::Machine::sweeps)). What is found on a VCI is
//! handled under the lock of that VCI.
//!
//! Source: MPICH v4.0.2 (`MPICHVCI`): `src/mpid/ch4/src/ch4_wait.h` and `ch4_progress.h` (a wait polls the
//! VCIs of its requests, and all in one of 256 polls). Left out: the locks of the other VCIs in a pass over
//! several that finds nothing there. Noticeable where several threads wait for requests of several VCIs each.

use std::num::NonZero;

use super::endpoints::EndpointTable;
use super::lanes::Caller;
use super::requests::RequestTable;
use super::site::Site;
use super::{Guard, Handle, Key, Lanes, Thread};
use crate::call::{Call, Comm, CommCall, Requests};
use crate::contract::Lane;
#[cfg(feature = "mutants")]
use crate::mutant::Mutant;
use crate::rma::call::{RmaCall, Win};
use calls::rows::{Field, Fields as _};
use mpi::envelope::{Context, Rank};

/// Identities that the threads of a process act as.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Acting {
    /// The rank or ranks, or the VCI, that each thread acted as in its last call.
    current: Vec<Caller>,
    /// The endpoints of the process; empty where it has none.
    pub(super) endpoints: EndpointTable,
}

impl Acting {
    /// A process with so many threads, before its first call.
    pub(super) fn new(threads: usize, endpoints: EndpointTable) -> Self {
        Self { current: vec![Caller::Process; threads], endpoints }
    }

    /// Identity that a thread acts as now.
    pub(super) fn current(&self, thread: Thread) -> Caller {
        self.current[usize::from(thread.0)]
    }

    /// A thread makes a call; answers whether its endpoint must be looked up for it.
    pub(super) fn enter(
        &mut self,
        site: &Site,
        thread: Thread,
        call: &Call,
        caller: Caller,
    ) -> bool {
        if self.endpoints.is_empty() && !site.job.vcis.are_several() {
            return false;
        }
        self.current[usize::from(thread.0)] = caller;
        self.endpoints.is_static() && !matches!(call, Call::Attach { .. })
    }

    /// As what `thread` makes a call; `context` knows communicators of processes, `window` the numbers of
    /// windows, and `probed` the messages of matched probes.
    pub(super) fn caller(
        &self,
        site: &Site,
        thread: Thread,
        call: &Call,
        requests: &RequestTable,
        context: impl Fn(Comm) -> Option<Context>,
        window: impl Fn(Win) -> Option<u32>,
        probed: impl Fn(Handle) -> Option<Caller>,
    ) -> Caller {
        let by_vci = site.job.vcis.are_several();
        if self.endpoints.is_empty() && !by_vci {
            return Caller::Process;
        }
        let request = |key| requests.get(key).map_or(Caller::Process, |open| open.caller);
        let member = |comm: Comm| match self.endpoints.local(thread, comm) {
            Some(local) => Caller::Endpoint(local),
            None if by_vci => {
                context(comm).map_or(Caller::Process, |context| Caller::Vci(site.job.vci(context)))
            }
            None => Caller::Process,
        };
        let call = call.begun();
        let call = if let Call::Typed(typed) = call { &typed.call } else { call };
        if by_vci {
            if let Call::Rma(call) = call {
                // Words of those that make or free a window go over a communicator, and over the window.
                let own = || window(call.win()).map(|number| site.job.vci_of_window(number));
                return if let RmaCall::Create { comm, .. } = **call {
                    across(member(comm))
                } else if let RmaCall::Free { .. } = **call {
                    Caller::Several(own().unwrap_or_default())
                } else {
                    own().map_or(Caller::Process, Caller::Vci)
                };
            }
            // They end with requests of any communicator.
            if let Call::Finalize | Call::DetachBuffer = call {
                return Caller::Several(Lane(0));
            }
            // Its leaders talk in another communicator, too.
            if let Call::Communicators(
                CommCall::Intercomm { comm, .. } | CommCall::Couple { comm, .. },
            ) = call
            {
                return across(member(*comm));
            }
        } else if let Call::Rma(_)
        | Call::Communicators(_)
        | Call::Prepare(_)
        | Call::Partitioned(_)
        | Call::OfPartitions { .. } = call
        {
            return Caller::Process;
        }
        // The calling thread makes, frees or becomes an endpoint.
        if let Call::CreateEndpoints { .. } | Call::FreeEndpoint { .. } = call {
            return Caller::Process;
        }
        let asked = call.first(|field| {
            if let Field::Of(handle) = field {
                return Some(request(Key::User(*handle)));
            }
            if let Field::OfAll(set) = field {
                return Some(caller_of(set, requests));
            }
            let Field::Message(message) = field else { return None };
            // A probe finds the message, in its communicator.
            call.comm().is_none().then(|| probed(*message).unwrap_or_default())
        });
        asked.unwrap_or_else(|| call.comm().map_or(Caller::Process, member))
    }

    /// The queues in which a message of this context to this rank is matched.
    pub(super) fn queue(&self, site: &Site, context: Context, dest: Rank) -> usize {
        if site.job.vcis.are_several() {
            return usize::from(site.job.vci(context).0);
        }
        site.job.endpoints.queue(self.endpoints.receiver(context, dest))
    }

    /// The pairs of queues that the process needs now.
    pub(super) fn queues(&self, site: &Site) -> usize {
        let vcis = site.job.vcis;
        if vcis.are_several() {
            return usize::from(vcis.count);
        }
        site.job.endpoints.queues_of(self.endpoints.locals())
    }

    /// The library lock of a caller; none where no other thread uses what it uses.
    pub(super) fn lock_of(&self, site: &Site, caller: Caller) -> Option<Guard> {
        if site.job.vcis.are_several() {
            return Some(Guard(lane_of(caller).0));
        }
        site.job.endpoints.lock(caller, self.endpoints.locals())
    }

    /// The lanes that a thread polls.
    pub(super) fn polled_by(&self, site: &Site, thread: Thread) -> Lanes {
        let caller = self.current(thread);
        let vcis = site.job.vcis;
        if !vcis.are_several() {
            return site.job.endpoints.polled(caller);
        }
        #[cfg(feature = "mutants")]
        if site.job.has(Mutant::PollsFirstVci) {
            return Lanes::one(Lane(0));
        }
        if is_several(caller) { vcis.all() } else { Lanes::one(lane_of(caller)) }
    }

    /// The lanes of all VCIs, and in one of how many passes a thread polls them; `None` where it polls no
    /// other lanes than [`Self::polled_by`] says.
    pub(super) fn swept_by(&self, site: &Site, thread: Thread) -> Option<(Lanes, NonZero<u32>)> {
        let vcis = site.job.vcis;
        let few = vcis.are_several() && !is_several(self.current(thread));
        #[cfg(feature = "mutants")]
        let few = few && !site.job.has(Mutant::NeverSweeps);
        vcis.sweep.filter(|_| few).map(|passes| (vcis.all(), passes))
    }
}

/// The lane of the VCI that a caller uses, where there are several; calls about no communicator use the first.
fn lane_of(caller: Caller) -> Lane {
    match caller {
        Caller::Vci(vci) | Caller::Several(vci) => vci,
        Caller::Process | Caller::Endpoint(_) => Lane(0),
    }
}

/// The same call, which waits on all VCIs.
fn across(caller: Caller) -> Caller {
    Caller::Several(lane_of(caller))
}

fn is_several(caller: Caller) -> bool {
    matches!(caller, Caller::Several(_))
}

/// Identity under which these requests were made.
fn caller_of(set: &Requests, requests: &RequestTable) -> Caller {
    let keys = (0..set.len()).map(|index| Key::User(set.at(index)));
    let mut callers = keys.filter_map(|key| requests.get(key)).map(|open| open.caller);
    let Some(first) = callers.next() else { return Caller::Process };
    if callers.all(|caller| caller == first) { first } else { Caller::Several(Lane(0)) }
}
