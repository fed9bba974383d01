//! Results in the text form of the OSU micro-benchmarks, so that scripts written for those read
//! simulated results too: comment lines, then columns of 10 (size) and 18 characters.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::csv::finite;
use super::error::ReportError;
use super::numbers::read_parameter;
pub use experiment::plan::OsuTest;
use experiment::results::{PointResult, RunResult};

/// What a table needs to know beside the result.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OsuSpec {
    /// The benchmark.
    pub test: OsuTest,
    /// Values of scenario paths that are not swept, as the scenario spells them; a swept value
    /// comes from the point.
    pub settings: BTreeMap<String, String>,
    /// Path of the message size, such as `workload.size`.
    pub size: String,
    /// Path of the number of pairs; [`OsuTest::MessageRate`] prints it.
    pub pairs: String,
    /// Path of the window; [`OsuTest::MessageRate`] prints it.
    pub window: String,
}

const fn title(test: OsuTest) -> &'static str {
    match test {
        OsuTest::Latency => "OSU MPI Latency Test",
        OsuTest::Bandwidth => "OSU MPI Bandwidth Test",
        OsuTest::BiBandwidth => "OSU MPI Bi-Directional Bandwidth Test",
        OsuTest::MessageRate => "OSU MPI Multiple Bandwidth / Message Rate Test",
    }
}

/// Column heading, metric, and the unit the column is in.
const fn columns_of(test: OsuTest) -> &'static [(&'static str, &'static str, &'static str)] {
    match test {
        OsuTest::Latency => &[("Latency (us)", "latency", "us")],
        OsuTest::Bandwidth | OsuTest::BiBandwidth => &[("Bandwidth (MB/s)", "bandwidth", "MB/s")],
        OsuTest::MessageRate => {
            &[("MB/s", "bandwidth", "MB/s"), ("Messages/s", "message_rate", "msg/s")]
        }
    }
}

/// The result as OSU text: one table per combination of the swept values other than the size.
///
/// A column is taken from the metric of its name (`latency`, `bandwidth`, `message_rate`); where
/// only one of bandwidth and rate was measured, the other follows from the size.
///
/// # Errors
///
/// [`ReportError::OsuNeeds`] where a point lacks the size, a metric or a setting that the table
/// prints; [`ReportError::NotFinite`] where a metric is not a finite number.
pub fn osu_text(result: &RunResult, spec: &OsuSpec) -> Result<String, ReportError> {
    let mut text = String::new();
    let mut current = None;
    for point in result.points.iter().filter(|point| point.failure.is_none()) {
        let group: Vec<_> = point.params.iter().filter(|(path, _)| *path != spec.size).collect();
        if current.as_ref() != Some(&group) {
            if current.is_some() {
                text.push('\n');
            }
            head(&mut text, result, spec, point, &group)?;
            current = Some(group);
        }
        row(&mut text, spec, point)?;
    }
    Ok(text)
}

fn head(
    text: &mut String,
    result: &RunResult,
    spec: &OsuSpec,
    point: &PointResult,
    group: &[&(String, String)],
) -> Result<(), ReportError> {
    let title = title(spec.test);
    line(text, format_args!("# {title} (simulated by mpisim {})", result.version));
    line(text, format_args!("# {} digest {}", result.scenario, result.digest));
    for (path, value) in group {
        line(text, format_args!("# {path}: {value}"));
    }
    if spec.test == OsuTest::MessageRate {
        let pairs = setting(spec, point, &spec.pairs)?;
        let window = setting(spec, point, &spec.window)?;
        line(text, format_args!("# [ pairs: {pairs} ] [ window size: {window} ]"));
    }
    let mut columns = format!("{:<10}", "# Size");
    for (heading, _, _) in columns_of(spec.test) {
        let _ = write!(columns, "{heading:>18}");
    }
    line(text, format_args!("{columns}"));
    Ok(())
}

fn row(text: &mut String, spec: &OsuSpec, point: &PointResult) -> Result<(), ReportError> {
    let size = setting(spec, point, &spec.size)?;
    let bytes = read_parameter(size)
        .filter(|reading| reading.unit == "B")
        .ok_or_else(|| needs(spec, point, &spec.size))?
        .value;
    let mut columns = format!("{bytes:<10}");
    for (_, metric, unit) in columns_of(spec.test) {
        let _ = write!(columns, "{:>18.2}", column(spec, point, metric, unit, bytes)?);
    }
    line(text, format_args!("{columns}"));
    Ok(())
}

/// The value of one column, in its unit.
fn column(
    spec: &OsuSpec,
    point: &PointResult,
    name: &str,
    unit: &str,
    bytes: f64,
) -> Result<f64, ReportError> {
    if let Some(metric) = point.metric(name) {
        let factor = conversion(metric.unit, unit).ok_or_else(|| needs(spec, point, name))?;
        return Ok(finite(point, metric)? * factor);
    }
    match (name, point.metric("message_rate"), point.metric("bandwidth")) {
        ("bandwidth", Some(rate), _) => Ok(finite(point, rate)? * bytes / 1e6),
        ("message_rate", _, Some(bandwidth)) if bytes > 0.0 && bandwidth.unit == "MB/s" => {
            Ok(finite(point, bandwidth)? * 1e6 / bytes)
        }
        _ => Err(needs(spec, point, name)),
    }
}

/// The factor from unit `from` to unit `to`.
fn conversion(from: &str, to: &str) -> Option<f64> {
    match (from, to) {
        (from, to) if from == to => Some(1.0),
        ("ns", "us") | ("kB/s", "MB/s") => Some(1e-3),
        ("ms", "us") | ("GB/s", "MB/s") => Some(1e3),
        ("s", "us") | ("Mmsg/s", "msg/s") => Some(1e6),
        ("B/s", "MB/s") => Some(1e-6),
        _ => None,
    }
}

/// The value of `path` at a point: swept, or fixed by the scenario.
fn setting<'a>(
    spec: &'a OsuSpec,
    point: &'a PointResult,
    path: &str,
) -> Result<&'a str, ReportError> {
    let swept = point.params.iter().find(|(name, _)| name == path).map(|(_, value)| value);
    swept
        .or_else(|| spec.settings.get(path))
        .map(String::as_str)
        .ok_or_else(|| needs(spec, point, path))
}

fn needs(spec: &OsuSpec, point: &PointResult, needed: &str) -> ReportError {
    ReportError::OsuNeeds { test: title(spec.test), needed: needed.to_owned(), point: point.index }
}

fn line(text: &mut String, content: std::fmt::Arguments<'_>) {
    text.write_fmt(content).expect("a string takes any text");
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn spec(test: OsuTest) -> OsuSpec {
        OsuSpec {
            test,
            settings: BTreeMap::from([("workload.window".into(), "64".into())]),
            size: "workload.size".into(),
            pairs: "workload.senders_per_node".into(),
            window: "workload.window".into(),
        }
    }

    #[test]
    fn latency_has_two_columns_with_two_decimals() {
        let text = osu_text(&sample::ping_pong(), &spec(OsuTest::Latency)).unwrap();
        assert_eq!(
            text,
            "# OSU MPI Latency Test (simulated by mpisim 0.1.0)\n\
             # examples/ping_pong digest 00112233445566778899aabbccddeeff\n\
             # Size          Latency (us)\n\
             1                       1.30\n\
             4096                    4.25\n"
        );
    }

    #[test]
    fn bandwidth_is_in_mb_per_s_whatever_the_metric_is_in() {
        let mut result = sample::ping_pong();
        let before = osu_text(&result, &spec(OsuTest::Bandwidth)).unwrap();
        assert!(before.ends_with("# Size      Bandwidth (MB/s)\n1                       0.77\n4096                  963.76\n"));
        for point in &mut result.points {
            point.metrics[1].value *= 1e-3;
            point.metrics[1].unit = "GB/s";
        }
        assert_eq!(osu_text(&result, &spec(OsuTest::Bandwidth)).unwrap(), before);
    }

    #[test]
    fn message_rate_has_a_table_per_number_of_pairs() {
        let mut result = sample::message_rate();
        result.points.retain(|point| [0, 3, 23].contains(&point.index));
        let text = osu_text(&result, &spec(OsuTest::MessageRate)).unwrap();
        let tables: Vec<&str> = text.split("\n\n").collect();
        assert_eq!(tables.len(), 2);
        assert!(tables[0].contains("# workload.senders_per_node: 1\n# [ pairs: 1 ] [ window size: 64 ]\n# Size                  MB/s        Messages/s\n"));
        assert!(tables[1].contains("# [ pairs: 2 ] [ window size: 64 ]\n"));
        for row in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            assert_eq!(row.len(), 10 + 18 + 18);
            let numbers: Vec<f64> =
                row.split_whitespace().map(|word| word.parse().unwrap()).collect();
            assert!((numbers[1] * 1e6 - numbers[0] * numbers[2]).abs() < 0.01e6);
        }
    }

    #[test]
    fn a_size_that_is_not_swept_comes_from_the_scenario() {
        let mut result = sample::ping_pong();
        result.points.truncate(1);
        result.points[0].params.clear();
        let mut spec = spec(OsuTest::Latency);
        let missing = osu_text(&result, &spec).unwrap_err();
        assert!(
            matches!(missing, ReportError::OsuNeeds { needed, .. } if needed == "workload.size")
        );
        spec.settings.insert("workload.size".into(), "2 KiB".into());
        assert!(osu_text(&result, &spec).unwrap().ends_with("\n2048                    1.30\n"));
    }
}
