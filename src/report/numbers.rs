//! Numbers as text: exact for machines, a few digits for people; and text as numbers.

use units::{Dimension, parse_quantity};

/// A number with its unit, read from a parameter such as `4 MiB`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// The value in `unit`.
    pub value: f64,
    /// `B`, `us`, `MB/s`, `msg/s`, `ns/B`, `GHz`; empty for a plain number.
    pub unit: &'static str,
}

/// The unit in which reports show a dimension, and how many smallest steps it holds.
const SHOWN: [(Dimension, &str, f64); 6] = [
    (Dimension::Bytes, "B", 1.0),
    (Dimension::Time, "us", 1e6),
    (Dimension::Bandwidth, "MB/s", 8e6),
    (Dimension::Rate, "msg/s", 1.0),
    (Dimension::CostPerByte, "ns/B", 1e9),
    (Dimension::Frequency, "GHz", 1e9),
];

/// Reads a parameter as the scenario spells it: a quantity with unit, or a plain finite number.
///
/// Sizes become bytes, times microseconds, bandwidths MB/s, rates msg/s. `None` for words.
#[expect(clippy::cast_precision_loss, reason = "positions on an axis, not results")]
pub fn read_parameter(text: &str) -> Option<Reading> {
    let text = text.trim();
    if let Ok(value) = text.parse::<f64>() {
        return value.is_finite().then_some(Reading { value, unit: "" });
    }
    SHOWN.iter().find_map(|&(dimension, unit, steps)| {
        let value = parse_quantity(text, dimension).ok()?;
        Some(Reading { value: value as f64 / steps, unit })
    })
}

/// The shortest decimal that reads back as the same value; -0 becomes 0.
///
/// # Panics
///
/// When the value is not finite; callers check with [`ReportError::NotFinite`] first.
///
/// [`ReportError::NotFinite`]: super::error::ReportError::NotFinite
pub fn exact(value: f64) -> String {
    assert!(value.is_finite(), "{value} has no decimal form");
    serde_json::to_string(&(value + 0.0)).expect("a finite number can be written")
}

/// Four significant digits for people, with `k`, `M`, `G`, `T` from 100 000 up.
pub fn engineering(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let magnitude = value.abs();
    if !(1e-3..1e15).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    if magnitude < 99_999.5 {
        return four_digits(value);
    }
    let (divisor, suffix) = [(1e12, "T"), (1e9, "G"), (1e6, "M")]
        .into_iter()
        .find(|(divisor, _)| magnitude >= divisor * 0.999_95)
        .unwrap_or((1e3, "k"));
    format!("{} {suffix}", four_digits(value / divisor))
}

/// Four significant digits, but every digit before the point.
fn four_digits(value: f64) -> String {
    let magnitude = value.abs();
    let decimals = [(999.95, 0), (99.995, 1), (9.9995, 2), (0.999_95, 3), (0.099_995, 4)]
        .into_iter()
        .find(|(from, _)| magnitude >= *from)
        .map_or(5, |(_, decimals)| decimals);
    format!("{value:.decimals$}")
}

/// Two values with as few digits as tell them apart, but seven if they have so many.
///
/// # Panics
///
/// When a value is not finite, as [`exact`].
pub fn apart(values: [f64; 2]) -> [String; 2] {
    let rounded = |digits: usize| {
        values.map(|value| format!("{value:.digits$e}").parse().map_or(value, |value: f64| value))
    };
    let [left, right] = values.map(|value| value + 0.0);
    let enough =
        |[a, b]: &[f64; 2]| left.to_bits() == right.to_bits() || a.to_bits() != b.to_bits();
    (6..16).map(rounded).find(enough).unwrap_or(values).map(exact)
}

/// A change from `before` to `now` in percent, with its sign: so many decimals, more where they would all
/// be 0; in words where there is no quotient.
pub fn change(before: f64, now: f64, decimals: usize) -> String {
    if before == 0.0 {
        return if now == 0.0 { "same".to_owned() } else { "from zero".to_owned() };
    }
    let percent = (now - before) / before.abs() * 100.0;
    let more = (decimals..decimals + 4).find(|decimals| {
        let text = format!("{percent:.decimals$}");
        percent == 0.0 || text.contains(|c: char| ('1'..='9').contains(&c))
    });
    match more {
        Some(decimals) => format!("{percent:+.decimals$} %"),
        None => format!("{percent:+.0e} %"),
    }
}

/// A tolerance in percent: `0.5 %`.
pub fn tolerated(part: f64) -> String {
    // Percentages are given with few digits, which their hundredth part may lose.
    format!("{} %", (part * 1e8).round() / 1e6)
}

/// Paths and values in parentheses, after a space; nothing where there are none.
pub fn in_parentheses(params: &[(String, String)]) -> String {
    if params.is_empty() {
        return String::new();
    }
    let each = params.iter().map(|(path, value)| format!("{path} = {value}"));
    format!(" ({})", each.collect::<Vec<_>>().join(", "))
}

/// `part / whole` in percent with one decimal; `0.0 %` where `whole` is zero.
pub fn percent(part: f64, whole: f64) -> String {
    let share = if whole > 0.0 { 100.0 * part / whole } else { 0.0 };
    format!("{share:.1} %")
}

/// A path's last word with spaces: `workload.senders_per_node` is `senders per node`, and
/// `mpi.rendezvous_intra` is `rendezvous inside a node`.
pub fn in_words(path: &str) -> String {
    let word = path.rsplit('.').next().unwrap_or(path);
    match word.strip_suffix("_intra") {
        Some(word) => format!("{word} inside a node").replace('_', " "),
        None => word.replace('_', " "),
    }
}

/// The same with a capital letter, for axis titles.
pub fn as_title(path: &str) -> String {
    let words = in_words(path);
    let mut letters = words.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_in_the_unit_reports_show() {
        let read = |text| read_parameter(text).map(|r| (r.value, r.unit));
        assert_eq!(read("8 B"), Some((8.0, "B")));
        assert_eq!(read("4 MiB"), Some((4_194_304.0, "B")));
        assert_eq!(read("256KiB"), Some((262_144.0, "B")));
        assert_eq!(read("1.5 us"), Some((1.5, "us")));
        assert_eq!(read("12.5 GB/s"), Some((12_500.0, "MB/s")));
        assert_eq!(read("16"), Some((16.0, "")));
        assert_eq!(read("0.5"), Some((0.5, "")));
        assert_eq!(read("rput"), None);
        assert_eq!(read("NaN"), None, "a word, not a number");
        assert_eq!(read("inf"), None);
    }

    #[test]
    fn people_get_four_digits() {
        let cases = [
            (0.0, "0"),
            (0.376, "0.3760"),
            (0.050_049, "0.05005"),
            (1.208, "1.208"),
            (11.211, "11.21"),
            (9.999_9, "10.00"),
            (12_058.44, "12058"),
            (99_999.0, "99999"),
            (99_999.7, "100.0 k"),
            (994_612.0, "994.6 k"),
            (999_999.0, "1.000 M"),
            (58_312_345.0, "58.31 M"),
            (-2.5, "-2.500"),
            (1.5e-6, "1.500e-6"),
        ];
        for (value, text) in cases {
            assert_eq!(engineering(value), text);
        }
    }

    #[test]
    fn two_values_get_the_digits_that_tell_them_apart() {
        let apart = |a, b| apart([a, b]).join(" ");
        assert_eq!(apart(1.491_949_999_999_999_9, 1.4824), "1.49195 1.4824");
        assert_eq!(apart(1.0 / 3.0, 2.0 / 3.0), "0.3333333 0.6666667");
        assert_eq!(apart(1.000_000_001, 1.000_000_002), "1.000000001 1.000000002");
        assert_eq!(apart(0.1 + 0.2, 0.3), "0.30000000000000004 0.3");
        assert_eq!(apart(-0.0, 1_234_567.0), "0.0 1234567.0");
    }

    #[test]
    fn a_change_is_never_shown_as_none() {
        assert_eq!(change(200.0, 201.0, 2), "+0.50 %");
        assert_eq!(change(200.0, 200.0, 2), "+0.00 %");
        assert_eq!(change(100_000.0, 99_999.0, 2), "-0.001 %");
        assert_eq!(change(1e9, 1e9 + 1.0, 2), "+1e-7 %");
        assert_eq!(change(0.0, 1.0, 2), "from zero");
    }

    #[test]
    fn machines_get_every_digit() {
        for value in [1_234_567.0, 0.1 + 0.2, f64::MIN_POSITIVE, f64::MAX, 1.0 / 3.0] {
            assert_eq!(exact(value).parse::<f64>().unwrap().to_bits(), value.to_bits());
        }
        assert_eq!(exact(1_234_567.0), "1234567.0");
        assert_eq!(exact(-0.0), "0.0");
    }

    #[test]
    fn paths_become_words() {
        assert_eq!(as_title("workload.senders_per_node"), "Senders per node");
        assert_eq!(in_words("message_rate"), "message rate");
        assert_eq!(in_words("mpi.rendezvous_intra"), "rendezvous inside a node");
    }
}
