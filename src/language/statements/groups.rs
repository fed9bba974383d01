//! Which ranks a communicator has, as far as the text tells them: the groups of an intercommunicator
//! that share a rank are refused before anything runs, and a communicator that some of its ranks free
//! and others never do is told, since `MPI_Comm_free` is a call of
//! all of them.
//!
//! A communicator is known by what made it, which each of its ranks says: the n-th duplicate or split
//! of its parent, or a list of ranks. What comes out of an intercommunicator is not followed; there
//! the library says at its place in the run what is wrong.

use std::collections::{BTreeMap, BTreeSet};

use super::making::ROWS;
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics};
use form::json::Node;

/// Origin of a communicator.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Birth {
    /// With the job, by its number.
    Job(usize),
    /// The n-th call that all ranks of the parent make.
    Dup(usize, u32),
    /// The same, with its color.
    Split(usize, u32, u64),
    /// A list of ranks of the parent, and a tag.
    Listed(usize, Vec<u64>, u64),
}

/// Number of the communicator that has the ranks in reverse order.
/// Encoding: every job has it under this number.
const REVERSED: usize = 2;

/// A leader that makes an intercommunicator.
struct Meeting<'a> {
    node: &'a Node,
    path: String,
    own: usize,
    peer: usize,
    rank: u32,
}

/// All communicators of a program; each comes after its parent.
struct Known<'a> {
    births: Vec<Birth>,
    numbers: BTreeMap<Birth, usize>,
    /// Those that take part, each with its key, as they say it.
    said: Vec<BTreeMap<u32, i64>>,
    /// Those that free it, each with its statement.
    freed: Vec<BTreeMap<u32, (&'a Node, String)>>,
    meetings: Vec<Meeting<'a>>,
}

/// Reports intercommunicators whose groups share a rank, and communicators that not all ranks free.
pub(super) fn check(diagnostics: &mut Diagnostics, lists: &[Node]) {
    let mut statements = lists.iter().filter_map(Node::elements).flatten();
    let asked = ["intercomm_create", "comm_free"];
    if !statements.any(|node| node.word("op").is_some_and(|op| asked.contains(&op))) {
        return;
    }
    // Communicators that are made in loops or conditions are not followed, nor are those whose groups are computed.
    let mut statements = lists.iter().filter_map(Node::elements).flatten();
    if statements.any(|node| makes_inside(node) || is_computed(node)) {
        return;
    }
    let mut known = Known {
        births: Vec::new(),
        numbers: BTreeMap::new(),
        said: Vec::new(),
        freed: Vec::new(),
        meetings: Vec::new(),
    };
    for number in 0..=REVERSED {
        known.number(Birth::Job(number), 0, 0);
    }
    for (rank, list) in (0..).zip(lists) {
        known.read(rank, list);
    }
    let groups = known.groups(u32::try_from(lists.len()).expect("the shape limits the ranks"));
    known.report(diagnostics, &groups);
    known.tell_unfreed(diagnostics);
}

impl<'a> Known<'a> {
    fn number(&mut self, birth: Birth, rank: u32, key: i64) -> usize {
        let next = self.births.len();
        let number = *self.numbers.entry(birth.clone()).or_insert(next);
        if number == next {
            self.births.push(birth);
            self.said.push(BTreeMap::new());
            self.freed.push(BTreeMap::new());
        }
        self.said[number].insert(rank, key);
        number
    }

    /// The communicators of one rank's statements.
    fn read(&mut self, rank: u32, list: &'a Node) {
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        let mut calls: BTreeMap<usize, u32> = BTreeMap::new();
        for (index, node) in list.elements().unwrap_or(&[]).iter().enumerate() {
            let op = node.word("op").unwrap_or_default();
            let Some(parent) = named(&names, node, "comm") else { continue };
            if op == "comm_free" {
                names.retain(|_, number| *number != parent);
                let path = format!("workload.ranks[{rank}][{index}]");
                self.freed[parent].insert(rank, (node, path));
            }
            if op == "intercomm_create"
                && let Some(peer) = named(&names, node, "peer")
            {
                let path = format!("workload.ranks[{rank}][{index}]");
                self.meetings.push(Meeting { node, path, own: parent, peer, rank });
            }
            let Some(birth) = birth(op, node, parent, &mut calls) else { continue };
            let number = self.number(birth, rank, node.integer("key").unwrap_or(0));
            if let Some(name) = node.word("new") {
                names.insert(name, number);
            }
        }
    }

    /// The ranks of each communicator, in order.
    fn groups(&self, size: u32) -> Vec<Vec<u32>> {
        let mut groups: Vec<Vec<u32>> = Vec::with_capacity(self.births.len());
        for (birth, said) in self.births.iter().zip(&self.said) {
            groups.push(match birth {
                Birth::Job(REVERSED) => (0..size).rev().collect(),
                Birth::Job(_) => (0..size).collect(),
                Birth::Dup(parent, _) => groups[*parent].clone(),
                Birth::Split(parent, ..) => {
                    let inside = |rank: &u32| Some((*said.get(rank)?, *rank));
                    let mut inside: Vec<_> = groups[*parent].iter().filter_map(inside).collect();
                    inside.sort_by_key(|(key, _)| *key);
                    inside.into_iter().map(|(_, rank)| rank).collect()
                }
                Birth::Listed(parent, ranks, _) => {
                    ranks.iter().filter_map(|rank| at(&groups[*parent], *rank)).collect()
                }
            });
        }
        groups
    }

    /// Warns of each communicator that some of the ranks which made it free, and others never do.
    fn tell_unfreed(&self, diagnostics: &mut Diagnostics) {
        for (said, freed) in self.said.iter().zip(&self.freed) {
            let Some((rank, (node, path))) = freed.first_key_value() else { continue };
            let others = said.keys().copied().filter(|rank| !freed.contains_key(rank));
            let others: Vec<u32> = others.collect();
            if others.is_empty() {
                continue;
            }
            let ranks = if others.len() == 1 { "rank" } else { "ranks" };
            let found = format!(
                "rank {rank} frees the communicator, and {ranks} {} of it never",
                words(&others)
            );
            let allowed = "MPI_Comm_free is a call of all ranks of the communicator";
            let span = node.get("comm").map_or(node.span, |name| name.span);
            let at = format!("{path}.comm");
            let one = Diagnostic::error(&codes::FREED_BY_SOME, span, at, found, allowed);
            let help = "other libraries may wait for all of them: add `comm_free` to the others";
            diagnostics.push(one.warning().help(help));
        }
    }

    /// Leaders that name each other belong together, in the order of their calls.
    fn report(&self, diagnostics: &mut Diagnostics, groups: &[Vec<u32>]) {
        let mut open: BTreeMap<_, Vec<&Meeting<'_>>> = BTreeMap::new();
        for one in &self.meetings {
            let own = &groups[one.own];
            let other = at(&groups[one.peer], one.says("remote_leader"));
            let (Some(other), true) = (other, at(own, one.says("leader")) == Some(one.rank)) else {
                continue;
            };
            let waiting = open.entry((other, one.rank, one.peer, one.says("tag"))).or_default();
            if waiting.is_empty() {
                open.entry((one.rank, other, one.peer, one.says("tag"))).or_default().push(one);
                continue;
            }
            let first = waiting.remove(0);
            let theirs = &groups[first.own];
            let known: BTreeSet<u32> = theirs.iter().copied().collect();
            if let Some(both) = own.iter().find(|rank| known.contains(rank)) {
                diagnostics.push(overlap(*both, (first, theirs), (one, own)));
            }
        }
    }
}

impl Meeting<'_> {
    fn says(&self, key: &str) -> u64 {
        self.node.count(key).unwrap_or(0)
    }
}

/// The communicator under `key`; none where it is not followed.
fn named(names: &BTreeMap<&str, usize>, node: &Node, key: &str) -> Option<usize> {
    let Some(value) = node.get(key) else { return Some(0) };
    match value.text() {
        Some(name) => names.get(name).copied(),
        None => usize::try_from(value.as_count()).ok(),
    }
}

/// Whether a loop or a condition has statements that make or free communicators.
fn makes_inside(node: &Node) -> bool {
    let lists = ["do", "then", "else"].into_iter().filter_map(|key| node.get(key)?.elements());
    let makes = |node: &Node| ROWS.iter().any(|row| row.form.name == node.required_word("op"));
    lists.flatten().any(|node| makes(node) || makes_inside(node))
}

/// Whether a leader of an intercommunicator is computed.
fn is_computed(node: &Node) -> bool {
    let leaders = ["leader", "remote_leader"].into_iter().filter_map(|key| node.get(key));
    leaders.into_iter().any(|leader| leader.text().is_some())
}

/// The communicator that a statement makes, if it is followed; `calls` counts those of all ranks of a communicator.
fn birth(op: &str, node: &Node, parent: usize, calls: &mut BTreeMap<usize, u32>) -> Option<Birth> {
    if op == "comm_create_group" {
        let ranks = node.get("ranks").and_then(Node::elements).unwrap_or(&[]);
        // A group that is computed is not followed.
        if ranks.iter().any(|rank| rank.text().is_some()) {
            return None;
        }
        let ranks = ranks.iter().map(Node::as_count).collect();
        return Some(Birth::Listed(parent, ranks, node.count("tag").unwrap_or(0)));
    }
    if !matches!(op, "comm_dup" | "comm_idup" | "comm_split") {
        return None;
    }
    let call = calls.entry(parent).or_default();
    *call += 1;
    if matches!(op, "comm_dup" | "comm_idup") {
        return Some(Birth::Dup(parent, *call));
    }
    // A computed key or color is not followed.
    if node.get("key").is_some_and(|key| key.text().is_some()) {
        return None;
    }
    let color = node.get("color").filter(|color| color.text().is_none())?;
    Some(Birth::Split(parent, *call, color.as_count()))
}

fn at(group: &[u32], rank: u64) -> Option<u32> {
    group.get(usize::try_from(rank).ok()?).copied()
}

/// Some ranks, the first few of many.
fn words(ranks: &[u32]) -> String {
    let shown: Vec<String> = ranks.iter().take(8).map(u32::to_string).collect();
    let more = if ranks.len() > shown.len() { ", ..." } else { "" };
    format!("{}{more}", shown.join(", "))
}

fn overlap(both: u32, first: (&Meeting<'_>, &[u32]), second: (&Meeting<'_>, &[u32])) -> Diagnostic {
    let ((one, own), (other, theirs)) = (first, second);
    let span = |one: &Meeting<'_>| one.node.get("comm").map_or(one.node.span, |node| node.span);
    let found = format!("rank {both} is in both groups of the intercommunicator");
    let allowed = "its two groups share no rank";
    Diagnostic::error(
        &codes::CONTRADICTION,
        span(one),
        format!("{}.comm", one.path),
        found,
        allowed,
    )
    .related(span(other), format!("the other group has ranks {}", words(theirs)))
    .help(format!("this group has ranks {}; leave rank {both} out of one", words(own)))
}
