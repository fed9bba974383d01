//! Sentences without a noun before their relative clause become fewer: the words that mark them are
//! counted, and the counts may only fall.

use std::path::Path;

use crate::claims::files;

/// A word, and the most lines that may have it: in sources, in tests, in documents.
const CEILINGS: [(&str, [usize; 3]); 3] =
    [("nobody", [59, 44, 2]), ("whoever", [1, 15, 1]), ("told", [261, 107, 1])];

/// Lines of these files that have the word by itself.
fn lines(files: &[(String, String)], word: &str) -> usize {
    let has = |line: &&str| {
        line.to_lowercase().split(|c: char| !c.is_alphanumeric() && c != '_').any(|one| one == word)
    };
    files.iter().map(|(_, text)| text.lines().filter(has).count()).sum()
}

/// Documents that are written by hand and may change: decisions and the reference may not.
fn documents() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    let read = |name: &str| std::fs::read_to_string(root.join(name)).expect("a page");
    let single = pages.iter().map(|name| ((*name).to_owned(), read(name)));
    let fixed = ["/docs/adr/", "/docs/reference/"];
    let below = files("docs", ".md").into_iter();
    let below = below.filter(|(name, _)| !fixed.iter().any(|folder| name.contains(folder)));
    single.chain(below).collect()
}

#[test]
#[allow(clippy::print_stdout, reason = "the counts are for a run by hand")]
fn words_without_a_noun_become_fewer() {
    let tests: Vec<(String, String)> = files("tests", ".rs")
        .into_iter()
        .filter(|(name, _)| !name.ends_with("house/prose.rs"))
        .collect();
    let areas = [files("src", ".rs"), tests, documents()];
    let mut wrong = Vec::new();
    for (word, ceilings) in CEILINGS {
        let counts = [0, 1, 2].map(|at| lines(&areas[at], word));
        println!("{word}: {counts:?} lines of sources, tests and documents");
        for ((count, ceiling), what) in
            counts.iter().zip(ceilings).zip(["src", "tests", "documents"])
        {
            if *count > ceiling {
                wrong.push(format!("`{word}` in {count} lines of {what}, at most {ceiling}"));
            }
        }
    }
    assert!(wrong.is_empty(), "name the thing of the domain instead:\n{}", wrong.join("\n"));
}

/// The most headings of items in sources that are relative clauses: a heading says what an item gives.
const CLAUSES: usize = 34;

#[test]
#[allow(clippy::print_stdout, reason = "the count is for a run by hand")]
fn headings_that_are_relative_clauses_become_fewer() {
    let begins = ["What ", "Who ", "Whose ", "Whoever "];
    let mut count = 0;
    for (_, text) in files("src", ".rs") {
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        let heads = |at: &usize| {
            let own = lines[*at].strip_prefix("/// ");
            own.is_some_and(|own| begins.iter().any(|begin| own.starts_with(begin)))
                && !at.checked_sub(1).is_some_and(|above| lines[above].starts_with("///"))
        };
        count += (0..lines.len()).filter(heads).count();
    }
    println!("{count} headings of items are relative clauses");
    assert!(count <= CLAUSES, "{count} headings begin with What or Who, at most {CLAUSES}");
}
