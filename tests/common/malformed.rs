//! The cases of `tests/bad_inputs/*.md`, one Markdown file for each family of malformed inputs.
//!
//! `tests/bad_inputs/README.md` says how a case is written.
#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, reason = "a defect of a case ends the test that reads it")]

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the families.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/bad_inputs");

/// A row of the catalogue: a kind of malformed input.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its letter and number; empty for a section beyond the catalogue.
    pub(crate) id: String,
    /// The exit statuses that it allows.
    pub(crate) exits: Vec<i32>,
    /// Why no case can be written.
    pub(crate) without: Option<String>,
    /// Whether the page says that a test with a comment `row: ID` checks it.
    pub(crate) tested: bool,
    pub(crate) cases: Vec<Case>,
}

/// An input, and the answer that it must get.
#[derive(Debug)]
pub(crate) struct Case {
    /// File, line and heading.
    pub(crate) place: String,
    /// The heading as a name of a folder.
    pub(crate) slug: String,
    /// The input files by name.
    pub(crate) files: Vec<(String, Content)>,
    /// The lines of the expectation: key and value.
    expect: Vec<(String, String)>,
}

/// What an input file holds.
#[derive(Debug)]
pub(crate) enum Content {
    Bytes(Vec<u8>),
    /// A text too long for a page.
    Repeated {
        prefix: String,
        times: usize,
        piece: String,
        suffix: String,
    },
}

impl Content {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Repeated { prefix, times, piece, suffix } => {
                [prefix.as_bytes(), &piece.as_bytes().repeat(*times), suffix.as_bytes()].concat()
            }
        }
    }
}

/// The first report that a case must get, as far as it is fixed.
pub(crate) struct Report<'a> {
    pub(crate) code: &'a str,
    pub(crate) line: Option<u64>,
    pub(crate) column: Option<u64>,
    pub(crate) path: Option<&'a str>,
}

/// A line of a command case, in order.
pub(crate) enum Step {
    /// The words behind `mpisim`.
    Run(Vec<String>),
    /// A change of a file: its name, the text to find, the text in its place.
    Replace(String, String, String),
}

impl Case {
    /// All values of a key, in order.
    pub(crate) fn all(&self, key: &str) -> Vec<&str> {
        self.expect.iter().filter(|(one, _)| one == key).map(|(_, value)| &**value).collect()
    }

    /// The value of a key that stands there at most once.
    pub(crate) fn one(&self, key: &str) -> Option<&str> {
        let all = self.all(key);
        assert!(all.len() < 2, "{}: `{key}` stands there twice", self.place);
        all.first().copied()
    }

    /// Whether this case is a command line, not an input to validate.
    pub(crate) fn is_command(&self) -> bool {
        !self.all("$").is_empty()
    }

    fn exit_line(&self) -> (&str, Option<&str>) {
        let line = self.one("exit").unwrap_or_else(|| panic!("{}: no exit status", self.place));
        line.split_once(", ").map_or((line, None), |(exit, report)| (exit, Some(report)))
    }

    /// The exit status that it must get.
    pub(crate) fn exit(&self) -> i32 {
        self.exit_line().0.parse().unwrap_or_else(|why| panic!("{}: {why}", self.place))
    }

    /// The first report that it must get.
    pub(crate) fn report(&self) -> Option<Report<'_>> {
        let (code, place) = match self.exit_line().1? {
            line if line.contains(" at ") => line.split_once(" at ")?,
            code => (code, ""),
        };
        let mut numbers = place.split(':').map(|number| number.parse().ok());
        let (line, column) = (numbers.next().flatten(), numbers.next().flatten());
        Some(Report { code, line, column, path: self.one("path") })
    }

    /// The command lines and changes of files, in order.
    pub(crate) fn steps(&self) -> Vec<Step> {
        let step = |(key, value): &(String, String)| {
            if key == "$" {
                let rest = value.strip_prefix("mpisim").expect("a command line of the program");
                return Some(Step::Run(words(rest)));
            }
            let file = key.strip_prefix("replace in ")?;
            let (find, put) = value.split_once(" => ").expect("two texts with ` => ` between");
            Some(Step::Replace(file.to_owned(), find.to_owned(), put.to_owned()))
        };
        self.expect.iter().filter_map(step).collect()
    }
}

/// Splits a command line at blanks; a word that holds a blank stands between `"`.
fn words(line: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').expect("a closing quotation mark"),
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        all.push(word.to_owned());
        rest = after.trim_start();
    }
    all
}

/// The bytes of an `escaped` block: `\xNN`, `\r`, `\t`, `\\`, and `\` at the end of a line for a
/// line end that is not there.
fn unescape(block: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    for line in block {
        let mut rest = line.bytes();
        let mut ends = true;
        while let Some(byte) = rest.next() {
            if byte != b'\\' {
                out.push(byte);
                continue;
            }
            match rest.next() {
                None => ends = false,
                Some(b'r') => out.push(b'\r'),
                Some(b't') => out.push(b'\t'),
                Some(b'\\') => out.push(b'\\'),
                Some(b'x') => {
                    let mut digit = || char::from(rest.next()?).to_digit(16);
                    let value = digit().zip(digit()).map(|(high, low)| high * 16 + low);
                    let value = value.unwrap_or_else(|| panic!("two digits after \\x: {line}"));
                    out.push(u8::try_from(value).expect("two digits make a byte"));
                }
                Some(other) => panic!("no such escape: \\{}: {line}", char::from(other)),
            }
        }
        if ends {
            out.push(b'\n');
        }
    }
    out
}

/// The content of a fenced block of this language.
fn content(language: &str, block: &[&str]) -> Content {
    match language {
        "escaped" => Content::Bytes(unescape(block)),
        "repeated" => {
            let text = |json: &str| -> String { serde_json::from_str(json).expect("a JSON text") };
            let [prefix, line, suffix] = block else { panic!("three lines: {block:?}") };
            let (times, piece) = line.split_once(" times ").expect("a number, ` times `, a text");
            Content::Repeated {
                prefix: text(prefix),
                times: times.parse().expect("a number"),
                piece: text(piece),
                suffix: text(suffix),
            }
        }
        "json" | "text" | "xml" => Content::Bytes((block.join("\n") + "\n").into_bytes()),
        other => panic!("no such kind of block: {other}"),
    }
}

/// The letter and number before the first full stop of a heading, if it names a row.
fn id(heading: &str) -> Option<&str> {
    let (id, _) = heading.split_once(". ")?;
    let (letter, number) = id.split_at_checked(1)?;
    (("A"..="L").contains(&letter) && number.parse::<u32>().is_ok()).then_some(id)
}

fn read(path: &Path, rows: &mut Vec<Row>) {
    let text = fs::read_to_string(path).unwrap();
    let file = path.file_name().unwrap().to_str().unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let mut name = "scenario.json".to_owned();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        if let Some(heading) = line.strip_prefix("## ") {
            let id = id(heading).unwrap_or_default().to_owned();
            rows.push(Row {
                id,
                exits: Vec::new(),
                without: None,
                tested: false,
                cases: Vec::new(),
            });
        } else if let Some(heading) = line.strip_prefix("### ") {
            rows.last_mut().unwrap().cases.push(Case {
                place: format!("{file}:{at} {heading}"),
                slug: heading.replace(' ', "_"),
                files: Vec::new(),
                expect: Vec::new(),
            });
        } else if let Some(exits) = line.strip_prefix("Exit status: ") {
            let numbers = exits.split(|c: char| !c.is_ascii_digit());
            rows.last_mut().unwrap().exits = numbers.filter_map(|word| word.parse().ok()).collect();
        } else if let Some(reason) = line.strip_prefix("No case: ") {
            rows.last_mut().unwrap().without = Some(reason.to_owned());
        } else if line == "A test checks it." {
            rows.last_mut().unwrap().tested = true;
        } else if let Some(label) = line.strip_prefix('`').and_then(|rest| rest.strip_suffix("`:"))
        {
            label.clone_into(&mut name);
        } else if let Some(language) = line.strip_prefix("```") {
            let length =
                lines[at..].iter().position(|line| *line == "```").expect("a closing fence");
            let block = &lines[at..at + length];
            at += length + 1;
            let case = rows.last_mut().and_then(|row| row.cases.last_mut()).expect("a case");
            if language == "expect" {
                assert!(case.expect.is_empty(), "{}: one expectation", case.place);
                case.expect = block.iter().map(|line| expectation(line)).collect();
            } else {
                case.files.push((std::mem::take(&mut name), content(language, block)));
            }
            "scenario.json".clone_into(&mut name);
        }
    }
}

/// A line of an expectation: key and value.
fn expectation(line: &str) -> (String, String) {
    let command = line.strip_prefix("$ ").map(|command| ("$", command));
    let pair =
        command.or_else(|| line.split_once(": ")).or_else(|| Some((line.strip_suffix(':')?, "")));
    let (key, value) = pair.unwrap_or_else(|| panic!("a key and `: `: {line}"));
    let known = ["$", "input", "link", "set", "env", "unset", "exit", "why", "path", "says"];
    let others = ["prints", "writes", "longest line"];
    let is_known = known.contains(&key) || others.contains(&key) || key.starts_with("replace in ");
    assert!(is_known, "no such key: {line}");
    (key.to_owned(), value.to_owned())
}

/// All rows, with their cases, in the order of the families.
pub(crate) fn rows() -> Vec<Row> {
    let entries = fs::read_dir(FOLDER).unwrap().map(|entry| entry.unwrap().path());
    let is_family = |path: &PathBuf| {
        path.extension().is_some_and(|end| end == "md") && !path.ends_with("README.md")
    };
    let mut files: Vec<PathBuf> = entries.filter(is_family).collect();
    files.sort();
    let mut rows = Vec::new();
    for file in files {
        read(&file, &mut rows);
    }
    rows
}

/// All cases.
pub(crate) fn cases() -> Vec<Case> {
    rows().into_iter().flat_map(|row| row.cases).collect()
}
