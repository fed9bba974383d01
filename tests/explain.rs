//! Where the time went: the parts sum to the whole, and nothing of it is without a name.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use mpisim::engine::Keep;
use mpisim::experiment::plan::{Point, Request, load};
use mpisim::experiment::results::{Explanation, PointResult};
use mpisim::experiment::run::run_point;
use mpisim::units::TimeDelta;

fn point_of(scenario: &str, overrides: &[&str]) -> Point {
    let overrides = overrides.iter().map(|&text| text.to_owned()).collect();
    let request = Request { scenario: scenario.to_owned(), overrides, ..Request::default() };
    let (plan, diagnostics) = load(&request);
    assert!(!diagnostics.has_errors(), "{}", diagnostics.human());
    plan.unwrap().points[0].clone()
}

fn explained(point: &Point) -> PointResult {
    run_point(point, Keep::Causes).unwrap().0
}

/// Every scenario that ships, by its name.
fn scenarios(folder: &Path, names: &mut Vec<String>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            scenarios(&path, names);
        } else {
            let name = path.strip_prefix("scenarios").unwrap().with_extension("");
            names.push(name.to_str().unwrap().to_owned());
        }
    }
}

#[track_caller]
fn check_sum(name: &str, explanation: &Explanation) {
    let sum: u64 = explanation.parts.iter().map(|part| part.time.as_ps()).sum();
    assert_eq!(sum, explanation.total.as_ps(), "{name}: parts sum to the whole");
    assert!(explanation.total > TimeDelta::ZERO, "{name}: something was measured");
    for part in &explanation.parts {
        let unknown = ["other", "before the oldest moment kept"].contains(&part.phase);
        assert!(!unknown, "{name}: {part:?} of {}", explanation.total);
        assert!(part.time > TimeDelta::ZERO, "{name}: {part:?}");
    }
    let keys: BTreeSet<(&str, &str)> =
        explanation.parts.iter().map(|part| (part.resource.as_str(), part.phase)).collect();
    assert_eq!(keys.len(), explanation.parts.len(), "{name}: each part once");
}

#[test]
fn parts_sum_to_the_measured_time_in_every_scenario() {
    let mut names = Vec::new();
    scenarios(Path::new("scenarios"), &mut names);
    assert!(names.len() > 90, "all scenarios are found");
    for name in names {
        let begun = std::time::Instant::now();
        let point = point_of(&name, &[]);
        let result = explained(&point);
        assert_eq!(result.failure, None, "{name}");
        check_sum(&name, result.explanation.as_ref().unwrap());
        let baseline = fs::read_to_string(format!("traces/baselines/main/{name}.json")).unwrap();
        let baseline: serde_json::Value = serde_json::from_str(&baseline).unwrap();
        assert_eq!(
            result.digest, baseline["points"][0]["digest"],
            "{name}: watching changes nothing"
        );
        eprintln!("{name} {:?}", begun.elapsed());
    }
}
