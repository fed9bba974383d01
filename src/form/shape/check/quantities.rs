//! Mistakes in a text that should be a quantity: a number with its unit.

use super::super::super::codes;
use super::super::super::diagnostic::{Diagnostic, Diagnostics, Span, quote};
use super::super::super::json::Number;
use super::super::nearest;
use super::super::steps::steps;
use units::{Dimension, QuantityError, parse_quantity};

/// An example of a quantity of each dimension.
fn example(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Time => "1.3 us",
        Dimension::Bytes => "64 KiB",
        Dimension::Bandwidth => "12.5 GB/s",
        Dimension::Rate => "3 Mmsg/s",
        Dimension::CostPerByte => "0.06 ns/B",
        Dimension::Frequency => "2.4 GHz",
    }
}

fn unit_help(dimension: Dimension) -> String {
    format!("the units are {}; for example \"{}\"", dimension.units().join(" "), example(dimension))
}

/// Reports why `text` is not a quantity; shared with the reader of models.
pub fn quantity(
    diagnostics: &mut Diagnostics,
    span: Span,
    text: &str,
    (dimension, min, max): (Dimension, u64, u64),
    path: &str,
) {
    if let Some(rest) = text.trim().strip_prefix('-')
        && parse_quantity(rest, dimension).is_ok()
    {
        let one = Diagnostic::error(
            &codes::RANGE,
            span,
            path,
            format!("`{}` is negative", quote(text)),
            range_of(dimension, min, max),
        );
        return diagnostics.push(one);
    }
    match parse_quantity(text, dimension) {
        Ok(value) if (min..=max).contains(&value) => {}
        Ok(_) => diagnostics.push(Diagnostic::error(
            &codes::RANGE,
            span,
            path,
            format!("`{}` is out of range", quote(text)),
            range_of(dimension, min, max),
        )),
        Err(error) => diagnostics.push(quantity_error(span, text, dimension, &error, path)),
    }
}

fn range_of(dimension: Dimension, min: u64, max: u64) -> String {
    format!("allowed is {} to {}", steps(dimension, min), steps(dimension, max))
}

fn quantity_error(
    span: Span,
    text: &str,
    dimension: Dimension,
    error: &QuantityError,
    path: &str,
) -> Diagnostic {
    let needed = format!("{} is needed", dimension.in_words());
    let found = quote(&error.to_string());
    let text = quote(text.trim());
    match error {
        QuantityError::NoUnit(_) => Diagnostic::error(&codes::NO_UNIT, span, path, found, needed)
            .help(format!("{}; perhaps `{text} {}`", unit_help(dimension), usual(dimension))),
        QuantityError::UnknownUnit(rest) if is_decimal_comma(rest) => {
            Diagnostic::error(&codes::UNIT, span, path, found, needed)
                .help(format!("decimals have a point: write `{}`", text.replacen(',', ".", 1)))
        }
        QuantityError::UnknownUnit(unit) => {
            // A letter that says how much is not misspelt: the next one is another size.
            let other = |near: &&str| !unit.starts_with(['T', 'P', 'E']) || near.starts_with(['T']);
            let near = nearest(unit, dimension.units()).filter(other);
            let help = near.map_or_else(
                || unit_help(dimension),
                |near| format!("did you mean `{near}`? {}", unit_help(dimension)),
            );
            Diagnostic::error(&codes::UNIT, span, path, found, needed).help(help)
        }
        QuantityError::NoNumber(_) | QuantityError::WrongDimension { .. } => {
            Diagnostic::error(&codes::UNIT, span, path, found, needed).help(unit_help(dimension))
        }
        QuantityError::TooLarge(_) => {
            let limit = if dimension == Dimension::Time {
                "a time is at most 213 days (2^64 ps)".to_owned()
            } else {
                format!("at most {} is allowed", steps(dimension, u64::MAX))
            };
            Diagnostic::error(&codes::TOO_BIG, span, path, found, limit)
        }
        QuantityError::TooFine { resolution, .. } => {
            let allowed = format!("a whole number of steps of {resolution} is needed");
            Diagnostic::error(&codes::TOO_FINE, span, path, found, allowed)
        }
    }
}

/// Whether what follows the digits of a quantity begins with a comma and a digit.
fn is_decimal_comma(rest: &str) -> bool {
    let decimals = rest.strip_prefix(',');
    decimals.is_some_and(|decimals| decimals.starts_with(|c: char| c.is_ascii_digit()))
}

/// The unit that is meant most often.
fn usual(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Time => "ns",
        Dimension::Bytes => "B",
        Dimension::Bandwidth => "GB/s",
        Dimension::Rate => "msg/s",
        Dimension::CostPerByte => "ns/B",
        Dimension::Frequency => "GHz",
    }
}

/// Reports a bare number where a quantity is needed.
pub fn missing_unit(
    diagnostics: &mut Diagnostics,
    span: Span,
    number: &Number,
    dimension: Dimension,
    path: &str,
) {
    diagnostics.push(
        Diagnostic::error(
            &codes::NO_UNIT,
            span,
            path,
            format!("`{number}` has no unit"),
            format!("{} is needed", dimension.in_words()),
        )
        .help(format!(
            "{}; perhaps `\"{number} {}\"`",
            unit_help(dimension),
            usual(dimension)
        )),
    );
}
