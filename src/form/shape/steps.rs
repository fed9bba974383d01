//! Values in smallest steps as texts.

use units::{Bandwidth, Bytes, CostPerByte, Dimension, Frequency, Rate, TimeDelta};

/// `steps` smallest steps as a text with unit.
pub fn steps(dimension: Dimension, steps: u64) -> String {
    match dimension {
        Dimension::Time => TimeDelta::from_ps(steps).to_string(),
        Dimension::Bytes => Bytes::new(steps).to_string(),
        Dimension::Bandwidth => Bandwidth::from_bit_per_s(steps).to_string(),
        Dimension::Rate => Rate::from_per_s(steps).to_string(),
        Dimension::CostPerByte => CostPerByte::from_as_per_byte(steps).to_string(),
        Dimension::Frequency => Frequency::from_hz(steps).to_string(),
    }
}

/// Billionths as a decimal number.
pub fn billionths(value: u64) -> String {
    let (whole, rest) = (value / 1_000_000_000, value % 1_000_000_000);
    if rest == 0 {
        return whole.to_string();
    }
    format!("{whole}.{}", format!("{rest:09}").trim_end_matches('0'))
}
