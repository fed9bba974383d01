//! The resolved scenario: every field with its value or its default, every number with its source.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::machines;
use experiment::claim::figures::Figure;
use experiment::overrides::{self, Spelling};
use experiment::plan::assumed::{self, Assumption};
use experiment::plan::collectives;
use experiment::plan::connections::{self, Choice};
use experiment::plan::{MpiOptions, Plan};
use experiment::schema::SCENARIO;
use experiment::store::RunIdentity;
use form::diagnostic::Diagnostics;
use form::json::{self, Node, Value as Json};
use form::machine::Confidence;
use form::shape::{Field, NOTE, Need, Shape, Variant};
use units::Bytes;

/// The resolved form of `plan`.
pub(super) fn identity(plan: &Plan) -> RunIdentity {
    RunIdentity {
        scenario: plan.name.clone(),
        file: plan.file.as_deref().map(from_here),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: plan.points[0].seed,
        overrides: plan.overrides.clone(),
        scenario_text: String::from_utf8_lossy(&plan.bytes).into_owned(),
        resolved: Value::Object(resolve(plan)),
    }
}

/// The path of a file as a command would name it here: relative, where it lies below.
fn from_here(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).to_owned()
}

/// The scenario with all defaults filled in, as text with one line for each small object.
pub(super) fn text(plan: &Plan) -> String {
    let resolved = resolve(plan);
    let mut out = String::from("{\n");
    let fields = SCENARIO.iter().map(|field| field.key);
    let known = fields.chain([CHOSEN, ASSUMED]).filter(|key| resolved.contains_key(*key));
    let keys: Vec<&str> = known.collect();
    for (index, key) in keys.iter().enumerate() {
        let comma = if index + 1 < keys.len() { "," } else { "" };
        let _ = writeln!(out, "  \"{key}\": {}{comma}", written(&resolved[*key], 2));
    }
    out.push_str("}\n");
    out
}

fn resolve(plan: &Plan) -> Map<String, Value> {
    let tree = tree(plan);
    let mut out = object(&tree, &SCENARIO);
    out.insert("machine".to_owned(), machines::as_json(plan));
    let axes = plan.sweep.axes.iter().map(|axis| {
        let values = axis.values.iter().map(|value| Value::String(value.text.clone()));
        (axis.path.clone(), values.collect())
    });
    if !plan.sweep.axes.is_empty() {
        out.insert("sweep".to_owned(), Value::Object(axes.collect()));
    }
    put_choices_of_the_machine(plan, &mut out);
    leave_to_preset(&tree, &mut out);
    keep_sources_that_hold(plan, &mut out);
    put_chosen(plan, &mut out);
    put_assumed(plan, &mut out);
    if let Some(limits) = out.get_mut("limits").filter(|_| !has(&tree, "limits", "time")) {
        limits["time"] = Value::String(plan.points[0].limits.time.to_string());
    }
    for figure in &plan.figures {
        if let (Figure::Curves(figure), Some(Value::Array(figures))) =
            (figure, out.get_mut("figures"))
        {
            figures[figure.place]["log_x"] = Value::Bool(figure.log_x || figure.far_x);
        }
    }
    out
}

/// The scenario's tree under its overrides.
fn tree(plan: &Plan) -> Node {
    let mut diagnostics = Diagnostics::new();
    let read = json::decode(&mut diagnostics, &plan.name, &plan.bytes)
        .and_then(|source| json::parse(&mut diagnostics, source));
    let mut tree = read.expect("a plan was made from these bytes");
    overrides::apply(&mut diagnostics, &mut tree, &plan.overrides, Spelling::default());
    tree
}

fn has(tree: &Node, section: &str, key: &str) -> bool {
    tree.get(section).and_then(|section| section.get(key)).is_some()
}

/// How a field of the library's choices is read.
type Choices = (&'static str, fn(&MpiOptions) -> String);

fn in_words(threshold: Option<Bytes>) -> String {
    threshold.expect("a plan has the machine's").to_string()
}

/// Choices that the scenario leaves to the machine: the values on which all points agree.
fn put_choices_of_the_machine(plan: &Plan, out: &mut Map<String, Value>) {
    let fields: [Choices; 3] = [
        ("eager_threshold", |mpi| in_words(mpi.eager_inter)),
        ("eager_threshold_intra", |mpi| in_words(mpi.eager_intra)),
        ("connections", |mpi| connections::word(mpi.connections).to_owned()),
    ];
    for (key, read) in fields {
        let first = read(&plan.points[0].mpi);
        if plan.points.iter().all(|point| read(&point.mpi) == first)
            && let Some(mpi) = out.get_mut("mpi")
        {
            mpi[key] = Value::String(first);
        }
    }
}

/// Where a preset chooses the algorithm of an operation, no default holds.
fn leave_to_preset(tree: &Node, out: &mut Map<String, Value>) {
    let given = tree.get("mpi").and_then(|mpi| mpi.get("collectives"));
    let Some((given, preset)) = given.and_then(|given| Some((given, given.word("preset")?))) else {
        return;
    };
    let shown = out.get_mut("mpi").and_then(|mpi| mpi.get_mut("collectives"));
    if let Some(Value::Object(shown)) = shown {
        for operation in collectives::of_preset(preset).filter(|one| given.get(one).is_none()) {
            shown.remove(operation);
        }
    }
}

/// A number that the command line set has no source any more.
fn keep_sources_that_hold(plan: &Plan, out: &mut Map<String, Value>) {
    let holds = |path: &str| plan.sourced.iter().any(|one| one.number.path == path);
    if let Some(Value::Object(sources)) = out.get_mut("sources") {
        sources.retain(|path, _| path == NOTE.key || holds(path));
    }
}

/// Where it stands what the machine and the rules of collectives chose, and why.
const CHOSEN: &str = "chosen";

/// The choices of a machine and of rules, once for each value.
fn put_chosen(plan: &Plan, out: &mut Map<String, Value>) {
    let as_json = |one: &Choice<'_>| {
        let number = one.number();
        json!({
            "path": connections::PATH, "value": connections::word(one.how), "reason": one.reason(),
            "confidence": number.confidence.word(), "source": number.source,
        })
    };
    let by_rule = |one: collectives::Choice| {
        json!({
            "path": one.path, "value": one.algorithm, "reason": one.reason,
            "confidence": one.confidence.word(), "source": one.source,
        })
    };
    let of_machines = connections::chosen(plan);
    let by_rules = collectives::chosen(plan).into_iter().map(by_rule);
    let all: Vec<Value> = of_machines.iter().map(as_json).chain(by_rules).collect();
    if !all.is_empty() {
        out.insert(CHOSEN.to_owned(), Value::Array(all));
    }
}

/// Where the scenario's own assumptions stand, beside those of its machine.
const ASSUMED: &str = "assumed";

/// Writes the assumed numbers of all points, each value once.
fn put_assumed(plan: &Plan, out: &mut Map<String, Value>) {
    let all = assumed::of(plan);
    let as_json = |one: &Assumption| {
        let (low, high) = one.range.clone().unzip();
        let mut all = json!({
            "path": one.path, "value": one.value, "confidence": Confidence::Assumed.word(),
            "source": one.source, "low": low, "high": high, "note": one.note,
        });
        all.as_object_mut().expect("it is one").retain(|_, value| !value.is_null());
        all
    };
    if !all.is_empty() {
        out.insert(ASSUMED.to_owned(), all.iter().map(as_json).collect());
    }
}

fn object(node: &Node, fields: &[Field]) -> Map<String, Value> {
    let value = |field: &Field| {
        let given = node.get(field.key).map(|given| filled(given, field.shape));
        given.or_else(|| absent(field)).map(|value| (field.key.to_owned(), value))
    };
    fields.iter().filter_map(value).collect()
}

/// The default of a field.
fn absent(field: &Field) -> Option<Value> {
    match (field.need, field.shape) {
        (Need::Default(word), Shape::Tagged { tag, .. }) => {
            Some(Value::Object(Map::from_iter([((*tag).to_owned(), Value::from(word))])))
        }
        (
            Need::Default(text),
            Shape::Count { .. }
            | Shape::Integer { .. }
            | Shape::Ratio { .. }
            | Shape::Flag
            | Shape::Either(_),
        ) => Some(serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))),
        (Need::Default(text), _) => Some(Value::from(text)),
        (Need::Optional, Shape::Object(fields)) => {
            let defaults = fields.iter().filter_map(|one| Some((one.key.to_owned(), absent(one)?)));
            let defaults: Map<String, Value> = defaults.collect();
            let open = fields.iter().any(|one| matches!(one.need, Need::Required(_)));
            (!open && !defaults.is_empty()).then_some(Value::Object(defaults))
        }
        (Need::Optional | Need::Alternative(_) | Need::Required(_), _) => None,
    }
}

/// A given value, with the defaults of the keys that it leaves out.
fn filled(node: &Node, shape: &Shape) -> Value {
    let is_object = node.members().is_some();
    match shape {
        Shape::Object(fields) if is_object => Value::Object(object(node, fields)),
        Shape::Tagged { tag, variants } => {
            let name = node.word(tag).unwrap_or_default();
            let mut out = Map::from_iter([((*tag).to_owned(), Value::from(name))]);
            out.extend(variant(node, variants, |variant| variant.name == name));
            Value::Object(out)
        }
        Shape::Keyed(variants) => {
            Value::Object(variant(node, variants, |variant| node.get(variant.name).is_some()))
        }
        Shape::List { of, .. } => {
            node.elements().unwrap_or(&[]).iter().map(|element| filled(element, of)).collect()
        }
        Shape::Either(shapes) => {
            let is_inner = |shape: &&Shape| is_object && matches!(shape, Shape::Object(_));
            let inner = shapes.iter().find(is_inner);
            inner.map_or_else(|| plain(node), |shape| filled(node, shape))
        }
        Shape::Expression(shape) | Shape::Defined { shape, .. } => filled(node, shape),
        Shape::Object(_)
        | Shape::Paths(_)
        | Shape::Machine(_)
        | Shape::Quantity { .. }
        | Shape::Count { .. }
        | Shape::Integer { .. }
        | Shape::Ratio { .. }
        | Shape::Text(_)
        | Shape::Verbatim(_)
        | Shape::Name
        | Shape::Path
        | Shape::Tolerance
        | Shape::Word(_)
        | Shape::Flag
        | Shape::Scalar => plain(node),
    }
}

fn variant(
    node: &Node,
    variants: &[Variant],
    is_it: impl Fn(&Variant) -> bool,
) -> Map<String, Value> {
    let found = variants.iter().find(|variant| is_it(variant));
    found.map_or_else(Map::new, |variant| object(node, variant.fields))
}

/// A tree as it was written.
fn plain(node: &Node) -> Value {
    match &node.value {
        Json::Null | Json::Word(_) | Json::Invalid => Value::Null,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => {
            let text = number.to_string();
            serde_json::from_str(&text).unwrap_or(Value::String(text))
        }
        Json::Text(text) => Value::String(text.clone()),
        Json::List(elements) => elements.iter().map(plain).collect(),
        Json::Object(members) => {
            let each = members.iter().map(|member| (member.key.clone(), plain(&member.node)));
            Value::Object(each.collect())
        }
    }
}

/// JSON with a line for each value that holds no object or list of objects.
fn written(value: &Value, indent: usize) -> String {
    let inner = |one: &Value| written(one, indent + 2);
    let (open, parts, close) = match value {
        Value::Array(all) => ('[', all.iter().map(inner).collect::<Vec<_>>(), ']'),
        Value::Object(all) => {
            let part = |(key, one): (&String, &Value)| format!("{}: {}", quoted(key), inner(one));
            ('{', in_order(all).into_iter().map(part).collect(), '}')
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            return value.to_string();
        }
    };
    if is_deep(value) {
        let pad = " ".repeat(indent);
        return format!("{open}\n{pad}  {}\n{pad}{close}", parts.join(&format!(",\n{pad}  ")));
    }
    let air = if value.is_object() && !parts.is_empty() { " " } else { "" };
    format!("{open}{air}{}{air}{close}", parts.join(", "))
}

/// Whether a value holds a list or an object.
fn is_deep(value: &Value) -> bool {
    let holds = |one: &Value| one.is_object() || one.is_array();
    value.as_array().is_some_and(|all| all.iter().any(holds))
        || value.as_object().is_some_and(|all| all.values().any(holds))
}

/// The members with those first that say what the object is.
fn in_order(all: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let first = ["id", "name", "title", "path", "kind", "op", "value", "confidence", "source"];
    let rank = |key: &str| first.iter().position(|one| *one == key).unwrap_or(first.len());
    let mut members: Vec<_> = all.iter().collect();
    members.sort_by_key(|(key, _)| rank(key));
    members
}

fn quoted(key: &str) -> Value {
    Value::from(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_objects_stand_on_one_line_and_the_text_is_json() {
        let value = json!({
            "b": [{ "source": "s", "path": "p" }, { "path": "q" }], "a": [1, 2], "c": "\"x\"",
        });
        let text = written(&value, 0);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        assert!(text.contains("\n    { \"path\": \"p\", \"source\": \"s\" },\n"), "{text}");
        assert!(text.contains("\"a\": [1, 2]"), "{text}");
    }

    #[test]
    fn every_default_of_a_field_with_a_number_is_one() {
        let defaults = object(
            &Node { value: Json::Object(Vec::new()), span: form::diagnostic::Span::default() },
            &SCENARIO,
        );
        assert_eq!(defaults["nodes"], json!(2));
        assert_eq!(defaults["seed"], json!(1));
        assert_eq!(defaults["topology"], json!({ "kind": "crossbar" }));
        assert_eq!(defaults["mpi"]["rendezvous"], json!("rput"));
        assert_eq!(defaults["noise"]["start_skew"], json!(false));
        assert_eq!(defaults["ranks"]["oversubscribe"], json!(false));
        assert!(!defaults.contains_key("workload") && !defaults.contains_key("sweep"));
    }
}
