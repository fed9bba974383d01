//! The machines of `coop` as its Table I states them, against their models.
//!
//! Words of the table stand in the note of a model; numbers are those of its profile.

use crate::common::model;
use mpisim::hardware::core::{Placement, Scheme};
use mpisim::hardware::profile::Profile;
use serde_json::Value as Json;

const CLAIMS: &str = include_str!("../data/claims_coop.json");
/// Columns of the table, by the end of the claim's id, and their models.
const COLUMNS: [(&str, &str); 3] =
    [("xeon", "broadwell-edr"), ("knl", "knl-edr"), ("p8", "power8-edr")];

/// What the document states in the claim of this id.
#[track_caller]
fn stated(id: &str) -> Json {
    let claims: Vec<Json> = serde_json::from_str(CLAIMS).expect("a list of claims");
    let claim = claims.iter().find(|claim| claim["id"] == id);
    claim.unwrap_or_else(|| panic!("no claim {id}"))["expected"]["value"].clone()
}

/// The models give the numbers of this row of the table.
#[track_caller]
fn check_numbers(row: &str, number: impl Fn(&Profile) -> u64) {
    for (column, name) in COLUMNS {
        let expected = stated(&format!("coop-tab1-{row}-{column}"));
        assert_eq!(Json::from(number(&model(name, &[]))), expected, "{name}: {row}");
    }
}

/// The notes of the models give the words of this row of the table.
#[track_caller]
fn check_words(row: &str) {
    for (column, name) in COLUMNS {
        let expected = stated(&format!("coop-tab1-{row}-{column}"));
        let words = expected.as_str().expect("a text");
        let path = format!("{}/models/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let file = std::fs::read_to_string(path).expect("a shipped model");
        let file: Json = serde_json::from_str(&file).expect("valid JSON");
        let note = file["note"].as_str().expect("a note");
        let (_, table) = note.split_once("coop Table I: ").expect("the words of the table");
        let said = table.split([';', ',']).any(|part| part.trim() == words);
        assert!(said, "{name}: {row}: {words} is not in {note:?}");
    }
}

#[test]
fn models_name_what_the_table_names() {
    // claim: coop-tab1-family-xeon
    // claim: coop-tab1-family-knl
    // claim: coop-tab1-family-p8
    check_words("family");
    // claim: coop-tab1-model-xeon
    // claim: coop-tab1-model-knl
    // claim: coop-tab1-model-p8
    check_words("model");
    // claim: coop-tab1-interconnect-xeon
    // claim: coop-tab1-interconnect-knl
    // claim: coop-tab1-interconnect-p8
    check_words("interconnect");
    // claim: coop-tab1-compiler-xeon
    // claim: coop-tab1-compiler-knl
    // claim: coop-tab1-compiler-p8
    check_words("compiler");
    // claim: coop-tab1-os-xeon
    // claim: coop-tab1-os-knl
    // claim: coop-tab1-os-p8
    check_words("os");
}

#[test]
fn nodes_have_the_cores_and_the_memory_of_the_table() {
    // claim: coop-tab1-sockets-xeon
    // claim: coop-tab1-sockets-knl
    // claim: coop-tab1-sockets-p8
    check_numbers("sockets", |profile| u64::from(profile.cpu.sockets));
    // claim: coop-tab1-cores-per-socket-xeon
    // claim: coop-tab1-cores-per-socket-knl
    // claim: coop-tab1-cores-per-socket-p8
    check_numbers("cores-per-socket", |profile| u64::from(profile.cpu.cores_per_socket));
    // claim: coop-tab1-threads-per-core-xeon
    // claim: coop-tab1-threads-per-core-knl
    // claim: coop-tab1-threads-per-core-p8
    check_numbers("threads-per-core", |profile| u64::from(profile.cpu.smt));
    // claim: coop-tab1-ram-gb-xeon
    // claim: coop-tab1-ram-gb-knl
    // claim: coop-tab1-ram-gb-p8
    check_numbers("ram-gb", |profile| profile.mem.capacity.as_u64() / 1_000_000_000);
}

#[test]
fn cores_have_the_clock_of_the_table() {
    // claim: coop-tab1-clock-xeon
    // claim: coop-tab1-clock-knl
    // claim: coop-tab1-clock-p8
    for (column, name) in COLUMNS {
        let expected = stated(&format!("coop-tab1-clock-{column}"));
        assert_eq!(format!("{expected} GHz"), model(name, &[]).cpu.clock.to_string(), "{name}");
    }
}

#[test]
fn every_process_of_a_full_node_has_a_core_of_its_own() {
    // claim: coop-cfg-ppn
    let per_node = stated("coop-cfg-ppn");
    for (column, name) in [("bdw", "broadwell-edr"), ("knl", "knl-edr"), ("p8", "power8-edr")] {
        let processes = per_node[column].as_u64().expect("a count");
        let processes = u32::try_from(processes).expect("a small count");
        let cpu = model(name, &[]).cpu;
        let placement = Placement::new(&cpu, 1, processes, 1, Scheme::Block).expect("they fit");
        assert!((0..processes).all(|process| placement.place(process, 0).thread == 0), "{name}");
        // All cores of two of the machines, and 32 tiles of the third.
        let cores = cpu.sockets * cpu.cores_per_socket;
        assert_eq!(cores - processes, if name == "knl-edr" { 4 } else { 0 }, "{name}");
    }
}
