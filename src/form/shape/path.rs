//! Dotted paths: which field a path names, and how a value gets there.

use super::super::diagnostic::Span;
use super::super::json::{Member, Node, Value};
use super::check::{show, takes_instead, takes_type};
use super::{Field, NOTE, Shape, Variant, nearest};
use hardware::profile::{Kind, PARAMETERS, Parameter};

/// The field that a path names.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// A field of the scenario.
    Field(&'static Shape),
    /// A number of the machine model.
    Parameter(&'static Parameter),
}

/// Why a path names nothing.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnknownPath {
    /// The mistake, in words.
    pub found: String,
    /// The allowed values.
    pub allowed: String,
    /// The nearest path, if one is near.
    pub nearest: Option<String>,
}

/// A segment of a path: a key or an index.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Segment {
    /// A key of an object.
    Key(String),
    /// A place in a list, from 0.
    Index(usize),
}

/// Takes `a.b[2].c` apart; `None` where it is not of this form.
pub fn steps(path: &str) -> Option<Vec<Segment>> {
    let mut out = Vec::new();
    for part in path.split('.') {
        let (key, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
        if key.is_empty() {
            return None;
        }
        out.push(Segment::Key(key.to_owned()));
        while !rest.is_empty() {
            let (index, after) = rest.strip_prefix('[')?.split_once(']')?;
            out.push(Segment::Index(index.parse().ok()?));
            rest = after;
        }
    }
    Some(out)
}

/// The field that `path` names in a scenario with these `fields`; `tree` decides between tagged
/// variants.
///
/// # Errors
///
/// When it names nothing.
pub fn find_any(fields: &[Field], tree: &Node, path: &str) -> Result<Target, UnknownPath> {
    let Some(steps) = steps(path) else {
        return Err(UnknownPath {
            found: "the path is not of the form a.b or a.b[2].c".to_owned(),
            allowed: "keys with dots between them are needed".to_owned(),
            nearest: None,
        });
    };
    let Segment::Key(first) = &steps[0] else { unreachable!("a path begins with a key") };
    let shape = field_shape(fields.iter(), first, "", path)
        .map_err(|error| elsewhere(fields, tree, path, error))?;
    descend(shape, tree.get(first), first.clone(), &steps[1..])
}

/// The same of a field that can be set to one value.
///
/// # Errors
///
/// When it names nothing, or something that cannot be set to one value.
pub fn find(fields: &[Field], tree: &Node, path: &str) -> Result<Target, UnknownPath> {
    let target = find_any(fields, tree, path)?;
    if let Target::Field(shape) = target
        && !shape.is_single()
    {
        return Err(UnknownPath {
            found: format!("`{path}` is not a single value"),
            allowed: format!("it takes {}", shape.in_words()),
            nearest: None,
        });
    }
    Ok(target)
}

/// The path of a field beside the one at `path` that takes this word, where that one does not.
pub fn taken_beside(fields: &[Field], tree: &Node, path: &str, word: &str) -> Option<String> {
    let steps = steps(path)?;
    let [Segment::Key(first), inner @ .., Segment::Key(last)] = &steps[..] else { return None };
    let shape = fields.iter().find(|field| field.key == first)?.shape;
    let parent = descend(shape, tree.get(first), first.clone(), inner).ok()?;
    let Target::Field(Shape::Object(beside)) = parent else { return None };
    let given = beside.iter().find(|field| field.key == last)?;
    let taken = beside.iter().find(|other| takes_instead(given, other, word))?;
    let (above, _) = path.rsplit_once('.')?;
    Some(format!("{above}.{}", taken.key))
}

/// The same error, with the place below another field where the path would name something: a number of
/// the machine, a key of the workload.
fn elsewhere(fields: &[Field], tree: &Node, path: &str, error: UnknownPath) -> UnknownPath {
    let named = |parameter: &&Parameter| {
        let name = parameter.path.split_once('.').map(|(_, name)| name);
        parameter.path == path || name == Some(path)
    };
    let mut numbers = PARAMETERS.iter().filter(named);
    let number = numbers.next().filter(|_| numbers.next().is_none());
    let below =
        fields.iter().filter(|field| !matches!(field.shape, Shape::Machine(_))).find_map(|field| {
            let whole = format!("{}.{path}", field.key);
            find(fields, tree, &whole).ok().map(|_| whole)
        });
    let below = below.or_else(|| number.map(|number| format!("machine.{}", number.path)));
    UnknownPath { nearest: below.or(error.nearest), ..error }
}

fn field_shape<'a>(
    fields: impl Iterator<Item = &'a Field> + Clone,
    key: &str,
    prefix: &str,
    whole: &str,
) -> Result<&'static Shape, UnknownPath> {
    if let Some(field) = fields.clone().find(|field| field.key == key) {
        return Ok(field.shape);
    }
    if key == NOTE.key {
        return Ok(NOTE.shape);
    }
    let mut keys: Vec<&str> = fields.map(|field| field.key).collect();
    keys.dedup();
    Err(unknown(key, prefix, whole, &keys))
}

fn unknown(key: &str, prefix: &str, whole: &str, keys: &[&str]) -> UnknownPath {
    let place = if prefix.is_empty() { "a scenario".to_owned() } else { format!("`{prefix}`") };
    let near = nearest(key, keys.iter().copied()).map(|near| {
        let start = if prefix.is_empty() { near.to_owned() } else { format!("{prefix}.{near}") };
        let used = if prefix.is_empty() { key.len() } else { prefix.len() + 1 + key.len() };
        format!("{start}{}", whole.get(used..).unwrap_or(""))
    });
    UnknownPath {
        found: format!("{place} has no `{}`", super::super::diagnostic::quote(key)),
        allowed: if keys.is_empty() {
            "it has no further fields".to_owned()
        } else {
            format!("allowed are {}", keys.join(", "))
        },
        nearest: near,
    }
}

/// Follows `rest` from a field of `shape` that stands at `prefix`.
fn descend(
    shape: &'static Shape,
    node: Option<&Node>,
    prefix: String,
    rest: &[Segment],
) -> Result<Target, UnknownPath> {
    let Some((step, further)) = rest.split_first() else { return Ok(Target::Field(shape)) };
    // What lies inside is that of a field which takes no expression.
    let shape = if let Shape::Expression(inner) = shape { *inner } else { shape };
    if let Shape::Machine(_) = shape {
        return parameter(&prefix, rest);
    }
    if let Shape::Defined { shape, .. } = shape {
        return descend(shape, node, prefix, rest);
    }
    if let Shape::Either(shapes) = shape {
        let inner = shapes.iter().find(|shape| match step {
            Segment::Key(_) => !shape.is_single() && !matches!(shape, Shape::List { .. }),
            Segment::Index(_) => matches!(shape, Shape::List { .. }),
        });
        return match inner {
            Some(inner) => match node.filter(|node| is_another(node, inner, shapes)) {
                Some(node) => Err(without_fields(&prefix, node)),
                None => descend(inner, node, prefix, rest),
            },
            None => Err(unknown(&step_text(step), &prefix, &prefix, &[])),
        };
    }
    match (step, shape) {
        (Segment::Key(key), Shape::Object(fields)) => {
            let whole = whole(&prefix, rest);
            let shape = field_shape(fields.iter(), key, &prefix, &whole)?;
            descend(shape, node.and_then(|node| node.get(key)), format!("{prefix}.{key}"), further)
        }
        (Segment::Key(key), Shape::Tagged { tag, variants }) => {
            let whole = whole(&prefix, rest);
            if key == tag {
                return Ok(Target::Field(&Shape::Name));
            }
            let chosen = node.and_then(|node| node.get(tag)).and_then(Node::text);
            // A variant that does not exist is reported where it is named.
            let chosen = chosen.filter(|name| variants.iter().any(|known| known.name == *name));
            let fits = |variant: &&Variant| chosen.is_none_or(|chosen| chosen == variant.name);
            let fields = variants.iter().filter(fits).flat_map(|variant| variant.fields);
            let shape = field_shape(fields, key, &prefix, &whole)?;
            descend(shape, node.and_then(|node| node.get(key)), format!("{prefix}.{key}"), further)
        }
        (Segment::Index(index), Shape::List { of, .. }) => {
            let elements = node.and_then(Node::elements).unwrap_or(&[]);
            let Some(element) = elements.get(*index) else {
                return Err(UnknownPath {
                    found: format!("`{prefix}` has no element [{index}]"),
                    allowed: format!("it has {} elements, numbered from 0", elements.len()),
                    nearest: None,
                });
            };
            descend(of, Some(element), format!("{prefix}[{index}]"), further)
        }
        (step, _) => Err(unknown(&step_text(step), &prefix, &prefix, &[])),
    }
}

/// Whether `node` is one of the alternatives, and not the one that has fields.
fn is_another(node: &Node, inner: &Shape, shapes: &[Shape]) -> bool {
    !takes_type(node, inner) && shapes.iter().any(|shape| takes_type(node, shape))
}

fn without_fields(prefix: &str, node: &Node) -> UnknownPath {
    UnknownPath {
        found: format!("`{prefix}` is {} here, which has no fields", show(node)),
        allowed: "fields below it can be set where it is an object".to_owned(),
        nearest: None,
    }
}

fn step_text(step: &Segment) -> String {
    match step {
        Segment::Key(key) => key.clone(),
        Segment::Index(index) => format!("[{index}]"),
    }
}

/// The path again, from its prefix and the steps that are left.
fn whole(prefix: &str, rest: &[Segment]) -> String {
    let mut out = prefix.to_owned();
    for step in rest {
        if let Segment::Key(_) = step {
            out.push('.');
        }
        out.push_str(&step_text(step));
    }
    out
}

/// The model parameter that `rest` names below `machine`.
fn parameter(prefix: &str, rest: &[Segment]) -> Result<Target, UnknownPath> {
    let path: Vec<String> = rest.iter().map(step_text).collect();
    let path = path.join(".");
    if path == "extends" {
        return Ok(Target::Field(&Shape::Name));
    }
    if let Some(found) = Parameter::find(&path) {
        return Ok(Target::Parameter(found));
    }
    let near = nearest(&path, PARAMETERS.iter().map(|parameter| parameter.path));
    let section = path.split('.').next().unwrap_or("");
    let same: Vec<&str> = PARAMETERS
        .iter()
        .filter_map(|parameter| parameter.path.strip_prefix(section)?.strip_prefix('.'))
        .collect();
    let allowed = if same.is_empty() {
        format!("the sections are {}", super::super::machine::sections().join(", "))
    } else {
        format!("`{prefix}.{section}` has {}", same.join(", "))
    };
    Err(UnknownPath {
        found: format!("a machine has no parameter `{}`", super::super::diagnostic::quote(&path)),
        allowed,
        nearest: near.map(|near| format!("{prefix}.{near}")),
    })
}

impl Target {
    /// `text` as the value that this field takes, for options of the command line.
    pub fn literal(self, text: &str) -> Value {
        match self {
            Self::Parameter(parameter) => match parameter.kind {
                Kind::Count | Kind::Ratio => plain(text),
                Kind::Flag => flag(text),
                Kind::Time
                | Kind::Bytes
                | Kind::Bandwidth
                | Kind::Rate
                | Kind::CostPerByte
                | Kind::Frequency => Value::Text(text.to_owned()),
            },
            Self::Field(shape) => literal(shape, text),
        }
    }
}

fn literal(shape: &Shape, text: &str) -> Value {
    let number = |shape: &Shape| {
        matches!(shape, Shape::Count { .. } | Shape::Integer { .. } | Shape::Ratio { .. })
    };
    if let Shape::Expression(inner) = shape {
        // An expression is a text by its sign.
        let is_expression = text.starts_with('=');
        return if is_expression { Value::Text(text.to_owned()) } else { literal(inner, text) };
    }
    if let Shape::Defined { shape: inner, .. } = shape {
        return literal(inner, text);
    }
    if let Shape::Flag = shape {
        return flag(text);
    }
    let flags = |shape: &Shape| matches!(shape, Shape::Flag);
    if matches!(shape, Shape::Either(shapes) if shapes.iter().any(flags)) {
        return flag(text);
    }
    let mixed = matches!(shape, Shape::Either(shapes) if shapes.iter().any(number));
    if number(shape) || mixed { plain(text) } else { Value::Text(text.to_owned()) }
}

fn plain(text: &str) -> Value {
    super::super::json::Number::parse(text)
        .map_or_else(|| Value::Text(text.to_owned()), Value::Number)
}

fn flag(text: &str) -> Value {
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        other => Value::Text(other.to_owned()),
    }
}

/// Puts `value` at `path`, which [`find`] has found; objects on the way are made where missing.
///
/// A machine that is given by name becomes an object that extends it. Where something stands on the way
/// that holds no fields, it stays as it is: the check of the tree reports it.
///
/// # Panics
///
/// When the path was not found in this tree.
pub fn set(tree: &mut Node, path: &str, value: Node) {
    let steps = steps(path).expect("the path was found in the tables");
    if let [Segment::Key(first), _, ..] = &steps[..]
        && first == MACHINE
        && let Some(machine) = tree.get_mut(MACHINE)
    {
        extend_named(machine);
    }
    set_steps(tree, &steps, value);
}

/// Makes `machine` the one that `tree` is about; what `tree` changes of the one it had is changed of it.
pub fn set_machine(tree: &mut Node, machine: Node) {
    let Some(old) = tree.get_mut(MACHINE) else {
        set_steps(tree, &[Segment::Key(MACHINE.to_owned())], machine);
        return;
    };
    let old = std::mem::replace(old, machine);
    let changes = old.members().unwrap_or(&[]).iter().filter(|change| change.key != EXTENDS);
    let changes: Vec<Member> = changes.cloned().collect();
    if let Some(machine) = tree.get_mut(MACHINE).filter(|_| !changes.is_empty()) {
        extend_named(machine);
        change(machine, changes);
    }
}

/// Puts members into an object, and members of theirs into those that it has.
fn change(node: &mut Node, changes: Vec<Member>) {
    let Value::Object(members) = &mut node.value else { return };
    for new in changes {
        match members.iter_mut().find(|member| member.key == new.key) {
            Some(Member { node: old, .. }) if old.members().is_some() => {
                if let Value::Object(inside) = new.node.value {
                    change(old, inside);
                }
            }
            Some(old) => old.node = new.node,
            None => members.push(new),
        }
    }
}

/// The field that takes a name, or an object that extends the named one.
pub const MACHINE: &str = "machine";
/// In such an object, the name.
const EXTENDS: &str = "extends";

/// A name as the object that extends it.
fn extend_named(machine: &mut Node) {
    if let Value::Text(_) = &machine.value {
        let name = machine.clone();
        let extends = Member { key: EXTENDS.to_owned(), key_span: machine.span, node: name };
        machine.value = Value::Object(vec![extends]);
    }
}

fn set_steps(node: &mut Node, steps: &[Segment], value: Node) {
    let Some((step, rest)) = steps.split_first() else {
        *node = value;
        return;
    };
    let below = match step {
        Segment::Index(index) => match &mut node.value {
            Value::List(elements) => elements.get_mut(*index),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Text(_)
            | Value::Object(_)
            | Value::Word(_)
            | Value::Invalid => None,
        },
        Segment::Key(key) => member(node, key, &value),
    };
    if let Some(below) = below {
        set_steps(below, rest, value);
    }
}

/// The member `key` of `node`, made empty where it is missing; `None` where `node` is no object.
fn member<'a>(node: &'a mut Node, key: &str, value: &Node) -> Option<&'a mut Node> {
    let Value::Object(members) = &mut node.value else { return None };
    let index = members.iter().position(|member| member.key == key).unwrap_or_else(|| {
        let node = Node { value: Value::Object(Vec::new()), span: value.span };
        members.push(Member { key: key.to_owned(), key_span: value.span, node });
        members.len() - 1
    });
    Some(&mut members[index].node)
}

/// Where the field at `path` stands; the place of the whole tree where it has none.
pub fn place(tree: &Node, path: &str) -> Span {
    at(tree, path).map_or(tree.span, |node| node.span)
}

/// The node at `path`, if the tree has it.
pub fn at<'a>(tree: &'a Node, path: &str) -> Option<&'a Node> {
    let mut node = tree;
    for step in steps(path)? {
        node = match step {
            Segment::Key(key) => node.get(&key)?,
            Segment::Index(index) => node.elements()?.get(index)?,
        };
    }
    Some(node)
}
