//! The way to a failure as a graph for Graphviz.

use std::fmt::Write as _;

use super::report::Failed;

/// The way, state by state; from the point of no return on, states are red.
pub fn dot(failed: &Failed) -> String {
    let mut text = String::from("digraph way {\n    node [shape=circle, style=filled]\n");
    let last = failed.steps.len();
    for state in 0..=last {
        let doomed = failed.point_of_no_return.is_some_and(|point| state >= point);
        let color = if doomed || state == last { "salmon" } else { "white" };
        let _ = writeln!(text, "    s{state} [label=\"{state}\", fillcolor={color}]");
    }
    for (state, step) in failed.steps.iter().enumerate() {
        let line = step.position.map_or_else(String::new, |line| format!(" ({line})"));
        let words = step.words.replace('\\', "\\\\").replace('"', "\\\"");
        let _ = writeln!(text, "    s{state} -> s{} [label=\"{words}{line}\"]", state + 1);
    }
    let _ = writeln!(text, "    end [shape=box, fillcolor=salmon, label=\"{}\"]", failed.class);
    let _ = writeln!(text, "    s{last} -> end [style=dotted]\n}}");
    text
}
