//! Figures: their content, apart from the drawing.
//!
//! A [`Figure`] is data: axes, series, references. [`Figure::to_svg`] draws it; the same figure
//! gives the same bytes on every run and every machine. A [`Stack`] is the same for stacked bars.

mod bars;
mod curves;
mod draw;
mod frame;
mod hatch;
mod legend;
mod marks;
mod page;
mod scale;
mod select;
mod stack;
mod svg;
mod telling;
mod ticks;
mod tornado;
mod words;

pub use curves::{EXPECTED, Figure, MEASURED, Mark, Point, Reference, ReferenceShape, Series};
pub(super) use legend::wrap;
pub use scale::{Axis, Scale};
pub use select::{FigureSpec, place_on_x, words};
pub use stack::{Bar, Part, Stack, StackSpec};
pub use tornado::{Swing, Tornado};

#[cfg(test)]
mod tests;
