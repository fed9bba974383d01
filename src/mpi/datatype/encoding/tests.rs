//! The encoding and the way through it, as the document states them.

use std::collections::BTreeSet;

use super::node::WORD;
use super::*;
use crate::datatype::{Datatype, Order, Primitive, pack};

fn double() -> Datatype {
    Datatype::named(Primitive::Double)
}

fn encoded(datatype: &Datatype) -> Encoding {
    Encoding::new(datatype, 1).expect("it can be encoded")
}

/// Of each kind the smallest type, over doubles.
fn one_of_each() -> [(NodeKind, Datatype); 6] {
    let child = double();
    let order = Order::C;
    [
        (NodeKind::Contiguous, Datatype::contiguous(4, &child)),
        (NodeKind::Vector, Datatype::vector(3, 2, 5, &child)),
        (NodeKind::Subarray, Datatype::subarray(&[4, 6], &[2, 3], &[1, 2], order, &child)),
        (NodeKind::Indexed, Datatype::indexed(&[0, 1, 0, 2], &[7, 1, 9, 4], &child)),
        (NodeKind::IndexedBlock, Datatype::indexed_block(2, &[6, 1, 9], &child)),
        (NodeKind::Struct, Datatype::structure(&[1, 2], &[0, 24], &[child.clone(), child])),
    ]
    .map(|(kind, made)| (kind, made.expect("a type")))
}

fn of_kind(wanted: NodeKind) -> (Datatype, Encoding) {
    let all = one_of_each();
    let (_, datatype) = all.into_iter().find(|(kind, _)| *kind == wanted).expect("each is there");
    let encoding = encoded(&datatype);
    (datatype, encoding)
}

/// The way through the nodes, as an observer sees it.
#[derive(Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
struct Way {
    levels: Vec<(NodeKind, u32)>,
    searched: Vec<u64>,
    read: Vec<u64>,
    members: Vec<u32>,
}

impl Observer for Way {
    fn level(&mut self, kind: NodeKind, node: u32) {
        self.levels.push((kind, node));
    }

    fn search_step(&mut self, lookaside_byte: u64) {
        self.searched.push(lookaside_byte);
    }

    fn lookaside(&mut self, lookaside_byte: u64) {
        self.read.push(lookaside_byte);
    }

    fn branch(&mut self, member: u32) {
        self.members.push(member);
    }
}

fn way(encoding: &Encoding, id: u64) -> Way {
    let mut way = Way::default();
    encoding.trace(id, &mut way);
    way
}

// claim: gpu-tab1-common-fixed
// claim: gpu-tab1-common-variable
#[test]
fn every_node_has_count_size_extent_and_primitives() {
    for (kind, datatype) in one_of_each() {
        let encoding = encoded(&datatype);
        let common = &encoding.fixed()[field::COUNT..field::COMMON];
        let count = [4, 3, 6, 4, 3, 2][kind as usize];
        // Of one child; a struct has no one child, and says its own.
        let below = if kind == NodeKind::Struct { [24, 40, 3] } else { [8, 8, 1] };
        assert_eq!(common, [vec![count], below.to_vec()].concat(), "{kind:?}");
    }
    let (_, encoding) = of_kind(NodeKind::Contiguous);
    assert_eq!((encoding.fixed_bytes(), encoding.lookaside_bytes()), (40, 0));
}

// claim: gpu-tab1-vector-fixed
// claim: gpu-tab1-vector-variable
#[test]
fn a_vector_has_stride_and_blocklength() {
    let (_, encoding) = of_kind(NodeKind::Vector);
    assert_eq!(encoding.fixed()[field::COMMON..], [40, 2]);
    assert_eq!(encoding.lookaside(), [0; 0]);
    // The stride in bytes is the same one, and may be negative.
    assert_eq!(encoded(&Datatype::hvector(3, 2, 40, &double()).unwrap()), encoding);
    let back = encoded(&Datatype::vector(3, 2, -5, &double()).unwrap());
    assert_eq!(back.fixed()[field::STRIDE].cast_signed(), -40);
}

// claim: gpu-tab1-subarray-fixed
// claim: gpu-tab1-subarray-variable
#[test]
fn a_subarray_has_its_lists_aside() {
    let (_, encoding) = of_kind(NodeKind::Subarray);
    assert_eq!(encoding.fixed()[field::COMMON..], [0, 2]);
    assert_eq!(encoding.lookaside(), [4, 6, 2, 3, 1, 2]);
    let swapped = [[6, 4], [3, 2], [2, 1]];
    let [sizes, subsizes, starts] = swapped;
    let fortran = Datatype::subarray(&sizes, &subsizes, &starts, Order::Fortran, &double());
    assert_eq!(encoded(&fortran.unwrap()), encoding, "the slowest stands first");
}

// claim: gpu-tab1-indexed-fixed
// claim: gpu-tab1-indexed-variable
#[test]
fn an_indexed_type_has_its_lists_aside() {
    let (_, encoding) = of_kind(NodeKind::Indexed);
    assert_eq!(encoding.fixed()[field::COMMON..], [0]);
    assert_eq!(encoding.lookaside(), [0, 0, 1, 1, 3, 56, 8, 72, 32]);
    let (_, equal) = of_kind(NodeKind::IndexedBlock);
    assert_eq!(equal.fixed()[field::COMMON..], [0, 2]);
    assert_eq!(equal.lookaside(), [48, 8, 72]);
}

// claim: gpu-tab1-struct-fixed
// claim: gpu-tab1-struct-variable
#[test]
fn a_struct_has_its_lists_and_the_places_of_children_aside() {
    let vector = Datatype::vector(3, 2, 5, &double()).unwrap();
    let int = Datatype::named(Primitive::Int32);
    let made = Datatype::structure(&[2, 0, 3], &[8, -4, 200], &[vector, double(), int]).unwrap();
    let encoding = encoded(&made);
    assert_eq!(encoding.fixed()[field::COMMON], 0, "the lookaside offset");
    let (blocklengths, displacements) = ([0, 2, 2, 5], [8, (-4_i64).cast_unsigned(), 200]);
    let (primitives, packed) = ([0, 12, 12, 15], [0, 96, 96, 108]);
    let node = NodeKind::Struct.words();
    let leaf = |primitive| bits::of_child(Some(primitive), 0) & 0xFF;
    let places = encoding.lookaside()[15..18].to_vec();
    assert_eq!(bits::node(places[0]), node, "the first child is the next node");
    assert_eq!(
        [places[1] & 0xFF, places[2] & 0xFF],
        [leaf(Primitive::Double), leaf(Primitive::Int32)]
    );
    let lists = [&blocklengths[..], &displacements, &primitives, &packed, &places, &[96, 8, 4]];
    assert_eq!(encoding.lookaside(), lists.concat());
}

// claim: gpu-sem-preorder
// claim: gpu-sem-bitfield
#[test]
fn nodes_stand_in_preorder_and_named_types_are_none() {
    let vector = Datatype::vector(3, 2, 5, &double()).unwrap();
    let block = Datatype::indexed_block(1, &[3, 0], &vector).unwrap();
    let wide = Datatype::resized(-8, 400, &block).unwrap();
    let inner = Datatype::contiguous(2, &vector).unwrap();
    let root = Datatype::structure(&[1, 1, 4], &[0, 2000, 1000], &[wide, inner, double()]).unwrap();
    let encoding = encoded(&root);
    // struct, indexed block, vector, contiguous, vector: neither doubles nor new bounds are nodes.
    let kinds = [
        NodeKind::Struct,
        NodeKind::IndexedBlock,
        NodeKind::Vector,
        NodeKind::Contiguous,
        NodeKind::Vector,
    ];
    assert_eq!((encoding.nodes(), encoding.levels()), (5, 3));
    let mut at = 0;
    for (index, kind) in kinds.into_iter().enumerate() {
        let word = encoding.fixed()[at];
        assert_eq!(bits::kind(word), kind, "node {index}");
        let leaf = (kind == NodeKind::Vector).then_some(Primitive::Double);
        assert_eq!(bits::leaf(word), leaf, "node {index}");
        at += kind.words();
    }
    assert_eq!(encoding.fixed_bytes(), (at * WORD) as u64);
    // Each way goes from a node to the next one, except into a struct's second child.
    let starts = |id| way(&encoding, id).levels.iter().map(|(_, node)| *node).collect::<Vec<_>>();
    assert_eq!(starts(0), [0, 48, 104]);
    assert_eq!(starts(12), [0, 160, 200]);
    assert_eq!(starts(24), [0]);
}

// claim: gpu-sem-cache
#[test]
fn what_a_block_of_threads_caches_does_not_grow_with_the_lists() {
    let of = |blocks: i64| {
        let places: Vec<i64> = (0..blocks).map(|block| 3 * block).collect();
        encoded(&Datatype::indexed(&vec![2; places.len()], &places, &double()).unwrap())
    };
    let (few, many) = (of(2), of(1_000));
    assert_eq!(few.fixed_bytes(), many.fixed_bytes());
    assert_eq!((few.lookaside_bytes(), many.lookaside_bytes()), (8 * 5, 8 * 2_001));
}

// claim: gpu-ex-id3
#[test]
fn id_3_of_the_documents_vector_is_element_6() {
    let (_, encoding) = of_kind(NodeKind::Vector);
    let element = encoding.locate(3);
    assert_eq!(element, Element { input: 6 * 8, output: 3 * 8, size: 8 });
    let (block, place) = (element.input / 40, element.input % 40 / 8);
    assert_eq!((block, place), (1, 1));
}

// claim: gpu-ex-trace
// claim: gpu-sem-nodiverge
#[test]
fn a_vector_of_vectors_takes_two_levels_and_one_path() {
    let inner = Datatype::vector(2, 1, 3, &double()).unwrap();
    let encoding = encoded(&Datatype::vector(3, 2, 5, &inner).unwrap());
    let ways: BTreeSet<Way> = (0..encoding.primitives()).map(|id| way(&encoding, id)).collect();
    assert_eq!(ways.len(), 1, "all threads go one way");
    let only = ways.first().expect("there is one");
    assert_eq!(only.levels, [(NodeKind::Vector, 0), (NodeKind::Vector, 56)]);
    // The id is reduced once: 7 is number 3 of the outer level, and 1 within its child.
    let outer = (5 + 1) * inner.extent();
    assert_eq!(encoding.locate(7).input, outer + 3 * 8);
    // Nor do subarrays and indexed blocks part: what is read differs, the steps do not.
    for kind in [NodeKind::Subarray, NodeKind::IndexedBlock] {
        let (_, encoding) = of_kind(kind);
        let paths: BTreeSet<_> = (0..encoding.primitives())
            .map(|id| way(&encoding, id))
            .map(|way| (way.levels, way.searched.len(), way.read.len(), way.members))
            .collect();
        assert_eq!(paths.len(), 1, "{kind:?}");
    }
}

// claim: gpu-sem-alg1
#[test]
fn a_traversal_takes_as_many_steps_as_there_are_levels() {
    let mut datatype = double();
    for depth in 1..20 {
        datatype = Datatype::vector(2, 1, 3, &datatype).unwrap();
        let encoding = encoded(&datatype);
        let last = encoding.primitives() - 1;
        for id in [0, 1, last / 2, last] {
            assert_eq!(way(&encoding, id).levels.len(), depth);
        }
    }
    for (kind, datatype) in one_of_each() {
        let encoding = encoded(&datatype);
        let source: Vec<u8> = (0..=255).collect();
        let mut packed = vec![0; usize::try_from(datatype.size()).unwrap()];
        encoding.pack(0..encoding.primitives(), &source, 0, &mut packed).unwrap();
        assert_eq!(packed, pack(&datatype, 1, &source, 0).unwrap(), "{kind:?}");
    }
}

/// Inputs of all ids, in doubles.
fn inputs(encoding: &Encoding) -> Vec<i64> {
    (0..encoding.primitives()).map(|id| encoding.locate(id).input / 8).collect()
}

// claim: gpu-sem-vec-inc
// claim: gpu-sem-contig-inc
// claim: gpu-sem-sub-inc
// claim: gpu-sem-idxblock-inc
#[test]
fn increments_are_those_of_the_document() {
    let input = |kind| inputs(&of_kind(kind).1);
    assert_eq!(input(NodeKind::Contiguous), [0, 1, 2, 3]);
    assert_eq!(input(NodeKind::Vector), [0, 1, 5, 6, 10, 11]);
    // Rows 1 and 2 of 4 x 6, columns 2 to 4.
    assert_eq!(input(NodeKind::Subarray), [8, 9, 10, 14, 15, 16]);
    assert_eq!(input(NodeKind::IndexedBlock), [6, 7, 1, 2, 9, 10]);
    assert_eq!(input(NodeKind::Indexed), [1, 4, 5]);
    assert_eq!(input(NodeKind::Struct), [0, 3, 4]);
    // Reads outside a search: none, three a dimension, one displacement.
    for (kind, reads) in [
        (NodeKind::Contiguous, 0),
        (NodeKind::Vector, 0),
        (NodeKind::Subarray, 2 * 3),
        (NodeKind::IndexedBlock, 1),
    ] {
        let (_, encoding) = of_kind(kind);
        let found = way(&encoding, 1);
        assert_eq!((found.read.len(), found.searched.len()), (reads, 0), "{kind:?}");
    }
}

/// D5 of the invariants: the block is the one that the sums of lengths put around the element, among
/// blocks of length 0 too.
// claim: gpu-sem-idx-search
#[test]
fn a_search_finds_its_block_in_logarithmic_steps() {
    for lengths in [vec![1], vec![0, 1, 0, 2], vec![0, 0, 0, 5], vec![3, 0, 0, 0], vec![2; 100]] {
        let places: Vec<i64> = (0..).map(|block| 1_000 * block).take(lengths.len()).collect();
        let encoding = encoded(&Datatype::hindexed(&lengths, &places, &double()).unwrap());
        let blocks = lengths.iter().zip(0_i64..);
        let expected: Vec<i64> = blocks
            .flat_map(|(length, block)| (0..*length).map(move |at| 1_000 * block + 8 * at))
            .collect();
        for (id, input) in (0..).zip(expected) {
            assert_eq!(encoding.locate(id).input, input, "id {id} of {lengths:?}");
            let way = way(&encoding, id);
            let most = lengths.len().next_power_of_two().ilog2() as usize;
            assert!(way.searched.len() <= most, "{} steps", way.searched.len());
            assert!(way.searched.iter().all(|byte| *byte <= 8 * lengths.len() as u64));
            assert_eq!(way.read.len(), 2, "where the block starts, and its displacement");
        }
    }
}

// claim: gpu-sem-struct
#[test]
fn threads_of_a_warp_part_at_the_members_of_a_struct() {
    let int = Datatype::named(Primitive::Int32);
    let char = Datatype::named(Primitive::Char);
    let members = [double(), int.clone(), int, char];
    let made = Datatype::structure(&[1; 4], &[0, 8, 12, 16], &members).unwrap();
    let encoding = Encoding::new(&made, 8).unwrap();
    let of_warp: Vec<Way> = (0..32).map(|id| way(&encoding, id)).collect();
    let paths: BTreeSet<&[u32]> = of_warp.iter().map(|way| &way.members[..]).collect();
    assert_eq!(paths.len(), 4, "32 threads meet 4 members");
    assert_eq!(of_warp[6].members, [2]);
    assert!(of_warp.iter().all(|way| way.searched.len() == 2 && way.read.len() == 5));
    assert_eq!(encoding.locate(4), Element { input: 24, output: 17, size: 8 });
    // Below a member that is no named type, four sums more tell how its elements lie.
    let pair = Datatype::vector(2, 1, 3, &double()).unwrap();
    let nested = Datatype::structure(&[1, 3], &[0, 64], &[double(), pair.clone()]).unwrap();
    let nested = encoded(&nested);
    assert_eq!(way(&nested, 0).read.len(), 5);
    assert_eq!((way(&nested, 4).read.len(), way(&nested, 4).members), (9, vec![1]));
    assert_eq!(nested.locate(4).input, 64 + pair.extent() + 24);
}

// claim: gpu-sem-coalesce
#[test]
fn adjacent_threads_write_adjacent_bytes() {
    let (_, vector) = of_kind(NodeKind::Vector);
    let repeated = Datatype::vector(64, 2, 5, &double()).unwrap();
    let encoding = encoded(&repeated);
    for warp in 0..4 {
        let outputs: Vec<u64> =
            (0..32).map(|thread| encoding.locate(32 * warp + thread).output).collect();
        let segments: BTreeSet<u64> = outputs.iter().map(|output| output / 128).collect();
        assert_eq!(segments.len(), 32 * 8 / 128, "as few as can be");
        assert!(outputs.windows(2).all(|pair| pair[1] == pair[0] + 8));
    }
    assert_eq!(vector.packed(), 48);
}

#[test]
fn several_elements_run_on_with_the_extent() {
    let datatype =
        Datatype::resized(0, 200, &Datatype::vector(3, 2, 5, &double()).unwrap()).unwrap();
    let encoding = Encoding::new(&datatype, 4).unwrap();
    assert_eq!((encoding.primitives(), encoding.packed()), (24, 192));
    assert_eq!(encoding.locate(3 * 6 + 3).input, 3 * 200 + 48);
    // Of a named type all elements are one node; none is no error.
    let doubles = Encoding::new(&Datatype::resized(0, 16, &double()).unwrap(), 5).unwrap();
    assert_eq!((doubles.nodes(), doubles.levels(), doubles.primitives()), (1, 1, 5));
    assert_eq!(doubles.locate(4), Element { input: 64, output: 32, size: 8 });
    assert_eq!(Encoding::new(&double(), 0).unwrap().primitives(), 0);
    assert_eq!(Encoding::new(&datatype, 0).unwrap().primitives(), 0);
}

#[test]
fn what_is_too_large_to_encode_is_refused_by_name() {
    // Children are shared where types are made, and written out where they are encoded.
    let mut datatype = Datatype::contiguous(1, &double()).unwrap();
    for _ in 0..20 {
        datatype = Datatype::structure(&[1, 1], &[0, 8], &[datatype.clone(), datatype]).unwrap();
    }
    assert_eq!(Encoding::new(&datatype, 1), Err(EncodingError::Fixed));
    let overflow = Encoding::new(&double(), 1 << 61);
    assert_eq!(overflow.expect_err("2^64 bytes").to_string(), "the size is beyond 64 bits");
}

#[test]
#[should_panic(expected = "id 6 of 6 primitives")]
fn there_is_no_id_beyond_the_last() {
    let (_, encoding) = of_kind(NodeKind::Vector);
    encoding.locate(6);
}
