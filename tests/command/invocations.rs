//! Command lines in a prepared folder, and the answer that each must get: the cases of
//! `tests/bad_inputs/*.md` that are command lines.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::bad_inputs::judge_report;
use crate::binary::{Answer, DEADLOCK, SMALL, Scratch};
use crate::malformed::{self, Case, Step};

/// Writes the files, runs all command lines but the last, and answers the words of that one.
fn prepare(case: &Case, scratch: &Scratch) -> Vec<String> {
    scratch.write("small.json", SMALL);
    scratch.write("deadlock.json", DEADLOCK);
    for (name, content) in &case.files {
        fs::write(scratch.path(name), content.bytes()).unwrap();
    }
    let mut last: Option<Vec<String>> = None;
    for step in case.steps() {
        if let Some(words) = last.take() {
            run(&words, scratch);
        }
        match step {
            Step::Run(words) => last = Some(words),
            Step::Replace(file, find, put) => {
                let path = scratch.path(&file);
                let text = fs::read_to_string(&path).unwrap();
                assert!(text.contains(&find), "{}: {file} has no `{find}`", case.place);
                fs::write(path, text.replacen(&find, &put, 1)).unwrap();
            }
        }
    }
    last.expect("the last step is a command")
}

fn run(words: &[String], scratch: &Scratch) {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    scratch.run(&words).check(0, &[]);
}

fn ask(case: &Case, words: &[String], scratch: &Scratch, form: &str) -> Answer {
    let mut all = vec!["--error-format", form];
    all.extend(words.iter().map(String::as_str));
    let mut command = scratch.command(&all);
    for pair in case.all("env") {
        let (name, value) = pair.split_once('=').expect("a name and its value");
        command.env(name, value);
    }
    for name in case.all("unset") {
        command.env_remove(name);
    }
    Answer::from(command.output().unwrap())
}

/// Every file with its bytes.
fn files(scratch: &Scratch) -> BTreeMap<String, Vec<u8>> {
    scratch.files("").into_iter().collect()
}

/// What is wrong with the answer, and with what is left of the folder.
fn judge(case: &Case) -> Vec<String> {
    let mut wrong = Vec::new();
    for form in ["human", "json"] {
        let scratch = Scratch::new(&format!("run-{}", case.slug));
        let words = prepare(case, &scratch);
        let before = files(&scratch);
        let answer = ask(case, &words, &scratch, form);
        if answer.exit != case.exit() {
            wrong.push(format!("exit {} instead of {}", answer.exit, case.exit()));
        }
        if form == "human" {
            judge_words(case, &answer, &mut wrong);
        } else {
            let mut lines = answer.err.lines();
            let first = lines.find_map(|line| serde_json::from_str::<Value>(line).ok());
            judge_report(case, &first.unwrap_or_default(), &mut wrong);
        }
        judge_files(case, &before, &files(&scratch), &mut wrong);
        if !wrong.is_empty() {
            wrong.push(format!("it printed:\n{}{}", answer.out, answer.err));
            break;
        }
    }
    wrong
}

fn judge_words(case: &Case, answer: &Answer, wrong: &mut Vec<String>) {
    for (key, text) in [("says", &answer.err), ("prints", &answer.out)] {
        for piece in case.all(key) {
            if !text.contains(piece) {
                wrong.push(format!("{key} no `{piece}`"));
            }
        }
    }
    if answer.err.contains("panicked") {
        wrong.push("a panic reaches the user".to_owned());
    }
}

fn judge_files(
    case: &Case,
    before: &BTreeMap<String, Vec<u8>>,
    after: &BTreeMap<String, Vec<u8>>,
    wrong: &mut Vec<String>,
) {
    let is_of = |name: &str, one: &str| name == one || one.ends_with('/') && name.starts_with(one);
    let writes = case.all("writes");
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
    let cases: Vec<Case> = malformed::cases().into_iter().filter(Case::is_command).collect();
    let mut failures: Vec<String> = Vec::new();
    for case in &cases {
        let wrong = judge(case);
        if !wrong.is_empty() {
            failures.push(format!("{}: {}", case.place, wrong.join("; ")));
        }
    }
    assert!(cases.len() > 40 && failures.is_empty(), "{}", failures.join("\n"));
}
