//! Colours, markers and dashes: three ways to tell curves apart, so that two suffice.

use plotters::coord::Shift;
use plotters::drawing::DrawingAreaErrorKind;
use plotters::element::DashedPathElement;
use plotters::prelude::*;

/// What everything is drawn on, in pixels.
pub(super) type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Failure of the library that draws.
pub(super) type DrawError = DrawingAreaErrorKind<std::io::Error>;
/// A position in pixels.
pub(super) type Pixel = (i32, i32);

/// Text and axes.
pub(super) const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
/// Text of less weight.
pub(super) const SOFT_INK: RGBColor = RGBColor(0x55, 0x55, 0x55);
/// Lines behind the curves.
pub(super) const GRID: RGBColor = RGBColor(0xDD, 0xDD, 0xDD);
/// Lines of less weight behind the curves.
pub(super) const LIGHT_GRID: RGBColor = RGBColor(0xF0, 0xF0, 0xF0);
/// The paper.
pub(super) const PAPER: RGBColor = RGBColor(0xFF, 0xFF, 0xFF);
/// References: what claims expect.
pub(super) const REFERENCE: RGBColor = RGBColor(0x66, 0x66, 0x66);

/// The colours of Okabe and Ito that are strong enough on white, in an order that keeps
/// neighbours apart for every kind of colour vision.
pub(super) const COLOURS: [RGBColor; 6] = [
    RGBColor(0x00, 0x72, 0xB2),
    RGBColor(0xD5, 0x5E, 0x00),
    RGBColor(0x00, 0x9E, 0x73),
    RGBColor(0xCC, 0x79, 0xA7),
    RGBColor(0xE6, 0x9F, 0x00),
    RGBColor(0x56, 0xB4, 0xE9),
];

/// Lengths of dash and gap in pixels; no gap for a full line.
const DASHES: [(u32, u32); 4] = [(1, 0), (9, 4), (3, 3), (14, 5)];

/// Shape of a marker.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Shape {
    Circle,
    Square,
    TriangleUp,
    Diamond,
    TriangleDown,
}

const SHAPES: [Shape; 5] =
    [Shape::Circle, Shape::Square, Shape::TriangleUp, Shape::Diamond, Shape::TriangleDown];

/// How one curve looks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Look {
    pub(super) colour: RGBColor,
    dash: (u32, u32),
    shape: Shape,
}

impl Look {
    /// The look of the `index`-th curve; the first 60 differ.
    pub(super) fn of(index: usize) -> Self {
        // Colours come in sixes, markers in fives; dashes change with every round of colours.
        let round = index / COLOURS.len();
        Self {
            colour: COLOURS[index % COLOURS.len()],
            dash: DASHES[(index + round) % DASHES.len()],
            shape: SHAPES[index % SHAPES.len()],
        }
    }

    /// The colour of the `index`-th curve, or of what belongs to none.
    pub(super) fn colour_of(series: Option<usize>) -> RGBColor {
        series.map_or(REFERENCE, |index| Self::of(index).colour)
    }

    /// Lengths of dash and gap in pixels.
    pub(super) const fn dashes(self) -> (u32, u32) {
        self.dash
    }
}

/// Pixels across the band that shows another run's curve.
const BAND: u32 = 9;

/// The most markers of a curve; of more points, every second, third, … has one.
const MARKERS: usize = 64;

/// A curve with its markers; a lone point is a marker.
pub(super) fn curve(canvas: &Canvas<'_>, path: &[Pixel], look: Look) -> Result<(), DrawError> {
    line(canvas, path, look.colour, look.dash)?;
    markers(canvas, path, look)
}

/// The markers of a curve.
pub(super) fn markers(canvas: &Canvas<'_>, path: &[Pixel], look: Look) -> Result<(), DrawError> {
    let step = path.len().div_ceil(MARKERS).max(1);
    path.iter().step_by(step).try_for_each(|&at| marker(canvas, at, look))
}

/// A line through `path`.
pub(super) fn line(
    canvas: &Canvas<'_>,
    path: &[Pixel],
    colour: RGBColor,
    (dash, gap): (u32, u32),
) -> Result<(), DrawError> {
    let style = colour.stroke_width(2);
    if path.len() < 2 {
        return Ok(());
    }
    if gap == 0 {
        return canvas.draw(&PathElement::new(path.to_vec(), style));
    }
    canvas.draw(&DashedPathElement::new(path.iter().copied(), dash, gap, style))
}

/// A filled marker.
fn marker(canvas: &Canvas<'_>, (x, y): Pixel, look: Look) -> Result<(), DrawError> {
    let corners: &[Pixel] = match look.shape {
        Shape::Circle => return canvas.draw(&Circle::new((x, y), 4, look.colour.filled())),
        Shape::Square => &[(-4, -4), (4, -4), (4, 4), (-4, 4)],
        Shape::TriangleUp => &[(0, -5), (5, 4), (-5, 4)],
        Shape::Diamond => &[(0, -6), (5, 0), (0, 6), (-5, 0)],
        Shape::TriangleDown => &[(0, 5), (5, -4), (-5, -4)],
    };
    let corners: Vec<Pixel> = corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
    canvas.draw(&Polygon::new(corners, look.colour.filled()))
}

/// What another run gave: wide and pale, so that it shows behind a curve that has not moved.
pub(super) fn band(canvas: &Canvas<'_>, path: &[Pixel], colour: RGBColor) -> Result<(), DrawError> {
    canvas.draw(&PathElement::new(path.to_vec(), colour.mix(0.3).stroke_width(BAND)))
}

/// The hollow marker of a reference, large enough to show around a curve's own.
pub(super) fn hollow(canvas: &Canvas<'_>, at: Pixel, colour: RGBColor) -> Result<(), DrawError> {
    canvas.draw(&Circle::new(at, 8, colour.stroke_width(2)))
}

/// The tie between an expected value and the curve's own at the same place.
pub(super) fn tie(
    canvas: &Canvas<'_>,
    ends: [Pixel; 2],
    colour: RGBColor,
) -> Result<(), DrawError> {
    let style = colour.stroke_width(1);
    canvas.draw(&DashedPathElement::new(ends, 1, 3, style))
}

/// A bar from `low` to `high` with caps.
pub(super) fn spread(
    canvas: &Canvas<'_>,
    x: i32,
    (low, high): (i32, i32),
    colour: RGBColor,
) -> Result<(), DrawError> {
    let draw =
        |path: [Pixel; 2]| canvas.draw(&PathElement::new(path.to_vec(), colour.stroke_width(1)));
    draw([(x, low), (x, high)])?;
    draw([(x - 4, low), (x + 4, low)])?;
    draw([(x - 4, high), (x + 4, high)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_curves_differ_in_colour_marker_and_dash() {
        for index in 0..60 {
            let (one, next) = (Look::of(index), Look::of(index + 1));
            assert_ne!(one.colour, next.colour);
            assert_ne!(one.shape, next.shape);
            assert!(index % 6 == 5 || one.dash != next.dash);
        }
    }

    #[test]
    fn sixty_curves_can_be_told_apart() {
        let looks: Vec<Look> = (0..60).map(Look::of).collect();
        for (index, look) in looks.iter().enumerate() {
            assert!(!looks[..index].contains(look), "curve {index}");
        }
    }
}
