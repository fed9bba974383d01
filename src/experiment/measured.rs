//! Measured tables: the text that a benchmark prints, for fits, figures and `trace import`.
//!
//! ```text
//! # OSU MPI Latency Test v7.1
//! # Size          Latency (us)
//! 1                       1.30
//! ```
//!
//! One reader serves all who use such tables: `text` tells rows from what stands around them, `heads`
//! reads the names of the columns, `program` the title. What it cannot read for sure is refused with
//! its line: a benchmark that is not known, heads that do not fit the rows, a second table.

use std::fmt::Write as _;
use std::path::Path;

use super::shipped::Shipped;
use form::diagnostic::{Diagnostics, Span};

mod heads;
mod program;
#[cfg(test)]
mod tests;
mod text;

pub use heads::Column;
pub use program::{PING_PONG, Program};

/// A table.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Its title, where it has one.
    pub title: Option<String>,
    /// The benchmark that its title names.
    pub program: Option<&'static Program>,
    /// Every comment before the numbers, the names of the columns last.
    pub comments: Vec<String>,
    /// The head of the first column, such as `Size`.
    pub key: String,
    /// The other columns.
    pub columns: Vec<Column>,
    /// Its lines of numbers.
    pub rows: Vec<Row>,
    /// Where the names of the columns stand.
    pub heads: Span,
}

/// A line of numbers.
#[derive(Clone, Debug)]
pub struct Row {
    /// The quantity in its first column.
    pub key: Key,
    /// A number for each other column.
    pub values: Vec<f64>,
    /// Where it stands.
    pub span: Span,
}

/// The values measured at a size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// The size in bytes.
    pub size: u64,
    /// Its value.
    pub value: f64,
    /// The tenth and the ninetieth percentile, where the table has them.
    pub spread: Option<(f64, f64)>,
}

/// The first column of a line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Key {
    /// Bytes, or entries of a queue.
    Number(u64),
    /// An operation or an algorithm.
    Word(String),
}

impl Measured {
    /// The column of a metric that a workload measures.
    pub fn column_of(&self, metric: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.holds(metric))
    }

    /// Each size with its value in a column, and its percentiles where they have columns; `None` where the first
    /// column holds words or the entries of a queue.
    pub fn points(&self, column: usize) -> Option<Vec<Measurement>> {
        if self.key.eq_ignore_ascii_case("entries") {
            return None;
        }
        let named = |name| self.columns.iter().position(|one| one.name.eq_ignore_ascii_case(name));
        let percentiles = named("p10").zip(named("p90"));
        let point = |row: &Row| match row.key {
            Key::Number(size) => Some(Measurement {
                size,
                value: row.values[column],
                spread: percentiles.map(|(low, high)| (row.values[low], row.values[high])),
            }),
            Key::Word(_) => None,
        };
        self.rows.iter().map(point).collect()
    }

    /// One row for each number: size, column, value, unit.
    pub fn to_csv(&self) -> String {
        let mut text = format!("{},metric,value,unit\n", self.key.to_ascii_lowercase());
        for row in &self.rows {
            for (column, value) in self.columns.iter().zip(&row.values) {
                let name = column.name.to_ascii_lowercase().replace(' ', "_");
                let key = match &row.key {
                    Key::Number(size) => size.to_string(),
                    Key::Word(word) => word.clone(),
                };
                let _ = writeln!(text, "{key},{name},{value},{}", column.unit);
            }
        }
        text
    }
}

/// Reads the table at `path`; reports where it is none.
pub fn read(diagnostics: &mut Diagnostics, shipped: Shipped, path: &Path) -> Option<Measured> {
    text::read(diagnostics, shipped, path)
}
