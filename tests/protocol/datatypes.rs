//! The laws of datatypes on random types: what is packed is what the definition of MPI selects, in
//! one piece, in pieces, and id by id.

use std::collections::BTreeMap;

use crate::datatypes_model::{Map, datatype};
use mpisim::mpi::datatype::{
    Datatype, DatatypeError, Encoding, Kind, Primitive, Rows, Segment, Signature, pack, pack_part,
    unpack, unpack_part,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestCaseError;

type Outcome = Result<(), TestCaseError>;

/// Random cases of each law; those of the first law are ten times as many.
const CASES: u32 = 10_000;

/// A buffer that `count` elements lie in, with a margin, and its origin; no byte says where it is.
fn buffer(map: &Map) -> (Vec<u8>, usize) {
    let (low, high) = map.span();
    let origin = usize::try_from((-low).max(0)).unwrap() + 3;
    let length = origin + usize::try_from(high.max(0)).unwrap() + 3;
    let mix = |at: usize| u8::try_from(((at * 131 + 17) ^ (at >> 8)) & 255).unwrap();
    ((0..length).map(mix).collect(), origin)
}

fn index(origin: usize, offset: i64) -> usize {
    origin.checked_add_signed(isize::try_from(offset).unwrap()).unwrap()
}

/// Two packed bytes with one offset, if there are such.
fn clash(map: &Map) -> bool {
    let mut offsets = map.bytes_in_order();
    let all = offsets.len();
    offsets.sort_unstable();
    offsets.dedup();
    offsets.len() < all
}

/// D6: size, bounds and number of primitives are those of the type map.
fn measures_agree(datatype: &Datatype, map: &Map) -> Outcome {
    let (low, high) = map.span();
    prop_assert_eq!(datatype.primitives(), map.entries.len() as u64);
    prop_assert_eq!(datatype.size(), map.bytes_in_order().len() as u64);
    prop_assert_eq!((datatype.lb(), datatype.extent()), (map.lb, map.extent));
    prop_assert_eq!(datatype.true_lb(), low);
    prop_assert_eq!(datatype.true_extent().cast_signed(), high - low);
    Ok(())
}

/// D1, D4: the reference packs what the type map says, whole and in two parts.
fn packs_the_map(datatype: &Datatype, count: u64, map: &Map, split: u64) -> Outcome {
    let (source, origin) = buffer(map);
    let expected: Vec<u8> =
        map.bytes_in_order().iter().map(|offset| source[index(origin, *offset)]).collect();
    prop_assert_eq!(&pack(datatype, count, &source, origin).unwrap(), &expected);
    let packed = expected.len() as u64;
    let split = split % (packed + 1);
    let mut parts = vec![0; expected.len()];
    let (one, two) = parts.split_at_mut(usize::try_from(split).unwrap());
    // The later part first: parts do not depend on each other.
    pack_part(datatype, count, &source, origin, split..packed, two).unwrap();
    pack_part(datatype, count, &source, origin, 0..split, one).unwrap();
    prop_assert_eq!(&parts, &expected);
    Ok(())
}

/// Runs do not touch, and none is empty.
fn runs_are_maximal(datatype: &Datatype, count: u64) -> Outcome {
    let runs: Vec<Segment> = datatype.segments(count).unwrap().collect();
    prop_assert!(runs.iter().all(|run| run.length > 0));
    for pair in runs.windows(2) {
        prop_assert_ne!(pair[0].offset + pair[0].length.cast_signed(), pair[1].offset);
    }
    Ok(())
}

/// What is known of the runs from the tree alone is what a walk over them finds.
fn rows_are_the_runs(datatype: &Datatype, count: u64) -> Outcome {
    let Some(rows) = Rows::of(datatype, count) else { return Ok(()) };
    let runs: Vec<Segment> = datatype.segments(count).unwrap().collect();
    prop_assert_eq!(runs.len() as u64, rows.count);
    for (number, run) in (0..).zip(&runs) {
        let step = if number == 0 { 0 } else { rows.stride * number };
        prop_assert_eq!((run.offset, run.length), (rows.first + step, rows.length));
    }
    Ok(())
}

/// D3: what was packed comes back to its places, and no other byte is touched.
fn unpacks_in_place(datatype: &Datatype, count: u64, map: &Map, split: u64) -> Outcome {
    let (source, origin) = buffer(map);
    let packed = pack(datatype, count, &source, origin).unwrap();
    let mut expected = vec![0xAA; source.len()];
    for offset in map.bytes_in_order() {
        expected[index(origin, offset)] = source[index(origin, offset)];
    }
    let mut target = vec![0xAA; source.len()];
    let answer = unpack(datatype, count, &packed, &mut target, origin);
    if clash(map) {
        return refuses_the_overlap(answer, &target, count, map);
    }
    prop_assert_eq!(answer, Ok(()));
    prop_assert_eq!(&target, &expected);
    let whole = packed.len() as u64;
    let split = split % (whole + 1);
    let (one, two) = packed.split_at(usize::try_from(split).unwrap());
    let mut target = vec![0xAA; source.len()];
    unpack_part(datatype, count, two, &mut target, origin, split..whole).unwrap();
    unpack_part(datatype, count, one, &mut target, origin, 0..split).unwrap();
    prop_assert_eq!(&target, &expected);
    Ok(())
}

/// D9: the two bytes that are named do lie at one offset, of one element the lowest; nothing was
/// written.
fn refuses_the_overlap(
    answer: Result<(), DatatypeError>,
    target: &[u8],
    count: u64,
    map: &Map,
) -> Outcome {
    let Err(DatatypeError::Overlaps { first, second, offset }) = answer else {
        return Err(TestCaseError::fail(format!("an overlap was accepted: {answer:?}")));
    };
    let offsets = map.bytes_in_order();
    let at = |position: u64| offsets[usize::try_from(position).unwrap()];
    prop_assert!(first < second);
    prop_assert_eq!((at(first), at(second)), (offset, offset));
    if count == 1 {
        let mut seen: BTreeMap<i64, u32> = BTreeMap::new();
        for offset in &offsets {
            *seen.entry(*offset).or_default() += 1;
        }
        let lowest = seen.iter().find(|(_, times)| **times > 1).map(|(at, _)| *at);
        prop_assert_eq!(lowest, Some(offset));
    }
    prop_assert!(target.iter().all(|byte| *byte == 0xAA));
    Ok(())
}

/// D2: the ids are the primitives of the type map in order; the packed data is theirs without gaps.
fn ids_are_the_primitives(datatype: &Datatype, count: u64, map: &Map) -> Outcome {
    let encoding = Encoding::new(datatype, count).unwrap();
    prop_assert_eq!(encoding.primitives(), map.entries.len() as u64);
    prop_assert_eq!(encoding.span(), map.span());
    let mut output = 0;
    for (id, (primitive, offset)) in (0..).zip(&map.entries) {
        let element = encoding.locate(id);
        prop_assert_eq!((element.input, element.output), (*offset, output));
        prop_assert_eq!(element.size, primitive.width());
        output += element.size;
    }
    prop_assert_eq!(output, encoding.packed());
    Ok(())
}

/// Any order of the threads gives the same bytes, in either direction.
fn any_order_of_ids_packs_alike(datatype: &Datatype, count: u64, map: &Map, order: u64) -> Outcome {
    let encoding = Encoding::new(datatype, count).unwrap();
    let all = encoding.primitives();
    let ids: Vec<u64> = (0..all).map(|turn| shuffled(turn, all, order)).collect();
    let (source, origin) = buffer(map);
    let expected = pack(datatype, count, &source, origin).unwrap();
    let mut packed = vec![0; expected.len()];
    encoding.pack(ids.iter().copied(), &source, origin, &mut packed).unwrap();
    prop_assert_eq!(&packed, &expected);
    if !clash(map) {
        let mut expected = vec![0xAA; source.len()];
        unpack(datatype, count, &packed, &mut expected, origin).unwrap();
        let mut target = vec![0xAA; source.len()];
        encoding.unpack(ids, &packed, &mut target, origin).unwrap();
        prop_assert_eq!(&target, &expected);
    }
    Ok(())
}

/// The turns in another order: every one comes once, since a step that shares no factor with their
/// number is taken.
fn shuffled(turn: u64, all: u64, order: u64) -> u64 {
    let factors = |step: u64| (2..=all).any(|f| step.is_multiple_of(f) && all.is_multiple_of(f));
    let first = order % all + 1;
    let step = (first..first + all).find(|step| !factors(*step)).unwrap();
    (turn * step + order) % all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10 * CASES))]

    // claim: gpu-sem-unpack
    #[test]
    fn every_part_of_a_type_is_packed_and_comes_back(
        datatype in datatype(), count in 0..4_u64, split: u64,
    ) {
        let one = Map::of(&datatype);
        measures_agree(&datatype, &one)?;
        let map = one.repeated(count);
        packs_the_map(&datatype, count, &map, split)?;
        unpacks_in_place(&datatype, count, &map, split)?;
        runs_are_maximal(&datatype, count)?;
        rows_are_the_runs(&datatype, count)?;
        ids_are_the_primitives(&datatype, count, &map)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    // claim: gpu-sem-depfree
    #[test]
    fn threads_in_any_order_give_the_bytes_of_the_serial_walk(
        datatype in datatype(), count in 0..4_u64, order in 0..10_000_u64,
    ) {
        let map = Map::of(&datatype).repeated(count);
        any_order_of_ids_packs_alike(&datatype, count, &map, order)?;
    }

    /// D8: what is sent with one type arrives whole with another of the same signature.
    #[test]
    fn types_of_one_signature_exchange_their_bytes(
        datatype in datatype(), count in 1..4_u64, gaps in prop::collection::vec(0..40_i64, 1..9),
    ) {
        let map = Map::of(&datatype).repeated(count);
        let other = scattered(&map, &gaps);
        let ours = Signature::of(&datatype, count).unwrap();
        let theirs = Signature::of(&other, 1).unwrap();
        prop_assert_eq!(ours.clone().difference(theirs.clone()), None);
        prop_assert!(ours.fits(theirs));
        let (source, origin) = buffer(&map);
        let sent = pack(&datatype, count, &source, origin).unwrap();
        let (mut target, there) = buffer(&Map::of(&other));
        unpack(&other, 1, &sent, &mut target, there).unwrap();
        prop_assert_eq!(pack(&other, 1, &target, there).unwrap(), sent);
    }

    /// Two signatures part where the lists of named types do.
    #[test]
    fn signatures_part_where_the_lists_do(one in datatype(), other in datatype()) {
        let list = |datatype: &Datatype| -> Vec<Primitive> {
            Map::of(datatype).entries.into_iter().map(|(primitive, _)| primitive).collect()
        };
        let (left, right) = (list(&one), list(&other));
        let whole = |datatype| Signature::of(datatype, 1).unwrap();
        let difference = whole(&one).difference(whole(&other));
        let agreed = left.iter().zip(&right).take_while(|(left, right)| left == right).count();
        let found = (left.get(agreed).copied(), right.get(agreed).copied());
        match difference {
            None => prop_assert_eq!(left, right),
            Some(difference) => {
                prop_assert_eq!(difference.agreed, agreed as u64);
                prop_assert_eq!((difference.left, difference.right), found);
            }
        }
        let fits = whole(&one).fits(whole(&other));
        prop_assert_eq!(fits, found.0.is_none());
    }
}

/// A struct of the same named types, each with a gap before it, the last ones first.
pub(crate) fn scattered(map: &Map, gaps: &[i64]) -> Datatype {
    let mut place = 0;
    let mut places = vec![0; map.entries.len()];
    for (index, (primitive, _)) in map.entries.iter().enumerate().rev() {
        place += gaps[index % gaps.len()];
        places[index] = place;
        place += primitive.width().cast_signed();
    }
    let children: Vec<Datatype> =
        map.entries.iter().map(|(primitive, _)| Datatype::named(*primitive)).collect();
    Datatype::structure(&vec![1; places.len()], &places, &children).unwrap()
}

/// The random types are of every kind, deep and shallow, and overlap often enough.
#[test]
fn the_random_types_are_many_sided() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut kinds: BTreeMap<String, u32> = BTreeMap::new();
    let (mut overlaps, mut empty, mut deep) = (0, 0, 0);
    for _ in 0..2_000 {
        let datatype = datatype().new_tree(&mut runner).unwrap().current();
        *kinds.entry(name(datatype.kind()).to_owned()).or_default() += 1;
        overlaps += u32::from(datatype.overlap(2).unwrap().is_some());
        empty += u32::from(datatype.size() == 0);
        deep += u32::from(datatype.depth() > 3);
    }
    assert_eq!(kinds.len(), 8, "{kinds:?}");
    // Named types are leaves: few trees are one.
    assert!(kinds.iter().all(|(kind, times)| kind == "named" || *times > 100), "{kinds:?}");
    assert!(overlaps > 200 && empty > 200 && deep > 200, "{overlaps} {empty} {deep}");
}

fn name(kind: &Kind) -> &'static str {
    match kind {
        Kind::Named(_) => "named",
        Kind::Contiguous { .. } => "contiguous",
        Kind::Vector { .. } => "vector",
        Kind::Indexed { .. } => "indexed",
        Kind::IndexedBlock { .. } => "indexed block",
        Kind::Struct { .. } => "struct",
        Kind::Subarray { .. } => "subarray",
        Kind::Resized { .. } => "resized",
    }
}
