//! A first scenario: the least that a kind of workload needs, with a note for every key, from the
//! same tables that check it.

use std::fmt::Write as _;

use super::library::Library;
use super::plan::{self, Request};
use super::schema::{SCENARIO, metrics};
use form::shape::{Field, Need, Shape, Variant};

/// Sizes of messages that are worth a figure.
const SIZES: &str = "{ \"powers_of_two\": [\"8 B\", \"1 MiB\"] }";

/// Rounds or steps before the measured ones.
const WARM_UP: &str = "10";

/// Keys beside the workload without which a kind does not show what it is about.
const BESIDE: [(&str, &str, &str); 1] = [("incast", "nodes", "9")];

/// Statements in one line of a note.
const WORDS: usize = 8;

/// The machine where none is named.
const USUAL: &str = "broadwell-edr";

/// The kinds of workload, but for replays: those need a file that is there.
pub fn kinds() -> Vec<&'static Variant> {
    let workload = SCENARIO.iter().filter(|field| field.key == "workload");
    let variants = workload.flat_map(|field| {
        if let Shape::Tagged { variants, .. } = field.shape { *variants } else { &[] }
    });
    let needs_file = |kind: &&Variant| kind.fields.iter().any(|field| field.key == "file");
    variants.filter(|kind| !needs_file(kind)).collect()
}

/// The text of a scenario of this kind: the least it needs where the checker accepts that, else the
/// settings of the first shipped scenario of its kind that it accepts, without its choices of the library where it
/// accepts them so.
pub fn scenario(kind: &Variant, machine: Option<&str>, library: &Library) -> String {
    let least = Settings::least(kind, machine);
    let shipped = || library.shipped.scenarios.texts().filter_map(|text| like(kind, text));
    let plain = shipped().map(Settings::without_choices);
    let candidates =
        std::iter::once(least.clone()).chain(plain.chain(shipped()).map(|mut settings| {
            if let Some(machine) = machine {
                machine.clone_into(&mut settings.machine);
            }
            settings
        }));
    let mut texts = candidates.map(|settings| text(kind, &settings));
    texts.find(|text| accepted(text, library)).unwrap_or_else(|| text(kind, &least))
}

/// Settings in which one scenario differs from another.
#[derive(Clone)]
struct Settings {
    machine: String,
    /// Keys beside the workload, with their JSON text.
    beside: Vec<(&'static str, String)>,
    /// Keys of the workload, with their JSON text.
    workload: Vec<(String, String)>,
}

impl Settings {
    fn least(kind: &Variant, machine: Option<&str>) -> Self {
        let needed = kind.fields.iter().filter_map(|field| match field.need {
            Need::Required(example) | Need::Alternative(example) => {
                Some((field.key.to_owned(), example.to_owned()))
            }
            Need::Default(_) | Need::Optional => None,
        });
        let warm_up = warm_up(kind);
        let machine = machine.unwrap_or(USUAL).to_owned();
        let beside = BESIDE.iter().filter(|(name, ..)| *name == kind.name);
        let beside = beside.map(|(_, key, value)| (*key, (*value).to_owned())).collect();
        Self { machine, beside, workload: needed.chain(warm_up).collect() }
    }

    /// Without the choices of the MPI library.
    fn without_choices(mut self) -> Self {
        self.beside.retain(|(key, _)| *key != "mpi");
        self
    }
}

/// Rounds or steps before the measured ones, where a kind has them: without one the first registration of each buffer
/// would be in the measured time.
fn warm_up(kind: &Variant) -> Option<(String, String)> {
    let has_one = kind.fields.iter().any(|field| field.key == "warmup");
    has_one.then(|| ("warmup".to_owned(), WARM_UP.to_owned()))
}

/// The settings of a scenario, if it is of this kind; what it sweeps has one value here.
fn like(kind: &Variant, text: &str) -> Option<Settings> {
    let json: serde_json::Value = serde_json::from_str(text).ok()?;
    let workload = json.get("workload").filter(|workload| workload["kind"] == kind.name)?;
    let keys = workload.as_object()?.iter().filter(|(key, _)| *key != "kind" && *key != "note");
    let beside = ["nodes", "ranks", "mpi"];
    let warms_up = workload.get("warmup").is_some();
    Some(Settings {
        machine: json.get("machine")?.as_str()?.to_owned(),
        beside: beside
            .into_iter()
            .filter_map(|key| Some((key, json.get(key)?.to_string())))
            .collect(),
        workload: keys
            .map(|(key, value)| (key.clone(), value.to_string()))
            .chain(warm_up(kind).filter(|_| !warms_up))
            .collect(),
    })
}

/// Whether the checker has nothing against a text.
fn accepted(text: &str, library: &Library) -> bool {
    let (scenario, text) = ("new".to_owned(), Some(text.to_owned()));
    let request = Request { scenario, library: library.clone(), text, ..Request::default() };
    plan::load(&request).0.is_some()
}

fn text(kind: &Variant, settings: &Settings) -> String {
    let mut text = String::from("{\n  \"schema\": 1,\n");
    let _ = writeln!(text, "  \"title\": {},", quoted(&title(kind)));
    let _ = writeln!(text, "  \"note\": {},", notes(&SCENARIO, 2));
    let _ = writeln!(text, "  \"machine\": {},", quoted(&settings.machine));
    for (key, value) in &settings.beside {
        let _ = writeln!(text, "  \"{key}\": {value},");
    }
    let _ = writeln!(text, "  \"workload\": {{");
    let _ = writeln!(text, "    \"kind\": {},", quoted(kind.name));
    let _ = write!(text, "    \"note\": {}", notes(kind.fields, 4));
    for (key, value) in &settings.workload {
        let _ = write!(text, ",\n    \"{key}\": {value}");
    }
    text.push_str("\n  }");
    let swept = kind.fields.iter().any(|field| field.key == "size" && is_bytes(field.shape))
        && settings.workload.iter().any(|(key, _)| key == "size");
    if let Some(metric) = metrics(kind.name, false).first().filter(|_| swept) {
        let _ = write!(text, ",\n  \"sweep\": {{ \"workload.size\": {SIZES} }}");
        // From 8 B to 1 MiB every metric spans decades: on a linear axis the first sizes lie flat.
        let y = metric.name;
        let figure = format!("{{ \"x\": \"workload.size\", \"y\": \"{y}\", \"log_y\": true }}");
        let _ = write!(text, ",\n  \"figures\": [ {figure} ]");
    }
    text.push_str("\n}\n");
    text
}

/// The kind as a title: `ping_pong` is `Ping pong`.
fn title(kind: &Variant) -> String {
    let words = kind.name.replace('_', " ");
    let mut letters = words.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn is_bytes(shape: &Shape) -> bool {
    matches!(shape, Shape::Quantity { dimension: units::Dimension::Bytes, .. })
}

/// The meaning of each key, one line each: the required ones first.
fn notes(fields: &[Field], indent: usize) -> String {
    let known = |field: &&Field| field.key != "note";
    let is_needed = |field: &&Field| matches!(field.need, Need::Required(_) | Need::Alternative(_));
    let (needed, further): (Vec<&Field>, Vec<&Field>) =
        fields.iter().filter(known).partition(is_needed);
    let line = |field: &&Field| {
        let default = match field.need {
            Need::Default(value) => format!(" [{value}]"),
            Need::Required(_) | Need::Optional | Need::Alternative(_) => String::new(),
        };
        format!("  {}: {}{default}", field.key, field.doc)
    };
    let lines = |field: &&Field| [line(field)].into_iter().chain(words(field)).collect::<Vec<_>>();
    let part = |heading: &str, fields: &[&Field]| {
        let heading = (!fields.is_empty()).then(|| heading.to_owned());
        heading.into_iter().chain(fields.iter().flat_map(lines)).collect()
    };
    let parts: [Vec<String>; 2] = [part("Needed:", &needed), part("May be added:", &further)];
    let lines: Vec<String> = parts.concat().iter().map(|line| quoted(line)).collect();
    let (inner, outer) = (" ".repeat(indent + 2), " ".repeat(indent));
    format!("[\n{inner}{}\n{outer}]", lines.join(&format!(",\n{inner}")))
}

/// The statements that lists of this field are made of, a few in each line; nothing for other fields.
fn words(field: &Field) -> Vec<String> {
    let Shape::List { of: Shape::List { of: Shape::Defined { shape, .. }, .. }, .. } = field.shape
    else {
        return Vec::new();
    };
    let Shape::Tagged { tag, variants } = shape else { return Vec::new() };
    let names: Vec<&str> = variants.iter().map(|variant| variant.name).collect();
    let lines = names.chunks(WORDS).map(|names| format!("    {}", names.join(", ")));
    [format!("  {tag}: one of these, with the fields that docs/guide/programs.md lists")]
        .into_iter()
        .chain(lines)
        .collect()
}

/// A text as JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::of_this_checkout as models;

    #[test]
    fn an_incast_has_senders() {
        let kind = kinds().into_iter().find(|kind| kind.name == "incast").unwrap();
        let text = scenario(kind, None, &models());
        let scenario: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(scenario["nodes"].as_u64() > Some(2), "{text}");
    }

    #[test]
    fn every_key_has_its_note() {
        let kind = kinds().into_iter().find(|kind| kind.name == "message_rate").unwrap();
        let text = scenario(kind, Some("knc-qdr"), &models());
        for field in SCENARIO.iter().chain(kind.fields).filter(|field| field.key != "note") {
            let note = quoted(&format!("{}: {}", field.key, field.doc));
            assert!(text.contains(note.trim_matches('"')), "{note}");
        }
        assert!(text.contains("May be added:") && text.contains("\"knc-qdr\""));
    }
}
