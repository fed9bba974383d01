//! Colours, markers and dashes: three ways to tell curves apart, so that two suffice.

use plotters::coord::Shift;
use plotters::drawing::DrawingAreaErrorKind;
use plotters::element::DashedPathElement;
use plotters::prelude::*;

/// The canvas of all drawing, in pixels.
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

/// How the curves of one figure look.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Looks {
    /// Apart from each other: the first 60 differ.
    Apart,
    /// From dark to light in their order: so many curves of numbers that rise or fall.
    Ordered(usize),
}

/// From the first to the last of ordered curves: equal steps of brightness for every kind of
/// colour vision, none too light on white.
const RAMP: [RGBColor; 5] = [
    RGBColor(0x44, 0x01, 0x54),
    RGBColor(0x41, 0x44, 0x87),
    RGBColor(0x2A, 0x78, 0x8E),
    RGBColor(0x22, 0xA8, 0x84),
    RGBColor(0x7A, 0xD1, 0x51),
];

impl Looks {
    /// The look of the `index`-th curve.
    pub(super) fn of(self, index: usize) -> Look {
        let shape = SHAPES[index % SHAPES.len()];
        match self {
            Self::Ordered(count) => Look { colour: ramp(index, count), dash: DASHES[0], shape },
            Self::Apart => {
                // Colours come in sixes, markers in fives; dashes change with every round of colours.
                let round = index / COLOURS.len();
                let dash = DASHES[(index + round) % DASHES.len()];
                Look { colour: COLOURS[index % COLOURS.len()], dash, shape }
            }
        }
    }

    /// The colour of the `index`-th curve, or of marks that belong to none.
    pub(super) fn colour_of(self, series: Option<usize>) -> RGBColor {
        series.map_or(REFERENCE, |index| self.of(index).colour)
    }
}

/// The colour of one of `count` ordered curves.
fn ramp(index: usize, count: usize) -> RGBColor {
    let steps = count.saturating_sub(1).max(1);
    let at = index.min(steps) * (RAMP.len() - 1);
    let (from, part) = (at / steps, at % steps);
    let (one, next) = (RAMP[from], RAMP[(from + 1).min(RAMP.len() - 1)]);
    let mix = |one: u8, next: u8| {
        let sum = usize::from(one) * (steps - part) + usize::from(next) * part;
        u8::try_from(sum / steps).unwrap_or(u8::MAX)
    };
    RGBColor(mix(one.0, next.0), mix(one.1, next.1), mix(one.2, next.2))
}

impl Look {
    /// Lengths of dash and gap in pixels.
    pub(super) const fn dashes(self) -> (u32, u32) {
        self.dash
    }
}

/// Pixels across the band that shows another run's curve.
const BAND: u32 = 9;

/// The most markers of a curve; of more points, every second, third, … has one.
const MARKERS: usize = 64;

/// Pixels of a curve's thickness.
pub(super) const THIN: u32 = 2;

/// A curve of some thickness with its markers; a lone point is a marker.
pub(super) fn curve(
    canvas: &Canvas<'_>,
    path: &[Pixel],
    look: Look,
    thick: u32,
) -> Result<(), DrawError> {
    stroke(canvas, path, look.colour, look.dash, thick)?;
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
    dashes: (u32, u32),
) -> Result<(), DrawError> {
    stroke(canvas, path, colour, dashes, THIN)
}

fn stroke(
    canvas: &Canvas<'_>,
    path: &[Pixel],
    colour: RGBColor,
    (dash, gap): (u32, u32),
    thick: u32,
) -> Result<(), DrawError> {
    let style = colour.stroke_width(thick);
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

/// A curve of another run: wide and pale, so that it shows behind a curve that has not moved.
pub(super) fn band(canvas: &Canvas<'_>, path: &[Pixel], colour: RGBColor) -> Result<(), DrawError> {
    canvas.draw(&PathElement::new(path.to_vec(), colour.mix(0.3).stroke_width(BAND)))
}

/// The hollow marker of a reference: it shows around a curve's own and hides nothing.
pub(super) fn hollow(canvas: &Canvas<'_>, at: Pixel, colour: RGBColor) -> Result<(), DrawError> {
    canvas.draw(&Circle::new(at, 6, colour.stroke_width(1)))
}

/// The same colour, dark enough to show over itself.
pub(super) fn darker(colour: RGBColor) -> RGBColor {
    RGBColor(colour.0 / 2, colour.1 / 2, colour.2 / 2)
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

/// The tolerance: a pale band from `low` to `high`, which does not look like the spread of a
/// measurement.
pub(super) fn tolerance(
    canvas: &Canvas<'_>,
    x: i32,
    (low, high): (i32, i32),
    colour: RGBColor,
) -> Result<(), DrawError> {
    let corners = [(x - 5, high), (x + 5, low)];
    canvas.draw(&Rectangle::new(corners, colour.mix(0.18).filled()))
}

/// A bar from `low` to `high` with caps: how far values spread.
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
            let (one, next) = (Looks::Apart.of(index), Looks::Apart.of(index + 1));
            assert_ne!(one.colour, next.colour);
            assert_ne!(one.shape, next.shape);
            assert!(index % 6 == 5 || one.dash != next.dash);
        }
    }

    #[test]
    fn sixty_curves_can_be_told_apart() {
        let looks: Vec<Look> = (0..60).map(|index| Looks::Apart.of(index)).collect();
        for (index, look) in looks.iter().enumerate() {
            assert!(!looks[..index].contains(look), "curve {index}");
        }
    }

    #[test]
    fn ordered_curves_go_from_dark_to_light() {
        for count in [7, 14, 24] {
            let bright = |index: usize| {
                let colour = Looks::Ordered(count).of(index).colour;
                3 * u32::from(colour.0) + 6 * u32::from(colour.1) + u32::from(colour.2)
            };
            assert!((1..count).all(|index| bright(index) > bright(index - 1)), "{count}");
            assert_eq!(Looks::Ordered(count).of(count - 1).colour, RAMP[4]);
        }
    }
}
