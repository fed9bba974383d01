//! Buffers with a name: statements use them again, `store` writes numbers into them, and `load` compares and
//! keeps them.

use std::sync::Arc;

use super::one_sided::OneSided;
use super::reader::Reader;
use super::statement::{Statement, Step};
use super::variables::text_of;
use crate::collectives::{Chosen, element_type};
use crate::program::access::{Access, Content, Memory, Touch};
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics, Span, quote};
use form::expression::{Expression, Type};
use form::json::{Node, Value};
use mpi::operator::Datatype;
use protocols::call::Buffer;
use protocols::contract::{Region, Space};

/// The buffers of `workload.buffers`, in their order.
#[derive(Debug, Default)]
pub(super) struct Buffers(Vec<(String, u64)>);

impl Buffers {
    /// Those of a checked program workload.
    pub(super) fn read(diagnostics: &mut Diagnostics, workload: &Node) -> Self {
        let mut named: Vec<(String, u64)> = Vec::new();
        let list = workload.get("buffers").and_then(Node::elements).unwrap_or(&[]);
        for (index, entry) in list.iter().enumerate() {
            let name = entry.required_word("name").to_owned();
            if named.iter().any(|(known, _)| *known == name) {
                let found = format!("`{}` is there already", quote(&name));
                let path = format!("workload.buffers[{index}].name");
                let allowed = "names of buffers differ";
                let one = Diagnostic::error(&codes::BUFFER, entry.span, path, found, allowed);
                diagnostics.push(one);
            }
            named.push((name, entry.bytes("size").unwrap_or_default().as_u64()));
        }
        Self(named)
    }

    /// Their bytes.
    pub(super) fn sizes(&self) -> Arc<[u64]> {
        self.0.iter().map(|(_, bytes)| *bytes).collect()
    }
}

impl Reader<'_> {
    /// The buffer that stands under `key`; `None` where none does, or with a report.
    pub(super) fn named_buffer(&mut self, node: &Node, key: &str, path: &str) -> Option<Region> {
        let value = node.get(key)?;
        let name = value.text().expect("the tree was checked against its shape");
        let known = (Buffer::OWN..).zip(&self.named.0).find(|(_, (known, _))| known == name);
        if let Some((id, (_, bytes))) = known {
            return Some(Region::new(Space::User(id), *bytes));
        }
        let names: Vec<&str> = self.named.0.iter().map(|(known, _)| &**known).collect();
        let allowed = if names.is_empty() {
            "`workload.buffers` has none".to_owned()
        } else {
            format!("`workload.buffers` has {}", names.join(", "))
        };
        let found = format!("there is no buffer `{}`", quote(name));
        let at = format!("{path}.{key}");
        self.report(Diagnostic::error(&codes::BUFFER, value.span, at, found, allowed));
        None
    }

    /// The first `needed` bytes of the buffer under `key`, or a buffer of the statement's own.
    pub(super) fn buffer_of(
        &mut self,
        node: &Node,
        path: &str,
        (key, needed): (&str, u64),
    ) -> Region {
        if let Some(named) = self.named_buffer(node, key, path) {
            self.must_fit(node, path, (key, needed), named.len);
            return Region { len: needed, ..named };
        }
        let id = self.buffers;
        self.buffers += 1;
        Region::new(Space::User(id), needed)
    }

    /// A call stays inside its buffer.
    pub(super) fn must_fit(
        &mut self,
        node: &Node,
        path: &str,
        (key, needed): (&str, u64),
        bytes: u64,
    ) {
        if needed <= bytes {
            return;
        }
        let span = node.get(key).map_or(node.span, |value| value.span);
        let (found, allowed) =
            (format!("a buffer of {bytes} B"), format!("the call needs {needed} B"));
        let at = format!("{path}.{key}");
        self.report(Diagnostic::error(&codes::BUFFER, span, at, found, allowed));
    }

    /// The buffers that a collective names, in place of its own.
    pub(super) fn put_buffers(&mut self, chosen: &mut Chosen, node: &Node, path: &str) {
        let mut put = |region: &mut Region, key: &str| {
            if let Some(named) = self.named_buffer(node, key, path) {
                self.must_fit(node, path, (key, region.len), named.len);
                region.space = named.space;
            }
        };
        put(&mut chosen.call.input, "sendbuf");
        put(&mut chosen.call.output, if node.get("buf").is_some() { "buf" } else { "recvbuf" });
        let name = |key: &str| node.get(key).and_then(Node::text);
        if let Some(twice) = name("recvbuf").filter(|name_of| Some(*name_of) == name("sendbuf")) {
            let found = format!("`{}` is both buffers", quote(twice));
            let span = node.get("recvbuf").map_or(node.span, |value| value.span);
            let (at, allowed) = (format!("{path}.recvbuf"), "two buffers are needed");
            self.report(Diagnostic::error(&codes::BUFFER, span, at, found, allowed));
        }
    }

    /// The memory that a `store` or a `load` is about.
    fn memory(&mut self, node: &Node, path: &str) -> Option<Memory> {
        if let Some(window) = node.get("win") {
            if node.get("buf").is_some() {
                let (at, allowed) = (format!("{path}.win"), "one of them is needed");
                let found = "both `buf` and `win`";
                let code = &codes::CONTRADICTION;
                self.report(Diagnostic::error(code, window.span, at, found, allowed));
            }
            return OneSided::new(self, node, path).memory();
        }
        if node.get("buf").is_none() {
            let (at, found) = (format!("{path}.buf"), "the key `buf` is missing");
            let allowed = "`buf` or `win` is needed";
            self.report(Diagnostic::error(&codes::MISSING_KEY, node.span, at, found, allowed));
        }
        self.named_buffer(node, "buf", path).map(Memory::Region)
    }

    /// The steps of a `store` or a `load`, one for each number.
    pub(super) fn access(
        &mut self,
        op: &str,
        node: &Node,
        path: &str,
        out: &mut Vec<Statement>,
        (line, column): (usize, usize),
    ) {
        let Some(memory) = self.memory(node, path) else { return };
        let (number, numbers) = element_type(node).numbers();
        let at = match node.get("at") {
            Some(_) => self.value(node, "at", Some(Type::Integer), path),
            None => Some(Expression::constant(0)),
        };
        let Some(at) = at else { return };
        let of_step = |behind: usize, touch: Touch| {
            let numbers = i64::try_from(numbers).expect("an element has one or two");
            let behind = i64::try_from(behind).expect("the shape limits the values");
            let memory = memory.clone();
            let access = Access { memory, number, at: at.clone(), numbers, behind, touch };
            Statement { step: Step::Access(Arc::new(access)), line, column, extras: None }
        };
        let expect = node.get("expect").and_then(|expect| expect.get("values"));
        let (values, key) = match op {
            "store" => (node.get("values"), "values"),
            _ => (expect, "expect.values"),
        };
        let values = values.and_then(Node::elements).unwrap_or(&[]);
        let mut contents = Vec::with_capacity(values.len());
        for (index, value) in values.iter().enumerate() {
            contents.extend(self.content(number, value, &format!("{path}.{key}[{index}]")));
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
        let mut into = self.kept_number(number, node, path);
        if contents.is_empty() {
            out.push(of_step(0, Touch::Load { expected: None, into }));
        }
        out.extend(contents.into_iter().enumerate().map(|(behind, content)| {
            of_step(behind, Touch::Load { expected: Some(content), into: into.take() })
        }));
    }

    /// The variable that keeps a number.
    fn kept_number(&mut self, number: Datatype, node: &Node, path: &str) -> Option<usize> {
        let name = node.get("into").and_then(|into| into.get("value"))?;
        let at = format!("{path}.into.value");
        if !number.is_integer() {
            let found = format!("a variable of a `{}`", number.name());
            self.wrong_number(name.span, at, found, "variables are whole numbers".to_owned());
            return None;
        }
        Some(self.variable(name, Type::Integer, &at))
    }

    /// A number of a type: a whole one, one with a fraction, or an expression.
    fn content(&mut self, number: Datatype, node: &Node, path: &str) -> Option<Content> {
        if text_of(node).is_some() {
            return self.typed(node, path, Type::Integer).map(Content::Whole);
        }
        let Value::Number(written) = &node.value else {
            let allowed = "a number or an expression is needed".to_owned();
            self.wrong_number(node.span, path.to_owned(), node.kind().to_owned(), allowed);
            return None;
        };
        let text = written.text();
        let (least, most) = number.range();
        let whole = text.parse::<i64>().ok().filter(|whole| (least..=most).contains(whole));
        if let Some(whole) = whole {
            return Some(Content::Whole(Expression::constant(whole)));
        }
        let fraction = text.parse::<f64>().ok().and_then(|value| number.bits_of_fraction(value));
        if fraction.is_none() {
            let allowed = format!("a `{}` is a whole number from {least} to {most}", number.name());
            self.wrong_number(node.span, path.to_owned(), format!("found {text}"), allowed);
        }
        fraction.map(Content::Bits)
    }

    fn wrong_number(&mut self, span: Span, path: String, found: String, allowed: String) {
        self.report(Diagnostic::error(&codes::RANGE, span, path, found, allowed));
    }
}
