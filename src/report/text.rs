//! The report of a run for a terminal: tables, explanations, failures, claims, digest.

use std::fmt::Write as _;

use super::explain::explain_text;
use super::table::{constants_text, legend, tables};
use super::what_if::what_if_text;
use experiment::results::{ClaimResult, ClaimRole, ClaimStatus, RunResult};
use form::diagnostic::quote;

/// The whole human report: tables, failures, claims, digest; `machine` names that of the points.
pub fn report_text(result: &RunResult, machine: &str) -> String {
    let mut text = format!("{}\n{} on {machine}\n", result.title, quote(&result.scenario));
    if let Some(same) = constants_text(result) {
        let _ = write!(text, "\n{same}\n");
    }
    for table in tables(result).iter().filter(|table| !table.columns.is_empty()) {
        let _ = write!(text, "\n{}", table.to_text());
    }
    for (index, (name, meaning)) in legend(result).into_iter().enumerate() {
        let _ = writeln!(text, "{}{name}: {meaning}", if index == 0 { "\n" } else { "" });
    }
    text.push_str(&explain_text(result));
    text.push_str(&what_if_text(result));
    text.push_str(&failures_text(result));
    text.push_str(&claims_text(&result.claims));
    let _ = writeln!(text, "\ndigest {}", result.digest);
    text
}

/// The failures, one paragraph per point.
fn failures_text(result: &RunResult) -> String {
    let mut text = String::new();
    for point in &result.points {
        if let Some(failure) = &point.failure {
            let _ = write!(text, "\npoint {}", point.index);
            for (path, value) in &point.params {
                let _ = write!(text, ", {path} = {value}");
            }
            let _ = writeln!(text, " failed:\n{failure}");
        }
    }
    text
}

/// The claims with their verdicts: predictions first, inputs apart, deviations with their number.
pub fn claims_text(claims: &[ClaimResult]) -> String {
    let mut text = String::new();
    for (role, heading) in [
        (ClaimRole::Prediction, "predictions"),
        (ClaimRole::Input, "inputs (the model was calibrated on them)"),
    ] {
        let chosen: Vec<_> = claims.iter().filter(|claim| claim.role == role).collect();
        if chosen.is_empty() {
            continue;
        }
        let held = chosen.iter().filter(|claim| claim.status == ClaimStatus::Pass).count();
        let _ = write!(text, "\nclaims, {heading}: {held} of {} hold", chosen.len());
        let idle = chosen.iter().filter(|claim| claim.cannot_fail.is_some()).count();
        if role == ClaimRole::Prediction && idle > 0 {
            let _ = write!(text, ", {idle} of which could not fail");
        }
        text.push('\n');
        for claim in chosen {
            text.push_str(&claim_text(claim));
        }
    }
    text
}

fn claim_text(claim: &ClaimResult) -> String {
    let verdict = match claim.status {
        ClaimStatus::Pass => "pass    ",
        ClaimStatus::Deviates => "DEVIATES",
    };
    let ClaimResult { id, statement, expected, source, .. } = claim;
    let measured = claim.measured_in_words();
    let said = if statement.is_empty() { String::new() } else { format!("{statement} ") };
    let mut text = format!(
        "  {verdict}  {id}: simulated {measured}, expected {expected}\n            {said}({source})\n"
    );
    for line in claim.worth() {
        let _ = writeln!(text, "            {line}");
    }
    text
}
