//! How many files a new part of a family touches: counted for one of each family, and compared with the table
//! in CONTRIBUTING.

use super::architecture::{check_none, sources};

const CONTRIBUTING: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/CONTRIBUTING.md"));

/// A family as CONTRIBUTING calls it, the words that name one of its members in the sources, and files that
/// name it by a word which others have, too.
const MEMBERS: [(&str, &[&str], &[&str]); 5] = [
    ("workload", &["minighost", "MiniGhostForm"], &[]),
    ("rendezvous protocol", &["rput_immediate", "RPutImmediate"], &[]),
    (
        "algorithm of a collective",
        &["allgather_ring", "AllgatherRing"],
        &["workloads/statements/form/collectives.rs"],
    ),
    ("mutex", &["test_and_set", "TestAndSet"], &[]),
    ("machine number", &["match_elem_lines"], &[]),
];

/// The second cell of the row of a family.
fn stated(family: &str) -> Option<usize> {
    let row = CONTRIBUTING.lines().find_map(|line| line.strip_prefix(&format!("| {family} | ")))?;
    row.split('|').next()?.trim().parse().ok()
}

#[test]
fn a_new_part_touches_as_many_files_as_contributing_says() {
    let all = sources();
    let mut wrong = Vec::new();
    for (family, words, also) in MEMBERS {
        let files: Vec<&str> = all
            .iter()
            .filter(|source| !source.is_test() && !source.path.starts_with("protocols/mutant/"))
            .filter(|source| source.names(words) || also.contains(&source.path.as_str()))
            .map(|source| source.path.as_str())
            .collect();
        if stated(family) != Some(files.len()) {
            wrong.push(format!("{family}: CONTRIBUTING says {:?}, not {files:?}", stated(family)));
        }
    }
    check_none(&wrong);
}
