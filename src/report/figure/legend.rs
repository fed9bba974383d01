//! The legend: beside the plot, so that it never covers a curve.

use std::mem::discriminant;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::marks::{
    Canvas, DrawError, INK, Look, REFERENCE, SOFT_INK, band, curve, hollow, line, spread,
};
use super::{Figure, Reference, ReferenceShape};

/// Font of all text.
pub(super) const FONT: &str = "sans-serif";
/// Size of ordinary text, in the units of the library (1.24 times the pixels).
pub(super) const TEXT: i32 = 16;
/// Pixels between two lines of text.
pub(super) const LINE: i32 = 19;
/// Pixels that a sample of a curve takes.
pub(super) const SAMPLE: i32 = 42;
/// The most characters of a line.
pub(super) const WRAP: usize = 26;

/// The most references that have an entry each; of more, those of one form and curve share one.
const MOST_REFERENCES: usize = 8;

/// The most references of one form and curve that have an entry each.
const MOST_ALIKE: usize = 4;

/// What the legend says of the references: an entry for each, or one for those of one form that
/// belong to one curve.
fn references(figure: &Figure) -> Vec<(String, &ReferenceShape)> {
    let is_other = |one: &&Reference| matches!(one.shape, ReferenceShape::Other(..));
    let many = figure.references.iter().filter(|one| !is_other(one)).count() > MOST_REFERENCES;
    let mut groups: Vec<Vec<&Reference>> = Vec::new();
    for reference in &figure.references {
        // All curves of another run share an entry.
        let alike = |group: &&mut Vec<&Reference>| {
            let (one, other) = (&group[0].shape, &reference.shape);
            let same = matches!(other, ReferenceShape::Other(..)) || one.series() == other.series();
            same && discriminant(one) == discriminant(other)
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(reference),
            None => groups.push(vec![reference]),
        }
    }
    let entries = groups.into_iter().flat_map(|group| {
        if group.len() > MOST_ALIKE || many || is_other(&group[0]) {
            return vec![(shared(&group), &group[0].shape)];
        }
        group.into_iter().map(|one| (one.label.clone(), &one.shape)).collect()
    });
    entries.collect()
}

/// The one entry of some references: how many, from which to which, and where they come from.
fn shared(group: &[&Reference]) -> String {
    let name = |one: &Reference| one.label.split(':').next().unwrap_or_default().to_owned();
    let [first, .., last] = group else {
        return group.first().map(|one| one.label.clone()).unwrap_or_default();
    };
    if matches!(first.shape, ReferenceShape::Other(..)) {
        return first.label.clone();
    }
    let same = !first.source.is_empty() && group.iter().all(|one| one.source == first.source);
    let source = if same { format!(" ({})", first.source) } else { String::new() };
    format!("{} claims, {} to {}{source}", group.len(), name(first), name(last))
}

/// The space that the legend needs: width in pixels; 0 where there is nothing to tell apart.
pub(super) fn width(figure: &Figure) -> i32 {
    let entries = figure.series.iter().filter(|series| !series.label.is_empty()).map(|s| &s.label);
    let references = references(figure);
    let labels = entries.chain(references.iter().map(|(label, _)| label));
    let longest = labels.flat_map(|label| wrap(label, WRAP)).map(|line| line.chars().count()).max();
    let Some(longest) = longest else { return 0 };
    let title = wrap(&figure.series_title, WRAP).iter().map(|line| line.chars().count()).max();
    let text = longest.max(title.unwrap_or(0).saturating_sub(5));
    SAMPLE + 24 + 7 * i32::try_from(text).unwrap_or(0)
}

/// The space that the legend needs: height in pixels.
pub(super) fn height(figure: &Figure) -> i32 {
    let lines = |label: &String| wrap(label, WRAP).len();
    let series: usize = figure.series.iter().map(|series| lines(&series.label)).sum();
    let references: usize = references(figure).iter().map(|(label, _)| lines(label)).sum();
    let titles = lines(&figure.series_title) + 2;
    LINE * i32::try_from(series + references + titles).unwrap_or(i32::MAX / LINE)
}

/// Draws the legend with its upper left corner at (`x`, `y`).
pub(super) fn draw(canvas: &Canvas<'_>, figure: &Figure, x: i32, y: i32) -> Result<(), DrawError> {
    let mut y = y;
    for title in wrap(&figure.series_title, WRAP) {
        text(canvas, &title, (x, y), SOFT_INK)?;
        y += LINE;
    }
    for (index, series) in figure.series.iter().enumerate() {
        if !series.label.is_empty() {
            let middle = y + LINE / 2;
            let path = [(x, middle), (x + 15, middle), (x + 30, middle)];
            if !figure.is_over_words() {
                line(canvas, &path, Look::of(index).colour, Look::of(index).dashes())?;
            }
            curve(canvas, &path[1..2], Look::of(index))?;
            y = label(canvas, &series.label, x, y)?;
        }
    }
    if !figure.references.is_empty() {
        y += LINE / 2;
        for title in wrap(&figure.references_title, WRAP) {
            text(canvas, &title, (x, y), SOFT_INK)?;
            y += LINE;
        }
    }
    for (words, shape) in references(figure) {
        sample(canvas, shape, x, y + LINE / 2)?;
        y = label(canvas, &words, x, y)?;
    }
    Ok(())
}

/// A small picture of a reference.
fn sample(canvas: &Canvas<'_>, shape: &ReferenceShape, x: i32, y: i32) -> Result<(), DrawError> {
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
            let colour = Look::colour_of(shape.series());
            if marks.iter().any(|mark| mark.point.range.is_some()) {
                spread(canvas, x + 15, (y + 9, y - 9), colour)?;
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
pub(in crate::report) fn wrap(text: &str, limit: usize) -> Vec<String> {
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
    let mark = |letter: &char| matches!(letter, '/' | '.' | '_' | '=' | '-');
    word[..limit].iter().rposition(mark).map_or(limit, |place| place + 1)
}

#[cfg(test)]
mod tests {
    use super::super::{Mark, Point};
    use super::*;

    fn marker(label: String, series: Option<usize>) -> Reference {
        let point = Point { x: 8.0, y: 1e6, range: None };
        let shape = ReferenceShape::Markers(vec![Mark { point, series }]);
        Reference { label, source: "Fig. 3".into(), shape }
    }

    fn with(references: Vec<Reference>) -> Figure {
        let spec = super::super::tests::rate_spec();
        Figure::from_result(&crate::report::sample::message_rate(), &spec, references).unwrap()
    }

    fn entries(figure: &Figure) -> Vec<String> {
        references(figure).into_iter().map(|(one, _)| one).collect()
    }

    #[test]
    fn many_references_share_an_entry_for_each_form_and_curve() {
        let of = |rank: usize| marker(format!("rank-{rank}: 1 us"), Some(rank % 2));
        let mut references: Vec<Reference> = (0..MOST_REFERENCES).map(of).collect();
        let few = with(references.clone());
        assert_eq!((entries(&few).len(), &*entries(&few)[0]), (MOST_REFERENCES, "rank-0: 1 us"));
        let shape = ReferenceShape::Level(1.0);
        references.insert(3, Reference { label: "cap".into(), source: String::new(), shape });
        let many = with(references);
        let (even, odd) =
            ("4 claims, rank-0 to rank-6 (Fig. 3)", "4 claims, rank-1 to rank-7 (Fig. 3)");
        assert_eq!(entries(&many), [even, odd, "cap"]);
        assert!(height(&many) < height(&few));
    }

    #[test]
    fn what_one_curve_is_expected_at_many_places_is_said_once() {
        let of = |rank: usize| marker(format!("rank-{rank}: 1 us"), Some(0));
        assert_eq!(entries(&with((0..MOST_ALIKE).map(of).collect())).len(), MOST_ALIKE);
        let more = with((0..=MOST_ALIKE).map(of).collect());
        assert_eq!(entries(&more), ["5 claims, rank-0 to rank-4 (Fig. 3)"]);
    }

    #[test]
    fn labels_are_broken_at_spaces() {
        assert_eq!(wrap("16 senders against one", 10), ["16 senders", "against", "one"]);
        assert_eq!(wrap("a_very_long_word b", 6), ["a_", "very_", "long_", "word b"]);
        assert_eq!(wrap("abcdefgh i", 6), ["abcdef", "gh i"]);
        assert_eq!(wrap("", 10), Vec::<String>::new());
    }
}
