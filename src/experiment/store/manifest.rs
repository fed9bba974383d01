//! The manifest: what ran, with which version, and which files it wrote.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::StoreError;
use super::files::{OutputFile, check_name, place, read_if_exists};
use crate::results::RunResult;
use form::diagnostic::quote;

/// Version of the manifest's shape.
const FORMAT: u32 = 1;

/// The identity of a run: two runs of one identity give the same points.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RunIdentity {
    /// The scenario's path under `scenarios/` without `.json`.
    pub scenario: String,
    /// The scenario's file, from where the command ran, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Version of the program.
    pub version: String,
    /// The seed.
    pub seed: u64,
    /// The options that changed the scenario, `path=value` each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<String>,
    /// The scenario file as it was read.
    pub scenario_text: String,
    /// The scenario with all defaults, overrides and models filled in.
    pub resolved: Value,
}

/// `manifest.json` of a finished run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of this shape: 1.
    pub schema: u32,
    /// The scenario's path under `scenarios/` without `.json`.
    pub scenario: String,
    /// The scenario's file, from where the command ran, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Version of the program.
    pub version: String,
    /// The seed.
    pub seed: u64,
    /// Digest of the run.
    pub digest: String,
    /// Digest of the resolved scenario.
    pub scenario_digest: String,
    /// Digest of each point, in point order.
    pub points: Vec<String>,
    /// The files that the run wrote, in the order they were written.
    pub files: Vec<FileEntry>,
    /// The options that changed the scenario, `path=value` each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<String>,
    /// The scenario file as it was read.
    pub scenario_text: String,
    /// The scenario with all defaults, overrides and models filled in.
    pub resolved: Value,
}

/// One file that a run wrote.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// Its name in the directory.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// Hash of its content: 32 lower-case hexadecimal digits.
    pub digest: String,
}

/// The first 128 bits of the BLAKE3 hash, as hexadecimal digits.
fn digest_of(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..32].to_owned()
}

impl RunIdentity {
    /// Digest of the resolved scenario: layout and line ends of the file do not change it.
    pub fn scenario_digest(&self) -> String {
        digest_of(self.resolved.to_string().as_bytes())
    }

    /// Whether the results of `found` are those of another scenario: of another name, or of a file of the
    /// same name that is still there.
    pub(super) fn is_other(&self, found: &Self) -> bool {
        let other_file = match (&self.file, &found.file) {
            (Some(file), Some(found)) => found.exists() && place(file) != place(found),
            (None, _) | (_, None) => false,
        };
        self.scenario != found.scenario || other_file
    }

    /// The mark that distinguishes the scenario from that of `other`: its name, or its file where
    /// both have one name.
    pub(super) fn shown_beside(&self, other: &Self) -> String {
        match &self.file {
            Some(file) if self.scenario == other.scenario => quote(&file.display().to_string()),
            Some(_) | None => self.scenario.clone(),
        }
    }

    /// Refuses to mix the points of two runs.
    pub(super) fn check_same(&self, found: &Self, directory: &Path) -> Result<(), StoreError> {
        let directory = directory.to_owned();
        if self.version != found.version {
            return Err(StoreError::OtherVersion {
                directory,
                found: found.version.clone(),
                wanted: self.version.clone(),
            });
        }
        let changed = |difference| Err(StoreError::Changed { directory, difference });
        if self.seed != found.seed {
            return changed(format!("seed was {}, is {}", found.seed, self.seed));
        }
        // What was found went through text, where a number may lose its last bit: so must this.
        let text = self.resolved.to_string();
        let resolved = serde_json::from_str(&text).expect("what was printed as JSON is JSON");
        match first_difference("", &found.resolved, &resolved) {
            Some(difference) => changed(difference),
            None => Ok(()),
        }
    }
}

/// Path and values of the first place where two documents differ.
pub fn first_difference(path: &str, then: &Value, now: &Value) -> Option<String> {
    match (then, now) {
        (Value::Object(left), Value::Object(right)) => {
            let keys: std::collections::BTreeSet<&String> =
                left.keys().chain(right.keys()).collect();
            keys.into_iter().find_map(|key| {
                let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                difference(&inner, left.get(key), right.get(key))
            })
        }
        (Value::Array(left), Value::Array(right)) => (0..left.len().max(right.len()))
            .find_map(|at| difference(&format!("{path}[{at}]"), left.get(at), right.get(at))),
        _ if then == now => None,
        _ => Some(format!("{path} was {}, is {}", short(then), short(now))),
    }
}

fn difference(path: &str, then: Option<&Value>, now: Option<&Value>) -> Option<String> {
    match (then, now) {
        (Some(then), Some(now)) => first_difference(path, then, now),
        (Some(then), None) => Some(format!("{path} was {}, is not there now", short(then))),
        (None, Some(now)) => Some(format!("{path} was not there, is {}", short(now))),
        (None, None) => None,
    }
}

/// A value as JSON, cut to a readable length.
fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 {
        return text;
    }
    text.chars().take(57).chain("...".chars()).collect()
}

impl Manifest {
    pub(super) fn new(identity: &RunIdentity, result: &RunResult, files: &[OutputFile]) -> Self {
        let entry = |file: &OutputFile| FileEntry {
            name: file.name.clone(),
            bytes: file.bytes.len() as u64,
            digest: digest_of(&file.bytes),
        };
        Self {
            schema: FORMAT,
            scenario: identity.scenario.clone(),
            file: identity.file.clone(),
            version: identity.version.clone(),
            seed: identity.seed,
            digest: result.digest.clone(),
            scenario_digest: identity.scenario_digest(),
            points: result.points.iter().map(|point| point.digest.clone()).collect(),
            files: files.iter().map(entry).collect(),
            overrides: identity.overrides.clone(),
            scenario_text: identity.scenario_text.clone(),
            resolved: identity.resolved.clone(),
        }
    }

    pub(super) fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("strings and numbers are JSON");
        text.push('\n');
        text
    }

    /// Reads `manifest.json`.
    pub(super) fn parse(bytes: &[u8], path: &Path) -> Result<Self, StoreError> {
        let damaged = |offset, why| StoreError::Damaged { path: path.to_owned(), offset, why };
        let manifest: Self = serde_json::from_slice(bytes).map_err(|why| {
            let lines = bytes.split_inclusive(|byte| *byte == b'\n');
            let before: usize = lines.take(why.line().saturating_sub(1)).map(<[u8]>::len).sum();
            damaged(before + why.column(), why.to_string())
        })?;
        if manifest.schema != FORMAT {
            return Err(damaged(0, format!("schema {} is not {FORMAT}", manifest.schema)));
        }
        Ok(manifest)
    }

    /// The identity of the run.
    pub fn identity(&self) -> RunIdentity {
        RunIdentity {
            scenario: self.scenario.clone(),
            file: self.file.clone(),
            version: self.version.clone(),
            seed: self.seed,
            overrides: self.overrides.clone(),
            scenario_text: self.scenario_text.clone(),
            resolved: self.resolved.clone(),
        }
    }

    /// Whether a file of this name and content is listed.
    pub(super) fn lists(&self, name: &str, bytes: &[u8]) -> bool {
        self.files.iter().any(|file| file.name == name && file.digest == digest_of(bytes))
    }

    /// The first listed file that is missing or has other content.
    pub(super) fn first_damage(&self, directory: &Path) -> Result<Option<&str>, StoreError> {
        for file in &self.files {
            check_name(&file.name)?;
            let bytes = read_if_exists(&directory.join(&file.name))?;
            if bytes.is_none_or(|bytes| digest_of(&bytes) != file.digest) {
                return Ok(Some(&file.name));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_difference_is_named_with_both_values() {
        let then = json!({"a": {"b": [1, 2]}, "c": "x"});
        let check = |now: Value, expected: &str| {
            assert_eq!(first_difference("", &then, &now).as_deref(), Some(expected));
        };
        assert_eq!(first_difference("", &then, &then), None);
        check(json!({"a": {"b": [1, 3]}, "c": "x"}), "a.b[1] was 2, is 3");
        check(json!({"a": {"b": [1]}, "c": "x"}), "a.b[1] was 2, is not there now");
        check(json!({"a": {"b": [1, 2]}, "aa": null, "c": "x"}), "aa was not there, is null");
        check(json!({"a": {"b": [1, 2]}, "c": ["x"]}), "c was \"x\", is [\"x\"]");
    }
}
