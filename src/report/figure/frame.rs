//! What every drawing has: margins, a title, axes as the library asks for them.

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::legend::FONT;
use super::marks::{Canvas, DrawError, INK};
use super::scale::{Axis, Layout};
use super::ticks::tick_text;

/// Size of a title, in the units of the library (1.24 times the 16 pixels).
const TITLE: f64 = 19.84;
/// Pixels of a line of the title.
pub(super) const TITLE_LINE: i32 = 26;
/// Pixels kept free at the edges.
pub(super) const MARGIN: i32 = 12;

/// An axis as the library asks for it: places become pixels, ticks become text.
#[derive(Clone)]
pub(super) struct Ruler {
    pub(super) layout: Layout,
    pub(super) axis: Axis,
}

impl Ranged for Ruler {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    #[expect(clippy::cast_possible_truncation, reason = "a pixel of a small picture")]
    fn map(&self, place: &f64, (from, to): (i32, i32)) -> i32 {
        let share = (place - self.layout.low) / (self.layout.high - self.layout.low);
        from + (share * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        let light = hint.weight().allow_light_points();
        if light { self.layout.light.clone() } else { self.layout.ticks.clone() }
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.layout.low..self.layout.high
    }
}

impl ValueFormatter<f64> for Ruler {
    fn format_ext(&self, place: &f64) -> String {
        tick_text(&self.axis, &self.layout, *place)
    }
}

/// The lines of the title.
pub(super) fn heading(canvas: &Canvas<'_>, title: &[String]) -> Result<(), DrawError> {
    let style = (FONT, TITLE).into_font().color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
    let mut lines = (0..).zip(title);
    lines.try_for_each(|(at, line)| {
        canvas.draw_text(line, &style, (MARGIN + 8, MARGIN + TITLE_LINE / 2 + TITLE_LINE * at))
    })
}

/// Control characters are not allowed in SVG.
pub(super) fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
