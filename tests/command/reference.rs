//! The reference below `docs/reference/` is written from the tables that the program reads: forms of
//! scenarios, parameters of machines, error codes, help of commands.
//!
//! `MPISIM_WRITE_REFERENCE=1 cargo test --test command reference` writes the pages in place.
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "a shape without keys inside has nothing to show; a new one shows up as a missing page"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use mpisim::experiment::fresh::kinds;
use mpisim::experiment::schema::{SCENARIO, metrics};
use mpisim::form::codes;
use mpisim::form::shape::{Field, NOTE, Need, Shape, Variant};
use mpisim::hardware::profile::{Fallback, Kind, PARAMETERS};

use crate::binary::Scratch;

/// The folder of the pages.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference");

/// The table of contents of all documents.
const SUMMARY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/SUMMARY.md");

/// Pages that are written by hand.
const BY_HAND: [&str; 3] = ["README.md", "glossary.md", "what-a-scenario-may-do.md"];

/// A text as a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// A number with a comma at each thousand.
fn grouped(number: &str) -> String {
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |digits| ("-", digits));
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    format!("{sign}{out}")
}

/// What a field takes, in a cell.
fn takes(shape: &Shape) -> String {
    match shape {
        Shape::Count { min, max } if *max >= u64::from(u32::MAX) => {
            format!("a whole number from {} on", grouped(&min.to_string()))
        }
        Shape::Count { min, max } => {
            let (min, max) = (grouped(&min.to_string()), grouped(&max.to_string()));
            format!("a whole number, {min} to {max}")
        }
        Shape::Integer { min, max } if *min > i64::MIN && *max < i64::MAX => {
            let (min, max) = (grouped(&min.to_string()), grouped(&max.to_string()));
            format!("a whole number, {min} to {max}")
        }
        Shape::Word(_) => "a word".to_owned(),
        Shape::List { of, min, max } => {
            let many = match (*min, *max) {
                (0, usize::MAX) => "a list".to_owned(),
                (min, usize::MAX) => format!("a list of at least {min}"),
                (min, max) if min == max => format!("a list of {min}"),
                (min, max) => format!("a list of {min} to {}", grouped(&max.to_string())),
            };
            format!("{many}: {}", takes(of))
        }
        Shape::Either(shapes) => shapes.iter().map(takes).collect::<Vec<_>>().join(", or "),
        Shape::Expression(shape) => format!("{}, or an expression", takes(shape)),
        Shape::Defined { name, .. } => format!("a {name} ([form]({name}.md))"),
        Shape::Machine(_) => "the name of a model, or an object with its numbers \
            ([machine numbers](machine-numbers.md))"
            .to_owned(),
        other => other.in_words().replace('"', "`"),
    }
}

/// The words that a field takes, with their meanings.
fn words(shape: &Shape) -> Vec<String> {
    match shape {
        Shape::Word(words) => words.iter().map(|(word, doc)| format!("`{word}`: {doc}")).collect(),
        Shape::Either(shapes) => shapes.iter().flat_map(words).collect(),
        Shape::List { of, .. } | Shape::Expression(of) => words(of),
        _ => Vec::new(),
    }
}

/// A part of a page that stands below the table in which its key stands.
struct Section {
    key: String,
    shape: &'static Shape,
}

/// The row of a field in a table with defaults, or in one without.
fn row(field: &Field, prefix: &str, with_default: bool) -> String {
    let need = match field.need {
        _ if !with_default => String::new(),
        Need::Default(value) => format!("{} | ", cell(value)),
        Need::Required(_) => "required | ".to_owned(),
        Need::Optional | Need::Alternative(_) => " | ".to_owned(),
    };
    let mut meaning = vec![cell(field.doc)];
    meaning.extend(words(field.shape).iter().map(|word| cell(word)));
    let (takes, meaning) = (cell(&takes(field.shape)), meaning.join("<br>"));
    format!("| `{prefix}{}` | {takes} | {need}{meaning} |\n", field.key)
}

/// Fields without the note that every object may have.
fn own(fields: &'static [Field]) -> impl Iterator<Item = &'static Field> {
    fields.iter().filter(|field| field.key != NOTE.key)
}

/// The rows of some fields; `prefix` is the key of the object that they are in.
fn rows(fields: &'static [Field], prefix: &str, text: &mut String, below: &mut Vec<Section>) {
    for field in own(fields) {
        text.push_str(&row(field, prefix, true));
        inner(field.shape, &format!("{prefix}{}", field.key), text, below);
    }
}

/// The rows of the objects inside a field, or a section where there are several kinds of them.
fn inner(shape: &'static Shape, key: &str, text: &mut String, below: &mut Vec<Section>) {
    match shape {
        Shape::Object(fields) => rows(fields, &format!("{key}."), text, below),
        Shape::Tagged { .. } | Shape::Keyed(_) => {
            below.push(Section { key: key.to_owned(), shape });
        }
        Shape::Expression(of) => inner(of, key, text, below),
        Shape::List { of, .. } => inner(of, &format!("{key}[]"), text, below),
        Shape::Either(shapes) => {
            for one in *shapes {
                inner(one, key, text, below);
            }
        }
        Shape::Paths(of) => inner(of, &format!("{key}{{path}}"), text, below),
        _ => {}
    }
}

const HEAD: &str = "| key | takes | default | meaning |\n|---|---|---|---|\n";

/// The sections of what is inside a table.
fn sections(below: Vec<Section>, level: usize) -> String {
    let section = |Section { key, shape }| {
        format!("\n{} `{key}`\n\n{}", "#".repeat(level), several(shape, level, &key))
    };
    below.into_iter().map(section).collect()
}

/// The table of an object, and the sections of what is inside it.
fn object(fields: &'static [Field], level: usize, prefix: &str) -> String {
    let (mut text, mut below) = (HEAD.to_owned(), Vec::new());
    rows(fields, prefix, &mut text, &mut below);
    text + &sections(below, level)
}

/// The link to a program that has this statement, from the folder of the reference: the first of the tests that
/// are run and explored.
fn example(op: &str) -> String {
    static PROGRAMS: OnceLock<Vec<(String, String)>> = OnceLock::new();
    let programs = PROGRAMS.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut folders = vec![root.join("tests/programs")];
        let mut all = Vec::new();
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    folders.extend(Some(path).filter(|path| !path.ends_with("refused")));
                } else {
                    let text = fs::read_to_string(&path).unwrap();
                    let path = path.strip_prefix(root).unwrap();
                    all.push((path.to_str().unwrap().to_owned(), text));
                }
            }
        }
        // The shortest first.
        all.sort_by_key(|(path, text)| (text.len(), path.clone()));
        all
    });
    let statement = format!("\"op\": \"{op}\"");
    let found = programs.iter().find(|(_, text)| text.contains(&statement));
    let (path, _) = found.unwrap_or_else(|| panic!("no program below tests/programs has `{op}`"));
    let name = Path::new(path).file_stem().unwrap().display();
    format!("[{name}](../../{path})")
}

/// An object of several kinds: the kinds, then the keys of all of them.
fn several(shape: &'static Shape, level: usize, key: &str) -> String {
    let (head, variants): (String, &'static [Variant]) = match shape {
        Shape::Tagged { tag, variants } => (format!("`{tag}`"), variants),
        Shape::Keyed(variants) => ("has the key".to_owned(), variants),
        _ => unreachable!("a section has kinds"),
    };
    let has_examples = head == "`op`";
    let (title, line) = if has_examples { (" example |", "---|") } else { ("", "") };
    let mut text =
        format!("| {head} | meaning | keys, with their defaults |{title}\n|---|---|---|{line}\n");
    // Kinds have different defaults for one key: they stand in this table.
    for Variant { name, fields, doc } in variants {
        let key = |field: &Field| match field.need {
            Need::Default(value) => format!("`{}` [{}]", field.key, cell(value)),
            Need::Required(_) => format!("`{}`", field.key),
            Need::Optional | Need::Alternative(_) => format!("`{}` [none]", field.key),
        };
        let keys = own(fields).map(key).collect::<Vec<_>>().join(", ");
        let example = if has_examples { format!(" {} |", example(name)) } else { String::new() };
        let _ = writeln!(text, "| `{name}` | {} | {keys} |{example}", cell(doc));
    }
    let (mut table, mut below) = (String::new(), Vec::new());
    for field in variants.iter().flat_map(|variant| own(variant.fields)) {
        let row = row(field, "", false);
        if !table.contains(&row) {
            table.push_str(&row);
            let mut further = String::new();
            inner(field.shape, field.key, &mut further, &mut below);
            for line in further.lines() {
                let mut cells: Vec<&str> = line.split(" | ").collect();
                cells.remove(2);
                table.push_str(&(cells.join(" | ") + "\n"));
            }
        }
    }
    if !table.is_empty() {
        let _ = write!(text, "\n| key | takes | meaning |\n|---|---|---|\n{table}");
    }
    let mut known: Vec<String> = Vec::new();
    below.retain(|section| {
        let is_new = !known.contains(&section.key);
        known.push(section.key.clone());
        is_new
    });
    for section in &mut below {
        section.key = format!("{key}.{}", section.key);
    }
    text + &sections(below, level)
}

/// Shapes that have a page of their own, by name.
fn defined(shape: &'static Shape, found: &mut BTreeMap<&'static str, &'static Shape>) {
    match shape {
        Shape::Defined { name, shape } => {
            let is_new = found.insert(name, shape).is_none();
            if is_new {
                defined(shape, found);
            }
        }
        Shape::Object(fields) => fields.iter().for_each(|field| defined(field.shape, found)),
        Shape::Tagged { variants, .. } | Shape::Keyed(variants) => {
            let fields = variants.iter().flat_map(|variant| variant.fields);
            fields.for_each(|field| defined(field.shape, found));
        }
        Shape::List { of, .. } | Shape::Paths(of) | Shape::Expression(of) => defined(of, found),
        Shape::Either(shapes) => shapes.iter().for_each(|one| defined(one, found)),
        _ => {}
    }
}

const WRITTEN: &str = "<!-- Written by tests/command/reference.rs. -->\n";

fn scenario() -> String {
    let mut text = format!("# Keys of a scenario\n\n{WRITTEN}\n");
    text += "A scenario is one JSON object. Every object in it may also have a `note`: a text, or a \
        list of its lines. `workload.kind` decides the other keys of `workload`: each kind has \
        [a page](workloads.md). `mpisim new FILE` writes a scenario to begin with, and `mpisim schema` \
        prints this form as JSON Schema.\n\n";
    text += HEAD;
    let mut parts = String::new();
    for field in own(&SCENARIO) {
        text += &row(field, "", true);
        let (mut table, mut below) = (String::new(), Vec::new());
        inner(field.shape, field.key, &mut table, &mut below);
        if field.key == "workload" || table.is_empty() && below.is_empty() {
            continue;
        }
        let _ = write!(parts, "\n## {}\n\n{}\n", field.key, field.doc);
        if !table.is_empty() {
            let _ = write!(parts, "\n{HEAD}{table}");
        }
        parts += &sections(below, 3);
    }
    text + &parts
}

fn workloads() -> String {
    let mut text = format!("# Kinds of workloads\n\n{WRITTEN}\n| kind | does |\n|---|---|\n");
    for Variant { name, doc, .. } in kinds() {
        let _ = writeln!(text, "| [`{name}`](workload-{name}.md) | {} |", cell(doc));
    }
    text
}

fn workload(kind: &Variant) -> String {
    let name = kind.name;
    let mut text = format!("# `{name}`\n\n{WRITTEN}\n{}\n\n", kind.doc);
    let needed = kind.fields.iter().filter_map(|field| match field.need {
        Need::Required(example) => Some(format!(", \"{}\": {example}", field.key)),
        Need::Default(_) | Need::Optional | Need::Alternative(_) => None,
    });
    let needed: String = needed.collect();
    let _ = write!(text, "```json\n\"workload\": {{ \"kind\": \"{name}\"{needed} }}\n```\n\n");
    text += "## Keys\n\n";
    text += &object(kind.fields, 3, "");
    text += "\n## Metrics\n\n| metric | unit | in figures |\n|---|---|---|\n";
    for metric in metrics(name, false) {
        let (unit, title) = (metric.unit, metric.title.unwrap_or(metric.name));
        let _ = writeln!(text, "| `{}` | {unit} | {} |", metric.name, title.replace('_', " "));
    }
    text
}

fn shape_page(name: &str, shape: &'static Shape) -> String {
    let mut text = format!("# A {name}\n\n{WRITTEN}\n");
    match shape {
        Shape::Object(fields) => text += &object(fields, 2, ""),
        Shape::Tagged { .. } | Shape::Keyed(_) => text += &several(shape, 2, name),
        other => text += &takes(other),
    }
    text
}

fn errors() -> String {
    let mut text = format!("# Error codes\n\n{WRITTEN}\n");
    text += "`mpisim explain CODE` prints the paragraph of a code.\n\n| exit status | means |\n|---|---|\n\
        | 0 | done |\n| 1 | a check failed, or the simulated program is stuck |\n| 2 | the command line is \
        wrong |\n| 3 | an input file is wrong |\n| 4 | the operating system refused |\n| 5 | a limit was hit \
        |\n| 70 | a defect of the program |\n| 129, 130, 143 | a signal: SIGHUP, SIGINT, SIGTERM |\n";
    for entry in codes::ALL {
        let (code, title, exit) = (entry.code, entry.title, entry.exit.exit_code());
        let _ = write!(text, "\n## {code}\n\nExit status {exit}: {title}.\n\n{}\n", entry.text);
    }
    text
}

fn machine_numbers() -> String {
    let mut text = format!("# Numbers of a machine\n\n{WRITTEN}\n");
    text += "A model in `models/` states each number with a value, a confidence and a source; `low` and `high` \
        bound a number that was not measured. The band is where real machines lie: a value outside it gets a \
        warning.\n";
    let mut section = "";
    for parameter in PARAMETERS {
        let (of, _) = parameter.path.split_once('.').expect("a section and a name");
        if of != section {
            let _ = write!(
                text,
                "\n## {of}\n\n| number | takes | where it is not named | band | meaning |\n|---|---|---|---|---|\n"
            );
            section = of;
        }
        let takes = match (parameter.kind.dimension(), parameter.kind) {
            (Some(dimension), _) => dimension.in_words().to_owned(),
            (None, Kind::Count) => "a whole number".to_owned(),
            (None, Kind::Flag) => "true or false".to_owned(),
            (None, _) => "a plain number".to_owned(),
        };
        let missing = match parameter.fallback {
            Fallback::Required => "refused".to_owned(),
            Fallback::Absent => "there is none".to_owned(),
            Fallback::Default(text) => text.to_owned(),
            Fallback::SameAs(path) => format!("as `{path}`"),
            Fallback::RequiredWith(path) => format!("refused where `{path}` is named"),
        };
        let (low, high) = parameter.band;
        let (path, doc) = (parameter.path, cell(parameter.doc));
        let _ = writeln!(text, "| `{path}` | {takes} | {missing} | {low} to {high} | {doc} |");
    }
    text
}

fn commands() -> String {
    let scratch = Scratch::new("reference");
    let help = |words: &[&str]| {
        let words: Vec<&str> = words.iter().copied().chain(["--help"]).collect();
        scratch.run(&words).check(0, &[]).out
    };
    let names = |text: &str| -> Vec<String> {
        let list = text.split("\nCommands:\n").nth(1).unwrap_or_default();
        let rows = list.lines().take_while(|line| line.starts_with("  "));
        // A description goes on in lines that begin further right.
        let rows = rows.filter(|line| !line.starts_with("   "));
        let names = rows.filter_map(|line| line.split_whitespace().next());
        names.filter(|name| *name != "help").map(str::to_owned).collect()
    };
    let mut text = format!("# Commands\n\n{WRITTEN}\n");
    text += "Data goes to standard output, everything else to standard error. Each command also takes \
        `--error-format`, `--color` and `--help`.\n";
    for name in names(&help(&[])) {
        let own = help(&[&name]);
        let _ = write!(text, "\n## {name}\n\n```text\n{}\n```\n", own.trim_end());
        for step in names(&own) {
            let _ = write!(
                text,
                "\n### {name} {step}\n\n```text\n{}\n```\n",
                help(&[&name, &step]).trim_end()
            );
        }
    }
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// All pages by file name.
fn pages() -> BTreeMap<String, String> {
    let mut all = BTreeMap::from([
        ("scenario.md".to_owned(), scenario()),
        ("workloads.md".to_owned(), workloads()),
        ("errors.md".to_owned(), errors()),
        ("machine-numbers.md".to_owned(), machine_numbers()),
        ("commands.md".to_owned(), commands()),
    ]);
    for kind in kinds() {
        all.insert(format!("workload-{}.md", kind.name), workload(kind));
    }
    let mut shapes = BTreeMap::new();
    for field in &SCENARIO {
        defined(field.shape, &mut shapes);
    }
    for (name, shape) in shapes {
        all.insert(format!("{name}.md"), shape_page(name, shape));
    }
    all
}

/// The table of contents with a line for each kind of workload.
fn summary() -> String {
    let text = fs::read_to_string(SUMMARY).unwrap();
    let mut right = String::new();
    for line in text.lines().filter(|line| !line.contains("(reference/workload-")) {
        let _ = writeln!(right, "{line}");
        if line.contains("(reference/workloads.md)") {
            for Variant { name, .. } in kinds() {
                let _ = writeln!(right, "  - [{name}](reference/workload-{name}.md)");
            }
        }
    }
    right
}

/// `MPISIM_WRITE_REFERENCE=1` writes the pages in place.
#[test]
fn the_reference_is_what_the_program_reads() {
    let pages = pages().into_iter().map(|(name, text)| (Path::new(FOLDER).join(name), text));
    let mut right: BTreeMap<PathBuf, String> = pages.collect();
    right.insert(SUMMARY.into(), summary());
    let writes = std::env::var_os("MPISIM_WRITE_REFERENCE").is_some();
    let mut wrong: Vec<String> = Vec::new();
    for path in fs::read_dir(FOLDER).unwrap().map(|entry| entry.unwrap().path()) {
        let is_by_hand = BY_HAND.iter().any(|name| path.ends_with(name));
        if right.contains_key(&path) || is_by_hand {
            continue;
        }
        if writes {
            fs::remove_file(path).unwrap();
        } else {
            wrong.push(format!("{} is of nothing", path.display()));
        }
    }
    for (path, text) in &right {
        if writes {
            fs::write(path, text).unwrap();
        } else if fs::read_to_string(path).unwrap_or_default() != *text {
            wrong.push(format!("{} differs", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}\nwrite them by MPISIM_WRITE_REFERENCE=1", wrong.join("\n"));
}
