//! Collectives in a scenario: the statements of a program, and the choices of the library.

use super::buffers::{BUF, RECVBUF, SENDBUF};
use form::fields::{COMM_FIELD, REQ, SIZE, bytes};
use form::shape::{Field, Shape, Variant, default, joined, optional, required, variant};
use protocols::collectives::Kind;

/// The most elements of a vector, or of a block.
pub(crate) const MOST_ELEMENTS: u64 = 1 << 28;

/// The words of the algorithms of a kind.
const fn words(kind: Kind) -> Shape {
    Shape::Word(kind.words(false))
}

static BARRIER: Shape = words(Kind::Barrier);
static BCAST: Shape = words(Kind::Bcast);
static SCATTER: Shape = words(Kind::Scatter);
static GATHER: Shape = words(Kind::Gather);
static ALLGATHER: Shape = words(Kind::Allgather);
static REDUCE: Shape = words(Kind::Reduce);
static ALLREDUCE: Shape = words(Kind::Allreduce);
static REDUCE_SCATTER: Shape = words(Kind::ReduceScatter);
static REDUCE_SCATTER_BLOCK: Shape = words(Kind::ReduceScatterBlock);
static ALLTOALL: Shape = words(Kind::Alltoall);
static SCAN: Shape = words(Kind::Scan);
static EXSCAN: Shape = words(Kind::Exscan);
static SCATTERV: Shape = Shape::Word(Kind::Scatter.words(true));
static GATHERV: Shape = Shape::Word(Kind::Gather.words(true));

pub(crate) static OVER: Shape = Shape::Word(&[
    ("ranks", "everybody is alike"),
    ("processes", "the endpoints of a process combine first, and one of them speaks for them"),
    ("nodes", "the ranks of a node combine first, and one of them speaks for them"),
]);
/// The predefined operators of reductions.
pub(super) const PREDEFINED: [(&str, &str); 12] = [
    ("sum", "MPI_SUM"),
    ("prod", "MPI_PROD"),
    ("max", "MPI_MAX"),
    ("min", "MPI_MIN"),
    ("land", "MPI_LAND"),
    ("lor", "MPI_LOR"),
    ("lxor", "MPI_LXOR"),
    ("band", "MPI_BAND"),
    ("bor", "MPI_BOR"),
    ("bxor", "MPI_BXOR"),
    ("maxloc", "MPI_MAXLOC, on pairs of int32"),
    ("minloc", "MPI_MINLOC, on pairs of int32"),
];
pub(crate) static OPERATOR: Shape = Shape::Word(
    const {
        &joined::<_, 13>(
            &PREDEFINED,
            &[(
                "affine",
                "user-defined and not commutative: x -> a x + b modulo 1000003, on pairs of int64",
            )],
        )
    },
);
pub(crate) static TYPE: Shape = Shape::Word(&[
    ("int32", "signed, 4 bytes"),
    ("int64", "signed, 8 bytes"),
    ("double", "IEEE 754, 8 bytes"),
    ("int32_pair", "value and index, 4 bytes each"),
    ("int64_pair", "two numbers of 8 bytes"),
    ("int8", "signed, 1 byte"),
    ("int16", "signed, 2 bytes"),
    ("uint8", "unsigned, 1 byte"),
    ("uint16", "unsigned, 2 bytes"),
    ("uint32", "unsigned, 4 bytes"),
    ("uint64", "unsigned, 8 bytes"),
    ("float", "IEEE 754, 4 bytes"),
]);
static SEGMENT: Shape = bytes(1, 1 << 30);
static ROOT_RANK: Shape = Shape::Expression(&Shape::Count { min: 0, max: u32::MAX as u64 });
static COUNT: Shape = Shape::Count { min: 0, max: MOST_ELEMENTS };
static COMPUTED_COUNT: Shape = Shape::Expression(&COUNT);
static COMPUTED_SIZE: Shape = Shape::Expression(&SIZE);
static COUNTS: Shape = Shape::List { of: &COUNT, min: 0, max: 4_096 };
static SIZES: Shape = Shape::List { of: &SIZE, min: 0, max: 4_096 };

const ROOT: Field = default("root", &ROOT_RANK, "0", "The root's rank in the communicator.");
const MESSAGE: Field = required("size", &COMPUTED_SIZE, "\"8 B\"", "Bytes of the message.");
const BLOCK: Field =
    required("size", &COMPUTED_SIZE, "\"8 B\"", "Bytes of the block of each rank.");
const BLOCKS: Field =
    required("sizes", &SIZES, "[ \"8 B\", \"4 B\" ]", "Bytes of the block of each rank.");
const ELEMENTS: Field = required("count", &COMPUTED_COUNT, "1", "Elements of the vector.");
const OPERATOR_FIELD: Field = default("operator", &OPERATOR, "sum", "What two elements become.");
const TYPE_FIELD: Field = default("type", &TYPE, "int32", "The type of the elements.");
const OVER_FIELD: Field =
    default("over", &OVER, "as `mpi.collectives.over` says", "Which ranks combine first.");

const fn algorithm(words: &'static Shape) -> Field {
    optional("algorithm", words, "The algorithm; without one, that of `mpi.collectives`.")
}

macro_rules! fields {
    ([$($field:expr),* $(,)?] $($more:expr)?) => { [$($field,)* $($more)?] };
}

/// The statements of a program: those that wait, and those that only begin.
macro_rules! statements {
    ($([$name:literal $begins:literal $fields:tt $function:literal $begin:literal])*) => {
        [$(
            variant($name, &fields!($fields), $function),
            variant($begins, &fields!($fields REQ), $begin),
        )*]
    };
}

const COUNTS_FIELD: Field =
    required("counts", &COUNTS, "[ 1, 2 ]", "Elements of the block of each rank.");
const COUNT_FIELD: Field =
    required("count", &COMPUTED_COUNT, "1", "Elements of the block of each rank.");
const SEND_SIZES: Field = required(
    "send_sizes",
    &SIZES,
    "[ \"8 B\", \"4 B\" ]",
    "Bytes of the block for each rank, one after the other in the send buffer.",
);
const RECEIVE_SIZES: Field = required(
    "receive_sizes",
    &SIZES,
    "[ \"8 B\", \"4 B\" ]",
    "Bytes of the block from each rank, one after the other in the receive buffer.",
);

const IN_PLACE: Field = default(
    "in_place",
    &Shape::Flag,
    "false",
    "MPI_IN_PLACE: what a rank gives lies in its receive buffer, where the result goes; of scatter, gather and reduce at the root alone, and of scatter what the root keeps stays in its send buffer.",
);

/// `MPI_Ibarrier`; the barrier that waits stands with the messages.
pub(super) const IBARRIER: Variant = variant("ibarrier", &[COMM_FIELD, REQ], "MPI_Ibarrier");

#[rustfmt::skip]
pub(super) static STATEMENTS: [Variant; 30] = statements! {
    ["bcast" "ibcast" [ROOT, MESSAGE, BUF, COMM_FIELD, algorithm(&BCAST), OVER_FIELD] "MPI_Bcast" "MPI_Ibcast"]
    ["scatter" "iscatter" [ROOT, BLOCK, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&SCATTER)] "MPI_Scatter" "MPI_Iscatter"]
    ["scatterv" "iscatterv" [ROOT, BLOCKS, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&SCATTERV)] "MPI_Scatterv" "MPI_Iscatterv"]
    ["gather" "igather" [ROOT, BLOCK, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&GATHER)] "MPI_Gather" "MPI_Igather"]
    ["gatherv" "igatherv" [ROOT, BLOCKS, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&GATHERV)] "MPI_Gatherv" "MPI_Igatherv"]
    ["allgather" "iallgather" [BLOCK, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&ALLGATHER)] "MPI_Allgather" "MPI_Iallgather"]
    ["allgatherv" "iallgatherv" [BLOCKS, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&ALLGATHER)] "MPI_Allgatherv" "MPI_Iallgatherv"]
    ["reduce" "ireduce" [ROOT, ELEMENTS, TYPE_FIELD, OPERATOR_FIELD, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&REDUCE), OVER_FIELD] "MPI_Reduce" "MPI_Ireduce"]
    ["allreduce" "iallreduce" [ELEMENTS, TYPE_FIELD, OPERATOR_FIELD, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&ALLREDUCE), OVER_FIELD] "MPI_Allreduce" "MPI_Iallreduce"]
    ["reduce_scatter" "ireduce_scatter" [COUNTS_FIELD, TYPE_FIELD, OPERATOR_FIELD, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&REDUCE_SCATTER)] "MPI_Reduce_scatter" "MPI_Ireduce_scatter"]
    ["reduce_scatter_block" "ireduce_scatter_block" [COUNT_FIELD, TYPE_FIELD, OPERATOR_FIELD, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&REDUCE_SCATTER_BLOCK)] "MPI_Reduce_scatter_block" "MPI_Ireduce_scatter_block"]
    ["alltoall" "ialltoall" [BLOCK, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&ALLTOALL)] "MPI_Alltoall" "MPI_Ialltoall"]
    ["alltoallv" "ialltoallv" [SEND_SIZES, RECEIVE_SIZES, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&ALLTOALL)] "MPI_Alltoallv" "MPI_Ialltoallv"]
    ["scan" "iscan" [ELEMENTS, TYPE_FIELD, OPERATOR_FIELD, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&SCAN)] "MPI_Scan" "MPI_Iscan"]
    ["exscan" "iexscan" [ELEMENTS, TYPE_FIELD, OPERATOR_FIELD, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&EXSCAN)] "MPI_Exscan" "MPI_Iexscan"]
};

/// The library's choices, by operation.
pub static CHOICES: Shape = Shape::Object(&[
    default("barrier", &BARRIER, "dissemination", "The algorithm of MPI_Barrier."),
    default("bcast", &BCAST, "binomial", "The algorithm of MPI_Bcast."),
    default("scatter", &SCATTER, "linear", "The algorithm of MPI_Scatter."),
    default("gather", &GATHER, "linear", "The algorithm of MPI_Gather."),
    default("allgather", &ALLGATHER, "ring", "The algorithm of MPI_Allgather and MPI_Allgatherv."),
    default("reduce", &REDUCE, "binomial", "The algorithm of MPI_Reduce."),
    default("allreduce", &ALLREDUCE, "recursive_doubling", "The algorithm of MPI_Allreduce."),
    default(
        "reduce_scatter",
        &REDUCE_SCATTER,
        "halving",
        "The algorithm of MPI_Reduce_scatter; where it does not fit the operator, `halving`.",
    ),
    default(
        "reduce_scatter_block",
        &REDUCE_SCATTER_BLOCK,
        "halving",
        "The algorithm of MPI_Reduce_scatter_block; where it does not fit the operator, `halving`.",
    ),
    default("alltoall", &ALLTOALL, "pairwise", "The algorithm of MPI_Alltoall and MPI_Alltoallv."),
    default("scan", &SCAN, "recursive_doubling", "The algorithm of MPI_Scan."),
    default("exscan", &EXSCAN, "recursive_doubling", "The algorithm of MPI_Exscan."),
    default(
        "bcast_segment",
        &SEGMENT,
        "8 KiB",
        "Bytes of a segment of `pipelined_ring`; an assumption, since no document states it.",
    ),
    default(
        "over",
        &OVER,
        "ranks",
        "Which ranks combine first, in the operations that can: bcast, reduce, allreduce.",
    ),
]);

#[cfg(test)]
mod tests {
    use super::*;
    use mpi::operator::{Datatype, Operator};
    use protocols::collectives::Algorithm;

    fn words_of(shape: &Shape) -> Vec<&'static str> {
        let Shape::Word(words) = shape else { panic!("words are needed, not {shape:?}") };
        words.iter().map(|(word, _)| *word).collect()
    }

    #[test]
    fn the_words_are_the_algorithms_of_the_library() {
        let Shape::Object(fields) = CHOICES else { panic!("an object") };
        for kind in Kind::ALL {
            let field = fields.iter().find(|field| field.key == kind.name()).expect("every kind");
            let mut of_kind: Vec<&str> = Algorithm::of(kind).map(Algorithm::name).collect();
            let mut named = words_of(field.shape);
            of_kind.sort_unstable();
            named.sort_unstable();
            assert_eq!(of_kind, named, "{kind:?}");
            let form::shape::Need::Default(default) = field.need else {
                panic!("every kind has a default")
            };
            assert_eq!(default, kind.default_algorithm().name(), "{kind:?}");
        }
    }

    #[test]
    fn the_words_are_the_operators_and_types_of_the_library() {
        assert_eq!(words_of(&OPERATOR), Operator::ALL.map(Operator::name));
        assert_eq!(words_of(&TYPE), Datatype::ALL.map(Datatype::name));
    }
}
