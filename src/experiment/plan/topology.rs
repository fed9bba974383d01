//! The topology of a point: read by the registry of topologies, and built once to see that it can be.

use super::super::schema::topology::VARIANTS;
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics};
use form::json::Node;
use form::shape::path::place;
use form::typed::Value as _;
use hardware::topology::{KINDS, Shape, Topology, TopologyError};

/// The topology of a checked scenario; where `nodes` cannot be wired so, that is reported. `known` are
/// topologies that were built before, with their number of nodes.
pub(super) fn read(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    known: &mut Vec<(Shape, u32)>,
    nodes: u32,
) -> Shape {
    let Some(node) = tree.get("topology") else { return Shape::default() };
    let word = node.required_word("kind");
    let (kind, variant) = KINDS
        .iter()
        .zip(&VARIANTS)
        .find(|(kind, _)| kind.word == word)
        .expect("the tree was checked against its shape");
    let fields = variant.fields.iter();
    let shape = (kind.of)(&mut fields.map(|field| u32::of(node.get(field.key), field)));
    if !known.contains(&(shape, nodes)) {
        match Topology::new(shape, nodes) {
            Ok(_) => known.push((shape, nodes)),
            Err(error) => {
                let first = variant.fields.first().map(|field| field.key);
                diagnostics.push(refused(tree, &error, first, nodes));
            }
        }
    }
    shape
}

/// The report of an error; `first` is the first key of the topology.
fn refused(
    tree: &Node,
    error: &TopologyError,
    first: Option<&'static str>,
    nodes: u32,
) -> Diagnostic {
    let at = |key: &str| format!("topology.{key}");
    let allowed = match error {
        TopologyError::Contradiction { key, with, found, allowed } => {
            let path = at(key);
            let span = place(tree, &path);
            return Diagnostic::error(&codes::CONTRADICTION, span, path, found, allowed)
                .related(place(tree, &at(with)), format!("the {with} is given here"));
        }
        TopologyError::TooManyHosts { .. } => format!("{nodes} nodes need as many ports"),
        TopologyError::TooLarge { remedy, .. } => (*remedy).to_owned(),
        TopologyError::Zero { .. } => "at least 1 is needed".to_owned(),
    };
    let path = first.map_or_else(|| "topology".to_owned(), at);
    let span = place(tree, &path);
    Diagnostic::error(&codes::TOPOLOGY, span, path, error.to_string(), allowed)
        .related(place(tree, "nodes"), "the nodes are given here")
}
