//! What a scenario file may say: one table for the checker, for `--set` and for the JSON Schema.

mod applications;
mod claims;
mod collectives;
mod communicators;
mod cooperation;
pub mod datatypes;
mod faults;
mod figures;
mod gpu;
mod one_sided;
mod outside;
mod packing;
mod pieces;
mod sources;
mod sweep;
mod tiles;

pub(super) use claims::claim_kinds;
use claims::{CLAIM, POINT};
use form::fields::{
    COMM_FIELD, LONG, LONGEST, REQ, REQUEST, ROUNDS_FIELD, SIZE, SIZE_FIELD, SOURCE, TITLE,
    WARMUP_FIELD, WINDOW_FIELD, bytes, time,
};
use form::shape::export;
use form::shape::{Field, Need, Shape, Variant, default, joined, optional, required, variant};
use mpi::envelope::TAG_UB;
use units::Dimension;

/// The version of the form that this program reads.
pub const SCHEMA: u64 = 1;
/// The most threads of a process; a machine has fewer.
pub const MAX_THREADS: u64 = 1_024;
/// The most entries of a queue that is made before a workload begins.
pub const MAX_QUEUE: u64 = 1 << 20;
/// The seed where the scenario names none.
pub const DEFAULT_SEED: u64 = 1;
/// The most points of a sweep where the scenario sets no limit.
pub const DEFAULT_POINTS: u64 = 100_000;
/// The most events of a point where the scenario sets no limit.
pub const DEFAULT_EVENTS: u64 = 100_000_000_000;
/// The most memory of a point where the scenario sets no limit: what a machine of today has.
pub const DEFAULT_MEMORY: u64 = 16 << 30;

static VERSION: Shape = Shape::Count { min: SCHEMA, max: SCHEMA };

static RANKS: Shape = Shape::Object(&[
    default(
        "threads_per_process",
        &Shape::Count { min: 1, max: MAX_THREADS },
        "1",
        "Threads of a process; more than one in the workloads message_rate and collective only.",
    ),
    default(
        "addressing",
        &Shape::Word(&[
            ("process", "the threads of a process share its rank, each with tags of its own"),
            ("duplicated", "each thread has a duplicate of the communicator for itself"),
            ("endpoints", "each thread has an endpoint, a rank of its own, as `endpoints` says"),
            ("multiplexed", "the same, and all endpoints of a process share one NIC context"),
            ("xios_ep", "each thread has an endpoint of a library over plain MPI"),
            ("separate", "each thread is a process of its own"),
        ]),
        "process",
        "How messages find their thread.",
    ),
    optional("endpoints", &ENDPOINTS, "What the endpoints of a process share."),
    default(
        "pinning",
        &Shape::Word(&[
            ("scatter", "a second hardware thread of a core when every core has one"),
            ("compact", "all hardware threads of a core before the next core"),
            ("sockets", "as scatter, each core on another socket than the one before"),
            ("tiles", "as scatter, each core on another tile than the one before"),
        ]),
        "scatter",
        "Which hardware threads are used.",
    ),
    default(
        "placement",
        &Shape::Word(&[
            ("block", "ranks fill one node after the other"),
            ("round_robin", "ranks go to the nodes in turn"),
        ]),
        "block",
        "Which process runs on which node.",
    ),
    default(
        "progress_thread",
        &Shape::Flag,
        "false",
        "Whether a thread beside each rank waits inside MPI, and makes progress while the rank \
         computes; it has a hardware thread of its own, the next one that `pinning` gives.",
    ),
    default("oversubscribe", &Shape::Flag, "false", "Whether processes may share a core."),
]);

static ENDPOINTS: Shape = Shape::Object(&[
    default(
        "nic_contexts",
        &Shape::Either(&[
            Shape::Word(&[("own", "each endpoint has one")]),
            Shape::Count { min: 1, max: MAX_THREADS },
        ]),
        "own",
        "NIC contexts of a process: queue pairs, channels and completion queues.",
    ),
    default(
        "queues",
        &Shape::Word(&[
            ("own", "each endpoint has matching queues"),
            ("shared", "all ranks of a process share one pair of queues"),
        ]),
        "own",
        "Where messages of endpoints are matched.",
    ),
    default(
        "progress",
        &Shape::Word(&[
            ("independent", "a call makes progress for its own endpoint"),
            ("process", "a call makes progress for all endpoints of the process"),
        ]),
        "independent",
        "What a call on one endpoint owes the others.",
    ),
    default(
        "threading",
        &Shape::Word(&[
            ("one", "one thread uses an endpoint: what it has for itself needs no lock"),
            ("any", "any thread may use any endpoint"),
        ]),
        "one",
        "What the program promises about its threads.",
    ),
    default(
        "creation",
        &Shape::Word(&[
            ("dynamic", "MPI_Comm_create_endpoints: each endpoint has a handle"),
            ("static", "made at the start: threads attach, and each call looks up its endpoint"),
        ]),
        "dynamic",
        "How endpoints come to be.",
    ),
]);

static TOPOLOGY: Shape = Shape::Tagged {
    tag: "kind",
    variants: &[
        variant("crossbar", &[], "One switch that all nodes are attached to."),
        variant(
            "fat_tree",
            &[
                required(
                    "arity",
                    &Shape::Count { min: 1, max: 1024 },
                    "16",
                    "Nodes of a leaf switch; also the children of a switch further up.",
                ),
                default("levels", &Shape::Count { min: 2, max: 4 }, "2", "Levels of switches."),
                default(
                    "oversubscription",
                    &Shape::Count { min: 1, max: 1024 },
                    "1",
                    "Links downwards for each link upwards of a switch; at most `arity`.",
                ),
            ],
            "Switches in levels.",
        ),
    ],
};

static MPI: Shape = Shape::Object(&[
    cooperation::BETWEEN_NODES,
    default(
        "eager_threshold",
        &SIZE,
        "machine.mpi.eager_threshold_inter",
        "Largest message that is sent eagerly between nodes.",
    ),
    default(
        "eager_threshold_intra",
        &SIZE,
        "machine.mpi.eager_threshold_intra",
        "Largest message that is sent eagerly inside a node.",
    ),
    default(
        "payload",
        &Shape::Word(&[
            ("phantom", "only sizes move"),
            ("real", "bytes move and are compared at the end"),
        ]),
        "phantom",
        "Whether the bytes of messages exist.",
    ),
    default(
        "connections",
        &Shape::Word(&[
            ("per_peer", "a channel and receive buffers for each peer"),
            ("shared_receive_queue", "one channel for all peers on other nodes"),
        ]),
        "machine.mpi.shared_queue_from",
        "How a process is connected to its peers; a pass of the progress engine polls each channel. Left \
         out: as the machine's library does it with so many peers on other nodes.",
    ),
    cooperation::LIBRARY,
    default(
        "rendezvous_intra",
        &cooperation::INTRA,
        "by `library`",
        "How a message above the intra-node eager threshold moves: one scheme, or rules of which \
         the first that fits decides.",
    ),
    default(
        "single_copy",
        &cooperation::KERNEL,
        "cma",
        "How processes of a node copy from each other.",
    ),
    optional("cooperation", &cooperation::SETTINGS, "What the schemes inside a node need to know."),
    optional("rma", &one_sided::SETTINGS, "How windows work."),
    optional("collectives", &collectives::CHOICES, "Algorithms of collective operations."),
    default(
        "lock",
        &Shape::Word(&[
            ("fair", "the library lock goes to the thread that waits longest"),
            ("unfair", "the library lock goes to the thread that its line reaches first"),
        ]),
        "fair",
        "Who gets the library lock that several threads of a process wait for.",
    ),
]);

static BETWEEN: Shape = Shape::Word(&[
    ("nodes", "the two processes are on two nodes"),
    ("cores", "the two processes are on one node"),
]);

const BETWEEN_FIELD: Field = default("between", &BETWEEN, "nodes", "Where the two processes are.");
const PAIRS_FIELD: Field = default(
    "pairs",
    &Shape::Count { min: 1, max: 65_536 },
    "1",
    "Pairs of processes; more than one between `cores` only. The bandwidth is their sum.",
);
const BUFFERS_FIELD: Field = default(
    "buffers",
    &Shape::Word(&[
        ("own", "each message of a window has one"),
        ("one", "all messages of a window have the same one, as in osu_bw"),
    ]),
    "own",
    "The buffers of a window, on each side.",
);

static QUEUE_KIND: Shape = Shape::Word(&[
    ("expected", "posted receives that never match: every arrival walks past them"),
    ("unexpected", "messages that nobody asks for: every posted receive walks past them"),
]);
static QUEUE_LENGTH: Shape = Shape::Count { min: 0, max: MAX_QUEUE };
const QUEUE_FIELDS: [Field; 2] = [
    required("kind", &QUEUE_KIND, "\"expected\"", "Which of the two matching queues is long."),
    required("length", &QUEUE_LENGTH, "64", "Entries that stand in it through all rounds."),
];
static QUEUE: Shape = Shape::Object(&QUEUE_FIELDS);
static THREADED_QUEUE: Shape = Shape::Object(&[
    QUEUE_FIELDS[0],
    QUEUE_FIELDS[1],
    default(
        "length_per",
        &Shape::Word(&[
            ("process", "all threads of a process share `length` entries"),
            ("thread", "`length` entries for each thread, all in the queue of the process"),
        ]),
        "process",
        "What the length counts for.",
    ),
]);
const QUEUE_FIELD: Field =
    optional("queue", &QUEUE, "A queue that is long at the answering process.");

static WORKLOAD: Shape = Shape::Tagged {
    tag: "kind",
    variants: &[
        variant(
            "ping_pong",
            &[SIZE_FIELD, ROUNDS_FIELD, WARMUP_FIELD, BETWEEN_FIELD, QUEUE_FIELD],
            "Two processes send one message to and fro; a round is both ways.",
        ),
        variant(
            "bandwidth",
            &[
                SIZE_FIELD,
                WINDOW_FIELD,
                ROUNDS_FIELD,
                WARMUP_FIELD,
                BETWEEN_FIELD,
                PAIRS_FIELD,
                BUFFERS_FIELD,
            ],
            "One process sends windows of messages to another, which answers each window.",
        ),
        variant(
            "bidirectional_bandwidth",
            &[
                SIZE_FIELD,
                WINDOW_FIELD,
                ROUNDS_FIELD,
                WARMUP_FIELD,
                BETWEEN_FIELD,
                PAIRS_FIELD,
                BUFFERS_FIELD,
            ],
            "Two processes send windows of messages to each other at once.",
        ),
        variant(
            "message_rate",
            &[
                required(
                    "senders_per_node",
                    &Shape::Count { min: 1, max: 65_536 },
                    "16",
                    "Sending processes of a node, each paired with a receiver on the next node.",
                ),
                SIZE_FIELD,
                WINDOW_FIELD,
                ROUNDS_FIELD,
                WARMUP_FIELD,
                default(
                    "direction",
                    &Shape::Word(&[
                        ("one", "the first node of a pair sends"),
                        ("both", "each node of a pair has senders and receivers"),
                    ]),
                    "both",
                    "Which nodes send.",
                ),
                optional("queue", &THREADED_QUEUE, "A queue that is long at every receiver."),
            ],
            "Pairs of processes on two nodes send windows of messages; the rate is their sum.",
        ),
        collectives::WORKLOAD,
        collectives::NONBLOCKING,
        tiles::WORKLOAD,
        packing::ALONE,
        packing::BESIDE,
        gpu::PING_PONG,
        gpu::STENCIL,
        applications::STENCIL,
        applications::GRAPH500,
        applications::COMD,
        applications::MINIGHOST,
        one_sided::MUTEX,
        one_sided::LINKED_LIST,
        one_sided::EPOCHS,
        one_sided::WINDOW_GROWTH,
        variant(
            "goal",
            &[required(
                "file",
                &SOURCE,
                "\"schedule.goal\"",
                "A schedule in GOAL, beside the scenario; a computation of 1 takes 1 ns.",
            )],
            "A schedule of sends, receives and computations, replayed by calls of MPI.",
        ),
        variant(
            "program",
            &[
                required(
                    "ranks",
                    &Shape::List {
                        of: &Shape::List { of: &OPERATION, min: 0, max: 100_000 },
                        min: 1,
                        max: 4_096,
                    },
                    "[ [ { \"op\": \"send\", \"to\": 1, \"size\": \"8 B\" } ], \
                     [ { \"op\": \"recv\", \"src\": 0, \"max\": \"8 B\" } ] ]",
                    "One list of statements for each rank; each has a buffer of its own, so that every \
                     large message registers its buffers anew (docs/guide/programs.md). A file holds 500,000 values, about \
                     100,000 statements of all ranks together (E0216); longer ones are schedules in GOAL.",
                ),
                pieces::DATATYPES,
            ],
            "Statements, written out for each rank.",
        ),
    ],
};

static REQUESTS: Shape = Shape::List { of: &Shape::Name, min: 0, max: 100_000 };
static PEER: Shape = Shape::Either(&[
    Shape::Count { min: 0, max: u32::MAX as u64 },
    Shape::Word(&[
        ("any", "MPI_ANY_SOURCE, in receives and probes only"),
        ("proc_null", "MPI_PROC_NULL"),
    ]),
]);
static TAG: Shape = Shape::Either(&[
    Shape::Count { min: 0, max: TAG_UB.cast_unsigned() as u64 },
    Shape::Word(&[("any", "MPI_ANY_TAG, in receives and probes only")]),
]);

const TO: Field = required("to", &PEER, "1", "The receiver's rank in the communicator.");
const SRC: Field =
    required("src", &PEER, "0", "The sender's rank in the communicator, or \"any\".");
const TAG_FIELD: Field =
    default("tag", &TAG, "0", "The tag, 0 to 2147483647 (MPI_TAG_UB, the greatest C int).");
const ATTACHED: Field =
    required("size", &SIZE, "\"1 MiB\"", "Bytes of room for the process's buffered sends.");
const REQS: Field = required("reqs", &REQUESTS, "[ \"a\" ]", "The names of the requests.");
const HANDLE: Field = required("handle", &REQUEST, "\"m\"", "The name of the matched message.");

use pieces::{COUNT, MESSAGE, ROOM, TYPE, WITHIN};

static MESSAGES_AND_COMMUNICATORS: [Variant; 36] = [
    variant("isend", &[TO, TAG_FIELD, COMM_FIELD, MESSAGE, TYPE, COUNT, WITHIN, REQ], "MPI_Isend"),
    variant(
        "issend",
        &[TO, TAG_FIELD, COMM_FIELD, MESSAGE, TYPE, COUNT, WITHIN, REQ],
        "MPI_Issend",
    ),
    variant("send", &[TO, TAG_FIELD, COMM_FIELD, MESSAGE, TYPE, COUNT, WITHIN], "MPI_Send"),
    variant("ssend", &[TO, TAG_FIELD, COMM_FIELD, MESSAGE, TYPE, COUNT, WITHIN], "MPI_Ssend"),
    variant(
        "ibsend",
        &[TO, TAG_FIELD, COMM_FIELD, MESSAGE, TYPE, COUNT, WITHIN, REQ],
        "MPI_Ibsend",
    ),
    variant("bsend", &[TO, TAG_FIELD, COMM_FIELD, MESSAGE, TYPE, COUNT, WITHIN], "MPI_Bsend"),
    variant(
        "irsend",
        &[TO, TAG_FIELD, COMM_FIELD, MESSAGE, TYPE, COUNT, WITHIN, REQ],
        "MPI_Irsend",
    ),
    variant("rsend", &[TO, TAG_FIELD, COMM_FIELD, MESSAGE, TYPE, COUNT, WITHIN], "MPI_Rsend"),
    variant("buffer_attach", &[ATTACHED], "MPI_Buffer_attach"),
    variant("buffer_detach", &[], "MPI_Buffer_detach"),
    variant("irecv", &[SRC, TAG_FIELD, COMM_FIELD, ROOM, TYPE, COUNT, WITHIN, REQ], "MPI_Irecv"),
    variant("recv", &[SRC, TAG_FIELD, COMM_FIELD, ROOM, TYPE, COUNT, WITHIN], "MPI_Recv"),
    variant("wait", &[REQ], "MPI_Wait"),
    variant("waitall", &[REQS], "MPI_Waitall"),
    variant("waitany", &[REQS], "MPI_Waitany"),
    variant("test", &[REQ], "MPI_Test"),
    variant("testall", &[REQS], "MPI_Testall"),
    variant("probe", &[SRC, TAG_FIELD, COMM_FIELD], "MPI_Probe"),
    variant("iprobe", &[SRC, TAG_FIELD, COMM_FIELD], "MPI_Iprobe"),
    variant("mprobe", &[HANDLE, SRC, TAG_FIELD, COMM_FIELD], "MPI_Mprobe"),
    variant("improbe", &[HANDLE, SRC, TAG_FIELD, COMM_FIELD], "MPI_Improbe"),
    variant("mrecv", &[HANDLE, ROOM, TYPE, COUNT, WITHIN], "MPI_Mrecv"),
    variant("imrecv", &[HANDLE, ROOM, TYPE, COUNT, WITHIN, REQ], "MPI_Imrecv"),
    variant("cancel", &[REQ], "MPI_Cancel"),
    variant("barrier", &[COMM_FIELD], "MPI_Barrier"),
    communicators::DUP,
    communicators::SPLIT,
    communicators::CREATE_GROUP,
    communicators::INTERCOMM_CREATE,
    communicators::INTERCOMM_MERGE,
    communicators::FREE,
    communicators::CREATE_ENDPOINTS,
    communicators::FREE_ENDPOINT,
    collectives::IBARRIER,
    outside::COMPUTE,
    outside::TIMER,
];

static OPERATIONS: [Variant; MESSAGES_AND_COMMUNICATORS.len() + collectives::STATEMENTS.len()] =
    joined(&MESSAGES_AND_COMMUNICATORS, &collectives::STATEMENTS);
static OPERATION: Shape = Shape::Tagged { tag: "op", variants: &OPERATIONS };

static NOISE: Shape = Shape::Object(&[
    default(
        "start_skew",
        &Shape::Either(&[Shape::Flag, time(0, LONG)]),
        "false",
        "Each process starts after a uniform random time up to this; true: as the machine says.",
    ),
    default(
        "os_noise",
        &Shape::Either(&[
            Shape::Flag,
            Shape::Object(&[
                required("period", &time(1, LONG), "\"1 ms\"", "Mean time between two."),
                required("length", &time(1, LONG), "\"5 us\"", "How long one takes."),
            ]),
        ]),
        "false",
        "Interruptions of each core by the operating system; true: as the machine says.",
    ),
]);

static LIMITS: Shape = Shape::Object(&[
    default(
        "events",
        &Shape::Count { min: 1, max: u64::MAX },
        "100000000000",
        "Events of a point, at most.",
    ),
    default("time", &time(1, LONGEST), "17280000 s", "Simulated time of a point, at most."),
    default(
        "memory",
        &bytes(1, 1 << 50),
        "16 GiB",
        "What a point may hold, at most, as the program counts it (docs/guide/limits.md).",
    ),
    default(
        "points",
        &Shape::Count { min: 1, max: 10_000_000 },
        "100000",
        "Points of the sweep, at most.",
    ),
]);

/// The keys of a scenario.
pub static SCENARIO: [Field; 20] = [
    required("schema", &VERSION, "1", "The version of this form."),
    required("title", &TITLE, "\"Message rate\"", "One line for figures and reports."),
    optional("source", &SOURCE, "Document and figure that it reproduces."),
    optional(
        "sources",
        &Shape::Paths(&sources::SOURCED),
        "Where numbers of the scenario come from, by their paths: what was fitted, and what a document \
         states.",
    ),
    form::shape::NOTE,
    required("machine", &Shape::Machine, "\"knc-qdr\"", "The machine of every node."),
    default("nodes", &Shape::Count { min: 1, max: 1_000_000 }, "2", "Number of nodes."),
    Field { key: "ranks", shape: &RANKS, need: Need::Optional, doc: "Processes and threads." },
    Field {
        key: "topology",
        shape: &TOPOLOGY,
        need: Need::Default("crossbar"),
        doc: "The network.",
    },
    Field { key: "mpi", shape: &MPI, need: Need::Optional, doc: "Choices of the MPI library." },
    required(
        "workload",
        &WORKLOAD,
        "{ \"kind\": \"ping_pong\", \"size\": \"8 B\", \"rounds\": 100 }",
        "What the processes do.",
    ),
    default(
        "account",
        &Shape::Flag,
        "false",
        "Whether the metrics tell where the time of a message went.",
    ),
    optional("noise", &NOISE, "Random disturbances; off where it is missing."),
    optional(
        "faults",
        &faults::FAULTS,
        "What goes wrong, where and when; nothing where it is missing.",
    ),
    optional("transport", &faults::TRANSPORT, "What HCAs do where the faults lose packets."),
    optional("limits", &LIMITS, "Where a run stops."),
    default(
        "seed",
        &Shape::Count { min: 0, max: u64::MAX },
        "1",
        "The seed of all random streams.",
    ),
    optional("sweep", &Shape::Paths(&sweep::AXIS), "Axes: paths of fields and their values."),
    optional("figures", &figures::FIGURES, "What is drawn."),
    optional(
        "claims",
        &Shape::List { of: &CLAIM, min: 0, max: 1_000 },
        "What is expected of the results.",
    ),
];

/// The JSON Schema of a scenario.
pub fn scenario_schema() -> serde_json::Value {
    export::json_schema("mpisim scenario", &SCENARIO)
}

/// The JSON Schema of a machine model.
pub fn model_schema() -> serde_json::Value {
    export::model_schema("mpisim machine model")
}

/// A metric that a workload measures.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MetricSpec {
    /// The scenario's word for it.
    pub name: &'static str,
    /// What figures call it, where the word does not say it.
    pub title: Option<&'static str>,
    /// What it measures; `None` for a plain number.
    pub dimension: Option<Dimension>,
    /// The unit that results are in; empty for a count.
    pub unit: &'static str,
    /// Smallest steps of the dimension in one such unit; billionths for a plain number.
    pub steps_per_unit: u64,
}

const fn metric(
    name: &'static str,
    dimension: Dimension,
    unit: &'static str,
    steps_per_unit: u64,
) -> MetricSpec {
    MetricSpec { name, title: None, dimension: Some(dimension), unit, steps_per_unit }
}

const fn time_metric(name: &'static str) -> MetricSpec {
    metric(name, Dimension::Time, "us", 1_000_000)
}

const fn number(name: &'static str, unit: &'static str) -> MetricSpec {
    MetricSpec { name, title: None, dimension: None, unit, steps_per_unit: 1_000_000_000 }
}

const fn titled(title: &'static str, metric: MetricSpec) -> MetricSpec {
    MetricSpec { title: Some(title), ..metric }
}

const TIME_METRIC: MetricSpec = time_metric("time");
const LATENCY: MetricSpec = time_metric("latency");
const EXPOSED: MetricSpec =
    titled("Time of a call beyond the computation beside it", time_metric("exposed"));
const BANDWIDTH: MetricSpec = metric("bandwidth", Dimension::Bandwidth, "MB/s", 8_000_000);
const MESSAGE_RATE: MetricSpec = metric("message_rate", Dimension::Rate, "msg/s", 1);

const CYCLE_TIME: MetricSpec =
    titled("Mean time to take the mutex and give it back", time_metric("cycle_time"));
const HANDOVER: MetricSpec =
    titled("Mean time from one holder to the next", time_metric("handover"));
const PACKETS: MetricSpec =
    titled("Packets of all processes for each cycle", number("packets_per_cycle", ""));
const BYPASSES: MetricSpec =
    titled("The most times that a process was overtaken while it waited", number("bypasses", ""));
const EPOCH_TIME: MetricSpec = titled("Mean time of an epoch", time_metric("epoch_time"));
const EPOCH_EVERY: MetricSpec =
    titled("Mean time from one epoch of any process to the next", time_metric("epoch_every"));
const EPOCH_PACKETS: MetricSpec =
    titled("Packets of its origin for each epoch", number("packets_per_epoch", ""));
const ELEMENT_TIME: MetricSpec = titled("Mean time of an element", time_metric("element_time"));
const PACKETS_OF_ELEMENT: MetricSpec =
    titled("Packets of all processes for each element", number("packets_per_element", ""));
const READS: MetricSpec =
    titled("Reads of a pointer for each element", number("reads_per_element", ""));
const GROWTH_TIME: MetricSpec =
    titled("Mean time to double the window", time_metric("growth_time"));
const STEP_TIME: MetricSpec = time_metric("step_time");
const COMMUNICATION: MetricSpec = time_metric("communication_time");
const COPIES: MetricSpec =
    titled("Messages that the core of the watched rank copies in a step", number("copies", ""));
const COPIES_MEAN: MetricSpec =
    titled("Messages that a core copies in a step, in the mean", number("copies_mean", ""));
const COPYING: MetricSpec =
    titled("Time of a step in which the watched rank copies", time_metric("copying"));
const COPYING_MEAN: MetricSpec =
    titled("Time of a step in which a rank copies, in the mean", time_metric("copying_mean"));
const IMBALANCE: MetricSpec =
    titled("How far the copies of a rank are from the mean, at most", number("copy_imbalance", ""));
const SEARCH_TIME: MetricSpec = time_metric("search_time");
const LEVELS: MetricSpec = number("levels", "");
const EDGE_ENDS: MetricSpec = number("edge_ends", "");
const PAIRS: MetricSpec = number("pairs", "");
const PACK_TIME: MetricSpec =
    titled("Time from asking for the packing to its end", time_metric("pack_time"));
const OTHER_TIME: MetricSpec =
    titled("Time from asking for the other operation to its end", time_metric("other_time"));
const BUS_BYTES: MetricSpec =
    titled("Bytes over the bus, headers included", metric("bus_bytes", Dimension::Bytes, "B", 1));
const SPEED: MetricSpec = titled("Operations of all nodes in a second", number("speed", "GFLOPS"));
const MOVED: MetricSpec = metric("moved", Dimension::Bytes, "B", 1);

const STENCIL: [MetricSpec; 8] =
    [STEP_TIME, COMMUNICATION, COPIES, COPIES_MEAN, IMBALANCE, COPYING, COPYING_MEAN, TIME_METRIC];

/// The metrics of a workload kind, the main one first.
const fn main_metrics(kind: &str) -> &'static [MetricSpec] {
    match kind.as_bytes() {
        b"ping_pong" | b"gpu_ping_pong" => &[LATENCY, BANDWIDTH, TIME_METRIC],
        b"bandwidth" | b"bidirectional_bandwidth" => &[BANDWIDTH, MESSAGE_RATE, TIME_METRIC],
        b"message_rate" => &[MESSAGE_RATE, BANDWIDTH, TIME_METRIC],
        b"collective" => &[LATENCY, MESSAGE_RATE, TIME_METRIC],
        b"nonblocking_collective" => &[EXPOSED, LATENCY, TIME_METRIC],
        b"mutex" => &[CYCLE_TIME, HANDOVER, PACKETS, BYPASSES, TIME_METRIC],
        b"rma_epochs" => &[EPOCH_TIME, EPOCH_EVERY, EPOCH_PACKETS, TIME_METRIC],
        b"linked_list" => &[ELEMENT_TIME, PACKETS_OF_ELEMENT, READS, TIME_METRIC],
        b"window_growth" => &[GROWTH_TIME, TIME_METRIC],
        b"pack" => &[PACK_TIME, BANDWIDTH, BUS_BYTES, TIME_METRIC],
        b"pack_beside" => &[PACK_TIME, OTHER_TIME, TIME_METRIC],
        b"gpu_stencil" => &[STEP_TIME, SPEED, TIME_METRIC],
        b"tiles" => &[STEP_TIME, MOVED, TIME_METRIC],
        b"stencil" => &STENCIL,
        b"comd" | b"minighost" => &[STEP_TIME, COMMUNICATION, TIME_METRIC],
        b"graph500" => &[SEARCH_TIME, COMMUNICATION, LEVELS, EDGE_ENDS, PAIRS, TIME_METRIC],
        _ => &[TIME_METRIC],
    }
}

/// Where the time of a message went: means over the messages of the timed rounds, of all threads
/// together, so that a sender's and a receiver's time add up.
static ACCOUNT: [MetricSpec; 18] = [
    // Threads that send, on each node that does.
    titled("Threads of a node that send", number("agents", "")),
    titled("Queue entries compared for a message", number("entries_per_message", "")),
    titled("Entries of the longest queue of posted receives", number("longest_posted", "")),
    titled("Entries of the longest queue of unexpected messages", number("longest_unexpected", "")),
    // Of the endpoint library, over the whole run: probes for each message that it took, messages
    // that a check took, the most messages that an endpoint had.
    number("probes_per_message", ""),
    number("drained_per_check", ""),
    number("longest_list", ""),
    titled(
        "Share of the time in which threads are created and joined",
        number("fork_join_share", "%"),
    ),
    titled("Time inside locks, which overlaps the times beside it", time_metric("lock_hold")),
    time_metric("lock_wait"),
    time_metric("walk_time"),
    time_metric("poll_time"),
    time_metric("post_time"),
    time_metric("library_time"),
    titled("Time of entering the kernel and pinning pages", time_metric("kernel_time")),
    time_metric("copy_time"),
    time_metric("wait_time"),
    time_metric("outside_time"),
];

/// Of a ping-pong, where one message is under way at a time: processes that copy, in the mean. Where
/// one side alone copies, the part of its time.
static COPIERS: [MetricSpec; 1] =
    [titled("Processes that copy, in the mean", number("copiers", ""))];

/// Whether a metric is one of the account that a scenario must ask for.
pub fn is_of_account(name: &str) -> bool {
    ACCOUNT.iter().chain(&COPIERS).any(|metric| metric.name == name)
}

/// What a metric of an account is, where its name does not say it.
pub fn legend(name: &str) -> Option<&'static str> {
    let mut account = ACCOUNT.iter().chain(&COPIERS);
    account.find(|metric| metric.name == name).and_then(|metric| metric.title)
}

/// The metrics of a workload kind, the main one first, then those of its account.
pub fn metrics(kind: &str, account: bool) -> Vec<&'static MetricSpec> {
    let (account, copiers): (&[_], &[_]) = match (account, kind) {
        (true, "ping_pong") => (&ACCOUNT, &COPIERS),
        (true, _) => (&ACCOUNT, &[]),
        (false, _) => (&[], &[]),
    };
    main_metrics(kind).iter().chain(account).chain(copiers).collect()
}
