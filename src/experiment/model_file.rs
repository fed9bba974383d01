//! Machine models as files, one extending another.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::library::{self, Library, Loaded};
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics, Span, quote};
use form::json::{Member, Node, Value as Json};
use form::machine::{
    ABOUT, Confidence, Form, KnownNumber, Machine, check_machine, check_model, example_of,
    read_value,
};
use hardware::profile::{Origin, PARAMETERS, Parameter, ProfileBuilder, ProfileError};

/// The machine of the model called `name`, in the directories of `library`, or one that ships.
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

/// Warns about a number that changes nothing: the author of the scenario expects a difference.
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
