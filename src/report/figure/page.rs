//! Where the parts of a figure stand: beside each other on a screen, below each other on paper.

use super::curves::Figure;
use super::frame::{MARGIN, TITLE_LINE, clean};
use super::legend::{LETTER, LINE, Legend, items, wrap};
use super::scale::{Axis, Layout, Scale};
use super::svg::pixels;
use super::ticks::tick_text;
use super::words::Words;
use experiment::claim::figures::Width;

/// Pixels of the plot with its axes on a screen.
const PLOT: (i32, i32) = (700, 460);
/// Its pixels from top to bottom in a column and across a page.
const PRINTED: (i32, i32) = (300, 400);
/// Pixels beside the y axis on a screen: the plots of one report have one width.
const BESIDE: i32 = 72;
/// Pixels below an axis: of its numbers, and of its title.
pub(super) const BELOW: (i32, i32) = (26, 22);
/// Pixels that a plot keeps free at its right.
pub(super) const RIGHT: i32 = MARGIN + 12;

/// Where the parts of a figure with curves stand.
#[derive(Debug)]
pub(super) struct Page<'a> {
    /// The lines of the title; none on paper, where it is the caption's.
    pub(super) title: Vec<String>,
    /// Where the plot begins.
    pub(super) top: i32,
    /// Pixels of the plot with its axes.
    pub(super) plot: (i32, i32),
    /// Pixels beside the y axis.
    pub(super) beside: i32,
    /// Pixels below the x axis.
    pub(super) below: i32,
    /// The words of the x axis, where it has words.
    pub(super) words: Option<Words>,
    pub(super) legend: Legend<'a>,
    /// Its left upper corner.
    pub(super) legend_at: (i32, i32),
    /// Pixels of the whole.
    pub(super) size: (i32, i32),
}

impl<'a> Page<'a> {
    /// For a figure with such notes in its legend and such a y axis.
    pub(super) fn new(
        figure: &'a Figure,
        notes: &[String],
        y: &Layout,
        width: Option<Width>,
    ) -> Self {
        let numbers = y.ticks.iter().map(|&tick| letters(&figure.y, y, tick)).max().unwrap_or(0);
        let beside = (LETTER * numbers + 36).max(if width.is_none() { BESIDE } else { 0 });
        let plot = match width {
            None => PLOT,
            Some(Width::Column) => (pixels(Width::Column), PRINTED.0),
            Some(Width::Page) => (pixels(Width::Page), PRINTED.1),
        };
        let words = words(figure, plot.0 - beside - MARGIN - RIGHT);
        let further = words.as_ref().map_or(0, |words| words.height() + 10 - BELOW.0);
        let (plot, below) = ((plot.0, plot.1 + further), BELOW.0 + BELOW.1 + further);
        let items = items(figure, notes);
        if width.is_some() {
            let legend = Legend::below(items, plot.0 - 2 * MARGIN);
            let high = if legend.size.1 > 0 { legend.size.1 + MARGIN } else { 0 };
            let (legend_at, size) = ((MARGIN, plot.1), (plot.0, plot.1 + high));
            let title = Vec::new();
            return Self { title, top: 0, plot, beside, below, words, legend, legend_at, size };
        }
        let title = wrap(&clean(&figure.title), 88);
        let top = MARGIN + TITLE_LINE * i32::try_from(title.len()).unwrap_or(0);
        let legend = Legend::beside(items);
        let legend_at = (plot.0 + 6, top + MARGIN);
        let size = (plot.0 + legend.size.0, top + plot.1.max(legend.size.1 + 2 * MARGIN));
        Self { title, top, plot, beside, below, words, legend, legend_at, size }
    }

    /// The x axis with as many numbers as have room.
    pub(super) fn room_along(&self, axis: &Axis, x: Layout) -> Layout {
        if self.words.is_some() {
            return x;
        }
        let all = x.clone();
        let needs = |tick| LETTER * (letters(axis, &all, tick) + 1);
        x.thinned(self.plot.0 - self.beside - MARGIN - RIGHT, needs)
    }

    /// The y axis with as many numbers as have room.
    pub(super) fn room_up(&self, y: Layout) -> Layout {
        y.thinned(self.plot.1 - self.below - 2 * MARGIN, |_| LINE)
    }
}

fn words(figure: &Figure, pixels: i32) -> Option<Words> {
    let Scale::Words(words) = &figure.x.scale else { return None };
    let words: Vec<String> = words.iter().map(|word| clean(word)).collect();
    Some(Words::along(pixels, &words))
}

/// Letters of a tick.
fn letters(axis: &Axis, layout: &Layout, tick: f64) -> i32 {
    i32::try_from(tick_text(axis, layout, tick).chars().count()).unwrap_or(0)
}
