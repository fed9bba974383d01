//! The legend: beside the plot or below it, so that it never covers a curve.

use std::mem::discriminant;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::curves::{Figure, MEASURED, Reference, ReferenceShape};
use super::hatch::Filling;
use super::marks::{
    Canvas, DrawError, INK, Looks, REFERENCE, SOFT_INK, THIN, band, curve, darker, hollow, line,
    spread, tolerance,
};

/// Font of all text; the document names the fonts that it stands for.
pub(super) const FONT: &str = "sans-serif";
/// Size of ordinary text, in the units of the library (1.24 times the 13 pixels).
pub(super) const TEXT: f64 = 16.12;
/// Pixels of a character of ordinary text.
pub(super) const LETTER: i32 = 7;
/// Pixels between two lines of text.
pub(super) const LINE: i32 = 19;
/// Pixels that a sample of a curve takes.
pub(super) const SAMPLE: i32 = 42;
/// The most characters of a line beside the plot.
pub(super) const WRAP: usize = 26;

/// The most references of one form that have an entry each.
const MOST_ALIKE: usize = 4;

/// A line of the legend, or some.
#[derive(Clone, Debug)]
pub(super) struct Item<'a> {
    pub(super) kind: Kind<'a>,
    pub(super) text: String,
}

/// The sign before the text.
#[derive(Clone, Debug)]
pub(super) enum Kind<'a> {
    /// Nothing: it is about those that follow.
    Heading,
    /// Nothing: it is about those before.
    Note,
    /// A piece of a curve.
    Curve(usize),
    /// A piece of a reference, in the colour of a curve.
    Shape(&'a ReferenceShape, Option<usize>),
    /// A piece of a bar.
    Part(Filling),
}

/// The entries of the legend of a figure; none for a single curve.
pub(super) fn items<'a>(figure: &'a Figure, notes: &[String]) -> Vec<Item<'a>> {
    let item = |kind, text: &str| Item { kind, text: text.to_owned() };
    let mut items = Vec::new();
    let is_one = matches!(&figure.series[..], [one] if one.label.is_empty());
    let title = series_title(figure);
    if !title.is_empty() && !is_one {
        items.push(item(Kind::Heading, &title));
    }
    for (index, series) in figure.series.iter().enumerate() {
        if is_one && !figure.references.is_empty() {
            items.push(item(Kind::Curve(index), SIMULATED));
        } else if !series.label.is_empty() {
            items.push(item(Kind::Curve(index), &series.label));
        }
    }
    items.extend(notes.iter().map(|note| item(Kind::Note, note)));
    let mut heading = "";
    for (text, one, series) in references(figure) {
        if one.heading != heading {
            heading = &one.heading;
            items.push(item(Kind::Heading, heading));
        }
        items.push(Item { kind: Kind::Shape(&one.shape, series), text });
    }
    items
}

/// The name of a curve beside expectations and measured curves.
const SIMULATED: &str = "simulated";

/// The title above the curves; beside measured values, that they are simulated.
fn series_title(figure: &Figure) -> String {
    let title = &figure.series_title;
    if !figure.references.iter().any(|one| one.heading == MEASURED) {
        return title.clone();
    }
    if title.is_empty() { SIMULATED.to_owned() } else { format!("{SIMULATED}, by {title}") }
}

/// An entry for references: its words, their form, and the curve to which all of them belong.
type Entry<'a> = (String, &'a Reference, Option<usize>);

/// The entries of the references: one for each, or one for those of one form and
/// source. Markers stand at their values, which need no words.
fn references(figure: &Figure) -> Vec<Entry<'_>> {
    let mut groups: Vec<Vec<&Reference>> = Vec::new();
    for reference in &figure.references {
        let alike = |group: &&mut Vec<&Reference>| {
            let first = group[0];
            let same = first.heading == reference.heading && first.source == reference.source;
            same && discriminant(&first.shape) == discriminant(&reference.shape)
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(reference),
            None => groups.push(vec![reference]),
        }
    }
    groups.iter().flat_map(|group| entries_of(group)).collect()
}

fn entries_of<'a>(group: &[&'a Reference]) -> Vec<Entry<'a>> {
    let first = group[0];
    let is_other = matches!(first.shape, ReferenceShape::Other(..));
    let are_values = matches!(first.shape, ReferenceShape::Markers(_)) && !first.id.is_empty();
    let most = match (is_other, are_values) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => MOST_ALIKE,
    };
    if group.len() <= most {
        return group.iter().map(|one| (one.label.clone(), *one, one.shape.series())).collect();
    }
    let words = if is_other {
        first.label.clone()
    } else if first.source.is_empty() {
        format!("{} claims", group.len())
    } else {
        first.source.clone()
    };
    let series = first.shape.series().filter(|_| {
        !is_other && group.iter().all(|one| one.shape.series() == first.shape.series())
    });
    vec![(words, first, series)]
}

/// The items with their places.
#[derive(Clone, Debug)]
pub(super) struct Legend<'a> {
    /// Each item, the lines of its text, and where it begins.
    places: Vec<(Item<'a>, Vec<String>, (i32, i32))>,
    /// Pixels from left to right, and from top to bottom.
    pub(super) size: (i32, i32),
}

fn letters(lines: &[String]) -> i32 {
    let most = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    i32::try_from(most).unwrap_or(0)
}

fn count(lines: &[String]) -> i32 {
    i32::try_from(lines.len()).unwrap_or(0)
}

impl<'a> Legend<'a> {
    /// One item below the other.
    pub(super) fn beside(items: Vec<Item<'a>>) -> Self {
        let (mut y, mut width, mut places) = (0, 0, Vec::new());
        for item in items {
            let indent = indent(&item.kind);
            // What has no sample before it has the room of one.
            let room = usize::try_from((SAMPLE - indent) / LETTER).unwrap_or(0);
            let lines = wrap(&item.text, WRAP + room);
            if matches!(item.kind, Kind::Heading) && y > 0 {
                y += LINE / 2;
            }
            let high = LINE * count(&lines);
            width = width.max(indent + LETTER * letters(&lines));
            places.push((item, lines, (0, y)));
            y += high;
        }
        Self { places, size: (if width > 0 { width + 24 } else { 0 }, y) }
    }

    /// Entries in as many columns as have room in `width` pixels, headings and notes on lines of
    /// their own.
    pub(super) fn below(items: Vec<Item<'a>>, width: i32) -> Self {
        let whole = usize::try_from(width / LETTER).unwrap_or(1);
        let beside = usize::try_from((width - SAMPLE) / LETTER).unwrap_or(1);
        let entries = items.iter().filter(|item| indent(&item.kind) > 0);
        let widest = entries.map(|item| letters(&wrap(&item.text, beside))).max().unwrap_or(0);
        let column = (SAMPLE + LETTER * widest + 16).min(width).max(1);
        let columns = (width / column).max(1);
        let (mut y, mut at, mut row, mut places) = (0, 0, 0, Vec::new());
        for item in items {
            let is_entry = indent(&item.kind) > 0;
            let lines = wrap(&item.text, if is_entry { beside } else { whole });
            if (!is_entry || at == columns) && at > 0 {
                (y, at, row) = (y + row, 0, 0);
            }
            let high = LINE * count(&lines);
            places.push((item, lines, (at * column, y)));
            if is_entry {
                (at, row) = (at + 1, row.max(high));
            } else {
                y += high;
            }
        }
        Self { places, size: (width, y + row) }
    }

    /// Draws it with its upper left corner at (`x`, `y`).
    pub(super) fn draw(
        &self,
        canvas: &Canvas<'_>,
        figure: Option<&Figure>,
        (x, y): (i32, i32),
    ) -> Result<(), DrawError> {
        for (item, lines, (right, down)) in &self.places {
            let (x, y) = (x + right, y + down);
            match &item.kind {
                Kind::Heading | Kind::Note => {}
                Kind::Part(filling) => {
                    filling.draw(canvas, ((x, y + 2), (x + 30, y + LINE - 3)))?;
                }
                Kind::Curve(index) => {
                    if let Some(figure) = figure {
                        piece(canvas, figure, *index, (x, y + LINE / 2))?;
                    }
                }
                Kind::Shape(shape, series) => {
                    let looks = figure.map_or(Looks::Apart, Figure::looks);
                    sample(canvas, shape, looks.colour_of(*series), (x, y + LINE / 2))?;
                }
            }
            let indent = indent(&item.kind);
            let ink = if indent > 0 { INK } else { SOFT_INK };
            for (at, line) in (0..).zip(lines) {
                text(canvas, line, (x + indent, y + LINE * at), ink)?;
            }
        }
        Ok(())
    }
}

/// Pixels before the text of an item.
fn indent(kind: &Kind<'_>) -> i32 {
    match kind {
        Kind::Heading | Kind::Note => 0,
        Kind::Curve(_) | Kind::Shape(..) | Kind::Part(_) => SAMPLE,
    }
}

/// A small picture of a curve.
fn piece(
    canvas: &Canvas<'_>,
    figure: &Figure,
    index: usize,
    (x, y): (i32, i32),
) -> Result<(), DrawError> {
    let look = figure.looks().of(index);
    if !figure.is_over_words() {
        line(canvas, &[(x, y), (x + 15, y), (x + 30, y)], look.colour, look.dashes())?;
    }
    curve(canvas, &[(x + 15, y)], look, THIN)
}

/// A small picture of a reference.
fn sample(
    canvas: &Canvas<'_>,
    shape: &ReferenceShape,
    colour: RGBColor,
    (x, y): (i32, i32),
) -> Result<(), DrawError> {
    match shape {
        ReferenceShape::Band { .. } | ReferenceShape::Onset { .. } => {
            let corners = [(x, y - 6), (x + 30, y + 6)];
            canvas.draw(&Rectangle::new(corners, REFERENCE.mix(0.25).filled()))
        }
        ReferenceShape::Level(_) | ReferenceShape::Line(_) => {
            line(canvas, &[(x, y), (x + 30, y)], REFERENCE, (6, 4))
        }
        ReferenceShape::Other(..) => band(canvas, &[(x, y), (x + 30, y)], REFERENCE),
        ReferenceShape::Markers(marks) => {
            if marks.iter().any(|mark| mark.tolerated.is_some()) {
                tolerance(canvas, x + 15, (y + 9, y - 9), colour)?;
            }
            if marks.iter().any(|mark| mark.point.range.is_some()) {
                spread(canvas, x + 15, (y + 9, y - 9), darker(colour))?;
            }
            hollow(canvas, (x + 15, y), colour)
        }
    }
}

/// Writes a wrapped label beside its sample and answers where the next entry begins.
pub(super) fn label(canvas: &Canvas<'_>, label: &str, x: i32, y: i32) -> Result<i32, DrawError> {
    let mut y = y;
    for part in wrap(label, WRAP) {
        text(canvas, &part, (x + SAMPLE, y), INK)?;
        y += LINE;
    }
    Ok(y)
}

pub(super) fn text(
    canvas: &Canvas<'_>,
    text: &str,
    (x, y): (i32, i32),
    colour: RGBColor,
) -> Result<(), DrawError> {
    let style = (FONT, TEXT).into_font().color(&colour).pos(Pos::new(HPos::Left, VPos::Center));
    canvas.draw_text(text, &style, (x, y + LINE / 2))
}

/// Breaks `text` at spaces into lines of at most `limit` characters; a longer word is cut, where it can
/// be after a mark such as `/` or `.`.
pub(crate) fn wrap(text: &str, limit: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let mut rest: Vec<char> = word.chars().collect();
        while !rest.is_empty() {
            let after = rest.split_off(cut(&rest, limit));
            match lines.last_mut() {
                Some(line) if line.chars().count() + 1 + rest.len() <= limit => {
                    line.push(' ');
                    line.extend(&rest);
                }
                _ => lines.push(rest.iter().collect()),
            }
            rest = after;
        }
    }
    lines
}

/// How many letters of a word go onto a line.
fn cut(word: &[char], limit: usize) -> usize {
    if word.len() <= limit {
        return word.len();
    }
    let mark = |letter: &char| is_mark(*letter);
    word[..limit].iter().rposition(mark).map_or(limit, |place| place + 1)
}

/// Whether a word may be broken after this letter.
pub(super) fn is_mark(letter: char) -> bool {
    matches!(letter, '/' | '.' | '_' | '=' | '-')
}

#[cfg(test)]
mod tests {
    use super::super::{EXPECTED, MEASURED, Mark, Point};
    use super::*;

    fn marker(id: String, series: Option<usize>) -> Reference {
        let point = Point { x: 8.0, y: 1e6, range: None };
        let shape = ReferenceShape::Markers(vec![Mark { point, tolerated: None, series }]);
        let (heading, label) = (EXPECTED.to_owned(), "1 us".to_owned());
        Reference { heading, id, label, source: "Fig. 3".into(), shape }
    }

    fn with(references: Vec<Reference>) -> Figure {
        let spec = super::super::tests::rate_spec();
        Figure::from_result(&crate::sample::message_rate(), &spec, references).unwrap()
    }

    fn entries(figure: &Figure) -> Vec<String> {
        references(figure).into_iter().map(|(one, ..)| one).collect()
    }

    #[test]
    fn markers_of_one_source_share_an_entry_that_names_no_id() {
        let of = |rank: usize| marker(format!("rank-{rank}"), Some(rank % 2));
        assert_eq!(entries(&with(vec![of(0)])), ["1 us"]);
        let mut claims: Vec<Reference> = (0..8).map(of).collect();
        let shape = ReferenceShape::Level(1.0);
        let label = "at most 1 us".to_owned();
        claims.insert(3, Reference { id: "cap".into(), label, shape, ..of(0) });
        let many = with(claims);
        assert_eq!(entries(&many), ["Fig. 3", "at most 1 us"]);
        assert!(Legend::beside(items(&many, &[])).size.1 < 12 * LINE);
        assert_eq!(references(&many)[0].2, None, "they are of two curves");
        assert_eq!(references(&with(vec![of(1), of(3)]))[0].2, Some(1));
    }

    #[test]
    fn what_was_measured_is_called_so_and_the_curve_simulated() {
        let measured = |label: &str| Reference {
            heading: MEASURED.to_owned(),
            label: label.to_owned(),
            id: String::new(),
            source: String::new(),
            ..marker(String::new(), None)
        };
        let texts = |figure: &Figure| -> Vec<String> {
            items(figure, &[]).into_iter().map(|item| item.text).collect()
        };
        let mut figure = with(vec![measured("a cluster"), measured("another")]);
        figure.series.truncate(1);
        let expected = ["simulated, by senders per node", "1", "measured", "a cluster", "another"];
        assert_eq!(texts(&figure), expected);
        figure.series[0].label.clear();
        assert_eq!(texts(&figure)[..2], ["simulated", "measured"]);
    }

    #[test]
    fn a_legend_below_has_as_many_columns_as_have_room() {
        let figure = with(vec![]);
        let high = |width| Legend::below(items(&figure, &[]), width).size.1;
        assert_eq!(high(440), LINE * 2, "five entries in one row below their heading");
        assert_eq!(high(150), LINE * 4, "in three rows");
        assert_eq!(high(60), LINE * 7, "the heading in two");
    }

    #[test]
    fn labels_are_broken_at_spaces() {
        assert_eq!(wrap("16 senders against one", 10), ["16 senders", "against", "one"]);
        assert_eq!(wrap("a_very_long_word b", 6), ["a_", "very_", "long_", "word b"]);
        assert_eq!(wrap("abcdefgh i", 6), ["abcdef", "gh i"]);
        assert_eq!(wrap("", 10), Vec::<String>::new());
    }
}
