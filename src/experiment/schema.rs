//! What a scenario file may say: one table for the checker, for `--set` and for the JSON Schema.

mod claims;
mod figures;
pub mod limits;
pub mod noise;
mod sources;
mod sweep;
pub(super) mod topology;

pub(super) use claims::claim_kinds;
use claims::{CLAIM, POINT};
use form::fields::{SOURCE, TITLE};
use form::shape::export;
use form::shape::{Field, Need, Shape, default, optional, required};
use form::typed::Object as _;
use limits::LimitsForm;
use noise::NoiseForm;
use workloads::kind::{Kind, Workload};
use workloads::metric::MetricSpec;
use workloads::mpi_form::MpiForm;

/// The version of the form that this program reads.
pub const SCHEMA: u64 = 1;
/// The most threads of a process; a machine has fewer.
pub const MAX_THREADS: u64 = 1_024;
/// The seed where the scenario names none.
pub const DEFAULT_SEED: u64 = 1;

/// Keys of a scenario that change nothing of what runs.
pub const PRESENTATION: [&str; 6] = ["title", "source", "sources", "note", "figures", "claims"];
/// The most points of a sweep where the scenario sets no limit.
pub const DEFAULT_POINTS: u64 = 100_000;

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
            (
                "partitioned",
                "each thread makes a partition of its process's messages ready (`message_rate` only)",
            ),
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

static MPI: Shape = Shape::Object(MpiForm::FIELDS);

static NOISE: Shape = Shape::Object(NoiseForm::FIELDS);

static LIMITS: Shape = Shape::Object(LimitsForm::FIELDS);

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
    required("machine", &form::machine::MACHINE, "\"knc-qdr\"", "The machine of every node."),
    default("nodes", &Shape::Count { min: 1, max: 1_000_000 }, "2", "Number of nodes."),
    Field { key: "ranks", shape: &RANKS, need: Need::Optional, doc: "Processes and threads." },
    Field {
        key: "topology",
        shape: &topology::TOPOLOGY,
        need: Need::Default("crossbar"),
        doc: "The network.",
    },
    Field { key: "mpi", shape: &MPI, need: Need::Optional, doc: "Choices of the MPI library." },
    required(
        "workload",
        &workloads::WORKLOAD,
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
        &super::faults::FAULTS,
        "What goes wrong, where and when; nothing where it is missing.",
    ),
    optional("transport", &super::faults::TRANSPORT, "What HCAs do where the faults lose packets."),
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
    form::machine::model_schema("mpisim machine model")
}

/// Where the time of a message went: means over the messages of the timed rounds, of all threads
/// together, so that a sender's and a receiver's time add up.
static ACCOUNT: [MetricSpec; 18] = [
    // Threads that send, on each node that does.
    MetricSpec::number("agents", "").titled("Threads of a node that send"),
    MetricSpec::number("entries_per_message", "").titled("Queue entries compared for a message"),
    MetricSpec::number("longest_posted", "")
        .titled("Entries of the longest queue of posted receives"),
    MetricSpec::number("longest_unexpected", "")
        .titled("Entries of the longest queue of unexpected messages"),
    // Of the endpoint library, over the whole run: probes for each message that it took, messages
    // that a check took, the most messages that an endpoint had.
    MetricSpec::number("probes_per_message", ""),
    MetricSpec::number("drained_per_check", ""),
    MetricSpec::number("longest_list", ""),
    MetricSpec::number("fork_join_share", "%")
        .titled("Share of the time in which threads are created and joined"),
    MetricSpec::time("lock_hold").titled("Time inside locks, which overlaps the times beside it"),
    MetricSpec::time("lock_wait"),
    MetricSpec::time("walk_time"),
    MetricSpec::time("poll_time"),
    MetricSpec::time("post_time"),
    MetricSpec::time("library_time"),
    MetricSpec::time("kernel_time").titled("Time of entering the kernel and pinning pages"),
    MetricSpec::time("copy_time"),
    MetricSpec::time("wait_time"),
    MetricSpec::time("outside_time"),
];

/// The account, with what kinds of workloads have beside it.
fn all_of_account() -> impl Iterator<Item = &'static MetricSpec> {
    ACCOUNT.iter().chain(workloads::KINDS.into_iter().flat_map(|kind| kind.account))
}

/// Whether a metric is one of the account that a scenario must ask for.
pub fn is_of_account(name: &str) -> bool {
    all_of_account().any(|metric| metric.name == name)
}

/// The meaning of a metric of an account, where its name does not say it.
pub fn legend(name: &str) -> Option<&'static str> {
    all_of_account().find(|metric| metric.name == name).and_then(|metric| metric.title)
}

/// The metrics of a workload kind, the main one first, then those of its account.
pub fn metrics(kind: &str, account: bool) -> Vec<&'static MetricSpec> {
    let Some(kind) = workloads::kind_named(kind) else { return vec![&TIME] };
    with_account(kind, kind.metrics.iter().collect(), account)
}

/// The metrics of a workload, the main one first, then those of its account.
pub fn metrics_of(workload: &dyn Workload, account: bool) -> Vec<&'static MetricSpec> {
    with_account(workload.kind(), workload.metrics(), account)
}

fn with_account(
    kind: &'static Kind,
    mut all: Vec<&'static MetricSpec>,
    account: bool,
) -> Vec<&'static MetricSpec> {
    if account {
        all.extend(ACCOUNT.iter().chain(kind.account));
    }
    all
}

/// The metric of a workload of an unknown kind.
static TIME: MetricSpec = workloads::metric::TIME;
