//! Sweeps: axes and the points that they multiply to, the first axis outermost.

use std::collections::BTreeMap;
use std::fmt;

use super::schema::{DEFAULT_POINTS, PRESENTATION, SCENARIO};
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics, Span, quote};
use form::json::{Member, Node, Number, Value};
use form::shape::check::{self, check};
use form::shape::path::{self, Segment, Target};
use form::shape::{NOTE, Shape};
use hardware::profile::Kind;
use units::{Dimension, parse_quantity};

/// The most values of an axis of a few counts.
const FEW: usize = 16;

/// The most values of one axis.
const LONGEST_AXIS: u64 = 1_000_000;

/// One axis of a sweep.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The path of the field that it sets, such as `workload.size`.
    pub path: String,
    /// Its values, in order.
    pub values: Vec<AxisValue>,
    /// Where its path stands.
    pub span: Span,
    /// The field or number that the path names.
    target: Target,
}

/// One value of an axis.
#[derive(Clone, Debug)]
pub struct AxisValue {
    /// The value as the scenario spells it, with one space before its unit: `8 B`.
    pub text: String,
    /// The value in smallest steps, where it is a quantity or a number.
    pub steps: Option<u64>,
    /// The value in its one form: equal values have equal forms.
    form: String,
    /// The value that is put into the tree.
    node: Node,
}

impl fmt::Display for AxisValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Axis {
    /// The index of the value that says the same as `node`, if the axis has it.
    pub fn index_of(&self, node: &Node) -> Option<usize> {
        let (form, _) = canonical(node, self.target)?;
        self.values.iter().position(|value| value.form == form)
    }

    /// Whether the axis is one of sizes, whose figures are logarithmic.
    pub fn is_bytes(&self) -> bool {
        dimension(self.target) == Some(Dimension::Bytes)
    }

    /// Whether the axis is one of times, of probabilities or of a few counts from zero so far apart that
    /// a linear one squeezes the first of them: the largest is 100 times the smallest that is not
    /// zero, or more.
    pub fn has_far_values(&self) -> bool {
        let steps =
            || self.values.iter().filter_map(|value| value.steps).filter(|&steps| steps > 0);
        let (low, high) = (steps().min().unwrap_or(1), steps().max().unwrap_or(1));
        let is_part = matches!(self.target, Target::Field(Shape::Ratio { max: BILLION, .. }));
        let is_zero = |value: &AxisValue| value.steps == Some(0);
        let counts = dimension(self.target).is_none()
            && !is_decimal(self.target)
            && self.values.len() <= FEW
            && self.values.iter().any(is_zero)
            && self.values.iter().all(|value| value.steps.is_some());
        let far = is_part || counts || dimension(self.target) == Some(Dimension::Time);
        far && high / 100 >= low
    }

    /// Whether each value is a multiple of the one before, about twice it or more, from the first to
    /// at least four times it: 1, 2, 4, 8, 14. Parts of one, such as shares, are compared by their
    /// differences.
    pub fn multiplies(&self) -> bool {
        let is_part = matches!(self.target, Target::Field(Shape::Ratio { max: BILLION, .. }));
        let steps: Option<Vec<u64>> = self.values.iter().map(|value| value.steps).collect();
        let Some(mut steps) = steps.filter(|_| !is_part) else { return false };
        steps.sort_unstable();
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return false };
        let pairs = || steps.windows(2).map(|pair| (u128::from(pair[0]), u128::from(pair[1])));
        *first > 0 && last / 4 >= *first && pairs().all(|(one, next)| 2 * next >= 3 * one)
    }

    /// The meaning of a number of the machine, in a sentence; nothing for a field of the scenario.
    pub fn machine_words(&self) -> Option<&'static str> {
        match self.target {
            Target::Parameter(parameter) => Some(parameter.doc),
            Target::Field(_) => None,
        }
    }
}

/// Where the axes have more values than this and too many points already, the others are not read:
/// a short file may name any number of long ranges.
const MOST_VALUES: usize = 250_000;
/// Behind so many wrong axes and values the other axes are not read.
const MOST_WRONG: usize = 1_000;
/// The most axes whose lengths a message tells.
const MOST_TOLD: usize = 8;

/// One, in the steps of a plain number.
const BILLION: u64 = 1_000_000_000;

/// The axes of a scenario.
#[derive(Clone, Debug, Default)]
pub struct Sweep {
    /// The first is outermost.
    pub axes: Vec<Axis>,
}

impl Sweep {
    /// How many points the axes multiply to; without axes one.
    pub fn points(&self) -> u128 {
        self.axes.iter().fold(1, |product, axis| product.saturating_mul(axis.values.len() as u128))
    }

    /// For each axis the index of its value at point `index`.
    pub fn indices(&self, mut index: usize) -> Vec<usize> {
        let mut out = vec![0; self.axes.len()];
        for (slot, axis) in out.iter_mut().zip(&self.axes).rev() {
            *slot = index % axis.values.len();
            index /= axis.values.len();
        }
        out
    }

    /// The point at which each axis has the value of this index.
    pub fn point_at(&self, indices: &[usize]) -> usize {
        indices
            .iter()
            .zip(&self.axes)
            .fold(0, |point, (index, axis)| point * axis.values.len() + index)
    }

    /// Path and value of each axis at point `index`.
    pub fn params(&self, index: usize) -> Vec<(String, String)> {
        let indices = self.indices(index);
        self.axes
            .iter()
            .zip(indices)
            .map(|(axis, at)| (axis.path.clone(), axis.values[at].text.clone()))
            .collect()
    }

    /// Sets every axis's field in `tree` to its value at point `index`. Numbers that the scenario or the
    /// command line changes of its machine are changed of each machine of an axis, and before the
    /// numbers that are swept.
    pub fn apply(&self, tree: &mut Node, index: usize) {
        let values = || self.axes.iter().zip(self.indices(index));
        let is_machine = |axis: &Axis| axis.path == path::MACHINE;
        for (axis, at) in values().filter(|(axis, _)| is_machine(axis)) {
            path::set_machine(tree, axis.values[at].node.clone());
        }
        for (axis, at) in values().filter(|(axis, _)| !is_machine(axis)) {
            path::set(tree, &axis.path, axis.values[at].node.clone());
        }
    }
}

/// Checks swept fields as they stand in their own places: no point has these values, but who reads the
/// file takes them for what is meant.
pub fn check_own_places(diagnostics: &mut Diagnostics, tree: &Node, sweep: &Sweep) {
    for axis in &sweep.axes {
        let Some(node) = path::at(tree, &axis.path) else { continue };
        let mark = diagnostics.mark();
        check_value(diagnostics, node, axis.target, &axis.path);
        diagnostics.explain(mark, IS_SWEPT);
    }
}

/// The remedy for a value of a swept field in its own place.
pub const IS_SWEPT: &str = "the field is swept, and no point has this value: write a value that it may have, or leave it out";

/// Reads the axes of `tree`; `None` where one of them is wrong.
pub fn read(diagnostics: &mut Diagnostics, tree: &Node) -> Option<Sweep> {
    let before = diagnostics.errors();
    let members = tree.get("sweep").and_then(Node::members).unwrap_or(&[]);
    let limit = limit(tree);
    let mut sweep = Sweep::default();
    let mut set = BTreeMap::new();
    let (mut values, mut points) = (0, 1_u128);
    for member in members.iter().filter(|member| member.key != NOTE.key) {
        if let Some(axis) = axis(diagnostics, tree, member) {
            conflicts(diagnostics, &sweep.axes, &mut set, &axis);
            values += axis.values.len();
            points = points.saturating_mul(axis.values.len() as u128);
            sweep.axes.push(axis);
        }
        let is_too_long = values > MOST_VALUES && points > limit;
        if is_too_long || diagnostics.errors() - before > MOST_WRONG {
            break;
        }
    }
    check_size(diagnostics, tree, &sweep, limit);
    (diagnostics.errors() == before).then_some(sweep)
}

/// The target that the key of `member`, which stands at `at`, names; `None` with a report.
pub(super) fn target(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    member: &Member,
    at: &str,
) -> Option<Target> {
    match path::find(&SCENARIO, tree, &member.key) {
        Ok(target) => Some(target),
        Err(error) => {
            let one = Diagnostic::error(
                &codes::UNKNOWN_PATH,
                member.key_span,
                at,
                error.found,
                error.allowed,
            );
            diagnostics.push(match error.nearest {
                Some(near) => one.help(format!("did you mean `{near}`?")),
                None => one,
            });
            None
        }
    }
}

fn axis(diagnostics: &mut Diagnostics, tree: &Node, member: &Member) -> Option<Axis> {
    let at = check::join("sweep", &member.key);
    let target = target(diagnostics, tree, member, &at)?;
    if PRESENTATION.contains(&member.key.split(['.', '[']).next().unwrap_or_default()) {
        let found = format!("`{}` changes nothing of what runs", quote(&member.key));
        let allowed = "fields that decide about results are swept";
        let one = Diagnostic::error(&codes::UNKNOWN_PATH, member.key_span, at, found, allowed);
        diagnostics.push(one.help("remove the axis: all of its points would be the same"));
        return None;
    }
    let nodes = match member.node.elements() {
        Some(values) => values.to_vec(),
        None => expand(diagnostics, &member.node, target, &at)?,
    };
    if nodes.is_empty() {
        diagnostics.push(
            Diagnostic::error(
                &codes::EMPTY_AXIS,
                member.node.span,
                at,
                format!("the axis `{}` has no values: 0 points", quote(&member.key)),
                "at least one value is needed",
            )
            .help("give values, or remove the axis"),
        );
        return None;
    }
    let values = axis_values(diagnostics, nodes, target, &at)?;
    let path = member.key.clone();
    Some(Axis { path, values, span: member.key_span, target })
}

/// Checks each value against the field that it is for, and refuses a value that comes twice.
fn axis_values(
    diagnostics: &mut Diagnostics,
    nodes: Vec<Node>,
    target: Target,
    at: &str,
) -> Option<Vec<AxisValue>> {
    let before = diagnostics.errors();
    let mut values: Vec<AxisValue> = Vec::with_capacity(nodes.len());
    let mut known = BTreeMap::new();
    for (index, node) in nodes.into_iter().enumerate() {
        let at = format!("{at}[{index}]");
        check_value(diagnostics, &node, target, &at);
        let Some((form, steps)) = canonical(&node, target) else { continue };
        let text = spelled(&node, target).unwrap_or_else(|| form.clone());
        if let Some(first) = known.insert(form.clone(), node.span) {
            diagnostics.push(
                Diagnostic::error(
                    &codes::AXIS_CONFLICT,
                    node.span,
                    at,
                    format!("the value `{}` comes a second time", quote(&text)),
                    "each value may come once",
                )
                .related(first, "it comes first here"),
            );
        }
        values.push(AxisValue { text, steps, form, node });
    }
    (diagnostics.errors() == before).then_some(values)
}

/// Reports what is wrong with a value for `target`.
pub(super) fn check_value(diagnostics: &mut Diagnostics, node: &Node, target: Target, at: &str) {
    match target {
        Target::Field(shape) => check(diagnostics, node, shape, at),
        Target::Parameter(parameter) => {
            form::machine::check_value(diagnostics, node, parameter, at);
        }
    }
}

/// The dimension of the quantities that `target` takes, if it takes any.
fn dimension(target: Target) -> Option<Dimension> {
    let of_shape = |shape: &Shape| {
        if let Shape::Quantity { dimension, .. } = shape { Some(*dimension) } else { None }
    };
    match target {
        Target::Parameter(parameter) => parameter.kind.dimension(),
        Target::Field(Shape::Expression(inner)) => dimension(Target::Field(inner)),
        Target::Field(Shape::Either(shapes)) => shapes.iter().find_map(of_shape),
        Target::Field(shape) => of_shape(shape),
    }
}

/// Whether `target` takes decimal numbers.
fn is_decimal(target: Target) -> bool {
    match target {
        Target::Parameter(parameter) => parameter.kind == Kind::Ratio,
        Target::Field(Shape::Expression(inner)) => is_decimal(Target::Field(inner)),
        Target::Field(Shape::Either(shapes)) => {
            shapes.iter().any(|shape| matches!(shape, Shape::Ratio { .. }))
        }
        Target::Field(shape) => matches!(shape, Shape::Ratio { .. }),
    }
}

/// A value in its one form: text, and smallest steps (billionths for decimal numbers).
pub(super) fn canonical(node: &Node, target: Target) -> Option<(String, Option<u64>)> {
    match &node.value {
        Value::Text(text) if is_expression(text, target) => Some((text.clone(), None)),
        Value::Text(text) => match dimension(target) {
            Some(dimension) => {
                let steps = parse_quantity(text, dimension).ok()?;
                Some((check::steps(dimension, steps), Some(steps)))
            }
            None => Some((text.clone(), None)),
        },
        Value::Number(number) if is_decimal(target) => {
            let steps = number.scaled(9).ok()?;
            Some((check::billionths(steps), Some(steps)))
        }
        Value::Number(number) => {
            let value = number.scaled(0).ok()?;
            Some((value.to_string(), Some(value)))
        }
        Value::Bool(flag) => Some((flag.to_string(), None)),
        Value::Null | Value::List(_) | Value::Object(_) | Value::Word(_) | Value::Invalid => None,
    }
}

/// Whether `text` is an expression, and the field takes one.
fn is_expression(text: &str, target: Target) -> bool {
    matches!(target, Target::Field(Shape::Expression(_))) && text.starts_with('=')
}

/// A quantity as it is written, with one space before its unit.
fn spelled(node: &Node, target: Target) -> Option<String> {
    dimension(target)?;
    let text = node.text()?.trim();
    if is_expression(text, target) {
        return None;
    }
    let unit = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    Some(format!("{} {}", &text[..unit], text[unit..].trim()))
}

/// The ends (and step) of a computed axis, in smallest steps.
fn ends(diagnostics: &mut Diagnostics, list: &Node, target: Target, at: &str) -> Option<Vec<u64>> {
    let elements = list.elements().unwrap_or(&[]);
    let before = diagnostics.errors();
    let mut out = Vec::new();
    for (index, node) in elements.iter().enumerate() {
        // Ranges of other fields than numbers make no sense; the values tell.
        match canonical(node, target) {
            Some((_, Some(steps))) => out.push(steps),
            _ => check_value(diagnostics, node, target, &format!("{at}[{index}]")),
        }
    }
    if diagnostics.errors() == before && out.len() < elements.len() {
        diagnostics.push(Diagnostic::error(
            &codes::RANGE_AXIS,
            list.span,
            at,
            "the field takes words, which cannot be counted out",
            "a list of values is needed",
        ));
    }
    (out.len() == elements.len()).then_some(out)
}

/// The values of `{ "powers_of_two": ... }` or `{ "range": ... }`.
fn expand(
    diagnostics: &mut Diagnostics,
    node: &Node,
    target: Target,
    at: &str,
) -> Option<Vec<Node>> {
    let (key, list) = [("powers_of_two", node.get("powers_of_two")), ("range", node.get("range"))]
        .into_iter()
        .find_map(|(key, list)| Some((key, list?)))?;
    let ends = ends(diagnostics, list, target, &format!("{at}.{key}"))?;
    let shown: Vec<String> = ends.iter().map(|steps| show_steps(target, *steps)).collect();
    if let (_, &[from, to, step]) = (key, ends.as_slice())
        && let Some(count) = beyond(from, to, step)
    {
        let found = format!("the axis would have {count} values");
        let allowed = format!("an axis has at most {LONGEST_AXIS}, whatever `limits.points` says");
        let at = format!("{at}.{key}");
        let one = Diagnostic::error(&codes::TOO_MANY_POINTS, list.span, at, found, allowed);
        diagnostics.push(one.help("take a larger step"));
        return None;
    }
    let steps = match (key, ends.as_slice()) {
        ("powers_of_two", &[from, to]) => doubling(from, to),
        (_, &[from, to, step]) => counted(from, to, step),
        _ => Err("the list has the wrong length".to_owned()),
    };
    match steps {
        Ok(steps) => {
            let make = |steps: u64| make_node(target, steps, list.span);
            Some(steps.into_iter().map(make).collect())
        }
        Err(why) => {
            let allowed = if key == "range" {
                "[from, to, step] with from <= to and a step above zero is needed"
            } else {
                "[from, to] with from above zero and to = from x 2 x 2 ... is needed"
            };
            diagnostics.push(Diagnostic::error(
                &codes::RANGE_AXIS,
                list.span,
                format!("{at}.{key}"),
                format!("[{}]: {why}", shown.join(", ")),
                allowed,
            ));
            None
        }
    }
}

fn doubling(from: u64, to: u64) -> Result<Vec<u64>, String> {
    if from == 0 {
        return Err("zero has no double".to_owned());
    }
    if from > to {
        return Err("the last value is less than the first".to_owned());
    }
    let mut out = vec![from];
    let mut value = from;
    while value < to {
        let Some(double) = value.checked_mul(2) else { break };
        value = double;
        out.push(value);
    }
    if value == to {
        Ok(out)
    } else {
        Err("the last value is not the first one doubled".to_owned())
    }
}

/// How many values a range has, where they are too many.
fn beyond(from: u64, to: u64, step: u64) -> Option<u128> {
    let count = u128::from(to.checked_sub(from)?.checked_div(step)?) + 1;
    (count > u128::from(LONGEST_AXIS)).then_some(count)
}

fn counted(from: u64, to: u64, step: u64) -> Result<Vec<u64>, String> {
    if step == 0 {
        return Err("the step is zero".to_owned());
    }
    if from > to {
        return Err("the step leads away from the end".to_owned());
    }
    let count = (to - from) / step;
    Ok((0..=count).map(|index| from + index * step).collect())
}

fn show_steps(target: Target, steps: u64) -> String {
    match dimension(target) {
        Some(dimension) => check::steps(dimension, steps),
        None if is_decimal(target) => check::billionths(steps),
        None => steps.to_string(),
    }
}

fn make_node(target: Target, steps: u64, span: Span) -> Node {
    let text = show_steps(target, steps);
    let value = if dimension(target).is_some() {
        Value::Text(text)
    } else {
        Value::Number(Number::parse(&text).expect("a printed number is one"))
    };
    Node { value, span }
}

/// Reports `axis` where it sets the field, or a part of the field, of an earlier axis; `set` are the paths
/// of those in their order, each with its place among them.
fn conflicts(
    diagnostics: &mut Diagnostics,
    earlier: &[Axis],
    set: &mut BTreeMap<Vec<Segment>, usize>,
    axis: &Axis,
) {
    let Some(steps) = path::steps(&axis.path) else { return };
    let above = (1..=steps.len()).filter_map(|length| set.get(&steps[..length]));
    // Whatever lies below a path follows it in their order.
    let below = set.range(steps.clone()..).take_while(|(theirs, _)| theirs.starts_with(&steps));
    if let Some(&first) = above.chain(below.map(|(_, place)| place)).min() {
        let other = &earlier[first];
        diagnostics.push(
            Diagnostic::error(
                &codes::AXIS_CONFLICT,
                axis.span,
                check::join("sweep", &axis.path),
                format!("`{}` and `{}` set one field", quote(&axis.path), quote(&other.path)),
                "each field may be set by one axis",
            )
            .related(other.span, "the other axis is here"),
        );
    }
    set.insert(steps, earlier.len());
}

/// The most points that the scenario allows.
fn limit(tree: &Node) -> u128 {
    let limits = tree.get("limits").and_then(|limits| limits.get("points"));
    u128::from(match limits.map(|node| &node.value) {
        Some(Value::Number(number)) => number.whole().unwrap_or(DEFAULT_POINTS),
        _ => DEFAULT_POINTS,
    })
}

fn check_size(diagnostics: &mut Diagnostics, tree: &Node, sweep: &Sweep, limit: u128) {
    if sweep.points() <= limit {
        return;
    }
    let (counted, points) = told(&sweep.axes, limit);
    let sizes: Vec<String> =
        sweep.axes[..counted].iter().map(|axis| axis.values.len().to_string()).collect();
    let members = tree.get("sweep").and_then(Node::members).unwrap_or(&[]);
    let all = members.iter().filter(|member| member.key != NOTE.key).count();
    let which = if counted < all { format!("first {counted} of {all} ") } else { String::new() };
    let found = match &sizes[..] {
        [only] if all == 1 => format!("the axis has {only} points"),
        _ => format!("the {which}axes multiply to {} = {points} points", sizes.join(" x ")),
    };
    // At a millisecond and a kilobyte each, which is little.
    let (time, megabytes) = (lasting(points / 1000), points / 1000);
    let span = tree.get("sweep").map_or(tree.span, |node| node.span);
    diagnostics.push(
        Diagnostic::error(
            &codes::TOO_MANY_POINTS,
            span,
            "sweep",
            found,
            format!("at most {limit} are allowed"),
        )
        .help(format!(
            "at 1 ms and 1 kB a point that is {time} and {megabytes} MB; \
             if it is meant, raise `limits.points`"
        )),
    );
}

/// How many of the axes a message tells, the first ones, and to how many points they multiply: all of
/// them, but where they are many or their product is beyond numbers; then those that are too many.
fn told(axes: &[Axis], limit: u128) -> (usize, u128) {
    let lengths = || axes.iter().map(|axis| axis.values.len() as u128);
    let all = lengths().try_fold(1, u128::checked_mul).filter(|_| axes.len() <= MOST_TOLD);
    if let Some(points) = all {
        return (axes.len(), points);
    }
    let mut points = 1;
    for (place, length) in lengths().enumerate() {
        points *= length;
        if points > limit {
            return (place + 1, points);
        }
    }
    (axes.len(), points)
}

/// So many seconds in the greatest unit that they fill.
fn lasting(seconds: u128) -> String {
    let units = [(86_400, "day"), (3600, "hour"), (60, "minute")];
    let (length, name) =
        units.into_iter().find(|(unit, _)| seconds >= *unit).unwrap_or((1, "second"));
    let count = seconds / length;
    format!("{count} {name}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_told_in_the_greatest_unit_that_it_fills() {
        let told = [0, 59, 60, 7300, 90_000, 10 * 86_400].map(lasting);
        assert_eq!(told, ["0 seconds", "59 seconds", "1 minute", "2 hours", "1 day", "10 days"]);
    }

    #[test]
    fn powers_of_two_double_from_end_to_end() {
        assert_eq!(doubling(1, 8), Ok(vec![1, 2, 4, 8]));
        assert_eq!(doubling(3, 12), Ok(vec![3, 6, 12]));
        assert_eq!(doubling(5, 5), Ok(vec![5]));
        assert!(doubling(1, 9).is_err() && doubling(0, 8).is_err());
        assert_eq!(doubling(8, 1), Err("the last value is less than the first".to_owned()));
    }

    #[test]
    fn ranges_are_counted_not_added_up() {
        // 0 to 1 step 0.1 in billionths: eleven values, the last one exact.
        let values = counted(0, 1_000_000_000, 100_000_000).unwrap();
        assert_eq!((values.len(), values[10]), (11, 1_000_000_000));
        assert_eq!(counted(1, 6, 2), Ok(vec![1, 3, 5]));
        assert!(counted(1, 6, 0).is_err() && counted(6, 1, 1).is_err());
        assert_eq!(beyond(0, u64::MAX, 1), Some(1 << 64));
        assert_eq!(beyond(1, LONGEST_AXIS, 1).or(beyond(0, 5, 0)).or(beyond(5, 0, 1)), None);
    }
}
