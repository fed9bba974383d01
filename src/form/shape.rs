//! Shapes: tables of the keys of an object and of the values that each field takes.
//!
//! One table serves four readers, so that they cannot drift apart: the checker (`check`), which
//! reports all mistakes of a file at once; the look-up of dotted paths for `--set`, sweeps and
//! claims (`path`); the JSON Schema (`export`); and the pages of `docs/reference/`.

use crate::diagnostic::Diagnostics;
use crate::json::Node;
use units::Dimension;

pub mod check;
pub mod export;
pub mod path;
pub mod read;
pub mod steps;

/// The values that a field takes.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// A text with number and unit, `min` to `max` in smallest steps.
    Quantity {
        /// Its dimension.
        dimension: Dimension,
        /// The least value, in smallest steps.
        min: u64,
        /// The greatest value, in smallest steps.
        max: u64,
    },
    /// A whole number.
    Count {
        /// The least value.
        min: u64,
        /// The greatest value.
        max: u64,
    },
    /// A whole number that may be negative.
    Integer {
        /// The least value.
        min: i64,
        /// The greatest value.
        max: i64,
    },
    /// A plain decimal number of at most nine decimals, `min` to `max` in billionths.
    Ratio {
        /// The least value, in billionths.
        min: u64,
        /// The greatest value, in billionths.
        max: u64,
    },
    /// A text for people, at most so many characters long.
    Text(usize),
    /// A text that a program gets as it is, at most so many characters long: all but U+0000 are allowed.
    Verbatim(usize),
    /// A name: letters, digits and `. _ / + -`, no path upwards.
    Name,
    /// A dotted path of a swept field.
    Path,
    /// `"10 %"`, or `"x2"` for a factor.
    Tolerance,
    /// One of some words, each with its meaning.
    Word(&'static [(&'static str, &'static str)]),
    /// `true` or `false`.
    Flag,
    /// Any text, number or boolean: the field that it is for decides.
    Scalar,
    /// A list.
    List {
        /// The values that each element takes.
        of: &'static Self,
        /// The least number of elements.
        min: usize,
        /// The greatest number of elements.
        max: usize,
    },
    /// An object with fixed keys.
    Object(&'static [Field]),
    /// An object whose text under `tag` says which further keys it has.
    Tagged {
        /// The key that tells the variants apart.
        tag: &'static str,
        /// The variants, named by the text under `tag`.
        variants: &'static [Variant],
    },
    /// An object which holds exactly one of some keys; that one says which others it has.
    Keyed(&'static [Variant]),
    /// An object whose keys are paths of fields.
    Paths(&'static Self),
    /// One of several shapes, distinguished by the JSON type.
    Either(&'static [Self]),
    /// The name of a machine model, or an object with parameters of one.
    Machine(&'static OwnForm),
    /// A value of a shape, or a text that begins with `=` and goes on with an
    /// [`Expression`](crate::expression::Expression) of it.
    Expression(&'static Self),
    /// A shape that may hold itself.
    Defined {
        /// Its name in schemas.
        name: &'static str,
        /// The shape that has this name.
        shape: &'static Self,
    },
}

/// A form that is checked and described by functions of its own.
#[derive(Clone, Copy, Debug)]
pub struct OwnForm {
    /// Reports everything in a node that does not fit; the text is the path of the node.
    pub check: fn(&mut Diagnostics, &Node, &str),
    /// Its JSON Schema.
    pub schema: fn() -> serde_json::Value,
}

/// One key of an object.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The key.
    pub key: &'static str,
    /// The values that it takes.
    pub shape: &'static Shape,
    /// Whether it may be left out.
    pub need: Need,
    /// Its meaning, in a sentence.
    pub doc: &'static str,
}

/// Whether a key may be left out.
#[derive(Clone, Copy, Debug)]
pub enum Need {
    /// It must be there; an example of its JSON text.
    Required(&'static str),
    /// It may be left out; the default, in words or as a value.
    Default(&'static str),
    /// It may be left out, and nothing holds then.
    Optional,
    /// It or another key must be there, which the reader checks; an example of its JSON text.
    Alternative(&'static str),
}

/// One kind of a tagged object.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// The text under the tag, or the key that tells.
    pub name: &'static str,
    /// Its further keys.
    pub fields: &'static [Field],
    /// Its meaning, in a sentence.
    pub doc: &'static str,
}

/// The key that every object may have.
pub const NOTE: Field = Field {
    key: "note",
    shape: &Shape::Either(&[
        Shape::Text(10_000),
        Shape::List { of: &Shape::Text(1_000), min: 1, max: 200 },
    ]),
    need: Need::Optional,
    doc: "Any text, or a list of its lines.",
};

/// A required key.
pub const fn required(
    key: &'static str,
    shape: &'static Shape,
    example: &'static str,
    doc: &'static str,
) -> Field {
    Field { key, shape, need: Need::Required(example), doc }
}

/// A key with a default.
pub const fn default(
    key: &'static str,
    shape: &'static Shape,
    value: &'static str,
    doc: &'static str,
) -> Field {
    Field { key, shape, need: Need::Default(value), doc }
}

/// A key that may be left out.
pub const fn optional(key: &'static str, shape: &'static Shape, doc: &'static str) -> Field {
    Field { key, shape, need: Need::Optional, doc }
}

/// One kind of a tagged object.
pub const fn variant(name: &'static str, fields: &'static [Field], doc: &'static str) -> Variant {
    Variant { name, fields, doc }
}

/// Two lists of kinds or of fields, one after the other.
///
/// # Panics
///
/// When the result has not room for exactly both.
pub const fn joined<T: Copy, const N: usize>(first: &[T], then: &[T]) -> [T; N] {
    assert!(first.len() + then.len() == N, "both lists fill the result");
    let mut all = [first[0]; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < first.len() { first[at] } else { then[at - first.len()] };
        at += 1;
    }
    all
}

impl Shape {
    /// The values that the field takes, in words, for messages.
    pub fn in_words(&self) -> String {
        match self {
            Self::Quantity { dimension, .. } => {
                format!("{} with its unit", dimension.in_words())
            }
            Self::Count { .. } | Self::Integer { .. } => "a whole number".to_owned(),
            Self::Ratio { .. } => "a plain number".to_owned(),
            Self::Text(_) | Self::Verbatim(_) => "a text".to_owned(),
            Self::Name => "a name".to_owned(),
            Self::Path => "the path of a field such as \"workload.size\"".to_owned(),
            Self::Tolerance => "a tolerance such as \"10 %\" or \"x2\"".to_owned(),
            Self::Word(words) => {
                let all: Vec<String> =
                    words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
                format!("one of {}", all.join(", "))
            }
            Self::Flag => "true or false".to_owned(),
            Self::Scalar => "a text, a number or a boolean".to_owned(),
            Self::List { .. } => "a list".to_owned(),
            Self::Object(_) | Self::Tagged { .. } | Self::Keyed(_) | Self::Paths(_) => {
                "an object".to_owned()
            }
            Self::Either(shapes) => {
                let all: Vec<String> = shapes.iter().map(Self::in_words).collect();
                all.join(", or ")
            }
            Self::Machine(_) => "the name of a machine model, or an object".to_owned(),
            Self::Expression(shape) => format!("{} or an expression", shape.in_words()),
            Self::Defined { shape, .. } => shape.in_words(),
        }
    }

    /// Whether a field of this shape can be set to one value.
    pub fn is_single(&self) -> bool {
        match self {
            Self::List { .. }
            | Self::Object(_)
            | Self::Tagged { .. }
            | Self::Keyed(_)
            | Self::Paths(_) => false,
            Self::Either(shapes) => shapes.iter().any(Self::is_single),
            Self::Expression(shape) | Self::Defined { shape, .. } => shape.is_single(),
            Self::Quantity { .. }
            | Self::Count { .. }
            | Self::Integer { .. }
            | Self::Ratio { .. }
            | Self::Text(_)
            | Self::Verbatim(_)
            | Self::Name
            | Self::Path
            | Self::Tolerance
            | Self::Word(_)
            | Self::Flag
            | Self::Scalar
            | Self::Machine(_) => true,
        }
    }
}

impl Shape {
    /// Whether it takes this word among a few.
    pub fn takes_word(&self, word: &str) -> bool {
        match self {
            Self::Word(words) => words.iter().any(|(known, _)| *known == word),
            Self::Either(shapes) => shapes.iter().any(|shape| shape.takes_word(word)),
            Self::Expression(shape) | Self::Defined { shape, .. } => shape.takes_word(word),
            Self::List { .. }
            | Self::Object(_)
            | Self::Tagged { .. }
            | Self::Keyed(_)
            | Self::Paths(_)
            | Self::Quantity { .. }
            | Self::Count { .. }
            | Self::Integer { .. }
            | Self::Ratio { .. }
            | Self::Text(_)
            | Self::Verbatim(_)
            | Self::Name
            | Self::Path
            | Self::Tolerance
            | Self::Flag
            | Self::Scalar
            | Self::Machine(_) => false,
        }
    }
}

/// The candidate that differs least from `found`, if one is near.
pub fn nearest<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = found.to_lowercase();
    let length = lower.chars().count();
    let most = |word: &str| word.len().max(found.len()).div_ceil(3);
    candidates
        .into_iter()
        .map(|word| (word.to_lowercase(), word))
        // Words differ by their lengths at least: a long text is not compared with all of them.
        .filter(|(candidate, word)| candidate.chars().count().abs_diff(length) <= most(word))
        .map(|(candidate, word)| (strsim::damerau_levenshtein(&lower, &candidate), word))
        .filter(|(distance, word)| *distance <= most(word))
        // Of words that are as near, one that goes on as `found` begins.
        .min_by_key(|(distance, word)| (*distance, !word.to_lowercase().starts_with(&lower)))
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_near_or_none() {
        let words = ["senders_per_node", "size", "window"];
        assert_eq!(nearest("sender_per_node", words), Some("senders_per_node"));
        assert_eq!(nearest("Size", words), Some("size"));
        assert_eq!(nearest("colour", words), None);
        assert_eq!(nearest("node", ["note", "nodes"]), Some("nodes"));
    }
}
