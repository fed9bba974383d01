//! A point as a scenario of its own, with every default written out.

use super::super::json::{Member, Node, Value};
use super::super::schema::SCENARIO;
use super::super::shape::path::{self, Target};
use super::super::shape::{Field, Need, Shape};
use super::{Plan, without_lists};

impl Plan {
    /// The JSON text of a scenario that runs point `index` alone, with every default written out.
    ///
    /// # Panics
    ///
    /// When there is no such point.
    pub fn resolved(&self, index: usize) -> String {
        let point = &self.points[index];
        let mut tree = without_lists(&self.tree);
        self.sweep.apply(&mut tree, index);
        fill(&mut tree, &SCENARIO);
        let bytes = |path: &str, text: String| (path.to_owned(), text);
        let thresholds = [
            bytes("mpi.eager_threshold", point.mpi.eager_threshold.to_string()),
            bytes("mpi.eager_threshold_intra", point.mpi.eager_threshold_intra.to_string()),
        ];
        for (path, text) in thresholds {
            let span = tree.span;
            path::set(&mut tree, &path, Node { value: Value::Text(text), span });
        }
        tree.to_json()
    }
}

/// Writes the defaults of `fields` into `node`, and puts its members into their order.
fn fill(node: &mut Node, fields: &[Field]) {
    let span = node.span;
    let Value::Object(members) = &mut node.value else { return };
    for field in fields {
        if !members.iter().any(|member| member.key == field.key)
            && let Some(value) = default_of(field)
        {
            let node = Node { value, span };
            members.push(Member { key: field.key.to_owned(), key_span: span, node });
        }
    }
    for member in members.iter_mut() {
        let Some(field) = fields.iter().find(|field| field.key == member.key) else { continue };
        if let Shape::Object(inner) = field.shape {
            fill(&mut member.node, inner);
        }
        if let Shape::Tagged { tag, variants } = field.shape {
            let chosen = member.node.word(tag).unwrap_or("").to_owned();
            if let Some(variant) = variants.iter().find(|variant| variant.name == chosen) {
                fill(&mut member.node, variant.fields);
            }
        }
    }
    // What is in no table here is the tag of a variant: it stands first.
    let place = |key: &str| fields.iter().position(|field| field.key == key).map_or(0, |at| at + 1);
    members.sort_by_key(|member| place(&member.key));
}

/// The value that holds where `field` is left out, if one holds.
fn default_of(field: &Field) -> Option<Value> {
    match (field.need, field.shape) {
        (Need::Default(text), Shape::Tagged { tag, .. }) => {
            let node = Node { value: Value::Text(text.to_owned()), span: super::Span::default() };
            let (key, key_span) = ((*tag).to_owned(), node.span);
            Some(Value::Object(vec![Member { key, key_span, node }]))
        }
        (Need::Default(text), shape) => Some(Target::Field(shape).literal(text)),
        (Need::Optional, Shape::Object(inner)) => {
            let has_default = |field: &Field| matches!(field.need, Need::Default(_));
            inner.iter().any(has_default).then(|| Value::Object(Vec::new()))
        }
        (Need::Optional | Need::Required(_), _) => None,
    }
}
