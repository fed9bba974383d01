//! What people read is in words: where a text has a value as Rust shows it to programmers, and why.

use std::collections::BTreeMap;

use crate::architecture::sources;

/// Files that show values so outside of panics, with the number of lines and the reason.
const SHOWN: [(&str, usize, &str); 17] = [
    ("conform/matching.rs", 1, "bytes in the answer to a case, as a list of numbers"),
    ("explore/registry.rs", 1, "a setting that is hashed, never shown"),
    ("explore/registry/gpu.rs", 1, "bytes, as lists of numbers"),
    ("explore/registry/jobs.rs", 1, "bytes, as lists of numbers"),
    ("experiment/plan/identity.rs", 1, "text that is hashed, never shown"),
    ("mpi/intercommunicator.rs", 6, "a side is called A or B"),
    ("protocols/contract.rs", 4, "an input that a machine does not know is a defect of ours"),
    ("protocols/library/diagnosis.rs", 1, "the name of a state is the first word of it"),
    ("xios_ep/intercomm/assign.rs", 1, "a side is called A or B"),
    ("xios_ep/intercomm/call.rs", 3, "a side is called A or B"),
    ("xios_ep/intercomm/mod.rs", 4, "a side is called A or B"),
    ("xios_ep/intercomm/route.rs", 1, "a side is called A or B"),
    ("xios_ep/merge.rs", 1, "a side is called A or B"),
    ("xios_ep/request.rs", 1, "what is heard has a name of one word"),
    ("runtime/device.rs", 1, "a key that is compared, never shown"),
    ("runtime/explore/bridge.rs", 2, "where two runtimes differ is a defect of ours"),
    ("runtime/untimed/step.rs", 1, "a broken contract is a defect of ours"),
];

/// Lines above a line that may belong to the same call of a macro.
const ABOVE: usize = 3;

/// Whether a line belongs to a panic: only we read it.
fn panics(lines: &[&str], at: usize) -> bool {
    let macros = ["panic!(", "unreachable!(", "assert!(", "assert_eq!(", "assert_ne!("];
    let near = &lines[at.saturating_sub(ABOVE)..=at];
    near.iter().any(|line| macros.iter().any(|name| line.contains(name)))
}

#[test]
fn what_people_read_is_in_words() {
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for source in sources().iter().filter(|source| !source.is_test()) {
        let code = source.text_before_tests();
        let lines: Vec<&str> = code.lines().collect();
        let shows = |at: &usize| {
            lines[*at].contains(":?}")
                && !lines[*at].trim_start().starts_with("//")
                && !panics(&lines, *at)
        };
        let many = (0..lines.len()).filter(shows).count();
        if many > 0 {
            found.insert(source.path.clone(), many);
        }
    }
    let allowed = SHOWN.iter().map(|(path, many, _)| ((*path).to_owned(), *many)).collect();
    assert_eq!(found, allowed, "say it in words, or give a reason in `SHOWN`");
}
