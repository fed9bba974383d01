//! The binary interface of MPI 5.0 (its chapter 20): the tables in `abi/`, and what is made of them.
//!
//! Everything that knows a signature or a constant comes from here: the header that programs are compiled
//! with, the functions of the library that they link, and the numbers by which library and simulator name
//! a function.

use std::fmt::Write;

const FUNCTIONS: &str = include_str!("abi/functions.txt");
const CALLBACKS: &str = include_str!("abi/callbacks.txt");
const CONSTANTS: &str = include_str!("abi/constants.txt");

/// Handles: in C, pointers to structures that are never defined.
pub(crate) const HANDLES: [&str; 17] = [
    "Comm",
    "Datatype",
    "Errhandler",
    "File",
    "Group",
    "Info",
    "Message",
    "Op",
    "Request",
    "Session",
    "Win",
    "T_enum",
    "T_cvar_handle",
    "T_pvar_handle",
    "T_pvar_session",
    "T_event_registration",
    "T_event_instance",
];
/// Types of ABI 5.0 that are enumerations in C.
pub(crate) const ENUMERATIONS: [&str; 2] = ["T_cb_safety", "T_source_order"];

/// One parameter of a function, as C has it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Parameter {
    /// The type before the name, without `MPI_`: `const void *`.
    pub(crate) kind: String,
    /// The name; `...` has none.
    pub(crate) name: String,
    /// Suffix of the name of an array: `[]`.
    pub(crate) array: String,
}

/// One function, or the type of a callback.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Function {
    /// The family that answers its calls: a file below `mpi/calls`. A callback has none.
    pub(crate) family: &'static str,
    /// Type of the result.
    pub(crate) result: String,
    /// The name without `MPI_`.
    pub(crate) name: String,
    /// Its parameters.
    pub(crate) parameters: Vec<Parameter>,
}

/// How a parameter or a result travels in a word of 64 bits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Word {
    /// A pointer or a handle.
    Pointer,
    /// A C `int`.
    Int,
    /// `MPI_Aint`, `MPI_Count`, `MPI_Offset`.
    Long,
    /// A `double`, by its bits.
    Double,
}

impl Word {
    /// The type in Rust.
    pub(crate) const fn rust(self) -> &'static str {
        match self {
            Self::Pointer => "usize",
            Self::Int => "i32",
            Self::Long => "i64",
            Self::Double => "f64",
        }
    }
}

impl Parameter {
    /// # Panics
    ///
    /// When the text is no parameter.
    fn read(text: &str) -> Self {
        let (text, array) = text.split_at(text.find('[').unwrap_or(text.len()));
        let start = text.rfind([' ', '*']).map_or(0, |at| at + 1);
        let (kind, name) = text.split_at(start);
        assert!(name == "..." || !kind.is_empty(), "`{text}` is no parameter");
        Self { kind: kind.trim_end().to_owned(), name: name.to_owned(), array: array.to_owned() }
    }

    /// How it travels.
    pub(crate) fn word(&self) -> Word {
        let kind = self.kind.trim_start_matches("const ");
        if self.kind.contains('*') || !self.array.is_empty() { Word::Pointer } else { word(kind) }
    }

    /// Whether it is an address, or may be one as a number.
    fn is_address(&self) -> bool {
        self.kind.contains('*') || !self.array.is_empty() || ["Aint", "A"].contains(&&*self.kind)
    }

    fn in_c(&self) -> String {
        let blank = if self.kind.ends_with('*') || self.kind.is_empty() { "" } else { " " };
        format!("{}{blank}{}{}", kind_in_c(&self.kind), self.name, self.array)
    }

    /// The parameter of the function for large counts.
    fn large(&self) -> Self {
        let words = self.kind.split(' ').map(|word| match word {
            "N" | "A" => "Count",
            "D" => "Aint",
            other => other,
        });
        Self { kind: words.collect::<Vec<_>>().join(" "), ..self.clone() }
    }

    fn small(&self) -> Self {
        let words = self.kind.split(' ').map(|word| match word {
            "N" | "D" => "int",
            "A" => "Aint",
            other => other,
        });
        Self { kind: words.collect::<Vec<_>>().join(" "), ..self.clone() }
    }
}

fn word(kind: &str) -> Word {
    match kind {
        "double" => Word::Double,
        "int" => Word::Int,
        "Aint" | "Count" | "Offset" => Word::Long,
        enumeration if ENUMERATIONS.contains(&enumeration) => Word::Int,
        _handle => Word::Pointer,
    }
}

/// A type as the header spells it: all that C does not know has the prefix.
fn kind_in_c(kind: &str) -> String {
    let words = kind.split(' ').map(|word| {
        let name = word.trim_start_matches('*');
        let is_c = ["const", "void", "char", "int", "double", ""].contains(&word.trim_matches('*'));
        if is_c || name.is_empty() { word.to_owned() } else { format!("MPI_{word}") }
    });
    words.collect::<Vec<_>>().join(" ")
}

impl Function {
    /// # Panics
    ///
    /// When the line is no function.
    fn read(line: &str) -> Self {
        let (head, rest) =
            line.split_once('(').unwrap_or_else(|| panic!("`{line}` has no parameters"));
        let inner = rest.strip_suffix(')').unwrap_or_else(|| panic!("`{line}` is not closed"));
        let (result, name) = head.rsplit_once(' ').unwrap_or(("int", head));
        let parameters = inner.split(", ").filter(|text| !text.is_empty()).map(Parameter::read);
        let (result, name, parameters) = (result.to_owned(), name.to_owned(), parameters.collect());
        Self { family: "", result, name, parameters }
    }

    /// A line of the table of functions: the family comes first.
    ///
    /// # Panics
    ///
    /// When the line is no function of a family.
    fn listed(line: &'static str) -> Self {
        let (family, rest) =
            line.split_once(' ').unwrap_or_else(|| panic!("`{line}` has no family"));
        Self { family, ..Self::read(rest.trim_start()) }
    }

    fn small(&self) -> Self {
        Self { parameters: self.parameters.iter().map(Parameter::small).collect(), ..self.clone() }
    }

    /// The function for large counts, where this one has counts.
    pub(crate) fn twin(&self) -> Option<Self> {
        let parameters = self.parameters.iter().map(Parameter::large).collect();
        let name = format!("{}_c", self.name);
        (self.small().parameters != parameters).then(|| Self { name, parameters, ..self.clone() })
    }

    /// How its result travels.
    pub(crate) fn word(&self) -> Word {
        word(&self.result)
    }

    fn in_c(&self, prefix: &str) -> String {
        let parameters: Vec<String> = self.parameters.iter().map(Parameter::in_c).collect();
        let parameters =
            if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
        format!("{} {prefix}MPI_{}({parameters});", kind_in_c(&self.result), self.name)
    }
}

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The functions of the table, as it has their parameters: a twin for large counts is none of its own.
pub(crate) fn listed() -> impl Iterator<Item = Function> {
    lines(FUNCTIONS).map(Function::listed)
}

/// All functions, those for large counts behind their twins. The place in the list is the function's number.
pub(crate) fn functions() -> Vec<Function> {
    listed().flat_map(|function| [Some(function.small()), function.twin()]).flatten().collect()
}

/// Name without `MPI_` and value of each constant, and its type; another name's type is `as`.
pub(crate) fn constants() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    lines(CONSTANTS).map(|line| {
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap_or_else(|| panic!("`{line}` is no constant"));
        (word(), word(), word())
    })
}

/// The text of `mpi.h`.
pub(crate) fn header() -> String {
    let mut text = String::from(
        "/* MPI 5.0 with its standard binary interface, made by mpisim from its table of functions. */\n\
         #ifndef MPISIM_MPI_H\n#define MPISIM_MPI_H\n\n#include <stdint.h>\n\n\
         #ifdef __cplusplus\nextern \"C\" {\n#endif\n\n\
         typedef intptr_t MPI_Aint;\ntypedef int64_t MPI_Offset;\ntypedef int64_t MPI_Count;\n\
         typedef struct MPI_Status {\n    int MPI_SOURCE;\n    int MPI_TAG;\n    int MPI_ERROR;\n    \
         int MPI_internal[5];\n} MPI_Status;\n",
    );
    for handle in HANDLES {
        line(&mut text, format_args!("typedef struct MPI_ABI_{handle} *MPI_{handle};"));
    }
    for kind in ENUMERATIONS {
        line(&mut text, format_args!("typedef enum MPI_{kind} {{"));
        for (_, name, value) in constants().filter(|(its, ..)| *its == kind) {
            line(&mut text, format_args!("    MPI_{name} = {value},"));
        }
        line(&mut text, format_args!("}} MPI_{kind};"));
    }
    text.push('\n');
    for callback in lines(CALLBACKS).map(Function::read) {
        let parameters: Vec<String> = callback.parameters.iter().map(Parameter::in_c).collect();
        let (result, name) = (&callback.result, &callback.name);
        line(&mut text, format_args!("typedef {result} (MPI_{name})({});", parameters.join(", ")));
    }
    for kind in ["Comm", "File", "Win", "Session"] {
        line(
            &mut text,
            format_args!("typedef MPI_{kind}_errhandler_function MPI_{kind}_errhandler_fn;"),
        );
    }
    text.push('\n');
    for (kind, name, value) in constants().filter(|(kind, ..)| !ENUMERATIONS.contains(kind)) {
        match kind {
            "int" => line(&mut text, format_args!("#define MPI_{name} {}", bracketed(value))),
            "as" => line(&mut text, format_args!("#define MPI_{name} MPI_{value}")),
            other => {
                let kind = kind_in_c(&other.replace('*', " *"));
                line(&mut text, format_args!("#define MPI_{name} (({kind}){value})"));
            }
        }
    }
    for prefix in ["", "P"] {
        text.push('\n');
        for function in functions() {
            line(&mut text, format_args!("{}", function.in_c(prefix)));
        }
    }
    text.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    text
}

/// A negative number in brackets, so that it can stand anywhere.
fn bracketed(value: &str) -> String {
    if value.starts_with('-') { format!("({value})") } else { value.to_owned() }
}

pub(crate) fn line(text: &mut String, what: std::fmt::Arguments<'_>) {
    writeln!(text, "{what}").expect("a string takes all text");
}

/// The functions of the library, as calls of its macro `mpi!`.
pub(crate) fn client() -> String {
    let mut text = String::new();
    for (number, function) in functions().iter().enumerate() {
        // Of a variable number of arguments those with names are enough.
        let named = function.parameters.iter().filter(|parameter| parameter.name != "...");
        let words =
            named.enumerate().map(|(at, parameter)| format!("a{at}: {}", parameter.word().rust()));
        let words = words.collect::<Vec<_>>().join(", ");
        let (name, result) = (&function.name, function.word().rust());
        line(
            &mut text,
            format_args!("mpi! {{ {number} MPI_{name} PMPI_{name} ({words}) {result} }}"),
        );
    }
    text
}

/// Whether a function is the twin of another one, which takes the same arguments in the same order: those with large
/// counts that the table lists itself have others.
fn is_twin(name: &str, other: &str) -> bool {
    let listed = |line: &str| line.contains(&format!(" {name}("));
    name.strip_suffix("_c") == Some(other) && !lines(FUNCTIONS).any(listed)
}

/// An enum of all functions, in the order of their numbers.
pub(crate) fn numbers() -> String {
    let mut text = String::from(
        "/// A function of MPI 5.0.\n#[allow(missing_docs, non_camel_case_types, reason = \"as MPI names them\")]\n\
         #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]\n#[repr(u16)]\npub enum Function {\n",
    );
    let names: Vec<String> = functions().into_iter().map(|function| function.name).collect();
    for name in &names {
        line(&mut text, format_args!("    {name},"));
    }
    text.push_str("}\n\nimpl Function {\n    /// All, in the order of their numbers.\n");
    line(&mut text, format_args!("    pub const ALL: [Self; {}] = [", names.len()));
    for name in &names {
        line(&mut text, format_args!("        Self::{name},"));
    }
    text.push_str("    ];\n\n    /// The name of the function.\n    pub const fn name(self) -> &'static str {\n        match self {\n");
    for name in &names {
        line(&mut text, format_args!("            Self::{name} => \"MPI_{name}\","));
    }
    text.push_str("        }\n    }\n\n    /// The function without large counts, and whether this is its form with them.\n");
    text.push_str(
        "    #[allow(clippy::wildcard_enum_match_arm, reason = \"all others have no twin\")]\n",
    );
    text.push_str("    pub const fn base(self) -> (Self, bool) {\n        match self {\n");
    for pair in names.windows(2).filter(|pair| is_twin(&pair[1], &pair[0])) {
        line(
            &mut text,
            format_args!("            Self::{} => (Self::{}, true),", pair[1], pair[0]),
        );
    }
    text.push_str("            other => (other, false),\n        }\n    }\n\n");
    text.push_str("    /// Which arguments are addresses, the first one the lowest bit.\n    pub const fn addresses(self) -> u16 {\n        ADDRESSES[self as usize]\n    }\n}\n\n");
    line(&mut text, format_args!("const ADDRESSES: [u16; {}] = [", names.len()));
    for function in functions() {
        let all = function.parameters.iter().enumerate();
        let bits = all.filter(|(_, parameter)| parameter.is_address());
        let bits = bits.fold(0_u16, |bits, (at, _)| bits | 1 << at);
        line(&mut text, format_args!("    {bits:#x},"));
    }
    text.push_str("];\n\n");
    for (kind, name, value) in constants() {
        // No name of Rust begins with a digit.
        let name =
            name.strip_prefix('2').map_or_else(|| name.to_owned(), |rest| format!("TWO_{rest}"));
        if kind == "int" {
            line(&mut text, format_args!("/// `MPI_{name}`.\npub const {name}: i32 = {value};"));
        } else if kind != "as" && !ENUMERATIONS.contains(&kind) {
            line(
                &mut text,
                format_args!(
                    "/// `MPI_{name}`.\npub const {name}: u64 = ({value}_i64).cast_unsigned();"
                ),
            );
        }
    }
    text
}
