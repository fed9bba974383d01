//! Machine models as files: numbers with their sources, one model extending another.
//!
//! A model is an object of sections (`cpu`, `hca`, ...) whose members are the parameters of
//! [`PARAMETERS`]. In a file every number is an object `{ "value", "low", "high", "confidence",
//! "source", "note" }`; in a scenario, where `"machine"` may be an object that extends a model, and
//! under `--set` and in sweeps, the bare value is enough.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::codes;
use super::diagnostic::{Diagnostic, Diagnostics, Span, quote};
use super::json::{Member, Node, NumberError, Value as Json};
use super::library::{self, Library, Loaded};
use super::shape::check::{self, check, join};
use super::shape::{Field, NOTE, Need, Shape, optional, required};
use hardware::profile::{
    Kind, Origin, PARAMETERS, Parameter, Profile, ProfileBuilder, ProfileError, Value,
};

/// How sure a number is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Confidence {
    /// An estimate: the first to doubt.
    Assumed,
    /// Set in the scenario or on the command line.
    Chosen,
    /// Computed from others.
    Derived,
    /// A vendor's statement or a source-code constant.
    Spec,
    /// A published or own measurement.
    Measured,
}

/// The words for [`Confidence`] in a file.
pub(super) static CONFIDENCE: Shape = Shape::Word(&[
    ("assumed", "an estimate"),
    ("derived", "computed from other numbers"),
    ("spec", "a vendor's statement, a stated configuration or a source-code constant"),
    ("measured", "a published or own measurement"),
]);

impl Confidence {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Assumed => "assumed",
            Self::Chosen => "chosen",
            Self::Derived => "derived",
            Self::Spec => "spec",
            Self::Measured => "measured",
        }
    }

    /// What a word says that was checked.
    pub(super) fn from_word(word: &str) -> Self {
        match word {
            "assumed" => Self::Assumed,
            "derived" => Self::Derived,
            "spec" => Self::Spec,
            "measured" => Self::Measured,
            other => unreachable!("`{other}` passed the check of its word"),
        }
    }
}

/// One number of a machine, and where it comes from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct KnownNumber {
    /// Section and name, such as `hca.mtu`.
    pub path: &'static str,
    /// Its value; `None` where the machine has no such thing.
    pub value: Option<Value>,
    /// The least plausible value that the model states.
    pub low: Option<Value>,
    /// The greatest plausible value that the model states.
    pub high: Option<Value>,
    /// How sure it is.
    pub confidence: Confidence,
    /// Document, table, or what it was computed from.
    pub source: String,
    /// What else is to be said.
    pub note: Option<String>,
    /// The file that gives it.
    pub file: String,
}

impl KnownNumber {
    /// Whether a model, a scenario or an option names it; else it follows from a rule.
    pub const fn is_given(&self) -> bool {
        !self.file.is_empty()
    }
}

/// A machine whose numbers are all known.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The model's name.
    pub name: String,
    /// One line about it.
    pub title: String,
    /// The validated numbers.
    pub profile: Profile,
    /// Every number with its source, in the order of the parameter table.
    pub numbers: Vec<KnownNumber>,
}

impl Machine {
    /// The numbers, those in doubt first.
    pub fn by_doubt(&self) -> Vec<&KnownNumber> {
        let mut all: Vec<&KnownNumber> = self.numbers.iter().collect();
        // What a machine does not have is no guess.
        all.sort_by_key(|number| (number.value.is_none(), number.confidence));
        all
    }
}

/// The sections of a model.
pub fn sections() -> Vec<&'static str> {
    let mut all: Vec<&str> =
        PARAMETERS.iter().filter_map(|parameter| parameter.path.split('.').next()).collect();
    all.dedup();
    all
}

/// What a model says about itself.
pub static ABOUT: [Field; 5] = [
    optional("name", &Shape::Name, "The model's name, that of its file."),
    optional("title", &Shape::Text(300), "One line about the machine."),
    optional("source", &Shape::Text(500), "Where its numbers come from."),
    optional("extends", &Shape::Name, "The model whose numbers hold where this one has none."),
    NOTE,
];

static STATED: [Field; 3] = [
    required("confidence", &CONFIDENCE, "\"spec\"", "How sure the number is."),
    required("source", &Shape::Text(500), "\"endpoints Table 1\"", "Where it comes from."),
    NOTE,
];

/// Whether a number may stand without its source.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Form {
    /// In a scenario or on the command line.
    Inline,
    /// In a model file.
    File,
}

/// Checks the `machine` of a scenario: a name, or an object with parameters.
pub fn check_machine(diagnostics: &mut Diagnostics, node: &Node, path: &str) {
    if let Json::Text(_) = node.value {
        return check(diagnostics, node, &Shape::Name, path);
    }
    check_model(diagnostics, node, path, Form::Inline);
}

fn check_model(diagnostics: &mut Diagnostics, node: &Node, path: &str, form: Form) {
    let Some(members) = node.members() else {
        return check(diagnostics, node, &Shape::Object(&[]), path);
    };
    for member in members {
        let at = join(path, &member.key);
        if let Some(field) = ABOUT.iter().find(|field| field.key == member.key) {
            check(diagnostics, &member.node, field.shape, &at);
        } else if sections().contains(&member.key.as_str()) {
            check_section(diagnostics, member, &at, form);
        } else {
            let keys = ABOUT[..4].iter().map(|field| field.key).chain(sections());
            check::unknown_key(diagnostics, member, keys.collect(), path);
        }
    }
}

fn check_section(diagnostics: &mut Diagnostics, section: &Member, path: &str, form: Form) {
    let Some(members) = section.node.members() else {
        return check(diagnostics, &section.node, &Shape::Object(&[]), path);
    };
    for member in members.iter().filter(|member| member.key != NOTE.key) {
        match Parameter::find(&format!("{}.{}", section.key, member.key)) {
            Some(parameter) => {
                check_number(diagnostics, &member.node, parameter, &join(path, &member.key), form);
            }
            None => check::unknown_key(diagnostics, member, names_in(&section.key), path),
        }
    }
}

fn names_in(section: &str) -> Vec<&'static str> {
    let inside =
        |parameter: &'static Parameter| parameter.path.strip_prefix(section)?.strip_prefix('.');
    PARAMETERS.iter().filter_map(inside).collect()
}

fn check_number(
    diagnostics: &mut Diagnostics,
    node: &Node,
    parameter: &'static Parameter,
    path: &str,
    form: Form,
) {
    let Some(members) = node.members() else {
        if form == Form::Inline {
            return check_value(diagnostics, node, parameter, path);
        }
        return without_source(diagnostics, node, parameter, path);
    };
    for member in members {
        let at = join(path, &member.key);
        if matches!(member.key.as_str(), "value" | "low" | "high") {
            check_value(diagnostics, &member.node, parameter, &at);
        } else if let Some(field) = STATED.iter().find(|field| field.key == member.key) {
            check(diagnostics, &member.node, field.shape, &at);
        } else {
            let keys = vec!["value", "low", "high", "confidence", "source"];
            check::unknown_key(diagnostics, member, keys, path);
        }
    }
    let value = required("value", &Shape::Scalar, "...", "The value.");
    for field in std::iter::once(&value).chain(&STATED) {
        if let Need::Required(example) = field.need
            && node.get(field.key).is_none()
            && (form == Form::File || field.key == "value")
        {
            let example = if field.key == "value" { example_of(parameter) } else { example.into() };
            check::missing_key(diagnostics, node, field, &example, path);
        }
    }
}

/// The lowest plausible value of `parameter` as JSON text.
fn example_of(parameter: &Parameter) -> String {
    if parameter.kind.dimension().is_some() {
        format!("\"{}\"", parameter.band.0)
    } else {
        parameter.band.0.to_owned()
    }
}

fn without_source(diagnostics: &mut Diagnostics, node: &Node, parameter: &Parameter, path: &str) {
    diagnostics.push(
        Diagnostic::error(
            &codes::WRONG_TYPE,
            node.span,
            path,
            format!("found {} without its source", check::show(node)),
            "an object with value, confidence and source is needed",
        )
        .help(format!(
            "write `{{ \"value\": {}, \"confidence\": \"assumed\", \"source\": \"...\" }}`",
            example_of(parameter)
        )),
    );
}

/// Reports why `node` is not a value of `parameter`.
pub fn check_value(
    diagnostics: &mut Diagnostics,
    node: &Node,
    parameter: &'static Parameter,
    path: &str,
) {
    let least = u64::from(!parameter.allows_zero());
    if let Some(dimension) = parameter.kind.dimension() {
        let shape = Shape::Quantity { dimension, min: least, max: u64::MAX };
        return check(diagnostics, node, &shape, path);
    }
    match parameter.kind {
        Kind::Count => {
            check(diagnostics, node, &Shape::Count { min: least, max: u64::from(u32::MAX) }, path);
        }
        Kind::Flag => check(diagnostics, node, &Shape::Flag, path),
        Kind::Ratio
        | Kind::Time
        | Kind::Bytes
        | Kind::Bandwidth
        | Kind::Rate
        | Kind::CostPerByte
        | Kind::Frequency => {
            let shape = Shape::Ratio { min: least * 1_000, max: u64::MAX };
            let before = diagnostics.errors();
            check(diagnostics, node, &shape, path);
            if let Json::Number(number) = &node.value
                && diagnostics.errors() == before
                && number.scaled(6) == Err(NumberError::Fraction)
            {
                diagnostics.push(Diagnostic::error(
                    &codes::TOO_FINE,
                    node.span,
                    path,
                    format!("{number} has more than six decimals"),
                    "a number in steps of 0.000001 is needed",
                ));
            }
        }
    }
}

/// The value of a node that [`check_value`] has passed.
fn read_value(node: &Node, kind: Kind) -> Value {
    let plain = "the number was checked";
    match &node.value {
        Json::Text(text) => kind.parse(text).expect(plain),
        Json::Bool(flag) => Value::Flag(*flag),
        Json::Number(number) if kind == Kind::Count => kind.value(number.whole().expect(plain)),
        Json::Number(number) => kind.value(number.scaled(6).expect(plain)),
        Json::Null | Json::List(_) | Json::Object(_) | Json::Word(_) | Json::Invalid => {
            unreachable!("the value was checked")
        }
    }
}

/// The machine of the model called `name`, in the directories of `library` or embedded.
pub fn by_name(
    diagnostics: &mut Diagnostics,
    library: &Library,
    name: &str,
) -> Option<Arc<Machine>> {
    let source = diagnostics.add_source("<command line>", name);
    let end = u32::try_from(name.len()).unwrap_or(0);
    let node = Node { value: Json::Text(name.to_owned()), span: Span { source, start: 0, end } };
    check_machine(diagnostics, &node, "");
    if diagnostics.has_errors() {
        return None;
    }
    Models::new(library, None).machine(diagnostics, &node)
}

/// The models of one command: each file is read and checked once.
#[derive(Debug)]
pub struct Models<'a> {
    library: &'a Library,
    beside: Option<PathBuf>,
    files: BTreeMap<String, Option<Arc<Loaded>>>,
    last: Option<(Node, Option<Arc<Machine>>)>,
}

/// One model of a chain of extensions: its tree, its file, whether it ships.
struct Level {
    node: Node,
    form: Form,
    shipped: bool,
}

impl<'a> Models<'a> {
    /// Models for a scenario that lies in the directory `beside`.
    pub fn new(library: &'a Library, beside: Option<PathBuf>) -> Self {
        Self { library, beside, files: BTreeMap::new(), last: None }
    }

    /// The machine that `node`, the checked `machine` of a scenario, stands for.
    pub fn machine(&mut self, diagnostics: &mut Diagnostics, node: &Node) -> Option<Arc<Machine>> {
        if let Some((known, machine)) = &self.last
            && known == node
        {
            return machine.clone();
        }
        let machine = self.resolve(diagnostics, node).map(Arc::new);
        self.last = Some((node.clone(), machine.clone()));
        machine
    }

    fn resolve(&mut self, diagnostics: &mut Diagnostics, node: &Node) -> Option<Machine> {
        let levels = self.levels(diagnostics, node)?;
        let mut builder = ProfileBuilder::new();
        let mut given: BTreeMap<&'static str, (Span, KnownNumber)> = BTreeMap::new();
        for level in levels.iter().rev() {
            for (parameter, place) in numbers(&level.node) {
                let file = diagnostics.name(place.span.source).to_owned();
                let number = stated_number(parameter, place, file);
                warn_if_implausible(diagnostics, level, place, parameter, &number);
                warn_if_not_simulated(diagnostics, level, place, parameter);
                let value = number.value.expect("a number that is given has a value");
                builder.set(parameter.path, value).expect("the value was checked");
                given.insert(parameter.path, (place.span, number));
            }
        }
        let profile = match builder.build() {
            Ok(profile) => profile,
            Err(errors) => {
                report_errors(diagnostics, node, &errors, &given);
                return None;
            }
        };
        let about = |key: &str| levels.iter().find_map(|level| level.node.word(key));
        let name = node.text().or_else(|| about("name")).or_else(|| about("extends"));
        let name = name.unwrap_or("inline").to_owned();
        let title = about("title").unwrap_or(&name).to_owned();
        let numbers = PARAMETERS
            .iter()
            .map(|parameter| {
                given
                    .remove(parameter.path)
                    .map_or_else(|| fallback(parameter, &builder), |(_, number)| number)
            })
            .collect();
        Some(Machine { name, title, profile, numbers })
    }

    /// The model and all that it extends, the most special one first.
    fn levels(&mut self, diagnostics: &mut Diagnostics, node: &Node) -> Option<Vec<Level>> {
        let mut levels: Vec<Level> = Vec::new();
        let mut names: Vec<String> = Vec::new();
        let mut next = Some((node.clone(), "machine".to_owned()));
        if node.members().is_some() {
            levels.push(Level { node: node.clone(), form: Form::Inline, shipped: false });
            next = node.get("extends").map(|name| (name.clone(), "machine.extends".to_owned()));
        }
        while let Some((asked, field)) = next {
            let name = asked.text().expect("the name was checked").to_owned();
            if let Some(start) = names.iter().position(|known| *known == name) {
                cycle(diagnostics, &asked, &field, &names[start..]);
                return None;
            }
            names.push(name.clone());
            let loaded = self.file(diagnostics, &name, (asked.span, &field))?;
            next = loaded.tree.get("extends").map(|name| (name.clone(), "extends".to_owned()));
            let (node, shipped) = (loaded.tree.clone(), loaded.shipped);
            levels.push(Level { node, form: Form::File, shipped });
        }
        Some(levels)
    }

    fn file(
        &mut self,
        diagnostics: &mut Diagnostics,
        name: &str,
        asked: (Span, &str),
    ) -> Option<Arc<Loaded>> {
        if let Some(known) = self.files.get(name) {
            return known.clone();
        }
        let before = diagnostics.errors();
        let loaded = library::model(diagnostics, self.library, self.beside.as_deref(), name, asked);
        if let Some(loaded) = &loaded {
            check_model(diagnostics, &loaded.tree, "", Form::File);
            warn_of_another_name(diagnostics, loaded);
            if let Some(members) = loaded.tree.members() {
                check_ranges(diagnostics, members);
            }
        }
        let loaded = loaded.filter(|_| diagnostics.errors() == before).map(Arc::new);
        self.files.insert(name.to_owned(), loaded.clone());
        loaded
    }
}

/// A model is called as its file is, whatever it says: a copy that kept its name is probably meant to
/// have another one.
fn warn_of_another_name(diagnostics: &mut Diagnostics, loaded: &Loaded) {
    let Some(node) = loaded.tree.get("name") else { return };
    let Some(name) = node.text().filter(|name| *name != loaded.name) else { return };
    let found = format!("the model says `{}`, and its file `{}`", quote(name), quote(&loaded.name));
    let allowed = "results call it as its file is called";
    diagnostics.push(
        Diagnostic::error(&codes::WITHOUT_EFFECT, node.span, "name", found, allowed)
            .help(format!("write `\"name\": \"{}\"`, or rename the file", quote(&loaded.name)))
            .warning(),
    );
}

/// Reports numbers that lie outside the range which their own model states.
fn check_ranges(diagnostics: &mut Diagnostics, sections: &[Member]) {
    if diagnostics.has_errors() {
        return;
    }
    let places: Vec<_> = sections.iter().flat_map(numbers_of_section).collect();
    for (parameter, node) in places {
        let read = |key: &str| node.get(key).map(|node| read_value(node, parameter.kind).steps());
        let value = read("value").unwrap_or_default();
        let low_is_above = read("low").is_some_and(|low| low > value);
        if low_is_above || read("high").is_some_and(|high| high < value) {
            let key = if low_is_above { "low" } else { "high" };
            let place = |key: &str| node.get(key).map_or(node.span, |node| node.span);
            diagnostics.push(
                Diagnostic::error(
                    &codes::MODEL_VALUE,
                    place("value"),
                    parameter.path,
                    "the value lies outside its own range",
                    "low, value and high must rise",
                )
                .related(place(key), "the end of the range is here"),
            );
        }
    }
}

/// Every parameter that a checked model names, with its node.
fn numbers(model: &Node) -> Vec<(&'static Parameter, &Node)> {
    model.members().into_iter().flatten().flat_map(numbers_of_section).collect()
}

fn numbers_of_section(section: &Member) -> Vec<(&'static Parameter, &Node)> {
    if ABOUT.iter().any(|field| field.key == section.key) {
        return Vec::new();
    }
    let named = |member: &'_ Member| Parameter::find(&format!("{}.{}", section.key, member.key));
    let members = section.node.members().into_iter().flatten();
    members.filter_map(|member| Some((named(member)?, &member.node))).collect()
}

/// The number that `node`, which was checked, states for `parameter`.
fn stated_number(parameter: &'static Parameter, node: &Node, file: String) -> KnownNumber {
    let stated = node.members().is_some();
    let value = if stated { node.get("value").expect("the number was checked") } else { node };
    let read = |key: &str| {
        let node = if stated { node.get(key) } else { None };
        node.map(|node| read_value(node, parameter.kind))
    };
    let word = |key: &str| if stated { node.word(key).map(str::to_owned) } else { None };
    KnownNumber {
        path: parameter.path,
        value: Some(read_value(value, parameter.kind)),
        low: read("low"),
        high: read("high"),
        confidence: word("confidence")
            .map_or(Confidence::Chosen, |word| Confidence::from_word(&word)),
        source: word("source").unwrap_or_else(|| "set in the scenario".to_owned()),
        note: word("note"),
        file,
    }
}

fn warn_if_implausible(
    diagnostics: &mut Diagnostics,
    level: &Level,
    node: &Node,
    parameter: &'static Parameter,
    number: &KnownNumber,
) {
    let Some(value) = number.value else { return };
    if level.shipped || parameter.is_plausible(value) {
        return;
    }
    let prefix = if level.form == Form::Inline { "machine." } else { "" };
    let (low, high) = parameter.plausible();
    diagnostics.push(
        Diagnostic::error(
            &codes::IMPLAUSIBLE,
            node.span,
            format!("{prefix}{}", parameter.path),
            format!("{value} is not plausible"),
            format!("real machines have {low} to {high}"),
        )
        .help("the value is used as it is; check its unit (Gb/s are bits, GB/s are bytes)")
        .warning(),
    );
}

/// Who changes a number in a scenario expects to see a difference.
fn warn_if_not_simulated(
    diagnostics: &mut Diagnostics,
    level: &Level,
    node: &Node,
    parameter: &'static Parameter,
) {
    if level.form != Form::Inline || parameter.is_simulated() {
        return;
    }
    diagnostics.push(
        Diagnostic::error(
            &codes::NOT_SIMULATED,
            node.span,
            format!("machine.{}", parameter.path),
            "no mechanism uses this number yet",
            "it only describes the machine",
        )
        .help("results do not depend on it")
        .warning(),
    );
}

/// A parameter that no model names.
fn fallback(parameter: &'static Parameter, builder: &ProfileBuilder) -> KnownNumber {
    let (value, origin) = builder.resolve(parameter.path).expect("the profile is complete");
    let source = match origin {
        Origin::Given => unreachable!("a given parameter has its own source"),
        Origin::Default => "default of the parameter".to_owned(),
        Origin::SameAs(other) => format!("as {other}"),
        Origin::Absent => "not there, or not limiting".to_owned(),
    };
    KnownNumber {
        path: parameter.path,
        value,
        low: None,
        high: None,
        confidence: Confidence::Assumed,
        source,
        note: None,
        file: String::new(),
    }
}

fn cycle(diagnostics: &mut Diagnostics, asked: &Node, field: &str, names: &[String]) {
    let shown: Vec<String> = names.iter().take(10).map(|name| quote(name)).collect();
    diagnostics.push(Diagnostic::error(
        &codes::EXTENDS_CYCLE,
        asked.span,
        field,
        format!("`{}` extends itself: {} -> {}", shown[0], shown.join(" -> "), shown[0]),
        "a chain of extensions must end",
    ));
}

fn report_errors(
    diagnostics: &mut Diagnostics,
    node: &Node,
    errors: &[ProfileError],
    given: &BTreeMap<&'static str, (Span, KnownNumber)>,
) {
    let missing: Vec<&str> = errors
        .iter()
        .filter_map(
            |error| {
                if let ProfileError::Missing { path } = error { Some(*path) } else { None }
            },
        )
        .collect();
    if let Some(first) = missing.first() {
        let shown: Vec<&str> = missing.iter().take(8).copied().collect();
        let more = missing.len().saturating_sub(8);
        let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
        let parameter = Parameter::find(first).expect("a parameter of the table");
        diagnostics.push(
            Diagnostic::error(
                &codes::MODEL_INCOMPLETE,
                node.span,
                "machine",
                format!("the machine has no {}{tail}", shown.join(", ")),
                "every parameter without a default is needed",
            )
            .help(format!(
                "for example `{first}` = {}: {}",
                example_of(parameter),
                parameter.doc.trim()
            )),
        );
    }
    for error in errors {
        if let ProfileError::Inconsistent { first, second, rule, .. } = error {
            let place = |path: &str| given.get(path).map(|(span, _)| *span);
            let span = place(first).or_else(|| place(second)).unwrap_or(node.span);
            let one = Diagnostic::error(
                &codes::MODEL_VALUE,
                span,
                *first,
                error.to_string().trim_end_matches(&format!(": {rule}")).to_owned(),
                *rule,
            );
            diagnostics.push(match place(second) {
                Some(other) if other != span => {
                    one.related(other, format!("`{second}` is set here"))
                }
                _ => one,
            });
        }
    }
}
