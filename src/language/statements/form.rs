//! The statements of a program: which keys each has, and what it is in MPI.

pub mod buffers;
pub mod collectives;
mod communicators;
mod outside;
pub(super) mod partitions;
pub mod pieces;
pub(super) mod returned;
pub(crate) mod windows;

use super::row::forms;
use super::{messages, one_sided};
use form::shape::{Shape, Variant, joined, variant};

static OTHERS: [Variant; 28] = [
    communicators::DUP,
    communicators::IDUP,
    communicators::SPLIT,
    communicators::SPLIT_TYPE,
    communicators::CREATE,
    communicators::CREATE_GROUP,
    communicators::CART_CREATE,
    communicators::CART_SUB,
    communicators::WHOLE_GRAPH,
    communicators::NAMED_EDGES,
    communicators::GRAPH,
    communicators::INTERCOMM_CREATE,
    communicators::INTERCOMM_MERGE,
    communicators::FREE,
    communicators::CREATE_ENDPOINTS,
    communicators::FREE_ENDPOINT,
    collectives::IBARRIER,
    collectives::BARRIER_INIT,
    collectives::REDUCE_LOCAL,
    outside::COMPUTE,
    outside::TIMER,
    buffers::STORE,
    buffers::LOAD,
    variant("repeat", &outside::OF_REPEAT, "A loop of a number of iterations."),
    variant("until", &outside::OF_UNTIL, "A loop that ends with its condition."),
    variant("if", &outside::OF_IF, "A condition."),
    variant("set", &outside::OF_SET, "A variable gets a value."),
    variant("assert", &outside::OF_ASSERT, "A condition that must hold."),
];

/// How many statements there are about messages and communicators, and about windows, too.
const MESSAGES: usize = messages::ROWS.len() + OTHERS.len();
const PLAIN: usize = MESSAGES + one_sided::ROWS.len();
static OPERATIONS: [Variant; PLAIN + collectives::STATEMENTS.len()] = joined(
    &joined::<_, PLAIN>(
        &joined::<_, MESSAGES>(&forms(&messages::ROWS), &OTHERS),
        &forms(&one_sided::ROWS),
    ),
    &collectives::STATEMENTS,
);
/// A statement, named by its `op`.
pub(crate) static OPERATION: Shape = Shape::Defined {
    name: "statement",
    shape: &Shape::Tagged { tag: "op", variants: &OPERATIONS },
};
/// Statements, one after the other.
pub static STATEMENTS: Shape = Shape::List { of: &OPERATION, min: 0, max: 100_000 };
