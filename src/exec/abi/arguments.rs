//! The arguments of the functions of MPI, each by its name, and the family that answers a call: made of the table of
//! functions.
//!
//! | text | has |
//! |---|---|
//! | [`arguments`] | a type for each kind of handle, and a structure for each function: its fields are the parameters |
//! | [`calls`] | an enum for each family: its variants are the functions, with their arguments |
//! | [`dispatch`] | the `match` over all functions that hands a call to its family |
//! | [`families`] | the enum of the families, and the family of each function |

use std::collections::{BTreeMap, BTreeSet};

use crate::abi::{ENUMERATIONS, Function, HANDLES, Parameter, functions, line, listed};

/// The family of the functions that the simulator does not carry: it takes no arguments.
const REFUSED: &str = "refused";

/// The last field of a function that makes a request, and the one before it in some.
const REQUEST: &str = "request: To<handle::Request>";
const INFO: &str = "info: handle::Info";

/// A name as those of types are, without the folders before it: `TCvarHandle` of `T_cvar_handle`.
fn camel(name: &str) -> String {
    let name = name.rsplit('/').next().unwrap_or(name);
    let words = name.split('_').map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    });
    words.collect()
}

/// The type of an argument: what it is, and where it points to, that.
fn kind(parameter: &Parameter) -> String {
    let text = parameter.kind.replace("const", "");
    let base = text.trim_matches([' ', '*']);
    let depth = text.matches('*').count() + usize::from(!parameter.array.is_empty());
    let (base, depth) = match base {
        "void" => ("Address".to_owned(), depth - 1),
        "char" => ("c_char".to_owned(), depth),
        "int" => ("i32".to_owned(), depth),
        enumeration if ENUMERATIONS.contains(&enumeration) => ("i32".to_owned(), depth),
        "Aint" | "Offset" | "A" => ("i64".to_owned(), depth),
        // In memory as long as the form of the function says; as an argument, a displacement may be negative.
        "N" => ("Count".to_owned(), depth),
        "D" if depth > 0 => ("Count".to_owned(), depth),
        "D" => ("i64".to_owned(), 0),
        "Count" if depth > 0 => ("i64".to_owned(), depth),
        "Count" => ("Count".to_owned(), 0),
        "Status" => ("Status".to_owned(), depth),
        handle if HANDLES.contains(&handle) => (format!("handle::{}", camel(handle)), depth),
        function if function.contains("_function") => ("Callback".to_owned(), 0),
        other => panic!("`{other}` is no type of an argument"),
    };
    (0..depth).fold(base, |inner, _| format!("To<{inner}>"))
}

/// Arguments that stand for one thing, by their types, and the type of that.
const TOGETHER: [(&[&str], &str); 5] = [
    (&["i32", "i64", "Count", "handle::Datatype"], "Target"),
    (&["Address", "Count", "handle::Datatype"], "Buffer"),
    (&["Address", "To<Count>", "To<Count>", "handle::Datatype"], "Blocks"),
    (&["Address", "To<Count>", "To<Count>", "To<handle::Datatype>"], "TypedBlocks<Count>"),
    (&["Address", "To<Count>", "To<i64>", "To<handle::Datatype>"], "TypedBlocks<i64>"),
];

/// A field of a function's arguments.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Field {
    /// The number of its first argument.
    at: usize,
    /// `name: type`; where arguments stand together, the name of the first.
    text: String,
    /// How many arguments stand together.
    words: usize,
}

/// The fields of a function's arguments. Of a variable number of arguments those with names are enough.
fn fields(function: &Function) -> Vec<Field> {
    let named = function.parameters.iter().filter(|parameter| parameter.name != "...");
    let named: Vec<(&str, String)> =
        named.map(|parameter| (parameter.name.as_str(), kind(parameter))).collect();
    let mut fields = Vec::new();
    let mut at = 0;
    while let Some((name, kind)) = named.get(at) {
        let begins = |kinds: &[&str]| {
            named[at..]
                .iter()
                .map(|(_, kind)| kind.as_str())
                .take(kinds.len())
                .eq(kinds.iter().copied())
        };
        let together = TOGETHER.iter().find(|(kinds, _)| begins(kinds));
        let (kind, words) =
            together.map_or((kind.as_str(), 1), |(kinds, kind)| (*kind, kinds.len()));
        // What stands together has the name of the first argument without what is the first's alone.
        let name = match words {
            1 => name,
            _ => name.trim_end_matches("_rank").trim_end_matches("_addr"),
        };
        fields.push(Field { at, text: format!("{name}: {kind}"), words });
        at += words;
    }
    fields
}

/// The functions of the table, each with the fields of its arguments.
fn rows() -> Vec<(Function, Vec<Field>)> {
    listed().map(|function| (function.clone(), fields(&function))).collect()
}

/// The type of a function's arguments; `None` of a function without any. Where the function has those of its blocking
/// form and makes a request besides, it is made of theirs: `WithRequest<Send>` of `Isend` and of `Send_init`.
fn whole(function: &Function, own: &[Field], rows: &[(Function, Vec<Field>)]) -> Option<String> {
    let name = &function.name;
    let is_blocking = |other: &str| {
        name.strip_suffix("_init") == Some(other) || name[1..].eq_ignore_ascii_case(other)
    };
    for (other, fields) in rows.iter().filter(|(other, _)| is_blocking(&other.name)) {
        match own.strip_prefix(&fields[..]) {
            Some([last]) if last.text == REQUEST => {
                return Some(format!("WithRequest<{}>", other.name));
            }
            Some([first, last]) if first.text == INFO && last.text == REQUEST => {
                return Some(format!("WithInfo<{}>", other.name));
            }
            Some(_) | None => {}
        }
    }
    (!own.is_empty()).then(|| name.clone())
}

/// Handles, and the structures of arguments: functions whose arguments are the same share one, which has the shortest
/// of their names.
pub(crate) fn arguments() -> String {
    let handles: Vec<String> = HANDLES.iter().map(|handle| camel(handle)).collect();
    let mut text = format!("handles! {{ {} }}\n", handles.join(" "));
    let rows = rows();
    let mut alike: BTreeMap<&[Field], Vec<&str>> = BTreeMap::new();
    for (function, fields) in &rows {
        if whole(function, fields, &rows).as_ref() == Some(&function.name) {
            alike.entry(fields).or_default().push(&function.name);
        }
    }
    for (fields, mut names) in alike {
        names.sort_by_key(|name| (name.len(), *name));
        let count = fields.last().map_or(0, |last| last.at + last.words);
        let numbered = fields.iter().map(|Field { at, text, .. }| format!("{at} {text}"));
        let numbered = numbered.collect::<Vec<_>>().join(", ");
        let (first, others) = names.split_first().expect("a function has these arguments");
        line(&mut text, format_args!("arguments! {{ {first} {count} {numbered} }}"));
        for other in others {
            line(&mut text, format_args!("same! {{ {other} {first} }}"));
        }
    }
    text
}

/// The calls of each family that takes arguments.
pub(crate) fn calls() -> String {
    let rows = rows();
    let mut families: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (function, fields) in rows.iter().filter(|(function, _)| function.family != REFUSED) {
        let whole = whole(function, fields, &rows).map(|whole| format!("({whole})"));
        let variant = format!("{}{}", function.name, whole.unwrap_or_default());
        families.entry(function.family).or_default().push(variant);
    }
    let mut text = String::new();
    for (family, variants) in families {
        let (name, variants) = (camel(family), variants.join(", "));
        line(&mut text, format_args!("calls! {{ {name} \"{family}\" {variants} }}"));
    }
    text
}

/// The function that hands a call to its family.
pub(crate) fn dispatch() -> String {
    let mut text = String::from(
        "/// Hands a call, with its arguments, to the family of its function.\n\
         fn dispatch(state: &mut RankState, frame: &mut Frame<'_>) -> Answer {\n    \
         use crate::functions::Function as F;\n    match frame.function {\n",
    );
    let mut refused = Vec::new();
    for (function, fields) in rows() {
        let Function { name, family, .. } = &function;
        // A twin has the arguments of its function, and is named by it: see `Function::base`.
        let twin = function.twin().map(|twin| format!(" | F::{}", twin.name));
        let both = format!("F::{name}{}", twin.unwrap_or_default());
        if *family == REFUSED {
            refused.push(both);
            continue;
        }
        let (file, family) = (family.replace('/', "::"), camel(family));
        let of = if fields.is_empty() { "" } else { "(frame.arguments())" };
        let call = format!("{file}::call(state, frame, families::{family}::{name}{of})");
        line(&mut text, format_args!("        {both} => {call},"));
    }
    line(&mut text, format_args!("        {} => {REFUSED}::call(),", refused.join(" | ")));
    text.push_str("    }\n}\n");
    text
}

/// The enum of the families, and the family of each function.
pub(crate) fn families() -> String {
    let all = functions();
    let names: BTreeSet<&str> = all.iter().map(|function| function.family).collect();
    let mut text = String::from(
        "\n/// A family of functions, which answers their calls.\n\
         #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]\npub enum Family {\n",
    );
    for family in names {
        line(&mut text, format_args!("    /// `mpi/calls/{family}.rs`.\n    {},", camel(family)));
    }
    text.push_str(
        "}\n\nimpl Function {\n    /// The family that answers its calls.\n    \
         pub const fn family(self) -> Family {\n        FAMILIES[self as usize]\n    }\n}\n\n",
    );
    line(&mut text, format_args!("const FAMILIES: [Family; {}] = [", all.len()));
    for function in all {
        line(&mut text, format_args!("    Family::{},", camel(function.family)));
    }
    text.push_str("];\n");
    text
}
