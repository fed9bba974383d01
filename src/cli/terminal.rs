//! Output to the user: data on standard output, everything else on standard error.

use std::fmt::Write as _;
use std::io::{ErrorKind, IsTerminal as _, Write as _};

use serde_json::json;

use super::args::{Color, ErrorFormat};
use experiment::store::StoreError;
use form::codes::{self, Code};
use form::diagnostic::{Diagnostics, escaped};
use report::error::ReportError;

/// Why a command did not succeed.
#[derive(Debug)]
pub(super) enum Failure {
    /// It has been said already; this is the exit code.
    Said(u8),
    /// To be said.
    Problem(Problem),
}

/// The exit code of a command that came to its end.
pub(super) type Outcome = Result<u8, Failure>;

/// A problem that has no place in a file.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    /// Its entry in the table of codes.
    pub(super) code: Code,
    /// The exit code, where it is not that of the code.
    pub(super) exit: u8,
    /// The value found, and the values allowed.
    pub(super) what: String,
    /// A remedy.
    pub(super) help: Option<String>,
}

impl Problem {
    pub(super) fn new(code: Code, what: impl Into<String>) -> Self {
        Self { code, exit: code.exit.exit_code(), what: what.into(), help: None }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Problem(Problem::from(error))
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        Self::Problem(Problem::from(error))
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::Io { .. } | StoreError::Gone { .. } | StoreError::Missing { .. } => {
                &codes::OUTPUT
            }
            StoreError::NotOurs { .. }
            | StoreError::OtherScenario { .. }
            | StoreError::Foreign { .. }
            | StoreError::BadName(_) => &codes::NOT_OURS,
            StoreError::Locked { .. } => &codes::LOCKED,
            StoreError::OtherVersion { .. } | StoreError::Changed { .. } => &codes::OTHER_RUN,
            StoreError::Damaged { .. } => &codes::DAMAGED,
        };
        let (exit, help) = (error.exit_code(), error.help());
        Self { code, exit, what: error.to_string(), help: Some(help.to_owned()) }
    }
}

impl From<ReportError> for Problem {
    fn from(error: ReportError) -> Self {
        let (exit, help) = (error.exit_code(), error.help());
        let code = match exit {
            1 => &codes::NO_RESULT,
            70 => &codes::INTERNAL,
            _ => &codes::REPORT,
        };
        Self { code, exit, what: error.to_string(), help: help.map(str::to_owned) }
    }
}

/// How this run writes to standard error.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terminal {
    json: bool,
    color: bool,
}

impl Terminal {
    pub(super) fn new(format: ErrorFormat, color: Color) -> Self {
        let color = match color {
            Color::Auto => std::io::stderr().is_terminal(),
            Color::Always => true,
            Color::Never => false,
        };
        Self { json: format == ErrorFormat::Json, color }
    }

    /// Whether a progress bar makes sense.
    pub(super) fn shows_progress(self) -> bool {
        !self.json && std::io::stderr().is_terminal()
    }

    /// Writes the reports about the inputs.
    pub(super) fn diagnostics(self, diagnostics: &Diagnostics) {
        if self.json {
            to_stderr(&diagnostics.json());
        } else {
            to_stderr(&self.painted(&escaped(&diagnostics.human())));
        }
    }

    /// Writes a problem.
    pub(super) fn problem(self, problem: &Problem) {
        self.say("error", problem);
    }

    /// Writes a problem that does not stop the command.
    pub(super) fn warning(self, problem: &Problem) {
        self.say("warning", problem);
    }

    fn say(self, severity: &str, problem: &Problem) {
        let Problem { code, what, help, .. } = problem;
        if self.json {
            let line = json!({
                "code": code.code, "severity": severity, "file": null, "line": null,
                "column": null, "path": "", "found": what, "allowed": "", "help": help,
                "related": [],
            });
            return to_stderr(&format!("{line}\n"));
        }
        let mut text = format!("{severity}[{}] {what}\n", code.code);
        if let Some(help) = help {
            let _ = writeln!(text, "help: {help}");
        }
        to_stderr(&self.painted(&escaped(&text)));
    }

    /// Writes something good to know.
    pub(super) fn note(self, text: &str) {
        if self.json {
            let line = json!({ "severity": "note", "found": text });
            return to_stderr(&format!("{line}\n"));
        }
        to_stderr(&self.painted(&escaped(&format!("note: {text}\n"))));
    }

    /// The words that begin a line, in colour.
    fn painted(self, text: &str) -> String {
        if !self.color {
            return text.to_owned();
        }
        let words = [("error", "31"), ("warning", "33"), ("note", "36"), ("help", "32")];
        let paint = |line: &str| {
            let found = words.iter().find(|(word, _)| {
                let rest = line.strip_prefix(word);
                rest.is_some_and(|rest| rest.starts_with(['[', ':']))
            });
            match found {
                Some((word, color)) => {
                    format!("\x1b[1;{color}m{word}\x1b[0m{}", &line[word.len()..])
                }
                None => line.to_owned(),
            }
        };
        text.split_inclusive('\n').map(paint).collect()
    }
}

/// Standard error is the last resort: a failure to write to it cannot be reported.
pub(super) fn to_stderr(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
}

/// Writes data to standard output; a reader that has gone away is no failure.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    // Names and arguments of programs are part of it.
    let text = escaped(text);
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(why) if why.kind() != ErrorKind::BrokenPipe => {
            let what = format!("cannot write to standard output: {why}");
            Err(Problem::new(&codes::OUTPUT, what).into())
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_word_of_a_line_is_painted() {
        let terminal = Terminal { json: false, color: true };
        let text = terminal.painted("error[E0312] an error: x\nhelp: y\nhelpless\n");
        assert_eq!(
            text,
            "\x1b[1;31merror\x1b[0m[E0312] an error: x\n\x1b[1;32mhelp\x1b[0m: y\nhelpless\n"
        );
        let plain = Terminal { json: false, color: false };
        assert_eq!(plain.painted("error: x\n"), "error: x\n");
    }
}
