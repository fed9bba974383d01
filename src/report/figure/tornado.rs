//! Tornado figures: how far each number moves a result, from its lowest to its highest value.

use plotters::chart::ChartContext;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::frame::{MARGIN, Ruler, TITLE_LINE, clean, heading};
use super::hatch::Filling;
use super::legend::{FONT, LETTER, LINE, TEXT, label, text, wrap};
use super::marks::{Canvas, DrawError, GRID, INK, PAPER, SOFT_INK};
use super::scale::{Axis, Layout, layout};
use super::svg::Document;
use crate::error::ReportError;
use crate::numbers::engineering;

/// Pixels along which changes are drawn.
const LENGTH: i32 = 560;
/// Pixels of a bar's thickness.
const THICK: i32 = 16;
/// Pixels of a row.
const ROW: i32 = 30;
/// Pixels of the axis below the bars.
const AXIS: i32 = 56;
/// The most pixels of the names beside the bars.
const WIDEST: usize = 46;

type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<Ruler, RangedCoordf64>>;

/// A figure with one bar for each number, the one that moves most on top.
#[derive(Clone, Debug, PartialEq)]
pub struct Tornado {
    /// Heading of the figure.
    pub title: String,
    /// The result whose changes the bars show.
    pub axis: Axis,
    /// The bars, from top to bottom.
    pub bars: Vec<Swing>,
}

/// One number and what its two ends do.
#[derive(Clone, Debug, PartialEq)]
pub struct Swing {
    /// The number with its range.
    pub label: String,
    /// The change at its lowest value; none where that value is refused.
    pub low: Option<f64>,
    /// The change at its highest value.
    pub high: Option<f64>,
}

impl Tornado {
    /// Draws the figure as an SVG document.
    ///
    /// # Errors
    ///
    /// [`ReportError::NothingToDraw`] without a bar, [`ReportError::NotDrawable`] where a change is
    /// not finite.
    pub fn to_svg(&self) -> Result<String, ReportError> {
        let ends = self.bars.iter().flat_map(|bar| [bar.low, bar.high]).flatten();
        let ends: Vec<f64> = ends.collect();
        if ends.is_empty() {
            return Err(ReportError::NothingToDraw { metric: self.axis.title() });
        }
        let with_zero: Vec<f64> = ends.into_iter().chain([0.0]).collect();
        let axis = layout(&self.axis, &with_zero, 0.05)?;
        let mut svg = String::new();
        self.paint(&axis, &mut svg).map_err(|why| ReportError::writer("SVG", why))?;
        let description = tornado_sentence(self);
        Ok(Document { title: &self.title, description: &description, width: None }.finish(&svg))
    }

    fn paint(&self, axis: &Layout, svg: &mut String) -> Result<(), DrawError> {
        let title = wrap(&clean(&self.title), 80);
        let labels: Vec<String> = self.bars.iter().map(|bar| shortened(&bar.label)).collect();
        let widest = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
        let names = LETTER * i32::try_from(widest).unwrap_or(0) + MARGIN + 18;
        let top = MARGIN + TITLE_LINE * i32::try_from(title.len()).unwrap_or(1) + LINE + 8;
        let rows = ROW * i32::try_from(labels.len()).unwrap_or(0);
        let size = (names + LENGTH + 2 * MARGIN, top + rows + AXIS + MARGIN);
        let size = (size.0.unsigned_abs(), size.1.unsigned_abs());
        let canvas = SVGBackend::with_string(svg, size).into_drawing_area();
        canvas.fill(&PAPER)?;
        heading(&canvas, &title)?;
        legend(&canvas, names, top - LINE - 8)?;
        let area = canvas
            .clone()
            .shrink((names, top), (LENGTH.unsigned_abs(), (rows + AXIS).unsigned_abs()));
        let chart = self.chart(&area, axis, rows)?;
        let place = |value: f64| chart.plotting_area().map_coordinate(&(value, 0.0)).0;
        for (row, (bar, label)) in (0..).zip(self.bars.iter().zip(&labels)) {
            let middle = top + ROW * row + ROW / 2;
            let style = (FONT, TEXT).into_font().color(&INK);
            let right = style.pos(Pos::new(HPos::Right, VPos::Center));
            canvas.draw_text(label, &right, (names - 10, middle))?;
            for (index, end) in [bar.low, bar.high].into_iter().enumerate() {
                let Some(value) = end else { continue };
                let (from, to) = (place(value.min(0.0)), place(value.max(0.0)));
                // Two ends on one side would hide each other: each has its half of the bar.
                let (up, down) = if index == 0 { (THICK / 2, 0) } else { (0, THICK / 2) };
                let corners = ((from, middle - up), (to.max(from + 1), middle + down));
                Filling::of(index).draw(&canvas, corners)?;
            }
        }
        let zero = place(0.0);
        canvas.draw(&PathElement::new(vec![(zero, top), (zero, top + rows)], SOFT_INK))?;
        canvas.present()
    }

    /// The axis below the bars and the grid behind them.
    fn chart<'c>(
        &self,
        area: &Canvas<'c>,
        axis: &Layout,
        rows: i32,
    ) -> Result<Chart<'c>, DrawError> {
        let ruler = Ruler { layout: axis.clone(), axis: self.axis.clone() };
        let mut chart = ChartBuilder::on(area)
            .x_label_area_size(AXIS - 8)
            .margin_bottom(8)
            .build_cartesian_2d(ruler, 0.0..f64::from(rows))?;
        let style = (FONT, TEXT).into_font().color(&INK);
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .bold_line_style(GRID)
            .light_line_style(PAPER)
            .axis_style(INK)
            .label_style(style.clone())
            .axis_desc_style(style)
            .x_desc(clean(&self.axis.title()))
            .set_all_tick_mark_size(4)
            .draw()?;
        Ok(chart)
    }
}

/// Which half of a bar is which end, in one line above the bars.
fn legend(canvas: &Canvas<'_>, x: i32, y: i32) -> Result<(), DrawError> {
    text(canvas, "each number at its", (x - LETTER * 20, y), SOFT_INK)?;
    for (index, (name, at)) in [("lowest", x), ("highest", x + 120)].into_iter().enumerate() {
        Filling::of(index).draw(canvas, ((at, y + 2), (at + 30, y + LINE - 3)))?;
        label(canvas, name, at, y)?;
    }
    Ok(())
}

fn shortened(label: &str) -> String {
    let label = clean(label);
    if label.chars().count() <= WIDEST {
        return label;
    }
    label.chars().take(WIDEST - 1).chain(['…']).collect()
}

/// The number that moves most, in a sentence.
fn tornado_sentence(tornado: &Tornado) -> String {
    let Some(Swing { label, low, high }) = tornado.bars.first() else { return String::new() };
    let end = |end: &Option<f64>| end.map_or_else(|| "refused".to_owned(), engineering);
    let unit = &tornado.axis.unit;
    let count = tornado.bars.len();
    format!("Of {count} numbers, {label} moves most: {} to {} {unit}.", end(low), end(high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Scale;

    fn tornado(bars: &[(f64, f64)]) -> Tornado {
        let swing = |&(low, high): &(f64, f64)| Swing {
            label: "mpi.step_send 39 ns to 65 ns".into(),
            low: Some(low),
            high: Some(high),
        };
        Tornado {
            title: "What moves the latency".into(),
            axis: Axis {
                label: "change of latency".into(),
                unit: "%".into(),
                scale: Scale::Linear,
            },
            bars: bars.iter().map(swing).collect(),
        }
    }

    #[test]
    fn a_bar_is_as_long_as_its_change() {
        let svg = tornado(&[(-10.0, 20.0), (-1.0, 2.0)]).to_svg().unwrap();
        let wide: Vec<f64> = svg
            .split("<rect")
            .filter(|part| part.contains("height=\"8\""))
            .filter_map(|part| part.split("width=\"").nth(1)?.split('"').next()?.parse().ok())
            .collect();
        assert!(wide.len() >= 4, "{svg}");
        // Each rectangle twice: filled, and its outline.
        assert!((wide[2] / wide[0] - 2.0).abs() < 0.05, "{wide:?}");
        assert!((wide[0] / wide[4] - 10.0).abs() < 1.0, "{wide:?}");
    }

    #[test]
    fn nothing_and_no_numbers_are_refused() {
        assert!(tornado(&[]).to_svg().is_err());
        assert!(tornado(&[(f64::NAN, 1.0)]).to_svg().is_err());
    }
}
