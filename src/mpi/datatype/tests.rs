//! Types by hand: refused ones, edge cases, and examples of the papers.

use super::*;

fn byte() -> Datatype {
    Datatype::named(Primitive::Byte)
}

fn double() -> Datatype {
    Datatype::named(Primitive::Double)
}

#[track_caller]
fn check_refused(made: Result<Datatype, DatatypeError>, says: &str) {
    assert_eq!(made.expect_err("it is refused").to_string(), says);
}

#[test]
fn parameters_that_count_are_not_negative() {
    check_refused(Datatype::contiguous(-1, &byte()), "the count is -1; it may not be negative");
    let blocklength = "the blocklength is -2; it may not be negative";
    check_refused(Datatype::vector(1, -2, 1, &byte()), blocklength);
    check_refused(Datatype::indexed(&[1, -2], &[0, 1], &byte()), blocklength);
    check_refused(Datatype::hindexed_block(-2, &[], &byte()), blocklength);
    check_refused(Datatype::structure(&[-2], &[0], &[byte()]), blocklength);
    let outside = "dimension 1: subsize 3 from start -1 is not inside size 4; a subsize is at least \
                   1, a start at least 0";
    check_refused(Datatype::subarray(&[4, 4], &[4, 3], &[0, -1], Order::Fortran, &byte()), outside);
}

#[test]
fn lists_that_go_together_have_one_length() {
    let lists = "2 blocklengths, 1 displacements; each block has one";
    check_refused(Datatype::indexed(&[1, 1], &[0], &byte()), lists);
    check_refused(Datatype::structure(&[1, 1], &[0], &[byte(), byte()]), lists);
    let children = "0 children for 1 blocks; each block has one";
    check_refused(Datatype::structure(&[1], &[0], &[]), children);
    let dimensions = "0 sizes, 0 subsizes, 0 starts; each dimension has one, and there is at least \
                      one dimension";
    check_refused(Datatype::subarray(&[], &[], &[], Order::C, &byte()), dimensions);
}

/// D9 of the invariants: a size, a bound or a displacement beyond 64 bits is an error, not another
/// number.
#[test]
fn what_is_beyond_64_bits_is_refused() {
    let most = i64::MAX;
    let size = "the size is beyond 64 bits";
    let extent = "the extent is beyond 64 bits";
    let displacement = "a displacement in bytes is beyond 64 bits";
    check_refused(Datatype::contiguous(most, &double()), extent);
    check_refused(Datatype::vector(2, 1, most / 4, &double()), displacement);
    check_refused(Datatype::hvector(3, 1, most, &byte()), displacement);
    check_refused(Datatype::hindexed(&[1], &[most], &byte()), extent);
    check_refused(Datatype::indexed(&[1], &[most], &double()), displacement);
    let point = Datatype::resized(0, 0, &double()).unwrap();
    check_refused(Datatype::contiguous(most, &point), size);
    check_refused(Datatype::vector(most, 1 << 40, 0, &point), size);
    check_refused(Datatype::resized(most, 1, &byte()), extent);
    let wide = Datatype::structure(&[1, 1], &[i64::MIN, most - 1], &[byte(), byte()]);
    check_refused(wide, extent);
    let cube = [1 << 22; 3];
    check_refused(Datatype::subarray(&cube, &[1; 3], &[0; 3], Order::C, &byte()), extent);
    let large = Datatype::contiguous(1 << 40, &byte()).unwrap();
    let overflow = |part| DatatypeError::Overflow { part };
    assert_eq!(large.packed(1 << 23), Err(overflow(Part::Size)));
    let back = Datatype::resized(0, i64::MIN, &byte()).unwrap();
    assert_eq!(back.span(2), Ok((i64::MIN, 1)));
    assert_eq!(back.span(3), Err(overflow(Part::Span)));
}

#[test]
fn a_type_has_as_many_levels_as_allowed() {
    let mut datatype = byte();
    for _ in 1..MAX_DEPTH {
        datatype = Datatype::contiguous(1, &datatype).unwrap();
    }
    assert_eq!(datatype.depth(), MAX_DEPTH);
    check_refused(Datatype::contiguous(1, &datatype), "the type has more than 32 levels");
    assert_eq!(datatype.segments(2).unwrap().count(), 1);
}

/// Measures of types at the edges: size, primitives, lower bound, extent, true bounds.
#[track_caller]
fn check_measures(
    datatype: Result<Datatype, DatatypeError>,
    expected: (u64, u64, i64, i64, i64, u64),
) {
    let it = datatype.expect("a type");
    let bounds = (it.lb(), it.extent(), it.true_lb(), it.true_extent());
    assert_eq!((it.size(), it.primitives(), bounds.0, bounds.1, bounds.2, bounds.3), expected);
    assert_eq!(it.ub(), it.lb() + it.extent());
}

#[test]
fn edges_have_their_measures() {
    // Nothing at all, made in several ways.
    check_measures(Datatype::contiguous(0, &double()), (0, 0, 0, 0, 0, 0));
    check_measures(Datatype::vector(3, 0, 7, &double()), (0, 0, 0, 0, 0, 0));
    check_measures(Datatype::structure(&[], &[], &[]), (0, 0, 0, 0, 0, 0));
    let sized = Datatype::resized(-8, 24, &Datatype::structure(&[], &[], &[]).unwrap());
    check_measures(sized.clone(), (0, 0, -8, 24, 0, 0));
    check_measures(Datatype::contiguous(3, sized.as_ref().unwrap()), (0, 0, 0, 0, 0, 0));
    // An array has its bounds, whatever lies in it.
    let array = Datatype::subarray(&[3, 2], &[1, 2], &[1, 0], Order::C, &sized.unwrap());
    check_measures(array, (0, 0, 0, 144, 0, 0));
    // Backwards, and away from the origin.
    check_measures(Datatype::vector(3, 1, -2, &double()), (24, 3, -32, 40, -32, 40));
    check_measures(Datatype::indexed(&[0, 2, 0], &[-9, 3, 90], &double()), (16, 2, 24, 16, 24, 16));
    // A block of length 0 asks for no alignment.
    let padded = Datatype::structure(&[1, 0], &[0, 64], &[byte(), double()]);
    check_measures(padded, (1, 1, 0, 1, 0, 1));
    // Every constructor rounds the extent up to the alignment.
    let int = Datatype::named(Primitive::Int32);
    let apart = Datatype::hvector(2, 1, 7, &int);
    check_measures(apart.clone(), (8, 2, 0, 12, 0, 11));
    check_measures(Datatype::hindexed(&[1, 1], &[1, 6], &int), (8, 2, 1, 12, 1, 9));
    check_measures(Datatype::hindexed_block(1, &[3, 8], &double()), (16, 2, 3, 16, 3, 13));
    check_measures(Datatype::contiguous(2, &apart.clone().unwrap()), (16, 4, 0, 24, 0, 23));
    // Bounds that are set are those of all around, and nothing is rounded.
    let set = Datatype::resized(-1, 3, &int).unwrap();
    check_measures(Datatype::contiguous(2, &set), (8, 2, -1, 6, 0, 7));
    let both = Datatype::structure(&[1, 1], &[0, 16], &[apart.unwrap(), set.clone()]);
    check_measures(both, (12, 3, 15, 3, 0, 20));
    let of_array = Datatype::subarray(&[3], &[1], &[1], Order::C, &byte()).unwrap();
    check_measures(
        Datatype::structure(&[1, 1], &[0, 8], &[of_array, double()]),
        (9, 2, 0, 3, 1, 15),
    );
    let array = Datatype::subarray(&[4, 6], &[2, 3], &[1, 2], Order::C, &double());
    check_measures(array, (48, 6, 0, 192, 64, 72));
    let array = Datatype::subarray(&[4, 6], &[2, 3], &[1, 2], Order::Fortran, &double());
    check_measures(array, (48, 6, 0, 192, 72, 80));
}

#[test]
fn a_wide_named_type_has_the_alignment_that_it_says_and_sets_no_bounds() {
    // `long double` of x86-64, and a pair of it and an int as C lays it out.
    let wide = Datatype::named_as(2, Primitive::Int64, 16).unwrap();
    check_measures(Ok(wide.clone()), (16, 2, 0, 16, 0, 16));
    let int = Datatype::named(Primitive::Int32);
    let pair = Datatype::structure(&[1, 1], &[0, 16], &[wide, int]).unwrap();
    check_measures(Ok(pair.clone()), (20, 3, 0, 32, 0, 20));
    check_measures(Datatype::structure(&[1, 1], &[0, 16], &[byte(), pair]), (21, 4, 0, 48, 0, 36));
}

// claim: gpu-sem-struct-size
#[test]
fn the_struct_of_the_document_is_padded() {
    let int = Datatype::named(Primitive::Int32);
    let char = Datatype::named(Primitive::Char);
    let members = [double(), int.clone(), int, char];
    let made = Datatype::structure(&[1; 4], &[0, 8, 12, 16], &members);
    check_measures(made, (17, 4, 0, 24, 0, 17));
}

// claim: gpu-ex-size
#[test]
fn the_vector_of_the_document_has_three_blocks() {
    let vector = Datatype::vector(3, 2, 5, &double()).unwrap();
    assert_eq!((vector.primitives(), vector.size()), (6, 48));
    let starts: Vec<i64> = vector.segments(1).unwrap().map(|run| run.offset / 8).collect();
    assert_eq!(starts, [0, 5, 10]);
}

/// Copies share what is below, and trees that say the same are equal.
#[test]
fn types_are_values() {
    let inner = Datatype::vector(3, 2, 5, &double()).unwrap();
    let one = Datatype::contiguous(2, &inner).unwrap();
    let same = Datatype::contiguous(2, &Datatype::vector(3, 2, 5, &double()).unwrap()).unwrap();
    assert_eq!(one, same);
    let Kind::Contiguous { child, .. } = one.kind() else { panic!("another kind") };
    assert!(std::sync::Arc::ptr_eq(&child.0, &inner.0));
    // The same layout, made otherwise, is another type.
    assert_ne!(inner, Datatype::hvector(3, 2, 40, &double()).unwrap());
    assert!(
        inner
            .segments(2)
            .unwrap()
            .eq(Datatype::hvector(3, 2, 40, &double()).unwrap().segments(2).unwrap())
    );
}

/// G8 and G1 of the catalogue of malformed inputs.
#[test]
fn buffers_and_receives_are_checked() {
    let vector = Datatype::vector(2, 1, -3, &double()).unwrap();
    assert_eq!(vector.within(2, 24, 64), Ok(()));
    let outside = vector.within(2, 23, 64).expect_err("one byte too low");
    let says = "the type touches offsets -24 to 40, a buffer of 64 B with its origin at byte 23 \
                has -23 to 41";
    assert_eq!(outside.to_string(), says);
    assert!(vector.within(2, 24, 63).is_err());
    assert!(pack(&vector, 2, &[0; 63], 24).is_err());
    assert_eq!(
        pack_part(&vector, 2, &[0; 64], 24, 3..9, &mut [0; 5]),
        Err(DatatypeError::Packed { found: 5, needed: 6 })
    );
    assert_eq!(
        pack_part(&vector, 2, &[0; 64], 24, 30..33, &mut [0; 3]),
        Err(DatatypeError::Range { from: 30, to: 33, packed: 32 })
    );
    let folded = Datatype::vector(2, 3, 2, &double()).unwrap();
    let says = "packed bytes 16 and 24 lie at the same offset 16; a receive may write a byte only \
                once";
    assert_eq!(folded.receivable(1).expect_err("it overlaps").to_string(), says);
    assert_eq!(pack(&folded, 1, &[7; 40], 0), Ok(vec![7; 48]));
}

/// Overlaps are found, and excluded, without a look at every pair, and of most types at a glance.
#[test]
fn overlaps_of_large_types_are_told() {
    let column = Datatype::vector(1 << 40, 4, 1 << 10, &double()).unwrap();
    assert_eq!(column.receivable(1), Ok(()));
    let places: Vec<i64> = (0..200_000).map(|at| (at * 7_919) % 200_003 * 8).collect();
    let scattered = Datatype::hindexed_block(1, &places, &double()).unwrap();
    assert_eq!(scattered.receivable(3), Ok(()));
    let twice =
        Datatype::hindexed_block(1, &[&places[..], &[places[99_999] + 7]].concat(), &byte());
    assert_eq!(twice.unwrap().overlap(1), Ok(None));
    let touched =
        Datatype::structure(&[1, 1], &[0, places[99_999] + 7], &[scattered.clone(), byte()]);
    let overlap = touched.unwrap().overlap(1).unwrap().expect("the byte lies in an element");
    assert_eq!((overlap.first, overlap.second), (99_999 * 8 + 7, 200_000 * 8));
    let combed = Datatype::vector(1 << 23, 1, 2, &scattered).unwrap();
    let limit = 1 << 22;
    assert_eq!(combed.overlap(1), Err(DatatypeError::TooManyBlocks { limit }));
}

/// D4 of the invariants, for every split of a type of 64 bytes and every part of it.
#[test]
fn every_part_of_a_small_type_can_be_packed() {
    let pair = Datatype::structure(&[1, 3], &[4, 12], &[double(), byte()]).unwrap();
    let comb = Datatype::vector(3, 1, 2, &pair).unwrap();
    let whole = Datatype::structure(&[1, 1], &[0, 160], &[comb, byte()]).unwrap();
    let datatype = Datatype::structure(&[1, 3], &[0, 240], &[whole, double()]).unwrap();
    assert_eq!(datatype.size(), 58);
    let source: Vec<u8> = (0..=255).chain(0..=60).collect();
    let all = pack(&datatype, 1, &source, 0).unwrap();
    for from in 0..=all.len() {
        for to in from..=all.len() {
            let mut part = vec![0; to - from];
            pack_part(&datatype, 1, &source, 0, from as u64..to as u64, &mut part).unwrap();
            assert_eq!(part, all[from..to], "{from} to {to}");
        }
    }
}
