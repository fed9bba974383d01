//! Two results side by side: which points belong together, which metrics differ, and most where.
//!
//! Neither side is right: differences are measured against the greater value, so that the order of the
//! sides changes nothing but the signs.

use std::collections::{BTreeMap, BTreeSet};

use super::attribution::Shift;
use super::in_step::{groups, in_step};
use super::inputs::Change;
use super::results::{Explanation, Parting, PointResult, RunResult};

/// Why two results cannot be laid side by side.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum DiffError {
    /// Only one side sweeps over something.
    #[error("only {side} sweeps over `{path}`: its points belong to no point of the other side")]
    OneSided {
        /// The side, as `A` or `B`.
        side: char,
        /// The swept path.
        path: String,
    },
    /// No point of one side is a point of the other.
    #[error("no point of A has the swept values of a point of B: 0 were compared")]
    NothingCompared,
}

/// A field in which the two sides were chosen to differ.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Choice {
    /// The swept path.
    pub path: String,
    /// Its only value on each side; `None` where that side does not name it.
    pub values: [Option<String>; 2],
}

/// Two points with the same swept values; `None` where a side has no such point.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair<'a> {
    /// The swept values that both sides can have.
    pub params: Vec<(String, String)>,
    /// The point of each side.
    pub points: [Option<&'a PointResult>; 2],
    /// Every metric that a side has.
    pub metrics: Vec<MetricPair>,
}

/// A metric of a pair of points.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricPair {
    /// Its name.
    pub name: String,
    /// The unit of both values.
    pub unit: &'static str,
    /// The value of each side, where it has one.
    pub values: [Option<f64>; 2],
}

impl MetricPair {
    /// Whether both sides have the same value.
    pub fn is_same(&self) -> bool {
        self.distance().total_cmp(&0.0).is_eq()
    }

    /// The values, where both sides have one.
    fn both(&self) -> Option<[f64; 2]> {
        let [left, right] = self.values;
        Some([left?, right?])
    }

    /// The difference as a part of the greater value, from 0 to 1 where the signs agree; infinite where
    /// only one side has a value.
    pub fn distance(&self) -> f64 {
        let [Some(left), Some(right)] = self.values else { return f64::INFINITY };
        let greater = left.abs().max(right.abs());
        if greater > 0.0 { (left - right).abs() / greater } else { 0.0 }
    }

    /// The value of B against that of A, in percent of A; `None` where that is not known.
    pub fn change(&self) -> Option<f64> {
        let [Some(left), Some(right)] = self.values else { return None };
        (left.abs() > 0.0).then(|| (right - left) / left.abs() * 100.0)
    }
}

/// Metrics of a pair that differ in step: one, and the names of those that follow from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact<'s, 'a> {
    /// The pair.
    pub pair: &'s Pair<'a>,
    /// The one that is shown.
    pub metric: &'s MetricPair,
    /// The others.
    pub in_step: Vec<&'s str>,
}

impl Pair<'_> {
    /// Whether both sides have the point, with equal events and equal metrics.
    pub fn is_same(&self) -> bool {
        self.has_same_events() && self.metrics.iter().all(MetricPair::is_same)
    }

    /// Whether the events of both sides are equal, and how they ended. It is unknown of points that a limit
    /// ended: what they would have done, or, where they were not started, anything.
    pub fn has_same_events(&self) -> bool {
        let [Some(left), Some(right)] = self.points else { return false };
        let whole = !left.limited && !right.limited;
        whole && left.digest == right.digest && left.failure == right.failure
    }

    /// The number by which the point is called: that of A, if A has it.
    pub fn index(&self) -> usize {
        self.points.into_iter().flatten().next().map_or(0, |point| point.index)
    }

    /// The metrics that differ; those in step are one group.
    fn moved(&self) -> Vec<Vec<&MetricPair>> {
        let is_in_step = |left: &&MetricPair, right: &&MetricPair| {
            left.both().zip(right.both()).is_some_and(|(left, right)| in_step(left, right))
        };
        groups(self.metrics.iter().filter(|metric| !metric.is_same()), is_in_step)
    }

    fn distance(&self) -> f64 {
        let finite = self.metrics.iter().map(MetricPair::distance).filter(|one| one.is_finite());
        finite.fold(0.0, f64::max)
    }
}

/// Two results side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Sides<'a> {
    /// In what they were chosen to differ.
    pub choices: Vec<Choice>,
    /// Their points, in the order of A; then those that only B has.
    pub pairs: Vec<Pair<'a>>,
}

impl<'a> Sides<'a> {
    /// Lays two results side by side.
    ///
    /// # Errors
    ///
    /// [`DiffError`] where their points do not belong together.
    pub fn new(left: &'a RunResult, right: &'a RunResult) -> Result<Self, DiffError> {
        let choices = choices(left, right)?;
        let chosen = |path: &str| choices.iter().any(|choice| choice.path == path);
        let key = |point: &PointResult| -> Vec<(String, String)> {
            let mut params = point.params.clone();
            params.retain(|(path, _)| !chosen(path));
            params
        };
        let sorted = |point: &PointResult| key(point).into_iter().collect::<BTreeMap<_, _>>();
        let mut theirs: BTreeMap<_, &PointResult> =
            right.points.iter().map(|point| (sorted(point), point)).collect();
        let mut pairs: Vec<Pair<'_>> = left
            .points
            .iter()
            .map(|point| pair(key(point), [Some(point), theirs.remove(&sorted(point))]))
            .collect();
        if !pairs.iter().any(|pair| pair.points[1].is_some()) {
            return Err(DiffError::NothingCompared);
        }
        let only = right.points.iter().filter(|point| theirs.contains_key(&sorted(point)));
        pairs.extend(only.map(|point| pair(key(point), [None, Some(point)])));
        Ok(Self { choices, pairs })
    }

    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.pairs.iter().all(Pair::is_same)
    }

    /// The metrics that differ, those that differ most first; those of a pair that are in step are one fact,
    /// shown by the first of them.
    pub fn worst(&self) -> Vec<Fact<'_, 'a>> {
        let each = self.pairs.iter().flat_map(|pair| {
            pair.moved().into_iter().map(move |group| {
                let in_step = group[1..].iter().map(|metric| metric.name.as_str()).collect();
                Fact { pair, metric: group[0], in_step }
            })
        });
        let mut all: Vec<Fact<'_, 'a>> = each.collect();
        all.sort_by(|left, right| right.metric.distance().total_cmp(&left.metric.distance()));
        all
    }

    /// The pair whose metrics differ most; without such a difference the first with other events. Only
    /// points that both sides have can be compared.
    pub fn most_different(&self) -> Option<&Pair<'a>> {
        let both = || self.pairs.iter().filter(|pair| pair.points.iter().all(Option::is_some));
        let moved = both().filter(|pair| pair.distance() > 0.0);
        // Of equals the first: `max_by` would answer the last.
        let most =
            moved.reduce(|most, one| if one.distance() > most.distance() { one } else { most });
        most.or_else(|| both().find(|pair| !pair.is_same()))
    }

    /// Whether every point of each side is a point of the other.
    pub fn is_complete(&self) -> bool {
        self.pairs.iter().all(|pair| pair.points.iter().all(Option::is_some))
    }
}

fn pair(params: Vec<(String, String)>, points: [Option<&PointResult>; 2]) -> Pair<'_> {
    let mut metrics: Vec<MetricPair> = Vec::new();
    for (side, point) in points.iter().enumerate() {
        for metric in point.iter().flat_map(|point| &point.metrics) {
            let known = metrics.iter().position(|one| one.name == metric.name);
            let place = known.unwrap_or_else(|| {
                let (name, unit) = (metric.name.clone(), metric.unit);
                metrics.push(MetricPair { name, unit, values: [None, None] });
                metrics.len() - 1
            });
            metrics[place].values[side] = Some(metric.value);
        }
    }
    Pair { params, points, metrics }
}

/// A swept path and its values.
type Axis<'a> = (&'a str, BTreeSet<&'a str>);

fn find<'a, 'b>(axes: &'b [Axis<'a>], path: &str) -> Option<&'b BTreeSet<&'a str>> {
    axes.iter().find(|(known, _)| *known == path).map(|(_, values)| values)
}

/// The values of each swept path.
fn axes(result: &RunResult) -> Vec<Axis<'_>> {
    let mut axes: Vec<Axis<'_>> = Vec::new();
    for (path, value) in result.points.iter().flat_map(|point| &point.params) {
        match axes.iter_mut().find(|(known, _)| known == path) {
            Some((_, values)) => {
                values.insert(value);
            }
            None => axes.push((path, BTreeSet::from([value.as_str()]))),
        }
    }
    axes
}

/// Axes with one value on each side, which differ, or that one side has alone.
fn choices(left: &RunResult, right: &RunResult) -> Result<Vec<Choice>, DiffError> {
    let (lefts, rights) = (axes(left), axes(right));
    let only = |values: Option<&BTreeSet<&str>>| -> Option<String> {
        let values = values.filter(|values| values.len() == 1)?;
        values.first().map(|value| (*value).to_owned())
    };
    let further = rights.iter().filter(|(path, _)| find(&lefts, path).is_none());
    let mut choices = Vec::new();
    for (path, _) in lefts.iter().chain(further) {
        let (ours, theirs) = (find(&lefts, path), find(&rights, path));
        let values = [only(ours), only(theirs)];
        let path = (*path).to_owned();
        match (ours, theirs) {
            (Some(ours), Some(theirs)) if ours == theirs => {}
            (Some(ours), Some(theirs)) if ours.len() > 1 || theirs.len() > 1 => {}
            (Some(ours), None) if ours.len() > 1 => {
                return Err(DiffError::OneSided { side: 'A', path });
            }
            (None, Some(theirs)) if theirs.len() > 1 => {
                return Err(DiffError::OneSided { side: 'B', path });
            }
            _ => choices.push(Choice { path, values }),
        }
    }
    Ok(choices)
}

/// Everything there is to say about two results of one scenario.
#[derive(Clone, Debug)]
pub struct Difference<'a> {
    /// The scenario, or both.
    pub scenario: String,
    /// The names of the sides.
    pub names: [SideName; 2],
    /// Inputs that are known to differ: values of A and B.
    pub inputs: Vec<Change>,
    /// Their points.
    pub sides: Sides<'a>,
    /// Parts whose work differs, over all points; A is before, B is now.
    pub work: Vec<Shift>,
    /// The point that was looked at event by event.
    pub closer: Option<Closer>,
    /// Comparisons that could not be made, and why.
    pub notes: Vec<String>,
}

/// The name of one side.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SideName {
    /// As the command called it.
    pub label: String,
    /// `run`, `results` or `baseline`.
    pub kind: &'static str,
    /// Version of the program that made it.
    pub version: String,
    /// Digest of all its points.
    pub digest: String,
}

/// One point of both sides, event by event.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Closer {
    /// The number of the point on each side.
    pub points: [usize; 2],
    /// The swept values that both sides can have.
    pub params: Vec<(String, String)>,
    /// Where the measured time went on each side, where its program finished.
    pub explanations: [Option<Explanation>; 2],
    /// How many events each side has.
    pub events: [u64; 2],
    /// Where they part; `None` where their events are equal.
    pub parting: Option<Parting>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Metric;

    /// The swept values of a point, and its latency.
    type Sample<'a> = (&'a [(&'a str, &'a str)], f64);

    fn result(points: &[Sample<'_>]) -> RunResult {
        let point = |(index, (params, value)): (usize, &Sample<'_>)| {
            let params = params.iter().map(|(path, value)| ((*path).into(), (*value).into()));
            let mut point = PointResult::at(index, params.collect());
            point.digest = format!("{:032x}", value.to_bits());
            point.metrics = vec![Metric { name: "latency".into(), value: *value, unit: "us" }];
            point
        };
        RunResult {
            scenario: "a".into(),
            title: "A".into(),
            version: "0.1.0".into(),
            digest: String::new(),
            points: points.iter().enumerate().map(point).collect(),
            claims: Vec::new(),
            what_if: Vec::new(),
        }
    }

    #[test]
    fn points_are_paired_by_their_values_and_not_by_their_numbers() {
        let left = result(&[(&[("size", "1 B")], 1.0), (&[("size", "2 B")], 2.0)]);
        let right = result(&[(&[("size", "2 B")], 2.0), (&[("size", "4 B")], 4.0)]);
        let sides = Sides::new(&left, &right).unwrap();
        let places = |pair: &Pair<'_>| pair.points.map(|point| point.map(|point| point.index));
        let found: Vec<_> = sides.pairs.iter().map(places).collect();
        assert_eq!(found, [[Some(0), None], [Some(1), Some(0)], [None, Some(1)]]);
        assert!(sides.pairs[1].is_same() && !sides.is_same());
        assert_eq!(sides.most_different(), None, "the only common point is the same");
    }

    #[test]
    fn what_was_chosen_to_differ_keeps_no_points_apart() {
        let left = result(&[(&[("how", "rput"), ("size", "1 B")], 1.0)]);
        let right = result(&[(&[("size", "1 B"), ("how", "rget")], 1.0)]);
        let sides = Sides::new(&left, &right).unwrap();
        assert!(sides.is_same());
        assert_eq!(sides.choices[0].values, [Some("rput".into()), Some("rget".into())]);
        let wide = result(&[(&[("how", "rput")], 1.0), (&[("how", "rget")], 1.0)]);
        let bare = result(&[(&[], 1.0)]);
        let refused = Sides::new(&wide, &bare).unwrap_err();
        assert_eq!(refused, DiffError::OneSided { side: 'A', path: "how".into() });
        let other = result(&[(&[("size", "3 B")], 1.0), (&[("size", "5 B")], 1.0)]);
        assert_eq!(Sides::new(&left, &other), Err(DiffError::NothingCompared));
    }

    #[test]
    fn the_order_of_the_sides_changes_nothing_but_the_signs() {
        let left = result(&[(&[("size", "1 B")], 4.0), (&[("size", "2 B")], 10.0)]);
        let right = result(&[(&[("size", "1 B")], 1.0), (&[("size", "2 B")], 20.0)]);
        let (there, back) =
            (Sides::new(&left, &right).unwrap(), Sides::new(&right, &left).unwrap());
        assert_eq!(there.most_different().map(Pair::index), Some(0));
        assert_eq!(back.most_different().map(Pair::index), Some(0));
        let order = |sides: &Sides<'_>| -> Vec<usize> {
            sides.worst().iter().map(|fact| fact.pair.index()).collect()
        };
        assert_eq!((order(&there), order(&back)), (vec![0, 1], vec![0, 1]));
        let changes = |sides: &Sides<'_>| sides.worst()[0].metric.change();
        assert_eq!((changes(&there), changes(&back)), (Some(-75.0), Some(300.0)));
    }
}
