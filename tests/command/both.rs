//! One program in both runtimes: `run`, and `explore` over every order of events.

use crate::binary::Scratch;

/// The exit codes and texts of `run` and of `explore`.
pub(crate) fn both(name: &str, text: &str) -> [(i32, String); 2] {
    let scratch = Scratch::new(name);
    scratch.write("p.json", text);
    [&["run", "p.json", "--out", "out"][..], &["explore", "p.json", "--reduce"]].map(|arguments| {
        let answer = scratch.run(arguments);
        (answer.exit, format!("{}{}", answer.out, answer.err))
    })
}

/// Both end with this exit code, and say all `words`.
#[track_caller]
fn ends(name: &str, text: &str, code: i32, words: &[&str]) {
    for (exit, said) in both(name, text) {
        assert_eq!(exit, code, "{name}: {said}");
        for words in words {
            assert!(said.contains(words), "{name}: no `{words}` in {said}");
        }
    }
}

/// Both end well.
#[track_caller]
pub(crate) fn ends_well(name: &str, text: &str) {
    ends(name, text, 0, &[]);
}

/// The program breaks a law in both, in these words.
#[track_caller]
pub(crate) fn fails(name: &str, text: &str, words: &[&str]) {
    ends(name, text, 1, words);
}

/// Both refuse the file, in these words.
#[track_caller]
pub(crate) fn is_refused(name: &str, text: &str, words: &[&str]) {
    ends(name, text, 3, words);
}
