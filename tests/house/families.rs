//! How many files a new part of a family touches: counted for one of each family, and compared with the table
//! in CONTRIBUTING.

use super::architecture::{check_none, sources};

const CONTRIBUTING: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/CONTRIBUTING.md"));

/// The table of the functions of MPI: a file of the program, though not of Rust.
const FUNCTIONS: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/exec/abi/functions.txt"));

/// A family as CONTRIBUTING calls it, and the words that name one of its members in the sources.
const MEMBERS: [(&str, &[&str]); 14] = [
    ("workload", &["minighost", "MiniGhostForm"]),
    ("rendezvous protocol", &["rput_immediate", "RPutImmediate"]),
    ("algorithm of a collective", &["allgather_ring", "AllgatherRing"]),
    ("topology", &["torus", "Torus"]),
    ("trace format", &["ti", "TiForm"]),
    ("mutex", &["test_and_set", "TestAndSet"]),
    ("machine number", &["match_elem_lines"]),
    ("key of a scenario", &["counter_lag"]),
    ("fault kind", &["hca_stall", "HcaStall"]),
    ("subcommand", &["Man", "manual"]),
    ("action", &["RdmaAtomic"]),
    ("call", &["AttachBuffer"]),
    ("statement", &["buffer_attach"]),
    ("MPI function of exec", &["Comm_test_inter"]),
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
    for (family, words) in MEMBERS {
        let mut files: Vec<&str> = all
            .iter()
            .filter(|source| !source.is_test() && !source.path.starts_with("protocols/mutant/"))
            .filter(|source| source.names(words))
            .map(|source| source.path.as_str())
            .collect();
        if words.iter().any(|word| FUNCTIONS.contains(&format!(" {word}("))) {
            files.push("exec/abi/functions.txt");
        }
        if stated(family) != Some(files.len()) {
            wrong.push(format!("{family}: CONTRIBUTING says {:?}, not {files:?}", stated(family)));
        }
    }
    check_none(&wrong);
}
