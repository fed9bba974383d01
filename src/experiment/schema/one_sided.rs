//! Windows: how they work, and the workloads over them.

use form::fields::{LONG, POSITIVE, SIZE, time};
use form::shape::{Field, Shape, Variant, default, optional, required, variant};

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

static COUNT: Shape = Shape::Count { min: 1, max: 65_536 };
static TIME: Shape = time(0, LONG);
/// At most 1 ms.
static PAUSE: Shape = time(1, 1_000_000_000);
static DOUBLINGS: Shape = Shape::Count { min: 0, max: 16 };

const PROCESSES: Field = required("processes", &COUNT, "16", "Processes in all.");
const PER_NODE: Field =
    required("processes_per_node", &COUNT, "8", "Processes of a node, at most.");
const WINDOW: Field = default(
    "window",
    &Shape::Word(&[
        ("allocated", "each process has its part in its own memory"),
        ("shared", "all parts lie in memory that all map: one node"),
    ]),
    "allocated",
    "How the window is made.",
);

/// One mutex, and all processes contend for it.
pub(super) static MUTEX: Variant = variant(
    "mutex",
    &[
        required(
            "algorithm",
            &Shape::Word(&[
                ("byte_vector", "MPI-2: a byte for each rank, in exclusive epochs"),
                ("mcs", "MPI-3: a queue of ranks; the release reads its own `next` first"),
                ("mcs_cas_first", "the same, with the compare-and-swap first"),
                ("test_and_set", "compare-and-swap until it succeeds, with growing pauses"),
            ]),
            "\"mcs\"",
            "The mutex.",
        ),
        PROCESSES,
        PER_NODE,
        required("cycles", &POSITIVE, "200", "Times that each process takes the mutex."),
        default("inside", &TIME, "0 s", "Work while it is held."),
        default("outside", &TIME, "0 s", "Work between two cycles."),
        default("first_pause", &PAUSE, "2 us", "First pause of test_and_set after a failure."),
        default("doublings", &DOUBLINGS, "6", "Failures that double its pause; at most 16."),
        WINDOW,
    ],
    "All processes take one mutex on rank 0 and give it back.",
);

/// One list, and all processes append to it.
pub(super) static LINKED_LIST: Variant = variant(
    "linked_list",
    &[
        required(
            "idiom",
            &Shape::Word(&[
                ("exclusive", "MPI-2: an exclusive lock for each put and get"),
                ("shared", "MPI-3: a shared lock for each accumulate"),
                ("lock_all", "MPI-3: one lock of all, and a flush after each accumulate"),
            ]),
            "\"lock_all\"",
            "The epoch around each access.",
        ),
        PROCESSES,
        PER_NODE,
        required("elements", &POSITIVE, "1000", "Elements of the list."),
        default(
            "count",
            &Shape::Word(&[
                ("total", "the list gets so many"),
                ("per_process", "each process makes so many"),
            ]),
            "total",
            "What `elements` counts.",
        ),
        default(
            "probes",
            &Shape::Word(&[
                ("one", "one"),
                ("doubling", "twice as many each time, at most as many as processes"),
            ]),
            "one",
            "Probes between two looks at a pointer that is null: the library works meanwhile.",
        ),
    ],
    "All processes append to one list in a dynamic window, in turn.",
);

/// Epochs of all but the first process towards its window.
pub(super) static EPOCHS: Variant = variant(
    "rma_epochs",
    &[
        required(
            "epoch",
            &Shape::Word(&[
                ("exclusive", "a lock alone around puts and gets"),
                ("shared", "a lock with others around operations of the accumulate family"),
                ("lock_all", "a flush after them, inside one lock of all"),
                ("lock_all_puts", "a flush after puts and gets, inside one lock of all"),
            ]),
            "\"lock_all\"",
            "How a process reaches the window.",
        ),
        required(
            "access",
            &Shape::Word(&[
                ("write", "it writes"),
                ("read", "it reads"),
                ("write_read", "it writes and then reads the same place"),
                ("fetch_add", "it adds to one number that all share"),
            ]),
            "\"write\"",
            "What it does there.",
        ),
        PROCESSES,
        PER_NODE,
        required("rounds", &POSITIVE, "100", "Measured epochs of each process."),
        default("operations", &POSITIVE, "1", "Operations of an epoch."),
        default("size", &SIZE, "8 B", "Bytes of an operation; 8 B where numbers are added."),
        default("busy", &TIME, "0 s", "Stretches of rank 0 outside MPI; 0: it waits inside."),
        default(
            "direct",
            &Shape::Word(&[
                ("none", "rank 0 leaves its window alone"),
                ("exclusive", "it works on it for `busy`, inside an exclusive lock"),
                ("unified", "it works on it for `busy`, without a lock"),
            ]),
            "none",
            "What rank 0 does with its own window.",
        ),
        WINDOW,
    ],
    "All processes but the first make epochs towards the window of rank 0, again and again.",
);

/// One window becomes twice as large.
pub(super) static WINDOW_GROWTH: Variant = variant(
    "window_growth",
    &[
        required(
            "by",
            &Shape::Word(&[
                ("recreate", "MPI-2: a larger window, a copy, and the end of the old one"),
                ("attach", "MPI-3: more memory for a dynamic window"),
            ]),
            "\"attach\"",
            "How it grows.",
        ),
        PROCESSES,
        PER_NODE,
        required("size", &SIZE, "\"1 MB\"", "Bytes of each process before."),
        default("rounds", &POSITIVE, "1", "Times that it grows; it begins with `size` each time."),
    ],
    "All processes make their window twice as large.",
);
