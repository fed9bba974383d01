//! Buffers with a name: statements use them again, `store` writes numbers into them, and `load` compares and
//! keeps them.

use std::sync::Arc;

use super::reader::Item;
use super::statement::{Statement, Work};
use crate::collectives::element_type;
use crate::program::Does;
use crate::program::access::{Access, Content, Memory, Touch};
use form::codes;
use form::diagnostic::{Diagnostic, Span};
use form::expression::{Expression, Type, text_of};
use form::json::{Node, Value};
use mpi::operator::Datatype;

/// The memory that a `store` or a `load` is about.
fn accessed(item: &mut Item<'_, '_, '_>) -> Option<Memory> {
    let has = |key: &str| item.node.get(key).is_some();
    let (buffer, window) = (has("buf"), has("win"));
    if window {
        if buffer {
            let found = "both `buf` and `win`";
            item.refuse(&codes::CONTRADICTION, "win", found, "one of them is needed");
        }
        return item.memory();
    }
    if !buffer {
        let found = "the key `buf` is missing";
        item.refuse(&codes::MISSING_KEY, "buf", found, "`buf` or `win` is needed");
    }
    item.named_buffer("buf").map(Memory::Region)
}

/// The steps of a `store` or a `load`, one for each number.
pub(super) fn steps(
    item: &mut Item<'_, '_, '_>,
    op: &str,
    out: &mut Vec<Statement>,
    (line, column): (usize, usize),
) {
    let (node, path) = (item.node, item.path);
    let Some(memory) = accessed(item) else { return };
    let (number, numbers) = element_type(node).numbers();
    let at = match node.get("at") {
        Some(_) => item.reader.value(node, "at", Some(Type::Integer), path),
        None => Some(Expression::constant(0)),
    };
    let Some(at) = at else { return };
    let of_step = |behind: usize, touch: Touch| {
        let numbers = i64::try_from(numbers).expect("an element has one or two");
        let behind = i64::try_from(behind).expect("the shape limits the values");
        let memory = memory.clone();
        let access = Access { memory, number, at: at.clone(), numbers, behind, touch };
        Statement { work: Work::Does(Does::Access(Arc::new(access))), line, column, extras: None }
    };
    let expect = node.get("expect").and_then(|expect| expect.get("values"));
    let (values, key) = match op {
        "store" => (node.get("values"), "values"),
        _ => (expect, "expect.values"),
    };
    let values = values.and_then(Node::elements).unwrap_or(&[]);
    let mut contents = Vec::with_capacity(values.len());
    for (index, value) in values.iter().enumerate() {
        contents.extend(content(item, number, value, &format!("{path}.{key}[{index}]")));
    }
    if op == "store" {
        out.extend(
            contents
                .into_iter()
                .enumerate()
                .map(|(behind, content)| of_step(behind, Touch::Store(content))),
        );
        return;
    }
    let mut into = kept_number(item, number);
    if contents.is_empty() {
        out.push(of_step(0, Touch::Load { expected: None, into }));
    }
    out.extend(contents.into_iter().enumerate().map(|(behind, content)| {
        of_step(behind, Touch::Load { expected: Some(content), into: into.take() })
    }));
}

/// The variable that keeps a number.
fn kept_number(item: &mut Item<'_, '_, '_>, number: Datatype) -> Option<usize> {
    let (node, path) = (item.node, item.path);
    let name = node.get("into").and_then(|into| into.get("value"))?;
    let at = format!("{path}.into.value");
    if !number.is_integer() {
        let found = format!("a variable of a `{}`", number.name());
        wrong_number(item, name.span, at, found, "variables are whole numbers".to_owned());
        return None;
    }
    Some(item.reader.variable(name, Type::Integer, &at))
}

/// A number of a type: a whole one, one that only the type holds, or an expression.
fn content(
    item: &mut Item<'_, '_, '_>,
    number: Datatype,
    node: &Node,
    path: &str,
) -> Option<Content> {
    if text_of(node).is_some() {
        return item.reader.typed(node, path, Type::Integer).map(Content::Whole);
    }
    let Value::Number(written) = &node.value else {
        let allowed = "a number or an expression is needed".to_owned();
        wrong_number(item, node.span, path.to_owned(), node.kind().to_owned(), allowed);
        return None;
    };
    let text = written.text();
    let (least, most) = number.range();
    let whole = text.parse::<i64>().ok().filter(|whole| (least..=most).contains(whole));
    if let Some(whole) = whole {
        return Some(Content::Whole(Expression::constant(whole)));
    }
    let bits = number.bits_of_text(text);
    if bits.is_none() {
        let allowed = format!("a `{}` is {}", number.name(), number.numbers_in_words());
        wrong_number(item, node.span, path.to_owned(), format!("found {text}"), allowed);
    }
    bits.map(Content::Bits)
}

fn wrong_number(
    item: &mut Item<'_, '_, '_>,
    span: Span,
    path: String,
    found: String,
    allowed: String,
) {
    item.reader.report(Diagnostic::error(&codes::RANGE, span, path, found, allowed));
}
