//! Where in its file a vector is wrong.

use super::error::VectorError;
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics, SourceId, Span};
use form::json::{self, Node};

impl VectorError {
    /// Reports this of the file whose text is `source`.
    pub fn report(&self, diagnostics: &mut Diagnostics, source: SourceId) {
        let text = diagnostics.text(source).to_owned();
        let span = match self {
            Self::Form(why) => at_line(source, &text, why.line(), why.column()),
            Self::Family(_)
            | Self::Schema(_)
            | Self::World { .. }
            | Self::Ranks
            | Self::Empty
            | Self::Op { .. }
            | Self::Case { .. } => {
                // What it says beside the tree was found by the reader of vectors already.
                let mut scratch = Diagnostics::new();
                let copy = scratch.add_source("", text);
                let tree = json::parse(&mut scratch, copy);
                let node = tree.as_ref().map(|tree| self.node(tree).unwrap_or(tree));
                node.map_or(Span { source, start: 0, end: 0 }, |node| Span { source, ..node.span })
            }
        };
        let found = if let Self::Form(why) = self {
            // Without the place, which stands before it.
            let place = format!(" at line {} column {}", why.line(), why.column());
            why.to_string().replace(&place, "")
        } else {
            self.to_string()
        };
        let help = "tests/vectors/README.md of the sources describes each family";
        diagnostics.push(Diagnostic::error(&codes::VECTORS, span, "", found, "").help(help));
    }

    /// The value that is wrong.
    fn node<'a>(&self, tree: &'a Node) -> Option<&'a Node> {
        match self {
            Self::Form(_) | Self::Ranks => None,
            Self::Family(_) => tree.get("family"),
            Self::Schema(_) => tree.get("schema"),
            Self::World { .. } => tree.get("world"),
            Self::Empty => tree.get("cases").or_else(|| tree.get("vectors")),
            Self::Op { case, rank, op, .. } => {
                let case = case_of(tree, *case)?;
                let lists = case.get("program").or_else(|| case.get("calls"))?.elements()?;
                // A case of one process has its calls in one list.
                let list = lists.get(*rank).and_then(Node::elements).unwrap_or(lists);
                list.get(*op).or(Some(case))
            }
            Self::Case { case, .. } => case_of(tree, *case),
        }
    }
}

/// The case of this number: its `id`, or where cases have none its place from 1.
fn case_of(tree: &Node, case: u64) -> Option<&Node> {
    let id = |node: &Node| node.get("id")?.number()?.whole().ok();
    if let Some(cases) = tree.get("cases").and_then(Node::elements) {
        return cases.iter().find(|node| id(node) == Some(case));
    }
    let place = usize::try_from(case).ok()?.checked_sub(1)?;
    tree.get("vectors")?.elements()?.get(place)
}

/// A line and a column of bytes, both from 1; the column is that of the last byte that was read.
fn at_line(source: SourceId, text: &str, line: usize, column: usize) -> Span {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let mut start = (before + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let end = text[start..].chars().next().map_or(start, |c| start + c.len_utf8());
    let [start, end] = [start, end].map(|at| u32::try_from(at).expect("files have 64 MiB at most"));
    Span { source, start, end }
}
