//! Every row of the catalogue of malformed inputs has a case or a test, or a reason why it has none.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::malformed::{Row, rows};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The rows of the catalogue; a section beyond it has cases only.
fn catalogue() -> Vec<Row> {
    rows().into_iter().filter(|row| !row.id.is_empty()).collect()
}

/// Rows that a test names in a comment.
fn of_comments(folder: &Path, found: &mut BTreeSet<String>) {
    for path in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path())
    {
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
    let mut commented = BTreeSet::new();
    for folder in ["src", "tests"] {
        of_comments(&Path::new(ROOT).join(folder), &mut commented);
    }
    let rows = catalogue();
    let ids: BTreeSet<String> = rows.iter().map(|row| row.id.clone()).collect();
    assert_eq!((rows.len(), ids.len()), (178, 178));
    let unknown: Vec<&String> = commented.difference(&ids).collect();
    assert!(unknown.is_empty(), "comments name rows that the catalogue lacks: {unknown:?}");
    for Row { id, without, tested, cases, .. } in &rows {
        let says =
            usize::from(!cases.is_empty()) + usize::from(*tested) + usize::from(without.is_some());
        assert_eq!(says, 1, "{id}: cases, or `A test checks it.`, or `No case: ` and a reason");
        let has_test = commented.contains(id);
        assert!(!tested || has_test, "{id}: no test has a comment `row: {id}`");
        assert!(without.is_none() || !has_test, "{id}: a test checks it after all");
    }
}

#[test]
fn every_case_ends_as_its_row_says_or_has_a_reason() {
    for row in catalogue() {
        for case in &row.cases {
            let allowed = row.exits.contains(&case.exit());
            let reason = case.one("why").is_some();
            assert_ne!(allowed, reason, "{}: a reason exactly for another exit status", case.place);
        }
    }
}
