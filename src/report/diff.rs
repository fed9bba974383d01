//! Two results side by side, as text for a terminal.

use std::fmt::Write as _;

use super::explain::{PathShift, path_shifts};
use super::json::diff::DiffStatus;
use super::numbers::{change, engineering, percent};
use super::table::{TIME, Table};
use experiment::attribution::Shift;
use experiment::diff::{Closer, Difference, Fact, MetricPair, Pair, Sides};
use experiment::inputs;
use experiment::results::{Explanation, Happened};
use units::TimeDelta;

/// Metrics that are written out.
const METRICS_SHOWN: usize = 10;
/// Kinds of resources that are written out.
const WORK_SHOWN: usize = 8;
/// Parts of the critical path that are written out.
const PATH_SHOWN: usize = 10;

/// A scenario in a line.
pub fn short_text(scenario: &str, status: DiffStatus) -> String {
    format!("{scenario}: {}\n", status.word())
}

/// Everything about one scenario; a line or two where nothing differs.
pub fn diff_text(difference: &Difference<'_>) -> String {
    let Difference { scenario, sides, work, closer, notes, .. } = difference;
    let mut text = format!("{scenario}: {}\n{}", verdict(sides), names(difference));
    if let Some(line) = inputs_line(difference) {
        let _ = writeln!(text, "{line}");
    }
    text.push_str(&metrics_text(sides));
    text.push_str(&work_text(work));
    if let Some(closer) = closer {
        text.push_str(&closer_text(closer));
    }
    for note in notes {
        let _ = write!(text, "\nnote: {note}");
    }
    if !notes.is_empty() {
        text.push('\n');
    }
    text
}

/// Inputs that differ between the sides, if any.
pub fn inputs_line(difference: &Difference<'_>) -> Option<String> {
    let changes = &difference.inputs;
    (!changes.is_empty()).then(|| format!("inputs that differ: {}", inputs::in_words(changes)))
}

/// The result, in a line.
pub fn verdict(sides: &Sides<'_>) -> String {
    let all = sides.pairs.len();
    if sides.is_same() {
        let points = if all == 1 { "its point".to_owned() } else { format!("all {all} points") };
        return format!("the same events and metrics at {points}");
    }
    let both: Vec<&Pair<'_>> =
        sides.pairs.iter().filter(|pair| pair.points.iter().all(Option::is_some)).collect();
    let events = both.iter().filter(|pair| !pair.has_same_events()).count();
    let metrics = both.iter().flat_map(|pair| &pair.metrics);
    let moved = metrics.clone().filter(|metric| !metric.is_same()).count();
    let (points, count) = (plural(both.len(), "point"), plural(metrics.count(), "metric"));
    let only = |side: usize| sides.pairs.iter().filter(|pair| pair.points[side].is_none()).count();
    let mut text = format!("events differ at {events} of {points}, {moved} of {count}");
    for (letter, other) in [('A', 1), ('B', 0)] {
        if only(other) > 0 {
            let _ = write!(text, ", {} only in {letter}", plural(only(other), "point"));
        }
    }
    text
}

fn plural(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn names(difference: &Difference<'_>) -> String {
    let names = &difference.names;
    let width = names.iter().map(|name| name.label.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (letter, name) in ['A', 'B'].into_iter().zip(names) {
        let (kind, label, digest) = (name.kind, &name.label, &name.digest);
        let _ = writeln!(text, "{letter}  {kind:<8}  {label:<width$}  digest {digest}");
    }
    if names[0].version != names[1].version {
        let [a, b] = names.each_ref().map(|name| &name.version);
        let _ = writeln!(text, "A is of mpisim {a}, B of mpisim {b}");
    }
    for choice in &difference.sides.choices {
        let value = |side: usize| choice.values[side].as_deref().unwrap_or("not swept");
        let _ = writeln!(text, "{} is {} in A, {} in B", choice.path, value(0), value(1));
    }
    text
}

/// How a pair of points is called.
pub fn pair_name(params: &[(String, String)], index: usize) -> String {
    let short = |path: &str| path.rsplit('.').next().unwrap_or(path).replace('_', " ");
    let params: Vec<String> =
        params.iter().map(|(path, value)| format!("{} {value}", short(path))).collect();
    if params.is_empty() { format!("point {index}") } else { params.join(", ") }
}

/// The change of a metric for people.
pub fn change_text(metric: &MetricPair) -> String {
    match metric.values {
        [Some(a), Some(b)] => change(a, b, 2),
        [Some(_), None] => "only in A".to_owned(),
        [None, _] => "only in B".to_owned(),
    }
}

/// The metrics that differ, the greatest difference first, one of those in step; how long it took only where
/// no other metric of the point is in step with it and says it.
pub fn telling<'s, 'a>(sides: &'s Sides<'a>) -> Vec<Fact<'s, 'a>> {
    let mut worst = sides.worst();
    for fact in &mut worst {
        fact.in_step.retain(|name| *name != TIME);
    }
    worst
}

fn metrics_text(sides: &Sides<'_>) -> String {
    // The verdict counts the points that only one side has.
    let mut worst = telling(sides);
    worst.retain(|fact| fact.pair.points.iter().all(Option::is_some));
    if worst.is_empty() {
        return String::new();
    }
    let value = |value: Option<f64>| value.map_or_else(String::new, engineering);
    let row = |Fact { pair, metric, in_step }: &Fact<'_, '_>| {
        let name = match metric.unit {
            "" => metric.name.clone(),
            unit => format!("{} ({unit})", metric.name),
        };
        let name = with_others(&name, in_step).replace('_', " ");
        let [a, b] = metric.values.map(value);
        vec![pair_name(&pair.params, pair.index()), name, a, b, change_text(metric)]
    };
    let table = Table {
        caption: "\nmetrics that differ, the greatest difference first".to_owned(),
        columns: ["point", "metric", "A", "B", "change"].map(str::to_owned).to_vec(),
        rows: worst.iter().take(METRICS_SHOWN).map(row).collect(),
    };
    let mut text = table.to_text();
    if worst.len() > METRICS_SHOWN {
        let _ = writeln!(text, "and {} more", worst.len() - METRICS_SHOWN);
    }
    text
}

/// A metric, and the names of those that are in step with it.
pub fn with_others(metric: &str, others: &[&str]) -> String {
    [&[metric], others].concat().join(", ")
}

/// `B - A` of a time, with its sign.
fn signed(ps: i128) -> String {
    let size = TimeDelta::from_ps(u64::try_from(ps.unsigned_abs()).unwrap_or(u64::MAX));
    match ps.signum() {
        0 => "0 ps".to_owned(),
        1 => format!("+{size}"),
        _ => format!("-{size}"),
    }
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn to_f64(ps: i128) -> f64 {
    ps as f64
}

fn work_text(work: &[Shift]) -> String {
    if work.is_empty() {
        return String::new();
    }
    let all = to_f64(work.iter().map(|shift| shift.difference().abs()).sum());
    let row = |shift: &Shift| {
        let time = |ps| TimeDelta::from_ps(ps).to_string();
        let difference = shift.difference();
        let part = percent(to_f64(difference.abs()), all);
        vec![shift.what.clone(), time(shift.before), time(shift.now), signed(difference), part]
    };
    let columns = ["whose work", "A", "B", "difference", "of all"];
    let table = Table {
        caption: "\nwork that differs, over all points, waiting left out".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: work.iter().take(WORK_SHOWN).map(row).collect(),
    };
    let mut text = table.to_text();
    if work.len() > WORK_SHOWN {
        let _ = writeln!(text, "and {} more", work.len() - WORK_SHOWN);
    }
    text
}

fn closer_text(closer: &Closer) -> String {
    let name = pair_name(&closer.params, closer.points[0]);
    let mut text = String::new();
    if let [Some(a), Some(b)] = &closer.explanations {
        text.push_str(&path_text(&name, [a, b]));
    }
    let _ = write!(text, "\n{}", events_text(closer));
    text
}

/// The critical paths of both sides, part by part.
fn path_text(name: &str, sides: [&Explanation; 2]) -> String {
    let row = |phase: &str, resource: &str, times: [TimeDelta; 2], difference: i128| {
        let [a, b] = times.map(|time| time.to_string());
        vec![phase.to_owned(), resource.to_owned(), a, b, signed(difference)]
    };
    let shifts = path_shifts(sides);
    let part = |one: &PathShift| row(one.phase, &one.resource, one.times, one.difference());
    let moved = shifts.iter().take_while(|one| one.difference() != 0).count();
    let (told, rest) = shifts.split_at(moved.min(PATH_SHOWN));
    let mut rows: Vec<Vec<String>> = told.iter().map(part).collect();
    if !rest.is_empty() {
        let sum = |side: usize| rest.iter().fold(TimeDelta::ZERO, |sum, one| sum + one.times[side]);
        let difference = rest.iter().map(PathShift::difference).sum();
        let resource = plural(rest.len(), "other");
        rows.push(row("", &resource, [sum(0), sum(1)], difference));
    }
    let totals = sides.map(|side| side.total);
    let [before, now] = totals.map(|total| i128::from(total.as_ps()));
    rows.push(row("", "sum", totals, now - before));
    let columns = ["phase", "resource", "A", "B", "difference"];
    let table = Table {
        caption: format!("\nwhere the measured time went, along the critical path: {name}"),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
    };
    table.to_text()
}

/// The events around the place where the sides part.
pub fn events_text(closer: &Closer) -> String {
    let name = pair_name(&closer.params, closer.points[0]);
    let [a, b] = closer.events;
    let Some(parting) = &closer.parting else {
        return format!("{name}: the same {a} events in A and B\n");
    };
    let number = parting.number;
    let mut text =
        format!("{name}: event {number} is the first that differs, of {a} in A and {b} in B\n");
    let rows: Vec<EventRow> = parting.pairs().into_iter().flat_map(|p| rows(number, p)).collect();
    let head = ["event", "side", "at", "where", "what"].map(str::to_owned);
    let head = EventRow { mark: ' ', cells: head };
    let all: Vec<&EventRow> = std::iter::once(&head).chain(&rows).collect();
    let width = |column: usize| all.iter().map(|row| row.cells[column].chars().count()).max();
    let widths: [usize; 4] = std::array::from_fn(|column| width(column).unwrap_or(0));
    let [w0, w1, w2, w3] = widths;
    for EventRow { mark, cells: [event, side, at, place, what] } in all {
        let line = format!("{mark} {event:>w0$}  {side:<w1$}  {at:>w2$}  {place:<w3$}  {what}");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// A line of the table of events.
struct EventRow {
    mark: char,
    cells: [String; 5],
}

/// One line where both sides have the same event, else one for each side.
fn rows(first: u64, (number, sides): (u64, [Option<&Happened>; 2])) -> Vec<EventRow> {
    let row = |number: String, side: &str, event: Option<&Happened>| {
        let (at, place, what) = event.map_or_else(
            || (String::new(), String::new(), "has ended".to_owned()),
            |event| (event.at.to_string(), event.place.clone(), event.what.clone()),
        );
        let mark = if number == first.to_string() { '>' } else { ' ' };
        EventRow { mark, cells: [number, side.to_owned(), at, place, what] }
    };
    let told = |event: &Happened| (event.at, event.place.clone(), event.what.clone());
    let [a, b] = sides;
    if number < first && a.map(told) == b.map(told) {
        return vec![row(number.to_string(), "both", a)];
    }
    vec![row(number.to_string(), "A", a), row(String::new(), "B", b)]
}
