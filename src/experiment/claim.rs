//! Claims: what is expected of the points; and [`figures`], what is drawn from them.
//!
//! The forms are described in [`super::schema`]. Here each claim is bound to the points of the
//! sweep by their numbers, so that judging it needs only their metrics.

use std::path::PathBuf;

use super::results::ClaimRole;
use super::schema::{claim_kinds, is_of_account};
use super::shipped::Shipped;
use super::sweep::Sweep;
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics, quote};
use form::json::{Node, Value};
use form::shape::check::{self, check};
use form::shape::read::Tolerance;
use form::shape::{NOTE, Shape, nearest};
use units::parse_quantity;
use workloads::metric::MetricSpec;

pub mod figures;

/// Points that differ in their seed only: their metrics are averaged.
pub type Replicas = Vec<usize>;

/// One claim, bound to the points of its scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Id from the catalogue of claims.
    pub id: String,
    /// The claim in words, where the scenario gives them.
    pub statement: Option<String>,
    /// Whether the model was calibrated on it.
    pub role: ClaimRole,
    /// Document and figure.
    pub source: String,
    /// Why any model would meet it, where the scenario says so.
    pub cannot_fail: Option<String>,
    /// The metric that it is about.
    pub metric: &'static MetricSpec,
    /// The statement of the claim.
    pub kind: ClaimKind,
}

/// The statement of a claim; every case or line must satisfy it.
#[derive(Clone, Debug, PartialEq)]
pub enum ClaimKind {
    /// The metric is `value`, in its own unit, within `tolerance`.
    Value {
        /// The points.
        cases: Vec<Replicas>,
        /// The expected value.
        value: f64,
        /// How far off still counts.
        tolerance: Tolerance,
    },
    /// The metric is strictly below (or above) `value`, in its own unit.
    Bound {
        /// The points.
        cases: Vec<Replicas>,
        /// Below, or above.
        below: bool,
        /// The bound.
        value: f64,
    },
    /// The greatest metric of all points is at most `most` times the least.
    Spread {
        /// The points.
        cases: Vec<Replicas>,
        /// Greatest over least.
        most: f64,
    },
    /// The first point's metric divided by the second's is from `least` to `most`.
    Between {
        /// Both points of each case.
        cases: Vec<(Replicas, Replicas)>,
        /// The least ratio.
        least: f64,
        /// The greatest ratio.
        most: f64,
    },
    /// The first point's metric divided by the second's is `value` within `tolerance`.
    Ratio {
        /// Both points of each case.
        cases: Vec<(Replicas, Replicas)>,
        /// The expected ratio.
        value: f64,
        /// How far off still counts.
        tolerance: Tolerance,
    },
    /// The first point's metric is strictly below (or above) `times` the second's.
    Ordering {
        /// Both points of each case.
        cases: Vec<(Replicas, Replicas)>,
        /// Points by which both sides of each case are divided first; none where they are taken as
        /// they are.
        bases: Vec<(Replicas, Replicas)>,
        /// Below, or above.
        below: bool,
        /// The factor on the second.
        times: f64,
        /// Whether more than half of the cases are enough.
        majority: bool,
    },
    /// From `value` of the axis on, the first stays at or below `times` the second.
    Crossover {
        /// For each case, both points at each value of the axis.
        lines: Vec<Vec<(Replicas, Replicas)>>,
        /// The axis.
        along: Along,
        /// The index of the expected value.
        at: usize,
        /// How far off, along the axis, still counts.
        tolerance: Tolerance,
        /// The factor on the second.
        times: f64,
    },
    /// The ratio of both rises along an axis: by ranks, at least so correlated with it.
    RisingRatio {
        /// For each case, both points at each value of the axis.
        lines: Vec<Vec<(Replicas, Replicas)>>,
        /// The axis.
        along: Along,
        /// The least rank correlation (Spearman's rho).
        least: f64,
    },
    /// The metric has a shape along an axis.
    Trend {
        /// For each case, the point at each value of the axis.
        lines: Vec<Vec<Replicas>>,
        /// The axis.
        along: Along,
        /// The shape.
        shape: Trend,
    },
}

/// The axis that a claim follows.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Along {
    /// Its path.
    pub path: String,
    /// Its values as texts.
    pub values: Vec<String>,
    /// Its values in smallest steps, where they are numbers or quantities.
    pub steps: Vec<Option<u64>>,
}

/// The shape of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trend {
    /// It rises with every step, or from end to end.
    Rises {
        /// Every step, or only the ends.
        every_step: bool,
    },
    /// It falls with every step, or from end to end.
    Falls {
        /// Every step, or only the ends.
        every_step: bool,
    },
    /// Its greatest value is within this of its least.
    Flat(Tolerance),
    /// The growth per step changes most at this value.
    Knee {
        /// The index of the value.
        at: usize,
        /// How far off, along the axis, still counts.
        tolerance: Tolerance,
    },
    /// y(i)/y(i-1) < y(i-1)/y(i-2) - margin at this value.
    Dip {
        /// The index of the value, at least 2.
        at: usize,
        /// By how much more.
        margin: f64,
    },
    /// y(i-1) < y(i-2), and y(i)/y(i-1) < y(i-1)/y(i-2) at this value.
    Drop {
        /// The index of the value, at least 2.
        at: usize,
    },
    /// y(i)/y(0) is `value` times x(i)/x(0).
    Slope {
        /// How many times.
        value: f64,
        /// How far off still counts.
        tolerance: Tolerance,
    },
    /// A straight line through it rises, and explains at least this part of its variance.
    Linear {
        /// The least R^2.
        r_squared: f64,
    },
}

/// Everything that binding a claim needs.
pub struct Binder<'a> {
    /// Where reports go.
    pub diagnostics: &'a mut Diagnostics,
    /// The axes.
    pub sweep: &'a Sweep,
    /// The metrics that the workload measures.
    pub metrics: Vec<&'static MetricSpec>,
    /// The quantities that the workload measures.
    pub workload: figures::Measures,
    /// Where the scenario lies, and the files that it names.
    pub folder: PathBuf,
    /// Files that ship with the program.
    pub shipped: Shipped,
}

/// A choice of one value for some axes: `None` is open.
type Choice = Vec<Option<usize>>;

impl Binder<'_> {
    /// Says that `--set` took values that some of the list under `key` need.
    fn tell_dropped(&mut self, tree: &Node, key: &str, dropped: usize) {
        if dropped == 0 {
            return;
        }
        let span = tree.get(key).map_or(tree.span, |node| node.span);
        let (one, need, they) = match dropped {
            1 => (key.trim_end_matches('s'), "needs", "it is"),
            _ => (key, "need", "they are"),
        };
        let found = format!("{dropped} {one} {need} values that `--set` took from the sweep");
        let allowed = format!("{they} left out");
        self.diagnostics
            .push(Diagnostic::error(&codes::CLAIMS_DROPPED, span, key, found, allowed).warning());
    }

    /// The claims under `claims`, each with its own errors after it was tried.
    pub fn claims(&mut self, tree: &Node, narrowed: bool) -> Vec<Claim> {
        let list = tree.get("claims").and_then(Node::elements).unwrap_or(&[]);
        let mut out = Vec::new();
        let mut dropped = 0;
        let mut known = std::collections::BTreeMap::new();
        for (index, node) in list.iter().enumerate() {
            let path = format!("claims[{index}]");
            self.unique_id(&mut known, node, &path);
            let mark = self.diagnostics.mark();
            let claim = self.claim(node, &path);
            if claim.is_none() && narrowed && self.diagnostics.drop_points(mark) {
                dropped += 1;
            }
            out.extend(claim);
        }
        self.tell_dropped(tree, "claims", dropped);
        out
    }

    fn unique_id<'n>(
        &mut self,
        known: &mut std::collections::BTreeMap<&'n str, form::diagnostic::Span>,
        node: &'n Node,
        path: &str,
    ) {
        let Some(id) = node.get("id") else { return };
        let Some(text) = id.text() else { return };
        if let Some(first) = known.insert(text, id.span) {
            self.diagnostics.push(
                Diagnostic::error(
                    &codes::CLAIM_FORM,
                    id.span,
                    check::join(path, "id"),
                    format!("the id `{}` comes a second time", quote(text)),
                    "each claim has an id of its own",
                )
                .related(first, "it comes first here"),
            );
        }
    }

    fn claim(&mut self, node: &Node, path: &str) -> Option<Claim> {
        let word = claim_kinds().find(|word| node.get(word).is_some())?;
        let metric = self.metric(node, word, path)?;
        let kind = match word {
            "value" => self.value(node, metric, path)?,
            "bound" => self.bound(node, metric, path)?,
            "spread" => self.spread(node, path)?,
            "ratio" => self.ratio(node, path)?,
            "ordering" => self.ordering(node, path)?,
            "crossover" => self.crossover(node, path)?,
            "gap" => self.gap(node, path)?,
            "trend" => self.trend(node, path)?,
            other => unreachable!("the schema has no claim `{other}`"),
        };
        let role = if node.word("role") == Some("input") {
            ClaimRole::Input
        } else {
            ClaimRole::Prediction
        };
        Some(Claim {
            id: node.required_word("id").to_owned(),
            statement: node.word("statement").map(str::to_owned),
            role,
            source: node.required_word("source").to_owned(),
            cannot_fail: node.word("cannot_fail").map(str::to_owned),
            metric,
            kind,
        })
    }

    fn value(&mut self, node: &Node, metric: &MetricSpec, path: &str) -> Option<ClaimKind> {
        let expect = node.get("expect")?;
        let value = self.in_unit(expect.get("value")?, metric, &format!("{path}.expect.value"))?;
        let cases = self.points(node, path)?;
        Some(ClaimKind::Value { cases, value, tolerance: expect.tolerance("tolerance")? })
    }

    /// A value of `metric`, in its unit.
    fn in_unit(&mut self, given: &Node, metric: &MetricSpec, path: &str) -> Option<f64> {
        let shape = match metric.dimension {
            Some(dimension) => Shape::Quantity { dimension, min: 1, max: u64::MAX },
            None => Shape::Ratio { min: 0, max: u64::MAX },
        };
        let before = self.diagnostics.errors();
        check(self.diagnostics, given, &shape, path);
        if self.diagnostics.errors() > before {
            return None;
        }
        let steps = match metric.dimension {
            Some(dimension) => parse_quantity(given.text()?, dimension).ok()?,
            None => given.as_billionths(),
        };
        Some(as_f64(steps) / as_f64(metric.steps_per_unit))
    }

    fn bound(&mut self, node: &Node, metric: &MetricSpec, path: &str) -> Option<ClaimKind> {
        let expect = node.get("expect")?;
        let value = self.in_unit(expect.get("value")?, metric, &format!("{path}.expect.value"))?;
        let below = expect.word("is") == Some("below");
        Some(ClaimKind::Bound { cases: self.points(node, path)?, below, value })
    }

    fn spread(&mut self, node: &Node, path: &str) -> Option<ClaimKind> {
        let most = as_f64(node.get("expect")?.billionths("most")?) / 1e9;
        Some(ClaimKind::Spread { cases: self.points(node, path)?, most })
    }

    /// The points of a claim that compares none.
    fn points(&mut self, node: &Node, path: &str) -> Option<Vec<Replicas>> {
        let cases = self.cases(node, path, None)?;
        Some(cases.iter().map(|case| self.replicas(case)).collect())
    }

    fn ratio(&mut self, node: &Node, path: &str) -> Option<ClaimKind> {
        let expect = node.get("expect")?;
        let cases = self.pairs(node, path, ["of", "to"])?;
        let number = |key: &str| expect.billionths(key).map(|number| as_f64(number) / 1e9);
        if let Some(least) = number("least") {
            return Some(ClaimKind::Between { cases, least, most: number("most")? });
        }
        let value = number("value")?;
        Some(ClaimKind::Ratio { cases, value, tolerance: expect.tolerance("tolerance")? })
    }

    fn ordering(&mut self, node: &Node, path: &str) -> Option<ClaimKind> {
        let expect = node.get("expect")?;
        let cases = self.pairs(node, path, ["of", "to"])?;
        let bases = match (node.get("of_base"), node.get("to_base")) {
            (None, None) => Vec::new(),
            (Some(_), Some(_)) => self.pairs(node, path, ["of_base", "to_base"])?,
            (Some(one), None) | (None, Some(one)) => {
                let found = "one side is divided by another point, the other is not".to_owned();
                self.form(one, path, found, "`of_base` and `to_base` belong together".to_owned());
                return None;
            }
        };
        if !bases.is_empty() && bases.len() != cases.len() {
            let found = format!("{} cases and {} bases", cases.len(), bases.len());
            self.form(node, path, found, "each case has a base".to_owned());
            return None;
        }
        let below = expect.word("is") == Some("below");
        let majority = expect.word("in") == Some("most");
        Some(ClaimKind::Ordering { cases, bases, below, times: times(expect), majority })
    }

    fn crossover(&mut self, node: &Node, path: &str) -> Option<ClaimKind> {
        let expect = node.get("expect")?;
        let axis = self.axis(node, "along", path)?;
        let at = self.value_index(axis, expect.get("value")?, &format!("{path}.expect.value"))?;
        let lines = self.paired_lines(node, axis, path)?;
        let tolerance = expect.tolerance("tolerance")?;
        let along = self.along(axis);
        Some(ClaimKind::Crossover { lines, along, at, tolerance, times: times(expect) })
    }

    fn gap(&mut self, node: &Node, path: &str) -> Option<ClaimKind> {
        let expect = node.get("expect")?;
        let axis = self.axis(node, "along", path)?;
        self.long_enough(expect, axis, "gap", 3, &format!("{path}.expect"))?;
        let lines = self.paired_lines(node, axis, path)?;
        let least = as_f64(expect.billionths("correlation")?) / 1e9;
        Some(ClaimKind::RisingRatio { lines, along: self.along(axis), least })
    }

    /// For each case of `of` and `to`, both points at each value of the axis.
    fn paired_lines(
        &mut self,
        node: &Node,
        axis: usize,
        path: &str,
    ) -> Option<Vec<Vec<(Replicas, Replicas)>>> {
        let (left, right) = self.sides(node, path, ["of", "to"])?;
        let line = |(of, to): (&Choice, &Choice)| {
            let pair = |(of, to): (Choice, Choice)| (self.replicas(&of), self.replicas(&to));
            self.follow(of, axis).into_iter().zip(self.follow(to, axis)).map(pair).collect()
        };
        Some(left.iter().zip(&right).map(line).collect())
    }

    /// Reports an axis of fewer values than what is claimed of it, `what`, needs.
    fn long_enough(
        &mut self,
        expect: &Node,
        axis: usize,
        what: &str,
        least: usize,
        path: &str,
    ) -> Option<()> {
        let count = self.sweep.axes[axis].values.len();
        if count >= least {
            return Some(());
        }
        let found = format!("the axis has {count} values");
        self.form(expect, path, found, format!("`{what}` needs at least {least}"));
        None
    }

    fn trend(&mut self, node: &Node, path: &str) -> Option<ClaimKind> {
        let expect = node.get("expect")?;
        let axis = self.axis(node, "along", path)?;
        let shape = self.shape(expect, axis, &format!("{path}.expect"))?;
        let cases = self.cases(node, path, None)?;
        let line = |case: &Choice| {
            self.follow(case, axis).iter().map(|case| self.replicas(case)).collect()
        };
        let lines = cases.iter().map(line).collect();
        Some(ClaimKind::Trend { lines, along: self.along(axis), shape })
    }

    fn shape(&mut self, expect: &Node, axis: usize, path: &str) -> Option<Trend> {
        let every_step = expect.word("steps") != Some("ends");
        let count = self.sweep.axes[axis].values.len();
        let kind = expect.required_word("shape").to_owned();
        let least = if matches!(&*kind, "knee" | "dip" | "drop" | "linear") { 3 } else { 2 };
        self.long_enough(expect, axis, &kind, least, path)?;
        Some(match kind.as_str() {
            "rises" => Trend::Rises { every_step },
            "falls" => Trend::Falls { every_step },
            "flat" => Trend::Flat(expect.tolerance("within")?),
            "slope" => {
                let value = as_f64(expect.billionths("value")?) / 1e9;
                Trend::Slope { value, tolerance: expect.tolerance("tolerance")? }
            }
            "linear" => {
                self.numeric(expect, axis, path)?;
                Trend::Linear { r_squared: as_f64(expect.billionths("r_squared")?) / 1e9 }
            }
            other => {
                let at = self.value_index(axis, expect.get("at")?, &format!("{path}.at"))?;
                let inside = if other == "knee" { (1..count - 1).contains(&at) } else { at >= 2 };
                if !inside {
                    let found = "the value has too few neighbours on the axis".to_owned();
                    let allowed =
                        if other == "knee" { "one on each side" } else { "two before it" };
                    self.form(expect, path, found, format!("{allowed} are needed"));
                    return None;
                }
                if other == "knee" {
                    Trend::Knee { at, tolerance: expect.tolerance("tolerance")? }
                } else if other == "drop" {
                    Trend::Drop { at }
                } else {
                    let margin = expect.billionths("margin").map_or(0.0, |m| as_f64(m) / 1e9);
                    Trend::Dip { at, margin }
                }
            }
        })
    }

    /// Reports an axis whose values are words: no line can be fitted along it.
    fn numeric(&mut self, expect: &Node, axis: usize, path: &str) -> Option<()> {
        let values = &self.sweep.axes[axis].values;
        let Some(words) = values.iter().find(|value| value.steps.is_none()) else {
            return Some(());
        };
        let found = format!("`{}` on the axis is no number", quote(&words.text));
        self.form(expect, path, found, "`linear` needs numbers or quantities".to_owned());
        None
    }

    fn form(&mut self, node: &Node, path: &str, found: String, allowed: String) {
        let one = Diagnostic::error(&codes::CLAIM_FORM, node.span, path, found, allowed);
        self.diagnostics.push(one);
    }

    fn along(&self, axis: usize) -> Along {
        let axis = &self.sweep.axes[axis];
        Along {
            path: axis.path.clone(),
            values: axis.values.iter().map(|value| value.text.clone()).collect(),
            steps: axis.values.iter().map(|value| value.steps).collect(),
        }
    }

    /// The metric named under `key`.
    fn metric(&mut self, node: &Node, key: &str, path: &str) -> Option<&'static MetricSpec> {
        self.metric_at(node.get(key)?, &check::join(path, key))
    }

    /// The metric that `value`, at `path`, names.
    fn metric_at(&mut self, value: &Node, path: &str) -> Option<&'static MetricSpec> {
        let name = value.text()?;
        let found = self.metric_of(name);
        if found.is_none() {
            let names: Vec<&str> = self.metrics.iter().map(|metric| metric.name).collect();
            self.unknown(value, path, "metric of the workload", &names);
        }
        found
    }

    fn metric_of(&self, name: &str) -> Option<&'static MetricSpec> {
        self.metrics.iter().find(|metric| metric.name == name).copied()
    }

    /// The number of the axis named under `key`.
    fn axis(&mut self, node: &Node, key: &str, path: &str) -> Option<usize> {
        let value = node.get(key)?;
        let name = value.text()?;
        let found = self.sweep.axes.iter().position(|axis| axis.path == name);
        if found.is_none() {
            let names: Vec<&str> = self.sweep.axes.iter().map(|axis| axis.path.as_str()).collect();
            self.unknown(value, &check::join(path, key), "axis of the sweep", &names);
        }
        found
    }

    fn unknown(&mut self, value: &Node, path: &str, what: &str, names: &[&str]) {
        let name = value.text().unwrap_or("");
        let allowed = if names.is_empty() {
            "there is none".to_owned()
        } else {
            format!("allowed are {}", names.join(", "))
        };
        let found = format!("`{}` is no {what}", quote(name));
        let one = Diagnostic::error(&codes::FIGURE, value.span, path, found, allowed);
        if is_of_account(name) {
            self.diagnostics.push(one.help("the scenario must ask for it: `\"account\": true`"));
            return;
        }
        self.diagnostics.push(match nearest(name, names.iter().copied()) {
            Some(near) => one.help(format!("did you mean `{near}`?")),
            None => one,
        });
    }

    fn value_index(&mut self, axis: usize, node: &Node, path: &str) -> Option<usize> {
        let axis = &self.sweep.axes[axis];
        let found = axis.index_of(node);
        if found.is_none() {
            let shown: Vec<&str> =
                axis.values.iter().take(30).map(|value| value.text.as_str()).collect();
            self.diagnostics.push(Diagnostic::error(
                &codes::NO_POINT,
                node.span,
                path,
                format!("{} is no value of the axis `{}`", check::show(node), axis.path),
                format!("its values are {}", shown.join(", ")),
            ));
        }
        found
    }

    /// Puts the assignments of `point`, which stands at `path`, into `choice`.
    fn assign(&mut self, choice: &mut Choice, point: &Node, path: &str) -> Option<()> {
        let mut complete = Some(());
        for member in point.members()?.iter().filter(|member| member.key != NOTE.key) {
            let at = format!("{path}.{}", quote(&member.key));
            let Some(axis) = self.named_axis(member, &at) else {
                complete = None;
                continue;
            };
            match self.value_index(axis, &member.node, &at) {
                Some(index) => choice[axis] = Some(index),
                None => complete = None,
            }
        }
        complete
    }

    fn named_axis(&mut self, member: &form::json::Member, path: &str) -> Option<usize> {
        let found = self.sweep.axes.iter().position(|axis| axis.path == member.key);
        if found.is_none() {
            let key = Node { value: Value::Text(member.key.clone()), span: member.key_span };
            let names: Vec<&str> = self.sweep.axes.iter().map(|axis| axis.path.as_str()).collect();
            self.unknown(&key, path, "axis of the sweep", &names);
        }
        found
    }

    /// The axes that the claim ranges over, each with the indices of its values.
    fn ranges(&mut self, node: &Node, path: &str) -> Option<Vec<(usize, Vec<usize>)>> {
        let Some(ranges) = node.get("for") else { return Some(Vec::new()) };
        let mut out = Vec::new();
        for member in ranges.members()?.iter().filter(|member| member.key != NOTE.key) {
            let at = format!("{path}.for.{}", quote(&member.key));
            let axis = self.named_axis(member, &at)?;
            let indices = self.range(axis, &member.node, &at)?;
            if indices.is_empty() {
                let found = "the range holds no value".to_owned();
                self.form(&member.node, &at, found, "from must not come after to".to_owned());
                return None;
            }
            out.push((axis, indices));
        }
        Some(out)
    }

    /// The indices that a list of values, or `{ "from", "to" }`, means on `axis`.
    fn range(&mut self, axis: usize, node: &Node, at: &str) -> Option<Vec<usize>> {
        if let Some(values) = node.elements() {
            let each = values.iter().enumerate();
            return each
                .map(|(index, value)| self.value_index(axis, value, &format!("{at}[{index}]")))
                .collect();
        }
        let from = self.value_index(axis, node.get("from")?, &format!("{at}.from"))?;
        let to = self.value_index(axis, node.get("to")?, &format!("{at}.to"))?;
        Some((from..=to).collect())
    }

    /// One choice for each combination of the values ranged over; `side` is a point of `of` or
    /// `to`, and where it stands.
    fn cases(
        &mut self,
        node: &Node,
        path: &str,
        side: Option<(&Node, &str)>,
    ) -> Option<Vec<Choice>> {
        let mut base: Choice = vec![None; self.sweep.axes.len()];
        let fixed = match node.get("at") {
            Some(point) => self.assign(&mut base, point, &format!("{path}.at")),
            None => Some(()),
        };
        if let Some((point, at)) = side {
            self.assign(&mut base, point, at)?;
        }
        fixed?;
        let ranges = self.ranges(node, path)?;
        let along = match node.get("along") {
            Some(_) => Some(self.axis(node, "along", path)?),
            None => None,
        };
        self.all_bound(node, path, &base, &ranges, along)?;
        let mut cases = vec![base];
        for (axis, indices) in ranges {
            cases = cases
                .iter()
                .flat_map(|case| {
                    indices.iter().map(move |index| {
                        let mut case = case.clone();
                        case[axis] = Some(*index);
                        case
                    })
                })
                .collect();
        }
        Some(cases)
    }

    /// The cases of both keys (`of` and `to`), one beside the other.
    fn sides(
        &mut self,
        node: &Node,
        path: &str,
        [of_key, to_key]: [&str; 2],
    ) -> Option<(Vec<Choice>, Vec<Choice>)> {
        let (of, to) = (listed(node.get(of_key)?), listed(node.get(to_key)?));
        if of.len() != to.len() {
            let found = format!("`{of_key}` lists {} points and `{to_key}` {}", of.len(), to.len());
            let allowed = format!("each point of `{of_key}` is compared with one of `{to_key}`");
            self.form(node.get(to_key)?, &format!("{path}.{to_key}"), found, allowed);
            return None;
        }
        let mut all = |key: &str, points: &[&Node]| -> Option<Vec<Choice>> {
            let mut cases = Vec::new();
            for (index, point) in points.iter().enumerate() {
                let at = match node.get(key).and_then(Node::elements) {
                    Some(_) => format!("{path}.{key}[{index}]"),
                    None => format!("{path}.{key}"),
                };
                cases.extend(self.cases(node, path, Some((point, &at)))?);
            }
            Some(cases)
        };
        let left = all(of_key, &of);
        let right = all(to_key, &to)?;
        Some((left?, right))
    }

    /// Reports an axis that the claim leaves open; only replicas may be.
    fn all_bound(
        &mut self,
        node: &Node,
        path: &str,
        base: &Choice,
        ranges: &[(usize, Vec<usize>)],
        along: Option<usize>,
    ) -> Option<()> {
        let open = self.sweep.axes.iter().enumerate().position(|(index, axis)| {
            base[index].is_none()
                && Some(index) != along
                && axis.path != "seed"
                && !ranges.iter().any(|(ranged, _)| *ranged == index)
        });
        let Some(open) = open else { return Some(()) };
        let name = &self.sweep.axes[open].path;
        self.diagnostics.push(
            Diagnostic::error(
                &codes::NO_POINT,
                node.span,
                path,
                format!("the claim leaves the axis `{name}` open"),
                "each axis is fixed (at, of, to), ranged over (for) or followed (along)",
            )
            .help(format!("add `\"at\": {{ \"{name}\": ... }}`")),
        );
        None
    }

    fn pairs(
        &mut self,
        node: &Node,
        path: &str,
        keys: [&str; 2],
    ) -> Option<Vec<(Replicas, Replicas)>> {
        let (left, right) = self.sides(node, path, keys)?;
        let pair = |(of, to): (&Choice, &Choice)| (self.replicas(of), self.replicas(to));
        Some(left.iter().zip(&right).map(pair).collect())
    }

    /// The choices along `axis`.
    fn follow(&self, case: &Choice, axis: usize) -> Vec<Choice> {
        let each = 0..self.sweep.axes[axis].values.len();
        each.map(|index| {
            let mut case = case.clone();
            case[axis] = Some(index);
            case
        })
        .collect()
    }

    /// The points of a choice: one for each value of the axes left open.
    fn replicas(&self, case: &Choice) -> Replicas {
        let mut all = vec![Vec::new()];
        for (index, axis) in self.sweep.axes.iter().enumerate() {
            let values = match case[index] {
                Some(value) => value..value + 1,
                None => 0..axis.values.len(),
            };
            all = all
                .into_iter()
                .flat_map(|head: Vec<usize>| {
                    values.clone().map(move |value| {
                        let mut head = head.clone();
                        head.push(value);
                        head
                    })
                })
                .collect();
        }
        all.iter().map(|indices| self.sweep.point_at(indices)).collect()
    }
}

/// One point, or a list of them.
fn listed(node: &Node) -> Vec<&Node> {
    node.elements().map_or_else(|| vec![node], |points| points.iter().collect())
}

fn times(expect: &Node) -> f64 {
    expect.billionths("times").map_or(1.0, |times| as_f64(times) / 1e9)
}

#[expect(clippy::cast_precision_loss, reason = "results are floats, from here on")]
fn as_f64(value: u64) -> f64 {
    value as f64
}
