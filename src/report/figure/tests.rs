use super::*;
use crate::report::sample;

pub(super) fn rate_spec() -> FigureSpec {
    FigureSpec {
        x: "workload.size".into(),
        y: "message_rate".into(),
        series: Some("workload.senders_per_node".into()),
        ..FigureSpec::default()
    }
}

fn claim_references() -> Vec<Reference> {
    let marker = Point { x: 8.0, y: 13.0 * 322_000.0, range: Some((3_767_400.0, 4_604_600.0)) };
    vec![
        Reference {
            label: "ep-fig3-13x: 13 times one sender, +-10 %".into(),
            source: "endpoints Fig. 3".into(),
            shape: ReferenceShape::Markers(vec![Mark { point: marker, series: Some(4) }]),
        },
        Reference {
            label: "link limit".into(),
            source: String::new(),
            shape: ReferenceShape::Line(vec![
                Point { x: 1024.0, y: 5.0e6, range: None },
                Point { x: 4_194_304.0, y: 1220.0, range: None },
            ]),
        },
        Reference {
            label: "ep-fig4-32k: onset at 32 KiB".into(),
            source: "endpoints Fig. 4".into(),
            shape: ReferenceShape::Onset { low: 16_384.0, high: 65_536.0 },
        },
    ]
}

#[test]
fn a_result_becomes_a_family_of_curves() {
    let figure = Figure::from_result(&sample::message_rate(), &rate_spec(), vec![]).unwrap();
    let labels: Vec<&str> = figure.series.iter().map(|series| series.label.as_str()).collect();
    assert_eq!(labels, ["1", "2", "4", "8", "16"]);
    assert_eq!(figure.series_title, "senders per node");
    assert_eq!(figure.x.title(), "Size (B)");
    assert_eq!(figure.y.title(), "Message rate (msg/s)");
    assert_eq!((figure.x.scale, figure.y.scale), (Scale::Log2, Scale::Log10));
    let last = figure.series[0].points.last().unwrap();
    assert_eq!((last.x, last.range), (4_194_304.0, None));
}

#[test]
fn of_a_hundred_curves_some_are_drawn_and_the_legend_says_so() {
    let mut result = sample::message_rate();
    let size = result.points.pop().unwrap();
    result.points = (1..=100)
        .map(|senders| {
            let mut point = size.clone();
            point.params[0].1 = senders.to_string();
            point
        })
        .collect();
    let figure = Figure::from_result(&result, &rate_spec(), vec![]).unwrap();
    let labels: Vec<&str> = figure.series.iter().map(|series| series.label.as_str()).collect();
    assert_eq!((labels.len(), labels[0], labels[1], labels[23]), (24, "1", "5", "100"));
    assert_eq!(figure.series_title, "senders per node, 24 of 100 curves");
    assert!(figure.to_svg().unwrap().contains("100 curves"), "wrapped before");
}

#[test]
fn a_figure_gives_the_same_bytes_twice() {
    let draw = || {
        Figure::from_result(&sample::message_rate(), &rate_spec(), claim_references())
            .and_then(|figure| figure.to_svg())
            .unwrap()
    };
    let svg = draw();
    assert_eq!(svg, draw());
    assert!(svg.len() < 150_000, "{} bytes", svg.len());
    for tick in ["\n64\n", "64", "4K", "4M", "10 K", "1 M"] {
        assert!(svg.contains(tick), "{tick}");
    }
    assert!(svg.contains("ep-fig3-13x: 13 times"), "references are labelled");
}

fn coordinates(svg: &str, name: &str) -> Vec<f64> {
    let marker = format!(" {name}=\"");
    svg.match_indices(&marker)
        .map(|(at, _)| svg[at + marker.len()..].split('"').next().unwrap().parse().unwrap())
        .collect()
}

#[test]
fn every_point_has_its_marker_at_its_place() {
    let series = |label: &str, points: &[(f64, f64)]| Series {
        label: label.into(),
        points: points.iter().map(|&(x, y)| Point { x, y, range: None }).collect(),
    };
    let axis = |scale| Axis { label: "A".into(), unit: String::new(), scale };
    let figure = Figure {
        title: "t".into(),
        x: axis(Scale::Log2),
        y: axis(Scale::Log10),
        series_title: String::new(),
        series: vec![series("", &[(1.0, 1.0), (4.0, 100.0), (16.0, 10_000.0)])],
        references_title: String::new(),
        references: vec![],
    };
    let svg = figure.to_svg().unwrap();
    let (xs, ys) = (coordinates(&svg, "cx"), coordinates(&svg, "cy"));
    assert_eq!(xs.len(), 3, "one circle per point");
    assert!((xs[1] - xs[0] - (xs[2] - xs[1])).abs() <= 1.0, "equal ratios, equal distances");
    assert!((ys[0] - ys[1] - (ys[1] - ys[2])).abs() <= 1.0 && ys[0] > ys[2]);
}

#[test]
fn replicas_become_a_mean_with_a_bar() {
    let mut result = sample::ping_pong();
    let base = result.points.clone();
    result.points.clear();
    for (seed, factor) in [("1", 1.0), ("2", 3.0), ("3", 2.0)] {
        for point in &base {
            let mut point = point.clone();
            point.params.insert(0, ("seed".into(), seed.into()));
            point.metrics[0].value *= factor;
            result.points.push(point);
        }
    }
    let spec = FigureSpec { x: "workload.size".into(), y: "latency".into(), ..Default::default() };
    let figure = Figure::from_result(&result, &spec, vec![]).unwrap();
    assert_eq!(figure.series.len(), 1, "seeds are not curves");
    let point = figure.series[0].points[0];
    assert_eq!(point.range, Some((1.3, 1.3 * 3.0)));
    assert!((point.y - 2.6).abs() < 1e-12);
    let bars = figure.to_svg().unwrap().matches("stroke=\"#0072B2\" stroke-width=\"1\"").count();
    assert_eq!(bars, 6, "a bar and two caps per point");
}

#[test]
fn further_axes_tell_curves_apart() {
    let spec = FigureSpec { series: None, ..rate_spec() };
    let figure = Figure::from_result(&sample::message_rate(), &spec, vec![]).unwrap();
    assert_eq!(figure.series[4].label, "senders per node = 16");
}

#[test]
fn points_that_failed_are_left_out() {
    let mut result = sample::message_rate();
    result.points[3].metrics.clear();
    let figure = Figure::from_result(&result, &rate_spec(), vec![]).unwrap();
    assert_eq!(figure.series[0].points.len(), 22);
}

#[track_caller]
fn check_refusal(result: &RunResult, spec: &FigureSpec, expected: &str) {
    let drawn = Figure::from_result(result, spec, vec![]).and_then(|figure| figure.to_svg());
    assert_eq!(drawn.unwrap_err().to_string(), expected);
}

/// Four places of two curves over the words of an axis: three of equal values beside each other.
#[test]
fn words_on_the_x_axis_are_drawn_at_equal_distances() {
    let mut result = sample::ping_pong();
    let base = result.points[0].clone();
    result.points.clear();
    for (threads, factor) in [("1", 1.0), ("2", 1.0), ("4", 2.0)] {
        for (word, latency) in [("rput", 3.0), ("rget", 1.0), ("auto", 2.0), ("16 KiB", 2.5)] {
            let mut point = base.clone();
            point.params = vec![
                ("ranks.threads".into(), threads.into()),
                ("mpi.rendezvous".into(), word.into()),
            ];
            point.metrics[0].value = latency * factor;
            result.points.push(point);
        }
    }
    let spec = FigureSpec {
        x: "mpi.rendezvous".into(),
        y: "latency".into(),
        series: Some("ranks.threads".into()),
        x_scale: Some(Scale::Linear),
        ..Default::default()
    };
    let figure = Figure::from_result(&result, &spec, vec![]).unwrap();
    assert_eq!(figure.x.title(), "Rendezvous");
    let words = ["rput", "rget", "auto", "16 KiB"].map(str::to_owned).to_vec();
    assert_eq!(figure.x.scale, Scale::Words(words.clone()));
    let xs = |series: &Series| series.points.iter().map(|point| point.x).collect::<Vec<_>>();
    assert!(figure.series.iter().all(|series| xs(series) == [0.0, 1.0, 2.0, 3.0]));
    let svg = figure.to_svg().unwrap();
    assert!(words.iter().all(|word| svg.contains(word.as_str())), "each word is a tick");
    assert!(!svg.contains("<polyline fill=\"none\" opacity=\"1\" stroke=\"#0072B2\""), "no line");
    // The first series has circles; one of them is in the legend.
    let circles = coordinates(&svg, "cx");
    let steps: Vec<f64> = circles[..4].windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(steps.iter().all(|step| (step - steps[0]).abs() <= 1.0), "{steps:?}");
    let place = |word: &str| place_on_x(&["rput", "rget"], word).map(|place| place.value);
    assert_eq!((place("rget"), place("auto")), (Some(1.0), None));
}

#[test]
fn what_cannot_be_drawn_is_refused_in_words() {
    let result = sample::ping_pong();
    let spec = |x: &str, y: &str| FigureSpec { x: x.into(), y: y.into(), ..Default::default() };
    let good = spec("workload.size", "latency");
    check_refusal(
        &result,
        &spec("workload.sise", "latency"),
        "`workload.sise` is not an axis of the sweep; the axes are: `workload.size`",
    );
    check_refusal(
        &result,
        &spec("workload.size", "speed"),
        "no point has a metric `speed`; there are: `latency`, `bandwidth`",
    );
    let mut mixed = result.clone();
    mixed.points[0].params[0].1 = "3 us".into();
    check_refusal(&mixed, &good, "values of `workload.size` have different units (us and B)");
    let mut failed = result.clone();
    failed.points.iter_mut().for_each(|point| point.metrics.clear());
    check_refusal(&failed, &good, "no point has a value of `latency`: nothing to draw");
    let mut nothing = result.clone();
    nothing.points.iter_mut().for_each(|point| point.metrics[0].value = f64::NAN);
    check_refusal(&nothing, &good, "no point has a value of `Latency (us)`: nothing to draw");
    let mut partly = result.clone();
    partly.points[1].metrics[0].value = f64::INFINITY;
    check_refusal(
        &partly,
        &good,
        "Latency (us): 1 of 2 values cannot be drawn: they are not finite or too large",
    );
    let mut zero = result.clone();
    zero.points[0].metrics[0].value = 0.0;
    check_refusal(
        &zero,
        &FigureSpec { y_scale: Some(Scale::Log10), ..good },
        "Latency (us): 1 of 2 values are not above zero (the first is 0); \
         a logarithmic axis shows positive values only",
    );
}

#[test]
fn markup_in_a_title_is_escaped() {
    let mut result = sample::ping_pong();
    result.title = "a <b> & \"c\"\u{1b}[0m".into();
    let spec = FigureSpec { x: "workload.size".into(), y: "latency".into(), ..Default::default() };
    let svg = Figure::from_result(&result, &spec, vec![]).unwrap().to_svg().unwrap();
    assert!(svg.contains("a &lt;b&gt; &amp;"));
    assert!(!svg.contains("<b>") && !svg.contains('\u{1b}'));
}

#[test]
fn a_long_curve_keeps_its_line_and_thins_its_markers() {
    let points = (1..=1000_u32).map(|n| Point { x: f64::from(n), y: f64::from(n), range: None });
    let mut result = sample::ping_pong();
    result.points.truncate(1);
    let spec = FigureSpec { x: "workload.size".into(), y: "latency".into(), ..Default::default() };
    let mut figure = Figure::from_result(&result, &spec, vec![]).unwrap();
    figure.series[0].points = points.collect();
    let svg = figure.to_svg().unwrap();
    assert_eq!(coordinates(&svg, "cx").len(), 63);
    let longest = svg.lines().map(|line| line.matches(',').count()).max();
    assert_eq!(longest, Some(1000), "the line has every point");
}

/// Many curves with long names and bars, a linear axis, a long title.
fn crowded() -> Figure {
    let series = |index: u32| Series {
        label: format!("{index} threads per process, matching per endpoint"),
        points: (0..9_u32)
            .map(|x| {
                let y = f64::from(index + 1) * (1.0 + f64::from(x));
                Point { x: f64::from(x * 10), y, range: Some((y * 0.93, y * 1.05)) }
            })
            .collect(),
    };
    Figure {
        title: "A title that is so long that it needs a second line, as the title of a scenario \
                that compares several things at once tends to do"
            .into(),
        x: Axis { label: "Queue length".into(), unit: String::new(), scale: Scale::Linear },
        y: Axis { label: "Latency".into(), unit: "us".into(), scale: Scale::Linear },
        series_title: "variants of the library".into(),
        series: (0..14).map(series).collect(),
        references_title: String::new(),
        references: vec![],
    }
}

/// Writes the figures of this file to a folder, to be looked at: `FIGURES=dir cargo test -- --ignored`.
#[test]
#[ignore = "writes files for people to look at"]
#[expect(clippy::disallowed_methods, reason = "a folder for people, not input of a simulation")]
fn draw_for_people() {
    let folder = std::path::PathBuf::from(std::env::var("FIGURES").unwrap());
    let rate = Figure::from_result(&sample::message_rate(), &rate_spec(), claim_references());
    std::fs::write(folder.join("rate.svg"), rate.unwrap().to_svg().unwrap()).unwrap();
    std::fs::write(folder.join("crowded.svg"), crowded().to_svg().unwrap()).unwrap();
    let spec = FigureSpec {
        x: "workload.size".into(),
        y: "latency".into(),
        x_scale: Some(Scale::Log2),
        ..Default::default()
    };
    let mut references = claim_references();
    references.truncate(0);
    references.push(Reference {
        label: "2 us +- 20 %".into(),
        source: String::new(),
        shape: ReferenceShape::Band { low: 1.6, high: 2.4 },
    });
    references.push(Reference {
        label: "spec".into(),
        source: String::new(),
        shape: ReferenceShape::Level(2.0),
    });
    let mut latency = Figure::from_result(&sample::ping_pong(), &spec, references).unwrap();
    latency.series[0].points[1].range = Some((3.9, 4.6));
    std::fs::write(folder.join("latency.svg"), latency.to_svg().unwrap()).unwrap();
}
