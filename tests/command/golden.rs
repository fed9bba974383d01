//! What the documents quote is what the program prints, and points of every scenario are those of its
//! baseline: a few of each, and no long one. `.ci/run figures` compares all points.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use mpisim::experiment::baseline::{self, Baseline};
use mpisim::experiment::check::{Comparison, Rules, compare, fits};
use mpisim::experiment::plan::{Plan, Point, Request, load, runs};
use mpisim::experiment::results::{PointResult, RunResult};
use mpisim::experiment::run::{RunOptions, run_points};
use mpisim::form::diagnostic::Diagnostics;
use mpisim::shipped::{self, SHIPPED};

/// Points that are tried of each scenario, from all over its sweep.
const POINTS: usize = 4;
/// Events after which a point is too long for a debug build, and is left to `.ci/run figures`.
const EVENTS: u64 = 100_000;
/// Scenarios of which no point is short.
const LONG: [&str; 15] = [
    "coop/ext_load_counters",
    "coop/fig17_stencil",
    "coop/fig17_work",
    "coop/fig17b_copies",
    "coop/fig18_graph500",
    "coop/fig18_graph500_strong",
    "coop/fig18_seconds",
    "coop/fig19_comd_strong",
    "coop/fig20_minighost",
    "endpoints/ext_bounds",
    "endpoints/ext_sharing",
    "endpoints/ext_static",
    "endpoints/fig04_no_cap",
    "faults/noise_message_rate",
    "rma/fig10_handler",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn json(path: &Path) -> serde_json::Value {
    let text = fs::read_to_string(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    serde_json::from_str(&text).unwrap()
}

/// Every scenario below `folder`, as its path without `.json`.
fn scenarios(folder: &Path, names: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            scenarios(&path, names);
        } else {
            names.push(path.strip_prefix(root().join("scenarios")).unwrap().to_owned());
        }
    }
}

#[test]
fn every_scenario_has_a_baseline() {
    let mut names = Vec::new();
    scenarios(&root().join("scenarios"), &mut names);
    assert!(!names.is_empty());
    for name in names {
        let baseline = root().join("traces/baselines/main").join(&name);
        assert!(
            baseline.is_file(),
            "{} is missing: `mpisim check --save-baseline main`",
            baseline.display()
        );
    }
}

#[test]
fn the_readme_quotes_the_digest_of_its_figure() {
    let baseline = json(&root().join("traces/baselines/main/endpoints/fig03_message_rate.json"));
    let digest = baseline["digest"].as_str().unwrap();
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let quoted: Vec<&str> =
        readme.lines().filter_map(|line| line.strip_prefix("digest ")).collect();
    assert_eq!(quoted, [digest]);
}

fn plan_of(scenario: &str, overrides: &[&str]) -> Plan {
    let scenario = format!("scenarios/{scenario}.json");
    let overrides = overrides.iter().map(|&one| one.to_owned()).collect();
    let (plan, diagnostics) =
        load(&Request { scenario, overrides, library: shipped::library(), ..Request::default() });
    plan.unwrap_or_else(|| panic!("{}", diagnostics.human()))
}

fn baseline_of(scenario: &str) -> Baseline {
    let mut diagnostics = Diagnostics::new();
    let read = baseline::read(&mut diagnostics, SHIPPED, &baseline::path(baseline::MAIN, scenario));
    read.unwrap_or_else(|| panic!("{}", diagnostics.human()))
}

/// Points from all over a sweep, each ended by a limit where it is long.
fn spread(plan: &Plan) -> Vec<Point> {
    let mut points = plan.points.clone();
    // The first, then those that halve the sweep again and again.
    points.sort_by_key(|point| Reverse(point.index.trailing_zeros()));
    points.truncate(POINTS);
    for point in &mut points {
        point.limits.events = point.limits.events.min(EVENTS);
    }
    points
}

/// The points that are not too long, against the baseline.
fn compared(plan: &Plan, baseline: &Baseline) -> Comparison {
    let points = spread(plan);
    let open: Vec<&Point> = points.iter().collect();
    let options = RunOptions { jobs: 2, explain: false, stop: &AtomicBool::new(false) };
    let mut points: Vec<PointResult> = run_points(&runs(&open), options, &mut |_| Ok(())).unwrap();
    points.retain(|point| !point.limited);
    let scenario = &plan.name;
    assert!(!points.is_empty(), "{scenario}: no point of it is short");
    let result = RunResult {
        scenario: scenario.clone(),
        title: plan.title.clone(),
        version: baseline.version.clone(),
        digest: baseline.digest.clone(),
        points,
        claims: Vec::new(),
        what_if: Vec::new(),
    };
    compare(&result, baseline, &Rules::default()).unwrap()
}

/// Short points of every scenario in a folder have the digests and metrics of their baselines.
#[track_caller]
fn check_folder(folder: &str) {
    let mut names = Vec::new();
    scenarios(&root().join("scenarios").join(folder), &mut names);
    let names = names.iter().map(|name| name.with_extension("").display().to_string());
    let names: Vec<String> = names.filter(|name| !LONG.contains(&name.as_str())).collect();
    assert!(!names.is_empty(), "{folder}");
    for name in names {
        let (plan, baseline) = (plan_of(&name, &[]), baseline_of(&name));
        fits(&plan, &baseline, false).unwrap();
        let found = compared(&plan, &baseline);
        let (first, worst) = (found.first_point, found.worst());
        assert!(first.is_none() && worst.is_empty(), "{name}: point {first:?}: {worst:?}");
    }
}

#[test]
fn a_number_of_the_machine_that_moved_is_found_in_a_few_points() {
    for (scenario, change) in [
        ("endpoints/fig03_message_rate", "machine.mpi.step_send=4800 ns"),
        ("coop/fig07_bandwidth", "machine.mem.core_copy_bw=13 GB/s"),
        ("gpu-pack/fig05_stride", "machine.gpu.kernel_launch_latency=8 us"),
    ] {
        let found = compared(&plan_of(scenario, &[change]), &baseline_of(scenario));
        assert!(found.first_point.is_some() && !found.worst().is_empty(), "{scenario}: {change}");
    }
}

/// Each folder has its test below.
#[test]
fn every_folder_of_scenarios_is_compared() {
    let folders = fs::read_dir(root().join("scenarios")).unwrap();
    for folder in folders.map(|one| one.unwrap().file_name().to_string_lossy().into_owned()) {
        let call = format!("check_folder(\"{folder}\");");
        assert!(include_str!("golden.rs").contains(&call), "{folder}");
    }
}

#[test]
fn points_of_coop_are_those_of_their_baselines() {
    check_folder("coop");
}

#[test]
fn points_of_endpoints_are_those_of_their_baselines() {
    check_folder("endpoints");
}

#[test]
fn points_of_examples_are_those_of_their_baselines() {
    check_folder("examples");
}

#[test]
fn points_of_faults_are_those_of_their_baselines() {
    check_folder("faults");
}

#[test]
fn points_of_gpu_pack_are_those_of_their_baselines() {
    check_folder("gpu-pack");
}

#[test]
fn points_of_modern_are_those_of_their_baselines() {
    check_folder("modern");
}

#[test]
fn points_of_published_are_those_of_their_baselines() {
    check_folder("published");
}

#[test]
fn points_of_ref_node_are_those_of_their_baselines() {
    check_folder("ref-node");
}

#[test]
fn points_of_rma_are_those_of_their_baselines() {
    check_folder("rma");
}

#[test]
fn points_of_xios_ep_are_those_of_their_baselines() {
    check_folder("xios-ep");
}
