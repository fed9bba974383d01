//! All statements of a program: rows, collectives, and what is no call of MPI.

use super::form::{buffers, collectives};
use super::row::forms;
use super::{making, messages, one_sided};
use form::fields::{LONG, time};
use form::shape::{Field, Shape, Variant, joined, optional, required, variant};

static TIME: Shape = time(0, LONG);
static IS: Shape = Shape::Word(&[
    ("start", "the measured time begins, at the first of all ranks"),
    ("stop", "the measured time ends, at the last of all ranks"),
]);
static OF_COMPUTE: [Field; 1] =
    [required("time", &Shape::Expression(&TIME), "\"1 ms\"", "How long the core computes.")];
static OF_TIMER: [Field; 1] =
    [required("is", &IS, "\"start\"", "Which end of the measured time is here.")];

static TIMES: Shape = Shape::Expression(&Shape::Count { min: 0, max: i64::MAX as u64 });
static MOST: Shape = Shape::Count { min: 1, max: u32::MAX as u64 };
static FORMULA: Shape = Shape::Expression(&Shape::Integer { min: i64::MIN, max: i64::MAX });
static CONDITION: Shape = Shape::Expression(&Shape::Flag);
static OF_REPEAT: [Field; 3] = [
    required("times", &TIMES, "10", "The iterations."),
    optional("with", &Shape::Name, "The variable that counts them, from 0."),
    required("do", &STATEMENTS, "[]", "The statements of an iteration."),
];
static OF_UNTIL: [Field; 3] = [
    required(
        "condition",
        &CONDITION,
        "\"= done\"",
        "It ends the repetitions; its value is seen after each.",
    ),
    required(
        "at_most",
        &MOST,
        "100",
        "Repetitions; a condition that does not hold after so many ends the run.",
    ),
    required("do", &STATEMENTS, "[]", "The statements of a repetition, done once at least."),
];
static OF_IF: [Field; 3] = [
    required("condition", &CONDITION, "\"= rank == 0\"", "Which statements are done."),
    required("then", &STATEMENTS, "[]", "The statements where it holds."),
    optional("else", &STATEMENTS, "The statements where it does not."),
];
static OF_ASSERT: [Field; 1] = [required(
    "condition",
    &CONDITION,
    "\"= n == 8\"",
    "It must hold; where it does not, the run ends with exit code 1.",
)];
static OF_SET: [Field; 2] = [
    required("name", &Shape::Name, "\"next\"", "The variable; it is 0 before."),
    required("to", &FORMULA, "\"= (rank + 1) % size\"", "Its value."),
];

const COMPUTE: Variant = variant("compute", &OF_COMPUTE, "Work outside MPI.");
const TIMER: Variant =
    variant("timer", &OF_TIMER, "An end of the measured time; without timers it is the whole run.");

static OTHERS: [Variant; 12] = [
    collectives::IBARRIER,
    collectives::BARRIER_INIT,
    collectives::REDUCE_LOCAL,
    COMPUTE,
    TIMER,
    buffers::STORE,
    buffers::LOAD,
    variant("repeat", &OF_REPEAT, "A loop of a number of iterations."),
    variant("until", &OF_UNTIL, "A loop that ends with its condition."),
    variant("if", &OF_IF, "A condition."),
    variant("set", &OF_SET, "A variable gets a value."),
    variant("assert", &OF_ASSERT, "A condition that must hold."),
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
