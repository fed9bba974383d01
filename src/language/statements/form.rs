//! The statements of a program: which keys each has, and what it is in MPI.

pub mod buffers;
pub mod collectives;
pub(super) mod communicators;
mod outside;
pub(super) mod partitions;
pub mod pieces;
pub(super) mod returned;
pub(crate) mod windows;

use super::row::forms;
use super::{making, messages, one_sided};
use form::shape::{Shape, Variant, joined, variant};

static OTHERS: [Variant; 12] = [
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

static ABOUT_MESSAGES: [Variant; messages::ROWS.len() + making::ROWS.len()] =
    joined(&forms(&messages::ROWS), &forms(&making::ROWS));
static WITHOUT_WINDOWS: [Variant; ABOUT_MESSAGES.len() + OTHERS.len()] =
    joined(&ABOUT_MESSAGES, &OTHERS);
static PLAIN: [Variant; WITHOUT_WINDOWS.len() + one_sided::ROWS.len()] =
    joined(&WITHOUT_WINDOWS, &forms(&one_sided::ROWS));
static OPERATIONS: [Variant; PLAIN.len() + collectives::STATEMENTS.len()] =
    joined(&PLAIN, &collectives::STATEMENTS);
/// A statement, named by its `op`.
pub(crate) static OPERATION: Shape = Shape::Defined {
    name: "statement",
    shape: &Shape::Tagged { tag: "op", variants: &OPERATIONS },
};
/// Statements, one after the other.
pub static STATEMENTS: Shape = Shape::List { of: &OPERATION, min: 0, max: 100_000 };
