//! Labels of ticks, and their unit of time or bandwidth.
//!
//! All numbers of an axis have one form: sizes have `Ki` and `Mi`, counts and rates `k` and `M` or
//! no prefix, quantities whose unit has a prefix all their digits, and the numbers of a linear axis
//! equally many decimals.

use super::curves::{Figure, Point, ReferenceShape};
use super::scale::{Axis, Layout, Scale};
use crate::numbers::engineering;

/// Between groups of three digits: narrower than a letter.
const THIN: char = '\u{2009}';

/// How all numbers of an axis are written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Writing {
    /// With `Ki`, `Mi`, `Gi`, each where the number has one.
    Binary,
    /// With `k`, `M`, `G`, `T`, each where the number has one.
    Decimal,
    /// All divided by one such unit, with equally many decimals.
    Even(f64, &'static str, usize),
    /// With all digits.
    Digits,
}

/// The prefixes of a thousand and more.
const DECIMAL: [(f64, &str); 4] = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
/// The prefixes of sizes.
const BINARY: [(f64, &str); 3] = [(1_073_741_824.0, "Gi"), (1_048_576.0, "Mi"), (1024.0, "Ki")];

impl Writing {
    /// One way for all ticks of an axis.
    fn of(axis: &Axis, values: &[f64]) -> Self {
        let greatest = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        let greatest = greatest * (1.0 + 1e-9);
        let is_size = axis.unit == "B";
        match axis.scale {
            Scale::Linear => Self::even(&axis.unit, greatest, values),
            Scale::Log2
                if (is_size || greatest >= 1e5) && values.iter().copied().all(is_binary) =>
            {
                Self::Binary
            }
            Scale::Log2 if greatest >= 1e5 => Self::Decimal,
            Scale::Log10 | Scale::Log10FromZero(_)
                if greatest >= 1e4 && matches!(&*axis.unit, "" | "B" | "msg/s") =>
            {
                Self::Decimal
            }
            Scale::Log2 | Scale::Log10 | Scale::Log10FromZero(_) | Scale::Words(_) => Self::Digits,
        }
    }

    /// The unit of the greatest value, and the decimals that all values need.
    fn even(unit: &str, greatest: f64, values: &[f64]) -> Self {
        let has_prefix = matches!(unit, "" | "B" | "msg/s") && greatest >= 1e4;
        let fitting = DECIMAL.into_iter().find(|(unit, _)| has_prefix && greatest >= *unit);
        let (unit, prefix) = fitting.unwrap_or((1.0, ""));
        let needed = values.iter().map(|value| {
            let text = rounded(value / unit, 9).to_string();
            text.split_once('.').map_or(0, |(_, decimals)| decimals.len())
        });
        match needed.max().unwrap_or(0) {
            decimals @ 0..=6 => Self::Even(unit, prefix, decimals),
            _ => Self::Digits,
        }
    }

    fn text(self, value: f64) -> String {
        match self {
            Self::Binary => binary_text(value),
            Self::Decimal => decimal_text(value),
            Self::Even(..) if value == 0.0 => "0".to_owned(),
            Self::Even(unit, prefix, decimals) => {
                let text = in_groups(&format!("{:.decimals$}", value / unit));
                if prefix.is_empty() { text } else { format!("{text} {prefix}") }
            }
            Self::Digits => grouped(value),
        }
    }
}

/// How the tick at a place reads; words stand elsewhere.
pub(super) fn tick_text(axis: &Axis, layout: &Layout, place: f64) -> String {
    let values: Vec<f64> = layout.ticks.iter().map(|&tick| axis.scale.value(tick)).collect();
    Writing::of(axis, &values).text(axis.scale.value(place))
}

/// How a value of an axis reads in a sentence, with its unit.
pub(super) fn in_words(axis: &Axis, value: f64) -> String {
    if let Scale::Words(words) = &axis.scale {
        let near = |(at, _): &(u32, &String)| (f64::from(*at) - value).abs() < 0.5;
        return (0_u32..).zip(words).find(near).map_or_else(String::new, |(_, word)| word.clone());
    }
    let number = if axis.unit == "B" && is_binary(value) {
        binary_text(value)
    } else if value.fract() == 0.0 && value.abs() < 1e4 {
        grouped(value)
    } else {
        engineering(value)
    };
    match &*axis.unit {
        "" => number,
        "B" if number.ends_with('i') => number + "B",
        unit => format!("{number} {unit}"),
    }
}

/// Whether a size from 1 Ki on has a binary prefix and no decimals.
fn is_binary(value: f64) -> bool {
    let value = rounded(value, 9);
    value < 1024.0 || value % 1024.0 == 0.0
}

/// A power of two as the documents write sizes: 1, 64, 4 Ki, 1 Mi.
fn binary_text(value: f64) -> String {
    let value = rounded(value, 9);
    match BINARY.into_iter().find(|(unit, _)| value >= *unit && value % unit == 0.0) {
        Some((unit, prefix)) => format!("{} {prefix}", value / unit),
        None => grouped(value),
    }
}

/// A decimal number with `k`, `M`, `G`, `T` from a thousand up: 10 k, 1.5 M.
fn decimal_text(value: f64) -> String {
    let magnitude = value.abs() * (1.0 + 1e-9);
    match DECIMAL.into_iter().find(|(unit, _)| magnitude >= *unit) {
        Some((unit, prefix)) => format!("{} {prefix}", rounded(value / unit, 6)),
        None => grouped(value),
    }
}

/// All digits, in groups of three from ten thousand up: 1000, 10 000.
fn grouped(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-4 {
        return format!("{:e}", rounded(value, 3));
    }
    in_groups(&rounded(value, 9).to_string())
}

/// The same of a number as text.
fn in_groups(text: &str) -> String {
    let end = text.find('.').unwrap_or(text.len());
    let begin = usize::from(text.starts_with('-'));
    if end - begin < 5 {
        return text.to_owned();
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

/// The least and the greatest length of some values above zero.
fn ends(values: &[f64]) -> (f64, f64) {
    let lengths = values.iter().map(|value| value.abs());
    let above = lengths.filter(|value| value.is_finite() && *value > 0.0);
    above.fold((f64::INFINITY, 0.0), |(low, high), value| (low.min(value), high.max(value)))
}

/// The unit in which times of an axis are read easily, and how many microseconds it has.
fn time_unit(scale: &Scale, values: &[f64]) -> (&'static str, f64) {
    let (low, high) = ends(values);
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

/// The same for bandwidths: GB/s from 10 000 MB/s on, unless a logarithmic axis is mostly below one.
fn bandwidth_unit(scale: &Scale, values: &[f64]) -> (&'static str, f64) {
    let (low, high) = ends(values);
    let typical = if *scale == Scale::Linear { high } else { (low * high).sqrt() };
    if high >= 1e4 && typical >= 1e3 { ("GB/s", 1e3) } else { ("MB/s", 1.0) }
}

/// The axis in that unit, and what its values are divided by.
fn in_fitting_unit(axis: &Axis, values: &[f64]) -> (Axis, f64) {
    let (unit, factor) = match (&axis.scale, &*axis.unit) {
        (Scale::Words(_), _) => return (axis.clone(), 1.0),
        (_, "us") => time_unit(&axis.scale, values),
        (_, "MB/s") => bandwidth_unit(&axis.scale, values),
        _ => return (axis.clone(), 1.0),
    };
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

/// The figure with its times and bandwidths in units that fit its axes.
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
                for mark in marks {
                    divide(&mut mark.point);
                    mark.tolerated = mark.tolerated.map(|(low, high)| (low / by_y, high / by_y));
                }
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
    fn sizes_of_which_one_is_decimal_are_all_written_so() {
        let sizes = [1e3, 16e3, 256e3, 1e6, 4e6, 16e6];
        let axis = Axis { label: "Size".into(), unit: "B".into(), scale: Scale::Log2 };
        let layout = layout(&axis, &sizes, 0.0).unwrap().ticked_at(&axis, &sizes);
        let texts: Vec<_> = layout.ticks.iter().map(|&at| tick_text(&axis, &layout, at)).collect();
        assert_eq!(texts, ["1 k", "16 k", "256 k", "1 M", "4 M", "16 M"]);
    }

    #[test]
    fn numbers_of_a_linear_axis_have_equally_many_decimals() {
        check_ticks(
            "us",
            Scale::Linear,
            &[3.0, 4.5],
            &["3.0", "3.2", "3.4", "3.6", "3.8", "4.0", "4.2", "4.4"],
        );
        let expected = ["0", "0.2 M", "0.4 M", "0.6 M", "0.8 M", "1.0 M", "1.2 M"];
        check_ticks("msg/s", Scale::Linear, &[0.0, 1.2e6], &expected);
    }

    #[test]
    fn bandwidths_beyond_ten_thousand_are_in_the_greater_unit() {
        let unit = |scale, values: &[f64]| bandwidth_unit(&scale, values).0;
        assert_eq!(unit(Scale::Linear, &[0.0, 9000.0]), "MB/s");
        assert_eq!(unit(Scale::Linear, &[100.0, 10_000.0]), "GB/s");
        assert_eq!(unit(Scale::Log10, &[300.0, 20_000.0]), "GB/s");
        assert_eq!(unit(Scale::Log10, &[1.0, 12_000.0]), "MB/s", "most of it is below one");
    }

    #[test]
    fn values_read_in_a_sentence_as_on_an_axis() {
        let in_words = |unit: &str, scale, value| {
            in_words(&Axis { label: "A".into(), unit: unit.into(), scale }, value)
        };
        assert_eq!(in_words("B", Scale::Log2, 16_384.0), "16 KiB");
        assert_eq!(in_words("us", Scale::Linear, 3.26), "3.260 us");
        assert_eq!(in_words("", Scale::Linear, 14.0), "14");
        assert_eq!(in_words("", Scale::Words(vec!["rput".into(), "rget".into()]), 1.0), "rget");
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
        let mut result = crate::sample::ping_pong();
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
        let [heading, id, source] = [const { String::new() }; 3];
        figure.references.push(super::super::Reference { heading, id, label, source, shape });
        let drawn = in_fitting_units(&figure);
        assert_eq!((drawn.y.title(), drawn.x.title()), ("Latency (ms)".into(), "Size (B)".into()));
        assert_eq!(drawn.series[0].points[1].y.to_bits(), 104.0_f64.to_bits());
        assert_eq!(drawn.references[0].shape, ReferenceShape::Level(2.0));
    }
}
