//! Rows of published tables: every row that the rule of `traces/published/README.md` names is a claim
//! `pub-TABLE-SIZE`, a prediction, and the page of them counts what the baselines hold.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use mpisim::units::Bytes;
use serde_json::{Value as Json, json};

use super::claims::{files, of_scenarios, text};

/// How the id of a claim begins that is a row of such a table.
const PREFIX: &str = "pub-";
/// How far off a row of latency, bandwidth or message rate may be.
const POINT_TO_POINT: &str = "20 %";
/// How far off a row of a collective may be.
const COLLECTIVE: &str = "30 %";
/// A table of at most so many rows is compared in full, a longer one at powers of four.
const SHORT: usize = 4;

/// Whether a claim is a row of a published table.
pub(super) fn is_row(id: &str) -> bool {
    id.starts_with(PREFIX)
}

/// A published table.
struct Table {
    /// Its file, without the folder and the end.
    name: String,
    /// The program that measured it.
    benchmark: String,
    /// `us` or `MB/s`.
    unit: String,
    /// Bytes, and the number as it is written.
    rows: Vec<(u64, String)>,
}

impl Table {
    fn read(file: &str, lines: &str) -> Self {
        let name = Path::new(file).file_stem().and_then(|name| name.to_str()).expect("a name");
        let (comments, rows): (Vec<&str>, Vec<&str>) =
            lines.lines().partition(|line| line.starts_with('#'));
        let heads = comments.last().expect("columns have names");
        let (_, unit) = heads.rsplit_once('(').expect("the last column has a unit");
        let row = |line: &str| {
            let (size, value) = line.split_once(' ').unwrap_or_else(|| panic!("{file}: {line}"));
            (size.parse().expect("a size"), value.trim().to_owned())
        };
        Self {
            name: name.to_owned(),
            benchmark: comments[0].trim_start_matches("# ").to_lowercase(),
            unit: unit.trim_end_matches(')').to_owned(),
            rows: rows.into_iter().map(row).collect(),
        }
    }

    /// The rows that are claims.
    fn chosen(&self) -> impl Iterator<Item = &(u64, String)> {
        let is_power_of_four =
            |size: u64| size.is_power_of_two() && size.trailing_zeros().is_multiple_of(2);
        let is_short = self.rows.len() <= SHORT;
        self.rows.iter().filter(move |(size, _)| is_short || is_power_of_four(*size))
    }

    fn is_collective(&self) -> bool {
        ["allreduce", "alltoall", "allgather"].iter().any(|name| self.benchmark.contains(name))
    }

    /// The metric of a scenario that has the table's values, and what one of them is there.
    fn metric(&self, value: &str) -> (&'static str, f64) {
        let value: f64 = value.parse().expect("a number");
        if self.benchmark.contains("sendrecv") {
            // A step of the workload exchanges with both neighbours, one of the benchmark with one.
            ("step_time", 2.0 * value)
        } else if self.unit == "us" {
            ("latency", value)
        } else {
            ("bandwidth", value)
        }
    }
}

fn tables() -> Vec<Table> {
    let found = files("traces/published", ".txt");
    found.iter().map(|(file, lines)| Table::read(file, lines)).collect()
}

/// The metric of the claim `id` and its expectation, which are those of its row.
pub(super) fn stated(id: &str) -> (&'static str, Json) {
    let (name, size) = id.trim_start_matches(PREFIX).rsplit_once('-').expect("table and size");
    let tables = tables();
    let table = tables.iter().find(|table| table.name == name);
    let table = table.unwrap_or_else(|| panic!("{id}: no such table"));
    let row = table.rows.iter().find(|(bytes, _)| bytes.to_string() == size);
    let (_, value) = row.unwrap_or_else(|| panic!("{id}: no such row"));
    let (metric, value) = table.metric(value);
    let tolerance = if table.is_collective() { COLLECTIVE } else { POINT_TO_POINT };
    (metric, json!({ "value": format!("{value} {}", table.unit), "tolerance": tolerance }))
}

/// No row is left out, none is added, and each is about its own size.
#[test]
fn every_row_that_the_rule_names_is_a_prediction() {
    let tables = tables();
    let ids = tables.iter().flat_map(|table| {
        table.chosen().map(|(size, _)| (format!("{PREFIX}{}-{size}", table.name), *size))
    });
    let wanted: BTreeMap<String, u64> = ids.collect();
    let scenarios = of_scenarios();
    let found: Vec<&String> = scenarios.keys().filter(|id| is_row(id)).collect();
    assert_eq!(found, wanted.keys().collect::<Vec<_>>());
    for (id, size) in &wanted {
        let [(file, claim)] = scenarios[id].as_slice() else { panic!("{id} stands once") };
        assert_eq!(claim["role"], "prediction", "{file}: {id}");
        assert!(text(claim, "source").starts_with("published, "), "{file}: {id}");
        // A scenario of one size has no axis of sizes.
        if let Some(at) = claim["at"]["workload.size"].as_str() {
            assert_eq!(at.parse::<Bytes>(), Ok(Bytes::new(*size)), "{file}: {id}");
        }
    }
    assert!(tables.len() >= 43 && wanted.len() >= 361, "{} of {}", wanted.len(), tables.len());
}

/// Each table has a line on the page with the number of its claims, how many of them hold, their median
/// error, and the cause of those that do not.
#[test]
fn the_page_of_published_tables_counts_what_the_baselines_hold() {
    let mut errors: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut hold: BTreeMap<String, usize> = BTreeMap::new();
    for (file, text) in files("traces/baselines/main/published", ".json") {
        let baseline: Json = serde_json::from_str(&text).expect(&file);
        for verdict in baseline["claims"].as_array().expect("a list") {
            let id = verdict["id"].as_str().expect("an id");
            let (name, _) = id.trim_start_matches(PREFIX).rsplit_once('-').expect("table and size");
            let (_, expect) = stated(id);
            let number = |json: &Json| {
                let word = json.as_str().and_then(|text| text.split(' ').next());
                word.and_then(|word| word.parse::<f64>().ok()).expect("a number")
            };
            let error = number(&verdict["measured"]) / number(&expect["value"]) - 1.0;
            errors.entry(name.to_owned()).or_default().push(error.abs());
            *hold.entry(name.to_owned()).or_default() += usize::from(verdict["status"] == "pass");
        }
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/method/published.md");
    let page = fs::read_to_string(page).expect("a page");
    for (name, errors) in &mut errors {
        errors.sort_by(f64::total_cmp);
        let (all, hold) = (errors.len(), hold[name]);
        let median = 100.0 * errors[all / 2];
        let start = format!("| `{name}` | {all} | {hold} | {median:.0} % |");
        let line = page.lines().find(|line| line.starts_with(&start));
        let line = line.unwrap_or_else(|| panic!("the page has no line `{start}`"));
        let cause = line.trim_end_matches('|').rsplit('|').next().unwrap_or_default().trim();
        assert!(hold == all || !cause.is_empty(), "{name}: rows deviate without a cause");
    }
    assert!(errors.len() >= 43, "{} tables", errors.len());
}
