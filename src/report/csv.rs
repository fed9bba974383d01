//! `points.csv`: tidy, one row per point and metric, the unit in its own column.

use super::error::ReportError;
use super::numbers::exact;
use experiment::results::{self, Metric, PointResult, RunResult};

/// The result as CSV: `point`, one column per swept path, `metric`, `value`, `unit`.
///
/// # Errors
///
/// [`ReportError::NotFinite`] where a metric is not a finite number.
pub fn points_csv(result: &RunResult) -> Result<String, ReportError> {
    let failed = |why: csv::Error| ReportError::writer("CSV", why);
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(header(result)).map_err(failed)?;
    for point in &result.points {
        for metric in &point.metrics {
            writer.write_record(row(point, metric)?).map_err(failed)?;
        }
    }
    let bytes = writer.into_inner().map_err(|why| ReportError::writer("CSV", why))?;
    String::from_utf8(bytes).map_err(|why| ReportError::writer("CSV", why))
}

/// Column names; the swept paths are those of the first point, since all points share the axes.
fn header(result: &RunResult) -> Vec<&str> {
    let params = result.points.first().map_or(&[][..], |point| &point.params);
    let mut names = vec!["point"];
    names.extend(params.iter().map(|(path, _)| path.as_str()));
    names.extend(["metric", "value", "unit"]);
    names
}

fn row(point: &PointResult, metric: &Metric) -> Result<Vec<String>, ReportError> {
    let mut fields = vec![point.index.to_string()];
    fields.extend(point.params.iter().map(|(_, value)| as_text(value)));
    fields.extend([metric.name.clone(), exact(finite(point, metric)?), as_text(metric.unit)]);
    Ok(fields)
}

/// Signs with which a formula of a spreadsheet begins, and the one that says that a cell is a text.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];
const TEXT: char = '\'';

/// A value that a spreadsheet takes for what it is: before a text that it would take for a formula stands an apostrophe.
fn as_text(value: &str) -> String {
    let is_formula = value.starts_with(FORMULA) && value.parse::<f64>().is_err();
    if is_formula || value.starts_with(TEXT) { format!("{TEXT}{value}") } else { value.to_owned() }
}

/// The value again.
fn of_text(cell: &str) -> &str {
    let text = cell.strip_prefix(TEXT);
    text.filter(|text| text.starts_with(FORMULA) || text.starts_with(TEXT)).unwrap_or(cell)
}

/// The value of a metric, refused where it is not finite.
pub(super) fn finite(point: &PointResult, metric: &Metric) -> Result<f64, ReportError> {
    if metric.value.is_finite() {
        return Ok(metric.value);
    }
    Err(ReportError::NotFinite {
        point: point.index,
        metric: metric.name.clone(),
        value: metric.value.to_string(),
    })
}

/// The points of a CSV that [`points_csv`] wrote; their digests are not in it, nor are points without a
/// metric.
///
/// # Errors
///
/// [`ReportError::NotPoints`] with the line that is not as it was written.
///
/// # Panics
///
/// Never: a point is there before its first metric.
pub fn read_points(text: &str) -> Result<Vec<PointResult>, ReportError> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let mut records = reader.records().enumerate().map(|(index, record)| {
        record.map_err(|why| ReportError::not_points(index + 1, why.to_string()))
    });
    let header = records.next().transpose()?.unwrap_or_default();
    let paths: Vec<&str> = header.iter().collect();
    let ["point", axes @ .., "metric", "value", "unit"] = &paths[..] else {
        return Err(ReportError::not_points(1, "the columns are others"));
    };
    let mut points: Vec<PointResult> = Vec::new();
    for (line, record) in (2..).zip(records) {
        let record = record?;
        let refused = |why: &str| ReportError::not_points(line, why);
        let fields: Vec<&str> = record.iter().collect();
        let [index, values @ .., name, value, unit] = &fields[..] else {
            return Err(refused("the columns are others"));
        };
        let index = index.parse().map_err(|_| refused("the point is no number"))?;
        let value: f64 = value.parse().map_err(|_| refused("the value is no number"))?;
        if !value.is_finite() {
            return Err(refused("the value is no number"));
        }
        if points.last().is_none_or(|last| last.index != index) {
            let pairs = axes.iter().zip(values);
            let params = pairs.map(|(path, value)| ((*path).to_owned(), of_text(value).to_owned()));
            points.push(PointResult::at(index, params.collect()));
        }
        let metric = Metric { name: (*name).to_owned(), value, unit: results::unit(of_text(unit)) };
        points.last_mut().expect("it was just pushed").metrics.push(metric);
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn what_is_written_is_read_back() {
        let mut result = sample::ping_pong();
        result.points[0].params[0].1 = "a,\"b\"".into();
        let read = read_points(&points_csv(&result).unwrap()).unwrap();
        assert_eq!(read.len(), result.points.len());
        for (one, other) in read.iter().zip(&result.points) {
            assert_eq!((one.index, &one.params), (other.index, &other.params));
            assert_eq!(one.metrics, other.metrics);
        }
    }

    #[test]
    fn a_text_is_no_formula_of_a_spreadsheet() {
        let texts = [
            "=HYPERLINK(\"x\")",
            "+1+1",
            "-2+3",
            "@SUM(1)",
            "\t=1",
            "'quoted",
            "-1.5",
            "+3",
            "a=b",
        ];
        for text in texts {
            let mut result = sample::ping_pong();
            result.points[0].params[0].1 = text.into();
            let csv = points_csv(&result).unwrap();
            let cell = csv.lines().nth(1).unwrap().split_once(',').unwrap().1;
            let cell = cell.trim_start_matches('"');
            let is_formula = cell.starts_with(FORMULA) && !["-1.5", "+3"].contains(&text);
            assert!(!is_formula, "{csv}");
            let read = read_points(&csv).unwrap();
            assert_eq!(read[0].params[0].1, text, "{csv}");
        }
    }

    #[test]
    fn another_table_is_refused_with_its_line() {
        let good = points_csv(&sample::ping_pong()).unwrap();
        for (text, line) in [
            ("a,b\n1,2\n".to_owned(), "line 1"),
            (good.replacen("1.3", "NaN", 1), "line 2"),
            (good.replacen("0,1 B", "x,1 B", 1), "line 2"),
            (format!("{good}1,2\n"), "line 6"),
        ] {
            let said = read_points(&text).unwrap_err().to_string();
            assert!(said.contains(line), "{said}");
        }
    }

    #[test]
    fn one_row_per_point_and_metric() {
        insta::assert_snapshot!(points_csv(&sample::ping_pong()).unwrap(), @r#"
        point,workload.size,metric,value,unit
        0,1 B,latency,1.3,us
        0,1 B,bandwidth,0.7692307692307692,MB/s
        1,4 KiB,latency,4.25,us
        1,4 KiB,bandwidth,963.7647058823529,MB/s
        "#);
    }

    #[test]
    fn values_with_commas_and_quotes_are_quoted() {
        let mut result = sample::ping_pong();
        result.points.truncate(1);
        result.points[0].params[0].1 = "a,\"b\"".into();
        assert!(points_csv(&result).unwrap().contains("0,\"a,\"\"b\"\"\",latency,1.3,us\n"));
    }

    #[test]
    fn values_that_are_not_numbers_are_refused() {
        let mut result = sample::ping_pong();
        result.points[1].metrics[0].value = f64::NAN;
        assert_eq!(
            points_csv(&result).unwrap_err().to_string(),
            "point 1: latency is NaN; a result must be a finite number"
        );
    }
}
