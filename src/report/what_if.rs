//! What-if analysis: results with another cost of one resource, point by point.

use super::numbers::{change, engineering};
use super::table::{Table, point_name};
use experiment::results::{RunResult, Supposed};

/// The metric that every workload has.
const TIME: &str = "time";

/// A table for each supposition: the main metric of each point and its time, before and after.
pub fn what_if_text(result: &RunResult) -> String {
    result.what_if.iter().map(|supposed| table(result, supposed).to_text()).collect()
}

fn table(result: &RunResult, supposed: &Supposed) -> Table {
    let mut rows = Vec::new();
    for (point, after) in result.points.iter().zip(&supposed.points) {
        let main = point.metrics.first().filter(|metric| metric.name != TIME);
        for before in main.into_iter().chain(point.metric(TIME)) {
            let after = after.iter().find(|metric| metric.name == before.name);
            let name = format!("{} ({})", before.name.replace('_', " "), before.unit);
            let (shown, change) = after.map_or_else(Default::default, |after| {
                (engineering(after.value), change(before.value, after.value, 2))
            });
            rows.push(vec![point_name(point), name, engineering(before.value), shown, change]);
        }
    }
    let caption = format!("\nwhat if {}", words(&supposed.change));
    let columns = ["point", "metric", "before", "after", "change"].map(str::to_owned).to_vec();
    Table { caption, columns, rows }
}

fn words(change: &str) -> String {
    let (resource, factor) = change.split_once('=').unwrap_or((change, "1"));
    format!("everything of {resource} cost {factor} times as much")
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::results::Metric;

    #[test]
    fn the_main_metric_and_the_time_stand_before_and_after() {
        let mut result = crate::sample::ping_pong();
        let halved = |metric: &Metric| Metric { value: metric.value / 2.0, ..metric.clone() };
        let points = result.points.iter().map(|point| point.metrics.iter().map(halved).collect());
        result.what_if = vec![Supposed { change: "pcie=0.5".to_owned(), points: points.collect() }];
        let text = what_if_text(&result);
        assert!(text.contains("everything of pcie cost 0.5 times as much"), "{text}");
        let lines = text.lines().filter(|line| line.contains("-50.00 %")).count();
        assert!(lines >= result.points.len(), "{text}");
    }
}
