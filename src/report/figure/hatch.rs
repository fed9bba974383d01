//! Fillings: a colour and a hatch, so that parts differ in print without colour as well.

use plotters::prelude::*;

use super::marks::{COLOURS, Canvas, DrawError, INK, PAPER, Pixel};

/// More than curves have: greys, of which a curve needs none that is close to a reference's, and what
/// shows in an area only, light or dark.
const FURTHER: [RGBColor; 5] = [
    RGBColor(0xA0, 0xA0, 0xA0),
    RGBColor(0x40, 0x40, 0x40),
    RGBColor(0xF0, 0xE4, 0x42),
    RGBColor(0x33, 0x22, 0x88),
    RGBColor(0x99, 0x99, 0x33),
];

/// The rest of a whole has no hatch, and a grey of its own.
const REST: (&str, Filling) =
    ("all other parts", Filling { colour: RGBColor(0xD0, 0xD0, 0xD0), hatch: Hatch::Plain });

/// Pixels between two lines of a hatch.
const STEP: i32 = 7;

/// The pattern over the colour.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Hatch {
    Plain,
    Rising,
    Dots,
    Falling,
    Upright,
    Crossed,
    Level,
}

const HATCHES: [Hatch; 7] = [
    Hatch::Plain,
    Hatch::Rising,
    Hatch::Dots,
    Hatch::Falling,
    Hatch::Upright,
    Hatch::Crossed,
    Hatch::Level,
];

/// How one part looks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Filling {
    colour: RGBColor,
    hatch: Hatch,
}

/// Phases of time in the order of fillings: a phase looks the same in every figure. The first
/// eleven, which often meet in one bar, have a colour each.
const PHASES: [&str; 27] = [
    "copy",
    "lock wait",
    "library code",
    "queue walk",
    "channel polling",
    "transfer",
    "waiting",
    "outside MPI",
    "posting",
    "cache line transfer",
    "buffer registration",
    "queueing",
    "latency",
    "sharing",
    "page pinning",
    "queue pair pace",
    "completion",
    "waiting for progress",
    "handed over by a thread",
    "waiting in order",
    "crossing lossy links",
    "receiver not ready",
    "atomic unit",
    "GPU",
    "packing",
    "start",
    "other",
];

/// The look of each part of a bar: that of its phase (the words after a colon), or another one where
/// it names none or that phase is there already.
pub(super) fn fillings(parts: &[String]) -> Vec<Filling> {
    let mut taken: Vec<usize> = Vec::new();
    let mut look = |part: &String| {
        if part == REST.0 {
            return REST.1;
        }
        let phase = part.rsplit(": ").next().unwrap_or(part);
        let own = PHASES.iter().position(|name| *name == phase);
        let own = own.filter(|place| !taken.contains(place));
        // As many further looks as there are parts.
        let mut further = PHASES.len()..PHASES.len() + parts.len();
        let place = own.or_else(|| further.find(|place| !taken.contains(place)));
        let place = place.expect("a look for each part");
        taken.push(place);
        Filling::of(place)
    };
    parts.iter().map(&mut look).collect()
}

/// A rectangle: its left upper and its right lower corner.
pub(super) type Corners = (Pixel, Pixel);

impl Filling {
    /// The look of the `index`-th part; the first 77 differ, and neighbours differ in both.
    pub(super) fn of(index: usize) -> Self {
        let place = index % (COLOURS.len() + FURTHER.len());
        let colour = COLOURS.iter().chain(&FURTHER).nth(place).expect("a place among both");
        Self { colour: *colour, hatch: HATCHES[index % HATCHES.len()] }
    }

    /// Fills a rectangle; one of three pixels or more gets an outline.
    pub(super) fn draw(self, canvas: &Canvas<'_>, area: Corners) -> Result<(), DrawError> {
        let ((left, top), (right, bottom)) = area;
        canvas.draw(&Rectangle::new([(left, top), (right, bottom)], self.colour.filled()))?;
        self.hatch.draw(canvas, area)?;
        if right - left < 3 {
            return Ok(());
        }
        canvas.draw(&Rectangle::new([(left, top), (right, bottom)], INK.stroke_width(1)))
    }
}

impl Hatch {
    fn draw(self, canvas: &Canvas<'_>, area: Corners) -> Result<(), DrawError> {
        let ((left, top), (right, bottom)) = area;
        let stroke = |path: Option<[Pixel; 2]>| match path {
            Some(path) if path[0] != path[1] => {
                canvas.draw(&PathElement::new(path.to_vec(), PAPER.stroke_width(1)))
            }
            _ => Ok(()),
        };
        match self {
            Self::Plain => Ok(()),
            Self::Rising => diagonals(area).try_for_each(|at| stroke(rising(area, at))),
            Self::Falling => diagonals(area).try_for_each(|at| stroke(falling(area, at))),
            Self::Crossed => diagonals(area).try_for_each(|at| {
                stroke(rising(area, at)).and_then(|()| stroke(falling(area, at)))
            }),
            Self::Upright => {
                every(left, right).try_for_each(|x| stroke(Some([(x, top), (x, bottom)])))
            }
            Self::Level => {
                every(top, bottom).try_for_each(|y| stroke(Some([(left, y), (right, y)])))
            }
            Self::Dots => every(left, right).try_for_each(|x| {
                every(top, bottom)
                    .try_for_each(|y| canvas.draw(&Circle::new((x, y), 1, PAPER.filled())))
            }),
        }
    }
}

/// Places between two edges, evenly spaced and away from both.
fn every(from: i32, to: i32) -> impl Iterator<Item = i32> {
    (from + STEP / 2 + 1..to - 1).step_by(STEP.unsigned_abs() as usize)
}

/// Where lines at 45 degrees that cross `area` would meet its upper edge, drawn on to the left.
fn diagonals(((left, top), (right, bottom)): Corners) -> impl Iterator<Item = i32> {
    (left - (bottom - top) + STEP..right).step_by(STEP.unsigned_abs() as usize)
}

/// The part inside `area` of the line that falls to the right from the upper edge at `at`.
fn falling(((left, top), (right, bottom)): Corners, at: i32) -> Option<[Pixel; 2]> {
    let (from, to) = (at.max(left), (at + bottom - top).min(right));
    (from < to).then(|| [(from, top + from - at), (to, top + to - at)])
}

/// Its mirror image, which rises to the right.
fn rising(area: Corners, at: i32) -> Option<[Pixel; 2]> {
    let ((_, top), (_, bottom)) = area;
    falling(area, at).map(|path| path.map(|(x, y)| (x, top + bottom - y)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_can_be_told_apart_with_and_without_colour() {
        let all: Vec<Filling> = (0..77).map(Filling::of).collect();
        for (index, one) in all.iter().enumerate() {
            assert!(!all[..index].contains(one), "part {index}");
            let next = Filling::of(index + 1);
            assert!(one.colour != next.colour && one.hatch != next.hatch, "part {index}");
        }
    }

    #[test]
    fn a_phase_looks_the_same_in_every_figure() {
        let look = |parts: &[&str], at: usize| {
            fillings(&parts.iter().map(|&part| part.to_owned()).collect::<Vec<_>>())[at]
        };
        let alone = look(&["waiting"], 0);
        assert_eq!(look(&["copy", "cores: waiting"], 1), alone);
        assert_ne!(look(&["copy", "cores: waiting"], 0), alone);
        let twice = ["cores: copy", "memory: copy", "mine", "yours"];
        let all: Vec<Filling> = (0..4).map(|at| look(&twice, at)).collect();
        assert!(all.iter().enumerate().all(|(at, one)| !all[..at].contains(one)), "{all:?}");
        assert!(PHASES.iter().enumerate().all(|(at, name)| !PHASES[..at].contains(name)));
    }

    #[test]
    fn phases_that_meet_in_one_bar_differ_in_colour_and_the_rest_is_grey() {
        let names = ["copy", "posting", "cache line transfer", "buffer registration", "waiting"];
        let parts: Vec<String> = names.iter().map(|name| format!("cores: {name}")).collect();
        let parts: Vec<String> = parts.into_iter().chain([REST.0.to_owned()]).collect();
        let colours: Vec<RGBColor> = fillings(&parts).iter().map(|one| one.colour).collect();
        assert!(colours.iter().enumerate().all(|(at, one)| !colours[..at].contains(one)));
        let RGBColor(red, green, blue) = colours[5];
        assert!(red == green && green == blue);
    }

    #[test]
    fn hatches_stay_inside_and_lie_at_45_degrees() {
        for (width, height) in [(1, 26), (5, 26), (300, 26), (30, 90)] {
            let area = ((10, 20), (10 + width, 20 + height));
            let mut lines = 0;
            for at in diagonals(area) {
                for path in [falling(area, at), rising(area, at)].into_iter().flatten() {
                    let [(x, y), (to_x, to_y)] = path;
                    assert_eq!((to_x - x).abs(), (to_y - y).abs());
                    for (x, y) in path {
                        assert!((10..=10 + width).contains(&x) && (20..=20 + height).contains(&y));
                    }
                    lines += 1;
                }
            }
            assert!(lines >= 2 * (width + height) / STEP - 4, "{lines} in {width} x {height}");
        }
    }
}
