//! Statements of a program about windows: their creation, operations on them, and their synchronisation.

use super::collectives::{PREDEFINED, TYPE as ELEMENT};
use super::pieces::KNOWN;
use super::returned::{EXPECT_FLAG, EXPECT_PART, INTO_FLAG, INTO_PART};
use form::fields::{COMM_FIELD, REQ, SIZE};
use form::shape::{Field, Shape, default, joined, optional, required};

static BYTES: Shape = Shape::Expression(&SIZE);
static UNIT: Shape = Shape::Count { min: 1, max: i32::MAX as u64 };
static PAGE: Shape = form::fields::bytes(1, 1 << 30);
static TARGET: Shape = Shape::Expression(&Shape::Either(&[
    Shape::Count { min: 0, max: u32::MAX as u64 },
    Shape::Word(&[("proc_null", "MPI_PROC_NULL")]),
]));
static RANK: Shape = Shape::Expression(&Shape::Count { min: 0, max: u32::MAX as u64 });
static RANKS: Shape = Shape::List { of: &RANK, min: 0, max: 4_096 };
static WHOLE_NUMBER: Shape = Shape::Count { min: 0, max: i64::MAX as u64 };
static WHOLE: Shape = Shape::Expression(&Shape::Count { min: 0, max: i64::MAX as u64 });
pub(crate) static OPERATOR: Shape = Shape::Word(
    const {
        &joined::<_, 14>(
            &PREDEFINED,
            &[
                ("replace", "MPI_REPLACE"),
                ("no_op", "MPI_NO_OP: the target stays as it is, and the origin has no buffer"),
            ],
        )
    },
);
static ASSERTIONS: Shape = Shape::List {
    of: &Shape::Word(&[
        ("no_precede", "MPI_MODE_NOPRECEDE: no operation was called since the last fence"),
        ("no_succeed", "MPI_MODE_NOSUCCEED: none will be called until the next one"),
        ("no_store", "MPI_MODE_NOSTORE: a hint, which changes nothing here"),
        ("no_put", "MPI_MODE_NOPUT: a hint, which changes nothing here"),
    ]),
    min: 0,
    max: 4,
};
static POST_HINTS: Shape = Shape::List {
    of: &Shape::Word(&[
        ("no_check", "MPI_MODE_NOCHECK: a hint, which changes nothing here"),
        ("no_store", "MPI_MODE_NOSTORE: a hint, which changes nothing here"),
        ("no_put", "MPI_MODE_NOPUT: a hint, which changes nothing here"),
    ]),
    min: 0,
    max: 3,
};
static START_HINTS: Shape = Shape::List {
    of: &Shape::Word(&[("no_check", "MPI_MODE_NOCHECK: a hint, which changes nothing here")]),
    min: 0,
    max: 1,
};
static LOCK_KIND: Shape =
    Shape::Word(&[("shared", "MPI_LOCK_SHARED"), ("exclusive", "MPI_LOCK_EXCLUSIVE")]);

const NEW: Field = required("new", &Shape::Name, "\"w\"", "The name of the new window.");
const OWN: Field = required("size", &BYTES, "\"64 B\"", "Bytes of this rank's part; they are 0.");
const UNIT_FIELD: Field = default("unit", &UNIT, "1", "Bytes of one displacement.");
const OVERLAP: Field = optional(
    "memory",
    &Shape::Name,
    "The name of the memory; windows that name the same one lie in it together.",
);
const ATTACHED: Field =
    required("memory", &Shape::Name, "\"m\"", "The name of the memory, which operations give.");
const WIN: Field = required("win", &Shape::Name, "\"w\"", "The name of the window.");
const TO: Field = required("target", &TARGET, "1", "The target's rank in the window.");
const AT: Field = required("target", &RANK, "1", "The target's rank in the window.");
const DISP: Field = default(
    "disp",
    &WHOLE,
    "0",
    "Displacement of the first byte, in units of the target's part; in attached memory in bytes.",
);
const MEMORY: Field = optional(
    "memory",
    &Shape::Name,
    "In a dynamic window, the memory that the target attaches: the name stands for the address that \
     MPI programs tell each other.",
);
const BYTES_FIELD: Field =
    optional("size", &BYTES, "Bytes of the operation; they, or `type`, are needed.");
const OPTIONAL_TYPE: Field =
    optional("type", &ELEMENT, "The type of the elements; it, or `size`, is needed.");
const TYPE: Field = default("type", &ELEMENT, "int32", "The type of the elements.");
const COUNT: Field = default("count", &WHOLE, "1", "Elements.");
const OPERATOR_FIELD: Field = default(
    "operator",
    &OPERATOR,
    "sum",
    "What an element of the target and one of the origin become.",
);
const TARGET_TYPE: Field = optional(
    "target_datatype",
    &KNOWN,
    "What lies at the target: pieces of one length at one distance, from displacement 0 of a datatype on. \
     Without it, as many bytes one after the other.",
);
const TARGET_COUNT: Field =
    default("target_count", &WHOLE_NUMBER, "1", "Elements of `target_datatype`.");
const ORIGIN: Field = optional(
    "origin",
    &Shape::Name,
    "The buffer of the origin, of `workload.buffers`; without it the operation has one of its own.",
);
const ORIGIN_AT: Field =
    default("origin_at", &WHOLE, "0", "Its first element there; beside `size` its first byte.");
const RESULT: Field = optional(
    "result",
    &Shape::Name,
    "The buffer of the old elements, of `workload.buffers`; without it the operation has one of its own.",
);
const RESULT_AT: Field = default("result_at", &WHOLE, "0", "The first old element there.");
const GROUP: Field = required("ranks", &RANKS, "[ 1 ]", "The group: ranks of the window.");
const NO_CHECK: Field = default(
    "no_check",
    &Shape::Flag,
    "false",
    "MPI_MODE_NOCHECK: no process holds or asks for a lock that conflicts.",
);

macro_rules! fields {
    ($name:ident: $($field:expr),* $(,)?) => {
        pub(in crate::statements) static $name: [Field; [$($field.key),*].len()] = [$($field),*];
    };
}

fields!(OF_CREATE: NEW, COMM_FIELD, OWN, UNIT_FIELD, OVERLAP);
fields!(OF_ALLOCATE: NEW, COMM_FIELD, OWN, UNIT_FIELD);
fields!(OF_SHARED: NEW, COMM_FIELD, OWN, UNIT_FIELD, optional(
    "page",
    &PAGE,
    "Each part begins on a page of so many bytes (the hint `alloc_shared_noncontig`); without it, where the \
     part before ends.",
));
fields!(OF_DYNAMIC: NEW, COMM_FIELD);
fields!(OF_ATTACH: WIN, ATTACHED, OWN);
fields!(OF_DETACH: WIN, ATTACHED);
fields!(OF_WINDOW: WIN);
fields!(OF_PUT: WIN, TO, DISP, MEMORY, TARGET_TYPE, TARGET_COUNT, BYTES_FIELD, OPTIONAL_TYPE, COUNT, ORIGIN, ORIGIN_AT);
fields!(OF_RPUT: WIN, TO, DISP, MEMORY, TARGET_TYPE, TARGET_COUNT, BYTES_FIELD, OPTIONAL_TYPE, COUNT, ORIGIN, ORIGIN_AT, REQ);
fields!(OF_ACCUMULATE: WIN, TO, DISP, MEMORY, TARGET_TYPE, TARGET_COUNT, TYPE, COUNT, OPERATOR_FIELD, ORIGIN, ORIGIN_AT);
fields!(OF_GET_ACCUMULATE: WIN, TO, DISP, MEMORY, TARGET_TYPE, TARGET_COUNT, TYPE, COUNT, OPERATOR_FIELD, ORIGIN, ORIGIN_AT, RESULT, RESULT_AT);
fields!(OF_RACCUMULATE: WIN, TO, DISP, MEMORY, TARGET_TYPE, TARGET_COUNT, TYPE, COUNT, OPERATOR_FIELD, ORIGIN, ORIGIN_AT, REQ);
fields!(OF_RGET_ACCUMULATE: WIN, TO, DISP, MEMORY, TARGET_TYPE, TARGET_COUNT, TYPE, COUNT, OPERATOR_FIELD, ORIGIN, ORIGIN_AT, RESULT, RESULT_AT, REQ);
fields!(OF_FETCH: WIN, TO, DISP, MEMORY, TYPE, OPERATOR_FIELD, ORIGIN, ORIGIN_AT, RESULT, RESULT_AT);
fields!(OF_SWAP: WIN, TO, DISP, MEMORY, TYPE, ORIGIN, ORIGIN_AT, RESULT, RESULT_AT);
fields!(OF_FENCE: WIN, default("assert", &ASSERTIONS, "[]", "What the rank asserts."));
fields!(OF_POST: WIN, GROUP, default("assert", &POST_HINTS, "[]", "What the rank asserts."));
fields!(OF_START: WIN, GROUP, default("assert", &START_HINTS, "[]", "What the rank asserts."));
fields!(OF_QUERY: WIN, AT, EXPECT_PART, INTO_PART);
fields!(OF_TEST: WIN, EXPECT_FLAG, INTO_FLAG);
fields!(OF_LOCK: WIN, AT, required("kind", &LOCK_KIND, "\"shared\"", "How it is locked."), NO_CHECK);
fields!(OF_LOCK_ALL: WIN, NO_CHECK);
fields!(OF_TARGET: WIN, AT);
