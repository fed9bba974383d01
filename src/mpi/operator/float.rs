//! Operators on the program's own floating-point numbers: the only floats of this layer, and they
//! are payload. No time, size or decision of a model depends on one.

use super::Operator;

/// A function for each type: it applies an operator to two numbers given as their bytes.
///
/// A result that is no number is returned as the one NaN of all hosts.
macro_rules! floats {
    ($($name:ident: $float:ty;)+) => {$(
        pub(super) fn $name(
            operator: Operator,
            low: [u8; size_of::<$float>()],
            high: [u8; size_of::<$float>()],
        ) -> [u8; size_of::<$float>()] {
            let (low, high) = (<$float>::from_le_bytes(low), <$float>::from_le_bytes(high));
            let result = match operator {
                Operator::Sum => low + high,
                Operator::Prod => low * high,
                Operator::Max => low.max(high),
                Operator::Min => low.min(high),
                Operator::Land
                | Operator::Lor
                | Operator::Lxor
                | Operator::Band
                | Operator::Bor
                | Operator::Bxor
                | Operator::MaxLoc
                | Operator::MinLoc
                | Operator::Affine { .. }
                | Operator::Program { .. } => unreachable!("{operator} on fractions was refused"),
            };
            if result.is_nan() { <$float>::NAN.to_le_bytes() } else { result.to_le_bytes() }
        }
    )+};
}

floats! {
    float: f32;
    double: f64;
}
