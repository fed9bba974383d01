//! Collectives that are only begun: the workload that measures one beside a computation.

use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics};
use form::json::Node;
use workloads::collective::Beside;

const PATH: &str = "workload.kind";

/// What a process computes beside the collective of a workload, where it only begins it.
pub(super) fn read(diagnostics: &mut Diagnostics, node: &Node, threads: u16) -> Option<Beside> {
    let compute = node.time("compute")?;
    if threads > 1 {
        let span = node.get("kind").map_or(node.span, |value| value.span);
        let found = format!("collectives that are only begun, by processes of {threads} threads");
        let allowed = "one thread calls in each process; a progress thread may stand beside it";
        diagnostics.push(Diagnostic::error(&codes::CONTRADICTION, span, PATH, found, allowed));
    }
    Some(Beside { compute, tests: node.small("tests").unwrap_or(0) })
}
