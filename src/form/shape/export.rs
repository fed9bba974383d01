//! The JSON Schema (draft 2020-12) of a table of fields.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Field, NOTE, Need, Shape, Variant};

/// The key by which a file tells an editor where its schema lies.
pub const SCHEMA_OF_EDITORS: &str = "$schema";

/// The JSON Schema of an object with these `fields`.
pub fn json_schema(title: &str, fields: &[Field]) -> Value {
    let mut schema = object(fields, None);
    let mut defined = BTreeMap::new();
    for field in fields {
        define(field.shape, &mut defined);
    }
    if !defined.is_empty() {
        schema.insert("$defs".into(), json!(defined));
    }
    titled(schema, title)
}

/// A schema with its title; a file may name it for its editor.
pub(crate) fn titled(mut schema: Map<String, Value>, title: &str) -> Value {
    let draft = "https://json-schema.org/draft/2020-12/schema";
    schema.insert(SCHEMA_OF_EDITORS.into(), json!(draft));
    schema.insert("title".into(), json!(title));
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert(SCHEMA_OF_EDITORS.into(), json!({ "type": "string" }));
    }
    Value::Object(schema)
}

/// Adds the definitions that `within` refers to, each once.
fn define(within: &Shape, defined: &mut BTreeMap<&'static str, Value>) {
    let mut fields = |fields: &[Field]| {
        for field in fields {
            define(field.shape, defined);
        }
    };
    match within {
        Shape::Defined { name, shape: inner } => {
            if !defined.contains_key(name) {
                defined.insert(name, shape(inner));
                define(inner, defined);
            }
        }
        Shape::Object(all) => fields(all),
        Shape::Tagged { variants, .. } | Shape::Keyed(variants) => {
            variants.iter().for_each(|variant| fields(variant.fields));
        }
        Shape::List { of, .. } | Shape::Paths(of) | Shape::Expression(of) => define(of, defined),
        Shape::Either(shapes) => shapes.iter().for_each(|one| define(one, defined)),
        Shape::Quantity { .. }
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
        | Shape::Scalar
        | Shape::Machine(_) => {}
    }
}

/// An object with `fields`, and with `tag` as a further key of one value.
pub(crate) fn object(fields: &[Field], tag: Option<(&str, &str)>) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut needed = Vec::new();
    if let Some((key, value)) = tag {
        properties.insert(key.into(), json!({ "const": value }));
        needed.push(key);
    }
    for field in fields {
        let mut schema = shape(field.shape);
        if let Value::Object(map) = &mut schema {
            map.insert("description".into(), json!(describe(field)));
        }
        properties.insert(field.key.into(), schema);
        if let Need::Required(_) = field.need {
            needed.push(field.key);
        }
    }
    properties.entry(NOTE.key).or_insert_with(|| shape(NOTE.shape));
    let mut out = Map::new();
    out.insert("type".into(), json!("object"));
    out.insert("properties".into(), Value::Object(properties));
    out.insert("required".into(), json!(needed));
    out.insert("additionalProperties".into(), json!(false));
    out
}

fn describe(field: &Field) -> String {
    match field.need {
        Need::Default(value) => format!("{} Default: {value}.", field.doc),
        Need::Required(_) | Need::Optional | Need::Alternative(_) => field.doc.to_owned(),
    }
}

pub(crate) fn shape(shape_of: &Shape) -> Value {
    match shape_of {
        Shape::Quantity { dimension, .. } => {
            let units: Vec<String> =
                dimension.units().iter().map(|unit| unit.replace('/', "\\/")).collect();
            let pattern = format!("^\\s*[0-9]+(\\.[0-9]+)?\\s*({})\\s*$", units.join("|"));
            json!({ "type": "string", "pattern": pattern })
        }
        Shape::Count { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Shape::Integer { min, max } => {
            json!({ "type": "integer", "minimum": min, "maximum": max })
        }
        Shape::Expression(of) => {
            let expression = json!({ "type": "string", "pattern": "^=" });
            json!({ "anyOf": [shape(of), expression] })
        }
        Shape::Defined { name, .. } => json!({ "$ref": format!("#/$defs/{name}") }),
        Shape::Ratio { .. } => json!({ "type": "number", "minimum": 0 }),
        Shape::Text(longest) => json!({ "type": "string", "minLength": 1, "maxLength": longest }),
        Shape::Verbatim(longest) => json!({ "type": "string", "maxLength": longest }),
        Shape::Name | Shape::Path => {
            json!({ "type": "string", "pattern": "^[A-Za-z0-9._/+\\[\\]-]+$" })
        }
        Shape::Tolerance => {
            json!({ "type": "string", "pattern": "^([0-9.]+ *%|x[0-9.]+)$" })
        }
        Shape::Word(words) => {
            let all: Vec<Value> = words
                .iter()
                .map(|(word, doc)| json!({ "const": word, "description": doc }))
                .collect();
            json!({ "oneOf": all })
        }
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Scalar => json!({ "type": ["string", "number", "boolean"] }),
        Shape::List { of, min, max } => {
            let mut out = json!({ "type": "array", "items": shape(of), "minItems": min });
            if let (Value::Object(map), true) = (&mut out, *max < usize::MAX) {
                map.insert("maxItems".into(), json!(max));
            }
            out
        }
        Shape::Object(fields) => Value::Object(object(fields, None)),
        Shape::Tagged { tag, variants } => one_of(variants, Some(tag)),
        Shape::Keyed(variants) => one_of(variants, None),
        Shape::Paths(of) => {
            json!({ "type": "object", "additionalProperties": shape(of) })
        }
        Shape::Either(shapes) => {
            let all: Vec<Value> = shapes.iter().map(shape).collect();
            json!({ "anyOf": all })
        }
        Shape::Machine(own) => (own.schema)(),
    }
}

fn one_of(variants: &[Variant], tag: Option<&str>) -> Value {
    let all: Vec<Value> = variants
        .iter()
        .map(|variant| {
            let mut schema = object(variant.fields, tag.map(|tag| (tag, variant.name)));
            schema.insert("description".into(), json!(variant.doc));
            Value::Object(schema)
        })
        .collect();
    json!({ "oneOf": all })
}
