//! Parts of an SVG document that the drawing library leaves out: a title and a description for
//! screen readers, the fonts, and a size on paper.

use experiment::claim::figures::Width;

/// Fonts of one width, the first of which is nearly everywhere: lines are as long as planned.
const FONTS: &str = "Arial, Helvetica, Liberation Sans, Nimbus Sans, sans-serif";

/// Pixels across a column: its ordinary text of 13 pixels is 7.1 pt high on paper.
const COLUMN: i32 = 440;

/// Pixels across a printed figure.
pub(super) const fn pixels(width: Width) -> i32 {
    match width {
        Width::Column => COLUMN,
        Width::Page => 2 * COLUMN,
    }
}

/// Title and description of a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Document<'a> {
    pub(super) title: &'a str,
    /// A sentence about the data.
    pub(super) description: &'a str,
    pub(super) width: Option<Width>,
}

impl Document<'_> {
    /// The document with all of it.
    pub(super) fn finish(&self, drawn: &str) -> String {
        let (head, body) = drawn.split_once(">\n").unwrap_or((drawn, ""));
        let (title, description) = (escaped(self.title), escaped(self.description));
        let head = self.width.map_or_else(|| head.to_owned(), |width| sized(head, width));
        let body = body.replace(&format!(" font-family=\"{}\"", super::legend::FONT), "");
        let body = rounded_sizes(&body);
        let description = if description.is_empty() {
            description
        } else {
            format!("<desc>{description}</desc>\n")
        };
        format!(
            "{head} font-family=\"{FONTS}\" role=\"img\">\n<title>{title}</title>\n{description}{body}"
        )
    }
}

/// The first tag with its size on paper, in place of that in pixels.
fn sized(head: &str, width: Width) -> String {
    let Some((before, view)) = head.split_once(" viewBox=\"") else { return head.to_owned() };
    let numbers = view.split(['"', ' ']).filter_map(|word| word.parse::<f64>().ok());
    let numbers: Vec<f64> = numbers.take(4).collect();
    let ([_, _, across, down], Some((name, _))) = (&numbers[..], before.split_once(' ')) else {
        return head.to_owned();
    };
    let mm = f64::from(width.millimetres());
    format!("{name} width=\"{mm}mm\" height=\"{:.1}mm\" viewBox=\"{view}", mm * down / across)
}

/// Sizes of text in whole pixels, as they were meant: the library divides by 1.24.
fn rounded_sizes(body: &str) -> String {
    let mut parts = body.split(" font-size=\"");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (size, rest) = part.split_once('"').unwrap_or((part, ""));
        let size = size.parse().map_or_else(|_| size.to_owned(), |size: f64| format!("{size:.0}"));
        for text in [" font-size=\"", &size, "\"", rest] {
            out.push_str(text);
        }
    }
    out
}

/// Text without markup and control characters.
fn escaped(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWN: &str = "<svg width=\"440\" height=\"300\" viewBox=\"0 0 440 300\" xmlns=\"x\">\n\
        <text font-family=\"sans-serif\" font-size=\"12.999999\" opacity=\"1\">\na\n</text>\n</svg>";

    #[test]
    fn a_document_says_what_it_shows_and_in_which_font() {
        let text =
            Document { title: "a <b>", description: "It \u{7}rises.", width: None }.finish(DRAWN);
        let head = format!(
            "<svg width=\"440\" height=\"300\" viewBox=\"0 0 440 300\" xmlns=\"x\" \
             font-family=\"{FONTS}\" role=\"img\">\n<title>a &lt;b&gt;</title>\n\
             <desc>It  rises.</desc>\n<text font-size=\"13\" opacity=\"1\">"
        );
        assert!(text.starts_with(&head), "{text}");
    }

    #[test]
    fn a_column_is_85_mm_wide_and_its_text_7_pt_high() {
        let document = Document { title: "", description: "", width: Some(Width::Column) };
        let text = document.finish(DRAWN);
        assert!(text.starts_with("<svg width=\"85mm\" height=\"58.0mm\" viewBox"), "{text}");
        for width in [Width::Column, Width::Page] {
            let points = 13.0 * f64::from(width.millimetres()) / f64::from(pixels(width)) / 25.4;
            assert!(points * 72.0 >= 7.0);
        }
    }
}
