use super::*;
use crate::results::{ClaimRole, Metric};
use crate::schema::metrics;

fn point(index: usize, value: f64) -> PointResult {
    PointResult {
        index,
        params: Vec::new(),
        digest: String::new(),
        metrics: vec![Metric { name: "message_rate".into(), value, unit: "msg/s" }],
        resources: Vec::new(),
        spent: Vec::new(),
        failure: None,
        limited: false,
        exit_status: None,
        unfired: Vec::new(),
        transient: None,
        explanation: None,
    }
}

fn points(values: &[f64]) -> Vec<PointResult> {
    values.iter().enumerate().map(|(index, &value)| point(index, value)).collect()
}

fn claim(kind: ClaimKind) -> Claim {
    Claim {
        cannot_fail: None,
        id: "id".into(),
        statement: None,
        role: ClaimRole::Prediction,
        source: "a document".into(),
        metric: metrics("message_rate", false)[0],
        kind,
    }
}

#[track_caller]
fn check(kind: ClaimKind, values: &[f64], holds: bool, measured: &str) {
    let result = judge(&claim(kind), &points(values));
    assert_eq!(result.measured, measured);
    assert_eq!(result.status == ClaimStatus::Pass, holds, "{}", result.expected);
}

fn along(sizes: &[u64]) -> Along {
    Along {
        path: "workload.size".into(),
        values: sizes.iter().map(|size| format!("{size} B")).collect(),
        steps: sizes.iter().map(|size| Some(*size)).collect(),
    }
}

fn line(count: usize) -> Vec<Replicas> {
    (0..count).map(|index| vec![index]).collect()
}

const TEN_PERCENT: Tolerance = Tolerance::Relative(100_000);

#[test]
fn a_value_holds_at_its_bounds_and_not_beyond() {
    let kind = || ClaimKind::Value { cases: vec![vec![0]], value: 13.0, tolerance: TEN_PERCENT };
    check(kind(), &[14.3], true, "14.3");
    check(kind(), &[11.7], true, "11.7");
    check(kind(), &[14.31], false, "14.31");
    check(kind(), &[11.69], false, "11.69");
}

#[test]
fn replicas_are_averaged_and_the_worst_case_is_told() {
    let cases = vec![(vec![0, 1], vec![2]), (vec![3], vec![2])];
    let kind = || ClaimKind::Ratio { cases: cases.clone(), value: 2.0, tolerance: TEN_PERCENT };
    check(kind(), &[1.0, 3.0, 1.0, 2.1], true, "2.1");
    check(kind(), &[1.0, 3.0, 1.0, 2.5], false, "2.5");
}

#[test]
fn an_ordering_is_strict() {
    let kind = |below| ClaimKind::Ordering {
        cases: vec![(vec![0], vec![1])],
        bases: Vec::new(),
        below,
        times: 1.0,
        majority: false,
    };
    check(kind(true), &[1.0, 2.0], true, "a ratio of 0.5");
    check(kind(true), &[2.0, 2.0], false, "a ratio of 1");
    check(kind(false), &[2.0, 2.0], false, "a ratio of 1");
}

/// An ordering compares both sides, each divided by its own base: two speedups.
#[test]
fn an_ordering_may_be_of_ratios() {
    let kind = || ClaimKind::Ordering {
        cases: vec![(vec![0], vec![1])],
        bases: vec![(vec![2], vec![3])],
        below: true,
        times: 1.0,
        majority: false,
    };
    // 6 / 2 and 8 / 4: the first is above the second.
    check(kind(), &[6.0, 8.0, 2.0, 4.0], false, "a ratio of 1.5");
    check(kind(), &[6.0, 8.0, 4.0, 2.0], true, "a ratio of 0.375");
}

#[test]
fn a_crossover_is_where_the_ratio_stays_low() {
    let lines = vec![(0..4).map(|i| (vec![i], vec![4 + i])).collect::<Vec<_>>()];
    let kind = || ClaimKind::Crossover {
        lines: lines.clone(),
        along: along(&[8, 16, 32, 64]),
        at: 2,
        tolerance: Tolerance::Factor(2_000_000),
        times: 1.25,
    };
    let against = |ratios: [f64; 4]| [&ratios[..], &[1.0; 4]].concat();
    let measured = "from 32 B on; greatest ratio from 32 B on: 1.2";
    check(kind(), &against([9.0, 3.0, 1.2, 1.0]), true, measured);
    let measured = "from 64 B on; greatest ratio from 32 B on: 1.3";
    check(kind(), &against([9.0, 1.0, 1.3, 1.0]), true, measured);
    let measured = "from 8 B on; greatest ratio from 32 B on: 1";
    check(kind(), &against([1.0, 1.0, 1.0, 1.0]), false, measured);
    let measured = "never: the ratio at 32 B is 2, the greatest from there on 2";
    check(kind(), &against([9.0, 3.0, 2.0, 2.0]), false, measured);
}

#[test]
fn trends_name_the_step_that_decides() {
    let kind =
        |shape| ClaimKind::Trend { lines: vec![line(4)], along: along(&[1, 2, 4, 8]), shape };
    let rises = Trend::Rises { every_step: true };
    let measured = "the least step is a factor of 1.5 from 2 B to 4 B";
    check(kind(rises), &[1.0, 2.0, 3.0, 6.0], true, measured);
    let measured = "the least step is a factor of 0.5 from 2 B to 4 B";
    check(kind(rises), &[1.0, 2.0, 1.0, 6.0], false, measured);
    let falls = Trend::Falls { every_step: false };
    let measured = "the greatest step is a factor of 0.5 from 1 B to 8 B";
    check(kind(falls), &[4.0, 9.0, 9.0, 2.0], true, measured);
    let flat = Trend::Flat(TEN_PERCENT);
    check(kind(flat), &[1.0, 1.1, 1.0, 1.05], true, "greatest over least: 1.1");
    check(kind(flat), &[1.0, 1.2, 1.0, 1.05], false, "greatest over least: 1.2");
    let knee = Trend::Knee { at: 2, tolerance: Tolerance::Factor(1_000_000) };
    check(kind(knee), &[1.0, 2.0, 4.0, 4.0], true, "the growth changes most at 4 B");
    check(kind(knee), &[1.0, 2.0, 2.0, 2.0], false, "the growth changes most at 2 B");
}

#[test]
fn a_dip_is_a_step_worse_than_the_one_before() {
    let shape = Trend::Dip { at: 2, margin: 0.03 };
    let kind = ClaimKind::Trend { lines: vec![line(3)], along: along(&[16, 32, 64]), shape };
    let measured = "the step to 64 B is a factor of 0.9, the one before 1";
    check(kind.clone(), &[1.0, 1.0, 0.9], true, measured);
    let measured = "the step to 64 B is a factor of 0.99, the one before 1";
    check(kind, &[1.0, 1.0, 0.99], false, measured);
}

#[test]
fn a_failed_point_holds_no_claim() {
    let kind = ClaimKind::Value { cases: vec![vec![7]], value: 1.0, tolerance: TEN_PERCENT };
    check(kind, &[1.0], false, "a point of the claim has no result");
}

#[test]
fn most_cases_are_more_than_half() {
    let cases: Vec<_> = (0..4).map(|i| (vec![i], vec![4])).collect();
    let kind = || ClaimKind::Ordering {
        cases: cases.clone(),
        bases: Vec::new(),
        below: false,
        times: 0.9,
        majority: true,
    };
    let told =
        |held, middle| format!("in {held} of 4 cases; the one in the middle: a ratio of {middle}");
    check(kind(), &[0.5, 0.91, 0.95, 1.0, 1.0], true, &told(3, "0.91"));
    check(kind(), &[0.5, 0.6, 0.95, 1.0, 1.0], false, &told(2, "0.6"));
}

#[test]
fn a_bound_is_strict_and_a_range_is_not() {
    let bound = |below| ClaimKind::Bound { cases: vec![vec![0], vec![1]], below, value: 2.0 };
    check(bound(true), &[1.0, 1.5], true, "1.5");
    check(bound(true), &[1.0, 2.0], false, "2");
    check(bound(false), &[2.5, 3.0], true, "2.5");
    let between = || ClaimKind::Between { cases: vec![(vec![0], vec![1])], least: 1.0, most: 1.25 };
    check(between(), &[1.0, 1.0], true, "1");
    check(between(), &[1.25, 1.0], true, "1.25");
    check(between(), &[0.99, 1.0], false, "0.99");
    check(between(), &[1.26, 1.0], false, "1.26");
}

#[test]
fn a_spread_is_greatest_over_least() {
    let kind = || ClaimKind::Spread { cases: line(3), most: 1.5 };
    check(kind(), &[2.0, 3.0, 2.5], true, "greatest over least: 1.5");
    check(kind(), &[2.0, 3.1, 2.5], false, "greatest over least: 1.55");
}

#[test]
fn a_drop_falls_and_then_falls_more() {
    let kind = || {
        let along = along(&[64, 128, 256]);
        ClaimKind::Trend { lines: vec![line(3)], along, shape: Trend::Drop { at: 2 } }
    };
    let told =
        |first, second| format!("a factor of {first} from 64 B to 128 B, then {second} to 256 B");
    check(kind(), &[1.0, 0.9, 0.45], true, &told("0.9", "0.5"));
    check(kind(), &[1.0, 0.9, 0.855], false, &told("0.9", "0.95"));
    check(kind(), &[1.0, 1.25, 0.5], false, &told("1.25", "0.4"));
}

#[test]
fn a_slope_compares_the_growth_of_both() {
    let kind = || {
        let shape = Trend::Slope { value: 1.0, tolerance: TEN_PERCENT };
        ClaimKind::Trend { lines: vec![line(3)], along: along(&[1, 2, 4]), shape }
    };
    check(kind(), &[10.0, 20.0, 42.0], true, "1.05 up to 4 B");
    check(kind(), &[10.0, 16.0, 40.0], false, "0.8 up to 2 B");
}

#[test]
fn a_line_is_fitted_and_must_rise() {
    let kind = || {
        let shape = Trend::Linear { r_squared: 0.95 };
        ClaimKind::Trend { lines: vec![line(3)], along: along(&[1, 2, 4]), shape }
    };
    // Of (1, 10), (2, 20), (4, 42): 50^2 / (14/3 x 536).
    check(kind(), &[10.0, 20.0, 42.0], true, "a rising line, R^2 0.9995");
    check(kind(), &[10.0, 50.0, 42.0], false, "a rising line, R^2 0.3827");
    check(kind(), &[42.0, 32.0, 12.0], false, "no rising line, R^2 1");
    check(kind(), &[7.0, 7.0, 7.0], false, "no rising line, R^2 0");
}

/// A ratio without its base, or a number without its unit, says nothing beside an axis.
#[test]
fn a_ratio_is_told_with_its_base_and_a_number_with_its_unit() {
    let mut points = points(&[8.0, 2.0, 16.0]);
    for (point, (length, machine)) in
        points.iter_mut().zip([("64", "one"), ("1", "one"), ("256", "one")])
    {
        let length = ("workload.queue.length".to_owned(), length.to_owned());
        point.params = vec![length, ("machine".to_owned(), machine.to_owned())];
    }
    let cases = vec![(vec![0], vec![1])];
    let ratio =
        judge(&claim(ClaimKind::Ratio { cases, value: 4.0, tolerance: TEN_PERCENT }), &points);
    assert_eq!(ratio.expected, "4 x that at length 1, ± 10 %");
    assert_eq!(ratio.measured_in_words(), "4 x");
    let said = "message rate at length 64, machine one, by that at length 1";
    assert_eq!(ratio.statement, said);
    let cases = vec![vec![0], vec![2]];
    let value =
        judge(&claim(ClaimKind::Value { cases, value: 8.0, tolerance: TEN_PERCENT }), &points);
    assert_eq!(value.measured_in_words(), "16 msg/s");
    assert_eq!(value.statement, "message rate at machine one");
    let cases = vec![vec![7]];
    let none = judge(&claim(ClaimKind::Bound { cases, below: true, value: 8.0 }), &points);
    assert_eq!(none.measured_in_words(), "a point of the claim has no result");
}

#[track_caller]
fn check_rho(values: &[f64], rho: f64) {
    let found = rank_correlation(values);
    assert!((found - rho).abs() < 1e-12, "{values:?}: {found}");
}

/// By hand, ranks from 0: 1, 1, 1, 1, 2 has the ranks 1.5 four times and 4; off their mean of 2
/// those are -0.5 four times and 2, the places -2, -1, 0, 1, 2. Products: 1 + 0.5 - 0.5 + 4 = 5;
/// squares: 10, and 4 x 0.25 + 4 = 5. So rho = 5 / sqrt(50), not the 0.75 of the formula for ranks
/// that are all different. 1, 2, 2, 3 has 0, 1.5, 1.5, 3: 4.5 / sqrt(5 x 4.5).
#[test]
fn equal_values_share_their_ranks() {
    check_rho(&[1.0, 1.0, 1.0, 1.0, 2.0], 5.0 / 50.0_f64.sqrt());
    check_rho(&[1.0, 2.0, 2.0, 3.0], 4.5 / 22.5_f64.sqrt());
    // 1 - 6 x 2 / (4 x 15), where none are equal.
    check_rho(&[1.0, 3.0, 2.0, 4.0], 0.8);
    check_rho(&[4.0, 3.0, 2.0, 1.0], -1.0);
}

#[test]
fn what_does_not_change_rises_with_nothing() {
    check_rho(&[7.0; 5], 0.0);
    check_rho(&[7.0], 0.0);
    let lines = vec![(0..3).map(|i| (vec![i], vec![3 + i])).collect::<Vec<_>>()];
    let kind =
        || ClaimKind::RisingRatio { lines: lines.clone(), along: along(&[1, 2, 4]), least: 0.5 };
    let told = |rho| format!("a rank correlation of {rho}");
    check(kind(), &[1.0, 2.0, 3.0, 1.0, 2.0, 3.0], false, &told("0"));
    check(kind(), &[1.0, 3.0, 4.0, 1.0, 2.0, 2.0], true, &told("1"));
    // 0 / 0 is no ratio, and holds nothing.
    check(kind(), &[1.0, 3.0, 0.0, 1.0, 2.0, 0.0], false, &told("no finite number"));
}

/// The second case is 0 / 0: no number is worse than any.
#[test]
fn a_case_without_a_number_is_the_worst() {
    let cases = vec![(vec![0], vec![1]), (vec![2], vec![2])];
    let kind = ClaimKind::Ratio { cases, value: 2.0, tolerance: TEN_PERCENT };
    check(kind, &[9.0, 1.0, 0.0], false, "no finite number");
    let shape = Trend::Rises { every_step: true };
    let kind = ClaimKind::Trend { lines: vec![line(3)], along: along(&[1, 2, 4]), shape };
    let measured = "the least step is a factor of no finite number from 1 B to 2 B";
    check(kind, &[0.0, 0.0, 1.0], false, measured);
}

#[test]
fn of_values_that_should_be_0_the_farthest_is_told() {
    let cases = vec![vec![0], vec![1], vec![2]];
    let kind = || ClaimKind::Value { cases: cases.clone(), value: 0.0, tolerance: TEN_PERCENT };
    check(kind(), &[0.0, 0.0, 0.0], true, "0");
    check(kind(), &[0.0, 3.0, 1.0], false, "3");
}

/// The first line has its onset a step away, which the tolerance allows; of the others the one
/// that is farther off is reported.
#[test]
fn of_several_onsets_the_farthest_outside_is_told() {
    let against = |first| (first..first + 4).map(|i| (vec![i], vec![12])).collect::<Vec<_>>();
    let kind = ClaimKind::Crossover {
        lines: vec![against(0), against(4), against(8)],
        along: along(&[8, 16, 32, 64]),
        at: 1,
        tolerance: Tolerance::Factor(2_000_000),
        times: 1.0,
    };
    let lines = [[9.0, 9.0, 1.0, 1.0], [9.0, 9.0, 9.0, 1.0], [9.0, 1.0, 1.0, 1.0]];
    let values = [lines.concat(), vec![1.0]].concat();
    check(kind, &values, false, "from 64 B on; greatest ratio from 16 B on: 9");
    let knees = |shape| {
        let lines = [vec![0, 1, 2, 3], vec![4, 5, 6, 7]];
        let lines = lines.map(|line| line.into_iter().map(|index| vec![index]).collect());
        ClaimKind::Trend { lines: lines.into(), along: along(&[1, 2, 4, 8]), shape }
    };
    let knee = Trend::Knee { at: 1, tolerance: Tolerance::Factor(1_000_000) };
    let values = [1.0, 2.0, 2.0, 2.0, 1.0, 2.0, 4.0, 4.0];
    check(knees(knee), &values, false, "the growth changes most at 4 B");
}
