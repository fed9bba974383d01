//! `mpisim sensitivity`: which results depend on numbers without a measurement.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::args::{CheckFormat, SensitivityArguments};
use super::crash::{command_line, internal};
use super::output::Output;
use super::points::{jobs, progress};
use super::programs;
use super::scenario::{load, request};
use super::show::counted;
use super::signals::Interrupt;
use super::terminal::{Failure, Outcome, Problem, Terminal, print};
use experiment::claim::figures::Figure as Wanted;
use experiment::dependence::Dependences;
use experiment::plan::{Plan, Request};
use experiment::results::{ClaimStatus, Dependence, RunResult};
use experiment::run::{self, RunError, RunOptions};
use experiment::sensitivity::{
    Effect, End, Uncertain, changed, effect, elasticity, halfway, uncertain, varied,
};
use experiment::store::create_folder_of;
use form::codes;
use form::shape::nearest;
use report::figure::{Axis, Scale, Swing, Tornado};
use report::numbers::{change, in_words};
use report::table::Table;

/// Bars of the figure.
const BARS: usize = 20;

/// How often the range between two values is halved to find where a verdict changes.
const HALVINGS: u32 = 4;

/// Changes below this part of the greatest one are no bar.
const VISIBLE: f64 = 0.01;

/// A number and what its two ends do; or why they are refused.
struct Varied {
    number: Uncertain,
    low: Result<Effect, String>,
    high: Result<Effect, String>,
}

impl Varied {
    fn ends(&self) -> [&Result<Effect, String>; 2] {
        [&self.low, &self.high]
    }

    fn effects(&self) -> impl Iterator<Item = &Effect> {
        self.ends().into_iter().flatten()
    }

    /// The greater of both changes, whatever its direction.
    fn swing(&self) -> f64 {
        self.effects().map(|effect| effect.change.abs()).fold(0.0, f64::max)
    }

    /// The claims that one of its ends moves.
    fn moved(&self) -> BTreeSet<String> {
        self.effects().flat_map(|effect| &effect.claims).map(|(id, _)| id.clone()).collect()
    }

    fn elasticity(&self) -> Option<f64> {
        elasticity(&self.number, self.low.as_ref().ok()?, self.high.as_ref().ok()?)
    }

    /// Claims that another value moves, each once with its new verdict and the end.
    fn claims(&self) -> String {
        let end = |(name, effect): (&str, &Result<Effect, String>)| {
            let claims = effect.iter().flat_map(|effect| &effect.claims);
            claims.map(|(id, status)| format!("{id} {} ({name})", verdict(*status))).collect()
        };
        let each: Vec<Vec<String>> =
            [("low", &self.low), ("high", &self.high)].into_iter().map(end).collect();
        each.concat().join(", ")
    }
}

fn verdict(status: ClaimStatus) -> &'static str {
    match status {
        ClaimStatus::Pass => "holds",
        ClaimStatus::Deviates => "deviates",
    }
}

/// Runs the scenario with each number at both ends of its range.
pub(super) fn sensitivity(terminal: Terminal, arguments: &SensitivityArguments) -> Outcome {
    let request = request(&arguments.scenario, &arguments.changes, None)?;
    let plan = load(terminal, &request)?;
    let numbers = uncertain(&plan, arguments.all);
    if numbers.is_empty() {
        let what = format!("`{}` assumes no number with a range", plan.name);
        let help = "vary those with a source, too, by `--all`";
        return Err(Problem::new(&codes::NOTHING_TO_VARY, what).help(help).into());
    }
    let named = arguments.figure.as_ref();
    let named = named.map(|path| Output::new("--figure", path, &plan.files)).transpose()?;
    programs::tell(terminal, [&plan]);
    let advice = "nothing is kept; run the command again".to_owned();
    let interrupt = Interrupt::listen(terminal, advice);
    let bar = progress(terminal, 1 + 2 * numbers.len());
    let work = Work { arguments, request: &request, interrupt: &interrupt };
    let base = work.simulate(&plan)?;
    let metric = metric(arguments, &plan, &base)?;
    let figure = named.map_or_else(|| default_figure(&plan), Ok)?;
    bar.inc(1);
    let mut all = Vec::new();
    for number in numbers {
        let low = work.end(&base, &number, End::Low, &metric)?;
        bar.inc(1);
        let high = work.end(&base, &number, End::High, &metric)?;
        bar.inc(1);
        all.push(Varied { number, low, high });
    }
    bar.finish_and_clear();
    if arguments.save {
        let path = work.dependences(&plan, &base, &all)?.write()?;
        terminal.note(&format!("what claims hang on is in {}", path.display()));
    }
    all.sort_by(|left, right| right.swing().total_cmp(&left.swing()));
    figure.write(tornado(&plan, &metric, &all).to_svg()?.as_bytes())?;
    print(&match arguments.format {
        CheckFormat::Human => human(&plan, &metric, &all),
        CheckFormat::Json => document(&plan, &metric, &base, &all),
    })?;
    terminal.note(&format!("the figure is {}", figure.path().display()));
    Ok(0)
}

/// Where the figure goes if no option says so; its folder is made.
fn default_figure(plan: &Plan) -> Result<Output, Failure> {
    let path = Path::new("results").join(format!("{}-sensitivity.svg", plan.name));
    create_folder_of(&path)?;
    Output::new("--figure", &path, &plan.files)
}

/// The metric to watch: that of the option, else of the first figure, else the main metric.
fn metric(
    arguments: &SensitivityArguments,
    plan: &Plan,
    base: &RunResult,
) -> Result<String, Failure> {
    let mut known: Vec<&str> = Vec::new();
    for metric in base.points.iter().flat_map(|point| &point.metrics) {
        if !known.contains(&metric.name.as_str()) {
            known.push(&metric.name);
        }
    }
    if let Some(asked) = &arguments.metric {
        if known.contains(&asked.as_str()) {
            return Ok(asked.clone());
        }
        let what = format!("no point has a metric `{asked}`; there are {}", known.join(", "));
        let problem = Problem::new(&codes::USAGE, what);
        return Err(match nearest(asked, known.iter().copied()) {
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None => problem,
        }
        .into());
    }
    let drawn = plan.figures.iter().find_map(|figure| match figure {
        Wanted::Curves(curves) => Some(curves.y.as_str()),
        Wanted::Stack(_) | Wanted::Messages(_) => None,
    });
    let main = drawn.filter(|name| known.contains(name)).or_else(|| known.first().copied());
    main.map(str::to_owned).ok_or_else(|| {
        let what = format!("`{}` failed at every point: nothing can vary", plan.name);
        Problem::new(&codes::STOPPED, what).into()
    })
}

/// Data that all runs of the command share.
struct Work<'a> {
    arguments: &'a SensitivityArguments,
    request: &'a Request,
    interrupt: &'a Interrupt,
}

impl Work<'_> {
    fn end(
        &self,
        base: &RunResult,
        number: &Uncertain,
        end: End,
        metric: &str,
    ) -> Result<Result<Effect, String>, Failure> {
        let plan = match varied(self.request, number, end) {
            Ok(plan) => plan,
            Err(why) => return Ok(Err(why)),
        };
        let result = self.simulate(&plan)?;
        Ok(effect(base, &result, metric).ok_or_else(|| "every point failed".to_owned()))
    }

    /// Which claims hang on which numbers, and where their verdicts change.
    fn dependences(
        &self,
        plan: &Plan,
        base: &RunResult,
        all: &[Varied],
    ) -> Result<Dependences, Failure> {
        let mut claims = Vec::new();
        for one in all {
            for id in one.moved() {
                let same =
                    [self.edge(base, one, End::Low, &id)?, self.edge(base, one, End::High, &id)?];
                let Uncertain { path, value, low, high, .. } = &one.number;
                claims.push(Dependence {
                    claim: id,
                    number: path.clone(),
                    value: value.clone(),
                    range: [low.clone(), high.clone()],
                    same,
                });
            }
        }
        Ok(Dependences {
            schema: 1,
            scenario: plan.name.clone(),
            digest: base.digest.clone(),
            varied: all.len(),
            claims,
        })
    }

    /// The value nearest to an end of the range at which a claim still has the verdict of `base`, as far
    /// as it was looked for.
    fn edge(&self, base: &RunResult, one: &Varied, end: End, id: &str) -> Result<String, Failure> {
        let Varied { number, low, high } = one;
        let (effect, last) = match end {
            End::Low => (low, &number.low),
            End::High => (high, &number.high),
        };
        let moves = |effect: &Effect| effect.claims.iter().any(|(moved, _)| moved == id);
        if !effect.as_ref().is_ok_and(moves) {
            return Ok(last.clone());
        }
        let Some([low, value, high]) = number.known else { return Ok(number.value.clone()) };
        let mut same = value;
        let mut other = if end == End::Low { low } else { high };
        for _ in 0..HALVINGS {
            let Some(middle) = halfway(same, other) else { break };
            let Ok(plan) = changed(self.request, &number.path, &middle.to_string()) else { break };
            let result = self.simulate(&plan)?;
            let of = |result: &RunResult| {
                result.claims.iter().find(|claim| claim.id == id).map(|claim| claim.status)
            };
            if of(&result) == of(base) { same = middle } else { other = middle }
        }
        Ok(same.to_string())
    }

    fn simulate(&self, plan: &Plan) -> Result<RunResult, Failure> {
        let stop = &self.interrupt.stop;
        let options = RunOptions { jobs: jobs(self.arguments.jobs), explain: false, stop };
        run::run(plan, options, &[], &mut |_| Ok(())).map_err(|error| match error {
            _ if self.interrupt.came() => Failure::Said(self.interrupt.stopped()),
            error @ (RunError::Internal { .. } | RunError::Stopped { .. } | RunError::Store(_)) => {
                let command = ["sensitivity".to_owned(), self.arguments.scenario.clone()];
                internal(&error.to_string(), &command_line(command)).into()
            }
        })
    }
}

fn percent(effect: &Result<Effect, String>) -> String {
    match effect {
        Ok(effect) if effect.same => "same".to_owned(),
        Ok(effect) => change(1.0, 1.0 + effect.change, 2),
        Err(_) => "refused".to_owned(),
    }
}

fn human(plan: &Plan, metric: &str, all: &[Varied]) -> String {
    let moving = |one: &&Varied| one.effects().any(|effect| !effect.same);
    let rows: Vec<&Varied> = all.iter().filter(moving).collect();
    let columns = ["number", "value", "low", "high", "at low", "at high", "elasticity"];
    let row = |one: &&Varied| {
        let Uncertain { path, value, low, high, .. } = &one.number;
        let path = path.trim_start_matches("machine.").to_owned();
        let elasticity = one.elasticity().map_or_else(String::new, |value| format!("{value:+.3}"));
        let (at_low, at_high) = (percent(&one.low), percent(&one.high));
        vec![path, value.clone(), low.clone(), high.clone(), at_low, at_high, elasticity]
    };
    let table = Table {
        caption: format!("change of {} (mean over points)", in_words(metric)),
        columns: columns.map(str::to_owned).to_vec(),
        rows: rows.iter().map(row).collect(),
    };
    let mut text = format!("{}\n{}\n\n{}", plan.title, plan.name, table.to_text());
    let still = all.len() - rows.len();
    let numbers = counted(still, "number");
    let _ = writeln!(text, "\n{numbers} of {} move no event of this scenario", all.len());
    for one in all {
        for (end, why) in ["low", "high"].into_iter().zip(one.ends()) {
            if let Err(why) = why {
                let _ = writeln!(text, "{} at its {end} value: {why}", one.number.path);
            }
        }
    }
    text.push_str(&claims_text(all));
    text
}

fn claims_text(all: &[Varied]) -> String {
    let moved: Vec<String> = all
        .iter()
        .filter(|one| one.effects().any(|effect| !effect.claims.is_empty()))
        .map(|one| format!("  {}: {}\n", one.number.path, one.claims()))
        .collect();
    if moved.is_empty() {
        return "no claim changes its verdict\n".to_owned();
    }
    format!("claims that change their verdict\n{}", moved.concat())
}

fn document(plan: &Plan, metric: &str, base: &RunResult, all: &[Varied]) -> String {
    let effect = |end: &Result<Effect, String>| match end {
        Ok(effect) => {
            let claims: Map<String, Value> = effect
                .claims
                .iter()
                .map(|(id, status)| (id.clone(), verdict(*status).into()))
                .collect();
            json!({
                "change": effect.change, "most": effect.most, "same": effect.same,
                "claims": claims,
            })
        }
        Err(why) => json!({ "refused": why }),
    };
    let number = |one: &Varied| {
        let Uncertain { path, value, low, high, source, .. } = &one.number;
        let mut out = json!({
            "path": path, "value": value, "low": low, "high": high, "source": source,
            "at_low": effect(&one.low), "at_high": effect(&one.high),
        });
        if let Some(elasticity) = one.elasticity() {
            out["elasticity"] = elasticity.into();
        }
        out
    };
    let numbers: Vec<Value> = all.iter().map(number).collect();
    let document = json!({
        "schema": 1, "scenario": plan.name, "version": base.version, "digest": base.digest,
        "metric": metric, "numbers": numbers,
    });
    format!("{document:#}\n")
}

fn tornado(plan: &Plan, metric: &str, all: &[Varied]) -> Tornado {
    let greatest = all.iter().map(Varied::swing).fold(0.0, f64::max);
    let moving = all.iter().filter(|one| one.swing() > greatest * VISIBLE);
    let change =
        |effect: &Result<Effect, String>| effect.as_ref().ok().map(|effect| effect.change * 100.0);
    let bar = |one: &Varied| {
        let Uncertain { path, low, high, .. } = &one.number;
        let label = format!("{}  {low} to {high}", path.trim_start_matches("machine."));
        Swing { label, low: change(&one.low), high: change(&one.high) }
    };
    let mut bars: Vec<Swing> = moving.take(BARS).map(bar).collect();
    if bars.is_empty() {
        bars = all.iter().take(1).map(bar).collect();
    }
    let label = format!("Change of {}", in_words(metric));
    Tornado {
        title: format!("What moves {}: {}", in_words(metric), plan.title),
        axis: Axis { label, unit: "%".to_owned(), scale: Scale::Linear },
        bars,
    }
}
