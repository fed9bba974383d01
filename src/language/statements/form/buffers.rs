//! Buffers with a name, and what a program writes into them and reads from them.

use super::collectives::TYPE;
use form::fields::SIZE;
use form::json::Node;
use form::shape::{Field, Shape, Variant, default, joined, optional, required, variant};
use form::typed::{self, Entry};

/// Values of one statement.
/// Limit: a longer list is refused.
const MOST_VALUES: usize = 4_096;

static LIST: Shape = Shape::List { of: &ENTRY, min: 0, max: 10_000 };
static ENTRY: Shape = Shape::Object(&[
    required("name", &Shape::Name, "\"halo\"", "What statements call it."),
    required("size", &SIZE, "\"8 KiB\"", "Its bytes, zero at the start; each rank has its own."),
]);
static AT: Shape = Shape::Expression(&Shape::Count { min: 0, max: i64::MAX as u64 });
static RANK: Shape = Shape::Expression(&Shape::Count { min: 0, max: u32::MAX as u64 });
static NUMBER: Shape = Shape::Expression(&Shape::Scalar);
static NUMBERS: Shape = Shape::List { of: &NUMBER, min: 1, max: MOST_VALUES };
static EXPECTED: Shape = Shape::Object(&[optional(
    "values",
    &NUMBERS,
    "The numbers that must lie there; another one ends the run.",
)]);
static KEPT: Shape = Shape::Object(&[optional(
    "value",
    &Shape::Name,
    "The variable that keeps the first number, a whole one.",
)]);

/// The buffers with a name, as written.
pub type NamedBuffers = Option<Node>;
/// The buffers with a name.
pub const BUFFERS: Entry = typed::optional(&LIST).saying(
    "Buffers of every rank, by name. Their bytes are the program's own: `store` writes them, `load` reads them.",
);

/// The buffer of a message.
pub(in crate::statements) const BUF: Field = optional(
    "buf",
    &Shape::Name,
    "The buffer, of `workload.buffers`; without it the statement has one of its own.",
);
/// The send buffer of a collective.
pub(in crate::statements) const SENDBUF: Field = optional(
    "sendbuf",
    &Shape::Name,
    "The send buffer, of `workload.buffers`; without it the statement has one of its own.",
);
/// The receive buffer of a collective.
pub(in crate::statements) const RECVBUF: Field = optional(
    "recvbuf",
    &Shape::Name,
    "The receive buffer, of `workload.buffers`; without it the statement has one of its own.",
);

const PLACE: [Field; 6] = [
    optional("buf", &Shape::Name, "The buffer, of `workload.buffers`; it, or `win`, is needed."),
    optional(
        "win",
        &Shape::Name,
        "The window whose memory is read or written: the rank's own part.",
    ),
    optional(
        "target",
        &RANK,
        "In a shared window, the rank whose part it is, after a `win_shared_query` of it; without it, the own part.",
    ),
    optional("memory", &Shape::Name, "In a dynamic window, the memory that the rank attaches."),
    default("type", &TYPE, "int32", "The type of its elements; a pair is two numbers."),
    default("at", &AT, "0", "The first element."),
];
static VALUES: [Field; 1] = [required(
    "values",
    &NUMBERS,
    "[ 1, \"= rank\" ]",
    "Numbers, or expressions of whole numbers.",
)];
static FOUND: [Field; 2] = [
    optional("expect", &EXPECTED, "Numbers that must lie there."),
    optional("into", &KEPT, "The variable that keeps the number."),
];
static OF_STORE: [Field; 7] = joined(&PLACE, &VALUES);
static OF_LOAD: [Field; 8] = joined(&PLACE, &FOUND);

pub(in crate::statements) const STORE: Variant =
    variant("store", &OF_STORE, "The program writes numbers into a buffer or a window.");
pub(in crate::statements) const LOAD: Variant =
    variant("load", &OF_LOAD, "The program reads numbers from a buffer or a window.");
