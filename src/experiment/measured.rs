//! Measured tables: the text of the OSU micro-benchmarks, read to be laid over our own curves.
//!
//! ```text
//! # OSU MPI Latency Test v7.1
//! # Size          Latency (us)
//! 1                       1.30
//! ```
//!
//! Lines with `#` are comments, the last of them before the numbers names the columns; a name ends
//! where two blanks or a parenthesis follow, and its unit stands in parentheses, or is the name. Rates
//! in GB/s are told in MB/s.

use std::fmt::Write as _;
use std::path::Path;

use super::codes;
use super::diagnostic::{Diagnostic, Diagnostics, SourceId, Span, quote};
use super::json;
use super::library;

/// The most bytes of a table.
const MAX_BYTES: u64 = 16 << 20;

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The first line, where it is a comment of its own.
    pub title: Option<String>,
    /// Every comment before the numbers, the names of the columns last.
    pub comments: Vec<String>,
    /// What the first column holds, such as `Size`.
    pub key: String,
    /// The other columns.
    pub columns: Vec<Column>,
    /// The first number of each line, and one for each column.
    pub rows: Vec<(u64, Vec<f64>)>,
}

/// One column.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Column {
    /// As the file names it, such as `Latency`.
    pub name: String,
    /// Its unit, as the simulator spells it; empty where the file does not say.
    pub unit: String,
}

impl Measured {
    /// The column of a metric that a workload measures.
    pub fn column_of(&self, metric: &str) -> Option<usize> {
        let wanted = |column: &Column| match metric {
            "latency" => column.name.to_ascii_lowercase().ends_with("latency"),
            "bandwidth" => column.unit == "MB/s",
            "message_rate" => column.unit == "msg/s",
            _ => false,
        };
        self.columns.iter().position(wanted)
    }

    /// One row for each number: size, column, value, unit.
    pub fn to_csv(&self) -> String {
        let mut text = format!("{},metric,value,unit\n", self.key.to_ascii_lowercase());
        for (key, values) in &self.rows {
            for (column, value) in self.columns.iter().zip(values) {
                let name = column.name.to_ascii_lowercase().replace(' ', "_");
                let _ = writeln!(text, "{key},{name},{value},{}", column.unit);
            }
        }
        text
    }
}

/// Reads the table at `path`; reports where it is none.
pub fn read(diagnostics: &mut Diagnostics, path: &Path) -> Option<Measured> {
    let bytes = library::read(diagnostics, path, MAX_BYTES)?;
    let shown = path.display().to_string();
    if let Some((found, (_, help), code)) = json::recognise(&bytes) {
        let source = diagnostics.add_source(shown, "");
        let span = Span { source, start: 0, end: 0 };
        diagnostics
            .push(Diagnostic::error(code, span, "", found, "plain text is needed").help(help));
        return None;
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let source = diagnostics.add_source(shown, text.clone());
    parse(diagnostics, source, &text)
}

fn parse(diagnostics: &mut Diagnostics, source: SourceId, text: &str) -> Option<Measured> {
    let mut wrong = |at: usize, length: usize, found: String, allowed: &str| {
        let offset = |at: usize| u32::try_from(at).expect("tables are at most 16 MiB");
        let span = Span { source, start: offset(at), end: offset(at + length) };
        diagnostics.push(Diagnostic::error(&codes::MEASURED, span, "", found, allowed));
    };
    let (mut comments, mut rows): (Vec<&str>, Vec<(u64, Vec<f64>)>) = (Vec::new(), Vec::new());
    let mut columns = 0;
    let mut errors = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let line = line.trim_end();
        if line.trim().is_empty() {
            continue;
        }
        if let Some(comment) = line.trim_start().strip_prefix('#') {
            if rows.is_empty() {
                comments.push(comment.trim());
            }
            continue;
        }
        match row(line) {
            Ok((key, values)) if rows.is_empty() || values.len() == columns => {
                columns = values.len();
                rows.push((key, values));
            }
            Ok((_, values)) => {
                let found = format!("{} numbers behind the first", values.len());
                wrong(start, line.len(), found, &format!("the lines above have {columns}"));
                errors += 1;
            }
            Err(word) => {
                let place = line.find(word).unwrap_or(0);
                let found = format!("`{}` is no number", quote(word));
                wrong(start + place, word.len(), found, "a size in bytes, then finite numbers");
                errors += 1;
            }
        }
        if errors == super::diagnostic::SHOWN {
            break;
        }
    }
    if errors > 0 {
        return None;
    }
    let header = comments.last().map(|header| header_of(header));
    let Some((key, mut names)) = header.filter(|_| !rows.is_empty()) else {
        let found = if rows.is_empty() { "no line of numbers" } else { "no line with `# Size`" };
        wrong(0, 1, found.to_owned(), "a table of the OSU micro-benchmarks is needed");
        return None;
    };
    // Words behind the names of the columns are remarks.
    names.truncate(columns);
    names.resize_with(columns, || Column { name: "value".to_owned(), unit: String::new() });
    in_megabytes(&mut names, &mut rows);
    let title = comments.first().filter(|_| comments.len() > 1).map(|title| (*title).to_owned());
    let comments = comments.into_iter().map(str::to_owned).collect();
    Some(Measured { title, comments, key, columns: names, rows })
}

/// Rates in GB/s are told in MB/s, as the simulator tells them.
fn in_megabytes(columns: &mut [Column], rows: &mut [(u64, Vec<f64>)]) {
    for (index, column) in columns.iter_mut().enumerate().filter(|(_, one)| one.unit == "GB/s") {
        "MB/s".clone_into(&mut column.unit);
        for (_, values) in rows.iter_mut() {
            values[index] *= 1e3;
        }
    }
}

/// The numbers of a line, or the word that is none.
fn row(line: &str) -> Result<(u64, Vec<f64>), &str> {
    let mut words = line.split_whitespace();
    let first = words.next().unwrap_or_default();
    let key = first.parse().map_err(|_| first)?;
    let number = |word| {
        let number: Option<f64> = str::parse(word).ok().filter(|value: &f64| value.is_finite());
        number.ok_or(word)
    };
    let values: Vec<f64> = words.map(number).collect::<Result<_, _>>()?;
    if values.is_empty() { Err(first) } else { Ok((key, values)) }
}

/// The name of the first column, and the others.
fn header_of(header: &str) -> (String, Vec<Column>) {
    let mut names = header.split("  ").map(str::trim).filter(|name| !name.is_empty());
    let key = names.next().unwrap_or("Size").to_owned();
    (key, names.map(column).collect())
}

fn column(text: &str) -> Column {
    if let Some((name, unit)) = text.split_once('(') {
        let name = name.trim();
        let unit = unit.trim_end_matches(')').trim();
        let unit = if unit == "Messages/s" { "msg/s" } else { unit };
        return Column { name: name.to_owned(), unit: unit.to_owned() };
    }
    let (name, unit) = match text {
        "MB/s" => ("Bandwidth", "MB/s"),
        "GB/s" => ("Bandwidth", "GB/s"),
        "Messages/s" => ("Message rate", "msg/s"),
        other => (other, ""),
    };
    Column { name: name.to_owned(), unit: unit.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Measured, String> {
        let mut diagnostics = Diagnostics::new();
        let source = diagnostics.add_source("t.txt", text);
        parse(&mut diagnostics, source, text).ok_or_else(|| diagnostics.human())
    }

    #[test]
    fn columns_and_units_are_those_of_the_header() {
        let table = "# OSU MPI Test v7.1\n# [ pairs: 2 ] [ window size: 64 ]\n\
                     # Size                  MB/s        Messages/s   (window 64)\n\
                     1                       11.40        11400518.01\n\n4  45.42  11354543.86\n";
        let table = parsed(table).unwrap();
        assert_eq!(table.title.as_deref(), Some("OSU MPI Test v7.1"));
        assert_eq!(table.rows[1], (4, vec![45.42, 11_354_543.86]));
        assert_eq!(
            (table.column_of("bandwidth"), table.column_of("message_rate")),
            (Some(0), Some(1))
        );
        assert_eq!(table.column_of("latency"), None);
        let latency = parsed("# Size   Avg Latency(us)   Min Latency(us)\n8 1.5 1.25\n").unwrap();
        assert_eq!(latency.column_of("latency"), Some(0));
        let rate = parsed("# Block B  GB/s  Rate (GB/s)\n4 0.5 0.25\n").unwrap();
        assert_eq!((rate.column_of("bandwidth"), &rate.rows[0].1), (Some(0), &vec![500.0, 250.0]));
        assert_eq!(
            latency.to_csv(),
            "size,metric,value,unit\n8,avg_latency,1.5,us\n8,min_latency,1.25,us\n"
        );
    }

    #[test]
    fn what_is_no_table_is_refused_with_its_line() {
        let wrong = |text: &str, says: &str| {
            let why = parsed(text).unwrap_err();
            assert!(why.contains(says), "{why}");
        };
        wrong("# Size  Latency (us)\n8 1.5\n16 x\n", "t.txt:3:4: `x` is no number");
        wrong("# Size  Latency (us)\n8 1.5\n16 nan\n", "`nan` is no number");
        wrong(
            "# Size  Latency (us)\n8 1.5\n16 1 2\n",
            "t.txt:3:1: 2 numbers behind the first; the lines above have 1",
        );
        wrong("# Size  Latency (us)\n", "no line of numbers");
        wrong("8 1.5\n", "no line with `# Size`");
        wrong("{ \"schema\": 1 }", "`{` is no number");
    }
}
