//! Objects of a scenario as types: a key stands once, and is field, parser, default, JSON Schema and page
//! of the reference.
//!
//! [`object!`](crate::object) declares a struct whose fields are keys of an object, [`words!`](crate::words)
//! an enum whose variants are words of a field. The checker passes a tree by their [`Shape`], and then they
//! are read from it: what is left out has the default that the form states.

use super::diagnostic::Span;
use super::json::{Member, Node, Number, Value as Json};
use super::shape::{Field, Need, Shape, Variant};
use units::{Bytes, Frequency, TimeDelta};

const CHECKED: &str = "the tree was checked against its shape";

/// A field without its key.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The values that it takes.
    pub shape: &'static Shape,
    /// Whether it may be left out.
    pub need: Need,
    /// The meaning in a sentence, where the field of the struct does not say it.
    pub doc: &'static str,
}

/// A field that must be there; `example` is JSON.
pub const fn required(shape: &'static Shape, example: &'static str) -> Entry {
    Entry { shape, need: Need::Required(example), doc: "" }
}

/// A field with a default, written as in a scenario; texts stand without quotes.
pub const fn default(shape: &'static Shape, value: &'static str) -> Entry {
    Entry { shape, need: Need::Default(value), doc: "" }
}

/// A field that may be left out.
pub const fn optional(shape: &'static Shape) -> Entry {
    Entry { shape, need: Need::Optional, doc: "" }
}

/// A field that must be there where another one is not; `example` is JSON.
pub const fn alternative(shape: &'static Shape, example: &'static str) -> Entry {
    Entry { shape, need: Need::Alternative(example), doc: "" }
}

impl Entry {
    /// The same with a sentence that all forms with it share.
    #[must_use]
    pub const fn saying(self, doc: &'static str) -> Self {
        Self { doc, ..self }
    }

    /// The field under `key`; `doc` is a doc comment, or empty where the entry has a sentence of its own.
    #[must_use]
    pub const fn under(self, key: &'static str, doc: &'static str) -> Field {
        let doc = if doc.is_empty() { self.doc } else { sentence(doc) };
        Field { key, shape: self.shape, need: self.need, doc }
    }
}

/// A doc comment without the blank that it begins with.
pub const fn sentence(doc: &'static str) -> &'static str {
    match doc.as_bytes() {
        [b' ', ..] => doc.split_at(1).1,
        _ => doc,
    }
}

/// A type that a field can be read as.
pub trait Value: Sized {
    /// The value of a checked node.
    ///
    /// # Panics
    ///
    /// Where the node was not checked against the shape of its field.
    fn read(node: &Node) -> Self;

    /// The value of a field, or its default.
    ///
    /// # Panics
    ///
    /// As [`Value::read`], and where a field without a default is left out that is no [`Option`].
    fn of(node: Option<&Node>, field: &Field) -> Self {
        match node {
            Some(node) => Self::read(node),
            None => Self::read(&default_of(field)),
        }
    }
}

/// The default of a field as if it had been written.
fn default_of(field: &Field) -> Node {
    let Need::Default(text) = field.need else { panic!("{CHECKED}: `{}` is there", field.key) };
    Node::written(text)
}

impl Value for Bytes {
    fn read(node: &Node) -> Self {
        node.own_bytes()
    }
}

impl Value for TimeDelta {
    fn read(node: &Node) -> Self {
        node.own_time()
    }
}

impl Value for Frequency {
    fn read(node: &Node) -> Self {
        node.own_frequency()
    }
}

impl Value for u64 {
    fn read(node: &Node) -> Self {
        node.as_count()
    }
}

impl Value for u32 {
    fn read(node: &Node) -> Self {
        Self::try_from(node.as_count()).expect(CHECKED)
    }
}

impl Value for u16 {
    fn read(node: &Node) -> Self {
        Self::try_from(node.as_count()).expect(CHECKED)
    }
}

impl Value for bool {
    fn read(node: &Node) -> Self {
        let Json::Bool(flag) = node.value else { panic!("{CHECKED}") };
        flag
    }
}

impl Value for String {
    fn read(node: &Node) -> Self {
        node.text().expect(CHECKED).to_owned()
    }
}

/// A tree that a later step reads.
impl Value for Node {
    fn read(node: &Node) -> Self {
        node.clone()
    }
}

impl<T: Value> Value for Option<T> {
    fn read(node: &Node) -> Self {
        Some(T::read(node))
    }

    fn of(node: Option<&Node>, _: &Field) -> Self {
        node.map(T::read)
    }
}

impl<T: Value> Value for Vec<T> {
    fn read(node: &Node) -> Self {
        node.elements().expect(CHECKED).iter().map(T::read).collect()
    }
}

impl<T: Value, const N: usize> Value for [T; N] {
    fn read(node: &Node) -> Self {
        let all = node.elements().expect(CHECKED);
        assert!(all.len() == N, "{CHECKED}: a list of {N}");
        std::array::from_fn(|at| T::read(&all[at]))
    }
}

/// A decimal number, in billionths.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Billionths(pub u64);

impl Value for Billionths {
    fn read(node: &Node) -> Self {
        Self(node.as_billionths())
    }
}

/// An object that is read as a struct.
pub trait Object: Sized {
    /// Its keys.
    const FIELDS: &'static [Field];
    /// Its meaning, in a sentence.
    const ABOUT: &'static str;

    /// The object of a checked tree.
    fn read(node: &Node) -> Self;

    /// The same where it may be left out, as all its keys may.
    fn of(node: Option<&Node>) -> Self {
        node.map_or_else(|| Self::read(&Node::written_object(&[])), Self::read)
    }

    /// The object as one kind of several, under the text that tells them apart.
    fn variant(name: &'static str) -> Variant {
        Variant { name, fields: Self::FIELDS, doc: Self::ABOUT }
    }
}

impl Node {
    /// A text that an author could have written as a value, as a node: quotes are left out.
    pub fn written(text: &str) -> Self {
        let span = Span::default();
        let value = match (text, Number::parse(text)) {
            ("true", _) => Json::Bool(true),
            ("false", _) => Json::Bool(false),
            (_, Some(number)) => Json::Number(number),
            _ if text.starts_with('[') => {
                let inner = text.trim_start_matches('[').trim_end_matches(']').trim();
                let elements = inner.split(',').map(str::trim).filter(|one| !one.is_empty());
                Json::List(elements.map(|one| Self::written(one.trim_matches('"'))).collect())
            }
            _ => Json::Text(text.to_owned()),
        };
        Self { value, span }
    }

    /// An object of such texts, in their order.
    pub fn written_object(members: &[(&str, &str)]) -> Self {
        let span = Span::default();
        let member = |(key, text): &(&str, &str)| Member {
            key: (*key).to_owned(),
            key_span: span,
            node: Self::written(text),
        };
        Self { value: Json::Object(members.iter().map(member).collect()), span }
    }
}

/// A struct whose fields are the keys of an object.
///
/// ```
/// # use form::typed::{Object as _, default, required};
/// # use form::fields::SIZE;
/// # use form::json::Node;
/// # use units::Bytes;
/// form::object! {
///     /// One message.
///     pub struct Message {
///         /// Bytes of the message.
///         size: Bytes = required(&SIZE, "\"8 B\""),
///         /// Bytes before it.
///         offset: Bytes = default(&SIZE, "0 B"),
///     }
/// }
/// let message = Message::read(&Node::written_object(&[("size", "4 KiB")]));
/// assert_eq!((message.size, message.offset), (Bytes::new(4_096), Bytes::new(0)));
/// assert_eq!(Message::FIELDS[1].doc, "Bytes before it.");
/// ```
///
/// A key that is no name in Rust stands behind it: `element_type as "type"`.
#[macro_export]
macro_rules! object {
    (
        $(#[doc = $about:literal])+
        $visible:vis struct $name:ident {
            $(
                $(#[doc = $doc:literal])*
                $field:ident $(as $key:literal)? : $type:ty = $entry:expr
            ),+ $(,)?
        }
    ) => {
        $(#[doc = $about])+
        #[allow(missing_docs, reason = "the entry of a field may have its sentence")]
        #[derive(Clone, Debug, PartialEq)]
        $visible struct $name {
            $(
                $(#[doc = $doc])*
                pub $field: $type
            ),+
        }

        impl $crate::typed::Object for $name {
            const FIELDS: &'static [$crate::shape::Field] = &[
                $(
                    $crate::typed::Entry::under(
                        $entry,
                        $crate::object!(@key $field $($key)?),
                        concat!($($doc),*),
                    )
                ),+
            ];
            const ABOUT: &'static str = $crate::typed::sentence(concat!($($about),+));

            fn read(node: &$crate::json::Node) -> Self {
                let mut fields = Self::FIELDS.iter();
                let mut next = || fields.next().expect("there is a field for each key");
                $(
                    let field = next();
                    let $field = <$type as $crate::typed::Value>::of(node.get(field.key), field);
                )+
                Self { $($field),+ }
            }
        }
    };
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
}

/// An enum whose variants are the words of a field, each with its meaning.
///
/// ```
/// # use form::json::Node;
/// # use form::typed::Value as _;
/// form::words! {
///     /// Where the two processes are.
///     pub enum Between {
///         /// the two processes are on two nodes
///         Nodes = "nodes",
///         /// the two processes are on one node
///         Cores = "cores",
///     }
/// }
/// assert_eq!(Between::read(&Node::written("cores")), Between::Cores);
/// ```
#[macro_export]
macro_rules! words {
    (
        $(#[doc = $about:literal])+
        $visible:vis enum $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $variant:ident = $word:literal
            ),+ $(,)?
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        $visible enum $name {
            $(
                $(#[doc = $doc])+
                $variant
            ),+
        }

        impl $name {
            /// All of them, in the order of their words.
            #[allow(dead_code, reason = "not every field needs all its words")]
            $visible const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The words, each with its meaning.
            $visible const SHAPE: $crate::shape::Shape = $crate::shape::Shape::Word(&[
                $(($word, $crate::typed::sentence(concat!($($doc),+)))),+
            ]);

            /// The word that scenarios use.
            #[allow(dead_code, reason = "not every field tells its words")]
            $visible const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl $crate::typed::Value for $name {
            fn read(node: &$crate::json::Node) -> Self {
                match node.text() {
                    $(Some($word) => Self::$variant,)+
                    _ => panic!("the tree was checked against its shape"),
                }
            }
        }
    };
}

/// The path of a field of a workload's form; a field that does not exist does not compile.
///
/// ```
/// # use form::typed::required;
/// # use form::fields::SIZE;
/// form::object! {
///     /// One message.
///     pub struct Message {
///         /// Bytes of the message.
///         size: units::Bytes = required(&SIZE, "\"8 B\""),
///     }
/// }
/// assert_eq!(form::workload_field!(Message, size), "workload.size");
/// ```
#[macro_export]
macro_rules! workload_field {
    ($form:ty, $field:ident) => {{
        let _ = |form: &$form| {
            let _ = &form.$field;
        };
        concat!("workload.", stringify!($field))
    }};
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::{POSITIVE, SIZE};

    crate::words! {
        /// Which way.
        enum Way {
            /// there
            There = "there",
            /// and
            /// back
            Back = "back",
        }
    }

    crate::object! {
        /// A form
        /// of two lines.
        struct Whole {
            /// Bytes of
            /// each message.
            size: Bytes = required(&SIZE, "\"8 B\""),
            /// How many.
            counted as "count": u32 = default(&POSITIVE, "3"),
            /// Which way.
            way: Way = default(&Way::SHAPE, "back"),
            /// Extents.
            grid: [u32; 3] = default(&POSITIVE, "[ 0, 1, 2 ]"),
            /// Factor.
            factor: Billionths = default(&POSITIVE, "1.5"),
            /// Perhaps.
            more: Option<u64> = optional(&POSITIVE),
        }
    }

    #[test]
    fn what_is_left_out_has_the_default_of_the_form() {
        let whole = Whole::read(&Node::written_object(&[("size", "1 KiB")]));
        let expected = Whole {
            size: Bytes::new(1_024),
            counted: 3,
            way: Way::Back,
            grid: [0, 1, 2],
            factor: Billionths(1_500_000_000),
            more: None,
        };
        assert_eq!(whole, expected);
        let given = [("size", "1 B"), ("count", "7"), ("way", "there"), ("more", "2")];
        let whole = Whole::read(&Node::written_object(&given));
        assert_eq!((whole.counted, whole.way, whole.more), (7, Way::There, Some(2)));
    }

    #[test]
    fn doc_comments_are_the_sentences_of_a_form() {
        assert_eq!(Whole::ABOUT, "A form of two lines.");
        assert_eq!(Whole::FIELDS[0].doc, "Bytes of each message.");
        assert_eq!(Whole::FIELDS[1].key, "count");
        let Shape::Word(words) = Way::SHAPE else { panic!("words are needed") };
        assert_eq!(words, [("there", "there"), ("back", "and back")]);
    }
}
