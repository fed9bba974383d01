//! Decision tables in a scenario: rules by which the library chooses the algorithm of an operation, its own ones or
//! those that a library publishes.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::presets::PRESETS;
use collectives::hierarchy;
use collectives::selection::{Bounds, Facts};
use collectives::{Algorithm, Kind};
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics, Span};
use form::json::{self, Node};
use form::shape::nearest;
use units::Bytes;

/// Which ranks combine among themselves before one of them speaks for them.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Over {
    /// None: all ranks are alike.
    #[default]
    Ranks,
    /// The endpoints of a process.
    Processes,
    /// The ranks of a node.
    Nodes,
}

impl Over {
    pub(super) fn named(word: Option<&str>) -> Self {
        match word {
            Some("nodes") => Self::Nodes,
            Some("processes") => Self::Processes,
            _ => Self::Ranks,
        }
    }
}

/// The rules of one operation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Table {
    /// The origin of the rules.
    pub origin: Origin,
    /// The rules, in order.
    pub rules: Vec<Written>,
}

/// The origin of rules.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Origin {
    /// Those of the scenario.
    Scenario,
    /// Those of a published table.
    Preset {
        /// The word for it.
        word: &'static str,
        /// The key of its source.
        source: String,
    },
}

/// A rule as it is written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Written {
    /// Where it holds.
    pub bounds: Bounds,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Which ranks combine first, where it says that.
    pub over: Option<Over>,
    /// Bytes of a segment, where it says that.
    pub segment: Option<u64>,
    /// Pairs of messages under way at once, where it says that.
    pub outstanding: Option<u32>,
    /// The algorithm of the table, where this one stands for it.
    pub stands_for: Option<String>,
    /// Whether it is a guess.
    pub guess: bool,
    /// A source of its own.
    pub source: Option<String>,
}

impl Table {
    /// The rules that a list at a path has for an operation; those that no call could follow are reported.
    ///
    /// # Panics
    ///
    /// When the nodes were not checked against their shape.
    pub(super) fn read(
        diagnostics: &mut Diagnostics,
        (kind, path): (Kind, &str),
        origin: Origin,
        rules: &[Node],
    ) -> Self {
        let mut read = |(place, node): (usize, &Node)| {
            Written::read(diagnostics, kind, node, &format!("{path}[{place}]"))
        };
        let rules = rules.iter().enumerate().filter_map(&mut read).collect();
        Self { origin, rules }
    }
}

impl Written {
    fn read(diagnostics: &mut Diagnostics, kind: Kind, node: &Node, path: &str) -> Option<Self> {
        let bytes = |key| node.bytes(key).map(Bytes::as_u64);
        let name = node.required_word("algorithm");
        let Some(algorithm) = Algorithm::named(kind, name) else {
            let span = node.get("algorithm").map_or(node.span, |named| named.span);
            diagnostics.push(unknown(span, format!("{path}.algorithm"), kind, name));
            return None;
        };
        let rule = Self {
            bounds: Bounds {
                up_to: bytes("up_to"),
                total_up_to: bytes("total_up_to"),
                ranks_up_to: node.small("ranks_up_to"),
                ranks_per_node_up_to: node.small("ranks_per_node_up_to"),
                power_of_two: node.flag("power_of_two"),
                commutative: node.flag("commutative"),
                enough_elements: node.flag("enough_elements"),
            },
            algorithm,
            over: node.word("over").map(|word| Over::named(Some(word))),
            segment: bytes("segment"),
            outstanding: node.small("outstanding"),
            stands_for: node.word("stands_for").map(str::to_owned),
            guess: node.flag("guess").unwrap_or(false),
            source: node.word("source").map(str::to_owned),
        };
        rule.check(diagnostics, node, path);
        Some(rule)
    }

    /// Reports what the operation or the algorithm has no use for.
    fn check(&self, diagnostics: &mut Diagnostics, node: &Node, path: &str) {
        let (kind, name) = (self.algorithm.kind(), self.algorithm.name());
        let useless = [
            (
                "over",
                self.over.is_some_and(|over| over != Over::Ranks)
                    && hierarchy::phases(kind).is_none(),
                format!("there is no version of `{}` in steps", kind.name()),
                "`barrier`, `bcast`, `reduce` and `allreduce` have one",
            ),
            (
                "segment",
                self.segment.is_some() && !self.algorithm.has_segments(),
                format!("`{name}` has no segments"),
                "leave it out, or choose an algorithm in segments",
            ),
            (
                "outstanding",
                self.outstanding.is_some() && self.algorithm != Algorithm::AlltoallScattered,
                format!("`{name}` does not limit its messages"),
                "leave it out, or choose `scattered`",
            ),
        ];
        for (key, _, found, allowed) in useless.into_iter().filter(|(_, useless, ..)| *useless) {
            let span = node.get(key).map_or(node.span, |given| given.span);
            let code = &codes::CONTRADICTION;
            diagnostics.push(Diagnostic::error(
                code,
                span,
                format!("{path}.{key}"),
                found,
                allowed,
            ));
        }
    }
}

/// The report of a word that is no algorithm of an operation.
pub(super) fn unknown(span: Span, path: String, kind: Kind, name: &str) -> Diagnostic {
    let names: Vec<&str> = Algorithm::of(kind).map(Algorithm::name).collect();
    let one = Diagnostic::error(
        &codes::UNKNOWN_WORD,
        span,
        path,
        format!("`{name}` is no algorithm of `{}`", kind.name()),
        format!("allowed are {}", names.join(", ")),
    );
    match nearest(name, names.iter().copied()) {
        Some(near) => one.help(format!("did you mean `{near}`?")),
        None => one,
    }
}

impl fmt::Display for Written {
    /// Its bounds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bounds { up_to, total_up_to, ranks_up_to, ranks_per_node_up_to, .. } = self.bounds;
        let Bounds { power_of_two, commutative, enough_elements, .. } = self.bounds;
        let bytes = |bytes: u64| Bytes::new(bytes);
        let either = |is: Option<bool>, yes: &str, no: &str| {
            is.map(|is| if is { yes } else { no }.to_owned())
        };
        let bounds = [
            up_to.map(|most| format!("up to {}", bytes(most))),
            total_up_to.map(|most| format!("all blocks up to {}", bytes(most))),
            ranks_up_to.map(|most| format!("up to {most} ranks")),
            ranks_per_node_up_to.map(|most| format!("up to {most} ranks of a node")),
            either(power_of_two, "a power of two", "no power of two"),
            either(commutative, "commutative", "not commutative"),
            either(enough_elements, "enough elements", "too few elements"),
        ];
        let bounds: Vec<String> = bounds.into_iter().flatten().collect();
        if bounds.is_empty() { f.write_str("always") } else { f.write_str(&bounds.join(", ")) }
    }
}

/// The facts that rules look at, in words.
pub fn in_words(facts: &Facts) -> String {
    let bytes = facts.bytes.map(|bytes| format!("{}, ", Bytes::new(bytes)));
    let total = facts.total.filter(|_| facts.total != facts.bytes);
    let total = total.map(|total| format!("{} in all, ", Bytes::new(total)));
    let (ranks, here) = (facts.ranks, facts.ranks_per_node);
    let (bytes, total) = (bytes.unwrap_or_default(), total.unwrap_or_default());
    format!("{bytes}{total}{ranks} ranks, {here} of a node at most")
}

/// The tables of a library, by operation.
type Tables = Vec<(Kind, Arc<Table>)>;

/// The tables of a preset, one for each operation that it knows.
pub fn preset(word: &str) -> &'static [(Kind, Arc<Table>)] {
    static READ: [OnceLock<Tables>; PRESETS.len()] = [const { OnceLock::new() }; PRESETS.len()];
    let known = PRESETS.iter().zip(&READ).find(|(preset, _)| preset.word == word);
    known.map_or(&[], |(preset, read)| read.get_or_init(|| tables(preset.word, preset.text)))
}

fn tables(word: &'static str, text: &'static str) -> Tables {
    let mut diagnostics = Diagnostics::new();
    let tree = json::decode(&mut diagnostics, word, text.as_bytes())
        .and_then(|source| json::parse(&mut diagnostics, source))
        .expect("a preset is JSON");
    let collectives = tree.get("collectives").expect("a preset has collectives");
    let source = tree.required_word("source");
    let mut table = |kind: Kind| {
        let rules = collectives.get(kind.name())?.elements()?;
        let origin = Origin::Preset { word, source: source.to_owned() };
        let table = Table::read(&mut diagnostics, (kind, kind.name()), origin, rules);
        Some((kind, Arc::new(table)))
    };
    let tables = Kind::ALL.into_iter().filter_map(&mut table).collect();
    assert!(!diagnostics.has_errors(), "{word}: a preset has rules that a call can follow");
    tables
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets::Preset;

    #[test]
    fn every_preset_chooses_for_every_operation_it_knows_and_ends_without_a_bound_on_size() {
        for Preset { word, .. } in PRESETS {
            let tables = preset(word);
            assert!(tables.len() >= 7, "{word} knows few operations");
            for (kind, table) in tables {
                let open = |rule: &Written| {
                    let Bounds { up_to, total_up_to, ranks_up_to, .. } = rule.bounds;
                    up_to.is_none() && total_up_to.is_none() && ranks_up_to.is_none()
                };
                assert!(table.rules.iter().any(open), "{word}: {kind:?}");
                assert!(table.rules.iter().all(|rule| rule.algorithm.kind() == *kind));
            }
        }
    }
}
