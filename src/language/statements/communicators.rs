//! Communicators that a program names: those of every job by number, and those that its statements
//! make by name.
//!
//! A rank's name holds from the statement that makes it to the one that frees it. How many ranks it
//! has is known of the first kind and of their duplicates; elsewhere the library says at its place in
//! the run that a rank does not exist.

use crate::program::member::FIRST;
use std::collections::BTreeMap;

use super::statement::{RankProgram, Statement};
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics, Span, quote};
use form::fields::COMMUNICATORS;
use form::json::Node;
use protocols::call::{Call, Comm, CommCall};

/// Statements about endpoints, whose names stand for consecutive numbers.
pub(super) const OF_ENDPOINTS: [&str; 2] = ["create_endpoints", "free_endpoint"];

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

    /// The communicator that a key names.
    pub(super) fn named_by(
        &self,
        out: &mut Diagnostics,
        node: &Node,
        key: &str,
        path: &str,
    ) -> Named {
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

    /// The first of the endpoints that get these names.
    pub(super) fn endpoints(&mut self, out: &mut Diagnostics, names: &[Node], path: &str) -> Comm {
        let first = Comm(FIRST + self.made);
        for (index, value) in names.iter().enumerate() {
            self.enter(out, (value, false), &format!("{path}.new[{index}]"), Kind::Endpoint);
        }
        first
    }

    /// The communicator that a statement makes, under `new`.
    pub(super) fn make(
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

    /// The communicator of this name is freed, or was not made.
    pub(super) fn end(&mut self, name: Option<&str>) {
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

/// Refuses an endpoint where a communicator of processes is needed.
pub(super) fn of_processes(out: &mut Diagnostics, node: &Node, path: &str, named: Named) {
    if named.kind == Kind::Endpoint {
        wrong_kind(out, node, path, "communicators and windows are made from those of processes");
    }
}

pub(super) fn wrong_kind(out: &mut Diagnostics, node: &Node, path: &str, allowed: &str) {
    let (span, name) = node.get("comm").map_or((node.span, "0"), |value| {
        (value.span, value.text().unwrap_or("a communicator of every job"))
    });
    let (at, found) = (format!("{path}.comm"), format!("`{}` is none of these", quote(name)));
    out.push(Diagnostic::error(&codes::COMMUNICATOR, span, at, found, allowed));
}
