//! The bit field at the begin of a node, and the place of a struct's child.

use super::node::NodeKind;
use crate::datatype::primitive::Primitive;

const LEAF: u64 = 1 << 3;

/// Of a node: its kind, and the named type of its children if it is a leaf.
pub(super) fn of_node(kind: NodeKind, leaf: Option<Primitive>) -> u64 {
    kind as u64 | of_leaf(leaf)
}

/// Of a child: its named type, or the word where its node begins.
pub(super) fn of_child(leaf: Option<Primitive>, node: usize) -> u64 {
    (node as u64) << 8 | of_leaf(leaf)
}

fn of_leaf(leaf: Option<Primitive>) -> u64 {
    leaf.map_or(0, |primitive| (primitive as u64) << 4 | LEAF)
}

/// The kind of a node.
pub(super) fn kind(bits: u64) -> NodeKind {
    NodeKind::ALL[(bits & 7) as usize]
}

/// The named type below, if there is one.
pub(super) fn leaf(bits: u64) -> Option<Primitive> {
    (bits & LEAF != 0).then(|| Primitive::ALL[(bits >> 4 & 7) as usize])
}

/// The word where the node of a child begins.
pub(super) fn node(bits: u64) -> usize {
    (bits >> 8) as usize
}
