use super::*;
use crate::figure::{Figure, FigureSpec};
use crate::sample;

fn figure(result: &RunResult) -> PageFigure {
    let spec = FigureSpec {
        x: "workload.size".into(),
        y: "message_rate".into(),
        series: Some("workload.senders_per_node".into()),
        ..FigureSpec::default()
    };
    PageFigure {
        caption: "Message rate against size".into(),
        file: "figure-1.svg".into(),
        svg: Figure::from_result(result, &spec, vec![]).unwrap().to_svg().unwrap(),
    }
}

fn provenance() -> Vec<Provenance> {
    let number = |path: &str, value: &str, confidence: &str, source: &str| Provenance {
        path: path.into(),
        value: value.into(),
        confidence: confidence.into(),
        source: source.into(),
    };
    vec![
        number("machine.link.bandwidth", "4 GB/s", "spec", "4X QDR, 32 Gb/s of data"),
        number("machine.hca.wqe_time", "120 ns", "derived", "rate of one queue pair"),
        number("machine.core.call", "1.1 us", "assumed", "in-order core at 1.053 GHz"),
        number("machine.core.walk", "21 ns", "measured", "endpoints Fig. 7"),
    ]
}

fn render(result: &RunResult) -> String {
    page(&Page {
        result,
        source: "endpoints Fig. 3",
        note: "A first line,\nand a second with <b>",
        machine: "knc-qdr",
        nodes: "2",
        ranks: "",
        to_the_digest: true,
        command: "mpisim run scenarios/endpoints/fig03_message_rate.json --set 'a=\"<b>\"'",
        seed: u64::MAX,
        figures: &[figure(result)],
        provenance: &provenance(),
    })
    .unwrap()
}

#[test]
fn the_page_stands_alone_and_is_small() {
    let html = render(&sample::message_rate());
    assert!(html.len() < 1_000_000, "{} bytes", html.len());
    for forbidden in ["<script", "<link", "<img", "<iframe", "@import", "url(", "onload", "src="] {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
    let addresses: Vec<_> =
        html.match_indices("://").map(|(at, _)| &html[at - 4..at + 16]).collect();
    assert_eq!(addresses, ["http://www.w3.org/20"], "the name of SVG, not a place");
    assert_eq!(html, render(&sample::message_rate()), "the same bytes twice");
}

#[test]
fn the_page_names_machine_and_nodes_and_has_the_note_of_its_author() {
    let html = render(&sample::message_rate());
    for part in [
        "<dt>machine</dt><dd>knc-qdr</dd>",
        "<dt>nodes</dt><dd>2</dd>",
        "<p class=\"note\">A first line,\nand a second with &lt;b&gt;</p>",
    ] {
        assert!(html.contains(part), "{part}");
    }
}

#[test]
fn what_made_the_page_is_on_it() {
    let html = render(&sample::message_rate());
    for text in [
        "endpoints&#x2f;fig03_message_rate",
        "0123456789abcdef0123456789abcdef",
        "mpisim 0.1.0",
        "<dd>18446744073709551615</dd>",
        "endpoints Fig. 3",
    ] {
        assert!(html.contains(text), "{text}");
    }
}

#[test]
fn text_from_files_cannot_become_markup() {
    let mut result = sample::message_rate();
    result.title = "<script>alert(1)</script>".into();
    result.claims[0].measured = "<b onload='x'>".into();
    result.points[0].failure = Some("</pre><script>".into());
    result.points[0].params[1].1 = "1 B".into();
    let html = render(&result);
    assert!(!html.contains("<script") && !html.contains("<b onload"));
    assert!(html.contains("&lt;script&gt;"));
}

/// The position of each text, all of which must occur in this order.
#[track_caller]
fn check_order(html: &str, texts: &[&str]) {
    let mut from = 0;
    for text in texts {
        let at = html[from..].find(text);
        from += at.unwrap_or_else(|| panic!("`{text}` is not on the page after byte {from}"));
    }
}

#[test]
fn predictions_and_inputs_stand_apart_and_deviations_are_marked() {
    let html = render(&sample::message_rate());
    check_order(
        &html,
        &[
            "<dt>predictions</dt><dd>1 of 2 hold, <span class=\"alarm\">1 deviates",
            "<dt>inputs</dt><dd>1 of 1 hold</dd>",
            "1 claim deviates",
            "<h3>Predictions</h3>",
            "✓ holds",
            "ep-fig3-monotone",
            "<tr class=\"deviates\"><td class=\"verdict\">✗ deviates",
            "0.998",
            "below 0.968",
            "<h3>Inputs",
            "ep-fig3-13x",
        ],
    );
    assert_eq!(html.matches("<tr class=\"deviates\">").count(), 1);
}

#[test]
fn assumed_numbers_come_first() {
    let html = render(&sample::message_rate());
    check_order(
        &html,
        &[
            "Assumed: 1",
            "machine.core.call",
            "From a source: 3",
            "machine.hca.wqe_time",
            "machine.core.walk",
            "machine.link.bandwidth",
        ],
    );
}

#[test]
fn each_point_names_its_busiest_resources_first() {
    let mut result = sample::message_rate();
    result.points.truncate(1);
    let template = result.points[0].resources[0].clone();
    result.points[0].resources = [100_u64, 900, 500, 300, 50, 200]
        .iter()
        .map(|&busy| ResourceUse {
            name: format!("r{busy}"),
            busy: units::TimeDelta::from_ps(busy),
            elapsed: units::TimeDelta::from_ps(1000),
            ..template.clone()
        })
        .collect();
    let polls = ResourceUse {
        name: ResourceUse::POLLING.to_owned(),
        busy: units::TimeDelta::from_ps(950),
        ..template
    };
    result.points[0]
        .resources
        .push(ResourceUse { elapsed: units::TimeDelta::from_ps(1000), ..polls });
    let row = resource_row(&result.points[0]);
    let names: Vec<&str> = row.busiest.iter().map(|busy| busy.name.as_str()).collect();
    assert_eq!(names, ["r900", "r500", "r300", "r200"], "what polls waits");
    assert_eq!(row.busiest[0].share, "90.0 %");
    assert_eq!((row.more, row.below.as_str()), (2, "10.0 %"));
}

#[test]
fn a_long_table_says_how_much_it_leaves_out() {
    let mut result = sample::message_rate();
    let points = result.points.clone();
    for round in 0..20 {
        result.points.extend(points.iter().cloned().map(|mut point| {
            point.params[0].1 = format!("{}.{round}", point.params[0].1);
            point
        }));
    }
    let html = page(&Page {
        result: &result,
        source: "",
        note: "",
        machine: "ideal",
        nodes: "2",
        ranks: "",
        to_the_digest: true,
        command: "",
        seed: 1,
        figures: &[],
        provenance: &[],
    })
    .unwrap();
    assert!(html.contains(&format!("{} more rows", result.points.len() - ROWS)));
    assert!(html.contains(&format!("{} more points are not shown", result.points.len() - ROWS)));
    assert!(html.len() < 1_000_000);
}

/// Writes the page to a folder, to be looked at.
#[test]
#[ignore = "writes files for people to look at"]
#[expect(clippy::disallowed_methods, reason = "a folder for people, not input of a simulation")]
fn write_page_for_people() {
    let folder = std::path::PathBuf::from(std::env::var("FIGURES").unwrap());
    std::fs::write(folder.join("report.html"), render(&sample::message_rate())).unwrap();
}
