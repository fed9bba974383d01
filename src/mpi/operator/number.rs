//! One number of an element, as programs write and read it.

use super::Datatype;

/// The greatest whole number below which a binary64 holds all others.
const EXACT: i64 = 1 << 53;

impl Datatype {
    /// The type of the numbers of an element, and how many it has.
    pub const fn numbers(self) -> (Self, u64) {
        if matches!(self, Self::Int32Pair) {
            (Self::Int32, 2)
        } else if matches!(self, Self::Int64Pair) {
            (Self::Int64, 2)
        } else {
            (self, 1)
        }
    }

    /// The least and the greatest whole number that a program writes as a number of this type.
    pub const fn range(self) -> (i64, i64) {
        match self {
            Self::Int8 => (i8::MIN as i64, i8::MAX as i64),
            Self::Int16 => (i16::MIN as i64, i16::MAX as i64),
            Self::Int32 | Self::Int32Pair => (i32::MIN as i64, i32::MAX as i64),
            Self::Int64 | Self::Int64Pair => (i64::MIN, i64::MAX),
            Self::Uint8 | Self::Program => (0, u8::MAX as i64),
            Self::Uint16 => (0, u16::MAX as i64),
            Self::Uint32 => (0, u32::MAX as i64),
            Self::Uint64 => (0, i64::MAX),
            Self::Float => (-(1 << 24), 1 << 24),
            Self::Double => (-EXACT, EXACT),
        }
    }

    /// The bytes of a whole number in [`Self::range`], little endian from the lowest on.
    #[expect(clippy::cast_precision_loss, reason = "the range holds whole numbers exactly")]
    pub const fn bits(self, value: i64) -> u64 {
        if matches!(self, Self::Float) {
            (value as f32).to_bits() as u64
        } else if matches!(self, Self::Double) {
            (value as f64).to_bits()
        } else {
            value.cast_unsigned() & self.mask()
        }
    }

    /// The bytes of the number that a text says, of those beyond [`Self::range`]: one with a fraction, rounded to the
    /// type, or one of 64 bits without a sign. `None` of what the type does not hold.
    pub fn bits_of_text(self, text: &str) -> Option<u64> {
        if self == Self::Float {
            let value = text.parse::<f32>().ok().filter(|value| value.is_finite());
            value.map(|value| u64::from(value.to_bits()))
        } else if self == Self::Double {
            let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
            value.map(f64::to_bits)
        } else if self == Self::Uint64 {
            text.parse().ok()
        } else {
            None
        }
    }

    /// The numbers that a text may say, in words.
    pub fn numbers_in_words(self) -> String {
        let (least, most) = self.range();
        match self {
            Self::Float => format!("a number from {:e} to {:e}", f32::MIN, f32::MAX),
            Self::Double => format!("a number from {:e} to {:e}", f64::MIN, f64::MAX),
            Self::Uint64 => format!("a whole number from 0 to {}", u64::MAX),
            Self::Int8
            | Self::Int16
            | Self::Int32
            | Self::Int64
            | Self::Int32Pair
            | Self::Int64Pair
            | Self::Uint8
            | Self::Uint16
            | Self::Uint32
            | Self::Program => format!("a whole number from {least} to {most}"),
        }
    }

    /// Whether two numbers are equal, as C compares them: the zeros of both signs are.
    pub fn are_equal(self, one: u64, other: u64) -> bool {
        let (one, other) = (one & self.mask(), other & self.mask());
        // A zero is all zeros but for the sign, which is the highest bit.
        let has_fraction = matches!(self, Self::Float | Self::Double);
        one == other || has_fraction && (one | other) & (self.mask() >> 1) == 0
    }

    /// The whole number in these bytes; `None` of a type with fractions, and beyond 63 bits.
    pub fn whole(self, bits: u64) -> Option<i64> {
        let bits = bits & self.mask();
        let unused = 64 - 8 * self.numbers().0.width();
        match self {
            Self::Int8
            | Self::Int16
            | Self::Int32
            | Self::Int64
            | Self::Int32Pair
            | Self::Int64Pair => Some((bits << unused).cast_signed() >> unused),
            Self::Uint8 | Self::Uint16 | Self::Uint32 | Self::Uint64 => i64::try_from(bits).ok(),
            Self::Float | Self::Double | Self::Program => None,
        }
    }

    /// The number in these bytes, in words.
    ///
    /// # Panics
    ///
    /// Never: a number of 4 bytes has 32 bits.
    pub fn shown(self, bits: u64) -> String {
        let bits = bits & self.mask();
        if self == Self::Float {
            let low = u32::try_from(bits).expect("the mask has 32 bits");
            f32::from_bits(low).to_string()
        } else if self == Self::Double {
            f64::from_bits(bits).to_string()
        } else {
            self.whole(bits).map_or_else(|| bits.to_string(), |whole| whole.to_string())
        }
    }

    /// The bits of a number of this type.
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - 8 * self.numbers().0.width())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_come_back() {
        for datatype in Datatype::ALL.map(|one| one.numbers().0) {
            let (least, most) = datatype.range();
            for value in [least, -1, 0, 1, 7, most].into_iter().filter(|it| *it >= least) {
                let bits = datatype.bits(value);
                assert_eq!(datatype.shown(bits), value.to_string(), "{datatype:?}");
                let whole = datatype.whole(bits);
                assert_eq!(whole, datatype.is_integer().then_some(value), "{datatype:?}");
            }
        }
    }

    #[test]
    fn fractions_are_rounded_to_their_type() {
        assert_eq!(Datatype::Double.bits_of_text("0.1"), Some(0.1_f64.to_bits()));
        let float = Datatype::Float.bits_of_text("0.5").expect("it has fractions");
        assert_eq!(Datatype::Float.shown(float), "0.5");
        assert_eq!(Datatype::Int32.bits_of_text("0.5"), None);
        assert_eq!(Datatype::Float.bits_of_text("1e39"), None);
    }

    #[test]
    fn numbers_without_a_sign_have_all_their_bits() {
        let text = u64::MAX.to_string();
        assert_eq!(Datatype::Uint64.bits_of_text(&text), Some(u64::MAX));
        assert_eq!(Datatype::Uint64.shown(u64::MAX), text);
        for wrong in ["18446744073709551616", "-1", "0.5"] {
            assert_eq!(Datatype::Uint64.bits_of_text(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn zeros_of_both_signs_are_equal_and_other_numbers_only_to_themselves() {
        let minus = [(Datatype::Float, 1 << 31), (Datatype::Double, 1 << 63)];
        for (datatype, minus) in minus {
            assert!(datatype.are_equal(minus, 0) && datatype.are_equal(0, minus), "{datatype:?}");
            let [one, less] = [1, -1].map(|value| datatype.bits(value));
            assert!(datatype.are_equal(one, one) && !datatype.are_equal(one, less), "{datatype:?}");
            assert!(!datatype.are_equal(1, 0) && !datatype.are_equal(minus, minus | 1));
        }
        assert!(!Datatype::Int32.are_equal(1 << 31, 0));
    }
}
