//! From text to table: which lines are rows, and what stands around them.
//!
//! Above its heads and below its last row a file may have lines of whatever started the benchmark;
//! they are left out with a warning. Between its rows only lines that launchers mark are left out.

use std::collections::BTreeSet;
use std::path::Path;

use super::heads::{self, Heads};
use super::program::{self, Named, Program};
use super::{Column, Key, Measured, Row};
use crate::library;
use crate::shipped::Shipped;
use crate::traces;
use form::diagnostic::{Diagnostic, Diagnostics, SHOWN, SourceId, Span, quote};
use form::{codes, json};

/// The most bytes of a table.
const MAX_BYTES: u64 = 16 << 20;

const NEEDS_HEADS: &str = "a line names the columns of a table";

/// Reads the table at `path`; reports where it is none.
pub(super) fn read(
    diagnostics: &mut Diagnostics,
    shipped: Shipped,
    path: &Path,
) -> Option<Measured> {
    let bytes = library::read(diagnostics, shipped, path, MAX_BYTES)?;
    let shown = path.display().to_string();
    if let Some((name, help)) = trace(path) {
        let source = diagnostics.add_source(shown, "");
        let span = Span { source, start: 0, end: 0 };
        let found = format!("this is a trace in {name}");
        let allowed = "tables of benchmarks are read here";
        diagnostics.push(Diagnostic::error(&codes::MEASURED, span, "", found, allowed).help(help));
        return None;
    }
    if let Some((found, (_, help), code)) = json::recognise(&bytes) {
        let source = diagnostics.add_source(shown, "");
        let span = Span { source, start: 0, end: 0 };
        diagnostics
            .push(Diagnostic::error(code, span, "", found, "plain text is needed").help(help));
        return None;
    }
    let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes));
    let source = diagnostics.add_source(shown, &*text);
    parse(diagnostics, source, &text)
}

/// The name of the format of a trace, where the file is one, and the way to go on.
fn trace(path: &Path) -> Option<(&'static str, &'static str)> {
    match traces::kind(path) {
        traces::Kind::Trace(format) => {
            Some((format.title, "`mpisim run FILE --machine NAME` replays it"))
        }
        traces::Kind::Foreign(foreign) => Some((foreign.name, foreign.help)),
        traces::Kind::Other => None,
    }
}

/// The table of a text.
pub(super) fn parse(
    diagnostics: &mut Diagnostics,
    source: SourceId,
    text: &str,
) -> Option<Measured> {
    let mut reader = Reader { source, found: Vec::new() };
    let table = reader.table(text);
    if table.is_none() && reader.found.is_empty() {
        let start = Line { text: "", start: 0 };
        reader.refuse(start, "no line of numbers", "a table of a benchmark is needed");
    }
    let fails = !reader.found.is_empty();
    reader.found.into_iter().for_each(|one| diagnostics.push(one));
    let (table, left_out) = table.filter(|_| !fails)?;
    if let Some(left_out) = left_out {
        diagnostics.push(left_out);
    }
    Some(table)
}

/// A line and where it begins.
#[derive(Clone, Copy, Debug)]
struct Line<'a> {
    text: &'a str,
    start: usize,
}

impl<'a> Line<'a> {
    /// One of its words, by number.
    fn word(&self, place: usize) -> Self {
        let mut at = 0;
        for (number, word) in self.text.split_whitespace().enumerate() {
            at += self.text[at..].find(word).unwrap_or(0);
            if number == place {
                return Line { text: word, start: self.start + at };
            }
            at += word.len();
        }
        *self
    }

    /// The comment that it is.
    fn comment(&self) -> Option<&'a str> {
        let text = self.text.trim();
        text.strip_prefix('#').filter(|_| !heads::is_of_imb(text)).map(str::trim)
    }

    /// Whether it begins as a row does whose first column is a number.
    fn begins_with_number(&self) -> bool {
        let text = self.text.trim_start();
        let unsigned = text.strip_prefix(['-', '+', '.']).unwrap_or(text);
        unsigned.starts_with(|c: char| c.is_ascii_digit())
    }

    /// Whether it has a mark of launchers: `[host:1] ...`, `srun: ...`, `WARNING ...`, a ruler.
    fn is_marked(&self) -> bool {
        let text = self.text.trim();
        let first = text.split_whitespace().next().unwrap_or_default();
        text.starts_with('[')
            || first.ends_with(':')
            || ["WARNING", "NOTE", "INFO"].contains(&first.to_ascii_uppercase().as_str())
            || text.chars().all(|c| "-=*_".contains(c))
    }
}

/// The lines of a text that are not blank; `\r\n`, `\n` and a lone `\r` end one.
fn lines(text: &str) -> Vec<Line<'_>> {
    let mut start = 0;
    let mut all = Vec::new();
    for part in text.split_inclusive(['\n', '\r']) {
        let line = part.trim_end();
        if !line.trim().is_empty() {
            all.push(Line { text: line, start });
        }
        start += part.len();
    }
    all
}

struct Reader {
    source: SourceId,
    found: Vec<Diagnostic>,
}

impl Reader {
    fn span(&self, at: &Line<'_>) -> Span {
        let offset = |at: usize| u32::try_from(at).expect("tables are at most 16 MiB");
        let end = at.start + at.text.len();
        Span { source: self.source, start: offset(at.start), end: offset(end) }
    }

    fn refuse(&mut self, at: Line<'_>, found: impl Into<String>, allowed: impl Into<String>) {
        let span = self.span(&at);
        self.found.push(Diagnostic::error(&codes::MEASURED, span, "", found, allowed));
    }

    fn advise(&mut self, help: &str) {
        let last = self.found.pop().map(|last| last.help(help));
        self.found.extend(last);
    }

    /// A warning of lines that are no part of the table, at the first of them.
    fn remark(&self, left_out: &[&Line<'_>]) -> Option<Diagnostic> {
        let first = left_out.iter().min_by_key(|line| line.start)?;
        let found = match left_out.len() {
            1 => "a line that is no part of the table is left out".to_owned(),
            many => format!("{many} lines that are no part of the table are left out"),
        };
        let allowed = "lines of numbers and comments are read";
        Some(Diagnostic::error(&codes::MEASURED, self.span(first), "", found, allowed).warning())
    }

    fn table(&mut self, text: &str) -> Option<(Measured, Option<Diagnostic>)> {
        let lines = lines(text);
        if let Some(first) = lines.first().filter(|line| line.text.trim_start().starts_with('<')) {
            self.refuse(*first, "this looks like XML", "a table of a benchmark is needed");
            self.advise("`mpisim fit --hwloc FILE` takes a topology");
            return None;
        }
        let (program, head) = self.head(&lines)?;
        let heads = heads::heads(program, lines[head].text.trim().trim_start_matches('#'));
        let is_row = |line: &Line<'_>| {
            let is_word = heads.has_words() && line.comment().is_none() && !line.is_marked();
            is_word || line.begins_with_number()
        };
        let last = lines.iter().rposition(is_row).filter(|last| *last > head)?;
        let rows = self.rows(&lines[head..=last], &heads);
        self.fit_heads(&lines[head], &heads, rows.first())?;
        if !self.found.is_empty() {
            // Rows that are no rows need not have as many values as there are columns.
            return None;
        }
        let around = lines[..head].iter().chain(&lines[last + 1..]);
        let around: Vec<&Line<'_>> = around.filter(|line| line.comment().is_none()).collect();
        let inside = lines[head + 1..last].iter().filter(|line| !is_row(line) && line.is_marked());
        let left_out: Vec<&Line<'_>> = around.into_iter().chain(inside).collect();
        let left_out = self.remark(&left_out);
        let comments: Vec<&str> = lines[..=head].iter().filter_map(Line::comment).collect();
        let columns = heads.columns.iter().flatten().cloned().collect();
        let title = title_of(&comments, heads::is_of_imb(lines[head].text));
        let mut table = Measured {
            title: title.map(str::to_owned),
            program,
            comments: comments.into_iter().map(str::to_owned).collect(),
            key: heads.key.clone(),
            columns,
            rows,
            heads: self.span(&lines[head]),
        };
        in_megabytes(&mut table);
        Some((table, left_out))
    }

    /// The benchmark, and the number of the line of heads: the last comment above the rows.
    fn head(&mut self, lines: &[Line<'_>]) -> Option<(Option<&'static Program>, usize)> {
        let is_head = |line: &Line<'_>| line.comment().is_some() || heads::is_of_imb(line.text);
        let first_comment = lines.iter().position(is_head);
        let numbers = lines.iter().position(Line::begins_with_number);
        let Some(first_comment) = first_comment else {
            let place = numbers.map(|place| lines[place])?;
            self.refuse(place, "no line with `# Size` above it", NEEDS_HEADS);
            return None;
        };
        // Rows begin behind the last comment above the first of them, words or numbers.
        let of_words = |line: &Line<'_>| {
            let heads = line.comment().map(|comment| heads::heads(None, comment));
            heads.is_some_and(|heads| heads.has_words())
        };
        let by_words = lines.iter().position(of_words);
        let by_numbers = lines[first_comment..].iter().position(Line::begins_with_number);
        let head = match (by_words, by_numbers) {
            (Some(head), _) => head,
            (None, Some(row)) => lines[..first_comment + row].iter().rposition(is_head)?,
            (None, None) => return None,
        };
        let titles = lines[..=head].iter().enumerate().rev();
        let mut named =
            titles.filter_map(|(at, line)| Some((at, program::named(line.comment()?)?)));
        match named.next() {
            Some((at, _)) if at == head => {
                self.refuse(lines[head], "no line with `# Size` below it", NEEDS_HEADS);
                None
            }
            Some((at, Named::Other(title))) => {
                let found = format!("`{}` is no benchmark whose tables are read", quote(title));
                self.refuse(lines[at], found, format!("those are {}", program::titles()));
                None
            }
            Some((_, Named::Known(program))) => Some((Some(program), head)),
            None => Some((None, head)),
        }
    }

    /// The rows behind the line of heads, which is the first.
    fn rows(&mut self, lines: &[Line<'_>], heads: &Heads) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        let mut words = BTreeSet::new();
        for line in &lines[1..] {
            if self.found.len() >= SHOWN {
                break;
            }
            if let Some(comment) =
                line.comment().or_else(|| heads::is_of_imb(line.text).then_some(""))
            {
                let again = line.text.trim() == lines[0].text.trim();
                if again || program::named(comment).is_some() {
                    self.refuse(*line, "a second table begins", "one table a file is read");
                    self.advise("keep each repetition, and each benchmark, in a file of its own");
                    break;
                }
                continue;
            }
            if line.is_marked() && !line.begins_with_number() {
                continue;
            }
            if !heads.has_words() && !line.begins_with_number() {
                self.refuse(*line, "this line is no row", "sizes and numbers stand in a table");
                self.advise("remove what the benchmark did not print");
                continue;
            }
            let Some(row) = self.row(*line, heads) else { continue };
            let before = rows.first().map(|first| first.values.len());
            if before.is_some_and(|before| before != row.values.len()) {
                let found = format!("{} numbers behind the first", row.values.len());
                let allowed = format!("the lines above have {}", before.unwrap_or_default());
                self.refuse(*line, found, allowed);
                continue;
            }
            match (&row.key, rows.last().map(|last| &last.key)) {
                (Key::Number(key), Some(Key::Number(last))) if key <= last => {
                    let found = format!("{key} behind {last}");
                    self.refuse(*line, found, "the first column must rise: one table a file");
                }
                (Key::Word(word), _) if !words.insert(word.clone()) => {
                    let found = format!("`{}` a second time", quote(word));
                    self.refuse(*line, found, "each has one row");
                }
                (Key::Number(_) | Key::Word(_), _) => rows.push(row),
            }
        }
        rows
    }

    /// A row; `None` after a report.
    fn row(&mut self, line: Line<'_>, heads: &Heads) -> Option<Row> {
        let mut words: Vec<&str> = line.text.split_whitespace().collect();
        match words.last().map(|last| last.to_ascii_lowercase()).as_deref() {
            Some("pass") => {
                words.pop();
            }
            Some("fail") => {
                let last = line.word(words.len() - 1);
                self.refuse(
                    last,
                    "the benchmark found wrong data",
                    "a table of right ones is needed",
                );
                return None;
            }
            Some(_) | None => {}
        }
        let (first, others) = words.split_first()?;
        let key = match first.parse() {
            _ if heads.has_words() => Key::Word((*first).to_owned()),
            Ok(number) => Key::Number(number),
            Err(_) => {
                self.no_number(line.word(0));
                return None;
            }
        };
        let mut values = Vec::new();
        for place in 1..=others.len() {
            values.push(self.value(line.word(place))?);
        }
        if values.is_empty() {
            self.refuse(line, "one number", "a size in bytes, then finite numbers");
            return None;
        }
        let row = Row { key, values, span: self.span(&line) };
        self.signs(line, &row, heads)?;
        Some(Row { values: used(&row.values, heads), ..row })
    }

    fn value(&mut self, word: Line<'_>) -> Option<f64> {
        let number = word.text.parse().ok().filter(|value: &f64| value.is_finite());
        if number.is_none() {
            self.no_number(word);
        }
        number
    }

    fn no_number(&mut self, word: Line<'_>) {
        let found = format!("`{}` is no number", quote(word.text));
        self.refuse(word, found, "a size in bytes, then finite numbers");
        if word.text.contains(',') && word.begins_with_number() {
            self.advise("thousands stand without a separator, decimals behind a point");
        }
    }

    /// Refuses what cannot have been measured: below zero, or a latency of zero.
    fn signs(&mut self, line: Line<'_>, row: &Row, heads: &Heads) -> Option<()> {
        let of_nothing = row.key == Key::Number(0);
        let zero_is_wrong = |place: usize| {
            let column = heads.columns.get(place).and_then(Option::as_ref);
            column.is_some_and(|column| !column.takes_zero(of_nothing))
        };
        let wrong = |(place, value): &(usize, &f64)| {
            **value < 0.0 || **value == 0.0 && zero_is_wrong(*place)
        };
        let Some((place, _)) = row.values.iter().enumerate().find(wrong) else { return Some(()) };
        let name = heads.columns.get(place).and_then(Option::as_ref);
        let name = name.map_or("value", |column| column.name.as_str());
        let at = line.word(place + 1);
        let found = format!("{} `{}`", quote(name), at.text);
        self.refuse(at, found, "a positive value is needed");
        None
    }

    /// Whether heads and rows have as many columns, one at least; `None` after a report.
    fn fit_heads(&mut self, line: &Line<'_>, heads: &Heads, first: Option<&Row>) -> Option<()> {
        let named = heads.columns.iter().flatten().count();
        if named == 0 && !heads.columns.is_empty() && self.found.is_empty() {
            self.refuse(*line, "no column is one that is read", heads::USED_OF_IMB);
            return None;
        }
        let values = first.map_or(named, |row| row.values.len());
        if named == values || !self.found.is_empty() {
            return Some(());
        }
        let found = format!("heads for {named} columns behind the first");
        self.refuse(*line, found, format!("the lines below have {values}"));
        self.advise("names of columns are parted by a tab or two blanks");
        None
    }
}

/// The values of columns that are used.
fn used(values: &[f64], heads: &Heads) -> Vec<f64> {
    let is_used = |place: usize| heads.columns.get(place).is_none_or(Option::is_some);
    let values = values.iter().enumerate();
    values.filter(|(place, _)| is_used(*place)).map(|(_, value)| *value).collect()
}

/// The comment that says what the table is: the title of a benchmark, else the first of several.
fn title_of<'a>(comments: &[&'a str], heads_are_none: bool) -> Option<&'a str> {
    let titles = || comments.iter().copied();
    let title = titles().rev().find(|comment| program::named(comment).is_some());
    let own = || titles().next().filter(|_| comments.len() > 1 || heads_are_none);
    title.or_else(own)
}

/// Rates in GB/s are converted to MB/s, as the simulator shows them.
fn in_megabytes(table: &mut Measured) {
    let in_gigabytes = |(_, column): &(usize, &mut Column)| column.unit == "GB/s";
    for (index, column) in table.columns.iter_mut().enumerate().filter(in_gigabytes) {
        "MB/s".clone_into(&mut column.unit);
        for row in &mut table.rows {
            row.values[index] *= 1e3;
        }
    }
}
