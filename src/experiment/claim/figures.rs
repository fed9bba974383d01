//! Figures: what is drawn from the points.

use super::super::library;
use super::super::measured::{self, Measured, Measurement, Program};
use super::super::sweep::{Axis, Sweep};
use super::{Binder, Choice};
use form::codes;
use form::diagnostic::{Diagnostic, quote};
use form::json::Node;
use form::shape::check;
use workloads::metric::MetricSpec;

/// One figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// A metric over an axis.
    Curves(Curves),
    /// The sum of some metrics, a bar for each value of an axis.
    Stack(Stack),
    /// The messages of one point over time.
    Messages(Messages),
}

/// A width of a figure on paper.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Width {
    /// One column of a page.
    Column,
    /// All of a page.
    Page,
}

impl Width {
    /// How wide it is.
    pub const fn millimetres(self) -> u16 {
        match self {
            Self::Column => 85,
            Self::Page => 170,
        }
    }

    /// As the scenario asks for it; without a word, the figure is for a screen.
    fn of(node: &Node) -> Option<Self> {
        match node.word("width")? {
            "column" => Some(Self::Column),
            _ => Some(Self::Page),
        }
    }
}

/// Values measured elsewhere, drawn over the curves.
#[derive(Clone, Debug, PartialEq)]
pub struct Overlay {
    /// Its entry in the legend.
    pub label: String,
    /// Its sizes with their values, in the units of the figure.
    pub points: Vec<Measurement>,
}

/// A figure with the messages of one point.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Messages {
    /// Which point.
    pub point: usize,
    /// The figure's own title.
    pub title: Option<String>,
}

/// A figure with curves.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    /// Which of the scenario's figures it is, from 0.
    pub place: usize,
    /// The axis, or the metric, on the x axis.
    pub x: String,
    /// The metric on the y axis.
    pub y: String,
    /// The axis with one line per value.
    pub series: Option<String>,
    /// The title above the lines in the legend, where the axis' name does not say it.
    pub series_title: Option<String>,
    /// Values of that axis, and what the legend calls them.
    pub legend: Vec<(String, String)>,
    /// Values of axes that the points have which are drawn.
    pub at: Vec<(String, String)>,
    /// The figure's own title.
    pub title: Option<String>,
    /// Whether the x axis is logarithmic (with base 2 for sizes).
    pub log_x: bool,
    /// Whether the x axis is logarithmic with base 10, and zero has a place beside it.
    pub far_x: bool,
    /// Whether the y axis is logarithmic.
    pub log_y: bool,
    /// The title of the x axis, where its name does not say it.
    pub x_title: Option<String>,
    /// The title of the y axis, where its name does not say it.
    pub y_title: Option<String>,
    /// Values measured elsewhere.
    pub measured: Vec<Overlay>,
    /// How wide it is on paper; for a screen where nothing is said.
    pub width: Option<Width>,
}

/// A figure with stacked bars.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Stack {
    /// The axis with one bar per value.
    pub x: String,
    /// The parts of a bar, from its foot on; all in one unit.
    pub parts: Vec<&'static MetricSpec>,
    /// Values of axes that the points have which are drawn.
    pub at: Vec<(String, String)>,
    /// The figure's own title.
    pub title: Option<String>,
    /// A note printed below the figure.
    pub note: Option<String>,
    /// How wide it is on paper; for a screen where nothing is said.
    pub width: Option<Width>,
}

/// The quantities that a workload measures, as far as benchmarks differ in it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Measures {
    /// The scenario's word for the workload.
    pub kind: String,
    /// Its collective operation, or each that the sweep gives it.
    pub operations: Vec<String>,
}

impl Measures {
    /// That of the workload of a checked scenario.
    pub fn read(tree: &Node, sweep: &Sweep) -> Self {
        let word = |key| tree.get("workload").and_then(|workload| workload.word(key));
        let swept = sweep.axes.iter().find(|axis| axis.path == "workload.operation");
        let operations = match swept {
            Some(axis) => axis.values.iter().map(|value| value.text.clone()).collect(),
            None => word("operation").map(str::to_owned).into_iter().collect(),
        };
        Self { kind: word("kind").unwrap_or("").to_owned(), operations }
    }
}

impl Binder<'_> {
    /// The figures under `figures`; where the sweep was narrowed, those whose points are left.
    pub fn figures(&mut self, tree: &Node, narrowed: bool) -> Vec<Figure> {
        let list = tree.get("figures").and_then(Node::elements).unwrap_or(&[]);
        let mut out = Vec::new();
        let mut dropped = 0;
        for (index, node) in list.iter().enumerate() {
            let mark = self.diagnostics.mark();
            let path = format!("figures[{index}]");
            let figure = match (node.get("stack"), node.get("sequence")) {
                (Some(list), _) => self.stack(node, list, &path).map(Figure::Stack),
                (None, Some(point)) => self.messages(node, point, &path).map(Figure::Messages),
                (None, None) => self.curves(node, index, narrowed).map(Figure::Curves),
            };
            if figure.is_none() && narrowed && self.diagnostics.drop_points(mark) {
                dropped += 1;
            }
            out.extend(figure);
        }
        self.tell_dropped(tree, "figures", dropped);
        out
    }

    fn stack(&mut self, node: &Node, list: &Node, path: &str) -> Option<Stack> {
        let named: Vec<Option<&'static MetricSpec>> = list
            .elements()?
            .iter()
            .enumerate()
            .map(|(index, name)| self.metric_at(name, &format!("{path}.stack[{index}]")))
            .collect();
        let at = self.drawn(node, path);
        let x = self.axis(node, "x", path);
        let parts: Vec<_> = named.into_iter().collect::<Option<_>>()?;
        self.adds_up(list, &parts, &format!("{path}.stack"))?;
        Some(Stack {
            x: self.sweep.axes[x?].path.clone(),
            parts,
            at: at?,
            title: node.word("title").map(str::to_owned),
            note: node.note(),
            width: Width::of(node),
        })
    }

    /// Reports the first part of a stack that cannot be added to those before it.
    fn adds_up(&mut self, list: &Node, parts: &[&MetricSpec], path: &str) -> Option<()> {
        let wrong = parts.iter().enumerate().find_map(|(index, part)| {
            let before = &parts[..index];
            Some((index, before.iter().find_map(|other| clash(other, part))?))
        });
        let Some((index, (found, allowed))) = wrong else { return Some(()) };
        let elements = list.elements().unwrap_or(&[]);
        let (first, place) = (elements.first()?, elements.get(index)?);
        self.diagnostics.push(
            Diagnostic::error(
                &codes::STACK,
                place.span,
                format!("{path}[{index}]"),
                found,
                allowed,
            )
            .related(first.span, "the stack begins here"),
        );
        None
    }

    fn messages(&mut self, node: &Node, point: &Node, path: &str) -> Option<Messages> {
        let path = check::join(path, "sequence");
        let mut choice: Choice = vec![None; self.sweep.axes.len()];
        self.assign(&mut choice, point, &path)?;
        let mut indices = Vec::new();
        for (axis, chosen) in self.sweep.axes.iter().zip(choice) {
            let Some(index) = chosen.or((axis.values.len() == 1).then_some(0)) else {
                let found = format!("no value of the axis `{}` is chosen", axis.path);
                let allowed = "a sequence shows one point: a value of each axis is needed";
                let one = Diagnostic::error(&codes::NO_POINT, point.span, path, found, allowed);
                self.diagnostics.push(one.related(axis.span, "the axis is here"));
                return None;
            };
            indices.push(index);
        }
        let title = node.word("title").map(str::to_owned);
        Some(Messages { point: self.sweep.point_at(&indices), title })
    }

    fn curves(&mut self, node: &Node, place: usize, narrowed: bool) -> Option<Curves> {
        let path = &format!("figures[{place}]");
        let y = self.metric(node, "y", path);
        let at = self.drawn(node, path);
        if let Some(metric) = node.get("x").and_then(Node::text).and_then(|x| self.metric_of(x)) {
            return self.curves_over(node, metric, (y?, at?), place, narrowed);
        }
        let x = self.axis(node, "x", path);
        let (series, legend) = self.series(node, path, narrowed)?;
        let (x, y) = (x?, y?);
        let axis = &self.sweep.axes[x];
        let zero = axis.values.iter().find(|value| value.steps.is_none_or(|steps| steps == 0));
        let asked = node.flag("log_x");
        let titled = |key: &str| node.word(key).map(str::to_owned);
        if let (Some(true), Some(zero)) = (asked, zero) {
            let place = node.get("log_x").map_or(node.span, |node| node.span);
            let found = format!("the axis `{}` has the value `{}`", axis.path, quote(&zero.text));
            let allowed = "values above zero are needed on a logarithmic axis";
            let at = check::join(path, "log_x");
            self.diagnostics.push(
                Diagnostic::error(&codes::LOG_AXIS, place, at, found, allowed)
                    .related(axis.span, "the axis is here"),
            );
        }
        let sizes = axis.is_bytes();
        let measured = self.measured(node, y, sizes, path)?;
        Some(Curves {
            place,
            x: axis.path.clone(),
            y: y.name.to_owned(),
            series,
            series_title: titled("series_title"),
            legend,
            at: at?,
            title: node.word("title").map(str::to_owned),
            log_x: asked.unwrap_or(zero.is_none() && (axis.is_bytes() || axis.multiplies())),
            far_x: asked.is_none() && axis.has_far_values(),
            log_y: node.flag("log_y").unwrap_or(false),
            x_title: titled("x_title").or_else(|| axis.machine_words().map(first_clause)),
            y_title: titled("y_title").or_else(|| y.title.map(str::to_owned)),
            measured,
            width: Width::of(node),
        })
    }

    /// The swept field with one line per value, and what the legend calls some of them.
    #[expect(clippy::type_complexity, reason = "a path, and pairs of value and name")]
    fn series(
        &mut self,
        node: &Node,
        path: &str,
        narrowed: bool,
    ) -> Option<(Option<String>, Vec<(String, String)>)> {
        let entries = node.get("legend").and_then(Node::elements).unwrap_or(&[]);
        if node.get("series").is_none() {
            if let Some(legend) = node.get("legend") {
                let (at, found) = (check::join(path, "legend"), "the figure has no `series`");
                let allowed = "names are for the values of a swept field";
                let one = Diagnostic::error(&codes::FIGURE, legend.span, at, found, allowed);
                self.diagnostics.push(one);
                return None;
            }
            return Some((None, Vec::new()));
        }
        let axis = self.axis(node, "series", path)?;
        let mut legend = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            let mark = self.diagnostics.mark();
            let at = format!("{path}.legend[{index}].value");
            match self.value_index(axis, entry.get("value")?, &at) {
                Some(value) => {
                    let value = self.sweep.axes[axis].values[value].text.clone();
                    legend.push((value, entry.word("name")?.to_owned()));
                }
                // A value that `--set` took from the sweep needs no name.
                None if narrowed && self.diagnostics.drop_points(mark) => {}
                None => return None,
            }
        }
        Some((Some(self.sweep.axes[axis].path.clone()), legend))
    }

    /// The tables that `measured` names: their column of the metric `y`.
    fn measured(
        &mut self,
        node: &Node,
        y: &MetricSpec,
        sizes: bool,
        path: &str,
    ) -> Option<Vec<Overlay>> {
        let list = node.get("measured").and_then(Node::elements).unwrap_or(&[]);
        let mut all = Vec::new();
        for (index, one) in list.iter().enumerate() {
            let path = format!("{path}.measured[{index}]");
            all.push(self.overlay(one, y, sizes, &path));
        }
        all.into_iter().collect()
    }

    fn overlay(&mut self, node: &Node, y: &MetricSpec, sizes: bool, path: &str) -> Option<Overlay> {
        let file = node.get("file")?;
        let name = file.text().unwrap_or_default();
        let at = check::join(path, "file");
        let from = library::named_file(self.diagnostics, &self.folder, (file, &at))?;
        let table = measured::read(self.diagnostics, self.shipped, &from)?;
        let column = table.column_of(y.name).filter(|_| sizes);
        let Some(points) = column.and_then(|column| table.points(column)) else {
            let (found, allowed) = if column.is_some() {
                let key = quote(&table.key.to_lowercase());
                let found = format!("`{}` goes over `{key}`, not sizes", quote(name));
                (found, "tables go over sizes of messages")
            } else if sizes {
                let found = format!("`{}` has no column of `{}`", quote(name), y.name);
                (found, "latency, bandwidth and message_rate are known in such tables")
            } else {
                ("the x axis shows no sizes".to_owned(), "tables go over sizes of messages")
            };
            let one = Diagnostic::error(&codes::MEASURED, file.span, at, found, allowed);
            self.diagnostics.push(one);
            return None;
        };
        self.same_benchmark(&table, file, at)?;
        let own = node.word("name").map(str::to_owned);
        let label = own.or_else(|| table.title.clone()).unwrap_or_else(|| name.to_owned());
        Some(Overlay { label, points })
    }

    /// Refuses a table whose title names a benchmark that measures something else than the workload.
    fn same_benchmark(&mut self, table: &Measured, file: &Node, at: String) -> Option<()> {
        let Some(program) = table.program else { return Some(()) };
        let (kind, operations) = (&*self.workload.kind, &self.workload.operations);
        let operations: Vec<&str> = operations.iter().map(String::as_str).collect();
        if program.measures(kind, &operations) {
            return Some(());
        }
        let name = quote(file.text().unwrap_or_default());
        let found = format!("`{name}` is a table of {}", program.name);
        let what = [&[kind][..], &operations].concat().join(" of ");
        let allowed = match &*Program::of(kind, &operations).join(" or ") {
            "" => format!("no benchmark that is read measures {what}"),
            programs => format!("the workload is {what}, as in {programs}"),
        };
        let help = "a figure compares like with like: draw it over a scenario of that benchmark";
        let one = Diagnostic::error(&codes::MEASURED, file.span, at, found, allowed);
        self.diagnostics.push(one.help(help));
        None
    }

    /// Curves over a metric: `x` is no axis.
    fn curves_over(
        &mut self,
        node: &Node,
        over: &MetricSpec,
        (y, at): (&MetricSpec, Vec<(String, String)>),
        place: usize,
        narrowed: bool,
    ) -> Option<Curves> {
        let path = &format!("figures[{place}]");
        let (series, legend) = self.series(node, path, narrowed)?;
        let titled = |key: &str| node.word(key).map(str::to_owned);
        Some(Curves {
            place,
            x: over.name.to_owned(),
            y: y.name.to_owned(),
            series,
            series_title: titled("series_title"),
            legend,
            at,
            title: node.word("title").map(str::to_owned),
            log_x: node.flag("log_x").unwrap_or(false),
            far_x: false,
            x_title: titled("x_title").or_else(|| over.title.map(str::to_owned)),
            y_title: titled("y_title").or_else(|| y.title.map(str::to_owned)),
            log_y: node.flag("log_y").unwrap_or(false),
            measured: self.measured(node, y, false, path)?,
            width: Width::of(node),
        })
    }

    /// The values that drawn points have, as the axes spell them.
    fn drawn(&mut self, node: &Node, path: &str) -> Option<Vec<(String, String)>> {
        let mut choice: Choice = vec![None; self.sweep.axes.len()];
        if let Some(point) = node.get("at") {
            self.assign(&mut choice, point, &format!("{path}.at"))?;
        }
        let chosen = self.sweep.axes.iter().zip(choice);
        let value = |(axis, index): (&Axis, Option<usize>)| {
            Some((axis.path.clone(), axis.values[index?].text.clone()))
        };
        Some(chosen.filter_map(value).collect())
    }
}

/// The first clause of a sentence, before its details.
fn first_clause(sentence: &str) -> String {
    sentence.split([',', ';', ':', '.']).next().unwrap_or(sentence).to_owned()
}

/// The time that is no part of a sum: it overlaps the others.
const OVERLAPS: &str = "lock_hold";

/// Why two metrics have no meaningful sum: what was found, and what is allowed.
fn clash(first: &MetricSpec, second: &MetricSpec) -> Option<(String, String)> {
    let in_unit = |metric: &MetricSpec| match metric.unit {
        "" => format!("`{}` is a plain number", metric.name),
        unit => format!("`{}` is in {unit}", metric.name),
    };
    if first.name == second.name {
        let found = format!("`{}` comes a second time", second.name);
        return Some((found, "each part may be there once".to_owned()));
    }
    if (first.dimension, first.unit) != (second.dimension, second.unit) {
        let found = format!("{} and {}", in_unit(second), in_unit(first));
        return Some((found, "all parts of a stack must have one unit".to_owned()));
    }
    let overlaps = [first, second].iter().any(|metric| metric.name == OVERLAPS);
    overlaps.then(|| {
        let found = format!("`{OVERLAPS}` overlaps the other times");
        (found, "a stack shows it alone, or not at all".to_owned())
    })
}
