//! What README and the page of claims say of predictions is what the baselines hold.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use mpisim::experiment::baseline;
use mpisim::experiment::dependence::Dependences;
use mpisim::experiment::plan::{self, Request};
use mpisim::experiment::results::ClaimStatus;
use mpisim::form::diagnostic::Diagnostics;
use mpisim::shipped::{self, SHIPPED};
use serde_json::Value;

use crate::claims::{files, of_scenarios};
use crate::published::is_row;

/// Predictions of shipped scenarios.
struct Predictions {
    all: usize,
    hold: usize,
    /// Relative errors of those that expect one number, in ascending order.
    errors: Vec<f64>,
}

/// Units of metrics and of expectations in one unit of each dimension.
fn unit(name: &str) -> Option<f64> {
    let units = [
        ("", 1.0),
        ("ns", 1e-3),
        ("us", 1.0),
        ("ms", 1e3),
        ("s", 1e6),
        ("MB/s", 1.0),
        ("GB/s", 1e3),
        ("msg/s", 1e-6),
        ("Mmsg/s", 1.0),
    ];
    units.iter().find(|(unit, _)| *unit == name).map(|(_, factor)| *factor)
}

/// A number with its unit, or with `x` or nothing behind it.
fn number(text: &str) -> Option<(f64, &str)> {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    Some((number.parse().ok()?, if unit == "x" { "" } else { unit }))
}

/// How far a measured value is from the number that its claim expects, if that is one number.
fn error(claim: &Value, verdict: &Value, metrics: &Value) -> Option<f64> {
    let expected = match &claim["expect"]["value"] {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    let ((expected, in_unit), (measured, "")) =
        (number(&expected)?, number(verdict["measured"].as_str()?)?)
    else {
        return None;
    };
    let of = claim["value"].as_str().and_then(|metric| metrics[metric]["unit"].as_str());
    let expected = match of {
        Some(of) if !in_unit.is_empty() => expected * unit(in_unit)? / unit(of)?,
        _ if in_unit.is_empty() => expected,
        _ => return None,
    };
    Some((measured - expected).abs() / expected.abs())
}

/// Those whose ids are counted.
fn predictions(is_counted: fn(&str) -> bool) -> Predictions {
    let scenarios = of_scenarios();
    let mut found = Predictions { all: 0, hold: 0, errors: Vec::new() };
    for (_, text) in files("traces/baselines/main", ".json") {
        let baseline: Value = serde_json::from_str(&text).expect("a baseline is JSON");
        let scenario = format!("{}.json", baseline["scenario"].as_str().expect("a name"));
        for verdict in baseline["claims"].as_array().into_iter().flatten() {
            let id = verdict["id"].as_str().expect("an id");
            if !is_counted(id) {
                continue;
            }
            let claims = &scenarios[id];
            let claim = claims.iter().find(|(file, _)| file.ends_with(&scenario));
            let (_, claim) = claim.expect("the scenario has the claim");
            if claim["role"] == "prediction" {
                found.all += 1;
                found.hold += usize::from(verdict["status"] == "pass");
                found.errors.extend(error(claim, verdict, &baseline["metrics"]));
            }
        }
    }
    found.errors.sort_by(f64::total_cmp);
    found
}

/// Predictions that could fail, how many of them hold, and how many a null model meets, of those whose
/// ids are counted.
fn evidence(is_counted: fn(&str) -> bool) -> [usize; 3] {
    let mut counts = [0; 3];
    for (file, text) in files("traces/baselines/main", ".json") {
        let mut diagnostics = Diagnostics::new();
        let baseline = baseline::parse(&mut diagnostics, &file, text.as_bytes()).expect(&file);
        let request = Request {
            scenario: baseline.scenario.clone(),
            library: shipped::library(),
            ..Request::default()
        };
        let (plan, _) = plan::load(&request);
        let judged = baseline.judged(&plan.expect("it ships"));
        assert_eq!(
            judged.len(),
            baseline.claims.len(),
            "{file}: the points are those of the scenario"
        );
        for claim in judged.iter().filter(|claim| claim.is_evidence() && is_counted(&claim.id)) {
            counts[0] += 1;
            counts[1] += usize::from(claim.status == ClaimStatus::Pass);
            let null = claim.null_model.is_some_and(|null| null.status == ClaimStatus::Pass);
            counts[2] += usize::from(null);
        }
    }
    counts
}

/// What claims hang on was searched for in the run that the baseline keeps: a scenario that has moved since
/// is varied anew.
#[test]
fn sensitivities_are_those_of_the_baselines() {
    let kept = files("traces/sensitivity", ".json");
    assert!(!kept.is_empty());
    for (file, text) in kept {
        let found: Value = serde_json::from_str(&text).expect(&file);
        let scenario = found["scenario"].as_str().expect(&file);
        let read = Dependences::of(scenario, SHIPPED).expect("the program reads it");
        let path = baseline::path(baseline::MAIN, scenario);
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(root.join(path)).expect("the scenario has a baseline");
        let saved: Value = serde_json::from_str(&text).expect("a baseline is JSON");
        assert_eq!(
            saved["digest"],
            read.digest.as_str(),
            "{file}: `mpisim sensitivity {scenario} --save`"
        );
        for one in &read.claims {
            let claims = saved["claims"].as_array().expect("a list");
            assert!(
                claims.iter().any(|claim| claim["id"] == one.claim.as_str()),
                "{file}: {}",
                one.claim
            );
        }
    }
}

/// A scenario that says why a claim could not fail does not say it of one that fails.
#[test]
fn no_claim_that_deviates_could_not_fail() {
    let scenarios = of_scenarios();
    for (_, text) in files("traces/baselines/main", ".json") {
        let baseline: Value = serde_json::from_str(&text).expect("a baseline is JSON");
        for verdict in baseline["claims"].as_array().into_iter().flatten() {
            let id = verdict["id"].as_str().expect("an id");
            let claims = &scenarios[id];
            let said = claims.iter().any(|(_, claim)| !claim["cannot_fail"].is_null());
            assert!(
                !said || verdict["status"] == "pass",
                "{id} deviates in {}",
                baseline["scenario"]
            );
        }
    }
}

#[test]
#[allow(clippy::print_stdout, reason = "the counts are for a run by hand")]
fn the_documents_count_the_predictions_that_hold() {
    let is_of_a_paper_or_ours = |id: &str| !is_row(id);
    let Predictions { all, hold, errors } = predictions(is_of_a_paper_or_ours);
    let median = 100.0 * errors[errors.len() / 2];
    println!(
        "{hold} of {all} predictions hold; {} numbers, median error {median:.1} %",
        errors.len()
    );
    let count = format!("Of {all} predictions {hold} hold");
    let [could_fail, held, null] = evidence(is_of_a_paper_or_ours);
    let without = format!("a model in which nothing has an effect meets {null} of those");
    let evidence = format!("{held} of the {could_fail} that could fail");
    let median = format!("within {median:.0} % of it");
    let numbers = format!("{} of them state one number", errors.len());
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let wanted = BTreeMap::from([
        ("README.md", vec![&count, &evidence, &without, &median]),
        ("docs/method/claims.md", vec![&count, &evidence, &without, &median, &numbers]),
    ]);
    for (page, texts) in wanted {
        let page_text = fs::read_to_string(root.join(page)).expect("a page");
        for text in texts {
            assert!(page_text.contains(text.as_str()), "{page} does not say `{text}`");
        }
    }
}

/// Rows of published tables are counted by themselves: many are neighbours on one curve.
#[test]
fn the_documents_count_the_rows_of_published_tables() {
    let Predictions { all, hold, errors } = predictions(is_row);
    let [could_fail, held, null] = evidence(is_row);
    assert_eq!((could_fail, held), (all, hold), "each row could fail");
    let count = format!("Of {all} rows of published tables {hold} hold");
    let null = format!("the row before meets {null}");
    let median = format!("half come out within {:.0} %", 100.0 * errors[errors.len() / 2]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for page in ["README.md", "docs/method/claims.md", "docs/method/published.md"] {
        let page_text = fs::read_to_string(root.join(page)).expect("a page");
        for text in [&count, &null, &median] {
            assert!(page_text.contains(text.as_str()), "{page} does not say `{text}`");
        }
    }
}

/// Rows of the page of claims that name one claim: what was simulated is what its baseline says.
#[test]
fn the_page_of_claims_shows_the_numbers_of_the_baselines() {
    let mut measured: BTreeMap<String, f64> = BTreeMap::new();
    for (_, text) in files("traces/baselines/main", ".json") {
        let baseline: Value = serde_json::from_str(&text).expect("a baseline is JSON");
        for verdict in baseline["claims"].as_array().into_iter().flatten() {
            let value = verdict["measured"].as_str().and_then(|text| text.parse().ok());
            let id = verdict["id"].as_str().expect("an id").to_owned();
            measured.extend(value.map(|value| (id, value)));
        }
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/method/claims.md");
    let page = fs::read_to_string(page).expect("a page");
    let mut rows = 0;
    for row in page.lines().filter(|line| line.starts_with("| ") && line.contains("(`")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let id = cells[1].rsplit_once("(`").and_then(|(_, rest)| rest.strip_suffix("`)"));
        let id = id.expect("a row names one claim");
        let shown = cells[3].split(' ').next().and_then(|word| word.parse::<f64>().ok());
        let (shown, value) = (shown.expect("a row shows a number"), measured[id]);
        // A page has three digits.
        assert!((shown / value - 1.0).abs() < 0.005, "{id}: {shown} is shown, {value} measured");
        rows += 1;
    }
    assert!(rows >= 7, "{rows} rows");
}

/// Each claim that does not hold stands on the page of deviations, with what was measured, its cause
/// and what it would take; no other claim does. Rows of published tables have a page of their own.
#[test]
fn every_deviation_has_a_cause() {
    let mut wanted: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (_, text) in files("traces/baselines/main", ".json") {
        let baseline: Value = serde_json::from_str(&text).expect("a baseline is JSON");
        for verdict in baseline["claims"].as_array().into_iter().flatten() {
            let id = verdict["id"].as_str().expect("an id").to_owned();
            if verdict["status"] != "pass" && !is_row(&id) {
                let measured = verdict["measured"].as_str().unwrap_or_default().to_owned();
                wanted.entry(id).or_default().push(measured);
            }
        }
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/method/deviations.md");
    let page = fs::read_to_string(page).expect("a page");
    // Other tables of the page have another number of columns.
    let rows = page.lines().filter(|line| line.starts_with("| `") && line.split('|').count() == 7);
    let mut shown: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert!(cells[1..6].iter().all(|cell| !cell.is_empty()), "{row}");
        let id = cells[1].split('`').nth(1).expect("a row has an id");
        let measured = wanted.get(id).unwrap_or_else(|| panic!("{id} holds"));
        let is_shown = |value: &String| measured_is_shown(value, cells[3]);
        assert!(measured.iter().any(is_shown), "{id}: `{}` is shown for {measured:?}", cells[3]);
        shown.entry(id).or_default().push(cells[3]);
    }
    let missing: Vec<&String> =
        wanted.keys().filter(|id| !shown.contains_key(id.as_str())).collect();
    assert!(missing.is_empty(), "without a cause: {missing:?}");
}

/// Whether a cell shows a measured value with three digits, in whatever unit; values in words are not
/// compared.
fn measured_is_shown(measured: &str, cell: &str) -> bool {
    let number = measured.rsplit(' ').next().and_then(|word| word.parse::<f64>().ok());
    let Some(number) = number else { return true };
    let words = cell.split(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let shown = words.filter_map(|word| word.trim_end_matches('.').parse::<f64>().ok());
    shown.into_iter().any(|shown| {
        let units = [1.0, 1e3, 1e6, 1e-3, 1e-6];
        units.iter().any(|unit| (shown * unit / number - 1.0).abs() < 0.005)
    })
}
