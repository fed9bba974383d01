//! What a scenario may say about the values of an axis.

use form::shape::{Shape, required, variant};

/// A list of values, or a rule that makes one.
pub(super) static AXIS: Shape = Shape::Either(&[
    SCALARS_LIST,
    Shape::Keyed(&[
        variant(
            "powers_of_two",
            &[required(
                "powers_of_two",
                &Shape::List { of: &Shape::Scalar, min: 2, max: 2 },
                "[\"1 B\", \"4 MiB\"]",
                "The first and the last value; each is twice the one before.",
            )],
            "Doubling values.",
        ),
        variant(
            "range",
            &[required(
                "range",
                &Shape::List { of: &Shape::Scalar, min: 3, max: 3 },
                "[0, 10, 2]",
                "The first value, the greatest that may be reached, and the step.",
            )],
            "Evenly spaced values, counted out in decimal arithmetic.",
        ),
    ]),
]);

/// Values one by one.
pub(super) const SCALARS_LIST: Shape = Shape::List { of: &Shape::Scalar, min: 0, max: 1_000_000 };
