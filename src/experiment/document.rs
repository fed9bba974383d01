//! What kind of document a file is, by its beginning and the keys of its outermost object.

use std::fmt;
use std::path::Path;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::library::{self, MAX_BYTES};
use super::shipped::Shipped;
use super::traces;
use form::diagnostic::Diagnostics;
use form::machine::sections;
use workloads::import::Format;
use workloads::import::foreign::Foreign;

/// A kind of document.
#[derive(Clone, Copy, Debug)]
pub enum Document {
    /// A scenario, or nothing that is known: a scenario's reader says what is wrong with it.
    Scenario,
    /// A model of a machine.
    Model,
    /// Vectors for `conform`.
    Vectors,
    /// A trace in a format that is read.
    Trace(&'static Format),
    /// A trace in a format that is not.
    Foreign(Foreign),
}

/// The keys of an object, whatever their values are.
#[derive(Default)]
struct Keys(Vec<String>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Keys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Keys, A::Error> {
                let mut keys = Vec::new();
                while let Some((key, IgnoredAny)) = members.next_entry()? {
                    keys.push(key);
                }
                Ok(Keys(keys))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// The kind of the file at `path`.
pub fn recognise(path: &Path) -> Document {
    match traces::kind(path) {
        traces::Kind::Trace(format) => return Document::Trace(format),
        traces::Kind::Foreign(foreign) => return Document::Foreign(foreign),
        traces::Kind::Other => {}
    }
    // The reader of scenarios reports what cannot be read.
    let is_file = path.is_file();
    let read = || library::read(&mut Diagnostics::new(), Shipped::default(), path, MAX_BYTES);
    let bytes = is_file.then(read).flatten().unwrap_or_default();
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let keys: Keys = serde_json::from_slice(bytes).unwrap_or_default();
    of_keys(&keys.0.iter().map(String::as_str).collect::<Vec<_>>())
}

fn of_keys(keys: &[&str]) -> Document {
    let has = |key: &str| keys.contains(&key);
    let is_of_scenario = ["schema", "workload", "machine", "sweep"].into_iter().any(has);
    if has("family") || has("tool") && has("vectors") {
        Document::Vectors
    } else if !is_of_scenario && (has("extends") || sections().into_iter().any(has)) {
        Document::Model
    } else {
        Document::Scenario
    }
}

#[cfg(test)]
mod tests {
    use std::mem::discriminant;

    use super::*;

    #[test]
    fn documents_are_told_by_their_outermost_keys() {
        use Document::{Model, Scenario, Vectors};
        let check = |keys: &[&str], wanted: Document| {
            let found = of_keys(keys);
            assert_eq!(discriminant(&found), discriminant(&wanted), "{keys:?}: {found:?}");
        };
        check(&["name", "title", "extends"], Model);
        check(&["title", "mpi", "cpu"], Model);
        check(&["schema", "title", "mpi", "workload"], Scenario);
        check(&["title", "mpi", "workload"], Scenario);
        check(&["family", "schema", "cases"], Vectors);
        check(&["tool", "commit", "vectors"], Vectors);
        check(&[], Scenario);
    }
}
