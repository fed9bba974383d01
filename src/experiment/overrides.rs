//! `--set path=value`: a value of the command line in place of one of the file.

use super::schema::SCENARIO;
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics, Span, quote};
use form::json::{Node, Value};
use form::shape;
use form::shape::check::check;
use form::shape::path::{self, Target};

/// How the command line gave overrides: by `--set`, and from one of them on by another option.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Spelling {
    /// The number of the first one that another option gave, and that option.
    pub own: Option<(usize, &'static str)>,
}

impl Spelling {
    /// The option that gave an override.
    pub fn option(self, index: usize) -> &'static str {
        self.own.filter(|(first, _)| index >= *first).map_or("--set", |(_, option)| option)
    }
}

/// Applies `overrides` to `tree`, in order, but a machine before its numbers: `--set machine=NAME`
/// behind `--set machine.hca.units=4` changes that number of the named one. Diagnostics point into the
/// command line.
///
/// A swept field keeps its axis with this one value. The paths so narrowed come back, since
/// claims about the other values cannot be judged then.
///
/// # Panics
///
/// When an option is longer than 4 GiB.
pub fn apply(
    diagnostics: &mut Diagnostics,
    tree: &mut Node,
    overrides: &[String],
    spelling: Spelling,
) -> Vec<String> {
    let mut narrowed = Vec::new();
    let names_machine =
        |option: &str| option.split('=').next().is_some_and(|path| path.trim() == "machine");
    let (machines, others): (Vec<_>, Vec<_>) =
        overrides.iter().enumerate().partition(|(_, option)| names_machine(option));
    for (index, option) in machines.into_iter().chain(others) {
        let flag = spelling.option(index);
        let text = format!("{flag} {option}");
        let begin = flag.len() + 1;
        let source = diagnostics.add_source("<command line>", text.clone());
        let span = |start: usize, end: usize| {
            let offset = |at: usize| u32::try_from(at).expect("an option is short");
            Span { source, start: offset(start), end: offset(end) }
        };
        let Some((path, value)) = option.split_once('=') else {
            diagnostics.push(Diagnostic::error(
                &codes::SET_FORM,
                span(begin, text.len()),
                "",
                format!("`{}` has no `=`", quote(option)),
                "path=value is needed",
            ));
            continue;
        };
        let path = path.trim();
        let start = begin + option.find('=').expect("it was split there") + 1;
        let place = span(start, text.len().max(start));
        let value = unquoted(value.trim());
        if let Some(node) = literal(diagnostics, tree, path, value, span(begin, start - 1), place)
            && put(tree, path, node)
        {
            narrowed.push(path.to_owned());
        }
    }
    narrowed
}

/// The text inside the quotes of a JSON string; a value needs none here.
fn unquoted(value: &str) -> &str {
    let inside = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inside.filter(|inside| !inside.contains(['"', '\\'])).unwrap_or(value)
}

/// The value as a node, checked against its field; `None` with a report.
fn literal(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    path: &str,
    value: &str,
    path_span: Span,
    value_span: Span,
) -> Option<Node> {
    let target = match path::find(&SCENARIO, tree, path) {
        Ok(target) => target,
        Err(error) => {
            let one = Diagnostic::error(
                &codes::SET_PATH,
                path_span,
                quote(path),
                error.found,
                error.allowed,
            );
            diagnostics.push(match error.nearest {
                Some(near) => one.help(format!("did you mean `{near}`?")),
                None => one,
            });
            return None;
        }
    };
    let node = Node { value: target.literal(value), span: value_span };
    let before = diagnostics.errors();
    match target {
        Target::Field(shape) => check(diagnostics, &node, shape, path),
        Target::Parameter(parameter) => {
            form::machine::check_value(diagnostics, &node, parameter, path);
        }
    }
    (diagnostics.errors() == before).then_some(node)
}

/// Puts `node` at `path`, and into the axis of that path; says whether there is such an axis.
fn put(tree: &mut Node, path: &str, node: Node) -> bool {
    let axis = tree.get_mut("sweep").and_then(|sweep| sweep.get_mut(path));
    let swept = axis.is_some();
    if let Some(axis) = axis {
        *axis = Node { span: node.span, value: Value::List(vec![node.clone()]) };
    }
    // The tree of a file that is no object was reported; there is nothing to set.
    if tree.members().is_some() {
        shape::path::set(tree, path, node);
    }
    swept
}
