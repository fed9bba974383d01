//! The fitted machine as a model file: every number with its source, the fitted ones with theirs.

use std::fmt::Write as _;

use super::{Fit, Number};
use form::machine::{Confidence, KnownNumber, Machine, sections};
use hardware::profile::{Kind, Value};

/// Name, title and source of the file.
#[derive(Clone, Debug)]
pub struct About {
    /// The model's name.
    pub name: String,
    /// One line.
    pub title: String,
    /// Where the measurement comes from: it stands behind `fit: ` in every fitted number.
    pub source: String,
    /// The machine that the fit began with.
    pub start: String,
}

/// The numbers of the fitted machine.
pub fn numbers(start: &Machine, fit: &Fit, about: &About) -> Vec<KnownNumber> {
    let given = start.numbers.iter().filter(|number| number.is_given());
    let one = |number: &KnownNumber| {
        let mut number = number.clone();
        if number.confidence == Confidence::Chosen {
            number.confidence = Confidence::Assumed;
        }
        if let Some(found) = fit.fitted.iter().find(|found| found.path == number.path) {
            return fitted(&number, found, about);
        }
        if let Some(kept) = fit.kept.iter().find(|kept| kept.paths.contains(&number.path)) {
            let was = number.confidence.word();
            let why = format!("kept from {}, {was} there; {}", about.start, kept.why);
            number.confidence = Confidence::Assumed;
            number.note = Some(match number.note {
                Some(note) => format!("{why}; {note}"),
                None => why,
            });
        }
        number
    };
    given.map(one).collect()
}

fn fitted(number: &KnownNumber, found: &Number, about: &About) -> KnownNumber {
    let begun = format!("{} in {}", found.start, about.start);
    KnownNumber {
        path: number.path,
        value: Some(found.value),
        low: Some(found.range.0),
        high: Some(found.range.1),
        confidence: Confidence::Derived,
        source: format!("fit: {}", about.source),
        note: Some(format!("told by the {}; {begun}", found.told_by)),
        file: number.file.clone(),
    }
}

/// The text of a model file with these numbers.
pub fn text(about: &About, note: &str, numbers: &[KnownNumber]) -> String {
    let mut text = String::from("{\n");
    let about = [
        ("name", about.name.as_str()),
        ("title", &about.title),
        ("source", &about.source),
        ("note", note),
    ];
    let about = about.into_iter().filter(|(_, value)| !value.is_empty());
    let mut parts: Vec<String> =
        about.map(|(key, value)| format!("  \"{key}\": {}", quoted(value))).collect();
    for section in sections() {
        let of = |number: &&KnownNumber| number.path.split('.').next() == Some(section);
        let lines: Vec<String> = numbers.iter().filter(of).map(line).collect();
        if !lines.is_empty() {
            parts.push(format!("  \"{section}\": {{\n{}\n  }}", lines.join(",\n")));
        }
    }
    text.push_str(&parts.join(",\n"));
    text.push_str("\n}\n");
    text
}

/// `    "step_send": { "value": "1 us", ... }`.
fn line(number: &KnownNumber) -> String {
    let name = number.path.split_once('.').map_or(number.path, |(_, name)| name);
    let mut line = format!("    \"{name}\": {{ ");
    let ends = [("value", number.value), ("low", number.low), ("high", number.high)];
    for (key, value) in ends {
        if let Some(value) = value {
            let _ = write!(line, "\"{key}\": {}, ", in_json(value));
        }
    }
    let _ = write!(line, "\"confidence\": {}, ", quoted(number.confidence.word()));
    let _ = write!(line, "\"source\": {}", quoted(&number.source));
    if let Some(note) = &number.note {
        let _ = write!(line, ", \"note\": {}", quoted(note));
    }
    line.push_str(" }");
    line
}

fn in_json(value: Value) -> String {
    match value.kind() {
        Kind::Count | Kind::Ratio | Kind::Flag => value.to_string(),
        Kind::Time
        | Kind::Bytes
        | Kind::Bandwidth
        | Kind::Rate
        | Kind::CostPerByte
        | Kind::Frequency => quoted(&value.to_string()),
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
