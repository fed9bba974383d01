//! Values that a statement returns: `expect` compares them, and `into` keeps them. Each statement takes the values
//! that its call returns.

use form::fields::SIZE;
use form::shape::{Field, Shape, joined, optional};

static WHOLE: Shape = Shape::Expression(&Shape::Count { min: 0, max: i64::MAX as u64 });
static BYTES: Shape = Shape::Expression(&SIZE);
static TRUTH: Shape = Shape::Expression(&Shape::Flag);

static ENDED_FIELDS: &[Field] = &ENDED;
static ONE_STATUS: Shape = Shape::Object(ENDED_FIELDS);
static ALL_STATUSES: Shape = Shape::List { of: &ONE_STATUS, min: 0, max: 100_000 };

const STATUSES: [Field; 1] =
    [optional("statuses", &ALL_STATUSES, "The status of each request, in the order of `reqs`.")];
const STATUS: [Field; 3] = [
    optional("source", &WHOLE, "The rank in the status."),
    optional("tag", &WHOLE, "The tag in the status."),
    optional("count", &BYTES, "Bytes of the message."),
];
const CANCELLED: [Field; 1] =
    [optional("cancelled", &TRUTH, "Whether the operation was cancelled (MPI_Test_cancelled).")];
const FLAG: [Field; 1] = [optional("flag", &TRUTH, "The flag.")];
const INDEX: [Field; 1] =
    [optional("index", &WHOLE, "The position of the completed request in `reqs`.")];
const ENDED: [Field; 4] = joined(&STATUS, &CANCELLED);
const FLAGGED: [Field; 4] = joined(&STATUS, &FLAG);
const TESTED: [Field; 5] = joined(&ENDED, &FLAG);
const INDEXED: [Field; 5] = joined(&ENDED, &INDEX);
const ALL_FLAGGED: [Field; 2] = joined(&FLAG, &STATUSES);
const INDEXED_FLAGGED: [Field; 6] = joined(&INDEXED, &FLAG);

static INDEXED_FIELDS: &[Field] = &INDEXED;
static ENDED_STATUS: Shape = Shape::Object(INDEXED_FIELDS);
static ENDED_STATUSES: Shape = Shape::List { of: &ENDED_STATUS, min: 0, max: 100_000 };
const SOME: [Field; 2] = [
    optional("outcount", &WHOLE, "How many requests ended; `undefined` where none was open."),
    optional(
        "statuses",
        &ENDED_STATUSES,
        "The requests that ended, in their order in `reqs`: the position of each, and its status.",
    ),
];

const RANK: [Field; 1] = [optional("rank", &WHOLE, "The rank.")];
const NUMBER: [Field; 1] = [optional("size", &WHOLE, "The number of ranks.")];
const KEPT_RANK: [Field; 1] = [optional("rank", &Shape::Name, "The variable of the rank.")];
const KEPT_NUMBER: [Field; 1] =
    [optional("size", &Shape::Name, "The variable of the number of ranks.")];

const REMOTE: [Field; 1] = [optional(
    "remote_size",
    &WHOLE,
    "The number of ranks of the other group; `undefined` where there is one group.",
)];
const KEPT_REMOTE: [Field; 1] = [optional(
    "remote_size",
    &Shape::Name,
    "The variable of the number of ranks of the other group.",
)];

const PART: [Field; 1] = [optional("count", &BYTES, "Bytes of the part of the window.")];

const KEPT_STATUS: [Field; 3] = [
    optional("source", &Shape::Name, "The variable of the rank in the status."),
    optional("tag", &Shape::Name, "The variable of the tag in the status."),
    optional("count", &Shape::Name, "The variable of the bytes of the message."),
];
const KEPT_CANCELLED: [Field; 1] = [optional(
    "cancelled",
    &Shape::Name,
    "The variable that says whether the operation was cancelled.",
)];
const KEPT_FLAG: [Field; 1] = [optional("flag", &Shape::Name, "The variable of the flag.")];
const KEPT_PART: [Field; 1] =
    [optional("count", &Shape::Name, "The variable of the bytes of the part of the window.")];
const KEPT_INDEX: [Field; 1] =
    [optional("index", &Shape::Name, "The variable of the position of the completed request.")];
const KEPT_ENDED: [Field; 4] = joined(&KEPT_STATUS, &KEPT_CANCELLED);
const KEPT_FLAGGED: [Field; 4] = joined(&KEPT_STATUS, &KEPT_FLAG);
const KEPT_TESTED: [Field; 5] = joined(&KEPT_ENDED, &KEPT_FLAG);
const KEPT_INDEXED: [Field; 5] = joined(&KEPT_ENDED, &KEPT_INDEX);

const KEPT_INDEXED_FLAGGED: [Field; 6] = joined(&KEPT_INDEXED, &KEPT_FLAG);
const KEPT_SOME: [Field; 1] =
    [optional("outcount", &Shape::Name, "The variable of the number of requests that ended.")];

macro_rules! returned {
    ($($expect:ident $into:ident $expected:ident $kept:ident: $what:literal)*) => {$(
        #[doc = concat!("The values of ", $what, " that must be these.")]
        pub(in crate::statements) const $expect: Field = {
            static FIELDS: &[Field] = &$expected;
            static SHAPE: Shape = Shape::Object(FIELDS);
            optional("expect", &SHAPE, "Values that it must return; another one ends the run.")
        };
        #[doc = concat!("The variables of the values of ", $what, ".")]
        pub(in crate::statements) const $into: Field = {
            static FIELDS: &[Field] = &$kept;
            static SHAPE: Shape = Shape::Object(FIELDS);
            optional(
                "into",
                &SHAPE,
                "Variables that keep values which it returns; `undefined` where it returns none.",
            )
        };
    )*};
}

returned! {
    EXPECT_RECEIVED INTO_RECEIVED STATUS KEPT_STATUS: "a receive or a blocking probe"
    EXPECT_FLAGGED INTO_FLAGGED FLAGGED KEPT_FLAGGED: "a nonblocking probe"
    EXPECT_ENDED INTO_ENDED ENDED KEPT_ENDED: "a wait"
    EXPECT_TESTED INTO_TESTED TESTED KEPT_TESTED: "a test"
    EXPECT_INDEXED INTO_INDEXED INDEXED KEPT_INDEXED: "a wait for one of several requests"
    EXPECT_INDEXED_FLAGGED INTO_INDEXED_FLAGGED INDEXED_FLAGGED KEPT_INDEXED_FLAGGED: "a test of one of several requests"
    EXPECT_SOME INTO_SOME SOME KEPT_SOME: "a wait for, or a test of, those requests that have ended"
    EXPECT_ALL_FLAGGED INTO_ALL_FLAGGED ALL_FLAGGED KEPT_FLAG: "a test of several requests"
    EXPECT_FLAG INTO_FLAG FLAG KEPT_FLAG: "a test of a window"
    EXPECT_FLAG_OF_PARTITION INTO_FLAG_OF_PARTITION FLAG KEPT_FLAG: "MPI_Parrived"
    EXPECT_RANK INTO_RANK RANK KEPT_RANK: "MPI_Comm_rank"
    EXPECT_NUMBER INTO_NUMBER NUMBER KEPT_NUMBER: "MPI_Comm_size"
    EXPECT_REMOTE INTO_REMOTE REMOTE KEPT_REMOTE: "MPI_Comm_remote_size"
    EXPECT_PART INTO_PART PART KEPT_PART: "a query of a shared window"
}

/// The values of a wait for several requests that must be these.
pub(in crate::statements) const EXPECT_STATUSES: Field = {
    static FIELDS: &[Field] = &STATUSES;
    static SHAPE: Shape = Shape::Object(FIELDS);
    optional("expect", &SHAPE, "Values that it must return; another one ends the run.")
};
