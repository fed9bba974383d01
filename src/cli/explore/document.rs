//! An exploration for programs: one JSON document, without a time.

use serde_json::{Value, json};

use super::outcome::Report;
use ::explore::{Failed, Replayed, Size, StoryStep, Strategy, Token};
use runtime::faults::Allowed;

/// The version of the documents.
const SCHEMA: u32 = 1;

/// Everything that was found.
pub(super) fn report(report: &Report<'_>) -> String {
    let (found, options) = (report.found, report.options);
    let size = report.job.protocol.as_ref().map(|(_, _, size)| *size);
    let (strategy, depth) = match options.strategy {
        Strategy::Exhaustive => ("exhaustive", None),
        Strategy::Walk => ("walk", None),
        Strategy::Pct { depth } => ("pct", Some(depth)),
    };
    let branches: serde_json::Map<String, Value> = found
        .sometimes
        .named()
        .into_iter()
        .map(|(name, count)| {
            let required = report.reaches.contains(&name);
            (name.to_owned(), json!({ "count": count, "required": required }))
        })
        .collect();
    let failures = found.failures.iter().zip(&report.tokens);
    let document = json!({
        "schema": SCHEMA,
        "subject": report.job.name,
        "ranks": size.map(|size| size.ranks),
        "ops": size.map(|size| size.ops),
        "version": env!("CARGO_PKG_VERSION"),
        "strategy": strategy,
        "depth_of_priorities": depth,
        "reduced": options.reduce,
        "crash": options.faults.crash,
        "packets": packets(options.faults.packets),
        "seed": options.seed,
        "verdict": report.verdict.name(),
        "complete": options.strategy == Strategy::Exhaustive && found.stopped.is_none(),
        "states": found.states,
        "transitions": found.transitions,
        "depth": found.depth,
        "finals": found.finals,
        "diagnosed": found.diagnosed,
        "schedules": found.schedules,
        "unfinished": found.unfinished,
        "branches": branches,
        "diagnoses": found.diagnoses,
        "failures": failures.map(|(one, token)| failure(one, token)).collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}

fn packets(Allowed { losses, repeats, overtakings }: Allowed) -> Value {
    json!({ "losses": losses, "duplications": repeats, "reorderings": overtakings })
}

fn failure(failed: &Failed, token: &Token) -> Value {
    json!({
        "class": failed.class,
        "explanation": failed.explanation,
        "ranks": failed.size.map(|size| size.ranks),
        "ops": failed.size.map(|size| size.ops),
        "steps": steps(&failed.steps),
        "point_of_no_return": failed.point_of_no_return,
        "forced": failed.forced,
        "token": token.to_string(),
    })
}

fn steps(steps: &[StoryStep]) -> Vec<Value> {
    steps.iter().map(|step| json!({ "words": step.words, "position": step.position })).collect()
}

/// A run that was replayed.
pub(super) fn replayed(token: &Token, replayed: &Replayed) -> String {
    let document = json!({
        "schema": SCHEMA,
        "subject": token.subject,
        "ranks": token.size.map(|Size { ranks, .. }| ranks),
        "ops": token.size.map(|Size { ops, .. }| ops),
        "version": token.version,
        "crash": token.faults.crash,
        "packets": packets(token.faults.packets),
        "class": replayed.class,
        "explanation": replayed.explanation,
        "steps": steps(&replayed.steps),
        "end": format!("{:032x}", replayed.end),
    });
    format!("{document:#}\n")
}
