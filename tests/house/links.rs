//! Links of Markdown files lead to a file, and to a heading where they name one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Folders that are not part of a clone, or hold inputs of tests.
const SKIPPED: [&str; 2] = ["target", ".git"];

/// Every Markdown file of a clone, by its path from the root.
fn pages() -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut folders = vec![PathBuf::from(ROOT)];
    while let Some(folder) = folders.pop() {
        for path in
            fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path())
        {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() && !SKIPPED.contains(&name) {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                let text = fs::read_to_string(&path).expect("pages are text");
                all.insert(path.strip_prefix(ROOT).expect("below the root").to_owned(), text);
            }
        }
    }
    all
}

/// The lines of a page outside fenced blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// A line without its pieces of code.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// The targets of the links and images of a line.
fn targets(line: &str) -> Vec<String> {
    let line = without_code(line);
    let behind = line.split("](").skip(1);
    behind.filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())).collect()
}

/// The anchors of a page: its headings in lower case, blanks as hyphens, without punctuation; a
/// repeated one gets a number.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut all = BTreeSet::new();
    for (_, line) in prose(text) {
        let Some((_, heading)) = line.split_once(' ').filter(|(marks, _)| {
            !marks.is_empty() && marks.len() < 7 && marks.bytes().all(|mark| mark == b'#')
        }) else {
            continue;
        };
        let kept = |letter: &char| letter.is_alphanumeric() || [' ', '-', '_'].contains(letter);
        let slug: String = heading.trim().to_lowercase().chars().filter(kept).collect();
        let slug = slug.replace(' ', "-");
        let times = seen.entry(slug.clone()).or_default();
        all.insert(if *times == 0 { slug } else { format!("{slug}-{times}") });
        *times += 1;
    }
    all
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            out.pop();
        } else if part != Component::CurDir {
            out.push(part);
        }
    }
    out
}

#[test]
fn every_link_leads_somewhere() {
    let pages = pages();
    let mut wrong = Vec::new();
    let mut links = 0;
    for (page, text) in &pages {
        for (number, line) in prose(text) {
            for target in targets(line) {
                if target.starts_with("https://") {
                    continue;
                }
                links += 1;
                let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
                let folder = page.parent().expect("a page has a folder");
                let file = if file.is_empty() { page.clone() } else { plain(&folder.join(file)) };
                let place = format!("{}:{number}: {target}", page.display());
                if !Path::new(ROOT).join(&file).exists() {
                    wrong.push(format!("{place}: there is no such file"));
                } else if !anchor.is_empty()
                    && pages.get(&file).is_some_and(|text| !anchors(text).contains(anchor))
                {
                    wrong.push(format!("{place}: that page has no such heading"));
                }
            }
        }
    }
    assert!(links > 200 && wrong.is_empty(), "{links} links\n{}", wrong.join("\n"));
}

/// Paths of this repository that a line names as code, without the name of a test behind them.
fn named_paths(line: &str) -> impl Iterator<Item = &str> {
    let roots =
        ["src/", "tests/", "docs/", "scenarios/", "models/", "traces/", "tools/", "benches/"];
    let code = line.split('`').skip(1).step_by(2);
    let named = code.filter(move |code| roots.iter().any(|root| code.starts_with(root)));
    let paths = named.map(|code| code.split("::").next().unwrap_or(code));
    // A placeholder or several files.
    paths.filter(|path| !path.contains(['*', '<', ' ']))
}

#[test]
fn every_path_that_a_document_names_is_there() {
    let single = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];
    let mut wrong = Vec::new();
    for (page, text) in pages() {
        // Decisions are never edited.
        let is_document = page.starts_with("docs") && !page.starts_with("docs/adr");
        if !is_document && !single.iter().any(|name| page.as_path() == Path::new(name)) {
            continue;
        }
        for (number, line) in prose(&text) {
            let missing = named_paths(line).filter(|path| !Path::new(ROOT).join(path).exists());
            let place = |path| format!("{}:{number}: there is no {path}", page.display());
            wrong.extend(missing.map(place));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `docs/SUMMARY.md` is the table of contents, also that of the mdBook.
#[test]
fn the_table_of_contents_names_every_page_once() {
    let pages = pages();
    let summary = &pages[Path::new("docs/SUMMARY.md")];
    let mut named: Vec<PathBuf> = prose(summary)
        .flat_map(|(_, line)| targets(line))
        .map(|target| Path::new("docs").join(target))
        .collect();
    named.sort();
    let is_page = |page: &&PathBuf| page.starts_with("docs") && !page.ends_with("SUMMARY.md");
    let there: Vec<PathBuf> = pages.keys().filter(is_page).cloned().collect();
    assert_eq!(named, there);
}

#[test]
fn a_broken_link_is_seen() {
    assert_eq!(targets("see [a](b.md#c) and ![d](e.svg), not `[f](g)`"), ["b.md#c", "e.svg"]);
    let text = "# One page\n## `run`: it, again\n```text\n# no heading\n```\n## Same\n## Same\n";
    let all: Vec<String> = anchors(text).into_iter().collect();
    assert_eq!(all, ["one-page", "run-it-again", "same", "same-1"]);
}
