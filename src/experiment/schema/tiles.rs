//! The workload of tiles that may move.

use form::fields::{LONG, SIZE, time};
use form::shape::{Shape, Variant, default, optional, required, variant};
use workloads::tiles::MOST;

static COUNTS: Shape =
    Shape::List { of: &Shape::Count { min: 1, max: MOST as u64 }, min: 1, max: 4_096 };
static STEPS: Shape = Shape::Count { min: 1, max: 1_000_000_000 };
static MIGRATE: Shape = Shape::Either(&[
    Shape::Word(&[("never", "every tile stays where it is")]),
    Shape::Count { min: 0, max: 1_000_000_000 },
]);
static COMPUTE: Shape = time(0, LONG);
static IMBALANCE: Shape = Shape::Ratio { min: 0, max: 1_000_000_000_000 };

pub(super) static WORKLOAD: Variant = variant(
    "tiles",
    &[
        required("tiles", &COUNTS, "[ 4, 4 ]", "Tiles of each process, in the order of the chain."),
        optional("tiles_after", &COUNTS, "The same after the migration."),
        required("steps", &STEPS, "100", "Measured steps of halo exchange and computation."),
        default(
            "migrate_after",
            &MIGRATE,
            "never",
            "Steps before endpoints are made anew, with `tiles_after`, and tiles move.",
        ),
        required(
            "size",
            &SIZE,
            "\"8 KiB\"",
            "Bytes that two neighbours send each other in a step.",
        ),
        default("tile_size", &SIZE, "0 B", "Bytes of a tile, sent where it changes its process."),
        default("compute", &COMPUTE, "0 s", "Computation of the first tile in a step."),
        default(
            "imbalance",
            &IMBALANCE,
            "1",
            "So many times as long computes the last tile; those between lie on a line.",
        ),
    ],
    "A chain of tiles, each an endpoint; one thread drives all tiles of a process. Tiles may move \
     once to other processes, and keep their ranks.",
);
