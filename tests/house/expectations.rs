//! Every claim of a shipped scenario expects what its document or its measurement says.
//!
//! The catalogue (`data/claims_*.json`) puts expectations in its own words: a value with its unit and
//! a tolerance, a range, or a relation. What a scenario must expect is derived from the first two
//! (`by_rule`); for relations it stands in `data/expectations.json`, beside the words that it
//! translates, so that neither can change alone. A claim `ref-...` is a row of a table in
//! `traces/measured`, a claim `pub-...` one of `traces/published` (`published.rs`). Claims `ext-...` are
//! the project's own, and no document speaks of them.

use std::collections::BTreeMap;

use mpisim::engine::digest::Digest;
use serde_json::{Value as Json, json};

use super::claims::{COOP, COPY, GPU_PACK, RMA, XIOS_EP, files, of_documents, of_scenarios, text};
use super::published;

const TABLE: &str = include_str!("../data/expectations.json");
/// How far a measured row may be off; the two rates and times of one machine vary that much from day
/// to day.
const OF_MEASURED: &str = "20 %";
/// Kinds of claims.
const KINDS: [&str; 8] =
    ["value", "bound", "spread", "ratio", "ordering", "crossover", "gap", "trend"];

/// The catalogue was written from the documents before any model was fitted to them. A change of it
/// moves the goal: it needs the document at hand, and its reason in the commit.
#[test]
fn the_catalogue_is_as_it_was_given() {
    let lists = [COPY, COOP, GPU_PACK, RMA, XIOS_EP];
    let digests = lists.map(|list| Digest::of_bytes(list.as_bytes()).to_string());
    let given = [
        "76de71bcf6d0ae046a1f288dee1c6e6b",
        "c3f4973e156e861ccf8271fa15259b51",
        "3c12d1ab11751a032a998ffcc31b810a",
        "157756e51963e693f1567d345353afcd",
        "a1d7b62514c262ae4812d19ce9006f78",
    ];
    assert_eq!(digests.as_slice(), given);
}

/// A scenario's form of what a claim says, to be compared with a claim of a scenario.
#[derive(Debug)]
struct Form {
    /// Of what kind the claim is, one of `KINDS`.
    kind: String,
    /// The metrics that it may be about, one for each workload; null where any will do.
    metrics: Json,
    expect: Json,
    /// How the sides differ that are compared; null where any will do.
    sides: Json,
    /// How each side differs from what it is divided by.
    over: Json,
}

impl Form {
    /// A form in which only the kind and the expectation count.
    fn of_kind(kind: &str, expect: Json) -> Self {
        let any = Json::Null;
        Self { kind: kind.to_owned(), metrics: any.clone(), expect, sides: any.clone(), over: any }
    }
}

/// The table, by claim: most have one line, one that is checked in two ways has two.
fn table() -> BTreeMap<String, Vec<Json>> {
    let lines: Vec<Json> = serde_json::from_str(TABLE).expect("a list of lines");
    let mut table: BTreeMap<String, Vec<Json>> = BTreeMap::new();
    for line in lines {
        table.entry(text(&line, "claim").to_owned()).or_default().push(line);
    }
    table
}

/// All forms that a claim of the catalogue may take in a scenario.
fn forms(stated: &Json, lines: &[Json]) -> Vec<Form> {
    if lines.is_empty() {
        let expect =
            by_rule(stated, 1.0).unwrap_or_else(|| panic!("no rule and no line: {stated}"));
        return vec![Form::of_kind("value", expect)];
    }
    let form = |line: &Json| {
        let per = line["per"].as_f64().unwrap_or(1.0);
        let derived = || by_rule(stated, per).unwrap_or_else(|| panic!("no rule: {stated}"));
        Form {
            kind: text(line, "kind").to_owned(),
            metrics: line["metrics"].clone(),
            expect: line.get("expect").cloned().unwrap_or_else(derived),
            sides: line["sides"].clone(),
            over: line["over"].clone(),
        }
    };
    lines.iter().map(form).collect()
}

/// What a scenario expects where the catalogue states a value with its tolerance, or a range. `per`
/// divides the value, where a scenario measures one of so many.
fn by_rule(stated: &Json, per: f64) -> Option<Json> {
    let (expected, tolerance) = (&stated["expected"], stated["tolerance"]["value"].as_str()?);
    let is_gain = expected["metric"].as_str().is_some_and(|metric| metric.starts_with("1 - "));
    if let Some([least, most]) = range(tolerance) {
        let ends = if is_gain { [1.0 - most, 1.0 - least] } else { [least, most] };
        return Some(json!({ "least": ends[0], "most": ends[1] }));
    }
    let value = expected["value"].as_f64()?;
    let unit = expected["unit"].as_str().unwrap_or_default();
    let quantity = match unit {
        "x" | "GFLOPS/node" => json!(value / per),
        unit => json!(format!("{} {unit}", value / per)),
    };
    let tolerance = if ["factor 2", "within a factor 2"].contains(&tolerance) {
        "x2".to_owned()
    } else if let Some(percent) = tolerance.strip_prefix("+-")?.strip_suffix('%') {
        format!("{percent} %")
    } else {
        // An absolute one, in the value's unit: in percent, never rounded up.
        let absolute: f64 =
            tolerance.strip_prefix("+-")?.strip_suffix(unit)?.trim().parse().ok()?;
        let hundredths = (absolute / value * 10_000.0 + 1e-9).floor();
        format!("{} %", hundredths / 100.0)
    };
    Some(json!({ "value": quantity, "tolerance": tolerance }))
}

/// Both numbers of `[1.7,2.05]`.
fn range(text: &str) -> Option<[f64; 2]> {
    let (least, most) = text.strip_prefix('[')?.strip_suffix(']')?.split_once(',')?;
    Some([least.parse().ok()?, most.parse().ok()?])
}

/// What a scenario expects of a claim `ref-TEST-LIBRARY-ROW`: that row of the measured table, or
/// how many times the first that has a queue where the table is about queues.
fn measured(id: &str) -> Form {
    let mut words = id.split('-').skip(1);
    let mut word = || words.next().unwrap_or_else(|| panic!("{id} names test, library and row"));
    let (test, library, row) = (word(), word(), word());
    let tables = files("traces/measured", &format!("/{test}.txt"));
    let (_, table) = tables
        .iter()
        .find(|(name, _)| name.contains(&format!("/{library}-")))
        .unwrap_or_else(|| panic!("no table {test} of {library}"));
    let cell = |row: &str| {
        let mut lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let line = lines.find(|cells| cells[0] == row).unwrap_or_else(|| panic!("{id}: no row"));
        line[1].parse::<f64>().expect("a number")
    };
    let (kind, value) = match test {
        "latency" => ("value", json!(format!("{} us", cell(row)))),
        "bw" | "bibw" => ("value", json!(format!("{} MB/s", cell(row)))),
        "pack" => ("value", json!(format!("{} MB/s", cell(row) * 1000.0))),
        "prq" | "umq" => ("ratio", json!(cell(row) / cell("1"))),
        other => panic!("no claim is about the table {other}"),
    };
    let expect = json!({ "value": value, "tolerance": OF_MEASURED });
    if kind == "value" {
        return Form::of_kind(kind, expect);
    }
    let length = |entries: u32| json!({ "workload.queue.length": entries });
    let sides = json!([[length(row.parse().expect("a length")), length(1)]]);
    Form { sides, ..Form::of_kind(kind, expect) }
}

/// Units that expectations are written in, with their dimension and how many of its smallest they are.
const UNITS: [(&str, &str, f64); 11] = [
    ("ns", "time", 1e0),
    ("us", "time", 1e3),
    ("ms", "time", 1e6),
    ("s", "time", 1e9),
    ("B", "size", 1e0),
    ("KiB", "size", 1024.0),
    ("MB/s", "rate", 1e6),
    ("GB/s", "rate", 1e9),
    ("%", "share", 1e0),
    ("x", "factor", 1e0),
    ("", "number", 1e0),
];

/// A number with its dimension, so that `0.35 ms` and `350 us` are the same; none for a word.
fn quantity(json: &Json) -> Option<(f64, &'static str)> {
    let text = json.as_str().map_or_else(|| json.to_string(), str::to_owned);
    let text = text.strip_prefix('x').map_or(text.clone(), |factor| format!("{factor} x"));
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, name) = (text[..end].parse::<f64>().ok()?, text[end..].trim());
    let (_, dimension, many) = UNITS.iter().find(|(unit, ..)| *unit == name)?;
    Some((number * many, dimension))
}

/// Whether both say the same of `key`: a value to four digits, which is how scenarios write what was
/// divided, and all else as it stands.
fn is_same(key: &str, stated: &Json, checked: &Json) -> bool {
    match (quantity(stated), quantity(checked)) {
        (Some((stated, one)), Some((checked, other))) => {
            let slack = if key == "value" { 5e-4 } else { 1e-9 };
            one == other && (stated - checked).abs() <= slack * stated.abs()
        }
        (None, None) => stated == checked,
        _ => false,
    }
}

/// Whether both expectations have the same keys, and say the same under each.
fn expects_same(stated: &Json, checked: &Json) -> bool {
    let (Some(stated), Some(checked)) = (stated.as_object(), checked.as_object()) else {
        return false;
    };
    let says = |(key, stated): (&String, &Json)| {
        checked.get(key).is_some_and(|checked| is_same(key, stated, checked))
    };
    stated.len() == checked.len() && stated.iter().all(says)
}

/// How the points of both lists differ, pair by pair, each difference once.
fn differences(left: &Json, right: &Json) -> Json {
    if left.is_null() {
        return Json::Null;
    }
    let points = |side: &Json| side.as_array().cloned().unwrap_or_else(|| vec![side.clone()]);
    let mut found: Vec<Json> = Vec::new();
    for (one, other) in points(left).iter().zip(&points(right)) {
        let mut pair = [json!({}), json!({})];
        for (mine, (this, that)) in pair.iter_mut().zip([(one, other), (other, one)]) {
            for (path, value) in this.as_object().expect("a point") {
                if that.get(path) != Some(value) {
                    mine[path] = value.clone();
                }
            }
        }
        let pair = Json::from(pair.to_vec());
        if !found.contains(&pair) {
            found.push(pair);
        }
    }
    Json::from(found)
}

/// The word that says of what kind a claim is.
fn kind(checked: &Json) -> &'static str {
    let is = |kind: &&str| checked[kind].is_string();
    KINDS.into_iter().find(is).unwrap_or_else(|| panic!("of no kind: {checked}"))
}

/// Whether the claim of a scenario has this form.
fn has_form(form: &Form, checked: &Json) -> bool {
    let is_any = |stated: &Json, found: Json| stated.is_null() || *stated == found;
    let over = || {
        let sides = [("of", "of_base"), ("to", "to_base")];
        Json::from(sides.map(|(side, base)| differences(&checked[side], &checked[base])).to_vec())
    };
    form.kind == kind(checked)
        && (form.metrics.is_null()
            || form.metrics.as_array().is_some_and(|all| all.contains(&checked[kind(checked)])))
        && expects_same(&form.expect, &checked["expect"])
        && is_any(&form.sides, differences(&checked["of"], &checked["to"]))
        && (checked["of_base"].is_null() && form.over.is_null() || form.over == over())
}

/// Every claim of a shipped scenario that a document or a measurement speaks of, with its file and
/// the forms that it may take; and how many are the project's own.
fn guarded() -> (Vec<(String, Json, Vec<Form>)>, usize) {
    let (stated, table) = (of_documents(), table());
    let (mut found, mut own) = (Vec::new(), 0);
    for (id, instances) in of_scenarios() {
        for (file, checked) in instances {
            let forms = if id.starts_with("ref-") {
                vec![measured(&id)]
            } else if published::is_row(&id) {
                let (metric, expect) = published::stated(&id);
                vec![Form { metrics: json!([metric]), ..Form::of_kind("value", expect) }]
            } else if let Some(stated) = stated.iter().find(|stated| stated["id"] == id.as_str()) {
                forms(stated, table.get(&id).map_or(&[], Vec::as_slice))
            } else {
                own += 1;
                continue;
            };
            found.push((file, checked, forms));
        }
    }
    (found, own)
}

#[test]
fn every_claim_expects_what_its_document_or_its_measurement_says() {
    let (claims, _) = guarded();
    let bent = claims
        .iter()
        .filter(|(_, checked, forms)| !forms.iter().any(|form| has_form(form, checked)));
    let bent: Vec<String> = bent
        .map(|(file, checked, forms)| {
            format!("{file}: {}: it says {checked}; the form is one of {forms:?}", checked["id"])
        })
        .collect();
    assert!(bent.is_empty(), "\n{}\n", bent.join("\n"));
}

/// The table says what the catalogue says: its words are quoted, each number of an expectation is one
/// of them, and a side is the one that they name, or the line says why not.
#[test]
fn the_table_of_expectations_quotes_the_catalogue() {
    let stated = of_documents();
    let scenarios = of_scenarios();
    let mut wrong = Vec::new();
    for (id, lines) in table() {
        let stated = stated.iter().find(|stated| stated["id"] == id.as_str());
        let stated = stated.unwrap_or_else(|| panic!("no document states {id}"));
        assert!(scenarios.contains_key(&id), "no scenario checks {id}: the line is of no use");
        for line in lines {
            let says = ["relation", "metric"].map(|key| stated["expected"][key].as_str());
            let says = says.into_iter().flatten().next().unwrap_or_default();
            let slack = text(&stated["tolerance"], "value");
            if line["says"] != says || line["slack"] != slack {
                wrong.push(format!("{id}: the catalogue says {says:?}, {slack:?}"));
            }
            let words = format!("{} {slack}", stated["expected"]);
            if line["because"].is_null() && !follows(&line["expect"], says, &words) {
                wrong.push(format!("{id}: {} is not in {words}", line["expect"]));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// Whether an expectation follows from the words of a relation without a reason of its own: all its
/// numbers are among them, and it compares as their signs do.
fn follows(expect: &Json, says: &str, words: &str) -> bool {
    let known = numbers(words);
    let all = numbers(&expect.to_string());
    let below = match (says.contains('<'), says.contains('>')) {
        (true, false) => expect["is"] != "above",
        (false, true) => expect["is"] != "below",
        _ => true,
    };
    below && all.iter().all(|number| known.iter().any(|known| (known - number).abs() < 1e-9))
}

/// All numbers in a text.
fn numbers(text: &str) -> Vec<f64> {
    let words = text.split(|c: char| !c.is_ascii_digit() && c != '.');
    words.filter_map(|word| word.trim_end_matches('.').parse().ok()).collect()
}

/// Each change to what a claim says that makes it easier to hold, or another claim.
fn bent(checked: &Json) -> Vec<Json> {
    let mut all = Vec::new();
    let mut push = |change: &dyn Fn(&mut Json)| {
        let mut copy = checked.clone();
        change(&mut copy);
        if copy != *checked {
            all.push(copy);
        }
    };
    let expect = checked["expect"].as_object().expect("an expectation");
    for (key, said) in expect {
        let factors: &[f64] = if key == "tolerance" { &[1.5] } else { &[0.9, 1.1] };
        for factor in factors {
            push(&|copy| copy["expect"][key] = scaled(said, *factor));
        }
        if let (Some(word), Some(_)) = (said.as_str(), quantity(said)) {
            push(&|copy| copy["expect"][key] = json!(other_unit(word)));
        }
        push(&|copy| {
            copy["expect"].as_object_mut().expect("an object").remove(key);
        });
    }
    for (key, others) in [
        ("is", &["below", "above"][..]),
        ("in", &["most"]),
        ("steps", &["ends"]),
        ("shape", &["rises", "falls", "linear"]),
    ] {
        for other in others {
            push(&|copy| copy["expect"][key] = json!(other));
        }
    }
    for (key, other) in [("times", 1.1), ("margin", 0.01), ("least", 0.0), ("most", 1e9)] {
        push(&|copy| copy["expect"][key] = json!(other));
    }
    if checked["of"] != checked["to"] && differences(&checked["of"], &checked["to"]) != json!([]) {
        push(&|copy| {
            copy["of"] = checked["to"].clone();
            copy["to"] = checked["of"].clone();
        });
    }
    all
}

/// A number or quantity so many times as great, in its own unit; a word as it is.
fn scaled(said: &Json, factor: f64) -> Json {
    let scale = |number: f64| if number == 0.0 { factor - 1.0 } else { number * factor };
    let scaled = |number: &str| scale(number.parse().expect("a number")).to_string();
    if let Some(number) = said.as_f64() {
        return json!(scale(number));
    }
    let (Some(word), Some(_)) = (said.as_str(), quantity(said)) else { return said.clone() };
    if let Some(number) = word.strip_prefix('x') {
        return json!(format!("x{}", scaled(number)));
    }
    let (number, unit) = word.split_once(' ').expect("a number and its unit");
    json!(format!("{} {unit}", scaled(number)))
}

/// The same number in the next unit of its dimension.
fn other_unit(word: &str) -> String {
    for (unit, other) in [
        (" ms", " us"),
        (" us", " ms"),
        (" KiB", " B"),
        (" B", " KiB"),
        (" GB/s", " MB/s"),
        (" MB/s", " GB/s"),
    ] {
        if let Some(number) = word.strip_suffix(unit) {
            return format!("{number}{other}");
        }
    }
    match (word.strip_prefix('x'), word.strip_suffix(" %")) {
        (Some(number), _) => format!("{number} %"),
        (_, Some(number)) => format!("x{number}"),
        _ => panic!("{word} has no unit"),
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "how many for a reader, with --nocapture")]
fn no_claim_can_be_bent_unseen() {
    let (claims, own) = guarded();
    let (mut copies, mut unseen) = (0, Vec::new());
    for (file, checked, forms) in &claims {
        for copy in bent(checked) {
            copies += 1;
            if forms.iter().any(|form| has_form(form, &copy)) {
                unseen
                    .push(format!("{file}: {}: {} {}", checked["id"], copy["expect"], copy["of"]));
            }
        }
    }
    println!(
        "{copies} bent copies of {} claims in scenarios; {own} claims are the project's own",
        claims.len()
    );
    assert!(
        claims.len() > 270 && copies > 10 * claims.len(),
        "{copies} copies of {}",
        claims.len()
    );
    assert!(unseen.is_empty(), "\n{}\n", unseen.join("\n"));
}
