//! Statements of a program that make and free communicators.

use form::fields::{COMM, COMM_FIELD, REQ, REQUEST};
use form::shape::{Field, Shape, default, required};
use protocols::call::GROUP_TAG_MAX;

static COLOR: Shape = Shape::Expression(&Shape::Either(&[
    Shape::Count { min: 0, max: i32::MAX as u64 },
    Shape::Word(&[("undefined", "MPI_UNDEFINED: this rank gets no communicator")]),
]));
static KEY: Shape =
    Shape::Expression(&Shape::Integer { min: i32::MIN as i64, max: i32::MAX as i64 });
static RANK: Shape = Shape::Count { min: 0, max: u32::MAX as u64 };
static COMPUTED_RANK: Shape = Shape::Expression(&RANK);
static TRUTH: Shape = Shape::Expression(&Shape::Flag);
static RANKS: Shape = Shape::List { of: &COMPUTED_RANK, min: 1, max: 4_096 };
static SOME_RANKS: Shape = Shape::List { of: &COMPUTED_RANK, min: 0, max: 4_096 };
static GROUP_TAG: Shape = Shape::Count { min: 0, max: GROUP_TAG_MAX.cast_unsigned() as u64 };
static LEADERS_TAG: Shape = Shape::Count { min: 0, max: i32::MAX as u64 };
static NEW_ENDPOINTS: Shape = Shape::List { of: &Shape::Name, min: 1, max: 1_024 };

const MADE: Field = required("comm", &REQUEST, "\"c\"", "The name of the communicator.");
const NEW: Field = required("new", &REQUEST, "\"c\"", "The name of the new communicator.");

pub(in crate::statements) static OF_DUP: [Field; 2] = [COMM_FIELD, NEW];
pub(in crate::statements) static OF_IDUP: [Field; 3] = [COMM_FIELD, NEW, REQ];
pub(in crate::statements) static OF_SPLIT: [Field; 4] = [
    COMM_FIELD,
    required("color", &COLOR, "0", "The part that this rank is in."),
    default("key", &KEY, "0", "Where it wants to stand there."),
    NEW,
];
static TYPE: Shape = Shape::Word(&[
    ("shared", "MPI_COMM_TYPE_SHARED: ranks of one node"),
    ("undefined", "MPI_UNDEFINED: this rank gets no communicator"),
]);
pub(in crate::statements) static OF_SPLIT_TYPE: [Field; 4] = [
    COMM_FIELD,
    default("type", &TYPE, "shared", "Which ranks stay together."),
    default("key", &KEY, "0", "Where it wants to stand there."),
    NEW,
];
pub(in crate::statements) static OF_CREATE: [Field; 3] = [
    COMM_FIELD,
    required(
        "ranks",
        &SOME_RANKS,
        "[ 0, 1 ]",
        "The group of the caller: ranks of `comm`, in the order of the new ones.",
    ),
    NEW,
];
pub(in crate::statements) static OF_GROUP: [Field; 4] = [
    COMM_FIELD,
    required(
        "ranks",
        &RANKS,
        "[ 0, 1 ]",
        "The group: ranks of `comm`, in the order of the new ones.",
    ),
    default("tag", &GROUP_TAG, "0", "Tells groups of one `comm` apart that are made at once."),
    NEW,
];
static EXTENTS: Shape =
    Shape::List { of: &Shape::Count { min: 1, max: u32::MAX as u64 }, min: 0, max: 32 };
static FLAGS: Shape = Shape::List { of: &Shape::Flag, min: 0, max: 32 };
static EDGES: Shape = Shape::List { of: &COMPUTED_RANK, min: 0, max: 4_096 };
pub(in crate::statements) static OF_CART: [Field; 4] = [
    COMM_FIELD,
    required(
        "dims",
        &EXTENTS,
        "[ 2, 1 ]",
        "Positions of each dimension; ranks of `comm` beyond them get no communicator.",
    ),
    default("periods", &FLAGS, "false for each", "Whether each dimension is periodic."),
    NEW,
];
pub(in crate::statements) static OF_CART_SUB: [Field; 3] = [
    MADE,
    required("remain", &FLAGS, "[ true, false ]", "Which dimensions of the grid remain."),
    NEW,
];
static NODES: Shape = Shape::List { of: &Shape::Count { min: 0, max: 4_096 }, min: 0, max: 4_096 };
static PLAIN_EDGES: Shape = Shape::List { of: &RANK, min: 0, max: 4_096 };
pub(in crate::statements) static OF_WHOLE_GRAPH: [Field; 4] = [
    COMM_FIELD,
    required(
        "index",
        &NODES,
        "[ 1, 2 ]",
        "How many edges there are up to each node; ranks of `comm` beyond them get no communicator.",
    ),
    required("edges", &PLAIN_EDGES, "[ 1, 0 ]", "The neighbours of one node after the other."),
    NEW,
];
pub(in crate::statements) static OF_NAMED_EDGES: [Field; 5] = [
    COMM_FIELD,
    required(
        "sources",
        &EDGES,
        "[ 0 ]",
        "Ranks from which edges lead; any rank may name any edge.",
    ),
    required("degrees", &NODES, "[ 1 ]", "How many edges lead from each of them."),
    required(
        "destinations",
        &EDGES,
        "[ 1 ]",
        "Where these lead to, for one source after the other.",
    ),
    NEW,
];
pub(in crate::statements) static OF_GRAPH: [Field; 4] = [
    COMM_FIELD,
    required("sources", &EDGES, "[ 1 ]", "The ranks from which messages come."),
    required("destinations", &EDGES, "[ 1 ]", "The ranks to which messages go."),
    NEW,
];
pub(in crate::statements) static OF_INTERCOMM: [Field; 6] = [
    COMM_FIELD,
    default("leader", &COMPUTED_RANK, "0", "The rank in `comm` that leads this group."),
    default("peer", &COMM, "0", "A communicator of both leaders; only the leader's word counts."),
    required(
        "remote_leader",
        &COMPUTED_RANK,
        "1",
        "The rank of the other leader in `peer`; likewise.",
    ),
    default("tag", &LEADERS_TAG, "0", "The tag of the leaders' exchange; both say the same."),
    NEW,
];
pub(in crate::statements) static OF_MERGE: [Field; 3] = [
    MADE,
    default("high", &TRUTH, "false", "Whether this side's ranks come last; a side says one."),
    NEW,
];
pub(in crate::statements) static OF_FREE: [Field; 1] = [MADE];
pub(in crate::statements) static OF_ENDPOINTS: [Field; 2] =
    [COMM_FIELD, required("new", &NEW_ENDPOINTS, "[ \"a\" ]", "The names of its endpoints.")];
