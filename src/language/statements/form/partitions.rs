//! Keys of partitioned operations.

use form::fields::SIZE;
use form::shape::{Field, Shape, optional, required};

static BYTES: Shape = Shape::Expression(&SIZE);
static NUMBER: Shape = Shape::Count { min: 1, max: u16::MAX as u64 };
static PARTITION: Shape = Shape::Expression(&Shape::Count { min: 0, max: u16::MAX as u64 });
static LISTED: Shape = Shape::List { of: &PARTITION, min: 0, max: u16::MAX as usize };

/// The bytes of all partitions.
pub(in crate::statements) const ALL: Field =
    required("size", &BYTES, "\"64 KiB\"", "Bytes of all partitions.");
/// Their number.
pub(in crate::statements) const PARTITIONS: Field =
    required("partitions", &NUMBER, "16", "How many partitions there are, of equal length.");
/// One of them.
pub(in crate::statements) const ONE: Field =
    required("partition", &PARTITION, "\"= thread\"", "The partition, from 0.");
/// The first of several.
pub(in crate::statements) const FIRST: Field =
    required("first", &PARTITION, "0", "The first partition, from 0.");
/// The last of several.
pub(in crate::statements) const LAST: Field =
    required("last", &PARTITION, "3", "The last partition.");
/// Some of them.
pub(in crate::statements) const LIST: Field =
    required("list", &LISTED, "[ 0, 2 ]", "The partitions.");
/// Whose request it is.
pub(in crate::statements) const THREAD: Field = optional(
    "thread",
    &PARTITION,
    "The thread of the process whose request it is; without it the thread that executes the statement. The programs of both are one `body`.",
);
