//! What tests over the real binary share: a directory of their own, and the program in it.
#![allow(dead_code, reason = "each test file uses a part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// The program that is tested: that of this build, or the one that `MPISIM_TESTED` names (`.ci/run release-tests` tests
/// the program that is shipped, without building the tests once more).
pub(crate) fn program() -> PathBuf {
    std::env::var_os("MPISIM_TESTED")
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_mpisim")), PathBuf::from)
}

/// A directory that is gone after the test.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    /// An empty directory, named after the test; tests that run beside each other get their own of one name.
    pub(crate) fn new(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(format!("mpisim-{name}-{process}-{count}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// The path of `name` in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file and answers its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// The program, to be run in it.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments).current_dir(&self.0);
        command
    }

    /// Runs the program in it.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> Answer {
        Answer::from(self.command(arguments).output().unwrap())
    }

    /// Every file below `name` with its bytes, by name.
    pub(crate) fn files(&self, name: &str) -> Vec<(String, Vec<u8>)> {
        let mut all = Vec::new();
        collect(&self.path(name), &self.path(name), &mut all);
        all.sort();
        all
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn collect(root: &Path, folder: &Path, all: &mut Vec<(String, Vec<u8>)>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            collect(root, &path, all);
        } else {
            let name = path.strip_prefix(root).unwrap().display().to_string();
            all.push((name, fs::read(&path).unwrap()));
        }
    }
}

/// What the program answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) exit: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Answer {
    /// What a program said; whatever it said, it said in words.
    fn from(output: Output) -> Self {
        let answer = Self {
            exit: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        };
        for text in [&answer.out, &answer.err] {
            assert_eq!(debug_text(text), None, "{text}");
        }
        answer
    }
}

impl Answer {
    /// Demands an exit code and pieces of standard error.
    #[track_caller]
    pub(crate) fn check(self, exit: i32, says: &[&str]) -> Self {
        assert_eq!(self.exit, exit, "{}{}", self.out, self.err);
        for text in says {
            assert!(self.err.contains(text), "does not say `{text}`: {}", self.err);
        }
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap()
    }
}

/// A value as Rust shows it to programmers, `Name { field: ..` or `Rank(1)`, in what people read.
pub(crate) fn debug_text(text: &str) -> Option<&str> {
    let line_of = |at: usize| text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = |at: usize| text[line_of(at)..].lines().next();
    let is_name = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_uppercase())
            && word.chars().all(|c| c.is_ascii_alphanumeric())
            && word.chars().any(|c| c.is_ascii_lowercase())
    };
    let word_before = |at: usize| {
        let word = text[..at].trim_end_matches(' ');
        let begin = word.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        begin.map_or(word, |begin| &word[begin + 1..])
    };
    let fields = text.match_indices(" { ").filter(|(at, _)| {
        let field = text[at + 3..].split(':').next().unwrap_or_default();
        let is_field =
            !field.is_empty() && field.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        is_field && is_name(word_before(*at))
    });
    let numbers = text.match_indices('(').filter(|(at, _)| {
        let inside = text[at + 1..].split(')').next().unwrap_or_default();
        let is_number = !inside.is_empty() && inside.chars().all(|c| c.is_ascii_digit());
        is_number && is_name(word_before(*at))
    });
    fields.chain(numbers).map(|(at, _)| at).min().and_then(line)
}

/// A sweep of three small points with a claim that holds and one that does not.
pub(crate) const SMALL: &str = r#"{
  "schema": 1,
  "title": "Small",
  "source": "a test",
  "machine": "ideal",
  "workload": { "kind": "ping_pong", "size": "8 B", "rounds": 5 },
  "sweep": { "workload.size": ["8 B", "1 KiB", "64 KiB"] },
  "figures": [ { "x": "workload.size", "y": "latency" } ],
  "claims": [
    { "id": "t-rises", "trend": "latency", "along": "workload.size",
      "expect": { "shape": "rises" }, "role": "prediction", "source": "a test" },
    { "id": "t-falls", "trend": "latency", "along": "workload.size",
      "expect": { "shape": "falls" }, "role": "prediction", "source": "a test" }
  ]
}
"#;

/// Two ranks that wait for each other for ever.
pub(crate) const DEADLOCK: &str = r#"{
  "schema": 1,
  "title": "Two receives face each other",
  "machine": "ideal",
  "workload": { "kind": "program", "ranks": [
    [ { "op": "recv", "src": 1, "max": "8 B" }, { "op": "send", "to": 1, "size": "8 B" } ],
    [ { "op": "recv", "src": 0, "max": "8 B" }, { "op": "send", "to": 0, "size": "8 B" } ]
  ] }
}
"#;
