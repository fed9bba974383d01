//! Diagnostics: a mistake in an input with its place, the allowed values and a remedy.
//!
//! ```text
//! error[E0312] scenarios/a.json:14:22 workload.size: `250` has no unit; a number of bytes is needed
//!    14 |     "size": "250"
//!       |             ^^^^^
//! help: write `250 B`
//! ```
//!
//! A [`Diagnostics`] collects all of them, with the texts they point into, sorts them by position
//! and writes them for people or as JSON lines. Nothing here prints.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::codes::{self, Code, ExitClass};

mod excerpt;

pub use excerpt::{escaped, quote};

/// At most this many diagnostics are written out; the rest is counted.
pub const SHOWN: usize = 20;
/// At most this many errors, and as many warnings, are kept: of more the first ones are the same.
const KEPT: usize = 10_000;

/// A list of allowed values with more bytes than this is printed once for people.
const LONG_LIST: usize = 400;
const AS_ABOVE: &str = "allowed is what is listed above";

/// A text that diagnostics point into: a file, or an option of the command line.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct SourceId(u16);

/// A range of bytes in one source.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Span {
    /// Which text.
    pub source: SourceId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Severity {
    /// Nothing is run.
    Error,
    /// Said once; the run goes on.
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Its entry in the table of codes.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// Where.
    pub span: Span,
    /// The field, such as `workload.ranks[2].threads`; empty for the file as a whole.
    pub path: String,
    /// The value found.
    pub found: String,
    /// The values allowed.
    pub allowed: String,
    /// A remedy.
    pub help: Option<String>,
    /// Other places that have to do with it.
    pub related: Vec<(Span, String)>,
}

impl Diagnostic {
    /// An error without help or related places.
    pub fn error(
        code: Code,
        span: Span,
        path: impl Into<String>,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Self {
        Self {
            code,
            severity: Severity::Error,
            span,
            path: path.into(),
            found: found.into(),
            allowed: allowed.into(),
            help: None,
            related: Vec::new(),
        }
    }

    /// The same as a warning.
    pub fn warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }

    /// With help.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// With one more place and a remark on it.
    pub fn related(mut self, span: Span, note: impl Into<String>) -> Self {
        self.related.push((span, note.into()));
        self
    }
}

/// A line and a column, both counted from 1; columns count characters.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Position {
    /// Line; `\n`, `\r\n` and a lone `\r` each end one.
    pub line: usize,
    /// Character in the line.
    pub column: usize,
}

/// A named text.
#[derive(Clone, Debug)]
struct Source {
    name: String,
    text: String,
    /// The number of the text's first line.
    first_line: usize,
}

/// All that was found wrong in the inputs of one command, and the texts of those inputs.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    sources: Vec<Source>,
    list: Vec<Diagnostic>,
    /// Places in the list, by position and code.
    known: BTreeMap<(Span, &'static str), Vec<usize>>,
    errors: usize,
    warnings: usize,
    /// How many were not kept.
    dropped: usize,
    files: Vec<PathBuf>,
}

impl Diagnostics {
    /// No inputs, nothing wrong.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a text that diagnostics may point into; `name` is shown as the file.
    ///
    /// # Panics
    ///
    /// When more than 65,535 texts are added.
    pub fn add_source(&mut self, name: impl Into<String>, text: impl Into<String>) -> SourceId {
        self.add_lines(name, 1, text)
    }

    /// Adds a part of a text, of which no more is kept: its first line is number `first_line`.
    ///
    /// # Panics
    ///
    /// When more than 65,535 texts are added.
    pub fn add_lines(
        &mut self,
        name: impl Into<String>,
        first_line: usize,
        text: impl Into<String>,
    ) -> SourceId {
        let id = u16::try_from(self.sources.len()).expect("a command reads few files");
        self.sources.push(Source { name: name.into(), text: text.into(), first_line });
        SourceId(id)
    }

    /// Notes that a file was read.
    pub fn has_read(&mut self, path: &Path) {
        if !self.files.iter().any(|known| known == path) {
            self.files.push(path.to_owned());
        }
    }

    /// The reports of `found` instead of these; sources stay read.
    pub fn replaced_by(&mut self, found: Self) {
        let before = std::mem::replace(self, found);
        self.have_read(before.files());
    }

    /// Notes that files were read.
    pub fn have_read(&mut self, paths: &[PathBuf]) {
        for path in paths {
            self.has_read(path);
        }
    }

    /// The files that were read: none that ship inside the program.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The text of `source`.
    pub fn text(&self, source: SourceId) -> &str {
        &self.sources[usize::from(source.0)].text
    }

    /// The text of `source`, taken out until [`Self::put_text`].
    pub fn take_text(&mut self, source: SourceId) -> String {
        std::mem::take(&mut self.sources[usize::from(source.0)].text)
    }

    /// Puts the text of `source` back.
    pub fn put_text(&mut self, source: SourceId, text: String) {
        self.sources[usize::from(source.0)].text = text;
    }

    /// The name of `source`.
    pub fn name(&self, source: SourceId) -> &str {
        &self.sources[usize::from(source.0)].name
    }

    /// Adds one diagnostic; the same code at the same place is kept once.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let same = self.known.entry((diagnostic.span, diagnostic.code.code)).or_default();
        if same.iter().any(|&place| self.list[place].path == diagnostic.path) {
            return;
        }
        let is_error = diagnostic.severity == Severity::Error;
        self.errors += usize::from(is_error);
        self.warnings += usize::from(!is_error);
        let all = if is_error { self.errors } else { self.warnings };
        // Any other class than the usual one decides about the exit code.
        if all > KEPT && diagnostic.code.exit == ExitClass::Invalid {
            self.dropped += 1;
            return;
        }
        same.push(self.list.len());
        self.list.push(diagnostic);
    }

    /// All of them, by position: the first text first.
    pub fn sorted(&self) -> Vec<&Diagnostic> {
        let mut all: Vec<&Diagnostic> = self.list.iter().collect();
        all.sort_by_key(|one| (one.span, one.severity));
        all
    }

    /// How many errors there are.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// Whether there is an error.
    pub fn has_errors(&self) -> bool {
        self.errors() > 0
    }

    /// Whether further errors are only counted.
    pub fn is_full(&self) -> bool {
        self.errors > KEPT
    }

    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The exit code: 0 without errors, else that of the first kind present of usage (2), I/O (4),
    /// limits (5) and invalid input (3).
    pub fn exit_code(&self) -> u8 {
        let classes = || {
            self.list.iter().filter(|one| one.severity == Severity::Error).map(|one| one.code.exit)
        };
        [ExitClass::Usage, ExitClass::Io, ExitClass::Limit, ExitClass::Invalid]
            .into_iter()
            .find(|wanted| classes().any(|class| class == *wanted))
            .map_or(0, ExitClass::exit_code)
    }

    /// A place in the list, for [`Self::drop_points`] and [`Self::explain`].
    pub fn mark(&self) -> usize {
        self.list.len()
    }

    /// Forgets what was reported since `mark` if it is only about points that do not exist, or
    /// too few of them.
    pub fn drop_points(&mut self, mark: usize) -> bool {
        let about_points = [codes::NO_POINT.code, codes::CLAIM_FORM.code];
        let only = self.list[mark..].iter().all(|one| about_points.contains(&one.code.code));
        if only {
            let forgotten = self.list.split_off(mark.min(self.list.len()));
            for one in &forgotten {
                let is_error = one.severity == Severity::Error;
                self.errors -= usize::from(is_error);
                self.warnings -= usize::from(!is_error);
                if let Some(places) = self.known.get_mut(&(one.span, one.code.code)) {
                    places.retain(|place| *place < mark);
                }
            }
        }
        only
    }

    /// Adds `text` to the help of everything that was reported since `mark`.
    pub fn explain(&mut self, mark: usize, text: &str) {
        for one in &mut self.list[mark..] {
            one.help = Some(match one.help.take() {
                Some(help) if help.ends_with('?') => format!("{help} {text}"),
                Some(help) => format!("{help}; {text}"),
                None => text.to_owned(),
            });
        }
    }

    /// Gives everything that was reported about `path` since `mark` and has no help this one.
    pub fn explain_field(&mut self, mark: usize, path: &str, text: &str) {
        for one in &mut self.list[mark..] {
            if one.path == path && one.help.is_none() {
                one.help = Some(text.to_owned());
            }
        }
    }

    /// Line and column of the first byte of `span`.
    pub fn position(&self, span: Span) -> Position {
        let position = excerpt::position(self.text(span.source), span.start);
        let first_line = self.sources[usize::from(span.source.0)].first_line;
        Position { line: position.line + first_line - 1, ..position }
    }

    /// The text for people: errors first shown by position, at most [`SHOWN`] of them.
    pub fn human(&self) -> String {
        let mut out = String::new();
        let all = self.shown();
        let mut told: Vec<&str> = Vec::new();
        for one in all.iter().take(SHOWN) {
            let allowed =
                if told.contains(&one.allowed.as_str()) { AS_ABOVE } else { one.allowed.as_str() };
            self.write_human(&mut out, one, allowed);
            if one.allowed.len() > LONG_LIST {
                told.push(&one.allowed);
            }
        }
        if all.len() > SHOWN {
            let _ = writeln!(out, "and {} more", all.len() - SHOWN + self.dropped);
        }
        out
    }

    /// One JSON object per line with the same fields as the text for people.
    pub fn json(&self) -> String {
        let all = self.shown();
        let mut out = String::new();
        for one in all.iter().take(SHOWN) {
            let _ = writeln!(out, "{}", self.as_json(one));
        }
        if all.len() > SHOWN {
            let more = serde_json::json!({ "more": all.len() - SHOWN + self.dropped });
            let _ = writeln!(out, "{more}");
        }
        out
    }

    /// By position, but so that warnings never push errors out of the limit.
    fn shown(&self) -> Vec<&Diagnostic> {
        let mut all = self.sorted();
        if all.len() > SHOWN {
            all.sort_by_key(|one| one.severity);
        }
        all
    }

    /// Writes one; `allowed` replaces its list of allowed values.
    fn write_human(&self, out: &mut String, one: &Diagnostic, allowed: &str) {
        let Position { line, .. } = self.position(one.span);
        let name = self.place(one.span);
        let path = if one.path.is_empty() { String::new() } else { format!(" {}", one.path) };
        let word = one.severity.word();
        let _ = write!(out, "{word}[{}] {name}{path}: {}", one.code.code, one.found);
        if !allowed.is_empty() {
            let _ = write!(out, "; {allowed}");
        }
        out.push('\n');
        excerpt::write_excerpt(out, self.text(one.span.source), one.span, line);
        for (span, note) in &one.related {
            let Position { line, .. } = self.position(*span);
            let _ = writeln!(out, "note: {}: {note}", self.place(*span));
            excerpt::write_excerpt(out, self.text(span.source), *span, line);
        }
        if let Some(help) = &one.help {
            let _ = writeln!(out, "help: {help}");
        }
    }

    /// File, line and column; the file alone where it has no text, as a directory.
    fn place(&self, span: Span) -> String {
        let name = quote(self.name(span.source));
        let source = &self.sources[usize::from(span.source.0)];
        if source.text.is_empty() && source.first_line == 1 {
            return name;
        }
        let Position { line, column } = self.position(span);
        format!("{name}:{line}:{column}")
    }

    fn as_json(&self, one: &Diagnostic) -> serde_json::Value {
        let place = |span: Span| {
            let Position { line, column } = self.position(span);
            (self.name(span.source).to_owned(), line, column)
        };
        let (file, line, column) = place(one.span);
        let related: Vec<_> = one
            .related
            .iter()
            .map(|(span, note)| {
                let (file, line, column) = place(*span);
                serde_json::json!({ "file": file, "line": line, "column": column, "note": note })
            })
            .collect();
        serde_json::json!({
            "code": one.code.code,
            "severity": one.severity.word(),
            "file": file,
            "line": line,
            "column": column,
            "path": one.path,
            "found": one.found,
            "allowed": one.allowed,
            "help": one.help,
            "related": related,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(source: SourceId, start: u32, end: u32) -> Span {
        Span { source, start, end }
    }

    #[test]
    fn the_first_line_is_the_contract() {
        let mut all = Diagnostics::new();
        let file = all.add_source("a.json", "{\n  \"size\": \"250\"\n}\n");
        all.push(
            Diagnostic::error(
                &codes::NO_UNIT,
                span(file, 12, 17),
                "size",
                "`250` has no unit",
                "a number of bytes is needed",
            )
            .help("write `250 B`"),
        );
        assert_eq!(
            all.human(),
            "error[E0312] a.json:2:11 size: `250` has no unit; a number of bytes is needed\n   \
             2 |   \"size\": \"250\"\n     |           ^^^^^\nhelp: write `250 B`\n"
        );
        assert_eq!(all.exit_code(), 3);
        let json: serde_json::Value = serde_json::from_str(all.json().trim()).unwrap();
        assert_eq!(json["line"], 2);
        assert_eq!(json["column"], 11);
        assert_eq!(json["path"], "size");
    }

    #[test]
    fn a_long_list_of_what_is_allowed_is_told_once_to_people() {
        let mut all = Diagnostics::new();
        let file = all.add_source("a.json", "x".repeat(100));
        let (long, short) = ("word, ".repeat(100), "a number is needed");
        for (at, allowed) in [(0, long.as_str()), (1, short), (2, &long), (3, short)] {
            all.push(Diagnostic::error(&codes::RANGE, span(file, at, at + 1), "p", "f", allowed));
        }
        let text = all.human();
        assert_eq!(text.matches(&long).count(), 1, "{text}");
        assert_eq!(text.matches(AS_ABOVE).count(), 1, "{text}");
        assert_eq!(text.matches(short).count(), 2, "{text}");
        assert_eq!(all.json().matches(&long).count(), 2, "programs get each whole");
    }

    #[test]
    fn of_many_errors_the_first_are_kept_and_the_others_counted() {
        let mut all = Diagnostics::new();
        let file = all.add_source("a.json", "x".repeat(1_000_000));
        // A million comparisons for each would take hours.
        for at in 0..1_000_000 {
            let one = Diagnostic::error(&codes::RANGE, span(file, at, at + 1), "p", "f", "a");
            all.push(if at % 2 == 0 { one } else { one.warning() });
        }
        assert_eq!((all.errors(), all.exit_code()), (500_000, 3));
        assert!(all.human().ends_with("and 999980 more\n"), "{}", all.human());
        // Another class than that of an invalid input decides about the exit code.
        all.push(Diagnostic::error(&codes::TOO_MANY_POINTS, span(file, 0, 1), "p", "f", "a"));
        assert_eq!(all.exit_code(), 5);
        let mark = all.mark();
        all.push(Diagnostic::error(&codes::NO_POINT, span(file, 0, 9), "p", "f", "a"));
        assert!(all.drop_points(mark));
    }

    #[test]
    fn what_was_forgotten_can_be_said_again() {
        let mut all = Diagnostics::new();
        let file = all.add_source("a.json", "x");
        let one = || Diagnostic::error(&codes::NO_POINT, span(file, 0, 1), "p", "f", "a");
        all.push(one());
        all.push(one());
        assert_eq!((all.errors(), all.mark()), (1, 1));
        assert!(all.drop_points(0) && !all.has_errors());
        all.push(one());
        assert_eq!((all.errors(), all.mark()), (1, 1));
    }

    #[test]
    fn more_help_follows_a_question_as_a_sentence_of_its_own() {
        let mut all = Diagnostics::new();
        let file = all.add_source("a.json", "x");
        let one = Diagnostic::error(&codes::RANGE, span(file, 0, 1), "p", "f", "a");
        all.push(one.help("did you mean `b`?"));
        all.explain(0, "found at point 0");
        assert!(all.human().ends_with("help: did you mean `b`? found at point 0\n"));
    }

    #[test]
    fn errors_are_sorted_counted_and_not_hidden_by_warnings() {
        let mut all = Diagnostics::new();
        let file = all.add_source("a.json", "x".repeat(100));
        for at in (0..30).rev() {
            let one = Diagnostic::error(&codes::RANGE, span(file, at, at + 1), "p", "f", "a");
            all.push(if at < 25 { one.warning() } else { one });
        }
        let text = all.human();
        assert!(text.ends_with("and 10 more\n"), "{text}");
        assert_eq!(text.matches("error[").count(), 5);
        assert!(text.find(":1:26 ").unwrap() < text.find(":1:27 ").unwrap());
    }
}
