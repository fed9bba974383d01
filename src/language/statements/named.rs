//! Datatypes and buffers with a name.

use std::sync::Arc;

use crate::datatypes;
use calls::typed::Elements;
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics, quote};
use form::json::Node;
use mpi::datatype::Datatype;

/// The datatypes of a program: those with a name, and elements of each that were asked for.
#[derive(Debug, Default)]
pub(super) struct Types {
    /// In the order of the file; `None` where the tree is wrong.
    named: Vec<(String, Option<Datatype>)>,
    /// Messages with equal buffers share them.
    elements: Vec<(Datatype, u64, Arc<Elements>)>,
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

    /// The datatype that `node`, a name or a tree, stands for; `None` with a report where there is none.
    pub(super) fn datatype(
        &self,
        diagnostics: &mut Diagnostics,
        node: &Node,
        path: &str,
    ) -> Option<Datatype> {
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
    pub(super) fn elements(
        &mut self,
        datatype: Datatype,
        count: u64,
    ) -> Result<Arc<Elements>, String> {
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

/// The buffers of `workload.buffers`, in their order.
#[derive(Debug, Default)]
pub(super) struct Buffers(pub(super) Vec<(String, u64)>);

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
