//! `mpisim show`: the meaning of a scenario, without a run.

use std::fmt::Write as _;

use super::args::ShowArguments;
use super::machines::machines;
use super::resolved;
use super::scenario::{load, request};
use super::terminal::{Failure, Outcome, Problem, Terminal, print};
use experiment::claim::figures::{Curves, Figure, Messages, Stack};
use experiment::plan::{Plan, Point};
use experiment::results::ClaimRole;
use experiment::schema::metrics_of;
use form::codes;
use hardware::topology::Topology;
use report::numbers::in_parentheses;

/// Characters of a line of a note.
const NOTE_WIDTH: usize = 100;

/// Axis values that are written out.
const VALUES_SHOWN: usize = 8;

/// `1 point`, `2 points`.
pub(super) fn counted(count: usize, what: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {what}{ending}")
}

/// Shows a scenario.
pub(super) fn show(terminal: Terminal, arguments: &ShowArguments) -> Outcome {
    let plan = load(terminal, &request(&arguments.scenario, &arguments.changes, None)?)?;
    if arguments.resolved {
        print(&resolved::text(&plan))?;
    } else if arguments.topology.is_some() {
        print(&topology(&plan.points[0])?.dot())?;
    } else {
        print(&summary(&plan))?;
    }
    Ok(0)
}

/// The network of a point.
fn topology(point: &Point) -> Result<Topology, Failure> {
    let built = Topology::new(point.topology, point.nodes);
    built.map_err(|why| Problem::new(&codes::TOPOLOGY, why.to_string()).into())
}

/// A scenario in a screen of words.
fn summary(plan: &Plan) -> String {
    let mut text = format!("{}\n{}\n", plan.title, plan.name);
    let mut line = |key: &str, value: String| {
        let _ = writeln!(text, "  {key:<9} {value}");
    };
    if let Some(source) = &plan.source {
        line("source", source.clone());
    }
    if let Some(note) = &plan.note {
        for (index, part) in note.lines().flat_map(|part| wrapped(part, NOTE_WIDTH)).enumerate() {
            line(if index == 0 { "note" } else { "" }, part);
        }
    }
    for shown in machines(plan) {
        line("machine", format!("{}: {}", shown.machine.name, shown.machine.title));
    }
    let first = &plan.points[0];
    let differ = plan.points.iter().any(|point| {
        (point.placement, point.nodes, point.threads)
            != (first.placement, first.nodes, first.threads)
    });
    let swept = if differ { " (at the first point)" } else { "" };
    let placed = &first.placement;
    let (ranks, nodes) = (placed.processes as usize, first.nodes as usize);
    let (ranks, nodes) = (counted(ranks, "rank"), counted(nodes, "node"));
    let threads = match first.threads {
        1 => String::new(),
        threads => format!(", {threads} threads each"),
    };
    line(
        "ranks",
        format!("{ranks} on {nodes}, at most {} on one{threads}{swept}", placed.per_node),
    );
    line("network", first.topology.to_string());
    line("workload", first.kind().to_owned());
    line("seed", first.seed.to_string());
    line("points", plan.points.len().to_string());
    for axis in &plan.sweep.axes {
        let values: Vec<&str> = axis.values.iter().map(|value| value.text.as_str()).collect();
        line("axis", format!("{}: {}", axis.path, abridged(&values)));
    }
    for metric in metrics_of(&*first.workload, first.account) {
        line("metric", format!("{} ({})", metric.name, metric.unit));
    }
    for figure in &plan.figures {
        line("figure", in_words(plan, figure));
    }
    for claim in &plan.claims {
        let role = role(claim.role);
        let words = claim.statement.as_deref().unwrap_or(&claim.source);
        line("claim", format!("{} ({role}): {words}", claim.id));
    }
    text
}

/// A line in pieces of at most so many characters, cut between words; its indentation stays.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    let indent = &line[..line.len() - line.trim_start().len()];
    let mut pieces = vec![indent.to_owned()];
    for word in line.split_whitespace() {
        let last = pieces.last_mut().expect("there is a first one");
        let begun = last.len() > indent.len();
        if begun && last.chars().count() + 1 + word.chars().count() > width {
            pieces.push(format!("{indent}{word}"));
        } else {
            let space = if begun { " " } else { "" };
            let _ = write!(last, "{space}{word}");
        }
    }
    pieces
}

/// The content of a figure.
fn in_words(plan: &Plan, figure: &Figure) -> String {
    match figure {
        Figure::Curves(Curves { x, y, series, .. }) => {
            let series = series.as_ref().map_or_else(String::new, |path| format!(", by {path}"));
            format!("{y} over {x}{series}")
        }
        Figure::Stack(Stack { x, parts, .. }) => {
            let names: Vec<&str> = parts.iter().map(|part| part.name).collect();
            format!("{} stacked for each {x}", names.join(" + "))
        }
        Figure::Messages(Messages { point, .. }) => {
            format!("messages of point {point}{}", in_parentheses(&plan.points[*point].params))
        }
    }
}

/// The scenario's word for a role.
pub(super) const fn role(role: ClaimRole) -> &'static str {
    match role {
        ClaimRole::Input => "input",
        ClaimRole::Prediction => "prediction",
    }
}

/// A long list with its middle left out.
fn abridged(values: &[&str]) -> String {
    if values.len() <= VALUES_SHOWN {
        return values.join(", ");
    }
    let (head, last) = (values[..VALUES_SHOWN - 2].join(", "), values[values.len() - 1]);
    format!("{head}, ..., {last} ({} values)", values.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_axes_are_abridged() {
        assert_eq!(abridged(&["1", "2"]), "1, 2");
        let many = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];
        assert_eq!(abridged(&many), "1, 2, 3, 4, 5, 6, ..., 9 (9 values)");
    }

    #[test]
    fn notes_are_cut_between_words() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("  a: overlong b", 6), ["  a:", "  overlong", "  b"]);
        assert_eq!(wrapped("", 8), [""]);
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!(
            (counted(1, "point"), counted(0, "point")),
            ("1 point".into(), "0 points".into())
        );
    }
}
