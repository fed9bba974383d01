//! Every time and rate that a scenario of a figure gives its programs says where it comes from.

use serde_json::Value as Json;

use super::claims::files;

/// Folders of scenarios that reproduce figures of documents.
const DOCUMENTS: [&str; 5] = ["coop", "endpoints", "gpu-pack", "rma", "xios-ep"];
/// What the project tries by itself begins so: it chooses its numbers.
const OWN: &str = "ext_";
/// Units of times and rates.
const UNITS: [&str; 9] = ["ps", "ns", "us", "ms", "s", "MB/s", "GB/s", "MHz", "GHz"];

fn is_time_or_rate(text: &str) -> bool {
    let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    number.parse::<f64>().is_ok_and(|value| value > 0.0)
        && UNITS.contains(&text[number.len()..].trim())
}

/// The paths of all times and rates below `json`, which stands at `path`.
fn times_and_rates(json: &Json, path: &str, found: &mut Vec<String>) {
    match json {
        Json::Object(members) => {
            for (key, member) in members.iter().filter(|(key, _)| *key != "note") {
                times_and_rates(member, &format!("{path}.{key}"), found);
            }
        }
        Json::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                times_and_rates(element, &format!("{path}[{index}]"), found);
            }
        }
        Json::String(text) if is_time_or_rate(text) => found.push(path.to_owned()),
        Json::String(_) | Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

/// Those of a scenario's workload that neither an axis nor a source is about; a program that the
/// scenario writes out (`ranks`) is the experiment itself.
fn without_a_source(scenario: &Json) -> Vec<String> {
    let mut found = Vec::new();
    times_and_rates(&scenario["workload"], "workload", &mut found);
    let is_said = |path: &String| {
        path.starts_with("workload.ranks")
            || ["sweep", "sources"].iter().any(|key| scenario[key].get(path).is_some())
    };
    found.retain(|path| !is_said(path));
    found
}

#[test]
fn no_time_and_no_rate_of_a_figure_goes_without_a_source() {
    let (mut seen, mut missing) = (0, Vec::new());
    for folder in DOCUMENTS {
        for (file, text) in files(&format!("scenarios/{folder}"), ".json") {
            let name = file.rsplit('/').next().unwrap_or_default();
            let Ok(scenario) = serde_json::from_str::<Json>(&text) else { continue };
            seen += scenario["sources"].as_object().map_or(0, serde_json::Map::len);
            let found =
                if name.starts_with(OWN) { Vec::new() } else { without_a_source(&scenario) };
            missing.extend(found.into_iter().map(|path| format!("{file}: {path}")));
        }
    }
    assert!(missing.is_empty(), "\n{}\n", missing.join("\n"));
    assert!(seen >= 10, "{seen} numbers have a source");
}

/// `SOURCES.md` tells of each number that a scenario assumes.
#[test]
fn the_list_of_sources_has_the_numbers_of_scenarios() {
    let list = include_str!("../../SOURCES.md");
    for (file, text) in files("scenarios", ".json") {
        let Ok(scenario) = serde_json::from_str::<Json>(&text) else { continue };
        for (path, said) in scenario["sources"].as_object().into_iter().flatten() {
            let is_listed = said["confidence"] != "assumed" || list.contains(&format!("`{path}`"));
            assert!(is_listed, "{file}: SOURCES.md does not list `{path}`");
        }
    }
}

#[test]
fn a_time_without_a_source_is_seen() {
    let scenario = |sources: Json, sweep: Json| {
        serde_json::json!({
            "workload": { "kind": "comd", "compute": "60.7 ms", "size": "8 B", "watch": "0 s" },
            "sources": sources, "sweep": sweep,
        })
    };
    let none = Json::Null;
    assert_eq!(without_a_source(&scenario(none.clone(), none.clone())), ["workload.compute"]);
    let said = serde_json::json!({ "workload.compute": {} });
    assert!(without_a_source(&scenario(said.clone(), none.clone())).is_empty());
    assert!(without_a_source(&scenario(none, said)).is_empty());
}
