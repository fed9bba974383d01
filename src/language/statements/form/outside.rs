//! Statements of a program that are no calls of MPI.

use super::STATEMENTS;
use form::fields::{LONG, time};
use form::shape::{Field, Shape, Variant, optional, required, variant};

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
pub(super) static OF_REPEAT: [Field; 3] = [
    required("times", &TIMES, "10", "The iterations."),
    optional("with", &Shape::Name, "The variable that counts them, from 0."),
    required("do", &STATEMENTS, "[]", "The statements of an iteration."),
];
pub(super) static OF_UNTIL: [Field; 3] = [
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
pub(super) static OF_IF: [Field; 3] = [
    required("condition", &CONDITION, "\"= rank == 0\"", "Which statements are done."),
    required("then", &STATEMENTS, "[]", "The statements where it holds."),
    optional("else", &STATEMENTS, "The statements where it does not."),
];
pub(super) static OF_ASSERT: [Field; 1] = [required(
    "condition",
    &CONDITION,
    "\"= n == 8\"",
    "It must hold; where it does not, the run ends with exit code 1.",
)];
pub(super) static OF_SET: [Field; 2] = [
    required("name", &Shape::Name, "\"next\"", "The variable; it is 0 before."),
    required("to", &FORMULA, "\"= (rank + 1) % size\"", "Its value."),
];

pub(super) const COMPUTE: Variant = variant("compute", &OF_COMPUTE, "Work outside MPI.");
pub(super) const TIMER: Variant =
    variant("timer", &OF_TIMER, "An end of the measured time; without timers it is the whole run.");
