//! Message-sequence figures: one lifeline for each rank, arrows between them, copies as bars.
//!
//! Time runs down. It is not to scale: ten times as long is a little farther, so that a control packet
//! and a transfer of a megabyte fit one picture; moments keep their order, and stand beside it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

pub use super::error::{MOST_ARROWS, NotDrawn};
use super::figure::wrap;
use experiment::results::{Arrow, Lasting, Sequence};
use units::{Bytes, TimeDelta};

/// The least time of a bar, as a part of the whole: shorter ones are left out.
const LEAST_BAR: u64 = 200;

const LEFT: i32 = 110;
const RIGHT: i32 = 60;
const HEAD: i32 = 84;
const FOOT: i32 = 46;
const BAR: i32 = 12;
/// How far the arrow of a rank to itself reaches out.
const LOOP: i32 = 34;
/// From the sample of a colour to its words in the legend.
const SAMPLE: i32 = 24;
/// Between two rows of the legend.
const ROW: i32 = 18;
/// Pixels of a letter of the title.
const LETTER: i32 = 8;
const COLOURS: [(&str, &str); 7] = [
    ("copy", "#E69F00"),
    ("packing", "#D55E00"),
    ("library code", "#009E73"),
    ("buffer registration", "#56B4E9"),
    ("outside MPI", "#C8C8C8"),
    ("kernel entry", "#F0E442"),
    ("page pinning", "#CC79A7"),
];
const DMA: &str = "#0072B2";
const INK: &str = "#222222";
const SOFT: &str = "#555555";

/// Where moments stand.
struct Page<'a> {
    sequence: &'a Sequence,
    bars: Vec<&'a Lasting>,
    places: BTreeMap<u64, i32>,
    column: i32,
}

/// The picture as an SVG document.
///
/// # Errors
///
/// [`NotDrawn`] without messages, or with too many.
pub fn sequence_svg(sequence: &Sequence) -> Result<String, NotDrawn> {
    match sequence.arrows.len() {
        0 => return Err(NotDrawn::Nothing),
        1..=MOST_ARROWS => {}
        more => return Err(NotDrawn::TooMany(more)),
    }
    Ok(Page::new(sequence).draw())
}

impl<'a> Page<'a> {
    fn new(sequence: &'a Sequence) -> Self {
        let ends = sequence.arrows.iter().map(|arrow| arrow.came_ps);
        let last = ends.chain(sequence.bars.iter().map(|bar| bar.to_ps)).max().unwrap_or(0);
        let long = |bar: &&Lasting| bar.to_ps - bar.from_ps >= last / LEAST_BAR;
        let bars: Vec<&Lasting> = sequence.bars.iter().filter(long).collect();
        let arrows = sequence.arrows.iter().flat_map(|arrow| [arrow.left_ps, arrow.came_ps]);
        let mut times: Vec<u64> =
            arrows.chain(bars.iter().flat_map(|bar| [bar.from_ps, bar.to_ps])).collect();
        times.sort_unstable();
        times.dedup();
        let mut places = BTreeMap::new();
        let mut y = HEAD;
        let mut before = None;
        for time in times {
            y += before.map_or(16, |before| distance(time - before));
            places.insert(time, y);
            before = Some(time);
        }
        let column = match sequence.ranks {
            0..=2 => 420,
            3 | 4 => 240,
            _ => 150,
        };
        Self { sequence, bars, places, column }
    }

    fn x(&self, rank: u32) -> i32 {
        LEFT + 40 + self.column * i32::try_from(rank).expect("a few ranks")
    }

    fn y(&self, time: u64) -> i32 {
        self.places[&time]
    }

    fn draw(&self) -> String {
        let width = self.x(self.sequence.ranks.saturating_sub(1)) + RIGHT + 40;
        let foot = self.places.values().copied().max().unwrap_or(HEAD) + 20;
        let legend = rows(&self.legend(), width - LEFT);
        let height = foot + FOOT + ROW * i32::try_from(legend.len() - 1).expect("a few rows");
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
             <title>{title}</title>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#FFFFFF\"/>\n",
            title = escaped(&self.sequence.title),
        );
        self.title(&mut svg, width);
        self.times(&mut svg, width);
        for rank in 0..self.sequence.ranks {
            let x = self.x(rank);
            let _ = writeln!(
                svg,
                "<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\" fill=\"{INK}\">rank {rank}</text>\n\
                 <line x1=\"{x}\" y1=\"{}\" x2=\"{x}\" y2=\"{foot}\" stroke=\"{INK}\"/>",
                HEAD - 22,
                HEAD - 14
            );
        }
        for bar in &self.bars {
            self.bar(bar, &mut svg);
        }
        for arrow in &self.sequence.arrows {
            self.arrow(arrow, &mut svg);
        }
        let mut taken = Vec::new();
        for arrow in &self.sequence.arrows {
            self.label(arrow, &mut taken, &mut svg);
        }
        let mut y = foot + 28;
        for row in &legend {
            explain(row, y, &mut svg);
            y += ROW;
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// The title, in as many lines as have room above the ranks.
    fn title(&self, svg: &mut String, width: i32) {
        let letters = usize::try_from(width / LETTER - 4).expect("a wide page");
        for (y, line) in [20, 40].into_iter().zip(wrap(&self.sequence.title, letters)) {
            let _ = writeln!(
                svg,
                "<text x=\"{}\" y=\"{y}\" font-size=\"15\" text-anchor=\"middle\" fill=\"{INK}\">\
                 {}</text>",
                width / 2,
                escaped(&line)
            );
        }
    }

    /// Moments at the left edge, where there is room for them; none reads as the one above.
    fn times(&self, svg: &mut String, width: i32) {
        let mut free = i32::MIN;
        let mut above = String::new();
        for (&time, &y) in &self.places {
            if y < free {
                continue;
            }
            free = y + 13;
            let text = (4..=DIGITS).map(|digits| short(time, digits)).find(|text| *text != above);
            above = text.expect("moments differ in some digit");
            let _ = writeln!(
                svg,
                "<text x=\"{}\" y=\"{}\" font-size=\"11\" text-anchor=\"end\" fill=\"{SOFT}\">\
                 {}</text>\n<line x1=\"{LEFT}\" y1=\"{y}\" x2=\"{}\" y2=\"{y}\" stroke=\"#F0F0F0\"/>",
                LEFT - 8,
                y + 4,
                above,
                width - 20
            );
        }
    }

    fn bar(&self, bar: &Lasting, svg: &mut String) {
        let colour = COLOURS.iter().find(|(name, _)| *name == bar.name).map_or(INK, |(_, c)| c);
        let (top, end) = (self.y(bar.from_ps), self.y(bar.to_ps));
        let _ = writeln!(
            svg,
            "<rect x=\"{}\" y=\"{top}\" width=\"{BAR}\" height=\"{}\" fill=\"{colour}\" \
             stroke=\"{INK}\" stroke-width=\"0.6\"/>",
            self.x(bar.rank) - BAR / 2,
            end - top
        );
    }

    fn arrow(&self, arrow: &Arrow, svg: &mut String) {
        let (x, y) = (self.x(arrow.from), self.y(arrow.left_ps));
        let (to_x, to_y) = (self.x(arrow.to), self.y(arrow.came_ps));
        if x == to_x {
            let out = x + LOOP;
            let _ = writeln!(
                svg,
                "<path d=\"M{x} {y} C{out} {y} {out} {to_y} {x} {to_y}\" fill=\"none\" \
                 stroke=\"{INK}\"/>"
            );
            return head(svg, (x + 12, to_y - 3), (x, to_y), INK);
        }
        let colour = if arrow.dma { DMA } else { INK };
        if arrow.dma {
            let _ = writeln!(
                svg,
                "<line x1=\"{x}\" y1=\"{y}\" x2=\"{to_x}\" y2=\"{to_y}\" stroke=\"{DMA}\" \
                 stroke-width=\"9\" stroke-opacity=\"0.3\"/>"
            );
        }
        let _ = writeln!(
            svg,
            "<line x1=\"{x}\" y1=\"{y}\" x2=\"{to_x}\" y2=\"{to_y}\" stroke=\"{colour}\"/>"
        );
        head(svg, (x, y), (to_x, to_y), colour);
    }

    /// Writes the text of an arrow beside it where no label stands yet: first near its beginning,
    /// so that those of packets that cross each other stay apart.
    fn label(&self, arrow: &Arrow, taken: &mut Vec<Area>, svg: &mut String) {
        let (x, y) = (self.x(arrow.from), self.y(arrow.left_ps));
        let (to_x, to_y) = (self.x(arrow.to), self.y(arrow.came_ps));
        let text = said(arrow);
        let half = 4 * i32::try_from(text.chars().count()).expect("a short label");
        // Also the end of the text that the arrow rises towards stands above it.
        let rises = (to_y - y) * half / (to_x - x).abs().max(half);
        let up = rises + if arrow.dma { 9 } else { 5 };
        let place = |tenths: i32| {
            if x == to_x {
                return (x + LOOP - 6 + half, i32::midpoint(y, to_y) + 4 * (tenths - 2));
            }
            (x + (to_x - x) * tenths / 10, y + (to_y - y) * tenths / 10 - up)
        };
        let area = |(x, y): (i32, i32)| (x - half, y - 11, x + half, y + 2);
        let is_free = |at: &(i32, i32)| taken.iter().all(|other| !overlap(area(*at), *other));
        let at = [3, 5, 7, 4, 6, 2, 8].map(place).into_iter().find(is_free).unwrap_or(place(3));
        taken.push(area(at));
        let colour = if arrow.dma { DMA } else { INK };
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" font-size=\"12\" text-anchor=\"middle\" fill=\"{colour}\" \
             stroke=\"#FFFFFF\" stroke-width=\"3\" paint-order=\"stroke\">{}</text>",
            at.0,
            at.1,
            escaped(&text)
        );
    }

    /// The meaning of the colours.
    fn legend(&self) -> Vec<Entry> {
        let used = |name: &str| self.bars.iter().any(|bar| bar.name == name);
        let dma = self.sequence.arrows.iter().any(|arrow| arrow.dma);
        let bars = COLOURS.iter().filter(|(name, _)| used(name)).map(|&(name, colour)| {
            (if name == "copy" { "copy by the core" } else { name }, Some((colour, "1")))
        });
        let dma = dma.then_some(("DMA", Some((DMA, "0.3"))));
        bars.chain(dma).chain([("time is not to scale", None)]).collect()
    }
}

/// An entry of the legend: its words, and colour and opacity of its sample where it has one.
type Entry = (&'static str, Option<(&'static str, &'static str)>);

/// How much of a row an entry takes.
fn entry_width((name, sample): &Entry) -> i32 {
    let words = 7 * i32::try_from(name.len()).expect("a short name");
    if sample.is_some() { SAMPLE + words + 20 } else { words }
}

/// The entries in rows of this width.
fn rows(entries: &[Entry], width: i32) -> Vec<Vec<Entry>> {
    let mut rows = vec![Vec::new()];
    let mut free = width;
    for entry in entries {
        let wide = entry_width(entry);
        if wide > free {
            rows.push(Vec::new());
            free = width;
        }
        rows.last_mut().expect("there is a first row").push(*entry);
        free -= wide;
    }
    rows
}

/// One row of the legend.
fn explain(row: &[Entry], y: i32, svg: &mut String) {
    let mut x = LEFT;
    for entry in row {
        let (name, sample) = entry;
        if let Some((colour, opacity)) = sample {
            let _ = writeln!(
                svg,
                "<rect x=\"{x}\" y=\"{}\" width=\"18\" height=\"10\" fill=\"{colour}\" \
                 fill-opacity=\"{opacity}\"/>",
                y - 9
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{y}\" font-size=\"12\" fill=\"{SOFT}\">{name}</text>",
            if sample.is_some() { x + SAMPLE } else { x }
        );
        x += entry_width(entry);
    }
}

/// A rectangle: left, top, right, bottom.
type Area = (i32, i32, i32, i32);

const fn overlap(one: Area, other: Area) -> bool {
    one.0 < other.2 && other.0 < one.2 && one.1 < other.3 && other.1 < one.3
}

/// The text beside an arrow: bytes follow the word that moves them.
fn said(arrow: &Arrow) -> String {
    if !arrow.dma {
        return arrow.label.clone();
    }
    let bytes = Bytes::new(arrow.bytes);
    match arrow.label.split_once(", ") {
        Some((moved, with)) => format!("{moved} {bytes}, {with}"),
        None => format!("{} {bytes}", arrow.label),
    }
}

/// Pixels between two moments: 9 more for each ten times as long.
fn distance(ps: u64) -> i32 {
    let decades = i32::try_from(ps.max(1).ilog10()).expect("at most 19");
    // Times below 10 ns have no room of their own.
    if decades < 4 { 3 } else { 10 + 11 * (decades - 4) }
}

/// The digits of the largest moment.
const DIGITS: u32 = u64::MAX.ilog10() + 1;

/// A moment with so many digits or fewer.
fn short(ps: u64, digits: u32) -> String {
    let cut = 10_u64.pow((ps.max(1).ilog10() + 1).saturating_sub(digits));
    TimeDelta::from_ps(ps / cut * cut).to_string()
}

/// The head of an arrow.
fn head(svg: &mut String, from: (i32, i32), to: (i32, i32), colour: &str) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = i32::try_from((dx * dx + dy * dy).unsigned_abs().isqrt().max(1)).unwrap_or(1);
    let at = |along: i32, aside: i32| {
        let x = to.0 - (dx * along + dy * aside) / length;
        let y = to.1 - (dy * along - dx * aside) / length;
        format!("{x},{y}")
    };
    let (tip, one, other) = (at(0, 0), at(11, 4), at(11, -4));
    let _ = writeln!(svg, "<polygon points=\"{tip} {one} {other}\" fill=\"{colour}\"/>");
}

fn escaped(text: &str) -> String {
    let text = form::diagnostic::escaped(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrow(label: &str, left_ps: u64, came_ps: u64, dma: bool) -> Arrow {
        let label = label.to_owned();
        Arrow { from: 0, to: 1, label, bytes: 1 << 20, left_ps, came_ps, dma }
    }

    fn sequence(arrows: Vec<Arrow>) -> Sequence {
        let bars = vec![Lasting { rank: 1, name: "copy", from_ps: 3_000_000, to_ps: 4_000_000 }];
        Sequence { title: "a < b".to_owned(), ranks: 2, arrows, bars }
    }

    #[test]
    fn lifelines_arrows_bars_and_moments_are_drawn() {
        let arrows = vec![
            arrow("RTS", 1_000_000, 2_000_000, false),
            arrow("write", 2_500_000, 90_000_000, true),
        ];
        let svg = sequence_svg(&sequence(arrows)).unwrap();
        for part in
            ["rank 0", "rank 1", ">RTS<", "write 1 MiB", "a &lt; b", "#E69F00", "90 us", "DMA"]
        {
            assert!(svg.contains(part), "{part} in {svg}");
        }
        assert_eq!(svg.matches("<polygon").count(), 2);
        let later = distance(87_000_000) > distance(500_000) && distance(500_000) > distance(5);
        assert!(later, "longer is farther");
    }

    /// Where the labels of a picture stand.
    fn labels(svg: &str) -> Vec<(String, i32, i32)> {
        let number = |line: &str, name: &str| {
            let (_, rest) = line.split_once(&format!(" {name}=\"")).unwrap();
            rest.split('"').next().unwrap().parse().unwrap()
        };
        let text = |line: &str| line.split(['>', '<']).nth(2).unwrap().to_owned();
        let lines = svg.lines().filter(|line| line.contains("paint-order"));
        lines.map(|line| (text(line), number(line, "x"), number(line, "y"))).collect()
    }

    #[test]
    fn labels_of_arrows_side_by_side_do_not_cover_each_other() {
        let both = || arrow("data", 1_000_000, 2_000_000, true);
        let svg = sequence_svg(&sequence(vec![both(), both(), both()])).unwrap();
        let labels = labels(&svg);
        assert_eq!(labels.len(), 3);
        for (at, (text, x, y)) in labels.iter().enumerate() {
            let wide = 8 * i32::try_from(text.len()).unwrap();
            let apart =
                |(_, a, b): &(String, i32, i32)| (a - x).abs() >= wide || (b - y).abs() >= 13;
            assert!(labels[..at].iter().all(apart), "{labels:?}");
        }
    }

    #[test]
    fn moments_that_follow_each_other_read_differently_and_the_legend_stays_inside() {
        let arrows = vec![
            arrow("FIN", 100_000_000, 101_611_000, false),
            arrow("FIN", 101_640_000, 101_655_000, false),
        ];
        let bar = |(name, _)| Lasting { rank: 0, name, from_ps: 10_000_000, to_ps: 19_000_000 };
        let bars = COLOURS.map(bar).to_vec();
        let full = Sequence { bars, ..sequence(arrows) };
        let svg = sequence_svg(&full).unwrap();
        let moments: Vec<&str> = svg.lines().filter(|line| line.ends_with(" us</text>")).collect();
        let texts: Vec<&str> = moments.iter().map(|line| line.split('>').nth(1).unwrap()).collect();
        assert!(texts.windows(2).all(|pair| pair[0] != pair[1]), "{texts:?}");
        let width = svg.split("width=\"").nth(1).unwrap().split('"').next().unwrap();
        let width: i32 = width.parse().unwrap();
        for row in rows(&Page::new(&full).legend(), width - LEFT) {
            assert!(LEFT + row.iter().map(entry_width).sum::<i32>() <= width, "{row:?}");
        }
    }

    #[test]
    fn bytes_belong_to_the_word_that_moves_them() {
        let svg = sequence_svg(&sequence(vec![arrow("write, FIN", 1_000_000, 2_000_000, true)]));
        assert_eq!(labels(&svg.unwrap())[0].0, "write 1 MiB, FIN");
    }

    #[test]
    fn too_much_is_refused_with_its_number() {
        let many = vec![arrow("RTS", 1, 2, false); MOST_ARROWS + 1];
        assert_eq!(sequence_svg(&sequence(many)), Err(NotDrawn::TooMany(MOST_ARROWS + 1)));
        assert_eq!(sequence_svg(&sequence(Vec::new())), Err(NotDrawn::Nothing));
    }
}
