//! Operators on integers: they wrap, and truth is one.

use super::Operator;

/// A function for each type: it applies an operator to two numbers given as their bytes.
macro_rules! integers {
    ($($integer:ident)+) => {$(
        pub(super) fn $integer(
            operator: Operator,
            low: [u8; size_of::<$integer>()],
            high: [u8; size_of::<$integer>()],
        ) -> [u8; size_of::<$integer>()] {
            let (low, high) = ($integer::from_le_bytes(low), $integer::from_le_bytes(high));
            let result = match operator {
                Operator::Sum => low.wrapping_add(high),
                Operator::Prod => low.wrapping_mul(high),
                Operator::Max => low.max(high),
                Operator::Min => low.min(high),
                Operator::Land => $integer::from(low != 0 && high != 0),
                Operator::Lor => $integer::from(low != 0 || high != 0),
                Operator::Lxor => $integer::from((low != 0) != (high != 0)),
                Operator::Band => low & high,
                Operator::Bor => low | high,
                Operator::Bxor => low ^ high,
                Operator::MaxLoc
                | Operator::MinLoc
                | Operator::Affine { .. }
                | Operator::Program { .. } => {
                    unreachable!("{operator} on single integers was refused")
                }
            };
            result.to_le_bytes()
        }
    )+};
}

integers! { i8 i16 i32 i64 u8 u16 u32 u64 }
