//! The statements of a program: which keys each has, and what it is in MPI.

pub mod buffers;
pub mod collectives;
mod communicators;
mod outside;
mod partitions;
pub mod pieces;
mod returned;
pub(crate) mod windows;

use buffers::{BUF, RECVBUF, SENDBUF};
use form::fields::{COMM_FIELD, MOST_OF_ARRAY, ONE_REQUEST, REQ, SIZE};
use form::shape::{Field, Shape, Variant, default, joined, required, variant};
use mpi::envelope::TAG_UB;
use partitions::{ALL, FIRST, LAST, LIST, ONE, PARTITIONS, THREAD};
use pieces::{COUNT, MESSAGE, ROOM, TYPE, WITHIN};
use returned::{
    EXPECT_ALL_FLAGGED, EXPECT_ENDED, EXPECT_FLAG_OF_PARTITION, EXPECT_FLAGGED, EXPECT_INDEXED,
    EXPECT_INDEXED_FLAGGED, EXPECT_NUMBER, EXPECT_RANK, EXPECT_RECEIVED, EXPECT_REMOTE,
    EXPECT_SOME, EXPECT_STATUSES, EXPECT_TESTED, INTO_ALL_FLAGGED, INTO_ENDED,
    INTO_FLAG_OF_PARTITION, INTO_FLAGGED, INTO_INDEXED, INTO_INDEXED_FLAGGED, INTO_NUMBER,
    INTO_RANK, INTO_RECEIVED, INTO_REMOTE, INTO_SOME, INTO_TESTED,
};

static MEMBERS: Shape = Shape::Expression(&Shape::Count { min: 0, max: MOST_OF_ARRAY });
static REQUESTS: Shape = Shape::Either(&[
    Shape::List { of: &ONE_REQUEST, min: 0, max: 100_000 },
    Shape::Object(&[
        required("name", &Shape::Name, "\"a\"", "The name of the array."),
        required("count", &MEMBERS, "\"= n\"", "Its first requests, so many of them."),
    ]),
]);
static COMPUTED_SIZE: Shape = Shape::Expression(&SIZE);
static PEER: Shape = Shape::Expression(&Shape::Either(&[
    Shape::Count { min: 0, max: u32::MAX as u64 },
    Shape::Word(&[
        ("any", "MPI_ANY_SOURCE, in receives and probes only"),
        ("proc_null", "MPI_PROC_NULL"),
    ]),
]));
static TAG: Shape = Shape::Expression(&Shape::Either(&[
    Shape::Count { min: 0, max: TAG_UB.cast_unsigned() as u64 },
    Shape::Word(&[("any", "MPI_ANY_TAG, in receives and probes only")]),
]));

const TO: Field = required("to", &PEER, "1", "The receiver's rank in the communicator.");
const SRC: Field =
    required("src", &PEER, "0", "The sender's rank in the communicator, or \"any\".");
const TAG_FIELD: Field =
    default("tag", &TAG, "0", "The tag, 0 to 2147483647 (MPI_TAG_UB, the greatest C int).");
const SEND_TAG: Field = default("send_tag", &TAG, "0", "The tag of what is sent, 0 to 2147483647.");
const RECV_TAG: Field =
    default("recv_tag", &TAG, "0", "The tag of what is received, 0 to 2147483647, or \"any\".");
const SIZE_SENT: Field =
    required("size", &COMPUTED_SIZE, "\"8 B\"", "Bytes of the message that is sent.");
const SIZE_REPLACED: Field = required(
    "size",
    &COMPUTED_SIZE,
    "\"8 B\"",
    "Bytes of the message that is sent, and of room for the one that is received.",
);
const ROOM_RECEIVED: Field =
    required("max", &COMPUTED_SIZE, "\"8 B\"", "Bytes of the receive buffer.");
const ATTACHED: Field =
    required("size", &SIZE, "\"1 MiB\"", "Bytes of room for the process's buffered sends.");
const REQS: Field = required(
    "reqs",
    &REQUESTS,
    "[ \"a\" ]",
    "The requests: a list, or the first ones of an array.",
);
const HANDLE: Field = required(
    "handle",
    &ONE_REQUEST,
    "\"m\"",
    "The name of the matched message, or its array and its place there.",
);

static MESSAGES_AND_COMMUNICATORS: [Variant; 78] = [
    variant(
        "isend",
        &[TO, TAG_FIELD, COMM_FIELD, MESSAGE, TYPE, COUNT, WITHIN, BUF, REQ],
        "MPI_Isend",
    ),
    variant(
        "issend",
        &[TO, TAG_FIELD, COMM_FIELD, MESSAGE, TYPE, COUNT, WITHIN, BUF, REQ],
        "MPI_Issend",
    ),
    variant("send", &[TO, TAG_FIELD, COMM_FIELD, MESSAGE, TYPE, COUNT, WITHIN, BUF], "MPI_Send"),
    variant("ssend", &[TO, TAG_FIELD, COMM_FIELD, MESSAGE, TYPE, COUNT, WITHIN, BUF], "MPI_Ssend"),
    variant(
        "ibsend",
        &[TO, TAG_FIELD, COMM_FIELD, MESSAGE, TYPE, COUNT, WITHIN, BUF, REQ],
        "MPI_Ibsend",
    ),
    variant("bsend", &[TO, TAG_FIELD, COMM_FIELD, MESSAGE, TYPE, COUNT, WITHIN, BUF], "MPI_Bsend"),
    variant(
        "irsend",
        &[TO, TAG_FIELD, COMM_FIELD, MESSAGE, TYPE, COUNT, WITHIN, BUF, REQ],
        "MPI_Irsend",
    ),
    variant("rsend", &[TO, TAG_FIELD, COMM_FIELD, MESSAGE, TYPE, COUNT, WITHIN, BUF], "MPI_Rsend"),
    variant("buffer_attach", &[ATTACHED], "MPI_Buffer_attach"),
    variant("buffer_detach", &[], "MPI_Buffer_detach"),
    variant(
        "irecv",
        &[SRC, TAG_FIELD, COMM_FIELD, ROOM, TYPE, COUNT, WITHIN, BUF, REQ],
        "MPI_Irecv",
    ),
    variant(
        "recv",
        &[
            SRC,
            TAG_FIELD,
            COMM_FIELD,
            ROOM,
            TYPE,
            COUNT,
            WITHIN,
            BUF,
            EXPECT_RECEIVED,
            INTO_RECEIVED,
        ],
        "MPI_Recv",
    ),
    variant(
        "sendrecv",
        &[
            TO,
            SEND_TAG,
            SIZE_SENT,
            SENDBUF,
            SRC,
            RECV_TAG,
            ROOM_RECEIVED,
            RECVBUF,
            COMM_FIELD,
            EXPECT_RECEIVED,
            INTO_RECEIVED,
        ],
        "MPI_Sendrecv",
    ),
    variant(
        "sendrecv_replace",
        &[
            TO,
            SEND_TAG,
            SIZE_REPLACED,
            BUF,
            SRC,
            RECV_TAG,
            COMM_FIELD,
            EXPECT_RECEIVED,
            INTO_RECEIVED,
        ],
        "MPI_Sendrecv_replace",
    ),
    variant(
        "isendrecv",
        &[TO, SEND_TAG, SIZE_SENT, SENDBUF, SRC, RECV_TAG, ROOM_RECEIVED, RECVBUF, COMM_FIELD, REQ],
        "MPI_Isendrecv",
    ),
    variant(
        "isendrecv_replace",
        &[TO, SEND_TAG, SIZE_REPLACED, BUF, SRC, RECV_TAG, COMM_FIELD, REQ],
        "MPI_Isendrecv_replace",
    ),
    variant(
        "send_init",
        &[TO, TAG_FIELD, COMM_FIELD, MESSAGE, TYPE, COUNT, WITHIN, BUF, REQ],
        "MPI_Send_init",
    ),
    variant(
        "ssend_init",
        &[TO, TAG_FIELD, COMM_FIELD, MESSAGE, TYPE, COUNT, WITHIN, BUF, REQ],
        "MPI_Ssend_init",
    ),
    variant(
        "bsend_init",
        &[TO, TAG_FIELD, COMM_FIELD, MESSAGE, TYPE, COUNT, WITHIN, BUF, REQ],
        "MPI_Bsend_init",
    ),
    variant(
        "rsend_init",
        &[TO, TAG_FIELD, COMM_FIELD, MESSAGE, TYPE, COUNT, WITHIN, BUF, REQ],
        "MPI_Rsend_init",
    ),
    variant(
        "recv_init",
        &[SRC, TAG_FIELD, COMM_FIELD, ROOM, TYPE, COUNT, WITHIN, BUF, REQ],
        "MPI_Recv_init",
    ),
    variant(
        "psend_init",
        &[TO, TAG_FIELD, COMM_FIELD, ALL, PARTITIONS, BUF, REQ],
        "MPI_Psend_init; `start` makes it active",
    ),
    variant(
        "precv_init",
        &[SRC, TAG_FIELD, COMM_FIELD, ALL, PARTITIONS, BUF, REQ],
        "MPI_Precv_init; it receives all bytes of the send that it matches, in as many partitions as it likes",
    ),
    variant("pready", &[REQ, ONE, THREAD], "MPI_Pready"),
    variant("pready_range", &[REQ, FIRST, LAST, THREAD], "MPI_Pready_range"),
    variant(
        "pready_list",
        &[REQ, LIST, THREAD],
        "MPI_Pready_list: each is made ready by a call of its own",
    ),
    variant(
        "parrived",
        &[REQ, ONE, THREAD, EXPECT_FLAG_OF_PARTITION, INTO_FLAG_OF_PARTITION],
        "MPI_Parrived",
    ),
    variant("start", &[REQ], "MPI_Start"),
    variant("startall", &[REQS], "MPI_Startall: each is started by a call of its own"),
    variant("wait", &[REQ, EXPECT_ENDED, INTO_ENDED], "MPI_Wait"),
    variant("waitall", &[REQS, EXPECT_STATUSES], "MPI_Waitall"),
    variant("waitany", &[REQS, EXPECT_INDEXED, INTO_INDEXED], "MPI_Waitany"),
    variant("waitsome", &[REQS, EXPECT_SOME, INTO_SOME], "MPI_Waitsome"),
    variant("test", &[REQ, EXPECT_TESTED, INTO_TESTED], "MPI_Test"),
    variant("testall", &[REQS, EXPECT_ALL_FLAGGED, INTO_ALL_FLAGGED], "MPI_Testall"),
    variant("testany", &[REQS, EXPECT_INDEXED_FLAGGED, INTO_INDEXED_FLAGGED], "MPI_Testany"),
    variant("testsome", &[REQS, EXPECT_SOME, INTO_SOME], "MPI_Testsome"),
    variant("request_get_status", &[REQ, EXPECT_TESTED, INTO_TESTED], "MPI_Request_get_status"),
    variant(
        "request_free",
        &[REQ],
        "MPI_Request_free of a message's request; its name is not used again",
    ),
    variant("probe", &[SRC, TAG_FIELD, COMM_FIELD, EXPECT_RECEIVED, INTO_RECEIVED], "MPI_Probe"),
    variant("iprobe", &[SRC, TAG_FIELD, COMM_FIELD, EXPECT_FLAGGED, INTO_FLAGGED], "MPI_Iprobe"),
    variant(
        "mprobe",
        &[HANDLE, SRC, TAG_FIELD, COMM_FIELD, EXPECT_RECEIVED, INTO_RECEIVED],
        "MPI_Mprobe",
    ),
    variant(
        "improbe",
        &[HANDLE, SRC, TAG_FIELD, COMM_FIELD, EXPECT_FLAGGED, INTO_FLAGGED],
        "MPI_Improbe",
    ),
    variant(
        "mrecv",
        &[HANDLE, ROOM, TYPE, COUNT, WITHIN, BUF, EXPECT_RECEIVED, INTO_RECEIVED],
        "MPI_Mrecv",
    ),
    variant("imrecv", &[HANDLE, ROOM, TYPE, COUNT, WITHIN, BUF, REQ], "MPI_Imrecv"),
    variant("cancel", &[REQ], "MPI_Cancel"),
    variant("barrier", &[COMM_FIELD], "MPI_Barrier"),
    variant(
        "comm_rank",
        &[COMM_FIELD, EXPECT_RANK, INTO_RANK],
        "MPI_Comm_rank; of an intercommunicator in the own group",
    ),
    variant(
        "comm_size",
        &[COMM_FIELD, EXPECT_NUMBER, INTO_NUMBER],
        "MPI_Comm_size; of an intercommunicator that of the own group",
    ),
    variant("comm_remote_size", &[COMM_FIELD, EXPECT_REMOTE, INTO_REMOTE], "MPI_Comm_remote_size"),
    communicators::DUP,
    communicators::IDUP,
    communicators::SPLIT,
    communicators::SPLIT_TYPE,
    communicators::CREATE,
    communicators::CREATE_GROUP,
    communicators::CART_CREATE,
    communicators::CART_SUB,
    communicators::WHOLE_GRAPH,
    communicators::NAMED_EDGES,
    communicators::GRAPH,
    communicators::INTERCOMM_CREATE,
    communicators::INTERCOMM_MERGE,
    communicators::FREE,
    communicators::CREATE_ENDPOINTS,
    communicators::FREE_ENDPOINT,
    collectives::IBARRIER,
    collectives::BARRIER_INIT,
    collectives::REDUCE_LOCAL,
    outside::COMPUTE,
    outside::TIMER,
    buffers::STORE,
    buffers::LOAD,
    variant("repeat", &outside::OF_REPEAT, "A loop of a number of iterations."),
    variant("until", &outside::OF_UNTIL, "A loop that ends with its condition."),
    variant("if", &outside::OF_IF, "A condition."),
    variant("set", &outside::OF_SET, "A variable gets a value."),
    variant("assert", &outside::OF_ASSERT, "A condition that must hold."),
];

/// How many statements there are about messages, communicators and windows.
const PLAIN: usize = MESSAGES_AND_COMMUNICATORS.len() + windows::STATEMENTS.len();
static OPERATIONS: [Variant; PLAIN + collectives::STATEMENTS.len()] = joined(
    &joined::<_, PLAIN>(&MESSAGES_AND_COMMUNICATORS, &windows::STATEMENTS),
    &collectives::STATEMENTS,
);
/// A statement, named by its `op`.
pub(crate) static OPERATION: Shape = Shape::Defined {
    name: "statement",
    shape: &Shape::Tagged { tag: "op", variants: &OPERATIONS },
};
/// Statements, one after the other.
pub static STATEMENTS: Shape = Shape::List { of: &OPERATION, min: 0, max: 100_000 };
