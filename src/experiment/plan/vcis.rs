//! VCIs: over how many NIC contexts a process spreads its communicators, and with what they do not go.

use std::num::NonZero;

use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics};
use form::json::Node;
use form::shape::path::place;
use protocols::library::Vcis;
use protocols::rendezvous::Protocol;
use workloads::job::MpiOptions;
use workloads::mpi_form::MpiForm;
use workloads::ranks::Addressing;

/// One pass of so many is over all VCIs: `MPIDI_CH4_PROG_POLL_MASK` of MPICH v4.0.2, and one.
const PASSES: NonZero<u32> = NonZero::new(256).expect("it is not zero");

/// The VCIs of a point. Where the addressing is swept, points whose threads have endpoints have none.
pub(super) fn read(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    (form, addressing, swept): (&MpiForm, Addressing, bool),
    mpi: &MpiOptions,
) -> Vcis {
    let (count, sweeps) = (form.vcis, form.global_progress);
    if count <= 1 {
        return Vcis::default();
    }
    let refuse = |found: &str, allowed: &str| {
        let (path, found) = ("mpi.vcis", format!("{count} VCIs, and {found}"));
        Diagnostic::error(&codes::CONTRADICTION, place(tree, path), path, found, allowed)
    };
    match addressing {
        Addressing::Process | Addressing::Duplicated => {}
        Addressing::Endpoints(_) | Addressing::EndpointLibrary | Addressing::Partitioned => {
            if !swept {
                let found = "threads that are endpoints, or make partitions ready";
                let allowed = "communicators are spread over VCIs where `ranks.addressing` is `process`, \
                     `duplicated` or `separate`";
                diagnostics.push(refuse(found, allowed));
            }
            return Vcis::default();
        }
    }
    if mpi.rendezvous == Protocol::Rtr || mpi.cooperation.has_offers() {
        let found = "receives that say before their messages that they are ready";
        let allowed = "such receives are counted by pairs of processes: another protocol is needed";
        diagnostics.push(refuse(found, allowed));
    }
    Vcis { count, sweep: sweeps.then_some(PASSES) }
}
