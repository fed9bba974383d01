//! Malformed inputs, and the answer that each must get: the cases of `tests/bad_inputs/*.md` that
//! are no command lines.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mpisim::experiment::plan::{Request, load};
use mpisim::shipped;
use serde_json::Value;

use crate::binary::{Scratch, debug_text, program};
use crate::malformed::{self, Case};

/// What the program answers to an input.
struct Answer {
    exit: i32,
    human: String,
    /// The reports in order, as JSON.
    reports: Vec<Value>,
}

/// The file that holds vectors, not a scenario.
const VECTORS: &str = "vectors.json";

/// Asks the program, once for people and once for programs.
fn ask(scenario: &Path, set: &[&str]) -> Answer {
    let run = |format: &str| {
        let mut command = Command::new(program());
        let verb = if scenario.ends_with(VECTORS) { "conform" } else { "validate" };
        command.args([verb, "--error-format", format]);
        for one in set {
            command.args(["--set", one]);
        }
        command.arg("--").arg(scenario).output().unwrap()
    };
    let (human, json) = (run("human"), run("json"));
    assert_eq!(human.status, json.status, "{}", scenario.display());
    let exit = human.status.code().unwrap_or(-1);
    assert_eq!(human.stdout.is_empty(), exit != 0, "data exactly if there are no errors");
    let words = String::from_utf8_lossy(&human.stderr);
    assert_eq!(debug_text(&words), None, "{}", scenario.display());
    let json = String::from_utf8(json.stderr).unwrap();
    let reports = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    Answer { exit, human: String::from_utf8(human.stderr).unwrap(), reports }
}

/// The input of a case: a path that it names, or files in a folder of their own.
fn input(case: &Case, scratch: &Scratch) -> PathBuf {
    if let Some(path) = case.one("input") {
        return PathBuf::from(path);
    }
    for (name, content) in &case.files {
        fs::write(scratch.path(name), content.bytes()).unwrap();
    }
    let vectors = scratch.path(VECTORS);
    if vectors.exists() {
        return vectors;
    }
    let scenario = scratch.path("scenario.json");
    if let Some(target) = case.one("link") {
        std::os::unix::fs::symlink(target, &scenario).unwrap();
    }
    scenario
}

/// Compares the first report with that of the case, as far as the case fixes it.
pub(crate) fn judge_report(case: &Case, first: &Value, wrong: &mut Vec<String>) {
    let Some(report) = case.report() else { return };
    let demanded = [
        ("code", Some(Value::from(report.code))),
        ("line", report.line.map(Value::from)),
        ("column", report.column.map(Value::from)),
        ("path", report.path.map(Value::from)),
    ];
    for (key, value) in demanded {
        if let Some(value) = value.filter(|value| first[key] != *value) {
            wrong.push(format!("{key} is {} instead of {value}", first[key]));
        }
    }
}

/// What is wrong with the answer to a case; nothing if it is as demanded.
fn judge(case: &Case, answer: &Answer) -> Vec<String> {
    let mut wrong = Vec::new();
    if answer.exit != case.exit() {
        wrong.push(format!("exit {} instead of {}", answer.exit, case.exit()));
    }
    if case.report().is_some() {
        let first = answer.reports.first().cloned().unwrap_or_default();
        judge_report(case, &first, &mut wrong);
        let warning = first["severity"] == "warning";
        if first["allowed"].as_str().is_none_or(str::is_empty) && !warning {
            wrong.push("the report does not say what is allowed".to_owned());
        }
    }
    for text in case.all("says") {
        if !answer.human.contains(text) {
            wrong.push(format!("does not say `{text}`"));
        }
    }
    if let Some(longest) = case.one("longest line") {
        let found = answer.human.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        if found > longest.parse().unwrap() {
            wrong.push(format!("a line of {found} characters"));
        }
    }
    let control = |c: char| c.is_control() && c != '\n';
    if answer.human.contains(control) {
        wrong.push("a control character reaches the terminal".to_owned());
    }
    wrong
}

#[test]
fn every_bad_input_gets_what_it_must() {
    let cases: Vec<Case> =
        malformed::cases().into_iter().filter(|case| !case.is_command()).collect();
    let mut failures: Vec<String> = Vec::new();
    for case in &cases {
        let scratch = Scratch::new(&case.slug);
        let answer = ask(&input(case, &scratch), &case.all("set"));
        let wrong = judge(case, &answer);
        if !wrong.is_empty() {
            failures.push(format!("{}: {}\n{}", case.place, wrong.join("; "), answer.human));
        }
    }
    assert!(cases.len() > 370 && failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn refusing_the_largest_file_stays_below_256_mib() {
    let file = std::env::temp_dir().join(format!("mpisim-{}-large.json", std::process::id()));
    let member = "\"k\": \"0123456789012345678901234567890123456789012345678901234567\", ";
    let mut text = String::from("{ ");
    let mut number = 0;
    while text.len() + 160 < 64 << 20 && number < 480_000 {
        number += 1;
        text += &member.replacen('k', &format!("k{number}"), 1);
        text += &" ".repeat(60);
    }
    fs::write(&file, &text).unwrap();
    let (length, scenario) = (text.len(), file.display().to_string());
    drop(text);
    let used = allocation_counter::measure(|| {
        // In this process, where allocations can be counted.
        let (plan, diagnostics) =
            load(&Request { scenario, library: shipped::library(), ..Request::default() });
        assert!(plan.is_none());
        assert_eq!(diagnostics.exit_code(), 3);
        assert!(diagnostics.human().starts_with("error[E0201]"));
    });
    fs::remove_file(&file).unwrap();
    assert!(length > 60 << 20, "{length} bytes are read");
    assert!(used.bytes_max < 256 << 20, "{} bytes at once", used.bytes_max);
}
