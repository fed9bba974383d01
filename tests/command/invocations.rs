//! Command lines in a prepared directory, one folder per case: what each must get.
//!
//! `tests/bad_inputs/runs/NAME/case.json` holds `table` (the row of the catalogue of malformed
//! inputs), `command` (the words after `mpisim`) and `exit`; as far as they are fixed `code` and
//! `path` of the first report, `says` (pieces of standard error), `prints` (pieces of standard
//! output), `prepare` (command lines that must succeed before), `damage` (what is done to files
//! after them: `file` with `find` and `replace`, `append`, or `remove`), `env` (variables to set;
//! null unsets one) and `writes` (files, or folders that end with `/`, that are there afterwards and
//! were not before). All other files of the directory are afterwards as they were. Files beside `case.json` lie in the
//! directory, and with them `small.json`, a sweep of three points, and `deadlock.json`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::binary::{Answer, DEADLOCK, SMALL, Scratch};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/bad_inputs/runs");

fn words(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().map(|word| word.as_str().unwrap()).collect()
}

fn prepare(folder: &Path, case: &Value, scratch: &Scratch) {
    scratch.write("small.json", SMALL);
    scratch.write("deadlock.json", DEADLOCK);
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_name() != "case.json" {
            fs::copy(entry.path(), scratch.path(entry.file_name().to_str().unwrap())).unwrap();
        }
    }
    for command in case["prepare"].as_array().into_iter().flatten() {
        scratch.run(&words(command)).check(0, &[]);
    }
    for damage in case["damage"].as_array().into_iter().flatten() {
        harm(damage, scratch);
    }
}

/// Changes a file that is there.
fn harm(damage: &Value, scratch: &Scratch) {
    let path = scratch.path(damage["file"].as_str().unwrap());
    if damage["remove"] == true {
        return fs::remove_file(path).unwrap();
    }
    let text = fs::read_to_string(&path).unwrap();
    let harmed = match (&damage["find"], &damage["append"]) {
        (Value::String(find), _) => text.replacen(find, damage["replace"].as_str().unwrap(), 1),
        (_, Value::String(append)) => text.clone() + append,
        _ => panic!("{damage}: nothing is done to it"),
    };
    assert_ne!(text, harmed, "{damage} changes nothing");
    fs::write(path, harmed).unwrap();
}

fn ask(case: &Value, scratch: &Scratch, form: &str) -> Answer {
    let mut all = vec!["--error-format", form];
    all.extend(words(&case["command"]));
    let mut command = scratch.command(&all);
    for (name, value) in case["env"].as_object().into_iter().flatten() {
        match value.as_str() {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    Answer::from(command.output().unwrap())
}

/// Every file with its bytes.
fn files(scratch: &Scratch) -> BTreeMap<String, Vec<u8>> {
    scratch.files("").into_iter().collect()
}

/// What is wrong with the answer, and with what is left of the directory.
fn judge(case: &Value, folder: &Path) -> Vec<String> {
    let name = format!("run-{}", folder.file_name().unwrap().to_str().unwrap());
    let mut wrong = Vec::new();
    for form in ["human", "json"] {
        let scratch = Scratch::new(&name);
        prepare(folder, case, &scratch);
        let before = files(&scratch);
        let answer = ask(case, &scratch, form);
        let exit = case["exit"].as_i64().unwrap();
        if i64::from(answer.exit) != exit {
            wrong.push(format!("exit {} instead of {exit}", answer.exit));
        }
        if form == "human" {
            judge_words(case, &answer, &mut wrong);
        } else {
            judge_report(case, &answer, &mut wrong);
        }
        judge_files(case, &before, &files(&scratch), &mut wrong);
        if !wrong.is_empty() {
            wrong.push(format!("it printed:\n{}{}", answer.out, answer.err));
            break;
        }
    }
    wrong
}

fn judge_words(case: &Value, answer: &Answer, wrong: &mut Vec<String>) {
    for (key, text) in [("says", &answer.err), ("prints", &answer.out)] {
        for piece in words(&case[key]) {
            if !text.contains(piece) {
                wrong.push(format!("{key} no `{piece}`"));
            }
        }
    }
    if answer.err.contains("panicked") {
        wrong.push("a panic reaches the user".to_owned());
    }
}

fn judge_report(case: &Value, answer: &Answer, wrong: &mut Vec<String>) {
    let first = answer.err.lines().find_map(|line| serde_json::from_str::<Value>(line).ok());
    let first = first.unwrap_or_default();
    for key in ["code", "path", "line", "column"] {
        if !case[key].is_null() && first[key] != case[key] {
            wrong.push(format!("{key} is {} instead of {}", first[key], case[key]));
        }
    }
}

fn judge_files(
    case: &Value,
    before: &BTreeMap<String, Vec<u8>>,
    after: &BTreeMap<String, Vec<u8>>,
    wrong: &mut Vec<String>,
) {
    let is_of = |name: &str, one: &str| name == one || one.ends_with('/') && name.starts_with(one);
    let writes = words(&case["writes"]);
    for one in &writes {
        let there = |files: &BTreeMap<String, Vec<u8>>| files.keys().any(|name| is_of(name, one));
        if there(before) || !there(after) {
            wrong.push(format!("does not write {one}"));
        }
    }
    let expected = |name: &String| writes.iter().any(|one| is_of(name, one));
    let kept: BTreeMap<_, _> = after.iter().filter(|(name, _)| !expected(name)).collect();
    if kept != before.iter().collect() {
        let names = |files: Vec<&String>| format!("{files:?}");
        let (was, is) = (names(before.keys().collect()), names(after.keys().collect()));
        wrong.push(format!("files are not as they were: {was}, {is}"));
    }
}

#[test]
fn every_command_line_gets_what_it_must() {
    let mut folders: Vec<PathBuf> =
        fs::read_dir(CASES).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    let mut failures: Vec<String> = Vec::new();
    for folder in &folders {
        let text = fs::read_to_string(folder.join("case.json")).unwrap();
        let case: Value = serde_json::from_str(&text).unwrap();
        let wrong = judge(&case, folder);
        if !wrong.is_empty() {
            let row = &case["table"];
            failures.push(format!("{} ({row}): {}", folder.display(), wrong.join("; ")));
        }
    }
    assert!(!folders.is_empty() && failures.is_empty(), "{}", failures.join("\n"));
}
