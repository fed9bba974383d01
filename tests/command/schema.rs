//! The JSON Schema accepts what the reader accepts: both come from one table.

use std::fs;
use std::path::PathBuf;

use mpisim::experiment::plan::{Request, load};
use mpisim::experiment::schema;
use mpisim::form::diagnostic::Diagnostics;
use mpisim::shipped::{self, SHIPPED};
use serde_json::Value;

/// Why `value` does not satisfy `schema`; of the keywords only those that our schemas use.
pub(crate) fn refusal(schema: &Value, value: &Value, path: &str) -> Option<String> {
    refusal_within(schema, schema, value, path)
}

/// As [`refusal`], of a part of the schema `root`, where definitions are looked up.
fn refusal_within(root: &Value, schema: &Value, value: &Value, path: &str) -> Option<String> {
    let refusal =
        |schema: &Value, value: &Value, path: &str| refusal_within(root, schema, value, path);
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let defined = root.pointer(reference.trim_start_matches('#'));
        return refusal(defined.expect("references are kept"), value, path);
    }
    let no = |what: &str| Some(format!("{path}: {what}: {value}"));
    if let Some(wanted) = schema.get("const") {
        return if wanted == value { None } else { no("another constant") };
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return if words.contains(value) { None } else { no("no such word") };
    }
    for (key, exactly_one) in [("oneOf", true), ("anyOf", false)] {
        if let Some(all) = schema.get(key).and_then(Value::as_array) {
            let refusals: Vec<_> = all.iter().filter_map(|one| refusal(one, value, path)).collect();
            let fitting = all.len() - refusals.len();
            let fits = if exactly_one { fitting == 1 } else { fitting >= 1 };
            return if fits { None } else { no(&format!("{key}: {fitting} fit: {refusals:?}")) };
        }
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return no("the schema says nothing");
        }
    };
    let fits = types.iter().any(|name| match *name {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    });
    if !fits {
        return no("another type");
    }
    if let (Some(least), Some(number)) = (schema["minimum"].as_u64(), value.as_u64())
        && number < least
    {
        return no("too small");
    }
    if let Some(list) = value.as_array() {
        let mut each = list.iter().enumerate();
        return each
            .find_map(|(index, one)| refusal(&schema["items"], one, &format!("{path}[{index}]")));
    }
    let object = value.as_object()?;
    for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !object.contains_key(key) {
            return no(&format!("lacks {key}"));
        }
    }
    object.iter().find_map(|(key, value)| {
        let at = format!("{path}.{key}");
        match (schema["properties"].get(key), &schema["additionalProperties"]) {
            (Some(schema), _) => refusal(schema, value, &at),
            (None, Value::Object(_)) => refusal(&schema["additionalProperties"], value, &at),
            (None, _) => Some(format!("{at} is not in the schema")),
        }
    })
}

fn valid_scenarios() -> Vec<(PathBuf, String)> {
    let mut files: Vec<PathBuf> = fs::read_dir("tests/bad_inputs/valid")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut all: Vec<(PathBuf, String)> =
        files.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect();
    for (name, text) in SHIPPED.scenarios.0 {
        all.push((PathBuf::from(name), (*text).to_owned()));
    }
    all
}

#[test]
fn valid_scenarios_satisfy_the_schema() {
    let schema = schema::scenario_schema();
    for (path, text) in valid_scenarios() {
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(refusal(&schema, &value, ""), None, "{}", path.display());
    }
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let schema = schema::scenario_schema();
    let text = fs::read_to_string("tests/bad_inputs/valid/ping_pong.json").unwrap();
    let valid: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(refusal(&schema, &valid, ""), None);
    for (pointer, value) in [
        ("/workload/rounds", Value::from(0)),
        ("/workload/kind", Value::from("pong")),
        ("/workload/size", Value::from(8)),
        ("/workload/between", Value::from("cities")),
        ("/machine", Value::from(1)),
    ] {
        let mut wrong = valid.clone();
        *wrong.pointer_mut(pointer).unwrap() = value;
        assert!(refusal(&schema, &wrong, "").is_some(), "{pointer}");
    }
    let mut wrong = valid.clone();
    wrong["workload"]["colour"] = Value::from("red");
    assert!(refusal(&schema, &wrong, "").is_some());
}

#[test]
fn shipped_models_satisfy_their_schema_and_are_complete() {
    let schema = schema::model_schema();
    assert!(SHIPPED.models.0.len() >= 3);
    for (name, text) in SHIPPED.models.0 {
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(refusal(&schema, &value, ""), None, "{name}");
        let mut diagnostics = Diagnostics::new();
        let library = shipped::library();
        let machine = mpisim::experiment::model_file::by_name(&mut diagnostics, &library, name);
        assert!(diagnostics.is_empty(), "{}", diagnostics.human());
        let machine = machine.expect("a model without errors has a profile");
        assert!(machine.numbers.iter().all(|number| !number.source.is_empty()));
    }
}

#[test]
fn shipped_scenarios_are_valid_by_name() {
    for name in SHIPPED.scenarios.names() {
        let request = Request {
            scenario: name.to_owned(),
            library: shipped::library(),
            ..Request::default()
        };
        let (plan, diagnostics) = load(&request);
        assert_eq!(plan.map(|plan| plan.name).as_deref(), Some(name), "{}", diagnostics.human());
    }
}
