//! Malformed inputs, one directory per case: what each must get.
//!
//! `tests/bad_inputs/cases/NAME/case.json` holds `table` (the row of the catalogue of malformed
//! inputs), `exit`, and as far as they are fixed `code`, `line`, `column` and `path` of the first
//! report, `says` (pieces of the whole text), `set` (options), and where the input is not the
//! `scenario.json` beside it `scenario` (a path), `link` (the target of a symbolic link) or
//! `generate` (a text too long to be kept). A `vectors.json` beside it, or `vectors` with a text to
//! generate, is a file of vectors, for `mpisim conform`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mpisim::experiment::plan::{Request, load};
use serde_json::Value;

use crate::binary::debug_text;

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
fn ask(scenario: &Path, set: &[String]) -> Answer {
    let run = |format: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mpisim"));
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

fn texts(case: &Value, key: &str) -> Vec<String> {
    let list = case[key].as_array().cloned().unwrap_or_default();
    list.iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// The input of a case, made if it is not a plain file; and what to remove afterwards.
fn input(folder: &Path, case: &Value) -> (PathBuf, Option<PathBuf>) {
    if let Some(path) = case["scenario"].as_str() {
        return (PathBuf::from(path), None);
    }
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    let scratch = std::env::temp_dir().join(format!("mpisim-{}-{name}", std::process::id()));
    let is_vectors = case["vectors"] == true || folder.join(VECTORS).exists();
    let name = if is_vectors { VECTORS } else { "scenario.json" };
    let file = scratch.join(name);
    if let Some(target) = case["link"].as_str() {
        fs::create_dir_all(&scratch).unwrap();
        std::os::unix::fs::symlink(target, &file).unwrap();
        return (file, Some(scratch));
    }
    let generate = &case["generate"];
    if generate.is_object() {
        let piece = |key: &str| generate[key].as_str().unwrap().to_owned();
        let times = usize::try_from(generate["times"].as_u64().unwrap()).unwrap();
        fs::create_dir_all(&scratch).unwrap();
        fs::write(&file, piece("prefix") + &piece("repeat").repeat(times) + &piece("suffix"))
            .unwrap();
        return (file, Some(scratch));
    }
    (folder.join(name), None)
}

/// What is wrong with the answer to a case; nothing if it is as demanded.
fn judge(case: &Value, answer: &Answer) -> Vec<String> {
    let mut wrong = Vec::new();
    let exit = case["exit"].as_i64().unwrap();
    if i64::from(answer.exit) != exit {
        wrong.push(format!("exit {} instead of {exit}", answer.exit));
    }
    if let Some(code) = case["code"].as_str() {
        let first = answer.reports.first().cloned().unwrap_or_default();
        for key in ["code", "line", "column", "path"] {
            if !case[key].is_null() && first[key] != case[key] {
                wrong.push(format!("{key} is {} instead of {} ({code})", first[key], case[key]));
            }
        }
        let warning = first["severity"] == "warning";
        if first["allowed"].as_str().is_none_or(str::is_empty) && !warning {
            wrong.push("the report does not say what is allowed".to_owned());
        }
    }
    for text in texts(case, "says") {
        if !answer.human.contains(&text) {
            wrong.push(format!("does not say `{text}`"));
        }
    }
    if let Some(longest) = case["longest_line"].as_u64() {
        let found = answer.human.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        if found as u64 > longest {
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
    let mut folders: Vec<PathBuf> = fs::read_dir("tests/bad_inputs/cases")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    folders.sort();
    let mut failures: Vec<String> = Vec::new();
    for folder in &folders {
        let case: Value =
            serde_json::from_str(&fs::read_to_string(folder.join("case.json")).unwrap()).unwrap();
        let (scenario, scratch) = input(folder, &case);
        let answer = ask(&scenario, &texts(&case, "set"));
        if let Some(scratch) = scratch {
            fs::remove_dir_all(scratch).unwrap();
        }
        let wrong = judge(&case, &answer);
        if !wrong.is_empty() {
            let (name, wrong) = (folder.display(), wrong.join("; "));
            failures.push(format!("{name} ({}): {wrong}\n{}", case["table"], answer.human));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
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
        let (plan, diagnostics) = load(&Request { scenario, ..Request::default() });
        assert!(plan.is_none());
        assert_eq!(diagnostics.exit_code(), 3);
        assert!(diagnostics.human().starts_with("error[E0201]"));
    });
    fs::remove_file(&file).unwrap();
    assert!(length > 60 << 20, "{length} bytes are read");
    assert!(used.bytes_max < 256 << 20, "{} bytes at once", used.bytes_max);
}
