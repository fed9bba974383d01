//! Shapes and fields that several forms have.

use super::shape::{Field, Shape, default, required};
use units::Dimension;

/// The greatest size of a message: counts are C ints.
pub const MAX_MESSAGE: u64 = 2 << 30;

/// A length of time, `min` to `max` in picoseconds.
pub const fn time(min: u64, max: u64) -> Shape {
    Shape::Quantity { dimension: Dimension::Time, min, max }
}

/// A number of bytes, `min` to `max`.
pub const fn bytes(min: u64, max: u64) -> Shape {
    Shape::Quantity { dimension: Dimension::Bytes, min, max }
}

/// A thousand seconds, in picoseconds.
pub const LONG: u64 = 1_000_000_000_000_000;

/// 200 days, in picoseconds: the clock ends at 213.
pub const LONGEST: u64 = 200 * 24 * 3600 * 1_000_000_000_000;

/// The size of a message.
pub static SIZE: Shape = bytes(0, MAX_MESSAGE);

/// A count of one at least.
pub static POSITIVE: Shape = Shape::Count { min: 1, max: u32::MAX as u64 };

/// One line for people.
pub static TITLE: Shape = Shape::Text(200);

/// Where something comes from.
pub static SOURCE: Shape = Shape::Text(500);

/// A plain number.
pub static RATIO: Shape = Shape::Ratio { min: 0, max: u64::MAX };

/// A plain number above zero.
pub static POSITIVE_RATIO: Shape = Shape::Ratio { min: 1, max: u64::MAX };

/// The name of a request.
pub static REQUEST: Shape = Shape::Name;

/// A communicator of a program.
pub static COMM: Shape = Shape::Either(&[Shape::Count { min: 0, max: 2 }, Shape::Name]);

/// The communicators of every job.
pub const COMMUNICATORS: &str = "0 is all ranks, 1 a duplicate, 2 the ranks in reverse order";

/// The communicator of a statement.
pub const COMM_FIELD: Field = default(
    "comm",
    &COMM,
    "0",
    "The communicator: 0 all ranks, 1 a duplicate, 2 the ranks in reverse order, or the name of one that was made.",
);

/// The most requests of an array.
pub const MOST_OF_ARRAY: u64 = 100_000;

static INDEX: Shape = Shape::Expression(&Shape::Count { min: 0, max: MOST_OF_ARRAY - 1 });

/// A request by its name, or one of an array of requests.
pub static ONE_REQUEST: Shape = Shape::Either(&[
    Shape::Name,
    Shape::Object(&[
        required("name", &Shape::Name, "\"a\"", "The name of the array."),
        required("index", &INDEX, "\"= i\"", "The place in it, from 0."),
    ]),
]);

/// The request of a statement.
pub const REQ: Field = required(
    "req",
    &ONE_REQUEST,
    "\"a\"",
    "The name of the request, or its array and its place there.",
);
