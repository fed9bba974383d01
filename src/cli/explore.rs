//! `mpisim explore` and `mpisim replay`: every order of events, or many, and one again.
//!
//! | exit code | means |
//! |---|---|
//! | 0 | every order ends well; or none that was drawn failed, which is said to be no proof |
//! | 1 | a failure was found, or a branch was never reached that a check must reach |
//! | 5 | nothing was found, but a budget, the memory or a run's most steps cut the exploration off |

mod document;
mod outcome;
mod words;

use outcome::{Job, Report, Verdict};

use super::args::{CheckFormat, ExploreArguments, OrderStrategy, ReplayArguments};
use super::output::Output;
use super::scenario::{load, request};
use super::signals::Interrupt;
use super::terminal::{Failure, Outcome, Problem, Terminal, print};
use ::explore::registry::{self, Entry};
use ::explore::scenario::Unfit;
use ::explore::{
    self, Explored, Failed, MayFail, Options, Size, Stopped, Strategy, Subject, Token, drawing,
};
use experiment::plan::Plan;
use form::codes;
use form::diagnostic::quote;
use runtime::explore::Stop;
use runtime::faults::Allowed;
use shipped::SHIPPED;
use units::Bytes;

/// Explores.
pub(super) fn explore(terminal: Terminal, arguments: &ExploreArguments) -> Outcome {
    let Some(name) = &arguments.subject else {
        print(&words::list(&registry::entries(SHIPPED)))?;
        return Ok(0);
    };
    let mut options = options(arguments)?;
    let job = resolve(terminal, name, arguments)?;
    options.faults = may_fail(terminal, &job, options.faults)?;
    let dot = arguments.dot.as_ref().map(|path| Output::new("--dot", path, &job.files));
    let dot = dot.transpose()?;
    let interrupt = Interrupt::listen(terminal, "not every order was tried".to_owned());
    options.stop = Some(Stop(interrupt.for_ever()));
    #[expect(clippy::disallowed_types, reason = "for a reader's eyes, on standard error only")]
    let began = std::time::Instant::now();
    let mut found = job.subject.explore(&options);
    let took = began.elapsed();
    if let (Some((entry, planted, size)), false) = (&job.protocol, interrupt.came()) {
        let build = |size| Some(entry.subject(size, *planted));
        explore::smallest(&mut found, *size, entry.least, &options, build);
    }
    let own = job.protocol.as_ref().map(|(entry, _, size)| (entry.reaches)(*size));
    let reaches = [own.unwrap_or_default(), options.faults.reaches()].concat();
    let verdict = judge(&found, &options, &reaches);
    let tokens = found.failures.iter().map(|failed| token(&job, &options, failed)).collect();
    let report = Report { job: &job, options: &options, found: &found, reaches, verdict, tokens };
    print(&match arguments.format {
        CheckFormat::Human => words::report(&report),
        CheckFormat::Json => document::report(&report),
    })?;
    if let Some(output) = &dot {
        draw(terminal, output, &found)?;
    }
    terminal.note(&words::pace(&found, took));
    if found.stopped == Some(Stopped::Asked) {
        return Ok(interrupt.stopped());
    }
    if verdict == Verdict::CutOff {
        let problem = Problem::new(&codes::NOT_ALL_ORDERS, words::why_cut_off(&found));
        terminal.problem(&problem.help(words::help_cut_off(&found, options.reduce)));
    }
    Ok(verdict.exit_code())
}

/// The faults to explore: those of the options, else those of the fault plan.
fn may_fail(terminal: Terminal, job: &Job, asked: MayFail) -> Result<MayFail, Failure> {
    if asked == MayFail::default() {
        return job.planned.clone().map_err(|why| unfit(&job.name, &why));
    }
    if job.planned.as_ref().is_ok_and(|planned| *planned == MayFail::default()) {
        return Ok(asked);
    }
    let option = if asked.crash { "--crash" } else { "--faults" };
    terminal.note(&format!("`{option}` is explored instead of the scenario's own fault plan"));
    Ok(asked)
}

fn unfit(name: &str, why: &Unfit) -> Failure {
    let problem = Problem::new(&codes::USAGE, format!("`{}`: {why}", quote(name)));
    problem.help(why.help()).into()
}

fn judge(found: &Explored, options: &Options, reaches: &[&str]) -> Verdict {
    let met = found.sometimes.named();
    let was_met = |branch: &&str| met.iter().any(|(name, count)| name == branch && *count > 0);
    if !found.failures.is_empty() {
        Verdict::Failed
    } else if found.stopped.is_some() || found.unfinished > 0 {
        Verdict::CutOff
    } else if !reaches.iter().all(was_met) {
        Verdict::Vacuous
    } else if options.strategy == Strategy::Exhaustive {
        Verdict::Verified
    } else {
        Verdict::Bounded
    }
}

fn draw(terminal: Terminal, output: &Output, found: &Explored) -> Result<(), Failure> {
    if let Some(failed) = found.failures.first() {
        output.write(drawing::dot(failed).as_bytes())?;
    } else {
        let shown = output.path().display().to_string();
        terminal.note(&format!("`{}` is not written: there is no way to a failure", quote(&shown)));
    }
    Ok(())
}

fn token(job: &Job, options: &Options, failed: &Failed) -> Token {
    let first = match (&job.protocol, failed.size) {
        (Some((entry, planted, _)), Some(size)) => entry.subject(size, *planted).digest(),
        _ => job.subject.digest(),
    };
    Token {
        subject: job.name.clone(),
        size: failed.size,
        faults: options.faults,
        seed: options.seed,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        first,
        last: failed.end,
        choices: failed.choices.clone(),
    }
}

/// The job of a name: a protocol's, else a scenario's.
fn resolve(terminal: Terminal, name: &str, arguments: &ExploreArguments) -> Result<Job, Failure> {
    let usage = |what: String, help: &str| Err(Problem::new(&codes::USAGE, what).help(help).into());
    match registry::find(name, SHIPPED) {
        Ok((entry, planted)) => {
            if !arguments.changes.set.is_empty() || arguments.changes.models.is_some() {
                let what =
                    format!("`--set` and `--models` change a scenario; `{name}` is a protocol");
                return usage(what, "size its job by `--ranks` and `--ops`");
            }
            let default = 2.clamp(entry.least, entry.most);
            let (ranks, ops) = (arguments.ranks.unwrap_or(default), arguments.ops.unwrap_or(1));
            let size = checked(&entry, Size { ranks, ops })?;
            let subject = entry.subject(size, planted);
            let protocol = Some((entry, planted, size));
            let (name, none) = (name.to_owned(), Ok(MayFail::default()));
            Ok(Job { name, protocol, subject, planned: none, files: Vec::new() })
        }
        Err(unknown) if !is_scenario(name) => {
            let what = format!("there is no protocol and no scenario `{}`", quote(name));
            let help = unknown.near.map_or_else(
                || "`mpisim explore` lists the protocols, `mpisim list` the scenarios".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            Err(Problem::new(&codes::NO_FILE, what).help(help).into())
        }
        Err(_) if arguments.ranks.is_some() || arguments.ops.is_some() => usage(
            "`--ranks` and `--ops` size the job of a protocol; a scenario has its own".to_owned(),
            "change the scenario by `--set PATH=VALUE`",
        ),
        Err(_) => {
            let (plan, subject) = scenario(terminal, name, &arguments.changes)?;
            let (planned, files) = (explore::scenario::may_fail(&plan), plan.files);
            Ok(Job { name: name.to_owned(), protocol: None, subject, planned, files })
        }
    }
}

fn is_scenario(name: &str) -> bool {
    let shipped = name.strip_prefix("scenarios/").unwrap_or(name);
    let shipped = shipped.strip_suffix(".json").unwrap_or(shipped);
    std::fs::symlink_metadata(name).is_ok() || SHIPPED.scenarios.find(shipped).is_some()
}

fn scenario(
    terminal: Terminal,
    name: &str,
    changes: &super::args::Changes,
) -> Result<(Plan, Box<dyn Subject>), Failure> {
    let plan = load(terminal, &request(name, changes, None)?)?;
    let subject = explore::scenario::subject(&plan).map_err(|why| unfit(name, &why))?;
    Ok((plan, subject))
}

fn checked(entry: &Entry, size: Size) -> Result<Size, Failure> {
    let within = |what: &str, value: u32, least: u32, most: u32| {
        if (least..=most).contains(&value) {
            return Ok(());
        }
        let what = format!("`--{what} {value}`: `{}` takes {least} to {most}", entry.name);
        Err(Failure::from(Problem::new(&codes::USAGE, what)))
    };
    within("ranks", size.ranks, entry.least, entry.most)?;
    within("ops", size.ops, 1, explore::MOST_OPS)?;
    Ok(size)
}

/// The faults that links may cause, from the words on the command line.
fn packets(given: &[String]) -> Result<Allowed, Failure> {
    let mut allowed = Allowed::default();
    for one in given {
        let refuse = || {
            let what = format!("`--faults {}` is no fault", quote(one));
            let help = "write `loss=N`, `duplication=N` or `reordering=N` with N from 1 to 255";
            Failure::from(Problem::new(&codes::USAGE, what).help(help))
        };
        let (what, number) = one.split_once('=').ok_or_else(refuse)?;
        let number: u8 = number.parse().ok().filter(|&n| n > 0).ok_or_else(refuse)?;
        match what {
            "loss" => allowed.losses = number,
            "duplication" => allowed.repeats = number,
            "reordering" => allowed.overtakings = number,
            _ => return Err(refuse()),
        }
    }
    Ok(allowed)
}

fn options(arguments: &ExploreArguments) -> Result<Options, Failure> {
    let wrong =
        |what: String, help: &str| Failure::from(Problem::new(&codes::USAGE, what).help(help));
    let faults = MayFail { crash: arguments.crash, packets: packets(&arguments.faults)? };
    let mut options = Options { faults, reduce: arguments.reduce, ..Options::default() };
    options.seed = arguments.seed.unwrap_or(options.seed);
    options.strategy = match (arguments.strategy, arguments.depth) {
        (OrderStrategy::Pct, depth) => Strategy::Pct { depth: depth.unwrap_or(3) },
        (_, Some(_)) => {
            return Err(wrong(
                "`--depth` is an option of `--strategy pct`".to_owned(),
                "leave it out",
            ));
        }
        (OrderStrategy::Exhaustive, None) => Strategy::Exhaustive,
        (OrderStrategy::Walk, None) => Strategy::Walk,
    };
    for one in &arguments.budget {
        let help = "write `states=N`, `schedules=N` or `steps=N` with a whole number from 1 on";
        let refuse = || wrong(format!("`--budget {}` is no budget", quote(one)), help);
        let (what, number) = one.split_once('=').ok_or_else(refuse)?;
        let number: u32 = number.parse().ok().filter(|&n| n > 0).ok_or_else(refuse)?;
        match what {
            "states" => options.states = number as usize,
            "schedules" => options.schedules = number,
            "steps" => options.steps = number as usize,
            _ => return Err(refuse()),
        }
    }
    if let Some(text) = &arguments.memory {
        let memory: Bytes = text.parse().map_err(|why| {
            wrong(format!("`--memory {}`: {why}", quote(text)), "write it as `512 MiB`")
        })?;
        options.memory = usize::try_from(memory.as_u64()).unwrap_or(usize::MAX);
    }
    Ok(options)
}

/// Replays a token.
pub(super) fn replay(terminal: Terminal, arguments: &ReplayArguments) -> Outcome {
    let token: Token = arguments.token.parse().map_err(|why: explore::TokenError| {
        let problem = Problem::new(&codes::USAGE, why.to_string());
        Failure::from(problem.help("copy the whole word that `mpisim explore` printed"))
    })?;
    let other = |what: String| Failure::from(Problem::new(&codes::TOKEN, what));
    let here = env!("CARGO_PKG_VERSION");
    if token.version != here {
        let what =
            format!("the token was made by version {}, this is {here}", quote(&token.version));
        return Err(other(what));
    }
    let subject = subject_of(terminal, &token, arguments)?;
    if subject.digest() != token.first {
        let name = quote(arguments.scenario.as_deref().unwrap_or(&token.subject));
        return Err(other(format!("`{name}` is not the job that the token was made of")));
    }
    let replayed = subject.replay(&token.choices, token.faults).map_err(|(step, open)| {
        other(format!("step {step} of the token is choice {}, of {open}", token.choices[step]))
    })?;
    if replayed.end != token.last {
        return Err(other("the run leads to another state than the token says".to_owned()));
    }
    print(&match arguments.format {
        CheckFormat::Human => words::replayed(&token, &replayed),
        CheckFormat::Json => document::replayed(&token, &replayed),
    })?;
    Ok(u8::from(replayed.class.is_some()))
}

fn subject_of(
    terminal: Terminal,
    token: &Token,
    arguments: &ReplayArguments,
) -> Result<Box<dyn Subject>, Failure> {
    let Some(size) = token.size else {
        let name = arguments.scenario.as_ref().unwrap_or(&token.subject);
        return Ok(scenario(terminal, name, &arguments.changes)?.1);
    };
    if let Some(scenario) = &arguments.scenario {
        let what =
            format!("the token is of protocol `{}`, not of `{}`", token.subject, quote(scenario));
        return Err(Problem::new(&codes::TOKEN, what).into());
    }
    let (entry, planted) = registry::find(&token.subject, SHIPPED).map_err(|_| {
        let what =
            format!("the token is of protocol `{}`, which is not here", quote(&token.subject));
        Failure::from(Problem::new(&codes::TOKEN, what))
    })?;
    let size = checked(&entry, size)?;
    Ok(entry.subject(size, planted))
}
