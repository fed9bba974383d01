//! Buffers in pieces of a program's messages: datatypes by name, and the keys of a send or a receive.

use crate::datatypes::DATATYPE;
use form::fields::SIZE;
use form::json::Node;
use form::shape::{Field, Shape, default, optional, required};
use form::typed::{self, Entry};

static LIST: Shape = Shape::List { of: &ENTRY, min: 0, max: 10_000 };
static ENTRY: Shape = Shape::Object(&[
    required("name", &Shape::Name, "\"column\"", "What statements call it."),
    required(
        "type",
        &DATATYPE,
        r#"{ "kind": "vector", "count": 64, "blocklength": 1, "stride": 64, "child": { "kind": "named", "name": "double" } }"#,
        "What it selects.",
    ),
]);
static COMPUTED_SIZE: Shape = Shape::Expression(&SIZE);
/// A datatype: a name, or a tree.
pub(super) static KNOWN: Shape = Shape::Either(&[Shape::Name, DATATYPE]);
static ELEMENTS: Shape = Shape::Count { min: 0, max: i64::MAX as u64 };

/// The datatypes that statements name, as written.
pub type NamedDatatypes = Option<Node>;
/// The datatypes that statements name.
pub const DATATYPES: Entry = typed::optional(&LIST).saying("Datatypes of the messages, by name.");
/// Bytes of a message.
pub(in crate::statements) const MESSAGE: Field =
    optional("size", &COMPUTED_SIZE, "Bytes of the message; it, or `datatype`, is needed.");
/// Bytes of a receive.
pub(in crate::statements) const ROOM: Field =
    optional("max", &COMPUTED_SIZE, "Bytes of the receive buffer; it, or `datatype`, is needed.");
/// What a buffer holds that lies in pieces.
pub(in crate::statements) const TYPE: Field = optional(
    "datatype",
    &KNOWN,
    "What lies in the buffer: a name of `workload.datatypes`, or a tree.",
);
/// How many elements of it.
pub(in crate::statements) const COUNT: Field =
    default("count", &ELEMENTS, "1", "Elements of the datatype.");
/// The room that they must lie in.
pub(in crate::statements) const WITHIN: Field = optional(
    "buffer",
    &SIZE,
    "Bytes of memory that the elements lie in, from displacement 0 or the lowest below it on; without \
     it as many as they need.",
);
