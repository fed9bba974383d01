//! The house rules that a compiler does not know: layers point down, headers, no floats.

use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The layers, each a package, and those that its manifest may list: the compiler knows no other.
const LAYERS: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("engine", &["units"]),
    ("hardware", &["units", "engine"]),
    ("mpi", &["units"]),
    ("calls", &["mpi"]),
    ("collectives", &["units", "mpi", "calls"]),
    ("protocols", &["units", "mpi", "calls", "collectives"]),
    ("xios_ep", &["mpi", "calls", "collectives", "protocols"]),
    ("runtime", BELOW_RUNTIME),
    ("form", &["units", "hardware"]),
    ("exec", &["engine", "mpi", "calls", "collectives", "protocols", "form"]),
    ("language", BELOW_LANGUAGE),
    ("workloads", BELOW_WORKLOADS),
    ("experiment", BELOW_EXPERIMENT),
    ("explore", BELOW_EXPLORE),
    ("conform", BELOW_CONFORM),
    ("fit", &["units", "hardware", "form", "experiment"]),
    ("report", &["units", "form", "experiment"]),
    ("shipped", &["experiment"]),
    ("cli", BELOW_CLI),
];
const BELOW_RUNTIME: &[&str] =
    &["units", "engine", "hardware", "mpi", "calls", "collectives", "protocols", "xios_ep"];
const BELOW_LANGUAGE: &[&str] =
    &["units", "mpi", "calls", "collectives", "protocols", "runtime", "form"];
const BELOW_WORKLOADS: &[&str] = &[
    "units",
    "engine",
    "hardware",
    "mpi",
    "calls",
    "collectives",
    "protocols",
    "xios_ep",
    "runtime",
    "language",
    "form",
    "exec",
];
const BELOW_EXPERIMENT: &[&str] = &[
    "units",
    "engine",
    "hardware",
    "mpi",
    "collectives",
    "protocols",
    "xios_ep",
    "runtime",
    "language",
    "workloads",
    "form",
];
const BELOW_EXPLORE: &[&str] = &[
    "units",
    "hardware",
    "mpi",
    "calls",
    "collectives",
    "protocols",
    "xios_ep",
    "runtime",
    "workloads",
    "form",
    "experiment",
];
const BELOW_CONFORM: &[&str] = &[
    "units",
    "engine",
    "mpi",
    "collectives",
    "protocols",
    "runtime",
    "language",
    "workloads",
    "form",
    "experiment",
    "explore",
];
const BELOW_CLI: &[&str] = &[
    "units",
    "engine",
    "hardware",
    "runtime",
    "language",
    "workloads",
    "form",
    "exec",
    "experiment",
    "explore",
    "conform",
    "fit",
    "report",
    "shipped",
];
/// The layers of the right tower: their machines depend on their inputs alone.
const MACHINES: &[&str] = &["mpi", "calls", "collectives", "protocols", "xios_ep"];
/// The files of the workloads that may name hardware: what puts machine, library and programs together, and
/// the checks of kinds against a machine. No program may.
const WITH_HARDWARE: &[&str] = &[
    "workloads/job.rs",
    "workloads/ranks.rs",
    "workloads/metric.rs",
    "workloads/gpu.rs",
    "workloads/gpu/stencil.rs",
    "workloads/pack.rs",
];
/// Where a number may be a float.
const WITH_FLOATS: &[&str] =
    &["form", "experiment", "explore", "conform", "fit", "report", "cli", "main.rs"];
/// Where floats are payload (the program's own numbers, on which nothing in a model depends), or where metrics
/// begin; and where `MPI_Wtime` returns.
const WITH_FLOATS_IN_IT: &[&str] = &[
    "mpi/operator/float.rs",
    "mpi/operator/number.rs",
    "workloads/metric.rs",
    "exec/client/lib.rs",
    "exec/program.rs",
];

/// A source file, line by line, with comments, texts and test modules blanked out.
pub(super) struct Source {
    /// Below `src/`, with `/`.
    pub(super) path: String,
    pub(super) text: String,
    code: String,
}

impl Source {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("a readable source file");
        let below = path.strip_prefix(Path::new(ROOT).join("src")).expect("a file of src");
        let path = below.to_str().expect("a plain name").replace('\\', "/");
        Self::of(path, text)
    }

    pub(super) fn of(path: String, text: String) -> Self {
        let code = without_tests(&without_comments(&text));
        Self { path, text, code }
    }

    /// All that comes before the test module, comments and texts as they are.
    pub(super) fn text_before_tests(&self) -> &str {
        self.text.split("#[cfg(test)]\nmod tests").next().expect("a split has a first part")
    }

    /// Whether its name, its code, or a text in it, has one of these words.
    pub(super) fn names(&self, words: &[&str]) -> bool {
        let stem = Path::new(&self.path).file_stem().and_then(|stem| stem.to_str());
        if stem.is_some_and(|stem| words.contains(&stem)) {
            return true;
        }
        let text = without_tests(&without_line_comments(&self.text));
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        text.split(|letter| !is_part(letter)).any(|word| words.contains(&word))
    }

    /// Files `tests.rs`, and those in a folder `tests`, belong to a test module elsewhere.
    pub(super) fn is_test(&self) -> bool {
        self.path.ends_with("/tests.rs") || self.path.contains("/tests/")
    }

    pub(super) fn layer(&self) -> &str {
        let first = self.path.split('/').next().expect("a path has a first part");
        if first == "lib.rs" || first == "main.rs" { first } else { first.trim_end_matches(".rs") }
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.code.lines())
    }
}

pub(super) fn sources() -> Vec<Source> {
    let files = files_below(&Path::new(ROOT).join("src"));
    // A script of a build is no part of the program.
    let program = |path: &&PathBuf| !path.ends_with("build.rs");
    let rust = files.iter().filter(|path| path.extension().is_some_and(|name| name == "rs"));
    let sources: Vec<Source> = rust.filter(program).map(|path| Source::read(path)).collect();
    assert!(sources.len() > 30, "the sources are found");
    sources
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a readable folder") {
            let entry = entry.expect("a readable entry");
            let kind = entry.file_type().expect("an entry has a type");
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

/// The text with comments and literals blanked out; lines stay where they are.
fn without_comments(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = match skipped(&bytes[at..]) {
            0 => {
                out.push(char::from(bytes[at]));
                at += 1;
                continue;
            }
            length => at + length,
        };
        out.extend(bytes[at..end].iter().map(|&byte| if byte == b'\n' { '\n' } else { ' ' }));
        at = end;
    }
    out
}

/// How many bytes from here on are a comment, a text or a character; 0 where code begins.
fn skipped(rest: &[u8]) -> usize {
    let until = |from: usize, end: &[u8]| {
        let found = rest[from..].windows(end.len()).position(|window| window == end);
        found.map_or(rest.len(), |place| from + place + end.len())
    };
    match rest {
        [b'/', b'/', ..] => until(2, b"\n") - 1,
        [b'/', b'*', ..] => until(2, b"*/"),
        [b'r', b'"', ..] => until(2, b"\""),
        [b'r', b'#', b'"', ..] => until(3, b"\"#"),
        [b'"', ..] => {
            let mut at = 1;
            while at < rest.len() && rest[at] != b'"' {
                at += if rest[at] == b'\\' { 2 } else { 1 };
            }
            at + 1
        }
        [b'\'', b'\\', ..] => until(2, b"'"),
        [b'\'', _, b'\'', ..] => 3,
        _ => 0,
    }
}

/// The code with every module under `#[cfg(test)]` blanked out.
fn without_tests(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(start) = rest.find("#[cfg(test)]") {
        let item = &rest[start..];
        let end = match (item.find(';'), item.find('{')) {
            (Some(end), None) => end + 1,
            (Some(end), Some(brace)) if end < brace => end + 1,
            (_, Some(brace)) => brace + block(&item[brace..]),
            (None, None) => item.len(),
        };
        out.push_str(&rest[..start]);
        out.extend(item[..end].chars().filter(|&letter| letter == '\n'));
        rest = &item[end..];
    }
    out + rest
}

/// Length of the block that begins here with a brace.
fn block(code: &str) -> usize {
    let mut depth = 0_usize;
    for (place, letter) in code.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return place + 1;
        }
    }
    code.len()
}

/// The layers of `names` that begin a path, and their lines.
fn named_layers<'a>(code: &str, names: &[&'a str]) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    for name in names {
        let paths = code.match_indices(name).filter(|(place, _)| {
            let begins = !code[..*place]
                .ends_with(|letter: char| letter.is_alphanumeric() || "_:.".contains(letter));
            begins && code[place + name.len()..].starts_with("::")
        });
        found.extend(paths.map(|(place, _)| (line_of(code, place), *name)));
    }
    found
}

fn line_of(code: &str, place: usize) -> usize {
    1 + code[..place].matches('\n').count()
}

/// The text without comments that fill a line.
fn without_line_comments(text: &str) -> String {
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// `$found` must be empty; each line of it names a place.
#[track_caller]
pub(super) fn check_none(found: &[String]) {
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

/// A package without a row here would be a layer that is in no picture.
#[test]
fn every_package_is_a_layer() {
    let manifest = fs::read_to_string(Path::new(ROOT).join("Cargo.toml")).expect("a manifest");
    let (_, members) = manifest.split_once("\nmembers = [").expect("members");
    let members = members.split(']').next().expect("a split has a first part");
    let names = members.lines().filter_map(|line| line.trim().strip_prefix("\"src/"));
    let mut names: Vec<&str> = names.filter_map(|name| name.strip_suffix("\",")).collect();
    let mut layers: Vec<&str> = LAYERS.iter().map(|(layer, _)| *layer).collect();
    names.sort_unstable();
    layers.sort_unstable();
    assert_eq!(names, layers);
    let plan = fs::read_to_string(Path::new(ROOT).join("ARCHITECTURE.md")).expect("the plan");
    for layer in layers {
        assert!(plan.contains(&format!("\n- `{layer}`: ")), "the code map has no `{layer}`");
    }
}

#[test]
fn packages_list_the_layers_below_them() {
    for (layer, below) in LAYERS {
        let path = Path::new(ROOT).join("src").join(layer).join("Cargo.toml");
        let manifest = fs::read_to_string(path).expect("a readable manifest");
        let (_, listed) = manifest.split_once("[dependencies]").expect("dependencies");
        let listed = listed.split("\n[").next().expect("a split has a first part");
        let listed: Vec<&str> = listed.lines().filter_map(|line| line.split('.').next()).collect();
        for (other, _) in LAYERS {
            assert_eq!(listed.contains(other), below.contains(other), "{layer}: {other}");
        }
    }
}

#[test]
fn workloads_name_no_hardware() {
    let all = sources();
    let programs = all.iter().filter(|source| {
        ["language", "workloads"].contains(&source.layer())
            && !WITH_HARDWARE.contains(&source.path.as_str())
    });
    let named = programs.flat_map(|source| {
        let named = named_layers(&source.code, &["engine", "hardware"]).into_iter();
        named.map(|(line, layer)| format!("src/{}:{line}: no program names {layer}", source.path))
    });
    check_none(&named.collect::<Vec<_>>());
}

#[test]
fn protocols_reach_for_no_clock_no_randomness_and_no_input() {
    let banned = ["std::time", "std::env", "std::fs", "std::io", "std::thread", "rand::", "rand_"];
    let mut wrong = Vec::new();
    for source in sources().iter().filter(|source| MACHINES.contains(&source.layer())) {
        for (line, text) in source.lines() {
            for name in banned.iter().filter(|name| text.contains(**name)) {
                wrong.push(format!("src/{}:{line}: a machine must not use {name}", source.path));
            }
        }
    }
    check_none(&wrong);
}

#[test]
fn every_file_says_what_it_is() {
    let all = sources();
    let bare = all.iter().filter(|source| !source.is_test() && !source.text.starts_with("//!"));
    let bare: Vec<_> =
        bare.map(|source| format!("src/{}:1: no module header", source.path)).collect();
    check_none(&bare);
}

#[test]
fn floats_stay_in_reports() {
    let mut wrong = Vec::new();
    for source in sources().iter().filter(|source| !source.is_test()) {
        if WITH_FLOATS.contains(&source.layer())
            || WITH_FLOATS_IN_IT.contains(&source.path.as_str())
        {
            continue;
        }
        // Functions that turn a quantity into a number for a report, and those that make metrics of a
        // run, say so in their names.
        let code = without_functions(&source.code, "as_", "_f64");
        let code = without_functions(&code, "measure", "");
        for (line, text) in (1..).zip(code.lines()) {
            let mut words = text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
            if words.any(|word| word == "f64" || word == "f32") {
                wrong.push(format!(
                    "src/{}:{line}: {} must not use floats",
                    source.path,
                    source.layer()
                ));
            }
        }
    }
    check_none(&wrong);
}

/// The code without functions whose names begin and end so.
fn without_functions(code: &str, begin: &str, end: &str) -> String {
    let start_of = format!("fn {begin}");
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(start) = rest.find(&start_of) {
        let name = rest[start + 3..].split(['(', '<']).next().expect("a function has a name");
        out.push_str(&rest[..start]);
        let function = &rest[start..];
        let length = match function.find('{') {
            Some(brace) if name.ends_with(end) => brace + block(&function[brace..]),
            _ => 3,
        };
        out.extend(function[..length].chars().filter(|&letter| letter == '\n'));
        rest = &function[length..];
    }
    out + rest
}

#[test]
fn a_clone_stands_alone() {
    // Written in two halves, so that this file does not name them.
    let foreign = [
        concat!("../", "shared"),
        concat!("/work", "/shared"),
        concat!("/work", "/wt"),
        concat!("[registries", "."),
        concat!("replace", "-with"),
        concat!("/home", "/"),
    ];
    let skipped = ["target", ".git", "results"].map(|name| Path::new(ROOT).join(name));
    let mut wrong = Vec::new();
    let entries = fs::read_dir(ROOT).expect("a readable folder");
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.expect("a readable entry").path();
        match path {
            path if skipped.contains(&path) => {}
            path if path.is_dir() => files.extend(files_below(&path)),
            path => files.push(path),
        }
    }
    for path in files {
        // Pictures and the like hold no names.
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let path = path.strip_prefix(ROOT).expect("a file of the project").display();
        for (line, text) in (1..).zip(text.lines()) {
            for name in foreign.iter().filter(|name| text.contains(**name)) {
                wrong.push(format!("{path}:{line}: a clone does not have {name}"));
            }
        }
    }
    check_none(&wrong);
}

#[test]
fn every_dependency_comes_from_the_public_registry() {
    let lock =
        fs::read_to_string(Path::new(ROOT).join("Cargo.lock")).expect("a committed lock file");
    let sources = lock.lines().filter(|line| line.starts_with("source = "));
    let public = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
    let other: Vec<_> = sources.filter(|line| *line != public).map(str::to_owned).collect();
    check_none(&other);
}

/// Tests that a document names as `path/to/file.rs::name`.
fn named_tests(text: &str) -> Vec<(&str, &str)> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter_map(|quoted| quoted.split_once(".rs::")).collect()
}

#[test]
fn documents_name_tests_that_exist() {
    let mut missing = Vec::new();
    let mut named = 0;
    let documents = files_below(&Path::new(ROOT).join("docs"));
    let documents = documents.into_iter().chain(
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| Path::new(ROOT).join(name)),
    );
    for path in documents.filter(|path| path.extension().is_some_and(|name| name == "md")) {
        let text = fs::read_to_string(&path).expect("a readable document");
        for (file, test) in named_tests(&text) {
            named += 1;
            let tests = fs::read_to_string(Path::new(ROOT).join(format!("{file}.rs")));
            if !tests.is_ok_and(|tests| tests.contains(&format!("fn {test}("))) {
                missing.push(format!("{}: no test {file}.rs::{test}", path.display()));
            }
        }
    }
    assert!(named > 10, "ARCHITECTURE.md names the tests of its invariants");
    check_none(&missing);
}

mod the_scan_itself {
    use super::*;

    #[test]
    fn sees_code_and_nothing_else() {
        let text = "use units::Time; // engine::Time\n/* mpi::Rank */ let a = \"cli::main\";\n";
        let code = without_comments(text);
        assert_eq!(named_layers(&code, &["units", "engine", "mpi", "cli"]), [(1, "units")]);
        assert_eq!(code.lines().count(), 2);
        let paths = "\nlet a = hardware::core::Core;\nuse crate::engine::Event;\nuse my_engine::a;";
        assert_eq!(named_layers(paths, &["engine", "hardware"]), [(2, "hardware")]);
    }

    #[test]
    fn passes_over_test_modules_only() {
        let code = "a\n#[cfg(test)]\nmod tests {\n fn x() { cli::main }\n}\nuse mpi::a;\n";
        let left = without_tests(code);
        assert_eq!(named_layers(&left, &["cli", "mpi"]), [(6, "mpi")]);
        assert_eq!(
            without_tests("#[cfg(test)]\nmod tests;\nuse crate::mpi;").trim(),
            "use crate::mpi;"
        );
    }

    #[test]
    fn passes_over_conversions_only() {
        let code = "fn as_us_f64(self) -> f64 {\n self.0 as f64\n}\nfn as_us(x: f64) {}";
        assert_eq!(without_functions(code, "as_", "_f64").trim(), "as_us(x: f64) {}");
    }
}
