//! The recorded cases, and what must be found wrong.

use super::*;
use crate::{Cases, Simulated, VectorError, Vectors, Verdict, judge};
use mpi::datatype::{Datatype, Primitive};
use shipped::SHIPPED;

const NAMED: &str = include_str!("../../../tests/vectors/datatypes_named.json");
const RANDOM: &str = include_str!("../../../tests/vectors/datatypes_random.json");
const NAMED_VARIANCE: &str = include_str!("../../../tests/vectors/datatypes_named_variance.json");
const RANDOM_VARIANCE: &str = include_str!("../../../tests/vectors/datatypes_random_variance.json");

fn verdict(text: &str) -> Verdict {
    let vectors = Vectors::read(text, SHIPPED).expect("the recorded file is in order");
    judge(&vectors, &Simulated { seed: 1 }, 1)
}

#[test]
fn the_simulators_datatypes_conform() {
    let mut all = verdict(NAMED);
    all.add(verdict(RANDOM));
    assert_eq!(all.to_string(), "660 passed, 0 failed");
}

#[test]
fn where_libraries_differ_each_case_has_its_answer() {
    let mut all = verdict(NAMED_VARIANCE);
    all.add(verdict(RANDOM_VARIANCE));
    assert!(!all.judges() && !all.is_pass(), "no case has one right answer");
    let follow = |library: &str| {
        let names = |followed: &&Followed| followed.libraries.iter().any(|one| one == library);
        all.followed.iter().filter(names).count()
    };
    let neither = all.followed.iter().filter(|one| one.libraries.is_empty()).count();
    let counts = (all.followed.len(), follow("MPICH 4.0.2"), follow("Open MPI v4.1.4"), neither);
    // docs/model/datatypes.md says where MPICH parts from the text of MPI, which the simulator follows.
    assert_eq!(counts, (66, 6, 60, 0));
}

/// A field of a case that says something else is seen, in every kind of field.
#[test]
fn a_false_answer_is_seen_in_each_field() {
    let Cases::Datatypes(cases) = Vectors::read(NAMED, SHIPPED).expect("in order").cases else {
        panic!("another family")
    };
    for (field, value) in &cases[0].expected {
        let mut bent = cases[0].clone();
        let other = match value {
            Value::Bool(flag) => Value::from(!flag),
            Value::String(_) => Value::from("00000001"),
            Value::Number(_) => Value::from(7),
            Value::Array(_) => Value::from(vec![7]),
            Value::Null | Value::Object(_) => panic!("{field} has no such value"),
        };
        bent.expected.insert(field.clone(), other);
        assert!(bent.mismatch(&(), 0).is_some(), "{field}");
        bent.expected.remove(field);
        assert!(bent.mismatch(&(), 0).is_some(), "{field} is missing");
    }
    assert!(cases[0].expected.len() >= 12);
}

#[track_caller]
fn check_refused(tree: &str, message: &str) {
    let text = format!(
        r#"{{"family":"datatypes","schema":1,"mpi":"M","seed":1,"cases":[
        {{"id":4,"name":"n","type":{tree},"count":1}}]}}"#
    );
    let error: VectorError = Vectors::read(&text, SHIPPED).expect_err("no type");
    assert_eq!(error.to_string(), message);
}

#[test]
fn trees_that_are_no_types_are_refused_by_case_and_level() {
    check_refused(
        r#"{"kind":"contiguous","count":2,"child":{"kind":"named","name":"long"}}"#,
        "case 4: `type.child.name`: `long` is unknown here; allowed are int8, int16, int32, int64, \
         float, double, char, byte",
    );
    check_refused(
        r#"{"kind":"hindexed","blocklengths":[1],"displacements":[1,2],
            "child":{"kind":"named","name":"byte"}}"#,
        "case 4: `type`: 1 blocklengths, 2 displacements; each block has one; sizes and bounds of \
         64 bits and lists that fit are needed",
    );
}

/// A type that would need more memory than there is fails by name.
#[test]
fn a_type_without_bounds_is_not_tried() {
    let datatype = Datatype::vector(2, 1, 1 << 40, &Datatype::named(Primitive::Byte));
    let case = Case { id: 0, datatype: datatype.unwrap(), count: 1, expected: Map::new() };
    let mismatch = case.mismatch(&(), 0).expect("it is not tried").to_string();
    assert!(mismatch.ends_with("at most 67108864 B are tried"), "{mismatch}");
}
