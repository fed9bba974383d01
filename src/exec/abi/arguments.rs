//! The arguments of the functions of MPI, each by its name, and the family that answers a call: made of the table of
//! functions.
//!
//! | text | has |
//! |---|---|
//! | [`arguments`] | a type for each kind of handle, and a structure for each function: its fields are the parameters |
//! | [`calls`] | an enum for each family: its variants are the functions, with their arguments |
//! | [`dispatch`] | the `match` over all functions that hands a call to its family |
//! | [`families`] | the enum of the families, and the family of each function |

use std::collections::BTreeMap;

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

/// The functions that may be the blocking form of a function by their names: `Send` of `Isend` and `Send_init`.
fn blocking(name: &str) -> Vec<String> {
    let mut all = Vec::new();
    for prefix in ["I", "R"] {
        if let Some(rest) = name.strip_prefix(prefix).filter(|rest| rest.len() > 1) {
            let (first, rest) = rest.split_at(1);
            all.push(first.to_uppercase() + rest);
        }
    }
    all.extend(name.strip_suffix("_init").map(str::to_owned));
    all
}

/// The type of each function's arguments, by the function's name; `None` of a function without any.
fn types(rows: &[Function]) -> BTreeMap<&str, Option<String>> {
    let by_name: BTreeMap<&str, Vec<Field>> =
        rows.iter().map(|row| (row.name.as_str(), fields(row))).collect();
    let of = |row: &Function| {
        let own = &by_name[row.name.as_str()];
        for name in blocking(&row.name) {
            let Some(other) = by_name.get(name.as_str()).filter(|other| !other.is_empty()) else {
                continue;
            };
            match own.strip_prefix(&other[..]) {
                Some([last]) if last.text == REQUEST => {
                    return Some(format!("WithRequest<{name}>"));
                }
                Some([first, last]) if first.text == INFO && last.text == REQUEST => {
                    return Some(format!("WithInfo<{name}>"));
                }
                Some(_) | None => {}
            }
        }
        (!own.is_empty()).then(|| row.name.clone())
    };
    rows.iter().map(|row| (row.name.as_str(), of(row))).collect()
}

/// Handles, and the structures of arguments: functions whose arguments are the same share one, which has the shortest
/// of their names.
pub(crate) fn arguments() -> String {
    let rows: Vec<Function> = listed().collect();
    let mut text = String::new();
    let handles: Vec<String> = HANDLES.iter().map(|handle| camel(handle)).collect();
    line(&mut text, format_args!("handles! {{ {} }}", handles.join(" ")));
    let own = types(&rows);
    let own = rows.iter().filter(|row| own[row.name.as_str()].as_ref() == Some(&row.name));
    let mut alike: BTreeMap<Vec<Field>, Vec<&str>> = BTreeMap::new();
    for row in own {
        alike.entry(fields(row)).or_default().push(&row.name);
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

/// The functions of each family that takes arguments.
fn by_family(rows: &[Function]) -> BTreeMap<&'static str, Vec<&Function>> {
    let mut families: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for row in rows {
        families.entry(row.family).or_default().push(row);
    }
    families
}

/// The calls of each family.
pub(crate) fn calls() -> String {
    let rows: Vec<Function> = listed().collect();
    let types = types(&rows);
    let mut text = String::new();
    for (family, rows) in by_family(&rows).into_iter().filter(|(family, _)| *family != REFUSED) {
        let variants = rows.iter().map(|row| match &types[row.name.as_str()] {
            Some(kind) => format!("{}({kind})", row.name),
            None => row.name.clone(),
        });
        let variants = variants.collect::<Vec<_>>().join(", ");
        line(&mut text, format_args!("calls! {{ {} {family:?} {variants} }}", camel(family)));
    }
    text
}

/// The function that hands a call to its family.
pub(crate) fn dispatch() -> String {
    let rows: Vec<Function> = listed().collect();
    let types = types(&rows);
    let all: Vec<String> = functions().into_iter().map(|function| function.name).collect();
    let listed: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let mut text = String::from(
        "/// Hands a call, with its arguments, to the family of its function.\n\
         fn dispatch(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {\n    \
         use crate::functions::Function as F;\n    match asked.function {\n",
    );
    for row in &rows {
        let name = &row.name;
        let twin = format!("{name}_c");
        // A twin has the arguments of its function, and is named by it; see `Function::base`.
        let is_twin = all.contains(&twin) && !listed.contains(&twin.as_str());
        let both = if is_twin { format!("F::{name} | F::{twin}") } else { format!("F::{name}") };
        let (path, family) = (row.family.replace('/', "::"), camel(row.family));
        let call = match &types[name.as_str()] {
            _ if row.family == REFUSED => format!("{path}::call()"),
            Some(_) => {
                format!("{path}::call(state, asked, calls::{family}::{name}(asked.arguments()))")
            }
            None => format!("{path}::call(state, asked, calls::{family}::{name})"),
        };
        line(&mut text, format_args!("        {both} => {call},"));
    }
    text.push_str("    }\n}\n");
    text
}

/// The enum of the families, and the family of each function.
pub(crate) fn families() -> String {
    let rows: Vec<Function> = listed().collect();
    let mut text = String::from(
        "\n/// A family of functions, which answers their calls.\n\
         #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]\npub enum Family {\n",
    );
    for family in by_family(&rows).into_keys() {
        line(&mut text, format_args!("    /// `mpi/calls/{family}.rs`.\n    {},", camel(family)));
    }
    let all = functions();
    text.push_str("}\n\nimpl Function {\n    /// The family that answers its calls.\n");
    text.push_str(
        "    pub const fn family(self) -> Family {\n        FAMILIES[self as usize]\n    }\n}\n\n",
    );
    line(&mut text, format_args!("const FAMILIES: [Family; {}] = [", all.len()));
    for function in all {
        line(&mut text, format_args!("    Family::{},", camel(function.family)));
    }
    text.push_str("];\n");
    text
}
