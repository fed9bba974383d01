//! A figure in words: its caption, a sentence from its data, and the curves that coincide.

use super::curves::{Figure, Point, Series};
use super::scale::Layout;
use super::stack::{Bar, Stack};
use super::ticks::in_words;

/// The most ids of claims that a caption has.
const MOST_IDS: usize = 6;

impl Figure {
    /// The title, and the claims that the figure shows by their ids.
    pub fn caption(&self) -> String {
        caption(self)
    }
}

/// The title, and the claims by their ids.
fn caption(figure: &Figure) -> String {
    let ids: Vec<&str> = figure.references.iter().map(|one| one.id.as_str()).collect();
    let ids: Vec<&str> = ids.into_iter().filter(|id| !id.is_empty()).collect();
    let claims = match &ids[..] {
        [] => return figure.title.clone(),
        [first, .., last] if ids.len() > MOST_IDS => {
            format!("{} claims, {first} to {last}", ids.len())
        }
        _ => ids.join(", "),
    };
    format!("{}; expected by {claims}", figure.title)
}

/// The data in words: the greatest and the least value, and their places.
pub(super) fn sentence(figure: &Figure) -> String {
    let all = figure.series.iter();
    let points = all.flat_map(|series| series.points.iter().map(move |point| (series, point)));
    let points: Vec<(&Series, &Point)> = points.filter(|(_, point)| point.y.is_finite()).collect();
    let by_value =
        |one: &&(&Series, &Point), next: &&(&Series, &Point)| one.1.y.total_cmp(&next.1.y);
    let ends = (points.iter().min_by(by_value), points.iter().max_by(by_value));
    let (Some(least), Some(greatest)) = ends else { return String::new() };
    let at = |(series, point): &(&Series, &Point)| {
        let name =
            if series.label.is_empty() { String::new() } else { format!(", {}", series.label) };
        format!("{} at {}{name}", in_words(&figure.y, point.y), in_words(&figure.x, point.x))
    };
    let curves = match figure.series.len() {
        1 => String::new(),
        count => format!(", {count} curves"),
    };
    let (y, x) = (&figure.y.label, lower(&figure.x.label));
    let claims = caption(figure);
    let claims = claims.strip_prefix(&figure.title).unwrap_or_default();
    format!("{y} against {x}{curves}: from {} to {}{claims}.", at(least), at(greatest))
}

/// The same of stacked bars: the longest, its longest part, and the shortest.
pub(super) fn stack_sentence(stack: &Stack) -> String {
    let by_total = |one: &&Bar, next: &&Bar| one.total().total_cmp(&next.total());
    let ends = (stack.bars.iter().max_by(by_total), stack.bars.iter().min_by(by_total));
    let (Some(longest), Some(shortest)) = ends else { return String::new() };
    let value = |value: f64| in_words(&stack.axis, value);
    let parts = longest.values.iter().zip(&stack.parts);
    let most = parts.max_by(|(one, _), (next, _)| one.total_cmp(next));
    let most = most.map_or_else(String::new, |(time, part)| format!(", {part} {}", value(*time)));
    let total = value(longest.total());
    let first = format!("{} of {}: {total}{most}", stack.axis.label, longest.label);
    match stack.bars.len() {
        1 => format!("{first}."),
        _ => format!("{first}; of {}: {}.", shortest.label, value(shortest.total())),
    }
}

fn lower(label: &str) -> String {
    let mut letters = label.chars();
    let second_is_small = label.chars().nth(1).is_none_or(char::is_lowercase);
    match letters.next() {
        Some(first) if second_is_small => first.to_lowercase().chain(letters).collect(),
        _ => label.to_owned(),
    }
}

/// Two places nearer than this part of the axis are one for the eye.
const NEAR: f64 = 0.006;
/// Values that differ by no more than this part are called equal.
const EQUAL: f64 = 0.01;
/// The fewest points of a common end of all curves.
const TAIL: usize = 3;

/// Which curves lie on each other.
#[derive(Clone, Debug, Default)]
pub(super) struct Coinciding {
    /// Curves that one line would show.
    groups: Vec<Vec<usize>>,
    /// The same in words.
    pub(super) notes: Vec<String>,
}

impl Coinciding {
    /// Pixels of a curve's thickness: of those that lie on each other each shows around the next.
    pub(super) fn thickness(&self, index: usize) -> u32 {
        let above = self.groups.iter().find_map(|group| {
            let place = group.iter().position(|member| *member == index)?;
            Some(group.len() - 1 - place)
        });
        super::marks::THIN + 3 * u32::try_from(above.unwrap_or(0).min(3)).unwrap_or(0)
    }
}

/// Whether the values of two curves differ by next to nothing.
fn are_equal(one: &[Point], other: &[Point]) -> bool {
    let near = |one: f64, other: f64| (one - other).abs() <= EQUAL * one.abs().max(other.abs());
    one.iter().zip(other).all(|(one, other)| near(one.y, other.y))
}

/// The relation of curves that no eye could tell apart: on a linear axis the values may differ all
/// the same.
const fn lie(are_equal: bool) -> &'static str {
    if are_equal { "coincide" } else { "lie on each other at this scale" }
}

/// Finds the curves that no eye could tell apart; over words markers stand beside each other.
pub(super) fn coinciding(figure: &Figure, x: &Layout, y: &Layout) -> Coinciding {
    if figure.is_over_words() || figure.series.len() < 2 {
        return Coinciding::default();
    }
    let near =
        |axis: &Layout, one: f64, next: f64| (one - next).abs() <= NEAR * (axis.high - axis.low);
    let place = |point: &Point| (figure.x.scale.place(point.x), figure.y.scale.place(point.y));
    let same = |(one, next): (&Point, &Point)| {
        let ((x1, y1), (x2, y2)) = (place(one), place(next));
        near(x, x1, x2) && near(y, y1, y2)
    };
    let on_each_other = |one: &Series, next: &Series| {
        let (one, next) = (&one.points, &next.points);
        one.len() > 1 && one.len() == next.len() && one.iter().zip(next).all(same)
    };
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, series) in figure.series.iter().enumerate() {
        let alike = |group: &&mut Vec<usize>| on_each_other(&figure.series[group[0]], series);
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups.retain(|group| group.len() > 1);
    let label = |index: &usize| figure.series[*index].label.clone();
    let points = |index: &usize| figure.series[*index].points.as_slice();
    let named = |group: &Vec<usize>| -> String {
        let alike = group.iter().all(|other| are_equal(points(&group[0]), points(other)));
        format!("{} {}", listed(&group.iter().map(label).collect::<Vec<_>>()), lie(alike))
    };
    let mut notes: Vec<String> = groups.iter().map(named).collect();
    let first = &figure.series[0].points;
    let others = &figure.series[1..];
    let tail = others.iter().map(|other| {
        let backwards = first.iter().rev().zip(other.points.iter().rev());
        backwards.take_while(|pair| same(*pair)).count()
    });
    let tail = tail.min().unwrap_or(0);
    if (TAIL..first.len()).contains(&tail) {
        let from = in_words(&figure.x, first[first.len() - tail].x);
        let ends = |points: &[Point]| points[points.len() - tail..].to_vec();
        let alike = others.iter().all(|other| are_equal(&ends(first), &ends(&other.points)));
        notes.push(format!("all {} from {from} on", lie(alike)));
    }
    Coinciding { groups, notes }
}

fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::scale::layout;
    use super::super::{Axis, EXPECTED, Reference, ReferenceShape, Scale};
    use super::*;

    fn figure(curves: &[(&str, &[f64])]) -> Figure {
        let series = |(label, ys): &(&str, &[f64])| Series {
            label: (*label).to_owned(),
            points: (0_u8..)
                .zip(*ys)
                .map(|(x, &y)| Point { x: f64::from(x).exp2() * 1024.0, y, range: None })
                .collect(),
        };
        let axis = |label: &str, unit: &str, scale| Axis {
            label: label.to_owned(),
            unit: unit.to_owned(),
            scale,
        };
        Figure {
            title: "Ways".into(),
            x: axis("Size", "B", Scale::Log2),
            y: axis("Latency", "us", Scale::Linear),
            series_title: String::new(),
            series: curves.iter().map(series).collect(),
            references: vec![],
        }
    }

    fn claimed(ids: u32) -> Figure {
        let mut figure = figure(&[("rput", &[2.0, 4.0]), ("rget", &[1.5, 3.25])]);
        let claim = |index: u32| Reference {
            heading: EXPECTED.to_owned(),
            id: format!("c-{index}"),
            label: String::new(),
            source: String::new(),
            shape: ReferenceShape::Level(1.0),
        };
        figure.references = (0..ids).map(claim).collect();
        figure
    }

    #[test]
    fn a_caption_has_the_ids_of_claims() {
        assert_eq!(caption(&claimed(0)), "Ways");
        assert_eq!(caption(&claimed(2)), "Ways; expected by c-0, c-1");
        assert_eq!(caption(&claimed(9)), "Ways; expected by 9 claims, c-0 to c-8");
    }

    #[test]
    fn a_figure_says_where_its_least_and_greatest_values_are() {
        let in_words = sentence(&claimed(1));
        let expected = "Latency against size, 2 curves: from 1.500 us at 1 KiB, rget to 4 us at \
                        2 KiB, rput; expected by c-0.";
        assert_eq!(in_words, expected);
    }

    #[test]
    fn curves_on_each_other_are_named_and_each_shows() {
        let found = |curves: &[(&str, &[f64])]| {
            let figure = figure(curves);
            let (xs, ys) = figure.extents();
            let x = layout(&figure.x, &xs, 0.0).unwrap();
            coinciding(&figure, &x, &layout(&figure.y, &ys, 0.0).unwrap())
        };
        let two: [(&str, &[f64]); 3] =
            [("rput", &[9.0, 9.0]), ("rget", &[1.0, 2.0]), ("coop", &[1.001, 2.001])];
        let alike = found(&two);
        assert_eq!(alike.notes, ["rget and coop coincide"]);
        assert_eq!([0, 1, 2].map(|index| alike.thickness(index)), [2, 5, 2]);
        let tails: [(&str, &[f64]); 2] =
            [("1", &[1.0, 5.0, 6.0, 7.0]), ("2", &[2.0, 5.0, 6.0, 7.0])];
        let far: [(&str, &[f64]); 2] = [("1", &[1.0, 500.0]), ("2", &[1.5, 500.0])];
        assert_eq!(found(&far).notes, ["1 and 2 lie on each other at this scale"]);
        let tails = found(&tails);
        assert_eq!(tails.notes, ["all coincide from 2 KiB on"]);
        assert_eq!(tails.thickness(0), 2);
    }
}
