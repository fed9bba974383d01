//! Every claim of a finished figure is checked somewhere, in the words of its document; what it
//! expects is guarded by `expectations.rs`.
//!
//! `data/claims_endpoints.json` is the list of what the document `endpoints` states. A figure is
//! finished when a scenario of it is shipped. A claim is checked by a scenario that has its `id`, or
//! by a test with the comment `claim: ID`. The document `xios-ep` measures nothing: all that it
//! states, in `data/claims_xios_ep.json`, is checked by tests.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use mpisim::mpi::envelope::Rank;
use mpisim::units::Bytes;
use mpisim::workloads::job::{AnyProgram, Flow, windowed};
use mpisim::workloads::windowed::{Direction, Windowed};
use serde_json::Value as Json;

pub(super) const COPY: &str = include_str!("../data/claims_endpoints.json");
pub(super) const XIOS_EP: &str = include_str!("../data/claims_xios_ep.json");
pub(super) const RMA: &str = include_str!("../data/claims_rma.json");
/// Claims of `rma` that wait, each with its reason.
const LATER_RMA: [(&str, &str); 1] = [(
    "rma-sec3-nemesis",
    "out of scope: it compares two channels over TCP, and no network here is one of TCP",
)];
pub(super) const COOP: &str = include_str!("../data/claims_coop.json");
pub(super) const GPU_PACK: &str = include_str!("../data/claims_gpu_pack.json");
/// Claims that a test checks and that do not hold here, each with its reason; those of scenarios say
/// so themselves (`mpisim list --claims`).
const DEVIATES: [(&str, &str); 2] = [
    (
        "coop-app-order",
        "no gain reaches a percent in steady state: docs/model/cooperation.md says why",
    ),
    ("gpu-fig6-small4", "the network takes 0.7 to 0.85 of a 2-D copy's way: docs/model/gpu.md"),
];
/// How the note of a claim begins that the document leaves open, and that the project's own model has
/// used: it is shown as an input. A claim can be made less than the list says, never more.
const CONSUMED: &str = "Consumed: ";
/// Claims that wait for a mechanism, each with its reason: none at present.
const LATER: [&str; 0] = [];

fn claims() -> Vec<Json> {
    let claims: Vec<Json> = serde_json::from_str(COPY).expect("a list of claims");
    assert!(claims.iter().all(|claim| claim["document"] == "endpoints"));
    claims
}

pub(super) fn text<'a>(json: &'a Json, key: &str) -> &'a str {
    json[key].as_str().unwrap_or_else(|| panic!("{key} of {json} is a text"))
}

/// Every file below `folder` whose name ends so, with its text; none where there is no folder.
pub(super) fn files(folder: &str, end: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.expect("a readable entry").path();
            let name = path.to_str().expect("a plain name").to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(end) {
                let text = fs::read_to_string(&path).expect("a readable file");
                found.push((name, text));
            }
        }
    }
    found.sort();
    found
}

/// Claims of all shipped scenarios, by id, with the file they stand in.
pub(super) fn of_scenarios() -> BTreeMap<String, Vec<(String, Json)>> {
    let mut found: BTreeMap<String, Vec<(String, Json)>> = BTreeMap::new();
    for (name, text) in files("scenarios", ".json") {
        // Scenarios that show what a wrong file gives are no scenarios.
        let Ok(scenario) = serde_json::from_str::<Json>(&text) else { continue };
        for claim in scenario["claims"].as_array().into_iter().flatten() {
            if let Some(id) = claim["id"].as_str() {
                found.entry(id.to_owned()).or_default().push((name.clone(), claim.clone()));
            }
        }
    }
    found
}

/// Ids that comments of tests name.
fn of_tests() -> Vec<String> {
    [named_in(&files("src", ".rs")), named_in(&files("tests", ".rs"))].concat()
}

/// Ids that comments of these files name.
fn named_in(files: &[(String, String)]) -> Vec<String> {
    let mut found = Vec::new();
    for (_, text) in files {
        for line in text.lines().filter(|line| line.trim_start().starts_with("//")) {
            let Some((_, after)) = line.split_once("claim: ") else { continue };
            found.push(after.split_whitespace().next().unwrap_or_default().to_owned());
        }
    }
    found
}

/// Whether this claim must be checked by now: all of the document are, but those of `LATER`.
fn is_due(claim: &Json) -> bool {
    !LATER.contains(&text(claim, "id"))
}

#[test]
fn every_claim_of_the_document_is_checked() {
    let (scenarios, tests) = (of_scenarios(), of_tests());
    let claims = claims();
    let due: Vec<&Json> = claims.iter().filter(|claim| is_due(claim)).collect();
    assert_eq!(due.len() + LATER.len(), claims.len(), "each claim is due or waits for a reason");
    let checked = |id: &str| scenarios.contains_key(id) || tests.iter().any(|named| named == id);
    let missing: Vec<String> = due
        .into_iter()
        .filter(|claim| !checked(text(claim, "id")))
        .map(|claim| format!("{}: {}", text(claim, "id"), text(claim, "statement")))
        .collect();
    assert!(missing.is_empty(), "no scenario and no test names\n{}", missing.join("\n"));
}

#[test]
fn every_named_claim_is_one_of_the_document() {
    let known = claims();
    let is_known = |id: &str| known.iter().any(|claim| claim["id"] == id);
    let scenarios = of_scenarios();
    let named = scenarios.keys().map(String::as_str);
    let tests = of_tests();
    let named: Vec<&str> = named.chain(tests.iter().map(String::as_str)).collect();
    let unknown: Vec<&&str> =
        named.iter().filter(|id| id.starts_with("ep-") && !is_known(id)).collect();
    assert!(unknown.is_empty(), "the document states no {unknown:?}");
}

/// The list of what waits is as short as can be: a claim leaves it with its test.
#[test]
fn every_claim_of_the_endpoint_library_is_tested() {
    let claims: Vec<Json> = serde_json::from_str(XIOS_EP).expect("a list of claims");
    assert!(claims.iter().all(|claim| claim["document"] == "xios-ep"));
    let ids: Vec<&str> = claims.iter().map(|claim| text(claim, "id")).collect();
    let tests = of_tests();
    let named = |id: &str| tests.iter().any(|named| named == id);
    let untested: Vec<&str> = ids.iter().copied().filter(|id| !named(id)).collect();
    assert!(untested.is_empty(), "no test: {untested:?}");
    let ours = tests.iter().filter(|id| id.starts_with("xep-"));
    let unknown: Vec<&String> = ours.filter(|id| !ids.contains(&id.as_str())).collect();
    assert!(unknown.is_empty(), "the document states no {unknown:?}");
}

/// What waits of `rma` is as listed, and nothing else.
#[test]
fn every_claim_of_rma_is_checked_or_waits_for_a_reason() {
    checked_or_listed(RMA, "rma", "rma-", &LATER_RMA.map(|(id, _)| id));
}

/// Nothing waits of `coop`.
#[test]
fn every_claim_of_coop_is_checked() {
    checked_or_listed(COOP, "coop", "coop-", &[]);
}

/// Nothing waits of `gpu-pack`.
#[test]
fn every_claim_of_gpu_pack_is_checked() {
    checked_or_listed(GPU_PACK, "gpu-pack", "gpu-", &[]);
}

/// What a test shows to deviate is named by it, and a document of ours says so.
#[test]
fn deviations_that_tests_show_are_told() {
    let (tests, told) = (of_tests(), files("docs", ".md"));
    for (id, reason) in DEVIATES {
        assert!(tests.iter().any(|named| named == id), "no test names {id} ({reason})");
        assert!(told.iter().any(|(_, text)| text.contains(id)), "no document tells of {id}");
    }
}

/// Every claim of `document` is checked by a scenario or named by a test, or listed in `later`, not
/// both; what is checked is stated so.
#[track_caller]
fn checked_or_listed(claims: &str, document: &str, prefix: &str, later: &[&str]) {
    let claims: Vec<Json> = serde_json::from_str(claims).expect("a list of claims");
    assert!(claims.iter().all(|claim| claim["document"] == document));
    let (scenarios, mut tests) = (of_scenarios(), of_tests());
    tests.extend(named_in(&files("benches", ".rs")));
    let checked = |id: &str| scenarios.contains_key(id) || tests.iter().any(|named| named == id);
    let ids: Vec<&str> = claims.iter().map(|claim| text(claim, "id")).collect();
    let open: Vec<&str> = ids.iter().copied().filter(|id| !checked(id)).collect();
    assert_eq!(open, ids.iter().copied().filter(|id| later.contains(id)).collect::<Vec<_>>());
    let named = scenarios.keys().chain(&tests).filter(|id| id.starts_with(prefix));
    let unknown: Vec<&String> = named.filter(|id| !ids.contains(&id.as_str())).collect();
    assert!(unknown.is_empty(), "the document states no {unknown:?}");
    let mut bent = Vec::new();
    for stated in &claims {
        for (file, checked) in scenarios.get(text(stated, "id")).into_iter().flatten() {
            let differences = differences(stated, checked);
            bent.extend(differences.iter().map(|what| format!("{file}: {}: {what}", stated["id"])));
        }
    }
    assert!(bent.is_empty(), "\n{}\n", bent.join("\n"));
}

/// claim: rma-fig4-procs
#[test]
fn the_layouts_of_direct_access_are_those_of_the_document() {
    let claims: Vec<Json> = serde_json::from_str(RMA).expect("a list of claims");
    let stated = claims.iter().find(|claim| claim["id"] == "rma-fig4-procs").expect("it is there");
    let stated = stated["expected"]["value"].as_array().expect("a list");
    let scenarios = of_scenarios();
    let mut seen = 0;
    for (file, claim) in
        scenarios.iter().filter(|(id, _)| id.starts_with("rma-fig4-")).flat_map(|(_, all)| all)
    {
        for points in ["of", "to"].iter().filter_map(|key| claim[key].as_array()) {
            let layout = |point: &Json| {
                let number = |key: &str| point[key].as_u64().expect("a number");
                let processes = number("workload.processes");
                let nodes = processes.div_ceil(number("workload.processes_per_node"));
                Json::from(vec![processes, nodes])
            };
            let found: Vec<Json> = points
                .iter()
                .filter(|point| point["workload.processes"].is_u64())
                .map(layout)
                .collect();
            assert!(found.iter().all(|layout| stated.contains(layout)), "{file}: {found:?}");
            seen += usize::from(stated.iter().all(|layout| found.contains(layout)));
        }
    }
    assert!(seen > 0, "a claim of Fig. 4 compares all layouts {stated:?}");
}

/// How the role and the words of a claim differ from the catalogue's; what it expects is compared in
/// `expectations.rs`.
fn differences(stated: &Json, checked: &Json) -> Vec<String> {
    let mut found = Vec::new();
    let consumed = checked["note"].as_str().is_some_and(|note| note.starts_with(CONSUMED));
    let is_input = consumed || stated["calibration_input"] == true;
    let role = if is_input { "input" } else { "prediction" };
    if checked["role"] != role {
        found.push(format!("its role is {}, not {role:?}", checked["role"]));
    }
    if checked["statement"].is_string() && checked["statement"] != stated["statement"] {
        found.push(format!("it states {}, not {}", checked["statement"], stated["statement"]));
    }
    found
}

#[test]
fn claims_have_the_role_and_the_words_of_their_document() {
    let scenarios = of_scenarios();
    let mut wrong = Vec::new();
    let coop: Vec<Json> = serde_json::from_str(COOP).expect("a list of claims");
    for stated in claims().into_iter().chain(coop) {
        for (file, checked) in scenarios.get(text(&stated, "id")).into_iter().flatten() {
            let differences = differences(&stated, checked);
            wrong
                .extend(differences.iter().map(|what| format!("{file}: {}: {what}", stated["id"])));
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// The sizes in `64 KB .. 4 MB`, which the documents count in powers of two.
fn ends(stated: &Json) -> Option<[Bytes; 2]> {
    let (from, to) = stated.as_str()?.split_once(" .. ")?;
    let [from, to] = [from, to].map(|size| size.replace("KB", "KiB").replace("MB", "MiB"));
    Some([from.parse().ok()?, to.parse().ok()?])
}

/// The first and the last value of `path` that the claim ranges over.
fn ranges_over(checked: &Json, path: &str) -> Option<[Bytes; 2]> {
    let range = &checked["for"][path];
    let ends = match range.as_array() {
        Some(list) => [list.first()?, list.last()?],
        None => [&range["from"], &range["to"]],
    };
    let [from, to] = ends.map(|size| size.as_str()?.parse().ok());
    Some([from?, to?])
}

/// Says at which sizes a claim is checked where the document names others.
fn other_sizes(stated: &Json, checked: &Json) -> Option<String> {
    let asked = ends(&stated["experiment"]["sizes"])?;
    // The best of all sizes is one of them.
    let best = stated["expected"]["metric"].as_str().is_some_and(|is| is.starts_with("max "));
    let follows = checked["along"] == "workload.size";
    let found = ranges_over(checked, "workload.size");
    let differ = !best && !follows && found != Some(asked);
    let range = |[from, to]: [Bytes; 2]| format!("{from} to {to}");
    let found = found.map_or("no range".to_owned(), range);
    differ.then(|| format!("its sizes are {found}; the document's are {}", range(asked)))
}

/// Says of how many processes a claim is about where the document names another number.
fn other_processes(stated: &Json, scenario: &Json, checked: &Json) -> Option<String> {
    let asked = stated["experiment"]["procs"].as_u64()?;
    let path = "workload.processes";
    let places = ["at", "for", "of", "to"].map(|key| &checked[key]);
    let named = places.into_iter().flat_map(|place| match place.as_array() {
        Some(points) => points.iter().map(|point| &point[path]).collect(),
        None => vec![&place[path]],
    });
    let mut named: Vec<&Json> = named.filter(|value| !value.is_null()).collect();
    if named.is_empty() {
        named.push(&scenario["workload"]["processes"]);
    }
    let differ = named.iter().any(|found| **found != asked);
    let named: Vec<String> = named.iter().map(ToString::to_string).collect();
    let named = named.join(", ");
    differ.then(|| format!("it is about {named} processes; the document's is about {asked}"))
}

/// Claims of all documents.
pub(super) fn of_documents() -> Vec<Json> {
    let lists = [COPY, RMA, COOP, GPU_PACK];
    lists.iter().flat_map(|list| serde_json::from_str::<Vec<Json>>(list).expect("a list")).collect()
}

/// A claim that is checked at fewer sizes, or for other jobs, than the document names says so in its
/// note. What the list puts in other words (`large`, `small`) is not compared.
#[test]
fn claims_are_checked_where_the_document_looked_or_say_so() {
    let stated = of_documents();
    let mut narrowed = Vec::new();
    for (file, text) in files("scenarios", ".json") {
        let Ok(scenario) = serde_json::from_str::<Json>(&text) else { continue };
        for checked in scenario["claims"].as_array().into_iter().flatten() {
            let Some(stated) = stated.iter().find(|stated| stated["id"] == checked["id"]) else {
                continue;
            };
            if checked["note"].is_null() {
                let sizes = other_sizes(stated, checked);
                let found = sizes.into_iter().chain(other_processes(stated, &scenario, checked));
                narrowed.extend(found.map(|what| format!("{file}: {}: {what}", stated["id"])));
            }
        }
    }
    assert!(narrowed.is_empty(), "\n{}\n", narrowed.join("\n"));
}

#[test]
fn a_claim_that_was_narrowed_is_seen() {
    let stated = serde_json::json!({ "experiment": { "sizes": "64 KB .. 4 MB", "procs": 896 } });
    let sizes = |checked| other_sizes(&stated, &checked).is_some();
    let range =
        |from: &str| serde_json::json!({ "workload.size": { "from": from, "to": "4 MiB" } });
    assert!(!sizes(serde_json::json!({ "for": range("64 KiB") })));
    assert!(!sizes(serde_json::json!({ "along": "workload.size" })));
    assert!(sizes(serde_json::json!({ "for": range("1 MiB") })));
    assert!(sizes(serde_json::json!({ "at": { "workload.size": "1 MiB" } })));
    let scenario = serde_json::json!({ "workload": { "processes": 896 } });
    let processes = |checked| other_processes(&stated, &scenario, &checked).is_some();
    assert!(!processes(serde_json::json!({})));
    assert!(!processes(serde_json::json!({ "of": [{ "workload.processes": 896 }] })));
    assert!(processes(serde_json::json!({ "at": { "workload.processes": 112 } })));
}

/// A claim about all applications stands in each scenario that compares the protocols under one.
#[test]
fn what_is_said_of_all_applications_is_checked_for_each() {
    let all = of_documents();
    let of_all: Vec<&str> = all
        .iter()
        .filter(|claim| claim["experiment"]["apps"] == "all" && claim["class"] == "measurement")
        .map(|claim| text(claim, "id"))
        .filter(|id| of_scenarios().contains_key(*id))
        .collect();
    assert_eq!(of_all, ["coop-app-hyb-best"]);
    for (file, text) in files("scenarios/coop", ".json") {
        let Ok(scenario) = serde_json::from_str::<Json>(&text) else { continue };
        let kinds = ["graph500", "comd", "minighost"];
        let schemes = scenario["sweep"]["mpi.rendezvous_intra"].as_array();
        let compares = schemes.is_some_and(|all| all.iter().any(|one| one == "coop_hybrid"));
        if compares && kinds.iter().any(|kind| scenario["workload"]["kind"] == *kind) {
            let claims = scenario["claims"].as_array().expect("a list");
            let missing = of_all.iter().find(|id| claims.iter().all(|claim| claim["id"] != **id));
            assert_eq!(missing, None, "{file}");
        }
    }
}

#[test]
fn a_role_that_was_bent_is_seen() {
    let all = claims();
    let stated = all.iter().find(|claim| claim["id"] == "ep-fig3-13x").expect("it is in the copy");
    // What the model has used is an input, and says why; no note makes a prediction of an input.
    let open = serde_json::json!({ "calibration_input": false });
    let noted = |role: &str, note: &str| serde_json::json!({ "role": role, "note": note });
    assert_eq!(differences(&open, &noted("input", "Consumed: a fit.")), Vec::<String>::new());
    for bent in [noted("input", "A fit."), noted("prediction", "Consumed: a fit.")] {
        assert_eq!(differences(&open, &bent).len(), 1, "{bent}");
    }
    assert_eq!(differences(stated, &noted("prediction", "Consumed: a fit.")).len(), 1);
}

/// claim: ep-cfg-bench
#[test]
fn each_node_runs_as_many_receivers_as_senders_and_pairs_cross_nodes() {
    for pairs in [1, 2, 4, 8, 16] {
        let programs = windowed(pairs, Flow::BothWays, 8, 64, 0, 1);
        assert_eq!(programs.len(), 4 * pairs as usize);
        let rank = |peer, direction| {
            AnyProgram::Windowed(Windowed::new(Rank(peer), direction, 8, 64, 0, 1))
        };
        for node in [0, 1_u32] {
            let (here, there) = (node * 2 * pairs, (1 - node) * 2 * pairs);
            for i in 0..pairs {
                let (sender, receiver) = ((here + i) as usize, (here + pairs + i) as usize);
                assert_eq!(programs[sender], rank(there + pairs + i, Direction::Sends));
                assert_eq!(programs[receiver], rank(there + i, Direction::Receives));
            }
        }
    }
}
