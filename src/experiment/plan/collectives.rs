//! Which algorithm a collective of a plan has where rules choose it, and why.

use super::values::{Plan, Point};
use form::machine::Confidence;
use language::collectives::Reason;
use language::selection::{self, Origin};

/// The scenario's field that holds the choices of all operations.
pub const PATH: &str = "mpi.collectives";

/// The choice of an algorithm by rules.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Choice {
    /// The scenario's field of the operation.
    pub path: String,
    /// The algorithm.
    pub algorithm: &'static str,
    /// The rule, and what it looked at.
    pub reason: String,
    /// How sure the rule is.
    pub confidence: Confidence,
    /// Where it stands.
    pub source: String,
}

impl Choice {
    fn new(reason: &Reason) -> Self {
        let known = reason.rule.as_ref();
        let (whose, mut source, mut confidence) = match &reason.origin {
            Origin::Scenario => (PATH.to_owned(), "the scenario".to_owned(), Confidence::Chosen),
            Origin::Preset { word, source } => {
                ((*word).to_owned(), source.clone(), Confidence::Spec)
            }
        };
        if let Some((_, rule)) = known {
            source = rule.source.clone().unwrap_or(source);
            confidence = if rule.guess { Confidence::Assumed } else { confidence };
        }
        let rule = match known {
            Some((number, rule)) => format!("rule {number} of {whose} ({rule})"),
            None => format!("no rule of {whose} fits, so the default holds"),
        };
        let stands = known.and_then(|(_, rule)| rule.stands_for.as_ref());
        let stands = stands.map_or_else(String::new, |name| format!("; it stands for `{name}`"));
        Self {
            path: format!("{PATH}.{}", reason.algorithm.kind().name()),
            algorithm: reason.algorithm.name(),
            reason: format!("{rule}: {}{stands}", selection::in_words(&reason.facts)),
            confidence,
            source,
        }
    }
}

/// The choices of all points, each once.
pub fn chosen(plan: &Plan) -> Vec<Choice> {
    let of = |point: &Point| -> Vec<Choice> {
        let ranks = point.ranks();
        let calls = point.workload.collectives().into_iter();
        calls.filter_map(|call| ranks.reason(call)).map(|reason| Choice::new(&reason)).collect()
    };
    let mut all = Vec::new();
    for one in plan.points.iter().flat_map(of) {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

/// The operations whose algorithm a preset of the scenario chooses, by its word.
pub fn of_preset(word: &str) -> impl Iterator<Item = &'static str> {
    selection::preset(word).iter().map(|(kind, _)| kind.name())
}
