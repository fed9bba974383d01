//! Drawing stacked bars, lying: long names stand beside them, and lengths are compared along one
//! line. A part that is zero is left out of its bar, but never of the legend.

use plotters::chart::ChartContext;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::frame::{MARGIN, Ruler, TITLE_LINE, clean, heading};
use super::hatch::{Corners, Filling, fillings};
use super::legend::{FONT, Item, Kind, LETTER, LINE, Legend, TEXT, WRAP, text, wrap};
use super::marks::{Canvas, DrawError, GRID, INK, PAPER, Pixel, SOFT_INK};
use super::page::RIGHT;
use super::scale::{Layout, layout};
use super::stack::{Bar, Stack};
use super::svg::{Document, pixels};
use super::telling::stack_sentence;
use super::ticks::tick_text;
use crate::error::ReportError;
use crate::numbers::engineering;
use experiment::claim::figures::Width;

/// Pixels along which lengths are drawn, with room for the totals.
const LENGTH: i32 = 620;
/// Pixels of a bar's thickness.
const THICK: i32 = 28;
/// Pixels of a row with one bar; more lines of its label need more.
const ROW: i32 = 46;
/// Pixels of the axis below the bars, with its title.
const AXIS: i32 = 56;
/// The most characters of a line of the note.
const NOTE_WRAP: usize = 112;
/// The most characters of a line of a name, in a column of a page.
const NARROW: usize = 16;

type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<Ruler, RangedCoordf64>>;

impl Stack {
    /// Draws the figure as an SVG document, for a screen.
    ///
    /// # Errors
    ///
    /// As [`Stack::printed`].
    pub fn to_svg(&self) -> Result<String, ReportError> {
        self.printed(None)
    }

    /// The same in a width of a printed page, where one is requested: without the title, which is
    /// the caption's.
    ///
    /// # Errors
    ///
    /// [`ReportError::NotDrawable`] where some values are not finite,
    /// [`ReportError::Negative`] where a part is below zero: it has no length.
    pub fn printed(&self, width: Option<Width>) -> Result<String, ReportError> {
        svg(self, width)
    }
}

/// The figure as an SVG document.
fn svg(stack: &Stack, width: Option<Width>) -> Result<String, ReportError> {
    check(stack)?;
    let page = Page::new(stack, width);
    let totals: Vec<f64> = stack.bars.iter().map(Bar::total).chain([0.0]).collect();
    let longest = stack.bars.iter().map(|bar| chars(&total_text(stack, bar))).max().unwrap_or(0);
    let room = (LETTER * longest + 20).min(page.length / 2);
    let axis = layout(&stack.axis, &totals, f64::from(room) / f64::from(page.length - room))?;
    let needs = |tick| LETTER * (chars(&tick_text(&stack.axis, &axis, tick)) + 1);
    let axis = axis.clone().thinned(page.length, needs);
    let mut svg = String::new();
    page.paint(&axis, &mut svg).map_err(|why| ReportError::writer("SVG", why))?;
    Ok(Document { title: &stack.title, description: &stack_sentence(stack), width }.finish(&svg))
}

/// Refuses values without a length.
fn check(stack: &Stack) -> Result<(), ReportError> {
    let all = || stack.bars.iter().flat_map(|bar| &bar.values).copied();
    let axis = stack.axis.title();
    let (of, bad) = (all().count(), all().filter(|value| !value.is_finite()).count());
    if of == 0 {
        return Err(ReportError::NothingToDraw { metric: axis });
    }
    if bad > 0 {
        return Err(ReportError::NotDrawable { axis, count: bad, of });
    }
    match all().find(|value| *value < 0.0) {
        Some(first) => Err(ReportError::Negative { axis, first }),
        None => Ok(()),
    }
}

/// The text at the end of a bar.
fn total_text(stack: &Stack, bar: &Bar) -> String {
    let total = engineering(bar.total());
    if stack.axis.unit.is_empty() { total } else { format!("{total} {}", stack.axis.unit) }
}

fn chars(text: &str) -> i32 {
    i32::try_from(text.chars().count()).unwrap_or(i32::MAX / 100)
}

fn count<T>(list: &[T]) -> i32 {
    i32::try_from(list.len()).unwrap_or(i32::MAX / 100)
}

/// The widest of some lines, in pixels.
fn widest(lines: impl Iterator<Item = String>) -> i32 {
    lines.map(|line| LETTER * chars(&line)).max().unwrap_or(0)
}

/// The figure with its places.
struct Page<'a> {
    stack: &'a Stack,
    title: Vec<String>,
    note: Vec<String>,
    labels: Vec<Vec<String>>,
    /// How each part looks.
    fillings: Vec<Filling>,
    legend: Legend<'a>,
    /// The left upper corner of the legend.
    legend_at: Pixel,
    /// Pixels of the names beside the bars.
    names: i32,
    /// Pixels along which lengths are drawn.
    length: i32,
    /// Pixels of one row.
    row: i32,
    /// Where the rows begin.
    top: i32,
    size: Pixel,
}

impl<'a> Page<'a> {
    fn new(stack: &'a Stack, width: Option<Width>) -> Self {
        let wrap_names = if width == Some(Width::Column) { NARROW } else { WRAP };
        let label = |bar: &Bar| wrap(&clean(&bar.label), wrap_names);
        let labels: Vec<_> = stack.bars.iter().map(label).collect();
        let lines = labels.iter().map(|label| count(label)).max().unwrap_or(1);
        let row = ROW.max(lines * LINE + 10);
        let title = clean(&stack.bars_title);
        let beside = labels.iter().flatten().cloned().chain(wrap(&title, wrap_names));
        let names = widest(beside) + MARGIN + 18;
        let rows = row * count(&stack.bars) + AXIS;
        let fillings = fillings(&stack.parts);
        let looks = stack.parts.iter().zip(&fillings);
        let item =
            |(part, look): (&String, &Filling)| Item { kind: Kind::Part(*look), text: clean(part) };
        let items: Vec<Item<'a>> = looks.map(item).collect();
        let note = clean(stack.note.as_deref().unwrap_or_default());
        let Some(width) = width else {
            let title = wrap(&clean(&stack.title), 88);
            let top = MARGIN + TITLE_LINE * count(&title) + LINE + 4;
            let legend = Legend::beside(items);
            let (note, legend_at) = (wrap(&note, NOTE_WRAP), (names + LENGTH + MARGIN, top));
            let plot = rows.max(legend.size.1 + MARGIN);
            let size = (legend_at.0 + legend.size.0, top + plot + LINE * count(&note) + MARGIN);
            let length = LENGTH;
            return Self {
                stack,
                title,
                note,
                labels,
                fillings,
                legend,
                legend_at,
                names,
                length,
                row,
                top,
                size,
            };
        };
        let across = pixels(width);
        let (title, top, length) = (vec![], MARGIN + LINE, across - names - RIGHT);
        let legend = Legend::below(items, across - 2 * MARGIN - 8);
        let letters = usize::try_from((across - 2 * MARGIN - 8) / LETTER).unwrap_or(NOTE_WRAP);
        let (note, legend_at) = (wrap(&note, letters), (MARGIN + 8, top + rows));
        let height = legend_at.1 + legend.size.1 + LINE * count(&note) + MARGIN;
        let size = (across, height);
        Self {
            stack,
            title,
            note,
            labels,
            fillings,
            legend,
            legend_at,
            names,
            length,
            row,
            top,
            size,
        }
    }

    fn paint(&self, axis: &Layout, svg: &mut String) -> Result<(), DrawError> {
        let size = (self.size.0.unsigned_abs(), self.size.1.unsigned_abs());
        let canvas = SVGBackend::with_string(svg, size).into_drawing_area();
        canvas.fill(&PAPER)?;
        heading(&canvas, &self.title)?;
        text(&canvas, &clean(&self.stack.bars_title), (MARGIN + 8, self.top - LINE), SOFT_INK)?;
        let chart = self.chart(&canvas, axis)?;
        for (row, bar) in (0..).zip(&self.stack.bars) {
            self.bar(&canvas, &chart, row, bar)?;
        }
        self.legend.draw(&canvas, None, self.legend_at)?;
        let below = self.size.1 - MARGIN - LINE * count(&self.note);
        for (at, line) in (0..).zip(&self.note) {
            text(&canvas, line, (MARGIN + 8, below + LINE * at), SOFT_INK)?;
        }
        canvas.present()
    }

    /// The axis below the bars and the grid behind them.
    fn chart<'c>(&self, canvas: &Canvas<'c>, axis: &Layout) -> Result<Chart<'c>, DrawError> {
        let rows = self.row * count(&self.stack.bars);
        let area = canvas.clone().shrink(
            (self.names, self.top),
            (self.length.unsigned_abs(), (rows + AXIS).unsigned_abs()),
        );
        let ruler = Ruler { layout: axis.clone(), axis: self.stack.axis.clone() };
        let mut chart = ChartBuilder::on(&area)
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
            .x_desc(clean(&self.stack.axis.title()))
            .set_all_tick_mark_size(4)
            .draw()?;
        Ok(chart)
    }

    /// One bar with its name and its total.
    fn bar(
        &self,
        canvas: &Canvas<'_>,
        chart: &Chart<'_>,
        row: i32,
        bar: &Bar,
    ) -> Result<(), DrawError> {
        let middle = self.top + self.row * row + self.row / 2;
        let name = &self.labels[usize::try_from(row).expect("rows are counted from 0")];
        let first = middle - LINE * count(name) / 2;
        for (at, line) in (0..).zip(name) {
            let x = self.names - 10;
            written(canvas, line, (x, first + LINE * at + LINE / 2), HPos::Right)?;
        }
        let place = |value: f64| chart.plotting_area().map_coordinate(&(value, 0.0)).0;
        let (mut sum, mut end) = (0.0, place(0.0));
        for (index, value) in bar.values.iter().enumerate() {
            let from = place(sum);
            sum += value;
            end = place(sum);
            if end > from {
                let area = ((from, middle - THICK / 2), (end, middle + THICK / 2));
                self.fillings[index].draw(canvas, area)?;
                value_inside(canvas, *value, area)?;
            }
        }
        let total = total_text(self.stack, bar);
        let patch = [(end + 6, middle - 9), (end + 10 + LETTER * chars(&total), middle + 9)];
        canvas.draw(&Rectangle::new(patch, PAPER.filled()))?;
        written(canvas, &total, (end + 8, middle), HPos::Left)
    }
}

/// The value on a patch of paper, where the part is long enough.
fn value_inside(canvas: &Canvas<'_>, value: f64, area: Corners) -> Result<(), DrawError> {
    let shown = engineering(value);
    let ((left, top), (right, bottom)) = area;
    let half = LETTER * chars(&shown) / 2 + 4;
    if right - left < 2 * half + 6 {
        return Ok(());
    }
    let (x, y) = (i32::midpoint(left, right), i32::midpoint(top, bottom));
    canvas.draw(&Rectangle::new([(x - half, y - 9), (x + half, y + 9)], PAPER.filled()))?;
    written(canvas, &shown, (x, y), HPos::Center)
}

/// Text at the height of its middle.
fn written(canvas: &Canvas<'_>, text: &str, at: Pixel, side: HPos) -> Result<(), DrawError> {
    let style = (FONT, TEXT).into_font().color(&INK).pos(Pos::new(side, VPos::Center));
    canvas.draw_text(text, &style, at)
}
