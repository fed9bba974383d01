//! `report.html`: one page that stands alone: no network, no script, figures inline.

use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};

use form::diagnostic::escaped;
use serde::Serialize;

use super::error::ReportError;
use super::numbers::{exact, percent};
use super::table::{Table, constants_text, legend, point_name, tables};
use super::transient::transient_lines;
use super::unfired::unfired_lines;
use experiment::results::{
    ClaimResult, ClaimRole, ClaimStatus, PointResult, ResourceUse, RunResult,
};

/// Every template and their shared parts; minijinja escapes each value in one whose name ends in
/// `.html` or `.xml`.
const TEMPLATES: [(&str, &str); 4] = [
    ("style.css", include_str!("html/style.css")),
    ("report.html", include_str!("html/report.html")),
    ("difference.html", include_str!("html/difference.html")),
    ("junit.xml", include_str!("html/junit.xml")),
];
/// Resources shown per point.
const BUSIEST: usize = 4;
/// The most rows of one table; the page says how many more there are.
const ROWS: usize = 600;
/// Rows of a table that is shown without a click, and printed.
const FOLD: usize = 40;

/// A figure of the page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageFigure {
    /// Its caption; also its alternative text.
    pub caption: String,
    /// The name of its file beside the page.
    pub file: String,
    /// The output of [`Figure::to_svg`](super::figure::Figure::to_svg), inserted as it is.
    pub svg: String,
}

/// Where one number of the model comes from.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Provenance {
    /// Path of the number: `machine.hca.wqe_time`.
    pub path: String,
    /// The value with its unit.
    pub value: String,
    /// `assumed`, `fit`, `derived`, `measured`, `spec`, `scenario`, `default`, ….
    pub confidence: String,
    /// Document, figure, or reasoning.
    pub source: String,
}

/// Everything that the page shows.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The result.
    pub result: &'a RunResult,
    /// The scenario's `source`: document and figure.
    pub source: &'a str,
    /// The scenario's `note`; its lines stay lines.
    pub note: &'a str,
    /// The machines of all points, by name.
    pub machine: &'a str,
    /// How many nodes the points have.
    pub nodes: &'a str,
    /// How many ranks real programs have; empty where there are none.
    pub ranks: &'a str,
    /// The command that makes this page again.
    pub command: &'a str,
    /// Whether its digest is the same then.
    pub to_the_digest: bool,
    /// The seed.
    pub seed: u64,
    /// The figures, in the order of the scenario.
    pub figures: &'a [PageFigure],
    /// The source of every number.
    pub provenance: &'a [Provenance],
}

/// The page as HTML.
///
/// # Errors
///
/// [`ReportError::Writer`] where the template cannot be filled: a defect of this program.
pub fn page(page: &Page<'_>) -> Result<String, ReportError> {
    fill("report.html", &View::new(page))
}

/// A template with its values.
///
/// # Errors
///
/// [`ReportError::Writer`] where the template cannot be filled: a defect of this program.
pub(super) fn fill(template: &'static str, values: &impl Serialize) -> Result<String, ReportError> {
    let failed = |why| ReportError::writer(template, why);
    let mut environment = Environment::new();
    let lines = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(lines.map_err(failed)?);
    for (name, text) in TEMPLATES {
        environment.add_template(name, text).map_err(failed)?;
    }
    let template = environment.get_template(template).map_err(failed)?;
    let page = template.render(Value::from(Serde(values))).map_err(failed)?;
    Ok(escaped(&page).into_owned())
}

/// The values of the template.
#[derive(Serialize)]
struct View<'a> {
    title: &'a str,
    scenario: &'a str,
    source: &'a str,
    note: &'a str,
    machine: &'a str,
    nodes: &'a str,
    version: &'a str,
    digest: &'a str,
    /// As text: a template's numbers need not hold every seed.
    seed: String,
    ranks: &'a str,
    command: &'a str,
    to_the_digest: bool,
    points: usize,
    figures: &'a [PageFigure],
    same: Option<String>,
    tables: Vec<LongTable>,
    legend: Vec<(String, &'static str)>,
    /// Whether the assumed numbers are many.
    fold_assumed: bool,
    claims: Vec<ClaimGroup<'a>>,
    deviations: usize,
    failures: Vec<(String, &'a str)>,
    transient: Vec<String>,
    unfired: Vec<String>,
    resources: ResourceTable,
    assumed: Vec<&'a Provenance>,
    known: Vec<&'a Provenance>,
}

impl<'a> View<'a> {
    fn new(page: &Page<'a>) -> Self {
        let result = page.result;
        let (assumed, known) = by_confidence(page.provenance);
        Self {
            title: &result.title,
            scenario: &result.scenario,
            source: page.source,
            note: page.note,
            machine: page.machine,
            nodes: page.nodes,
            version: &result.version,
            digest: &result.digest,
            seed: page.seed.to_string(),
            ranks: page.ranks,
            command: page.command,
            to_the_digest: page.to_the_digest,
            points: result.points.len(),
            figures: page.figures,
            same: constants_text(result),
            tables: tables(result).into_iter().map(LongTable::from).collect(),
            legend: legend(result),
            fold_assumed: assumed.len() > FOLD,
            claims: claim_groups(&result.claims),
            deviations: deviations(&result.claims),
            failures: failures(&result.points),
            transient: transient_lines(result),
            unfired: unfired_lines(result),
            resources: resources(&result.points),
            assumed,
            known,
        }
    }
}

/// A table cut to a length that keeps the page small, and folded where it is long.
#[derive(Serialize)]
struct LongTable {
    folded: bool,
    caption: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    hidden: usize,
}

impl From<Table> for LongTable {
    fn from(table: Table) -> Self {
        let Table { caption, columns, mut rows } = table;
        let hidden = rows.len().saturating_sub(ROWS);
        rows.truncate(ROWS);
        Self { folded: rows.len() > FOLD, caption, columns, rows, hidden }
    }
}

#[derive(Serialize)]
struct ClaimGroup<'a> {
    heading: &'static str,
    held: usize,
    claims: Vec<ClaimRow<'a>>,
}

#[derive(Serialize)]
struct ClaimRow<'a> {
    id: &'a str,
    statement: &'a str,
    deviates: bool,
    measured: String,
    expected: &'a str,
    source: &'a str,
    /// The worth of its verdict, in lines.
    worth: Vec<String>,
}

/// Predictions first, inputs apart; a group without claims is left out.
fn claim_groups(claims: &[ClaimResult]) -> Vec<ClaimGroup<'_>> {
    let group = |(role, heading)| {
        let chosen = claims.iter().filter(|claim| claim.role == role);
        let claims: Vec<ClaimRow<'_>> = chosen.map(claim_row).collect();
        let held = claims.iter().filter(|claim| !claim.deviates).count();
        ClaimGroup { heading, held, claims }
    };
    [
        (ClaimRole::Prediction, "Predictions"),
        (ClaimRole::Input, "Inputs: the model was calibrated on these, they are no evidence"),
    ]
    .map(group)
    .into_iter()
    .filter(|group| !group.claims.is_empty())
    .collect()
}

fn claim_row(claim: &ClaimResult) -> ClaimRow<'_> {
    ClaimRow {
        id: &claim.id,
        statement: &claim.statement,
        deviates: claim.status == ClaimStatus::Deviates,
        measured: claim.measured_in_words(),
        expected: &claim.expected,
        source: &claim.source,
        worth: claim.worth(),
    }
}

fn deviations(claims: &[ClaimResult]) -> usize {
    claims.iter().filter(|claim| claim.status == ClaimStatus::Deviates).count()
}

/// Each failed point and its reason, as text.
fn failures(points: &[PointResult]) -> Vec<(String, &str)> {
    let failed = points.iter().filter_map(|point| Some((point, point.failure.as_deref()?)));
    failed.map(|(point, why)| (point_name(point), why)).collect()
}

#[derive(Serialize)]
struct ResourceTable {
    rows: Vec<ResourceRow>,
    hidden: usize,
}

#[derive(Serialize)]
struct ResourceRow {
    point: String,
    busiest: Vec<Busy>,
    /// How many more resources there are, and the busiest of them.
    more: usize,
    below: String,
}

#[derive(Serialize)]
struct Busy {
    name: String,
    share: String,
    /// Width of the bar in percent, at most 100.
    width: String,
    detail: String,
}

/// Per point its busiest resources that serve, the busiest first.
fn resources(points: &[PointResult]) -> ResourceTable {
    let used: Vec<&PointResult> = points.iter().filter(|p| !p.resources.is_empty()).collect();
    ResourceTable {
        rows: used.iter().take(ROWS).map(|point| resource_row(point)).collect(),
        hidden: used.len().saturating_sub(ROWS),
    }
}

fn resource_row(point: &PointResult) -> ResourceRow {
    let mut by_use: Vec<&ResourceUse> =
        point.resources.iter().filter(|used| used.serves()).collect();
    by_use.sort_by(|left, right| right.share().total_cmp(&left.share()));
    let rest = by_use.split_off(by_use.len().min(BUSIEST));
    ResourceRow {
        point: point_name(point),
        busiest: by_use.into_iter().map(busy).collect(),
        more: rest.len(),
        below: rest.first().map_or_else(String::new, |used| percent(used.share(), 1.0)),
    }
}

fn busy(used: &ResourceUse) -> Busy {
    Busy {
        name: used.name.clone(),
        share: percent(used.share(), 1.0),
        width: exact((used.share().min(1.0) * 1000.0).round() / 10.0),
        detail: format!(
            "busy {} of {}, {} bytes in {} packets, longest queue {}",
            used.busy, used.elapsed, used.bytes, used.packets, used.queue_max
        ),
    }
}

/// The assumed numbers, and all others with the weaker sources first.
fn by_confidence(provenance: &[Provenance]) -> (Vec<&Provenance>, Vec<&Provenance>) {
    let (assumed, mut known): (Vec<_>, Vec<_>) =
        provenance.iter().partition(|number| number.confidence == "assumed");
    let strength = |number: &&Provenance| match number.confidence.as_str() {
        "fit" => 0,
        "derived" => 1,
        "measured" => 3,
        "spec" => 4,
        _ => 2,
    };
    known.sort_by_key(strength);
    (assumed, known)
}

#[cfg(test)]
mod tests;
