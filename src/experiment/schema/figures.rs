//! What a scenario may say about its figures.
//!
//! A figure with `"y": METRIC` shows curves of the metric over `x`, one for each value of `series`.
//! A figure with `"stack": [METRIC, ...]` shows a bar for each value of the swept field `x`: the
//! metrics, which have one unit, one after the other. `at` chooses points in both.
//! A figure with `"sequence": POINT` shows the messages of that point, from rank to rank over time.

use super::POINT;
use form::fields::TITLE;
use form::shape::{Field, Shape, default, optional, required, variant};

const AT: Field = optional("at", &POINT, "Values of axes: only points that have them are drawn.");
const TITLE_FIELD: Field =
    optional("title", &TITLE, "The title; without one, that of the scenario.");

const WIDTH: Field = optional(
    "width",
    &Shape::Word(&[("column", "85 mm: one column of a page"), ("page", "170 mm: across a page")]),
    "Draws it for print, in this width: text of 7 pt, the legend below, the title left to a caption.",
);

/// Curves, with the key `y`; stacked bars, with `stack`; or messages over time, with `sequence`.
pub(super) static FIGURES: Shape = Shape::List {
    of: &Shape::Keyed(&[
        variant(
            "y",
            &[
                required(
                    "x",
                    &Shape::Path,
                    "\"workload.size\"",
                    "The swept field, or the metric, on the x axis; words stand at equal distances.",
                ),
                required("y", &Shape::Name, "\"message_rate\"", "The metric on the y axis."),
                optional("series", &Shape::Path, "The swept field with one line per value."),
                optional("series_title", &TITLE, "What stands above the lines in the legend."),
                optional(
                    "legend",
                    &Shape::List { of: &ENTRY, min: 1, max: 100 },
                    "What the legend calls values of `series`; others are called as they are.",
                ),
                AT,
                TITLE_FIELD,
                default(
                    "log_x",
                    &Shape::Flag,
                    "true for sizes, values that double, and times, probabilities and counts from zero far apart",
                    "Whether the x axis is logarithmic.",
                ),
                optional("x_title", &TITLE, "What the x axis shows, without its unit."),
                optional("y_title", &TITLE, "What the y axis shows, without its unit."),
                optional(
                    "measured",
                    &Shape::List { of: &MEASURED, min: 1, max: 20 },
                    "Tables of the OSU benchmarks, drawn over the curves.",
                ),
                default("log_y", &Shape::Flag, "false", "Whether the y axis is logarithmic."),
                WIDTH,
            ],
            "Curves: a metric over a swept field.",
        ),
        variant(
            "stack",
            &[
                required(
                    "x",
                    &Shape::Path,
                    "\"ranks.addressing\"",
                    "The swept field with one bar per value.",
                ),
                required(
                    "stack",
                    &Shape::List { of: &Shape::Name, min: 1, max: MAX_PARTS },
                    "[ \"lock_wait\", \"walk_time\", \"wait_time\" ]",
                    "The metrics whose sum each bar shows, from its foot on; all in one unit.",
                ),
                AT,
                TITLE_FIELD,
                WIDTH,
            ],
            "A stacked bar for each value of a swept field; its `note` is printed below.",
        ),
        variant(
            "sequence",
            &[
                required(
                    "sequence",
                    &POINT,
                    "{ \"mpi.rendezvous_intra\": \"rget\" }",
                    "The point: a value of each axis; `{}` where nothing is swept.",
                ),
                TITLE_FIELD,
            ],
            "The messages of one point over time, of at most eight ranks.",
        ),
    ]),
    min: 0,
    max: 100,
};

static ENTRY: Shape = Shape::Object(&[
    required("value", &Shape::Scalar, "\"separate\"", "A value of the swept field."),
    required("name", &TITLE, "\"processes\"", "What the legend calls it."),
]);

static MEASURED: Shape = Shape::Object(&[
    required(
        "file",
        &Shape::Text(500),
        "\"latency.txt\"",
        "Text as the OSU benchmarks print it, beside the scenario.",
    ),
    optional("name", &TITLE, "Its entry in the legend; without one, the first line of the file."),
]);

/// The most parts of a stack.
const MAX_PARTS: usize = 16;
