//! How long each figure takes: the whole command, from reading the scenario to the report, on one
//! core, and the most memory that it held.
//!
//! A time is printed only where the digest is the baseline's. Memory is read from `/proc` while the
//! command runs; elsewhere it is not known.
//!
//! `cargo bench --bench figures`; with `-- coop/fig17` the scenarios whose names begin so.

#![allow(clippy::print_stdout, reason = "a benchmark prints its result")]
#![allow(clippy::disallowed_types, reason = "a benchmark measures host time")]
#![allow(clippy::disallowed_methods, reason = "a benchmark measures host time")]
#![allow(clippy::unwrap_used, reason = "a benchmark stops at its first surprise")]

#[path = "../tests/common/binary.rs"]
mod binary;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use binary::Scratch;
use serde_json::Value;

/// Seconds that the figure of a whole job of hundreds of processes may take.
const LARGE: u64 = 60;
/// Seconds that a figure inside one node may take.
const ONE_NODE: u64 = 10;
/// KiB that any figure may hold.
const MEMORY: u64 = 512 * 1024;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The names of all scenarios below `folder`, without `.json`.
fn scenarios(folder: &Path, names: &mut Vec<String>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            scenarios(&path, names);
        } else {
            let name = path.strip_prefix(root().join("scenarios")).unwrap().with_extension("");
            names.push(name.to_str().unwrap().to_owned());
        }
    }
}

/// The most memory that a process has held so far, in KiB.
fn peak(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

/// Runs the figure: how long, and KiB at most.
fn run(scratch: &Scratch, name: &str) -> (Duration, Option<u64>) {
    let out = scratch.path("out");
    let words = ["run", name, "--jobs", "1", "--out", out.to_str().unwrap()];
    let mut command = scratch.command(&words);
    command.current_dir(root()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn().unwrap();
    let mut held = None;
    let status = loop {
        held = peak(&child).max(held);
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let took = start.elapsed();
    assert!(status.success(), "{name}: {status}");
    let baseline = root().join("traces/baselines/main").join(format!("{name}.json"));
    let digest = |path: &Path| json(path)["digest"].clone();
    assert_eq!(digest(&out.join("manifest.json")), digest(&baseline), "{name}");
    fs::remove_dir_all(out).unwrap();
    (took, held)
}

/// How many seconds the figure may take, where a goal says so.
fn goal(name: &str) -> Option<u64> {
    if name == "coop/fig17_stencil" || name == "coop/fig20_minighost" {
        return Some(LARGE);
    }
    let scenario = json(&root().join("scenarios").join(format!("{name}.json")));
    (scenario["nodes"] == 1).then_some(ONE_NODE)
}

fn main() {
    let begins = std::env::args().skip(1).find(|word| !word.starts_with('-')).unwrap_or_default();
    let mut names = Vec::new();
    scenarios(&root().join("scenarios"), &mut names);
    let scratch = Scratch::new("figures");
    println!("{:<36} {:>10} {:>8} {:>10}", "figure", "time", "goal", "memory");
    for name in names.iter().filter(|name| name.starts_with(&begins)) {
        let (took, held) = run(&scratch, name);
        let within = goal(name);
        let missed = within.is_some_and(|goal| took > Duration::from_secs(goal))
            || held.is_some_and(|held| held > MEMORY);
        let held = held.map_or("-".to_owned(), |held| format!("{} MiB", held.div_ceil(1024)));
        let within = within.map_or("-".to_owned(), |goal| format!("{goal} s"));
        let remark = if missed { "  misses its goal" } else { "" };
        println!("{name:<36} {:>8} ms {within:>8} {held:>10}{remark}", took.as_millis());
    }
}
