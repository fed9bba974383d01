//! Reduction operators: what a collective does to the elements of two buffers.
//!
//! A [`Reduction`] is an operator on elements of one type. It works on bytes, little endian as the
//! memory of the modelled machines, and gives the same bytes on every host: integers wrap, and
//! `f64` arithmetic is that of IEEE 754. A user-defined operator is a value of [`Operator`], as a
//! predefined one is.
//!
//! Source: MPI 3.1, Section 5.9. Left out: complex numbers, extended precision.

mod double;

use std::fmt;

/// What the elements of a buffer are.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Datatype {
    /// Signed, 4 bytes.
    Int32,
    /// Signed, 8 bytes.
    Int64,
    /// IEEE 754 binary64.
    Double,
    /// A value and an index, 4 bytes each, as `MPI_2INT`.
    Int32Pair,
    /// Two numbers of 8 bytes: an element of the user's own.
    Int64Pair,
}

impl Datatype {
    /// Every type.
    pub const ALL: [Self; 5] =
        [Self::Int32, Self::Int64, Self::Double, Self::Int32Pair, Self::Int64Pair];

    /// Bytes of one element.
    pub const fn width(self) -> u64 {
        match self {
            Self::Int32 => 4,
            Self::Int64 | Self::Double | Self::Int32Pair => 8,
            Self::Int64Pair => 16,
        }
    }

    /// Whether it is one number without a fraction.
    pub const fn is_integer(self) -> bool {
        match self {
            Self::Int32 | Self::Int64 => true,
            Self::Double | Self::Int32Pair | Self::Int64Pair => false,
        }
    }

    /// The name that scenarios use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Double => "double",
            Self::Int32Pair => "int32_pair",
            Self::Int64Pair => "int64_pair",
        }
    }
}

/// What two elements become.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Operator {
    /// `MPI_SUM`.
    Sum,
    /// `MPI_PROD`.
    Prod,
    /// `MPI_MAX`.
    Max,
    /// `MPI_MIN`.
    Min,
    /// `MPI_LAND`: 1 or 0.
    Land,
    /// `MPI_LOR`: 1 or 0.
    Lor,
    /// `MPI_LXOR`: 1 or 0.
    Lxor,
    /// `MPI_BAND`.
    Band,
    /// `MPI_BOR`.
    Bor,
    /// `MPI_BXOR`.
    Bxor,
    /// `MPI_MAXLOC`: the greatest value, and the least index that has it.
    MaxLoc,
    /// `MPI_MINLOC`: the least value, and the least index that has it.
    MinLoc,
    /// User-defined, associative and not commutative: `(a, b)` stands for `x -> a x + b` modulo a
    /// number, and lower ranks are applied first: `(a1, b1) (a2, b2) = (a1 a2, b1 a2 + b2)`.
    Affine {
        /// The modulus; zero is taken for one.
        modulus: u32,
    },
}

impl Operator {
    /// Every operator; the modulus is the one that recorded vectors use.
    pub const ALL: [Self; 13] = [
        Self::Sum,
        Self::Prod,
        Self::Max,
        Self::Min,
        Self::Land,
        Self::Lor,
        Self::Lxor,
        Self::Band,
        Self::Bor,
        Self::Bxor,
        Self::MaxLoc,
        Self::MinLoc,
        Self::Affine { modulus: 1_000_003 },
    ];

    /// Whether the order of two elements does not matter.
    pub const fn commutes(self) -> bool {
        !matches!(self, Self::Affine { .. })
    }

    /// The name that scenarios use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Prod => "prod",
            Self::Max => "max",
            Self::Min => "min",
            Self::Land => "land",
            Self::Lor => "lor",
            Self::Lxor => "lxor",
            Self::Band => "band",
            Self::Bor => "bor",
            Self::Bxor => "bxor",
            Self::MaxLoc => "maxloc",
            Self::MinLoc => "minloc",
            Self::Affine { .. } => "affine",
        }
    }

    /// Whether the operator is defined on elements of this type.
    pub const fn takes(self, datatype: Datatype) -> bool {
        match self {
            Self::Sum | Self::Prod | Self::Max | Self::Min => {
                matches!(datatype, Datatype::Int32 | Datatype::Int64 | Datatype::Double)
            }
            Self::Land | Self::Lor | Self::Lxor | Self::Band | Self::Bor | Self::Bxor => {
                matches!(datatype, Datatype::Int32 | Datatype::Int64)
            }
            Self::MaxLoc | Self::MinLoc => matches!(datatype, Datatype::Int32Pair),
            Self::Affine { .. } => matches!(datatype, Datatype::Int64Pair),
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// On which side of `into` the other operand stands; what commutes does not ask.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Side {
    /// It belongs to lower ranks: `into = from ∘ into`.
    Before,
    /// It belongs to higher ranks: `into = into ∘ from`.
    After,
}

/// An operator on elements of one type.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Reduction {
    operator: Operator,
    datatype: Datatype,
}

impl Reduction {
    /// The operator on elements of this type; `None` where it is not defined on them.
    pub const fn new(operator: Operator, datatype: Datatype) -> Option<Self> {
        if operator.takes(datatype) { Some(Self { operator, datatype }) } else { None }
    }

    /// The operator.
    pub const fn operator(self) -> Operator {
        self.operator
    }

    /// The type of its elements.
    pub const fn datatype(self) -> Datatype {
        self.datatype
    }

    /// Combines `from` into `into`, element by element; bytes after the last whole element stay.
    ///
    /// # Panics
    ///
    /// When the two differ in length.
    pub fn combine(self, from: &[u8], into: &mut [u8], side: Side) {
        assert!(from.len() == into.len(), "{} bytes into {} bytes", from.len(), into.len());
        match self.datatype {
            Datatype::Int32 => each(from, into, side, |low, high| {
                self.int32(i32::from_le_bytes(low), i32::from_le_bytes(high)).to_le_bytes()
            }),
            Datatype::Int64 => each(from, into, side, |low, high| {
                self.int64(i64::from_le_bytes(low), i64::from_le_bytes(high)).to_le_bytes()
            }),
            Datatype::Double => {
                each(from, into, side, |low, high| double::apply(self.operator, low, high));
            }
            Datatype::Int32Pair => each(from, into, side, |low, high| self.located(low, high)),
            Datatype::Int64Pair => each(from, into, side, |low, high| self.affine(low, high)),
        }
    }

    fn int32(self, low: i32, high: i32) -> i32 {
        match self.operator {
            Operator::Sum => low.wrapping_add(high),
            Operator::Prod => low.wrapping_mul(high),
            // The others give what fits, whatever the width.
            Operator::Max
            | Operator::Min
            | Operator::Land
            | Operator::Lor
            | Operator::Lxor
            | Operator::Band
            | Operator::Bor
            | Operator::Bxor
            | Operator::MaxLoc
            | Operator::MinLoc
            | Operator::Affine { .. } => {
                let wide = self.int64(i64::from(low), i64::from(high));
                i32::try_from(wide).expect("these operators do not leave the range")
            }
        }
    }

    fn int64(self, low: i64, high: i64) -> i64 {
        match self.operator {
            Operator::Sum => low.wrapping_add(high),
            Operator::Prod => low.wrapping_mul(high),
            Operator::Max => low.max(high),
            Operator::Min => low.min(high),
            Operator::Land => i64::from(low != 0 && high != 0),
            Operator::Lor => i64::from(low != 0 || high != 0),
            Operator::Lxor => i64::from((low != 0) != (high != 0)),
            Operator::Band => low & high,
            Operator::Bor => low | high,
            Operator::Bxor => low ^ high,
            Operator::MaxLoc | Operator::MinLoc | Operator::Affine { .. } => self.not_defined(),
        }
    }

    fn located(self, low: [u8; 8], high: [u8; 8]) -> [u8; 8] {
        let [(value, index), (other, place)] = [low, high].map(|pair| {
            let (value, index) = halves(pair);
            (i32::from_le_bytes(value), i32::from_le_bytes(index))
        });
        let beats = if self.operator == Operator::MaxLoc { other > value } else { other < value };
        if beats || (other == value && place < index) { high } else { low }
    }

    fn affine(self, low: [u8; 16], high: [u8; 16]) -> [u8; 16] {
        let Operator::Affine { modulus } = self.operator else { self.not_defined() };
        let modulus = i128::from(modulus.max(1));
        let [(a1, b1), (a2, b2)] = [low, high].map(|pair| {
            let (a, b) = halves(pair);
            (i128::from(i64::from_le_bytes(a)), i128::from(i64::from_le_bytes(b)))
        });
        let mut result = [0; 16];
        for (bytes, value) in result.chunks_exact_mut(8).zip([a1 * a2, b1 * a2 + b2]) {
            let rest = i64::try_from(value % modulus).expect("a rest is below its modulus");
            bytes.copy_from_slice(&rest.to_le_bytes());
        }
        result
    }

    fn not_defined(self) -> ! {
        unreachable!("{:?} on {:?} was refused when it was made", self.operator, self.datatype)
    }
}

/// Applies an operator on `(lower ranks, higher ranks)` to every element of `N` bytes.
fn each<const N: usize>(
    from: &[u8],
    into: &mut [u8],
    side: Side,
    apply: impl Fn([u8; N], [u8; N]) -> [u8; N],
) {
    for (from, into) in from.as_chunks::<N>().0.iter().zip(into.as_chunks_mut::<N>().0) {
        *into = match side {
            Side::Before => apply(*from, *into),
            Side::After => apply(*into, *from),
        };
    }
}

fn halves<const N: usize, const H: usize>(pair: [u8; N]) -> ([u8; H], [u8; H]) {
    let (first, second) = pair.split_at(H);
    let half = |bytes: &[u8]| bytes.try_into().expect("a pair has two halves");
    (half(first), half(second))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reduction(operator: Operator, datatype: Datatype) -> Reduction {
        Reduction::new(operator, datatype).expect("it is defined")
    }

    #[track_caller]
    fn check_int32(operator: Operator, low: i32, high: i32, expected: i32) {
        let reduction = reduction(operator, Datatype::Int32);
        let mut into = high.to_le_bytes();
        reduction.combine(&low.to_le_bytes(), &mut into, Side::Before);
        assert_eq!(i32::from_le_bytes(into), expected, "{operator} of {low} and {high}");
    }

    #[test]
    fn integers_wrap_and_truth_is_one() {
        check_int32(Operator::Sum, i32::MAX, 1, i32::MIN);
        check_int32(Operator::Prod, 1 << 20, 1 << 20, 0);
        check_int32(Operator::Max, -3, 2, 2);
        check_int32(Operator::Min, -3, 2, -3);
        check_int32(Operator::Land, -3, 2, 1);
        check_int32(Operator::Lor, 0, -7, 1);
        check_int32(Operator::Lxor, 5, -7, 0);
        check_int32(Operator::Band, -1, 6, 6);
        check_int32(Operator::Bor, 1, 6, 7);
        check_int32(Operator::Bxor, -1, i32::MAX, i32::MIN);
    }

    #[test]
    fn the_least_index_of_the_extreme_value_is_found() {
        let pair = |value: i32, index: i32| [value.to_le_bytes(), index.to_le_bytes()].concat();
        for (operator, low, high, expected) in [
            (Operator::MaxLoc, (5, 3), (5, 2), (5, 2)),
            (Operator::MaxLoc, (5, 3), (6, 9), (6, 9)),
            (Operator::MinLoc, (5, 3), (6, 2), (5, 3)),
            (Operator::MinLoc, (6, 3), (6, 4), (6, 3)),
        ] {
            for side in [Side::Before, Side::After] {
                let mut into = pair(high.0, high.1);
                let reduction = reduction(operator, Datatype::Int32Pair);
                reduction.combine(&pair(low.0, low.1), &mut into, side);
                assert_eq!(into, pair(expected.0, expected.1), "{operator}");
            }
        }
    }

    #[test]
    fn affine_maps_associate_and_do_not_commute() {
        let affine = reduction(Operator::Affine { modulus: 1_000_003 }, Datatype::Int64Pair);
        let map = |a: i64, b: i64| [a.to_le_bytes(), b.to_le_bytes()].concat();
        let (f, g, h) = (map(3, 5), map(700_000, 11), map(999_999, 17));
        let join = |low: &[u8], high: &[u8]| {
            let mut into = high.to_vec();
            affine.combine(low, &mut into, Side::Before);
            let mut other = low.to_vec();
            affine.combine(high, &mut other, Side::After);
            assert_eq!(into, other, "the side says which operand is the lower one");
            into
        };
        assert_eq!(join(&join(&f, &g), &h), join(&f, &join(&g, &h)));
        assert_ne!(join(&f, &g), join(&g, &f));
        assert_eq!(join(&f, &map(2, 1)), map(6, 11), "b1 a2 + b2");
    }

    #[test]
    fn doubles_add_as_the_host_does_and_every_element_counts() {
        let sum = reduction(Operator::Sum, Datatype::Double);
        let bytes = |values: [f64; 3]| values.map(f64::to_le_bytes).concat();
        let mut into = bytes([0.1, -2.5, 1e300]);
        sum.combine(&bytes([0.2, 2.5, 1e300]), &mut into, Side::After);
        assert_eq!(into, bytes([0.1 + 0.2, 0.0, 2e300]));
    }

    #[test]
    fn an_operator_is_refused_on_foreign_elements() {
        for operator in Operator::ALL {
            let fitting = Datatype::ALL.iter().filter(|datatype| operator.takes(**datatype));
            for datatype in Datatype::ALL {
                assert_eq!(Reduction::new(operator, datatype).is_some(), operator.takes(datatype));
            }
            assert!(fitting.count() > 0, "{operator} is defined on something");
        }
        assert_eq!(Reduction::new(Operator::Band, Datatype::Double), None);
        assert_eq!(Reduction::new(Operator::Sum, Datatype::Int32Pair), None);
    }
}
