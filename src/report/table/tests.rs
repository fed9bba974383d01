use super::*;
use crate::sample;
use crate::text::{claims_text, report_text};

#[test]
fn one_axis_gives_one_flat_table() {
    insta::assert_snapshot!(report_text(&sample::ping_pong(), "ideal"), @r#"
    Ping-pong latency
    examples/ping_pong on ideal

     size  latency (us)  bandwidth (MB/s)
      1 B         1.300            0.7692
    4 KiB         4.250             963.8

    digest 00112233445566778899aabbccddeeff
    "#);
}

#[test]
fn two_axes_give_a_pivot_with_the_shorter_axis_as_columns() {
    let result = sample::message_rate();
    let tables = tables(&result);
    assert_eq!(tables.len(), 3, "the metric, its scaling, what limits it");
    assert_eq!(tables[0].columns, ["size", "1", "2", "4", "8", "16"]);
    assert_eq!(tables[0].rows.len(), 23);
    assert_eq!(tables[0].rows[22][0], "4 MiB");
    let widest = tables[0].to_text().lines().map(str::len).max().unwrap();
    assert!(widest <= 80, "fits a terminal: {widest}");
}

#[test]
fn every_value_of_a_pivot_stands_in_its_place() {
    let result = sample::message_rate();
    let table = &tables(&result)[0];
    for point in &result.points {
        let row = table.rows.iter().find(|row| row[0] == point.params[1].1).unwrap();
        let column = table.columns.iter().position(|name| *name == point.params[0].1).unwrap();
        assert_eq!(row[column], engineering(point.metrics[0].value));
    }
}

#[test]
fn scaling_is_against_the_first_column() {
    let result = sample::message_rate();
    let tables = tables(&result);
    assert_eq!(tables[1].caption, "message rate relative to senders per node 1");
    assert!(tables[1].rows.iter().all(|row| row[1] == "1.000"), "{:?}", tables[1].rows[0]);
    let of = |point: usize| result.points[point].metrics[0].value;
    assert_eq!(tables[1].rows[0][5], engineering(of(4 * 23) / of(0)));
}

#[test]
fn the_busiest_resource_is_named_without_its_node() {
    use experiment::results::ResourceUse;
    use units::TimeDelta;
    let mut result = sample::message_rate();
    let used = |name: &str, busy| ResourceUse {
        name: name.to_owned(),
        busy: TimeDelta::from_us(busy),
        elapsed: TimeDelta::from_us(100),
        bytes: 0,
        packets: 1,
        queue_max: 0,
    };
    result.points[0].resources = vec![used("node 0 PCIe to HCA", 30), used("node 1 link", 60)];
    assert_eq!(tables(&result)[2].rows[0][1], "link 60 %");
    // A core that polls waits for the others.
    result.points[0].resources.push(used(ResourceUse::POLLING, 78));
    assert_eq!(tables(&result)[2].rows[0][1], "link 60 %");
    let columns = utilisation(&[&result.points[0]], 9).columns;
    assert!(!columns.contains(&ResourceUse::POLLING.to_owned()), "{columns:?}");
}

#[test]
fn a_grid_with_a_hole_is_shown_flat() {
    let mut result = sample::message_rate();
    result.points.pop();
    assert_eq!(tables(&result)[0].rows.len(), 114);
    assert_eq!(tables(&result)[0].columns, ["senders per node", "size", "message rate (msg/s)"]);
}

#[test]
fn a_point_that_failed_is_named_with_its_reason() {
    let mut result = sample::ping_pong();
    result.points[1].metrics.clear();
    result.points[1].failure = Some("deadlock at 3 us: rank 0 waits for rank 1".into());
    let text = report_text(&result, "ideal");
    assert!(text.contains("failed"));
    assert!(text.contains(
        "point 1, workload.size = 4 KiB failed:\ndeadlock at 3 us: rank 0 waits for rank 1"
    ));
}

#[test]
fn claims_are_shown_apart_and_deviations_with_their_number() {
    insta::assert_snapshot!(claims_text(&sample::message_rate().claims).trim_start(), @r#"
    claims, predictions: 1 of 2 hold
      pass      ep-fig3-monotone: simulated rises 4 of 4 times, expected rises
                The rate rises with every doubling (endpoints Fig. 3)
      DEVIATES  ep-fig3-dip64: simulated 0.998, expected below 0.968
                The rate dips at 64 B (endpoints Fig. 3)

    claims, inputs (the model was calibrated on them): 1 of 1 hold
      pass      ep-fig3-13x: simulated 13.06, expected 13 +-10 %
                16 senders reach 13 times the rate of one (endpoints Fig. 3)
    "#);
}

#[test]
fn no_sweep_gives_one_row() {
    let mut result = sample::ping_pong();
    result.points.truncate(1);
    result.points[0].params.clear();
    let table = &tables(&result)[0];
    assert_eq!(table.columns, ["latency (us)", "bandwidth (MB/s)"]);
    assert_eq!(table.rows, [["1.300", "0.7692"]]);
}

#[test]
fn utilisation_shows_the_busiest_resources_first() {
    let result = sample::message_rate();
    let of_16: Vec<_> = result.points.iter().filter(|point| point.params[0].1 == "16").collect();
    let table = utilisation(&[of_16[3], of_16[22]], 2);
    insta::assert_snapshot!(table.to_text(), @r#"
    busy share of the run
    senders per node   size  node 0 link out  cores (mean)
                  16    8 B            0.7 %        90.0 %
                  16  4 MiB          100.0 %        90.0 %
    "#);
}

#[test]
fn seeds_that_change_nothing_have_no_spread() {
    let base = sample::message_rate();
    let mut result = RunResult { points: vec![], ..base.clone() };
    for seed in ["1", "2"] {
        result.points.extend(base.points.iter().cloned().map(|mut point| {
            point.params.insert(0, ("seed".into(), seed.into()));
            point
        }));
    }
    let (plain, same) = (&tables(&base)[0], &tables(&result)[0]);
    assert!(
        same.caption
            .ends_with("; 2 seeds, all with the same values: the seed changes nothing here")
    );
    assert_eq!(same.rows, plain.rows);
}

#[test]
fn seeds_are_shown_as_mean_and_spread() {
    let base = sample::message_rate();
    let mut result = RunResult { points: vec![], ..base.clone() };
    for (seed, factor) in [("1", 0.98), ("2", 1.0), ("3", 1.02)] {
        result.points.extend(base.points.iter().cloned().map(|mut point| {
            point.params.insert(0, ("seed".into(), seed.into()));
            point.metrics[0].value *= factor;
            point
        }));
    }
    let (plain, spread) = (&tables(&base)[0], &tables(&result)[0]);
    assert!(spread.caption.ends_with("; mean of 3 seeds ±half the range"), "{}", spread.caption);
    assert_eq!(spread.columns, plain.columns);
    for (row, plain) in spread.rows.iter().zip(&plain.rows) {
        for (cell, plain) in row.iter().zip(plain).skip(1) {
            assert_eq!(*cell, format!("{plain} ±2.0 %"));
        }
    }
}

#[test]
fn seeds_alone_are_an_axis() {
    let mut result = sample::ping_pong();
    for (point, seed) in result.points.iter_mut().zip(["1", "2"]) {
        point.params = vec![("seed".into(), seed.into())];
    }
    assert_eq!(tables(&result)[0].rows.len(), 2);
}
