//! Windows: how they work.

use form::fields::{POSITIVE, SIZE};
use form::shape::{Shape, default, optional};

/// How windows work.
pub(super) static SETTINGS: Shape = Shape::Object(&[
    default(
        "issue",
        &Shape::Word(&[
            ("lazy", "operations leave with the flush or unlock that needs them"),
            ("eager", "the lock is asked for at once, and operations leave when it is granted"),
            ("adaptive", "lazily, until much waits for one target"),
        ]),
        "lazy",
        "When operations of a passive epoch leave their origin.",
    ),
    default(
        "adaptive_operations",
        &POSITIVE,
        "8",
        "Operations for one target beyond which an adaptive epoch turns eager.",
    ),
    default(
        "adaptive_bytes",
        &SIZE,
        "16 KiB",
        "Bytes for one target beyond which an adaptive epoch turns eager.",
    ),
    default(
        "transport",
        &Shape::Word(&[
            ("messages", "the target's library, told by messages"),
            ("rdma", "the target's HCA"),
            ("mixed", "the HCA puts and gets, the library accumulates"),
        ]),
        "messages",
        "Who carries operations out.",
    ),
    default("merge", &Shape::Flag, "true", "Whether one operation travels with lock and unlock."),
    default(
        "merge_limit",
        &SIZE,
        "the eager threshold to the target",
        "Largest payload that does.",
    ),
    default(
        "segment",
        &SIZE,
        "the eager threshold to the target",
        "Largest payload of a packet: a longer operation travels in several.",
    ),
    default(
        "done_after_merge",
        &Shape::Flag,
        "true",
        "Whether a merged put or accumulate is answered.",
    ),
    optional(
        "mapped_locks",
        &Shape::Word(&[
            ("messages", "the target's library grants them"),
            ("atomics", "the origin takes a ticket in shared memory, and waits until it is called"),
        ]),
        "How the locks of windows that are mapped are taken; by default as the machine's library does.",
    ),
    default(
        "checking",
        &Shape::Word(&[
            ("document", "as `rma` words the rules"),
            ("strict", "what that does not detect as well"),
            ("mpich", "as the library behaves that was recorded"),
        ]),
        "document",
        "Which calls are held to be in order.",
    ),
    optional(
        "model",
        &Shape::Word(&[
            ("separate", "loads and stores work on a copy of their own"),
            ("unified", "there is one copy"),
        ]),
        "What windows say of their memory; by default unified, where the adapter is coherent.",
    ),
    default(
        "conflicts",
        &Shape::Word(&[
            ("error", "they fail the run, which names both"),
            ("allowed", "nobody looks"),
        ]),
        "error",
        "What becomes of accesses that the memory model does not allow side by side.",
    ),
]);
