//! Every field of every valid scenario, deleted, duplicated, retyped, negated and overflowed in
//! turn: no panic, and either a plan or a report with a place in the file.

use std::fs;
use std::path::PathBuf;

use mpisim::experiment::diagnostic::Diagnostics;
use mpisim::experiment::json::{self, Node, Value};
use mpisim::experiment::plan::{Request, load};

/// The valid scenarios: those of the tests, and all that ship.
fn scenarios() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::from("tests/bad_inputs/valid"), PathBuf::from("scenarios")];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// A place in the text that can be changed: a member from its key on, and its value.
struct Place {
    whole: (usize, usize),
    value: (usize, usize),
    negative: Option<String>,
}

fn range(node: &Node) -> (usize, usize) {
    (node.span.start as usize, node.span.end as usize)
}

/// Every member and element; of long lists only the first and the last.
fn places(node: &Node, out: &mut Vec<Place>) {
    let negative = |node: &Node| match &node.value {
        Value::Number(number) => Some(format!("-{number}")),
        Value::Text(text) if text.starts_with(|c: char| c.is_ascii_digit()) => {
            Some(format!("\"-{text}\""))
        }
        Value::Text(_)
        | Value::Null
        | Value::Bool(_)
        | Value::List(_)
        | Value::Object(_)
        | Value::Word(_)
        | Value::Invalid => None,
    };
    for member in node.members().unwrap_or(&[]) {
        let value = range(&member.node);
        let whole = (member.key_span.start as usize, value.1);
        out.push(Place { whole, value, negative: negative(&member.node) });
        places(&member.node, out);
    }
    let elements = node.elements().unwrap_or(&[]);
    for (index, element) in elements.iter().enumerate() {
        if index == 0 || index + 1 == elements.len() {
            let value = range(element);
            out.push(Place { whole: value, value, negative: negative(element) });
            places(element, out);
        }
    }
}

/// The changed texts for one place.
fn mutants(text: &str, place: &Place) -> Vec<String> {
    let put = |(start, end): (usize, usize), new: &str| {
        format!("{}{new}{}", &text[..start], &text[end..])
    };
    let whole = &text[place.whole.0..place.whole.1];
    let mut out = vec![put(place.whole, &format!("{whole}, {whole}"))];
    for value in ["null", "true", "0", "1e400", "\"\"", "\"x\"", "[]", "{}", "18446744073709551616"]
    {
        out.push(put(place.value, value));
    }
    if let Some(negative) = &place.negative {
        out.push(put(place.value, negative));
    }
    out.push(delete(text, place.whole));
    out
}

/// The text without a member or element and one of its commas.
fn delete(text: &str, (start, end): (usize, usize)) -> String {
    let (before, after) = (&text[..start], &text[end..]);
    if let Some(rest) = after.trim_start().strip_prefix(',') {
        return format!("{before}{rest}");
    }
    let before = before.trim_end();
    format!("{}{after}", before.strip_suffix(',').unwrap_or(before))
}

#[test]
fn a_changed_scenario_runs_or_is_refused_with_a_place() {
    let scratch = std::env::temp_dir().join(format!("mpisim-mutants-{}", std::process::id()));
    fs::create_dir_all(&scratch).unwrap();
    let file = scratch.join("mutant.json");
    let (mut refused, mut accepted) = (0, 0);
    for path in scenarios() {
        let text = fs::read_to_string(&path).unwrap();
        let mut diagnostics = Diagnostics::new();
        let source = diagnostics.add_source("valid", text.clone());
        let tree = json::parse(&mut diagnostics, source).expect("the scenario is valid");
        let mut all = Vec::new();
        places(&tree, &mut all);
        // The scenarios of the tests hold every field; of those that ship a sample is enough.
        let sample = if path.starts_with("scenarios") { 11 } else { 1 };
        for mutant in all.iter().flat_map(|place| mutants(&text, place)).step_by(sample) {
            fs::write(&file, &mutant).unwrap();
            let request = Request { scenario: file.display().to_string(), ..Request::default() };
            let (plan, diagnostics) = load(&request);
            let errors = diagnostics.human();
            if let Some(plan) = plan {
                assert!(!plan.points.is_empty());
                accepted += 1;
                continue;
            }
            assert!(matches!(diagnostics.exit_code(), 3 | 5), "{mutant}\n{errors}");
            let first = diagnostics.sorted()[0];
            let position = diagnostics.position(first.span);
            assert!(errors.contains(&format!(":{}:{}", position.line, position.column)));
            let inside = first.span.end as usize <= mutant.len().max(1);
            assert!(inside, "{mutant}\n{errors}");
            refused += 1;
        }
    }
    fs::remove_dir_all(scratch).unwrap();
    assert!(refused > 1_000 && accepted > 50, "{refused} refused, {accepted} accepted");
}
