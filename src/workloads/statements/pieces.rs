//! Buffers of messages: so many bytes, or elements of a datatype.

use std::sync::Arc;

use super::reader::Reader;
use crate::datatypes;
use crate::program::control::Key;
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics, quote};
use form::expression::Type;
use form::fields::MAX_MESSAGE;
use form::json::Node;
use mpi::datatype::Datatype;
use protocols::call::{Buffer, Call};
use protocols::contract::Space;
use protocols::typed::Elements;

/// The datatypes of a program: those with a name, and elements of each that were asked for.
#[derive(Debug, Default)]
pub(super) struct Types {
    /// In the order of the file; `None` where the tree is wrong.
    named: Vec<(String, Option<Datatype>)>,
    /// Messages with equal buffers share them.
    elements: Vec<(Datatype, u64, Arc<Elements>)>,
}

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

impl Types {
    /// Those of a checked program workload.
    pub(super) fn read(diagnostics: &mut Diagnostics, workload: &Node) -> Self {
        let mut types = Self::default();
        let list = workload.get("datatypes").and_then(Node::elements).unwrap_or(&[]);
        for (index, entry) in list.iter().enumerate() {
            let path = format!("workload.datatypes[{index}]");
            let name = entry.required_word("name").to_owned();
            if types.named.iter().any(|(known, _)| *known == name) {
                let (found, allowed) =
                    (format!("`{}` is there already", quote(&name)), "names of datatypes differ");
                let (span, path) = (entry.span, format!("{path}.name"));
                diagnostics.push(Diagnostic::error(&codes::DATATYPE, span, path, found, allowed));
            }
            let tree = entry.get("type").expect("the key is required");
            let datatype = datatypes::decode(diagnostics, tree, &format!("{path}.type"));
            types.named.push((name, datatype));
        }
        types
    }

    /// What `node`, a name or a tree, stands for; `None` with a report where that is nothing.
    fn datatype(&self, diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Datatype> {
        let Some(name) = node.text() else {
            return datatypes::decode(diagnostics, node, path);
        };
        if let Some((_, datatype)) = self.named.iter().find(|(known, _)| known == name) {
            return datatype.clone();
        }
        let known: Vec<&str> = self.named.iter().map(|(known, _)| &**known).collect();
        let allowed = if known.is_empty() {
            "`workload.datatypes` has none; a tree can stand here too".to_owned()
        } else {
            format!("`workload.datatypes` has {}", known.join(", "))
        };
        let found = format!("there is no datatype `{}`", quote(name));
        diagnostics.push(Diagnostic::error(&codes::DATATYPE, node.span, path, found, allowed));
        None
    }

    /// Elements of a type, the same ones for all who ask.
    fn elements(&mut self, datatype: Datatype, count: u64) -> Result<Arc<Elements>, String> {
        let known = self.elements.iter().find(|one| (one.1, &one.0) == (count, &datatype));
        if let Some((.., elements)) = known {
            return Ok(Arc::clone(elements));
        }
        let made = Elements::new(datatype.clone(), count).map_err(|error| error.to_string())?;
        let made = Arc::new(made);
        self.elements.push((datatype, count, Arc::clone(&made)));
        Ok(made)
    }
}

impl Reader<'_> {
    /// The buffer of a message, of its own; `size` or `max` under `key`, or elements of a datatype.
    pub(super) fn place(&mut self, node: &Node, path: &str, key: &str) -> Place {
        let elements = self.in_pieces(node, path, key);
        let bytes = match &elements {
            Some(elements) => elements.packed(),
            None => self.bytes(node, path, key),
        };
        let needed = elements.as_ref().map_or(bytes, |elements| elements.extent());
        let Space::User(id) = self.buffer_of(node, path, ("buf", needed)).space else {
            unreachable!("buffers of messages are the program's")
        };
        Place { buffer: Buffer { id, bytes }, elements }
    }

    /// The bytes under `size` or `max`; 0 where they are computed.
    fn bytes(&mut self, node: &Node, path: &str, key: &str) -> u64 {
        let of = if key == "size" { Key::Size } else { Key::Room };
        let most = i64::try_from(MAX_MESSAGE).expect("a C int");
        if self.computes(node, (of, Type::Integer), (0, most), path) {
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
