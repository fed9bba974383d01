//! The names of columns and their units.

use super::program::{PING_PONG, Program};

/// One column.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Column {
    /// As the file names it, such as `Latency`.
    pub name: String,
    /// Its unit, as the simulator spells it; empty where the file does not say.
    pub unit: String,
}

/// The columns that the line of heads names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Heads {
    /// The head of the first column.
    pub(super) key: String,
    /// The others: where a name is `None`, the column is not used.
    pub(super) columns: Vec<Option<Column>>,
    /// Whether a last column says that the data were checked.
    pub(super) checked: bool,
}

impl Column {
    /// Whether it holds the metric that a workload measures.
    pub(super) fn holds(&self, metric: &str) -> bool {
        match metric {
            "latency" => self.name.to_ascii_lowercase().ends_with("latency"),
            "bandwidth" => self.unit == "MB/s",
            "message_rate" => self.unit == "msg/s",
            "epoch_time" | "handover" => self.is_time(),
            _ => false,
        }
    }

    fn is_time(&self) -> bool {
        ["s", "ms", "us", "ns"].contains(&self.unit.as_str())
    }

    /// Whether it can hold a zero: a rate of nothing, a share, a count, but no latency.
    pub(super) fn takes_zero(&self, of_nothing: bool) -> bool {
        !self.holds("latency") && (of_nothing || !self.is_rate())
    }

    fn is_rate(&self) -> bool {
        self.holds("bandwidth") || self.holds("message_rate")
    }
}

impl Heads {
    /// Whether the first column holds words.
    pub(super) fn has_words(&self) -> bool {
        ["operation", "algorithm"].contains(&self.key.to_ascii_lowercase().as_str())
    }
}

/// Whether a line is IMB's line of heads, which is no comment though it begins like one.
pub(super) fn is_of_imb(line: &str) -> bool {
    line.trim_start().starts_with("#bytes")
}

/// The heads of `line`, without its `#`.
pub(super) fn heads(program: Option<&Program>, line: &str) -> Heads {
    if program.is_some_and(|program| program.name == PING_PONG) {
        return of_ping_pong(line);
    }
    let mut names = split(line).into_iter();
    let key = names.next().unwrap_or("Size").to_owned();
    // Words in parentheses of their own are remarks.
    let mut names: Vec<&str> = names.filter(|name| !name.starts_with('(')).collect();
    let checked = names.last().is_some_and(|name| name.eq_ignore_ascii_case("validation"));
    names.truncate(names.len() - usize::from(checked));
    Heads { key, columns: names.into_iter().map(column).map(Some).collect(), checked }
}

/// The requirement on a table of IMB.
pub(super) const USED_OF_IMB: &str = "a ping-pong of IMB needs its column `t[usec]`";

/// Of IMB's ping-pong the time alone is used: since 2018 its megabytes are of 10^6 bytes, before
/// they were of 2^20, and no table says of which.
fn of_ping_pong(line: &str) -> Heads {
    let used = |name: &str| match name {
        "t[usec]" => Some(Column { name: "Latency".to_owned(), unit: "us".to_owned() }),
        _ => None,
    };
    let columns = line.split_whitespace().skip(1).map(used).collect();
    Heads { key: "Size".to_owned(), columns, checked: false }
}

/// Names end at a tab or two blanks; in a line without those, behind each parenthesis.
fn split(line: &str) -> Vec<&str> {
    let line = line.trim();
    if line.contains('\t') || line.contains("  ") {
        let names = line.split('\t').flat_map(|part| part.split("  "));
        return names.map(str::trim).filter(|name| !name.is_empty()).collect();
    }
    let (key, mut rest) = line.split_once(' ').unwrap_or((line, ""));
    let mut names = vec![key];
    while let Some((name, behind)) = rest.split_once(')') {
        names.push(&rest[..=name.len()]);
        rest = behind.trim_start();
    }
    names.extend(rest.split_whitespace());
    names
}

fn column(text: &str) -> Column {
    let named =
        |name: &str, unit: &str| Column { name: name.to_owned(), unit: unit_of(unit).to_owned() };
    if let Some((name, unit)) = text.split_once('(') {
        return named(name.trim(), unit.trim_end_matches(')').trim());
    }
    if let Some((unit, name)) = text.split_once(" per ") {
        return named(name.trim(), unit.trim());
    }
    match unit_of(text) {
        unit @ ("MB/s" | "GB/s") => named("Bandwidth", unit),
        unit @ "msg/s" => named("Message rate", unit),
        unit @ ("us" | "ns" | "ms") => named("value", unit),
        _ => named(text, ""),
    }
}

/// A unit as the simulator spells it.
fn unit_of(unit: &str) -> &str {
    match unit {
        "Messages/s" => "msg/s",
        "usec" | "µs" => "us",
        other => other,
    }
}
