//! `--set path=value`: a value of the command line in place of one of the file.

use super::schema::SCENARIO;
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics, Span, quote};
use form::json::{self, Node, Value};
use form::shape::check::check;
use form::shape::path::{self, Target};
use form::shape::{self, Shape};

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
    let is_json = value.starts_with(['[', '{']);
    let target = if is_json {
        path::find_any(&SCENARIO, tree, path)
    } else {
        path::find(&SCENARIO, tree, path)
    };
    let target = match target {
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
    let node = if is_json && takes_json(target) {
        // Its own text: places inside it are those of the value.
        let source = diagnostics.add_source(format!("<command line> {path}"), value);
        json::parse(diagnostics, source)?
    } else {
        Node { value: target.literal(value), span: value_span }
    };
    let before = diagnostics.errors();
    let mark = diagnostics.mark();
    match target {
        Target::Field(shape) => {
            check(diagnostics, &node, shape, path);
            if diagnostics.mark() > mark
                && let Some(other) = path::taken_beside(&SCENARIO, tree, path, value)
            {
                diagnostics.explain(mark, &format!("`{value}` is a value of `{other}`"));
            }
        }
        Target::Parameter(parameter) => {
            form::machine::check_value(diagnostics, &node, parameter, path);
        }
    }
    (diagnostics.errors() == before).then_some(node)
}

/// Whether a value that begins as a list or an object of JSON does is one.
fn takes_json(target: Target) -> bool {
    let Target::Field(shape) = target else { return false };
    has_parts(shape)
}

fn has_parts(shape: &Shape) -> bool {
    if let Shape::Either(shapes) = shape {
        return shapes.iter().any(has_parts);
    }
    if let Shape::Expression(inner) | Shape::Defined { shape: inner, .. } = shape {
        return has_parts(inner);
    }
    matches!(shape, Shape::Machine(_)) || !shape.is_single()
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
