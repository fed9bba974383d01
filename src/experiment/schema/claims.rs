//! What a claim may say.
//!
//! A claim names points of the sweep by assignments of axes, `{ "workload.size": "8 B" }`. Every
//! axis must be fixed (in `at`, or in `of` and `to`), ranged over (`for`: the claim must hold for
//! each value), or followed (`along`). Only the axis `seed` may be left open: replicas are averaged.
//!
//! | kind | says |
//! |---|---|
//! | `"value": METRIC` | METRIC is `expect.value`, within `expect.tolerance` |
//! | `"bound": METRIC` | METRIC is `expect.is` (`below`, `above`) `expect.value` |
//! | `"spread": METRIC` | the greatest METRIC of all cases is at most `expect.most` x the least |
//! | `"ratio": METRIC` | METRIC of `of` divided by METRIC of `to` is `expect.value`, within `expect.tolerance`, or from `expect.least` to `expect.most` |
//! | `"ordering": METRIC` | METRIC of `of` is `expect.is` (`below`, `above`) `expect.times` x METRIC of `to`, in all or in most cases (`expect.in`) |
//! | `"crossover": METRIC` | along the axis `along`, METRIC of `of` stays at or below `expect.times` x METRIC of `to` from `expect.value` on (within `expect.tolerance`) |
//! | `"gap": METRIC` | along the axis `along`, METRIC of `of` divided by METRIC of `to` rises: its rank correlation with the axis (Spearman's rho) is at least `expect.correlation` |
//! | `"trend": METRIC` | along the axis `along`, METRIC has the shape `expect.shape`: `rises`, `falls`, `flat`, `knee`, `dip`, `drop`, `slope`, `linear` |
//!
//! An ordering with `of_base` and `to_base` compares ratios: METRIC of `of` divided by that of
//! `of_base`, with METRIC of `to` divided by that of `to_base`.
//!
//! `of` and `to` are a point each, or lists of as many points: the first is compared with the first,
//! and so on. Quantities are given with their unit, numbers without one as plain numbers.
//!
//! The shapes of a trend, with y(i) the metric at the i-th value of the axis:
//!
//! - `rises`, `falls`: each step does, or with `"steps": "ends"` the last value against the first.
//! - `flat`: the greatest value is at most `within` above the least.
//! - `knee`: the growth per step changes most at the value `at` (within `tolerance`).
//! - `dip`: at the value `at`, y(i)/y(i-1) < y(i-1)/y(i-2) - `margin`: the step is worse than the
//!   one before it by more than `margin`.
//! - `drop`: it falls to the value before `at`, and by a greater factor from there to `at`.
//! - `slope`: between the first value of the axis and each other, the metric grows `value` times as
//!   fast as the axis, within `tolerance`: 1 is proportional to it.
//! - `linear`: a straight line through the values, fitted by least squares, rises and explains at
//!   least the part `r_squared` of their variance. The values of the axis are numbers or quantities,
//!   three at least.

use super::sweep::SCALARS_LIST;
use form::fields::{POSITIVE_RATIO, RATIO, SOURCE};
use form::shape::{Field, Shape, Variant, default, optional, required, variant};

pub(super) static POINT: Shape = Shape::Paths(&Shape::Scalar);
static RANGES: Shape = Shape::Paths(&Shape::Either(&[
    SCALARS_LIST,
    Shape::Object(&[
        required("from", &Shape::Scalar, "\"1 B\"", "The first value of the axis."),
        required("to", &Shape::Scalar, "\"16 KiB\"", "The last value of the axis."),
    ]),
]));

const ID: Field =
    required("id", &Shape::Name, "\"ep-fig3-13x\"", "The id in the catalogue of claims.");
const STATEMENT: Field = optional("statement", &Shape::Text(500), "The claim in words.");
const ROLE: Field = required(
    "role",
    &Shape::Word(&[
        ("input", "the model was calibrated on it"),
        ("prediction", "it comes out of the model"),
    ]),
    "\"prediction\"",
    "Whether it is evidence.",
);
const CLAIM_SOURCE: Field =
    required("source", &SOURCE, "\"endpoints Fig. 3\"", "Document and figure.");
const CANNOT_FAIL: Field = optional(
    "cannot_fail",
    &Shape::Text(300),
    "Why any model would meet it: then it is no evidence, and reports say so. Two rules find some by themselves: both sides are one run, or one side does more of the same.",
);
const AT: Field = optional("at", &POINT, "Values of axes that are fixed.");
const FOR: Field =
    optional("for", &RANGES, "Values of axes for each of which the claim must hold.");
static SIDE: Shape =
    Shape::Either(&[Shape::Paths(&Shape::Scalar), Shape::List { of: &POINT, min: 1, max: 1_000 }]);
const OF: Field = required(
    "of",
    &SIDE,
    "{ \"workload.senders_per_node\": 16 }",
    "The point on the left of the comparison.",
);
const TO_POINT: Field = required(
    "to",
    &SIDE,
    "{ \"workload.senders_per_node\": 1 }",
    "The point on the right of the comparison.",
);
const OF_BASE: Field =
    optional("of_base", &SIDE, "What the left point is divided by before they are compared.");
const TO_BASE: Field =
    optional("to_base", &SIDE, "What the right point is divided by before they are compared.");
const ALONG: Field =
    required("along", &Shape::Path, "\"workload.size\"", "The axis that is followed.");
const TOLERANCE: Field =
    required("tolerance", &Shape::Tolerance, "\"10 %\"", "How far off still counts.");

macro_rules! claim {
    ($kind:literal, $doc:literal, $expect:expr, [$($more:expr),*]) => {
        variant(
            $kind,
            &[
                required($kind, &Shape::Name, "\"message_rate\"", "The metric."),
                ID, STATEMENT, ROLE, CLAIM_SOURCE, CANNOT_FAIL, AT, FOR,
                $($more,)*
                required("expect", $expect, "{ \"value\": 13, \"tolerance\": \"10 %\" }", "What is expected."),
            ],
            $doc,
        )
    };
}

static EXPECT_VALUE: Shape = Shape::Object(&[
    required("value", &Shape::Scalar, "\"1.2 Mmsg/s\"", "The value, with the metric's unit."),
    TOLERANCE,
]);
static EXPECT_BOUND: Shape = Shape::Object(&[
    required("is", &SIDE_OF, "\"below\"", "On which side of the value."),
    required("value", &Shape::Scalar, "\"1 us\"", "The bound, with the metric's unit."),
]);
static EXPECT_SPREAD: Shape =
    Shape::Object(&[required("most", &POSITIVE_RATIO, "1.3", "Greatest over least.")]);
static EXPECT_RATIO: Shape = Shape::Keyed(&[
    variant(
        "value",
        &[required("value", &POSITIVE_RATIO, "13", "The ratio."), TOLERANCE],
        "Near a value.",
    ),
    variant(
        "least",
        &[
            required("least", &RATIO, "1", "The least ratio."),
            required("most", &POSITIVE_RATIO, "1.25", "The greatest ratio."),
        ],
        "Between two values, which are allowed too.",
    ),
]);
static SIDE_OF: Shape = Shape::Word(&[("below", "strictly less"), ("above", "strictly more")]);
static EXPECT_ORDERING: Shape = Shape::Object(&[
    required("is", &SIDE_OF, "\"below\"", "On which side of the other."),
    default("times", &POSITIVE_RATIO, "1", "The factor on the other."),
    default(
        "in",
        &Shape::Word(&[("all", "every case"), ("most", "more than half of the cases")]),
        "all",
        "In how many cases it must hold.",
    ),
]);
static EXPECT_CROSSOVER: Shape = Shape::Object(&[
    required("value", &Shape::Scalar, "\"32 KiB\"", "The value of the axis."),
    TOLERANCE,
    default("times", &POSITIVE_RATIO, "1", "The factor on the other."),
]);
static CORRELATION: Shape = Shape::Ratio { min: 0, max: 1_000_000_000 };
static EXPECT_GAP: Shape = Shape::Object(&[required(
    "correlation",
    &CORRELATION,
    "0.8",
    "The least rank correlation of the ratio with the axis, at most 1.",
)]);
static STEPS: Shape = Shape::Word(&[
    ("every", "each value against the one before"),
    ("ends", "the last value against the first"),
]);
static EXPECT_TREND: Shape = Shape::Tagged {
    tag: "shape",
    variants: &[
        variant(
            "rises",
            &[default("steps", &STEPS, "every", "What is compared.")],
            "The metric rises.",
        ),
        variant(
            "falls",
            &[default("steps", &STEPS, "every", "What is compared.")],
            "The metric falls.",
        ),
        variant(
            "flat",
            &[required("within", &Shape::Tolerance, "\"10 %\"", "How much it may differ.")],
            "The metric stays.",
        ),
        variant(
            "knee",
            &[required("at", &Shape::Scalar, "\"4 KiB\"", "The value of the axis."), TOLERANCE],
            "The growth per step changes most at one value.",
        ),
        variant(
            "dip",
            &[
                required("at", &Shape::Scalar, "\"64 B\"", "The value of the axis."),
                default("margin", &RATIO, "0", "By how much more than the step before."),
            ],
            "The step to one value is worse than the step before it.",
        ),
        variant(
            "drop",
            &[required("at", &Shape::Scalar, "256", "The value of the axis.")],
            "The last two steps to one value fall, and the last one more.",
        ),
        variant(
            "slope",
            &[
                required(
                    "value",
                    &POSITIVE_RATIO,
                    "1",
                    "Growth of the metric by that of the axis.",
                ),
                TOLERANCE,
            ],
            "The metric grows as fast as the axis, or so many times as fast.",
        ),
        variant(
            "linear",
            &[required(
                "r_squared",
                &CORRELATION,
                "0.95",
                "The least part of the variance that a rising straight line explains, at most 1.",
            )],
            "The metric lies near a rising straight line.",
        ),
    ],
};

static CLAIM_VARIANTS: [Variant; 8] = [
    claim!("value", "A metric has a value.", &EXPECT_VALUE, []),
    claim!("bound", "A metric is below or above a value.", &EXPECT_BOUND, []),
    claim!("spread", "All cases are near to each other.", &EXPECT_SPREAD, []),
    claim!("ratio", "Two points have a ratio.", &EXPECT_RATIO, [OF, TO_POINT]),
    claim!(
        "ordering",
        "One point is below or above another.",
        &EXPECT_ORDERING,
        [OF, TO_POINT, OF_BASE, TO_BASE]
    ),
    claim!(
        "crossover",
        "From a value on, one line stays at or below another.",
        &EXPECT_CROSSOVER,
        [OF, TO_POINT, ALONG]
    ),
    claim!("gap", "Two lines part along an axis.", &EXPECT_GAP, [OF, TO_POINT, ALONG]),
    claim!("trend", "A metric has a shape along an axis.", &EXPECT_TREND, [ALONG]),
];

pub(super) static CLAIM: Shape = Shape::Keyed(&CLAIM_VARIANTS);

/// The words that say of what kind a claim is.
pub(crate) fn claim_kinds() -> impl Iterator<Item = &'static str> {
    CLAIM_VARIANTS.iter().map(|variant| variant.name)
}
