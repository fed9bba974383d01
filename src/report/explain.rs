//! Where the measured time went: text for a terminal, and a stacked bar for each point.
//!
//! Nodes, links and ranks of one kind are one line here; JSON has each of them apart.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::figure::{Axis, Bar, Scale, Stack};
use super::numbers::{engineering, percent};
use super::table::{Table, point_name, without_node};
use experiment::results::{Explanation, PointResult, RunResult, Share, Spends};
use units::TimeDelta;

/// Points that are shown part by part; a longer sweep gets a line for each point.
const DETAILED: usize = 4;
/// Parts of a line.
const SHORT: usize = 4;
/// Parts of a bar with a colour of their own.
const COLOURS: usize = 9;
/// Parts of a bar of two sides.
const SIDE_PARTS: usize = 6;
/// Bars of a figure.
const BARS: usize = 64;
/// How many times as long as the shortest bar the longest may be.
const FAR: f64 = 100.0;

/// The word for resources of one kind.
fn class(share: &Share) -> &str {
    match share.kind {
        Spends::Core => "core",
        Spends::CoreAndMemory => "core and memory",
        Spends::Link => "link",
        Spends::Other => without_node(&share.resource),
    }
}

/// Kind of resource and phase.
type Part<'a> = (&'a str, &'static str);

/// The parts of a point by kind, the greatest first.
fn by_kind(explanation: &Explanation) -> Vec<(Part<'_>, TimeDelta)> {
    let mut sums: BTreeMap<Part<'_>, TimeDelta> = BTreeMap::new();
    for share in &explanation.parts {
        *sums.entry((class(share), share.phase)).or_default() += share.time;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    sums
}

/// A time that is compared with those of other points: in one unit.
fn in_us(time: TimeDelta) -> String {
    format!("{} us", engineering(time.as_us_f64()))
}

fn in_one((resource, phase): Part<'_>) -> String {
    format!("{resource}: {phase}")
}

/// The explanations as text; nothing where there are none.
pub fn explain_text(result: &RunResult) -> String {
    let explained: Vec<(&PointResult, &Explanation)> =
        result.points.iter().filter_map(|p| Some((p, p.explanation.as_ref()?))).collect();
    if explained.len() > DETAILED {
        return short(&explained);
    }
    explained.into_iter().map(|(point, explanation)| long(point, explanation)).collect()
}

/// One point, part by part, and its waits.
fn long(point: &PointResult, explanation: &Explanation) -> String {
    let total = explanation.total;
    let row = |resource: &str, phase: &str, time: TimeDelta| {
        let share = percent(time.as_s_f64(), total.as_s_f64());
        vec![phase.to_owned(), resource.to_owned(), time.to_string(), share]
    };
    let parts = by_kind(explanation);
    let mut rows: Vec<Vec<String>> =
        parts.iter().map(|((resource, phase), time)| row(resource, phase, *time)).collect();
    rows.push(row("", "sum", total));
    let caption = format!("\nwhere the time went, along the critical path: {}", point_name(point));
    let columns = ["phase", "resource", "time", "share"].map(str::to_owned).to_vec();
    let mut text = Table { caption, columns, rows }.to_text();
    if !explanation.waits.is_empty() {
        let rows = explanation.waits.iter().map(|wait| {
            let (called, time) = (wait.called.to_string(), wait.time.to_string());
            let times = wait.times.to_string();
            vec![wait.rank.clone(), wait.operation.clone(), wait.peer.clone(), time, times, called]
        });
        let columns = ["rank", "operation", "waits for", "waited", "times", "first called at"];
        let table = Table {
            caption: "\nlongest waits".to_owned(),
            columns: columns.map(str::to_owned).to_vec(),
            rows: rows.collect(),
        };
        text.push_str(&table.to_text());
    }
    text
}

/// One line for each point: its greatest parts.
fn short(explained: &[(&PointResult, &Explanation)]) -> String {
    let mut text = String::from("\nwhere the time went, along the critical path\n");
    for (point, explanation) in explained {
        let total = explanation.total.as_s_f64();
        let parts = by_kind(explanation);
        let most = parts.iter().take(SHORT).map(|(part, time)| {
            let share = percent(time.as_s_f64(), total);
            format!("{} {} ({share})", in_us(*time), in_one(*part))
        });
        let most = most.collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "{}: {} = {most}", point_name(point), in_us(explanation.total));
    }
    text
}

/// A bar for each point: the parts that are greatest anywhere, and the rest. `None` without
/// explanations.
pub fn explain_stack(result: &RunResult) -> Option<Stack> {
    let explained: Vec<(&PointResult, &Explanation)> =
        result.points.iter().filter_map(|p| Some((p, p.explanation.as_ref()?))).collect();
    let explained: Vec<_> =
        explained.into_iter().filter(|(_, one)| one.total > TimeDelta::ZERO).collect();
    if explained.is_empty() {
        return None;
    }
    let drawn = &explained[..explained.len().min(BARS)];
    let mut most: BTreeMap<Part<'_>, f64> = BTreeMap::new();
    for (_, explanation) in drawn {
        for (part, time) in by_kind(explanation) {
            let share = time.as_s_f64() / explanation.total.as_s_f64();
            let greatest = most.entry(part).or_default();
            *greatest = greatest.max(share);
        }
    }
    let mut parts: Vec<(Part<'_>, f64)> = most.into_iter().collect();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let rest = parts.len() > COLOURS;
    parts.truncate(COLOURS);
    let scale = Measure::of(drawn);
    let bars =
        drawn.iter().map(|(point, explanation)| bar(point, explanation, &parts, (rest, scale)));
    let further = explained.len() - drawn.len();
    let names = parts.iter().map(|(part, _)| in_one(*part));
    Some(Stack {
        title: format!("Where the time went: {}", result.title),
        bars_title: "point".to_owned(),
        axis: scale.axis(),
        parts: names.chain(rest.then(|| "all other parts".to_owned())).collect(),
        bars: bars.collect(),
        note: (further > 0).then(|| format!("{further} more points are not drawn")),
    })
}

/// The quantity of a bar's length.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Measure {
    /// Time: points can be compared.
    Time,
    /// The share of the point's own time, where some points take so long that others would have no
    /// length beside them; their labels say the time.
    Share,
}

impl Measure {
    fn of(drawn: &[(&PointResult, &Explanation)]) -> Self {
        let times = || drawn.iter().map(|(_, explanation)| explanation.total.as_us_f64());
        let longest = times().fold(0.0, f64::max);
        let shortest = times().fold(f64::INFINITY, f64::min);
        if longest > FAR * shortest { Self::Share } else { Self::Time }
    }

    fn axis(self) -> Axis {
        let (label, unit) = match self {
            Self::Time => ("Measured time", "us"),
            Self::Share => ("Share of the measured time", "%"),
        };
        Axis { label: label.to_owned(), unit: unit.to_owned(), scale: Scale::Linear }
    }

    fn length(self, time: TimeDelta, total: TimeDelta) -> f64 {
        match self {
            Self::Time => time.as_us_f64(),
            Self::Share => 100.0 * time.as_s_f64() / total.as_s_f64(),
        }
    }

    fn label(self, point: &PointResult, total: TimeDelta) -> String {
        match self {
            Self::Time => point_name(point),
            Self::Share => format!("{} ({})", point_name(point), in_us(total)),
        }
    }
}

/// A part of the measured time on both sides of a comparison.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PathShift {
    /// The kind of resource.
    pub resource: String,
    /// The phase of its time.
    pub phase: &'static str,
    /// The time on each side.
    pub times: [TimeDelta; 2],
}

impl PathShift {
    /// The time of the second side less that of the first, in picoseconds.
    pub fn difference(&self) -> i128 {
        let [before, now] = self.times;
        i128::from(now.as_ps()) - i128::from(before.as_ps())
    }
}

/// Every part that a side has, the greatest difference first; their differences sum to that of the measured
/// times.
pub fn path_shifts(sides: [&Explanation; 2]) -> Vec<PathShift> {
    let mut all: BTreeMap<Part<'_>, [TimeDelta; 2]> = BTreeMap::new();
    for (side, explanation) in sides.into_iter().enumerate() {
        for (part, time) in by_kind(explanation) {
            all.entry(part).or_default()[side] = time;
        }
    }
    let shift = |((resource, phase), times): (Part<'_>, _)| PathShift {
        resource: resource.to_owned(),
        phase,
        times,
    };
    let mut shifts: Vec<PathShift> = all.into_iter().map(shift).collect();
    let rank = |shift: &PathShift| (shift.difference().abs(), shift.times[0].max(shift.times[1]));
    shifts.sort_by_key(|shift| std::cmp::Reverse(rank(shift)));
    shifts
}

/// A bar for each side, with its label: the parts that are greatest on either, and the rest, in microseconds.
pub fn shift_stack(title: &str, labels: &[String; 2], sides: [&Explanation; 2]) -> Stack {
    let mut parts = path_shifts(sides);
    parts.sort_by_key(|part| std::cmp::Reverse(part.times[0].max(part.times[1])));
    let rest = parts.split_off(parts.len().min(SIDE_PARTS));
    let bar = |(side, label): (usize, &String)| {
        let others = rest.iter().fold(TimeDelta::ZERO, |sum, part| sum + part.times[side]);
        let others = (!rest.is_empty()).then(|| others.as_us_f64());
        let values = parts.iter().map(|part| part.times[side].as_us_f64()).chain(others).collect();
        Bar { label: label.clone(), values }
    };
    let names = parts.iter().map(|part| in_one((&part.resource, part.phase)));
    Stack {
        title: title.to_owned(),
        bars_title: "side".to_owned(),
        axis: Axis {
            label: "Measured time".to_owned(),
            unit: "us".to_owned(),
            scale: Scale::Linear,
        },
        parts: names.chain((!rest.is_empty()).then(|| "all other parts".to_owned())).collect(),
        bars: labels.iter().enumerate().map(bar).collect(),
        note: None,
    }
}

fn bar(
    point: &PointResult,
    explanation: &Explanation,
    parts: &[(Part<'_>, f64)],
    (rest, scale): (bool, Measure),
) -> Bar {
    let of: BTreeMap<Part<'_>, TimeDelta> = by_kind(explanation).into_iter().collect();
    let length = |time: TimeDelta| scale.length(time, explanation.total);
    let named = parts.iter().map(|(part, _)| of.get(part).copied().unwrap_or_default());
    let named: Vec<TimeDelta> = named.collect();
    let explained = named.iter().fold(TimeDelta::ZERO, |sum, &time| sum + time);
    let others = rest.then(|| length(explanation.total.saturating_sub(explained)));
    let values = named.into_iter().map(length).chain(others).collect();
    Bar { label: scale.label(point, explanation.total), values }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained() -> RunResult {
        let mut result = crate::sample::ping_pong();
        let share = |resource: &str, kind, phase, ns| Share {
            resource: resource.to_owned(),
            kind,
            phase,
            time: TimeDelta::from_ns(ns),
        };
        for point in &mut result.points {
            point.explanation = Some(Explanation {
                total: TimeDelta::from_ns(100),
                parts: vec![
                    share("node 0 PCIe to HCA", Spends::Other, "latency", 40),
                    share("rank 0", Spends::Core, "copy", 35),
                    share("node 1 PCIe to HCA", Spends::Other, "latency", 15),
                    share("host 0 to host 1", Spends::Link, "transfer", 10),
                ],
                waits: Vec::new(),
            });
        }
        result
    }

    #[test]
    fn resources_of_one_kind_are_one_line() {
        let result = explained();
        let text = long(&result.points[0], result.points[0].explanation.as_ref().unwrap());
        for line in ["latency  PCIe to HCA   55 ns", "core", "link", "sum", "100 ns"] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }

    #[test]
    fn the_shifts_of_all_parts_sum_to_that_of_the_whole() {
        let mut result = explained();
        let mut slower = result.points[0].explanation.clone().unwrap();
        slower.parts[3].time += TimeDelta::from_ns(25);
        slower.parts.remove(1);
        let faster = result.points.remove(0).explanation.unwrap();
        let shifts = path_shifts([&faster, &slower]);
        let found: Vec<(&str, i128)> =
            shifts.iter().map(|one| (one.resource.as_str(), one.difference())).collect();
        assert_eq!(found, [("core", -35_000), ("link", 25_000), ("PCIe to HCA", 0)]);
        let labels = ["A: before", "B: after"].map(str::to_owned);
        let stack = shift_stack("both", &labels, [&faster, &slower]);
        assert_eq!(stack.bars[1].label, "B: after");
        let lengths: Vec<f64> = stack.bars.iter().map(Bar::total).collect();
        assert!((lengths[0] - 0.1).abs() < 1e-9 && (lengths[1] - 0.09).abs() < 1e-9, "{lengths:?}");
    }

    #[test]
    fn bars_have_the_length_of_the_whole() {
        let result = explained();
        let stack = explain_stack(&result).expect("there are explanations");
        assert_eq!(stack.bars.len(), result.points.len());
        assert_eq!(stack.axis.unit, "us");
        assert!(stack.bars.iter().all(|bar| (bar.total() - 0.1).abs() < 1e-9));
        assert!(stack.to_svg().is_ok());
    }

    #[test]
    fn bars_far_apart_show_shares_and_say_their_time() {
        let mut result = explained();
        let long = result.points[1].explanation.as_mut().unwrap();
        long.total = TimeDelta::from_us(100);
        long.parts[0].time += TimeDelta::from_ns(99_900);
        let stack = explain_stack(&result).expect("there are explanations");
        assert_eq!(stack.axis.unit, "%");
        assert!(stack.bars.iter().all(|bar| (bar.total() - 100.0).abs() < 1e-9));
        assert!(stack.bars[1].label.ends_with("(100.0 us)"), "{}", stack.bars[1].label);
    }
}
