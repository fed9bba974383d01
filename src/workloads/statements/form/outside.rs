//! Statements of a program that are no calls of MPI.

use form::fields::{LONG, time};
use form::shape::{Field, Shape, Variant, required, variant};

static TIME: Shape = time(0, LONG);
static IS: Shape = Shape::Word(&[
    ("start", "the measured time begins, at the first of all ranks"),
    ("stop", "the measured time ends, at the last of all ranks"),
]);
static OF_COMPUTE: [Field; 1] =
    [required("time", &TIME, "\"1 ms\"", "How long the core computes.")];
static OF_TIMER: [Field; 1] =
    [required("is", &IS, "\"start\"", "Which end of the measured time is here.")];

pub(super) const COMPUTE: Variant = variant("compute", &OF_COMPUTE, "Work outside MPI.");
pub(super) const TIMER: Variant =
    variant("timer", &OF_TIMER, "An end of the measured time; without timers it is the whole run.");
