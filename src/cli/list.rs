//! `mpisim list`: scenarios and models that ship with the program, and their claims.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use super::compared::verdict;
use super::scenario::load;
use super::show::role;
use super::terminal::{Outcome, Terminal, print};
use experiment::baseline::{self, Baseline};
use experiment::claim::Claim;
use experiment::model_file::by_name;
use experiment::plan::{Plan, Request};
use experiment::results::{ClaimResult, ClaimRole, ClaimStatus};
use form::diagnostic::Diagnostics;
use report::table::Table;
use serde::Deserialize;
use shipped::{SHIPPED, library};

/// Scenarios and machine models.
pub(super) fn shipped() -> Outcome {
    let mut text = String::from("scenarios\n");
    for (name, scenario) in SHIPPED.scenarios.0 {
        let _ = writeln!(text, "  {name:<44} {}", title(scenario));
    }
    text.push_str("models\n");
    for name in SHIPPED.models.names() {
        let mut diagnostics = Diagnostics::new();
        // A model that ships was checked when it was committed.
        let Some(machine) = by_name(&mut diagnostics, &library(), name) else { continue };
        let _ = writeln!(text, "  {name:<44} {} ({})", machine.title, machine.standing());
    }
    print(&text)?;
    Ok(0)
}

/// The title of a scenario that ships. Nothing else of it is read: it was checked when it was committed.
fn title(scenario: &str) -> String {
    #[derive(Deserialize)]
    struct Head {
        title: String,
    }
    serde_json::from_str::<Head>(scenario).expect("a scenario that ships has a title").title
}

fn plans(terminal: Terminal) -> Result<Vec<Plan>, super::terminal::Failure> {
    let request = |name: &str| Request {
        scenario: name.to_owned(),
        library: library(),
        ..Request::default()
    };
    SHIPPED.scenarios.names().map(|name| load(terminal, &request(name))).collect()
}

/// Every claim of the scenarios that ship, and how many there are of each document.
pub(super) fn claims(terminal: Terminal) -> Outcome {
    let columns = ["id", "verdict", "role", "could fail", "null model", "scenario"];
    let mut table = empty_table(&columns);
    let mut scores = Scores::default();
    for plan in plans(terminal)? {
        let judged = saved(&plan.name).map(|baseline| baseline.judged(&plan));
        for (place, claim) in plan.claims.iter().enumerate() {
            let judged = judged.as_ref().and_then(|judged| judged.get(place));
            scores.count(claim, judged);
            let cells = [
                claim.id.as_str(),
                judged.map_or("not run", standing),
                role(claim.role),
                judged.map_or("", |one| if one.cannot_fail.is_none() { "yes" } else { "no" }),
                judged.and_then(|one| one.null_model).map_or("", |null| verdict(null.status)),
                &plan.name,
            ];
            table.rows.push(cells.map(str::to_owned).to_vec());
        }
    }
    let text = format!("{}\n{}", left_aligned(&table), scores.to_text());
    print(&text)?;
    Ok(0)
}

/// A verdict in a word, and `undecided` for a prediction that an assumed number decides.
fn standing(claim: &ClaimResult) -> &'static str {
    if claim.is_evidence() && !claim.undecided.is_empty() {
        "undecided"
    } else {
        verdict(claim.status)
    }
}

/// How many claims there are of each document, by what they are worth.
#[derive(Default)]
struct Scores(BTreeMap<String, Score>);

/// The claims of one document.
#[derive(Default)]
struct Score {
    inputs: u32,
    /// Predictions that could fail, and hold.
    hold: u32,
    /// Predictions that deviate.
    deviate: u32,
    /// Predictions that hold or deviate by an assumed number.
    undecided: u32,
    /// Predictions that could not fail.
    idle: u32,
    /// Predictions that could fail, and that a null model meets.
    null: u32,
    not_run: u32,
}

impl Scores {
    fn count(&mut self, claim: &Claim, judged: Option<&ClaimResult>) {
        let document = claim.source.split([' ', ',']).next().unwrap_or_default().to_owned();
        let own = claim.id.starts_with("ext-");
        let score = self.0.entry(if own { "(own)".to_owned() } else { document }).or_default();
        let Some(judged) = judged else { return score.not_run += 1 };
        match (judged.is_evidence(), judged.role, judged.status) {
            (_, ClaimRole::Input, _) => score.inputs += 1,
            (false, _, _) => score.idle += 1,
            (true, _, _) if !judged.undecided.is_empty() => score.undecided += 1,
            (true, _, ClaimStatus::Pass) => score.hold += 1,
            (true, _, ClaimStatus::Deviates) => score.deviate += 1,
        }
        let met = judged.null_model.is_some_and(|null| null.status == ClaimStatus::Pass);
        score.null += u32::from(judged.is_evidence() && met);
    }

    fn to_text(&self) -> String {
        let columns = [
            "document",
            "could fail",
            "hold",
            "deviate",
            "undecided",
            "null model",
            "could not fail",
            "inputs",
        ];
        let mut table = empty_table(&columns);
        let mut all = Score::default();
        for (document, score) in &self.0 {
            table.rows.push(score.row(document));
            all.add(score);
        }
        table.rows.push(all.row("all"));
        let mut text = left_aligned(&table);
        if all.not_run > 0 {
            let _ = writeln!(text, "{} claims were not run", all.not_run);
        }
        text
    }
}

impl Score {
    fn row(&self, document: &str) -> Vec<String> {
        let Self { inputs, hold, deviate, undecided, idle, null, not_run: _ } = *self;
        let counts = [hold + deviate + undecided, hold, deviate, undecided, null, idle, inputs];
        std::iter::once(document.to_owned()).chain(counts.map(|count| count.to_string())).collect()
    }

    fn add(&mut self, other: &Self) {
        self.inputs += other.inputs;
        self.hold += other.hold;
        self.deviate += other.deviate;
        self.undecided += other.undecided;
        self.idle += other.idle;
        self.null += other.null;
        self.not_run += other.not_run;
    }
}

fn empty_table(columns: &[&str]) -> Table {
    let columns = columns.iter().map(|column| (*column).to_owned()).collect();
    Table { caption: String::new(), columns, rows: Vec::new() }
}

/// The committed baseline of a scenario: of this checkout, else as it was when this program was
/// built.
fn saved(name: &str) -> Option<Baseline> {
    let mut diagnostics = Diagnostics::new();
    let path = baseline::path(baseline::MAIN, name);
    if Path::new(&path).is_file() {
        return baseline::read(&mut diagnostics, SHIPPED, &path);
    }
    let text = SHIPPED.baselines.find(name)?;
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

#[cfg(test)]
mod tests {
    use super::{SHIPPED, plans, title};
    use crate::args::{Color, ErrorFormat};
    use crate::terminal::Terminal;

    #[test]
    fn a_title_that_is_listed_is_that_of_the_plan() {
        let listed = SHIPPED.scenarios.texts().map(title);
        let planned = plans(Terminal::new(ErrorFormat::Human, Color::Never)).unwrap_or_default();
        assert!(listed.eq(planned.into_iter().map(|plan| plan.title)));
    }
}
