//! Skeletons of applications.

use form::fields::{LONG, POSITIVE, SIZE, time};
use form::shape::{Field, Shape, Variant, default, optional, required, variant};
use workloads::graph500::{MOST_SCALE, PAIR};

static COUNT: Shape = Shape::Count { min: 1, max: 65_536 };
static WATCHED: Shape = Shape::Count { min: 0, max: 65_535 };
static TIME: Shape = time(0, LONG);
static GRID: Shape = Shape::List { of: &Shape::Count { min: 0, max: 65_536 }, min: 3, max: 3 };
static EXTENTS: Shape =
    Shape::List { of: &Shape::Count { min: 1, max: 1_000_000_000 }, min: 3, max: 3 };
static UNIT_CELLS: Shape =
    Shape::List { of: &Shape::Count { min: 1, max: 1_000_000 }, min: 3, max: 3 };
static SCALING: Shape = Shape::Word(&[
    ("weak", "the problem grows with the job"),
    ("strong", "the problem is that of the whole job"),
]);

const PROCESSES: Field = required("processes", &COUNT, "64", "Processes in all.");
const PER_NODE: Field =
    required("processes_per_node", &COUNT, "28", "Processes of a node, at most.");
const PROCESS_GRID: Field = default(
    "grid",
    &GRID,
    "[ 0, 0, 0 ]",
    "Processes on each axis; those that are 0 are chosen as by MPI_Dims_create.",
);
const COMPUTE: Field = default("compute", &TIME, "0 s", "Computation of a process in a step.");
const STEPS: Field = required("steps", &POSITIVE, "10", "Measured steps.");

const fn order(value: &'static str) -> Field {
    default(
        "rank_order",
        &Shape::Word(&[
            ("last_axis", "the numbers of ranks run along z first, as in MPI_Cart_create"),
            ("first_axis", "they run along x first"),
        ]),
        value,
        "How the processes of the grid are numbered.",
    )
}

/// Six neighbours.
pub(super) static STENCIL: Variant = variant(
    "stencil",
    &[
        PROCESSES,
        PER_NODE,
        PROCESS_GRID,
        order("last_axis"),
        default("periodic", &Shape::Flag, "false", "Whether the ends of an axis are neighbours."),
        default("watch", &WATCHED, "0", "The rank whose copies the metric `copies` counts."),
        required("size", &SIZE, "\"1 MB\"", "Bytes that two neighbours send each other in a step."),
        STEPS,
        COMPUTE,
    ],
    "A stencil of 7 points on a grid of processes: in a step each exchanges one message with each of \
     its neighbours, at most six, and computes.",
);

/// A breadth-first search.
pub(super) static GRAPH500: Variant = variant(
    "graph500",
    &[
        PROCESSES,
        PER_NODE,
        required(
            "scale",
            &Shape::Count { min: 4, max: MOST_SCALE as u64 },
            "16",
            "Binary logarithm of the vertices of the graph that is made from the seed.",
        ),
        default("edge_factor", &Shape::Count { min: 1, max: 32 }, "16", "Edges for each vertex."),
        optional(
            "vertices",
            &Shape::Count { min: 1, max: 1 << 48 },
            "Vertices for which the messages are scaled; without it those of the graph are sent.",
        ),
        default("scaling", &SCALING, "strong", "Weak: `vertices` are those of each node."),
        default(
            "buffer",
            &Shape::Quantity { dimension: units::Dimension::Bytes, min: PAIR, max: 1 << 30 },
            "4 KiB",
            "Pairs of 16 B for one process leave when so many bytes are full.",
        ),
        default(
            "compute_per_edge",
            &TIME,
            "0 s",
            "Computation for each edge that is scanned, and for each pair that is received.",
        ),
    ],
    "Breadth-first search of Graph500 by levels, in a graph that is made and searched before the run.",
);

/// Molecular dynamics.
pub(super) static COMD: Variant = variant(
    "comd",
    &[
        PROCESSES,
        PER_NODE,
        PROCESS_GRID,
        order("first_axis"),
        required("unit_cells", &UNIT_CELLS, "[ 100, 100, 100 ]", "Unit cells on each axis."),
        default("scaling", &SCALING, "strong", "Weak: the unit cells of x count for each node."),
        default(
            "potential",
            &Shape::Word(&[
                ("lennard_jones", "one halo exchange a step"),
                ("embedded_atom", "a second one for one number of each atom"),
            ]),
            "lennard_jones",
            "How forces are computed.",
        ),
        default(
            "cutoff",
            &Shape::Ratio { min: 1_000_000_000, max: 1_000_000_000_000 },
            "1.600968188",
            "The least side of a link cell, in lattice constants.",
        ),
        STEPS,
        default(
            "print_every",
            &Shape::Count { min: 1, max: 100 },
            "10",
            "Steps from one sum of atoms and energies to the next.",
        ),
        COMPUTE,
    ],
    "CoMD: atoms near the faces of each process go to its neighbours, axis by axis, in each step.",
);

/// A stencil code with many variables.
pub(super) static MINIGHOST: Variant = variant(
    "minighost",
    &[
        PROCESSES,
        PER_NODE,
        PROCESS_GRID,
        order("first_axis"),
        default("points", &EXTENTS, "[ 100, 100, 100 ]", "Points on each axis."),
        default("scaling", &SCALING, "weak", "Weak: the points are those of each process."),
        default("variables", &POSITIVE, "5", "Variables of a point, 8 B each."),
        default(
            "sums",
            &Shape::Count { min: 0, max: 1_000 },
            "0",
            "Variables that are summed over all processes in a step.",
        ),
        STEPS,
        COMPUTE,
    ],
    "MiniGhost (BSPMA): the faces of all variables go to each neighbour in one message in each step.",
);
