//! `check --format junit`: the XML that CI systems read. A scenario is a suite; its digest, each of
//! its metrics over all points, and each claim are the cases. A metric that moved is a failure, a
//! scenario that cannot be compared an error. Times are left out: equal results give equal bytes.

use serde::Serialize;

use super::error::ReportError;
use super::html::fill;
use super::json::{CheckStatus, CheckedClaim, CheckedMetric, CheckedScenario, MetricStatus};
use super::numbers::{apart, change, exact, in_parentheses, tolerated};

/// Differences of one metric that are written out.
const SHOWN: usize = 10;

/// One scenario.
#[derive(Clone, Copy, Debug)]
pub struct Suite<'a> {
    /// Verdicts on its parts.
    pub scenario: &'a CheckedScenario,
    /// Why it could not be compared, where it could not.
    pub problem: Option<&'a str>,
    /// Whether other events alone are a failure.
    pub digest_counts: bool,
    /// Common causes of the differences: other numbers of the machine, work that moved.
    pub remarks: &'a [String],
}

/// The whole document.
///
/// # Errors
///
/// [`ReportError::Writer`] where the template cannot be filled: a defect of this program.
pub fn junit(suites: &[Suite<'_>]) -> Result<String, ReportError> {
    let suites: Vec<SuiteView> = suites.iter().map(SuiteView::new).collect();
    let text = fill(
        "junit.xml",
        &Document {
            tests: suites.iter().map(|suite| suite.cases.len()).sum(),
            failures: suites.iter().map(|suite| suite.failures).sum(),
            errors: suites.iter().map(|suite| suite.errors).sum(),
            suites,
        },
    )?;
    Ok(format!("{}\n", text.trim_end()))
}

#[derive(Serialize)]
struct Document {
    tests: usize,
    failures: usize,
    errors: usize,
    suites: Vec<SuiteView>,
}

#[derive(Serialize)]
struct SuiteView {
    name: String,
    failures: usize,
    errors: usize,
    cases: Vec<Case>,
}

/// The kind of an element of the document.
#[derive(Clone, Copy, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Failure,
    Error,
}

#[derive(Serialize)]
struct Case {
    name: String,
    /// Nothing for a case that passed.
    kind: Option<Kind>,
    message: String,
    text: String,
}

impl Case {
    fn passed(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: None, message: String::new(), text: String::new() }
    }

    fn not_passed(name: impl Into<String>, kind: Kind, lines: &[String]) -> Self {
        let message = printable(lines.first().map_or("", String::as_str));
        let text = printable(&lines.join("\n"));
        Self { name: name.into(), kind: Some(kind), message, text }
    }
}

/// XML has no place for control characters, not even escaped.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || *c == '\n').collect()
}

impl SuiteView {
    fn new(suite: &Suite<'_>) -> Self {
        let cases = cases(suite);
        let count = |kind| cases.iter().filter(|case| case.kind == Some(kind)).count();
        Self {
            name: suite.scenario.scenario.clone(),
            failures: count(Kind::Failure),
            errors: count(Kind::Error),
            cases,
        }
    }
}

fn cases(suite: &Suite<'_>) -> Vec<Case> {
    let scenario = suite.scenario;
    if let Some(problem) = suite.problem {
        return vec![Case::not_passed("run", Kind::Error, &[problem.to_owned()])];
    }
    if scenario.status == CheckStatus::New {
        let none = "there is no baseline: save it with `mpisim check --save-baseline`".to_owned();
        return vec![Case::not_passed("baseline", Kind::Error, &[none])];
    }
    let mut all = vec![digest(suite)];
    let mut names: Vec<&str> = Vec::new();
    for metric in &scenario.metrics {
        if !names.contains(&metric.name.as_str()) {
            names.push(&metric.name);
        }
    }
    all.extend(names.into_iter().map(|name| metric(scenario, name)));
    all.extend(scenario.claims.iter().map(claim));
    all
}

fn digest(suite: &Suite<'_>) -> Case {
    let CheckedScenario { digest, baseline_digest, .. } = suite.scenario;
    if digest == baseline_digest || !suite.digest_counts {
        return Case::passed("digest");
    }
    let shown = |digest: &Option<String>| digest.clone().unwrap_or_else(|| "none".to_owned());
    let first = format!("{}, was {}", shown(digest), shown(baseline_digest));
    let lines: Vec<String> = std::iter::once(first).chain(suite.remarks.iter().cloned()).collect();
    Case::not_passed("digest", Kind::Failure, &lines)
}

fn metric(scenario: &CheckedScenario, name: &str) -> Case {
    let of_name = scenario.metrics.iter().filter(|metric| metric.name == name);
    let mut moved: Vec<&CheckedMetric> =
        of_name.filter(|metric| metric.status != MetricStatus::Same).collect();
    if moved.is_empty() {
        return Case::passed(name);
    }
    moved.sort_by(|left, right| relative(right).total_cmp(&relative(left)));
    let mut lines: Vec<String> =
        moved.iter().take(SHOWN).map(|metric| difference(metric)).collect();
    if moved.len() > SHOWN {
        lines.push(format!("and {} more points", moved.len() - SHOWN));
    }
    Case::not_passed(name, Kind::Failure, &lines)
}

/// The change of a metric, as a part of its old value; infinite if one side has none.
fn relative(metric: &CheckedMetric) -> f64 {
    match (metric.value, metric.baseline) {
        (Some(value), Some(old)) => ((value - old) / old).abs(),
        _ => f64::INFINITY,
    }
}

fn difference(metric: &CheckedMetric) -> String {
    let CheckedMetric { point, unit, tolerance, .. } = metric;
    let place = in_parentheses(&metric.params.0);
    let with_unit = |number: String| format!("{number} {unit}").trim_end().to_owned();
    let [now, was, moved] = match (metric.value, metric.baseline) {
        (Some(value), Some(old)) => {
            let [now, was] = apart([value, old]).map(with_unit);
            let (moved, tolerance) = (change(old, value, 4), tolerated(*tolerance));
            [now, was, format!(" ({moved}, tolerance {tolerance})")]
        }
        (now, was) => {
            let shown = |value: Option<f64>| {
                value.map_or_else(|| "none".to_owned(), |it| with_unit(exact(it)))
            };
            [shown(now), shown(was), String::new()]
        }
    };
    format!("point {point}{place}: {now}, was {was}{moved}")
}

/// A claim fails where its verdict moved: one that deviates as it did is no regression.
fn claim(claim: &CheckedClaim) -> Case {
    let name = format!("claim {}", claim.id);
    if claim.baseline_status == Some(claim.status) {
        return Case::passed(name);
    }
    let was = claim.baseline_status.map_or("not in the baseline", |status| status.word());
    let line = format!("{}, was {was}; simulated {}", claim.status.word(), claim.measured);
    Case::not_passed(name, Kind::Failure, &[line])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{ClaimVerdict, Ordered};

    fn scenario(status: CheckStatus, value: f64) -> CheckedScenario {
        let metric = |name: &str, value, status| CheckedMetric {
            point: 3,
            params: Ordered(vec![("workload.size".into(), "8 B".into())]),
            name: name.into(),
            value: Some(value),
            baseline: Some(2.0),
            unit: "us".into(),
            tolerance: 0.01,
            status,
        };
        let moved =
            if status == CheckStatus::Same { MetricStatus::Same } else { MetricStatus::Changed };
        CheckedScenario {
            scenario: "a/<small>".into(),
            status,
            digest: Some("1".repeat(32)),
            baseline_digest: Some(if status == CheckStatus::Same { "1" } else { "2" }.repeat(32)),
            inputs: Vec::new(),
            metrics: vec![metric("latency", value, moved), metric("time", 2.0, MetricStatus::Same)],
            claims: vec![CheckedClaim {
                id: "c-1".into(),
                status: ClaimVerdict::Deviates,
                measured: "3 & more".into(),
                expected: "2".into(),
                source: "a document".into(),
                baseline_status: Some(ClaimVerdict::Deviates),
            }],
        }
    }

    fn text(status: CheckStatus, problem: Option<&str>) -> String {
        counted(status, problem, true)
    }

    fn counted(status: CheckStatus, problem: Option<&str>, digest_counts: bool) -> String {
        let scenario = scenario(status, 2.1);
        let remarks = ["threads: posting +2.0 %".to_owned()];
        junit(&[Suite { scenario: &scenario, problem, digest_counts, remarks: &remarks }]).unwrap()
    }

    #[test]
    fn equal_results_are_cases_that_pass_even_where_a_claim_deviates() {
        let xml = text(CheckStatus::Same, None);
        assert!(xml.contains("tests=\"4\" failures=\"0\" errors=\"0\""), "{xml}");
        assert_eq!(xml.matches("<testcase ").count(), 4, "{xml}");
        assert!(xml.contains("a/&lt;small&gt;") || xml.contains("a&#x2f;&lt;small&gt;"), "{xml}");
    }

    #[test]
    fn what_moved_is_a_failure_with_its_numbers_and_remarks() {
        let xml = text(CheckStatus::Changed, None);
        assert!(xml.contains("failures=\"2\" errors=\"0\""), "{xml}");
        assert!(xml.contains("+5.0000 %, tolerance 1 %"), "{xml}");
        assert!(xml.contains("posting +2.0 %"), "{xml}");
        assert!(xml.contains("point 3 (workload.size = 8 B): 2.1 us, was 2.0 us"), "{xml}");
        assert_eq!(xml.matches("<failure ").count(), xml.matches("</failure>").count());
    }

    #[test]
    fn other_events_alone_fail_only_where_they_count() {
        let xml = counted(CheckStatus::Changed, None, false);
        assert!(xml.contains("failures=\"1\" errors=\"0\""), "{xml}");
        assert!(xml.contains("name=\"digest\"/>"), "{xml}");
    }

    #[test]
    fn what_cannot_be_compared_is_an_error_and_never_a_pass() {
        let xml = text(CheckStatus::Failed, Some("stopped\u{7}\nat 3 us"));
        assert!(xml.contains("errors=\"1\"") && xml.contains("stopped\nat 3 us"), "{xml}");
        assert!(text(CheckStatus::New, None).contains("no baseline"));
    }
}
