//! What decides about results, field by field: where two sides were not given the same.
//!
//! The fields are those of a resolved scenario, and the numbers of its machines. Baselines name a machine
//! by a hash of its numbers, which lie once in `traces/machines/NAME-HASH.json`, beside the folder of the
//! baselines: a hundred scenarios on one machine keep its numbers once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plan::Plan;
use super::store::{StoreError, create_folder_of, write_atomically};

/// Keys of a resolved scenario that change nothing of what runs.
const PRESENTATION: [&str; 8] =
    ["title", "source", "sources", "note", "figures", "claims", "assumed", "chosen"];
/// The folder of machines, from the one that holds `baselines`.
const MACHINES: &str = "machines";
/// The word for a value that is not there.
const NONE: &str = "none";
/// Differences that are written out.
const SHOWN: usize = 6;
/// The longest value that is written out.
const LONGEST: usize = 40;

/// The numbers of a machine, as texts with their units.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Numbers {
    /// Name of the model.
    pub name: String,
    /// Value by path, such as `hca.mtu`.
    pub numbers: BTreeMap<String, String>,
}

impl Numbers {
    /// The machines of a plan, each name once, as its first point with that name has it: what a sweep makes
    /// of them stands in the scenario.
    pub fn of(plan: &Plan) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for machine in plan.points.iter().map(|point| &point.machine) {
            if all.iter().any(|known| known.name == machine.name) {
                continue;
            }
            let value = |value: Option<_>| {
                value.map_or_else(|| NONE.to_owned(), |it: hardware::profile::Value| it.to_string())
            };
            let numbers = machine.numbers.iter();
            let numbers = numbers.map(|one| (one.path.to_owned(), value(one.value))).collect();
            all.push(Self { name: machine.name.clone(), numbers });
        }
        all
    }

    /// Name and hash: equal numbers have equal keys.
    pub fn key(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        let name: String = self.name.chars().map(plain).collect();
        let hash = blake3::hash(self.text().as_bytes()).to_hex();
        format!("{name}-{}", &hash[..16])
    }

    /// The file's text: one line for each number.
    fn text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("texts are JSON");
        text.push('\n');
        text
    }

    /// Keeps the numbers beside the baseline at `baseline`, where they are not there yet.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub fn keep(&self, baseline: &Path) -> Result<(), StoreError> {
        let path = file(baseline, &self.key());
        let text = self.text();
        if std::fs::read(&path).is_ok_and(|known| known == text.as_bytes()) {
            return Ok(());
        }
        create_folder_of(&path)?;
        write_atomically(&path, text.as_bytes())
    }

    /// The numbers that the baseline at `baseline` names by `key`, where they are kept and whole.
    fn kept(baseline: &Path, key: &str) -> Option<Self> {
        let text = std::fs::read(file(baseline, key)).ok()?;
        let numbers: Self = serde_json::from_slice(&text).ok()?;
        (numbers.key() == key).then_some(numbers)
    }
}

/// The file of a machine that the baseline at `baseline` names.
fn file(baseline: &Path, key: &str) -> PathBuf {
    let baselines = |folder: &&Path| folder.file_name().is_some_and(|name| name == "baselines");
    let above = baseline.ancestors().find(baselines).and_then(Path::parent);
    above.unwrap_or_else(|| Path::new("traces")).join(MACHINES).join(format!("{key}.json"))
}

/// A field that differs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Change {
    /// The field, as `--set` names it.
    pub path: String,
    /// Its value on each side; `none` where that side does not have it.
    pub values: [String; 2],
}

/// Differences for people: `machine.mem.core_copy_bw 14 GB/s -> 13.72 GB/s`.
pub fn in_words(changes: &[Change]) -> String {
    let each = changes.iter().take(SHOWN).map(|Change { path, values }| {
        let [from, to] = values.each_ref().map(|value| short(value));
        format!("{path} {from} -> {to}")
    });
    let mut text = each.collect::<Vec<_>>().join(", ");
    if changes.len() > SHOWN {
        let _ = write!(text, " and {} more", changes.len() - SHOWN);
    }
    text
}

fn short(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST - 3).chain("...".chars()).collect()
}

/// Everything that decides about the results of one side.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Inputs {
    fields: BTreeMap<String, String>,
    /// Nothing where they were not kept.
    machines: Option<Vec<Numbers>>,
}

impl Inputs {
    /// The inputs in a resolved scenario, as manifests have it.
    pub fn of_resolved(resolved: &Value) -> Self {
        let mut fields = BTreeMap::new();
        for (key, value) in resolved.as_object().into_iter().flatten() {
            if key != "machine" && !PRESENTATION.contains(&key.as_str()) {
                flatten(key, value, &mut fields);
            }
        }
        Self { fields, machines: Some(machines(&resolved["machine"])) }
    }

    /// The same with the machines that the baseline at `baseline` names; those that are not kept have a
    /// key only.
    #[must_use]
    pub fn on_machines_of(self, baseline: &Path, keys: &[String]) -> Self {
        Self { machines: saved_machines(baseline, keys), ..self }
    }

    /// The fields that differ, numbers of machines first.
    pub fn changes(&self, other: &Self) -> Vec<Change> {
        let mut changes = match (&self.machines, &other.machines) {
            (Some(ours), Some(theirs)) => machine_changes(ours, theirs),
            _ => Vec::new(),
        };
        changes.extend(field_changes("", &self.fields, &other.fields));
        changes
    }
}

/// In which numbers the machines of `plan` are not those that the baseline at `baseline` names by `keys`;
/// nothing where it names none, as those that an older program saved.
pub fn machines_moved(plan: &Plan, baseline: &Path, keys: &[String]) -> Vec<Change> {
    let now = Numbers::of(plan);
    if now.iter().map(Numbers::key).eq(keys.iter().cloned()) {
        return Vec::new();
    }
    saved_machines(baseline, keys).map_or_else(Vec::new, |saved| machine_changes(&saved, &now))
}

fn saved_machines(baseline: &Path, keys: &[String]) -> Option<Vec<Numbers>> {
    let saved = |key: &String| {
        let unknown = || Numbers { name: key.clone(), numbers: BTreeMap::new() };
        Numbers::kept(baseline, key).unwrap_or_else(unknown)
    };
    (!keys.is_empty()).then(|| keys.iter().map(saved).collect())
}

/// The numbers of machines of the same name, and the names where they are others.
fn machine_changes(ours: &[Numbers], theirs: &[Numbers]) -> Vec<Change> {
    let names =
        |all: &[Numbers]| all.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ");
    let values = [names(ours), names(theirs)];
    let mut changes = Vec::new();
    if values[0] != values[1] {
        changes.push(Change { path: "machine".to_owned(), values });
    }
    let one = ours.len() == 1 && theirs.len() == 1;
    for our in ours {
        if let Some(their) = theirs.iter().find(|their| their.name == our.name) {
            let prefix = if one { "machine." } else { &format!("{}.", our.name) };
            changes.extend(field_changes(prefix, &our.numbers, &their.numbers));
        }
    }
    changes
}

fn field_changes(
    prefix: &str,
    ours: &BTreeMap<String, String>,
    theirs: &BTreeMap<String, String>,
) -> Vec<Change> {
    let value = |side: &BTreeMap<String, String>, path: &str| {
        side.get(path).cloned().unwrap_or_else(|| NONE.to_owned())
    };
    let further = theirs.keys().filter(|path| !ours.contains_key(*path));
    let mut paths: Vec<&String> = ours.keys().chain(further).collect();
    paths.sort();
    let change = |path: &String| {
        let values = [value(ours, path), value(theirs, path)];
        (values[0] != values[1]).then(|| Change { path: format!("{prefix}{path}"), values })
    };
    paths.into_iter().filter_map(change).collect()
}

/// Every value below `value`, by its path; a list of plain values is one of them.
fn flatten(path: &str, value: &Value, fields: &mut BTreeMap<String, String>) {
    let is_deep = |one: &Value| one.is_object() || one.is_array();
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                flatten(&format!("{path}.{key}"), value, fields);
            }
        }
        Value::Array(all) if all.iter().any(is_deep) => {
            for (at, value) in all.iter().enumerate() {
                flatten(&format!("{path}[{at}]"), value, fields);
            }
        }
        Value::Array(all) => {
            let all: Vec<String> = all.iter().map(plain).collect();
            fields.insert(path.to_owned(), format!("[{}]", all.join(", ")));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            fields.insert(path.to_owned(), plain(value));
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The machines of a resolved scenario: those after the first tell what they do not share with it.
fn machines(resolved: &Value) -> Vec<Numbers> {
    let one = std::slice::from_ref(resolved);
    let mut all: Vec<Numbers> = Vec::new();
    for machine in resolved.as_array().map_or(one, Vec::as_slice) {
        let name = plain(&machine["name"]);
        if all.iter().any(|known| known.name == name) {
            continue;
        }
        let mut numbers = all.first().map_or_else(BTreeMap::new, |first| first.numbers.clone());
        let own = ["numbers", "numbers_unlike_the_first"].map(|key| machine[key].as_array());
        let own = own.into_iter().flatten().flatten();
        numbers.extend(own.map(|number| (plain(&number["path"]), plain(&number["value"]))));
        all.push(Numbers { name, numbers });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn resolved(copy: &str, rounds: u32) -> Value {
        json!({
            "title": format!("of {rounds}"),
            "machine": { "name": "m", "numbers": [
                { "path": "mem.core_copy_bw", "value": copy, "file": "a.json" },
                { "path": "hca.mtu", "value": "4 KiB" },
            ]},
            "workload": { "rounds": rounds, "program": [{ "call": "send" }] },
            "sweep": { "workload.size": ["8 B", "64 B"] },
        })
    }

    #[track_caller]
    fn check(left: &Value, right: &Value, expected: &str) {
        let [left, right] = [left, right].map(Inputs::of_resolved);
        assert_eq!(in_words(&left.changes(&right)), expected);
    }

    #[test]
    fn a_number_of_the_machine_is_named_with_both_values() {
        let left = resolved("14 GB/s", 5);
        check(&left, &left, "");
        let right = resolved("13.72 GB/s", 6);
        let words = "machine.mem.core_copy_bw 14 GB/s -> 13.72 GB/s, workload.rounds 5 -> 6";
        check(&left, &right, words);
        let mut other = resolved("1 GB/s", 5);
        other["machine"]["name"] = "n".into();
        check(&left, &other, "machine m -> n");
        other = resolved("14 GB/s", 5);
        other["sweep"]["workload.size"] = json!(["8 B"]);
        other["workload"]["program"][0] = json!({ "call": "recv" });
        let words = "sweep.workload.size [8 B, 64 B] -> [8 B], \
                     workload.program[0].call send -> recv";
        check(&left, &other, words);
    }

    #[test]
    fn a_further_machine_has_the_numbers_of_the_first_but_for_its_own() {
        let mut both = resolved("14 GB/s", 5);
        let further = json!({ "name": "n", "numbers_unlike_the_first": [
            { "path": "hca.mtu", "value": "2 KiB" },
        ]});
        both["machine"] = json!([both["machine"], further]);
        let mut other = both.clone();
        other["machine"][1]["numbers_unlike_the_first"][0]["value"] = "1 KiB".into();
        check(&both, &other, "n.hca.mtu 2 KiB -> 1 KiB");
    }

    #[test]
    fn many_differences_are_counted() {
        let numbers = |value: &str| Numbers {
            name: "m".to_owned(),
            numbers: (0..9).map(|at| (format!("a.{at}"), value.repeat(30))).collect(),
        };
        let changes = machine_changes(&[numbers("ab")], &[numbers("cd")]);
        let words = in_words(&changes);
        assert!(words.ends_with("... and 3 more"), "{words}");
        assert!(words.starts_with("machine.a.0 ababab"), "{words}");
        assert_ne!(numbers("ab").key(), numbers("cd").key());
    }
}
