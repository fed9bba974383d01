//! Operators on the program's own floating-point numbers: the only floats of this layer, and they
//! are payload. No time, size or decision of a model depends on one.

use super::Operator;

/// Applies an operator to two numbers given as their bytes.
///
/// What is no number is given back as the one NaN that all hosts have.
pub(super) fn apply(operator: Operator, low: [u8; 8], high: [u8; 8]) -> [u8; 8] {
    let (low, high) = (f64::from_le_bytes(low), f64::from_le_bytes(high));
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
        | Operator::Affine { .. } => unreachable!("{operator} on doubles was refused"),
    };
    if result.is_nan() { f64::NAN.to_le_bytes() } else { result.to_le_bytes() }
}
