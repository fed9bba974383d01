//! Buffers of messages: so many bytes, or elements of a datatype.

use std::sync::Arc;

use super::reader::Item;
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
use units::Bytes;

/// Where the bytes of a message are.
#[derive(Default)]
pub(super) struct Place {
    pub(super) buffer: Buffer,
    /// Its elements, where those are not simply bytes.
    pub(super) elements: Option<Arc<Elements>>,
}

/// The call with what its buffer holds.
pub(super) fn typed(call: Call, elements: Option<Arc<Elements>>) -> Call {
    match elements {
        Some(elements) => call.typed(&elements),
        None => call,
    }
}

impl Item<'_, '_, '_> {
    /// The buffer that stands under `key`; `None` where none does, or with a report.
    pub(super) fn named_buffer(&mut self, key: &str) -> Option<Region> {
        let value = self.node.get(key)?;
        let name = value.text().expect("the tree was checked against its shape");
        let known = (Buffer::OWN..).zip(&self.reader.named.0).find(|(_, (known, _))| known == name);
        if let Some((id, (_, bytes))) = known {
            return Some(Region::new(Space::User(id), *bytes));
        }
        let names: Vec<&str> = self.reader.named.0.iter().map(|(known, _)| &**known).collect();
        let allowed = if names.is_empty() {
            "`workload.buffers` has none".to_owned()
        } else {
            format!("`workload.buffers` has {}", names.join(", "))
        };
        let found = format!("there is no buffer `{}`", quote(name));
        self.refuse(&codes::BUFFER, key, found, allowed);
        None
    }

    /// The first `needed` bytes of the buffer under `key`, or a buffer of the statement's own.
    fn buffer_of(&mut self, key: &str, needed: u64) -> Region {
        if let Some(named) = self.named_buffer(key) {
            self.must_fit((key, needed), named.len);
            return Region { len: needed, ..named };
        }
        let id = self.reader.buffers;
        self.reader.buffers += 1;
        Region::new(Space::User(id), needed)
    }

    /// A call stays inside its buffer.
    pub(super) fn must_fit(&mut self, (key, needed): (&str, u64), bytes: u64) {
        if needed > bytes {
            let found = format!("a buffer of {bytes} B");
            self.refuse(&codes::BUFFER, key, found, format!("the call needs {needed} B"));
        }
    }

    /// The buffers that a collective names, in place of its own.
    pub(super) fn put_buffers(&mut self, chosen: &mut Chosen) {
        let node = self.node;
        let into = if node.get("buf").is_some() { "buf" } else { "recvbuf" };
        let call = &mut chosen.call;
        for (region, key) in [(&mut call.input, "sendbuf"), (&mut call.output, into)] {
            if let Some(named) = self.named_buffer(key) {
                self.must_fit((key, region.len), named.len);
                region.space = named.space;
            }
        }
        let name = |key: &str| node.get(key).and_then(Node::text);
        if let Some(twice) = name("recvbuf").filter(|name_of| Some(*name_of) == name("sendbuf")) {
            let found = format!("`{}` is both buffers", quote(twice));
            self.refuse(&codes::BUFFER, "recvbuf", found, "two buffers are needed");
        }
    }

    /// So many bytes of the buffer under `key`, or of one of the statement's own.
    pub(super) fn own_buffer(&mut self, key: &str, bytes: u64) -> Buffer {
        let Space::User(id) = self.buffer_of(key, bytes).space else {
            unreachable!("buffers of messages are the program's")
        };
        Buffer { id, bytes }
    }

    /// The buffer of a message, of its own; `size` or `max` under `key`, or elements of a datatype.
    pub(super) fn place(&mut self, key: &'static str) -> Place {
        let elements = self.in_pieces(key);
        let bytes = match &elements {
            Some(elements) => elements.packed(),
            None => self.sized(key, Part::Field("buffer")),
        };
        let needed = elements.as_ref().map_or(bytes, |elements| elements.extent());
        Place { buffer: Buffer { bytes, ..self.own_buffer("buf", needed) }, elements }
    }

    /// The bytes under a key; 0 where they are computed.
    pub(super) fn sized(&mut self, key: &'static str, part: Part) -> u64 {
        let most = i64::try_from(MAX_MESSAGE).expect("a C int");
        if self.reader.computes(self.node, (key, part), Range::up_to(most), self.path) {
            return 0;
        }
        self.node.bytes(key).unwrap_or_default().as_u64()
    }

    /// Elements of the datatype under one key, as many as another one says.
    pub(super) fn elements_of(&mut self, key: &str, count: &str) -> Option<Arc<Elements>> {
        let made = self.made(key, count)?;
        let refused =
            |error| self.refuse(&codes::DATATYPE, key, error, "sizes of 64 bits are needed");
        made.map_err(refused).ok()
    }

    /// The same; `None` where there is no datatype, or with a report.
    fn made(&mut self, key: &str, count: &str) -> Option<Result<Arc<Elements>, String>> {
        let Self { reader, node, path } = self;
        let datatype =
            reader.types.datatype(reader.diagnostics, node.get(key)?, &format!("{path}.{key}"))?;
        Some(reader.types.elements(datatype, node.count(count).unwrap_or(1)))
    }

    /// The blocks of a collective under `key`: elements of a datatype, from a displacement on.
    pub(super) fn typed_blocks(&mut self, key: &str) -> Arc<[Arc<Elements>]> {
        let Self { reader, node, path } = self;
        let list = node.get(key).and_then(Node::elements).unwrap_or(&[]);
        let mut blocks = Vec::with_capacity(list.len());
        for (place, block) in list.iter().enumerate() {
            let at = format!("{path}.{key}[{place}]");
            let tree = block.get("datatype").expect("the key is required");
            let of = format!("{at}.datatype");
            let Some(datatype) = reader.types.datatype(reader.diagnostics, tree, &of) else {
                continue;
            };
            let count = i64::try_from(block.count("count").unwrap_or(1)).unwrap_or(i64::MAX);
            let first = block.bytes("at").unwrap_or_default().as_u64();
            let first = i64::try_from(first).expect("the shape limits bytes");
            let placed = Datatype::hindexed(&[count], &[first], &datatype);
            let made = placed.map_err(|error| error.to_string()).and_then(|placed| {
                let elements = reader.types.elements(placed, 1)?;
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
                    let one = Diagnostic::error(&codes::DATATYPE, tree.span, of, error, allowed);
                    reader.diagnostics.push(one);
                }
            }
        }
        blocks.into()
    }

    fn in_pieces(&mut self, key: &str) -> Option<Arc<Elements>> {
        self.check_pair(key);
        let received = key == "max";
        let checked = self.made("datatype", "count")?.and_then(|elements| {
            let distinct =
                if received && !elements.are_apart() { elements.receivable() } else { Ok(()) };
            distinct.map_err(|error| error.to_string()).map(|()| elements)
        });
        match checked {
            Ok(elements) => {
                self.check_within(&elements);
                Some(elements)
            }
            Err(error) => {
                let allowed = if received {
                    "sizes of 64 bits, and each byte received into once, which is looked for in the \
                     blocks of 4 Mi at most"
                } else {
                    "sizes of 64 bits are needed"
                };
                self.refuse(&codes::DATATYPE, "datatype", error, allowed);
                None
            }
        }
    }

    /// A buffer has bytes or elements; what only elements have needs them.
    fn check_pair(&mut self, key: &str) {
        let has = |key: &str| self.node.get(key).is_some();
        let one = match (has(key), has("datatype")) {
            (true, true) => {
                let allowed = format!("elements have their size: leave `{key}` out");
                let found = format!("both `{key}` and `datatype`");
                self.wrong(&codes::CONTRADICTION, key, found, allowed)
            }
            (false, false) => {
                let found = format!("the key `{key}` is missing");
                let allowed = format!("`{key}` or `datatype` is needed");
                self.wrong(&codes::MISSING_KEY, key, found, allowed)
                    .help(format!("write `\"{key}\": \"8 B\"`"))
            }
            (true, false) => {
                let extra = ["count", "buffer"].into_iter().find(|key| has(key));
                let Some(extra) = extra else { return };
                let found = format!("`{extra}` without `datatype`");
                let allowed = "it is of the elements of a datatype";
                self.wrong(&codes::CONTRADICTION, extra, found, allowed)
            }
            (false, true) => return,
        };
        self.report(one);
    }

    /// The elements lie in the buffer that is given, and in one that can be.
    fn check_within(&mut self, elements: &Elements) {
        let (needed, packed) = (elements.extent(), elements.packed());
        if needed.max(packed) > MAX_MESSAGE {
            let found = format!("the elements have {packed} B, and lie in {needed} B");
            let allowed = format!("at most {MAX_MESSAGE} B can be");
            self.refuse(&codes::PRODUCT, "datatype", found, allowed);
        }
        let Some(room) = self.node.bytes("buffer").map(Bytes::as_u64) else { return };
        if needed > room {
            let allowed = format!("the elements of the datatype lie in {needed} B");
            self.refuse(&codes::CONTRADICTION, "buffer", format!("a buffer of {room} B"), allowed);
        }
    }
}
