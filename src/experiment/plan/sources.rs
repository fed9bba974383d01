//! Where numbers of a scenario come from: its key `sources`.
//!
//! A number of a machine has its source where it stands. A number of a program stands alone, and one
//! that was fitted to a figure, or read off one, says so here, by its path.

use super::super::sweep::{self, Sweep, canonical, check_value};
use super::assumed::Assumption;
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics, quote};
use form::json::{Member, Node};
use form::machine::Confidence;
use form::shape::path::{self, Target};
use form::shape::{NOTE, check};

/// A number of the scenario with its source.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Sourced {
    /// The number, where it comes from, and its range where it has one.
    pub number: Assumption,
    /// How sure it is.
    pub confidence: Confidence,
}

/// The numbers of the scenario that have a source. One that the command line or an axis sets has none.
pub(super) fn read(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    sweep: &Sweep,
    overrides: &[String],
) -> Vec<Sourced> {
    let is_set = |path: &str| {
        let names =
            |option: &String| option.split_once('=').is_some_and(|(set, _)| set.trim() == path);
        overrides.iter().any(names) || sweep.axes.iter().any(|axis| axis.path == path)
    };
    let members = tree.get("sources").and_then(Node::members).unwrap_or(&[]);
    let stand = members.iter().filter(|member| member.key != NOTE.key && !is_set(&member.key));
    stand.filter_map(|member| sourced(diagnostics, tree, member)).collect()
}

fn sourced(diagnostics: &mut Diagnostics, tree: &Node, member: &Member) -> Option<Sourced> {
    let at = check::join("sources", &member.key);
    let refuse = |diagnostics: &mut Diagnostics, found: String, allowed: &str| {
        diagnostics.push(Diagnostic::error(
            &codes::CONTRADICTION,
            member.key_span,
            &at,
            found,
            allowed,
        ));
    };
    let target = sweep::target(diagnostics, tree, member, &at)?;
    let key = quote(&member.key);
    if let Target::Parameter(_) = target {
        let allowed = "write value, low, high, confidence and source at the number itself";
        refuse(diagnostics, format!("`{key}` is a number of the machine"), allowed);
        return None;
    }
    let Some(value) = path::at(tree, &member.key) else {
        refuse(
            diagnostics,
            format!("the scenario does not say what `{key}` is"),
            "a source is of a number that is given",
        );
        return None;
    };
    let ends = [member.node.get("low"), member.node.get("high")];
    let before = diagnostics.errors();
    for (end, name) in ends.into_iter().zip(["low", "high"]) {
        if let Some(end) = end {
            check_value(diagnostics, end, target, &check::join(&at, name));
        }
    }
    if diagnostics.errors() > before {
        return None;
    }
    let [low, high] = ends.map(|end| end.and_then(|end| canonical(end, target)));
    if low.is_some() != high.is_some() {
        refuse(diagnostics, "a range has one end".to_owned(), "low and high stand together");
        return None;
    }
    let (text, steps) = canonical(value, target)?;
    if let (Some((_, low)), Some((_, high))) = (&low, &high)
        && !(*low <= steps && steps <= *high)
    {
        refuse(
            diagnostics,
            format!("`{key}` is {text}: it lies outside its own range"),
            "low, value and high must rise",
        );
        return None;
    }
    let range = low.zip(high).map(|((low, _), (high, _))| (low, high));
    if range.is_none() && member.node.required_word("confidence") == Confidence::Assumed.word() {
        refuse(
            diagnostics,
            format!("`{key}` is assumed, and nothing says between what"),
            "low and high stand beside an assumed number",
        );
        return None;
    }
    Some(Sourced {
        number: Assumption {
            path: member.key.clone(),
            value: text,
            range,
            source: member.node.required_word("source").to_owned(),
            note: member.node.note(),
        },
        confidence: Confidence::from_word(member.node.required_word("confidence")),
    })
}
