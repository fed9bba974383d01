//! The JSON Schema of machine models.

use serde_json::{Map, Value, json};

use super::{ABOUT, sections};
use crate::shape::export::{object, shape, titled};
use crate::shape::{NOTE, Shape};
use hardware::profile::{Kind, PARAMETERS, Parameter};

/// The JSON Schema of a machine model's file.
pub fn model_schema(title: &str) -> Value {
    titled(model(false), title)
}

/// The JSON Schema of the machine of a scenario: a name, or an object with parameters.
pub(super) fn machine_schema() -> Value {
    json!({ "anyOf": [shape(&Shape::Name), Value::Object(model(true))] })
}

fn model(inline: bool) -> Map<String, Value> {
    let mut out = object(&ABOUT, None);
    for section in sections() {
        let mut properties = Map::new();
        for parameter in PARAMETERS {
            if let Some(name) =
                parameter.path.strip_prefix(section).and_then(|rest| rest.strip_prefix('.'))
            {
                properties.insert(name.into(), number(parameter, inline));
            }
        }
        properties.insert(NOTE.key.into(), shape(NOTE.shape));
        let schema = json!({
            "type": "object", "properties": properties, "additionalProperties": false,
        });
        let Some(Value::Object(sections)) = out.get_mut("properties") else {
            unreachable!("an object has properties")
        };
        sections.insert(section.into(), schema);
    }
    out
}

fn number(parameter: &Parameter, inline: bool) -> Value {
    let value = match (parameter.kind.dimension(), parameter.kind) {
        (Some(dimension), _) => shape(&Shape::Quantity { dimension, min: 0, max: u64::MAX }),
        (None, Kind::Count) => shape(&Shape::Count { min: 0, max: u64::from(u32::MAX) }),
        (None, Kind::Flag) => shape(&Shape::Flag),
        (None, _) => shape(&Shape::Ratio { min: 0, max: u64::MAX }),
    };
    let words = ["assumed", "derived", "spec", "measured"];
    let needed: &[&str] = if inline { &["value"] } else { &["value", "confidence", "source"] };
    let stated = json!({
        "type": "object",
        "description": parameter.doc.trim(),
        "properties": {
            "value": value, "low": value, "high": value,
            "confidence": { "enum": words },
            "source": { "type": "string" }, "note": { "type": "string" },
        },
        "required": needed,
        "additionalProperties": false,
    });
    if inline { json!({ "anyOf": [value, stated] }) } else { stated }
}
