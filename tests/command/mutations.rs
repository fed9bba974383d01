//! Every field of every valid scenario, deleted, duplicated, retyped, negated and overflowed in
//! turn: no panic, and either a plan or a report with a place in the file.

use std::fs;
use std::path::{Path, PathBuf};

use mpisim::experiment::plan::{Request, load};
use mpisim::experiment::schema::SCENARIO;
use mpisim::form::diagnostic::{Diagnostic, Diagnostics};
use mpisim::form::json::{self, Node, Value};
use mpisim::form::shape::path;
use mpisim::shipped;

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

/// The text of a scenario, and its tree.
fn read(path: &Path) -> (String, Node) {
    let text = fs::read_to_string(path).unwrap();
    let mut diagnostics = Diagnostics::new();
    let source = diagnostics.add_source("valid", text.clone());
    let tree = json::parse(&mut diagnostics, source).expect("the scenario is valid");
    (text, tree)
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
        let (text, tree) = read(&path);
        let mut all = Vec::new();
        places(&tree, &mut all);
        // The scenarios of the tests hold every field; of those that ship a sample is enough.
        let sample = if path.starts_with("scenarios") { 11 } else { 1 };
        for mutant in all.iter().flat_map(|place| mutants(&text, place)).step_by(sample) {
            fs::write(&file, &mutant).unwrap();
            let request = Request {
                scenario: file.display().to_string(),
                library: shipped::library(),
                ..Request::default()
            };
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

/// An object that has a field of a single value: where it stands, its path, and that field's.
struct Parent {
    place: (usize, usize),
    path: String,
    child: String,
}

fn parents(root: &Node, node: &Node, at: &str, out: &mut Vec<Parent>) {
    let single = |path: &String| path::find(&SCENARIO, root, path).is_ok();
    let below = |key: &str| if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
    let members = node.members().unwrap_or(&[]);
    if let Some(child) = members.iter().map(|member| below(&member.key)).find(single)
        && !at.is_empty()
    {
        out.push(Parent { place: range(node), path: at.to_owned(), child });
    }
    for member in members.iter().filter(|member| member.key != "sweep") {
        parents(root, &member.node, &below(&member.key), out);
    }
}

/// The text with a sweep over this one field, in place of its own.
fn swept(text: &str, tree: &Node, field: &str, value: &str) -> String {
    let axis = format!("{{ \"{field}\": [{value}] }}");
    match tree.get("sweep").map(range) {
        Some((start, end)) => format!("{}{axis}{}", &text[..start], &text[end..]),
        None => text.replacen('{', &format!("{{ \"sweep\": {axis},"), 1),
    }
}

/// A value of each kind that is no object, and a number that is none.
const NO_OBJECTS: [&str; 7] = ["null", "5", "[1]", "true", "1e400", "NaN", "\"x\""];

#[test]
fn what_is_no_object_is_refused_where_it_stands_though_a_field_below_it_is_set() {
    let scratch = std::env::temp_dir().join(format!("mpisim-parents-{}", std::process::id()));
    fs::create_dir_all(&scratch).unwrap();
    let file = scratch.join("mutant.json");
    let mut refused = 0;
    let mut check = |text: &str, overrides: Vec<String>, parent: &str| {
        fs::write(&file, text).unwrap();
        let scenario = file.display().to_string();
        let (plan, diagnostics) = load(&Request {
            scenario,
            overrides,
            library: shipped::library(),
            ..Request::default()
        });
        assert!(plan.is_none(), "{parent}\n{text}");
        let there = |one: &&Diagnostic| {
            let found = &text[one.span.start as usize..one.span.end as usize];
            let alternative = one.found.contains("which has no fields");
            one.path == parent && NO_OBJECTS.contains(&found) || alternative
        };
        let told = diagnostics.sorted().iter().any(there);
        assert!(told, "{parent}\n{text}\n{}", diagnostics.human());
        refused += 1;
    };
    for path in scenarios() {
        let (text, tree) = read(&path);
        let mut all = Vec::new();
        parents(&tree, &tree, "", &mut all);
        for Parent { place: (start, end), path, child } in all {
            let place = range(path::at(&tree, &child).expect("the scenario has it"));
            let value = &text[place.0..place.1];
            // A machine may be a name; that no machine is called so is another matter.
            for wrong in NO_OBJECTS.iter().filter(|wrong| path != "machine" || **wrong != "\"x\"") {
                let changed = format!("{}{wrong}{}", &text[..start], &text[end..]);
                let mut diagnostics = Diagnostics::new();
                let source = diagnostics.add_source("changed", changed.clone());
                let read = json::parse(&mut diagnostics, source).expect("it can be read");
                check(&swept(&changed, &read, &child, value), Vec::new(), &path);
                check(&changed, vec![format!("{child}={}", value.trim_matches('"'))], &path);
            }
        }
    }
    fs::remove_dir_all(scratch).unwrap();
    assert!(refused > 1_000, "{refused} refused");
}
