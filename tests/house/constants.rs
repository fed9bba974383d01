//! Numbers of machines live in models: a number in the code has another reason, and states it.
//!
//! A new constant below `experiment` is a time, a rate or a cost of some machine: then it is a parameter in
//! `src/hardware/parameters.rs`, with a value and a source in each model. Or a line of its doc comment begins
//! with one of [`REASONS`] and says why the constant has its value:
//!
//! ```text
//! /// The most operations of a schedule.
//! /// Limit: an index leaves two bits of a word to others.
//! pub const MOST_OPS: u32 = 1 << 30;
//! ```

use super::architecture::{Source, check_none, sources};

/// The words that begin the reason of a constant, and their meanings.
const REASONS: [(&str, &str); 5] = [
    (
        "Method",
        "how the simulator is fast or exact (steps, windows, sizes of its tables): a finer value changes a \
         result by less than its tests allow, or not at all",
    ),
    ("Limit", "beyond it an input is refused, or a text is cut"),
    ("Source", "a standard, a document or a program states it"),
    ("Default", "it holds where a machine or a scenario gives no other value for its key"),
    ("Encoding", "bits and numbers of names, places in memory, the unit of a whole number"),
];

/// Numbers without a name: file, number and reason.
const UNNAMED: &[(&str, &str, &str)] = &[
    ("hardware/fabric/hops.rs", "1", "the smallest step of time"),
    ("hardware/gpu/device.rs", "2", "number of an engine"),
    ("runtime/faults.rs", "4_096", "a default of scenarios, which states its source"),
    ("runtime/memory_use.rs", "4096", PRICE),
    ("runtime/memory_use.rs", "1024", PRICE),
    ("runtime/memory_use.rs", "512", PRICE),
    ("runtime/memory_use.rs", "256", PRICE),
    ("runtime/memory_use.rs", "128", PRICE),
    ("runtime/memory_use.rs", "64", PRICE),
    ("runtime/timed/actions.rs", "2", TOUCHED),
    ("runtime/timed/costs.rs", "2", TOUCHED),
    ("runtime/timed/memory/peer_copy.rs", "2", TOUCHED),
    ("workloads/import/goal/read.rs", "2", "characters of `-1`"),
];
const PRICE: &str = "bytes of the simulator's own memory";
const TOUCHED: &str = "a copy reads a byte and writes one";

/// Where a machine's number could hide.
fn looked_at(source: &Source) -> bool {
    let layers = [
        "hardware",
        "calls",
        "collectives",
        "protocols",
        "xios_ep",
        "runtime",
        "language",
        "workloads",
    ];
    let is_table = source.path == "hardware/parameters.rs";
    layers.contains(&source.layer()) && !source.is_test() && !is_table
}

/// The integers that stand by themselves in some code, other than 0 and 1.
fn integers(code: &str) -> Vec<&str> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.';
    let words = code.split(|letter: char| !is_part(letter));
    let numbers = words.filter(|word| word.starts_with(|letter: char| letter.is_ascii_digit()));
    numbers.filter(|word| !["0", "1"].contains(word)).collect()
}

/// The name of the constant that a line begins, and its value as far as the line has it.
fn constant(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.split_once("const ").or_else(|| line.split_once("static "))?;
    let (name, rest) = rest.split_once(": ")?;
    let (kind, value) = rest.split_once('=')?;
    let is_name =
        name.chars().all(|letter| letter.is_ascii_uppercase() || "_0123456789".contains(letter));
    // A form says which numbers a field takes.
    let is_form = kind.contains("Shape") || kind.contains("Entry");
    let is_number = !is_form && !kind.contains(['[', '&', '(']) && !kind.contains("Self");
    (is_name && is_number).then_some((name, value))
}

/// The first number that a unit is made of, where it is one.
fn unit(line: &str) -> Option<&str> {
    let makers = ["::from_", "Bytes::new(", "Bytes::kib(", "Bytes::mib(", "Bytes::gib("];
    let maker = makers.iter().find_map(|maker| line.split_once(maker))?.1;
    let (made, given) = maker.split_once('(').unwrap_or(("", maker));
    let given = if made.chars().all(|letter| letter.is_alphanumeric() || letter == '_') {
        given
    } else {
        maker
    };
    let end = given.find(|letter: char| !(letter.is_ascii_digit() || letter == '_'));
    let number = &given[..end.unwrap_or(given.len())];
    (!number.is_empty() && number != "0").then_some(number)
}

/// The doc comment of the item that begins at a line: what is above it, without attributes.
fn documentation<'a>(text: &'a [&'a str], at: usize) -> impl Iterator<Item = &'a str> {
    let above = text[..at].iter().rev().map(|line| line.trim_start());
    let item = above.take_while(|line| line.starts_with("///") || line.starts_with("#["));
    item.filter_map(|line| line.strip_prefix("///")).map(str::trim)
}

/// Whether a line of a doc comment states a reason.
fn states_a_reason(line: &str) -> bool {
    line.split_once(": ").is_some_and(|(word, reason)| {
        REASONS.iter().any(|(known, _)| *known == word) && !reason.trim().is_empty()
    })
}

/// Every constant with a number in its value that states no reason: line and name.
fn without_reason(source: &Source) -> Vec<(usize, &str)> {
    let text: Vec<&str> = source.text.lines().collect();
    let code: Vec<&str> = source.lines().map(|(_, line)| line).collect();
    let mut found = Vec::new();
    for (at, line) in code.iter().enumerate() {
        let Some((name, begin)) = constant(line) else { continue };
        let is_last = |line: &str| line.trim_end().ends_with(';');
        let more = code[at..].iter().zip(&code[at + 1..]);
        let more = more.take_while(|(before, _)| !is_last(before)).map(|(_, line)| *line);
        let has_number = std::iter::once(begin).chain(more).any(|line| !integers(line).is_empty());
        if has_number && !documentation(&text, at).any(states_a_reason) {
            found.push((at + 1, name));
        }
    }
    found
}

/// What to do about a number: the text of a failure.
fn remedy() -> String {
    let words = REASONS.map(|(word, meaning)| format!("    /// {word}: ...    {meaning}\n"));
    format!(
        "A number of a machine is a parameter in src/hardware/parameters.rs. Any other constant states \
         its reason in a line of its doc comment:\n{}A number without a name is listed in UNNAMED of \
         tests/house/constants.rs.",
        words.concat()
    )
}

fn check_numbers(mut wrong: Vec<String>) {
    if !wrong.is_empty() {
        wrong.push(remedy());
    }
    check_none(&wrong);
}

#[test]
fn constants_are_no_numbers_of_machines() {
    let all = sources();
    let wrong = all.iter().filter(|source| looked_at(source)).flat_map(|source| {
        let found = without_reason(source).into_iter();
        found.map(|(line, name)| format!("src/{}:{line}: why has {name} this value?", source.path))
    });
    check_numbers(wrong.collect());
}

/// Numbers without a name: those of which a unit is made, and the values of matches.
fn unnamed(source: &Source) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (line, text) in source.lines().filter(|(_, text)| constant(text).is_none()) {
        let cases = text.split_once("=> ").and_then(|(_, value)| value.strip_suffix(','));
        let case = cases.filter(|value| integers(value) == [*value]);
        found.extend([unit(text), case].into_iter().flatten().map(|number| (line, number)));
    }
    found
}

#[test]
fn no_time_or_rate_is_made_from_a_number_in_the_code() {
    let mut wrong = Vec::new();
    for source in sources().iter().filter(|source| looked_at(source)) {
        for (line, number) in unnamed(source) {
            let is = |(file, one, _): &(&str, &str, &str)| *file == source.path && *one == number;
            if !UNNAMED.iter().any(is) {
                wrong.push(format!("src/{}:{line}: what is {number}?", source.path));
            }
        }
    }
    check_numbers(wrong);
}

/// A list that names what is gone would hide what comes in its place.
#[test]
fn every_number_that_is_listed_exists() {
    let all = sources();
    let is_gone = |(file, number, _): &&(&str, &str, &str)| {
        let source = all.iter().find(|source| source.path == *file);
        !source.is_some_and(|source| unnamed(source).iter().any(|(_, one)| one == number))
    };
    let gone = UNNAMED.iter().filter(is_gone);
    let gone = gone.map(|(file, number, what)| format!("src/{file} has no {number} ({what})"));
    check_none(&gone.collect::<Vec<_>>());
}

#[test]
fn a_constant_without_a_reason_is_found() {
    let text = "\
/// The most operations.
/// Limit: an index has thirty bits.
#[allow(dead_code)]
pub const MOST: u32 = 1 << 30;
const NEXT: u32 = 1 << 31;
/// Bytes of a block.
const BLOCK: u64 = 64;
/// Method:
const EMPTY: u64 = 7;
/// Reason: somebody wanted it.
const OTHER: u64 = 9;
// Source: no doc comment.
const PLAIN: u64 = 11;
/// Two lines.
const LONG: Scope =
    Scope { states: 200_000 };
const NONE: u32 = u32::MAX - 1;
const ALL: [u32; 2] = [2, 3];
fn after() {
    /// Encoding: bit two.
    const BIT: u32 = 1 << 2;
    const SECOND: u64 = 3 * 8;
}
";
    let source = Source::of("hardware/example.rs".to_owned(), text.to_owned());
    assert!(looked_at(&source));
    let names: Vec<&str> = without_reason(&source).into_iter().map(|(_, name)| name).collect();
    assert_eq!(names, ["NEXT", "BLOCK", "EMPTY", "OTHER", "PLAIN", "LONG", "SECOND"]);
    assert_eq!(without_reason(&source)[0], (5, "NEXT"));
    assert!(remedy().contains("/// Limit: ..."));
}

#[test]
fn a_number_without_a_name_is_found() {
    let text = "\
/// Method: it has a name.
const STILL: Bandwidth = Bandwidth::from_bit_per_s(8_000_000);
fn f() -> Bandwidth { Bandwidth::from_bit_per_s(9_000_000) }
fn g(x: u32) -> u32 {
    match x {
        0 => 17,
        _ => 1,
    }
}
";
    let source = Source::of("hardware/example.rs".to_owned(), text.to_owned());
    assert_eq!(unnamed(&source), [(3, "9_000_000"), (6, "17")]);
}

#[test]
fn a_number_in_the_code_is_seen() {
    let line = "    pub const CALL: u128 = 48 << 10;";
    assert_eq!(constant(line), Some(("CALL", " 48 << 10;")));
    assert_eq!(integers(" 48 << 10;"), ["48", "10"]);
    assert_eq!(integers("u32::MAX - 1"), Vec::<&str>::new());
    assert_eq!(constant("pub const ALL: [Self; 12] = ["), None);
    assert_eq!(unit("x + TimeDelta::from_ns(250)"), Some("250"));
    assert_eq!(unit("TimeDelta::from_ps(ps)"), None);
    assert_eq!(unit("Bytes::new(2 * width)"), Some("2"));
}
