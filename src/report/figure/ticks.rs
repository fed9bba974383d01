//! How ticks read, and in which unit of time.
//!
//! All numbers of an axis are written in one way: sizes with `Ki` and `Mi`, counts and rates with
//! `k` and `M` or without, and what has a prefix in its unit with all its digits.

use super::scale::{Layout, Scale};
use super::{Axis, Figure, Point, ReferenceShape};

/// Between groups of three digits: narrower than a letter.
const THIN: char = '\u{2009}';

/// Letters of all words together that have room below an axis.
const LETTERS: usize = 76;

/// A word, cut where all of its length would cover its neighbours.
fn word_text(words: &[String], place: f64) -> String {
    let near = |(at, _): &(u32, &String)| (f64::from(*at) - place).abs() < 0.5;
    let Some((_, word)) = (0_u32..).zip(words).find(near) else { return String::new() };
    let room = (LETTERS / words.len()).max(2) - 1;
    if word.chars().count() <= room {
        return word.clone();
    }
    word.chars().take(room - 1).chain(['…']).collect()
}

/// How the tick at a place reads.
pub(super) fn tick_text(axis: &Axis, layout: &Layout, place: f64) -> String {
    if let Scale::Words(words) = &axis.scale {
        return word_text(words, place);
    }
    let value = axis.scale.value(place);
    let all = layout.ticks.iter().map(|&tick| axis.scale.value(tick).abs());
    let greatest = all.fold(0.0, f64::max) * (1.0 + 1e-9);
    let by_two = axis.scale == Scale::Log2;
    match &*axis.unit {
        "B" if by_two => binary_text(value),
        _ if by_two && greatest >= 1e5 => binary_text(value),
        "" | "B" | "msg/s" if !by_two && greatest >= 1e4 => decimal_text(value),
        _ => grouped(value),
    }
}

/// A power of two as the documents write sizes: 1, 64, 4 Ki, 1 Mi.
fn binary_text(value: f64) -> String {
    let value = rounded(value, 9);
    let units = [(f64::from(1 << 30), "Gi"), (f64::from(1 << 20), "Mi"), (1024.0, "Ki")];
    match units.into_iter().find(|(unit, _)| value >= *unit && value % unit == 0.0) {
        Some((unit, prefix)) => format!("{} {prefix}", value / unit),
        None => grouped(value),
    }
}

/// A decimal number with `k`, `M`, `G`, `T` from a thousand up: 10 k, 1.5 M.
fn decimal_text(value: f64) -> String {
    let magnitude = value.abs() * (1.0 + 1e-9);
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    match units.into_iter().find(|(unit, _)| magnitude >= *unit) {
        Some((unit, prefix)) => format!("{} {prefix}", rounded(value / unit, 6)),
        None => grouped(value),
    }
}

/// All digits, in groups of three from ten thousand up: 1000, 10 000.
fn grouped(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-4 {
        return format!("{:e}", rounded(value, 3));
    }
    let text = rounded(value, 9).to_string();
    let end = text.find('.').unwrap_or(text.len());
    let begin = usize::from(text.starts_with('-'));
    if end - begin < 5 {
        return text;
    }
    let mut grouped = text[..begin].to_owned();
    for (at, digit) in text[begin..end].char_indices() {
        if at > 0 && (end - begin - at).is_multiple_of(3) {
            grouped.push(THIN);
        }
        grouped.push(digit);
    }
    grouped + &text[end..]
}

/// `value` with `digits` significant digits, so that 0.30000000000000004 reads 0.3.
fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value)
}

/// The unit in which times of an axis are read easily, and how many microseconds it has.
fn time_unit(scale: &Scale, values: &[f64]) -> (&'static str, f64) {
    let lengths = values.iter().map(|value| value.abs());
    let above = lengths.filter(|value| value.is_finite() && *value > 0.0);
    let (low, high) = above.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), value| {
        (low.min(value), high.max(value))
    });
    // A linear axis is read at its far end, a logarithmic one around its middle.
    let typical = if *scale == Scale::Linear { high / 10.0 } else { (low * high).sqrt() };
    if typical >= 1e6 {
        ("s", 1e6)
    } else if typical >= 1e3 {
        ("ms", 1e3)
    } else {
        ("us", 1.0)
    }
}

/// The axis in that unit, and what its values are divided by.
fn in_fitting_unit(axis: &Axis, values: &[f64]) -> (Axis, f64) {
    if axis.unit != "us" || matches!(axis.scale, Scale::Words(_)) {
        return (axis.clone(), 1.0);
    }
    let (unit, factor) = time_unit(&axis.scale, values);
    let decades = if factor >= 1e6 { 6 } else { 3 };
    let scale = match axis.scale.clone() {
        Scale::Log10FromZero(first) if factor > 1.0 => Scale::Log10FromZero(first - decades),
        scale @ (Scale::Log2
        | Scale::Log10
        | Scale::Log10FromZero(_)
        | Scale::Linear
        | Scale::Words(_)) => scale,
    };
    (Axis { unit: unit.to_owned(), scale, ..axis.clone() }, factor)
}

/// The figure with its times in units that fit its axes.
pub(super) fn in_fitting_units(figure: &Figure) -> Figure {
    let (xs, ys) = figure.extents();
    let (x, by_x) = in_fitting_unit(&figure.x, &xs);
    let (y, by_y) = in_fitting_unit(&figure.y, &ys);
    let mut figure = Figure { x, y, ..figure.clone() };
    let divide = |point: &mut Point| {
        (point.x, point.y) = (point.x / by_x, point.y / by_y);
        point.range = point.range.map(|(low, high)| (low / by_y, high / by_y));
    };
    figure.series.iter_mut().flat_map(|series| &mut series.points).for_each(divide);
    for reference in &mut figure.references {
        match &mut reference.shape {
            ReferenceShape::Band { low, high } => (*low, *high) = (*low / by_y, *high / by_y),
            ReferenceShape::Onset { low, high } => (*low, *high) = (*low / by_x, *high / by_x),
            ReferenceShape::Level(value) => *value /= by_y,
            ReferenceShape::Markers(marks) => {
                marks.iter_mut().map(|mark| &mut mark.point).for_each(divide);
            }
            ReferenceShape::Line(points) | ReferenceShape::Other(_, points) => {
                points.iter_mut().for_each(divide);
            }
        }
    }
    figure
}

#[cfg(test)]
mod tests {
    use super::super::scale::layout;
    use super::*;

    #[track_caller]
    fn check_ticks(unit: &str, scale: Scale, values: &[f64], expected: &[&str]) {
        let axis = Axis { label: "Axis".into(), unit: unit.into(), scale };
        let layout = layout(&axis, values, 0.0).unwrap();
        let text = |&tick: &f64| tick_text(&axis, &layout, tick).replace(THIN, "_");
        assert_eq!(layout.ticks.iter().map(text).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn sizes_have_binary_prefixes() {
        let expected = [
            "1", "4", "16", "64", "256", "1 Ki", "4 Ki", "16 Ki", "64 Ki", "256 Ki", "1 Mi", "4 Mi",
        ];
        check_ticks("B", Scale::Log2, &[1.0, 4_194_304.0], &expected);
        check_ticks("B", Scale::Log2, &[512.0, 4096.0], &["512", "1 Ki", "2 Ki", "4 Ki"]);
    }

    #[test]
    fn powers_of_two_are_written_alike_along_an_axis() {
        let expected = ["1", "2", "4", "8", "16", "32", "64", "128", "256", "512", "1024", "2048"];
        check_ticks("", Scale::Log2, &[1.0, 2048.0], &expected);
        check_ticks("", Scale::Log2, &[8192.0, 32_768.0], &["8192", "16_384", "32_768"]);
        let expected = ["16 Ki", "32 Ki", "64 Ki", "128 Ki"];
        check_ticks("", Scale::Log2, &[16_384.0, 131_072.0], &expected);
    }

    #[test]
    fn counts_and_rates_have_prefixes_from_a_thousand_on_or_nowhere() {
        let expected = ["1 k", "10 k", "100 k", "1 M", "10 M"];
        check_ticks("msg/s", Scale::Log10, &[1e3, 1e7], &expected);
        check_ticks("", Scale::Log10, &[100.0, 1e4], &["100", "1 k", "10 k"]);
        check_ticks("", Scale::Log10, &[10.0, 1e3], &["10", "100", "1000"]);
    }

    #[test]
    fn what_has_a_prefix_in_its_unit_gets_no_other() {
        let expected = ["0.1", "1", "10", "100", "1000", "10_000"];
        check_ticks("us", Scale::Log10, &[0.1, 10_000.0], &expected);
        check_ticks("MB/s", Scale::Log10, &[1e3, 1e5], &["1000", "10_000", "100_000"]);
        check_ticks(
            "us",
            Scale::Linear,
            &[-20_000.0, 0.0],
            &["-20_000", "-15_000", "-10_000", "-5000", "0"],
        );
    }

    #[test]
    fn times_are_in_the_unit_that_fits() {
        let unit = |scale, values: &[f64]| time_unit(&scale, values).0;
        assert_eq!(unit(Scale::Linear, &[0.0, 9000.0]), "us");
        assert_eq!(unit(Scale::Linear, &[0.0, 104_000.0]), "ms");
        assert_eq!(unit(Scale::Linear, &[2.0e7]), "s");
        assert_eq!(
            unit(Scale::Linear, &[1.0, f64::INFINITY]),
            "us",
            "refused later, in its own unit"
        );
        assert_eq!(unit(Scale::Log10, &[25.0, 30_000.0]), "us");
        assert_eq!(unit(Scale::Log10FromZero(3), &[0.0, 1000.0, 100_000.0]), "ms");
    }

    #[test]
    fn a_figure_of_long_times_is_drawn_in_milliseconds() {
        let mut result = crate::report::sample::ping_pong();
        result.points[1].metrics[0].value = 104_000.0;
        let spec = super::super::FigureSpec {
            x: "workload.size".into(),
            y: "latency".into(),
            y_scale: Some(Scale::Linear),
            ..Default::default()
        };
        let mut figure = Figure::from_result(&result, &spec, vec![]).unwrap();
        let label = String::new();
        let shape = ReferenceShape::Level(2000.0);
        figure.references.push(super::super::Reference { label, source: String::new(), shape });
        let drawn = in_fitting_units(&figure);
        assert_eq!((drawn.y.title(), drawn.x.title()), ("Latency (ms)".into(), "Size (B)".into()));
        assert_eq!(drawn.series[0].points[1].y.to_bits(), 104.0_f64.to_bits());
        assert_eq!(drawn.references[0].shape, ReferenceShape::Level(2.0));
    }
}
