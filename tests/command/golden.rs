//! What the documents quote is what the program prints.

use std::fs;
use std::path::{Path, PathBuf};

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
