//! Keys of statements whose values are expressions, requests of arrays among them, and values that statements return.

use super::reader::Reader;
use super::requests::{Arrays, BUFFERS, FIRST_BUFFER};
use crate::program::computed::{Computed, Members, Part, Range};
use crate::program::control::NAMES;
use form::codes;
use form::diagnostic::{Diagnostic, Span, quote};
use form::expression::{Expression, Type, Variables as _, Wrong, text_of};
use form::fields::MOST_OF_ARRAY;
use form::json::{Node, Value};
use mpi::observation::ReturnValue;
use protocols::call::{Buffer, Requests};
use protocols::contract::Handle;

const VALUES: [ReturnValue; 10] = [
    ReturnValue::Source,
    ReturnValue::Tag,
    ReturnValue::Count,
    ReturnValue::Flag,
    ReturnValue::Index,
    ReturnValue::OutCount,
    ReturnValue::Rank,
    ReturnValue::Size,
    ReturnValue::RemoteSize,
    ReturnValue::Cancelled,
];

/// The type of a value that a call returns.
const fn type_of(value: ReturnValue) -> Type {
    match value {
        ReturnValue::Flag | ReturnValue::Cancelled => Type::Truth,
        ReturnValue::Source
        | ReturnValue::Tag
        | ReturnValue::Count
        | ReturnValue::Index
        | ReturnValue::Rank
        | ReturnValue::Size
        | ReturnValue::RemoteSize
        | ReturnValue::OutCount => Type::Integer,
    }
}

impl Reader<'_> {
    /// The request of an array that `value` names; `None` where that is a plain name.
    pub(super) fn element(
        &mut self,
        value: &Node,
        path: &str,
        part: impl Fn(Members) -> Part,
    ) -> Option<Handle> {
        let members = self.array(value, path)?;
        let most = i64::try_from(MOST_OF_ARRAY - 1).expect("a small number");
        if self.computes(value, ("index", part(members)), Range::up_to(most), path) {
            return Some(Handle(members.first));
        }
        let index = value.small("index").unwrap_or(0);
        Some(Handle(members.first + index * members.stride))
    }

    /// The buffers of the operation whose request `value` names, which was read before.
    pub(super) fn buffers_of_element(&mut self, value: &Node) {
        let arrays = self.arrays.as_mut().expect("the request was read before");
        let stride = BUFFERS * arrays.statements;
        let members = Members { first: FIRST_BUFFER + BUFFERS * arrays.begun, stride };
        arrays.begun += 1;
        let most = (MOST_OF_ARRAY - 1)
            .min(u64::from(((Buffer::OWN - FIRST_BUFFER) / stride).saturating_sub(1)));
        let range = Range::up_to(i64::try_from(most).expect("a small number"));
        // The index is an expression of the request, or a number.
        let computed = &mut self.scope.extras.computed;
        let request = computed.last().filter(|one| matches!(one.part, Part::Request(_)));
        let index = || Expression::constant(value.small("index").unwrap_or(0).into());
        let value = match text_of(value.get("index").unwrap_or(value)) {
            Some(_) => request.map_or_else(|| Expression::constant(0), |one| one.value.clone()),
            None => index(),
        };
        let part = Part::Buffers(members);
        computed.push(Computed { key: "index", part, value, range });
    }

    /// The first requests of the array that `value` names.
    pub(super) fn first_of_array(&mut self, value: &Node, path: &str) -> Requests {
        let members = self.array(value, path).expect("the tree was checked against its shape");
        let most = i64::try_from(MOST_OF_ARRAY).expect("a small number");
        if self.computes(value, ("count", Part::Requests(members)), Range::up_to(most), path) {
            return Requests::List([].into());
        }
        members.up_to(i64::from(value.small("count").unwrap_or(0)))
    }

    /// The array that `value` names, and not a plain request.
    fn array(&mut self, value: &Node, path: &str) -> Option<Members> {
        let name = value.word("name")?;
        let arrays = self.arrays.get_or_insert_with(|| Arrays::of(self.list));
        let members = arrays.members(name);
        if arrays.plain.contains(name) {
            let found = format!("`{}` is an array here", quote(name));
            let allowed = "it is a plain request or a message in another statement";
            let one = Diagnostic::error(&codes::REQUEST, value.span, path, found, allowed);
            self.report(one.help("give the array a name of its own"));
        }
        // The program looks at run time which of its requests are open.
        self.scope.used = true;
        Some(members)
    }

    /// Reads the expression `node`; `None` with a report where it is wrong.
    pub(super) fn expression(&mut self, node: &Node, path: &str) -> Option<Expression> {
        let text = text_of(node)?;
        self.scope.used = true;
        match Expression::new(text, &self.scope) {
            Ok(expression) => Some(expression),
            Err(wrong) => {
                self.wrong(node, path, wrong);
                None
            }
        }
    }

    /// Reports a mistake in an expression, at its place in the text.
    fn wrong(&mut self, node: &Node, path: &str, wrong: Wrong) {
        let Wrong { at, found, allowed } = wrong;
        let source = self.diagnostics.text(node.span.source);
        let own = source.get(node.span.start as usize..node.span.end as usize);
        // The sign stands before the text, and in a file a quotation mark before it; without escapes the rest is as
        // it was written.
        let plain = own.is_some_and(|own| !own.contains('\\'));
        let before = if own.is_some_and(|own| own.starts_with('"')) { 2 } else { 1 };
        let inside = |place: usize| node.span.start + before + u32::try_from(place).unwrap_or(0);
        let span = if plain {
            let end = inside(at.end).max(inside(at.start) + 1).min(node.span.end);
            Span { start: inside(at.start).min(end), end, ..node.span }
        } else {
            node.span
        };
        let one = Diagnostic::error(&codes::EXPRESSION, span, path, found, allowed);
        self.report(one);
    }

    /// An expression of a type.
    pub(super) fn typed(&mut self, node: &Node, path: &str, of: Type) -> Option<Expression> {
        let expression = self.expression(node, path)?;
        if expression.of() == of {
            return Some(expression);
        }
        let found = format!("the expression is {}", expression.of().in_words());
        let allowed = format!("{} is needed", of.in_words());
        self.report(Diagnostic::error(&codes::EXPRESSION, node.span, path, found, allowed));
        None
    }

    /// Whether the value under `key` is an expression of a whole number, which the statement computes then.
    pub(super) fn computes(
        &mut self,
        node: &Node,
        of: (&'static str, Part),
        range: Range,
        path: &str,
    ) -> bool {
        self.computes_typed(node, of, (Type::Integer, range), path)
    }

    /// The same of an expression of a type.
    pub(super) fn computes_typed(
        &mut self,
        node: &Node,
        (key, part): (&'static str, Part),
        (of, range): (Type, Range),
        path: &str,
    ) -> bool {
        let Some(value) = node.get(key).filter(|value| text_of(value).is_some()) else {
            return false;
        };
        if let Some(value) = self.typed(value, &format!("{path}.{key}"), of) {
            self.scope.extras.computed.push(Computed { key, part, value, range });
        }
        true
    }

    /// The values that a statement must return, and the variables that keep them.
    pub(super) fn returns(&mut self, node: &Node, path: &str) {
        for value in VALUES {
            let Some(expected) = node.get("expect").and_then(|expect| expect.get(value.key()))
            else {
                continue;
            };
            let at = format!("{path}.expect.{}", value.key());
            let expected = self.expected(expected, value, &at);
            self.scope.extras.expected.extend(expected.map(|expected| (value, expected)));
        }
        let statuses = node.get("expect").and_then(|expect| expect.get("statuses"));
        let statuses = statuses.and_then(Node::elements).unwrap_or(&[]);
        for (of, status) in (0..).zip(statuses) {
            for value in VALUES {
                let Some(expected) = status.get(value.key()) else { continue };
                let at = format!("{path}.expect.statuses[{of}].{}", value.key());
                let expected = self.expected(expected, value, &at);
                let all = &mut self.scope.extras.statuses;
                all.extend(expected.map(|expected| (of, value, expected)));
            }
        }
        for value in VALUES {
            let name = node.get("into").and_then(|into| into.get(value.key()));
            if let Some(name) = name {
                let at = format!("{path}.into.{}", value.key());
                let slot = self.variable(name, type_of(value), &at);
                self.scope.extras.kept.push((value, slot));
            }
        }
    }

    /// The expected value: a flag, a number, a size or an expression.
    fn expected(&mut self, node: &Node, value: ReturnValue, path: &str) -> Option<Expression> {
        if text_of(node).is_some() {
            return self.typed(node, path, type_of(value));
        }
        let number = if let Value::Bool(flag) = node.value {
            u64::from(flag)
        } else if node.text().is_some() {
            node.own_bytes().as_u64()
        } else {
            node.as_count()
        };
        i64::try_from(number).ok().map(Expression::constant)
    }

    /// The slot of the variable that `node` names, which is a new one or one of the same type.
    pub(super) fn variable(&mut self, node: &Node, of: Type, path: &str) -> usize {
        self.scope.used = true;
        let name = node.text().expect("the tree was checked against its shape");
        let is_name = name.bytes().enumerate().all(|(at, byte)| {
            byte == b'_' || byte.is_ascii_alphabetic() || at > 0 && byte.is_ascii_digit()
        });
        let known = self.scope.find(name);
        let wrong = match known {
            _ if !is_name || matches!(name, "true" | "false") => {
                Some("a variable has a name of letters, digits and `_`".to_owned())
            }
            Some((slot, _)) if slot < NAMES.len() => {
                Some(format!("{} never change", NAMES.join(", ")))
            }
            Some((_, before)) if before != of => {
                Some(format!("it is {} before", before.in_words()))
            }
            Some(_) | None => None,
        };
        if let Some(allowed) = wrong {
            let found = format!("the variable `{}`", quote(name));
            self.report(Diagnostic::error(&codes::EXPRESSION, node.span, path, found, allowed));
        }
        known.map_or_else(|| self.scope.add(name.to_owned(), of), |(slot, _)| slot)
    }
}
