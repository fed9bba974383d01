//! An exploration for people.

use std::fmt::Write as _;
use std::time::Duration;

use super::outcome::{Report, Verdict};
use ::explore::registry::Entry;
use ::explore::{Explored, Failed, MayFail, Replayed, Size, Stopped, StoryStep, Strategy, Token};
use runtime::faults::Allowed;

/// Advice about an exploration that was cut off: options that were not given yet.
pub(super) fn help_cut_off(found: &Explored, reduce: bool) -> String {
    let less = "take fewer ranks or operations";
    let mut ways = match found.stopped {
        Some(Stopped::Memory) => {
            vec!["raise `--memory`", less, "send smaller messages: payloads count"]
        }
        Some(Stopped::States) => vec!["raise `--budget`", less],
        Some(Stopped::Asked) => vec!["run it again", less],
        None => return format!("raise `--budget`, or {less}"),
    };
    if !reduce {
        ways.push("leave orders out by `--reduce`");
    }
    let last = ways.pop().expect("there are two or more");
    format!("{}, or {last}", ways.join(", "))
}

/// The protocols, for `mpisim explore` without a name.
pub(super) fn list(entries: &[Entry]) -> String {
    let width = entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    let mut text = String::from("protocols (R ranks by --ranks, K operations by --ops):\n");
    for Entry { name, about, least, most, .. } in entries {
        let _ = writeln!(text, "  {name:width$}  {about} (R from {least} to {most})");
    }
    text
}

/// Everything that was found.
pub(super) fn report(report: &Report<'_>) -> String {
    let mut text = head(report);
    let found = report.found;
    for failed in &found.failures {
        let _ = writeln!(text, "\n{}", failure(failed));
    }
    for failed in found.failures.iter().zip(&report.tokens) {
        let _ = writeln!(text, "replay the {}:\n  mpisim replay {}", failed.0.class, failed.1);
    }
    for diagnosis in &found.diagnoses {
        let after = if report.options.faults.crash { "after a crash" } else { "given up" };
        let _ = write!(text, "\n{after}, at the nearest end:\n{diagnosis}");
    }
    let _ = writeln!(text, "\n{}", verdict(report));
    text
}

fn head(report: &Report<'_>) -> String {
    let found = report.found;
    let about = match &report.job.protocol {
        Some((entry, _, Size { ranks, ops })) => {
            format!("{}\nR = {ranks}, K = {ops}, ", entry.about)
        }
        None => String::new(),
    };
    let order = order(report);
    let mut text = format!("{}: {about}{order}\n\n", report.job.name);
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "{name:14}{value}");
    };
    let drawn = report.options.strategy != Strategy::Exhaustive;
    if drawn {
        row("schedules", grouped(found.schedules));
        row("steps", grouped(found.transitions));
        row("longest", format!("{} steps", grouped(found.depth)));
        row("ended", grouped(found.finals));
    } else {
        row("states", grouped(found.states));
        row("transitions", grouped(found.transitions));
        row("depth", format!("{} steps", grouped(found.depth)));
        let differ = if found.finals > 1 { ", which differ in what they leave behind" } else { "" };
        row("final states", format!("{}{differ}", grouped(found.finals)));
        row("memory", format!("about {} KiB", grouped(found.memory >> 10)));
    }
    if report.options.faults != MayFail::default() {
        row("diagnosed", grouped(found.diagnosed));
    }
    if found.unfinished > 0 {
        row("cut off", grouped(found.unfinished));
    }
    let met = found
        .sometimes
        .named()
        .into_iter()
        .filter(|(name, count)| *count > 0 || report.reaches.contains(name));
    let met: Vec<String> =
        met.map(|(name, count)| format!("{name} {}", grouped_u64(count))).collect();
    row("branches", if met.is_empty() { "none".to_owned() } else { met.join(", ") });
    text
}

fn order(report: &Report<'_>) -> String {
    let options = report.options;
    let order = match options.strategy {
        Strategy::Exhaustive if options.reduce => {
            "every order of events, but for steps that commute with all others".to_owned()
        }
        Strategy::Exhaustive => "every order of events".to_owned(),
        Strategy::Walk => format!("random orders of events, seed {}", options.seed),
        Strategy::Pct { depth } => {
            format!("orders by random priorities, depth {depth}, seed {}", options.seed)
        }
    };
    let crash = if options.faults.crash { "; one process may die at any moment" } else { "" };
    format!("{order}{crash}{}", packets(options.faults.packets))
}

/// The faults that links may cause, in words.
fn packets(allowed: Allowed) -> String {
    let Allowed { losses, repeats, overtakings } = allowed;
    let kinds = [("lost", losses), ("duplicated", repeats), ("overtaken", overtakings)];
    let words: Vec<String> = kinds
        .iter()
        .filter(|(_, most)| *most > 0)
        .map(|(word, most)| format!("{most} {word}"))
        .collect();
    if words.is_empty() { String::new() } else { format!("; packets: up to {}", words.join(", ")) }
}

fn failure(failed: &Failed) -> String {
    let size = failed.size.map_or_else(String::new, |Size { ranks, ops }| {
        format!(" with {ranks} ranks and {ops} operations")
    });
    let steps = failed.steps.len();
    let mut text = format!("{}{size}, after {steps} steps:\n", failed.class);
    text += &way(&failed.steps, failed.point_of_no_return);
    text += failed.explanation.trim_end();
    text.push('\n');
    match failed.forced.as_deref() {
        None => {}
        Some([]) => text += "no step must be forced: everybody in turn comes to it\n",
        Some(forced) => {
            let _ = writeln!(text, "only these must be forced, everybody in turn does the rest:");
            for step in forced {
                let _ = writeln!(text, "  {step}");
            }
        }
    }
    text
}

fn way(steps: &[StoryStep], point: Option<usize>) -> String {
    let mut text = String::new();
    if point == Some(0) {
        text += "  from the start there is no good end\n";
    }
    for (number, step) in (1..).zip(steps) {
        let place = step.position.map_or_else(String::new, |place| format!("  (line {place})"));
        let mark = if point == Some(number) { "  <- no way back from here" } else { "" };
        let _ = writeln!(text, "{number:5}  {}{place}{mark}", step.words);
    }
    text
}

fn verdict(report: &Report<'_>) -> String {
    let found = report.found;
    match report.verdict {
        Verdict::Verified if !report.options.faults.packets.is_nothing() && found.diagnosed > 0 => {
            "verified: every order ends well, or names the queue pair that gave up".to_owned()
        }
        Verdict::Verified if report.options.faults.crash => {
            "verified: every order ends well, or names the process that died and who waits for it"
                .to_owned()
        }
        Verdict::Verified => {
            "verified: every order ends well, and no state is without a way to a good end"
                .to_owned()
        }
        Verdict::Bounded => format!(
            "bounded, not complete: nothing was found in {} schedules, which is no proof",
            grouped(found.schedules)
        ),
        Verdict::Failed => {
            let classes: Vec<&str> = found.failures.iter().map(|one| one.class.as_str()).collect();
            format!("failed: {}", classes.join(", "))
        }
        Verdict::Vacuous => {
            let met = found.sometimes.named();
            let reached = |branch: &str| met.iter().any(|(name, n)| *name == branch && *n > 0);
            let never: Vec<&str> =
                report.reaches.iter().copied().filter(|branch| !reached(branch)).collect();
            format!(
                "failed: the check is vacuous, it never reached {}, which this job must reach",
                never.join(", ")
            )
        }
        Verdict::CutOff => {
            format!("bounded, not complete: nothing was found, but {}", why_cut_off(found))
        }
    }
}

/// Why an exploration did not come to its end.
pub(super) fn why_cut_off(found: &Explored) -> String {
    match found.stopped {
        Some(stopped) => stopped_in_words(stopped).to_owned(),
        None => format!("{} schedules took more steps than they may", grouped(found.unfinished)),
    }
}

/// How fast it was: for the eyes only.
pub(super) fn pace(found: &Explored, took: Duration) -> String {
    let seconds = took.as_secs_f64();
    let (many, what) =
        if found.states > 0 { (found.states, "states") } else { (found.schedules, "schedules") };
    #[expect(clippy::cast_precision_loss, reason = "a rate for a reader")]
    let rate = many as f64 / seconds.max(1e-9);
    format!("{seconds:.2} s, {rate:.0} {what}/s")
}

/// A run that was replayed.
pub(super) fn replayed(token: &Token, replayed: &Replayed) -> String {
    let size = token.size.map_or_else(String::new, |Size { ranks, ops }| {
        format!(" with {ranks} ranks and {ops} operations")
    });
    let mut text = format!("{}{size}, {} steps:\n", token.subject, replayed.steps.len());
    text += &way(&replayed.steps, None);
    text += replayed.explanation.trim_end();
    let _ = writeln!(
        text,
        "\n\n{}",
        match &replayed.class {
            Some(class) => format!("failed: {class}, as the token says"),
            None => "nothing failed".to_owned(),
        }
    );
    text
}

fn grouped(value: usize) -> String {
    grouped_u64(value as u64)
}

fn grouped_u64(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Why an exploration did not come to its end, as a reader knows it.
const fn stopped_in_words(stopped: Stopped) -> &'static str {
    match stopped {
        Stopped::States => "there are more states than the budget allows",
        Stopped::Memory => "the search needs more memory than it may take",
        Stopped::Asked => "it was asked to stop",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_groups_of_three() {
        for (value, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(value), text);
        }
    }
}
