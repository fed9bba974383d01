//! Messages whose buffers are in GPU memory.

use super::datatypes::DATATYPE;
use form::fields::{LONG, ROUND_COUNT, SIZE, bytes, time};
use form::shape::{Field, Shape, Variant, default, optional, required, variant};

static METHOD: Shape = Shape::Word(&[
    ("kernel", "a kernel for all types, between device memory and the host"),
    ("kernel_staged", "a kernel inside the device, and one copy"),
    ("hand_coded", "a kernel for this type, between device memory and the host"),
    ("memcpy2d", "copies by equal rows at equal distances"),
    ("memcpy3d", "copies by boxes of such rows"),
    ("blockwise", "a copy for each contiguous block"),
    ("per_field", "a copy by rows for each member of a struct"),
    ("device_vector", "rows inside the device, and one copy, as in MVAPICH 1.8"),
    ("points", "a copy for each primitive"),
]);
static BLOCK: Shape = bytes(8, 1 << 30);
static CHUNK: Shape = bytes(8, 1 << 40);
static TIME: Shape = time(0, LONG);
static SIDE: Shape = Shape::Count { min: 16, max: 1 << 16 };
static TILE: Shape = Shape::Count { min: 1, max: 1_024 };
static GRID: Shape = Shape::Count { min: 1, max: 256 };

const BY: Field = required("method", &METHOD, "\"kernel\"", "How data are packed and unpacked.");
const ROUNDS: Field = required("rounds", &ROUND_COUNT, "20", "Measured rounds.");
const WARMUP: Field = default(
    "warmup",
    &Shape::Count { min: 0, max: 1_000_000 },
    "2",
    "Rounds before the measured ones.",
);

/// A ping-pong between two GPUs.
pub(super) static PING_PONG: Variant = variant(
    "gpu_ping_pong",
    &[
        optional("size", &SIZE, "Packed bytes of a vector of doubles; `datatype` may say instead."),
        default("block", &BLOCK, "8 B", "Contiguous bytes of that vector."),
        default("stride", &BLOCK, "512 B", "From one of its blocks to the next."),
        optional("datatype", &DATATYPE, "What is sent, where it is no such vector."),
        default("count", &Shape::Count { min: 1, max: 1 << 40 }, "1", "Elements of the datatype."),
        BY,
        default(
            "threads_per_block",
            &Shape::Count { min: 1, max: 1_024 },
            "256",
            "Threads of a block of the packing kernel.",
        ),
        optional(
            "chunk",
            &CHUNK,
            "Packed bytes that travel while the next are packed, by kernels that write to the host; without it a message is packed whole.",
        ),
        default(
            "ahead",
            &Shape::Count { min: 1, max: 32_768 },
            "2",
            "Kernels for chunks that are under way at once.",
        ),
        ROUNDS,
        WARMUP,
    ],
    "Two nodes send data in the memory of their GPUs to and fro: both pack and unpack.",
);

/// A stencil on several GPUs.
pub(super) static STENCIL: Variant = variant(
    "gpu_stencil",
    &[
        required("side", &SIDE, "1024", "Points of a process in each of two dimensions."),
        default(
            "precision",
            &Shape::Word(&[("single", "4 B a point"), ("double", "8 B a point")]),
            "double",
            "Bytes of a point.",
        ),
        default("grid_rows", &GRID, "2", "Rows of the grid of nodes."),
        BY,
        default("tile_rows", &TILE, "16", "Rows of a block of the kernel."),
        default("tile_columns", &TILE, "16", "Columns of it."),
        default(
            "instructions",
            &TILE,
            "60",
            "Instructions of a thread of the kernel, besides those for the halo and double precision.",
        ),
        default(
            "halo_instructions",
            &TILE,
            "6",
            "Instructions around each load of the halo: its place, the load, the store to shared memory.",
        ),
        optional(
            "point_time",
            &TIME,
            "What a point takes on all SMs; without it the kernel's work is counted.",
        ),
        default(
            "host_time",
            &TIME,
            "0 us",
            "What the host does besides in each step, between the exchange and the kernel.",
        ),
        ROUNDS,
        WARMUP,
    ],
    "A nine-point stencil on the GPUs of a grid of nodes, which exchange rows and columns.",
);
