//! Machines: numbers with their sources, and the form of them in files.
//!
//! A model is an object of sections (`cpu`, `hca`, ...) whose members are the parameters of
//! [`PARAMETERS`]. In a file every number is an object `{ "value", "low", "high", "confidence",
//! "source", "note" }`; in a scenario, where `"machine"` may be an object that extends a model, and
//! under `--set` and in sweeps, the bare value is enough.

use std::fmt;

use super::codes;
use super::diagnostic::{Diagnostic, Diagnostics};
use super::json::{Member, Node, NumberError, Value as Json};
use super::shape::check::{self, check, join};
use super::shape::{Field, NOTE, Need, OwnForm, Shape, optional, required};
use hardware::profile::{Kind, PARAMETERS, Parameter, Profile, Value};

mod schema;

pub use schema::model_schema;

/// The name of a machine model, or an object with parameters of one.
pub static MACHINE: Shape =
    Shape::Machine(&OwnForm { check: check_machine, schema: schema::machine_schema });

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
pub static CONFIDENCE: Shape = Shape::Word(&[
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

    /// The meaning of a checked word.
    pub fn from_word(word: &str) -> Self {
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
    /// Document, table, or the numbers that it was computed from.
    pub source: String,
    /// A remark.
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

    /// The confidence of its numbers, counted.
    pub fn standing(&self) -> Standing {
        let there = || self.numbers.iter().filter(|number| number.value.is_some());
        let is_sourced = |number: &&KnownNumber| {
            matches!(
                number.confidence,
                Confidence::Derived | Confidence::Spec | Confidence::Measured
            )
        };
        let sourced = || there().filter(is_sourced);
        let fitted = sourced().filter(|number| number.source.starts_with("fit: ")).count();
        Standing { all: there().count(), sourced: sourced().count(), fitted }
    }
}

/// How many numbers of a machine have a source, and how many of those were fitted to measurements.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Standing {
    all: usize,
    sourced: usize,
    fitted: usize,
}

impl Standing {
    /// Whether most numbers of a machine are guesses, and no measurement of a whole message was looked at. A machine
    /// whose every number was chosen is none of the world, and guesses nothing.
    pub const fn is_guessed(self) -> bool {
        self.sourced > 0 && self.sourced * 2 < self.all && self.fitted == 0
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { all, sourced, fitted } = self;
        write!(to, "{sourced} of {all} numbers sourced; ")?;
        match fitted {
            0 => to.write_str("fitted to nothing"),
            fitted => write!(to, "{fitted} fitted"),
        }
    }
}

/// The sections of a model.
pub fn sections() -> Vec<&'static str> {
    let mut all: Vec<&str> =
        PARAMETERS.iter().filter_map(|parameter| parameter.path.split('.').next()).collect();
    all.dedup();
    all
}

/// Descriptions of a model.
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
pub enum Form {
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

/// Checks a model: its sections, their numbers, and in a file the sources of these.
pub fn check_model(diagnostics: &mut Diagnostics, node: &Node, path: &str, form: Form) {
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
pub fn example_of(parameter: &Parameter) -> String {
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
///
/// # Panics
///
/// Where it has not.
pub fn read_value(node: &Node, kind: Kind) -> Value {
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
