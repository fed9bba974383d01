//! The machines that the points of a plan run on, and where each number comes from.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use experiment::plan::{Plan, connections};
use form::machine::{KnownNumber, Machine};
use report::html::Provenance;

/// A machine with the numbers that tell it from the first one; of the first one all.
pub(super) struct Shown<'a> {
    /// The machine.
    pub(super) machine: &'a Machine,
    /// The numbers, those in doubt first.
    pub(super) numbers: Vec<&'a KnownNumber>,
}

/// Every machine of the plan, in the order of its points.
pub(super) fn machines(plan: &Plan) -> Vec<Shown<'_>> {
    let mut all: Vec<&Arc<Machine>> = Vec::new();
    for machine in plan.points.iter().map(|point| &point.machine) {
        let same = |known: &&Arc<Machine>| {
            Arc::ptr_eq(known, machine)
                || (known.name == machine.name && known.numbers == machine.numbers)
        };
        // The last one first: neighbouring points mostly share their machine.
        if !all.iter().rev().any(same) {
            all.push(machine);
        }
    }
    let first = all[0];
    let each = all.iter().enumerate().map(|(index, machine)| {
        let mut numbers = machine.by_doubt();
        if index > 0 {
            numbers.retain(|number| !first.numbers.contains(number));
        }
        Shown { machine, numbers }
    });
    each.collect()
}

/// The machines as JSON.
pub(super) fn as_json(plan: &Plan) -> Value {
    let each = machines(plan).into_iter().enumerate().map(|(index, shown)| {
        let numbers: Vec<Value> = shown.numbers.iter().map(|number| number_json(number)).collect();
        let key = if index == 0 { "numbers" } else { "numbers_unlike_the_first" };
        json!({ "name": shown.machine.name, "title": shown.machine.title, key: numbers })
    });
    let mut all: Vec<Value> = each.collect();
    if all.len() == 1 { all.remove(0) } else { Value::Array(all) }
}

fn number_json(number: &KnownNumber) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: String| out.insert(key.to_owned(), Value::String(value));
    put("path", number.path.to_owned());
    put("value", value_text(number));
    put("confidence", number.confidence.word().to_owned());
    put("source", number.source.clone());
    for (key, end) in [("low", number.low), ("high", number.high)] {
        if let Some(end) = end {
            put(key, end.to_string());
        }
    }
    if let Some(note) = &number.note {
        put("note", note.clone());
    }
    if !number.file.is_empty() {
        put("file", number.file.clone());
    }
    Value::Object(out)
}

fn value_text(number: &KnownNumber) -> String {
    number.value.map_or_else(|| "none".to_owned(), |value| value.to_string())
}

/// A source as people read it: two keys of `SOURCES.md` are no documents.
pub(super) fn source_in_words(source: &str) -> String {
    let word = |key: &str| match key {
        "EST" => "an estimate".to_owned(),
        "MEM" => "from memory, unverified".to_owned(),
        key => key.to_owned(),
    };
    let keys: Vec<&str> = source.split('+').collect();
    if keys.iter().any(|key| ["EST", "MEM"].contains(key)) {
        keys.into_iter().map(word).collect::<Vec<_>>().join(" + ")
    } else {
        source.to_owned()
    }
}

/// The numbers for a report, those in doubt first, and what the machine chose by them; what a machine does
/// not have is no number.
pub(super) fn provenance(plan: &Plan) -> Vec<Provenance> {
    let shown = machines(plan);
    let many = shown.len() > 1;
    let mut out = Vec::new();
    for Shown { machine, numbers } in &shown {
        let prefix = if many { &machine.name } else { "machine" };
        let there = numbers.iter().filter(|number| number.value.is_some());
        out.extend(there.map(|number| Provenance {
            path: format!("{prefix}.{}", number.path),
            value: value_text(number),
            confidence: number.confidence.word().to_owned(),
            source: match &number.note {
                Some(note) => format!("{}; {note}", source_in_words(&number.source)),
                None => source_in_words(&number.source),
            },
        }));
    }
    out.extend(connections::chosen(plan).iter().map(|one| Provenance {
        path: connections::PATH.to_owned(),
        value: connections::word(one.how).to_owned(),
        confidence: one.number().confidence.word().to_owned(),
        source: format!("{}; {}", source_in_words(&one.number().source), one.reason()),
    }));
    out
}
