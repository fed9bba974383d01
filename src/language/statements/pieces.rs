//! Buffers of messages: so many bytes, or elements of a datatype.

use std::sync::Arc;

use super::reader::Reader;
use crate::collectives::Chosen;
use crate::program::computed::{Part, Range};
use calls::typed::Elements;
use form::codes;
use form::diagnostic::{Diagnostic, quote};
use form::fields::MAX_MESSAGE;
use form::json::Node;
use mpi::datatype::Datatype;
use protocols::call::{Buffer, Call};
use protocols::contract::{Region, Space};

/// Where the bytes of a message are.
#[derive(Default)]
pub(super) struct Place {
    pub(super) buffer: Buffer,
    /// What it holds, where that is not simply bytes.
    pub(super) elements: Option<Arc<Elements>>,
}

/// The call with what its buffer holds.
pub(super) fn typed(call: Call, elements: Option<Arc<Elements>>) -> Call {
    match elements {
        Some(elements) => call.typed(&elements),
        None => call,
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

    /// The buffer of a message, of its own; `size` or `max` under `key`, or elements of a datatype.
    pub(super) fn place(&mut self, node: &Node, path: &str, key: &'static str) -> Place {
        let elements = self.in_pieces(node, path, key);
        let bytes = match &elements {
            Some(elements) => elements.packed(),
            None => self.bytes(node, path, (key, Part::Field("buffer"))),
        };
        let needed = elements.as_ref().map_or(bytes, |elements| elements.extent());
        let Space::User(id) = self.buffer_of(node, path, ("buf", needed)).space else {
            unreachable!("buffers of messages are the program's")
        };
        Place { buffer: Buffer { id, bytes }, elements }
    }

    /// The bytes under a key; 0 where they are computed.
    pub(super) fn bytes(
        &mut self,
        node: &Node,
        path: &str,
        (key, part): (&'static str, Part),
    ) -> u64 {
        let most = i64::try_from(MAX_MESSAGE).expect("a C int");
        if self.computes(node, (key, part), Range::up_to(most), path) {
            return 0;
        }
        node.bytes(key).unwrap_or_default().as_u64()
    }

    /// Elements of the datatype under one key, as many as another one says.
    pub(super) fn elements_of(
        &mut self,
        node: &Node,
        path: &str,
        (key, count): (&str, &str),
    ) -> Option<Arc<Elements>> {
        let tree = node.get(key)?;
        let at = format!("{path}.{key}");
        let datatype = self.types.datatype(self.diagnostics, tree, &at)?;
        let made = self.types.elements(datatype, node.count(count).unwrap_or(1));
        match made {
            Ok(elements) => Some(elements),
            Err(error) => {
                let allowed = "sizes of 64 bits are needed";
                self.report(Diagnostic::error(&codes::DATATYPE, tree.span, at, error, allowed));
                None
            }
        }
    }

    /// The blocks of a collective under `key`: elements of a datatype, from a displacement on.
    pub(super) fn typed_blocks(
        &mut self,
        node: &Node,
        key: &str,
        path: &str,
    ) -> Arc<[Arc<Elements>]> {
        let list = node.get(key).and_then(Node::elements).unwrap_or(&[]);
        let mut blocks = Vec::with_capacity(list.len());
        for (place, block) in list.iter().enumerate() {
            let at = format!("{path}.{key}[{place}]");
            let tree = block.get("datatype").expect("the key is required");
            let of = format!("{at}.datatype");
            let Some(datatype) = self.types.datatype(self.diagnostics, tree, &of) else { continue };
            let count = i64::try_from(block.count("count").unwrap_or(1)).unwrap_or(i64::MAX);
            let first = block.bytes("at").unwrap_or_default().as_u64();
            let first = i64::try_from(first).expect("the shape limits bytes");
            let placed = Datatype::hindexed(&[count], &[first], &datatype);
            let made = placed.map_err(|error| error.to_string()).and_then(|placed| {
                let elements = self.types.elements(placed, 1)?;
                let receives = key == "receives";
                let distinct = if receives { elements.receivable() } else { Ok(()) };
                distinct.map_err(|error| error.to_string())?;
                if elements.lowest() < 0 {
                    return Err("elements before the buffer".to_owned());
                }
                Ok(elements)
            });
            match made {
                Ok(elements) => blocks.push(elements),
                Err(error) => {
                    let allowed = "sizes of 64 bits from the buffer's first byte on, each byte received into once";
                    self.report(Diagnostic::error(&codes::DATATYPE, tree.span, of, error, allowed));
                }
            }
        }
        blocks.into()
    }

    fn in_pieces(&mut self, node: &Node, path: &str, key: &str) -> Option<Arc<Elements>> {
        self.check_pair(node, path, key);
        let tree = node.get("datatype")?;
        let at = format!("{path}.datatype");
        let datatype = self.types.datatype(self.diagnostics, tree, &at)?;
        let made = self.types.elements(datatype, node.count("count").unwrap_or(1));
        let checked = made.and_then(|elements| {
            let received = key == "max";
            let distinct =
                if received && !elements.are_apart() { elements.receivable() } else { Ok(()) };
            distinct.map_err(|error| error.to_string()).map(|()| elements)
        });
        match checked {
            Ok(elements) => {
                self.check_within(node, path, &elements);
                Some(elements)
            }
            Err(error) => {
                let allowed = if key == "max" {
                    "sizes of 64 bits, and each byte received into once, which is looked for in the \
                     blocks of 4 Mi at most"
                } else {
                    "sizes of 64 bits are needed"
                };
                self.report(Diagnostic::error(&codes::DATATYPE, tree.span, at, error, allowed));
                None
            }
        }
    }

    /// A buffer has bytes or elements; what only elements have needs them.
    fn check_pair(&mut self, node: &Node, path: &str, key: &str) {
        let (sized, typed) = (node.get(key), node.get("datatype"));
        let one = match (sized, typed) {
            (Some(size), Some(_)) => {
                let found = format!("both `{key}` and `datatype`");
                let allowed = format!("elements have their size: leave `{key}` out");
                let path = format!("{path}.{key}");
                Diagnostic::error(&codes::CONTRADICTION, size.span, path, found, allowed)
            }
            (None, None) => {
                let found = format!("the key `{key}` is missing");
                let allowed = format!("`{key}` or `datatype` is needed");
                let path = format!("{path}.{key}");
                Diagnostic::error(&codes::MISSING_KEY, node.span, path, found, allowed)
                    .help(format!("write `\"{key}\": \"8 B\"`"))
            }
            (Some(_), None) => {
                let extra =
                    ["count", "buffer"].into_iter().find_map(|key| Some((key, node.get(key)?)));
                let Some((extra, value)) = extra else { return };
                let (found, path) =
                    (format!("`{extra}` without `datatype`"), format!("{path}.{extra}"));
                let allowed = "it is of the elements of a datatype";
                Diagnostic::error(&codes::CONTRADICTION, value.span, path, found, allowed)
            }
            (None, Some(_)) => return,
        };
        self.report(one);
    }

    /// The elements lie in the buffer that is given, and in one that can be.
    fn check_within(&mut self, node: &Node, path: &str, elements: &Elements) {
        let needed = elements.extent();
        if needed.max(elements.packed()) > MAX_MESSAGE {
            let packed = elements.packed();
            let (found, allowed) = (
                format!("the elements have {packed} B, and lie in {needed} B"),
                format!("at most {MAX_MESSAGE} B can be"),
            );
            let at = node.get("datatype").unwrap_or(node).span;
            let path = format!("{path}.datatype");
            self.report(Diagnostic::error(&codes::PRODUCT, at, path, found, allowed));
        }
        let Some(buffer) = node.get("buffer") else { return };
        let room = node.bytes("buffer").unwrap_or_default().as_u64();
        if needed > room {
            let found = format!("a buffer of {room} B");
            let allowed = format!("the elements of the datatype lie in {needed} B");
            let path = format!("{path}.buffer");
            self.report(Diagnostic::error(
                &codes::CONTRADICTION,
                buffer.span,
                path,
                found,
                allowed,
            ));
        }
    }
}
