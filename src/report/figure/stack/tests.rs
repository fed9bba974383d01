use super::*;
use crate::sample;

/// A sweep of ways with the parts of a message's time, at one and at two threads.
fn ways(all: &[(&str, [f64; 3])]) -> RunResult {
    let mut result = sample::ping_pong();
    let empty = result.points[0].clone();
    result.points.clear();
    for (way, values) in all {
        for threads in 1..=2_u8 {
            let mut point = empty.clone();
            point.index = result.points.len();
            point.params = vec![
                ("ranks.addressing".into(), (*way).into()),
                ("ranks.threads".into(), threads.to_string()),
            ];
            let names = ["lock_wait", "walk_time", "wait_time"];
            let measured = names.iter().zip(values);
            let metric = |(name, value): (&&str, &f64)| {
                sample::metric(name, value * f64::from(threads), "us")
            };
            point.metrics = measured.map(metric).collect();
            point.metrics.push(sample::metric("message_rate", 1e6, "msg/s"));
            result.points.push(point);
        }
    }
    result
}

fn bounds() -> RunResult {
    ways(&[("separate", [0.0, 0.5, 2.5]), ("process", [40.0, 8.0, 2.0])])
}

fn spec() -> StackSpec {
    let part = |(metric, label): (&str, &str)| Part { metric: metric.into(), label: label.into() };
    let parts = [("lock_wait", "lock wait"), ("walk_time", "queue walk"), ("wait_time", "waiting")];
    StackSpec {
        x: "ranks.addressing".into(),
        parts: parts.map(part).into(),
        at: vec![("ranks.threads".into(), "2".into())],
        sum: "Time per message".into(),
        ..StackSpec::default()
    }
}

fn svg(result: &RunResult, spec: &StackSpec) -> String {
    Stack::from_result(result, spec).and_then(|stack| stack.to_svg()).unwrap()
}

/// Width and fill of each rectangle with a part's colour inside the plot, by its left edge.
fn bars(svg: &str) -> Vec<(i32, i32)> {
    let field = |line: &str, name: &str| -> Option<String> {
        let (_, rest) = line.split_once(&format!(" {name}=\""))?;
        rest.split_once('"').map(|(value, _)| value.to_owned())
    };
    let filled = |line: &&str| {
        let fill = field(line, "fill").unwrap_or_default();
        line.starts_with("<rect") && fill != "none" && fill != "#FFFFFF"
    };
    let number = |line: &str, name: &str| field(line, name).unwrap().parse::<i32>().unwrap();
    let thick = |line: &&str| number(line, "height") == 28;
    let rects = svg.lines().filter(filled).filter(thick);
    rects.map(|line| (number(line, "x"), number(line, "width"))).collect()
}

#[test]
fn each_value_becomes_a_bar_of_the_points_that_were_asked_for() {
    let stack = Stack::from_result(&bounds(), &spec()).unwrap();
    let bars: Vec<(&str, &[f64])> =
        stack.bars.iter().map(|bar| (bar.label.as_str(), bar.values.as_slice())).collect();
    let expected: [(&str, &[f64]); 2] =
        [("separate", &[0.0, 1.0, 5.0]), ("process", &[80.0, 16.0, 4.0])];
    assert_eq!(bars, expected);
    assert_eq!(stack.axis.title(), "Time per message (us)");
    assert_eq!(stack.bars_title, "addressing");
    assert_eq!(stack.title, "Ping-pong latency", "the scenario's own where it names none");
}

#[test]
fn axes_that_are_left_open_make_bars_of_their_own_and_replicas_a_mean() {
    let open = StackSpec { at: vec![], ..spec() };
    let stack = Stack::from_result(&bounds(), &open).unwrap();
    let labels: Vec<&str> = stack.bars.iter().map(|bar| bar.label.as_str()).collect();
    let expected = [
        "separate, threads = 1",
        "separate, threads = 2",
        "process, threads = 1",
        "process, threads = 2",
    ];
    assert_eq!(labels, expected);
    let mut replicas = bounds();
    for (point, seed) in replicas.points.iter_mut().zip(["1", "2", "1", "2"]) {
        point.params[1] = ("seed".into(), seed.into());
    }
    let stack = Stack::from_result(&replicas, &open).unwrap();
    assert_eq!(stack.bars.len(), 2);
    assert_eq!(stack.bars[1].values, [60.0, 12.0, 3.0]);
}

#[test]
fn parts_follow_each_other_and_are_as_long_as_their_values() {
    let text = svg(&bounds(), &spec());
    let all = bars(&text);
    assert_eq!(all.len(), 5, "a part that is zero is left out: {all:?}");
    let (zero, process) = (all[0].0, &all[2..]);
    assert_eq!(process[0].0, zero, "all bars have their foot on one line");
    for pair in process.windows(2) {
        assert_eq!(pair[0].0 + pair[0].1, pair[1].0, "no gap, no overlap");
    }
    let unit = f64::from(process.iter().map(|(_, width)| width).sum::<i32>()) / 100.0;
    let values = [1.0, 5.0, 80.0, 16.0, 4.0];
    for ((_, width), value) in all.iter().zip(values) {
        assert!((f64::from(*width) - value * unit).abs() <= 1.0, "{width} for {value}");
    }
    for word in ["lock wait", "queue walk", "waiting", "separate", "6.000 us", "100.0 us", "80.00"]
    {
        assert!(text.contains(word), "{word}");
    }
    assert!(!text.contains("\n1.000\n"), "no value where it does not fit");
}

#[test]
fn a_stack_gives_the_same_bytes_twice_and_stays_small() {
    let many: Vec<(String, [f64; 3])> = (0..16_u8)
        .map(|n| (format!("a variant with a long name, number {n}"), [f64::from(n), 300.0, 1e-3]))
        .collect();
    let many: Vec<(&str, [f64; 3])> = many.iter().map(|(name, v)| (name.as_str(), *v)).collect();
    let text = svg(&ways(&many), &spec());
    assert_eq!(text, svg(&ways(&many), &spec()));
    assert!(text.len() < 250_000, "{} bytes", text.len());
    assert_eq!(
        text.matches("300.0").count() + text.matches("600.0").count(),
        16 + 2,
        "once in words"
    );
}

#[test]
fn one_part_of_one_bar_is_enough_and_all_zero_is_drawn() {
    let one = StackSpec { parts: spec().parts.split_off(2), ..spec() };
    let single = ways(&[("process", [0.0, 0.0, 7.0])]);
    assert_eq!(bars(&svg(&single, &one)).len(), 1);
    let none = ways(&[("process", [0.0, 0.0, 0.0])]);
    let text = svg(&none, &spec());
    assert!(bars(&text).is_empty() && text.contains("\n0 us\n"));
}

#[test]
fn markup_is_escaped_and_the_note_is_below() {
    let noted = StackSpec {
        title: Some("a <b> & c\u{1b}".into()),
        note: Some("first <i> words ".repeat(20)),
        ..spec()
    };
    let text = svg(&bounds(), &noted);
    assert!(text.contains("a &lt;b&gt; &amp; c") && !text.contains('\u{1b}'));
    assert!(!text.contains("<i>") && text.contains("first &lt;i&gt; words"));
}

#[track_caller]
fn check_refusal(result: &RunResult, spec: &StackSpec, expected: &str) {
    let drawn = Stack::from_result(result, spec).and_then(|stack| stack.to_svg());
    assert_eq!(drawn.unwrap_err().to_string(), expected);
}

#[test]
fn what_has_no_sum_or_no_length_is_refused_in_words() {
    let with = |metric: &str| {
        let mut spec = spec();
        spec.parts.push(Part { metric: metric.into(), label: metric.into() });
        spec
    };
    check_refusal(
        &bounds(),
        &with("message_rate"),
        "values of `message_rate` have different units (us and msg/s)",
    );
    check_refusal(
        &bounds(),
        &with("speed"),
        "no point has a metric `speed`; there are: \
         `lock_wait`, `walk_time`, `wait_time`, `message_rate`",
    );
    check_refusal(
        &bounds(),
        &StackSpec { x: "ranks.adressing".into(), ..spec() },
        "`ranks.adressing` is not an axis of the sweep; \
         the axes are: `ranks.addressing`, `ranks.threads`",
    );
    check_refusal(
        &ways(&[("process", [1.0, -2.0, 3.0])]),
        &spec(),
        "Time per message (us): a part is -4; the parts of a bar cannot be below zero",
    );
    check_refusal(
        &ways(&[("process", [1.0, f64::NAN, f64::INFINITY])]),
        &spec(),
        "Time per message (us): 2 of 3 values cannot be drawn: they are not finite or too large",
    );
    let mut failed = bounds();
    failed.points.iter_mut().for_each(|point| point.metrics.clear());
    check_refusal(&failed, &spec(), "no point has a value of `lock_wait`: nothing to draw");
}

/// Writes stacks to a folder, to be looked at: `FIGURES=dir cargo test -- --ignored`.
#[test]
#[ignore = "writes files for people to look at"]
#[expect(clippy::disallowed_methods, reason = "a folder for people, not input of a simulation")]
fn draw_for_people() {
    let folder = std::path::PathBuf::from(std::env::var("FIGURES").unwrap());
    let crowded = Stack {
        title: "A title that is so long that it needs a second line, as the title of a scenario \
                that compares several things at once tends to do"
            .into(),
        bars_title: "variants of the library".into(),
        axis: Axis { label: "Time".into(), unit: "us".into(), scale: Scale::Linear },
        parts: (1..=16).map(|n| format!("part {n} of what a message needs")).collect(),
        bars: (1..=16_u8)
            .map(|n| Bar {
                label: format!("{n} threads per process, matching queues per endpoint, and so on"),
                values: (1..=16_u8)
                    .map(|part| f64::from(u16::from(n) * u16::from(part) % 17) * 3.5)
                    .collect(),
            })
            .collect(),
        note: Some("A note that says what the parts are. ".repeat(6)),
    };
    std::fs::write(folder.join("crowded_stack.svg"), crowded.to_svg().unwrap()).unwrap();
    let single = StackSpec { parts: spec().parts.split_off(2), ..spec() };
    let single = svg(&ways(&[("process", [0.0, 0.0, 7.0])]), &single);
    std::fs::write(folder.join("single_stack.svg"), single).unwrap();
}
