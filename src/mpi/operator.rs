//! Reduction operators of collectives, on the elements of two buffers.
//!
//! A [`Reduction`] is an operator on elements of one type. It works on bytes, little endian as the
//! memory of the modelled machines, and gives the same bytes on every host: integers wrap, and
//! `f32` and `f64` arithmetic is that of IEEE 754. A user-defined operator is a value of [`Operator`], as a
//! predefined one is.
//!
//! Source: MPI 3.1, Section 5.9. Left out: complex numbers, extended precision.

mod float;
mod integer;
mod number;

use std::fmt;

/// The type of the elements of a buffer.
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
    /// Signed, 1 byte.
    Int8,
    /// Signed, 2 bytes.
    Int16,
    /// Unsigned, 1 byte.
    Uint8,
    /// Unsigned, 2 bytes.
    Uint16,
    /// Unsigned, 4 bytes.
    Uint32,
    /// Unsigned, 8 bytes.
    Uint64,
    /// IEEE 754 binary32.
    Float,
    /// Elements for the operators of a real program; the operator says how wide one is.
    Program,
}

impl Datatype {
    /// Every type that scenarios can name.
    pub const ALL: [Self; 12] = [
        Self::Int32,
        Self::Int64,
        Self::Double,
        Self::Int32Pair,
        Self::Int64Pair,
        Self::Int8,
        Self::Int16,
        Self::Uint8,
        Self::Uint16,
        Self::Uint32,
        Self::Uint64,
        Self::Float,
    ];

    /// Bytes of one element; of what only its operator knows, 1.
    pub const fn width(self) -> u64 {
        match self {
            Self::Int8 | Self::Uint8 | Self::Program => 1,
            Self::Int16 | Self::Uint16 => 2,
            Self::Int32 | Self::Uint32 | Self::Float => 4,
            Self::Int64 | Self::Uint64 | Self::Double | Self::Int32Pair => 8,
            Self::Int64Pair => 16,
        }
    }

    /// Whether it is one number without a fraction.
    pub const fn is_integer(self) -> bool {
        match self {
            Self::Int8
            | Self::Int16
            | Self::Int32
            | Self::Int64
            | Self::Uint8
            | Self::Uint16
            | Self::Uint32
            | Self::Uint64 => true,
            Self::Float | Self::Double | Self::Int32Pair | Self::Int64Pair | Self::Program => false,
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
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Uint8 => "uint8",
            Self::Uint16 => "uint16",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
            Self::Float => "float",
            Self::Program => "elements of a program",
        }
    }
}

/// Operator that combines two elements.
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
    /// An operator of a real program, whose process combines the elements.
    Program {
        /// The rank's number for it. Numbers below [`Operator::OWN`] are the same at all ranks.
        number: u16,
        /// Bytes of one element.
        width: u16,
    },
}

impl Operator {
    /// Every operator that scenarios can name; the modulus is the one that recorded vectors use.
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

    /// From here on each rank numbers the functions of its program as it uses them, and nothing tells whether those of
    /// two ranks are the same.
    pub const OWN: u16 = 1 << 15;

    /// Whether it is a function of a real program.
    const fn is_own(self) -> bool {
        matches!(self, Self::Program { number, .. } if number >= Self::OWN)
    }

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
            Self::Program { .. } => "an operator of the program",
        }
    }

    /// Whether the operator is defined on elements of this type.
    pub const fn takes(self, datatype: Datatype) -> bool {
        match self {
            Self::Sum | Self::Prod | Self::Max | Self::Min => {
                datatype.is_integer() || matches!(datatype, Datatype::Float | Datatype::Double)
            }
            Self::Land | Self::Lor | Self::Lxor | Self::Band | Self::Bor | Self::Bxor => {
                datatype.is_integer()
            }
            Self::MaxLoc | Self::MinLoc => matches!(datatype, Datatype::Int32Pair),
            Self::Affine { .. } => matches!(datatype, Datatype::Int64Pair),
            Self::Program { .. } => matches!(datatype, Datatype::Program),
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
    /// Whether the order of two elements is kept, though the operator would commute.
    in_order: bool,
}

impl Reduction {
    /// The operator on elements of this type; `None` where it is not defined on them.
    pub const fn new(operator: Operator, datatype: Datatype) -> Option<Self> {
        if operator.takes(datatype) {
            Some(Self { operator, datatype, in_order: false })
        } else {
            None
        }
    }

    /// Operator `number` of a real program, on elements of `width` bytes.
    pub const fn of_program(number: u16, width: u16, commutes: bool) -> Self {
        let operator = Operator::Program { number, width };
        Self { operator, datatype: Datatype::Program, in_order: !commutes }
    }

    /// Bytes of one element.
    pub const fn width(self) -> u64 {
        if let Operator::Program { width, .. } = self.operator {
            width as u64
        } else {
            self.datatype.width()
        }
    }

    /// The number of the operator, where it is one of a real program: its process combines the elements.
    pub const fn of_a_program(self) -> Option<u16> {
        if let Operator::Program { number, .. } = self.operator { Some(number) } else { None }
    }

    /// The same as a user-defined operator that does not commute (`commute` of `MPI_Op_create`).
    #[must_use]
    pub const fn in_order(self) -> Self {
        Self { in_order: true, ..self }
    }

    /// Whether the order of two elements does not matter.
    pub const fn commutes(self) -> bool {
        self.operator.commutes() && !self.in_order
    }

    /// Whether two ranks that give these may mean the same operator on the same elements.
    pub fn may_be(self, other: Self) -> bool {
        let are_own = self.operator.is_own() && other.operator.is_own();
        let are_alike = self.width() == other.width() && self.in_order == other.in_order;
        self == other || are_own && are_alike
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
    /// When the two differ in length, and where the operator is one of a real program.
    pub fn combine(self, from: &[u8], into: &mut [u8], side: Side) {
        assert!(from.len() == into.len(), "{} bytes into {} bytes", from.len(), into.len());
        let with = self.operator;
        match self.datatype {
            Datatype::Int8 => each(from, into, side, |low, high| integer::i8(with, low, high)),
            Datatype::Int16 => each(from, into, side, |low, high| integer::i16(with, low, high)),
            Datatype::Int32 => each(from, into, side, |low, high| integer::i32(with, low, high)),
            Datatype::Int64 => each(from, into, side, |low, high| integer::i64(with, low, high)),
            Datatype::Uint8 => each(from, into, side, |low, high| integer::u8(with, low, high)),
            Datatype::Uint16 => each(from, into, side, |low, high| integer::u16(with, low, high)),
            Datatype::Uint32 => each(from, into, side, |low, high| integer::u32(with, low, high)),
            Datatype::Uint64 => each(from, into, side, |low, high| integer::u64(with, low, high)),
            Datatype::Float => each(from, into, side, |low, high| float::float(with, low, high)),
            Datatype::Double => each(from, into, side, |low, high| float::double(with, low, high)),
            Datatype::Int32Pair => each(from, into, side, |low, high| self.located(low, high)),
            Datatype::Int64Pair => each(from, into, side, |low, high| self.affine(low, high)),
            Datatype::Program => {
                panic!("the process of a rank combines by operators of its own")
            }
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
        let Operator::Affine { modulus } = self.operator else {
            unreachable!("{} on {:?} was refused when it was made", self.operator, self.datatype)
        };
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

    /// The result of an operator on integers of some width, computed in 128 bits: the low bits are
    /// the same whatever the width, and the order is that of the numbers.
    fn plain(operator: Operator, low: i128, high: i128) -> i128 {
        let truth = |holds: bool| i128::from(holds);
        match operator {
            Operator::Sum => low + high,
            Operator::Prod => low.wrapping_mul(high),
            Operator::Max => std::cmp::max(low, high),
            Operator::Min => std::cmp::min(low, high),
            Operator::Land => truth(low.wrapping_mul(high) != 0),
            Operator::Lor => truth(low.abs() + high.abs() != 0),
            Operator::Lxor => truth((low == 0) ^ (high == 0)),
            // De Morgan, and carries that are left out.
            Operator::Band => !(!low | !high),
            Operator::Bor => !(!low & !high),
            Operator::Bxor => (low | high) - (low & high),
            Operator::MaxLoc
            | Operator::MinLoc
            | Operator::Affine { .. }
            | Operator::Program { .. } => {
                panic!("{operator} takes no single integers")
            }
        }
    }

    /// The number in some bytes.
    fn read(bytes: &[u8], signed: bool) -> i128 {
        let negative = signed && bytes.last().is_some_and(|top| *top >= 128);
        let mut wide = [if negative { 255 } else { 0 }; 16];
        wide[..bytes.len()].copy_from_slice(bytes);
        i128::from_le_bytes(wide)
    }

    proptest::proptest! {
        #[test]
        fn integers_of_every_width_do_as_plain_arithmetic(
            low: [u64; 3], high: [u64; 3], narrow in 0..64_u32,
        ) {
            for datatype in Datatype::ALL.into_iter().filter(|datatype| datatype.is_integer()) {
                let width = usize::try_from(datatype.width()).unwrap();
                let signed = datatype.name().starts_with("int");
                // Small numbers and numbers at the ends of the range.
                let bytes = |numbers: [u64; 3]| -> Vec<u8> {
                    let each = numbers.map(|number| number >> narrow);
                    each.iter().flat_map(|number| number.to_le_bytes()[..width].to_vec()).collect()
                };
                let (low, high) = (bytes(low), bytes(high));
                for operator in Operator::ALL.into_iter().filter(|one| one.takes(datatype)) {
                    let pairs = low.chunks(width).zip(high.chunks(width));
                    let expected: Vec<u8> = pairs
                        .flat_map(|(low, high)| {
                            let number = plain(operator, read(low, signed), read(high, signed));
                            number.to_le_bytes()[..width].to_vec()
                        })
                        .collect();
                    let mut into = high.clone();
                    reduction(operator, datatype).combine(&low, &mut into, Side::Before);
                    proptest::prop_assert_eq!(&into, &expected, "{} on {:?}", operator, datatype);
                }
            }
        }

        #[test]
        fn floats_do_as_doubles_that_are_rounded(low: f32, high: f32) {
            let combined = |operator| {
                let mut into = high.to_le_bytes();
                let with = reduction(operator, Datatype::Float);
                with.combine(&low.to_le_bytes(), &mut into, Side::Before);
                f32::from_le_bytes(into)
            };
            let (wide_low, wide_high) = (f64::from(low), f64::from(high));
            // A sum or product of two floats rounds to the same float by way of a double.
            #[expect(clippy::cast_possible_truncation, reason = "rounding is what is compared")]
            let narrow = |wide: f64| wide as f32;
            for (operator, expected) in [
                (Operator::Sum, narrow(wide_low + wide_high)),
                (Operator::Prod, narrow(wide_low * wide_high)),
                (Operator::Max, if low > high { low } else { high }),
                (Operator::Min, if low < high { low } else { high }),
            ] {
                let found = combined(operator);
                // Zero has one form here: which of two zeros is the greater one is left open.
                let same = (found + 0.0).to_bits() == (expected + 0.0).to_bits();
                proptest::prop_assert!(same, "{operator} of {low} and {high} is {found}");
            }
        }
    }

    #[test]
    fn functions_of_two_ranks_may_be_the_same_whatever_their_numbers() {
        let own = |number| Reduction::of_program(Operator::OWN + number, 8, true);
        assert!(own(0).may_be(own(7)));
        assert!(!own(0).may_be(Reduction::of_program(Operator::OWN, 4, true)), "other elements");
        assert!(!own(0).may_be(own(0).in_order()), "one commutes, the other does not");
        let shared = |number| Reduction::of_program(number, 8, true);
        assert!(shared(3).may_be(shared(3)));
        assert!(!shared(3).may_be(shared(4)));
        assert!(!shared(3).may_be(own(3)));
        let sum = reduction(Operator::Sum, Datatype::Double);
        assert!(sum.may_be(sum) && !sum.may_be(own(0)));
    }

    #[test]
    fn what_is_no_number_has_one_form() {
        let sum = reduction(Operator::Sum, Datatype::Float);
        let mut into = f32::NEG_INFINITY.to_le_bytes();
        sum.combine(&f32::INFINITY.to_le_bytes(), &mut into, Side::Before);
        assert_eq!(into, f32::NAN.to_le_bytes());
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
