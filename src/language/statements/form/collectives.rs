//! Collectives in a scenario: the statements of a program, and the choices of the library.

use super::buffers::{BUF, RECVBUF, SENDBUF};
use super::pieces::KNOWN;
use collectives::Kind;
use form::fields::{COMM_FIELD, REQ, SIZE, bytes};
use form::shape::{Field, Shape, Variant, default, joined, optional, required, variant};

/// The most elements of a vector, or of a block.
/// Limit: of 8 B each they make the largest message.
pub(crate) const MOST_ELEMENTS: u64 = 1 << 28;

/// The words of the algorithms of a kind.
const fn words(kind: Kind) -> Shape {
    Shape::Word(kind.words(false))
}

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
static ALLTOALLV: Shape = Shape::Word(Kind::Alltoall.words(true));

/// Which ranks combine first.
pub static OVER: Shape = Shape::Word(&[
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
/// The operators of reductions.
pub static OPERATOR: Shape = Shape::Word(
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
/// The types of elements.
pub static TYPE: Shape = Shape::Word(&[
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
/// The most rules of an operation.
/// Limit: a longer list is refused.
const MOST_RULES: usize = 1024;
static RANKS: Shape = Shape::Count { min: 1, max: u32::MAX as u64 };
static OUTSTANDING: Shape = Shape::Count { min: 1, max: 1_000_000 };
static ROOT_RANK: Shape = Shape::Expression(&Shape::Either(&[
    Shape::Count { min: 0, max: u32::MAX as u64 },
    Shape::Word(&[
        ("mpi_root", "MPI_ROOT, between two groups: the caller is the root"),
        ("proc_null", "MPI_PROC_NULL, between two groups: another rank of the caller's group is"),
    ]),
]));
static COUNT: Shape = Shape::Count { min: 0, max: MOST_ELEMENTS };
static COMPUTED_COUNT: Shape = Shape::Expression(&COUNT);
static COMPUTED_SIZE: Shape = Shape::Expression(&SIZE);
static COUNTS: Shape = Shape::List { of: &COUNT, min: 0, max: 4_096 };
static SIZES: Shape = Shape::List { of: &SIZE, min: 0, max: 4_096 };

const ROOT: Field = default(
    "root",
    &ROOT_RANK,
    "0",
    "The root's rank in the communicator; between two groups its rank in the other one.",
);
const MESSAGE: Field = required("size", &COMPUTED_SIZE, "\"8 B\"", "Bytes of the message.");
const BLOCK: Field =
    required("size", &COMPUTED_SIZE, "\"8 B\"", "Bytes of the block of each rank.");
const BLOCKS: Field =
    required("sizes", &SIZES, "[ \"8 B\", \"4 B\" ]", "Bytes of the block of each rank.");
const ELEMENTS: Field = required("count", &COMPUTED_COUNT, "1", "Elements of the vector.");
const OPERATOR_FIELD: Field = default("operator", &OPERATOR, "sum", "What two elements become.");
const COMMUTE: Field = optional(
    "commute",
    &Shape::Flag,
    "Whether the library may combine in another order than that of ranks: `commute` of MPI_Op_create, for an operator of the program's own that does what `operator` does. Without it as the operator commutes.",
);
const TYPE_FIELD: Field = default("type", &TYPE, "int32", "The type of the elements.");
const OVER_FIELD: Field =
    default("over", &OVER, "as `mpi.collectives.over` says", "Which ranks combine first.");

const fn algorithm(words: &'static Shape) -> Field {
    optional("algorithm", words, "The algorithm; without one, that of `mpi.collectives`.")
}

macro_rules! fields {
    ([$($field:expr),* $(,)?] $($more:expr)?) => { [$($field,)* $($more)?] };
}

/// The statements of a program: those that wait, those that only begin, and those that prepare.
macro_rules! statements {
    ($([$name:literal $fields:tt $function:literal])*) => {
        [$(
            variant($name, &fields!($fields), concat!("MPI_", $function)),
            variant(concat!("i", $name), &fields!($fields REQ), concat!("MPI_I", $name)),
            variant(
                concat!($name, "_init"),
                &fields!($fields REQ),
                concat!("MPI_", $function, "_init"),
            ),
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

const NEIGHBOUR_BLOCK: Field =
    required("size", &COMPUTED_SIZE, "\"8 B\"", "Bytes of the block of each neighbour.");
const OWN_BLOCK: Field = required(
    "size",
    &COMPUTED_SIZE,
    "\"8 B\"",
    "Bytes of the block that goes to each destination.",
);
const SOURCE_SIZES: Field =
    required("sizes", &SIZES, "[ \"8 B\" ]", "Bytes of the block from each source.");
const DESTINATION_SIZES: Field =
    required("send_sizes", &SIZES, "[ \"8 B\" ]", "Bytes of the block for each destination.");
const FROM_SIZES: Field =
    required("receive_sizes", &SIZES, "[ \"8 B\" ]", "Bytes of the block from each source.");

static TYPED_BLOCKS: Shape = Shape::List {
    of: &Shape::Object(&[
        required("datatype", &KNOWN, "\"t\"", "A name of `workload.datatypes`, or a tree."),
        default("count", &Shape::Count { min: 0, max: i32::MAX as u64 }, "1", "Elements of it."),
        default("at", &SIZE, "0 B", "The displacement of the first one in the buffer."),
    ]),
    min: 0,
    max: 4_096,
};
const TYPED_SENDS: Field = required(
    "sends",
    &TYPED_BLOCKS,
    "[ { \"datatype\": { \"kind\": \"named\", \"name\": \"int32\" } } ]",
    "What goes to each rank, or neighbour; the datatype of a block is that of the block which receives it.",
);
const TYPED_RECEIVES: Field = required(
    "receives",
    &TYPED_BLOCKS,
    "[ { \"datatype\": { \"kind\": \"named\", \"name\": \"int32\" } } ]",
    "Where what comes from each rank, or neighbour, goes.",
);

const IN_PLACE: Field = default(
    "in_place",
    &Shape::Flag,
    "false",
    "MPI_IN_PLACE: what a rank gives lies in its receive buffer, where the result goes; of scatter, gather and reduce at the root alone, and of scatter what the root keeps stays in its send buffer.",
);

/// `MPI_Ibarrier` and `MPI_Barrier_init`; the barrier that waits stands with the messages.
pub(in crate::statements) const IBARRIER: Variant =
    variant("ibarrier", &[COMM_FIELD, REQ], "MPI_Ibarrier");
pub(in crate::statements) const BARRIER_INIT: Variant =
    variant("barrier_init", &[COMM_FIELD, REQ], "MPI_Barrier_init");

const LEFT: Field = optional("sendbuf", &Shape::Name, "The left operand, of `workload.buffers`.");
const RIGHT: Field = optional(
    "recvbuf",
    &Shape::Name,
    "The right operand, where the result goes, of `workload.buffers`.",
);

/// `MPI_Reduce_local`, which has no other form.
pub(in crate::statements) const REDUCE_LOCAL: Variant = variant(
    "reduce_local",
    &[ELEMENTS, TYPE_FIELD, OPERATOR_FIELD, COMMUTE, LEFT, RIGHT],
    "MPI_Reduce_local: `recvbuf` becomes `sendbuf` combined with `recvbuf`",
);

#[rustfmt::skip]
pub(in crate::statements) static STATEMENTS: [Variant; 63] = statements! {
    ["bcast" [ROOT, MESSAGE, BUF, COMM_FIELD, algorithm(&BCAST), OVER_FIELD] "Bcast"]
    ["scatter" [ROOT, BLOCK, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&SCATTER)] "Scatter"]
    ["scatterv" [ROOT, BLOCKS, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&SCATTERV)] "Scatterv"]
    ["gather" [ROOT, BLOCK, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&GATHER)] "Gather"]
    ["gatherv" [ROOT, BLOCKS, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&GATHERV)] "Gatherv"]
    ["allgather" [BLOCK, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&ALLGATHER)] "Allgather"]
    ["allgatherv" [BLOCKS, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&ALLGATHER)] "Allgatherv"]
    ["reduce" [ROOT, ELEMENTS, TYPE_FIELD, OPERATOR_FIELD, COMMUTE, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&REDUCE), OVER_FIELD] "Reduce"]
    ["allreduce" [ELEMENTS, TYPE_FIELD, OPERATOR_FIELD, COMMUTE, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&ALLREDUCE), OVER_FIELD] "Allreduce"]
    ["reduce_scatter" [COUNTS_FIELD, TYPE_FIELD, OPERATOR_FIELD, COMMUTE, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&REDUCE_SCATTER)] "Reduce_scatter"]
    ["reduce_scatter_block" [COUNT_FIELD, TYPE_FIELD, OPERATOR_FIELD, COMMUTE, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&REDUCE_SCATTER_BLOCK)] "Reduce_scatter_block"]
    ["alltoall" [BLOCK, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&ALLTOALL)] "Alltoall"]
    ["alltoallv" [SEND_SIZES, RECEIVE_SIZES, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&ALLTOALLV)] "Alltoallv"]
    ["alltoallw" [TYPED_SENDS, TYPED_RECEIVES, SENDBUF, RECVBUF, COMM_FIELD, algorithm(&ALLTOALLV)] "Alltoallw"]
    ["neighbor_allgather" [NEIGHBOUR_BLOCK, SENDBUF, RECVBUF, COMM_FIELD] "Neighbor_allgather"]
    ["neighbor_allgatherv" [OWN_BLOCK, SOURCE_SIZES, SENDBUF, RECVBUF, COMM_FIELD] "Neighbor_allgatherv"]
    ["neighbor_alltoall" [NEIGHBOUR_BLOCK, SENDBUF, RECVBUF, COMM_FIELD] "Neighbor_alltoall"]
    ["neighbor_alltoallv" [DESTINATION_SIZES, FROM_SIZES, SENDBUF, RECVBUF, COMM_FIELD] "Neighbor_alltoallv"]
    ["neighbor_alltoallw" [TYPED_SENDS, TYPED_RECEIVES, SENDBUF, RECVBUF, COMM_FIELD] "Neighbor_alltoallw"]
    ["scan" [ELEMENTS, TYPE_FIELD, OPERATOR_FIELD, COMMUTE, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&SCAN)] "Scan"]
    ["exscan" [ELEMENTS, TYPE_FIELD, OPERATOR_FIELD, COMMUTE, SENDBUF, RECVBUF, IN_PLACE, COMM_FIELD, algorithm(&EXSCAN)] "Exscan"]
};

/// A rule by which an operation chooses its algorithm. Its reader checks the words of the algorithm.
static RULE: Shape = Shape::Defined {
    name: "rule",
    shape: &Shape::Object(&[
        required(
            "algorithm",
            &Shape::Name,
            "\"binomial\"",
            "The algorithm where all bounds of the rule hold: a word of the operation.",
        ),
        optional(
            "up_to",
            &SIZE,
            "The most bytes of the message, of the vector, or of the block of each rank.",
        ),
        optional("total_up_to", &SIZE, "The most bytes of the blocks of all ranks together."),
        optional("ranks_up_to", &RANKS, "The most ranks."),
        optional("ranks_per_node_up_to", &RANKS, "The most ranks of a node."),
        optional("power_of_two", &Shape::Flag, "Whether the ranks are a power of two."),
        optional("commutative", &Shape::Flag, "Whether the operator, if there is one, commutes."),
        optional(
            "enough_elements",
            &Shape::Flag,
            "Whether there is an element for each rank of the greatest power of two among them.",
        ),
        default(
            "over",
            &OVER,
            "as `mpi.collectives.over` says",
            "Which ranks combine first, where neither the statement nor `mpi.collectives.over` says it.",
        ),
        optional("segment", &SEGMENT, "Bytes of a segment, for algorithms in segments."),
        optional(
            "outstanding",
            &OUTSTANDING,
            "Pairs of messages under way at once, for `scattered`.",
        ),
        optional(
            "stands_for",
            &Shape::Name,
            "The algorithm that a library's table names, where this one is the nearest to it.",
        ),
        default("guess", &Shape::Flag, "false", "Whether the rule is a guess."),
        optional("source", &SOURCE, "Where the rule stands."),
    ]),
};
static SOURCE: Shape = Shape::Text(200);

/// An algorithm, or the rules that choose one.
macro_rules! choices {
    ($($name:ident $kind:ident)*) => {
        $(static $name: Shape = Shape::Either(&[
            words(Kind::$kind),
            Shape::List { of: &RULE, min: 1, max: MOST_RULES },
        ]);)*
    };
}

choices! {
    BARRIER_CHOICE Barrier
    BCAST_CHOICE Bcast
    SCATTER_CHOICE Scatter
    GATHER_CHOICE Gather
    ALLGATHER_CHOICE Allgather
    REDUCE_CHOICE Reduce
    ALLREDUCE_CHOICE Allreduce
    REDUCE_SCATTER_CHOICE ReduceScatter
    REDUCE_SCATTER_BLOCK_CHOICE ReduceScatterBlock
    ALLTOALL_CHOICE Alltoall
    SCAN_CHOICE Scan
    EXSCAN_CHOICE Exscan
}

static PRESET: Shape = Shape::Word(&crate::presets::WORDS);

/// The library's choices, by operation.
pub static CHOICES: Shape = Shape::Object(&[
    optional(
        "preset",
        &PRESET,
        "The decision tables of a library, for each operation that has no algorithm or rules of its own here.",
    ),
    default("barrier", &BARRIER_CHOICE, "dissemination", "The algorithm of MPI_Barrier."),
    default("bcast", &BCAST_CHOICE, "binomial", "The algorithm of MPI_Bcast."),
    default("scatter", &SCATTER_CHOICE, "linear", "The algorithm of MPI_Scatter."),
    default("gather", &GATHER_CHOICE, "linear", "The algorithm of MPI_Gather."),
    default(
        "allgather",
        &ALLGATHER_CHOICE,
        "ring",
        "The algorithm of MPI_Allgather and MPI_Allgatherv.",
    ),
    default(
        "reduce",
        &REDUCE_CHOICE,
        "binomial",
        "The algorithm of MPI_Reduce; where it does not fit the operator, `binomial`.",
    ),
    default(
        "allreduce",
        &ALLREDUCE_CHOICE,
        "recursive_doubling",
        "The algorithm of MPI_Allreduce; where it does not fit the operator, `recursive_doubling`.",
    ),
    default(
        "reduce_scatter",
        &REDUCE_SCATTER_CHOICE,
        "halving",
        "The algorithm of MPI_Reduce_scatter; where it does not fit the operator, `halving`.",
    ),
    default(
        "reduce_scatter_block",
        &REDUCE_SCATTER_BLOCK_CHOICE,
        "halving",
        "The algorithm of MPI_Reduce_scatter_block; where it does not fit the operator, `halving`.",
    ),
    default(
        "alltoall",
        &ALLTOALL_CHOICE,
        "pairwise",
        "The algorithm of MPI_Alltoall and MPI_Alltoallv; where it does not fit the blocks, `pairwise`.",
    ),
    default("scan", &SCAN_CHOICE, "recursive_doubling", "The algorithm of MPI_Scan."),
    default("exscan", &EXSCAN_CHOICE, "recursive_doubling", "The algorithm of MPI_Exscan."),
    default(
        "bcast_segment",
        &SEGMENT,
        "8 KiB",
        "Bytes of a segment of a broadcast in segments (`pipelined_ring`, `chain`, `binary_tree`, `knomial`); an assumption, since no document states it.",
    ),
    default(
        "reduce_segment",
        &SEGMENT,
        "8 KiB",
        "Bytes of a segment of a reduction in segments (`pipelined_ring`, `binary_tree`); an assumption, too.",
    ),
    default(
        "alltoall_outstanding",
        &OUTSTANDING,
        "32",
        "Pairs of messages that `scattered` has under way at once; the default of MPICH.",
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
    use crate::presets::PRESETS;
    use collectives::Algorithm;
    use form::diagnostic::Diagnostics;
    use form::json;
    use form::shape::check::check;
    use mpi::operator::{Datatype, Operator};

    fn words_of(shape: &Shape) -> Vec<&'static str> {
        let shape = if let Shape::Either([words, _]) = shape { words } else { shape };
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
    fn presets_have_the_form_of_a_scenarios_choices() {
        for preset in PRESETS {
            let mut diagnostics = Diagnostics::new();
            let tree = json::decode(&mut diagnostics, preset.word, preset.text.as_bytes())
                .and_then(|source| json::parse(&mut diagnostics, source))
                .unwrap();
            check(&mut diagnostics, tree.get("collectives").unwrap(), &CHOICES, "collectives");
            assert!(diagnostics.is_empty(), "{}", diagnostics.human());
        }
    }

    #[test]
    fn the_words_are_the_operators_and_types_of_the_library() {
        assert_eq!(words_of(&OPERATOR), Operator::ALL.map(Operator::name));
        assert_eq!(words_of(&TYPE), Datatype::ALL.map(Datatype::name));
    }
}
