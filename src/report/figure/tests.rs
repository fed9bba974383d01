use super::marks::Looks;
use super::*;
use crate::sample;
use experiment::claim::figures::Width;
use experiment::results::RunResult;

pub(super) fn rate_spec() -> FigureSpec {
    FigureSpec {
        x: "workload.size".into(),
        y: "message_rate".into(),
        series: Some("workload.senders_per_node".into()),
        ..FigureSpec::default()
    }
}

fn claim_references() -> Vec<Reference> {
    let point = Point { x: 8.0, y: 13.0 * 322_000.0, range: None };
    let marker = Mark { point, tolerated: Some((3_767_400.0, 4_604_600.0)), series: Some(4) };
    vec![
        Reference {
            heading: EXPECTED.into(),
            id: "ep-fig3-13x".into(),
            label: "13 times one sender, +-10 %".into(),
            source: "endpoints Fig. 3".into(),
            shape: ReferenceShape::Markers(vec![marker]),
        },
        Reference {
            heading: EXPECTED.into(),
            id: String::new(),
            label: "link limit".into(),
            source: String::new(),
            shape: ReferenceShape::Line(vec![
                Point { x: 1024.0, y: 5.0e6, range: None },
                Point { x: 4_194_304.0, y: 1220.0, range: None },
            ]),
        },
        Reference {
            heading: EXPECTED.into(),
            id: "ep-fig4-32k".into(),
            label: "onset at 32 KiB".into(),
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
    assert!(figure.to_svg().unwrap().contains("24 of 100"));
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
    for tick in ["\n64\n", "64", "4 Ki", "4 Mi", "10 k", "1 M"] {
        assert!(svg.contains(tick), "{tick}");
    }
    assert!(svg.contains("13 times one sender"), "references are labelled");
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
        references: vec![],
    };
    let svg = figure.to_svg().unwrap();
    let (xs, ys) = (coordinates(&svg, "cx"), coordinates(&svg, "cy"));
    assert_eq!(xs.len(), 3, "one circle per point");
    assert!((xs[1] - xs[0] - (xs[2] - xs[1])).abs() <= 1.0, "equal ratios, equal distances");
    assert!((ys[0] - ys[1] - (ys[1] - ys[2])).abs() <= 1.0 && ys[0] > ys[2]);
}

#[test]
fn a_printed_figure_has_its_width_and_its_legend_below() {
    let figure = Figure::from_result(&sample::message_rate(), &rate_spec(), claim_references());
    let figure = figure.unwrap();
    for (width, mm, pixels) in [(Width::Column, "85mm", 440.0), (Width::Page, "170mm", 880.0)] {
        let svg = figure.printed(Some(width)).unwrap();
        let head = svg.lines().next().unwrap();
        assert!(head.contains(&format!("width=\"{mm}\"")), "{head}");
        assert!(
            svg.contains("<title>Message rate against") && !svg.contains("\nMessage rate against")
        );
        let (_, body) = svg.split_once("<title>").unwrap();
        assert!(coordinates(body, "x").iter().all(|x| *x < pixels));
        let foot = coordinates(body, "height").into_iter().fold(0.0, f64::max);
        let lowest = coordinates(body, "y").into_iter().fold(0.0, f64::max);
        assert!(lowest < foot, "{lowest} of {foot}");
    }
}

#[test]
fn many_curves_of_rising_numbers_go_from_dark_to_light() {
    let mut figure = Figure::from_result(&sample::message_rate(), &rate_spec(), vec![]).unwrap();
    assert_eq!(figure.looks(), Looks::Apart, "six colours suffice");
    let with = |label: &str| Series { label: label.into(), ..figure.series[0].clone() };
    figure.series = ["1", "2", "4", "8", "16", "32", "64"].map(with).to_vec();
    assert_eq!(figure.looks(), Looks::Ordered(7));
    figure.series[3].label = "auto".into();
    assert_eq!(figure.looks(), Looks::Apart);
}

/// The circles of references: their places and colours.
fn hollow_circles(svg: &str) -> Vec<(f64, f64, String)> {
    let all = svg.lines().filter(|line| line.starts_with("<circle") && line.contains("r=\"6\""));
    let colour = |line: &str| {
        let (_, rest) = line.split_once("stroke=\"").expect("a stroke");
        rest[..7].to_owned()
    };
    all.map(|line| (coordinates(line, "cx")[0], coordinates(line, "cy")[0], colour(line))).collect()
}

/// A tolerance is a pale band, and the spread of a measurement a bar with caps.
#[test]
fn a_tolerance_does_not_look_like_the_spread_of_a_measurement() {
    let drawn = |range, tolerated| {
        let mut references = claim_references();
        references.truncate(1);
        let point = Point { x: 8.0, y: 4.0e6, range };
        let mark = Mark { point, tolerated, series: Some(4) };
        references[0].shape = ReferenceShape::Markers(vec![mark]);
        let result = sample::message_rate();
        let figure = Figure::from_result(&result, &rate_spec(), references).unwrap();
        let svg = figure.to_svg().unwrap();
        let bands = svg.matches("opacity=\"0.18\" fill=\"#E69F00\"").count();
        let bars = svg.matches("stroke=\"#734F00\" stroke-width=\"1\"").count();
        (bands, bars)
    };
    let about = Some((3.8e6, 4.2e6));
    // In the plot and in the legend; a bar has two caps.
    assert_eq!(drawn(None, about), (2, 0));
    assert_eq!(drawn(about, None), (0, 6));
    assert_eq!(drawn(about, about), (2, 6));
}

/// Of two circles above one size the reader must see which curve each is about.
#[test]
fn an_expected_value_has_the_colour_of_the_curve_that_it_judges() {
    let mut references = claim_references();
    let ReferenceShape::Markers(marks) = &references[0].shape else { panic!("markers") };
    let other = vec![Mark { series: Some(1), ..marks[0] }];
    let nobody = vec![Mark { series: None, ..marks[0] }];
    for (at, marks) in [(1, other), (2, nobody)] {
        references[at].shape = ReferenceShape::Markers(marks);
    }
    let figure = Figure::from_result(&sample::message_rate(), &rate_spec(), references).unwrap();
    let colours: Vec<String> =
        hollow_circles(&figure.to_svg().unwrap()).into_iter().map(|(.., colour)| colour).collect();
    // First in the plot, then in the legend.
    let expected = ["#E69F00", "#D55E00", "#666666"];
    assert_eq!(colours, [expected, expected].concat());
}

#[test]
fn a_point_knows_its_curve() {
    let result = sample::message_rate();
    let figure = Figure::from_result(&result, &rate_spec(), vec![]).unwrap();
    let of = |point: usize| figure.series_of(&result, &rate_spec(), &result.points[point]);
    assert_eq!((of(0), of(22), of(23), of(114)), (Some(0), Some(0), Some(1), Some(4)));
}

/// Beside a word the markers of curves stand side by side, and what a claim expects with them.
#[test]
fn over_words_an_expected_value_stands_beside_its_word_as_its_curve_does() {
    let series =
        |y: f64| Series { label: y.to_string(), points: vec![Point { x: 0.0, y, range: None }] };
    let axis = |scale| Axis { label: "A".into(), unit: String::new(), scale };
    let mark =
        Mark { point: Point { x: 0.0, y: 3.0, range: None }, tolerated: None, series: Some(0) };
    let figure = Figure {
        title: "t".into(),
        x: axis(Scale::Words(vec!["serial".into(), "other".into()])),
        y: axis(Scale::Linear),
        series_title: String::new(),
        series: vec![series(1.0), series(2.0)],
        references: vec![Reference {
            heading: EXPECTED.into(),
            id: String::new(),
            label: "3".into(),
            source: String::new(),
            shape: ReferenceShape::Markers(vec![mark]),
        }],
    };
    let svg = figure.to_svg().unwrap();
    let circles = hollow_circles(&svg);
    let own = svg.lines().find(|line| line.contains("r=\"4\"")).unwrap();
    assert!((circles[0].0 - coordinates(own, "cx")[0]).abs() < 0.5, "{circles:?}");
}

#[test]
fn another_run_shows_behind_a_curve_that_hardly_moved() {
    let figure = |factor: f64| {
        let mut result = sample::ping_pong();
        result.points.iter_mut().for_each(|point| point.metrics[0].value *= factor);
        let spec =
            FigureSpec { x: "workload.size".into(), y: "latency".into(), ..Default::default() };
        Figure::from_result(&result, &spec, vec![]).unwrap()
    };
    let mut now = figure(1.001);
    now.beside(&figure(1.0), ["now", "baseline"]);
    let svg = now.to_svg().unwrap();
    let band = svg.find("stroke-width=\"9\"").expect("a wide line");
    assert!(band < svg.find("r=\"4\"").unwrap(), "behind the markers");
}

#[test]
fn an_axis_that_does_not_begin_at_zero_says_so() {
    let svg = |low: f64| {
        let mut result = sample::ping_pong();
        result.points[0].metrics[0].value = low;
        result.points[1].metrics[0].value = 10.0;
        let spec =
            FigureSpec { x: "workload.size".into(), y: "latency".into(), ..Default::default() };
        Figure::from_result(&result, &spec, vec![]).unwrap().to_svg().unwrap()
    };
    assert!(svg(9.0).contains("axis does not begin at zero"));
    assert!(!svg(1.0).contains("axis does not begin at zero"));
}

#[test]
fn nothing_is_drawn_across_the_gap_between_zero_and_the_least_value() {
    let points = [0.0, 1.0, 10.0, 1000.0].map(|x| Point { x, y: 1.0 + x, range: None });
    let axis = |scale| Axis { label: "A".into(), unit: String::new(), scale };
    let lines = |x: Scale, from: usize| {
        let figure = Figure {
            title: "t".into(),
            x: axis(x),
            y: axis(Scale::Log10),
            series_title: String::new(),
            series: vec![Series { label: String::new(), points: points[from..].to_vec() }],
            references: vec![],
        };
        let svg = figure.to_svg().unwrap();
        let curve =
            svg.lines().find(|line| line.starts_with("<polyline") && line.contains("#0072B2"));
        curve.expect("a curve").matches(',').count()
    };
    assert_eq!(lines(Scale::Log10FromZero(0), 0), 3, "zero is a marker alone");
    assert_eq!(lines(Scale::Log10FromZero(0), 1), 3);
}

#[test]
fn values_that_go_up_and_down_without_end_have_no_line() {
    let drawn = |ys: &dyn Fn(u32) -> f64| {
        let point = |n: u32| Point { x: f64::from(n), y: ys(n), range: None };
        let mut result = sample::ping_pong();
        result.points.truncate(1);
        let spec =
            FigureSpec { x: "workload.size".into(), y: "latency".into(), ..Default::default() };
        let mut figure = Figure::from_result(&result, &spec, vec![]).unwrap();
        figure.series[0].points = (1..=64).map(point).collect();
        let svg = figure.to_svg().unwrap();
        svg.lines().any(|line| line.starts_with("<polyline") && line.contains("#0072B2"))
    };
    assert!(!drawn(&|n| f64::from(2 + n % 3)));
    assert!(drawn(&|n| f64::from(n)) && drawn(&|n| f64::from(1 + n / 8)));
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
    let bars = figure.to_svg().unwrap().matches("stroke=\"#003959\" stroke-width=\"1\"").count();
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
        heading: EXPECTED.into(),
        id: String::new(),
        label: "2 us +- 20 %".into(),
        source: String::new(),
        shape: ReferenceShape::Band { low: 1.6, high: 2.4 },
    });
    references.push(Reference {
        heading: EXPECTED.into(),
        id: String::new(),
        label: "spec".into(),
        source: String::new(),
        shape: ReferenceShape::Level(2.0),
    });
    let mut latency = Figure::from_result(&sample::ping_pong(), &spec, references).unwrap();
    latency.series[0].points[1].range = Some((3.9, 4.6));
    std::fs::write(folder.join("latency.svg"), latency.to_svg().unwrap()).unwrap();
}
