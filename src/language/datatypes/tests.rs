//! Trees that are datatypes, and what is said of those that are none.

use super::*;
use form::json::parse;
use form::shape::export::json_schema;
use form::shape::path;

fn reported(text: &str) -> (Option<Datatype>, Vec<(String, String)>) {
    let mut diagnostics = Diagnostics::new();
    let source = diagnostics.add_source("test", text);
    let node = parse(&mut diagnostics, source).expect("a JSON text");
    let found = read(&mut diagnostics, &node, "type");
    let all = diagnostics.sorted();
    (found, all.iter().map(|one| (one.path.clone(), one.found.clone())).collect())
}

const BYTE: &str = r#"{ "kind": "named", "name": "byte" }"#;

#[test]
fn a_tree_becomes_the_type_that_it_says() {
    let text = r#"{ "kind": "struct", "blocklengths": [ 1, 2 ], "displacements": [ 0, -8 ],
        "children": [ { "kind": "resized", "lb": -4, "extent": 16, "child": BYTE },
                      { "kind": "subarray", "sizes": [ 3, 2 ], "subsizes": [ 1, 2 ],
                        "starts": [ 2, 0 ], "order": "F", "child": BYTE } ] }"#;
    let byte = Datatype::named(Primitive::Byte);
    let expected = Datatype::structure(
        &[1, 2],
        &[0, -8],
        &[
            Datatype::resized(-4, 16, &byte).unwrap(),
            Datatype::subarray(&[3, 2], &[1, 2], &[2, 0], Order::Fortran, &byte).unwrap(),
        ],
    );
    assert_eq!(reported(&text.replace("BYTE", BYTE)), (Some(expected.unwrap()), Vec::new()));
}

#[test]
fn blocks_are_a_vector_in_bytes() {
    let vector = |count, length, stride| {
        let child = Datatype::named(Primitive::Int16);
        (Some(Datatype::vector(count, length, stride, &child).unwrap()), Vec::new())
    };
    let text = r#"{ "kind": "blocks", "size": "1 KiB", "block": "64 B",
        "child": { "kind": "named", "name": "int16" } }"#;
    assert_eq!(reported(text), vector(16, 32, 256));
    let apart = text.replace("\"64 B\"", "\"512 B\", \"apart\": 3");
    assert_eq!(reported(&apart), vector(2, 256, 768));
    let whole = "blocks of 7 B are no whole number of children of 2 B";
    check_refused(&text.replace("64 B", "7 B"), "type.block", whole);
    check_refused(
        &text.replace("64 B", "48 B"),
        "type.size",
        "1024 B are no whole number of blocks of 48 B",
    );
    let empty = r#"{ "kind": "contiguous", "count": 0, "child": BYTE }"#;
    let named = r#"{ "kind": "named", "name": "int16" }"#;
    check_refused(&text.replace(named, empty), "type.block", "children of 0 B");
}

/// 8192 GiB are 2^43 B: 2^20 lengths of them are 2^63, one more than a distance may be. 2^50 B, the
/// longest block, apart by 2^20 lengths are 2^70: more than any number holds.
#[test]
fn blocks_farther_apart_than_64_bits_say_are_refused() {
    for size in ["8192 GiB", "1048576 GiB"] {
        let text = format!(
            r#"{{ "kind": "blocks", "size": "{size}", "block": "{size}", "apart": 1048576, "child": BYTE }}"#
        );
        check_refused(&text, "type.apart", "the distance of blocks is beyond 64 bits");
    }
    // A distance that is one, of a vector that is none.
    let text = r#"{ "kind": "blocks", "size": "1048576 GiB", "block": "512 GiB", "apart": 1048576,
        "child": BYTE }"#;
    check_refused(text, "type", "a displacement in bytes is beyond 64 bits");
}

#[track_caller]
fn check_refused(text: &str, path: &str, says: &str) {
    let (found, reports) = reported(&text.replace("BYTE", BYTE));
    assert_eq!(found, None);
    assert_eq!(reports[0].0, path);
    assert!(reports[0].1.contains(says), "{}", reports[0].1);
}

#[test]
fn a_report_names_the_level_of_the_tree() {
    check_refused(
        r#"{ "kind": "contiguous", "count": 2, "child":
            { "kind": "struct", "blocklengths": [ 1 ], "displacements": [ 0 ], "children":
            [ { "kind": "contiguous", "count": 9223372036854775807, "child":
                { "kind": "named", "name": "int16" } } ] } }"#,
        "type.child.children[0]",
        "the extent is beyond 64 bits",
    );
    check_refused(
        r#"{ "kind": "indexed", "blocklengths": [ 1, 1 ], "displacements": [ 0 ], "child": BYTE }"#,
        "type",
        "2 blocklengths, 1 displacements",
    );
    check_refused(
        r#"{ "kind": "subarray", "sizes": [ 4, 4 ], "subsizes": [ 4, 3 ], "starts": [ 0, 2 ],
            "order": "C", "child": BYTE }"#,
        "type",
        "dimension 1: subsize 3 from start 2 is not inside size 4",
    );
    check_refused(
        r#"{ "kind": "contiguous", "count": -1, "child": BYTE }"#,
        "type.count",
        "-1 is negative",
    );
    check_refused(r#"{ "kind": "vektor" }"#, "type.kind", "`vektor` is unknown here");
    check_refused(
        r#"{ "kind": "contiguous", "count": 1, "child": { "kind": "named", "name": "long" } }"#,
        "type.child.name",
        "`long` is unknown here",
    );
    let mut deep = BYTE.to_owned();
    for _ in 0..32 {
        deep = format!(r#"{{ "kind": "contiguous", "count": 1, "child": {deep} }}"#);
    }
    check_refused(&deep, "type", "more than 32 levels");
}

/// The words of the table are the names of the types.
#[test]
fn every_named_type_has_its_word() {
    let Shape::Word(words) = NAME else { panic!("words") };
    let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    assert_eq!(names, Primitive::ALL.map(Primitive::name));
}

/// The table holds itself: its schema refers to itself, and paths lead into it.
#[test]
fn schemas_and_paths_reach_every_level() {
    let fields = [required("type", &DATATYPE, CHILD_EXAMPLE, "Any type.")];
    let schema = json_schema("test", &fields);
    assert_eq!(schema["properties"]["type"]["$ref"], "#/$defs/datatype");
    let kinds = schema["$defs"]["datatype"]["oneOf"].as_array().expect("a list");
    assert_eq!(kinds.len(), 12);
    assert_eq!(kinds[2]["properties"]["child"]["$ref"], "#/$defs/datatype");
    let text = format!(r#"{{ "type": {{ "kind": "contiguous", "count": 1, "child": {BYTE} }} }}"#);
    let mut diagnostics = Diagnostics::new();
    let source = diagnostics.add_source("test", &text);
    let node = parse(&mut diagnostics, source).expect("a JSON text");
    assert!(path::find(&fields, &node, "type.count").is_ok());
    assert!(path::find(&fields, &node, "type.child.name").is_ok());
    assert!(path::find(&fields, &node, "type.child.count").is_err());
}
