//! `mpisim run FILE.goal --loggops ...`: a schedule under the LogGOPS model.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

use super::args::{Format, RunArguments};
use super::terminal::{Failure, Outcome, Problem, Terminal, print};
use super::trace::load;
use form::codes;
use form::diagnostic::quote;
use form::shape::nearest;
use runtime::loggops::schedule::{ANY, Kind, Schedule};
use runtime::loggops::{self as model, Parameters, Replayed, Stuck, Waits};
use workloads::import::Format as TraceFormat;

/// Operations that never end and are listed one by one.
const STUCK_SHOWN: usize = 10;
/// The meaning of the letters, in the order of the model's name, and the defaults of LogGOPSim.
const LETTERS: [(&str, &str, u64); 6] = [
    ("L", "latency", 2500),
    ("o", "overhead of the CPU for a message", 1500),
    ("g", "gap of the NIC between messages", 1000),
    ("G", "gap of the NIC for a byte", 6),
    ("O", "overhead of the CPU for a byte", 0),
    ("S", "longest eager message in bytes", 65_535),
];

/// The parameters, if the command is about LogGOPS; refuses options that do not go together. `format` is
/// that of the file, where it is a trace.
pub(super) fn asked(
    arguments: &RunArguments,
    format: Option<&TraceFormat>,
) -> Result<Option<Parameters>, Failure> {
    let RunArguments { scenario, loggops, machine, .. } = arguments;
    let option = loggops.as_ref().map(|_| "--loggops").or(machine.as_ref().map(|_| "--machine"));
    let Some(format) = format else {
        let Some(option) = option else { return Ok(None) };
        return Err(no_trace(option, scenario, machine.as_deref()));
    };
    if loggops.is_some() && !format.schedules {
        let what = format!("`--loggops` replays schedules, and this is {}", format.title);
        let help = "`--machine NAME` replays it; `mpisim list` names the machines";
        return Err(Problem::new(&codes::USAGE, what).help(help).into());
    }
    if option.is_none() {
        return Err(needs_an_option(format));
    }
    let Some(text) = loggops else { return Ok(None) };
    if let Some(other) = other_option(arguments) {
        let what = format!("`--loggops` and `{other}` do not go together");
        let help = "a replay under LogGOPS is one run, and keeps no results";
        return Err(Problem::new(&codes::USAGE, what).help(help).into());
    }
    parameters(text)
        .map(Some)
        .map_err(|(what, help)| Problem::new(&codes::LOGGOPS, what).help(help).into())
}

fn no_trace(option: &str, scenario: &str, machine: Option<&str>) -> Failure {
    let what = format!("`{option}` is for schedules and traces, and `{}` is none", quote(scenario));
    let help = match machine {
        Some(name) => format!("a scenario changes its machine by `--set machine={}`", quote(name)),
        None => "schedules are files in GOAL, such as `a.goal`, which begin with `num_ranks N`"
            .to_owned(),
    };
    Problem::new(&codes::USAGE, what).help(help).into()
}

fn needs_an_option(format: &TraceFormat) -> Failure {
    let (what, help) = if format.schedules {
        (
            "a schedule needs `--loggops L=N,o=N,...` or `--machine NAME`".to_owned(),
            format!("LogGOPSim's defaults are `--loggops {}`", defaults()),
        )
    } else {
        let what = format!("a trace in {} needs `--machine NAME`", format.title);
        (what, "`mpisim list` names the machines".to_owned())
    };
    Problem::new(&codes::USAGE, what).help(help).into()
}

/// An option that means nothing to a replay under LogGOPS.
fn other_option(arguments: &RunArguments) -> Option<&'static str> {
    let given = [
        ("--set", !arguments.changes.set.is_empty()),
        ("--models", arguments.changes.models.is_some()),
        ("--seed", arguments.seed.is_some()),
        ("--out", arguments.out.is_some()),
        ("--jobs", arguments.jobs.is_some()),
        ("--resume", arguments.resume),
        ("--format osu", arguments.format == Format::Osu),
    ];
    given.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
}

fn defaults() -> String {
    LETTERS.map(|(letter, _, value)| format!("{letter}={value}")).join(",")
}

/// Reads `L=2500,o=1500,...`; an error has a remedy.
fn parameters(text: &str) -> Result<Parameters, (String, String)> {
    let example = || format!("write `--loggops {}`", defaults());
    let mut values = [None; LETTERS.len()];
    for one in text.split(',') {
        let Some((key, value)) = one.split_once('=') else {
            return Err((format!("`{}` is no KEY=NUMBER", quote(one)), example()));
        };
        let Some(place) = LETTERS.iter().position(|(letter, ..)| *letter == key.trim()) else {
            return Err(unknown(key.trim()));
        };
        let (letter, meaning, _) = LETTERS[place];
        let number = value.trim().parse::<u64>().map_err(|_| {
            let value = quote(value.trim());
            let what = format!("`{letter}={value}`: the {meaning} is {}", wrong(value.as_str()));
            (what, format!("it is a whole number from 0 to {}, without a unit", u64::MAX))
        })?;
        if let Some(first) = values[place].replace(number) {
            let what = format!("`{letter}` is given twice, with {first} and {number}");
            return Err((what, "keep one of them; the letters differ in case: o is not O".into()));
        }
    }
    let missing: Vec<&str> = LETTERS
        .iter()
        .zip(&values)
        .filter(|(_, value)| value.is_none())
        .map(|((letter, ..), _)| *letter)
        .collect();
    let [
        Some(latency),
        Some(overhead),
        Some(gap),
        Some(gap_per_byte),
        Some(overhead_per_byte),
        Some(eager_max),
    ] = values
    else {
        let count = if missing.len() == 1 { "is" } else { "are" };
        let what = format!("{} {count} missing in `--loggops`", missing.join(", "));
        return Err((what, format!("all six are needed; {}", example())));
    };
    Ok(Parameters { latency, overhead, gap, gap_per_byte, overhead_per_byte, eager_max })
}

/// A number out of range, in words.
fn wrong(value: &str) -> &'static str {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match value.strip_prefix('-') {
        Some(rest) if digits(rest) => "negative",
        _ if digits(value) => "too large",
        _ => "no whole number",
    }
}

fn unknown(key: &str) -> (String, String) {
    let letters = LETTERS.map(|(letter, ..)| letter);
    let known = letters.join(", ");
    let what = format!("there is no parameter `{}`; there are {known}", quote(key));
    let other_case = letters.iter().find(|letter| letter.eq_ignore_ascii_case(key)).copied();
    let help = match other_case.or_else(|| nearest(key, letters)) {
        Some(near) => format!("did you mean `{near}`? The letters differ in case"),
        None => format!("write `--loggops {}`", defaults()),
    };
    (what, help)
}

/// Replays a schedule under LogGOPS and prints when its ranks end.
pub(super) fn replay(
    terminal: Terminal,
    arguments: &RunArguments,
    format: &TraceFormat,
    parameters: Parameters,
) -> Outcome {
    let trace = load(terminal, format, Path::new(&arguments.scenario))?;
    let schedule = trace.schedule().expect("the format was checked for it");
    let replayed = model::replay(schedule, parameters).map_err(|why| {
        let help = "the longest computations and messages, times `--loggops`, decide it";
        Problem::new(&codes::PRODUCT, why.to_string()).help(help)
    })?;
    let exit = verdict(terminal, schedule, &replayed);
    print(&match arguments.format {
        Format::Json => as_json(schedule, &replayed),
        Format::Csv => as_csv(&replayed),
        Format::Table | Format::Osu => as_table(&replayed),
    })?;
    Ok(exit)
}

/// Tells what did not end; the exit code.
fn verdict(terminal: Terminal, schedule: &Schedule, replayed: &Replayed) -> u8 {
    let (lost, stuck): (Vec<&Stuck>, Vec<&Stuck>) =
        replayed.stuck.iter().partition(|one| one.waits == Waits::Nothing);
    let listed = |all: &[&Stuck]| {
        let mut text = String::new();
        for one in all.iter().take(STUCK_SHOWN) {
            let _ = write!(text, "\n  {}", in_words(schedule, one));
        }
        if all.len() > STUCK_SHOWN {
            let _ = write!(text, "\n  and {} more", all.len() - STUCK_SHOWN);
        }
        text
    };
    if !lost.is_empty() {
        let what = format!("{} messages were never received:{}", lost.len(), listed(&lost));
        terminal.warning(&Problem::new(&codes::STOPPED, what));
    }
    if stuck.is_empty() {
        return 0;
    }
    let what = format!("{} operations never end:{}", stuck.len(), listed(&stuck));
    let help = "nothing more can happen: a message has no receive, or the other way round";
    terminal.problem(&Problem::new(&codes::STOPPED, what).help(help));
    1
}

fn in_words(schedule: &Schedule, stuck: &Stuck) -> String {
    let op = &schedule.ops()[stuck.op as usize];
    let line = schedule.line(stuck.op).unwrap_or_default();
    let label = schedule.label(stuck.op).map_or_else(String::new, |label| format!("{label}: "));
    let any = |number: u32| if number == ANY { -1 } else { i64::from(number) };
    let what = match op.kind {
        Kind::Send => format!("send {}b to {} tag {}", op.amount, op.peer, op.tag),
        Kind::Receive => {
            format!("recv {}b from {} tag {}", op.amount, any(op.peer), any(op.tag))
        }
        Kind::Compute => format!("calc {}", op.amount),
    };
    let waits = match stuck.waits {
        Waits::Dependencies(1) => "waits for 1 dependency".to_owned(),
        Waits::Dependencies(count) => format!("waits for {count} dependencies"),
        Waits::Message => "waits for a message".to_owned(),
        Waits::Receive => "waits for its receive (it is longer than S)".to_owned(),
        Waits::Nothing => "was never received".to_owned(),
    };
    format!("rank {}, line {line}: {label}{what}: {waits}", op.rank)
}

/// The document that `--format json` prints.
#[derive(Serialize)]
struct Document {
    schema: u32,
    ranks: Vec<RankEnd>,
    /// The operations that remain when none can proceed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stuck: Vec<StuckEntry>,
}

#[derive(Serialize)]
struct RankEnd {
    rank: u32,
    end_time: u64,
}

#[derive(Serialize)]
struct StuckEntry {
    rank: u32,
    line: Option<u32>,
    what: String,
}

fn as_json(schedule: &Schedule, replayed: &Replayed) -> String {
    let ends = (0_u32..).zip(&replayed.end_times);
    let stuck = replayed.stuck.iter().map(|one| StuckEntry {
        rank: schedule.ops()[one.op as usize].rank,
        line: schedule.line(one.op),
        what: in_words(schedule, one),
    });
    let document = Document {
        schema: 1,
        ranks: ends.map(|(rank, end)| RankEnd { rank, end_time: *end }).collect(),
        stuck: stuck.collect(),
    };
    let text = serde_json::to_string(&document).expect("numbers and texts are JSON");
    format!("{text}\n")
}

fn as_csv(replayed: &Replayed) -> String {
    let mut text = String::from("rank,end_time\n");
    for (rank, end) in replayed.end_times.iter().enumerate() {
        let _ = writeln!(text, "{rank},{end}");
    }
    text
}

fn as_table(replayed: &Replayed) -> String {
    let latest = replayed.end_times.iter().max().copied().unwrap_or_default();
    let width = latest.to_string().len().max("end time".len());
    let mut text = format!("{:>8}  {:>width$}\n", "rank", "end time");
    for (rank, end) in replayed.end_times.iter().enumerate() {
        let _ = writeln!(text, "{rank:>8}  {end:>width$}");
    }
    let (ranks, events) = (replayed.end_times.len(), replayed.events);
    let _ = writeln!(text, "{ranks} ranks, {events} events, the last ends at {latest}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, says: &str) {
        let (what, help) = parameters(text).expect_err("it is wrong");
        assert!(format!("{what}; {help}").contains(says), "{what}; {help}");
    }

    #[test]
    fn all_six_are_read() {
        let wanted = Parameters {
            latency: 1,
            overhead: 2,
            gap: 3,
            gap_per_byte: 4,
            overhead_per_byte: 5,
            eager_max: 6,
        };
        assert_eq!(parameters("L=1,o=2,g=3,G=4,O=5,S=6"), Ok(wanted));
        assert_eq!(parameters("S=6, O=5, G=4,g=3,o=2,L=1"), Ok(wanted));
    }

    #[test]
    fn wrong_ones_are_told_with_what_is_right() {
        check("L=1,o=2", "g, G, O, S are missing");
        check("L=1,o=2,g=3,G=4,O=5", "S is missing");
        check("L=1,l=2", "did you mean `L`?");
        check("P=1", "there is no parameter `P`; there are L, o, g, G, O, S");
        check("L=-1", "`L=-1`: the latency is negative");
        check("L=99999999999999999999", "is too large");
        check("L=1us", "is no whole number");
        check("L=1,L=2", "`L` is given twice, with 1 and 2");
        check("L", "`L` is no KEY=NUMBER");
        check("", "`` is no KEY=NUMBER");
    }
}
