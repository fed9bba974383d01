//! Planted bugs of the encoding of datatypes: the law D2, each id lies where the type map says, finds
//! every one in a handful of small types, and finds nothing where a change does not matter.
//!
//! `cargo test --features mutants --test mutants datatypes -- --nocapture` prints the table.

#![allow(clippy::print_stdout, reason = "the table is of interest")]

use crate::datatypes_model::Map;
use mpisim::mpi::datatype::encoding::Flaw;
use mpisim::mpi::datatype::{Datatype, Encoding, Order, Primitive};

/// The smallest types that show something each.
fn types() -> Vec<(&'static str, Datatype)> {
    let double = Datatype::named(Primitive::Double);
    let vector = Datatype::vector(3, 2, 5, &double).unwrap();
    let long = Datatype::vector(5, 1, 3, &double).unwrap();
    let point = Datatype::resized(0, 24, &double).unwrap();
    vec![
        ("vector", vector.clone()),
        ("vector of vectors", Datatype::vector(2, 1, 2, &vector).unwrap()),
        ("padded elements", Datatype::contiguous(3, &point).unwrap()),
        ("empty blocks", Datatype::indexed(&[0, 1, 0, 2], &[7, 1, 9, 4], &double).unwrap()),
        ("box", Datatype::subarray(&[4, 6], &[2, 3], &[1, 2], Order::C, &double).unwrap()),
        ("struct", Datatype::structure(&[1, 1], &[0, 200], &[double, vector.clone()]).unwrap()),
        ("two vectors", Datatype::structure(&[1, 1], &[0, 200], &[vector, long]).unwrap()),
    ]
}

/// The types of which some id does not lie where it should, or goes to another place.
fn found(flaw: Option<Flaw>) -> Vec<&'static str> {
    let is_broken = |datatype: &Datatype| {
        let encoding = Encoding::new(datatype, 2).unwrap();
        let encoding = flaw.map_or(encoding.clone(), |flaw| encoding.with(flaw));
        let mut output = 0;
        (0..).zip(Map::of(datatype).repeated(2).entries).any(|(id, (primitive, input))| {
            let element = encoding.locate(id);
            let right = (input, output, primitive.width());
            output += primitive.width();
            (element.input, element.output, element.size) != right
        })
    };
    types().into_iter().filter(|(_, datatype)| is_broken(datatype)).map(|(name, _)| name).collect()
}

#[test]
fn every_flaw_of_the_encoding_is_found_and_no_harmless_change_is() {
    assert_eq!(found(None), [""; 0]);
    for flaw in Flaw::ALL {
        let found = found(Some(flaw));
        println!("{flaw:?}: {}", found.join(", "));
        assert_eq!(found.is_empty(), flaw.is_harmless(), "{flaw:?}");
        assert!(found.len() < types().len(), "{flaw:?} breaks everything");
    }
}
