//! `mpisim list`: scenarios and models that ship with the program, and their claims.

use std::fmt::Write as _;
use std::path::Path;

use super::scenario::load;
use super::show::role;
use super::terminal::{Outcome, Terminal, print};
use experiment::baseline::{self, Baseline};
use experiment::library::embedded;
use experiment::plan::{Plan, Request};
use experiment::results::ClaimStatus;
use form::diagnostic::Diagnostics;
use report::table::Table;

/// Scenarios and machine models.
pub(super) fn shipped(terminal: Terminal) -> Outcome {
    let mut text = String::from("scenarios\n");
    for plan in plans(terminal)? {
        let _ = writeln!(text, "  {:<44} {}", plan.name, plan.title);
    }
    text.push_str("models\n");
    for (name, model) in embedded::MODELS {
        // A model that ships was checked when it was committed.
        let tree: serde_json::Value = serde_json::from_str(model).unwrap_or_default();
        let _ = writeln!(text, "  {name:<44} {}", tree["title"].as_str().unwrap_or_default());
    }
    print(&text)?;
    Ok(0)
}

fn plans(terminal: Terminal) -> Result<Vec<Plan>, super::terminal::Failure> {
    let request = |name: &str| Request { scenario: name.to_owned(), ..Request::default() };
    embedded::SCENARIOS.iter().map(|(name, _)| load(terminal, &request(name))).collect()
}

/// Every claim of the scenarios that ship.
pub(super) fn claims(terminal: Terminal) -> Outcome {
    let columns = ["id", "verdict", "role", "scenario"].map(str::to_owned).to_vec();
    let mut table = Table { caption: String::new(), columns, rows: Vec::new() };
    let (mut pass, mut deviates, mut open) = (0, 0, 0);
    for plan in plans(terminal)? {
        let baseline = saved(&plan.name);
        for claim in &plan.claims {
            let status = baseline.as_ref().and_then(|baseline| baseline.claim(&claim.id));
            let (word, count) = match status {
                Some(ClaimStatus::Pass) => ("pass", &mut pass),
                Some(ClaimStatus::Deviates) => ("deviates", &mut deviates),
                None => ("not run", &mut open),
            };
            *count += 1;
            let cells = [claim.id.as_str(), word, role(claim.role), &plan.name];
            table.rows.push(cells.map(str::to_owned).to_vec());
        }
    }
    let mut text = left_aligned(&table);
    let total = table.rows.len();
    let _ = writeln!(text, "{total} claims: {pass} pass, {deviates} deviate, {open} not run");
    print(&text)?;
    Ok(0)
}

/// The committed baseline of a scenario: of this checkout, else as it was when this program was
/// built.
fn saved(name: &str) -> Option<Baseline> {
    let mut diagnostics = Diagnostics::new();
    let path = baseline::path(baseline::MAIN, name);
    if Path::new(&path).is_file() {
        return baseline::read(&mut diagnostics, &path);
    }
    let text = embedded::find(embedded::BASELINES, name)?;
    baseline::parse(&mut diagnostics, &path.display().to_string(), text.as_bytes())
}

fn left_aligned(table: &Table) -> String {
    let rows = || std::iter::once(&table.columns).chain(&table.rows);
    let width = |column: usize| rows().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..table.columns.len()).map(width).collect();
    let mut text = String::new();
    for row in rows() {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}
