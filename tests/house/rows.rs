//! Every row of the catalogue of malformed inputs has a case or a test, or a reason why it has none.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Rows that nothing checks: what cannot be written at all.
const WITHOUT: [(&str, &str); 11] = [
    ("D12", "cannot be written: a bus is given by rates and payload sizes"),
    ("E3", "cannot be written: topologies are shapes that reach every node"),
    ("E4", "cannot be written: routes are computed"),
    ("E5", "cannot be written: links are those of a shape"),
    ("E6", "cannot be written: links are those of a shape"),
    ("E10", "cannot be written: ranks are placed by a scheme"),
    ("E11", "cannot be written: a list of programs numbers its ranks"),
    ("E12", "cannot happen: the shapes have no cycle of links"),
    ("F14", "cannot be written: rank 0 hosts a mutex"),
    ("F15", "cannot be written: workloads lock before they unlock"),
    ("K8", "cannot happen: results hold no time of a clock (the house has a rule for it)"),
];

/// Cases that end with another status than their row says.
const OTHERWISE: [(&str, i64, &str); 11] = [
    ("A8", 3, "the file has an error further down: its line is what is looked at"),
    ("A9", 3, "the same"),
    ("C8", 0, "the greatest seed that there is"),
    ("C9", 0, "kept exactly"),
    ("D14", 3, "a period has another unit than a frequency, so that it is refused"),
    ("E9", 0, "with the flag that allows it"),
    ("E14", 3, "more nodes than the field takes: no estimate is needed"),
    ("F11", 3, "seen in the text, before anything runs"),
    ("F12", 3, "the same"),
    ("G7", 0, "its size is 0, and documented"),
    ("J5", 3, "the path is right and the value is not, as in a file"),
];

/// Whether this names a row: a letter from A to L and a number.
fn is_row(word: &str) -> bool {
    let Some((letter, number)) = word.split_at_checked(1) else { return false };
    ("A"..="L").contains(&letter) && number.parse::<u32>().is_ok()
}

/// The rows, with the exit statuses that they allow.
fn catalogue() -> BTreeMap<String, Vec<i64>> {
    let text = fs::read_to_string(Path::new(ROOT).join("tests/bad_inputs/CATALOGUE.md"))
        .expect("the catalogue is there");
    let row = |line: &str| {
        let cells = line.strip_prefix("| ")?.strip_suffix(" |")?;
        let (row, rest) = cells.split_once(" | ")?;
        let (_, exits) = rest.rsplit_once(" | ")?;
        let exits = exits.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok());
        is_row(row).then(|| (row.to_owned(), exits.collect()))
    };
    text.lines().filter_map(row).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|why| panic!("{}: {why}", folder.display()));
    entries.map(|entry| entry.expect("a readable entry").path()).collect()
}

/// Rows that cases name, and how those end; a case may name a rule or a format instead of a row.
fn of_cases() -> BTreeSet<(String, i64)> {
    let folders = ["cases", "runs"].map(|name| Path::new(ROOT).join("tests/bad_inputs").join(name));
    let cases = folders.iter().flat_map(|folder| entries(folder));
    let row = |case: PathBuf| {
        let text = fs::read_to_string(case.join("case.json")).expect("each case has its file");
        let case: serde_json::Value = serde_json::from_str(&text).expect("a case is JSON");
        let exit = case["exit"].as_i64().expect("a case has an exit status");
        (case["table"].as_str().expect("a case names its row").to_owned(), exit)
    };
    cases.map(row).filter(|(row, _)| is_row(row)).collect()
}

fn of_comments(folder: &Path, found: &mut BTreeSet<String>) {
    for path in entries(folder) {
        if path.is_dir() {
            of_comments(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).expect("sources are text");
            let rows = text.lines().filter_map(|line| line.trim().strip_prefix("// row: "));
            found.extend(rows.map(str::to_owned));
        }
    }
}

#[test]
fn every_row_is_checked_or_has_a_reason() {
    let all: BTreeSet<String> = catalogue().into_keys().collect();
    assert_eq!(all.len(), 178);
    let mut checked: BTreeSet<String> = of_cases().into_iter().map(|(row, _)| row).collect();
    for folder in ["src", "tests"] {
        of_comments(&Path::new(ROOT).join(folder), &mut checked);
    }
    let unknown: Vec<&String> = checked.difference(&all).collect();
    assert!(unknown.is_empty(), "the catalogue has no {unknown:?}");
    let without: BTreeSet<String> = WITHOUT.map(|(row, _)| row.to_owned()).into();
    let missing: Vec<&String> = all.difference(&checked).collect();
    assert_eq!(missing, without.iter().collect::<Vec<_>>(), "rows without a check");
}

#[test]
fn every_case_ends_as_its_row_says_or_has_a_reason() {
    let rows = catalogue();
    let otherwise = of_cases().into_iter().filter(|(row, exit)| !rows[row].contains(exit));
    let reasons: BTreeSet<(String, i64)> =
        OTHERWISE.iter().map(|(row, exit, _)| ((*row).to_owned(), *exit)).collect();
    assert_eq!(otherwise.collect::<BTreeSet<_>>(), reasons);
}
