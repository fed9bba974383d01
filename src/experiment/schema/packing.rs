//! Packing in GPU memory.

use super::datatypes::DATATYPE;
use form::fields::{LONG, SIZE, bytes, time};
use form::shape::{Field, Shape, Variant, default, optional, required, variant};

static COUNT: Shape = Shape::Count { min: 1, max: 1 << 40 };
static TIME: Shape = time(1, LONG);
static BUFFER: Shape = bytes(1, 1 << 60);
static METHOD: Shape = Shape::Word(&[
    ("kernel", "a kernel for all types writes to the host"),
    ("kernel_staged", "it writes to device memory, and one copy follows"),
    ("hand_coded", "a kernel for this type writes to the host"),
    ("memcpy2d", "copies by equal rows at equal distances"),
    ("memcpy3d", "copies by boxes of such rows"),
    ("blockwise", "a copy for each contiguous block"),
    ("per_field", "a copy by rows for each member of a struct"),
    ("device_vector", "rows inside the device, then one copy"),
    ("points", "a copy for each primitive"),
    ("whole_extent", "one copy of all that the data lie in, and a core picks them out"),
    ("automatic", "the one of these that a rule expects to be the fastest"),
    ("cpu", "a core packs data that lie in host memory"),
]);
const INSTEAD: Field = optional(
    "fallback",
    &METHOD,
    "The method for a datatype that `method` cannot pack; without it such a datatype is an error.",
);
static TASK: Shape = Shape::Word(&[("pack", "out of the layout"), ("unpack", "into the layout")]);
static WHAT: Shape = Shape::Word(&[
    ("kernel", "a kernel on all SMs, as long as `time` says"),
    ("writing_kernel", "the same, and it stores `size` bytes into host memory"),
    ("to_device", "a copy of `size` bytes into device memory"),
    ("to_host", "a copy of `size` bytes out of device memory"),
    ("packing", "the same packing, by a core of another process"),
    ("exchange", "both copies at once, of `size` bytes each"),
]);
static ORDER: Shape = Shape::Word(&[
    ("serial", "the other one, and the packing when it has ended"),
    ("other_first", "the other one, and the packing at once after it"),
    ("pack_first", "the packing, and the other one at once after it"),
]);

static CONTEXTS: Shape = Shape::Word(&[
    ("own", "each has one of its own, and they take turns"),
    ("shared", "one serves both: their operations overlap like those of two streams"),
]);

const TYPE: Field = required(
    "datatype",
    &DATATYPE,
    r#"{ "kind": "vector", "count": 1024, "blocklength": 1, "stride": 64, "child": { "kind": "named", "name": "double" } }"#,
    "What is packed.",
);
const ELEMENTS: Field = default("count", &COUNT, "1", "Elements of the datatype.");
const BY: Field = required("method", &METHOD, "\"kernel\"", "How it is packed.");
const WHICH: Field = default("task", &TASK, "pack", "Which way.");
const THREADS: Field = default(
    "threads_per_block",
    &Shape::Count { min: 1, max: 1_024 },
    "256",
    "Threads of a block of the packing kernel.",
);

const DATA: Field = optional(
    "buffer",
    &BUFFER,
    "Bytes of device memory that the data lie in, from the lowest that the datatype touches on; \
     without it as many as it needs.",
);

/// A packing that has the GPU to itself.
pub(super) static ALONE: Variant = variant(
    "pack",
    &[TYPE, ELEMENTS, DATA, BY, INSTEAD, WHICH, THREADS],
    "Noncontiguous data in GPU memory are packed into pinned memory of the host, or unpacked from it.",
);

/// A packing beside something else.
pub(super) static BESIDE: Variant = variant(
    "pack_beside",
    &[
        TYPE,
        ELEMENTS,
        DATA,
        BY,
        INSTEAD,
        WHICH,
        THREADS,
        required("what", &WHAT, "\"kernel\"", "What else the GPU does, in another stream."),
        required("order", &ORDER, "\"serial\"", "Who is asked for first."),
        default(
            "contexts",
            &CONTEXTS,
            "own",
            "Whether two processes that pack share a context on the GPU.",
        ),
        optional("time", &TIME, "How long the other kernel computes."),
        optional(
            "size",
            &SIZE,
            "Bytes of the other copy, or stores; without it as many as are packed.",
        ),
    ],
    "As `pack`, while the GPU does something else.",
);
