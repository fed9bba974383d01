//! Drawing a figure as SVG with plotters: no fonts, no files, the same bytes on every run.

use plotters::chart::ChartContext;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::super::error::ReportError;
use super::curves::{Figure, Mark, Point, Reference, ReferenceShape};
use super::frame::{MARGIN, Ruler, clean, heading};
use super::legend::{self, FONT, LETTER, LINE, TEXT};
use super::marks::{
    Canvas, DrawError, GRID, INK, LIGHT_GRID, Looks, PAPER, Pixel, REFERENCE, SOFT_INK, band,
    curve, darker, hollow, line, markers, spread, tie, tolerance,
};
use super::page::{BELOW, Page, RIGHT};
use super::scale::{Axis, Layout, Scale, layout};
use super::svg::Document;
use super::telling::{Coinciding, coinciding, sentence};
use super::ticks::in_fitting_units;
use super::words::Words;
use experiment::claim::figures::Width;

/// Pixels between the markers of two series beside one word, where there is room.
const BESIDE: i32 = 14;
type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<Ruler, Ruler>>;

impl Figure {
    /// Draws the figure as an SVG document, for a screen.
    ///
    /// # Errors
    ///
    /// As [`Figure::printed`].
    pub fn to_svg(&self) -> Result<String, ReportError> {
        self.printed(None)
    }

    /// The same in a width of a printed page, where one is requested: without the title, which is
    /// the caption's.
    ///
    /// # Errors
    ///
    /// [`ReportError::NothingToDraw`] where no series has a finite value,
    /// [`ReportError::NotDrawable`] where some values are not finite,
    /// [`ReportError::NotPositive`] where a logarithmic axis has zero or negative values.
    pub fn printed(&self, width: Option<Width>) -> Result<String, ReportError> {
        svg(self, width)
    }
}

/// The figure as an SVG document.
fn svg(figure: &Figure, width: Option<Width>) -> Result<String, ReportError> {
    let points = || figure.series.iter().flat_map(|series| &series.points);
    if !points().any(|point| point.y.is_finite()) {
        return Err(ReportError::NothingToDraw { metric: figure.y.title() });
    }
    let figure = &in_fitting_units(figure);
    let points = figure.series.iter().flat_map(|series| &series.points);
    let (xs, ys) = figure.extents();
    let own: Vec<f64> = points.map(|point| point.x).collect();
    let x = layout(&figure.x, &xs, 0.02)?.ticked_at(&figure.x, &own);
    let y = layout(&figure.y, &ys, 0.05)?;
    let alike = coinciding(figure, &x, &y);
    let page = Page::new(figure, &alike.notes, &y, width);
    let (x, y) = (page.room_along(&figure.x, x), page.room_up(y));
    let mut text = String::new();
    paint(figure, &page, [&x, &y], &alike, &mut text)
        .map_err(|why| ReportError::writer("SVG", why))?;
    Ok(Document { title: &figure.title, description: &sentence(figure), width }.finish(&text))
}

fn paint(
    figure: &Figure,
    page: &Page<'_>,
    [x, y]: [&Layout; 2],
    alike: &Coinciding,
    text: &mut String,
) -> Result<(), DrawError> {
    let size = (page.size.0.unsigned_abs(), page.size.1.unsigned_abs());
    let canvas = SVGBackend::with_string(text, size).into_drawing_area();
    canvas.fill(&PAPER)?;
    heading(&canvas, &page.title)?;
    let plot = canvas.clone().shrink((0, page.top), page.plot);
    let chart = chart(&plot, figure, page, [x, y])?;
    let pen = Pen { canvas: &canvas, chart: &chart, figure, looks: figure.looks(), x, y };
    if let Some(words) = &page.words {
        pen.words(words, page.below)?;
    }
    pen.gap()?;
    pen.foot()?;
    figure.references.iter().try_for_each(|reference| pen.area(reference))?;
    for (index, series) in figure.series.iter().enumerate() {
        pen.series(&series.points, index, alike.thickness(index))?;
    }
    for (index, series) in figure.series.iter().enumerate() {
        let colour = darker(pen.looks.of(index).colour);
        pen.spreads(&series.points, colour, pen.aside(index))?;
    }
    figure.references.iter().try_for_each(|reference| pen.outline(reference))?;
    page.legend.draw(&canvas, Some(figure), page.legend_at)?;
    canvas.present()
}

/// Axes, grid and ticks.
fn chart<'a>(
    plot: &Canvas<'a>,
    figure: &Figure,
    page: &Page<'_>,
    [x, y]: [&Layout; 2],
) -> Result<Chart<'a>, DrawError> {
    let ruler = |axis: &Axis, layout: &Layout| Ruler { layout: layout.clone(), axis: axis.clone() };
    let mut chart = ChartBuilder::on(plot)
        .margin(MARGIN)
        .margin_right(RIGHT)
        .x_label_area_size(page.below)
        .y_label_area_size(page.beside)
        .build_cartesian_2d(ruler(&figure.x, x), ruler(&figure.y, y))?;
    let label = (FONT, TEXT).into_font().color(&INK);
    let mut mesh = chart.configure_mesh();
    // Words and their title are drawn apart, with the room that they need.
    if page.words.is_some() {
        mesh.disable_x_axis();
    } else {
        mesh.x_desc(clean(&figure.x.title()));
    }
    mesh.bold_line_style(GRID)
        .light_line_style(LIGHT_GRID)
        .axis_style(INK)
        .label_style(label.clone())
        .axis_desc_style(label)
        .y_desc(clean(&figure.y.title()))
        .set_all_tick_mark_size(4)
        .draw()?;
    Ok(chart)
}

/// The text at the foot of an axis without zero.
const FOOT: &str = "axis does not begin at zero";

/// The fewest points of a curve that counts as going up and down without end.
const ZIGZAG: usize = 16;

/// Whether a line through the points would turn at most of them: it would show nothing.
fn zigzag(points: &[Point]) -> bool {
    let turns = points.windows(3).filter(|three| {
        let (first, second) = (three[1].y - three[0].y, three[2].y - three[1].y);
        first * second < 0.0 || (first == 0.0) != (second == 0.0)
    });
    points.len() >= ZIGZAG && 2 * turns.count() > points.len()
}

/// Everything needed to put marks at values.
struct Pen<'a, 'b> {
    canvas: &'b Canvas<'a>,
    chart: &'b Chart<'a>,
    figure: &'b Figure,
    looks: Looks,
    x: &'b Layout,
    y: &'b Layout,
}

impl Pen<'_, '_> {
    /// The pixel of a value.
    fn at(&self, x: f64, y: f64) -> Pixel {
        self.at_place(self.figure.x.scale.place(x), self.figure.y.scale.place(y))
    }

    fn at_place(&self, x: f64, y: f64) -> Pixel {
        self.chart.plotting_area().map_coordinate(&(x, y))
    }

    fn path(&self, points: &[Point]) -> Vec<Pixel> {
        points.iter().map(|point| self.at(point.x, point.y)).collect()
    }

    /// The words of the x axis with their ticks, and its title below them.
    fn words(&self, words: &Words, below: i32) -> Result<(), DrawError> {
        let ((left, foot), (right, _)) =
            (self.at_place(self.x.low, self.y.low), self.at_place(self.x.high, self.y.low));
        let stroke = |path: [Pixel; 2]| self.canvas.draw(&PathElement::new(path.to_vec(), INK));
        stroke([(left, foot), (right, foot)])?;
        let upwards = (FONT, TEXT).into_font().transform(FontTransform::Rotate270).color(&INK);
        let upwards = upwards.pos(Pos::new(HPos::Right, VPos::Center));
        let level = (FONT, TEXT).into_font().color(&INK).pos(Pos::new(HPos::Center, VPos::Center));
        for (index, tick) in self.x.ticks.iter().enumerate() {
            let x = self.at_place(*tick, self.y.low).0;
            stroke([(x, foot), (x, foot + 4)])?;
            match words {
                Words::Rows(all) => {
                    for (row, part) in (0..).zip(&all[index]) {
                        let y = foot + 6 + LINE / 2 + LINE * row;
                        self.canvas.draw_text(part, &level, (x, y))?;
                    }
                }
                Words::Turned(all) if all[index].is_empty() => {}
                Words::Turned(all) => {
                    self.canvas.draw_text(&all[index], &upwards, (x, foot + 8))?;
                }
            }
        }
        let place = (i32::midpoint(left, right), foot + below - BELOW.1 / 2);
        self.canvas.draw_text(&clean(&self.figure.x.title()), &level, place)
    }

    /// A curve of some thickness; over words its markers alone, since nothing lies
    /// between two words.
    fn series(&self, points: &[Point], index: usize, thick: u32) -> Result<(), DrawError> {
        let look = self.looks.of(index);
        let aside = self.aside(index);
        let path = self.path(points).into_iter().map(|(x, y)| (x + aside, y));
        let path: Vec<Pixel> = path.collect();
        if self.figure.is_over_words() || zigzag(points) {
            return markers(self.canvas, &path, look);
        }
        let (before, after) = path.split_at(self.before_gap(points));
        curve(self.canvas, before, look, thick)?;
        curve(self.canvas, after, look, thick)
    }

    /// How many points lie before the gap of the x axis: nothing is drawn across it.
    fn before_gap(&self, points: &[Point]) -> usize {
        let is_before =
            |point: &&Point| self.x.gap.is_some_and(|gap| self.figure.x.scale.place(point.x) < gap);
        points.iter().take_while(is_before).count()
    }

    /// Says that the foot of the y axis is no zero: heights could be taken for values. It stands at the
    /// end of the axis where no point is in its way.
    fn foot(&self) -> Result<(), DrawError> {
        if self.figure.y.scale != Scale::Linear || self.y.low <= 0.0 {
            return Ok(());
        }
        let (left, foot) = self.at_place(self.x.low, self.y.low);
        let right = self.at_place(self.x.high, self.y.low).0;
        let across = LETTER * i32::try_from(FOOT.len()).unwrap_or(0);
        let curves = self.figure.series.iter();
        let points: Vec<Pixel> = curves.flat_map(|series| self.path(&series.points)).collect();
        let is_free = |x: &i32| {
            let in_way = |(at, y): &Pixel| (x - 8..x + across + 8).contains(at) && foot - 26 < *y;
            !points.iter().any(in_way)
        };
        let x = [left + 6, right - across].into_iter().find(is_free).unwrap_or(left + 6);
        legend::text(self.canvas, FOOT, (x, foot - 20), SOFT_INK)
    }

    /// Two strokes where the x axis is broken between zero and the least value.
    fn gap(&self) -> Result<(), DrawError> {
        let Some(gap) = self.x.gap else { return Ok(()) };
        let (x, y) = self.at_place(gap, self.y.low);
        self.canvas.draw(&Rectangle::new([(x - 4, y - 2), (x + 4, y + 2)], PAPER.filled()))?;
        for x in [x - 4, x + 4] {
            let path = vec![(x - 3, y + 6), (x + 3, y - 6)];
            self.canvas.draw(&PathElement::new(path, INK.stroke_width(1)))?;
        }
        Ok(())
    }

    /// Pixels by which the markers of a series stand beside a word: equal values of two series
    /// must both show.
    fn aside(&self, index: usize) -> i32 {
        if !self.figure.is_over_words() {
            return 0;
        }
        let of = i32::try_from(self.figure.series.len()).unwrap_or(i32::MAX / 4);
        let index = i32::try_from(index).unwrap_or(0);
        let room = self.at_place(1.0, self.y.low).0 - self.at_place(0.0, self.y.low).0;
        (2 * index + 1 - of) * (room / (of + 1)).min(BESIDE) / 2
    }

    fn spreads(&self, points: &[Point], colour: RGBColor, aside: i32) -> Result<(), DrawError> {
        for point in points {
            if let Some((low, high)) = point.range {
                let ((x, low), (_, high)) = (self.at(point.x, low), self.at(point.x, high));
                spread(self.canvas, x + aside, (low, high), colour)?;
            }
        }
        Ok(())
    }

    /// The part of a reference that lies behind the curves.
    fn area(&self, reference: &Reference) -> Result<(), DrawError> {
        let (x, y) = (&self.figure.x.scale, &self.figure.y.scale);
        let (from, to) = match &reference.shape {
            ReferenceShape::Band { low, high } => {
                ((self.x.low, y.place(*high)), (self.x.high, y.place(*low)))
            }
            ReferenceShape::Onset { low, high } => {
                let (from, to) = (x.place(*low), x.place(*high));
                let missing = (x.least_band(self.x.high - self.x.low) - (to - from)).max(0.0);
                let (from, to) = (from - missing / 2.0, to + missing / 2.0);
                ((from.max(self.x.low), self.y.high), (to.min(self.x.high), self.y.low))
            }
            ReferenceShape::Other(series, points) => {
                return band(self.canvas, &self.path(points), self.looks.of(*series).colour);
            }
            ReferenceShape::Markers(marks) => {
                return marks.iter().try_for_each(|mark| self.tolerated(mark));
            }
            ReferenceShape::Level(_) | ReferenceShape::Line(_) => return Ok(()),
        };
        let mut corners = [self.at_place(from.0, from.1), self.at_place(to.0, to.1)];
        if corners[0].1 == corners[1].1 {
            corners = [(corners[0].0, corners[0].1 - 1), (corners[1].0, corners[1].1 + 1)];
        }
        self.canvas.draw(&Rectangle::new(corners, REFERENCE.mix(0.18).filled()))
    }

    /// The values that are tolerated around an expected one.
    fn tolerated(&self, mark: &Mark) -> Result<(), DrawError> {
        let Some((low, high)) = mark.tolerated else { return Ok(()) };
        let aside = mark.series.map_or(0, |series| self.aside(series));
        let ((x, low), (_, high)) = (self.at(mark.point.x, low), self.at(mark.point.x, high));
        tolerance(self.canvas, x + aside, (low, high), self.looks.colour_of(mark.series))
    }

    /// The part of a reference that lies before the curves.
    fn outline(&self, reference: &Reference) -> Result<(), DrawError> {
        match &reference.shape {
            ReferenceShape::Band { .. }
            | ReferenceShape::Onset { .. }
            | ReferenceShape::Other(..) => Ok(()),
            ReferenceShape::Level(value) => {
                let height = self.figure.y.scale.place(*value);
                let path = [self.at_place(self.x.low, height), self.at_place(self.x.high, height)];
                line(self.canvas, &path, REFERENCE, (6, 4))
            }
            ReferenceShape::Line(points) => {
                line(self.canvas, &self.path(points), REFERENCE, (6, 4))
            }
            ReferenceShape::Markers(marks) => marks.iter().try_for_each(|mark| self.mark(mark)),
        }
    }

    /// An expected value in the colour of its curve, beside a word where that is, and tied to what
    /// the curve has there.
    fn mark(&self, mark: &Mark) -> Result<(), DrawError> {
        let colour = self.looks.colour_of(mark.series);
        let aside = mark.series.map_or(0, |series| self.aside(series));
        let place = |point: &Point| {
            let (x, y) = self.at(point.x, point.y);
            (x + aside, y)
        };
        self.spreads(&[mark.point], darker(colour), aside)?;
        let curve = mark.series.and_then(|series| self.figure.series.get(series));
        let is_there = |point: &&Point| point.x.total_cmp(&mark.point.x).is_eq();
        if let Some(own) = curve.and_then(|curve| curve.points.iter().find(is_there)) {
            tie(self.canvas, [place(&mark.point), place(own)], colour)?;
        }
        hollow(self.canvas, place(&mark.point), colour)
    }
}
