//! A datatype as a scenario or a vector file writes it: a tree of objects that name their kind.
//!
//! ```json
//! { "kind": "vector", "count": 3, "blocklength": 2, "stride": 5,
//!   "child": { "kind": "named", "name": "double" } }
//! ```

use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics};
use form::json::Node;
use form::shape::check::check;
use form::shape::{Shape, default, required, variant};
use mpi::datatype::{Datatype, Order, Primitive};

/// A datatype.
pub static DATATYPE: Shape = Shape::Defined { name: "datatype", shape: &TREE };

/// The most entries of a list.
/// Limit: a longer list is refused.
const ENTRIES: usize = 1 << 20;

static COUNT: Shape = Shape::Count { min: 0, max: i64::MAX as u64 };
static SIGNED: Shape = Shape::Integer { min: i64::MIN, max: i64::MAX };
static SOME: Shape = form::fields::bytes(1, 1 << 50);
static APART: Shape = Shape::Count { min: 1, max: 1 << 20 };
static COUNTS: Shape = Shape::List { of: &COUNT, min: 0, max: ENTRIES };
static NUMBERS: Shape = Shape::List { of: &SIGNED, min: 0, max: ENTRIES };
static CHILDREN: Shape = Shape::List { of: &DATATYPE, min: 0, max: ENTRIES };
static NAME: Shape = Shape::Word(&[
    ("int8", "1 byte"),
    ("int16", "2 bytes"),
    ("int32", "4 bytes"),
    ("int64", "8 bytes"),
    ("float", "4 bytes"),
    ("double", "8 bytes"),
    ("char", "1 byte"),
    ("byte", "1 byte"),
]);
static ORDER: Shape =
    Shape::Word(&[("C", "the last index moves fastest"), ("F", "the first one does")]);

const LENGTH: &str = "Elements of a block.";
const LENGTHS: &str = "Elements of each block.";
const CHILD: &str = "What each element is.";
const CHILD_EXAMPLE: &str = r#"{ "kind": "named", "name": "double" }"#;

static TREE: Shape = Shape::Tagged {
    tag: "kind",
    variants: &[
        variant("named", &[required("name", &NAME, "\"double\"", "Which one.")], "A named type."),
        variant(
            "contiguous",
            &[
                required("count", &COUNT, "4", "How many elements."),
                required("child", &DATATYPE, CHILD_EXAMPLE, CHILD),
            ],
            "Elements one after the other.",
        ),
        variant(
            "vector",
            &[
                required("count", &COUNT, "3", "How many blocks."),
                required("blocklength", &COUNT, "2", LENGTH),
                required("stride", &SIGNED, "5", "From block to block, in extents of the child."),
                required("child", &DATATYPE, CHILD_EXAMPLE, CHILD),
            ],
            "Equal blocks at equal distances.",
        ),
        variant(
            "blocks",
            &[
                required("size", &SOME, "\"1 MiB\"", "Bytes of all blocks."),
                required("block", &SOME, "\"64 B\"", "Bytes of a block."),
                default("apart", &APART, "8", "From block to block, in lengths of a block."),
                required("child", &DATATYPE, CHILD_EXAMPLE, CHILD),
            ],
            "A vector in bytes: blocks of any length take one sweep.",
        ),
        variant(
            "hvector",
            &[
                required("count", &COUNT, "3", "How many blocks."),
                required("blocklength", &COUNT, "2", LENGTH),
                required("stride", &SIGNED, "40", "From block to block, in bytes."),
                required("child", &DATATYPE, CHILD_EXAMPLE, CHILD),
            ],
            "Equal blocks at equal distances in bytes.",
        ),
        variant(
            "indexed",
            &[
                required("blocklengths", &COUNTS, "[ 2, 1 ]", LENGTHS),
                required("displacements", &NUMBERS, "[ 0, 5 ]", "In extents of the child."),
                required("child", &DATATYPE, CHILD_EXAMPLE, CHILD),
            ],
            "Blocks of different lengths.",
        ),
        variant(
            "hindexed",
            &[
                required("blocklengths", &COUNTS, "[ 2, 1 ]", LENGTHS),
                required("displacements", &NUMBERS, "[ 0, 40 ]", "In bytes."),
                required("child", &DATATYPE, CHILD_EXAMPLE, CHILD),
            ],
            "Blocks of different lengths, placed in bytes.",
        ),
        variant(
            "indexed_block",
            &[
                required("blocklength", &COUNT, "2", LENGTH),
                required("displacements", &NUMBERS, "[ 0, 5 ]", "In extents of the child."),
                required("child", &DATATYPE, CHILD_EXAMPLE, CHILD),
            ],
            "Equal blocks anywhere.",
        ),
        variant(
            "hindexed_block",
            &[
                required("blocklength", &COUNT, "2", LENGTH),
                required("displacements", &NUMBERS, "[ 0, 40 ]", "In bytes."),
                required("child", &DATATYPE, CHILD_EXAMPLE, CHILD),
            ],
            "Equal blocks anywhere, placed in bytes.",
        ),
        variant(
            "struct",
            &[
                required("blocklengths", &COUNTS, "[ 1, 2 ]", LENGTHS),
                required("displacements", &NUMBERS, "[ 0, 8 ]", "In bytes."),
                required("children", &CHILDREN, "[ ... ]", "What the elements of each block are."),
            ],
            "Blocks of different types; without blocks a type without data.",
        ),
        variant(
            "subarray",
            &[
                required("sizes", &COUNTS, "[ 64, 64 ]", "Elements of the array."),
                required("subsizes", &COUNTS, "[ 8, 8 ]", "Elements of the part."),
                required("starts", &COUNTS, "[ 0, 4 ]", "Where the part begins."),
                required("order", &ORDER, "\"C\"", "Which index moves fastest."),
                required("child", &DATATYPE, CHILD_EXAMPLE, CHILD),
            ],
            "A box in an array.",
        ),
        variant(
            "resized",
            &[
                required("lb", &SIGNED, "0", "The lower bound, in bytes."),
                required("extent", &SIGNED, "64", "The extent, in bytes."),
                required("child", &DATATYPE, CHILD_EXAMPLE, "What it holds."),
            ],
            "A type with other bounds.",
        ),
    ],
};

const CHECKED: &str = "the tree was checked against its shape";

/// The datatype in `node`, which stands at `path`; `None` with a report where it is none.
pub fn read(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Datatype> {
    let before = diagnostics.errors();
    check(diagnostics, node, &DATATYPE, path);
    if diagnostics.errors() > before {
        return None;
    }
    decode(diagnostics, node, path)
}

/// As [`read`], of a tree that the checker has passed: what is left to report is what the types say
/// to each other.
pub fn decode(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Datatype> {
    match tree(node, path) {
        Ok(datatype) => Some(datatype),
        Err(wrong) => {
            let Wrong { node, path, error, allowed } = *wrong;
            diagnostics.push(Diagnostic::error(&codes::DATATYPE, node.span, path, error, allowed));
            None
        }
    }
}

/// A level of the tree that cannot be made.
struct Wrong<'n> {
    node: &'n Node,
    path: String,
    error: String,
    allowed: String,
}

const FITS: &str = "sizes and bounds of 64 bits and lists that fit are needed";

fn tree<'n>(node: &'n Node, path: &str) -> Result<Datatype, Box<Wrong<'n>>> {
    let child = || tree(node.get("child").expect(CHECKED), &format!("{path}.child"));
    let number = |key: &str| node.get(key).expect(CHECKED).as_integer();
    let wrong = |error: String| {
        Box::new(Wrong { node, path: path.to_owned(), error, allowed: FITS.to_owned() })
    };
    let list = |key: &str| -> Vec<i64> {
        let elements = node.get(key).and_then(Node::elements).expect(CHECKED);
        elements.iter().map(Node::as_integer).collect()
    };
    let made = match node.required_word("kind") {
        "named" => {
            let primitive = Primitive::by_name(node.required_word("name"));
            Ok(Datatype::named(primitive.expect(CHECKED)))
        }
        "contiguous" => Datatype::contiguous(number("count"), &child()?),
        "vector" => {
            Datatype::vector(number("count"), number("blocklength"), number("stride"), &child()?)
        }
        "blocks" => {
            let child = child()?;
            let [count, length, stride] = blocks(node, path, &child)?;
            Datatype::vector(count, length, stride, &child)
        }
        "hvector" => {
            Datatype::hvector(number("count"), number("blocklength"), number("stride"), &child()?)
        }
        "indexed" => Datatype::indexed(&list("blocklengths"), &list("displacements"), &child()?),
        "hindexed" => Datatype::hindexed(&list("blocklengths"), &list("displacements"), &child()?),
        "indexed_block" => {
            Datatype::indexed_block(number("blocklength"), &list("displacements"), &child()?)
        }
        "hindexed_block" => {
            Datatype::hindexed_block(number("blocklength"), &list("displacements"), &child()?)
        }
        "struct" => {
            let children = node.get("children").and_then(Node::elements).expect(CHECKED);
            let children = children.iter().enumerate();
            let children: Vec<Datatype> = children
                .map(|(index, child)| tree(child, &format!("{path}.children[{index}]")))
                .collect::<Result<_, _>>()?;
            Datatype::structure(&list("blocklengths"), &list("displacements"), &children)
        }
        "subarray" => {
            let order = if node.required_word("order") == "C" { Order::C } else { Order::Fortran };
            let (sizes, subsizes, starts) = (list("sizes"), list("subsizes"), list("starts"));
            Datatype::subarray(&sizes, &subsizes, &starts, order, &child()?)
        }
        "resized" => Datatype::resized(number("lb"), number("extent"), &child()?),
        other => unreachable!("{other} is no kind: {CHECKED}"),
    };
    made.map_err(|error| wrong(error.to_string()))
}

/// Count, length and stride of the vector that `blocks` stands for: bytes of all blocks, of each, and
/// in how many lengths of a block the next one follows.
fn blocks<'n>(node: &'n Node, path: &str, child: &Datatype) -> Result<[i64; 3], Box<Wrong<'n>>> {
    let wrong = |key: &str, error: String, allowed: String| {
        let path = format!("{path}.{key}");
        Box::new(Wrong { node: node.get(key).unwrap_or(node), path, error, allowed })
    };
    let bytes = |key: &str| node.bytes(key).expect(CHECKED).as_u64();
    let (size, block, extent) = (bytes("size"), bytes("block"), child.extent().unsigned_abs());
    if extent == 0 || !block.is_multiple_of(extent) {
        let error = format!("blocks of {block} B are no whole number of children of {extent} B");
        let allowed = if extent == 0 {
            "a child with an extent is needed".to_owned()
        } else {
            format!("whole children of {extent} B are needed")
        };
        return Err(wrong("block", error, allowed));
    }
    if !size.is_multiple_of(block) {
        let error = format!("{size} B are no whole number of blocks of {block} B");
        return Err(wrong("size", error, format!("whole blocks of {block} B are needed")));
    }
    let length = block / extent;
    let stride = length.checked_mul(node.count("apart").unwrap_or(8));
    let [count, length, stride] =
        [Some(size / block), Some(length), stride].map(|number| i64::try_from(number?).ok());
    let beyond =
        || wrong("apart", "the distance of blocks is beyond 64 bits".to_owned(), FITS.to_owned());
    let all = count.zip(length).zip(stride);
    all.map(|((count, length), stride)| [count, length, stride]).ok_or_else(beyond)
}

#[cfg(test)]
mod tests;
