//! Scales: where a value lies on an axis, and where the ticks are.

use super::super::error::ReportError;

/// One axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it shows, without unit.
    pub label: String,
    /// Unit of the values; empty for plain numbers. `B` makes ticks read 4 Ki, 1 Mi.
    pub unit: String,
    /// How values are placed.
    pub scale: Scale,
}

impl Axis {
    /// The axis' title: label and unit.
    pub fn title(&self) -> String {
        if self.unit.is_empty() {
            return self.label.clone();
        }
        format!("{} ({})", self.label, self.unit)
    }
}

/// How an axis places its values.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Scale {
    /// By the logarithm to base 2: message sizes, numbers of processes.
    Log2,
    /// By the logarithm to base 10: rates, times.
    Log10,
    /// The same from this power of ten on, and zero one decade before it.
    Log10FromZero(i32),
    /// By the value.
    Linear,
    /// Words at equal distances: the value is a word's place in this list, from 0.
    Words(Vec<String>),
}

impl Scale {
    /// The scale for swept values: log2 where they are powers of two, log10 where those that are
    /// not zero span two decades, linear otherwise.
    pub fn of_parameter(values: &[f64]) -> Self {
        let power_of_two = |value: &f64| *value > 0.0 && value.log2().fract() == 0.0;
        if span(values) >= 4.0 && values.iter().all(power_of_two) {
            return Self::Log2;
        }
        let above: Vec<f64> = values.iter().copied().filter(|value| *value != 0.0).collect();
        match above.iter().copied().reduce(f64::min) {
            Some(_) if span(&above) < 100.0 => Self::Linear,
            Some(least) if above.len() < values.len() => Self::Log10FromZero(decade(least)),
            Some(_) => Self::Log10,
            None => Self::Linear,
        }
    }

    /// The scale for measured values: log10 where they span more than a decade and a half.
    pub fn of_metric(values: &[f64]) -> Self {
        if span(values) >= 30.0 { Self::Log10 } else { Self::Linear }
    }

    /// A value's place on the axis, before it is stretched to pixels.
    pub(super) fn place(&self, value: f64) -> f64 {
        match self {
            Self::Log2 => value.log2(),
            Self::Log10FromZero(first) if value <= 0.0 => f64::from(first - 1),
            Self::Log10 | Self::Log10FromZero(_) => value.log10(),
            Self::Linear | Self::Words(_) => value,
        }
    }

    /// The place between zero and the rest of an axis that shows zero beside powers of ten.
    fn gap(&self) -> Option<f64> {
        if let Self::Log10FromZero(first) = self { Some(f64::from(*first) - 0.5) } else { None }
    }

    /// The least length, in places, along which something at a single value shows: two thirds of an
    /// octave, and as much of a linear axis of this length as catches the eye.
    pub(super) fn least_band(&self, length: f64) -> f64 {
        let octave = match self {
            Self::Log2 => 1.0,
            Self::Log10 | Self::Log10FromZero(_) => 2.0_f64.log10(),
            Self::Linear | Self::Words(_) => 0.03 * length,
        };
        octave * 2.0 / 3.0
    }

    /// The value at a place.
    pub(super) fn value(&self, place: f64) -> f64 {
        match self {
            Self::Log2 => place.exp2(),
            Self::Log10FromZero(first) if place < f64::from(*first) - 0.5 => 0.0,
            Self::Log10 | Self::Log10FromZero(_) => 10_f64.powf(place),
            Self::Linear | Self::Words(_) => place,
        }
    }
}

/// The power of ten at or below a value above zero.
#[expect(clippy::cast_possible_truncation, reason = "between -324 and 308")]
fn decade(value: f64) -> i32 {
    value.log10().floor() as i32
}

/// Largest over smallest value; 1 where any is not positive.
fn span(values: &[f64]) -> f64 {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if low > 0.0 && high.is_finite() { high / low } else { 1.0 }
}

/// An axis laid out: its ends and its ticks, as places.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    pub(super) low: f64,
    pub(super) high: f64,
    /// Labelled.
    pub(super) ticks: Vec<f64>,
    /// Not labelled.
    pub(super) light: Vec<f64>,
    /// Where the axis is broken between zero and the rest of it.
    pub(super) gap: Option<f64>,
}

/// The most different values that have a tick each.
const MOST_TICKS: usize = 12;
/// The least distance of such ticks, as a part of the axis: their numbers must not touch.
const LEAST_APART: f64 = 0.065;

impl Layout {
    /// With a tick at each of some values, where a logarithmic axis has few and all their numbers
    /// have room: no point lies at a power of two between 56 and 224.
    pub(super) fn ticked_at(mut self, axis: &Axis, values: &[f64]) -> Self {
        if matches!(axis.scale, Scale::Linear | Scale::Words(_)) {
            return self;
        }
        let mut places: Vec<f64> = values.iter().map(|value| axis.scale.place(*value)).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let least = LEAST_APART * (self.high - self.low);
        let apart = places.windows(2).all(|pair| pair[1] - pair[0] >= least);
        if (2..=MOST_TICKS).contains(&places.len()) && apart {
            self.ticks = places;
        }
        self
    }
}

impl Layout {
    /// With as many of its ticks as have room: `needs` answers how much of the axis, in pixels, the
    /// text of a tick takes.
    pub(super) fn thinned(mut self, pixels: i32, needs: impl Fn(f64) -> i32) -> Self {
        let pixel = |place: f64| (place - self.low) / (self.high - self.low) * f64::from(pixels);
        let apart = |pair: &[f64]| {
            let [one, next] = pair else { return true };
            pixel(*next) - pixel(*one) >= f64::from(needs(*one) + needs(*next)) / 2.0
        };
        let every = |step: usize| self.ticks.iter().copied().step_by(step).collect::<Vec<f64>>();
        let steps = 1..self.ticks.len().max(2);
        let fitting = steps.map(every).find(|ticks| ticks.windows(2).all(apart));
        if let Some(ticks) = fitting {
            self.light.extend(self.ticks.iter().filter(|tick| !ticks.contains(tick)));
            self.ticks = ticks;
        }
        self
    }
}

/// Lays out an axis so that all `values` lie on it; `headroom` is added at both ends, as a share
/// of its length.
pub(super) fn layout(axis: &Axis, values: &[f64], headroom: f64) -> Result<Layout, ReportError> {
    check(axis, values)?;
    if let Scale::Words(words) = &axis.scale {
        return Ok(words_layout(words));
    }
    let places: Vec<f64> = values.iter().map(|&value| axis.scale.place(value)).collect();
    let mut low = places.iter().copied().fold(f64::INFINITY, f64::min);
    let mut high = places.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let from_zero = axis.scale == Scale::Linear && low >= 0.0 && low < 0.6 * high;
    if from_zero {
        low = 0.0;
    }
    if low >= high {
        let half = if axis.scale == Scale::Linear { (low.abs() * 0.1).max(0.5) } else { 1.0 };
        (low, high) = (low - half, high + half);
    }
    let pad = (high - low) * headroom;
    high += pad;
    if !from_zero {
        low -= pad;
    }
    let (ticks, light) = match &axis.scale {
        Scale::Log2 => log2_ticks(low, high),
        Scale::Log10 => log10_ticks(low, high),
        Scale::Log10FromZero(first) => {
            let (mut ticks, light) = log10_ticks(f64::from(*first), high);
            ticks.insert(0, f64::from(first - 1));
            (ticks, light)
        }
        Scale::Linear | Scale::Words(_) => {
            // Between two and three processes there is nothing.
            let are_counts =
                axis.unit.is_empty() && values.iter().all(|value| value.fract() == 0.0);
            linear_ticks(low, high, if are_counts && high - low >= 2.0 { 1.0 } else { 0.0 })
        }
    };
    let gap = axis.scale.gap().filter(|gap| low < *gap);
    Ok(Layout { low, high, ticks, light, gap })
}

/// Refuses values that the axis cannot show, and counts them.
fn check(axis: &Axis, values: &[f64]) -> Result<(), ReportError> {
    let of = values.len();
    let bad = values.iter().filter(|value| !value.is_finite() || value.abs() > 1e300).count();
    if bad > 0 {
        return Err(ReportError::NotDrawable { axis: axis.title(), count: bad, of });
    }
    let from_zero = matches!(axis.scale, Scale::Log10FromZero(_));
    let is_low = |value: &f64| if from_zero { *value < 0.0 } else { *value <= 0.0 };
    let mut low = values.iter().copied().filter(is_low);
    match (&axis.scale, low.next()) {
        (Scale::Linear | Scale::Words(_), _) | (_, None) => Ok(()),
        (Scale::Log2 | Scale::Log10 | Scale::Log10FromZero(_), Some(first)) => {
            Err(ReportError::NotPositive { axis: axis.title(), count: 1 + low.count(), of, first })
        }
    }
}

/// A tick for each word, with as much room on its left as on its right.
fn words_layout(words: &[String]) -> Layout {
    let ticks: Vec<f64> = (0_u32..).zip(words).map(|(place, _)| f64::from(place)).collect();
    let high = ticks.last().copied().unwrap_or(0.0) + 0.5;
    Layout { low: -0.5, high, ticks, light: vec![], gap: None }
}

type Ticks = (Vec<f64>, Vec<f64>);

/// Whole numbers from `low` to `high` that are multiples of `step`.
fn multiples(low: f64, high: f64, step: f64) -> Vec<f64> {
    let (mut tick, mut ticks) = ((low / step).ceil(), Vec::new());
    while tick * step <= high + step * 1e-9 {
        // Adding zero turns -0 into 0.
        ticks.push(tick * step + 0.0);
        tick += 1.0;
    }
    ticks
}

/// Every power of two as long as there are at most 12, else every second, third, ….
fn log2_ticks(low: f64, high: f64) -> Ticks {
    let all = multiples(low, high, 1.0);
    let step = ((high - low) / 12.0).floor() + 1.0;
    (multiples(low, high, step), all)
}

/// Every decade; more between them where there are fewer than three, since two alone do not show that
/// an axis is logarithmic.
fn log10_ticks(low: f64, high: f64) -> Ticks {
    let within = |place: &f64| (low..=high).contains(place);
    let decades = multiples(low.floor(), high, 1.0);
    let at = |factors: &[f64]| -> Vec<f64> {
        let all = decades.iter().flat_map(|decade| factors.iter().map(move |f| decade + f.log10()));
        all.filter(within).collect()
    };
    let step = ((high - low) / 10.0).floor() + 1.0;
    let between = [at(&[1.0, 2.0, 5.0]), at(&[1.0, 2.0, 3.0, 5.0, 7.0])];
    let denser = [multiples(low, high, step)].into_iter().chain(between);
    let Some(bold) = denser.into_iter().find(|ticks| ticks.len() >= 3) else {
        // Hardly a factor of two: round values, placed by their logarithm.
        let (ticks, _) = linear_ticks(Scale::Log10.value(low), Scale::Log10.value(high), 0.0);
        return (ticks.into_iter().map(f64::log10).collect(), vec![]);
    };
    (bold, at(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]))
}

/// Four to eight steps of 1, 2 or 5 times a power of ten; fewer where those were below `least`.
fn linear_ticks(low: f64, high: f64, least: f64) -> Ticks {
    let rough = (high - low) / 8.0;
    let decade = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * decade >= rough);
    (multiples(low, high, (factor.unwrap_or(10.0) * decade).max(least)), vec![])
}

#[cfg(test)]
mod tests {
    use super::super::ticks::tick_text;
    use super::*;

    fn axis(unit: &str, scale: Scale) -> Axis {
        Axis { label: "Axis".into(), unit: unit.into(), scale }
    }

    #[track_caller]
    fn check_ticks(unit: &str, scale: Scale, values: &[f64], expected: &[&str]) {
        let axis = axis(unit, scale);
        let layout = layout(&axis, values, 0.0).unwrap();
        let ticks: Vec<_> =
            layout.ticks.iter().map(|&tick| tick_text(&axis, &layout, tick)).collect();
        assert_eq!(ticks, expected);
    }

    #[test]
    fn short_logarithmic_axes_have_ticks_between_the_decades() {
        check_ticks("us", Scale::Log10, &[1.0, 20.0], &["1", "2", "5", "10", "20"]);
        check_ticks("us", Scale::Log10, &[28.8, 155.0], &["30", "50", "70", "100"]);
        let axis = axis("us", Scale::Log10);
        assert!(layout(&axis, &[3.0, 4.0], 0.0).unwrap().ticks.len() >= 4);
    }

    #[test]
    fn linear_axes_have_round_steps() {
        check_ticks(
            "us",
            Scale::Linear,
            &[0.0, 0.3],
            &["0", "0.05", "0.10", "0.15", "0.20", "0.25", "0.30"],
        );
        check_ticks(
            "us",
            Scale::Linear,
            &[9.0, 10.0],
            &["9.0", "9.2", "9.4", "9.6", "9.8", "10.0"],
        );
        check_ticks("", Scale::Linear, &[0.0, 1.0, 2.0], &["0", "1", "2"]);
        check_ticks("%", Scale::Linear, &[-1.0, 1.0], &["-1.0", "-0.5", "0", "0.5", "1.0"]);
    }

    #[test]
    fn zero_stands_a_decade_before_the_smallest_value() {
        let values = [0.0, 1.0, 10.0, 1000.0];
        let scale = Scale::of_parameter(&values);
        assert_eq!(scale, Scale::Log10FromZero(0));
        check_ticks("us", scale.clone(), &values, &["0", "1", "10", "100", "1000"]);
        let broken = |values: &[f64]| layout(&axis("us", scale.clone()), values, 0.0).unwrap().gap;
        assert_eq!((broken(&values), broken(&values[1..])), (Some(-0.5), None));
        assert_eq!((scale.place(0.0), scale.place(1.0)), (-1.0, 0.0));
        assert_eq!(Scale::of_parameter(&[0.02, 7.0]), Scale::Log10);
        assert_eq!(Scale::of_parameter(&[0.0]), Scale::Linear);
        let refused = layout(&axis("us", scale), &[0.0, -1.0], 0.0).unwrap_err();
        assert!(matches!(refused, ReportError::NotPositive { count: 1, of: 2, .. }));
    }

    #[test]
    fn a_logarithmic_axis_with_few_values_has_its_ticks_there() {
        let ticks = |scale: Scale, values: &[f64]| {
            let axis = axis("", scale);
            let layout = layout(&axis, values, 0.02).unwrap().ticked_at(&axis, values);
            let value = |place: &f64| axis.scale.value(*place).round();
            layout.ticks.iter().map(value).collect::<Vec<_>>()
        };
        assert_eq!(ticks(Scale::Log2, &[56.0, 896.0, 224.0, 56.0]), [56.0, 224.0, 896.0]);
        assert_eq!(ticks(Scale::Log10FromZero(0), &[0.0, 5.0, 20.0]), [0.0, 5.0, 20.0]);
        let close = ticks(Scale::Log2, &[1.0, 100.0, 101.0]);
        assert!(close.contains(&64.0) && !close.contains(&101.0), "no room: {close:?}");
        let many: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(ticks(Scale::Log2, &many), [1.0, 2.0, 4.0, 8.0, 16.0]);
        assert_eq!(ticks(Scale::Linear, &[0.0, 3.0]), [0.0, 1.0, 2.0, 3.0]);
    }

    #[test]
    fn ticks_without_room_lose_their_numbers() {
        let axis = axis("B", Scale::Log2);
        let layout = || layout(&axis, &[1.0, 1024.0], 0.0).unwrap();
        assert_eq!(layout().thinned(700, |_| 40).ticks, layout().ticks);
        let few = layout().thinned(200, |_| 40);
        assert_eq!(few.ticks, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert!(few.light.contains(&1.0), "what has no number has a line");
    }

    #[test]
    fn words_stand_at_equal_distances() {
        let words = |list: &[&str]| Scale::Words(list.iter().map(|&word| word.into()).collect());
        let three = words(&["mcs", "mcs_cas_first", "test_and_set"]);
        let layout = layout(&axis("", three), &[1.0], 0.05).unwrap();
        assert_eq!((layout.low, layout.high, layout.ticks), (-0.5, 2.5, vec![0.0, 1.0, 2.0]));
    }

    #[test]
    fn one_value_still_has_an_axis() {
        for scale in [Scale::Log2, Scale::Log10, Scale::Linear] {
            let layout = layout(&axis("", scale.clone()), &[8.0], 0.05).unwrap();
            assert!(layout.low < scale.place(8.0) && scale.place(8.0) < layout.high);
            assert!(layout.ticks.len() >= 2, "{scale:?}: {:?}", layout.ticks);
        }
    }

    #[test]
    fn values_that_an_axis_cannot_show_are_counted() {
        let refused = |scale, values: &[f64]| layout(&axis("B", scale), values, 0.0).unwrap_err();
        assert_eq!(
            refused(Scale::Log2, &[1.0, 0.0, 4.0, -1.0]).to_string(),
            "Axis (B): 2 of 4 values are not above zero (the first is 0); \
             a logarithmic axis shows positive values only"
        );
        for bad in [f64::NAN, f64::INFINITY, -1e301] {
            let found = refused(Scale::Linear, &[1.0, bad]);
            assert!(matches!(found, ReportError::NotDrawable { count: 1, of: 2, .. }));
        }
        assert!(layout(&axis("B", Scale::Linear), &[0.0, -1.0], 0.0).is_ok());
    }

    #[test]
    fn the_scale_follows_the_values() {
        let powers: Vec<f64> = (0..23).map(|n| f64::from(1_u32 << n)).collect();
        assert_eq!(Scale::of_parameter(&powers), Scale::Log2);
        assert_eq!(Scale::of_parameter(&[0.0, 1.0, 2.0, 4.0]), Scale::Linear);
        assert_eq!(Scale::of_parameter(&[1.0, 10.0, 1000.0]), Scale::Log10);
        assert_eq!(Scale::of_parameter(&[10.0, 20.0, 30.0]), Scale::Linear);
        assert_eq!(Scale::of_metric(&[1.0, 1000.0]), Scale::Log10);
        assert_eq!(Scale::of_metric(&[-1.0, 1000.0]), Scale::Linear);
        assert_eq!(Scale::of_metric(&[5.0, 9.0]), Scale::Linear);
    }
}
