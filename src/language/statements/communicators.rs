//! Communicators that a program names: those of every job by number, and those that its statements
//! make by name.
//!
//! A rank's name holds from the statement that makes it to the one that frees it. How many ranks it
//! has is known of the first kind and of their duplicates; elsewhere the library says at its place in
//! the run that a rank does not exist.

use crate::program::member::FIRST;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::statement::{RankProgram, Statement};
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics, Span, quote};
use form::expression::text_of;
use form::fields::COMMUNICATORS;
use form::json::{Node, Value};
use mpi::cartesian::Dimension;
use mpi::envelope::Rank;
use mpi::topology::{Graph, Neighbours};
use protocols::call::{Arrangement, Call, Comm, CommCall, NamedEdges};
use protocols::contract::Handle;

/// Statements about endpoints, whose names stand for consecutive numbers.
pub(super) const OF_ENDPOINTS: [&str; 2] = ["create_endpoints", "free_endpoint"];

/// Statements that make or free communicators.
pub(super) const STATEMENTS: [&str; 16] = [
    "comm_dup",
    "comm_idup",
    "comm_split",
    "comm_split_type",
    "comm_create",
    "comm_create_group",
    "cart_create",
    "cart_sub",
    "graph_create",
    "dist_graph_create",
    "dist_graph_create_adjacent",
    "intercomm_create",
    "intercomm_merge",
    "comm_free",
    "create_endpoints",
    "free_endpoint",
];

/// How a communicator came to be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// Of processes; with the one of every job that it is like, if it is like one.
    Processes(Option<Comm>),
    /// Of processes that are neighbours; how many sources and destinations each has, where the text says it.
    Arranged(Option<[usize; 2]>),
    /// An endpoint's.
    Endpoint,
}

/// A communicator as a statement names it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Named {
    pub(super) comm: Comm,
    pub(super) kind: Kind,
}

impl Named {
    /// The communicator of every job whose ranks it has.
    pub(super) const fn like(self) -> Option<Comm> {
        match self.kind {
            Kind::Processes(like) => like,
            Kind::Arranged(_) | Kind::Endpoint => None,
        }
    }
}

/// The communicators that one rank has made so far.
#[derive(Debug, Default)]
pub(super) struct Communicators {
    open: Opened,
    ended: Vec<String>,
    made: u16,
    /// The number that each name had last.
    numbers: BTreeMap<String, Comm>,
}

/// Open communicators by name: where each was made, and whether it is open on every way through the program.
pub(super) type Opened = BTreeMap<String, (Named, Span, bool)>;

impl Communicators {
    /// The communicator of a statement.
    pub(super) fn named(&self, out: &mut Diagnostics, node: &Node, path: &str) -> Named {
        self.named_by(out, node, "comm", path)
    }

    fn named_by(&self, out: &mut Diagnostics, node: &Node, key: &str, path: &str) -> Named {
        let world = Named { comm: Comm(0), kind: Kind::Processes(Some(Comm(0))) };
        let Some(value) = node.get(key) else { return world };
        let Some(name) = value.text() else {
            let comm = Comm(u16::try_from(value.as_count()).expect("the shape limits the number"));
            return Named { comm, kind: Kind::Processes(Some(comm)) };
        };
        if let Some((named, ..)) = self.open.get(name) {
            return *named;
        }
        let ended = self.ended.iter().any(|ended| ended == name);
        let found = if ended { "was freed" } else { "was never made" };
        let names: Vec<&str> = self.open.keys().map(String::as_str).collect();
        let allowed = if names.is_empty() {
            format!("{COMMUNICATORS}; none is made before")
        } else {
            format!("{COMMUNICATORS}; made before are {}", names.join(", "))
        };
        let (at, name) = (format!("{path}.{key}"), quote(name));
        let found = format!("communicator `{name}` {found}");
        out.push(Diagnostic::error(&codes::COMMUNICATOR, value.span, at, found, allowed));
        world
    }

    /// Whether a statement makes or frees a communicator, and its call then.
    pub(super) fn read(
        &mut self,
        out: &mut Diagnostics,
        op: &str,
        (node, nested): (&Node, bool),
        path: &str,
    ) -> Option<Call> {
        if !STATEMENTS.contains(&op) {
            return None;
        }
        let old = self.named(out, node, path);
        let comm = old.comm;
        Some(match op {
            "comm_dup" => {
                of_processes(out, node, path, old);
                let new = self.make(out, (node, nested), path, old.kind);
                Call::Communicators(CommCall::Dup { comm, new })
            }
            "comm_idup" => {
                of_processes(out, node, path, old);
                let new = self.make(out, (node, nested), path, old.kind);
                // The reader of the statement puts its request into its place.
                Call::Communicators(CommCall::Idup { comm, new, request: Handle(0) })
            }
            "comm_split" => {
                of_processes(out, node, path, old);
                let color = node.get("color").filter(|value| value.text() != Some("undefined"));
                // The reader of the statement puts an expression into its place.
                let color = color.map(|value| match text_of(value) {
                    Some(_) => 0,
                    None => i32::try_from(value.as_count()).expect("the shape limits the color"),
                });
                let key = node.get("key").filter(|value| text_of(value).is_none());
                let key = i32::try_from(key.map_or(0, Node::as_integer));
                let key = key.expect("the shape limits the key");
                let new = self.make(out, (node, nested), path, Kind::Processes(None));
                if color.is_none() {
                    self.end(node.word("new"));
                }
                Call::Communicators(CommCall::Split { comm, color, key, new })
            }
            "comm_split_type" => {
                of_processes(out, node, path, old);
                let key = node.get("key").filter(|value| text_of(value).is_none());
                let key = i32::try_from(key.map_or(0, Node::as_integer));
                let key = key.expect("the shape limits the key");
                let takes_part = node.word("type") != Some("undefined");
                let new = self.make(out, (node, nested), path, Kind::Processes(None));
                if !takes_part {
                    self.end(node.word("new"));
                }
                Call::Communicators(CommCall::SplitShared { comm, takes_part, key, new })
            }
            "comm_create" => {
                of_processes(out, node, path, old);
                let group = group(node, "ranks");
                let new = self.make(out, (node, nested), path, Kind::Processes(None));
                if group.is_empty() {
                    self.end(node.word("new"));
                }
                Call::Communicators(CommCall::Create { comm, group, new })
            }
            "comm_create_group" => {
                of_processes(out, node, path, old);
                let group = group(node, "ranks");
                let new = self.make(out, (node, nested), path, Kind::Processes(None));
                Call::Communicators(CommCall::CreateGroup { comm, group, tag: tag(node), new })
            }
            "cart_create" => {
                of_processes(out, node, path, old);
                let dimensions = dimensions(out, node, path);
                let neighbours = 2 * dimensions.len();
                let kind = Kind::Arranged(Some([neighbours; 2]));
                let new = self.make(out, (node, nested), path, kind);
                let by = Arrangement::Grid(dimensions.into());
                Call::Communicators(CommCall::Arrange { comm, by, new })
            }
            "cart_sub" => {
                of_processes(out, node, path, old);
                let remain: Vec<bool> = flags(node, "remain");
                let neighbours = 2 * remain.iter().filter(|remain| **remain).count();
                let kind = Kind::Arranged(Some([neighbours; 2]));
                let new = self.make(out, (node, nested), path, kind);
                let by = Arrangement::Subgrid(remain.into());
                Call::Communicators(CommCall::Arrange { comm, by, new })
            }
            "dist_graph_create_adjacent" => {
                of_processes(out, node, path, old);
                let [sources, destinations] = ["sources", "destinations"].map(|key| {
                    let all = node.get(key).and_then(Node::elements).unwrap_or(&[]);
                    // The reader of the statement puts expressions into their places.
                    let named =
                        |value: &Node| text_of(value).is_none().then(|| rank(value.as_count()));
                    all.iter().map(named).collect::<Vec<_>>()
                });
                let kind = Kind::Arranged(Some([sources.len(), destinations.len()]));
                let new = self.make(out, (node, nested), path, kind);
                let (sources, destinations) = (sources.into(), destinations.into());
                let by = Arrangement::Graph(Neighbours { sources, destinations, of_grid: false });
                Call::Communicators(CommCall::Arrange { comm, by, new })
            }
            "graph_create" => {
                of_processes(out, node, path, old);
                let index = node.get("index").and_then(Node::elements).unwrap_or(&[]);
                let ends = index.iter().map(|end| u32::try_from(end.as_count()));
                let ends = ends.map(|end| end.expect("the shape limits the index")).collect();
                let graph = Graph { ends, edges: group(node, "edges") };
                let new = self.make(out, (node, nested), path, Kind::Arranged(None));
                let by = Arrangement::Whole(graph);
                Call::Communicators(CommCall::Arrange { comm, by, new })
            }
            "dist_graph_create" => {
                of_processes(out, node, path, old);
                let edges = named_edges(out, node, path);
                let new = self.make(out, (node, nested), path, Kind::Arranged(None));
                let by = Arrangement::Named(Arc::new(edges));
                Call::Communicators(CommCall::Arrange { comm, by, new })
            }
            "intercomm_create" => {
                of_processes(out, node, path, old);
                let peer = self.named_by(out, node, "peer", path).comm;
                // The reader of the statement puts an expression into its place.
                let written = |key: &str| node.get(key).filter(|value| text_of(value).is_none());
                let named = |key: &str| rank(written(key).map_or(0, Node::as_count));
                let (leader, remote_leader) = (named("leader"), named("remote_leader"));
                let (tag, new) =
                    (tag(node), self.make(out, (node, nested), path, Kind::Processes(None)));
                let call = CommCall::Intercomm { comm, leader, peer, remote_leader, tag, new };
                Call::Communicators(call)
            }
            "intercomm_merge" => {
                of_processes(out, node, path, old);
                let high =
                    node.get("high").is_some_and(|high| matches!(high.value, Value::Bool(true)));
                let new = self.make(out, (node, nested), path, Kind::Processes(None));
                Call::Communicators(CommCall::Merge { comm, high, new })
            }
            "comm_free" => {
                of_processes(out, node, path, old);
                self.end(node.word("comm"));
                Call::Communicators(CommCall::Free { comm })
            }
            "free_endpoint" => {
                if old.kind != Kind::Endpoint {
                    wrong_kind(out, node, path, "an endpoint is freed by its own name");
                }
                self.end(node.word("comm"));
                Call::FreeEndpoint { comm }
            }
            _ => {
                of_processes(out, node, path, old);
                self.endpoints(out, node, path, comm)
            }
        })
    }

    fn endpoints(&mut self, out: &mut Diagnostics, node: &Node, path: &str, parent: Comm) -> Call {
        let names = node.get("new").and_then(Node::elements).unwrap_or(&[]);
        let first = Comm(FIRST + self.made);
        for (index, value) in names.iter().enumerate() {
            self.enter(out, (value, false), &format!("{path}.new[{index}]"), Kind::Endpoint);
        }
        let count = u16::try_from(names.len()).expect("the shape limits the endpoints");
        Call::CreateEndpoints { parent, count, first }
    }

    fn make(
        &mut self,
        out: &mut Diagnostics,
        (node, nested): (&Node, bool),
        path: &str,
        kind: Kind,
    ) -> Comm {
        let value = node.get("new").expect("the key is required");
        self.enter(out, (value, nested), &format!("{path}.new"), kind)
    }

    /// A new name, which is free.
    fn enter(
        &mut self,
        out: &mut Diagnostics,
        (value, nested): (&Node, bool),
        path: &str,
        kind: Kind,
    ) -> Comm {
        let name = value.text().expect("the tree was checked against its shape").to_owned();
        // The statements of a loop make one communicator again and again, and those of two ways the same one.
        let known = self.numbers.get(&name).filter(|_| nested);
        let comm = known.copied().unwrap_or(Comm(FIRST + self.made));
        self.made += u16::from(known.is_none());
        self.numbers.insert(name.clone(), comm);
        if let Some((_, first, true)) = self.open.get(&name) {
            let found = format!("communicator `{}` is made again", quote(&name));
            let allowed = "a name may be used again after the free";
            out.push(
                Diagnostic::error(&codes::COMMUNICATOR, value.span, path, found, allowed)
                    .related(*first, "it was made here"),
            );
        }
        self.open.insert(name, (Named { comm, kind }, value.span, true));
        comm
    }

    /// Those that are open here.
    pub(super) fn opened(&self) -> Opened {
        self.open.clone()
    }

    /// Goes back to `before`, the beginning of another way, and answers those that are open here.
    pub(super) fn go_back(&mut self, before: Opened) -> Opened {
        std::mem::replace(&mut self.open, before)
    }

    /// The communicators after one of two ways, the other of which leaves `other`.
    pub(super) fn merge(&mut self, other: &Opened) {
        for (name, (named, span, certain)) in other {
            match self.open.get_mut(name) {
                Some(own) => {
                    own.2 &= certain;
                    if own.0.kind != named.kind {
                        own.0.kind = match (own.0.kind, named.kind) {
                            (Kind::Arranged(_), Kind::Arranged(_)) => Kind::Arranged(None),
                            _ => Kind::Processes(None),
                        };
                    }
                }
                None => {
                    self.open.insert(name.clone(), (*named, *span, false));
                }
            }
        }
        for (name, own) in &mut self.open {
            own.2 &= other.contains_key(name);
        }
    }

    fn end(&mut self, name: Option<&str>) {
        if let Some((name, _)) = name.and_then(|name| self.open.remove_entry(name)) {
            self.ended.push(name);
        }
    }
}

/// A statement whose communicator is never freed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Unfreed {
    /// Of which rank.
    pub rank: usize,
    /// In which line.
    pub line: usize,
    /// The MPI function.
    pub function: &'static str,
}

/// Statements of a program whose communicators are never freed; of endpoints a law of its run says so.
/// Each rank has `of_a_rank` programs.
pub fn never_freed(ranks: &[RankProgram], of_a_rank: usize) -> Vec<Unfreed> {
    let mut found = Vec::new();
    for (index, statements) in ranks.iter().enumerate() {
        let rank = index / of_a_rank;
        let mut open = BTreeMap::new();
        for Statement { work, line, .. } in statements.iter() {
            let Some(Call::Communicators(call)) = work.calls() else { continue };
            if let CommCall::Free { comm } = call {
                open.remove(comm);
            }
            let unfreed = Unfreed { rank, line: *line, function: call.function() };
            open.extend(call.makes().map(|comm| (comm, unfreed)));
        }
        found.extend(open.into_values());
    }
    found
}

/// The dimensions of a grid.
fn dimensions(out: &mut Diagnostics, node: &Node, path: &str) -> Vec<Dimension> {
    let extents = node.get("dims").and_then(Node::elements).unwrap_or(&[]);
    let periods = flags(node, "periods");
    if let Some(given) = node.get("periods").filter(|_| periods.len() != extents.len()) {
        let found = format!("the list has {} entries", periods.len());
        let allowed = format!("one for each of {} dimensions is needed", extents.len());
        let at = format!("{path}.periods");
        out.push(Diagnostic::error(&codes::CONTRADICTION, given.span, at, found, allowed));
    }
    let periods = periods.into_iter().chain(std::iter::repeat(false));
    let extents = extents.iter().map(|extent| u32::try_from(extent.as_count()));
    let extents = extents.map(|extent| extent.expect("the shape limits the extent"));
    extents.zip(periods).map(|(extent, periodic)| Dimension { extent, periodic }).collect()
}

fn flags(node: &Node, key: &str) -> Vec<bool> {
    let all = node.get(key).and_then(Node::elements).unwrap_or(&[]);
    all.iter().map(|one| matches!(one.value, Value::Bool(true))).collect()
}

/// The edges that a rank names: as many degrees as sources, and destinations for all of them.
fn named_edges(out: &mut Diagnostics, node: &Node, path: &str) -> NamedEdges {
    let list = |key: &str| node.get(key).and_then(Node::elements).unwrap_or(&[]);
    let degrees: Vec<u32> = list("degrees")
        .iter()
        .map(|degree| u32::try_from(degree.as_count()).expect("the shape limits the degree"))
        .collect();
    let [sources, destinations] = ["sources", "destinations"].map(|key| group(node, key));
    let all: u64 = degrees.iter().copied().map(u64::from).sum();
    let mut refuse = |key: &str, found: usize, allowed: String| {
        let span = node.get(key).map_or(node.span, |list| list.span);
        let (at, found) = (format!("{path}.{key}"), format!("the list has {found} entries"));
        out.push(Diagnostic::error(&codes::CONTRADICTION, span, at, found, allowed));
    };
    if degrees.len() != sources.len() {
        let allowed = format!("one for each of {} sources is needed", sources.len());
        refuse("degrees", degrees.len(), allowed);
    } else if all != destinations.len() as u64 {
        let allowed = format!("the degrees are {all} in all");
        refuse("destinations", destinations.len(), allowed);
    }
    let degrees = degrees.into();
    NamedEdges {
        sources: sources.to_vec().into(),
        degrees,
        destinations: destinations.to_vec().into(),
    }
}

/// The ranks of a list. The reader of the statement puts expressions into their places.
fn group(node: &Node, key: &str) -> Arc<[Rank]> {
    let ranks = node.get(key).and_then(Node::elements).unwrap_or(&[]);
    let written = |value: &Node| if text_of(value).is_some() { 0 } else { value.as_count() };
    ranks.iter().map(|value| rank(written(value))).collect()
}

fn rank(number: u64) -> Rank {
    Rank(u32::try_from(number).expect("the shape limits the ranks"))
}

fn tag(node: &Node) -> i32 {
    i32::try_from(node.count("tag").unwrap_or(0)).expect("the shape limits the tag")
}

/// Refuses an endpoint where a communicator of processes is needed.
pub(super) fn of_processes(out: &mut Diagnostics, node: &Node, path: &str, named: Named) {
    if named.kind == Kind::Endpoint {
        wrong_kind(out, node, path, "communicators and windows are made from those of processes");
    }
}

fn wrong_kind(out: &mut Diagnostics, node: &Node, path: &str, allowed: &str) {
    let (span, name) = node.get("comm").map_or((node.span, "0"), |value| {
        (value.span, value.text().unwrap_or("a communicator of every job"))
    });
    let (at, found) = (format!("{path}.comm"), format!("`{}` is none of these", quote(name)));
    out.push(Diagnostic::error(&codes::COMMUNICATOR, span, at, found, allowed));
}
